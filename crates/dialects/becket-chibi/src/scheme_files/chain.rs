//! Who has called whom: the callbacks that wait for a call which they have made, and how deep such calls are nested.
//!
//! Everything that a call causes happens in the task of whoever made it, so the task knows.

/// What is known about the way to here.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    /// The callbacks on it.
    callbacks: Vec<u64>,
    /// How many calls of tools.
    depth: usize,
}

/// Calls of tools are nested no deeper.
const DEEPEST: usize = 8;

tokio::task_local! {
    static CHAIN: Chain;
}

impl Chain {
    /// The way to here.
    pub fn here() -> Self {
        CHAIN.try_with(Clone::clone).unwrap_or_default()
    }

    /// Whether a callback is on it.
    pub fn has(&self, callback: u64) -> bool {
        self.callbacks.contains(&callback)
    }

    /// The same with one more callback.
    pub fn with(mut self, callback: u64) -> Self {
        self.callbacks.push(callback);
        self
    }

    /// The same with one more call of a tool; the error says that it would be one too many.
    pub fn deeper(mut self) -> Result<Self, String> {
        if self.depth >= DEEPEST {
            return Err(format!("call-tool: calls are nested more than {DEEPEST} deep"));
        }
        self.depth += 1;
        Ok(self)
    }

    /// Does something on this way.
    pub async fn follow<T>(self, work: impl Future<Output = T>) -> T {
        CHAIN.scope(self, work).await
    }
}
