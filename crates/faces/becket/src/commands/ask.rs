//! `becket "prompt"` and `becket ask`: one prompt, one answer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use becket_agent::desk::{ChosenModel, Desk, Destination};
use becket_agent::front::Sight;
use becket_agent::store::Tree;
use becket_agent::{
    CompactEnd, DirectCall, Ending, GoTo, GoToEnd, Input, Position, Refused, RunEnd, Session, Switch,
};
use becket_chibi::scheme_files::SchemeFiles;
use becket_docker_agent::{Piece, TeamCommands, command_prompt};
use becket_events::{EndReason, InputSource, ModelChoice, Part};
use becket_hooks::{Watcher, nearest};
use becket_host::{Asking, Person};
use becket_pi::extensions::{Called, CommandEnd, Extensions};
use becket_pi::host_call::HostCall;
use becket_store::{Claim, ContextName, SqliteStore};
use becket_system::{CliError, Exit, Surroundings, harmless};
use becket_tools::Models;
use clap::CommandFactory;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::chat::Shell;
use super::moving::{Around, End, Grounds, Seat};
use super::{ago, piped, runtime, switch};
use crate::args::{Args, Options, RunMode};
use crate::assemble::{Assembled, Caller, Setup};
use crate::front::{Output, Style, TerminalFront, at_screen, counted};
use crate::lifetimes::destroy_due;
use crate::pictures::read_picture;
use crate::programs::Program;
use crate::target::{Target, Wish};

/// Asks once.
pub fn run(options: &Options, words: Vec<String>, surroundings: &Surroundings) -> Result<Exit, CliError> {
    if words.len() > 1 && !options.pi.takes_many() {
        return Err(too_many_words(&words));
    }
    let mut words = words.into_iter();
    let (words, further) = (words.next(), words.collect::<Vec<_>>());
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
            if let Some(command) = conversation
                .extensions()
                .called(&prompt)
                .filter(|_| further.is_empty())
            {
                return command_line(conversation, command, cancel, surroundings).await;
            }
            if options.agent_file.is_none() && is_called && !conversation.calls_command(&prompt) {
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
            let end = conversation.ask_all(prompt, further, cancel).await;
            let reason = end.as_ref().map_or(EndReason::Failed, |end| end.ending.reason());
            conversation.close(reason).await?;
            let exit = conclude(&end?, &output, surroundings);
            Ok(unless_lost(exit, &output, surroundings))
        };
        signals.unless_forced(work).await
    });
    // A thread may still wait for a person at the terminal.
    runtime.shutdown_background();
    result.map(|exit| as_pi_ends(exit, options))
}

/// pi knows one number for everything that fails.
fn as_pi_ends(exit: Exit, options: &Options) -> Exit {
    match exit {
        Exit::Provider | Exit::Limit if options.pi.mode.is_some() => Exit::Failed,
        exit => exit,
    }
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
                CommandEnd::Threw { why, .. } | CommandEnd::Waits(why) => {
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
    seat: Seat,
    grounds: Grounds,
    assembled: Assembled,
    output: Arc<Output>,
    pictures: Vec<Part>,
    commands: TeamCommands,
    /// What the person is greeted with in a chat.
    welcome: Option<String>,
    /// What commands of the person's inherit.
    environment: Arc<BTreeMap<OsString, OsString>>,
    /// Gives models by their names.
    models: Models,
    /// The program that reads the session's events.
    program: Option<Program>,
}

/// Who is there while a session runs.
pub struct Company {
    /// The person.
    pub person: Person,
    /// A program that reads events.
    pub program: Option<Program>,
    /// Where answers go.
    pub output: Arc<Output>,
}

/// A session, for somebody who steers it from outside.
pub struct Steered<'a> {
    /// Where it is steered.
    pub desk: Desk,
    /// What it works with.
    pub assembled: &'a Assembled,
    /// Runs commands of the person's.
    pub shell: Shell,
    /// Tells when it is to end.
    pub ending: &'a CancellationToken,
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

impl Purpose {
    /// Whether guests are asked what they are, where nobody knows it.
    fn asking(self) -> Asking {
        match self {
            Self::Prompts | Self::Call => Asking::WhenChanged,
            Self::Care => Asking::Never,
        }
    }
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
        let company = company(options, surroundings, purpose);
        Self::open_with(company, wish, purpose, options, surroundings, cancel).await
    }

    /// The same in any company.
    pub async fn open_with(
        company: Company,
        wish: Wish,
        purpose: Purpose,
        options: &Options,
        surroundings: &Surroundings,
        cancel: &CancellationToken,
    ) -> Result<Self, CliError> {
        let Company {
            person,
            program,
            output,
        } = company;
        let pictures = pictures(options, surroundings)?;
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
        let options = &with_some_model(&setup, purpose, options, surroundings);
        let (commands, welcome) = of_team(&setup, surroundings)?;
        let caller = Caller {
            options,
            surroundings,
            cancel,
        };
        let assembled = setup.assemble(caller, person, store, purpose.asking()).await?;
        show_on(&output, options, &assembled, program.as_ref());
        if purpose == Purpose::Prompts {
            tell_what_goes_on(&target.name, &assembled.store, surroundings)?;
        }
        if target.is_fresh && !options.pi.no_session {
            surroundings.remark(&format!("the context is {}", target.name));
        }
        let environment = Arc::clone(&assembled.environment(&setup, surroundings).variables);
        let models = assembled
            .extensions
            .models(setup.models(&*assembled.agent.provider, surroundings));
        assembled.extensions.bind().await;
        let mut seat = take_seat(target, purpose, &assembled).await?;
        if options.pi.no_session {
            seat.mark_unkept(&assembled.store).await?;
        }
        tell_beginning(options, &assembled, program.as_ref(), surroundings)?;
        let grounds = Grounds {
            options: options.clone(),
            surroundings: surroundings.clone(),
            setup,
        };
        Ok(Self {
            seat,
            grounds,
            assembled,
            output,
            pictures,
            commands,
            welcome,
            environment,
            models,
            program,
        })
    }

    /// Does what is asked for at the desk, beside somebody who asks for it, until that one is done. What runs then is
    /// cancelled.
    pub async fn serve<T>(
        &mut self,
        cancel: &CancellationToken,
        steer: impl AsyncFnOnce(Steered<'_>) -> T,
    ) -> Result<T, CliError> {
        let program = self.program.clone();
        let shell = Shell {
            output: None,
            ..self.shell(Style::plain(), &self.grounds.surroundings)
        };
        let (seat, around) = self.parts();
        let assembled = around.assembled;
        let desk = assembled.agent.desk.clone();
        let desk = desk.ok_or_else(|| CliError::failed("the session cannot be steered"))?;
        let (over, ending, stop) = (
            CancellationToken::new(),
            CancellationToken::new(),
            cancel.child_token(),
        );
        let steering = async {
            let done = steer(Steered {
                desk: desk.clone(),
                assembled,
                shell,
                ending: &ending,
            });
            let done = done.await;
            over.cancel();
            stop.cancel();
            done
        };
        let serving = async {
            let served = attend_until(seat, around, (&over, &stop, &ending), program.as_ref()).await;
            // Nobody would do what is still asked for.
            ending.cancel();
            served
        };
        let (done, served) = futures_util::future::join(steering, serving).await;
        served.map(|()| done)
    }

    /// Archives what was said so far.
    pub async fn clear(&mut self, cancel: CancellationToken) -> Result<Result<(), Refused>, CliError> {
        Ok(self.seat.session_mut().clear(cancel).await?)
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

    /// Whether a line calls a command of the agent that has the word, a prompt template or a skill.
    pub fn calls_command(&self, line: &str) -> bool {
        let of_agent = self.commands.called(self.seat.session().agent_name(), line);
        of_agent.is_some() || self.assembled.shelf.is_called(line)
    }

    /// The commands of the agent that has the word and of extensions, and what else has a name, for the person.
    pub fn listed_commands(&self) -> String {
        let of_agent = self.commands.listed(self.seat.session().agent_name());
        let of_extensions = self.extensions().listed_commands();
        format!("{of_agent}{of_extensions}{}", self.assembled.shelf.listed())
    }

    /// The same by name, without those of extensions.
    pub fn command_names(&self) -> Vec<(String, String)> {
        self.commands.names(self.seat.session().agent_name())
    }

    /// The names of prompt templates and skills, and what they are for.
    pub fn template_names(&self) -> Vec<(String, String)> {
        self.assembled.shelf.names()
    }

    /// What runs commands of the person's.
    pub fn shell(&self, style: Style, surroundings: &Surroundings) -> Shell {
        Shell {
            board: self.extensions().board(),
            output: Some(self.output()),
            style,
            surroundings: surroundings.clone(),
            directory: surroundings.cwd.clone(),
            environment: Arc::clone(&self.environment),
        }
    }

    /// The model in use.
    pub fn model_name(&self) -> String {
        let chosen = self.desk().and_then(|desk| desk.model().ok());
        let model = chosen.unwrap_or_else(|| Arc::clone(&self.assembled.agent.provider));
        format!("{}/{}", model.name(), model.model())
    }

    /// Takes another model from the next request on; the error says why it cannot be had.
    pub fn choose_model(&self, name: &str) -> Result<(), String> {
        let desk = self.desk().ok_or(
            "the model can be changed on a screen only; here `becket --model NAME chat` chooses one",
        )?;
        let provider = (self.models)(name)?;
        desk.set_model(ChosenModel {
            context_window: self.extensions().context_window(&*provider),
            provider,
            choice: ModelChoice::Set,
        });
        Ok(())
    }

    /// The files in Scheme of the run.
    pub fn scheme(&self) -> Option<Arc<SchemeFiles>> {
        self.assembled.scheme()
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
        let (seat, around) = self.parts();
        let running = async {
            let ended = around.assembled.extensions.run_command(command, &stop).await;
            over.cancel();
            ended
        };
        let serving = async {
            let served = serve(seat, around, None, (&cancel, &over)).await;
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
        let called = self.commands.called(self.seat.session().agent_name(), line);
        let Some((command, name, words)) = called else {
            return Ok(Ok(line.to_owned()));
        };
        let template = command.instruction.as_deref().unwrap_or_default();
        let pieces = match command_prompt(template, words) {
            Ok(pieces) => pieces,
            Err(error) => return Ok(Err(format!("the command /{name}: {error}"))),
        };
        if let Some(agent) = &command.agent {
            self.seat.session_mut().turn_to(agent).await?;
        }
        let mut prompt = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => prompt.push_str(&text),
                Piece::Call { tool, arguments } => {
                    let called = self
                        .seat
                        .session_mut()
                        .call_tool(&tool, &arguments, cancel.clone())
                        .await;
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
        let (seat, around) = self.parts();
        let end = seat
            .work(around, &cancel, async |session: &mut Session| {
                session.prompt(input, cancel.clone()).await
            })
            .await?;
        self.extensions().renew_session_file();
        Ok(end)
    }

    /// The same with one prompt after the other, as long as each is answered.
    async fn ask_all(
        &mut self,
        first: String,
        further: Vec<String>,
        cancel: CancellationToken,
    ) -> Result<RunEnd, CliError> {
        let mut end = self.ask_or_call(first, cancel.clone()).await?;
        for prompt in further {
            if end.ending.reason() != EndReason::Done {
                break;
            }
            end = self.ask_or_call(prompt, cancel.clone()).await?;
        }
        Ok(end)
    }

    /// A prompt, or the command of an extension's that it calls.
    async fn ask_or_call(&mut self, prompt: String, cancel: CancellationToken) -> Result<RunEnd, CliError> {
        let Some(called) = self.extensions().called(&prompt) else {
            return self.ask_and_attend(prompt, cancel).await;
        };
        let (ended, last) = self.command(called, cancel).await?;
        Ok(match (ended, last) {
            (CommandEnd::Threw { why, .. } | CommandEnd::Waits(why), _) => ended_by(Ending::Blocked(why)),
            (CommandEnd::Cancelled, _) => ended_by(Ending::Cancelled),
            (CommandEnd::Done, Some(last)) => last,
            (CommandEnd::Done, None) => ended_by(Ending::Handled(None)),
        })
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
        let (seat, around) = self.parts();
        serve(seat, around, last, (cancel, &over)).await
    }

    /// Where extensions see and steer the session, if there are any.
    pub fn desk(&self) -> Option<Desk> {
        self.assembled.agent.desk.clone()
    }

    /// Does what extensions have asked for while nothing ran.
    pub async fn attend(&mut self, cancel: CancellationToken) -> Result<Option<RunEnd>, CliError> {
        let (seat, around) = self.parts();
        seat.attend(around, cancel).await
    }

    /// Puts a summary in the place of the conversation.
    pub async fn compact(
        &mut self,
        instructions: Option<String>,
        cancel: CancellationToken,
    ) -> Result<CompactEnd, CliError> {
        Ok(self.seat.session_mut().compact(instructions, cancel).await?)
    }

    /// Calls a tool.
    pub async fn call(
        &mut self,
        name: &str,
        arguments: &Map<String, Value>,
        cancel: CancellationToken,
    ) -> DirectCall {
        self.seat.session_mut().call_tool(name, arguments, cancel).await
    }

    /// What remembers it all.
    pub fn store(&self) -> &SqliteStore {
        &self.assembled.store
    }

    /// What the session has cost so far.
    pub fn usage(&self) -> becket_events::Usage {
        self.seat.session().usage()
    }

    /// Ends the session; everything is on disk afterwards.
    pub async fn close(mut self, reason: EndReason) -> Result<(), CliError> {
        self.assembled.extensions.settle().await;
        if self.desk().is_some_and(|desk| desk.has_next()) {
            let words = "an extension has said something that nobody heard, because the session is over";
            self.assembled.agent.front.show(Sight::Warning(words));
        }
        if let Some(session) = self.seat.take_session() {
            session.end(reason).await?;
        }
        self.assembled.extensions.renew_session_file();
        let (seat, around) = self.parts();
        seat.destroy_unkept(around).await;
        self.assembled.close().await?;
        match &self.program {
            Some(program) => program.finish().await,
            None => Ok(()),
        }
    }

    /// Goes on from another entry of the conversation.
    pub async fn go_to(
        &mut self,
        target_id: &str,
        how: GoTo,
        cancel: CancellationToken,
    ) -> Result<GoToEnd, CliError> {
        Ok(self.seat.session_mut().go_to(target_id, how, cancel).await?)
    }

    /// Goes on in a fork of the conversation, in a context that is claimed for it.
    pub async fn fork(
        &mut self,
        entry_id: String,
        position: Position,
        place: (ContextName, Claim),
        cancel: CancellationToken,
    ) -> Result<End, CliError> {
        let (seat, around) = self.parts();
        seat.fork(entry_id, position, place, around, &cancel).await
    }

    /// The session that runs, and what is there whichever one runs.
    fn parts(&mut self) -> (&mut Seat, Around<'_>) {
        let Self {
            seat,
            grounds,
            assembled,
            ..
        } = self;
        (seat, Around { grounds, assembled })
    }

    /// Goes on elsewhere.
    pub async fn go(&mut self, to: Destination, cancel: &CancellationToken) -> Result<End, CliError> {
        let (seat, around) = self.parts();
        seat.go(to, around, cancel).await
    }

    /// The context that the conversation is in.
    pub fn context_name(&self) -> &ContextName {
        self.seat.context_name()
    }

    /// How many messages the conversation has.
    pub fn message_count(&self) -> usize {
        self.seat.session().message_count()
    }

    /// The conversation with all its branches.
    pub async fn tree(&self) -> Result<Tree, CliError> {
        Ok(self.seat.session().tree().await?)
    }

    /// Labels an entry, or takes its label away. Says whether there is such an entry.
    pub async fn set_label(&mut self, entry_id: &str, label: Option<&str>) -> Result<bool, CliError> {
        Ok(self.seat.session_mut().set_label(entry_id, label).await?)
    }

    /// Gives the conversation a name; an empty one takes it away.
    pub async fn set_name(&mut self, name: &str) -> Result<(), CliError> {
        Ok(self.seat.session_mut().set_name(name).await?)
    }
}

fn ended_by(ending: Ending) -> RunEnd {
    RunEnd {
        answer: String::new(),
        ending,
    }
}

/// The pictures of the command line.
fn pictures(options: &Options, surroundings: &Surroundings) -> Result<Vec<Part>, CliError> {
    let files = options.image.iter();
    files
        .map(|file| read_picture(&surroundings.cwd.join(file)))
        .collect()
}

/// The commands of an agent file, and what the person is greeted with.
fn of_team(setup: &Setup, surroundings: &Surroundings) -> Result<(TeamCommands, Option<String>), CliError> {
    let Some(team) = &setup.team else {
        return Ok((TeamCommands::default(), None));
    };
    let welcome = team.first().welcome_message.clone();
    Ok((TeamCommands::of(team, surroundings)?, welcome))
}

/// Events, and what extensions draw, go to whoever reads or sees them.
fn show_on(output: &Arc<Output>, options: &Options, assembled: &Assembled, program: Option<&Program>) {
    assembled.report_events(options, output);
    if let Some(drawing) = assembled.extensions.drawing() {
        output.drawn_by(drawing);
    }
    if let Some(program) = program {
        program.stream.listen(&assembled.agent.engine);
    }
}

/// Says which conversation goes on: its words go to the model, and somebody may have forgotten them.
fn tell_what_goes_on(
    name: &ContextName,
    store: &SqliteStore,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    if let Some((messages @ 1.., used_ms)) = store.usage_of(name)? {
        let (messages, ago) = (counted(messages, "message"), ago(used_ms));
        surroundings.remark(&format!(
            "going on in the context {name}: {messages}, last used {ago}"
        ));
    }
    Ok(())
}

/// A session has begun: the model is offered what the command line says, and a reader of events knows which one it is.
fn tell_beginning(
    options: &Options,
    assembled: &Assembled,
    program: Option<&Program>,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    if let Some(names) = options.tool_list() {
        choose_tools(names, assembled, surroundings)?;
    }
    if let (Some(RunMode::Json), Some(program)) = (options.pi.mode, program) {
        let header = assembled.extensions.ask(HostCall::SessionHeader);
        program.stream.say(&header.map_err(CliError::failed)?);
    }
    Ok(())
}

/// Does what is asked for until that is over, or the session is to end.
async fn attend_until(
    seat: &mut Seat,
    around: Around<'_>,
    (over, stop, ending): (&CancellationToken, &CancellationToken, &CancellationToken),
    program: Option<&Program>,
) -> Result<(), CliError> {
    let Some(desk) = &around.assembled.agent.desk else {
        return Ok(());
    };
    loop {
        tokio::select! {
            biased;
            () = over.cancelled() => return Ok(()),
            () = desk.wished() => {}
        }
        if !desk.has_work() {
            // Nothing is left but the wish to end.
            ending.cancel();
            over.cancelled().await;
            return Ok(());
        }
        let end = seat.attend(around, stop.clone()).await?;
        let is_done = end.is_none_or(|end| end.ending.reason() == EndReason::Done);
        if let (true, false, Some(program)) = (is_done, desk.has_waiting(), program) {
            program.stream.settled();
        }
    }
}

/// Offers the model only these tools. Names that no tool has are told; if none has one, they were meant otherwise.
pub fn choose_tools(
    names: Vec<String>,
    assembled: &Assembled,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    let tools = assembled.extensions.ask(HostCall::GetAllTools);
    let tools = tools.map_err(CliError::failed)?;
    let known: Vec<&str> = tools
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let unknown: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !known.contains(name))
        .collect();
    if unknown.len() == names.len() {
        let message = format!("there is no tool and no tool profile `{}`", names.join(","));
        let profiles: Vec<&str> = becket_dialects::profile_names().collect();
        let all = || profiles.iter().chain(&known).copied();
        let hint = match nearest(&names[0], all()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "the profiles are {}; the tools are {}",
                profiles.join(", "),
                known.join(", ")
            ),
        };
        return Err(CliError::usage(message).hint(hint));
    }
    if !unknown.is_empty() {
        surroundings.remark(&format!("there is no tool called {}", unknown.join(", ")));
    }
    let chosen = assembled.extensions.ask(HostCall::SetActiveTools { names });
    chosen.map(|_| ()).map_err(CliError::failed)
}

/// Does what extensions ask for until their command is over, and then what is left if the last run ended well. Says how
/// that one ended.
async fn serve(
    seat: &mut Seat,
    around: Around<'_>,
    mut last: Option<RunEnd>,
    (cancel, over): (&CancellationToken, &CancellationToken),
) -> Result<Option<RunEnd>, CliError> {
    let Some(desk) = &around.assembled.agent.desk else {
        return Ok(last);
    };
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
        last = seat.attend(around, cancel.clone()).await?.or(last);
    }
}

/// Begins the session in its context.
async fn take_seat(target: Target, purpose: Purpose, assembled: &Assembled) -> Result<Seat, CliError> {
    let agent = Arc::clone(&assembled.agent);
    let mut session = match purpose {
        Purpose::Call => Session::open_beside(agent, target.name.as_str()).await?,
        Purpose::Prompts | Purpose::Care => Session::open(agent, target.name.as_str()).await?,
    };
    if let Some(switch) = target.switch {
        session = enter(session, switch, &target.name, assembled).await?;
    }
    Ok(Seat::new(session, target.name, target.claim))
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

/// Who is there while a session runs, as the command line says.
fn company(options: &Options, surroundings: &Surroundings, purpose: Purpose) -> Company {
    if options.pi.mode != Some(RunMode::Json) {
        let output = Arc::new(Output::on(&surroundings.screen));
        return Company {
            person: person(options, surroundings, &output, purpose),
            program: None,
            output,
        };
    }
    let output = Arc::new(Output::muted());
    let front = front(options, surroundings, &output, purpose).without_answers();
    let (program, person) = Program::reading(Arc::new(front));
    Company {
        person,
        program: Some(program),
        output,
    }
}

/// Where the person is.
pub fn person(
    options: &Options,
    surroundings: &Surroundings,
    output: &Arc<Output>,
    purpose: Purpose,
) -> Person {
    let front = front(options, surroundings, output, purpose);
    match options.json {
        true => Person::reading(Arc::new(front.without_answers())),
        false if surroundings.screen.get().is_some() => at_screen(Arc::new(front), &surroundings.screen),
        false => Person::reading(Arc::new(front)),
    }
}

/// Where the run is shown.
pub fn front(
    options: &Options,
    surroundings: &Surroundings,
    output: &Arc<Output>,
    purpose: Purpose,
) -> TerminalFront {
    let out = Style::choose(options.color, surroundings.stdout_is_terminal, surroundings);
    let err = Style::choose(options.color, surroundings.stderr_is_terminal, surroundings);
    let front = TerminalFront::new(
        out,
        err,
        surroundings.stdout_is_terminal,
        surroundings.stderr_is_terminal,
        Arc::clone(output),
    );
    match purpose {
        Purpose::Prompts | Purpose::Care => front,
        Purpose::Call => front.without_results(),
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
