//! The settings that chibi keeps beside a context, as far as becket has the same ones.

use becket_events::Fallback;
use becket_hooks::in_plain_words;
use serde::Deserialize;

/// The file's name in the folder of a context.
pub const LOCAL_SETTINGS_FILE: &str = "local.toml";

/// The name of the file for the whole home.
pub const HOME_SETTINGS_FILE: &str = "config.toml";

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
    /// Which addresses of the web are allowed and denied.
    pub url_policy: Option<UrlRules>,
}

/// Which addresses of the web are allowed and denied, in lists of rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UrlRules {
    /// What counts where no rule does.
    pub default: UrlAction,
    /// Allowed, unless it is denied.
    pub allow: Vec<String>,
    /// Denied.
    pub deny: Vec<String>,
    /// Allowed, also if it is denied.
    pub allow_override: Vec<String>,
    /// Denied, whatever else is said.
    pub deny_override: Vec<String>,
}

/// What is done with an address of which no rule speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UrlAction {
    /// It is fetched.
    #[default]
    Allow,
    /// It is not.
    Deny,
}

#[derive(Deserialize)]
struct File {
    model: Option<String>,
    fuel: Option<u32>,
    fallback_tool: Option<String>,
    #[serde(default)]
    api: Api,
    url_policy: Option<UrlRules>,
}

/// The settings of the whole home, as far as they are read.
#[derive(Deserialize)]
struct HomeFile {
    url_policy: Option<UrlRules>,
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
        url_policy,
    } = read(text)?;
    Ok(LocalSettings {
        model,
        fuel,
        fallback: fallback_tool.as_deref().map(fallback).transpose()?,
        temperature: api.temperature,
        max_tokens: api.max_tokens,
        url_policy,
    })
}

/// Which addresses the settings of the whole home allow and deny, if they say anything about that.
pub fn read_home_url_rules(text: &str) -> Result<Option<UrlRules>, String> {
    read(text).map(|file: HomeFile| file.url_policy)
}

pub(super) fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, String> {
    if becket_hooks::is_nested_too_deep(text) {
        return Err("it is nested too deep to be read".into());
    }
    toml::from_str(text).map_err(|error| {
        let before = error
            .span()
            .map_or("", |span| &text[..span.start.min(text.len())]);
        format!(
            "line {}: {}",
            before.matches('\n').count() + 1,
            in_plain_words(error.message())
        )
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
            url_policy: None,
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
    fn rules_about_addresses_are_read_from_both_files() {
        let text = "[url_policy]\ndeny = [\"preset:loopback\"]\nallow_override = [\"http://localhost:*\"]\n";
        let rules = UrlRules {
            deny: vec!["preset:loopback".into()],
            allow_override: vec!["http://localhost:*".into()],
            ..UrlRules::default()
        };
        assert_eq!(rules.default, UrlAction::Allow);
        assert_eq!(read_home_url_rules(text), Ok(Some(rules.clone())));
        assert_eq!(read_local_settings(text).unwrap().url_policy, Some(rules));
        assert_eq!(read_home_url_rules("model = \"x\""), Ok(None));
        for wrong in [
            "[url_policy]\nblock = []",
            "[url_policy]\ndefault = \"maybe\"",
            "url_policy = 1",
        ] {
            assert!(read_home_url_rules(wrong).is_err(), "{wrong}");
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
