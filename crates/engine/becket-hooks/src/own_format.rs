//! becket's own hook format: what a program reads and what its output means, the same for every event.
//!
//! Exit code 2 is a refusal on guards only, with stderr as the reason; everywhere else it is a failure like any other
//! code. Empty output and `{}` mean that the hook said nothing. A reply with an unknown field is a failure, because a
//! misspelt `verdict` must not pass for silence.

use std::sync::Arc;
use std::time::Duration;

use becket_events::{Class, Event, EventId};
use futures_util::future::BoxFuture;

use crate::row::Row;
use crate::strict_json::read_strictly;
use crate::untyped::{AnyAnswer, AnyHandler, AnyOccasion, EventKind, reply_of};
use crate::{Cause, Failure, Finished, Invocation, Lane};

/// The name of the format.
const FORMAT: &str = "becket";

/// A program that is one of becket's own hooks.
pub(crate) struct OwnHandler {
    pub(crate) kind: EventKind,
    pub(crate) lane: Arc<dyn Lane>,
    pub(crate) timeout: Duration,
}

impl AnyHandler for OwnHandler {
    fn call<'a>(&'a self, occasion: &'a AnyOccasion<'a>) -> BoxFuture<'a, AnyAnswer> {
        Box::pin(async move {
            let (scope, setting) = (occasion.scope, &occasion.setting);
            let make = || self.kind.envelope(scope, occasion.payload);
            let invocation = Invocation {
                input: setting.texts.text(FORMAT.into(), make),
                environment: variables(self.kind, &scope.session_id, &scope.context_name),
                directory: scope.cwd.clone().into(),
                timeout: self.timeout,
            };
            let finished = setting.run(&*self.lane, invocation).await?;
            let stderr = finished.stderr.clone();
            decode(self.kind, finished).map_err(|failure| failure.with_stderr(stderr))
        })
    }
}

fn variables(kind: EventKind, session_id: &str, context: &str) -> Vec<(String, String)> {
    vec![
        ("BECKET_EVENT".into(), kind.id.info().name.into()),
        ("BECKET_SESSION_ID".into(), session_id.into()),
        ("BECKET_CONTEXT".into(), context.into()),
    ]
}

/// becket's own format as a row, for callers that work with one event.
pub fn own_row<E: Event>() -> Row<E> {
    let kind = EventKind::of::<E>();
    Row {
        format: FORMAT,
        encode: Box::new(|occasion| becket_events::envelope::<E>(occasion.scope, occasion.payload)),
        environment: Box::new(move |occasion, _| {
            let scope = occasion.scope;
            Ok(variables(kind, &scope.session_id, &scope.context_name))
        }),
        decode: Box::new(move |_, finished| decode(kind, finished).map(reply_of::<E::Reply>)),
    }
}

/// What is wrong with a text as the whole answer of one of becket's own hooks, if anything.
pub fn trouble_of_answer(event: EventId, text: &str) -> Option<Failure> {
    parse_reply(EventKind::by_id(event), text.as_bytes()).err()
}

/// The exit code by which a guard refuses; standard error says why.
const REFUSED: i32 = 2;

/// Reads an answer. Exit 0: standard output is the reply, or empty. Exit 2 of a guard: refused. Anything else is a
/// failure.
fn decode(kind: EventKind, finished: Finished) -> AnyAnswer {
    let Finished {
        stdout,
        stderr,
        code,
        complete,
    } = finished;
    match code {
        0 if !complete && kind.class >= Class::Filter => parse_incomplete(kind, &stdout),
        0 => parse_reply(kind, &stdout),
        REFUSED if kind.class >= Class::Filter => {
            // Standard output may hold a reply with a reason too; if it cannot be read, the refusal stands.
            let reply = parse_reply(kind, &stdout).unwrap_or_else(|_| (kind.silence)());
            let reason = match (
                stderr.trim(),
                reply.verdict().and_then(|verdict| verdict.reason()),
            ) {
                ("", Some(_)) => String::new(),
                ("", None) => "refused with exit code 2 and no words on standard error".into(),
                (words, _) => words.to_string(),
            };
            Ok(reply.then((kind.refuse)(reason)))
        }
        code => Err(Failure::new(Cause::ExitStatus, format!("exit code {code}"))),
    }
}

/// Reads output that was cut off. More may have been about to come, such as a refusal, so only a complete reply is
/// accepted.
fn parse_incomplete(kind: EventKind, stdout: &[u8]) -> AnyAnswer {
    match parse_reply(kind, stdout) {
        // Every reply but silence has a brace.
        Ok(reply) if stdout.contains(&b'{') => Ok(reply),
        Err(failure) if failure.cause != Cause::UnreadableOutput => Err(failure),
        _ => Err(Failure::new(
            Cause::UnreadableOutput,
            "it ended without a whole reply, and a background process still holds standard output, so more might \
             have come; wait for that process, or redirect its output: `… >/dev/null 2>&1 &`",
        )),
    }
}

fn parse_reply(kind: EventKind, stdout: &[u8]) -> AnyAnswer {
    let text = std::str::from_utf8(stdout).map_err(|error| {
        Failure::new(
            Cause::UnreadableOutput,
            format!("standard output is not UTF-8: {error}"),
        )
    })?;
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Ok((kind.silence)());
    }
    let value = read_strictly(text).map_err(|error| {
        let detail = format!("standard output is not JSON ({error}): {}", beginning(text));
        Failure::new(Cause::UnreadableOutput, detail)
    })?;
    // Serde would accept a list for a struct, field by field.
    if !value.is_object() {
        return Err(Failure::new(
            Cause::WrongShape,
            format!("a reply is a JSON object, not {}", beginning(text)),
        ));
    }
    // Parsed from the text once more, so that JSON text inside of the reply is kept byte for byte as the hook wrote it.
    (kind.parse)(text).map_err(|error| {
        let detail = format!(
            "{error}; `becket hooks events {}` shows what can be answered",
            kind.id.info().name
        );
        Failure::new(Cause::WrongShape, detail)
    })
}

/// The first words of a text, for a message.
pub fn beginning(text: &str) -> String {
    let mut words: String = text.chars().take(80).collect();
    if words.len() < text.len() {
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_events::{PreTool, Reply, TurnEnded, Verdict};

    fn decoded<E: Event>(finished: Finished) -> Result<E::Reply, Failure> {
        decode(EventKind::of::<E>(), finished).map(reply_of::<E::Reply>)
    }

    fn finished(stdout: &str, stderr: &str, code: i32) -> Finished {
        Finished {
            stdout: stdout.into(),
            stderr: stderr.into(),
            code,
            complete: true,
        }
    }

    fn verdict(stdout: &str, stderr: &str, code: i32) -> Result<Option<Verdict>, Cause> {
        match decoded::<PreTool>(finished(stdout, stderr, code)) {
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
        let failure = decoded::<TurnEnded>(finished("", "", 2)).unwrap_err();
        assert_eq!(failure.cause, Cause::ExitStatus);
    }

    #[test]
    fn a_guard_whose_output_is_not_at_its_end_must_have_replied_already() {
        fn decode<E: Event>(stdout: &str) -> Result<E::Reply, Cause> {
            let finished = Finished {
                complete: false,
                ..finished(stdout, "", 0)
            };
            decoded::<E>(finished).map_err(|failure| failure.cause)
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
            let failure = decoded::<PreTool>(finished(reply, "", 0)).unwrap_err();
            assert_eq!(failure.cause, Cause::WrongShape);
            assert!(failure.detail.contains(shown), "{reply}: {}", failure.detail);
        }
        assert_eq!(
            verdict(r#"{"verdict":{"deny":" "}}"#, "", 0),
            Ok(Some(Verdict::Deny("refused without a reason".into())))
        );
    }
}
