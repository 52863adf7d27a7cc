//! Answers what takes its time: programs, summaries, other models. Each has a deadline or can be called off.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use becket_agent::CompactEnd;
use becket_agent::desk::{ChosenModel, Desk};
use becket_agent::provider::{Begun, Sending};
use becket_agent::store::EntryContent;
use becket_events::{Header, Json, ModelChoice};
use becket_hooks::{Cause, CommandLane, Failure, Invocation, Lane, Limits, Program};
use becket_js::{Extension, HostError};
use serde_json::Value;

use super::board::Board;
use super::calls::StreamNews;
use super::host::{json_of, refused};
use super::{completion, models, moves};
use crate::compaction_result;
use crate::host_call::{Dialog, DialogAnswer, ExecResult, HostCallAsync, Placed};

/// How long a program or a person may take where no time is named.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// How much a program may write.
const OUTPUT: Limits = Limits {
    output: 64 * 1024 * 1024,
    stderr: 4 * 1024 * 1024,
};

/// What a call answers: JSON text, or why there is none.
pub async fn answer(board: &Arc<Board>, name: &str, call: HostCallAsync) -> Result<String, HostError> {
    if let Some(going) = moves::go(board, name, &call) {
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
            let run = exec((board, name), command, args, cwd.as_deref(), timeout);
            let result = unless_called_off(board, name, id, run).await;
            json_of(&result.unwrap_or_else(|| Ok(killed(String::new(), String::new())))?)
        }
        HostCallAsync::Dialog { id, dialog, timeout } => {
            let unanswered = dialog.unanswered();
            let asked = ask_person((board, name), dialog, timeout);
            let answer = unless_called_off(board, name, id, asked).await.flatten();
            json_of(&answer.unwrap_or(unanswered))
        }
        HostCallAsync::Complete { text, before, forced } => {
            let found = board.suggest(&text, &before, forced, Some(name)).await;
            json_of(&super::taps::written(found))
        }
        HostCallAsync::Component(placed) => component(board, name, placed).await,
        HostCallAsync::SetModel { provider, id } => {
            json_of(&set_model(board, &provider, &id, ModelChoice::Set))
        }
        HostCallAsync::Compact { custom_instructions } => compact(board, custom_instructions).await,
        HostCallAsync::NewSession { .. }
        | HostCallAsync::SwitchSession { .. }
        | HostCallAsync::Fork { .. }
        | HostCallAsync::NavigateTree { .. }
        | HostCallAsync::Reload => Err(HostError::new("it leads nowhere")),
        HostCallAsync::WaitForIdle => {
            board.desk.idle().await;
            Ok("null".into())
        }
        HostCallAsync::WaitForAbort => json_of(&aborted(&board.desk).await),
        HostCallAsync::ProviderPayload { stream, payload } => let_send(board, stream, &payload).await,
        HostCallAsync::ProviderResponse {
            stream,
            status,
            headers,
        } => {
            let headers = headers.into_iter().map(|(name, value)| Header { name, value });
            let headers = headers.collect();
            board
                .calls
                .stream(stream, StreamNews::Begun(Begun { status, headers }));
            Ok("null".into())
        }
        HostCallAsync::ModelComplete {
            id,
            model,
            context,
            options,
        } => {
            let asked = completion::complete(board, &model, &context, &options);
            let answer = unless_called_off(board, name, id, asked).await;
            json_of(&answer.unwrap_or_else(|| completion::failed(&model, "aborted", "Request was aborted")))
        }
    }
}

/// Puts a component on the screen, and waits until it is gone. It is there from now on: it may be closed before anybody
/// waits.
pub fn component(
    board: &Arc<Board>,
    name: &str,
    placed: Placed,
) -> impl Future<Output = Result<String, HostError>> + Send + use<> {
    let extension = board.with(name, |guest| guest.extension.clone()).flatten();
    let pause = extension.as_ref().map(Extension::pause_clock);
    let gone = board.place(name, placed);
    async move {
        if let Some(gone) = gone {
            gone.cancelled().await;
        }
        drop(pause);
        Ok("null".into())
    }
}

/// Asks the person, while no handler's time runs out. `None` if there is no answer in time.
async fn ask_person(
    (board, name): (&Board, &str),
    dialog: Dialog,
    timeout: Option<f64>,
) -> Option<DialogAnswer> {
    let ui = board.ui(Arc::clone)?;
    let extension = board.with(name, |guest| guest.extension.clone()).flatten();
    let _pause = extension.as_ref().map(Extension::pause_clock);
    let timeout = timeout.filter(|milliseconds| *milliseconds >= 1.0);
    let timeout = timeout.map(|milliseconds| Duration::from_millis(milliseconds as u64).min(LONGEST));
    let asked = ui.ask(name, dialog, timeout);
    tokio::time::timeout(timeout.unwrap_or(LONGEST), asked).await.ok()
}

/// What a stream may send of what it has written, as hooks say.
async fn let_send(board: &Board, stream: u32, payload: &Value) -> Result<String, HostError> {
    let body = Json::of(payload).map_err(|error| HostError::new(error.to_string()))?;
    let (sending, answer) = Sending::new(body);
    board.calls.stream(stream, StreamNews::Sends(sending));
    match answer.await {
        Ok(Ok(body)) => Ok(body.text().to_owned()),
        Ok(Err(why)) => Err(HostError::new(why)),
        // A stream that nobody listens to any more.
        Err(_) => Err(HostError::new("the request is not wanted any more")),
    }
}

/// Does something until the extension calls it off.
async fn unless_called_off<T>(
    board: &Board,
    name: &str,
    id: u32,
    work: impl Future<Output = T>,
) -> Option<T> {
    let called_off = board.calls.begin_call(name, id);
    let result = tokio::select! {
        biased;
        () = called_off.cancelled() => None,
        result = work => Some(result),
    };
    board.calls.end_call(name, id);
    result
}

/// Runs a program. One that cannot be started has ended with code 1, and says why.
async fn exec(
    (board, name): (&Board, &str),
    command: String,
    args: Vec<String>,
    cwd: Option<&str>,
    timeout: Option<f64>,
) -> Result<ExecResult, HostError> {
    let facts = &board.facts;
    if !facts.processes {
        return Err(HostError::new(
            "extensions may not run programs: `processes = false` in [pi] of the settings",
        ));
    }
    board.note_program();
    let words: Vec<String> = std::iter::once(command).chain(args).collect();
    board.trace(name, "pi.exec", &words.join(" "));
    let program = Program::exec(words).environment(Arc::clone(&facts.environment));
    let timeout = timeout.filter(|milliseconds| *milliseconds >= 1.0);
    let invocation = Invocation {
        input: "".into(),
        environment: Vec::new(),
        directory: facts.surroundings.cwd.join(cwd.map_or(Path::new("."), Path::new)),
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
        },
        Err(failure) => broken(failure),
    })
}

fn broken(failure: Failure) -> ExecResult {
    match failure.cause {
        Cause::TimedOut | Cause::KilledBySignal => killed(failure.stdout, failure.stderr),
        _ => ExecResult {
            stdout: failure.stdout.clone(),
            stderr: format!("{}{failure}", failure.stderr),
            code: 1,
            killed: false,
        },
    }
}

fn killed(stdout: String, stderr: String) -> ExecResult {
    ExecResult {
        stdout,
        stderr,
        code: 143,
        killed: true,
    }
}

/// Chooses a model for the session; whether it can be had.
pub fn set_model(board: &Board, provider: &str, id: &str, choice: ModelChoice) -> bool {
    let named = board.model(&format!("{provider}/{id}")).ok();
    // A model that the session has worked with may have been chosen by another name.
    let Some(model) = named.or_else(|| models::used(board, provider, id)) else {
        return false;
    };
    let context_window = models::context_window(board, provider, id);
    board.desk.set_model(ChosenModel {
        provider: model,
        context_window,
        choice,
    });
    true
}

/// A summary. The wish counts from now on, and not when somebody gets round to waiting for it.
pub fn compact(
    board: &Board,
    instructions: Option<String>,
) -> impl Future<Output = Result<String, HostError>> + Send + use<> {
    let desk = board.desk.clone();
    let before = desk.context_usage().map_or(0, |usage| usage.tokens);
    let wished = desk.compact(instructions);
    async move { json_of(&compacted(&desk, wished.await.map_err(refused)?, before)?) }
}

/// What came of a wish for a summary, in the extension's words.
fn compacted(desk: &Desk, end: CompactEnd, before: u64) -> Result<Value, HostError> {
    let why = match end {
        CompactEnd::Compacted {
            summary, entry_id, ..
        } => {
            let entry = desk.entry(&entry_id).map_err(refused)?;
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

/// Waits until what the agent does is over; whether somebody has ended it.
async fn aborted(desk: &Desk) -> bool {
    let Some(cancel) = desk.cancel() else {
        return false;
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => true,
        () = desk.idle() => false,
    }
}
