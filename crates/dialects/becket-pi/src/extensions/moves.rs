//! How extensions, and programs that steer becket, wish to go on elsewhere. Who has the session fulfils it
//! (`commands/moving.rs`).

use std::sync::Arc;
use std::time::Duration;

use becket_agent::desk::{Destination, Moved, Planted, Planter, Site};
use becket_agent::store::{EntryContent, Seed};
use becket_agent::{GoTo, Position};
use becket_events::MessageBody;
use becket_js::{Extension, HostError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::board::Board;
use super::host::{json_of, refused};
use super::sessions;
use crate::host_call::{ForkPosition, HostCallAsync, WentOn};
use crate::services::{SetUp, WasSetUp};
use crate::{session_file, session_files};

/// What is said where a conversation cannot be forked at an entry.
const NOT_FORKED: &str = "Invalid entry ID for forking";

/// What a call answers: JSON text, or why there is none.
type Answer = Result<String, HostError>;

/// How long setting up a session may take.
const LONGEST: Duration = Duration::from_secs(10 * 60);

/// Goes on elsewhere. The wish counts from now on, and not when somebody gets round to waiting for it; `None` for a
/// call that wants something else.
pub fn go(board: &Arc<Board>, name: &str, call: &HostCallAsync) -> Option<BoxFuture<'static, Answer>> {
    let to = match destination(board, name, call)? {
        Ok(to) => to,
        Err(why) => return Some(std::future::ready(Err(HostError::new(why))).boxed()),
    };
    let wished = board.desk.go(to);
    let went = async move {
        let (cancelled, text) = match wished.await.map_err(refused)? {
            Moved::Went { text } => (false, text),
            Moved::Refused(_) => (true, None),
        };
        json_of(&WentOn { cancelled, text })
    };
    Some(went.boxed())
}

/// Where a call leads; the error says why nowhere.
fn destination(
    board: &Arc<Board>,
    name: &str,
    call: &HostCallAsync,
) -> Option<Result<Destination, &'static str>> {
    Some(Ok(match call.clone() {
        HostCallAsync::NewSession {
            parent_session,
            setup,
        } => Destination::New {
            parent_file: parent_session,
            planter: setup.and_then(|id| planter(board, name, id)),
        },
        HostCallAsync::SwitchSession { session_path } => Destination::Earlier(session_path),
        HostCallAsync::Fork { entry_id, position } => {
            let position = match position {
                ForkPosition::Before => Position::Before,
                ForkPosition::At => Position::At,
            };
            match can_fork(board, &entry_id, position) {
                true => Destination::Fork { entry_id, position },
                false => return Some(Err(NOT_FORKED)),
            }
        }
        HostCallAsync::NavigateTree {
            target_id,
            summarize,
            custom_instructions,
            replace_instructions,
            label,
        } => Destination::Entry {
            entry_id: target_id,
            how: GoTo {
                summarize: summarize.unwrap_or(false),
                instructions: custom_instructions,
                replace_instructions: replace_instructions.unwrap_or(false),
                label,
            },
        },
        HostCallAsync::Reload => Destination::Reloaded,
        _ => return None,
    }))
}

/// A copy that ends before an entry is there to say something else in its place.
fn can_fork(board: &Board, entry_id: &str, position: Position) -> bool {
    let Ok(Some(entry)) = board.desk.entry(entry_id) else {
        return false;
    };
    let is_persons = match &entry.content {
        EntryContent::Message { message } => matches!(message.body(), MessageBody::User { .. }),
        _ => false,
    };
    position == Position::At || is_persons
}

/// Lets a function of an extension's set up a session. The extension is held, because it begins anew meanwhile.
fn planter(board: &Arc<Board>, name: &str, id: u32) -> Option<Planter> {
    let extension = board.extension(name)?;
    let board = Arc::clone(board);
    Some(Arc::new(move |site| {
        let (board, extension) = (Arc::clone(&board), extension.clone());
        async move { plant(&board, &extension, id, site).await }.boxed()
    }))
}

async fn plant(board: &Board, extension: &Extension, id: u32, site: Site) -> Planted {
    let session = sessions::coming(board, site)?;
    let set_up = board.ask(extension, &SetUp { id, session }, LONGEST).await;
    let WasSetUp {
        entries,
        leaf_id,
        error,
    } = set_up.map_err(|failure| failure.to_string())?;
    if let Some(error) = error {
        return Err(error);
    }
    // A file without a line of its own is read like any other.
    let header = json!({"type": "session", "version": 3, "id": "new"});
    let lines = std::iter::once(&header).chain(&entries);
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let read = session_file::read(&text)?;
    match read.problems.as_slice() {
        [] => Ok(Seed {
            leaf_id,
            ..session_files::seed(read)
        }),
        problems => Err(format!("the session was not set up: {}", problems.join("; "))),
    }
}
