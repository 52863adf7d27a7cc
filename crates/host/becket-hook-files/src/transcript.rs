//! The conversation as a file for hooks: one JSON object in a line, complete whenever a hook starts.
//!
//! The file is made when the first hook of a session runs. From then on each message is added before the next hook
//! starts, so that a long conversation is not written anew each time.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use becket_agent::store::{EntryContent, Store};
use becket_dialect_kit::called::Called;
use becket_events::{
    Class, Message, MessageBody, MessageEnd, MessageEndReply, Part, Profile, Scope, ToolCall, Usage,
};
use becket_hooks::{Action, Engine, HandlerInfo, Matcher, Registration};
use becket_host::{ServerCalls, Stage};
use becket_store::SqliteStore;
use chrono::{DateTime, SecondsFormat};
use serde_json::{Map, Value, json};

use crate::facts::Facts;

/// The name and the arguments by which hooks know a call of a tool from a source, such as `mcp:NAME`.
pub type ShowCall = fn(&Called<'_>, &str, &Scope) -> (String, Map<String, Value>);

/// Writes conversations into files.
pub struct Transcripts {
    facts: Facts,
    store: Arc<SqliteStore>,
    /// The names by which the model knows tools.
    models: Profile,
    servers: Arc<dyn ServerCalls>,
    /// The names by which hooks know tools.
    hooks: &'static Profile,
    show: ShowCall,
    sessions: Mutex<HashMap<String, Written>>,
}

/// What was written of a session.
#[derive(Default)]
struct Written {
    /// Whether the file was begun.
    is_begun: bool,
    /// The messages in the file.
    ids: HashSet<String>,
    /// Messages that are not in the file yet.
    waiting: Vec<Message>,
    last: Option<String>,
}

impl Written {
    /// Forgets what was written: the next time all of it is written anew.
    fn start_over(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        *self = Self {
            waiting,
            ..Self::default()
        };
    }
}

impl Transcripts {
    /// Files in the folder of these facts.
    pub fn new(facts: Facts, (hooks, show): (&'static Profile, ShowCall), stage: &Stage<'_>) -> Self {
        Self {
            facts,
            store: Arc::clone(stage.store),
            models: stage.profile.clone(),
            servers: Arc::clone(stage.servers),
            hooks,
            show,
            sessions: Mutex::default(),
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Written>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes every message from now on.
    pub fn register(self: &Arc<Self>, engine: &Engine) {
        let transcripts = Arc::clone(self);
        let note = move |occasion: &becket_hooks::Occasion<'_, MessageEnd>| {
            if occasion.payload.replaced {
                return Ok(MessageEndReply::default());
            }
            let mut sessions = transcripts.sessions();
            let written = sessions.entry(occasion.scope.session_id.clone()).or_default();
            written.waiting.push(occasion.payload.message.clone());
            Ok(MessageEndReply::default())
        };
        engine.register(Registration::<MessageEnd> {
            info: HandlerInfo {
                // Others may still change the message.
                priority: i32::MIN,
                ..HandlerInfo::native("transcript for hooks", Class::Observe)
            },
            order: Vec::new(),
            matcher: Matcher::default(),
            condition: None,
            action: Action::Native(Arc::new(note)),
        });
    }

    /// Brings the files of a session, and of the one that asked it as a sub-agent, up to date. If that fails, the hook
    /// finds an older file or none.
    pub async fn complete(&self, scope: &Scope) {
        for id in std::iter::once(&scope.session_id).chain(&scope.parent_session_id) {
            self.complete_file(id, scope).await;
        }
    }

    async fn complete_file(&self, id: &str, scope: &Scope) {
        let is_there = becket_fs::is_file(self.facts.transcript(id));
        if !is_there && let Some(written) = self.sessions().get_mut(id) {
            written.start_over();
        }
        let is_begun = self.sessions().get(id).is_some_and(|written| written.is_begun);
        let earlier = if is_begun {
            Vec::new()
        } else {
            self.earlier(id).await
        };
        let mut sessions = self.sessions();
        let written = sessions.entry(id.to_owned()).or_default();
        let begins = !written.is_begun;
        if written.waiting.is_empty() && !begins {
            return;
        }
        let mut lines = String::new();
        for message in earlier.iter().chain(&written.waiting) {
            if written.ids.insert(message.record().id.clone()) {
                let line = self.line(message, (id, scope), written.last.as_deref());
                written.last = Some(message.record().id.clone());
                lines.push_str(&format!("{line}\n"));
            }
        }
        match self.write(id, &lines, begins) {
            Ok(()) => {
                written.is_begun = true;
                written.waiting.clear();
            }
            Err(_) => written.start_over(),
        }
    }

    /// The messages of a session before this moment.
    async fn earlier(&self, session_id: &str) -> Vec<Message> {
        let Ok(tree) = Store::tree(&*self.store, session_id).await else {
            return Vec::new();
        };
        let messages = tree.path().into_iter().filter_map(|entry| match &entry.content {
            EntryContent::Message { message } => Some(message.clone()),
            _ => None,
        });
        messages.collect()
    }

    fn write(&self, session_id: &str, lines: &str, begins: bool) -> std::io::Result<()> {
        if begins {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.facts.files)?;
        }
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .write(true)
            .append(!begins)
            .truncate(begins)
            .mode(0o600)
            .open(self.facts.transcript(session_id))?;
        file.write_all(lines.as_bytes())
    }

    fn line(&self, message: &Message, (id, scope): (&str, &Scope), parent: Option<&str>) -> Value {
        let record = message.record();
        let (kind, message) = match &record.body {
            MessageBody::User { content } | MessageBody::Note { content, .. } => (
                "user",
                json!({"role": "user", "content": text_or_blocks(content)}),
            ),
            MessageBody::Assistant {
                content,
                tool_calls,
                model,
                usage,
                ..
            } => {
                let calls = tool_calls.iter().map(|call| {
                    let (name, input) = self.call(call, scope);
                    json!({"type": "tool_use", "id": call.id, "name": name, "input": input})
                });
                let blocks: Vec<Value> = content.iter().filter_map(block).chain(calls).collect();
                let said = json!({
                    "id": record.id, "type": "message", "role": "assistant", "model": model,
                    "content": blocks, "usage": counted(usage),
                });
                ("assistant", said)
            }
            MessageBody::Tool {
                tool_call_id,
                content,
                is_error,
                ..
            } => {
                let result = json!({
                    "type": "tool_result", "tool_use_id": tool_call_id,
                    "content": text_or_blocks(content), "is_error": is_error,
                });
                ("user", json!({"role": "user", "content": [result]}))
            }
        };
        let time = DateTime::from_timestamp_millis(record.time_ms as i64).unwrap_or_default();
        let is_sidechain = scope.parent_session_id.is_some() && id == scope.session_id;
        json!({
            "type": kind, "uuid": record.id, "parentUuid": parent, "sessionId": id, "cwd": scope.cwd,
            "isSidechain": is_sidechain, "userType": "external",
            "timestamp": time.to_rfc3339_opts(SecondsFormat::Millis, true), "message": message,
        })
    }

    /// A call in the terms that hooks know.
    fn call(&self, call: &ToolCall, scope: &Scope) -> (String, Map<String, Value>) {
        let written: Map<String, Value> = serde_json::from_str(&call.arguments).unwrap_or_default();
        let face = self.models.face_named(&call.name);
        let own = face.and_then(|face| Some((face.operation, face.read(written.clone()).ok()?.arguments())));
        let (operation, arguments) = match own {
            Some((operation, arguments)) => (Some(operation), arguments),
            None => (None, written),
        };
        let called = Called {
            profile: self.hooks,
            id: &call.id,
            own_name: operation.map_or(&call.name, |operation| operation.name()),
            called_as: &call.name,
            operation,
            arguments: &arguments,
        };
        (self.show)(&called, &self.source(&call.name), scope)
    }

    /// Where a tool comes from: the name of a server's tool begins with the server's.
    fn source(&self, name: &str) -> String {
        let mut servers = name.match_indices('_').map(|(end, _)| &name[..end]);
        let server = servers.find(|server| self.servers.knows(server));
        server.map_or_else(String::new, |server| format!("mcp:{server}"))
    }
}

/// A single text as such, anything else as a list of blocks.
fn text_or_blocks(content: &[Part]) -> Value {
    match content {
        [Part::Text { text }] => text.as_str().into(),
        _ => content.iter().filter_map(block).collect(),
    }
}

fn block(part: &Part) -> Option<Value> {
    Some(match part {
        Part::Text { text } if text.is_empty() => return None,
        Part::Text { text } => json!({"type": "text", "text": text}),
        Part::Thinking { text, signature } => {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Part::Image { media_type, data } => {
            let source = json!({"type": "base64", "media_type": media_type, "data": data});
            json!({"type": "image", "source": source})
        }
    })
}

/// Tokens by the names that scripts add up: those of the cache stand beside the others.
fn counted(usage: &Usage) -> Value {
    let cached = usage.cache_read_tokens + usage.cache_write_tokens;
    json!({
        "input_tokens": usage.input_tokens.saturating_sub(cached),
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
    })
}
