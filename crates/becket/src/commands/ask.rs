//! `becket "prompt"` and `becket ask`: one prompt, one answer.

use std::sync::Arc;

use becket_agent::front::Front;
use becket_agent::{CompactEnd, DirectCall, Ending, Input, RunEnd, Session};
use becket_events::{EndReason, InputSource, Part};
use becket_hooks::nearest;
use becket_store::ContextName;
use clap::CommandFactory;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{piped, runtime};
use crate::args::{Args, Options};
use crate::assemble::{Assembled, Setup};
use crate::failure::{CliError, Exit};
use crate::front::{Output, Style, TerminalFront, harmless};
use crate::pictures::read_picture;
use crate::signals::Signals;
use crate::surroundings::Surroundings;

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
        // From now on: a signal during the start must not be forgotten.
        let cancel = signals.next();
        let work = async {
            let mut conversation = Conversation::open(options, surroundings).await?;
            let output = conversation.output();
            let end = conversation.ask(prompt, cancel).await;
            let reason = end.as_ref().map_or(EndReason::Failed, |end| end.ending.reason());
            conversation.close(reason).await?;
            let exit = conclude(&end?, &output, surroundings);
            Ok(unless_lost(exit, &output, surroundings))
        };
        signals.unless_forced(work, Exit::Cancelled).await
    });
    // A thread may still wait for a person at the terminal.
    runtime.shutdown_background();
    result
}

/// An answer that did not reach standard output is no answer.
pub fn unless_lost(exit: Exit, output: &Output, surroundings: &Surroundings) -> Exit {
    match output.whole() {
        Ok(()) => exit,
        Err(error) => {
            surroundings.complain(&error.to_string());
            if exit == Exit::Answered { error.exit } else { exit }
        }
    }
}

/// Several words where one prompt was expected.
pub fn too_many_words(words: &[String]) -> CliError {
    let whole = words.join(" ");
    let quoted = format!("quote it: becket \"{}\"", whole.replace('"', "\\\""));
    let error = CliError::usage(format!("a prompt is one argument, but there are {}", words.len()));
    match words
        .split_first()
        .and_then(|(first, rest)| Some((near_command(first)?, rest)))
    {
        Some((near, rest)) => error.hint(format!(
            "did you mean `becket {near} {}`? If it is a prompt, {quoted}",
            rest.join(" ")
        )),
        None => error.hint(quoted),
    }
}

/// The command that was meant by a word, if it is almost one.
fn near_command(word: &str) -> Option<String> {
    if word.len() < 3 {
        return None;
    }
    let command = Args::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    nearest(word, names).map(ToString::to_string)
}

/// A session with everything around it, for one prompt or many.
pub struct Conversation {
    session: Session,
    assembled: Assembled,
    output: Arc<Output>,
    pictures: Vec<Part>,
}

impl Conversation {
    /// Puts the agent together and begins a session.
    pub async fn open(options: &Options, surroundings: &Surroundings) -> Result<Self, CliError> {
        Self::open_with(options, surroundings, Results::Shown).await
    }

    /// The same for a call of the person's own, which needs no model.
    pub async fn open_for_call(options: &Options, surroundings: &Surroundings) -> Result<Self, CliError> {
        let mut options = options.clone();
        if Setup::read(&options, surroundings)?
            .provider(&options, surroundings)
            .is_err()
        {
            options.model = Some("rehearsal".into());
        }
        Self::open_with(&options, surroundings, Results::Returned).await
    }

    async fn open_with(
        options: &Options,
        surroundings: &Surroundings,
        results: Results,
    ) -> Result<Self, CliError> {
        let context =
            ContextName::parse(&options.context).map_err(|error| CliError::usage(error.to_string()))?;
        let pictures = options
            .image
            .iter()
            .map(|file| read_picture(&surroundings.cwd.join(file)));
        let pictures = pictures.collect::<Result<Vec<Part>, CliError>>()?;
        let setup = Setup::read(options, surroundings)?;
        if let Some(refusal) = &setup.project.refusal {
            return Err(refusal.clone());
        }
        let output = Arc::new(Output::default());
        let front = front(options, surroundings, &output, results);
        let assembled = setup.assemble(options, surroundings, front).await?;
        if options.json {
            let output = Arc::clone(&output);
            let write = move |text: &str| output.write(&format!("{text}\n"));
            assembled.agent.engine.watch(Arc::new(move |_, text| write(text)));
        }
        let session = Session::open(Arc::clone(&assembled.agent), context.as_str()).await?;
        Ok(Self {
            session,
            assembled,
            output,
            pictures,
        })
    }

    /// Where the answers go.
    pub fn output(&self) -> Arc<Output> {
        Arc::clone(&self.output)
    }

    /// Takes a prompt to its answer.
    pub async fn ask(&mut self, text: String, cancel: CancellationToken) -> Result<RunEnd, CliError> {
        // Pictures of the command line go with the first prompt.
        let images = std::mem::take(&mut self.pictures);
        let input = Input {
            text,
            images,
            source: InputSource::Interactive,
        };
        Ok(self.session.prompt(input, cancel).await?)
    }

    /// Puts a summary in the place of the conversation.
    pub async fn compact(
        &mut self,
        instructions: Option<String>,
        cancel: CancellationToken,
    ) -> Result<CompactEnd, CliError> {
        Ok(self.session.compact(instructions, cancel).await?)
    }

    /// Calls a tool.
    pub async fn call(
        &mut self,
        name: &str,
        arguments: &Map<String, Value>,
        cancel: CancellationToken,
    ) -> DirectCall {
        self.session.call_tool(name, arguments, cancel).await
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

/// What becomes of what tools give back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Results {
    /// The person sees its beginning.
    Shown,
    /// The command prints it.
    Returned,
}

/// Where the run is shown.
fn front(
    options: &Options,
    surroundings: &Surroundings,
    output: &Arc<Output>,
    results: Results,
) -> Arc<dyn Front> {
    let out = Style::choose(options.color, surroundings.stdout_is_terminal, surroundings);
    let err = Style::choose(options.color, surroundings.stderr_is_terminal, surroundings);
    let front = TerminalFront::new(
        out,
        err,
        surroundings.stdout_is_terminal,
        surroundings.stderr_is_terminal,
        Arc::clone(output),
    );
    let front = match results {
        Results::Shown => front,
        Results::Returned => front.without_results(),
    };
    if options.json {
        Arc::new(front.without_answers())
    } else {
        Arc::new(front)
    }
}

/// The words of the command line, with what was piped in after them.
fn whole_prompt(words: Option<String>, surroundings: &Surroundings) -> Result<String, CliError> {
    let piped = match &words {
        _ if surroundings.stdin_is_terminal => String::new(),
        Some(_) => piped::beside_a_prompt(surroundings)?,
        None => piped::as_the_prompt(surroundings)?,
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

/// A single word that is almost a command may have been meant as one.
fn hint_at_command(prompt: &str, surroundings: &Surroundings) {
    if prompt.contains(char::is_whitespace) {
        return;
    }
    if let Some(near) = near_command(prompt) {
        surroundings.remark(&format!(
            "`{prompt}` is taken as a prompt; the command is `becket {near}`"
        ));
    }
}

/// Says how it ended, where that is not plain from the answer.
fn conclude(end: &RunEnd, output: &Output, surroundings: &Surroundings) -> Exit {
    match &end.ending {
        Ending::Answered => Exit::Answered,
        Ending::Handled(message) => {
            if let Some(message) = message {
                // In a pipe the answer is passed on as it was written.
                let shown = if surroundings.stdout_is_terminal {
                    harmless(message)
                } else {
                    message.clone()
                };
                output.write(&format!("{shown}\n"));
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
pub fn remark_on(end: &RunEnd, output: &Output, surroundings: &Surroundings) {
    conclude(end, output, surroundings);
}
