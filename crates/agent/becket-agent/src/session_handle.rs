//! The session handle: how code outside of the loop sees and steers a session while it runs.
//!
//! Extensions call in from a hook, from a running tool, or from a timer while nothing runs. Whatever they ask for is
//! answered at once and never waits for the loop: what they *see* is a copy that the session keeps up to date; what
//! they *say*, *remember* and *choose* is noted here, visible at once, and the loop takes it up at its next safe moment
//! (`pending_work.rs`): before its next model request, at the end of the run, or, while nothing runs, as soon as the
//! front end calls `Session::attend`. A handle belongs to the user's own session; what sub-agents do does not change
//! what it shows.
//!
//! A handle exists before its session, so that extensions can have one while they are loaded. Until the session has
//! begun there is nothing to see, and after its end nothing can be asked for any more: both are errors that say so.
//!
//! The parts of a handle: `conversation.rs` shows the conversation and adds to it, `messages.rs` is what waits for the
//! model, `config.rs` is the model and the tools (`choices.rs`), and `requests.rs` is what only the loop or the owner
//! of the session can fulfil. They share what `state.rs` keeps under one lock.
//!
//! Since the loop waits for hooks, a hook that waited for the loop would wait for ever; that is why nothing here waits.

mod choices;
mod config;
mod conversation;
mod messages;
mod requests;
mod state;

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::queue::Queues;
use crate::session_judge::SessionJudge;
use crate::tree::Tree;
use state::{Seen, Shared};

pub use crate::automation::Automation;
pub use crate::destination::{ConversationSetup, Destination, Moved, NewConversation, SetupResult};
pub use crate::queue::{Delivery, Pace, WhenIdle};
pub use choices::ChosenModel;
pub(crate) use choices::{Base, Choices, is_usual};
pub use config::{KnownModel, SessionConfig, ToolSeen};
pub use conversation::ConversationHandle;
pub use messages::MessageQueue;
pub use requests::SessionRequests;
pub(crate) use state::{CompactRequest, ShellRunRequest};
pub use state::{HandleError, MoveRequest, SessionLocation};

/// A handle by which code outside of the loop sees and steers a session. Cloning gives another handle to the same
/// session.
#[derive(Clone)]
pub struct SessionHandle {
    shared: Arc<Shared>,
    conversation: ConversationHandle,
    messages: MessageQueue,
    config: SessionConfig,
    requests: SessionRequests,
}

/// How full the model's window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextUsage {
    /// How many tokens the conversation has: as the provider counted them, and an estimate of what came after that.
    pub tokens: u64,
    /// How many tokens the model can take, or what counts as that as long as it is not known.
    pub window: u64,
    /// Whether the window is known.
    pub is_window_known: bool,
}

impl ContextUsage {
    /// How full the window is, in percent.
    pub fn percent(&self) -> f64 {
        match self.window {
            0 => 0.0,
            window => self.tokens as f64 * 100.0 / window as f64,
        }
    }
}

impl SessionHandle {
    /// A handle whose session has not begun.
    pub fn new() -> Self {
        let shared: Arc<Shared> = Arc::default();
        Self {
            conversation: ConversationHandle(Arc::clone(&shared)),
            messages: MessageQueue(Arc::clone(&shared)),
            config: SessionConfig(Arc::clone(&shared)),
            requests: SessionRequests(Arc::clone(&shared)),
            shared,
        }
    }

    /// The conversation.
    pub fn conversation(&self) -> &ConversationHandle {
        &self.conversation
    }

    /// The messages that wait for the model.
    pub fn messages(&self) -> &MessageQueue {
        &self.messages
    }

    /// The model and the tools.
    pub fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// The requests that only the loop or the owner of the session can fulfil.
    pub fn requests(&self) -> &SessionRequests {
        &self.requests
    }

    /// Settings for what the session does automatically.
    pub fn automation(&self) -> &Automation {
        &self.shared.automation
    }

    /// Where the session runs.
    pub fn place(&self) -> Result<SessionLocation, HandleError> {
        self.shared.see(|seen| seen.place.clone())
    }

    /// Asks hooks in the session's name, independently of the run in progress.
    pub fn judge(&self) -> Result<SessionJudge, HandleError> {
        self.shared
            .see(|seen| seen.judge.clone())?
            .ok_or(HandleError::Over)
    }

    /// The system prompt as it was last written; before the first prompt, the agent's instructions.
    pub fn system_prompt(&self) -> Result<String, HandleError> {
        self.shared.see(|seen| seen.system_prompt.clone())
    }

    /// How full the model's window is.
    pub fn context_usage(&self) -> Result<ContextUsage, HandleError> {
        let state = self.shared.state();
        let seen = state.seen.as_ref().ok_or(HandleError::NotBegun)?;
        let chosen = state.choices.model.as_ref();
        let window = seen.base.window_of(chosen);
        Ok(ContextUsage {
            tokens: seen.tokens,
            window: window.tokens,
            is_window_known: window.is_known,
        })
    }

    /// Whether nothing runs and nothing is about to: no prompt is being answered, and no request waits at the handle.
    /// While hooks still hear a prompt, its run has not begun.
    pub fn is_idle(&self) -> bool {
        self.shared.queues.is_idle() && self.shared.state().compactions.is_empty()
    }

    /// Whether a run is in progress.
    pub fn is_running(&self) -> bool {
        self.shared.queues.is_running()
    }

    /// Waits until everything is done that was said and asked for. Inside of a hook or a tool of the same session this
    /// never returns.
    pub async fn idle(&self) {
        let all_written = || self.shared.state().compactions.is_empty();
        self.shared.queues.rested(all_written).await;
    }

    /// The cancellation token of the run in progress; `None` while nothing runs.
    pub fn cancel(&self) -> Option<CancellationToken> {
        self.shared.state().cancel.clone()
    }

    /// Ends the run in progress, as a cancel by the user does. Does nothing while nothing runs.
    pub fn abort(&self) {
        let mut state = self.shared.state();
        let Some(cancel) = state.cancel.clone().filter(|cancel| !cancel.is_cancelled()) else {
            return;
        };
        state.aborted = true;
        drop(state);
        cancel.cancel();
    }

    /// Ends the program as soon as nothing runs.
    pub fn shut_down(&self) {
        self.shared.state().shutdown = true;
        self.shared.queues.tell();
    }

    /// Whether the program is to end; the front end asks this between two prompts.
    pub fn shutdown_requested(&self) -> bool {
        self.shared.state().shutdown
    }

    /// Whether there is something for `Session::attend` to do while nothing runs, or the program is to end.
    pub fn has_request(&self) -> bool {
        self.has_work()
            || (self.has_session() && self.shared.queues.is_resting() && self.shutdown_requested())
    }

    /// Whether there is something for `Session::attend` to do while nothing runs, besides ending the program.
    pub fn has_work(&self) -> bool {
        let state = self.shared.state();
        let asked = state.revision != state.heeded
            || !state.unstored.is_empty()
            || !state.compactions.is_empty()
            || !state.shell_runs.is_empty()
            || !state.moves.is_empty()
            || state.is_moving;
        drop(state);
        self.has_session() && self.shared.queues.is_resting() && (asked || self.shared.queues.has_request())
    }

    /// Waits until there is something to do while nothing runs. Only one front end may wait at a time.
    pub async fn requested(&self) {
        while !self.has_request() {
            self.shared.queues.told().await;
        }
    }

    /// Waits until there is something to do while nothing runs, besides ending the program.
    pub async fn has_more_work(&self) {
        while !self.has_work() {
            self.shared.queues.told().await;
        }
    }

    pub(crate) fn queues(&self) -> Queues {
        self.shared.queues.clone()
    }

    /// The session begins, perhaps in the place of another one, and takes over what was chosen.
    pub(crate) fn begin(
        &self,
        place: SessionLocation,
        tree: Tree,
        base: Base,
        of_session: (&str, SessionJudge),
    ) {
        let (instructions, judge) = of_session;
        let mut state = self.shared.state();
        state.seen = Some(Seen {
            place,
            tree,
            judge: Some(judge),
            system_prompt: instructions.into(),
            tokens: 0,
            base,
        });
        state.heeded = 0;
        state.over = false;
    }

    /// The session is over: later requests fail, and those that wait are answered.
    pub(crate) fn end(&self) {
        let mut state = self.shared.state();
        state.over = true;
        state.compactions.clear();
        state.shell_runs.clear();
        // A request holds the handle, so the handle must not keep it: that would be a cycle.
        let moves = std::mem::take(&mut state.moves);
        state.cancel = None;
        // A tool may hold the handle, so the handle must not keep it: that would be a cycle.
        let choices = std::mem::take(&mut state.choices);
        let seen = state.seen.as_mut();
        let tools = seen.map(|seen| (std::mem::take(&mut seen.base.tools), seen.judge.take()));
        drop(state);
        drop((choices, tools, moves));
    }

    pub(crate) fn set_system_prompt(&self, text: &str) {
        self.shared
            .update(|seen| text.clone_into(&mut seen.system_prompt));
    }

    pub(crate) fn set_tokens(&self, tokens: u64) {
        self.shared.update(|seen| seen.tokens = tokens);
    }

    pub(crate) fn set_cancel(&self, cancel: Option<CancellationToken>) {
        let mut state = self.shared.state();
        state.aborted = false;
        state.cancel = cancel;
    }

    pub(crate) fn was_aborted(&self) -> bool {
        self.shared.state().aborted
    }

    fn has_session(&self) -> bool {
        let state = self.shared.state();
        state.seen.is_some() && !state.over
    }
}

impl Default for SessionHandle {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for SessionHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place().ok();
        formatter
            .debug_struct("SessionHandle")
            .field("place", &place)
            .finish_non_exhaustive()
    }
}
