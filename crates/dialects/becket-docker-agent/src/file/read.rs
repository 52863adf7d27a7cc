//! Builds an agent file from its keys: every reference in it is resolved, or there is an error with its line.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use becket_dialect_kit::yaml::{Spanned, line_of, read_yaml};
use becket_hooks::{SettingsError, nearest};

use super::flags::hooks_of_flags;
use super::reader::Reader;
use super::toolset::toolset;
use super::written::{WrittenAgent, WrittenCommands, WrittenFile, WrittenModel, WrittenProvider};
use super::{AgentDefinition, AgentFile, CommandDefinition, Interface, ModelDefinition, Sampling};

/// Providers with OpenAI's interface, with their addresses and the variables that hold their keys.
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
    ("dmr", "http://127.0.0.1:12434/engines/v1", None),
];

/// The variables that hold the keys of the providers above. No hook or tool sees them.
pub fn provider_keys<'a>() -> impl Iterator<Item = &'a str> {
    COMPATIBLE.iter().filter_map(|(_, _, key)| *key)
}

impl AgentFile {
    /// Reads an agent file. Instruction files that it names are next to it.
    pub fn read(text: &str, file: &Path) -> Result<Self, SettingsError> {
        let written: WrittenFile = read_yaml(text, file)?;
        let mut reader = Reader::new(file, text);
        reader.look_at(written.unserved())?;
        if written.agents.0.is_empty() {
            return Err(reader.error(1, "there is no agent in this file; write `agents: {root: {…}}`"));
        }
        for (_, provider) in &written.providers.0 {
            reader.look_at(provider.value.unserved())?;
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
            permissions: written.permissions,
            remarks: reader.remarks,
        })
    }
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
    let mut toolsets = Vec::new();
    for set in &agent.toolsets {
        toolsets.push(toolset(reader, set, &written.mcps)?);
    }
    reader.known("toolset", &agent.use_toolsets, written.toolsets.names())?;
    for set in agent
        .use_toolsets
        .iter()
        .filter_map(|name| written.toolsets.get(&name.value))
    {
        toolsets.push(toolset(reader, set, &written.mcps)?);
    }
    for set in &mut toolsets {
        set.readonly |= agent.readonly;
    }
    let mut hooks = match &agent.hooks {
        Some(hooks) => hooks.entries(reader.file)?,
        None => Vec::new(),
    };
    hooks.extend(hooks_of_flags(agent, &hooks, reader.file));
    let limit = |number: u32| Some(number).filter(|number| *number > 0);
    Ok(AgentDefinition {
        name: name.to_owned(),
        line,
        model: model(reader, agent, written)?,
        description: agent.description.clone().unwrap_or_default(),
        welcome_message: agent.welcome_message.clone(),
        instruction: instruction(reader, agent)?,
        toolsets,
        sub_agents: reader.known("agent", &agent.sub_agents, names.clone())?,
        handoffs: reader.known("agent", &agent.handoffs, names)?,
        commands: commands(reader, agent, written)?,
        hooks,
        max_iterations: limit(agent.max_iterations),
        max_identical_rounds: limit(agent.max_consecutive_tool_calls),
    })
}

/// The agent's instruction, or the content of the files that it names, which are in the folder of the agent file.
fn instruction(reader: &Reader<'_>, agent: &WrittenAgent) -> Result<String, SettingsError> {
    let Some(files) = &agent.instruction_file else {
        let text = agent.instruction.as_ref();
        return Ok(text.map(|text| text.value.clone()).unwrap_or_default());
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
            let message = format!("`{name}` does not lie beside the agent file; name a file in its folder");
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

fn model(
    reader: &Reader<'_>,
    agent: &WrittenAgent,
    written: &WrittenFile,
) -> Result<Option<ModelDefinition>, SettingsError> {
    let Some(named) = &agent.model else {
        return Ok(None);
    };
    let (line, name) = (line_of(named), named.value.trim());
    if let Some(model) = written.models.get(name) {
        let line = line_of(model);
        return described(reader, name, &model.value, line, written).map(Some);
    }
    match name.split_once('/') {
        _ if name == "auto" => Ok(None),
        _ if name.contains(',') => {
            let message = format!("an agent has one model, not several, as in `{name}`");
            Err(reader.error(line, message))
        }
        Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
            let inline = WrittenModel {
                provider: Some(provider.to_owned()),
                model: Some(model.to_owned()),
                ..WrittenModel::default()
            };
            described(reader, name, &inline, line, written).map(Some)
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

fn described(
    reader: &Reader<'_>,
    name: &str,
    model: &WrittenModel,
    line: usize,
    written: &WrittenFile,
) -> Result<ModelDefinition, SettingsError> {
    let missing = |key: &str| reader.error(line, format!("the model `{name}` has no `{key}`"));
    let provider = model.provider.clone().ok_or_else(|| missing("provider"))?;
    let called = model.model.clone().ok_or_else(|| missing("model"))?;
    let usual = WrittenProvider::default();
    let of_file = written.providers.get(&provider);
    let settings = of_file.map_or(&usual, |provider| &provider.value);
    if let Some(interface) = &settings.api_type
        && interface.value != "openai_chatcompletions"
    {
        let message = format!(
            "the interface `{}` is not served; `openai_chatcompletions` is, and most providers know it",
            interface.value
        );
        return Err(reader.error(line_of(interface), message));
    }
    let kind = settings.provider.as_deref().or(of_file.map(|_| "openai"));
    let interface = match kind {
        None => None,
        Some("anthropic") => Some(Interface::Anthropic),
        Some(_) => Some(Interface::OpenAi),
    };
    let known = COMPATIBLE
        .iter()
        .find(|(name, ..)| *name == settings.provider.as_deref().unwrap_or(&provider));
    let usual_key = match interface {
        Some(Interface::Anthropic) => Some("ANTHROPIC_API_KEY"),
        Some(Interface::OpenAi) if settings.provider.as_deref() == Some("openai") => Some("OPENAI_API_KEY"),
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
        },
        provider,
    })
}
