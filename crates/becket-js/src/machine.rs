//! The engine under an extension: one QuickJS runtime with its limits.
//!
//! It is entered on the thread of whoever calls, so nothing waits for another thread. What takes its time (host calls,
//! timers) is a task that enters when it is done. Two things end code that does not end by itself: its deadline, and
//! a cancel of the whole program.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use becket_hooks::{Cause, Failure};
use rquickjs::prelude::{List, This};
use rquickjs::promise::PromiseState;
use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Error, FromJs, Function, Object, Promise, Runtime, Value,
};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::extension::Kit;
use crate::host::{HostError, Report};
use crate::resolve::Modules;

/// The object that `bootstrap.ts` leaves behind.
const BECKET: &str = "__becket";

const BOOTSTRAP: &str = include_str!("js/bootstrap.ts");

/// What one extension may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: usize,
    /// Bytes of stack.
    pub stack: usize,
    /// How long a handler may take, and code that nobody waits for.
    pub timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 256 << 20,
            stack: 1 << 20,
            timeout: Duration::from_secs(30),
        }
    }
}

/// One QuickJS runtime.
pub(crate) struct Machine {
    pub(crate) name: String,
    context: Context,
    clock: Arc<Clock>,
    kit: Arc<Kit>,
    timers: Mutex<HashMap<u64, AbortHandle>>,
    last_call: AtomicU64,
    /// Why nothing runs here any more.
    stopped: Mutex<Option<Failure>>,
}

/// Says whether code has run long enough.
struct Clock {
    began: Instant,
    /// Milliseconds after `began`; 0 while nothing runs.
    deadline: AtomicU64,
    expired: AtomicBool,
}

impl Clock {
    fn start(&self, timeout: Duration) {
        let deadline = (self.began.elapsed() + timeout).as_millis() as u64;
        self.deadline.store(deadline.max(1), Ordering::Relaxed);
        self.expired.store(false, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        let over = self.began.elapsed().as_millis() as u64 >= self.deadline.load(Ordering::Relaxed);
        if over {
            self.expired.store(true, Ordering::Relaxed);
        }
        over
    }
}

impl Machine {
    pub(crate) fn new(kit: &Arc<Kit>, name: &str) -> Result<Arc<Self>, Failure> {
        let broken =
            |error: Error| Failure::new(Cause::SpawnFailed, format!("no JavaScript engine: {error}"));
        let runtime = Runtime::new().map_err(broken)?;
        runtime.set_memory_limit(kit.limits.memory);
        runtime.set_max_stack_size(kit.limits.stack);
        let modules = Modules(Arc::clone(kit));
        runtime.set_loader(modules.clone(), modules);
        let clock = Arc::new(Clock {
            began: Instant::now(),
            deadline: AtomicU64::new(0),
            expired: AtomicBool::new(false),
        });
        let (watch, interrupted) = (Arc::clone(&clock), Arc::clone(kit));
        runtime.set_interrupt_handler(Some(Box::new(move || {
            watch.is_over() || (interrupted.cancelled)()
        })));
        runtime.set_host_promise_rejection_tracker(Some(Box::new(|ctx, promise, reason, handled| {
            let _ = becket(&ctx).and_then(|becket| {
                let rejected: Function = becket.get("rejected")?;
                rejected.call::<_, ()>((promise, reason, handled))
            });
        })));
        let context = Context::full(&runtime).map_err(broken)?;
        let machine = Arc::new(Self {
            name: name.into(),
            context,
            clock,
            kit: Arc::clone(kit),
            timers: Mutex::default(),
            last_call: AtomicU64::new(0),
            stopped: Mutex::default(),
        });
        machine.boot()?;
        Ok(machine)
    }

    fn boot(self: &Arc<Self>) -> Result<(), Failure> {
        let code = self
            .kit
            .transformer
            .javascript(Path::new("bootstrap.ts"), BOOTSTRAP);
        let code = code.map_err(|error| Failure::new(Cause::Raised, error.to_string()))?;
        self.enter(self.kit.limits.timeout, |ctx| {
            ctx.globals().set("__native", self.natives(ctx)?)?;
            ctx.eval::<(), _>(code.as_bytes())?;
            ctx.globals().remove("__native")
        })
    }

    /// The functions of Rust that `bootstrap.ts` is made of.
    fn natives<'js>(self: &Arc<Self>, ctx: &Ctx<'js>) -> Result<Object<'js>, Error> {
        let natives = Object::new(ctx.clone())?;
        let host = Arc::downgrade(self);
        natives.set(
            "call",
            Function::new(ctx.clone(), move |name: String, arguments: String| {
                match host
                    .upgrade()
                    .map(|machine| machine.kit.host.call(&machine.name, &name, &arguments))
                {
                    Some(Ok(answer)) => List((true, answer)),
                    Some(Err(error)) => List((false, error_text(error))),
                    None => List((false, error_text(HostError::new("the extension has ended")))),
                }
            })?,
        )?;
        let host = Arc::downgrade(self);
        natives.set(
            "callAsync",
            Function::new(ctx.clone(), move |name: String, arguments: String| {
                host.upgrade()
                    .map_or(0, |machine| machine.begin_call(&name, arguments))
            })?,
        )?;
        let host = Arc::downgrade(self);
        natives.set(
            "timer",
            Function::new(ctx.clone(), move |id: u64, milliseconds: f64| {
                if let Some(machine) = host.upgrade() {
                    machine.start_timer(id, milliseconds);
                }
            })?,
        )?;
        let host = Arc::downgrade(self);
        natives.set(
            "clearTimer",
            Function::new(ctx.clone(), move |id: u64| {
                let timer = host.upgrade().and_then(|machine| machine.timers().remove(&id));
                timer.inspect(AbortHandle::abort);
            })?,
        )?;
        let host = Arc::downgrade(self);
        natives.set(
            "print",
            Function::new(ctx.clone(), move |error: bool, text: String| {
                if let Some(machine) = host.upgrade() {
                    machine
                        .kit
                        .reporter
                        .report(&machine.name, Report::Console { error, text });
                }
            })?,
        )?;
        Ok(natives)
    }

    fn begin_call(self: &Arc<Self>, name: &str, arguments: String) -> u64 {
        let id = self.last_call.fetch_add(1, Ordering::Relaxed) + 1;
        let answer = self.kit.host.call_async(&self.name, name, arguments);
        let machine = Arc::downgrade(self);
        tokio::spawn(async move {
            let (answered, text) = match answer.await {
                Ok(text) => (true, text),
                Err(error) => (false, error_text(error)),
            };
            unattended(&machine, |ctx| {
                let settle: Function = becket(ctx)?.get("settle")?;
                settle.call::<_, ()>((id, answered, text))
            });
        });
        id
    }

    fn start_timer(self: &Arc<Self>, id: u64, milliseconds: f64) {
        let machine = Arc::downgrade(self);
        let pause = Duration::from_millis(milliseconds.max(1.0) as u64);
        let task = tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let ring = |ctx: &Ctx<'_>| becket(ctx)?.get::<_, Function>("ring")?.call((id,));
                // A timer that has thrown is not over if it is one that comes again.
                if unattended(&machine, ring) == Some(false) || machine.strong_count() == 0 {
                    break;
                }
            }
        });
        if let Some(before) = self.timers().insert(id, task.abort_handle()) {
            before.abort();
        }
    }

    /// Runs code and everything that follows from it at once. What it leaves floating is reported.
    pub(crate) fn enter<T>(
        &self,
        timeout: Duration,
        work: impl FnOnce(&Ctx<'_>) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        if let Some(failure) = self.stopped().clone() {
            return Err(failure);
        }
        self.context.with(|ctx| {
            self.clock.start(timeout);
            let result = work(&ctx).catch(&ctx).map_err(|error| self.failure(error));
            self.run_jobs(&ctx);
            self.report_floating(&ctx);
            result
        })
    }

    /// Runs everything that waits for nothing but its turn.
    fn run_jobs(&self, ctx: &Ctx<'_>) {
        while ctx.execute_pending_job() {
            if self.clock.is_over() {
                let words = format!(
                    "it was stopped: its promises went on for more than {:?}",
                    self.kit.limits.timeout
                );
                *self.stopped() = Some(Failure::new(Cause::TimedOut, words));
                return;
            }
        }
    }

    fn report_floating(&self, ctx: &Ctx<'_>) {
        let reasons = becket(ctx).and_then(|becket| {
            becket
                .get::<_, Function>("takeFloating")?
                .call::<_, Vec<Value>>(())
        });
        for reason in reasons.unwrap_or_default() {
            let text = format!(
                "a promise was rejected and nobody caught it: {}",
                described(&reason)
            );
            self.kit.reporter.report(&self.name, Report::Failed { text });
        }
    }

    /// Calls a function of the extension and waits for its promise, if it gives one.
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        timeout: Duration,
        start: impl for<'js> FnOnce(&Ctx<'js>) -> Result<Value<'js>, Error>,
        read: fn(Value<'_>) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let began = Instant::now();
        match self.begin(timeout, start, read)? {
            Begun::Done(result) => result,
            Begun::Waiting(answer) => {
                match tokio::time::timeout(timeout.saturating_sub(began.elapsed()), answer).await {
                    Ok(Ok(result)) => result,
                    // The engine has thrown the promise away, and what waited for it.
                    Ok(Err(_)) => Err(Failure::new(
                        Cause::TimedOut,
                        "it will never answer: nothing is left that could resolve its promise",
                    )),
                    Err(_) => Err(timed_out(timeout)),
                }
            }
        }
    }

    fn begin<T: Send + 'static>(
        self: &Arc<Self>,
        timeout: Duration,
        start: impl for<'js> FnOnce(&Ctx<'js>) -> Result<Value<'js>, Error>,
        read: fn(Value<'_>) -> Result<T, Error>,
    ) -> Result<Begun<T>, Failure> {
        if let Some(failure) = self.stopped().clone() {
            return Err(failure);
        }
        self.context.with(|ctx| {
            self.clock.start(timeout);
            let value = match start(&ctx).catch(&ctx) {
                Ok(value) => value,
                Err(error) => {
                    let failure = self.failure(error);
                    self.run_jobs(&ctx);
                    return Ok(Begun::Done(Err(failure)));
                }
            };
            let Some(promise) = value.as_promise().cloned() else {
                let result = read(value).catch(&ctx).map_err(|error| self.failure(error));
                self.run_jobs(&ctx);
                self.report_floating(&ctx);
                return Ok(Begun::Done(result));
            };
            self.run_jobs(&ctx);
            let begun = match promise.state() {
                PromiseState::Pending => Begun::Waiting(self.watch(&ctx, &promise, read)?),
                _ => Begun::Done(self.settled(&ctx, &promise, read)),
            };
            self.report_floating(&ctx);
            Ok(begun)
        })
    }

    fn settled<'js, T>(
        &self,
        ctx: &Ctx<'js>,
        promise: &Promise<'js>,
        read: fn(Value<'_>) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let Some(result) = promise.result::<Value>() else {
            return Err(Failure::new(Cause::Raised, "a promise without a result"));
        };
        // Whoever waits for it has seen it now.
        let _ = becket(ctx).and_then(|becket| {
            becket
                .get::<_, Function>("rejected")?
                .call::<_, ()>((promise.clone(), (), true))
        });
        result
            .and_then(read)
            .catch(ctx)
            .map_err(|error| self.failure(error))
    }

    fn watch<'js, T: Send + 'static>(
        self: &Arc<Self>,
        ctx: &Ctx<'js>,
        promise: &Promise<'js>,
        read: fn(Value<'_>) -> Result<T, Error>,
    ) -> Result<oneshot::Receiver<Result<T, Failure>>, Failure> {
        let (sender, receiver) = oneshot::channel();
        let sender = Arc::new(Mutex::new(Some(sender)));
        let (machine, resolved) = (Arc::downgrade(self), Arc::clone(&sender));
        let resolve = Function::new(ctx.clone(), move |ctx: Ctx<'js>, value: Value<'js>| {
            let Some(machine) = machine.upgrade() else { return };
            let result = read(value).catch(&ctx).map_err(|error| machine.failure(error));
            send(&resolved, result);
        });
        let machine = Arc::downgrade(self);
        let reject = Function::new(ctx.clone(), move |reason: Value<'js>| {
            let Some(machine) = machine.upgrade() else { return };
            send(&sender, Err(machine.failure(CaughtError::Value(reason))));
        });
        let attach = || {
            promise
                .then()?
                .call::<_, ()>((This(promise.clone()), resolve?, reject?))
        };
        attach().catch(ctx).map_err(|error| self.failure(error))?;
        Ok(receiver)
    }

    /// What an error of the engine means.
    fn failure(&self, error: CaughtError<'_>) -> Failure {
        if self.clock.expired.load(Ordering::Relaxed) {
            return timed_out(self.kit.limits.timeout);
        }
        let detail = match error {
            CaughtError::Exception(exception) => described(exception.as_object().as_value()),
            CaughtError::Value(value) => described(&value),
            CaughtError::Error(error) => error.to_string(),
        };
        Failure::new(Cause::Raised, detail)
    }

    fn timers(&self) -> MutexGuard<'_, HashMap<u64, AbortHandle>> {
        self.timers
            .lock()
            .expect("no panic happens while timers are held")
    }

    fn stopped(&self) -> MutexGuard<'_, Option<Failure>> {
        self.stopped.lock().expect("no panic happens while this is held")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.timers().drain().for_each(|(_, timer)| timer.abort());
    }
}

/// What was begun: done at once, or still on its way.
enum Begun<T> {
    Done(Result<T, Failure>),
    Waiting(oneshot::Receiver<Result<T, Failure>>),
}

/// Runs code that nobody waits for: a failure is reported, and kills nothing.
fn unattended<T>(machine: &Weak<Machine>, work: impl FnOnce(&Ctx<'_>) -> Result<T, Error>) -> Option<T> {
    let machine = machine.upgrade()?;
    match machine.enter(machine.kit.limits.timeout, work) {
        Ok(value) => Some(value),
        Err(failure) => {
            let text = failure.to_string();
            machine
                .kit
                .reporter
                .report(&machine.name, Report::Failed { text });
            None
        }
    }
}

/// The object that `bootstrap.ts` leaves behind.
pub(crate) fn becket<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>, Error> {
    ctx.globals().get(BECKET)
}

fn send<T>(sender: &Mutex<Option<oneshot::Sender<T>>>, value: T) {
    let sender = sender.lock().expect("no panic happens while this is held").take();
    if let Some(sender) = sender {
        let _ = sender.send(value);
    }
}

fn timed_out(timeout: Duration) -> Failure {
    Failure::new(
        Cause::TimedOut,
        format!("no answer within {} s", timeout.as_secs_f64()),
    )
}

/// A thrown value in words: an error with its message and place, or whatever it is.
fn described(value: &Value<'_>) -> String {
    let Some(object) = value.as_object() else {
        return text_of(value).unwrap_or_else(|| "something that cannot be shown".into());
    };
    let field = |name: &str| object.get::<_, Option<String>>(name).ok().flatten();
    match field("message") {
        Some(message) => {
            let place =
                field("stack").and_then(|stack| stack.lines().next().map(|line| line.trim().to_string()));
            match place {
                Some(place) if !place.is_empty() => format!("{message} ({place})"),
                _ => message,
            }
        }
        None => text_of(value).unwrap_or_else(|| "an object that cannot be shown".into()),
    }
}

fn text_of(value: &Value<'_>) -> Option<String> {
    rquickjs::Coerced::<String>::from_js(value.ctx(), value.clone())
        .ok()
        .map(|text| text.0)
}

fn error_text(error: HostError) -> String {
    let mut object: serde_json::Map<String, serde_json::Value> = error
        .properties
        .into_iter()
        .map(|(name, value)| (name.to_string(), value))
        .collect();
    object.insert("message".into(), error.message.into());
    serde_json::Value::Object(object).to_string()
}
