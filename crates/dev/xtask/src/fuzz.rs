//! `cargo xtask fuzz`: the fuzz targets for as long as you want, each in a process of its own, so that an abort is seen
//! and its input is known.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::problem::Problem;
use crate::workspace::Workspace;

/// The most kilobytes that a reader may need for one short input.
const MOST_KILOBYTES: u64 = 6 << 20;

const USAGE: &str = "\
cargo xtask fuzz                          run all fuzz targets, each for one minute
cargo xtask fuzz [--minutes N] [NAME…]    run these, or all, for so many minutes each
cargo xtask fuzz --seed SEED NAME         repeat one run
cargo xtask fuzz --list                   the names";

/// A parsed command line of `cargo xtask fuzz`.
#[derive(Debug, PartialEq, Eq)]
enum Invocation {
    Usage,
    List,
    Repeat {
        seed: String,
        name: String,
    },
    Run {
        minutes: u64,
        /// The names of the targets; all if it is empty.
        names: Vec<String>,
    },
}

/// Runs the named targets, or all, for some minutes each.
pub fn run(workspace: &Workspace, arguments: &[&str]) -> Result<(), Problem> {
    let invocation = read(arguments)?;
    if invocation == Invocation::Usage {
        println!("{USAGE}");
        return Ok(());
    }
    let program = built(workspace)?;
    let known = names(&program)?;
    match invocation {
        Invocation::Usage => {}
        Invocation::List => println!("{}", known.join("\n")),
        Invocation::Repeat { seed, name } => {
            check(&[&name], &known)?;
            let status = limited(&program).args([name, seed]).status();
            if !status.map_err(cannot_start)?.success() {
                return Err("it fails again".into());
            }
        }
        Invocation::Run { minutes, names } if names.is_empty() => return targets(&program, &known, minutes),
        Invocation::Run { minutes, names } => {
            check(&names, &known)?;
            return targets(&program, &names, minutes);
        }
    }
    Ok(())
}

/// Finds unknown names of targets, before anything runs for minutes.
fn check(names: &[impl AsRef<str>], known: &[String]) -> Result<(), Problem> {
    let is_known = |name: &str| known.iter().any(|known| known == name);
    match names.iter().find(|name| !is_known(name.as_ref())) {
        Some(name) => Err(format!(
            "there is no target `{}`; there are {}",
            name.as_ref(),
            known.join(", ")
        )),
        None => Ok(()),
    }
}

fn targets(program: &Path, names: &[String], minutes: u64) -> Result<(), Problem> {
    let mut failed = Vec::new();
    for name in names {
        println!("{name} …");
        match target(program, name, minutes.saturating_mul(60)) {
            Ok(runs) => println!("{name}: {runs} runs in {minutes} min"),
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

fn read(arguments: &[&str]) -> Result<Invocation, Problem> {
    let (mut minutes, mut seed, mut names) = (None, None, Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--help" | "-h" => return Ok(Invocation::Usage),
            "--list" => return Ok(Invocation::List),
            "--minutes" => {
                let number = words.next().and_then(|word| word.parse::<u64>().ok());
                minutes = Some(
                    number
                        .filter(|minutes| *minutes > 0)
                        .ok_or("--minutes needs a number from 1 on")?,
                );
            }
            "--seed" => {
                let number = words.next().filter(|word| is_number(word));
                seed = Some((*number.ok_or("--seed needs a number, such as 0x1f")?).to_owned());
            }
            option if option.starts_with('-') => return Err(format!("there is no option {option}\n{USAGE}")),
            name => names.push(name.to_owned()),
        }
    }
    match (seed, minutes, names.as_slice()) {
        (Some(seed), None, [name]) => Ok(Invocation::Repeat {
            seed,
            name: name.clone(),
        }),
        (Some(_), Some(_), _) => Err("--seed repeats one run, for which --minutes means nothing".into()),
        (Some(_), None, _) => Err("--seed needs the name of one target".into()),
        (None, minutes, _) => Ok(Invocation::Run {
            minutes: minutes.unwrap_or(1),
            names,
        }),
    }
}

fn is_number(word: &str) -> bool {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).is_ok(),
        None => word.parse::<u64>().is_ok(),
    }
}

fn cannot_start(error: std::io::Error) -> Problem {
    format!("cannot start: {error}")
}

/// Builds the targets and returns the path of the program.
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

/// The program in a shell that limits its memory, so that one which takes too much aborts and is found.
fn limited(program: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -v {MOST_KILOBYTES}; exec \"$@\""))
        .arg("sh")
        .arg(program);
    command
}

/// Runs one target. Returns how often it ran, or how to reproduce its fault.
fn target(program: &Path, name: &str, seconds: u64) -> Result<String, Problem> {
    let folder = tempfile::tempdir().map_err(cannot_start)?;
    let note = folder.path().join("seed");
    let first = SystemTime::now().duration_since(UNIX_EPOCH);
    let first = first.map_or(1, |since| since.as_nanos() as u64);
    let finished = limited(program)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_understood_or_refused_before_anything_runs() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let run = |minutes, of: &[&str]| Invocation::Run {
            minutes,
            names: names(of),
        };
        assert_eq!(read(&[]), Ok(run(1, &[])));
        assert_eq!(read(&["--minutes", "3", "a", "b"]), Ok(run(3, &["a", "b"])));
        assert_eq!(read(&["a", "--help"]), Ok(Invocation::Usage));
        let (seed, name) = ("0x1f".to_owned(), "a".to_owned());
        assert_eq!(
            read(&["--seed", "0x1f", "a"]),
            Ok(Invocation::Repeat { seed, name })
        );
        let wrong: [(&[&str], &str); 6] = [
            (&["--minutes"], "a number from 1 on"),
            (&["--minutes", "0"], "a number from 1 on"),
            (&["--seed", "agent_jq"], "a number, such as"),
            (&["--seed", "1"], "the name of one target"),
            (&["--seed", "1", "a", "--minutes", "1"], "means nothing"),
            (&["--minute", "1"], "there is no option --minute"),
        ];
        for (words, part) in wrong {
            let problem = read(words).unwrap_err();
            assert!(problem.contains(part), "{words:?}: {problem}");
        }
        assert!(check(&["a"], &names(&["a", "b"])).is_ok());
        let problem = check(&["a", "c"], &names(&["a", "b"])).unwrap_err();
        assert_eq!(problem, "there is no target `c`; there are a, b");
    }
}
