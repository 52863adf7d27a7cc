//! Answers the asynchronous calls of extensions: programs, summaries, other models. Each has a deadline or can be
//! cancelled.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use becket_agent::CompactEnd;
use becket_agent::provider::{Begun, Sending};
use becket_agent::session_handle::{ChosenModel, SessionHandle};
use becket_agent::store::EntryContent;
use becket_events::{Header, Json, ModelChoice};
use becket_hooks::{Cause, CommandLane, Failure, Invocation, Lane, Limits, Program};
use becket_js::{Extension, HostError};
use serde_json::Value;

use super::answer::{json_of, refused};
use super::calls::StreamNews;
use super::registry::ExtensionRegistry;
use super::{completion, direct, input, models, moves, nested_calls, placing};
use crate::compaction_result;
use crate::host_call::{Dialog, DialogAnswer, ExecResult, HostCallAsync, Placed};

/// How long a program or the user may take by default.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// How much a program may write.
const OUTPUT: Limits = Limits {
    output: 64 * 1024 * 1024,
    stderr: 4 * 1024 * 1024,
};

/// Answers a call: JSON text, or why there is none.
// tidy: a table
pub async fn answer(
    registry: &Arc<ExtensionRegistry>,
    name: &str,
    call: HostCallAsync,
) -> Result<String, HostError> {
    if let Some(going) = moves::go(registry, name, &call) {
        return going.await;
    }
    match call {
        HostCallAsync::Exec {
            id,
            command,
            args,
            cwd,
            timeout,
        } => {
            let run = exec((registry, name), command, args, cwd.as_deref(), timeout);
            let result = unless_called_off(registry, name, id, run).await;
            json_of(&result.unwrap_or_else(|| Ok(killed(String::new(), String::new())))?)
        }
        HostCallAsync::Dialog { id, dialog, timeout } => {
            json_of(&dialog_answer(registry, name, (id, dialog, timeout)).await)
        }
        HostCallAsync::Complete { text, before, forced } => {
            let found = input::suggest(registry, &text, &before, forced, Some(name)).await;
            json_of(&input::written(found))
        }
        HostCallAsync::Component(placed) => component(registry, name, placed).await,
        HostCallAsync::SetModel { provider, id } => {
            json_of(&set_model(registry, &provider, &id, ModelChoice::Set))
        }
        HostCallAsync::Compact { custom_instructions } => compact(registry, custom_instructions).await,
        HostCallAsync::NewSession { .. }
        | HostCallAsync::SwitchSession { .. }
        | HostCallAsync::Fork { .. }
        | HostCallAsync::NavigateTree { .. }
        | HostCallAsync::Reload => Err(HostError::new("it leads nowhere")),
        HostCallAsync::WaitForIdle => {
            registry.session.idle().await;
            Ok("null".into())
        }
        HostCallAsync::WaitForAbort => json_of(&aborted(&registry.session).await),
        HostCallAsync::ProviderPayload { stream, payload } => let_send(registry, stream, &payload).await,
        HostCallAsync::ProviderResponse {
            stream,
            status,
            headers,
        } => {
            let headers = headers.into_iter().map(|(name, value)| Header { name, value });
            let headers = headers.collect();
            registry
                .calls
                .stream(stream, StreamNews::Begun(Begun { status, headers }));
            Ok("null".into())
        }
        HostCallAsync::CallTool {
            id,
            call_id,
            tool,
            arguments,
        } => {
            let call = nested_calls::call(registry, &call_id, &tool, arguments);
            let answer = unless_called_off(registry, name, id, call).await;
            json_of(&answer.unwrap_or_else(|| nested_calls::failed("Operation aborted")))
        }
        HostCallAsync::ModelComplete {
            id,
            model,
            context,
            options,
            by,
        } => {
            let way = (name, by.as_ref());
            let asked = completion::complete(registry, way, &model, &context, &options);
            let answer = unless_called_off(registry, name, id, asked).await;
            json_of(&answer.unwrap_or_else(|| completion::failed(&model, "aborted", "Request was aborted")))
        }
    }
}

/// Puts a component on the screen at once, and returns a future that waits until it is closed, which may happen before
/// the future is awaited.
pub fn component(
    registry: &Arc<ExtensionRegistry>,
    name: &str,
    placed: Placed,
) -> impl Future<Output = Result<String, HostError>> + Send + use<> {
    let extension = registry
        .extensions
        .with(name, |guest| guest.extension.clone())
        .flatten();
    let pause = extension.as_ref().map(Extension::pause_clock);
    let gone = placing::place(registry, name, placed);
    async move {
        if let Some(gone) = gone {
            gone.cancelled().await;
        }
        drop(pause);
        Ok("null".into())
    }
}

/// Asks the user, and tells extensions that the user is asked.
async fn dialog_answer(
    registry: &Arc<ExtensionRegistry>,
    name: &str,
    (id, dialog, timeout): (u32, Dialog, Option<f64>),
) -> DialogAnswer {
    let unanswered = dialog.unanswered();
    let (kind, title) = named(&dialog);
    let tell = |event| {
        if registry.mode().has_ui() {
            direct::tell(registry, event, |fields| {
                let fields = fields.with("reason", "ui_prompt").with("kind", kind);
                fields.with("title", &title)
            });
        }
    };
    tell("ui_prompt_start");
    let asked = ask_person((registry, name), dialog, timeout);
    let answer = unless_called_off(registry, name, id, asked).await.flatten();
    tell("ui_prompt_end");
    answer.unwrap_or(unanswered)
}

/// pi's word for a dialog, and its title.
fn named(dialog: &Dialog) -> (&'static str, String) {
    match dialog {
        Dialog::Select { title, .. } => ("select", title.clone()),
        Dialog::Confirm { title, .. } => ("confirm", title.clone()),
        Dialog::Input { title, .. } => ("input", title.clone()),
        Dialog::Editor { title, .. } => ("editor", title.clone()),
    }
}

/// Asks the user; meanwhile no handler times out. `None` if there is no answer in time.
async fn ask_person(
    (registry, name): (&ExtensionRegistry, &str),
    dialog: Dialog,
    timeout: Option<f64>,
) -> Option<DialogAnswer> {
    let ui = registry.ui(Arc::clone)?;
    let extension = registry
        .extensions
        .with(name, |guest| guest.extension.clone())
        .flatten();
    let _pause = extension.as_ref().map(Extension::pause_clock);
    let timeout = timeout.filter(|milliseconds| *milliseconds >= 1.0);
    let timeout = timeout.map(|milliseconds| Duration::from_millis(milliseconds as u64).min(LONGEST));
    let asked = ui.ask(name, dialog, timeout);
    tokio::time::timeout(timeout.unwrap_or(LONGEST), asked).await.ok()
}

/// The request that a stream may send, as hooks have changed it.
async fn let_send(registry: &ExtensionRegistry, stream: u32, payload: &Value) -> Result<String, HostError> {
    let body = Json::of(payload).map_err(|error| HostError::new(error.to_string()))?;
    let (sending, answer) = Sending::new(body);
    registry.calls.stream(stream, StreamNews::Sends(sending));
    match answer.await {
        Ok(Ok(body)) => Ok(body.text().to_owned()),
        Ok(Err(why)) => Err(HostError::new(why)),
        // The stream is no longer needed.
        Err(_) => Err(HostError::new("the request is not wanted any more")),
    }
}

/// Does work until the extension cancels it.
async fn unless_called_off<T>(
    registry: &ExtensionRegistry,
    name: &str,
    id: u32,
    work: impl Future<Output = T>,
) -> Option<T> {
    let called_off = registry.calls.begin_call(name, id);
    let result = tokio::select! {
        biased;
        () = called_off.cancelled() => None,
        result = work => Some(result),
    };
    registry.calls.end_call(name, id);
    result
}

/// Runs a program. One that cannot be started ends with code 1, and the error is on standard error.
async fn exec(
    (registry, name): (&ExtensionRegistry, &str),
    command: String,
    args: Vec<String>,
    cwd: Option<&str>,
    timeout: Option<f64>,
) -> Result<ExecResult, HostError> {
    let facts = &registry.facts;
    if !facts.processes {
        return Err(HostError::new(
            "extensions may not run programs: `processes = false` in [pi] of the settings",
        ));
    }
    registry.note_program();
    let shown = command.clone();
    let words: Vec<String> = std::iter::once(command).chain(args).collect();
    registry.trace(name, "pi.exec", &words.join(" "));
    let directory = facts.surroundings.cwd.join(cwd.map_or(Path::new("."), Path::new));
    let program = Program::exec(words).environment(Arc::clone(&facts.environment));
    let timeout = timeout.filter(|milliseconds| *milliseconds >= 1.0);
    let invocation = Invocation {
        input: "".into(),
        environment: Vec::new(),
        directory,
        timeout: timeout.map_or(LONGEST, |milliseconds| {
            Duration::from_millis(milliseconds as u64).min(LONGEST)
        }),
    };
    let lane = CommandLane::new(program).limits(Limits {
        output: OUTPUT.output.min(facts.memory),
        ..OUTPUT
    });
    Ok(match lane.run(invocation).await {
        Ok(finished) => ExecResult {
            stdout: String::from_utf8_lossy(&finished.stdout).into_owned(),
            stderr: finished.stderr,
            code: finished.code,
            killed: false,
            truncated: false,
        },
        Err(failure) => broken(failure, &shown),
    })
}

fn broken(failure: Failure, program: &str) -> ExecResult {
    let (stdout, stderr) = (failure.stdout.clone(), failure.stderr.clone());
    let stderr = match failure.cause {
        Cause::TimedOut => return killed(stdout, stderr),
        // As in pi, the end by a signal of somebody else has no code.
        Cause::KilledBySignal => {
            return ExecResult {
                killed: false,
                ..killed(stdout, stderr)
            };
        }
        Cause::NotFound => format!("{stderr}spawn {program} ENOENT"),
        _ => format!("{stderr}{failure}"),
    };
    ExecResult {
        stdout,
        stderr,
        code: 1,
        killed: false,
        truncated: false,
    }
}

/// The end of a program that pi would have killed: its code is 0.
fn killed(stdout: String, stderr: String) -> ExecResult {
    ExecResult {
        stdout,
        stderr,
        code: 0,
        killed: true,
        truncated: false,
    }
}

/// Chooses a model for the session; returns whether it is available.
pub fn set_model(registry: &ExtensionRegistry, provider: &str, id: &str, choice: ModelChoice) -> bool {
    let named = registry.model(&format!("{provider}/{id}")).ok();
    // A model that the session has used may have been chosen by another name.
    let Some(model) = named.or_else(|| models::used(registry, provider, id)) else {
        return false;
    };
    let context_window = models::context_window(registry, provider, id);
    registry.session.config().set_model(ChosenModel {
        provider: model,
        context_window,
        choice,
    });
    if let Ok(Some(level)) = registry.session.config().thinking() {
        let nearest = models::nearest_level(registry, level.name());
        if nearest != level {
            registry.session.config().set_thinking(nearest);
        }
    }
    true
}

/// Requests a summary at once, and returns a future for the result.
pub fn compact(
    registry: &Arc<ExtensionRegistry>,
    instructions: Option<String>,
) -> impl Future<Output = Result<String, HostError>> + Send + use<> {
    let (registry, handle) = (Arc::clone(registry), registry.session.clone());
    let before = handle.context_usage().map_or(0, |usage| usage.tokens);
    let requested = handle.requests().compact(instructions);
    async move {
        let end = requested.await.map_err(refused)?;
        let cancelled = matches!(end, CompactEnd::Refused(_) | CompactEnd::Cancelled);
        let result = compacted(&handle, end, before);
        if let Err(error) = &result {
            let words = (!cancelled).then(|| error.message.clone());
            direct::tell(&registry, "session_compact_failed", |fields| {
                let fields = fields.with("reason", "manual").maybe("errorMessage", words);
                let fields = fields.with("aborted", cancelled).with("willRetry", false);
                fields.with("fromExtension", false)
            });
        }
        json_of(&result?)
    }
}

/// The result of a summary, in pi's form.
fn compacted(handle: &SessionHandle, end: CompactEnd, before: u64) -> Result<Value, HostError> {
    let why = match end {
        CompactEnd::Compacted {
            summary, entry_id, ..
        } => {
            let entry = handle.conversation().entry(&entry_id).map_err(refused)?;
            let kept = entry.and_then(|entry| match &entry.content {
                EntryContent::Compaction { first_kept_id, .. } => first_kept_id.clone(),
                _ => None,
            });
            return Ok(compaction_result(&summary, &kept.unwrap_or(entry_id), before));
        }
        CompactEnd::Nothing => "Nothing to compact (session too small)".to_owned(),
        CompactEnd::Refused(_) | CompactEnd::Cancelled => "Compaction cancelled".to_owned(),
        CompactEnd::Provider(error) => error.message,
        CompactEnd::NoSummary(words) => words.to_owned(),
    };
    Err(HostError::new(why))
}

/// Waits until the agent's run is over; returns whether it was aborted.
async fn aborted(handle: &SessionHandle) -> bool {
    let Some(cancel) = handle.cancel() else {
        return false;
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => true,
        () = handle.idle() => false,
    }
}
