//! The results of tools as Copilot's hooks know them.

use becket_events::{PreToolOutputPayload, PreToolOutputReply, Rewrite, text_of as text_of_parts};
use becket_hook_files::{HookAnswer, after_call};
use serde_json::{Map, Value};

use crate::naming::member;

/// The result of a call.
pub fn of(output: &PreToolOutputPayload, pascal: bool) -> Value {
    let kind = if output.is_error { "failure" } else { "success" };
    Value::Object(Map::from_iter([
        (member("resultType", pascal), kind.into()),
        (
            member("textResultForLlm", pascal),
            text_of_parts(&output.content).into(),
        ),
    ]))
}

/// A member of a result that a hook wrote, by either of its names.
fn of_result<'a>(written: &'a Value, name: &str) -> Option<&'a str> {
    let mut names = [false, true].into_iter().map(|pascal| member(name, pascal));
    names.find_map(|name| written.get(&name)?.as_str())
}

/// The text of a result that a hook wrote.
fn text_of(written: &Value) -> String {
    match written {
        Value::String(text) => text.clone(),
        other => match of_result(other, "textResultForLlm") {
            Some(text) => text.to_owned(),
            None => other.to_string(),
        },
    }
}

/// The reply about a call that has run.
pub fn reply(output: &PreToolOutputPayload, answer: &HookAnswer) -> PreToolOutputReply {
    let kind = answer
        .output
        .as_ref()
        .and_then(|written| of_result(written, "resultType"));
    let failed = kind.map(|kind| kind != "success");
    PreToolOutputReply {
        is_error: Rewrite(failed.filter(|failed| *failed != output.is_error)),
        ..after_call(output, answer, text_of)
    }
}
