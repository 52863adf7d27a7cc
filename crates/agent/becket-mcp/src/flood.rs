//! Limits the questions of a server. It may ask something itself, but must read the answers: one that keeps asking
//! would fill the memory with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;

/// The most questions whose answers may wait to be read.
const MOST_QUESTIONS: usize = 64;

/// The questions of a server that wait for an answer to be read.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    waiting: AtomicUsize,
    too_many: AtomicBool,
}

impl Questions {
    /// Whether the server has asked so much that the connection was ended.
    pub(crate) fn were_too_many(&self) -> bool {
        self.too_many.load(Ordering::Relaxed)
    }

    /// Counts one more question, and says whether that is too many.
    fn asked(&self) -> bool {
        let too_many = self.waiting.fetch_add(1, Ordering::Relaxed) >= MOST_QUESTIONS;
        self.too_many.fetch_or(too_many, Ordering::Relaxed);
        too_many
    }

    fn answered(&self) {
        let one_less = |waiting: usize| Some(waiting.saturating_sub(1));
        let _ = self
            .waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
    }
}

/// A transport that ends when too many questions of the server wait.
pub(crate) struct Counted<T> {
    inner: T,
    questions: Arc<Questions>,
}

impl<T> Counted<T> {
    pub(crate) fn new(inner: T, questions: &Arc<Questions>) -> Self {
        Self {
            inner,
            questions: Arc::clone(questions),
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Counted<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let is_answer = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let questions = Arc::clone(&self.questions);
        let sending = self.inner.send(item);
        async move {
            let sent = sending.await;
            if is_answer {
                questions.answered();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = self.inner.receive().await?;
        let is_question = matches!(message, JsonRpcMessage::Request(_));
        match is_question && self.questions.asked() {
            true => None,
            false => Some(message),
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_questions_that_wait_for_an_answer_count() {
        let questions = Questions::default();
        for _ in 0..10 * MOST_QUESTIONS {
            assert!(!questions.asked());
            questions.answered();
        }
        for _ in 0..MOST_QUESTIONS {
            assert!(!questions.asked());
        }
        assert!(!questions.were_too_many());
        assert!(questions.asked() && questions.were_too_many());
    }
}
