//! Hooks of sub-agents, and which of the others hear of them.

use serde_json::{Value, json};

use super::{Chibi, Newer, Older, calls, says};

const HOOKS: [&str; 2] = ["pre_spawn_agent", "post_spawn_agent"];

fn spawns(input: &str) -> Value {
    let arguments = json!({
        "system_prompt": "You translate.", "input": input, "temperature": 0.5, "max_tokens": 70,
    });
    calls("spawn_agent", arguments)
}

/// A plugin's answer to `pre_spawn_agent`, for inputs with a word in them.
fn answers(word: &str, answer: &str) -> String {
    format!("if [[ $CHIBI_HOOK == pre_spawn_agent && $data == *{word}* ]]; then echo '{answer}'; fi")
}

#[test]
fn both_generations_are_told_of_a_sub_agent_and_of_its_answer() {
    let chibi = Chibi::new();
    chibi.plugin(Newer, "newer", &HOOKS, "");
    chibi.plugin(Older, "older", &HOOKS, "");
    let turns = [spawns("the word"), says("das Wort"), says("done")];
    let told = chibi.ask(&["go"], &turns).went_well().asked(3);
    assert_eq!(told.results(), ["das Wort"]);
    assert_eq!(
        (told.system(1), told.prompt(1)),
        ("You translate.".into(), "the word".into())
    );
    assert_eq!(
        (&told.requests[1]["temperature"], told.tools(1)),
        (&json!(0.5), Vec::<String>::new())
    );
    let model = told.requests[0]["model"].as_str().expect("a model is named");
    let model = format!("openai/{model}");
    for plugin in ["newer", "older"] {
        let before = json!({
            "system_prompt": "You translate.", "input": "the word", "model": model,
            "temperature": 0.5, "max_tokens": 70,
        });
        assert_eq!(chibi.told(plugin, HOOKS[0]), [before]);
        let after = json!({
            "system_prompt": "You translate.", "input": "the word", "model": model, "response": "das Wort",
        });
        assert_eq!(chibi.told(plugin, HOOKS[1]), [after]);
    }
}

#[test]
fn a_plugin_of_either_generation_answers_in_its_place_or_blocks_it() {
    let chibi = Chibi::new();
    chibi.plugin(
        Newer,
        "a-newer",
        &HOOKS,
        &answers("first", r#"{"response":"from the newer"}"#),
    );
    chibi.plugin(
        Older,
        "b-older",
        &HOOKS,
        &answers("second", r#"{"response":"from the older","block":true}"#),
    );
    chibi.plugin(Newer, "c-newer", &HOOKS, &answers("third", r#"{"block":true}"#));
    chibi.plugin(
        Older,
        "d-older",
        &HOOKS,
        &answers("fourth", r#"{"block":true,"message":"not today"}"#),
    );
    for (input, result) in [
        ("first", "from the newer"),
        ("second", "from the older"),
        ("third", "refused: Sub-agent call blocked by hook"),
        ("fourth", "refused: not today"),
    ] {
        chibi.forget();
        let told = chibi
            .ask(&["go"], &[spawns(input), says("done")])
            .went_well()
            .asked(2);
        assert_eq!(told.results().pop().as_deref(), Some(result));
        assert_eq!(chibi.seen_of(HOOKS[1]).len(), 0, "nobody was asked about {input}");
    }
}

#[test]
fn a_sub_agent_that_fails_is_told_to_nobody_as_an_answer() {
    let chibi = Chibi::new();
    chibi.plugin(Newer, "watcher", &HOOKS, "");
    let failing = json!({"system_prompt": "s", "input": "i", "model": "scripted/missing.toml"});
    let told = chibi
        .ask(&["go"], &[calls("spawn_agent", failing), says("done")])
        .went_well();
    assert!(told.results()[0].contains("chosen by a preset"), "{told:#?}");
    let unknown = json!({"system_prompt": "s", "input": "i", "model": "nobody/knows"});
    let told = chibi
        .ask(&["go"], &[calls("spawn_agent", unknown), says("done")])
        .went_well();
    assert!(told.results().pop().unwrap().contains("nobody"), "{told:#?}");
    assert_eq!(chibi.seen().len(), 0, "{:#?}", chibi.seen());
}

#[test]
fn hooks_of_the_conversation_hear_nothing_of_it_and_hooks_of_tools_everything() {
    let chibi = Chibi::new();
    let hooks = [
        "on_start",
        "on_end",
        "pre_message",
        "post_message",
        "pre_system_prompt",
        "post_system_prompt",
        "pre_agentic_loop",
        "post_tool_batch",
        "pre_api_tools",
        "pre_api_request",
        "pre_tool",
        "pre_shell_exec",
        "post_tool",
        "pre_spawn_agent",
        "post_spawn_agent",
    ];
    chibi.plugin(Newer, "inspector", &hooks, "");
    let spawn = json!({"system_prompt": "s", "input": "i", "tools": ["shell"]});
    let turns = [
        calls("spawn_agent", spawn),
        calls("shell", json!({"command": "touch ran"})),
        says("I did it"),
        says("done"),
    ];
    chibi.ask(&["--yes", "go"], &turns).went_well().asked(4);
    assert!(chibi.room.has("ran"));
    let count = |hook: &str| chibi.seen_of(hook).len();
    for hook in &hooks[..8] {
        assert_eq!(count(hook), 1, "{hook}");
    }
    assert_eq!(count("pre_api_tools"), 4);
    assert_eq!(count("pre_api_request"), 4);
    assert_eq!((count("pre_tool"), count("post_tool")), (2, 2));
    assert_eq!(chibi.only("pre_shell_exec")["command"], "touch ran");
    let order = chibi.order();
    let place = |hook: &str| order.iter().position(|seen| seen == hook);
    assert!(place("pre_spawn_agent") < place("pre_shell_exec"));
    assert!(place("pre_shell_exec") < place("post_spawn_agent"));
}

#[test]
fn a_summary_is_a_sub_agents_and_its_source_is_guarded() {
    let chibi = Chibi::new();
    let guards = ["pre_tool", "pre_file_read", "pre_fetch_url", "pre_spawn_agent"];
    chibi.plugin(Older, "watcher", &guards, "");
    let file = chibi.room.write("../outside/notes.md", "The cat sat.");
    let file = file.canonicalize().expect("it is there");
    let arguments = json!({"source": file, "instructions": "Who sat?"});
    let turns = [
        calls("summarize_content", arguments.clone()),
        says("The cat."),
        says("done"),
    ];
    let told = chibi
        .ask(&["--tools", "chibi", "--yes", "go"], &turns)
        .went_well();
    assert_eq!(told.results(), ["The cat."]);
    let input = chibi.only("pre_spawn_agent")["input"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        input.contains("Who sat?") && input.contains("The cat sat."),
        "{input}"
    );
    assert_eq!(chibi.only("pre_file_read")["path"], json!(file));
    assert_eq!(
        chibi.seen_of("pre_tool").len(),
        2,
        "the call, and the reading within it"
    );

    chibi.plugin(
        Newer,
        "a-guard",
        &["pre_file_read"],
        r#"echo '{"denied":true,"reason":"private"}'"#,
    );
    chibi.forget();
    let turns = [calls("summarize_content", arguments), says("done")];
    let told = chibi
        .ask(&["--tools", "chibi", "--yes", "go"], &turns)
        .went_well()
        .asked(2);
    assert_eq!(told.results().pop().as_deref(), Some("refused: private"));
    assert_eq!(chibi.seen_of("pre_spawn_agent").len(), 0);
}
