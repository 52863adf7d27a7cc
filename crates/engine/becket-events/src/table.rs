//! The table of events. One block is one event; nothing about it is written a second time.
//!
//! A block says when the event fires, what a broken handler means at most (`class`), what handlers receive
//! (`payload`) and what they may answer (`reply`, each field typed by the rule that combines several answers). `settle`
//! names a function that brings a rewritten payload into its normal form.
//! Names are `pre_x` before and `post_x` after something happens. Every reply also has `notice`
//! and `halt`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::{Class, Event, EventInfo, FieldInfo, Payload, Reply, Visitor};
use crate::parts::*;
use crate::rules::{
    Adjust, Answer, Append, First, Intersect, Last, Merge, Prepend, Rewrite, Rule, Strictest, Union, Withheld,
};
use crate::{
    Delta, EntryDraft, Json, LineEdit, Message, NoteDraft, OperationKind, Part, PermissionMode, Replacement,
    StopReason, Usage, Verdict,
};

/// The reply field with which every handler can tell the user something.
const NOTICE: FieldInfo = FieldInfo {
    name: "notice",
    doc: " Lines to show to the user.",
    type_name: "Append<String>",
    rule: <Append<String> as Rule>::NAME,
};

/// The reply field with which every handler can end the run.
const HALT: FieldInfo = FieldInfo {
    name: "halt",
    doc: " Ends the run at its next step, for this reason.",
    type_name: "First<String>",
    rule: <First<String> as Rule>::NAME,
};

events! {
    // ---------------------------------------------------------------- sessions

    /// The user wants the project to be set up or maintained (`--init`, `--maintenance`). Fires before
    /// `session_start`.
    "setup" => Setup, class: Transform,
    payload SetupPayload {
        /// What the user wants.
        reason: SetupReason,
    }
    reply SetupReply {
        /// Text that the model sees in every turn of the session.
        context: Append<String>,
        /// Environment variables for all later commands of the session and its sub-agents, by name.
        environment: Merge,
    }

    /// A session begins, before anything else happens. Context added here lasts for the whole session.
    "session_start" => SessionStart, class: Transform,
    payload SessionStartPayload {
        /// Why the session begins.
        reason: StartReason,
        /// becket's home: where contexts and settings live.
        home: String,
        /// The root of the project.
        project_root: String,
        /// How many tools the session has.
        tool_count: u32,
        /// The names by which the model calls the tools.
        tools: Vec<String>,
        /// How many messages the context already holds.
        message_count: u32,
        /// The session that this one replaces.
        previous_session_id: Option<String>,
        /// Where the conversation of the replaced session can be read, if a hook has asked for the file.
        previous_session_file: Option<String>,
    }
    reply SessionStartReply {
        /// Text that the model sees in every turn of the session.
        context: Append<String>,
        /// Environment variables for all later commands of the session and its sub-agents, by name.
        environment: Merge,
        /// A name for the conversation, if it is new.
        title: First<String>,
        /// A prompt that runs before the one that the user has started becket with; not in a chat.
        first_prompt: First<String>,
    }

    /// Files with instructions for the model were read, such as `AGENTS.md`. Fires once for each file, after
    /// `session_start`.
    "instructions_loaded" => InstructionsLoaded, class: Observe,
    payload InstructionsLoadedPayload {
        /// The file.
        path: String,
        /// The instructions.
        text: String,
    }
    reply InstructionsLoadedReply {}

    /// A session ends, however it went; also after a failure and a cancel.
    "session_end" => SessionEnd, class: Observe,
    payload SessionEndPayload {
        /// Why the session ends.
        reason: EndReason,
        /// becket's home.
        home: String,
        /// The root of the project.
        project_root: String,
        /// How many tools the session had.
        tool_count: u32,
        /// What all requests of the session cost.
        usage: Usage,
        /// Why another session begins in place of this one, if one does.
        next: Option<StartReason>,
        /// Where the conversation of the next session can be read, if a hook asks for the file.
        next_session_file: Option<String>,
    }
    reply SessionEndReply {}

    /// Before another session or another context takes over. May refuse.
    "pre_session_switch" => PreSessionSwitch, class: Guard,
    payload PreSessionSwitchPayload {
        /// Why the session or context changes.
        reason: SwitchReason,
        /// The context that is left.
        from_context: String,
        /// The context that is entered.
        to_context: String,
        /// The session that is taken up, if it exists already.
        target_session_id: Option<String>,
        /// Where the conversation that is entered can be read, if a hook asks for the file.
        target_session_file: Option<String>,
        /// Whether the choice lasts for this run only.
        transient: bool,
    }
    reply PreSessionSwitchReply {
        /// Whether the switch may happen.
        verdict: Strictest,
    }

    /// After another session or another context has taken over.
    "post_session_switch" => PostSessionSwitch, class: Observe,
    payload PostSessionSwitchPayload {
        /// Why the session or context changed.
        reason: SwitchReason,
        /// The context that was left.
        from_context: String,
        /// The context that was entered.
        to_context: String,
        /// The session that was left.
        previous_session_id: Option<String>,
        /// Where the conversation that was left can be read, if a hook has asked for the file.
        previous_session_file: Option<String>,
        /// Whether the choice lasts for this run only.
        transient: bool,
    }
    reply PostSessionSwitchReply {}

    /// Before a session is forked at an entry. May refuse.
    "pre_session_fork" => PreSessionFork, class: Guard,
    payload PreSessionForkPayload {
        /// The entry at which the fork begins.
        entry_id: String,
        /// Whether the entry itself belongs to the fork.
        including: bool,
        /// The context that the fork will be.
        to_context: String,
    }
    reply PreSessionForkReply {
        /// Whether the fork may happen.
        verdict: Strictest,
        /// Whether the fork starts without the messages before the entry.
        without_messages: Last<bool>,
    }

    /// After a session was forked.
    "post_session_fork" => PostSessionFork, class: Observe,
    payload PostSessionForkPayload {
        /// The entry at which the fork began.
        entry_id: String,
        /// The session that was forked.
        previous_session_id: String,
        /// The context that was forked.
        from_context: String,
        /// Where the conversation of the forked session can be read, if a hook has asked for the file.
        previous_session_file: Option<String>,
    }
    reply PostSessionForkReply {}

    /// Before the conversation continues from another entry of its tree. May refuse or bring a summary.
    "pre_session_tree" => PreSessionTree, class: Guard,
    payload PreSessionTreePayload {
        /// The entry to continue from.
        target_id: String,
        /// The conversation's current entry.
        leaf_id: Option<String>,
        /// The last entry that the current leaf and the target have in common.
        common_ancestor_id: Option<String>,
        /// The messages of the branch that is left.
        abandoned: Vec<Message>,
        /// Whether the user wants a summary of the branch that is left.
        wants_summary: bool,
        /// What the summary should pay attention to.
        instructions: Option<String>,
        /// Whether the instructions replace what the model is told by default, instead of adding to it.
        instructions_alone: bool,
        /// A label that the user wants for the entry.
        label: Option<String>,
    }
    reply PreSessionTreeReply {
        /// Whether the conversation may move to the target.
        verdict: Strictest,
        /// The summary of the branch that is left.
        summary: First<Summary>,
        /// What the summary should pay attention to, instead of what the user said.
        instructions: Last<String>,
        /// Whether the instructions replace what the model is told by default, instead of adding to it.
        instructions_alone: Last<bool>,
        /// A label for the entry.
        label: First<String>,
    }

    /// After the conversation moved to another entry of its tree.
    "post_session_tree" => PostSessionTree, class: Observe,
    payload PostSessionTreePayload {
        /// The conversation's current entry.
        leaf_id: Option<String>,
        /// The entry at which the conversation stood before.
        previous_leaf_id: Option<String>,
        /// The summary of the branch that was left.
        summary: Option<Summary>,
        /// The entry that holds the summary.
        summary_id: Option<String>,
        /// The entry that was chosen: the summary, or else the next message, follows it; `None` before the first entry.
        place_id: Option<String>,
        /// Whether a hook wrote the summary.
        by_hook: bool,
    }
    reply PostSessionTreeReply {}

    // ---------------------------------------------------------------- the user's input

    /// The user said something; commands and templates are not resolved yet. May rewrite the input or answer it.
    "user_input" => UserInput, class: Transform,
    payload UserInputPayload {
        /// The input.
        text: String,
        /// Images that came with the input.
        images: Vec<Part>,
        /// Where the input comes from.
        source: InputSource,
    }
    reply UserInputReply {
        /// A new text for the input.
        text: Rewrite<String>,
        /// New images.
        images: Rewrite<Vec<Part>>,
        /// The hook has handled the input; the model is not asked.
        handled: Answer<Handled>,
    }

    /// A line of the user calls a prompt template or a skill by its name, and is about to become its text. May add to
    /// the text, or refuse it.
    "prompt_expansion" => PromptExpansion, class: Guard,
    payload PromptExpansionPayload {
        /// The name of the template or skill, without the slash.
        name: String,
        /// What the user wrote behind the name.
        arguments: String,
        /// The text that the line stands for.
        prompt: String,
    }
    reply PromptExpansionReply {
        /// Whether the line may become the text.
        verdict: Strictest,
        /// Text that is added to it.
        context: Append<String>,
    }

    /// A prompt is about to be given to the model. May rewrite it, add to it, or refuse it.
    "user_prompt" => UserPrompt, class: Guard,
    payload UserPromptPayload {
        /// The prompt.
        prompt: String,
        /// Images that come with the prompt.
        images: Vec<Part>,
        /// Where the prompt comes from.
        source: InputSource,
        /// The summary of what came before, if the conversation was compacted.
        summary: Option<String>,
        /// How often the model was asked again without new input from the user.
        continuation: u32,
    }
    reply UserPromptReply {
        /// Whether the prompt may be given to the model.
        verdict: Strictest,
        /// A new prompt.
        prompt: Rewrite<String>,
        /// Text that the model sees until this prompt is answered.
        context: Append<String>,
        /// Text that becomes part of the conversation, behind the prompt.
        notes: Append<String>,
        /// A name for the conversation.
        title: First<String>,
    }

    /// Messages that the user sent while the model was working are about to reach it. May add to them, or refuse them,
    /// which ends the run.
    "steering" => Steering, class: Guard,
    payload SteeringPayload {
        /// What the user said, in order.
        messages: Vec<String>,
    }
    reply SteeringReply {
        /// Whether the messages may reach the model.
        verdict: Strictest,
        /// Text that the model sees until this prompt is answered.
        context: Append<String>,
        /// Text that becomes part of the conversation, behind the messages.
        notes: Append<String>,
    }

    /// The user runs a shell command. May refuse it or bring the result.
    "user_shell" => UserShell, class: Guard,
    payload UserShellPayload {
        /// The command line.
        command: String,
        /// The directory to run in.
        directory: String,
        /// Whether the model never sees the command and its output.
        hidden: bool,
    }
    reply UserShellReply {
        /// Whether the command may run.
        verdict: Strictest,
        /// The result, instead of running the command.
        result: Answer<ShellResult>,
        /// A value of the handler's lane that runs the command instead of the shell.
        runner: Answer<Value>,
    }

    // ---------------------------------------------------------------- the system prompt

    /// Before the system prompt is put together. May put text in front of it.
    "pre_system_prompt" => PreSystemPrompt, class: Transform,
    payload PreSystemPromptPayload {
        /// The summary of what came before, if the conversation was compacted.
        summary: Option<String>,
        /// The goals of the groups that this context belongs to.
        flock_goals: Vec<FlockGoals>,
        /// The context's own list of things to do.
        todos: Option<String>,
        /// The context's own goals.
        goals: Option<String>,
    }
    reply PreSystemPromptReply {
        /// Text to put in front; a later handler's comes before an earlier one's.
        inject: Prepend<String>,
    }

    /// After the system prompt was put together. May rewrite it or add to its end.
    "post_system_prompt" => PostSystemPrompt, class: Transform,
    payload PostSystemPromptPayload {
        /// The system prompt.
        system_prompt: String,
        /// The summary of what came before, if the conversation was compacted.
        summary: Option<String>,
        /// The goals of the groups that this context belongs to.
        flock_goals: Vec<FlockGoals>,
        /// The context's own list of things to do.
        todos: Option<String>,
        /// The context's own goals.
        goals: Option<String>,
    }
    reply PostSystemPromptReply {
        /// A new system prompt.
        system_prompt: Rewrite<String>,
        /// Text to add to the end.
        inject: Append<String>,
    }

    // ---------------------------------------------------------------- the run

    /// The agent takes up a prompt: the last chance to change the system prompt, and to add messages to the prompt.
    "agent_start" => AgentStart, class: Transform,
    payload AgentStartPayload {
        /// The prompt.
        prompt: String,
        /// Images that come with the prompt.
        images: Vec<Part>,
        /// The system prompt.
        system_prompt: String,
    }
    reply AgentStartReply {
        /// A new system prompt for this run.
        system_prompt: Rewrite<String>,
        /// Messages to add after the prompt.
        messages: Append<NoteDraft>,
    }

    /// The agent is done with a prompt: no tool call and no queued message is left.
    "agent_end" => AgentEnd, class: Observe,
    payload AgentEndPayload {
        /// The messages of this run, the prompt included.
        messages: Vec<Message>,
        /// Why the run ended.
        reason: EndReason,
        /// What the requests of the run cost.
        usage: Usage,
    }
    reply AgentEndReply {}

    /// The model is about to be asked, with fuel and fallback settled for this prompt.
    "loop_start" => LoopStart, class: Transform,
    payload LoopStartPayload {
        /// How many more rounds of tools there may be; `None` without a limit.
        fuel_remaining: Option<u32>,
        /// How many rounds there may be in all.
        fuel_total: Option<u32>,
        /// What happens when the model has answered: the user reads it, or the model is asked again.
        fallback: Fallback,
        /// The prompt.
        message: String,
        /// How often the model was asked again without new input from the user.
        continuation: u32,
    }
    reply LoopStartReply {
        /// What happens when the model has answered: the user reads it, or the model is asked again.
        fallback: Last<Fallback>,
        /// A change of the fuel.
        fuel: Adjust,
    }

    /// A turn begins: one request and the tools it asks for. Context added here lasts for this turn only.
    "turn_start" => TurnStart, class: Transform,
    payload TurnStartPayload {
        /// The turn within this run, counted from 0.
        turn_index: u32,
        /// When the turn began, in milliseconds since 1970.
        time_ms: u64,
    }
    reply TurnStartReply {
        /// Text that the model sees in this turn.
        context: Append<String>,
    }

    /// A turn is over, for whatever reason. Fires exactly once for every `turn_start`. May add to the conversation, or
    /// send the model on.
    "turn_end" => TurnEnded, class: Transform,
    payload TurnEndedPayload {
        /// The turn within this run, counted from 0.
        turn_index: u32,
        /// Why the turn ended.
        reason: TurnEnd,
        /// What the model said; `None` if it was not asked. If it failed or was cancelled, the stop reason says so.
        message: Option<Message>,
        /// The results of the turn's tool calls.
        tool_results: Vec<Message>,
        /// What handlers have asked so far to add to the conversation.
        entries: Vec<EntryDraft>,
        /// Whether a handler wants the model to go on although nothing is left to do.
        go_on: bool,
    }
    reply TurnEndedReply {
        /// All entries to add: those of earlier handlers that should stay, and new ones.
        entries: Rewrite<Vec<EntryDraft>>,
        /// Whether the model is asked once more after it had answered; at most ten times for one prompt, those of
        /// `stop` included.
        go_on: Rewrite<bool>,
    }

    /// All work for a prompt is done: its turns and its follow-ups, and no message is queued. Fires once after the last
    /// `agent_end`.
    "settled" => Settled, class: Observe,
    payload SettledPayload {
        /// Why the last run ended.
        reason: EndReason,
    }
    reply SettledReply {}

    /// The messages of a request are chosen. May rewrite what the model sees, or stop the run; the transcript is not
    /// changed.
    "model_context" => ModelContext, class: Guard,
    payload ModelContextPayload {
        /// The system prompt; empty for a request that has one of becket's own.
        system_prompt: String,
        /// What the model is about to see besides the system prompt.
        messages: Vec<Message>,
        /// The summary that stands for the conversation before the messages.
        summary: Option<StandingSummary>,
        /// The request within this run, counted from 1; 0 for a request outside of a run.
        iteration: u32,
        /// What the request is for.
        purpose: RequestPurpose,
    }
    reply ModelContextReply {
        /// Whether the request may be made; a deny ends the run.
        verdict: Strictest,
        /// A new system prompt.
        system_prompt: Rewrite<String>,
        /// New messages.
        messages: Rewrite<Vec<Message>>,
        /// An answer in place of the model, which is not asked.
        response: Answer<String>,
    }

    /// The tools of a request are chosen. May take some away.
    "tools_offered" => ToolsOffered, class: Filter,
    payload ToolsOfferedPayload {
        /// The tools.
        tools: Vec<ToolOffer>,
        /// How many more rounds of tools there may be; `None` without a limit.
        fuel_remaining: Option<u32>,
        /// How many rounds there may be in all.
        fuel_total: Option<u32>,
        /// How often the model was asked again without new input from the user.
        continuation: u32,
    }
    reply ToolsOfferedReply {
        /// Tools to take away.
        exclude: Union<String>,
        /// The only tools to keep.
        include: Intersect<Vec<String>>,
    }

    /// A request is ready, in the provider's own JSON. What leaves this event is what goes over the wire.
    "pre_request" => PreRequest, class: Guard,
    payload PreRequestPayload {
        /// The provider.
        provider: String,
        /// The body of the request. Never holds a key.
        body: Json,
        /// The headers of the request, as far as they are known before it is sent. The value of one that holds a secret
        /// is `kept-by-becket`.
        headers: Vec<Header>,
        /// Whether the body is what goes over the wire, or a conversation.
        form: RequestForm,
        /// What the request is for.
        purpose: RequestPurpose,
        /// The request within this run, counted from 1; 0 for a request outside of a run.
        iteration: u32,
        /// How many more rounds of tools there may be; `None` without a limit.
        fuel_remaining: Option<u32>,
        /// How many rounds there may be in all.
        fuel_total: Option<u32>,
        /// How often the model was asked again without new input from the user.
        continuation: u32,
    }
    reply PreRequestReply {
        /// Whether the request may be made; a deny ends the run.
        verdict: Strictest,
        /// A new body.
        body: Rewrite<Json>,
        /// All headers in place of those of the payload. One with the value `kept-by-becket` stays as it is.
        headers: Rewrite<Vec<Header>>,
        /// An answer in place of the model, to which nothing is sent.
        response: Answer<String>,
    }

    /// The provider begins to answer.
    "response_start" => ResponseStart, class: Observe,
    payload ResponseStartPayload {
        /// The HTTP status.
        status: u16,
        /// The headers of the answer, without cookies.
        headers: Vec<Header>,
        /// How often the request was tried before.
        retries: u32,
    }
    reply ResponseStartReply {}

    /// A piece of the answer has arrived: the provider's own JSON, before it is read. Fires only for handlers, so that
    /// `--json` and traces do not hold every answer twice.
    "response_data" => ResponseData, class: Observe,
    payload ResponseDataPayload {
        /// The provider.
        provider: String,
        /// What the request is for.
        purpose: RequestPurpose,
        /// The piece.
        data: Json,
    }
    reply ResponseDataReply {}

    /// More of the answer's text has arrived, and the piece before it is about to be shown. May refuse it, which ends
    /// the run. While a hook listens, no text is shown before it is judged here or by `post_response`, which judges the
    /// whole answer with its last piece. Text that is shown already cannot be taken back.
    "response_part" => ResponsePart, class: Guard,
    payload ResponsePartPayload {
        /// The text from its beginning to the end of the piece.
        text: String,
        /// Whether the answer broke off behind the piece: it is the last one, and no other hook judges it.
        broken_off: bool,
    }
    reply ResponsePartReply {
        /// Whether the piece may be shown.
        verdict: Strictest,
    }

    /// The provider has answered completely.
    "response" => Response, class: Observe,
    payload ResponsePayload {
        /// What the model said.
        text: String,
        /// The prompt that the model answers.
        prompt: String,
        /// Why the model stopped.
        stop_reason: StopReason,
        /// How many tool calls the model makes.
        tool_call_count: u32,
        /// What the request cost.
        usage: Usage,
        /// How long the request took.
        duration_ms: u64,
        /// The request within this run, counted from 1; 0 for a request outside of a run.
        iteration: u32,
        /// What the request is for.
        purpose: RequestPurpose,
    }
    reply ResponseReply {}

    /// The model has answered, and nobody has seen it yet. May replace the answer by one of the same role, or refuse
    /// it, which ends the run. While a hook listens, an answer is shown when it is complete and judged.
    "post_response" => PostResponse, class: Guard,
    payload PostResponsePayload {
        /// The answer, with its tool calls.
        message: Message,
        /// What the request is for.
        purpose: RequestPurpose,
    }
    reply PostResponseReply {
        /// Whether the answer counts.
        verdict: Strictest,
        /// The answer to take instead.
        message: Rewrite<Message>,
    }

    /// The model has answered without a tool call, and the user is about to see it. May rewrite the text, or refuse
    /// it, which ends the run. While a hook listens, an answer is shown when it is complete and judged.
    "output" => Output, class: Guard,
    payload OutputPayload {
        /// The text.
        text: String,
    }
    reply OutputReply {
        /// Whether the user may see the text.
        verdict: Strictest,
        /// A new text.
        text: Rewrite<String>,
    }

    // ---------------------------------------------------------------- messages

    /// A message begins: of the user, the model, a tool or a hook.
    "message_start" => MessageStart, class: Observe,
    payload MessageStartPayload {
        /// The message as far as it is known.
        message: Message,
        /// Whether the message was added while no run was active and starts none.
        at_rest: bool,
    }
    reply MessageStartReply {}

    /// More of the model's answer has arrived.
    "message_update" => MessageUpdate, class: Observe,
    payload MessageUpdatePayload {
        /// The message that grows.
        message_id: String,
        /// What was added to the message.
        delta: Delta,
    }
    reply MessageUpdateReply {}

    /// A message is complete, just before it is stored. May replace it by one of the same role.
    "message_end" => MessageEnd, class: Transform,
    payload MessageEndPayload {
        /// The message.
        message: Message,
        /// Whether the message was added while no run was active and starts none.
        at_rest: bool,
        /// Whether what was shown of the answer is not stored: it broke off and is asked for again, or a hook refused
        /// the rest.
        replaced: bool,
    }
    reply MessageEndReply {
        /// The message to store instead.
        message: Rewrite<Message>,
    }

    // ---------------------------------------------------------------- tools

    /// The model asks for a tool: the call is known, not yet judged. Fires for unknown tools too.
    "tool_start" => ToolStart, class: Observe,
    payload ToolStartPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool's name as the model wrote it.
        tool_name: String,
        /// becket's own name for the tool, if it exists.
        own_name: Option<String>,
        /// What the tool does, if it is one of becket's operations.
        operation: Option<OperationKind>,
        /// The arguments as the model wrote them.
        arguments: Json,
        /// The arguments under their normalised names, if the tool exists and can read them.
        normalised: Option<Map<String, Value>>,
    }
    reply ToolStartReply {}

    /// Before a tool runs. May rewrite its arguments or refuse the call. Fires again with the new address when a fetch
    /// is redirected; one for which a hook writes another address is not followed.
    "pre_tool" => PreTool, class: Guard, settle: normalise_arguments,
    payload PreToolPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The tool's origin: `builtin`, the name of a plugin, or `mcp:` and the name of a server.
        tool_source: String,
        /// What the tool does, if it is one of becket's operations.
        operation: Option<OperationKind>,
        /// The arguments that the tool will get, under their normalised names.
        arguments: Map<String, Value>,
        /// The tool call that makes this one, for a nested call.
        parent_tool_call_id: Option<String>,
    }
    reply PreToolReply {
        /// Whether the call may go ahead.
        verdict: Strictest,
        /// New arguments; the next handler sees them.
        arguments: Rewrite<Map<String, Value>>,
        /// Text for the model, added after the results.
        context: Append<String>,
    }

    /// A file or directory is about to be read. The path is resolved: links and `..` are followed.
    "pre_file_read" => PreFileRead, class: Guard,
    payload PreFileReadPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The file, absolute and resolved.
        path: String,
        /// Whether the file lies in the working directory or another folder that is free to read.
        inside: bool,
    }
    reply PreFileReadReply {
        /// Whether the file may be read.
        verdict: Strictest,
    }

    /// A file is about to be written. The path is resolved: links and `..` are followed.
    "pre_file_write" => PreFileWrite, class: Guard,
    payload PreFileWritePayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The file, absolute and resolved.
        path: String,
        /// The file's new content; `None` for an edit.
        content: Option<String>,
        /// The pieces of text that an edit replaces.
        edits: Vec<Replacement>,
        /// The lines that an edit replaces or adds to.
        lines: Vec<LineEdit>,
        /// Whether the file lies in the working directory.
        inside: bool,
    }
    reply PreFileWriteReply {
        /// Whether the file may be written.
        verdict: Strictest,
    }

    /// A shell command is about to run for the model.
    "pre_shell" => PreShell, class: Guard,
    payload PreShellPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The command line.
        command: String,
        /// The directory to run in, absolute.
        directory: String,
    }
    reply PreShellReply {
        /// Whether the command may run.
        verdict: Strictest,
    }

    /// The network is about to be used for the model.
    "pre_fetch" => PreFetch, class: Guard,
    payload PreFetchPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The address; `None` for a tool that talks to the network without naming one.
        url: Option<String>,
        /// Why the address is sensitive, such as `loopback` or `private_network`; `None` when it is not.
        sensitive: Option<String>,
        /// The network addresses behind the URL's host; a connection goes to one of them and to no other.
        addresses: Vec<String>,
        /// The address that redirects to this one; `None` for the address that the call names.
        redirected_from: Option<String>,
        /// A short description of the call, if there is no address.
        call_summary: Option<String>,
    }
    reply PreFetchReply {
        /// Whether the address may be fetched.
        verdict: Strictest,
    }

    /// No rule has decided about a call, and the user is about to be asked. May answer in their place.
    "permission_request" => PermissionRequest, class: Guard,
    payload PermissionRequestPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The tool's origin: `builtin`, the name of a plugin, or `mcp:` and the name of a server.
        tool_source: String,
        /// What the tool does, if it is one of becket's operations.
        operation: Option<OperationKind>,
        /// The final arguments of the call.
        arguments: Map<String, Value>,
        /// Why a hook wants the user to be asked, if one does.
        reason: Option<String>,
    }
    reply PermissionRequestReply {
        /// The answer.
        verdict: Strictest,
        /// New arguments, used if the call is allowed. The call is judged again with them.
        arguments: Last<Map<String, Value>>,
        /// Facts to show with the question.
        metadata: Merge,
        /// Permission rules for the rest of the session. Those that allow count together with an allow; those that ask
        /// or deny count in any case, and a deny beats everything.
        rules: Union<SessionRule>,
        /// The permission mode from now on, used if the call is allowed. `yes` is ignored, because only the user can
        /// choose it.
        mode: Last<PermissionMode>,
    }

    /// The decision whether a call runs has been made.
    "approval_decided" => ApprovalDecided, class: Observe,
    payload ApprovalDecidedPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// What the tool does, if it is one of becket's operations.
        operation: Option<OperationKind>,
        /// The final arguments of the call.
        arguments: Map<String, Value>,
        /// The decision.
        decision: ApprovalDecision,
        /// Who or what decided.
        source: ApprovalSource,
        /// The hooks that decided, if hooks did.
        handlers: Vec<String>,
        /// Why the call was refused, if it was.
        reason: Option<String>,
    }
    reply ApprovalDecidedReply {}

    /// A running tool reports progress.
    "tool_update" => ToolUpdate, class: Observe,
    payload ToolUpdatePayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// What the tool does, if it is one of becket's operations.
        operation: Option<OperationKind>,
        /// The arguments that the tool got.
        arguments: Map<String, Value>,
        /// The output that was added.
        output: String,
        /// What the result would be by now, from a tool that reports it; replaces all output before.
        partial: Option<PartialResult>,
    }
    reply ToolUpdateReply {}

    /// A call has an output, of the tool or of a refusal. May rewrite it before anything is stored or cached.
    "pre_tool_output" => PreToolOutput, class: Filter,
    payload PreToolOutputPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The tool's origin: `builtin`, the name of a plugin, or `mcp:` and the name of a server.
        tool_source: String,
        /// What the tool does, if it is one of becket's operations.
        operation: Option<OperationKind>,
        /// The arguments that the tool got.
        arguments: Map<String, Value>,
        /// What the tool produced.
        content: Vec<Part>,
        /// Whether the call failed or was refused.
        is_error: bool,
        /// Whether the tool ran at all; a refused call has an output too.
        ran: bool,
        /// Data of the tool that the model does not see; `null` when there is none.
        details: Value,
        /// How long the tool ran.
        duration_ms: u64,
    }
    reply PreToolOutputReply {
        /// New output.
        content: Rewrite<Vec<Part>>,
        /// New data.
        details: Rewrite<Value>,
        /// Whether the call counts as failed.
        is_error: Rewrite<bool>,
        /// The text that the model sees instead of the output. No other handler sees the output.
        withheld: Withheld,
        /// Text for the model, added after the results.
        context: Append<String>,
    }

    /// An output is so large that it is about to be put aside, with a preview for the model.
    "pre_cache" => PreCache, class: Transform,
    payload PreCachePayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The arguments that the tool got.
        arguments: Map<String, Value>,
        /// The whole output.
        content: String,
        /// The size of the output in bytes.
        output_size: u64,
        /// The length of the output in characters.
        char_count: u64,
        /// The length of the output in lines.
        line_count: u64,
    }
    reply PreCacheReply {
        /// What the model sees instead of a preview.
        summary: First<String>,
        /// Whether to put the output aside at all.
        cache: First<bool>,
    }

    /// An output was put aside.
    "post_cache" => PostCache, class: Observe,
    payload PostCachePayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The output's name in the context's cache folder.
        cache_id: String,
        /// Where the output can be read, as an address of the virtual file system.
        path: String,
        /// The size of the output in bytes.
        output_size: u64,
        /// The size of what the model sees.
        preview_size: u64,
        /// The length of the output in characters.
        char_count: u64,
        /// The length of the output in lines.
        line_count: u64,
        /// About how many tokens the output would have taken.
        token_estimate: u64,
    }
    reply PostCacheReply {}

    /// The text that the model will see of an output is final.
    "post_tool_output" => PostToolOutput, class: Observe,
    payload PostToolOutputPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The arguments that the tool got.
        arguments: Map<String, Value>,
        /// The output after `pre_tool_output`.
        output: String,
        /// What the model sees.
        final_output: String,
        /// Whether the output was put aside.
        cached: bool,
    }
    reply PostToolOutputReply {}

    /// A tool call is finished, however it ended.
    "tool_end" => ToolEnd, class: Observe,
    payload ToolEndPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// What the tool does, if it is one of becket's operations.
        operation: Option<OperationKind>,
        /// What the model sees.
        content: Vec<Part>,
        /// Data of the tool that the model does not see; `null` when there is none.
        details: Value,
        /// Whether the call failed or was refused.
        is_error: bool,
        /// Whether the tool ran at all.
        ran: bool,
        /// How long the tool ran.
        duration_ms: u64,
    }
    reply ToolEndReply {}

    /// A call is over and its result is stored. May stop the run or tell the model something.
    "post_tool" => PostTool, class: Transform,
    payload PostToolPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The tool's origin: `builtin`, the name of a plugin, or `mcp:` and the name of a server.
        tool_source: String,
        /// What the tool does, if it is one of becket's operations.
        operation: Option<OperationKind>,
        /// The arguments that the tool got.
        arguments: Map<String, Value>,
        /// The arguments that the model gave.
        original_arguments: Map<String, Value>,
        /// The output after `pre_tool_output`.
        result: String,
        /// Whether the call failed or was refused.
        is_error: bool,
        /// Whether the tool ran at all.
        ran: bool,
        /// Whether the output was put aside.
        cached: bool,
        /// How long the tool ran.
        duration_ms: u64,
    }
    reply PostToolReply {
        /// Stops the run after these tools, with a reason.
        stop: First<String>,
        /// Text for the model, added after the results.
        context: Append<String>,
    }

    /// All tools of one answer have run.
    "tool_batch" => ToolBatch, class: Transform,
    payload ToolBatchPayload {
        /// The calls, in the order in which the model made them.
        tool_calls: Vec<CallRecord>,
        /// How many more rounds of tools there may be; `None` without a limit.
        fuel_remaining: Option<u32>,
        /// How many rounds there may be in all.
        fuel_total: Option<u32>,
        /// What happens when the model has answered: the user reads it, or the model is asked again.
        fallback: Fallback,
    }
    reply ToolBatchReply {
        /// What happens when the model has answered: the user reads it, or the model is asked again.
        fallback: Last<Fallback>,
        /// A change of the fuel.
        fuel: Adjust,
        /// Text for the model, added after the results.
        context: Append<String>,
    }

    // ---------------------------------------------------------------- the end of an answer

    /// The model has said everything. May add to the conversation, or make the model continue for a reason, but not
    /// twice in a row for the same one.
    "stop" => Stop, class: Transform,
    payload StopPayload {
        /// The answer.
        response: String,
        /// The prompt that the model answers.
        prompt: String,
        /// How often a hook has already made the model continue.
        continuations: u32,
        /// What handlers have asked so far to add to the conversation.
        entries: Vec<EntryDraft>,
        /// Whether a handler wants the model to continue with the added entries.
        go_on: bool,
    }
    reply StopReply {
        /// Why the model must continue; the model is told this reason.
        continue_with: First<String>,
        /// Whether the same reason may make the model continue several times in a row.
        repeats: First<bool>,
        /// All entries to add, whether the model continues or not: those of earlier handlers that should stay, and new
        /// ones.
        entries: Rewrite<Vec<EntryDraft>>,
        /// Whether the model continues with the added entries, if no handler sets `continue_with`.
        go_on: Rewrite<bool>,
        /// Another answer of a sub-agent for the agent that asked. The user has already read what others answer.
        response: Last<String>,
        /// Whether the conversation is archived, as `/clear` does it. If the model continues, it sees nothing but the
        /// reason. Not for sub-agents.
        clear: First<bool>,
    }

    // ---------------------------------------------------------------- compaction

    /// A conversation is about to be summarised. May refuse, steer, or bring the summary.
    "pre_compact" => PreCompact, class: Guard,
    payload PreCompactPayload {
        /// What made the compaction necessary.
        reason: CompactReason,
        /// How much of the conversation is replaced.
        scope: CompactScope,
        /// How many messages there are.
        message_count: u32,
        /// The messages that will be summarised.
        messages: Vec<Message>,
        /// The first message that is kept as it is.
        first_kept_id: Option<String>,
        /// The messages that are kept as they are.
        kept: Vec<Message>,
        /// The summary so far.
        summary: Option<String>,
        /// What the user wants the summary to pay attention to.
        instructions: Option<String>,
        /// Tokens of the context now.
        input_tokens: u64,
        /// Tokens that the model has written.
        output_tokens: u64,
        /// How many tokens the model can take, when known.
        context_limit: Option<u64>,
    }
    reply PreCompactReply {
        /// Whether the compaction may happen.
        verdict: Strictest,
        /// What the summary should pay attention to.
        context: Append<String>,
        /// The summary, instead of asking the model for one.
        summary: First<Summary>,
    }

    /// A conversation was summarised. Context added here lasts for the rest of the session.
    "post_compact" => PostCompact, class: Transform,
    payload PostCompactPayload {
        /// What made the compaction necessary.
        reason: CompactReason,
        /// How much of the conversation was replaced.
        scope: CompactScope,
        /// How many messages there were.
        message_count_before: u32,
        /// How many messages there are now.
        message_count: u32,
        /// The new summary.
        summary: String,
        /// The entry that holds the summary.
        entry_id: String,
        /// The entry before the summary.
        parent_id: Option<String>,
        /// The first message that was kept as it is.
        first_kept_id: Option<String>,
        /// Data of the hook that wrote the summary.
        details: Option<Value>,
        /// Whether a hook wrote the summary.
        by_hook: bool,
        /// Tokens of the context before the compaction.
        input_tokens: u64,
        /// Tokens that the model had written before the compaction.
        output_tokens: u64,
        /// How many tokens the model can take, when known.
        context_limit: Option<u64>,
    }
    reply PostCompactReply {
        /// Text that the model sees in every turn from now on.
        context: Append<String>,
    }

    /// A context is about to be cleared. May refuse.
    "pre_clear" => PreClear, class: Guard,
    payload PreClearPayload {
        /// How many messages there are.
        message_count: u32,
        /// The summary so far.
        summary: Option<String>,
    }
    reply PreClearReply {
        /// Whether the context may be cleared.
        verdict: Strictest,
    }

    /// A context was cleared.
    "post_clear" => PostClear, class: Observe,
    payload PostClearPayload {
        /// How many messages there were.
        message_count: u32,
        /// The summary that the context had.
        summary: Option<String>,
    }
    reply PostClearReply {}

    // ---------------------------------------------------------------- other agents

    /// A sub-agent is about to be asked. May refuse it, answer in its place, or change what it is given. Fires in the
    /// session that asks.
    "pre_subagent" => PreSubagent, class: Guard,
    payload PreSubagentPayload {
        /// The sub-agent's name, if it has one.
        subagent_name: Option<String>,
        /// The sub-agent's system prompt.
        system_prompt: String,
        /// What the sub-agent is given.
        input: String,
        /// The sub-agent's model.
        subagent_model: String,
        /// The temperature, when set.
        temperature: Option<f64>,
        /// The longest answer, when set.
        max_tokens: Option<u64>,
        /// The tools that the sub-agent gets, by the names that the model knows; all of them are its parent's.
        tools: Vec<String>,
        /// How deep the sub-agent is nested: 1 below the user's own agent, 2 below that agent's sub-agents.
        depth: u32,
    }
    reply PreSubagentReply {
        /// Whether the sub-agent may be asked.
        verdict: Strictest,
        /// The answer, without asking the sub-agent.
        response: Answer<String>,
        /// Another system prompt.
        system_prompt: Rewrite<String>,
        /// Another input.
        input: Rewrite<String>,
        /// Other tools. Only tools of the sub-agent's parent count.
        tools: Rewrite<Vec<String>>,
    }

    /// A sub-agent has answered or failed. Fires in the session that asked; not when a hook answered or refused.
    "post_subagent" => PostSubagent, class: Transform,
    payload PostSubagentPayload {
        /// The sub-agent's name, if it has one.
        subagent_name: Option<String>,
        /// The sub-agent's session.
        subagent_session_id: Option<String>,
        /// The sub-agent's system prompt.
        system_prompt: String,
        /// What the sub-agent was given.
        input: String,
        /// The sub-agent's model.
        subagent_model: String,
        /// What the sub-agent answered; empty when it failed.
        response: String,
        /// Why the sub-agent failed, if it did.
        error: Option<String>,
        /// What the sub-agent's requests cost, those of its own sub-agents included.
        usage: Usage,
    }
    reply PostSubagentReply {
        /// Another answer for the agent that asked. One that failed stays failed.
        response: Rewrite<String>,
    }

    /// Another agent takes over, or gives control back.
    "agent_switch" => AgentSwitch, class: Observe,
    payload AgentSwitchPayload {
        /// The agent that was in control before.
        from_agent: String,
        /// The agent that is in control now.
        to_agent: String,
        /// How the switch came about.
        kind: SwitchKind,
        /// The models of the agent that was in control before.
        from_models: Vec<AgentModel>,
    }
    reply AgentSwitchReply {}

    /// A message to another context is about to be delivered. A hook may deliver it by its own means.
    "pre_message_delivery" => PreMessageDelivery, class: Transform,
    payload PreMessageDeliveryPayload {
        /// The context that sends the message.
        from: String,
        /// The context that gets the message.
        to: String,
        /// The text of the message.
        content: String,
    }
    reply PreMessageDeliveryReply {
        /// Set by a hook that has delivered the message.
        delivered: Answer<Delivery>,
    }

    /// A message to another context was delivered, or could not be.
    "post_message_delivery" => PostMessageDelivery, class: Observe,
    payload PostMessageDeliveryPayload {
        /// The context that sent the message.
        from: String,
        /// The context that gets the message.
        to: String,
        /// The text of the message.
        content: String,
        /// The outcome of the delivery.
        delivery_result: String,
    }
    reply PostMessageDeliveryReply {}

    // ---------------------------------------------------------------- files of the virtual file system, the index

    /// A context is about to change something in the virtual file system: write, edit, copy, move, delete a file, or
    /// make a folder. Fires for each address that changes. May refuse.
    "pre_vfs_write" => PreVfsWrite, class: Guard,
    payload PreVfsWritePayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The file's address.
        path: String,
        /// The file's new content, if the call itself holds it; `None` for an edit and for anything that is not a
        /// write.
        content: Option<String>,
        /// The context that writes.
        caller: String,
        /// Whether nothing is left at this address afterwards.
        removed: bool,
    }
    reply PreVfsWriteReply {
        /// Whether the address may be changed.
        verdict: Strictest,
    }

    /// A context has changed something in the virtual file system. Fires for each address that has changed.
    "post_vfs_write" => PostVfsWrite, class: Observe,
    payload PostVfsWritePayload {
        /// Identifies the call.
        tool_call_id: String,
        /// becket's own name for the tool.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The file's address.
        path: String,
        /// The context that wrote.
        caller: String,
        /// Whether nothing is left at this address.
        removed: bool,
    }
    reply PostVfsWriteReply {}

    /// A source file was read into the code index.
    "file_indexed" => FileIndexed, class: Observe,
    payload FileIndexedPayload {
        /// The file, relative to the project's root.
        path: String,
        /// The language of the file.
        language: String,
        /// How many definitions the file has.
        symbol_count: u32,
        /// How many references the file has.
        reference_count: u32,
    }
    reply FileIndexedReply {}

    // ---------------------------------------------------------------- settings and signals

    /// Another model was chosen and is about to be used. May refuse it: then the model stays as it is.
    "pre_model_change" => PreModelChange, class: Guard,
    payload PreModelChangePayload {
        /// The model that was chosen.
        new_model: String,
        /// The model now.
        current_model: String,
        /// How the model came to be chosen.
        choice: ModelChoice,
    }
    reply PreModelChangeReply {
        /// Whether the model may be used.
        verdict: Strictest,
    }

    /// Another model was chosen.
    "model_change" => ModelChange, class: Observe,
    payload ModelChangePayload {
        /// The model now.
        new_model: String,
        /// The model before.
        previous_model: Option<String>,
        /// How the model came to be chosen.
        choice: ModelChoice,
    }
    reply ModelChangeReply {}

    /// The model thinks more or less from now on.
    "thinking_change" => ThinkingChange, class: Observe,
    payload ThinkingChangePayload {
        /// How much the model thinks now: `off`, `minimal`, `low`, `medium`, `high` or `xhigh`.
        new_level: String,
        /// How much the model thought before.
        previous_level: String,
    }
    reply ThinkingChangeReply {}

    /// The conversation was given a name.
    "name_change" => NameChange, class: Observe,
    payload NameChangePayload {
        /// The name.
        name: String,
    }
    reply NameChangeReply {}

    /// Skills, prompt templates and themes are collected. A hook may bring more.
    "resources" => Resources, class: Transform,
    payload ResourcesPayload {
        /// Why resources are collected.
        reason: StartReason,
    }
    reply ResourcesReply {
        /// Files and folders of skills.
        skills: Append<String>,
        /// Files and folders of prompt templates.
        prompts: Append<String>,
        /// Files and folders of themes.
        themes: Append<String>,
    }

    /// A file with settings or hooks has changed since the run began. What it says now counts from the next start on.
    /// Fires before a prompt, once for each change.
    "config_change" => ConfigChange, class: Observe,
    payload ConfigChangePayload {
        /// The file.
        path: String,
        /// Whether the file is gone.
        is_gone: bool,
    }
    reply ConfigChangeReply {}

    /// The agent waits for the user.
    "attention" => Attention, class: Observe,
    payload AttentionPayload {
        /// Why the agent waits.
        reason: AttentionReason,
        /// What the agent waits for, in words.
        message: String,
    }
    reply AttentionReply {}

    /// Something that the user should know: a warning or an error.
    "notification" => Notification, class: Observe,
    payload NotificationPayload {
        /// How serious the notification is.
        level: Level,
        /// The text of the notification.
        message: String,
    }
    reply NotificationReply {}

    /// The run failed. Fires right after its `notification`.
    "error" => ErrorRaised, class: Observe,
    payload ErrorRaisedPayload {
        /// The kind of error.
        kind: ErrorKind,
        /// Why the provider failed, if it did.
        provider_error: Option<ProviderErrorKind>,
        /// What went wrong.
        message: String,
    }
    reply ErrorRaisedReply {}

    /// The run has used up its iterations. Fires right after its `notification`.
    "iteration_limit" => IterationLimit, class: Observe,
    payload IterationLimitPayload {
        /// How many iterations are allowed.
        limit: u32,
        /// What happened, in words.
        message: String,
    }
    reply IterationLimitReply {}

    /// A request is not sent because of the budget: it is used up, or the model's price is not known. Fires right after
    /// its `notification`; the user may let the run go on.
    "budget_reached" => BudgetReached, class: Observe,
    payload BudgetReachedPayload {
        /// The budget, in US dollars.
        limit: f64,
        /// How much was spent, in US dollars, with all sub-agents.
        spent: f64,
        /// The model whose price is not known, as `provider/name`, if that is why.
        unpriced_model: Option<String>,
        /// What happened, in words.
        message: String,
    }
    reply BudgetReachedReply {}

    /// The user lets a run continue past its limit.
    "limit_raised" => LimitRaised, class: Observe,
    payload LimitRaisedPayload {
        /// How many requests were allowed for this prompt before.
        previous_limit: u32,
        /// How many requests are allowed for this prompt now.
        new_limit: u32,
    }
    reply LimitRaisedReply {}

    /// A handler failed. If a handler of this event fails too, that is only reported.
    "hook_failed" => HookFailed, class: Observe,
    payload HookFailedPayload {
        /// The event whose handler failed.
        failed_event: String,
        /// The handler.
        handler: String,
        /// Where the handler is configured.
        source: String,
        /// The kind of failure.
        cause: String,
        /// The details of the failure.
        detail: String,
        /// What the handler wrote to standard error.
        stderr: String,
        /// Whether the action was refused because of the failure.
        refused: bool,
    }
    reply HookFailedReply {}
}

/// Brings the arguments that a hook wrote under their normalised names: the next guard must not miss a rewrite to the
/// alias `cmd` because it looks at `command`. Arguments that cannot be read are refused by the gate.
fn normalise_arguments(payload: &mut PreToolPayload) {
    let Some(kind) = payload.operation else { return };
    if let Ok(operation) = kind.read(payload.arguments.clone()) {
        payload.arguments = operation.arguments();
    }
}

impl EventId {
    /// The row of the table.
    pub fn info(self) -> &'static EventInfo {
        &EVENTS[self as usize]
    }

    /// The event with this name.
    pub fn named(name: &str) -> Option<Self> {
        EVENTS
            .iter()
            .find(|event| event.name == name)
            .map(|event| event.id)
    }
}
