//! Interceptors of AGENT-HOOKS: as programs, as workers, with approvals, in the audit log; and the standard's vectors.

use serde_json::{Value, json};
use testkit::{Finished, Room, fetched_from_pypi, needs};

use crate::room;
use crate::terminal::Terminal;

/// The standard's own vectors are fetched at test time, and are no part of this repository.
const PACKAGE: &str = "agent-hooks-sdk==0.1.0b3";

/// The conversation of most tests: one command, and an answer.
fn one_call() -> Value {
    json!([
        {"tool_calls": [{"id": "call-1", "name": "shell", "arguments": {"command": "echo made > made"}}]},
        {"text": "the answer"},
    ])
}

/// An interceptor whose deny of a call can be lifted, and one that allows everything.
const LIFTABLE: &str = "[[agent_hooks.interceptor]]\nname = \"ask\"\nat = [\"pre_tool_call\"]\n\
    command = '''echo '{\"decision\": \"deny\", \"reason\": \"ask_first\", \"approval\": {}}' '''\n\
    [[agent_hooks.interceptor]]\nname = \"fine\"\ncommand = '''echo '{\"decision\": \"allow\"}' '''\n";

/// An interceptor that allows everything.
const ALLOWED: &str =
    "[[agent_hooks.interceptor]]\nname = \"fine\"\ncommand = '''echo '{\"decision\": \"allow\"}' '''\n";

/// The same, at all points but calls.
const ELSEWHERE: &str = "[[agent_hooks.interceptor]]\nname = \"fine\"\ncommand = '''echo '{\"decision\": \"allow\"}' '''\n\
    at = [\"agent_startup\", \"input\", \"pre_model_call\", \"post_model_call\", \"post_tool_call\", \"output\", \
    \"agent_shutdown\"]\n";

fn set_up(room: &Room, settings: &str) {
    room.config(&format!("[agent_hooks]\nenabled = true\n{settings}"));
}

fn play(room: &Room, turns: &Value, more: &[&str]) -> Finished {
    let model = room.model(turns);
    let words = ["--yes", "--model", &model];
    room.run(words.iter().chain(more).chain(&["go"]))
}

/// The records of the standard, as they are exported.
fn records(room: &Room) -> Vec<Value> {
    let run = room
        .run(["audit", "export", "--dialect", "agent-hooks"])
        .ended_with(0);
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}

/// The record of the only emission at a point.
fn record_at(room: &Room, point: &str) -> Value {
    let records = records(room).into_iter();
    let mut found = records.filter(|record| record["interception_point"] == point);
    let record = found.next().expect("there is a record");
    assert_eq!(found.next(), None);
    record
}

fn points(records: &[Value]) -> Vec<&str> {
    records
        .iter()
        .map(|record| record["interception_point"].as_str().expect("a point"))
        .collect()
}

/// An interceptor in Python that answers what `answer(context)` returns: once, or as a worker.
fn interceptor(room: &Room, name: &str, body: &str) -> String {
    let text = format!(
        "#!/usr/bin/env python3\nimport json, sys\n\
         def answer(context):\n    {}\n    return {{\"decision\": \"allow\"}}\n\
         for line in sys.stdin:\n\
         \x20   asked = json.loads(line)\n\
         \x20   reply = answer(asked.get(\"event\", asked))\n\
         \x20   is_worker = \"event\" in asked\n\
         \x20   print(json.dumps({{\"id\": asked[\"id\"], \"reply\": reply}} if is_worker else reply), flush=True)\n",
        body.replace('\n', "\n    ")
    );
    room.script(name, &text).display().to_string()
}

#[test]
fn without_an_interceptor_everything_is_denied_once_it_is_turned_on() {
    let room = room();
    play(&room, &one_call(), &[]).ended_with(0).said("the answer");
    assert!(records(&room).is_empty());
    std::fs::remove_file(room.write("made", "")).expect("it was there");
    set_up(&room, "");
    play(&room, &one_call(), &[]).complained("host_error:no_interceptor");
    assert!(!room.has("made"));
    let records = records(&room);
    assert_eq!(points(&records), ["agent_startup", "agent_shutdown"]);
}

#[test]
fn a_program_sees_all_eight_points_and_its_records_are_in_the_audit_log() {
    if !needs("python3") {
        return;
    }
    let room = room();
    let program = interceptor(
        &room,
        "policy",
        "open('seen', 'a').write(json.dumps(context) + '\\n')",
    );
    for worker in [false, true] {
        set_up(
            &room,
            &format!(
                "[[agent_hooks.interceptor]]\nname = \"policy\"\ncommand = [\"{program}\"]\nworker = {worker}\n"
            ),
        );
        play(&room, &one_call(), &[]).ended_with(0).said("the answer");
    }
    let expected = [
        "agent_startup",
        "input",
        "pre_model_call",
        "post_model_call",
        "pre_tool_call",
        "post_tool_call",
        "pre_model_call",
        "post_model_call",
        "output",
        "agent_shutdown",
    ];
    let records = records(&room);
    assert_eq!(points(&records), [expected, expected].concat());
    for (index, record) in records.iter().enumerate() {
        assert_eq!(record["sequence"], index % expected.len());
        assert_eq!(
            record["verdicts"],
            json!([{"index": 0, "decision": "allow", "name": "policy"}])
        );
        assert!(
            record["input_identity"]
                .as_str()
                .is_some_and(|text| text.starts_with("sha256:"))
        );
        assert_eq!(record["input_identity"], record["enforced_identity"]);
    }
    let seen = room.read("seen");
    let seen: Vec<Value> = seen
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(seen.len(), records.len());
    assert_eq!(seen[1]["target"], json!({"content": "go", "role": "user"}));
    assert!(seen[7]["usage"]["completion_tokens"].as_u64() > Some(0));
    assert_eq!(seen[4]["tool_call"]["args"]["command"], "echo made > made");
    room.run(["audit", "verify"]).ended_with(0);
}

#[test]
fn a_verdict_changes_and_withholds() {
    if !needs("python3") {
        return;
    }
    let room = room();
    let body = "point = context['interception_point']\n\
        change = lambda path, value: {'decision': 'transform', 'transform': {'path': path, 'value': value}}\n\
        if point == 'input': return change('$target.content', 'say a word')\n\
        if point == 'pre_tool_call': return change('$target.command', 'echo changed > made; cat made')\n\
        if point == 'post_tool_call': return {'decision': 'deny', 'reason': 'a_secret'}\n\
        if point == 'output': return change('$target.content', 'another answer')";
    let program = interceptor(&room, "policy", body);
    set_up(
        &room,
        &format!("[[agent_hooks.interceptor]]\nname = \"policy\"\ncommand = [\"{program}\"]\n"),
    );
    let turns = json!([
        {"expect": ["say a word"], "tool_calls": [{"id": "c", "name": "shell", "arguments": {"command": "echo x"}}]},
        {"expect": ["a_secret"], "text": "the answer"},
    ]);
    let run = play(&room, &turns, &[]).ended_with(0);
    assert_eq!(run.stdout, "another answer\n");
    assert_eq!(room.read("made"), "changed\n");
    // The model's second request does not hold what the command has printed, nor does the conversation.
    assert!(!room.run(["context", "log"]).stdout.contains("changed\n"));
}

#[test]
fn a_broken_interceptor_refuses_in_the_words_of_the_standard() {
    let cases = [
        ("exit 1", "interceptor_failed", "it ended with status 1"),
        ("kill -9 $$", "interceptor_failed", "ended by SIGKILL"),
        ("echo no", "verdict_invalid", "its answer is not JSON"),
        ("true", "verdict_invalid", "its answer is not JSON"),
        (
            "printf '{\"decision\": \"allow\", \"reason\": \"\\377\"}'",
            "verdict_invalid",
            "its answer is not UTF-8",
        ),
        (
            "echo '{\"decision\": \"transform\"}'",
            "verdict_invalid",
            "`transform` belongs to the decision `transform`",
        ),
        (
            "echo '{\"decision\": \"allow\", \"reasons\": []}'",
            "verdict_invalid",
            "unknown field `reasons`",
        ),
        (
            "echo '{\"decision\": \"deny\", \"reason\": \"host_error:mine\"}'",
            "verdict_invalid",
            "only becket gives reasons that begin with `host_error:`",
        ),
        (
            "echo '{\"decision\": \"deny\", \"decision\": \"allow\"}'",
            "verdict_invalid",
            "`decision` stands there twice",
        ),
        ("sleep 4242", "interceptor_timeout", "interceptor `sleep 4242`"),
    ];
    for (line, reason, words) in cases {
        let room = room();
        let timeout = if line.starts_with("sleep") { 2 } else { 60 };
        set_up(
            &room,
            &format!(
                "timeout = 60\n[[agent_hooks.interceptor]]\nname = \"fine\"\ncommand = '''echo '{{\"decision\": \"allow\"}}' '''\n\
                 [[agent_hooks.interceptor]]\nname = \"broken\"\ncommand = '''{line}'''\nat = [\"pre_tool_call\"]\n\
                 timeout = {timeout}\n"
            ),
        );
        play(&room, &one_call(), &[]).ended_with(0).complained(words);
        assert!(!room.has("made"), "{line}");
        let record = record_at(&room, "pre_tool_call");
        assert_eq!(
            record["verdict"]["reason"],
            format!("host_error:{reason}"),
            "{line}"
        );
        assert_eq!(record["decided_by"], 1, "{line}");
    }
}

#[test]
fn evaluate_only_records_and_changes_nothing() {
    let room = room();
    set_up(
        &room,
        "mode = \"evaluate_only\"\nidentity = \"none\"\n[[agent_hooks.interceptor]]\nname = \"no\"\n\
         command = '''echo '{\"decision\": \"deny\", \"reason\": \"never\"}' '''\n",
    );
    play(&room, &one_call(), &[]).ended_with(0).said("the answer");
    assert_eq!(room.read("made"), "made\n");
    let records = records(&room);
    assert!(
        records
            .iter()
            .all(|record| record["verdict"]["reason"] == "never"),
        "{records:#?}"
    );
    assert!(records.iter().all(|record| record["input_identity"].is_null()));
}

#[test]
fn a_deny_is_lifted_by_a_program_and_by_hooks() {
    if !needs("python3") {
        return;
    }
    let approves = "import json, sys; request = json.load(sys.stdin); print(json.dumps({'outcome': 'approve', \
        'context_identity': request['context_identity'], 'verdict': {'decision': 'allow'}}))";
    let other = approves.replace("request['context_identity']", "'sha256:0'");
    let without = approves.replace(", 'verdict': {'decision': 'allow'}", "");
    let undecided = without.replace("approve", "unresolved");
    let program = |line: &str| {
        format!("approval = \"program\"\napproval_command = [\"python3\", \"-c\", '''{line}''']\n")
    };
    let hook = |verdict: &str| {
        format!(
            "[[hook]]\nevent = \"permission_request\"\ncommand = '''echo '{{\"verdict\": {verdict}}}' '''\n"
        )
    };
    let (allows, denies) = (hook("\"allow\""), hook("{\"deny\": \"not today\"}"));
    let (by_hooks, by_user) = (
        "approval = \"hooks\"\n".to_owned(),
        "approval = \"user\"\n".to_owned(),
    );
    let cases = [
        (String::new(), "", "ask_first"),
        (program(approves), "", ""),
        (program(&other), "", "host_error:approval_identity_mismatch"),
        // Of several mistakes, this one is named.
        (
            program(&other.replace("'approve'", "'maybe'")),
            "",
            "host_error:approval_identity_mismatch",
        ),
        (program(&without), "", "host_error:approval_resolver_failed"),
        (program(&undecided), "", "host_error:approval_unresolved"),
        (
            program("raise SystemExit(1)"),
            "",
            "host_error:approval_resolver_failed",
        ),
        (by_hooks.clone(), &allows, ""),
        (by_hooks.clone(), &denies, "rejected_by_hook"),
        (by_hooks, "", "host_error:approval_unresolved"),
        // Nobody is there to ask.
        (by_user, "", "host_error:approval_unresolved"),
    ];
    for (approval, hooks, reason) in cases {
        let room = room();
        set_up(&room, &format!("{approval}{LIFTABLE}{hooks}"));
        play(&room, &one_call(), &[]).ended_with(0);
        assert_eq!(room.has("made"), reason.is_empty(), "{approval}");
        let record = record_at(&room, "pre_tool_call");
        let resolved_by = match (approval.is_empty(), reason.is_empty()) {
            (true, _) => Value::Null,
            (false, true) => json!("approval"),
            (false, false) => json!("rejection"),
        };
        assert_eq!(record["resolved_by"], resolved_by, "{approval}");
        let got = record["verdict"]["reason"].as_str().unwrap_or_default();
        assert_eq!(got, reason, "{approval}");
    }
}

#[test]
fn the_user_lifts_a_deny_at_the_terminal_or_lets_it_stand() {
    let cases = [
        ("y", "approval", "the answer", 0),
        ("n not yet", "rejection", "rejected_by_user: not yet", 0),
        ("c", "rejection", "the user cancelled", 1),
    ];
    for (answer, resolved_by, words, code) in cases {
        let room = room();
        set_up(&room, &format!("approval = \"user\"\n{LIFTABLE}"));
        let model = room.model(&one_call());
        let Some(terminal) = Terminal::start(room, &["--yes", "--model", &model, "go"]) else {
            return;
        };
        terminal.wait_for("[y]es");
        let asked = terminal.text();
        assert!(
            asked.contains("ask_first") && asked.contains("command: echo made > made"),
            "{asked}"
        );
        assert!(!terminal.room.has("made"));
        terminal.enter(answer);
        terminal.wait_for(words);
        assert_eq!(terminal.wait_for_end(), code, "{}", terminal.text());
        assert_eq!(terminal.room.has("made"), answer == "y");
        assert_eq!(terminal.text().contains("the answer"), answer != "c");
        assert_eq!(
            record_at(&terminal.room, "pre_tool_call")["resolved_by"],
            resolved_by
        );
    }
}

#[test]
fn what_a_broken_interceptor_wrote_is_told_to_the_user_and_nobody_else() {
    if !needs("python3") {
        return;
    }
    let worker = |answer: &str| {
        format!(
            "import json, sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n    print({answer}, flush=True)"
        )
    };
    let raises = worker("json.dumps({'id': asked['id'], 'error': json.dumps(asked)})");
    let garbage = worker("'{' + line");
    let cases = [
        (
            "import sys; sys.exit(sys.stdin.read())",
            false,
            "interceptor_failed",
            "it ended with status 1",
        ),
        (
            "print(input().replace(':', ''))",
            false,
            "verdict_invalid",
            "its answer is no verdict of the standard",
        ),
        (raises.as_str(), true, "interceptor_failed", "raised an error"),
        (
            garbage.as_str(),
            true,
            "verdict_invalid",
            "its answer is no verdict of the standard",
        ),
    ];
    for (program, is_worker, reason, message) in cases {
        let room = room();
        set_up(
            &room,
            &format!(
                "[[agent_hooks.interceptor]]\nname = \"broken\"\ncommand = [\"python3\", \"-c\", '''{program}''']\n\
                 worker = {is_worker}\nat = [\"pre_tool_call\"]\n{ALLOWED}"
            ),
        );
        let run = play(&room, &one_call(), &[]).ended_with(0);
        assert!(!room.has("made"), "{program}");
        run.complained("interceptor `python3 -c ");
        let record = record_at(&room, "pre_tool_call");
        assert_eq!(
            record["verdict"]["reason"],
            format!("host_error:{reason}"),
            "{program}"
        );
        assert_eq!(record["verdict"]["message"], message, "{program}");
        let log = room.run(["context", "log"]).stdout;
        assert_eq!(log.matches("interception_point").count(), 0, "{program}: {log}");
    }
}

/// Whoever reads JSON as doubles would judge another number than the one that counts.
#[test]
fn an_integer_beyond_64_bits_is_never_taken_for_another_number() {
    let huge = "18446744073709551616";
    let call = |arguments: String| {
        json!([
            {"tool_calls": [{"id": "call-1", "name": "shell", "arguments": arguments}]},
            {"text": "the answer"},
        ])
    };
    let number = format!("{{\"command\": \"touch made\", \"timeout\": {huge}}}");
    let text = format!("{{\"command\": \"touch made; echo '[\\\"{huge}\\\"]'\"}}");
    let result = format!("{{\"command\": \"touch made; echo '[{huge}]'\"}}");
    let cases = [
        (
            number,
            "post_model_call",
            false,
            json!("host_error:context_invalid"),
        ),
        (
            result,
            "post_tool_call",
            true,
            json!("host_error:context_invalid"),
        ),
        (text, "post_tool_call", true, Value::Null),
    ];
    for (arguments, point, runs, reason) in cases {
        let room = room();
        set_up(&room, &format!("identity = \"none\"\n{ALLOWED}"));
        play(&room, &call(arguments.clone()), &[]);
        assert_eq!(room.has("made"), runs, "{arguments}");
        let records = records(&room);
        let mut records = records
            .iter()
            .filter(|record| record["interception_point"] == point);
        let record = records.next().expect("there is a record");
        assert_eq!(record["verdict"]["reason"], reason, "{arguments}");
    }
    let room = room();
    let verdict = format!(
        "{{\"decision\": \"transform\", \"transform\": {{\"path\": \"$target.timeout\", \"value\": {huge}}}}}"
    );
    set_up(
        &room,
        &format!(
            "[[agent_hooks.interceptor]]\nname = \"huge\"\nat = [\"pre_tool_call\"]\n\
             command = '''echo '{verdict}' '''\n{ELSEWHERE}"
        ),
    );
    let arguments = "{\"command\": \"touch made\", \"timeout\": 5}";
    play(&room, &call(arguments.into()), &[]).complained("an integer beyond 64 bits");
    assert!(!room.has("made"));
    assert_eq!(
        record_at(&room, "pre_tool_call")["verdict"]["reason"],
        "host_error:verdict_invalid"
    );
}

#[test]
fn arguments_that_are_no_object_are_shown_beside_an_empty_one() {
    if !needs("python3") {
        return;
    }
    for written in ["{\"command\": \"touch made\"", "[\"touch made\"]"] {
        let room = room();
        let body = "for call in context.get('response', {}).get('tool_calls', []):\n\
                    \x20   open('seen', 'w').write(call['args'].get('command', 'none: ') + call['args_text'])";
        let program = interceptor(&room, "policy", body);
        set_up(
            &room,
            &format!("[[agent_hooks.interceptor]]\nname = \"policy\"\ncommand = [\"{program}\"]\n"),
        );
        let turns = json!([
            {"tool_calls": [{"id": "call-1", "name": "shell", "arguments": written}]},
            {"text": "the answer"},
        ]);
        play(&room, &turns, &[]).ended_with(0).said("the answer");
        assert_eq!(room.read("seen"), format!("none: {written}"));
        assert!(!room.has("made"));
    }
}

#[test]
fn what_is_only_tried_out_leaves_no_record() {
    let room = room();
    set_up(&room, ALLOWED);
    play(&room, &one_call(), &[]).ended_with(0);
    let count = records(&room).len();
    assert!(count > 0);
    room.run(["hooks", "fire", "pre_tool"]).ended_with(0);
    room.run(["replay"]).ended_with(0);
    room.run(["hooks", "bench"]).ended_with(0);
    assert_eq!(records(&room).len(), count);
}

#[test]
fn a_missing_program_is_found_before_a_run() {
    let room = room();
    let missing = "[[agent_hooks.interceptor]]\nname = \"policy\"\ncommand = [\"./policy.py\"]\n";
    let document = json!({
        "declaration": "agent-hooks-declaration/1.0",
        "bindings": [{"id": "policy", "kind": "becket.worker", "config": {"command": ["./policy.py"]}}],
    });
    room.write("../home/.config/becket/host.json", document.to_string());
    for settings in [missing, "declaration = \"host.json\"\n"] {
        set_up(&room, settings);
        let check = room.run(["hooks", "check"]).ended_with(1);
        assert!(
            check.stdout.contains("`./policy.py` is not on this machine"),
            "{check:#?}"
        );
        let doctor = room.run(["doctor"]);
        let line = doctor
            .stdout
            .lines()
            .find(|line| line.contains("interceptor policy"));
        assert!(
            line.is_some_and(|line| line.contains("program not found")),
            "{doctor:#?}"
        );
    }
}

#[test]
fn two_changes_of_the_same_thing_are_composed_as_the_profile_says() {
    if !needs("python3") {
        return;
    }
    let change = |command: &str| {
        format!(
            "return {{'decision': 'transform', 'transform': {{'path': '$target.command', 'value': {command}}}}}"
        )
    };
    let decides = "import json, sys; request = json.load(sys.stdin); print(json.dumps({'outcome': 'approve', \
        'context_identity': request['context_identity'], 'verdict': {'decision': 'transform', 'transform': \
        {'path': '$target.command', 'value': 'echo third > made'}}}))";
    let approval =
        format!("approval = \"program\"\napproval_command = [\"python3\", \"-c\", '''{decides}''']\n");
    let cases = [
        ("sequential/first_deny", "", Ok("one\ntwo\n"), json!(1)),
        ("sequential/run_all", "", Ok("one\ntwo\n"), json!(1)),
        ("parallel/strictest", "", Err("transform_conflict"), Value::Null),
        (
            "parallel/unanimous",
            "",
            Err("composition_disagreement"),
            Value::Null,
        ),
        (
            "parallel/strictest",
            "on_transform_conflict",
            Ok("third\n"),
            Value::Null,
        ),
        (
            "parallel/unanimous",
            "on_disagreement",
            Ok("third\n"),
            Value::Null,
        ),
    ];
    for (profile, knob, expected, decided_by) in cases {
        let room = room();
        let one = interceptor(&room, "one", &change("'echo one > made'"));
        let two = interceptor(
            &room,
            "two",
            &change("context['target']['command'] + '; echo two >> made'"),
        );
        let knob = match knob {
            "" => String::new(),
            knob => format!("{knob} = \"approval\"\n{approval}"),
        };
        let changes = [("one", one), ("two", two)].map(|(name, program)| {
            format!(
                "[[agent_hooks.interceptor]]\nname = \"{name}\"\ncommand = [\"{program}\"]\nat = [\"pre_tool_call\"]\n"
            )
        });
        set_up(
            &room,
            &format!("profile = \"{profile}\"\n{knob}{}{ELSEWHERE}", changes.concat()),
        );
        play(&room, &one_call(), &[]).ended_with(0);
        let record = record_at(&room, "pre_tool_call");
        let got = match record["verdict"]["reason"].as_str() {
            Some(reason) => Err(reason.trim_start_matches("host_error:")),
            None => Ok(room.read("made")),
        };
        assert_eq!(got, expected.map(ToOwned::to_owned), "{profile} {knob}");
        assert_eq!(room.has("made"), expected.is_ok(), "{profile} {knob}");
        assert_eq!(record["decided_by"], decided_by, "{profile} {knob}");
    }
}

#[test]
fn a_declaration_sets_interceptors_up_and_a_wrong_one_starts_no_run() {
    let room = room();
    let document = |kind: &str| {
        json!({
            "declaration": "agent-hooks-declaration/1.0",
            "configuration": {"composition": {"profile": "sequential/run_all"}},
            "bindings": [{"id": "policy", "kind": kind, "config": {"command": "echo '{\"decision\": \"allow\"}'"}}],
        })
    };
    set_up(&room, "declaration = \"host.json\"\n");
    room.write(
        "../home/.config/becket/host.json",
        document("becket.command").to_string(),
    );
    play(&room, &one_call(), &[]).ended_with(0).said("the answer");
    let records = records(&room);
    assert_eq!(records[0]["declaration"], "agent-hooks-declaration/1.0");
    assert_eq!(
        records[0]["composition"],
        json!({"profile": "sequential/run_all"})
    );
    std::fs::remove_file(room.write("made", "")).expect("it was there");
    for (text, words) in [
        (
            document("becket.nothing").to_string(),
            "declaration_error:kind_unknown",
        ),
        (
            document("becket.command")
                .to_string()
                .replace("\"bindings\"", "\"policies\""),
            "unknown_field",
        ),
        ("{".into(), "declaration_error:malformed"),
    ] {
        room.write("../home/.config/becket/host.json", text);
        play(&room, &one_call(), &[]).ended_with(2).complained(words);
        assert!(!room.has("made"), "{words}");
    }
}

#[test]
fn settings_that_could_be_meant_as_guards_are_never_left_out() {
    let room = room();
    let interceptor = "[[agent_hooks.interceptor]]\nname = \"policy\"\ncommand = \"true\"\n";
    for (settings, words) in [
        (
            format!("[agent_hooks]\n{interceptor}"),
            "does not say whether they are asked",
        ),
        (
            format!("[agent_hooks]\nenabled = true\non_disagreement = \"deny\"\n{interceptor}"),
            "on_disagreement",
        ),
        (
            format!("[agent_hooks]\nenabled = true\ntimeout = 0\n{interceptor}"),
            "timeout",
        ),
        (
            format!("[agent_hooks]\nenabled = true\napproval = \"program\"\n{interceptor}"),
            "approval_command",
        ),
        (
            format!("[agent_hooks]\nenabled = true\ndeclaration = \"x.json\"\n{interceptor}"),
            "keep one of the two",
        ),
        (format!("[agent_hooks]\nenable = true\n{interceptor}"), "enable"),
    ] {
        room.config(&settings);
        play(&room, &one_call(), &[]).ended_with(2).complained(words);
        assert!(!room.has("made"), "{settings}");
    }
    room.config(&format!("[agent_hooks]\nenabled = false\n{interceptor}"));
    play(&room, &one_call(), &[]).ended_with(0).said("the answer");
}

#[test]
fn streamed_text_is_shown_up_to_the_piece_that_is_denied() {
    let line = "if grep -q tomorrow; then echo '{\"decision\": \"deny\", \"reason\": \"enough\"}'; \
        else echo '{\"decision\": \"allow\"}'; fi";
    let turns =
        json!([{"text": "The weather is fine today, and tomorrow it rains all day long.", "chunk_size": 24}]);
    for (incremental, expected) in [(true, "The weather is fine toda"), (false, "")] {
        let room = room();
        set_up(
            &room,
            &format!(
                "incremental_output = {incremental}\n[[agent_hooks.interceptor]]\nname = \"words\"\ncommand = '''{line}'''\n"
            ),
        );
        let run = play(&room, &turns, &["--json"]);
        assert_ne!(run.code, 0);
        let updates = run.events_named("message_update");
        let shown: String = updates
            .iter()
            .filter_map(|update| update["delta"]["text"].as_str())
            .collect();
        assert_eq!(shown, expected);
        assert!(!run.stdout.contains("tomorrow"), "{run:#?}");
        assert!(!room.run(["context", "log"]).stdout.contains("tomorrow"));
    }
}

#[test]
fn becket_passes_its_own_vectors() {
    let run = room().run(["hooks", "conformance", "agent-hooks"]).ended_with(0);
    assert!(run.stdout.contains("| all | 11 | 0 | 0 |"), "{run:#?}");
    assert_eq!(run.stdout.matches(" | passed |\n").count(), 11, "{run:#?}");
    let run = room()
        .run(["--json", "hooks", "conformance", "agent-hooks"])
        .ended_with(0);
    assert_eq!(run.stdout.matches("\"status\":\"pass\"").count(), 11, "{run:#?}");
}

#[test]
fn a_vector_that_fails_is_reported_and_a_folder_without_vectors_is_an_error() {
    let room = room();
    let vector = json!({
        "id": "WRONG", "title": "an answer that nobody gave", "capabilities": ["model_calls"],
        "scenario": {"input": {"content": "hi", "role": "user"}, "model_script": [
            {"respond": {"content": "Hello!", "tool_calls": [], "finish_reason": "stop"}},
        ]},
        "interceptor_script": [],
        "expect": {"sequence_strict": false, "interceptions": [], "final_output": "Bye!", "run_outcome": "completed"},
    });
    room.write("vectors/wrong.json", vector.to_string());
    let run = room
        .run(["hooks", "conformance", "agent-hooks", "vectors"])
        .ended_with(1);
    assert!(
        run.stdout.contains("final_output is \"Hello!\", not \"Bye!\""),
        "{run:#?}"
    );
    room.write("empty/readme.md", "nothing");
    room.run(["hooks", "conformance", "agent-hooks", "empty"])
        .ended_with(2)
        .complained("no vectors");
    room.run(["hooks", "conformance", "agent-hocks"])
        .ended_with(2)
        .complained("agent-hooks");
}

#[test]
fn every_vector_of_the_published_package_passes() {
    let Some(package) = fetched_from_pypi(PACKAGE) else {
        return;
    };
    let vectors = package.path().join("agent_hooks/ctk/vectors");
    let run = room()
        .run([
            "--json",
            "hooks",
            "conformance",
            "agent-hooks",
            &vectors.display().to_string(),
        ])
        .ended_with(0);
    let results: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(results.len(), 75);
    let others: Vec<&Value> = results
        .iter()
        .filter(|result| result["status"] != "pass")
        .collect();
    assert!(others.is_empty(), "{others:#?}");
}
