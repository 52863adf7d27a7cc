//! The page in a real Chromium. Where there is none, the tests say that they skip.
//!
//! With `BECKET_UPDATE_IMAGES=1` the pictures of `docs/images` are made anew.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Browser, Room};

use super::{Served, eventful, hook_runs};
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
    browser.wait("document.querySelector('#head h1').innerText === 'go on'");
    browser.wait("document.querySelector('#head .about').innerText.includes('growing')");
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
            .evaluate("document.querySelector('#head .about span:nth-child(3)').textContent = '~/project'");
        if std::env::var_os("BECKET_UPDATE_IMAGES").is_some() {
            let file = repository_file(&format!("docs/images/web-{name}.png"));
            browser.picture(&file);
        }
    }
    browser.key("t");
    browser.wait("document.documentElement.dataset.theme === 'light'");
    if std::env::var_os("BECKET_UPDATE_IMAGES").is_some() {
        browser.key("Escape");
        browser.click("#tab-transcript");
        browser.wait("document.querySelectorAll('.said').length > 3");
        browser
            .evaluate("document.querySelector('#head .about span:nth-child(3)').textContent = '~/project'");
        browser.picture(&repository_file("docs/images/web-transcript.png"));
        browser.click("#to-hooks");
        browser.wait("document.querySelectorAll('#hooks tbody tr').length > 3");
        browser.evaluate(
            "for (const cell of document.querySelectorAll('#hooks td.source'))
                 cell.textContent = cell.textContent.replace(/^.*[/]/, '~/project/')",
        );
        browser.picture(&repository_file("docs/images/web-hooks.png"));
        browser.click("#to-sessions");
        browser.click("#tab-timeline");
        browser.resize(420, 860);
        browser.wait("innerWidth === 420 && view.tab === 'timeline'");
        browser
            .evaluate("document.querySelector('#head .about span:nth-child(3)').textContent = '~/project'");
        browser.picture(&repository_file("docs/images/web-small.png"));
    }
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
fn sessions_have_titles_and_are_found_by_words_project_trouble_and_time() {
    let room = room();
    eventful(&room);
    room.run([
        "--model",
        "rehearsal",
        "-c",
        "notes",
        "Write <b id=markup>release</b> notes",
    ])
    .ended_with(0);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    let titles = "[...document.querySelectorAll('.session .name')].map((name) => name.innerText).join('|')";
    browser.wait("document.querySelectorAll('.session').length === 2");
    assert_eq!(
        browser.evaluate(titles),
        "Write <b id=markup>release</b> notes|Clean up"
    );
    assert_eq!(browser.evaluate("document.getElementById('markup')"), Value::Null);
    let item = browser.text(".session:last-of-type");
    for part in ["work", "tokens", "$0.7500", "✕ 1", "! 4"] {
        assert!(item.contains(part), "{part} in {item}");
    }

    browser.click("#only-denied");
    browser.wait(&format!("{titles} === 'Clean up'"));
    browser.wait("location.hash.includes('bad=denied')");
    browser.click("#only-denied");
    browser.key("s");
    for key in ["n", "o", "t", "e"] {
        browser.key(key);
    }
    browser.wait("document.querySelectorAll('.session').length === 1");
    browser.key("Enter");
    browser.wait("document.querySelector('#head h1').innerText.startsWith('Write')");
    browser.evaluate("want({ find: 'FOLDER is still', age: '' })");
    browser.wait(&format!("{titles} === 'Clean up'"));
    browser.evaluate("want({ find: 'assistant' })");
    browser.wait("said.words === 'assistant' && document.querySelectorAll('.session').length === 0");
    browser.evaluate("want({ find: '', age: '7' })");
    browser.wait("document.querySelectorAll('.session').length === 2");
    browser.evaluate("want({ project: '/nowhere' })");
    browser.wait("document.getElementById('list').innerText.includes('No session matches')");
    browser.had_no_trouble();
}

#[test]
fn an_address_leads_to_a_row_a_filter_and_a_zoom_and_back_goes_back() {
    let room = room();
    eventful(&room);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    let denied = "view.shown[view.chosen]?.decision === 'denied' && view.open === view.shown[view.chosen].id";
    browser.wait(&format!("{MATCHING} > 8"));
    browser.click(".chip[data-decision=denied]");
    browser.wait(&format!("{MATCHING} === 2"));
    browser.click(".row[data-kind=tool][data-decision=denied]");
    browser.wait("document.querySelector('#details .reason')");
    browser.evaluate("look(0.25, 0.5)");
    let address = browser.evaluate("location.hash");
    for part in ["s=", "row=", "d=denied", "z=0.250000-0.500000"] {
        assert!(
            address.as_str().is_some_and(|text| text.contains(part)),
            "{part} in {address}"
        );
    }

    browser.evaluate("location.reload()");
    browser.wait(&format!("{denied} && document.querySelector('#details .reason')"));
    browser.wait(&format!(
        "{MATCHING} === 2 && view.from === 0.25 && view.to === 0.5"
    ));
    assert_eq!(browser.evaluate("location.hash"), address);

    browser.evaluate("history.back()");
    browser.wait(&format!("view.from === 0 && view.to === 1 && {denied}"));
    browser.evaluate("history.back()");
    browser.wait(&format!(
        "document.getElementById('details').hidden && {MATCHING} === 2"
    ));
    browser.evaluate("history.back()");
    browser.wait(&format!("view.decisions.size === 0 && {MATCHING} > 8"));
    browser.evaluate("history.forward()");
    browser.wait(&format!("{MATCHING} === 2"));

    // A link for another tab has the token before the place, and nothing of it stays in the address.
    let link = format!(
        "{}&{}",
        served.url,
        address.as_str().unwrap_or_default().trim_start_matches('#')
    );
    let Some(mut other) = Browser::open(&link) else {
        return;
    };
    other.wait(&format!("{denied} && view.from === 0.25"));
    assert_eq!(
        other.evaluate(&format!("location.href.includes('{}')", served.token)),
        false
    );
    other.had_no_trouble();
    browser.had_no_trouble();
}

#[test]
fn a_transcript_says_what_was_said_and_leads_to_the_rows() {
    let room = room();
    eventful(&room);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    browser.wait(&format!("{MATCHING} > 8"));
    browser.click("#tab-transcript");
    browser.wait("document.querySelectorAll('.said').length === 7");
    let said = browser.text("#messages");
    for part in [
        "Clean up",
        r#"→ shell {"command":"rm -rf build"}"#,
        "deleting is <b id=markup>not</b> allowed",
        "The folder is still there.",
        "✕ refused",
        "✎ rewritten",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!(browser.evaluate("document.getElementById('markup')"), Value::Null);
    browser.click(".said .call button");
    browser.wait("document.querySelector('#details .reason')?.innerText.includes('deleting')");
    browser.wait("view.tab === 'timeline' && !document.getElementById('rows').hidden");
    browser.evaluate("history.back()");
    browser
        .wait("!document.getElementById('transcript').hidden && document.getElementById('details').hidden");
    browser.had_no_trouble();
}

#[test]
fn hooks_are_counted_over_all_sessions_and_lead_to_the_last_one() {
    let room = room();
    eventful(&room);
    eventful(&room);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    browser.click("#to-hooks");
    let row = "[...document.querySelectorAll('#hooks tbody tr')]
        .find((row) => row.innerText.includes('broken logger'))";
    let cell = |key: &str| format!("{row}.querySelector('[data-key={key}]').innerText");
    browser.wait(&format!(
        "{row} && {} === '6' && {} === '6'",
        cell("runs"),
        cell("failed")
    ));
    for key in ["p50_us", "p95_us"] {
        let took = browser.evaluate(&cell(key));
        assert!(took.as_str().is_some_and(|took| took.ends_with('s')), "{took}");
    }
    browser.wait("location.hash === '#v=hooks'");
    browser.click("#hooks th[data-key=denied] button");
    browser.wait("document.querySelector('#hooks tbody tr [data-key=hook]').innerText.startsWith('no rm')");
    browser.evaluate("location.reload()");
    browser.wait("document.querySelector('#hooks tbody tr [data-key=hook]')?.innerText.startsWith('no rm')");
    browser.click("#hooks tbody tr a");
    browser.wait(&format!(
        "!view.hooks && view.hook === 'no rm' && {MATCHING} === 1"
    ));
    browser.evaluate("history.back()");
    browser.wait("!document.getElementById('hooks').hidden");
    browser.had_no_trouble();
}

#[test]
fn the_hooks_of_many_runs_open_at_once() {
    let room = room();
    hook_runs::write(&room, 20, 1_000);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    browser.wait("document.querySelectorAll('.session').length === 20");
    browser.click("#to-hooks");
    browser.wait("document.documentElement.dataset.hooksMs");
    browser.wait("document.getElementById('hooks-sum').innerText.includes('20,000 runs')");
    let took = browser.evaluate("Number(document.documentElement.dataset.hooksMs)");
    assert!(took.as_f64().is_some_and(|took| took < 20_000.0), "{took} ms");
    browser.had_no_trouble();
}

#[test]
fn rows_are_folded_and_stay_so_until_a_filter_or_a_link_needs_them() {
    let room = room();
    eventful(&room);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    browser.wait(&format!("{MATCHING} > 8"));
    let all = browser.evaluate("view.shown.length");
    browser.click(".row.turn .twist");
    browser.wait(&format!("view.shown.length < {all}"));
    browser.wait("document.querySelector('.row.turn').getAttribute('aria-expanded') === 'false'");
    browser.click("#fold-all");
    browser.wait("view.shown.every((bar) => bar.depth === 0)");
    browser.evaluate("location.reload()");
    browser.wait("view.shown.length && view.shown.every((bar) => bar.depth === 0)");
    browser.click(".chip[data-decision=denied]");
    browser.wait(&format!("{MATCHING} === 2"));
    browser.key("Escape");
    browser.wait("view.shown.every((bar) => bar.depth === 0)");
    browser.evaluate(
        "toRow(view.bars.find((bar) => bar.kind === 'hook' && bar.decision === 'denied').id, true)",
    );
    browser.wait("view.shown[view.chosen]?.decision === 'denied'");
    browser.key("Escape");
    browser.key("f");
    browser.key("f");
    browser.wait(&format!("view.shown.length === {all}"));
    browser.key("g");
    browser.had_no_trouble();
}

#[test]
fn a_session_is_saved_as_becket_trace_exports_it() {
    let room = room();
    eventful(&room);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    let folder = room.home().join("saved");
    std::fs::create_dir_all(&folder).expect("the room is writable");
    browser.save_in(&folder);
    browser.wait(&format!("{MATCHING} > 8"));
    let session = served.newest();
    for (form, suffix) in [
        ("jsonl", "jsonl"),
        ("chrome", "trace.json"),
        ("otlp", "otlp.json"),
        ("markdown", "md"),
    ] {
        browser.click("#save summary");
        browser.click(&format!("#forms [data-form={form}]"));
        let file = folder.join(format!("becket-{session}.{suffix}"));
        let expected = room
            .run(["trace", &session, "--export", form])
            .ended_with(0)
            .stdout;
        assert!(!expected.is_empty(), "{form}");
        let started = Instant::now();
        while std::fs::read_to_string(&file).ok().as_ref() != Some(&expected) {
            assert!(started.elapsed() < Duration::from_secs(60), "{form} is not saved");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    browser.had_no_trouble();
}

/// The texts that are not as clear as they must be, among all that can be seen.
const UNCLEAR: &str = r"(() => {
    const parse = (text) => {
        const parts = text.match(/[\d.]+/g).map(Number);
        return parts.length < 4 ? [...parts, 1] : parts;
    };
    const light = (part) => (part /= 255, part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const luminance = ([red, green, blue]) => 0.2126 * light(red) + 0.7152 * light(green) + 0.0722 * light(blue);
    const over = (top, below) => [0, 1, 2].map((place) => top[place] * top[3] + below[place] * (1 - top[3]));
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), unclear = [];
    let seen = 0;
    for (let node; (node = walker.nextNode());) {
        const element = node.parentElement;
        if (!node.data.trim() || !element.checkVisibility() || element.closest('script, option')) continue;
        const layers = [];
        let opacity = 1;
        for (let above = element; above; above = above.parentElement) {
            const style = getComputedStyle(above), ground = parse(style.backgroundColor);
            opacity *= style.opacity;
            if (ground[3]) layers.unshift(ground);
        }
        const ground = layers.reduce((below, top) => over(top, below), [255, 255, 255]);
        const text = parse(getComputedStyle(element).color);
        text[3] *= opacity;
        const [one, other] = [luminance(over(text, ground)), luminance(ground)];
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        seen += 1;
        if (contrast < 4.5) unclear.push(`${node.data.trim()} ${contrast.toFixed(2)}`);
    }
    return seen < 20 ? ['only ' + seen + ' texts'] : unclear;
})()";

/// What is wider than the window, but for what scrolls by itself.
const TOO_WIDE: &str = r"[...document.querySelectorAll('body *')]
    .filter((element) => element.checkVisibility() && !element.closest('#hooks table'))
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
    .map((element) => element.tagName + '#' + element.id + '.' + element.className)";

/// What leads to each view, and when it is there.
const VIEWS: [(&str, &str); 4] = [
    (
        "showView(false); switchTab('timeline'); view.decisions = new Set(['denied']); fillFilters(); filter()",
        "!document.getElementById('rows').hidden && view.shown.length",
    ),
    (
        "toRow(view.shown.find((bar) => bar.kind === 'tool' && bar.decision === 'denied').id, false)",
        "document.querySelector('#details:not([hidden]) .reason')",
    ),
    (
        "switchTab('transcript')",
        "document.querySelectorAll('.said').length > 3",
    ),
    (
        "document.getElementById('to-hooks').click()",
        "document.querySelectorAll('#hooks tbody tr').length > 3",
    ),
];

#[test]
fn everything_can_be_read_in_light_and_dark_and_in_a_small_window() {
    let room = room();
    eventful(&room);
    let served = Served::start(&room);
    let Some(mut browser) = Browser::open(&served.url) else {
        return;
    };
    browser.wait(&format!("{MATCHING} > 8"));
    for width in [1360, 420] {
        browser.resize(width, 860);
        browser.wait(&format!("innerWidth === {width}"));
        for theme in ["light", "dark"] {
            browser.prefer(theme);
            browser.wait(&format!("document.documentElement.dataset.theme === '{theme}'"));
            for (view, ready) in VIEWS {
                browser.evaluate(&format!("void ({{ f() {{ {view} }} }}).f()"));
                browser.wait(ready);
                let place = format!("{width} {theme} {view}");
                assert_eq!(browser.evaluate(UNCLEAR), json!([]), "{place}");
                assert_eq!(browser.evaluate(TOO_WIDE), json!([]), "{place}");
                assert_eq!(
                    browser.evaluate("document.documentElement.scrollWidth"),
                    width,
                    "{place}"
                );
            }
        }
    }
    browser.had_no_trouble();
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
    browser.wait("document.getElementById('shown').innerText.includes('turns 151–250 of 250')");
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
    browser.wait("!document.getElementById('shown').innerText.includes('turns')");
    assert!(
        browser.text("#numbers").contains("250 turns"),
        "the whole session is counted"
    );
    browser.had_no_trouble();
}
