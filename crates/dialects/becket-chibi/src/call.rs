//! How a plugin is called: its variables, and when it gets the terminal.
//!
//! Variables of other kinds of call are removed. A plugin looks at them to find out why it is called, and becket may
//! have been started by a plugin itself.

use std::path::Path;
use std::time::Duration;

use becket_events::Face;
use becket_hooks::{
    Cause, CommandLane, Failure, Finished, Invocation, Lane, LaneKind, Limits, Program, TerminalInput,
};
use futures_util::future::BoxFuture;
use serde_json::json;
use tempfile::NamedTempFile;

use super::generations::profile_of;
use super::home::HOME_VARIABLE;
use super::plugin::{Generation, HostFacts, LongData, Plugin, TerminalNeed};

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

/// The variable with the path of a file that holds a hook's data, if they are too long for a variable.
pub(super) const HOOK_DATA_FILE: &str = "CHIBI_HOOK_DATA_FILE";

/// The variable with the path of a file that holds a tool's arguments, if they are too long for a variable.
pub(super) const TOOL_ARGUMENTS_FILE: &str = "CHIBI_TOOL_ARGS_FILE";

/// The variable that makes an older plugin verbose.
const VERBOSE: &str = "CHIBI_VERBOSE";

/// Variables that tell a plugin about one call. No other program gets them.
pub const CALL_VARIABLES: &[&str] = &[
    HOOK,
    HOOK_DATA,
    HOOK_DATA_FILE,
    TOOL_NAME,
    TOOL_ARGUMENTS,
    TOOL_ARGUMENTS_FILE,
    CONTEXT,
    VERBOSE,
];

/// How many bytes a tool may answer; an output that is too long for the model is cached later.
const TOOL_OUTPUT: usize = 16 * 1024 * 1024;

/// How long a plugin may take that asks the user something.
const ASKING_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The longest environment variable that the system accepts, with its name, the `=` and the final zero byte.
const LONGEST_VARIABLE: usize = 128 * 1024;

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
        Call::Tool(TerminalNeed::Reads) | Call::Guard(TerminalNeed::Reads) => Some(TerminalInput::Typed),
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

/// Whether the system accepts the variable.
fn fits_variable(name: &str, value: &str) -> bool {
    name.len() + value.len() + 2 <= LONGEST_VARIABLE
}

/// The lane of a plugin with what its generation needs if data are too long for a variable: a file with the data, or a
/// failure for a plugin that would find nothing.
pub fn plugin_lane(plugin: &Plugin, host: &HostFacts, call: Call) -> impl Lane + use<> {
    let LongData {
        reads_hook_file,
        reads_tool_file,
        reads_input,
    } = plugin.long;
    let is_tool = matches!(call, Call::Tool(_));
    let finds = match plugin.generation {
        Generation::Newer => Finds::OnInput,
        Generation::Older if is_tool && reads_tool_file => Finds::InFile(TOOL_ARGUMENTS_FILE),
        Generation::Older if is_tool && reads_input => Finds::OnInput,
        Generation::Older if !is_tool && reads_hook_file => Finds::InFile(HOOK_DATA_FILE),
        Generation::Older => Finds::Nowhere,
    };
    PluginLane {
        lane: lane(&plugin.path, host, call),
        finds,
        asks_on_input: terminal_input(call) == Some(TerminalInput::Typed),
    }
}

/// Where a plugin finds data that are too long for a variable.
#[derive(Debug, Clone, Copy)]
enum Finds {
    OnInput,
    /// In a file that this variable names.
    InFile(&'static str),
    Nowhere,
}

/// Runs a plugin, with long data where the plugin finds them.
struct PluginLane {
    lane: CommandLane,
    finds: Finds,
    /// Whether the plugin asks the user something on standard input. Then it finds nothing else there, because it would
    /// take its data for an answer when there is no terminal.
    asks_on_input: bool,
}

impl PluginLane {
    async fn run_once(&self, mut invocation: Invocation) -> Result<Finished, Failure> {
        if self.asks_on_input {
            invocation.input = "".into();
        }
        let is_long = |(name, value): &mut (String, String)| !fits_variable(name, value);
        let long: Vec<(String, String)> = invocation.environment.extract_if(.., is_long).collect();
        // A file lives until the plugin has ended.
        let mut files = Vec::new();
        for (name, data) in long {
            match self.finds {
                Finds::OnInput => {}
                Finds::Nowhere => return Err(too_long(&name, data.len())),
                Finds::InFile(variable) => {
                    let file = file_with(&data).map_err(|error| {
                        Failure::new(Cause::SpawnFailed, format!("its data cannot be written: {error}"))
                    })?;
                    let path = file.path().display().to_string();
                    invocation.environment.push((variable.to_owned(), path));
                    files.push(file);
                }
            }
        }
        self.lane.run(invocation).await
    }
}

impl Lane for PluginLane {
    fn kind(&self) -> LaneKind {
        self.lane.kind()
    }

    fn run<'a>(&'a self, invocation: Invocation) -> BoxFuture<'a, Result<Finished, Failure>> {
        Box::pin(self.run_once(invocation))
    }
}

/// A file with these data that only the user can read.
fn file_with(data: &str) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_prefix("becket-chibi-")?;
    std::io::Write::write_all(&mut file, data.as_bytes())?;
    Ok(file)
}

/// The failure of a plugin that finds its data in a variable only. It is not started: a guard would find nothing wrong
/// in empty data.
fn too_long(variable: &str, bytes: usize) -> Failure {
    let detail = format!(
        "its data have {bytes} bytes, too many for the variable {variable}, and it does not read the file that \
         {variable}_FILE names; if the plugin reads standard input, list it under `newer` in `[chibi]`"
    );
    Failure::new(Cause::SpawnFailed, detail)
}

/// The variables of one call of a tool.
pub fn tool_variables(
    plugin: &Plugin,
    host: &HostFacts,
    tool: &str,
    context: &str,
    arguments: &str,
) -> Vec<(String, String)> {
    // Newer plugins ignore the arguments here, and an older plugin that was not recognised finds them.
    let mut variables = vec![
        (TOOL_NAME.to_owned(), tool.to_owned()),
        (CONTEXT.to_owned(), context.to_owned()),
        (TOOL_ARGUMENTS.to_owned(), arguments.to_owned()),
    ];
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
