//! A program that an extension has started and that runs.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::io::Errno;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::{Mutex as Turn, watch};
use tokio::task::AbortHandle;

use super::errors::system_error;
use crate::host::HostError;

/// The largest number of bytes that a script gets at once.
pub(super) const CHUNK: usize = 64 * 1024;

/// How long output may stay open after its program has ended: a background process may hold it for ever.
pub(super) const GRACE: Duration = Duration::from_millis(500);

/// What a program writes.
pub(super) type Output = Box<dyn AsyncRead + Send + Unpin>;

/// A running program.
pub(super) struct Running {
    pub(super) pid: i32,
    pub(super) stdin: Turn<Option<ChildStdin>>,
    pub(super) outputs: [Turn<Option<Output>>; 2],
    pub(super) exit: watch::Receiver<Option<ExitStatus>>,
    /// Whether the extension wants the program to end; then everything it has started ends too.
    pub(super) unwanted: Arc<AtomicBool>,
    pub(super) task: AbortHandle,
}

impl Running {
    /// Ends the program: dropping its tree kills it.
    pub(super) fn end(&self) {
        self.task.abort();
    }

    /// The next bytes; `None` at the end.
    pub(super) async fn read(&self, which: usize) -> Option<Vec<u8>> {
        let mut output = self.outputs[which].lock().await;
        let mut bytes = Vec::with_capacity(CHUNK);
        let read = output.as_mut()?.read_buf(&mut bytes);
        tokio::pin!(read);
        let count = tokio::select! {
            count = &mut read => count.unwrap_or_default(),
            () = exited(self.exit.clone()) => {
                tokio::time::timeout(GRACE, read).await.ok().and_then(Result::ok).unwrap_or_default()
            }
        };
        if count == 0 {
            *output = None;
            return None;
        }
        Some(bytes)
    }

    /// Writes to the program's input.
    pub(super) async fn write(&self, bytes: Vec<u8>) -> Result<Value, HostError> {
        let mut stdin = self.stdin.lock().await;
        let failed = |error: io::Error| system_error(&error, "write", None, None);
        let pipe = stdin.as_mut().ok_or_else(|| failed(Errno::PIPE.into()))?;
        let written = tokio::select! {
            written = pipe.write_all(&bytes) => written,
            () = exited(self.exit.clone()) => Err(Errno::PIPE.into()),
        };
        written.map(|()| Value::Null).map_err(failed)
    }

    /// How the program has ended; `None` if it is no longer watched.
    pub(super) async fn wait(&self) -> Option<ExitStatus> {
        exited(self.exit.clone()).await;
        *self.exit.borrow()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits until a program has ended, or is no longer watched.
async fn exited(mut exit: watch::Receiver<Option<ExitStatus>>) {
    let _ = exit.wait_for(Option::is_some).await;
}
