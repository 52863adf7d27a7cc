//! Rows: one event as one format knows it. A row turns the event into a program's input, and the program's output into
//! a reply. Rows live with their dialects; becket's own format, which is the same for every event, is `own_format.rs`.

use std::sync::Arc;
use std::time::Duration;

use becket_events::Event;
use futures_util::future::BoxFuture;

use crate::{Failure, Finished, Handler, Invocation, Lane, Occasion};

/// One event in the terms of one format.
pub struct Row<E: Event> {
    /// The format; handlers of one format share the text of an event.
    pub format: &'static str,
    /// Makes the text that a program reads.
    pub encode: Encode<E>,
    /// Makes the variables of a program's environment, given the text that it reads.
    pub environment: Environment<E>,
    /// Reads the output. Patches become full values here, with the help of the current payload.
    pub decode: Decode<E>,
}

/// Makes the text that a program reads.
pub type Encode<E> = Box<dyn Fn(&Occasion<'_, E>) -> String + Send + Sync>;

/// Makes variables of one run.
pub type Environment<E> =
    Box<dyn Fn(&Occasion<'_, E>, &str) -> Result<Vec<(String, String)>, Failure> + Send + Sync>;

/// Reads what a program has answered.
pub type Decode<E> =
    Box<dyn Fn(&<E as Event>::Payload, Finished) -> Result<<E as Event>::Reply, Failure> + Send + Sync>;

/// A program behind a row.
pub struct RowHandler<E: Event> {
    /// How the program is run.
    pub lane: Arc<dyn Lane>,
    /// What the program's input and output mean.
    pub row: Row<E>,
    /// How long one run may take.
    pub timeout: Duration,
}

impl<E: Event> Handler<E> for RowHandler<E> {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, E>) -> BoxFuture<'a, Result<E::Reply, Failure>> {
        Box::pin(async move {
            let input = occasion.text(self.row.format, || (self.row.encode)(occasion));
            let invocation = Invocation {
                environment: (self.row.environment)(occasion, &input)?,
                input,
                directory: occasion.scope.cwd.clone().into(),
                timeout: self.timeout,
            };
            let finished = occasion.run(&*self.lane, invocation).await?;
            let stderr = finished.stderr.clone();
            (self.row.decode)(occasion.payload, finished).map_err(|failure| failure.with_stderr(stderr))
        })
    }
}
