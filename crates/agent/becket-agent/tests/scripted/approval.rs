//! Who decides whether a call runs: guards, rules, earlier answers, `--yes`, the user, or no one.

use std::sync::{Arc, Mutex};

use becket_agent::Rules;
use becket_agent::front::UserAnswer;
use becket_agent::stored_rule::RuleKeeper;
use becket_events::{
    Last, Merge, ModelContext, ModelContextReply, OperationKind, PermissionRequest, PermissionRequestReply,
    PreFileRead, PreFileReadReply, PreFileWrite, PreFileWriteReply, PreRequest, PreRequestReply, PreShell,
    PreShellReply, PreTool, PreToolReply, Rewrite, Strictest, UserPrompt, UserPromptReply, Verdict,
};
use becket_hooks::{Cause, Failure};
use serde_json::{Value, json};

use crate::stage::{Prop, Stage, Turn, answering, shell};

/// The circumstances of one shell call.
#[derive(Default, Clone)]
struct Case {
    yes: bool,
    deny: &'static [&'static str],
    allow: &'static [&'static str],
    ask: &'static [&'static str],
    guard: Option<Verdict>,
    permission: Option<Verdict>,
    person: Option<UserAnswer>,
}

/// Whether the call ran, and who decided.
async fn decide(case: Case) -> (bool, String) {
    let mut stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    let own = |rules: &[&str]| rules.iter().map(ToString::to_string).collect::<Vec<_>>();
    stage.settings.approval.rules = Rules::parse(&own(case.deny), &own(case.allow), &own(case.ask)).unwrap();
    stage.settings.approval.mode = answering(case.yes);
    stage.person.answers.lock().unwrap().extend(case.person);
    stage.engine.on::<PreTool>("guard", move |_| {
        Ok(PreToolReply {
            verdict: Strictest(case.guard.clone()),
            ..Default::default()
        })
    });
    stage.engine.on::<PermissionRequest>("permission", move |_| {
        Ok(PermissionRequestReply {
            verdict: Strictest(case.permission.clone()),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    let source = stage.events_named("approval_decided")[0]["source"]
        .as_str()
        .unwrap()
        .to_string();
    (!stage.runs().is_empty(), source)
}

#[tokio::test]
async fn arguments_of_a_permission_hook_are_judged_anew() {
    // The hook allows every call as `command`; a guard refuses `rm`.
    let run = async |command: fn(&str) -> String| {
        let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
        stage.engine.on::<PreTool>("guard", |occasion| {
            let refuses = occasion.payload.arguments["command"] == "rm";
            Ok(PreToolReply {
                verdict: Strictest(refuses.then(|| Verdict::Deny("no rm".into()))),
                ..Default::default()
            })
        });
        stage
            .engine
            .on::<PermissionRequest>("permission", move |occasion| {
                let mut arguments = occasion.payload.arguments.clone();
                let now = arguments["command"].as_str().unwrap_or_default();
                arguments["command"] = command(now).into();
                Ok(PermissionRequestReply {
                    verdict: Verdict::Allow.into(),
                    arguments: Last(Some(arguments)),
                    ..Default::default()
                })
            });
        stage.answer("go").await;
        stage.stored()[2].clone()
    };
    assert_eq!(run(|_| "ls -l".into()).await, "shell ran");
    assert!(run(|_| "rm".into()).await.contains("no rm"));
    let never_content = run(|now| format!("{now} -l")).await;
    assert!(
        never_content.contains("after others had judged it"),
        "{never_content}"
    );
}

// tidy: a table
#[tokio::test]
async fn the_order_of_approval() {
    let ask = || Some(Verdict::Ask("hm".into()));
    let insist = || Some(Verdict::Insist("really?".into()));
    let deny = || Some(Verdict::Deny("no".into()));
    let allow = Some(Verdict::Allow);
    let rule: &[&str] = &["shell"];
    let yes = Some(UserAnswer::Yes);
    let no = || Some(UserAnswer::No(None));
    let case = Case::default;
    let table = [
        (case(), false, "headless"),
        (Case { yes: true, ..case() }, true, "yes"),
        (
            Case {
                person: yes.clone(),
                ..case()
            },
            true,
            "person",
        ),
        (
            Case {
                person: no(),
                ..case()
            },
            false,
            "person",
        ),
        (
            Case {
                person: Some(UserAnswer::YesAgain),
                ..case()
            },
            true,
            "person_for_session",
        ),
        // Rules.
        (
            Case {
                allow: rule,
                ..case()
            },
            true,
            "allow_rule",
        ),
        (
            Case {
                allow: rule,
                deny: rule,
                ..case()
            },
            false,
            "deny_rule",
        ),
        (
            Case {
                yes: true,
                deny: rule,
                ..case()
            },
            false,
            "deny_rule",
        ),
        (
            Case {
                guard: allow.clone(),
                deny: rule,
                ..case()
            },
            false,
            "deny_rule",
        ),
        (Case { ask: rule, ..case() }, false, "headless"),
        (
            Case {
                ask: rule,
                yes: true,
                ..case()
            },
            true,
            "yes",
        ),
        // Guards.
        (
            Case {
                guard: deny(),
                yes: true,
                allow: rule,
                ..case()
            },
            false,
            "hook",
        ),
        (
            Case {
                guard: allow.clone(),
                ..case()
            },
            true,
            "hook",
        ),
        (
            Case {
                guard: ask(),
                allow: rule,
                ..case()
            },
            false,
            "headless",
        ),
        (
            Case {
                guard: ask(),
                yes: true,
                ..case()
            },
            true,
            "yes",
        ),
        (
            Case {
                guard: ask(),
                person: yes.clone(),
                ..case()
            },
            true,
            "person",
        ),
        (
            Case {
                guard: insist(),
                yes: true,
                allow: rule,
                ..case()
            },
            false,
            "headless",
        ),
        (
            Case {
                guard: insist(),
                yes: true,
                person: yes.clone(),
                ..case()
            },
            true,
            "person",
        ),
        (
            Case {
                guard: insist(),
                permission: allow.clone(),
                ..case()
            },
            false,
            "headless",
        ),
        // Hooks that answer in the user's place.
        (
            Case {
                permission: allow.clone(),
                ..case()
            },
            true,
            "request_hook",
        ),
        (
            Case {
                permission: deny(),
                yes: true,
                ..case()
            },
            false,
            "request_hook",
        ),
        (
            Case {
                permission: deny(),
                allow: rule,
                ..case()
            },
            true,
            "allow_rule",
        ),
        (
            Case {
                permission: insist(),
                yes: true,
                ..case()
            },
            false,
            "headless",
        ),
    ];
    for (index, (case, ran, source)) in table.into_iter().enumerate() {
        assert_eq!(decide(case).await, (ran, source.to_string()), "row {index}");
    }
}

/// Plays calls one after the other before a user with these answers, and says which were asked about.
async fn asked_about(calls: &[(&'static str, Value)], answers: Vec<UserAnswer>) -> (Stage, Vec<bool>) {
    let turns = calls.iter().map(|call| Turn::Call(vec![call.clone()]));
    let mut stage = Stage::new(turns.chain([Turn::Say("ok")]).collect());
    let own = Prop::new("shell", Some(OperationKind::Shell), &stage.runs).builtin();
    stage.tools[0] = Arc::new(own);
    stage.settings.approval.mode = answering(false);
    stage.settings.approval.keeper = Some(Arc::new(Keeper::default()));
    stage.person.answers.lock().unwrap().extend(answers);
    stage.answer("go").await;
    let decided = stage.events_named("approval_decided");
    let asked = decided
        .iter()
        .map(|event| event["source"] == "person" || event["source"] == "headless");
    let asked = asked.collect();
    (stage, asked)
}

#[derive(Debug, Default)]
struct Keeper(Mutex<Vec<String>>);

impl RuleKeeper for Keeper {
    fn place(&self) -> String {
        "a place".into()
    }

    fn keep(&self, rule: &str) -> Result<(), String> {
        self.0.lock().unwrap().push(rule.into());
        Ok(())
    }
}

#[tokio::test]
async fn a_yes_for_the_session_covers_the_same_call_or_the_same_file_and_no_tool() {
    let again = || vec![UserAnswer::YesAgain];
    let calls = [
        shell("a"),
        shell("a"),
        shell("b"),
        ("shell", json!({"command": "a", "cwd": "sub"})),
        ("shell", json!({"command": "a", "timeout_seconds": 9})),
        ("custom", json!({})),
    ];
    let (stage, asked) = asked_about(&calls, again()).await;
    assert_eq!(
        asked,
        [false, false, true, true, true, true],
        "{:?}",
        stage.runs()
    );
    assert_eq!(stage.runs().len(), 2);
    let write = |path: &str, content: &str| ("write", json!({"path": path, "content": content}));
    let calls = [
        write("f", "1"),
        write("f", "2"),
        write("./f", "3"),
        write("g", "1"),
        ("read", json!({"path": "/etc/hostname"})),
    ];
    let (_, asked) = asked_about(&calls, again()).await;
    assert_eq!(asked, [false, false, false, true, true]);
}

#[tokio::test]
async fn a_rule_that_was_offered_is_stored_and_counts_at_once() {
    let rule = |text: &str| UserAnswer::YesWithRule(text.into());
    let calls = [
        shell("cargo test a"),
        shell("cargo test b"),
        shell("cargo test; rm x"),
        shell("rm -rf x"),
    ];
    let (stage, asked) = asked_about(&calls, vec![rule("*"), rule("cargo …"), rule("cargo test …")]).await;
    assert_eq!(asked, [true, false, true, true]);
    assert_eq!(stage.runs().len(), 2, "{:?}", stage.runs());
    let questions = stage.person.questions.lock().unwrap();
    let offers: Vec<_> = questions
        .iter()
        .map(|question| question.offer.clone().unwrap().rule)
        .collect();
    let text = |place: usize| offers[place].as_ref().map(|rule| rule.text.as_str());
    assert_eq!(text(0), Some("shell:command=cargo test …"));
    assert_eq!(offers[0].as_ref().unwrap().trouble, None);
    assert!(
        offers[1]
            .as_ref()
            .unwrap()
            .trouble
            .as_ref()
            .unwrap()
            .contains("a shell would")
    );
    assert!(
        offers[2]
            .as_ref()
            .unwrap()
            .trouble
            .as_ref()
            .unwrap()
            .contains("runs other programs")
    );
    assert_eq!(text(3), None, "a compound command");
    assert_eq!(text(4), Some("shell:command=rm -rf x"), "this one and no other");
}

#[tokio::test]
async fn no_rule_is_stored_that_was_not_offered() {
    // A plugin's tool that replaces one of becket's own.
    let mut stage = Stage::new(vec![
        Turn::Call(vec![shell("cargo test a")]),
        Turn::Call(vec![shell("cargo test b")]),
        Turn::Say("ok"),
    ]);
    let keeper = Arc::new(Keeper::default());
    stage.settings.approval.mode = answering(false);
    stage.settings.approval.keeper = Some(keeper.clone());
    let answer = UserAnswer::YesWithRule("cargo test …".into());
    stage.person.answers.lock().unwrap().push_back(answer);
    stage.answer("go").await;
    assert_eq!(stage.runs().len(), 1, "a yes to the one call: {:?}", stage.runs());
    assert!(keeper.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn deny_rules_and_guards_stand_above_a_stored_rule_and_a_hook_that_asks_is_offered_none() {
    let mut stage = Stage::new(vec![
        Turn::Call(vec![shell("cargo test a")]),
        Turn::Call(vec![shell("cargo test secret")]),
        Turn::Call(vec![shell("cargo test guarded")]),
        Turn::Call(vec![shell("cargo test asks")]),
        Turn::Say("ok"),
    ]);
    stage.settings.approval.mode = answering(false);
    let deny = ["shell:command=*secret*".to_owned()];
    stage.settings.approval.rules = Rules::parse(&deny, &[], &[]).unwrap();
    stage
        .settings
        .approval
        .rules
        .store("shell:command=cargo test …")
        .unwrap();
    stage.settings.approval.keeper = Some(Arc::new(Keeper::default()));
    stage
        .person
        .answers
        .lock()
        .unwrap()
        .push_back(UserAnswer::YesWithRule("cargo test …".into()));
    stage.engine.on::<PreTool>("guard", |occasion| {
        let command = occasion.payload.arguments["command"].to_string();
        let verdict = match command {
            command if command.contains("guarded") => Some(Verdict::Deny("no".into())),
            command if command.contains("asks") => Some(Verdict::Ask("sure?".into())),
            _ => None,
        };
        Ok(PreToolReply {
            verdict: Strictest(verdict),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    let decided = stage.events_named("approval_decided");
    let sources: Vec<&str> = decided
        .iter()
        .map(|event| event["source"].as_str().unwrap())
        .collect();
    assert_eq!(sources, ["allow_rule", "deny_rule", "hook", "person"]);
    let questions = stage.person.questions.lock().unwrap();
    assert_eq!(questions.len(), 1);
    assert_eq!(questions[0].offer, None);
}

#[tokio::test]
async fn the_person_may_stop_everything() {
    let mut stage = Stage::new(vec![Turn::Call(vec![shell("a"), shell("b")])]);
    stage.settings.approval.mode = answering(false);
    stage.person.answers.lock().unwrap().push_back(UserAnswer::Cancel);
    assert_eq!(stage.play("go").await.ending, becket_agent::Ending::Cancelled);
    assert!(stage.runs().is_empty());
    assert_eq!(
        stage.stored()[3],
        "cancelled",
        "the second call was not asked about"
    );
}

#[tokio::test]
async fn the_question_shows_what_hooks_know() {
    let mut stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    stage.settings.approval.mode = answering(false);
    stage.engine.on::<PermissionRequest>("label", |_| {
        let metadata = json!({"risk": "low"}).as_object().unwrap().clone();
        Ok(PermissionRequestReply {
            metadata: Merge(metadata),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    let questions = stage.person.questions.lock().unwrap();
    assert_eq!(questions[0].metadata["risk"], "low");
    assert_eq!(questions[0].arguments["command"], "ls");
}

/// Whether a read or write of a path ran without a question.
async fn touches(tool: &'static str, path: &str) -> bool {
    let arguments = if tool == "write" {
        json!({"path": path, "content": ""})
    } else {
        json!({"path": path})
    };
    let mut stage = Stage::new(vec![Turn::Call(vec![(tool, arguments)]), Turn::Say("ok")]);
    stage.settings.approval.mode = answering(false);
    std::os::unix::fs::symlink("/etc", stage.folder.path().join("link")).unwrap();
    std::fs::write(stage.folder.path().join("file"), "").unwrap();
    stage.answer("go").await;
    !stage.runs().is_empty()
}

#[tokio::test]
async fn reading_is_free_inside_the_working_directory_only() {
    assert!(touches("read", "file").await);
    assert!(touches("read", "./x/../file").await);
    assert!(!touches("read", "/etc/hosts").await);
    assert!(!touches("read", "../outside").await);
    assert!(!touches("read", "link/hosts").await, "a link leads outside");
    assert!(!touches("write", "file").await, "writing is never free");
}

#[tokio::test]
async fn the_guards_of_files_and_shell_see_the_resolved_target() {
    let stage = Stage::new(vec![
        Turn::Call(vec![
            ("read", json!({"path": "link/hosts"})),
            ("write", json!({"path": "sub/../file", "content": "x"})),
            shell("ls"),
        ]),
        Turn::Say("ok"),
    ]);
    std::os::unix::fs::symlink("/etc", stage.folder.path().join("link")).unwrap();
    let refuse = |what: &str| Strictest(Some(Verdict::Deny(format!("not {what}"))));
    stage.engine.on::<PreFileRead>("r", move |occasion| {
        let verdict = if occasion.payload.inside {
            Strictest::default()
        } else {
            refuse(&occasion.payload.path)
        };
        Ok(PreFileReadReply {
            verdict,
            ..Default::default()
        })
    });
    stage.engine.on::<PreFileWrite>("w", move |occasion| {
        let inside = occasion.payload.inside && occasion.payload.path.ends_with("/file");
        Ok(PreFileWriteReply {
            verdict: if inside {
                refuse("there")
            } else {
                Strictest::default()
            },
            ..Default::default()
        })
    });
    stage.engine.on::<PreShell>("s", move |occasion| {
        Ok(PreShellReply {
            verdict: refuse(&occasion.payload.command),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert!(stage.runs().is_empty(), "{:?}", stage.runs());
    assert_eq!(
        stage.stored()[2..5],
        ["refused: not /etc/hosts", "refused: not there", "refused: not ls"]
    );
}

#[tokio::test]
async fn a_guard_that_breaks_refuses_also_under_yes() {
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    stage
        .engine
        .on::<PreShell>("broken", |_| Err(Failure::new(Cause::TimedOut, "")));
    stage.answer("go").await;
    assert!(stage.runs().is_empty());
    assert_eq!(
        stage.stored()[2],
        "refused: hook broken could not decide: timed out"
    );
    let failed: Vec<Value> = stage.events_named("hook_failed");
    assert_eq!(failed[0]["refused"], true);
}

#[tokio::test]
async fn a_hook_may_want_the_person_asked_about_prompts_and_requests_too() {
    let ask = || Strictest(Some(Verdict::Ask("hm".into())));
    let insist = || Strictest(Some(Verdict::Insist("really?".into())));
    // Whether --yes is given, what the hook says, what the user says, and whether the model was asked.
    let table = [
        (true, ask(), None, true),
        (false, ask(), None, false),
        (false, ask(), Some(UserAnswer::Yes), true),
        (true, insist(), None, false),
        (true, insist(), Some(UserAnswer::Yes), true),
        (true, insist(), Some(UserAnswer::No(None)), false),
    ];
    for (row, (yes, verdict, answer, asked)) in table.into_iter().enumerate() {
        for event in ["user_prompt", "model_context", "pre_request"] {
            let mut stage = Stage::new(vec![Turn::Say("ok")]);
            stage.settings.approval.mode = answering(yes);
            stage.person.answers.lock().unwrap().extend(answer.clone());
            let verdict = verdict.clone();
            match event {
                "user_prompt" => stage.engine.on::<UserPrompt>("wary", move |_| {
                    Ok(UserPromptReply {
                        verdict: verdict.clone(),
                        ..Default::default()
                    })
                }),
                "model_context" => stage.engine.on::<ModelContext>("wary", move |_| {
                    Ok(ModelContextReply {
                        verdict: verdict.clone(),
                        ..Default::default()
                    })
                }),
                _ => stage.engine.on::<PreRequest>("wary", move |_| {
                    Ok(PreRequestReply {
                        verdict: verdict.clone(),
                        ..Default::default()
                    })
                }),
            };
            stage.play("go").await;
            assert_eq!(
                !stage.model.requests.lock().unwrap().is_empty(),
                asked,
                "row {row}, {event}"
            );
        }
    }
}

#[tokio::test]
async fn the_hooks_that_decided_are_named() {
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    stage.engine.on::<PreTool>("lenient", |_| {
        Ok(PreToolReply {
            verdict: Verdict::Allow.into(),
            ..Default::default()
        })
    });
    stage.engine.on::<PreShell>("strict", |_| {
        Ok(PreShellReply {
            verdict: Verdict::Deny("no".into()).into(),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(
        stage.events_named("approval_decided")[0]["handlers"],
        json!(["strict"])
    );
    assert!(
        stage
            .person
            .seen
            .lock()
            .unwrap()
            .iter()
            .any(|update| update.contains(r#"handlers: ["strict"]"#))
    );
}

#[tokio::test]
async fn a_rewrite_under_another_name_does_not_slip_past_a_guard() {
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    stage.engine.on::<PreTool>("guard", |occasion| {
        let dangerous = occasion
            .payload
            .arguments
            .get("command")
            .is_some_and(|command| command == "rm");
        let verdict = if dangerous {
            Verdict::Deny("no rm".into()).into()
        } else {
            Strictest::default()
        };
        Ok(PreToolReply {
            verdict,
            ..Default::default()
        })
    });
    stage.engine.on::<PreTool>("rewriter", |_| {
        let arguments = json!({"cmd": "rm"}).as_object().unwrap().clone();
        Ok(PreToolReply {
            arguments: Rewrite(Some(arguments)),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert!(stage.runs().is_empty(), "{:?}", stage.runs());
    assert_eq!(stage.stored()[2], "refused: no rm");
}

#[tokio::test]
async fn a_yes_to_a_prompt_is_no_yes_to_tools() {
    let mut stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    stage.settings.approval.mode = answering(false);
    stage
        .person
        .answers
        .lock()
        .unwrap()
        .push_back(UserAnswer::YesAgain);
    stage.engine.on::<UserPrompt>("wary", |_| {
        Ok(UserPromptReply {
            verdict: Verdict::Ask("hm".into()).into(),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert!(stage.runs().is_empty());
}

#[tokio::test]
async fn what_was_allowed_does_not_run_after_a_cancel() {
    let mut stage = Stage::new(vec![Turn::Call(vec![
        ("custom", json!({})),
        ("custom", json!({"n": 2})),
    ])]);
    stage.settings.approval.mode = answering(false);
    stage
        .person
        .answers
        .lock()
        .unwrap()
        .extend([UserAnswer::Yes, UserAnswer::Cancel]);
    stage.play("go").await;
    assert!(stage.runs().is_empty(), "{:?}", stage.runs());
}
