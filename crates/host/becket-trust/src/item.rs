//! The things of a project that need trust, one by one, and their identity: the entry and the bytes of its files.
//!
//! An identity is a hash of kind, place and entry, and of each file its name, its real place, whether it runs, and its
//! bytes. It has no absolute path of the project in it, so that a lock means the same on every machine; the store is by
//! folder.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_hooks::CommandLine;
use serde::{Deserialize, Serialize};

/// The kind of a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A hook of a settings file.
    Hook,
    /// The permission rules of a settings file.
    Rules,
    /// An extension.
    Extension,
    /// Skills, prompt templates and themes.
    Resources,
    /// The lock file, which lists what the project's authors have reviewed.
    Lock,
    /// A guard that was trusted, and no longer exists.
    Absence,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Rules => "rules",
            Self::Extension => "extension",
            Self::Resources => "resources",
            Self::Lock => "lock",
            Self::Absence => "absence",
        }
    }

    /// The kind of a thing that may guard, by its name.
    pub fn named(name: &str) -> Option<Self> {
        let guarding = [Self::Hook, Self::Rules, Self::Extension];
        guarding.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether a lock covers things of this kind.
    pub fn is_lockable(self) -> bool {
        !matches!(self, Self::Lock | Self::Absence)
    }
}

/// One thing that counts once it is trusted.
#[derive(Debug, Clone)]
pub struct Item {
    pub kind: Kind,
    /// The thing's name in its file.
    pub name: String,
    /// The file that declares the thing, relative to the project's root.
    pub source: String,
    /// Everything that decides what runs and when, as text.
    pub entry: String,
    /// Whether a run without the thing may be one without a guard.
    pub guards: bool,
    /// The files that are hashed besides the entry.
    pub files: BTreeMap<String, File>,
    /// What the scripts may load that is not visible in their text.
    pub open: Vec<String>,
    /// Why the thing cannot be trusted by its content at all.
    pub trouble: Option<String>,
    /// How the thing is started from its copy.
    pub command: Option<Command>,
    /// Variables that name files of the thing.
    pub variables: BTreeMap<String, Vec<Word>>,
    /// Folders in which Python looks for modules instead of the working directory, relative to the project's root.
    pub module_folders: Option<Vec<String>>,
}

/// The identity of a guard by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    pub kind: Kind,
    pub source: String,
    pub name: String,
}

impl Known {
    pub fn is(&self, item: &Item) -> bool {
        (self.kind, &self.source, &self.name) == (item.kind, &item.source, &item.name)
    }
}

/// A file by its name in the project.
#[derive(Debug, Clone)]
pub struct File {
    /// The resolved path: relative to the project's root, or absolute if outside.
    pub place: String,
    pub state: FileState,
    /// The file's hash; empty if there is no file.
    pub hash: String,
    pub bytes: Arc<[u8]>,
    /// Where the text names files by paths that lead past the copy.
    pub edits: Vec<Edit>,
}

/// The state of a file in the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    Plain,
    Runnable,
    Missing,
}

/// A place in a text that contains the path of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub span: Range<usize>,
    /// The file, relative to the project's root.
    pub file: String,
}

/// A command line with the places where it names files of the project.
#[derive(Debug, Clone)]
pub enum Command {
    Shell(String, Vec<Edit>),
    Exec(Vec<Word>),
}

/// A word of a command line.
#[derive(Debug, Clone)]
pub enum Word {
    Text(String),
    /// A file, relative to the project's root.
    File(String),
    /// A line for the shell.
    Line(String, Vec<Edit>),
}

impl Item {
    /// The thing's identity, a hash: other bytes give another identity.
    pub fn identity(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        for text in [self.kind.name(), &self.source, &self.name, &self.entry] {
            add(text);
        }
        for (name, file) in &self.files {
            for text in [name, &file.place, file.state.name(), &file.hash] {
                add(text);
            }
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The thing's title in listings and messages.
    pub fn title(&self) -> String {
        match self.kind {
            Kind::Hook => format!("{}: the hook {}", self.source, self.name),
            Kind::Rules => format!("{}: its rules", self.source),
            Kind::Extension => format!("{}: the extension {}", self.source, self.name),
            Kind::Resources => "skills, prompt templates and themes".into(),
            Kind::Lock => self.source.clone(),
            Kind::Absence => format!("{}: the guard {}, which is gone", self.source, self.name),
        }
    }

    /// Whether a path means this thing: its file, one of the files that it consists of, or a folder around it.
    pub fn is_at(&self, path: &Path) -> bool {
        let within = |name: &str| Path::new(name).starts_with(path);
        let is_in_lock = |name: &str| self.kind == Kind::Lock && name != self.source;
        within(&self.source) || self.files.keys().any(|name| within(name) && !is_in_lock(name))
    }
}

impl FileState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Runnable => "runnable",
            Self::Missing => "missing",
        }
    }
}

impl Command {
    /// The command line with the paths of a copy.
    pub fn in_copy(&self, copy: &Path) -> CommandLine {
        match self {
            Self::Shell(line, edits) => CommandLine::Shell(edited(line, edits, copy)),
            Self::Exec(words) => CommandLine::Exec(words.iter().map(|word| word.in_copy(copy)).collect()),
        }
    }
}

impl Word {
    /// The word with the paths of a copy.
    pub fn in_copy(&self, copy: &Path) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::File(file) => copy.join(file).display().to_string(),
            Self::Line(line, edits) => edited(line, edits, copy),
        }
    }
}

impl File {
    /// The file's content in the copy: the same text, with the paths of the copy.
    pub fn in_copy(&self, copy: &Path) -> Vec<u8> {
        match std::str::from_utf8(&self.bytes) {
            Ok(text) if !self.edits.is_empty() => edited(text, &self.edits, copy).into_bytes(),
            _ => self.bytes.to_vec(),
        }
    }
}

fn edited(text: &str, edits: &[Edit], copy: &Path) -> String {
    let (mut result, mut from) = (String::with_capacity(text.len()), 0);
    for edit in edits {
        result.push_str(&text[from..edit.span.start]);
        result.push_str(&shell_quoted(&copy.join(&edit.file).display().to_string()));
        from = edit.span.end;
    }
    result.push_str(&text[from..]);
    result
}

/// A text as one word for the shell.
pub fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A path without `.` and `..`, without looking at the file system.
pub fn plain(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(result.pop()),
            part => result.push(part),
        }
    }
    result
}
