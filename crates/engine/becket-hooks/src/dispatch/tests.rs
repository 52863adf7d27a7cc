//! The rules of the loop: order, rewriting, refusing, the second look, and what a failing handler means.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becket_events::{
    Answer, Append, Class, Event, EventId, Handled, HookFailed, Output, OutputPayload, OutputReply,
    PermissionRequest, PermissionRequestPayload, PreFileRead, PreFileReadPayload, PreFileReadReply, PreTool,
    PreToolPayload, PreToolReply, Reply, Rewrite, Scope, Settled, SettledPayload, Strictest, UserInput,
    UserInputPayload, UserInputReply, Verdict, envelope,
};
use futures_util::future::BoxFuture;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::*;

/// Collects everything that the engine reports.
#[derive(Default)]
struct Notebook {
    traces: Mutex<Vec<DispatchTrace>>,
    failures: Mutex<Vec<String>>,
}

impl Witness for Notebook {
    fn dispatched(&self, trace: DispatchTrace) {
        self.traces.lock().unwrap().push(trace);
    }

    fn failed(&self, failure: &ReportedFailure) {
        self.failures.lock().unwrap().push(failure.to_string());
    }
}

fn engine() -> (Engine, Arc<Notebook>) {
    let notebook = Arc::new(Notebook::default());
    (Engine::new(Some(notebook.clone())), notebook)
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn shell(command: &str) -> PreToolPayload {
    PreToolPayload {
        tool_source: "builtin".into(),
        tool_call_id: "c1".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: None,
        arguments: object(json!({"command": command})),
        parent_tool_call_id: None,
    }
}

fn command_of(occasion: &Occasion<'_, PreTool>) -> String {
    occasion.payload.arguments["command"].as_str().unwrap().into()
}

/// A dialect with this place in the order.
const fn named(order: u8) -> Dialect {
    Dialect {
        order,
        name: "other",
        side_by_side: false,
    }
}

fn rewrite(command: &str) -> PreToolReply {
    PreToolReply {
        arguments: Rewrite(Some(object(json!({"command": command})))),
        ..Default::default()
    }
}

fn deny(reason: &str) -> PreToolReply {
    PreToolReply {
        verdict: Verdict::Deny(reason.into()).into(),
        ..Default::default()
    }
}

async fn ask(engine: &Engine, command: &str) -> Outcome<PreTool> {
    engine
        .dispatch::<PreTool>(&Scope::default(), || shell(command))
        .await
}

/// A handler that answers after a delay.
struct Slow<E: Event> {
    delay: Duration,
    result: Result<E::Reply, Failure>,
}

impl<E: Event> Handler<E> for Slow<E> {
    fn call<'a>(&'a self, _: &'a Occasion<'a, E>) -> BoxFuture<'a, Result<E::Reply, Failure>> {
        Box::pin(async {
            tokio::time::sleep(self.delay).await;
            self.result.clone()
        })
    }
}

fn register<E: Event>(
    engine: &Engine,
    name: &str,
    class: Class,
    priority: i32,
    action: Action<E>,
) -> HandlerKey {
    let info = HandlerInfo {
        priority,
        timeout: Duration::from_secs(5),
        ..HandlerInfo::native(name, class)
    };
    engine.register(Registration {
        info,
        order: Vec::new(),
        matcher: Matcher::default(),
        condition: None,
        action,
    })
}

#[tokio::test]
async fn nobody_listens_and_the_payload_is_not_built() {
    let (engine, _) = engine();
    let outcome = engine
        .dispatch::<PreTool>(&Scope::default(), || unreachable!("nobody listens"))
        .await;
    assert!(outcome.verdict().is_none());
    let key = engine.on::<PreTool>("x", |_| Ok(deny("no")));
    assert_eq!(ask(&engine, "ls").await.denied(), Some("no"));
    engine.remove(key);
    assert!(!engine.listens(EventId::PreTool));
}

#[tokio::test]
async fn rewriters_compose_and_each_sees_the_one_before() {
    let (engine, notebook) = engine();
    for suffix in ["-l", "-h"] {
        engine.on::<PreTool>(suffix, move |occasion| {
            let command = command_of(occasion);
            Ok(if command.contains(suffix) {
                PreToolReply::default()
            } else {
                rewrite(&format!("{command} {suffix}"))
            })
        });
    }
    let outcome = ask(&engine, "ls").await;
    assert_eq!(outcome.reply.arguments.0.unwrap()["command"], "ls -l -h");
    let traces = notebook.traces.lock().unwrap();
    let (original, effective) = (&traces[0].original, &traces[0].effective);
    assert_eq!(
        original.as_ref().unwrap().to_value()["arguments"]["command"],
        "ls"
    );
    assert_eq!(
        effective.as_ref().unwrap().to_value()["arguments"]["command"],
        "ls -l -h"
    );
}

#[tokio::test]
async fn what_was_told_in_few_words_is_kept_although_nobody_changed_it() {
    let (engine, notebook) = engine();
    guard(&engine, "reads", false, |occasion| {
        occasion.json();
        Ok(PreToolReply::default())
    });
    ask(&engine, "ls").await;
    ask(&engine, &"x".repeat(20_000)).await;
    let traces = notebook.traces.lock().unwrap();
    let kept = |index: usize| traces[index].original.as_ref().map(|json| json.to_value());
    assert_eq!(kept(0).unwrap()["arguments"]["command"], "ls");
    assert_eq!(kept(1), None, "it is long");
    assert!(traces.iter().all(|trace| trace.effective.is_none()));
}

#[tokio::test]
async fn a_part_of_the_program_that_says_nothing_is_not_recorded_as_a_hook() {
    let (engine, notebook) = engine();
    engine.on::<PreTool>("listens", |_| Ok(PreToolReply::default()));
    ask(&engine, "ls").await;
    assert!(notebook.traces.lock().unwrap().is_empty());
    guard(&engine, "a hook", false, |_| Ok(PreToolReply::default()));
    engine.on::<PreTool>("refuses", |_| Ok(deny("no")));
    ask(&engine, "ls").await;
    let traces = notebook.traces.lock().unwrap();
    let names: Vec<_> = traces[0].runs.iter().map(|run| run.handler.as_str()).collect();
    assert_eq!(names, ["a hook", "refuses"]);
}

#[tokio::test]
async fn a_deny_ends_the_dispatch_and_the_rest_is_recorded_as_not_asked() {
    let (engine, notebook) = engine();
    engine.on::<PreTool>("first", |_| Ok(deny("one")));
    engine.on::<PreTool>("second", |_| unreachable!("must not be asked"));
    assert_eq!(ask(&engine, "ls").await.denied(), Some("one"));
    let traces = notebook.traces.lock().unwrap();
    let effects: Vec<_> = traces[0].runs.iter().map(|run| run.effect.clone()).collect();
    assert_eq!(effects, [Effect::Denied, Effect::NotAsked]);
}

/// Registers a guard that is in shadow, or not.
fn guard(
    engine: &Engine,
    name: &str,
    shadow: bool,
    function: impl Fn(&Occasion<'_, PreTool>) -> Result<PreToolReply, Failure> + Send + Sync + 'static,
) {
    engine.register(Registration {
        info: HandlerInfo {
            shadow,
            source: "hooks.toml".into(),
            ..HandlerInfo::native(name, Class::Guard)
        },
        order: Vec::new(),
        matcher: Matcher::default(),
        condition: None,
        action: Action::Native(Arc::new(function)),
    });
}

fn would(would: Consequence, reason: &str) -> Effect {
    Effect::Shadow {
        would,
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
    }
}

#[tokio::test]
async fn a_handler_in_shadow_is_recorded_and_counts_for_nothing_but_what_it_adds() {
    let (engine, notebook) = engine();
    guard(&engine, "denies", true, |_| Ok(deny("no")));
    guard(&engine, "fails", true, |_| {
        Err(Failure::new(Cause::Raised, "broken"))
    });
    guard(&engine, "rewrites", true, |_| Ok(rewrite("other")));
    guard(&engine, "allows", true, |_| {
        let verdict = Verdict::Allow.into();
        Ok(PreToolReply {
            verdict,
            ..Default::default()
        })
    });
    guard(&engine, "ends", true, |_| {
        Ok(PreToolReply::halting("enough".into()))
    });
    guard(&engine, "adds", true, |_| {
        let context = Append(vec!["a hint".into()]);
        Ok(PreToolReply {
            context,
            ..Default::default()
        })
    });
    guard(&engine, "sees", false, |occasion| {
        assert_eq!(command_of(occasion), "ls");
        Ok(PreToolReply::default())
    });
    let outcome = ask(&engine, "ls").await;
    assert_eq!(outcome.verdict(), None);
    assert!(outcome.deciders.is_empty());
    assert_eq!((outcome.reply.arguments.0, outcome.reply.halt.0), (None, None));
    assert_eq!(outcome.reply.context.0, ["a hint"]);
    let failures: Vec<_> = outcome.failures.iter().map(|failure| failure.refused).collect();
    assert_eq!(failures, [false]);
    let traces = notebook.traces.lock().unwrap();
    assert_eq!(traces[0].verdict, None);
    let original = traces[0].original.as_ref().unwrap().to_value();
    assert_eq!(original["arguments"]["command"], "ls");
    let effects: Vec<_> = traces[0].runs.iter().map(|run| run.effect.clone()).collect();
    let expected = [
        would(Consequence::Deny, "no"),
        would(
            Consequence::Deny,
            "hook fails could not decide: raised an error: broken",
        ),
        would(Consequence::Rewrite, ""),
        would(Consequence::Allow, ""),
        would(Consequence::Halt, "enough"),
        Effect::Replied,
        Effect::None,
    ];
    assert_eq!(effects, expected);
    assert_eq!(traces[0].runs[0].reply.as_ref().unwrap()["verdict"]["deny"], "no");
}

#[tokio::test]
async fn rules_of_a_handler_in_shadow_do_not_count() {
    let (engine, _) = engine();
    engine.on::<PermissionRequest>("gives a rule", |_| {
        let text = r#"{"rules": [{"decision": "allow", "rule": "shell"}]}"#;
        Ok(serde_json::from_str(text).unwrap())
    });
    let text = r#"{"tool_call_id": "", "tool_name": "", "called_as": "", "tool_source": "", "operation": null,
        "arguments": {}, "reason": null}"#;
    let payload: PermissionRequestPayload = serde_json::from_str(text).unwrap();
    let scope = Scope::default();
    let rules = async || {
        let outcome = engine.dispatch::<PermissionRequest>(&scope, || payload.clone());
        outcome.await.reply.rules.0.len()
    };
    assert_eq!(rules().await, 1);
    engine.put_in_shadow();
    assert_eq!(rules().await, 0);
}

#[tokio::test]
async fn an_engine_in_shadow_refuses_nothing() {
    let (engine, notebook) = engine();
    guard(&engine, "first", false, |_| Ok(deny("one")));
    guard(&engine, "second", false, |_| Ok(deny("two")));
    assert_eq!(ask(&engine, "ls").await.denied(), Some("one"));
    engine.put_in_shadow();
    assert_eq!(ask(&engine, "ls").await.verdict(), None);
    let traces = notebook.traces.lock().unwrap();
    let effects: Vec<_> = traces[1].runs.iter().map(|run| run.effect.clone()).collect();
    assert_eq!(
        effects,
        [would(Consequence::Deny, "one"), would(Consequence::Deny, "two")]
    );
}

#[tokio::test]
async fn a_guard_judges_once_more_what_was_rewritten_after_it() {
    let (engine, _) = engine();
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    engine.on::<PreTool>("guard", move |occasion| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(if command_of(occasion).contains("rm") {
            deny("no rm")
        } else {
            PreToolReply::default()
        })
    });
    engine.on::<PreTool>("rewriter", |_| Ok(rewrite("rm -rf /")));
    assert_eq!(ask(&engine, "ls").await.denied(), Some("no rm"));
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn of_a_second_look_only_the_verdict_counts() {
    let (engine, _) = engine();
    engine.on::<PreTool>("talker", |_| {
        Ok(PreToolReply {
            notice: Append(vec!["hello".into()]),
            ..Default::default()
        })
    });
    engine.on::<PreTool>("rewriter", |_| Ok(rewrite("ls -h")));
    assert_eq!(ask(&engine, "ls").await.reply.notice.0, ["hello"]);
}

#[tokio::test]
async fn a_guard_whose_matcher_fits_only_the_rewritten_call_is_asked() {
    let (engine, _) = engine();
    let matcher = Matcher::default().and(
        vec!["arguments".into(), "command".into()],
        Pattern::glob("rm *").unwrap(),
    );
    engine.register(Registration::<PreTool> {
        info: HandlerInfo::native("guard", Class::Guard),
        order: Vec::new(),
        matcher,
        condition: None,
        action: Action::Native(Arc::new(|_| Ok(deny("no rm")))),
    });
    engine.on::<PreTool>("rewriter", |_| Ok(rewrite("rm x")));
    assert_eq!(ask(&engine, "ls").await.denied(), Some("no rm"));
}

#[tokio::test]
async fn a_second_rewrite_is_ignored_from_a_rewriter_and_a_deny_from_a_mere_judge() {
    let (first, _) = engine();
    first.on::<PreTool>("a", |occasion| {
        Ok(rewrite(&format!("{} a", command_of(occasion))))
    });
    first.on::<PreTool>("b", |occasion| {
        Ok(rewrite(&format!("{} b", command_of(occasion))))
    });
    let outcome = ask(&first, "ls").await;
    assert_eq!(outcome.denied(), None);
    assert_eq!(outcome.reply.arguments.0.unwrap()["command"], "ls a b");

    let (second, _) = engine();
    second.on::<PreTool>("judge", |occasion| {
        Ok(if command_of(occasion) == "ls" {
            PreToolReply::default()
        } else {
            rewrite("something else")
        })
    });
    second.on::<PreTool>("rewriter", |_| Ok(rewrite("ls -h")));
    let outcome = ask(&second, "ls").await;
    assert!(
        outcome
            .denied()
            .unwrap()
            .contains("hook judge wanted to change the call"),
        "{:?}",
        outcome.denied()
    );
}

#[tokio::test]
async fn a_foreign_hook_that_only_changes_is_asked_once_and_refuses_nothing() {
    let (engine, _) = engine();
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    // The changer would change what the rewriter after it makes of the call.
    let changer = move |occasion: &Occasion<'_, PreTool>| {
        count.fetch_add(1, Ordering::SeqCst);
        let wants = command_of(occasion) == "ls -h";
        Ok(if wants {
            rewrite("ls -x")
        } else {
            PreToolReply::default()
        })
    };
    let register = |dialect, info, action| {
        engine.register(Registration::<PreTool> {
            info: HandlerInfo { dialect, ..info },
            order: Vec::new(),
            matcher: Matcher::default(),
            condition: None,
            action,
        })
    };
    let (transform, guard) = (Class::Transform, Class::Guard);
    let changer = Action::Native(Arc::new(changer));
    let rewriter = Action::Native(Arc::new(|_: &Occasion<'_, PreTool>| Ok(rewrite("ls -h"))));
    register(named(1), HandlerInfo::native("changer", transform), changer);
    register(named(2), HandlerInfo::native("rewriter", guard), rewriter);
    let outcome = ask(&engine, "ls").await;
    assert_eq!(outcome.denied(), None);
    let arguments = outcome.reply.arguments.0.unwrap();
    assert_eq!(arguments["command"], "ls -h");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_a_broken_handler_means_is_its_class() {
    let failure = || Failure::new(Cause::TimedOut, "too slow");
    for (class, refused) in [
        (Class::Guard, true),
        (Class::Transform, false),
        (Class::Observe, false),
    ] {
        let (engine, notebook) = engine();
        let failed = Arc::new(Mutex::new(None));
        let seen = failed.clone();
        engine.on::<HookFailed>("watcher", move |occasion| {
            *seen.lock().unwrap() = Some((occasion.payload.handler.clone(), occasion.payload.refused));
            Ok(Default::default())
        });
        register::<PreTool>(
            &engine,
            "broken",
            class,
            0,
            Action::Native(Arc::new(move |_| Err(failure()))),
        );
        let outcome = ask(&engine, "ls").await;
        assert_eq!(outcome.denied().is_some(), refused, "{class:?}");
        assert_eq!(outcome.failures.len(), 1);
        assert_eq!(*failed.lock().unwrap(), Some(("broken".into(), refused)));
        assert_eq!(notebook.failures.lock().unwrap().len(), 1, "told once");
        if refused {
            assert_eq!(
                outcome.denied(),
                Some("hook broken could not decide: timed out: too slow")
            );
        }
    }
}

#[tokio::test]
async fn a_handler_of_hook_failed_that_breaks_is_only_reported() {
    let (engine, notebook) = engine();
    engine.on::<HookFailed>("watcher", |_| panic!("me too"));
    engine.on::<PreTool>("broken", |_| panic!("boom"));
    assert!(ask(&engine, "ls").await.denied().unwrap().contains("boom"));
    let failures = notebook.failures.lock().unwrap();
    assert_eq!(failures.len(), 2);
    assert!(failures[1].contains("me too"), "{failures:?}");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_answers_is_given_up() {
    let (engine, _) = engine();
    let slow = Slow {
        delay: Duration::from_secs(3600),
        result: Ok(PreToolReply::default()),
    };
    register::<PreTool>(&engine, "slow", Class::Guard, 0, Action::Other(Arc::new(slow)));
    let outcome = ask(&engine, "ls").await;
    assert_eq!(outcome.failures[0].failure.cause, Cause::TimedOut);
    assert!(outcome.denied().is_some());
}

/// A handler of a system that starts its hooks together. It notes the commands that it is shown.
struct Together {
    name: &'static str,
    shown: Arc<Mutex<Vec<String>>>,
    answer: fn(&str) -> PreToolReply,
}

impl Handler<PreTool> for Together {
    fn call<'a>(
        &'a self,
        occasion: &'a Occasion<'a, PreTool>,
    ) -> BoxFuture<'a, Result<PreToolReply, Failure>> {
        Box::pin(async {
            let command = command_of(occasion);
            self.shown
                .lock()
                .unwrap()
                .push(format!("{} {command}", self.name));
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok((self.answer)(&command))
        })
    }
}

/// A handler's name, and its answer to a command.
type Answers = (&'static str, fn(&str) -> PreToolReply);

/// What such handlers are shown, and the outcome.
async fn asked_together(answers: &[Answers]) -> (Vec<String>, Outcome<PreTool>, Duration) {
    let dialect = Dialect {
        side_by_side: true,
        ..named(1)
    };
    let of_dialect = |name: &'static str| HandlerInfo {
        dialect,
        ..HandlerInfo::native(name, Class::Guard)
    };
    asked_as(of_dialect, answers).await
}

/// What handlers with these descriptions are shown, and the outcome.
async fn asked_as(
    described: impl Fn(&'static str) -> HandlerInfo,
    answers: &[Answers],
) -> (Vec<String>, Outcome<PreTool>, Duration) {
    let (engine, _) = engine();
    let (shown, started) = (Arc::default(), tokio::time::Instant::now());
    for &(name, answer) in answers {
        let info = described(name);
        let handler = Together {
            name,
            shown: Arc::clone(&shown),
            answer,
        };
        engine.register(Registration::<PreTool>::new(info, Arc::new(handler)));
    }
    let outcome = ask(&engine, "ls").await;
    let shown = shown.lock().unwrap().clone();
    (shown, outcome, started.elapsed())
}

fn command_in(outcome: &Outcome<PreTool>) -> Option<&str> {
    outcome.reply.arguments.0.as_ref()?["command"].as_str()
}

#[tokio::test(start_paused = true)]
async fn hooks_that_their_system_starts_together_start_together() {
    let silent = |_: &str| PreToolReply::default();
    let (shown, outcome, took) = asked_together(&[("a", silent), ("b", silent), ("c", silent)]).await;
    assert_eq!(shown, ["a ls", "b ls", "c ls"]);
    assert!(outcome.verdict().is_none() && took < Duration::from_millis(150));
}

#[tokio::test(start_paused = true)]
async fn if_one_of_those_rewrote_the_others_judge_what_it_wrote() {
    let guard = |command: &str| match command {
        "ls -l" => deny("not so long"),
        _ => PreToolReply::default(),
    };
    // It answers with what it was shown, which does not undo what the others wrote.
    let echo = |command: &str| rewrite(command);
    let (shown, outcome, _) =
        asked_together(&[("guard", guard), ("writer", |_| rewrite("ls -l")), ("echo", echo)]).await;
    assert_eq!(shown[..4], ["guard ls", "writer ls", "echo ls", "guard ls -l"]);
    assert_eq!(outcome.denied(), Some("not so long"));
    let (_, outcome, _) = asked_together(&[("writer", |_| rewrite("ls -l")), ("echo", echo)]).await;
    assert_eq!(command_in(&outcome), Some("ls -l"));
}

#[tokio::test(start_paused = true)]
async fn if_several_of_those_rewrote_they_are_asked_one_after_another() {
    let add = |command: &str| rewrite(&format!("{command} -l"));
    let ask_too = |command: &str| PreToolReply {
        verdict: Verdict::Ask("sure?".into()).into(),
        ..rewrite(&format!("{command} -a"))
    };
    let (shown, outcome, _) = asked_together(&[("one", add), ("two", ask_too)]).await;
    assert_eq!(shown[..3], ["one ls", "two ls", "two ls -l"]);
    assert_eq!(command_in(&outcome), Some("ls -l -a"));
    assert!(matches!(outcome.verdict(), Some(Verdict::Ask(_))));
}

/// A guard of becket's own. Those whose names end in `+` may rewrite.
fn own_guard(name: &'static str) -> HandlerInfo {
    HandlerInfo {
        rewrites: name.ends_with('+'),
        ..HandlerInfo::native(name, Class::Guard)
    }
}

#[tokio::test(start_paused = true)]
async fn neighbours_that_rewrite_nothing_start_together_and_fold_in_configured_order() {
    let refuse_a = |_: &str| deny("a says no");
    let refuse_c = |_: &str| deny("c says no");
    let silent = |_: &str| PreToolReply::default();
    let (shown, outcome, took) =
        asked_as(own_guard, &[("a", refuse_a), ("b", silent), ("c", refuse_c)]).await;
    assert_eq!(shown, ["a ls", "b ls", "c ls"]);
    assert_eq!(outcome.denied(), Some("a says no\nc says no"));
    assert!(took < Duration::from_millis(150), "{took:?}");
    // One that may rewrite stands between them, so that the last waits for it.
    let (shown, _, took) = asked_as(own_guard, &[("a", silent), ("b+", silent), ("c", silent)]).await;
    assert_eq!(shown, ["a ls", "b+ ls", "c ls"]);
    assert!(took >= Duration::from_millis(300), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_rewritten_after_neighbours_or_by_one_of_them_is_judged_by_all() {
    let guard = |command: &str| match command {
        "ls -l" => deny("not so long"),
        _ => PreToolReply::default(),
    };
    let writer = |_: &str| rewrite("ls -l");
    let silent = |_: &str| PreToolReply::default();
    let (shown, outcome, _) = asked_as(own_guard, &[("guard", guard), ("b", silent), ("c+", writer)]).await;
    assert_eq!(shown[..4], ["guard ls", "b ls", "c+ ls", "guard ls -l"]);
    assert_eq!(outcome.denied(), Some("not so long"));
    // It has said that it rewrites nothing, and does.
    let (shown, outcome, _) = asked_as(own_guard, &[("guard", guard), ("liar", writer)]).await;
    assert_eq!(shown[..3], ["guard ls", "liar ls", "guard ls -l"]);
    assert_eq!(outcome.denied(), Some("not so long"));
}

#[tokio::test(start_paused = true)]
async fn handlers_beside_each_other_fold_in_configured_order() {
    let (engine, _) = engine();
    let started = tokio::time::Instant::now();
    for (index, delay) in [300, 100, 200].into_iter().enumerate() {
        let reply = PreFileReadReply {
            verdict: Strictest(Some(Verdict::Deny(format!("reason {index}")))),
            notice: Append(vec![format!("notice {index}")]),
            ..PreFileReadReply::default()
        };
        let slow = Slow {
            delay: Duration::from_millis(delay),
            result: Ok(reply),
        };
        register::<PreFileRead>(&engine, "slow", Class::Guard, 0, Action::Other(Arc::new(slow)));
    }
    let payload = || PreFileReadPayload {
        tool_call_id: "c1".into(),
        tool_name: "read".into(),
        called_as: "read".into(),
        path: "/x".into(),
        inside: true,
    };
    let outcome = engine.dispatch::<PreFileRead>(&Scope::default(), payload).await;
    assert_eq!(outcome.denied(), Some("reason 0\nreason 1\nreason 2"));
    assert_eq!(outcome.reply.notice.0, ["notice 0", "notice 1", "notice 2"]);
    assert!(
        started.elapsed() < Duration::from_millis(550),
        "they ran beside each other"
    );
}

#[tokio::test]
async fn an_answer_settles_the_matter() {
    let (engine, _) = engine();
    let handled = UserInputReply {
        handled: Answer(Some(Handled { message: None })),
        ..Default::default()
    };
    engine.on::<UserInput>("first", move |_| Ok(handled.clone()));
    engine.on::<UserInput>("second", |_| unreachable!("must not be asked"));
    let payload = || UserInputPayload {
        text: "x".into(),
        images: Vec::new(),
        source: becket_events::InputSource::Interactive,
    };
    let outcome = engine.dispatch::<UserInput>(&Scope::default(), payload).await;
    assert!(outcome.reply.handled.0.is_some());
    assert!(outcome.failures.is_empty());
}

#[tokio::test]
async fn a_class_stronger_than_the_events_is_cut_down() {
    let (engine, _) = engine();
    register::<Settled>(
        &engine,
        "x",
        Class::Guard,
        0,
        Action::Native(Arc::new(|_| Ok(Default::default()))),
    );
    assert_eq!(engine.handlers_of(EventId::Settled)[0].class, Class::Observe);
    let payload = || SettledPayload {
        reason: becket_events::EndReason::Done,
    };
    assert!(
        engine
            .dispatch::<Settled>(&Scope::default(), payload)
            .await
            .failures
            .is_empty()
    );
}

#[tokio::test]
async fn watchers_do_not_see_a_text_that_was_refused() {
    let (engine, _) = engine();
    engine.on::<Output>("words", |occasion| {
        let text = &occasion.payload.text;
        let refusal = text.contains("secret").then(|| Verdict::Deny("a secret".into()));
        Ok(OutputReply {
            verdict: Strictest(refusal),
            text: Rewrite(Some(text.replace("draft", "word"))),
            ..OutputReply::default()
        })
    });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = seen.clone();
    engine.watch(Arc::new(move |_, text| {
        list.lock().unwrap().push(text.to_string())
    }));
    for text in ["a secret", "a draft"] {
        let payload = || OutputPayload { text: text.into() };
        engine.dispatch::<Output>(&Scope::default(), payload).await;
    }
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 1, "{seen:?}");
    let json: Value = serde_json::from_str(&seen[0]).unwrap();
    assert_eq!(json["text"], "a word");
}

#[tokio::test]
async fn watchers_see_every_event_as_json() {
    let (engine, _) = engine();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = seen.clone();
    engine.watch(Arc::new(move |event, text| {
        list.lock().unwrap().push((event, text.to_string()))
    }));
    ask(&engine, "ls").await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].0, EventId::PreTool);
    let json: Value = serde_json::from_str(&seen[0].1).unwrap();
    assert_eq!(
        (&json["event"], &json["tool_name"], &json["turn"]),
        (&json!("pre_tool"), &json!("shell"), &json!(0))
    );
}

proptest! {
    /// Priority first, then the dialect, then the dialect's own order, then the order of registration.
    #[test]
    fn the_order_is_total_and_known(handlers in proptest::collection::vec((-2i32..3, 0usize..4, 0u8..3), 0..12)) {
        const DIALECTS: [Dialect; 4] = [Dialect::BECKET, named(1), named(2), named(3)];
        let engine = Engine::new(None);
        for (index, (priority, dialect, place)) in handlers.iter().enumerate() {
            let info = HandlerInfo {
                priority: *priority,
                dialect: DIALECTS[*dialect],
                ..HandlerInfo::native(&index.to_string(), Class::Guard)
            };
            let action = Action::Native(Arc::new(|_: &Occasion<'_, PreTool>| Ok(PreToolReply::default())));
            let order = vec![place.to_string()];
            engine.register(Registration { info, order, matcher: Matcher::default(), condition: None, action });
        }
        let mut expected: Vec<_> = handlers.iter().enumerate().map(|(index, (p, d, o))| (-p, *d, *o, index)).collect();
        expected.sort();
        let names: Vec<_> = engine.handlers_of(EventId::PreTool).iter().map(|info| info.name.clone()).collect();
        prop_assert_eq!(names, expected.iter().map(|(.., index)| index.to_string()).collect::<Vec<_>>());
    }

    /// However handlers rewrite and refuse: what a guard allows in the end is what the outcome holds.
    #[test]
    fn what_runs_is_what_was_judged(kinds in proptest::collection::vec(0u8..4, 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let engine = Engine::new(None);
        let judged = Arc::new(Mutex::new(Vec::<Option<String>>::new()));
        for (index, kind) in kinds.iter().copied().enumerate() {
            judged.lock().unwrap().push(None);
            let judged = judged.clone();
            engine.on::<PreTool>(&index.to_string(), move |occasion| {
                let command = command_of(occasion);
                judged.lock().unwrap()[index] = Some(command.clone());
                Ok(match kind {
                    0 if !command.contains(&index.to_string()) => rewrite(&format!("{command} {index}")),
                    1 if command.len() > 6 => deny("too long"),
                    _ => PreToolReply::default(),
                })
            });
        }
        let outcome = runtime.block_on(ask(&engine, "ls"));
        if outcome.denied().is_none() {
            let last = outcome.reply.arguments.0.map_or("ls".to_string(), |arguments| arguments["command"].as_str().unwrap().into());
            for (index, kind) in kinds.iter().enumerate() {
                if *kind != 0 {
                    let seen = judged.lock().unwrap()[index].clone();
                    prop_assert_eq!(seen.as_deref(), Some(last.as_str()));
                }
            }
        }
    }
}

/// A handler that allows, and counts how often it was asked.
struct Yes(Arc<AtomicU32>);

impl Lane for Yes {
    fn kind(&self) -> LaneKind {
        LaneKind::Command
    }

    fn run<'a>(&'a self, _: Invocation) -> BoxFuture<'a, Result<Finished, Failure>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let finished = Finished {
            stdout: br#"{"verdict":"allow"}"#.to_vec(),
            stderr: "a warning".into(),
            code: 0,
            complete: true,
        };
        Box::pin(async { Ok(finished) })
    }
}

fn behind_a_lane(engine: &Engine) -> Arc<AtomicU32> {
    let asked = Arc::<AtomicU32>::default();
    let handler = RowHandler::<PreTool> {
        lane: Arc::new(Yes(Arc::clone(&asked))),
        row: own_row(),
        timeout: Duration::from_secs(5),
    };
    register(engine, "lane", Class::Guard, 0, Action::Other(Arc::new(handler)));
    asked
}

#[tokio::test]
async fn a_rehearsal_shows_what_goes_to_and_fro_and_plays_faults() {
    let (engine, notebook) = engine();
    let asked = behind_a_lane(&engine);
    let event = envelope::<PreTool>(&Scope::default(), &shell("ls"));
    let event = ReadEvent::read(EventId::PreTool, &event).unwrap();
    let rehearsed = engine.rehearse(&event, Rehearsal::default()).await;
    assert_eq!(rehearsed.verdict, Some(Verdict::Allow));
    let exchange = rehearsed.trace.unwrap().runs[0].exchanges[0].clone();
    assert!(exchange.input.contains(r#""event":"pre_tool""#), "{exchange:?}");
    assert_eq!(exchange.output.as_deref(), Some(r#"{"verdict":"allow"}"#));
    assert_eq!(
        (exchange.exit_code, exchange.stderr.as_str()),
        (Some(0), "a warning")
    );
    for fault in Fault::all() {
        let rehearsal = Rehearsal {
            fault: Some(fault),
            ..Rehearsal::default()
        };
        let rehearsed = engine.rehearse(&event, rehearsal).await;
        assert!(matches!(rehearsed.verdict, Some(Verdict::Deny(_))), "{fault:?}");
        assert_eq!(rehearsed.failures.len(), 1, "{fault:?}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1, "a fault asks nobody");
    assert!(
        notebook.traces.lock().unwrap().is_empty(),
        "nobody hears of a rehearsal"
    );
    assert!(notebook.failures.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_engine_that_is_held_back_asks_nobody_and_says_who_would_be() {
    let (engine, notebook) = engine();
    let asked = behind_a_lane(&engine);
    engine.hold_back();
    assert_eq!(ask(&engine, "ls").await.verdict(), None);
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    let traces = notebook.traces.lock().unwrap();
    assert_eq!(
        (traces[0].runs.len(), &traces[0].runs[0].effect),
        (1, &Effect::NotAsked)
    );
}
