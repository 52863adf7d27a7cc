//! Claude Code as a system that keeps hooks in JSON files.

use std::collections::BTreeMap;
use std::path::Path;

use becket_events::{PermissionMode, Scope};
use becket_hook_files::{EnvFile, Facts, FileHost, HookEntry, Input, NameMatcher, Owner, Source, System};

use crate::bridge::BRIDGE;
use crate::calls;
use crate::dialect::DIALECT;
use crate::hear::{hear, leaves};
use crate::read::{option_variable, read, settle};
use crate::rows::rows;
use crate::rules::rules;
use crate::show;
use crate::sources::{MANIFEST, is_file, missing, servers, sources};
use crate::texts::{SKILL_FILE, read_text};
use crate::tools::{FORMER, OTHER_TOOLS};

/// Claude Code.
pub static SYSTEM: System = System {
    dialect: DIALECT,
    title: "Claude Code",
    profile: || &calls::PROFILE,
    show_call: |call, source, scope| {
        (
            calls::name(call, source).into_owned(),
            show::shown_arguments(scope, call),
        )
    },
    folders: &[".claude"],
    sources,
    missing,
    read_text: Some(read_text),
    servers,
    is_file,
    manifest: Some(MANIFEST),
    json: |text| text.into(),
    read,
    joins_folders: true,
    settle,
    rules,
    rows,
    matcher,
    shell: |_| None,
    former_names: FORMER,
    other_tools: |_| OTHER_TOOLS,
    directory: |_, _| None,
    path_of_project: "\"$CLAUDE_PROJECT_DIR\"/PATH",
    least_time: None,
    variables,
    run_variables,
    env_file: Some(ENV_FILE),
    shows_request: &[],
    input,
    errors_refuse: false,
    leaves: Some(leaves),
    hear,
    bridge: &BRIDGE,
};

/// Finds Claude Code's hooks.
pub static HOST: FileHost = FileHost(&SYSTEM);

/// Hooks at the beginning of a session may set variables for later commands.
const ENV_FILE: EnvFile = EnvFile {
    variable: "CLAUDE_ENV_FILE",
    events: &["SessionStart", "Setup"],
};

/// The meaning of a matcher: everything, a list of names, or an expression that may be found anywhere in a name.
fn matcher(text: &str) -> Result<NameMatcher, String> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_|, -".contains(character);
    match text {
        "" | "*" => Ok(NameMatcher::All),
        _ if text.chars().all(is_plain) => Ok(NameMatcher::names(text, &['|', ','])),
        _ => NameMatcher::found_by_javascript(text),
    }
}

/// The folder whose `.claude` holds a file. Claude Code reads a subfolder's file when it was started there, and then
/// that folder is the project.
fn project_of(source: &Source) -> Option<&Path> {
    let mut above = source.file.ancestors();
    let own = above.find(|folder| folder.ends_with(".claude"))?;
    own.parent().filter(|_| source.owner == Owner::Project)
}

/// Variables by which commands name files.
fn variables(source: &Source, facts: &Facts) -> BTreeMap<String, String> {
    let text = |path: &Path| path.display().to_string();
    let project = project_of(source).unwrap_or(&facts.project_root);
    let mut variables = BTreeMap::from([("CLAUDE_PROJECT_DIR".to_owned(), text(project))]);
    if source.plugin.is_none() && source.file.ends_with(SKILL_FILE) {
        let folder = source.file.parent().unwrap_or(&source.file);
        for name in ["CLAUDE_PLUGIN_ROOT", "CLAUDE_SKILL_DIR"] {
            variables.insert(name.into(), text(folder));
        }
    }
    if let Some(root) = &source.plugin {
        variables.insert("CLAUDE_PLUGIN_ROOT".into(), text(root));
        // A plugin's folder may be named after its version.
        let names: Vec<String> = root
            .iter()
            .rev()
            .take(2)
            .map(|name| name.display().to_string())
            .collect();
        let data = facts.files.join("plugins").join(names.join("-"));
        variables.insert("CLAUDE_PLUGIN_DATA".into(), text(&data));
        let options = root.options.iter();
        variables.extend(options.filter_map(|(key, value)| Some((option_variable(key), value.clone()?))));
    }
    variables
}

fn run_variables(_: &HookEntry, scope: &Scope, facts: &Facts) -> Vec<(String, String)> {
    let attended = if facts.is_attended { "1" } else { "0" };
    let process = std::process::id().to_string();
    [
        ("CLAUDE_PID", &*process),
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_CHILD_SESSION", "1"),
        ("CLAUDE_CODE_SESSION_ATTENDED", attended),
        ("CLAUDE_CODE_SESSION_ID", &scope.session_id),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// A permission mode in Claude Code's words.
fn mode_word(mode: Option<PermissionMode>) -> &'static str {
    match mode.unwrap_or_default() {
        PermissionMode::Ask => "default",
        PermissionMode::AcceptEdits => "acceptEdits",
        PermissionMode::Plan => "plan",
        PermissionMode::Yes => "bypassPermissions",
    }
}

/// The members that every input has.
fn input(event: &'static str, scope: &Scope, facts: &Facts) -> Input {
    let is_subagent = scope.parent_session_id.is_some();
    // A sub-agent's hooks see the session of the user.
    let session = scope.parent_session_id.as_ref().unwrap_or(&scope.session_id);
    Input::default()
        .with("session_id", session.as_str())
        .with("transcript_path", facts.transcript(session).display().to_string())
        .with("cwd", scope.cwd.as_str())
        .with("permission_mode", mode_word(scope.permission_mode))
        .with("hook_event_name", event)
        .with_some("prompt_id", facts.prompts.of(session))
        .with_some(
            "agent_transcript_path",
            (event == "SubagentStop").then(|| facts.transcript(&scope.session_id).display().to_string()),
        )
        .with_some("agent_id", is_subagent.then_some(scope.session_id.as_str()))
        .with_some("agent_type", is_subagent.then_some(scope.agent_name.as_str()))
}
