//! `cargo xtask dist`: the program as it is shipped, and everything that a person gets with it.
//!
//! `target.rs` chooses what is built and how, `order.rs` links the program, `licences.rs` reads the crates behind it,
//! `files.rs` makes the folder that is packed, `packages.rs` packs it as an archive, a Debian package and an npm
//! package. `try_out.rs` installs each of them into an empty root and runs the README's guard there.

mod files;
mod licences;
mod order;
mod packages;
mod target;
mod try_out;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::{children_time, megabytes};
use crate::problem::{Problem, output};
use crate::workspace::{Workspace, target_folder};
use files::{Release, copy, name_of, remove, write};
use sha2::{Digest, Sha256};
use target::Target;

pub use order::{LINKER, link};

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
    let shipped = ship(&release, &folder)?;
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

/// Makes everything in an empty folder. Returns the files that are shipped.
fn ship(release: &Release<'_>, folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    let _ = std::fs::remove_dir_all(folder);
    let tree = folder.join(release.name());
    release.fill(&tree)?;
    let bill = folder.join(format!("becket-{}.cdx.json", release.version));
    write(&bill, release.bill_of_materials())?;
    let installer = folder.join("install.sh");
    copy(&release.source("install.sh"), &installer)?;
    let mut shipped = vec![
        packages::archive(release, folder)?,
        packages::debian(release, folder)?,
        packages::npm(release, folder)?,
        bill,
        installer,
    ];
    remove(&tree)?;
    let mut sums = String::new();
    for file in &shipped {
        let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let digits = Sha256::digest(bytes);
        let digits: String = digits.iter().map(|byte| format!("{byte:02x}")).collect();
        sums += &format!("{digits}  {}\n", name_of(file));
    }
    let list = folder.join("SHA256SUMS");
    write(&list, sums)?;
    shipped.push(list);
    Ok(shipped)
}

/// Builds the programs of some packages as they are shipped, and says what that took. Returns their folder.
pub fn build(workspace: &Workspace, target: &Target, packages: &[&str]) -> Result<PathBuf, Problem> {
    let before = children_time()?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--profile", "dist", "--bins", "--target", target.name()])
        .args(packages)
        .current_dir(workspace.root())
        // It would count instead of the target's own flags.
        .env_remove("RUSTFLAGS")
        .envs(target.variables())
        .env("BECKET_COMMIT", commit(workspace).unwrap_or_default());
    if target.is_linked_by_llvm()
        && let Some(linker) = order::linker_in(&target_folder(workspace))?
    {
        cargo.env(target.linker_variable(), linker);
    }
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
    Ok(target.folder(workspace))
}

/// The program that is shipped for this machine.
pub fn shipped_program(workspace: &Workspace) -> Result<PathBuf, Problem> {
    Ok(Target::choose(None)?.folder(workspace).join("becket"))
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
