//! `cargo xtask fuzz`: the fuzz targets for as long as somebody wants, each in a process of its own, so that an abort
//! is seen and says which input it was.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::problem::Problem;
use crate::workspace::Workspace;

/// A reader that needs more kilobytes than this for one short input has a fault.
const MOST_KILOBYTES: u64 = 6 << 20;

const USAGE: &str = "\
cargo xtask fuzz                          run all fuzz targets, each for one minute
cargo xtask fuzz [--minutes N] [NAME…]    run these, or all, for so many minutes each
cargo xtask fuzz --seed SEED NAME         repeat one run
cargo xtask fuzz --list                   the names";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
enum Wish {
    Usage,
    List,
    Repeat {
        seed: String,
        name: String,
    },
    Run {
        minutes: u64,
        /// None are all.
        names: Vec<String>,
    },
}

/// Runs the named targets, or all, for some minutes each.
pub fn run(workspace: &Workspace, arguments: &[&str]) -> Result<(), Problem> {
    let wish = read(arguments)?;
    if wish == Wish::Usage {
        println!("{USAGE}");
        return Ok(());
    }
    let program = built(workspace)?;
    let known = names(&program)?;
    match wish {
        Wish::Usage => {}
        Wish::List => println!("{}", known.join("\n")),
        Wish::Repeat { seed, name } => {
            check(&[&name], &known)?;
            let status = limited(&program).args([name, seed]).status();
            if !status.map_err(cannot_start)?.success() {
                return Err("it fails again".into());
            }
        }
        Wish::Run { minutes, names } if names.is_empty() => return targets(&program, &known, minutes),
        Wish::Run { minutes, names } => {
            check(&names, &known)?;
            return targets(&program, &names, minutes);
        }
    }
    Ok(())
}

/// Finds names of which there is no target, before anything runs for minutes.
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

fn read(arguments: &[&str]) -> Result<Wish, Problem> {
    let (mut minutes, mut seed, mut names) = (None, None, Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--help" | "-h" => return Ok(Wish::Usage),
            "--list" => return Ok(Wish::List),
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
        (Some(seed), None, [name]) => Ok(Wish::Repeat {
            seed,
            name: name.clone(),
        }),
        (Some(_), Some(_), _) => Err("--seed repeats one run, for which --minutes means nothing".into()),
        (Some(_), None, _) => Err("--seed needs the name of one target".into()),
        (None, minutes, _) => Ok(Wish::Run {
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

/// The program in a shell that limits its memory, so that what takes too much of it aborts and is found.
fn limited(program: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -v {MOST_KILOBYTES}; exec \"$@\""))
        .arg("sh")
        .arg(program);
    command
}

/// Runs one target; how often, or how to see its fault again.
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
        let run = |minutes, of: &[&str]| Wish::Run {
            minutes,
            names: names(of),
        };
        assert_eq!(read(&[]), Ok(run(1, &[])));
        assert_eq!(read(&["--minutes", "3", "a", "b"]), Ok(run(3, &["a", "b"])));
        assert_eq!(read(&["a", "--help"]), Ok(Wish::Usage));
        let (seed, name) = ("0x1f".to_owned(), "a".to_owned());
        assert_eq!(read(&["--seed", "0x1f", "a"]), Ok(Wish::Repeat { seed, name }));
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
