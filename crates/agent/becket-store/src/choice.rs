//! The current context: which one is chosen for runs that choose none themselves.
//!
//! The choice is a row of the store and not a file, so that switching, renaming and destroying are one transaction
//! each. Each project has a row of its own, keyed by its root; everything else about contexts belongs to all projects.
//! A handle of the store knows its project, so that no command can forget to ask. A handle without a project has the
//! one current context of all, for front ends of systems without projects.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use crate::name::ContextName;
use crate::problem::Problem;

/// The project whose current context is meant. Contexts themselves belong to all projects together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The path of the project's root; empty for all projects together.
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

    /// This project with another current context as long as none was chosen.
    pub fn beginning_in(mut self, first: ContextName) -> Self {
        self.first = first;
        self
    }

    /// The project's current context as long as no other one was chosen. It need not exist yet.
    pub fn first(&self) -> &ContextName {
        &self.first
    }

    /// Remembers the project's first context as the current one, if it is in use and nothing else was chosen: so it
    /// stays current when it is renamed.
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

/// The context for runs that choose none themselves, and the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenContexts {
    /// The current context. It need not exist yet.
    pub current: String,
    /// The context that was current before.
    pub previous: Option<String>,
}

/// The current context of a project, and the one before it.
pub(crate) fn chosen(connection: &Connection, project: &Project) -> Result<ChosenContexts, Problem> {
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

/// Unchooses a context that is gone: the one before it becomes current, or else the project's first one.
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
