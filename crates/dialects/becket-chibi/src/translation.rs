//! Tests of both directions: the input of plugins, and the meaning of their answers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use becket_events::{
    Adjust, CompactReason, CompactScope, Event, Fallback, Intersect, Json, OperationKind, Part, PostCompact,
    PostCompactPayload, PreCache, PreCachePayload, PreFetch, PreFetchPayload, PreFileWrite,
    PreFileWritePayload, PreMessageDelivery, PreMessageDeliveryPayload, PreRequest, PreRequestPayload,
    PreSubagent, PreSubagentPayload, PreTool, PreToolOutput, PreToolOutputPayload, PreToolPayload,
    RequestForm, RequestPurpose, ToolBatch, ToolBatchPayload, ToolOffer, ToolsOffered, ToolsOfferedPayload,
    Verdict,
};
use becket_hooks::{Cause, Failure, Finished};
use serde_json::{Map, Value, json};

use super::answer::AnswerFields;
use super::plugin::{Generation, HostFacts};
use super::situation::Situation;
use super::words::Words;
use super::{read, show};

type Show<E> = fn(&Situation<'_, E>) -> String;
type Read<E> = fn(&Situation<'_, E>, AnswerFields) -> Result<<E as Event>::Reply, Failure>;

fn within<E: Event, T>(
    generation: Generation,
    payload: &E::Payload,
    look: impl FnOnce(&Situation<'_, E>) -> T,
) -> T {
    let host = HostFacts {
        chibi_home: PathBuf::from("/home/me/chibi"),
        project_root: PathBuf::from("/work"),
        hook_timeout: Duration::from_secs(30),
        environment: Arc::new(BTreeMap::new()),
        terminal: None,
        verbose: false,
    };
    look(&Situation {
        host: &host,
        plugin: "the_plugin",
        words: Words::of(generation),
        context_name: "default",
        payload,
    })
}

fn shown<E: Event>(show: Show<E>, payload: &E::Payload) -> Value {
    within(Generation::Newer, payload, |at| {
        serde_json::from_str(&show(at)).unwrap()
    })
}

fn answered<E: Event>(read: Read<E>, payload: &E::Payload, answer: Value) -> Result<E::Reply, Failure> {
    let finished = Finished {
        stdout: answer.to_string().into_bytes(),
        stderr: String::new(),
        code: 0,
        complete: true,
    };
    let answer = AnswerFields::read(becket_events::Class::Guard, &finished).unwrap();
    within(Generation::Newer, payload, |at| read(at, answer))
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn shell_call() -> PreToolPayload {
    PreToolPayload {
        tool_source: "builtin".into(),
        tool_call_id: "1".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: Some(OperationKind::Shell),
        arguments: object(json!({"command": "ls", "timeout_seconds": 5})),
        parent_tool_call_id: None,
    }
}

#[test]
fn a_call_is_shown_in_chibis_words_and_a_rewrite_is_translated_back() {
    let payload = shell_call();
    let call = shown::<PreTool>(show::pre_tool, &payload);
    assert_eq!(
        call,
        json!({"tool_name": "shell_exec", "arguments": {"command": "ls", "timeout_secs": 5}})
    );
    let reply = answered::<PreTool>(
        read::call,
        &payload,
        json!({"arguments": {"command": "ls -l", "timeout_secs": "7"}}),
    )
    .unwrap();
    assert_eq!(
        Value::Object(reply.arguments.get().unwrap()),
        json!({"command": "ls -l", "timeout_seconds": 7})
    );
}

#[test]
fn arguments_that_the_tool_does_not_know_are_a_failure() {
    let failure = answered::<PreTool>(
        read::call,
        &shell_call(),
        json!({"arguments": {"command": "ls", "sudo": true}}),
    )
    .unwrap_err();
    assert_eq!(failure.cause, Cause::WrongShape);
    assert!(failure.detail.contains("sudo"), "{}", failure.detail);
}

#[test]
fn a_block_beats_arguments_and_has_words_even_without_a_message() {
    let reply = answered::<PreTool>(
        read::call,
        &shell_call(),
        json!({"block": true, "arguments": {"command": "x"}}),
    )
    .unwrap();
    assert_eq!(
        reply.verdict.0,
        Some(Verdict::Deny("Tool call blocked by hook".into()))
    );
    assert_eq!(reply.arguments.get(), None);
    for answer in [
        json!({"denied": true, "reason": "no"}),
        json!({"approved": false, "message": "no", "arguments": {"command": "x"}}),
    ] {
        let reply = answered::<PreTool>(read::call, &shell_call(), answer).unwrap();
        assert_eq!(reply.verdict.0, Some(Verdict::Deny("no".into())));
        assert_eq!(reply.arguments.get(), None);
    }
    let silent = json!({"denied": false, "approved": true, "reason": 5});
    let reply = answered::<PreTool>(read::call, &shell_call(), silent).unwrap();
    assert_eq!(reply.verdict.0, None);
    let unclear = answered::<PreTool>(read::call, &shell_call(), json!({"denied": "true"}));
    assert_eq!(unclear.unwrap_err().cause, Cause::WrongShape);
}

#[test]
fn a_tool_of_a_plugin_keeps_its_name_and_arguments() {
    let payload = PreToolPayload {
        tool_name: "weather".into(),
        called_as: "weather".into(),
        operation: None,
        arguments: object(json!({"town": "Ulm"})),
        ..shell_call()
    };
    let call = shown::<PreTool>(show::pre_tool, &payload);
    assert_eq!(
        call,
        json!({"tool_name": "weather", "arguments": {"town": "Ulm"}})
    );
    let reply = answered::<PreTool>(read::call, &payload, json!({"arguments": {"town": "Bonn"}})).unwrap();
    assert_eq!(
        Value::Object(reply.arguments.get().unwrap()),
        json!({"town": "Bonn"})
    );
}

#[test]
fn new_words_of_an_output_leave_its_pictures_and_a_block_leaves_nothing() {
    let picture = Part::Image {
        media_type: "image/png".into(),
        data: "AA==".into(),
    };
    let payload = PreToolOutputPayload {
        tool_source: "builtin".into(),
        tool_call_id: "1".into(),
        tool_name: "read".into(),
        called_as: "read".into(),
        operation: Some(OperationKind::Read),
        arguments: object(json!({"path": "a.png"})),
        content: vec![Part::text("old"), picture.clone()],
        is_error: false,
        ran: true,
        details: Value::Null,
        duration_ms: 0,
    };
    let output = |answer| answered::<PreToolOutput>(read::output, &payload, answer).unwrap();
    let rewritten = output(json!({"output": "new"})).content.get();
    assert_eq!(rewritten, Some(vec![Part::text("new"), picture]));
    let withheld = output(json!({"output": "new", "block": true, "message": "gone"}));
    assert_eq!(withheld.withheld.get().as_deref(), Some("gone"));
    assert_eq!(withheld.content.get(), None);
    assert_eq!(output(json!({})).content.get(), None);
}

fn offer(name: &str, operation: Option<OperationKind>) -> ToolOffer {
    ToolOffer {
        name: name.into(),
        operation,
        source: "builtin".into(),
    }
}

#[test]
fn a_tool_is_offered_while_one_of_its_names_survives() {
    let payload = ToolsOfferedPayload {
        tools: vec![
            offer("shell", Some(OperationKind::Shell)),
            offer("grep", Some(OperationKind::Grep)),
            offer("weather", None),
        ],
        fuel_remaining: None,
        fuel_total: None,
        continuation: 0,
    };
    let list = shown::<ToolsOffered>(show::pre_api_tools, &payload);
    let names: Vec<&str> = list["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["shell_exec", "grep_files", "file_grep", "weather"]);
    assert_eq!(
        list.get("fuel_remaining"),
        None,
        "without a limit there is no fuel"
    );

    let choice = |answer| answered::<ToolsOffered>(read::choice_of_tools, &payload, answer).unwrap();
    let one_name_less = choice(json!({"exclude": ["file_grep"]}));
    assert_eq!(one_name_less.exclude.0, Vec::<String>::new());
    let all_names_less = choice(json!({"exclude": ["file_grep", "grep_files"]}));
    assert_eq!(all_names_less.exclude.0, ["grep"]);
    let only = choice(json!({"include": ["file_grep", "weather"], "exclude": ["weather"]}));
    assert_eq!(only.include, Intersect(Some(vec!["grep".to_owned()])));
    let none = choice(json!({"include": []}));
    assert_eq!(none.include, Intersect(Some(Vec::new())));
    let unknown = choice(json!({"exclude": ["no_such_tool"]}));
    assert!(unknown.exclude.0.is_empty() && unknown.include.0.is_none());
}

#[test]
fn a_body_keeps_what_the_answer_does_not_name_byte_for_byte() {
    let payload = PreRequestPayload {
        provider: "openai".into(),
        body: Json::parse(r#"{"model":"m", "temperature":1.0, "messages":[ ]}"#.into()).unwrap(),
        headers: Vec::new(),
        form: RequestForm::Wire,
        purpose: RequestPurpose::Answer,
        iteration: 1,
        fuel_remaining: Some(3),
        fuel_total: Some(5),
        continuation: 2,
    };
    let request = shown::<PreRequest>(show::pre_api_request, &payload);
    assert_eq!(
        request,
        json!({
            "context_name": "default",
            "request_body": {"model": "m", "temperature": 1.0, "messages": []},
            "fuel_remaining": 3,
            "fuel_total": 5,
            "recursion_depth": 2,
        })
    );
    let reply = answered::<PreRequest>(
        read::request_body,
        &payload,
        json!({"request_body": {"temperature": 0.1, "max_tokens": 9}}),
    )
    .unwrap();
    let body = reply.body.get().unwrap();
    assert_eq!(
        body.text(),
        r#"{"model":"m","temperature":0.1,"messages":[ ],"max_tokens":9}"#
    );
}

#[test]
fn fuel_is_set_and_then_added_to() {
    let payload = ToolBatchPayload {
        tool_calls: Vec::new(),
        fuel_remaining: Some(10),
        fuel_total: Some(10),
        fallback: Fallback::CallAgent,
    };
    let batch = |answer| answered::<ToolBatch>(read::tool_batch, &payload, answer);
    let reply = batch(json!({"fallback": "call_user", "fuel_delta": -5})).unwrap();
    assert_eq!(
        (reply.fallback.get(), reply.fuel),
        (Some(Fallback::CallUser), Adjust::add(-5))
    );
    let reply = batch(json!({"fuel": 3, "fuel_delta": 2})).unwrap();
    assert_eq!(reply.fuel.apply(10), 5);
    assert!(batch(json!({"fallback": "nobody"})).is_err());
}

#[test]
fn a_denial_has_four_spellings_and_nothing_else_denies() {
    let payload = PreFileWritePayload {
        tool_call_id: "1".into(),
        tool_name: "edit".into(),
        called_as: "edit".into(),
        path: "/work/a".into(),
        content: None,
        edits: Vec::new(),
        lines: Vec::new(),
        inside: true,
    };
    assert_eq!(
        shown::<PreFileWrite>(show::pre_file_write, &payload),
        json!({"tool_name": "file_edit", "path": "/work/a", "content": null})
    );
    let verdict = |answer| {
        let reply = answered::<PreFileWrite>(read::denied_writing, &payload, answer).unwrap();
        reply.verdict.0
    };
    let deny = |reason: &str| Some(Verdict::Deny(reason.into()));
    assert_eq!(verdict(json!({"denied": true, "reason": "no"})), deny("no"));
    assert_eq!(verdict(json!({"denied": true})), deny("denied by plugin"));
    assert_eq!(verdict(json!({"approved": false, "reason": "no"})), deny("no"));
    assert_eq!(
        verdict(json!({"approved": true})),
        None,
        "a plugin's yes is not the user's"
    );
    assert_eq!(verdict(json!({"denied": false})), None);
    assert_eq!(verdict(json!({"block": true, "message": "no"})), deny("no"));
    assert_eq!(
        verdict(json!({"denied": false, "block": true, "message": "no", "reason": "never"})),
        deny("never"),
        "the safer meaning counts"
    );
    assert_eq!(verdict(json!({"block": false, "message": "no"})), None);
}

#[test]
fn an_address_and_the_lack_of_one_are_shown_differently() {
    let payload = |url: Option<&str>| PreFetchPayload {
        tool_call_id: "1".into(),
        tool_name: "fetch".into(),
        called_as: "fetch".into(),
        url: url.map(Into::into),
        sensitive: url.map(|_| "loopback".into()),
        addresses: vec!["127.0.0.1".into()],
        redirected_from: None,
        call_summary: Some("what it does".into()),
    };
    assert_eq!(
        shown::<PreFetch>(show::pre_fetch_url, &payload(Some("http://localhost/"))),
        json!({
            "tool_name": "fetch_url",
            "url": "http://localhost/",
            "safety": "sensitive",
            "reason": "loopback address",
        })
    );
    assert_eq!(
        shown::<PreFetch>(show::pre_fetch_url, &payload(None)),
        json!({"tool_name": "fetch_url", "safety": "no_url", "summary": "what it does"})
    );
}

#[test]
fn a_subagents_answer_beats_a_block_and_a_delivery_names_its_means() {
    let payload = PreSubagentPayload {
        subagent_name: None,
        system_prompt: "s".into(),
        input: "i".into(),
        subagent_model: "m".into(),
        tools: Vec::new(),
        depth: 1,
        temperature: None,
        max_tokens: None,
    };
    let reply =
        answered::<PreSubagent>(read::subagent, &payload, json!({"response": "r", "block": true})).unwrap();
    assert_eq!(
        (reply.response.get(), reply.verdict.0),
        (Some("r".to_owned()), None)
    );
    let reply =
        answered::<PreSubagent>(read::subagent, &payload, json!({"block": true, "message": "m"})).unwrap();
    assert_eq!(reply.verdict.0, Some(Verdict::Deny("m".into())));
    for answer in [
        json!({"denied": true, "reason": "r"}),
        json!({"approved": false, "reason": "r"}),
    ] {
        let reply = answered::<PreSubagent>(read::subagent, &payload, answer).unwrap();
        assert_eq!(reply.verdict.0, Some(Verdict::Deny("r".into())));
    }

    let payload = PreMessageDeliveryPayload {
        from: "a".into(),
        to: "b".into(),
        content: "c".into(),
    };
    let via = |answer| {
        let reply = answered::<PreMessageDelivery>(read::delivery, &payload, answer).unwrap();
        reply.delivered.get().map(|delivery| delivery.via)
    };
    assert_eq!(
        via(json!({"delivered": true, "via": "pigeon"})).as_deref(),
        Some("pigeon")
    );
    assert_eq!(via(json!({"delivered": true})).as_deref(), Some("the_plugin"));
    assert_eq!(via(json!({"via": "pigeon"})), None);
}

#[test]
fn the_cache_knows_what_the_document_and_what_the_program_promises() {
    let payload = PreCachePayload {
        tool_call_id: "1".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        arguments: object(json!({"command": "ls"})),
        content: "a\nb".into(),
        output_size: 3,
        char_count: 3,
        line_count: 2,
    };
    assert_eq!(
        shown::<PreCache>(show::pre_cache_output, &payload),
        json!({
            "tool_name": "shell_exec", "arguments": {"command": "ls"}, "content": "a\nb",
            "output_size": 3, "char_count": 3, "line_count": 2,
        })
    );
    let reply = answered::<PreCache>(read::cache, &payload, json!({"summary": "two lines"})).unwrap();
    assert_eq!(
        (reply.summary.get().as_deref(), reply.cache.get()),
        (Some("two lines"), None)
    );
    let reply = answered::<PreCache>(read::cache, &payload, json!({"block": true})).unwrap();
    assert_eq!(reply.cache.get(), Some(false));
}

#[test]
fn a_compaction_tells_both_numbers() {
    let payload = PostCompactPayload {
        reason: CompactReason::Threshold,
        scope: CompactScope::Rolling,
        message_count_before: 20,
        message_count: 8,
        summary: "s".into(),
        entry_id: String::new(),
        parent_id: None,
        first_kept_id: None,
        details: None,
        by_hook: false,
        input_tokens: 0,
        output_tokens: 0,
        context_limit: None,
    };
    assert_eq!(
        shown::<PostCompact>(show::post_rolling_compact, &payload),
        json!({"context_name": "default", "message_count": 8, "messages_archived": 12, "summary": "s"})
    );
    assert_eq!(
        shown::<PostCompact>(show::post_compact, &payload),
        json!({"context_name": "default", "message_count": 20, "message_count_after": 8, "summary": "s"})
    );
}
