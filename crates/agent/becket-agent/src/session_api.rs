//! What the owner of a session can ask of it.

use std::sync::Arc;

use becket_events::EndReason;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::calling::call_tool;
use crate::compact::compact_on_request;
use crate::current_agent::turn_to_member;
use crate::destination::GoTo;
use crate::direct_call::DirectCall;
use crate::endings::{CompactEnd, GoToEnd, RunEnd};
use crate::entries::ShellRun;
use crate::input::Input;
use crate::navigation::go_to_entry;
use crate::opening::{end_session, open_beside, open_session};
use crate::pending_work::{answer_prompt, attend_to_handle};
use crate::session::{Beginning, Session};
use crate::skills::reload_library;
use crate::store::{Seed, StoreError};
use crate::storing::{keep_shell_run, label_entry, name_conversation, stored_tree};
use crate::switching::{
    Consent, Fork, Forked, Refused, Replacement, Switch, clear_conversation, fork_conversation,
    leave_session_for, switch_context,
};
use crate::tree::Tree;

impl Session {
    /// Begins a session in a context, which is made if it is new. No other process may work on the context meanwhile.
    pub async fn open(agent: Arc<Agent>, context_name: &str) -> Result<Self, StoreError> {
        open_session(agent, context_name, Beginning::default()).await
    }

    /// Begins a session for direct tool calls, beside one that another process may have in the same context: nothing of
    /// it becomes part of the conversation.
    pub async fn open_beside(agent: Arc<Agent>, context_name: &str) -> Result<Self, StoreError> {
        open_beside(agent, context_name).await
    }

    /// Ends the session.
    pub async fn end(self, reason: EndReason) -> Result<(), StoreError> {
        end_session(self, reason).await
    }

    /// Answers a prompt of the user, and after it the messages that were queued. A cancel ends it soon.
    pub async fn prompt(&mut self, input: Input, cancel: CancellationToken) -> Result<RunEnd, StoreError> {
        answer_prompt(self, input, cancel).await
    }

    /// Does what was asked for through the handle while nothing ran, and says how the last run ended if there was one.
    /// A cancel ends it soon.
    pub async fn attend(&mut self, cancel: CancellationToken) -> Result<Option<RunEnd>, StoreError> {
        attend_to_handle(self, cancel).await
    }

    /// Summarises the whole conversation because the user asked for it.
    pub async fn compact(
        &mut self,
        instructions: Option<String>,
        cancel: CancellationToken,
    ) -> Result<CompactEnd, StoreError> {
        compact_on_request(self, instructions, cancel).await
    }

    /// Continues from another entry of the conversation. If the entry is a message to the model, continues from before
    /// it, so that the message can be edited.
    pub async fn go_to(
        &mut self,
        target_id: &str,
        how: GoTo,
        cancel: CancellationToken,
    ) -> Result<GoToEnd, StoreError> {
        go_to_entry(self, target_id, how, cancel).await
    }

    /// The conversation with all its branches, as it is stored.
    pub async fn tree(&self) -> Result<Tree, StoreError> {
        stored_tree(self).await
    }

    /// Labels an entry, or removes its label. Says whether there is such an entry.
    pub async fn set_label(&mut self, entry_id: &str, label: Option<&str>) -> Result<bool, StoreError> {
        label_entry(self, entry_id, label).await
    }

    /// Gives the conversation a name; an empty one removes it.
    pub async fn set_name(&mut self, name: &str) -> Result<(), StoreError> {
        name_conversation(self, name).await
    }

    /// Keeps a command that the user ran. The model is told with the next prompt, unless it is hidden.
    pub async fn keep_shell_run(&mut self, run: ShellRun) -> Result<(), StoreError> {
        keep_shell_run(self, run).await
    }

    /// Calls a tool by the name that the model knows or by becket's own name. Nothing of it becomes part of the
    /// conversation.
    pub async fn call_tool(
        &mut self,
        name: &str,
        arguments: &Map<String, Value>,
        cancel: CancellationToken,
    ) -> DirectCall {
        call_tool(self, name, arguments, cancel).await
    }

    /// Makes the session's context the current one, unless a hook refuses. Called right after the session began.
    pub async fn switch(&mut self, switch: Switch) -> Result<Result<(), Refused>, StoreError> {
        switch_context(self, switch).await
    }

    /// Archives the conversation, unless a hook refuses: the next prompt is the first of a new one. A cancel refuses.
    pub async fn clear(&mut self, cancel: CancellationToken) -> Result<Result<(), Refused>, StoreError> {
        let is_halted = self.hooks.halt().is_some();
        let cleared = clear_conversation(self, cancel).await;
        if !is_halted {
            self.tell_halt(self.hooks.take_halt());
        }
        cleared
    }

    /// Continues in a fork of the conversation, which hooks have agreed to: a new context with the conversation up to
    /// an entry. `meanwhile` runs when this session has ended and the other one has not begun.
    pub async fn fork(
        self,
        fork: Fork,
        consent: Consent,
        cancel: CancellationToken,
        meanwhile: impl AsyncFnOnce(),
    ) -> Result<Forked, StoreError> {
        fork_conversation(self, fork, consent, cancel, meanwhile).await
    }

    /// Continues with another conversation, which hooks have agreed to. `meanwhile` runs when this session has ended
    /// and the other one has not begun, and returns what a new conversation begins with, if anything.
    pub async fn leave_for(
        self,
        replacement: Replacement,
        consent: Consent,
        cancel: CancellationToken,
        meanwhile: impl AsyncFnOnce() -> Option<Seed>,
    ) -> Result<Self, StoreError> {
        leave_session_for(self, replacement, consent, cancel, meanwhile).await
    }

    /// Lets the user turn to another member.
    pub async fn turn_to(&mut self, to: &str) -> Result<(), StoreError> {
        turn_to_member(self, to).await
    }

    /// Asks hooks once more for skills and prompts, because those from elsewhere have changed.
    pub async fn reload_library(&self) {
        reload_library(self).await
    }
}
