//! The files of a release: programs, completions, manual pages, licences, and their sums.

use std::path::{Path, PathBuf};

use clap_complete::Shell;
use sha2::{Digest, Sha256};

use super::licences::Parts;
use super::target::Target;
use super::{built_folder, commit_time, packages};
use crate::problem::Problem;
use crate::workspace::Workspace;

/// The programs.
pub const PROGRAMS: [&str; 2] = ["becket", "becket-hook"];

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
            programs: built_folder(workspace, target),
            parts: Parts::read(workspace, target.name())?,
        })
    }

    /// The name of the archive and of the folder in it.
    pub fn name(&self) -> String {
        format!("becket-{}-{}", self.version, self.target.name())
    }

    /// Makes everything in an empty folder. Returns the files that are shipped.
    pub fn ship(&self, folder: &Path) -> Result<Vec<PathBuf>, Problem> {
        let _ = std::fs::remove_dir_all(folder);
        let tree = folder.join(self.name());
        self.fill(&tree)?;
        let bill = folder.join(format!("becket-{}.cdx.json", self.version));
        let text = format!("{:#}\n", self.parts.bill_of_materials(&self.version, &self.time));
        write(&bill, text)?;
        let installer = folder.join("install.sh");
        copy(&self.root.join("install.sh"), &installer)?;
        let mut shipped = vec![
            packages::archive(self, folder)?,
            packages::debian(self, folder)?,
            packages::npm(self, folder)?,
            bill,
            installer,
        ];
        remove(&tree)?;
        let mut sums = String::new();
        for file in &shipped {
            let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
            let digits: String = Sha256::digest(bytes)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            sums += &format!("{digits}  {}\n", name_of(file));
        }
        let list = folder.join("SHA256SUMS");
        write(&list, sums)?;
        shipped.push(list);
        Ok(shipped)
    }

    /// The folder that is packed.
    fn fill(&self, tree: &Path) -> Result<(), Problem> {
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
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut becket::command_line(), "becket", &mut script);
        write(&folder.join(name), script)?;
    }
    Ok(())
}

/// One page for each command.
fn manual_pages(folder: &Path) -> Result<(), Problem> {
    make(folder)?;
    clap_mangen::generate_to(becket::command_line(), folder)
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
