//! Everything that pi's API, as an extension finds it, can ask of the program.
//!
//! The prelude (`js/prelude.ts`) is pi's API in TypeScript, over two host functions: one that answers at once
//! (`HostCall`) and one that takes its time (`HostCallAsync`). Both are asked under one name, [`HOST_CALL`], with one
//! value: the variant with its fields, `{"get_flag": {"name": …}}`, or its bare name where it has none, `"is_idle"`.
//! The line after each variant says what is answered; what is not JSON there is `null`. Messages, entries, models and
//! content are in pi's JSON shapes.
//!
//! What extensions do before there is a session, and after it is over, the prelude refuses by itself (services `Bind`
//! and `End`); the program hears of neither.

use std::collections::BTreeMap;

pub use becket_host::{Delivery, Dialog, DialogAnswer, EditorNews, Level, Placement, Shown};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The name under which the prelude asks for everything.
pub const HOST_CALL: &str = "pi";

/// What is answered at once. The extension stands still meanwhile.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum HostCall {
    /// What the extension is and where it runs. Asked once, before its factory is called.
    /// Answer: [`About`].
    About,
    /// A function wants to hear an event. It is called as a `ScriptHandler` by its number. Also asked later than at
    /// load. An unknown event is a remark, no error.
    On {
        /// pi's name of the event.
        event: String,
        /// The number under which the engine keeps the function.
        handler: u32,
    },
    /// It does not want to hear it any more.
    Off {
        /// The number of the function.
        handler: u32,
    },
    /// There is a tool for the model; one of the same name and extension is replaced. Also asked later than at load:
    /// then the tool is active at once.
    RegisterTool(ToolDefinition),
    /// There is a command for the person: `/name arguments`. Runs by the service `RunCommand`.
    RegisterCommand {
        /// What is typed after the slash.
        name: String,
        /// What it does, in a line.
        description: Option<String>,
        /// Whether it completes its argument (service `CompleteArgument`).
        completes: bool,
    },
    /// There is a key for the person. Runs by the service `RunShortcut`.
    RegisterShortcut {
        /// The key in pi's words, such as `ctrl+shift+p`.
        key: String,
        /// What it does, in a line.
        description: Option<String>,
    },
    /// Messages of a kind are drawn by the extension (service `RenderMessage`).
    RegisterRenderer {
        /// The kind.
        custom_type: String,
    },
    /// The extension has a say in who draws tools (service `ResolveRenderers`).
    ResolveRenderers,
    /// The extension has a say in how texts look (service `TransformMarkdown`).
    TransformMarkdown,
    /// There is an option for the command line.
    RegisterFlag(FlagDefinition),
    /// What an option of this extension's was set to.
    /// Answer: a boolean or a string; its default; `null` for one that it has not registered.
    GetFlag {
        /// Its name, without dashes.
        name: String,
    },
    /// There is a provider of models, or another address for a known one. Also asked later than at load.
    RegisterProvider(ProviderDefinition),
    /// It is no more; what it had replaced is back.
    UnregisterProvider {
        /// Its name.
        name: String,
    },
    /// The extension listens to a channel of the bus: what others emit there, it hears by the service `BusEvent`.
    BusListen {
        /// The channel.
        channel: String,
    },
    /// Something for the bus. For the other extensions; listeners in the same one have heard it already.
    BusEmit {
        /// The channel.
        channel: String,
        /// Anything.
        #[serde(default)]
        data: Value,
    },

    /// A message of the extension's own, for the model. `nextTurn`: kept for the next prompt. While the agent works:
    /// queued, as a follow-up or else to steer. Otherwise: begins a run if it triggers a turn, else it is only
    /// appended.
    SendMessage {
        /// The message.
        message: CustomMessage,
        /// Whether the model answers it. Where that is said to be false, it causes nothing while the agent works
        /// either: it is appended when the turn is over.
        trigger_turn: Option<bool>,
        /// When it is heard.
        deliver_as: Option<Delivery>,
    },
    /// A message as if the person had said it. Always begins a run, or is queued while the agent works; without
    /// `deliver_as` that is an error then.
    SendUserMessage {
        /// A string, or pi's list of text and images.
        content: Value,
        /// When it is heard, if the agent works.
        deliver_as: Option<Delivery>,
        /// Whether commands, skills and prompt templates can be called in it.
        #[serde(default)]
        expand_prompt_templates: bool,
    },
    /// An entry of the session that the model never sees.
    AppendEntry {
        /// What kind of entry it is; the extension's own word.
        custom_type: String,
        /// Anything.
        data: Option<Value>,
    },
    /// Names the session.
    SetSessionName {
        /// Its name.
        name: String,
    },
    /// Labels an entry, or takes its label away. An error where there is no such entry.
    SetLabel {
        /// The entry.
        entry_id: String,
        /// The label.
        label: Option<String>,
    },
    /// The tools that the model is offered.
    /// Answer: a list of names, as the model knows them.
    GetActiveTools,
    /// Decides which ones it is offered from the next request on. Unknown names are ignored.
    SetActiveTools {
        /// Their names.
        names: Vec<String>,
    },
    /// All tools.
    /// Answer: a list of [`ToolInfo`].
    GetAllTools,
    /// The commands of extensions, and whatever else can be typed after a slash.
    /// Answer: a list of [`CommandInfo`].
    GetCommands,
    /// How much the model thinks.
    /// Answer: `off`, `minimal`, `low`, `medium`, `high` or `xhigh`.
    GetThinkingLevel,
    /// Decides it, as far as the model can.
    SetThinkingLevel {
        /// pi's word.
        level: String,
    },

    /// Whether nothing runs.
    /// Answer: a boolean.
    IsIdle,
    /// Whether something waits for the model to hear it.
    /// Answer: a boolean.
    HasPendingMessages,
    /// Ends what the agent does.
    Abort,
    /// Ends the program when the agent is idle.
    Shutdown,
    /// How full the model's window is.
    /// Answer: [`ContextUsage`]; `null` without a model.
    GetContextUsage,
    /// Answer: the system prompt as it stands.
    GetSystemPrompt,
    /// What the system prompt is made of.
    /// Answer: [`PromptOptions`].
    SystemPromptOptions,
    /// The conversation at the end of a turn.
    /// Answer: `{contextEntries, contextMessages, pendingMessages}`.
    BoundaryContext,
    /// Whether what lies in the working directory is trusted.
    /// Answer: a boolean.
    IsProjectTrusted,

    /// Answer: [`SessionInfo`].
    Session,
    /// Answer: the first line of pi's session file, `{type: "session", version, id, timestamp, cwd, …}`; `null` for
    /// none.
    SessionHeader,
    /// Writes the session as a file of pi's, now and after each run from now on.
    /// Answer: the path; `null` where nothing is kept.
    SessionFile,
    /// Answer: all entries on all branches without the header, in the order of their writing.
    SessionEntries,
    /// The way to an entry.
    /// Answer: the entries from the root to it.
    SessionBranch {
        /// The entry; where the session stands if not said.
        from_id: Option<String>,
    },
    /// Answer: the entry, or `null`.
    SessionEntry {
        /// Its id.
        id: String,
    },
    /// Answer: the label of an entry, or `null`.
    SessionLabel {
        /// Its id.
        id: String,
    },
    /// What the model sees of the session.
    /// Answer: `{messages, thinkingLevel, model: {provider, modelId} | null}`.
    SessionContext,

    /// Answer: the model in use, in pi's shape; `null` for none.
    Model,
    /// The models there are.
    /// Answer: a list of models in pi's shape.
    Models {
        /// Only those that can be used: a key is configured, or none is needed.
        available: bool,
    },
    /// One model of a provider. becket has no list of a known provider's models, so it believes every name.
    /// Answer: the model in pi's shape; `null` for none.
    FindModel {
        /// The provider.
        provider: String,
        /// The model's id there; any if not said.
        id: Option<String>,
        /// Only if it can be used.
        available: bool,
    },

    /// The themes there are.
    /// Answer: a list of `{name, path?}`.
    Themes,
    /// Answer: the theme `{name, path?, colors}`; `null` where there is none of that name.
    Theme {
        /// Its name; the one that things are drawn with if not said.
        name: Option<String>,
    },
    /// Draws with that theme from now on.
    /// Answer: `{success, error?}`.
    SetTheme {
        /// Its name.
        name: String,
    },

    /// Something for the person to see. Where there is nobody, or nothing that could show it, nothing happens.
    Show(Shown),
    /// Answer: what the person has typed so far.
    GetEditorText,
    /// Whether the person sees the whole output of tools.
    /// Answer: a boolean.
    GetToolsExpanded,

    /// Puts a component on the screen, where it stays until it is closed or something else takes its place. Its lines
    /// are asked for by the service `RenderComponent`.
    PlaceComponent(Placed),
    /// Other lines of a component.
    Draw {
        /// The component.
        id: u64,
        /// Its lines.
        lines: Vec<String>,
    },
    /// Takes a component from the screen.
    CloseComponent {
        /// The component.
        id: u64,
    },
    /// Does something with an overlay, or asks about it.
    /// Answer: a boolean.
    Overlay {
        /// The component in it.
        id: u64,
        /// What is wanted.
        wish: OverlayWish,
    },
    /// The extension hears keys before whoever has the focus (service `TerminalInput`), or not any more.
    Intercept {
        /// Whether it does.
        on: bool,
    },
    /// The extension says what could be meant by what the person types (service `Suggest`).
    RegisterCompleter,
    /// Lines for the person to read, as they are.
    Print {
        /// The lines.
        lines: Vec<String>,
    },
    /// Something has happened in an editor that the extension has put in the place of the usual one.
    Editor(EditorNews),
    /// The extension wants the terminal for another program, or gives it back.
    LendTerminal {
        /// Whether it has it from now on.
        lent: bool,
    },
    /// Answer: `{columns, rows}` of the screen; `null` where there is none.
    ScreenSize,
    /// Answer: a list of pairs, names and texts of the lines of state.
    Statuses,
    /// Answer: the branch of the repository in which the agent works; `null` for none.
    GitBranch,

    /// Part of what a running tool gives (service `ExecuteTool`).
    ToolUpdate {
        /// The call.
        call_id: String,
        /// What there is so far.
        result: ToolResult,
    },
    /// Part of what a provider's stream gives (service `ProviderStream`): pi's event without `partial`, which repeats
    /// what was said before. `done` and `error` are not told here, they are the service's answer.
    ProviderEvent {
        /// The stream.
        stream: u32,
        /// The event, `{type: "text_delta", contentIndex, delta}` and its like.
        event: Value,
    },
    /// Part of what a command gives that an extension runs in the shell's place (service `RunShell`).
    ShellOutput {
        /// The run.
        run: u32,
        /// The text.
        text: String,
    },
    /// Nobody waits any more for an asynchronous call (`Exec`, `Dialog`, `ModelComplete`).
    Cancel {
        /// The call's id.
        id: u32,
    },
    /// Where the extension's file exports its default, for one whose default is no factory.
    /// Answer: the line, or 1 where there is none.
    ExportLine,
    /// Something of the extension's failed where no caller sees it. It is shown and nothing else happens.
    Report {
        /// What was going on, such as `send_user_message` or `event:CHANNEL`.
        event: String,
        /// What the error says, where, and why.
        error: String,
    },
}

/// What takes its time. The extension holds a promise meanwhile.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum HostCallAsync {
    /// Runs a program, without a shell. At its timeout or when it is cancelled it is told to end (SIGTERM), and killed
    /// 5 s later. Also asked at load.
    /// Answer: [`ExecResult`]; a program that cannot be started is one with code 1.
    Exec {
        /// For `HostCall::Cancel`.
        id: u32,
        /// The program.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// Where it runs; in the session's directory if not said.
        cwd: Option<String>,
        /// Milliseconds it may take; 0 and none for as long as it likes.
        timeout: Option<f64>,
    },
    /// Asks the person.
    /// Answer: [`DialogAnswer`].
    Dialog {
        /// For `HostCall::Cancel`.
        id: u32,
        /// What is asked.
        dialog: Dialog,
        /// Milliseconds after which nobody answers any more.
        timeout: Option<f64>,
    },
    /// What the program, and extensions before this one, would complete.
    /// Answer: `{prefix, items: [{value, label, description?}]}`; `null` where there is no screen.
    Complete {
        /// The whole text.
        text: String,
        /// What stands before the cursor.
        before: String,
        /// Whether the person asked for it, or only typed.
        forced: bool,
    },
    /// Puts a component on the screen for a while. While it is there, no handler's time runs out.
    /// Answer: nothing, when it is gone; at once where there is no screen.
    Component(Placed),
    /// Chooses a model for the session.
    /// Answer: whether it can be used; `false` where its key is not configured.
    SetModel {
        /// Its provider.
        provider: String,
        /// Its id there.
        id: String,
    },
    /// Summarises the conversation.
    /// Answer: pi's `{summary, firstKeptEntryId, tokensBefore, details?}`; an error says why there is none.
    Compact {
        /// What the summary should look at.
        custom_instructions: Option<String>,
    },
    /// Goes on in a new conversation, as soon as nothing runs. What runs is ended. This and the next four are asked for
    /// by commands and by programs only.
    /// Answer: [`WentOn`]; an error says why it does not go on there.
    NewSession {
        /// The file of the conversation that it follows.
        parent_session: Option<String>,
        /// The function that sets it up (service `SetUp`).
        setup: Option<u32>,
    },
    /// Goes on in an earlier conversation, as soon as nothing runs. What runs is ended.
    /// Answer: [`WentOn`].
    SwitchSession {
        /// Its file, or the beginning of the id of one of its sessions.
        session_path: String,
    },
    /// Goes on in a copy of the conversation up to an entry, as soon as nothing runs. What runs is ended.
    /// Answer: [`WentOn`].
    Fork {
        /// The entry.
        entry_id: String,
        /// Whether the copy ends before it, which must be words of the person's then, or with it.
        #[serde(default)]
        position: ForkPosition,
    },
    /// Goes on from another entry, as soon as nothing runs.
    /// Answer: [`WentOn`].
    NavigateTree {
        /// The entry.
        target_id: String,
        /// Whether a summary tells of the branch that is left.
        summarize: Option<bool>,
        /// What it should look at.
        custom_instructions: Option<String>,
        /// Whether these instructions are the whole of what the model is told.
        replace_instructions: Option<bool>,
        /// A label for the place.
        label: Option<String>,
    },
    /// Loads extensions and resources as their files are now, as soon as nothing runs.
    /// Answer: [`WentOn`].
    Reload,
    /// Answered when nothing runs any more.
    WaitForIdle,
    /// Answered when what the agent does is over.
    /// Answer: whether it was aborted.
    WaitForAbort,
    /// A provider's stream is about to send this (service `ProviderStream`): hooks see it and may change it.
    /// Answer: what to send.
    ProviderPayload {
        /// The stream.
        stream: u32,
        /// The body in the provider's own shape.
        payload: Value,
    },
    /// A provider's stream has got an answer (service `ProviderStream`).
    ProviderResponse {
        /// The stream.
        stream: u32,
        /// The status of HTTP.
        status: u16,
        /// The headers.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    /// The extension wants an answer of a model for itself, outside of the session. Keys are the program's business.
    /// Answer: pi's assistant message; one with `stopReason: "error"` and `errorMessage` where the model failed.
    ModelComplete {
        /// For `HostCall::Cancel`.
        id: u32,
        /// The model in pi's shape; `provider` and `id` say which one it is.
        model: Value,
        /// pi's `{systemPrompt?, messages, tools?}`.
        context: Value,
        /// pi's options as far as they are data: `maxTokens`, `temperature`, `reasoning`.
        #[serde(default)]
        options: Map<String, Value>,
    },
}

/// Where a copy of a conversation ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ForkPosition {
    /// Before the entry.
    #[default]
    Before,
    /// With the entry.
    At,
}

/// How a wish to go on elsewhere ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WentOn {
    /// Whether somebody did not want it.
    pub cancelled: bool,
    /// What was said at the chosen place, to be said again in other words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl HostCall {
    /// Reads what the prelude asks for.
    pub fn read(json: &str) -> Result<Self, String> {
        read(json)
    }
}

impl HostCallAsync {
    /// Reads what the prelude asks for.
    pub fn read(json: &str) -> Result<Self, String> {
        read(json)
    }
}

fn read<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| format!("pi's API was used in a way it cannot be: {error}"))
}

/// What an extension is and where it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// Its file, as the person wrote or knows it.
    pub path: String,
    /// The directory in which the agent works.
    pub cwd: String,
    /// What runs the agent.
    pub mode: Mode,
    /// Whether a person can answer dialogs.
    #[serde(rename = "hasUI")]
    pub has_ui: bool,
    /// How often it had begun anew when it was loaded.
    pub life: u64,
}

/// What runs the agent, in pi's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A person at a terminal.
    Tui,
    /// A program that speaks pi's protocol.
    Rpc,
    /// A program that reads events.
    Json,
    /// A prompt and its answer.
    Print,
}

impl Mode {
    /// Whether somebody can answer dialogs.
    pub fn has_ui(self) -> bool {
        matches!(self, Self::Tui | Self::Rpc)
    }
}

/// A tool that an extension brings. Runs by the service `ExecuteTool`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolDefinition {
    /// Its name for the model.
    pub name: String,
    /// Its name for the person.
    pub label: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// A line about it for the system prompt.
    pub prompt_snippet: Option<String>,
    /// Advice about it for the system prompt.
    #[serde(default)]
    pub prompt_guidelines: Vec<String>,
    /// Whether its calls run one at a time, or beside other ones.
    pub execution_mode: Option<ExecutionMode>,
    /// Whether arguments go through the service `PrepareArguments` before they are validated.
    #[serde(default)]
    pub prepares_arguments: bool,
    /// Whether it draws its calls (service `RenderCall`).
    #[serde(default)]
    pub renders_call: bool,
    /// Whether it draws what it gives (service `RenderResult`).
    #[serde(default)]
    pub renders_result: bool,
}

/// How calls of a tool run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    /// One at a time.
    Sequential,
    /// Beside other ones.
    Parallel,
}

/// What a tool gave, or has given so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// pi's list of text and images, for the model.
    pub content: Vec<Value>,
    /// Anything for hooks, renderers and the session; never for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the run ends after it.
    #[serde(default)]
    pub terminate: bool,
    /// Whether it failed.
    #[serde(default)]
    pub is_error: bool,
}

/// An option for the command line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FlagDefinition {
    /// Its name, without dashes.
    pub name: String,
    /// What it takes.
    #[serde(rename = "type")]
    pub kind: FlagKind,
    /// What it is if nobody sets it.
    pub default: Option<FlagValue>,
    /// What it does, in a line.
    pub description: Option<String>,
}

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlagKind {
    /// Nothing: it is there or not.
    Boolean,
    /// A word.
    String,
}

/// What an option is set to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FlagValue {
    /// There or not.
    Boolean(bool),
    /// A word.
    String(String),
}

/// A provider of models that an extension brings.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderDefinition {
    /// Its name, as in `name/model`.
    pub name: String,
    /// Its name for the person.
    pub label: Option<String>,
    /// Where it answers.
    pub base_url: Option<String>,
    /// A key, or the name of the variable of the environment that holds it.
    pub api_key: Option<String>,
    /// Its interface in pi's words, such as `openai-completions` or `anthropic-messages`.
    pub api: Option<String>,
    /// Headers for every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Whether the key goes into an `Authorization` header.
    #[serde(default)]
    pub auth_header: bool,
    /// Its models; none where only the address of a known provider changes.
    pub models: Option<Vec<ModelDefinition>>,
    /// Whether its requests go through the service `ProviderStream`.
    #[serde(default)]
    pub streams: bool,
}

/// A model of such a provider.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelDefinition {
    /// Its id there.
    pub id: String,
    /// Its name for the person.
    pub name: Option<String>,
    /// Its interface, if it is another one than the provider's.
    pub api: Option<String>,
    /// Where it answers, if that is elsewhere.
    pub base_url: Option<String>,
    /// Whether it thinks.
    #[serde(default)]
    pub reasoning: bool,
    /// What it reads: `text`, `image`.
    #[serde(default)]
    pub input: Vec<String>,
    /// What a million tokens cost: `input`, `output`, `cacheRead`, `cacheWrite`.
    #[serde(default)]
    pub cost: Map<String, Value>,
    /// How many tokens it can take.
    #[serde(default)]
    pub context_window: u64,
    /// How many it can give.
    #[serde(default)]
    pub max_tokens: u64,
    /// Headers for its requests.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Whatever else the extension says about it; shown where the model is.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A message of an extension's own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CustomMessage {
    /// What kind of message it is; the extension's own word.
    pub custom_type: String,
    /// A string, or pi's list of text and images.
    pub content: Value,
    /// Whether the person sees it.
    #[serde(default)]
    pub display: bool,
    /// Anything that the model does not see.
    pub details: Option<Value>,
}

/// A tool, as `getAllTools` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInfo {
    /// Its name for the model.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// Advice about it in the system prompt.
    pub prompt_guidelines: Vec<String>,
    /// Where it comes from.
    pub source_info: SourceInfo,
}

/// Something that can be typed after a slash, as `getCommands` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandInfo {
    /// What is typed.
    pub name: String,
    /// What it does, in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `extension`, `prompt` or `skill`.
    pub source: &'static str,
    /// `user`, `project` or `path`, for older extensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<&'static str>,
    /// Its file, for older extensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Where it comes from, for newer ones.
    pub source_info: SourceInfo,
}

/// Where something comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceInfo {
    /// Its file, or something in angle brackets.
    pub path: String,
    /// What brought it: `builtin`, `local`, `cli`, the name of a package.
    pub source: String,
    /// `user`, `project` or `temporary`.
    pub scope: &'static str,
    /// `package` or `top-level`.
    pub origin: &'static str,
    /// The folder that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<String>,
}

/// What the system prompt is made of. Handlers may change it; then the prompt changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptOptions {
    /// The directory in which the agent works.
    pub cwd: String,
    /// The tools that the model is offered.
    pub selected_tools: Vec<String>,
    /// Those among them that are only reached through others; becket has none.
    pub hidden_tools: Vec<String>,
    /// A line about each tool that has one.
    pub tool_snippets: BTreeMap<String, String>,
    /// Advice about each tool that has some.
    pub tool_guidelines: BTreeMap<String, Vec<String>>,
    /// Further advice; becket has none.
    pub prompt_guidelines: Vec<String>,
    /// Text that is added to the prompt.
    pub append_system_prompt: String,
    /// Texts that are added to the prompt, each in a tag of its name.
    pub sections: BTreeMap<String, String>,
    /// The project's files of instructions.
    pub context_files: Vec<ContextFile>,
    /// The skills there are.
    pub skills: Vec<SkillInfo>,
}

/// A file of instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextFile {
    /// Where it lies.
    pub path: String,
    /// What it says.
    pub content: String,
}

/// A skill, as extensions see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillInfo {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its file.
    pub file_path: String,
    /// The folder that its paths are relative to.
    pub base_dir: String,
    /// Where it comes from.
    pub source_info: SourceInfo,
    /// Whether the model is not told of it.
    pub disable_model_invocation: bool,
}

/// How full the model's window is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// How many tokens the conversation has; `None` where nobody knows yet.
    pub tokens: Option<u64>,
    /// How many the model can take.
    pub context_window: u64,
    /// The same in percent.
    pub percent: Option<f64>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// The directory it was begun in.
    pub cwd: String,
    /// The folder of its file.
    pub session_dir: String,
    /// Its id.
    pub session_id: String,
    /// The entry where it stands.
    pub leaf_id: Option<String>,
    /// Its name.
    pub name: Option<String>,
}

/// A component of an extension's, and where it stands.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Placed {
    /// Its number in its extension, in all its lives ([`Self::life`]).
    pub id: u64,
    /// Where it stands.
    pub place: Place,
    /// Whether it wants to hear when a key is let go.
    pub releases: bool,
}

impl Placed {
    /// The life of the extension ([`About::life`]) in which a component lives.
    pub fn life(id: u64) -> u64 {
        id >> 32
    }
}

/// Where a component stands.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Place {
    /// In the editor's place, with all keys.
    Custom,
    /// In the editor's place, as an editor.
    Editor,
    /// On top of everything.
    Overlay(Box<OverlayPlace>),
    /// Beside the editor.
    Widget {
        /// Which of the widgets.
        key: String,
        /// On which side.
        placement: Option<Placement>,
    },
    /// Above everything else.
    Header,
    /// Below everything else.
    Footer,
}

/// Where an overlay stands, in pi's words: numbers of rows and columns, or parts of the screen (`50%`).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OverlayPlace {
    /// To which point of the screen it clings.
    pub anchor: Option<String>,
    /// How wide it is.
    pub width: Option<String>,
    /// How wide it is at least.
    pub min_width: Option<f64>,
    /// How high it is at most.
    pub max_height: Option<String>,
    /// The row, in place of the anchor.
    pub row: Option<String>,
    /// The column.
    pub col: Option<String>,
    /// Columns to the right of its place.
    pub offset_x: Option<f64>,
    /// Rows below its place.
    pub offset_y: Option<f64>,
    /// What stays free at the edges.
    pub margin: Option<Sides>,
    /// Whether keys stay with whoever had them.
    pub non_capturing: bool,
    /// Whether it is seen now, if its extension decides that (service `OverlayVisible`).
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

/// What is wanted of an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverlayWish {
    /// Not to be seen for a while.
    Hide,
    /// To be seen again.
    Show,
    /// To have the keys.
    Focus,
    /// To give them back.
    Unfocus,
    /// Whether it cannot be seen.
    IsHidden,
    /// Whether it has the keys.
    IsFocused,
    /// To be seen, by its own decision.
    Appear,
    /// Not to be seen, by its own decision.
    Disappear,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExecResult {
    /// What it printed.
    pub stdout: String,
    /// What it printed as errors.
    pub stderr: String,
    /// Its exit code.
    pub code: i32,
    /// Whether it was ended.
    pub killed: bool,
}
