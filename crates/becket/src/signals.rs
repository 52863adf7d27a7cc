//! Signals: Ctrl-C and a polite kill cancel what is going on, so that it ends properly.

use std::sync::{Arc, Mutex};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::CliError;

/// Listens for signals from its making on. Cloning gives another handle.
#[derive(Clone)]
pub struct Signals {
    /// Cancelled by the next signal of any kind.
    current: Arc<Mutex<CancellationToken>>,
    /// Cancelled once the program is told to end for good.
    ended: CancellationToken,
    /// Cancelled by a signal that comes while an earlier one is still being obeyed.
    forced: CancellationToken,
}

/// Does the work, or drops it in the middle at a cancel: what it started ends with it. Work that is done at once is
/// done in any case.
pub async fn unless_cancelled<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> Result<T, CliError> {
    tokio::select! {
        biased;
        result = work => Ok(result),
        () = cancel.cancelled() => Err(CliError::cancelled()),
    }
}

impl Signals {
    /// Begins to listen. Must be called inside of a runtime.
    pub fn listen() -> Result<Self, CliError> {
        let open = |kind| {
            signal(kind).map_err(|error| CliError::failed(format!("cannot listen for signals: {error}")))
        };
        let mut interrupt = open(SignalKind::interrupt())?;
        let mut terminate = open(SignalKind::terminate())?;
        let mut hang_up = open(SignalKind::hangup())?;
        // A full file limit would end the program. Once somebody listens, the write fails instead, and is reported.
        let _ = open(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?;
        let signals = Self {
            current: Arc::default(),
            ended: CancellationToken::new(),
            forced: CancellationToken::new(),
        };
        let listener = signals.clone();
        tokio::spawn(async move {
            loop {
                let ends = tokio::select! {
                    _ = interrupt.recv() => false,
                    _ = terminate.recv() => true,
                    _ = hang_up.recv() => true,
                };
                // Who asks a second time does not want to wait for hooks and tools that take their time to end.
                if listener.current().is_cancelled() {
                    listener.forced.cancel();
                }
                if ends {
                    listener.ended.cancel();
                }
                listener.current().cancel();
            }
        });
        Ok(signals)
    }

    /// A token for what begins now: the next signal cancels it.
    pub fn next(&self) -> CancellationToken {
        let token = self.ended.child_token();
        *self.current() = token.clone();
        token
    }

    /// Does the work, or drops it in the middle if somebody asks a second time: what it started ends with it.
    pub async fn unless_forced<T>(
        &self,
        work: impl Future<Output = Result<T, CliError>>,
        cancelled: T,
    ) -> Result<T, CliError> {
        tokio::select! {
            biased;
            () = self.forced.cancelled() => Ok(cancelled),
            result = work => result,
        }
    }

    /// Whether the program was told to end for good.
    pub fn ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    fn current(&self) -> std::sync::MutexGuard<'_, CancellationToken> {
        self.current
            .lock()
            .expect("no panic happens while the token is held")
    }
}
