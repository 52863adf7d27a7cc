//! Requests of extensions, and of programs that steer becket, to continue in another session. The owner of the session
//! fulfils them (`commands/moving.rs`).

use std::sync::Arc;
use std::time::Duration;

use becket_agent::session_handle::{ConversationSetup, Destination, Moved, NewConversation, SetupResult};
use becket_agent::store::{EntryContent, Seed};
use becket_agent::{GoTo, Position};
use becket_events::MessageBody;
use becket_js::{Extension, HostError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::answer::{HostAnswer, json_of, refused};
use super::registry::ExtensionRegistry;
use super::sessions;
use crate::host_call::{ForkPosition, HostCallAsync, WentOn};
use crate::services::{SetUp, WasSetUp};
use crate::{session_file, session_files};

/// The error if a conversation cannot be forked at an entry.
const NOT_FORKED: &str = "Invalid entry ID for forking";

/// How long setting up a session may take.
const LONGEST: Duration = Duration::from_secs(10 * 60);

/// Requests to continue elsewhere at once, and returns a future for the result; `None` for any other call.
pub fn go(
    registry: &Arc<ExtensionRegistry>,
    name: &str,
    call: &HostCallAsync,
) -> Option<BoxFuture<'static, HostAnswer>> {
    let to = match destination(registry, name, call)? {
        Ok(to) => to,
        Err(why) => return Some(std::future::ready(Err(HostError::new(why))).boxed()),
    };
    let requested = registry.session.requests().go(to);
    let went = async move {
        let (cancelled, text) = match requested.await.map_err(refused)? {
            Moved::Went { text } => (false, text),
            Moved::Refused(_) => (true, None),
        };
        json_of(&WentOn { cancelled, text })
    };
    Some(went.boxed())
}

/// The destination of a call; the error says why there is none.
fn destination(
    registry: &Arc<ExtensionRegistry>,
    name: &str,
    call: &HostCallAsync,
) -> Option<Result<Destination, &'static str>> {
    Some(Ok(match call.clone() {
        HostCallAsync::NewSession {
            parent_session,
            setup,
        } => Destination::New {
            parent_file: parent_session,
            setup: setup.and_then(|id| setup_by(registry, name, id)),
        },
        HostCallAsync::SwitchSession { session_path } => Destination::Earlier(session_path),
        HostCallAsync::Fork { entry_id, position } => {
            let position = match position {
                ForkPosition::Before => Position::Before,
                ForkPosition::At => Position::At,
            };
            match can_fork(registry, &entry_id, position) {
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

/// Whether a conversation can be forked at an entry. A copy that ends before an entry is for replacing a user message.
fn can_fork(registry: &ExtensionRegistry, entry_id: &str, position: Position) -> bool {
    let Ok(Some(entry)) = registry.session.conversation().entry(entry_id) else {
        return false;
    };
    let is_persons = match &entry.content {
        EntryContent::Message { message } => matches!(message.body(), MessageBody::User { .. }),
        _ => false,
    };
    position == Position::At || is_persons
}

/// The function by which an extension sets up a session. It holds the extension, because that is loaded again
/// meanwhile.
fn setup_by(registry: &Arc<ExtensionRegistry>, name: &str, id: u32) -> Option<ConversationSetup> {
    let extension = registry.extensions.get(name)?;
    let registry = Arc::clone(registry);
    Some(Arc::new(move |conversation| {
        let (registry, extension) = (Arc::clone(&registry), extension.clone());
        async move { set_up(&registry, &extension, id, conversation).await }.boxed()
    }))
}

async fn set_up(
    registry: &ExtensionRegistry,
    extension: &Extension,
    id: u32,
    conversation: NewConversation,
) -> SetupResult {
    let session = sessions::coming(registry, conversation)?;
    let answer = registry.ask(extension, &SetUp { id, session }, LONGEST).await;
    let WasSetUp {
        entries,
        leaf_id,
        error,
    } = answer.map_err(|failure| failure.to_string())?;
    if let Some(error) = error {
        return Err(error);
    }
    // The entries are read like a session file, which needs a first line.
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
