//! Bytes that Rust holds for an extension: what was read and is not yet taken. They count towards its memory, because
//! the engine's own limit does not see them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::host::HostError;

/// How many bytes are held for one extension.
pub(super) struct Store {
    limit: usize,
    held: AtomicUsize,
}

impl Store {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            held: AtomicUsize::new(0),
        })
    }

    /// An empty buffer.
    pub(super) fn empty(self: &Arc<Self>) -> Held {
        Held {
            store: Arc::clone(self),
            bytes: Vec::new(),
            counted: 0,
        }
    }

    /// A buffer with these bytes.
    pub(super) fn hold(self: &Arc<Self>, bytes: Vec<u8>) -> Result<Held, Full> {
        let mut held = self.empty();
        held.count(bytes.len())?;
        held.bytes = bytes;
        Ok(held)
    }
}

/// Bytes that are counted as long as they are held.
pub(super) struct Held {
    store: Arc<Store>,
    bytes: Vec<u8>,
    counted: usize,
}

/// The error when the extension's memory is used up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Full {
    limit: usize,
}

impl Held {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn append(&mut self, more: &[u8]) -> Result<(), Full> {
        self.count(more.len())?;
        self.bytes.extend_from_slice(more);
        Ok(())
    }

    /// Counts bytes that are held elsewhere for this buffer.
    pub(super) fn count(&mut self, more: usize) -> Result<(), Full> {
        let limit = self.store.limit;
        let taken = self
            .store
            .held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
                held.checked_add(more).filter(|sum| *sum <= limit)
            });
        taken.map_err(|_| Full { limit })?;
        self.counted += more;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.store.held.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

impl From<Full> for HostError {
    fn from(full: Full) -> Self {
        let words = format!(
            "there is no room for it: an extension may hold {} MB",
            full.limit >> 20
        );
        Self::new(words).with("code", "ERR_OUT_OF_MEMORY")
    }
}
