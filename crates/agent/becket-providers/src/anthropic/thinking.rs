//! How Anthropic's models think, by their names.
//!
//! Models up to 4.5 get a number of tokens for their thoughts and need a header to think between calls. Later ones
//! decide themselves how much they think, guided by an effort, and refuse most options of sampling.

use becket_agent::provider::{ModelRequest, ThinkingLevel};
use becket_events::{Message, MessageBody, Part};
use serde_json::{Value, json};

use crate::signature::Seal;

/// The limit of tokens for models that think: thoughts count, and every such model accepts it.
pub(crate) const THINKING_MAX_TOKENS: u64 = 32_000;

/// The fewest tokens for thoughts that the interface accepts.
const LEAST_THOUGHTS: u64 = 1_024;

/// The fewest tokens that stay for the answer.
const LEAST_ANSWER: u64 = 1_024;

/// The smallest `top_p` that a model that thinks accepts.
const LEAST_SHARE_OF_THOUGHTS: f64 = 0.95;

/// The first version that decides itself how much it thinks.
const ADAPTIVE: Version = (4, 6);

/// The first version without options of sampling, and with the effort `xhigh`.
const WITHOUT_SAMPLING: Version = (4, 7);

/// The first version that can think between calls.
const INTERLEAVING: Version = (4, 0);

type Version = (u32, u32);

/// What a request says about thoughts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Thinking {
    /// The value of `thinking`.
    pub wish: Option<Value>,
    /// The effort, for models that decide themselves how much they think.
    pub effort: Option<&'static str>,
}

/// What a request says about thoughts, if its model can think and is told to.
pub(crate) fn thinking(model: &str, request: &ModelRequest<'_>, seal: &Seal) -> Thinking {
    let none = Thinking {
        wish: None,
        effort: None,
    };
    let (Some(version), Some(level)) = (version(model), request.options.thinking) else {
        return none;
    };
    if level == ThinkingLevel::Off {
        return none;
    }
    if version < ADAPTIVE {
        let tokens = budget(level, request, seal);
        return Thinking {
            wish: tokens.map(|tokens| json!({"type": "enabled", "budget_tokens": tokens})),
            ..none
        };
    }
    let effort = match level {
        ThinkingLevel::Off => return none,
        ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High => "high",
        ThinkingLevel::Xhigh if version < WITHOUT_SAMPLING => "max",
        ThinkingLevel::Xhigh => "xhigh",
    };
    Thinking {
        wish: Some(json!({"type": "adaptive", "display": "summarized"})),
        effort: Some(effort),
    }
}

/// How many tokens a model may think.
fn budget(level: ThinkingLevel, request: &ModelRequest<'_>, seal: &Seal) -> Option<u64> {
    let wanted = match level {
        ThinkingLevel::Off => return None,
        ThinkingLevel::Minimal => LEAST_THOUGHTS,
        ThinkingLevel::Low => 2_048,
        ThinkingLevel::Medium => 8_192,
        ThinkingLevel::High => 16_384,
        ThinkingLevel::Xhigh => 24_576,
    };
    let room = request.options.max_tokens.unwrap_or(THINKING_MAX_TOKENS);
    let budget = wanted.min(room.saturating_sub(LEAST_ANSWER));
    // A model that must call a certain tool cannot think before.
    let is_free = request.options.answer_schema.is_none();
    let may = budget >= LEAST_THOUGHTS && is_free && may_begin(request.messages, seal);
    may.then_some(budget)
}

/// Whether a model may begin to think. One whose last answer called tools goes on as it began: with or without
/// thoughts.
fn may_begin(messages: &[Message], seal: &Seal) -> bool {
    let is_answer = |message: &&Message| matches!(message.body(), MessageBody::Assistant { .. });
    let last = messages.iter().rev().find(is_answer);
    let is_thought = |part: &Part| match part {
        Part::Thinking {
            signature: Some(signature),
            ..
        } => seal.read(signature).is_some(),
        _ => false,
    };
    last.is_none_or(|answer| answer.tool_calls().is_empty() || answer.content().iter().any(is_thought))
}

/// The limit of tokens by default; the interface demands one. Late models may think even if nobody asks them to.
pub(crate) fn default_max_tokens(model: &str, thinking: &Thinking) -> u64 {
    let smaller = SMALLER_LIMITS.iter().find(|(name, _)| model.contains(name));
    match smaller {
        Some((_, limit)) => *limit,
        None if thinking.wish.is_some() || is_adaptive(model) => THINKING_MAX_TOKENS,
        None => DEFAULT_MAX_TOKENS,
    }
}

/// The limit of tokens for models that do not think.
const DEFAULT_MAX_TOKENS: u64 = 16_384;

/// Models that refuse the default limit, and the limit for each.
const SMALLER_LIMITS: &[(&str, u64)] = &[
    ("claude-3-opus", 4096),
    ("claude-3-sonnet", 4096),
    ("claude-3-haiku", 4096),
    ("claude-3-5", 8192),
];

/// Whether a model decides itself how much it thinks. Such a model also takes the form of its answer as a schema.
pub(crate) fn is_adaptive(model: &str) -> bool {
    version(model).is_some_and(|version| version >= ADAPTIVE)
}

/// Whether a model needs a header to think between calls.
pub(crate) fn wants_interleaving(model: &str) -> bool {
    version(model).is_some_and(|version| (INTERLEAVING..ADAPTIVE).contains(&version))
}

/// The temperature and the share of likely words, as far as a model accepts them. One that thinks refuses both, except
/// for a large share.
pub(crate) fn sampling(
    model: &str,
    request: &ModelRequest<'_>,
    thinking: &Thinking,
) -> (Option<f64>, Option<f64>) {
    if version(model).is_some_and(|version| version >= WITHOUT_SAMPLING) {
        return (None, None);
    }
    let thinks = thinking.wish.is_some();
    let least = if thinks { LEAST_SHARE_OF_THOUGHTS } else { 0.0 };
    (
        request.options.temperature.filter(|_| !thinks),
        request.options.top_p.filter(|top_p| *top_p >= least),
    )
}

/// The version in a model's name, for models that can think: `claude-3-7-…`, and all families from 4 on.
fn version(model: &str) -> Option<Version> {
    if model.contains("claude-3-7") {
        return Some((3, 7));
    }
    if model.contains("claude-mythos-preview") {
        return Some(WITHOUT_SAMPLING);
    }
    let rest = FAMILIES.iter().find_map(|family| model.split_once(family))?.1;
    let mut numbers = rest.split(['-', '.', '@', ':']).map(str::parse::<u32>);
    let major = numbers.next()?.ok()?;
    // What follows may be a date.
    let minor = numbers.next().and_then(Result::ok).filter(|minor| *minor < 100);
    Some((major, minor.unwrap_or_default())).filter(|(major, _)| *major >= 4)
}

const FAMILIES: &[&str] = &[
    "claude-opus-",
    "claude-sonnet-",
    "claude-haiku-",
    "claude-fable-",
    "claude-mythos-",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_names() {
        let table = [
            ("claude-3-7-sonnet-latest", Some((3, 7))),
            ("claude-3-5-sonnet-latest", None),
            ("claude-3-opus-20240229", None),
            ("claude-opus-4-20250514", Some((4, 0))),
            ("claude-opus-4-1-20250805", Some((4, 1))),
            ("claude-sonnet-4.5", Some((4, 5))),
            ("anthropic.claude-opus-4-6-v1:0", Some((4, 6))),
            ("claude-sonnet-5", Some((5, 0))),
            ("claude-haiku-5-5", Some((5, 5))),
            ("claude-fable-5-1", Some((5, 1))),
            ("claude-mythos-preview", Some((4, 7))),
            ("claude-opus-latest", None),
            ("claude-test", None),
            ("llama3", None),
        ];
        for (model, expected) in table {
            assert_eq!(version(model), expected, "{model}");
        }
    }

    #[test]
    fn every_model_gets_a_limit_that_it_accepts() {
        let none = Thinking {
            wish: None,
            effort: None,
        };
        let table = [
            ("claude-3-5-haiku-latest", 8192),
            ("claude-3-haiku-20240307", 4096),
            ("claude-sonnet-4-5", DEFAULT_MAX_TOKENS),
            ("claude-opus-5", THINKING_MAX_TOKENS),
        ];
        for (model, expected) in table {
            assert_eq!(default_max_tokens(model, &none), expected, "{model}");
        }
    }
}
