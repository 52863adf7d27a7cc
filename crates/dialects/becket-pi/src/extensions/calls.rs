//! What is under way between the program and extensions: tools that run, streams of providers, calls that can be called
//! off.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

use becket_agent::provider::{Begun, Sending};
use becket_agent::tool::Progress;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

/// What is under way.
#[derive(Default)]
pub struct Calls {
    state: Mutex<State>,
    last_stream: AtomicU32,
    last_shell: AtomicU32,
}

#[derive(Default)]
struct State {
    /// Takes what a running tool has to tell, by its call.
    tools: HashMap<String, UnboundedSender<Progress>>,
    /// Takes what a provider's stream gives, by its number; with the extension that it belongs to.
    streams: HashMap<u32, (String, UnboundedSender<StreamNews>)>,
    /// Takes what commands give that run in the shell's place, by the number of the run.
    shells: HashMap<u32, UnboundedSender<String>>,
    /// Calls of extensions that can be called off, by extension and id.
    asked: HashMap<(String, u32), CancellationToken>,
}

/// What a provider's stream tells.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamNews {
    /// It is about to send something, and waits to hear what it may send.
    Sends(Sending),
    /// It has got an answer.
    Begun(Begun),
    /// Part of the answer, as an event of pi's.
    Event(Value),
    /// Its extension has failed where nobody waited for it.
    Failed(String),
}

impl Calls {
    /// A tool runs.
    pub fn begin_tool(&self, call_id: &str, progress: UnboundedSender<Progress>) {
        self.state().tools.insert(call_id.to_owned(), progress);
    }

    /// It does not any more.
    pub fn end_tool(&self, call_id: &str) {
        self.state().tools.remove(call_id);
    }

    /// A running tool tells something. What comes after its end is dropped.
    pub fn update_tool(&self, call_id: &str, progress: Progress) {
        if let Some(tool) = self.state().tools.get(call_id) {
            let _ = tool.send(progress);
        }
    }

    /// A provider begins to answer.
    pub fn begin_stream(&self, extension: &str, news: UnboundedSender<StreamNews>) -> u32 {
        let stream = self.last_stream.fetch_add(1, Ordering::Relaxed) + 1;
        self.state().streams.insert(stream, (extension.to_owned(), news));
        stream
    }

    /// It is over.
    pub fn end_stream(&self, stream: u32) {
        self.state().streams.remove(&stream);
    }

    /// A stream tells something; what comes after its end is dropped.
    pub fn stream(&self, stream: u32, told: StreamNews) {
        if let Some((_, news)) = self.state().streams.get(&stream) {
            let _ = news.send(told);
        }
    }

    /// An extension has failed where nobody waited for it: its streams may have waited for just that.
    pub fn fail_streams(&self, extension: &str, reason: &str) {
        let state = self.state();
        let own = state.streams.values().filter(|(owner, _)| owner == extension);
        own.for_each(|(_, news)| {
            let _ = news.send(StreamNews::Failed(reason.to_owned()));
        });
    }

    /// A command begins to run in the shell's place.
    pub fn begin_shell(&self, parts: UnboundedSender<String>) -> u32 {
        let run = self.last_shell.fetch_add(1, Ordering::Relaxed) + 1;
        self.state().shells.insert(run, parts);
        run
    }

    /// It is over.
    pub fn end_shell(&self, run: u32) {
        self.state().shells.remove(&run);
    }

    /// Such a command gives something; what comes after its end is dropped.
    pub fn shell_output(&self, run: u32, text: String) {
        if let Some(parts) = self.state().shells.get(&run) {
            let _ = parts.send(text);
        }
    }

    /// An extension asks for something that it may call off.
    pub fn begin_call(&self, extension: &str, id: u32) -> CancellationToken {
        let token = CancellationToken::new();
        self.state()
            .asked
            .insert((extension.to_owned(), id), token.clone());
        token
    }

    /// It was answered.
    pub fn end_call(&self, extension: &str, id: u32) {
        self.state().asked.remove(&(extension.to_owned(), id));
    }

    /// It calls it off.
    pub fn cancel(&self, extension: &str, id: u32) {
        if let Some(token) = self.state().asked.remove(&(extension.to_owned(), id)) {
            token.cancel();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic happens while calls are held")
    }
}
