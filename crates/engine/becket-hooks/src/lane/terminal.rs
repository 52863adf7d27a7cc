//! The user's terminal, lent to one program at a time.
//!
//! Programs usually run in their own process group, where reading the terminal would stop them. A program that is to
//! ask the user something stays in this process's group, which has the terminal: it can read, and Ctrl-C reaches both.

use std::fs::File;
use std::io;
use std::process::Stdio;
use std::sync::Arc;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, timeout_at};

use super::census::own_group;
use crate::{Cause, Failure};

/// Lends the terminal out, for as long as the returned value lives.
pub type Lender = Arc<dyn Fn() -> Box<dyn Send + Sync> + Send + Sync>;

/// The user's terminal. Cloning gives another handle; all of them share the turns.
#[derive(Clone)]
pub struct Terminal {
    device: Arc<File>,
    turns: Arc<Mutex<()>>,
    lender: Option<Lender>,
}

/// What a program that has the terminal reads on standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalInput {
    /// The invocation's input; the program opens the terminal itself if it wants to ask something.
    Told,
    /// What the user types.
    Typed,
}

impl Terminal {
    /// The terminal behind a device that is open for reading and writing, such as `/dev/tty`.
    pub fn new(device: File) -> Self {
        Self {
            device: Arc::new(device),
            turns: Arc::default(),
            lender: None,
        }
    }

    /// This terminal for a process in which another part owns it, and lends it out.
    pub fn lent_by(mut self, lender: Lender) -> Self {
        self.lender = Some(lender);
        self
    }

    /// Waits until no other program has the terminal.
    pub(super) async fn take_turn(&self, deadline: Instant) -> Result<Turn, Failure> {
        let turn = timeout_at(deadline, Arc::clone(&self.turns).lock_owned()).await;
        let turn = turn.map_err(|_| {
            Failure::new(
                Cause::TimedOut,
                "another program had the terminal all the time; raise the timeout, or answer faster",
            )
        })?;
        let lent = self.lender.as_ref().map(|lend| lend());
        Ok(Turn {
            modes: tcgetattr(&*self.device).ok(),
            device: Arc::clone(&self.device),
            _lent: lent,
            _turn: turn,
        })
    }
}

/// The time during which one program has the terminal. Its end restores the terminal.
pub(super) struct Turn {
    modes: Option<Termios>,
    device: Arc<File>,
    /// Dropped last, after the modes are restored.
    _lent: Option<Box<dyn Send + Sync>>,
    _turn: OwnedMutexGuard<()>,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Terminal").finish_non_exhaustive()
    }
}

impl Turn {
    /// The terminal as a standard stream of a program.
    pub(super) fn stream(&self) -> io::Result<Stdio> {
        Ok(self.device.try_clone()?.into())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Only a process in the foreground may do this; any other would be stopped.
        let in_front = tcgetpgrp(&*self.device).is_ok_and(|group| group.as_raw_pid() == own_group());
        if let Some(modes) = self.modes.as_ref().filter(|_| in_front) {
            // A program that was killed may have left the echo off.
            let _ = tcsetattr(&*self.device, OptionalActions::Now, modes);
        }
    }
}
