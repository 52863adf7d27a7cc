//! A budget as a user sees it: what it ends, what it counts, and what it says of a price that nobody knows.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::{ModelServer, OpenAiStream, Response, Room};

use crate::limit::with_person;
use crate::room_with_all_tools as room;

/// Prices by which a thousand tokens of input cost a dollar, so that a dollar's worth fits every window.
fn priced(room: &Room, models: &[&str]) {
    let prices = models
        .iter()
        .map(|model| format!("[prices.{model:?}]\ninput = 1000.0\noutput = 1000.0\n"));
    let prices: String = prices.collect();
    room.config(&format!("[tools]\nprofile = \"becket\"\n{prices}"));
}

/// A turn that lists a folder, and costs so many dollars.
fn look(dollars: f64, place: &str) -> Value {
    json!({
        "tool_calls": [{"name": "list", "arguments": {"path": place}}],
        "usage": {"input_tokens": (dollars * 1e3) as u64, "output_tokens": 0},
    })
}

fn says(dollars: f64, text: &str) -> Value {
    json!({"text": text, "usage": {"input_tokens": (dollars * 1e3) as u64, "output_tokens": 0}})
}

#[test]
fn a_run_ends_when_its_budget_is_used_up() {
    let room = room();
    priced(&room, &["scripted/script"]);
    let model = room.model(&json!([look(1.0, "."), look(1.0, "./"), says(1.0, "done")]));
    let run = room
        .run(["--json", "--budget", "1.50", "--model", &model, "go"])
        .ended_with(5)
        .complained("the budget of $1.50 is used up: $2.00 were spent");
    let reached = run.events_named("budget_reached");
    assert_eq!(reached.len(), 1, "{}", run.stdout);
    assert_eq!(
        (
            &reached[0]["limit"],
            &reached[0]["spent"],
            &reached[0]["unpriced_model"]
        ),
        (&json!(1.5), &json!(2.0), &Value::Null)
    );
    assert_eq!(run.events_named("response").len(), 2, "no third request was sent");
    let ended = run.events_named("turn_end");
    assert_eq!(ended.last().expect("turns have ended")["reason"], "limit");
    assert_eq!(run.events_named("agent_end")[0]["reason"], "limit");

    room.run(["--budget", "3.50", "--model", &model, "go"])
        .ended_with(0)
        .said("done");
}

#[test]
fn the_setting_counts_and_the_command_line_goes_before_it() {
    let room = room();
    let model = room.model(&json!([look(1.0, "."), says(1.0, "done")]));
    room.config("[agent]\nbudget = 0.5\n[prices.\"scripted/script\"]\ninput = 1000.0\noutput = 1000.0\n");
    room.run(["--model", &model, "go"])
        .ended_with(5)
        .complained("the budget of $0.50 is used up");
    room.run(["--budget", "5", "--model", &model, "go"]).ended_with(0);
    room.run(["config", "get", "agent.budget"])
        .ended_with(0)
        .said("0.5");
    for wrong in ["0", "-1", "much", "nan", "inf"] {
        let option = format!("--budget={wrong}");
        room.run([&*option, "--model", &model, "go"])
            .ended_with(2)
            .complained("no amount of dollars");
    }
    room.config("[agent]\nbudget = 0.0\n");
    room.run(["--model", &model, "go"])
        .ended_with(2)
        .complained("is no amount of dollars above 0");
}

#[test]
fn sub_agents_are_paid_from_the_same_budget() {
    let room = room();
    priced(&room, &["scripted/script", "scripted/child"]);
    room.write(
        "child.json",
        json!([look(2.0, "."), says(2.0, "helped")]).to_string(),
    );
    let task =
        json!({"system_prompt": "You help.", "input": "x", "model": "scripted/child.json", "tools": true});
    let model = room.model(&json!([
        {
            "tool_calls": [{"name": "spawn_agent", "arguments": task}],
            "usage": {"input_tokens": 1, "output_tokens": 0},
        },
        says(0.0, "done"),
    ]));
    let run = room
        .run(["--json", "--yes", "--budget", "1", "--model", &model, "go"])
        .ended_with(5);
    let answers = run.events_named("response");
    assert_eq!(answers.len(), 2, "one of each agent: {}", run.stdout);
    let reached = run.events_named("budget_reached");
    let of_child = |event: &Value| !event["parent_session_id"].is_null();
    assert!(
        reached.iter().any(of_child),
        "the sub-agent ends first: {}",
        run.stdout
    );
    assert!(!reached.iter().all(of_child), "then the agent above");
}

#[test]
fn a_model_without_a_price_is_not_asked_under_a_budget() {
    let answer = |tokens| {
        OpenAiStream::new("m")
            .text("hello")
            .finish("stop")
            .usage(tokens, 0)
            .done()
    };
    let server = ModelServer::answering(move |_| Response::events(answer(1_000)));
    let room = room()
        .with("OPENAI_API_KEY", "k")
        .with("OPENAI_BASE_URL", &server.url());
    let run = room
        .run(["--json", "--budget", "1", "--model", "openai/m", "Hi."])
        .ended_with(5)
        .complained("the price of openai/m is not known, so that the budget of $1.00 cannot be kept");
    assert_eq!(
        run.events_named("budget_reached")[0]["unpriced_model"],
        "openai/m"
    );
    assert!(server.requests().is_empty(), "nothing was sent");

    priced(&room, &["openai/m"]);
    room.run(["--budget", "1", "--model", "openai/m", "Hi."])
        .ended_with(0)
        .said("hello");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_price_that_the_providers_list_names_counts() {
    let answer = OpenAiStream::new("m").text("hello").finish("stop");
    let answer = answer.usage(1_000_000, 0).done();
    let list = json!({"data": [{"id": "m", "pricing": {"prompt": "0.000002", "completion": "0.000003"}}]});
    let server = ModelServer::answering(move |request| match request.path.as_str() {
        "/v1/models" => Response::json(200, &list),
        _ => Response::events(answer.clone()),
    });
    let room = room()
        .with("OPENAI_API_KEY", "k")
        .with("OPENAI_BASE_URL", &server.url());
    room.run(["models", "--provider", "openai"]).ended_with(0);
    let asked = ["--json", "--budget", "3", "--model", "openai/m", "Hi."];
    let run = room.run(asked).ended_with(0);
    assert_eq!(run.events_named("session_end")[0]["usage"]["cost"], 2.0);
}

#[test]
fn an_answer_that_names_no_cost_where_it_should_ends_the_trust_in_it() {
    let answer = OpenAiStream::new("m").tool_call(0, "c1", "list", &["{\"path\":\".\"}"]);
    let answer = answer.finish("tool_calls").usage(10, 1).done();
    let server = ModelServer::start([Response::events(answer)]);
    let room = room()
        .with("OPENROUTER_API_KEY", "k")
        .with("OPENROUTER_BASE_URL", &server.url());
    room.run(["--budget", "1", "--model", "openrouter/m", "Hi."])
        .ended_with(5)
        .complained("the price of openrouter/m is not known");
    assert_eq!(server.requests().len(), 1);
}

/// A server that never says how many tokens its answers used; it asks for a look at the folder again and again.
fn silent_server() -> ModelServer {
    let asked = AtomicUsize::new(0);
    ModelServer::answering(move |_| {
        let number = asked.fetch_add(1, Ordering::Relaxed) + 1;
        // Another spelling each time, because a call that is repeated ends the run.
        let arguments = json!({"path": "./".repeat(number)}).to_string();
        let answer = OpenAiStream::new("m").tool_call(0, &format!("c{number}"), "list", &[&arguments]);
        Response::events(answer.finish("tool_calls").done())
    })
}

#[test]
fn a_provider_that_reports_no_usage_is_counted_by_an_estimate_sub_agents_included() {
    let server = silent_server();
    let room = room()
        .with("OPENAI_API_KEY", "k")
        .with("OPENAI_BASE_URL", &server.url());
    priced(&room, &["openai/m", "scripted/script"]);
    let run = room
        .run(["--budget", "10", "--model", "openai/m", "go"])
        .ended_with(5)
        .complained("the budget of $10.00 is used up");
    assert!(run.stderr.contains("are estimates"), "{}", run.stderr);

    let task = json!({"system_prompt": "You help.", "input": "x", "model": "openai/m", "tools": true});
    let spawn = json!({
        "tool_calls": [{"name": "spawn_agent", "arguments": task}],
        "usage": {"input_tokens": 1, "output_tokens": 0},
    });
    let model = room.model(&json!([spawn, says(0.1, "done")]));
    let run = room
        .run(["--json", "--yes", "--budget", "10", "--model", &model, "go"])
        .ended_with(5);
    let reached = run.events_named("budget_reached");
    let of_child = |event: &&Value| !event["parent_session_id"].is_null();
    let of_child = reached.iter().find(of_child).expect("the sub-agent reaches it");
    let words = of_child["message"].as_str().unwrap_or_default();
    assert!(words.contains("are estimates"), "{of_child}");
}

#[test]
fn the_tokens_of_sub_agents_are_estimated_where_the_provider_names_none() {
    let server = silent_server();
    let room = room()
        .with("OPENAI_API_KEY", "k")
        .with("OPENAI_BASE_URL", &server.url());
    room.config("[tools]\nprofile = \"becket\"\n[subagents]\ntoken_budget = 200\nmax_turns = 200\n");
    let task = json!({"system_prompt": "You help.", "input": "x", "model": "openai/m", "tools": true});
    let model = room.model(&json!([
        {"tool_calls": [{"name": "spawn_agent", "arguments": task}]},
        {"text": "done"},
    ]));
    room.run(["--yes", "--model", &model, "go"])
        .ended_with(0)
        .complained("the 200 tokens that sub-agents may use for one prompt are used up");
    assert!(server.requests().len() < 200, "it ended before its last turn");
}

#[test]
fn a_price_that_cannot_be_counted_with_is_refused_with_its_place() {
    let room = room();
    let model = room.model(&json!([says(0.1, "done")]));
    for wrong in ["-1.0", "nan", "inf"] {
        room.config(&format!("[prices.\"openai/m\"]\ninput = {wrong}\noutput = 1.0\n"));
        let run = room.run(["--model", &model, "go"]).ended_with(2);
        let run = run.complained("is no price; write US dollars for a million tokens");
        assert!(run.stderr.contains("config.toml:2"), "{}", run.stderr);
    }
}

#[test]
fn a_model_that_is_known_to_be_free_counts_as_free() {
    let answer = OpenAiStream::new("m").text("hello").finish("stop");
    let server = ModelServer::start([Response::events(answer.done())]);
    let room = room()
        .with("OPENAI_API_KEY", "k")
        .with("OPENAI_BASE_URL", &server.url());
    room.config("[prices.\"openai/m\"]\ninput = 0\noutput = 0.0\n");
    room.run(["--budget", "0.01", "--model", "openai/m", "Hi."])
        .ended_with(0)
        .said("hello");
}

#[test]
fn a_provider_of_an_extension_that_says_it_is_free_counts_as_free() {
    let room = room();
    let parrot = crate::repository_file("examples/pi/parrot.ts");
    let words = [
        "--budget",
        "0.01",
        "-e",
        &parrot,
        "--model",
        "parrot/polly",
        "chat",
    ];
    let run = room.run_with_input(words, "one\ntwo\n").ended_with(0);
    run.said("You said: one").said("You said: two");
}

#[test]
fn the_user_at_the_terminal_lets_a_run_cost_more() {
    let room = room();
    priced(&room, &["scripted/script"]);
    let model = room.model(&json!([look(1.0, "."), look(1.0, "./"), says(1.0, "done")]));
    let arguments = ["--json", "--budget", "0.75", "--model", &model, "go"];
    let Some(run) = with_person(&room, &arguments) else {
        return;
    };
    let run = run.ended_with(0).complained("continuing past the limit");
    let reached = run.events_named("budget_reached");
    let limits: Vec<&Value> = reached.iter().map(|event| &event["limit"]).collect();
    assert_eq!(
        limits,
        [&json!(0.75), &json!(1.75)],
        "a yes adds the same amount again"
    );
}

#[test]
fn a_hook_that_is_a_model_is_paid_too_and_refuses_when_nothing_is_left() {
    let room = room();
    let judge = json!({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [
        {"type": "prompt", "prompt": "Is it safe? $ARGUMENTS", "model": "openai/judge"},
    ]}]}});
    room.write(".claude/settings.json", judge.to_string());
    let ok = OpenAiStream::new("judge").text("{\"ok\": true}").finish("stop");
    let server = ModelServer::start([Response::events(ok.usage(2_000, 0).done())]);
    let room = room
        .with("OPENAI_API_KEY", "k")
        .with("OPENAI_BASE_URL", &server.url());
    priced(&room, &["scripted/script", "openai/judge"]);
    let model = room.model(&json!([look(0.1, "."), says(0.1, "done")]));
    room.run(["--trust", "--budget", "1", "--model", &model, "go"])
        .ended_with(5)
        .complained("$2.10 were spent");
    assert_eq!(server.requests().len(), 1);
}
