//! Rows: one event as one format knows it. A row turns the event into a program's input, and its output into a
//! reply. becket's own format is the row at the end of this file; foreign ones live with their dialects.

use std::sync::Arc;
use std::time::Duration;

use becket_events::{Class, Event, EventId, Reply, Visitor};
use futures_util::future::BoxFuture;

use crate::strict_json::read_strictly;
use crate::{Cause, Failure, Finished, Handler, Invocation, Lane, Occasion};

/// One event in the words of one format.
pub struct Row<E: Event> {
    /// The format; handlers of one format share the text of an event.
    pub format: &'static str,
    /// The text that a program reads.
    pub encode: Encode<E>,
    /// Variables that a program finds in its environment, with the help of the text that it reads.
    pub environment: Environment<E>,
    /// What the output means. Patches become full values here, with the help of the current payload.
    pub decode: Decode<E>,
}

/// Makes the text that a program reads.
pub type Encode<E> = Box<dyn Fn(&Occasion<'_, E>) -> String + Send + Sync>;

/// Makes variables of one run.
pub type Environment<E> =
    Box<dyn Fn(&Occasion<'_, E>, &str) -> Result<Vec<(String, String)>, Failure> + Send + Sync>;

/// Reads what a program has answered.
pub type Decode<E> =
    Box<dyn Fn(&<E as Event>::Payload, Finished) -> Result<<E as Event>::Reply, Failure> + Send + Sync>;

/// A program behind a row.
pub struct RowHandler<E: Event> {
    /// How the program is run.
    pub lane: Arc<dyn Lane>,
    /// What its input and output mean.
    pub row: Row<E>,
    /// How long one run may take.
    pub timeout: Duration,
}

impl<E: Event> Handler<E> for RowHandler<E> {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, E>) -> BoxFuture<'a, Result<E::Reply, Failure>> {
        Box::pin(async move {
            let input = occasion.text(self.row.format, || (self.row.encode)(occasion));
            let invocation = Invocation {
                environment: (self.row.environment)(occasion, &input)?,
                input,
                directory: occasion.scope.cwd.clone().into(),
                timeout: self.timeout,
            };
            let finished = occasion.run(&*self.lane, invocation).await?;
            let stderr = finished.stderr.clone();
            (self.row.decode)(occasion.payload, finished).map_err(|failure| failure.with_stderr(stderr))
        })
    }
}

/// The row of becket's own hooks, the same for every event.
pub fn own_row<E: Event>() -> Row<E> {
    Row {
        format: "becket",
        encode: Box::new(|occasion| becket_events::envelope::<E>(occasion.scope, occasion.payload)),
        environment: Box::new(|occasion, _| {
            let scope = occasion.scope;
            Ok(vec![
                ("BECKET_EVENT".into(), E::NAME.into()),
                ("BECKET_SESSION_ID".into(), scope.session_id.clone()),
                ("BECKET_CONTEXT".into(), scope.context_name.clone()),
            ])
        }),
        decode: Box::new(|_, finished| decode_own::<E>(finished)),
    }
}

/// What is wrong with a text as the whole answer of one of becket's own hooks, if anything.
pub fn trouble_of_answer(event: EventId, text: &str) -> Option<Failure> {
    struct Parse<'a>(&'a str);
    impl Visitor for Parse<'_> {
        type Output = Option<Failure>;

        fn visit<E: Event>(self) -> Self::Output {
            parse_reply::<E>(self.0.as_bytes()).err()
        }
    }
    event.visit(Parse(text))
}

/// The exit code by which a guard refuses; standard error says why.
const REFUSED: i32 = 2;

/// Exit 0: standard output is the reply, or nothing. Exit 2 on a guard: refused. Anything else is a failure.
fn decode_own<E: Event>(finished: Finished) -> Result<E::Reply, Failure> {
    let Finished {
        stdout,
        stderr,
        code,
        complete,
    } = finished;
    match code {
        0 if !complete && E::CLASS >= Class::Filter => parse_incomplete::<E>(&stdout),
        0 => parse_reply::<E>(&stdout),
        REFUSED if E::CLASS >= Class::Filter => {
            // A reply beside the exit code may hold a reason too; one that cannot be read changes nothing.
            let reply = parse_reply::<E>(&stdout).unwrap_or_default();
            let reason = match (
                stderr.trim(),
                reply.verdict().and_then(|verdict| verdict.reason()),
            ) {
                ("", Some(_)) => String::new(),
                ("", None) => "refused with exit code 2 and no words on standard error".into(),
                (words, _) => words.to_string(),
            };
            Ok(reply.then(E::Reply::refuse(reason)))
        }
        code => Err(Failure::new(Cause::ExitStatus, format!("exit code {code}"))),
    }
}

/// More may have been about to come, a refusal among it. Only what is a whole reply already can be taken for one.
fn parse_incomplete<E: Event>(stdout: &[u8]) -> Result<E::Reply, Failure> {
    match parse_reply::<E>(stdout) {
        // Every reply but silence has a bracket.
        Ok(reply) if stdout.contains(&b'{') => Ok(reply),
        Err(failure) if failure.cause != Cause::UnreadableOutput => Err(failure),
        _ => Err(Failure::new(
            Cause::UnreadableOutput,
            "it ended without a whole reply, and a background process still holds standard output, so more might \
             have come; wait for that process, or redirect its output: `… >/dev/null 2>&1 &`",
        )),
    }
}

fn parse_reply<E: Event>(stdout: &[u8]) -> Result<E::Reply, Failure> {
    let text = std::str::from_utf8(stdout).map_err(|error| {
        Failure::new(
            Cause::UnreadableOutput,
            format!("standard output is not UTF-8: {error}"),
        )
    })?;
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Ok(E::Reply::default());
    }
    let value = read_strictly(text).map_err(|error| {
        let detail = format!("standard output is not JSON ({error}): {}", beginning(text));
        Failure::new(Cause::UnreadableOutput, detail)
    })?;
    // Serde would take a list for a struct, field by field.
    if !value.is_object() {
        return Err(Failure::new(
            Cause::WrongShape,
            format!("a reply is a JSON object, not {}", beginning(text)),
        ));
    }
    // Read from the text once more: what a hook wrote is kept byte for byte, where the reply holds JSON text.
    serde_json::from_str(text).map_err(|error| {
        let detail = format!(
            "{error}; `becket hooks events {}` shows what can be answered",
            E::NAME
        );
        Failure::new(Cause::WrongShape, detail)
    })
}

/// The first words of a text, for a message.
fn beginning(text: &str) -> String {
    let mut words: String = text.chars().take(80).collect();
    if words.len() < text.len() {
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_events::{PreTool, TurnEnded, Verdict};

    fn finished(stdout: &str, stderr: &str, code: i32) -> Finished {
        Finished {
            stdout: stdout.into(),
            stderr: stderr.into(),
            code,
            complete: true,
        }
    }

    fn verdict(stdout: &str, stderr: &str, code: i32) -> Result<Option<Verdict>, Cause> {
        match decode_own::<PreTool>(finished(stdout, stderr, code)) {
            Ok(reply) => Ok(reply.verdict().cloned()),
            Err(failure) => Err(failure.cause),
        }
    }

    #[test]
    fn what_a_guards_output_means() {
        let deny = |reason: &str| Ok(Some(Verdict::Deny(reason.into())));
        assert_eq!(verdict("", "", 0), Ok(None));
        assert_eq!(verdict(" \n", "", 0), Ok(None));
        assert_eq!(verdict("{}", "", 0), Ok(None));
        assert_eq!(verdict(r#"{"verdict":"allow"}"#, "", 0), Ok(Some(Verdict::Allow)));
        assert_eq!(verdict(r#"{"verdict":{"deny":"no"}}"#, "", 0), deny("no"));
        assert_eq!(
            verdict("\u{feff}{\"verdict\":{\"deny\":\"no\"}}", "", 0),
            deny("no")
        );
        assert_eq!(verdict("", "not here\n", 2), deny("not here"));
        assert_eq!(
            verdict("", "", 2),
            deny("refused with exit code 2 and no words on standard error")
        );
        assert_eq!(verdict(r#"{"verdict":{"deny":"a"}}"#, "b", 2), deny("a\nb"));
        assert_eq!(verdict(r#"{"verdict":"allow"}"#, "b", 2), deny("b"));
        assert_eq!(verdict("garbage", "b", 2), deny("b"));
        assert_eq!(verdict("{\"verdict\":", "", 0), Err(Cause::UnreadableOutput));
        assert_eq!(verdict("yes", "", 0), Err(Cause::UnreadableOutput));
        assert_eq!(verdict("{} {}", "", 0), Err(Cause::UnreadableOutput));
        assert_eq!(verdict("[]", "", 0), Err(Cause::WrongShape));
        assert_eq!(verdict(r#"{"verdict":"deny"}"#, "", 0), Err(Cause::WrongShape));
        assert_eq!(verdict(r#"{"verdct":"allow"}"#, "", 0), Err(Cause::WrongShape));
        assert_eq!(verdict("", "", 1), Err(Cause::ExitStatus));
    }

    #[test]
    fn exit_2_is_no_refusal_where_nothing_can_be_refused() {
        let failure = decode_own::<TurnEnded>(finished("", "", 2)).unwrap_err();
        assert_eq!(failure.cause, Cause::ExitStatus);
    }

    #[test]
    fn a_guard_whose_output_is_not_at_its_end_must_have_replied_already() {
        fn decode<E: Event>(stdout: &str) -> Result<E::Reply, Cause> {
            let finished = Finished {
                complete: false,
                ..finished(stdout, "", 0)
            };
            decode_own::<E>(finished).map_err(|failure| failure.cause)
        }
        let verdict = |stdout| decode::<PreTool>(stdout).map(|reply| reply.verdict().cloned());
        for late in ["", "\n", "\u{feff}", "{\"verdict\":", "Thinking…"] {
            assert_eq!(verdict(late), Err(Cause::UnreadableOutput), "{late}");
        }
        assert_eq!(verdict("{}"), Ok(None));
        assert_eq!(verdict(r#"{"verdict":"allow"}"#), Ok(Some(Verdict::Allow)));
        assert_eq!(verdict(r#"{"verdct":"allow"}"#), Err(Cause::WrongShape));
        assert!(decode::<TurnEnded>("").is_ok());
    }

    #[test]
    fn a_misspelt_verdict_shows_how_it_is_written() {
        let table = [
            (r#"{"verdict":"deny"}"#, r#"{"verdict": {"deny": "why"}}"#),
            (r#"{"verdict":"ask"}"#, r#"{"verdict": {"ask": "why"}}"#),
            (r#"{"verdict":"no"}"#, r#""allow", {"ask": "why"}"#),
            (r#"{"verdict":42}"#, r#"{"insist": "why"} or {"deny": "why"}"#),
            (r#"{"verdict":{"refuse":"x"}}"#, r#"{"deny": "why"}"#),
            (r#"{"verdict":{}}"#, r#"{"deny": "why"}"#),
            (r#"{"verdict":{"deny":"a","ask":"b"}}"#, r#"{"deny": "why"}"#),
        ];
        for (reply, shown) in table {
            let failure = decode_own::<PreTool>(finished(reply, "", 0)).unwrap_err();
            assert_eq!(failure.cause, Cause::WrongShape);
            assert!(failure.detail.contains(shown), "{reply}: {}", failure.detail);
        }
        assert_eq!(
            verdict(r#"{"verdict":{"deny":" "}}"#, "", 0),
            Ok(Some(Verdict::Deny("refused without a reason".into())))
        );
    }
}
