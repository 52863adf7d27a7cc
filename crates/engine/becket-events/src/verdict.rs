//! What a guard can say about an action.
//!
//! To say nothing and to allow are different. Only an explicit allow stands in for the user's yes; a handler that said
//! nothing leaves the decision to rules and to the user.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, MapAccess, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};

/// A handler's judgement of an action. A refusal carries its reason, so that none can be written without one.
///
/// As JSON: `"allow"`, `{"ask": "why"}`, `{"insist": "why"}`, `{"deny": "why"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Stands in for the user's yes. Never beats an ask or a deny of another handler.
    Allow,
    /// The user must be asked; `--yes` answers for them.
    Ask(String),
    /// The user must be asked, and `--yes` does not answer for them.
    Insist(String),
    /// The action does not happen.
    Deny(String),
}

impl Verdict {
    /// The strictness as a number; higher is stricter.
    pub fn strictness(&self) -> u8 {
        match self {
            Self::Allow => 1,
            Self::Ask(_) => 2,
            Self::Insist(_) => 3,
            Self::Deny(_) => 4,
        }
    }

    /// The reason of any verdict but an allow.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Allow => None,
            Self::Ask(reason) | Self::Insist(reason) | Self::Deny(reason) => Some(reason),
        }
    }

    /// The stricter of two verdicts; equally strict ones are joined, the earlier one's reason first.
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

/// Written by hand, so that the error for a verdict of the wrong shape shows the right ones.
impl<'de> Deserialize<'de> for Verdict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VerdictVisitor)
    }
}

struct VerdictVisitor;

impl<'de> de::Visitor<'de> for VerdictVisitor {
    type Value = Verdict;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(r#"a verdict: "allow", {"ask": "why"}, {"insist": "why"} or {"deny": "why"}"#)
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Verdict, E> {
        match word {
            "allow" => Ok(Verdict::Allow),
            "ask" | "insist" | "deny" => Err(E::custom(format_args!(
                r#"a verdict needs its reason: write {{"verdict": {{"{word}": "why"}}}}"#
            ))),
            other => Err(E::invalid_value(Unexpected::Str(other), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Verdict, A::Error> {
        let Some(word) = map.next_key::<String>()? else {
            return Err(de::Error::invalid_length(0, &self));
        };
        let verdict = match word.as_str() {
            "allow" => map.next_value::<()>().map(|()| Verdict::Allow)?,
            "ask" => Verdict::Ask(map.next_value()?),
            "insist" => Verdict::Insist(map.next_value()?),
            "deny" => Verdict::Deny(given_or_not(map.next_value()?)),
            other => return Err(de::Error::invalid_value(Unexpected::Str(other), &self)),
        };
        match map.next_key::<de::IgnoredAny>()? {
            None => Ok(verdict),
            Some(_) => Err(de::Error::invalid_length(2, &self)),
        }
    }
}

/// The reason of a refusal, or a text saying that none was given; the refusal stands either way.
fn given_or_not(reason: String) -> String {
    if reason.trim().is_empty() {
        "refused without a reason".into()
    } else {
        reason
    }
}

/// Joins two reasons with a line break, unless one of them is empty.
fn join(mut earlier: String, later: String) -> String {
    if !earlier.is_empty() && !later.is_empty() {
        earlier.push('\n');
    }
    earlier.push_str(&later);
    earlier
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_read_as_they_are_written() {
        let verdicts = [
            Verdict::Allow,
            Verdict::Ask("a".into()),
            Verdict::Insist("b".into()),
            Verdict::Deny("c".into()),
        ];
        for verdict in verdicts {
            let text = serde_json::to_string(&verdict).unwrap();
            assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict, "{text}");
        }
    }

    #[test]
    fn a_verdict_of_the_wrong_shape_is_answered_with_the_right_one() {
        let error = |text: &str| serde_json::from_str::<Verdict>(text).unwrap_err().to_string();
        assert!(error(r#""deny""#).contains(r#"write {"verdict": {"deny": "why"}}"#));
        for text in [
            "3",
            "[]",
            "{}",
            r#""no""#,
            r#"{"no":"x"}"#,
            r#"{"deny":"a","deny":"b"}"#,
        ] {
            let error = error(text);
            assert!(
                error.contains(r#"{"insist": "why"} or {"deny": "why"}"#),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn a_refusal_without_a_reason_says_so() {
        let verdict: Verdict = serde_json::from_str(r#"{"deny":""}"#).unwrap();
        assert_eq!(verdict, Verdict::Deny("refused without a reason".into()));
    }
}
