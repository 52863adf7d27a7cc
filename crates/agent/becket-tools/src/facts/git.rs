//! Facts that git knows about a folder. git is asked with a deadline, without a pager, without locks, and without
//! programs that a repository's configuration names for it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use becket_hooks::program_outside;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// The longest text in bytes; longer ones are cut.
const MOST_BYTES: usize = 4096;

/// How many bytes of the repository's settings are read.
const MOST_SETTINGS: usize = 64 * 1024;

const CUT: &str = "\n... (truncated)";

/// Options of every call, so that git starts no programs that the repository names.
const SEAL: &[&str] = &[
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    // A folder that looks like a repository may be anybody's.
    "-c",
    "safe.bareRepository=explicit",
    "-c",
    "color.ui=false",
    "-c",
    "log.showSignature=false",
];

/// Variables that would lead git somewhere else, or let it start something.
const NOT_INHERITED: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_TRACE",
];

/// Asks git about folders.
#[derive(Debug, Clone)]
pub struct GitFacts {
    /// The environment that git inherits.
    pub environment: BTreeMap<OsString, OsString>,
    /// How long one git command may take.
    pub deadline: Duration,
}

impl GitFacts {
    /// The state of a repository in short form. `None` outside of a repository, or without git.
    pub async fn status(&self, cwd: &Path) -> Option<String> {
        let output = self
            .ask(cwd, &["status", "--short", "--branch", "--ignore-submodules=all"])
            .await?;
        told("Current git status:", &output)
    }

    /// The changes in the working tree, as statistics or in full. `None` if there are none.
    pub async fn diff(&self, cwd: &Path, detail: DiffDetail) -> Option<String> {
        let mut arguments = vec![
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=all",
        ];
        let head = match detail {
            DiffDetail::Statistics => {
                arguments.push("--stat");
                "Current working-tree diff (stat):"
            }
            DiffDetail::Whole => "Current working-tree diff:",
        };
        told(head, &self.ask(cwd, &arguments).await?)
    }

    /// The last commits, one per line. `None` if there are none.
    pub async fn commits(&self, cwd: &Path, count: u32) -> Option<String> {
        let count = count.to_string();
        let output = self.ask(cwd, &["log", "--oneline", "-n", &count]).await?;
        told("Recent commits:", &output)
    }

    /// git's output, up to the longest text; `None` if it failed or was too slow.
    async fn ask(&self, cwd: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
        self.output(cwd, arguments, MOST_BYTES).await
    }

    /// The output of a git command, of which one byte more than `most` is read at most; `None` if it failed or was too
    /// slow.
    pub async fn output(&self, cwd: &Path, arguments: &[&str], most: usize) -> Option<Vec<u8>> {
        let filters = self.filters(cwd).await.unwrap_or_default();
        self.run(cwd, arguments, (most, &filters)).await
    }

    /// The settings of filters in the repository. Comparing a file runs the program that they name.
    async fn filters(&self, cwd: &Path) -> Option<Vec<String>> {
        const FILTERS: &[&str] = &[
            "config",
            "--show-scope",
            "--name-only",
            "-z",
            "--get-regexp",
            r"^filter\.",
        ];
        let output = self.run(cwd, FILTERS, (MOST_SETTINGS, &[])).await?;
        let text = String::from_utf8(output).ok()?;
        let words: Vec<&str> = text.split_terminator('\0').collect();
        let of_user = ["system", "global", "command"];
        let pairs = words.chunks_exact(2).filter(|pair| !of_user.contains(&pair[0]));
        Some(pairs.map(|pair| pair[1].to_owned()).collect())
    }

    /// Runs git without the filters.
    async fn run(
        &self,
        cwd: &Path,
        arguments: &[&str],
        (most, filters): (usize, &[String]),
    ) -> Option<Vec<u8>> {
        let search_path = self.environment.get(OsStr::new("PATH"))?;
        let mut command = Command::new(program_outside("git", search_path, cwd)?);
        command
            .args(SEAL)
            .args(arguments)
            .current_dir(cwd)
            .env_clear()
            .envs(&self.environment)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .process_group(0);
        for name in NOT_INHERITED {
            command.env_remove(name);
        }
        for (number, filter) in filters.iter().enumerate() {
            let off = if filter.ends_with(".required") {
                "false"
            } else {
                ""
            };
            command
                .env(format!("GIT_CONFIG_KEY_{number}"), filter)
                .env(format!("GIT_CONFIG_VALUE_{number}"), off);
        }
        command.env("GIT_CONFIG_COUNT", filters.len().to_string());
        let mut child = command.spawn().ok()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let work = async {
            let mut output = Vec::new();
            child
                .stdout
                .take()?
                .take(most as u64 + 1)
                .read_to_end(&mut output)
                .await
                .ok()?;
            if output.len() > most {
                // The rest is not used, so git is not waited for.
                return Some(output);
            }
            child.wait().await.ok()?.success().then_some(output)
        };
        let answer = tokio::time::timeout(self.deadline, work).await.ok().flatten();
        // Only while the child is not reaped is the id of its group certain to be its own.
        if child.try_wait().is_ok_and(|status| status.is_none())
            && let Some(group) = group
        {
            let _ = kill_process_group(group, Signal::KILL);
            let _ = child.wait().await;
        }
        answer
    }
}

/// How much of a diff is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffDetail {
    /// The number of changed lines per file.
    Statistics,
    /// Every changed line.
    Whole,
}

/// A text under its heading, cut if it is too long.
fn told(head: &str, output: &[u8]) -> Option<String> {
    let is_cut = output.len() > MOST_BYTES;
    let output = &output[..output.len().min(MOST_BYTES)];
    let mut text = String::from_utf8_lossy(output).trim_end().to_owned();
    if text.trim().is_empty() {
        return None;
    }
    if is_cut {
        // A character that the cut has torn is left out.
        text.truncate(text.trim_end_matches(char::REPLACEMENT_CHARACTER).len());
        text.push_str(CUT);
    }
    Some(format!("{head}\n\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> GitFacts {
        let path = ["PATH", "/usr/local/bin:/usr/bin:/bin"].map(OsString::from);
        let [name, value] = path;
        GitFacts {
            environment: [(name, value), ("HOME".into(), "/nonexistent".into())].into(),
            deadline: Duration::from_secs(60),
        }
    }

    fn git(folder: &Path, arguments: &[&str]) {
        let status = std::process::Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
            .args(arguments)
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "git {arguments:?}");
    }

    async fn all(folder: &Path) -> [Option<String>; 4] {
        let facts = facts();
        [
            facts.status(folder).await,
            facts.diff(folder, DiffDetail::Statistics).await,
            facts.diff(folder, DiffDetail::Whole).await,
            facts.commits(folder, 2).await,
        ]
    }

    #[tokio::test]
    async fn outside_of_a_repository_nothing_is_told() {
        let room = tempfile::tempdir().unwrap();
        assert_eq!(all(room.path()).await, [None, None, None, None]);
        assert_eq!(all(&room.path().join("missing")).await, [None, None, None, None]);
        let without_git = GitFacts {
            environment: [("PATH".into(), "/nonexistent".into())].into(),
            deadline: Duration::from_secs(60),
        };
        git(room.path(), &["init", "-q", "-b", "main"]);
        assert_eq!(without_git.status(room.path()).await, None);
    }

    #[tokio::test]
    async fn a_repository_is_told_from_empty_to_changed() {
        let room = tempfile::tempdir().unwrap();
        git(room.path(), &["init", "-q", "-b", "main"]);
        let status = "Current git status:\n\n## No commits yet on main";
        assert_eq!(all(room.path()).await, [Some(status.into()), None, None, None]);
        for number in 1..=3 {
            std::fs::write(room.path().join("file"), format!("{number}\n")).unwrap();
            git(room.path(), &["add", "file"]);
            git(room.path(), &["commit", "-q", "-m", &format!("commit {number}")]);
        }
        let [status, statistics, whole, commits] = all(room.path()).await;
        assert_eq!(status.unwrap(), "Current git status:\n\n## main");
        assert_eq!([statistics, whole], [None, None], "a clean tree");
        let commits = commits.unwrap();
        let lines: Vec<&str> = commits.lines().collect();
        assert_eq!((lines.len(), lines[0]), (4, "Recent commits:"));
        assert!(
            lines[2].ends_with("commit 3") && lines[3].ends_with("commit 2"),
            "{commits}"
        );
        std::fs::write(room.path().join("file"), "four\n").unwrap();
        let [status, statistics, whole, _] = all(room.path()).await;
        assert_eq!(status.unwrap(), "Current git status:\n\n## main\n M file");
        let statistics = statistics.unwrap();
        assert!(
            statistics.starts_with("Current working-tree diff (stat):\n\n file | 2 +-"),
            "{statistics}"
        );
        let whole = whole.unwrap();
        assert!(
            whole.starts_with("Current working-tree diff:\n\ndiff --git"),
            "{whole}"
        );
        assert!(whole.ends_with("-3\n+four"), "{whole}");
    }

    #[tokio::test]
    async fn long_texts_are_cut_between_characters() {
        let room = tempfile::tempdir().unwrap();
        git(room.path(), &["init", "-q", "-b", "main"]);
        std::fs::write(room.path().join("file"), "x\n").unwrap();
        git(room.path(), &["add", "file"]);
        std::fs::write(room.path().join("file"), "ü".repeat(10_000)).unwrap();
        let text = facts().diff(room.path(), DiffDetail::Whole).await.unwrap();
        assert!(text.ends_with("ü\n... (truncated)"), "{text}");
        assert!(text.len() < MOST_BYTES + 100);
    }

    #[tokio::test]
    async fn a_git_that_hangs_is_ended_and_programs_of_the_repository_do_not_run() {
        use std::os::unix::fs::PermissionsExt;
        let room = tempfile::tempdir().unwrap();
        let fake = room.path().join("bin/git");
        std::fs::create_dir(room.path().join("bin")).unwrap();
        std::fs::write(&fake, "#!/bin/sh\nsleep 600\n").unwrap();
        std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", room.path().join("bin").display());
        let slow = GitFacts {
            environment: [("PATH".into(), path.into())].into(),
            deadline: Duration::from_millis(200),
        };
        assert_eq!(slow.status(room.path()).await, None);

        let place = room.path().join("repository");
        std::fs::create_dir(&place).unwrap();
        git(&place, &["init", "-q"]);
        let touched = room.path().join("touched");
        let program = format!("touch {}; false", touched.display());
        for key in ["core.fsmonitor", "core.pager", "diff.external"] {
            git(&place, &["config", key, &program]);
        }
        std::fs::write(place.join("file"), "x\n").unwrap();
        git(&place, &["add", "--intent-to-add", "file"]);
        for key in ["clean", "smudge", "process"] {
            git(&place, &["config", &format!("filter.a = b.{key}"), &program]);
        }
        git(&place, &["config", "filter.a = b.required", "true"]);
        std::fs::write(
            place.join(".git/info/attributes"),
            "* filter=a\\ =\\ b\n* filter=c\n",
        )
        .unwrap();
        git(&place, &["config", "filter.c.clean", &program]);
        let _ = std::fs::remove_file(&touched);
        assert!(facts().status(&place).await.is_some());
        assert!(facts().diff(&place, DiffDetail::Whole).await.is_some());
        assert!(!touched.exists(), "a program of the repository ran");

        // What looks like a repository, in a folder without one.
        let bare = room.path().join("bare");
        git(room.path(), &["init", "-q", "--bare", "bare"]);
        git(&bare, &["config", "core.bare", "false"]);
        git(&bare, &["config", "core.worktree", "."]);
        assert_eq!(facts().status(&bare).await, None);
    }
}
