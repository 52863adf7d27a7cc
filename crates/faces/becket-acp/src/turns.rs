//! The prompts of a session that wait for their answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The prompts of a session that are not answered yet. The editor may only be asked something while there is one.
#[derive(Default)]
pub struct Turns {
    waiting: Mutex<Vec<(u64, CancellationToken)>>,
    /// Counts the prompts, so that each is another one.
    count: watch::Sender<u64>,
}

impl Turns {
    /// A prompt has come.
    pub fn begin(turns: &Arc<Self>, over: &CancellationToken) -> Turn {
        let (cancel, mut number) = (over.child_token(), 0);
        turns.count.send_modify(|count| {
            *count += 1;
            number = *count;
            turns.waiting().push((number, cancel.clone()));
        });
        Turn {
            cancel,
            number,
            turns: Arc::clone(turns),
        }
    }

    /// Waits until a prompt is being answered, and returns what cancels it.
    pub async fn running(&self) -> CancellationToken {
        let mut count = self.count.subscribe();
        loop {
            if let Some((_, cancel)) = self.waiting().first() {
                return cancel.clone();
            }
            if count.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Cancels all prompts that came so far.
    pub fn cancel(&self) {
        self.waiting().iter().for_each(|(_, cancel)| cancel.cancel());
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<(u64, CancellationToken)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A prompt that is not answered yet.
pub struct Turn {
    pub cancel: CancellationToken,
    number: u64,
    turns: Arc<Turns>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.waiting().retain(|(number, _)| *number != self.number);
    }
}
