//! Ctrl-C while an extension's code runs and nothing else does: the program works in one thread, so another one must
//! notice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::signal::unix::{SignalKind, signal};

/// Counts signals twice: in a thread of its own, and where everything else happens. As long as the thread is ahead, the
/// program has not come to know of one, and what runs must end.
#[derive(Clone, Default)]
pub struct Interrupts(Arc<Counts>);

#[derive(Default)]
struct Counts {
    arrived: AtomicU64,
    noticed: AtomicU64,
}

impl Interrupts {
    /// Begins to count. Must be called inside of the program's runtime.
    pub fn listen() -> Self {
        let interrupts = Self::default();
        let (beside, here) = (interrupts.clone(), interrupts.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(beside.count(|counts| {
                    counts.arrived.fetch_add(1, Ordering::SeqCst);
                }));
            }
        });
        tokio::spawn(async move {
            here.count(|counts| {
                counts.noticed.fetch_add(1, Ordering::SeqCst);
                // Signals in quick succession may be one to us and several to the thread.
                let arrived = counts.arrived.load(Ordering::SeqCst);
                counts.noticed.fetch_max(arrived, Ordering::SeqCst);
            })
            .await;
        });
        interrupts
    }

    /// Whether a signal waits for the program to notice it.
    pub fn are_waiting(&self) -> bool {
        self.0.arrived.load(Ordering::SeqCst) > self.0.noticed.load(Ordering::SeqCst)
    }

    async fn count(&self, note: impl Fn(&Counts)) {
        let open = |kind| signal(kind).ok();
        let signals = (
            open(SignalKind::interrupt()),
            open(SignalKind::terminate()),
            open(SignalKind::hangup()),
        );
        let (Some(mut interrupt), Some(mut terminate), Some(mut hang_up)) = signals else {
            return;
        };
        loop {
            tokio::select! {
                _ = interrupt.recv() => {},
                _ = terminate.recv() => {},
                _ = hang_up.recv() => {},
            }
            note(&self.0);
        }
    }
}
