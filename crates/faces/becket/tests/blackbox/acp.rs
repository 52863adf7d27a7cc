//! `becket acp`: an editor drives the real binary, with the client of the protocol's own SDK.

mod editor;

use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use agent_client_protocol::v1::schema::{
    CancelNotification, CloseSessionRequest, ContentBlock, EmbeddedResource, EmbeddedResourceResource,
    EnvVariable, ImageContent, ListSessionsRequest, McpServer, McpServerStdio, NewSessionRequest,
    PromptRequest, ResourceLink, ResumeSessionRequest, SessionConfigValueId, SessionId,
    SetSessionConfigOptionRequest, SetSessionModeRequest, StopReason, TextResourceContents,
};
use serde_json::{Value, json};
use testkit::{ModelServer, OpenAiStream, Response, Room, finish, needs, run_with_input};

use crate::{repository_file, room, room_with_all_tools};
use editor::Editor;

fn shell(command: &str) -> Value {
    json!({"tool_calls": [{"name": "shell", "arguments": {"command": command}}]})
}

fn write(path: &str, content: &str) -> Value {
    json!({"tool_calls": [{"name": "write", "arguments": {"path": path, "content": content}}]})
}

fn said(text: &str) -> Value {
    json!({"text": text})
}

/// The text of a tool call's content.
fn content(call: &Value) -> String {
    call["content"].to_string()
}

// ---------------------------------------------------------------- beginning

#[test]
fn an_editor_learns_what_becket_can_do() {
    let room = room();
    let editor = Editor::start(&room, &["--model", "rehearsal"]);
    let about = editor.initialize().unwrap();
    let about = serde_json::to_value(about).unwrap();
    assert_eq!(about["protocolVersion"], 1);
    assert_eq!(about["agentInfo"]["name"], "becket");
    let can = &about["agentCapabilities"];
    assert_eq!(can["loadSession"], true);
    assert_eq!(can["promptCapabilities"]["image"], true);
    assert_eq!(can["promptCapabilities"]["embeddedContext"], true);
    for what in ["list", "resume", "close"] {
        assert!(can["sessionCapabilities"][what].is_object(), "{what}: {can}");
    }
    let opened = serde_json::to_value(editor.new_session(&room.work())).unwrap();
    assert_eq!(opened["modes"]["currentModeId"], "ask");
    let modes = opened["modes"]["availableModes"].as_array().unwrap().iter();
    let modes: Vec<&str> = modes.map(|mode| mode["id"].as_str().unwrap()).collect();
    assert_eq!(modes, ["ask", "accept-edits", "plan", "yes"]);
    let (code, stderr) = editor.leave();
    assert_eq!(code, 0, "{stderr}");
}

/// Runs the program on these lines, and returns what it answers.
fn answers(room: &Room, input: &str) -> Vec<Value> {
    let run = run_with_input(room.command(["--model", "rehearsal", "acp"]), input).ended_with(0);
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect()
}

#[test]
fn a_line_that_cannot_be_understood_is_answered_and_the_next_one_is_read() {
    let room = room();
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#,
        "no JSON",
        "",
        "[]",
        r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":7}}"#,
        r#"{"jsonrpc":"2.0","id":"three","method":"session/dance","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"session/new","params":{"cwd":3}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{"sessionId":"no","prompt":[]}}"#,
        r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":6,"method":"session/list","params":{}}"#,
    ];
    let answers = answers(&room, &lines.join("\n"));
    // What is no message is answered as soon as it is read, everything else in its order.
    let code = |answer: &Value| answer["error"]["code"].as_i64().unwrap_or_default();
    let (broken, told): (Vec<&Value>, Vec<&Value>) =
        answers.iter().partition(|answer| answer["id"].is_null());
    let codes: Vec<i64> = broken.iter().map(|answer| code(answer)).collect();
    assert_eq!(codes, [-32700, -32600], "{answers:#?}");
    let told: Vec<(Value, i64)> = told
        .iter()
        .map(|answer| (answer["id"].clone(), code(answer)))
        .collect();
    let wanted = [
        (json!(1), -32600),
        (json!(2), 0),
        (json!("three"), -32601),
        (json!(4), -32602),
        (json!(5), -32602),
        (json!(6), 0),
    ];
    assert_eq!(told, wanted, "{answers:#?}");
    let all = json!(answers).to_string();
    assert!(all.contains("`initialize` comes first"), "{all}");
    assert!(
        all.contains("\"protocolVersion\":1"),
        "becket says the version that it speaks: {all}"
    );
}

#[test]
fn an_editor_that_left_and_hardly_reads_is_not_waited_for_any_longer() {
    let room = room();
    let mut command = room.command(["--model", "rehearsal", "acp"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    // More answers than a pipe holds.
    for id in 0..2000 {
        let method = "dance".repeat(20);
        writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method})).unwrap();
    }
    drop(stdin);
    std::thread::spawn(move || {
        while stdout.read(&mut [0; 100]).is_ok_and(|count| count > 0) {
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    finish(child)
        .ended_with(0)
        .complained("the editor did not read everything");
}

#[test]
fn a_place_that_is_none_is_refused_in_plain_words() {
    let room = room();
    let editor = Editor::open(&room, &["--model", "rehearsal"]);
    let refused = |folder: &Path| editor.ask(NewSessionRequest::new(folder)).unwrap_err().message;
    assert!(refused(Path::new("here")).contains("not absolute"));
    assert!(refused(&room.work().join("absent")).contains("No such file"));
    let gone = SessionId::new("editor_gone");
    let message = editor.load(&gone, &room.work()).unwrap_err().message;
    assert!(message.contains("there is no context `editor_gone`"), "{message}");
    let nothing = PromptRequest::new(editor.session(&room.work()), vec![" ".into()]);
    assert!(editor.ask(nothing).unwrap_err().message.contains("empty"));
}

#[test]
fn a_terminal_is_told_that_an_editor_starts_it() {
    let room = room();
    room.run(["-c", "other", "acp"])
        .ended_with(2)
        .complained("`becket acp` uses no context");
    room.run(["--image", "a.png", "acp"])
        .ended_with(2)
        .complained("the editor sends the pictures");
}

// ---------------------------------------------------------------- prompts

#[test]
fn an_answer_and_thoughts_arrive_piece_by_piece() {
    let room = room();
    let turns = json!([{"thinking": "let me see", "text": "Hello, editor.", "chunk_size": 3}]);
    let editor = Editor::with_model(&room, &turns, &[]);
    let id = editor.session(&room.work());
    assert_eq!(editor.prompt(&id, "Hi").stop_reason, StopReason::EndTurn);
    assert_eq!(editor.answer(&id), "Hello, editor.");
    assert_eq!(editor.words(&id, "agent_thought_chunk"), "let me see");
    assert!(
        editor.updates_of(&id, "agent_message_chunk").len() > 2,
        "it came in pieces"
    );
    assert_eq!(editor.updates_of(&id, "user_message_chunk"), [] as [Value; 0]);
    assert_eq!(editor.updates_of(&id, "usage_update").len(), 1);
}

#[test]
fn an_answer_that_a_hook_replaces_is_only_shown_as_it_ends() {
    let room = room();
    let hook = "[[hook]]\nevent = \"message_end\"\ncommand = [\"sh\", \"-c\", \
                \"sed 's/secret/XXXXXX/g' | jq -c '{message}'\"]\n";
    let hooks = room.hooks(hook);
    let turns = json!([{"text": "the secret is out", "chunk_size": 4}]);
    let editor = Editor::with_model(&room, &turns, &["--hooks", &hooks]);
    let id = editor.session(&room.work());
    editor.prompt(&id, "Hi");
    let lines = editor.lines().join("\n");
    assert!(!lines.contains("secret"), "{lines}");
}

#[test]
fn files_and_images_of_a_prompt_reach_the_model() {
    let room = room();
    let server = ModelServer::start([Response::events(
        OpenAiStream::new("m").text("seen").finish("stop").done(),
    )]);
    let room = room
        .with("OPENAI_API_KEY", "a-key-for-tests")
        .with("OPENAI_BASE_URL", &server.url());
    let editor = Editor::open(&room, &["--model", "openai/m"]);
    let id = editor.session(&room.work());
    let text = TextResourceContents::new("fn unsaved() {}", "file:///work/lib.rs");
    let file = EmbeddedResource::new(EmbeddedResourceResource::TextResourceContents(text));
    let png =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let blocks = vec![
        "look at ".into(),
        ContentBlock::ResourceLink(ResourceLink::new("main.rs", "file:///work/main.rs#L3:9")),
        ContentBlock::Resource(file),
        ContentBlock::Image(ImageContent::new(png, "image/png")),
    ];
    editor.ask(PromptRequest::new(id.clone(), blocks)).unwrap();
    let request = server.only_request().json();
    let sent = request["messages"].to_string();
    for wanted in [
        "[@main.rs](/work/main.rs#L3:9)",
        "fn unsaved() {}",
        "/work/lib.rs",
        png,
    ] {
        assert!(sent.contains(wanted), "{wanted}: {sent}");
    }
    assert_eq!(editor.answer(&id), "seen");
}

#[test]
fn every_end_of_a_prompt_has_its_reason() {
    let room = room();
    let turns = json!([
        {"text": "cut", "stop_reason": "length"},
        {"text": "no", "stop_reason": "refused"},
        {"error": {"kind": "rejected", "message": "the provider says no"}},
        shell("true"),
        shell("true"),
    ]);
    let editor = Editor::with_model(
        &room,
        &turns,
        &["--max-iterations", "1", "--permission-mode", "yes"],
    );
    let id = editor.session(&room.work());
    assert_eq!(editor.prompt(&id, "one").stop_reason, StopReason::MaxTokens);
    assert_eq!(editor.prompt(&id, "two").stop_reason, StopReason::Refusal);
    let error = editor.begin_prompt(&id, "three").wait().unwrap_err();
    assert!(error.message.contains("the provider says no"), "{error:?}");
    let limited = editor.begin_prompt(&id, "four");
    assert_eq!(limited.wait().unwrap().stop_reason, StopReason::MaxTurnRequests);
}

#[test]
fn a_hook_that_stops_a_prompt_refuses_it_in_its_own_words() {
    let room = room();
    let hooks = room.hooks(
        "[[hook]]\nevent = \"user_prompt\"\ncommand = [\"sh\", \"-c\", \"echo not on a Friday >&2; exit 2\"]\n",
    );
    let editor = Editor::with_model(&room, &json!([said("never")]), &["--hooks", &hooks]);
    let id = editor.session(&room.work());
    assert_eq!(editor.prompt(&id, "deploy").stop_reason, StopReason::Refusal);
    assert!(
        editor.answer(&id).contains("not on a Friday"),
        "{}",
        editor.answer(&id)
    );
}

#[test]
fn prompts_of_one_session_run_one_after_another() {
    let room = room();
    let turns = json!([{"text": "first", "delay_ms": 300}, {"text": "second"}]);
    let editor = Editor::with_model(&room, &turns, &[]);
    let id = editor.session(&room.work());
    let (one, two) = (editor.begin_prompt(&id, "1"), editor.begin_prompt(&id, "2"));
    assert_eq!(two.wait().unwrap().stop_reason, StopReason::EndTurn);
    assert_eq!(one.wait().unwrap().stop_reason, StopReason::EndTurn);
    assert_eq!(editor.answer(&id), "firstsecond");
}

// ---------------------------------------------------------------- tool calls

#[test]
fn a_call_has_its_kind_its_place_and_its_output() {
    let room = room();
    room.write("notes.txt", "one\ntwo\nthree\n");
    let turns = json!([
        {"tool_calls": [
            {"name": "read", "arguments": {"path": "notes.txt", "offset": 2}},
            {"name": "grep", "arguments": {"pattern": "three"}},
        ]},
        said("read"),
    ]);
    let editor = Editor::with_model(&room, &turns, &["--tools", "becket"]);
    let id = editor.session(&room.work());
    editor.prompt(&id, "read it");
    let call = editor.call(&id, "read notes.txt");
    assert_eq!(
        (&call["kind"], &call["status"]),
        (&json!("read"), &json!("completed"))
    );
    let place = room.work().join("notes.txt");
    assert_eq!(call["locations"], json!([{"path": place, "line": 2}]));
    assert!(
        content(&call).contains("two") && content(&call).contains("three"),
        "{call}"
    );
    assert_eq!(call["rawInput"]["path"], "notes.txt");
    assert_eq!(editor.call(&id, "grep")["kind"], "search");
}

#[test]
fn a_question_is_answered_in_the_editor() {
    let room = room();
    let turns = json!([
        shell("echo ran > one"),
        shell("echo ran > two"),
        shell("echo ran > three"),
        said("done")
    ]);
    let editor = Editor::with_model(&room, &turns, &[]);
    let id = editor.session(&room.work());
    let prompt = editor.begin_prompt(&id, "run them");
    let asked = editor.question();
    assert_eq!(asked.request.session_id, id);
    assert!(
        asked.json()["toolCall"].to_string().contains("echo ran > one"),
        "{}",
        asked.json()
    );
    assert!(!room.has("one"), "nothing runs before the answer");
    asked.choose("Allow once");
    editor.question().choose("Reject");
    editor.question().cancel();
    // Who closes a question wants everything to stop.
    assert_eq!(prompt.wait().unwrap().stop_reason, StopReason::Cancelled);
    assert!(room.has("one") && !room.has("two") && !room.has("three"));
    let refused = editor.call(&id, "shell echo ran > two");
    assert_eq!(refused["status"], "failed");
    assert!(content(&refused).contains("the user said no"), "{refused}");
}

#[test]
fn a_yes_for_the_session_covers_exactly_that_call_and_a_rule_what_it_shows() {
    let room = room();
    let turns = json!([
        shell("mkdir one"),
        shell("mkdir one"),
        shell("mkdir two"),
        shell("mkdir three"),
        said("done"),
    ]);
    let editor = Editor::with_model(&room, &turns, &[]);
    let id = editor.session(&room.work());
    let prompt = editor.begin_prompt(&id, "make them");
    editor.question().choose("Allow exactly this call");
    let asked = editor.question();
    assert!(
        asked.json().to_string().contains("mkdir two"),
        "the same call is not asked about again"
    );
    let options = asked.options().join(", ");
    assert!(options.contains("Always allow `mkdir"), "{options}");
    assert!(
        asked.json()["toolCall"]
            .to_string()
            .contains("becket permissions"),
        "{}",
        asked.json()
    );
    asked.choose("Always allow");
    let store = editor.question();
    let shown = store.json()["toolCall"].to_string();
    assert!(
        shown.contains("mkdir two") && shown.contains("becket permissions"),
        "{shown}"
    );
    store.choose("Always allow");
    // The rule may cover the third one, too; if it does not, it is asked about.
    let until = Instant::now() + Duration::from_secs(60);
    while !room.has("three") && Instant::now() < until {
        if let Some(asked) = (!room.has("three")).then(|| editor.try_question()).flatten() {
            asked.choose("Allow once");
        }
    }
    assert_eq!(prompt.wait().unwrap().stop_reason, StopReason::EndTurn);
    let rules = room.run(["permissions"]).ended_with(0).stdout;
    assert!(rules.contains("mkdir"), "{rules}");
}

/// Editors that show the kinds of the options, and not their names, take the last one of a kind.
#[test]
fn an_editor_that_shows_no_names_stores_no_rule_by_a_yes_for_good() {
    let room = room();
    let turns = json!([shell("mkdir one"), said("done"), shell("mkdir two"), said("done")]);
    let editor = Editor::with_model(&room, &turns, &[]);
    let id = editor.session(&room.work());
    let prompt = editor.begin_prompt(&id, "one");
    let asked = editor.question();
    let options = asked.json()["options"].clone();
    let always = options.as_array().unwrap().iter().rev();
    let mut always = always.filter(|option| option["kind"] == "allow_always");
    let name = always.next().unwrap()["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("Allow exactly this call"), "{options}");
    assert!(always.next().is_some(), "{options}");
    asked.choose(&name);
    assert_eq!(prompt.wait().unwrap().stop_reason, StopReason::EndTurn);

    let prompt = editor.begin_prompt(&id, "two");
    editor.question().choose("Always allow");
    editor.question().choose("Allow only this call");
    assert_eq!(prompt.wait().unwrap().stop_reason, StopReason::EndTurn);
    assert!(room.has("one") && room.has("two"));
    let rules = room.run(["permissions"]).ended_with(0).stdout;
    assert!(!rules.contains("mkdir"), "{rules}");
}

#[test]
fn a_difference_is_shown_before_the_yes_and_stays() {
    let room = room();
    room.write("code.rs", "fn one() {}\nfn two() {}\n");
    let edit = json!({"tool_calls": [{"name": "edit", "arguments": {
        "path": "code.rs", "edits": [{"old_text": "two", "new_text": "zwei"}]}}]});
    let editor = Editor::with_model(&room, &json!([edit, said("edited")]), &["--tools", "becket"]);
    let id = editor.session(&room.work());
    let prompt = editor.begin_prompt(&id, "translate");
    let asked = editor.question();
    let place = room.work().join("code.rs");
    let difference = json!({"type": "diff", "path": place, "oldText": "fn one() {}\nfn two() {}\n",
        "newText": "fn one() {}\nfn zwei() {}\n"});
    assert_eq!(asked.json()["toolCall"]["content"][0], difference);
    assert!(
        room.read("code.rs").contains("two"),
        "nothing is changed before the yes"
    );
    asked.choose("Allow once");
    prompt.wait().unwrap();
    assert!(room.read("code.rs").contains("zwei"));
    let call = editor.call(&id, "edit");
    assert_eq!(
        (&call["kind"], &call["status"]),
        (&json!("edit"), &json!("completed"))
    );
    assert_eq!(call["content"], json!([difference]));
}

#[test]
fn a_change_that_needs_no_yes_is_shown_too() {
    let room = room();
    let editor = Editor::with_model(&room, &json!([write("new.txt", "words\n"), said("written")]), &[]);
    let id = editor.session(&room.work());
    editor
        .ask(SetSessionModeRequest::new(id.clone(), "accept-edits"))
        .unwrap();
    editor.prompt(&id, "write it");
    let call = editor.call(&id, "write new.txt");
    let place = room.work().join("new.txt");
    assert_eq!(
        call["content"],
        json!([{"type": "diff", "path": place, "newText": "words\n"}])
    );
    assert!(!editor.is_asked());
    assert_eq!(room.read("new.txt"), "words\n");
}

#[test]
fn a_guard_refuses_in_its_own_words_and_the_file_is_untouched() {
    let room = room();
    room.write("keep.txt", "kept\n");
    let hooks = room.hooks(
        "[[hook]]\nname = \"keeper\"\nevent = \"pre_file_write\"\ncommand = [\"sh\", \"-c\", \
         \"echo this file is under monument protection >&2; exit 2\"]\n",
    );
    let turns = json!([write("keep.txt", "gone"), said("pity")]);
    let editor = Editor::with_model(&room, &turns, &["--hooks", &hooks, "--yes"]);
    let id = editor.session(&room.work());
    assert_eq!(
        editor.prompt(&id, "overwrite it").stop_reason,
        StopReason::EndTurn
    );
    let call = editor.call(&id, "write keep.txt");
    assert_eq!(call["status"], "failed");
    assert!(
        content(&call).contains("this file is under monument protection"),
        "{call}"
    );
    assert!(content(&call).contains("keeper"), "{call}");
    assert_eq!(room.read("keep.txt"), "kept\n");
    assert!(!editor.is_asked(), "a guard is not overruled");
}

// ---------------------------------------------------------------- files of the editor

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"tool_calls": [{"name": "edit", "arguments": {
        "path": path, "edits": [{"old_text": old, "new_text": new}]}}]})
}

#[test]
fn what_is_not_saved_is_read_and_edited_where_the_editor_offers_its_files() {
    let room = room();
    room.write("code.rs", "fn saved() {}\n");
    let read = json!({"tool_calls": [{"name": "read", "arguments": {"path": "code.rs"}}]});
    let turns = json!([read, edit("code.rs", "typed", "edited"), said("done")]);
    let editor = Editor::with_files(&room, &turns, &["--tools", "becket"]);
    let file = room.work().join("code.rs");
    editor.type_into(file.clone(), "fn typed() {}\n");
    let id = editor.session(&room.work());
    let prompt = editor.begin_prompt(&id, "edit it");
    let asked = editor.question();
    let difference = json!({"type": "diff", "path": file, "oldText": "fn typed() {}\n",
        "newText": "fn edited() {}\n"});
    assert_eq!(
        asked.json()["toolCall"]["content"][0],
        difference,
        "the question shows the buffer"
    );
    assert_eq!(room.read("code.rs"), "fn saved() {}\n");
    asked.choose("Allow once");
    prompt.wait().unwrap();
    assert!(content(&editor.call(&id, "read")).contains("fn typed() {}"));
    assert_eq!(room.read("code.rs"), "fn edited() {}\n");
    assert_eq!(editor.call(&id, "edit")["status"], "completed");
    let written = editor
        .file_requests()
        .into_iter()
        .filter(|(what, _)| *what == "write");
    assert_eq!(written.collect::<Vec<_>>(), [("write", "code.rs".to_owned())]);
}

#[test]
fn a_buffer_that_changes_before_the_yes_is_asked_about_again() {
    let room = room();
    room.write("code.rs", "fn saved() {}\n");
    let editor = Editor::with_files(&room, &json!([write("code.rs", "new\n"), said("done")]), &[]);
    let file = room.work().join("code.rs");
    editor.type_into(file.clone(), "fn first() {}\n");
    let id = editor.session(&room.work());
    let prompt = editor.begin_prompt(&id, "write it");
    let asked = editor.question();
    assert_eq!(
        asked.json()["toolCall"]["content"][0]["oldText"],
        "fn first() {}\n"
    );
    editor.type_into(file, "fn second() {}\n");
    asked.choose("Allow once");
    let asked = editor.question();
    assert_eq!(
        asked.json()["toolCall"]["content"][0]["oldText"],
        "fn second() {}\n"
    );
    asked.choose("Reject");
    prompt.wait().unwrap();
    assert_eq!(room.read("code.rs"), "fn saved() {}\n");
    assert!(editor.file_requests().iter().all(|(what, _)| *what == "read"));
}

#[test]
fn guards_judge_what_goes_through_the_editor_and_it_is_asked_nothing_that_they_refuse() {
    let room = room();
    room.write("secret.txt", "s3cret");
    room.write("keep.txt", "kept\n");
    let hooks = room.hooks(
        "[[hook]]\nname = \"reader\"\nevent = \"pre_file_read\"\n\
         command = '''grep -q secret.txt && exit 2 || true'''\n\
         [[hook]]\nname = \"keeper\"\nevent = \"pre_file_write\"\n\
         command = '''grep -q keep.txt && exit 2 || true'''\n",
    );
    let read = json!({"tool_calls": [{"name": "read", "arguments": {"path": "secret.txt"}}]});
    let turns = json!([
        read,
        write("keep.txt", "gone"),
        write("new.txt", "hello"),
        said("done")
    ]);
    let editor = Editor::with_files(&room, &turns, &["--hooks", &hooks, "--yes"]);
    let id = editor.session(&room.work());
    editor.prompt(&id, "go");
    assert_eq!(editor.call(&id, "read secret.txt")["status"], "failed");
    assert_eq!(editor.call(&id, "write keep.txt")["status"], "failed");
    assert_eq!(editor.call(&id, "write new.txt")["status"], "completed");
    let asked = editor.file_requests();
    assert!(
        asked.iter().all(|(_, name)| name == "new.txt") && asked.contains(&("write", "new.txt".into())),
        "{asked:?}"
    );
    assert_eq!(
        (&*room.read("keep.txt"), &*room.read("new.txt")),
        ("kept\n", "hello")
    );
}

#[test]
fn an_editor_that_does_not_write_is_told_to_the_model_and_nothing_is_written_past_it() {
    let room = room();
    room.write("open.txt", "old\n");
    let outside = room.work().parent().unwrap().join("outside.txt");
    let turns = json!([
        write("open.txt", "new\n"),
        write(outside.to_str().unwrap(), "beside"),
        said("done"),
    ]);
    let editor = Editor::with_files(&room, &turns, &["--yes"]);
    editor.refuse_to_write("the buffer is read-only");
    let id = editor.session(&room.work());
    editor.prompt(&id, "go");
    let call = editor.call(&id, "write open.txt");
    assert_eq!(call["status"], "failed", "{call}");
    assert!(
        content(&call).contains("the editor did not write it: the buffer is read-only"),
        "{call}"
    );
    assert_eq!(room.read("open.txt"), "old\n");
    // The editor knows nothing of files beside the session's folder.
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "beside");
}

#[test]
fn an_editor_that_fails_to_read_is_told_to_the_model_and_the_disk_is_not_read_in_its_place() {
    let room = room();
    room.write("open.txt", "what is saved\n");
    std::fs::write(room.work().join("dot.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    let read = |path: &str| json!({"tool_calls": [{"name": "read", "arguments": {"path": path}}]});
    let turns = json!([
        read("open.txt"),
        read("dot.png"),
        edit("open.txt", "saved", "edited"),
        write("new.txt", "hello"),
        said("done"),
    ]);
    let editor = Editor::with_files(&room, &turns, &["--tools", "becket", "--yes"]);
    editor.refuse_to_read("the buffer is locked");
    let id = editor.session(&room.work());
    editor.prompt(&id, "go");
    for title in ["read open.txt", "edit open.txt"] {
        let call = editor.call(&id, title);
        assert_eq!(call["status"], "failed", "{call}");
        assert!(
            content(&call).contains("the editor did not read it: the buffer is locked"),
            "{call}"
        );
        assert!(!content(&call).contains("what is"), "{call}");
    }
    assert_eq!(editor.call(&id, "read dot.png")["status"], "completed");
    assert_eq!(editor.call(&id, "write new.txt")["status"], "completed");
    assert_eq!(
        (&*room.read("open.txt"), &*room.read("new.txt")),
        ("what is saved\n", "hello")
    );
}

#[test]
fn a_question_that_the_editor_fails_to_ask_is_answered_with_no() {
    let room = room();
    let turns = json!([shell("touch made"), said("done")]);
    let editor = Editor::with_model(&room, &turns, &[]);
    let id = editor.session(&room.work());
    let prompt = editor.begin_prompt(&id, "go");
    editor.question().fail("the dialog cannot be shown");
    prompt.wait().unwrap();
    assert!(!room.has("made"));
    assert_eq!(editor.call(&id, "shell touch made")["status"], "failed");
    editor.wait_for(&id, "the reason", |update| {
        update
            .to_string()
            .contains("the editor did not ask: the dialog cannot be shown; so the answer is no")
    });
}

#[test]
fn an_editor_that_goes_away_during_a_question_has_said_no() {
    let room = room();
    let editor = Editor::with_model(&room, &json!([shell("touch made"), said("done")]), &[]);
    let id = editor.session(&room.work());
    let _prompt = editor.begin_prompt(&id, "go");
    let _question = editor.question();
    let (code, stderr) = editor.leave();
    assert_eq!(code, 0, "{stderr}");
    assert!(!room.has("made"));
    let log = room.run(["-C", &*id.0, "context", "log"]).ended_with(0).stdout;
    assert!(log.contains("calls shell") && log.contains("refused"), "{log}");
}

#[test]
fn a_file_in_a_folder_behind_a_link_is_named_as_the_editor_names_it() {
    let room = room();
    room.write("real/note.txt", "saved\n");
    let link = room.work().join("link");
    symlink(room.work().join("real"), &link).unwrap();
    let read = json!({"tool_calls": [{"name": "read", "arguments": {"path": "note.txt"}}]});
    let editor = Editor::with_files(&room, &json!([read, said("done")]), &[]);
    editor.type_into(link.join("note.txt"), "typed\n");
    let id = editor.session(&link);
    editor.prompt(&id, "read it");
    let call = editor.call(&id, "read note.txt");
    assert!(content(&call).contains("typed"), "{call}");
}

#[test]
fn what_a_program_prints_is_seen_while_it_runs() {
    let room = room();
    let turns = json!([
        shell("echo begun; until [ -e go ]; do sleep 0.05; done; echo ended"),
        said("done")
    ]);
    let editor = Editor::with_model(&room, &turns, &["--yes"]);
    let id = editor.session(&room.work());
    let prompt = editor.begin_prompt(&id, "run it");
    editor.wait_for(&id, "the first output", |update| {
        update["sessionUpdate"] == "tool_call_update" && update["content"].to_string().contains("begun")
    });
    room.write("go", "");
    prompt.wait().unwrap();
    assert!(content(&editor.call(&id, "shell")).contains("ended"));
}

#[test]
fn the_todo_list_is_the_plan() {
    let room = room();
    let turns = json!([
        {"tool_calls": [{"name": "create_todos", "arguments": {"descriptions": ["look", "leap"]}}]},
        {"tool_calls": [{"name": "update_todos", "arguments":
            {"updates": [{"id": "todo_1", "status": "completed"}, {"id": "todo_2", "status": "in-progress"}]}}]},
        said("planned"),
    ]);
    let editor = Editor::with_model(&room, &turns, &["--yes", "--tools", "docker-agent"]);
    let id = editor.session(&room.work());
    editor.prompt(&id, "plan");
    let plans = editor.updates_of(&id, "plan");
    let entries = |plan: &Value| -> Vec<String> {
        let entries = plan["entries"].as_array().unwrap().iter();
        entries
            .map(|entry| format!("{} {}", entry["content"], entry["status"]))
            .collect()
    };
    assert_eq!(
        entries(&plans[0]),
        ["\"look\" \"pending\"", "\"leap\" \"pending\""]
    );
    assert_eq!(
        entries(&plans[1]),
        ["\"look\" \"completed\"", "\"leap\" \"in_progress\""]
    );
}

#[test]
fn what_is_left_to_do_is_the_plan_of_a_conversation_that_goes_on() {
    let room = room();
    let turns = json!([
        {"tool_calls": [{"name": "update_todos", "arguments": {"content": "- [x] look\n- [ ] leap"}}]},
        said("half done"),
    ]);
    let first = Editor::with_model(&room, &turns, &["--yes"]);
    let id = first.session(&room.work());
    first.prompt(&id, "plan");
    assert_eq!(first.leave().0, 0);

    let second = Editor::with_model(&room, &json!([said("unused")]), &[]);
    second.load(&id, &room.work()).unwrap();
    let plan = second.wait_for(&id, "the plan", |update| update["sessionUpdate"] == "plan");
    let entries = plan["entries"].as_array().unwrap().iter();
    let entries: Vec<(&Value, &Value)> = entries
        .map(|entry| (&entry["content"], &entry["status"]))
        .collect();
    assert_eq!(
        entries,
        [
            (&json!("look"), &json!("completed")),
            (&json!("leap"), &json!("pending"))
        ]
    );
    second.prompt(&id, "/clear");
    let plans = second.updates_of(&id, "plan");
    assert_eq!(plans.last().unwrap()["entries"], json!([]), "{plans:?}");
}

// ---------------------------------------------------------------- cancelling

#[test]
fn a_cancelled_prompt_ends_its_program_and_the_next_one_runs() {
    let room = room();
    let turns = json!([shell("echo $$ > pid; sleep 600"), said("back again")]);
    let editor = Editor::with_model(&room, &turns, &["--yes"]);
    let id = editor.session(&room.work());
    let prompt = editor.begin_prompt(&id, "wait");
    editor.wait_for(&id, "the call", |update| update["status"] == "in_progress");
    while room.read("pid").trim().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    editor.notify(CancelNotification::new(id.clone()));
    assert_eq!(prompt.wait().unwrap().stop_reason, StopReason::Cancelled);
    testkit::wait_until_gone(room.read("pid").trim());
    assert_eq!(editor.call(&id, "shell")["status"], "failed");
    assert_eq!(editor.prompt(&id, "and now?").stop_reason, StopReason::EndTurn);
    assert_eq!(editor.answer(&id), "back again");
}

#[test]
fn a_cancel_takes_questions_and_waiting_prompts_with_it() {
    let room = room();
    let editor = Editor::with_model(&room, &json!([shell("touch ran"), said("after")]), &[]);
    let id = editor.session(&room.work());
    let (asking, waiting) = (
        editor.begin_prompt(&id, "run"),
        editor.begin_prompt(&id, "and then"),
    );
    let asked = editor.question();
    editor.notify(CancelNotification::new(id.clone()));
    assert_eq!(asking.wait().unwrap().stop_reason, StopReason::Cancelled);
    assert_eq!(waiting.wait().unwrap().stop_reason, StopReason::Cancelled);
    // Too late, and to nothing.
    asked.choose("Allow once");
    assert_eq!(editor.prompt(&id, "go on").stop_reason, StopReason::EndTurn);
    assert!(!room.has("ran"));
}

// ---------------------------------------------------------------- stored conversations

#[test]
fn a_conversation_is_loaded_after_a_restart_and_goes_on() {
    let room = room();
    let turns = json!([
        {"thinking": "hm", "text": "I write.", "tool_calls": [
            {"name": "write", "arguments": {"path": "a.txt", "content": "a"}}]},
        said("Written."),
    ]);
    let first = Editor::with_model(&room, &turns, &["--yes"]);
    let id = first.session(&room.work());
    first.prompt(&id, "first words");
    assert_eq!(first.leave().0, 0);

    let turns = json!([{"text": "Of course I remember.", "expect": ["first words", "Written."]}]);
    let second = Editor::with_model(&room, &turns, &["--yes"]);
    let listed = second
        .ask(ListSessionsRequest::new().cwd(room.work()))
        .unwrap()
        .sessions;
    let listed = serde_json::to_value(&listed).unwrap();
    assert_eq!(listed[0]["sessionId"], id.0.as_ref());
    assert_eq!(listed[0]["title"], "first words");
    assert_eq!(listed[0]["cwd"], json!(room.work()));
    let elsewhere = second
        .ask(ListSessionsRequest::new().cwd(room.home()))
        .unwrap()
        .sessions;
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    second.load(&id, &room.work()).unwrap();
    assert_eq!(second.words(&id, "user_message_chunk"), "first words");
    assert_eq!(second.answer(&id), "I write.Written.");
    assert_eq!(second.words(&id, "agent_thought_chunk"), "hm");
    let call = second.call(&id, "write a.txt");
    assert_eq!(
        (&call["kind"], &call["status"]),
        (&json!("edit"), &json!("completed"))
    );
    assert_eq!(
        second.prompt(&id, "do you remember?").stop_reason,
        StopReason::EndTurn
    );
    assert!(
        second.answer(&id).ends_with("Of course I remember."),
        "{}",
        second.answer(&id)
    );
    assert_eq!(second.leave().0, 0);

    let third = Editor::with_model(&room, &json!([]), &[]);
    third
        .ask(ResumeSessionRequest::new(id.clone(), room.work()))
        .unwrap();
    assert_eq!(third.answer(&id), "", "a resumed conversation is not replayed");
}

#[test]
fn the_end_of_standard_input_ends_programs_and_loses_nothing() {
    let room = room();
    let turns = json!([said("kept"), shell("echo $$ > pid; sleep 600")]);
    let editor = Editor::with_model(&room, &turns, &["--yes"]);
    let id = editor.session(&room.work());
    editor.prompt(&id, "remember me");
    let _running = editor.begin_prompt(&id, "and wait");
    while room.read("pid").trim().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let (code, stderr) = editor.leave();
    assert_eq!(code, 0, "{stderr}");
    testkit::wait_until_gone(room.read("pid").trim());
    let shown = room.run(["-C", &*id.0, "context", "export"]).ended_with(0).stdout;
    assert!(shown.contains("remember me") && shown.contains("kept"), "{shown}");
    assert!(shown.contains("and wait"), "{shown}");
}

#[test]
fn a_closed_session_is_gone_and_its_conversation_is_not() {
    let room = room();
    let editor = Editor::with_model(&room, &json!([said("hello")]), &[]);
    let id = editor.session(&room.work());
    editor.prompt(&id, "hi");
    editor.ask(CloseSessionRequest::new(id.clone())).unwrap();
    let error = editor.begin_prompt(&id, "still there?").wait().unwrap_err();
    assert!(error.message.contains("no open session"), "{error:?}");
    editor.load(&id, &room.work()).unwrap();
    assert!(editor.answer(&id).ends_with("hello"));
}

#[test]
fn an_open_session_is_not_loaded_into_another_folder() {
    let room = room();
    let elsewhere = room.work().join("sub");
    std::fs::create_dir(&elsewhere).unwrap();
    let editor = Editor::with_model(&room, &json!([said("hello")]), &[]);
    let id = editor.session(&room.work());
    editor.prompt(&id, "hi");
    let error = editor.load(&id, &elsewhere).unwrap_err();
    assert!(error.message.contains("the session is open in"), "{error:?}");
    editor.load(&id, &room.work()).unwrap();
    editor.ask(CloseSessionRequest::new(id.clone())).unwrap();
    editor.load(&id, &elsewhere).unwrap();
    editor.prompt(&id, "/status");
    let status = editor.answer(&id);
    assert!(status.contains("work/sub"), "{status}");
}

// ---------------------------------------------------------------- trust

const GUARDING: &str = "[[hook]]\nname = \"house-rule\"\nevent = \"pre_tool\"\ncommand = \"./guard.sh\"\n";
const WATCHING: &str = "[[hook]]\nevent = \"session_start\"\ncommand = \"touch watched\"\n";

fn guarded() -> Room {
    let room = room();
    room.write("becket.toml", GUARDING);
    room.script("guard.sh", "#!/bin/sh\necho not in this house >&2\nexit 2\n");
    room
}

#[test]
fn a_guard_of_the_project_is_asked_about_before_the_first_prompt() {
    let room = guarded();
    let editor = Editor::with_model(&room, &json!([shell("touch ran"), said("ok")]), &["--yes"]);
    let id = editor.session(&room.work());
    let prompt = editor.begin_prompt(&id, "run it");
    let asked = editor.question();
    let question = asked.json().to_string();
    for wanted in [
        "Trust exactly this?",
        "house-rule",
        "guard.sh",
        "not in this house",
    ] {
        assert!(question.contains(wanted), "{wanted}: {question}");
    }
    asked.choose("Trust exactly this");
    assert_eq!(prompt.wait().unwrap().stop_reason, StopReason::EndTurn);
    assert!(content(&editor.call(&id, "shell")).contains("not in this house"));
    assert!(!room.has("ran"));
    editor.leave();
    // What is trusted is not asked about again.
    let editor = Editor::with_model(&room, &json!([said("ok")]), &[]);
    let id = editor.session(&room.work());
    editor.prompt(&id, "hello");
    assert!(!editor.is_asked());
}

#[test]
fn without_a_yes_to_a_guard_prompts_are_refused_with_the_reason() {
    let room = guarded();
    let editor = Editor::with_model(&room, &json!([shell("touch ran"), said("ok")]), &["--yes"]);
    let id = editor.session(&room.work());
    let prompt = editor.begin_prompt(&id, "run it");
    editor.question().choose("Work without it");
    assert_eq!(prompt.wait().unwrap().stop_reason, StopReason::Refusal);
    assert!(
        editor.answer(&id).contains("house-rule"),
        "{}",
        editor.answer(&id)
    );
    assert!(!room.has("ran"));
    // A cancelled question decides nothing: it is asked again.
    let prompt = editor.begin_prompt(&id, "run it now");
    editor.question().cancel();
    assert_eq!(prompt.wait().unwrap().stop_reason, StopReason::Cancelled);
    let prompt = editor.begin_prompt(&id, "please");
    editor.question().choose("Trust exactly this");
    assert_eq!(prompt.wait().unwrap().stop_reason, StopReason::EndTurn);
    assert!(!room.has("ran"));
}

#[test]
fn without_a_yes_to_other_hooks_the_project_is_worked_in_without_them() {
    let room = room();
    room.write("becket.toml", WATCHING);
    let editor = Editor::with_model(&room, &json!([said("hello"), said("again")]), &[]);
    let id = editor.session(&room.work());
    let prompt = editor.begin_prompt(&id, "hi");
    editor.question().choose("Work without it");
    assert_eq!(prompt.wait().unwrap().stop_reason, StopReason::EndTurn);
    assert_eq!(editor.prompt(&id, "again").stop_reason, StopReason::EndTurn);
    assert!(!room.has("watched") && !editor.is_asked());
}

// ---------------------------------------------------------------- several sessions

#[test]
fn sessions_work_beside_each_other_each_in_its_folder() {
    let room = room();
    room.write("one/who", "one");
    room.write("two/who", "two");
    let turns = json!([shell("cat who > seen"), said("done")]);
    let editor = Editor::with_model(&room, &turns, &[]);
    let one = editor.session(&room.work().join("one"));
    let two = editor.session(&room.work().join("two"));
    assert_ne!(one, two);
    let waiting = editor.begin_prompt(&one, "look");
    let asked = editor.question();
    assert_eq!(asked.request.session_id, one);
    // The mode of one is not the mode of the other.
    editor
        .ask(SetSessionModeRequest::new(two.clone(), "yes"))
        .unwrap();
    assert_eq!(editor.prompt(&two, "look").stop_reason, StopReason::EndTurn);
    assert_eq!(room.read("two/seen"), "two");
    assert!(!room.has("one/seen"));
    asked.choose("Allow once");
    assert_eq!(waiting.wait().unwrap().stop_reason, StopReason::EndTurn);
    assert_eq!(room.read("one/seen"), "one");
    assert_eq!(editor.answer(&one), "done");
}

#[test]
fn a_folder_behind_a_link_is_the_folder_itself() {
    let room = room();
    room.write("../real/there.txt", "");
    symlink("real", room.work().join("../link")).unwrap();
    let editor = Editor::with_model(&room, &json!([write("a.txt", "a"), said("done")]), &[]);
    let id = editor.session(&room.work().join("../link"));
    editor
        .ask(SetSessionModeRequest::new(id.clone(), "accept-edits"))
        .unwrap();
    editor.prompt(&id, "write");
    assert!(room.has("../real/a.txt") && !editor.is_asked());
    let listed = editor
        .ask(ListSessionsRequest::new().cwd(room.work().join("../link")))
        .unwrap();
    assert_eq!(listed.sessions.len(), 1);
}

// ---------------------------------------------------------------- modes, models, commands

#[test]
fn modes_and_models_are_chosen_in_the_editor() {
    let room = room();
    let other = room.write("../other.json", json!([said("I am the other one")]).to_string());
    let other = format!("scripted/{}", other.display());
    let turns = json!([write("a.txt", "a"), said("planned"), said("mode said")]);
    let editor = Editor::with_model(&room, &turns, &[]);
    let id = editor.session(&room.work());
    editor
        .ask(SetSessionModeRequest::new(id.clone(), "plan"))
        .unwrap();
    editor.prompt(&id, "write");
    assert!(!room.has("a.txt") && !editor.is_asked());
    assert_eq!(editor.call(&id, "write a.txt")["status"], "failed");
    let message = editor
        .ask(SetSessionModeRequest::new(id.clone(), "chaos"))
        .unwrap_err()
        .message;
    assert!(message.contains("ask, accept-edits, plan, yes"), "{message}");
    let set = |option: &str, value: &str| {
        editor.ask(SetSessionConfigOptionRequest::new(
            id.clone(),
            option.to_owned(),
            SessionConfigValueId::new(value.to_owned()),
        ))
    };
    let options = serde_json::to_value(set("mode", "accept-edits").unwrap().config_options).unwrap();
    assert_eq!(options[0]["currentValue"], "accept-edits");
    assert_eq!(
        (&options[1]["id"], &options[1]["category"]),
        (&json!("model"), &json!("model"))
    );
    let changed = editor.updates_of(&id, "current_mode_update");
    assert_eq!(changed.last().unwrap()["currentModeId"], "accept-edits");
    assert!(set("model", "nobody/knows").is_err());
    let options = serde_json::to_value(set("model", &other).unwrap().config_options).unwrap();
    assert_eq!(options[1]["currentValue"], json!(other));
    editor.prompt(&id, "who are you?");
    assert!(
        editor.answer(&id).ends_with("I am the other one"),
        "{}",
        editor.answer(&id)
    );
}

#[test]
fn slash_commands_are_offered_and_run() {
    let room = room();
    room.write(
        "../home/.pi/agent/prompts/greet.md",
        "---\ndescription: Greets somebody\n---\nSay hello to $1.\n",
    );
    let turns = json!([{"text": "Hello, Ada!", "expect": ["Say hello to Ada."]}]);
    let editor = Editor::with_model(&room, &turns, &[]);
    let id = editor.session(&room.work());
    let offered = editor.wait_for(&id, "the commands", |update| {
        update["sessionUpdate"] == "available_commands_update"
    });
    let names: Vec<&str> = offered["availableCommands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|command| command["name"].as_str().unwrap())
        .collect();
    for wanted in ["greet", "compact", "clear", "mode", "model", "hooks", "help"] {
        assert!(names.contains(&wanted), "{wanted}: {names:?}");
    }
    editor.prompt(&id, "/greet Ada");
    assert_eq!(editor.answer(&id), "Hello, Ada!");
    editor.prompt(&id, "/mode plan");
    let changed = editor.updates_of(&id, "current_mode_update");
    assert_eq!(changed.last().unwrap()["currentModeId"], "plan");
    editor.prompt(&id, "/name Ada's greeting");
    assert_eq!(
        editor.updates_of(&id, "session_info_update")[0]["title"],
        "Ada's greeting"
    );
    for (line, wanted) in [
        ("/status", "messages"),
        ("/hooks", "no hooks are active"),
        ("/help", "/compact"),
        ("/dance", "there is no command /dance"),
        ("/comapct the talk", "did you mean /compact?"),
        ("/great Ada", "did you mean /greet?"),
        ("/dance with me", "//dance sends it to the model"),
        ("/cost of it", "/cost takes no words"),
        ("/clear", "starts over"),
        ("/cost", "tokens"),
    ] {
        editor.prompt(&id, line);
        assert!(
            editor.answer(&id).contains(wanted),
            "{line}: {}",
            editor.answer(&id)
        );
    }
}

#[test]
fn an_extension_asks_and_tells_through_the_editor() {
    let room = room();
    let extension = "export default (pi: any) => { pi.registerCommand('ask', { description: 'Asks', handler: \
                     async (_: string, ctx: any) => { const yes = await ctx.ui.confirm('Sure?', 'Really so?'); \
                     ctx.ui.notify(yes ? 'it is so' : 'it is not', 'warning'); } }); };\n";
    room.write("../home/.pi/agent/extensions/asks.ts", extension);
    let editor = Editor::with_model(&room, &json!([said("not asked")]), &[]);
    let id = editor.session(&room.work());
    for (answer, wanted) in [("Yes", "it is so"), ("No", "it is not")] {
        let prompt = editor.begin_prompt(&id, "/ask");
        let asked = editor.question();
        assert!(
            asked.json()["toolCall"].to_string().contains("Really so?"),
            "{}",
            asked.json()
        );
        asked.choose(answer);
        prompt.wait().unwrap();
        let notices = editor.updates_of(&id, "notice");
        let last = notices.last().unwrap();
        assert!(last["title"].as_str().unwrap().ends_with(wanted), "{notices:?}");
        assert_eq!(last["severity"], "warning");
    }
}

// ---------------------------------------------------------------- MCP servers

#[test]
fn what_is_left_out_is_told_in_the_editor() {
    let room = room();
    let server = McpServerStdio::new("helper", "/nowhere/helper");
    let editor = Editor::with_model(&room, &json!([said("one"), said("two")]), &[]);
    let request = NewSessionRequest::new(room.work()).mcp_servers(vec![McpServer::Stdio(server)]);
    let id = editor.ask(request).unwrap().session_id;
    editor.prompt(&id, "one");
    editor.prompt(&id, "two");
    let notices = editor.updates_of(&id, "notice");
    assert_eq!(notices.len(), 1, "{notices:?}");
    let title = notices[0]["title"].as_str().unwrap();
    assert!(
        title.contains("helper") && title.contains("/nowhere/helper"),
        "{title}"
    );
    assert_eq!(editor.answer(&id), "onetwo");
}

#[test]
fn a_server_of_the_editor_stands_behind_the_gate_and_its_key_is_hidden() {
    if !needs("python3") {
        return;
    }
    let room = room_with_all_tools();
    let key = "key-of-the-editor-7f3a9c";
    let program = repository_file("crates/faces/becket/tests/blackbox/mcp/server.py");
    let log = room.home().join("server.log");
    let server = McpServerStdio::new("helper", "/usr/bin/env")
        .args(vec!["python3".into(), program, "tells-secrets".into()])
        .env(vec![
            EnvVariable::new("SERVER_LOG", log.display().to_string()),
            EnvVariable::new("LICENCE", key),
        ]);
    let turns = json!([
        {"tool_calls": [{"name": "helper_act_now"}]},
        {"tool_calls": [{"name": "helper_act_now"}]},
        said("done"),
    ]);
    let editor = Editor::with_model(&room, &turns, &[]);
    let request = NewSessionRequest::new(room.work()).mcp_servers(vec![McpServer::Stdio(server)]);
    let id = editor.ask(request).unwrap().session_id;
    let prompt = editor.begin_prompt(&id, "act");
    let asked = editor.question();
    assert!(
        asked.json().to_string().contains("mcp:helper"),
        "{}",
        asked.json()
    );
    asked.choose("Reject");
    editor.question().choose("Allow once");
    assert_eq!(prompt.wait().unwrap().stop_reason, StopReason::EndTurn);
    // The server tells its key as soon as it is called.
    let call = content(&editor.call(&id, "helper_act_now"));
    assert!(call.contains("The key is [hidden]"), "{call}");
    let lines = editor.lines().join("\n");
    let (code, stderr) = editor.leave();
    assert_eq!(code, 0, "{stderr}");
    assert!(!lines.contains(key) && !stderr.contains(key));
    for folder in [room.home(), room.work()] {
        assert_no_file_holds(&folder, key);
    }
}

fn assert_no_file_holds(folder: &Path, key: &str) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            assert_no_file_holds(&path, key);
        } else if let Ok(bytes) = std::fs::read(&path) {
            let is_there = bytes.windows(key.len()).any(|window| window == key.as_bytes());
            assert!(!is_there, "{} holds the key", path.display());
        }
    }
}
