//! What a hook has said: its exit code, and its output.
//!
//! With exit code 0 the output is an answer of exactly the schema of its event. With other codes it does not count,
//! unless a guard says no in it: whoever wrote that meant it.
//! Exit code 2 blocks with the words on standard error. Any other code of a process that ended by itself is an error
//! after which Codex goes on; becket does so too, and says it each time. Codes by which a shell says that it did not
//! find a program, or that a signal ended it, are failures.
//!
//! An answer that does not fit is a failure, and a failing guard refuses. Some words mean something that Codex does not
//! do: `ask` asks the user here, and `allow` without a rewrite has no effect, as in Codex.

use becket_events::Class;
use becket_hook_files::{Block, Contract, Decision, HookAnswer, Plain, error_line, unfinished};
use becket_hooks::{Cause, Failure, Finished, read_strictly};
use serde_json::{Map, Value};

use crate::rows::NOTIFY;

/// The exit code by which a hook blocks.
const BLOCKED: i32 = 2;

const NO_REASON: &str = "a hook blocked this, and gives no reason";

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
    match finished.code {
        0 => hear_output(contract, finished),
        BLOCKED => Ok(match (contract.block, stderr) {
            (Block::Told | Block::EndsRun, _) => HookAnswer::error(what(BLOCKED)),
            // Codex goes on, because it misses the reason. A refusal without a reason is still one.
            (Block::Refuses, "") => HookAnswer::blocking(NO_REASON),
            (_, "") => HookAnswer::error("exit code 2, without a reason on standard error"),
            (_, reason) => HookAnswer::blocking(reason),
        }),
        code => Ok(refused(contract, finished).unwrap_or_else(|| HookAnswer::error(what(code)))),
    }
}

/// The answer of a guard that failed, if it says no.
fn refused(contract: &Contract, finished: &Finished) -> Option<HookAnswer> {
    let answer = hear_output(contract, finished).ok()?;
    (contract.class == Class::Guard && answer.refusal().0.is_some()).then_some(answer)
}

/// Events at which output that is not JSON is an error.
const WITHOUT_TEXT: &[&str] = &["Stop", "SubagentStop", "Interrupt"];

fn hear_output(contract: &Contract, finished: &Finished) -> Result<HookAnswer, Failure> {
    let unreadable = |why: &str| Failure::new(Cause::UnreadableOutput, why);
    if ["SessionEnd", NOTIFY].contains(&contract.name) {
        return Ok(HookAnswer::default());
    }
    let text = std::str::from_utf8(&finished.stdout)
        .map_err(|_| unreadable("standard output is not UTF-8"))?
        .trim();
    let is_guard = contract.class == Class::Guard;
    if is_guard && !finished.complete {
        return Err(unreadable(
            "a background process still holds standard output, so more might have come; redirect its output: \
             `… >/dev/null 2>&1 &`",
        ));
    }
    if text.starts_with(['{', '[']) {
        return match read_strictly(text) {
            Ok(Value::Object(said)) => read(contract, &said),
            _ => Err(unreadable(
                "standard output begins like JSON and is not a JSON object; print the object alone",
            )),
        };
    }
    // A decision inside of other text would be lost.
    let decides = ["permissionDecision", "\"decision\"", "\"continue\""];
    if is_guard && decides.iter().any(|word| text.contains(word)) {
        return Err(unreadable(
            "there is text around the JSON object on standard output; print the object alone, and other words to \
             standard error",
        ));
    }
    match (text.is_empty(), contract.plain) {
        (false, Plain::Context) => Ok(HookAnswer::context(text)),
        (false, _) if WITHOUT_TEXT.contains(&contract.name) => Err(unreadable(
            "standard output is not a JSON object; print other words to standard error",
        )),
        _ => Ok(HookAnswer::default()),
    }
}

/// The members of an answer.
struct Members<'a> {
    map: &'a Map<String, Value>,
    within: &'static str,
}

impl<'a> Members<'a> {
    /// Members of which each must be known.
    fn new(map: &'a Map<String, Value>, within: &'static str, known: &[&str]) -> Result<Self, Failure> {
        match map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(Failure::new(
                Cause::WrongShape,
                format!(
                    "there is no `{within}{key}` in answers to this event, and Codex drops such an answer"
                ),
            )),
            None => Ok(Self { map, within }),
        }
    }

    fn wrong(&self, key: &str, wanted: &str) -> Failure {
        let within = self.within;
        Failure::new(Cause::WrongShape, format!("`{within}{key}` must be {wanted}"))
    }

    /// A failure because of a member that Codex does not take here.
    fn unsupported(&self, key: &str) -> Failure {
        let within = self.within;
        let why = format!("Codex does not take `{within}{key}` in answers to this event");
        Failure::new(Cause::WrongShape, why)
    }

    fn text(&self, key: &str) -> Result<Option<String>, Failure> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(key, "a text")),
        }
    }

    /// A text that says something.
    fn reason(&self, key: &str) -> Result<Option<String>, Failure> {
        let text = self.text(key)?;
        let text = text.map(|text| text.trim().to_owned());
        Ok(text.filter(|text| !text.is_empty()))
    }

    fn truth(&self, key: &str, usual: bool) -> Result<bool, Failure> {
        match self.map.get(key) {
            None => Ok(usual),
            Some(Value::Bool(truth)) => Ok(*truth),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    fn object(&self, key: &str) -> Result<Option<&'a Map<String, Value>>, Failure> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map)),
            Some(_) => Err(self.wrong(key, "an object")),
        }
    }

    fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }
}

/// Members of every answer.
const COMMON: &[&str] = &["continue", "stopReason", "suppressOutput", "systemMessage"];

/// Events whose answers may block.
const BLOCKING: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "Stop",
    "SubagentStop",
];

/// Events whose answers have members of their own, with these members.
const OWN_MEMBERS: &[(&str, &[&str])] = &[
    (
        "PreToolUse",
        &[
            "permissionDecision",
            "permissionDecisionReason",
            "updatedInput",
            "additionalContext",
        ],
    ),
    ("PermissionRequest", &["decision"]),
    ("PostToolUse", &["additionalContext", "updatedMCPToolOutput"]),
    ("UserPromptSubmit", &["additionalContext"]),
    ("SessionStart", &["additionalContext"]),
    ("SubagentStart", &["additionalContext"]),
];

/// Reads an answer.
fn read(contract: &Contract, said: &Map<String, Value>) -> Result<HookAnswer, Failure> {
    let event = contract.name;
    let own = OWN_MEMBERS.iter().find(|(name, _)| *name == event);
    let mut known = COMMON.to_vec();
    known.extend(
        BLOCKING
            .contains(&event)
            .then_some(["decision", "reason"])
            .into_iter()
            .flatten(),
    );
    known.extend(own.map(|_| "hookSpecificOutput"));
    let members = Members::new(said, "", &known)?;
    let mut answer = HookAnswer {
        notice: members.text("systemMessage")?.into_iter().collect(),
        ..HookAnswer::default()
    };
    read_common(event, &members, &mut answer)?;
    read_decision(event, &members, &mut answer)?;
    let (Some((_, own)), Some(specific)) = (own, members.object("hookSpecificOutput")?) else {
        return Ok(answer);
    };
    let known: Vec<&str> = own.iter().copied().chain(["hookEventName"]).collect();
    let specific = Members::new(specific, "hookSpecificOutput.", &known)?;
    if specific.text("hookEventName")?.as_deref() != Some(event) {
        let wanted = format!("`{event}`, the event that the hook answers");
        return Err(specific.wrong("hookEventName", &wanted));
    }
    answer.context.extend(specific.text("additionalContext")?);
    match event {
        "PreToolUse" => read_call(&specific, &mut answer)?,
        "PermissionRequest" => read_permission(&specific, &mut answer)?,
        "PostToolUse" if specific.has("updatedMCPToolOutput") => {
            return Err(specific.unsupported("updatedMCPToolOutput"));
        }
        _ => {}
    }
    Ok(answer)
}

/// Reads the members of every answer.
fn read_common(event: &str, members: &Members<'_>, answer: &mut HookAnswer) -> Result<(), Failure> {
    let goes_on = members.truth("continue", true)?;
    let stop_reason = members.text("stopReason")?;
    let is_quiet = members.truth("suppressOutput", false)?;
    let is_call = ["PreToolUse", "PermissionRequest"].contains(&event);
    if is_call && !goes_on {
        return Err(members.unsupported("continue"));
    }
    if is_call && stop_reason.is_some() {
        return Err(members.unsupported("stopReason"));
    }
    if is_quiet && (is_call || event == "PostToolUse") {
        return Err(members.unsupported("suppressOutput"));
    }
    if goes_on {
        return Ok(());
    }
    let reason = stop_reason.unwrap_or_else(|| "a hook ended the run".into());
    match event {
        "SubagentStart" | "Interrupt" => {}
        // The model goes on without the result.
        "PostToolUse" => answer.output = Some(members.reason("reason")?.unwrap_or(reason).into()),
        "PreCompact" | "UserPromptSubmit" => {
            (answer.block, answer.halt) = (Some(reason.clone()), Some(reason))
        }
        _ => answer.halt = Some(reason),
    }
    Ok(())
}

/// Reads `decision` and `reason`.
fn read_decision(event: &str, members: &Members<'_>, answer: &mut HookAnswer) -> Result<(), Failure> {
    if !BLOCKING.contains(&event) {
        return Ok(());
    }
    let reason = members.reason("reason")?;
    let is_refusal = ["PreToolUse", "UserPromptSubmit"].contains(&event);
    match (members.text("decision")?.as_deref(), reason) {
        (Some("block"), Some(reason)) => answer.block = Some(reason),
        // Codex goes on, because it misses the reason. A refusal without a reason is still one.
        (Some("block"), None) if is_refusal => answer.block = Some(NO_REASON.to_owned()),
        (Some("block"), None) => return Err(members.wrong("reason", "there beside `decision`")),
        (Some(word @ ("approve" | "allow")), _) if is_refusal => {
            answer.notice.push(no_effect(&format!("decision: {word}")));
        }
        (Some(_), _) => return Err(members.wrong("decision", "`block`")),
        (None, _) if members.has("reason") && event == "PreToolUse" && !members.has("hookSpecificOutput") => {
            return Err(members.wrong("decision", "there beside `reason`"));
        }
        (None, _) if members.has("reason") && event == "PostToolUse" && answer.output.is_none() => {
            return Err(members.wrong("decision", "there beside `reason`"));
        }
        (None, _) => {}
    }
    // An end of the run counts more than a reason to go on.
    if answer.halt.is_some() && ["Stop", "SubagentStop"].contains(&event) {
        answer.block = None;
    }
    Ok(())
}

/// Reads the decision about a call.
fn read_call(members: &Members<'_>, answer: &mut HookAnswer) -> Result<(), Failure> {
    let reason = members.reason("permissionDecisionReason")?;
    let arguments = members.object("updatedInput")?.cloned();
    match (members.text("permissionDecision")?.as_deref(), arguments) {
        (Some("deny"), _) => (answer.decision, answer.reason) = (Some(Decision::Deny), reason),
        (Some("allow"), Some(arguments)) => answer.arguments = Some(arguments),
        (Some("allow"), None) => answer.notice.push(no_effect("permissionDecision: allow")),
        (Some("ask"), None) => (answer.decision, answer.reason) = (Some(Decision::Ask), reason),
        (Some("ask") | None, Some(_)) => {
            return Err(members.wrong("updatedInput", "beside `permissionDecision: allow`"));
        }
        (Some(_), _) => return Err(members.wrong("permissionDecision", "`allow`, `deny` or `ask`")),
        (None, None) if members.has("permissionDecisionReason") => {
            return Err(members.wrong("permissionDecision", "there beside its reason"));
        }
        (None, None) => {}
    }
    Ok(())
}

fn no_effect(what: &str) -> String {
    format!("a hook said `{what}`, which has no effect in Codex without `updatedInput`")
}

/// Reads the answer to a question about permission.
fn read_permission(members: &Members<'_>, answer: &mut HookAnswer) -> Result<(), Failure> {
    let Some(decision) = members.object("decision")? else {
        return Ok(());
    };
    let known = [
        "behavior",
        "updatedInput",
        "updatedPermissions",
        "message",
        "interrupt",
    ];
    let members = Members::new(decision, "hookSpecificOutput.decision.", &known)?;
    let message = members.reason("message")?;
    answer.decision = Some(match members.text("behavior")?.as_deref() {
        Some("allow") => Decision::Allow,
        Some("deny") => Decision::Deny,
        _ => return Err(members.wrong("behavior", "`allow` or `deny`")),
    });
    for key in ["updatedInput", "updatedPermissions"] {
        if members.has(key) {
            return Err(members.unsupported(key));
        }
    }
    if members.truth("interrupt", false)? {
        return Err(members.unsupported("interrupt"));
    }
    answer.reason = message;
    Ok(())
}
