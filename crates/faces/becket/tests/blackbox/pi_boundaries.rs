//! What extensions of pi's see and change where a run begins, where a turn ends, and before everything is at rest.

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::pi_extensions::{one_call, run_with};
use crate::room;

/// What an extension has said behind a word, as JSON; each time.
fn said(run: &Finished, word: &str) -> Vec<Value> {
    let mark = format!("{word}: ");
    let lines = run.stderr.lines().filter_map(|line| line.split_once(&mark));
    lines
        .map(|(_, text)| serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}")))
        .collect()
}

fn bodies(run: &Finished) -> Vec<Value> {
    run.events_named("pre_request")
        .iter()
        .map(|request| request["body"].clone())
        .collect()
}

fn system_prompt(run: &Finished, request: usize) -> String {
    bodies(run)[request]["messages"][0]["content"].to_string()
}

fn with_a_skill(room: &Room) {
    let skill = "---\nname: bake\ndescription: Bake.\n---\nx";
    room.write("../home/.pi/agent/skills/bake/SKILL.md", skill);
    room.write("AGENTS.md", "Be kind.");
}

#[test]
fn a_handler_sees_what_the_system_prompt_is_made_of() {
    let room = room();
    with_a_skill(&room);
    let looks = r#"
        export default (pi: any) => {
            pi.registerTool({
                name: "greet", label: "g", description: "d", parameters: { type: "object", properties: {} },
                promptSnippet: "Greets.", promptGuidelines: ["Greet once."],
                execute: async () => ({ content: [] }),
            });
            pi.on("before_agent_start", (event: any) => {
                console.error("options: " + JSON.stringify(event.systemPromptOptions));
            });
        };
    "#;
    let run = run_with(&room, looks, &json!([{"text": "fine"}]), &[]).ended_with(0);
    let options = &said(&run, "options")[0];
    let selected: Vec<&str> = options["selectedTools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    for tool in ["read", "bash", "edit", "write", "greet"] {
        assert!(selected.contains(&tool), "{tool}: {options}");
    }
    let snippets = &options["toolSnippets"];
    assert_eq!(
        (&snippets["greet"], &snippets["read"]),
        (&json!("Greets."), &json!("Read file contents"))
    );
    assert_eq!(options["toolGuidelines"], json!({"greet": ["Greet once."]}));
    assert_eq!(options["contextFiles"][0]["content"], "Be kind.");
    let skill = &options["skills"][0];
    assert_eq!(
        (&skill["name"], &skill["disableModelInvocation"]),
        (&json!("bake"), &json!(false))
    );
    assert!(
        skill["filePath"].as_str().unwrap().ends_with("bake/SKILL.md"),
        "{skill}"
    );
    assert_eq!(options["cwd"], json!(room.work().canonicalize().unwrap()));
    let others = [
        ("sections", json!({})),
        ("hiddenTools", json!([])),
        ("promptGuidelines", json!(["Greet once."])),
        ("appendSystemPrompt", json!("")),
    ];
    for (name, value) in others {
        assert_eq!(options[name], value, "{name}");
    }
}

#[test]
fn what_a_handler_changes_in_it_counts() {
    let room = room();
    let changes = r#"
        export default (pi: any) => {
            pi.on("before_agent_start", async (event: any) => {
                const options = event.systemPromptOptions;
                options.sections.house_rules = "Shoes off.";
                options.appendSystemPrompt = "And smile.";
                options.selectedTools = options.selectedTools.filter((name: string) => name !== "bash");
                return { systemPrompt: event.systemPrompt + "\nSaid by one." };
            });
            pi.on("before_agent_start", (event: any) => {
                console.error("second: " + JSON.stringify(event.systemPrompt.includes("Shoes off.")));
            });
        };
    "#;
    let run = run_with(&room, changes, &json!([{"text": "fine"}]), &[]).ended_with(0);
    let prompt = system_prompt(&run, 0);
    for words in [
        "Said by one.",
        "And smile.",
        "<house_rules>\\nShoes off.\\n</house_rules>",
    ] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    assert_eq!(said(&run, "second"), [json!(true)]);
    let tools = run.events_named("tools_offered")[0]["tools"].to_string();
    assert!(tools.contains("read") && !tools.contains("shell"), "{tools}");
    let forces = "export default (pi: any) => pi.on('before_agent_start', (event: any) => {
        event.systemPromptOptions.forceSystemPrompt = 'Only this.';
    });";
    let run = run_with(&room, forces, &json!([{"text": "fine"}]), &[]).ended_with(0);
    assert_eq!(system_prompt(&run, 0), "\"Only this.\"");
}

#[test]
fn the_end_of_a_turn_shows_the_conversation() {
    let room = room();
    let looks = r#"
        export default (pi: any) => {
            pi.on("tool_execution_end", () => {
                pi.sendUserMessage("and then this", { deliverAs: "followUp" });
            });
            pi.on("turn_end", (event: any) => {
                const { contextMessages, llmMessages, contextEntries, pendingMessages, canContinue } = event.context;
                const roles = (all: any[]) => all.map((message) => message.role);
                console.error("turn: " + JSON.stringify({
                    context: roles(contextMessages), llm: roles(llmMessages), entries: contextEntries.length,
                    pending: pendingMessages.map((message: any) => message.content), canContinue,
                }));
            });
            pi.on("agent_before_settle", (event: any) => {
                console.error("settle: " + JSON.stringify([event.context.canContinue, event.entries, event.continue]));
            });
        };
    "#;
    let turns = json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "true"}}]}, {"text": "done"}, {"text": "that too"}
    ]);
    let run = run_with(&room, looks, &turns, &["--yes"]).ended_with(0);
    let told = said(&run, "turn");
    assert_eq!(
        told[0]["context"],
        json!(["user", "assistant", "toolResult"]),
        "{told:#?}"
    );
    assert_eq!(told[0]["llm"], told[0]["context"]);
    assert_eq!(told[0]["entries"], 3);
    assert!(
        told[0]["pending"].to_string().contains("and then this"),
        "{told:#?}"
    );
    assert_eq!(told[0]["canContinue"], true);
    let last = told.last().unwrap();
    assert_eq!(last["pending"], json!([]));
    assert_eq!(said(&run, "settle")[0], json!([true, [], false]));
}

#[test]
fn a_note_that_triggers_no_turn_stands_behind_the_turn_and_causes_nothing() {
    let room = room();
    for (options, wanted) in [
        (
            "{ triggerTurn: false }",
            vec!["user", "assistant", "toolResult", "custom", "assistant"],
        ),
        (
            "{ triggerTurn: false, deliverAs: 'followUp' }",
            vec!["user", "assistant", "toolResult", "custom", "assistant"],
        ),
    ] {
        let notes = format!(
            "export default (pi: any) => {{
                pi.on('tool_call', () => {{
                    pi.sendMessage({{ customType: 'aside', content: 'by the way', display: true }}, {options});
                }});
                pi.on('agent_end', (event: any) =>
                    console.error('roles: ' + JSON.stringify(event.messages.map((message: any) => message.role))));
            }};"
        );
        let turns = one_call("shell", json!({"command": "true"}));
        let run = run_with(&room, &notes, &turns, &["--yes"]).ended_with(0);
        assert_eq!(bodies(&run).len(), 2, "{run:#?}");
        assert_eq!(said(&run, "roles"), [json!(wanted)], "{options}");
        assert!(bodies(&run)[1].to_string().contains("by the way"), "{run:#?}");
    }
    // In the last turn it is kept, and nothing runs because of it.
    let last = "export default (pi: any) => pi.on('message_end', (event: any) => {
        if (event.message.role !== 'assistant') return;
        pi.sendMessage({ customType: 'aside', content: 'by the way', display: true }, { triggerTurn: false });
    });";
    let run = run_with(&room, last, &json!([{"text": "fine"}]), &[]).ended_with(0);
    assert_eq!(bodies(&run).len(), 1, "{run:#?}");
    assert!(!run.stderr.contains("was lost"), "{run:#?}");
}

#[test]
fn who_is_asked_before_everything_is_at_rest_sees_what_others_want() {
    let room = room();
    let settles = r#"
        export default (pi: any) => {
            let asked = 0;
            pi.on("agent_before_settle", () => {
                if (asked++ > 0) return;
                const content = "Have you tested it?";
                return { continue: true, entries: [{ type: "custom_message", customType: "check", content, display: true }] };
            });
            pi.on("agent_before_settle", (event: any) => {
                console.error("seen: " + JSON.stringify([event.continue, event.entries.map((entry: any) => entry.content)]));
                const more = { type: "custom", customType: "count", data: { asked } };
                return event.continue ? { entries: [...event.entries, more] } : undefined;
            });
            pi.on("session_shutdown", (_event: any, ctx: any) => {
                const kept = ctx.sessionManager.getEntries().filter((entry: any) => entry.customType === "count");
                console.error("kept: " + JSON.stringify(kept.map((entry: any) => entry.data)));
            });
        };
    "#;
    let run = run_with(
        &room,
        settles,
        &json!([{"text": "done"}, {"text": "tested"}]),
        &[],
    )
    .ended_with(0);
    assert_eq!(
        said(&run, "seen"),
        [json!([true, ["Have you tested it?"]]), json!([false, []])]
    );
    assert_eq!(said(&run, "kept"), [json!([{"asked": 1}])]);
    let last = bodies(&run);
    assert_eq!(last.len(), 2, "{run:#?}");
    assert!(last[1].to_string().contains("Have you tested it?"), "{run:#?}");
    // It may also take back what another one wants.
    let vetoes = settles.replace(
        "return event.continue ? { entries: [...event.entries, more] } : undefined;",
        "return { continue: false, entries: [] };",
    );
    let run = run_with(
        &room,
        &vetoes,
        &json!([{"text": "done"}, {"text": "never said"}]),
        &[],
    )
    .ended_with(0);
    assert_eq!(bodies(&run).len(), 1, "{run:#?}");
}
