//! The Rust functions under `bootstrap.ts`, and the tasks behind the asynchronous ones.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rquickjs::prelude::List;
use rquickjs::{Ctx, Error, Exception, Function, Object, Value};
use tokio::task::AbortHandle;

use crate::entries::{Entry, entry};
use crate::errors;
use crate::host::{HostError, Report};
use crate::machine::{Machine, unattended};

const CONSOLE: &str = include_str!("js/console.ts");

/// How many timers, and how many calls of the host, one extension may have at a time.
const MOST_TASKS: usize = 20_000;

/// The object that `bootstrap.ts` is given.
pub(crate) fn natives<'js>(machine: &Arc<Machine>, ctx: &Ctx<'js>) -> Result<Object<'js>, Error> {
    let natives = Object::new(ctx.clone())?;
    let host = Arc::downgrade(machine);
    let call = move |name: String, arguments: String| {
        let arguments = errors::well_formed(arguments);
        let answer = host.upgrade().map(|machine| answer(&machine, &name, &arguments));
        match answer {
            Some(Ok(answer)) => List((true, answer)),
            Some(Err(error)) => List((false, error.into_json())),
            None => List((false, HostError::new("the extension has ended").into_json())),
        }
    };
    natives.set("call", Function::new(ctx.clone(), call)?)?;
    let host = Arc::downgrade(machine);
    let call_async = move |ctx: Ctx<'js>, name: String, arguments: String| {
        let machine = alive(&ctx, &host)?;
        begin_call(&machine, &name, errors::well_formed(arguments))
            .ok_or_else(|| too_many(&ctx, "calls that wait for an answer"))
    };
    natives.set("callAsync", Function::new(ctx.clone(), call_async)?)?;
    let host = Arc::downgrade(machine);
    let timer = move |ctx: Ctx<'js>, id: u64, milliseconds: f64| {
        let machine = alive(&ctx, &host)?;
        start_timer(&machine, id, milliseconds).ok_or_else(|| too_many(&ctx, "timers"))
    };
    natives.set("timer", Function::new(ctx.clone(), timer)?)?;
    let host = Arc::downgrade(machine);
    let clear_timer = move |id: u64| {
        let timer = host
            .upgrade()
            .and_then(|machine| machine.tasks.timers().remove(&id));
        timer.inspect(AbortHandle::abort);
    };
    natives.set("clearTimer", Function::new(ctx.clone(), clear_timer)?)?;
    let host = Arc::downgrade(machine);
    let print = move |error: bool, text: String| {
        if let Some(machine) = host.upgrade() {
            let report = Report::Console { error, text };
            machine.kit.reporter.report(&machine.name, report);
        }
    };
    natives.set("print", Function::new(ctx.clone(), print)?)?;
    let host = Arc::downgrade(machine);
    let placed = move |frames: String| {
        let frames = frames.trim_end().to_owned();
        match host.upgrade() {
            Some(machine) => machine.kit.transformer.with_original_places(frames),
            None => frames,
        }
    };
    natives.set("placed", Function::new(ctx.clone(), placed)?)?;
    let host = Arc::downgrade(machine);
    let described = move |ctx: Ctx<'js>, thrown: Value<'js>| {
        let machine = alive(&ctx, &host)?;
        Ok::<_, Error>(errors::described(&ctx, &thrown, machine.kit.limits.memory))
    };
    natives.set("described", Function::new(ctx.clone(), described)?)?;
    let host = Arc::downgrade(machine);
    let console = move |ctx: Ctx<'js>| alive(&ctx, &host)?.shared_function(&ctx, "console", CONSOLE);
    natives.set("console", Function::new(ctx.clone(), console)?)?;
    Ok(natives)
}

fn alive(ctx: &Ctx<'_>, machine: &Weak<Machine>) -> Result<Arc<Machine>, Error> {
    machine
        .upgrade()
        .ok_or_else(|| Exception::throw_message(ctx, "the extension has ended"))
}

fn too_many(ctx: &Ctx<'_>, what: &str) -> Error {
    Exception::throw_range(
        ctx,
        &format!("there are {MOST_TASKS} {what} already, and no more can be had at a time"),
    )
}

/// Answers a synchronous request: Node's functions here, the others by the host.
fn answer(machine: &Machine, name: &str, arguments: &str) -> Result<String, HostError> {
    // Meanwhile it is not the engine that takes the time.
    machine.clock.rest();
    let answer = machine.node.call(name, arguments);
    let answer = answer.unwrap_or_else(|| machine.kit.host.call(&machine.name, name, arguments));
    machine.clock.resume();
    answer
}

/// Begins an asynchronous host call; `None` if there are too many.
fn begin_call(machine: &Arc<Machine>, name: &str, arguments: String) -> Option<u64> {
    if machine.tasks.calls.load(Ordering::Relaxed) >= MOST_TASKS {
        return None;
    }
    machine.tasks.calls.fetch_add(1, Ordering::Relaxed);
    let id = machine.tasks.last_call.fetch_add(1, Ordering::Relaxed) + 1;
    let answer = match machine.node.call_async(name, &arguments) {
        Some(answer) => answer,
        None => machine.kit.host.call_async(&machine.name, name, arguments),
    };
    let machine = Arc::downgrade(machine);
    tokio::spawn(async move {
        let (answered, text) = match answer.await {
            Ok(text) => (true, text),
            Err(error) => (false, error.into_json()),
        };
        if let Some(machine) = machine.upgrade() {
            machine.tasks.calls.fetch_sub(1, Ordering::Relaxed);
        }
        unattended(&machine, |ctx| {
            entry(ctx, Entry::Settle)?.call::<_, ()>((id, answered, text))
        });
    });
    Some(id)
}

/// Starts a timer, in place of the one with the same number; `None` if there are too many.
fn start_timer(machine: &Arc<Machine>, id: u64, milliseconds: f64) -> Option<()> {
    let mut timers = machine.tasks.timers();
    if timers.len() >= MOST_TASKS && !timers.contains_key(&id) {
        return None;
    }
    let pause = Duration::from_millis(milliseconds.max(1.0) as u64);
    let task = tokio::spawn(ring(Arc::downgrade(machine), id, pause));
    if let Some(before) = timers.insert(id, task.abort_handle()) {
        before.abort();
    }
    Some(())
}

async fn ring(machine: Weak<Machine>, id: u64, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        // An interval that has thrown goes on.
        let again = unattended(&machine, |ctx| entry(ctx, Entry::Ring)?.call((id,)));
        if again == Some(false) || machine.strong_count() == 0 {
            break;
        }
    }
    if let Some(machine) = machine.upgrade() {
        let mut timers = machine.tasks.timers();
        // The timer's own function may have started it anew, as another task.
        if timers
            .get(&id)
            .is_some_and(|timer| Some(timer.id()) == tokio::task::try_id())
        {
            timers.remove(&id);
        }
    }
}
