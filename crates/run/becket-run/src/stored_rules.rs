//! Allow rules that the user stored at a question: a file for each project, in becket's own folder.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use becket_agent::stored_rule::{RuleKeeper, check};
use becket_lock::lock_within;
use becket_system::Folders;
use becket_system::files::read_regular;
use becket_trust::put;
use serde::{Deserialize, Serialize};

/// The largest file of rules that is read, in bytes.
const MOST_BYTES: u64 = 1024 * 1024;

/// How long to wait for another process that writes the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The stored allow rules of one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRules {
    /// The root of the project.
    pub project: String,
    /// The file that holds the rules; it may not exist yet.
    pub file: PathBuf,
}

/// The content of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    project: String,
    #[serde(default)]
    allow: Vec<String>,
}

impl StoredRules {
    /// The rules of the project in which the program was started.
    pub fn of_project(folders: &Folders) -> Self {
        let root = folders.project.as_os_str().as_encoded_bytes();
        let hash = blake3::hash(root).to_hex();
        Self {
            project: folders.project.display().to_string(),
            file: folders.permissions_folder().join(format!("{}.toml", &hash[..32])),
        }
    }

    /// The rules of all projects that have some, ordered by project. The error names a file that cannot be read.
    pub fn of_all(folders: &Folders) -> Result<Vec<Self>, String> {
        let entries = becket_fs::read_dir(folders.permissions_folder());
        let files = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        let files = files.filter(|file| file.extension().is_some_and(|extension| extension == "toml"));
        let mut all = Vec::new();
        for file in files {
            let project = read(&file)?.map(|written| written.project);
            all.extend(project.map(|project| Self { project, file }));
        }
        all.sort_by(|one, other| one.project.cmp(&other.project));
        Ok(all)
    }

    /// The rules, in the order in which they were stored. The error says why they cannot be read.
    pub fn read(&self) -> Result<Vec<String>, String> {
        let written = read(&self.file)?.filter(|written| written.project == self.project);
        Ok(written.map_or_else(Vec::new, |written| written.allow))
    }

    /// The rules that count, and remarks for the user about the others: the file may have been edited.
    pub fn counting(&self) -> (Vec<String>, Vec<String>) {
        let rules = match self.read() {
            Ok(rules) => rules,
            Err(trouble) => {
                return (
                    Vec::new(),
                    vec![format!("stored permissions are ignored: {trouble}")],
                );
            }
        };
        let mut remarks = Vec::new();
        let mut counting = rules;
        counting.retain(|rule| match check(rule) {
            Ok(()) => true,
            Err(why) => {
                remarks.push(format!("{} is ignored: {why}", self.file.display()));
                false
            }
        });
        (counting, remarks)
    }

    /// Removes a rule. Returns whether it was there.
    pub fn remove(&self, rule: &str) -> Result<bool, String> {
        let mut was_there = false;
        self.change(|rules| {
            was_there = rules.iter().any(|known| known == rule);
            rules.retain(|known| known != rule);
        })?;
        Ok(was_there)
    }

    fn change(&self, work: impl FnOnce(&mut Vec<String>)) -> Result<(), String> {
        let trouble = |error: io::Error| format!("{} cannot be written: {error}", self.file.display());
        let folder = self.file.parent().expect("the file lies in a folder");
        std::fs::create_dir_all(folder).map_err(trouble)?;
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700)).map_err(trouble)?;
        let lock = std::fs::File::create(folder.join("lock")).map_err(trouble)?;
        if !lock_within(&lock, LOCK_TIMEOUT).map_err(trouble)? {
            return Err(trouble(io::Error::other("another process writes there")));
        }
        let mut allow = self.read()?;
        work(&mut allow);
        if allow.is_empty() {
            return match std::fs::remove_file(&self.file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(trouble(error)),
                _ => Ok(()),
            };
        }
        let written = Written {
            project: self.project.clone(),
            allow,
        };
        let text = toml::to_string(&written).map_err(|error| trouble(io::Error::other(error)))?;
        put(&self.file, text.as_bytes()).map_err(trouble)
    }
}

impl RuleKeeper for StoredRules {
    fn place(&self) -> String {
        self.file.display().to_string()
    }

    fn keep(&self, rule: &str) -> Result<(), String> {
        self.change(|rules| {
            if !rules.iter().any(|known| known == rule) {
                rules.push(rule.to_owned());
            }
        })
    }
}

fn read(file: &std::path::Path) -> Result<Option<Written>, String> {
    let unreadable = |why: String| format!("{} cannot be read: {why}", file.display());
    match read_regular(file, MOST_BYTES) {
        Ok(text) => becket_hooks::parse_toml(&text)
            .map(Some)
            .map_err(|error| unreadable(error.to_string())),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(unreadable(error.to_string())),
    }
}
