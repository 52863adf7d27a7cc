//! Reads hooks from a `hooks.json` file.
//!
//! A file with one mistake is none for Cursor, which says so in a log alone. Here the mistake and every other entry of
//! the file are reported, and entries that may have been guards stop the run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use becket_dialect_kit::{misspelt_guard, sounds_like_guard};
use becket_events::Class;
use becket_hook_files::{Action, Contract, HookEntry, Reading, Source};
use becket_hooks::CommandLine;
use serde_json::{Map, Value, json};

use crate::rows::{ABSENT_EVENTS, STOP_CAP, rows};
use crate::sources::{MANIFEST, holds_rules};

/// How long a hook may take by default.
const USUAL: Duration = Duration::from_secs(60);

/// The longest time that a file may allow: thirty days.
const MOST_SECONDS: f64 = 2_592_000.0;

/// Events at which a hook can make the model go on.
const STOPS: &[&str] = &["stop", "subagentStop"];

/// What a file holds, entry by entry.
#[derive(Default)]
struct Held {
    hooks: Vec<HookEntry>,
    /// Mistakes: where each is, what it is, and whether it may have been a guard.
    mistakes: Vec<(String, String, bool)>,
}

/// Reads a file.
pub fn read(file: &Value, source: &Arc<Source>, reading: &mut Reading) {
    if holds_rules(&source.file) {
        return;
    }
    let contracts: Vec<Contract> = rows().iter().map(|row| row.contract()).collect();
    let mut held = Held::default();
    let of_manifest = source.file.ends_with(MANIFEST).then(|| within_manifest(file));
    match of_manifest.as_ref().unwrap_or(file) {
        Value::Object(file) => read_file(file, source, &contracts, &mut held, reading),
        _ => held
            .mistakes
            .push((String::new(), "it is no object".into(), true)),
    }
    if held.mistakes.is_empty() {
        reading.entries.extend(held.hooks);
        return;
    }
    for (pointer, reason, guards) in held.mistakes {
        let reason = format!("{reason}; Cursor drops the whole file for this");
        reading.drop_entry(source, pointer, reason, guards);
    }
    for hook in held.hooks {
        let reason = "Cursor does not run the hook, because there is a mistake in its file";
        let guards = is_guard(&contracts, hook.event) || hook.refuses_on_failure;
        reading.drop_entry(source, hook.pointer, reason, guards);
    }
}

/// The hooks in the manifest of a plugin, as a file of their own would hold them.
fn within_manifest(manifest: &Value) -> Value {
    let hooks = &manifest["hooks"];
    match hooks.get("hooks") {
        Some(_) => hooks.clone(),
        None => json!({"version": 1, "hooks": hooks}),
    }
}

fn read_file(
    file: &Map<String, Value>,
    source: &Arc<Source>,
    contracts: &[Contract],
    held: &mut Held,
    reading: &mut Reading,
) {
    match file.get("version") {
        Some(version) if version.as_u64().is_some_and(|version| version > 0) => {}
        None => reading.drop_entry(source, "/version", "`version` is missing; it is 1", false),
        Some(other) => {
            let reason = format!("`version` must be a whole number, not {other}");
            held.mistakes.push(("/version".into(), reason, true));
        }
    }
    let events = match file.get("hooks") {
        Some(Value::Object(events)) => events,
        None => return,
        Some(_) => {
            let reason = "it is no object with events".to_owned();
            return held.mistakes.push(("/hooks".into(), reason, true));
        }
    };
    for (event, entries) in events {
        let pointer = format!("/hooks/{}", event.replace('~', "~0").replace('/', "~1"));
        let guards = is_guard(contracts, event);
        let absent = ABSENT_EVENTS.iter().find(|(absent, _)| absent == event);
        let contract = contracts.iter().find(|contract| contract.name == event);
        let Value::Array(entries) = entries else {
            held.mistakes
                .push((pointer, "it is no list of hooks".into(), guards));
            continue;
        };
        match (contract, absent) {
            (Some(contract), _) => {
                for (number, value) in entries.iter().enumerate() {
                    let name = format!("{event} {}", number + 1);
                    let pointer = format!("{pointer}/{number}");
                    match entry(contract, name, value, &pointer, source) {
                        Ok(entry) => held.hooks.push(entry),
                        Err(reason) => held.mistakes.push((pointer, reason, guards)),
                    }
                }
            }
            (None, Some((_, why))) => {
                reading.drop_entry(source, pointer, format!("these hooks never run: {why}"), false);
            }
            (None, None) => {
                held.mistakes
                    .push((pointer, format!("there is no event `{event}`"), guards));
            }
        }
    }
}

/// Whether hooks of an event may refuse. A name that is almost that of a guard's event is probably meant so.
fn is_guard(contracts: &[Contract], event: &str) -> bool {
    let known = contracts.iter();
    let known = known.map(|contract| (contract.name, contract.class == Class::Guard));
    match contracts.iter().find(|contract| contract.name == event) {
        Some(contract) => contract.class == Class::Guard,
        None if ABSENT_EVENTS.iter().any(|(absent, _)| *absent == event) => false,
        None => misspelt_guard(event, known).is_some() || sounds_like_guard(event),
    }
}

/// One hook; the error says why it is none.
fn entry(
    contract: &Contract,
    name: String,
    value: &Value,
    pointer: &str,
    source: &Arc<Source>,
) -> Result<HookEntry, String> {
    let hook = value.as_object().ok_or("it is no object")?;
    let text = |key: &str| match hook.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(format!("`{key}` must be a text, not {other}")),
    };
    if hook
        .values()
        .filter_map(Value::as_str)
        .any(|text| text.contains("//"))
    {
        return Err("Cursor takes `//` for a comment, also in a text".into());
    }
    let matcher = text("matcher")?.filter(|text| !["", "*"].contains(text));
    let needed = |key: &str| {
        let text = text(key)?.filter(|text| !text.trim().is_empty());
        text.map(ToOwned::to_owned)
            .ok_or_else(|| format!("`{key}` is missing"))
    };
    let action = match text("type")? {
        None | Some("command") => Action::Command(CommandLine::Shell(needed("command")?)),
        Some("prompt") => Action::Prompt {
            prompt: needed("prompt")?,
            model: text("model")?.map(ToOwned::to_owned),
            goes_on: true,
            reads_files: false,
        },
        Some(other) => return Err(format!("there is no type `{other}` of hooks")),
    };
    let refuses_on_failure = match hook.get("failClosed") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(truth)) => *truth,
        Some(other) => return Err(format!("`failClosed` must be true or false, not {other}")),
    };
    let loop_limit = loop_limit(hook)?;
    Ok(HookEntry {
        event: contract.name,
        name,
        matchers: matcher.map(ToOwned::to_owned).into_iter().collect(),
        condition: None,
        action,
        timeout: timeout(hook)?,
        once: false,
        background: None,
        refuses_on_failure,
        longest_text: None,
        status: None,
        while_used: None,
        loop_limit: STOPS.contains(&contract.name).then_some(loop_limit),
        env: BTreeMap::new(),
        source: Arc::clone(source),
        pointer: pointer.to_owned(),
        written: json!({"event": contract.name, "hook": hook}).to_string(),
    })
}

/// How often a hook may make the model go on.
fn loop_limit(hook: &Map<String, Value>) -> Result<u32, String> {
    match hook.get("loop_limit") {
        None => Ok(STOP_CAP),
        Some(Value::Null) => Ok(u32::MAX),
        Some(limit) => {
            let number = limit.as_u64().filter(|limit| *limit > 0);
            let number = number.ok_or_else(|| format!("`loop_limit` must be a whole number, not {limit}"))?;
            Ok(u32::try_from(number).unwrap_or(u32::MAX))
        }
    }
}

/// How long a hook may take.
fn timeout(hook: &Map<String, Value>) -> Result<Duration, String> {
    let given = match hook.get("timeout") {
        None | Some(Value::Null) => return Ok(USUAL),
        Some(given) => given.as_f64(),
    };
    let given = given.filter(|given| *given > 0.0 && *given <= MOST_SECONDS);
    let given = given.ok_or("`timeout` must be a number of seconds, more than 0")?;
    Ok(Duration::from_secs_f64(given))
}
