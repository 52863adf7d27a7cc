//! The format of a script. `docs/guide/scripted-models.md` explains it to users.

use std::path::Path;

use becket_agent::provider::ProviderErrorKind;
use becket_events::{StopReason, Usage};
use serde::Deserialize;
use serde_json::Value;

/// The longest wait that a script may ask for.
const LONGEST_DELAY_MS: u64 = 10 * 60 * 1000;

/// A script file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Script {
    /// The model's name; default: the file's name.
    #[serde(default)]
    pub model: Option<String>,
    /// The answers, in order.
    #[serde(default, alias = "turn")]
    pub turns: Vec<Turn>,
}

/// An answer.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Turn {
    /// Pieces of text that the request's JSON must hold.
    pub expect: Vec<String>,
    /// The model's thoughts before its answer.
    pub thinking: String,
    /// The text of the answer.
    pub text: String,
    /// The tool calls of the answer.
    pub tool_calls: Vec<ScriptedCall>,
    /// The tokens of the answer.
    pub usage: Option<ScriptedUsage>,
    /// Why the answer stops; default: what fits the answer.
    pub stop_reason: Option<StopReason>,
    /// The failure that ends the answer, or that comes in its place.
    pub error: Option<ScriptedError>,
    /// Milliseconds before the answer begins.
    pub delay_ms: u64,
    /// Characters per piece of text.
    pub chunk_size: Option<usize>,
    /// Milliseconds before each piece.
    pub chunk_delay_ms: u64,
}

/// A tool call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptedCall {
    /// The tool's name as the model knows it.
    pub name: String,
    /// The arguments: a table, or the text that the model writes.
    #[serde(default)]
    pub arguments: Option<Value>,
    /// Identifies the call; default: a generated id.
    #[serde(default)]
    pub id: Option<String>,
}

/// The tokens of an answer.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ScriptedUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    reasoning_tokens: u64,
    cost: Option<f64>,
}

/// A failure of the provider.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptedError {
    /// The kind of the failure.
    pub kind: ScriptedErrorKind,
    /// The message of the failure.
    #[serde(default)]
    pub message: Option<String>,
    /// The wait before a retry that the provider asks for.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
}

/// The kinds of failure, as a script writes them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScriptedErrorKind {
    Transient,
    RateLimited,
    Key,
    ContextTooLong,
    Rejected,
    Broken,
}

/// Why a script cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptError(String);

impl Script {
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            ScriptError(format!(
                "The script {} cannot be read: {error}. Check the path",
                path.display()
            ))
        })?;
        Self::parse(path, &text)
    }

    pub fn parse(path: &Path, text: &str) -> Result<Self, ScriptError> {
        let text = text.trim_start_matches('\u{feff}');
        let json = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let script = if json {
            read_json(text)
        } else {
            becket_agent::parse_toml(text).map_err(|error| error.to_string())
        };
        let script = script.map_err(|error| {
            let error = error.trim_end();
            ScriptError(format!("The script {} cannot be used: {error}", path.display()))
        })?;
        script
            .check()
            .map_err(|what| ScriptError(format!("The script {}: {what}", path.display())))?;
        Ok(script)
    }

    fn check(&self) -> Result<(), String> {
        if self.turns.is_empty() {
            return Err("it has no turns. Add one".to_owned());
        }
        for (turn, number) in self.turns.iter().zip(1..) {
            if turn.delay_ms.max(turn.chunk_delay_ms) > LONGEST_DELAY_MS {
                return Err(format!(
                    "turn {number} waits longer than {LONGEST_DELAY_MS} ms. Use a shorter delay"
                ));
            }
            if turn.chunk_size == Some(0) {
                return Err(format!("turn {number} has chunk_size 0. Use at least 1"));
            }
        }
        Ok(())
    }
}

/// Parses a JSON script, which may also be only the list of turns.
fn read_json(text: &str) -> Result<Script, String> {
    let script = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map(|turns| Script { model: None, turns })
    } else {
        serde_json::from_str(text)
    };
    script.map_err(|error| error.to_string())
}

impl ScriptedCall {
    /// The arguments as the text that a model would write.
    pub fn arguments_text(&self) -> String {
        match &self.arguments {
            None => "{}".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        }
    }
}

impl From<ScriptedUsage> for Usage {
    fn from(usage: ScriptedUsage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            cost: usage.cost,
        }
    }
}

impl From<ScriptedErrorKind> for ProviderErrorKind {
    fn from(kind: ScriptedErrorKind) -> Self {
        match kind {
            ScriptedErrorKind::Transient => Self::Transient,
            ScriptedErrorKind::RateLimited => Self::RateLimited,
            ScriptedErrorKind::Key => Self::Key,
            ScriptedErrorKind::ContextTooLong => Self::ContextTooLong,
            ScriptedErrorKind::Rejected => Self::Rejected,
            ScriptedErrorKind::Broken => Self::Broken,
        }
    }
}
