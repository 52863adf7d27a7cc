//! A plugin that was asked for permission and breaks: the action does not happen, the message names the plugin, and
//! the prompt goes on to its end.

use serde_json::{Value, json};
use testkit::{ModelServer, Response};

use super::{Chibi, Generation, Newer, Older, calls, runs, says};

/// How a plugin can break, and what the message says about it.
const BROKEN: &[(&str, &str)] = &[
    ("exit 1", "exited with an error"),
    ("echo '{}'; exit 1", "exited with an error"),
    ("kill -9 $$", "signal"),
    ("sleep 60", "timed out"),
    ("echo garbage", "unreadable output"),
    ("echo '{\"denied\":'", "unreadable output"),
    ("printf '\\377\\376'", "unreadable output"),
    ("echo '[]'", "wrong shape"),
    ("echo true", "wrong shape"),
    ("echo null", "wrong shape"),
    ("printf '{\"denied\":true,\"denied\":false}'", "unreadable output"),
    ("head -c 3000000 /dev/zero | tr '\\0' x", "output too large"),
];

/// What the model wants, and whether it has happened.
struct Deed {
    hook: &'static str,
    turn: fn(&Chibi, &ModelServer) -> Value,
    happened: fn(&Chibi, &ModelServer, &str) -> bool,
}

const DEEDS: &[Deed] = &[
    Deed {
        hook: "pre_tool",
        turn: |_, _| runs("touch ran"),
        happened: |chibi, _, _| chibi.room.has("ran"),
    },
    Deed {
        hook: "pre_shell_exec",
        turn: |_, _| runs("touch ran"),
        happened: |chibi, _, _| chibi.room.has("ran"),
    },
    Deed {
        hook: "pre_file_write",
        turn: |_, _| calls("write", json!({"path": "ran", "content": "x"})),
        happened: |chibi, _, _| chibi.room.has("ran"),
    },
    Deed {
        hook: "pre_file_read",
        turn: |chibi, _| {
            let file = chibi.room.write("../outside/secret", "the secret word");
            calls("read", json!({"path": file.canonicalize().expect("it is there")}))
        },
        happened: |_, _, requests| requests.contains("the secret word"),
    },
    Deed {
        hook: "pre_fetch_url",
        turn: |_, web| calls("fetch", json!({"url": web.url()})),
        happened: |_, web, _| !web.requests().is_empty(),
    },
    Deed {
        hook: "pre_spawn_agent",
        turn: |_, _| {
            let task = json!({"system_prompt": "s", "input": "the task", "model": "rehearsal"});
            calls("spawn_agent", task)
        },
        happened: |chibi, _, requests| {
            let sessions = chibi.room.run(["--json", "sessions"]).events();
            let asked = sessions.iter().any(|session| !session["parent_id"].is_null());
            assert_eq!(asked, requests.contains("This is a rehearsal"));
            asked
        },
    },
];

/// Lets the model do the deed with a plugin on its hook, and says whether it happened, and what the user was told.
fn attempt(deed: &Deed, generation: Generation, body: &str) -> (bool, String) {
    let chibi = Chibi::new();
    if body.contains("sleep") {
        chibi.room.config("[chibi]\nhook_timeout = 1\n");
    }
    chibi.plugin(generation, "my-guard", &[deed.hook], body);
    let web = ModelServer::start([Response::new(200, "text/plain", "the page")]);
    let turn = (deed.turn)(&chibi, &web);
    let told = chibi.ask(&["--yes", "go"], &[turn, says("went on")]).went_well();
    assert_eq!(told.run.stdout, "went on\n", "{}: {body}", deed.hook);
    let requests = json!(told.requests).to_string();
    ((deed.happened)(&chibi, &web, &requests), told.run.stderr)
}

/// All ways to break on one kind of guard.
fn breaks_without_effect(hook: &str) {
    let deed = DEEDS
        .iter()
        .find(|deed| deed.hook == hook)
        .expect("it is in the table");
    let (happened, _) = attempt(deed, Newer, "echo '{}'");
    assert!(happened, "{hook} happens when the guard is whole");
    for (number, (body, cause)) in BROKEN.iter().enumerate() {
        let generation = if number % 2 == 0 { Newer } else { Older };
        let (happened, stderr) = attempt(deed, generation, body);
        assert!(!happened, "{hook} happened although its guard broke: {body}");
        assert!(stderr.contains("my-guard"), "{hook}, {body}: {stderr}");
        assert!(stderr.contains(cause), "{hook}, {body}: no {cause:?} in {stderr}");
    }
}

#[test]
fn a_broken_pre_tool_refuses() {
    breaks_without_effect("pre_tool");
}

#[test]
fn a_broken_pre_shell_exec_refuses() {
    breaks_without_effect("pre_shell_exec");
}

#[test]
fn a_broken_pre_file_write_refuses() {
    breaks_without_effect("pre_file_write");
}

#[test]
fn a_broken_pre_file_read_refuses() {
    breaks_without_effect("pre_file_read");
}

#[test]
fn a_broken_pre_fetch_url_refuses() {
    breaks_without_effect("pre_fetch_url");
}

#[test]
fn a_broken_pre_spawn_agent_refuses() {
    breaks_without_effect("pre_spawn_agent");
}

#[test]
fn a_guard_that_vanished_after_it_was_known_refuses() {
    let chibi = Chibi::new();
    let turns = [runs("touch ran"), says("went on")];
    chibi.plugin(Newer, "my-guard", &["pre_tool"], "echo '{}'");
    chibi.ask(&["--yes", "-C", "one", "go"], &turns).went_well();
    assert!(chibi.room.has("ran"));
    std::fs::remove_file(chibi.room.work().join("ran")).expect("writable");
    // The same guard, but now the program that it needs is gone, and with it its answer to `--schema`.
    chibi.install("my-guard", "#!/no/such/interpreter\n");
    let told = chibi.ask(&["--yes", "-C", "two", "go"], &turns);
    let run = told.run.ended_with(4).complained("my-guard");
    assert!(!chibi.room.has("ran"), "{run:#?}");
}

#[test]
fn an_older_guard_that_cannot_be_shown_the_whole_call_refuses() {
    // The kernel has a limit for one variable. A guard that reads nothing there would find nothing wrong.
    let chibi = Chibi::new();
    let body = "[[ $data == *write_file* ]] && echo '{\"block\":true}'; true";
    chibi.plugin(Older, "my-guard", &["pre_tool"], body);
    let write = calls("write", json!({"path": "ran", "content": "x".repeat(200_000)}));
    chibi
        .ask(&["--yes", "go"], &[write, says("went on")])
        .went_well()
        .run
        .complained("my-guard");
    assert!(!chibi.room.has("ran"));
}

#[test]
fn a_whole_guard_beside_a_broken_one_does_not_help() {
    let chibi = Chibi::new();
    chibi.plugin(Newer, "a-broken", &["pre_tool"], "exit 1");
    chibi.plugin(Newer, "b-whole", &["pre_tool"], "echo '{}'");
    chibi
        .ask(&["--yes", "go"], &[runs("touch ran"), says("went on")])
        .went_well()
        .run
        .complained("a-broken");
    assert!(!chibi.room.has("ran"));
}
