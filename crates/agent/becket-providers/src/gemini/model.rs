//! What Gemini's models can do, by their names.

use becket_agent::provider::{RequestOptions, ThinkingLevel};
use serde_json::{Value, json};

/// The fewest tokens for thoughts that every model with a budget accepts.
const LEAST_THOUGHTS: u64 = 512;

/// The fewest tokens that stay for the answer.
const LEAST_ANSWER: u64 = 1_024;

/// A generation of models, by how they think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Before 2.5, and models of other families: no thoughts.
    Early,
    /// 2.5: a number of tokens.
    Budget,
    /// From 3 on: levels, signatures on calls that are checked, pictures inside the results of calls.
    Late,
}

/// A model's version; one without a number is the latest.
fn version(model: &str) -> Option<(u32, u32)> {
    let rest = model.rsplit('/').next()?.strip_prefix("gemini-")?;
    let first = rest.split('-').next()?;
    let (major, minor) = first.split_once('.').unwrap_or((first, "0"));
    match (major.parse(), minor.parse()) {
        (Ok(major), Ok(minor)) => Some((major, minor)),
        _ => Some((u32::MAX, 0)),
    }
}

impl Generation {
    pub fn of(model: &str) -> Self {
        match version(model) {
            Some((3.., _)) => Self::Late,
            Some((2, 5..)) => Self::Budget,
            _ => Self::Early,
        }
    }
}

/// The value of `thinkingConfig`, if the model can think and is told to.
pub(crate) fn thinking(model: &str, options: &RequestOptions) -> Option<Value> {
    let level = options.thinking.filter(|level| *level != ThinkingLevel::Off)?;
    match Generation::of(model) {
        Generation::Early => None,
        Generation::Budget => {
            let room = options
                .max_tokens
                .map_or(u64::MAX, |most| most.saturating_sub(LEAST_ANSWER));
            let budget = budget(level).min(room).max(LEAST_THOUGHTS);
            Some(json!({"includeThoughts": true, "thinkingBudget": budget}))
        }
        Generation::Late => Some(json!({"includeThoughts": true, "thinkingLevel": name(model, level)})),
    }
}

fn budget(level: ThinkingLevel) -> u64 {
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => LEAST_THOUGHTS,
        ThinkingLevel::Low => 2_048,
        ThinkingLevel::Medium => 8_192,
        ThinkingLevel::High => 16_384,
        ThinkingLevel::Xhigh => 24_576,
    }
}

/// Models that know the lowest level.
const MINIMAL: &[&str] = &[
    "gemini-3-flash",
    "gemini-3.1-flash-lite",
    "gemini-3.5-flash",
    "gemini-3.6-flash",
];

/// The interface's name of a level. A level that the model does not know is replaced by the nearest one.
fn name(model: &str, level: ThinkingLevel) -> &'static str {
    let knows_minimal = MINIMAL.iter().any(|prefix| model.starts_with(prefix));
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal if knows_minimal => "minimal",
        ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
        ThinkingLevel::Medium if model.starts_with("gemini-3-pro") => "high",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High | ThinkingLevel::Xhigh => "high",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generation_is_told_how_much_to_think_in_its_own_words() {
        use ThinkingLevel::{High, Low, Medium, Minimal, Off, Xhigh};
        let level = |name: &str| Some(json!({"includeThoughts": true, "thinkingLevel": name}));
        let budget = |tokens: u64| Some(json!({"includeThoughts": true, "thinkingBudget": tokens}));
        let table = [
            ("gemini-2.0-flash", High, None, None),
            ("gemma-4-31b-it", High, None, None),
            ("gemini-2.5-pro", Off, None, None),
            ("gemini-2.5-pro", Minimal, None, budget(512)),
            ("gemini-2.5-flash", Xhigh, None, budget(24_576)),
            ("gemini-2.5-flash", High, Some(5_000), budget(3_976)),
            ("gemini-2.5-flash", High, Some(16), budget(512)),
            ("gemini-3-pro-preview", Medium, None, level("high")),
            ("gemini-3-pro-preview", Minimal, None, level("low")),
            ("gemini-3.1-pro-preview", Medium, None, level("medium")),
            ("gemini-3.5-flash", Minimal, None, level("minimal")),
            ("gemini-3.8-flash", Minimal, None, level("low")),
            ("gemini-3.8-flash", Low, None, level("low")),
            ("gemini-4-argon", Xhigh, None, level("high")),
            ("gemini-flash-latest", Medium, None, level("medium")),
        ];
        for (model, thinks, max_tokens, expected) in table {
            let options = RequestOptions {
                thinking: Some(thinks),
                max_tokens,
                ..RequestOptions::default()
            };
            assert_eq!(thinking(model, &options), expected, "{model} {thinks:?}");
        }
    }
}
