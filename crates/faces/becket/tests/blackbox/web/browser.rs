//! The page in a real Chromium. Where there is none, the tests say that they skip.
//!
//! With `BECKET_UPDATE_IMAGES=1` the pictures of `docs/images` are made anew.

use serde_json::{Value, json};
use testkit::{Browser, Room};

use super::{Served, eventful};
use crate::{repository_file, room};

/// The rows that match the filters.
const MATCHING: &str = "document.querySelectorAll('.row:not([hidden]):not(.dim)').length";

#[test]
fn a_denied_call_is_found_and_says_why() {
    let room = room();
    eventful(&room);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    browser.wait("document.querySelectorAll('.session').length === 1");
    browser.click(".session");
    browser.wait(&format!("{MATCHING} > 8"));
    browser.wait("document.getElementById('status').innerText.includes('live')");
    assert_eq!(
        browser.evaluate("location.hash.includes('#s=')"),
        true,
        "the token left the address"
    );
    assert_eq!(browser.evaluate("document.cookie"), "");

    browser.click(".row[data-kind=tool][data-decision=denied]");
    browser.wait("document.querySelector('#details .reason')");
    let reason = browser.text("#details .reason");
    assert!(
        reason.contains("deleting is <b id=markup>not</b> allowed"),
        "{reason}"
    );
    assert_eq!(
        browser.evaluate("document.getElementById('markup')"),
        Value::Null,
        "markup stays text"
    );
    assert!(
        browser.text("#details .verdict").contains("✕"),
        "a sign beside the colour"
    );

    // The same on the axis.
    browser.key("Escape");
    browser.wait("document.getElementById('details').hidden");
    let place = browser.evaluate(
        "(() => {
            const [from, to, top, tall] = hits.find((hit) => hit[4].kind === 'tool' && hit[4].decision === 'denied');
            const box = canvas.getBoundingClientRect();
            return [box.left + (from + to) / 2, box.top + top + tall / 2];
        })()",
    );
    let at = |index: usize| place[index].as_f64().expect("it is a number");
    browser.click_at(at(0), at(1));
    browser.wait("!document.getElementById('details').hidden");
    browser.wait("document.querySelector('#details .reason')?.innerText.includes('deleting')");

    browser.click(".row[data-kind=hook][data-decision=rewritten]");
    browser.wait("document.querySelectorAll('#details .diff.added').length > 0");
    assert!(
        browser
            .text("#details pre.difference")
            .contains("command: echo short")
    );
    browser.had_no_trouble();
}

#[test]
fn everything_can_be_done_with_keys() {
    let room = room();
    eventful(&room);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    browser.wait(&format!("{MATCHING} > 8"));
    for key in ["j", "j", "k"] {
        browser.key(key);
    }
    browser.wait("document.querySelector('.row.chosen')?.getAttribute('aria-selected') === 'true'");
    browser.key("n");
    browser.wait("document.querySelector('.row.chosen').dataset.decision === 'denied'");
    browser.key("Enter");
    browser.wait("document.querySelector('#details .reason')?.innerText.includes('deleting')");
    browser.key("Escape");
    browser.wait("document.getElementById('details').hidden");

    browser.key("/");
    for key in ["r", "e", "a", "d"] {
        browser.key(key);
    }
    browser.wait("document.getElementById('shown').innerText.includes(' of ')");
    browser.wait("document.querySelector('.row:not(.dim):not([hidden]) .label').innerText === 'read'");
    browser.key("Escape");
    browser.wait("!document.getElementById('shown').innerText.includes(' of ')");

    browser.click(".chip[data-decision=denied]");
    browser.wait(&format!("{MATCHING} === 2"));
    browser.key("Escape");
    let choose = "(() => { const list = document.getElementById('by-event'); list.value = 'turn_end'; \
                  list.dispatchEvent(new Event('change')); })()";
    browser.evaluate(choose);
    browser.wait(&format!("{MATCHING} === 3"));
    browser.key("?");
    browser.wait("document.getElementById('help').open");
    browser.had_no_trouble();
}

#[test]
fn a_session_grows_while_somebody_watches() {
    let room = room();
    room.run(["--model", "rehearsal", "-c", "earlier", "hello"])
        .ended_with(0);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    browser.wait("document.querySelectorAll('.session').length === 1");
    // The last call waits for a file, so that the session is surely open while it is looked at.
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "echo first"}}]},
        {"tool_calls": [{"name": "shell", "arguments": {"command": "until [ -e go ]; do sleep 0.05; done"}}]},
        {"text": "At last."},
    ]));
    let running = room.start(["--yes", "--model", &model, "-c", "growing", "go on"]);
    browser.wait("document.querySelectorAll('.session').length === 2");
    browser.click(".session");
    browser.wait("document.querySelector('#head h1').innerText === 'growing'");
    browser.wait("document.querySelectorAll('.row[data-kind=request]:not([hidden])').length === 2");
    browser.wait("document.querySelector('#head .about').innerText.includes('still open')");
    room.write("go", "");
    browser.wait("document.querySelectorAll('.row[data-kind=request]:not([hidden])').length === 3");
    browser.wait("!document.querySelector('#head .about').innerText.includes('still open')");
    running.finish().ended_with(0).said("At last.");
    browser.had_no_trouble();
}

#[test]
fn without_its_token_the_page_shows_nothing() {
    let room = room();
    eventful(&room);
    let mut served = Served::start(&room);
    served.url = served
        .url
        .split('#')
        .next()
        .expect("there is an address")
        .to_owned();
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    browser.wait("document.getElementById('status').innerText === 'locked'");
    assert!(browser.text("#main").contains("needs its token"));
    assert_eq!(
        browser.evaluate("document.querySelectorAll('.session, .row').length"),
        0
    );
}

/// Ten thousand events: a talkative model, and an extension that listens to every piece.
fn long_session(room: &Room) {
    let listener = room.write(
        "listener.ts",
        "export default (pi: any) => { pi.on('message_update', () => {}); pi.on('tool_call', () => {}); }",
    );
    let text = "word ".repeat(500);
    let mut turns: Vec<Value> = (0..20)
        // With different arguments, because the agent would take identical ones for a loop.
        .map(|turn| {
            let call = json!({"name": "shell", "arguments": {"command": format!("echo {turn}")}});
            json!({"text": text, "chunk_size": 5, "tool_calls": [call]})
        })
        .collect();
    turns.push(json!({"text": "That was all."}));
    let model = room.model(&Value::from(turns));
    let listener = listener.display().to_string();
    let run = [
        "--yes",
        "-e",
        &listener,
        "--model",
        &model,
        "--max-iterations",
        "50",
        "-c",
        "long",
        "talk",
    ];
    room.run(run).ended_with(0);
}

#[test]
#[allow(
    clippy::print_stdout,
    reason = "whoever wants to know how long it took reads it here"
)]
fn ten_thousand_events_open_and_scroll() {
    let room = room();
    long_session(&room);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    browser.wait("document.documentElement.dataset.openedMs");
    let rows = browser
        .evaluate("view.bars.length")
        .as_u64()
        .expect("it is a number");
    assert!(rows > 10_000, "{rows} rows");
    let drawn = browser.evaluate("document.querySelectorAll('.row').length");
    assert!(
        drawn.as_u64().is_some_and(|drawn| drawn < 200),
        "only what is seen is drawn"
    );
    let opened = browser.evaluate("document.documentElement.dataset.openedMs");
    let scroll = "new Promise((done) => {
        const rows = document.getElementById('rows'), began = performance.now();
        let frames = 0;
        const step = () => {
            rows.scrollTop += rows.scrollHeight / 60;
            if (++frames < 60) requestAnimationFrame(step); else done(Math.round(performance.now() - began));
        };
        requestAnimationFrame(step);
    })";
    let scrolled = browser.evaluate(scroll);
    browser.wait("[...document.querySelectorAll('.row')].some((row) => row.index === view.bars.length - 1)");
    browser.key("g");
    browser.wait("document.querySelector('.row.chosen')?.index === 0");
    println!(
        "{rows} rows opened in {opened} ms, and scrolled through in 60 frames of {scrolled} ms together"
    );
    browser.had_no_trouble();
}

#[test]
fn light_and_dark_follow_the_machine_until_the_person_chooses() {
    let room = room();
    pictured(&room);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    for name in ["light", "dark"] {
        browser.prefer(name);
        browser.wait(&format!("document.documentElement.dataset.theme === '{name}'"));
        browser.wait(&format!("{MATCHING} > 8"));
        browser.click(".row[data-kind=tool][data-decision=denied]");
        browser.wait("document.querySelector('#details .reason')");
        // The folder of a test is nothing to look at.
        browser
            .evaluate("document.querySelector('#head .about span:nth-child(2)').textContent = '~/project'");
        if std::env::var_os("BECKET_UPDATE_IMAGES").is_some() {
            let file = repository_file(&format!("docs/images/web-{name}.png"));
            browser.picture(&file);
        }
    }
    browser.key("t");
    browser.wait("document.documentElement.dataset.theme === 'light'");
    browser.had_no_trouble();
}

/// A session that is worth a picture.
fn pictured(room: &Room) {
    let hooks = room.hooks(
        r#"
        [[hook]]
        event = "pre_tool"
        name = "time limit"
        match = { tool = "shell" }
        command = ["jq", "-c", "{arguments: (.arguments + {timeout_seconds: 60})}"]

        [[hook]]
        event = "pre_tool"
        name = "no rm"
        match = { tool = "shell", arguments = { command = { glob = "rm *" } } }
        command = "echo 'whole folders are not deleted here' >&2; exit 2"

        [[hook]]
        event = "turn_end"
        name = "progress"
        command = "exit 7"
        "#,
    );
    let task = |file: &str, input: &str, words: &str, delay: u64| {
        let usage = json!({"input_tokens": 800, "output_tokens": 20, "cost": 0.001});
        let turns = json!({"model": "reader", "turns": [{"delay_ms": delay, "text": words, "usage": usage}]});
        room.write(file, turns.to_string());
        let model = format!("scripted/{file}");
        let arguments = json!({"system_prompt": "You read.", "input": input, "model": model});
        json!({"name": "spawn_agent", "arguments": arguments})
    };
    let shell = |command: &str| json!({"name": "shell", "arguments": {"command": command}});
    let usage = |input: u64, cached: u64| {
        let cost = input as f64 / 5e5;
        json!({"input_tokens": input, "cache_read_tokens": cached, "output_tokens": 90, "cost": cost})
    };
    let turns = json!([
        {"delay_ms": 400, "usage": usage(2200, 0), "tool_calls": [shell("rm -rf build"), shell("ls && sleep 0.3")]},
        {"delay_ms": 300, "usage": usage(3400, 2200), "tool_calls": [shell("grep -rn TODO . ; sleep 0.2")]},
        {"delay_ms": 250, "usage": usage(4100, 3400), "tool_calls": [
            task("reader.json", "What is in main.rs?", "One function.", 500),
            task("tester.json", "Is it tested?", "No.", 300),
        ]},
        {"delay_ms": 350, "usage": usage(5600, 4100), "text": "One function, no tests; the folder stays."},
    ]);
    let model = room.model(&json!({"model": "demo", "turns": turns}));
    let gate = repository_file("examples/pi/gate.ts");
    let words = "Clean up the build folder, then review main.rs";
    let run = [
        "--yes", "--hooks", &hooks, "-e", &gate, "--model", &model, "-c", "review", words,
    ];
    for context in ["release-notes", "parser"] {
        room.run(["--model", "rehearsal", "-c", context, "hello"])
            .ended_with(0);
    }
    room.run(run).ended_with(0);
}

#[test]
fn earlier_turns_of_a_long_session_are_shown_on_demand_and_move_nothing() {
    let room = crate::long_sessions::with_session(250);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    browser.wait("document.documentElement.dataset.openedMs && view.bars.length");
    assert_eq!(browser.evaluate("view.first"), 151);
    browser.wait("document.getElementById('numbers').innerText.includes('151–250 of 250 turns')");
    // In the middle: the last rows may come into sight when there is more room.
    browser.evaluate("document.getElementById('rows').scrollTop = 500 * ROW");
    let highest = "view.shown[Math.floor(document.getElementById('rows').scrollTop / ROW)].id";
    let before = browser.evaluate(highest);
    browser.click("#earlier");
    browser.wait("view.timeline.first_turn === 51");
    assert_eq!(browser.evaluate(highest), before, "what is seen stays");
    browser.key("e");
    browser.wait("view.timeline.first_turn === 1 && document.getElementById('earlier').hidden");
    assert_eq!(browser.evaluate(highest), before, "what is seen stays");
    browser.wait("document.getElementById('numbers').innerText.includes('250 turns')");
    browser.had_no_trouble();
}
