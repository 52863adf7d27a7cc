//! Decides which provider serves a model, by the model's name.
//!
//! The environment comes in as a function and the configuration as a value, so that the decision can be tested as a
//! table and only the binary reads either.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use becket_agent::Budget;
use becket_agent::provider::{Billing, Provider};
use schemars::JsonSchema;
use serde::Deserialize;
use url::{ParseError, Url};

use crate::api::Api;
use crate::http::{Endpoint, Timeouts, without_credentials};
use crate::openai::needs_responses;
use crate::prices::Prices;
use crate::rehearsal::{self, Rehearsal};
use crate::remote::Remote;
use crate::scripted::{self, Scripted};
use crate::secret::Secret;

/// The environment variables that hold keys. They must be left out of the environment of hooks and tools.
pub const KEY_VARIABLES: &[&str] = &[
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENROUTER_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "CEREBRAS_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "GROQ_API_KEY",
    "MINIMAX_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "XAI_API_KEY",
    "ZAI_API_KEY",
];

/// The configuration of providers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderSettings {
    /// The default model, as `provider/name`, if the command line names none.
    pub model: Option<String>,
    /// Providers by name: changes to known ones, and further ones.
    pub providers: BTreeMap<String, ProviderEntry>,
    /// Names of providers that others serve; used only in messages.
    pub served_elsewhere: Vec<String>,
    /// Whether there is no rehearsal where no model is named and no provider has a key.
    pub needs_model: bool,
    /// Whether known providers need a key at other addresses than their usual ones, too.
    pub needs_key: bool,
    /// How long to wait for a provider.
    pub timeouts: Timeouts,
    /// The budget that pays for all answers.
    pub budget: Option<Budget>,
    /// The prices by which further budgets count.
    pub prices: Prices,
}

impl ProviderSettings {
    /// The provider under the budget, if there is one.
    pub fn paid(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        match &self.budget {
            Some(budget) => budget.over(provider),
            None => provider,
        }
    }
}

/// The configuration of one provider, which overrides the environment. The `Debug` output holds no credentials.
#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderEntry {
    /// The provider's API; default: `openai`, and `responses` for those of OpenAI's own models that need it.
    pub api: Option<Api>,
    /// The API's base URL.
    pub base_url: Option<String>,
    /// The key itself.
    #[schemars(with = "Option<String>")]
    pub key: Option<Secret>,
    /// The environment variable that holds the key.
    pub key_variable: Option<String>,
    /// The default model of the provider.
    pub model: Option<String>,
    /// Extra headers for every request.
    #[schemars(with = "BTreeMap<String, String>")]
    pub headers: BTreeMap<String, Secret>,
}

impl fmt::Debug for ProviderEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |text: &String| {
            Url::parse(text).map_or_else(|_| "***".to_owned(), |url| without_credentials(&url))
        };
        formatter
            .debug_struct("ProviderEntry")
            .field("api", &self.api)
            .field("base_url", &self.base_url.as_ref().map(plain))
            .field("key", &self.key)
            .field("key_variable", &self.key_variable)
            .field("model", &self.model)
            .field("headers", &self.headers)
            .finish()
    }
}

/// Why no provider could be chosen.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SelectError {
    /// No provider has that name.
    #[error("{0}")]
    UnknownProvider(String),
    /// The model's name is missing.
    #[error("{0}")]
    NoModel(String),
    /// The provider needs a key.
    #[error("{0}")]
    NoKey(String),
    /// The address is not valid.
    #[error("{0}")]
    BadAddress(String),
    /// The script of a scripted model cannot be used.
    #[error("{0}")]
    Script(String),
}

/// A provider that is known without configuration.
struct Known {
    name: &'static str,
    api: Api,
    base_url: &'static str,
    base_variable: &'static str,
    /// The variables that may hold its key, the first one first.
    key_variables: &'static [&'static str],
    default_model: Option<&'static str>,
    billing: Billing,
}

/// The known providers, in the order in which they are tried when no model is named; none without a usual model is.
// tidy: a table
const KNOWN: &[Known] = &[
    Known {
        name: OPENAI,
        api: Api::OpenAi,
        base_url: "https://api.openai.com/v1",
        base_variable: "OPENAI_BASE_URL",
        key_variables: &["OPENAI_API_KEY"],
        default_model: Some("gpt-4.1"),
        billing: Billing::ByTokens,
    },
    Known {
        name: "anthropic",
        api: Api::Anthropic,
        base_url: "https://api.anthropic.com",
        base_variable: "ANTHROPIC_BASE_URL",
        key_variables: &["ANTHROPIC_API_KEY"],
        default_model: Some("claude-sonnet-4-5"),
        billing: Billing::ByTokens,
    },
    Known {
        name: "openrouter",
        api: Api::OpenAi,
        base_url: "https://openrouter.ai/api/v1",
        base_variable: "OPENROUTER_BASE_URL",
        key_variables: &["OPENROUTER_API_KEY"],
        default_model: Some("openrouter/auto"),
        billing: Billing::Named,
    },
    Known {
        name: "gemini",
        api: Api::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        base_variable: "GEMINI_BASE_URL",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        default_model: Some("gemini-3.5-flash"),
        billing: Billing::ByTokens,
    },
    Known {
        name: OLLAMA,
        api: Api::OpenAi,
        base_url: "http://127.0.0.1:11434/v1",
        base_variable: "OLLAMA_HOST",
        key_variables: &[],
        default_model: None,
        billing: Billing::Nothing,
    },
    // Other agents have this name for Gemini.
    Known {
        name: "google",
        api: Api::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        base_variable: "GEMINI_BASE_URL",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        default_model: None,
        billing: Billing::ByTokens,
    },
    service(
        "cerebras",
        "https://api.cerebras.ai/v1",
        "CEREBRAS_BASE_URL",
        &["CEREBRAS_API_KEY"],
    ),
    service(
        "deepseek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_BASE_URL",
        &["DEEPSEEK_API_KEY"],
    ),
    service(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_BASE_URL",
        &["FIREWORKS_API_KEY"],
    ),
    service(
        "groq",
        "https://api.groq.com/openai/v1",
        "GROQ_BASE_URL",
        &["GROQ_API_KEY"],
    ),
    service(
        "minimax",
        "https://api.minimax.io/v1",
        "MINIMAX_BASE_URL",
        &["MINIMAX_API_KEY"],
    ),
    service(
        "mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_BASE_URL",
        &["MISTRAL_API_KEY"],
    ),
    service(
        "moonshotai",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_BASE_URL",
        &["MOONSHOT_API_KEY"],
    ),
    service("xai", "https://api.x.ai/v1", "XAI_BASE_URL", &["XAI_API_KEY"]),
    service(
        "zai",
        "https://api.z.ai/api/coding/paas/v4",
        "ZAI_BASE_URL",
        &["ZAI_API_KEY"],
    ),
];

/// A provider with OpenAI's chat completions, and with no model that is its usual one.
const fn service(
    name: &'static str,
    base_url: &'static str,
    base_variable: &'static str,
    key_variables: &'static [&'static str],
) -> Known {
    Known {
        name,
        api: Api::OpenAi,
        base_url,
        base_variable,
        key_variables,
        default_model: None,
        billing: Billing::ByTokens,
    }
}

const OLLAMA: &str = "ollama";

/// The provider whose models need one interface or the other.
const OPENAI: &str = "openai";

/// Prefixes of model names, and the provider whose models have them.
const FAMILIES: &[(&str, &str)] = &[
    ("claude-", "anthropic"),
    ("gemini-", "gemini"),
    ("gpt-", OPENAI),
    ("chatgpt-", OPENAI),
    ("codex-", OPENAI),
    ("o1", OPENAI),
    ("o3", OPENAI),
    ("o4-", OPENAI),
];

/// All environment variables that may hold a key, including those that the configuration names.
pub fn key_variables(settings: &ProviderSettings) -> Vec<String> {
    let configured = settings
        .providers
        .values()
        .filter_map(|entry| entry.key_variable.clone());
    KEY_VARIABLES
        .iter()
        .map(|name| (*name).to_owned())
        .chain(configured)
        .collect()
}

/// The provider for a model's name, or for no name: the configured model, else the first provider that has a key,
/// else the rehearsal.
///
/// Names are `provider/name`; `rehearsal`; `scripted/FILE`; a provider alone for its usual model; or the plain name
/// of a model whose family is known.
pub fn select(
    model: Option<&str>,
    environment: &dyn Fn(&str) -> Option<String>,
    settings: &ProviderSettings,
) -> Result<Arc<dyn Provider>, SelectError> {
    let choice = Choice {
        environment,
        settings,
    };
    let named = model
        .or(settings.model.as_deref())
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let selected = match named {
        Some(name) => choice.named(name),
        None => choice.unnamed(),
    };
    Ok(settings.paid(selected?))
}

/// The address of a provider, by configuration and environment; `None` for an unknown one.
pub fn address(
    provider: &str,
    environment: &dyn Fn(&str) -> Option<String>,
    settings: &ProviderSettings,
) -> Option<Url> {
    let choice = Choice {
        environment,
        settings,
    };
    choice.base_url(provider).ok()
}

/// The names of the providers that can be asked over the network: the known ones and those of the configuration.
pub fn provider_names(settings: &ProviderSettings) -> BTreeSet<String> {
    let known = KNOWN.iter().map(|known| known.name.to_owned());
    known.chain(settings.providers.keys().cloned()).collect()
}

/// The interface that a provider speaks for a model. Models without a network take requests in OpenAI's form.
pub fn api(provider: &str, model: &str, settings: &ProviderSettings) -> Api {
    let choice = Choice {
        environment: &|_| None,
        settings,
    };
    choice.api(provider, model)
}

/// Whether there is a key for a provider, by configuration or environment.
pub fn has_key(
    provider: &str,
    environment: &dyn Fn(&str) -> Option<String>,
    settings: &ProviderSettings,
) -> bool {
    let choice = Choice {
        environment,
        settings,
    };
    choice.key(provider).is_some()
}

/// Where the key and the address of a provider come from, in words for a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins {
    /// Where the key comes from, if there is one.
    pub key: Option<String>,
    /// The variable that holds the key, or would; `None` for a provider without keys.
    pub key_variable: Option<String>,
    /// Where the address comes from.
    pub address: String,
}

/// Where the key and the address of a provider come from.
pub fn origins(
    provider: &str,
    environment: &dyn Fn(&str) -> Option<String>,
    settings: &ProviderSettings,
) -> Origins {
    let choice = Choice {
        environment,
        settings,
    };
    let entry = choice.entry(provider);
    let written = entry.and_then(|entry| entry.key.as_ref());
    let key_variable = choice.key_variable(provider).map(str::to_owned);
    let of_variable = key_variable
        .clone()
        .filter(|name| choice.variable(name).is_some());
    let key = match written.filter(|key| !key.is_empty()) {
        Some(_) => Some(format!("providers.{provider}.key")),
        None => of_variable,
    };
    let base_variable = known(provider).map(|known| known.base_variable);
    let base_variable = base_variable.filter(|name| choice.variable(name).is_some());
    let address = match (entry.and_then(|entry| entry.base_url.as_ref()), base_variable) {
        (Some(_), _) => format!("providers.{provider}.base_url"),
        (None, Some(variable)) => variable.to_owned(),
        (None, None) => "default".to_owned(),
    };
    Origins {
        key,
        key_variable,
        address,
    }
}

struct Choice<'a> {
    environment: &'a dyn Fn(&str) -> Option<String>,
    settings: &'a ProviderSettings,
}

impl Choice<'_> {
    fn named(&self, name: &str) -> Result<Arc<dyn Provider>, SelectError> {
        let (provider, model) = match name.split_once('/') {
            Some((provider, model)) => (provider, Some(model).filter(|model| !model.is_empty())),
            None if self.is_provider(name) => (name, None),
            None => (self.family(name)?, Some(name)),
        };
        match (provider, model) {
            (rehearsal::NAME, _) => Ok(Arc::new(Rehearsal::new())),
            (scripted::NAME, Some(file)) => {
                let script = Scripted::load(Path::new(file))
                    .map_err(|error| SelectError::Script(error.to_string()))?;
                Ok(Arc::new(script))
            }
            (scripted::NAME, None) => {
                let message = "A scripted model needs its file. Write it as scripted/FILE".to_owned();
                Err(SelectError::NoModel(message))
            }
            _ if self.is_provider(provider) => self.connect(provider, model),
            _ => Err(self.unknown(provider, name)),
        }
    }

    fn unnamed(&self) -> Result<Arc<dyn Provider>, SelectError> {
        let with_key = KNOWN
            .iter()
            .find(|known| self.default_model(known.name).is_some() && self.key(known.name).is_some());
        match with_key {
            Some(known) => self.connect(known.name, None),
            None if self.settings.needs_model => Err(SelectError::NoModel(
                "No model is connected: none is named, and no provider has a key. Set OPENAI_API_KEY, \
                 ANTHROPIC_API_KEY, OPENROUTER_API_KEY or GEMINI_API_KEY, or name a model with --model"
                    .to_owned(),
            )),
            None => Ok(Arc::new(Rehearsal::new())),
        }
    }

    fn connect(&self, provider: &str, model: Option<&str>) -> Result<Arc<dyn Provider>, SelectError> {
        let model = model
            .map(str::to_owned)
            .or_else(|| self.default_model(provider))
            .ok_or_else(|| {
                SelectError::NoModel(format!(
                    "No model of {provider} is named. Write it as {provider}/NAME"
                ))
            })?;
        let endpoint = Endpoint {
            provider: provider.to_owned(),
            model,
            base_url: self.base_url(provider)?,
            key: self.key(provider),
            headers: self
                .entry(provider)
                .map(|entry| entry.headers.clone())
                .unwrap_or_default(),
            timeouts: self.settings.timeouts,
        };
        if endpoint.key.is_none() {
            self.demand_key(provider, &endpoint.base_url)?;
        }
        let api = self.api(provider, &endpoint.model);
        let billing = known(provider).map_or(Billing::ByTokens, |known| known.billing);
        Ok(Arc::new(Remote::new(api, endpoint).billed(billing)))
    }

    fn entry(&self, provider: &str) -> Option<&ProviderEntry> {
        self.settings.providers.get(provider)
    }

    fn is_provider(&self, name: &str) -> bool {
        [rehearsal::NAME, scripted::NAME].contains(&name)
            || known(name).is_some()
            || self.entry(name).is_some()
    }

    fn api(&self, provider: &str, model: &str) -> Api {
        let configured = self.entry(provider).and_then(|entry| entry.api);
        configured.unwrap_or_else(|| match known(provider) {
            Some(known) if known.name == OPENAI && needs_responses(model) => Api::Responses,
            Some(known) => known.api,
            None => Api::OpenAi,
        })
    }

    fn default_model(&self, provider: &str) -> Option<String> {
        let configured = self.entry(provider).and_then(|entry| entry.model.clone());
        configured.or_else(|| known(provider)?.default_model.map(str::to_owned))
    }

    fn key(&self, provider: &str) -> Option<Secret> {
        let entry = self.entry(provider);
        let written = entry.and_then(|entry| entry.key.clone());
        written
            .filter(|key| !key.is_empty())
            .or_else(|| Some(Secret::new(self.variable(self.key_variable(provider)?)?)))
    }

    /// The environment variable that holds the key of a provider, or would hold it.
    fn key_variable(&self, provider: &str) -> Option<&str> {
        let configured = self
            .entry(provider)
            .and_then(|entry| entry.key_variable.as_deref());
        configured.or_else(|| {
            let usual = known(provider)?.key_variables;
            let held = usual.iter().find(|name| self.variable(name).is_some());
            held.or(usual.first()).copied()
        })
    }

    /// An environment variable; an empty one counts as missing.
    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.trim().is_empty())
    }

    fn base_url(&self, provider: &str) -> Result<Url, SelectError> {
        let known = known(provider);
        let configured = self.entry(provider).and_then(|entry| entry.base_url.clone());
        let (text, place) = if let Some(text) = configured {
            (text, format!("base_url of {provider} in the configuration"))
        } else if let Some(known) = known {
            match self.variable(known.base_variable) {
                Some(host) if provider == OLLAMA => (ollama_url(host.trim()), known.base_variable.to_owned()),
                Some(text) => (text, known.base_variable.to_owned()),
                None => (known.base_url.to_owned(), known.name.to_owned()),
            }
        } else {
            let message = format!("The provider {provider} has no base_url in the configuration. Add one");
            return Err(SelectError::BadAddress(message));
        };
        let bad = |why: &str| {
            let message = format!("{place} cannot be used: {why}. Write it as https://HOST/PATH");
            SelectError::BadAddress(message)
        };
        match Url::parse(text.trim()) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
            Ok(_) | Err(ParseError::RelativeUrlWithoutBase) => {
                Err(bad("it must begin with http:// or https://"))
            }
            Err(error) => Err(bad(&error.to_string())),
        }
    }

    /// Checks that there is a key for the usual address; the user's own server may need none.
    fn demand_key(&self, provider: &str, base_url: &Url) -> Result<(), SelectError> {
        let Some(known) = known(provider) else {
            return Ok(());
        };
        let Some(variable) = known.key_variables.first() else {
            return Ok(());
        };
        let is_usual = without_credentials(base_url).trim_end_matches('/') == known.base_url;
        if !is_usual && !self.settings.needs_key {
            return Ok(());
        }
        let configured = self
            .entry(provider)
            .and_then(|entry| entry.key_variable.as_deref());
        let variable = configured.unwrap_or(variable);
        Err(SelectError::NoKey(format!(
            "{provider} needs a key. Set {variable}, or use another model: `rehearsal` needs none, `ollama/NAME` runs \
             on this machine"
        )))
    }

    fn family(&self, name: &str) -> Result<&'static str, SelectError> {
        let family = FAMILIES.iter().find(|(beginning, _)| name.starts_with(beginning));
        family.map(|(_, provider)| *provider).ok_or_else(|| {
            let likely = self.similar(name);
            let suggestion = likely.map(|found| format!(" Did you mean {found}?")).unwrap_or_default();
            SelectError::UnknownProvider(format!(
                "It is not clear whose model {name} is. Write it as provider/{name}, such as ollama/{name}.{suggestion}"
            ))
        })
    }

    fn unknown(&self, provider: &str, name: &str) -> SelectError {
        let suggestion = match self.similar(provider) {
            Some(found) => format!("Did you mean {found}?"),
            None => format!("Models of OpenRouter are written as openrouter/{name}"),
        };
        SelectError::UnknownProvider(format!(
            "There is no provider {provider}; known are {}. {suggestion}",
            self.names().join(", ")
        ))
    }

    fn names(&self) -> Vec<&str> {
        let known = KNOWN.iter().map(|known| known.name);
        let embedded = [rehearsal::NAME, scripted::NAME];
        let own = self
            .settings
            .providers
            .keys()
            .map(String::as_str)
            .filter(|name| self::known(name).is_none());
        let others = self.settings.served_elsewhere.iter().map(String::as_str);
        known.chain(embedded).chain(own).chain(others).collect()
    }

    fn similar(&self, name: &str) -> Option<&str> {
        let scored = self
            .names()
            .into_iter()
            .map(|known| (strsim::jaro_winkler(known, name), known));
        let best = scored.max_by(|one, two| one.0.total_cmp(&two.0))?;
        (best.0 > 0.85).then_some(best.1)
    }
}

fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

/// The URL for Ollama's own notation of an address: scheme and port may be missing, and the address at which a server
/// listens everywhere means this machine.
fn ollama_url(host: &str) -> String {
    let (scheme, rest, default_port) = match host.split_once("://") {
        Some((scheme, rest)) => (scheme, rest, None),
        None => ("http", host, Some(11434)),
    };
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(name, port)| (!name.contains(':') || name.ends_with(']')) && !port.is_empty());
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if has_port => (name, Some(port.to_owned())),
        _ => (
            authority.trim_end_matches(':'),
            default_port.map(|port: u16| port.to_string()),
        ),
    };
    let name = match name {
        "" | "0.0.0.0" | "[::]" => "127.0.0.1",
        _ => name,
    };
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let path = match path.trim_end_matches('/') {
        "" => "/v1",
        path => path,
    };
    format!("{scheme}://{name}{port}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_hosts_are_read_as_ollama_reads_them() {
        let table = [
            ("127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:9000", "http://127.0.0.1:9000/v1"),
            (":9000", "http://127.0.0.1:9000/v1"),
            ("box", "http://box:11434/v1"),
            ("http://box:1234/", "http://box:1234/v1"),
            ("https://box", "https://box/v1"),
            ("[::1]:7", "http://[::1]:7/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
            ("http://box/ollama/v1", "http://box/ollama/v1"),
        ];
        for (host, url) in table {
            assert_eq!(ollama_url(host), url, "{host}");
        }
    }

    #[test]
    fn every_known_key_variable_is_listed() {
        for variable in KNOWN.iter().flat_map(|known| known.key_variables) {
            assert!(KEY_VARIABLES.contains(variable), "{variable}");
        }
    }
}
