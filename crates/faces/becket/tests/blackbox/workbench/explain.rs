//! `becket hooks explain`: which hooks, rules and questions decide about a call, in which order.

use super::guards;
use crate::room;

#[test]
fn the_guard_of_every_dialect_decides_and_nothing_runs() {
    for guarded in guards() {
        let words = [
            "hooks",
            "explain",
            "shell",
            r#"{"command": "touch ran; rm -rf x"}"#,
            "--yes",
        ];
        let told = guarded.json(&words, 0);
        let decision = &told["decision"];
        assert_eq!(decision["decision"], "deny", "{}: {told:#}", guarded.dialect);
        assert_eq!(decision["source"], "hook", "{}: {told:#}", guarded.dialect);
        let who = decision["handlers"].to_string();
        assert!(who.contains("no-rm"), "{}: {who}", guarded.dialect);
        let words = [
            "hooks",
            "explain",
            "shell",
            r#"{"command": "touch ran"}"#,
            "--yes",
        ];
        let told = guarded.json(&words, 0);
        assert_eq!(
            told["decision"]["decision"], "allow",
            "{}: {told:#}",
            guarded.dialect
        );
        assert!(!guarded.room.has("ran"), "{}", guarded.dialect);
    }
}

#[test]
fn a_dry_explanation_names_the_hooks_and_asks_none() {
    let room = room();
    let hooks =
        room.hooks("[[hook]]\nname = \"guard\"\nevent = \"pre_tool\"\ncommand = \"touch asked; exit 2\"\n");
    let words = [
        "hooks",
        "explain",
        "--dry",
        "shell",
        r#"{"command": "ls"}"#,
        "--hooks",
        &hooks,
    ];
    let told = room
        .run(words)
        .ended_with(0)
        .said("guard (becket, ")
        .said("not asked");
    assert!(told.stdout.contains("no hook runs"), "{told:#?}");
    assert!(!room.has("asked"));
    let words = [
        "hooks",
        "explain",
        "shell",
        r#"{"command": "ls"}"#,
        "--hooks",
        &hooks,
    ];
    room.run(words)
        .ended_with(0)
        .said("decision: deny by hook, guard");
    assert!(room.has("asked"));
}

#[test]
fn rules_rewrites_and_the_question_are_told_in_their_order() {
    let room = room();
    room.config("[permissions]\ndeny = [\"shell:command=rm*\"]\nallow = [\"shell:command=ls*\"]\n");
    let hooks = room.hooks(
        "[[hook]]\nname = \"safer\"\nevent = \"pre_tool\"\nmatch = { tool = \"shell\" }\n\
         command = '''sed -n 's/.*\"command\":\"echo \\([a-z ]*\\)\".*/{\"arguments\":{\"command\":\"\\1\"}}/p' '''\n",
    );
    let explain = |command: &str| {
        let arguments = serde_json::json!({"command": command}).to_string();
        room.run(["hooks", "explain", "shell", &arguments, "--hooks", &hooks])
            .ended_with(0)
    };
    explain("rm x")
        .said("rules: deny (the rule `shell:command=rm*` denies it)")
        .said("decision: deny by deny rule");
    explain("ls")
        .said("rules: allow (shell:command=ls*)")
        .said("decision: allow by allow rule");
    explain("echo ls")
        .said("arguments: {\"command\":\"echo ls\"} → {\"command\":\"ls\"}")
        .said("decision: allow by allow rule");
    let asked = explain("date")
        .said("rules: none match")
        .said("it needs approval");
    let (question, decision) = (
        asked.stdout.find("you would be asked").expect("it is told"),
        asked
            .stdout
            .find("decision: deny by default, as no one can be asked here")
            .expect("it is told"),
    );
    assert!(question < decision, "{asked:#?}");
}

#[test]
fn a_guard_of_what_the_call_touches_says_why_it_is_not_asked() {
    let room = room();
    room.write("notes.txt", "words");
    let hook = |event: &str, pattern: &str| {
        format!(
            "[[hook]]\nname = \"{event}-guard\"\nevent = \"{event}\"\nmatch = {{ {pattern} }}\ncommand = \"exit 2\"\n"
        )
    };
    let hooks = [
        hook("pre_shell", "command = \"rm\""),
        hook("pre_file_read", "path = { glob = \"*.env\" }"),
    ];
    let hooks = room.hooks(&hooks.concat());
    let explain = |tool: &str, arguments: serde_json::Value| {
        let words = [
            "hooks",
            "explain",
            tool,
            &arguments.to_string(),
            "--hooks",
            &hooks,
        ];
        room.run(words).ended_with(0)
    };
    let told = explain("shell", serde_json::json!({"command": "rm -rf x"}))
        .said("not asked: pre_shell-guard (becket, ")
        .said("expected command = rm, got \"rm -rf x\"");
    assert!(!told.stdout.contains("pre_file_read-guard"), "{told:#?}");
    let told = explain("read", serde_json::json!({"path": "notes.txt"}))
        .said("not asked: pre_file_read-guard (becket, ")
        .said("notes.txt\"");
    assert!(!told.stdout.contains("pre_shell-guard"), "{told:#?}");
    let told = explain("shell", serde_json::json!({"command": "rm"})).said("decision: deny by hook");
    assert!(!told.stdout.contains("not asked"), "{told:#?}");
}

#[test]
fn a_tool_that_is_not_there_is_named_with_the_nearest_one() {
    let room = room();
    room.run(["hooks", "explain", "shel", "{}"])
        .ended_with(2)
        .complained("did you mean `shell`?");
    room.run(["hooks", "explain", "shell", "[]"])
        .ended_with(2)
        .complained("they are JSON, but not an object");
    room.run(["hooks", "explain", "shell", "{}"])
        .ended_with(2)
        .complained("the arguments of shell cannot be read");
}

#[test]
fn the_url_policy_is_a_step_of_its_own() {
    let room = room();
    room.config("[url_policy]\ndeny = [\"preset:loopback\"]\n");
    let words = ["hooks", "explain", "fetch", r#"{"url": "http://127.0.0.1/x"}"#];
    room.run(words)
        .ended_with(0)
        .said("URL policy: deny (deny preset:loopback), the address leads to: loopback")
        .said("decision: deny by url policy");
    room.config("");
    room.run(words)
        .ended_with(0)
        .said("URL policy: ask (no policy), the address leads to: loopback");
}
