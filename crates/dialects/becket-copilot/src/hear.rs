//! What a hook has said: its exit code, and its output.
//!
//! Lines that report progress are shown and taken away; the rest is one JSON object. Exit code 2 refuses a call, and so
//! does any other code but 0 before a tool is used. At other events such a code is an error after which Copilot goes
//! on; becket does so too, and says it each time. Codes by which a shell says that it did not find a program, or that a
//! signal ended it, are failures.
//!
//! Copilot takes output that it cannot read for silence. The answer of a guard that cannot be read refuses here. A
//! decision counts wherever Copilot or one of the agents whose hooks it runs looks for it: in the object itself or in
//! `hookSpecificOutput`.

use becket_events::Class;
use becket_hook_files::{Contract, Decision, HookAnswer, error_line, unfinished};
use becket_hooks::{Cause, Failure, Finished, read_strictly};
use serde_json::{Map, Value};

/// The exit code by which a hook refuses.
const REFUSED: i32 = 2;

/// How many bytes of text for the model a hook may write.
const MOST_CONTEXT: usize = 10 * 1024;

const NO_REASON: &str = "a hook refused this, and gives no reason";

/// The events of Copilot at which an exit code means something else than at others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    BeforeCall,
    Permission,
    Failure,
    Other,
}

impl Moment {
    fn of(event: &str) -> Self {
        match event {
            "preToolUse" | "PreToolUse" => Self::BeforeCall,
            "permissionRequest" | "PermissionRequest" => Self::Permission,
            "postToolUseFailure" | "PostToolUseFailure" => Self::Failure,
            _ => Self::Other,
        }
    }
}

/// What a program has said.
pub fn hear(contract: &Contract, finished: &Finished) -> Result<HookAnswer, Failure> {
    let stderr = finished.stderr.trim();
    let first = error_line(stderr);
    let what = |code: i32| match first {
        "" => format!("exit code {code}"),
        line => format!("exit code {code}: {line}"),
    };
    if let Some(failure) = unfinished(finished.code) {
        return Err(failure);
    }
    match (finished.code, Moment::of(contract.name)) {
        (0, _) => hear_output(contract, finished),
        (REFUSED, moment @ (Moment::BeforeCall | Moment::Permission)) => {
            let answer = hear_output(contract, finished).unwrap_or_default();
            let told = (moment == Moment::BeforeCall && !stderr.is_empty()).then(|| stderr.to_owned());
            let reason = answer.block.clone().or(answer.reason.clone()).or(told);
            Ok(HookAnswer {
                block: Some(reason.unwrap_or_else(|| NO_REASON.to_owned())),
                // What it says beside a refusal counts no longer.
                decision: None,
                arguments: None,
                ..answer
            })
        }
        (REFUSED, Moment::Failure) => {
            let (text, notice) = without_progress(finished)?;
            let said = hear_text(contract, &text);
            let plain = || HookAnswer {
                context: Some(text.clone())
                    .filter(|text| !text.is_empty())
                    .into_iter()
                    .collect(),
                ..HookAnswer::default()
            };
            let answer = said
                .ok()
                .filter(|answer| !answer.context.is_empty())
                .unwrap_or_else(plain);
            Ok(HookAnswer { notice, ..answer })
        }
        (code, Moment::BeforeCall) => {
            // Many hooks write to standard output why they refuse, although Copilot drops it.
            let words = String::from_utf8_lossy(&finished.stdout);
            let words = Some(words.trim()).filter(|words| first.is_empty() && !words.is_empty());
            let words = words.map_or(String::new(), |words| format!(": {words}"));
            Ok(HookAnswer::blocking(format!(
                "the hook failed: {}{words}",
                what(code)
            )))
        }
        (code, _) => Ok(HookAnswer::error(what(code))),
    }
}

fn unreadable(why: &str) -> Failure {
    Failure::new(Cause::UnreadableOutput, why)
}

fn hear_output(contract: &Contract, finished: &Finished) -> Result<HookAnswer, Failure> {
    if contract.class == Class::Guard && !finished.complete {
        return Err(unreadable(
            "a background process still holds standard output, so more might have come; redirect its output: \
             `… >/dev/null 2>&1 &`",
        ));
    }
    let (text, notice) = without_progress(finished)?;
    let mut answer = hear_text(contract, &text)?;
    answer.notice.splice(0..0, notice);
    Ok(answer)
}

/// The output without lines that report progress, and what those report.
fn without_progress(finished: &Finished) -> Result<(String, Vec<String>), Failure> {
    let text = std::str::from_utf8(&finished.stdout)
        .map_err(|_| unreadable("standard output is not UTF-8"))?
        .trim_start_matches('\u{feff}');
    let (mut rest, mut told) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let value = serde_json::from_str::<Value>(line.trim()).ok();
        let progress = value.filter(|value| value.get("type").and_then(Value::as_str) == Some("progress"));
        match progress {
            Some(progress) => told.extend(
                progress
                    .get("message")
                    .and_then(Value::as_str)
                    .map(ToOwned::to_owned),
            ),
            None => rest.push(line),
        }
    }
    Ok((rest.join("\n").trim().to_owned(), told))
}

fn hear_text(contract: &Contract, text: &str) -> Result<HookAnswer, Failure> {
    let is_guard = contract.class == Class::Guard;
    if text.starts_with(['{', '[']) {
        return match read_strictly(text) {
            Ok(Value::Object(said)) => read(contract, &said),
            _ if is_guard => Err(unreadable(
                "standard output begins like JSON and is not a JSON object; print the object alone",
            )),
            _ => Ok(HookAnswer::default()),
        };
    }
    // A decision inside of other text would be lost.
    let decides = ["permissionDecision", "\"behavior\"", "\"decision\""];
    if is_guard && decides.iter().any(|word| text.contains(word)) {
        return Err(unreadable(
            "there is text around the JSON object on standard output; print the object alone, and other words to \
             standard error",
        ));
    }
    Ok(HookAnswer::default())
}

/// The members of an answer: its own, and those in `hookSpecificOutput`, which count before them.
struct Members<'a> {
    maps: Vec<&'a Map<String, Value>>,
}

impl<'a> Members<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        let mut values = self.maps.iter().filter_map(|map| map.get(key));
        values.find(|value| !value.is_null())
    }

    fn wrong(key: &str, wanted: &str) -> Failure {
        Failure::new(Cause::WrongShape, format!("`{key}` must be {wanted}"))
    }

    fn text(&self, key: &str) -> Result<Option<String>, Failure> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Self::wrong(key, "a text")),
        }
    }

    fn truth(&self, key: &str) -> Result<Option<bool>, Failure> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(*truth)),
            Some(_) => Err(Self::wrong(key, "true or false")),
        }
    }

    fn object(&self, key: &str) -> Result<Option<Map<String, Value>>, Failure> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map.clone())),
            // Earlier versions wrote arguments as text.
            Some(Value::String(text)) => match read_strictly(text) {
                Ok(Value::Object(map)) => Ok(Some(map)),
                _ => Err(Self::wrong(key, "an object")),
            },
            Some(_) => Err(Self::wrong(key, "an object")),
        }
    }
}

/// Reads an answer.
fn read(contract: &Contract, said: &Map<String, Value>) -> Result<HookAnswer, Failure> {
    let specific = said.get("hookSpecificOutput").and_then(Value::as_object);
    let members = Members {
        maps: specific.into_iter().chain([said]).collect(),
    };
    let mut answer = HookAnswer {
        notice: members.text("systemMessage")?.into_iter().collect(),
        context: members.text("additionalContext")?.map(cut).into_iter().collect(),
        ..HookAnswer::default()
    };
    let moment = Moment::of(contract.name);
    if members.truth("continue")? == Some(false) {
        let reason = members.text("stopReason")?;
        let reason = reason.unwrap_or_else(|| "a hook ended the run".into());
        match moment {
            Moment::BeforeCall | Moment::Permission => answer.block = Some(reason),
            _ => answer.halt = Some(reason),
        }
    }
    match (moment, contract.name) {
        (Moment::BeforeCall, _) => read_call(&members, &mut answer)?,
        (Moment::Permission, _) => read_permission(&members, &mut answer)?,
        (_, "agentStop" | "Stop") => {
            read_stop(&members, &mut answer)?;
            if members.get("modifiedResponse").is_some() {
                let told = "to change an answer that the user has read; only those of sub-agents change";
                answer.unserved.push(told.to_owned());
            }
        }
        (_, "subagentStop" | "SubagentStop") => {
            read_stop(&members, &mut answer)?;
            answer.output = members.text("modifiedResponse")?.map(Value::String);
        }
        (_, "postToolUse" | "PostToolUse") => answer.output = members.get("modifiedResult").cloned(),
        (_, "userPromptTransformed") => {
            answer.output = members.text("modifiedTransformedPrompt")?.map(Value::String);
        }
        _ => {}
    }
    Ok(answer)
}

/// A text that is not too long.
fn cut(mut text: String) -> String {
    let end = (0..=MOST_CONTEXT.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    text.truncate(end.unwrap_or_default());
    text
}

/// Reads the decision about a call.
fn read_call(members: &Members<'_>, answer: &mut HookAnswer) -> Result<(), Failure> {
    answer.arguments = members
        .object("modifiedArgs")?
        .or(members.object("updatedInput")?);
    let reason = members
        .text("permissionDecisionReason")?
        .or(members.text("reason")?);
    let word = members.text("permissionDecision")?.or(members.text("decision")?);
    answer.decision = match word.as_deref() {
        None => None,
        Some("allow" | "approve") => Some(Decision::Allow),
        Some("deny" | "block") => Some(Decision::Deny),
        Some("ask") => Some(Decision::Ask),
        Some(_) => return Err(Members::wrong("permissionDecision", "`allow`, `deny` or `ask`")),
    };
    answer.reason = reason.filter(|_| word.is_some());
    Ok(())
}

/// Reads the answer to a question about permission.
fn read_permission(members: &Members<'_>, answer: &mut HookAnswer) -> Result<(), Failure> {
    let decision = members.object("decision").unwrap_or_default();
    let inner = Members {
        maps: decision.iter().chain(members.maps.iter().copied()).collect(),
    };
    let message = inner.text("message")?;
    answer.decision = match inner.text("behavior")?.as_deref() {
        None if decision.is_some() || members.get("decision").is_some() => {
            return Err(Members::wrong("behavior", "`allow` or `deny`"));
        }
        None => None,
        Some("allow") => Some(Decision::Allow),
        Some("deny") => Some(Decision::Deny),
        Some(_) => return Err(Members::wrong("behavior", "`allow` or `deny`")),
    };
    let denies = answer.decision == Some(Decision::Deny);
    if denies && inner.truth("interrupt")? == Some(true) {
        answer.halt = Some(message.clone().unwrap_or_else(|| "a hook ended the run".into()));
    }
    answer.reason = message;
    Ok(())
}

/// Reads whether the model goes on.
fn read_stop(members: &Members<'_>, answer: &mut HookAnswer) -> Result<(), Failure> {
    if members.text("decision")?.as_deref() == Some("block") {
        let reason = members.text("reason")?.filter(|reason| !reason.trim().is_empty());
        answer.block = Some(reason.ok_or_else(|| Members::wrong("reason", "there beside `decision`"))?);
    }
    // An end of the run counts more than a reason to go on.
    if answer.halt.is_some() {
        answer.block = None;
    }
    Ok(())
}
