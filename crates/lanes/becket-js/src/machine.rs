//! The engine under an extension: one QuickJS runtime with its limits.
//!
//! The engine is entered on the caller's thread, so nothing waits for another thread. Slow work (host calls, timers) is
//! a task that enters when it is done (`natives.rs`). Two things end code that does not end by itself: its deadline,
//! and a cancel of the whole program (`clock.rs`).
//!
//! A loop in a script holds the thread until its deadline, but an event costs about what the bare engine costs. An
//! extension can change whatever is built in, in its own engine only; what Rust calls there keeps the originals. Steps
//! of the engine that cannot be interrupted are seen by another thread (`Watch` in `clock.rs`), which can only end the
//! program: nothing less is possible in one process without `unsafe`, and a run that hangs for ever is worse.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use becket_hooks::{Cause, Failure};
use rquickjs::promise::PromiseState;
use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Error, Exception, Function, Promise, Runtime, Value,
};
use tokio::sync::oneshot;

use crate::bytecode;
use crate::clock::{Clock, End};
use crate::entries::{Entry, entry};
use crate::errors::{self, timed_out};
use crate::host::Report;
use crate::kit::Kit;
use crate::node::Node;
use crate::resolve::Modules;
use crate::tasks::Tasks;
use crate::transform::HOST;

/// How much an engine holds before its first search for reference cycles. Loading leaves none behind, so an earlier
/// search would only take time.
const FIRST_SEARCH: usize = 1 << 20;

/// One QuickJS runtime.
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) kit: Arc<Kit>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) tasks: Tasks,
    pub(crate) modules: Modules,
    pub(crate) node: Arc<Node>,
    context: Context,
    /// Why the extension is not run by Node.
    not_outside: String,
    /// Whether a promise was rejected and not caught yet.
    floats: Arc<AtomicBool>,
    /// The last failure that was reported, and how often it has come in a row.
    repeated: Mutex<(String, u32)>,
    /// Why nothing runs here any more, once the machine has been stopped.
    stopped: Mutex<Option<Failure>>,
}

/// A request of Rust to a script: a call, and how its result is read.
pub(crate) trait Work: Send + Sync + 'static {
    /// The result of the request.
    type Output: Send + 'static;

    /// Begins, and returns the result or a promise of it, and a value that is needed to read it.
    fn start<'js>(&self, ctx: &Ctx<'js>) -> Result<(Value<'js>, Value<'js>), Error>;

    /// Reads the result.
    fn read<'js>(&self, ctx: &Ctx<'js>, result: Value<'js>, kept: Value<'js>) -> Result<Self::Output, Error>;
}

/// The state of a request after its start: done, or waiting for a promise.
enum Begun<T> {
    Done(Result<T, Failure>),
    Waiting(oneshot::Receiver<Result<T, Failure>>),
}

impl Machine {
    /// An empty machine for the extension with this file; `not_outside` says why it is not run by Node.
    pub(crate) fn new(
        kit: &Arc<Kit>,
        name: &str,
        file: &Path,
        not_outside: String,
    ) -> Result<Arc<Self>, Failure> {
        let broken =
            |error: Error| Failure::new(Cause::SpawnFailed, format!("no JavaScript engine: {error}"));
        let runtime = Runtime::new().map_err(broken)?;
        runtime.set_memory_limit(kit.limits.memory);
        runtime.set_max_stack_size(kit.limits.stack);
        runtime.set_gc_threshold(FIRST_SEARCH);
        let modules = Modules::new(kit, file);
        runtime.set_loader(modules.clone(), modules.clone());
        let clock = Arc::new(Clock::new());
        kit.watch.add(name, &clock);
        let (watch, shared) = (Arc::clone(&clock), Arc::clone(kit));
        runtime.set_interrupt_handler(Some(Box::new(move || watch.is_over(&shared.cancels))));
        let floats = Arc::new(AtomicBool::new(false));
        let floating = Arc::clone(&floats);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, handled| {
            floating.store(true, Ordering::Relaxed);
            let told = entry(&ctx, Entry::Rejected)
                .and_then(|rejected| rejected.call::<_, ()>((promise, reason, handled)));
            errors::quiet(&ctx, told);
        })));
        Ok(Arc::new(Self {
            name: name.into(),
            context: Context::full(&runtime).map_err(broken)?,
            modules,
            node: Node::new(kit, name, &clock),
            clock,
            kit: Arc::clone(kit),
            tasks: Tasks::default(),
            not_outside,
            floats,
            repeated: Mutex::default(),
            stopped: Mutex::default(),
        }))
    }

    /// The default export of a module of this crate, which is a function.
    pub(crate) fn shared_function<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        source: &'static str,
    ) -> Result<Function<'js>, Error> {
        bytecode::function(ctx, &format!("{HOST}{name}"), source, || {
            let path = PathBuf::from(format!("{name}.ts"));
            let code = self.kit.transformer.javascript(&path, source);
            code.map_err(|error| Exception::throw_syntax(ctx, &error.to_string()))
        })
    }

    /// Runs code and every job that follows from it immediately. Unhandled rejections are reported.
    pub(crate) fn enter<T>(
        &self,
        timeout: Duration,
        work: impl FnOnce(&Ctx<'_>) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        self.entered(timeout, |ctx| {
            let result = work(ctx).catch(ctx).map_err(|error| self.failure(ctx, error));
            self.run_jobs(ctx);
            result
        })
    }

    fn entered<T>(
        &self,
        timeout: Duration,
        work: impl FnOnce(&Ctx<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.context.with(|ctx| {
            if let Some(failure) = self.stopped().clone() {
                return Err(failure);
            }
            self.clock.start(timeout, (self.kit.cancels)());
            let result = work(&ctx);
            if self.floats.swap(false, Ordering::Relaxed) {
                self.report_floating(&ctx);
                // A listener for such errors may have settled something.
                self.run_jobs(&ctx);
            }
            self.clock.rest();
            result
        })
    }

    /// Runs all pending jobs. Promises that go on for ever stop the machine.
    fn run_jobs(&self, ctx: &Ctx<'_>) {
        let mut late = false;
        while ctx.execute_pending_job() {
            if !self.clock.is_over(&self.kit.cancels) {
                continue;
            }
            // After a cancel the rest waits for the next call.
            if self.clock.ended() == Some(End::Cancelled) {
                return;
            }
            if late {
                return self.stop();
            }
            late = true;
            self.clock.give_grace();
        }
    }

    fn stop(&self) {
        let words = format!(
            "it was stopped, because its promises went on for more than {}; it stays so until it is loaded again",
            errors::seconds(self.clock.allowed())
        );
        self.report_failed(words.clone());
        *self.stopped() = Some(Failure::new(Cause::TimedOut, words));
    }

    fn report_floating(&self, ctx: &Ctx<'_>) {
        let mut reasons = Vec::new();
        let told = entry(ctx, Entry::TakeFloating).and_then(|take| take.call::<_, Vec<Value>>(()));
        reasons.extend(errors::quiet(ctx, told).unwrap_or_default());
        for reason in reasons {
            let reason = errors::described(ctx, &reason, self.kit.limits.memory);
            self.report_failed(format!("a rejected promise was not handled: {reason}"));
            self.kit.reporter.rejected(&self.name, &reason);
        }
    }

    /// Reports a failure. The same failure again and again, as of an interval, is reported when it has come ten times,
    /// a hundred times and so on.
    pub(crate) fn report_failed(&self, text: String) {
        let count = {
            let mut repeated = self.repeated.lock().expect("no panic happens while this is held");
            if repeated.0 != text {
                *repeated = (text.clone(), 0);
            }
            repeated.1 += 1;
            repeated.1
        };
        let text = match count {
            1 => text,
            _ if 10_u32.pow(count.ilog10()) == count => format!("{text} ({count} times)"),
            _ => return,
        };
        self.kit.reporter.report(&self.name, Report::Failed { text });
    }

    /// Makes a request to the script, and waits for its promise if it returns one.
    pub(crate) async fn run<W: Work>(
        self: &Arc<Self>,
        timeout: Duration,
        work: W,
    ) -> Result<W::Output, Failure> {
        let expiry = self.clock.now() + timeout;
        // A caller may wait long for its answer, but the code may not run for so long.
        let running = timeout.min(self.kit.limits.timeout);
        match self.entered(running, |ctx| self.begin(ctx, work))? {
            Begun::Done(result) => result,
            Begun::Waiting(answer) => match self.clock.until(expiry, answer).await {
                Some(Ok(result)) => result,
                // The engine has collected the promise, and everything that waited for it.
                Some(Err(_)) => Err(Failure::new(
                    Cause::TimedOut,
                    "it will never answer: nothing is left that could resolve its promise",
                )),
                None => Err(timed_out(timeout)),
            },
        }
    }

    fn begin<W: Work>(self: &Arc<Self>, ctx: &Ctx<'_>, work: W) -> Result<Begun<W::Output>, Failure> {
        let failed = |error| self.failure(ctx, error);
        let started = work
            .start(ctx)
            .and_then(|(value, kept)| Ok((promised(ctx, value)?, kept)));
        let started = started.catch(ctx).map_err(failed);
        let (value, kept) = match started {
            Ok(started) => started,
            Err(failure) => {
                self.run_jobs(ctx);
                return Err(failure);
            }
        };
        let Some(promise) = value.as_promise() else {
            let result = work.read(ctx, value, kept).catch(ctx).map_err(failed);
            self.run_jobs(ctx);
            return Ok(Begun::Done(result));
        };
        self.run_jobs(ctx);
        match promise.state() {
            PromiseState::Pending => {
                let waiting = self.watch(ctx, promise, kept, work);
                Ok(Begun::Waiting(waiting.catch(ctx).map_err(failed)?))
            }
            PromiseState::Rejected => {
                // The caller has handled this rejection.
                let seen = entry(ctx, Entry::Rejected)
                    .and_then(|rejected| rejected.call::<_, ()>((promise.clone(), (), true)));
                errors::quiet(ctx, seen);
                Ok(Begun::Done(
                    settled(ctx, promise, kept, &work).catch(ctx).map_err(failed),
                ))
            }
            PromiseState::Resolved => Ok(Begun::Done(
                settled(ctx, promise, kept, &work).catch(ctx).map_err(failed),
            )),
        }
    }

    /// Waits for a promise to settle. The engine owns what is needed then, so that it can collect a promise that
    /// nothing else holds.
    fn watch<'js, W: Work>(
        self: &Arc<Self>,
        ctx: &Ctx<'js>,
        promise: &Promise<'js>,
        kept: Value<'js>,
        work: W,
    ) -> Result<oneshot::Receiver<Result<W::Output, Failure>>, Error> {
        let (sender, receiver) = oneshot::channel();
        let waiting = Mutex::new(Some((sender, work)));
        let machine = Arc::downgrade(self);
        let tell = move |ctx: Ctx<'js>, resolved: bool, value: Value<'js>, kept: Value<'js>| {
            let waiting = waiting
                .lock()
                .expect("no panic happens while this is held")
                .take();
            let (Some(machine), Some((sender, work))) = (machine.upgrade(), waiting) else {
                return;
            };
            let result = match resolved {
                true => work.read(&ctx, value, kept).catch(&ctx),
                false => Err(CaughtError::Value(value)),
            };
            let _ = sender.send(result.map_err(|error| machine.failure(&ctx, error)));
        };
        let tell = Function::new(ctx.clone(), tell)?;
        entry(ctx, Entry::Attach)?.call::<_, ()>((promise.clone(), kept, tell))?;
        Ok(receiver)
    }

    /// The failure for an error of the engine.
    fn failure<'js>(&self, ctx: &Ctx<'js>, error: CaughtError<'js>) -> Failure {
        let ended = |end| match end {
            End::Expired => timed_out(self.clock.allowed()),
            End::Cancelled => Failure::new(Cause::KilledBySignal, "it was cancelled"),
        };
        if let Some(end) = self.clock.ended() {
            return ended(end);
        }
        let (detail, message) = match error {
            CaughtError::Exception(exception) => {
                let thrown = exception.as_object().as_value();
                let message = errors::message(ctx, thrown);
                (errors::described(ctx, thrown, self.kit.limits.memory), message)
            }
            CaughtError::Value(value) => (errors::described(ctx, &value, self.kit.limits.memory), None),
            CaughtError::Error(error) => (error.to_string(), None),
        };
        // Describing the error ran code of the script too, which may have exceeded its time.
        let raised = Failure::new(Cause::Raised, detail).refusing_with(message);
        let raised = with_hint(raised, &self.not_outside);
        self.clock.ended().map_or(raised, ended)
    }

    fn stopped(&self) -> MutexGuard<'_, Option<Failure>> {
        self.stopped.lock().expect("no panic happens while this is held")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.node.end();
    }
}

/// Runs code without a caller: a failure is reported, and stops nothing.
pub(crate) fn unattended<T>(
    machine: &Weak<Machine>,
    work: impl FnOnce(&Ctx<'_>) -> Result<T, Error>,
) -> Option<T> {
    let machine = machine.upgrade()?;
    // A stopped machine was reported once; that is enough.
    if machine.stopped().is_some() {
        return None;
    }
    match machine.enter(machine.clock.spare(machine.kit.limits.timeout), work) {
        Ok(value) => Some(value),
        Err(failure) => {
            machine.report_failed(failure.to_string());
            None
        }
    }
}

/// Turns a thenable into a promise.
fn promised<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Result<Value<'js>, Error> {
    if value.is_object() && !value.is_promise() {
        return entry(ctx, Entry::Promised)?.call((value,));
    }
    Ok(value)
}

fn settled<'js, W: Work>(
    ctx: &Ctx<'js>,
    promise: &Promise<'js>,
    kept: Value<'js>,
    work: &W,
) -> Result<W::Output, Error> {
    let value = promise.result::<Value>().unwrap_or(Err(Error::WouldBlock))?;
    work.read(ctx, value, kept)
}

/// A failure of the embedded engine, with a hint if Node would help; `reason` says why it was not used.
fn with_hint(mut failure: Failure, reason: &str) -> Failure {
    let words = ["embedded engine", "WebAssembly is not defined"];
    let only_node = words.iter().any(|words| failure.detail.contains(words));
    if only_node {
        failure.detail = format!("{}; Node would serve it: {reason}", failure.detail);
    }
    failure
}
