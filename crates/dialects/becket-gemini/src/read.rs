//! Reads hooks from a settings file or an extension's `hooks.json`.
//!
//! Gemini CLI drops what it does not understand: entries without a list `hooks`, unknown types, unknown events. Here
//! all of them are reported, and those that may have been guards stop the run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use becket_dialect_kit::{misspelt_guard, sounds_like_guard};
use becket_events::Class;
use becket_hook_files::{Action, Contract, HookEntry, Level, Owner, Reading, Source, levels};
use becket_hooks::CommandLine;
use serde_json::{Map, Value, json};

use crate::rows::rows;
use crate::sources::MANIFEST;

/// How long a hook may take by default.
const USUAL: Duration = Duration::from_millis(60_000);

/// The longest time that a file may allow: thirty days.
const MOST_MILLISECONDS: f64 = 2_592_000_000.0;

/// Settings that earlier versions kept beside the events.
const FORMER_SETTINGS: &[&str] = &["enabled", "disabled", "notifications"];

/// Events whose matcher is a word and no expression.
const EXACT: &[&str] = &["SessionStart", "SessionEnd", "PreCompress"];

/// Reads a file.
pub fn read(file: &Value, source: &Arc<Source>, reading: &mut Reading) {
    if source.file.ends_with(MANIFEST) {
        return;
    }
    if !file.is_object() {
        return reading.drop_entry(source, "", "it is no object", true);
    }
    if source.plugin.is_none() {
        read_switches(file.get("hooksConfig"), source, reading);
    }
    let Some(hooks) = file.get("hooks") else {
        return;
    };
    let mut hooks = hooks.clone();
    if let Value::Object(events) = &mut hooks {
        for key in FORMER_SETTINGS {
            if events.remove(*key).is_some() {
                let reason =
                    format!("it is no event but a former setting, which counts as `hooksConfig.{key}` alone");
                reading.drop_entry(source, format!("/hooks/{key}"), reason, false);
            }
        }
    }
    let rows = rows();
    let contracts: Vec<Contract> = rows.iter().map(|row| row.contract()).collect();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let guards = |event: &str| is_guard(&contracts, event);
    levels(&hooks, "/hooks", source, reading, guards, |level, reading| {
        let number = count.entry(level.event.to_owned()).or_default();
        *number += 1;
        let name = format!("{} {number}", level.event);
        match entry(level, name, source, &contracts) {
            Ok(entry) => reading.add(entry),
            Err((reason, guards)) => reading.drop_entry(source, level.pointer, reason, guards),
        }
    });
    leave_out(reading);
}

/// Reads what a file switches off.
fn read_switches(config: Option<&Value>, source: &Source, reading: &mut Reading) {
    let Some(config) = config else {
        return;
    };
    match (config.get("enabled").and_then(Value::as_bool), source.owner) {
        (Some(false), Owner::User) => reading.user_disables = true,
        // A project cannot switch off guards of the user.
        (Some(false), Owner::Project) => reading.project_disables = true,
        (Some(is_on), Owner::Machine) => {
            (reading.user_disables, reading.project_disables) = (!is_on, !is_on);
        }
        _ => {}
    }
    let names = config.get("disabled").and_then(Value::as_array);
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    reading
        .switched_off
        .extend(names.map(|name| (source.owner, name.to_owned())));
}

/// Takes out the hooks that are switched off by their names, also those of files before this one.
fn leave_out(reading: &mut Reading) {
    let entries = std::mem::take(&mut reading.entries);
    let is_off = |entry: &HookEntry| {
        // Hooks that do the same are joined, with a line for each.
        let mut lines = entry.written.lines();
        lines.all(|line| {
            let written: Value = serde_json::from_str(line).unwrap_or_default();
            let member = |key: &str| written.get("hook")?.get(key)?.as_str().map(ToOwned::to_owned);
            let name = member("name").or_else(|| member("command"));
            name.is_some_and(|name| reading.is_switched_off(entry.source.owner, &name))
        })
    };
    let kept = entries.into_iter().filter(|entry| !is_off(entry)).collect();
    reading.entries = kept;
}

/// Whether hooks of an event decide. A name that is almost that of a deciding event is probably meant so.
fn is_guard(contracts: &[Contract], event: &str) -> bool {
    let decides = |contract: &Contract| contract.class >= Class::Filter;
    let known = contracts
        .iter()
        .map(|contract| (contract.name, decides(contract)));
    match contracts.iter().find(|contract| contract.name == event) {
        Some(contract) => decides(contract),
        None => misspelt_guard(event, known).is_some() || sounds_like_guard(event),
    }
}

/// One hook; the error says why it is none, and whether it may have been a guard.
fn entry(
    level: Level<'_>,
    name: String,
    source: &Arc<Source>,
    contracts: &[Contract],
) -> Result<HookEntry, (String, bool)> {
    let Level {
        event, group, hook, ..
    } = level;
    let wrong = |reason: String| (reason, is_guard(contracts, event));
    let Some(contract) = contracts.iter().find(|contract| contract.name == event) else {
        return Err(wrong(format!(
            "there is no event `{event}`, so the hook never runs"
        )));
    };
    let matcher = match group.get("matcher") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.as_str()).filter(|text| !["", "*"].contains(text)),
        Some(other) => return Err(wrong(format!("`matcher` must be a text, not {other}"))),
    };
    Ok(HookEntry {
        event: contract.name,
        name,
        matchers: matcher.map(|text| matcher_of(event, text)).into_iter().collect(),
        condition: None,
        action: action(hook, source).map_err(wrong)?,
        timeout: timeout(hook).map_err(wrong)?,
        once: false,
        background: None,
        refuses_on_failure: false,
        loop_limit: None,
        longest_text: None,
        status: None,
        while_used: None,
        env: env(hook).map_err(wrong)?,
        source: Arc::clone(source),
        pointer: level.pointer.to_owned(),
        written: json!({"event": event, "matcher": group.get("matcher"), "hook": hook}).to_string(),
    })
}

/// A matcher as an expression that may be found anywhere.
fn matcher_of(event: &str, text: &str) -> String {
    if !EXACT.contains(&event) {
        return text.to_owned();
    }
    let mut expression = String::from("^");
    for character in text.chars() {
        if character.is_ascii_punctuation() {
            expression.push('\\');
        }
        expression.push(character);
    }
    expression.push('$');
    expression
}

/// What a hook does.
fn action(hook: &Map<String, Value>, source: &Source) -> Result<Action, String> {
    match hook.get("type") {
        Some(Value::String(kind)) if kind == "command" => {}
        Some(Value::String(kind)) if kind == "plugin" => {
            return Err("hooks of the type `plugin` never run, not even in Gemini CLI".into());
        }
        Some(other) => return Err(format!("there is no type {other} of hooks; it is `command`")),
        None => return Err("`type` is missing; it is `command`".into()),
    }
    let command = hook.get("command").and_then(Value::as_str);
    let command = command.filter(|command| !command.trim().is_empty());
    let command = command.ok_or("`command` is missing, or is no text")?;
    let command = match &source.plugin {
        Some(extension) => command
            .replace("${extensionPath}", &extension.display().to_string())
            .replace("${/}", "/")
            .replace("${pathSeparator}", "/"),
        None => command.to_owned(),
    };
    Ok(Action::Command(CommandLine::Shell(with_whole_values(&command))))
}

/// Variables that Gemini CLI replaces in a command, each by its value as one word. It leaves the form with braces to
/// the shell.
const REPLACED: &[&str] = &[
    "GEMINI_PROJECT_DIR",
    "GEMINI_CWD",
    "GEMINI_PLANS_DIR",
    "GEMINI_SESSION_ID",
    "CLAUDE_PROJECT_DIR",
];

/// A command whose shell does not take the values of these variables apart at blanks.
pub fn with_whole_values(command: &str) -> String {
    // In a document inside of the command, quotes would be text.
    if command.contains("<<") {
        return command.to_owned();
    }
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let (mut whole, mut quote, mut rest) = (String::new(), None::<char>, command);
    while let Some(letter) = rest.chars().next() {
        let name = rest.strip_prefix('$').unwrap_or_default();
        let name = &name[..name.find(|letter: char| !is_name(letter)).unwrap_or(name.len())];
        let length = match (quote, letter) {
            (None, '$') if REPLACED.contains(&name) => {
                whole.push_str(&format!("\"${name}\""));
                rest = &rest[1 + name.len()..];
                continue;
            }
            (None | Some('"'), '\\') => rest.chars().take(2).map(char::len_utf8).sum::<usize>(),
            _ => letter.len_utf8(),
        };
        match quote {
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            Some(open) if open == letter => quote = None,
            _ => {}
        }
        whole.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    whole
}

/// The variables that a hook sets for its program.
fn env(hook: &Map<String, Value>) -> Result<BTreeMap<String, String>, String> {
    let map = match hook.get("env") {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(map)) => map,
        Some(other) => return Err(format!("`env` must be an object with texts, not {other}")),
    };
    let variables = map.iter().map(|(name, value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        other => Err(format!("`env.{name}` must be a text, not {other}")),
    });
    variables.collect()
}

/// How long a hook may take.
fn timeout(hook: &Map<String, Value>) -> Result<Duration, String> {
    let given = match hook.get("timeout") {
        None | Some(Value::Null) => return Ok(USUAL),
        Some(given) => given.as_f64(),
    };
    let given = given.filter(|given| *given > 0.0 && *given <= MOST_MILLISECONDS);
    let given = given.ok_or("`timeout` must be a number of milliseconds, more than 0")?;
    Ok(Duration::from_secs_f64(given / 1000.0))
}
