//! How the verdicts of several interceptors become one. The host chooses a profile; verdicts cannot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::{Decision, InterceptorVerdict};

/// The ways to compose, each with the setting that only it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "profile")]
pub enum Composition {
    /// One after the other; each sees what those before it have changed, and the first deny ends it.
    #[serde(rename = "sequential/first_deny")]
    FirstDeny {
        /// What follows when a deny was lifted.
        on_approval: OnApproval,
    },
    /// One after the other, all of them; the strictest counts.
    #[serde(rename = "sequential/run_all")]
    RunAll,
    /// All see the same; the strictest counts.
    #[serde(rename = "parallel/strictest")]
    Strictest {
        /// What two transforms mean.
        on_transform_conflict: Synthesis,
    },
    /// All see the same, and all must allow.
    #[serde(rename = "parallel/unanimous")]
    Unanimous {
        /// What it means that they do not.
        on_disagreement: Synthesis,
    },
}

/// The names of the ways to compose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum CompositionProfile {
    /// One interceptor after the other; the first deny ends it.
    #[default]
    #[serde(rename = "sequential/first_deny")]
    FirstDeny,
    /// One after the other, all of them; the strictest verdict counts.
    #[serde(rename = "sequential/run_all")]
    RunAll,
    /// All see the same context; the strictest verdict counts.
    #[serde(rename = "parallel/strictest")]
    Strictest,
    /// All see the same context, and all must allow.
    #[serde(rename = "parallel/unanimous")]
    Unanimous,
}

/// What follows when a deny was lifted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnApproval {
    /// The approval is the last word.
    #[default]
    Stop,
    /// The next interceptor is asked.
    Resume,
}

/// What the host says when verdicts do not fit together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Synthesis {
    /// A deny.
    #[default]
    Deny,
    /// A deny that an approval may lift.
    Approval,
}

/// A way to compose as settings write it: a setting of another profile is a mistake.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenComposition {
    /// The profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<CompositionProfile>,
    /// Only with `sequential/first_deny`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_approval: Option<OnApproval>,
    /// Only with `parallel/unanimous`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_disagreement: Option<Synthesis>,
    /// Only with `parallel/strictest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_transform_conflict: Option<Synthesis>,
}

impl WrittenComposition {
    /// The composition; the error names the setting that the profile does not have.
    pub fn read(self) -> Result<Composition, &'static str> {
        let Self {
            profile,
            on_approval,
            on_disagreement,
            on_transform_conflict,
        } = self;
        let (composition, others) = match profile.unwrap_or_default() {
            CompositionProfile::FirstDeny => (
                Composition::FirstDeny {
                    on_approval: on_approval.unwrap_or_default(),
                },
                [
                    None,
                    on_disagreement.map(|_| "on_disagreement"),
                    on_transform_conflict.map(|_| CONFLICT),
                ],
            ),
            CompositionProfile::RunAll => (
                Composition::RunAll,
                [
                    on_approval.map(|_| "on_approval"),
                    on_disagreement.map(|_| "on_disagreement"),
                    on_transform_conflict.map(|_| CONFLICT),
                ],
            ),
            CompositionProfile::Strictest => (
                Composition::Strictest {
                    on_transform_conflict: on_transform_conflict.unwrap_or_default(),
                },
                [
                    on_approval.map(|_| "on_approval"),
                    on_disagreement.map(|_| "on_disagreement"),
                    None,
                ],
            ),
            CompositionProfile::Unanimous => (
                Composition::Unanimous {
                    on_disagreement: on_disagreement.unwrap_or_default(),
                },
                [
                    on_approval.map(|_| "on_approval"),
                    None,
                    on_transform_conflict.map(|_| CONFLICT),
                ],
            ),
        };
        match others.into_iter().flatten().next() {
            Some(other) => Err(other),
            None => Ok(composition),
        }
    }
}

const CONFLICT: &str = "on_transform_conflict";

/// Which verdict counts among several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictest {
    /// The verdict of that interceptor.
    Of(usize),
    /// Two want to change what both have seen unchanged.
    Conflict,
}

/// The strictest verdict: of equally strict ones the first, but of transforms that build on each other the last.
pub fn strictest(verdicts: &[InterceptorVerdict], builds_on_each_other: bool) -> Strictest {
    let highest = verdicts
        .iter()
        .map(InterceptorVerdict::severity)
        .max()
        .unwrap_or_default();
    let is_highest = |verdict: &InterceptorVerdict| verdict.severity() == highest;
    let first = verdicts.iter().position(is_highest).unwrap_or_default();
    let last = verdicts.iter().rposition(is_highest).unwrap_or_default();
    match verdicts.get(first).map(|verdict| verdict.decision) {
        Some(Decision::Transform) if builds_on_each_other => Strictest::Of(last),
        Some(Decision::Transform) if first != last => Strictest::Conflict,
        _ => Strictest::Of(first),
    }
}

/// A verdict with the warnings of all, and, if it permits, with the labels of those that permit.
pub fn united(mut verdict: InterceptorVerdict, all: &[InterceptorVerdict]) -> InterceptorVerdict {
    fn add<T: PartialEq + Clone>(list: &mut Vec<T>, more: &[T]) {
        for item in more {
            if !list.contains(item) {
                list.push(item.clone());
            }
        }
    }
    let (mut warnings, mut labels) = (Vec::new(), Vec::new());
    for one in all {
        add(&mut warnings, &one.warnings);
        if one.permits() {
            add(&mut labels, &one.result_labels);
        }
    }
    add(&mut warnings, &std::mem::take(&mut verdict.warnings));
    verdict.warnings = warnings;
    match verdict.permits() {
        true => {
            add(&mut labels, &std::mem::take(&mut verdict.result_labels));
            verdict.result_labels = labels;
        }
        false => verdict.result_labels.clear(),
    }
    verdict
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn verdicts(values: &[serde_json::Value]) -> Vec<InterceptorVerdict> {
        values
            .iter()
            .map(|value| InterceptorVerdict::read(value.clone()).unwrap())
            .collect()
    }

    #[test]
    fn the_strictest_verdict_counts() {
        let allow = json!({"decision": "allow"});
        let change = json!({"decision": "transform", "transform": {"path": "$target"}});
        let ask = json!({"decision": "deny", "approval": {}});
        let deny = json!({"decision": "deny"});
        let cases = [
            (vec![&allow, &allow], Strictest::Of(0), Strictest::Of(0)),
            (vec![&allow, &change, &allow], Strictest::Of(1), Strictest::Of(1)),
            (
                vec![&change, &allow, &change],
                Strictest::Of(2),
                Strictest::Conflict,
            ),
            (vec![&change, &change, &ask], Strictest::Of(2), Strictest::Of(2)),
            (vec![&ask, &ask], Strictest::Of(0), Strictest::Of(0)),
            (vec![&ask, &deny, &deny], Strictest::Of(1), Strictest::Of(1)),
        ];
        for (list, sequential, parallel) in cases {
            let list: Vec<_> = list.into_iter().cloned().collect();
            assert_eq!(strictest(&verdicts(&list), true), sequential, "{list:?}");
            assert_eq!(strictest(&verdicts(&list), false), parallel, "{list:?}");
        }
    }

    #[test]
    fn warnings_come_from_all_and_labels_from_those_that_permit() {
        let all = verdicts(&[
            json!({"decision": "allow", "warnings": [{"reason": "a"}], "result_labels": ["x", "y"]}),
            json!({"decision": "deny", "warnings": [{"reason": "a"}, {"reason": "b"}], "result_labels": ["z"]}),
        ]);
        let permit = united(InterceptorVerdict::allow(), &all);
        assert_eq!(permit.result_labels, ["x", "y"]);
        assert_eq!(permit.warnings.len(), 2);
        let deny = united(InterceptorVerdict::deny("no"), &all);
        assert!(deny.result_labels.is_empty());
        assert_eq!(deny.warnings.len(), 2);
    }

    #[test]
    fn a_setting_of_another_profile_is_a_mistake() {
        let read = |value| {
            serde_json::from_value::<WrittenComposition>(value)
                .unwrap()
                .read()
        };
        assert_eq!(
            read(json!({})),
            Ok(Composition::FirstDeny {
                on_approval: OnApproval::Stop
            })
        );
        let cases = [
            (
                json!({"profile": "sequential/run_all", "on_approval": "resume"}),
                "on_approval",
            ),
            (json!({"on_disagreement": "deny"}), "on_disagreement"),
            (
                json!({"profile": "parallel/unanimous", "on_transform_conflict": "deny"}),
                CONFLICT,
            ),
            (
                json!({"profile": "parallel/strictest", "on_approval": "stop"}),
                "on_approval",
            ),
        ];
        for (value, knob) in cases {
            assert_eq!(read(value), Err(knob));
        }
    }
}
