//! The limits of a run. Reaching one ends the run, whatever handlers the code has installed, and leaves the machine
//! ready for the next one.
//!
//! A step is a call, because whatever goes on for ever calls something. Large things are refused before memory is taken
//! for them. Numbers have a limit of their own, since arithmetic on larger ones takes too long.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The limits of a run.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Procedure calls in one run: any endless code calls something.
    pub steps: u64,
    /// Bytes of all live data, stack and code included.
    pub memory: usize,
    /// The largest exact number, in bits: arithmetic on larger ones takes longer than a step should.
    pub number_bits: u64,
    /// How long one run may take. Waiting for the host does not count.
    pub time: Option<Duration>,
    /// Ends the run when it returns true.
    pub cancel: Option<Cancel>,
}

/// Says whether a run is to end. Asked every few thousand steps.
#[derive(Clone)]
pub struct Cancel(Arc<dyn Fn() -> bool + Send + Sync>);

impl Cancel {
    pub fn new(is_cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_cancelled))
    }
}

impl From<Arc<AtomicBool>> for Cancel {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self::new(move || flag.load(Ordering::Relaxed))
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Cancel")
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 100_000_000,
            memory: 256 << 20,
            number_bits: 1 << 18,
            time: Some(Duration::from_secs(30)),
            cancel: None,
        }
    }
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Steps(u64),
    /// The limit in bytes.
    Memory(usize),
    NumberBits(u64),
    Time(Duration),
    Cancelled,
    /// Forms inside of forms, or expansions of expansions.
    Nesting(usize),
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => write!(formatter, "stopped after {steps} steps: does it loop for ever?"),
            Self::Memory(bytes) => {
                write!(
                    formatter,
                    "stopped because it needs more than {} of memory",
                    Size(*bytes)
                )
            }
            Self::NumberBits(bits) => {
                write!(formatter, "stopped because a number needs more than {bits} bits")
            }
            Self::Time(time) => write!(formatter, "stopped after {} ms", time.as_millis()),
            Self::Cancelled => formatter.write_str("cancelled"),
            Self::Nesting(depth) => {
                write!(
                    formatter,
                    "stopped because forms are nested more than {depth} deep"
                )
            }
        }
    }
}

/// A number of bytes in readable form.
struct Size(usize);

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes >= 1 << 20 => write!(formatter, "{} MiB", bytes >> 20),
            bytes => write!(formatter, "{} KiB", bytes >> 10),
        }
    }
}

/// What is left of the limits of one run. The clock stops while the run waits for the host.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    /// Steps that may be made, besides those handed out already.
    steps: u64,
    deadline: Option<Instant>,
    left: Option<Duration>,
}

/// How many steps are made between two checks of the clock.
const PORTION: u64 = 4096;

impl Budget {
    pub fn new(limits: &Limits) -> Self {
        Self {
            steps: limits.steps,
            deadline: None,
            left: limits.time,
        }
    }

    /// Starts the clock.
    pub fn start(&mut self) {
        self.deadline = self.left.and_then(|left| Instant::now().checked_add(left));
    }

    /// Stops the clock.
    pub fn pause(&mut self) {
        if let Some(deadline) = self.deadline.take() {
            self.left = Some(deadline.saturating_duration_since(Instant::now()));
        }
    }

    /// Gives the machine some more steps, if clock, host and limits allow it.
    pub fn next_portion(&mut self, limits: &Limits) -> Result<u64, Limit> {
        self.check(limits)?;
        let portion = self.steps.min(PORTION);
        if portion == 0 {
            return Err(Limit::Steps(limits.steps));
        }
        self.steps -= portion;
        Ok(portion)
    }

    /// Takes back steps that were not made.
    pub fn give_back(&mut self, steps: u64) {
        self.steps += steps;
    }

    /// Checks whether clock and host allow the run to continue.
    pub fn check(&self, limits: &Limits) -> Result<(), Limit> {
        if limits.cancel.as_ref().is_some_and(|cancel| (cancel.0)()) {
            return Err(Limit::Cancelled);
        }
        match (self.deadline, limits.time) {
            (Some(deadline), Some(time)) if Instant::now() >= deadline => Err(Limit::Time(time)),
            _ => Ok(()),
        }
    }
}
