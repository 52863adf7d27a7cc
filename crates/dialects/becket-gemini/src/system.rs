//! Gemini CLI as a system that keeps hooks in JSON files.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use becket_events::Scope;
use becket_hook_files::{
    Facts, FileHost, HookEntry, Input, LeastTime, NameMatcher, Owner, Source, System, without_comments,
};
use becket_system::moments;
use chrono::SecondsFormat;

use crate::bridge::BRIDGE;
use crate::calls;
use crate::dialect::DIALECT;
use crate::hear::hear;
use crate::read::read;
use crate::rows::rows;
use crate::rules::rules;
use crate::show;
use crate::sources::{MANIFEST, is_file, sources};

/// A hook with less time was probably meant to have as many seconds.
const LEAST_TIME: LeastTime = LeastTime {
    time: Duration::from_millis(100),
    why: "`timeout` counts milliseconds, not seconds",
};

/// Gemini CLI.
pub static SYSTEM: System = System {
    dialect: DIALECT,
    title: "Gemini CLI",
    profile: || &calls::PROFILE,
    show_call: |call, source, scope| {
        (
            calls::name(call, source).into_owned(),
            show::shown_arguments(scope, call),
        )
    },
    folders: &[".gemini"],
    sources,
    missing: |_| Vec::new(),
    read_text: None,
    servers: |_| Vec::new(),
    is_file,
    manifest: Some(MANIFEST),
    json: without_comments,
    read,
    joins_folders: true,
    settle: |_, _| {},
    rules,
    rows,
    matcher,
    shell: |_| Some(vec!["bash".to_owned(), "-c".to_owned()]),
    former_names: &[],
    other_tools: |_| OTHER_TOOLS,
    directory: |_, _| None,
    path_of_project: "$GEMINI_PROJECT_DIR/PATH",
    least_time: Some(LEAST_TIME),
    variables,
    env_file: None,
    run_variables,
    shows_request: SHOWS_REQUEST,
    input,
    errors_refuse: true,
    leaves: None,
    hear,
    bridge: &BRIDGE,
};

/// Finds Gemini CLI's hooks.
pub static HOST: FileHost = FileHost(&SYSTEM);

/// The meaning of a matcher: everything, or an expression that may be found anywhere in a name.
pub fn matcher(text: &str) -> Result<NameMatcher, String> {
    match text {
        "" | "*" => Ok(NameMatcher::All),
        _ => NameMatcher::found_by_javascript(text),
    }
}

/// Variables by which commands name files.
pub fn variables(source: &Source, facts: &Facts) -> BTreeMap<String, String> {
    let text = |path: &Path| path.display().to_string();
    let folder = match source.owner {
        Owner::Project => source.file.parent().and_then(Path::parent),
        Owner::Machine | Owner::User => None,
    };
    let project = text(folder.unwrap_or(&facts.project_root));
    let mut variables = BTreeMap::from([
        ("GEMINI_PROJECT_DIR".to_owned(), project.clone()),
        ("CLAUDE_PROJECT_DIR".to_owned(), project.clone()),
        ("GEMINI_PLANS_DIR".to_owned(), text(&facts.files.join("plans"))),
    ]);
    if let Some(extension) = &source.plugin {
        variables.insert("extensionPath".into(), text(extension));
        variables.insert("workspacePath".into(), project);
    }
    variables
}

fn run_variables(_: &HookEntry, scope: &Scope, _: &Facts) -> Vec<(String, String)> {
    [
        ("GEMINI_CWD", scope.cwd.as_str()),
        ("GEMINI_SESSION_ID", scope.session_id.as_str()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// Events between a request and its answer.
const SHOWS_REQUEST: &[&str] = &["BeforeToolSelection", "AfterModel"];

/// The members that every input has.
pub fn input(event: &'static str, scope: &Scope, facts: &Facts) -> Input {
    // A sub-agent's hooks see the session of the user.
    let session = scope.parent_session_id.as_ref().unwrap_or(&scope.session_id);
    Input::default()
        .with("session_id", session.as_str())
        .with("transcript_path", facts.transcript(session).display().to_string())
        .with("cwd", scope.cwd.as_str())
        .with("hook_event_name", event)
        .with(
            "timestamp",
            moments::now().to_rfc3339_opts(SecondsFormat::Millis, true),
        )
        .with_some(
            "llm_request",
            SHOWS_REQUEST
                .contains(&event)
                .then(|| show::request(scope, &facts.requests.of(&scope.session_id))),
        )
}

/// Names of tools that becket does not have, or has under other names.
const OTHER_TOOLS: &[&str] = &[
    "activate_skill",
    "ask_user",
    "enter_plan_mode",
    "exit_plan_mode",
    "get_internal_docs",
    "google_web_search",
    "invoke_agent",
    "read_many_files",
    "save_memory",
    "search_file_content",
    "write_todos",
];
