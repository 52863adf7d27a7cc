//! Messages between contexts: how one is sent, and how its receiver is shown what has arrived.
//!
//! A letter waits in its receiver's inbox until the next prompt there. The entry that shows it and the end of its
//! waiting are one transaction, so it is shown exactly once, whatever is killed in between.

use becket_events::{
    Message, PostMessageDelivery, PostMessageDeliveryPayload, PreMessageDelivery, PreMessageDeliveryPayload,
    Scope,
};
use becket_hooks::nearest;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::front::Sight;
use crate::hooks::Hooks;
use crate::message::new_id;
use crate::plain::{lines, one_line};
use crate::session::{Agent, Joins, Session};
use crate::store::{Consumed, Letter, Store, StoreError, WaitingLetter};

/// The longest message, in bytes. The receiver's model reads it as a whole.
const LONGEST: usize = 64 * 1024;

/// As many bytes of messages come with one prompt, and the rest with later ones: whoever writes much must not cost the
/// receiver what its model knows.
const MOST_AT_ONCE: usize = 96 * 1024;

/// As many messages come with one prompt.
const MANY: usize = 100;

/// The longest name, in characters.
const LONGEST_NAME: usize = 100;

/// A place besides the store where others lay down letters.
pub trait MailSource: Send + Sync {
    /// Brings what lies there for a context into the store. The error is for the person; what could not be brought
    /// stays where it is.
    fn collect<'a>(
        &'a self,
        context_name: &'a str,
        store: &'a dyn Store,
    ) -> BoxFuture<'a, Result<Vec<String>, String>>;
}

/// A letter that is about to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending<'a> {
    /// Who gets it: a context, or whoever a hook knows by that name.
    pub to: &'a str,
    /// What it says.
    pub content: &'a str,
    /// Who is named as its writer; the context that sends it, when absent.
    pub from: Option<&'a str>,
}

impl Sending<'_> {
    /// What is wrong with it, if anything is.
    pub fn check(&self) -> Result<(), String> {
        if self.to.trim().is_empty() {
            return Err("the message has no receiver; name a context".into());
        }
        if self.content.trim().is_empty() {
            return Err("the message is empty".into());
        }
        if self.content.len() > LONGEST {
            return Err(format!(
                "the message has {} bytes, and {LONGEST} is the limit; put the rest into a file, as in \
                 vfs:///shared/letter.md, and say where it is",
                self.content.len()
            ));
        }
        // A writer's name stands in a line of its own before the message: it must not be able to say anything.
        let is_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
        let named = [
            (self.to, true),
            (self.from.unwrap_or("me"), is_name(self.from.unwrap_or("me"))),
        ];
        for (name, is_right) in named {
            if !is_right || one_line(name, LONGEST_NAME) != name {
                return Err(format!("{:?} is no name", one_line(name, LONGEST_NAME)));
            }
        }
        Ok(())
    }

    /// Sends it in the name of the context in which the hooks are asked. Says what became of it.
    pub async fn send(&self, hooks: &Hooks, store: &dyn Store) -> Result<String, String> {
        self.check()?;
        let context = &hooks.scope().context_name;
        let from = self.from.unwrap_or(context);
        let payload = || PreMessageDeliveryPayload {
            from: from.into(),
            to: self.to.into(),
            content: self.content.into(),
        };
        let reply = hooks.ask::<PreMessageDelivery>(payload).await;
        let result = match reply.delivered.get() {
            Some(delivery) => {
                let via = one_line(&delivery.via, LONGEST_NAME);
                Ok(format!("Message delivered to '{}' via {via}", self.to))
            }
            // Hooks were not heard, and one of them may be the way to the receiver.
            None if hooks.cancel().is_cancelled() => Err("Message not delivered: cancelled".to_owned()),
            None => self.put_into_inbox(context, from, store).await,
        };
        let told = result.as_ref().unwrap_or_else(|words| words);
        let payload = || PostMessageDeliveryPayload {
            from: from.into(),
            to: self.to.into(),
            content: self.content.into(),
            delivery_result: told.clone(),
        };
        hooks.tell::<PostMessageDelivery>(payload).await;
        result
    }

    async fn put_into_inbox(&self, context: &str, from: &str, store: &dyn Store) -> Result<String, String> {
        // A letter under another name shows who sent it all the same.
        let from = match from == context {
            true => from.to_owned(),
            false => format!("{from} (by way of {context})"),
        };
        let letter = Letter {
            to: self.to.into(),
            from,
            content: self.content.into(),
            origin: None,
        };
        let undelivered = |error: StoreError| format!("Message not delivered: {error}");
        store.deliver(vec![letter]).await.map_err(undelivered)?;
        let to = self.to;
        let names = store.context_names().await.unwrap_or_default();
        if names.iter().any(|name| name == to) {
            return Ok(format!(
                "Message delivered to '{to}'; it is shown there with the next prompt"
            ));
        }
        let others = names.iter().map(String::as_str).filter(|name| *name != context);
        let meant = nearest(to, others).map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        Ok(format!(
            "Message delivered to '{to}', where it waits: there is no such context yet{meant}"
        ))
    }
}

impl Agent {
    /// Sends a letter outside of any session, in the name of a context.
    pub async fn send_letter(
        &self,
        sending: Sending<'_>,
        context_name: &str,
        cancel: CancellationToken,
    ) -> Result<String, String> {
        let scope = Scope {
            session_id: new_id(),
            parent_session_id: None,
            context_name: context_name.into(),
            agent_name: self.settings.agent_name.clone(),
            agents_above: Vec::new(),
            model: format!("{}/{}", self.provider.name(), self.provider.model()),
            cwd: self.settings.cwd.display().to_string(),
            turn: 0,
        };
        let hooks = Hooks::new(self.engine.clone(), self.front.clone(), cancel, scope);
        sending.send(&hooks, &*self.store).await
    }
}

impl Session {
    /// The letters that wait for this context, with those that were laid down elsewhere, as far as they fit into a
    /// prompt.
    pub(crate) async fn arrived(&self) -> Result<Arrivals, StoreError> {
        // They are for the context's own agent.
        if self.is_subagent() {
            return Ok(Arrivals::default());
        }
        let context = &self.hooks.scope().context_name;
        if let Some(source) = &self.agent.mail {
            let remarks = source.collect(context, &*self.agent.store).await;
            for remark in remarks.unwrap_or_else(|problem| vec![problem]) {
                self.agent.front.show(Sight::Warning(&remark));
            }
        }
        Ok(Arrivals::of(self.agent.store.inbox(context).await?))
    }

    /// Adds messages, the first of which shows the letters.
    pub(crate) async fn add_showing(
        &mut self,
        messages: Vec<Message>,
        arrivals: &Arrivals,
    ) -> Result<(), StoreError> {
        let messages = self.finished(messages, Joins::InRun).await;
        let ids = arrivals.letters.iter().map(|letter| letter.id).collect();
        let entries = messages.iter().map(Into::into).collect();
        match self.write(entries, ids).await? {
            Consumed::All => {
                self.messages.extend(messages);
                self.show_usage();
                self.mention(arrivals);
                Ok(())
            }
            Consumed::TakenByAnother => Err(StoreError::new(
                "another session of this context has just been shown its messages; ask again",
            )),
        }
    }

    /// Tells the person that the prompt holds more than their own words.
    fn mention(&self, arrivals: &Arrivals) {
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
        self.agent.front.show(Sight::Notice(&text));
    }
}

/// The letters that come with a prompt.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    letters: Vec<WaitingLetter>,
    /// How many wait for a later prompt.
    left: usize,
}

impl Arrivals {
    /// The oldest of those that wait, as many as a prompt may hold.
    fn of(mut waiting: Vec<WaitingLetter>) -> Self {
        let mut bytes = 0;
        let fits = |letter: &&WaitingLetter| {
            bytes += letter.content.len() + letter.from.len();
            bytes <= MOST_AT_ONCE
        };
        let number = waiting.iter().take(MANY).take_while(fits).count();
        // The first one always comes, or nothing ever would.
        let left = waiting.split_off(number.max(1).min(waiting.len())).len();
        Self {
            letters: waiting,
            left,
        }
    }

    /// A prompt with the letters before it. Their lines are quoted, so that none can pass for the person's own words.
    pub(crate) fn before(&self, prompt: String) -> String {
        if self.letters.is_empty() {
            return prompt;
        }
        let mut text = String::from("Messages have arrived for you:\n");
        for letter in &self.letters {
            text.push_str(&format!("\nFrom {}:\n", shown_sender(letter)));
            for line in lines(&letter.content) {
                text.push_str(&format!("> {line}\n"));
            }
        }
        text.push_str("\nEnd of the messages.");
        if self.left > 0 {
            text.push_str(&format!(" {} more wait for the next prompt.", self.left));
        }
        text + "\n\n" + &prompt
    }
}

/// Whoever wrote it, and the context by whose way it came.
fn shown_sender(letter: &WaitingLetter) -> String {
    one_line(&letter.from, 3 * LONGEST_NAME)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn letter(from: &str, content: &str) -> WaitingLetter {
        WaitingLetter {
            id: 1,
            from: from.into(),
            content: content.into(),
            time_ms: 0,
        }
    }

    #[test]
    fn the_prompt_shows_who_wrote() {
        assert_eq!(Arrivals::default().before("hello".into()), "hello");
        let letters = vec![letter("alice", "one\ntwo"), letter("b\nob", "three")];
        let shown = Arrivals::of(letters).before("hello".into());
        let expected = "Messages have arrived for you:\n\nFrom alice:\n> one\n> two\n\nFrom b ob:\n> three\n\n\
                        End of the messages.\n\nhello";
        assert_eq!(shown, expected);
    }

    #[test]
    fn whoever_writes_much_fills_no_prompt() {
        let waiting = |number: usize, content: &str| vec![letter("a", content); number];
        let long = "x".repeat(LONGEST);
        let arrivals = Arrivals::of(waiting(30, &long));
        assert_eq!((arrivals.letters.len(), arrivals.left), (1, 29));
        let shown = arrivals.before("go".into());
        assert!(shown.ends_with("\n\nEnd of the messages. 29 more wait for the next prompt.\n\ngo"));
        let arrivals = Arrivals::of(waiting(250, "x"));
        assert_eq!((arrivals.letters.len(), arrivals.left), (MANY, 150));
        let arrivals = Arrivals::of(waiting(1, &"x".repeat(2 * MOST_AT_ONCE)));
        assert_eq!((arrivals.letters.len(), arrivals.left), (1, 0));
        assert_eq!(Arrivals::of(Vec::new()).left, 0);
    }

    proptest! {
        #[test]
        fn no_letter_passes_for_the_persons_words(
            from in "\\PC{0,8}",
            content in "(\\PC|[\n\r\u{b}\u{c}\u{85}\u{2028}\u{2029}]){0,40}",
        ) {
            let shown = Arrivals::of(vec![letter(&from, &content)]).before("PROMPT".into());
            let block = shown.strip_suffix("End of the messages.\n\nPROMPT").unwrap();
            let ends = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
            for line in block.split(ends).skip(3).filter(|line| !line.is_empty()) {
                prop_assert!(line.starts_with("> "), "{line:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_a_message_is_refused() {
        let long = "x".repeat(LONGEST + 1);
        for (to, content, from, words) in [
            (" ", "x", None, "no receiver"),
            ("a", " \n", None, "is empty"),
            ("a", long.as_str(), None, "is the limit"),
            ("a\nb", "x", None, "is no name"),
            ("a", "x", Some("\u{7}"), "is no name"),
            ("a", "x", Some(""), "is no name"),
            ("a", "x", Some("End of the messages."), "is no name"),
            ("a", "x", Some("b\u{2028}c"), "is no name"),
            ("a", "x", Some("b\u{202e}c"), "is no name"),
        ] {
            let error = Sending { to, content, from }.check().unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        let (to, content, from) = ("xmpp:me@example.org", "x", Some("somebody"));
        Sending { to, content, from }.check().unwrap();
    }
}
