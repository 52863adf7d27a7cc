//! Carries out what was asked for through the session handle (`session_handle.rs`), and runs the messages that wait.
//!
//! This happens at three moments: before a model request, choices take effect and a summary that was asked for is
//! written; after a run, notes and entries are stored and messages that arrived meanwhile run next; and while nothing
//! runs, `attend` does both.

use becket_events::{EndReason, Settled, SettledPayload};
use becket_gate::Hooks;
use tokio_util::sync::CancellationToken;

use crate::compact::grant_all;
use crate::current_agent::{apply_choices, begin_work};
use crate::endings::{Ending, RunEnd};
use crate::input::Input;
use crate::queue::Said;
use crate::run::run_said;
use crate::session::Session;
use crate::store::StoreError;
use crate::storing::keep_waiting;

/// Does what was asked for through the handle while nothing ran, and says how the last run ended if there was one.
/// A cancel ends it soon.
pub(crate) async fn attend_to_handle(
    session: &mut Session,
    cancel: CancellationToken,
) -> Result<Option<RunEnd>, StoreError> {
    begin_work(session, cancel);
    work_off(session, None).await
}

/// Answers a prompt of the user, and after it the messages that were queued. A cancel ends it soon.
pub(crate) async fn answer_prompt(
    session: &mut Session,
    input: Input,
    cancel: CancellationToken,
) -> Result<RunEnd, StoreError> {
    begin_work(session, cancel);
    let end = work_off(session, Some(Said::Words(input))).await?;
    Ok(end.expect("what is said first always runs"))
}

/// Runs the first message, and after it everything that arrived meanwhile. After a bad end nothing more runs.
async fn work_off(session: &mut Session, first: Option<Said>) -> Result<Option<RunEnd>, StoreError> {
    let mut result = run_waiting(session, first).await;
    if let (Ok(Some(end)), Some(handle)) = (&mut result, &session.inbox.handle)
        && end.ending == Ending::Cancelled
        && handle.was_aborted()
    {
        end.ending = Ending::Aborted;
    }
    let is_bad = match &result {
        Ok(Some(end)) => !may_continue(&end.ending),
        Ok(None) => false,
        Err(_) => true,
    };
    if is_bad {
        session.inbox.queues.hold();
    }
    session.inbox.forget_cancel();
    if std::mem::take(&mut session.progress.unsettled) {
        tell_settled(&session.hooks, &result).await;
        session.speaker.agent.front.settled();
    }
    session.inbox.queues.rest();
    result
}

/// Tells hooks that nothing is left to do. Messages from now on begin something new.
async fn tell_settled(hooks: &Hooks, result: &Result<Option<RunEnd>, StoreError>) {
    let reason = match result {
        Ok(end) => end.as_ref().map_or(EndReason::Done, |end| end.ending.reason()),
        Err(_) => EndReason::Failed,
    };
    hooks.tell::<Settled>(|| SettledPayload { reason }).await;
}

async fn run_waiting(session: &mut Session, first: Option<Said>) -> Result<Option<RunEnd>, StoreError> {
    let mut next = first;
    let mut last: Option<RunEnd> = None;
    loop {
        apply_choices(session).await;
        // After a cancelled run a summary would be cancelled too; it waits until the next work begins.
        if last.is_none() || !session.hooks.cancel().is_cancelled() {
            grant_all(session).await?;
        }
        keep_waiting(session).await?;
        if last.as_ref().is_some_and(|end| !may_continue(&end.ending)) {
            return Ok(last);
        }
        let Some(said) = next.take().or_else(|| session.inbox.queues.next()) else {
            return Ok(last);
        };
        if said.is_of_the_person() {
            session.progress.unasked = 0;
        } else if session.progress.unasked >= session.speaker.agent.settings.most_unasked() {
            return Ok(Some(too_much_unasked(session, last).await));
        }
        let (counted, by_person) = (session.progress.unasked, said.is_of_the_person());
        last = Some(run_said(session, said).await?);
        if !by_person && session.progress.unasked == counted {
            // A run that a hook took care of counts too, or a hook could keep it going for ever.
            session.progress.unasked += 1;
        }
    }
}

/// Ends the work: a hook that sends a message after each answer would never let the model rest.
async fn too_much_unasked(session: &Session, last: Option<RunEnd>) -> RunEnd {
    let limit = session.speaker.agent.settings.most_unasked();
    let dropped = session.inbox.queues.drop_waiting() + 1;
    let message = format!(
        "hooks have caused {limit} requests since the user last spoke, and that is the limit for one prompt; \
         what they wanted to say next was dropped ({dropped})"
    );
    session.warn(&message).await;
    RunEnd {
        answer: last.map(|end| end.answer).unwrap_or_default(),
        ending: Ending::Limit(message),
    }
}

/// Whether messages that arrived meanwhile run after such an end.
fn may_continue(ending: &Ending) -> bool {
    matches!(ending, Ending::Answered | Ending::Handled(_))
}
