//! The end of a run: the message about it, and its exit code.

use becket_agent::{CompactEnd, Ending, RunEnd};
use becket_front::Output;
use becket_system::{Exit, Surroundings, counted, harmless};

/// The exit code, or a failure if the answer did not reach standard output.
pub fn unless_lost(exit: Exit, output: &Output, surroundings: &Surroundings) -> Exit {
    match output.whole() {
        Ok(()) => exit,
        Err(error) => {
            surroundings.complain(&error.to_string());
            if exit == Exit::Answered { error.exit } else { exit }
        }
    }
}

/// Tells the user how a run ended, unless the answer says it. Returns the exit code.
pub fn conclude(end: &RunEnd, output: &Output, surroundings: &Surroundings) -> Exit {
    match &end.ending {
        Ending::Answered => Exit::Answered,
        Ending::Handled(message) => {
            if let Some(message) = message {
                // In a pipe the answer is passed on as it was written.
                let shown = if surroundings.stdout_is_terminal {
                    harmless(message)
                } else {
                    message.clone()
                };
                output.write(&format!("{shown}\n"));
            }
            Exit::Answered
        }
        Ending::Blocked(reason) => {
            surroundings.complain(&format!("a hook stopped the run: {reason}"));
            Exit::Failed
        }
        Ending::Limit(_) => Exit::Limit,
        Ending::LoopDetected(reason) => {
            surroundings.complain(reason);
            Exit::Failed
        }
        Ending::Provider(error) => {
            surroundings.complain(&error.message);
            Exit::Provider
        }
        Ending::Cancelled => {
            surroundings.remark("cancelled");
            Exit::Cancelled
        }
        Ending::Aborted => {
            surroundings.complain("an extension ended the run");
            Exit::Failed
        }
    }
}

/// Tells the user how a run in a chat ended.
pub fn remark_on(end: &RunEnd, output: &Output, surroundings: &Surroundings) {
    conclude(end, output, surroundings);
}

/// Tells the user how the summary ended.
pub fn conclude_summary(end: &CompactEnd, surroundings: &Surroundings) -> Exit {
    match end {
        CompactEnd::Compacted { summarised, .. } => {
            let messages = counted(*summarised as u64, "message");
            surroundings.remark(&format!("a summary now replaces {messages}"));
            Exit::Answered
        }
        CompactEnd::Nothing => {
            surroundings.remark("there is nothing to summarise");
            Exit::Answered
        }
        CompactEnd::Refused(reason) => {
            surroundings.complain(&format!("the conversation is unchanged: {reason}"));
            Exit::Failed
        }
        CompactEnd::NoSummary(words) => {
            surroundings.complain(&format!("the conversation is unchanged: {words}"));
            Exit::Failed
        }
        CompactEnd::Provider(error) => {
            surroundings.complain(&format!("the conversation is unchanged: {}", error.message));
            Exit::Provider
        }
        CompactEnd::Cancelled => {
            surroundings.remark("cancelled; the conversation is unchanged");
            Exit::Cancelled
        }
    }
}
