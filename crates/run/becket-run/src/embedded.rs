//! A run for a program of one's own: nobody is at a terminal, and hooks are functions in Rust.

use becket_agent::RunEnd;
use becket_events::EndReason;
use becket_hooks::Engine;
use becket_system::{CliError, Surroundings};
use tokio_util::sync::CancellationToken;

use crate::conversation::{Conversation, Participants, Purpose};
use crate::options::{Caller, RunOptions};
use crate::target::ContextChoice;

/// An agent within another program. Nothing is shown, and questions are answered with no.
///
/// ```no_run
/// # async fn example() -> Result<(), becket_system::CliError> {
/// use becket_run::{EmbeddedAgent, RunOptions};
/// use becket_system::Surroundings;
///
/// let surroundings = Surroundings::headless(std::env::vars_os(), "/work/project".into());
/// let mut agent = EmbeddedAgent::open(RunOptions::default(), &surroundings, |_engine| {}).await?;
/// let end = agent.ask("What is in this folder?").await?;
/// agent.close().await?;
/// # Ok(())
/// # }
/// ```
pub struct EmbeddedAgent {
    conversation: Conversation,
    cancel: CancellationToken,
    /// How the last prompt ended.
    reason: EndReason,
}

impl EmbeddedAgent {
    /// Begins a session in the context that the options choose. `add_hooks` is called before it begins, so that its
    /// hooks see everything; those of settings and projects are there already.
    pub async fn open(
        options: RunOptions,
        surroundings: &Surroundings,
        add_hooks: impl FnOnce(&Engine) + Send + 'static,
    ) -> Result<Self, CliError> {
        let cancel = CancellationToken::new();
        let participants = Participants {
            on_ready: Box::new(|assembled| add_hooks(&assembled.agent.engine)),
            ..Participants::nobody()
        };
        let caller = Caller {
            options: &options,
            surroundings,
            cancel: &cancel,
        };
        let choice = ContextChoice::of(&options)?;
        Ok(Self {
            conversation: Conversation::open(participants, choice, Purpose::Prompts, caller).await?,
            cancel,
            reason: EndReason::Done,
        })
    }

    /// Asks the model, and runs the tools that it calls. The end says how it went: that a hook stopped the prompt, or a
    /// provider failed, is no error here.
    pub async fn ask(&mut self, prompt: impl Into<String>) -> Result<RunEnd, CliError> {
        let asked = self
            .conversation
            .ask(prompt.into(), self.cancel.child_token())
            .await;
        self.reason = asked
            .as_ref()
            .map_or(EndReason::Failed, |end| end.ending.reason());
        asked
    }

    /// A token that cancels what the agent does, from anywhere. Nothing can be asked afterwards.
    pub fn cancel_token(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// The session, for what else can be done with it.
    pub fn conversation(&mut self) -> &mut Conversation {
        &mut self.conversation
    }

    /// Ends the session: hooks are told, programs are ended, and everything is stored.
    pub async fn close(self) -> Result<(), CliError> {
        self.conversation.close(self.reason).await
    }
}
