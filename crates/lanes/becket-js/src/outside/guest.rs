//! One extension in Node, as the rest of the crate sees it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use becket_hooks::{Answered, Cause, Failure, Field, ScriptHandler};
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::process::{Call, Done, Process};
use crate::clock::Clock;
use crate::extension::Kit;
use crate::machine::timed_out;
use crate::resolve::Modules;

/// A field longer than this is asked for when the script looks at it.
const LAZY: usize = 4096;

/// An extension in Node.
pub(crate) struct Guest {
    pub(crate) name: String,
    pub(crate) kit: Arc<Kit>,
    pub(crate) clock: Arc<Clock>,
    pub(super) file: PathBuf,
    seat: Mutex<Seat>,
}

/// Where an extension is now.
enum Seat {
    /// In a process, under a number that no other extension has or had.
    Taken {
        process: Arc<Process>,
        number: u32,
        modules: Modules,
    },
    /// Nowhere: what it is asked fails. It may come back.
    Left { failure: Failure, returns: bool },
}

impl Guest {
    /// Loads a file and lets the prelude start what it exports.
    pub(crate) async fn load(kit: &Arc<Kit>, name: &str, file: &Path) -> Result<Arc<Self>, Failure> {
        let nowhere = Failure::new(Cause::SpawnFailed, "it is not loaded yet");
        let guest = Arc::new(Self {
            name: name.into(),
            kit: Arc::clone(kit),
            clock: Arc::new(Clock::new()),
            file: std::fs::canonicalize(file).unwrap_or_else(|_| file.into()),
            seat: Mutex::new(Seat::Left {
                failure: nowhere,
                returns: false,
            }),
        });
        guest.take_seat().await?;
        kit.outside.enter(&guest);
        Ok(guest)
    }

    /// Loads it in the process that there is, or in a new one.
    pub(super) async fn take_seat(self: &Arc<Self>) -> Result<(), Failure> {
        let process = self.kit.outside.process(&self.kit).await?;
        let number = self.kit.outside.number();
        process.admit(number, self);
        *self.seat() = Seat::Taken {
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
            // Whoever is loaded next must not find a process that hangs.
            Arc::clone(&process).doubt(self.name.clone(), timeout).await;
        }
        process.dismiss(number);
        Err(failure)
    }

    /// Its process has ended, or it could not be loaded in the next one.
    pub(super) fn leave(&self, failure: Failure, returns: bool) {
        *self.seat() = Seat::Left { failure, returns };
    }

    pub(super) fn waits_for_return(&self) -> bool {
        matches!(&*self.seat(), Seat::Left { returns: true, .. })
    }

    pub(super) fn lives_in(&self, process: &Arc<Process>) -> bool {
        matches!(&*self.seat(), Seat::Taken { process: own, .. } if Arc::ptr_eq(own, process))
    }

    /// What finds its modules, while it is in a process.
    pub(super) fn modules(&self) -> Option<Modules> {
        match &*self.seat() {
            Seat::Taken { modules, .. } => Some(modules.clone()),
            Seat::Left { .. } => None,
        }
    }

    /// The name of what runs it, for people.
    pub(crate) fn engine(&self) -> &'static str {
        match &*self.seat() {
            Seat::Taken { process, .. } => process.engine,
            Seat::Left { .. } => "node",
        }
    }

    /// Calls a function that the prelude offers.
    pub(crate) async fn invoke(
        &self,
        function: &str,
        argument: &str,
        timeout: Duration,
    ) -> Result<Option<String>, Failure> {
        let (process, number) = self.seated()?;
        let call = Call::new("invoke", [quoted(function), argument.to_owned()]);
        let done = self.asked(&process, number, call, timeout).await?;
        Ok(done.returned)
    }

    /// A function that the script keeps for events.
    pub(crate) fn handler(self: &Arc<Self>, number: u32, timeout: Duration) -> Arc<dyn ScriptHandler> {
        Arc::new(Kept {
            guest: Arc::clone(self),
            seat: self.seated().map_or(0, |(_, seat)| seat),
            number,
            timeout,
        })
    }

    /// Whether something was asked of it and is not answered. What else it does, nobody outside of Node knows.
    pub(crate) fn is_busy(&self) -> bool {
        self.seated()
            .is_ok_and(|(process, number)| process.is_busy(number))
    }

    fn seated(&self) -> Result<(Arc<Process>, u32), Failure> {
        match &*self.seat() {
            Seat::Taken { process, number, .. } => Ok((Arc::clone(process), *number)),
            Seat::Left { failure, .. } => Err(failure.clone()),
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

    /// The same; if nothing came in time, it is looked into whether the process still reacts.
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

    fn seat(&self) -> MutexGuard<'_, Seat> {
        self.seat.lock().expect("no panic happens while this is held")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if let Ok((process, number)) = self.seated() {
            process.dismiss(number);
        }
    }
}

/// A function that a script keeps for events. It is gone with the process in which it was made.
struct Kept {
    guest: Arc<Guest>,
    seat: u32,
    number: u32,
    timeout: Duration,
}

impl ScriptHandler for Kept {
    fn call<'a>(&'a self, fields: Vec<Field>) -> BoxFuture<'a, Result<Answered, Failure>> {
        Box::pin(async move {
            let (process, seat) = self.guest.seated()?;
            if seat != self.seat {
                let words = "Node, in which it ran, has ended, and it is being loaded again";
                return Err(Failure::new(Cause::KilledBySignal, words));
            }
            let call = event(self.number, fields);
            let names: Vec<&'static str> = call.fields.iter().map(|field| field.name).collect();
            let done = self.guest.asked(&process, seat, call, self.timeout).await?;
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

/// The call of a kept function: small fields go along, large ones when somebody looks at them.
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

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
