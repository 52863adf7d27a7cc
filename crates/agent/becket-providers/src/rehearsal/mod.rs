//! An embedded model for trying things out: it follows literal instructions and echoes everything else.
//!
//! The model works from the body's text as a real provider would, so a hook that rewrites messages or tools changes
//! what it does. Every round makes one tool call; a step that fails or is refused is reported at the end, and the steps
//! after it go on.

mod request;
mod steps;

use std::time::Duration;

use becket_agent::provider::{AnswerPart, Answering, Billing, ModelRequest, Provider, ProviderError};
use becket_events::{Json, StopReason, Usage};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::embedded::{self, NewCall};
use crate::openai::{BodyStyle, write_body};
use request::{OfferedTool, PastResult, Request};
use steps::{Instructions, Step};

/// The name of the provider and of its only model.
pub const NAME: &str = "rehearsal";

/// The notice at the end of every answer.
const NOTICE: &str = "This is a rehearsal: no model is connected. For a real one set OPENAI_API_KEY, \
                      ANTHROPIC_API_KEY, OPENROUTER_API_KEY or GEMINI_API_KEY, or pass --model ollama/NAME.";

/// Characters per piece of an answer.
const PIECE: usize = 24;

/// The most lines and characters of a result that the final answer quotes.
const QUOTED_LINES: usize = 40;
const QUOTED_CHARACTERS: usize = 4000;

/// The embedded model for trying things out.
#[derive(Debug, Clone, Default)]
pub struct Rehearsal {}

impl Rehearsal {
    /// The model, which needs no settings.
    pub fn new() -> Self {
        Self {}
    }
}

impl Provider for Rehearsal {
    fn name(&self) -> &str {
        NAME
    }

    fn model(&self) -> &str {
        NAME
    }

    fn billing(&self) -> Billing {
        Billing::Nothing
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError> {
        Ok(write_body(NAME, request, BodyStyle::Embedded))
    }

    fn send<'a>(&'a self, body: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        Box::pin(async move { answer(body) })
    }
}

fn answer(body: &Json) -> Result<Answering, ProviderError> {
    let request = Request::read(body)?;
    let instructions = Instructions::read(&request.instruction);
    let mut parts = Vec::new();
    let (stop_reason, written) = match next_call(&request, &instructions, body.text().len()) {
        Some((id, call)) => {
            let arguments = Value::Object(call.arguments).to_string();
            let new = NewCall {
                id,
                name: call.tool,
                arguments: &arguments,
            };
            embedded::push_call(&mut parts, 0, new, PIECE);
            (StopReason::ToolCalls, arguments.len())
        }
        None => {
            let words = final_words(&request, &instructions);
            embedded::push_text(&mut parts, &words, PIECE);
            (StopReason::Stop, words.len())
        }
    };
    parts.push(Ok(AnswerPart::Completed {
        stop_reason,
        usage: Usage {
            input_tokens: embedded::estimated_tokens(body.text().len()),
            output_tokens: embedded::estimated_tokens(written),
            ..Usage::default()
        },
        model: NAME.to_owned(),
    }));
    Ok(embedded::answering(parts, Duration::ZERO))
}

/// A step as a call of an offered tool.
struct PlannedCall<'a> {
    tool: &'a str,
    arguments: Map<String, Value>,
}

/// The next step that has not been tried and that a tool can do. The call's id holds the number of the step, and the
/// rest of it differs from the ids of earlier rounds.
fn next_call<'a>(
    request: &'a Request,
    instructions: &Instructions,
    body_length: usize,
) -> Option<(String, PlannedCall<'a>)> {
    let tried = request
        .calls
        .iter()
        .filter_map(|call| step_number(&call.id))
        .max();
    let first = tried.map_or(0, |number| number + 1);
    let steps = instructions.steps.iter().enumerate().skip(first);
    steps
        .filter_map(|(number, step)| Some((number, plan(step, &request.tools)?)))
        .next()
        .map(|(number, call)| {
            let id = format!("{NAME}_{}_{body_length}_{number}", request.messages);
            (id, call)
        })
}

fn step_number(id: &str) -> Option<usize> {
    id.strip_prefix(NAME)?.rsplit_once('_')?.1.parse().ok()
}

fn plan<'a>(step: &Step, tools: &'a [OfferedTool]) -> Option<PlannedCall<'a>> {
    let tool = tools
        .iter()
        .find(|tool| tool.operation == Some(step.operation()))?;
    let values: &[(&[&str], &str)] = match step {
        Step::Run(command) => &[(&["command", "cmd", "script"], command)],
        Step::Read(path) => &[(&["path", "file_path", "file", "filename"], path)],
        Step::Write { path, content } => &[
            (&["path", "file_path", "file", "filename"], path),
            (&["content", "contents", "text"], content),
        ],
        Step::Fetch(url) => &[(&["url", "uri", "urls"], url)],
    };
    let properties = tool
        .function
        .parameters
        .get("properties")
        .and_then(Value::as_object);
    let mut arguments = Map::new();
    for (names, value) in values {
        let known = names
            .iter()
            .find(|name| properties.is_some_and(|known| known.contains_key(**name)));
        let name = known.or(names.first().filter(|_| properties.is_none()))?;
        let is_list =
            properties.and_then(|known| known.get(*name)?.get("type")) == Some(&Value::from("array"));
        let value = Value::from(*value);
        arguments.insert(
            (*name).to_owned(),
            if is_list { Value::Array(vec![value]) } else { value },
        );
    }
    Some(PlannedCall {
        tool: &tool.function.name,
        arguments,
    })
}

fn final_words(request: &Request, instructions: &Instructions) -> String {
    if instructions.steps.is_empty() {
        return format!("You said: {}\n\n{NOTICE}", request.instruction.trim());
    }
    let mut words = String::new();
    for (number, step) in instructions.steps.iter().enumerate() {
        words.push_str(&account(request, number, step));
        words.push('\n');
    }
    if instructions.other_lines > 0 {
        let lines = if instructions.other_lines == 1 {
            "line is"
        } else {
            "lines are"
        };
        words.push_str(&format!(
            "{} other {lines} no instruction that I know.\n",
            instructions.other_lines
        ));
    }
    format!("{words}\n{NOTICE}")
}

/// The report about one step.
fn account(request: &Request, number: usize, step: &Step) -> String {
    let what = step.describe();
    let call = request
        .calls
        .iter()
        .rfind(|call| step_number(&call.id) == Some(number));
    match call.map(|call| &call.result) {
        None => format!(
            "{what}: not done, no tool for `{}` is offered.",
            step.operation().name()
        ),
        Some(None) => format!("{what}: no result came back."),
        Some(Some(PastResult { text, is_error: true })) => {
            format!("{what}: refused or failed.{}", quoted(text))
        }
        Some(Some(PastResult {
            text,
            is_error: false,
        })) => format!("{what}: done.{}", quoted(text)),
    }
}

/// A result on separate lines, cut to a readable length.
fn quoted(text: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() {
        return String::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = lines[..lines.len().min(QUOTED_LINES)].join("\n");
    if let Some((end, _)) = shown.char_indices().nth(QUOTED_CHARACTERS) {
        shown.truncate(end);
        shown.push('…');
    }
    match lines.len().saturating_sub(QUOTED_LINES) {
        0 => format!("\n{shown}"),
        more => format!("\n{shown}\n… and {more} more lines"),
    }
}
