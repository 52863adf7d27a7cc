//! The settings that chibi keeps beside a context, as far as becket has the same ones.

use becket_events::Fallback;
use becket_hooks::in_plain_words;
use serde::Deserialize;

/// The file's name in the folder of a context.
pub const LOCAL_SETTINGS_FILE: &str = "local.toml";

/// Settings of one context.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LocalSettings {
    /// The model, as chibi writes it.
    pub model: Option<String>,
    /// How many rounds of tools one prompt may cause; 0 for no limit.
    pub fuel: Option<u32>,
    /// Who goes on when the model has answered.
    pub fallback: Option<Fallback>,
    /// The temperature.
    pub temperature: Option<f64>,
    /// The longest answer in tokens.
    pub max_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct File {
    model: Option<String>,
    fuel: Option<u32>,
    fallback_tool: Option<String>,
    #[serde(default)]
    api: Api,
}

#[derive(Default, Deserialize)]
struct Api {
    temperature: Option<f64>,
    max_tokens: Option<u64>,
}

/// Reads the file. Keys that becket has no use for are none of its business; the error says what cannot be read.
pub fn read_local_settings(text: &str) -> Result<LocalSettings, String> {
    let File {
        model,
        fuel,
        fallback_tool,
        api,
    } = toml::from_str(text).map_err(|error| {
        let before = error
            .span()
            .map_or("", |span| &text[..span.start.min(text.len())]);
        format!(
            "line {}: {}",
            before.matches('\n').count() + 1,
            in_plain_words(error.message())
        )
    })?;
    Ok(LocalSettings {
        model,
        fuel,
        fallback: fallback_tool.as_deref().map(fallback).transpose()?,
        temperature: api.temperature,
        max_tokens: api.max_tokens,
    })
}

/// A model of chibi's as becket names it: all of them are OpenRouter's, whatever their names begin with. `None` for the
/// presets that only chibi itself can resolve.
pub fn model_named(id: &str) -> Option<String> {
    let id = id.trim();
    (!id.is_empty() && !id.starts_with("ratatoskr:")).then(|| format!("openrouter/{id}"))
}

fn fallback(tool: &str) -> Result<Fallback, String> {
    match tool {
        "call_user" => Ok(Fallback::CallUser),
        "call_agent" => Ok(Fallback::CallAgent),
        _ => Err(format!(
            "`fallback_tool` is `{tool}`, and becket knows call_user and call_agent"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_becket_has_and_leaves_the_rest() {
        let text = "model = \"openai/gpt\"\nfuel = 0\nfallback_tool = \"call_agent\"\nusername = \"ada\"\n\
                    [api]\ntemperature = 1\nmax_tokens = 300\ntop_p = 0.5\n[tools]\ninclude = [\"x\"]\n";
        let settings = LocalSettings {
            model: Some("openai/gpt".into()),
            fuel: Some(0),
            fallback: Some(Fallback::CallAgent),
            temperature: Some(1.0),
            max_tokens: Some(300),
        };
        assert_eq!(read_local_settings(text), Ok(settings));
        assert_eq!(read_local_settings(""), Ok(LocalSettings::default()));
    }

    #[test]
    fn every_model_is_openrouters_except_those_that_only_chibi_knows() {
        let table = [
            ("z-ai/glm-4.5", Some("openrouter/z-ai/glm-4.5")),
            (
                "anthropic/claude-sonnet-4",
                Some("openrouter/anthropic/claude-sonnet-4"),
            ),
            ("openrouter/auto", Some("openrouter/openrouter/auto")),
            ("ratatoskr:free/agentic", None),
            (" ", None),
        ];
        for (id, expected) in table {
            assert_eq!(model_named(id).as_deref(), expected, "{id}");
        }
    }

    #[test]
    fn says_what_it_cannot_read_and_where() {
        let table = [
            ("model = 3\n", "line 1: "),
            ("\nfuel = -1\n", "line 2: "),
            ("[api]\n\ntemperature = \"warm\"\n", "line 3: "),
            ("model = \"x\"\nmodel", "line 2: "),
            ("fallback_tool = \"call_nobody\"", "call_nobody"),
        ];
        for (text, words) in table {
            let error = read_local_settings(text).unwrap_err();
            assert!(error.contains(words), "{text:?}: {error}");
        }
    }
}
