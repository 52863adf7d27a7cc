//! Codex as a system that keeps hooks in files.

use std::collections::BTreeMap;
use std::path::Path;

use becket_events::{PermissionMode, Scope};
use becket_hook_files::{Facts, FileHost, HookEntry, Input, NameMatcher, RuleLists, Source, System};

use crate::bridge::BRIDGE;
use crate::calls;
use crate::dialect::DIALECT;
use crate::hear::hear;
use crate::read::read;
use crate::rows::{NOTIFY, rows};
use crate::sources::{is_file, missing, servers, sources};

/// Codex.
pub static SYSTEM: System = System {
    dialect: DIALECT,
    title: "Codex",
    profile: || &calls::PROFILE,
    show_call: |call, source, _| (calls::name(call, source).into_owned(), calls::arguments(call)),
    folders: &[".codex"],
    sources,
    missing,
    read_text: None,
    servers,
    is_file,
    manifest: Some(".codex-plugin/plugin.json"),
    json: |text| text.into(),
    read,
    joins_folders: false,
    settle: |_, _| {},
    rules: |_, _, _| Ok(RuleLists::default()),
    rows,
    matcher,
    shell,
    former_names: &[],
    other_tools: |_| OTHER_TOOLS,
    directory: |_, _| None,
    path_of_project: "\"$(git rev-parse --show-toplevel)\"/PATH",
    least_time: None,
    variables,
    env_file: None,
    run_variables,
    shows_request: &[],
    input,
    errors_refuse: false,
    leaves: None,
    hear,
    bridge: &BRIDGE,
};

/// Finds Codex's hooks.
pub static HOST: FileHost = FileHost(&SYSTEM);

/// Names by which matchers may choose a tool, each with the tool's own name.
const ALIASES: &[(&str, &str)] = &[
    ("Write", "apply_patch"),
    ("Edit", "apply_patch"),
    ("Agent", "spawn_agent"),
];

/// The meaning of a matcher: everything, a list of names, or an expression that may be found anywhere in a name.
pub fn matcher(text: &str) -> Result<NameMatcher, String> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_|".contains(character);
    let mut own = Vec::new();
    let mut add = |name: &str| {
        if !own.iter().any(|known| known == name) {
            own.push(name.to_owned());
        }
    };
    match text {
        "" | "*" => Ok(NameMatcher::All),
        _ if text.chars().all(is_plain) => {
            for name in text.split('|') {
                add(name);
                let aliases = ALIASES.iter().filter(|(alias, _)| *alias == name);
                aliases.for_each(|(_, tool)| add(tool));
            }
            Ok(NameMatcher::Names(own))
        }
        _ => {
            let expression = NameMatcher::found(text)?;
            let aliases = ALIASES.iter().filter(|(alias, _)| expression.matches(alias));
            aliases.for_each(|(_, tool)| add(tool));
            if own.is_empty() {
                return Ok(expression);
            }
            let tools = own.iter().map(|tool| format!("|^{tool}$"));
            NameMatcher::found(&format!("(?:{text}){}", tools.collect::<String>()))
        }
    }
}

/// The user's shell, as a login shell.
fn shell(facts: &Facts) -> Option<Vec<String>> {
    let shell = facts.user_shell.clone().filter(|shell| !shell.is_empty());
    Some(vec![shell.unwrap_or_else(|| "/bin/sh".into()), "-lc".into()])
}

/// Variables by which commands of plugins name files.
fn variables(source: &Source, facts: &Facts) -> BTreeMap<String, String> {
    let Some(root) = &source.plugin else {
        return BTreeMap::new();
    };
    let text = |path: &Path| path.display().to_string();
    // The folder's own name is that of a version; the one above it is the plugin's.
    let name = root.parent().and_then(Path::file_name).unwrap_or_default();
    let data = facts.files.join("plugins").join(name);
    [
        ("PLUGIN_ROOT", text(root)),
        ("PLUGIN_DATA", text(&data)),
        ("CLAUDE_PLUGIN_ROOT", text(root)),
        ("CLAUDE_PLUGIN_DATA", text(&data)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn run_variables(_: &HookEntry, _: &Scope, _: &Facts) -> Vec<(String, String)> {
    Vec::new()
}

/// Events outside of a turn.
const WITHOUT_TURNS: &[&str] = &["SessionStart", "SessionEnd"];

/// Events that do not say which permissions count.
const WITHOUT_MODES: &[&str] = &["SessionEnd", "PreCompact", "PostCompact"];

/// A permission mode in Codex's words.
fn mode_word(mode: Option<PermissionMode>) -> &'static str {
    match mode.unwrap_or_default() {
        PermissionMode::Ask => "default",
        PermissionMode::AcceptEdits => "acceptEdits",
        PermissionMode::Plan => "plan",
        PermissionMode::Yes => "bypassPermissions",
    }
}

/// The id of a turn.
fn turn_id(scope: &Scope) -> String {
    format!("{}:{}", scope.session_id, scope.turn)
}

/// The members that every input has.
fn input(event: &'static str, scope: &Scope, facts: &Facts) -> Input {
    if event == NOTIFY {
        return Input::default()
            .with("type", "agent-turn-complete")
            .with("thread-id", scope.session_id.as_str())
            .with("turn-id", turn_id(scope))
            .with("cwd", scope.cwd.as_str());
    }
    let is_subagent = scope.parent_session_id.is_some();
    // A sub-agent's hooks see the session of the user.
    let session = scope.parent_session_id.as_ref().unwrap_or(&scope.session_id);
    let path = |session: &str| facts.transcript(session).display().to_string();
    let turn = (!WITHOUT_TURNS.contains(&event)).then(|| turn_id(scope));
    let own_path = (event == "SubagentStop").then(|| path(&scope.session_id));
    Input::default()
        .with("session_id", session.as_str())
        .with_some("turn_id", turn)
        .with_some("agent_id", is_subagent.then_some(scope.session_id.as_str()))
        .with_some("agent_type", is_subagent.then_some(scope.agent_name.as_str()))
        .with("transcript_path", path(session))
        .with_some("agent_transcript_path", own_path)
        .with("cwd", scope.cwd.as_str())
        .with("hook_event_name", event)
        .with_some("model", (event != "SessionEnd").then_some(scope.model.as_str()))
        .with_some(
            "permission_mode",
            (!WITHOUT_MODES.contains(&event)).then(|| mode_word(scope.permission_mode)),
        )
}

/// Names of tools that becket does not have, or has under other names.
const OTHER_TOOLS: &[&str] = &[
    "Agent",
    "Edit",
    "Write",
    "apply_patch",
    "exec",
    "list_mcp_resources",
    "read_mcp_resource",
    "request_user_input",
    "spawn_agent",
    "update_plan",
    "view_image",
    "wait_agent",
    "web_search",
];
