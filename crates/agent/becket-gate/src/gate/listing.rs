//! The rules that count right now, for the user to see.

use becket_events::RuleDecision;

use super::Gate;
use crate::rules::{ListedRule, RuleOrigin};

/// The rules that count in a gate's session, and what the user has said yes to until it ends.
pub fn rules_in_force(gate: &Gate) -> Vec<ListedRule> {
    let mut rules = gate.settings.rules.listed();
    let granted = gate.grants();
    rules.extend(granted.iter().map(|grant| ListedRule {
        decision: RuleDecision::Allow,
        text: grant.to_string(),
        origin: RuleOrigin::Granted,
    }));
    rules
}
