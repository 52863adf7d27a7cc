//! Guests: tools that come and go while a session runs, such as those of files that are written meanwhile, and code in
//! hooks that makes calls in the session's name.

use std::sync::Arc;

use becket_gate::vfs::{ShownFiles, VfsPath};

use crate::tool::{Parent, Tool};

/// A source of tools that come and go while a session runs.
pub trait Guests: Send + Sync {
    /// The current tools for a context. This is called before every turn, so it must be cheap when nothing has changed.
    fn tools(&self, context_name: &str) -> Brought;

    /// Lets handlers of this session's events make calls in its name.
    fn attach(&self, caller: Parent);

    /// The session is over: calls in its name end.
    fn detach(&self, session_id: &str);

    /// Called when the first request is on its way, or when a call is made without one: the time for work that should
    /// not delay the start.
    fn catch_up(&self) {}

    /// Called before somebody looks at an address of the virtual file system at which becket shows something: writes
    /// what is to be seen there now.
    fn show(&self, path: &VfsPath) {
        let _ = path;
    }
}

/// Guests as those who show files.
pub(crate) struct ShownByGuests(pub(crate) Arc<dyn Guests>);

impl ShownFiles for ShownByGuests {
    fn show(&self, path: &VfsPath) {
        self.0.show(path);
    }
}

/// Tools from a source of tools that come and go.
#[derive(Clone, Default)]
pub struct Brought {
    /// Changes whenever the tools change; 0 as long as there never were any.
    pub revision: u64,
    /// The tools. One with the name of an existing tool is left out.
    pub tools: Vec<Arc<dyn Tool>>,
}
