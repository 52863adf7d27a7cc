//! File systems that are mounted for a round: small ones, and ones whose power is cut.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A mounted file system. Dropping it unmounts it.
pub struct Mount {
    folder: PathBuf,
}

impl Mount {
    /// Mounts what the words say at a folder, which is made.
    pub fn new(words: &[&str], folder: &Path) -> Result<Self, String> {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        run("mount", &[words, &[&folder.display().to_string()]].concat())?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Mounts it again with other options.
    pub fn change(&self, options: &str) -> Result<(), String> {
        run(
            "mount",
            &[
                "-o",
                &format!("remount,{options}"),
                &self.folder.display().to_string(),
            ],
        )
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let folder = self.folder.display().to_string();
        // A program that has just ended may be busy there for a moment.
        for _ in 0..100 {
            if run("umount", &[&folder]).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = run("umount", &["-l", &folder]);
    }
}

/// Whether this process may mount.
pub fn may_mount() -> bool {
    let Ok(folder) = tempfile::tempdir() else {
        return false;
    };
    Mount::new(&["-t", "tmpfs", "tmpfs"], &folder.path().join("probe")).is_ok()
}

/// Runs a program; the error is what it complains about.
pub fn run(program: &str, words: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| format!("cannot start {program}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{program} failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}
