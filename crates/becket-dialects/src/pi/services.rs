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
    /// Ends such a run.
    "abort_shell" => AbortShell -> () {
        /// The run.
        run: u32,
    }
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
    /// What it threw.
    pub error: Option<String>,
}

/// Something that an argument can be.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
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
