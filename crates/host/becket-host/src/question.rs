//! The possible answers to a question about a call.

use becket_agent::front::{Again, OfferedRule, Question};
use becket_system::harmless_name;

/// An answer to a question about a call. No answer allows a tool as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Yes,
    /// Yes, also to the same call until the session ends.
    Again,
    /// Yes, and a rule is shown that can be stored for the project.
    Rule,
    No,
    Cancel,
}

impl Choice {
    /// The possible answers to this question, each with a label that begins with its letter.
    pub fn of(question: &Question) -> Vec<(Self, String)> {
        let mut choices = vec![(Self::Yes, "yes".to_owned())];
        if let Some(offer) = &question.offer {
            let same = match offer.again {
                Again::Call => "same call again in this session",
                Again::Path => "same file again in this session",
            };
            choices.push((Self::Again, same.to_owned()));
        }
        if let Some(rule) = rule_of(question) {
            let (_, short) = rule.text.split_once('=').unwrap_or(("", &rule.text));
            let words = format!("rule: always allow `{}` in this project", harmless_name(short));
            choices.push((Self::Rule, words));
        }
        choices.push((Self::No, "no, and why".to_owned()));
        choices.push((Self::Cancel, "cancel".to_owned()));
        choices
    }
}

/// The rule that can be stored, if the question offers one.
pub fn rule_of(question: &Question) -> Option<&OfferedRule> {
    question.offer.as_ref()?.rule.as_ref()
}

/// The question that is asked before a rule is stored.
pub const STORE: &str = "Always allow this in this project?";

/// A sentence about where a rule is stored, and how to remove it.
pub fn about_rule(rule: &OfferedRule) -> String {
    format!(
        "The rule is stored in {}; `becket permissions` lists and removes such rules.",
        harmless_name(&rule.place)
    )
}
