//! Messages that plugins of a chibi home leave for contexts: brought into the store, each exactly once.

use std::path::PathBuf;
use std::time::Duration;

use becket_agent::mail::MailSource;
use becket_agent::store::{Letter, Store};
use becket_store::ContextName;
use futures_util::future::BoxFuture;

use crate::inbox::{TakenMessages, take_messages};

/// How long a plugin may keep the lock of an inbox before the run goes on without its messages.
const PATIENCE: Duration = Duration::from_secs(3);

/// The inboxes of a chibi home.
#[derive(Debug, Clone)]
pub struct InboxFiles {
    /// Holds a folder for each context.
    pub contexts: PathBuf,
}

impl InboxFiles {
    /// Taking waits for a lock, and must not hold up everything else meanwhile.
    async fn take(&self, context: &str) -> Result<Option<TakenMessages>, String> {
        let (contexts, context) = (self.contexts.clone(), context.to_owned());
        let take = move || take_messages(&contexts, &context, PATIENCE);
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
        // Only now: whoever is killed before this leaves everything to the next.
        let remarks = std::mem::take(&mut taken.remarks);
        taken.forget().map_err(|error| error.to_string())?;
        Ok(remarks)
    }
}

impl MailSource for InboxFiles {
    fn collect<'a>(
        &'a self,
        context_name: &'a str,
        store: &'a dyn Store,
    ) -> BoxFuture<'a, Result<Vec<String>, String>> {
        Box::pin(async move {
            // A folder whose name is none belongs to no context.
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
