//! `becket tool`: calls a tool without a model, through all hooks and the gate.

use std::io::Read;

use becket_agent::DirectCall;
use becket_events::EndReason;
use becket_face_kit::{Conversation, cancellable, unless_lost};
use becket_hooks::Watcher;
use becket_run::Purpose;
use becket_run::target::ContextChoice;
use becket_system::{CliError, Exit, Surroundings};
use serde_json::{Map, Value};

use crate::options::Options;

/// The longest arguments that are read from standard input.
const INPUT_LIMIT: u64 = 16 * 1024 * 1024;

/// Calls a tool with arguments as JSON text.
pub fn run(
    options: &Options,
    name: &str,
    arguments: &str,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    call(options, name, &read_arguments(arguments)?, surroundings)
}

/// Parses the arguments of a tool; `-` reads them from standard input.
pub fn read_arguments(text: &str) -> Result<Map<String, Value>, CliError> {
    let text = match text {
        "-" => from_standard_input()?,
        text => text.to_owned(),
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(no_arguments("they are JSON, but not an object")),
        Err(error) => Err(no_arguments(&error.to_string())),
    }
}

fn no_arguments(why: &str) -> CliError {
    CliError::usage(format!("the tool's arguments cannot be read: {why}"))
        .hint("write a JSON object, such as '{\"command\": \"ls\"}', or `-` to read one from standard input")
}

pub(super) fn from_standard_input() -> Result<String, CliError> {
    let mut text = String::new();
    let read = std::io::stdin().take(INPUT_LIMIT + 1).read_to_string(&mut text);
    read.map_err(|error| CliError::usage(format!("cannot read standard input: {error}")))?;
    if text.len() as u64 > INPUT_LIMIT {
        return Err(no_arguments("there are more than 16 MiB"));
    }
    Ok(text)
}

/// Calls a tool in a session of its own, and prints its output.
pub fn call(
    options: &Options,
    name: &str,
    arguments: &Map<String, Value>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    call_watched(options, name, arguments, None, surroundings)
}

/// Calls a tool in a session of its own, and shows its events to a watcher.
pub fn call_watched(
    options: &Options,
    name: &str,
    arguments: &Map<String, Value>,
    watcher: Option<Watcher>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    cancellable(options, surroundings, async |cancel| {
        let choice = ContextChoice::of(&options.run)?;
        let opened = Conversation::open_in(choice, Purpose::Call, options, surroundings, &cancel);
        let mut conversation = opened.await?;
        let output = conversation.output();
        if let Some(watcher) = watcher {
            conversation.assembled().agent.engine.watch(watcher);
        }
        let called = conversation.call(name, arguments, cancel).await;
        let (exit, reason) = conclude(&called);
        if !options.run.json {
            present(&called, surroundings, |text| output.write(text));
        }
        conversation.close(reason).await?;
        Ok(unless_lost(exit, &output, surroundings))
    })
}

fn conclude(called: &DirectCall) -> (Exit, EndReason) {
    match called {
        DirectCall { cancelled: true, .. } => (Exit::Cancelled, EndReason::Cancelled),
        DirectCall { is_error: true, .. } => (Exit::Failed, EndReason::Failed),
        _ => (Exit::Answered, EndReason::Done),
    }
}

/// Writes the output of the tool, if it ran; why it did not run was shown already.
fn present(called: &DirectCall, surroundings: &Surroundings, write: impl Fn(&str)) {
    if !called.ran {
        return;
    }
    let text = &called.output;
    let text = if surroundings.stdout_is_terminal {
        becket_system::harmless(text)
    } else {
        text.clone()
    };
    write(&text);
    if surroundings.stdout_is_terminal && !text.is_empty() && !text.ends_with('\n') {
        write("\n");
    }
}
