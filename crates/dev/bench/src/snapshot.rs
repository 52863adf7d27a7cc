//! The cost of a checkpoint of a large folder: the first one against git adding everything to a fresh repository, later
//! ones against `git status`. Each pair takes turns.

use std::path::Path;
use std::process::{Command, Stdio};

use becket_snapshot::{Mark, Settings, Snapshots, Span};

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, ratio, time};

/// How many files the folder has, unless the variable below says otherwise.
const FILES: usize = 50_000;
const FILES_VARIABLE: &str = "BENCH_SNAPSHOT_FILES";

const FILES_PER_FOLDER: usize = 50;

const FIRST_ROUNDS: usize = 4;
const LATER_ROUNDS: usize = 11;

/// How many files change between two later checkpoints.
const CHANGED: usize = 10;

/// The most that the first checkpoint may cost as a multiple of git's own work, and a later one.
const FIRST_BAR: f64 = 1.2;
const LATER_BAR: f64 = 2.0;

pub fn run(_: &Programs, report: &mut Report) -> Result<(), Problem> {
    if !testkit::needs("git") {
        report.skipped("snapshot", "git");
        return Ok(());
    }
    let files = match std::env::var(FILES_VARIABLE) {
        Ok(number) => number.parse()?,
        Err(_) => FILES,
    };
    let room = tempfile::tempdir()?;
    let folder = room.path().join("folder");
    fill(&folder, files)?;
    first(room.path(), &folder, files, report)?;
    later(room.path(), &folder, files, report)
}

fn first(room: &Path, folder: &Path, files: usize, report: &mut Report) -> Result<(), Problem> {
    let (mut plain, mut ours) = (Samples::default(), Samples::default());
    for round in 0..FIRST_ROUNDS {
        let repository = room.join(format!("repository-{round}"));
        git(&repository, folder, &["init", "--quiet"])?;
        let snapshots = open(&room.join(format!("data-{round}")), folder)?;
        let mut add = || -> Result<(), Problem> {
            let (result, taken) = time(|| {
                git(&repository, folder, &["add", "-A"])?;
                git(&repository, folder, &["write-tree"])
            });
            plain.add(taken);
            result
        };
        let mut keep = || -> Result<(), Problem> {
            let (result, taken) = time(|| snapshots.checkpoint(&mark()));
            ours.add(taken);
            Ok(result.map(drop)?)
        };
        // Whichever comes second meets a disk that is still busy with the first.
        if round % 2 == 0 {
            keep()?;
            add()?;
        } else {
            add()?;
            keep()?;
        }
    }
    let remark = format!("{files} files");
    report.add(Line::new("git add and write-tree", Figure::Time(plain.median())).remark(&remark));
    report.add(Line::new("first checkpoint", Figure::Time(ours.median())).remark(&remark));
    let times = Figure::Times(ratio(ours.median(), plain.median()));
    report.add(Line::new("first checkpoint over git", times).bar(Figure::Times(FIRST_BAR)));
    Ok(())
}

fn later(room: &Path, folder: &Path, files: usize, report: &mut Report) -> Result<(), Problem> {
    let repository = room.join("repository-0");
    let snapshots = open(&room.join("data-0"), folder)?;
    let (mut plain, mut ours) = (Samples::default(), Samples::default());
    for round in 0..LATER_ROUNDS {
        for number in 0..CHANGED {
            let content = format!("round {round}, file {number}\n");
            std::fs::write(folder.join(path(number * files / CHANGED)), content)?;
        }
        let (result, taken) = time(|| git(&repository, folder, &["status", "--porcelain"]));
        result?;
        plain.add(taken);
        let (result, taken) = time(|| snapshots.checkpoint(&mark()));
        result?;
        ours.add(taken);
    }
    let remark = format!("{files} files, {CHANGED} of them changed");
    report.add(Line::new("git status", Figure::Time(plain.median())).remark(&remark));
    report.add(Line::new("later checkpoint", Figure::Time(ours.median())).remark(&remark));
    let times = Figure::Times(ratio(ours.median(), plain.median()));
    report.add(Line::new("later checkpoint over git status", times).bar(Figure::Times(LATER_BAR)));
    Ok(())
}

fn fill(folder: &Path, files: usize) -> Result<(), Problem> {
    for number in 0..files {
        let path = folder.join(path(number));
        if number % FILES_PER_FOLDER == 0 {
            std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        }
        let line = format!("A line of file {number}, as long as lines are.\n");
        std::fs::write(path, line.repeat(1 + number % 40))?;
    }
    Ok(())
}

fn path(number: usize) -> String {
    let folder = number / FILES_PER_FOLDER;
    format!("{:02}/folder-{folder}/file-{number}.txt", folder % 32)
}

fn open(data: &Path, folder: &Path) -> Result<Snapshots, Problem> {
    let settings = Settings {
        search_path: std::env::var_os("PATH").unwrap_or_default(),
        ..Settings::default()
    };
    Ok(Snapshots::open(data, folder, settings)?)
}

fn mark() -> Mark<'static> {
    Mark {
        span: Span::Turn,
        label: "a turn",
        session: "bench",
    }
}

/// git without any configuration of user or system.
fn git(repository: &Path, folder: &Path, arguments: &[&str]) -> Result<(), Problem> {
    let status = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env("GIT_DIR", repository)
        .env("GIT_WORK_TREE", folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdout(Stdio::null())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("git {} failed: {status}", arguments.join(" ")).into()),
    }
}
