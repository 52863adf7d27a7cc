//! A running session goes on elsewhere: in a new conversation, an earlier one, a copy, or at another entry. In the
//! chat, by commands of extensions, and by programs that steer becket.

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::pi_client::Client;
use crate::pi_examples::{example, git};
use crate::room;
use crate::terminal::Terminal;

/// Notes every event about sessions.
const TRACER: &str = r#"
    import { appendFileSync } from "node:fs";
    export default (pi: any) => {
        const names = ["session_before_switch", "session_before_fork", "session_before_tree", "session_switch",
            "session_fork", "session_tree", "session_start", "session_shutdown", "resources_discover"];
        let heard = 0;
        for (const name of names) {
            pi.on(name, (event: any) => {
                heard += 1;
                const fresh = heard === 1 ? " (fresh)" : "";
                appendFileSync("log", [name, event.reason ?? event.position].filter(Boolean).join(" ") + fresh + "\n");
            });
        }
    };
"#;

/// What was noted since it was last looked at.
fn noted(room: &Room) -> Vec<String> {
    let lines = room.read("log").lines().map(ToOwned::to_owned).collect();
    room.write("log", "");
    lines
}

fn saying(words: &[&str]) -> Value {
    words.iter().map(|word| json!({"text": word})).collect()
}

/// What is said in the conversation.
fn said(client: &mut Client) -> Vec<String> {
    let messages = client.data(json!({"type": "get_messages"}));
    let messages = messages["messages"].as_array().expect("a list");
    let text = |message: &Value| match message["content"].as_str() {
        Some(text) => text.to_owned(),
        None => message["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    };
    messages.iter().map(text).collect()
}

fn session_file(client: &mut Client) -> String {
    let state = client.data(json!({"type": "get_state"}));
    state["sessionFile"].as_str().expect("a file").to_owned()
}

#[test]
// tidy: a table
fn a_program_goes_from_one_conversation_to_another() {
    let room = room();
    room.write("tracer.ts", TRACER);
    room.write("log", "");
    let model = room.model(&saying(&["one", "two", "three"]));
    let mut client = Client::start(&room, &["--model", &model, "-e", "tracer.ts"]);
    client.prompt_and_wait("Hello");
    let first = session_file(&mut client);
    assert_eq!(
        noted(&room),
        ["session_start startup (fresh)", "resources_discover startup"]
    );

    assert_eq!(
        client.data(json!({"type": "new_session"})),
        json!({"cancelled": false})
    );
    assert_eq!(
        noted(&room),
        [
            "session_before_switch new",
            "session_shutdown new",
            "session_start new (fresh)",
            "resources_discover startup",
            "session_switch new",
        ]
    );
    let second = session_file(&mut client);
    assert_ne!(first, second);
    assert!(said(&mut client).is_empty());
    client.prompt_and_wait("Again");
    assert_eq!(said(&mut client), ["Again", "two"]);

    let back = json!({"type": "switch_session", "sessionPath": first});
    assert_eq!(client.data(back), json!({"cancelled": false}));
    assert_eq!(session_file(&mut client), first);
    assert_eq!(said(&mut client), ["Hello", "one"]);
    assert_eq!(
        noted(&room),
        [
            "session_before_switch resume",
            "session_shutdown resume",
            "session_start resume (fresh)",
            "resources_discover startup",
            "session_switch resume",
        ]
    );

    let forks = client.data(json!({"type": "get_fork_messages"}));
    let entry = forks["messages"][0]["entryId"].clone();
    let forked = client.data(json!({"type": "fork", "entryId": entry}));
    assert_eq!(forked, json!({"cancelled": false, "text": "Hello"}));
    assert!(said(&mut client).is_empty());
    assert_eq!(
        noted(&room),
        [
            "session_before_fork before",
            "session_shutdown fork",
            "session_start fork (fresh)",
            "resources_discover startup",
            "session_fork",
        ]
    );
    client.data(json!({"type": "switch_session", "sessionPath": second}));
    assert_eq!(client.data(json!({"type": "clone"})), json!({"cancelled": false}));
    let third = session_file(&mut client);
    assert!(third != first && third != second, "{third}");
    client.prompt_and_wait("More");
    assert_eq!(said(&mut client), ["Again", "two", "More", "three"]);
    assert_eq!(client.leave().0, 0);
}

#[test]
fn what_an_extension_shows_goes_with_its_session() {
    let room = room();
    room.write(
        "shows.ts",
        r#"export default (pi: any) => pi.registerCommand("show", { handler: async (_: string, ctx: any) => {
            ctx.ui.setStatus("s", "STATUS");
            ctx.ui.setWidget("w", ["WIDGET"]);
        } });"#,
    );
    let model = room.model(&saying(&["one"]));
    let mut client = Client::start(&room, &["--model", &model, "-e", "shows.ts"]);
    client.send(&json!({"type": "prompt", "message": "/show"}));
    let shown = |method: &'static str, field: &'static str, there: bool| {
        move |line: &Value| {
            line["method"] == method && line.get(field).is_some_and(|value| !value.is_null()) == there
        }
    };
    client.next("a status", shown("setStatus", "statusText", true));
    client.next("a widget", shown("setWidget", "widgetLines", true));
    client.send(&json!({"type": "new_session"}));
    client.next("no status", shown("setStatus", "statusText", false));
    client.next("no widget", shown("setWidget", "widgetLines", false));
    assert_eq!(client.leave().0, 0);
}

#[test]
fn words_in_a_string_can_be_forked_from() {
    let room = room();
    let file = room.write(
        "session.jsonl",
        r#"{"type":"session","version":3,"id":"019a0000-0000-7000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}
{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"plain string","timestamp":1}}
"#,
    );
    let model = room.model(&saying(&["one"]));
    let mut client = Client::start(&room, &["--model", &model]);
    client.data(json!({"type": "switch_session", "sessionPath": file}));
    let forks = client.data(json!({"type": "get_fork_messages"}));
    assert_eq!(
        forks,
        json!({"messages": [{"entryId": "e1", "text": "plain string"}]})
    );
    assert_eq!(client.leave().0, 0);
}

#[test]
fn where_a_program_cannot_go_it_is_told_and_stays() {
    let room = room();
    let model = room.model(&saying(&["one"]));
    let mut client = Client::start(&room, &["--model", &model]);
    room.write("broken.jsonl", "no session\n");
    let cases = [
        (
            json!({"type": "fork", "entryId": "x"}),
            "Invalid entry ID for forking",
        ),
        (
            json!({"type": "clone"}),
            "Cannot clone session: no current entry selected",
        ),
        (
            json!({"type": "switch_session", "sessionPath": "nowhere"}),
            "there is no session",
        ),
        (
            json!({"type": "switch_session", "sessionPath": "broken.jsonl"}),
            "cannot import",
        ),
    ];
    for (command, expected) in cases {
        let response = client.ask(command.clone());
        assert_eq!(response["success"], false, "{response}");
        let error = response["error"].as_str().expect("words");
        assert!(error.contains(expected), "{command}: {error}");
    }
    client.prompt_and_wait("Hello");
    assert_eq!(said(&mut client), ["Hello", "one"]);
    assert_eq!(client.leave().0, 0);
}

#[test]
fn a_program_runs_commands_of_the_person_and_ends_them() {
    let room = room();
    let guard = "grep -q forbidden && { echo no >&2; exit 2; } || true";
    let hooks = room.hooks(&format!(
        "[[hook]]\nevent = \"user_shell\"\ncommand = \"{guard}\"\n"
    ));
    let expected = [
        "Ran `echo out; echo err >&2; exit 3`",
        "Command exited with code 3",
    ];
    let model = room.model(&json!([{"text": "seen", "expect": expected}]));
    let mut client = Client::start(&room, &["--model", &model, "--hooks", &hooks]);
    let ran = client.data(json!({"type": "bash", "command": "echo out; echo err >&2; exit 3"}));
    assert_eq!(
        ran,
        json!({"output": "out\nerr\n", "exitCode": 3, "cancelled": false, "truncated": false})
    );
    let messages = client.data(json!({"type": "get_messages"}));
    assert_eq!(messages["messages"][0]["role"], "bashExecution", "{messages}");
    client.prompt_and_wait("Look");

    let refused = client.ask(json!({"type": "bash", "command": "echo forbidden"}));
    assert_eq!(refused["success"], false, "{refused}");

    client.send(&json!({"id": "long", "type": "bash", "command": "touch begun; sleep 600"}));
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !room.has("begun") {
        assert!(std::time::Instant::now() < until, "the command did not begin");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    client.data(json!({"type": "abort_bash"}));
    let ended = client.next("the end of the command", |line| line["id"] == "long");
    assert_eq!(ended["data"]["cancelled"], true, "{ended}");
    assert_eq!(client.leave().0, 0);
}

/// A command that goes everywhere, and what it notes.
const TRAVELLER: &str = r#"
    import { appendFileSync } from "node:fs";
    export default (pi: any) => {
        const note = (...words: unknown[]) => appendFileSync("log", words.join(" ") + "\n");
        const thrown = (use: () => unknown) => {
            try {
                use();
                return "nothing";
            } catch (error: any) {
                return error.message.slice(0, 30);
            }
        };
        const texts = (ctx: any) => ctx.sessionManager.buildSessionContext().messages
            .map((message: any) => message.content[0]?.text ?? message.content).join("|");
        pi.on("session_start", (event: any) => {
            if (event.reason === "reload") note("loaded anew");
        });
        pi.registerCommand("go", { handler: async (args: string, ctx: any) => {
            const first = ctx.sessionManager.getSessionFile();
            const question = ctx.sessionManager.getEntries().find((entry: any) => entry.message?.role === "user");
            const moved = await ctx.navigateTree(question.id, { label: "here" });
            note("tree", moved.cancelled, texts(ctx) === "", ctx.sessionManager.getLabel(question.id));
            await ctx.navigateTree("nowhere").catch((error: Error) => note(error.message));
            await ctx.fork("nowhere").catch((error: Error) => note(error.message));
            const went = await ctx.newSession({
                parentSession: first,
                setup: async (session: any) => {
                    session.appendMessage({ role: "user", content: [{ type: "text", text: "set up" }], timestamp: 1 });
                    session.appendCustomEntry("kept", { some: "data" });
                },
                withSession: async (next: any) => {
                    note("new", next.sessionManager.getHeader().parentSession === first, texts(next));
                    await next.sendUserMessage("second");
                    note("answered", texts(next));
                    const leaf = next.sessionManager.getLeafId();
                    await next.fork(leaf, { position: "at", withSession: async (copy: any) => {
                        note("copy", texts(copy));
                        await copy.switchSession(first, { withSession: async (back: any) => {
                            note("back", back.sessionManager.getSessionFile() === first, texts(back));
                            await back.reload();
                            note("after", thrown(() => back.isIdle()));
                        } });
                    } });
                    note("next", thrown(() => next.ui.notify("x")));
                },
            });
            note("went", went.cancelled);
            note("ctx", thrown(() => ctx.isIdle()));
            note("pi", thrown(() => pi.sendUserMessage("x")));
        } });
    };
"#;

/// What the traveller notes.
const TRAVELLED: [&str; 12] = [
    "tree false true here",
    "Entry nowhere not found",
    "Invalid entry ID for forking",
    "new true set up",
    "answered set up|second|two",
    "copy set up|second|two",
    "back true ",
    "loaded anew",
    "after This extension ctx is stale af",
    "next This extension ctx is stale af",
    "went false",
    "ctx This extension ctx is stale af",
];

#[test]
fn a_command_goes_everywhere_in_every_front_end() {
    for front_end in ["print", "chat", "rpc"] {
        let room = room();
        room.write("traveller.ts", TRAVELLER);
        room.write("log", "");
        let turns = json!([{"text": "one"}, {"expect": ["set up", "second"], "text": "two"}]);
        let model = room.model(&turns);
        let options = ["--model", &model, "-e", "traveller.ts"];
        match front_end {
            "print" => {
                let prompts = ["--mode", "text", "-p", "first", "/go"];
                room.run(options.iter().chain(&prompts)).ended_with(0);
            }
            "chat" => {
                let run: Finished = room.run_with_input(options.iter().chain(&["chat"]), "first\n/go\n");
                run.ended_with(0);
            }
            _ => {
                let mut client = Client::start(&room, &options);
                client.prompt_and_wait("first");
                client.prompt("/go");
                assert_eq!(client.leave().0, 0);
            }
        }
        let noted = noted(&room);
        assert_eq!(noted[..12], TRAVELLED, "{front_end}");
        assert_eq!(noted[12..], ["pi This extension ctx is stale af"], "{front_end}");
    }
}

#[test]
fn a_guard_keeps_a_command_where_it_is() {
    let room = room();
    room.write(
        "guard.ts",
        r#"
        import { appendFileSync } from "node:fs";
        export default (pi: any) => {
            for (const name of ["session_before_switch", "session_before_fork", "session_before_tree"]) {
                pi.on(name, () => ({ cancel: true }));
            }
            pi.registerCommand("go", { handler: async (_: string, ctx: any) => {
                const setup = () => appendFileSync("log", "set up\n");
                const entry = ctx.sessionManager.getEntries()[0];
                const ends = [
                    await ctx.newSession({ setup, withSession: setup }),
                    await ctx.switchSession("elsewhere", { withSession: setup }),
                    await ctx.fork(entry.id, { withSession: setup }),
                    await ctx.navigateTree(entry.id),
                ];
                appendFileSync("log", JSON.stringify(ends.map((end) => end.cancelled)) + ctx.isIdle() + "\n");
            } });
        };
        "#,
    );
    let model = room.model(&saying(&["one", "two"]));
    room.run(["--model", &model, "-C", "elsewhere", "hi"])
        .ended_with(0);
    let options = ["--model", &model, "-e", "guard.ts", "chat"];
    room.run_with_input(options, "first\n/go\n").ended_with(0);
    assert_eq!(room.read("log"), "[true,true,true,true]true\n");
}

#[test]
fn a_chat_in_lines_goes_where_its_lines_say() {
    let room = room();
    let turns = json!([
        {"text": "one"},
        {"text": "two", "expect": ["Other"]},
        {"text": "three", "expect": ["First", "Third"]},
    ]);
    let model = room.model(&turns);
    let here = room.context();
    let lines = "First\n/name the harbour\n/new\nOther\n/resume\n/resume HERE\n/name\nThird\n/clone\n";
    let lines = lines.replace("HERE", &here);
    let run = room
        .run_with_input(["--model", &model, "chat"], lines)
        .ended_with(2)
        .complained("the conversation is called the harbour")
        .complained("started the new conversation ")
        .complained("say which: /resume NAME")
        .complained(&format!("now in the conversation {here}, with 2 messages"))
        .complained(&format!("now in the conversation {here}_"));
    assert!(
        run.stdout.contains(&format!("{here}  the harbour, 2 messages")),
        "{run:#?}"
    );
    // The last place is the one that the next run goes on in.
    let contexts = room.run(["--json", "contexts"]).ended_with(0).events();
    assert_eq!(contexts.len(), 3, "{contexts:#?}");
    let tree = room.run(["--json", "sessions", "tree"]).ended_with(0).events();
    let entry = tree
        .iter()
        .find(|entry| entry["content"]["message"]["role"] == "assistant");
    let entry = entry.expect("an answer")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let lines = format!("/tree nowhere\n/tree {entry} and\n/tree {entry}\n/fork {entry}\n/tree\n");
    let run = room
        .run_with_input(["--model", &model, "chat"], lines)
        .ended_with(2)
        .complained("has no entry \"nowhere\"")
        .complained("/tree does not know \"and\"")
        .complained("the conversation continues from there")
        .complained("say which: /tree ENTRY");
    assert!(run.stdout.contains("assistant: one  <- here"), "{run:#?}");
}

#[test]
fn a_chat_on_a_screen_goes_where_the_person_chooses() {
    let room = room();
    let turns = json!([
        {"text": "one"},
        {"text": "two"},
        {"text": "the answer to other words", "expect": ["Other words"]},
    ]);
    let model = room.model(&turns);
    let here = room.context();
    let Some(terminal) = Terminal::start(room, &["--model", &model, "chat"]) else {
        return;
    };
    terminal.wait_for("becket>");
    terminal.enter("First");
    terminal.wait_for("one");
    terminal.enter("!!echo hidden-words");
    terminal.wait_for("  hidden-words");
    terminal.enter("!echo shown-words");
    terminal.wait_for("  shown-words");
    terminal.enter("/new");
    terminal.wait_for("started the new conversation");
    terminal.enter("Second");
    terminal.wait_for("two");
    terminal.enter("/resume");
    terminal.wait_for("Which conversation?");
    terminal.press("Enter");
    terminal.wait_for(&format!("now in the conversation {here}, with 3 messages"));
    terminal.enter("/fork");
    terminal.wait_for("Which message do you want to rephrase?");
    terminal.press("Enter");
    terminal.wait_for_written("First");
    terminal.press("C-c");
    terminal.enter("Other words");
    terminal.wait_for("the answer to other words");
    terminal.enter("/tree");
    terminal.wait_for("Continue from where?");
    terminal.press("Enter");
    terminal.wait_for("Summarize the branch that you leave?");
    terminal.press("Enter");
    terminal.wait_for("the conversation continues from there");
    terminal.press("C-c");
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0, "{}", terminal.text());
    // What the user ran is an entry, and the model sees what it may.
    let tree = terminal
        .room
        .run(["--json", "sessions", "tree", &here])
        .ended_with(0)
        .events();
    let ran: Vec<(&Value, &Value)> = tree
        .iter()
        .filter(|entry| entry["content"]["type"] == "shell")
        .map(|entry| (&entry["content"]["command"], &entry["content"]["hidden"]))
        .collect();
    assert_eq!(
        ran,
        [
            (&json!("echo hidden-words"), &json!(true)),
            (&json!("echo shown-words"), &json!(false)),
        ]
    );
}

#[test]
fn files_that_came_and_went_count_after_a_reload() {
    let room = room();
    let notifying = |name: &str| {
        format!(
            "export default (pi: any) => {{ pi.on(\"session_start\", (event: any, ctx: any) => \
             ctx.ui.notify(\"{name} \" + event.reason)); }};"
        )
    };
    let folder = room.home().join("agent/extensions");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("old.ts"), notifying("old")).expect("a file");
    let model = room.model(&saying(&["one"]));
    let Some(terminal) = Terminal::start(
        room.with(
            "PI_CODING_AGENT_DIR",
            &folder.parent().expect("a folder").display().to_string(),
        ),
        &["--model", &model, "chat"],
    ) else {
        return;
    };
    terminal.wait_for("old startup");
    std::fs::remove_file(folder.join("old.ts")).expect("it was there");
    std::fs::write(folder.join("young.ts"), notifying("young")).expect("a file");
    let prompts = folder.parent().expect("a folder").join("prompts");
    std::fs::create_dir_all(&prompts).expect("a folder");
    std::fs::write(prompts.join("greet.md"), "Say hello").expect("a file");
    terminal.enter("/reload");
    terminal.wait_for("young reload");
    terminal.wait_for("reloaded extensions");
    assert!(!terminal.text().contains("old reload"), "{}", terminal.text());
    terminal.enter("/greet");
    terminal.wait_for("one");
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0, "{}", terminal.text());
}

// ---------------------------------------------------------------- pi's examples

/// A session of a program with an example, in a room with a repository that has a change in it.
fn with_example(name: &str, turns: &Value) -> Option<(Room, Client)> {
    let file = example(name)?;
    let room = room();
    crate::pi_examples::dirty_repository(&room);
    let model = room.model(turns);
    let client = Client::start(&room, &["--yes", "--model", &model, "-e", &file]);
    Some((room, client))
}

#[test]
pub(crate) fn pi_s_confirm_destructive_asks_before_a_conversation_is_left() {
    let Some((_room, mut client)) = with_example("confirm-destructive", &saying(&["one"])) else {
        return;
    };
    client.prompt_and_wait("Hello");
    let first = session_file(&mut client);
    for (confirmed, cancelled) in [(false, true), (true, false)] {
        client.send(&json!({"id": "new", "type": "new_session"}));
        let dialog = client.dialog("confirm");
        assert_eq!(dialog["title"], "Clear session?", "{dialog}");
        client.answer(&dialog, json!({"confirmed": confirmed}));
        let response = client.next("the response", |line| {
            line["id"] == "new" && line["type"] == "response"
        });
        assert_eq!(response["data"]["cancelled"], cancelled, "{response}");
    }
    // The new one is empty, so nothing is asked.
    client.data(json!({"type": "switch_session", "sessionPath": first}));
    client.send(&json!({"id": "back", "type": "switch_session", "sessionPath": first}));
    let dialog = client.dialog("confirm");
    assert_eq!(dialog["title"], "Switch session?", "{dialog}");
    client.answer(&dialog, json!({"confirmed": false}));
    let response = client.next("the response", |line| {
        line["id"] == "back" && line["type"] == "response"
    });
    assert_eq!(response["data"]["cancelled"], true, "{response}");
    let forks = client.data(json!({"type": "get_fork_messages"}));
    let entry = forks["messages"][0]["entryId"].clone();
    for (choice, cancelled) in [("No, stay in current session", true), ("Yes, create fork", false)] {
        client.send(&json!({"id": "fork", "type": "fork", "entryId": entry}));
        let dialog = client.dialog("select");
        client.answer(&dialog, json!({"value": choice}));
        let response = client.next("the response", |line| {
            line["id"] == "fork" && line["type"] == "response"
        });
        assert_eq!(response["data"]["cancelled"], cancelled, "{response}");
    }
    assert_eq!(client.leave().0, 0);
}

#[test]
pub(crate) fn pi_s_dirty_repo_guard_asks_while_something_is_not_committed() {
    let Some((room, mut client)) = with_example("dirty-repo-guard", &saying(&["one"])) else {
        return;
    };
    for (choice, cancelled) in [("No, let me commit first", true), ("Yes, proceed anyway", false)] {
        client.send(&json!({"id": "new", "type": "new_session"}));
        let dialog = client.dialog("select");
        let title = dialog["title"].as_str().expect("a title");
        assert!(
            title.contains("1 uncommitted file(s). new session anyway?"),
            "{title}"
        );
        client.answer(&dialog, json!({"value": choice}));
        let response = client.next("the response", |line| {
            line["id"] == "new" && line["type"] == "response"
        });
        assert_eq!(response["data"]["cancelled"], cancelled, "{response}");
    }
    git(&room, &["add", "--all"]);
    git(&room, &["commit", "-qm", "done"]);
    assert_eq!(
        client.data(json!({"type": "new_session"})),
        json!({"cancelled": false})
    );
    assert_eq!(client.leave().0, 0);
}

#[test]
pub(crate) fn pi_s_reload_runtime_begins_anew() {
    let Some(file) = example("reload-runtime") else {
        return;
    };
    let room = room();
    room.write("tracer.ts", TRACER);
    room.write("log", "");
    let turns = json!([
        {"tool_calls": [{"name": "reload_runtime", "arguments": {}}]},
        {"text": "queued", "expect": ["Queued /reload-runtime as a follow-up command."]},
        {"text": "heard", "expect": ["/reload-runtime"]},
    ]);
    let model = room.model(&turns);
    let options = ["--yes", "--model", &model, "-e", &file, "-e", "tracer.ts"];
    let mut client = Client::start(&room, &options);
    session_file(&mut client);
    noted(&room);
    client.prompt("/reload-runtime");
    assert_eq!(
        noted(&room),
        [
            "session_shutdown reload",
            "session_start reload (fresh)",
            "resources_discover reload"
        ]
    );
    // What the tool of the new one says is heard.
    client.prompt("Reload");
    client.next("the last words", |line| {
        line["message"]["content"][0]["text"] == "heard"
    });
    assert_eq!(client.leave().0, 0);
}

#[test]
pub(crate) fn pi_s_handoff_begins_a_conversation_with_what_matters() {
    let Some(file) = example("handoff") else { return };
    let room = room();
    let turns = json!([
        {"text": "We build a harbour."},
        {"text": "Paint the boats.", "expect": ["We build a harbour.", "now the boats"]},
        {"text": "painted", "expect": ["Paint the boats."]},
    ]);
    let model = room.model(&turns);
    let Some(terminal) = Terminal::start(room, &["--model", &model, "-e", &file, "chat"]) else {
        return;
    };
    terminal.wait_for("becket>");
    terminal.enter("plan it");
    terminal.wait_for("We build a harbour.");
    terminal.enter("/handoff now the boats");
    terminal.wait_for("Edit handoff prompt");
    terminal.wait_for("Paint the boats.");
    terminal.press("Enter");
    terminal.wait_for("Handoff ready. Submit when ready.");
    terminal.wait_for_written("Paint the boats.");
    terminal.press("Enter");
    terminal.wait_for("painted");
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0, "{}", terminal.text());
    // The chat goes on in the new conversation, which says where it comes from.
    let run = terminal.room.run(["sessions", "export"]).ended_with(0);
    assert!(
        run.stdout.contains("painted") && !run.stdout.contains("We build"),
        "{run:#?}"
    );
    assert!(run.stdout.contains("\"parentSession\":"), "{run:#?}");
}

#[test]
pub(crate) fn pi_s_interactive_shell_gives_a_command_the_terminal() {
    let Some(file) = example("interactive-shell") else {
        return;
    };
    let room = room();
    let turns = json!([{"text": "seen", "expect": ["(interactive command completed successfully)"]}]);
    let model = room.model(&turns);
    let Some(terminal) = Terminal::start(room, &["--model", &model, "-e", &file, "chat"]) else {
        return;
    };
    terminal.wait_for("becket>");
    terminal.enter("!i touch made");
    terminal.wait_for("(interactive command completed successfully)");
    assert!(terminal.room.has("made"), "{}", terminal.text());
    terminal.enter("look");
    terminal.wait_for("seen");
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0, "{}", terminal.text());
}
