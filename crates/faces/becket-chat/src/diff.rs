//! `/diff`: what has changed in the git repository of the working directory since the last commit, new files included.
//!
//! A repository may name programs that git would run for a diff; they are not run.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Output as Done, Stdio};
use std::sync::Arc;
use std::time::Duration;

use becket_front::{Kind, Output, Style, result_line};
use becket_system::{Surroundings, counted, harmless};
use tokio::process::Command;

/// How long all of it may take.
const TIMEOUT: Duration = Duration::from_secs(15);

/// How many lines are shown.
const MOST_LINES: usize = 500;

/// How many bytes of a new file are read.
const MOST_BYTES: u64 = 256 * 1024;

/// The options that keep git from running programs of the repository.
const SAFE: &[&str] = &[
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "color.ui=false",
];

/// The changes of all tracked files.
const DIFF: &[&str] = &[
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
];

/// The names of new files that are not ignored.
const NEW_FILES: &[&str] = &["ls-files", "--others", "--exclude-standard", "-z"];

/// The changes as coloured lines; the error says why there are none.
pub async fn of(
    environment: Arc<BTreeMap<OsString, OsString>>,
    folder: &Path,
    style: Style,
) -> Result<Vec<String>, String> {
    let lines = tokio::time::timeout(TIMEOUT, changes(environment, folder)).await;
    let lines = lines.map_err(|_| format!("git took longer than {} seconds", TIMEOUT.as_secs()))??;
    let shown = lines.iter().take(MOST_LINES);
    let mut shown: Vec<String> = shown.map(|line| result_line(line, Kind::Diff, style)).collect();
    let left = lines.len().saturating_sub(MOST_LINES);
    if left > 0 {
        let more = counted(left as u64, "more line");
        shown.push(format!("… {more}; `git diff HEAD` and `git status` show all"));
    }
    Ok(shown)
}

async fn changes(
    environment: Arc<BTreeMap<OsString, OsString>>,
    folder: &Path,
) -> Result<Vec<String>, String> {
    let mut git = Git {
        environment,
        folder: folder.to_owned(),
    };
    let root = git.run(&["rev-parse", "--show-toplevel"]).await?;
    if !root.status.success() {
        return Err(match first_line(&root.stderr) {
            // Its words are those of LC_ALL=C.
            words if words.contains("not a git repository") => {
                "there is no git repository here, so nothing can be compared".into()
            }
            words => words,
        });
    }
    let root = root.stdout.strip_suffix(b"\n").unwrap_or(&root.stdout);
    git.folder = PathBuf::from(OsStr::from_bytes(root));
    let has_commit = git.run(&["rev-parse", "--verify", "--quiet", "HEAD"]).await?;
    // Without a commit everything is compared with the empty tree, whose name depends on the kind of hash.
    let before = match has_commit.status.success() {
        true => "HEAD".to_owned(),
        false => git.text(&["hash-object", "-t", "tree", "--stdin"]).await?,
    };
    let diff = git.text(&[DIFF, &[before.trim(), "--"][..]].concat()).await?;
    let mut lines: Vec<String> = diff.lines().map(ToOwned::to_owned).collect();
    let names = git.checked(NEW_FILES).await?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let names: Vec<OsString> = names.map(|name| OsString::from_vec(name.to_vec())).collect();
    let root = git.folder;
    let new = tokio::task::spawn_blocking(move || new_files(&root, &names));
    lines.extend(new.await.map_err(|error| error.to_string())?);
    Ok(lines)
}

/// Runs git in a folder.
struct Git {
    environment: Arc<BTreeMap<OsString, OsString>>,
    folder: PathBuf,
}

impl Git {
    async fn run(&self, arguments: &[&str]) -> Result<Done, String> {
        let git = Command::new("git")
            .args(SAFE)
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.environment.as_ref())
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        git.await
            .map_err(|error| format!("git cannot be started: {error}"))
    }

    /// What git has written; the error is what it complains about.
    async fn checked(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let done = self.run(arguments).await?;
        match done.status.success() {
            true => Ok(done.stdout),
            false => Err(first_line(&done.stderr)),
        }
    }

    async fn text(&self, arguments: &[&str]) -> Result<String, String> {
        let written = self.checked(arguments).await?;
        Ok(String::from_utf8_lossy(&written).into_owned())
    }
}

fn first_line(error: &[u8]) -> String {
    let error = String::from_utf8_lossy(error);
    harmless(error.lines().next().unwrap_or("git failed"))
}

/// New files as a diff shows them. As soon as there are more lines than are shown, the rest is only counted by files.
fn new_files(root: &Path, names: &[OsString]) -> Vec<String> {
    let mut lines = Vec::new();
    for name in names {
        let shown = name.to_string_lossy();
        lines.push(format!("diff --git a/{shown} b/{shown}"));
        if lines.len() > MOST_LINES {
            continue;
        }
        lines.push("new file, which git does not track yet".into());
        match beginning(&root.join(name)) {
            Some(text) => {
                lines.push(format!("+++ b/{shown}"));
                lines.extend(text.lines().map(|line| format!("+{line}")));
            }
            None => lines.push("Its content is not text".into()),
        }
    }
    lines
}

/// The beginning of a file, if it is text.
fn beginning(path: &Path) -> Option<String> {
    let found = path.symlink_metadata().ok()?;
    if found.is_symlink() {
        return Some(path.read_link().ok()?.display().to_string());
    }
    if !found.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path)
        .ok()?
        .take(MOST_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    let text = String::from_utf8_lossy(&bytes);
    (!text.contains('\0')).then(|| text.into_owned())
}

/// Shows the changes, or why there are none.
pub fn show(lines: Result<Vec<String>, String>, output: &Output, surroundings: &Surroundings) {
    match lines {
        Ok(lines) if lines.is_empty() => surroundings.remark("nothing has changed since the last commit"),
        Ok(lines) => lines.iter().for_each(|line| output.say_as_is(line)),
        Err(why) => surroundings.complain(&why),
    }
}
