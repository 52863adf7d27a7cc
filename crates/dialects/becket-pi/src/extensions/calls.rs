//! The pending calls between the program and extensions: running tools, streams of providers, calls that can be
//! cancelled.
//!
//! An unhandled rejection ends all streams of its extension, because a stream that waits for it would never end, and it
//! is unknown which promise belongs to which stream.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

use becket_agent::provider::{Begun, Sending};
use becket_agent::tool::{Parent, Progress};
use becket_events::Json;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

/// The pending calls.
#[derive(Default)]
pub struct Calls {
    state: Mutex<OpenCalls>,
    last_stream: AtomicU32,
    last_shell: AtomicU32,
}

#[derive(Default)]
struct OpenCalls {
    /// The running tools, by the call's id.
    tools: HashMap<String, RunningTool>,
    /// Receives the news of a provider's stream, by its number; with the extension that owns the stream.
    streams: HashMap<u32, (String, UnboundedSender<StreamNews>)>,
    /// Receives the output of shell commands that extensions run, by the number of the run.
    shells: HashMap<u32, UnboundedSender<String>>,
    /// Calls of extensions that can be cancelled, by extension and id.
    asked: HashMap<(String, u32), CancellationToken>,
}

/// A running tool of an extension.
struct RunningTool {
    /// Receives the tool's progress.
    progress: UnboundedSender<Progress>,
    /// The session that has called the tool, for further calls.
    parent: Option<Parent>,
}

/// The news of a provider's stream.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamNews {
    /// The stream is about to send a request, and waits for the request that it may send.
    Sends(Sending),
    /// The stream has got a response.
    Begun(Begun),
    /// What the stream has received, before it is read.
    Data(Json),
    /// Part of the answer, as one of pi's events.
    Event(Value),
    /// The stream's extension has failed in code that no caller waits for.
    Failed(String),
}

impl Calls {
    /// Adds a running tool.
    pub fn begin_tool(&self, call_id: &str, (progress, parent): (UnboundedSender<Progress>, Option<Parent>)) {
        let running = RunningTool { progress, parent };
        self.state().tools.insert(call_id.to_owned(), running);
    }

    /// The session that has called a tool that is still running.
    pub fn caller(&self, call_id: &str) -> Option<Parent> {
        self.state().tools.get(call_id)?.parent.clone()
    }

    /// Removes a tool that has ended.
    pub fn end_tool(&self, call_id: &str) {
        self.state().tools.remove(call_id);
    }

    /// Reports the progress of a running tool. Progress after its end is dropped.
    pub fn update_tool(&self, call_id: &str, progress: Progress) {
        if let Some(tool) = self.state().tools.get(call_id) {
            let _ = tool.progress.send(progress);
        }
    }

    /// Adds a stream of a provider; returns its number.
    pub fn begin_stream(&self, extension: &str, news: UnboundedSender<StreamNews>) -> u32 {
        let stream = self.last_stream.fetch_add(1, Ordering::Relaxed) + 1;
        self.state().streams.insert(stream, (extension.to_owned(), news));
        stream
    }

    /// Removes a stream that has ended.
    pub fn end_stream(&self, stream: u32) {
        self.state().streams.remove(&stream);
    }

    /// Reports news of a stream; news after its end are dropped.
    pub fn stream(&self, stream: u32, told: StreamNews) {
        if let Some((_, news)) = self.state().streams.get(&stream) {
            let _ = news.send(told);
        }
    }

    /// Fails all streams of an extension that failed in code that no caller waits for: a stream may wait for just that.
    pub fn fail_streams(&self, extension: &str, reason: &str) {
        let state = self.state();
        let own = state.streams.values().filter(|(owner, _)| owner == extension);
        own.for_each(|(_, news)| {
            let _ = news.send(StreamNews::Failed(reason.to_owned()));
        });
    }

    /// Adds a shell command that an extension runs; returns the number of the run.
    pub fn begin_shell(&self, parts: UnboundedSender<String>) -> u32 {
        let run = self.last_shell.fetch_add(1, Ordering::Relaxed) + 1;
        self.state().shells.insert(run, parts);
        run
    }

    /// Removes a shell command that has ended.
    pub fn end_shell(&self, run: u32) {
        self.state().shells.remove(&run);
    }

    /// Reports output of a shell command; output after its end is dropped.
    pub fn shell_output(&self, run: u32, text: String) {
        if let Some(parts) = self.state().shells.get(&run) {
            let _ = parts.send(text);
        }
    }

    /// Adds a call of an extension that it may cancel.
    pub fn begin_call(&self, extension: &str, id: u32) -> CancellationToken {
        let token = CancellationToken::new();
        self.state()
            .asked
            .insert((extension.to_owned(), id), token.clone());
        token
    }

    /// Removes a call that was answered.
    pub fn end_call(&self, extension: &str, id: u32) {
        self.state().asked.remove(&(extension.to_owned(), id));
    }

    /// Cancels a call of an extension.
    pub fn cancel(&self, extension: &str, id: u32) {
        if let Some(token) = self.state().asked.remove(&(extension.to_owned(), id)) {
            token.cancel();
        }
    }

    fn state(&self) -> MutexGuard<'_, OpenCalls> {
        self.state.lock().expect("no panic happens while calls are held")
    }
}
