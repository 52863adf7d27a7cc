//! The memories of an agent beyond its conversations: an SQLite file of texts, each with an ID and perhaps a category.
//!
//! The table is the same as that of similar agents, so that their files can be used. Each call opens the file, executes
//! one statement and closes it: several processes may do so at once, and none loses what another has written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::tool::Tool;
use becket_events::Profile;
use chrono::{DateTime, SecondsFormat, Utc};
use rusqlite::{Connection, params, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::plain_tool::{PlainTool, spec};

/// How long to wait for other processes that write.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest text of a memory.
const LONGEST: usize = 64 * 1024;

const NAMES: [&str; 5] = [
    "add_memory",
    "get_memories",
    "delete_memory",
    "search_memories",
    "update_memory",
];

/// The names of the memory tools.
pub fn memory_tool_names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

/// A text that the agent remembers.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Memory {
    id: String,
    created_at: String,
    memory: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    category: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Add {
    memory: String,
    #[serde(default)]
    category: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    category: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    id: String,
    memory: String,
    #[serde(default)]
    category: Option<String>,
}

/// The memory tools that a profile has, on the memories in `file`, which is made with the first of them.
pub fn memory_tools(profile: &Profile, file: &Path) -> Vec<Arc<dyn Tool>> {
    let memories = Memories(file.into());
    let tools = [
        adding(memories.clone()),
        getting(memories.clone()),
        deleting(memories.clone()),
        searching(memories.clone()),
        updating(memories),
    ];
    let has = |tool: &Arc<dyn Tool>| profile.extras.iter().any(|name| *name == tool.spec().own_name);
    tools.into_iter().filter(has).collect()
}

/// The schema of text arguments, `(name, description)`, of which the first `required` ones must be there.
fn texts(arguments: &[(&str, &str)], required: usize) -> Value {
    let property = |(name, about): &(&str, &str)| {
        (
            (*name).to_owned(),
            json!({"type": "string", "description": about}),
        )
    };
    let properties: serde_json::Map<String, Value> = arguments.iter().map(property).collect();
    let required: Vec<&str> = arguments[..required].iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

const CATEGORY: (&str, &str) = (
    "category",
    "A word for what kind it is, such as preference, fact or project.",
);

fn adding(memories: Memories) -> Arc<dyn Tool> {
    let schema = texts(&[("memory", "What to remember."), CATEGORY], 1);
    let spec = spec(NAMES[0], "Remember something beyond this conversation.", schema);
    PlainTool::arc(spec, move |Add { memory, category }, _| {
        check(&memory)?;
        let id = memories.add(&memory, &category.unwrap_or_default())?;
        Ok(format!("Memory added successfully with ID: {id}"))
    })
}

fn getting(memories: Memories) -> Arc<dyn Tool> {
    let spec = spec(NAMES[1], "Get everything that was remembered.", texts(&[], 0));
    PlainTool::arc(spec, move |_: Nothing, _| {
        Ok(json!(memories.find("", "")?).to_string())
    })
}

fn deleting(memories: Memories) -> Arc<dyn Tool> {
    let spec = spec(
        NAMES[2],
        "Forget a memory.",
        texts(&[("id", "The memory's ID.")], 1),
    );
    PlainTool::arc(spec, move |Delete { id }, _| {
        let forgotten = memories.with(|file| file.execute("DELETE FROM memories WHERE id = ?1", [&id]))?;
        found(forgotten, &id)?;
        Ok(format!("Memory with ID {id} deleted successfully"))
    })
}

fn searching(memories: Memories) -> Arc<dyn Tool> {
    let query = ("query", "Words that must all occur.");
    let about = "Search what was remembered, by words, by category, or by both.";
    PlainTool::arc(
        spec(NAMES[3], about, texts(&[query, CATEGORY], 0)),
        move |search: Search, _| {
            let (query, category) = (
                search.query.unwrap_or_default(),
                search.category.unwrap_or_default(),
            );
            Ok(json!(memories.find(&query, &category)?).to_string())
        },
    )
}

fn updating(memories: Memories) -> Arc<dyn Tool> {
    let schema = texts(
        &[("id", "The memory's ID."), ("memory", "The new text."), CATEGORY],
        2,
    );
    let spec = spec(
        NAMES[4],
        "Replace the text of a memory, and its category if one is given.",
        schema,
    );
    PlainTool::arc(spec, move |Update { id, memory, category }, _| {
        check(&memory)?;
        let changed = memories.with(|file| {
            let statement =
                "UPDATE memories SET memory = ?1, category = coalesce(?2, category) WHERE id = ?3";
            file.execute(statement, params![memory, category, id])
        })?;
        found(changed, &id)?;
        Ok(format!("Memory with ID {id} updated successfully"))
    })
}

fn check(memory: &str) -> Result<(), String> {
    match memory.trim().len() {
        0 => Err("the memory is empty; say what to remember".to_owned()),
        length if length > LONGEST => Err(format!(
            "the memory has {length} bytes, and at most {LONGEST} are kept"
        )),
        _ => Ok(()),
    }
}

fn found(count: usize, id: &str) -> Result<(), String> {
    match count {
        0 => Err(format!("there is no memory with the ID {id}")),
        _ => Ok(()),
    }
}

/// The file of an agent's memories.
#[derive(Clone)]
struct Memories(PathBuf);

impl Memories {
    /// Opens the file, and makes it if needed, for one action.
    fn with<T>(&self, act: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, String> {
        let file = self.0.display();
        if let Some(folder) = self.0.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| format!("the memories {file} cannot be made: {error}"))?;
        }
        let done = Connection::open(&self.0).and_then(|connection| {
            connection.busy_timeout(LOCK_TIMEOUT)?;
            connection.execute_batch(
                "CREATE TABLE IF NOT EXISTS memories \
                 (id TEXT PRIMARY KEY, created_at TEXT, memory TEXT, category TEXT DEFAULT '')",
            )?;
            // Older files have no categories.
            let categories = "SELECT count(*) FROM pragma_table_info('memories') WHERE name = 'category'";
            if connection.query_row(categories, [], |row| row.get::<_, i64>(0))? == 0 {
                connection.execute_batch("ALTER TABLE memories ADD COLUMN category TEXT DEFAULT ''")?;
            }
            act(&connection)
        });
        done.map_err(|error| format!("the memories {file} cannot be used: {error}"))
    }

    fn add(&self, memory: &str, category: &str) -> Result<String, String> {
        let now = DateTime::<Utc>::from(std::time::SystemTime::now());
        let created_at = now.to_rfc3339_opts(SecondsFormat::Secs, true);
        self.with(|file| {
            let mut id = now.timestamp_nanos_opt().unwrap_or_default();
            // Two processes may add a memory at the same moment.
            loop {
                let values = params![id.to_string(), created_at, memory, category];
                let statement = "INSERT OR IGNORE INTO memories (id, created_at, memory, category) \
                                 VALUES (?1, ?2, ?3, ?4)";
                match file.execute(statement, values)? {
                    0 => id += 1,
                    _ => return Ok(id.to_string()),
                }
            }
        })
    }

    /// The memories in which all words occur, of a category if one is named.
    fn find(&self, query: &str, category: &str) -> Result<Vec<Memory>, String> {
        let mut statement =
            "SELECT id, created_at, memory, coalesce(category, '') FROM memories WHERE 1".to_owned();
        let mut values: Vec<String> = Vec::new();
        for word in query.split_whitespace() {
            statement.push_str(" AND lower(memory) LIKE lower(?) ESCAPE '\\'");
            let word = word.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
            values.push(format!("%{word}%"));
        }
        if !category.is_empty() {
            statement.push_str(" AND lower(category) = lower(?)");
            values.push(category.to_owned());
        }
        statement.push_str(" ORDER BY rowid");
        self.with(|file| {
            let mut statement = file.prepare(&statement)?;
            let rows = statement.query_map(params_from_iter(values), |row| {
                Ok(Memory {
                    id: row.get(0)?,
                    created_at: row.get(1)?,
                    memory: row.get(2)?,
                    category: row.get(3)?,
                })
            })?;
            rows.collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_at_once_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let memories = Memories(folder.path().join("deep/memory.db"));
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let memories = memories.clone();
                scope.spawn(move || {
                    for number in 0..10 {
                        memories.add(&format!("{writer} {number}"), "").unwrap();
                    }
                });
            }
        });
        assert_eq!(memories.find("", "").unwrap().len(), 80);
    }

    #[test]
    fn a_file_without_categories_goes_on_being_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memory.db");
        let old = Connection::open(&file).unwrap();
        old.execute_batch(
            "CREATE TABLE memories (id TEXT PRIMARY KEY, created_at TEXT, memory TEXT);
             INSERT INTO memories VALUES ('1', 'then', '50% of_it')",
        )
        .unwrap();
        drop(old);
        let memories = Memories(file);
        memories.add("another half", "fact").unwrap();
        let words = |query: &str, category: &str| -> Vec<String> {
            let found = memories.find(query, category).unwrap();
            found.into_iter().map(|memory| memory.memory).collect()
        };
        assert_eq!(words("", ""), ["50% of_it", "another half"]);
        assert_eq!(words("0% f_i", ""), ["50% of_it"]);
        assert_eq!(words("HALF another", ""), ["another half"]);
        assert_eq!(words("", "FACT"), ["another half"]);
        assert!(words("half", "project").is_empty());
    }

    #[test]
    fn what_is_no_database_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memory.db");
        std::fs::write(&file, "not a database, by far not, and long enough to tell").unwrap();
        let error = Memories(file).find("", "").unwrap_err();
        assert!(error.contains("cannot be used"), "{error}");
    }
}
