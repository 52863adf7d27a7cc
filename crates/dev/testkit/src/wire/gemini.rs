//! The rules of Gemini's `generateContent`, and its answers.

use serde_json::{Value, json};

use super::rules::{Checked, Seals, events, list, must, only, text};
use crate::model_server::Recorded;

/// The beginning of the signatures that the server takes for its own.
pub(super) const OWN: &str = "gemini-";

const FIELDS: &[&str] = &[
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
];

const CONFIG: &[&str] = &[
    "temperature",
    "topP",
    "maxOutputTokens",
    "frequencyPenalty",
    "presencePenalty",
    "thinkingConfig",
    "responseMimeType",
    "responseJsonSchema",
];

/// The fields of a part that hold its content, of which there is exactly one.
const CONTENTS: &[&str] = &["text", "inlineData", "functionCall", "functionResponse"];

/// The documented signature of calls that the model did not make.
const FOREIGN: &str = "skip_thought_signature_validator";

pub(super) fn check(request: &Recorded, body: &Value, seals: &Seals) -> Checked {
    let model = request.path.strip_prefix("/v1beta/models/");
    let model = model.and_then(|rest| rest.strip_suffix(":streamGenerateContent?alt=sse"));
    let model = model.ok_or_else(|| format!("there is no {}", request.path))?;
    must(request.header("x-goog-api-key").is_some(), || {
        "Method doesn't allow unregistered callers".into()
    })?;
    only(body, "the request", FIELDS)?;
    let is_late = model.starts_with("gemini-3");
    check_config(body, is_late)?;
    let contents = list(body, "contents")?;
    must(!contents.is_empty(), || "contents is not specified".into())?;
    let asks =
        |content: &Value| content["role"] == "user" && content["parts"][0].get("functionResponse").is_none();
    let current = contents.iter().rposition(asks).unwrap_or_default();
    for (place, content) in contents.iter().enumerate() {
        only(content, "contents", &["role", "parts"])?;
        let before = place.checked_sub(1).map(|before| &contents[before]);
        let parts = list(content, "parts")?;
        must(!parts.is_empty(), || {
            format!("contents[{place}].parts must not be empty")
        })?;
        parts.iter().try_for_each(check_part)?;
        match text(content, "role")? {
            "user" => check_results(parts, before)?,
            "model" => {
                let calls: Vec<&Value> = parts
                    .iter()
                    .filter(|part| part.get("functionCall").is_some())
                    .collect();
                let follows = before.is_some_and(|before| before["role"] == "user");
                must(calls.is_empty() || follows, || {
                    "function call turn comes immediately after a user turn or after a function response turn"
                        .into()
                })?;
                check_signatures(&calls, is_late && place > current, seals)?;
            }
            other => return Err(format!("Please use a valid role: user, model; not {other}")),
        }
    }
    Ok(())
}

fn check_config(body: &Value, is_late: bool) -> Checked {
    let declarations = body["tools"].as_array().into_iter().flatten();
    for tool in declarations.flat_map(|tool| tool["functionDeclarations"].as_array().into_iter().flatten()) {
        only(
            tool,
            "function_declarations",
            &["name", "description", "parametersJsonSchema"],
        )?;
    }
    let Some(config) = body.get("generationConfig") else {
        return Ok(());
    };
    only(config, "generation_config", CONFIG)?;
    let is_json = config["responseMimeType"] == "application/json";
    must(is_json || config.get("responseJsonSchema").is_none(), || {
        "response_json_schema needs the mime type application/json".into()
    })?;
    must(!is_json || body.get("tools").is_none(), || {
        "Function calling with a response mime type: 'application/json' is unsupported".into()
    })?;
    let Some(thinking) = config.get("thinkingConfig") else {
        return Ok(());
    };
    let amount = if is_late {
        "thinkingLevel"
    } else {
        "thinkingBudget"
    };
    only(thinking, "thinking_config", &["includeThoughts", amount])
}

fn check_part(part: &Value) -> Checked {
    let allowed: Vec<&str> = CONTENTS
        .iter()
        .copied()
        .chain(["thought", "thoughtSignature"])
        .collect();
    only(part, "parts", &allowed)?;
    let count = CONTENTS
        .iter()
        .filter(|field| part.get(**field).is_some())
        .count();
    must(count == 1, || {
        "a part must have exactly one of its contents".into()
    })?;
    if let Some(call) = part.get("functionCall") {
        only(call, "function_call", &["id", "name", "args"])?;
        must(call["args"].is_object(), || "args must be an object".into())?;
    }
    if let Some(result) = part.get("functionResponse") {
        only(result, "function_response", &["id", "name", "response", "parts"])?;
        must(result["response"].is_object(), || {
            "response must be an object".into()
        })?;
    }
    let signature = part.get("thoughtSignature").and_then(Value::as_str);
    let is_own = signature.is_none_or(|text| text == FOREIGN || text.starts_with(OWN));
    must(is_own, || "Corrupted thought signature.".into())
}

/// Results must come right after their calls, one for each.
fn check_results(parts: &[Value], before: Option<&Value>) -> Checked {
    let names = |parts: &[Value], field: &str| -> Vec<(Value, Value)> {
        let found = parts.iter().filter_map(|part| part.get(field));
        found
            .map(|call| (call["id"].clone(), call["name"].clone()))
            .collect()
    };
    let called = before.and_then(|before| before["parts"].as_array());
    let called = called.map_or_else(Vec::new, |parts| names(parts, "functionCall"));
    let results = names(parts, "functionResponse");
    let fits = called.len() == results.len() && called.iter().all(|call| results.contains(call));
    must(fits, || {
        format!(
            "Please ensure that the number of function response parts is equal to the number of function call \
             parts of the function call turn: {called:?}, {results:?}"
        )
    })
}

/// The first call of an answer must have the signature with which it came.
fn check_signatures(calls: &[&Value], is_checked: bool, seals: &Seals) -> Checked {
    for (place, part) in calls.iter().enumerate() {
        let signature = part["thoughtSignature"].as_str();
        let name = &part["functionCall"]["name"];
        must(!is_checked || place > 0 || signature.is_some(), || {
            format!("Function call {name} is missing a thought_signature in functionCall parts.")
        })?;
        let known = part["functionCall"]["id"].as_str().and_then(|id| seals.get(id));
        must(
            known.is_none_or(|known| signature == Some(known.as_str())),
            || format!("Function call {name} is missing a thought_signature: it came with another one"),
        )?;
    }
    Ok(())
}

pub(super) fn learn(answer: &str, seals: &mut Seals) {
    for event in events(answer) {
        for part in event["candidates"][0]["content"]["parts"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let id = part["functionCall"]["id"].as_str();
            if let (Some(id), Some(seal)) = (id, part["thoughtSignature"].as_str()) {
                seals.insert(id.to_owned(), seal.to_owned());
            }
        }
    }
}

/// Writes the events of an answer of Gemini's `generateContent`.
#[derive(Debug, Clone)]
pub struct GeminiStream {
    model: String,
    text: String,
    usage: Value,
}

impl GeminiStream {
    /// An empty stream of that model.
    pub fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            text: String::new(),
            usage: json!({"promptTokenCount": 1, "candidatesTokenCount": 1}),
        }
    }

    /// Adds any event.
    #[must_use]
    pub fn event(mut self, event: &Value) -> Self {
        self.text.push_str(&format!("data: {event}\r\n\r\n"));
        self
    }

    /// Adds a part of the content.
    #[must_use]
    pub fn part(self, part: Value) -> Self {
        let candidate = json!({"index": 0, "content": {"role": "model", "parts": [part]}});
        let event = json!({"candidates": [candidate], "modelVersion": self.model});
        self.event(&event)
    }

    /// Adds a text in these pieces.
    #[must_use]
    pub fn text(self, pieces: &[&str]) -> Self {
        pieces
            .iter()
            .fold(self, |stream, piece| stream.part(json!({"text": piece})))
    }

    /// Adds the summary of a thought.
    #[must_use]
    pub fn thought(self, text: &str) -> Self {
        self.part(json!({"text": text, "thought": true}))
    }

    /// Adds a call; its arguments are JSON.
    #[must_use]
    pub fn call(self, id: &str, name: &str, arguments: &str, signature: Option<&str>) -> Self {
        let arguments: Value = serde_json::from_str(arguments).expect("the test's arguments are JSON");
        let mut part = json!({"functionCall": {"name": name, "args": arguments}});
        if !id.is_empty() {
            part["functionCall"]["id"] = id.into();
        }
        if let Some(signature) = signature {
            part["thoughtSignature"] = signature.into();
        }
        self.part(part)
    }

    /// Sets the number of tokens, as the interface writes it.
    #[must_use]
    pub fn usage(mut self, usage: Value) -> Self {
        self.usage = usage;
        self
    }

    /// Adds the reason for the end and returns all events.
    pub fn finish(self, reason: &str) -> String {
        let candidate =
            json!({"index": 0, "content": {"role": "model", "parts": []}, "finishReason": reason});
        let event =
            json!({"candidates": [candidate], "usageMetadata": self.usage, "modelVersion": self.model});
        self.event(&event).text
    }

    /// The events so far.
    pub fn unfinished(self) -> String {
        self.text
    }
}
