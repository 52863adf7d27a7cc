//! The letters that wait for a context: they come with its next prompt.

use becket_events::Message;

use crate::front::FrontUpdate;
use crate::mail::{Arrivals, shown_sender};
use crate::session::Session;
use crate::speaker::Speaker;
use crate::store::{Consumed, StoreError};
use crate::storing::{Joins, pass_hooks, show_usage, write_entries};

/// The letters that wait for this context, including those left elsewhere, as far as they fit into a prompt.
pub(crate) async fn arrivals_of(session: &Session) -> Result<Arrivals, StoreError> {
    // Letters are for the context's own agent.
    if session.is_subagent() {
        return Ok(Arrivals::default());
    }
    let context = &session.hooks.scope().context_name;
    if let Some(source) = &session.speaker.agent.mail {
        let remarks = source.collect(context, &*session.speaker.agent.store).await;
        for remark in remarks.unwrap_or_else(|problem| vec![problem]) {
            session.speaker.agent.front.show(FrontUpdate::Warning(&remark));
        }
    }
    Ok(Arrivals::of(session.speaker.agent.store.inbox(context).await?))
}

/// Adds messages, the first of which shows the letters.
pub(crate) async fn add_showing(
    session: &mut Session,
    messages: Vec<Message>,
    arrivals: &Arrivals,
) -> Result<(), StoreError> {
    let messages = pass_hooks(&session.hooks, &session.speaker, messages, Joins::InRun).await;
    let ids = arrivals.letters.iter().map(|letter| letter.id).collect();
    let entries = messages.iter().map(Into::into).collect();
    match write_entries(session, entries, ids).await? {
        Consumed::All => {
            session.transcript.messages.extend(messages);
            show_usage(session);
            mention_arrivals(&session.speaker, arrivals);
            Ok(())
        }
        Consumed::TakenByAnother => Err(StoreError::new(
            "another session of this context has just been shown its messages; ask again",
        )),
    }
}

/// Tells the user that the prompt holds more than their own text.
fn mention_arrivals(speaker: &Speaker, arrivals: &Arrivals) {
    let mut senders: Vec<String> = Vec::new();
    for letter in &arrivals.letters {
        let sender = shown_sender(letter);
        if !senders.contains(&sender) {
            senders.push(sender);
        }
    }
    let senders = senders.join(", ");
    let mut text = match arrivals.letters.len() {
        0 => return,
        1 => format!("a message has arrived, from {senders}"),
        number => format!("{number} messages have arrived, from {senders}"),
    };
    if arrivals.left > 0 {
        text.push_str(&format!("; {} more wait for the next prompt", arrivals.left));
    }
    speaker.agent.front.show(FrontUpdate::Notice(&text));
}
