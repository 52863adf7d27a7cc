//! The state of Node's modules in one engine, and what the functions of all modules need of it.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use becket_hooks::Mark;
use rquickjs::{Ctx, Error, Exception};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::coder::Coder;
use super::held::{Held, Store};
use super::running::Running;
use super::watcher::Watcher;
use crate::clock::Clock;
use crate::host::{HostError, Report};
use crate::kit::Kit;

/// How many asynchronous file functions run at a time; the others wait. A file can block a thread for long.
const FILES_AT_A_TIME: usize = 8;

/// The permission that a function needs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Need {
    Files,
    Processes,
    Network,
}

/// Who waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Asker {
    /// The script, which stands still until its own deadline.
    Script,
    /// A promise, as long as the extension lives.
    Promise,
}

/// The answer of a function.
pub(super) type NodeResult = Result<Value, HostError>;

/// The state of Node's modules in one engine.
pub(crate) struct Node {
    pub(super) kit: Arc<Kit>,
    pub(super) extension: String,
    pub(super) clock: Arc<Clock>,
    pub(super) directory: Mutex<PathBuf>,
    pub(super) last: AtomicU64,
    /// Whether the extension has ended.
    pub(super) over: AtomicBool,
    pub(super) store: Arc<Store>,
    pub(super) parcels: Mutex<HashMap<u64, Held>>,
    /// Open files by their numbers.
    pub(super) files: Mutex<HashMap<u64, Arc<File>>>,
    pub(super) file_turns: Arc<Semaphore>,
    pub(super) watchers: Mutex<HashMap<u64, Arc<Watcher>>>,
    /// Running programs by their numbers.
    pub(super) processes: Mutex<HashMap<u64, Arc<Running>>>,
    /// Coders between two pieces, by their numbers.
    pub(super) coders: Mutex<HashMap<u64, Coder>>,
    /// The mark of all programs that the extension starts; `has_started` says whether it has started any.
    pub(super) mark: Mark,
    pub(super) has_started: AtomicBool,
}

impl Node {
    pub(crate) fn new(kit: &Arc<Kit>, extension: &str, clock: &Arc<Clock>) -> Arc<Self> {
        Arc::new(Self {
            kit: Arc::clone(kit),
            extension: extension.into(),
            clock: Arc::clone(clock),
            directory: Mutex::new(kit.surroundings.directory.clone()),
            last: AtomicU64::new(2),
            over: AtomicBool::new(false),
            store: Store::new(kit.limits.memory),
            parcels: Mutex::default(),
            files: Mutex::default(),
            file_turns: Arc::new(Semaphore::new(FILES_AT_A_TIME)),
            watchers: Mutex::default(),
            processes: Mutex::default(),
            coders: Mutex::default(),
            mark: Mark::within(&kit.surroundings.environment),
            has_started: AtomicBool::new(false),
        })
    }

    /// Ends everything that the extension has started.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        let mut processes = self
            .processes
            .lock()
            .expect("no panic happens while processes are held");
        processes.drain().for_each(|(_, running)| running.end());
        drop(processes);
        if self.has_started.load(Ordering::Relaxed) {
            self.mark.end_all();
        }
        self.watchers
            .lock()
            .expect("no panic happens while watchers are held")
            .clear();
    }

    /// Checks whether something may be used, and reports its use.
    pub(super) fn permit(&self, need: Need, what: &'static str, target: &str) -> Result<(), HostError> {
        let allowed = self.kit.allowed;
        let (is_allowed, setting, scope) = match need {
            Need::Files => (allowed.files, "files", "FileSystem"),
            Need::Processes => (allowed.processes, "processes", "ChildProcess"),
            Need::Network => (allowed.network, "network", "Net"),
        };
        if !is_allowed {
            let words = format!(
                "{what} is not allowed to extensions; the setting {}{setting} says so",
                allowed.setting
            );
            let refused = HostError::new(words).with("code", "ERR_ACCESS_DENIED");
            return Err(refused.with("permission", scope).with("resource", target));
        }
        let report = Report::Used {
            what,
            target: target.into(),
        };
        self.kit.reporter.report(&self.extension, report);
        Ok(())
    }

    /// Keeps bytes until the script takes them.
    pub(super) fn parcel(&self, bytes: Vec<u8>) -> Result<Value, HostError> {
        Ok(self.keep(self.store.hold(bytes)?))
    }

    /// Keeps a buffer until the script takes it.
    pub(super) fn keep(&self, held: Held) -> Value {
        let number = self.number();
        let mut parcels = self
            .parcels
            .lock()
            .expect("no panic happens while parcels are held");
        parcels.insert(number, held);
        json!({ "parcel": number })
    }

    /// Takes what was kept for the script.
    pub(super) fn take(&self, ctx: &Ctx<'_>, number: u64) -> Result<Held, Error> {
        let held = self
            .parcels
            .lock()
            .expect("no panic happens while parcels are held")
            .remove(&number);
        held.ok_or_else(|| Exception::throw_message(ctx, "there is no such parcel"))
    }

    pub(super) fn number(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The working directory of the extension.
    pub(super) fn directory(&self) -> PathBuf {
        self.directory
            .lock()
            .expect("no panic happens while the directory is held")
            .clone()
    }

    /// A path, relative to the working directory of the extension.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        if Path::new(path).is_absolute() {
            return path.into();
        }
        self.directory().join(path)
    }
}

/// Bytes that a script passes: text, or base64.
pub(super) fn bytes_of(value: &Value) -> Result<Vec<u8>, HostError> {
    match value {
        Value::String(text) => Ok(text.clone().into_bytes()),
        Value::Object(_) => {
            let text = value["base64"].as_str().unwrap_or_default();
            STANDARD
                .decode(text)
                .map_err(|error| HostError::new(format!("no base64: {error}")))
        }
        _ => Ok(Vec::new()),
    }
}
