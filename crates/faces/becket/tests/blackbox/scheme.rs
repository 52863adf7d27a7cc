//! Files in Scheme: where they come from, what they may do, whose hooks count, and what ends them.

use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::{repository_file, room, room_with_all_tools};

/// A file with a tool and a hook, as the documents write one.
const HELLO: &str = r#"
(import (scheme base) (harness hooks))

(register-hook 'pre_message
  (lambda (payload)
    (list (cons "prompt" (string-append (cdr (assoc "prompt" payload)) ", said politely")))))

(define tool-name "hello")
(define tool-description "Greets somebody.")
(define tool-parameters '((name . ((type . "string") (description . "who")))))
(define (tool-execute args)
  (display "greeting")
  (string-append "hello " (cdr (assoc "name" args)) " from " %context-name%))
"#;

/// The folder behind the virtual file system.
pub fn backing(room: &Room) -> PathBuf {
    room.home().join(".local/share/becket/vfs")
}

/// Copies a file into the folder behind the virtual file system, as a user does.
pub fn put(room: &Room, path: &str, text: &str) {
    let file = backing(room).join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

pub fn call(name: &str, arguments: Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

pub fn says(text: &str) -> Value {
    json!({"text": text})
}

/// Runs a model with these turns and then a last word.
pub fn run(room: &Room, arguments: &[&str], turns: &[Value]) -> Finished {
    let turns: Vec<Value> = turns.iter().cloned().chain([says("done")]).collect();
    let model = room.model(&Value::Array(turns));
    room.run([&["--json", "--model", &model], arguments, &["go"]].concat())
        .ended_with(0)
}

/// What the user is told when no run starts, because a file cannot be loaded.
pub fn stopped(room: &Room, arguments: &[&str]) -> String {
    let model = room.model(&json!([says("done")]));
    let run = room.run([&["--json", "--model", &model], arguments, &["go"]].concat());
    run.ended_with(4).stderr
}

/// What the model saw of each call.
pub fn results(run: &Finished) -> Vec<String> {
    let results = run.events_named("post_tool").into_iter();
    results
        .map(|event| event["result"].as_str().unwrap().to_string())
        .collect()
}

pub fn result(run: &Finished) -> String {
    results(run).remove(0)
}

/// The names of the tools that each request offered.
fn offered(run: &Finished) -> Vec<Vec<String>> {
    let names = |event: Value| {
        let tools = event["tools"].as_array().cloned().unwrap_or_default();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    run.events_named("tools_offered").into_iter().map(names).collect()
}

fn is_offered(run: &Finished, turn: usize, name: &str) -> bool {
    offered(run)[turn].iter().any(|tool| tool == name)
}

/// A file whose one tool returns what an expression gives.
pub fn returning(expression: &str) -> String {
    format!(
        "(define-tool probe (description \"Probes.\") (parameters '()) (execute (lambda (args) {expression})))"
    )
}

/// What such a tool says.
fn probed(expression: &str) -> String {
    let room = room();
    put(&room, "tools/shared/probe.scm", &returning(expression));
    result(&run(&room, &[], &[call("probe", json!({}))]))
}

#[test]
fn a_file_brings_a_tool_and_a_hook() {
    let room = room();
    put(&room, "tools/shared/hello.scm", HELLO);
    let run = run(&room, &["-c", "work"], &[call("hello", json!({"name": "Ada"}))]);
    assert_eq!(
        result(&run),
        "result: hello Ada from work\nstdout: greeting\nstderr: (empty)"
    );
    let said = &run.events_named("agent_start")[0]["prompt"];
    assert_eq!(said, "go, said politely");
    // The user has put it there: nobody was asked.
    let decided = &run.events_named("approval_decided")[0];
    assert_eq!(decided["source"], "installed", "{decided}");
}

#[test]
fn several_tools_of_a_file_are_described_in_either_way() {
    let room = room();
    put(
        &room,
        "tools/shared/two.scm",
        r#"(import (harness tools))
        (define-tool up (description "Upper case.") (category "text") (summary-params '(text))
          (parameters '((text . ((type . "string"))) (times . ((type . "integer") (required . #f)))))
          (execute (lambda (args) (string-upcase (cdr (assoc "text" args))))))
        (define-tool "pair" (description "A pair.") (summary-params (a))
          (parameters '()) (execute (lambda (args) '(1 . 2))))"#,
    );
    let calls = [
        call("up", json!({"text": "abc"})),
        call("pair", json!({})),
        call("up", json!({})),
    ];
    let run = run(&room, &[], &calls);
    let results = results(&run);
    assert!(results[0].starts_with("result: ABC\n"), "{results:?}");
    assert!(results[1].starts_with("result: (1 . 2)\n"), "{results:?}");
    assert!(
        results[2].starts_with("result: error: "),
        "it runs, and looks for what is not there: {results:?}"
    );
    let tools = run.events_named("tools_offered")[0]["tools"]
        .as_array()
        .unwrap()
        .clone();
    assert!(tools.iter().any(|tool| tool["name"] == "up"));
}

#[test]
fn answers_keep_nested_lists() {
    let room = room();
    put(
        &room,
        "tools/shared/nested.scm",
        r#"(register-hook 'pre_tool (lambda (payload)
             (if (equal? (cdr (assoc "tool_name" payload)) "probe")
                 (list (cons "arguments" (list (cons "list" (list 1 2)) (cons "map" (list (cons "a" "b"))))))
                 '())))
           (register-hook 'pre_api_tools (lambda (payload) (list (cons "exclude" (list "write_file" "file_edit")))))
           (define-tool probe (description "Probes.") (parameters '()) (execute (lambda (args) args)))"#,
    );
    let run = run(&room, &[], &[call("probe", json!({}))]);
    assert!(
        result(&run).starts_with("result: ((\"list\" 1 2) (\"map\" (\"a\" . \"b\")))"),
        "{}",
        result(&run)
    );
    let permitted = &run.events_named("post_tool")[0]["arguments"];
    assert_eq!(*permitted, json!({"list": [1, 2], "map": {"a": "b"}}));
    assert!(
        !run.events_named("pre_request")[0]
            .to_string()
            .contains("\"edit\"")
    );
}

#[test]
fn a_file_is_loaded_again_when_it_is_written_and_gone_when_it_is_deleted() {
    let room = room_with_all_tools();
    put(&room, "tools/shared/probe.scm", &returning("\"first\""));
    let address = "vfs:///tools/shared/probe.scm";
    let write = |text: &str| call("write", json!({"path": address, "content": text}));
    let run = run(
        &room,
        &["--yes"],
        &[
            call("probe", json!({})),
            write(&returning("\"second\"")),
            call("probe", json!({})),
            write("(define-tool probe (description \"broken\""),
            call("probe", json!({})),
            call("vfs_delete", json!({"path": address})),
            says("gone?"),
        ],
    );
    let results = results(&run);
    assert!(results[0].starts_with("result: first\n"), "{results:?}");
    assert!(results[2].starts_with("result: second\n"), "{results:?}");
    assert!(
        results[4].starts_with("result: second\n"),
        "the old one stays: {results:?}"
    );
    let told = &run.stderr;
    assert!(told.contains("vfs:///tools/shared/probe.scm:1:"), "{told}");
    assert!(told.contains("its earlier version stays active"), "{told}");
    assert!(is_offered(&run, 5, "probe"), "{:?}", offered(&run));
    assert!(!is_offered(&run, 6, "probe"), "{:?}", offered(&run));
}

#[test]
fn broken_files_are_told_with_line_and_form_and_no_run_starts() {
    let room = room();
    put(&room, "tools/shared/fine.scm", &returning("\"fine\""));
    put(
        &room,
        "tools/shared/guard.scm",
        "(import (harness hooks))\n(register-hook 'pre_tool (lambda (payload) '()))\n(no-such-procedure 1)\n",
    );
    put(
        &room,
        "tools/shared/misspelt.scm",
        "(register-hook 'pre_mesage (lambda (payload) '()))\n",
    );
    put(&room, "tools/shared/empty.scm", "(define x 1)\n");
    let told = stopped(&room, &[]);
    for words in [
        "guard.scm:3:",
        "in `(no-such-procedure 1)`",
        "there is no hook `pre_mesage`; did you mean `pre_message`?",
        "empty.scm: it defines no tool and registers no hook",
        "--without vfs:///tools/shared/guard.scm",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains("--without vfs:///tools/shared/fine.scm"), "{told}");
    let fired = room.run(["hooks", "fire", "pre_tool", "--set", "tool_name=shell"]);
    assert!(fired.stdout.contains("outcome: refused"), "{fired:#?}");
}

#[test]
fn a_guard_refuses_with_its_words_and_a_broken_one_does_not_allow() {
    let room = room();
    let guard = |body: &str| format!("(register-hook 'pre_shell_exec (lambda (payload) {body}))");
    let asked = |body: &str| {
        put(&room, "tools/shared/guard.scm", &guard(body));
        result(&run(
            &room,
            &["--yes"],
            &[call("shell", json!({"command": "echo ran"}))],
        ))
    };
    assert!(asked("'()").contains("ran"));
    assert!(asked("(and #f 1)").contains("ran"));
    assert!(asked("(if #f #f)").contains("ran"));
    let refused = asked("(list (cons \"denied\" #t) (cons \"reason\" \"not here\"))");
    assert!(
        refused.contains("not here") && !refused.contains("ran"),
        "{refused}"
    );
    for broken in [
        "(car '())",
        "(error \"no idea\" 7)",
        "#t",
        "(list (vector 1))",
        "(let loop () (loop))",
        "(exit 0)",
    ] {
        let refused = asked(broken);
        assert!(refused.contains("could not decide"), "{broken}: {refused}");
        assert!(!refused.contains("ran\n"), "{broken}: {refused}");
    }
}

#[test]
fn what_runs_away_ends_with_a_clear_error_and_the_run_goes_on() {
    let table = [
        ("(let loop () (loop))", "stopped after 10000000 steps"),
        (
            "(let loop ((all '())) (loop (cons (make-vector 1000 0) all)))",
            "more than 64 MiB of memory",
        ),
        (
            "(let deep ((n 0)) (if (< n 100000000) (+ 1 (deep (+ n 1))) 0))",
            "stopped",
        ),
        (
            "(let loop ((text \"0123456789\")) (loop (string-append text text)))",
            "more than 64 MiB of memory",
        ),
        ("(string-length (make-string 10000000 #\\x))", "result: 10000000"),
    ];
    let room = room();
    for (index, (expression, _)) in table.iter().enumerate() {
        let text = returning(expression).replace("define-tool probe", &format!("define-tool probe{index}"));
        put(&room, &format!("tools/shared/{index}.scm"), &text);
    }
    put(&room, "tools/shared/fine.scm", &returning("\"fine\""));
    let calls = (0..table.len()).map(|index| call(&format!("probe{index}"), json!({})));
    let calls: Vec<Value> = calls.chain([call("probe", json!({}))]).collect();
    let results = results(&run(&room, &[], &calls));
    for ((expression, expected), result) in table.iter().zip(&results) {
        assert!(result.contains(expected), "{expression}: {result}");
    }
    assert!(results[table.len()].starts_with("result: fine"), "{results:?}");
}

#[test]
fn a_sandboxed_file_finds_no_files_and_an_unsandboxed_one_does() {
    let room = room();
    room.write("secret.txt", "a secret");
    let text = r#"(import (harness io))
        (define-tool probe (description "Probes.") (parameters '()) (execute (lambda (args)
          (io-write "vfs:///shared/note.md" "one\n")
          (io-append "vfs:///shared/note.md" "two\n")
          (list (io-read "secret.txt") (io-read "vfs:///shared/note.md") (io-read "nothing.txt")
                (io-list "vfs:///shared") (io-exists? "vfs:///shared/note.md")
                (io-delete "vfs:///shared/note.md") (io-exists? "vfs:///shared/note.md")))))"#;
    put(&room, "tools/shared/probe.scm", text);
    let told = stopped(&room, &[]);
    assert!(
        told.contains("probe.scm:1:") && told.contains("there is no library (harness io)"),
        "{told}"
    );
    room.config("[tools.tiers]\n\"/tools/shared/probe.scm\" = 2\n");
    let run = run(&room, &[], &[call("probe", json!({}))]);
    let expected = "result: (\"a secret\" \"one\\ntwo\\n\" #f (\"note.md\") #t #t #f)";
    assert!(result(&run).starts_with(expected), "{}", result(&run));
    assert!(run.events_named("pre_vfs_write").is_empty(), "no hook is asked");
    room.config("[tools.tiers]\n\"/tools\" = 7\n");
    room.run(["--model", "rehearsal", "go"])
        .ended_with(2)
        .complained("1 (sandboxed) and 2 (unsandboxed)");
}

#[test]
fn a_sandbox_has_no_way_out() {
    for library in [
        "(scheme file)",
        "(scheme load)",
        "(chibi process)",
        "(srfi 18)",
        "(tein http)",
        "(chibi regexp)",
    ] {
        let room = room();
        put(
            &room,
            "tools/shared/probe.scm",
            &format!("(import {library})\n{}", returning("1")),
        );
        let told = stopped(&room, &[]);
        assert!(told.contains(&format!("there is no library {library}")), "{told}");
    }
    assert!(
        probed("(eval '(open-input-file \"/etc/passwd\") (environment '(scheme base)))").contains("error")
    );
}

#[test]
fn tools_and_hooks_are_seen_by_those_whose_zone_it_is() {
    let room = room();
    let file = |name: &str| {
        returning("\"here\"").replace("define-tool probe", &format!("define-tool {name}"))
            + &format!(
                "(register-hook 'pre_system_prompt (lambda (payload) (list (cons \"inject\" \"words of {name}\"))))"
            )
    };
    put(&room, "tools/shared/a.scm", &file("everybody"));
    put(&room, "tools/home/ada/b.scm", &file("adas"));
    put(&room, "tools/flocks/team/deep/c.scm", &file("teams"));
    put(&room, "tools/home/ada/broken.scm", "(");
    room.run(["flock", "create", "team"]).ended_with(0);
    assert!(stopped(&room, &["-C", "ada"]).contains("broken.scm"));
    let seen = |context: &str| {
        let without = ["-C", context, "--without", "vfs:///tools/home/ada/broken.scm"];
        let run = match context {
            "ada" => run(&room, &without, &[]),
            _ => run(&room, &without[..2], &[]),
        };
        let prompt = run.events_named("pre_request")[0].to_string();
        let names = ["everybody", "adas", "teams"];
        let tools = names.map(|name| is_offered(&run, 0, name));
        let hooks = names.map(|name| prompt.contains(&format!("words of {name}")));
        assert_eq!(tools, hooks, "{context}");
        tools
    };
    assert_eq!(seen("ada"), [true, true, false]);
    assert_eq!(seen("bob"), [true, false, false]);
    room.run(["-C", "bob", "flock", "join", "team"]).ended_with(0);
    assert_eq!(seen("bob"), [true, false, true]);
}

#[test]
fn a_file_of_a_models_is_behind_the_gate_and_its_hooks_wait_for_trust() {
    let room = room();
    let address = "vfs:///tools/shared/hello.scm";
    let write = call("write", json!({"path": address, "content": HELLO}));
    let hello = call("hello", json!({"name": "Ada"}));
    let first = run(&room, &[], &[write, hello.clone()]);
    assert!(
        results(&first)[1].starts_with("refused"),
        "nobody said yes: {:?}",
        results(&first)
    );
    assert!(
        first.stderr.contains("its hooks (pre_message) are not active"),
        "{}",
        first.stderr
    );
    assert!(
        first.stderr.contains(&format!("becket vfs trust {address}")),
        "{}",
        first.stderr
    );
    // In the next run as well, also where the settings would let such a file do more.
    let second = run(&room, &[], std::slice::from_ref(&hello));
    assert_eq!(second.events_named("agent_start")[0]["prompt"], "go");
    assert!(
        results(&second)[0].starts_with("refused"),
        "{:?}",
        results(&second)
    );
    let yes = run(&room, &["--yes"], std::slice::from_ref(&hello));
    assert!(result(&yes).starts_with("result: hello Ada"), "{}", result(&yes));
    room.run(["vfs", "trust", address])
        .ended_with(0)
        .complained("is now trusted");
    let third = run(&room, &[], &[hello]);
    assert_eq!(
        third.events_named("agent_start")[0]["prompt"],
        "go, said politely"
    );
    assert!(
        result(&third).starts_with("result: hello Ada"),
        "{}",
        result(&third)
    );
    room.run(["vfs", "trust", "vfs:///shared/x.scm"])
        .ended_with(2)
        .complained("no file in Scheme");
}

#[test]
fn what_the_person_puts_there_is_theirs_also_over_a_models_file() {
    let room = room();
    let address = "vfs:///tools/shared/hello.scm";
    let write = call("write", json!({"path": address, "content": HELLO}));
    run(&room, &[], &[write]);
    room.run_with_input(["vfs", "put", address], HELLO).ended_with(0);
    let run = run(&room, &[], &[]);
    assert_eq!(run.events_named("agent_start")[0]["prompt"], "go, said politely");
}

#[test]
fn a_model_does_not_get_out_of_the_sandbox_by_writing_where_others_may() {
    let room = room();
    room.write("secret.txt", "a secret");
    let text = format!("(import (harness io))\n{}", returning("(io-read \"secret.txt\")"));
    let write = call(
        "write",
        json!({"path": "vfs:///tools/shared/history.scm", "content": text}),
    );
    let run = run(&room, &["--yes"], &[write, call("probe", json!({}))]);
    assert!(
        run.stderr.contains("there is no library (harness io)"),
        "{}",
        run.stderr
    );
    assert!(!results(&run)[1].contains("a secret"), "{:?}", results(&run));
}

#[test]
fn a_model_takes_no_guard_of_the_persons_away() {
    let room = room_with_all_tools();
    let guard = "(register-hook 'pre_shell_exec (lambda (payload) (list (cons \"denied\" #t) (cons \"reason\" \"mine\"))))";
    put(&room, "tools/shared/guard.scm", guard);
    let address = "vfs:///tools/shared/guard.scm";
    let shell = call("shell", json!({"command": "echo ran"}));
    let write = call("write", json!({"path": address, "content": returning("1")}));
    let delete = call("vfs_delete", json!({"path": address}));
    let alone = run(&room, &[], &[write.clone(), delete, shell.clone()]);
    let refused = results(&alone);
    assert!(
        refused[0].starts_with("refused") && refused[1].starts_with("refused"),
        "{refused:?}"
    );
    assert!(refused[2].contains("mine"), "{refused:?}");
    // Who says yes to everything gets the file changed; the guard of this run stays.
    let answered = run(&room, &["--yes"], &[write, shell]);
    assert!(results(&answered)[1].contains("mine"), "{:?}", results(&answered));
}

#[test]
fn a_call_of_a_files_passes_hooks_and_gate() {
    let room = room();
    room.write("notes.txt", "some notes");
    let text = r#"(define-tool probe (description "Probes.") (parameters '((path . ((type . "string")))))
          (execute (lambda (args)
            (guard (problem (#t (string-append "caught: " (error-object-message problem))))
              (call-tool "file_head" (list (cons "path" (cdr (assoc "path" args)))))))))
        (define-tool shell_too (description "Probes.") (parameters '())
          (execute (lambda (args)
            (guard (problem (#t (string-append "caught: " (error-object-message problem))))
              (call-tool "shell_exec" '(("command" . "echo ran")))))))
        (define-tool unknown (description "Probes.") (parameters '())
          (execute (lambda (args) (call-tool "no_such_tool" '()))))"#;
    put(&room, "tools/shared/probe.scm", text);
    let calls = [
        call("probe", json!({"path": "notes.txt"})),
        call("shell_too", json!({})),
        call("unknown", json!({})),
    ];
    let run = run(&room, &[], &calls);
    let results: Vec<String> = run
        .events_named("post_tool")
        .iter()
        .filter(|event| ["probe", "shell_too", "unknown"].contains(&event["tool_name"].as_str().unwrap()))
        .map(|event| event["result"].as_str().unwrap().to_owned())
        .collect();
    assert!(results[0].contains("some notes"), "{results:?}");
    assert!(
        results[1].contains("caught: tool error: "),
        "nobody said yes: {results:?}"
    );
    assert!(!results[1].contains("ran\n"), "{results:?}");
    assert!(results[2].contains("unknown tool: no_such_tool"), "{results:?}");
    let inner = run.events_named("pre_tool");
    assert!(
        inner.iter().any(|event| event["tool_name"] == "read"),
        "{inner:?}"
    );
}

#[test]
fn calls_are_nested_only_so_deep() {
    let room = room();
    let text = r#"(define-tool again (description "Calls itself.") (parameters '()) (execute (lambda (args)
        (guard (problem (#t (error-object-message problem))) (call-tool "again" '())))))"#;
    put(&room, "tools/shared/again.scm", text);
    let run = run(&room, &[], &[call("again", json!({}))]);
    assert!(
        run.stdout.contains("calls are nested more than 8 deep"),
        "{}",
        run.stdout
    );
    assert_eq!(run.events_named("pre_tool").len(), 9);
}

#[test]
fn a_callback_is_not_called_about_what_it_causes_and_others_are() {
    let room = room();
    room.write("notes.txt", "some notes");
    let text = r#"(define heard '())
        (define (note who payload) (set! heard (append heard (list (string-append who ":" (cdr (assoc "tool_name" payload)))))) '())
        (register-hook 'pre_tool (lambda (payload)
          (note "first" payload)
          (call-tool "file_head" '(("path" . "notes.txt")))
          '()))
        (register-hook 'pre_tool (lambda (payload) (note "second" payload)))
        (define-tool probe (description "Probes.") (parameters '()) (execute (lambda (args) heard)))"#;
    put(&room, "tools/shared/probe.scm", text);
    let run = run(&room, &[], &[call("probe", json!({}))]);
    let results = results(&run);
    let last = results.last().unwrap();
    assert!(
        last.starts_with("result: (\"first:probe\" \"second:file_head\" \"second:probe\")"),
        "{results:?}"
    );
}

#[test]
fn scheme_eval_remembers_what_was_defined_and_has_no_files() {
    let room = room_with_all_tools();
    let eval = |code: &str| call("scheme_eval", json!({"code": code}));
    let run = run(
        &room,
        &[],
        &[
            eval("(define (twice x) (* 2 x)) (display \"hi\")"),
            eval("(twice 21)"),
            eval("(import (harness io))"),
            eval("(car '())"),
            eval("(register-hook 'pre_message (lambda (p) '()))"),
            eval("(let loop () (loop))"),
            eval("(list \"still\" (twice 4))"),
        ],
    );
    let results = results(&run);
    assert_eq!(results[0], "result: (nothing)\nstdout: hi\nstderr: (empty)");
    assert!(results[1].starts_with("result: 42\n"), "{results:?}");
    assert!(
        results[2].contains("there is no library (harness io)"),
        "{results:?}"
    );
    assert!(
        results[3].contains("result: error: scheme_eval:1:"),
        "{results:?}"
    );
    assert!(results[4].contains("while a file is loaded"), "{results:?}");
    assert!(results[5].contains("stopped after 10000000 steps"), "{results:?}");
    assert!(results[6].starts_with("result: (\"still\" 8)"), "{results:?}");
}

#[test]
fn becket_scheme_evaluates_what_is_piped_in() {
    let room = room();
    room.write("notes.txt", "some notes");
    let said = room
        .run_with_input(["scheme"], "(display \"out\") (+ 1 2)")
        .ended_with(0);
    assert_eq!(said.stdout, "out\n3\n");
    let called = room.run_with_input(
        ["scheme"],
        "(call-tool \"file_head\" '((\"path\" . \"notes.txt\")))",
    );
    assert!(called.stdout.contains("some notes"), "{called:?}");
    let failed = room.run_with_input(["scheme"], "(car '())").ended_with(1);
    assert!(failed.stderr.contains("input:1:1: "), "{failed:?}");
    room.write("hello.scm", HELLO);
    let loaded = room
        .run_with_input(["scheme", "hello.scm"], "tool-name")
        .ended_with(0);
    assert_eq!(loaded.stdout, "\"hello\"\n");
    assert!(
        loaded.stderr.contains("tools hello; hooks pre_message"),
        "{loaded:?}"
    );
    room.run_with_input(["scheme"], "(import (harness io))")
        .ended_with(1);
    let free = room.run_with_input(
        ["scheme", "--unsandboxed"],
        "(import (harness io)) (io-read \"notes.txt\")",
    );
    assert_eq!(free.ended_with(0).stdout, "\"some notes\"\n");
    room.run(["scheme", "missing.scm"])
        .ended_with(2)
        .complained("missing.scm");
}

#[test]
fn hooks_list_names_file_and_line() {
    let room = room();
    put(&room, "tools/shared/hello.scm", HELLO);
    let listed = room.run(["hooks", "list"]).ended_with(0).stdout;
    let line = listed
        .lines()
        .find(|line| line.contains("hello.scm"))
        .unwrap_or_default();
    assert!(
        line.contains("as pre_message") && line.contains("(vfs:///tools/shared/hello.scm:5)"),
        "{listed}"
    );
    let json = room.run(["--json", "hooks", "list"]).ended_with(0).stdout;
    let found: Vec<Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let hook = found
        .iter()
        .find(|hook| hook["name"] == "vfs:///tools/shared/hello.scm")
        .unwrap();
    assert_eq!(
        (&hook["lane"], &hook["dialect"]),
        (&json!("scheme"), &json!("chibi"))
    );
}

/// An example, as the user puts it into the virtual file system.
fn install(room: &Room, name: &str) {
    let file = repository_file(&format!("examples/scheme/{name}"));
    room.run(["vfs", "put", &format!("vfs:///tools/shared/{name}"), &file])
        .ended_with(0);
}

/// What the model saw of calls of these tools, without what they have called themselves.
fn of_tools(run: &Finished, beginning: &str) -> Vec<String> {
    let events = run.events_named("post_tool");
    let own = events
        .iter()
        .filter(|event| event["tool_name"].as_str().unwrap().starts_with(beginning));
    let results = own.map(|event| event["result"].as_str().unwrap().to_owned());
    results
        .map(|text| {
            text.split("\nstdout: ")
                .next()
                .unwrap()
                .trim_start_matches("result: ")
                .to_owned()
        })
        .collect()
}

#[test]
fn the_task_manager_keeps_tasks() {
    let room = room();
    install(&room, "tasks.scm");
    let create = |title: &str| {
        call(
            "task_create",
            json!({"title": title, "notes": "with (brackets) and \"quotes\""}),
        )
    };
    let first = run(
        &room,
        &[],
        &[
            call("task_list", json!({})),
            create("write tests"),
            create("run them"),
        ],
    );
    let told = of_tools(&first, "task_");
    assert_eq!(told[0], "no tasks", "{told:?}");
    let ids: Vec<&str> = told[1..]
        .iter()
        .map(|text| text.trim_start_matches("created "))
        .collect();
    assert!(ids.iter().all(|id| id.len() == 8), "{told:?}");
    let second = run(
        &room,
        &[],
        &[
            call("task_view", json!({"id": ids[0]})),
            call("task_update", json!({"id": ids[0], "state": "done"})),
            call("task_delete", json!({"id": ids[1]})),
            call("task_list", json!({})),
            call("task_view", json!({"id": ids[1]})),
        ],
    );
    let told = of_tools(&second, "task_");
    assert!(
        told[0].starts_with(&format!("{}  [open]  write tests\ncreated 2", ids[0])),
        "{told:?}"
    );
    assert!(told[0].ends_with("with (brackets) and \"quotes\""), "{told:?}");
    assert_eq!(told[1], format!("{}  [done]  write tests", ids[0]));
    assert_eq!(told[2], format!("deleted {}", ids[1]));
    assert_eq!(told[3], format!("{}  [done]  write tests", ids[0]));
    assert!(
        told[4].contains(&format!("there is no task {}", ids[1])),
        "{told:?}"
    );
    let file = backing(&room).join(format!("home/{}/tasks/{}.task", room.context(), ids[0]));
    assert!(
        std::fs::read_to_string(file)
            .unwrap()
            .contains("(state . \"done\")")
    );
}

#[test]
fn the_recorder_keeps_ten_revisions_and_goes_back() {
    let room = room();
    install(&room, "history.scm");
    let address = "vfs:///shared/plan.md";
    let write = |number: usize| {
        call(
            "write",
            json!({"path": address, "content": format!("plan\nversion {number}\n")}),
        )
    };
    let writes: Vec<Value> = (1..=13).map(write).collect();
    run(&room, &[], &writes);
    let looked = run(
        &room,
        &[],
        &[
            call("file_history_log", json!({"path": address})),
            call("file_history_show", json!({"path": address, "revision": 12})),
            call("file_history_show", json!({"path": address, "revision": 1})),
            call("file_history_diff", json!({"path": address, "revision": 12})),
            call("file_history_revert", json!({"path": address, "revision": 5})),
            call("file_history_log", json!({"path": address})),
        ],
    );
    let told = of_tools(&looked, "file_history_");
    let log: Vec<&str> = told[0].lines().collect();
    assert_eq!(log.len(), 10, "{told:?}");
    assert!(
        log[0].starts_with("12  2") && log[9].starts_with("3  2"),
        "{told:?}"
    );
    assert_eq!(told[1].trim_end(), "plan\nversion 12");
    assert!(told[2].contains("there is no revision 1 of"), "{told:?}");
    assert!(
        told[3].contains("-version 12") && told[3].contains("+version 13"),
        "{told:?}"
    );
    assert_eq!(told[4], format!("{address} is revision 5 again"), "{told:?}");
    assert!(
        told[5].starts_with("13  2"),
        "what the revert replaced is kept: {told:?}"
    );
    let now = std::fs::read_to_string(backing(&room).join("shared/plan.md")).unwrap();
    assert_eq!(now, "plan\nversion 5\n");
}

#[test]
fn the_first_file_of_the_guide_works_when_it_is_pasted() {
    let room = room();
    let guide = std::fs::read_to_string(repository_file("docs/guide/scheme.md")).unwrap();
    let text = guide
        .split("```scheme\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    room.write("hello.scm", text);
    room.run(["vfs", "put", "vfs:///tools/shared/hello.scm", "hello.scm"])
        .ended_with(0);
    let run = run(&room, &[], &[call("greet", json!({"name": "Ada"}))]);
    assert!(
        result(&run).starts_with("result: Hello, Ada!"),
        "{}",
        result(&run)
    );
    assert_eq!(run.events_named("agent_start")[0]["prompt"], "go Be brief.");
    let called = room.run(["tool", "greet", "{\"name\": \"Bob\"}"]).ended_with(0);
    assert!(called.stdout.contains("Hello, Bob!"), "{called:?}");
}
