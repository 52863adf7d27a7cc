//! A model that answers from a file, for tests and demonstrations.
//!
//! The file is a list of turns (`file.rs`); every request takes the next one, whoever sends it.

mod file;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use becket_agent::provider::{
    AnswerPart, Answering, Billing, ModelRequest, Provider, ProviderError, ProviderErrorKind,
};
use becket_events::{Delta, Json, StopReason, Usage};
use futures_util::future::BoxFuture;

use crate::embedded::{self, NewCall};
use crate::openai::{BodyStyle, write_body};
pub use file::ScriptError;
use file::{Script, ScriptedError, Turn};

/// The provider's name.
pub const NAME: &str = "scripted";

/// Characters per piece by default.
const PIECE: usize = 24;

/// A model that answers from a file.
#[derive(Debug)]
pub struct Scripted {
    file: PathBuf,
    model: String,
    turns: Vec<Turn>,
    next: AtomicUsize,
}

impl Scripted {
    /// Loads a script. A file whose name ends in `.json` is JSON, any other is TOML.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        Ok(Self::new(path, Script::load(path)?))
    }

    /// Parses the text of a script; `path` decides its format and is named in messages.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ScriptError> {
        Ok(Self::new(path, Script::parse(path, text)?))
    }

    fn new(path: &Path, script: Script) -> Self {
        let stem = || {
            path.file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        Self {
            file: path.to_owned(),
            model: script.model.unwrap_or_else(stem),
            turns: script.turns,
            next: AtomicUsize::new(0),
        }
    }

    fn take_turn(&self, body: &Json) -> Result<(usize, &Turn), ProviderError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(turn) = self.turns.get(number) else {
            return Err(self.rejection(format!(
                "has no more turns: request {} came after the last of {}. Add a turn",
                number + 1,
                self.turns.len()
            )));
        };
        let missing = turn
            .expect
            .iter()
            .find(|expected| !body.text().contains(expected.as_str()));
        match missing {
            None => Ok((number, turn)),
            Some(expected) => Err(self.rejection(format!(
                "expects at turn {} that the request holds {expected:?}, and it does not. Compare the request's JSON",
                number + 1
            ))),
        }
    }

    fn rejection(&self, what: String) -> ProviderError {
        ProviderError::new(
            ProviderErrorKind::Rejected,
            format!("The script {} {what}", self.file.display()),
        )
    }

    async fn answer(&self, body: &Json) -> Result<Answering, ProviderError> {
        let (number, turn) = self.take_turn(body)?;
        if turn.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(turn.delay_ms)).await;
        }
        let size = turn.chunk_size.unwrap_or(PIECE);
        let mut parts = turn_parts(number, turn, size);
        match &turn.error {
            Some(error) if parts.is_empty() => return Err(self.scripted_error(number, error)),
            Some(error) => parts.push(Err(self.scripted_error(number, error))),
            None => parts.push(Ok(self.completion(turn, body))),
        }
        Ok(embedded::answering(
            parts,
            Duration::from_millis(turn.chunk_delay_ms),
        ))
    }

    fn scripted_error(&self, number: usize, error: &ScriptedError) -> ProviderError {
        let message = error.message.clone().unwrap_or_else(|| {
            let turn = number + 1;
            format!(
                "The script {} fails at turn {turn}, as it was told to",
                self.file.display()
            )
        });
        ProviderError {
            kind: error.kind.into(),
            message,
            retry_after: error.retry_after_ms.map(Duration::from_millis),
            window: None,
        }
    }

    fn completion(&self, turn: &Turn, body: &Json) -> AnswerPart {
        let natural = match turn.tool_calls.as_slice() {
            [] => StopReason::Stop,
            _ => StopReason::ToolCalls,
        };
        let written = turn.text.len() + turn.thinking.len();
        AnswerPart::Completed {
            stop_reason: turn.stop_reason.unwrap_or(natural),
            usage: turn.usage.map(Into::into).unwrap_or_else(|| Usage {
                input_tokens: embedded::estimated_tokens(body.text().len()),
                output_tokens: embedded::estimated_tokens(written),
                ..Usage::default()
            }),
            model: self.model.clone(),
        }
    }
}

fn turn_parts(number: usize, turn: &Turn, size: usize) -> Vec<Result<AnswerPart, ProviderError>> {
    let mut parts = Vec::new();
    for text in embedded::pieces(&turn.thinking, size) {
        parts.push(Ok(AnswerPart::Delta(Delta::Thinking {
            text,
            signature: None,
        })));
    }
    embedded::push_text(&mut parts, &turn.text, size);
    for (index, call) in turn.tool_calls.iter().enumerate() {
        let id = call
            .id
            .clone()
            .unwrap_or_else(|| format!("{NAME}_{}_{index}", number + 1));
        let arguments = call.arguments_text();
        let new = NewCall {
            id,
            name: &call.name,
            arguments: &arguments,
        };
        embedded::push_call(&mut parts, index, new, size);
    }
    parts
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        NAME
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn billing(&self) -> Billing {
        Billing::Nothing
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError> {
        Ok(write_body(&self.model, request, BodyStyle::Embedded))
    }

    fn send<'a>(&'a self, body: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        Box::pin(self.answer(body))
    }
}
