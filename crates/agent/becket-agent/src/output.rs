//! The way of a tool's output to the model: hooks may rewrite it, a large one goes into the cache, and the model sees
//! the rest.
//!
//! The data of a result (`details`) goes to the store, to hooks and to front ends, and never to a provider. An output
//! that is withheld takes its data with it, since what is hidden may be in there as well.

use std::time::Duration;

use becket_events::{
    Message, OperationKind, Part, PostCache, PostCachePayload, PostToolOutput, PostToolOutputPayload,
    PreCache, PreCachePayload, PreToolOutput, PreToolOutputPayload, TailLimit, ToolCall, ToolEnd,
    ToolEndPayload, lines_of,
};
use becket_gate::Hooks;
use becket_gate::cache::{CachedOutput, OutputCache};
use becket_gate::vfs::{Vfs, VfsPath};
use serde_json::{Map, Value};

use crate::message::detailed_result;
use crate::settings::AgentSettings;
use crate::tool::ToolOutput;

/// A call whose output is on its way to the model.
pub(crate) struct OutputOf<'a> {
    pub(crate) hooks: &'a Hooks,
    pub(crate) settings: &'a AgentSettings,
    pub(crate) tool_call_id: &'a str,
    pub(crate) tool_name: &'a str,
    pub(crate) called_as: &'a str,
    /// The tool's origin.
    pub(crate) tool_source: &'a str,
    pub(crate) operation: Option<OperationKind>,
    pub(crate) arguments: &'a Map<String, Value>,
    pub(crate) ran: bool,
    /// How long the tool ran.
    pub(crate) duration: Duration,
}

/// An output as the model will see it.
pub(crate) struct Settled {
    /// The content that the model sees.
    pub(crate) content: Vec<Part>,
    pub(crate) is_error: bool,
    /// Data that the model does not see.
    pub(crate) details: Option<Value>,
    /// The whole text, before a large one went into the cache.
    pub(crate) full_text: String,
    pub(crate) cached: bool,
}

impl Settled {
    /// The message that answers a call.
    pub(crate) fn message(&self, call: &ToolCall) -> Message {
        let (content, details) = (self.content.clone(), self.details.clone());
        detailed_result(&call.id, &call.name, content, self.is_error, details)
    }
}

impl OutputOf<'_> {
    /// Passes the output through hooks and the cache.
    pub(crate) async fn settle(&self, output: ToolOutput) -> Settled {
        let ToolOutput {
            content,
            is_error,
            details,
            ..
        } = output;
        let details = details.unwrap_or_default();
        let payload = || PreToolOutputPayload {
            tool_source: self.tool_source.into(),
            tool_call_id: self.tool_call_id.into(),
            tool_name: self.tool_name.into(),
            called_as: self.called_as.into(),
            operation: self.operation,
            arguments: self.arguments.clone(),
            content: content.clone(),
            is_error,
            ran: self.ran,
            details: details.clone(),
            duration_ms: self.duration.as_millis() as u64,
        };
        let reply = self.hooks.tell::<PreToolOutput>(payload).await;
        self.hooks.add_context(reply.context.0);
        // The details may hold what is withheld, so they go as well.
        let (content, details) = match reply.withheld.get() {
            Some(words) => (vec![Part::text(words)], Value::Null),
            None => (
                reply.content.get().unwrap_or(content),
                reply.details.get().unwrap_or(details),
            ),
        };
        let is_error = reply.is_error.get().unwrap_or(is_error);
        let full_text = lines_of(&content);
        let stub = if self.is_too_large(&full_text) {
            self.put_aside(&full_text).await
        } else {
            None
        };
        let cached = stub.is_some();
        let content = stub.map_or(content, |stub| vec![Part::text(stub)]);
        self.hooks
            .tell::<PostToolOutput>(|| PostToolOutputPayload {
                tool_call_id: self.tool_call_id.into(),
                tool_name: self.tool_name.into(),
                called_as: self.called_as.into(),
                arguments: self.arguments.clone(),
                output: full_text.clone(),
                final_output: lines_of(&content),
                cached,
            })
            .await;
        Settled {
            content,
            is_error,
            details: Some(details).filter(|details| !details.is_null()),
            full_text,
            cached,
        }
    }

    /// Tells hooks that the call is over.
    pub(crate) async fn tell_end(&self, settled: &Settled) {
        let payload = || ToolEndPayload {
            tool_call_id: self.tool_call_id.into(),
            tool_name: self.tool_name.into(),
            called_as: self.called_as.into(),
            operation: self.operation,
            content: settled.content.clone(),
            details: settled.details.clone().unwrap_or_default(),
            is_error: settled.is_error,
            ran: self.ran,
            duration_ms: self.duration.as_millis() as u64,
        };
        self.hooks.tell::<ToolEnd>(payload).await;
    }

    /// Whether an output is too large for the model. A piece that is read from the cache is not cached again.
    fn is_too_large(&self, text: &str) -> bool {
        let from_cache = self
            .arguments
            .get("path")
            .and_then(Value::as_str)
            .and_then(|path| VfsPath::parse(path).ok())
            .is_some_and(|path| OutputCache::holds(&path));
        let is_long = self.tail().is_some_and(|limit| limit.cuts(text));
        (is_long || text.len() > self.settings.output_limit) && !from_cache
    }

    /// How much of the end of a command's output the model sees; `None` for other tools, or without such a limit.
    fn tail(&self) -> Option<TailLimit> {
        let is_command = self.operation == Some(OperationKind::Shell);
        self.settings.wording.tail.filter(|_| is_command)
    }

    /// The size of a preview, which never comes near the limit that it is there to keep.
    fn preview_chars(&self) -> usize {
        self.settings.preview_chars.min(self.settings.output_limit / 2)
    }

    /// Puts a large output into the cache, and returns the text that stands for it; `None` if it stays as it is.
    async fn put_aside(&self, text: &str) -> Option<String> {
        let (char_count, line_count) = (text.chars().count() as u64, text.lines().count() as u64);
        let payload = || PreCachePayload {
            tool_call_id: self.tool_call_id.into(),
            tool_name: self.tool_name.into(),
            called_as: self.called_as.into(),
            arguments: self.arguments.clone(),
            content: text.into(),
            output_size: text.len() as u64,
            char_count,
            line_count,
        };
        let reply = self.hooks.tell::<PreCache>(payload).await;
        if reply.cache.get() == Some(false) {
            return None;
        }
        let cache = OutputCache::new(Vfs::new(&self.settings.vfs));
        let context_name = &self.hooks.scope().context_name;
        // An output that cannot be cached is still an output: the model sees all of it.
        let cached = cache.put(context_name, self.tool_name, text).ok()?;
        let address = cached.address.to_string();
        let stub = match (reply.summary.get(), self.tail()) {
            (Some(summary), _) => stub(self.called_as, &cached, line_count, &summary),
            (None, Some(limit)) => (limit.told)(&limit.tail(text, &address)),
            (None, None) => {
                let preview = preview(text, self.preview_chars());
                stub(self.called_as, &cached, line_count, &preview)
            }
        };
        self.hooks
            .tell::<PostCache>(|| PostCachePayload {
                tool_call_id: self.tool_call_id.into(),
                tool_name: self.tool_name.into(),
                called_as: self.called_as.into(),
                cache_id: cached.cache_id,
                path: address.clone(),
                output_size: text.len() as u64,
                preview_size: stub.len() as u64,
                char_count,
                line_count,
                token_estimate: char_count / 4,
            })
            .await;
        Some(stub)
    }
}

/// The text that the model sees in place of a cached output.
fn stub(tool_name: &str, cached: &CachedOutput, line_count: u64, preview: &str) -> String {
    let CachedOutput { address, size, .. } = cached;
    let lines = if line_count == 1 { "line" } else { "lines" };
    format!(
        "[Output cached: {address}]\nTool: {tool_name} | Size: {size} bytes, {line_count} {lines}\nThe address is a \
         path for every tool that reads or searches files: read some lines of it, or search in it.\n---\n{preview}"
    )
}

/// The first and the last characters of a text.
fn preview(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.into();
    }
    let head: String = text.chars().take(chars / 2).collect();
    let skip = text.chars().count().saturating_sub(chars / 2);
    let tail: String = text.chars().skip(skip).collect();
    format!("{head}\n[…]\n{tail}")
}
