//! `becket "prompt"` and `becket ask`: one prompt, one answer.

use std::sync::Arc;

use becket_agent::desk::Desk;
use becket_agent::front::{Front, Sight};
use becket_agent::{CompactEnd, DirectCall, Ending, Input, Refused, RunEnd, Session, Switch};
use becket_dialects::docker_agent::{Piece, command_prompt};
use becket_events::{EndReason, InputSource, Part};
use becket_hooks::{Watcher, nearest};
use becket_mcp::Asking;
use becket_store::{Claim, ContextName, SqliteStore};
use clap::CommandFactory;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{piped, runtime, switch};
use crate::args::{Args, Options};
use crate::assemble::{Assembled, Setup};
use crate::extensions::{Called, CommandEnd, Extensions};
use crate::failure::{CliError, Exit};
use crate::front::{Output, Style, TerminalFront, harmless};
use crate::lifetimes::destroy_due;
use crate::pictures::read_picture;
use crate::surroundings::Surroundings;
use crate::target::Wish;
use crate::team::TeamCommands;

/// Asks once.
pub fn run(options: &Options, words: Vec<String>, surroundings: &Surroundings) -> Result<Exit, CliError> {
    if words.len() > 1 {
        return Err(too_many_words(&words));
    }
    let words = words.into_iter().next();
    let named = words.is_some();
    let prompt = whole_prompt(words, surroundings)?;
    if prompt.trim().is_empty() {
        if options.context.is_some() && !named {
            return switch::run(options, surroundings);
        }
        return Err(CliError::usage("the prompt is empty").hint("becket \"Run: ls\", or pipe a prompt in"));
    }
    // What begins with a slash may be a command of an extension's; that is known when they are loaded.
    let is_called = prompt.starts_with('/');
    if options.agent_file.is_none() && !is_called {
        hint_at_command(&prompt, surroundings);
    }
    let runtime = runtime(options)?;
    let result = runtime.block_on(async {
        let signals = surroundings.signals.listen()?;
        // From now on: a signal during the start must not be forgotten.
        let cancel = signals.next();
        let work = async {
            let mut conversation = Conversation::open(options, surroundings, &cancel).await?;
            let output = conversation.output();
            if let Some(command) = conversation.extensions().called(&prompt) {
                return command_line(conversation, command, cancel, surroundings).await;
            }
            if options.agent_file.is_none() && is_called {
                hint_at_command(&prompt, surroundings);
            }
            let prompt = match conversation.as_prompt(&prompt, &cancel).await? {
                Ok(prompt) if prompt.trim().is_empty() => {
                    conversation.close(EndReason::Failed).await?;
                    return Err(CliError::usage("the command asks nothing").hint("write words behind it"));
                }
                Ok(prompt) => prompt,
                Err(why) => {
                    conversation.close(EndReason::Failed).await?;
                    return Err(CliError::failed(why));
                }
            };
            let end = conversation.ask_and_attend(prompt, cancel).await;
            let reason = end.as_ref().map_or(EndReason::Failed, |end| end.ending.reason());
            conversation.close(reason).await?;
            let exit = conclude(&end?, &output, surroundings);
            Ok(unless_lost(exit, &output, surroundings))
        };
        signals.unless_forced(work).await
    });
    // A thread may still wait for a person at the terminal.
    runtime.shutdown_background();
    result
}

/// Runs a command of an extension's, and nothing else.
async fn command_line(
    mut conversation: Conversation,
    command: Called,
    cancel: CancellationToken,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let output = conversation.output();
    let ended = conversation.command(command, cancel).await;
    let exit = match &ended {
        Ok((CommandEnd::Cancelled, _)) => {
            surroundings.remark("cancelled");
            Exit::Cancelled
        }
        Ok((ended, last)) => {
            let last = last.as_ref().map(|end| conclude(end, &output, surroundings));
            match ended {
                CommandEnd::Threw(why) | CommandEnd::Waits(why) => {
                    surroundings.complain(why);
                    Exit::Failed
                }
                CommandEnd::Done | CommandEnd::Cancelled => last.unwrap_or(Exit::Answered),
            }
        }
        Err(_) => Exit::Failed,
    };
    conversation.close(reason_of(exit)).await?;
    ended.map(|_| unless_lost(exit, &output, surroundings))
}

/// Why a session ends that a command was run in.
fn reason_of(exit: Exit) -> EndReason {
    match exit {
        Exit::Answered => EndReason::Done,
        Exit::Cancelled => EndReason::Cancelled,
        _ => EndReason::Failed,
    }
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
    commands: TeamCommands,
    /// What the person is greeted with in a chat.
    welcome: Option<String>,
    /// Keeps other processes out of the context until the session is closed. A call of a tool needs none: it adds
    /// nothing to the conversation, and a plugin may make one in the middle of a prompt.
    _claim: Option<Claim>,
}

/// What a session is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The model will be asked.
    Prompts,
    /// Something is done to the context; a model that cannot be had is no hindrance.
    Care,
    /// A tool is called, without a model; the command prints what it gives back.
    Call,
}

impl Conversation {
    /// Puts the agent together and begins a session in the context that the command line chooses.
    /// A cancel of the start ends it.
    pub async fn open(
        options: &Options,
        surroundings: &Surroundings,
        cancel: &CancellationToken,
    ) -> Result<Self, CliError> {
        let wish = Wish::of(options)?;
        Self::open_in(wish, Purpose::Prompts, options, surroundings, cancel).await
    }

    /// The same in any context.
    pub async fn open_in(
        wish: Wish,
        purpose: Purpose,
        options: &Options,
        surroundings: &Surroundings,
        cancel: &CancellationToken,
    ) -> Result<Self, CliError> {
        let pictures = options
            .image
            .iter()
            .map(|file| read_picture(&surroundings.cwd.join(file)));
        let pictures = pictures.collect::<Result<Vec<Part>, CliError>>()?;
        let mut setup = Setup::read(options, surroundings)?;
        if let Some(refusal) = &setup.project.refusal {
            return Err(refusal.clone());
        }
        let store = Arc::new(setup.folders.open_store()?);
        let target = match purpose {
            Purpose::Call => wish.visit(&store)?,
            Purpose::Prompts | Purpose::Care => wish.claim(&store)?,
        };
        setup.enter(&target.name, surroundings)?;
        destroy_due(&store, &setup, &target.name, surroundings).await?;
        let output = Arc::new(Output::default());
        let front = front(options, surroundings, &output, purpose);
        let options = &with_some_model(&setup, purpose, options, surroundings);
        let asking = match purpose {
            Purpose::Prompts | Purpose::Call => Asking::WhenUnknown,
            Purpose::Care => Asking::Never,
        };
        let commands = match &setup.team {
            Some(team) => TeamCommands::of(team, surroundings)?,
            None => TeamCommands::default(),
        };
        let welcome = setup
            .team
            .as_ref()
            .and_then(|team| team.first().welcome_message.clone());
        let assembled = setup
            .assemble(options, surroundings, front, store, (asking, cancel))
            .await?;
        assembled.report_events(options, &output);
        if target.is_fresh {
            surroundings.remark(&format!("the context is {}", target.name));
        }
        let agent = Arc::clone(&assembled.agent);
        assembled.extensions.bind().await;
        let mut session = match purpose {
            Purpose::Call => Session::open_beside(agent, target.name.as_str()).await?,
            Purpose::Prompts | Purpose::Care => Session::open(agent, target.name.as_str()).await?,
        };
        if let Some(switch) = target.switch {
            session = enter(session, switch, &target.name, &assembled).await?;
        }
        Ok(Self {
            session,
            assembled,
            output,
            pictures,
            commands,
            welcome,
            _claim: target.claim,
        })
    }

    /// Archives what was said so far.
    pub async fn clear(&mut self, cancel: CancellationToken) -> Result<Result<(), Refused>, CliError> {
        Ok(self.session.clear(cancel).await?)
    }

    /// Lets somebody see every event from now on.
    pub fn watch(&self, watcher: Watcher) {
        self.assembled.agent.engine.watch(watcher);
    }

    /// Where the answers go.
    pub fn output(&self) -> Arc<Output> {
        Arc::clone(&self.output)
    }

    /// What the person is greeted with.
    pub fn welcome(&self) -> Option<&str> {
        self.welcome.as_deref()
    }

    /// Whether a line calls a command of the agent that has the word.
    pub fn calls_command(&self, line: &str) -> bool {
        self.commands.called(self.session.agent_name(), line).is_some()
    }

    /// The commands of the agent that has the word, and of extensions, for the person.
    pub fn listed_commands(&self) -> String {
        let of_agent = self.commands.listed(self.session.agent_name());
        format!("{of_agent}{}", self.extensions().listed_commands())
    }

    /// The extensions of the run.
    pub fn extensions(&self) -> &Extensions {
        &self.assembled.extensions
    }

    /// Runs a command of an extension's, and beside it everything that it asks for: it may wait for that. Says how it
    /// ended, and how the last run did if there was one.
    pub async fn command(
        &mut self,
        command: Called,
        cancel: CancellationToken,
    ) -> Result<(CommandEnd, Option<RunEnd>), CliError> {
        let (over, stop) = (CancellationToken::new(), cancel.child_token());
        let running = async {
            let ended = self.assembled.extensions.run_command(command, &stop).await;
            over.cancel();
            ended
        };
        let desk = self.assembled.agent.desk.clone();
        let serving = async {
            let served = serve(&mut self.session, desk, None, (&cancel, &over)).await;
            // Nobody would do what the command waits for.
            stop.cancel();
            served
        };
        // In this order: what is still wanted when a command is over, is known to be so.
        let (ended, last) = futures_util::future::join(running, serving).await;
        Ok((ended, last?))
    }

    /// What the agent is asked when the person has typed this: a command of its own becomes the prompt that it stands
    /// for. The tools in it are called like any others, and if one may not run, there is no prompt.
    pub async fn as_prompt(
        &mut self,
        line: &str,
        cancel: &CancellationToken,
    ) -> Result<Result<String, String>, CliError> {
        let called = self.commands.called(self.session.agent_name(), line);
        let Some((command, name, words)) = called else {
            return Ok(Ok(line.to_owned()));
        };
        let template = command.instruction.as_deref().unwrap_or_default();
        let pieces = match command_prompt(template, words) {
            Ok(pieces) => pieces,
            Err(error) => return Ok(Err(format!("the command /{name}: {error}"))),
        };
        if let Some(agent) = &command.agent {
            self.session.turn_to(agent).await?;
        }
        let mut prompt = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => prompt.push_str(&text),
                Piece::Call { tool, arguments } => {
                    let called = self.session.call_tool(&tool, &arguments, cancel.clone()).await;
                    if !called.ran {
                        let why = called.output;
                        let message =
                            format!("the command /{name} was not sent, because {tool} did not run: {why}");
                        return Ok(Err(message));
                    }
                    prompt.push_str(called.output.trim());
                }
            }
        }
        Ok(Ok(prompt.trim_start().to_owned()))
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

    /// The same, and then everything that extensions have asked for meanwhile: nobody would attend to it later. Says
    /// how the last run ended.
    pub async fn ask_and_attend(
        &mut self,
        text: String,
        cancel: CancellationToken,
    ) -> Result<RunEnd, CliError> {
        let end = self.ask(text, cancel.clone()).await?;
        let last = self.attend_to_all(Some(end), &cancel).await?;
        Ok(last.expect("the prompt itself has ended somehow"))
    }

    /// Does everything that extensions have asked for until now, if what ran last ended well.
    pub async fn attend_to_all(
        &mut self,
        last: Option<RunEnd>,
        cancel: &CancellationToken,
    ) -> Result<Option<RunEnd>, CliError> {
        let over = CancellationToken::new();
        over.cancel();
        let desk = self.desk();
        serve(&mut self.session, desk, last, (cancel, &over)).await
    }

    /// Where extensions see and steer the session, if there are any.
    pub fn desk(&self) -> Option<Desk> {
        self.assembled.agent.desk.clone()
    }

    /// Does what extensions have asked for while nothing ran.
    pub async fn attend(&mut self, cancel: CancellationToken) -> Result<Option<RunEnd>, CliError> {
        Ok(self.session.attend(cancel).await?)
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

    /// What remembers it all.
    pub fn store(&self) -> &SqliteStore {
        &self.assembled.store
    }

    /// What the session has cost so far.
    pub fn usage(&self) -> becket_events::Usage {
        self.session.usage()
    }

    /// Ends the session; everything is on disk afterwards.
    pub async fn close(self, reason: EndReason) -> Result<(), CliError> {
        self.assembled.extensions.settle().await;
        if self.desk().is_some_and(|desk| desk.has_waiting()) {
            let words = "an extension has said something that nobody heard, because the session is over";
            self.assembled.agent.front.show(Sight::Warning(words));
        }
        self.session.end(reason).await?;
        self.assembled.close().await
    }
}

/// Does what extensions ask for until their command is over, and then what is left if the last run ended well. Says how
/// that one ended.
async fn serve(
    session: &mut Session,
    desk: Option<Desk>,
    mut last: Option<RunEnd>,
    (cancel, over): (&CancellationToken, &CancellationToken),
) -> Result<Option<RunEnd>, CliError> {
    let Some(desk) = desk else { return Ok(last) };
    loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(last),
            () = desk.has_more_work() => {}
            () = over.cancelled() => return Ok(last),
        }
        let is_bad = |end: &RunEnd| end.ending.reason() != EndReason::Done;
        if over.is_cancelled() && (desk.shutdown_requested() || last.as_ref().is_some_and(is_bad)) {
            return Ok(last);
        }
        // Boxed, because a run is a future of great depth.
        let attended = Box::pin(session.attend(cancel.clone()));
        last = attended.await?.or(last);
    }
}

/// Makes a session's context the chosen one. If that is refused, the session ends, and a context that was made for it
/// goes.
async fn enter(
    mut session: Session,
    switch: Switch,
    name: &ContextName,
    assembled: &Assembled,
) -> Result<Session, CliError> {
    let switched = session.switch(switch).await;
    let (reason, error) = match switched {
        Ok(Ok(())) => return Ok(session),
        Ok(Err(Refused(reason))) => {
            let message = format!("a hook stopped the switch to the context {name}: {reason}");
            (EndReason::Blocked, CliError::failed(message))
        }
        Err(error) => (EndReason::Failed, error.into()),
    };
    let was_made = !session.is_resumed();
    session.end(reason).await?;
    if was_made {
        assembled.store.delete_context(name).await?;
    }
    assembled.close().await?;
    Err(error)
}

/// The options, with a model that needs nothing where the chosen one cannot be had and none will be asked.
pub fn with_some_model(
    setup: &Setup,
    purpose: Purpose,
    options: &Options,
    surroundings: &Surroundings,
) -> Options {
    let mut options = options.clone();
    if purpose != Purpose::Prompts && setup.provider(&options, surroundings).is_err() {
        options.model = Some("rehearsal".into());
    }
    options
}

/// Where the run is shown.
pub fn front(
    options: &Options,
    surroundings: &Surroundings,
    output: &Arc<Output>,
    purpose: Purpose,
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
    let front = match purpose {
        Purpose::Prompts | Purpose::Care => front,
        Purpose::Call => front.without_results(),
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
pub fn conclude(end: &RunEnd, output: &Output, surroundings: &Surroundings) -> Exit {
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
        Ending::Aborted => {
            surroundings.complain("an extension ended the run");
            Exit::Failed
        }
    }
}

/// The same for a chat, which goes on.
pub fn remark_on(end: &RunEnd, output: &Output, surroundings: &Surroundings) {
    conclude(end, output, surroundings);
}
