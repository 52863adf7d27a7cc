//! Does the work of a session, one thing after another: opens its conversation, runs prompts, and does what extensions
//! ask for while no prompt runs.
//!
//! The conversation is opened as soon as the editor knows the session, so that it soon gets the slash commands and the
//! models. Where something of the project is not trusted, it is opened with the first prompt: only then the editor can
//! be asked. If it cannot be opened, the next prompt tries again: the user may have put right what was wrong.

use std::rc::Rc;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{Error, StopReason};
use becket_agent::session_handle::SessionHandle;
use becket_events::EndReason;
use becket_face_kit::{Conversation, Options};
use becket_front::RepeatedFailures;
use becket_host::Person;
use becket_run::ContextChoice;
use becket_run::project_trust::Pending;
use becket_store::ContextName;
use becket_system::{CliError, Exit, Listener, Surroundings};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::commands;
use super::dialogs::Dialogs;
use super::permission::Asker;
use super::prompt::Prompt;
use super::settings::Settings;
use super::shown::Shown;
use super::turn;
use super::turns::{Turn, Turns};
use super::updates::Updates;
use super::wire::failed;

/// A prompt that is to be run.
pub struct Work {
    pub prompt: Prompt,
    pub turn: Turn,
    pub reply: oneshot::Sender<Result<StopReason, Error>>,
}

/// Does the work of a session.
pub struct Worker {
    name: ContextName,
    options: Options,
    surroundings: Surroundings,
    updates: Arc<Updates>,
    asker: Arc<Asker>,
    settings: Rc<Settings>,
    /// Ends the session.
    over: CancellationToken,
    conversation: Option<Conversation>,
}

impl Worker {
    pub fn new(
        (name, options, surroundings): (ContextName, Options, Surroundings),
        (updates, turns, settings): (Arc<Updates>, Arc<Turns>, Rc<Settings>),
        over: CancellationToken,
    ) -> Self {
        let asker = Arc::new(Asker::new(Arc::clone(&updates), turns));
        Self {
            name,
            options,
            surroundings,
            updates,
            asker,
            settings,
            over,
            conversation: None,
        }
    }

    /// Works until the session is over, and closes the conversation.
    pub async fn run(mut self, mut work: UnboundedReceiver<Work>) {
        self.open_early().await;
        loop {
            let handle = self
                .conversation
                .as_ref()
                .and_then(|conversation| conversation.handle());
            tokio::select! {
                biased;
                () = self.over.cancelled() => break,
                next = work.recv() => match next {
                    None => break,
                    Some(next) => self.prompt(next).await,
                },
                () = requested(handle) => self.attend().await,
            }
        }
        if let Some(conversation) = self.conversation.take()
            && let Err(error) = conversation.close(EndReason::Done).await
        {
            self.surroundings.complain(&error.to_string());
        }
    }

    /// Opens the conversation if nobody has to be asked first. What goes wrong, the first prompt tells.
    async fn open_early(&mut self) {
        if let Ok(None) = Pending::read(&self.options.run, &self.surroundings)
            && let Err(error) = self.open(&self.over.clone()).await
            && !self.over.is_cancelled()
        {
            // Only for the log: the first prompt tries again.
            let log = Surroundings {
                listener: Listener::default(),
                ..self.surroundings.clone()
            };
            log.complain(&error.to_string());
        }
    }

    async fn prompt(&mut self, work: Work) {
        let Work { prompt, turn, reply } = work;
        let mode = self.settings.mode();
        self.updates.begin_work();
        let answer = self.answer(prompt, &turn.cancel).await;
        // A hook may have changed it.
        if self.settings.mode() != mode {
            self.updates.settings_changed(&self.settings);
        }
        self.updates.end_turn();
        drop(turn);
        // The server waits for every answer, unless it ends.
        let _ = reply.send(answer);
    }

    async fn answer(&mut self, prompt: Prompt, cancel: &CancellationToken) -> Result<StopReason, Error> {
        if !cancel.is_cancelled()
            && self.conversation.is_none()
            && let Err(error) = self.open(cancel).await
        {
            return self.unopened(&error);
        }
        match &mut self.conversation {
            Some(conversation) if !cancel.is_cancelled() => {
                let place = (&self.options, &self.surroundings);
                let session = (&*self.updates, &*self.settings, place);
                let answer = turn::run(prompt, conversation, session, cancel).await;
                self.learn();
                answer
            }
            _ => Ok(StopReason::Cancelled),
        }
    }

    /// How a prompt ends for which there is no conversation.
    fn unopened(&self, error: &CliError) -> Result<StopReason, Error> {
        match error.exit {
            Exit::Cancelled => Ok(StopReason::Cancelled),
            Exit::UntrustedGuard => {
                self.updates.say(&error.to_string());
                Ok(StopReason::Refusal)
            }
            _ => Err(failed(error.to_string())),
        }
    }

    /// Asks what has to be asked, and opens the conversation.
    async fn open(&mut self, cancel: &CancellationToken) -> Result<(), CliError> {
        if let Some(pending) = Pending::read(&self.options.run, &self.surroundings)?
            && self
                .asker
                .trusts(&pending)
                .await
                .ok_or_else(CliError::cancelled)?
        {
            pending.accept()?;
        }
        let shown = Shown {
            updates: Arc::clone(&self.updates),
            asker: Arc::clone(&self.asker),
        };
        let person = Person {
            front: RepeatedFailures::folded(shown),
            ui: Arc::new(Dialogs::new(Arc::clone(&self.asker))),
        };
        let choice = ContextChoice::named(self.name.clone());
        let around = (&self.options, &self.surroundings);
        let mut conversation = Conversation::open_with(person, choice, around, cancel).await?;
        self.updates.count_in(conversation.output());
        if let Some(todos) = conversation.open_todos() {
            self.updates.plan(&todos);
        }
        if conversation.take_first_prompt().is_some() {
            self.surroundings
                .remark("a hook wanted to begin with a prompt; in an editor you begin");
        }
        self.conversation = Some(conversation);
        self.learn();
        Ok(())
    }

    /// Tells the editor what may have changed: the models and the commands.
    fn learn(&self) {
        if let Some(conversation) = &self.conversation {
            if self.settings.learn(conversation) {
                self.updates.options_changed(&self.settings);
            }
            self.updates.offer_commands(commands::available(conversation));
        }
    }

    /// Does what extensions have asked for.
    async fn attend(&mut self) {
        let Some(conversation) = &mut self.conversation else {
            return;
        };
        match conversation.attend(self.over.child_token()).await {
            Ok(Some(end)) => turn::tell_end(&end, &self.updates),
            Ok(None) => {}
            Err(error) => self.updates.warn(&error.to_string()),
        }
        self.updates.end_turn();
        self.learn();
    }
}

/// Waits until extensions have asked for something.
async fn requested(handle: Option<SessionHandle>) {
    match handle {
        // Ending the session is up to the editor.
        Some(handle) => handle.has_more_work().await,
        None => std::future::pending().await,
    }
}
