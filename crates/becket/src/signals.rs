//! Signals: Ctrl-C and a polite kill cancel what is going on, so that it ends properly.
//!
//! They are heard on a thread of their own: the scripts of extensions run on the thread of whoever calls them, and one
//! that does not end must not keep the person's Ctrl-C from being heard.

use std::sync::{Arc, Mutex};

use tokio::signal::unix::{Signal, SignalKind, signal};
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
    /// Begins to listen. From when this returns on, no signal is lost.
    pub fn listen() -> Result<Self, CliError> {
        let failed = |error| CliError::failed(format!("cannot listen for signals: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(failed)?;
        let sources = {
            let _inside = runtime.enter();
            Sources::open().map_err(failed)?
        };
        let signals = Self {
            current: Arc::default(),
            ended: CancellationToken::new(),
            forced: CancellationToken::new(),
        };
        let listener = signals.clone();
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || runtime.block_on(listener.obey(sources)))
            .map_err(failed)?;
        Ok(signals)
    }

    async fn obey(&self, mut sources: Sources) {
        loop {
            let ends = sources.next().await;
            // Who asks a second time does not want to wait for hooks and tools that take their time to end.
            if self.current().is_cancelled() {
                self.forced.cancel();
            }
            if ends {
                self.ended.cancel();
            }
            self.current().cancel();
        }
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

/// The signals that are heard.
struct Sources {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Sources {
    fn open() -> std::io::Result<Self> {
        // A full file limit would end the program. Once somebody listens, the write fails instead, and is reported.
        let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?;
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for one, and says whether the program must end for good.
    async fn next(&mut self) -> bool {
        tokio::select! {
            _ = self.interrupt.recv() => false,
            _ = self.terminate.recv() => true,
            _ = self.hang_up.recv() => true,
        }
    }
}
