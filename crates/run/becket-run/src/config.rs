//! The user's settings: `config.toml`. The doc comments are the reference: `docs/config.md` is made from them.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use becket_agent::Rules;
use becket_agent::url_policy::{UrlVerdict, check_rule};
use becket_events::Fallback;
use becket_hooks::{
    HookEntry, MAX_SECONDS, OwnHook, Section, SettingsError, check_seconds, read_hooks, read_toml,
    read_toml_with,
};
use becket_providers::{Price, ProviderEntry};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use crate::rule_spelling;
use crate::sandbox_profile::SandboxProfile;

/// The user's settings. Tables about guests stand beside these and are read by their hosts; unknown keys are found for
/// all of them together.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// The default model, as `provider/name`.
    pub model: Option<String>,
    /// Names of plugins, extensions and Scheme files not to load. A guard you leave out no longer protects you, so
    /// becket names it at every start. A project's settings cannot set this.
    pub without: Vec<String>,
    /// Providers by name. Add new ones, or override built-in ones.
    pub providers: BTreeMap<String, ProviderEntry>,
    /// Model prices by `provider/name`, in US dollars per million tokens. They override the built-in prices, which
    /// `becket models` shows.
    pub prices: BTreeMap<String, Price>,
    /// How the agent works.
    pub agent: AgentConfig,
    /// When and how a conversation is summarised.
    pub compaction: CompactionConfig,
    /// How the chat behaves.
    pub chat: ChatConfig,
    /// What the model may use.
    pub tools: ToolsConfig,
    /// Cached tool outputs, which were too large for the model.
    pub cache: CacheConfig,
    /// What sub-agents may do.
    pub subagents: SubagentsConfig,
    /// Named sets of parameters that a model may choose for a sub-agent.
    pub presets: BTreeMap<String, PresetConfig>,
    /// What may run without asking you.
    pub permissions: PermissionsConfig,
    /// What the model's commands may touch, enforced by the kernel.
    pub sandbox: SandboxConfig,
    /// Which web addresses may be fetched. Without a policy, becket asks.
    pub url_policy: Option<UrlPolicyConfig>,
    /// Checkpoints of the working directory, for `becket undo`.
    pub snapshots: SnapshotsConfig,
    /// Spans for an OpenTelemetry collector.
    pub otel: OtelConfig,
    /// How hooks are run.
    pub hooks: HooksConfig,
    /// Hooks that apply to every run.
    #[schemars(with = "Vec<HookEntry>")]
    pub hook: Vec<Spanned<HookEntry>>,
}

/// What the model's commands may touch, enforced by the kernel.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxConfig {
    /// What commands may write: nothing (`read-only`), the project and temporary folders (`workspace`; with
    /// `workspace+network` they also reach the web addresses that you allow), or whatever you may (`off`); default:
    /// off. `--sandbox` overrides it.
    pub shell: Option<SandboxProfile>,
    /// Whether to refuse to run if the kernel cannot enforce the whole profile. With false, becket says at the start
    /// what is missing; default: false.
    pub require: bool,
    /// More folders that commands may write in `workspace`.
    pub writable: Vec<PathBuf>,
    /// More files and folders that commands can neither read nor write.
    pub hidden: Vec<PathBuf>,
}

/// How hooks are run.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HooksConfig {
    /// The `jq` that hooks run. `quick`: becket's own jq handles what every jq handles in the same way, the machine's
    /// jq everything else; `system`: the machine's jq handles everything; default: `quick`.
    pub jq: JqChoice,
}

/// The `jq` that hooks find.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JqChoice {
    /// becket's own goes first.
    #[default]
    Quick,
    /// The machine's, if there is one.
    System,
}

/// How the agent works.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentConfig {
    /// The system prompt; default: becket's own.
    pub instructions: Option<String>,
    /// The most model requests per prompt. At a terminal there is no limit unless you set one; when it is reached,
    /// becket asks whether to continue; default: 1000.
    pub max_requests: Option<NonZeroU32>,
    /// Old name of `max_requests`, which wins if both are set.
    pub max_iterations: Option<NonZeroU32>,
    /// Maximum rounds of tool calls per prompt; 0 means no limit; default: 0.
    pub fuel: Option<u32>,
    /// The most that one run may cost, in US dollars, sub-agents included. When it is used up, becket asks at a
    /// terminal whether to continue, and otherwise ends the run; default: no limit.
    #[schemars(with = "Option<f64>")]
    pub budget: Option<Dollars>,
    /// The fuel that an empty answer costs; a round of tools costs 1; default: 15.
    pub fuel_empty_response_cost: Option<u32>,
    /// Who goes next after an answer: you (`call_user`) or the model again (`call_agent`); default: `call_user`.
    pub fallback: Option<Fallback>,
    /// Offer the tool `call_user`, which ends the turn, even though a plain answer also ends it; default: false.
    pub call_user: bool,
    /// Whether the model may keep notes about itself that it sees in all contexts; default: true.
    pub reflection: Option<bool>,
    /// How often to retry a failed request or an answer that broke off; three times as often when rate-limited;
    /// default: 3.
    pub max_retries: Option<u32>,
    /// How long a provider may send nothing, in seconds, before or during an answer; at most 30 days. For a model on
    /// this machine the default is 600; default: 120.
    #[schemars(with = "Option<u64>")]
    pub idle_timeout: Option<Spanned<u64>>,
    /// The sampling temperature; default: the provider's.
    pub temperature: Option<f64>,
    /// The longest answer, in tokens; default: the provider's.
    pub max_tokens: Option<u64>,
}

/// When and how a conversation is summarised.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CompactionConfig {
    /// Whether to summarise older messages when the model's context window is almost full; default: true.
    pub auto: Option<bool>,
    /// Summarise older messages when the context window is this full, in percent; default: 80.
    #[schemars(with = "Option<u8>")]
    pub at_percent: Option<Percent>,
    /// Percentage of messages to summarise, oldest first; default: 50.
    #[schemars(with = "Option<u8>")]
    pub drop_percent: Option<Percent>,
    /// The context window, in tokens, of models that are not in `context_windows`; default: what is known about the
    /// model, and otherwise 128000.
    pub context_window: Option<NonZeroU64>,
    /// The context windows of models, in tokens, by `provider/name`.
    pub context_windows: BTreeMap<String, NonZeroU64>,
    /// The instructions for the summary; default: becket's own.
    pub prompt: Option<String>,
}

/// How the chat behaves.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChatConfig {
    /// Ring the terminal bell when work took longer than this, or a question about a call has waited that long, in
    /// seconds; 0 for never; default: 20.
    pub bell_after: Option<u64>,
    /// How to notify the desktop when the bell rings. `auto`: only in terminals that are known to show notifications
    /// (iTerm2, WezTerm, Ghostty, kitty, foot, rxvt-unicode); `osc9` or `osc777`: with that sequence, in any terminal;
    /// `none`: not at all; default: auto.
    pub notification: Notification,
}

/// How the chat notifies the desktop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Notification {
    /// With the sequence that the terminal is known to have.
    #[default]
    Auto,
    /// With OSC 9.
    Osc9,
    /// With OSC 777.
    Osc777,
    /// Not at all.
    None,
}

impl ChatConfig {
    /// After how long the end of work, or a question that waits, rings the bell; `None` for never.
    pub fn bell_after(&self) -> Option<Duration> {
        let seconds = self.bell_after.unwrap_or(20);
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }
}

/// A share from 1 to 100.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "u64")]
pub struct Percent(pub u8);

impl TryFrom<u64> for Percent {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        let percent = u8::try_from(number)
            .ok()
            .filter(|percent| (1..=100).contains(percent));
        percent
            .map(Self)
            .ok_or_else(|| format!("{number} is no percentage from 1 to 100"))
    }
}

/// An amount of US dollars above zero.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Dollars(pub f64);

impl TryFrom<f64> for Dollars {
    type Error = String;

    fn try_from(amount: f64) -> Result<Self, String> {
        match amount.is_finite() && amount > 0.0 {
            true => Ok(Self(amount)),
            false => Err(format!("{amount} is no amount of dollars above 0, such as 2.50")),
        }
    }
}

impl FromStr for Dollars {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let amount: Result<f64, _> = text.trim().trim_start_matches('$').parse();
        amount
            .map_err(|_| format!("{text:?} is no amount of dollars, such as 2.50"))?
            .try_into()
    }
}

/// What the model may use. Guests read keys of their own in this table, so only the schema is strict.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ToolsConfig {
    /// The names by which the model knows the tools: `becket`, or the name of another agent, such as `claude-code`,
    /// `codex`, `copilot`, `cursor`, `gemini`, `chibi`, `docker-agent` or `pi`.
    pub profile: Option<String>,
    /// Outputs longer than this many bytes are cached, and the model gets a preview; default: 50000.
    pub output_limit: Option<usize>,
    /// Default timeout of commands, in seconds; at most 30 days; default: 120.
    #[schemars(with = "Option<u64>")]
    pub shell_timeout: Option<Spanned<u64>>,
    /// Provider key variables to pass to the model's commands, by name; default: none.
    pub pass_env: Vec<String>,
    /// The timeout of fetches that set none, in seconds; at most 30 days; default: 30.
    #[schemars(with = "Option<u64>")]
    pub fetch_timeout: Option<Spanned<u64>>,
    /// The most bytes of a page to read; default: 5242880.
    pub fetch_bytes: Option<NonZeroUsize>,
    /// The most redirects that a fetch follows; each is checked first; 0 for none; default: 10.
    pub fetch_redirects: Option<usize>,
    /// Plugin tools that use the network. A call is checked like a fetch of its `url` or `uri` argument; without one,
    /// like a fetch of an unknown address.
    pub network: Vec<String>,
}

/// Tool outputs that were put aside.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CacheConfig {
    /// After how many days cached outputs are removed; default: 7.
    pub max_age_days: Option<NonZeroU32>,
}

impl CacheConfig {
    /// How old outputs may get that were put aside, if the settings say so.
    pub fn max_age(&self) -> Option<Duration> {
        let days = self.max_age_days?.get();
        Some(Duration::from_secs(u64::from(days) * 24 * 60 * 60))
    }
}

/// Spans for a collector of OpenTelemetry.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OtelConfig {
    /// Whether every run sends its spans, as with `--otel`; default: false.
    pub enabled: bool,
    /// The address of the collector; default: http://127.0.0.1:4318.
    pub endpoint: Option<String>,
}

/// Checkpoints of the working directory.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SnapshotsConfig {
    /// Whether to take a checkpoint for each turn, and for each call that may change something; default: false.
    pub enabled: bool,
    /// Skip files larger than this many bytes, unless git tracks them; default: 10485760.
    pub max_file_bytes: Option<NonZeroU64>,
    /// After how many days checkpoints expire; default: 14.
    pub max_age_days: Option<NonZeroU32>,
    /// How long a checkpoint may take, in seconds, before the run continues without it; at most 86400; default: 30.
    #[schemars(with = "Option<u64>")]
    pub timeout: Option<Spanned<u64>>,
}

impl SnapshotsConfig {
    fn check(&self, text: &str, file: &Path) -> Result<(), SettingsError> {
        let wrong = |seconds: &&Spanned<u64>| !(1..=86_400).contains(seconds.get_ref());
        match self.timeout.as_ref().filter(wrong) {
            Some(seconds) => {
                let message = "`snapshots.timeout` is from 1 to 86400 seconds".to_string();
                Err(SettingsError::at(seconds.span().start, text, file, message))
            }
            None => Ok(()),
        }
    }
}

/// What sub-agents may do.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SubagentsConfig {
    /// How deep sub-agents may nest: 0 for none, 1 for one level; default: 2.
    pub max_depth: Option<u32>,
    /// The most sub-agents that one agent may run at the same time; default: 8.
    pub max_parallel: Option<NonZeroU32>,
    /// The most requests to the model that one sub-agent may cause; default: 50.
    pub max_turns: Option<NonZeroU32>,
    /// The most tokens that all sub-agents of one prompt may use together; default: no limit.
    pub token_budget: Option<NonZeroU64>,
}

/// A named set of parameters.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PresetConfig {
    /// The model, as `provider/name`.
    pub model: Option<String>,
    /// The sampling temperature; default: the provider's.
    #[schemars(with = "Option<f64>")]
    pub temperature: Option<Spanned<f64>>,
    /// The longest answer, in tokens; default: the provider's.
    pub max_tokens: Option<NonZeroU64>,
}

/// Who may do what without being asked.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionsConfig {
    /// Calls that never run, such as `shell:command=*sudo*`.
    #[schemars(with = "Vec<String>")]
    pub deny: Vec<Spanned<String>>,
    /// Calls that run without a question, such as `shell:command=git status*`.
    #[schemars(with = "Vec<String>")]
    pub allow: Vec<Spanned<String>>,
    /// Calls that need your approval, even if they only read.
    #[schemars(with = "Vec<String>")]
    pub ask: Vec<Spanned<String>>,
    /// Folders, besides the working directory, that may be read without asking.
    pub readable: Vec<PathBuf>,
    /// The file in which the rules stand, and its text.
    #[serde(skip)]
    #[schemars(skip)]
    source: (PathBuf, String),
}

/// Which addresses of the web may be fetched: the first list with a rule that matches decides, in the order below. A
/// rule is `preset:CLASS`, or a glob for the whole address.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UrlPolicyConfig {
    /// Addresses that are always denied, even if another list or the policy of a context allows them.
    #[schemars(with = "Vec<String>")]
    pub deny_override: Vec<Spanned<String>>,
    /// Addresses that are allowed, even if they are in `deny`.
    #[schemars(with = "Vec<String>")]
    pub allow_override: Vec<Spanned<String>>,
    /// Addresses that are denied, such as `preset:private_network` or `https://*.example.com/*`.
    #[schemars(with = "Vec<String>")]
    pub deny: Vec<Spanned<String>>,
    /// Addresses that are allowed without a question.
    #[schemars(with = "Vec<String>")]
    pub allow: Vec<Spanned<String>>,
    /// What to do with any other address: `ask`, `allow` or `deny`; default: `ask`.
    pub default: UrlDefault,
}

/// What counts for addresses that no rule matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UrlDefault {
    /// The user is asked, as without a policy.
    #[default]
    Ask,
    /// All other addresses are allowed.
    Allow,
    /// All other addresses are denied.
    Deny,
}

impl UrlPolicyConfig {
    /// Checks that every rule can be understood.
    fn check(&self, text: &str, file: &Path) -> Result<(), SettingsError> {
        let lists = [
            ("deny_override", &self.deny_override, UrlVerdict::Deny),
            ("allow_override", &self.allow_override, UrlVerdict::Allow),
            ("deny", &self.deny, UrlVerdict::Deny),
            ("allow", &self.allow, UrlVerdict::Allow),
        ];
        for (list, rules, verdict) in lists {
            for rule in rules {
                check_rule(rule.get_ref(), verdict).map_err(|message| {
                    SettingsError::at(
                        rule.span().start,
                        text,
                        file,
                        format!("url_policy.{list}: {message}"),
                    )
                })?;
            }
        }
        Ok(())
    }
}

/// A project's own settings: `becket.toml`. They count once they are trusted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectConfig {
    /// Hooks of the project.
    #[schemars(with = "Vec<HookEntry>")]
    pub hook: Vec<Spanned<HookEntry>>,
    /// What may run without asking you.
    pub permissions: PermissionsConfig,
}

impl Config {
    /// Reads the settings with their hooks.
    pub fn read(
        text: &str,
        file: &Path,
        sections: &[Section],
    ) -> Result<(Self, Vec<OwnHook>), SettingsError> {
        let mut config: Self = read_toml_with(text, file, sections)?;
        let hooks = read_hooks(std::mem::take(&mut config.hook), text, file)?;
        for (key, seconds) in [
            ("agent.idle_timeout", &config.agent.idle_timeout),
            ("tools.shell_timeout", &config.tools.shell_timeout),
        ] {
            if let Some(seconds) = seconds
                .as_ref()
                .filter(|seconds| *seconds.get_ref() > MAX_SECONDS)
            {
                let message = format!("`{key}` is at most {MAX_SECONDS} seconds, which are 30 days");
                return Err(SettingsError::at(seconds.span().start, text, file, message));
            }
        }
        check_seconds(
            "tools.fetch_timeout",
            config.tools.fetch_timeout.as_ref(),
            text,
            file,
        )?;
        for (name, preset) in &config.presets {
            let wrong = |degree: &&Spanned<f64>| !degree.get_ref().is_finite() || *degree.get_ref() < 0.0;
            if let Some(degree) = preset.temperature.as_ref().filter(wrong) {
                let message = format!("`presets.{name}.temperature` is a number from 0 on");
                return Err(SettingsError::at(degree.span().start, text, file, message));
            }
        }
        config.permissions.check(text, file)?;
        if let Some(policy) = &config.url_policy {
            policy.check(text, file)?;
        }
        config.snapshots.check(text, file)?;
        Ok((config, hooks))
    }
}

impl PermissionsConfig {
    /// The lists `deny`, `allow` and `ask`, by name.
    pub fn lists(&self) -> [(&'static str, &[Spanned<String>]); 3] {
        [("deny", &self.deny), ("allow", &self.allow), ("ask", &self.ask)]
    }

    /// Where a rule stands: its file and line.
    pub fn place(&self, rule: &Spanned<String>) -> String {
        let (file, text) = &self.source;
        let place = SettingsError::at(rule.span().start, text, file, String::new());
        format!("{}:{}", place.file.display(), place.line)
    }

    /// Checks that every rule can be understood, and stores where the rules stand.
    fn check(&mut self, text: &str, file: &Path) -> Result<(), SettingsError> {
        self.source = (file.to_path_buf(), text.to_owned());
        for (list, rules) in self.lists() {
            for rule in rules {
                let rule_alone = [rule.get_ref().clone()];
                if let Some(trouble) = rule_spelling::trouble(rule.get_ref()) {
                    let message = format!("permissions.{list}: {trouble}");
                    return Err(SettingsError::at(rule.span().start, text, file, message));
                }
                let parsed = match list {
                    "allow" => Rules::parse(&[], &rule_alone, &[]),
                    _ => Rules::parse(&rule_alone, &[], &[]),
                };
                parsed.map_err(|message| {
                    SettingsError::at(
                        rule.span().start,
                        text,
                        file,
                        format!("permissions.{list}: {message}"),
                    )
                })?;
            }
        }
        Ok(())
    }
}

impl ProjectConfig {
    /// Reads a project's settings with their hooks.
    pub fn read(text: &str, file: &Path) -> Result<(Self, Vec<OwnHook>), SettingsError> {
        let mut config: Self = read_toml(text, file)?;
        let hooks = read_hooks(std::mem::take(&mut config.hook), text, file)?;
        config.permissions.check(text, file)?;
        Ok((config, hooks))
    }
}
