//! A program that says, while it runs, that nobody should wait for it.

use std::sync::Arc;
use std::time::Duration;

use becket_hooks::{CommandLane, Failure, Finished, Invocation, Lane, LaneKind};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use serde_json::{Deserializer, Value};
use tokio::sync::oneshot;

/// The rest of a hook's run in the background.
pub type Rest = BoxFuture<'static, Result<Finished, Failure>>;

/// Decides whether the first JSON value that a program prints asks for nobody to wait. Returns how long the program may
/// go on, if it does: the hook's own time unless the value names one.
pub type Leaves = fn(&Value, Duration) -> Option<Duration>;

/// Runs a program as its lane does, until the program asks for nobody to wait.
pub struct Leaving<'a> {
    pub lane: &'a Arc<CommandLane>,
    pub leaves: Leaves,
    /// Takes charge of the rest of the run.
    pub take_rest: &'a (dyn Fn(Rest) + Send + Sync),
}

impl Lane for Leaving<'_> {
    fn kind(&self) -> LaneKind {
        LaneKind::Command
    }

    fn run<'a>(&'a self, invocation: Invocation) -> BoxFuture<'a, Result<Finished, Failure>> {
        let (lane, leaves, usual) = (Arc::clone(self.lane), self.leaves, invocation.timeout);
        let (says, mut said) = oneshot::channel();
        let mut says = Some(says);
        let listener = Box::new(move |written: &[u8]| {
            let (value, length) = first_value(written)?;
            let longer = leaves(&value, usual);
            if let (Some(_), Some(says)) = (longer, says.take()) {
                // Whoever ran the program has gone if nobody receives this.
                let _ = says.send(length);
            }
            longer
        });
        let mut run: Rest = Box::pin(async move { lane.run_heard(invocation, listener).await });
        Box::pin(async move {
            let finished = tokio::select! {
                biased;
                Ok(length) = &mut said => {
                    (self.take_rest)(Box::pin(run.map(move |end| after(end, length))));
                    return Ok(silence());
                }
                finished = &mut run => finished,
            };
            // The program has ended in the same moment.
            match said.try_recv() {
                Ok(length) => {
                    (self.take_rest)(Box::pin(ready(after(finished, length))));
                    Ok(silence())
                }
                Err(_) => finished,
            }
        })
    }
}

/// The first JSON value of an output that begins with an object, and where it ends.
fn first_value(written: &[u8]) -> Option<(Value, usize)> {
    let text = written.trim_ascii_start();
    if !text.starts_with(b"{") {
        return None;
    }
    let mut values = Deserializer::from_slice(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, written.len() - text.len() + values.byte_offset()))
}

/// The end of a run without what the program printed at first.
fn after(end: Result<Finished, Failure>, length: usize) -> Result<Finished, Failure> {
    end.map(|finished| Finished {
        stdout: finished.stdout[length..].to_vec(),
        ..finished
    })
}

/// The output of a hook that went on in the background.
fn silence() -> Finished {
    Finished {
        stdout: Vec::new(),
        stderr: String::new(),
        code: 0,
        complete: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_counts_once_it_is_complete() {
        for (written, end) in [
            ("", None),
            ("{\"async\": tr", None),
            ("words {\"async\": true}", None),
            (" {\"async\": true}", Some(16)),
            ("{\"async\": true}\n{\"a\": 1}", Some(15)),
        ] {
            let found = first_value(written.as_bytes()).map(|(_, end)| end);
            assert_eq!(found, end, "{written}");
        }
    }
}
