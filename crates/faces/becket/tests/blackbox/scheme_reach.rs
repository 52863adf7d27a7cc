//! How far files in Scheme reach: the web and the environment where the settings allow it, sub-agents and teams, and
//! the prompt at which a user tries things.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{ModelServer, Response, Room};

use crate::room;
use crate::scheme::{backing, call, put, result, results, run, stopped};
use crate::terminal::{TEST_TIMEOUT, Terminal};

/// A file whose one tool gives what an expression is.
fn returning(before: &str, expression: &str) -> String {
    format!(
        "{before}\n(define-tool probe (description \"Probes.\") (parameters '()) (execute (lambda (args)\n  \
         (guard (problem ((error-object? problem) (error-object-message problem))) {expression}))))"
    )
}

const PROBE: &str = "tools/shared/probe.scm";

/// What such a file says in a room.
fn probed(room: &Room, before: &str, expression: &str) -> String {
    put(room, PROBE, &returning(before, expression));
    result(&run(room, &[], &[call("probe", json!({}))]))
}

#[test]
fn a_file_reaches_what_the_settings_name_and_nothing_else() {
    let room = room();
    let server = ModelServer::start([
        Response::new(200, "application/json", "{\"ok\": true}").header("x-kind", "first"),
        Response::new(404, "text/plain", "gone"),
        Response::new(302, "text/plain", "").header("location", "http://127.0.0.1:1/"),
    ]);
    let base = server.url();
    let import = "(import (tein http))";
    let get = |path: &str| format!("(http-get \"{base}{path}\" '((\"x-mine\" . \"yes\")))");
    // Without a word of the user's there is no such library.
    put(&room, PROBE, &returning(import, &get("/api/a")));
    let told = stopped(&room, &[]);
    assert!(
        told.contains("there is no library (tein http) here") && told.contains("`tools.http.allow`"),
        "{told}"
    );
    room.config(&format!(
        "[tools.http.allow]\n\"/tools/shared/probe.scm\" = [\"{base}/api\"]\n"
    ));
    let expression = format!(
        "(let ((answer {})) (list (cdr (assq 'status answer)) (cdr (assoc \"x-kind\" (cdr (assq 'headers answer)))) \
         (cdr (assoc \"ok\" (json-parse (cdr (assq 'body answer)))))))",
        get("/api/a")
    );
    let said = probed(&room, import, &expression);
    assert!(said.starts_with("result: (200 \"first\" #t)"), "{said}");
    let post = format!(
        "(cdr (assq 'status (http-post \"{base}/api/b\" '((content-type . \"text/plain\")) \"words\" 20)))"
    );
    assert!(
        probed(&room, import, &post).starts_with("result: 404"),
        "a status is no error"
    );
    let moved = format!("(cdr (assq 'status {}))", get("/api/c"));
    assert!(
        probed(&room, import, &moved).starts_with("result: 302"),
        "the file sees where it leads"
    );
    for outside in ["/", "/apis", "/api/../secret"] {
        let said = probed(&room, import, &get(outside));
        assert!(said.contains("this file may not reach it"), "{outside}: {said}");
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0].header("x-mine"), Some("yes"));
    assert_eq!(
        (requests[1].text().as_str(), requests[1].header("content-type")),
        ("words", Some("text/plain"))
    );
    let wrong = probed(&room, import, "(http-request \"GET\" 5 '() #f)");
    assert!(wrong.contains("the address is not a string"), "{wrong}");
    let refused = probed(&room, import, "(http-get \"http://127.0.0.1:1/\")");
    assert!(refused.contains("this file may not reach it"), "{refused}");
}

#[test]
fn the_persons_policy_and_what_a_model_wrote_bound_the_web() {
    let room = room();
    let server = ModelServer::start([Response::new(200, "text/plain", "hello")]);
    let base = server.url();
    let text = returning(
        &format!("(import (tein http))\n(define tool-http-allow '(\"{base}/\"))"),
        &format!("(cdr (assq 'body (http-get \"{base}/\")))"),
    );
    put(&room, PROBE, &text);
    let probe = || call("probe", json!({}));
    let declared = "[tools.http.allow]\n\"/tools/shared\" = \"trust-declared\"\n";
    // What the user denies stays denied.
    room.config(&format!("[url_policy]\ndeny = [\"{base}/*\"]\n{declared}"));
    assert!(result(&run(&room, &[], &[probe()])).contains("the URL policy denies"));
    room.config(declared);
    assert!(result(&run(&room, &[], &[probe()])).starts_with("result: hello"));
    // Nobody has looked at what a model wrote.
    let address = format!("vfs:///{PROBE}");
    let written = run(
        &room,
        &["--yes"],
        &[call("write", json!({"path": address, "content": text + "\n"}))],
    );
    assert!(
        written.stderr.contains("there is no library (tein http) here"),
        "{}",
        written.stderr
    );
    room.config("[tools.http]\ntrust_declared = true\n[tools.http.allow]\n\"/tools\" = [\"nonsense\"]\n");
    room.run(["--model", "rehearsal", "go"])
        .ended_with(2)
        .complained("`nonsense` is not an address");
    room.config("[tools.http.allow]\n\"/tools\" = \"all\"\n");
    room.run(["--model", "rehearsal", "go"])
        .ended_with(2)
        .complained("trust-declared");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_file_sees_the_variables_that_the_settings_name() {
    let room = room().with("SEEN_HERE", "a value").with("NOT_SEEN", "a secret");
    let import = "(import (scheme process-context))";
    let all = "(list (get-environment-variable \"SEEN_HERE\") (get-environment-variables))";
    assert!(probed(&room, import, all).starts_with("result: (#f ())"));
    room.config("[tools.env]\n\"/tools/shared/probe.scm\" = [\"SEEN_HERE\", \"NEVER_SET\"]\n");
    let said = probed(&room, import, all);
    assert!(
        said.starts_with("result: (\"a value\" ((\"SEEN_HERE\" . \"a value\")))"),
        "{said}"
    );
    // The same in the file, written by a model, sees nothing.
    let address = format!("vfs:///{PROBE}");
    let content = returning(import, all) + "\n";
    let again = run(
        &room,
        &["--yes"],
        &[
            call("write", json!({"path": address, "content": content})),
            call("probe", json!({})),
        ],
    );
    assert!(
        results(&again)[1].starts_with("result: (#f ())"),
        "{:?}",
        results(&again)
    );
}

#[test]
fn a_tool_that_talks_to_the_network_is_judged_like_a_fetch() {
    let room = room();
    put(
        &room,
        PROBE,
        "(define-tool probe (description \"Fetches.\") (category \"network\") (parameters '((url . ((type . \"string\")))))
           (execute (lambda (args) \"fetched\")))",
    );
    room.config("[url_policy]\ndeny = [\"http://127.0.0.1:1/*\"]\nallow = [\"http://127.0.0.1:2/*\"]\n");
    let asked = |port: u16, more: &[&str]| {
        let url = format!("http://127.0.0.1:{port}/");
        result(&run(&room, more, &[call("probe", json!({"url": url}))])).contains("fetched")
    };
    assert!(!asked(1, &["--yes"]), "it is denied");
    assert!(asked(2, &[]), "it is allowed");
    assert!(!asked(3, &[]), "nobody said yes");
}

#[test]
fn libraries_that_no_file_finds_say_what_there_is_instead() {
    let room = room();
    let table = [
        ("(scheme file)", "call-tool"),
        ("(scheme load)", "must contain what it needs"),
        ("(chibi process)", "call-tool"),
        ("(srfi 18)", "threads"),
        ("(srfi 115)", "(tein safe-regexp)"),
        ("(chibi regexp)", "(tein safe-regexp)"),
        ("(harness io)", "`tools.tiers`"),
        ("(tein http)", "`tools.http.allow`"),
    ];
    for (index, (library, _)) in table.iter().enumerate() {
        put(
            &room,
            &format!("tools/shared/{index}.scm"),
            &returning(&format!("(import {library})"), "1"),
        );
    }
    put(
        &room,
        "tools/shared/none.scm",
        &returning("(import (no such library))", "1"),
    );
    let told = stopped(&room, &[]);
    for (index, (library, hint)) in table.iter().enumerate() {
        let line = told
            .lines()
            .find(|line| line.contains(&format!("/{index}.scm:1:")));
        let line = line.unwrap_or_else(|| panic!("{library}: {told}"));
        assert!(
            line.contains(&format!("there is no library {library} here")) && line.contains(hint),
            "{line}"
        );
    }
    assert!(told.contains("there is no library (no such library)"), "{told}");
}

#[test]
fn sub_agents_have_the_tools_of_files_and_hooks_hear_of_them() {
    let room = room();
    put(
        &room,
        PROBE,
        "(register-hook 'pre_tool (lambda (payload)
           (if (equal? (cdr (assoc \"tool_name\" payload)) \"shell_exec\")
               '((\"block\" . #t) (\"message\" . \"not in Scheme\")) '())))
         (define-tool probe (description \"Probes.\") (parameters '())
           (execute (lambda (args) (string-append \"hello from \" %context-name%))))",
    );
    let child = json!([
        call("probe", json!({})),
        call("shell", json!({"command": "echo ran"})),
        {"text": "done below", "expect": ["hello from ", "not in Scheme"]},
    ]);
    room.write("child.json", child.to_string());
    let spawn = json!({"system_prompt": "You help.", "input": "the task", "model": "scripted/child.json", "tools": true});
    let run = run(&room, &["--yes"], &[call("spawn_agent", spawn)]);
    let last = results(&run).pop().unwrap();
    assert_eq!(last, "done below", "{:?}", results(&run));
}

#[test]
fn a_team_hears_hooks_and_has_the_tools_of_its_file() {
    let room = room();
    put(
        &room,
        PROBE,
        "(register-hook 'pre_message (lambda (payload)
           (list (cons \"prompt\" (string-append (cdr (assoc \"prompt\" payload)) \", said politely\")))))
         (define-tool probe (description \"Probes.\") (parameters '()) (execute (lambda (args) \"here\")))",
    );
    room.write(
        "agent.yaml",
        "agents:\n  root:\n    model: scripted/root.json\n    instruction: You lead.\n    toolsets:\n      - type: shell\n",
    );
    room.write("root.json", json!([{"text": "done"}]).to_string());
    let run = room.run(["run", "agent.yaml", "go", "--json"]).ended_with(0);
    assert_eq!(run.events_named("agent_start")[0]["prompt"], "go, said politely");
    let offered = run.events_named("tools_offered")[0].to_string();
    assert!(
        offered.contains("shell") && !offered.contains("probe"),
        "{offered}"
    );
}

/// Waits until a file is there.
fn wait_for_file(room: &Room, name: &str) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !room.has(name) {
        assert!(Instant::now() < deadline, "{name} is not written");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_person_tries_things_at_a_prompt() {
    let room = room();
    room.write("more.scm", "(define (twice x) (* 2 x))\n");
    let Some(terminal) = Terminal::start(room, &["scheme", "--unsandboxed"]) else {
        return;
    };
    let prompt = || terminal.wait_until("the prompt", |text| text.trim_end().ends_with("scheme>"));
    prompt();
    terminal.enter("(define (square-of x)");
    terminal.enter("  (* x x)) ; (");
    terminal.enter("(list (square-of 12) \"text\")");
    terminal.wait_for("(144 \"text\")");
    prompt();
    terminal.enter("(car '())");
    terminal.wait_for("error: input:1:1:");
    prompt();
    terminal.enter(",help");
    terminal.wait_for(",describe NAME");
    prompt();
    terminal.enter(",load more.scm");
    prompt();
    // Completed by Tab: the only name that begins so.
    terminal.type_in("(twi");
    terminal.press("Tab");
    terminal.wait_for("(twice");
    terminal.type_in(" 21)");
    terminal.press("Enter");
    terminal.wait_for("\n42");
    prompt();
    terminal.enter(",lod more.scm");
    terminal.wait_for("did you mean `,load`?");
    prompt();
    // What computes for ever ends with Ctrl-C, and what was defined is still there.
    terminal.enter("(import (harness io)) (io-write \"started\" \"\") (let loop () (loop))");
    wait_for_file(&terminal.room, "started");
    terminal.press("C-c");
    terminal.wait_for("cancelled");
    prompt();
    // What is typed while a form is still evaluated is the next form.
    terminal.enter("(io-write \"waiting\" \"\") (let wait () (if (not (io-exists? \"go\")) (wait)))");
    wait_for_file(&terminal.room, "waiting");
    terminal.enter("(square-of (twice 50))");
    terminal.room.write("go", "");
    terminal.wait_for("10000");
    prompt();
    // Ctrl-C at the prompt takes the line away.
    terminal.type_in("(never typed");
    terminal.wait_for("(never typed");
    terminal.press("C-c");
    prompt();
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0);
    // The next time what was typed comes back.
    let history = terminal
        .room
        .home()
        .join(".local/share/becket/scheme-history.txt");
    let history = std::fs::read_to_string(history).unwrap();
    assert!(history.contains("(square-of (twice 50))"), "{history}");
}

#[test]
fn what_is_piped_in_ends_with_a_code() {
    let room = room();
    let table = [
        ("", 0, ""),
        ("(display 1)(newline)", 0, ""),
        ("(exit 3)", 1, ""),
        ("(exit #f)", 1, ""),
        ("(exit)", 0, ""),
        ("(define x 1", 1, "input:1:1"),
        ("(undefined-thing)", 1, "undefined-thing"),
        (")", 1, "input:1:1"),
    ];
    for (code, exit, complaint) in table {
        room.run_with_input(["scheme"], code)
            .ended_with(exit)
            .complained(complaint);
    }
}

/// Programs that want too much, and what is said about it.
const BOMBS: [(&str, &str); 4] = [
    (
        "(let loop ((all '())) (loop (cons (make-vector 1000 0) all)))",
        "more than 64 MiB of memory",
    ),
    ("(let deep ((n 0)) (+ 1 (deep (+ n 1))))", "stopped"),
    (
        "(let loop ((text (make-string 10000000 #\\x))) (loop (string-append text text)))",
        "more than 64 MiB of memory",
    ),
    ("(let loop ((n 3)) (loop (* n n)))", "a number needs more than"),
];

#[test]
fn what_wants_too_much_is_stopped_wherever_it_runs() {
    let room = room();
    let mut cases = String::new();
    for (index, (bomb, _)) in BOMBS.iter().enumerate() {
        put(
            &room,
            &format!("tools/shared/{index}.scm"),
            &returning("", bomb).replace("-tool probe", &format!("-tool probe{index}")),
        );
        cases += &format!("((string=? command \"echo {index}\") {bomb})\n");
    }
    put(
        &room,
        "tools/shared/guard.scm",
        &format!(
            "(register-hook 'pre_shell_exec (lambda (payload)
               (let ((command (cdr (assoc \"command\" payload)))) (cond {cases} (else '())))))"
        ),
    );
    let shells = (0..BOMBS.len()).map(|index| call("shell", json!({"command": format!("echo {index}")})));
    let tools = (0..BOMBS.len()).map(|index| call(&format!("probe{index}"), json!({})));
    let evals = BOMBS
        .iter()
        .map(|(bomb, _)| call("scheme_eval", json!({"code": bomb})));
    let last = call("shell", json!({"command": "echo still there"}));
    let calls: Vec<Value> = shells.chain(tools).chain(evals).chain([last]).collect();
    let results = results(&run(&room, &["--yes"], &calls));
    for (result, (bomb, words)) in results.iter().zip(BOMBS.iter().cycle()).take(3 * BOMBS.len()) {
        assert!(result.contains(words), "{bomb}: {result}");
    }
    assert!(
        results[0].contains("could not decide"),
        "a guard that is stopped does not allow: {results:?}"
    );
    assert!(results.last().unwrap().contains("still there"), "{results:?}");
    for (bomb, words) in BOMBS {
        room.run_with_input(["scheme"], bomb)
            .ended_with(1)
            .complained(words);
    }
}

#[test]
fn hooks_go_with_their_file_in_the_middle_of_a_run() {
    let room = room();
    put(
        &room,
        "tools/shared/guard.scm",
        "(register-hook 'pre_shell_exec (lambda (payload)
           (if (string-contains (cdr (assoc \"command\" payload)) \"echo\") '((\"denied\" . #t) (\"reason\" . \"no echo\")) '())))",
    );
    let file = backing(&room).join("tools/shared/guard.scm");
    let shell = |command: String| call("shell", json!({"command": command}));
    let calls = [
        shell("echo one".into()),
        shell(format!("rm '{}'", file.display())),
        shell("echo two".into()),
    ];
    let results = results(&run(&room, &["--yes"], &calls));
    assert!(results[0].contains("no echo"), "{results:?}");
    assert!(
        results[2].contains("two") && !results[2].contains("no echo"),
        "{results:?}"
    );
}

#[test]
fn a_hook_tells_tools_of_files_from_others_and_names_one_without_a_list() {
    let room = room();
    put(
        &room,
        PROBE,
        "(define (field name alist) (cdr (assoc name alist)))
         (register-hook 'pre_api_tools (lambda (payload)
           (let ((own (filter (lambda (tool) (equal? (field \"type\" tool) \"synthesised\")) (field \"tools\" payload))))
             (list (cons \"exclude\" (map (lambda (tool) (field \"name\" tool)) own))))))
         (define-tool probe (description \"Probes.\") (parameters '()) (execute (lambda (args) 1)))",
    );
    let run = run(&room, &[], &[]);
    let names = |event: &str| run.events_named(event)[0].to_string();
    assert!(names("tools_offered").contains("\"probe\""));
    let sent = names("pre_request");
    assert!(!sent.contains("\"probe\"") && sent.contains("\"read\""), "{sent}");
}

#[test]
fn the_settings_of_the_guide_are_settings() {
    let guide = std::fs::read_to_string(crate::repository_file("docs/guide/scheme.md")).unwrap();
    let blocks: Vec<&str> = guide.split("```toml\n").skip(1).collect();
    assert!(blocks.len() >= 2);
    for block in blocks {
        let settings = block.split("```").next().unwrap();
        let room = room();
        room.config(settings);
        room.run(["hooks", "list"]).ended_with(0);
    }
}
