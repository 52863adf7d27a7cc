//! What the program weighs: its size, the crates behind it, and whose code the largest parts are.
//!
//! The shipped program takes too long to build for every change. What is checked each time is the machine code of the
//! debug program, which the tests build anyway: it grows with every copy that generic code is compiled to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::megabytes;
use crate::problem::{Problem, output};
use crate::ship::shipped_program;
use crate::workspace::{Workspace, target_folder};

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
        let program = match profile {
            "dist" => shipped_program(workspace)?,
            _ => program(workspace, profile),
        };
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

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn program(workspace: &Workspace, profile: &str) -> PathBuf {
    target_folder(workspace).join(profile).join("becket")
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
