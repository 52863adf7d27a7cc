//! Teams: members that ask each other, and members that hand the conversation over.

use std::sync::Arc;

use becket_agent::gate::Permit;
use becket_agent::provider::{ProviderErrorKind, RequestOptions, ToolFace};
use becket_agent::team::{Member, Team};
use becket_agent::tool::{BUILTIN, Handoff, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_agent::{Ending, SubAgentEnd};
use becket_events::{
    AgentStart, AgentStartReply, EndReason, PreSubagent, PreSubagentReply, Rewrite, Verdict,
};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::stage::{Model, Prop, Stage, Turn, input};

/// A tool that gives a task to a member.
struct Transfer(ToolSpec);

impl Transfer {
    fn new() -> Self {
        Self(ToolSpec {
            face: ToolFace {
                name: "transfer".into(),
                description: String::new(),
                parameters: json!({"type": "object"}).into(),
                operation: None,
            },
            own_name: "transfer".into(),
            operation: None,
            source: BUILTIN.into(),
            read_only: true,
            parallel: true,
            handoff: None,
            extra_arguments: Vec::new(),
        })
    }
}

impl Tool for Transfer {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        Ok(arguments)
    }

    fn asks_agents(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let agent = permit.arguments()["agent"].as_str().unwrap().to_owned();
            match run.parent.unwrap().transfer(&agent, "count".into()).await {
                SubAgentEnd::Answered(answer) => ToolOutput::text(answer),
                other => ToolOutput::error(other.problem().unwrap()),
            }
        })
    }
}

fn transfer_to(agent: &str) -> Turn {
    Turn::Call(vec![("transfer", json!({"agent": agent}))])
}

fn hand_over_to(agent: &str) -> Turn {
    Turn::Call(vec![("handoff", json!({"agent": agent}))])
}

/// A member that has a tool named after it, and may turn to the others in both ways.
fn member(stage: &Stage, name: &'static str, turns: Vec<Turn>, others: &[&str]) -> (Member, Arc<Model>) {
    let model = Model::playing(name, turns);
    let others: Vec<String> = others.iter().map(|name| (*name).to_owned()).collect();
    let handoff = Prop::new("handoff", None, &stage.runs).handing(Handoff::Member);
    let member = Member {
        name: name.into(),
        description: format!("knows all about {name}"),
        instructions: format!("You are {name}."),
        provider: model.clone(),
        options: RequestOptions::default(),
        tools: vec![
            Arc::new(Prop::new(&format!("tool-of-{name}"), None, &stage.runs)),
            Arc::new(Transfer::new()),
            Arc::new(handoff),
        ],
        max_iterations: None,
        max_identical_rounds: None,
        sub_agents: others.clone(),
        handoffs: others,
        successor: None,
    };
    (member, model)
}

/// A team of `root`, who may turn to `helper`, and `helper`, who may turn to `root`.
fn two(root: Vec<Turn>, helper: Vec<Turn>, change: impl Fn(&mut Member)) -> (Stage, Arc<Model>, Arc<Model>) {
    let mut stage = Stage::new(Vec::new());
    let (mut one, root) = member(&stage, "root", root, &["helper"]);
    let (mut other, helper) = member(&stage, "helper", helper, &["root"]);
    change(&mut one);
    change(&mut other);
    stage.team = Some(Arc::new(Team::new(vec![one, other])));
    (stage, root, helper)
}

fn request(model: &Model, place: usize) -> Value {
    model.requests.lock().unwrap()[place].clone()
}

fn switches(stage: &Stage) -> Vec<(String, String, String)> {
    let word = |event: &Value, name: &str| event[name].as_str().unwrap().to_owned();
    let events = stage.events_named("agent_switch");
    let switch = |event: &Value| {
        (
            word(event, "from_agent"),
            word(event, "to_agent"),
            word(event, "kind"),
        )
    };
    events.iter().map(switch).collect()
}

fn agents(stage: &Stage, event: &str) -> Vec<String> {
    let events = stage.events_named(event);
    let name = |event: &Value| event["agent_name"].as_str().unwrap().to_owned();
    events.iter().map(name).collect()
}

#[tokio::test]
async fn a_task_is_done_by_a_member_with_its_own_prompt_model_and_tools() {
    let (stage, root, helper) = two(
        vec![transfer_to("helper"), Turn::Say("it says three")],
        vec![
            Turn::Call(vec![("tool-of-helper", json!({}))]),
            Turn::Say("three"),
        ],
        |_| {},
    );
    assert_eq!(stage.answer("how many?").await, "it says three");

    let first = request(&root, 0);
    let system = first["system"].as_str().unwrap();
    assert!(system.starts_with("You are root."), "{system}");
    assert!(
        system.contains("- helper: knows all about helper") && !system.contains("- root:"),
        "{system}"
    );
    assert_eq!(first["tools"], json!(["tool-of-root", "transfer", "handoff"]));
    let asked = request(&helper, 0);
    assert!(asked["system"].as_str().unwrap().starts_with("You are helper."));
    assert_eq!(asked["messages"], json!([{"text": "count", "calls": 0}]));
    assert_eq!(asked["tools"], json!(["tool-of-helper", "transfer", "handoff"]));
    assert_eq!(request(&root, 1)["messages"][2]["text"], "three");
    assert_eq!(stage.runs(), ["tool-of-helper {}"]);

    let switched = stage.events_named("agent_switch");
    let model = |name| json!([{"provider": "stage", "model": name, "base_url": "http://stage/v1"}]);
    assert_eq!(
        switches(&stage),
        [
            ("root".into(), "helper".into(), "transfer".into()),
            ("helper".into(), "root".into(), "return".into())
        ]
    );
    assert_eq!(switched[0]["from_models"], model("root"));
    assert_eq!(switched[1]["from_models"], model("helper"));
    assert_eq!(
        agents(&stage, "agent_switch"),
        ["root", "root"],
        "both are the parent's"
    );
    let names = stage.names();
    let order: Vec<&&str> = names
        .iter()
        .filter(|name| {
            matches!(
                **name,
                "pre_subagent" | "agent_switch" | "session_start" | "post_subagent"
            )
        })
        .collect();
    assert_eq!(
        order,
        [
            &"session_start",
            &"pre_subagent",
            &"agent_switch",
            &"session_start",
            &"post_subagent",
            &"agent_switch"
        ]
    );
    let begun = &stage.events_named("session_start")[1];
    assert_eq!(
        (&begun["agent_name"], &begun["agents_above"], &begun["model"]),
        (&json!("helper"), &json!(["root"]), &json!("stage/helper"))
    );
}

#[tokio::test]
async fn only_members_that_the_file_names_can_be_asked() {
    let (stage, root, _) = two(vec![transfer_to("nobody"), Turn::Say("alone")], vec![], |_| {});
    assert_eq!(stage.answer("go").await, "alone");
    let words = request(&root, 1)["messages"][2]["text"].to_string();
    assert!(words.contains("`nobody`") && words.contains("helper"), "{words}");

    // A member that exists, but that this one may not turn to.
    let mut stage = Stage::new(Vec::new());
    let (one, root) = member(
        &stage,
        "root",
        vec![transfer_to("helper"), Turn::Say("alone")],
        &[],
    );
    let (other, _) = member(&stage, "helper", vec![], &[]);
    stage.team = Some(Arc::new(Team::new(vec![one, other])));
    assert_eq!(stage.answer("go").await, "alone");
    let words = request(&root, 1)["messages"][2]["text"].to_string();
    assert!(words.contains("any other agent"), "{words}");
    assert!(stage.events_named("pre_subagent").is_empty() && switches(&stage).is_empty());
    assert!(!request(&root, 0)["system"].to_string().contains("helper"));
}

#[tokio::test]
async fn a_member_that_fails_gives_the_word_back_and_one_that_is_refused_never_has_it() {
    let (stage, root, _) = two(
        vec![transfer_to("helper"), Turn::Say("it failed")],
        vec![Turn::Fail(ProviderErrorKind::Rejected)],
        |_| {},
    );
    assert_eq!(stage.answer("go").await, "it failed");
    assert_eq!(switches(&stage).len(), 2);
    let error = stage.events_named("post_subagent")[0]["error"].to_string();
    assert!(error.contains("the script says so"), "{error}");
    let words = request(&root, 1)["messages"][2]["text"].to_string();
    assert!(words.contains("the script says so"), "{words}");

    let (stage, root, helper) = two(vec![transfer_to("helper"), Turn::Say("refused")], vec![], |_| {});
    stage.engine.on::<PreSubagent>("no", |occasion| {
        assert_eq!(occasion.payload.subagent_name.as_deref(), Some("helper"));
        assert_eq!(occasion.payload.subagent_model, "stage/helper");
        Ok(PreSubagentReply {
            verdict: Verdict::Deny("not today".into()).into(),
            ..Default::default()
        })
    });
    assert_eq!(stage.answer("go").await, "refused");
    assert_eq!(request(&root, 1)["messages"][2]["text"], "not today");
    assert!(switches(&stage).is_empty() && helper.requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn hooks_may_narrow_the_tools_and_change_the_prompt_of_a_member() {
    let (stage, _, helper) = two(
        vec![transfer_to("helper"), Turn::Say("done")],
        vec![Turn::Say("three")],
        |_| {},
    );
    stage.engine.on::<PreSubagent>("narrow", |_| {
        Ok(PreSubagentReply {
            tools: Rewrite(Some(vec!["tool-of-helper".into()])),
            system_prompt: Rewrite(Some("Only count.".into())),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    let asked = request(&helper, 0);
    assert_eq!(asked["tools"], json!(["tool-of-helper"]));
    assert!(asked["system"].as_str().unwrap().starts_with("Only count."));
}

#[tokio::test]
async fn limits_are_each_members_own() {
    let call = || Turn::Call(vec![("tool-of-helper", json!({}))]);
    let (stage, root, helper) = two(
        vec![
            transfer_to("helper"),
            Turn::Call(vec![("tool-of-root", json!({}))]),
            Turn::Say("on my own"),
        ],
        vec![call(), call()],
        |member| member.max_iterations = (member.name == "helper").then_some(1),
    );
    assert_eq!(stage.answer("go").await, "on my own");
    assert_eq!(helper.requests.lock().unwrap().len(), 1);
    let words = request(&root, 1)["messages"][2]["text"].to_string();
    assert!(words.contains("limit of 1 requests"), "{words}");

    // The other way round: the limits of the member that asks do not limit the one that is asked.
    let (stage, _, helper) = two(
        vec![transfer_to("helper")],
        vec![call(), Turn::Say("three")],
        |member| member.max_iterations = (member.name == "root").then_some(1),
    );
    assert!(matches!(stage.play("go").await.ending, Ending::Limit(_)));
    assert_eq!(helper.requests.lock().unwrap().len(), 2);

    let (stage, ..) = two(
        vec![Turn::Call(vec![("tool-of-root", json!({}))]); 2],
        vec![],
        |member| member.max_identical_rounds = Some(2),
    );
    assert!(matches!(stage.play("go").await.ending, Ending::LoopDetected(_)));
}

#[tokio::test]
async fn a_conversation_is_handed_over_for_good() {
    let (stage, root, helper) = two(
        vec![hand_over_to("helper")],
        vec![Turn::Say("I go on"), Turn::Say("still me"), Turn::Say("me again")],
        |_| {},
    );
    let mut session = stage.open().await;
    let end = session.prompt(input("go"), stage.cancel.clone()).await.unwrap();
    assert_eq!((end.ending, end.answer.as_str()), (Ending::Answered, "I go on"));
    assert_eq!(
        switches(&stage),
        [("root".into(), "helper".into(), "handoff".into())]
    );
    assert_eq!(
        agents(&stage, "agent_switch"),
        ["root"],
        "it is the one that hands over"
    );
    assert_eq!(
        stage.events_named("agent_switch")[0]["from_models"][0]["model"],
        "root"
    );
    assert_eq!(agents(&stage, "turn_start"), ["root", "helper"]);
    assert_eq!(agents(&stage, "turn_end"), ["root", "helper"]);
    assert_eq!(stage.turn_ends(), ["continue", "normal"]);
    assert_eq!(stage.events_named("turn_start")[1]["model"], "stage/helper");
    let taken = request(&helper, 0);
    assert!(taken["system"].as_str().unwrap().starts_with("You are helper."));
    assert_eq!(taken["tools"], json!(["tool-of-helper", "transfer", "handoff"]));
    assert_eq!(
        taken["messages"].as_array().unwrap().len(),
        3,
        "all that was said"
    );

    // The next prompt of the same session, and the first of the next one.
    let end = session.prompt(input("and?"), stage.cancel.clone()).await.unwrap();
    assert_eq!(end.answer, "still me");
    session.end(EndReason::Done).await.unwrap();
    assert_eq!(stage.answer("and now?").await, "me again");
    assert_eq!(agents(&stage, "session_start"), ["root", "helper"]);
    assert_eq!(root.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_speaker_that_is_no_longer_in_the_team_leaves_the_word_to_the_first() {
    let (stage, ..) = two(vec![hand_over_to("helper")], vec![Turn::Say("I go on")], |_| {});
    stage.answer("go").await;
    let mut later = Stage::new(Vec::new());
    later.store = Arc::clone(&stage.store);
    let (one, _) = member(&later, "root", vec![Turn::Say("here")], &[]);
    later.team = Some(Arc::new(Team::new(vec![one])));
    assert_eq!(later.answer("who is there?").await, "here");
}

#[tokio::test]
async fn what_hooks_wrote_for_one_member_is_not_said_to_the_next() {
    let (stage, root, helper) = two(vec![hand_over_to("helper")], vec![Turn::Say("done")], |_| {});
    stage.engine.on::<AgentStart>("prompt", |_| {
        Ok(AgentStartReply {
            system_prompt: Rewrite(Some("Be brief, root.".into())),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(request(&root, 0)["system"], "Be brief, root.");
    assert!(
        request(&helper, 0)["system"]
            .as_str()
            .unwrap()
            .starts_with("You are helper.")
    );
}

#[tokio::test]
async fn handing_over_to_and_fro_comes_to_an_end() {
    let (stage, root, helper) = two(
        vec![hand_over_to("helper"); 9],
        vec![hand_over_to("root"); 9],
        |member| member.max_iterations = Some(3),
    );
    assert!(matches!(stage.play("go").await.ending, Ending::Limit(_)));
    assert_eq!(root.requests.lock().unwrap().len(), 3);
    assert_eq!(helper.requests.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn a_member_that_works_on_a_task_may_have_sub_agents_down_to_the_usual_depth() {
    let (stage, root, helper) = two(
        vec![
            transfer_to("helper"),
            transfer_to("helper"),
            Turn::Say("deep"),
            Turn::Say("end"),
        ],
        vec![transfer_to("root"), Turn::Say("back")],
        |_| {},
    );
    assert_eq!(stage.answer("go").await, "end");
    let deepest = request(&root, 1);
    assert_eq!(
        deepest["tools"],
        json!(["tool-of-root", "handoff"]),
        "two below the first there is nobody to ask"
    );
    assert_eq!(helper.requests.lock().unwrap().len(), 2);
    let above: Vec<Value> = stage
        .events_named("session_start")
        .iter()
        .map(|event| event["agents_above"].clone())
        .collect();
    assert_eq!(above, [json!([]), json!(["root"]), json!(["root", "helper"])]);
}
