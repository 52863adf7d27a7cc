//! Broken guards in the engine, at every event that guards: becket's own format, procedures of chibi, functions of pi.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use becket_chibi::{HostFacts, ScriptHook};
use becket_events::{Class, EVENTS, Event, EventId, Visitor};
use becket_hooks::{
    Answered, Cause, Engine, Failure, Field, Finished, HandlerInfo, Invocation, Lane, LaneKind, Registration,
    RowHandler, ScriptHandler, own_row,
};
use becket_pi::ExtensionOwner;
use futures_util::future::BoxFuture;

use crate::random::Random;
use crate::round::{Round, ensure};

const TIMEOUT: Duration = Duration::from_secs(60);

const CAUSES: &[Cause] = &[
    Cause::NotFound,
    Cause::NotExecutable,
    Cause::SpawnFailed,
    Cause::TimedOut,
    Cause::KilledBySignal,
    Cause::ExitStatus,
    Cause::UnreadableOutput,
    Cause::OutputTooLarge,
    Cause::WrongShape,
    Cause::Raised,
];

/// Answers that would say something if they were whole.
const ANSWERS: &[&str] = &[
    r#"{"verdict":"allow"}"#,
    r#"{"verdict":{"deny":"no"}}"#,
    r#"{"verdict":{"ask":"sure?"}}"#,
    r#"{"notice":["hello"]}"#,
];

/// Whole answers that are none.
const NONSENSE: &[&str] = &[
    "all is well",
    "{} {}",
    "[]",
    "7",
    "null",
    "\"allow\"",
    r#"{"verdict":7}"#,
    r#"{"verdikt":"allow"}"#,
    r#"{"verdict":"alow"}"#,
    r#"{"verdict":"allow","verdict":{"deny":"no"}}"#,
    r#"{"verdict":{"allow":true}}"#,
    "{\"verdict\":\"allow\"}\u{0}",
];

/// The same result again and again, in place of a program.
struct Broken(Result<Finished, Failure>);

impl Lane for Broken {
    fn kind(&self) -> LaneKind {
        LaneKind::Command
    }

    fn run<'a>(&'a self, _: Invocation) -> BoxFuture<'a, Result<Finished, Failure>> {
        Box::pin(std::future::ready(self.0.clone()))
    }
}

/// The same failure again and again, in place of a script.
struct Throws(Failure);

impl ScriptHandler for Throws {
    fn call<'a>(&'a self, _: Vec<Field>) -> BoxFuture<'a, Result<Answered, Failure>> {
        Box::pin(std::future::ready(Err(self.0.clone())))
    }
}

fn failure(random: &mut Random) -> Failure {
    Failure::new(*random.choose(CAUSES), "broken on purpose")
}

/// A result of a program that is no answer.
fn broken(random: &mut Random) -> Result<Finished, Failure> {
    let finished = |stdout: &[u8], code| Finished {
        stdout: stdout.to_vec(),
        stderr: String::new(),
        code,
        complete: true,
    };
    let whole = random.choose(ANSWERS).as_bytes();
    match random.below(5) {
        0 => Err(failure(random)),
        1 => Ok(finished(&whole[..1 + random.below(whole.len() - 1)], 0)),
        2 => Ok(finished(random.choose(NONSENSE).as_bytes(), 0)),
        3 => Ok(finished(
            whole,
            *random.choose(&[1, 3, 64, 126, 127, 128, 137, 255, -1]),
        )),
        _ => Ok(Finished {
            complete: false,
            ..finished(&whole[..random.below(whole.len() - 1)], 0)
        }),
    }
}

/// A handler that answers properly, and may allow.
fn sound(random: &mut Random) -> Finished {
    let stdout = *random.choose(&["", "{}", r#"{"verdict":"allow"}"#]);
    Finished {
        stdout: stdout.into(),
        stderr: String::new(),
        code: 0,
        complete: true,
    }
}

/// The payload of an event, as it was really sent.
fn golden(event: EventId) -> Result<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/events");
    let file = folder.join(format!("{}.json", event.info().name));
    std::fs::read_to_string(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))
}

/// Registers one of becket's own hooks with that result.
struct Own<'a> {
    engine: &'a Engine,
    result: Result<Finished, Failure>,
    priority: i32,
}

impl Visitor for Own<'_> {
    type Output = ();

    fn visit<E: Event>(self) {
        let handler = RowHandler::<E> {
            lane: Arc::new(Broken(self.result)),
            row: own_row(),
            timeout: TIMEOUT,
        };
        let info = HandlerInfo {
            priority: self.priority,
            ..HandlerInfo::native("campaign", E::CLASS)
        };
        self.engine
            .register(Registration::<E>::new(info, Arc::new(handler)));
    }
}

/// Whether the handlers of an event refuse.
struct Judged<'a> {
    engine: &'a Engine,
    text: &'a str,
}

impl<'a> Visitor for Judged<'a> {
    type Output = BoxFuture<'a, Result<bool, String>>;

    fn visit<E: Event>(self) -> Self::Output {
        Box::pin(async move {
            let scope = serde_json::from_str(self.text).map_err(|error| error.to_string())?;
            let payload = serde_json::from_str(self.text).map_err(|error| error.to_string())?;
            let outcome = self.engine.dispatch::<E>(&scope, || payload).await;
            Ok(outcome.denied().is_some())
        })
    }
}

pub fn round(round: &mut Round<'_>, answers: usize) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    let guards: Vec<EventId> = EVENTS
        .iter()
        .filter(|event| event.class == Class::Guard)
        .map(|event| event.id)
        .collect();
    let texts = guards
        .iter()
        .map(|event| golden(*event))
        .collect::<Result<Vec<_>, _>>()?;
    for _ in 0..answers {
        let place = round.random.below(guards.len());
        runtime.block_on(own(round, guards[place], &texts[place]))?;
        if round.random.once_in(8) {
            runtime.block_on(script(round))?;
        }
    }
    Ok(())
}

/// A broken hook of becket's own among sound ones.
async fn own(round: &mut Round<'_>, event: EventId, text: &str) -> Result<(), String> {
    let engine = Engine::new(None);
    let random = &mut round.random;
    for _ in 0..random.below(3) {
        let (result, priority) = (Ok(sound(random)), random.below(5) as i32);
        event.visit(Own {
            engine: &engine,
            result,
            priority,
        });
    }
    let result = broken(random);
    let words = format!("{result:?}");
    let priority = random.below(5) as i32;
    event.visit(Own {
        engine: &engine,
        result,
        priority,
    });
    let engine = &engine;
    let refused = event.visit(Judged { engine, text }).await?;
    ensure!(refused, "{} was not refused after {words}", event.info().name);
    round.count("guarded actions after a broken guard, in the engine", 1);
    Ok(())
}

/// A procedure or function that throws, of chibi or pi.
async fn script(round: &mut Round<'_>) -> Result<(), String> {
    let engine = Engine::new(None);
    let function = Arc::new(Throws(failure(&mut round.random)));
    let event = match round.random.once_in(2) {
        true => register_procedure(round, &engine, function),
        false => register_function(round, &engine, function),
    };
    let traced = engine.replay(event, &golden(event)?).await;
    let traced = traced.map_err(|error| format!("{}: {error}", event.info().name))?;
    // The recorded event may be one that the row leaves out.
    let Some(trace) = traced.filter(|trace| !trace.runs.is_empty()) else {
        return Ok(());
    };
    let refused = matches!(trace.verdict, Some(becket_events::Verdict::Deny(_)));
    ensure!(refused, "{} was not refused: {trace:?}", event.info().name);
    round.count("guarded actions after a script that throws, in the engine", 1);
    Ok(())
}

fn register_procedure(round: &mut Round<'_>, engine: &Engine, function: Arc<Throws>) -> EventId {
    let mut hooks = becket_chibi::hooks();
    hooks.retain(|hook| hook.class() == Class::Guard);
    let hook = round.random.choose(&hooks);
    let script = ScriptHook {
        file: "guard".into(),
        source: "guard:1".into(),
        function,
        timeout: TIMEOUT,
        hears: Arc::new(|_| true),
        lane: LaneKind::Scheme,
    };
    let host = HostFacts {
        chibi_home: "/nowhere".into(),
        project_root: "/nowhere".into(),
        hook_timeout: TIMEOUT,
        environment: Arc::default(),
        terminal: None,
        verbose: false,
    };
    hook.register_script(engine, script, &host);
    hook.event()
}

fn register_function(round: &mut Round<'_>, engine: &Engine, function: Arc<Throws>) -> EventId {
    let mut rows = becket_pi::rows();
    rows.retain(|row| row.class() == Class::Guard);
    let row = round.random.choose(&rows);
    let owner = ExtensionOwner {
        name: "guard".into(),
        source: "guard".into(),
        order: Vec::new(),
        timeout: TIMEOUT,
        lane: LaneKind::Javascript,
        priority: 0,
    };
    row.register(engine, function, &owner);
    row.event()
}
