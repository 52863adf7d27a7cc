//! `fuzz NAME SECONDS FIRST NOTE` runs a target for so long, and writes the seed of each run to a file before it
//! begins: if the process aborts, that is the one. `fuzz NAME SEED` repeats one run, `fuzz` lists the targets. Started
//! by `cargo xtask fuzz`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it talks to whoever started it"
)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fuzz::{HANGS, TARGETS, Target, seed, target};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => {
            TARGETS.iter().for_each(|target| println!("{}", target.name));
            ExitCode::SUCCESS
        }
        [name, seed] => match (target(name), number(seed)) {
            (Some(target), Some(seed)) => {
                target.once(seed);
                println!("{name}: answered");
                ExitCode::SUCCESS
            }
            _ => wrong(),
        },
        [name, seconds, first, note] => match (target(name), number(seconds), number(first)) {
            (Some(target), Some(seconds), Some(first)) => {
                run(target, Duration::from_secs(seconds), first, note)
            }
            _ => wrong(),
        },
        _ => wrong(),
    }
}

fn wrong() -> ExitCode {
    eprintln!("fuzz NAME SECONDS FIRST NOTE, fuzz NAME SEED, or fuzz to see the names");
    ExitCode::from(2)
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn run(target: &'static Target, time: Duration, first: u64, note: &str) -> ExitCode {
    let Ok(note) = File::create(note) else {
        return wrong();
    };
    let begun = Instant::now();
    let rounds = Arc::new(AtomicU64::new(0));
    watch(Arc::clone(&rounds));
    while begun.elapsed() < time {
        let seed = seed(first, rounds.load(Ordering::Relaxed));
        if note.write_all_at(&seed.to_le_bytes(), 0).is_err() {
            return wrong();
        }
        target.once(seed);
        rounds.fetch_add(1, Ordering::Relaxed);
    }
    println!("{}", rounds.load(Ordering::Relaxed));
    ExitCode::SUCCESS
}

/// Ends the process if one run takes too long.
fn watch(rounds: Arc<AtomicU64>) {
    std::thread::spawn(move || {
        let (mut last, mut since) = (u64::MAX, Instant::now());
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = rounds.load(Ordering::Relaxed);
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > HANGS {
                eprintln!("it hangs");
                std::process::exit(3);
            }
        }
    });
}
