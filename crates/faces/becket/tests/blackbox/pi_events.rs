//! The order in which one prompt fires pi's events: the strict one of its newest generation.

use serde_json::{Value, json};

use crate::room;

/// Two calls that may run beside each other, and an answer.
const TWO_CALLS: &str = r#"
[[turns]]
text = "Let me see."
tool_calls = [
    { id = "c1", name = "read", arguments = { path = "one.txt" } },
    { id = "c2", name = "read", arguments = { path = "two.txt" } },
]

[[turns]]
text = "Done."
"#;

/// An extension that hears everything, and writes down whose message or which call each event is about. The end of a
/// turn is about more than its message.
fn listener() -> String {
    let names: Vec<&str> = becket_pi::rows().iter().map(|row| row.name()).collect();
    let listener = "import fs from 'fs';
        export default (pi: any) => NAMES.forEach((name: string) => pi.on(name, (event: any) => {
            const about = name === 'turn_end' ? undefined : (event.message?.role ?? event.toolCallId);
            fs.appendFileSync('heard.log', [name, about].filter(Boolean).join(' ') + '\\n');
        }));";
    listener.replace("NAMES", &json!(names).to_string())
}

/// Takes events of a name out of a list.
fn take(told: &mut Vec<String>, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let (taken, rest) = std::mem::take(told).into_iter().partition(|event| wanted(event));
    *told = rest;
    taken
}

// tidy: a table
#[test]
fn one_prompt_with_two_calls_fires_pis_events_in_pis_order() {
    let room = room();
    room.write("talk.toml", TWO_CALLS);
    room.write("one.txt", "1");
    room.write("two.txt", "2");
    room.write("listener.ts", listener());
    let words = [
        "--json",
        "-e",
        "listener.ts",
        "--model",
        "scripted/talk.toml",
        "What is here?",
    ];
    let run = room.run(words).ended_with(0);
    let mut told: Vec<String> = room.read("heard.log").lines().map(str::to_owned).collect();
    // An answer grows between its beginning and its end, and nowhere else.
    let grows = |event: &str| event == "message_update assistant";
    let begins = |event: &str| grows(event) || event == "message_start assistant";
    let all_in_place = told.windows(2).all(|two| !grows(&two[1]) || begins(&two[0]));
    assert!(all_in_place, "{told:#?}");
    assert!(!take(&mut told, grows).is_empty(), "{}", run.stderr);
    // becket asks whether the model may stop before the turn is over, so that the turn can say how it ended.
    let before_settle = take(&mut told, |event| event == "agent_before_settle");
    assert_eq!(before_settle.len(), 1);
    // Calls that run beside each other end in any order, each with its result first.
    for call in ["c1", "c2"] {
        let ends = |event: &str| {
            event == format!("tool_result {call}") || event == format!("tool_execution_end {call}")
        };
        let place = told.iter().position(|event| ends(event)).unwrap();
        let batch_is_judged = told.iter().position(|event| event == "tool_call c2").unwrap();
        let batch_is_stored = told
            .iter()
            .position(|event| event == "message_start toolResult")
            .unwrap();
        assert!(batch_is_judged < place && place < batch_is_stored, "{told:#?}");
        let taken = take(&mut told, ends);
        assert_eq!(
            taken,
            [
                format!("tool_result {call}"),
                format!("tool_execution_end {call}")
            ]
        );
    }
    assert_eq!(
        told,
        [
            "session_start",
            "resources_discover",
            "input",
            "before_agent_start",
            "agent_start",
            "turn_start",
            "message_start user",
            "message_end user",
            "context",
            "context_with_system",
            "before_provider_request",
            "after_provider_response",
            "message_start assistant",
            "message_end assistant",
            "tool_execution_start c1",
            "tool_call c1",
            "tool_execution_start c2",
            "tool_call c2",
            "message_start toolResult",
            "message_end toolResult",
            "message_start toolResult",
            "message_end toolResult",
            "turn_end",
            "turn_start",
            "context",
            "context_with_system",
            "before_provider_request",
            "after_provider_response",
            "message_start assistant",
            "message_end assistant",
            "turn_end",
            "agent_end",
            "agent_settled",
            "session_shutdown",
        ]
    );
}

#[test]
fn listings_know_pis_names() {
    let room = room();
    let described = room.run(["hooks", "events", "pre_tool"]);
    let lines: Vec<String> = described
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert!(
        lines.contains(&"pi tool_call (guard)".to_owned()),
        "{}",
        described.stdout
    );
    let described = room.run(["--json", "hooks", "events", "user_shell"]);
    let described: Value = serde_json::from_str(&described.stdout).unwrap();
    assert_eq!(
        described["known_as"],
        json!([{"dialect": "pi", "name": "user_bash", "class": "guard"}])
    );
    let foreign = room.run(["hooks", "events", "tool_call"]);
    assert!(
        foreign.stdout.starts_with("pre_tool (guard)"),
        "{}",
        foreign.stdout
    );
}

#[test]
fn no_event_is_listed_as_one_that_nothing_causes() {
    let room = room();
    let names = [
        "session_before_tree",
        "user_bash",
        "resources_discover",
        "tool_call",
    ];
    let hears = names.map(|name| format!("pi.on('{name}', () => {{}});")).concat();
    room.write("all.ts", format!("export default (pi: any) => {{ {hears} }};"));
    let listed = room.run(["-e", "all.ts", "hooks", "list"]).ended_with(0);
    for name in names {
        let named = listed
            .stdout
            .lines()
            .find(|line| line.contains(&format!("as {name}")));
        assert!(
            named.is_some_and(|line| !line.contains("not fired")),
            "{listed:#?}"
        );
    }
}
