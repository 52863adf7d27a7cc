//! How many tokens models can take: by their families, as providers list them, and as they say it in an error.

use becket_agent::provider::Provider;
use serde_json::{Map, Value};

/// Families of models, by the beginning of their names, with the windows that their makers name. The first match
/// counts, so that longer beginnings come first.
const FAMILIES: &[(&str, u64)] = &[
    ("gpt-5-chat", 128_000),
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("chatgpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4-32k", 32_768),
    ("gpt-4", 8_192),
    ("gpt-3.5-turbo", 16_385),
    ("gpt-oss", 131_072),
    ("codex-mini", 200_000),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("claude-", 200_000),
    ("gemini-1.5-pro", 2_097_152),
    ("gemini-", 1_048_576),
    ("deepseek-", 128_000),
    ("grok-code-fast", 256_000),
    ("grok-4", 256_000),
    ("grok-3", 131_072),
    ("mistral-large", 128_000),
    ("mistral-medium", 128_000),
    ("devstral", 128_000),
    ("kimi-k2", 131_072),
    ("glm-4.6", 200_000),
    ("glm-4.5", 128_000),
    ("llama-3.1", 131_072),
    ("llama-3.3", 131_072),
];

/// The fields in which providers list a model's window: OpenRouter and others, Groq, vLLM, Mistral and LM Studio,
/// Gemini, and services that count input and output apart.
const FIELDS: &[&str] = &[
    "context_length",
    "context_window",
    "max_model_len",
    "max_context_length",
    "loaded_context_length",
    "inputTokenLimit",
    "max_input_tokens",
];

/// What stands before the window in an error, in lower case.
const BEFORE: &[&str] = &[
    "maximum context length is ",
    "maximum context length of ",
    "context window of ",
    "context length of ",
    "context limit of ",
    "context size (",
    "maximum number of tokens allowed (",
    "model with ",
    " > ",
];

/// Windows that a model can have.
const SENSIBLE: std::ops::RangeInclusive<u64> = 256..=100_000_000;

/// How many tokens a model can take, by its family. What runs on this machine may have been given any window.
pub fn window_of(provider: &dyn Provider) -> Option<u64> {
    match provider.is_local() {
        true => None,
        false => of_family(provider.model()),
    }
}

/// How many tokens models of this name can take. Gateways put the maker's name before it.
pub fn of_family(model: &str) -> Option<u64> {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let family = FAMILIES.iter().find(|(beginning, _)| name.starts_with(beginning));
    family.map(|(_, tokens)| *tokens)
}

/// The window in a provider's own list; of several numbers the smallest counts.
pub(crate) fn listed(model: &Map<String, Value>) -> Option<u64> {
    let windows = FIELDS.iter().filter_map(|field| model.get(*field)?.as_u64());
    windows.filter(|tokens| SENSIBLE.contains(tokens)).min()
}

/// The window that an error names.
pub(crate) fn named(message: &str) -> Option<u64> {
    let words = message.to_ascii_lowercase();
    let number = |before: &&str| {
        let rest = &words[words.find(*before)? + before.len()..];
        let digits = rest
            .chars()
            .take_while(|letter| letter.is_ascii_digit() || *letter == ',');
        let digits: String = digits.filter(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|tokens| SENSIBLE.contains(tokens))
    };
    BEFORE.iter().find_map(number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn models_are_known_by_their_families() {
        for (model, wanted) in [
            ("gpt-4.1-2025-04-14", Some(1_047_576)),
            ("openai/gpt-4o-mini", Some(128_000)),
            ("gpt-4", Some(8_192)),
            ("claude-sonnet-4-5", Some(200_000)),
            ("anthropic/Claude-Opus-4.1", Some(200_000)),
            ("o3-mini", Some(200_000)),
            ("first", None),
            ("my-gpt-4o", None),
        ] {
            assert_eq!(of_family(model), wanted, "{model}");
        }
    }

    #[test]
    fn lists_and_errors_name_windows() {
        let list = |model: Value| listed(model.as_object().expect("an object"));
        assert_eq!(
            list(json!({"max_model_len": 8192, "owned_by": "vllm"})),
            Some(8192)
        );
        assert_eq!(
            list(json!({"max_context_length": 131072, "loaded_context_length": 4096})),
            Some(4096)
        );
        assert_eq!(list(json!({"context_length": 0, "context_window": "big"})), None);
        for (message, wanted) in [
            (
                "This model's maximum context length is 8192 tokens. However",
                Some(8192),
            ),
            (
                "prompt is too long: 205000 tokens > 200000 maximum",
                Some(200_000),
            ),
            (
                "the request exceeds the available context size (4096 tokens)",
                Some(4096),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)",
                Some(1_048_576),
            ),
            (
                "exceed context limit: 199000 + 20000 > 200,000, decrease",
                Some(200_000),
            ),
            (
                "too large for model with 32768 maximum context length",
                Some(32_768),
            ),
            ("Input is too long for requested model", None),
        ] {
            assert_eq!(named(message), wanted, "{message}");
        }
    }
}
