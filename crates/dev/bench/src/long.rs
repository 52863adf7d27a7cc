//! Commands on a session of 10,000 turns and 100,000 events: those that only show something, and those that go through
//! all of it.

mod session;

use std::time::{Duration, Instant};

use becket_store::SqliteStore;
use serde_json::Value;
use testkit::Room;

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, runtime};

const TURNS: u64 = 10_000;

/// How long it may take until something is shown.
const BAR: Duration = Duration::from_secs(2);

const ROUNDS: usize = 3;

/// Commands that only show.
const SHOWING: &[&[&str]] = &[
    &["trace"],
    &["trace", "long", "--before", "5000"],
    &["trace", "--turns", "0"],
    &["--json", "trace"],
    &["sessions"],
    &["sessions", "tree"],
    &["contexts"],
    &["context", "show"],
    &["context", "log"],
    &["context", "export"],
    &["audit"],
    &["audit", "export"],
    &["hooks", "list"],
    &["permissions"],
    &["doctor"],
];

/// Commands that go through everything once.
const GOING_THROUGH: &[&[&str]] = &[
    &["trace", "--export", "chrome"],
    &["trace", "--export", "otlp"],
    &["audit", "verify"],
    &["replay"],
];

pub fn run(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let room = Room::new(&programs.becket);
    let store = SqliteStore::open(room.store_file())?;
    runtime()?.block_on(session::write(&store, &room, TURNS))?;
    for words in SHOWING {
        let line = Line::new(named(words), timed(&room, words)?);
        report.add(line.bar(Figure::Time(BAR)));
    }
    for words in GOING_THROUGH {
        report.add(Line::new(named(words), timed(&room, words)?).remark("linear, without a bar"));
    }
    first_view(&room, report)
}

fn named(words: &[&str]) -> String {
    format!("10,000 turns, {}", words.join(" "))
}

fn timed(room: &Room, words: &[&str]) -> Result<Figure, Problem> {
    let mut samples = Samples::default();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let run = room.run(words);
        samples.add(started.elapsed());
        if run.code != 0 {
            return Err(format!("{words:?}: {}", run.stderr).into());
        }
    }
    Ok(Figure::Time(samples.median()))
}

/// The requests of the page before it shows something, to a server that was just started.
fn first_view(room: &Room, report: &mut Report) -> Result<(), Problem> {
    let server = room.start(["web", "--json"]);
    server.wait_for_output("\n");
    let line: Value = serde_json::from_str(&server.output())?;
    let text = |name: &str| line[name].as_str().ok_or("the page has no address");
    let (address, url) = (text("address")?, text("url")?);
    let token = url.split_once('#').ok_or("the page has no token")?.1;
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(becket_tls::client_config("http")?)
        .no_proxy()
        .build()?;
    let ask = async |path: &str| -> Result<(Duration, usize), Problem> {
        let started = Instant::now();
        let request = client.get(format!("http://{address}{path}")).bearer_auth(token);
        let bytes = request.send().await?.error_for_status()?.bytes().await?.len();
        Ok((started.elapsed(), bytes))
    };
    runtime()?.block_on(async {
        let (listed, _) = ask("/api/sessions").await?;
        let (shown, bytes) = ask("/api/sessions/long").await?;
        report.add(
            Line::new(
                "10,000 turns, first view of the page",
                Figure::Time(listed + shown),
            )
            .bar(Figure::Time(BAR))
            .remark(format!(
                "{} for the list; {}",
                Figure::Time(listed),
                Figure::Bytes(bytes as u64)
            )),
        );
        let (whole, bytes) = ask("/api/sessions/long?from=1").await?;
        report.add(
            Line::new("10,000 turns, all of them on the page", Figure::Time(whole))
                .remark(Figure::Bytes(bytes as u64).to_string()),
        );
        Ok(())
    })
}
