//! The records of a session: dispatches and spans of time.

use becket_store::Recorded;
use becket_system::in_ms;
use serde_json::Value;

/// A record: a dispatch or a span of time.
pub struct Item {
    pub(crate) seq: i64,
    pub(crate) session_id: String,
    pub(crate) is_span: bool,
    pub(crate) name: String,
    pub(crate) json: Value,
}

impl Item {
    /// Reads a record of the store.
    pub fn read(recorded: &Recorded) -> Self {
        Self {
            seq: recorded.seq,
            session_id: recorded.session_id.clone(),
            is_span: recorded.is_span,
            name: recorded.name.clone(),
            json: serde_json::from_str(recorded.json.text()).unwrap_or_default(),
        }
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        self.json[name].as_u64().unwrap_or_default()
    }

    /// When the record began; older versions wrote it less exactly.
    pub(crate) fn began(&self) -> u64 {
        match self.number("time_us") {
            0 => self.number("time_ms") * 1000,
            time => time,
        }
    }

    pub(crate) fn ended(&self) -> u64 {
        self.began() + self.number("duration_us")
    }

    pub(crate) fn call(&self) -> Option<&str> {
        self.json["tool_call_id"].as_str()
    }

    pub(crate) fn is(&self, kind: &str) -> bool {
        self.is_span && self.name == kind
    }

    /// The record as one line of JSON.
    pub fn line(&self) -> String {
        let mut json = self.json.clone();
        if let Value::Object(fields) = &mut json {
            let kind = if self.is_span { "span" } else { "dispatch" };
            fields.insert("type".into(), kind.into());
            fields.insert("session_id".into(), self.session_id.clone().into());
        }
        format!("{json}\n")
    }

    /// The record as one line of text.
    pub fn told(&self) -> String {
        let took = in_ms(self.number("duration_us"));
        if !self.is_span {
            return format!("{}  {took}", self.name);
        }
        let facts = &self.json["facts"];
        let name = self.json["name"].as_str().unwrap_or_default();
        let words = |value: &Value| value.as_str().unwrap_or_default().replace('_', " ");
        match self.name.as_str() {
            "turn" => format!(
                "turn {}  {took}  {}",
                self.number("turn"),
                words(&facts["reason"])
            ),
            "request" => format!("request to {name}  {took}{}", request_facts(&facts["ended"])),
            _ => {
                let how = match facts["refused"].as_str() {
                    Some(reason) => reason.lines().next().unwrap_or_default().to_owned(),
                    None => format!("allowed by {}", words(&facts["allowed_by"])),
                };
                let failed = match (&facts["is_error"], facts["refused"].is_null()) {
                    (Value::Bool(true), true) => ", failed",
                    _ => "",
                };
                let mut text = format!("{name} {}  {took}  {how}{failed}", facts["arguments"]);
                if !facts["rewritten"].is_null() {
                    text.push_str(&format!("\n  ran with {}", facts["rewritten"]));
                }
                text
            }
        }
    }
}

fn request_facts(ended: &Value) -> String {
    for problem in ["error", "blocked"] {
        if let Some(words) = ended[problem].as_str() {
            return format!("  {problem}: {words}");
        }
    }
    let usage = &ended["usage"];
    match (usage["input_tokens"].as_u64(), usage["output_tokens"].as_u64()) {
        (Some(read), Some(written)) => format!("  {read} tokens in, {written} out"),
        _ => String::new(),
    }
}

/// A verdict in words.
pub fn verdict_of(verdict: &Value) -> String {
    match verdict {
        Value::String(word) => word.clone(),
        Value::Object(object) => {
            let said = object.iter().next();
            said.map_or(String::new(), |(word, reason)| {
                format!("{word}: {}", reason.as_str().unwrap_or_default())
            })
        }
        other => other.to_string(),
    }
}
