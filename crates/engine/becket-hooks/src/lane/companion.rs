//! A companion: a program that stays alive and speaks its own protocol over standard input and output.
//!
//! A companion is started, marked and ended like every program of a lane. Its standard error is read all the time, so
//! that it never waits for a reader, and only the end of it is kept.

use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::process::{Limits, Process, Program, deadline_after};
use super::tree::Tree;
use crate::Failure;

/// How long a companion may take to end by itself when its input is closed.
const FAREWELL: Duration = Duration::from_millis(200);

/// How long the standard error of a companion that has ended is awaited.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A running companion. Dropping it ends it with everything that it started.
pub struct Companion {
    tree: Tree,
    words: Arc<Mutex<Vec<u8>>>,
    listening: JoinHandle<()>,
}

impl Companion {
    /// Starts a program within a time limit.
    pub async fn start(
        program: &Program,
        directory: &Path,
        limit: Duration,
    ) -> Result<(Self, ChildStdin, ChildStdout), Failure> {
        let process = program.start(directory, &[], deadline_after(limit)).await?;
        let Process {
            stdin,
            stdout,
            stderr,
            tree,
        } = process;
        let words = Arc::default();
        let listening = tokio::spawn(listen(stderr, Arc::clone(&words), Limits::default().stderr));
        let companion = Self {
            tree,
            words,
            listening,
        };
        Ok((companion, stdin, stdout))
    }

    /// The companion's process number, as long as it runs.
    pub fn id(&self) -> Option<u32> {
        self.tree.id()
    }

    /// The companion's exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.tree.ended()
    }

    /// The companion's exit status, if it ends within a time. Its standard error has been read by then, unless
    /// something that it started still holds the pipe.
    pub async fn ends_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        let status = timeout(limit, self.tree.wait()).await.ok()?.ok()?;
        if !self.listening.is_finished() {
            let _ = timeout(LAST_WORDS, &mut self.listening).await;
        }
        Some(status)
    }

    /// The end of the companion's standard error.
    pub fn last_words(&self) -> String {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&words).into_owned()
    }

    /// Ends the companion. If its input was closed before, it gets a moment to end by itself.
    pub async fn end(mut self) {
        let _ = timeout(FAREWELL, self.tree.wait()).await;
        self.tree.terminate().await;
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Reads a pipe to its end, and keeps the last bytes.
async fn listen(mut pipe: ChildStderr, words: Arc<Mutex<Vec<u8>>>, limit: usize) {
    let mut chunk = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend_from_slice(&chunk[..count]);
        if words.len() > limit.saturating_mul(2) {
            let beginning = words.len() - limit;
            words.drain(..beginning);
        }
    }
}
