//! Disks, files and clocks that fail: full, read-only, corrupted, newer, shared, jumping.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::conversation::{acknowledged, check, check_home, model};
use crate::mount::{Mount, may_mount, run};
use crate::round::{Campaign, Round, Try, ensure};

pub const CAMPAIGN: Campaign = Campaign {
    name: "disk",
    promise: "Whatever the disk, another process or the clock does: nothing acknowledged is lost, no guard is dropped.",
    round,
};

/// What is tried, in turn.
const KINDS: &[Try] = &[full, read_only, corrupted, at_once, newer, clock_jumps];

fn round(round: &mut Round<'_>) -> Result<(), String> {
    KINDS[round.number as usize % KINDS.len()](round)
}

/// Whether a run ended in a way that it chose itself, and said why if it failed.
fn ended_well(run: &Finished) -> Result<(), String> {
    ensure!(run.code < 100, "it did not end by itself: {run:#?}");
    let said = !run.stderr.is_empty() || !run.stdout.is_empty();
    ensure!(run.code == 0 || said, "it failed without words: {run:#?}");
    Ok(())
}

/// A room with a guard of one command.
fn guarded(room: &Room) {
    let guard = "if grep -q forbidden; then echo 'not that' >&2; exit 2; fi";
    room.config(&format!(
        "[[hook]]\nevent = \"pre_shell\"\ncommand = '''{guard}'''\n"
    ));
}

/// A model that tries to make a file although the guard refuses.
fn forbidden(room: &Room, file: &Path) -> String {
    room.model(&trying(file))
}

fn trying(file: &Path) -> Value {
    let command = format!("touch {} # forbidden", file.display());
    json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": command}}]},
        {"text": "done"},
    ])
}

fn mounted(round: &mut Round<'_>, options: &str) -> Result<Option<(tempfile::TempDir, Mount)>, String> {
    if !may_mount() {
        round.skip("full and read-only disks", "root and mount");
        return Ok(None);
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mount = Mount::new(
        &["-t", "tmpfs", "-o", options, "tmpfs"],
        &folder.path().join("disk"),
    )?;
    Ok(Some((folder, mount)))
}

fn full(round: &mut Round<'_>) -> Result<(), String> {
    let size = format!("size={}k", 150 + round.random.below(1000));
    let Some((folder, mount)) = mounted(round, &size)? else {
        return Ok(());
    };
    let room = Room::within(mount.folder(), round.program());
    guarded(&room);
    let (model, made) = (model(&room), folder.path().join("made"));
    let mut promised = Vec::new();
    let mut filler = std::fs::File::create(room.work().join("filler")).map_err(|error| error.to_string())?;
    for _ in 0..6 {
        // The last bytes of the disk go to somebody else.
        let _ = filler.write_all(&vec![1; round.random.below(64 * 1024)]);
        let run = room.run(["--yes", "--json", "-c", "full", "--model", &model, "go"]);
        ended_well(&run)?;
        promised.extend(acknowledged(&run.stdout));
        round.count("runs on a full disk", 1);
    }
    let bad = folder.path().join("forbidden.json");
    std::fs::write(&bad, trying(&made).to_string()).map_err(|error| error.to_string())?;
    let run = room.run([
        "--yes",
        "--json",
        "--model",
        &format!("scripted/{}", bad.display()),
        "go",
    ]);
    ended_well(&run)?;
    ensure!(!made.exists(), "the guarded call ran on a full disk: {run:#?}");
    mount.change("size=64m")?;
    let model = self::model(&room);
    check(&room.store_file(), "full", &promised)?;
    check_home(&room)?;
    let next = room.run(["--yes", "--json", "-c", "full", "--model", &model, "go"]);
    ensure!(next.code == 0, "with room again it does not go on: {next:#?}");
    check(&room.store_file(), "full", &promised)
}

fn read_only(round: &mut Round<'_>) -> Result<(), String> {
    let Some((folder, mount)) = mounted(round, "size=64m")? else {
        return Ok(());
    };
    let room = Room::within(mount.folder(), round.program());
    guarded(&room);
    let made = folder.path().join("made");
    let model = forbidden(&room, &made);
    room.run(["--yes", "-c", "kept", "--model", &model, "go"])
        .ended_with(0);
    mount.change("ro")?;
    for words in [
        &["--yes", "-c", "kept", "--model", &model, "go"][..],
        &["context", "create", "new"],
        &["context", "list"],
        &["doctor"],
        &["audit", "verify"],
    ] {
        let run = room.run(words);
        ended_well(&run).map_err(|problem| format!("becket {}: {problem}", words.join(" ")))?;
        round.count("commands in a read-only home", 1);
    }
    ensure!(!made.exists(), "the guarded call ran in a read-only home");
    mount.change("rw")?;
    check_home(&room)
}

/// A room after some prompts, with the model that the guard refuses, and the file which that would make.
fn used(round: &Round<'_>) -> (Room, String, PathBuf) {
    let room = round.room();
    guarded(&room);
    let good = model(&room);
    for context in ["one", "two"] {
        room.run(["--yes", "-c", context, "--model", &good, "go"])
            .ended_with(0);
    }
    let made = room.work().join("made");
    let model = forbidden(&room, &made);
    (room, model, made)
}

fn corrupted(round: &mut Round<'_>) -> Result<(), String> {
    let (room, model, made) = used(round);
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(room.store_file());
    let mut file = file.map_err(|error| error.to_string())?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    for _ in 0..=round.random.below(4) {
        let place = round.random.below(length as usize) as u64;
        let bytes: Vec<u8> = (0..1 + round.random.below(4096))
            .map(|_| round.random.next() as u8)
            .collect();
        let fits = bytes.len().min((length - place) as usize);
        let write = file
            .seek(SeekFrom::Start(place))
            .and_then(|_| file.write_all(&bytes[..fits]));
        write.map_err(|error| error.to_string())?;
    }
    for words in [
        &["doctor"][..],
        &["audit", "verify"],
        &["context", "list"],
        &["context", "log", "one"],
        &["trace", "--all"],
        &["--yes", "-c", "one", "--model", &model, "go"],
        &["--yes", "-c", "three", "--model", &model, "go"],
    ] {
        let run = room.run(words);
        ended_well(&run).map_err(|problem| format!("becket {}: {problem}", words.join(" ")))?;
        round.count("commands on a corrupted store", 1);
    }
    ensure!(!made.exists(), "the guarded call ran with a corrupted store");
    Ok(())
}

/// Several processes at once, in the same contexts and in others.
fn at_once(round: &mut Round<'_>) -> Result<(), String> {
    let room = round.room();
    let model = model(&room);
    let contexts: Vec<String> = (0..6).map(|_| format!("c{}", round.random.below(4))).collect();
    let start = |context: &String| room.start(["--yes", "--json", "-C", context, "--model", &model, "go"]);
    let runs: Vec<_> = contexts.iter().map(start).collect();
    let runs: Vec<_> = runs.into_iter().map(testkit::Running::finish).collect();
    for run in &runs {
        ended_well(run)?;
        round.count("processes at once", 1);
    }
    for context in &contexts {
        let of = contexts.iter().zip(&runs).filter(|(other, _)| *other == context);
        let promised: Vec<String> = of.flat_map(|(_, run)| acknowledged(&run.stdout)).collect();
        check(&room.store_file(), context, &promised)?;
    }
    check_home(&room)
}

/// The place of the version in the file of a store.
const VERSION: u64 = 60;

/// A store that a newer version has written.
fn newer(round: &mut Round<'_>) -> Result<(), String> {
    let (room, model, made) = used(round);
    let version = |room: &Room, change: i32| -> Result<Vec<u8>, String> {
        let open = || -> std::io::Result<Vec<u8>> {
            let mut file = std::fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open(room.store_file())?;
            let mut number = [0; 4];
            file.seek(SeekFrom::Start(VERSION))?;
            file.read_exact(&mut number)?;
            let changed = i32::from_be_bytes(number) + change;
            file.seek(SeekFrom::Start(VERSION))?;
            file.write_all(&changed.to_be_bytes())?;
            std::fs::read(room.store_file())
        };
        open().map_err(|error| error.to_string())
    };
    let more = 1 + round.random.below(100) as i32;
    let before = version(&room, more)?;
    for words in [
        &["--yes", "-c", "one", "--model", &model, "go"][..],
        &["context", "create", "new"],
        &["audit", "verify"],
    ] {
        let run = room.run(words);
        ended_well(&run)?;
        ensure!(
            run.code != 0,
            "becket {} used the store of a newer version: {run:#?}",
            words.join(" ")
        );
        round.count("commands on the store of a newer version", 1);
    }
    ensure!(
        !made.exists(),
        "the guarded call ran with the store of a newer version"
    );
    let after = std::fs::read(room.store_file()).map_err(|error| error.to_string())?;
    ensure!(before == after, "the store of a newer version was changed");
    version(&room, -more)?;
    check_home(&room)
}

/// A library that is loaded first and moves the clock by hours or years, back and forth.
const JUMPS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    static __thread unsigned long calls;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    const char *seed = getenv("JUMPS");
    if (clock == CLOCK_REALTIME && seed) {
        unsigned long mixed = (strtoul(seed, 0, 10) + calls++ / 3) * 0x9e3779b97f4a7c15ul;
        time->tv_sec += (long)(mixed >> 38) - (1l << 25);
    }
    return result;
}
"#;

/// The library, compiled once.
fn jumping_library(round: &Round<'_>) -> Result<PathBuf, String> {
    let folder = round.folder()?;
    let (source, library) = (folder.join("jumps.c"), folder.join("jumps.so"));
    if !library.exists() {
        std::fs::write(&source, JUMPS).map_err(|error| error.to_string())?;
        let words = [
            "-shared",
            "-fPIC",
            "-o",
            &library.display().to_string(),
            &source.display().to_string(),
            "-ldl",
        ];
        run("cc", &words)?;
    }
    Ok(library)
}

fn clock_jumps(round: &mut Round<'_>) -> Result<(), String> {
    let library = match jumping_library(round) {
        Ok(library) => library.display().to_string(),
        Err(_) => {
            round.skip("clock jumps", "cc");
            return Ok(());
        }
    };
    let room = round.room().with("LD_PRELOAD", &library);
    let room = room.with("JUMPS", &round.random.below(1 << 30).to_string());
    guarded(&room);
    let (good, mut promised) = (model(&room), Vec::new());
    for _ in 0..4 {
        let run = room.run(["--yes", "--json", "-c", "jumps", "--model", &good, "go"]);
        ensure!(run.code == 0, "a run with a jumping clock: {run:#?}");
        promised.extend(acknowledged(&run.stdout));
        round.count("runs with a jumping clock", 1);
    }
    let made = room.work().join("made");
    let model = forbidden(&room, &made);
    ended_well(&room.run(["--yes", "-c", "jumps", "--model", &model, "go"]))?;
    ensure!(!made.exists(), "the guarded call ran with a jumping clock");
    check(&room.store_file(), "jumps", &promised)?;
    check_home(&room)
}
