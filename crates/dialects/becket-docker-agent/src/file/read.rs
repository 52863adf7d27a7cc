//! Builds an agent file from its keys: every reference in it is resolved, or there is an error with its line.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::Arc;

use becket_agent::provider::ThinkingLevel;

use becket_dialect_kit::yaml::{Spanned, line_of, read_yaml};
use becket_hooks::{SettingsError, nearest};

use super::duration::duration;
use super::first;
use super::flags::hooks_of_flags;
use super::reader::Reader;
use super::toolset::toolset;
use super::written::{
    Thinking, WrittenAgent, WrittenCommands, WrittenCost, WrittenFile, WrittenModel, WrittenProvider,
    WrittenRuntime,
};
use super::{
    AgentDefinition, AgentFile, Budget, CommandDefinition, Interface, ModelDefinition, Safety, Sampling,
    Toolset,
};
use crate::sources::is_hcl;

/// Providers with OpenAI's interface, with their addresses and the variables that hold their keys.
// tidy: a table
const COMPATIBLE: &[(&str, &str, Option<&str>)] = &[
    ("mistral", "https://api.mistral.ai/v1", Some("MISTRAL_API_KEY")),
    ("xai", "https://api.x.ai/v1", Some("XAI_API_KEY")),
    (
        "nebius",
        "https://api.studio.nebius.com/v1",
        Some("NEBIUS_API_KEY"),
    ),
    (
        "google",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        Some("GOOGLE_API_KEY"),
    ),
    (
        "requesty",
        "https://router.requesty.ai/v1",
        Some("REQUESTY_API_KEY"),
    ),
    (
        "nvidia",
        "https://integrate.api.nvidia.com/v1",
        Some("NVIDIA_API_KEY"),
    ),
    ("minimax", "https://api.minimax.io/v1", Some("MINIMAX_API_KEY")),
    (
        "baseten",
        "https://inference.baseten.co/v1",
        Some("BASETEN_API_KEY"),
    ),
    (
        "ovhcloud",
        "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1",
        Some("OVH_AI_ENDPOINTS_ACCESS_TOKEN"),
    ),
    ("groq", "https://api.groq.com/openai/v1", Some("GROQ_API_KEY")),
    (
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        Some("FIREWORKS_API_KEY"),
    ),
    (
        "deepseek",
        "https://api.deepseek.com/v1",
        Some("DEEPSEEK_API_KEY"),
    ),
    ("cerebras", "https://api.cerebras.ai/v1", Some("CEREBRAS_API_KEY")),
    (
        "together",
        "https://api.together.xyz/v1",
        Some("TOGETHER_API_KEY"),
    ),
    (
        "huggingface",
        "https://router.huggingface.co/v1",
        Some("HF_TOKEN"),
    ),
    ("moonshot", "https://api.moonshot.ai/v1", Some("MOONSHOT_API_KEY")),
    (
        "vercel",
        "https://ai-gateway.vercel.sh/v1",
        Some("AI_GATEWAY_API_KEY"),
    ),
    (
        "opencode-go",
        "https://opencode.ai/zen/go/v1",
        Some("OPENCODE_API_KEY"),
    ),
    (
        "opencode-zen",
        "https://opencode.ai/zen/v1",
        Some("OPENCODE_API_KEY"),
    ),
    (
        "github-copilot",
        "https://api.githubcopilot.com",
        Some("GITHUB_TOKEN"),
    ),
    (
        "cloudflare-workers-ai",
        "https://api.cloudflare.com/client/v4/accounts/${env.CLOUDFLARE_ACCOUNT_ID}/ai/v1",
        Some("CLOUDFLARE_API_TOKEN"),
    ),
    (
        "cloudflare-ai-gateway",
        "https://gateway.ai.cloudflare.com/v1/${env.CLOUDFLARE_ACCOUNT_ID}/${env.CLOUDFLARE_GATEWAY_ID}/compat",
        Some("CLOUDFLARE_API_TOKEN"),
    ),
    ("dmr", "http://127.0.0.1:12434/engines/v1", None),
];

/// The variables that hold the keys of the providers above. No hook or tool sees them. A token that programs use for
/// more than models is hidden only where a model of the file uses it.
pub fn provider_keys<'a>() -> impl Iterator<Item = &'a str> {
    let keys = COMPATIBLE.iter().filter_map(|(_, _, key)| *key);
    keys.filter(|key| key.ends_with("_API_KEY"))
}

impl AgentFile {
    /// Reads an agent file. Instruction files that it names are next to it.
    pub fn read(text: &str, file: &Path) -> Result<Self, SettingsError> {
        let mut reader = Reader::new(file, text);
        if is_hcl(file) {
            return Err(reader.error(1, "agent files in HCL are not read; write the same as YAML"));
        }
        let written: WrittenFile = read_yaml(text, file)?;
        reader.look_at(written.unserved())?;
        if written.agents.0.is_empty() {
            return Err(reader.error(1, "there is no agent in this file; write `agents: {root: {…}}`"));
        }
        first::look_at(&reader, &written)?;
        let safety = runtime(&mut reader, &written.runtime)?;
        for (_, provider) in &written.providers.0 {
            reader.look_at(provider.value.unserved())?;
            if let Some(interface) = provider.value.api_type.as_ref() {
                look_at_interface(&mut reader, interface);
            }
        }
        for (_, model) in &written.models.0 {
            reader.look_at(model.value.unserved())?;
        }
        for (name, toolset_of_many) in &written.toolsets.0 {
            if toolset_of_many.value.r#type.is_none() {
                let line = line_of(toolset_of_many);
                return Err(reader.error(line, format!("the toolset `{name}` has no `type`")));
            }
        }
        let mut agents = Vec::new();
        for (name, agent) in &written.agents.0 {
            agents.push(definition(&mut reader, name, agent, &written)?);
        }
        let mut models = BTreeMap::new();
        for (name, model) in &written.models.0 {
            let described = described(&reader, name, &model.value, line_of(model), &written)?;
            models.insert(name.clone(), described);
        }
        Ok(Self {
            path: file.into(),
            agents,
            models,
            budgets: budgets(&reader, &written)?,
            permissions: written.permissions,
            safety,
            lacks_toolsets: reader.lacks_toolsets,
            remarks: reader.remarks,
        })
    }
}

/// The budgets, each with the agents that draw from it.
fn budgets(reader: &Reader<'_>, written: &WrittenFile) -> Result<Vec<Budget>, SettingsError> {
    for (_, agent) in &written.agents.0 {
        reader.known("budget", &agent.value.budgets, written.budgets.names())?;
    }
    let draws = |agent: &WrittenAgent, name: &str| agent.budgets.iter().any(|own| own.value == name);
    let named = written.budgets.0.iter().map(|(name, budget)| {
        let agents = written
            .agents
            .0
            .iter()
            .filter(|(_, agent)| draws(&agent.value, name));
        let agents: Vec<String> = agents.map(|(agent, _)| agent.clone()).collect();
        (format!("budgets.{name}"), Some(agents), budget)
    });
    let whole = written
        .budget
        .iter()
        .map(|budget| ("budget".to_owned(), None, budget));
    let all = whole.chain(named).map(|(place, agents, budget)| {
        let name = place.rsplit('.').next().unwrap_or_default();
        let line = reader.line_of_key(name, line_of(budget));
        let wrong = |limit: &str, form: &str| reader.error(line, format!("`{place}.{limit}` is no {form}"));
        let budget = &budget.value;
        if budget
            .max_cost
            .is_some_and(|cost| !(cost > 0.0 && cost.is_finite()))
        {
            return Err(wrong("max_cost", "number above 0"));
        }
        if budget.max_tokens == Some(0) {
            return Err(wrong("max_tokens", "number above 0"));
        }
        let max_time = budget.max_time.as_deref().map(|text| {
            let time = duration(text).filter(|time| !time.is_zero());
            time.ok_or_else(|| wrong("max_time", "time above 0, such as `1h30m`"))
        });
        Ok(Budget {
            max_cost: budget.max_cost,
            max_tokens: budget.max_tokens,
            max_time: max_time.transpose()?,
            place,
            line,
            agents,
        })
    });
    all.collect()
}

/// How the file is meant to be run: how much is asked, and whether in a container, which becket does not start.
fn runtime(reader: &mut Reader<'_>, written: &WrittenRuntime) -> Result<Option<Safety>, SettingsError> {
    if let Some(sandbox) = written.sandbox.as_ref().filter(|sandbox| sandbox.value) {
        let message = "`sandbox` is not served: becket starts no container. Leave it out, and run becket in one, or \
                       confine the model's commands by `sandbox.shell` in becket's settings";
        return Err(reader.error(line_of(sandbox), message));
    }
    if let Some(hosts) = &written.network_allowlist {
        reader.remark(
            line_of(hosts),
            "`network_allowlist` has no effect here: it is about docker-agent's container",
        );
    }
    safety(reader, written.safety.as_ref())
}

/// How much is asked. The usual is between docker-agent's modes: what only reads needs no yes, everything else does.
fn safety(
    reader: &mut Reader<'_>,
    written: Option<&Spanned<String>>,
) -> Result<Option<Safety>, SettingsError> {
    const MODES: [&str; 4] = ["strict", "balanced", "restricted", "autonomous"];
    let Some(mode) = written else {
        return Ok(None);
    };
    let line = line_of(mode);
    match mode.value.as_str() {
        "strict" => Ok(Some(Safety::Strict)),
        "restricted" => Ok(Some(Safety::Restricted)),
        "balanced" | "autonomous" => {
            let message =
                "`safety` has no effect here: what only reads runs, and `--yes` answers every other question";
            reader.remark(line, message);
            Ok(None)
        }
        other => Err(reader.error(
            line,
            match nearest(other, MODES) {
                Some(near) => format!("there is no safety mode `{other}`; did you mean `{near}`?"),
                None => format!(
                    "there is no safety mode `{other}`; there are {}",
                    MODES.join(", ")
                ),
            },
        )),
    }
}

/// The name of OpenAI's Responses in `api_type`.
const RESPONSES: &str = "openai_responses";

fn look_at_interface(reader: &mut Reader<'_>, interface: &Spanned<String>) {
    if !["openai_chatcompletions", RESPONSES].contains(&interface.value.as_str()) {
        let message = format!(
            "the interface `{}` is not served; `openai_chatcompletions` is used, which most providers know",
            interface.value
        );
        reader.remark(line_of(interface), message);
    }
}

/// The toolsets of an agent, without those that becket has not.
fn toolsets(
    reader: &mut Reader<'_>,
    agent: &WrittenAgent,
    written: &WrittenFile,
) -> Result<Vec<Toolset>, SettingsError> {
    reader.known("toolset", &agent.use_toolsets, written.toolsets.names())?;
    let named = agent.use_toolsets.iter();
    let named = named.filter_map(|name| written.toolsets.get(&name.value));
    let mut toolsets = Vec::new();
    let first = first::toolsets(agent);
    for set in first.iter().chain(&agent.toolsets).chain(named) {
        toolsets.extend(toolset(reader, set, &written.mcps)?);
    }
    for set in &mut toolsets {
        set.readonly |= agent.readonly;
    }
    match &agent.tool_choice {
        Some(choice) if choice.value == "none" => toolsets.clear(),
        Some(choice) if choice.value != "auto" => {
            reader.remark(
                line_of(choice),
                "`tool_choice` has no effect here: the model may answer without a tool",
            );
        }
        _ => {}
    }
    Ok(toolsets)
}

fn definition(
    reader: &mut Reader<'_>,
    name: &str,
    agent: &Spanned<WrittenAgent>,
    written: &WrittenFile,
) -> Result<AgentDefinition, SettingsError> {
    let line = reader.line_of_key(name, line_of(agent));
    let agent = &agent.value;
    reader.look_at(agent.unserved())?;
    let names = written.agents.names();
    let mut hooks = match &agent.hooks {
        Some(hooks) => {
            let (entries, remarks) = hooks.entries_and_remarks(reader.file)?;
            reader.remarks.extend(remarks.iter().map(ToString::to_string));
            entries
        }
        None => Vec::new(),
    };
    let toolsets = toolsets(reader, agent, written)?;
    hooks.extend(hooks_of_flags(agent, &toolsets, &hooks, reader.file));
    let limit = |number: u32| Some(number).filter(|number| *number > 0);
    Ok(AgentDefinition {
        name: name.to_owned(),
        line,
        model: model(reader, agent, written)?,
        description: agent.description.clone().unwrap_or_default(),
        welcome_message: agent.welcome_message.clone(),
        instruction: instruction(reader, agent)? + &form(agent),
        answer_schema: agent
            .structured_output
            .as_ref()
            .map(|form| Arc::new(form.schema.clone().into())),
        safety: safety(reader, agent.safety.as_ref())?,
        toolsets,
        sub_agents: reader.agents(&agent.sub_agents, names.clone())?,
        handoffs: reader.agents(&agent.handoffs, names.clone())?,
        force_handoff: successor(reader, name, agent, written)?,
        commands: commands(reader, agent, written)?,
        hooks,
        max_iterations: limit(agent.max_iterations),
        max_identical_rounds: limit(agent.max_consecutive_tool_calls),
    })
}

/// The agent that goes on after each answer. A circle would have no end.
fn successor(
    reader: &mut Reader<'_>,
    name: &str,
    agent: &WrittenAgent,
    written: &WrittenFile,
) -> Result<Option<String>, SettingsError> {
    let Some(first) = &agent.force_handoff else {
        return Ok(None);
    };
    let names = written.agents.names();
    let of = |name: &str| written.agents.get(name)?.value.force_handoff.as_ref();
    let chain = std::iter::successors(Some(first), |next| of(&next.value));
    if chain
        .take(written.agents.0.len() + 1)
        .any(|next| next.value == name)
    {
        let message = format!("`force_handoff` leads back to `{name}`, so the conversation would never end");
        return Err(reader.error(line_of(first), message));
    }
    let mut known = reader.agents(std::slice::from_ref(first), names)?;
    Ok(known.pop())
}

/// What the agent is told besides its instruction: the form of its answers.
fn form(agent: &WrittenAgent) -> String {
    let form = agent.structured_output.as_ref().map(|form| {
        let about = form.description.as_deref().map(|about| format!(" ({about})")).unwrap_or_default();
        let schema = serde_json::Value::Object(form.schema.clone());
        format!("\n\nAnswer with one JSON value{about} that follows this JSON Schema, and with nothing else:\n{schema}")
    });
    form.unwrap_or_default()
}

/// The agent's instruction, or the content of the files that it names, which are in the folder of the agent file.
fn instruction(reader: &Reader<'_>, agent: &WrittenAgent) -> Result<String, SettingsError> {
    let Some(files) = &agent.instruction_file else {
        let texts = agent.instruction.as_ref();
        return Ok(texts.map(|texts| texts.value.0.join("\n\n")).unwrap_or_default());
    };
    let line = line_of(files);
    if agent.instruction.is_some() {
        return Err(reader.error(line, "an agent has `instruction` or `instruction_file`, not both"));
    }
    let folder = reader.file.parent().unwrap_or(Path::new("."));
    let mut texts = Vec::new();
    for name in &files.value.0 {
        let inside = Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !inside {
            let message = format!("`{name}` is not beside the agent file; name a file in its folder");
            return Err(reader.error(line, message));
        }
        let text = becket_fs::read_to_string(folder.join(name)).map_err(|error| {
            reader.error(line, format!("cannot read the instructions in {name}: {error}"))
        })?;
        texts.push(text.trim_end().to_owned());
    }
    Ok(texts.join("\n\n"))
}

fn commands(
    reader: &mut Reader<'_>,
    agent: &WrittenAgent,
    written: &WrittenFile,
) -> Result<BTreeMap<String, CommandDefinition>, SettingsError> {
    reader.known("group of commands", &agent.use_commands, written.commands.names())?;
    let groups = agent.use_commands.iter();
    let groups = groups.filter_map(|name| written.commands.get(&name.value));
    let mut all = BTreeMap::new();
    // The agent's own commands come last, and so replace those of groups.
    for WrittenCommands(entries) in groups.chain([&agent.commands]) {
        for (name, form) in entries {
            let command = &form.0;
            reader.look_at(command.unserved())?;
            if command.url.is_some() {
                continue;
            }
            let of = command.agent.as_ref();
            let agent = match of {
                Some(agent) => reader
                    .known("agent", std::slice::from_ref(agent), written.agents.names())?
                    .pop(),
                None => None,
            };
            all.insert(
                name.trim_start_matches('/').to_owned(),
                CommandDefinition {
                    description: command.description.clone(),
                    instruction: command.instruction.clone().filter(|text| !text.trim().is_empty()),
                    agent,
                },
            );
        }
    }
    Ok(all)
}

/// The model of an agent.
fn model(
    reader: &Reader<'_>,
    agent: &WrittenAgent,
    written: &WrittenFile,
) -> Result<Option<ModelDefinition>, SettingsError> {
    let Some(named) = &agent.model else {
        return Ok(None);
    };
    let (line, name) = (line_of(named), named.value.trim());
    match written.models.get(name) {
        None if name == "auto" => Ok(None),
        Some(_) => named_model(reader, name, line, written).map(Some),
        None => in_turn(reader, name, line, written).map(Some),
    }
}

/// Several models, with commas between them, of which each request asks the next one.
fn in_turn(
    reader: &Reader<'_>,
    names: &str,
    line: usize,
    written: &WrittenFile,
) -> Result<ModelDefinition, SettingsError> {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut models = Vec::new();
    for name in names {
        let mut model = named_model(reader, name, line, written)?;
        let further = std::mem::take(&mut model.in_turn);
        models.push(model);
        models.extend(further);
    }
    let mut models = models.into_iter();
    let first = models
        .next()
        .ok_or_else(|| reader.error(line, "`model` names no model; write it as `provider/model`"))?;
    Ok(ModelDefinition {
        in_turn: models.collect(),
        ..first
    })
}

/// The model with a name: one of the file, or `provider/model`.
fn named_model(
    reader: &Reader<'_>,
    name: &str,
    line: usize,
    written: &WrittenFile,
) -> Result<ModelDefinition, SettingsError> {
    if let Some(model) = written.models.get(name) {
        return described(reader, name, &model.value, line_of(model), written);
    }
    match name.split_once('/') {
        Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
            let inline = WrittenModel {
                provider: Some(provider.to_owned()),
                model: Some(model.to_owned()),
                ..WrittenModel::default()
            };
            described(reader, name, &inline, line, written)
        }
        _ => {
            let message = format!("there is no model `{name}` under `models`");
            let message = match nearest(name, written.models.names()) {
                Some(near) => format!("{message}; did you mean `{near}`?"),
                None => format!("{message}; describe it there, or write it as `provider/model`"),
            };
            Err(reader.error(line, message))
        }
    }
}

/// The first model of a list for which there is a key, with the others in its place.
fn first_available(
    reader: &Reader<'_>,
    (name, names): (&str, &[String]),
    line: usize,
    written: &WrittenFile,
) -> Result<ModelDefinition, SettingsError> {
    // A candidate that names candidates itself might name this one.
    let is_list = |name: &&String| {
        let model = written.models.get(name);
        model.is_some_and(|model| model.value.first_available.is_some())
    };
    if let Some(deeper) = names.iter().find(is_list) {
        let message = format!(
            "`first_available` of `{name}` names `{deeper}`, which is a list itself; name its models"
        );
        return Err(reader.error(line, message));
    }
    let models = names.iter().map(|name| named_model(reader, name, line, written));
    let mut models = models.collect::<Result<Vec<_>, _>>()?.into_iter();
    let first = models
        .next()
        .ok_or_else(|| reader.error(line, format!("`first_available` of the model `{name}` is empty")))?;
    Ok(ModelDefinition {
        instead: models.collect(),
        ..first
    })
}

/// A model that is put together of others of the file, if it is one. One that names itself never ends.
fn put_together(
    reader: &Reader<'_>,
    name: &str,
    model: &WrittenModel,
    line: usize,
    written: &WrittenFile,
) -> Option<Result<ModelDefinition, SettingsError>> {
    let (None, Some(names)) = (model.provider(), &model.model) else {
        return None;
    };
    let is_of_file = |other: &str| written.models.get(other).is_some() || other.contains('/');
    let mut others = names.split(',').map(str::trim);
    if !others.all(|other| other != name && is_of_file(other)) || !reader.goes_deeper() {
        return None;
    }
    let model = in_turn(reader, names, line, written);
    reader.comes_back();
    Some(model)
}

/// The interface of a provider of this kind, with what its `api_type` says.
fn interface_of(kind: Option<&str>, api_type: Option<&Spanned<String>>) -> Option<Interface> {
    let speaks = api_type.map(|named| named.value.as_str());
    Some(match kind? {
        "anthropic" => Interface::Anthropic,
        _ if speaks == Some(RESPONSES) => Interface::Responses,
        _ => Interface::OpenAi,
    })
}

fn described(
    reader: &Reader<'_>,
    name: &str,
    model: &WrittenModel,
    line: usize,
    written: &WrittenFile,
) -> Result<ModelDefinition, SettingsError> {
    if let Some(names) = &model.first_available {
        return first_available(reader, (name, names), line, written);
    }
    if let Some(together) = put_together(reader, name, model, line, written) {
        return together;
    }
    let missing = |key: &str| reader.error(line, format!("the model `{name}` has no `{key}`"));
    let provider = model.provider().ok_or_else(|| missing("provider"))?.to_owned();
    let called = model.model.clone().ok_or_else(|| missing("model"))?;
    let usual = WrittenProvider::default();
    let of_file = written.providers.get(&provider);
    let settings = of_file.map_or(&usual, |provider| &provider.value);
    let kind = settings.provider.as_deref().or(of_file.map(|_| "openai"));
    let known = COMPATIBLE
        .iter()
        .find(|(name, ..)| *name == settings.provider.as_deref().unwrap_or(&provider));
    let interface = interface_of(kind.or(known.map(|_| "openai")), settings.api_type.as_ref());
    let usual_key = match interface {
        Some(Interface::Anthropic) => Some("ANTHROPIC_API_KEY"),
        Some(_) if settings.provider.as_deref() == Some("openai") => Some("OPENAI_API_KEY"),
        _ => known.and_then(|(_, _, key)| *key),
    };
    Ok(ModelDefinition {
        model: called,
        line,
        interface,
        base_url: model
            .base_url
            .clone()
            .or_else(|| settings.base_url.clone())
            .or_else(|| known.map(|(_, url, _)| (*url).to_owned())),
        token_key: model
            .token_key
            .clone()
            .or_else(|| settings.token_key.clone())
            .or_else(|| usual_key.map(ToOwned::to_owned)),
        sampling: Sampling {
            temperature: model.temperature.or(settings.temperature),
            max_tokens: model.max_tokens.or(settings.max_tokens),
            top_p: model.top_p.or(settings.top_p),
            frequency_penalty: model.frequency_penalty.or(settings.frequency_penalty),
            presence_penalty: model.presence_penalty.or(settings.presence_penalty),
            parallel_tool_calls: model.parallel_tool_calls.or(settings.parallel_tool_calls),
            thinking: model
                .thinking_budget
                .as_ref()
                .or(settings.thinking_budget.as_ref())
                .and_then(thinking),
        },
        price: model.cost.as_ref().map(WrittenCost::price),
        in_turn: Vec::new(),
        instead: Vec::new(),
        headers: settings.headers.clone(),
        unload_api: settings.unload_api.clone(),
        provider,
    })
}

/// How much a model thinks: by name, or as the name for a number of tokens; `None` leaves it to the model.
fn thinking(written: &Thinking) -> Option<ThinkingLevel> {
    match written {
        Thinking::Tokens(tokens) => thinking_with(*tokens),
        Thinking::Level(level) => thinking_at(level),
        Thinking::Table { effort, tokens } => match effort {
            Some(level) => thinking_at(level),
            None => tokens.and_then(thinking_with),
        },
    }
}

fn thinking_with(tokens: i64) -> Option<ThinkingLevel> {
    match tokens {
        0 => Some(ThinkingLevel::Off),
        1..=1024 => Some(ThinkingLevel::Minimal),
        1025..=4096 => Some(ThinkingLevel::Low),
        4097..=12288 => Some(ThinkingLevel::Medium),
        12289.. => Some(ThinkingLevel::High),
        _ => None,
    }
}

fn thinking_at(level: &str) -> Option<ThinkingLevel> {
    match level.trim_start_matches("adaptive/") {
        "none" => Some(ThinkingLevel::Off),
        "minimal" => Some(ThinkingLevel::Minimal),
        "low" => Some(ThinkingLevel::Low),
        "medium" => Some(ThinkingLevel::Medium),
        "high" => Some(ThinkingLevel::High),
        "xhigh" | "max" => Some(ThinkingLevel::Xhigh),
        _ => None,
    }
}
