//! How a plugin is called: which variables it finds, and when it has the terminal.
//!
//! Variables of the other kinds of call are taken away. A plugin looks at them to find out what it is called for, and
//! becket may have been started by a plugin itself.

use std::path::Path;
use std::time::Duration;

use becket_events::Face;
use becket_hooks::{CommandLane, Limits, Program, TerminalInput};
use serde_json::json;

use super::generations::profile_of;
use super::home::HOME_VARIABLE;
use super::hooks::fits_variable;
use super::plugin::{Generation, Host, Plugin, TerminalNeed};

/// The root of the project.
const PROJECT_ROOT: &str = "CHIBI_PROJECT_ROOT";

/// The context that the call is made in.
pub(super) const CONTEXT: &str = "CHIBI_CONTEXT";

/// The hook that a plugin is called for.
pub(super) const HOOK: &str = "CHIBI_HOOK";

/// The older generation's copy of a hook's data.
pub(super) const HOOK_DATA: &str = "CHIBI_HOOK_DATA";

/// The tool that a plugin is called as.
const TOOL_NAME: &str = "CHIBI_TOOL_NAME";

/// The older generation's copy of a tool's arguments.
const TOOL_ARGUMENTS: &str = "CHIBI_TOOL_ARGS";

/// Whether an older plugin may be talkative.
const VERBOSE: &str = "CHIBI_VERBOSE";

/// Variables that tell a plugin about one call. Nobody else is to find them.
pub const CALL_VARIABLES: &[&str] = &[HOOK, HOOK_DATA, TOOL_NAME, TOOL_ARGUMENTS, CONTEXT, VERBOSE];

/// How much a tool may answer; what is too much for the model is put aside later.
const TOOL_OUTPUT: usize = 16 * 1024 * 1024;

/// How long a plugin may take that asks the person something.
const PERSONS_PATIENCE: Duration = Duration::from_secs(10 * 60);

/// What a plugin is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// To say what it is.
    Schema,
    /// To do something.
    Tool(TerminalNeed),
    /// To hear about something.
    Hook,
    /// To say whether something may happen.
    Guard(TerminalNeed),
}

/// How a plugin's program is run for a kind of call.
pub fn lane(program: &Path, host: &Host, call: Call) -> CommandLane {
    let words = match call {
        Call::Schema => vec![program.into(), "--schema".into()],
        _ => vec![program.as_os_str().to_owned()],
    };
    let mut program = Program::exec(words)
        .environment(host.environment.clone())
        .variable(HOME_VARIABLE, &host.chibi_home)
        .variable(PROJECT_ROOT, &host.project_root);
    for name in CALL_VARIABLES {
        program = program.without_variable(name);
    }
    let lane = CommandLane::new(program).timeout_setting(match call {
        Call::Schema => "chibi.schema_timeout",
        Call::Tool(_) => "chibi.tool_timeout",
        Call::Hook | Call::Guard(_) => "chibi.hook_timeout",
    });
    let lane = match call {
        Call::Tool(_) => lane.limits(Limits {
            output: TOOL_OUTPUT,
            ..Limits::default()
        }),
        _ => lane,
    };
    match (terminal_input(call), &host.terminal) {
        (Some(input), Some(terminal)) => lane.terminal(terminal.clone(), input),
        _ => lane,
    }
}

/// What stands on standard input of a call that has the terminal; `None` for one that has not.
fn terminal_input(call: Call) -> Option<TerminalInput> {
    match call {
        Call::Tool(TerminalNeed::Reads) => Some(TerminalInput::Typed),
        Call::Tool(TerminalNeed::Opens) | Call::Guard(TerminalNeed::Opens) => Some(TerminalInput::Told),
        _ => None,
    }
}

/// How long a call may take that may usually take so long: longer where the person is to answer.
pub fn patience(host: &Host, call: Call, usual: Duration) -> Duration {
    match (terminal_input(call), &host.terminal) {
        (Some(_), Some(_)) => usual.max(PERSONS_PATIENCE),
        _ => usual,
    }
}

/// What a plugin reads when it is called as a tool. One that asks on standard input must not take its arguments for an
/// answer, so it finds nothing there when there is no terminal.
pub fn input_for_tool(plugin: &Plugin, arguments: String) -> String {
    match plugin.terminal {
        TerminalNeed::Reads => String::new(),
        _ => arguments,
    }
}

/// The variables of one call of a tool.
pub fn tool_variables(
    plugin: &Plugin,
    host: &Host,
    tool: &str,
    context: &str,
    arguments: &str,
) -> Vec<(String, String)> {
    let mut variables = vec![
        (TOOL_NAME.to_owned(), tool.to_owned()),
        (CONTEXT.to_owned(), context.to_owned()),
    ];
    // Newer plugins do not mind, and one that hides its age finds what it looks for.
    if fits_variable(TOOL_ARGUMENTS, arguments) {
        variables.push((TOOL_ARGUMENTS.to_owned(), arguments.to_owned()));
    }
    if plugin.generation == Generation::Older && host.verbose {
        variables.push((VERBOSE.to_owned(), "1".to_owned()));
    }
    variables
}

/// The language whose files a plugin's tool reads for the code index; `None` for a tool that does something else.
pub fn language_of_tool(name: &str) -> Option<&str> {
    name.strip_prefix("lang_").filter(|language| !language.is_empty())
}

/// What such a tool is told about a file.
pub fn language_arguments(path: &str, content: &str) -> String {
    json!({"files": [{"path": path, "content": content}]}).to_string()
}

/// The tool of becket's own that a name means in chibi's words, of either generation.
pub fn builtin_face(name: &str) -> Option<Face> {
    let generations = [Generation::Newer, Generation::Older];
    let mut profiles = generations.into_iter().map(profile_of);
    profiles.find_map(|profile| profile.face_named(name).cloned())
}
