//! The interfaces of model providers as tests need them: answers in their form, and servers that refuse what the real
//! ones would.
//!
//! The rules are those of the public documentation: unknown fields, wrong order, results without calls, thoughts that
//! are missing or another's. A server knows the calls and thoughts of the answers that it gives.

mod anthropic;
mod chat;
mod gemini;
mod responses;
mod rules;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::model_server::{AnthropicStream, ModelServer, OpenAiStream, Recorded, Response};
pub use gemini::GeminiStream;
pub use responses::ResponsesStream;
use rules::{Checked, Seals};

/// An interface of model providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI's chat completions.
    Chat,
    /// Anthropic's messages.
    Messages,
    /// OpenAI's Responses.
    Responses,
    /// Gemini's `generateContent`.
    Gemini,
}

impl Wire {
    /// All interfaces.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Messages, Self::Responses, Self::Gemini];

    /// A complete answer with that text.
    pub fn text(self, text: &str) -> String {
        match self {
            Self::Chat => OpenAiStream::new("m").text(text).finish("stop").done(),
            Self::Messages => AnthropicStream::new("m", 1).text(&[text]).stop("end_turn", 1),
            Self::Responses => ResponsesStream::new("m").text(&[text]).completed(),
            Self::Gemini => GeminiStream::new("m").text(&[text]).finish("STOP"),
        }
    }

    /// An answer with that text that breaks off.
    pub fn half_text(self, text: &str) -> String {
        match self {
            Self::Chat => OpenAiStream::new("m").text(text).unfinished(),
            Self::Messages => AnthropicStream::new("m", 1).text(&[text]).unfinished(),
            Self::Responses => ResponsesStream::new("m").text(&[text]).unfinished(),
            Self::Gemini => GeminiStream::new("m").text(&[text]).unfinished(),
        }
    }

    /// The beginning of an answer without any content.
    pub fn prelude(self) -> String {
        match self {
            Self::Chat => OpenAiStream::new("m")
                .delta(json!({"role": "assistant", "content": ""}))
                .unfinished(),
            Self::Messages => AnthropicStream::new("m", 1)
                .event(json!({"type": "ping"}))
                .unfinished(),
            Self::Responses => ResponsesStream::new("m").unfinished(),
            Self::Gemini => GeminiStream::new("m").text(&[""]).unfinished(),
        }
    }

    /// An answer that thinks, says something and calls a tool. `seal` is the provider's signature of the thought.
    pub fn thought_and_call(self, seal: &str, call: (&str, &str, &str)) -> String {
        let seal = &self.seal(seal);
        let (id, name, arguments) = call;
        let half = arguments.floor_char_boundary(arguments.len() / 2);
        let pieces = [&arguments[..half], &arguments[half..]];
        match self {
            Self::Chat => OpenAiStream::new("m")
                .delta(json!({"reasoning_content": "Hm."}))
                .text("I look.")
                .tool_call(0, id, name, &pieces)
                .finish("tool_calls")
                .usage(9, 4)
                .done(),
            Self::Messages => AnthropicStream::new("m", 9)
                .thinking("Hm.", seal)
                .text(&["I look."])
                .tool_call(id, name, &pieces)
                .stop("tool_use", 4),
            Self::Responses => ResponsesStream::new("m")
                .reasoning(&format!("rs_{id}"), &["Hm."], seal)
                .text(&["I ", "look."])
                .tool_call(id, name, &pieces)
                .completed(),
            Self::Gemini => GeminiStream::new("m")
                .thought("Hm.")
                .text(&["I ", "look."])
                .call(id, name, arguments, Some(seal))
                .finish("STOP"),
        }
    }

    /// The event that makes an answer complete, from its `data:` to the end of its line.
    pub fn end_of(self, answer: &str) -> Range<usize> {
        let mark = match self {
            Self::Chat => "\"finish_reason\":\"",
            Self::Messages => "\"type\":\"message_stop\"",
            Self::Responses => "\"type\":\"response.completed\"",
            Self::Gemini => "\"finishReason\":\"",
        };
        let at = answer.rfind(mark).expect("the answer is complete");
        let begin = answer[..at].rfind("data: ").unwrap_or_default();
        let length = answer[begin..].find(['\n', '\r']);
        begin..length.map_or(answer.len(), |length| begin + length)
    }

    /// A signature that a server of this interface knows as its own.
    pub fn seal(self, text: &str) -> String {
        format!("{}{text}", self.own())
    }

    /// The beginning of the signatures that a server of this interface takes for its own.
    fn own(self) -> &'static str {
        match self {
            Self::Chat => "chat-",
            Self::Messages => anthropic::OWN,
            Self::Responses => responses::OWN,
            Self::Gemini => gemini::OWN,
        }
    }

    fn check(self, request: &Recorded, seals: &Seals) -> Checked {
        let body: Value = serde_json::from_slice(&request.body).map_err(|error| error.to_string())?;
        match self {
            Self::Chat => chat::check(request, &body),
            Self::Messages => anthropic::check(request, &body, seals),
            Self::Responses => responses::check(request, &body, seals),
            Self::Gemini => gemini::check(request, &body, seals),
        }
    }

    fn learn(self, answer: &str, seals: &mut Seals) {
        match self {
            Self::Chat => {}
            Self::Messages => anthropic::learn(answer, seals),
            Self::Responses => responses::learn(answer, seals),
            Self::Gemini => gemini::learn(answer, seals),
        }
    }

    fn refusal(self, why: &str) -> Response {
        let error = match self {
            Self::Gemini => json!({"error": {"code": 400, "message": why, "status": "INVALID_ARGUMENT"}}),
            Self::Messages => {
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": why}})
            }
            Self::Chat | Self::Responses => {
                json!({"error": {"message": why, "type": "invalid_request_error", "code": null}})
            }
        };
        Response::json(400, &error)
    }
}

impl ModelServer {
    /// Starts a server that gives these answers, and refuses what the real one would.
    pub fn strict(wire: Wire, answers: impl IntoIterator<Item = String>) -> Self {
        let left: VecDeque<String> = answers.into_iter().collect();
        let state = Mutex::new((left, Seals::new()));
        Self::answering(move |request| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let (left, seals) = &mut *state;
            if let Err(why) = wire.check(request, seals) {
                return wire.refusal(&why);
            }
            match left.pop_front() {
                Some(answer) => {
                    wire.learn(&answer, seals);
                    Response::events(answer)
                }
                None => wire.refusal("the test's server has no answer left"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(path: &str, headers: &[(&str, &str)], body: &Value) -> Recorded {
        Recorded {
            method: "POST".into(),
            path: path.into(),
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            body: body.to_string().into_bytes(),
        }
    }

    fn verdict(wire: Wire, body: &Value) -> Checked {
        let (path, headers): (&str, &[(&str, &str)]) = match wire {
            Wire::Chat => ("/v1/chat/completions", &[("authorization", "Bearer k")]),
            Wire::Messages => (
                "/v1/messages",
                &[("x-api-key", "k"), ("anthropic-version", "2023-06-01")],
            ),
            Wire::Responses => ("/v1/responses", &[("authorization", "Bearer k")]),
            Wire::Gemini => (
                "/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse",
                &[("x-goog-api-key", "k")],
            ),
        };
        let mut seals = Seals::new();
        wire.learn(&wire.thought_and_call("own", ("c1", "read", "{}")), &mut seals);
        wire.check(&recorded(path, headers, body), &seals)
    }

    // tidy: a table
    #[test]
    fn requests_that_the_real_server_would_refuse_are_refused() {
        let input = |items: Value| json!({"model": "gpt-5", "store": false, "stream": true, "input": items});
        let call = json!({"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"});
        let output = json!({"type": "function_call_output", "call_id": "c1", "output": "x"});
        let thought =
            json!({"type": "reasoning", "id": "rs_c1", "summary": [], "encrypted_content": "responses-own"});
        let contents = |contents: Value| json!({"contents": contents});
        let asked = json!({"role": "user", "parts": [{"text": "hi"}]});
        let made = json!({"functionCall": {"id": "c1", "name": "read", "args": {}}, "thoughtSignature": "gemini-own"});
        let unsigned = json!({"functionCall": {"id": "c1", "name": "read", "args": {}}});
        let came = json!({"functionResponse": {"id": "c1", "name": "read", "response": {"output": "x"}}});
        let said = |messages: Value| json!({"model": "claude-sonnet-4-5", "max_tokens": 9000, "stream": true, "messages": messages});
        let block = json!({"type": "text", "text": "hi"});
        let used = json!({"type": "tool_use", "id": "c1", "name": "read", "input": {}});
        let gave = json!({"type": "tool_result", "tool_use_id": "c1", "content": []});
        let table: Vec<(Wire, Value, Option<&str>)> = vec![
            (Wire::Responses, input(json!([thought, call, output])), None),
            (
                Wire::Responses,
                input(json!([call, output])),
                Some("without its required 'reasoning' item"),
            ),
            (
                Wire::Responses,
                input(json!([thought])),
                Some("without its required following item"),
            ),
            (
                Wire::Responses,
                input(json!([thought, call])),
                Some("No tool output found"),
            ),
            (
                Wire::Responses,
                input(json!([output])),
                Some("No tool call found"),
            ),
            (
                Wire::Responses,
                input(json!([{"type": "message", "role": "user", "content": [], "odd": 1}])),
                Some("odd"),
            ),
            (
                Wire::Responses,
                json!({"model": "gpt-5", "store": false, "input": [], "messages": []}),
                Some("messages"),
            ),
            (
                Wire::Gemini,
                contents(
                    json!([asked, {"role": "model", "parts": [made]}, {"role": "user", "parts": [came]}]),
                ),
                None,
            ),
            (
                Wire::Gemini,
                contents(
                    json!([asked, {"role": "model", "parts": [unsigned]}, {"role": "user", "parts": [came]}]),
                ),
                Some("missing a thought_signature"),
            ),
            (
                Wire::Gemini,
                contents(
                    json!([asked, {"role": "model", "parts": [made]}, {"role": "user", "parts": [{"text": "x"}]}]),
                ),
                Some("number of function response parts"),
            ),
            (
                Wire::Gemini,
                contents(json!([{"role": "model", "parts": [made]}, {"role": "user", "parts": [came]}])),
                Some("function call turn"),
            ),
            (
                Wire::Gemini,
                contents(json!([{"role": "user", "parts": [{"txt": "x"}]}])),
                Some("txt"),
            ),
            (
                Wire::Messages,
                said(
                    json!([{"role": "user", "content": [block]}, {"role": "assistant", "content": [used]},
                    {"role": "user", "content": [gave]}]),
                ),
                None,
            ),
            (
                Wire::Messages,
                said(
                    json!([{"role": "user", "content": [block]}, {"role": "assistant", "content": [used]},
                    {"role": "user", "content": [block]}]),
                ),
                Some("tool_result"),
            ),
            (
                Wire::Messages,
                said(
                    json!([{"role": "user", "content": [block]}, {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "x", "signature": "gemini-x"}, block]}]),
                ),
                Some("Invalid `signature`"),
            ),
            (
                Wire::Chat,
                json!({"model": "m", "messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]}),
                Some("must be a response to a preceding message"),
            ),
        ];
        for (wire, body, expected) in table {
            match (verdict(wire, &body), expected) {
                (Ok(()), None) => {}
                (Err(why), Some(words)) => assert!(why.contains(words), "{why}"),
                (verdict, _) => panic!("{wire:?} {body}: {verdict:?}"),
            }
        }
    }
}
