//! What a hook has said: its exit code, and its output.
//!
//! A JSON object counts whatever the exit code is. Exit code 2 blocks with the words on standard error. Any other code
//! of a process that ended by itself is an error after which Claude Code goes on; becket does so too, and says it each
//! time. Codes by which a shell says that it did not find a program, or that a signal ended it, are failures.

use std::time::Duration;

use becket_events::Class;
use becket_hook_files::{Block, Contract, Decision, HookAnswer, Members, Plain, error_line, unfinished};
use becket_hooks::{Cause, Failure, Finished, read_strictly};
use becket_host::terminal_signals;
use serde::de::IgnoredAny;
use serde_json::{Deserializer, Map, Value};

use crate::permissions;

/// The exit code by which a hook blocks.
const BLOCKED: i32 = 2;

/// Whether what a hook prints first sends it to the background, and how long it may go on there. An object that says
/// more may hold a decision, so that hook is waited for.
pub fn leaves(said: &Value, usual: Duration) -> Option<Duration> {
    let time = said.get("asyncTimeout").and_then(Value::as_u64);
    let is_sent = said.get("async") == Some(&Value::Bool(true));
    let mut members = said.as_object().into_iter().flatten();
    let says_more = members.any(|(name, _)| !["async", "asyncTimeout"].contains(&name.as_str()));
    (is_sent && !says_more).then(|| time.map_or(usual, Duration::from_millis))
}

/// What a program has said.
pub fn hear(contract: &Contract, finished: &Finished) -> Result<HookAnswer, Failure> {
    let stderr = finished.stderr.trim();
    let said = hear_output(contract, finished);
    if let Some(failure) = unfinished(finished.code) {
        return Err(failure);
    }
    match finished.code {
        0 => said,
        // Interpreters exit with this code without their script, and such a block would come again and again.
        BLOCKED if contract.block == Block::GoesOn && misses_script(finished) => Ok(HookAnswer::error(
            format!("exit code {BLOCKED}: {}", error_line(stderr)),
        )),
        BLOCKED => {
            let answer = said.unwrap_or_default();
            let blocks = answer.block.is_some() || answer.decision == Some(Decision::Deny);
            let reason = match stderr {
                "" => "a hook blocked this, and gives no reason".to_owned(),
                stderr => stderr.to_owned(),
            };
            Ok(match blocks {
                true => answer,
                false => HookAnswer {
                    block: Some(reason),
                    // What it says beside a block counts no longer.
                    decision: None,
                    arguments: None,
                    ..answer
                },
            })
        }
        code => {
            // Plain text counts only from a hook that succeeded.
            let said = said
                .ok()
                .filter(|_| finished.stdout.trim_ascii().starts_with(b"{"));
            let first = error_line(stderr);
            let what = match first {
                "" => format!("exit code {code}"),
                line => format!("exit code {code}: {line}"),
            };
            // An answer that was printed all the same counts.
            Ok(HookAnswer {
                error: Some(what),
                ..said.unwrap_or_default()
            })
        }
    }
}

/// Whether all that a program has said is an interpreter's line that the script is not there.
fn misses_script(finished: &Finished) -> bool {
    let stderr = finished.stderr.trim();
    let is_all = finished.stdout.trim_ascii().is_empty() && stderr.lines().count() == 1;
    let (program, rest) = stderr.split_once(": ").unwrap_or(("", stderr));
    let program = program.rsplit('/').next().unwrap_or(program);
    let names_python = program.starts_with("python") && rest.starts_with("can't open file");
    let names_shell = program.ends_with("sh")
        && ["0: cannot open ", "can't open "]
            .iter()
            .any(|words| rest.starts_with(words));
    let names_perl = stderr.starts_with("Can't open perl script ");
    is_all
        && (names_python || names_shell || names_perl)
        && stderr.to_ascii_lowercase().contains("no such file")
}

fn hear_output(contract: &Contract, finished: &Finished) -> Result<HookAnswer, Failure> {
    let unreadable = |why: &str| Failure::new(Cause::UnreadableOutput, why);
    let text = std::str::from_utf8(&finished.stdout)
        .map_err(|_| unreadable("standard output is not UTF-8"))?
        .trim_start_matches('\u{feff}')
        .trim();
    let is_guard = contract.class == Class::Guard;
    if is_guard && !finished.complete {
        return Err(unreadable(
            "a background process still holds standard output, so more might have come; redirect its output: \
             `… >/dev/null 2>&1 &`",
        ));
    }
    let is_for_model = contract.plain == Plain::Context;
    let mentions_decision = || DECISIONS.iter().any(|word| text.contains(word));
    if text.starts_with('{') {
        return match read_strictly(text) {
            Ok(Value::Object(said)) => read(contract, &said),
            // It may have been about to refuse.
            Err(problem) if is_guard && problem.is_eof() => Err(unreadable(
                "standard output begins like a JSON object and breaks off; print the whole object",
            )),
            // Where plain text is for the model, it may look like anything but a decision.
            _ if is_for_model && !text.ends_with('}') && !(is_guard && mentions_decision()) => {
                Ok(plain(contract, text))
            }
            _ if is_guard => Err(unreadable(
                "standard output begins like a JSON object and is none; print the object alone",
            )),
            _ => Ok(plain(contract, text)),
        };
    }
    if is_guard && !is_for_model && begins_an_array(text) {
        return Err(unreadable(
            "standard output begins like a JSON array; print one object, and other words to standard error",
        ));
    }
    // A decision inside of other text would be lost. Text for the model may talk about decisions.
    let loses_decision = match is_for_model {
        true => holds_decision(text),
        false => mentions_decision(),
    };
    if is_guard && loses_decision {
        return Err(unreadable(
            "there is text around the JSON object on standard output; print the object alone, and other words to \
             standard error",
        ));
    }
    Ok(plain(contract, text))
}

/// Whether a text is a JSON array, or may be the beginning of one. `[guard] fine` is none.
fn begins_an_array(text: &str) -> bool {
    text.starts_with('[')
        && serde_json::from_str::<IgnoredAny>(text).map_or_else(|problem| problem.is_eof(), |_| true)
}

/// Words of answers that decide something.
const DECISIONS: [&str; 3] = ["permissionDecision", "\"decision\"", "\"continue\""];

/// Whether a JSON object that decides something stands anywhere in a text.
fn holds_decision(text: &str) -> bool {
    text.match_indices('{').any(|(at, _)| {
        let mut values = Deserializer::from_str(&text[at..]).into_iter::<Map<String, Value>>();
        let Some(Ok(object)) = values.next() else {
            return false;
        };
        ["decision", "continue", "hookSpecificOutput"]
            .iter()
            .any(|key| object.contains_key(*key))
    })
}

fn plain(contract: &Contract, text: &str) -> HookAnswer {
    match contract.plain {
        Plain::Context if !text.is_empty() => HookAnswer::context(text),
        Plain::Shown if !text.is_empty() => HookAnswer {
            notice: vec![text.to_owned()],
            ..HookAnswer::default()
        },
        _ => HookAnswer::default(),
    }
}

/// Whether a member that Claude Code does not know says yes: then the call goes on as if nothing had been said.
fn says_yes(key: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is_so) => key == "block" && !is_so,
        value => value == "allow" || value == "approve",
    }
}

/// Reads an answer.
fn read(contract: &Contract, said: &Map<String, Value>) -> Result<HookAnswer, Failure> {
    let members = Members {
        map: said,
        within: "",
    };
    let misplaced = ["permissionDecision", "permission", "block"];
    if let Some(key) = misplaced
        .iter()
        .find(|key| said.get(**key).is_some_and(|value| !says_yes(key, value)))
    {
        return Err(members.wrong(key, "inside of `hookSpecificOutput`, or `decision`"));
    }
    let reason = members.text("reason")?;
    let mut answer = HookAnswer {
        notice: members.text("systemMessage")?.into_iter().collect(),
        ..HookAnswer::default()
    };
    if members.truth("continue")? == Some(false) {
        let reason = members.text("stopReason")?.or_else(|| reason.clone());
        answer.halt = Some(reason.unwrap_or_else(|| "a hook ended the run".into()));
    }
    match terminal_signals(&members.text("terminalSequence")?.unwrap_or_default()) {
        Ok(signals) => answer.signals = signals,
        Err(why) => answer
            .unserved
            .push(format!("a `terminalSequence` that is not sent: {why}")),
    }
    match members.text("decision")?.as_deref() {
        None => {}
        Some("block") => {
            let reason = reason.unwrap_or_else(|| "a hook blocked this, and gives no reason".into());
            answer.block = Some(reason);
        }
        Some("approve") => (answer.decision, answer.reason) = (Some(Decision::Allow), reason),
        // Claude Code does not know this word for a yes, and goes on as if nothing had been said.
        Some("allow") => {}
        Some(_) => return Err(members.wrong("decision", "`approve` or `block`")),
    }
    let Some(specific) = members.object("hookSpecificOutput")? else {
        return Ok(answer);
    };
    let specific = Members {
        map: specific,
        within: "hookSpecificOutput.",
    };
    read_specific(contract, &specific, &mut answer)?;
    let named = specific.text("hookEventName")?;
    let is_refusal = answer.block.is_some() || answer.decision == Some(Decision::Deny);
    if named.as_deref() != Some(contract.name) && !is_refusal {
        let wanted = format!("`{}`, the event that the hook answers", contract.name);
        return Err(specific.wrong("hookEventName", &wanted));
    }
    Ok(answer)
}

fn read_specific(contract: &Contract, members: &Members<'_>, answer: &mut HookAnswer) -> Result<(), Failure> {
    answer.context.extend(members.text("additionalContext")?);
    if members.truth("suppressOriginalPrompt")? == Some(true) {
        answer.block = Some("a hook wants the prompt to be kept from the model".to_owned());
    }
    answer.title = members.text("sessionTitle")?;
    if contract.name == "SessionStart" {
        answer.first_prompt = members.text("initialUserMessage")?;
    }
    answer.unserved.extend(unserved(contract, members));
    answer.arguments = members.object("updatedInput")?.cloned();
    for key in ["updatedMCPToolOutput", "updatedToolOutput"] {
        if let Some(output) = members.map.get(key).filter(|output| !output.is_null()) {
            answer.output = Some(output.clone());
        }
    }
    if let Some(word) = members.text("permissionDecision")? {
        answer.decision = Some(match word.as_str() {
            "allow" => Decision::Allow,
            "deny" => Decision::Deny,
            "ask" => Decision::Ask,
            // Claude Code would not run the call before somebody comes back to it.
            "defer" => Decision::Insist,
            _ => return Err(members.wrong("permissionDecision", "`allow`, `deny`, `ask` or `defer`")),
        });
        answer.reason = members.text("permissionDecisionReason")?;
    }
    match members.map.get("decision") {
        Some(Value::Object(decision)) if contract.name == "PermissionRequest" => {
            read_permission(decision, answer)
        }
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(members.wrong("decision", "an object, and only at PermissionRequest")),
    }
}

/// What a hook asks for and becket does not have, or not at this event.
fn unserved(contract: &Contract, members: &Members<'_>) -> Vec<String> {
    let is_said = |key: &str| members.map.get(key).is_some_and(|value| !value.is_null());
    let elsewhere = SERVED
        .iter()
        .filter(|(key, events)| is_said(key) && !events.contains(&contract.name));
    let elsewhere =
        elsewhere.map(|(key, events)| format!("`{key}`, which counts at {} alone", events.join(" and ")));
    let unknown = UNSERVED.iter().filter(|key| is_said(key));
    let unknown = unknown.map(|key| format!("`{key}`, which becket does not have"));
    elsewhere.chain(unknown).collect()
}

/// Members of answers that count at some events, and those events.
const SERVED: &[(&str, &[&str])] = &[
    ("initialUserMessage", &["SessionStart"]),
    ("sessionTitle", &["SessionStart", "UserPromptSubmit"]),
];

/// Members of answers that ask for what becket does not do.
const UNSERVED: &[&str] = &["watchPaths", "reloadSkills", "classifierContext"];

/// Reads the answer to a question about permission.
fn read_permission(decision: &Map<String, Value>, answer: &mut HookAnswer) -> Result<(), Failure> {
    let members = Members {
        map: decision,
        within: "hookSpecificOutput.decision.",
    };
    match members.text("behavior")?.as_deref() {
        Some("allow") if answer.decision == Some(Decision::Deny) => {}
        Some("allow") => {
            answer.decision = Some(Decision::Allow);
            answer.arguments = members.object("updatedInput")?.cloned();
            permissions::read(&members, answer)?;
        }
        Some("deny") => {
            answer.decision = Some(Decision::Deny);
            answer.reason = members.text("message")?;
            if members.truth("interrupt")? == Some(true) {
                answer.halt = Some(
                    answer
                        .reason
                        .clone()
                        .unwrap_or_else(|| "a hook ended the run".into()),
                );
            }
        }
        _ => return Err(members.wrong("behavior", "`allow` or `deny`")),
    }
    Ok(())
}
