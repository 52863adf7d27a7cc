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
use crate::session::{Agent, Session};
use crate::store::{Consumed, Letter, Store, StoreError, WaitingLetter};

/// The longest message, in bytes. The receiver's model reads it as a whole.
const LONGEST: usize = 64 * 1024;

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
        let named = [Some(self.to), self.from].into_iter().flatten();
        for name in named {
            if name.chars().any(char::is_control) || name.len() > 1_000 {
                return Err(format!(
                    "{:?} is no name",
                    name.chars().take(100).collect::<String>()
                ));
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
            Some(delivery) => Ok(format!("Message delivered to '{}' via {}", self.to, delivery.via)),
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
            model: format!("{}/{}", self.provider.name(), self.provider.model()),
            cwd: self.settings.cwd.display().to_string(),
            turn: 0,
        };
        let hooks = Hooks::new(self.engine.clone(), self.front.clone(), cancel, scope);
        sending.send(&hooks, &*self.store).await
    }
}

impl Session {
    /// The letters that wait for this context, with those that were laid down elsewhere.
    pub(crate) async fn arrived(&self) -> Result<Vec<WaitingLetter>, StoreError> {
        let context = &self.hooks.scope().context_name;
        if let Some(source) = &self.agent.mail {
            let remarks = source.collect(context, &*self.agent.store).await;
            for remark in remarks.unwrap_or_else(|problem| vec![problem]) {
                self.agent.front.show(Sight::Warning(&remark));
            }
        }
        self.agent.store.inbox(context).await
    }

    /// Adds messages, the first of which shows the letters.
    pub(crate) async fn add_showing(
        &mut self,
        messages: Vec<Message>,
        letters: &[WaitingLetter],
    ) -> Result<(), StoreError> {
        let messages = self.finished(messages).await;
        let ids = letters.iter().map(|letter| letter.id).collect();
        let entries = messages.iter().map(Into::into).collect();
        let store = &self.agent.store;
        match store.append_consuming(self.id(), entries, ids).await? {
            Consumed::All => {
                self.messages.extend(messages);
                self.mention(letters);
                Ok(())
            }
            Consumed::TakenByAnother => Err(StoreError::new(
                "another session of this context has just been shown its messages; ask again",
            )),
        }
    }

    /// Tells the person that the prompt holds more than their own words.
    fn mention(&self, letters: &[WaitingLetter]) {
        let mut senders: Vec<String> = letters.iter().map(|letter| one_line(&letter.from)).collect();
        senders.dedup();
        let text = match letters {
            [] => return,
            [_] => format!("a message has arrived, from {}", senders.join(", ")),
            _ => format!(
                "{} messages have arrived, from {}",
                letters.len(),
                senders.join(", ")
            ),
        };
        self.agent.front.show(Sight::Notice(&text));
    }
}

/// A prompt with the letters before it. Their lines are quoted, so that none can pass for the person's own words.
pub(crate) fn with_letters(letters: &[WaitingLetter], prompt: String) -> String {
    if letters.is_empty() {
        return prompt;
    }
    let mut text = String::from("Messages have arrived for you:\n");
    for letter in letters {
        text.push_str(&format!("\nFrom {}:\n", one_line(&letter.from)));
        for line in letter.content.lines() {
            text.push_str(&format!("> {line}\n"));
        }
    }
    text.push_str("\nEnd of the messages.\n\n");
    text + &prompt
}

fn one_line(text: &str) -> String {
    text.chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect()
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
        assert_eq!(with_letters(&[], "hello".into()), "hello");
        let letters = [letter("alice", "one\ntwo"), letter("b\nob", "three")];
        let shown = with_letters(&letters, "hello".into());
        let expected = "Messages have arrived for you:\n\nFrom alice:\n> one\n> two\n\nFrom b ob:\n> three\n\n\
                        End of the messages.\n\nhello";
        assert_eq!(shown, expected);
    }

    proptest! {
        #[test]
        fn no_letter_passes_for_the_persons_words(from in "\\PC{0,8}", content in "(\\PC|[\n\r\u{2028}]){0,40}") {
            let shown = with_letters(&[letter(&from, &content)], "PROMPT".into());
            let block = shown.strip_suffix("End of the messages.\n\nPROMPT").unwrap();
            for line in block.lines().skip(3).filter(|line| !line.is_empty()) {
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
        ] {
            let error = Sending { to, content, from }.check().unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        let (to, content, from) = ("xmpp:me@example.org", "x", Some("somebody"));
        Sending { to, content, from }.check().unwrap();
    }
}
