//! How hard OpenAI's models think, by their names. Both of OpenAI's interfaces have the same words for it.

use becket_agent::provider::ThinkingLevel;

/// Prefixes of models that think, besides `gpt-5` and later.
const THINKING_MODELS: &[&str] = &["o1", "o3", "o4", "codex-mini", "gpt-oss"];

/// How hard a model is to think, in the interface's terms; `None` for a model that does not think on request, or is to
/// use its default. A level that the model does not know is replaced by the nearest one.
pub(crate) fn effort(model: &str, level: ThinkingLevel) -> Option<&'static str> {
    use ThinkingLevel::{High, Low, Medium, Minimal, Off, Xhigh};
    if !thinks(model) || level == Off {
        return None;
    }
    let model = Name::of(model);
    let version = model.version.unwrap_or_default();
    // `gpt-5-pro` knows only one level, and later ones do not know the lowest.
    let least = match (model.is("pro"), version) {
        (true, (5, 0)) => High,
        (true, (5.., _)) => Medium,
        _ => Minimal,
    };
    Some(match level.max(least) {
        Minimal if version == (5, 0) && !model.is("codex") => "minimal",
        Off | Minimal | Low => "low",
        Medium => "medium",
        Xhigh if version >= (5, 2) || (version == (5, 1) && model.is("max")) => "xhigh",
        High | Xhigh => "high",
    })
}

/// Whether a model thinks before it answers.
pub(crate) fn thinks(model: &str) -> bool {
    let model = Name::of(model);
    let is_late = model.version.is_some_and(|version| version >= (5, 0));
    let thinks = is_late
        || THINKING_MODELS
            .iter()
            .any(|prefix| model.text.starts_with(prefix));
    thinks && !model.is("chat")
}

/// Whether a model of OpenAI needs the Responses interface: those that exist only there, and from 5.4 on all that
/// think, which refuse tools in chat completions.
pub(crate) fn needs_responses(model: &str) -> bool {
    let model = Name::of(model);
    let is_special = ["codex", "pro", "research", "computer"]
        .iter()
        .any(|word| model.is(word));
    let is_late = model.version.is_some_and(|version| version >= (5, 4)) && !model.is("chat");
    let is_of_openai = model.version.is_some() || is_reasoner(model.text);
    (is_special && (is_of_openai || model.is("codex") || model.is("computer"))) || is_late
}

/// Whether this is a name such as `o3-pro`.
fn is_reasoner(name: &str) -> bool {
    let rest = name.strip_prefix('o').unwrap_or_default();
    rest.starts_with(|first: char| first.is_ascii_digit())
}

/// A model's name, in parts.
struct Name<'a> {
    text: &'a str,
    /// The version of a `gpt` model.
    version: Option<(u32, u32)>,
}

impl<'a> Name<'a> {
    fn of(model: &'a str) -> Self {
        // Some servers put the maker's name before the model's.
        let text = model.rsplit('/').next().unwrap_or(model);
        let number = text.strip_prefix("gpt-").and_then(|rest| rest.split('-').next());
        let version = number.and_then(|number| {
            let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
            Some((major.parse().ok()?, minor.parse().ok()?))
        });
        Self { text, version }
    }

    /// Whether a word is part of the name.
    fn is(&self, word: &str) -> bool {
        self.text.split('-').any(|part| part == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_think_are_told_how_hard_in_words_that_they_know() {
        use ThinkingLevel::{High, Low, Medium, Minimal, Off, Xhigh};
        let table = [
            ("gpt-4o", High, None),
            ("llama3", High, None),
            ("gpt-5-chat-latest", High, None),
            ("gpt-5", Off, None),
            ("gpt-5", Minimal, Some("minimal")),
            ("gpt-5-mini", Medium, Some("medium")),
            ("gpt-5", Xhigh, Some("high")),
            ("gpt-5-codex", Minimal, Some("low")),
            ("gpt-5-pro", Low, Some("high")),
            ("gpt-5.1", Minimal, Some("low")),
            ("gpt-5.1", Xhigh, Some("high")),
            ("gpt-5.1-codex-max", Xhigh, Some("xhigh")),
            ("gpt-5.2-pro", Minimal, Some("medium")),
            ("openai/gpt-5.2", Xhigh, Some("xhigh")),
            ("gpt-5.10-mini", Xhigh, Some("xhigh")),
            ("gpt-6-astra", Xhigh, Some("xhigh")),
            ("o3", Minimal, Some("low")),
            ("o3-pro", Low, Some("low")),
            ("o4-mini", Low, Some("low")),
            ("codex-mini-latest", Minimal, Some("low")),
            ("openai/gpt-oss-20b", High, Some("high")),
        ];
        for (model, level, expected) in table {
            assert_eq!(effort(model, level), expected, "{model} {level:?}");
        }
    }

    #[test]
    fn models_that_need_the_responses_interface_are_known_by_name() {
        let table = [
            ("gpt-4o", false),
            ("gpt-4.1", false),
            ("gpt-5", false),
            ("gpt-5-mini", false),
            ("gpt-5.1", false),
            ("gpt-5.2", false),
            ("gpt-5.3-chat-latest", false),
            ("gpt-5.5-chat-latest", false),
            ("o1", false),
            ("o3", false),
            ("o4-mini", false),
            ("qwen3-pro", false),
            ("llama3", false),
            ("gpt-5-codex", true),
            ("gpt-5-pro", true),
            ("gpt-5-pro-2025-10-06", true),
            ("gpt-5.1-codex-max", true),
            ("gpt-5.1-codex-mini", true),
            ("gpt-5.2-pro", true),
            ("gpt-5.3-codex", true),
            ("gpt-5.4", true),
            ("gpt-5.4-mini", true),
            ("gpt-5.6-terra", true),
            ("gpt-5.10", true),
            ("gpt-6-astra", true),
            ("o1-pro", true),
            ("o3-pro-2025-06-10", true),
            ("o3-deep-research", true),
            ("codex-mini-latest", true),
            ("computer-use-preview", true),
        ];
        for (model, expected) in table {
            assert_eq!(needs_responses(model), expected, "{model}");
        }
    }
}
