//! Reads hooks from `hooks.json`, from the table `[hooks]` of a settings file, or from a plugin.
//!
//! Codex reads such a file as a whole: a value of the wrong type, a type of hooks that it does not know, or a key too
//! many beside `hooks`, and nothing of it counts. Each such file is reported.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use becket_dialect_kit::{misspelt_guard, sounds_like_guard};
use becket_events::Class;
use becket_hook_files::{Action, Background, Contract, HookEntry, Level, Owner, Reading, Source, levels};
use becket_hooks::CommandLine;
use serde_json::{Map, Value, json};

use crate::rows::{ABSENT_EVENTS, NOTIFY, rows};
use crate::state::{self, label};

/// How many seconds a hook may take by default.
const USUAL: u64 = 600;

/// How many seconds a hook may take when a session ends, by default and at most.
const USUAL_AT_THE_END: u64 = 1;
const MOST_AT_THE_END: u64 = 3;

/// The default of `additionalContextLimit`, which says nothing about a hook.
const USUAL_CONTEXT: u64 = 2_500;

/// Events at which `additionalContextLimit` counts.
const WITH_CONTEXT: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "SessionStart",
    "UserPromptSubmit",
    "SubagentStart",
];

/// Events that ignore matchers.
const WITHOUT_MATCHERS: &[&str] = &["UserPromptSubmit", "Stop"];

/// Keys of the table `[hooks]` that are no events.
const NO_EVENTS: &[&str] = &["state", "managed_dir", "windows_managed_dir"];

/// Starts the program of the setting `notify`, as Codex does: with nothing to read, and whatever it prints or however
/// long it takes concerns nobody. Only a program that is not there is an error.
const NOTIFYING: &str = r#"command -v "$1" >/dev/null || { echo "$1: not found" >&2; exit 1; }
input=$(cat)
"$@" "$input" </dev/null >/dev/null 2>&1 &"#;

/// Reads a file.
pub fn read(file: &Value, source: &Arc<Source>, reading: &mut Reading) {
    let rows = rows();
    let contracts = rows.iter().map(|row| row.contract());
    let contracts: Vec<Contract> = contracts.filter(|contract| contract.name != NOTIFY).collect();
    let reader = Reader {
        contracts: &contracts,
        source,
    };
    let ends = |end: &str| source.file.extension().is_some_and(|ending| ending == end);
    match file {
        Value::Object(settings) if ends("toml") => reader.settings(settings, reading),
        _ if source.plugin.is_some() && source.file.ends_with("plugin.json") => {
            // The manifest holds the hooks itself, once or several times.
            let hooks = file.get("hooks").unwrap_or(&Value::Null);
            let files = hooks
                .as_array()
                .map_or(std::slice::from_ref(hooks), Vec::as_slice);
            files.iter().for_each(|file| reader.hooks_file(file, reading));
        }
        _ => reader.hooks_file(file, reading),
    }
    state::settle(reading, |event| reader.is_guard(event));
}

/// The hooks of one `hooks.json` of the user or a project, whatever the user has said about them.
pub fn entries_of(path: &Path, file: &Value) -> Vec<HookEntry> {
    let source = Arc::new(Source {
        file: path.to_path_buf(),
        owner: Owner::User,
        plugin: None,
    });
    let mut reading = Reading::default();
    read(file, &source, &mut reading);
    reading.entries
}

/// What reading a file needs.
struct Reader<'a> {
    contracts: &'a [Contract],
    source: &'a Arc<Source>,
}

impl Reader<'_> {
    /// Reads a settings file.
    fn settings(&self, settings: &Map<String, Value>, reading: &mut Reading) {
        let features = settings.get("features");
        let feature = |name: &str| features.and_then(|features| features.get(name)?.as_bool());
        match (feature("hooks").or(feature("codex_hooks")), self.source.owner) {
            (Some(on), Owner::Machine) => (reading.user_disables, reading.project_disables) = (!on, !on),
            // The user's word counts more than that of the machine's defaults.
            (Some(on), Owner::User) => (reading.user_disables, reading.project_disables) = (!on, !on),
            // A project cannot switch off guards of the user, nor switch on what the user has switched off.
            (Some(false), Owner::Project) => reading.project_disables = true,
            _ => {}
        }
        let says = |key: &str| settings.get(key).and_then(Value::as_bool) == Some(true);
        let is_required = self.source.file.ends_with("requirements.toml");
        reading.machine_only |=
            is_required && self.source.owner == Owner::Machine && says("allow_managed_hooks_only");
        if let Some(notify) = settings.get(NOTIFY) {
            self.notify(notify, reading);
        }
        let Some(hooks) = settings.get("hooks") else {
            return;
        };
        if let (Some(said), Owner::User) = (hooks.get("state"), self.source.owner) {
            state::remember(said, reading);
        }
        let mut events = hooks.clone();
        if let Value::Object(events) = &mut events {
            NO_EVENTS.iter().for_each(|key| drop(events.remove(*key)));
        }
        self.events(&events, reading);
    }

    /// Reads the program that is told of every end of a turn. Its last argument is what others read.
    fn notify(&self, notify: &Value, reading: &mut Reading) {
        let words = notify.as_array().map(|words| words.iter().map(Value::as_str));
        let words: Option<Vec<&str>> = words.and_then(Iterator::collect);
        let Some(words) = words.filter(|words| !words.is_empty()) else {
            let reason = "it must be a list of texts: a program and its arguments";
            return reading.drop_entry(self.source, format!("/{NOTIFY}"), reason, false);
        };
        let shell = ["/bin/sh", "-c", NOTIFYING, NOTIFY];
        let words = shell.iter().chain(&words).map(ToString::to_string);
        reading.entries.push(HookEntry {
            event: NOTIFY,
            name: NOTIFY.to_owned(),
            matchers: Vec::new(),
            condition: None,
            action: Action::Command(CommandLine::Exec(words.collect())),
            timeout: Duration::from_secs(USUAL),
            once: false,
            // Nobody waits for the shell that starts it, and the shell does not wait for it.
            background: Some(Background::Quiet),
            refuses_on_failure: false,
            loop_limit: None,
            longest_text: None,
            status: None,
            while_used: None,
            env: BTreeMap::new(),
            source: Arc::clone(self.source),
            pointer: format!("/{NOTIFY}"),
            written: json!({NOTIFY: notify}).to_string(),
        });
    }

    /// Reads a file that holds nothing but hooks.
    fn hooks_file(&self, file: &Value, reading: &mut Reading) {
        let Value::Object(members) = file else {
            return reading.drop_entry(self.source, "", "it is no object", true);
        };
        let mut unknown = members
            .keys()
            .filter(|key| !["description", "hooks"].contains(&key.as_str()));
        if let Some(key) = unknown.next() {
            let reason = format!("`{key}` is no key of such a file, so Codex reads nothing of it");
            return reading.drop_entry(self.source, "", reason, self.may_guard(file.get("hooks")));
        }
        if let Some(hooks) = members.get("hooks") {
            self.events(hooks, reading);
        }
    }

    /// Reads hooks by their events.
    fn events(&self, hooks: &Value, reading: &mut Reading) {
        if let Some((pointer, reason)) = self.fault(hooks) {
            let reason = format!("{reason}, so Codex reads no hook of this file");
            return reading.drop_entry(self.source, pointer, reason, self.may_guard(Some(hooks)));
        }
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        let guards = |event: &str| self.guards(event);
        levels(hooks, "/hooks", self.source, reading, guards, |level, reading| {
            let number = count.entry(level.event.to_owned()).or_default();
            *number += 1;
            let name = format!("{} {number}", level.event);
            match self.entry(level, name) {
                // Codex runs equal hooks as often as they are written.
                Ok(entry) => reading.entries.push(entry),
                Err(reason) => {
                    reading.drop_entry(self.source, level.pointer, reason, self.guards(level.event))
                }
            }
        });
    }

    /// Whether hooks of an event may refuse. A name that is almost that of a guard's event is probably meant so.
    fn is_guard(&self, event: &str) -> bool {
        let known = self.contracts.iter();
        let known = known.map(|contract| (contract.name, contract.class == Class::Guard));
        match self.contracts.iter().find(|contract| contract.name == event) {
            Some(contract) => contract.class == Class::Guard,
            None if ABSENT_EVENTS.iter().any(|(absent, _)| *absent == event) => false,
            None => misspelt_guard(event, known).is_some() || sounds_like_guard(event),
        }
    }

    /// Whether a hook that is not loaded keeps a run from starting: it may be a guard, or the machine's owner wants it.
    fn guards(&self, event: &str) -> bool {
        let is_known = self.contracts.iter().any(|contract| contract.name == event);
        self.is_guard(event) || (is_known && self.source.owner == Owner::Machine)
    }

    /// Whether hooks that cannot be read may hold a guard.
    fn may_guard(&self, hooks: Option<&Value>) -> bool {
        match hooks {
            Some(Value::Object(events)) => events.keys().any(|event| self.guards(event)),
            Some(_) => true,
            None => false,
        }
    }

    /// Why Codex cannot read hooks, and where.
    fn fault(&self, hooks: &Value) -> Option<(String, String)> {
        let at = |pointer: String| move |reason: String| (pointer, reason);
        let Value::Object(events) = hooks else {
            return Some(("/hooks".into(), "`hooks` is no object".into()));
        };
        let is_known = |event: &str| self.contracts.iter().any(|contract| contract.name == event);
        for (event, groups) in events.iter().filter(|(event, _)| is_known(event)) {
            let place = format!("/hooks/{event}");
            let Value::Array(groups) = groups else {
                return Some((place, format!("`{event}` is no list")));
            };
            for (number, group) in groups.iter().enumerate() {
                let place = format!("{place}/{number}");
                let hooks = match group_fault(group).map_err(at(place.clone())) {
                    Ok(hooks) => hooks,
                    Err(fault) => return Some(fault),
                };
                let faults = hooks.iter().enumerate();
                let mut faults = faults.filter_map(|(number, hook)| {
                    Some((format!("{place}/hooks/{number}"), hook_fault(hook)?))
                });
                if let Some(fault) = faults.next() {
                    return Some(fault);
                }
            }
        }
        None
    }

    /// One hook; the error says why it never runs.
    fn entry(&self, level: Level<'_>, name: String) -> Result<HookEntry, String> {
        let Level {
            event, group, hook, ..
        } = level;
        let Some(contract) = self.contracts.iter().find(|contract| contract.name == event) else {
            return Err(match ABSENT_EVENTS.iter().find(|(absent, _)| *absent == event) {
                Some((_, why)) => format!("the hook never runs: {why}"),
                None => format!("there is no event `{event}`, so the hook never runs"),
            });
        };
        let action = action(hook, event)?;
        let matcher = group.get("matcher").and_then(Value::as_str);
        let matcher = matcher.filter(|_| !WITHOUT_MATCHERS.contains(&event));
        let seconds = seconds(hook, event);
        // Only programs run in the background.
        let in_background = hook.get("async") == Some(&Value::Bool(true))
            && event != "SessionEnd"
            && matches!(action, Action::Command(_));
        Ok(HookEntry {
            event: contract.name,
            name,
            matchers: matcher
                .filter(|text| !text.is_empty() && *text != "*")
                .map(ToOwned::to_owned)
                .into_iter()
                .collect(),
            condition: None,
            timeout: Duration::from_secs(seconds),
            once: false,
            background: in_background.then_some(Background::Quiet),
            refuses_on_failure: false,
            loop_limit: None,
            longest_text: longest_text(hook, event),
            status: hook
                .get("statusMessage")
                .and_then(Value::as_str)
                .map(ToOwned::to_owned),
            while_used: None,
            written: identity(event, matcher, hook, seconds),
            action,
            env: BTreeMap::new(),
            source: Arc::clone(self.source),
            pointer: level.pointer.to_owned(),
        })
    }
}

/// The hooks of a group; the error says why Codex cannot read the group.
fn group_fault(group: &Value) -> Result<&[Value], String> {
    let Value::Object(members) = group else {
        return Err("a group of hooks is no object".into());
    };
    match members.get("matcher") {
        None | Some(Value::Null | Value::String(_)) => {}
        Some(other) => return Err(format!("`matcher` must be a text, not {other}")),
    }
    match members.get("hooks") {
        None => Ok(&[]),
        Some(Value::Array(hooks)) => Ok(hooks),
        Some(other) => Err(format!("`hooks` must be a list, not {other}")),
    }
}

/// Why Codex cannot read a hook.
fn hook_fault(hook: &Value) -> Option<String> {
    let Value::Object(hook) = hook else {
        return Some("a hook is no object".into());
    };
    let wrong = |key: &str, fits: fn(&Value) -> bool, wanted: &str| {
        let value = hook.get(key).filter(|value| !fits(value))?;
        Some(format!("`{key}` must be {wanted}, not {value}"))
    };
    let text_or_null = |value: &Value| value.is_string() || value.is_null();
    let number_or_null = |value: &Value| value.is_u64() || value.is_null();
    let needed = |key: &str| (!hook.contains_key(key)).then(|| format!("`{key}` is missing"));
    let usual = || {
        wrong("timeout", number_or_null, "a whole number of seconds")
            .or_else(|| wrong("statusMessage", text_or_null, "a text"))
    };
    match hook.get("type").and_then(Value::as_str) {
        Some("command") => needed("command")
            .or_else(|| wrong("command", Value::is_string, "a text"))
            .or_else(|| wrong("commandWindows", text_or_null, "a text"))
            .or_else(|| wrong("async", Value::is_boolean, "true or false"))
            .or_else(|| wrong("additionalContextLimit", number_or_null, "a whole number"))
            .or_else(usual),
        Some("mcp_tool") => needed("server")
            .or_else(|| needed("tool"))
            .or_else(|| wrong("server", Value::is_string, "a text"))
            .or_else(|| wrong("tool", Value::is_string, "a text"))
            .or_else(|| wrong("input", Value::is_object, "an object"))
            .or_else(usual),
        Some("prompt" | "agent") => None,
        Some(other) => Some(format!("there is no type `{other}` of hooks")),
        None => Some("`type` is missing; it is `command` or `mcp_tool`".into()),
    }
}

/// What a hook does; the error says why Codex skips it.
fn action(hook: &Map<String, Value>, event: &str) -> Result<Action, String> {
    let text = |key: &str| hook.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "command" if text("command").trim().is_empty() => {
            Err("its command is empty, so it never runs".into())
        }
        "command" => Ok(Action::Command(CommandLine::Shell(text("command").to_owned()))),
        "mcp_tool" if event == "SessionEnd" => {
            Err("no server's tool is called at SessionEnd, so the hook never runs".into())
        }
        "mcp_tool" => Ok(Action::ServerTool {
            server: text("server").to_owned(),
            tool: text("tool").to_owned(),
            input: hook
                .get("input")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
        }),
        other => Err(format!("Codex does not run hooks of the type `{other}` yet")),
    }
}

/// How many seconds a hook may take.
fn seconds(hook: &Map<String, Value>, event: &str) -> u64 {
    let given = hook.get("timeout").and_then(Value::as_u64);
    match event {
        "SessionEnd" => given.unwrap_or(USUAL_AT_THE_END).clamp(1, MOST_AT_THE_END),
        // As long as becket lets any hook run.
        _ => given.unwrap_or(USUAL).clamp(1, 2_600_000),
    }
}

/// How many characters a text for the model may have. Codex counts four of them as a token.
fn longest_text(hook: &Map<String, Value>, event: &str) -> Option<usize> {
    let tokens = hook
        .get("additionalContextLimit")
        .and_then(Value::as_u64)
        .unwrap_or(USUAL_CONTEXT);
    let tokens = usize::try_from(tokens).unwrap_or(usize::MAX);
    (tokens > 0 && WITH_CONTEXT.contains(&event)).then(|| tokens.saturating_mul(4))
}

/// Everything that decides what runs and when, in the form whose hash Codex keeps for hooks that the user trusts: an
/// object with sorted keys, the same for JSON and TOML.
fn identity(event: &str, matcher: Option<&str>, hook: &Map<String, Value>, seconds: u64) -> String {
    let given = |key: &str| hook.get(key).filter(|value| !value.is_null()).cloned();
    let mut members: BTreeMap<&str, Value> = BTreeMap::from([("timeout", seconds.into())]);
    let mut add = |key: &'static str, value: Option<Value>| members.extend(value.map(|value| (key, value)));
    add("type", given("type"));
    add("statusMessage", given("statusMessage"));
    match hook.get("type").and_then(Value::as_str) {
        Some("mcp_tool") => {
            add("server", given("server"));
            add("tool", given("tool"));
            add("input", Some(given("input").map_or_else(|| json!({}), sorted)));
        }
        _ => {
            add("command", given("command"));
            add("async", Some(given("async").unwrap_or(Value::Bool(false))));
            let limit = given("additionalContextLimit").filter(|limit| limit.as_u64() != Some(USUAL_CONTEXT));
            add(
                "additionalContextLimit",
                limit.filter(|_| WITH_CONTEXT.contains(&event)),
            );
        }
    }
    let mut whole: BTreeMap<&str, Value> =
        BTreeMap::from([("event_name", label(event).into()), ("hooks", json!([members]))]);
    whole.extend(matcher.map(|matcher| ("matcher", matcher.into())));
    json!(whole).to_string()
}

/// A value in which the keys of all objects are sorted.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<String, Value> = members
                .into_iter()
                .map(|(key, value)| (key, sorted(value)))
                .collect();
            json!(sorted)
        }
        Value::Array(values) => values.into_iter().map(sorted).collect(),
        other => other,
    }
}
