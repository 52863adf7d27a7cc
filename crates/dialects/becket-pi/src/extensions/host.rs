//! Answers what extensions ask for, at once (`HostCall`) or in its own time (`later.rs`).

use std::path::Path;
use std::sync::Arc;

use becket_agent::desk::{Delivery, DeskError, ToolSeen, WhenIdle};
use becket_agent::provider::ThinkingLevel;
use becket_agent::{Input, tool::BUILTIN};
use becket_events::{InputSource, NoteDraft, OperationKind, Part};
use becket_hooks::Failure;
use becket_js::{Host, HostError, LentTerminal, Meanwhile};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};

use super::board::{Board, Command, origin_words};
use super::calls::StreamNews;
use super::{bus, later, models, moves, resources, sessions, tool};
use crate::host_call::{
    About, CommandInfo, CustomMessage, HOST_CALL, HostCall, HostCallAsync, Shown, SourceInfo, ToolInfo,
};

/// A board as extensions see it. It is the board's only owner among them, so that calls can outlive the caller.
pub struct BoardHost(pub Arc<Board>);

/// What a call answers: JSON text, or why there is none.
type Answer = Result<String, HostError>;

impl Host for BoardHost {
    fn call(&self, extension: &str, name: &str, arguments: &str) -> Answer {
        check(name)?;
        let call = HostCall::read(arguments).map_err(HostError::new)?;
        answer(&self.0, extension, call)
    }

    fn lend_terminal(&self, meanwhile: Meanwhile) -> Option<LentTerminal> {
        self.0.lend_terminal(meanwhile)
    }

    fn call_async(&self, extension: &str, name: &str, arguments: String) -> BoxFuture<'static, Answer> {
        if let Some(answer) = self.0.network.call(extension, name, &arguments) {
            return answer;
        }
        let read = check(name).and_then(|()| HostCallAsync::read(&arguments).map_err(HostError::new));
        let (board, extension) = (Arc::clone(&self.0), extension.to_owned());
        // These count from now on, and not when somebody gets round to waiting for them.
        if let Ok(call) = &read
            && let Some(going) = moves::go(&board, &extension, call)
        {
            return going;
        }
        let read = match read {
            Ok(HostCallAsync::Compact { custom_instructions }) => {
                return later::compact(&board, custom_instructions).boxed();
            }
            Ok(HostCallAsync::Component(placed)) => {
                return later::component(&board, &extension, placed).boxed();
            }
            read => read,
        };
        async move { later::answer(&board, &extension, read?).await }.boxed()
    }

    fn renewing(&self, extension: &str) {
        self.0.renewing(extension);
    }

    fn renewed(&self, extension: &str, loaded: Result<(), Failure>) {
        self.0.renewed(extension, loaded);
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

/// JSON text of a value.
pub fn json_of(value: &impl Serialize) -> Answer {
    serde_json::to_string(value).map_err(|error| HostError::new(error.to_string()))
}

fn done() -> Answer {
    Ok("null".into())
}

pub fn refused(error: DeskError) -> HostError {
    HostError::new(error.to_string())
}

// tidy: a table
pub fn answer(board: &Arc<Board>, name: &str, call: HostCall) -> Answer {
    let desk = &board.desk;
    match call {
        HostCall::About => return json_of(&about(board, name)),
        HostCall::On { event, handler } => board.hear(name, event, handler).map_err(HostError::new)?,
        HostCall::Off { handler } => board.unhear(name, handler),
        HostCall::RegisterTool(definition) => board.add_tool(name, definition),
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
            board.with(name, |guest| {
                guest.commands.retain(|other| other.name != command.name);
                guest.commands.push(command);
            });
        }
        HostCall::RegisterShortcut { key, .. } => {
            board.with(name, |guest| guest.shortcuts.push(key));
        }
        HostCall::RegisterRenderer { custom_type } => {
            board.with(name, |guest| guest.renderers.push(custom_type));
        }
        HostCall::ResolveRenderers => {
            board.with(name, |guest| guest.resolves_renderers = true);
        }
        HostCall::TransformMarkdown => {
            board.with(name, |guest| guest.transforms_markdown = true);
        }
        HostCall::RegisterFlag(flag) => board.add_flag(name, flag),
        HostCall::GetFlag { name: flag } => return json_of(&board.flag(name, &flag)),
        HostCall::RegisterProvider(provider) => {
            board.with(name, |guest| {
                guest.providers.retain(|other| other.name != provider.name);
                guest.providers.push(provider);
            });
        }
        HostCall::UnregisterProvider { name: provider } => board.withdraw_provider(name, &provider),
        HostCall::BusListen { channel } => {
            board.with(name, |guest| guest.channels.push(channel));
        }
        HostCall::BusEmit { channel, data } => bus::emit(board, name, &channel, &data),
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
            desk.note(draft(message)?, delivery, when_idle).map_err(refused)?;
        }
        HostCall::SendUserMessage {
            content,
            deliver_as,
            expand_prompt_templates,
        } => say(board, &content, deliver_as, expand_prompt_templates)?,
        HostCall::AppendEntry { custom_type, data } => {
            desk.remember(&custom_type, data.unwrap_or_default())
                .map_err(refused)?;
        }
        HostCall::SetSessionName { name } => {
            desk.set_name(&name).map_err(refused)?;
        }
        HostCall::SetLabel { entry_id, label } => {
            desk.set_label(&entry_id, label.as_deref()).map_err(refused)?;
        }
        HostCall::GetActiveTools => return json_of(&active_tools(board)?),
        HostCall::SetActiveTools { names } => desk.set_active_tools(models_names(board, &names)?),
        HostCall::GetAllTools => return json_of(&all_tools(board)?),
        HostCall::GetCommands => return json_of(&commands(board)),
        HostCall::GetThinkingLevel => {
            let level = desk.thinking().map_err(refused)?;
            return json_of(&level.unwrap_or(ThinkingLevel::Off));
        }
        HostCall::SetThinkingLevel { level } => {
            let level = serde_json::from_value(json!(level))
                .map_err(|_| HostError::new(format!("there is no thinking level {level:?}")))?;
            desk.set_thinking(level);
        }
        HostCall::IsIdle => return json_of(&desk.is_idle()),
        HostCall::HasPendingMessages => return json_of(&desk.has_waiting()),
        HostCall::Abort => desk.abort(),
        HostCall::Shutdown => desk.shut_down(),
        HostCall::GetContextUsage => return json_of(&sessions::usage(board)),
        HostCall::GetSystemPrompt => return json_of(&desk.system_prompt().map_err(refused)?),
        HostCall::SystemPromptOptions => return json_of(&board.prompt_options()?),
        HostCall::BoundaryContext => return json_of(&sessions::at_boundary(board)?),
        HostCall::IsProjectTrusted => return json_of(&board.facts.trusted),
        HostCall::Session => return json_of(&sessions::info(board)?),
        HostCall::SessionHeader => return json_of(&sessions::header(board)?),
        HostCall::SessionFile => return json_of(&sessions::file(board)?),
        HostCall::SessionEntries => return json_of(&sessions::entries(board)?),
        HostCall::SessionBranch { from_id } => {
            return json_of(&sessions::branch(board, from_id.as_deref())?);
        }
        HostCall::SessionEntry { id } => return json_of(&sessions::entry(board, &id)?),
        HostCall::SessionLabel { id } => return json_of(&desk.label(&id).map_err(refused)?),
        HostCall::SessionContext => return json_of(&sessions::context(board)?),
        HostCall::Model => return json_of(&models::in_use(board)),
        HostCall::Models { available } => return json_of(&models::all(board, available)),
        HostCall::FindModel {
            provider,
            id,
            available,
        } => return json_of(&models::find(board, &provider, id.as_deref(), available)),
        HostCall::Themes => return resources::themes(board),
        HostCall::Theme { name } => return resources::theme(board, name.as_deref()),
        HostCall::SetTheme { name } => return json_of(&resources::set_theme(board, &name)),
        HostCall::Show(shown) => show(board, name, shown),
        HostCall::GetEditorText => return json_of(&board.ui(|ui| ui.editor_text())),
        HostCall::GetToolsExpanded => return json_of(&board.ui(|ui| ui.tools_expanded())),
        HostCall::PlaceComponent(placed) => drop(board.place(name, placed)),
        HostCall::Draw { id, lines } => board.components.draw(name, id, lines),
        HostCall::CloseComponent { id } => board.components.take_away(name, id),
        HostCall::Overlay { id, wish } => return json_of(&board.components.overlay(name, id, wish)),
        HostCall::Intercept { on } => board.intercept(name, on),
        HostCall::RegisterCompleter => board.add_completer(name),
        HostCall::Print { lines } => board.print(&lines),
        HostCall::Editor(news) => board.ui(|ui| ui.editor(news)).unwrap_or_default(),
        HostCall::LendTerminal { lent } => board.components.lend(board.screen().filter(|_| lent).as_ref()),
        HostCall::ScreenSize => {
            let size = board.screen().map(|screen| screen.size());
            return json_of(&size.map(|size| json!({"columns": size.columns, "rows": size.rows})));
        }
        HostCall::Statuses => return json_of(&board.ui(|ui| ui.statuses()).unwrap_or_default()),
        HostCall::GitBranch => return json_of(&git_branch(&board.facts.surroundings.cwd)),
        HostCall::ToolUpdate { call_id, result } => {
            if let Some(progress) = tool::progress(&result) {
                board.calls.update_tool(&call_id, progress);
            }
        }
        HostCall::ProviderEvent { stream, event } => board.calls.stream(stream, StreamNews::Event(event)),
        HostCall::ShellOutput { run, text } => board.calls.shell_output(run, text),
        HostCall::Cancel { id } => board.calls.cancel(name, id),
        HostCall::ExportLine => return json_of(&export_line(board, name)),
        HostCall::Report { event, error } => board.fail(name, Some(&event), &error),
    }
    done()
}

/// Shows something. An editor of an extension's is told what is to stand in it.
fn show(board: &Arc<Board>, name: &str, shown: Shown) {
    match &shown {
        Shown::EditorText { text } if board.tell_editor(text, false) => {}
        Shown::Paste { text } if board.tell_editor(text, true) => return,
        _ => {}
    }
    if let Some(undone) = shown.undone() {
        board.with(name, |guest| {
            guest.undoing.retain(|other| *other != undone);
            guest.undoing.push(undone);
        });
    }
    board.ui(|ui| ui.show(name, shown)).unwrap_or_default();
}

/// The branch that is checked out where a folder lies; a commit without one in a few letters.
fn git_branch(folder: &Path) -> Option<String> {
    let heads = folder.ancestors().map(|folder| folder.join(".git/HEAD"));
    let head = heads
        .filter_map(|file| std::fs::read_to_string(file).ok())
        .next()?;
    let head = head.trim();
    let branch = head.strip_prefix("ref: refs/heads/");
    Some(branch.map_or_else(|| head.chars().take(7).collect(), ToOwned::to_owned))
}

fn about(board: &Board, name: &str) -> About {
    let guest = board.with(name, |guest| {
        (guest.candidate.file.display().to_string(), guest.life)
    });
    let (path, life) = guest.unwrap_or_default();
    let mode = board.mode();
    About {
        path,
        cwd: board.facts.surroundings.cwd.display().to_string(),
        mode,
        has_ui: mode.has_ui(),
        life,
    }
}

/// The line in which an extension's file exports its default.
fn export_line(board: &Board, name: &str) -> usize {
    let file = board.with(name, |guest| guest.candidate.code().to_path_buf());
    let text = file.and_then(|file| std::fs::read_to_string(file).ok());
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

/// Words, or pi's list of text and images.
fn content(value: &Value) -> Result<Vec<Part>, HostError> {
    match value {
        Value::String(text) => Ok(vec![Part::text(text.as_str())]),
        other => crate::messages::written_parts(other, "content")
            .map_err(|failure| HostError::new(failure.to_string())),
    }
}

fn say(
    board: &Arc<Board>,
    value: &Value,
    when: Option<crate::host_call::Delivery>,
    calls_by_name: bool,
) -> Result<(), HostError> {
    let desk = &board.desk;
    let (words, images): (Vec<Part>, Vec<Part>) = content(value)?
        .into_iter()
        .partition(|part| matches!(part, Part::Text { .. }));
    let text: Vec<&str> = words.iter().filter_map(text_of).collect();
    let text = text.join("\n");
    // A command runs at once, whatever the agent does.
    if let Some(command) = board.called(&text).filter(|_| calls_by_name) {
        board.start_command(command);
        return Ok(());
    }
    if when.is_none() && desk.is_running() {
        return Err(HostError::new(
            "Agent is already processing. Specify deliverAs ('steer' or 'followUp') to queue the message.",
        ));
    }
    let input = Input {
        text,
        images,
        source: InputSource::Hook,
    };
    if let Some(when) = when.filter(|_| desk.is_running()) {
        board.ui(|ui| ui.queued(&input.text, when));
    }
    let delivery = when.map_or(Delivery::FollowUp, delivery);
    match calls_by_name {
        true => desk.type_line(input, delivery),
        false => desk.say(input, delivery),
    }
    .map_err(refused)
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text } => Some(text),
        _ => None,
    }
}

/// The tools that the model is offered, in pi's words.
pub fn active_tools(board: &Board) -> Result<Vec<String>, HostError> {
    let tools = board.desk.tools().map_err(refused)?;
    let active = tools.iter().filter(|tool| tool.is_active);
    Ok(active.map(pi_name).collect())
}

/// The name of a tool in pi's words, where it is one of becket's operations that pi has.
fn pi_name(tool: &ToolSeen) -> String {
    let known = tool.spec.operation.and_then(|operation: OperationKind| {
        let profile = crate::profile();
        let face = profile.faces.iter().find(|face| face.operation == operation);
        face.map(|face| face.name.to_owned())
    });
    known.unwrap_or_else(|| tool.spec.face.name.clone())
}

/// Names that an extension uses, as the model knows these tools.
fn models_names(board: &Board, names: &[String]) -> Result<Vec<String>, HostError> {
    let tools = board.desk.tools().map_err(refused)?;
    let wanted = tools.iter().filter(|tool| {
        let known = pi_name(tool);
        names
            .iter()
            .any(|name| *name == known || *name == tool.spec.face.name)
    });
    Ok(wanted.map(|tool| tool.spec.face.name.clone()).collect())
}

fn all_tools(board: &Board) -> Result<Vec<ToolInfo>, HostError> {
    let tools = board.desk.tools().map_err(refused)?;
    let shown = tools.iter().map(|tool| ToolInfo {
        name: pi_name(tool),
        description: tool.spec.face.description.clone(),
        parameters: tool.spec.face.parameters.clone(),
        prompt_guidelines: board.guidelines(&tool.spec.source, &pi_name(tool)),
        source_info: source_of(board, &tool.spec.source),
    });
    Ok(shown.collect())
}

/// Where a tool comes from: becket itself, an extension, or somebody else.
fn source_of(board: &Board, source: &str) -> SourceInfo {
    let of_extension = board.with(source, |guest| {
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

fn commands(board: &Board) -> Vec<CommandInfo> {
    let named = board.commands();
    let shown = named.into_iter().map(|(name, command, extension)| CommandInfo {
        name,
        description: command.description,
        source: "extension",
        location: board.with(&extension, |guest| {
            match origin_words(&guest.candidate.origin).0 {
                "temporary" => "path",
                scope => scope,
            }
        }),
        path: board.with(&extension, |guest| guest.candidate.file.display().to_string()),
        source_info: source_of(board, &extension),
    });
    let resources = board.stage().map(|stage| resources::commands(&stage.shelf));
    shown.chain(resources.into_iter().flatten()).collect()
}
