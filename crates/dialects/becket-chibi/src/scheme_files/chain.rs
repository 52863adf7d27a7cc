//! The chain of nested calls: the callbacks that wait for a call which they have made, and the depth of such calls.
//!
//! Everything that a call causes happens in the task of its caller, so the chain is task-local.
//!
//! A flag on the callback would also silence it for other calls that run at the same time.

/// The chain of calls that led to the current one.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    /// The callbacks in the chain.
    callbacks: Vec<u64>,
    /// How many calls of tools are in the chain.
    depth: usize,
}

/// How deep calls of tools may be nested.
const DEEPEST: usize = 8;

tokio::task_local! {
    static CHAIN: Chain;
}

impl Chain {
    /// The chain of the current task.
    pub fn here() -> Self {
        CHAIN.try_with(Clone::clone).unwrap_or_default()
    }

    /// Whether a callback is in the chain.
    pub fn has(&self, callback: u64) -> bool {
        self.callbacks.contains(&callback)
    }

    /// The chain with one more callback.
    pub fn with(mut self, callback: u64) -> Self {
        self.callbacks.push(callback);
        self
    }

    /// The chain with one more call of a tool; the error says that it would be too deep.
    pub fn deeper(mut self) -> Result<Self, String> {
        if self.depth >= DEEPEST {
            return Err(format!("call-tool: calls are nested more than {DEEPEST} deep"));
        }
        self.depth += 1;
        Ok(self)
    }

    /// Runs work with this chain.
    pub async fn follow<T>(self, work: impl Future<Output = T>) -> T {
        CHAIN.scope(self, work).await
    }
}
