//! Copilot as a system that keeps hooks in JSON files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use becket_events::Scope;
use becket_hook_files::{
    Facts, FileHost, HookEntry, Input, NameMatcher, Owner, RuleLists, Source, System, without_comments,
};
use chrono::{DateTime, SecondsFormat};
use serde_json::Value;

use crate::bridge::BRIDGE;
use crate::calls;
use crate::dialect::DIALECT;
use crate::hear::hear;
use crate::naming::{is_pascal, member};
use crate::read::read;
use crate::rows::rows;
use crate::sources::{is_file, sources};

/// Copilot.
pub static SYSTEM: System = System {
    dialect: DIALECT,
    title: "GitHub Copilot",
    profile: || &calls::PROFILE,
    show_call: |call, source, _| {
        (
            calls::name::<false>(call, source).into_owned(),
            calls::arguments(call),
        )
    },
    folders: &[".github"],
    sources,
    missing: |_| Vec::new(),
    read_text: None,
    servers: |_| Vec::new(),
    is_file,
    manifest: None,
    json: without_comments,
    read,
    joins_folders: false,
    settle: |_, _| {},
    rules: |_, _, _| Ok(RuleLists::default()),
    rows,
    matcher,
    shell: |_| Some(vec!["bash".into(), "-c".into()]),
    former_names: &[],
    other_tools,
    directory,
    path_of_project: "PATH",
    least_time: None,
    variables,
    env_file: None,
    run_variables,
    shows_request: &[],
    input,
    errors_refuse: true,
    leaves: None,
    hear,
    bridge: &BRIDGE,
};

/// Finds Copilot's hooks.
pub static HOST: FileHost = FileHost(&SYSTEM);

/// The meaning of a matcher: an expression for a whole name.
pub fn matcher(text: &str) -> Result<NameMatcher, String> {
    NameMatcher::whole(text)
}

/// The directory that a hook's file names, below the root of the project if it is relative. A project's hook runs in
/// that root if its file names none.
pub fn directory(entry: &HookEntry, facts: &Facts) -> Option<PathBuf> {
    let written: Value = serde_json::from_str(&entry.written).unwrap_or_default();
    let named = written.get("hook").and_then(|hook| hook.get("cwd")?.as_str());
    match (named.unwrap_or_default(), entry.source.owner) {
        ("", Owner::Project) => Some(facts.project_root.clone()),
        ("", _) => None,
        (named, _) => Some(facts.project_root.join(named)),
    }
}

/// Variables by which commands name files.
fn variables(source: &Source, facts: &Facts) -> BTreeMap<String, String> {
    let text = |path: &Path| path.display().to_string();
    let mut variables = BTreeMap::from([("CLAUDE_PROJECT_DIR".to_owned(), text(&facts.project_root))]);
    if let Some(root) = &source.plugin {
        for name in ["PLUGIN_ROOT", "COPILOT_PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT"] {
            variables.insert(name.into(), text(root));
        }
        let name = root.file_name().unwrap_or_default();
        let data = facts.files.join("plugins").join(name);
        variables.insert("CLAUDE_PLUGIN_DATA".into(), text(&data));
    }
    variables
}

fn run_variables(_: &HookEntry, _: &Scope, _: &Facts) -> Vec<(String, String)> {
    vec![("COPILOT_CLI".into(), "1".into())]
}

/// Events that say where the conversation can be read.
const WITH_TRANSCRIPT: &[&str] = &[
    "agentStop",
    "Stop",
    "subagentStart",
    "subagentStop",
    "SubagentStop",
    "preCompact",
    "PreCompact",
];

/// The members that every input has.
fn input(event: &'static str, scope: &Scope, facts: &Facts) -> Input {
    let pascal = is_pascal(event);
    let is_notification = event == "notification";
    // A sub-agent's hooks see the session of the user.
    let session = scope.parent_session_id.as_ref().unwrap_or(&scope.session_id);
    let transcript = || facts.transcript(session).display().to_string();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let milliseconds = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let input = Input::default()
        .with_some("hook_event_name", (pascal || is_notification).then_some(event))
        .with(&member("sessionId", pascal), session.as_str())
        .with("cwd", scope.cwd.as_str())
        .with_some(
            &member("transcriptPath", pascal),
            WITH_TRANSCRIPT.contains(&event).then(transcript),
        );
    match pascal {
        true => {
            let time = DateTime::from_timestamp_millis(milliseconds.cast_signed()).unwrap_or_default();
            input.with("timestamp", time.to_rfc3339_opts(SecondsFormat::Millis, true))
        }
        false => input.with("timestamp", milliseconds),
    }
}

/// Names of tools that becket does not have, or has under other names.
const OTHER_TOOLS: &[&str] = &[
    "apply_patch",
    "ask_user",
    "powershell",
    "report_intent",
    "rg",
    "str_replace_editor",
    "task",
    "update_todo",
    "web_search",
];

/// The names by which events in the other spelling know tools.
const CLAUDE_TOOLS: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "Read",
    "Task",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// The names of tools at an event. One whose name begins with a capital letter knows those of another system too.
fn other_tools(event: &str) -> &'static [&'static str] {
    match event.starts_with(|letter: char| letter.is_uppercase()) {
        true => CLAUDE_TOOLS,
        false => OTHER_TOOLS,
    }
}
