//! `cargo xtask fuzz`: the fuzz targets for as long as somebody wants, each in a process of its own, so that an abort
//! is seen and says which input it was.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Problem;
use crate::workspace::Workspace;

/// A reader that needs more kilobytes than this for one short input has a fault.
const MOST_KILOBYTES: u64 = 6 << 20;

/// What is asked for.
#[derive(Default)]
struct Wish {
    minutes: u64,
    /// One run is to be repeated.
    seed: Option<String>,
    names: Vec<String>,
}

/// Runs the named targets, or all, for some minutes each.
pub fn run(workspace: &Workspace, arguments: &[&str]) -> Result<(), Problem> {
    let wish = read(arguments)?;
    let program = built(workspace)?;
    if let Some(seed) = &wish.seed {
        let status = Command::new(&program).args(&wish.names).arg(seed).status();
        return match status.map_err(cannot_start)?.success() {
            true => Ok(()),
            false => Err("it fails again".into()),
        };
    }
    let names = match wish.names.is_empty() {
        true => names(&program)?,
        false => wish.names,
    };
    let mut failed = Vec::new();
    for name in &names {
        match target(&program, name, wish.minutes * 60) {
            Ok(runs) => println!("{name}: {runs} runs in {} min", wish.minutes),
            Err(problem) => {
                eprintln!("{problem}");
                failed.push(name.as_str());
            }
        }
    }
    match failed[..] {
        [] => Ok(()),
        _ => Err(format!("these failed: {}", failed.join(", "))),
    }
}

fn read(arguments: &[&str]) -> Result<Wish, Problem> {
    let mut wish = Wish {
        minutes: 1,
        ..Wish::default()
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--minutes" => {
                let minutes = words.next().and_then(|minutes| minutes.parse().ok());
                wish.minutes = minutes.ok_or("--minutes needs a number")?;
            }
            "--seed" => wish.seed = Some((*words.next().ok_or("--seed needs a seed")?).to_owned()),
            name => wish.names.push(name.to_owned()),
        }
    }
    match (&wish.seed, wish.names.len()) {
        (Some(_), count) if count != 1 => Err("--seed needs the name of one target".into()),
        _ => Ok(wish),
    }
}

fn cannot_start(error: std::io::Error) -> Problem {
    format!("cannot start: {error}")
}

/// Builds the targets and says where they are.
fn built(workspace: &Workspace) -> Result<PathBuf, Problem> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--package", "fuzz"])
        .current_dir(workspace.root())
        .status()
        .map_err(cannot_start)?;
    let here = std::env::current_exe().map_err(cannot_start)?;
    match status.success() {
        true => Ok(here.with_file_name("fuzz")),
        false => Err("the fuzz targets cannot be built".into()),
    }
}

fn names(program: &Path) -> Result<Vec<String>, Problem> {
    let listed = Command::new(program).output().map_err(cannot_start)?;
    let text = String::from_utf8_lossy(&listed.stdout);
    Ok(text.lines().map(ToOwned::to_owned).collect())
}

/// Runs one target; how often, or how to see its fault again.
fn target(program: &Path, name: &str, seconds: u64) -> Result<String, Problem> {
    let folder = tempfile::tempdir().map_err(cannot_start)?;
    let note = folder.path().join("seed");
    let first = SystemTime::now().duration_since(UNIX_EPOCH);
    let first = first.map_or(1, |since| since.as_nanos() as u64);
    // The shell limits the memory, so that what takes too much of it aborts and is found.
    let finished = Command::new("sh")
        .arg("-c")
        .arg(format!("ulimit -v {MOST_KILOBYTES}; exec \"$@\""))
        .arg("sh")
        .arg(program)
        .args([name, &seconds.to_string(), &first.to_string()])
        .arg(&note)
        .stderr(Stdio::inherit())
        .output()
        .map_err(cannot_start)?;
    if finished.status.success() {
        return Ok(String::from_utf8_lossy(&finished.stdout).trim().to_owned());
    }
    let seed = std::fs::read(&note).ok().and_then(|bytes| bytes.try_into().ok());
    let seed = seed.map_or(0, u64::from_le_bytes);
    let how = finished.status;
    Err(format!(
        "{name} fails ({how}); to see it again: cargo xtask fuzz --seed {seed:#x} {name}"
    ))
}
