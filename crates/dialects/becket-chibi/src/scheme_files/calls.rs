//! Calls of tools by files: on behalf of a session, through its hooks and its gate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use becket_agent::Parent;
use becket_agent::tool::{BUILTIN, Tool};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// Makes the calls that a file asks for.
pub trait Calls: Send + Sync {
    /// Calls a tool; the error is raised in the file.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<String, String>>;
}

/// Refuses all calls.
pub struct NoCalls;

impl Calls for NoCalls {
    fn call<'a>(&'a self, _: &'a str, _: Map<String, Value>) -> BoxFuture<'a, Result<String, String>> {
        let words = "call-tool: no active call context: no session is at work";
        Box::pin(std::future::ready(Err(words.into())))
    }
}

/// The running sessions, and the tools that files know.
#[derive(Default)]
pub struct Callers {
    sessions: Mutex<HashMap<String, Parent>>,
    /// becket's own tools under the names that chibi's files use, whatever the model calls them.
    known: Mutex<Vec<Arc<dyn Tool>>>,
}

/// A tool, and its arguments.
type Call = (Arc<dyn Tool>, Map<String, Value>);

impl Callers {
    /// Sets the tools that files know.
    pub fn set_known(&self, tools: Vec<Arc<dyn Tool>>) {
        *self.known.lock().expect("no panic happens while it is held") = tools;
    }

    /// Adds a running session.
    pub fn attach(&self, caller: Parent) {
        let before = self.sessions().insert(caller.session_id().to_owned(), caller);
        // This may be the last reference to a tool whose destructor uses `sessions`, so it is dropped after the lock is
        // released.
        drop(before);
    }

    /// Removes a session that is over.
    pub fn detach(&self, session_id: &str) {
        let gone = self.sessions().remove(session_id);
        drop(gone);
    }

    /// The caller of tools for the hooks of a session.
    pub fn of(self: &Arc<Self>, session_id: &str) -> Box<dyn Calls> {
        let parent = self.sessions().get(session_id).cloned();
        match parent {
            Some(parent) => Box::new(SessionCalls::new(self, parent, "hook")),
            None => Box::new(NoCalls),
        }
    }

    /// The running session, if there is only one.
    pub fn only(self: &Arc<Self>) -> Option<Parent> {
        let sessions = self.sessions();
        let mut all = sessions.values();
        all.next().filter(|_| all.next().is_none()).cloned()
    }

    /// The tools of the running sessions, each name once, and those that only files know.
    pub fn tools_now(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools: Vec<Arc<dyn Tool>> = self
            .sessions()
            .values()
            .flat_map(|parent| parent.tools())
            .cloned()
            .collect();
        tools.extend(
            self.known
                .lock()
                .expect("no panic happens while it is held")
                .iter()
                .cloned(),
        );
        let mut names = std::collections::HashSet::new();
        tools.retain(|tool| names.insert(tool.spec().face.name.clone()));
        tools
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Parent>> {
        self.sessions.lock().expect("no panic happens while it is held")
    }

    /// The tool with that name, with its arguments. Files can only use tools that the session has.
    fn find(&self, parent: &Parent, name: &str, arguments: Map<String, Value>) -> Result<Call, String> {
        let offered = parent.tools();
        if let Some(tool) = offered.iter().find(|tool| tool.spec().face.name == name) {
            return Ok((Arc::clone(tool), arguments));
        }
        let unknown = || format!("unknown tool: {name}");
        let known = self.known.lock().expect("no panic happens while it is held");
        let known = known.iter().find(|tool| tool.spec().face.name == name).cloned();
        let Some(known) = known else {
            let by_own_name = offered.iter().find(|tool| tool.spec().own_name == name);
            return by_own_name
                .map(|tool| (Arc::clone(tool), arguments))
                .ok_or_else(unknown);
        };
        let spec = known.spec();
        let is_same = |tool: &&Arc<dyn Tool>| {
            let other = tool.spec();
            other.operation == spec.operation && (spec.operation.is_some() || other.own_name == spec.own_name)
        };
        match offered.iter().find(is_same) {
            None => Err(unknown()),
            Some(tool) if tool.spec().source == BUILTIN => Ok((known, arguments)),
            // Another tool replaces becket's own, so the call goes to the replacement.
            Some(tool) => Ok((Arc::clone(tool), known.normalise(arguments)?)),
        }
    }
}

/// Calls on behalf of a session.
pub struct SessionCalls {
    callers: Arc<Callers>,
    parent: Parent,
    /// The id of the call within which these calls are made.
    within: String,
}

impl SessionCalls {
    pub fn new(callers: &Arc<Callers>, parent: Parent, within: &str) -> Self {
        Self {
            callers: Arc::clone(callers),
            parent,
            within: within.into(),
        }
    }
}

impl Calls for SessionCalls {
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let (tool, arguments) = self.callers.find(&self.parent, name, arguments)?;
            let called = self.parent.call(tool, &arguments, &self.within).await;
            match called {
                called if called.cancelled => Err("cancelled".into()),
                called if called.is_error => Err(format!("tool error: {}", called.output)),
                called => Ok(called.output),
            }
        })
    }
}
