//! Cursor as a system that keeps hooks in JSON files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use becket_events::Scope;
use becket_hook_files::{
    Facts, FileHost, HookEntry, Input, NameMatcher, Owner, Source, System, without_comments,
};
use serde_json::{Value, json};

use crate::bridge::BRIDGE;
use crate::calls;
use crate::dialect::DIALECT;
use crate::hear::hear;
use crate::read::read;
use crate::rows::rows;
use crate::rules::rules;
use crate::sources::{MANIFEST, is_file, missing, sources};

/// The version of Cursor whose protocol this is.
const VERSION: &str = "2026.07.01";

/// Cursor.
pub static SYSTEM: System = System {
    dialect: DIALECT,
    title: "Cursor",
    profile: || &calls::PROFILE,
    show_call: |call, source, scope| {
        (
            calls::name(call, source).into_owned(),
            calls::arguments(call, scope),
        )
    },
    folders: &[".cursor"],
    sources,
    missing,
    read_text: None,
    servers: |_| Vec::new(),
    is_file,
    manifest: Some(MANIFEST),
    json: without_comments,
    read,
    joins_folders: false,
    settle: |_, _| {},
    rules,
    rows,
    matcher,
    shell,
    former_names: &[],
    other_tools: |_| OTHER_TOOLS,
    directory: |entry, _| directory(&entry.source),
    path_of_project: "PATH",
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

/// Finds Cursor's hooks.
pub static HOST: FileHost = FileHost(&SYSTEM);

/// The meaning of a matcher: everything, or an expression that may be found anywhere in a name or a command. One that
/// names a former tool for edits means `Write`.
pub fn matcher(text: &str) -> Result<NameMatcher, String> {
    if ["", "*"].contains(&text) {
        return Ok(NameMatcher::All);
    }
    let found = NameMatcher::found_by_javascript(text)?;
    let former = ["Edit", "StrReplace"];
    match former.iter().any(|name| found.matches(name)) && !found.matches("Write") {
        true => NameMatcher::found_by_javascript(&format!("(?:{text})|^Write$")),
        false => Ok(found),
    }
}

/// The user's shell.
fn shell(facts: &Facts) -> Option<Vec<String>> {
    let shell = facts.user_shell.clone().filter(|shell| !shell.is_empty())?;
    Some(vec![shell, "-c".to_owned()])
}

/// The directory in which a hook runs: the folder of the project, of the plugin, or of the file.
pub fn directory(source: &Source) -> Option<PathBuf> {
    let folder = source.file.parent();
    match (&source.plugin, source.owner) {
        (Some(plugin), _) => Some(plugin.root.clone()),
        (None, Owner::Project) => folder.and_then(Path::parent).map(Path::to_path_buf),
        (None, Owner::Machine | Owner::User) => folder.map(Path::to_path_buf),
    }
}

/// Variables by which commands name files.
pub fn variables(source: &Source, facts: &Facts) -> BTreeMap<String, String> {
    let project = match source.owner {
        Owner::Project => directory(source),
        Owner::Machine | Owner::User => None,
    };
    let project = project.as_ref().unwrap_or(&facts.project_root);
    let project = project.display().to_string();
    let mut variables = BTreeMap::from([
        ("CURSOR_PROJECT_DIR".to_owned(), project.clone()),
        ("CLAUDE_PROJECT_DIR".to_owned(), project),
        ("CURSOR_VERSION".to_owned(), VERSION.to_owned()),
    ]);
    if let Some(plugin) = &source.plugin {
        variables.insert("CURSOR_PLUGIN_ROOT".into(), plugin.display().to_string());
    }
    variables
}

fn run_variables(_: &HookEntry, scope: &Scope, facts: &Facts) -> Vec<(String, String)> {
    let transcript = facts.transcript(session(scope)).display().to_string();
    vec![("CURSOR_TRANSCRIPT_PATH".to_owned(), transcript)]
}

/// The session of the user, also for a sub-agent.
fn session(scope: &Scope) -> &str {
    scope.parent_session_id.as_ref().unwrap_or(&scope.session_id)
}

/// The members that every input has.
pub fn input(event: &'static str, scope: &Scope, facts: &Facts) -> Input {
    let session = session(scope);
    Input::default()
        .with("conversation_id", session)
        .with("generation_id", format!("{session}-{}", scope.turn))
        .with("model", scope.model.as_str())
        .with("session_id", session)
        .with("hook_event_name", event)
        .with("cursor_version", VERSION)
        .with("workspace_roots", json!([facts.project_root]))
        .with("user_email", Value::Null)
        .with("transcript_path", facts.transcript(session).display().to_string())
        .with_some(
            "agent_transcript_path",
            (event == "subagentStop").then(|| facts.transcript(&scope.session_id).display().to_string()),
        )
}

/// Names of tools that becket does not have, or has under other names.
const OTHER_TOOLS: &[&str] = &[
    "ComputerUse",
    "Delete",
    "Edit",
    "FetchMcpResource",
    "ListMcpResources",
    "ReadLints",
    "RecordScreen",
    "StrReplace",
    "Task",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "WriteShellStdin",
];
