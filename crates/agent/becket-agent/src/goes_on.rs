//! Does the run go on, and who has the word? After no answer, an empty one, a whole one, and a round of tools.

use std::sync::Arc;

use becket_events::{
    EntryDraft, ErrorKind, Fallback, InputSource, Level, Message, RequestPurpose, Stop, StopPayload,
    StopReason, TurnEnd, TurnEndedReply, text_of,
};

use crate::batch::FinishedCall;
use crate::front::Sight;
use crate::fuel::REPETITION_COST;
use crate::handoff::{Word, continuation_prompt};
use crate::message::{assistant, from_draft, note, user};
use crate::model_call::{CallFailure, ShownAnswer, Unfinished};
use crate::provider::{ProviderError, ProviderErrorKind};
use crate::run::{Ending, Run, TurnOver};
use crate::session::{Joins, Session};
use crate::store::{EntryContent, NewEntry, StoreError};

/// How often hooks of `stop` and `turn_end` may send the model on for one prompt.
const MAX_STOP_CONTINUATIONS: u32 = 10;

/// How many empty answers in a row end a run.
const MAX_EMPTY_ANSWERS: u32 = 3;

/// What the model reads when a hook sends it on without words.
const GO_ON: &str = "Go on.";

impl Session {
    pub(crate) async fn no_answer(
        &mut self,
        run: &mut Run,
        failure: CallFailure,
    ) -> Result<TurnOver, StoreError> {
        let over = |reason, message, ending| TurnOver {
            reason,
            message,
            tool_results: Vec::new(),
            ending,
        };
        Ok(match failure {
            CallFailure::Blocked(reason) => {
                self.raise(ErrorKind::HookBlocked, &reason).await;
                over(TurnEnd::HookBlocked, None, Some(Ending::Blocked(reason)))
            }
            CallFailure::Provider(error, unfinished) => {
                let message = self
                    .told(unfinished, StopReason::Error, Some(&error.message))
                    .await;
                if self.shortened(run, &error).await? {
                    return Ok(over(TurnEnd::Continue, Some(message), None));
                }
                self.keep_words(run, &message).await?;
                self.raise(ErrorKind::Provider, &error.message).await;
                over(TurnEnd::Error, Some(message), Some(Ending::Provider(error)))
            }
            CallFailure::Cancelled(unfinished) => {
                let message = self.told(unfinished, StopReason::Cancelled, None).await;
                self.keep_words(run, &message).await?;
                over(TurnEnd::Cancelled, Some(message), Some(Ending::Cancelled))
            }
        })
    }

    /// What had arrived of an answer was shown, so the conversation has it too.
    async fn keep_words(&mut self, run: &mut Run, message: &Message) -> Result<(), StoreError> {
        if message.content().is_empty() {
            run.unstored = Some(message.clone());
            return Ok(());
        }
        let agent = Arc::clone(&self.agent);
        let shown = ShownAnswer::of(&*agent.front, message, RequestPurpose::Answer);
        self.store_messages(vec![message.clone()]).await?;
        shown.settle();
        Ok(())
    }

    /// An answer that did not come, or broke off, is told like any other message.
    pub(crate) async fn told(
        &self,
        unfinished: Option<Unfinished>,
        stop_reason: StopReason,
        error: Option<&str>,
    ) -> Message {
        let model = self.agent.provider.model();
        let nothing = || Unfinished::nothing(model, stop_reason, error.map(ToOwned::to_owned));
        let Unfinished { message, begun } = unfinished.unwrap_or_else(nothing);
        if begun {
            return self.completed(message, Joins::InRun).await;
        }
        let mut told = self.finished(vec![message], Joins::InRun).await;
        told.pop().expect("one message for one message")
    }

    /// A conversation that was too long for the model is summarised, once; then it is worth another request.
    async fn shortened(&mut self, run: &mut Run, error: &ProviderError) -> Result<bool, StoreError> {
        if error.kind != ProviderErrorKind::ContextTooLong || run.overflowed {
            return Ok(false);
        }
        run.overflowed = true;
        let shorter = self.shorten(run).await?;
        if shorter {
            self.write_system_prompt(run).await;
        }
        Ok(shorter)
    }

    /// The model said nothing: it is asked again, which costs fuel, but not for ever. Nothing is stored.
    pub(crate) async fn empty_answer(&self, run: &mut Run, message: Message) -> TurnOver {
        run.empty_answers += 1;
        let (reason, ending) = if run.empty_answers >= MAX_EMPTY_ANSWERS {
            let words = format!("the model answered with nothing {MAX_EMPTY_ANSWERS} times in a row");
            self.raise(ErrorKind::Provider, &words).await;
            let error = ProviderError::new(ProviderErrorKind::Broken, words);
            (TurnEnd::Error, Some(Ending::Provider(error)))
        } else if run.fuel.burn(self.agent.settings.empty_answer_cost) {
            self.notify(Level::Warning, "the model's answer was empty; it is asked again")
                .await;
            (TurnEnd::Continue, None)
        } else {
            (TurnEnd::Limit, Some(self.out_of_fuel().await))
        };
        TurnOver {
            reason,
            message: Some(message),
            tool_results: Vec::new(),
            ending,
        }
    }

    /// The model has said everything: does the run end here? Where no tool gave somebody the word, the fallback does.
    pub(crate) async fn answered(&mut self, run: &mut Run) -> Result<(TurnEnd, Option<Ending>), StoreError> {
        if let Some(goes_on) = self.sent_on(run).await? {
            return Ok((goes_on, None));
        }
        if let Some(note) = run.note.take() {
            return self.reengage(run, "a note to yourself", &note).await;
        }
        match run.fallback {
            Fallback::CallUser => Ok((TurnEnd::Normal, Some(Ending::Answered))),
            Fallback::CallAgent => self.reengage(run, "call_agent", "").await,
        }
    }

    /// Hooks of `stop` and the person's own words may send the model on.
    async fn sent_on(&mut self, run: &mut Run) -> Result<Option<TurnEnd>, StoreError> {
        let payload = || StopPayload {
            response: run.answer.clone(),
            prompt: run.prompt.clone(),
            continuations: run.stop_continuations,
            entries: Vec::new(),
            go_on: false,
        };
        let reply = self.hooks.tell::<Stop>(payload).await;
        let drafts = reply.entries.get().unwrap_or_default();
        let said = last_words(&drafts);
        self.add_drafts(drafts).await?;
        let wishes = reply.go_on.get() == Some(true);
        let (reason, is_said) = match reply.continue_with.get() {
            Some(reason) => (Some(reason), false),
            None => (
                wishes.then(|| said.clone().unwrap_or_else(|| GO_ON.into())),
                said.is_some(),
            ),
        };
        if let Some(reason) = reason
            && self.may_go_on(run, &reason)
        {
            run.stop_continuations += 1;
            run.last_stop_reason = Some(reason.clone());
            if !is_said {
                self.add(vec![note("stop", &reason)]).await?;
            }
            return Ok(Some(TurnEnd::Continue));
        }
        Ok(self.queues.has_steering().then_some(TurnEnd::Steered))
    }

    /// What hooks of `turn_end` want: their drafts are stored, whatever ended the turn. Where the model had answered,
    /// it may be asked once more.
    pub(crate) async fn after_turn(
        &mut self,
        run: &mut Run,
        reply: TurnEndedReply,
        ending: Option<Ending>,
    ) -> Result<Option<Ending>, StoreError> {
        let drafts = reply.entries.get().unwrap_or_default();
        let says_something = drafts.iter().any(|draft| matches!(draft, EntryDraft::Note(_)));
        self.add_drafts(drafts).await?;
        if reply.go_on.get() != Some(true) || ending.is_none() {
            return Ok(ending);
        }
        if ending != Some(Ending::Answered) || run.stop_continuations >= MAX_STOP_CONTINUATIONS {
            self.agent.front.show(Sight::Warning(
                "a hook of turn_end wanted the model to go on; it was not followed",
            ));
            return Ok(ending);
        }
        run.stop_continuations += 1;
        if !says_something {
            // Providers want to hear something after the model's own words.
            self.add(vec![note("stop", GO_ON)]).await?;
        }
        Ok(None)
    }

    /// Adds what hooks want to add, in their order.
    async fn add_drafts(&mut self, drafts: Vec<EntryDraft>) -> Result<(), StoreError> {
        for draft in drafts {
            match draft {
                EntryDraft::Note(draft) => self.add(vec![from_draft(draft)]).await?,
                EntryDraft::Record { kind, data } => {
                    let entry = NewEntry::new(EntryContent::Custom { kind, data });
                    let _ = self.write(vec![entry], Vec::new()).await?;
                }
            }
        }
        Ok(())
    }

    /// A hook may send the model on, but not for ever, and not twice in a row for the same reason.
    fn may_go_on(&self, run: &Run, reason: &str) -> bool {
        let repeated = run.last_stop_reason.as_deref() == Some(reason);
        if repeated || run.stop_continuations >= MAX_STOP_CONTINUATIONS {
            self.agent.front.show(Sight::Warning(
                "a hook of stop wanted the model to go on again; it was not followed",
            ));
            return false;
        }
        true
    }

    /// The model is asked again without the person, which costs fuel.
    async fn reengage(
        &mut self,
        run: &mut Run,
        via: &str,
        prompt: &str,
    ) -> Result<(TurnEnd, Option<Ending>), StoreError> {
        if !run.fuel.burn(1) {
            return Ok((TurnEnd::Limit, Some(self.out_of_fuel().await)));
        }
        run.continuation += 1;
        let text = continuation_prompt(via, &run.fuel, prompt);
        let considered = self
            .consider(text, &[], InputSource::Hook, run.continuation)
            .await;
        let (prompt, context) = match considered {
            Ok(considered) => considered,
            Err(Ending::Cancelled) => return Ok((TurnEnd::Cancelled, Some(Ending::Cancelled))),
            Err(ending) => return Ok((TurnEnd::HookBlocked, Some(ending))),
        };
        let arrivals = self.arrived().await?;
        (run.prompt, run.context) = (arrivals.before(prompt), context);
        self.write_system_prompt(run).await;
        self.add_showing(vec![user(&run.prompt, Vec::new())], &arrivals)
            .await?;
        run.tasks = self.open_tasks();
        self.start_loop(run).await;
        Ok((TurnEnd::Continue, None))
    }

    async fn out_of_fuel(&self) -> Ending {
        let message =
            "the fuel for this prompt is used up; --fuel N gives it more, and 0 no limit".to_string();
        self.notify(Level::Warning, &message).await;
        Ending::Limit(message)
    }

    /// A model that asks again for what it has just been told learns that it does, and pays for it.
    pub(crate) async fn warn_of_repetition(
        &mut self,
        run: &mut Run,
        message: &Message,
        calls: &[FinishedCall],
    ) -> Result<(), StoreError> {
        let answered = message.tool_calls().iter().zip(calls);
        let again = run.repetition.repeated(
            answered
                .map(|(call, finished)| finished.answering(call))
                .collect(),
        );
        if again.is_empty() {
            return Ok(());
        }
        run.fuel.burn(REPETITION_COST);
        let warning = format!(
            "You asked for the same again ({}), with the same arguments, and got the same result. Asking once more \
             will not change it: do something else, or say what hinders you.",
            again.join(", ")
        );
        self.add(vec![note("repetition", &warning)]).await
    }

    /// Whether something ends the run after its tools, whatever the model and its tools want.
    pub(crate) async fn interrupted(
        &self,
        run: &mut Run,
        message: &Message,
        stop: Option<String>,
        cancelled: bool,
    ) -> Option<(TurnEnd, Ending)> {
        if cancelled {
            return Some((TurnEnd::Cancelled, Ending::Cancelled));
        }
        if let Some(reason) = stop {
            self.raise(ErrorKind::HookBlocked, &reason).await;
            return Some((TurnEnd::HookBlocked, Ending::Blocked(reason)));
        }
        let rounds = run.repetition.count_round(message.tool_calls());
        if rounds >= self.agent.settings.max_identical_rounds {
            let message = format!("the model asked {rounds} times in a row for the same");
            self.raise(ErrorKind::LoopDetected, &message).await;
            return Some((TurnEnd::LoopDetected, Ending::LoopDetected(message)));
        }
        None
    }

    /// The tools have run: who has the word now?
    pub(crate) async fn after_tools(
        &mut self,
        run: &mut Run,
        message: &Message,
        word: Option<Word>,
    ) -> Result<(TurnEnd, Option<Ending>), StoreError> {
        if let Some(Word::Person(words)) = &word {
            if let Some(words) = words {
                self.add(vec![assistant(words, message)]).await?;
                run.answer.clone_from(words);
            }
            return Ok(match self.sent_on(run).await? {
                Some(goes_on) => (goes_on, None),
                None => (TurnEnd::Normal, Some(Ending::Answered)),
            });
        }
        if !run.fuel.burn(1) {
            return Ok((TurnEnd::Limit, Some(self.out_of_fuel().await)));
        }
        if let Some(Word::Model(prompt)) = &word {
            return self.reengage(run, "a tool", prompt).await;
        }
        if let Some(Word::ModelLater(note)) = word {
            run.note = Some(note);
        }
        let reason = if self.queues.has_steering() {
            TurnEnd::Steered
        } else {
            TurnEnd::Continue
        };
        Ok((reason, None))
    }
}

/// What the last of the notes among drafts says.
fn last_words(drafts: &[EntryDraft]) -> Option<String> {
    drafts.iter().rev().find_map(|draft| match draft {
        EntryDraft::Note(note) => Some(text_of(&note.content)),
        EntryDraft::Record { .. } => None,
    })
}
