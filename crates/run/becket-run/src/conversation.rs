//! A session with the assembled agent, its guests, and the user or program that it works for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use becket_agent::front::FrontUpdate;
use becket_agent::session_handle::{Destination, SessionHandle};
use becket_agent::store::Tree;
use becket_agent::{
    CompactEnd, DirectCall, Ending, GoTo, GoToEnd, Input, Position, Refused, RunEnd, Session, Switch,
};
use becket_events::{EndReason, InputSource, Part};
use becket_host::{
    AgentCommands, Asking, CalledCommand, Client, CommandEnd, CommandPrompt, Interactive, NoCommands, Person,
    Piece,
};
use becket_store::{Claim, ContextName, SqliteStore};
use becket_system::moments::ago;
use becket_system::{CliError, Surroundings, counted};
use becket_tools::Models;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::adopt::adopt;
use crate::assemble::Assembled;
use crate::assemble::assemble;
use crate::lifetimes::destroy_due;
use crate::loading::Unheard;
use crate::models::models;
use crate::models::provider;
use crate::offered::choose_tools;
use crate::options::Caller;
use crate::options::RunOptions;
use crate::pictures::read_picture;
use crate::session_models::SessionModels;
use crate::setup::Setup;
use crate::switching::{Around, CurrentSession, End, RunParts};
use crate::target::{ContextChoice, Target};

/// A session with the assembled agent and its guests, for one prompt or many.
pub struct Conversation {
    current: CurrentSession,
    parts: RunParts,
    assembled: Assembled,
    pictures: Vec<Part>,
    commands: Box<dyn AgentCommands>,
    /// How many messages the conversation had when it was opened and when it was used last, in milliseconds since 1970,
    /// if it is an earlier one.
    earlier_use: Option<(u64, u64)>,
    /// What the user is greeted with in a chat.
    welcome: Option<String>,
    /// The environment that the user's own commands inherit.
    environment: Arc<BTreeMap<OsString, OsString>>,
    /// Gives models by their names.
    models: Models,
    /// A program that reads the session's events.
    client: Option<Arc<dyn Client>>,
}

/// Who takes part in a session.
pub struct Participants {
    /// The user, who sees output and answers questions.
    pub person: Person,
    /// A program that reads the session's events.
    pub client: Option<Arc<dyn Client>>,
    /// Called when the agent is put together, before its session begins.
    pub on_ready: Box<dyn FnOnce(&Assembled) + Send>,
}

impl Participants {
    /// Only a user takes part.
    pub fn user(person: Person) -> Self {
        Self {
            person,
            client: None,
            on_ready: Box::new(|_| {}),
        }
    }

    /// Nobody takes part: nothing is shown, and questions are answered with no.
    pub fn nobody() -> Self {
        Self::user(Person::reading(Arc::new(Unheard)))
    }
}

/// A session that is steered from outside, such as by a program or a screen.
pub struct Steered<'a> {
    /// Takes requests to the session.
    pub handle: SessionHandle,
    /// The agent and its guests.
    pub assembled: &'a Assembled,
    /// Is cancelled when the session is to end.
    pub ending: &'a CancellationToken,
}

/// What a session is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The model will be asked.
    Prompts,
    /// The context is changed, not prompted; a missing model is no error.
    Care,
    /// A tool is called, without a model; the command prints what it gives back.
    Call,
}

impl Purpose {
    /// Whether guests that are not known yet are run to find out what they are.
    fn asking(self) -> Asking {
        match self {
            Self::Prompts | Self::Call => Asking::WhenChanged,
            Self::Care => Asking::Never,
        }
    }
}

impl Conversation {
    /// Assembles the agent and begins a session. Cancelling while it starts ends it.
    pub async fn open(
        participants: Participants,
        choice: ContextChoice,
        purpose: Purpose,
        caller: Caller<'_>,
    ) -> Result<Self, CliError> {
        let Caller {
            options,
            surroundings,
            cancel,
        } = caller;
        let Participants {
            person,
            client,
            on_ready,
        } = participants;
        let pictures = pictures(options, surroundings)?;
        let (setup, store, target) = enter_context(choice, purpose, caller).await?;
        let options = &with_some_model(&setup, purpose, options, surroundings);
        let (commands, welcome) = of_team(&setup, surroundings)?;
        let caller = Caller {
            options,
            surroundings,
            cancel,
        };
        let assembled = assemble(&setup, caller, person, store, purpose.asking()).await?;
        on_ready(&assembled);
        client
            .iter()
            .for_each(|client| client.listen(&assembled.agent.engine));
        let earlier_use = assembled.store.usage_of(&target.name)?;
        let earlier_use = earlier_use.filter(|(messages, _)| *messages > 0);
        // A chat at a terminal begins with lines that say it, and an editor has chosen the conversation.
        let begins_chat = options.is_chat && surroundings.stderr_is_terminal && !options.json
            || surroundings.listener.is_there();
        if let (Purpose::Prompts, false, Some(usage)) = (purpose, begins_chat, earlier_use) {
            tell_what_goes_on(&target.name, usage, surroundings);
        }
        if target.is_fresh && !options.keeps_nothing && !begins_chat {
            surroundings.remark(&format!("the context is {}", target.name));
        }
        let environment = Arc::clone(&assembled.environment(&setup, surroundings).variables);
        let models = assembled
            .interactive
            .models(models(&setup, &assembled.agent.provider, surroundings));
        assembled.interactive.bind().await;
        let current = begin_with_tools(target, purpose, &assembled, (options, surroundings)).await?;
        if let Some(client) = &client {
            client.begun(&*assembled.interactive)?;
        }
        let parts = RunParts {
            options: options.clone(),
            surroundings: surroundings.clone(),
            setup,
        };
        Ok(Self {
            current,
            parts,
            assembled,
            pictures,
            commands,
            earlier_use,
            welcome,
            environment,
            models,
            client,
        })
    }

    /// Runs `steer`, and meanwhile does what is asked for through the session handle. When `steer` is done, what still
    /// runs is cancelled.
    pub async fn serve<T>(
        &mut self,
        cancel: &CancellationToken,
        steer: impl AsyncFnOnce(Steered<'_>) -> T,
    ) -> Result<T, CliError> {
        let client = self.client.clone();
        let (current, around) = self.around();
        let assembled = around.assembled;
        let handle = assembled.agent.handle.clone();
        let handle = handle.ok_or_else(|| CliError::failed("the session cannot be steered"))?;
        let (over, ending, stop) = (
            CancellationToken::new(),
            CancellationToken::new(),
            cancel.child_token(),
        );
        let steering = async {
            let done = steer(Steered {
                handle: handle.clone(),
                assembled,
                ending: &ending,
            });
            let done = done.await;
            over.cancel();
            stop.cancel();
            done
        };
        let serving = async {
            let served = attend_until(current, around, (&over, &stop, &ending), client.as_deref()).await;
            // Nobody would do what is still asked for.
            ending.cancel();
            served
        };
        let (done, served) = futures_util::future::join(steering, serving).await;
        served.map(|()| done)
    }

    /// Archives the messages of the conversation.
    pub async fn clear(&mut self, cancel: CancellationToken) -> Result<Result<(), Refused>, CliError> {
        Ok(self.current.session_mut().clear(cancel).await?)
    }

    /// The greeting of a chat.
    pub fn welcome_message(&self) -> Option<&str> {
        self.welcome.as_deref()
    }

    /// How many messages the conversation had when it was opened and when it was used last, in milliseconds since 1970,
    /// if it is an earlier one.
    pub fn earlier_use(&self) -> Option<(u64, u64)> {
        self.earlier_use
    }

    /// The agent and its guests.
    pub fn assembled(&self) -> &Assembled {
        &self.assembled
    }

    /// What was read before the agent was put together.
    pub fn setup(&self) -> &Setup {
        &self.parts.setup
    }

    /// The model in use, and the others that there are.
    pub fn models(&self) -> SessionModels<'_> {
        SessionModels::new(&self.assembled, &self.parts.setup, &self.models)
    }

    /// Whether a line calls a command of the current agent, a prompt template or a skill.
    pub fn calls_command(&self, line: &str) -> bool {
        let of_agent = self.commands.call(self.current.session().agent_name(), line);
        of_agent.is_some()
            || self
                .guests()
                .prompts()
                .is_some_and(|prompts| prompts.is_called(line))
    }

    /// The commands of the current agent and of guests, the prompt templates and the skills, as lines for the user.
    pub fn listed_commands(&self) -> String {
        let of_agent = self.command_names().into_iter();
        let of_agent: String = of_agent
            .map(|(name, about)| format!("{name:<9}{about}\n"))
            .collect();
        let of_guests = self.guests().commands().into_iter();
        let of_guests: String = of_guests
            .map(|(name, about)| format!("{name:<9} {about}\n"))
            .collect();
        let prompts = self
            .guests()
            .prompts()
            .map(|prompts| prompts.listed())
            .unwrap_or_default();
        format!("{of_agent}{of_guests}{prompts}")
    }

    /// The commands of the current agent and what they do, without those of guests.
    pub fn command_names(&self) -> Vec<(String, String)> {
        self.commands.names(self.current.session().agent_name())
    }

    /// The names of prompt templates and skills, and what they are for.
    pub fn template_names(&self) -> Vec<(String, String)> {
        self.guests()
            .prompts()
            .map(|prompts| prompts.names())
            .unwrap_or_default()
    }

    /// The environment that the user's own commands inherit.
    pub fn environment(&self) -> &Arc<BTreeMap<OsString, OsString>> {
        &self.environment
    }

    /// Guests with which the session and the user interact.
    pub fn guests(&self) -> &Arc<dyn Interactive> {
        &self.assembled.interactive
    }

    /// Runs a guest's command, and meanwhile everything that it asks for, since it may wait for that. Returns how the
    /// command ended, and how the last run ended if there was one.
    pub async fn command(
        &mut self,
        command: CalledCommand,
        cancel: CancellationToken,
    ) -> Result<(CommandEnd, Option<RunEnd>), CliError> {
        let (over, stop) = (CancellationToken::new(), cancel.child_token());
        let (current, around) = self.around();
        let running = async {
            let ended = command(stop.clone()).await;
            over.cancel();
            ended
        };
        let serving = async {
            let served = serve(current, around, None, (&cancel, &over)).await;
            // Nobody would do what the command waits for.
            stop.cancel();
            served
        };
        // In this order: what is still wanted when a command is over, is known to be so.
        let (ended, last) = futures_util::future::join(running, serving).await;
        Ok((ended, last?))
    }

    /// The prompt for what the user has typed: a command of the agent becomes the prompt that it stands for. Tools in
    /// that prompt are called like any others; if one is refused, there is no prompt.
    pub async fn as_prompt(
        &mut self,
        line: &str,
        cancel: &CancellationToken,
    ) -> Result<Result<String, String>, CliError> {
        let agent = self.current.session().agent_name();
        let CommandPrompt { name, agent, pieces } = match self.commands.call(agent, line) {
            None => return Ok(Ok(line.to_owned())),
            Some(Err(why)) => return Ok(Err(why)),
            Some(Ok(prompt)) => prompt,
        };
        if let Some(agent) = &agent {
            self.current.session_mut().turn_to(agent).await?;
        }
        let mut prompt = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => prompt.push_str(&text),
                Piece::Call { tool, arguments } => {
                    let called = self
                        .current
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

    /// Sends pictures with the next prompt.
    pub fn add_pictures(&mut self, pictures: Vec<Part>) {
        self.pictures.extend(pictures);
    }

    /// Runs a prompt until it is answered.
    pub async fn ask(&mut self, text: String, cancel: CancellationToken) -> Result<RunEnd, CliError> {
        // Pictures of the command line go with the first prompt.
        let images = std::mem::take(&mut self.pictures);
        let input = Input {
            text,
            images,
            source: InputSource::Interactive,
        };
        self.ask_input(input, cancel).await
    }

    async fn ask_input(&mut self, input: Input, cancel: CancellationToken) -> Result<RunEnd, CliError> {
        let (current, around) = self.around();
        let end = current
            .work(around, &cancel, async |session: &mut Session| {
                session.prompt(input, cancel.clone()).await
            })
            .await?;
        self.guests().renew_session_file();
        Ok(end)
    }

    /// Takes the prompt that a hook wants to run before the user's first one.
    pub fn take_first_prompt(&mut self) -> Option<String> {
        self.current.session_mut().take_first_prompt()
    }

    /// Runs the prompt that a hook wants to run before the user's first one, if there is one.
    async fn ask_for_hook(&mut self, cancel: &CancellationToken) -> Result<Option<RunEnd>, CliError> {
        let Some(text) = self.take_first_prompt() else {
            return Ok(None);
        };
        let input = Input {
            text,
            images: Vec::new(),
            source: InputSource::Hook,
        };
        let end = self.ask_input(input, cancel.clone()).await?;
        self.attend_to_all(Some(end), cancel).await
    }

    /// Runs one prompt or command after another, as long as each is answered; before them, what a hook wants to ask.
    pub async fn ask_all(
        &mut self,
        first: String,
        further: Vec<String>,
        cancel: CancellationToken,
    ) -> Result<RunEnd, CliError> {
        if let Some(end) = self.ask_for_hook(&cancel).await?
            && end.ending.reason() != EndReason::Done
        {
            return Ok(end);
        }
        let mut end = self.ask_or_call(first, cancel.clone()).await?;
        for prompt in further {
            if end.ending.reason() != EndReason::Done {
                break;
            }
            end = self.ask_or_call(prompt, cancel.clone()).await?;
        }
        Ok(end)
    }

    /// Runs a prompt, or the guest's command that it calls.
    async fn ask_or_call(&mut self, prompt: String, cancel: CancellationToken) -> Result<RunEnd, CliError> {
        let Some(called) = self.guests().command(&prompt) else {
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

    /// Runs a prompt, and then everything that extensions have asked for meanwhile, since nothing would do it later.
    /// Returns how the last run ended.
    pub async fn ask_and_attend(
        &mut self,
        text: String,
        cancel: CancellationToken,
    ) -> Result<RunEnd, CliError> {
        let end = self.ask(text, cancel.clone()).await?;
        let last = self.attend_to_all(Some(end), &cancel).await?;
        Ok(last.expect("the prompt itself has ended somehow"))
    }

    /// Does everything that extensions have asked for so far, if the last run ended well.
    pub async fn attend_to_all(
        &mut self,
        last: Option<RunEnd>,
        cancel: &CancellationToken,
    ) -> Result<Option<RunEnd>, CliError> {
        let over = CancellationToken::new();
        over.cancel();
        let (current, around) = self.around();
        serve(current, around, last, (cancel, &over)).await
    }

    /// The handle by which extensions see and steer the session, if there are any.
    pub fn handle(&self) -> Option<SessionHandle> {
        self.assembled.agent.handle.clone()
    }

    /// Does what extensions have asked for while nothing ran.
    pub async fn attend(&mut self, cancel: CancellationToken) -> Result<Option<RunEnd>, CliError> {
        let (current, around) = self.around();
        current.attend(around, cancel).await
    }

    /// Replaces the conversation by a summary.
    pub async fn compact(
        &mut self,
        instructions: Option<String>,
        cancel: CancellationToken,
    ) -> Result<CompactEnd, CliError> {
        Ok(self.current.session_mut().compact(instructions, cancel).await?)
    }

    /// Calls a tool.
    pub async fn call(
        &mut self,
        name: &str,
        arguments: &Map<String, Value>,
        cancel: CancellationToken,
    ) -> DirectCall {
        self.current
            .session_mut()
            .call_tool(name, arguments, cancel)
            .await
    }

    /// The tokens that the session has used so far.
    pub fn usage(&self) -> becket_events::Usage {
        self.current.session().usage()
    }

    /// Ends the session and writes everything to disk.
    pub async fn close(mut self, reason: EndReason) -> Result<(), CliError> {
        self.assembled.interactive.settle().await;
        if self.handle().is_some_and(|handle| handle.messages().has_next()) {
            let words = "a message of an extension was lost, because the session is over";
            self.assembled.agent.front.show(FrontUpdate::Warning(words));
        }
        if let Some(session) = self.current.take_session() {
            session.end(reason).await?;
        }
        self.guests().renew_session_file();
        let (current, around) = self.around();
        current.destroy_unkept(around).await;
        self.assembled.close().await?;
        match &self.client {
            Some(client) => client.finish().await,
            None => Ok(()),
        }
    }

    /// Continues from another entry of the conversation.
    pub async fn go_to(
        &mut self,
        target_id: &str,
        how: GoTo,
        cancel: CancellationToken,
    ) -> Result<GoToEnd, CliError> {
        Ok(self.current.session_mut().go_to(target_id, how, cancel).await?)
    }

    /// Continues in a fork of the conversation, in a context that is claimed for it.
    pub async fn fork(
        &mut self,
        entry_id: String,
        position: Position,
        place: (ContextName, Claim),
        cancel: CancellationToken,
    ) -> Result<End, CliError> {
        let (current, around) = self.around();
        current.fork(entry_id, position, place, around, &cancel).await
    }

    /// The session that runs, and the parts that stay the same whichever session runs.
    fn around(&mut self) -> (&mut CurrentSession, Around<'_>) {
        let Self {
            current,
            parts,
            assembled,
            ..
        } = self;
        (current, Around { parts, assembled })
    }

    /// Continues in another conversation or at another entry.
    pub async fn go(&mut self, to: Destination, cancel: &CancellationToken) -> Result<End, CliError> {
        let (current, around) = self.around();
        current.go(to, around, cancel).await
    }

    /// The context that the conversation is in.
    pub fn context_name(&self) -> &ContextName {
        self.current.context_name()
    }

    /// How many messages the conversation has.
    pub fn message_count(&self) -> usize {
        self.current.session().message_count()
    }

    /// The conversation with all its branches.
    pub async fn tree(&self) -> Result<Tree, CliError> {
        Ok(self.current.session().tree().await?)
    }

    /// Labels an entry, or takes its label away. Says whether there is such an entry.
    pub async fn set_label(&mut self, entry_id: &str, label: Option<&str>) -> Result<bool, CliError> {
        Ok(self.current.session_mut().set_label(entry_id, label).await?)
    }

    /// Gives the conversation a name; an empty one takes it away.
    pub async fn set_name(&mut self, name: &str) -> Result<(), CliError> {
        Ok(self.current.session_mut().set_name(name).await?)
    }
}

fn ended_by(ending: Ending) -> RunEnd {
    RunEnd {
        answer: String::new(),
        ending,
    }
}

/// The pictures of the command line.
fn pictures(options: &RunOptions, surroundings: &Surroundings) -> Result<Vec<Part>, CliError> {
    let files = options.images.iter();
    files
        .map(|file| read_picture(&surroundings.cwd.join(file)))
        .collect()
}

/// The commands and the greeting of an agent file.
fn of_team(
    setup: &Setup,
    surroundings: &Surroundings,
) -> Result<(Box<dyn AgentCommands>, Option<String>), CliError> {
    let Some(team) = &setup.team else {
        return Ok((Box::new(NoCommands), None));
    };
    let welcome = team.welcome_message().map(ToOwned::to_owned);
    Ok((team.commands(surroundings)?, welcome))
}

/// Reads the settings, opens the store, and claims the context.
async fn enter_context(
    choice: ContextChoice,
    purpose: Purpose,
    caller: Caller<'_>,
) -> Result<(Setup, Arc<SqliteStore>, Target), CliError> {
    let Caller {
        options,
        surroundings,
        ..
    } = caller;
    let mut setup = Setup::read(options, surroundings)?;
    if let Some(refusal) = &setup.project.refusal {
        return Err(refusal.clone());
    }
    let store = Arc::new(setup.open_store()?);
    let target = match purpose {
        Purpose::Call => choice.visit(&store)?,
        Purpose::Prompts | Purpose::Care => choice.claim(&store)?,
    };
    setup.enter(&target.name, surroundings)?;
    if target.claim.is_some() {
        adopt(&target.name, &setup, &store, surroundings).await?;
    }
    destroy_due(&store, &setup, &target.name, surroundings).await?;
    Ok((setup, store, target))
}

/// Tells the user which earlier conversation is continued: its messages go to the model.
fn tell_what_goes_on(name: &ContextName, (messages, used_ms): (u64, u64), surroundings: &Surroundings) {
    let (messages, ago) = (counted(messages, "message"), ago(used_ms));
    surroundings.remark(&format!(
        "continuing the conversation {name}: {messages}, last used {ago}"
    ));
}

/// Begins the session with the tools that the command line names.
async fn begin_with_tools(
    target: Target,
    purpose: Purpose,
    assembled: &Assembled,
    (options, surroundings): (&RunOptions, &Surroundings),
) -> Result<CurrentSession, CliError> {
    let unmet = match options.tool_list() {
        Some(names) => Some(choose_tools(&names, &*assembled.interactive, surroundings)?),
        None => None,
    };
    let mut current = begin(target, purpose, assembled).await?;
    if options.keeps_nothing {
        current.mark_unkept(&assembled.store).await?;
    }
    let error = unmet.and_then(|unmet| unmet.lock().expect("no panic happens while it is held").take());
    error.map_or(Ok(current), Err)
}

/// Does what is asked for through the session handle until `over` is cancelled, or until nothing is left but the
/// request to end.
async fn attend_until(
    current: &mut CurrentSession,
    around: Around<'_>,
    (over, stop, ending): (&CancellationToken, &CancellationToken, &CancellationToken),
    client: Option<&dyn Client>,
) -> Result<(), CliError> {
    let Some(handle) = &around.assembled.agent.handle else {
        return Ok(());
    };
    loop {
        tokio::select! {
            biased;
            () = over.cancelled() => return Ok(()),
            () = handle.requested() => {}
        }
        if !handle.has_work() {
            // Nothing is left but the choice to end.
            ending.cancel();
            over.cancelled().await;
            return Ok(());
        }
        let end = current.attend(around, stop.clone()).await?;
        let is_done = end.is_none_or(|end| end.ending.reason() == EndReason::Done);
        if let (true, false, Some(client)) = (is_done, handle.messages().has_waiting(), client) {
            client.settled();
        }
    }
}

/// Does what extensions ask for until their command is over, and then what is left if the last run ended well. Returns
/// how the last run ended.
async fn serve(
    current: &mut CurrentSession,
    around: Around<'_>,
    mut last: Option<RunEnd>,
    (cancel, over): (&CancellationToken, &CancellationToken),
) -> Result<Option<RunEnd>, CliError> {
    let Some(handle) = &around.assembled.agent.handle else {
        return Ok(last);
    };
    loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(last),
            () = handle.has_more_work() => {}
            () = over.cancelled() => return Ok(last),
        }
        let is_bad = |end: &RunEnd| end.ending.reason() != EndReason::Done;
        if over.is_cancelled() && (handle.shutdown_requested() || last.as_ref().is_some_and(is_bad)) {
            return Ok(last);
        }
        last = current.attend(around, cancel.clone()).await?.or(last);
    }
}

/// Begins a session in the context.
async fn begin(target: Target, purpose: Purpose, assembled: &Assembled) -> Result<CurrentSession, CliError> {
    let agent = Arc::clone(&assembled.agent);
    let mut session = match purpose {
        Purpose::Call => Session::open_beside(agent, target.name.as_str()).await?,
        Purpose::Prompts | Purpose::Care => Session::open(agent, target.name.as_str()).await?,
    };
    if let Some(switch) = target.switch {
        session = enter(session, switch, &target.name, assembled).await?;
    }
    Ok(CurrentSession::new(session, target.name, target.claim))
}

/// Makes a session's context the current one. If hooks refuse that, the session ends, and a context that was made for
/// it is removed.
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

/// The options, with a model that needs no key if the chosen one cannot be had and no model will be asked.
pub fn with_some_model(
    setup: &Setup,
    purpose: Purpose,
    options: &RunOptions,
    surroundings: &Surroundings,
) -> RunOptions {
    let mut options = options.clone();
    if purpose != Purpose::Prompts && provider(setup, &options, surroundings).is_err() {
        options.model = Some("rehearsal".into());
    }
    options
}
