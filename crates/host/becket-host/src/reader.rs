//! Lets a model that decides in place of a hook look at files: tools that only read, behind a gate.
//!
//! The calls of such a model pass the gate like all others, so the user's rules and guards count for them. `--yes` does
//! not count, and nobody is asked: what needs a yes is refused. Each look has a session of its own below the one that
//! is judged, by which hooks that look at files know calls that they have caused themselves.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use becket_agent::audit::AuditLog;
use becket_agent::front::{Front, user_at};
use becket_agent::gate::{Applicant, ApprovalSettings, Gate, Judgement};
use becket_agent::provider::ToolFace;
use becket_agent::tool::{Tool, ToolOutput, ToolRun};
use becket_agent::vfs::Vfs;
use becket_agent::{Hooks, SharedMode};
use becket_events::{OperationKind, Scope, ToolCall};
use becket_hooks::Engine;
use serde_json::{Map, Value};
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

/// The operations that a look may use.
const READING: &[OperationKind] = &[
    OperationKind::Read,
    OperationKind::List,
    OperationKind::Find,
    OperationKind::Grep,
];

/// Lets models look at files.
pub struct Reader {
    tools: Vec<Arc<dyn Tool>>,
    approval: ApprovalSettings,
    vfs: Vfs,
    front: Arc<dyn Front>,
    log: Option<Arc<dyn AuditLog>>,
    /// Weak, because handlers of the engine hold the reader.
    engine: Weak<Engine>,
    /// The sessions of the looks that go on.
    looks: Mutex<BTreeSet<String>>,
    count: AtomicU64,
}

/// Everything that a reader is made of.
pub struct ReaderParts {
    /// Tools, of which those that read files are used.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The user's rules.
    pub approval: ApprovalSettings,
    /// The virtual file system.
    pub vfs: Vfs,
    /// The front end on which nobody is asked.
    pub front: Arc<dyn Front>,
    /// Records what the gate decides.
    pub log: Option<Arc<dyn AuditLog>>,
}

impl Reader {
    /// A reader for the hooks of an engine.
    pub fn new(parts: ReaderParts, engine: &Arc<Engine>) -> Self {
        let mut tools = parts.tools;
        tools.retain(|tool| {
            let operation = tool.spec().operation;
            operation.is_some_and(|operation| READING.contains(&operation))
        });
        Self {
            tools,
            approval: ApprovalSettings {
                mode: SharedMode::default(),
                keeper: None,
                ..parts.approval
            },
            vfs: parts.vfs,
            front: parts.front,
            log: parts.log,
            engine: Arc::downgrade(engine),
            looks: Mutex::default(),
            count: AtomicU64::default(),
        }
    }

    /// A reader without tools, where nothing is asked.
    pub fn blind(engine: &Arc<Engine>, front: Arc<dyn Front>) -> Self {
        let parts = ReaderParts {
            tools: Vec::new(),
            approval: ApprovalSettings::default(),
            vfs: Vfs::new(Path::new("")),
            front,
            log: None,
        };
        Self::new(parts, engine)
    }

    /// Whether a session is that of a look.
    pub fn is_look(&self, session_id: &str) -> bool {
        self.looks().contains(session_id)
    }

    /// The tools, as a model is told of them.
    pub fn faces(&self) -> Vec<ToolFace> {
        self.tools.iter().map(|tool| tool.spec().face.clone()).collect()
    }

    /// Begins a look, for a hook with that name at an event in that scope. The error says why nobody can look.
    pub fn look(&self, hook: &str, scope: &Scope) -> Result<Look<'_>, String> {
        let engine = self.engine.upgrade().ok_or("the run is over")?;
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let session_id = format!("{}-hook-{number}", scope.session_id);
        let mut agents_above = scope.agents_above.clone();
        agents_above.push(scope.agent_name.clone());
        let own = Scope {
            session_id: session_id.clone(),
            parent_session_id: Some(scope.session_id.clone()),
            agent_name: hook.to_owned(),
            agents_above,
            ..scope.clone()
        };
        let user = user_at(Arc::clone(&self.front));
        let directory = Path::new(&scope.cwd);
        let gate = Gate::new(
            self.approval.clone(),
            directory,
            self.vfs.clone(),
            Arc::clone(&user),
        );
        self.looks().insert(session_id.clone());
        Ok(Look {
            reader: self,
            gate: match &self.log {
                Some(log) => gate.recording(Arc::clone(log)),
                None => gate,
            },
            hooks: Hooks::new(engine, user, CancellationToken::new(), own),
            session_id,
        })
    }

    fn looks(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A look at files, until it is dropped.
pub struct Look<'a> {
    reader: &'a Reader,
    gate: Gate,
    hooks: Hooks,
    session_id: String,
}

impl Look<'_> {
    /// Makes a call. One that is refused is an output too: the model reads why.
    pub async fn call(&self, call: &ToolCall) -> ToolOutput {
        let tools = &self.reader.tools;
        let Some(tool) = tools.iter().find(|tool| tool.spec().face.name == call.name) else {
            return ToolOutput::error(format!("[there is no tool {}]", call.name));
        };
        let written = match call.arguments.trim() {
            "" => Ok(Map::new()),
            text => serde_json::from_str::<Map<String, Value>>(text).map_err(|error| error.to_string()),
        };
        let arguments = match written.and_then(|written| tool.normalise(written)) {
            Ok(arguments) => arguments,
            Err(why) => return ToolOutput::error(format!("[the arguments cannot be used: {why}]")),
        };
        let called: &dyn Tool = &**tool;
        let applicant = Applicant {
            tool_call_id: &call.id,
            tool: &called,
            arguments: &arguments,
            parent_tool_call_id: None,
        };
        let run = ToolRun {
            progress: unbounded_channel().0,
            cancel: self.hooks.cancel().clone(),
            parent: None,
        };
        match self.gate.judge(&self.hooks, applicant).await {
            Judgement::Permitted(permit) => tool.run(permit, run).await,
            Judgement::Refused { reason, .. } => ToolOutput::error(format!("[refused: {reason}]")),
        }
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        self.hooks.cancel().cancel();
        self.reader.looks().remove(&self.session_id);
    }
}
