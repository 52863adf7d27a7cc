//! Extensions that misbehave: each is reported by name, and the agent and the other extensions go on.

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::plugins::result;
use crate::room;

/// Runs a prompt with a hostile extension and a good one, and sees that the good one was heard.
fn run_beside_a_good_one(room: &Room, hostile: &str, turns: &Value) -> Finished {
    room.config("[pi]\ntimeout = 5\nmemory_mb = 32\n");
    room.write("hostile.ts", hostile);
    room.write(
        "good.ts",
        "export default (pi: any) => { pi.on('agent_end', () => console.error('the good one is well')); };",
    );
    let model = room.model(turns);
    let run = room
        .run([
            "--json",
            "--yes",
            "--model",
            &model,
            "-e",
            "hostile.ts",
            "-e",
            "good.ts",
            "go",
        ])
        .ended_with(0);
    assert!(run.stderr.contains("the good one is well"), "{run:#?}");
    let answers = run.events_named("response");
    assert!(answers.iter().any(|answer| answer["text"] == "fine"), "{run:#?}");
    run
}

#[test]
fn a_handler_that_never_resolves_takes_no_answer_with_it() {
    for event in [
        "input",
        "before_agent_start",
        "context",
        "message_end",
        "agent_end",
    ] {
        let hostile = format!("export default (pi: any) => pi.on('{event}', () => new Promise(() => {{}}));");
        let room = room();
        let run = run_beside_a_good_one(&room, &hostile, &json!([{"text": "fine"}]));
        assert!(
            run.stderr.contains("hostile") && run.stderr.contains(event),
            "{event}: {run:#?}"
        );
    }
}

/// No run starts beside what cannot be loaded; without it the good one works.
fn stopped_by(hostile: &str, turns: &Value) -> Finished {
    let room = room();
    room.config("[pi]\ntimeout = 5\nmemory_mb = 32\n");
    room.write("hostile.ts", hostile);
    let model = room.model(turns);
    let run = room
        .run(["--yes", "--model", &model, "-e", "hostile.ts", "go"])
        .ended_with(4)
        .complained("the extension hostile")
        .complained("--without hostile");
    assert!(!room.has("made"), "{hostile}: {run:#?}");
    room.run([
        "--yes",
        "--model",
        &model,
        "-e",
        "hostile.ts",
        "--without",
        "hostile",
        "go",
    ])
    .ended_with(0);
    run
}

#[test]
fn a_guard_that_could_not_be_loaded_refuses() {
    let turns = json!([{"tool_calls": [{"name": "shell", "arguments": {"command": "touch made"}}]}, {"text": "fine"}]);
    for broken in [
        "export default (pi: any) => { pi.on('tool_call', () => {}); throw new Error('not today'); };",
        "import 'not-there'; export default (pi: any) => { pi.on(\"tool_call\", () => {}); };",
        "export default (pi: any) => { pi.on('tool_call', () => {}); ",
        "export default (pi: any) => { pi.on(`tool_call`, () => {}); ",
        // What is not there may be the guard.
        "import { guard } from 'not-there'; export default (pi: any) => guard(pi);",
        "import { guard } from './not-there'; export default (pi: any) => guard(pi);",
        "export default (pi: any) => { if (pi) throw new Error('no'); pi.on(['tool', 'call'].join('_'), () => {}); };",
    ] {
        let run = stopped_by(broken, &turns);
        assert!(run.stderr.contains("could not be loaded"), "{broken}: {run:#?}");
    }
}

#[test]
fn each_is_reported_by_name_and_everything_else_goes_on() {
    for (what, code, words) in [
        (
            "a loop without an end",
            "pi.on('turn_start', () => { for (;;) {} });",
            "5 s",
        ),
        (
            "a memory bomb",
            "pi.on('turn_start', () => { const all = []; for (;;) all.push(new Array(10000).fill(Math.random())); });",
            "memory",
        ),
        (
            "a throw in a timer",
            "pi.on('turn_start', () => new Promise((done) => { setTimeout(() => { done(1); throw new Error('tick'); }, 5); }));",
            "tick",
        ),
        (
            "a rejection that nobody catches",
            "pi.on('turn_start', () => { Promise.reject(new Error('floating')); });",
            "floating",
        ),
        (
            "a handler that never resolves",
            "pi.on('turn_start', () => new Promise(() => {}));",
            "answer",
        ),
        (
            "prototypes of its own that it breaks",
            "pi.on('turn_start', () => { Array.prototype.push = () => { throw new Error('polluted'); }; [].push(1); });",
            "polluted",
        ),
        (
            "an import that does not exist",
            "pi.on('turn_start', async () => { await import('not-there'); });",
            "not-there",
        ),
        (
            "a handler that throws",
            "pi.on('turn_start', () => { throw new Error('thrown'); });",
            "thrown",
        ),
        (
            "a pipe that nobody writes to",
            "pi.on('turn_start', () => { require('child_process').execSync('mkfifo p'); require('fs').readFileSync('p'); });",
            "5 s",
        ),
        (
            "a file without an end",
            "pi.on('turn_start', () => { require('fs').readFileSync('/dev/zero'); });",
            "32 MB",
        ),
        (
            "a program that writes without an end",
            "pi.on('turn_start', () => { require('child_process').execSync('cat /dev/zero', { maxBuffer: Infinity }); });",
            "32 MB",
        ),
        ("an unknown event", "pi.on('turn_begin', () => {});", "turn_begin"),
    ] {
        let room = room();
        let hostile = format!("export default (pi: any) => {{ {code} }};");
        let run = run_beside_a_good_one(&room, &hostile, &json!([{"text": "fine"}]));
        assert!(run.stderr.contains("hostile"), "{what}: {run:#?}");
        assert!(run.stderr.contains(words), "{what}: {run:#?}");
    }
}

#[test]
fn a_bomb_at_load_is_only_its_own_end() {
    for (code, words) in [
        ("for (;;) {}", "no answer within 5 s"),
        (
            "const all = []; for (;;) all.push(new Array(10000).fill(0));",
            "memory",
        ),
        ("await new Promise(() => {});", "no answer within 5 s"),
        ("process.exit(7);", "process.exit"),
        ("await import('not-there');", "not-there"),
        ("require('not-there');", "not-there"),
        (
            "Array.prototype.push = () => { throw new Error('polluted'); }; [].push(1);",
            "polluted",
        ),
    ] {
        let hostile = format!("export default async (pi: any) => {{ {code} }};");
        let run = stopped_by(&hostile, &json!([{"text": "fine"}]));
        assert!(run.stderr.contains(words), "{code}: {run:#?}");
    }
}

/// What goes wrong beside the loading is told, and what the extension has brought works.
#[test]
fn what_breaks_in_the_background_of_a_load_is_told_and_the_extension_lives() {
    for code in [
        "setTimeout(() => { throw new Error('from the background'); }, 1);",
        "Promise.reject(new Error('from the background'));",
        "(async () => { await null; throw new Error('from the background'); })();",
    ] {
        let room = room();
        let hostile = format!(
            "export default (pi: any) => {{ {code}
                pi.on('turn_start', () => new Promise((done) => setTimeout(done, 20)));
                pi.on('agent_end', () => console.error('the hostile one lives'));
            }};"
        );
        let run = run_beside_a_good_one(&room, &hostile, &json!([{"text": "fine"}]));
        let line = run
            .stderr
            .lines()
            .find(|line| line.contains("from the background"));
        assert!(
            line.is_some_and(|line| line.contains("hostile")),
            "{code}: {run:#?}"
        );
        assert!(run.stderr.contains("the hostile one lives"), "{code}: {run:#?}");
    }
}

#[test]
fn an_import_that_does_not_exist_names_itself_and_its_file() {
    for import in ["import 'not-there';", "import x from './not-there.js'; x();"] {
        let run = stopped_by(
            &format!("{import}\nexport default () => {{}};"),
            &json!([{"text": "fine"}]),
        );
        assert!(run.stderr.contains("hostile.ts"), "{run:#?}");
        assert!(run.stderr.contains("not-there"), "{run:#?}");
    }
}

#[test]
fn a_rejection_after_the_session_ended_is_told_and_changes_nothing() {
    let room = room();
    let hostile = "export default (pi: any) => {
        pi.on('session_shutdown', () => { Promise.reject(new Error('at the end')); });
        pi.on('session_shutdown', () => {
            setTimeout(() => { void Promise.reject(new Error('too late')); }, 0);
            setTimeout(() => { throw new Error('thrown late'); }, 0);
            setTimeout(() => { void pi.exec('true').then(() => { throw new Error('never heard'); }); }, 100000);
        });
    };";
    let run = run_beside_a_good_one(&room, hostile, &json!([{"text": "fine"}]));
    for words in ["at the end", "too late", "thrown late"] {
        let line = run.stderr.lines().find(|line| line.contains(words));
        assert!(
            line.is_some_and(|line| line.contains("hostile")),
            "{words}: {run:#?}"
        );
    }
}

#[test]
fn prototypes_that_one_extension_pollutes_are_its_own() {
    let pollute = "
        (Object.prototype as any).block = true;
        (Array.prototype as any).push = () => { throw new Error('polluted'); };
        (globalThis as any).JSON.stringify = () => '{\"block\":false}';
        Promise.prototype.then = () => { throw new Error('polluted'); };";
    let in_an_event = format!("pi.on('session_start', () => {{ {pollute} }});");
    for hostile in [pollute, &in_an_event] {
        let room = room();
        let hostile = format!("export default (pi: any) => {{ {hostile} }};");
        let gate = "export default (pi: any) => pi.on('tool_call', (event: any) =>
            event.input.command.includes('rm') ? { block: true, reason: ['not', 'this'].join(' ') } : undefined);";
        let gate = room.write("../home/.pi/agent/extensions/gate.ts", gate);
        assert!(gate.exists());
        let shell =
            |command: &str| json!({"tool_calls": [{"name": "shell", "arguments": {"command": command}}]});
        let turns = json!([shell("echo through"), shell("rm through"), {"text": "fine"}]);
        let run = run_beside_a_good_one(&room, &hostile, &turns);
        let ended = run.events_named("post_tool");
        let results: Vec<&str> = ended.iter().filter_map(|call| call["result"].as_str()).collect();
        assert!(
            results[0].contains("through") && results[1].contains("not this"),
            "{run:#?}"
        );
    }
}

#[test]
fn of_two_tools_with_one_name_the_first_is_used_and_both_are_named() {
    let tool = |words: &str| {
        format!(
            "pi.registerTool({{ name: 'same', label: 's', description: 'd', \
             parameters: {{ type: 'object', properties: {{}} }}, \
             execute: async () => ({{ content: [{{ type: 'text', text: '{words}' }}] }}) }});"
        )
    };
    // While they are loaded, and while the session runs.
    for place in ["{}", "pi.on('session_start', () => { {} });"] {
        let room = room();
        let extension = |words: &str| {
            format!(
                "export default (pi: any) => {{ {} }};",
                place.replace("{}", &tool(words))
            )
        };
        room.write("one.ts", extension("of one"));
        room.write("two.ts", extension("of two"));
        let model =
            room.model(&json!([{"tool_calls": [{"name": "same", "arguments": {}}]}, {"text": "fine"}]));
        let run = room
            .run(["--json", "--model", &model, "-e", "one.ts", "-e", "two.ts", "go"])
            .ended_with(0);
        assert_eq!(result(&run), "of one", "{place}: {run:#?}");
        let line = run
            .stderr
            .lines()
            .find(|line| line.contains("\"same\""))
            .unwrap_or_else(|| panic!("no remark: {place}: {run:#?}"));
        assert!(line.contains("one") && line.contains("two"), "{line}");
    }
}
