//! Reads hooks from a file of their own, from settings, or from a plugin.
//!
//! A hook stands in the list of its event, or in a group with a matcher as other agents write it. Of a file of hooks
//! Copilot drops what it cannot read and keeps the rest; in settings one such entry makes all hooks there count for
//! nothing. A file with another version, or in which an event is no list, counts for nothing too. Each is reported.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use becket_dialect_kit::{misspelt_guard, sounds_like_guard};
use becket_events::Class;
use becket_hook_files::{Action, Contract, HookEntry, Owner, Reading, Source};
use becket_hooks::CommandLine;
use serde_json::{Map, Value, json};

use crate::naming::{is_pascal, second_matcher};
use crate::rows::{ABSENT_EVENTS, rows};

/// How long a hook may take by default.
const USUAL: Duration = Duration::from_secs(30);

/// Places in commands that stand for folders, each with the variable that holds the folder.
const TEMPLATES: &[(&str, &str)] = &[
    ("{{project_dir}}", "${CLAUDE_PROJECT_DIR}"),
    ("{{plugin_data_dir}}", "${CLAUDE_PLUGIN_DATA}"),
];

/// Reads a file.
pub fn read(file: &Value, source: &Arc<Source>, reading: &mut Reading) {
    let rows = rows();
    let contracts: Vec<Contract> = rows.iter().map(|row| row.contract()).collect();
    let reader = Reader {
        contracts: &contracts,
        source,
    };
    let name = source.file.file_name().unwrap_or_default().to_string_lossy();
    // A file of hooks may have this name as well, but not in the folder of settings.
    let is_settings = name.starts_with("settings")
        && !source
            .file
            .parent()
            .is_some_and(|folder| folder.ends_with("hooks"));
    match is_settings {
        true => reader.settings(file, reading),
        false => reader.hooks_file(file, reading),
    }
}

/// What reading a file needs.
struct Reader<'a> {
    contracts: &'a [Contract],
    source: &'a Arc<Source>,
}

/// An entry of an event's list: a hook, or one of a group.
struct Written<'a> {
    event: &'a str,
    /// The members of the hook's group, or of the hook itself.
    group: &'a Map<String, Value>,
    hook: &'a Map<String, Value>,
    pointer: String,
}

impl Reader<'_> {
    /// Reads a settings file.
    fn settings(&self, file: &Value, reading: &mut Reading) {
        if !file.is_object() {
            return reading.drop_entry(self.source, "", "it is no object", true);
        }
        if let Some(is_off) = file.get("disableAllHooks").and_then(Value::as_bool) {
            match self.source.owner {
                Owner::Machine => {}
                Owner::User => reading.user_disables |= is_off,
                // A project cannot switch off guards of the user. Its local file comes last, and has the last word.
                Owner::Project => reading.project_disables = is_off,
            }
        }
        let Some(hooks) = file.get("hooks") else {
            return;
        };
        let mut read = Reading::default();
        self.events(hooks, &mut read);
        // An event that there is not is no mistake of the entry.
        let is_mistake = |pointer: &str| {
            let event = pointer.split('/').nth(2).unwrap_or_default();
            pointer == "/hooks" || self.contract(event).is_some()
        };
        match read.dropped.iter().find(|dropped| is_mistake(&dropped.pointer)) {
            None => {
                reading.entries.extend(read.entries);
                reading.dropped.extend(read.dropped);
            }
            Some(wrong) => {
                let reason = format!("{}, so Copilot reads no hook of these settings", wrong.reason);
                reading.drop_entry(self.source, &wrong.pointer, reason, self.may_guard(hooks));
            }
        }
    }

    /// Reads a file that holds nothing but hooks.
    fn hooks_file(&self, file: &Value, reading: &mut Reading) {
        let Value::Object(members) = file else {
            return reading.drop_entry(self.source, "", "it is no object", true);
        };
        let hooks = members.get("hooks").unwrap_or(&Value::Null);
        match members.get("version") {
            None | Some(Value::Null) => {}
            Some(version) if version.as_u64() == Some(1) => {}
            Some(version) => {
                let reason =
                    format!("`version` must be 1, not {version}, so Copilot reads nothing of this file");
                return reading.drop_entry(self.source, "/version", reason, self.may_guard(hooks));
            }
        }
        let is_off = members.get("disableAllHooks") == Some(&Value::Bool(true));
        if (is_off && self.source.owner != Owner::Machine) || hooks.is_null() {
            return;
        }
        let lists = hooks
            .as_object()
            .map(|events| events.iter().find(|(_, entries)| !entries.is_array()));
        match lists {
            None => reading.drop_entry(self.source, "/hooks", "it is no object with events", true),
            Some(Some((event, _))) => {
                let reason = "it is no list of hooks, so Copilot reads nothing of this file";
                reading.drop_entry(
                    self.source,
                    format!("/hooks/{event}"),
                    reason,
                    self.may_guard(hooks),
                );
            }
            Some(None) => self.events(hooks, reading),
        }
    }

    /// Reads hooks by their events.
    fn events(&self, hooks: &Value, reading: &mut Reading) {
        let Value::Object(events) = hooks else {
            return reading.drop_entry(self.source, "/hooks", "it is no object with events", true);
        };
        for (event, entries) in events {
            let at = format!("/hooks/{}", event.replace('~', "~0").replace('/', "~1"));
            let Value::Array(entries) = entries else {
                reading.drop_entry(self.source, &at, "it is no list of hooks", self.guards(event));
                continue;
            };
            let mut number = 0;
            for (place, entry) in entries.iter().enumerate() {
                self.entry(event, entry, &format!("{at}/{place}"), &mut number, reading);
            }
        }
    }

    /// Reads an entry of an event's list: a hook, or a group of hooks.
    fn entry(&self, event: &str, entry: &Value, at: &str, number: &mut usize, reading: &mut Reading) {
        let drop = |reading: &mut Reading, at: &str, reason: String| {
            reading.drop_entry(self.source, at, reason, self.guards(event));
        };
        let Value::Object(group) = entry else {
            return drop(reading, at, "it is no object".into());
        };
        let mut take = |hook: &Value, at: String, reading: &mut Reading| {
            *number += 1;
            let name = format!("{event} {number}");
            let Value::Object(hook) = hook else {
                return drop(reading, &at, "it is no object".into());
            };
            let written = Written {
                event,
                group,
                hook,
                pointer: at.clone(),
            };
            match self.hook(written, name) {
                Ok(entry) => reading.entries.push(entry),
                Err(reason) => drop(reading, &at, reason),
            }
        };
        match group.get("hooks") {
            None => take(entry, at.to_owned(), reading),
            Some(Value::Array(hooks)) => {
                for (place, hook) in hooks.iter().enumerate() {
                    take(hook, format!("{at}/hooks/{place}"), reading);
                }
            }
            Some(_) => drop(reading, at, "`hooks` must be a list".into()),
        }
    }

    fn contract(&self, event: &str) -> Option<&Contract> {
        self.contracts.iter().find(|contract| contract.name == event)
    }

    /// Whether hooks of an event may refuse. A name that is almost that of a guard's event is probably meant so.
    fn guards(&self, event: &str) -> bool {
        let known = self.contracts.iter();
        let known = known.map(|contract| (contract.name, contract.class == Class::Guard));
        match self.contract(event) {
            Some(contract) => contract.class == Class::Guard,
            None if ABSENT_EVENTS.iter().any(|(absent, _)| *absent == event) => false,
            None => misspelt_guard(event, known).is_some() || sounds_like_guard(event),
        }
    }

    /// Whether hooks that do not count may hold a guard.
    fn may_guard(&self, hooks: &Value) -> bool {
        match hooks {
            Value::Object(events) => events.keys().any(|event| self.guards(event)),
            Value::Null => false,
            _ => true,
        }
    }

    /// One hook; the error says why it never runs.
    fn hook(&self, written: Written<'_>, name: String) -> Result<HookEntry, String> {
        let Written {
            event, group, hook, ..
        } = written;
        let Some(contract) = self.contract(event) else {
            return Err(match ABSENT_EVENTS.iter().find(|(absent, _)| *absent == event) {
                Some((_, why)) => format!("the hook never runs: {why}"),
                None => format!("there is no event `{event}`, so the hook never runs"),
            });
        };
        let matcher = text(group, "matcher")?.or(text(hook, "matcher")?);
        let matcher = matcher.filter(|text| !text.is_empty() && contract.has_matcher);
        let matcher = match is_pascal(event) && contract.block == becket_hook_files::Block::Refuses
            || event == "PostToolUse"
        {
            true => matcher.and_then(|text| second_matcher(&text)),
            false => matcher,
        };
        let mut env = variables(hook)?;
        let action = action(hook, event, &mut env)?;
        Ok(HookEntry {
            event: contract.name,
            name,
            matchers: matcher.into_iter().collect(),
            condition: None,
            timeout: timeout(hook)?,
            once: false,
            background: None,
            refuses_on_failure: false,
            loop_limit: None,
            longest_text: None,
            status: None,
            while_used: None,
            action,
            env,
            source: Arc::clone(self.source),
            pointer: written.pointer,
            written: json!({"event": event, "matcher": group.get("matcher"), "hook": hook}).to_string(),
        })
    }
}

fn text(map: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("`{key}` must be a text, not {other}")),
    }
}

/// A map of texts.
fn texts(map: &Map<String, Value>, key: &str) -> Result<BTreeMap<String, String>, String> {
    let wrong = || format!("`{key}` must be an object with texts");
    match map.get(key) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(members)) => {
            let texts = members.iter().map(|(name, value)| {
                let value = value.as_str().ok_or_else(wrong)?;
                Ok((name.clone(), value.to_owned()))
            });
            texts.collect()
        }
        Some(_) => Err(wrong()),
    }
}

/// The variables that a hook sets for its program.
fn variables(hook: &Map<String, Value>) -> Result<BTreeMap<String, String>, String> {
    let variables = texts(hook, "env")?;
    let is_name = |name: &str| {
        let mut characters = name.chars();
        let first = characters.next();
        first.is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
    };
    match variables.keys().find(|name| !is_name(name)) {
        Some(name) => Err(format!("`{name}` is no name of a variable")),
        None => Ok(variables),
    }
}

/// What a hook does.
fn action(
    hook: &Map<String, Value>,
    event: &str,
    env: &mut BTreeMap<String, String>,
) -> Result<Action, String> {
    match text(hook, "type")?.as_deref().unwrap_or("command") {
        "command" => {
            text(hook, "cwd")?;
            let line = text(hook, "bash")?.or(text(hook, "command")?);
            let line = line.filter(|line| !line.trim().is_empty());
            let line = line.ok_or("it has neither `bash` nor `command`, so nothing runs on this system")?;
            Ok(Action::Command(CommandLine::Shell(command(&line, env))))
        }
        "http" => {
            let url = text(hook, "url")?.filter(|url| !url.trim().is_empty());
            let url = url.ok_or("`url` is missing")?;
            let guards = [
                "preToolUse",
                "PreToolUse",
                "permissionRequest",
                "PermissionRequest",
            ]
            .contains(&event);
            if !url.starts_with("https://") && (guards || !is_loopback(&url)) {
                return Err(
                    "only addresses that begin with `https://` are asked, so the hook never runs".into(),
                );
            }
            let allowed = hook.get("allowedEnvVars").and_then(Value::as_array);
            let allowed = allowed.into_iter().flatten().filter_map(Value::as_str);
            Ok(Action::Http {
                url,
                headers: texts(hook, "headers")?,
                variables: allowed.map(ToOwned::to_owned).collect(),
            })
        }
        "prompt" if ["sessionStart", "SessionStart"].contains(&event) => {
            let prompt = text(hook, "prompt")?.filter(|prompt| !prompt.trim().is_empty());
            Ok(Action::Line(prompt.ok_or("`prompt` is missing")?))
        }
        "prompt" => Err(format!("a hook of the type `prompt` never runs at {event}")),
        other => Err(format!("there is no type `{other}` of hooks")),
    }
}

fn is_loopback(url: &str) -> bool {
    let rest = url.strip_prefix("http://").unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    ["localhost", "127.0.0.1", "::1"].contains(&name)
}

/// The line for the shell: the hook's command, with the variables whose values refer to others.
fn command(line: &str, env: &mut BTreeMap<String, String>) -> String {
    let mut whole = String::new();
    let referring: Vec<String> = env
        .iter()
        .filter(|(_, value)| value.contains('$'))
        .map(|(name, _)| name.clone())
        .collect();
    for name in referring {
        let value = env.remove(&name).unwrap_or_default();
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('`', "\\`")
            .replace("$(", "\\$(");
        whole.push_str(&format!("export {name}=\"{value}\"\n"));
    }
    whole.push_str(line);
    let replaced = TEMPLATES.iter();
    replaced.fold(whole, |line, (place, variable)| line.replace(place, variable))
}

/// How long a hook may take.
fn timeout(hook: &Map<String, Value>) -> Result<Duration, String> {
    let given = ["timeoutSec", "timeout"]
        .into_iter()
        .find_map(|key| hook.get(key).filter(|value| !value.is_null()));
    let Some(seconds) = given else {
        return Ok(USUAL);
    };
    let seconds = seconds
        .as_f64()
        .filter(|seconds| *seconds > 0.0 && *seconds < 2_600_000.0);
    let seconds = seconds.ok_or("`timeoutSec` must be a number of seconds, more than 0")?;
    Ok(Duration::from_secs_f64(seconds))
}
