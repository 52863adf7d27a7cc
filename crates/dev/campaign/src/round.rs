//! What a round can use: chance, the program in a sealed room, and places for what it counts and measures.

use std::path::{Path, PathBuf};
use std::time::Instant;

use testkit::Room;

use crate::random::Random;
use crate::state::Progress;

/// Tries once; the error says what does not hold.
pub type Try = fn(&mut Round<'_>) -> Result<(), String>;

/// A search for faults of one kind.
pub struct Campaign {
    pub name: &'static str,
    /// What must hold, in a sentence.
    pub promise: &'static str,
    pub round: Try,
}

/// One try of a campaign.
pub struct Round<'a> {
    pub number: u64,
    pub random: Random,
    /// When the round should end; only what takes long by itself has to look.
    pub until: Instant,
    pub(crate) program: &'a Path,
    pub(crate) folder: PathBuf,
    pub(crate) progress: &'a mut Progress,
}

impl Round<'_> {
    /// A sealed room with the program.
    pub fn room(&self) -> Room {
        Room::new(self.program)
    }

    /// The program.
    pub fn program(&self) -> &Path {
        self.program
    }

    /// A folder of this campaign that stays from round to round and from run to run.
    pub fn folder(&self) -> Result<&Path, String> {
        std::fs::create_dir_all(&self.folder)
            .map_err(|error| format!("cannot make {}: {error}", self.folder.display()))?;
        Ok(&self.folder)
    }

    /// Whether the time is over.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Counts what was tried.
    pub fn count(&mut self, what: &str, times: usize) {
        *self.progress.counts.entry(what.to_owned()).or_default() += times as u64;
    }

    /// Keeps a figure in place of the last one of that name.
    pub fn measure(&mut self, what: &str, figure: impl Into<String>) {
        self.progress.figures.insert(what.to_owned(), figure.into());
    }

    /// Says that something cannot be tried on this machine.
    pub fn skip(&mut self, what: &str, needed: &str) {
        let line = format!("{what}: needs {needed}");
        if self.progress.skipped.insert(line.clone()) {
            println!("skipped: {line}");
        }
    }
}

/// Ends the round with words if a condition does not hold.
macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!($($words)+));
        }
    };
}

pub(crate) use ensure;
