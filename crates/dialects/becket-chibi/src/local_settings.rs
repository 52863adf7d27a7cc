//! chibi's settings: those of its home, and those of a context.
//!
//! Both files have the same keys. [`service`] says how becket treats each: a key that is not served is reported by its
//! name, and one that restricts the agent must be served, or nothing runs.

use becket_events::Fallback;
use becket_hooks::{in_plain_words, keys_of, nearest};
use serde::Deserialize;

use super::tool_choice::ToolChoice;

/// The file's name in the folder of a context.
pub const LOCAL_SETTINGS_FILE: &str = "local.toml";

/// The name of the file for the whole home.
pub const HOME_SETTINGS_FILE: &str = "config.toml";

/// How becket treats a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    /// The key is used.
    Served,
    /// The key is used, and restricts the agent, so that nothing runs if it is misspelt.
    Restricts,
    /// The key is used only in the home's file. In a context's file it would have restricted the agent.
    OfHome,
    /// The key has no meaning in becket.
    None,
}

/// The keys of a chibi settings file that are not simply used. A key covers everything below it.
const KEYS: &[(&str, Service)] = &[
    ("api.prompt_caching", Service::None),
    ("api.reasoning", Service::None),
    ("api.response_format", Service::None),
    ("api.seed", Service::None),
    ("api.stop", Service::None),
    ("api.tool_choice", Service::Restricts),
    ("api_key", Service::None),
    ("auto_cleanup_cache", Service::None),
    ("auto_compact", Service::None),
    ("auto_compact_threshold", Service::None),
    ("base_url", Service::None),
    ("context_window_limit", Service::None),
    ("file_tools_allowed_paths", Service::Restricts),
    ("fuel", Service::Restricts),
    ("hide_tool_calls", Service::None),
    ("lock_heartbeat_seconds", Service::None),
    ("max_recursion_depth", Service::None),
    ("models", Service::None),
    ("no_tool_calls", Service::Restricts),
    ("reflection_character_limit", Service::None),
    ("rolling_compact_drop_percentage", Service::None),
    ("show_thinking", Service::None),
    ("site", Service::None),
    ("storage", Service::None),
    ("subagent_cost_tier", Service::None),
    ("tool_cache_max_age_days", Service::None),
    ("tools.env", Service::OfHome),
    ("tools.exclude", Service::Restricts),
    ("tools.exclude_categories", Service::Restricts),
    ("tools.http", Service::OfHome),
    ("tools.include", Service::Restricts),
    ("tools.tiers", Service::OfHome),
    ("url_policy", Service::Restricts),
    ("verbose", Service::None),
    ("vfs", Service::None),
    ("warn_threshold_percent", Service::None),
];

/// How becket treats a key; `None` if there is no such key. Keys that are not in the table are used if
/// [`LocalSettings`] has them.
fn service(key: &str) -> Option<Service> {
    if let Some((_, service)) = KEYS.iter().find(|(known, _)| *known == key) {
        return Some(*service);
    }
    let (keys, key) = match key.split_once('.') {
        None => (keys_of::<LocalSettings>(), key),
        Some(("api", key)) => (keys_of::<ApiSettings>(), key),
        Some(("tools", key)) => (keys_of::<ToolChoice>(), key),
        Some(_) => return None,
    };
    keys.contains(&key).then_some(Service::Served)
}

/// The file that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsOf {
    /// The file of the home.
    Home,
    /// The file of a context.
    Context,
}

/// The settings of one file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LocalSettings {
    /// The model, as chibi writes it.
    pub model: Option<String>,
    /// How many rounds of tools one prompt may cause; 0 for no limit.
    pub fuel: Option<u32>,
    /// How much fuel an empty answer costs.
    pub fuel_empty_response_cost: Option<u32>,
    /// Who speaks next when the model has answered.
    #[serde(rename = "fallback_tool")]
    pub fallback: Option<Fallback>,
    /// The options of sampling and length.
    pub api: ApiSettings,
    /// The user's name.
    pub username: Option<String>,
    /// Whether the agent keeps notes about itself.
    pub reflection_enabled: Option<bool>,
    /// Outputs with more bytes than this are cached, and only a preview is shown.
    pub tool_output_cache_threshold: Option<usize>,
    /// How many characters are shown of an output that was cached.
    pub tool_cache_preview_chars: Option<usize>,
    /// Folders that may be read without asking, as they are written.
    pub file_tools_allowed_paths: Vec<String>,
    /// Whether the model is offered no tools.
    pub no_tool_calls: Option<bool>,
    /// The tools that the model is offered otherwise.
    pub tools: ToolChoice,
    /// Which addresses of the web are allowed and denied.
    pub url_policy: Option<UrlRules>,
    /// Keys without a meaning in becket.
    #[serde(skip)]
    pub not_served: Vec<String>,
}

impl LocalSettings {
    /// These settings, completed from others.
    pub fn over(self, other: Self) -> Self {
        let (api, below) = (self.api, other.api);
        Self {
            model: self.model.or(other.model),
            fuel: self.fuel.or(other.fuel),
            fuel_empty_response_cost: self.fuel_empty_response_cost.or(other.fuel_empty_response_cost),
            fallback: self.fallback.or(other.fallback),
            api: ApiSettings {
                temperature: api.temperature.or(below.temperature),
                max_tokens: api.max_tokens.or(below.max_tokens),
                top_p: api.top_p.or(below.top_p),
                frequency_penalty: api.frequency_penalty.or(below.frequency_penalty),
                presence_penalty: api.presence_penalty.or(below.presence_penalty),
                parallel_tool_calls: api.parallel_tool_calls.or(below.parallel_tool_calls),
                tool_choice: api.tool_choice.or(below.tool_choice),
            },
            username: self.username.or(other.username),
            reflection_enabled: self.reflection_enabled.or(other.reflection_enabled),
            tool_output_cache_threshold: self
                .tool_output_cache_threshold
                .or(other.tool_output_cache_threshold),
            tool_cache_preview_chars: self.tool_cache_preview_chars.or(other.tool_cache_preview_chars),
            file_tools_allowed_paths: [self.file_tools_allowed_paths, other.file_tools_allowed_paths]
                .concat(),
            no_tool_calls: self.no_tool_calls.or(other.no_tool_calls),
            tools: self.tools.within(&other.tools),
            url_policy: self.url_policy.or(other.url_policy),
            not_served: [self.not_served, other.not_served].concat(),
        }
    }
}

/// The options of sampling and length of answers.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ApiSettings {
    /// The temperature.
    pub temperature: Option<f64>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<u64>,
    /// The share of likely tokens among which the model chooses.
    pub top_p: Option<f64>,
    /// How strongly the model avoids tokens that it has used often.
    pub frequency_penalty: Option<f64>,
    /// How strongly the model avoids tokens that it has used at all.
    pub presence_penalty: Option<f64>,
    /// Whether the model may request several calls at once.
    pub parallel_tool_calls: Option<bool>,
    tool_choice: Option<String>,
}

/// Which addresses of the web are allowed and denied, in lists of rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UrlRules {
    /// The action if no rule matches.
    pub default: UrlAction,
    /// Addresses that are allowed, unless they are denied.
    pub allow: Vec<String>,
    /// Addresses that are denied.
    pub deny: Vec<String>,
    /// Addresses that are allowed even if they are denied.
    pub allow_override: Vec<String>,
    /// Addresses that are denied, whatever the other lists say.
    pub deny_override: Vec<String>,
}

/// The action for an address that no rule matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UrlAction {
    /// The address is fetched.
    #[default]
    Allow,
    /// The address is refused.
    Deny,
}

/// Reads one of the files. The error says what cannot be read, or which key must not be ignored.
pub fn read_settings(text: &str, file: SettingsOf) -> Result<LocalSettings, String> {
    let mut settings: LocalSettings = read(text)?;
    settings.not_served = not_served(&read(text)?, file)?;
    settings.tools.check()?;
    match settings.api.tool_choice.as_deref() {
        None | Some("auto") => Ok(settings),
        Some("none") => Ok(LocalSettings {
            no_tool_calls: Some(true),
            ..settings
        }),
        Some(other) => Err(format!(
            "`api.tool_choice` is `{other}`, and becket knows auto and none; take it out of the file"
        )),
    }
}

/// The keys of a file without a meaning in becket; the error is about one that would have restricted the agent.
fn not_served(table: &toml::Table, file: SettingsOf) -> Result<Vec<String>, String> {
    let mut not_served = Vec::new();
    for (name, value) in table {
        let is_whole = KEYS.iter().any(|(key, _)| key == name);
        match value {
            toml::Value::Table(inner) if !is_whole => {
                for inner in inner.keys() {
                    not_served.extend(unless_served(format!("{name}.{inner}"), file)?);
                }
            }
            _ => not_served.extend(unless_served(name.clone(), file)?),
        }
    }
    Ok(not_served)
}

fn unless_served(key: String, file: SettingsOf) -> Result<Option<String>, String> {
    let restricts = || {
        let restricting = KEYS.iter().filter(|(_, service)| *service == Service::Restricts);
        nearest(&key, restricting.map(|(key, _)| *key))
    };
    match service(&key) {
        Some(Service::Served | Service::Restricts) => Ok(None),
        Some(Service::OfHome) if file == SettingsOf::Home => Ok(None),
        Some(Service::None) => Ok(Some(key)),
        Some(Service::OfHome) => Err(format!(
            "`{key}` counts in the home's {HOME_SETTINGS_FILE} alone; write it there, or take it out"
        )),
        None => match restricts() {
            Some(near) => Err(format!("there is no key `{key}`; did you mean `{near}`?")),
            // An unknown key in this table was about the tools that the agent may use.
            None if key.starts_with("tools.") => Err(format!(
                "becket does not know `{key}`, which may keep tools from the model; take it out, and deny those tools \
                 in [permissions] of becket's settings"
            )),
            None => Ok(Some(key)),
        },
    }
}

pub(super) fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, String> {
    becket_hooks::parse_toml(text).map_err(|error| {
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

/// becket's name for the provider that serves chibi's models.
pub const PROVIDER: &str = "openrouter";

/// becket's name for one of chibi's models: all of them are OpenRouter's, whatever their names begin with. `None` for
/// the presets that only chibi itself can resolve.
pub fn model_named(id: &str) -> Option<String> {
    let id = id.trim();
    (!id.is_empty() && !id.starts_with("ratatoskr:")).then(|| format!("{PROVIDER}/{id}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_home(text: &str) -> Result<LocalSettings, String> {
        read_settings(text, SettingsOf::Home)
    }

    #[test]
    fn takes_what_becket_has_and_names_the_rest() {
        let text = "model = \"openai/gpt\"\nfuel = 0\nfallback_tool = \"call_agent\"\nusername = \"ada\"\nverbose = true\n\
                    no_tool_calls = true\nmine = 1\n[api]\ntemperature = 1\nmax_tokens = 300\ntop_p = 0.5\nseed = 1\n\
                    [tools]\ninclude = [\"x\"]\n[tools.tiers]\n\"/tools\" = 2\n[models.a.api]\nseed = 1\n";
        let settings = LocalSettings {
            model: Some("openai/gpt".into()),
            fuel: Some(0),
            fallback: Some(Fallback::CallAgent),
            api: ApiSettings {
                temperature: Some(1.0),
                max_tokens: Some(300),
                top_p: Some(0.5),
                ..ApiSettings::default()
            },
            username: Some("ada".into()),
            no_tool_calls: Some(true),
            tools: ToolChoice {
                include: Some(vec!["x".into()]),
                ..ToolChoice::default()
            },
            not_served: ["api.seed", "mine", "models", "verbose"].map(Into::into).into(),
            ..LocalSettings::default()
        };
        assert_eq!(read_home(text), Ok(settings));
        assert_eq!(read_home(""), Ok(LocalSettings::default()));
        let none = read_home("[api]\ntool_choice = \"none\"").unwrap();
        assert_eq!(none.no_tool_calls, Some(true));
    }

    #[test]
    fn what_may_restrict_is_not_passed_over() {
        let table = [
            ("no_tools_calls = true", "did you mean `no_tool_calls`?"),
            ("fule = 3", "did you mean `fuel`?"),
            ("[tool]\nexclude = [\"x\"]", "did you mean `tools.exclude`?"),
            ("[tools]\nexcludes = [\"x\"]", "did you mean `tools.exclude`?"),
            (
                "[tools]\nonly_on_sundays = true",
                "becket does not know `tools.only_on_sundays`",
            ),
            (
                "[tools]\nexclude_categories = [\"shel\"]",
                "did you mean `shell`?",
            ),
            ("[tools]\nexclude = \"x\"", "line 2: "),
            ("[api]\ntool_choice = \"required\"", "`required`"),
        ];
        for (text, words) in table {
            let error = read_home(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        let tiers = "[tools.tiers]\n\"/tools\" = 1";
        assert!(read_home(tiers).is_ok());
        let error = read_settings(tiers, SettingsOf::Context).unwrap_err();
        assert!(
            error.contains("`tools.tiers` counts in the home's config.toml alone"),
            "{error}"
        );
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
    fn rules_about_addresses_are_read() {
        let text = "[url_policy]\ndeny = [\"preset:loopback\"]\nallow_override = [\"http://localhost:*\"]\n";
        let rules = UrlRules {
            deny: vec!["preset:loopback".into()],
            allow_override: vec!["http://localhost:*".into()],
            ..UrlRules::default()
        };
        assert_eq!(rules.default, UrlAction::Allow);
        assert_eq!(read_home(text).unwrap().url_policy, Some(rules));
        for wrong in [
            "[url_policy]\nblock = []",
            "[url_policy]\ndefault = \"maybe\"",
            "url_policy = 1",
        ] {
            assert!(read_home(wrong).is_err(), "{wrong}");
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
            let error = read_home(text).unwrap_err();
            assert!(error.contains(words), "{text:?}: {error}");
        }
    }
}
