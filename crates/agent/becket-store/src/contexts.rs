//! The life of contexts: how they are made, renamed, archived and destroyed.
//!
//! The moments at which a context is destroyed (`destroy_at`, `destroy_after_inactive`) are in the store as well,
//! because every start looks for contexts that are due. All other settings of a context are a file that the user can
//! edit.

use std::collections::HashMap;

use becket_agent::store::{EntryContent, Origin, StoreError, StoredEntry, Tree};
use becket_events::MessageBody;
use rusqlite::{Connection, OptionalExtension, params};

use crate::choice::{ChosenContexts, chosen};
use crate::name::ContextName;
use crate::problem::Problem;
use crate::reading::{self, ContextSummary, Lifetime, RawEntry, context_column, count, parse_all};
use crate::sqlite::SqliteStore;
use crate::time::now_ms;
use crate::writing::{create_context, delete_context};

/// A conversation that was archived when its context was cleared.
#[derive(Debug, Clone, PartialEq)]
pub struct Archive {
    /// When the context was cleared, in milliseconds since 1970.
    pub time_ms: u64,
    /// How many messages the context held, including those on abandoned branches.
    pub message_count: u64,
    /// The entries from the root to the last current one.
    pub entries: Vec<StoredEntry>,
}

/// Why a context is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The time to destroy it has come.
    Time,
    /// The context was not used for too long.
    Inactive,
}

/// The SQL condition for a context that is due at the time `?1`.
const IS_DUE: &str = "(destroy_at_ms <= ?1 OR used_ms + destroy_after_ms <= ?1)";

/// What the user says in an entry, if it is a message of the user's.
fn said_in(content: &str) -> Option<String> {
    // What a newer becket has written is no reason to list nothing.
    let EntryContent::Message { message } = serde_json::from_str(content).ok()? else {
        return None;
    };
    matches!(message.body(), MessageBody::User { .. }).then(|| message.text())
}

impl SqliteStore {
    /// The current context and the one before it.
    pub fn chosen(&self) -> Result<ChosenContexts, StoreError> {
        self.database.look("tell the current context", |connection| {
            chosen(connection, self.project())
        })
    }

    /// One context; `None` if there is none with that name.
    pub fn context(&self, name: &str) -> Result<Option<ContextSummary>, StoreError> {
        let contexts = self.contexts()?;
        Ok(contexts.into_iter().find(|context| context.name == name))
    }

    /// How many messages a context has and when it was used last, in milliseconds since 1970; `None` if there is none
    /// with that name.
    pub fn usage_of(&self, context: &ContextName) -> Result<Option<(u64, u64)>, StoreError> {
        self.database.look("look at a context", |connection| {
            let mut usage =
                connection.prepare("SELECT message_count, used_ms FROM contexts WHERE name = ?")?;
            let usage = usage.query_row([context.as_str()], |row| Ok((count(row, 0)?, count(row, 1)?)));
            Ok(usage.optional()?)
        })
    }

    /// What the user said first in each of these contexts since it was cleared, by the context's name.
    pub fn first_words(&self, contexts: &[String]) -> Result<HashMap<String, String>, StoreError> {
        self.database
            .look("look at the beginnings of contexts", |connection| {
                let mut beginning = connection.prepare(
                    "SELECT entries.content FROM sessions JOIN entries ON entries.session_id = sessions.id
                 WHERE sessions.context = ?1 AND sessions.parent_id IS NULL
                   AND entries.seq > COALESCE((SELECT cleared FROM contexts WHERE name = ?1), 0)
                 ORDER BY sessions.started_ms, entries.seq LIMIT 10",
                )?;
                let mut words = HashMap::new();
                for context in contexts {
                    let contents = beginning.query_map([context], |row| row.get::<_, String>(0))?;
                    let contents: Vec<String> = contents.collect::<Result<_, _>>()?;
                    if let Some(first) = contents.iter().find_map(|content| said_in(content)) {
                        words.insert(context.clone(), first);
                    }
                }
                Ok(words)
            })
    }

    /// The conversation of a context with all its branches, and where it comes from if it did not begin there. Archived
    /// entries and those of sub-agents are no part of it.
    pub fn conversation(&self, context: &str) -> Result<(Tree, Option<Origin>), StoreError> {
        self.database.look("read the conversation", |connection| {
            let leaf = context_column::<Option<i64>>(connection, "leaf", context)?;
            let entries = parse_all(reading::conversation(connection, context, leaf)?)?;
            let leaf_id = reading::id_of(connection, leaf)?;
            Ok((Tree::new(entries, leaf_id), reading::origin(connection, context)?))
        })
    }

    /// The archived conversations of a context, oldest first.
    pub fn archived(&self, context: &str) -> Result<Vec<Archive>, StoreError> {
        self.database.look("read the archive of a context", |connection| {
            let archives = archives(connection, context)?.into_iter();
            archives
                .map(|(time_ms, message_count, entries)| {
                    Ok(Archive {
                        time_ms,
                        message_count,
                        entries: parse_all(entries)?,
                    })
                })
                .collect()
        })
    }

    /// Makes a context. Says whether it is new.
    pub async fn create_context(&self, context: &ContextName) -> Result<bool, StoreError> {
        let context = context.clone();
        self.database
            .write("make a context", move |connection| {
                create_context(connection, &context)
            })
            .await
    }

    /// Renames a context, with everything in it.
    pub async fn rename_context(&self, from: &ContextName, to: &ContextName) -> Result<(), StoreError> {
        let (from, to, project) = (from.clone(), to.clone(), self.project().clone());
        self.database
            .write("rename a context", move |connection| {
                project.settle(connection, &from)?;
                rename(connection, from.as_str(), to.as_str())
            })
            .await
    }

    /// Sets when a context is to be destroyed.
    pub async fn set_lifetime(&self, context: &ContextName, lifetime: Lifetime) -> Result<(), StoreError> {
        let context = context.clone();
        self.database
            .write("keep the lifetime of a context", move |connection| {
                set_lifetime(connection, context.as_str(), lifetime)
            })
            .await
    }

    /// The contexts that are due to be destroyed.
    pub fn due(&self) -> Result<Vec<(String, Due)>, StoreError> {
        self.database.look("look for contexts that are due", due)
    }

    /// Deletes a context if it is due right now. Says whether it was.
    pub async fn delete_if_due(&self, context: &ContextName) -> Result<bool, StoreError> {
        let context = context.clone();
        self.database
            .write("delete a context that is due", move |connection| {
                let is_due = due(connection)?.iter().any(|(name, _)| name == context.as_str());
                Ok(is_due && delete_context(connection, &context)?)
            })
            .await
    }
}

fn due(connection: &Connection) -> Result<Vec<(String, Due)>, Problem> {
    let query = format!("SELECT name, destroy_at_ms <= ?1 FROM contexts WHERE {IS_DUE} ORDER BY name");
    let mut due = connection.prepare(&query)?;
    let rows = due.query_map([now_ms()], |row| {
        let timed: Option<bool> = row.get(1)?;
        let why = if timed == Some(true) {
            Due::Time
        } else {
            Due::Inactive
        };
        Ok((row.get(0)?, why))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn rename(connection: &Connection, from: &str, to: &str) -> Result<(), Problem> {
    context_column::<i64>(connection, "used_ms", from)?;
    let taken = connection
        .prepare("SELECT 1 FROM contexts WHERE name = ?")?
        .exists([to])?;
    if taken {
        return Err(Problem::Refused(format!(
            "there is already a context {to:?}; choose another name, or destroy it first"
        )));
    }
    // Entries and sessions refer to their context, so the new row is added before they move and the old one is deleted
    // last.
    let steps = [
        "INSERT INTO contexts (name, created_ms, used_ms, message_count, leaf, settings, cleared,
                               destroy_at_ms, destroy_after_ms, title, origin)
         SELECT ?2, created_ms, used_ms, message_count, leaf, settings, cleared, destroy_at_ms, destroy_after_ms,
                title, origin
         FROM contexts WHERE name = ?1",
        "UPDATE sessions SET context = ?2 WHERE context = ?1",
        "UPDATE entries SET context = ?2 WHERE context = ?1",
        "UPDATE archives SET context = ?2 WHERE context = ?1",
        "UPDATE inbox SET context = ?2 WHERE context = ?1",
        "UPDATE chosen SET current = ?2 WHERE current = ?1",
        "UPDATE chosen SET previous = ?2 WHERE previous = ?1",
    ];
    for step in steps {
        connection.execute(step, [from, to])?;
    }
    connection.execute("DELETE FROM contexts WHERE name = ?", [from])?;
    Ok(())
}

fn set_lifetime(connection: &Connection, context: &str, lifetime: Lifetime) -> Result<(), Problem> {
    context_column::<i64>(connection, "used_ms", context)?;
    let signed = |time: Option<u64>| time.map(|time| i64::try_from(time).unwrap_or(i64::MAX));
    connection.execute(
        "UPDATE contexts SET destroy_at_ms = ?2, destroy_after_ms = ?3 WHERE name = ?1",
        params![
            context,
            signed(lifetime.destroy_at_ms),
            signed(lifetime.destroy_after_ms)
        ],
    )?;
    Ok(())
}

/// Each archive with its time, its count of messages, and its entries.
fn archives(connection: &Connection, context: &str) -> Result<Vec<(u64, u64, Vec<RawEntry>)>, Problem> {
    context_column::<i64>(connection, "used_ms", context)?;
    let mut archives = connection
        .prepare("SELECT time_ms, message_count, leaf FROM archives WHERE context = ? ORDER BY id")?;
    let mut rows = archives.query([context])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let entries = reading::path_to(connection, row.get(2)?)?;
        found.push((count(row, 0)?, count(row, 1)?, entries));
    }
    Ok(found)
}
