//! A conversation of a user: a session, and where its answers are shown.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use becket_agent::context_files::ContextFiles;
use becket_events::EndReason;
use becket_front::{Output, RepeatedFailures, Style, TerminalFront, Todos, at_screen};
use becket_host::{Client, Mode, Person};
use becket_run::{Assembled, Caller, ContextChoice, Participants, Purpose};
use becket_system::{CliError, Surroundings};
use tokio_util::sync::CancellationToken;

use crate::options::{Options, RunMode};
use crate::shell::Shell;
use crate::slash;

/// A conversation, and where its answers are shown.
pub struct Conversation {
    conversation: becket_run::Conversation,
    output: Arc<Output>,
}

impl Deref for Conversation {
    type Target = becket_run::Conversation;

    fn deref(&self) -> &Self::Target {
        &self.conversation
    }
}

impl DerefMut for Conversation {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.conversation
    }
}

impl Conversation {
    /// The prompt for a line that was typed. Two slashes send what one would call.
    pub async fn typed_prompt(
        &mut self,
        line: &str,
        cancel: &CancellationToken,
    ) -> Result<Result<String, String>, CliError> {
        match slash::as_words(line) {
            Some(words) => Ok(Ok(words)),
            None => self.as_prompt(line, cancel).await,
        }
    }

    /// The commands that are not becket's own, each with its description: those of the agent and of extensions, prompt
    /// templates and skills.
    pub fn other_commands(&self) -> Vec<(String, String)> {
        let guests = self.guests().commands();
        [self.command_names(), guests, self.template_names()].concat()
    }

    /// Begins a session in the context that the command line chooses.
    pub async fn open(
        options: &Options,
        surroundings: &Surroundings,
        cancel: &CancellationToken,
    ) -> Result<Self, CliError> {
        let choice = ContextChoice::of(&options.run)?;
        Self::open_in(choice, Purpose::Prompts, options, surroundings, cancel).await
    }

    /// Begins a session in any context.
    pub async fn open_in(
        choice: ContextChoice,
        purpose: Purpose,
        options: &Options,
        surroundings: &Surroundings,
        cancel: &CancellationToken,
    ) -> Result<Self, CliError> {
        if options.run.client == Some(Mode::Json) {
            let client = client(Mode::Json, purpose, options, surroundings)?;
            return Self::open_for(client, choice, purpose, options, surroundings, cancel).await;
        }
        let output = Output::on(&surroundings.screen);
        // Whoever looks at a terminal sees the answers arrive.
        let output = match options.mode == Some(RunMode::Text) && !surroundings.stdout_is_terminal {
            true => Arc::new(output.with_last_answer_only()),
            false => Arc::new(output),
        };
        let participants = Participants {
            on_ready: on_ready(options, &output),
            ..Participants::user(person(options, surroundings, &output, purpose))
        };
        let caller = caller(options, surroundings, cancel);
        let conversation = becket_run::Conversation::open(participants, choice, purpose, caller).await?;
        Self { conversation, output }.named(purpose, options).await
    }

    /// Names the conversation, if the command line does.
    async fn named(mut self, purpose: Purpose, options: &Options) -> Result<Self, CliError> {
        if let (Purpose::Prompts, Some(name)) = (purpose, &options.session_name) {
            self.set_name(name).await?;
        }
        Ok(self)
    }

    /// Begins a session for the program that has started becket.
    pub async fn open_for(
        client: Arc<dyn Client>,
        choice: ContextChoice,
        purpose: Purpose,
        options: &Options,
        surroundings: &Surroundings,
        cancel: &CancellationToken,
    ) -> Result<Self, CliError> {
        let output = Arc::new(Output::muted());
        let participants = Participants {
            person: client.person(),
            client: Some(client),
            on_ready: on_ready(options, &output),
        };
        let caller = caller(options, surroundings, cancel);
        let conversation = becket_run::Conversation::open(participants, choice, purpose, caller).await?;
        Self { conversation, output }.named(purpose, options).await
    }

    /// Begins a session for a user whom becket reaches in another way than its terminal. What is shown there, `person`
    /// shows.
    pub async fn open_with(
        person: Person,
        choice: ContextChoice,
        (options, surroundings): (&Options, &Surroundings),
        cancel: &CancellationToken,
    ) -> Result<Self, CliError> {
        let output = Arc::new(Output::muted());
        let participants = Participants::user(person);
        let caller = caller(options, surroundings, cancel);
        let opened = becket_run::Conversation::open(participants, choice, Purpose::Prompts, caller);
        Ok(Self {
            conversation: opened.await?,
            output,
        })
    }

    /// What is left to be done on the todo list; `None` if nothing is.
    pub fn open_todos(&self) -> Option<Todos> {
        let files = ContextFiles::new(&self.setup().contexts(), self.context_name().as_str());
        Todos::open_in(&files, &self.assembled().agent.settings.agent_name)
    }

    /// Where the answers are shown.
    pub fn output(&self) -> Arc<Output> {
        Arc::clone(&self.output)
    }

    /// Runs the user's own commands, and shows their output.
    pub fn shell(&self, style: Style, surroundings: &Surroundings) -> Shell {
        Shell {
            guests: Arc::clone(self.guests()),
            output: Some(self.output()),
            style,
            surroundings: surroundings.clone(),
            directory: surroundings.cwd.clone(),
            environment: Arc::clone(self.environment()),
        }
    }

    /// Ends the session and writes everything to disk.
    pub async fn close(self, reason: EndReason) -> Result<(), CliError> {
        self.conversation.close(reason).await
    }
}

/// The run that a command line asks for.
pub fn caller<'a>(
    options: &'a Options,
    surroundings: &'a Surroundings,
    cancel: &'a CancellationToken,
) -> Caller<'a> {
    Caller {
        options: &options.run,
        surroundings,
        cancel,
    }
}

/// Prints every event as a line with `--json`, and lets extensions draw on the output.
pub fn on_ready(options: &Options, output: &Arc<Output>) -> Box<dyn FnOnce(&Assembled) + Send> {
    let (output, json) = (Arc::clone(output), options.run.json);
    Box::new(move |assembled| {
        if json {
            let output = Arc::clone(&output);
            let write = move |text: &str| output.write(&format!("{text}\n"));
            assembled.agent.engine.watch(Arc::new(move |_, text| write(text)));
        }
        if let Some(drawing) = assembled.interactive.drawing() {
            output.drawn_by(drawing);
        }
    })
}

/// The client for the program that has started becket.
pub fn client(
    mode: Mode,
    purpose: Purpose,
    options: &Options,
    surroundings: &Surroundings,
) -> Result<Arc<dyn Client>, CliError> {
    let output = Arc::new(Output::muted());
    let front = front(options, surroundings, &output, purpose).without_answers();
    options.run.hosts.client(mode, Arc::new(front))
}

/// The user: at a screen, at a terminal, or only reading.
pub fn person(
    options: &Options,
    surroundings: &Surroundings,
    output: &Arc<Output>,
    purpose: Purpose,
) -> Person {
    let front = front(options, surroundings, output, purpose);
    match options.run.json {
        true => Person::reading(RepeatedFailures::folded(front.without_answers())),
        false if surroundings.screen.get().is_some() => {
            at_screen(RepeatedFailures::folded(front), &surroundings.screen)
        }
        false => Person::reading(RepeatedFailures::folded(front)),
    }
}

/// The front that shows the run.
fn front(
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
