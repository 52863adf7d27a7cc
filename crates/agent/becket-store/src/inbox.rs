//! Inboxes: messages that wait for contexts until a session takes them.

use std::time::Instant;

use becket_agent::store::{Consumed, Letter, NewEntry, StoreError, WaitingLetter};
use becket_events::Json;
use rusqlite::{Connection, OptionalExtension, params};

use crate::database::Database;
use crate::name::ContextName;
use crate::problem::Problem;
use crate::reading::{count, no_session};
use crate::time::now_ms;
use crate::writing::{append, place_of};

/// A message that waits in a context's inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxMessage {
    /// Identifies the message; later ones have larger ids.
    pub id: i64,
    /// The context that receives the message.
    pub context: String,
    /// The sender's name.
    pub sender: String,
    /// The content of the message.
    pub content: Json,
    /// When the message was sent, in milliseconds since 1970.
    pub time_ms: u64,
}

impl InboxMessage {
    /// The message as a letter. Content that is no text is shown as JSON.
    pub fn into_letter(self) -> WaitingLetter {
        let json = self.content.text();
        let content = serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned());
        WaitingLetter {
            id: self.id,
            from: self.sender,
            content,
            time_ms: self.time_ms,
        }
    }
}

/// The inboxes of all contexts.
#[derive(Clone, Copy)]
pub struct Inboxes<'a> {
    database: &'a Database,
}

impl<'a> Inboxes<'a> {
    pub(crate) fn of(database: &'a Database) -> Self {
        Self { database }
    }

    /// The messages that wait for a context, in the order in which they were sent.
    pub fn waiting_for(&self, context: &str) -> Result<Vec<InboxMessage>, StoreError> {
        self.database.look("read the inbox", |connection| {
            waiting_messages(connection, context)
        })
    }

    /// The contexts for which messages wait, by name. They need not exist yet.
    pub fn contexts(&self) -> Result<Vec<String>, StoreError> {
        self.database.look("read the inboxes", contexts_with_mail)
    }

    /// Puts a message into the inbox of a context, which need not exist yet, and returns the message's id.
    pub async fn push(&self, context: &ContextName, sender: &str, content: Json) -> Result<i64, StoreError> {
        let (context, sender) = (context.clone(), sender.to_owned());
        self.database
            .write("deliver a message", move |connection| {
                push_message(connection, &context, &sender, &content)
            })
            .await
    }

    /// Appends entries and marks messages of the session's context as consumed, all of it or nothing.
    pub async fn append_consuming(
        &self,
        session_id: &str,
        entries: Vec<NewEntry>,
        messages: Vec<i64>,
    ) -> Result<Consumed, StoreError> {
        let session_id = session_id.to_owned();
        self.database
            .write("append what the inbox held", move |connection| {
                append_consuming(connection, &session_id, &entries, &messages)
            })
            .await
    }

    /// Consumes all messages that wait for the session's context: `to_entries` makes entries of them, and these are
    /// appended in the same transaction. Each message is consumed exactly once, however many sessions drain.
    ///
    /// `to_entries` is called again, with the rest of the messages, if another session was faster.
    pub async fn drain(
        &self,
        session_id: &str,
        mut to_entries: impl FnMut(&[InboxMessage]) -> Vec<NewEntry> + Send,
    ) -> Result<Vec<InboxMessage>, StoreError> {
        let deadline = Instant::now() + self.database.lock_timeout();
        loop {
            let session = session_id.to_owned();
            let messages = self
                .database
                .read("read the inbox", move |connection| {
                    messages_for(connection, &session)
                })
                .await?;
            if messages.is_empty() {
                return Ok(messages);
            }
            let ids = messages.iter().map(|message| message.id).collect();
            match self
                .append_consuming(session_id, to_entries(&messages), ids)
                .await?
            {
                Consumed::All => return Ok(messages),
                Consumed::TakenByAnother if Instant::now() < deadline => {}
                Consumed::TakenByAnother => {
                    let problem = "other sessions keep taking its messages; try again".to_owned();
                    return Err(Problem::Refused(problem).told(self.database.path(), "drain the inbox"));
                }
            }
        }
    }
}

/// The messages that wait for a context, in the order in which they were sent.
pub(crate) fn waiting_messages(connection: &Connection, context: &str) -> Result<Vec<InboxMessage>, Problem> {
    let mut waiting = connection.prepare_cached(
        "SELECT id, sender, time_ms, content FROM inbox WHERE context = ? AND consumed_by IS NULL ORDER BY id",
    )?;
    let mut rows = waiting.query([context])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        messages.push(InboxMessage {
            id: row.get(0)?,
            context: context.to_owned(),
            sender: row.get(1)?,
            time_ms: count(row, 2)?,
            content: Json::parse(row.get(3)?)?,
        });
    }
    Ok(messages)
}

/// The contexts for which messages wait.
fn contexts_with_mail(connection: &Connection) -> Result<Vec<String>, Problem> {
    let mut waiting = connection
        .prepare_cached("SELECT DISTINCT context FROM inbox WHERE consumed_by IS NULL ORDER BY context")?;
    let names = waiting.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// The messages that wait for the context of a session.
fn messages_for(connection: &Connection, session_id: &str) -> Result<Vec<InboxMessage>, Problem> {
    let context: Option<String> = connection
        .prepare_cached("SELECT context FROM sessions WHERE id = ?")?
        .query_row([session_id], |row| row.get(0))
        .optional()?;
    waiting_messages(connection, &context.ok_or_else(|| no_session(session_id))?)
}

fn push_message(
    connection: &Connection,
    context: &ContextName,
    sender: &str,
    content: &Json,
) -> Result<i64, Problem> {
    connection.execute(
        "INSERT INTO inbox (context, sender, time_ms, content) VALUES (?, ?, ?, ?)",
        params![context.as_str(), sender, now_ms(), content.text()],
    )?;
    Ok(connection.last_insert_rowid())
}

/// Puts letters into inboxes, except those whose origin was delivered before.
pub(crate) fn deliver(connection: &Connection, letters: &[(ContextName, Letter)]) -> Result<(), Problem> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO inbox (context, sender, time_ms, content, origin) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING",
    )?;
    for (context, letter) in letters {
        let content = serde_json::to_string(&letter.content)?;
        insert.execute(params![
            context.as_str(),
            letter.from,
            now_ms(),
            content,
            letter.origin
        ])?;
    }
    Ok(())
}

/// Marks messages of the session's context as consumed and appends entries, or does nothing at all.
fn append_consuming(
    connection: &Connection,
    session_id: &str,
    entries: &[NewEntry],
    messages: &[i64],
) -> Result<Consumed, Problem> {
    let (context, _) = place_of(connection, session_id)?;
    let mut waits = connection
        .prepare_cached("SELECT 1 FROM inbox WHERE id = ? AND context = ? AND consumed_by IS NULL")?;
    for message in messages {
        if !waits.exists(params![message, context])? {
            return Ok(Consumed::TakenByAnother);
        }
    }
    let mut consume = connection.prepare_cached("UPDATE inbox SET consumed_by = ? WHERE id = ?")?;
    for message in messages {
        consume.execute(params![session_id, message])?;
    }
    append(connection, session_id, entries)?;
    Ok(Consumed::All)
}
