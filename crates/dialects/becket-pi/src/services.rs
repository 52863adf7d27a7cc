//! The services of the prelude: functions that the program calls by name, with JSON in and out.
//!
//! Each service is a type that knows its name and the type of its answer. The program writes
//! `serde_json::to_string(&service)`, calls `S::NAME` with that, and reads `S::Answer` from the result (`null` if there
//! is none).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::host_call::ToolResult;

/// A function of the prelude.
pub trait Service: Serialize {
    /// The name by which the service is called.
    const NAME: &'static str;
    /// The type of the answer.
    type Answer: DeserializeOwned;

    /// Parses the answer.
    fn read(answer: Option<&str>) -> Result<Self::Answer, String> {
        serde_json::from_str(answer.unwrap_or("null"))
            .map_err(|error| format!("{} answered something unexpected: {error}", Self::NAME))
    }
}

macro_rules! services {
    ($(
        $(#[$about:meta])*
        $name:literal => $service:ident -> $answer:ty {
            $($(#[$field_about:meta])* $field:ident: $type:ty,)*
        }
    )*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, PartialEq, Serialize)]
            #[serde(rename_all = "camelCase")]
            pub struct $service {
                $($(#[$field_about])* pub $field: $type,)*
            }

            impl Service for $service {
                const NAME: &'static str = $name;
                type Answer = $answer;
            }
        )*

        /// The names of all services.
        pub const SERVICES: &[&str] = &[$($name),*];
    };
}

services! {
    /// Begins the session, before `session_start`: from now on the extension may act.
    "bind" => Bind -> () {}
    /// Ends the session, after `session_shutdown`: objects of the session that the extension still holds refuse from
    /// now on.
    "end" => End -> () {}
    /// Converts arguments of older shapes into the present one. Answers at once (the future is ready when it is first
    /// polled), so that it can be asked before the call is judged.
    "prepare_arguments" => PrepareArguments -> Prepared {
        /// The tool's name.
        tool: String,
        /// The arguments that the model wrote.
        arguments: Value,
    }
    /// Runs a tool.
    "execute_tool" => ExecuteTool -> ToolResult {
        /// The tool's name.
        tool: String,
        /// The id of the call, which `HostCall::ToolUpdate` repeats with partial results.
        call_id: String,
        /// The arguments that were judged.
        arguments: Map<String, Value>,
    }
    /// Tells a running tool that its result is no longer needed.
    "abort_tool" => AbortTool -> () {
        /// The id of the call.
        call_id: String,
    }
    /// Runs a command.
    "run_command" => RunCommand -> Ran {
        /// The command's name, without its slash.
        name: String,
        /// The text after the command's name.
        arguments: String,
    }
    /// Runs a function that sets up a new conversation, for a command that has asked for one
    /// (`HostCallAsync::NewSession`).
    "set_up" => SetUp -> WasSetUp {
        /// The function's number.
        id: u32,
        /// The conversation, as far as it is known before it begins.
        session: ComingSession,
    }
    /// Completes the argument of a command.
    "complete_argument" => CompleteArgument -> Option<Vec<Completion>> {
        /// The command's name.
        name: String,
        /// The argument so far.
        prefix: String,
    }
    /// Runs the action of a shortcut.
    "run_shortcut" => RunShortcut -> Ran {
        /// The key, as it was registered.
        key: String,
    }
    /// Delivers an event of another extension.
    "bus_event" => BusEvent -> () {
        /// The channel's name.
        channel: String,
        /// The event's data.
        data: Value,
    }
    /// Asks a model of a provider that streams by itself. Parts of the answer come by `HostCall::ProviderEvent`.
    "provider_stream" => ProviderStream -> Streamed {
        /// The number of the stream.
        stream: u32,
        /// The provider's name.
        provider: String,
        /// The model in pi's form.
        model: Value,
        /// pi's `{systemPrompt, messages, tools}`.
        context: Value,
        /// pi's options that are data: `apiKey`, `maxTokens`, `temperature`, `reasoning`, `sessionId`, `headers`.
        options: Map<String, Value>,
    }
    /// Aborts a stream of a provider.
    "abort_stream" => AbortStream -> () {
        /// The number of the stream.
        stream: u32,
    }
    /// Runs a shell command by a function that an answer of `user_bash` held (`{"$function": n}`). Output comes by
    /// `HostCall::ShellOutput`.
    "run_shell" => RunShell -> ShellEnd {
        /// The number of the run.
        run: u32,
        /// The function's number.
        function: u32,
        /// The command line.
        command: String,
        /// The directory in which the command runs.
        cwd: String,
        /// How many seconds the command may take.
        timeout: Option<f64>,
        /// The environment of the command, if it is not that of the program.
        env: Option<Map<String, Value>>,
    }
    /// Draws a component on the screen, for a new width or because it has gained or lost the focus.
    "render_component" => RenderComponent -> Option<Vec<String>> {
        /// The component's number.
        id: u64,
        /// How many columns the component has.
        width: usize,
        /// Whether the component has the focus.
        focused: bool,
        /// Whether the keyboard uses the kitty protocol.
        kitty: bool,
    }
    /// Asks an overlay that decides about its visibility whether it is visible in a terminal of another size.
    "overlay_visible" => OverlayVisible -> bool {
        /// The number of the overlay's component.
        id: u64,
        /// How many columns the terminal has.
        columns: usize,
        /// How many rows the terminal has.
        rows: usize,
    }
    /// Sends a key to a component. Answers with its lines, if it still exists.
    "component_key" => ComponentKey -> Option<Vec<String>> {
        /// The component's number.
        id: u64,
        /// The bytes that the terminal sent.
        data: String,
    }
    /// Offers a key before the focused component gets it. Answers with the part that was not consumed.
    "terminal_input" => TerminalInput -> Option<String> {
        /// The bytes that the terminal sent.
        data: String,
    }
    /// Completes the text that the user types.
    "suggest" => Suggest -> Option<Suggestions> {
        /// The whole text.
        text: String,
        /// The text before the cursor.
        before: String,
        /// Whether the user asked for completions, or only typed.
        forced: bool,
    }
    /// Draws a message of the extension.
    "render_message" => RenderMessage -> Option<Vec<String>> {
        /// The message in pi's form.
        message: Value,
        /// How many columns there are.
        width: usize,
        /// Whether the user wants to see everything.
        expanded: bool,
    }
    /// Draws a call of one of the extension's tools.
    "render_call" => RenderCall -> Option<Vec<String>> {
        /// The tool's name.
        tool: String,
        /// The arguments.
        args: Value,
        /// How many columns there are.
        width: usize,
        /// Whether the user wants to see everything.
        expanded: bool,
    }
    /// Draws a result of one of the extension's tools.
    "render_result" => RenderResult -> Option<Vec<String>> {
        /// The tool's name.
        tool: String,
        /// The arguments.
        args: Value,
        /// The result: `content` and `details`.
        result: Value,
        /// Whether the tool failed.
        is_error: bool,
        /// How many columns there are.
        width: usize,
        /// Whether the user wants to see everything.
        expanded: bool,
    }
    /// Decides who draws a tool, as far as this extension has a say. Extensions are asked from the last to the first,
    /// and each sees the decision of the later ones.
    "resolve_renderers" => ResolveRenderers -> Resolved {
        /// The tool's name.
        tool: String,
        /// Whether another extension or becket draws the tool.
        others: bool,
    }
    /// Changes a text that is about to be shown, in Markdown. Answers with the text that is shown instead.
    "transform_markdown" => TransformMarkdown -> String {
        /// The text.
        markdown: String,
        /// The author of the text: `user`, `assistant` or `assistant-thinking`.
        message_type: &'static str,
        /// Whether more of the text may come.
        is_streaming: bool,
        /// How many columns there are.
        width: usize,
    }
    /// Sets the text of an editor by which the extension has replaced the usual one.
    "set_editor_text" => SetEditorText -> () {
        /// The text.
        text: String,
        /// Whether the text is inserted at the cursor instead of replacing all.
        paste: bool,
    }
    /// Aborts a shell command that an extension runs.
    "abort_shell" => AbortShell -> () {
        /// The number of the run.
        run: u32,
    }
}

/// The decision about who draws a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Resolved {
    /// Who draws the tool's calls.
    pub call: Drawer,
    /// Who draws the tool's results.
    pub result: Drawer,
}

/// The one that draws something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drawer {
    /// The extension that was asked.
    Own,
    /// The extension, or becket, that would draw without the asked one.
    Others,
    /// Nothing is drawn.
    Nobody,
}

/// The arguments after their tool has prepared them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepared {
    /// The arguments in the present shape.
    Arguments(Value),
    /// The reason why the tool could not read the arguments.
    Failed(String),
}

/// The end of a command or a shortcut.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Ran {
    /// The error that was thrown, and its place.
    pub error: Option<String>,
    /// The error's message alone.
    #[serde(default)]
    pub message: Option<String>,
}

/// A session that is about to begin.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComingSession {
    /// The directory in which the agent will work.
    pub cwd: String,
    /// The folder of the session's file.
    pub session_dir: String,
    /// The session's id.
    pub session_id: String,
    /// The session's file, if it is stored.
    pub session_file: Option<String>,
    /// The first line of the session's file.
    pub header: Value,
}

/// The beginning of a session.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WasSetUp {
    /// The session's entries, in pi's form.
    pub entries: Vec<Value>,
    /// The id of the current entry.
    #[serde(default)]
    pub leaf_id: Option<String>,
    /// The error that the function threw.
    #[serde(default)]
    pub error: Option<String>,
}

/// Completions of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestions {
    /// The end of the text before the cursor, which a completion replaces.
    pub prefix: String,
    /// The completions.
    pub items: Vec<Completion>,
}

/// A completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The text that is inserted.
    pub value: String,
    /// The text that is shown.
    pub label: String,
    /// A short description.
    pub description: Option<String>,
}

/// The end of a stream.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Streamed {
    /// pi's assistant message. If the stream failed, `stopReason` is `error` or `aborted` and `errorMessage` says why.
    pub message: Value,
}

/// The end of a shell command that an extension ran.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellEnd {
    /// The exit code; `None` if the command was aborted.
    pub exit_code: Option<i32>,
    /// The error that the function threw.
    pub error: Option<String>,
    /// Output that the function returned at its end.
    pub output: Option<String>,
}
