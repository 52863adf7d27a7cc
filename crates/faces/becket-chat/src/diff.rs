//! `/diff`: what has changed in the git repository of the working directory since the last commit, new files included.
//!
//! A repository may name programs for git to run: filters of contents, another program for differences, a monitor of
//! files, hooks, a server that has missing objects. So files are not compared by the repository itself, but by an empty
//! one without settings, which reads the objects of the first and has a copy of its index.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Output as Done, Stdio};
use std::time::Duration;

use becket_face_kit::Conversation;
use becket_front::{Kind, Output, Style, result_line};
use becket_hooks::{guest_environment, program_outside};
use becket_system::{Surroundings, counted, harmless};
use tokio::process::Command;

/// How long all of it may take.
const TIMEOUT: Duration = Duration::from_secs(15);

/// How many lines are shown.
const MOST_LINES: usize = 500;

/// How many bytes of a new file are read.
const MOST_BYTES: u64 = 256 * 1024;

/// The options of every call: nothing is written, and where the repository has settings, no program runs.
const SAFE: &[&str] = &[
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
];

/// The variables of every call: no words that depend on the language, and no missing objects from elsewhere.
const QUIET: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// What is asked of the repository: its top, its objects, its index and the kind of its hashes.
const PLACES: &[&str] = &[
    "rev-parse",
    "--show-toplevel",
    "--git-path",
    "objects",
    "--git-path",
    "index",
    "--show-object-format",
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

/// Where changes are looked for.
pub struct Looking<'a> {
    /// The user's environment.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// The folder that is in the repository.
    pub folder: &'a Path,
    /// A folder of this process that becket may fill and remove.
    pub scratch: &'a Path,
}

/// The folder of this process for `/diff`.
pub fn scratch(conversation: &Conversation) -> PathBuf {
    let cache = &conversation.setup().folders.cache;
    cache.join("diff").join(std::process::id().to_string())
}

/// The changes as coloured lines; the error says why there are none.
pub async fn of(looking: Looking<'_>, style: Style) -> Result<Vec<String>, String> {
    let lines = tokio::time::timeout(TIMEOUT, changes(&looking)).await;
    let _ = fs::remove_dir_all(looking.scratch);
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

async fn changes(looking: &Looking<'_>) -> Result<Vec<String>, String> {
    let mut environment = guest_environment(looking.environment.clone());
    environment.extend(QUIET.iter().map(|(name, value)| (name.into(), value.into())));
    let mut user = Git {
        environment,
        folder: looking.folder.to_owned(),
    };
    let repository = Repository::of(&user).await?;
    let sealed = repository
        .sealed(looking.scratch, &user)
        .map_err(|error| format!("the repository cannot be read: {error}"))?;
    let before = match &repository.commit {
        Some(commit) => commit.clone(),
        // Without a commit everything is compared with the empty tree, whose name depends on the kind of hash.
        None => sealed.text(&["hash-object", "-t", "tree", "--stdin"]).await?,
    };
    let diff = sealed.text(&[DIFF, &[before.trim(), "--"][..]].concat()).await?;
    let mut lines: Vec<String> = diff.lines().map(ToOwned::to_owned).collect();
    // Which files are ignored, the repository and the user's settings say.
    user.folder.clone_from(&repository.top);
    let names = user.checked(NEW_FILES).await?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let names: Vec<OsString> = names.map(|name| OsString::from_vec(name.to_vec())).collect();
    let new = tokio::task::spawn_blocking(move || new_files(&repository.top, &names));
    lines.extend(new.await.map_err(|error| error.to_string())?);
    Ok(lines)
}

/// The user's repository.
struct Repository {
    top: PathBuf,
    objects: PathBuf,
    index: PathBuf,
    has_sha256: bool,
    /// The last commit, if there is one.
    commit: Option<String>,
}

impl Repository {
    async fn of(git: &Git) -> Result<Self, String> {
        let places = git.checked(PLACES).await.map_err(|words| {
            // The words are those of LC_ALL=C.
            match words.contains("not a git repository") {
                true => "there is no git repository here, so nothing can be compared".into(),
                false => words,
            }
        })?;
        let places: Vec<&[u8]> = places.trim_ascii_end().split(|byte| *byte == b'\n').collect();
        let [top, objects, index, hashes] = places[..] else {
            return Err("the names of the repository's folders cannot be read".into());
        };
        let place = |path: &[u8]| git.folder.join(OsStr::from_bytes(path));
        let commit = git.run(&["rev-parse", "--verify", "--quiet", "HEAD"]).await?;
        let name = String::from_utf8_lossy(&commit.stdout).trim().to_owned();
        Ok(Self {
            top: place(top),
            objects: place(objects),
            index: place(index),
            has_sha256: hashes == b"sha256",
            commit: commit.status.success().then_some(name),
        })
    }

    /// Another repository with the same objects and index, and without settings. It is made in this folder.
    fn sealed(&self, folder: &Path, git: &Git) -> io::Result<Git> {
        fs::create_dir_all(folder.join("refs"))?;
        fs::write(folder.join("HEAD"), "ref: refs/heads/none\n")?;
        fs::write(
            folder.join("config"),
            match self.has_sha256 {
                true => "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n",
                false => "[core]\nrepositoryformatversion = 0\n",
            },
        )?;
        match copy_with_time(&self.index, &folder.join("index")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let folders = [
            ("GIT_DIR", folder),
            ("GIT_WORK_TREE", self.top.as_path()),
            ("GIT_OBJECT_DIRECTORY", self.objects.as_path()),
            ("HOME", folder),
            ("XDG_CONFIG_HOME", folder),
        ];
        let folders = folders.map(|(name, path)| (name.into(), path.as_os_str().to_owned()));
        let others = QUIET
            .iter()
            .chain(&[("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_ATTR_NOSYSTEM", "1")]);
        let others = others.map(|(name, value)| (name.into(), value.into()));
        let path = git.environment.get_key_value(OsStr::new("PATH"));
        let path = path.map(|(name, value)| (name.clone(), value.clone()));
        Ok(Git {
            environment: folders.into_iter().chain(others).chain(path).collect(),
            folder: self.top.clone(),
        })
    }
}

/// Copies an index. git looks into files that are as young as the index, since they may have changed in the same second
/// without another size; a copy of today would hide them.
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let time = fs::metadata(from)?.modified()?;
    File::options().write(true).open(to)?.set_modified(time)
}

/// Runs git in a folder, with these variables and no others.
struct Git {
    environment: BTreeMap<OsString, OsString>,
    folder: PathBuf,
}

impl Git {
    async fn run(&self, arguments: &[&str]) -> Result<Done, String> {
        let search_path = self.environment.get(OsStr::new("PATH"));
        let program = search_path.and_then(|places| program_outside("git", places, &self.folder));
        let git = Command::new(program.ok_or("there is no git on the PATH outside of the project")?)
            .args(SAFE)
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs(&self.environment)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_index_is_as_old_as_the_original() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["index", "copy"].map(|name| folder.path().join(name));
        fs::write(&from, "entries").unwrap();
        let past = std::time::SystemTime::now() - Duration::from_secs(60);
        File::options()
            .write(true)
            .open(&from)
            .and_then(|file| file.set_modified(past))
            .unwrap();
        copy_with_time(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"entries");
        assert_eq!(fs::metadata(&to).unwrap().modified().unwrap(), past);
    }
}
