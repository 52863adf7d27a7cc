//! The shelf: what lies ready besides tools. Skills are texts that the model may read when it needs them, and prompts
//! are texts that the person calls by name. Whoever puts the agent together fills it; hooks of `resources` bring more.

use std::fmt;
use std::path::PathBuf;

use becket_events::{OperationKind, Resources, ResourcesPayload, ResourcesReply, StartReason};

use crate::front::Sight;
use crate::session::Session;

/// What lies ready for the model and the person.
pub trait Shelf: fmt::Debug + Send + Sync {
    /// Takes up what hooks have brought, in the place of what they brought before. Says what is odd about it.
    fn extend(&self, brought: &ResourcesReply) -> Vec<String>;

    /// What the system prompt says, for a model that reads files with the tool of that name.
    fn skills(&self, reader: &str) -> Option<String>;

    /// What a line stands for that calls something by its name; `None` if it calls nothing that lies here.
    fn expand(&self, line: &str) -> Option<Result<String, String>>;

    /// Folders, as they really lie, that the model may read without a question: what it is told to read is in them.
    fn folders(&self) -> Vec<PathBuf>;
}

impl Session {
    /// Asks hooks once more what else belongs on the shelf, because what lay there without them is something else now.
    pub async fn refill_shelf(&self) {
        self.fill_shelf(StartReason::Reload).await;
    }

    /// Asks hooks what else belongs on the shelf.
    pub(crate) async fn fill_shelf(&self, reason: StartReason) {
        let Some(shelf) = &self.agent.settings.shelf else {
            return;
        };
        let brought = self.hooks.ask::<Resources>(|| ResourcesPayload { reason }).await;
        for remark in shelf.extend(&brought) {
            self.agent.front.show(Sight::Warning(&remark));
        }
        self.gate.let_read(shelf.folders());
    }

    /// What the system prompt says about skills; nothing where the model has no tool to read them with.
    pub(crate) fn skills(&self) -> Option<String> {
        let shelf = self.agent.settings.shelf.as_ref()?;
        let active = self.active_tools.as_ref();
        let reader = self.agent.tools.iter().map(|tool| tool.spec()).find(|spec| {
            let is_active = active.is_none_or(|active| active.contains(&spec.face.name));
            spec.operation == Some(OperationKind::Read) && is_active
        })?;
        shelf.skills(&reader.face.name)
    }

    /// Words, or what they stand for.
    pub(crate) async fn expanded(&self, words: String) -> String {
        let shelf = self.agent.settings.shelf.as_ref();
        match shelf.and_then(|shelf| shelf.expand(&words)) {
            None => words,
            Some(Ok(expanded)) => expanded,
            Some(Err(why)) => {
                self.notify(becket_events::Level::Warning, &why).await;
                words
            }
        }
    }
}
