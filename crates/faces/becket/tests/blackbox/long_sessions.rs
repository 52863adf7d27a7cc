//! Sessions of thousands of turns: what only shows them takes as much longer as they are longer, and shows a page.

#[path = "long_sessions/session.rs"]
mod session;

use std::time::{Duration, Instant};

use becket_store::SqliteStore;
use serde_json::Value;
use testkit::Room;

use crate::room;
use crate::web::Served;

/// The turns of the shorter session; the longer one has four times as many.
const TURNS: u64 = 500;

/// A room with the record of one session, as a run of so many turns leaves it.
pub fn with_session(turns: u64) -> Room {
    let room = room();
    let store = SqliteStore::open(room.store_file()).expect("the store opens");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .expect("a runtime starts")
        .block_on(session::write(&store, &room, turns))
        .expect("everything is written");
    room
}

/// Commands that only show, or go through everything once, and what they must have said at the end of a long session.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["trace", "--turns", "0"], "turn 2000  "),
    (&["trace"], "turns 1901 to 2000 of 2000"),
    (&["--json", "trace"], "\"turn\":2000"),
    (&["trace", "--export", "chrome"], "traceEvents"),
    (&["trace", "--export", "otlp"], "resourceSpans"),
    (
        &["trace", "long", "--before", "1001"],
        "turns 901 to 1000 of 2000",
    ),
    (&["--json", "trace", "--turns", "5"], "\"turn\":2000"),
    (&["sessions"], "4000 entries"),
    (&["--json", "sessions"], "4000"),
    (&["sessions", "tree"], "answer-2000"),
    (&["contexts"], "4000 messages"),
    (&["context", "show"], "4000"),
    (&["context", "log"], "words of turn 2000"),
    (&["context", "export"], "words of turn 2000"),
    (&["audit"], "2000 calls allowed, 2000 run"),
    (&["audit", "export"], "call-2000"),
    (&["audit", "verify"], "4000 records"),
    (&["hooks", "list"], ""),
    (&["permissions"], ""),
    (&["inbox"], ""),
    (&["doctor"], "store"),
    (&["replay"], "2000 events of 1 session replayed"),
];

#[test]
fn four_times_the_turns_take_about_four_times_as_long_in_every_command_that_shows() {
    let (short, long) = (with_session(TURNS), with_session(4 * TURNS));
    let timed = |room: &Room, words: &[&str]| {
        let started = Instant::now();
        let run = room.run(words);
        (started.elapsed(), run)
    };
    for (words, expected) in COMMANDS {
        let (taken_short, _) = timed(&short, words);
        let (taken_long, run) = timed(&long, words);
        assert!(run.stdout.contains(expected), "{words:?}: {run:#?}");
        held_up(&format!("{words:?}"), taken_short, taken_long);
    }
    let first_view = |room: &Room| {
        let served = Served::start(room);
        let started = Instant::now();
        let session = served.newest();
        let bars = served.bars(&session).len();
        (started.elapsed(), bars)
    };
    let ((taken_short, few), (taken_long, many)) = (first_view(&short), first_view(&long));
    assert_eq!(few, many, "the first view is as large as for a short session");
    held_up("the page", taken_short, taken_long);
}

/// Twice what is proportional, and seconds that a busy machine may need for anything.
fn held_up(what: &str, short: Duration, long: Duration) {
    let most = 8 * short + Duration::from_secs(10);
    assert!(
        long < most,
        "{what}: {short:?}, and four times as much in {long:?}"
    );
}

#[test]
fn a_trace_is_shown_by_pages_and_says_how_to_see_the_one_before() {
    let room = with_session(250);
    let shown = |words: &[&str]| room.run(words).ended_with(0).stdout;
    let turns = |text: &str| text.matches("─ turn ").count();
    let last = shown(&["trace"]);
    assert!(
        last.contains("turns 151 to 250 of 250; earlier ones: becket trace long --before 151\n"),
        "{last}"
    );
    assert_eq!(turns(&last), 100);
    assert!(
        last.contains("turn 151 ") && !last.contains("turn 150 "),
        "{last}"
    );
    assert!(
        last.contains("pre_tool") && last.contains("request to model"),
        "{last}"
    );

    let first = shown(&["trace", "long", "--before", "51"]);
    assert!(first.contains("turns 1 to 50 of 250\n"), "{first}");
    assert_eq!(turns(&first), 50);
    let middle = shown(&["trace", "--before", "11", "--turns", "3"]);
    assert!(middle.contains("turns 8 to 10 of 250"), "{middle}");
    assert_eq!(turns(&middle), 3);
    let whole = shown(&["trace", "--turns", "0"]);
    assert_eq!(turns(&whole), 250);
    assert!(!whole.contains("earlier ones"), "{whole}");
    assert_eq!(
        shown(&["--json", "trace"]).lines().count(),
        2500,
        "programs get all of it"
    );
    assert_eq!(shown(&["--json", "trace", "--turns", "2"]).lines().count(), 20);
}

#[test]
fn a_long_session_comes_to_the_page_from_one_of_its_turns_on() {
    let room = with_session(250);
    let served = Served::start(&room);
    let timeline = |query: &str| served.json(&format!("/api/sessions/long{query}"));
    let numbers = |timeline: &Value| {
        let bars = timeline["bars"].as_array().expect("it is a list");
        let turns: Vec<Value> = bars
            .iter()
            .filter(|bar| bar["kind"] == "turn")
            .map(|bar| bar["label"].clone())
            .collect();
        (timeline["first_turn"].clone(), turns)
    };
    let named =
        |first: u64| -> Vec<Value> { (first..=250).map(|turn| format!("turn {turn}").into()).collect() };
    let whole = timeline("?from=1");
    assert_eq!(whole["turn_count"], 250);
    let all = whole["bars"].as_array().expect("it is a list");
    for (query, first) in [
        ("", 151),
        ("?from=51", 51),
        ("?from=250", 250),
        ("?from=0", 1),
        ("?from=999", 250),
        ("?from=x", 151),
    ] {
        let part = timeline(query);
        assert_eq!(numbers(&part), (first.into(), named(first)), "{query}");
        let bars = part["bars"].as_array().expect("it is a list");
        assert_eq!(
            bars[..],
            all[all.len() - bars.len()..],
            "{query}: the same as in the whole"
        );
        assert_eq!(
            part["usage"].as_array().map(Vec::len),
            Some(bars.len() / 10),
            "{query}"
        );
    }
    let details = |query: &str| served.json(&format!("/api/sessions/long/bars/c:answer-200:0{query}"));
    assert_eq!(details("?from=151"), details(""));
}
