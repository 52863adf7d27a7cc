//! Messages between contexts: how one is sent, and how its receiver is shown what has arrived.
//!
//! A letter waits in its receiver's inbox until the next prompt there. The entry that shows it and the end of its
//! waiting are one transaction, so it is shown exactly once, whatever is killed in between.
//!
//! If another session was faster and a letter is gone, the prompt fails: hooks have already seen the prompt with that
//! letter in it, and it must not be shown without.

use becket_events::{
    PostMessageDelivery, PostMessageDeliveryPayload, PreMessageDelivery, PreMessageDeliveryPayload,
};
use becket_gate::Hooks;
use becket_hooks::nearest;
use futures_util::future::BoxFuture;

use crate::plain::{lines, one_line};
use crate::store::{Letter, Store, StoreError, WaitingLetter};

/// The longest message, in bytes. The receiver's model reads it as a whole.
const LONGEST: usize = 64 * 1024;

/// The most bytes of messages that come with one prompt; the rest comes with later ones. So a sender who writes much
/// cannot push out what the receiver's model knows.
const MOST_AT_ONCE: usize = 96 * 1024;

/// The most messages that come with one prompt.
const MANY: usize = 100;

/// The longest name, in characters.
const LONGEST_NAME: usize = 100;

/// A place besides the store where others leave letters.
pub trait MailSource: Send + Sync {
    /// The names of contexts for which letters wait here.
    fn waiting(&self) -> Vec<String>;

    /// Moves the letters for a context into the store. The error is for the user; what could not be moved stays where
    /// it is.
    fn collect<'a>(
        &'a self,
        context_name: &'a str,
        store: &'a dyn Store,
    ) -> BoxFuture<'a, Result<Vec<String>, String>>;
}

/// A letter that is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending<'a> {
    /// The receiver: a context, or a name that a hook knows.
    pub to: &'a str,
    /// The text of the letter.
    pub content: &'a str,
    /// The writer's name; default: the context that sends the letter.
    pub from: Option<&'a str>,
}

impl Sending<'_> {
    /// Checks the letter; the error says what is wrong with it.
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
        // The writer's name is put on a line of its own before the message, so it must not contain anything else.
        let is_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
        let named = [
            (self.to, true),
            (self.from.unwrap_or("me"), is_name(self.from.unwrap_or("me"))),
        ];
        for (name, is_right) in named {
            if !is_right || one_line(name, LONGEST_NAME) != name {
                return Err(format!("{:?} is not a valid name", one_line(name, LONGEST_NAME)));
            }
        }
        Ok(())
    }

    /// Sends the letter in the name of the hooks' context. Says what happened to it.
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
            // Hooks were not asked, and one of them may be the way to the receiver.
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
        // A letter under another name still shows who sent it.
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

/// The letters that come with a prompt.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    pub(crate) letters: Vec<WaitingLetter>,
    /// How many letters wait for a later prompt.
    pub(crate) left: usize,
}

impl Arrivals {
    /// The oldest waiting letters, as many as a prompt may hold.
    pub(crate) fn of(mut waiting: Vec<WaitingLetter>) -> Self {
        let mut bytes = 0;
        let fits = |letter: &&WaitingLetter| {
            bytes += letter.content.len() + letter.from.len();
            bytes <= MOST_AT_ONCE
        };
        let number = waiting.iter().take(MANY).take_while(fits).count();
        // The first one always comes, even if it is too long, or no letter ever would.
        let left = waiting.split_off(number.max(1).min(waiting.len())).len();
        Self {
            letters: waiting,
            left,
        }
    }

    /// A prompt with the letters before it. Their lines are quoted, so that none can pass for the user's own text.
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

/// The letter's writer, and the context that sent it.
pub(crate) fn shown_sender(letter: &WaitingLetter) -> String {
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
            ("a\nb", "x", None, "is not a valid name"),
            ("a", "x", Some("\u{7}"), "is not a valid name"),
            ("a", "x", Some(""), "is not a valid name"),
            ("a", "x", Some("End of the messages."), "is not a valid name"),
            ("a", "x", Some("b\u{2028}c"), "is not a valid name"),
            ("a", "x", Some("b\u{202e}c"), "is not a valid name"),
        ] {
            let error = Sending { to, content, from }.check().unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        let (to, content, from) = ("xmpp:me@example.org", "x", Some("somebody"));
        Sending { to, content, from }.check().unwrap();
    }
}
