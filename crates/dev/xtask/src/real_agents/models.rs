//! A model on this machine that speaks the formats of three agents: it calls the shell once, and then says that it is
//! done.

use serde_json::{Value, json};
use testkit::{Recorded, Response};

/// Answers a request of any of the agents. The model wants to run this command.
pub fn answer(request: &Recorded, command: &str) -> Response {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let path = request.path.as_str();
    if path.contains("count_tokens") {
        Response::json(200, &json!({"input_tokens": 1}))
    } else if path.contains("/messages") {
        messages(&body, command)
    } else if path.contains("/responses") {
        responses(&body, command)
    } else if path.contains("enerateContent") {
        contents(&body, path, command)
    } else {
        Response::json(200, &json!({}))
    }
}

/// Whether something in a value has this member.
fn has(value: &Value, member: &str) -> bool {
    match value {
        Value::Object(map) => map.contains_key(member) || map.values().any(|value| has(value, member)),
        Value::Array(list) => list.iter().any(|value| has(value, member)),
        _ => false,
    }
}

fn offers(body: &Value, tool: &str) -> bool {
    body["tools"]
        .to_string()
        .contains(&format!("\"name\":\"{tool}\""))
}

/// Server-sent events that name their type.
fn events(events: &[Value]) -> Response {
    let lines = events.iter().map(|event| {
        let kind = event["type"].as_str().unwrap_or_default();
        format!("event: {kind}\ndata: {event}\n\n")
    });
    Response::events(lines.collect::<String>())
}

/// Claude Code's format.
fn messages(body: &Value, command: &str) -> Response {
    let calls = offers(body, "Bash") && !has(&body["messages"], "tool_use_id");
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let message = |content: Value| {
        json!({"id": "m", "type": "message", "role": "assistant", "model": body["model"], "content": content,
            "stop_reason": null, "usage": usage})
    };
    if body["stream"] != true {
        return Response::json(200, &message(json!([{"type": "text", "text": "all done"}])));
    }
    let arguments = json!({"command": command, "description": "x"}).to_string();
    let (block, delta, reason) = match calls {
        true => (
            json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments}),
            "tool_use",
        ),
        false => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": "all done"}),
            "end_turn",
        ),
    };
    events(&[
        json!({"type": "message_start", "message": message(json!([]))}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}),
        json!({"type": "message_stop"}),
    ])
}

/// Codex's format.
fn responses(body: &Value, command: &str) -> Response {
    let item = match has(&body["input"], "output") {
        true => json!({"type": "message", "id": "msg_1", "role": "assistant",
            "content": [{"type": "output_text", "text": "all done"}]}),
        false => {
            let (name, arguments) = if offers(body, "exec_command") {
                ("exec_command", json!({"cmd": command}))
            } else if offers(body, "shell_command") {
                ("shell_command", json!({"command": command}))
            } else {
                ("shell", json!({"command": ["bash", "-lc", command]}))
            };
            json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name,
                "arguments": arguments.to_string()})
        }
    };
    let usage = json!({"input_tokens": 1, "input_tokens_details": null, "output_tokens": 1,
        "output_tokens_details": null, "total_tokens": 2});
    events(&[
        json!({"type": "response.created", "response": {"id": "r"}}),
        json!({"type": "response.output_item.done", "item": item}),
        json!({"type": "response.completed", "response": {"id": "r", "usage": usage}}),
    ])
}

/// Gemini CLI's format.
fn contents(body: &Value, path: &str, command: &str) -> Response {
    let calls = offers(body, "run_shell_command") && !has(&body["contents"], "functionResponse");
    let part = match calls {
        true => {
            let arguments = json!({"command": command, "description": "x"});
            json!({"functionCall": {"name": "run_shell_command", "args": arguments}})
        }
        false => json!({"text": "all done"}),
    };
    let usage = json!({"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2});
    let content = json!({"role": "model", "parts": [part]});
    let candidate = json!({"content": content, "finishReason": "STOP", "index": 0});
    let answer = json!({"candidates": [candidate], "usageMetadata": usage});
    match path.contains("stream") {
        true => Response::events(format!("data: {answer}\r\n\r\n")),
        false => Response::json(200, &answer),
    }
}
