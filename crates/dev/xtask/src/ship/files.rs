//! The files of a release: programs, completions, manual pages, licences, and their sums.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap_complete::Shell;

use super::licences::Parts;
use super::target::Target;
use crate::problem::{Problem, output};
use crate::workspace::Workspace;

/// The programs.
pub const PROGRAMS: [&str; 4] = ["becket", "becket-hook", "becket-jq", "becket-sandbox"];

/// Everything that is packed.
pub struct Release<'a> {
    pub version: String,
    pub target: &'a Target,
    /// The time of all files: that of the commit, so that every build of it makes the same files.
    pub time: String,
    root: PathBuf,
    programs: PathBuf,
    parts: Parts,
}

impl<'a> Release<'a> {
    pub fn new(workspace: &Workspace, target: &'a Target) -> Result<Self, Problem> {
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").into(),
            target,
            time: commit_time(workspace.root()),
            root: workspace.root().to_path_buf(),
            programs: target.folder(workspace),
            parts: Parts::read(workspace, target.name())?,
        })
    }

    /// A file of the project.
    pub fn source(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The list of parts for machines.
    pub fn bill_of_materials(&self) -> String {
        format!("{:#}\n", self.parts.bill_of_materials(&self.version, &self.time))
    }

    /// The name of the archive and of the folder in it.
    pub fn name(&self) -> String {
        format!("becket-{}-{}", self.version, self.target.name())
    }

    /// The folder that is packed.
    pub fn fill(&self, tree: &Path) -> Result<(), Problem> {
        for program in PROGRAMS {
            copy(&self.programs.join(program), &tree.join(program))?;
        }
        for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            copy(&self.root.join(file), &tree.join(file))?;
        }
        write(&tree.join("THIRD-PARTY.md"), self.parts.third_party()?)?;
        completions(&tree.join("completions"))?;
        manual_pages(&tree.join("man"))
    }
}

/// The completion scripts, by the names that shells look for.
fn completions(folder: &Path) -> Result<(), Problem> {
    for (shell, name) in [
        (Shell::Bash, "becket"),
        (Shell::Zsh, "_becket"),
        (Shell::Fish, "becket.fish"),
    ] {
        let script = becket::completion_script(shell)
            .map_err(|error| format!("the completions cannot be written: {error}"))?;
        write(&folder.join(name), script)?;
    }
    Ok(())
}

/// One page for each command.
fn manual_pages(folder: &Path) -> Result<(), Problem> {
    make(folder)?;
    clap_mangen::generate_to(becket::for_people(becket::command_line()), folder)
        .map_err(|error| format!("the manual pages cannot be written: {error}"))
}

pub fn make(folder: &Path) -> Result<(), Problem> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

pub fn write(file: &Path, content: impl AsRef<[u8]>) -> Result<(), Problem> {
    file.parent().map_or(Ok(()), make)?;
    std::fs::write(file, content).map_err(|error| format!("{}: {error}", file.display()))
}

pub fn copy(from: &Path, to: &Path) -> Result<(), Problem> {
    to.parent().map_or(Ok(()), make)?;
    match std::fs::copy(from, to) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("cannot copy {}: {error}", from.display())),
    }
}

pub fn remove(folder: &Path) -> Result<(), Problem> {
    std::fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

pub fn name_of(file: &Path) -> String {
    file.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
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
