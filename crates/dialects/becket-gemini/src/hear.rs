//! What a hook has said: its exit code, and its output.
//!
//! An answer stands on standard output, or on standard error if there is nothing on standard output. A JSON object
//! counts whatever the exit code is, but does not allow what a code of 2 or more denies. Other text is a message for
//! the user with exit code 0, a warning with 1, and the reason of a block with any other. Codes by which a shell says
//! that it did not find a program, or that a signal ended it, are failures.

use becket_events::Class;
use becket_hook_files::{Contract, Decision, HookAnswer, Members, error_line, unfinished};
use becket_hooks::{Cause, Failure, Finished, read_strictly};
use serde_json::{Map, Value};

/// The exit code of an error after which Gemini CLI goes on.
const WARNED: i32 = 1;

/// Events at which nothing ends the run.
const NEVER_STOP: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "BeforeToolSelection",
    "PreCompress",
    "Notification",
];

const NO_REASON: &str = "a hook blocked this, and gives no reason";

/// What a program has said.
pub fn hear(contract: &Contract, finished: &Finished) -> Result<HookAnswer, Failure> {
    let said = match said(contract, finished)? {
        Said::Object(said) => read(contract, &said),
        Said::Garbage(why) => Err(Failure::new(Cause::UnreadableOutput, why)),
        Said::Text(text) => return hear_text(finished.code, text),
    };
    match (finished.code, said) {
        (0 | WARNED, said) => said,
        (_, Ok(answer)) if answer.block.is_some() || answer.halt.is_some() => Ok(answer),
        (code, said) => {
            if let Some(failure) = unfinished(code) {
                return Err(failure);
            }
            let answer = said.unwrap_or_default();
            let reason = answer.reason.clone().unwrap_or_else(|| {
                format!("a hook ended with exit code {code}, which denies whatever its answer allows")
            });
            Ok(HookAnswer {
                block: Some(reason),
                // What it says beside a block counts no longer.
                decision: None,
                arguments: None,
                output: None,
                ..answer
            })
        }
    }
}

/// What a program has said that printed no JSON object.
fn hear_text(code: i32, text: String) -> Result<HookAnswer, Failure> {
    match code {
        0 => Ok(HookAnswer {
            notice: Some(text).filter(|text| !text.is_empty()).into_iter().collect(),
            ..HookAnswer::default()
        }),
        WARNED => Ok(HookAnswer::error(match error_line(&text) {
            "" => format!("exit code {WARNED}"),
            line => format!("exit code {WARNED}: {line}"),
        })),
        code => {
            if let Some(failure) = unfinished(code) {
                return Err(failure);
            }
            let reason = if text.is_empty() {
                NO_REASON.to_owned()
            } else {
                text
            };
            Ok(HookAnswer::blocking(reason))
        }
    }
}

/// The form of what a hook has written.
enum Said {
    /// A JSON object.
    Object(Map<String, Value>),
    /// Other text, or nothing.
    Text(String),
    /// Something that must not be taken for either, and why.
    Garbage(&'static str),
}

fn said(contract: &Contract, finished: &Finished) -> Result<Said, Failure> {
    let unreadable = |why: &str| Failure::new(Cause::UnreadableOutput, why);
    let stdout = std::str::from_utf8(&finished.stdout)
        .map_err(|_| unreadable("standard output is not UTF-8"))?
        .trim_start_matches('\u{feff}')
        .trim();
    let decides = contract.class >= Class::Filter;
    if decides && !finished.complete {
        return Err(unreadable(
            "a background process still holds standard output, so more might have come; redirect its output: \
             `… >/dev/null 2>&1 &`",
        ));
    }
    let text = match stdout {
        "" => finished.stderr.trim(),
        stdout => stdout,
    };
    match read_strictly(text) {
        Ok(Value::Object(said)) => return Ok(Said::Object(said)),
        // JSON inside of a JSON string is read too.
        Ok(Value::String(inner)) => {
            if let Ok(Value::Object(said)) = read_strictly(&inner) {
                return Ok(Said::Object(said));
            }
        }
        _ if decides && text.starts_with('{') => {
            return Ok(Said::Garbage(
                "the output begins like a JSON object and is none; print the object alone",
            ));
        }
        _ => {}
    }
    // A decision inside of other text would be lost.
    let words = ["\"decision\"", "\"continue\"", "\"hookSpecificOutput\""];
    if decides && words.iter().any(|word| text.contains(word)) {
        return Ok(Said::Garbage(
            "there is text around the JSON object; print the object alone to standard output, and other words to \
             standard error",
        ));
    }
    Ok(Said::Text(text.to_owned()))
}

/// Reads an answer. An allow says nothing: it does not keep Gemini CLI from asking the user.
fn read(contract: &Contract, said: &Map<String, Value>) -> Result<HookAnswer, Failure> {
    let members = Members {
        map: said,
        within: "",
    };
    let reason = members.text("reason")?;
    let mut answer = HookAnswer {
        notice: members.text("systemMessage")?.into_iter().collect(),
        reason: reason.clone(),
        ..HookAnswer::default()
    };
    if members.truth("continue")? == Some(false) && !NEVER_STOP.contains(&contract.name) {
        let reason = members.text("stopReason")?.or_else(|| reason.clone());
        answer.halt = Some(reason.unwrap_or_else(|| "a hook ended the run".into()));
    }
    match members.text("decision")?.as_deref() {
        None | Some("allow" | "approve") => {}
        Some("deny" | "block") => answer.block = Some(reason.unwrap_or_else(|| NO_REASON.into())),
        Some("ask") => answer.decision = Some(Decision::Ask),
        Some(_) => {
            return Err(members.wrong("decision", "`allow`, `approve`, `ask`, `deny` or `block`"));
        }
    }
    let Some(specific) = members.object("hookSpecificOutput")? else {
        return Ok(answer);
    };
    let specific = Members {
        map: specific,
        within: "hookSpecificOutput.",
    };
    read_specific(contract, &specific, &mut answer)?;
    Ok(answer)
}

fn read_specific(contract: &Contract, members: &Members<'_>, answer: &mut HookAnswer) -> Result<(), Failure> {
    if let Some(context) = members.text("additionalContext")? {
        let context = context.replace('<', "&lt;").replace('>', "&gt;");
        answer.context.push(match contract.name {
            "BeforeAgent" => format!("<hook_context>{context}</hook_context>"),
            _ => context,
        });
    }
    if contract.name == "BeforeTool" {
        answer.arguments = members.object("tool_input")?.cloned();
    }
    if ["BeforeModel", "AfterModel", "BeforeToolSelection"].contains(&contract.name) {
        answer.output = Some(Value::Object(members.map.clone()));
    }
    if members.truth("clearContext")? == Some(true) {
        // Gemini CLI clears nothing for a hook that neither blocks nor ends the run.
        answer.clears = contract.name == "AfterAgent" && (answer.block.is_some() || answer.halt.is_some());
        if !answer.clears {
            let told =
                "to clear the conversation, which counts at AfterAgent alone, and with a block or an end";
            answer.unserved.push(told.to_owned());
        }
    }
    if members.object("tailToolCallRequest")?.is_some() {
        let told = "to run another tool after this one; becket runs no tools for hooks";
        answer.unserved.push(told.to_owned());
    }
    Ok(())
}
