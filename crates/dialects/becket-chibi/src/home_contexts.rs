//! The contexts of a chibi home: their names, which of them is current, and their conversations.

use std::path::Path;

use becket_host::{ForeignContext, ForeignSession};
use becket_store::ContextName;
use becket_system::files::read_regular;
use serde::Deserialize;
use serde_json::Value;

use crate::conversation::{ReadConversation, lines_of_old_file, read};

/// The largest file of a conversation that is read.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// The largest of the small files that is read.
const FEW_BYTES: u64 = 1024 * 1024;

/// The files that may hold a context's conversation, the first that is there counts.
const CONVERSATIONS: [&str; 3] = ["context.jsonl", OLD, "transcript/active.jsonl"];

/// The file of a conversation in versions before lines.
const OLD: &str = "context.json";

/// The file with the current context of newer versions.
#[derive(Deserialize)]
struct Session {
    implied_context: String,
}

/// The file with all contexts. Older versions keep the current one here, and know names only.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StateFile {
    contexts: Vec<Value>,
    current_context: Option<String>,
}

/// The context that is current in a home, if the home says so.
pub fn current(home: &Path) -> Option<String> {
    let session = read_regular(&home.join("session.json"), FEW_BYTES).ok();
    let session = session.and_then(|text| serde_json::from_str::<Session>(&text).ok());
    session
        .map(|session| session.implied_context)
        .or_else(|| state(home).current_context)
}

fn state(home: &Path) -> StateFile {
    let text = read_regular(&home.join("state.json"), FEW_BYTES).ok();
    text.and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// The contexts of a home: its folders, whether or not its list has them.
pub fn contexts(home: &Path) -> Vec<ForeignContext> {
    let state = state(home);
    let moment = |name: &str, field: &str| {
        let listed = state.contexts.iter().find(|entry| entry["name"] == name);
        listed.and_then(|entry| entry[field].as_u64()).unwrap_or_default()
    };
    let mut contexts: Vec<ForeignContext> = names(home)
        .into_iter()
        .map(|name| {
            let (created, used) = (moment(&name, "created_at"), moment(&name, "last_activity_at"));
            ForeignContext {
                message_count: conversation(home, &name)
                    .map_or(0, |read| read.map_or(0, |read| read.messages)),
                name,
                created_ms: created * 1000,
                last_used_ms: used.max(created) * 1000,
            }
        })
        .collect();
    contexts.sort_by(|one, other| one.name.cmp(&other.name));
    contexts
}

/// The names of the contexts that have a folder.
pub fn names(home: &Path) -> Vec<String> {
    let folders = becket_fs::read_dir(home.join("contexts"))
        .into_iter()
        .flatten()
        .flatten();
    let folders = folders.filter(|folder| folder.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = folders.filter_map(|folder| folder.file_name().into_string().ok());
    names.filter(|name| ContextName::parse(name).is_ok()).collect()
}

/// The conversation of a context, if the home has one with anything in it.
pub fn conversation(home: &Path, context: &str) -> Result<Option<ReadConversation>, String> {
    let folder = home.join("contexts").join(context);
    let text_of = |file: &str, most: u64| match read_regular(&folder.join(file), most) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(format!("{} cannot be read: {error}", folder.join(file).display())),
    };
    let summary = text_of("summary.md", FEW_BYTES)?;
    let mut lines = None;
    for file in CONVERSATIONS {
        lines = match (text_of(file, MOST_BYTES)?, file) {
            (None, _) => continue,
            (Some(text), OLD) => Some(
                lines_of_old_file(&text)
                    .map_err(|why| format!("{} cannot be read: {why}", folder.join(file).display()))?,
            ),
            (lines, _) => lines,
        };
        break;
    }
    let found = read(&lines.unwrap_or_default(), context, summary.as_deref());
    let is_empty = found.seed.entries.is_empty() && found.problems.is_empty();
    Ok((!is_empty).then_some(found))
}

/// The conversation of a context, as a new context of becket begins with it.
pub fn session(home: &Path, context: &str) -> Result<Option<ForeignSession>, String> {
    let read = conversation(home, context)?;
    Ok(read.map(|read| ForeignSession {
        seed: read.seed,
        cwd: None,
        model: None,
        problems: read.problems,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(files: &[(&str, &str)]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let file = home.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        home
    }

    #[test]
    fn the_current_context_is_where_the_version_keeps_it() {
        let newer = (
            "session.json",
            r#"{"implied_context":"work","previous_context":null}"#,
        );
        let older = ("state.json", r#"{"contexts":["a","b"],"current_context":"b"}"#);
        assert_eq!(current(home(&[newer, older]).path()).as_deref(), Some("work"));
        assert_eq!(current(home(&[older]).path()).as_deref(), Some("b"));
        assert_eq!(current(home(&[("session.json", "{")]).path()), None);
    }

    #[test]
    fn every_folder_is_a_context_with_what_the_list_knows_of_it() {
        let line = r#"{"content":"hello","entry_type":"message"}"#;
        let home = home(&[
            ("contexts/b/context.jsonl", line),
            ("contexts/a/summary.md", "what was"),
            ("contexts/not a name/context.jsonl", line),
            ("contexts/file", ""),
            (
                "state.json",
                r#"{"contexts":[{"name":"b","created_at":5,"last_activity_at":7},"a",3]}"#,
            ),
        ]);
        let contexts = contexts(home.path());
        let shown: Vec<_> = contexts
            .iter()
            .map(|one| (one.name.as_str(), one.message_count))
            .collect();
        assert_eq!(shown, [("a", 0), ("b", 1)]);
        assert_eq!((contexts[1].created_ms, contexts[1].last_used_ms), (5000, 7000));
        assert_eq!(session(home.path(), "a").unwrap().unwrap().seed.entries.len(), 1);
        assert!(session(home.path(), "c").unwrap().is_none());
    }
}
