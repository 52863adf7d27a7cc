//! `cargo xtask dist`: the program as it is shipped, and everything that a person gets with it.
//!
//! `target.rs` chooses what is built and how, `licences.rs` reads the crates behind the program, `files.rs` makes the
//! folder that is packed, `packages.rs` packs it as an archive, a Debian package and an npm package. `try_out.rs`
//! installs each of them into an empty root and runs the README's guard there.

mod files;
mod licences;
mod packages;
mod target;
mod try_out;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::{children_time, megabytes};
use crate::problem::{Problem, output};
use crate::workspace::{Workspace, target_folder};
use files::Release;
use target::Target;

/// The options of `cargo xtask dist`.
#[derive(Debug, Default)]
struct Wanted {
    target: Option<String>,
    /// Build the programs, and pack nothing.
    program_only: bool,
    /// Install what was packed into empty roots.
    try_out: bool,
}

impl Wanted {
    fn read(words: &[&str]) -> Result<Self, Problem> {
        let mut wanted = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--target" => {
                    wanted.target = Some(words.next().ok_or("--target needs a target")?.to_string())
                }
                "--program-only" => wanted.program_only = true,
                "--try" => wanted.try_out = true,
                other => {
                    return Err(format!(
                        "`{other}` is unknown\nusage: cargo xtask dist [--target TARGET] [--program-only] [--try]"
                    ));
                }
            }
        }
        Ok(wanted)
    }
}

/// Builds and packs.
pub fn run(workspace: &Workspace, words: &[&str]) -> Result<(), Problem> {
    let wanted = Wanted::read(words)?;
    let target = Target::choose(wanted.target.as_deref())?;
    println!("{}", target.told());
    build(workspace, &target, &["-p", "becket"])?;
    if wanted.program_only {
        return Ok(());
    }
    let folder = target_folder(workspace).join("ship");
    let release = Release::new(workspace, &target)?;
    let shipped = release.ship(&folder)?;
    println!();
    for file in &shipped {
        let size = file
            .metadata()
            .map_err(|error| format!("{}: {error}", file.display()))?;
        println!("{:>10}  {}", megabytes(size.len()), file.display());
    }
    if wanted.try_out {
        try_out::run(&folder, &release)?;
    }
    Ok(())
}

/// Builds the programs of some packages as they are shipped, and says what that took. Returns their folder.
pub fn build(workspace: &Workspace, target: &Target, packages: &[&str]) -> Result<PathBuf, Problem> {
    let before = children_time()?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--profile", "dist", "--bins", "--target", target.name()])
        .args(packages)
        .current_dir(workspace.root())
        .envs(target.variables())
        .env("BECKET_COMMIT", commit(workspace).unwrap_or_default());
    let status = cargo
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !status.success() {
        return Err("the program does not build".into());
    }
    let took = children_time()?.saturating_sub(before);
    println!(
        "processor time of this build: {:.1} min (all of it only if nothing was built before)",
        took.as_secs_f64() / 60.0
    );
    Ok(built_folder(workspace, target))
}

/// The folder of the programs that are shipped.
fn built_folder(workspace: &Workspace, target: &Target) -> PathBuf {
    target_folder(workspace).join(target.name()).join("dist")
}

/// The program that is shipped for this machine.
pub fn shipped_program(workspace: &Workspace) -> Result<PathBuf, Problem> {
    Ok(built_folder(workspace, &Target::choose(None)?).join("becket"))
}

/// The target of this machine.
pub fn own_target() -> Result<Target, Problem> {
    Target::choose(None)
}

/// The first digits of the commit, with a mark if files differ from it; `None` without git.
fn commit(workspace: &Workspace) -> Option<String> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty", "--abbrev=9", "--exclude=*"])
        .current_dir(workspace.root());
    Some(output(git).ok()?.trim().to_owned())
}

/// When the commit was made.
fn commit_time(root: &Path) -> String {
    let mut git = Command::new("git");
    git.args([
        "log",
        "-1",
        "--format=%cd",
        "--date=format-local:%Y-%m-%dT%H:%M:%SZ",
    ])
    .env("TZ", "UTC")
    .current_dir(root);
    let time = output(git).unwrap_or_default().trim().to_owned();
    if time.is_empty() {
        "1980-01-01T00:00:00Z".into()
    } else {
        time
    }
}
