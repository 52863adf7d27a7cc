//! Notices when a model repeats a call whose result it has just seen.

use becket_events::ToolCall;

/// The calls of a run's last rounds.
#[derive(Debug, Default)]
pub(crate) struct Repetition {
    last_round: Vec<ToolCall>,
    identical_rounds: u32,
    /// The calls of the last round with their results.
    answered: Vec<Answered>,
}

/// A call with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) tool_name: String,
    /// The arguments as the model wrote them.
    pub(crate) arguments: String,
    pub(crate) result: String,
}

impl Repetition {
    /// Counts the rounds in a row with the same tools and the same arguments, this one included.
    pub(crate) fn count_round(&mut self, calls: &[ToolCall]) -> u32 {
        let same = calls.len() == self.last_round.len()
            && calls
                .iter()
                .zip(&self.last_round)
                .all(|(one, other)| one.name == other.name && one.arguments == other.arguments);
        self.identical_rounds = if same { self.identical_rounds + 1 } else { 1 };
        self.last_round = calls.to_vec();
        self.identical_rounds
    }

    /// The tools that were called in the last round with the same arguments and the same result. The same call twice in
    /// one answer is no repetition, since the model had not seen a result then.
    pub(crate) fn repeated(&mut self, round: Vec<Answered>) -> Vec<String> {
        let mut again: Vec<String> = Vec::new();
        for call in round.iter().filter(|call| self.answered.contains(call)) {
            if !again.contains(&call.tool_name) {
                again.push(call.tool_name.clone());
            }
        }
        self.answered = round;
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &str, result: &str) -> Answered {
        Answered {
            tool_name: "shell".into(),
            arguments: arguments.into(),
            result: result.into(),
        }
    }

    #[test]
    fn only_the_same_call_with_the_same_result_in_the_next_round_is_a_repetition() {
        let mut repetition = Repetition::default();
        assert!(
            repetition
                .repeated(vec![call("a", "1"), call("a", "1")])
                .is_empty()
        );
        assert!(
            repetition.repeated(vec![call("a", "2")]).is_empty(),
            "another result"
        );
        assert!(
            repetition.repeated(vec![call("b", "2")]).is_empty(),
            "other arguments"
        );
        assert_eq!(
            repetition.repeated(vec![call("x", "y"), call("b", "2")]),
            ["shell"]
        );
        assert!(repetition.repeated(vec![]).is_empty());
        assert!(
            repetition.repeated(vec![call("b", "2")]).is_empty(),
            "not in a row"
        );
    }
}
