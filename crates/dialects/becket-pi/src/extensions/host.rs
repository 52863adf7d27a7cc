//! Answers the synchronous calls of extensions (`HostCall`); the asynchronous ones are in `later.rs`.

use std::path::Path;
use std::sync::Arc;

use becket_agent::provider::ThinkingLevel;
use becket_agent::session_handle::{Delivery, WhenIdle};
use becket_agent::{Input, tool::BUILTIN};
use becket_events::{InputSource, NoteDraft, Part};
use becket_hooks::Failure;
use becket_js::{HostError, LentTerminal, Meanwhile, ScriptHost};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::answer::{HostAnswer, json_of, refused};
use super::calls::StreamNews;
use super::emit::emit;
use super::extension_list::Command;
use super::registry::{ExtensionRegistry, origin_words};
use super::tools::{active_tools, pi_name};
use super::{
    commands, flags, hooks, input, later, mcp_servers, models, moves, placing, prompt, reload, renderers,
    resources, sessions, tool, tools,
};
use crate::host_call::{
    About, CommandInfo, CustomMessage, Exposure, HOST_CALL, HostCall, HostCallAsync, Shown, SourceInfo,
    ToolInfo,
};

/// The registry as the host of extensions. It holds a strong reference, so that calls can outlive the caller.
pub struct RegistryHost(pub Arc<ExtensionRegistry>);

impl ScriptHost for RegistryHost {
    fn call(&self, extension: &str, name: &str, arguments: &str) -> HostAnswer {
        check(name)?;
        let call = HostCall::read(arguments).map_err(HostError::new)?;
        answer(&self.0, extension, call)
    }

    fn lend_terminal(&self, meanwhile: Meanwhile) -> Option<LentTerminal> {
        placing::lend_terminal(&self.0, meanwhile)
    }

    fn call_async(&self, extension: &str, name: &str, arguments: String) -> BoxFuture<'static, HostAnswer> {
        if let Some(answer) = self.0.network.call(extension, name, &arguments) {
            return answer;
        }
        let read = check(name).and_then(|()| HostCallAsync::read(&arguments).map_err(HostError::new));
        let (registry, extension) = (Arc::clone(&self.0), extension.to_owned());
        // These take effect now, and not when the extension awaits them.
        if let Ok(call) = &read
            && let Some(going) = moves::go(&registry, &extension, call)
        {
            return going;
        }
        let read = match read {
            Ok(HostCallAsync::Compact { custom_instructions }) => {
                return later::compact(&registry, custom_instructions).boxed();
            }
            Ok(HostCallAsync::Component(placed)) => {
                return later::component(&registry, &extension, placed).boxed();
            }
            read => read,
        };
        async move { later::answer(&registry, &extension, read?).await }.boxed()
    }

    fn renewing(&self, extension: &str) {
        reload::prepare(&self.0, extension);
    }

    fn renewed(&self, extension: &str, loaded: Result<(), Failure>) {
        reload::finish(&self.0, extension, loaded);
    }
}

fn check(name: &str) -> Result<(), HostError> {
    match name {
        HOST_CALL => Ok(()),
        _ => Err(HostError::new(format!(
            "becket has no function `{name}` for extensions"
        ))),
    }
}

fn done() -> HostAnswer {
    Ok("null".into())
}

// tidy: a table
pub fn answer(registry: &Arc<ExtensionRegistry>, name: &str, call: HostCall) -> HostAnswer {
    let handle = &registry.session;
    match call {
        HostCall::About => return json_of(&about(registry, name)),
        HostCall::On { event, handler } => {
            hooks::add(registry, name, event, handler).map_err(HostError::new)?
        }
        HostCall::Off { handler } => hooks::remove(registry, name, handler),
        HostCall::RegisterTool(definition) => tools::add(registry, name, definition),
        HostCall::RegisterCommand {
            name: command,
            description,
            completes,
        } => {
            let command = Command {
                name: command,
                description,
                completes,
            };
            registry.extensions.with(name, |guest| {
                guest.commands.retain(|other| other.name != command.name);
                guest.commands.push(command);
            });
        }
        HostCall::RegisterShortcut { key, .. } => {
            registry.extensions.with(name, |guest| guest.shortcuts.push(key));
        }
        HostCall::RegisterRenderer { custom_type } => {
            registry
                .extensions
                .with(name, |guest| guest.renderers.push(custom_type));
        }
        HostCall::ResolveRenderers => {
            registry
                .extensions
                .with(name, |guest| guest.resolves_renderers = true);
        }
        HostCall::TransformMarkdown => {
            registry
                .extensions
                .with(name, |guest| guest.transforms_markdown = true);
        }
        HostCall::RegisterFlag(flag) => flags::add(registry, name, flag),
        HostCall::GetFlag { name: flag } => return json_of(&flags::value(registry, name, &flag)),
        HostCall::RegisterProvider(provider) => {
            registry.extensions.with(name, |guest| {
                guest.providers.retain(|other| other.name != provider.name);
                guest.providers.push(provider);
            });
        }
        HostCall::UnregisterProvider { name: provider } => registry.withdraw_provider(name, &provider),
        HostCall::RegisterMcpServer { name: server, config } => {
            mcp_servers::add(registry, name, server, config);
        }
        HostCall::UnregisterMcpServer { name: server } => mcp_servers::remove(registry, name, &server),
        HostCall::McpServers => return json_of(&mcp_servers::all(registry)),
        HostCall::BusListen { channel } => {
            registry
                .extensions
                .with(name, |guest| guest.channels.push(channel));
        }
        HostCall::BusEmit { channel, data } => emit(registry, name, &channel, &data),
        HostCall::SendMessage {
            message,
            trigger_turn,
            deliver_as,
        } => {
            let delivery = match (deliver_as.map(delivery), trigger_turn) {
                (Some(Delivery::NextPrompt), _) => Delivery::NextPrompt,
                (_, Some(false)) => Delivery::Aside,
                (delivery, _) => delivery.unwrap_or(Delivery::Steering),
            };
            let when_idle = match trigger_turn {
                Some(true) => WhenIdle::Run,
                _ => WhenIdle::Keep,
            };
            handle
                .messages()
                .note(draft(message)?, delivery, when_idle)
                .map_err(refused)?;
        }
        HostCall::SendUserMessage {
            content,
            deliver_as,
            expand_prompt_templates,
        } => say(registry, &content, deliver_as, expand_prompt_templates)?,
        HostCall::AppendEntry { custom_type, data } => {
            handle
                .conversation()
                .remember(&custom_type, data.unwrap_or_default())
                .map_err(refused)?;
        }
        HostCall::SetSessionName { name } => {
            handle.conversation().set_name(&name).map_err(refused)?;
        }
        HostCall::SetLabel { entry_id, label } => {
            handle
                .conversation()
                .set_label(&entry_id, label.as_deref())
                .map_err(refused)?;
        }
        HostCall::GetActiveTools => return json_of(&active_tools(registry)?),
        HostCall::SetActiveTools { names } => {
            handle.config().set_active_tools(models_names(registry, &names)?)
        }
        HostCall::GetAllTools => return json_of(&all_tools(registry)?),
        HostCall::GetCommands => return json_of(&commands(registry)),
        HostCall::GetThinkingLevel => {
            let level = handle.config().thinking().map_err(refused)?;
            return json_of(&level.unwrap_or(ThinkingLevel::Off));
        }
        HostCall::SetThinkingLevel { level } => {
            handle
                .config()
                .set_thinking(models::nearest_level(registry, &level));
        }
        HostCall::IsIdle => return json_of(&handle.is_idle()),
        HostCall::HasPendingMessages => return json_of(&handle.messages().has_waiting()),
        HostCall::Abort => handle.abort(),
        HostCall::Shutdown => handle.shut_down(),
        HostCall::GetContextUsage => return json_of(&sessions::usage(registry)),
        HostCall::GetSystemPrompt => return json_of(&handle.system_prompt().map_err(refused)?),
        HostCall::SystemPromptOptions => return json_of(&prompt::options(registry)?),
        HostCall::BoundaryContext => return json_of(&sessions::at_boundary(registry)?),
        HostCall::IsProjectTrusted => return json_of(&registry.facts.trusted),
        HostCall::Session => return json_of(&sessions::info(registry)?),
        HostCall::SessionHeader => return json_of(&sessions::header(registry)?),
        HostCall::SessionFile => return json_of(&sessions::file(registry)?),
        HostCall::SessionEntries => return json_of(&sessions::entries(registry)?),
        HostCall::SessionBranch { from_id } => {
            return json_of(&sessions::branch(registry, from_id.as_deref())?);
        }
        HostCall::SessionEntry { id } => return json_of(&sessions::entry(registry, &id)?),
        HostCall::SessionLabel { id } => return json_of(&handle.conversation().label(&id).map_err(refused)?),
        HostCall::SessionContext => return json_of(&sessions::context(registry)?),
        HostCall::Model => return json_of(&models::in_use(registry)),
        HostCall::Models { available } => return json_of(&models::all(registry, available)),
        HostCall::FindModel {
            provider,
            id,
            available,
        } => return json_of(&models::find(registry, &provider, id.as_deref(), available)),
        HostCall::Themes => return resources::themes(registry),
        HostCall::Theme { name } => return resources::theme(registry, name.as_deref()),
        HostCall::SetTheme { name } => return json_of(&resources::set_theme(registry, &name)),
        HostCall::Show(shown) => show(registry, name, shown),
        HostCall::GetEditorText => return json_of(&registry.ui(|ui| ui.editor_text())),
        HostCall::GetToolsExpanded => return json_of(&registry.ui(|ui| ui.tools_expanded())),
        HostCall::PlaceComponent(placed) => drop(placing::place(registry, name, placed)),
        HostCall::Draw { id, lines } => registry.components.draw(name, id, lines),
        HostCall::CloseComponent { id } => registry.components.take_away(name, id),
        HostCall::Overlay { id, action } => return json_of(&registry.components.overlay(name, id, action)),
        HostCall::Intercept { on } => input::intercept(registry, name, on),
        HostCall::RegisterCompleter => input::add_completer(registry, name),
        HostCall::Print { lines } => renderers::print(registry, &lines),
        HostCall::Editor(news) => registry.ui(|ui| ui.editor(news)).unwrap_or_default(),
        HostCall::LendTerminal { lent } => registry
            .components
            .lend(registry.screen().filter(|_| lent).as_ref()),
        HostCall::ScreenSize => {
            let size = registry.screen().map(|screen| screen.size());
            return json_of(&size.map(|size| json!({"columns": size.columns, "rows": size.rows})));
        }
        HostCall::Statuses => return json_of(&registry.ui(|ui| ui.statuses()).unwrap_or_default()),
        HostCall::GitBranch => return json_of(&git_branch(&registry.facts.surroundings.cwd)),
        HostCall::ToolUpdate { call_id, result } => {
            if let Some(progress) = tool::progress(&result) {
                registry.calls.update_tool(&call_id, progress);
            }
        }
        HostCall::ProviderEvent { stream, event } => registry.calls.stream(stream, StreamNews::Event(event)),
        HostCall::ProviderData { stream, data } => {
            registry.calls.stream(stream, StreamNews::Data(data.into()));
        }
        HostCall::ShellOutput { run, text } => registry.calls.shell_output(run, text),
        HostCall::Cancel { id } => registry.calls.cancel(name, id),
        HostCall::ThinkingLevels => return json_of(&models::levels(registry)),
        HostCall::IsForNewerPi => return json_of(&is_for_newer_pi(registry, name)),
        HostCall::ExportLine => return json_of(&export_line(registry, name)),
        HostCall::Report { event, error } => registry.fail(name, Some(&event), &error),
    }
    done()
}

/// Shows something. A text for the editor goes to an extension's editor, if there is one.
fn show(registry: &Arc<ExtensionRegistry>, name: &str, shown: Shown) {
    match &shown {
        Shown::EditorText { text } if placing::tell_editor(registry, text, false) => {}
        Shown::Paste { text } if placing::tell_editor(registry, text, true) => return,
        _ => {}
    }
    if let Some(undone) = shown.undone() {
        registry.extensions.with(name, |guest| {
            guest.undoing.retain(|other| *other != undone);
            guest.undoing.push(undone);
        });
    }
    registry.ui(|ui| ui.show(name, shown)).unwrap_or_default();
}

/// The checked-out branch of the repository around a folder; a detached commit as a short hash.
fn git_branch(folder: &Path) -> Option<String> {
    let heads = folder.ancestors().map(|folder| folder.join(".git/HEAD"));
    let head = heads
        .filter_map(|file| becket_fs::read_to_string(file).ok())
        .next()?;
    let head = head.trim();
    let branch = head.strip_prefix("ref: refs/heads/");
    Some(branch.map_or_else(|| head.chars().take(7).collect(), ToOwned::to_owned))
}

fn about(registry: &ExtensionRegistry, name: &str) -> About {
    let guest = registry.extensions.with(name, |guest| {
        (guest.candidate.file.display().to_string(), guest.life)
    });
    let (path, life) = guest.unwrap_or_default();
    let mode = registry.mode();
    About {
        path,
        cwd: registry.facts.surroundings.cwd.display().to_string(),
        mode,
        has_ui: mode.has_ui(),
        life,
    }
}

/// Whether an extension's file, or the manifest beside it, imports pi's packages by their newer name.
fn is_for_newer_pi(registry: &ExtensionRegistry, name: &str) -> bool {
    let file = registry
        .extensions
        .with(name, |guest| guest.candidate.code().to_path_buf());
    let manifest = file.as_ref().map(|file| file.with_file_name("package.json"));
    let texts = file.into_iter().chain(manifest);
    let mut texts = texts.filter_map(|file| becket_fs::read_to_string(file).ok());
    texts.any(|text| text.contains("@earendil-works/"))
}

/// The line in which an extension's file exports its default.
fn export_line(registry: &ExtensionRegistry, name: &str) -> usize {
    let file = registry
        .extensions
        .with(name, |guest| guest.candidate.code().to_path_buf());
    let text = file.and_then(|file| becket_fs::read_to_string(file).ok());
    let exports = |line: &str| {
        let line = line.trim_start();
        line.starts_with("export default") || line.starts_with("module.exports")
    };
    let line = text.iter().flat_map(|text| text.lines()).position(exports);
    line.map_or(1, |line| line + 1)
}

fn delivery(delivery: crate::host_call::Delivery) -> Delivery {
    match delivery {
        crate::host_call::Delivery::Steer => Delivery::Steering,
        crate::host_call::Delivery::FollowUp => Delivery::FollowUp,
        crate::host_call::Delivery::NextTurn => Delivery::NextPrompt,
    }
}

fn draft(message: CustomMessage) -> Result<NoteDraft, HostError> {
    Ok(NoteDraft {
        kind: message.custom_type,
        content: content(&message.content)?,
        display: message.display,
        details: message.details,
    })
}

/// Content from a text, or from pi's list of text and images.
fn content(value: &Value) -> Result<Vec<Part>, HostError> {
    match value {
        Value::String(text) => Ok(vec![Part::text(text.as_str())]),
        other => crate::messages::written_parts(other, "content")
            .map_err(|failure| HostError::new(failure.to_string())),
    }
}

fn say(
    registry: &Arc<ExtensionRegistry>,
    value: &Value,
    when: Option<crate::host_call::Delivery>,
    calls_by_name: bool,
) -> Result<(), HostError> {
    let handle = &registry.session;
    let (words, images): (Vec<Part>, Vec<Part>) = content(value)?
        .into_iter()
        .partition(|part| matches!(part, Part::Text { .. }));
    let text: Vec<&str> = words.iter().filter_map(text_of).collect();
    let text = text.join("\n");
    // A command runs at once, even while the agent is running.
    if let Some(command) = commands::called(registry, &text).filter(|_| calls_by_name) {
        commands::start_command(registry, command);
        return Ok(());
    }
    if when.is_none() && handle.is_running() {
        return Err(HostError::new(
            "Agent is already processing. Specify deliverAs ('steer' or 'followUp') to queue the message.",
        ));
    }
    let input = Input {
        text,
        images,
        source: InputSource::Hook,
    };
    if let Some(when) = when.filter(|_| handle.is_running()) {
        registry.ui(|ui| ui.queued(&input.text, when));
    }
    let delivery = when.map_or(Delivery::FollowUp, delivery);
    match calls_by_name {
        true => handle.messages().type_line(input, delivery),
        false => handle.messages().say(input, delivery),
    }
    .map_err(refused)
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text } => Some(text),
        _ => None,
    }
}

/// The model's names for the tools that an extension names.
fn models_names(registry: &ExtensionRegistry, names: &[String]) -> Result<Vec<String>, HostError> {
    let tools = registry.session.config().tools().map_err(refused)?;
    let wanted = tools.iter().filter(|tool| {
        let known = pi_name(tool);
        // Extensions do not see it, so they cannot mean to leave it out.
        if tool.is_active && tools::ends_turn(tool) {
            return true;
        }
        let is_hidden = tools::exposure(registry, &tool.spec.source, &known) == Exposure::Hidden
            || !registry.allows_tool(&known);
        let mut names = names.iter();
        !is_hidden && names.any(|name| *name == known || *name == tool.spec.face.name)
    });
    Ok(wanted.map(|tool| tool.spec.face.name.clone()).collect())
}

fn all_tools(registry: &ExtensionRegistry) -> Result<Vec<ToolInfo>, HostError> {
    let tools = registry.session.config().tools().map_err(refused)?;
    let shown = tools.iter().filter(|tool| !tools::ends_turn(tool));
    let shown = shown.map(|tool| ToolInfo {
        name: pi_name(tool),
        description: tool.spec.face.description.clone(),
        parameters: tool.spec.face.parameters.clone(),
        prompt_guidelines: prompt::guidelines(registry, &tool.spec.source, &pi_name(tool)),
        exposure: tools::exposure(registry, &tool.spec.source, &pi_name(tool)),
        source_info: source_of(registry, &tool.spec.source),
    });
    Ok(shown.collect())
}

/// The source of a tool: becket itself, an extension, or another guest.
fn source_of(registry: &ExtensionRegistry, source: &str) -> SourceInfo {
    let of_extension = registry.extensions.with(source, |guest| {
        let (scope, by) = origin_words(&guest.candidate.origin);
        SourceInfo {
            path: guest.candidate.file.display().to_string(),
            source: by.to_owned(),
            scope,
            origin: if by == "cli" || by == "local" {
                "top-level"
            } else {
                "package"
            },
            base_dir: guest
                .candidate
                .file
                .parent()
                .map(|folder| folder.display().to_string()),
        }
    });
    of_extension.unwrap_or_else(|| SourceInfo {
        path: format!("<{source}>"),
        source: source.to_owned(),
        scope: if source == BUILTIN { "temporary" } else { "user" },
        origin: "top-level",
        base_dir: None,
    })
}

fn commands(registry: &ExtensionRegistry) -> Vec<CommandInfo> {
    let named = commands::all(registry);
    let shown = named.into_iter().map(|(name, command, extension)| CommandInfo {
        name,
        description: command.description,
        source: "extension",
        location: registry.extensions.with(&extension, |guest| {
            match origin_words(&guest.candidate.origin).0 {
                "temporary" => "path",
                scope => scope,
            }
        }),
        path: registry
            .extensions
            .with(&extension, |guest| guest.candidate.file.display().to_string()),
        source_info: source_of(registry, &extension),
    });
    let resources = registry
        .stage()
        .map(|stage| resources::commands(&stage.resources));
    shown.chain(resources.into_iter().flatten()).collect()
}
