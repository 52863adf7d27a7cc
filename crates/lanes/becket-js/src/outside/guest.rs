//! One extension in Node, as the rest of the crate sees it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use becket_hooks::{Answered, Cause, Failure, Field, ScriptHandler};
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::finding;
use super::life;
use super::process::{Call, Done, Process, Resident, quoted};
use crate::clock::Clock;
use crate::errors::timed_out;
use crate::host::{HostError, Report};
use crate::kit::Kit;
use crate::packages::Asked;
use crate::resolve::Modules;

/// Fields longer than this are requested only when the script looks at them.
const LAZY: usize = 4096;

/// An extension in Node.
pub(crate) struct Guest {
    pub(crate) name: String,
    pub(crate) kit: Arc<Kit>,
    pub(crate) clock: Arc<Clock>,
    file: PathBuf,
    load_state: Mutex<LoadState>,
}

/// Whether an extension is loaded in a process now.
enum LoadState {
    /// Loaded in a process, under a number that no other extension has or had.
    Loaded {
        process: Arc<Process>,
        number: u32,
        modules: Modules,
    },
    /// Not loaded: every call fails. It may come back.
    Unloaded { failure: Failure, returns: bool },
}

impl Guest {
    /// Loads a file and lets the prelude start what it exports.
    pub(crate) async fn load(kit: &Arc<Kit>, name: &str, file: &Path) -> Result<Arc<Self>, Failure> {
        let nowhere = Failure::new(Cause::SpawnFailed, "it is not loaded yet");
        let guest = Arc::new(Self {
            name: name.into(),
            kit: Arc::clone(kit),
            clock: Arc::new(Clock::new()),
            file: becket_fs::canonicalize(file).unwrap_or_else(|_| file.into()),
            load_state: Mutex::new(LoadState::Unloaded {
                failure: nowhere,
                returns: false,
            }),
        });
        guest.load_in_process().await?;
        let resident: Arc<dyn Resident> = Arc::<Self>::clone(&guest);
        kit.outside.enter(Arc::downgrade(&resident));
        Ok(guest)
    }

    /// Loads the extension in the running process, or in a new one.
    async fn load_in_process(self: &Arc<Self>) -> Result<(), Failure> {
        let process = life::running(&self.kit).await?;
        let number = self.kit.outside.number();
        let resident: Arc<dyn Resident> = Arc::<Self>::clone(self);
        process.admit(number, Arc::downgrade(&resident));
        *self.load_state() = LoadState::Loaded {
            process: Arc::clone(&process),
            number,
            modules: Modules::new(&self.kit, &self.file),
        };
        let (prelude, file) = (quoted(self.kit.prelude), quoted(&self.file.to_string_lossy()));
        let (call, timeout) = (Call::new("load", [prelude, file]), self.kit.limits.timeout);
        let Err(failure) = self.answered(&process, number, call, timeout).await else {
            return Ok(());
        };
        if failure.cause == Cause::TimedOut {
            // The next extension must not be loaded into a process that hangs.
            Arc::clone(&process).doubt(self.name.clone(), timeout).await;
        }
        process.dismiss(number);
        Err(failure)
    }

    /// The resolver of the extension's modules, while it is loaded.
    fn modules(&self) -> Result<Modules, HostError> {
        match &*self.load_state() {
            LoadState::Loaded { modules, .. } => Ok(modules.clone()),
            LoadState::Unloaded { .. } => Err(HostError::new("the extension has ended")),
        }
    }

    /// The name of the program that runs the extension.
    pub(crate) fn engine(&self) -> &'static str {
        match &*self.load_state() {
            LoadState::Loaded { process, .. } => process.engine,
            LoadState::Unloaded { .. } => "node",
        }
    }

    /// Calls a function that the prelude offers.
    pub(crate) async fn invoke(
        &self,
        function: &str,
        argument: &str,
        timeout: Duration,
    ) -> Result<Option<String>, Failure> {
        let (process, number) = self.loaded()?;
        let call = Call::new("invoke", [quoted(function), argument.to_owned()]);
        let done = self.asked(&process, number, call, timeout).await?;
        Ok(done.returned)
    }

    /// A function that the script has registered for events.
    pub(crate) fn handler(self: &Arc<Self>, number: u32, timeout: Duration) -> Arc<dyn ScriptHandler> {
        Arc::new(Kept {
            guest: Arc::clone(self),
            load_number: self.loaded().map_or(0, |(_, number)| number),
            number,
            timeout,
        })
    }

    /// Whether a call of the extension is unanswered. What else it does, only Node knows.
    pub(crate) fn is_busy(&self) -> bool {
        self.loaded()
            .is_ok_and(|(process, number)| process.is_busy(number))
    }

    fn loaded(&self) -> Result<(Arc<Process>, u32), Failure> {
        match &*self.load_state() {
            LoadState::Loaded { process, number, .. } => Ok((Arc::clone(process), *number)),
            LoadState::Unloaded { failure, .. } => Err(failure.clone()),
        }
    }

    async fn answered(
        &self,
        process: &Arc<Process>,
        number: u32,
        call: Call,
        timeout: Duration,
    ) -> Result<Done, Failure> {
        let expiry = self.clock.now() + timeout;
        let answer = process.begin(number, call);
        let answer = self.clock.until(expiry, answer).await;
        answer.unwrap_or_else(|| Err(timed_out(timeout)))
    }

    /// Makes a call; after a timeout, checks whether the process still reacts.
    async fn asked(
        &self,
        process: &Arc<Process>,
        number: u32,
        call: Call,
        timeout: Duration,
    ) -> Result<Done, Failure> {
        let result = self.answered(process, number, call, timeout).await;
        if result
            .as_ref()
            .is_err_and(|failure| failure.cause == Cause::TimedOut)
        {
            tokio::spawn(Arc::clone(process).doubt(self.name.clone(), timeout));
        }
        result
    }

    fn load_state(&self) -> MutexGuard<'_, LoadState> {
        self.load_state
            .lock()
            .expect("no panic happens while this is held")
    }
}

impl Resident for Guest {
    fn name(&self) -> &str {
        &self.name
    }

    fn call(&self, name: &str, arguments: &str) -> Result<String, HostError> {
        self.kit.host.call(&self.name, name, arguments)
    }

    fn call_async(&self, name: &str, arguments: String) -> BoxFuture<'static, Result<String, HostError>> {
        self.kit.host.call_async(&self.name, name, arguments)
    }

    fn find(&self, base: &str, name: &str, asked: Asked) -> Result<String, HostError> {
        let code = match asked {
            Asked::Require => "MODULE_NOT_FOUND",
            Asked::Import => "ERR_MODULE_NOT_FOUND",
        };
        let found = finding::find(&self.modules()?, &self.file, base, name, asked);
        found
            .map(|found| found.to_string())
            .map_err(|words| HostError::new(words).with("code", code))
    }

    fn read(&self, module: &str) -> Result<String, HostError> {
        let read = finding::read(&self.modules()?, module);
        read.map(|read| read.to_string()).map_err(HostError::new)
    }

    fn with_original_places(&self, text: String) -> String {
        self.kit.transformer.with_original_places(text)
    }

    fn report(&self, name: &str, report: Report) {
        self.kit.reporter.report(name, report);
    }

    fn lives_in(&self, process: &Arc<Process>) -> bool {
        matches!(&*self.load_state(), LoadState::Loaded { process: own, .. } if Arc::ptr_eq(own, process))
    }

    fn leave(&self, failure: Failure, returns: bool) {
        *self.load_state() = LoadState::Unloaded { failure, returns };
    }

    fn waits_for_return(&self) -> bool {
        matches!(&*self.load_state(), LoadState::Unloaded { returns: true, .. })
    }

    fn come_back(self: Arc<Self>) -> BoxFuture<'static, Result<(), Failure>> {
        Box::pin(async move { self.load_in_process().await })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if let Ok((process, number)) = self.loaded() {
            process.dismiss(number);
        }
    }
}

/// A function that a script has registered for events. It is lost with the process in which it was made.
struct Kept {
    guest: Arc<Guest>,
    load_number: u32,
    number: u32,
    timeout: Duration,
}

impl ScriptHandler for Kept {
    fn call<'a>(&'a self, fields: Vec<Field>) -> BoxFuture<'a, Result<Answered, Failure>> {
        Box::pin(async move {
            let (process, load_number) = self.guest.loaded()?;
            if load_number != self.load_number {
                let words = "Node, in which it ran, has ended, and it is being loaded again";
                return Err(Failure::new(Cause::KilledBySignal, words));
            }
            let call = event(self.number, fields);
            let names: Vec<&'static str> = call.fields.iter().map(|field| field.name).collect();
            let done = self
                .guest
                .asked(&process, load_number, call, self.timeout)
                .await?;
            let changed = done.changed.into_iter().filter_map(|(name, json)| {
                let name = names.iter().find(|known| **known == name)?;
                Some((*name, json))
            });
            Ok(Answered {
                returned: done.returned,
                changed: changed.collect(),
            })
        })
    }
}

/// The call of a registered function: small fields are sent along, large ones when the script looks at them.
fn event(number: u32, fields: Vec<Field>) -> Call {
    let is_large = |field: &&Field| field.json.len() > LAZY;
    let mut small = String::from("{");
    for field in fields.iter().filter(|field| !is_large(field)) {
        if small.len() > 1 {
            small.push(',');
        }
        small.extend([&quoted(field.name), ":", &field.json]);
    }
    small.push('}');
    let names = |wanted: &dyn Fn(&&Field) -> bool| {
        let names: Vec<&str> = fields.iter().filter(wanted).map(|field| field.name).collect();
        Value::from(names).to_string()
    };
    let mutable = names(&|field| field.mutable);
    let large = names(&is_large);
    Call::new("fire", [number.to_string(), small, mutable, large]).about(fields)
}
