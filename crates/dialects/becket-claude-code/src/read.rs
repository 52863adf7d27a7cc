//! Reads hooks from a settings file, a plugin's `hooks.json`, or the front matter of an agent, a skill or a command.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use becket_dialect_kit::{misspelt_guard, sounds_like_guard};
use becket_events::Class;
use becket_hook_files::{
    Action, Background, Contract, HookEntry, Level, Owner, Reading, Source, WhileUsed, is_markdown, levels,
};
use becket_hooks::CommandLine;
use becket_host::GuestSearch;
use serde_json::{Map, Value, json};

use crate::rows::{ABSENT_EVENTS, TOOL_EVENTS, rows};
use crate::sources::MANIFEST;
use crate::texts::{SKILL_FILE, while_used};

/// How long a hook may take by default.
const USUAL: Duration = Duration::from_secs(600);
const USUAL_OF_PROMPTS: Duration = Duration::from_secs(30);
const USUAL_OF_AGENTS: Duration = Duration::from_secs(60);
const USUAL_AT_THE_END: Duration = Duration::from_millis(1_500);

/// The longest that hooks may take when a session ends.
const MOST_AT_THE_END: Duration = Duration::from_secs(60);

/// How many characters a text of a hook may have before it is cut.
const LONGEST_TEXT: usize = 10_000;

/// Events at which no model can be asked, because there is no conversation yet.
const WITHOUT_MODELS: &[&str] = &["SessionStart", "Setup", "SubagentStart"];

/// Reads a file.
pub fn read(file: &Value, source: &Arc<Source>, reading: &mut Reading) {
    if is_markdown(&source.file) {
        // Without hooks the file has no value.
        if let Some(fields) = file.as_object() {
            read_hooks(file, source, Some(while_used(&source.file, fields)), reading);
        }
        return;
    }
    if !file.is_object() {
        return reading.drop_entry(source, "", "it is no object", true);
    }
    if let Some(plugin) = source.plugin.as_ref().filter(|_| source.file.ends_with(MANIFEST)) {
        return read_manifest(file, plugin, source, reading);
    }
    read_settings(file, source, reading);
    read_hooks(file, source, None, reading);
}

/// Reads the hooks in the description of a plugin: in its `hooks`, or in parts of it. Texts there name other files.
fn read_manifest(file: &Value, plugin: &Path, source: &Arc<Source>, reading: &mut Reading) {
    let hooks = file.get("hooks").unwrap_or(&Value::Null);
    let parts: Vec<(String, &Value)> = match hooks {
        Value::Array(parts) => {
            let parts = parts.iter().enumerate();
            parts.map(|(at, part)| (format!("/hooks/{at}"), part)).collect()
        }
        one => vec![("/hooks".to_owned(), one)],
    };
    for (pointer, part) in parts {
        match (part, part.get("hooks")) {
            (Value::Null, _) => {}
            (Value::String(name), _) if becket_fs::is_file(plugin.join(name)) => {}
            (Value::String(name), _) => {
                let reason = format!("there is no file {}", plugin.join(name).display());
                reading.drop_entry(source, pointer, reason, true);
            }
            (Value::Object(_), Some(hooks)) => {
                read_events(
                    hooks,
                    (&format!("{pointer}/hooks"), &BTreeMap::new()),
                    source,
                    None,
                    reading,
                );
            }
            _ => read_events(part, (&pointer, &BTreeMap::new()), source, None, reading),
        }
    }
}

/// Variables by which the user sets how often hooks may make the model go on, and how long they may take at the end of
/// a session, in milliseconds.
const STOP_CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";
const END_TIMEOUT: &str = "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS";

/// Does with hooks what the user's environment says.
pub fn settle(reading: &mut Reading, place: &GuestSearch<'_>) {
    let number = |name: &str| place.surroundings.variable(name)?.trim().parse::<u32>().ok();
    let cap = number(STOP_CAP);
    let timeout = number(END_TIMEOUT).filter(|most| *most > 0);
    for entry in &mut reading.entries {
        match (entry.event, cap, timeout) {
            ("Stop" | "SubagentStop", Some(cap), _) => entry.loop_limit = Some(cap),
            ("SessionEnd", _, Some(most)) => entry.timeout = Duration::from_millis(most.into()),
            _ => {}
        }
    }
}

/// Reads what a file says about all hooks.
fn read_settings(file: &Value, source: &Source, reading: &mut Reading) {
    let says = |key: &str| file.get(key).and_then(Value::as_bool) == Some(true);
    if let Some(is_off) = file.get("disableAllHooks").and_then(Value::as_bool) {
        match source.owner {
            Owner::Machine | Owner::User => reading.user_disables |= is_off,
            // A project cannot switch off guards of the user. Its local file comes last, and has the last word.
            Owner::Project => reading.project_disables = is_off,
        }
    }
    reading.machine_only |= source.owner == Owner::Machine && says("allowManagedHooksOnly");
    if let (Some(Value::Array(allowed)), true) =
        (file.get("allowedHttpHookUrls"), source.owner != Owner::Project)
    {
        let allowed = allowed.iter().filter_map(Value::as_str).map(ToOwned::to_owned);
        reading.allowed_urls.get_or_insert_default().extend(allowed);
    }
    if let (Some(Value::Array(allowed)), true) =
        (file.get("httpHookAllowedEnvVars"), source.owner != Owner::Project)
    {
        let allowed = allowed.iter().filter_map(Value::as_str).map(ToOwned::to_owned);
        reading.allowed_variables.get_or_insert_default().extend(allowed);
    }
}

/// Reads the hooks of a file, which may be active only while something is used.
fn read_hooks(file: &Value, source: &Arc<Source>, while_used: Option<WhileUsed>, reading: &mut Reading) {
    let Some(hooks) = file
        .get("hooks")
        .filter(|hooks| while_used.is_none() || !hooks.is_null())
    else {
        return;
    };
    read_events(
        hooks,
        ("/hooks", &texts(file.get("env"))),
        source,
        while_used,
        reading,
    );
}

/// Reads the hooks in an object with events. It stands at a pointer, in a file that sets these variables.
fn read_events(
    hooks: &Value,
    (pointer, env): (&str, &BTreeMap<String, String>),
    source: &Arc<Source>,
    while_used: Option<WhileUsed>,
    reading: &mut Reading,
) {
    let is_agent = matches!(while_used, Some(WhileUsed::Agent(_)));
    let rows = rows();
    let contracts: Vec<Contract> = rows.iter().map(|row| row.contract()).collect();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let guards = |event: &str| is_guard(&contracts, event);
    levels(hooks, pointer, source, reading, guards, |level, reading| {
        // An agent stops as a sub-agent.
        let event = match level.event {
            "Stop" if is_agent => "SubagentStop",
            event => event,
        };
        let level = Level { event, ..level };
        let number = count.entry(level.event.to_owned()).or_default();
        *number += 1;
        let name = format!("{} {number}", level.event);
        match entry(level, name, source, &contracts) {
            Ok(entry) => reading.add(with_variables(
                HookEntry {
                    while_used: while_used.clone(),
                    ..entry
                },
                env,
            )),
            Err((reason, guards)) => reading.drop_entry(source, level.pointer, reason, guards),
        }
    });
}

/// Whether hooks of an event may refuse. A name that is almost that of a guard's event is probably meant so.
fn is_guard(contracts: &[Contract], event: &str) -> bool {
    let known = contracts.iter();
    let known = known.map(|contract| (contract.name, contract.class == Class::Guard));
    if ABSENT_EVENTS.iter().any(|(absent, _)| *absent == event) {
        return false;
    }
    match contracts.iter().find(|contract| contract.name == event) {
        Some(contract) => contract.class == Class::Guard,
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
    let Some(contract) = contracts.iter().find(|contract| contract.name == event) else {
        let reason = match ABSENT_EVENTS.iter().find(|(absent, _)| *absent == event) {
            Some((_, why)) => format!("the hook never runs: {why}"),
            None => format!("there is no event `{event}`, so the hook never runs"),
        };
        return Err((reason, is_guard(contracts, event)));
    };
    let wrong = |reason: String| (reason, contract.class == Class::Guard);
    let text = |map: &Map<String, Value>, key: &str| match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(wrong(format!("`{key}` must be a text, not {other}"))),
    };
    let truth = |key: &str| truth(hook, key).map_err(wrong);
    let condition = text(hook, "if")?.filter(|text| !text.trim().is_empty());
    if condition.is_some() && !TOOL_EVENTS.contains(&event) {
        return Err(wrong(format!(
            "`if` is about a tool call, and {event} has none, so the hook never runs"
        )));
    }
    let matcher = text(group, "matcher")?;
    let wakes = truth("asyncRewake")?;
    let background = match truth("async")? || wakes {
        true if wakes => Some(Background::Wakes),
        true => Some(Background::Quiet),
        false => None,
    };
    let action = action(hook, event).map_err(wrong)?;
    Ok(HookEntry {
        event: contract.name,
        name,
        matchers: matcher
            .filter(|text| !text.is_empty() && text != "*")
            .into_iter()
            .collect(),
        condition,
        timeout: timeout(hook, event).map_err(wrong)?,
        once: truth("once")?,
        background: background.filter(|_| matches!(action, Action::Command(_))),
        refuses_on_failure: match text(hook, "onFailure")?.as_deref() {
            None | Some("continue") => false,
            Some("block") => true,
            Some(other) => {
                return Err(wrong(format!(
                    "`onFailure` is `continue` or `block`, not `{other}`"
                )));
            }
        },
        action,
        loop_limit: None,
        longest_text: Some(LONGEST_TEXT),
        status: text(hook, "statusMessage")?,
        while_used: None,
        env: BTreeMap::new(),
        source: Arc::clone(source),
        pointer: level.pointer.to_owned(),
        written: json!({"event": event, "matcher": group.get("matcher"), "hook": hook}).to_string(),
    })
}

fn truth(hook: &Map<String, Value>, key: &str) -> Result<bool, String> {
    match hook.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(truth)) => Ok(*truth),
        Some(other) => Err(format!("`{key}` must be true or false, not {other}")),
    }
}

/// A hook with the variables that its file sets for all of them, and with the options of its plugin.
fn with_variables(mut entry: HookEntry, env: &BTreeMap<String, String>) -> HookEntry {
    if !env.is_empty() {
        entry.written = format!("{}\n{}", entry.written, json!({ "env": env }));
        entry.env = env.clone();
    }
    if let Action::Command(command) = &mut entry.action
        && let Err(why) = placed(command, &entry.source)
    {
        entry.action = Action::Unable(why);
    }
    entry
}

/// Puts the options of a plugin into a command. The error says what the command names and becket does not know.
fn placed(command: &mut CommandLine, source: &Source) -> Result<(), String> {
    let text = match &*command {
        CommandLine::Shell(line) => line.clone(),
        CommandLine::Exec(words) => words.join(" "),
    };
    let is_skill = source.plugin.is_none() && source.file.ends_with(SKILL_FILE);
    let of_plugins = ["CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"].into_iter();
    let mut of_plugins = of_plugins.filter(|_| source.plugin.is_none() && !is_skill);
    if let Some(name) = of_plugins.find(|name| text.contains(name)) {
        return Err(format!("{name} is set for hooks of plugins and skills only"));
    }
    let none = BTreeMap::new();
    let options = source.plugin.as_ref().map_or(&none, |plugin| &plugin.options);
    let unknown = |key: &str| {
        format!(
            "becket has no value for the option `{key}` of the plugin: it is not set, or Claude Code keeps it as a \
             secret"
        )
    };
    if let Some((key, _)) = options
        .iter()
        .find(|(key, value)| value.is_none() && text.contains(&option_variable(key)))
    {
        return Err(unknown(key));
    }
    match command {
        CommandLine::Shell(line) if line.contains(OPTION) => Err(format!(
            "`{OPTION}NAME}}` counts in `args` only: a line for the shell finds the option in the variable \
             {}",
            option_variable("NAME")
        )),
        CommandLine::Shell(_) => Ok(()),
        CommandLine::Exec(words) => {
            for word in words {
                for (key, value) in options {
                    if let Some(value) = value {
                        *word = word.replace(&format!("{OPTION}{key}}}"), value);
                    }
                }
                if let Some((_, rest)) = word.split_once(OPTION) {
                    return Err(unknown(rest.split('}').next().unwrap_or(rest)));
                }
            }
            Ok(())
        }
    }
}

/// What stands before the name of a plugin's option in a command.
const OPTION: &str = "${user_config.";

/// What a hook does.
fn action(hook: &Map<String, Value>, event: &str) -> Result<Action, String> {
    let text = |key: &str| hook.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
    let needed = |key: &str| {
        text(key)
            .filter(|text| !text.trim().is_empty())
            .ok_or_else(|| format!("`{key}` is missing, or is no text"))
    };
    match hook.get("type").and_then(Value::as_str) {
        Some("command") if text("shell").as_deref() == Some("powershell") => {
            Ok(Action::Unable("becket runs no PowerShell".into()))
        }
        Some("command") => Ok(Action::Command(command(hook, needed("command")?)?)),
        Some("prompt" | "agent") if WITHOUT_MODELS.contains(&event) => Err(format!(
            "no model can be asked at {event}, so the hook never runs"
        )),
        Some("agent") if event == "PermissionRequest" => {
            Err(format!("no agent is asked at {event}, so the hook never runs"))
        }
        Some(kind @ ("prompt" | "agent")) => Ok(Action::Prompt {
            prompt: needed("prompt")?,
            model: text("model"),
            goes_on: (kind == "prompt" && hook.get("continueOnBlock") == Some(&Value::Bool(true)))
                || ["Stop", "SubagentStop"].contains(&event),
            reads_files: kind == "agent",
        }),
        Some("mcp_tool") => Ok(Action::ServerTool {
            server: needed("server")?,
            tool: needed("tool")?,
            input: match hook.get("input") {
                None | Some(Value::Null) => Map::new(),
                Some(Value::Object(input)) => input.clone(),
                Some(other) => return Err(format!("`input` must be an object, not {other}")),
            },
        }),
        Some("http") if ["SessionStart", "Setup"].contains(&event) => {
            Err(format!("no address is asked at {event}, so the hook never runs"))
        }
        Some("http") => Ok(Action::Http {
            url: needed("url")?,
            headers: texts(hook.get("headers")),
            variables: hook
                .get("allowedEnvVars")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(ToOwned::to_owned)
                .collect(),
        }),
        Some(other) => Err(format!("there is no type `{other}` of hooks")),
        None => Err("`type` is missing; it is `command`, `prompt`, `agent`, `http` or `mcp_tool`".into()),
    }
}

/// The command of a hook: a line for the shell, or a program with its arguments.
fn command(hook: &Map<String, Value>, command: String) -> Result<CommandLine, String> {
    match hook.get("args") {
        None | Some(Value::Null) => Ok(CommandLine::Shell(command)),
        Some(Value::Array(args)) => {
            let args = args.iter().map(|arg| {
                let arg = arg
                    .as_str()
                    .ok_or_else(|| format!("`args` must be texts, and {arg} is none"));
                arg.map(ToOwned::to_owned)
            });
            let words = std::iter::once(Ok(command)).chain(args);
            Ok(CommandLine::Exec(words.collect::<Result<_, String>>()?))
        }
        Some(other) => Err(format!("`args` must be a list of texts, not {other}")),
    }
}

fn texts(map: Option<&Value>) -> BTreeMap<String, String> {
    let map = map.and_then(Value::as_object).into_iter().flatten();
    let texts = map.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    texts.collect()
}

/// How long a hook may take.
fn timeout(hook: &Map<String, Value>, event: &str) -> Result<Duration, String> {
    let given = match hook.get("timeout") {
        None | Some(Value::Null) => None,
        Some(seconds) => {
            let seconds = seconds
                .as_f64()
                .filter(|seconds| *seconds > 0.0 && *seconds < 2_600_000.0);
            let seconds = seconds.ok_or("`timeout` must be a number of seconds, more than 0")?;
            Some(Duration::from_secs_f64(seconds))
        }
    };
    let usual = match (event, hook.get("type").and_then(Value::as_str)) {
        ("SessionEnd", _) => USUAL_AT_THE_END,
        ("UserPromptSubmit", _) | (_, Some("prompt")) => USUAL_OF_PROMPTS,
        (_, Some("agent")) => USUAL_OF_AGENTS,
        _ => USUAL,
    };
    Ok(match (event, given) {
        ("SessionEnd", Some(given)) => given.min(MOST_AT_THE_END),
        (_, given) => given.unwrap_or(usual),
    })
}

/// The variable in which hooks of a plugin find an option.
pub fn option_variable(key: &str) -> String {
    let plain = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_uppercase(),
        false => '_',
    };
    format!(
        "CLAUDE_PLUGIN_OPTION_{}",
        key.chars().map(plain).collect::<String>()
    )
}
