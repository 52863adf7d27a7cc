//! Signals: Ctrl-C and SIGTERM cancel what is going on, so that it ends properly; a second one ends the program.
//!
//! Signals are handled on a separate thread, which nothing blocks: the scripts of extensions run on their caller's
//! thread, and one that does not end must not keep the user's Ctrl-C from working.
//!
//! A program that has the terminal is in becket's own process group. To take the terminal away from a group, becket
//! would have to ignore signals that it must hear. So while the terminal is lent, becket does not act on Ctrl-C.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::{CliError, Exit};

/// How long the program may take to end by itself after a second signal.
const A_MOMENT: Duration = Duration::from_millis(500);

/// How much later than a program that had the terminal becket may receive a key's signal. On the screen keys are no
/// signals, so nothing is lost if this is long.
const LATE_KEY: Duration = Duration::from_secs(2);

/// The signals of this process. Cloning gives another handle.
#[derive(Debug, Clone, Default)]
pub struct Signals(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Cancelled by the next signal of any kind.
    current: Mutex<CancellationToken>,
    /// Cancelled once the program is told to end for good.
    ended: CancellationToken,
    /// Cancelled by a signal that comes while an earlier one is still being handled.
    forced: CancellationToken,
    /// How the program ends after a forcing signal.
    exit: OnceLock<Exit>,
    /// How many signals there were.
    count: AtomicU64,
    /// Whether the signal thread runs.
    listens: Mutex<bool>,
    /// Restores the terminal before the program is ended from here.
    at_end: OnceLock<AtEnd>,
    /// Which programs have the terminal meanwhile: its keys are not meant for becket.
    lent: Mutex<Lent>,
}

#[derive(Debug, Default)]
struct Lent {
    borrowers: usize,
    returned_at: Option<Instant>,
}

/// While this lives, Ctrl-C is meant for the program that has the terminal.
#[derive(Debug)]
pub struct Loan(Signals);

impl Drop for Loan {
    fn drop(&mut self) {
        let mut lent = held(&self.0.0.lent);
        lent.borrowers -= 1;
        lent.returned_at = Some(Instant::now());
    }
}

/// Work to be done before the program is ended.
struct AtEnd(Box<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for AtEnd {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AtEnd")
    }
}

/// Does the work, or drops it in the middle at a cancel: what it started ends with it. Work that is ready at its first
/// poll is done in any case.
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
    /// Begins to listen, once. No signal is lost after this returns.
    pub fn listen(&self) -> Result<Self, CliError> {
        let failed = |error| CliError::failed(format!("cannot listen for signals: {error}"));
        let mut listens = held(&self.0.listens);
        if !*listens {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(failed)?;
            let sources = {
                let _inside = runtime.enter();
                Sources::open().map_err(failed)?
            };
            let listener = self.clone();
            std::thread::Builder::new()
                .name("signals".into())
                .spawn(move || runtime.block_on(listener.listen_to(sources)))
                .map_err(failed)?;
            *listens = true;
        }
        Ok(self.clone())
    }

    async fn listen_to(&self, mut sources: Sources) {
        loop {
            let exit = sources.next().await;
            if exit == Exit::Cancelled && self.is_lent() {
                continue;
            }
            let again = self.current().is_cancelled();
            if exit != Exit::Cancelled {
                self.0.ended.cancel();
            }
            self.current().cancel();
            // Last: code that ends because of this count finds that it was cancelled.
            self.0.count.fetch_add(1, Ordering::SeqCst);
            if again {
                self.force(exit).await;
            }
        }
    }

    /// Ends the program after a second signal, without waiting for hooks and tools that are slow to end. Work that
    /// cannot even be dropped, because it is blocked, is ended from here.
    async fn force(&self, exit: Exit) {
        let _ = self.0.exit.set(exit);
        self.0.forced.cancel();
        tokio::time::sleep(A_MOMENT).await;
        becket_hooks::end_programs();
        if let Some(AtEnd(work)) = self.0.at_end.get() {
            work();
        }
        std::process::exit(exit as i32);
    }

    /// Sets what has to be done before a second signal ends the program, once.
    pub fn at_end(&self, work: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.at_end.set(AtEnd(Box::new(work)));
    }

    /// Cancels what is going on, as a signal does. Running scripts end.
    pub fn cancel(&self) {
        self.current().cancel();
        self.end_scripts();
    }

    /// Raises SIGINT, like Ctrl-C on a terminal that turns it into a signal: a second one ends the program.
    pub fn raise(&self) {
        let own = rustix::process::getpid();
        let _ = rustix::process::kill_process(own, rustix::process::Signal::INT);
    }

    /// Ends running scripts: the user has pressed a key that means so, and a script may be what keeps it from being
    /// handled.
    pub fn end_scripts(&self) {
        self.0.count.fetch_add(1, Ordering::SeqCst);
    }

    /// Notes that a program in this process's group has the terminal from now on.
    pub fn lend(&self) -> Loan {
        held(&self.0.lent).borrowers += 1;
        Loan(self.clone())
    }

    /// Whether another program has the terminal, or had it a moment ago: a key that has ended it is received here too,
    /// and perhaps later.
    fn is_lent(&self) -> bool {
        let lent = held(&self.0.lent);
        let returned = lent.returned_at.map(|at| at.elapsed());
        lent.borrowers > 0 || returned.is_some_and(|since| since < LATE_KEY)
    }

    /// A token for work that begins now: the next signal cancels it.
    pub fn next(&self) -> CancellationToken {
        let token = self.0.ended.child_token();
        *self.current() = token.clone();
        token
    }

    /// Does the work, or drops it in the middle at a second signal: what it started ends with it.
    pub async fn unless_forced(
        &self,
        work: impl Future<Output = Result<Exit, CliError>>,
    ) -> Result<Exit, CliError> {
        tokio::select! {
            biased;
            () = self.0.forced.cancelled() => Ok(self.0.exit.get().copied().unwrap_or(Exit::Cancelled)),
            result = work => result,
        }
    }

    /// Whether the last work was cancelled.
    pub fn cancelled(&self) -> bool {
        self.current().is_cancelled()
    }

    /// Whether the program was told to end.
    pub fn ended(&self) -> bool {
        self.0.ended.is_cancelled()
    }

    /// How many signals there were so far.
    pub fn count(&self) -> u64 {
        self.0.count.load(Ordering::SeqCst)
    }

    fn current(&self) -> MutexGuard<'_, CancellationToken> {
        held(&self.0.current)
    }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().expect("no panic happens while signals are held")
}

/// The signals that are handled.
struct Sources {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Sources {
    fn open() -> std::io::Result<Self> {
        // Exceeding the file size limit would end the program. With a listener, the write fails instead, and is
        // reported.
        let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?;
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal, and returns how it ends the program if it must. Only Ctrl-C does not always end it.
    async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Cancelled,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = self.hang_up.recv() => Exit::HungUp,
        }
    }
}
