//! What becomes of a tool's output: hooks may rewrite it, a large one is put aside, and the model sees the rest.

use becket_events::{
    OperationKind, Part, PostCache, PostCachePayload, PostToolOutput, PostToolOutputPayload, PreCache,
    PreCachePayload, PreToolOutput, PreToolOutputPayload, ReadArguments, text_of,
};
use serde_json::{Map, Value};

use crate::gate::BLOB;
use crate::hooks::Hooks;
use crate::settings::AgentSettings;
use crate::store::Store;
use crate::tool::ToolOutput;

/// A call whose output is on its way to the model.
pub(crate) struct OutputOf<'a> {
    pub(crate) hooks: &'a Hooks,
    pub(crate) store: &'a dyn Store,
    pub(crate) settings: &'a AgentSettings,
    pub(crate) tool_call_id: &'a str,
    pub(crate) tool_name: &'a str,
    pub(crate) operation: Option<OperationKind>,
    pub(crate) arguments: &'a Map<String, Value>,
    pub(crate) ran: bool,
}

/// An output as the model will see it.
pub(crate) struct Settled {
    /// What the model sees.
    pub(crate) content: Vec<Part>,
    pub(crate) is_error: bool,
    /// The words before anything was put aside.
    pub(crate) full_text: String,
    pub(crate) cached: bool,
}

impl OutputOf<'_> {
    /// Brings the output through hooks and cache.
    pub(crate) async fn settle(&self, output: ToolOutput) -> Settled {
        let ToolOutput {
            content,
            is_error,
            details,
        } = output;
        let payload = || PreToolOutputPayload {
            tool_call_id: self.tool_call_id.into(),
            tool_name: self.tool_name.into(),
            operation: self.operation,
            arguments: self.arguments.clone(),
            content: content.clone(),
            is_error,
            ran: self.ran,
            details,
        };
        let reply = self.hooks.tell::<PreToolOutput>(payload).await;
        let content = match reply.withheld.get() {
            Some(words) => vec![Part::text(words)],
            None => reply.content.get().unwrap_or(content),
        };
        let is_error = reply.is_error.get().unwrap_or(is_error);
        let full_text = text_of(&content);
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
                arguments: self.arguments.clone(),
                output: full_text.clone(),
                final_output: text_of(&content),
                cached,
            })
            .await;
        Settled {
            content,
            is_error,
            full_text,
            cached,
        }
    }

    /// A piece that is read back from the cache is not put there again.
    fn is_too_large(&self, text: &str) -> bool {
        let from_cache = self
            .arguments
            .get("path")
            .and_then(Value::as_str)
            .is_some_and(|path| path.starts_with(BLOB));
        text.len() > self.settings.output_limit && !from_cache
    }

    /// Stores a large output and makes the text that stands for it; `None` when it stays as it is.
    async fn put_aside(&self, text: &str) -> Option<String> {
        let (char_count, line_count) = (text.chars().count() as u64, text.lines().count() as u64);
        let payload = || PreCachePayload {
            tool_call_id: self.tool_call_id.into(),
            tool_name: self.tool_name.into(),
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
        // An output that cannot be put aside is still an output: the model sees all of it.
        let hash = self.store.put_blob(text.into()).await.ok()?;
        let cache_id = format!("{BLOB}{hash}");
        let preview = reply
            .summary
            .get()
            .unwrap_or_else(|| preview(text, self.settings.preview_chars));
        let stub = format!(
            "[{} bytes in {line_count} lines were put aside as {cache_id}; read that path, with offset and limit, \
             for more]\n{preview}",
            text.len()
        );
        self.hooks
            .tell::<PostCache>(|| PostCachePayload {
                tool_call_id: self.tool_call_id.into(),
                tool_name: self.tool_name.into(),
                cache_id,
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

/// The first and the last characters of a text.
fn preview(text: &str, chars: usize) -> String {
    let head: String = text.chars().take(chars / 2).collect();
    let skip = text.chars().count().saturating_sub(chars / 2);
    let tail: String = text.chars().skip(skip).collect();
    format!("{head}\n[…]\n{tail}")
}

/// Longer lines are shown as several, so that any place of an output can be reached.
const LINE_CHARS: usize = 1_000;

/// How many characters are read back at once.
const PAGE_CHARS: usize = 40_000;

/// Reads lines of an output that was put aside.
pub(crate) async fn read_back(store: &dyn Store, read: &ReadArguments) -> ToolOutput {
    let hash = read.path.trim_start_matches(BLOB);
    let bytes = match store.blob(hash).await {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return ToolOutput::error(format!("nothing was put aside as {}", read.path)),
        Err(error) => return ToolOutput::error(error.to_string()),
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().flat_map(pieces).collect();
    let all = lines.len() as u64;
    let first = match read.tail {
        Some(tail) => all.saturating_sub(tail) as usize,
        None => (read.offset.unwrap_or(1).max(1) - 1).min(all) as usize,
    };
    let wanted = read.limit.map_or(all, |limit| limit.min(all)) as usize;
    let mut room = PAGE_CHARS;
    let page: Vec<&str> = lines[first..]
        .iter()
        .take(wanted)
        .copied()
        .take_while(|line| {
            let fits = line.len() < room;
            room = room.saturating_sub(line.len() + 1);
            fits
        })
        .collect();
    let (next, total) = (first + page.len(), lines.len());
    let mut page = page.join("\n");
    if next < total {
        page.push_str(&format!(
            "\n[lines {} to {next} of {total}; go on with offset {}]",
            first + 1,
            next + 1
        ));
    }
    ToolOutput::text(page)
}

/// A line in pieces that are not too long.
fn pieces(line: &str) -> Vec<&str> {
    let mut rest = line;
    let mut pieces = Vec::new();
    while let Some((end, _)) = rest.char_indices().nth(LINE_CHARS) {
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_comes_in_pieces_that_make_it_up() {
        let line = "ä".repeat(2_500);
        let parts = pieces(&line);
        assert_eq!(parts.len(), 3);
        assert_eq!(parts.concat(), line);
        assert_eq!(pieces(""), [""]);
    }
}
