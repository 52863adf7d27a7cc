//! The life of contexts: which one is chosen, and how they are made, renamed, cleared and destroyed.

use std::path::Path;

use becket_agent::store::{Origin, StoreError, StoredEntry, Tree};
use rusqlite::{Connection, OptionalExtension, params};

use crate::name::ContextName;
use crate::problem::Problem;
use crate::reading::{self, ContextSummary, RawEntry, context_column, count};
use crate::sqlite::{SqliteStore, parse_all};
use crate::writing::{delete_context, now_ms, place_of};

/// Whose current context is meant. Names of contexts, and everything in them, belong to all projects together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The path of its root; empty for all projects together.
    root: String,
    first: ContextName,
}

impl Project {
    /// The project at that root, which is a path without links and `..`.
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_string_lossy().into_owned(),
            first: ContextName::of_folder(root),
        }
    }

    /// The context that is current before another one was chosen. It need not exist yet.
    pub fn first(&self) -> &ContextName {
        &self.first
    }

    /// Remembers that its first context is the current one, where that is in use and nothing else was chosen: so it
    /// stays current when somebody gives it another name.
    pub(crate) fn settle(&self, connection: &Connection, used: &ContextName) -> Result<(), Problem> {
        if *used == self.first {
            connection
                .prepare_cached("INSERT INTO chosen (project, current) VALUES (?, ?) ON CONFLICT DO NOTHING")?
                .execute([&self.root, used.as_str()])?;
        }
        Ok(())
    }
}

/// All projects together, with one current context among them.
impl Default for Project {
    fn default() -> Self {
        Self {
            root: String::new(),
            first: ContextName::usual(),
        }
    }
}

/// The context in which runs go on that choose none themselves, and the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenContexts {
    /// The current one. It need not exist yet.
    pub current: String,
    /// The one that was current before.
    pub previous: Option<String>,
}

/// When a context is to be destroyed. Both may be set; the first that comes counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lifetime {
    /// At this moment, in milliseconds since 1970.
    pub destroy_at_ms: Option<u64>,
    /// When nothing has happened in it for so many milliseconds.
    pub destroy_after_ms: Option<u64>,
}

/// A conversation that was put away when its context was cleared.
#[derive(Debug, Clone, PartialEq)]
pub struct Archive {
    /// When the context was cleared, in milliseconds since 1970.
    pub time_ms: u64,
    /// How many messages the context held, those on branches that were left included.
    pub message_count: u64,
    /// The entries from the root to where the conversation stood.
    pub entries: Vec<StoredEntry>,
}

/// Why a context is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Its moment has come.
    Time,
    /// Nothing has happened in it for too long.
    Inactive,
}

/// Holds for a context that is due at the moment `?1`.
const IS_DUE: &str = "(destroy_at_ms <= ?1 OR used_ms + destroy_after_ms <= ?1)";

impl SqliteStore {
    /// The current context and the one before it.
    pub fn chosen(&self) -> Result<ChosenContexts, StoreError> {
        self.look("tell the current context", |connection| {
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
        self.look("look at a context", |connection| {
            let mut usage =
                connection.prepare("SELECT message_count, used_ms FROM contexts WHERE name = ?")?;
            let usage = usage.query_row([context.as_str()], |row| Ok((count(row, 0)?, count(row, 1)?)));
            Ok(usage.optional()?)
        })
    }

    /// The conversation of a context with all its branches, and where it comes from if it did not begin there. What was
    /// archived and what sub-agents wrote is no part of it.
    pub fn conversation(&self, context: &str) -> Result<(Tree, Option<Origin>), StoreError> {
        self.look("read the conversation", |connection| {
            let leaf = context_column::<Option<i64>>(connection, "leaf", context)?;
            let entries = parse_all(reading::conversation(connection, context, leaf)?)?;
            let leaf_id = reading::id_of(connection, leaf)?;
            Ok((Tree::new(entries, leaf_id), reading::origin(connection, context)?))
        })
    }

    /// The conversations of a context that were archived, the oldest first.
    pub fn archived(&self, context: &str) -> Result<Vec<Archive>, StoreError> {
        self.look("read the archive of a context", |connection| {
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
        self.write("make a context", move |connection| create(connection, &context))
            .await
    }

    /// Gives a context, with everything in it, another name.
    pub async fn rename_context(&self, from: &ContextName, to: &ContextName) -> Result<(), StoreError> {
        let (from, to, project) = (from.clone(), to.clone(), self.project().clone());
        self.write("rename a context", move |connection| {
            project.settle(connection, &from)?;
            rename(connection, from.as_str(), to.as_str())
        })
        .await
    }

    /// Says when a context is to be destroyed.
    pub async fn set_lifetime(&self, context: &ContextName, lifetime: Lifetime) -> Result<(), StoreError> {
        let context = context.clone();
        self.write("keep the lifetime of a context", move |connection| {
            set_lifetime(connection, context.as_str(), lifetime)
        })
        .await
    }

    /// The contexts that are due to be destroyed.
    pub fn due(&self) -> Result<Vec<(String, Due)>, StoreError> {
        self.look("look for contexts that are due", due)
    }

    /// Deletes a context if it is due at this very moment. Says whether it was.
    pub async fn delete_if_due(&self, context: &ContextName) -> Result<bool, StoreError> {
        let context = context.clone();
        self.write("delete a context that is due", move |connection| {
            let is_due = due(connection)?.iter().any(|(name, _)| name == context.as_str());
            Ok(is_due && delete_context(connection, &context)?)
        })
        .await
    }
}

fn chosen(connection: &Connection, project: &Project) -> Result<ChosenContexts, Problem> {
    let chosen = connection
        .query_row(
            "SELECT current, previous FROM chosen WHERE project = ?",
            [&project.root],
            |row| {
                Ok(ChosenContexts {
                    current: row.get(0)?,
                    previous: row.get(1)?,
                })
            },
        )
        .optional()?;
    Ok(chosen.unwrap_or_else(|| ChosenContexts {
        current: project.first.to_string(),
        previous: None,
    }))
}

pub(crate) fn make_current(
    connection: &Connection,
    project: &Project,
    context: &ContextName,
) -> Result<(), Problem> {
    connection.execute(
        "INSERT INTO chosen (project, current, previous) VALUES (?1, ?2, nullif(?3, ?2))
         ON CONFLICT DO UPDATE SET previous = current, current = ?2 WHERE current <> ?2",
        [&project.root, context.as_str(), project.first.as_str()],
    )?;
    Ok(())
}

/// A context that is gone is not chosen any more: the one before it is, or else the project's first one.
pub(crate) fn forget_choice(connection: &Connection, context: &str) -> Result<(), Problem> {
    let steps = [
        "UPDATE chosen SET previous = NULL WHERE previous = ?1",
        "UPDATE chosen SET current = previous, previous = NULL WHERE current = ?1 AND previous IS NOT NULL",
        "DELETE FROM chosen WHERE current = ?1",
    ];
    for step in steps {
        connection.execute(step, [context])?;
    }
    Ok(())
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

pub(crate) fn create(connection: &Connection, context: &ContextName) -> Result<bool, Problem> {
    let made = connection.execute(
        "INSERT INTO contexts (name, created_ms, used_ms) VALUES (?1, ?2, ?2) ON CONFLICT DO NOTHING",
        params![context.as_str(), now_ms()],
    )?;
    Ok(made > 0)
}

/// Puts the conversation away. The entries stay where they are; the context and the session begin at the root.
pub(crate) fn clear(connection: &Connection, session_id: &str) -> Result<(), Problem> {
    let (context, _) = place_of(connection, session_id)?;
    let now = now_ms();
    connection.execute(
        "INSERT INTO archives (context, leaf, time_ms, message_count)
         SELECT name, leaf, ?2, message_count FROM contexts WHERE name = ?1 AND leaf IS NOT NULL",
        params![context, now],
    )?;
    connection.execute(
        "UPDATE contexts SET leaf = NULL, message_count = 0, used_ms = ?2, title = NULL, origin = NULL,
                cleared = coalesce((SELECT max(seq) FROM entries), 0)
         WHERE name = ?1",
        params![context, now],
    )?;
    connection.execute(
        "UPDATE sessions SET leaf = NULL, name = NULL WHERE id = ?1",
        [session_id],
    )?;
    Ok(())
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
    // Entries and sessions refer to their context, so the new row comes before they move and the old one goes last.
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
