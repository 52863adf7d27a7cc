//! The keys of an agent file as it is written, and how becket treats those that it does not serve.
//!
//! A key without effect is refused if it restricts: without it the agent could do more than its author meant. Any other
//! key is left out with a remark, since the agent can be run without it.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use becket_dialect_kit::yaml::{Spanned, line_of};
use becket_providers::{Price, amount};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::super::HooksConfig;
use super::Permissions;

/// A key that docker-agent knows and becket does not serve.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unserved {
    pub(super) key: &'static str,
    /// The line in which the key's value begins.
    pub(super) line: usize,
    /// The consequence, or a suggestion.
    pub(super) advice: &'static str,
    /// Whether the key restricts, so that the file is not run without it.
    pub(super) refused: bool,
}

/// Declares a table of the file: its keys; those without effect, each with what happens instead; and those that
/// restrict and are not served, each with a suggestion.
macro_rules! keys {
    (
        $(#[$meta:meta])*
        $name:ident { $($(#[$about:meta])* $key:ident: $type:ty,)* }
        idle { $($idle:ident: $instead:literal,)* }
        refused { $($refused:ident: $advice:expr,)* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(super) struct $name {
            $($(#[$about])* pub(super) $key: $type,)*
            $(pub(super) $idle: Option<Spanned<IgnoredAny>>,)*
            $(pub(super) $refused: Option<Spanned<IgnoredAny>>,)*
        }

        impl Table for $name {
            const KEYS: &'static [&'static str] =
                &[$(stringify!($key),)* $(stringify!($idle),)* $(stringify!($refused),)*];
        }

        impl $name {
            /// The keys of this table that are not served.
            pub(super) fn unserved(&self) -> Vec<Unserved> {
                let all: [(&'static str, &Option<Spanned<IgnoredAny>>, &'static str, bool); _] = [
                    $((stringify!($idle), &self.$idle, $instead, false),)*
                    $((stringify!($refused), &self.$refused, $advice, true),)*
                ];
                let there = all.into_iter().filter_map(|(key, value, advice, refused)| {
                    let line = line_of(value.as_ref()?);
                    Some(Unserved { key, line, advice, refused })
                });
                there.collect()
            }
        }
    };
}

/// A table whose keys are known.
pub(super) trait Table {
    /// The keys, as the code names them.
    const KEYS: &'static [&'static str];

    /// The keys as files write them.
    fn keys() -> impl Iterator<Item = &'static str> {
        Self::KEYS.iter().map(|key| key.trim_start_matches("r#"))
    }
}

/// A table that may have keys which becket does not know: whether that matters is decided later.
#[derive(Debug, Default)]
pub(super) struct Open<T> {
    pub(super) known: T,
    /// The keys that becket does not know.
    pub(super) unknown: Vec<Spanned<String>>,
}

impl<T> Deref for Open<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.known
    }
}

impl<'de, T: Deserialize<'de> + Table> Deserialize<'de> for Open<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tables<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Table> Visitor<'de> for Tables<T> {
            type Value = Open<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let mut unknown = Vec::new();
                let table = KnownKeys {
                    map,
                    is_known: |key| T::keys().any(|known| known == key),
                    unknown: &mut unknown,
                };
                let known = T::deserialize(MapAccessDeserializer::new(table))?;
                Ok(Open { known, unknown })
            }
        }
        deserializer.deserialize_map(Tables(PhantomData))
    }
}

/// The entries of a table whose keys are known; the other keys are put aside.
struct KnownKeys<'a, A> {
    map: A,
    is_known: fn(&str) -> bool,
    unknown: &'a mut Vec<Spanned<String>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for KnownKeys<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<Spanned<String>>()? {
            if (self.is_known)(&key.value) {
                return seed.deserialize(key.value.into_deserializer()).map(Some);
            }
            self.map.next_value::<IgnoredAny>()?;
            self.unknown.push(key);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

keys! {
    /// The whole file.
    WrittenFile {
        version: Option<Value>,
        metadata: WrittenMetadata,
        agents: Ordered<Spanned<WrittenAgent>>,
        models: Ordered<Spanned<WrittenModel>>,
        providers: Ordered<Spanned<WrittenProvider>>,
        mcps: Ordered<Spanned<AnyToolset>>,
        toolsets: Ordered<Spanned<AnyToolset>>,
        commands: Ordered<WrittenCommands>,
        permissions: Permissions,
        runtime: WrittenRuntime,
        budget: Option<Spanned<WrittenBudget>>,
        budgets: Ordered<Spanned<WrittenBudget>>,
    }
    idle {
        skills: "skills are not read",
        rag: "retrieval is not served; offer what it would find as files or through an MCP server",
        evaluators: "only hooks of the type evaluator ask them",
        flavors: "no flavor is chosen, so the file is run as it is written",
    }
    refused {}
}

/// How much may be spent.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenBudget {
    pub(super) max_cost: Option<f64>,
    pub(super) max_tokens: Option<u64>,
    pub(super) max_time: Option<String>,
}

/// How the file is meant to be run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenRuntime {
    pub(super) sandbox: Option<Spanned<bool>>,
    /// The hosts that a sandbox may reach.
    pub(super) network_allowlist: Option<Spanned<IgnoredAny>>,
    pub(super) safety: Option<Spanned<String>>,
}

/// A file's metadata, which has no effect.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenMetadata {
    author: Option<IgnoredAny>,
    license: Option<IgnoredAny>,
    readme: Option<IgnoredAny>,
    description: Option<IgnoredAny>,
    version: Option<IgnoredAny>,
    tags: Option<IgnoredAny>,
}

keys! {
    /// An agent.
    WrittenAgent {
        model: Option<Spanned<String>>,
        description: Option<String>,
        welcome_message: Option<String>,
        instruction: Option<Spanned<OneOrMore>>,
        instruction_file: Option<Spanned<OneOrMore>>,
        toolsets: Vec<Spanned<AnyToolset>>,
        use_toolsets: Vec<Spanned<String>>,
        sub_agents: Vec<Spanned<String>>,
        handoffs: Vec<Spanned<String>>,
        force_handoff: Option<Spanned<String>>,
        structured_output: Option<WrittenStructure>,
        tool_choice: Option<Spanned<String>>,
        safety: Option<Spanned<String>>,
        commands: WrittenCommands,
        use_commands: Vec<Spanned<String>>,
        readonly: bool,
        add_date: Option<Spanned<bool>>,
        add_environment_info: Option<Spanned<bool>>,
        add_prompt_files: Option<Spanned<Vec<String>>>,
        redact_secrets: Option<Spanned<bool>>,
        max_iterations: u32,
        max_consecutive_tool_calls: u32,
        budgets: Vec<Spanned<String>>,
        hooks: Option<HooksConfig>,
        /// As are the next three: a key of the first files, which had no toolsets for these.
        name: Option<Spanned<IgnoredAny>>,
        think: Option<Spanned<bool>>,
        todo: Option<Spanned<FirstTodo>>,
        memory: Option<Spanned<FirstMemory>>,
    }
    idle {
        num_history_items: "the whole conversation is sent, and summarised when it grows too long",
        fallback: "a model that fails is asked again, and no other",
        cache: "answers are not kept to be given again",
        skills: "skills are not read",
        use_skills: "skills are not read",
        add_description_parameter: "tools keep their own arguments",
        add_prompt_files_depth: "folders below the working directory are not searched",
        max_old_tool_call_tokens: "old outputs stay until the conversation is summarised",
        max_tool_result_tokens: "large outputs are put aside, with a preview (`tools.output_limit`)",
        session_compaction: "`compaction.auto` of the settings says so",
        compaction_threshold: "`compaction.at_percent` of the settings says so",
        compaction_model: "the agent's own model writes summaries",
        rag: "retrieval is not served; offer what it would find as files or through an MCP server",
        code_mode_tools: "tools are called one by one",
        harness: "other programs are not run; becket's own model and the agent's toolsets take its place",
        inject_memories: "the model asks for its memories",
        max_inject_memories: "the model asks for its memories",
        inject_memories_strategy: "the model asks for its memories",
        routing: "the agent answers itself",
    }
    refused {}
}

/// Whether an agent of the first files has a list of things to do.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum FirstTodo {
    Has(bool),
    Shared {
        #[serde(default)]
        shared: bool,
    },
}

/// Where an agent of the first files keeps what it remembers.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FirstMemory {
    pub(super) path: Option<String>,
}

impl WrittenModel {
    /// The model's provider, by today's key or by that of the first files.
    pub(super) fn provider(&self) -> Option<&str> {
        let first = || Some(self.r#type.as_ref()?.value.as_str());
        self.provider.as_deref().or_else(first)
    }
}

/// The form of an agent's answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenStructure {
    #[serde(default, rename = "name")]
    _name: Option<IgnoredAny>,
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(default, rename = "strict")]
    _strict: Option<IgnoredAny>,
    #[serde(default, rename = "mode")]
    _mode: Option<IgnoredAny>,
    pub(super) schema: Map<String, Value>,
}

keys! {
    /// A model.
    WrittenModel {
        provider: Option<String>,
        model: Option<String>,
        description: Option<IgnoredAny>,
        temperature: Option<f64>,
        max_tokens: Option<u64>,
        top_p: Option<f64>,
        frequency_penalty: Option<f64>,
        presence_penalty: Option<f64>,
        parallel_tool_calls: Option<bool>,
        base_url: Option<String>,
        token_key: Option<String>,
        thinking_budget: Option<Thinking>,
        cost: Option<WrittenCost>,
        first_available: Option<Vec<String>>,
        /// The provider, in the first files.
        r#type: Option<Spanned<String>>,
    }
    idle {
        provider_opts: "such options are not sent",
        track_usage: "usage is always counted",
        task_budget: "it is not sent",
        title_model: "conversations have no titles",
        compaction_model: "the agent's own model writes summaries",
        compaction_threshold: "`compaction.at_percent` of the settings says so",
        capabilities: "pictures are sent as they are",
        bypass_models_gateway: "there is no gateway",
        output_capabilities: "answers are text",
        routing: "the model itself is asked, and none of those that it names",
        auth: "a key comes from the variable that `token_key` names",
    }
    refused {}
}

/// What a model costs, in US dollars for a million tokens. What is absent costs nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenCost {
    #[serde(deserialize_with = "amount")]
    pub(super) input: f64,
    #[serde(deserialize_with = "amount")]
    pub(super) output: f64,
    #[serde(deserialize_with = "amount")]
    pub(super) cache_read: f64,
    #[serde(deserialize_with = "amount")]
    pub(super) cache_write: f64,
}

impl WrittenCost {
    /// The price in becket's terms.
    pub(super) fn price(&self) -> Price {
        Price {
            input: self.input,
            output: self.output,
            cache_read: Some(self.cache_read),
            cache_write: Some(self.cache_write),
        }
    }
}

/// How much a model thinks, by name or as a number of tokens.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Thinking {
    Tokens(i64),
    Level(String),
    Table {
        #[serde(default)]
        effort: Option<String>,
        #[serde(default)]
        tokens: Option<i64>,
    },
}

keys! {
    /// A provider, whose settings are the defaults of its models.
    WrittenProvider {
        provider: Option<String>,
        api_type: Option<Spanned<String>>,
        base_url: Option<String>,
        token_key: Option<String>,
        temperature: Option<f64>,
        max_tokens: Option<u64>,
        top_p: Option<f64>,
        frequency_penalty: Option<f64>,
        presence_penalty: Option<f64>,
        parallel_tool_calls: Option<bool>,
        thinking_budget: Option<Thinking>,
        headers: BTreeMap<String, String>,
        unload_api: Option<String>,
    }
    idle {
        provider_opts: "such options are not sent",
        track_usage: "usage is always counted",
        task_budget: "it is not sent",
        compaction_model: "the agent's own model writes summaries",
        auth: "a key comes from the variable that `token_key` names",
    }
    refused {}
}

/// A set of tools as a file has it: of a type that becket does not have, it may have any keys.
pub(super) type AnyToolset = Open<WrittenToolset>;

keys! {
    /// A set of tools. Its type decides which keys it may have.
    WrittenToolset {
        r#type: Option<Spanned<String>>,
        tools: Option<Vec<Spanned<String>>>,
        instruction: Option<String>,
        readonly: bool,
        name: Option<Spanned<String>>,
        r#ref: Option<Spanned<String>>,
        command: Option<Spanned<String>>,
        args: Option<Spanned<Vec<String>>>,
        remote: Option<Spanned<WrittenRemote>>,
        working_dir: Option<Spanned<String>>,
        env: Option<Spanned<BTreeMap<String, String>>>,
        shell: Option<Spanned<Ordered<Spanned<WrittenScript>>>>,
        path: Option<Spanned<String>>,
        timeout: Option<Spanned<u64>>,
        url: Option<Spanned<String>>,
        safer: Option<Spanned<bool>>,
        allow_list: Option<Spanned<Vec<String>>>,
        deny_list: Option<Spanned<Vec<String>>>,
        allowed_domains: Option<Spanned<Vec<String>>>,
        blocked_domains: Option<Spanned<Vec<String>>>,
        allow_private_ips: Option<Spanned<bool>>,
    }
    idle {
        shared: "the list belongs to the conversation, and a sub-agent has one of its own",
        toon: "results are passed on unchanged",
        defer: "all tools are offered at once",
        version: "servers are not installed",
        model: "the agent's own model reads the results",
        lifecycle: "a server is started when it is needed, and again when it has ended",
        ignore_vcs: "what `.gitignore` names is left out of searches",
        config: "a server from Docker's catalogue is configured in the gateway",
        post_edit: "let a hook of `post_tool_use` do it",
        headers: "becket sends no other headers with a fetch",
        sudo_askpass: "becket asks for no password",
        recall: "the model asks for the output of its jobs",
        escape_html: "results are passed on unchanged",
        api_config: "it belongs to a type of toolset that is not served",
        webhook_config: "it belongs to a type of toolset that is not served",
        rag_config: "it belongs to a type of toolset that is not served",
        file_types: "it belongs to a type of toolset that is not served",
        allowed_servers: "it belongs to a type of toolset that is not served",
        blocked_servers: "it belongs to a type of toolset that is not served",
        models: "it belongs to a type of toolset that is not served",
    }
    refused {}
}

keys! {
    /// A server on the web.
    WrittenRemote {
        url: Option<String>,
        transport_type: Option<Spanned<String>>,
        headers: BTreeMap<String, String>,
    }
    idle {
        oauth: "send a key in `headers`, as in `Authorization: Bearer ${env.TOKEN}`",
    }
    refused {}
}

/// A shell command that is offered as a tool.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenScript {
    pub(super) cmd: Option<String>,
    pub(super) description: String,
    pub(super) args: Map<String, Value>,
    pub(super) required: Option<Vec<String>>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) working_dir: Option<String>,
}

/// The rules about tool calls.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenPermissions {
    allow: Option<Vec<Spanned<String>>>,
    ask: Option<Vec<Spanned<String>>>,
    deny: Option<Vec<Spanned<String>>>,
}

impl From<WrittenPermissions> for Permissions {
    fn from(written: WrittenPermissions) -> Self {
        let rules = |rules: Option<Vec<Spanned<String>>>| {
            let rules = rules.unwrap_or_default().into_iter();
            let rules = rules.map(|rule| (rule.value.clone(), line_of(&rule)));
            rules.collect()
        };
        Self {
            allow: rules(written.allow),
            ask: rules(written.ask),
            deny: rules(written.deny),
        }
    }
}

keys! {
    /// A command that is written as a table.
    WrittenCommand {
        description: Option<String>,
        instruction: Option<String>,
        agent: Option<Spanned<String>>,
    }
    idle {
        url: "becket opens no browser, so the command is left out",
    }
    refused {}
}

/// A table that keeps the order of the file.
#[derive(Debug)]
pub(super) struct Ordered<T>(pub(super) Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Ordered<T> {
    /// The value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        let named = self.0.iter().find(|(other, _)| other == name);
        named.map(|(_, value)| value)
    }

    /// The names in the table.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Ordered<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Ordered(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// Commands: a table, or a list of tables.
#[derive(Debug, Default)]
pub(super) struct WrittenCommands(pub(super) Vec<(String, CommandForm)>);

impl<'de> Deserialize<'de> for WrittenCommands {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = WrittenCommands;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let entries = Ordered::deserialize(MapAccessDeserializer::new(map))?;
                Ok(WrittenCommands(entries.0))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(Ordered(entries)) = list.next_element()? {
                    all.extend(entries);
                }
                Ok(WrittenCommands(all))
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

/// A command: its text, or a table.
#[derive(Debug)]
pub(super) struct CommandForm(pub(super) WrittenCommand);

impl<'de> Deserialize<'de> for CommandForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = CommandForm;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(CommandForm(WrittenCommand {
                    instruction: Some(text.to_owned()),
                    ..WrittenCommand::default()
                }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                WrittenCommand::deserialize(MapAccessDeserializer::new(map)).map(CommandForm)
            }
        }
        deserializer.deserialize_any(Form)
    }
}

/// One text, or several.
#[derive(Debug, Default)]
pub(super) struct OneOrMore(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = OneOrMore;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(OneOrMore(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(OneOrMore(texts))
            }
        }
        deserializer.deserialize_any(Texts)
    }
}
