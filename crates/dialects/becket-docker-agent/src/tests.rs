//! Tests of hooks through the engine: real shells, builtins and judges, and their effect on the agent.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becket_dialect_kit::yaml::read_yaml;
use becket_events::{
    AgentModel, AgentSwitch, AgentSwitchPayload, ApprovalDecided, ApprovalDecidedPayload, ApprovalDecision,
    ApprovalSource, CompactReason, CompactScope, Event, InputSource, LimitRaised, LimitRaisedPayload,
    ModelContext, ModelContextPayload, OperationKind, Part, PermissionRequest, PermissionRequestPayload,
    PostSubagent, PostSubagentPayload, PostTool, PostToolPayload, PreCompact, PreCompactPayload, PreTool,
    PreToolOutput, PreToolOutputPayload, PreToolPayload, Reply, RequestPurpose, Response, ResponsePayload,
    Scope, SessionStart, SessionStartPayload, StartReason, Steering, SteeringPayload, Stop, StopPayload,
    StopReason, SwitchKind, TurnEnd, TurnEnded, TurnEndedPayload, TurnStart, TurnStartPayload, Usage,
    UserPrompt, UserPromptPayload, Verdict,
};
use becket_hooks::{Engine, HookEnvironment, Outcome};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::*;

/// Answers builtins and judges as a test wants, and remembers what it was asked.
#[derive(Default)]
struct Stage {
    answer: Mutex<Option<Result<Output, String>>>,
    judgement: Mutex<Option<Result<String, String>>>,
    asked: Mutex<Vec<String>>,
}

impl Builtins for Stage {
    fn call<'a>(&'a self, call: BuiltinCall<'a>) -> BoxFuture<'a, Result<Output, String>> {
        self.asked
            .lock()
            .unwrap()
            .push(format!("{} {}", call.event, call.builtin.name()));
        let answer = self.answer.lock().unwrap().clone();
        let run = self.asked.lock().unwrap().len() as u64;
        Box::pin(async move {
            // The order in which hooks finish differs between runs, so only the configured order can sort their
            // answers.
            if let Builtin::AddRecentCommits(number) = call.builtin {
                let turns = (u64::from(*number) + run).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                return Ok(Output {
                    additional_context: Some(number.to_string()),
                    ..Output::default()
                });
            }
            answer.unwrap_or_else(|| Ok(Output::default()))
        })
    }
}

impl Judge for Stage {
    fn ask<'a>(
        &'a self,
        model: &'a str,
        _: &'a str,
        prompt: &'a str,
        _: Option<Value>,
        _: Duration,
    ) -> BoxFuture<'a, Result<String, String>> {
        self.asked.lock().unwrap().push(format!("{model}: {prompt}"));
        let judgement = self.judgement.lock().unwrap().clone();
        Box::pin(async move { judgement.unwrap_or_else(|| Err("nobody is there".into())) })
    }
}

fn host(stage: &Arc<Stage>) -> HookHost {
    let variables = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("FROM_HOST", "yes")];
    let variables: BTreeMap<_, _> = variables
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    HookHost {
        shell: None,
        environment: HookEnvironment {
            variables: Arc::new(variables),
            keys: Arc::default(),
        },
        directory: std::env::temp_dir(),
        builtins: stage.clone(),
        judge: stage.clone(),
        safety_policy: "balanced",
    }
}

fn entries(yaml: &str) -> Vec<HookEntry> {
    let file = Path::new("agent.yaml");
    read_yaml::<HooksConfig>(yaml, file)
        .unwrap()
        .entries(file)
        .unwrap()
}

/// The entry of one command for one event, written as JSON, which is valid YAML.
fn hook(event: &str, command: &str, more: Value) -> Vec<HookEntry> {
    let mut hook = json!({"type": "command", "command": command, "timeout": 20});
    for (key, value) in more.as_object().unwrap() {
        hook[key] = value.clone();
    }
    let matched = contracts()
        .iter()
        .any(|contract| contract.name == event && contract.matcher);
    let value = if matched {
        json!([{"hooks": [hook]}])
    } else {
        json!([hook])
    };
    entries(&json!({event: value}).to_string())
}

fn engine_with(entries: &[HookEntry]) -> Engine {
    engine_for(entries, &Owner::Everybody, &Arc::default())
}

fn engine_for(entries: &[HookEntry], owner: &Owner, stage: &Arc<Stage>) -> Engine {
    let engine = Engine::new(None);
    assert_eq!(
        register(&engine, entries, owner, &host(stage)),
        Vec::<String>::new()
    );
    engine
}

fn scope() -> Scope {
    Scope {
        session_id: "s1".into(),
        agent_name: "root".into(),
        model: "openai/gpt".into(),
        cwd: std::env::temp_dir().display().to_string(),
        ..Scope::default()
    }
}

async fn ask<E: Event>(engine: &Engine, payload: E::Payload) -> Outcome<E> {
    engine.dispatch::<E>(&scope(), || payload).await
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn shell_call(command: &str) -> PreToolPayload {
    PreToolPayload {
        tool_source: "builtin".into(),
        tool_call_id: "c1".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: Some(OperationKind::Shell),
        arguments: object(json!({"command": command, "timeout_seconds": 5})),
        parent_tool_call_id: None,
    }
}

fn ran(result: &str) -> PostToolPayload {
    PostToolPayload {
        tool_source: "builtin".into(),
        tool_call_id: "c1".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: Some(OperationKind::Shell),
        arguments: object(json!({"command": "ls"})),
        original_arguments: Map::new(),
        result: result.into(),
        is_error: false,
        ran: true,
        cached: false,
        duration_ms: 1,
    }
}

fn prompt() -> UserPromptPayload {
    UserPromptPayload {
        prompt: "hello".into(),
        images: Vec::new(),
        source: InputSource::Interactive,
        summary: None,
        continuation: 0,
    }
}

fn request() -> ModelContextPayload {
    ModelContextPayload {
        system_prompt: "Be brief.".into(),
        messages: Vec::new(),
        summary: None,
        iteration: 1,
        purpose: RequestPurpose::Answer,
    }
}

fn compaction() -> PreCompactPayload {
    PreCompactPayload {
        reason: CompactReason::ToolOverflow,
        scope: CompactScope::Full,
        message_count: 3,
        messages: Vec::new(),
        kept: Vec::new(),
        first_kept_id: None,
        summary: None,
        instructions: None,
        input_tokens: 90,
        output_tokens: 0,
        context_limit: Some(100),
    }
}

fn permission() -> PermissionRequestPayload {
    PermissionRequestPayload {
        tool_source: "builtin".into(),
        tool_call_id: "c1".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: Some(OperationKind::Shell),
        arguments: object(json!({"command": "ls"})),
        reason: None,
    }
}

fn stopping() -> StopPayload {
    StopPayload {
        response: "done".into(),
        prompt: "hello".into(),
        continuations: 0,
        entries: Vec::new(),
        go_on: false,
    }
}

fn turn_end() -> TurnEndedPayload {
    TurnEndedPayload {
        turn_index: 0,
        reason: TurnEnd::Limit,
        message: None,
        entries: Vec::new(),
        go_on: false,
        tool_results: Vec::new(),
    }
}

/// The effect of a hook on an event, with its reason.
#[derive(Debug, PartialEq)]
enum Effect {
    Nothing,
    Allowed,
    Asked,
    Insisted,
    Blocked(String),
    Failed,
}

/// The effect of one hook on one event; all events that can block, and one that cannot.
async fn effect(event: &str, entries: &[HookEntry]) -> Effect {
    fn of<E: Event>(outcome: &Outcome<E>, blocked: Option<String>) -> Effect {
        let verdict = outcome.verdict().cloned();
        match (verdict, blocked) {
            (_, Some(reason)) | (Some(Verdict::Deny(reason)), _) => Effect::Blocked(reason),
            (Some(Verdict::Allow), _) => Effect::Allowed,
            (Some(Verdict::Ask(_)), _) => Effect::Asked,
            (Some(Verdict::Insist(_)), _) => Effect::Insisted,
            (None, None) if outcome.failures.is_empty() => Effect::Nothing,
            (None, None) => Effect::Failed,
        }
    }
    let engine = engine_with(entries);
    match event {
        "pre_tool_use" | "tool_guard" | "tool_input_transform" => {
            of(&ask::<PreTool>(&engine, shell_call("ls")).await, None)
        }
        "permission_request" => of(&ask::<PermissionRequest>(&engine, permission()).await, None),
        "user_prompt_submit" => of(&ask::<UserPrompt>(&engine, prompt()).await, None),
        "user_steering_messages_submit" => {
            let messages = vec!["stop that".to_owned()];
            of(
                &ask::<Steering>(&engine, SteeringPayload { messages }).await,
                None,
            )
        }
        "before_llm_call" => of(&ask::<ModelContext>(&engine, request()).await, None),
        "pre_compact" | "before_compaction" => of(&ask::<PreCompact>(&engine, compaction()).await, None),
        "post_tool_use" => {
            let outcome = ask::<PostTool>(&engine, ran("x")).await;
            let stop = outcome.reply.stop.0.clone();
            of(&outcome, stop)
        }
        "stop" => {
            let outcome = ask::<Stop>(&engine, stopping()).await;
            let on = outcome.reply.continue_with.0.clone();
            of(&outcome, on)
        }
        "turn_end" => of(&ask::<TurnEnded>(&engine, turn_end()).await, None),
        other => panic!("no test for {other}"),
    }
}

const GUARDS: &[&str] = &["pre_tool_use", "tool_guard", "permission_request"];
const BLOCKABLE: &[&str] = &[
    "tool_input_transform",
    "user_prompt_submit",
    "user_steering_messages_submit",
    "before_llm_call",
    "pre_compact",
    "before_compaction",
    "post_tool_use",
    "stop",
];

#[tokio::test]
async fn a_block_counts_in_each_of_its_forms_and_keeps_its_reasons() {
    let forms = [
        ("echo no >&2; exit 2", "no"),
        (r#"echo '{"reason":"why"}'; echo no >&2; exit 2"#, "no\nwhy"),
        (r#"echo '{"decision":"block","reason":"why"}'; exit 2"#, "why"),
        ("echo '{broken'; echo no >&2; exit 2", "no"),
        (r#"echo '{"decision":"block","reason":"why"}'"#, "why"),
        (r#"echo '{"continue":false,"stop_reason":"why"}'"#, "why"),
        (r#"echo '{"continue":false,"stopReason":"why"}'"#, "why"),
        (
            r#"printf '\357\273\277 {"Decision":"block","reason":"why"} '"#,
            "why",
        ),
    ];
    for event in GUARDS.iter().chain(BLOCKABLE) {
        for (command, reason) in forms {
            let effect = effect(event, &hook(event, command, json!({}))).await;
            assert_eq!(effect, Effect::Blocked(reason.into()), "{event}: {command}");
        }
    }
    for (command, means) in [
        ("exit 2", Effect::Failed),
        (r#"echo '{"decision":"block"}'"#, Effect::Nothing),
        (r#"echo '{"continue":false}'"#, Effect::Nothing),
    ] {
        assert_eq!(
            effect("turn_end", &hook("turn_end", command, json!({}))).await,
            means,
            "{command}"
        );
    }
}

#[tokio::test]
async fn words_of_permission_count_where_somebody_is_asked() {
    let said = |word: &str, key: &str| {
        let answer = json!({key: {"permission_decision": word, "permissionDecisionReason": "why"}});
        format!("echo '{answer}'")
    };
    let own = "hook_specific_output";
    let table = [
        ("pre_tool_use", "allow", Effect::Allowed),
        ("pre_tool_use", "ask", Effect::Asked),
        ("tool_guard", "allow", Effect::Nothing),
        ("tool_guard", "ask", Effect::Insisted),
        ("permission_request", "allow", Effect::Allowed),
        ("permission_request", "ask", Effect::Asked),
        ("before_compaction", "ask", Effect::Nothing),
        ("post_tool_use", "deny", Effect::Nothing),
        ("stop", "deny", Effect::Nothing),
    ];
    for (event, word, means) in table {
        let effect = effect(event, &hook(event, &said(word, own), json!({}))).await;
        assert_eq!(effect, means, "{event} {word}");
    }
    let denying = GUARDS
        .iter()
        .chain(&["tool_input_transform", "user_prompt_submit", "before_compaction"]);
    for event in denying {
        let command = said("deny", "hookSpecificOutput");
        let effect = effect(event, &hook(event, &command, json!({}))).await;
        assert_eq!(effect, Effect::Blocked("why".into()), "{event}");
    }
    let mut preempting = hook("pre_tool_use", &said("ask", own), json!({}));
    preempting[0].preempt_yolo = true;
    assert_eq!(effect("pre_tool_use", &preempting).await, Effect::Insisted);
}

/// Commands that do not answer properly.
const MISBEHAVIOURS: &[&str] = &[
    "exit 1",
    "exit 127",
    "kill -9 $$",
    "no-such-program-anywhere",
    "echo '{broken'",
    "echo '{} {}'",
    "echo '{} done'",
    r#"echo '{"decision":"blok"}'"#,
    r#"echo '{"continue":"false"}'"#,
    r#"echo '{"hook_specific_output":{"permission_decision":"alow"}}'"#,
    r#"echo '{"hook_specific_output":[]}'"#,
    r#"echo '{"decision":"block","Decision":"block"}'"#,
    r"printf '\377{'",
];

/// Outputs that are answers, but too risky for a guard.
const RISKS: &[&str] = &[
    r#"echo checking; echo '{"decision":"block"}'"#,
    r#"echo 'verdict: {"decision":"block"}'"#,
    r#"printf '\033[0m{"decision":"block"}'"#,
    r#"echo '[{"decision":"block"}]'"#,
    r#"echo '"deny"'"#,
    "echo DENY",
    r#"echo '{"decison":"block"}'"#,
    r#"echo '{"permission_decision":"deny"}'"#,
    r#"echo '{"permision_decision":"deny"}'"#,
    r#"echo '{"hook_specific_output":{"decision":"block"}}'"#,
    "sleep 30 &",
];

#[tokio::test]
async fn a_guard_that_misbehaves_refuses_whatever_its_on_error_says() {
    for event in GUARDS {
        for command in MISBEHAVIOURS.iter().chain(RISKS) {
            for on_error in ["warn", "ignore"] {
                let entries = hook(event, command, json!({"on_error": on_error}));
                let effect = effect(event, &entries).await;
                assert!(
                    matches!(effect, Effect::Blocked(_)),
                    "{event}: {command}: {effect:?}"
                );
            }
        }
    }
    let slow = hook("pre_tool_use", "sleep 30", json!({"timeout": 1}));
    assert!(matches!(effect("pre_tool_use", &slow).await, Effect::Blocked(_)));
}

#[tokio::test]
async fn elsewhere_on_error_says_what_a_failure_means() {
    for event in BLOCKABLE {
        for command in MISBEHAVIOURS {
            let with = |on_error: &str| hook(event, command, json!({"on_error": on_error}));
            assert_eq!(
                effect(event, &with("warn")).await,
                Effect::Failed,
                "{event}: {command}"
            );
            assert_eq!(
                effect(event, &with("ignore")).await,
                Effect::Nothing,
                "{event}: {command}"
            );
            let effect = effect(event, &with("block")).await;
            assert!(
                matches!(effect, Effect::Blocked(_)),
                "{event}: {command}: {effect:?}"
            );
        }
    }
    for command in MISBEHAVIOURS {
        assert_eq!(
            effect("turn_end", &hook("turn_end", command, json!({}))).await,
            Effect::Failed
        );
    }
}

#[tokio::test]
async fn strict_output_is_one_whole_answer_or_nothing() {
    let fine = [
        "true",
        "echo '{}'",
        r#"echo '{"hook_specific_output":{"hook_event_name":"stop"}}'"#,
    ];
    let odd = [
        "echo text",
        "echo '[]'",
        r#"echo '{"foo":1}'"#,
        r#"echo '{"hookSpecificOutput":{"foo":1}}'"#,
        r#"echo '{"hook_specific_output":{"hook_event_name":"turn_end"}}'"#,
        r#"echo '{"hook_specific_output":{"summary":"x"}}'"#,
    ];
    for (commands, means) in [(&fine[..], Effect::Nothing), (&odd[..], Effect::Failed)] {
        for command in commands {
            let strict = hook("stop", command, json!({"strict_output": true}));
            assert_eq!(effect("stop", &strict).await, means, "{command}");
            assert_eq!(
                effect("stop", &hook("stop", command, json!({}))).await,
                Effect::Nothing,
                "{command}"
            );
        }
    }
}

#[tokio::test]
async fn text_is_context_for_the_model_a_line_for_the_person_or_nothing() {
    let said = r#"echo '{"hook_specific_output":{"additional_context":"from JSON"}}'"#;
    let turn = || TurnStartPayload {
        turn_index: 0,
        time_ms: 0,
    };
    for (command, text) in [("echo plain", "plain"), (said, "from JSON")] {
        let outcome = ask::<TurnStart>(&engine_with(&hook("turn_start", command, json!({}))), turn()).await;
        assert_eq!(outcome.reply.context.0, [text]);
        let outcome = ask::<UserPrompt>(
            &engine_with(&hook("user_prompt_submit", command, json!({}))),
            prompt(),
        )
        .await;
        assert_eq!(outcome.reply.context.0, [text]);
        let outcome = ask::<PreCompact>(
            &engine_with(&hook("pre_compact", command, json!({}))),
            compaction(),
        )
        .await;
        assert_eq!(outcome.reply.context.0, [text]);
    }
    let outcome = ask::<PostTool>(
        &engine_with(&hook("post_tool_use", "echo plain", json!({}))),
        ran("x"),
    )
    .await;
    assert_eq!(
        (outcome.reply.context.0.len(), outcome.reply.notices()),
        (0, &["plain".to_owned()][..])
    );
    let outcome = ask::<PostTool>(&engine_with(&hook("post_tool_use", said, json!({}))), ran("x")).await;
    assert_eq!(
        (outcome.reply.context.0, outcome.reply.notice.0),
        (vec!["from JSON".to_owned()], vec![])
    );
    let outcome = ask::<PreTool>(
        &engine_with(&hook("pre_tool_use", "echo plain", json!({}))),
        shell_call("ls"),
    )
    .await;
    assert!(outcome.reply.notices().is_empty() && outcome.verdict().is_none());
}

#[tokio::test]
async fn the_person_is_told_what_a_hook_says_and_once_what_is_odd() {
    let notices = async |engine: &Engine| ask::<TurnEnded>(engine, turn_end()).await.reply.notice.0;
    let engine = engine_with(&hook("turn_end", r#"echo '{"system_message":"hi"}'"#, json!({})));
    assert_eq!(notices(&engine).await, ["hi"]);
    let quiet = r#"echo '{"systemMessage":"hi","suppressOutput":true}'; echo no >&2"#;
    assert!(
        notices(&engine_with(&hook("turn_end", quiet, json!({}))))
            .await
            .is_empty()
    );
    let odd = r#"echo '{"decision":"block","decsion":1,"hook_specific_output":{"summary":"x"}}'; echo 'jq: not found' >&2"#;
    let engine = engine_with(&hook("turn_end", odd, json!({"name": "my hook"})));
    assert_eq!(
        notices(&engine).await,
        [
            "hook my hook printed to stderr: jq: not found",
            "hook my hook: `decsion` is no field of an answer; did you mean `decision`?",
            "hook my hook: `decision` means nothing at turn_end",
            "hook my hook: `summary` means nothing at turn_end",
        ]
    );
    assert!(notices(&engine).await.is_empty(), "told once");
}

#[tokio::test]
async fn rewriters_compose_and_keep_the_other_arguments() {
    // Each sees the result of the one before it.
    let add = |flag: &str| {
        format!(
            r#"cmd=$(sed 's/.*"cmd":"\([^"]*\)".*/\1/'); echo '{{"hook_specific_output":{{"updated_input":{{"cmd":"'"$cmd"' {flag}"}}}}}}'"#
        )
    };
    for event in ["pre_tool_use", "tool_input_transform"] {
        let mut both = hook(event, &add("-l"), json!({}));
        both.extend(hook(event, &add("-h"), json!({})));
        let outcome = ask::<PreTool>(&engine_with(&both), shell_call("ls")).await;
        assert_eq!(outcome.verdict(), None, "{event}");
        assert_eq!(
            Value::Object(outcome.reply.arguments.0.unwrap()),
            json!({"command": "ls -l -h", "timeout_seconds": 5}),
            "{event}"
        );
    }
    let wrong = r#"echo '{"hook_specific_output":{"updated_input":{"sudo":true}}}'"#;
    let effect = effect("pre_tool_use", &hook("pre_tool_use", wrong, json!({}))).await;
    assert!(matches!(effect, Effect::Blocked(reason) if reason.contains("sudo")));
}

#[tokio::test]
async fn the_phases_of_a_call_have_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let note = |what: &str| format!("echo {what} >> {}", log.display());
    let mut all = hook("pre_tool_use", &note("use"), json!({}));
    let mut early = hook("pre_tool_use", &note("preempt"), json!({}));
    early[0].preempt_yolo = true;
    all.extend(early);
    all.extend(hook("tool_guard", &note("guard"), json!({})));
    all.extend(hook("tool_input_transform", &note("transform"), json!({})));
    ask::<PreTool>(&engine_with(&all), shell_call("ls")).await;
    assert_eq!(
        std::fs::read_to_string(&log).unwrap(),
        "transform\nguard\npreempt\nuse\n"
    );
    std::fs::remove_file(&log).unwrap();
    let mut all = hook("before_compaction", &note("before"), json!({}));
    all.extend(hook(
        "pre_compact",
        &format!("{}; exit 2", note("pre")),
        json!({}),
    ));
    ask::<PreCompact>(&engine_with(&all), compaction()).await;
    assert_eq!(
        std::fs::read_to_string(&log).unwrap(),
        "pre\n",
        "refused before the second is asked"
    );
}

#[tokio::test]
async fn outputs_messages_and_summaries_are_rewritten() {
    let output = |text: &str| PreToolOutputPayload {
        tool_source: "builtin".into(),
        tool_call_id: "c1".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: Some(OperationKind::Shell),
        arguments: Map::new(),
        content: vec![Part::text(text)],
        is_error: false,
        ran: true,
        details: Value::Null,
        duration_ms: 0,
    };
    let clear = r#"echo '{"hook_specific_output":{"updated_tool_response":""}}'"#;
    let engine = engine_with(&hook("tool_response_transform", clear, json!({})));
    let outcome = ask::<PreToolOutput>(&engine, output("secret")).await;
    assert_eq!(outcome.reply.content.0, Some(vec![Part::text("")]));
    let add = r#"echo '{"hookSpecificOutput":{"updatedMessages":[{"role":"user","content":"be kind"}]}}'"#;
    let outcome =
        ask::<ModelContext>(&engine_with(&hook("before_llm_call", add, json!({}))), request()).await;
    assert_eq!(outcome.reply.messages.0.unwrap()[0].text(), "be kind");
    let none = r#"echo '{"hook_specific_output":{"updated_messages":[]}}'"#;
    let outcome =
        ask::<ModelContext>(&engine_with(&hook("before_llm_call", none, json!({}))), request()).await;
    assert!(outcome.reply.messages.0.is_none());
    let mut summaries = Vec::new();
    for text in ["one", "two"] {
        let command = format!(r#"echo '{{"hookSpecificOutput":{{"summary":"{text}"}}}}'"#);
        summaries.extend(hook("before_compaction", &command, json!({})));
    }
    let outcome = ask::<PreCompact>(&engine_with(&summaries), compaction()).await;
    assert_eq!(outcome.reply.summary.0.unwrap().text, "one");
}

#[tokio::test]
async fn ten_hooks_beside_each_other_fold_in_the_order_of_the_file() {
    let hooks: Vec<Value> = (1..=10)
        .map(|number| json!({"type": "builtin", "command": "add_recent_commits", "args": [number.to_string()]}))
        .collect();
    let engine = engine_with(&entries(&json!({"session_start": hooks}).to_string()));
    let expected: Vec<String> = (1..=10).map(|number| number.to_string()).collect();
    for _ in 0..1_000 {
        let outcome = ask::<SessionStart>(&engine, session()).await;
        assert_eq!(outcome.reply.context.0, expected);
    }
}

fn session() -> SessionStartPayload {
    SessionStartPayload {
        reason: StartReason::Resume,
        home: String::new(),
        project_root: String::new(),
        tool_count: 0,
        tools: Vec::new(),
        message_count: 0,
        previous_session_id: None,
        previous_session_file: None,
    }
}

#[tokio::test]
async fn hooks_count_for_their_agent_and_guards_for_those_below() {
    let deny = "echo no >&2; exit 2";
    let in_agent = |agent: &str, above: &[&str]| Scope {
        agent_name: agent.into(),
        agents_above: above.iter().map(ToString::to_string).collect(),
        ..scope()
    };
    let root = Owner::Agent {
        name: "root".into(),
        depth: 0,
    };
    let child = Owner::Agent {
        name: "child".into(),
        depth: 1,
    };
    let engine = engine_for(&hook("pre_tool_use", deny, json!({})), &root, &Arc::default());
    for (scope, refused) in [
        (in_agent("root", &[]), true),
        (in_agent("child", &["root"]), true),
        (in_agent("grandchild", &["root", "child"]), true),
        (in_agent("other", &["stranger"]), false),
    ] {
        let outcome = engine.dispatch::<PreTool>(&scope, || shell_call("ls")).await;
        assert_eq!(outcome.denied().is_some(), refused, "{scope:?}");
    }
    let engine = engine_for(
        &hook("user_prompt_submit", deny, json!({})),
        &root,
        &Arc::default(),
    );
    let outcome = engine
        .dispatch::<UserPrompt>(&in_agent("child", &["root"]), prompt)
        .await;
    assert!(outcome.denied().is_none(), "only guards are inherited");
    let engine = Engine::new(None);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    for (owner, word) in [(&child, "child"), (&Owner::Everybody, "all"), (&root, "root")] {
        let note = format!("echo {word} >> {}", log.display());
        register(
            &engine,
            &hook("tool_guard", &note, json!({})),
            owner,
            &host(&Arc::default()),
        );
    }
    engine
        .dispatch::<PreTool>(&in_agent("child", &["root"]), || shell_call("ls"))
        .await;
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "root\nchild\nall\n");
}

#[tokio::test]
async fn who_gives_the_word_away_hears_of_it() {
    let owner = Owner::Agent {
        name: "root".into(),
        depth: 0,
    };
    let note = r#"echo '{"system_message":"heard"}'"#;
    let engine = engine_for(&hook("on_agent_switch", note, json!({})), &owner, &Arc::default());
    let switch = |from: &str, to: &str, kind| AgentSwitchPayload {
        from_agent: from.into(),
        to_agent: to.into(),
        kind,
        from_models: Vec::new(),
    };
    for (payload, heard) in [
        (switch("root", "child", SwitchKind::Transfer), true),
        (switch("child", "root", SwitchKind::Return), true),
        (switch("root", "other", SwitchKind::Handoff), true),
        (switch("child", "other", SwitchKind::Handoff), false),
    ] {
        let told = format!("{payload:?}");
        let outcome = ask::<AgentSwitch>(&engine, payload).await;
        assert_eq!(outcome.reply.notices().len() == 1, heard, "{told}");
    }
}

#[tokio::test]
async fn a_matcher_speaks_about_the_whole_name_here() {
    for (matcher, matches) in [
        ("shell", true),
        ("*", true),
        ("", true),
        ("shell|edit_file", true),
        ("sh.*", true),
        ("she", false),
        ("edit_file", false),
        ("bash", false),
    ] {
        let mut entries = hook("pre_tool_use", "exit 2", json!({}));
        entries[0].matcher = Some(matcher.into());
        // The name that the model uses does not matter.
        let mut call = shell_call("ls");
        call.called_as = "bash".into();
        let outcome = ask::<PreTool>(&engine_with(&entries), call).await;
        assert_eq!(outcome.denied().is_some(), matches, "{matcher}");
    }
    let mut entries = hook("pre_tool_use", "exit 2", json!({}));
    entries[0].matcher = Some("github_.*".into());
    let mut call = shell_call("ls");
    (call.tool_name, call.called_as, call.operation) = ("github_search".into(), "github_search".into(), None);
    assert!(
        ask::<PreTool>(&engine_with(&entries), call)
            .await
            .denied()
            .is_some()
    );
}

#[tokio::test]
async fn hooks_that_are_the_same_run_once_and_any_difference_counts() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let note = format!("echo x >> {}", log.display());
    let mut all = hook("turn_end", &note, json!({}));
    all.extend(hook("turn_end", &note, json!({})));
    all.extend(hook("turn_end", &note, json!({"env": {"A": "b"}})));
    ask::<TurnEnded>(&engine_with(&all), turn_end()).await;
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "x\nx\n");
}

/// The input of a hook, which the hook writes into a file.
async fn read_by<E: Event>(event: &str, payload: E::Payload) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input");
    let engine = engine_with(&hook(event, &format!("cat > {}", file.display()), json!({})));
    ask::<E>(&engine, payload).await;
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[tokio::test]
async fn what_a_hook_reads_survives_the_echo_of_its_shell() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("echoed");
    let words = "a\nb\t\"c\" \\n \\\\ \u{7}\u{1b}[0m ä 'd' \\u0041 \\c $HOME";
    for shell in ["/bin/sh", "/bin/bash", "/bin/dash"] {
        let command = format!("INPUT=$(cat); echo \"$INPUT\" > {}", file.display());
        let engine = Engine::new(None);
        let host = HookHost {
            shell: Some(shell.into()),
            ..host(&Arc::default())
        };
        let entries = hook("user_prompt_submit", &command, json!({}));
        register(&engine, &entries, &Owner::Everybody, &host);
        let payload = UserPromptPayload {
            prompt: words.into(),
            ..prompt()
        };
        ask::<UserPrompt>(&engine, payload).await;
        let echoed = std::fs::read_to_string(&file).unwrap();
        let read: Value =
            serde_json::from_str(&echoed).unwrap_or_else(|error| panic!("{shell}: {error}: {echoed}"));
        assert_eq!(read["prompt"], words, "{shell}");
    }
}

#[tokio::test]
async fn hooks_read_the_fields_of_their_event() {
    let read = read_by::<PreTool>("pre_tool_use", shell_call("ls")).await;
    let cwd = scope().cwd;
    assert_eq!(
        read,
        json!({
            "session_id": "s1", "cwd": cwd, "hook_event_name": "pre_tool_use", "agent_name": "root",
            "tool_name": "shell", "tool_use_id": "c1", "tool_input": {"cmd": "ls", "timeout": 5},
            "tool_category": "shell", "safety_policy": "balanced",
        })
    );
    let read = read_by::<PostTool>("post_tool_use", ran("")).await;
    assert_eq!(
        (&read["tool_response"], read.get("tool_error")),
        (&json!(""), None)
    );
    let failed = PostToolPayload {
        is_error: true,
        ..ran("bad")
    };
    let read = read_by::<PostTool>("post_tool_use", failed).await;
    assert_eq!(
        (&read["tool_response"], &read["tool_error"]),
        (&json!("bad"), &json!(true))
    );
    assert_eq!(
        read_by::<SessionStart>("session_start", session()).await["source"],
        "resume"
    );
    assert_eq!(
        read_by::<PreCompact>("pre_compact", compaction()).await["source"],
        "tool_overflow"
    );
    let read = read_by::<PreCompact>("before_compaction", compaction()).await;
    assert_eq!(
        (&read["compaction_reason"], &read["input_tokens"]),
        (&json!("threshold"), &json!(90))
    );
    assert_eq!(
        (&read["context_limit"], read.get("output_tokens")),
        (&json!(100), None)
    );
    let read = read_by::<ModelContext>("before_llm_call", request()).await;
    assert_eq!(
        (&read["model_id"], &read["iteration"]),
        (&json!("openai/gpt"), &json!(1))
    );
    let read = read_by::<Stop>("stop", stopping()).await;
    assert_eq!(
        (&read["stop_response"], &read["last_user_message"]),
        (&json!("done"), &json!("hello"))
    );
}

#[tokio::test]
// tidy: a table
async fn the_rarer_fields_are_there_too() {
    let child = PostSubagentPayload {
        subagent_name: Some("child".into()),
        subagent_session_id: Some("s2".into()),
        system_prompt: String::new(),
        input: String::new(),
        subagent_model: String::new(),
        response: "found".into(),
        error: None,
        usage: Usage::default(),
    };
    let read = read_by::<PostSubagent>("subagent_stop", child).await;
    assert_eq!(
        (&read["session_id"], &read["parent_session_id"]),
        (&json!("s2"), &json!("s1"))
    );
    assert_eq!(
        (&read["agent_name"], &read["stop_response"]),
        (&json!("child"), &json!("found"))
    );
    let response = ResponsePayload {
        text: "hi".into(),
        prompt: "hello".into(),
        stop_reason: StopReason::Stop,
        tool_call_count: 0,
        usage: Usage {
            input_tokens: 3,
            cost: Some(0.0),
            ..Usage::default()
        },
        duration_ms: 1,
        iteration: 1,
        purpose: RequestPurpose::Answer,
    };
    let read = read_by::<Response>("after_llm_call", response).await;
    assert_eq!(
        (&read["usage"]["input_tokens"], &read["cost"]),
        (&json!(3), &json!(0.0))
    );
    let switch = AgentSwitchPayload {
        from_agent: "root".into(),
        to_agent: "child".into(),
        kind: SwitchKind::Transfer,
        from_models: vec![AgentModel {
            provider: "openai".into(),
            model: "gpt".into(),
            base_url: None,
        }],
    };
    let read = read_by::<AgentSwitch>("on_agent_switch", switch).await;
    assert_eq!(read["agent_switch_kind"], "transfer_task");
    assert_eq!(
        read["from_agent_models"],
        json!([{"provider": "openai", "model": "gpt"}])
    );
    let steering = SteeringPayload {
        messages: vec!["a".into(), "b".into()],
    };
    let read = read_by::<Steering>("user_steering_messages_submit", steering).await;
    assert_eq!(read["steering_messages"], json!(["a", "b"]));
    let raised = LimitRaisedPayload {
        previous_limit: 8,
        new_limit: 18,
    };
    let read = read_by::<LimitRaised>("on_session_resume", raised).await;
    assert_eq!(
        (&read["previous_max_iterations"], &read["new_max_iterations"]),
        (&json!(8), &json!(18))
    );
    let decided = ApprovalDecidedPayload {
        tool_call_id: "c1".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: Some(OperationKind::Shell),
        arguments: object(json!({"command": "ls"})),
        decision: ApprovalDecision::Deny,
        source: ApprovalSource::Hook,
        handlers: Vec::new(),
        reason: None,
    };
    let read = read_by::<ApprovalDecided>("on_tool_approval_decision", decided).await;
    assert_eq!(
        (&read["approval_decision"], &read["approval_source"]),
        (&json!("deny"), &json!("pre_tool_use_hook_deny"))
    );
}

#[tokio::test]
async fn all_seven_reasons_of_a_turns_end_are_told() {
    let table = [
        (TurnEnd::Normal, "normal"),
        (TurnEnd::Continue, "continue"),
        (TurnEnd::Steered, "steered"),
        (TurnEnd::Error, "error"),
        (TurnEnd::Cancelled, "canceled"),
        (TurnEnd::HookBlocked, "hook_blocked"),
        (TurnEnd::LoopDetected, "loop_detected"),
        (TurnEnd::Limit, "continue"),
    ];
    for (reason, word) in table {
        let payload = TurnEndedPayload { reason, ..turn_end() };
        assert_eq!(read_by::<TurnEnded>("turn_end", payload).await["reason"], word);
    }
}

#[tokio::test]
async fn a_hooks_surroundings_are_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let entry =
        json!({"env": {"MINE": "v-${env.FROM_HOST}", "RAW": "pa$$word"}, "working_dir": folder.path()});
    let entries = hook("post_tool_use", r#"echo "$PWD|$MINE|$RAW|$FROM_HOST""#, entry);
    let outcome = ask::<PostTool>(&engine_with(&entries), ran("x")).await;
    let place = folder.path().canonicalize().unwrap();
    assert_eq!(
        outcome.reply.notice.0,
        [format!("{}|v-yes|pa$$word|yes", place.display())]
    );
}

#[tokio::test]
async fn builtins_and_judges_answer_like_commands() {
    let stage = Arc::new(Stage::default());
    let guard = "pre_tool_use: [{hooks: [{type: builtin, command: redact_secrets}]}]";
    let engine = engine_for(&entries(guard), &Owner::Everybody, &stage);
    *stage.answer.lock().unwrap() = Some(Ok(Output {
        updated_input: Some(object(json!({"cmd": "echo [REDACTED]"}))),
        ..Output::default()
    }));
    let outcome = ask::<PreTool>(&engine, shell_call("echo token")).await;
    assert_eq!(outcome.reply.arguments.0.unwrap()["command"], "echo [REDACTED]");
    *stage.answer.lock().unwrap() = Some(Err("broken".into()));
    assert!(
        ask::<PreTool>(&engine, shell_call("ls"))
            .await
            .denied()
            .unwrap()
            .contains("broken")
    );

    let judge = "pre_tool_use: [{hooks: [{type: model, model: m, schema: pre_tool_use_decision, \
                 prompt: 'may {{ .ToolName }} run {{ .ToolInput.cmd }}?'}]}]";
    let engine = engine_for(&entries(judge), &Owner::Everybody, &stage);
    *stage.judgement.lock().unwrap() = Some(Ok(r#"{"decision":"deny","reason":"no"}"#.into()));
    let outcome = ask::<PreTool>(&engine, shell_call("ls")).await;
    assert_eq!(outcome.denied(), Some("no"));
    assert_eq!(outcome.reply.notice.0, ["🤖 model judge: deny — no"]);
    assert_eq!(
        stage.asked.lock().unwrap().last().unwrap(),
        "m: may shell run ls?"
    );
    for odd in [Ok("I do not know".into()), Err("no model".into())] {
        *stage.judgement.lock().unwrap() = Some(odd);
        assert!(ask::<PreTool>(&engine, shell_call("ls")).await.denied().is_some());
    }
    *stage.judgement.lock().unwrap() = Some(Ok("a note".into()));
    let note = "user_prompt_submit: {type: model, model: m, prompt: '{{ .Prompt }}'}";
    let engine = engine_for(&entries(note), &Owner::Everybody, &stage);
    assert_eq!(
        ask::<UserPrompt>(&engine, prompt()).await.reply.context.0,
        ["a note"]
    );
    let own = "turn_start: {type: builtin, command: add_context, args: ['in {{ .SessionID }}', ' ']}";
    let engine = engine_for(&entries(own), &Owner::Everybody, &stage);
    let turn = TurnStartPayload {
        turn_index: 0,
        time_ms: 0,
    };
    assert_eq!(ask::<TurnStart>(&engine, turn).await.reply.context.0, ["in s1"]);
}

#[test]
fn what_is_odd_about_a_hook_is_remarked_on() {
    let engine = Engine::new(None);
    let entries = hook("turn_end", "true", json!({"working_dir": "$NOWHERE/x"}));
    let remarks = register(&engine, &entries, &Owner::Everybody, &host(&Arc::default()));
    assert_eq!(
        remarks,
        ["agent.yaml:1: the variable NOWHERE is not set, so it is replaced by nothing"]
    );
}
