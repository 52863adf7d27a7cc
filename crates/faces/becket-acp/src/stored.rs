//! Stored conversations: which there are, and what was said in one, as updates for an editor.

use std::collections::HashMap;
use std::path::Path;

use agent_client_protocol_schema::v1::{Error, ListSessionsResponse, SessionId, SessionInfo};
use becket_agent::store::{EntryContent, StoreError};
use becket_events::{Message, MessageBody, lines_of};
use becket_run::RunOptions;
use becket_run::target::{known, parse_name};
use becket_store::{ContextName, SqliteStore};
use becket_system::moments::{now, rfc3339};
use becket_system::{CliError, Folders, Surroundings, harmless_name};
use serde_json::{Map, Value};

use super::tool_calls::{Call, CallEnd};
use super::updates::Updates;
use super::wire::{failed, wrong};

/// The prefix of the names of contexts that an editor begins.
const PREFIX: &str = "editor";

/// How many conversations are listed at once.
const PAGE: usize = 100;

/// The name of a conversation that begins now. Two sessions of one second have different ones.
pub fn fresh_name() -> Result<ContextName, CliError> {
    let mut random = [0; 3];
    getrandom::fill(&mut random)
        .map_err(|error| CliError::failed(format!("cannot make a name for the session: {error}")))?;
    let [one, two, three] = random;
    let moment = now().format("%Y%m%d_%H%M%S");
    parse_name(&format!("{PREFIX}_{moment}_{one:02x}{two:02x}{three:02x}"))
}

/// The stored conversations.
pub struct Stored {
    store: SqliteStore,
}

impl Stored {
    pub fn open(options: &RunOptions, surroundings: &Surroundings) -> Result<Self, Error> {
        let folders = Folders::find(options.home.as_deref(), surroundings);
        let store = folders.and_then(|folders| folders.open_store());
        let store = store.map_err(|error| failed(error.to_string()))?;
        Ok(Self { store })
    }

    /// The name of the conversation with this id.
    pub fn named(&self, id: &SessionId) -> Result<ContextName, Error> {
        let name = parse_name(&id.0).and_then(|name| known(name, &self.store));
        name.map_err(|error| wrong(error.to_string()))
    }

    /// The conversations of a folder, or of all folders, the last used first. The cursor is the number of those that
    /// were listed before.
    pub fn list(&self, cwd: Option<&Path>, cursor: Option<&str>) -> Result<ListSessionsResponse, Error> {
        let start = cursor.map_or(Ok(0), str::parse);
        let start: usize = start.map_err(|_| wrong("`cursor` is none that becket gave out"))?;
        let cwd = cwd.map(|cwd| cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf()));
        let told = |error: StoreError| failed(error.to_string());
        let mut newest = HashMap::new();
        let sessions = self.store.sessions(None).map_err(told)?;
        for session in sessions.into_iter().filter(|session| session.parent_id.is_none()) {
            let before = newest.get(&session.context);
            if before.is_none_or(|(_, started_ms, _)| *started_ms < session.started_ms) {
                newest.insert(session.context, (session.cwd, session.started_ms, session.name));
            }
        }
        let mut contexts = self.store.contexts().map_err(told)?;
        contexts.retain(|context| {
            let place = newest.get(&context.name);
            let is_wanted =
                place.is_some_and(|(place, ..)| cwd.as_ref().is_none_or(|cwd| cwd == Path::new(place)));
            context.message_count > 0 && is_wanted
        });
        contexts.sort_by_key(|context| std::cmp::Reverse(context.last_used_ms));
        let end = start.saturating_add(PAGE).min(contexts.len());
        let page = contexts.get(start..end).unwrap_or_default();
        let names: Vec<String> = page.iter().map(|context| context.name.clone()).collect();
        let words = self.store.first_words(&names).map_err(told)?;
        let infos = page.iter().filter_map(|context| {
            let (cwd, _, name) = newest.remove(&context.name)?;
            let title = name.or_else(|| words.get(&context.name).cloned());
            let title = title.map(|title| harmless_name(title.lines().next().unwrap_or_default()));
            let info = SessionInfo::new(context.name.clone(), cwd);
            Some(info.title(title).updated_at(rfc3339(context.last_used_ms)))
        });
        let infos = infos.collect();
        let next = (end < contexts.len()).then(|| end.to_string());
        Ok(ListSessionsResponse::new(infos).next_cursor(next))
    }

    /// Tells the editor what was said and done in the session's conversation, up to where it stands.
    pub fn replay(&self, updates: &Updates) -> Result<(), Error> {
        let conversation = self.store.conversation(&updates.id().0);
        let (tree, _) = conversation.map_err(|error| failed(error.to_string()))?;
        for entry in tree.path().iter() {
            if let EntryContent::Message { message } = &entry.content {
                replay(message, updates);
            }
        }
        Ok(())
    }
}

fn replay(message: &Message, updates: &Updates) {
    updates.message(message);
    for call in message.tool_calls() {
        let arguments: Map<String, Value> = serde_json::from_str(&call.arguments).unwrap_or_default();
        let shown = Call {
            tool_name: &call.name,
            operation: becket_dialects::operation_called(&call.name),
            arguments: &arguments,
            summary: None,
        };
        updates.begin_call(None, &call.id, shown);
    }
    if let MessageBody::Tool {
        tool_call_id,
        content,
        is_error,
        ..
    } = message.body()
    {
        let output = lines_of(content);
        let outcome = match is_error {
            true => CallEnd::Failed(&output),
            false => CallEnd::Completed(&output),
        };
        updates.end_call(None, tool_call_id, outcome);
    }
}
