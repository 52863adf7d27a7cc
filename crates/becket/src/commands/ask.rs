//! `becket "prompt"` and `becket ask`: one prompt, one answer.

use std::io::Read;
use std::sync::Arc;

use becket_agent::front::Front;
use becket_agent::{Ending, Input, RunEnd, Session};
use becket_events::{EndReason, InputSource};
use becket_hooks::nearest;
use becket_store::ContextName;
use clap::CommandFactory;
use tokio_util::sync::CancellationToken;

use super::runtime;
use crate::args::{Args, Options};
use crate::assemble::{Assembled, Setup};
use crate::failure::{CliError, Exit};
use crate::front::{Style, TerminalFront};
use crate::signals::Signals;
use crate::surroundings::Surroundings;

/// The longest prompt that is read from a pipe.
const MAX_PIPED_BYTES: u64 = 64 * 1024 * 1024;

/// Asks once.
pub fn run(options: &Options, words: Vec<String>, surroundings: &Surroundings) -> Result<Exit, CliError> {
    if words.len() > 1 {
        return Err(too_many_words(&words));
    }
    let prompt = whole_prompt(words.into_iter().next(), surroundings)?;
    hint_at_command(&prompt, surroundings);
    let runtime = runtime()?;
    let result = runtime.block_on(async {
        let signals = Signals::listen()?;
        let mut conversation = Conversation::open(options, surroundings).await?;
        let end = conversation.ask(prompt, signals.next()).await;
        conversation
            .close(end.as_ref().map_or(EndReason::Failed, |end| end.ending.reason()))
            .await?;
        end
    });
    // A thread may still wait for a person at the terminal.
    runtime.shutdown_background();
    result.map(|end| conclude(&end, surroundings))
}

/// Several words where one prompt was expected.
pub fn too_many_words(words: &[String]) -> CliError {
    let whole = words.join(" ");
    CliError::usage(format!("a prompt is one argument, but there are {}", words.len()))
        .hint(format!("quote it: becket \"{}\"", whole.replace('"', "\\\"")))
}

/// A session with everything around it, for one prompt or many.
pub struct Conversation {
    session: Session,
    assembled: Assembled,
}

impl Conversation {
    /// Puts the agent together and begins a session.
    pub async fn open(options: &Options, surroundings: &Surroundings) -> Result<Self, CliError> {
        let context =
            ContextName::parse(&options.context).map_err(|error| CliError::usage(error.to_string()))?;
        let setup = Setup::read(options, surroundings)?;
        if let Some(skipped) = &setup.project.skipped {
            surroundings.remark(skipped);
        }
        for hook in setup.hooks.iter().filter(|hook| hook.loosened) {
            let info = &hook.info;
            surroundings.remark(&format!(
                "the guard {} ({}) may fail open: on_failure is allow",
                info.name, info.source
            ));
        }
        let assembled = setup.assemble(options, surroundings, front(options, surroundings))?;
        if options.json {
            assembled.agent.engine.watch(Arc::new(|_, text| {
                // A reader that has gone away does not end the run.
                let _ = super::print(&format!("{text}\n"));
            }));
        }
        let session = Session::open(Arc::clone(&assembled.agent), context.as_str()).await?;
        Ok(Self { session, assembled })
    }

    /// Takes a prompt to its answer.
    pub async fn ask(&mut self, text: String, cancel: CancellationToken) -> Result<RunEnd, CliError> {
        let input = Input {
            text,
            images: Vec::new(),
            source: InputSource::Interactive,
        };
        Ok(self.session.prompt(input, cancel).await?)
    }

    /// What the session has cost so far.
    pub fn usage(&self) -> becket_events::Usage {
        self.session.usage()
    }

    /// Ends the session; everything is on disk afterwards.
    pub async fn close(self, reason: EndReason) -> Result<(), CliError> {
        self.session.end(reason).await?;
        Ok(self.assembled.store.close().await?)
    }
}

/// Where the run is shown.
fn front(options: &Options, surroundings: &Surroundings) -> Arc<dyn Front> {
    let out = Style::choose(options.color, surroundings.stdout_is_terminal, surroundings);
    let err = Style::choose(options.color, surroundings.stderr_is_terminal, surroundings);
    let front = TerminalFront::new(
        out,
        err,
        surroundings.stdout_is_terminal,
        surroundings.stderr_is_terminal,
    );
    if options.json {
        Arc::new(front.without_answers())
    } else {
        Arc::new(front)
    }
}

/// The words of the command line, with what was piped in after them.
fn whole_prompt(words: Option<String>, surroundings: &Surroundings) -> Result<String, CliError> {
    let piped = if surroundings.stdin_is_terminal {
        String::new()
    } else {
        read_pipe()?
    };
    let prompt = match (words, piped.trim_end()) {
        (Some(words), "") => words,
        (Some(words), piped) => format!("{words}\n\n{piped}"),
        (None, piped) => piped.to_string(),
    };
    if prompt.trim().is_empty() {
        return Err(CliError::usage("the prompt is empty").hint("becket \"Run: ls\", or pipe a prompt in"));
    }
    Ok(prompt)
}

fn read_pipe() -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let mut stdin = std::io::stdin().lock().take(MAX_PIPED_BYTES + 1);
    stdin
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::failed(format!("cannot read standard input: {error}")))?;
    if bytes.len() as u64 > MAX_PIPED_BYTES {
        let limit = MAX_PIPED_BYTES / 1024 / 1024;
        return Err(
            CliError::usage(format!("standard input is longer than {limit} MiB"))
                .hint("put it into a file and ask the model to read the part that matters"),
        );
    }
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        CliError::usage(format!(
            "standard input is not UTF-8 text: byte {place} is not part of a character"
        ))
        .hint("pipe text, or name the file in the prompt")
    })
}

/// A single word that is almost a command may have been meant as one.
fn hint_at_command(prompt: &str, surroundings: &Surroundings) {
    if prompt.contains(char::is_whitespace) || prompt.len() < 3 {
        return;
    }
    let command = Args::command();
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    if let Some(near) = nearest(prompt, names) {
        surroundings.remark(&format!(
            "`{prompt}` is taken as a prompt; the command is `becket {near}`"
        ));
    }
}

/// Says how it ended, where that is not plain from the answer.
fn conclude(end: &RunEnd, surroundings: &Surroundings) -> Exit {
    match &end.ending {
        Ending::Answered => Exit::Answered,
        Ending::Handled(message) => {
            if let Some(message) = message {
                let _ = super::print(&format!("{message}\n"));
            }
            Exit::Answered
        }
        Ending::Blocked(reason) => {
            surroundings.complain(&format!("a hook stopped the run: {reason}"));
            Exit::Failed
        }
        Ending::Limit(_) => Exit::Limit,
        Ending::LoopDetected(reason) => {
            surroundings.complain(reason);
            Exit::Failed
        }
        Ending::Provider(error) => {
            surroundings.complain(&error.message);
            Exit::Provider
        }
        Ending::Cancelled => {
            surroundings.remark("cancelled");
            Exit::Cancelled
        }
    }
}

/// The same for a chat, which goes on.
pub fn remark_on(end: &RunEnd, surroundings: &Surroundings) {
    conclude(end, surroundings);
}
