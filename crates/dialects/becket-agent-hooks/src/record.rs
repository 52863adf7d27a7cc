//! The record of one emission. It tells what was decided and by whom, and never what the action was about.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::composition::Composition;
use crate::point::Point;
use crate::verdict::{Decision, InterceptorVerdict};

/// How many bytes of a message are recorded.
const LONGEST_MESSAGE: usize = 256;

/// What stands at the end of a message that was shortened.
const ELLIPSIS: &str = "…";

/// Whether verdicts count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Verdicts count.
    #[default]
    Enforce,
    /// Verdicts are recorded and change nothing.
    EvaluateOnly,
}

/// What an approval has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedBy {
    /// A deny was lifted.
    Approval,
    /// Who approves was asked, and the deny stands.
    Rejection,
}

/// What one interceptor has said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Said {
    /// The interceptor's place among those of the point.
    pub index: usize,
    /// The decision.
    pub decision: Decision,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The interceptor's name.
    pub name: String,
}

/// One emission, without what it was about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// Where it happened.
    pub interception_point: Point,
    /// Whether the verdict counted.
    pub mode: Mode,
    /// What was decided.
    #[serde(serialize_with = "without_payload")]
    pub verdict: InterceptorVerdict,
    /// The identity of the context that interceptors were asked about.
    pub input_identity: Option<String>,
    /// The identity of the context that composition has left.
    pub enforced_identity: Option<String>,
    /// How contexts are identified.
    pub identity_provider: Option<String>,
    /// The session.
    pub session_id: String,
    /// The place among the emissions of the session.
    pub sequence: u64,
    /// When it happened.
    pub timestamp: String,
    /// The interceptor that decided, if one did.
    pub decided_by: Option<usize>,
    /// How verdicts were composed.
    pub composition: Composition,
    /// The version of the host declaration, if the host was set up by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declaration: Option<&'static str>,
    /// What each interceptor has said.
    pub verdicts: Vec<Said>,
    /// Whether interceptors were not asked, where they are asked one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fold_truncated: Option<bool>,
    /// What an approval has done, if somebody was asked for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<ResolvedBy>,
    /// How many interceptors the point has.
    pub interceptors_registered: usize,
}

impl Record {
    /// The record as JSON.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// A verdict without the value of its transform, the members of its approval and the ends of long messages.
fn without_payload<S: Serializer>(verdict: &InterceptorVerdict, serializer: S) -> Result<S::Ok, S::Error> {
    let mut verdict = verdict.clone();
    verdict.approval = verdict.approval.map(|_| serde_json::Map::new());
    verdict.message = verdict.message.as_deref().map(shortened);
    for warning in &mut verdict.warnings {
        warning.message = warning.message.as_deref().map(shortened);
    }
    let transform = verdict.transform.take();
    let mut value = serde_json::to_value(verdict).map_err(serde::ser::Error::custom)?;
    if let Some(transform) = transform {
        value["transform"] = json!({"path": transform.path});
    }
    value.serialize(serializer)
}

/// A message, or its beginning in whole characters with an ellipsis behind it.
fn shortened(message: &str) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST_MESSAGE - ELLIPSIS.len());
    format!("{}{ELLIPSIS}", &message[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Shown(#[serde(serialize_with = "without_payload")] InterceptorVerdict);

    #[test]
    fn a_record_holds_no_payload() {
        let verdict = InterceptorVerdict::read(json!({
            "decision": "transform",
            "message": "é".repeat(200),
            "warnings": [{"message": "w".repeat(257)}, {"message": "w".repeat(256)}],
            "transform": {"path": "$target.url", "value": "secret"},
        }));
        let shown = serde_json::to_value(Shown(verdict.unwrap())).unwrap();
        assert_eq!(shown["transform"], json!({"path": "$target.url"}));
        assert_eq!(shown["message"], "é".repeat(126) + "…");
        assert_eq!(shown["warnings"][0]["message"], "w".repeat(253) + "…");
        assert_eq!(shown["warnings"][1]["message"], "w".repeat(256));
        let verdict = InterceptorVerdict::read(json!({"decision": "deny", "approval": {"to": "secret"}}));
        let shown = serde_json::to_value(Shown(verdict.unwrap())).unwrap();
        assert_eq!(shown["approval"], json!({}));
    }
}
