//! Changes of permissions that a hook of `PermissionRequest` wants beside its yes (`updatedPermissions`).
//!
//! Rules that are added count for the rest of the session, wherever Claude Code would store them. Nothing is taken away
//! from what others have restricted: of rules that replace others, those that deny or ask are added, and the others
//! stay. A mode counts from the next call on, unless it would let everything run. The rest is reported. A change that
//! cannot be read fails, since it may restrict something.

use becket_events::{OperationKind, PermissionMode};
use becket_hook_files::{HookAnswer, Members};
use becket_hooks::Failure;
use serde_json::{Map, Value, json};

use crate::calls::PROFILE;

/// Reads the changes of permissions beside a yes.
pub fn read(members: &Members<'_>, answer: &mut HookAnswer) -> Result<(), Failure> {
    let changes = match members.map.get("updatedPermissions") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(changes)) => changes,
        Some(_) => return Err(members.wrong("updatedPermissions", "a list of changes")),
    };
    let mut lists: Map<String, Value> = Map::new();
    for change in changes {
        let Value::Object(change) = change else {
            return Err(members.wrong("updatedPermissions", "a list of objects"));
        };
        let change = Members {
            map: change,
            within: "hookSpecificOutput.decision.updatedPermissions.",
        };
        let kind = change.text("type")?.unwrap_or_default();
        let adds = match kind.as_str() {
            "addRules" => true,
            "replaceRules" => change.text("behavior")?.as_deref() != Some("allow"),
            "removeRules" | "setMode" | "addDirectories" | "removeDirectories" => false,
            _ => return Err(change.wrong("type", "`addRules` or another change that Claude Code has")),
        };
        match kind.as_str() {
            "addRules" => {}
            "setMode" => set_mode(&change, answer)?,
            "replaceRules" if adds => answer
                .unserved
                .push("`replaceRules` for later calls; becket adds the rules, and takes none away".into()),
            _ => {
                let words = format!("`{kind}` for later calls, which becket does not have");
                answer.unserved.push(words);
            }
        }
        if adds {
            add(&change, &mut lists, answer)?;
        }
    }
    if !lists.is_empty() {
        answer.permissions = Some(json!({"permissions": lists}));
    }
    Ok(())
}

/// Sets the permission mode for later calls. A hook does not make every call run.
fn set_mode(change: &Members<'_>, answer: &mut HookAnswer) -> Result<(), Failure> {
    let word = change.text("mode")?.unwrap_or_default();
    let mode = match word.as_str() {
        "default" => PermissionMode::Ask,
        "acceptEdits" => PermissionMode::AcceptEdits,
        "plan" => PermissionMode::Plan,
        "auto" | "bypassPermissions" | "dontAsk" => {
            answer.unserved.push(format!(
                "the permission mode `{word}`, which no hook can set here"
            ));
            return Ok(());
        }
        _ => return Err(change.wrong("mode", "`default`, `acceptEdits`, `plan` or another mode")),
    };
    answer
        .notice
        .push(format!("a hook sets the permission mode to `{}`", mode.word()));
    answer.mode = Some(mode);
    only_for_session(change, answer)
}

/// Adds the rules of a change to the list that its behaviour names.
fn add(change: &Members<'_>, lists: &mut Map<String, Value>, answer: &mut HookAnswer) -> Result<(), Failure> {
    let behavior = change.text("behavior")?.unwrap_or_default();
    if !["allow", "deny", "ask"].contains(&behavior.as_str()) {
        return Err(change.wrong("behavior", "`allow`, `deny` or `ask`"));
    }
    let Some(Value::Array(rules)) = change.map.get("rules") else {
        return Err(change.wrong("rules", "a list of rules"));
    };
    let list = lists.entry(behavior).or_insert_with(|| json!([]));
    for rule in rules {
        let Value::Object(rule) = rule else {
            return Err(change.wrong("rules", "a list of objects"));
        };
        let rule = Members {
            map: rule,
            within: "hookSpecificOutput.decision.updatedPermissions.rules.",
        };
        let Some(tool) = rule.text("toolName")?.filter(|tool| !tool.trim().is_empty()) else {
            return Err(rule.wrong("toolName", "the name of a tool"));
        };
        let text = written(&tool, rule.text("ruleContent")?.as_deref());
        list.as_array_mut().expect("it was made so").push(text.into());
    }
    only_for_session(change, answer)
}

/// Tells that a change is stored nowhere, if it is to be.
fn only_for_session(change: &Members<'_>, answer: &mut HookAnswer) -> Result<(), Failure> {
    match change.text("destination")?.as_deref() {
        None | Some("session") => {}
        Some(place) => answer.unserved.push(format!(
            "to store permissions in `{place}`; they count for this session and are not stored"
        )),
    }
    Ok(())
}

/// A rule as a settings file holds it. Behind `/` its paths would be those of the file's folder; a hook means the
/// project.
fn written(tool: &str, content: Option<&str>) -> String {
    let names_files = || {
        let operation = PROFILE.operation_of(tool);
        operation.is_some_and(|kind| ![OperationKind::Shell, OperationKind::Fetch].contains(&kind))
    };
    match content {
        None | Some("") => tool.to_owned(),
        Some(path) if path.starts_with('/') && !path.starts_with("//") && names_files() => {
            format!("{tool}(.{path})")
        }
        Some(content) => format!("{tool}({content})"),
    }
}
