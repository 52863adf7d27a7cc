//! What the prelude offers to the program: functions that are called by name, with JSON in and out.
//!
//! Each is a type that knows its name and what it answers. The program writes `serde_json::to_string(&service)`, calls
//! `S::NAME` with that, and reads `S::Answer` of what comes back (`null` where it says nothing).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::host_call::ToolResult;

/// A function of the prelude.
pub trait Service: Serialize {
    /// The name by which it is called.
    const NAME: &'static str;
    /// What it answers.
    type Answer: DeserializeOwned;

    /// Reads what it answered.
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
    /// The session has begun, before `session_start`: from now on the extension may act.
    "bind" => Bind -> () {}
    /// The session is over, after `session_shutdown`: whatever the extension still holds of it refuses from now on.
    "end" => End -> () {}
    /// Brings arguments of older shapes into the present one. Answers at once (the future is ready when it is first
    /// polled), so that it can be asked before anybody judges the call.
    "prepare_arguments" => PrepareArguments -> Prepared {
        /// The tool.
        tool: String,
        /// What the model wrote.
        arguments: Value,
    }
    /// Runs a tool.
    "execute_tool" => ExecuteTool -> ToolResult {
        /// The tool.
        tool: String,
        /// Identifies the call; parts come with it by `HostCall::ToolUpdate`.
        call_id: String,
        /// The arguments that were judged.
        arguments: Map<String, Value>,
    }
    /// Tells a running tool that nobody wants its result any more.
    "abort_tool" => AbortTool -> () {
        /// The call.
        call_id: String,
    }
    /// Runs a command.
    "run_command" => RunCommand -> Ran {
        /// The command, without its slash.
        name: String,
        /// What was typed after it.
        arguments: String,
    }
    /// Lets a function set up a new conversation, which its command has asked for (`HostCallAsync::NewSession`).
    "set_up" => SetUp -> WasSetUp {
        /// The function.
        id: u32,
        /// The conversation, as far as it is known before it begins.
        session: ComingSession,
    }
    /// Completes the argument of a command.
    "complete_argument" => CompleteArgument -> Option<Vec<Completion>> {
        /// The command.
        name: String,
        /// What is there so far.
        prefix: String,
    }
    /// Runs what belongs to a key.
    "run_shortcut" => RunShortcut -> Ran {
        /// The key, as it was registered.
        key: String,
    }
    /// Another extension has emitted something.
    "bus_event" => BusEvent -> () {
        /// The channel.
        channel: String,
        /// What it was.
        data: Value,
    }
    /// Asks a model of a provider that streams by itself. Parts come by `HostCall::ProviderEvent`.
    "provider_stream" => ProviderStream -> Streamed {
        /// Identifies the stream.
        stream: u32,
        /// The provider.
        provider: String,
        /// The model in pi's shape.
        model: Value,
        /// pi's `{systemPrompt, messages, tools}`.
        context: Value,
        /// pi's options that are data: `apiKey`, `maxTokens`, `temperature`, `reasoning`, `sessionId`, `headers`.
        options: Map<String, Value>,
    }
    /// Ends such a stream.
    "abort_stream" => AbortStream -> () {
        /// The stream.
        stream: u32,
    }
    /// Runs a command line by a function that an answer of `user_bash` held (`{"$function": n}`). Parts come by
    /// `HostCall::ShellOutput`.
    "run_shell" => RunShell -> ShellEnd {
        /// Identifies the run.
        run: u32,
        /// The function.
        function: u32,
        /// The command line.
        command: String,
        /// Where it runs.
        cwd: String,
        /// Seconds that it may take.
        timeout: Option<f64>,
        /// Its environment, if it is not that of the program.
        env: Option<Map<String, Value>>,
    }
    /// The lines of a component on the screen, for a new width or because it has the keys now, or not any more.
    "render_component" => RenderComponent -> Option<Vec<String>> {
        /// The component.
        id: u64,
        /// How many columns it has.
        width: usize,
        /// Whether it has the keys.
        focused: bool,
        /// Whether the keyboard speaks the kitty protocol.
        kitty: bool,
    }
    /// Whether an overlay that decides this itself is seen in a terminal of another size.
    "overlay_visible" => OverlayVisible -> bool {
        /// The component in it.
        id: u64,
        /// How many columns the terminal has.
        columns: usize,
        /// How many rows.
        rows: usize,
    }
    /// A component is given a key. Answers with its lines, if it is still there.
    "component_key" => ComponentKey -> Option<Vec<String>> {
        /// The component.
        id: u64,
        /// What the terminal sent.
        data: String,
    }
    /// A key, before whoever has the focus gets it. Answers with what is left of it.
    "terminal_input" => TerminalInput -> Option<String> {
        /// What the terminal sent.
        data: String,
    }
    /// What could be meant by what the person types.
    "suggest" => Suggest -> Option<Suggestions> {
        /// The whole text.
        text: String,
        /// What stands before the cursor.
        before: String,
        /// Whether the person asked for it, or only typed.
        forced: bool,
    }
    /// The lines of a message of the extension's own.
    "render_message" => RenderMessage -> Option<Vec<String>> {
        /// The message in pi's shape.
        message: Value,
        /// How many columns there are.
        width: usize,
        /// Whether the person wants to see everything.
        expanded: bool,
    }
    /// The lines of a call of one of its tools.
    "render_call" => RenderCall -> Option<Vec<String>> {
        /// The tool.
        tool: String,
        /// The arguments.
        args: Value,
        /// How many columns there are.
        width: usize,
        /// Whether the person wants to see everything.
        expanded: bool,
    }
    /// The lines of what one of its tools gave.
    "render_result" => RenderResult -> Option<Vec<String>> {
        /// The tool.
        tool: String,
        /// The arguments.
        args: Value,
        /// What it gave: `content` and `details`.
        result: Value,
        /// Whether it failed.
        is_error: bool,
        /// How many columns there are.
        width: usize,
        /// Whether the person wants to see everything.
        expanded: bool,
    }
    /// Who draws a tool, as far as this extension has a say. It is asked from the last extension to the first, each is
    /// told what the later ones have said.
    "resolve_renderers" => ResolveRenderers -> Resolved {
        /// The tool.
        tool: String,
        /// Whether somebody else draws it.
        others: bool,
    }
    /// A text that is about to be shown, in Markdown. Answers with what is shown in its place.
    "transform_markdown" => TransformMarkdown -> String {
        /// The text.
        markdown: String,
        /// Whose text it is: `user`, `assistant` or `assistant-thinking`.
        message_type: &'static str,
        /// Whether more of it may come.
        is_streaming: bool,
        /// How many columns there are.
        width: usize,
    }
    /// The text of an editor that the extension has put in the place of the usual one.
    "set_editor_text" => SetEditorText -> () {
        /// The text.
        text: String,
        /// Whether it stands where the cursor is, and not in place of all.
        paste: bool,
    }
    /// Ends such a run.
    "abort_shell" => AbortShell -> () {
        /// The run.
        run: u32,
    }
}

/// Who draws a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Resolved {
    /// Who draws its calls.
    pub call: Drawer,
    /// Who draws what it gives.
    pub result: Drawer,
}

/// Who draws something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drawer {
    /// The extension that was asked.
    Own,
    /// Whoever would do it without it.
    Others,
    /// Nobody.
    Nobody,
}

/// Arguments after their tool has seen them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepared {
    /// In the present shape.
    Arguments(Value),
    /// The tool could not read them, for this reason.
    Failed(String),
}

/// How a command or a key ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Ran {
    /// What it threw, and where.
    pub error: Option<String>,
    /// The message of that alone.
    #[serde(default)]
    pub message: Option<String>,
}

/// A session that is about to begin.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComingSession {
    /// The directory in which the agent will work.
    pub cwd: String,
    /// The folder of its file.
    pub session_dir: String,
    /// Its id.
    pub session_id: String,
    /// Its file, if it is kept.
    pub session_file: Option<String>,
    /// The first line of that.
    pub header: Value,
}

/// What a session is to begin with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WasSetUp {
    /// Its entries, in pi's shape.
    pub entries: Vec<Value>,
    /// Where it stands.
    #[serde(default)]
    pub leaf_id: Option<String>,
    /// What the function threw.
    #[serde(default)]
    pub error: Option<String>,
}

/// What could be meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestions {
    /// The end of the text before the cursor that one of them replaces.
    pub prefix: String,
    /// What could be meant.
    pub items: Vec<Completion>,
}

/// Something that an argument can be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// What is written.
    pub value: String,
    /// What is shown.
    pub label: String,
    /// A few words about it.
    pub description: Option<String>,
}

/// How a stream ended.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Streamed {
    /// pi's assistant message. Where it failed, `stopReason` is `error` or `aborted` and `errorMessage` says why.
    pub message: Value,
}

/// How a command line ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellEnd {
    /// Its exit code; `None` if it was ended.
    pub exit_code: Option<i32>,
    /// What the function threw.
    pub error: Option<String>,
    /// Output that the function gave at its end.
    pub output: Option<String>,
}
