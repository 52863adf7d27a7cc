//! Signals: Ctrl-C and a polite kill cancel what is going on, so that it ends properly; a second one ends the program.
//!
//! They are heard on a thread of their own, which nothing holds up: the scripts of extensions run on the thread of
//! whoever calls them, and one that does not end must not keep the person's Ctrl-C from being heard.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::{CliError, Exit};

/// How long the program may take to end by itself after a second signal.
const A_MOMENT: Duration = Duration::from_millis(500);

/// How much later than a program that had the terminal becket may hear of a key. On the screen keys are no signals, so
/// nothing is lost if this is long.
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
    /// Cancelled by a signal that comes while an earlier one is still being obeyed.
    forced: CancellationToken,
    /// How the program ends then.
    exit: OnceLock<Exit>,
    /// How many signals there were.
    count: AtomicU64,
    /// Whether somebody listens.
    listens: Mutex<bool>,
    /// Gives the terminal back before the program is ended from here.
    at_end: OnceLock<AtEnd>,
    /// Who has the terminal meanwhile: its keys are not meant for becket.
    lent: Mutex<Lent>,
}

#[derive(Debug, Default)]
struct Lent {
    borrowers: usize,
    returned_at: Option<Instant>,
}

/// As long as it lives, Ctrl-C is meant for the program that has the terminal.
#[derive(Debug)]
pub struct Loan(Signals);

impl Drop for Loan {
    fn drop(&mut self) {
        let mut lent = held(&self.0.0.lent);
        lent.borrowers -= 1;
        lent.returned_at = Some(Instant::now());
    }
}

/// Done before the program is ended.
struct AtEnd(Box<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for AtEnd {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AtEnd")
    }
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
    /// Begins to listen, once. From when this returns on, no signal is lost.
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
                .spawn(move || runtime.block_on(listener.obey(sources)))
                .map_err(failed)?;
            *listens = true;
        }
        Ok(self.clone())
    }

    async fn obey(&self, mut sources: Sources) {
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
            // Last: code that ends because of it finds that it was cancelled.
            self.0.count.fetch_add(1, Ordering::SeqCst);
            if again {
                self.force(exit).await;
            }
        }
    }

    /// Who asks a second time does not want to wait for hooks and tools that take their time to end. What does not even
    /// drop its work, because it is in the middle of something that cannot be interrupted, is ended from here.
    async fn force(&self, exit: Exit) {
        let _ = self.0.exit.set(exit);
        self.0.forced.cancel();
        tokio::time::sleep(A_MOMENT).await;
        becket_hooks::end_programs();
        leave_terminal();
        if let Some(AtEnd(work)) = self.0.at_end.get() {
            work();
        }
        std::process::exit(exit as i32);
    }

    /// What has to be done before a second signal ends the program, once.
    pub fn at_end(&self, work: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.at_end.set(AtEnd(Box::new(work)));
    }

    /// Cancels what goes on, as a signal does. Scripts that run right now end.
    pub fn cancel(&self) {
        self.current().cancel();
        self.end_scripts();
    }

    /// The same as Ctrl-C on a terminal that makes a signal of it: a second one ends the program.
    pub fn raise(&self) {
        let own = rustix::process::getpid();
        let _ = rustix::process::kill_process(own, rustix::process::Signal::INT);
    }

    /// Scripts that run right now end: somebody has pressed a key that means so, and they may be what keeps it from
    /// being heard.
    pub fn end_scripts(&self) {
        self.0.count.fetch_add(1, Ordering::SeqCst);
    }

    /// From now on a program has the terminal, in the group of this one.
    pub fn lend(&self) -> Loan {
        held(&self.0.lent).borrowers += 1;
        Loan(self.clone())
    }

    /// Whether another program has the terminal, or had it a moment ago: a key that has ended it is heard here too, and
    /// perhaps later.
    fn is_lent(&self) -> bool {
        let lent = held(&self.0.lent);
        let returned = lent.returned_at.map(|at| at.elapsed());
        lent.borrowers > 0 || returned.is_some_and(|since| since < LATE_KEY)
    }

    /// A token for what begins now: the next signal cancels it.
    pub fn next(&self) -> CancellationToken {
        let token = self.0.ended.child_token();
        *self.current() = token.clone();
        token
    }

    /// Does the work, or drops it in the middle if somebody asks a second time: what it started ends with it.
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

    /// Whether what began last was cancelled.
    pub fn cancelled(&self) -> bool {
        self.current().is_cancelled()
    }

    /// Whether the program was told to end for good.
    pub fn ended(&self) -> bool {
        self.0.ended.is_cancelled()
    }

    /// How many signals there were until now.
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

/// The editor may still wait for a line; the terminal must not stay as the editor needs it.
pub fn leave_terminal() {
    if crossterm::terminal::is_raw_mode_enabled().unwrap_or(false) {
        let _ = crossterm::terminal::disable_raw_mode();
        let _ = crossterm::execute!(std::io::stdout(), crossterm::event::DisableBracketedPaste);
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

    /// Waits for one, and says how it ends the program if it must. Only Ctrl-C does not always end it.
    async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Cancelled,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = self.hang_up.recv() => Exit::HungUp,
        }
    }
}
