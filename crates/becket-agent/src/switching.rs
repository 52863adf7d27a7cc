//! What a session does with its context as a whole: entering it by choice, and clearing it.

use becket_events::{
    ErrorKind, PostClear, PostClearPayload, PostSessionSwitch, PostSessionSwitchPayload, PreClear,
    PreClearPayload, PreSessionSwitch, PreSessionSwitchPayload, SwitchReason,
};
use tokio_util::sync::CancellationToken;

use crate::context_files::{ContextFile, Whose};
use crate::front::Sight;
use crate::session::{Measured, Session};
use crate::store::StoreError;

/// A choice of context, as the person made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// The context that was current.
    pub from_context: String,
    /// How long the choice lasts.
    pub lasting: Lasting,
}

/// How long a choice of context lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// Until another one is chosen.
    Always,
    /// For this run; the current context stays what it is.
    ThisRun,
}

/// A hook did not let it happen; its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

impl Session {
    /// Makes the session's context the chosen one, if no hook minds. For the moment right after the session began.
    pub async fn switch(&mut self, switch: Switch) -> Result<Result<(), Refused>, StoreError> {
        let Switch {
            from_context,
            lasting,
        } = switch;
        let transient = lasting == Lasting::ThisRun;
        let to_context = self.hooks.scope().context_name.clone();
        let reason = SwitchReason::Context;
        let payload = || PreSessionSwitchPayload {
            reason,
            from_context: from_context.clone(),
            to_context: to_context.clone(),
            target_session_id: None,
            transient,
        };
        let (reply, handlers) = self.hooks.ask_whom::<PreSessionSwitch>(payload).await;
        let consent = self
            .gate
            .consent(&self.hooks, "this switch", reply.verdict, handlers)
            .await;
        if let Err(reason) = consent {
            self.raise(ErrorKind::HookBlocked, &reason).await;
            return Ok(Err(Refused(reason)));
        }
        if !transient {
            self.agent.store.make_current(&to_context).await?;
        }
        let payload = || PostSessionSwitchPayload {
            reason,
            from_context,
            to_context,
            previous_session_id: None,
            transient,
        };
        self.hooks.tell::<PostSessionSwitch>(payload).await;
        Ok(Ok(()))
    }

    /// Archives the conversation, if no hook minds: the next prompt is the first of a new one. A cancel refuses.
    pub async fn clear(&mut self, cancel: CancellationToken) -> Result<Result<(), Refused>, StoreError> {
        self.hooks.set_cancel(cancel);
        let message_count = self.messages.len() as u32;
        let summary = self.summary().map(ToOwned::to_owned);
        let payload = || PreClearPayload {
            message_count,
            summary: summary.clone(),
        };
        let (reply, handlers) = self.hooks.ask_whom::<PreClear>(payload).await;
        let consent = self
            .gate
            .consent(&self.hooks, "this clearing", reply.verdict, handlers)
            .await;
        if let Err(reason) = consent {
            self.raise(ErrorKind::HookBlocked, &reason).await;
            return Ok(Err(Refused(reason)));
        }
        self.agent.store.clear(self.id()).await?;
        self.messages.clear();
        self.unmeasured = 0;
        self.measured = Measured::default();
        self.standing = None;
        if let Some(desk) = &self.desk {
            desk.clear();
        }
        self.show_usage();
        let files = self.files();
        let whose = files.remove_own(ContextFile::Summary).map_err(|error| {
            StoreError::new(format!(
                "the context was cleared, but its summary in {} cannot be removed: {error}",
                files.folder().display()
            ))
        })?;
        if whose == Whose::Foreign {
            let file = files.path(ContextFile::Summary);
            let words = format!("{} stays: becket did not write it", file.display());
            self.agent.front.show(Sight::Notice(&words));
        }
        let payload = || PostClearPayload {
            message_count,
            summary,
        };
        self.hooks.tell::<PostClear>(payload).await;
        Ok(Ok(()))
    }
}
