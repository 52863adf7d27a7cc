//! Hooks of runs and contexts: beginning and end, switching, clearing, compacting.

use serde_json::json;

use super::{Chibi, Newer, Older, calls, has_fields, runs, says};

#[test]
fn on_start_and_on_end_frame_a_run_in_both_generations() {
    let leaks = [("CHIBI_TOOL_NAME", "leaked"), ("CHIBI_TOOL_ARGS", "{}")];
    let chibi = Chibi::with(&leaks);
    let hooks = ["on_start", "pre_message", "post_message", "on_end"];
    chibi.plugin(Newer, "newer", &hooks, "");
    chibi.plugin(Older, "older", &hooks, "");
    chibi.ask(&["hello"], &[says("hi")]).went_well();
    assert_eq!(
        chibi.order(),
        [
            "on_start",
            "on_start",
            "pre_message",
            "pre_message",
            "post_message",
            "post_message",
            "on_end",
            "on_end"
        ]
    );
    for seen in [chibi.seen_of("on_start"), chibi.seen_of("on_end")].concat() {
        let data = &seen.data;
        assert_eq!(data["chibi_home"], json!(chibi.home()), "{data:#}");
        assert_eq!(data["project_root"], json!(chibi.room.work()), "{data:#}");
        assert_eq!(data["current_context"], chibi.room.context());
        assert_eq!(data["verbose"], false);
        assert!(data["tool_count"].as_u64() > Some(5), "{data:#}");
        assert_eq!(seen.variables["CHIBI_HOOK"], seen.hook);
        assert_eq!(seen.variables["CHIBI_CONTEXT"], chibi.room.context());
        assert_eq!(seen.variables["CHIBI_HOME"], chibi.home().display().to_string());
        assert_eq!(
            seen.variables["CHIBI_PROJECT_ROOT"],
            chibi.room.work().display().to_string()
        );
        assert!(!seen.variables.contains_key("CHIBI_TOOL_NAME"), "{seen:#?}");
        assert!(!seen.variables.contains_key("CHIBI_TOOL_ARGS"), "{seen:#?}");
        assert!(seen.variables.contains_key("CHIBI_HOOK_DATA"), "{seen:#?}");
    }
}

#[test]
fn plugins_are_told_to_be_verbose_when_the_settings_say_so() {
    let chibi = Chibi::new();
    chibi.room.config("[chibi]\nverbose = true\n");
    chibi.plugin(Older, "older", &["on_start"], "");
    chibi
        .ask(&["hello"], &[calls("older", json!({})), says("hi")])
        .went_well();
    assert_eq!(chibi.only("on_start")["verbose"], true);
    assert_eq!(chibi.seen_of("tool")[0].variables["CHIBI_VERBOSE"], "1");
}

#[test]
fn on_end_comes_also_after_a_failed_request() {
    let chibi = Chibi::new();
    chibi.plugin(Newer, "watch", &["on_start", "post_message", "on_end"], "");
    chibi.server.push(testkit::Response::json(
        400,
        &json!({"error": {"message": "no such model"}}),
    ));
    let told = chibi.ask(&["hello"], &[]);
    assert_eq!(told.run.code, 3, "{told:#?}");
    assert_eq!(chibi.order(), ["on_start", "on_end"]);
}

#[test]
fn on_context_switch_tells_where_from_where_to_and_for_how_long() {
    let chibi = Chibi::new();
    let hooks = ["on_start", "on_context_switch", "pre_message"];
    chibi.plugin(Older, "watch", &hooks, "");
    let switched = |arguments: &[&str]| {
        chibi.forget();
        chibi.ask(arguments, &[says("hi")]).went_well();
        assert_eq!(chibi.order(), hooks, "{arguments:?}");
        let seen = chibi.only("on_context_switch");
        assert_eq!(seen["is_transient"], seen["is_ephemeral"], "{seen:#}");
        (
            seen["from_context"].clone(),
            seen["to_context"].clone(),
            seen["is_transient"].clone(),
        )
    };
    let here = chibi.room.context();
    let expected = |from: &str, to: &str, transient: bool| (json!(from), json!(to), json!(transient));
    assert_eq!(switched(&["-c", "work", "hello"]), expected(&here, "work", false));
    assert_eq!(
        switched(&["-C", "aside", "hello"]),
        expected("work", "aside", true)
    );
    assert_eq!(switched(&["-c", "-", "hello"]), expected("work", &here, false));
    assert_eq!(switched(&["-c", &here, "hello"]), expected(&here, &here, false));
    chibi.forget();
    chibi.ask(&["hello"], &[says("hi")]).went_well();
    assert_eq!(chibi.order(), ["on_start", "pre_message"]);
}

#[test]
fn the_context_of_a_run_is_told_to_every_plugin() {
    let chibi = Chibi::new();
    chibi.plugin(Newer, "watch", &["pre_message", "pre_tool"], "");
    chibi
        .ask(&["--yes", "-C", "work", "go"], &[runs("true"), says("done")])
        .went_well();
    for seen in chibi.seen() {
        assert_eq!(seen.variables["CHIBI_CONTEXT"], "work", "{seen:#?}");
    }
    assert_eq!(chibi.only("pre_message")["context_name"], "work");
}

#[test]
fn pre_clear_and_post_clear_frame_the_clearing_and_cannot_prevent_it() {
    let chibi = Chibi::new();
    let hooks = ["on_start", "pre_clear", "post_clear", "on_end"];
    for (generation, name) in [(Newer, "newer"), (Older, "older")] {
        chibi.plugin(
            generation,
            name,
            &hooks,
            "echo '{\"denied\":true}'; [[ $CHIBI_HOOK != pre_clear ]]",
        );
    }
    chibi.ask(&["the first word"], &[says("hi")]).went_well();
    chibi.forget();
    chibi.room.run(["context", "clear"]).ended_with(0);
    assert_eq!(chibi.order(), hooks.map(|hook| [hook; 2]).concat());
    for seen in [chibi.seen_of("pre_clear"), chibi.seen_of("post_clear")].concat() {
        let expected = json!({"context_name": chibi.room.context(), "message_count": 2, "summary": ""});
        for (field, value) in expected.as_object().expect("an object") {
            assert_eq!(&seen.data[field], value, "{field} of {seen:#?}");
        }
    }
    let told = chibi.ask(&["the second word"], &[says("hi")]).went_well();
    assert_eq!(told.texts(0, "user").len(), 1, "{told:#?}");
    assert!(!told.requests[0].to_string().contains("the first word"));
}

#[test]
fn pre_compact_and_post_compact_frame_a_full_compaction() {
    let chibi = Chibi::new();
    let hooks = ["pre_compact", "post_compact"];
    chibi.plugin(Newer, "newer", &hooks, "");
    chibi.plugin(Older, "older", &hooks, "echo nonsense; exit 1");
    for word in ["one", "two"] {
        chibi.ask(&[word], &[says("hi")]).went_well();
    }
    let told = chibi.ask(&["compact"], &[says("They counted to two.")]);
    told.went_well().asked(1).run.complained("older");
    assert_eq!(
        chibi.order(),
        ["pre_compact", "pre_compact", "post_compact", "post_compact"]
    );
    for seen in chibi.seen_of("pre_compact") {
        has_fields(&seen.data, &["context_name", "message_count", "summary"]);
        assert_eq!(seen.data["context_name"], chibi.room.context());
        assert_eq!(seen.data["message_count"], 4);
        assert_eq!(seen.data["summary"], "");
    }
    for seen in chibi.seen_of("post_compact") {
        assert_eq!(seen.data["context_name"], chibi.room.context());
        assert!(seen.data["message_count"].is_u64(), "{seen:#?}");
        assert_eq!(seen.data["summary"], "They counted to two.");
    }
    chibi.plugin(
        Newer,
        "watch",
        &["pre_message", "pre_system_prompt", "pre_clear"],
        "",
    );
    let told = chibi.ask(&["three"], &[says("hi")]).went_well();
    let request = told.requests[0].to_string();
    assert!(request.contains("They counted to two."), "{request}");
    chibi.room.run(["context", "clear"]).ended_with(0);
    for hook in ["pre_message", "pre_system_prompt", "pre_clear"] {
        assert_eq!(chibi.only(hook)["summary"], "They counted to two.", "{hook}");
    }
}

#[test]
fn rolling_compaction_tells_its_hooks_and_answers_the_prompt() {
    let chibi = Chibi::new();
    chibi
        .room
        .config("[compaction]\nauto = true\nat_percent = 50\ndrop_percent = 50\ncontext_window = 20000\n");
    let hooks = [
        "pre_rolling_compact",
        "post_rolling_compact",
        "pre_compact",
        "post_message",
    ];
    chibi.plugin(Newer, "newer", &hooks, "");
    chibi.plugin(Older, "older", &hooks, "echo '{\"block\":true}'; exit 1");
    for word in ["alpha", "beta", "gamma"] {
        chibi.ask(&[word], &[says("hi")]).went_well();
    }
    chibi
        .ask(&["delta"], &[json!({"text": "hi", "input_tokens": 15000})])
        .went_well();
    chibi.forget();
    let told = chibi
        .ask(&["epsilon"], &[says("Some letters."), says("the answer")])
        .went_well()
        .asked(2);
    assert!(told.run.stdout.contains("the answer"), "{told:#?}");
    assert_eq!(
        chibi.order(),
        [
            "pre_rolling_compact",
            "pre_rolling_compact",
            "post_rolling_compact",
            "post_rolling_compact",
            "post_message",
            "post_message"
        ]
    );
    let before = &chibi.seen_of("pre_rolling_compact")[0].data;
    assert_eq!(before["context_name"], chibi.room.context());
    assert!(before["message_count"].as_u64() >= Some(8), "{before:#}");
    assert!(before["non_system_count"].as_u64() >= Some(8), "{before:#}");
    assert_eq!(before["summary"], "");
    let after = &chibi.seen_of("post_rolling_compact")[0].data;
    assert_eq!(after["context_name"], chibi.room.context());
    assert!(after["messages_archived"].as_u64() >= Some(2), "{after:#}");
    assert!(after["message_count"].as_u64() < before["message_count"].as_u64());
    assert_eq!(after["summary"], "Some letters.");
    let request = told.requests[1].to_string();
    assert!(
        request.contains("Some letters.") && request.contains("epsilon"),
        "{request}"
    );
    assert!(
        request.contains("delta") && !request.contains("alpha"),
        "{request}"
    );
}

#[test]
fn todos_and_goals_are_what_the_model_noted() {
    let chibi = Chibi::new();
    chibi.plugin(Older, "watch", &["pre_system_prompt", "post_system_prompt"], "");
    let notes = json!({"tool_calls": [
        {"name": "update_todos", "arguments": {"content": "buy bread"}},
        {"name": "update_goals", "arguments": {"content": "eat well"}},
    ]});
    chibi.ask(&["note it"], &[notes, says("done")]).went_well();
    for seen in chibi.seen() {
        assert_eq!(
            (&seen.data["todos"], &seen.data["goals"]),
            (&json!(""), &json!(""))
        );
    }
    chibi.forget();
    let told = chibi.ask(&["what now?"], &[says("eat")]).went_well();
    assert!(told.system(0).contains("buy bread"), "{told:#?}");
    for hook in ["pre_system_prompt", "post_system_prompt"] {
        let data = chibi.only(hook);
        assert_eq!(data["todos"], "buy bread", "{data:#}");
        assert_eq!(data["goals"], "eat well", "{data:#}");
        assert_eq!(data["flock_goals"], json!([]), "{data:#}");
    }
}

#[test]
fn what_a_plugin_calls_by_itself_passes_the_hooks_too() {
    let chibi = Chibi::new();
    let hooks = ["on_start", "pre_tool", "post_tool", "on_end"];
    chibi.plugin(
        Newer,
        "watch",
        &hooks,
        "[[ -n $CHIBI_HOOK ]] || echo \"called with $data\"",
    );
    chibi
        .room
        .run(["tool", "watch", "{\"x\":1}"])
        .ended_with(0)
        .said("called with {\"x\":1}");
    assert_eq!(
        chibi.order(),
        ["on_start", "pre_tool", "tool", "post_tool", "on_end"]
    );
    assert_eq!(chibi.only("pre_tool")["tool_name"], "watch");
    let call = &chibi.seen_of("tool")[0];
    assert_eq!(call.variables["CHIBI_TOOL_NAME"], "watch");
    assert!(!call.variables.contains_key("CHIBI_HOOK"), "{call:#?}");
    chibi.forget();
    chibi
        .ask(&["go"], &[calls("watch", json!({"x": 2})), says("done")])
        .went_well();
    assert_eq!(chibi.only("tool"), json!({"x": 2}));
}
