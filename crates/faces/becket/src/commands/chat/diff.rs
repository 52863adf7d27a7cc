//! `/diff`: what has changed in the git repository of the working directory since the last commit.
//!
//! A repository may name programs that git would run for a diff; they are not run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use becket_system::{Surroundings, counted, harmless};
use tokio::process::Command;

use crate::front::{Kind, Output, Style, result_line};

/// How long git may take.
const TIMEOUT: Duration = Duration::from_secs(15);

/// How many lines are shown.
const MOST_LINES: usize = 500;

/// The options that keep git from running programs of the repository.
const SAFE: &[&str] = &[
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "color.ui=false",
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
    "HEAD",
];

/// The changes as coloured lines; the error says why there are none.
pub async fn of(
    environment: Arc<BTreeMap<OsString, OsString>>,
    folder: &Path,
    style: Style,
) -> Result<Vec<String>, String> {
    let git = Command::new("git")
        .args(SAFE)
        .current_dir(folder)
        .env_clear()
        .envs(environment.as_ref())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let done = tokio::time::timeout(TIMEOUT, git).await;
    let done = done.map_err(|_| format!("git took longer than {} seconds", TIMEOUT.as_secs()))?;
    let output = done.map_err(|error| format!("git cannot be started: {error}"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        let first = error.lines().next().unwrap_or("git failed").to_owned();
        return Err(harmless(&first));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().take(MOST_LINES);
    let mut lines: Vec<String> = lines.map(|line| result_line(line, Kind::Diff, style)).collect();
    let left = text.lines().count().saturating_sub(MOST_LINES);
    if left > 0 {
        lines.push(format!(
            "… {}; `git diff HEAD` shows all",
            counted(left as u64, "more line")
        ));
    }
    Ok(lines)
}

/// Shows the changes, or why there are none.
pub fn show(lines: Result<Vec<String>, String>, output: &Output, surroundings: &Surroundings) {
    match lines {
        Ok(lines) if lines.is_empty() => surroundings.remark("nothing has changed since the last commit"),
        Ok(lines) => lines.iter().for_each(|line| output.say(line)),
        Err(why) => surroundings.complain(&why),
    }
}
