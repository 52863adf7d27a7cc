//! Feeds nonsense to reader, compiler and machine until the time is up, or until something panics or hangs. It then
//! says what it was, and with which seed it comes again.
//!
//! ```text
//! cargo run --release -p becket-scheme --example fuzz -- [SECONDS] [SEED]
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "../tests/it/nonsense.rs"]
mod nonsense;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nonsense::Dice;

const LIBRARIES: &[&str] = &[
    "(scheme base)",
    "(scheme char)",
    "(scheme eval)",
    "(scheme lazy)",
    "(scheme read)",
    "(scheme write)",
];

/// Limits end everything long before.
const HANGS: Duration = Duration::from_secs(30);

/// What is being fed, and since when.
type Now = Arc<Mutex<(String, Instant)>>;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().unwrap_or(60));
    let seconds = Duration::from_secs(numbers.next().unwrap_or(60));
    let seed = numbers.next().unwrap_or_else(|| std::process::id().into());
    let now: Now = Arc::new(Mutex::new((String::new(), Instant::now())));
    watch(&now, seed);
    let lines = nonsense::lines();
    let mut dice = Dice(seed);
    let mut machine = nonsense::machine();
    let (begun, mut fed) = (Instant::now(), 0_u64);
    while begun.elapsed() < seconds {
        let source = match dice.roll(4) {
            0 => nonsense::words(&mut dice),
            1 => nonsense::bytes(&mut dice),
            2 => nonsense::changed(&mut dice, &lines),
            _ => nonsense::program(&mut dice),
        };
        *now.lock().expect("nothing panics while it is held") = (source.clone(), Instant::now());
        let answered = catch_unwind(AssertUnwindSafe(|| {
            nonsense::feed(&mut machine, LIBRARIES, &source)
        }));
        if answered.is_err() {
            found("panics", &source, seed);
        }
        fed += 1;
        if fed.is_multiple_of(50) {
            machine = nonsense::machine();
        }
    }
    println!("{fed} programs were answered (seed {seed})");
}

/// Ends everything if something takes too long.
fn watch(now: &Now, seed: u64) {
    let now = Arc::clone(now);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let (source, since) = now.lock().expect("nothing panics while it is held").clone();
            if since.elapsed() > HANGS {
                found("hangs", &source, seed);
            }
        }
    });
}

fn found(what: &str, source: &str, seed: u64) -> ! {
    eprintln!("{what} (seed {seed}):\n{source}");
    exit(1)
}
