//! The one loop through which every event of every dialect goes.
//!
//! Handlers that may rewrite run one after another, and each sees the effect of the one before. The others run
//! beside each other, and their replies are folded in configured order. A deny or an answer ends the dispatch.
//! Handlers of a dialect whose own system starts its hooks together start together here as well, whatever they may do,
//! and so do neighbours that say that they rewrite nothing: each sees the payload as it was before all of them. If
//! several rewrite it, all but the first are asked again, one after another.
//! What runs is what was judged: if the payload changed after a guard had answered, the guard is asked once more.
//!
//! That second look also asks guards whose matcher fits only the rewritten payload. A further rewrite in it is ignored
//! if the handler has rewritten before, since it has already had its say. From any other handler it is a refusal: the
//! payload it wants is not the one that the others judged. Foreign hooks that are not guards are not asked again,
//! because they cannot refuse and their authors count on being called once for each event.
//!
//! A handler in shadow is asked and recorded as any other, but of its answer only what it adds for the model and the
//! user counts. So those after it are asked as if it were not there, and the record shows what each would have done.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use becket_events::{Class, Json, Scope, Verdict};
use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::Map;

use crate::clock::now_us;
use crate::occasion::{Setting, TextCache};
use crate::registered::Registered;
use crate::rehearsal::{Exchange, Fault, Notes};
use crate::trace::{Consequence, DispatchTrace, Effect, HandlerRun};
use crate::untyped::{AnyAction, AnyAnswer, AnyOccasion, AnyOutcome, AnyPayload, AnyReply, EventKind};
use crate::{Cause, Failure, HandlerInfo, LaneKind, ReportedFailure};

/// How many handlers run at the same time.
const SIDE_BY_SIDE: usize = 16;

/// How long after a handler's timeout the engine stops waiting; a lane normally ends by itself before.
const BACKSTOP: Duration = Duration::from_millis(1_000);

/// One event while its handlers are asked.
pub(crate) struct Dispatch<'a> {
    kind: EventKind,
    scope: &'a Scope,
    payload: &'a mut dyn AnyPayload,
    texts: TextCache,
    /// How often the payload was rewritten.
    version: u32,
    outcome: AnyOutcome,
    trace: Option<DispatchTrace>,
    tracing: Tracing,
    started: Instant,
    /// Whether this is a rehearsal, and with which fault.
    rehearsal: Option<Option<Fault>>,
    /// Whether all handlers are in shadow.
    in_shadow: bool,
}

/// How much of a dispatch is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tracing {
    /// Nothing is recorded.
    None,
    /// What handlers did, if there were any.
    Runs,
    /// What handlers did, and the event itself even without handlers.
    Event,
}

/// The longest event that is recorded without having been rewritten.
const LONGEST_EVENT: usize = 1024 * 1024;

/// The state of one handler of the event.
#[derive(Clone, Copy, Default)]
struct Standing {
    /// The version of the payload that the handler has judged or written itself.
    judged: Option<u32>,
    rewrote: bool,
    failed: bool,
}

/// One handler's answer, before it is folded into the outcome.
struct Answered {
    result: Result<Box<dyn AnyReply>, Failure>,
    input_hash: Option<String>,
    duration: Duration,
    exchanges: Vec<Exchange>,
    shadow: Option<Shadow>,
}

/// What a handler in shadow has answered.
struct Shadow {
    /// The whole answer, of which the result holds what counts.
    reply: Option<serde_json::Value>,
    /// What the rest would have done.
    effect: Option<Effect>,
}

impl<'a> Dispatch<'a> {
    pub(crate) fn new(
        kind: EventKind,
        scope: &'a Scope,
        payload: &'a mut dyn AnyPayload,
        tracing: Tracing,
    ) -> Self {
        let now_us = now_us();
        let trace = (tracing != Tracing::None).then(|| DispatchTrace {
            event: kind.id,
            session_id: scope.session_id.clone(),
            turn: scope.turn,
            time_ms: now_us / 1000,
            time_us: now_us,
            tool_call_id: tool_call_of(payload),
            duration_us: 0,
            runs: Vec::new(),
            original: None,
            effective: None,
            verdict: None,
        });
        Self {
            kind,
            scope,
            payload,
            texts: TextCache::default(),
            version: 0,
            outcome: AnyOutcome {
                reply: (kind.silence)(),
                failures: Vec::new(),
                deciders: Vec::new(),
            },
            trace,
            tracing,
            started: Instant::now(),
            rehearsal: None,
            in_shadow: false,
        }
    }

    /// Puts all handlers in shadow, if this is wanted.
    pub(crate) fn in_shadow(mut self, in_shadow: bool) -> Self {
        self.in_shadow = in_shadow;
        self
    }

    /// Turns this dispatch into a rehearsal.
    pub(crate) fn rehearsed(mut self, fault: Option<Fault>) -> Self {
        self.rehearsal = Some(fault);
        self
    }

    pub(crate) async fn run(mut self, handlers: &[Registered]) -> (AnyOutcome, Option<DispatchTrace>) {
        let handlers = not_done(handlers, self.scope);
        let handlers = &*handlers;
        if self.kind.is_sequential {
            let mut standings = vec![Standing::default(); handlers.len()];
            self.one_after_another(handlers, &mut standings).await;
            if self.kind.rewrites && self.kind.class == Class::Guard {
                self.second_look(handlers, &standings).await;
            }
        } else {
            self.side_by_side(handlers).await;
        }
        self.finish()
    }

    /// Asks no handler, and records which would be asked.
    pub(crate) fn held_back(mut self, handlers: &[Registered]) -> (AnyOutcome, Option<DispatchTrace>) {
        for handler in &*not_done(handlers, self.scope) {
            if handler.wants(self.scope, self.payload) {
                self.not_asked(handler);
            }
        }
        self.finish()
    }

    async fn one_after_another(&mut self, handlers: &[Registered], mut standings: &mut [Standing]) {
        let class = self.kind.class;
        for moment in handlers.chunk_by(|one, next| one.info.starts_with(&next.info, class)) {
            let (of_moment, rest) = standings.split_at_mut(moment.len());
            match (moment, &mut *of_moment) {
                ([handler], [standing]) => self.alone(handler, standing).await,
                _ => self.together(moment, of_moment).await,
            }
            standings = rest;
        }
    }

    async fn alone(&mut self, handler: &Registered, standing: &mut Standing) {
        if !handler.wants(self.scope, self.payload) {
            return;
        }
        if self.outcome.reply.ends_chain() {
            self.not_asked(handler);
            return;
        }
        let answered = self.call(handler).await;
        let before = self.version;
        standing.failed = answered.result.is_err();
        self.count(handler, answered);
        standing.rewrote = self.version > before;
        standing.judged = Some(self.version);
    }

    /// Asks neighbours that start together, some of them at a time.
    async fn together(&mut self, handlers: &[Registered], standings: &mut [Standing]) {
        let mut rest = handlers.iter().zip(standings);
        loop {
            let wanting = rest
                .by_ref()
                .filter(|(handler, _)| handler.wants(self.scope, self.payload));
            let group: Vec<_> = wanting.take(SIDE_BY_SIDE).collect();
            if group.is_empty() {
                return;
            }
            self.at_once(group).await;
        }
    }

    /// Asks handlers that may rewrite at the same time. Each has judged the payload as it was before, so guards among
    /// them get a second look if one of the others rewrote it.
    async fn at_once(&mut self, wanting: Vec<(&Registered, &mut Standing)>) {
        if self.outcome.reply.ends_chain() {
            wanting.iter().for_each(|(handler, _)| self.not_asked(handler));
            return;
        }
        let (before, shown) = (self.version, self.payload.copied());
        let answers = join_all(wanting.iter().map(|(handler, _)| self.call(handler))).await;
        let mut again = Vec::new();
        for ((handler, standing), mut answered) in wanting.into_iter().zip(answers) {
            standing.failed = answered.result.is_err();
            standing.judged = Some(before);
            let rewrites = |reply: &dyn AnyReply| reply.apply(&mut *shown.copied());
            let is_second = match &mut answered.result {
                Ok(reply) if !rewrites(&**reply) => {
                    // It wrote what it was shown, which must not undo what another wrote.
                    reply.drop_rewrites();
                    false
                }
                reply => reply.is_ok() && self.version > before,
            };
            if is_second {
                answered.result = answered.result.map(AnyReply::verdict_alone);
            }
            let version = self.version;
            self.count(handler, answered);
            match (is_second, self.version > version) {
                (true, _) => again.push((handler, standing)),
                (_, true) => (standing.rewrote, standing.judged) = (true, Some(self.version)),
                _ => {}
            }
        }
        for (handler, standing) in again {
            self.alone(handler, standing).await;
        }
    }

    async fn side_by_side(&mut self, handlers: &[Registered]) {
        let wanting: Vec<_> = handlers
            .iter()
            .filter(|handler| handler.wants(self.scope, self.payload))
            .collect();
        let moments = wanting.chunk_by(|one, next| one.info.same_moment(&next.info));
        for group in moments.flat_map(|moment| moment.chunks(SIDE_BY_SIDE)) {
            if self.outcome.reply.ends_chain() {
                group.iter().for_each(|handler| self.not_asked(handler));
                continue;
            }
            let answers = join_all(group.iter().map(|handler| self.call(handler))).await;
            for (handler, answered) in group.iter().zip(answers) {
                self.count(handler, answered);
            }
        }
    }

    /// Asks every guard once more that has not judged the payload as it is now, including those that did not want the
    /// event before it was rewritten.
    async fn second_look(&mut self, handlers: &[Registered], standings: &[Standing]) {
        let version = self.version;
        for (handler, standing) in handlers.iter().zip(standings) {
            let stale = standing.judged.is_none_or(|judged| judged < version);
            let concerned = stale && !standing.failed && handler.info.judges();
            if version == 0 || !concerned || self.outcome.reply.ends_chain() {
                continue;
            }
            if !handler.wants(self.scope, self.payload) {
                continue;
            }
            let mut answered = self.call(handler).await;
            answered.result = answered
                .result
                .map(|reply| self.second_reply(handler, standing, reply));
            self.count(handler, answered);
        }
    }

    /// The part of a reply to the second look that counts: the verdict alone, or everything but rewrites from a handler
    /// that is asked for the first time.
    fn second_reply(
        &self,
        handler: &Registered,
        standing: &Standing,
        mut reply: Box<dyn AnyReply>,
    ) -> Box<dyn AnyReply> {
        let changes = reply.apply(&mut *self.payload.copied());
        if standing.judged.is_some() {
            reply = reply.verdict_alone();
        } else {
            reply.drop_rewrites();
        }
        if changes && !standing.rewrote {
            let name = &handler.info.name;
            let refusal = format!("hook {name} wanted to change the call after others had judged it");
            reply = reply.then((self.kind.refuse)(refusal));
        }
        reply
    }

    async fn call(&self, handler: &Registered) -> Answered {
        let started = Instant::now();
        let notes = self.rehearsal.map(|_| Notes::default());
        let occasion = AnyOccasion {
            scope: self.scope,
            payload: self.payload,
            setting: Setting {
                texts: &self.texts,
                notes: notes.as_ref(),
                fault: self.rehearsal.flatten(),
            },
        };
        let result = match &handler.action {
            AnyAction::Native(function) => std::panic::catch_unwind(AssertUnwindSafe(|| function(&occasion)))
                .unwrap_or_else(|panic| Err(raised(&*panic))),
            AnyAction::Other(other) => {
                let answer = AssertUnwindSafe(other.call(&occasion)).catch_unwind();
                match tokio::time::timeout(timeout_of(&handler.info), answer).await {
                    Ok(Ok(result)) => result,
                    Ok(Err(panic)) => Err(raised(&*panic)),
                    Err(_) => Err(Failure::timed_out(handler.info.timeout)),
                }
            }
        };
        let needs_text = self.trace.is_some() && handler.info.lane != LaneKind::Native;
        let duration = started.elapsed();
        let input_hash = if needs_text { self.texts.hash() } else { None };
        let (result, shadow) = match self.in_shadow || handler.info.shadow {
            true => {
                let (result, shadow) = self.shadowed(handler, result);
                (result, Some(shadow))
            }
            false => (result, None),
        };
        Answered {
            result,
            input_hash,
            duration,
            exchanges: notes.map(Notes::taken).unwrap_or_default(),
            shadow,
        }
    }

    /// What counts of an answer that is given in shadow, and the rest.
    fn shadowed(&self, handler: &Registered, result: AnyAnswer) -> (AnyAnswer, Shadow) {
        let reply = match result {
            Ok(reply) => reply,
            Err(failure) => {
                let would_refuse = handler.info.class >= Class::Filter;
                let effect = would_refuse.then(|| Effect::Shadow {
                    would: Consequence::Deny,
                    reason: Some(refusal(&handler.info, &failure)),
                });
                return (Err(failure), Shadow { reply: None, effect });
            }
        };
        let json = reply.json();
        let would = match reply.verdict() {
            Some(Verdict::Deny(reason)) => Some((Consequence::Deny, Some(reason.clone()))),
            Some(Verdict::Ask(reason) | Verdict::Insist(reason)) => {
                Some((Consequence::Ask, Some(reason.clone())))
            }
            Some(Verdict::Allow) => Some((Consequence::Allow, None)),
            None => None,
        };
        let would = would.or_else(|| Some((Consequence::Halt, Some(reply.halt()?.to_owned()))));
        let rewrites = reply.apply(&mut *self.payload.copied());
        let would = would.or_else(|| rewrites.then_some((Consequence::Rewrite, None)));
        let additions = reply.additions();
        let would = would.or_else(|| (additions.json() != json).then_some((Consequence::Answer, None)));
        let shadow = Shadow {
            reply: Some(json),
            effect: would.map(|(would, reason)| Effect::Shadow { would, reason }),
        };
        (Ok(additions), shadow)
    }

    /// Folds one answer into the outcome and writes it into the trace.
    fn count(&mut self, handler: &Registered, answered: Answered) {
        let Answered {
            result,
            input_hash,
            duration,
            exchanges,
            shadow,
        } = answered;
        let traced = self.trace.is_some();
        let (mut reply_json, mut effect) = match result {
            Ok(reply) => {
                let json = traced.then(|| reply.json());
                self.note_decider(handler, reply.verdict());
                (json, self.take(reply))
            }
            Err(failure) => (None, self.take_failure(handler, failure, shadow.is_some())),
        };
        if let Some(shadow) = shadow {
            reply_json = shadow.reply;
            effect = shadow.effect.unwrap_or(effect);
        }
        // What is no hook of anybody's is worth a line only if it did something.
        let is_idle = effect == Effect::None && handler.info.is_of_the_program();
        if let Some(trace) = self.trace.as_mut().filter(|_| !is_idle) {
            let mut run = run_of(handler, effect);
            run.input_hash = input_hash;
            run.reply = reply_json;
            run.duration_us = duration.as_micros() as u64;
            run.exchanges = exchanges;
            trace.runs.push(run);
        }
    }

    /// Remembers which handlers gave the strictest verdict so far.
    fn note_decider(&mut self, handler: &Registered, verdict: Option<&Verdict>) {
        let strictness = verdict.map_or(0, Verdict::strictness);
        let so_far = self.outcome.reply.verdict().map_or(0, Verdict::strictness);
        if strictness > so_far {
            self.outcome.deciders.clear();
        }
        if strictness > 0 && strictness >= so_far {
            self.outcome.deciders.push(handler.info.name.clone());
        }
    }

    fn take(&mut self, reply: Box<dyn AnyReply>) -> Effect {
        let denied = matches!(reply.verdict(), Some(Verdict::Deny(_)));
        let is_first = self.kind.rewrites && self.trace.is_some() && self.version == 0;
        let before = is_first.then(|| self.payload.copied());
        let rewrote = reply.apply(self.payload);
        if rewrote {
            self.version += 1;
            self.texts = TextCache::default();
            if let (Some(trace), Some(before)) = (&mut self.trace, before) {
                trace.original = Json::parse(self.kind.envelope(self.scope, &*before)).ok();
            }
        }
        // Only the trace wants to know, and asking costs a serialisation.
        let said_nothing = self.trace.is_some() && reply.json().as_object().is_some_and(Map::is_empty);
        self.fold(reply);
        match (denied, rewrote, said_nothing) {
            (true, ..) => Effect::Denied,
            (_, true, _) => Effect::Rewrote,
            (.., true) => Effect::None,
            _ => Effect::Replied,
        }
    }

    /// Combines a reply with those before it.
    fn fold(&mut self, reply: Box<dyn AnyReply>) {
        let before = std::mem::replace(&mut self.outcome.reply, (self.kind.silence)());
        self.outcome.reply = before.then(reply);
    }

    /// Records a failure. A failed guard refuses, and the data that a failed filter was asked about does not pass.
    fn take_failure(&mut self, handler: &Registered, failure: Failure, in_shadow: bool) -> Effect {
        let refused = handler.info.class >= Class::Filter && !in_shadow;
        if refused {
            let refusal = (self.kind.refuse)(refusal(&handler.info, &failure));
            // Before the fold, which changes the verdict that the decider is compared with.
            self.note_decider(handler, refusal.verdict());
            self.fold(refusal);
        }
        self.outcome.failures.push(ReportedFailure {
            event: self.kind.id,
            handler: handler.info.as_ref().clone(),
            failure: failure.clone(),
            refused,
        });
        Effect::Failed { failure, refused }
    }

    fn not_asked(&mut self, handler: &Registered) {
        if let Some(trace) = &mut self.trace {
            trace.runs.push(run_of(handler, Effect::NotAsked));
        }
    }

    fn finish(mut self) -> (AnyOutcome, Option<DispatchTrace>) {
        let is_kept = self.tracing == Tracing::Event;
        let trace = self
            .trace
            .take()
            .filter(|trace| is_kept || !trace.runs.is_empty())
            .map(|mut trace| {
                trace.duration_us = self.started.elapsed().as_micros() as u64;
                trace.verdict = self.outcome.reply.verdict().cloned();
                let event = || self.kind.envelope(self.scope, self.payload);
                if trace.original.is_some() {
                    trace.effective = Json::parse(event()).ok();
                } else if is_kept || self.texts.is_short() || tells_of_shadow(&trace) {
                    let text = Some(event()).filter(|text| text.len() <= LONGEST_EVENT);
                    trace.original = text.and_then(|text| Json::parse(text).ok());
                }
                trace
            });
        (self.outcome, trace)
    }
}

/// The handlers that still want events.
fn not_done<'h>(handlers: &'h [Registered], scope: &Scope) -> Cow<'h, [Registered]> {
    let is_done = |handler: &Registered| handler.is_done(scope);
    match handlers.iter().any(is_done) {
        true => handlers
            .iter()
            .filter(|handler| !is_done(handler))
            .cloned()
            .collect(),
        false => handlers.into(),
    }
}

/// Why something does not happen when a handler has failed.
fn refusal(handler: &HandlerInfo, failure: &Failure) -> String {
    let name = &handler.name;
    match (&failure.refusal, handler.class) {
        (Some(reason), _) => reason.clone(),
        (None, Class::Guard) => format!("hook {name} could not decide: {failure}"),
        (None, _) => format!("withheld, because hook {name} failed: {failure}"),
    }
}

/// Whether a report will want to know what the event was about.
fn tells_of_shadow(trace: &DispatchTrace) -> bool {
    let effects = trace.runs.iter().map(|run| &run.effect);
    effects
        .into_iter()
        .any(|effect| matches!(effect, Effect::Shadow { .. }))
}

fn run_of(handler: &Registered, effect: Effect) -> HandlerRun {
    HandlerRun {
        handler: handler.info.name.clone(),
        source: handler.info.source.clone(),
        dialect: handler.info.dialect,
        known_as: handler.info.known_as,
        lane: handler.info.lane,
        class: handler.info.class,
        input_hash: None,
        reply: None,
        effect,
        duration_us: 0,
        exchanges: Vec::new(),
    }
}

/// The id of the tool call that an event is about, for the trace.
fn tool_call_of(payload: &dyn AnyPayload) -> Option<String> {
    match payload.field("tool_call_id") {
        Some(serde_json::Value::String(id)) => Some(id),
        _ => None,
    }
}

fn raised(panic: &(dyn std::any::Any + Send)) -> Failure {
    let words = panic.downcast_ref::<&str>().map(ToString::to_string);
    let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
    Failure::new(
        Cause::Raised,
        words.unwrap_or_else(|| "a panic without words".into()),
    )
}

/// How long the engine waits for a handler. Only a script's own engine can keep its deadline, because the clock stops
/// while the user answers a dialog.
fn timeout_of(info: &HandlerInfo) -> Duration {
    match info.lane {
        LaneKind::Javascript | LaneKind::Scheme => Duration::MAX,
        LaneKind::Native | LaneKind::Command | LaneKind::Worker => info.timeout + BACKSTOP,
    }
}

#[cfg(test)]
mod tests;
