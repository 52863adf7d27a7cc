//! What a guard that breaks means in the agent that it was written for. In becket it refuses.

use becket_hooks::{Dialect, Fault};

/// Why the action would have happened there in spite of the guard; `None` where it would not, or where the guard is
/// becket's own.
pub fn lets_through(dialect: Dialect, fault: Fault) -> Option<&'static str> {
    const IGNORED_STATUS: &str = "an exit code other than 2 is taken for silence";
    const IGNORED_ANSWER: &str = "an answer that cannot be read is taken for silence";
    match (dialect, fault) {
        (Dialect::Becket, _) => None,
        (Dialect::Chibi, Fault::Crash | Fault::MissingCommand | Fault::Killed) => {
            Some("a plugin that fails is taken for one that says nothing")
        }
        (
            Dialect::Chibi,
            Fault::Chatter | Fault::HalfAnswer | Fault::WrongTypes | Fault::Misspelt | Fault::Flood,
        ) => Some(IGNORED_ANSWER),
        // It cannot be started, or not in time: the whole prompt ends there.
        (Dialect::Chibi, Fault::Missing | Fault::NotExecutable | Fault::Hang | Fault::Throws) => None,
        (
            Dialect::DockerAgent,
            Fault::Missing | Fault::NotExecutable | Fault::Crash | Fault::MissingCommand | Fault::Killed,
        ) => Some(IGNORED_STATUS),
        (Dialect::DockerAgent, Fault::Chatter | Fault::HalfAnswer | Fault::WrongTypes | Fault::Flood) => {
            Some("what is no answer is taken for plain text")
        }
        (Dialect::DockerAgent, Fault::Misspelt) => Some("a key that nobody knows is taken for silence"),
        (Dialect::DockerAgent, Fault::Hang | Fault::Throws) => None,
        (Dialect::Pi, Fault::Misspelt) => Some("a member that nobody knows is taken for silence"),
        // What is thrown blocks, a value in the place of true counts as true, and one that hangs is waited for.
        (Dialect::Pi, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_foreign_agent_lets_something_through_and_becket_nothing() {
        for dialect in [Dialect::Chibi, Dialect::DockerAgent, Dialect::Pi] {
            assert!(
                Fault::all().any(|fault| lets_through(dialect, fault).is_some()),
                "{dialect:?}"
            );
        }
        assert!(Fault::all().all(|fault| lets_through(Dialect::Becket, fault).is_none()));
    }
}
