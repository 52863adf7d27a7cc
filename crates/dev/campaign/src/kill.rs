//! SIGKILL at any moment, over prompts and every other command that writes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use testkit::{Finished, Room, Running, Signal};

use crate::conversation::{acknowledged, check, check_home, model};
use crate::round::{Campaign, Round, ensure};

pub const CAMPAIGN: Campaign = Campaign {
    name: "kill",
    promise: "After a SIGKILL nothing acknowledged is lost or doubled, and the next run goes on.",
    round,
};

/// How many runs a round kills.
const KILLS: usize = 24;

/// The exit code of a run that SIGKILL ended.
const KILLED: i32 = 137;

/// A command that writes.
struct Command {
    /// What must have run before it.
    before: &'static [&'static str],
    words: &'static [&'static str],
    /// What shows whether it has written, and the words by which it does. `N` is the number of the try everywhere.
    probe: &'static [&'static str],
    shows: &'static str,
}

const fn command(
    before: &'static [&'static str],
    words: &'static [&'static str],
    probe: &'static [&'static str],
    shows: &'static str,
) -> Command {
    Command {
        before,
        words,
        probe,
        shows,
    }
}

/// Commands that write, beside prompts.
// tidy: a table
const COMMANDS: &[Command] = &[
    command(
        &[],
        &["context", "create", "--if-new", "cN"],
        &["context", "list"],
        "cN",
    ),
    command(
        &["context", "create", "rN"],
        &["context", "rename", "rN", "sN"],
        &["context", "list"],
        "sN",
    ),
    command(
        &["context", "create", "setN"],
        &["context", "set", "fuel", "41N", "setN"],
        &["context", "show", "setN"],
        "41N",
    ),
    command(
        &["context", "create", "pN"],
        &["context", "prompt", "pN", "--set", "wordsN"],
        &["context", "prompt", "pN"],
        "wordsN",
    ),
    command(
        &[],
        &["vfs", "put", "vfs:///shared/fN", "file"],
        &["vfs", "cat", "vfs:///shared/fN"],
        "whole file",
    ),
    command(
        &[],
        &["vfs", "mkdir", "vfs:///shared/dN"],
        &["vfs", "ls", "vfs:///shared"],
        "dN",
    ),
    command(
        &["vfs", "put", "vfs:///shared/mN", "file"],
        &["vfs", "mv", "vfs:///shared/mN", "vfs:///shared/nN"],
        &["vfs", "cat", "vfs:///shared/nN"],
        "whole file",
    ),
    command(
        &["vfs", "put", "vfs:///shared/oN", "file"],
        &["vfs", "cp", "vfs:///shared/oN", "vfs:///shared/qN"],
        &["vfs", "cat", "vfs:///shared/qN"],
        "whole file",
    ),
    command(
        &["context", "create", "iN"],
        &["send", "iN", "letterN"],
        &["inbox", "--show", "iN"],
        "letterN",
    ),
    command(&[], &["flock", "create", "flockN"], &["flock", "list"], "flockN"),
    command(
        &[],
        &["config", "set", "model", "scripted/N"],
        &["config", "get", "model"],
        "scripted/N",
    ),
    command(
        &[],
        &["hooks", "trust", "--all"],
        &["hooks", "trust", "--show"],
        "trusted",
    ),
    command(
        &[],
        &["bridge", "install", "claude-code"],
        &["bridge", "status"],
        "Claude Code asks becket",
    ),
];

/// A file of another program that a command adds to; what the user has there stays.
const OTHERS: &str = "../home/.claude/settings.json";

fn round(round: &mut Round<'_>) -> Result<(), String> {
    match round.random.once_in(2) {
        true => prompts(round),
        false => commands(round),
    }
}

/// Kills a run after a while, alone or together with what it has started.
fn kill(round: &mut Round<'_>, run: Running, usual: Duration) -> Finished {
    let most = usual.as_micros().max(1) as usize;
    std::thread::sleep(Duration::from_micros(round.random.below(most) as u64));
    match round.random.once_in(2) {
        true => run.signal_group(Signal::KILL),
        false => run.signal(Signal::KILL),
    }
    run.finish()
}

fn prompts(round: &mut Round<'_>) -> Result<(), String> {
    let room = round.room();
    let model = model(&room);
    let ask = |context: &str| ["--yes", "--json", "-c", context, "--model", &model, "go"].map(str::to_owned);
    let begun = Instant::now();
    room.run(ask("measure")).ended_with(0);
    let usual = begun.elapsed();
    let mut promised: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for _ in 0..KILLS {
        let context = format!("context-{}", round.random.below(3));
        let run = room.start(ask(&context));
        let run = kill(round, run, usual);
        round.count("prompts killed", usize::from(run.code == KILLED));
        promised
            .entry(context)
            .or_default()
            .extend(acknowledged(&run.stdout));
    }
    check_home(&room)?;
    for (context, promised) in &promised {
        check(&room.store_file(), context, promised)?;
        let next = room.run(ask(context));
        ensure!(next.code == 0, "{context} does not go on: {next:#?}");
        check(&room.store_file(), context, promised)?;
        round.count("acknowledged messages found again", promised.len());
    }
    check_home(&room)
}

fn commands(round: &mut Round<'_>) -> Result<(), String> {
    let room = round.room();
    room.write("file", "whole file".repeat(1000));
    room.write(
        "becket.toml",
        "[[hook]]\nevent = \"turn_end\"\ncommand = [\"true\"]\n",
    );
    room.write(OTHERS, r#"{"mine": "stays"}"#);
    let begun = Instant::now();
    room.run(["context", "create", "measure"]).ended_with(0);
    let usual = begun.elapsed() * 5 / 4;
    for number in 0..KILLS {
        let command = round.random.choose(COMMANDS);
        one_command(round, &room, command, &number.to_string(), usual)?;
    }
    check_home(&room)
}

fn one_command(
    round: &mut Round<'_>,
    room: &Room,
    command: &Command,
    number: &str,
    usual: Duration,
) -> Result<(), String> {
    let fill = |words: &[&str]| {
        words
            .iter()
            .map(|word| word.replace('N', number))
            .collect::<Vec<_>>()
    };
    if !command.before.is_empty() {
        room.run(fill(command.before)).ended_with(0);
    }
    let words = fill(command.words);
    let run = room.start(&words);
    let run = kill(round, run, usual);
    round.count("commands killed", usize::from(run.code == KILLED));
    let others: Result<serde_json::Value, _> = serde_json::from_str(&room.read(OTHERS));
    let stays = others.is_ok_and(|others| others["mine"] == "stays");
    ensure!(
        stays,
        "becket {}: another program's file is damaged: {}",
        words.join(" "),
        room.read(OTHERS)
    );
    let shows = command.shows.replace('N', number);
    let probe = || room.run(fill(command.probe));
    let shown = |probe: &Finished| probe.code == 0 && probe.stdout.contains(&shows);
    let first = probe();
    ensure!(
        run.code == KILLED || shown(&first),
        "becket {} had ended with {} and has not written: {first:#?}",
        words.join(" "),
        run.code
    );
    if !shown(&first) {
        let again = room.run(&words);
        let second = probe();
        ensure!(
            shown(&second),
            "becket {} does not go on: {again:#?} {second:#?}",
            words.join(" ")
        );
    }
    Ok(())
}
