//! Converts conversations to pi's session files and back: for extensions that ask for the file of their session, and
//! for `becket sessions export` and `import`.
//!
//! A file is written when it is asked for. One that is always up to date would cost every run a copy of the whole
//! conversation.

use std::path::{Path, PathBuf};

use becket_agent::context_files::{ContextFile, ContextFiles};
use becket_agent::store::{EntryContent, NewEntry, Origin, Seed, SeedEntry, ShellRun, StoredEntry, Tree};
use becket_host::{AboutSession, ForeignSession, SessionFiles};
use becket_system::Surroundings;
use serde_json::{Value, json};

use crate::entries::iso;
use crate::home::{HOME_VARIABLE, home as home_folder};
use crate::messages::CommandRun;
use crate::pages;
use crate::session_file::{self, FileContent, FileEntry, Header, SessionFile};
use crate::{Entry, EntryKind, ModelName};

/// The kind of an entry that names the agent that speaks in a team.
const SPEAKER: &str = "becket:speaker";

/// The conversation of a file.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// Identifies the conversation.
    pub id: &'a str,
    /// The directory in which the agent works.
    pub cwd: &'a str,
    /// The origin of the conversation.
    pub origin: Option<&'a Origin>,
    /// The folder that holds a folder for each context.
    pub contexts: &'a Path,
    /// When the conversation began, if no entry says so.
    pub now_ms: u64,
}

/// The first line of the file.
pub fn header(tree: &Tree, about: About<'_>) -> Value {
    let parent = match about.origin {
        Some(Origin::Import { header }) => return header.clone(),
        Some(Origin::Fork { context_name, .. }) => {
            let files = ContextFiles::new(about.contexts, context_name);
            Some(files.path(ContextFile::Session).display().to_string())
        }
        Some(Origin::SetUp { parent_file }) => parent_file.clone(),
        None => None,
    };
    let first = tree.entries().first();
    let header = Header {
        id: about.id,
        time_ms: first.map_or(about.now_ms, |entry| entry.time_ms),
        cwd: about.cwd,
        parent: parent.as_deref(),
    };
    header.shown()
}

/// The whole file. `model_of` returns the model of a session, as `provider/name`.
pub fn export(tree: &Tree, about: About<'_>, model_of: impl Fn(&str) -> String) -> String {
    let shown = |entry: &StoredEntry| shown(entry, ModelName::of(&model_of(&entry.session_id)));
    let entries: Vec<Value> = tree.entries().iter().map(|entry| shown(entry)).collect();
    session_file::write(&header(tree, about), &entries, tree.leaf_id())
}

/// An entry in pi's form.
pub fn shown(entry: &StoredEntry, model: ModelName<'_>) -> Value {
    let parent_id = entry.parent_id.as_deref();
    if let Some(source) = &entry.source {
        return session_file::as_it_was(source, &entry.id, parent_id);
    }
    let show = |kind: EntryKind<'_>| {
        let entry = Entry {
            id: &entry.id,
            parent_id,
            time_ms: entry.time_ms,
            kind,
        };
        entry.shown(model)
    };
    match &entry.content {
        EntryContent::Message { message } => show(EntryKind::Message(message)),
        EntryContent::Compaction {
            summary,
            first_kept_id,
            tokens_before,
            by_hook,
            details,
        } => show(EntryKind::Compaction {
            summary,
            first_kept_id: first_kept_id.as_deref(),
            tokens_before: *tokens_before,
            details: details.as_ref(),
            by_hook: *by_hook,
        }),
        EntryContent::BranchSummary {
            from_id,
            summary,
            by_hook,
            details,
        } => show(EntryKind::BranchSummary {
            from_id: from_id.as_deref().unwrap_or("root"),
            summary,
            details: details.as_ref(),
            by_hook: *by_hook,
        }),
        EntryContent::Shell(run) => show(EntryKind::Command(&CommandRun {
            command: run.command.clone(),
            result: run.result.clone(),
            hidden: run.hidden,
        })),
        EntryContent::Model { model } => show(EntryKind::ModelChange(ModelName::of(model))),
        EntryContent::Thinking { level } => {
            let level = json!(level);
            show(EntryKind::ThinkingLevelChange(level.as_str().unwrap_or("off")))
        }
        EntryContent::Name { name } => show(EntryKind::SessionInfo { name: Some(name) }),
        EntryContent::Label { target_id, label } => show(EntryKind::Label {
            target_id,
            label: label.as_deref(),
        }),
        EntryContent::Custom { kind, data } => show(EntryKind::Custom { kind, data }),
        // pi knows no teams, but its other entries follow this one, so it is kept as a custom entry.
        EntryContent::Speaker { agent_name } => show(EntryKind::Custom {
            kind: SPEAKER,
            data: &json!({"agent_name": agent_name}),
        }),
    }
}

/// The seed of a conversation that was read from a file.
pub fn seed(file: SessionFile) -> Seed {
    let planted = |entry: FileEntry| SeedEntry {
        parent_id: entry.parent_id,
        entry: NewEntry {
            id: entry.id,
            time_ms: entry.time_ms,
            content: content(entry.content),
        },
        source: entry.source,
    };
    Seed {
        entries: file.entries.into_iter().map(planted).collect(),
        leaf_id: file.leaf_id,
        origin: Origin::Import { header: file.header },
    }
}

/// The last model of a conversation.
pub fn last_model(seed: &Seed) -> Option<String> {
    seed.entries.iter().rev().find_map(|planted| {
        let said = planted.source.as_ref().map(|source| &source["message"]);
        match (&planted.entry.content, said) {
            (EntryContent::Model { model }, _) => Some(model.clone()),
            (EntryContent::Message { .. }, Some(said)) => Some(format!(
                "{}/{}",
                said["provider"].as_str()?,
                said["model"].as_str()?
            )),
            _ => None,
        }
    })
}

fn content(content: FileContent) -> EntryContent {
    match content {
        FileContent::Message(message) => EntryContent::Message { message },
        FileContent::Command(run) => EntryContent::Shell(ShellRun {
            command: run.command,
            result: run.result,
            hidden: run.hidden,
        }),
        FileContent::Custom { kind, data } if kind == SPEAKER && data["agent_name"].is_string() => {
            let agent_name = data["agent_name"].as_str().unwrap_or_default().into();
            EntryContent::Speaker { agent_name }
        }
        FileContent::Custom { kind, data } => EntryContent::Custom { kind, data },
        FileContent::Compaction {
            summary,
            first_kept_id,
            tokens_before,
            details,
            by_hook,
        } => EntryContent::Compaction {
            summary,
            first_kept_id,
            tokens_before,
            by_hook,
            details,
        },
        FileContent::BranchSummary {
            from_id,
            summary,
            details,
            by_hook,
        } => EntryContent::BranchSummary {
            from_id,
            summary,
            by_hook,
            details,
        },
        FileContent::Label { target_id, label } => EntryContent::Label { target_id, label },
        FileContent::Name(name) => EntryContent::Name { name },
        FileContent::Model(model) => EntryContent::Model { model },
        FileContent::Thinking(word) => match serde_json::from_value(json!(word)) {
            Ok(level) => EntryContent::Thinking { level },
            // A level that becket does not have cannot be passed to a model.
            Err(_) => EntryContent::Custom {
                kind: "pi:thinking_level_change".into(),
                data: json!(word),
            },
        },
    }
}
/// pi's session files.
pub struct PiSessionFiles;

impl SessionFiles for PiSessionFiles {
    fn format(&self) -> &'static str {
        "pi"
    }

    fn read(&self, text: &str) -> Result<ForeignSession, String> {
        let mut read = session_file::read(text)?;
        let problems = std::mem::take(&mut read.problems);
        let cwd = read.header["cwd"].as_str().map(ToOwned::to_owned);
        let seed = seed(read);
        let model = last_model(&seed);
        Ok(ForeignSession {
            seed,
            cwd,
            model,
            problems,
        })
    }

    fn write(&self, tree: &Tree, about: &AboutSession<'_>) -> String {
        let of_file = About {
            id: about.id,
            cwd: about.cwd,
            origin: about.origin,
            contexts: about.contexts,
            now_ms: about.begun_ms,
        };
        export(tree, of_file, |session| (about.model_of)(session))
    }

    fn file_name(&self, about: &AboutSession<'_>) -> String {
        let moment = iso(about.begun_ms).replace([':', '.'], "-");
        format!("{moment}_{}.jsonl", about.id)
    }

    fn page(&self, text: &str) -> Result<String, String> {
        pages::of_file(text)
    }

    fn folder(&self, surroundings: &Surroundings) -> Option<PathBuf> {
        let users_home = surroundings.variable("HOME").map(PathBuf::from);
        let home = surroundings.variable(HOME_VARIABLE).map(PathBuf::from);
        Some(home_folder(home, users_home.as_deref())?.join("sessions"))
    }
}
