//! Messages that plugins of a chibi home leave for contexts: brought into the store, each exactly once.

use std::path::PathBuf;
use std::time::Duration;

use becket_agent::mail::MailSource;
use becket_agent::store::{Letter, Store};
use becket_store::ContextName;
use futures_util::future::BoxFuture;

use crate::inbox::{TakenMessages, contexts_with_messages, take_messages};

/// How long to wait for a plugin that holds the lock of an inbox; then the run continues without its messages.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// The inboxes of a chibi home.
#[derive(Debug, Clone)]
pub struct InboxFiles {
    /// The directory that holds a folder for each context.
    pub contexts: PathBuf,
}

impl InboxFiles {
    /// Takes messages on a blocking thread, because taking waits for a lock.
    async fn take(&self, context: &str) -> Result<Option<TakenMessages>, String> {
        let (contexts, context) = (self.contexts.clone(), context.to_owned());
        let take = move || take_messages(&contexts, &context, LOCK_TIMEOUT);
        let taken = tokio::task::spawn_blocking(take).await;
        let taken = taken.map_err(|error| error.to_string())?;
        taken.map_err(|error| error.to_string())
    }

    async fn bring(&self, context: &str, store: &dyn Store) -> Result<Vec<String>, String> {
        let Some(mut taken) = self.take(context).await? else {
            return Ok(Vec::new());
        };
        let letters = std::mem::take(&mut taken.messages)
            .into_iter()
            .map(|message| Letter {
                to: context.into(),
                from: message.from,
                content: message.content,
                origin: Some(message.origin),
            });
        let delivered = store.deliver(letters.collect()).await;
        delivered.map_err(|error| error.to_string())?;
        // The files are removed only now, so that a process that is killed before this loses no message.
        let remarks = std::mem::take(&mut taken.remarks);
        taken.forget().map_err(|error| error.to_string())?;
        Ok(remarks)
    }
}

impl MailSource for InboxFiles {
    fn waiting(&self) -> Vec<String> {
        contexts_with_messages(&self.contexts)
    }

    fn collect<'a>(
        &'a self,
        context_name: &'a str,
        store: &'a dyn Store,
    ) -> BoxFuture<'a, Result<Vec<String>, String>> {
        Box::pin(async move {
            // A folder whose name is not a context's name belongs to no context.
            if ContextName::parse(context_name).is_err() {
                return Ok(Vec::new());
            }
            let brought = self.bring(context_name, store).await;
            brought.map_err(|problem| {
                format!("messages that plugins left for {context_name} stay there: {problem}")
            })
        })
    }
}
