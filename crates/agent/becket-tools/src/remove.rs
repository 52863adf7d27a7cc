//! Removing a file.

use std::io::{self, ErrorKind};
use std::path::Path;

use becket_agent::tool::ToolOutput;
use becket_events::RemoveArguments;

use crate::judged_path::{self, open_file, reason};

/// Removes the file at `path`, which is the judged form of what the arguments name. A folder stays.
pub(crate) fn run(arguments: &RemoveArguments, path: &Path) -> ToolOutput {
    let shown = &arguments.path;
    match remove(path) {
        Ok(()) => ToolOutput::text(format!("Removed {shown}.")),
        Err(error) => ToolOutput::error(format!("Cannot remove {shown}: {}.", reason(&error))),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match open_file(path)?.metadata()?.is_dir() {
        true => Err(ErrorKind::IsADirectory.into()),
        false => judged_path::remove(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_and_folders_stay() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::write(root.join("file"), "x").unwrap();
        std::fs::create_dir(root.join("folder")).unwrap();
        let gone = |name: &str| !run(&RemoveArguments { path: name.into() }, &root.join(name)).is_error;
        assert!(gone("file") && !gone("file") && !gone("folder"));
        assert!(root.join("folder").is_dir() && !root.join("file").exists());
    }
}
