//! Readers of the answers of hooks, plugins, extensions and models.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arbtest::arbitrary::{Result, Unstructured};
use becket_agent_hooks::{Decision, Declaration, InterceptorVerdict};
use becket_chibi::{HostFacts, ScriptHook, is_schema};
use becket_docker_agent::{contracts, is_verdict, troubles_of_answer};
use becket_events::{EVENTS, EventId};
use becket_hooks::{Answered, Engine, Failure, Field, LaneKind, ScriptHandler, trouble_of_answer};
use becket_mcp::is_answer;
use becket_pi::ExtensionOwner;
use becket_providers::{Api, read_answer, read_model_page};
use futures_util::future::BoxFuture;
use url::Url;

use super::agent::reader;
use crate::text::{changed, json_text, text};

/// Names and words of answers.
const WORDS: &[&str] = &[
    "decision",
    "allow",
    "deny",
    "ask",
    "reason",
    "block",
    "prompt",
    "arguments",
    "verdict",
    "output",
    "result",
    "messages",
    "content",
    "type",
    "text",
    "role",
    "user",
    "assistant",
    "hookSpecificOutput",
    "permissionDecision",
    "updatedInput",
    "continue",
    "stopReason",
    "systemMessage",
    "additionalContext",
    "tools",
    "name",
    "input",
    "cancel",
    "details",
    "isError",
    "exit_code",
    "fuel",
    "remove",
    "add",
    "message",
    "entries",
    "images",
    "data",
    "mimeType",
    "image",
    "summary",
    "\u{0}",
    "",
    "systemPrompt",
    "command",
    "path",
    "shell",
    "approved",
    "denied",
    "true",
    "null",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
];

/// The payload of an event as it was really sent.
fn golden(event: EventId) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/events");
    std::fs::read_to_string(folder.join(format!("{}.json", event.info().name))).ok()
}

/// A handler that always gives the same answer.
struct Says(String);

impl ScriptHandler for Says {
    fn call<'a>(&'a self, fields: Vec<Field>) -> BoxFuture<'a, std::result::Result<Answered, Failure>> {
        let changed = fields.iter().take(3).map(|field| (field.name, self.0.clone()));
        let answered = Answered {
            returned: Some(self.0.clone()),
            changed: changed.collect(),
        };
        Box::pin(std::future::ready(Ok(answered)))
    }
}

/// Fires an event at the engine, as it was recorded.
fn fire(engine: &Engine, event: EventId) {
    let Some(text) = golden(event) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let _ = runtime
        .expect("a runtime can be made")
        .block_on(engine.replay(event, &text));
}

pub fn own(u: &mut Unstructured<'_>) -> Result<()> {
    let event = u.choose(EVENTS)?.id;
    let _ = trouble_of_answer(event, &json_text(u, WORDS)?);
    Ok(())
}

pub fn chibi(u: &mut Unstructured<'_>) -> Result<()> {
    let hooks = becket_chibi::hooks();
    let hook = &hooks[u.choose_index(hooks.len())?];
    let engine = Engine::new(None);
    let script = ScriptHook {
        file: "fuzz".into(),
        source: "fuzz:1".into(),
        function: Arc::new(Says(json_text(u, WORDS)?)),
        timeout: Duration::from_secs(60),
        hears: Arc::new(|_| true),
        lane: LaneKind::Scheme,
    };
    let host = HostFacts {
        chibi_home: "/nowhere".into(),
        project_root: "/nowhere".into(),
        hook_timeout: Duration::from_secs(60),
        environment: Arc::default(),
        terminal: None,
        verbose: false,
    };
    hook.register_script(&engine, script, &host);
    fire(&engine, hook.event());
    Ok(())
}

pub fn pi(u: &mut Unstructured<'_>) -> Result<()> {
    let rows = becket_pi::rows();
    let row = &rows[u.choose_index(rows.len())?];
    let engine = Engine::new(None);
    let owner = ExtensionOwner {
        name: "fuzz".into(),
        source: "fuzz".into(),
        order: Vec::new(),
        timeout: Duration::from_secs(60),
        lane: LaneKind::Javascript,
        priority: 0,
    };
    row.register(&engine, Arc::new(Says(json_text(u, WORDS)?)), &owner);
    fire(&engine, row.event());
    Ok(())
}

/// Verdicts, changes and declarations of AGENT-HOOKS. A verdict that was read fits together.
pub fn agent_hooks(u: &mut Unstructured<'_>) -> Result<()> {
    const ANSWERS: &[&str] = &[
        "{\"decision\":\"deny\",\"reason\":\"no\",\"approval\":{}}",
        "{\"decision\":\"transform\",\"transform\":{\"path\":\"$target.a[0][\\\"b\\\"]\",\"value\":1}}",
        "{\"declaration\":\"agent-hooks-declaration/1.0\",\"bindings\":[{\"id\":\"a\",\"kind\":\"b.c\"}]}",
    ];
    let answer = changed(u, ANSWERS, WORDS)?;
    let Ok(value) = serde_json::from_str::<serde_json::Value>(&answer) else {
        return Ok(());
    };
    let _ = Declaration::read(value.clone());
    if let Ok(verdict) = InterceptorVerdict::read(value) {
        assert_eq!(
            verdict.transform.is_some(),
            verdict.decision == Decision::Transform
        );
        assert!(verdict.approval.is_none() || !verdict.permits());
    }
    Ok(())
}

pub fn docker_agent(u: &mut Unstructured<'_>) -> Result<()> {
    let contracts = contracts();
    let contract = &contracts[u.choose_index(contracts.len())?];
    let answer = match u.ratio(1, 4)? {
        true => text(u, WORDS)?,
        false => json_text(u, WORDS)?,
    };
    let _ = troubles_of_answer(&answer, contract);
    Ok(())
}

pub fn judge(u: &mut Unstructured<'_>) -> Result<()> {
    const ANSWERS: &[&str] = &[
        "{\"decision\":\"deny\",\"reason\":\"no\"}",
        "```json\n{\"decision\":\"allow\",\"reason\":\"yes\"}\n```",
    ];
    is_verdict(&match u.ratio(1, 2)? {
        true => text(u, WORDS)?,
        false => changed(u, ANSWERS, WORDS)?,
    });
    Ok(())
}

/// The descriptions that plugins give of themselves.
pub fn schema(u: &mut Unstructured<'_>) -> Result<()> {
    const FIELDS: &[&str] = &[
        "name",
        "description",
        "parameters",
        "hooks",
        "parallel",
        "flow_control",
        "summary_params",
        "type",
        "object",
        "properties",
        "required",
        "pre_tool",
        "x",
        "",
        "é",
        "ends_turn",
        "items",
        "$ref",
    ];
    is_schema(&json_text(u, FIELDS)?);
    Ok(())
}

fn streamed(u: &mut Unstructured<'_>, api: Api, words: &[&str], texts: &[&str]) -> Result<()> {
    let mut bytes = match u.int_in_range(0..=2)? {
        0 => text(u, words)?,
        1 => changed(u, texts, words)?,
        _ => {
            let mut all = String::new();
            for _ in 0..u.int_in_range(0..=8)? {
                all += &format!("data: {}\n\n", json_text(u, words)?);
            }
            all
        }
    }
    .into_bytes();
    let mut pieces = Vec::new();
    while !bytes.is_empty() && pieces.len() < 20 {
        let rest = bytes.split_off(u.int_in_range(1..=bytes.len())?);
        pieces.push(std::mem::replace(&mut bytes, rest));
    }
    pieces.push(bytes);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .expect("a runtime can be made")
        .block_on(read_answer(api, pieces));
    Ok(())
}

pub fn openai(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "data: ",
        "\n\n",
        "data: [DONE]\n\n",
        "choices",
        "delta",
        "content",
        "tool_calls",
        "index",
        "id",
        "function",
        "name",
        "arguments",
        "finish_reason",
        "stop",
        "error",
        "message",
        "usage",
        "prompt_tokens",
        "reasoning_content",
        ":",
        "\r\n",
        "event: ",
        "\u{feff}",
        "{",
        "}",
        "length",
        "content_filter",
        "refusal",
    ];
    const TEXTS: &[&str] = &[
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"b\",\"arguments\":\"{\"}}]}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1}}\n\ndata: [DONE]\n\n",
        "{\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}",
    ];
    streamed(u, Api::OpenAi, WORDS, TEXTS)
}

pub fn anthropic(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "data: ",
        "\n\n",
        "event: ",
        "type",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "index",
        "content_block",
        "delta",
        "text_delta",
        "text",
        "input_json_delta",
        "partial_json",
        "tool_use",
        "id",
        "name",
        "message_delta",
        "stop_reason",
        "usage",
        "input_tokens",
        "message_stop",
        "error",
        "ping",
        "thinking_delta",
        "signature",
        "message",
        "model",
        "{",
        "}",
    ];
    const TEXTS: &[&str] = &[
        "data: {\"type\":\"message_start\",\"message\":{\"model\":\"a\",\"usage\":{\"input_tokens\":1}}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"b\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
    ];
    streamed(u, Api::Anthropic, WORDS, TEXTS)
}

// tidy: a table
pub fn responses(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "data: ",
        "\n\n",
        "event: ",
        "type",
        "response",
        "response.created",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.refusal.delta",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.function_call_arguments.delta",
        "response.completed",
        "response.incomplete",
        "response.failed",
        "output_index",
        "summary_index",
        "delta",
        "item",
        "output",
        "function_call",
        "message",
        "reasoning",
        "call_id",
        "name",
        "arguments",
        "summary",
        "encrypted_content",
        "phase",
        "content",
        "status",
        "completed",
        "object",
        "error",
        "usage",
        "{",
        "}",
    ];
    const TEXTS: &[&str] = &[
        "data: {\"type\":\"response.created\",\"response\":{\"model\":\"a\"}}\n\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"r\",\"summary\":[],\"encrypted_content\":\"x\"}}\n\ndata: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"b\"}}\n\ndata: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":1,\"delta\":\"{\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":1}}}\n\n",
        "{\"object\":\"response\",\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\"}]}]}",
    ];
    streamed(u, Api::Responses, WORDS, TEXTS)
}

pub fn gemini(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "data: ",
        "\r\n\r\n",
        "candidates",
        "index",
        "content",
        "parts",
        "text",
        "thought",
        "true",
        "thoughtSignature",
        "functionCall",
        "id",
        "name",
        "args",
        "finishReason",
        "finishMessage",
        "STOP",
        "MAX_TOKENS",
        "SAFETY",
        "MALFORMED_FUNCTION_CALL",
        "promptFeedback",
        "blockReason",
        "usageMetadata",
        "promptTokenCount",
        "thoughtsTokenCount",
        "modelVersion",
        "error",
        "[",
        "]",
        "{",
        "}",
    ];
    const TEXTS: &[&str] = &[
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\",\"thought\":true}]}}]}\r\n\r\ndata: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"b\",\"args\":{\"c\":1}},\"thoughtSignature\":\"x\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1}}\r\n\r\n",
        "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":\"STOP\"}]}]",
        "{\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}",
    ];
    streamed(u, Api::Gemini, WORDS, TEXTS)
}

/// A page of a provider's list of models.
pub fn models(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "data",
        "models",
        "id",
        "name",
        "models/",
        "nextPageToken",
        "has_more",
        "last_id",
        "context_length",
        "inputTokenLimit",
        "pricing",
        "prompt",
        "completion",
        "-1",
        "1e308",
        "NaN",
        "architecture",
        "input_modalities",
        "supported_parameters",
        "reasoning",
        "true",
        "null",
    ];
    const PAGES: &[&str] = &[
        "{\"data\":[{\"id\":\"a\",\"context_length\":9000,\"pricing\":{\"prompt\":\"0.1\",\"completion\":2},\
         \"architecture\":{\"input_modalities\":[\"image\"]},\"supported_parameters\":[\"reasoning\"]}],\
         \"has_more\":true,\"last_id\":\"a\"}",
        "{\"models\":[{\"name\":\"models/a\",\"inputTokenLimit\":1000000,\"thinking\":true}],\"nextPageToken\":\"b c\"}",
    ];
    let page = match u.ratio(1, 3)? {
        true => json_text(u, WORDS)?,
        false => changed(u, PAGES, WORDS)?,
    };
    let address = Url::parse("https://models.example/v1/models?limit=10").expect("it is an address");
    let Ok((models, next)) = read_model_page(page.as_bytes(), &address) else {
        return Ok(());
    };
    assert!(
        next.is_none_or(|next| next.host() == address.host()),
        "another host: {page}"
    );
    let prices = models
        .iter()
        .flat_map(|model| [model.input_price, model.output_price]);
    let is_price = |price: f64| price.is_finite() && price >= 0.0;
    assert!(
        prices.flatten().all(is_price),
        "a price that cannot be counted with: {page}"
    );
    Ok(())
}

/// The stored record of a session, which a later version may have written.
pub fn trace(u: &mut Unstructured<'_>) -> Result<()> {
    const FIELDS: &[&str] = &[
        "event",
        "seq",
        "tool_call_id",
        "original",
        "handlers",
        "started_ms",
        "duration_us",
        "effect",
        "outcome",
        "verdict",
        "deny",
        "reason",
        "kind",
        "name",
        "time_ms",
        "id",
        "failure",
        "detail",
        "stderr",
        "pre_tool",
        "a",
    ];
    reader("trace")(&json_text(u, FIELDS)?);
    Ok(())
}

/// A line of an editor.
pub fn editor(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "id",
        "method",
        "session/prompt",
        "params",
        "result",
        "error",
        "sessionId",
        "prompt",
        "type",
        "text",
        "image",
        "data",
        "AAAA",
        "mimeType",
        "image/png",
        "resource",
        "resource_link",
        "name",
        "uri",
        "file:///a/b%20c#L1",
        "file://%",
        "blob",
        "_meta",
    ];
    const LINES: &[&str] = &[
        "{\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"a\",\"prompt\":[{\"type\":\"text\",\"text\":\"b\"},\
         {\"type\":\"resource_link\",\"name\":\"c\",\"uri\":\"file:///c%20d#L1\"}]}}",
        "{\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"a\",\"prompt\":[{\"type\":\"resource\",\"resource\":\
         {\"uri\":\"file:///c\",\"text\":\"d\"}},{\"type\":\"image\",\"data\":\"iVBORw0KGgo=\",\"mimeType\":\"image/png\"}]}}",
    ];
    reader("editor")(&match u.ratio(1, 2)? {
        true => changed(u, LINES, WORDS)?,
        false => json_text(u, WORDS)?,
    });
    Ok(())
}

// tidy: a table
/// A line of an MCP server.
pub fn mcp_server(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "jsonrpc",
        "2.0",
        "id",
        "result",
        "error",
        "code",
        "message",
        "data",
        "method",
        "params",
        "notifications/tools/list_changed",
        "sampling/createMessage",
        "tools",
        "name",
        "title",
        "description",
        "inputSchema",
        "type",
        "object",
        "properties",
        "annotations",
        "readOnlyHint",
        "nextCursor",
        "content",
        "text",
        "image",
        "audio",
        "resource",
        "resource_link",
        "uri",
        "mimeType",
        "image/png",
        "blob",
        "AAAA",
        "=",
        "structuredContent",
        "isError",
        "_meta",
        "protocolVersion",
        "capabilities",
        "serverInfo",
        "version",
    ];
    const LINES: &[&str] = &[
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"a\",\"description\":\"b\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"c\":{}}}}]}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{}\"},{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"AAAA\"}],\"structuredContent\":{},\"isError\":true}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"no\"}}",
    ];
    is_answer(&match u.ratio(1, 2)? {
        true => changed(u, LINES, WORDS)?,
        false => json_text(u, WORDS)?,
    });
    Ok(())
}

/// Records of the audit log, which may have been changed.
pub fn audit(u: &mut Unstructured<'_>) -> Result<()> {
    const FIELDS: &[&str] = &[
        "tool_call_id",
        "context_name",
        "decision",
        "allow",
        "permits",
        "refused",
        "used",
        "unused",
        "operations",
        "a",
    ];
    const RECORDS: &[&str] = &["{\"permits\":1,\"refused\":0,\"used\":1,\"unused\":0,\"operations\":1}"];
    const NUMBERS: &[&str] = &[
        "9",
        "0",
        "9223372036854775808",
        "18446744073709551615",
        "-",
        ",",
        "}",
    ];
    reader("audit")(&match u.ratio(1, 2)? {
        true => changed(u, RECORDS, NUMBERS)?,
        false => json_text(u, FIELDS)?,
    });
    Ok(())
}
