//! The rules of OpenAI's Responses, and its answers.

use serde_json::{Value, json};

use super::rules::{Checked, Seals, check_head, events, list, must, only, text};
use crate::model_server::Recorded;

/// The beginning of the signatures that the server takes for its own.
pub(super) const OWN: &str = "responses-";

const FIELDS: &[&str] = &[
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning",
    "include",
    "max_output_tokens",
    "temperature",
    "top_p",
    "text",
    "store",
    "stream",
];

/// The longest id of a call.
const LONGEST_ID: usize = 64;

pub(super) fn check(request: &Recorded, body: &Value, seals: &Seals) -> Checked {
    check_head(request, "/v1/responses", "authorization")?;
    only(body, "the request", FIELDS)?;
    check_options(body)?;
    for tool in body["tools"].as_array().into_iter().flatten() {
        only(
            tool,
            "tools",
            &["type", "name", "description", "parameters", "strict"],
        )?;
        must(tool["strict"] == false, || {
            format!("Invalid schema for function {}: it is not strict", tool["name"])
        })?;
    }
    let items = list(body, "input")?;
    let mut open: Vec<&str> = Vec::new();
    // The thoughts since something other than the model spoke.
    let mut thoughts: Vec<&str> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        check_item(item)?;
        match text(item, "type")? {
            "reasoning" => {
                let next = items.get(place + 1).map(|next| (&next["type"], &next["role"]));
                let leads = next.is_some_and(|(kind, role)| {
                    kind == "function_call"
                        || kind == "reasoning"
                        || (kind == "message" && role == "assistant")
                });
                let id = text(item, "id")?;
                must(leads, || {
                    format!(
                        "Item '{id}' of type 'reasoning' was provided without its required following item."
                    )
                })?;
                thoughts.push(text(item, "encrypted_content")?);
            }
            "function_call" => {
                let id = text(item, "call_id")?;
                let seal = seals.get(id);
                must(seal.is_none_or(|seal| thoughts.contains(&seal.as_str())), || {
                    format!(
                        "Item '{id}' of type 'function_call' was provided without its required 'reasoning' item."
                    )
                })?;
                open.push(id);
            }
            "function_call_output" => {
                let id = text(item, "call_id")?;
                let place = open.iter().position(|open| *open == id);
                let place = place.ok_or_else(|| {
                    format!("No tool call found for function call output with call_id {id}.")
                })?;
                open.remove(place);
                thoughts.clear();
            }
            _ if item["role"] == "user" => thoughts.clear(),
            _ => {}
        }
    }
    must(open.is_empty(), || {
        format!("No tool output found for function call {open:?}.")
    })
}

fn check_options(body: &Value) -> Checked {
    let model = text(body, "model")?;
    let thinks = model.starts_with("gpt-5") || model.starts_with('o');
    must(body["store"] == false, || {
        "becket stores nothing at the server".into()
    })?;
    must(thinks || body.get("reasoning").is_none(), || {
        "Unsupported parameter: 'reasoning' is not supported with this model.".into()
    })?;
    must(thinks || body.get("include").is_none(), || {
        "Encrypted content is not supported with this model.".into()
    })?;
    must(!thinks || body.get("temperature").is_none(), || {
        "Unsupported parameter: 'temperature' is not supported with this model.".into()
    })?;
    if let Some(reasoning) = body.get("reasoning") {
        only(reasoning, "reasoning", &["effort", "summary"])?;
    }
    let mut included = body["include"].as_array().into_iter().flatten();
    included.try_for_each(|name| {
        must(name == "reasoning.encrypted_content", || {
            format!("Invalid value: {name}")
        })
    })
}

fn check_item(item: &Value) -> Checked {
    let kind = text(item, "type")?;
    match kind {
        "message" => {
            only(item, kind, &["type", "role", "content", "phase"])?;
            let part = match text(item, "role")? {
                "user" => &["input_text", "input_image"][..],
                "assistant" => &["output_text", "refusal"],
                other => return Err(format!("becket sends no messages of {other}")),
            };
            let parts = list(item, "content")?;
            parts.iter().try_for_each(|content| {
                let kind = text(content, "type")?;
                only(content, kind, &["type", "text", "image_url", "detail"])?;
                must(part.contains(&kind), || {
                    format!("Invalid value: '{kind}'. Supported values are {part:?}.")
                })
            })
        }
        "reasoning" => {
            only(item, kind, &["type", "id", "summary", "encrypted_content"])?;
            list(item, "summary")?;
            text(item, "id")?;
            must(text(item, "encrypted_content")?.starts_with(OWN), || {
                "The encrypted content could not be verified.".into()
            })
        }
        "function_call" => {
            only(item, kind, &["type", "call_id", "name", "arguments"])?;
            text(item, "name")?;
            text(item, "arguments")?;
            must(text(item, "call_id")?.len() <= LONGEST_ID, || {
                "Invalid 'call_id': string too long.".into()
            })
        }
        "function_call_output" => {
            only(item, kind, &["type", "call_id", "output"])?;
            must(item["output"].is_string() || item["output"].is_array(), || {
                "output must be a text or a list".into()
            })
        }
        other => Err(format!("Invalid value: '{other}'")),
    }
}

pub(super) fn learn(answer: &str, seals: &mut Seals) {
    let mut seal = None;
    for event in events(answer).filter(|event| event["type"] == "response.output_item.done") {
        let item = &event["item"];
        if let Some(encrypted) = item["encrypted_content"].as_str() {
            seal = Some(encrypted.to_owned());
        }
        if let (Some(id), Some(seal)) = (item["call_id"].as_str(), &seal) {
            seals.insert(id.to_owned(), seal.clone());
        }
    }
}

/// Writes the events of an answer of OpenAI's Responses.
#[derive(Debug, Clone)]
pub struct ResponsesStream {
    model: String,
    text: String,
    output: Vec<Value>,
    usage: Value,
    events: u64,
}

impl ResponsesStream {
    /// The beginning of a response of that model.
    pub fn new(model: &str) -> Self {
        let stream = Self {
            model: model.to_owned(),
            text: String::new(),
            output: Vec::new(),
            usage: json!({"input_tokens": 1, "output_tokens": 1}),
            events: 0,
        };
        let response = json!({"id": "resp_1", "object": "response", "status": "in_progress", "model": model,
            "output": []});
        stream
            .event("response.created", json!({"response": response}))
            .event("response.in_progress", json!({"response": response}))
    }

    /// Adds any event.
    #[must_use]
    pub fn event(mut self, kind: &str, mut fields: Value) -> Self {
        fields["type"] = kind.into();
        fields["sequence_number"] = self.events.into();
        self.events += 1;
        self.text.push_str(&format!("event: {kind}\ndata: {fields}\n\n"));
        self
    }

    /// Adds a thought: the parts of its summary, and what the server encrypted.
    #[must_use]
    pub fn reasoning(self, id: &str, summary: &[&str], encrypted: &str) -> Self {
        let place = self.output.len();
        let begun = json!({"id": id, "type": "reasoning", "summary": []});
        let mut stream = self.begin(begun);
        for (part, text) in summary.iter().enumerate() {
            let at = json!({"item_id": id, "output_index": place, "summary_index": part});
            let with = |field: &str, value: Value| {
                let mut fields = at.clone();
                fields[field] = value;
                fields
            };
            stream = stream
                .event(
                    "response.reasoning_summary_part.added",
                    with("part", json!({"type": "summary_text", "text": ""})),
                )
                .event(
                    "response.reasoning_summary_text.delta",
                    with("delta", (*text).into()),
                )
                .event(
                    "response.reasoning_summary_text.done",
                    with("text", (*text).into()),
                );
        }
        let parts: Vec<Value> = summary
            .iter()
            .map(|text| json!({"type": "summary_text", "text": text}))
            .collect();
        stream.end(json!({"id": id, "type": "reasoning", "summary": parts, "encrypted_content": encrypted}))
    }

    /// Adds a message in these pieces.
    #[must_use]
    pub fn text(self, pieces: &[&str]) -> Self {
        self.message(pieces, None)
    }

    /// Adds a message of a phase in these pieces.
    #[must_use]
    pub fn phase(self, phase: &str, pieces: &[&str]) -> Self {
        self.message(pieces, Some(phase))
    }

    fn message(self, pieces: &[&str], phase: Option<&str>) -> Self {
        let place = self.output.len();
        let item = |status: &str, content: Value| {
            let mut item = json!({"id": format!("msg_{place}"), "type": "message", "role": "assistant",
                "status": status, "content": content});
            if let Some(phase) = phase {
                item["phase"] = phase.into();
            }
            item
        };
        let at = |fields: Value| {
            let mut fields = fields;
            fields["item_id"] = format!("msg_{place}").into();
            fields["output_index"] = place.into();
            fields["content_index"] = 0.into();
            fields
        };
        let empty = json!({"type": "output_text", "text": "", "annotations": []});
        let begun = self
            .begin(item("in_progress", json!([])))
            .event("response.content_part.added", at(json!({"part": empty})));
        let filled = pieces.iter().fold(begun, |stream, piece| {
            stream.event(
                "response.output_text.delta",
                at(json!({"delta": piece, "logprobs": []})),
            )
        });
        let part = json!({"type": "output_text", "text": pieces.concat(), "annotations": []});
        filled
            .event("response.output_text.done", at(json!({"text": pieces.concat()})))
            .event("response.content_part.done", at(json!({"part": part})))
            .end(item("completed", json!([part])))
    }

    /// Adds a call, its arguments in these pieces.
    #[must_use]
    pub fn tool_call(self, call_id: &str, name: &str, arguments: &[&str]) -> Self {
        let place = self.output.len();
        let id = format!("fc_{place}");
        let item = |status: &str, arguments: &str| {
            json!({"id": id, "type": "function_call", "status": status, "call_id": call_id, "name": name,
                "arguments": arguments})
        };
        let begun = self.begin(item("in_progress", ""));
        let filled = arguments.iter().fold(begun, |stream, piece| {
            let fields = json!({"item_id": id, "output_index": place, "delta": piece});
            stream.event("response.function_call_arguments.delta", fields)
        });
        let whole = arguments.concat();
        let fields = json!({"item_id": id, "output_index": place, "arguments": whole, "name": name});
        filled
            .event("response.function_call_arguments.done", fields)
            .end(item("completed", &whole))
    }

    /// Adds a refusal.
    #[must_use]
    pub fn refusal(self, text: &str) -> Self {
        let place = self.output.len();
        let item = |content: Value| json!({"id": "msg_r", "type": "message", "role": "assistant", "content": content});
        let fields = json!({"item_id": "msg_r", "output_index": place, "content_index": 0, "delta": text});
        self.begin(item(json!([])))
            .event("response.refusal.delta", fields)
            .end(item(json!([{"type": "refusal", "refusal": text}])))
    }

    /// Sets the number of tokens, as the interface writes it.
    #[must_use]
    pub fn usage(mut self, usage: Value) -> Self {
        self.usage = usage;
        self
    }

    /// Adds the end of a complete response and returns all events.
    pub fn completed(self) -> String {
        self.ended("completed", json!({}))
    }

    /// Adds the end of a response that is incomplete for that reason and returns all events.
    pub fn incomplete(self, reason: &str) -> String {
        self.ended("incomplete", json!({"incomplete_details": {"reason": reason}}))
    }

    /// Adds the end of a response that failed and returns all events.
    pub fn failed(self, code: &str, message: &str) -> String {
        self.ended("failed", json!({"error": {"code": code, "message": message}}))
    }

    /// The events so far.
    pub fn unfinished(self) -> String {
        self.text
    }

    fn ended(self, status: &str, more: Value) -> String {
        let mut response = json!({"id": "resp_1", "object": "response", "status": status, "model": self.model,
            "output": self.output, "usage": self.usage});
        for (name, value) in more.as_object().into_iter().flatten() {
            response[name] = value.clone();
        }
        self.event(&format!("response.{status}"), json!({"response": response}))
            .text
    }

    fn begin(self, item: Value) -> Self {
        let place = self.output.len();
        self.event(
            "response.output_item.added",
            json!({"output_index": place, "item": item}),
        )
    }

    fn end(self, item: Value) -> Self {
        let place = self.output.len();
        let mut stream = self.event(
            "response.output_item.done",
            json!({"output_index": place, "item": item}),
        );
        stream.output.push(item);
        stream
    }
}
