//! What the program weighs: its size, the crates behind it, and whose code the largest parts are.
//!
//! The shipped program takes too long to build for every change. What is checked each time is the machine code of the
//! debug program, which the tests build anyway: it grows with every copy that generic code is compiled to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::problem::Problem;
use crate::workspace::Workspace;

/// The committed figure, and by how many percent a change may exceed it.
const FIGURE: &str = "crates/dev/xtask/weight.txt";
const ALLOWED_PERCENT: u64 = 5;

/// How many contributors are listed.
const LISTED: usize = 25;

/// The profiles whose programs are measured where they have been built.
const PROFILES: [&str; 3] = ["debug", "release", "dist"];

/// Prints the weight of every program that has been built.
pub fn print(workspace: &Workspace) -> Result<(), Problem> {
    println!("crates of others, all features:           {}", crates(&[])?);
    println!(
        "crates of others, --no-default-features:  {}",
        crates(&["--no-default-features"])?
    );
    let mut largest = None;
    for profile in PROFILES {
        let program = program(workspace, profile);
        let Ok(found) = program.metadata() else {
            println!("\n{profile}: not built");
            continue;
        };
        println!("\n{profile}: {}", megabytes(found.len()));
        for (section, bytes) in sections(&program)? {
            if bytes >= 100_000 {
                println!("  {section:20} {:>10}", megabytes(bytes));
            }
        }
        if profile != "dist" {
            largest = Some(program);
        }
    }
    largest.map_or(Ok(()), |program| print_contributors(&program))
}

/// Compares the debug program with the committed figure.
pub fn check(workspace: &Workspace) -> Result<(), Problem> {
    let figure = workspace.read(FIGURE)?;
    let figure: u64 = figure
        .trim()
        .parse()
        .map_err(|error| format!("{FIGURE} is no number: {error}"))?;
    let code = debug_code(workspace)?;
    println!(
        "machine code of the debug program: {}, committed: {}",
        megabytes(code),
        megabytes(figure)
    );
    if code * 100 > figure * (100 + ALLOWED_PERCENT) {
        return Err(format!(
            "the debug program has more than {ALLOWED_PERCENT} % more machine code than {FIGURE} says\nif it is worth \
             it, run `cargo xtask weight --accept` and commit the file with the change; `cargo xtask weight` shows \
             whose code it is"
        ));
    }
    Ok(())
}

/// Makes today's debug program the committed figure.
pub fn accept(workspace: &Workspace) -> Result<(), Problem> {
    workspace.write(FIGURE, &format!("{}\n", debug_code(workspace)?))
}

/// Builds the program as it is shipped, and says what that took.
pub fn dist(workspace: &Workspace) -> Result<(), Problem> {
    let before = children_time()?;
    let built = cargo()
        .args(["build", "--profile", "dist", "--package", "becket"])
        .current_dir(workspace.root())
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !built.success() {
        return Err("the program does not build".into());
    }
    let took = children_time()?.saturating_sub(before);
    let program = program(workspace, "dist");
    let size = program.metadata().map_err(|error| unreadable(&program, &error))?;
    println!("{}: {}", program.display(), megabytes(size.len()));
    println!(
        "processor time of this build: {:.1} min (all of it only if nothing was built before)",
        took.as_secs_f64() / 60.0
    );
    Ok(())
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

pub fn program(workspace: &Workspace, profile: &str) -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.root().join("target"), PathBuf::from);
    target.join(profile).join("becket")
}

/// The number of external crates in a build of the program.
fn crates(features: &[&str]) -> Result<usize, Problem> {
    let mut tree = cargo();
    tree.args([
        "tree",
        "--package",
        "becket",
        "--edges",
        "normal",
        "--prefix",
        "none",
    ])
    .args(["--format", "{p}"])
    .args(features);
    let listed = output(tree)?;
    // A crate of this project is shown with its folder.
    let mut others: Vec<&str> = listed
        .lines()
        .filter(|line| !line.is_empty() && !line.contains("(/"))
        .map(|line| line.trim_end_matches(" (*)").trim_end_matches(" (proc-macro)"))
        .collect();
    others.sort_unstable();
    others.dedup();
    Ok(others.len())
}

fn debug_code(workspace: &Workspace) -> Result<u64, Problem> {
    let program = program(workspace, "debug");
    sections(&program)?
        .remove(".text")
        .ok_or_else(|| format!("{} has no machine code", program.display()))
}

/// The sections of a program with their sizes.
fn sections(program: &Path) -> Result<BTreeMap<String, u64>, Problem> {
    let mut size = Command::new("size");
    size.arg("-A").arg(program);
    Ok(output(size)?
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next().filter(|name| name.starts_with('.'))?;
            Some((name.to_owned(), words.next()?.parse().ok()?))
        })
        .collect())
}

/// Prints which crates the functions and tables of a program belong to.
fn print_contributors(program: &Path) -> Result<(), Problem> {
    let mut nm = Command::new("nm");
    nm.args(["--print-size", "--demangle=rust"]).arg(program);
    let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for line in output(nm)?.lines() {
        let mut words = line.splitn(4, ' ');
        let (_, size, _, name) = (words.next(), words.next(), words.next(), words.next());
        if let (Some(Ok(size)), Some(name)) = (size.map(|size| u64::from_str_radix(size, 16)), name) {
            let entry = found.entry(owner(name).to_owned()).or_default();
            entry.0 += size;
            entry.1 += 1;
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, (size, _))| std::cmp::Reverse(*size));
    println!("\nlargest contributors to {}", program.display());
    for (owner, (size, count)) in found.into_iter().take(LISTED) {
        println!("  {owner:28} {:>10} in {count} symbols", megabytes(size));
    }
    Ok(())
}

/// The crate that a symbol belongs to: the first word of its path. What C defines has no path.
fn owner(symbol: &str) -> &str {
    let Some((path, _)) = symbol.split_once("::") else {
        return "C and data";
    };
    path.rsplit(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(path)
}

fn output(mut command: Command) -> Result<String, Problem> {
    let name = command.get_program().to_string_lossy().into_owned();
    let found = command
        .output()
        .map_err(|error| format!("cannot start {name}: {error}"))?;
    if !found.status.success() {
        return Err(format!(
            "{name} failed: {}",
            String::from_utf8_lossy(&found.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&found.stdout).into_owned())
}

/// The processor time of all programs that this one has started and waited for.
fn children_time() -> Result<Duration, Problem> {
    /// Linux counts in hundredths of a second, on every machine.
    const TICKS_PER_SECOND: u64 = 100;
    let path = Path::new("/proc/self/stat");
    let stat = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    // The name of the program may contain spaces; the fields after it do not. These are the 16th and 17th of all.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: u64 = fields
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    format!("cannot read {}: {error}", path.display())
}

fn megabytes(bytes: u64) -> String {
    format!("{}.{:02} MB", bytes / 1_000_000, bytes % 1_000_000 / 10_000)
}

#[cfg(test)]
mod tests {
    use super::owner;

    #[test]
    fn a_symbol_belongs_to_the_crate_of_its_path() {
        for (symbol, crate_name) in [
            ("becket_agent::run::go", "becket_agent"),
            ("<becket_agent::A as core::fmt::Debug>::fmt", "becket_agent"),
            ("core::ptr::drop_in_place<becket_hooks::B>", "core"),
            ("<&mut oxc_ast::Node as x::Y>::z", "oxc_ast"),
            ("sqlite3_exec", "C and data"),
        ] {
            assert_eq!(owner(symbol), crate_name, "{symbol}");
        }
    }
}
