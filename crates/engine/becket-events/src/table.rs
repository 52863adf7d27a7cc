//! The table of events. One block is one event; nothing about it is written a second time.
//!
//! A block says when the event fires, what a broken handler means at most (`class`), what handlers receive
//! (`payload`) and what they may answer (`reply`, each field typed by the rule that combines several answers). `settle`
//! names a function that brings a rewritten payload into its normal form.
//! Names are `pre_x` before and `post_x` after something happens. Every reply also has `notice`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::{Class, Event, EventInfo, FieldInfo, Payload, Reply, Visitor};
use crate::parts::*;
use crate::rules::{
    Adjust, Answer, Append, First, Intersect, Last, Merge, Prepend, Rewrite, Rule, Strictest, Union, Withheld,
};
use crate::{
    Delta, EntryDraft, Json, LineEdit, Message, NoteDraft, OperationKind, Part, Replacement, StopReason,
    Usage, Verdict,
};

/// The reply field that every event has.
const NOTICE: FieldInfo = FieldInfo {
    name: "notice",
    doc: " Lines to show to the person.",
    type_name: "Append<String>",
    rule: <Append<String> as Rule>::NAME,
};

events! {
    // ---------------------------------------------------------------- sessions

    /// A session begins, before anything else happens. Context added here lasts for the whole session.
    "session_start" => SessionStart, class: Transform,
    payload SessionStartPayload {
        /// Why it begins.
        reason: StartReason,
        /// becket's home: where contexts and settings live.
        home: String,
        /// The root of the project.
        project_root: String,
        /// How many tools there are.
        tool_count: u32,
        /// How many messages the context already holds.
        message_count: u32,
        /// The session that this one replaces.
        previous_session_id: Option<String>,
        /// Where its conversation can be read, if a hook has asked for the file.
        previous_session_file: Option<String>,
    }
    reply SessionStartReply {
        /// Text that the model sees in every turn of the session.
        context: Append<String>,
    }

    /// A session ends, however it went; also after a failure and a cancel.
    "session_end" => SessionEnd, class: Observe,
    payload SessionEndPayload {
        /// Why it ends.
        reason: EndReason,
        /// becket's home.
        home: String,
        /// The root of the project.
        project_root: String,
        /// How many tools there were.
        tool_count: u32,
        /// What all requests of the session cost.
        usage: Usage,
        /// Why another session begins in its place, if one does.
        next: Option<StartReason>,
        /// Where the conversation of that one can be read, if a hook asks for the file.
        next_session_file: Option<String>,
    }
    reply SessionEndReply {}

    /// Before another session or another context takes over. May refuse.
    "pre_session_switch" => PreSessionSwitch, class: Guard,
    payload PreSessionSwitchPayload {
        /// Why.
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
        /// Why.
        reason: SwitchReason,
        /// The context that was left.
        from_context: String,
        /// The context that was entered.
        to_context: String,
        /// The session that was left.
        previous_session_id: Option<String>,
        /// Where its conversation can be read, if a hook has asked for the file.
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
        /// Whether the fork starts without the messages before it.
        without_messages: Last<bool>,
    }

    /// After a session was forked.
    "post_session_fork" => PostSessionFork, class: Observe,
    payload PostSessionForkPayload {
        /// The entry at which the fork began.
        entry_id: String,
        /// The session that was forked.
        previous_session_id: String,
        /// The context in which it was.
        from_context: String,
        /// Where its conversation can be read, if a hook has asked for the file.
        previous_session_file: Option<String>,
    }
    reply PostSessionForkReply {}

    /// Before the conversation continues from another entry of its tree. May refuse or bring a summary.
    "pre_session_tree" => PreSessionTree, class: Guard,
    payload PreSessionTreePayload {
        /// The entry to continue from.
        target_id: String,
        /// The entry at which the conversation stands now.
        leaf_id: Option<String>,
        /// The last entry that both have in common.
        common_ancestor_id: Option<String>,
        /// The messages of the branch that is left.
        abandoned: Vec<Message>,
        /// Whether the person wants a summary of that branch.
        wants_summary: bool,
        /// What the summary should pay attention to.
        instructions: Option<String>,
        /// Whether these instructions are the whole of what the model is told, and not an addition.
        instructions_alone: bool,
        /// A label that the person wants.
        label: Option<String>,
    }
    reply PreSessionTreeReply {
        /// Whether the step may happen.
        verdict: Strictest,
        /// The summary of the branch that is left.
        summary: First<Summary>,
        /// What the summary should pay attention to, instead of what the person said.
        instructions: Last<String>,
        /// Whether these instructions are the whole of what the model is told, and not an addition.
        instructions_alone: Last<bool>,
        /// A label for the entry.
        label: First<String>,
    }

    /// After the conversation moved to another entry of its tree.
    "post_session_tree" => PostSessionTree, class: Observe,
    payload PostSessionTreePayload {
        /// The entry at which it stands now.
        leaf_id: Option<String>,
        /// The entry at which it stood before.
        previous_leaf_id: Option<String>,
        /// The summary of the branch that was left.
        summary: Option<Summary>,
        /// The entry that holds the summary.
        summary_id: Option<String>,
        /// The entry that was gone to: the summary stands behind it, or what is said next; none before the first.
        place_id: Option<String>,
        /// Whether a hook wrote that summary.
        by_hook: bool,
    }
    reply PostSessionTreeReply {}

    // ---------------------------------------------------------------- the person's words

    /// The person said something, before commands and templates are looked at. May rewrite it or answer it.
    "user_input" => UserInput, class: Transform,
    payload UserInputPayload {
        /// What was said.
        text: String,
        /// Pictures that came with it.
        images: Vec<Part>,
        /// Where it comes from.
        source: InputSource,
    }
    reply UserInputReply {
        /// New words.
        text: Rewrite<String>,
        /// New pictures.
        images: Rewrite<Vec<Part>>,
        /// The words are taken care of; the model is not asked.
        handled: Answer<Handled>,
    }

    /// A prompt is about to be given to the model. May rewrite it, add to it, or refuse it.
    "user_prompt" => UserPrompt, class: Guard,
    payload UserPromptPayload {
        /// The prompt.
        prompt: String,
        /// Pictures that come with it.
        images: Vec<Part>,
        /// Where it comes from.
        source: InputSource,
        /// The summary of what came before, if the conversation was compacted.
        summary: Option<String>,
        /// How often the model was asked again without the person.
        continuation: u32,
    }
    reply UserPromptReply {
        /// Whether the prompt may be given to the model.
        verdict: Strictest,
        /// A new prompt.
        prompt: Rewrite<String>,
        /// Text that the model sees until this prompt is answered.
        context: Append<String>,
    }

    /// Words that the person said while the model was at work are about to reach it. May add to them, or refuse them,
    /// which ends the run.
    "steering" => Steering, class: Guard,
    payload SteeringPayload {
        /// What the person said, in order.
        messages: Vec<String>,
    }
    reply SteeringReply {
        /// Whether the model may hear them.
        verdict: Strictest,
        /// Text that the model sees until this prompt is answered.
        context: Append<String>,
    }

    /// The person runs a shell command of their own. May refuse it or bring the result.
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
        /// Something of the handler's lane that runs the command in the shell's place.
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
        /// Text to put in front; a later handler's stands before an earlier one's.
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

    /// The agent takes up a prompt: the last word on the system prompt, and on messages that go with the prompt.
    "agent_start" => AgentStart, class: Transform,
    payload AgentStartPayload {
        /// The prompt.
        prompt: String,
        /// Pictures that come with it.
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

    /// The agent is done with a prompt: no tool call and no queued word is left.
    "agent_end" => AgentEnd, class: Observe,
    payload AgentEndPayload {
        /// The messages of this run, the prompt included.
        messages: Vec<Message>,
        /// Why the run ended.
        reason: EndReason,
        /// What its requests cost.
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
        /// Who goes on when the model has answered.
        fallback: Fallback,
        /// The prompt.
        message: String,
        /// How often the model was asked again without the person.
        continuation: u32,
    }
    reply LoopStartReply {
        /// Who goes on when the model has answered.
        fallback: Last<Fallback>,
        /// A change of the fuel.
        fuel: Adjust,
    }

    /// A turn begins: one request and the tools it asks for. Context added here lasts for this turn only.
    "turn_start" => TurnStart, class: Transform,
    payload TurnStartPayload {
        /// The turn within this run, counted from 0.
        turn_index: u32,
        /// When it began, in milliseconds since 1970.
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
        /// Why it ended.
        reason: TurnEnd,
        /// What the model said. Where it failed or was cancelled, its stop reason says so; absent if it was not asked.
        message: Option<Message>,
        /// The results of its tool calls.
        tool_results: Vec<Message>,
        /// What handlers want to add to the conversation so far.
        entries: Vec<EntryDraft>,
        /// Whether a handler wants the model to go on although nothing is left to do.
        go_on: bool,
    }
    reply TurnEndedReply {
        /// All that is to be added: what earlier handlers wanted, as far as it shall stay, and more.
        entries: Rewrite<Vec<EntryDraft>>,
        /// Whether the model is asked once more, where it had answered; ten times for one prompt at most, those of
        /// `stop` included.
        go_on: Rewrite<bool>,
    }

    /// Everything that a prompt has brought about is done: its turns, its follow-ups, and no word waits. Fires once
    /// after the last `agent_end`.
    "settled" => Settled, class: Observe,
    payload SettledPayload {
        /// Why the last run ended.
        reason: EndReason,
    }
    reply SettledReply {}

    /// The messages of a request are chosen. May rewrite what the model sees, or stop the run; the transcript stays.
    "model_context" => ModelContext, class: Guard,
    payload ModelContextPayload {
        /// What the model is about to see, without the system prompt.
        messages: Vec<Message>,
        /// What stands for the conversation before them.
        summary: Option<StandingSummary>,
        /// The request within this run, counted from 1; 0 for one outside of a run.
        iteration: u32,
        /// What the request is for.
        purpose: RequestPurpose,
    }
    reply ModelContextReply {
        /// Whether the request may be made; a deny ends the run.
        verdict: Strictest,
        /// New messages.
        messages: Rewrite<Vec<Message>>,
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
        /// How often the model was asked again without the person.
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
        /// The body of the request. It never holds a key.
        body: Json,
        /// How the body is written.
        form: RequestForm,
        /// What the request is for.
        purpose: RequestPurpose,
        /// The request within this run, counted from 1; 0 for one outside of a run.
        iteration: u32,
        /// How many more rounds of tools there may be; `None` without a limit.
        fuel_remaining: Option<u32>,
        /// How many rounds there may be in all.
        fuel_total: Option<u32>,
        /// How often the model was asked again without the person.
        continuation: u32,
    }
    reply PreRequestReply {
        /// Whether the request may be made; a deny ends the run.
        verdict: Strictest,
        /// A new body.
        body: Rewrite<Json>,
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

    /// The provider has answered completely.
    "response" => Response, class: Observe,
    payload ResponsePayload {
        /// What the model said.
        text: String,
        /// The prompt that it answers.
        prompt: String,
        /// Why it stopped.
        stop_reason: StopReason,
        /// How many tools it asks for.
        tool_call_count: u32,
        /// What the request cost.
        usage: Usage,
        /// How long the request took.
        duration_ms: u64,
        /// The request within this run, counted from 1; 0 for one outside of a run.
        iteration: u32,
        /// What the request is for.
        purpose: RequestPurpose,
    }
    reply ResponseReply {}

    // ---------------------------------------------------------------- messages

    /// A message begins: the person's, the model's, a tool's or a hook's.
    "message_start" => MessageStart, class: Observe,
    payload MessageStartPayload {
        /// The message as far as it is known.
        message: Message,
        /// Whether it was said while nothing ran, and nothing runs because of it.
        at_rest: bool,
    }
    reply MessageStartReply {}

    /// More of the model's answer has arrived.
    "message_update" => MessageUpdate, class: Observe,
    payload MessageUpdatePayload {
        /// The message that grows.
        message_id: String,
        /// What was added.
        delta: Delta,
    }
    reply MessageUpdateReply {}

    /// A message is complete, just before it is stored. May replace it by one of the same role.
    "message_end" => MessageEnd, class: Transform,
    payload MessageEndPayload {
        /// The message.
        message: Message,
        /// Whether it was said while nothing ran, and nothing runs because of it.
        at_rest: bool,
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
        /// The tool, in becket's own words, if it exists.
        own_name: Option<String>,
        /// What it does, where it is one of becket's operations.
        operation: Option<OperationKind>,
        /// The arguments as the model wrote them.
        arguments: Json,
        /// The same under their normalised names, if the tool exists and can read them.
        normalised: Option<Map<String, Value>>,
    }
    reply ToolStartReply {}

    /// Before a tool runs. May rewrite its arguments or refuse the call.
    "pre_tool" => PreTool, class: Guard, settle: normalise_arguments,
    payload PreToolPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// What it does, where it is one of becket's operations.
        operation: Option<OperationKind>,
        /// The arguments it will get, under their normalised names.
        arguments: Map<String, Value>,
        /// The call from within which this one is made.
        parent_tool_call_id: Option<String>,
    }
    reply PreToolReply {
        /// Whether the call may go ahead.
        verdict: Strictest,
        /// New arguments; the next handler sees them.
        arguments: Rewrite<Map<String, Value>>,
    }

    /// A file or directory is about to be read. The path is resolved: links and `..` are followed.
    "pre_file_read" => PreFileRead, class: Guard,
    payload PreFileReadPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The file, absolute and resolved.
        path: String,
        /// Whether it lies in the working directory or another folder that is free to read.
        inside: bool,
    }
    reply PreFileReadReply {
        /// Whether it may be read.
        verdict: Strictest,
    }

    /// A file is about to be written. The path is resolved: links and `..` are followed.
    "pre_file_write" => PreFileWrite, class: Guard,
    payload PreFileWritePayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The file, absolute and resolved.
        path: String,
        /// Its new content; `None` for an edit.
        content: Option<String>,
        /// The pieces of text that an edit replaces.
        edits: Vec<Replacement>,
        /// The lines that an edit replaces or adds to.
        lines: Vec<LineEdit>,
        /// Whether it lies in the working directory.
        inside: bool,
    }
    reply PreFileWriteReply {
        /// Whether it may be written.
        verdict: Strictest,
    }

    /// A shell command is about to run for the model.
    "pre_shell" => PreShell, class: Guard,
    payload PreShellPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The command line.
        command: String,
        /// The directory to run in, absolute.
        directory: String,
    }
    reply PreShellReply {
        /// Whether it may run.
        verdict: Strictest,
    }

    /// The network is about to be used for the model.
    "pre_fetch" => PreFetch, class: Guard,
    payload PreFetchPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The address; `None` for a tool that talks to the network without naming one.
        url: Option<String>,
        /// Why the address is sensitive, such as `loopback` or `private_network`; `None` when it is not.
        sensitive: Option<String>,
        /// The network addresses behind its host; a connection goes to one of them and to no other.
        addresses: Vec<String>,
        /// The address that leads to this one by a redirect; `None` for the one that the call names.
        redirected_from: Option<String>,
        /// The call in a few words, where there is no address.
        call_summary: Option<String>,
    }
    reply PreFetchReply {
        /// Whether it may be fetched.
        verdict: Strictest,
    }

    /// No rule has decided about a call, and the person is about to be asked. May answer in their place.
    "permission_request" => PermissionRequest, class: Guard,
    payload PermissionRequestPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// What it does, where it is one of becket's operations.
        operation: Option<OperationKind>,
        /// Its final arguments.
        arguments: Map<String, Value>,
        /// Why the person is asked, where a hook wants it.
        reason: Option<String>,
    }
    reply PermissionRequestReply {
        /// The answer.
        verdict: Strictest,
        /// Facts to show with the question.
        metadata: Merge,
    }

    /// It is settled whether a call runs, and by whom.
    "approval_decided" => ApprovalDecided, class: Observe,
    payload ApprovalDecidedPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// What it does, where it is one of becket's operations.
        operation: Option<OperationKind>,
        /// Its final arguments.
        arguments: Map<String, Value>,
        /// How it ended.
        decision: ApprovalDecision,
        /// Who decided.
        source: ApprovalSource,
        /// The hooks that decided, where hooks did.
        handlers: Vec<String>,
        /// Why, for a refusal.
        reason: Option<String>,
    }
    reply ApprovalDecidedReply {}

    /// A running tool reports progress.
    "tool_update" => ToolUpdate, class: Observe,
    payload ToolUpdatePayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// What it does, where it is one of becket's operations.
        operation: Option<OperationKind>,
        /// The arguments that it got.
        arguments: Map<String, Value>,
        /// The output that was added.
        output: String,
        /// What the result would be by now, from a tool that tells it; it takes the place of all output before.
        partial: Option<PartialResult>,
    }
    reply ToolUpdateReply {}

    /// A call has an output, of the tool or of a refusal. May rewrite it before anything is stored or cached.
    "pre_tool_output" => PreToolOutput, class: Filter,
    payload PreToolOutputPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// What it does, where it is one of becket's operations.
        operation: Option<OperationKind>,
        /// The arguments that it got.
        arguments: Map<String, Value>,
        /// What it produced.
        content: Vec<Part>,
        /// Whether it failed or was refused.
        is_error: bool,
        /// Whether the tool ran at all; a call that was refused has an output too.
        ran: bool,
        /// Data of the tool that the model does not see; `null` when there is none.
        details: Value,
    }
    reply PreToolOutputReply {
        /// New output.
        content: Rewrite<Vec<Part>>,
        /// New data.
        details: Rewrite<Value>,
        /// Whether it counts as failed.
        is_error: Rewrite<bool>,
        /// The output is withheld: the model sees these words instead, and no other handler sees it.
        withheld: Withheld,
    }

    /// An output is so large that it is about to be put aside, with a preview for the model.
    "pre_cache" => PreCache, class: Transform,
    payload PreCachePayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The arguments that it got.
        arguments: Map<String, Value>,
        /// The whole output.
        content: String,
        /// Its size in bytes.
        output_size: u64,
        /// Its length in characters.
        char_count: u64,
        /// Its length in lines.
        line_count: u64,
    }
    reply PreCacheReply {
        /// What the model sees instead of a preview.
        summary: First<String>,
        /// Whether to put it aside at all.
        cache: First<bool>,
    }

    /// An output was put aside.
    "post_cache" => PostCache, class: Observe,
    payload PostCachePayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// Its name in the context's folder of the cache.
        cache_id: String,
        /// Where the output can be read, as an address of the virtual file system.
        path: String,
        /// Its size in bytes.
        output_size: u64,
        /// The size of what the model sees.
        preview_size: u64,
        /// Its length in characters.
        char_count: u64,
        /// Its length in lines.
        line_count: u64,
        /// About how many tokens it would have been.
        token_estimate: u64,
    }
    reply PostCacheReply {}

    /// It is settled what the model will see of an output.
    "post_tool_output" => PostToolOutput, class: Observe,
    payload PostToolOutputPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The arguments that it got.
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
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// What it does, where it is one of becket's operations.
        operation: Option<OperationKind>,
        /// What the model sees.
        content: Vec<Part>,
        /// Data of the tool that the model does not see; `null` when there is none.
        details: Value,
        /// Whether it failed or was refused.
        is_error: bool,
        /// Whether the tool ran at all.
        ran: bool,
        /// How long it took, judging included.
        duration_ms: u64,
    }
    reply ToolEndReply {}

    /// A call is over and its result is stored. May stop the run or tell the model something.
    "post_tool" => PostTool, class: Transform,
    payload PostToolPayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// What it does, where it is one of becket's operations.
        operation: Option<OperationKind>,
        /// The arguments that it got.
        arguments: Map<String, Value>,
        /// The arguments that the model gave.
        original_arguments: Map<String, Value>,
        /// The output after `pre_tool_output`.
        result: String,
        /// Whether it failed or was refused.
        is_error: bool,
        /// Whether the tool ran at all.
        ran: bool,
        /// Whether the output was put aside.
        cached: bool,
        /// How long it ran.
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
        /// Who goes on when the model has answered.
        fallback: Fallback,
    }
    reply ToolBatchReply {
        /// Who goes on when the model has answered.
        fallback: Last<Fallback>,
        /// A change of the fuel.
        fuel: Adjust,
    }

    // ---------------------------------------------------------------- the end of an answer

    /// The model has said everything. May add to the conversation, or send the model on with a reason; the same reason
    /// twice in a row ends that.
    "stop" => Stop, class: Transform,
    payload StopPayload {
        /// The answer.
        response: String,
        /// The prompt that it answers.
        prompt: String,
        /// How often a hook has already sent the model on.
        continuations: u32,
        /// What handlers want to add to the conversation so far.
        entries: Vec<EntryDraft>,
        /// Whether a handler wants the model to go on with what is added.
        go_on: bool,
    }
    reply StopReply {
        /// Why the model must go on; it is told so.
        continue_with: First<String>,
        /// All that is to be added, whether the model goes on or not: what earlier handlers wanted, as far as it shall
        /// stay, and more.
        entries: Rewrite<Vec<EntryDraft>>,
        /// Whether the model goes on with what is added, where nobody says why it must.
        go_on: Rewrite<bool>,
    }

    // ---------------------------------------------------------------- compaction

    /// A conversation is about to be summarised. May refuse, steer, or bring the summary.
    "pre_compact" => PreCompact, class: Guard,
    payload PreCompactPayload {
        /// What made it necessary.
        reason: CompactReason,
        /// How much is replaced.
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
        /// What the person wants the summary to pay attention to.
        instructions: Option<String>,
        /// Tokens of the context now.
        input_tokens: u64,
        /// Tokens that the model has written.
        output_tokens: u64,
        /// How many tokens the model can take, when known.
        context_limit: Option<u64>,
    }
    reply PreCompactReply {
        /// Whether it may happen.
        verdict: Strictest,
        /// What the summary should pay attention to.
        context: Append<String>,
        /// The summary, instead of asking the model for one.
        summary: First<Summary>,
    }

    /// A conversation was summarised.
    "post_compact" => PostCompact, class: Observe,
    payload PostCompactPayload {
        /// What made it necessary.
        reason: CompactReason,
        /// How much was replaced.
        scope: CompactScope,
        /// How many messages there were.
        message_count_before: u32,
        /// How many messages there are now.
        message_count: u32,
        /// The new summary.
        summary: String,
        /// The entry that holds it.
        entry_id: String,
        /// The entry before that one.
        parent_id: Option<String>,
        /// The first message that was kept as it is.
        first_kept_id: Option<String>,
        /// Data of the hook that wrote the summary.
        details: Option<Value>,
        /// Whether a hook wrote it.
        by_hook: bool,
        /// Tokens of the context before.
        input_tokens: u64,
        /// Tokens that the model had written before.
        output_tokens: u64,
        /// How much the model can take, when known.
        context_limit: Option<u64>,
    }
    reply PostCompactReply {}

    /// A context is about to be cleared. May refuse.
    "pre_clear" => PreClear, class: Guard,
    payload PreClearPayload {
        /// How many messages there are.
        message_count: u32,
        /// The summary so far.
        summary: Option<String>,
    }
    reply PreClearReply {
        /// Whether it may happen.
        verdict: Strictest,
    }

    /// A context was cleared.
    "post_clear" => PostClear, class: Observe,
    payload PostClearPayload {
        /// How many messages there were.
        message_count: u32,
        /// The summary that there was.
        summary: Option<String>,
    }
    reply PostClearReply {}

    // ---------------------------------------------------------------- other agents

    /// A sub-agent is about to be asked. May refuse it, answer in its place, or change what it is given. Fires in the
    /// session that asks.
    "pre_subagent" => PreSubagent, class: Guard,
    payload PreSubagentPayload {
        /// The sub-agent, where it has a name.
        subagent_name: Option<String>,
        /// Its system prompt.
        system_prompt: String,
        /// What it is given.
        input: String,
        /// Its model.
        subagent_model: String,
        /// The temperature, when set.
        temperature: Option<f64>,
        /// The longest answer, when set.
        max_tokens: Option<u64>,
        /// The tools that it gets, by the names that the model knows; all of them are its parent's.
        tools: Vec<String>,
        /// How deep it stands: 1 below the person's own agent, 2 below that one's sub-agents.
        depth: u32,
    }
    reply PreSubagentReply {
        /// Whether it may be asked.
        verdict: Strictest,
        /// The answer, without asking it.
        response: Answer<String>,
        /// Another system prompt.
        system_prompt: Rewrite<String>,
        /// Another input.
        input: Rewrite<String>,
        /// Other tools. Only its parent's count.
        tools: Rewrite<Vec<String>>,
    }

    /// A sub-agent has answered or failed. Fires in the session that asked; not when a hook answered or refused.
    "post_subagent" => PostSubagent, class: Observe,
    payload PostSubagentPayload {
        /// The sub-agent, where it has a name.
        subagent_name: Option<String>,
        /// Its session.
        subagent_session_id: Option<String>,
        /// Its system prompt.
        system_prompt: String,
        /// What it was given.
        input: String,
        /// Its model.
        subagent_model: String,
        /// What it answered; empty when it failed.
        response: String,
        /// Why it failed, if it did.
        error: Option<String>,
        /// What its requests cost, those of its own sub-agents included.
        usage: Usage,
    }
    reply PostSubagentReply {}

    /// Another agent takes over, or gives the word back.
    "agent_switch" => AgentSwitch, class: Observe,
    payload AgentSwitchPayload {
        /// Who had the word.
        from_agent: String,
        /// Who has it now.
        to_agent: String,
        /// How it came about.
        kind: SwitchKind,
        /// The models of the one that had the word.
        from_models: Vec<AgentModel>,
    }
    reply AgentSwitchReply {}

    /// A message to another context is about to be delivered. A hook may deliver it by its own means.
    "pre_message_delivery" => PreMessageDelivery, class: Transform,
    payload PreMessageDeliveryPayload {
        /// Who sends it.
        from: String,
        /// Who gets it.
        to: String,
        /// What it says.
        content: String,
    }
    reply PreMessageDeliveryReply {
        /// It is delivered.
        delivered: Answer<Delivery>,
    }

    /// A message to another context was delivered, or could not be.
    "post_message_delivery" => PostMessageDelivery, class: Observe,
    payload PostMessageDeliveryPayload {
        /// Who sent it.
        from: String,
        /// Who gets it.
        to: String,
        /// What it says.
        content: String,
        /// What became of it.
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
        /// The tool, in becket's own words.
        tool_name: String,
        /// The tool's name as the model called it.
        called_as: String,
        /// The file's address.
        path: String,
        /// Its new content, where the call itself holds it; `None` for an edit and for all that is no writing.
        content: Option<String>,
        /// The context that writes.
        caller: String,
        /// Whether nothing is left at this address afterwards.
        removed: bool,
    }
    reply PreVfsWriteReply {
        /// Whether it may be written.
        verdict: Strictest,
    }

    /// A context has changed something in the virtual file system. Fires for each address that has changed.
    "post_vfs_write" => PostVfsWrite, class: Observe,
    payload PostVfsWritePayload {
        /// Identifies the call.
        tool_call_id: String,
        /// The tool, in becket's own words.
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
        /// Its language.
        language: String,
        /// How many definitions it has.
        symbol_count: u32,
        /// How many references it has.
        reference_count: u32,
    }
    reply FileIndexedReply {}

    // ---------------------------------------------------------------- settings and signals

    /// Another model was chosen.
    "model_change" => ModelChange, class: Observe,
    payload ModelChangePayload {
        /// The model now.
        new_model: String,
        /// The model before.
        previous_model: Option<String>,
        /// How it came to be chosen.
        choice: ModelChoice,
    }
    reply ModelChangeReply {}

    /// The model thinks more or less from now on.
    "thinking_change" => ThinkingChange, class: Observe,
    payload ThinkingChangePayload {
        /// How much it thinks now: `off`, `minimal`, `low`, `medium`, `high` or `xhigh`.
        new_level: String,
        /// How much it thought before.
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
        /// Why they are collected.
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

    /// The agent waits for the person.
    "attention" => Attention, class: Observe,
    payload AttentionPayload {
        /// Why.
        reason: AttentionReason,
        /// What it is about.
        message: String,
    }
    reply AttentionReply {}

    /// Something that the person should know: a warning or an error.
    "notification" => Notification, class: Observe,
    payload NotificationPayload {
        /// How serious it is.
        level: Level,
        /// What it says.
        message: String,
    }
    reply NotificationReply {}

    /// The run failed. Fires right after its `notification`.
    "error" => ErrorRaised, class: Observe,
    payload ErrorRaisedPayload {
        /// What kind of error.
        kind: ErrorKind,
        /// What happened.
        message: String,
    }
    reply ErrorRaisedReply {}

    /// The run has used up its iterations. Fires right after its `notification`.
    "iteration_limit" => IterationLimit, class: Observe,
    payload IterationLimitPayload {
        /// How many iterations there may be.
        limit: u32,
        /// What happened.
        message: String,
    }
    reply IterationLimitReply {}

    /// The person lets a run go on past its limit.
    "limit_raised" => LimitRaised, class: Observe,
    payload LimitRaisedPayload {
        /// How many requests there could be for this prompt.
        previous_limit: u32,
        /// How many there can be now.
        new_limit: u32,
    }
    reply LimitRaisedReply {}

    /// A handler broke. A handler of this event that breaks is only reported.
    "hook_failed" => HookFailed, class: Observe,
    payload HookFailedPayload {
        /// The event whose handler broke.
        failed_event: String,
        /// The handler.
        handler: String,
        /// Where the handler is configured.
        source: String,
        /// The kind of failure.
        cause: String,
        /// What happened.
        detail: String,
        /// What the handler wrote to standard error.
        stderr: String,
        /// Whether the action was refused because of it.
        refused: bool,
    }
    reply HookFailedReply {}
}

/// Arguments that a hook wrote may use aliases too; the next guard must see them under their normalised names, or a
/// rewrite to `cmd` would slip past one that looks at `command`. What cannot be read is refused by the gate.
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

    /// The event of that name.
    pub fn named(name: &str) -> Option<Self> {
        EVENTS
            .iter()
            .find(|event| event.name == name)
            .map(|event| event.id)
    }
}
