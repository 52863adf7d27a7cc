//! The input of extensions, event by event: the union of the fields of all versions of pi, so that each finds its own.
//!
//! Values that are no data (`signal`, sets of files) are made by the prelude.

use std::sync::Arc;

use becket_events::{
    AgentEnd, AgentStart, CompactReason, EndReason, EntryDraft, Event, InputSource, LoopStart, Message,
    MessageEnd, MessageStart, ModelChange, ModelChoice, ModelContext, NameChange, Part, PostCompact,
    PostSessionFork, PostSessionSwitch, PostSessionTree, PreCompact, PreRequest, PreSessionFork,
    PreSessionSwitch, PreSessionTree, PreTool, PreToolOutput, Resources, ResponseData, ResponseStart, Scope,
    SessionEnd, SessionStart, Settled, StandingSummary, StartReason, Stop, SwitchReason, ThinkingChange,
    ToolEnd, ToolStart, TurnEnd, TurnEnded, TurnStart, UserInput, UserShell,
};
use becket_hooks::Occasion;
use serde_json::{Map, Value, json};

use super::entries::{Entry, EntryKind, entries};
use super::fields::{Fields, json as text_of};
use super::messages::{self, parts, words_or_parts};
use super::results;
use super::words::{ModelName, call_of, output_of, tool_name};

/// pi's default for `reserveTokens` in `preparation.settings` of a compaction, which becket's settings do not have.
const RESERVE_TOKENS: u64 = 16_384;
/// pi's default for `keepRecentTokens` in `preparation.settings` of a compaction.
const KEEP_RECENT_TOKENS: u64 = 20_000;

// ---------------------------------------------------------------- the user's input

pub(super) fn input(fields: Fields, occasion: &Occasion<'_, UserInput>) -> Fields {
    let said = occasion.payload;
    let (source, behaviour) = match said.source {
        InputSource::Interactive => ("interactive", None),
        InputSource::Rpc => ("rpc", None),
        InputSource::Hook | InputSource::Agent => ("extension", None),
        InputSource::Steering => ("interactive", Some("steer")),
        InputSource::FollowUp => ("interactive", Some("followUp")),
    };
    fields
        .with("text", &said.text)
        .maybe("images", images(&said.images))
        .with("source", source)
        .maybe("streamingBehavior", behaviour)
}

pub(super) fn user_bash(fields: Fields, occasion: &Occasion<'_, UserShell>) -> Fields {
    let shell = occasion.payload;
    fields
        .with("command", &shell.command)
        .with("excludeFromContext", shell.hidden)
        .with("cwd", &shell.directory)
}

// ---------------------------------------------------------------- the run

pub(super) fn before_agent_start(fields: Fields, occasion: &Occasion<'_, AgentStart>) -> Fields {
    let start = occasion.payload;
    fields
        .with("messageType", "user")
        .with("prompt", &start.prompt)
        .maybe("images", images(&start.images))
        .raw(
            "systemPrompt",
            occasion.text("pi system prompt", || text_of(&start.system_prompt)),
        )
        .with("systemPromptOptions", json!({"cwd": occasion.scope.cwd}))
}

/// The input of `agent_start`: only its name.
pub(super) fn agent_start(fields: Fields, _: &Occasion<'_, LoopStart>) -> Fields {
    fields
}

pub(super) fn agent_end(fields: Fields, occasion: &Occasion<'_, AgentEnd>) -> Fields {
    let messages = &occasion.payload.messages;
    fields.raw("messages", shown_messages(occasion, None, messages))
}

pub(super) fn agent_settled(fields: Fields, occasion: &Occasion<'_, Settled>) -> Fields {
    fields.with("aborted", occasion.payload.reason == EndReason::Cancelled)
}

pub(super) fn turn_start(fields: Fields, occasion: &Occasion<'_, TurnStart>) -> Fields {
    fields
        .with("turnIndex", occasion.payload.turn_index)
        .with("timestamp", occasion.payload.time_ms)
}

pub(super) fn context(fields: Fields, occasion: &Occasion<'_, ModelContext>) -> Fields {
    let context = occasion.payload;
    let shown = shown_messages(occasion, context.summary.as_ref(), &context.messages);
    fields.mutable("messages", shown)
}

pub(super) fn turn_end(fields: Fields, occasion: &Occasion<'_, TurnEnded>) -> Fields {
    let (turn, model) = (occasion.payload, ModelName::in_use(occasion.scope));
    let outcome = match turn.reason {
        TurnEnd::Cancelled => "aborted",
        TurnEnd::Error | TurnEnd::HookBlocked | TurnEnd::LoopDetected => "error",
        TurnEnd::Normal | TurnEnd::Continue | TurnEnd::Steered | TurnEnd::Limit => "completed",
    };
    let message = match &turn.message {
        Some(message) => messages::shown(message, model),
        None => messages::no_answer(model, outcome, now_ms()),
    };
    let results = turn.tool_results.iter();
    let results: Vec<Value> = results.map(|result| messages::shown(result, model)).collect();
    let result_ids: Vec<&str> = turn.tool_results.iter().map(Message::id).collect();
    fields
        .with("turnIndex", turn.turn_index)
        .with("message", message)
        .with("toolResults", results)
        .maybe("messageEntryId", turn.message.as_ref().map(Message::id))
        .with("toolResultEntryIds", result_ids)
        .with("outcome", outcome)
        .with(
            "entries",
            turn.entries.iter().map(shown_draft).collect::<Vec<_>>(),
        )
        .with("continue", turn.go_on)
}

pub(super) fn agent_before_settle(fields: Fields, occasion: &Occasion<'_, Stop>) -> Fields {
    let stop = occasion.payload;
    fields
        .with("outcome", "completed")
        .with(
            "entries",
            stop.entries.iter().map(shown_draft).collect::<Vec<_>>(),
        )
        .with("continue", stop.go_on)
}

fn shown_draft(draft: &EntryDraft) -> Value {
    match draft {
        EntryDraft::Record { kind, data } => json!({"type": "custom", "customType": kind, "data": data}),
        EntryDraft::Note(note) => {
            let mut shown = json!({
                "type": "custom_message",
                "customType": note.kind,
                "content": words_or_parts(&note.content),
                "display": note.display,
            });
            messages::add(&mut shown, "details", note.details.clone());
            shown
        }
    }
}

// ---------------------------------------------------------------- requests and messages

pub(super) fn before_provider_request(fields: Fields, occasion: &Occasion<'_, PreRequest>) -> Fields {
    let body = &occasion.payload.body;
    fields.mutable("payload", occasion.text("pi payload", || body.text().into()))
}

pub(super) fn before_provider_headers(fields: Fields, occasion: &Occasion<'_, PreRequest>) -> Fields {
    let headers = occasion.payload.headers.iter();
    let headers: Map<String, Value> = headers
        .map(|header| (header.name.clone(), header.value.clone().into()))
        .collect();
    fields.mutable("headers", text_of(&headers))
}

pub(super) fn provider_stream_event(fields: Fields, occasion: &Occasion<'_, ResponseData>) -> Fields {
    let model = ModelName::in_use(occasion.scope);
    fields
        .with("provider", model.provider)
        .with("api", model.api())
        .with("model", model.id)
        .raw("data", occasion.payload.data.text())
}

pub(super) fn after_provider_response(fields: Fields, occasion: &Occasion<'_, ResponseStart>) -> Fields {
    let response = occasion.payload;
    let mut headers = Map::new();
    for header in &response.headers {
        let value = match headers.get(&header.name).and_then(Value::as_str) {
            Some(before) => format!("{before}, {}", header.value),
            None => header.value.clone(),
        };
        headers.insert(header.name.clone(), value.into());
    }
    fields.with("status", response.status).with("headers", headers)
}

pub(super) fn message_start(fields: Fields, occasion: &Occasion<'_, MessageStart>) -> Fields {
    message(fields, occasion, &occasion.payload.message)
}

pub(super) fn message_end(fields: Fields, occasion: &Occasion<'_, MessageEnd>) -> Fields {
    fields.mutable("message", message_text(occasion, &occasion.payload.message))
}

fn message<E: Event>(fields: Fields, occasion: &Occasion<'_, E>, message: &Message) -> Fields {
    fields.raw("message", message_text(occasion, message))
}

fn message_text<E: Event>(occasion: &Occasion<'_, E>, message: &Message) -> Arc<str> {
    let model = ModelName::in_use(occasion.scope);
    occasion.text("pi message", || text_of(&messages::shown(message, model)))
}

// ---------------------------------------------------------------- tools

pub(super) fn tool_execution_start(fields: Fields, occasion: &Occasion<'_, ToolStart>) -> Fields {
    let call = occasion.payload;
    let own_name = call.own_name.as_deref().unwrap_or(&call.tool_name);
    let fields = fields.with("toolCallId", &call.tool_call_id);
    let name = tool_name(call.operation, own_name);
    // The call is shown as the model wrote it if pi has the same names, or if it cannot be parsed.
    match call.normalised.as_ref().filter(|_| name != call.tool_name) {
        None => fields.with("toolName", name).raw("args", call.arguments.text()),
        Some(arguments) => {
            let called = becket_dialect_kit::called::Called {
                profile: &super::words::PROFILE,
                id: &call.tool_call_id,
                own_name,
                called_as: &call.tool_name,
                operation: call.operation,
                arguments,
            };
            fields
                .with("toolName", called.name())
                .with("args", called.foreign_arguments())
        }
    }
}

pub(super) fn tool_call(fields: Fields, occasion: &Occasion<'_, PreTool>) -> Fields {
    let call = call_of(occasion.payload);
    fields
        .with("toolCallId", call.id)
        .with("toolName", call.name())
        .mutable("input", text_of(&call.foreign_arguments()))
        .maybe("parentToolCallId", occasion.payload.parent_tool_call_id.as_ref())
}

pub(super) fn tool_result(fields: Fields, occasion: &Occasion<'_, PreToolOutput>) -> Fields {
    let (output, call) = (occasion.payload, output_of(occasion.payload));
    fields
        .with("toolCallId", call.id)
        .with("toolName", call.name())
        .with("input", call.foreign_arguments())
        .mutable("content", text_of(&parts(&output.content)))
        .maybe_mutable(
            "details",
            results::details(output.operation, Some(&output.details), output.is_error),
        )
        .with("isError", output.is_error)
}

pub(super) fn tool_execution_end(fields: Fields, occasion: &Occasion<'_, ToolEnd>) -> Fields {
    let end = occasion.payload;
    let mut result = json!({"content": parts(&end.content)});
    let details = results::details(end.operation, Some(&end.details), end.is_error);
    messages::add(&mut result, "details", details);
    fields
        .with("toolCallId", &end.tool_call_id)
        .with("toolName", tool_name(end.operation, &end.tool_name))
        .with("result", result)
        .with("isError", end.is_error)
        .maybe("durationMs", end.ran.then_some(end.duration_ms))
}

// ---------------------------------------------------------------- sessions

pub(super) fn session_start(fields: Fields, occasion: &Occasion<'_, SessionStart>) -> Fields {
    let start = occasion.payload;
    let replaces = start.previous_session_id.is_some();
    let reason = match start.reason {
        StartReason::New | StartReason::Clear if replaces => "new",
        StartReason::Resume if replaces => "resume",
        StartReason::Fork => "fork",
        StartReason::Reload => "reload",
        // A program that starts with an earlier conversation is a start as well.
        _ => "startup",
    };
    fields
        .with("reason", reason)
        .maybe("previousSessionFile", start.previous_session_file.as_ref())
}

pub(super) fn session_shutdown(fields: Fields, occasion: &Occasion<'_, SessionEnd>) -> Fields {
    let end = occasion.payload;
    let reason = match end.next {
        Some(StartReason::New | StartReason::Clear) => "new",
        Some(StartReason::Fork) => "fork",
        Some(StartReason::Reload) => "reload",
        Some(_) => "resume",
        None if end.reason == EndReason::Switched => "resume",
        None => "quit",
    };
    fields
        .with("reason", reason)
        .maybe("targetSessionFile", end.next_session_file.as_ref())
}

pub(super) fn session_before_switch(fields: Fields, occasion: &Occasion<'_, PreSessionSwitch>) -> Fields {
    let switch = occasion.payload;
    fields
        .with("reason", switch_reason(switch.reason))
        .maybe("targetSessionFile", switch.target_session_file.as_ref())
}

pub(super) fn session_switch(fields: Fields, occasion: &Occasion<'_, PostSessionSwitch>) -> Fields {
    let switch = occasion.payload;
    fields
        .with("reason", switch_reason(switch.reason))
        .maybe("previousSessionFile", switch.previous_session_file.as_ref())
}

/// pi's reason for a switch. A switch to another context counts as resuming a conversation; pi has no event for it.
fn switch_reason(reason: SwitchReason) -> &'static str {
    match reason {
        SwitchReason::New => "new",
        SwitchReason::Resume | SwitchReason::Context => "resume",
    }
}

pub(super) fn session_before_fork(fields: Fields, occasion: &Occasion<'_, PreSessionFork>) -> Fields {
    let position = if occasion.payload.including {
        "at"
    } else {
        "before"
    };
    fields
        .with("entryId", &occasion.payload.entry_id)
        .with("position", position)
}

pub(super) fn session_fork(fields: Fields, occasion: &Occasion<'_, PostSessionFork>) -> Fields {
    fields.maybe(
        "previousSessionFile",
        occasion.payload.previous_session_file.as_ref(),
    )
}

pub(super) fn session_before_tree(fields: Fields, occasion: &Occasion<'_, PreSessionTree>) -> Fields {
    let (tree, model) = (occasion.payload, ModelName::in_use(occasion.scope));
    let mut preparation = json!({
        "targetId": tree.target_id,
        "oldLeafId": tree.leaf_id,
        "commonAncestorId": tree.common_ancestor_id,
        "entriesToSummarize": entries(&tree.abandoned, model),
        "userWantsSummary": tree.wants_summary,
    });
    let instructions = tree.instructions.clone().map(Value::from);
    messages::add(&mut preparation, "customInstructions", instructions);
    let alone = tree.instructions_alone.then_some(true.into());
    messages::add(&mut preparation, "replaceInstructions", alone);
    messages::add(&mut preparation, "label", tree.label.clone().map(Value::from));
    fields.with("preparation", preparation)
}

pub(super) fn session_tree(fields: Fields, occasion: &Occasion<'_, PostSessionTree>) -> Fields {
    let tree = occasion.payload;
    let summary = tree.summary.as_ref().map(|summary| {
        let id = tree.summary_id.as_deref().unwrap_or_default();
        let entry = Entry {
            id,
            parent_id: tree.place_id.as_deref(),
            time_ms: now_ms(),
            kind: EntryKind::BranchSummary {
                from_id: tree.place_id.as_deref().unwrap_or("root"),
                summary: &summary.text,
                details: summary.details.as_ref(),
                by_hook: tree.by_hook,
            },
        };
        entry.shown(ModelName::in_use(occasion.scope))
    });
    fields
        .with("newLeafId", &tree.leaf_id)
        .with("oldLeafId", &tree.previous_leaf_id)
        .with("fromExtension", tree.by_hook)
        .maybe("summaryEntry", summary)
}

pub(super) fn session_before_compact(fields: Fields, occasion: &Occasion<'_, PreCompact>) -> Fields {
    let (compaction, model) = (occasion.payload, ModelName::in_use(occasion.scope));
    let to_summarise: Vec<Value> = compaction
        .messages
        .iter()
        .map(|message| messages::shown(message, model))
        .collect();
    let mut preparation = json!({
        "firstKeptEntryId": compaction.first_kept_id.as_deref().unwrap_or_default(),
        "messagesToSummarize": to_summarise,
        "turnPrefixMessages": [],
        "isSplitTurn": false,
        "tokensBefore": compaction.input_tokens,
        "fileOps": file_operations(&to_summarise),
        "settings": {
            "enabled": true,
            "reserveTokens": RESERVE_TOKENS,
            "keepRecentTokens": KEEP_RECENT_TOKENS,
        },
    });
    let summary = compaction.summary.clone().map(Value::from);
    messages::add(&mut preparation, "previousSummary", summary);
    let branch = compaction.messages.iter().chain(&compaction.kept);
    fields
        .with("preparation", preparation)
        .with("branchEntries", entries(branch, model))
        .maybe("customInstructions", compaction.instructions.as_ref())
        .with("reason", compact_reason(compaction.reason))
        .with("willRetry", compaction.reason == CompactReason::Overflow)
}

pub(super) fn session_compact(fields: Fields, occasion: &Occasion<'_, PostCompact>) -> Fields {
    let compaction = occasion.payload;
    let entry = Entry {
        id: &compaction.entry_id,
        parent_id: compaction.parent_id.as_deref(),
        time_ms: now_ms(),
        kind: EntryKind::Compaction {
            summary: &compaction.summary,
            first_kept_id: compaction.first_kept_id.as_deref(),
            tokens_before: compaction.input_tokens,
            details: compaction.details.as_ref(),
            by_hook: compaction.by_hook,
        },
    };
    fields
        .with("compactionEntry", entry.shown(ModelName::in_use(occasion.scope)))
        .with("fromExtension", compaction.by_hook)
        .with("reason", compact_reason(compaction.reason))
        .with("willRetry", compaction.reason == CompactReason::Overflow)
}

pub(super) fn compact_reason(reason: CompactReason) -> &'static str {
    match reason {
        CompactReason::Manual => "manual",
        CompactReason::Threshold | CompactReason::ToolOverflow => "threshold",
        CompactReason::Overflow => "overflow",
    }
}

/// The files that were used by the calls in some messages.
fn file_operations(messages: &[Value]) -> Value {
    let calls = messages
        .iter()
        .filter_map(|message| message["content"].as_array());
    let calls = calls.flatten().filter(|part| part["type"] == "toolCall");
    let mut files = json!({"read": [], "written": [], "edited": []});
    for call in calls {
        let kind = match call["name"].as_str() {
            Some("read") => "read",
            Some("write") => "written",
            Some("edit") => "edited",
            _ => continue,
        };
        let path = &call["arguments"]["path"];
        if let Some(list) = files[kind].as_array_mut()
            && path.is_string()
            && !list.contains(path)
        {
            list.push(path.clone());
        }
    }
    files
}

// ---------------------------------------------------------------- settings

pub(super) fn model_select(fields: Fields, occasion: &Occasion<'_, ModelChange>) -> Fields {
    let change = occasion.payload;
    let source = match change.choice {
        ModelChoice::Set => "set",
        ModelChoice::Cycle => "cycle",
        ModelChoice::Restore => "restore",
    };
    fields
        .with("model", shown_model(&change.new_model))
        .maybe("previousModel", change.previous_model.as_deref().map(shown_model))
        .with("source", source)
}

pub(super) fn thinking_level_select(fields: Fields, occasion: &Occasion<'_, ThinkingChange>) -> Fields {
    fields
        .with("level", &occasion.payload.new_level)
        .with("previousLevel", &occasion.payload.previous_level)
}

pub(super) fn session_info_changed(fields: Fields, occasion: &Occasion<'_, NameChange>) -> Fields {
    fields.with("name", &occasion.payload.name)
}

fn shown_model(model: &str) -> Value {
    let model = ModelName::of(model);
    json!({"provider": model.provider, "id": model.id, "name": model.id, "api": model.api()})
}

pub(super) fn resources_discover(fields: Fields, occasion: &Occasion<'_, Resources>) -> Fields {
    let reason = match occasion.payload.reason {
        StartReason::Reload => "reload",
        _ => "startup",
    };
    fields.with("cwd", &occasion.scope.cwd).with("reason", reason)
}

// ---------------------------------------------------------------- helpers

/// The current time in milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |age| age.as_millis() as u64)
}

/// Messages as text, after the summary of the messages before them; made once for all handlers that see the same.
fn shown_messages<E: Event>(
    occasion: &Occasion<'_, E>,
    summary: Option<&StandingSummary>,
    messages: &[Message],
) -> Arc<str> {
    let model = ModelName::in_use(occasion.scope);
    occasion.text("pi messages", || {
        let said = messages.iter().map(|message| messages::shown(message, model));
        let summary = summary.map(messages::standing_summary);
        text_of(&summary.into_iter().chain(said).collect::<Vec<Value>>())
    })
}

fn images(images: &[Part]) -> Option<Value> {
    (!images.is_empty()).then(|| parts(images))
}

/// Whether an event happens in the user's own session, not in that of a sub-agent.
pub(super) fn is_own(scope: &Scope) -> bool {
    scope.parent_session_id.is_none()
}
