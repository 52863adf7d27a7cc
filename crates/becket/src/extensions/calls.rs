//! What is under way between the program and extensions: tools that run, streams of providers, calls that can be called
//! off.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

use becket_agent::tool::Progress;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

/// What is under way.
#[derive(Default)]
pub struct Calls {
    state: Mutex<State>,
    last_stream: AtomicU32,
}

#[derive(Default)]
struct State {
    /// Takes what a running tool has to tell, by its call.
    tools: HashMap<String, UnboundedSender<Progress>>,
    /// Takes what a provider's stream gives, by its number.
    streams: HashMap<u32, UnboundedSender<Value>>,
    /// Calls of extensions that can be called off, by extension and id.
    asked: HashMap<(String, u32), CancellationToken>,
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
    pub fn begin_stream(&self, events: UnboundedSender<Value>) -> u32 {
        let stream = self.last_stream.fetch_add(1, Ordering::Relaxed) + 1;
        self.state().streams.insert(stream, events);
        stream
    }

    /// It is over.
    pub fn end_stream(&self, stream: u32) {
        self.state().streams.remove(&stream);
    }

    /// Part of an answer.
    pub fn stream(&self, stream: u32, event: Value) {
        if let Some(events) = self.state().streams.get(&stream) {
            let _ = events.send(event);
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
