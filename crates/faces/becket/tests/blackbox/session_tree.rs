//! A conversation is a tree: the user goes back in it, forks it, labels and names it, and takes it to pi and back.

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::{Finished, Room, needs};

use crate::pi_packages::fetched;
use crate::room;

/// A room with two prompts and their answers.
fn talked() -> Room {
    let room = room();
    for number in [1, 2] {
        say(&room, &format!("prompt {number}"), &format!("answer {number}"));
    }
    room
}

fn say(room: &Room, prompt: &str, answer: &str) -> Finished {
    let model = room.model(&json!([{"text": answer}]));
    room.run(["--json", "--model", &model, prompt]).ended_with(0)
}

/// The entries of a context, or of the current one.
fn tree(room: &Room, context: &[&str]) -> Vec<Value> {
    let words = ["--json", "sessions", "tree"];
    room.run(words.iter().chain(context)).ended_with(0).events()
}

/// What an entry says.
fn words(entry: &Value) -> String {
    let content = &entry["content"];
    let text = &content["message"]["content"][0]["text"];
    let text = text.as_str().or_else(|| content["summary"].as_str());
    text.unwrap_or_else(|| content["type"].as_str().expect("a type"))
        .to_owned()
}

fn all_words(entries: &[Value]) -> Vec<String> {
    entries.iter().map(words).collect()
}

/// The id of the entry that says this.
fn id_of(entries: &[Value], text: &str) -> String {
    let entry = entries.iter().find(|entry| words(entry) == text);
    entry.expect(text)["id"].as_str().expect("an id").to_owned()
}

fn leaf(entries: &[Value]) -> Option<String> {
    entries.iter().find(|entry| entry["is_leaf"] == true).map(words)
}

/// What the model was shown.
fn seen(run: &Finished) -> Vec<String> {
    let context = &run.events_named("model_context")[0];
    let messages = context["messages"].as_array().expect("messages").iter();
    messages
        .map(|message| message["content"][0]["text"].as_str().expect("text").to_owned())
        .collect()
}

fn hook(room: &Room, event: &str, command: &str) -> String {
    room.hooks(&format!(
        "[[hook]]\nname = \"h\"\nevent = {event:?}\ncommand = '''{command}'''\n"
    ))
}

#[test]
fn the_person_goes_back_and_says_it_in_other_words() {
    let room = talked();
    let entries = tree(&room, &[]);
    assert_eq!(
        all_words(&entries),
        ["prompt 1", "answer 1", "prompt 2", "answer 2"]
    );
    let second = id_of(&entries, "prompt 2");
    let run = room.run(["sessions", "goto", &second]).ended_with(0);
    assert_eq!(run.stdout, "prompt 2\n", "what was said there can be said again");
    assert_eq!(leaf(&tree(&room, &[])).as_deref(), Some("answer 1"));

    let run = say(&room, "prompt 2b", "answer 2b");
    assert_eq!(seen(&run), ["prompt 1", "answer 1", "prompt 2b"]);
    let entries = tree(&room, &[]);
    assert_eq!(entries.len(), 6, "nothing is lost");
    assert_eq!(leaf(&entries).as_deref(), Some("answer 2b"));

    // An answer is gone to itself, and the first prompt is what stands before everything.
    let first = id_of(&entries, "prompt 1");
    room.run(["sessions", "goto", &id_of(&entries, "answer 2")])
        .ended_with(0);
    assert_eq!(seen(&say(&room, "on", "and on")).len(), 5);
    room.run(["sessions", "goto", &first])
        .ended_with(0)
        .said("prompt 1")
        .complained("before its first entry");
    assert_eq!(leaf(&tree(&room, &[])), None);
    assert_eq!(seen(&say(&room, "anew", "yes")), ["anew"]);
    let drawn = room.run(["sessions", "tree"]).ended_with(0).stdout;
    assert_eq!(drawn.matches("├─ ").count(), 2, "{drawn}");
    assert_eq!(drawn.matches("<- here").count(), 1, "{drawn}");
    assert_eq!(drawn.lines().count(), 10, "{drawn}");
}

#[test]
fn a_summary_tells_of_the_branch_that_was_left() {
    let room = talked();
    let second = id_of(&tree(&room, &[]), "answer 1");
    let model = room.model(&json!([
        {"text": "IT WAS TRIED", "expect": ["User: prompt 2", "Assistant: answer 2", "about the parser"]},
    ]));
    let run = room
        .run([
            "--json",
            "--model",
            &model,
            "sessions",
            "goto",
            &second,
            "--summary",
            "about the parser",
            "--label",
            "back",
        ])
        .ended_with(0);
    let before = &run.events_named("pre_session_tree")[0];
    assert_eq!(before["common_ancestor_id"], second.as_str());
    assert_eq!(before["abandoned"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        (&before["wants_summary"], &before["label"]),
        (&json!(true), &json!("back"))
    );
    let after = &run.events_named("post_session_tree")[0];
    assert_eq!(after["summary"]["text"], "IT WAS TRIED");
    assert_eq!(after["by_hook"], false);
    let entries = tree(&room, &[]);
    let summary = entries
        .iter()
        .find(|entry| words(entry) == "IT WAS TRIED")
        .expect("a summary");
    assert_eq!(summary["label"], "back", "the summary has the label");
    assert_eq!(summary["content"]["from_id"], summary["parent_id"], "as in pi");
    let said = seen(&say(&room, "prompt 3", "answer 3"));
    assert_eq!(said.len(), 4);
    assert!(said[2].ends_with("IT WAS TRIED"), "{said:?}");

    // A model that fails leaves everything as it was.
    let model = room.model(&json!([{"error": {"kind": "rejected", "message": "no"}}]));
    room.run(["--model", &model, "sessions", "goto", &second, "--summary"])
        .ended_with(3)
        .complained("the conversation stays where it was");
    assert_eq!(leaf(&tree(&room, &[])).as_deref(), Some("answer 3"));
}

#[test]
fn hooks_may_refuse_a_step_or_tell_of_the_branch_themselves() {
    let room = talked();
    let target = id_of(&tree(&room, &[]), "answer 1");
    for (command, reason) in [("echo stay here >&2; exit 2", "stay here"), ("exit 7", "h")] {
        let hooks = hook(&room, "pre_session_tree", command);
        let run = room
            .run(["--json", "--hooks", &hooks, "sessions", "goto", &target])
            .ended_with(1)
            .complained("the conversation stays where it was")
            .complained(reason);
        assert!(run.events_named("post_session_tree").is_empty());
        assert_eq!(leaf(&tree(&room, &[])).as_deref(), Some("answer 2"));
    }
    let brought =
        r#"cat > heard.json; echo '{"summary":{"text":"BY HOOK","details":{"n":1}},"label":"mine"}'"#;
    let hooks = hook(&room, "pre_session_tree", brought);
    let run = room
        .run([
            "--json",
            "--hooks",
            &hooks,
            "sessions",
            "goto",
            &target,
            "--summary",
        ])
        .ended_with(0);
    assert!(run.events_named("pre_request").is_empty(), "nobody else is asked");
    assert_eq!(run.events_named("post_session_tree")[0]["by_hook"], true);
    let entries = tree(&room, &[]);
    let summary = entries
        .iter()
        .find(|entry| words(entry) == "BY HOOK")
        .expect("a summary");
    assert_eq!(
        (&summary["label"], &summary["content"]["details"]),
        (&json!("mine"), &json!({"n": 1}))
    );
    let heard: Value = serde_json::from_str(&room.read("heard.json")).expect("JSON");
    assert_eq!(heard["target_id"], target.as_str());
    // A summary that nobody asked for is none.
    let answer = id_of(&entries, "answer 2");
    room.run(["--hooks", &hooks, "sessions", "goto", &answer])
        .ended_with(0);
    let told = tree(&room, &[])
        .iter()
        .filter(|entry| words(entry) == "BY HOOK")
        .count();
    assert_eq!(told, 1);
}

#[test]
fn a_fork_is_a_context_of_its_own() {
    let room = talked();
    let entries = tree(&room, &[]);
    let second = id_of(&entries, "prompt 2");
    room.run(["sessions", "label", &second, "later"]).ended_with(0);
    room.run(["sessions", "label", &id_of(&entries, "answer 1"), "here"])
        .ended_with(0);
    let run = room
        .run(["--json", "sessions", "fork", "later", "--to", "side"])
        .ended_with(0);
    let (before, after) = (
        &run.events_named("pre_session_fork")[0],
        &run.events_named("post_session_fork")[0],
    );
    assert_eq!(
        (&before["including"], &before["to_context"]),
        (&json!(false), &json!("side"))
    );
    assert_eq!(
        (&after["context_name"], &after["from_context"]),
        (&json!("side"), &json!(room.context()))
    );
    let started = run.events_named("session_start");
    assert_eq!(started[1]["reason"], "fork");
    assert_eq!(started[1]["previous_session_id"], started[0]["session_id"]);
    assert_eq!(run.events_named("session_end")[0]["next"], "fork");

    let side = tree(&room, &["side"]);
    assert_eq!(all_words(&side), ["prompt 1", "answer 1", "label"]);
    assert_eq!(side[1]["label"], "here", "labels go along");
    assert_eq!(side[1]["id"], entries[1]["id"], "ids stay");
    let model = room.model(&json!([{"text": "aside"}]));
    let run = room
        .run(["--json", "-C", "side", "--model", &model, "elsewhere"])
        .ended_with(0);
    assert_eq!(seen(&run), ["prompt 1", "answer 1", "elsewhere"]);
    assert_eq!(
        tree(&room, &[]).len(),
        6,
        "the one that was forked stays as it was"
    );

    let whole = room.run(["sessions", "fork", "later", "--at"]).ended_with(0);
    let name = whole.stdout.trim();
    assert!(name.starts_with(&format!("{}_", room.context())), "{name}");
    assert_eq!(leaf(&tree(&room, &[name])).as_deref(), Some("label"));
    assert_eq!(tree(&room, &[name])[2]["id"], second.as_str());
    room.run(["sessions", "fork", "later", "--to", "side"])
        .ended_with(2)
        .complained("there is already a context `side`");
    room.run(["context", "destroy", "--yes", &room.context()])
        .ended_with(0);
    assert_eq!(
        tree(&room, &["side"]).len(),
        5,
        "a fork does not need where it came from"
    );
}

#[test]
fn hooks_may_refuse_a_fork_or_begin_it_with_nothing() {
    let room = talked();
    let second = id_of(&tree(&room, &[]), "prompt 2");
    let hooks = hook(&room, "pre_session_fork", "echo no copies >&2; exit 2");
    room.run(["--hooks", &hooks, "sessions", "fork", &second, "--to", "side"])
        .ended_with(1)
        .complained("nothing was forked: no copies");
    room.run(["sessions", "tree", "side"]).ended_with(2);
    let hooks = hook(&room, "pre_session_fork", r#"echo '{"without_messages":true}'"#);
    room.run(["--hooks", &hooks, "sessions", "fork", &second, "--to", "side"])
        .ended_with(0);
    assert!(tree(&room, &["side"]).is_empty());
    room.run(["-c", &room.context()]).ended_with(0);
    let hooks = hook(&room, "pre_session_switch", "exit 2");
    room.run(["--hooks", &hooks, "-c", "side", "hello"]).ended_with(1);
}

#[test]
fn extensions_hear_of_it_and_see_the_whole_tree() {
    let room = talked();
    let entries = tree(&room, &[]);
    let (first, second) = (id_of(&entries, "answer 1"), id_of(&entries, "prompt 2"));
    let extension = room.write(
        "tree.ts",
        r#"
import { appendFileSync } from "node:fs";
const tell = (what: unknown) => appendFileSync("told.jsonl", JSON.stringify(what) + "\n");
export default (pi: any) => {
    pi.on("session_before_tree", (event: any) => {
        const { targetId, commonAncestorId, entriesToSummarize, userWantsSummary } = event.preparation;
        tell(["before_tree", targetId, commonAncestorId, entriesToSummarize.length, userWantsSummary]);
        return { summary: { summary: "BY EXTENSION" }, label: "seen" };
    });
    pi.on("session_tree", (event: any, ctx: any) => {
        const session = ctx.sessionManager;
        tell(["tree", event.newLeafId === session.getLeafId(), event.summaryEntry?.type, event.fromExtension,
            session.getEntries().length, session.getBranch().length,
            session.getChildren(event.summaryEntry.parentId).length,
            session.getTree().length, session.getBranch(event.oldLeafId).length]);
    });
    pi.on("session_before_fork", (event: any) => tell(["before_fork", event.entryId, event.position]));
    pi.on("session_fork", (event: any, ctx: any) =>
        tell(["fork", typeof event.previousSessionFile, ctx.sessionManager.getBranch().length,
            ctx.sessionManager.getHeader().parentSession === event.previousSessionFile]));
    pi.on("session_shutdown", (event: any) => tell(["shutdown", event.reason]));
    pi.on("session_start", (event: any) => tell(["start", event.reason]));
};
"#,
    );
    let extension = extension.display().to_string();
    let with = ["-e", extension.as_str(), "sessions"];
    room.run(with.iter().chain(&["goto", first.as_str(), "--summary"]))
        .ended_with(0);
    room.run(with.iter().chain(&["fork", second.as_str(), "--to", "side"]))
        .ended_with(0);
    let told = room.read("told.jsonl");
    let told: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(
        told,
        [
            json!(["start", "startup"]),
            json!(["before_tree", first, first, 2, true]),
            json!(["tree", true, "branch_summary", true, 6, 4, 2, 1, 4]),
            json!(["shutdown", "quit"]),
            json!(["start", "startup"]),
            json!(["before_fork", second, "before"]),
            json!(["shutdown", "fork"]),
            json!(["start", "fork"]),
            json!(["fork", "string", 2, true]),
            json!(["shutdown", "quit"]),
        ]
    );
}

#[test]
fn an_extension_reads_the_file_of_its_session() {
    let room = room();
    let extension = room.write(
        "file.ts",
        r#"
import { appendFileSync, readFileSync } from "node:fs";
const lines = (file: string) => readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line));
export default (pi: any) => {
    let file: string;
    pi.on("session_start", (_event: any, ctx: any) => {
        file = ctx.sessionManager.getSessionFile();
        const [header, ...entries] = lines(file);
        appendFileSync("told", `${header.version} ${header.id === ctx.sessionManager.getSessionId()} ${entries.length} ${file}\n`);
    });
};
"#,
    );
    let extension = extension.display().to_string();
    let model = room.model(&json!([{"text": "one"}, {"text": "two"}]));
    for prompt in ["a", "b"] {
        room.run(["--model", &model, "-e", &extension, prompt])
            .ended_with(0);
    }
    let told = room.read("told");
    let (first, second) = told.trim().split_once('\n').expect("two lines");
    let (first, file) = first.rsplit_once(' ').expect("a path");
    assert_eq!((first, second), ("3 true 0", format!("3 true 2 {file}").as_str()));
    let text = std::fs::read_to_string(file).expect("the file");
    assert_eq!(
        text.lines().count(),
        5,
        "written again when the run was over: {text}"
    );
}

#[test]
fn entries_are_found_by_the_beginning_of_their_id_and_shown() {
    let room = talked();
    room.run(["sessions", "name", "  two\u{1b}[31m prompts "])
        .ended_with(0);
    let listed = room.run(["--json", "sessions"]).ended_with(0).events();
    assert_eq!(listed[0]["name"], "two\u{1b}[31m prompts");
    let entries = tree(&room, &[]);
    let id = id_of(&entries, "answer 2");
    room.run(["sessions", "show", &id[..id.len() - 1]])
        .ended_with(0)
        .said("assistant")
        .said("answer 2");
    room.run(["sessions", "show", &id[..2]])
        .ended_with(2)
        .complained("write more of the id");
    room.run(["sessions", "show", "zzz"])
        .ended_with(2)
        .complained("has no entry \"zzz\"");
    room.run(["sessions", "goto", "zzz"]).ended_with(2);
    room.run(["sessions", "tree", "nowhere"])
        .ended_with(2)
        .complained("no context");
    let drawn = room.run(["sessions", "tree"]).ended_with(0).stdout;
    assert!(!drawn.contains('\u{1b}'), "{drawn:?}");
    room.run(["sessions", "label", &id, "x"]).ended_with(0);
    room.run(["sessions", "label", "x"]).ended_with(0);
    room.run(["sessions", "show", "x"]).ended_with(2);
    // What was cleared is archived, and no part of the tree.
    room.run(["context", "clear"]).ended_with(0);
    assert!(tree(&room, &[]).is_empty());
}

/// A session as pi writes it, with two branches.
const PI: &str = include_str!("session_tree/session.jsonl");

#[test]
fn a_session_of_pis_goes_on_here_and_back() {
    let room = room();
    room.write("session.jsonl", PI);
    room.run(["sessions", "import", "session.jsonl", "--to", "from-pi"])
        .ended_with(0)
        .said("from-pi");
    let out = room.run(["sessions", "export", "from-pi"]).ended_with(0).stdout;
    let lines = |text: &str| -> Vec<Value> {
        text.lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    };
    assert_eq!(
        lines(&out),
        lines(PI),
        "a file that was read and written says what it said"
    );
    let model = room.model(&json!([{"text": "yes"}]));
    let run = room
        .run(["--json", "-C", "from-pi", "--model", &model, "go on"])
        .ended_with(0);
    let said = seen(&run);
    let expected = [
        "List the files",
        "",
        "a.txt",
        "One file.",
        "TRIED",
        "Ran `ls`",
        "the extension",
        "go on",
    ];
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.contains(expected), "{said:?} {expected:?}");
    }
    let context = &run.events_named("model_context")[0]["messages"];
    assert_eq!(
        context[1]["tool_calls"][0]["name"], "shell",
        "in becket's own words"
    );
    assert_eq!(context[1]["usage"]["input_tokens"], 130);
    room.run(["sessions", "import", "session.jsonl", "--to", "from-pi"])
        .ended_with(2)
        .complained("there is already a context `from-pi`");

    // By the id of the session, in pi's own folder.
    let folder = room.home().join(".pi/agent/sessions/--work--");
    std::fs::create_dir_all(&folder).expect("writable");
    std::fs::write(folder.join("2026-01-31T15-45-00-000Z_01a2b3c4-0000.jsonl"), PI).expect("writable");
    let imported = room.run(["sessions", "import", "01a2"]).ended_with(0);
    assert!(imported.stdout.starts_with("pi_"), "{imported:?}");
    room.run(["sessions", "import", "99"])
        .ended_with(2)
        .complained("there is no file");
    room.write("broken.jsonl", format!("{}{{\"type\":\n[1]\n", PI));
    room.run(["sessions", "import", "broken.jsonl"])
        .ended_with(0)
        .complained("line 15 is not JSON")
        .complained("line 16 is no entry");
    room.write("other.jsonl", "{\"type\":\"message\"}\n");
    room.run(["sessions", "import", "other.jsonl"])
        .ended_with(1)
        .complained("no session file");
}

/// What the real pi makes of a file: its entries, where it stands, and what its model would see.
const OPENS: &str = r#"
import { SessionManager } from "./dist/core/session-manager.js";
const session = SessionManager.open(process.argv[2]);
const context = session.buildSessionContext();
console.log(JSON.stringify({
    id: session.getSessionId(),
    entries: session.getEntries().length,
    roots: session.getTree().length,
    branch: session.getBranch().map((entry) => entry.type),
    messages: context.messages.map((message) => message.role),
    model: context.model,
    name: session.getSessionName(),
    labels: session.getEntries().map((entry) => session.getLabel(entry.id)).filter((label) => label),
}));
"#;

fn opened(folder: &Path, file: &str) -> Value {
    let uuid = folder.join("node_modules/uuid");
    std::fs::create_dir_all(&uuid).expect("writable");
    std::fs::write(
        uuid.join("package.json"),
        r#"{"name":"uuid","type":"module","main":"index.js"}"#,
    )
    .expect("writable");
    std::fs::write(
        uuid.join("index.js"),
        "export const v7 = () => crypto.randomUUID();\n",
    )
    .expect("writable");
    std::fs::write(folder.join("opens.mjs"), OPENS).expect("writable");
    let child = Command::new("node")
        .args(["opens.mjs", file])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("node starts");
    let run = testkit::finish(child).ended_with(0);
    serde_json::from_str(&run.stdout).expect("JSON")
}

#[test]
fn the_real_pi_opens_what_becket_has_written() {
    if !needs("node") {
        return;
    }
    let room = talked();
    let Some(folders) = fetched(&room, &["@mariozechner/pi-coding-agent@0.73.1"]) else {
        return;
    };
    let entries = tree(&room, &[]);
    room.run(["sessions", "name", "mine"]).ended_with(0);
    room.run([
        "sessions",
        "label",
        entries[0]["id"].as_str().expect("an id"),
        "start",
    ])
    .ended_with(0);
    room.run(["sessions", "goto", &id_of(&entries, "prompt 2")])
        .ended_with(0);
    let file = room.work().join("out.jsonl").display().to_string();
    room.run(["sessions", "export", "-o", &file]).ended_with(0);
    let found = opened(&folders[0], &file);
    assert_eq!(found["entries"], 7, "{found:#}");
    assert_eq!(found["roots"], 1);
    assert_eq!(
        found["branch"],
        json!(["message", "message", "custom"]),
        "it stands where it stood"
    );
    assert_eq!(found["messages"], json!(["user", "assistant"]));
    assert_eq!(found["model"]["provider"], "scripted");
    assert_eq!(
        (&found["name"], &found["labels"]),
        (&json!("mine"), &json!(["start"]))
    );
    // And back: pi's file is the same conversation.
    room.run(["sessions", "import", &file, "--to", "back"])
        .ended_with(0);
    let back = tree(&room, &["back"]);
    assert_eq!(all_words(&back), all_words(&tree(&room, &[])));
    assert_eq!(leaf(&back).as_deref(), Some("answer 1"));
}
