//! The input of plugins, hook by hook: the union of what documentation and programs of both generations promise.
//!
//! Guards of writing see the text that an edit writes. Several changes are shown as one text, or a text could get past
//! a guard in pieces.

use becket_events::{
    Event, Fallback, FileIndexed, FlockGoals, Json, LoopStart, PostCache, PostClear, PostCompact,
    PostMessageDelivery, PostSessionSwitch, PostSubagent, PostSystemPrompt, PostTool, PostToolOutput,
    PostVfsWrite, PreCache, PreClear, PreCompact, PreFetch, PreFileRead, PreFileWrite, PreMessageDelivery,
    PreRequest, PreShell, PreSubagent, PreSystemPrompt, PreTool, PreToolOutput, PreVfsWrite, SessionEnd,
    SessionStart, Stop, ToolBatch, ToolsOffered, UserPrompt, text_of,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::edit;
use super::situation::Situation;

// ---------------------------------------------------------------- sessions

pub(super) fn on_start(at: &Situation<'_, SessionStart>) -> String {
    session(at, &at.payload.project_root, at.payload.tool_count)
}

pub(super) fn on_end(at: &Situation<'_, SessionEnd>) -> String {
    session(at, &at.payload.project_root, at.payload.tool_count)
}

fn session<E: Event>(at: &Situation<'_, E>, project_root: &str, tool_count: u32) -> String {
    text(json!({
        "chibi_home": at.host.chibi_home.display().to_string(),
        "project_root": project_root,
        "tool_count": tool_count,
        "current_context": at.context_name,
        "verbose": at.host.verbose,
    }))
}

pub(super) fn on_context_switch(at: &Situation<'_, PostSessionSwitch>) -> String {
    let switch = at.payload;
    text(json!({
        "from_context": switch.from_context,
        "to_context": switch.to_context,
        "is_transient": switch.transient,
        "is_ephemeral": switch.transient,
    }))
}

// ---------------------------------------------------------------- messages and prompts

pub(super) fn pre_message(at: &Situation<'_, UserPrompt>) -> String {
    text(json!({
        "prompt": at.payload.prompt,
        "context_name": at.context_name,
        "summary": or_empty(&at.payload.summary),
        "recursion_depth": at.payload.continuation,
    }))
}

pub(super) fn post_message(at: &Situation<'_, Stop>) -> String {
    text(json!({
        "prompt": at.payload.prompt,
        "response": at.payload.response,
        "context_name": at.context_name,
    }))
}

pub(super) fn pre_system_prompt(at: &Situation<'_, PreSystemPrompt>) -> String {
    let prompt = at.payload;
    system_prompt(
        at.context_name,
        &prompt.summary,
        &prompt.flock_goals,
        &prompt.todos,
        &prompt.goals,
    )
}

pub(super) fn post_system_prompt(at: &Situation<'_, PostSystemPrompt>) -> String {
    let prompt = at.payload;
    system_prompt(
        at.context_name,
        &prompt.summary,
        &prompt.flock_goals,
        &prompt.todos,
        &prompt.goals,
    )
}

fn system_prompt(
    context_name: &str,
    summary: &Option<String>,
    flock_goals: &[FlockGoals],
    todos: &Option<String>,
    goals: &Option<String>,
) -> String {
    text(json!({
        "context_name": context_name,
        "summary": or_empty(summary),
        "flock_goals": flock_goals,
        "todos": or_empty(todos),
        "goals": or_empty(goals),
    }))
}

// ---------------------------------------------------------------- tools

pub(super) fn pre_tool(at: &Situation<'_, PreTool>) -> String {
    let call = at.payload;
    let shown = at
        .words
        .call(&call.called_as, &call.tool_name, call.operation, &call.arguments);
    text(json!({ "tool_name": shown.name, "arguments": shown.arguments }))
}

pub(super) fn post_tool(at: &Situation<'_, PostTool>) -> String {
    let call = at.payload;
    let shown = at.words.call(
        &call.called_as,
        &call.tool_name,
        call.operation,
        &call.original_arguments,
    );
    text(json!({
        "tool_name": shown.name,
        "arguments": shown.arguments,
        "result": call.result,
        "cached": call.cached,
    }))
}

pub(super) fn pre_tool_output(at: &Situation<'_, PreToolOutput>) -> String {
    let call = at.payload;
    let shown = at
        .words
        .call(&call.called_as, &call.tool_name, call.operation, &call.arguments);
    text(json!({
        "tool_name": shown.name,
        "arguments": shown.arguments,
        "output": text_of(&call.content),
    }))
}

pub(super) fn post_tool_output(at: &Situation<'_, PostToolOutput>) -> String {
    let call = at.payload;
    let shown = at.words.named(&call.called_as, &call.tool_name, &call.arguments);
    text(json!({
        "tool_name": shown.name,
        "arguments": shown.arguments,
        "output": call.output,
        "final_output": call.final_output,
        "cached": call.cached,
    }))
}

pub(super) fn pre_cache_output(at: &Situation<'_, PreCache>) -> String {
    let output = at.payload;
    let shown = at
        .words
        .named(&output.called_as, &output.tool_name, &output.arguments);
    text(json!({
        "tool_name": shown.name,
        "arguments": shown.arguments,
        "content": output.content,
        "output_size": output.output_size,
        "char_count": output.char_count,
        "line_count": output.line_count,
    }))
}

pub(super) fn post_cache_output(at: &Situation<'_, PostCache>) -> String {
    let output = at.payload;
    text(json!({
        "tool_name": at.words.tool_name(&output.called_as, &output.tool_name),
        "cache_id": output.cache_id,
        "output_size": output.output_size,
        "preview_size": output.preview_size,
        "char_count": output.char_count,
        "token_estimate": output.token_estimate,
        "line_count": output.line_count,
    }))
}

// ---------------------------------------------------------------- requests and the loop

pub(super) fn pre_api_tools(at: &Situation<'_, ToolsOffered>) -> String {
    let offered = at.payload;
    let tools: Vec<Value> = offered
        .tools
        .iter()
        .flat_map(|offer| {
            let names = at.words.names_of(offer).into_iter();
            names.map(|name| json!({ "name": name, "type": at.words.type_of(name, &offer.source) }))
        })
        .collect();
    let mut shown = object(json!({ "context_name": at.context_name, "tools": tools }));
    shown.extend(fuel(offered.fuel_remaining, offered.fuel_total));
    shown.insert("recursion_depth".into(), offered.continuation.into());
    text(shown)
}

/// The input of `pre_api_request`. The body is embedded as it is, because it grows with the conversation.
pub(super) fn pre_api_request(at: &Situation<'_, PreRequest>) -> String {
    #[derive(Serialize)]
    struct Shown<'a> {
        context_name: &'a str,
        request_body: &'a Json,
        #[serde(flatten)]
        fuel: Map<String, Value>,
        recursion_depth: u32,
    }
    text(Shown {
        context_name: at.context_name,
        request_body: &at.payload.body,
        fuel: fuel(at.payload.fuel_remaining, at.payload.fuel_total),
        recursion_depth: at.payload.continuation,
    })
}

pub(super) fn pre_agentic_loop(at: &Situation<'_, LoopStart>) -> String {
    let start = at.payload;
    let mut shown = object(json!({
        "context_name": at.context_name,
        "current_fallback": fallback(start.fallback),
        "message": start.message,
    }));
    shown.extend(fuel(start.fuel_remaining, start.fuel_total));
    text(shown)
}

pub(super) fn post_tool_batch(at: &Situation<'_, ToolBatch>) -> String {
    let batch = at.payload;
    let calls: Vec<Value> = batch
        .tool_calls
        .iter()
        .map(|call| {
            let shown = at
                .words
                .call(&call.called_as, &call.tool_name, call.operation, &call.arguments);
            json!({ "name": shown.name, "arguments": shown.arguments })
        })
        .collect();
    let mut shown = object(json!({
        "context_name": at.context_name,
        "current_fallback": fallback(batch.fallback),
        "tool_calls": calls,
    }));
    shown.extend(fuel(batch.fuel_remaining, batch.fuel_total));
    text(shown)
}

/// The fields about fuel; none without a limit.
fn fuel(remaining: Option<u32>, total: Option<u32>) -> Map<String, Value> {
    let fields = [("fuel_remaining", remaining), ("fuel_total", total)];
    let known = fields
        .into_iter()
        .filter_map(|(name, fuel)| Some((name.to_owned(), fuel?.into())));
    known.collect()
}

fn fallback(fallback: Fallback) -> &'static str {
    match fallback {
        Fallback::CallUser => "call_user",
        Fallback::CallAgent => "call_agent",
    }
}

// ---------------------------------------------------------------- permissions

pub(super) fn pre_file_read(at: &Situation<'_, PreFileRead>) -> String {
    let read = at.payload;
    text(json!({
        "tool_name": at.words.tool_name(&read.called_as, &read.tool_name),
        "path": read.path,
    }))
}

/// The input of `pre_file_write`. An edit is shown in the form of `file_edit`.
pub(super) fn pre_file_write(at: &Situation<'_, PreFileWrite>) -> String {
    let write = at.payload;
    let mut shown = object(json!({
        "tool_name": at.words.tool_name(&write.called_as, &write.tool_name),
        "path": write.path,
        "content": write.content,
    }));
    shown.extend(edit::told(&write.edits, &write.lines));
    text(shown)
}

pub(super) fn pre_shell_exec(at: &Situation<'_, PreShell>) -> String {
    let shell = at.payload;
    text(json!({
        "tool_name": at.words.tool_name(&shell.called_as, &shell.tool_name),
        "command": shell.command,
    }))
}

pub(super) fn pre_fetch_url(at: &Situation<'_, PreFetch>) -> String {
    let fetch = at.payload;
    let tool_name = at.words.tool_name(&fetch.called_as, &fetch.tool_name);
    text(match &fetch.url {
        Some(url) => {
            json!({ "tool_name": tool_name, "url": url, "safety": "sensitive", "reason": class(&fetch.sensitive) })
        }
        None => {
            json!({ "tool_name": tool_name, "safety": "no_url", "summary": or_empty(&fetch.call_summary) })
        }
    })
}

/// Why an address is sensitive, in chibi's terms; kinds that chibi does not distinguish keep becket's.
fn class(sensitive: &Option<String>) -> &str {
    match sensitive.as_deref().unwrap_or_default() {
        "loopback" | "unspecified" => "loopback address",
        "private_network" | "carrier_nat" => "private network address",
        "link_local" => "link-local address",
        "cloud_metadata" => "cloud metadata endpoint",
        "unparseable" => "could not parse URL",
        other => other,
    }
}

// ---------------------------------------------------------------- other agents, the index

pub(super) fn pre_spawn_agent(at: &Situation<'_, PreSubagent>) -> String {
    let agent = at.payload;
    text(json!({
        "system_prompt": agent.system_prompt,
        "input": agent.input,
        "model": agent.subagent_model,
        "temperature": agent.temperature,
        "max_tokens": agent.max_tokens,
    }))
}

pub(super) fn post_spawn_agent(at: &Situation<'_, PostSubagent>) -> String {
    let agent = at.payload;
    text(json!({
        "system_prompt": agent.system_prompt,
        "input": agent.input,
        "model": agent.subagent_model,
        "response": agent.response,
    }))
}

pub(super) fn pre_send_message(at: &Situation<'_, PreMessageDelivery>) -> String {
    let message = at.payload;
    text(json!({
        "from": message.from,
        "to": message.to,
        "content": message.content,
        "context_name": at.context_name,
    }))
}

pub(super) fn post_send_message(at: &Situation<'_, PostMessageDelivery>) -> String {
    let message = at.payload;
    text(json!({
        "from": message.from,
        "to": message.to,
        "content": message.content,
        "context_name": at.context_name,
        "delivery_result": message.delivery_result,
    }))
}

pub(super) fn post_index_file(at: &Situation<'_, FileIndexed>) -> String {
    text(json!({
        "path": at.payload.path,
        "lang": at.payload.language,
        "symbol_count": at.payload.symbol_count,
        "ref_count": at.payload.reference_count,
    }))
}

// ---------------------------------------------------------------- the virtual file system and the context

pub(super) fn pre_vfs_write(at: &Situation<'_, PreVfsWrite>) -> String {
    text(json!({
        "tool_name": at.words.tool_name(&at.payload.called_as, &at.payload.tool_name),
        "path": at.payload.path,
        "content": at.payload.content,
        "caller": at.payload.caller,
    }))
}

pub(super) fn post_vfs_write(at: &Situation<'_, PostVfsWrite>) -> String {
    text(json!({
        "tool_name": at.words.tool_name(&at.payload.called_as, &at.payload.tool_name),
        "path": at.payload.path,
        "caller": at.payload.caller,
    }))
}

pub(super) fn pre_clear(at: &Situation<'_, PreClear>) -> String {
    count(
        at.context_name,
        at.payload.message_count,
        or_empty(&at.payload.summary),
    )
}

pub(super) fn post_clear(at: &Situation<'_, PostClear>) -> String {
    count(
        at.context_name,
        at.payload.message_count,
        or_empty(&at.payload.summary),
    )
}

pub(super) fn pre_compact(at: &Situation<'_, PreCompact>) -> String {
    count(
        at.context_name,
        at.payload.message_count,
        or_empty(&at.payload.summary),
    )
}

fn count(context_name: &str, message_count: u32, summary: &str) -> String {
    text(json!({ "context_name": context_name, "message_count": message_count, "summary": summary }))
}

/// The input of `post_compact`. The documentation promises the number of messages before, the program sends the one
/// after; both are included.
pub(super) fn post_compact(at: &Situation<'_, PostCompact>) -> String {
    text(json!({
        "context_name": at.context_name,
        "message_count": at.payload.message_count_before,
        "message_count_after": at.payload.message_count,
        "summary": at.payload.summary,
    }))
}

pub(super) fn pre_rolling_compact(at: &Situation<'_, PreCompact>) -> String {
    text(json!({
        "context_name": at.context_name,
        "message_count": at.payload.message_count,
        // In becket the system prompt is no message of a conversation.
        "non_system_count": at.payload.message_count,
        "summary": or_empty(&at.payload.summary),
    }))
}

pub(super) fn post_rolling_compact(at: &Situation<'_, PostCompact>) -> String {
    let compaction = at.payload;
    text(json!({
        "context_name": at.context_name,
        "message_count": compaction.message_count,
        "messages_archived": compaction.message_count_before.saturating_sub(compaction.message_count),
        "summary": compaction.summary,
    }))
}

fn or_empty(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or_default()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => unreachable!("written as an object above"),
    }
}

fn text(shown: impl Serialize) -> String {
    serde_json::to_string(&shown).expect("plain data becomes JSON")
}
