//! How a plugin is called: its variables, and when it gets the terminal.
//!
//! Variables of other kinds of call are removed. A plugin looks at them to find out why it is called, and becket may
//! have been started by a plugin itself.

use std::path::Path;
use std::time::Duration;

use becket_events::Face;
use becket_hooks::{CommandLane, Limits, Program, TerminalInput};
use serde_json::json;

use super::generations::profile_of;
use super::home::HOME_VARIABLE;
use super::plugin::{Generation, HostFacts, Plugin, TerminalNeed};

/// The variable with the root of the project.
const PROJECT_ROOT: &str = "CHIBI_PROJECT_ROOT";

/// The variable with the context of the call.
pub(super) const CONTEXT: &str = "CHIBI_CONTEXT";

/// The variable with the hook that a plugin is called for.
pub(super) const HOOK: &str = "CHIBI_HOOK";

/// The variable with the older generation's copy of a hook's data.
pub(super) const HOOK_DATA: &str = "CHIBI_HOOK_DATA";

/// The variable with the tool that a plugin is called as.
const TOOL_NAME: &str = "CHIBI_TOOL_NAME";

/// The variable with the older generation's copy of a tool's arguments.
const TOOL_ARGUMENTS: &str = "CHIBI_TOOL_ARGS";

/// The variable that makes an older plugin verbose.
const VERBOSE: &str = "CHIBI_VERBOSE";

/// Variables that tell a plugin about one call. No other program gets them.
pub const CALL_VARIABLES: &[&str] = &[HOOK, HOOK_DATA, TOOL_NAME, TOOL_ARGUMENTS, CONTEXT, VERBOSE];

/// How many bytes a tool may answer; an output that is too long for the model is cached later.
const TOOL_OUTPUT: usize = 16 * 1024 * 1024;

/// How long a plugin may take that asks the user something.
const ASKING_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The longest environment variable that the system accepts, with its name, the `=` and the final zero byte.
pub(super) const LONGEST_VARIABLE: usize = 128 * 1024;

/// The purpose of a plugin's call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// The plugin describes itself.
    Schema,
    /// The plugin runs a tool.
    Tool(TerminalNeed),
    /// The plugin runs a hook that is no guard.
    Hook,
    /// The plugin runs a guard.
    Guard(TerminalNeed),
}

/// The lane that runs a plugin's program for a kind of call.
pub fn lane(program: &Path, host: &HostFacts, call: Call) -> CommandLane {
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

/// The source of standard input for a call that has the terminal; `None` for one that has not.
fn terminal_input(call: Call) -> Option<TerminalInput> {
    match call {
        Call::Tool(TerminalNeed::Reads) => Some(TerminalInput::Typed),
        Call::Tool(TerminalNeed::Opens) | Call::Guard(TerminalNeed::Opens) => Some(TerminalInput::Told),
        _ => None,
    }
}

/// The timeout of a call with this default: longer if the user is to answer.
pub fn timeout_of(host: &HostFacts, call: Call, usual: Duration) -> Duration {
    match (terminal_input(call), &host.terminal) {
        (Some(_), Some(_)) => usual.max(ASKING_TIMEOUT),
        _ => usual,
    }
}

/// The standard input of a plugin that is called as a tool. It is empty for a plugin that asks the user there, because
/// the plugin would take its arguments for an answer when there is no terminal.
pub fn input_for_tool(plugin: &Plugin, arguments: String) -> String {
    match plugin.terminal {
        TerminalNeed::Reads => String::new(),
        _ => arguments,
    }
}

/// Whether the system accepts the variable.
pub(super) fn fits_variable(name: &str, value: &str) -> bool {
    name.len() + value.len() + 2 <= LONGEST_VARIABLE
}

/// The variables of one call of a tool.
pub fn tool_variables(
    plugin: &Plugin,
    host: &HostFacts,
    tool: &str,
    context: &str,
    arguments: &str,
) -> Vec<(String, String)> {
    let mut variables = vec![
        (TOOL_NAME.to_owned(), tool.to_owned()),
        (CONTEXT.to_owned(), context.to_owned()),
    ];
    // Newer plugins ignore this variable, and an older plugin that was not recognised finds its arguments.
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

/// The arguments of a tool that reads a language, for one file.
pub fn language_arguments(path: &str, content: &str) -> String {
    json!({"files": [{"path": path, "content": content}]}).to_string()
}

/// becket's own tool that chibi, in either generation, knows by that name.
pub fn builtin_face(name: &str) -> Option<Face> {
    let generations = [Generation::Newer, Generation::Older];
    let mut profiles = generations.into_iter().map(profile_of);
    profiles.find_map(|profile| profile.face_named(name).cloned())
}
