//! What a hook has said: its exit code, and its output.
//!
//! Exit code 2 blocks. Any other code of a process that ended by itself is an error after which Cursor goes on, and
//! what the process printed does not count, unless a guard printed a no: whoever wrote that meant it. With exit code 0
//! the answer is a JSON object; a guard that prints anything else has failed. Codes by which a shell says that it did
//! not find a program, or that a signal ended it, are failures.

use std::collections::BTreeMap;

use becket_events::Class;
use becket_hook_files::{Contract, Decision, HookAnswer, error_line, unfinished};
use becket_hooks::{Cause, Failure, Finished, read_strictly};
use serde_json::{Map, Value};

/// The exit code by which a hook blocks.
const BLOCKED: i32 = 2;

/// The event at which no verdict can refuse, so that a block ends the run.
const BEGINNING: &str = "sessionStart";

const NO_REASON: &str = "a hook blocked this, and gives no reason";

/// What a program has said.
pub fn hear(contract: &Contract, finished: &Finished) -> Result<HookAnswer, Failure> {
    let stderr = finished.stderr.trim();
    if let Some(failure) = unfinished(finished.code) {
        return Err(failure);
    }
    match finished.code {
        0 => hear_output(contract, finished),
        BLOCKED => Ok(blocked(contract, finished)),
        code => Ok(refused(contract, finished).unwrap_or_else(|| {
            HookAnswer::error(match error_line(stderr) {
                "" => format!("exit code {code}"),
                line => format!("exit code {code}: {line}"),
            })
        })),
    }
}

/// The answer of a guard that failed, if it printed a no.
fn refused(contract: &Contract, finished: &Finished) -> Option<HookAnswer> {
    let answer = hear_output(contract, finished).ok()?;
    (contract.class == Class::Guard && answer.block.is_some()).then_some(answer)
}

/// The answer of a hook that ended with the code that blocks. Only events before something happens can be blocked.
fn blocked(contract: &Contract, finished: &Finished) -> HookAnswer {
    let stdout = String::from_utf8_lossy(&finished.stdout);
    let (stdout, stderr) = (stdout.trim(), finished.stderr.trim());
    let said = match read_strictly(stdout) {
        Ok(Value::Object(said)) => read(contract, &said).ok(),
        _ => None,
    };
    let reason = match (stdout, stderr) {
        ("", "") => NO_REASON.to_owned(),
        ("", stderr) => format!("Hook blocked with message: {stderr}"),
        (stdout, _) => stdout.to_owned(),
    };
    match said {
        Some(said) if said.block.is_some() || said.halt.is_some() => said,
        Some(said) => {
            let reason = said.reason.clone().unwrap_or(reason);
            refusing(contract, reason, said.notice)
        }
        None => refusing(contract, reason, Vec::new()),
    }
}

/// An answer that blocks where that is possible.
fn refusing(contract: &Contract, reason: String, notice: Vec<String>) -> HookAnswer {
    let answer = HookAnswer {
        notice,
        ..HookAnswer::default()
    };
    match contract.class {
        Class::Guard => HookAnswer {
            block: Some(reason),
            ..answer
        },
        _ if contract.name == BEGINNING => HookAnswer {
            halt: Some(reason),
            ..answer
        },
        _ => answer,
    }
}

fn hear_output(contract: &Contract, finished: &Finished) -> Result<HookAnswer, Failure> {
    let unreadable = |why: &str| Failure::new(Cause::UnreadableOutput, why);
    let is_guard = contract.class == Class::Guard;
    let text = std::str::from_utf8(&finished.stdout)
        .map_err(|_| unreadable("standard output is not UTF-8"))?
        .trim_start_matches('\u{feff}')
        .trim();
    if is_guard && !finished.complete {
        return Err(unreadable(
            "a background process still holds standard output, so more might have come; redirect its output: \
             `… >/dev/null 2>&1 &`",
        ));
    }
    if text.is_empty() {
        return Ok(HookAnswer {
            is_silent: true,
            ..HookAnswer::default()
        });
    }
    match read_strictly(text) {
        Ok(Value::Object(said)) => read(contract, &said),
        // Many programs that only do something print what they do.
        _ if contract.class == Class::Observe => Ok(HookAnswer::default()),
        _ => Err(unreadable(
            "standard output is not a JSON object; print the object alone, and other words to standard error",
        )),
    }
}

/// The members of an answer. Earlier versions wrote names in camel case.
struct Members<'a> {
    map: &'a Map<String, Value>,
    within: &'static str,
}

impl<'a> Members<'a> {
    fn wrong(&self, key: &str, wanted: &str) -> Failure {
        let within = self.within;
        Failure::new(Cause::WrongShape, format!("`{within}{key}` must be {wanted}"))
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        let value = self.map.get(key).or_else(|| self.map.get(&camel_case(key)));
        value.filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Result<Option<String>, Failure> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(key, "a text")),
        }
    }

    fn truth(&self, key: &str) -> Result<Option<bool>, Failure> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(*truth)),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    fn object(&self, key: &str) -> Result<Option<&'a Map<String, Value>>, Failure> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map)),
            Some(_) => Err(self.wrong(key, "an object")),
        }
    }
}

/// A name such as `user_message` as `userMessage`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut characters = word.chars();
        let begin = characters.next().map(|character| character.to_ascii_uppercase());
        name + &begin.into_iter().chain(characters).collect::<String>()
    })
}

/// Reads an answer. An allow says nothing: it does not keep Cursor from asking the user.
fn read(contract: &Contract, said: &Map<String, Value>) -> Result<HookAnswer, Failure> {
    let members = Members {
        map: said,
        within: "",
    };
    let user_message = members.text("user_message")?;
    let reason = members.text("agent_message")?.or_else(|| user_message.clone());
    let mut answer = HookAnswer {
        notice: user_message.into_iter().collect(),
        reason,
        arguments: members.object("updated_input")?.cloned(),
        output: members.get("updated_mcp_tool_output").cloned(),
        context: members.text("additional_context")?.into_iter().collect(),
        env: match contract.name {
            BEGINNING => env(&members)?,
            _ => BTreeMap::new(),
        },
        ..HookAnswer::default()
    };
    answer.context.extend(members.text("followup_message")?);
    let mut refuses = members.truth("continue")? == Some(false);
    if let Some(word) = members.text("permission")? {
        refuses |= decide(&members, "permission", &word, &mut answer)?;
    }
    refuses |= read_other(contract, &members, &mut answer)?;
    if refuses {
        let reason = answer.reason.clone().unwrap_or_else(|| NO_REASON.to_owned());
        let refusal = refusing(contract, reason, Vec::new());
        (answer.block, answer.halt) = (refusal.block, refusal.halt);
        answer.decision = None;
    }
    Ok(answer)
}

/// Notes a decision, and returns whether it refuses.
fn decide(members: &Members<'_>, key: &str, word: &str, answer: &mut HookAnswer) -> Result<bool, Failure> {
    match word {
        "allow" => Ok(false),
        "deny" => Ok(true),
        "ask" => {
            answer.decision = Some(Decision::Ask);
            Ok(false)
        }
        _ => Err(members.wrong(key, "`allow`, `ask` or `deny`")),
    }
}

/// Reads what hooks of another agent answer, which Cursor understands too. Returns whether it refuses.
fn read_other(contract: &Contract, members: &Members<'_>, answer: &mut HookAnswer) -> Result<bool, Failure> {
    let mut refuses = false;
    if let Some("block" | "deny") = members.text("decision")?.as_deref() {
        let reason = members.text("reason")?.unwrap_or_else(|| NO_REASON.to_owned());
        if ["stop", "subagentStop"].contains(&contract.name) {
            answer.context.push(reason);
        } else {
            answer.reason.get_or_insert(reason);
            refuses = true;
        }
    }
    let Some(specific) = members.object("hookSpecificOutput")? else {
        return Ok(refuses);
    };
    let specific = Members {
        map: specific,
        within: "hookSpecificOutput.",
    };
    answer.context.extend(specific.text("additionalContext")?);
    if let Some(arguments) = specific.object("updatedInput")? {
        answer.arguments.get_or_insert_with(|| arguments.clone());
    }
    if let Some(word) = specific.text("permissionDecision")? {
        if let Some(reason) = specific.text("permissionDecisionReason")? {
            answer.reason.get_or_insert(reason);
        }
        refuses |= decide(&specific, "permissionDecision", &word, answer)?;
    }
    Ok(refuses)
}

/// Variables for all later hooks of the session.
fn env(members: &Members<'_>) -> Result<BTreeMap<String, String>, Failure> {
    let map = members.object("env")?.into_iter().flatten();
    let variables = map.map(|(name, value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        _ => Err(members.wrong(&format!("env.{name}"), "a text")),
    });
    variables.collect()
}
