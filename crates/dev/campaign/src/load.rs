//! Load: many hooks, many turns, many records, and what grows with them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use becket_agent::audit::{AuditRecord, Audited};
use becket_agent::store::{NewSession, Store};
use becket_events::Scope;
use becket_hooks::{CommandLane, Invocation, Lane, Program};
use becket_store::SqliteStore;
use serde_json::{Value, json};
use testkit::Room;

use crate::round::{Campaign, Round, Try, ensure};

pub const CAMPAIGN: Campaign = Campaign {
    name: "load",
    promise: "Memory stays bounded however many hooks, turns and records there are, and a turn does not get slower.",
    round,
};

/// What is tried, in turn.
const KINDS: &[Try] = &[commands, records, turns, hooks_at_once];

/// The most memory that a process may hold.
const MOST_MEMORY: u64 = 256 << 20;

/// The hooks that are started in a second, and the records and turns at which the work is done.
const HOOKS_A_SECOND: u32 = 500;
const RECORDS: u64 = 1_000_000;
const TURNS: usize = 10_000;

fn round(round: &mut Round<'_>) -> Result<(), String> {
    KINDS[round.number as usize % KINDS.len()](round)
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("no runtime: {error}"))
}

/// Command hooks as fast as they are asked for, for some seconds.
fn commands(round: &mut Round<'_>) -> Result<(), String> {
    let environment = Arc::new(BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]));
    let lane = CommandLane::new(Program::exec(["/bin/true"]).environment(environment));
    let time = Duration::from_secs(10).min(round.until.saturating_duration_since(Instant::now()));
    let before = memory("self", "VmRSS");
    let begun = Instant::now();
    let run = || async {
        let mut count = 0;
        while begun.elapsed() < time {
            // No faster than asked for, several at once.
            let due = begun + Duration::from_secs(1) * count / HOOKS_A_SECOND;
            tokio::time::sleep_until(due.into()).await;
            let all = (0..10).map(|_| {
                lane.run(Invocation {
                    input: "{}".into(),
                    environment: Vec::new(),
                    directory: "/".into(),
                    timeout: Duration::from_secs(20),
                })
            });
            for ended in futures_util::future::join_all(all).await {
                let code = ended.map(|finished| finished.code);
                ensure!(code == Ok(0), "a hook that is well has failed: {code:?}");
            }
            count += 10;
        }
        Ok(count)
    };
    let count = runtime()?.block_on(run())?;
    let rate = f64::from(count) / begun.elapsed().as_secs_f64();
    let grown = memory("self", "VmRSS").saturating_sub(before);
    ensure!(grown < MOST_MEMORY, "{count} hooks have cost {} MiB", grown >> 20);
    round.count("command hooks", count as usize);
    round.measure(
        "command hooks in a second, of 500 asked for",
        format!("{rate:.0}"),
    );
    round.measure(
        "memory that they have cost",
        format!("{:.1} MiB", mebibytes(grown)),
    );
    Ok(())
}

/// Records of the audit log, until there are a million.
fn records(round: &mut Round<'_>) -> Result<(), String> {
    let file = round.folder()?.join("audit/becket.db");
    let store = SqliteStore::open(&file).map_err(|error| error.to_string())?;
    let before = store.audit_log().head().map_err(|error| error.to_string())?.count;
    if before >= RECORDS {
        return Ok(());
    }
    let until = round.until;
    let added = runtime()?.block_on(add_records(&store, before, until))?;
    let begun = Instant::now();
    let verified = store
        .audit_log()
        .verify(None, |_, _| {})
        .map_err(|error| error.to_string())?;
    let verifying = begun.elapsed();
    let count = verified
        .map_err(|flaw| format!("record {}: {}", flaw.seq, flaw.words))?
        .count;
    ensure!(
        count == before + added.0,
        "{} records were added to {before}, there are {count}",
        added.0
    );
    let bytes = std::fs::metadata(&file).map_or(0, |file| file.len());
    round.count("audit records", added.0 as usize);
    let size = round_thousands(count);
    round.measure(
        &format!("audit log with {size} records: one more, verifying all, its file"),
        format!(
            "{:.0} µs, {:.1} s, {:.0} MB",
            added.1.as_secs_f64() * 1e6 / added.0.max(1) as f64,
            verifying.as_secs_f64(),
            bytes as f64 / 1e6
        ),
    );
    Ok(())
}

/// The size class of a count, so that the page has few lines.
fn round_thousands(count: u64) -> String {
    let classes = [10_000, 100_000, 300_000, RECORDS];
    let class = classes.iter().find(|class| count <= **class).unwrap_or(&RECORDS);
    format!("up to {class}")
}

async fn add_records(store: &SqliteStore, before: u64, until: Instant) -> Result<(u64, Duration), String> {
    let session = format!("load-{before}");
    let new = NewSession {
        session_id: session.clone(),
        parent_session_id: None,
        context_name: "load".into(),
        model: "none".into(),
        cwd: "/".into(),
    };
    store
        .begin_session(new)
        .await
        .map_err(|error| error.to_string())?;
    let scope = Scope {
        session_id: session.clone(),
        ..Scope::default()
    };
    let (begun, mut added) = (Instant::now(), 0);
    let time = Duration::from_secs(6).min(until.saturating_duration_since(begun));
    while begun.elapsed() < time && before + added < RECORDS {
        for number in 0..500 {
            let operation = Audited::Operation {
                tool_call_id: format!("call-{}", before + added + number),
                tool_name: "shell".into(),
                is_error: false,
                duration_us: 5,
            };
            store.audit(AuditRecord::now(&scope, operation));
        }
        added += 500;
        // Waits for the disk.
        store
            .append(&session, Vec::new())
            .await
            .map_err(|error| error.to_string())?;
    }
    store
        .end_session(&session, "done")
        .await
        .map_err(|error| error.to_string())?;
    let took = begun.elapsed();
    store.close().await.map_err(|error| error.to_string())?;
    Ok((added, took))
}

/// Turns of one conversation, until there are ten thousand.
fn turns(round: &mut Round<'_>) -> Result<(), String> {
    let folder = round.folder()?.to_owned();
    let state = folder.join("turns");
    let before: usize = std::fs::read_to_string(&state)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    if before >= TURNS {
        return Ok(());
    }
    let left = round.until.saturating_duration_since(Instant::now()).as_secs() as usize;
    let count = (left * 10).clamp(1, 100).min(TURNS - before);
    let room = Room::new(round.program());
    let file = room.write("notes.txt", "A line of some notes, as long as lines are.\n");
    let read = |turn: usize| {
        let path = file.display().to_string();
        json!({"tool_calls": [{"name": "read", "arguments": {"path": path, "limit": 1 + before + turn}}]})
    };
    let mut script: Vec<Value> = (0..count).map(read).collect();
    script.push(json!({"text": "That was all."}));
    let model = room.model(&Value::Array(script));
    let home = folder.join("home").display().to_string();
    let most = (count + 1).to_string();
    let words = [
        "--home",
        &home,
        "--yes",
        "-C",
        "load",
        "--model",
        &model,
        "--max-iterations",
        &most,
        "go",
    ];
    let begun = Instant::now();
    let run = room.start(words);
    let peak = peak_memory(run.id());
    let run = run.finish();
    ensure!(run.code == 0, "after {before} turns: {run:#?}");
    ensure!(
        peak < MOST_MEMORY,
        "after {before} turns a run holds {} MiB",
        peak >> 20
    );
    std::fs::write(&state, (before + count).to_string()).map_err(|error| error.to_string())?;
    round.count("turns of one conversation", count);
    let class = [1000, 3000, 6000, TURNS]
        .into_iter()
        .find(|class| before + count <= *class)
        .unwrap_or(TURNS);
    round.measure(
        &format!("conversation of up to {class} turns: one turn more, peak memory"),
        format!(
            "{:.0} ms, {:.0} MiB",
            begun.elapsed().as_secs_f64() * 1e3 / count as f64,
            mebibytes(peak)
        ),
    );
    Ok(())
}

/// Two hundred hooks of one call at once.
fn hooks_at_once(round: &mut Round<'_>) -> Result<(), String> {
    let room = round.room();
    let count = 200;
    let hook = |number: usize| {
        format!(
            "[[hook]]\nname = \"h{number}\"\nevent = \"turn_end\"\ncommand = \"cat >/dev/null; echo >> ../ran\"\n"
        )
    };
    room.config(&(0..count).map(hook).collect::<String>());
    let model = room.model(&json!([{"text": "done"}]));
    let begun = Instant::now();
    let run = room.start(["--yes", "--model", &model, "go"]);
    let peak = peak_memory(run.id());
    let run = run.finish();
    ensure!(run.code == 0, "{run:#?}");
    let ran = room.read("../ran").lines().count();
    ensure!(ran == count, "{ran} of {count} hooks have run: {run:#?}");
    ensure!(
        peak < MOST_MEMORY,
        "{count} hooks at once take {} MiB",
        peak >> 20
    );
    round.count("hooks, 200 at once", count);
    round.measure(
        "200 hooks of one event: time, peak memory",
        format!(
            "{:.1} s, {:.0} MiB",
            begun.elapsed().as_secs_f64(),
            mebibytes(peak)
        ),
    );
    Ok(())
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The most memory that a process has held, watched until it ends.
fn peak_memory(process: u32) -> u64 {
    let mut peak = 0;
    loop {
        match memory(&process.to_string(), "VmHWM") {
            0 if !Path::new(&format!("/proc/{process}/exe")).exists() => return peak,
            now => peak = peak.max(now),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A process's memory in bytes; 0 if it has ended.
fn memory(process: &str, field: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
