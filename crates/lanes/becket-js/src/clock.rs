//! Time: how long code may run, and how long a caller waits for an answer.
//!
//! There are two clocks. Code that runs is measured by the wall clock, so that no loop lives for ever. A caller that
//! waits for an answer is measured by a clock that stops while the user answers a dialog of the extension.
//!
//! Code that nobody started (a timer, the answer to a host call) runs no longer than the next one who waits. What is
//! ended by its deadline gets a second to settle what waits for it. If promises still go on then, the extension is
//! stopped for good, because its queue cannot be emptied in any other way: its guards refuse from then on and say why.
//! Nothing else stops an extension; a call that was ended, a full memory and a full stack fail that call only.
//!
//! A cancel ends code that began before it and stops nothing for good: handlers of the session's end still run, and the
//! next prompt finds the extension as it was.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// How long code may go on after a deadline: to settle what waits for it, or because the deadline is another caller's.
const GRACE: Duration = Duration::from_secs(1);

/// A duration that never ends in practice.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 100);

/// Decides whether code has run long enough.
pub(crate) struct Clock {
    began: Instant,
    /// The deadline of the running code, in milliseconds after `began`.
    deadline: AtomicU64,
    /// How long the code that runs may take, in milliseconds.
    allowed: AtomicU64,
    end: AtomicU8,
    /// The number of cancels when the code began to run.
    cancels: AtomicU64,
    runs: AtomicBool,
    waits: Mutex<Waits>,
    resumed: Notify,
}

/// Why code was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The code's deadline has passed.
    Expired,
    /// The whole program was cancelled.
    Cancelled,
}

#[derive(Default)]
struct Waits {
    /// How many dialogs are open; `since` is when the first of them opened.
    pauses: usize,
    since: Option<Instant>,
    /// How long the clock has been stopped in all.
    stood: Duration,
    /// When the waiting callers give up, by the clock that can be stopped.
    expiries: Vec<Duration>,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            deadline: AtomicU64::new(0),
            allowed: AtomicU64::new(0),
            end: AtomicU8::new(0),
            cancels: AtomicU64::new(0),
            runs: AtomicBool::new(false),
            waits: Mutex::default(),
            resumed: Notify::new(),
        }
    }

    // ---------------------------------------------------------------- code that runs

    /// Starts the time of code that begins to run; `cancels` is the number of cancels so far.
    pub(crate) fn start(&self, timeout: Duration, cancels: u64) {
        self.cancels.store(cancels, Ordering::Relaxed);
        self.allowed.store(timeout.as_millis() as u64, Ordering::Relaxed);
        self.resume();
        self.end_at(self.began.elapsed() + timeout);
    }

    /// Notes that the code has ended, or waits for something outside of the engine.
    pub(crate) fn rest(&self) {
        self.runs.store(false, Ordering::Relaxed);
    }

    /// Notes that the code goes on.
    pub(crate) fn resume(&self) {
        self.runs.store(true, Ordering::Relaxed);
    }

    /// Whether code still runs although its time is over.
    fn is_overdue(&self) -> bool {
        let deadline = Duration::from_millis(self.deadline.load(Ordering::Relaxed));
        self.runs.load(Ordering::Relaxed) && self.began.elapsed() > deadline + GRACE
    }

    /// Stops the time of the code while the user works in a program that it has started.
    pub(crate) fn stand_still(self: &Arc<Self>) -> StandStill {
        let left = self.remaining();
        self.deadline.store(FAR.as_millis() as u64, Ordering::Relaxed);
        self.rest();
        StandStill {
            left,
            pause: Pause::begin(self),
        }
    }

    /// Gives code that was ended a moment to settle what waits for it.
    pub(crate) fn give_grace(&self) {
        self.end_at(self.began.elapsed() + GRACE);
    }

    fn end_at(&self, deadline: Duration) {
        self.deadline
            .store(deadline.as_millis() as u64, Ordering::Relaxed);
        self.end.store(0, Ordering::Relaxed);
    }

    /// Whether the code must end. Asked while it runs.
    pub(crate) fn is_over(&self, cancels: impl FnOnce() -> u64) -> bool {
        let expired = self.began.elapsed().as_millis() as u64 >= self.deadline.load(Ordering::Relaxed);
        let end = match () {
            () if expired => 1,
            () if cancels() != self.cancels.load(Ordering::Relaxed) => 2,
            () => return false,
        };
        self.end.store(end, Ordering::Relaxed);
        true
    }

    /// Why the code that ran last was ended, if it was.
    pub(crate) fn ended(&self) -> Option<End> {
        match self.end.load(Ordering::Relaxed) {
            1 => Some(End::Expired),
            2 => Some(End::Cancelled),
            _ => None,
        }
    }

    /// How long the code that runs may go on.
    pub(crate) fn remaining(&self) -> Duration {
        let deadline = Duration::from_millis(self.deadline.load(Ordering::Relaxed));
        deadline.saturating_sub(self.began.elapsed())
    }

    /// How long the code that ran last was allowed to take.
    pub(crate) fn allowed(&self) -> Duration {
        Duration::from_millis(self.allowed.load(Ordering::Relaxed))
    }

    // ---------------------------------------------------------------- callers that wait

    /// The time by the clock that can be stopped.
    pub(crate) fn now(&self) -> Duration {
        let waits = self.waits();
        let standing = waits.since.map(|since| since.elapsed()).unwrap_or_default();
        self.began.elapsed().saturating_sub(waits.stood + standing)
    }

    /// Waits for an answer until `expiry`; `None` when nothing came.
    pub(crate) async fn until<T>(&self, expiry: Duration, answer: impl Future<Output = T>) -> Option<T> {
        let _entry = Expiry::enter(self, expiry);
        tokio::pin!(answer);
        loop {
            // Created before the clock is read, so that a resume in between is not missed.
            let resumed = self.resumed.notified();
            let standing = self.waits().since.is_some();
            let left = expiry.saturating_sub(self.now());
            tokio::select! {
                biased;
                answer = &mut answer => return Some(answer),
                () = resumed, if standing => {}
                () = tokio::time::sleep(left), if !standing => {
                    if self.now() >= expiry && self.waits().since.is_none() {
                        return None;
                    }
                }
            }
        }
    }

    /// How long code without a caller of its own may run, so that waiting callers learn in time that no answer comes.
    /// The code may be what one of them waits for, so it gets a moment in any case.
    pub(crate) fn spare(&self, timeout: Duration) -> Duration {
        let now = self.now();
        let waits = self.waits();
        let coming = waits.expiries.iter().filter(|expiry| **expiry > now);
        let left = coming.min().map(|expiry| (*expiry - now).max(GRACE));
        left.map_or(timeout, |left| timeout.min(left))
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().expect("no panic happens while waits are held")
    }
}

/// A caller that waits until a time; removed when dropped.
struct Expiry<'a>(&'a Clock, Duration);

impl<'a> Expiry<'a> {
    fn enter(clock: &'a Clock, expiry: Duration) -> Self {
        clock.waits().expiries.push(expiry);
        Self(clock, expiry)
    }
}

impl Drop for Expiry<'_> {
    fn drop(&mut self) {
        let mut waits = self.0.waits();
        if let Some(at) = waits.expiries.iter().position(|expiry| *expiry == self.1) {
            waits.expiries.swap_remove(at);
        }
    }
}

/// Stops the clock of waiting callers while held, because the user answers a dialog.
#[must_use = "the clock goes on when this is dropped"]
pub struct Pause(Arc<Clock>);

impl Pause {
    pub(crate) fn begin(clock: &Arc<Clock>) -> Self {
        let mut waits = clock.waits();
        waits.pauses += 1;
        waits.since.get_or_insert_with(Instant::now);
        drop(waits);
        Self(Arc::clone(clock))
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        let mut waits = self.0.waits();
        waits.pauses -= 1;
        if waits.pauses == 0
            && let Some(since) = waits.since.take()
        {
            waits.stood += since.elapsed();
        }
        drop(waits);
        self.0.resumed.notify_waiters();
    }
}

/// Stops the time of running code while held. Afterwards the code has as much time left as before.
pub(crate) struct StandStill {
    left: Duration,
    pause: Pause,
}

impl Drop for StandStill {
    fn drop(&mut self) {
        let Pause(clock) = &self.pause;
        let deadline = clock.began.elapsed() + self.left;
        clock
            .deadline
            .store(deadline.as_millis() as u64, Ordering::Relaxed);
        clock.resume();
    }
}

/// Shows from outside which extensions still run although their time is over. Some steps of the engine itself never
/// check the deadline; a watcher on another thread can at least report them.
#[derive(Default)]
pub struct Watch(Mutex<Vec<(String, Weak<Clock>)>>);

impl Watch {
    /// The names of the extensions that are overdue now.
    pub fn overdue(&self) -> Vec<String> {
        let clocks = self.clocks();
        let overdue = clocks
            .iter()
            .filter(|(_, clock)| clock.upgrade().is_some_and(|clock| clock.is_overdue()));
        overdue.map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn add(&self, name: &str, clock: &Arc<Clock>) {
        let mut clocks = self.clocks();
        clocks.retain(|(_, clock)| clock.strong_count() > 0);
        clocks.push((name.into(), Arc::downgrade(clock)));
    }

    fn clocks(&self) -> MutexGuard<'_, Vec<(String, Weak<Clock>)>> {
        self.0.lock().expect("no panic happens while clocks are held")
    }
}
