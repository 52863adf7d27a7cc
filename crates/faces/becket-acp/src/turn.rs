//! One prompt: a command, or words for the model, until the answer is complete.

use agent_client_protocol_schema::v1::{Error, StopReason, UsageUpdate};
use becket_agent::{Ending, RunEnd};
use becket_events::StopReason as Stopped;
use becket_face_kit::{Conversation, Options};
use becket_system::{CliError, Surroundings};
use tokio_util::sync::CancellationToken;

use super::commands::{self, Ran};
use super::prompt::Prompt;
use super::settings::Settings;
use super::updates::Updates;
use super::wire::failed;

/// Runs a prompt, and says why it ended.
pub async fn run(
    prompt: Prompt,
    conversation: &mut Conversation,
    session: (&Updates, &Settings, (&Options, &Surroundings)),
    cancel: &CancellationToken,
) -> Result<StopReason, Error> {
    let told = |error: CliError| failed(error.to_string());
    let (updates, ..) = session;
    let line = match commands::run(&prompt.text, conversation, session, cancel)
        .await
        .map_err(told)?
    {
        Ran::Said(words) => {
            updates.say(&words);
            return Ok(ended_by(cancel));
        }
        Ran::No => prompt.text,
    };
    let words = match conversation.typed_prompt(&line, cancel).await.map_err(told)? {
        Ok(words) if words.trim().is_empty() && prompt.images.is_empty() => return Ok(ended_by(cancel)),
        Ok(words) => words,
        Err(why) => {
            updates.say(&why);
            return Ok(ended_by(cancel));
        }
    };
    conversation.add_pictures(prompt.images);
    updates.begin_turn();
    let end = conversation
        .ask_all(words, Vec::new(), cancel.clone())
        .await
        .map_err(told)?;
    tell_usage(conversation, updates);
    tell_end(&end, updates);
    stop_reason(&end, updates)
}

fn ended_by(cancel: &CancellationToken) -> StopReason {
    match cancel.is_cancelled() {
        true => StopReason::Cancelled,
        false => StopReason::EndTurn,
    }
}

/// Tells the user how a run ended, unless the answer or the stop reason says it.
pub fn tell_end(end: &RunEnd, updates: &Updates) {
    match &end.ending {
        Ending::Handled(Some(message)) => updates.say(message),
        Ending::Blocked(reason) => updates.say(&format!("a hook stopped the run: {reason}")),
        Ending::Limit(reason) | Ending::LoopDetected(reason) => updates.warn(reason),
        Ending::Aborted => updates.warn("an extension ended the run"),
        Ending::Answered | Ending::Handled(None) | Ending::Provider(_) | Ending::Cancelled => {}
    }
}

/// The protocol's word for the end of a run. A failed provider is an error.
fn stop_reason(end: &RunEnd, updates: &Updates) -> Result<StopReason, Error> {
    Ok(match &end.ending {
        Ending::Answered => match updates.stopped() {
            Some(Stopped::Length) => StopReason::MaxTokens,
            Some(Stopped::Refused) => StopReason::Refusal,
            _ => StopReason::EndTurn,
        },
        Ending::Handled(_) => StopReason::EndTurn,
        Ending::Blocked(_) => StopReason::Refusal,
        Ending::Limit(_) | Ending::LoopDetected(_) => StopReason::MaxTurnRequests,
        Ending::Cancelled | Ending::Aborted => StopReason::Cancelled,
        Ending::Provider(error) => return Err(failed(error.message.clone())),
    })
}

/// Tells the editor how full the model's window is.
fn tell_usage(conversation: &Conversation, updates: &Updates) {
    let usage = conversation
        .handle()
        .and_then(|handle| handle.context_usage().ok());
    if let Some(usage) = usage {
        updates.used(UsageUpdate::new(usage.tokens, usage.window));
    }
}
