//! What a guard can say about an action.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A handler's judgement of an action. A refusal carries its reason, so that none can be written without one.
///
/// As JSON: `"allow"`, `{"ask": "why"}`, `{"insist": "why"}`, `{"deny": "why"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Stands in for the person's yes. Never beats an ask or a deny of another handler.
    Allow,
    /// A person must be asked; `--yes` answers for them.
    Ask(String),
    /// A person must be asked, and `--yes` does not answer for them.
    Insist(String),
    /// The action does not happen.
    Deny(String),
}

impl Verdict {
    /// Higher is stricter.
    pub fn strictness(&self) -> u8 {
        match self {
            Self::Allow => 1,
            Self::Ask(_) => 2,
            Self::Insist(_) => 3,
            Self::Deny(_) => 4,
        }
    }

    /// Why, for everything but an allow.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Allow => None,
            Self::Ask(reason) | Self::Insist(reason) | Self::Deny(reason) => Some(reason),
        }
    }

    /// The stricter of the two; equally strict ones are joined, the earlier one's reason first.
    pub fn stricter(self, later: Self) -> Self {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match self.strictness().cmp(&later.strictness()) {
            Greater => self,
            Less => later,
            Equal => match (self, later) {
                (Self::Ask(a), Self::Ask(b)) => Self::Ask(join(a, b)),
                (Self::Insist(a), Self::Insist(b)) => Self::Insist(join(a, b)),
                (Self::Deny(a), Self::Deny(b)) => Self::Deny(join(a, b)),
                (same, _) => same,
            },
        }
    }
}

/// Joins two reasons by a line break; an empty one leaves no trace.
fn join(mut earlier: String, later: String) -> String {
    if !earlier.is_empty() && !later.is_empty() {
        earlier.push('\n');
    }
    earlier.push_str(&later);
    earlier
}
