//! A file into which a hook writes variables for the later commands of its session, in the language of the shell.
//!
//! Such a file may use everything that a shell can do, as in `export PATH="$PWD/bin:$PATH"`, so a shell reads it: what
//! is different in its environment afterwards are the variables.

#![allow(clippy::disallowed_methods, reason = "a file that hooks write")]

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use becket_hooks::{CommandLane, Failure, HookEnvironment, Invocation, Lane, Program};

use crate::facts::Facts;

/// The variable that names the file, and the events whose hooks get one.
#[derive(Debug, Clone, Copy)]
pub struct EnvFile {
    /// The variable.
    pub variable: &'static str,
    /// The events, by the names of their system.
    pub events: &'static [&'static str],
}

/// How long a shell may take to read the file.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Variables that every shell sets for itself.
const OF_SHELLS: &[&str] = &["_", "SHLVL", "PWD", "OLDPWD"];

/// Prints the environment without the file and, behind an entry that is no variable, with it.
const READER: &str = r#"env -0; printf '=\0'; set -a; . "$HOOK_ENV_FILE" >&2; set +a; env -0"#;

/// The file of one run of a hook. It is gone when the run is over.
pub struct RunFile(PathBuf);

impl RunFile {
    /// A new, empty file.
    pub fn new(facts: &Facts, session_id: &str) -> std::io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&facts.files)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{session_id}-{}-{number}.env", std::process::id());
        let file = facts.files.join(name);
        std::fs::File::create_new(&file)?;
        Ok(Self(file))
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The variables that the file sets.
    pub async fn variables(
        &self,
        environment: &HookEnvironment,
        directory: &Path,
    ) -> Result<BTreeMap<String, String>, Failure> {
        let is_empty = std::fs::metadata(&self.0).is_ok_and(|file| file.len() == 0);
        if is_empty {
            return Ok(BTreeMap::new());
        }
        let program = Program::shell(READER)
            .environment(Arc::clone(&environment.variables))
            .variable("HOOK_ENV_FILE", &self.0);
        let invocation = Invocation {
            input: "".into(),
            environment: Vec::new(),
            directory: directory.to_path_buf(),
            timeout: READ_TIMEOUT,
        };
        let finished = CommandLane::new(program).run(invocation).await?;
        Ok(changed(&finished.stdout))
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        // A file that stays behind holds what the hook wrote into it and nothing else.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The variables that are different in the second environment.
fn changed(printed: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(printed);
    let entries: Vec<&str> = text.split('\0').collect();
    let middle = entries.iter().position(|entry| *entry == "=");
    let (before, after) = entries.split_at(middle.unwrap_or(entries.len()));
    let after = after.iter().filter(|entry| !before.contains(entry));
    let after = after.filter_map(|entry| entry.split_once('='));
    after
        .filter(|(name, _)| !name.is_empty() && !OF_SHELLS.contains(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_or_different_is_a_variable() {
        let printed = b"A=1\0B=x\ny\0_=/bin/env\0=\0A=2\0B=x\ny\0C=a=b\0_=/usr/bin/env\0";
        let expected = [("A", "2"), ("C", "a=b")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(changed(printed), BTreeMap::from(expected));
    }

    #[test]
    fn half_an_answer_sets_nothing() {
        assert!(changed(b"A=1\0B=2\0").is_empty());
    }
}
