//! What a program writes: standard output up to a limit, and the end of standard error.
//!
//! Both readers keep what they have when their future is dropped, so a caller may stop at any moment and take it.

use std::time::Duration;

use futures_util::FutureExt;
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::oneshot;

/// Looks at everything that a program has written so far, each time that there is more. Once it returns a time, which
/// the program gets from then on, it looks no longer.
pub type Listener = Box<dyn FnMut(&[u8]) -> Option<Duration> + Send + Sync>;

/// Room for one read. Most hooks answer with less.
const READ_SIZE: usize = 8 * 1024;

/// The error of a program that wrote more than it may.
#[derive(Debug)]
pub(super) struct TooLarge;

/// Standard output, up to a limit.
pub(super) struct Output {
    pipe: ChildStdout,
    bytes: Vec<u8>,
    limit: usize,
    listener: Option<Listener>,
}

impl Output {
    pub(super) fn new(pipe: ChildStdout, limit: usize) -> Self {
        Self {
            pipe,
            bytes: Vec::new(),
            limit,
            listener: None,
        }
    }

    /// This output with somebody who listens to it.
    pub(super) fn heard_by(mut self, listener: Option<Listener>) -> Self {
        self.listener = listener;
        self
    }

    /// Reads until every writer has closed the pipe. Sends the time that a listener returns.
    pub(super) async fn read_aloud(&mut self, heard: oneshot::Sender<Duration>) -> Result<(), TooLarge> {
        let mut heard = Some(heard);
        while self.read_some().await? > 0 {
            let bytes = &self.bytes;
            let longer = self.listener.as_mut().and_then(|listener| listener(bytes));
            if let Some(longer) = longer {
                self.listener = None;
                if let Some(heard) = heard.take() {
                    // Whoever waits for the program has gone if nobody receives this.
                    let _ = heard.send(longer);
                }
            }
        }
        Ok(())
    }

    /// Sets how many bytes may be read from now on.
    pub(super) fn limit_to(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Reads until there is a whole line. `Ok(false)`: the other end was closed before.
    pub(super) async fn read_line(&mut self) -> Result<bool, TooLarge> {
        let mut searched = 0;
        loop {
            if self.bytes[searched..].contains(&b'\n') {
                return Ok(true);
            }
            searched = self.bytes.len();
            if self.read_some().await? == 0 {
                return Ok(false);
            }
        }
    }

    /// Reads once. A broken pipe counts as its end.
    pub(super) async fn read_some(&mut self) -> Result<usize, TooLarge> {
        self.bytes.reserve(READ_SIZE);
        let count = self.pipe.read_buf(&mut self.bytes).await.unwrap_or(0);
        if self.bytes.len() > self.limit {
            return Err(TooLarge);
        }
        Ok(count)
    }

    /// What was read since the last `clear`.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// The end of standard error.
pub(super) struct Tail {
    /// The pipe; `None` when standard error goes elsewhere.
    pipe: Option<ChildStderr>,
    bytes: Vec<u8>,
    limit: usize,
    cut: bool,
}

impl Tail {
    pub(super) fn new(pipe: ChildStderr, limit: usize) -> Self {
        Self {
            pipe: Some(pipe),
            bytes: Vec::new(),
            limit,
            cut: false,
        }
    }

    /// The tail of a standard error that goes elsewhere and stays empty here.
    pub(super) fn unheard() -> Self {
        Self {
            pipe: None,
            bytes: Vec::new(),
            limit: 0,
            cut: false,
        }
    }

    /// Reads until every writer has closed the pipe, and keeps only the end.
    pub(super) async fn read_to_end(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            self.bytes.reserve(READ_SIZE);
            match pipe.read_buf(&mut self.bytes).await {
                Ok(0) | Err(_) => return,
                Ok(_) => self.trim(self.limit.saturating_mul(2)),
            }
        }
    }

    /// The kept text, plus what can be read without waiting, as valid UTF-8; the tail is empty afterwards.
    pub(super) fn take_text(&mut self) -> String {
        let _ = self.read_to_end().now_or_never();
        if self.bytes.is_empty() {
            return String::new();
        }
        self.trim(self.limit);
        let text = String::from_utf8_lossy(&self.bytes);
        let text = if self.cut {
            format!("…{text}")
        } else {
            text.into_owned()
        };
        self.bytes.clear();
        self.cut = false;
        text
    }

    /// Drops the beginning once there is more than `bound`, which is rare enough to make the copy cheap.
    fn trim(&mut self, bound: usize) {
        if self.bytes.len() > bound {
            self.bytes.drain(..self.bytes.len() - self.limit);
            self.cut = true;
        }
    }
}
