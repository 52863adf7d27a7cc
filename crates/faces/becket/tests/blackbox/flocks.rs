//! Flocks: who belongs to which, what members may write and are told, tasks, and a small world of three contexts.

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::room;

/// Calls a tool in a context, by the user's hand, through the gate.
fn call(room: &Room, context: &str, tool: &str, arguments: Value) -> Finished {
    room.run(["-C", context, "tool", tool, &arguments.to_string()])
}

/// The system prompt of a prompt in a context.
fn system_prompt(room: &Room, context: &str) -> String {
    let run = room.run(["--json", "-C", context, "hello"]).ended_with(0);
    let event = run.events_named("agent_start").remove(0);
    event["system_prompt"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_person_makes_flocks_and_looks_after_their_members() {
    let room = room();
    room.run(["context", "create", "ann"]).ended_with(0);
    room.run(["flock", "list"])
        .ended_with(0)
        .said("site: all contexts\n");
    room.run(["flock", "create", "crew"])
        .ended_with(0)
        .complained("created the flock crew");
    room.run(["flock", "create", "crew"])
        .ended_with(2)
        .complained("already a flock crew");
    room.run(["flock", "join", "crew", "ann"])
        .ended_with(0)
        .complained("ann has joined the flock crew");
    room.run(["flock", "join", "crew"])
        .ended_with(0)
        .complained(&format!("{} has joined the flock crew", room.context()));
    room.run(["flock", "join", "crew", "ann"])
        .ended_with(0)
        .complained("already");
    room.run(["flock", "join", "crew", "anm"])
        .ended_with(2)
        .complained("did you mean `ann`?");
    room.run(["flock", "join", "Crew!", "ann"])
        .ended_with(1)
        .complained("lowercase letters");
    room.run(["flock", "leave", "crw", "ann"])
        .ended_with(1)
        .complained("did you mean `crew`?");
    room.run(["flock", "join", "site", "ann"])
        .ended_with(1)
        .complained("every context belongs to it");
    room.run(["flock", "list"])
        .ended_with(0)
        .said(&format!("crew: ann, {}\n", room.context()));
    room.run(["context", "rename", "ann", "anna"]).ended_with(0);
    let listed = room.run(["--json", "flock", "list"]).ended_with(0).events();
    assert_eq!(
        listed,
        [json!({"name": "crew", "members": ["anna", room.context()]})]
    );
    room.run(["--yes", "context", "destroy", "anna"]).ended_with(0);
    room.run(["flock", "leave", "crew"])
        .ended_with(0)
        .complained(&format!("{} has left", room.context()));
    room.run(["flock", "list"])
        .ended_with(0)
        .said("crew: no members\n");
    room.run(["flock", "delete", "crew"]).ended_with(0);
    room.run(["flock", "delete", "crew"])
        .ended_with(1)
        .complained("no flock `crew`");
}

#[test]
fn the_model_joins_leaves_and_lists() {
    let room = room();
    call(&room, "ann", "flock_join", json!({"flock": "crew"}))
        .ended_with(0)
        .said("ann has joined the flock crew");
    call(&room, "ben", "flock_join", json!({"flock": "aft"})).ended_with(0);
    call(&room, "ann", "flock_list", json!({}))
        .ended_with(0)
        .said("site: all contexts\ncrew (yours): ann\naft: ben");
    call(&room, "ann", "flock_join", json!({"flock": "registry.json"}))
        .ended_with(1)
        .said("lowercase letters");
    call(&room, "ann", "flock_join", json!({}))
        .ended_with(1)
        .complained("flock_join needs `flock`");
    call(&room, "ann", "flock_list", json!({"all": true}))
        .ended_with(1)
        .complained("it takes nothing");
    call(&room, "ann", "flock_leave", json!({"flock": "aft"}))
        .ended_with(1)
        .said("does not belong");
    call(&room, "ann", "flock_leave", json!({"flock": "crew"})).ended_with(0);
    room.run(["flock", "list"]).said("crew: no members");
}

#[test]
fn only_members_write_in_the_zone_of_a_flock_and_nobody_writes_the_list() {
    let room = room();
    call(&room, "ann", "flock_join", json!({"flock": "crew"})).ended_with(0);
    let write =
        |context: &str, path: &str| call(&room, context, "write", json!({"path": path, "content": "x"}));
    write("ann", "vfs:///flocks/crew/plan.md").ended_with(0);
    write("ann", "vfs:///tools/flocks/crew/a.scm").ended_with(0);
    write("ben", "vfs:///flocks/crew/plan.md")
        .ended_with(1)
        .complained("ben may not write");
    for path in [
        "vfs:///flocks/registry.json",
        "vfs:///flocks/aft/x",
        "vfs:///flocks/.registry.lock",
    ] {
        write("ann", path).ended_with(1).complained("may not write");
    }
    call(&room, "ann", "flock_leave", json!({"flock": "crew"})).ended_with(0);
    write("ann", "vfs:///flocks/crew/plan.md")
        .ended_with(1)
        .complained("ann may not write");
}

/// Writes down what it is told of the system prompt.
const INSPECTOR: &str = "#!/bin/bash\nif [[ \"$1\" == --schema ]]; then echo '{\"name\":\"look\",\"description\":\"x\",\
                     \"hooks\":[\"pre_system_prompt\",\"post_system_prompt\"]}'; exit; fi\n\
                     cat > \"$HOME/$CHIBI_HOOK\"\n";

#[test]
fn goals_and_instructions_of_all_flocks_are_in_the_system_prompt_and_in_the_hooks() {
    let room = room();
    room.script("../home/.chibi/plugins/look", INSPECTOR);
    for flock in ["crew", "aft"] {
        call(&room, "ann", "flock_join", json!({"flock": flock})).ended_with(0);
    }
    call(&room, "ann", "update_goals", json!({"content": "My own."}))
        .ended_with(0)
        .said("Noted.");
    for (flock, goals) in [("site", "Be kind."), ("crew", "Sail on."), ("aft", "Steer.")] {
        call(
            &room,
            "ann",
            "update_goals",
            json!({"flock": flock, "content": goals}),
        )
        .ended_with(0)
        .said("all of the flock");
    }
    room.run_with_input(["vfs", "put", "/flocks/crew/prompt.md"], "Speak as sailors do.\n")
        .ended_with(0);
    let text = system_prompt(&room, "ann");
    let order = [
        "Instructions of the flock crew:\n\nSpeak as sailors do.",
        "The goals of the flock site:\n\nBe kind.",
        "The goals of the flock aft:\n\nSteer.",
        "The goals of the flock crew:\n\nSail on.",
        "The goals of this context:\n\nMy own.",
    ];
    let places: Vec<usize> = order
        .iter()
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")))
        .collect();
    assert!(places.is_sorted(), "{text}");
    for hook in ["pre_system_prompt", "post_system_prompt"] {
        let told: Value = serde_json::from_str(&room.read(&format!("../home/{hook}"))).expect("JSON");
        let expected = json!([
            {"flock": "site", "goals": "Be kind."},
            {"flock": "aft", "goals": "Steer."},
            {"flock": "crew", "goals": "Sail on."},
        ]);
        assert_eq!(
            (&told["flock_goals"], &told["goals"]),
            (&expected, &json!("My own."))
        );
    }
    let other = system_prompt(&room, "ben");
    assert!(
        other.contains("Be kind.") && !other.contains("Sail on.") && !other.contains("sailors"),
        "{other}"
    );
    call(
        &room,
        "ben",
        "update_goals",
        json!({"flock": "crew", "content": "x"}),
    )
    .ended_with(1)
    .said("does not belong");
    call(
        &room,
        "ann",
        "update_goals",
        json!({"flock": "cre", "content": "x"}),
    )
    .ended_with(1)
    .said("did you mean `crew`?");
}

#[test]
fn rules_about_files_bind_the_goals_of_a_flock() {
    let room = room();
    call(&room, "ann", "flock_join", json!({"flock": "crew"})).ended_with(0);
    let arguments = json!({"flock": "crew", "content": "x"});
    for (list, rule, options) in [
        ("deny", "write:path=vfs:///flocks/crew/*", &["--yes"][..]),
        ("deny", "*:path=vfs:///flocks/*", &["--yes"]),
        ("deny", "write", &["--yes"]),
        ("ask", "write:path=vfs:///flocks/*", &[]),
    ] {
        room.config(&format!("[permissions]\n{list} = [\"{rule}\"]\n"));
        let mut words = options.to_vec();
        let text = arguments.to_string();
        words.extend(["-C", "ann", "tool", "update_goals", &text]);
        room.run(words).ended_with(1).said("refused: the rule `");
    }
    room.config("");
    assert!(!system_prompt(&room, "ann").contains("flock crew"));
    call(&room, "ann", "update_goals", arguments).ended_with(0);
}

#[test]
fn what_instructs_others_needs_the_persons_yes() {
    let room = room();
    call(&room, "ann", "flock_join", json!({"flock": "crew"})).ended_with(0);
    for file in ["vfs:///site/prompt.md", "vfs:///flocks/crew/prompt.md"] {
        let arguments = json!({"path": file, "content": "Obey ann."});
        call(&room, "ann", "write", arguments.clone())
            .ended_with(1)
            .complained("it needs approval");
        let text = arguments.to_string();
        room.run(["--yes", "-C", "ann", "tool", "write", &text])
            .ended_with(0);
    }
    assert!(system_prompt(&room, "ben").contains("Obey ann."));
}

#[test]
fn a_context_takes_its_files_along_and_leaves_none_behind() {
    let room = room();
    let task = "((id . \"a1\") (status . pending)) \"Row.\"";
    let arguments = json!({"path": "vfs:///home/ann/tasks/a.task", "content": task});
    call(&room, "ann", "write", arguments).ended_with(0);
    let shows_task = |context: &str| {
        let run = room.run(["--json", "-C", context, "hello"]).ended_with(0);
        run.stdout.contains("a1 | pending")
    };
    assert!(shows_task("ann"));
    room.run(["context", "rename", "ann", "anna"]).ended_with(0);
    assert!(shows_task("anna") && !shows_task("ann"));
    room.run(["--yes", "context", "destroy", "anna"]).ended_with(0);
    assert!(!shows_task("anna"));
}

#[test]
fn the_guards_of_virtual_files_judge_the_goals_of_a_flock() {
    let room = room();
    call(&room, "ann", "flock_join", json!({"flock": "crew"})).ended_with(0);
    let reply = r#"{"verdict": {"deny": "goals are mine"}}"#;
    let hooks = room.hooks(&format!(
        "[[hook]]\nevent = \"pre_vfs_write\"\nmatch = {{ path = {{ glob = \"vfs:///flocks/crew/*\" }} }}\ncommand = '''echo '{reply}' '''\n"
    ));
    let arguments = json!({"flock": "crew", "content": "x"}).to_string();
    room.run(["--hooks", &hooks, "-C", "ann", "tool", "update_goals", &arguments])
        .ended_with(1)
        .said("goals are mine");
    assert!(!system_prompt(&room, "ann").contains("flock crew"));
    let run = room
        .run(["--json", "-C", "ann", "tool", "update_goals", &arguments])
        .ended_with(0);
    assert_eq!(
        run.events_named("post_vfs_write")[0]["path"],
        "vfs:///flocks/crew/goals.md"
    );
}

#[test]
fn a_broken_list_of_flocks_is_said_and_grants_nothing() {
    let room = room();
    call(&room, "ann", "flock_join", json!({"flock": "crew"})).ended_with(0);
    room.run_with_input(["vfs", "put", "/flocks/registry.json"], "{")
        .ended_with(0);
    room.run(["-C", "ann", "hello"])
        .ended_with(0)
        .complained("the list of flocks, vfs:///flocks/registry.json, is broken");
    call(
        &room,
        "ann",
        "write",
        json!({"path": "vfs:///flocks/crew/x", "content": "x"}),
    )
    .ended_with(1)
    .complained("is broken");
    call(&room, "ann", "flock_join", json!({"flock": "crew"}))
        .ended_with(1)
        .said("is broken");
    room.run(["flock", "list"]).ended_with(1).complained("is broken");
}

#[test]
fn open_tasks_are_shown_before_the_last_words_and_are_not_stored() {
    let room = room();
    call(&room, "ann", "flock_join", json!({"flock": "crew"})).ended_with(0);
    let put = |path: &str, text: &str| drop(room.run_with_input(["vfs", "put", path], text).ended_with(0));
    put(
        "/home/ann/tasks/epic/one.task",
        "((id . \"a1\") (status . in-progress) (priority . high) (depends-on \"b2\" \"c3\"))\n\"hoist the flag\nslowly\"",
    );
    put(
        "/home/ann/tasks/old.task",
        "((id . \"b2\") (status . done)) \"over\"",
    );
    put("/home/ann/tasks/broken.task", "((id . \"x\"");
    put("/home/ann/tasks/notes.md", "no task");
    put(
        "/flocks/crew/tasks/two.task",
        "((id . \"c3\") (status . pending)) \"find the flag\"",
    );
    put(
        "/home/ben/tasks/b.task",
        "((id . \"z9\") (status . pending)) \"not ann's\"",
    );
    room.run(["-C", "ann", "earlier words"]).ended_with(0);
    let run = room
        .run(["--json", "-C", "ann", "the last words"])
        .ended_with(0)
        .complained("the task vfs:///home/ann/tasks/broken.task is left out: a list never ends");
    let messages = run.events_named("model_context")[0]["messages"]
        .as_array()
        .expect("a list")
        .clone();
    let (last, table) = (&messages[messages.len() - 1], &messages[messages.len() - 2]);
    assert_eq!(
        (&last["role"], &last["content"][0]["text"]),
        (&json!("user"), &json!("the last words"))
    );
    assert_eq!(
        (&table["role"], &table["kind"]),
        (&json!("note"), &json!("tasks"))
    );
    let table = table["content"][0]["text"].as_str().unwrap_or_default();
    assert_eq!(
        table,
        "Open tasks:\nid | status | priority | title | file\n\
         a1 | in-progress | high | hoist the flag (waits for c3) | vfs:///home/ann/tasks/epic/one.task\n\
         c3 | pending | medium | find the flag | vfs:///flocks/crew/tasks/two.task\n\
         2 open, 1 done"
    );
    let stored = room.run(["context", "export", "ann"]).ended_with(0).stdout;
    assert!(!stored.contains("Open tasks"), "{stored}");
    let run = room.run(["--json", "-C", "cid", "hello"]).ended_with(0);
    assert!(
        !run.events_named("model_context")[0]
            .to_string()
            .contains("Open tasks")
    );
}

/// A tool call of a scripted model.
fn tool(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

fn dinner(status: &str) -> Value {
    let content = format!("((id . \"d1\") (status . {status})) \"make dinner\"");
    tool(
        "write",
        json!({"path": "vfs:///flocks/galley/tasks/dinner.task", "content": content}),
    )
}

/// What each of the three says and does.
fn captain() -> Value {
    json!([
        {"tool_calls": [
            tool("update_goals", json!({"flock": "deck", "content": "Reach the island."})),
            tool("send_message", json!({"to": "mate", "content": "Have dinner made."})),
        ]},
        {"text": "ordered"},
    ])
}

/// The mate lets a sub-agent count the stores, with a tool, and tells the cook what came of it.
fn mate(counter: &str) -> Value {
    json!([
        {"expect": ["From captain:\\n> Have dinner made.", "The goals of the flock deck:\\n\\nReach the island."],
         "tool_calls": [
            dinner("pending"),
            tool("spawn_agent", json!({"name": "counter", "system_prompt": "You count stores.", "tools": ["read"],
                                       "input": "How much flour is there?", "model": counter})),
        ]},
        {"expect": ["two sacks of flour"], "tool_calls": [
            tool("send_message", json!({"to": "cook", "content": "See the task d1. We have two sacks of flour."})),
        ]},
        {"text": "passed on"},
    ])
}

/// The cook has a recipe summarised, and knows its place.
fn cook(reader: &str) -> Value {
    json!([
        {"expect": ["From mate:\\n> See the task d1. We have two sacks of flour.", "d1 | pending | medium | make dinner"],
         "tool_calls": [
            tool("summarize_content", json!({"source": "vfs:///flocks/galley/recipe.md", "model": reader})),
        ]},
        {"expect": ["bread, in short"], "tool_calls": [
            dinner("done"),
            tool("write", json!({"path": "vfs:///flocks/deck/x", "content": "not my place"})),
            tool("send_message", json!({"to": "captain", "content": "Dinner is served."})),
        ]},
        {"expect": ["the context cook may not write vfs:///flocks/deck/x"], "text": "served"},
    ])
}

/// A plugin that notes what it hears of messages and sub-agents.
const WATCHER: &str = "#!/bin/bash\nif [[ \"$1\" == --schema ]]; then echo '{\"name\":\"watch\",\"description\":\"x\",\
                       \"hooks\":[\"post_send_message\",\"pre_spawn_agent\",\"post_spawn_agent\"]}'; exit; fi\n\
                       cat > /dev/null; echo \"$CHIBI_HOOK\" >> \"$HOME/heard\"\n";

/// Three contexts, two flocks: the captain gives an order, the mate has the stores counted and passes it on, the cook
/// has the recipe summarised and answers, the captain hears.
#[test]
fn a_world_of_three_contexts_in_two_flocks_that_send_wake_spawn_and_summarise() {
    let room = room();
    room.script("../home/.chibi/plugins/watch", WATCHER);
    room.write("stores.txt", "flour: 2\n");
    room.run_with_input(["vfs", "put", "/flocks/galley/recipe.md"], "Much about bread.\n")
        .ended_with(0);
    let counter = json!([
        {"expect": ["You count stores.", "How much flour is there?"],
         "tool_calls": [tool("read", json!({"path": "stores.txt"}))]},
        {"expect": ["flour: 2"], "text": "two sacks of flour"},
    ]);
    let reader = json!([{"expect": ["Much about bread."], "text": "bread, in short"}]);
    for (file, turns) in [("counter.json", counter), ("reader.json", reader)] {
        room.write(file, turns.to_string());
    }
    let crew = [
        ("captain", &["deck"][..]),
        ("mate", &["deck", "galley"]),
        ("cook", &["galley"]),
    ];
    for (context, flocks) in crew {
        room.run(["context", "create", context]).ended_with(0);
        for flock in flocks {
            call(&room, context, "flock_join", json!({"flock": flock})).ended_with(0);
        }
    }
    let script = room.model(&captain());
    room.run(["-C", "captain", "--model", &script, "Begin."])
        .ended_with(0)
        .said("ordered");

    let script = room.model(&mate("scripted/counter.json"));
    let run = room.run(["--model", &script, "inbox", "--wake"]).ended_with(0);
    run.complained("waking mate").said("passed on");

    let script = room.model(&cook("scripted/reader.json"));
    let run = room
        .run(["--json", "--model", &script, "inbox", "--wake", "cook"])
        .ended_with(0);
    let prompt = run.events_named("agent_start").remove(0)["system_prompt"].to_string();
    assert!(
        !prompt.contains("Reach the island"),
        "the cook does not belong to the deck: {prompt}"
    );

    let script = room.model(&json!([{"expect": ["From cook:\\n> Dinner is served."], "text": "to dinner!"}]));
    let run = room.run(["--model", &script, "inbox", "--wake"]).ended_with(0);
    run.complained("waking captain").said("to dinner!");
    room.run(["inbox", "--show"])
        .ended_with(0)
        .complained("there are no messages");
    let (sent, spawned) = ("post_send_message\n", "pre_spawn_agent\npost_spawn_agent\n");
    let heard = [sent, spawned, sent, spawned, sent].concat();
    assert_eq!(room.read("../home/heard"), heard);
    let run = room.run(["--json", "-C", "mate", "And the tasks?"]).ended_with(0);
    assert!(
        !run.events_named("model_context")[0]
            .to_string()
            .contains("Open tasks")
    );
}
