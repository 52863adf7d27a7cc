//! The meaning of a command's end: its exit code, its output, and whether they are consistent.

use becket_events::Class;
use becket_hooks::{Cause, Failure, Finished, read_strictly};

use super::contract::{Contract, Permission, Plain};
use super::output::{Output, Printed, UnknownKey, wrong};

/// The exit code by which a hook blocks; standard error holds the reason.
const BLOCKED: i32 = 2;

/// Whether a text could be mistaken for an answer by the author of the hook.
fn is_mistakable(text: &str) -> bool {
    let word = text.to_lowercase();
    ["allow", "ask", "block", "deny", "denied", "no", "false"].contains(&word.as_str())
}

/// The rules by which an answer is judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) contract: Contract,
    /// What a broken hook means.
    pub(super) class: Class,
    /// Whether the output must follow the contract exactly.
    pub(super) strict: bool,
}

/// The answer of a command.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) output: Output,
    /// Output that is not JSON.
    pub(super) plain: Option<String>,
    /// The reason of a refusal by exit code.
    pub(super) refusal: Option<String>,
    /// The command's standard error.
    pub(super) stderr: String,
    /// Remarks for the user about the answer, each with the field that it is about.
    pub(super) odd: Vec<(String, String)>,
}

impl Heard {
    /// Why the action must not happen, if the hook blocks.
    pub(super) fn refused(&self) -> Option<String> {
        let Output {
            keep_going,
            stop_reason,
            decision,
            reason,
            ..
        } = &self.output;
        let blocks = *keep_going == Some(false) || decision.is_some();
        let given = [&self.refusal, reason, stop_reason].into_iter().flatten();
        let given = given.map(|words| words.trim()).find(|words| !words.is_empty());
        (blocks || self.refusal.is_some()).then(|| given.unwrap_or("it gives no reason").to_owned())
    }

    /// What the hook says to the user.
    pub(super) fn words(self) -> Vec<String> {
        let words = [
            self.plain,
            self.output.additional_context,
            self.output.system_message,
        ];
        words.into_iter().flatten().collect()
    }
}

impl Rules {
    /// Reads the exit code and the output of a command.
    pub(super) fn hear(self, finished: &Finished) -> Result<Heard, Failure> {
        let stderr = finished.stderr.trim().to_owned();
        match finished.code {
            0 => {
                let heard = self.hear_output(finished)?;
                self.check(Heard { stderr, ..heard })
            }
            BLOCKED if self.contract.can_block() => {
                // Output beside the exit code may hold a reason too; if it cannot be read, the refusal stands without
                // it.
                let output = self.hear_output(finished).unwrap_or_default().output;
                let heard = self.check(Heard {
                    output,
                    ..Heard::default()
                });
                Ok(Heard {
                    refusal: Some(stderr),
                    ..heard.unwrap_or_default()
                })
            }
            BLOCKED => Err(Failure::new(
                Cause::ExitStatus,
                format!("exit code 2 blocks, and {} cannot be blocked", self.contract.name),
            )),
            127 => Err(Failure::new(
                Cause::ExitStatus,
                "exit code 127: the shell did not find a program that the hook uses",
            )),
            code => Err(Failure::new(Cause::ExitStatus, format!("exit code {code}"))),
        }
    }

    /// Checks an answer whose words are known to be valid, and removes fields without effect at this event.
    pub(super) fn check(self, mut heard: Heard) -> Result<Heard, Failure> {
        let event = self.contract.name;
        for field in heard.output.given() {
            let advice = field == "permission_decision"
                && self.contract.permission == Permission::Refuses
                && heard.output.permission_decision.as_deref() != Some("deny");
            if self.contract.means(field) && !advice {
                continue;
            }
            let what = format!("`{field}` means nothing at {event}");
            if self.strict {
                return Err(wrong(format!("{what}, and `strict_output` is set")));
            }
            heard.output.forget(field);
            heard.odd.push((field.to_owned(), what));
        }
        Ok(heard)
    }

    fn hear_output(self, finished: &Finished) -> Result<Heard, Failure> {
        let text = std::str::from_utf8(&finished.stdout).map_err(|error| {
            let detail = format!("standard output is not UTF-8: {error}");
            Failure::new(Cause::UnreadableOutput, detail)
        })?;
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.starts_with('{') {
            return self.look_through(Output::read(text)?);
        }
        let guard = self.class == Class::Guard;
        if guard && !finished.complete {
            return Err(Failure::new(
                Cause::UnreadableOutput,
                "it ended without a whole answer, and a background process still holds standard output, so more \
                 might have come; wait for that process, or redirect its output: `… >/dev/null 2>&1 &`",
            ));
        }
        if text.is_empty() {
            return Ok(Heard::default());
        }
        if self.strict {
            return Err(wrong(
                "standard output is not a JSON object, and `strict_output` is set",
            ));
        }
        // A verdict inside of other text would be taken for plain text, and a refusal would be lost.
        let is_json = read_strictly(text).is_ok();
        if guard && (is_json || text.contains('{') || text.starts_with(['[', '"']) || is_mistakable(text)) {
            return Err(Failure::new(
                Cause::UnreadableOutput,
                "standard output is not a JSON object; print the object alone ({\"decision\": \"block\", \"reason\": \
                 \"why\"}), and other words to standard error",
            ));
        }
        let plain = (self.contract.plain != Plain::Dropped).then(|| text.to_owned());
        Ok(Heard {
            plain,
            ..Heard::default()
        })
    }

    fn look_through(self, printed: Printed) -> Result<Heard, Failure> {
        let name = self.contract.name;
        if let Some(event) = printed.event.filter(|event| self.strict && event != name) {
            return Err(wrong(format!("`hook_event_name` is {event}, not {name}")));
        }
        let mut odd = Vec::new();
        for UnknownKey { name, hint, decides } in printed.unknown {
            let what = format!("`{name}` is no field of an answer{hint}");
            if self.strict || (decides && self.class == Class::Guard) {
                return Err(wrong(what));
            }
            odd.push((name, what));
        }
        Ok(Heard {
            output: printed.output,
            odd,
            ..Heard::default()
        })
    }
}
