//! Writes a request in the format of `generateContent`.
//!
//! Messages of one speaker in a row become one, with results of tools first: results must follow their calls at once.

use becket_agent::provider::{ModelRequest, RequestOptions, ToolFace};
use becket_events::{Json, MessageBody, MessageRecord, Part, ToolCall, lines_of};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::carrier::Carrier;
use super::model::{Generation, thinking};
use crate::conversation::{Piece, Role, object_of, pieces, push_json, runs, to_json};
use crate::signature::Seal;

/// The signature that the interface documents for calls that its models did not make. Late models refuse the first
/// call of an answer without any.
const FOREIGN_CALL: &str = "skip_thought_signature_validator";

/// The request as JSON text. Messages keep their parts under the name of the format.
pub(crate) fn write_body(model: &str, request: &ModelRequest<'_>, seal: &Seal, format: &str) -> Json {
    let generation = Generation::of(model);
    let mut body = String::from(r#"{"contents":["#);
    let runs = runs(request.messages, |_, message| {
        message.wire(format, |record| write_parts(record, seal, generation))
    });
    let mut separator = "";
    for run in &runs {
        body.push_str(separator);
        body.push_str(match run.role {
            Role::User => r#"{"role":"user","parts":["#,
            Role::Model => r#"{"role":"model","parts":["#,
        });
        run.push_to(&mut body);
        body.push_str("]}");
        separator = ",";
    }
    body.push(']');
    if !request.system_prompt.trim().is_empty() {
        body.push_str(r#","systemInstruction":"#);
        push_json(&mut body, &json!({"parts": [{"text": request.system_prompt}]}));
    }
    // Not every model takes both tools and a form of the answer.
    if request.options.answer_schema.is_none() {
        push_tools(&mut body, request.tools);
    }
    let config = config(model, request.options);
    if !config.is_empty() {
        body.push_str(r#","generationConfig":"#);
        push_json(&mut body, &config);
    }
    body.push('}');
    Json::joined(body)
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<Blob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    id: &'a str,
    name: &'a str,
    args: Box<RawValue>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    id: &'a str,
    name: &'a str,
    response: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<WirePart<'a>>,
}

/// The message's parts, with commas between them.
fn write_parts(record: &MessageRecord, seal: &Seal, generation: Generation) -> String {
    let parts: Vec<WirePart<'_>> = match &record.body {
        MessageBody::User { content } | MessageBody::Note { content, .. } => {
            content.iter().filter_map(spoken).collect()
        }
        MessageBody::Assistant {
            content, tool_calls, ..
        } => answered(content, tool_calls, seal, generation),
        MessageBody::Tool {
            tool_call_id,
            tool_name,
            content,
            is_error,
            ..
        } => {
            let key = if *is_error { "error" } else { "output" };
            let pictures = content.iter().filter(|part| matches!(part, Part::Image { .. }));
            let mut pictures: Vec<WirePart<'_>> = pictures.filter_map(spoken).collect();
            // Earlier models take them beside the result, not inside.
            let inside = match generation {
                Generation::Late => std::mem::take(&mut pictures),
                Generation::Budget | Generation::Early => Vec::new(),
            };
            let result = WirePart {
                function_response: Some(FunctionResponse {
                    id: tool_call_id,
                    name: tool_name,
                    response: json!({key: lines_of(content)}),
                    parts: inside,
                }),
                ..WirePart::default()
            };
            std::iter::once(result).chain(pictures).collect()
        }
    };
    parts.iter().map(to_json).collect::<Vec<_>>().join(",")
}

fn spoken(part: &Part) -> Option<WirePart<'_>> {
    match part {
        Part::Text { text } if text.is_empty() => None,
        Part::Text { text } => Some(WirePart {
            text: Some(text),
            ..WirePart::default()
        }),
        Part::Image { media_type, data } => Some(WirePart {
            inline_data: Some(Blob {
                mime_type: media_type,
                data,
            }),
            ..WirePart::default()
        }),
        Part::Thinking { .. } => None,
    }
}

/// The parts of an answer, each with the signature that came on it.
fn answered<'a>(
    content: &'a [Part],
    calls: &'a [ToolCall],
    seal: &Seal,
    generation: Generation,
) -> Vec<WirePart<'a>> {
    let mut parts: Vec<WirePart<'a>> = Vec::new();
    let (mut of_call, mut of_text) = (None, None);
    let mut is_first_call = generation == Generation::Late;
    for piece in pieces(content, calls, |signature| seal.read(signature)) {
        // A signature of a text that is not the next piece came on a part without any.
        if !matches!(piece, Piece::Text(_)) {
            parts.extend(of_text.take().map(empty_text));
        }
        match piece {
            Piece::Text(text) => parts.push(WirePart {
                text: Some(text),
                thought_signature: of_text.take(),
                ..WirePart::default()
            }),
            Piece::Thought { text, data } => match Carrier::read(&data) {
                Some((Carrier::Call, signature)) => of_call = Some(signature.to_owned()),
                Some((Carrier::Text, signature)) => of_text = Some(signature.to_owned()),
                Some((Carrier::Thought, signature)) => parts.push(WirePart {
                    text: Some(text),
                    thought: true,
                    thought_signature: Some(signature.to_owned()),
                    ..WirePart::default()
                }),
                None => {}
            },
            Piece::Call(call) => {
                let foreign = std::mem::take(&mut is_first_call).then(|| FOREIGN_CALL.to_owned());
                parts.push(WirePart {
                    function_call: Some(FunctionCall {
                        id: &call.id,
                        name: &call.name,
                        args: object_of(&call.arguments),
                    }),
                    thought_signature: of_call.take().or(foreign),
                    ..WirePart::default()
                });
            }
        }
    }
    parts.extend(of_text.map(empty_text));
    parts
}

fn empty_text<'a>(signature: String) -> WirePart<'a> {
    WirePart {
        text: Some(""),
        thought_signature: Some(signature),
        ..WirePart::default()
    }
}

fn push_tools(body: &mut String, tools: &[ToolFace]) {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Declaration<'a> {
        name: &'a str,
        description: &'a str,
        parameters_json_schema: &'a Value,
    }
    if tools.is_empty() {
        return;
    }
    let declarations: Vec<Declaration<'_>> = tools
        .iter()
        .map(|face| Declaration {
            name: &face.name,
            description: &face.description,
            parameters_json_schema: &face.parameters,
        })
        .collect();
    body.push_str(r#","tools":[{"functionDeclarations":"#);
    push_json(body, &declarations);
    body.push_str("}]");
}

fn config(model: &str, options: &RequestOptions) -> Map<String, Value> {
    let schema = options.answer_schema.as_deref();
    let given = [
        ("temperature", options.temperature.map(Value::from)),
        ("topP", options.top_p.map(Value::from)),
        ("maxOutputTokens", options.max_tokens.map(Value::from)),
        ("frequencyPenalty", options.frequency_penalty.map(Value::from)),
        ("presencePenalty", options.presence_penalty.map(Value::from)),
        ("thinkingConfig", thinking(model, options)),
        ("responseMimeType", schema.map(|_| "application/json".into())),
        ("responseJsonSchema", schema.cloned()),
    ];
    let given = given
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    given.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::Api;
    use becket_agent::provider::ThinkingLevel;
    use becket_events::{Message, StopReason, Usage};

    fn seal() -> Seal {
        Seal::new(Api::Gemini, "gemini")
    }

    fn message(body: MessageBody) -> Message {
        Message::new(MessageRecord {
            id: "m".into(),
            time_ms: 0,
            body,
        })
    }

    fn user(content: Vec<Part>) -> Message {
        message(MessageBody::User { content })
    }

    fn assistant(content: Vec<Part>, calls: &[(&str, &str)]) -> Message {
        let call = |(id, arguments): &(&str, &str)| ToolCall {
            id: (*id).into(),
            name: "read".into(),
            arguments: (*arguments).into(),
        };
        message(MessageBody::Assistant {
            content,
            tool_calls: calls.iter().map(call).collect(),
            model: "m".into(),
            stop_reason: StopReason::Stop,
            usage: Usage::default(),
            error: None,
        })
    }

    fn signed(text: &str, after_calls: usize, carrier: Carrier, signature: &str) -> Part {
        Part::Thinking {
            text: text.into(),
            signature: Some(seal().mark(after_calls, carrier.mark(signature))),
        }
    }

    fn result(id: &str, content: Vec<Part>, is_error: bool) -> Message {
        message(MessageBody::Tool {
            tool_call_id: id.into(),
            tool_name: "read".into(),
            content,
            is_error,
            details: None,
        })
    }

    fn picture() -> Part {
        Part::Image {
            media_type: "image/png".into(),
            data: "AAAA".into(),
        }
    }

    fn written(model: &str, messages: &[Message], tools: &[ToolFace], options: &RequestOptions) -> Value {
        let request = ModelRequest {
            system_prompt: "be brief",
            messages,
            tools,
            options,
        };
        let write = || write_body(model, &request, &seal(), &seal().format(model));
        assert_eq!(write(), write());
        write().to_value()
    }

    fn contents(model: &str, messages: &[Message]) -> Value {
        written(model, messages, &[], &RequestOptions::default())["contents"].take()
    }

    #[test]
    fn signatures_go_back_on_the_parts_on_which_they_came() {
        let messages = [
            user(vec![Part::text("look"), picture()]),
            assistant(
                vec![
                    signed("hm", 0, Carrier::Call, "one"),
                    Part::text("I look."),
                    signed("", 1, Carrier::Call, "two"),
                ],
                &[("c1", r#"{"path":"x"}"#), ("c2", "[1")],
            ),
            result("c1", vec![Part::text("a")], false),
            user(vec![Part::text("quick!")]),
            result("c2", vec![Part::text("b"), Part::text("c")], true),
            assistant(
                vec![
                    signed("so", 0, Carrier::Thought, "three"),
                    Part::text("Done"),
                    signed("", 0, Carrier::Text, "four"),
                    Part::text("."),
                    signed("", 0, Carrier::Text, "five"),
                ],
                &[],
            ),
        ];
        assert_eq!(
            contents("gemini-3.5-flash", &messages),
            json!([
                {"role": "user", "parts": [
                    {"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
                {"role": "model", "parts": [
                    {"text": "I look."},
                    {"functionCall": {"id": "c1", "name": "read", "args": {"path": "x"}}, "thoughtSignature": "one"},
                    {"functionCall": {"id": "c2", "name": "read", "args": {"unreadable_arguments": "[1"}},
                        "thoughtSignature": "two"}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "c1", "name": "read", "response": {"output": "a"}}},
                    {"functionResponse": {"id": "c2", "name": "read", "response": {"error": "b\nc"}}},
                    {"text": "quick!"}]},
                {"role": "model", "parts": [
                    {"text": "so", "thought": true, "thoughtSignature": "three"},
                    {"text": "Done"},
                    {"text": ".", "thoughtSignature": "four"},
                    {"text": "", "thoughtSignature": "five"}]},
            ])
        );
    }

    #[test]
    fn calls_of_other_models_are_marked_as_such_where_signatures_are_checked() {
        let messages = [
            assistant(
                vec![Part::Thinking {
                    text: "hm".into(),
                    signature: Some("c2VhbA==".into()),
                }],
                &[("c1", "{}"), ("c2", "{}")],
            ),
            result("c1", vec![picture()], false),
            result("c2", Vec::new(), false),
        ];
        let late = contents("gemini-3-pro-preview", &messages);
        assert_eq!(late[0]["parts"][0]["thoughtSignature"], FOREIGN_CALL);
        assert_eq!(late[0]["parts"][1].get("thoughtSignature"), None);
        let inside = &late[1]["parts"][0]["functionResponse"]["parts"][0]["inlineData"];
        assert_eq!(inside["mimeType"], "image/png");
        let earlier = contents("gemini-2.5-pro", &messages);
        assert_eq!(earlier[0]["parts"][0].get("thoughtSignature"), None);
        assert_eq!(earlier[1]["parts"][1]["inlineData"]["mimeType"], "image/png");
        assert_eq!(earlier[1]["parts"].as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn options_are_written_in_the_words_of_the_interface() {
        let tools = [ToolFace {
            name: "bash".into(),
            description: "Runs".into(),
            parameters: json!({"type": "object"}).into(),
            operation: None,
        }];
        let options = RequestOptions {
            temperature: Some(0.5),
            max_tokens: Some(900),
            top_p: Some(0.25),
            frequency_penalty: Some(0.125),
            presence_penalty: Some(-0.125),
            thinking: Some(ThinkingLevel::Low),
            ..RequestOptions::default()
        };
        let body = written("gemini-3.5-flash", &[], &tools, &options);
        assert_eq!(
            body["systemInstruction"],
            json!({"parts": [{"text": "be brief"}]})
        );
        assert_eq!(
            body["tools"],
            json!([{"functionDeclarations": [
                {"name": "bash", "description": "Runs", "parametersJsonSchema": {"type": "object"}}]}])
        );
        assert_eq!(
            body["generationConfig"],
            json!({
                "temperature": 0.5, "topP": 0.25, "maxOutputTokens": 900,
                "frequencyPenalty": 0.125, "presencePenalty": -0.125,
                "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "low"},
            })
        );
        let answer = RequestOptions {
            answer_schema: Some(Arc::new(json!({"type": "object"}))),
            ..RequestOptions::default()
        };
        let body = written("gemini-3.5-flash", &[], &tools, &answer);
        assert_eq!(body.get("tools"), None);
        assert_eq!(
            body["generationConfig"],
            json!({"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}})
        );
    }
}
