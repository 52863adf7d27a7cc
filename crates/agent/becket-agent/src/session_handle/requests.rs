//! Requests that only the loop or the owner of a session can fulfil: to summarise, to keep a command of the user, and
//! to continue elsewhere.
//!
//! A summary that is asked for in the middle of a run stands for what was before its prompt, and the run goes on: to
//! abort it would lose work that should be kept.
//!
//! A session that is replaced belongs to its owner, and the loop does not know what another one needs (its context, and
//! that no other process works there). So a request to continue elsewhere waits here until the owner of the session
//! takes it.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::state::{CompactRequest, HandleError, MoveRequest, Shared, ShellRunRequest};
use crate::destination::{Destination, Moved};
use crate::endings::CompactEnd;
use crate::entries::ShellRun;

/// The requests that wait for a session.
#[derive(Clone)]
pub struct SessionRequests(pub(super) Arc<Shared>);

impl SessionRequests {
    /// Continues elsewhere, as soon as nothing runs and the front end calls `Session::attend`. The request counts from
    /// the call on, even if the future is never polled; a hook or a tool of the same session must not await it.
    pub fn go(&self, to: Destination) -> impl Future<Output = Result<Moved, HandleError>> + Send + use<> {
        let (answer, answered) = oneshot::channel();
        let requested = self.0.open().map(|mut state| {
            let works = state.cancel.as_ref().is_some_and(|cancel| !cancel.is_cancelled());
            let interrupts = works && to.is_elsewhere();
            state.moves.push_back(MoveRequest {
                to,
                interrupts,
                shared: Arc::clone(&self.0),
                answer,
            });
        });
        self.0.queues.tell();
        async move {
            requested?;
            answered.await.unwrap_or(Err(HandleError::Over))
        }
    }

    /// Summarises the conversation: while something runs, the part before the current prompt, before the next model
    /// request; otherwise all of it, as soon as the front end calls `Session::attend`. A run goes on after it.
    ///
    /// A hook or a tool of the same session must not await the future, since the loop only goes on when the hook has
    /// answered. The request counts from the call on, even if the future is never polled.
    pub fn compact(
        &self,
        instructions: Option<String>,
    ) -> impl Future<Output = Result<CompactEnd, HandleError>> + Send + use<> {
        let (answer, answered) = oneshot::channel();
        let request = CompactRequest { instructions, answer };
        let requested = self
            .0
            .open()
            .map(|mut state| state.compactions.push_back(request));
        self.0.queues.tell();
        async move {
            requested?;
            answered.await.unwrap_or(Err(HandleError::Over))
        }
    }

    /// Keeps a command that the user ran. The model is told with the next prompt, unless it is hidden. While something
    /// runs, it becomes part of the conversation after that. The request counts from the call on, even if the future is
    /// never polled.
    pub fn keep_shell_run(
        &self,
        run: ShellRun,
    ) -> impl Future<Output = Result<(), HandleError>> + Send + use<> {
        let (kept, answered) = oneshot::channel();
        let request = ShellRunRequest { run, kept };
        let requested = self.0.open().map(|mut state| state.shell_runs.push(request));
        self.0.queues.tell();
        async move {
            requested?;
            answered.await.unwrap_or(Err(HandleError::Over))
        }
    }

    /// Whether a request to continue elsewhere waits or is being carried out.
    pub fn is_moving(&self) -> bool {
        let state = self.0.state();
        state.is_moving || !state.moves.is_empty()
    }

    /// Waits for a request to continue elsewhere that interrupts what the session is doing.
    pub async fn interrupted(&self) -> MoveRequest {
        loop {
            if let Some(request) = self.take_interrupting() {
                return request;
            }
            self.0.queues.told().await;
        }
    }

    /// Takes the next request to continue elsewhere, for the owner of the session.
    pub fn take_move(&self) -> Option<MoveRequest> {
        let mut state = self.0.state();
        let request = state.moves.pop_front();
        state.is_moving = request.is_some();
        request
    }

    fn take_interrupting(&self) -> Option<MoveRequest> {
        let mut state = self.0.state();
        let request = state.moves.pop_front_if(|request| request.interrupts)?;
        state.is_moving = true;
        Some(request)
    }

    pub(crate) fn take_compaction(&self) -> Option<CompactRequest> {
        self.0.state().compactions.pop_front()
    }

    pub(crate) fn take_shell_runs(&self) -> Vec<ShellRunRequest> {
        std::mem::take(&mut self.0.state().shell_runs)
    }
}
