//! The host calls: everything that pi's API in an extension can ask of the program.
//!
//! The prelude (`js/prelude.ts`) is pi's API in TypeScript, over two host functions: a synchronous one (`HostCall`) and
//! an asynchronous one (`HostCallAsync`). Both are called under one name, [`HOST_CALL`], with one value: the variant
//! with its fields, `{"get_flag": {"name": …}}`, or its bare name if it has none, `"is_idle"`. The line after each
//! variant describes its answer; without one the answer is `null`. Messages, entries, models and content are in pi's
//! JSON forms.
//!
//! Calls before there is a session, and after it is over, are refused by the prelude itself (services `Bind` and
//! `End`); the program does not see them.

use std::collections::BTreeMap;

use becket_events::Schema;
pub use becket_host::{Delivery, Dialog, DialogAnswer, EditorNews, Level, Placement, Shown};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The name under which the prelude calls the host.
pub const HOST_CALL: &str = "pi";

/// The synchronous calls. The extension is blocked until the answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum HostCall {
    /// The extension's identity and its environment. Called once, before its factory.
    /// Answer: [`About`].
    About,
    /// Registers a function for an event. The function is called as a `ScriptHandler` by its number. May also be called
    /// after loading. An unknown event is a remark, not an error.
    On {
        /// pi's name of the event.
        event: String,
        /// The number under which the engine keeps the function.
        handler: u32,
    },
    /// Removes a function from its event.
    Off {
        /// The number of the function.
        handler: u32,
    },
    /// Registers a tool for the model; one with the same name of the same extension is replaced. May also be called
    /// after loading: then the tool is active at once.
    RegisterTool(ToolDefinition),
    /// Registers a command for the user: `/name arguments`. It is run by the service `RunCommand`.
    RegisterCommand {
        /// The name that is typed after the slash.
        name: String,
        /// The command's description, in one line.
        description: Option<String>,
        /// Whether the command completes its argument (service `CompleteArgument`).
        completes: bool,
    },
    /// Registers a key for the user. Its action is run by the service `RunShortcut`.
    RegisterShortcut {
        /// The key in pi's notation, such as `ctrl+shift+p`.
        key: String,
        /// The action's description, in one line.
        description: Option<String>,
    },
    /// Registers a renderer for messages of a kind (service `RenderMessage`).
    RegisterRenderer {
        /// The kind of the messages.
        custom_type: String,
    },
    /// Registers the extension for deciding who draws tools (service `ResolveRenderers`).
    ResolveRenderers,
    /// Registers the extension for changing texts before they are shown (service `TransformMarkdown`).
    TransformMarkdown,
    /// Registers an option for the command line.
    RegisterFlag(FlagDefinition),
    /// The value of one of this extension's options.
    /// Answer: a boolean or a string; its default; `null` for one that it has not registered.
    GetFlag {
        /// The option's name, without dashes.
        name: String,
    },
    /// Registers a provider of models, or another address for a known one. May also be called after loading.
    RegisterProvider(ProviderDefinition),
    /// Removes a provider; the one that it had replaced is back.
    UnregisterProvider {
        /// The provider's name.
        name: String,
    },
    /// Records an MCP server that the extension wants. becket does not connect to it; extensions that do can see it.
    RegisterMcpServer {
        /// The server's name.
        name: String,
        /// The server's configuration, as in pi's `mcp.json`.
        config: Value,
    },
    /// Removes an MCP server of this extension.
    UnregisterMcpServer {
        /// The server's name.
        name: String,
    },
    /// Answer: a list of `{name, config, extensionPath}`, the MCP servers of all extensions.
    McpServers,
    /// Subscribes the extension to a channel of the bus: events of others come by the service `BusEvent`.
    BusListen {
        /// The channel's name.
        channel: String,
    },
    /// Sends an event to the other extensions on the bus; listeners in the same one have got it already.
    BusEmit {
        /// The channel's name.
        channel: String,
        /// The event's data.
        #[serde(default)]
        data: Value,
    },

    /// Sends a message of the extension to the model. With `nextTurn` it is kept for the next prompt. While the agent
    /// is running it is queued, as a follow-up or else to steer. Otherwise it begins a run if it triggers a turn, else
    /// it is only appended.
    SendMessage {
        /// The message.
        message: CustomMessage,
        /// Whether the model answers the message. If this is `false`, a message that is sent while the agent is running
        /// is not queued, but appended when the turn is over.
        trigger_turn: Option<bool>,
        /// When the model gets the message.
        deliver_as: Option<Delivery>,
    },
    /// Sends a message in the user's name. It always begins a run, or is queued while the agent is running; then a
    /// missing `deliver_as` is an error.
    SendUserMessage {
        /// A string, or pi's list of text and images.
        content: Value,
        /// When the model gets the message, if the agent is running.
        deliver_as: Option<Delivery>,
        /// Whether the message can call commands, skills and prompt templates.
        #[serde(default)]
        expand_prompt_templates: bool,
    },
    /// Adds an entry to the session that the model never sees.
    AppendEntry {
        /// The kind of the entry; a word of the extension.
        custom_type: String,
        /// The entry's data.
        data: Option<Value>,
    },
    /// Names the session.
    SetSessionName {
        /// The session's name.
        name: String,
    },
    /// Adds a label to an entry, or removes it. It is an error if there is no such entry.
    SetLabel {
        /// The id of the entry.
        entry_id: String,
        /// The label.
        label: Option<String>,
    },
    /// The tools that the model is offered.
    /// Answer: a list of names, as the model knows them.
    GetActiveTools,
    /// Sets the tools that the model is offered from the next request on. Unknown names are ignored.
    SetActiveTools {
        /// The names of the tools.
        names: Vec<String>,
    },
    /// All tools of the session.
    /// Answer: a list of [`ToolInfo`].
    GetAllTools,
    /// The commands of extensions, and everything else that can be typed after a slash.
    /// Answer: a list of [`CommandInfo`].
    GetCommands,
    /// The thinking level.
    /// Answer: `off`, `minimal`, `low`, `medium`, `high` or `xhigh`.
    GetThinkingLevel,
    /// The thinking levels that the model has.
    /// Answer: a list of names.
    ThinkingLevels,
    /// Sets the thinking level, as far as the model supports it.
    SetThinkingLevel {
        /// pi's name of the level.
        level: String,
    },

    /// Whether the agent is idle.
    /// Answer: a boolean.
    IsIdle,
    /// Whether messages are queued for the model.
    /// Answer: a boolean.
    HasPendingMessages,
    /// Aborts the agent's run.
    Abort,
    /// Ends the program when the agent is idle.
    Shutdown,
    /// How full the model's context window is.
    /// Answer: [`ContextUsage`]; `null` without a model.
    GetContextUsage,
    /// Answer: the system prompt as it stands.
    GetSystemPrompt,
    /// The parts of the system prompt.
    /// Answer: [`PromptOptions`].
    SystemPromptOptions,
    /// The conversation at the end of a turn.
    /// Answer: `{contextEntries, contextMessages, pendingMessages}`.
    BoundaryContext,
    /// Whether the project in the working directory is trusted.
    /// Answer: a boolean.
    IsProjectTrusted,

    /// Answer: [`SessionInfo`].
    Session,
    /// Answer: the first line of pi's session file, `{type: "session", version, id, timestamp, cwd, …}`; `null` for
    /// none.
    SessionHeader,
    /// Writes the session as one of pi's session files, now and after each run from now on.
    /// Answer: the path; `null` if nothing is stored.
    SessionFile,
    /// Answer: all entries on all branches without the header, in the order of their writing.
    SessionEntries,
    /// The branch of an entry.
    /// Answer: the entries from the root to it.
    SessionBranch {
        /// The id of the entry; default: the session's current one.
        from_id: Option<String>,
    },
    /// Answer: the entry, or `null`.
    SessionEntry {
        /// The id of the entry.
        id: String,
    },
    /// Answer: the label of an entry, or `null`.
    SessionLabel {
        /// The id of the entry.
        id: String,
    },
    /// The part of the session that the model sees.
    /// Answer: `{messages, thinkingLevel, model: {provider, modelId} | null}`.
    SessionContext,

    /// Answer: the model in use, in pi's shape; `null` for none.
    Model,
    /// The known models.
    /// Answer: a list of models in pi's shape.
    Models {
        /// Whether only models count that can be used: a key is configured, or none is needed.
        available: bool,
    },
    /// One model of a provider. becket has no list of a known provider's models, so it accepts every name.
    /// Answer: the model in pi's shape; `null` for none.
    FindModel {
        /// The provider's name.
        provider: String,
        /// The provider's id of the model; default: any.
        id: Option<String>,
        /// Whether the model must be usable.
        available: bool,
    },

    /// The available themes.
    /// Answer: a list of `{name, path?}`.
    Themes,
    /// Answer: the theme `{name, path?, colors}`; `null` if there is none with that name.
    Theme {
        /// The theme's name; default: the one that is used for drawing.
        name: Option<String>,
    },
    /// Uses a theme for drawing from now on.
    /// Answer: `{success, error?}`.
    SetTheme {
        /// The theme's name.
        name: String,
    },

    /// Shows something to the user. Without a user, or without a way to show it, the call has no effect.
    Show(Shown),
    /// Answer: the text that the user has typed so far.
    GetEditorText,
    /// Whether the user sees the whole output of tools.
    /// Answer: a boolean.
    GetToolsExpanded,

    /// Puts a component on the screen, where it stays until it is closed or replaced. Its lines are asked for by the
    /// service `RenderComponent`.
    PlaceComponent(Placed),
    /// Replaces the lines of a component.
    Draw {
        /// The component's number.
        id: u64,
        /// The component's lines.
        lines: Vec<String>,
    },
    /// Removes a component from the screen.
    CloseComponent {
        /// The component's number.
        id: u64,
    },
    /// Changes an overlay, or asks about it.
    /// Answer: a boolean.
    Overlay {
        /// The number of the overlay's component.
        id: u64,
        /// The change or the question.
        #[serde(rename = "wish")]
        action: OverlayAction,
    },
    /// Registers the extension for keys before the focused component gets them (service `TerminalInput`), or removes
    /// it.
    Intercept {
        /// Whether the extension is registered.
        on: bool,
    },
    /// Registers the extension for completing the text that the user types (service `Suggest`).
    RegisterCompleter,
    /// Prints lines for the user, unchanged.
    Print {
        /// The lines.
        lines: Vec<String>,
    },
    /// Reports an event of an editor by which the extension has replaced the usual one.
    Editor(EditorNews),
    /// Lends the terminal to the extension for another program, or takes it back.
    LendTerminal {
        /// Whether the terminal is lent from now on.
        lent: bool,
    },
    /// Answer: `{columns, rows}` of the screen; `null` if there is none.
    ScreenSize,
    /// Answer: a list of pairs, the keys and texts of the status lines.
    Statuses,
    /// Answer: the branch of the repository in which the agent works; `null` for none.
    GitBranch,

    /// Reports a partial result of a running tool (service `ExecuteTool`).
    ToolUpdate {
        /// The id of the call.
        call_id: String,
        /// The result so far.
        result: ToolResult,
    },
    /// Reports a part of a provider's stream (service `ProviderStream`): pi's event without `partial`, which repeats
    /// the earlier parts. `done` and `error` are not reported here, because they are the service's answer.
    ProviderEvent {
        /// The number of the stream.
        stream: u32,
        /// The event, `{type: "text_delta", contentIndex, delta}` or similar.
        event: Value,
    },
    /// Reports what a provider's stream (service `ProviderStream`) has received, before it is read.
    ProviderData {
        /// The number of the stream.
        stream: u32,
        /// What was received.
        data: Value,
    },
    /// Reports output of a shell command that an extension runs (service `RunShell`).
    ShellOutput {
        /// The number of the run.
        run: u32,
        /// The text.
        text: String,
    },
    /// Cancels an asynchronous call (`Exec`, `Dialog`, `ModelComplete`), whose answer is no longer needed.
    Cancel {
        /// The call's id.
        id: u32,
    },
    /// Whether the extension is written for pi under its newer name (`@earendil-works`), in which a tool may also say
    /// by its result that it failed.
    /// Answer: a boolean.
    IsForNewerPi,
    /// The line in which the extension's file exports its default, for an extension whose default is no factory.
    /// Answer: the line, or 1 if there is none.
    ExportLine,
    /// Reports a failure of the extension that no caller sees. It is shown and has no other effect.
    Report {
        /// The event that was handled, such as `send_user_message` or `event:CHANNEL`.
        event: String,
        /// The error's message, place and cause.
        error: String,
    },
}

/// The asynchronous calls. The extension gets a promise.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum HostCallAsync {
    /// Runs a program, without a shell. At its timeout, or when it is cancelled, it gets SIGTERM, and is killed 5 s
    /// later. May also be called while loading.
    /// Answer: [`ExecResult`]; a program that cannot be started is one with code 1.
    Exec {
        /// The id for `HostCall::Cancel`.
        id: u32,
        /// The executable.
        command: String,
        /// The program's arguments.
        #[serde(default)]
        args: Vec<String>,
        /// The directory in which the program runs; default: the session's directory.
        cwd: Option<String>,
        /// How many milliseconds the program may take; 0 or none for no limit.
        timeout: Option<f64>,
    },
    /// Asks the user.
    /// Answer: [`DialogAnswer`].
    Dialog {
        /// The id for `HostCall::Cancel`.
        id: u32,
        /// The question.
        dialog: Dialog,
        /// After how many milliseconds the dialog closes without an answer.
        timeout: Option<f64>,
    },
    /// Completions of the program, and of extensions before this one.
    /// Answer: `{prefix, items: [{value, label, description?}]}`; `null` if there is no screen.
    Complete {
        /// The whole text.
        text: String,
        /// The text before the cursor.
        before: String,
        /// Whether the user asked for completions, or only typed.
        forced: bool,
    },
    /// Puts a component on the screen until it is closed. Meanwhile no handler times out.
    /// Answer: nothing, when it is closed; at once if there is no screen.
    Component(Placed),
    /// Chooses a model for the session.
    /// Answer: whether it can be used; `false` if its key is not configured.
    SetModel {
        /// The model's provider.
        provider: String,
        /// The provider's id of the model.
        id: String,
    },
    /// Summarises the conversation.
    /// Answer: pi's `{summary, firstKeptEntryId, tokensBefore, details?}`; an error says why there is none.
    Compact {
        /// Instructions for the summary.
        custom_instructions: Option<String>,
    },
    /// Continues in a new conversation, as soon as the agent is idle. A run is aborted. Only commands and programs may
    /// call this and the next four.
    /// Answer: [`WentOn`]; an error says why it does not continue there.
    NewSession {
        /// The file of the conversation before the new one.
        parent_session: Option<String>,
        /// The function that sets up the conversation (service `SetUp`).
        setup: Option<u32>,
    },
    /// Continues in an earlier conversation, as soon as the agent is idle. A run is aborted.
    /// Answer: [`WentOn`].
    SwitchSession {
        /// The conversation's file, or the beginning of the id of one of its sessions.
        session_path: String,
    },
    /// Continues in a copy of the conversation up to an entry, as soon as the agent is idle. A run is aborted.
    /// Answer: [`WentOn`].
    Fork {
        /// The id of the entry.
        entry_id: String,
        /// Whether the copy ends before the entry, which must be a user message then, or with it.
        #[serde(default)]
        position: ForkPosition,
    },
    /// Continues from another entry, as soon as the agent is idle.
    /// Answer: [`WentOn`].
    NavigateTree {
        /// The id of the entry.
        target_id: String,
        /// Whether the abandoned branch is summarised.
        summarize: Option<bool>,
        /// Instructions for the summary.
        custom_instructions: Option<String>,
        /// Whether these instructions replace the usual ones.
        replace_instructions: Option<bool>,
        /// A label for the entry.
        label: Option<String>,
    },
    /// Loads extensions and resources again from their files, as soon as the agent is idle.
    /// Answer: [`WentOn`].
    Reload,
    /// Waits until the agent is idle.
    WaitForIdle,
    /// Waits until the agent's run is over.
    /// Answer: whether it was aborted.
    WaitForAbort,
    /// Lets hooks see and change the request that a provider's stream is about to send (service `ProviderStream`).
    /// Answer: the request to send.
    ProviderPayload {
        /// The number of the stream.
        stream: u32,
        /// The body in the provider's own form.
        payload: Value,
    },
    /// Reports the response to a provider's stream (service `ProviderStream`).
    ProviderResponse {
        /// The number of the stream.
        stream: u32,
        /// The HTTP status.
        status: u16,
        /// The headers.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    /// Calls a tool from within a call of one of the extension's tools, through the same hooks and the same gate.
    /// Answer: `{text, isError, durationMs}`; a call that fails or is refused is an answer as well.
    CallTool {
        /// The id for `HostCall::Cancel`.
        id: u32,
        /// The id of the call within which this one is made.
        call_id: String,
        /// The tool's name.
        tool: String,
        /// The arguments, in pi's words.
        arguments: Value,
    },
    /// Asks a model on behalf of the extension, outside of the session. The program adds the key.
    /// Answer: pi's assistant message; one with `stopReason: "error"` and `errorMessage` if the model failed.
    ModelComplete {
        /// The id for `HostCall::Cancel`.
        id: u32,
        /// The model in pi's form; `provider` and `id` identify it.
        model: Value,
        /// pi's `{systemPrompt?, messages, tools?}`.
        context: Value,
        /// pi's options that are data: `maxTokens`, `temperature`, `reasoning`.
        #[serde(default)]
        options: Map<String, Value>,
        /// The way to the model, if the extension names it; default: that of the model's provider.
        by: Option<DirectWay>,
    },
}

/// The way to a model that an extension names itself, for the address in the model's `baseUrl`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DirectWay {
    /// The interface under pi's name.
    pub api: String,
    /// The extension's own key, or the name of the variable that holds it.
    pub api_key: Option<String>,
    /// Headers for the request.
    #[serde(default)]
    pub headers: Option<BTreeMap<String, String>>,
}

/// The end of a copy of a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ForkPosition {
    /// Before the entry.
    #[default]
    Before,
    /// With the entry.
    At,
}

/// The result of a request to continue elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WentOn {
    /// Whether a hook or the user cancelled the move.
    pub cancelled: bool,
    /// The text of the user message at the chosen entry, for editing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl HostCall {
    /// Parses a call of the prelude.
    pub fn read(json: &str) -> Result<Self, String> {
        read(json)
    }
}

impl HostCallAsync {
    /// Parses a call of the prelude.
    pub fn read(json: &str) -> Result<Self, String> {
        read(json)
    }
}

fn read<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| format!("pi's API was used in a way it cannot be: {error}"))
}

/// An extension's identity and its environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// The extension's file, as the user wrote or knows it.
    pub path: String,
    /// The directory in which the agent works.
    pub cwd: String,
    /// The mode of the program.
    pub mode: Mode,
    /// Whether a user can answer dialogs.
    #[serde(rename = "hasUI")]
    pub has_ui: bool,
    /// How often the extension had been loaded again at this load.
    pub life: u64,
}

/// The mode of the program, under pi's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A user at a terminal.
    Tui,
    /// A program that uses pi's protocol.
    Rpc,
    /// A program that reads events.
    Json,
    /// A prompt and its answer, in text.
    Print,
}

impl Mode {
    /// Whether dialogs can be answered.
    pub fn has_ui(self) -> bool {
        matches!(self, Self::Tui | Self::Rpc)
    }
}

/// A tool that an extension brings. It is run by the service `ExecuteTool`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolDefinition {
    /// The tool's name for the model.
    pub name: String,
    /// The tool's name for the user.
    pub label: String,
    /// The tool's description for the model.
    pub description: String,
    /// The JSON Schema of the tool's arguments.
    pub parameters: Value,
    /// A line about the tool for the system prompt.
    pub prompt_snippet: Option<String>,
    /// Guidelines about the tool for the system prompt.
    #[serde(default)]
    pub prompt_guidelines: Vec<String>,
    /// Whether the tool's calls run one at a time, or in parallel with others.
    pub execution_mode: Option<ExecutionMode>,
    /// How the model reaches the tool.
    #[serde(default)]
    pub exposure: Exposure,
    /// Whether the tool is active as soon as it is registered; default: as its exposure says.
    pub default_active: Option<bool>,
    /// Whether arguments go through the service `PrepareArguments` before they are validated.
    #[serde(default)]
    pub prepares_arguments: bool,
    /// Whether the extension draws the tool's calls (service `RenderCall`).
    #[serde(default)]
    pub renders_call: bool,
    /// Whether the extension draws the tool's results (service `RenderResult`).
    #[serde(default)]
    pub renders_result: bool,
}

/// How the model reaches a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exposure {
    /// The model is offered the tool, and other tools can call it.
    #[default]
    Direct,
    /// The model is offered the tool, and other tools cannot call it.
    ModelOnly,
    /// Other tools can call it; the model is offered it only if somebody activates it.
    Codemode,
    /// Like `Codemode`, but not listed.
    Deferred,
    /// Nobody reaches the tool.
    Hidden,
}

impl ToolDefinition {
    /// Whether the model is offered the tool as soon as it is registered.
    pub fn is_active_at_first(&self) -> bool {
        let offered = matches!(self.exposure, Exposure::Direct | Exposure::ModelOnly);
        offered && self.default_active != Some(false)
    }
}

/// How calls of a tool run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    /// Calls run one at a time.
    Sequential,
    /// Calls run in parallel with others.
    Parallel,
}

/// The result of a tool, or a partial one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// pi's list of text and images, for the model.
    pub content: Vec<Value>,
    /// Data for hooks, renderers and the session; never for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the run ends after the call.
    #[serde(default)]
    pub terminate: bool,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
}

/// An option for the command line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FlagDefinition {
    /// The option's name, without dashes.
    pub name: String,
    /// The type of the option's value.
    #[serde(rename = "type")]
    pub kind: FlagKind,
    /// The option's default value.
    pub default: Option<FlagValue>,
    /// The option's description, in one line.
    pub description: Option<String>,
}

/// The type of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlagKind {
    /// No value: the option is given or not.
    Boolean,
    /// A text.
    String,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FlagValue {
    /// Whether the option was given.
    Boolean(bool),
    /// A text.
    String(String),
}

/// A provider of models that an extension brings.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderDefinition {
    /// The provider's name, as in `name/model`.
    pub name: String,
    /// The provider's name for the user.
    pub label: Option<String>,
    /// The provider's address.
    pub base_url: Option<String>,
    /// A key, or the name of the environment variable that holds it.
    pub api_key: Option<String>,
    /// The provider's interface under pi's name, such as `openai-completions` or `anthropic-messages`.
    pub api: Option<String>,
    /// Headers for every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Whether the key goes into an `Authorization` header.
    #[serde(default)]
    pub auth_header: bool,
    /// Whether the provider has a login, which becket does not do.
    #[serde(default)]
    pub oauth: bool,
    /// The provider's models; none if only the address of a known provider changes.
    pub models: Option<Vec<ModelDefinition>>,
    /// Whether requests go through the service `ProviderStream`.
    #[serde(default)]
    pub streams: bool,
}

/// A model of an extension's provider.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelDefinition {
    /// The provider's id of the model.
    pub id: String,
    /// The model's name for the user.
    pub name: Option<String>,
    /// The model's interface, if it differs from the provider's.
    pub api: Option<String>,
    /// The model's address, if it differs from the provider's.
    pub base_url: Option<String>,
    /// Whether the model thinks.
    #[serde(default)]
    pub reasoning: bool,
    /// The kinds of input that the model reads: `text`, `image`.
    #[serde(default)]
    pub input: Vec<String>,
    /// The price of a million tokens: `input`, `output`, `cacheRead`, `cacheWrite`.
    #[serde(default)]
    pub cost: Map<String, Value>,
    /// How many tokens the context window has.
    #[serde(default)]
    pub context_window: u64,
    /// How many tokens an answer can have.
    #[serde(default)]
    pub max_tokens: u64,
    /// Headers for the model's requests.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Other fields of the extension's definition; shown with the model.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A message of an extension.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CustomMessage {
    /// The kind of the message; a word of the extension.
    pub custom_type: String,
    /// A string, or pi's list of text and images.
    pub content: Value,
    /// Whether the user sees the message.
    #[serde(default)]
    pub display: bool,
    /// Data that the model does not see.
    pub details: Option<Value>,
}

/// A tool, as `getAllTools` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInfo {
    /// The tool's name for the model.
    pub name: String,
    /// The tool's description for the model.
    pub description: String,
    /// The JSON Schema of the tool's arguments.
    pub parameters: Schema,
    /// Guidelines about the tool in the system prompt.
    pub prompt_guidelines: Vec<String>,
    /// How the model reaches the tool.
    pub exposure: Exposure,
    /// The tool's source.
    pub source_info: SourceInfo,
}

/// A command that can be typed after a slash, as `getCommands` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandInfo {
    /// The name that is typed.
    pub name: String,
    /// The command's description, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `extension`, `prompt` or `skill`.
    pub source: &'static str,
    /// `user`, `project` or `path`, for older extensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<&'static str>,
    /// The command's file, for older extensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The command's source, for newer extensions.
    pub source_info: SourceInfo,
}

/// The source of a tool, command or skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceInfo {
    /// The file, or a word in angle brackets.
    pub path: String,
    /// The kind of source: `builtin`, `local`, `cli`, the name of a package.
    pub source: String,
    /// `user`, `project` or `temporary`.
    pub scope: &'static str,
    /// `package` or `top-level`.
    pub origin: &'static str,
    /// The folder of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<String>,
}

/// The parts of the system prompt. Handlers may change them; then the prompt changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptOptions {
    /// The directory in which the agent works.
    pub cwd: String,
    /// The tools that the model is offered.
    pub selected_tools: Vec<String>,
    /// The tools that are only reachable through others; becket has none.
    pub hidden_tools: Vec<String>,
    /// A line about each tool that has one.
    pub tool_snippets: BTreeMap<String, String>,
    /// Guidelines about each tool that has some.
    pub tool_guidelines: BTreeMap<String, Vec<String>>,
    /// The guidelines of all offered tools in one list.
    pub prompt_guidelines: Vec<String>,
    /// Text that is added to the prompt.
    pub append_system_prompt: String,
    /// Texts that are added to the prompt, each in a tag with its name.
    pub sections: BTreeMap<String, String>,
    /// The project's instruction files.
    pub context_files: Vec<ContextFile>,
    /// The available skills.
    pub skills: Vec<SkillInfo>,
}

/// An instruction file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextFile {
    /// The path of the file.
    pub path: String,
    /// The content of the file.
    pub content: String,
}

/// A skill, as extensions see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillInfo {
    /// The skill's name.
    pub name: String,
    /// The skill's purpose.
    pub description: String,
    /// The skill's file.
    pub file_path: String,
    /// The folder to which the skill's paths are relative.
    pub base_dir: String,
    /// The skill's source.
    pub source_info: SourceInfo,
    /// Whether the model does not see the skill.
    pub disable_model_invocation: bool,
}

/// How full the model's context window is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// How many tokens the conversation has; `None` if that is not known yet.
    pub tokens: Option<u64>,
    /// How many tokens the context window has.
    pub context_window: u64,
    /// The used part of the context window, in percent.
    pub percent: Option<f64>,
}

/// The facts about a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// The directory in which the session began.
    pub cwd: String,
    /// The folder of the session's file.
    pub session_dir: String,
    /// The session's id.
    pub session_id: String,
    /// The id of the current entry.
    pub leaf_id: Option<String>,
    /// The session's name.
    pub name: Option<String>,
}

/// A component of an extension, and its place.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Placed {
    /// The component's number, unique in its extension across all its loads ([`Self::life`]).
    pub id: u64,
    /// The component's place on the screen.
    pub place: ComponentPlace,
    /// Whether the component gets key releases.
    pub releases: bool,
}

impl Placed {
    /// The load of the extension ([`About::life`]) in which a component was made.
    pub fn life(id: u64) -> u64 {
        id >> 32
    }
}

/// The place of a component on the screen.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ComponentPlace {
    /// In place of the editor, with all keys.
    Custom,
    /// In place of the editor, as an editor.
    Editor,
    /// On top of everything.
    Overlay(Box<OverlayPlace>),
    /// Next to the editor.
    Widget {
        /// The key of the widget.
        key: String,
        /// The side of the editor.
        placement: Option<Placement>,
    },
    /// Above everything else.
    Header,
    /// Below everything else.
    Footer,
}

/// The place of an overlay in pi's notation: numbers of rows and columns, or parts of the screen (`50%`).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OverlayPlace {
    /// The point of the screen to which the overlay is anchored.
    pub anchor: Option<String>,
    /// The overlay's width.
    pub width: Option<String>,
    /// The overlay's smallest width.
    pub min_width: Option<f64>,
    /// The overlay's largest height.
    pub max_height: Option<String>,
    /// The row, in place of the anchor.
    pub row: Option<String>,
    /// The column, in place of the anchor.
    pub col: Option<String>,
    /// How many columns the overlay is moved to the right.
    pub offset_x: Option<f64>,
    /// How many rows the overlay is moved down.
    pub offset_y: Option<f64>,
    /// The free space at the edges.
    pub margin: Option<Sides>,
    /// Whether the focus stays where it is.
    pub non_capturing: bool,
    /// Whether the overlay is visible now, if its extension decides that (service `OverlayVisible`).
    pub visible: Option<bool>,
}

/// A number for each side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sides {
    /// At the top.
    pub top: Option<f64>,
    /// At the right.
    pub right: Option<f64>,
    /// At the bottom.
    pub bottom: Option<f64>,
    /// At the left.
    pub left: Option<f64>,
}

/// A change of an overlay, or a question about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverlayAction {
    /// Hides the overlay.
    Hide,
    /// Shows the overlay again.
    Show,
    /// Gives the overlay the focus.
    Focus,
    /// Takes the focus from the overlay.
    Unfocus,
    /// Whether the overlay is hidden.
    IsHidden,
    /// Whether the overlay has the focus.
    IsFocused,
    /// Shows the overlay, by its own decision.
    Appear,
    /// Hides the overlay, by its own decision.
    Disappear,
}

/// The end of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExecResult {
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    pub stderr: String,
    /// The exit code.
    pub code: i32,
    /// Whether the program was killed.
    pub killed: bool,
    /// Whether a part of the output is missing. It never is: a program that writes too much fails.
    pub truncated: bool,
}
