//! What a chibi home and its plugins count on beyond the hooks: data of any length, conversations that go on, tools and
//! files that chibi has.

use serde_json::{Value, json};

use super::{Chibi, Newer, Older, calls, says};

/// A plugin of the older generation whose only tool is `recurse`, as newer versions ship it.
const NEWER_RECURSE: &str = r#"#!/bin/bash
if [[ $1 == --schema ]]; then
  echo '{"name":"recurse","description":"Go on in another round, with a note to yourself.",
    "parameters":{"type":"object","properties":{"note":{"type":"string"}},"required":["note"]}}'
  exit
fi
echo "Continuing: $(cat)"
"#;

#[test]
fn recurse_of_the_newer_generation_goes_on_with_its_note_too() {
    let chibi = Chibi::new();
    chibi.install("recurse", NEWER_RECURSE);
    let turns = [
        calls("recurse", json!({"note": "look at the second half"})),
        says("first half done"),
        says("all done"),
    ];
    let told = chibi.ask(&["go"], &turns).went_well().asked(3);
    assert!(told.prompt(2).contains("look at the second half"), "{told:#?}");
}

/// A call with more than fits into a variable.
fn long_write() -> Value {
    calls(
        "write",
        json!({"path": "big.txt", "content": "x".repeat(150_000)}),
    )
}

#[test]
fn an_older_plugin_reads_data_that_are_too_long_for_a_variable_from_a_file() {
    let chibi = Chibi::new();
    let reading = |variable: &str| {
        format!(
            "path=${{{variable}_FILE:-}}; if [[ -n $path ]]; then wc -c < \"$path\" > \"$HOME/{variable}.size\"\n\
             echo \"$path\" > \"$HOME/{variable}.path\"; fi"
        )
    };
    chibi.plugin(Older, "guard", &["pre_tool"], &reading("CHIBI_HOOK_DATA"));
    chibi.plugin(
        Older,
        "taker",
        &[],
        &format!("{}\necho taken", reading("CHIBI_TOOL_ARGS")),
    );
    let turns = [
        long_write(),
        calls("taker", json!({"text": "x".repeat(150_000)})),
        says("done"),
    ];
    let told = chibi.ask(&["--yes", "go"], &turns).went_well();
    assert!(chibi.room.has("big.txt"), "{told:#?}");
    assert_eq!(told.results()[1], "taken\n", "{told:#?}");
    for variable in ["CHIBI_HOOK_DATA", "CHIBI_TOOL_ARGS"] {
        let size = chibi.room.read(&format!("../home/{variable}.size"));
        assert!(
            size.trim().parse::<usize>().unwrap() > 150_000,
            "{variable}: {size}"
        );
        let path = chibi.room.read(&format!("../home/{variable}.path"));
        assert!(
            !std::path::Path::new(path.trim()).exists(),
            "the file is gone with the call"
        );
    }
}

#[test]
fn an_older_plugin_that_cannot_read_long_data_is_told_to_the_person_and_a_guard_refuses() {
    let chibi = Chibi::new();
    chibi.plugin(Older, "watch", &["post_tool"], "touch \"$HOME/watched\"");
    let told = chibi
        .ask(&["--yes", "-C", "new:any", "go"], &[long_write(), says("done")])
        .went_well();
    assert!(
        chibi.room.has("big.txt") && !chibi.room.has("../home/watched"),
        "{told:#?}"
    );
    told.run.complained("too many for the variable CHIBI_HOOK_DATA");
    chibi.plugin(
        Older,
        "guard",
        &["pre_tool"],
        "touch \"$HOME/guarded\"; echo '{}'",
    );
    std::fs::remove_file(chibi.room.work().join("big.txt")).unwrap();
    let told = chibi
        .ask(&["--yes", "-C", "new:any", "go"], &[long_write(), says("done")])
        .went_well();
    assert!(
        !chibi.room.has("big.txt") && !chibi.room.has("../home/guarded"),
        "{told:#?}"
    );
    let last = |told: &super::Told| told.results().pop().unwrap_or_default();
    assert!(last(&told).contains("CHIBI_HOOK_DATA_FILE"), "{told:#?}");
    std::fs::remove_file(chibi.home().join("plugins/guard")).unwrap();
    chibi.plugin(Older, "tool", &[], "echo \"got ${#CHIBI_TOOL_ARGS}\"");
    let turns = [calls("tool", json!({"text": "x".repeat(150_000)})), says("done")];
    let told = chibi.ask(&["-C", "new:long", "go"], &turns).went_well();
    assert!(
        last(&told).contains("too many for the variable CHIBI_TOOL_ARGS"),
        "{told:#?}"
    );
}

/// A file with tools as task managers write them: nothing is asked for by the schema, everything goes through tools.
const FLOCK_TASKS: &str = r#"(import (scheme base) (scheme read) (harness tools))
(define (folders)
  (read (open-input-string (call-tool "file_head"
    `(("path" . ,(string-append "vfs:///sys/contexts/" %context-name% "/task-dirs")) ("lines" . "1"))))))
(define-tool put (description "Puts a task.") (parameters '((flock . ((type . "string"))) (body . ((type . "string")))))
  (execute (lambda (args)
    (let ((body (assoc "body" args))
          (path (string-append "vfs:///flocks/" (cdr (assoc "flock" args)) "/tasks/one.task")))
      (call-tool "write_file" `(("path" . ,path)
        ("content" . ,(string-append "((id . \"1\") (status . pending))\n\n\"" (if body (cdr body) "") "\"\n"))))))))
(define-tool again (description "Sets a status.")
  (parameters '((path . ((type . "string"))) (status . ((type . "string")))))
  (execute (lambda (args)
    (call-tool "file_edit" `(("path" . ,(cdr (assoc "path" args))) ("operation" . "replace_string")
      ("find" . "(status . pending)") ("replace" . "(status . pending)"))))))
(define-tool listed (description "Lists.") (parameters '((status . ((type . "string")))))
  (execute (lambda (args)
    (apply string-append (map (lambda (folder)
      (string-append folder ": " (call-tool "vfs_list" `(("path" . ,(string-append "vfs://" folder)))) "\n"))
      (folders))))))
"#;

#[test]
fn scheme_files_find_tasks_of_flocks_by_way_of_the_files_that_becket_shows() {
    let chibi = Chibi::new();
    chibi
        .room
        .write("../home/.chibi/vfs/tools/shared/tasks.scm", FLOCK_TASKS);
    let turns = [
        calls("flock_join", json!({"flock": "infra"})),
        calls("put", json!({"flock": "infra"})),
        calls("again", json!({"path": "vfs:///flocks/infra/tasks/one.task"})),
        calls("listed", json!({})),
        calls(
            "file_head",
            json!({"path": "vfs:///sys/contexts/work/state.json"}),
        ),
        calls("vfs_list", json!({"path": "vfs:///tools/sys"})),
        calls("file_head", json!({"path": "vfs:///tools/sys/listed"})),
        calls(
            "write_file",
            json!({"path": "vfs:///sys/contexts/work/task-dirs", "content": "x"}),
        ),
        says("done"),
    ];
    let told = chibi
        .ask(&["--tools", "chibi", "-c", "work", "go"], &turns)
        .went_well();
    let results = told.results();
    assert!(
        results[2].contains("Edited"),
        "the same text may replace itself: {results:#?}"
    );
    let listed = "/home/work/tasks: No entries found.\n/site/tasks: No entries found.\n\
                  /flocks/infra/tasks: one.task (file)";
    assert!(results[3].contains(listed), "{results:#?}");
    let state: Value = serde_json::from_str(&results[4]).expect("JSON");
    assert_eq!(state["flocks"], json!(["site", "infra"]));
    assert_eq!(
        state["paths"]["goals"],
        json!(["/site/goals.md", "/flocks/infra/goals.md"])
    );
    assert_eq!(state["prompt_count"], 1);
    assert!(
        results[5].contains("listed (file)") && results[5].contains("shell_exec (file)"),
        "{results:#?}"
    );
    let schema: Value = serde_json::from_str(&results[6]).expect("JSON");
    assert_eq!(
        (&schema["name"], &schema["category"]),
        (&json!("listed"), &json!("synthesised"))
    );
    assert!(results[7].contains("cannot be written"), "{results:#?}");
}

#[test]
fn an_edit_of_chibi_may_replace_a_text_by_the_same() {
    let chibi = Chibi::new();
    chibi.room.write("a.txt", "one two");
    let edit = json!({"path": "a.txt", "operation": "replace_string", "find": "two", "replace": "two"});
    let turns = [calls("file_edit", edit), says("done")];
    let told = chibi
        .ask(&["--yes", "--tools", "chibi", "go"], &turns)
        .went_well();
    assert!(!told.results()[0].starts_with("Error"), "{told:#?}");
    assert_eq!(chibi.room.read("a.txt"), "one two");
}

/// Writes a home as chibi leaves it: a current context with a conversation, another one, and prompts.
fn used_home(chibi: &Chibi) {
    let write = |file: &str, text: &str| chibi.room.write(&format!("../home/.chibi/{file}"), text);
    write(
        "session.json",
        r#"{"implied_context":"work","previous_context":"other"}"#,
    );
    write(
        "state.json",
        r#"{"contexts":[{"name":"work","created_at":1700000000,"last_activity_at":1700000100}]}"#,
    );
    let line = |from: &str, to: &str, content: &str, kind: &str, role: Option<&str>| {
        let call = kind.starts_with("tool").then_some("c1");
        json!({"timestamp": 1, "from": from, "to": to, "content": content, "entry_type": kind, "role": role,
            "tool_call_id": call})
    };
    let lines = [
        line("system", "work", "", "context_created", None),
        line("me", "work", "my cat is Tom", "message", Some("user")),
        line("work", "file_head", "{\"path\":\"a\"}", "tool_call", None),
        line("file_head", "work", "miau", "tool_result", None),
        line("work", "me", "hello Tom", "message", Some("agent")),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    write("contexts/work/context.jsonl", &lines);
    write("contexts/work/summary.md", "before, it was about dogs");
    write("contexts/other/summary.md", "nothing was said");
    write("prompts/chibi.md", "You are the home's own agent.");
    write("AGENTS.md", "Speak softly everywhere.");
}

#[test]
fn the_conversations_and_prompts_of_a_home_go_on() {
    let chibi = Chibi::new();
    used_home(&chibi);
    let listed = chibi.room.run(["contexts"]).ended_with(0).stdout;
    let work = listed
        .lines()
        .find(|line| line.contains("work"))
        .unwrap_or_default();
    assert!(work.starts_with('*') && work.contains("4 messages"), "{listed}");
    assert!(listed.contains("other"), "{listed}");
    let told = chibi.ask(&["what is my cat called?"], &[says("Tom")]).went_well();
    let request = told.requests[0]["messages"].to_string();
    assert!(
        request.contains("my cat is Tom") && request.contains("hello Tom"),
        "{request}"
    );
    assert!(request.contains("miau") && request.contains("c1"), "{request}");
    let system = told.system(0);
    assert!(system.contains("before, it was about dogs"), "{system}");
    assert!(
        system.contains("the home's own agent") && system.contains("Speak softly"),
        "{system}"
    );
    told.run.complained("continuing the conversation work");
    // From now on becket keeps it: it is not taken over twice.
    let told = chibi.ask(&["and now?"], &[says("still Tom")]).went_well();
    let request = told.requests[0]["messages"].to_string();
    assert_eq!(request.matches("my cat is Tom").count(), 1, "{request}");
    assert!(request.contains("what is my cat called?"), "{request}");
    let shown = chibi.room.run(["context", "log", "other"]).ended_with(0);
    assert_eq!(shown.stdout.matches("cat").count(), 0, "{shown:#?}");
}

#[test]
fn commands_about_a_context_know_those_of_the_home_before_their_first_use() {
    let chibi = Chibi::new();
    used_home(&chibi);
    chibi
        .room
        .run(["context", "log", "work"])
        .ended_with(0)
        .said("my cat is Tom");
    let chibi = Chibi::new();
    used_home(&chibi);
    chibi
        .room
        .write("../home/.chibi/contexts/work/context.jsonl", "not a line\n");
    let told = chibi.ask(&["hello"], &[says("hi")]).went_well();
    told.run.complained("line 1 is left out");
}

#[test]
fn a_context_of_the_home_that_was_destroyed_or_renamed_does_not_come_back() {
    let rename = &["context", "rename", "work", "later"][..];
    for (steps, place, kept) in [
        (&[&["--yes", "context", "destroy", "work"][..]][..], "work", false),
        (&[rename], "later", true),
        (
            &[rename, &["--yes", "context", "destroy", "later"]],
            "later",
            false,
        ),
    ] {
        let chibi = Chibi::new();
        used_home(&chibi);
        chibi.ask(&["hello"], &[says("hi")]).went_well();
        for words in steps {
            chibi.room.run(*words).ended_with(0);
        }
        let file = format!("../home/.chibi/contexts/{place}/context.jsonl");
        assert!(chibi.room.has(&file), "{steps:?}");
        let listed = chibi.room.run(["contexts"]).ended_with(0).stdout;
        assert!(!listed.contains("work"), "{listed}");
        assert_eq!(listed.contains("later"), kept, "{listed}");
        let told = chibi.ask(&["-C", "work", "hello"], &[says("hi")]).went_well();
        let request = told.requests[0]["messages"].to_string();
        assert!(!request.contains("my cat is Tom"), "{request}");
    }
}

#[test]
fn chibi_s_project_root_is_where_becket_works() {
    let chibi = Chibi::new();
    chibi.room.write("elsewhere/here.txt", "found");
    let told = chibi
        .ask(
            &["chibi", "--project-root", "elsewhere", "-t", "go"],
            &[
                calls("shell_exec", json!({"command": "cat here.txt"})),
                says("done"),
            ],
        )
        .went_well();
    assert!(
        told.requests[1]["messages"].to_string().contains("found"),
        "{told:#?}"
    );
}

#[test]
fn the_first_entries_and_the_cache_of_the_current_context_are_reached_by_chibi_s_options() {
    let chibi = Chibi::new();
    used_home(&chibi);
    let first = chibi.room.run(["chibi", "-g", "-2"]).ended_with(0).stdout;
    let last = chibi.room.run(["chibi", "-g", "1"]).ended_with(0).stdout;
    assert!(
        first.contains("my cat is Tom") && !first.contains("hello Tom"),
        "{first}"
    );
    assert!(
        last.contains("hello Tom") && !last.contains("my cat is Tom"),
        "{last}"
    );
    chibi.room.config("[tools]\noutput_limit = 1000\n");
    let call = || calls("shell", json!({"command": "seq 1 400"}));
    for context in ["work", "other"] {
        chibi
            .ask(&["--yes", "-C", context, "go"], &[call(), says("done")])
            .went_well();
    }
    let cached = || chibi.room.run(["cache", "list"]).ended_with(0).stdout;
    assert_eq!(cached().lines().count(), 2);
    chibi.room.run(["chibi", "--clear-cache"]).ended_with(0);
    let left = cached();
    assert!(left.lines().count() == 1 && left.contains("other"), "{left}");
}

#[test]
fn models_look_at_other_contexts_and_at_models_as_in_chibi() {
    let chibi = Chibi::new();
    used_home(&chibi);
    chibi
        .room
        .write("../home/.chibi/contexts/other/todos.md", "feed Tom");
    let turns = [
        calls("read_context", json!({"context_name": "other"})),
        calls(
            "read_context",
            json!({"context_name": "work", "num_messages": "1"}),
        ),
        calls(
            "read_context",
            json!({"context_name": "work", "include_messages": "false"}),
        ),
        calls("read_context", json!({"context_name": "nowhere"})),
        calls("model_info", json!({"model": "openai/gpt-5"})),
        says("done"),
    ];
    let told = chibi.ask(&["-c", "third", "go"], &turns).went_well();
    assert!(told.tools(0).contains(&"read_context".to_owned()), "{told:#?}");
    let results = told.results();
    let shown = |number: usize| {
        serde_json::from_str::<Value>(&results[number]).unwrap_or_else(|_| panic!("{results:#?}"))
    };
    assert_eq!(
        (&shown(0)["summary"], &shown(0)["todos"]),
        (&json!("nothing was said"), &json!("feed Tom"))
    );
    let work = shown(1);
    let last = json!([{"from": "work", "content": "hello Tom", "type": "message"}]);
    assert_eq!((&work["recent_messages"], &work["name"]), (&last, &json!("work")));
    assert!(shown(2).get("recent_messages").is_none());
    assert!(results[3].contains("does not exist"), "{results:#?}");
    assert_eq!(shown(4)["info"]["provider"], "openai", "{results:#?}");
    // A plugin of that name takes its place, as in chibi.
    chibi.plugin(Newer, "read_context", &[], "echo mine");
    let turns = [
        calls("read_context", json!({"context_name": "other"})),
        says("done"),
    ];
    assert_eq!(
        chibi.ask(&["-C", "fourth", "go"], &turns).went_well().results(),
        ["mine\n"]
    );
}

#[test]
fn the_command_line_of_chibi_is_understood() {
    let chibi = Chibi::new();
    let told = chibi
        .ask(&["chibi", "-c", "work", "hello", "-v", "world"], &[says("hi")])
        .went_well();
    assert_eq!(
        (told.run.stdout.trim(), told.prompt(0).as_str()),
        ("hi", "hello -v world")
    );
    assert!(told.tools(0).contains(&"shell_exec".to_owned()), "{told:#?}");
    // A system prompt is set, and nobody has said yes to anything.
    let turns = [calls("shell_exec", json!({"command": "touch ran"})), says("done")];
    let told = chibi.ask(&["chibi", "-y", "Be brief.", "go"], &turns).went_well();
    assert!(
        told.system(0).contains("Be brief.") && !chibi.room.has("ran"),
        "{told:#?}"
    );
    let told = chibi.ask(&["chibi", "-t", "go"], &turns).went_well();
    assert!(
        told.system(0).contains("Be brief.") && chibi.room.has("ran"),
        "{told:#?}"
    );
    let told = chibi
        .ask(&["chibi", "--no-tool-calls", "-U", "Ada", "go"], &[says("done")])
        .went_well();
    assert!(
        told.requests[0].get("tools").is_none() && told.system(0).contains("is called: Ada"),
        "{told:#?}"
    );
    chibi.room.run(["chibi", "-L"]).ended_with(0).said("* work");
    chibi
        .room
        .run(["chibi", "-n", "system_prompt"])
        .ended_with(0)
        .said("Be brief.");
    chibi.room.run(["chibi", "-xc", "other"]).ended_with(0);
    chibi.room.run(["chibi", "-L"]).ended_with(0).said("* other");
    chibi.plugin(Newer, "greet", &[], "echo \"hello $data\"");
    let called = chibi
        .room
        .run(["chibi", "-p", "greet", "Ada 'b c'"])
        .ended_with(0);
    assert_eq!(called.stdout, "hello {\"args\":[\"Ada\",\"b c\"]}\n");
    for (arguments, words) in [
        (&["chibi", "--frobnicate"][..], "no option --frobnicate"),
        (&["chibi", "-x", "hello"], "incompatible with a prompt"),
        (
            &["chibi", "--project-root", "nowhere", "hello"],
            "not a folder to work in",
        ),
    ] {
        chibi.room.run(arguments).ended_with(1).complained(words);
    }
}

#[test]
fn without_a_model_chibi_fails_and_rehearses_nothing() {
    let room = crate::room();
    let run = room
        .run(["chibi", "hello"])
        .ended_with(1)
        .complained("No model is connected");
    assert_eq!(run.stdout, "");
}

/// A plugin of the older generation that asks another agent by running chibi itself.
const SUB_AGENT: &str = r#"#!/bin/bash
if [[ "$1" == "--schema" ]]; then
  echo '{"name":"sub-agent","description":"Asks another agent.","parameters":{"type":"object","properties":{}}}'
  exit 0
fi
task=${CHIBI_TOOL_ARGS#*:}
if ! answer=$(chibi -S helper -e "You are a helper." "The task: $task" 2>"$HOME/complaints"); then
  echo "failed: $(cat "$HOME/complaints")"
  exit
fi
echo "helper said: $answer ($(command -v chibi))"
"#;

#[test]
fn plugins_that_run_chibi_find_becket() {
    let chibi = Chibi::new();
    chibi
        .room
        .config("model = \"openai/m\"\n[providers.openai]\nkey = \"sk-test\"\n");
    chibi.install("sub-agent", SUB_AGENT);
    let turns = [
        calls("sub-agent", json!({"task": "count"})),
        says("three"),
        says("done"),
    ];
    let told = chibi.ask(&["-c", "work", "go"], &turns).went_well().asked(3);
    assert!(told.results()[0].starts_with("helper said: three ("), "{told:#?}");
    assert!(told.results()[0].contains("/chibi)"), "{told:#?}");
    assert!(told.system(1).contains("You are a helper."), "{told:#?}");
    assert_eq!(
        told.prompt(1),
        "The task: \"count\"}",
        "nothing that was piped in is added"
    );
    chibi
        .room
        .run(["contexts"])
        .ended_with(0)
        .said("helper")
        .said("* work");
    chibi
        .room
        .config("model = \"openai/m\"\n[providers.openai]\nkey = \"sk-test\"\n[chibi]\nown_program = true\n");
    let told = chibi.ask(&["go"], &[turns[0].clone(), says("done")]).went_well();
    assert!(
        told.results().pop().unwrap_or_default().starts_with("failed: "),
        "{told:#?}"
    );
    told.run.complained("run your own, not becket");
}
