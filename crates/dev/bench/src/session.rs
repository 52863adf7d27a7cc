//! A turn of the real program, with the tool that people's models call most; and opening a long conversation.
//!
//! A turn is the time of a run of many turns less that of a run of one, by the number of turns that are more. Its floor
//! is what no agent can leave out: the tool's own work, and two writes that are on the disk before the next step, one
//! for the model's answer and one for the tool's result. The runs and the floor take turns.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::store::{EntryContent, NewEntry, NewSession, Store};
use becket_events::{Message, MessageBody, MessageRecord, Part};
use becket_store::SqliteStore;
use serde_json::{Value, json};
use testkit::Room;

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, ratio, runtime, time};

const TURNS: usize = 50;
const RUNS: usize = 21;

/// The most that a turn may take.
const SHELL_BAR: Duration = Duration::from_micros(1_200);
const READ_BAR: Duration = Duration::from_micros(600);

/// How much a turn writes to its conversation and its record at a time, roughly.
const WRITTEN: usize = 8 * 1024;

/// How many entries the long conversation has, how many of them were written since its last compaction, and how many
/// are written in one transaction while it is made.
const ENTRIES: usize = 100_000;
const RECENT: usize = 20;
const GROUP: usize = 5_000;
const OPENINGS: usize = 15;

/// The most that the long conversation may take to open, as a multiple of one that is as long as what is read of it.
const OPENING_BAR: f64 = 2.0;

pub fn run(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let shell = |turn: usize| json!({"name": "shell", "arguments": {"command": format!("true # {turn}")}});
    let shell_floor = |_: &Path| -> Result<(), Problem> {
        let status = Command::new("/bin/bash")
            .args(["-c", "true"])
            .stdin(Stdio::null())
            .status()?;
        status.success().then_some(()).ok_or_else(|| "bash failed".into())
    };
    turns(programs, report, ("`shell true`", SHELL_BAR), shell, shell_floor)?;
    let read = |turn: usize| json!({"name": "read", "arguments": {"path": "notes.txt", "limit": 100 + turn}});
    let read_floor = |room: &Path| -> Result<(), Problem> {
        std::hint::black_box(std::fs::read(room.join("notes.txt"))?);
        Ok(())
    };
    turns(programs, report, ("reading a file", READ_BAR), read, read_floor)?;
    opening(report)
}

/// Measures turns with one call each.
fn turns(
    programs: &Programs,
    report: &mut Report,
    (what, bar): (&str, Duration),
    call: impl Fn(usize) -> Value,
    work: impl Fn(&Path) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let room = Room::new(&programs.becket);
    room.write(
        "notes.txt",
        "A line of some notes, as long as lines are.\n".repeat(20),
    );
    let model = |turns: usize| {
        let calls = (0..turns).map(|turn| json!({"tool_calls": [call(turn)]}));
        room.model(&Value::Array(calls.chain([json!({"text": "done"})]).collect()))
    };
    // The second script must not replace the first.
    let many = model(TURNS);
    let (many, one) = (kept(&room, &many, "many.json")?, model(1));
    let prompt = |context: &str, model: &str| -> Result<Duration, Problem> {
        let mut command = room.command([
            "--yes",
            "--max-iterations",
            "100",
            "-C",
            context,
            "--model",
            model,
            "go",
        ]);
        let (output, taken) = time(|| command.stdout(Stdio::null()).output());
        let output = output?;
        let told = || format!("the prompt failed: {}", String::from_utf8_lossy(&output.stderr));
        output
            .status
            .success()
            .then_some(taken)
            .ok_or_else(|| told().into())
    };
    let (mut long, mut short, mut floor) = (Samples::default(), Samples::default(), Samples::default());
    for round in 0..=RUNS {
        let (many, one) = (
            prompt(&format!("many-{round}"), &many)?,
            prompt(&format!("one-{round}"), &one)?,
        );
        let (result, taken) = time(|| bare_turns(&room.work(), &work));
        result?;
        // The first round warms the caches.
        if round > 0 {
            long.add(many);
            short.add(one);
            floor.add(taken);
        }
    }
    let more = u32::try_from(TURNS - 1)?;
    let turn = long.median().saturating_sub(short.median()) / more;
    let floor = floor.median() / u32::try_from(TURNS)?;
    let remark = "the tool's work, and two writes on the disk";
    report.add(Line::new(format!("turn, {what}, its floor"), Figure::Time(floor)).remark(remark));
    let line = Line::new(format!("turn, {what}"), Figure::Time(turn)).bar(Figure::Time(bar));
    report.add(
        line.ratio(ratio(turn, floor))
            .remark("over its floor; by runs of 50 turns less runs of one"),
    );
    Ok(())
}

/// Gives a script another name, and returns the model's.
fn kept(room: &Room, model: &str, name: &str) -> Result<String, Problem> {
    let (kind, file) = model.split_once('/').ok_or("a scripted model names its file")?;
    let new = room.work().join(name);
    std::fs::copy(room.work().join(file), &new)?;
    Ok(format!("{kind}/{}", new.display()))
}

fn bare_turns(room: &Path, work: &impl Fn(&Path) -> Result<(), Problem>) -> Result<(), Problem> {
    let mut file = File::create(room.join("log"))?;
    let written = vec![b'x'; WRITTEN];
    for _ in 0..TURNS {
        file.write_all(&written)?;
        file.sync_data()?;
        work(room)?;
        file.write_all(&written)?;
        file.sync_data()?;
    }
    Ok(())
}

/// Opens a long conversation whose beginning a summary has replaced, and one that is as short as the rest.
fn opening(report: &mut Report) -> Result<(), Problem> {
    let folder = tempfile::tempdir()?;
    let runtime = runtime()?;
    let store = Arc::new(SqliteStore::open(folder.path().join("store.db"))?);
    runtime.block_on(write(&store, "long", ENTRIES))?;
    runtime.block_on(write(&store, "short", RECENT))?;
    let (mut long, mut short) = (Samples::default(), Samples::default());
    for round in 0..=OPENINGS {
        for (name, samples) in [("long", &mut long), ("short", &mut short)] {
            let new = session(&format!("{name}-{round}"), name);
            let (opened, taken) = time(|| runtime.block_on(store.begin_session(new)));
            let read = opened?.entries.len();
            if read > RECENT + 2 {
                return Err(format!("{read} entries of the {name} conversation were read").into());
            }
            if round > 0 {
                samples.add(taken);
            }
        }
    }
    runtime.block_on(store.close())?;
    let (long, short) = (long.median(), short.median());
    report.add(
        Line::new("opening a short conversation", Figure::Time(short)).remark("on the disk when it is open"),
    );
    let name = format!("opening one of {ENTRIES} entries");
    report.add(Line::new(name, Figure::Time(long)));
    let line = Line::new(
        "opening it, over the short one",
        Figure::Times(ratio(long, short)),
    );
    report.add(line.bar(Figure::Times(OPENING_BAR)));
    Ok(())
}

/// Writes a conversation of so many messages, with a summary that keeps the last ones.
async fn write(store: &SqliteStore, context: &str, count: usize) -> Result<(), Problem> {
    let id = format!("{context}-writer");
    store.begin_session(session(&id, context)).await?;
    let message = |number: usize| {
        let message = Message::new(MessageRecord {
            id: format!("m{number}"),
            time_ms: number as u64,
            body: MessageBody::User {
                content: vec![Part::text("A line of a conversation, as they are. ".repeat(8))],
            },
        });
        NewEntry {
            id: message.id().to_owned(),
            time_ms: number as u64,
            content: EntryContent::Message { message },
        }
    };
    let numbers: Vec<usize> = (0..count).collect();
    for group in numbers.chunks(GROUP) {
        store
            .append(&id, group.iter().copied().map(message).collect())
            .await?;
    }
    let summary = NewEntry::new(EntryContent::Compaction {
        summary: "They talked.".into(),
        first_kept_id: Some(format!("m{}", count - RECENT)),
        tokens_before: 0,
        by_hook: false,
        details: None,
    });
    Ok(store.append(&id, vec![summary]).await?)
}

fn session(id: &str, context: &str) -> NewSession {
    NewSession {
        session_id: id.into(),
        parent_session_id: None,
        context_name: context.into(),
        model: "scripted/model".into(),
        cwd: "/".into(),
    }
}
