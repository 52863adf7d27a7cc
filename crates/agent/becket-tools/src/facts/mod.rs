//! Facts about the machine and the folder, as short texts for a model: where it works, which files are there, who the
//! user is, what git knows. If there is nothing to tell, there is no text.
//!
//! `git.rs` asks git, `prompt_files.rs` reads files of instructions. `secrets.rs` hides what must not be told, and
//! `post.rs` sends JSON to a web address.

mod git;
mod post;
mod prompt_files;
mod secrets;

use std::path::Path;

pub use git::{DiffDetail, GitFacts};
pub use post::{Posted, post, post_freely};
pub use prompt_files::{PromptFileText, prompt_file_texts};
pub use secrets::{REDACTED, redact, redact_value};

/// How many entries of a folder are named before the rest is only counted.
const MOST_ENTRIES: usize = 100;

/// The folder, repository and system in which the agent works.
pub fn environment_text(cwd: &Path) -> String {
    let is_repository = cwd.ancestors().any(|folder| folder.join(".git").exists());
    let repository = if is_repository { "Yes" } else { "No" };
    let system = match std::env::consts::OS {
        "linux" => "Linux",
        "macos" => "MacOS",
        "windows" => "Windows",
        other => other,
    };
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!(
        "Here is useful information about the environment you are running in:\n\t<env>\n\tWorking directory: {}\n\t\
         Is directory a git repo: {repository}\n\tOperating System: {system}\n\tCPU Architecture: {architecture}\n\t\
         </env>",
        cwd.display()
    )
}

/// The entries of a folder, without hidden ones. `None` if it cannot be read or is empty.
pub fn listing_text(cwd: &Path) -> Option<String> {
    let entries = std::fs::read_dir(cwd).ok()?.flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().replace(char::is_control, "?");
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let end = if is_folder { "/" } else { "" };
            (!name.starts_with('.')).then(|| format!("{name}{end}"))
        })
        .collect();
    if names.is_empty() {
        return None;
    }
    names.sort();
    let mut lines: Vec<String> = names
        .iter()
        .take(MOST_ENTRIES)
        .map(|name| format!("- {name}"))
        .collect();
    if names.len() > MOST_ENTRIES {
        lines.push(format!("... and {} more", names.len() - MOST_ENTRIES));
    }
    let lines = lines.join("\n");
    Some(format!("Top-level entries in {}:\n\n{lines}", cwd.display()))
}

/// The user's name, as far as the machine knows it. `name` is used if the system does not know the user.
pub fn user_text(name: Option<&str>) -> Option<String> {
    let id = rustix::process::getuid().as_raw();
    let known = std::fs::read_to_string("/etc/passwd")
        .ok()
        .and_then(|text| user_of(&text, id));
    let (user, full_name) = match known {
        Some((user, full_name)) => (Some(user), full_name),
        None => (name.map(str::to_owned), None),
    };
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let facts = [
        ("User", user),
        ("Full name", full_name),
        ("Hostname", Some(host).filter(|host| !host.is_empty())),
    ];
    let lines: Vec<String> = facts
        .into_iter()
        .filter_map(|(what, value)| Some(format!("{what}: {}", value?)))
        .collect();
    (!lines.is_empty()).then(|| format!("Current user:\n\n{}", lines.join("\n")))
}

/// The name and the full name of a user in the text of a `passwd` file.
fn user_of(text: &str, id: u32) -> Option<(String, Option<String>)> {
    let id = id.to_string();
    let fields = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let own = { fields }.find(|fields| fields.get(2) == Some(&id.as_str()))?;
    let full_name = own
        .get(4)
        .map(|about| about.split(',').next().unwrap_or_default());
    let full_name = full_name.filter(|name| !name.is_empty()).map(str::to_owned);
    Some((own[0].to_owned(), full_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_told_in_its_known_form() {
        let room = tempfile::tempdir().unwrap();
        let below = room.path().join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        let text = environment_text(&below);
        assert!(text.starts_with(
            "Here is useful information about the environment you are running in:\n\t<env>\n\t"
        ));
        assert!(text.contains(&format!("\tWorking directory: {}\n", below.display())));
        assert!(text.contains("\tIs directory a git repo: No\n"), "{text}");
        assert!(text.ends_with("\n\t</env>"), "{text}");
        // A worktree and a submodule have a file in the place of the folder.
        std::fs::write(room.path().join(".git"), "gitdir: elsewhere").unwrap();
        assert!(environment_text(&below).contains("\tIs directory a git repo: Yes\n"));
    }

    #[test]
    fn a_listing_is_sorted_short_and_without_hidden_files() {
        let room = tempfile::tempdir().unwrap();
        assert_eq!(listing_text(room.path()), None, "nothing to tell");
        assert_eq!(listing_text(&room.path().join("missing")), None);
        std::fs::write(room.path().join(".hidden"), "").unwrap();
        assert_eq!(listing_text(room.path()), None);
        std::fs::write(room.path().join("b\nc"), "").unwrap();
        std::fs::create_dir(room.path().join("a")).unwrap();
        let head = format!("Top-level entries in {}:\n\n", room.path().display());
        assert_eq!(listing_text(room.path()).unwrap(), format!("{head}- a/\n- b?c"));
        for number in 0..100 {
            std::fs::write(room.path().join(format!("x{number:03}")), "").unwrap();
        }
        let text = listing_text(room.path()).unwrap();
        assert!(text.ends_with("- x097\n... and 2 more"), "{text}");
    }

    #[test]
    fn a_user_is_found_by_number() {
        let text =
            "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000:Ann Other,,,:/home/ann:/bin/sh\nx:x:7:7::/:/x\n";
        assert_eq!(
            user_of(text, 1000),
            Some(("ann".into(), Some("Ann Other".into())))
        );
        assert_eq!(user_of(text, 7), Some(("x".into(), None)));
        assert_eq!(user_of(text, 8), None);
        assert_eq!(user_of("nonsense\n\n:::", 0), None);
        assert!(
            user_text(Some("somebody"))
                .unwrap()
                .starts_with("Current user:\n\n")
        );
    }
}
