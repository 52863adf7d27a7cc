//! Verdicts: what interceptors answer, and what the host answers in their place when something fails.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::canonical::canonical;

/// How many bytes the evidence of a verdict may have in canonical form.
const LARGEST_EVIDENCE: usize = 10_240;

/// How many bytes the extensions beside a verdict may have in canonical form.
const LARGEST_EXTENSIONS: usize = 65_536;

/// The beginning of reasons that only the host gives.
const HOST_ERROR: &str = "host_error:";

/// What an interceptor says about an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The action may happen.
    Allow,
    /// The action may happen, with a changed target.
    Transform,
    /// The action does not happen.
    Deny,
}

/// The answer of an interceptor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterceptorVerdict {
    /// What may happen.
    pub decision: Decision,
    /// Why, as a word for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Concerns that change nothing.
    #[serde(default, deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Present in a deny that an approval may lift.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub approval: Option<Map<String, Value>>,
    /// The change, in a transform.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub transform: Option<Transform>,
    /// Where proofs are kept.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub evidence: Option<Evidence>,
    /// Labels of the data that comes of the action.
    #[serde(default, deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub result_labels: Vec<String>,
}

/// A concern that changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// The concern, as a word for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The concern, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A change of the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transform {
    /// What is replaced.
    pub path: String,
    /// What it is replaced by.
    #[serde(default)]
    pub value: Value,
}

/// Where proofs of a verdict are kept. becket never follows the pointers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The address of a proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artefact: Option<String>,
    /// Addresses that an auditor may look at, by name.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub verification_pointers: Option<std::collections::BTreeMap<String, String>>,
}

/// A verdict with what its transport adds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Response {
    verdict: InterceptorVerdict,
    #[serde(default, deserialize_with = "present")]
    extensions: Option<Map<String, Value>>,
}

/// A member that must be a value if it is there: `null` is none.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A list, or `null` for an empty one.
fn or_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Option::<Vec<T>>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Why the host itself denies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostError {
    /// The context has no identity, or becket could not write it.
    ContextInvalid,
    /// No interceptor is there for the point.
    NoInterceptor,
    /// An interceptor has failed.
    InterceptorFailed,
    /// An interceptor has not answered in time.
    InterceptorTimeout,
    /// The answer is no verdict.
    VerdictInvalid,
    /// The path of a transform leads to nothing, or becket cannot make the change.
    TransformInvalid,
    /// A transform wants to change something else than the target, or at a point that has nothing to change.
    TransformTargetForbidden,
    /// Two interceptors want to change the same snapshot.
    TransformConflict,
    /// The interceptors do not agree.
    CompositionDisagreement,
    /// Who approves has failed or not answered in time.
    ApprovalResolverFailed,
    /// Who approves has not decided.
    ApprovalUnresolved,
    /// The approval is about another context.
    ApprovalIdentityMismatch,
    /// A part of a streamed answer was judged by nobody.
    StreamingUnsupported,
}

impl HostError {
    /// The reserved reason.
    pub fn reason(self) -> String {
        let word = serde_json::to_value(self).ok();
        let word = word.as_ref().and_then(Value::as_str).unwrap_or("context_invalid");
        format!("{HOST_ERROR}{word}")
    }
}

impl InterceptorVerdict {
    /// A verdict that says no more than its decision.
    pub fn of(decision: Decision) -> Self {
        Self {
            decision,
            reason: None,
            message: None,
            warnings: Vec::new(),
            approval: None,
            transform: None,
            evidence: None,
            result_labels: Vec::new(),
        }
    }

    /// The action may happen.
    pub fn allow() -> Self {
        Self::of(Decision::Allow)
    }

    /// The action does not happen, for this reason.
    pub fn deny(reason: &str) -> Self {
        Self {
            reason: Some(reason.to_owned()),
            ..Self::of(Decision::Deny)
        }
    }

    /// The host denies. The message never quotes what the action is about.
    pub fn host_error(error: HostError, message: Option<&str>) -> Self {
        Self {
            message: message.map(ToOwned::to_owned),
            ..Self::deny(&error.reason())
        }
    }

    /// Whether the host made this verdict in place of an interceptor or of who approves.
    pub fn is_of_host(&self) -> bool {
        self.reason
            .as_ref()
            .is_some_and(|reason| reason.starts_with(HOST_ERROR))
    }

    /// Whether the action may happen.
    pub fn permits(&self) -> bool {
        self.decision != Decision::Deny
    }

    /// Whether an approval may lift the deny.
    pub fn is_liftable(&self) -> bool {
        self.decision == Decision::Deny && self.approval.is_some()
    }

    /// How strict the verdict is; a higher number is stricter.
    pub fn severity(&self) -> u8 {
        match (self.decision, self.is_liftable()) {
            (Decision::Allow, _) => 0,
            (Decision::Transform, _) => 1,
            (Decision::Deny, true) => 2,
            (Decision::Deny, false) => 3,
        }
    }

    /// Reads an answer: a verdict, or one with extensions beside it.
    pub fn read(answer: Value) -> Result<Self, HostError> {
        Self::understood(answer).map_err(|_| HostError::VerdictInvalid)
    }

    /// Reads an answer; the error says what is wrong with it, and may quote it.
    pub fn understood(answer: Value) -> Result<Self, String> {
        let wrong = |error: serde_json::Error| error.to_string();
        if answer.get("verdict").is_none() {
            let verdict: Self = serde_json::from_value(answer).map_err(wrong)?;
            return verdict.checked();
        }
        let response: Response = serde_json::from_value(answer).map_err(wrong)?;
        let extensions = response.extensions.map_or(Value::Null, Value::Object);
        match canonical(&extensions) {
            Ok(text) if text.len() <= LARGEST_EXTENSIONS => response.verdict.checked(),
            Ok(_) => Err(format!("`extensions` has more than {LARGEST_EXTENSIONS} bytes")),
            Err(reason) => Err(format!("`extensions` has {}", reason.words())),
        }
    }

    /// The verdict, if its parts fit together.
    fn checked(self) -> Result<Self, String> {
        let is_of_host =
            |reason: &Option<String>| reason.as_ref().is_some_and(|words| words.starts_with(HOST_ERROR));
        if is_of_host(&self.reason) || self.warnings.iter().any(|warning| is_of_host(&warning.reason)) {
            return Err(format!(
                "only becket gives reasons that begin with `{HOST_ERROR}`"
            ));
        }
        if self.transform.is_some() != (self.decision == Decision::Transform) {
            return Err("`transform` belongs to the decision `transform`, and to no other".into());
        }
        if self.approval.is_some() && self.decision != Decision::Deny {
            return Err("`approval` belongs to the decision `deny`, and to no other".into());
        }
        let evidence = serde_json::to_value(&self.evidence).map_err(|error| error.to_string())?;
        match canonical(&evidence) {
            Ok(text) if text.len() <= LARGEST_EVIDENCE => Ok(self),
            _ => Err(format!("`evidence` has more than {LARGEST_EVIDENCE} bytes")),
        }
    }

    /// The reason and the message in one line.
    pub fn words(&self) -> String {
        match (&self.reason, &self.message) {
            (Some(reason), Some(message)) => format!("{reason}: {message}"),
            (Some(words), None) | (None, Some(words)) => words.clone(),
            (None, None) => "denied without a reason".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_a_verdict() {
        let verdicts = [
            json!({"decision": "allow"}),
            json!({"decision": "allow", "reason": null, "warnings": null, "result_labels": null}),
            json!({"decision": "deny", "approval": {}}),
            json!({"decision": "transform", "transform": {"path": "$target"}}),
            json!({"verdict": {"decision": "deny"}, "extensions": {"policy": {"receipt": 1}}}),
            json!({"decision": "allow", "evidence": {"artefact": "x".repeat(10_240 - 15)}}),
        ];
        for verdict in verdicts {
            assert!(InterceptorVerdict::read(verdict.clone()).is_ok(), "{verdict}");
        }
    }

    #[test]
    fn what_is_none() {
        let others = [
            json!(null),
            json!("allow"),
            json!({}),
            json!({"decision": "maybe"}),
            json!({"decision": "allow", "extra": 1}),
            json!({"decision": "transform"}),
            json!({"decision": "allow", "transform": {"path": "$target"}}),
            json!({"decision": "deny", "transform": null}),
            json!({"decision": "allow", "approval": {}}),
            json!({"decision": "deny", "approval": null}),
            json!({"decision": "deny", "reason": "host_error:no_interceptor"}),
            json!({"decision": "allow", "warnings": [{"reason": "host_error:x"}]}),
            json!({"decision": "allow", "warnings": [{"text": "x"}]}),
            json!({"decision": "transform", "transform": {"path": "$target", "values": 1}}),
            json!({"decision": "allow", "evidence": {"artefact": "x".repeat(10_240 - 14)}}),
            json!({"decision": "allow", "evidence": {"other": "x"}}),
            json!({"verdict": {"decision": "deny"}, "more": 1}),
            json!({"verdict": {"decision": "deny"}, "extensions": {"large": "x".repeat(65_536)}}),
        ];
        for other in others {
            assert_eq!(
                InterceptorVerdict::read(other.clone()),
                Err(HostError::VerdictInvalid),
                "{other}"
            );
        }
    }

    #[test]
    fn the_reserved_reasons_are_those_of_the_standard() {
        assert_eq!(HostError::NoInterceptor.reason(), "host_error:no_interceptor");
        assert_eq!(
            HostError::TransformTargetForbidden.reason(),
            "host_error:transform_target_forbidden"
        );
    }
}
