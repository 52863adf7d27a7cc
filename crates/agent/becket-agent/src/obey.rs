//! How a session does what it is told at its desk (`desk.rs`), and how it works off what was said.
//!
//! Three moments: before a request, what was chosen is taken over and a summary that somebody wants is written; after a
//! run, notes and entries are stored and what was said meanwhile runs next; and while nothing runs, `attend` does both.

use std::sync::Arc;

use becket_events::{
    EndReason, Level, ModelChange, ModelChangePayload, ModelChoice, NameChange, NameChangePayload, Settled,
    SettledPayload, ThinkingChange, ThinkingChangePayload,
};
use tokio_util::sync::CancellationToken;

use crate::compact::{CompactEnd, summarised_words};
use crate::desk::{Choices, CompactWish, DeskError, ShellWish};
use crate::front::Sight;
use crate::guests::Brought;
use crate::message::from_draft;
use crate::provider::ThinkingLevel;
use crate::queue::Said;
use crate::run::{Ending, Run, RunEnd};
use crate::session::{Agent, Joins, Session, model_name};
use crate::settings::AgentSettings;
use crate::store::{Consumed, EntryContent, NewEntry, StoreError};
use crate::tool::Tool;

impl Session {
    /// Does what was asked for at the desk while nothing ran, and says how the last run ended if there was one. A
    /// cancel ends it soon.
    pub async fn attend(&mut self, cancel: CancellationToken) -> Result<Option<RunEnd>, StoreError> {
        self.begin_work(cancel);
        self.work(None).await
    }

    /// From now on the session is at work, though nothing runs yet: it can be cancelled here and at the desk.
    pub(crate) fn begin_work(&mut self, cancel: CancellationToken) {
        self.queues.begin_work();
        let Some(desk) = &self.desk else {
            self.hooks.set_cancel(cancel);
            self.seat_guests();
            return;
        };
        // A run that is ended at the desk does not end the program that gave the token.
        let own = cancel.child_token();
        desk.set_cancel(Some(own.clone()));
        self.hooks.set_cancel(own);
        self.seat_guests();
    }

    /// The work is over: from now on, whatever is asked for at the desk waits to be attended to.
    pub(crate) fn end_work(&self) {
        self.queues.rest();
        self.forget_cancel();
    }

    fn forget_cancel(&self) {
        if let Some(desk) = &self.desk {
            desk.set_cancel(None);
        }
    }

    /// Runs what is said first, and after it everything that was said meanwhile. After a bad end nothing more runs.
    pub(crate) async fn work(&mut self, first: Option<Said>) -> Result<Option<RunEnd>, StoreError> {
        let mut result = self.chain(first).await;
        if let (Ok(Some(end)), Some(desk)) = (&mut result, &self.desk)
            && end.ending == Ending::Cancelled
            && desk.was_aborted()
        {
            end.ending = Ending::Aborted;
        }
        let is_bad = match &result {
            Ok(Some(end)) => !goes_on(&end.ending),
            Ok(None) => false,
            Err(_) => true,
        };
        if is_bad {
            self.queues.hold();
        }
        self.forget_cancel();
        if std::mem::take(&mut self.unsettled) {
            self.tell_settled(&result).await;
        }
        self.queues.rest();
        result
    }

    /// Tells that nothing is left to do. What is said from now on begins something new.
    async fn tell_settled(&self, result: &Result<Option<RunEnd>, StoreError>) {
        let reason = match result {
            Ok(end) => end.as_ref().map_or(EndReason::Done, |end| end.ending.reason()),
            Err(_) => EndReason::Failed,
        };
        self.hooks.tell::<Settled>(|| SettledPayload { reason }).await;
    }

    async fn chain(&mut self, first: Option<Said>) -> Result<Option<RunEnd>, StoreError> {
        let mut next = first;
        let mut last: Option<RunEnd> = None;
        loop {
            self.heed().await;
            // After a cancelled run a summary would be cancelled too; it waits until the next work begins.
            if last.is_none() || !self.hooks.cancel().is_cancelled() {
                self.grant_all().await?;
            }
            self.keep().await?;
            if last.as_ref().is_some_and(|end| !goes_on(&end.ending)) {
                return Ok(last);
            }
            let Some(said) = next.take().or_else(|| self.queues.next()) else {
                return Ok(last);
            };
            if said.is_of_the_person() {
                self.unasked = 0;
            } else if self.unasked >= self.agent.settings.max_iterations {
                return Ok(Some(self.too_much_unasked(last).await));
            }
            let (counted, by_person) = (self.unasked, said.is_of_the_person());
            last = Some(self.run_said(said).await?);
            if !by_person && self.unasked == counted {
                // A run that a hook took care of counts too, or there would be no end to it.
                self.unasked += 1;
            }
        }
    }

    /// Whoever speaks again after each answer would never let the model rest.
    async fn too_much_unasked(&self, last: Option<RunEnd>) -> RunEnd {
        let limit = self.agent.settings.max_iterations;
        let dropped = self.queues.drop_waiting() + 1;
        let message = format!(
            "hooks have caused {limit} requests since the person last spoke, and that is the limit for one prompt; \
             what they wanted to say next was dropped ({dropped})"
        );
        self.notify(Level::Warning, &message).await;
        RunEnd {
            answer: last.map(|end| end.answer).unwrap_or_default(),
            ending: Ending::Limit(message),
        }
    }

    /// Writes the summaries that somebody wants, while nothing runs.
    async fn grant_all(&mut self) -> Result<(), StoreError> {
        while let Some(wish) = self.desk.as_ref().and_then(|desk| desk.take_compaction()) {
            self.grant(wish, None).await?;
        }
        Ok(())
    }

    /// Stores notes and entries that wait at the desk.
    pub(crate) async fn keep(&mut self) -> Result<(), StoreError> {
        let Some(desk) = self.desk.clone() else {
            return Ok(());
        };
        // Beside another session nothing becomes part of the conversation.
        if self.beside {
            return Ok(());
        }
        let notes = self.queues.take_notes().into_iter().map(from_draft);
        let notes = self.finished(notes.collect(), Joins::AtRest).await;
        self.store_messages(notes).await?;
        if desk.has_unstored() {
            let _ = self.write(Vec::new(), Vec::new()).await?;
        }
        // A command that the person ran meanwhile stands behind what runs.
        if self.queues.is_running() {
            return Ok(());
        }
        for ShellWish { run, kept } in desk.take_shell_runs() {
            let result = self.keep_shell_run(run).await;
            // Nobody has to wait for it.
            let _ = kept.send(result.clone().map_err(|error| DeskError::Failed(error.message)));
            result?;
        }
        Ok(())
    }

    /// Stores entries, after those that wait at the desk, and takes letters out of the inbox. There is no other way
    /// into the store, so that the order at the desk is the order on disk.
    pub(crate) async fn write(&self, new: Vec<NewEntry>, letters: Vec<i64>) -> Result<Consumed, StoreError> {
        let store = async |entries| match letters.is_empty() {
            true => self
                .agent
                .store
                .append(self.id(), entries)
                .await
                .map(|()| Consumed::All),
            false => {
                let store = &self.agent.store;
                store.append_consuming(self.id(), entries, letters).await
            }
        };
        let (entries, written) = match &self.desk {
            Some(desk) => {
                let (entries, written) = desk.write(new);
                (entries, Some((desk, written)))
            }
            None => (new, None),
        };
        let names: Vec<String> = entries.iter().filter_map(name_in).collect();
        let stored = store(entries).await;
        if stored != Ok(Consumed::All) {
            written
                .into_iter()
                .for_each(|(desk, written)| desk.unwrite(written));
            return stored;
        }
        for name in names {
            self.hooks.tell::<NameChange>(|| NameChangePayload { name }).await;
        }
        stored
    }

    /// Takes over what was chosen at the desk and what guests have brought. Says whether there was anything.
    pub(crate) async fn heed(&mut self) -> bool {
        let news = self.desk.as_ref().and_then(|desk| desk.news());
        if !self.greet_guests() && news.is_none() {
            return false;
        }
        let chosen = news.or_else(|| self.desk.as_ref().map(|desk| desk.choices()));
        let choices = chosen.unwrap_or_default();
        let before = self.hooks.scope().model.clone();
        let thought = self.thinking();
        self.agent = Arc::new(self.seated().choosing(&choices, &self.brought));
        self.active_tools = choices.active;
        self.seat_guests();
        let now = model_name(&*self.agent.provider);
        if now != before {
            self.hooks.set_model(&now);
            let payload = || ModelChangePayload {
                new_model: now,
                previous_model: Some(before),
                choice: choices.model.map_or(ModelChoice::Set, |model| model.choice),
            };
            self.hooks.tell::<ModelChange>(payload).await;
        }
        self.tell_thinking(thought).await;
        self.note_choices();
        true
    }

    /// How much the model thinks.
    fn thinking(&self) -> ThinkingLevel {
        self.agent.settings.options.thinking.unwrap_or(ThinkingLevel::Off)
    }

    /// Tells that the model thinks more or less than it did. A session that has not begun changes nothing.
    async fn tell_thinking(&self, before: ThinkingLevel) {
        let now = self.thinking();
        if now != before && self.announced {
            let payload = || ThinkingChangePayload {
                new_level: now.name().into(),
                previous_level: before.name().into(),
            };
            self.hooks.tell::<ThinkingChange>(payload).await;
        }
    }

    /// Entries tell from where on another model answers, or thinks more or less.
    fn note_choices(&mut self) {
        let Some(desk) = self.desk.as_ref().filter(|_| !self.beside) else {
            return;
        };
        let usual = self.seated();
        let model = self.hooks.scope().model.clone();
        let noted = self.noted.model.clone();
        if noted.unwrap_or_else(|| model_name(&*usual.provider)) != model {
            desk.note_change(EntryContent::Model { model: model.clone() });
            self.noted.model = Some(model);
        }
        let noted = self.noted.thinking.or(usual.settings.options.thinking);
        if let Some(level) = self.agent.settings.options.thinking
            && noted != Some(level)
        {
            desk.note_change(EntryContent::Thinking { level });
            self.noted.thinking = Some(level);
        }
    }

    /// The agent that has the word, before anything was chosen at the desk.
    fn seated(&self) -> Arc<Agent> {
        let team = self.given.team.as_deref();
        let member = team.and_then(|team| team.member(&self.agent.settings.agent_name));
        match member {
            Some(member) => Arc::new(self.given.seating(member)),
            None => Arc::clone(&self.given),
        }
    }

    /// Writes the summaries that somebody wants, before a request of a run. Says whether there is one.
    pub(crate) async fn grant_compactions(&mut self, run: &mut Run) -> Result<bool, StoreError> {
        let mut shorter = false;
        while let Some(wish) = self.desk.as_ref().and_then(|desk| desk.take_compaction()) {
            shorter |= self.grant(wish, Some(run)).await?;
        }
        Ok(shorter)
    }

    async fn grant(&mut self, wish: CompactWish, run: Option<&mut Run>) -> Result<bool, StoreError> {
        let CompactWish { instructions, answer } = wish;
        let end = match run {
            Some(run) => self.compact_before(run, instructions).await,
            None => {
                self.queues.compact();
                let end = self.compact_all(instructions).await;
                self.queues.begin_work();
                end
            }
        };
        let told = end.clone().map_err(|error| DeskError::Failed(error.message));
        // Nobody has to wait for the answer.
        let _ = answer.send(told);
        let end = end?;
        if let CompactEnd::Compacted { summarised, .. } = &end {
            let words = format!(
                "{}, because a hook asked for it",
                summarised_words(*summarised, "")
            );
            self.agent.front.show(Sight::Notice(&words));
        }
        Ok(matches!(end, CompactEnd::Compacted { .. }))
    }

    /// Shows at the desk how long the conversation is by now.
    pub(crate) fn show_usage(&mut self) {
        if self.desk.is_some() {
            let tokens = self.context_tokens();
            self.desk.iter().for_each(|desk| desk.set_tokens(tokens));
        }
    }
}

/// The name that an entry gives the conversation.
fn name_in(entry: &NewEntry) -> Option<String> {
    match &entry.content {
        EntryContent::Name { name } => Some(name.clone()),
        _ => None,
    }
}

/// Whether what was said meanwhile runs after such an end.
fn goes_on(ending: &Ending) -> bool {
    matches!(ending, Ending::Answered | Ending::Handled(_))
}

impl Agent {
    /// The same agent with what was chosen, and with what guests have brought.
    fn choosing(&self, choices: &Choices, brought: &Brought) -> Self {
        let is_new = |tool: &&Arc<dyn Tool>| {
            let name = &tool.spec().face.name;
            !self.tools.iter().any(|own| own.spec().face.name == *name)
        };
        let brought = brought.tools.iter().filter(is_new);
        let base: Vec<Arc<dyn Tool>> = self.tools.iter().chain(brought).cloned().collect();
        let usual = &self.settings;
        let model = choices.model.as_ref();
        let mut settings: AgentSettings = usual.clone();
        settings.options.thinking = choices.thinking.or(usual.options.thinking);
        if let Some(window) = model.and_then(|model| model.context_window) {
            settings.compaction.context_window = window;
        }
        Self {
            engine: Arc::clone(&self.engine),
            provider: Arc::clone(model.map_or(&self.provider, |model| &model.provider)),
            tools: choices.tools(&base, self.team.is_none()),
            store: Arc::clone(&self.store),
            front: Arc::clone(&self.front),
            mail: self.mail.clone(),
            team: self.team.clone(),
            desk: self.desk.clone(),
            guests: self.guests.clone(),
            settings,
        }
    }
}
