//! The audit log: what is decided and done is in it, and nobody changes it without being found.

use serde_json::{Value, json};
use testkit::{Finished, Room, needs};

use crate::room;

const GUARD: &str = "[[hook]]\nname = \"no-rm\"\nevent = \"pre_shell\"\n\
     command = '''if grep -q 'rm '; then echo 'rm is out' >&2; exit 2; fi'''\n\
     [[hook]]\nname = \"louder\"\nevent = \"pre_tool\"\n\
     command = '''grep -q '\"command\":\"echo one\"' && echo '{\"arguments\":{\"command\":\"echo ONE\"}}' || true'''\n";

/// A session with a rewritten call, a refused one, and one by a sub-agent.
fn eventful(room: &Room) {
    let hooks = room.hooks(GUARD);
    room.write(
        "child.json",
        json!([
            {"tool_calls": [{"name": "shell", "arguments": {"command": "echo below"}}]},
            {"text": "helped"},
        ])
        .to_string(),
    );
    let asking = json!({
        "system_prompt": "You help.", "input": "the task", "model": "scripted/child.json", "tools": true,
    });
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "echo one"}}]},
        {"tool_calls": [{"name": "shell", "arguments": {"command": "rm x"}}]},
        {"tool_calls": [{"name": "spawn_agent", "arguments": asking}]},
        {"text": "done"},
    ]));
    room.run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0);
}

fn lines(run: &Finished) -> Vec<Value> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}

fn head(room: &Room) -> String {
    room.run(["audit", "head"]).ended_with(0).stdout.trim().to_owned()
}

/// Changes the store behind becket's back.
fn tamper(room: &Room, sql: &str) {
    let program = "import sqlite3, sys\n\
         db = sqlite3.connect(sys.argv[1])\n\
         db.executescript('DROP TRIGGER IF EXISTS audit_is_never_changed;'\n\
                          'DROP TRIGGER IF EXISTS audit_is_never_deleted;')\n\
         db.executescript(sys.argv[2])\n\
         db.commit()\n";
    let file = room.store_file();
    let status = std::process::Command::new("python3")
        .args(["-c", program])
        .arg(&file)
        .arg(sql)
        .status()
        .expect("python3 can be started");
    assert!(status.success(), "{sql}");
}

#[test]
fn every_decision_is_in_the_log_with_who_what_and_why() {
    let room = room();
    room.run(["audit"])
        .ended_with(0)
        .said("there are no decisions yet");
    eventful(&room);
    let records = lines(&room.run(["audit", "export"]).ended_with(0));
    let numbers: Vec<u64> = records
        .iter()
        .filter_map(|record| record["seq"].as_u64())
        .collect();
    assert_eq!(numbers, (1..=records.len() as u64).collect::<Vec<_>>());
    for pair in records.windows(2) {
        assert_eq!(
            pair[1]["previous"], pair[0]["hash"],
            "each carries the hash of the one before"
        );
    }
    let calls: Vec<&Value> = records.iter().filter(|record| record["kind"] == "call").collect();
    let first = &calls[0]["record"];
    assert_eq!(first["original"], json!({"command": "echo one"}));
    assert_eq!(first["effective"], json!({"command": "echo ONE"}));
    assert_eq!(
        (&first["decision"], &first["source"]),
        (&json!("allow"), &json!("yes"))
    );
    assert!(
        first["duration_us"].as_u64().is_some_and(|duration| duration > 0),
        "{first}"
    );
    assert!(first["agent_name"].is_string() && first["model"].is_string() && first["turn"] == 1);
    let refused = &calls[1]["record"];
    assert_eq!(refused["decision"], "deny");
    assert_eq!(refused["handlers"], json!(["no-rm"]));
    assert_eq!(refused["reason"], "rm is out");
    let below = calls
        .iter()
        .find(|call| call["record"]["original"]["command"] == "echo below");
    let below = below.expect("the sub-agent's call is there");
    assert_eq!(below["record"]["parent_session_id"], first["session_id"]);
    let of_hooks = records.iter().filter(|record| record["kind"] == "hooks");
    let rewrites =
        of_hooks.filter(|record| record["record"]["effective"]["arguments"]["command"] == "echo ONE");
    assert_eq!(rewrites.count(), 1, "what the hook said is a record of its own");
    assert_eq!(
        records
            .iter()
            .filter(|record| record["kind"] == "operation")
            .count(),
        3
    );

    let session = first["session_id"].as_str().expect("it has a session");
    let child = below["session_id"].as_str().expect("it has a session");
    exports_can_be_narrowed(&room, session, child);
}

fn exports_can_be_narrowed(room: &Room, session: &str, child: &str) {
    let of_child = lines(&room.run(["audit", "export", "--session", child]).ended_with(0));
    assert!(!of_child.is_empty() && of_child.iter().all(|record| record["session_id"] == child));
    let of_both = lines(&room.run(["audit", "export", "--session", session]).ended_with(0));
    assert!(
        of_both.len() > of_child.len(),
        "a session's sub-agents belong to it"
    );
    assert!(
        lines(
            &room
                .run(["audit", "export", "--since", "2099-01-01"])
                .ended_with(0)
        )
        .is_empty()
    );
    room.run(["audit", "export", "--since", "soon"])
        .ended_with(2)
        .complained("`soon` is neither a date nor a span");
}

#[test]
fn the_ledger_says_that_operations_are_permits_used() {
    let room = room();
    eventful(&room);
    let ledgers = lines(&room.run(["audit", "--json"]).ended_with(0));
    assert_eq!(ledgers.len(), 2, "one for each session: {ledgers:?}");
    for ledger in &ledgers {
        assert_eq!(
            (&ledger["difference"], &ledger["problem"]),
            (&json!(0), &Value::Null)
        );
    }
    let own = &ledgers[0]["ledger"];
    assert_eq!(
        (&own["permits"], &own["used"], &own["refused"]),
        (&json!(2), &json!(2), &json!(1))
    );
    room.run(["audit"])
        .ended_with(0)
        .said("2 calls allowed, 2 run, 1 refused, hooks decided ")
        .said("ok, 2 permits used");
    // The log outlives what it tells of.
    room.run(["--yes", "context", "destroy", &room.context()])
        .ended_with(0);
    assert_eq!(lines(&room.run(["audit", "--json"]).ended_with(0)), ledgers);
    room.run(["audit", "verify"])
        .ended_with(0)
        .said("none was changed");
}

#[test]
fn whatever_is_changed_removed_or_moved_is_found_and_named() {
    if !needs("python3") {
        return;
    }
    let tampering = [
        (
            "UPDATE audit SET record = replace(record, 'rm x', 'ls x') WHERE kind = 'call'",
            "was changed",
        ),
        (
            "UPDATE audit SET session_id = 'another' WHERE seq = 2",
            "record 2 of the audit log was changed",
        ),
        (
            "DELETE FROM audit WHERE seq = 3",
            "record 3 of the audit log is missing",
        ),
        (
            "UPDATE audit SET seq = -1 WHERE seq = 2; UPDATE audit SET seq = 2 WHERE seq = 3;
             UPDATE audit SET seq = 3 WHERE seq = -1",
            "record 2 of the audit log does not follow",
        ),
        (
            "DELETE FROM audit WHERE seq > 4",
            "record 5 of the audit log is missing",
        ),
        (
            "DELETE FROM audit WHERE seq > 4;
             UPDATE audit_head SET count = 4, hash = (SELECT hash FROM audit WHERE seq = 4)",
            "record 5 of the audit log is missing",
        ),
        (
            "DELETE FROM audit; DELETE FROM audit_head",
            "record 1 of the audit log is missing",
        ),
    ];
    let made = room();
    eventful(&made);
    let noted = head(&made);
    let before = std::fs::read(made.store_file()).expect("the store is there");
    for (sql, words) in tampering {
        tamper(&made, sql);
        made.run(["audit", "verify"]).ended_with(1).complained(words);
        let json = made.run(["audit", "verify", "--json"]).ended_with(1);
        assert_eq!(lines(&json)[0]["ok"], false);
        std::fs::write(made.store_file(), &before).expect("the store can be restored");
    }
    // Who covers up every trace is found by a hash that was noted elsewhere.
    tamper(
        &made,
        "DELETE FROM audit WHERE seq > 4; UPDATE sqlite_sequence SET seq = 4 WHERE name = 'audit';
         UPDATE audit_head SET count = 4, hash = (SELECT hash FROM audit WHERE seq = 4)",
    );
    made.run(["audit", "verify"]).ended_with(0);
    made.run(["audit", "verify", "--head", &noted])
        .ended_with(1)
        .complained("none has the hash that was noted");
    std::fs::write(made.store_file(), &before).expect("the store can be restored");
    // A log that has grown since still has it.
    eventful(&made);
    made.run(["audit", "verify", "--head", &noted]).ended_with(0);
    assert_ne!(head(&made), noted);
    made.run(["audit", "verify", "--head", "abc"])
        .ended_with(2)
        .complained("64 hexadecimal digits");
}

#[test]
fn several_processes_write_one_chain() {
    let room = room();
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "true"}}]},
        {"text": "done"},
    ]));
    let runs: Vec<_> = (0..6)
        .map(|number| room.start(["--yes", "-C", &format!("c{number}"), "--model", &model, "go"]))
        .collect();
    for run in runs {
        run.finish().ended_with(0);
    }
    room.run(["audit", "verify"])
        .ended_with(0)
        .said("none was changed");
    let ledgers = lines(&room.run(["audit", "--json"]).ended_with(0));
    assert_eq!(ledgers.len(), 6);
    assert!(
        ledgers
            .iter()
            .all(|ledger| ledger["operations"] == 1 && ledger["difference"] == 0)
    );
}

#[test]
fn refused_calls_are_listed_with_reason_and_hook() {
    let room = room();
    room.run(["audit", "refused"])
        .ended_with(0)
        .said("0 calls refused since 7d");
    let hooks = room
        .hooks("[[hook]]\nname = \"no\"\nevent = \"pre_tool\"\ncommand = \"echo not today >&2; exit 2\"\n");
    room.run(["--yes", "--hooks", &hooks, "Run: rm -rf build"])
        .ended_with(0);
    room.run(["Run: touch x"]).ended_with(0);
    room.run(["--yes", "Run: true"]).ended_with(0);
    let run = room.run(["audit", "refused", "--since", "1h"]).ended_with(0);
    let run = run.said("shell rm -rf build\n    not today  (hook no)");
    let run = run.said("shell touch x\n    it needs approval");
    run.said("2 calls refused since 1h");
    let listed = room.run(["audit", "refused", "--json"]).ended_with(0).events();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0]["record"]["reason"], "not today");
    room.run(["audit", "refused", "--since", "soon"]).ended_with(2);
}
