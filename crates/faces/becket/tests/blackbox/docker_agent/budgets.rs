//! Budgets of agent files: the run ends when one is used up, whoever has spent it.

use serde_json::{Value, json};
use testkit::{ModelServer, OpenAiStream, Response};

use super::{agent, call, play, says, shell, stage};

/// A turn that costs something.
fn costs(mut turn: Value, tokens: u64, dollars: impl Into<Value>) -> Value {
    let dollars: Value = dollars.into();
    turn["usage"] = json!({"input_tokens": tokens, "output_tokens": 1, "cost": dollars});
    turn
}

#[test]
fn a_run_ends_where_its_budget_ends() {
    for (budget, why) in [
        (
            json!({"max_cost": 0.05}),
            "`budget.max_cost` of the agent file is reached (used $0.0600 of $0.0500)",
        ),
        (
            json!({"max_tokens": 1500}),
            "`budget.max_tokens` of the agent file is reached (used 2002 of 1500)",
        ),
        (
            json!({"max_time": "1ms"}),
            "`budget.max_time` of the agent file is reached",
        ),
    ] {
        let room = stage(&json!({"agents": {"root": agent(&[], &json!({}))}, "budget": budget}));
        let turns = json!([
            costs(shell("touch one"), 1000, 0.03),
            costs(shell("touch two"), 1000, 0.03),
            costs(shell("touch three"), 1000, 0.03),
            says("done", &[]),
        ]);
        let run = play(&room, &turns, &["--yes"]);
        assert_ne!(run.code, 0, "{run:#?}");
        run.complained(why);
        assert!(!room.has("three"), "{budget}");
    }
}

#[test]
fn a_budget_that_is_not_used_up_changes_nothing() {
    let budget = json!({"max_cost": 1, "max_tokens": 5000, "max_time": "10m"});
    let room = stage(&json!({"agents": {"root": agent(&[], &json!({}))}, "budget": budget}));
    let turns = json!([
        costs(shell("touch one"), 10, 0.1),
        costs(says("done", &[]), 10, 0.1)
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0).said("done");
}

#[test]
fn what_a_sub_agent_spends_is_spent() {
    let file = json!({
        "agents": {
            "root": agent(&[], &json!({"sub_agents": ["helper"], "budgets": ["pot"]})),
            "helper": agent(&[], &json!({"description": "helps", "budgets": ["pot"]})),
        },
        "budgets": {"pot": {"max_cost": 0.05}, "other": {"max_cost": 0.01}},
    });
    let room = stage(&file);
    let task = json!({"agent": "helper", "task": "help", "expected_output": "help"});
    let turns = json!([
        costs(call("transfer_task", &task), 10, 0.01),
        costs(says("helped", &[]), 10, 0.05),
        costs(shell("touch after"), 10, 0.01),
        says("done", &[]),
    ]);
    let run = play(&room, &turns, &["--yes"]);
    assert_ne!(run.code, 0, "{run:#?}");
    run.complained("`budgets.pot.max_cost` of the agent file is reached (used $0.0600 of $0.0500)");
    assert!(!room.has("after"));
}

#[test]
fn a_ceiling_in_dollars_needs_a_price() {
    let room = stage(&json!({"agents": {"root": agent(&[], &json!({}))}, "budget": {"max_cost": 5}}));
    let turns = json!([
        costs(shell("touch one"), 10, Value::Null),
        costs(shell("touch two"), 10, Value::Null),
        says("done", &[]),
    ]);
    let run = play(&room, &turns, &["--yes"]);
    assert_ne!(run.code, 0, "{run:#?}");
    run.complained("is not known, so `budget.max_cost` of the agent file cannot be kept");
    assert!(!room.has("two"));
}

#[test]
fn what_a_provider_does_not_report_is_estimated() {
    for (budget, why) in [
        (
            json!({"max_tokens": 50}),
            "`budget.max_tokens` of the agent file is reached",
        ),
        (
            json!({"max_cost": 0.01}),
            "`budget.max_cost` of the agent file is reached",
        ),
    ] {
        let call = OpenAiStream::new("m").tool_call(0, "c1", "shell", &[r#"{"cmd":"touch one"}"#]);
        let server = ModelServer::start([Response::events(call.finish("tool_calls").done())]);
        let file = json!({
            "agents": {"root": agent(&[], &json!({"model": "priced"}))},
            "models": {"priced": {
                "provider": "openai", "model": "m", "base_url": server.url(),
                "cost": {"input": 1000.0, "output": 1000.0},
            }},
            "budget": budget,
        });
        let room = stage(&file).with("OPENAI_API_KEY", "k");
        let run = room.run(["run", "agent.yaml", "go", "--yes"]);
        assert_ne!(run.code, 0, "{run:#?}");
        run.complained(why);
        assert_eq!(server.requests().len(), 1, "{budget}");
    }
}

#[test]
fn a_price_of_the_file_counts_for_the_budget_of_the_command_line() {
    let answer = OpenAiStream::new("m").tool_call(0, "c1", "shell", &[r#"{"cmd":"touch one"}"#]);
    let answer = answer.finish("tool_calls").usage(2_000, 0).done();
    let server = ModelServer::start([Response::events(answer)]);
    let file = json!({
        "agents": {"root": agent(&[], &json!({"model": "priced"}))},
        "models": {"priced": {
            "provider": "openai", "model": "m", "base_url": server.url(),
            "cost": {"input": 1000.0, "output": 1000.0},
        }},
    });
    let room = stage(&file).with("OPENAI_API_KEY", "k");
    room.run(["run", "agent.yaml", "go", "--yes", "--budget", "1"])
        .ended_with(5)
        .complained("the budget of $1.00 is used up: $2.00 were spent");
    assert!(room.has("one"));
}

#[test]
fn an_evaluator_that_only_asks_is_replaced_by_the_user() {
    let guard = json!({"tool_guard": [{"matcher": "shell", "hooks": [{
        "type": "evaluator",
        "evaluator": "risk",
        "evaluator_policy": {"decisions": {"safe": "allow", "other": "ask"}, "min_probability": 0.9, "fallback": "ask"},
    }]}]});
    let room = stage(&json!({
        "agents": {"root": agent(&[], &json!({"hooks": guard}))},
        "evaluators": {"risk": {"model": "openai/x", "type": "choice", "instructions": "i"}},
    }));
    let turns = json!([shell("touch made"), says("done", &[])]);
    let run = play(&room, &turns, &["--yes"]).ended_with(0);
    run.complained("evaluators are not asked, so you are asked about every call that this hook is for");
    assert!(!room.has("made"));
}
