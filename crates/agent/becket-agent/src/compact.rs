//! Compaction: a summary takes the place of what is old in a conversation.
//!
//! The person asks for it and everything is summarised, or the conversation has become too long and its older part is.
//! Nothing changes before the summary is there and stored: whatever fails or is cancelled on the way leaves the
//! conversation as it was.

use std::borrow::Cow;

use becket_events::{
    CompactReason, CompactScope, Level, Message, MessageBody, PostCompact, PostCompactPayload, PreCompact,
    PreCompactPayload, RequestPurpose, StandingSummary, StopReason, Summary,
};
use tokio_util::sync::CancellationToken;

use crate::context_files::{ContextFile, Whose};
use crate::front::Sight;
use crate::message::user;
use crate::model_call::{CallFailure, ModelCall};
use crate::provider::{ModelRequest, ProviderError};
use crate::run::Run;
use crate::session::{Measured, Session};
use crate::store::{EntryContent, NewEntry, StoreError};
use crate::transcript;

/// A conversation of fewer messages is not summarised by itself: little would be won.
const FEWEST_MESSAGES: usize = 5;

/// That so many messages were summarised, for the person.
pub(crate) fn summarised_words(summarised: usize, which: &str) -> String {
    match summarised {
        1 => format!("1 {which}message was summarised"),
        number => format!("{number} {which}messages were summarised"),
    }
}

/// How a compaction ended.
#[derive(Debug, Clone, PartialEq)]
pub enum CompactEnd {
    /// The summary stands for the older messages.
    Compacted {
        /// How many messages it stands for.
        summarised: usize,
        /// How many messages are kept as they are.
        kept: usize,
        /// The summary.
        summary: String,
        /// The entry that holds it.
        entry_id: String,
    },
    /// There was nothing to summarise.
    Nothing,
    /// A hook does not want it, or the person does not.
    Refused(String),
    /// The provider failed.
    Provider(ProviderError),
    /// The model wrote nothing that could be used.
    NoSummary(&'static str),
    /// The person cancelled.
    Cancelled,
}

/// What is to be summarised, and why.
struct Plan {
    reason: CompactReason,
    scope: CompactScope,
    /// The first message that is kept.
    cut: usize,
    instructions: Option<String>,
}

/// A summary that is to stand for the older messages.
struct Written {
    text: String,
    by_hook: bool,
    details: Option<serde_json::Value>,
}

/// What the model is to sum up.
pub(crate) struct Summing<'a> {
    pub(crate) messages: &'a [Message],
    /// The summary so far, which the new one replaces.
    pub(crate) before: Option<&'a str>,
    /// What to pay attention to.
    pub(crate) wishes: &'a [&'a str],
    /// What the model is told to do.
    pub(crate) system_prompt: &'a str,
}

impl Session {
    /// Summarises the whole conversation because the person wants it.
    pub async fn compact(
        &mut self,
        instructions: Option<String>,
        cancel: CancellationToken,
    ) -> Result<CompactEnd, StoreError> {
        self.begin_work(cancel);
        self.heed().await;
        self.queues.compact();
        let end = self.compact_all(instructions).await;
        self.end_work();
        end
    }

    /// The same in the middle of other work.
    pub(crate) async fn compact_all(
        &mut self,
        instructions: Option<String>,
    ) -> Result<CompactEnd, StoreError> {
        if self.messages.is_empty() {
            return Ok(CompactEnd::Nothing);
        }
        let plan = Plan {
            reason: CompactReason::Manual,
            scope: CompactScope::Full,
            cut: self.messages.len(),
            instructions,
        };
        self.carry_out(plan, None).await
    }

    /// Summarises what stands before the prompt of a run, or as much of the run as can be if there is nothing.
    pub(crate) async fn compact_before(
        &mut self,
        run: &mut Run,
        instructions: Option<String>,
    ) -> Result<CompactEnd, StoreError> {
        let most = self.messages.len();
        let Some(cut) = transcript::place_to_cut(&self.messages, most, run.first_message) else {
            return Ok(CompactEnd::Nothing);
        };
        let plan = Plan {
            reason: CompactReason::Manual,
            scope: CompactScope::Rolling,
            cut,
            instructions,
        };
        self.carry_out(plan, Some(run)).await
    }

    /// Summarises the older part of the conversation if the model's window is almost full. Says whether it did.
    pub(crate) async fn make_room(&mut self, run: &mut Run) -> Result<bool, StoreError> {
        let settings = &self.agent.settings.compaction;
        let limit = settings.context_window / 100 * u64::from(settings.at_percent);
        // Before the first turn the prompt is not among the messages yet.
        let coming = if run.iteration == 0 {
            transcript::tokens_in(run.prompt.len())
        } else {
            0
        };
        if self.messages.len() < FEWEST_MESSAGES || self.context_tokens() + coming < limit {
            return Ok(false);
        }
        let reason = match run.iteration > 0 && self.ends_with_results() {
            true => CompactReason::ToolOverflow,
            false => CompactReason::Threshold,
        };
        self.roll(reason, run).await
    }

    /// Whether tools have spoken since the model did.
    fn ends_with_results(&self) -> bool {
        let is_answer = |message: &&Message| matches!(message.body(), MessageBody::Assistant { .. });
        let newest = self
            .messages
            .iter()
            .rev()
            .take_while(|message| !is_answer(message));
        let mut results = newest.filter(|message| matches!(message.body(), MessageBody::Tool { .. }));
        results.next().is_some()
    }

    /// The same because the provider says that the conversation is too long.
    pub(crate) async fn shorten(&mut self, run: &mut Run) -> Result<bool, StoreError> {
        self.roll(CompactReason::Overflow, run).await
    }

    /// An automatic compaction never ends a run: where it cannot be had, the conversation goes on as it is.
    async fn roll(&mut self, reason: CompactReason, run: &mut Run) -> Result<bool, StoreError> {
        let settings = &self.agent.settings.compaction;
        let wanted = self.desk.as_ref().and_then(|desk| desk.compacts_by_itself());
        if !wanted.unwrap_or(settings.auto) || run.summary_failed {
            return Ok(false);
        }
        let wanted = self.messages.len() * usize::from(settings.drop_percent) / 100;
        let Some(cut) = transcript::place_to_cut(&self.messages, wanted, run.first_message) else {
            return Ok(false);
        };
        let plan = Plan {
            reason,
            scope: CompactScope::Rolling,
            cut,
            instructions: None,
        };
        let why_not = match self.carry_out(plan, Some(run)).await? {
            CompactEnd::Compacted { summarised, .. } => {
                let words = format!("{} to make room", summarised_words(summarised, "older "));
                self.agent.front.show(Sight::Notice(&words));
                return Ok(true);
            }
            CompactEnd::Nothing | CompactEnd::Cancelled => return Ok(false),
            CompactEnd::Refused(reason) => reason,
            CompactEnd::Provider(error) => error.message,
            CompactEnd::NoSummary(words) => words.into(),
        };
        run.summary_failed = true;
        let words =
            format!("the conversation is long and could not be summarised; it goes on as it is: {why_not}");
        self.notify(Level::Warning, &words).await;
        Ok(false)
    }

    async fn carry_out(&mut self, plan: Plan, run: Option<&mut Run>) -> Result<CompactEnd, StoreError> {
        let (reason, tokens_before) = (plan.reason, self.context_tokens());
        self.agent.front.show(Sight::CompactionBegins { reason });
        let end = self.summarise(plan, run).await?;
        self.agent.front.show(Sight::CompactionEnds {
            reason,
            end: &end,
            first_kept_id: self.messages.first().map(Message::id),
            tokens_before,
        });
        Ok(end)
    }

    async fn summarise(&mut self, plan: Plan, run: Option<&mut Run>) -> Result<CompactEnd, StoreError> {
        let input_tokens = self.context_tokens();
        let written = self.written(run.as_deref());
        let payload = || self.pre_compact_payload(&plan, input_tokens, written);
        let (reply, handlers) = self.hooks.ask_whom::<PreCompact>(payload).await;
        let consent = self
            .gate
            .consent(
                &self.hooks,
                "compacting the conversation",
                reply.verdict,
                handlers,
            )
            .await;
        if self.hooks.cancel().is_cancelled() {
            return Ok(CompactEnd::Cancelled);
        }
        if let Err(reason) = consent {
            return Ok(CompactEnd::Refused(reason));
        }
        let brought = reply
            .summary
            .get()
            .filter(|summary| !summary.text.trim().is_empty());
        if let Some(brought) = brought {
            let cut = self.cut_of(&brought, plan.cut);
            let written = Written {
                text: brought.text,
                by_hook: true,
                details: brought.details,
            };
            return self.replace(Plan { cut, ..plan }, written, run).await;
        }
        let wishes = plan.instructions.iter().chain(&reply.context.0);
        let wishes: Vec<&str> = wishes.map(String::as_str).collect();
        let written = Written {
            text: match self.ask_for_summary(&plan, &wishes, run.as_deref()).await {
                Ok(text) => text,
                Err(end) => return Ok(end),
            },
            by_hook: false,
            details: None,
        };
        self.replace(plan, written, run).await
    }

    /// How many tokens the model has written in this session, those for the prompt at hand included.
    fn written(&self, run: Option<&Run>) -> u64 {
        self.usage.output_tokens + run.map_or(0, |run| run.usage.output_tokens)
    }

    fn pre_compact_payload(&self, plan: &Plan, input_tokens: u64, output_tokens: u64) -> PreCompactPayload {
        PreCompactPayload {
            reason: plan.reason,
            scope: plan.scope,
            message_count: self.messages.len() as u32,
            messages: self.messages[..plan.cut].to_vec(),
            first_kept_id: self.messages.get(plan.cut).map(|kept| kept.id().into()),
            kept: self.messages[plan.cut..].to_vec(),
            summary: self.summary().map(ToOwned::to_owned),
            instructions: plan.instructions.clone(),
            input_tokens,
            output_tokens,
            context_limit: Some(self.agent.settings.compaction.context_window),
        }
    }

    /// A hook that brings a summary may also say what it stands for, as long as calls stay with their results.
    fn cut_of(&self, summary: &Summary, usual: usize) -> usize {
        let Some(id) = &summary.first_kept_id else {
            return usual;
        };
        let cut = self.messages.iter().position(|message| message.id() == id);
        match cut.filter(|cut| transcript::may_cut(&self.messages, *cut)) {
            Some(cut) => cut,
            None => {
                self.agent.front.show(Sight::Warning(
                    "a hook of pre_compact named a first message to keep where nothing can be cut; it was ignored",
                ));
                usual
            }
        }
    }

    /// The model writes the summary. Everything about it passes the same hooks as any other request.
    async fn ask_for_summary(
        &mut self,
        plan: &Plan,
        wishes: &[&str],
        run: Option<&Run>,
    ) -> Result<String, CompactEnd> {
        let summing = Summing {
            messages: &self.messages[..plan.cut],
            before: self.summary(),
            wishes,
            system_prompt: &self.agent.settings.compaction.prompt,
        };
        let answer = self.request_summary(summing, run).await;
        self.read_summary(answer)
    }

    /// What the model wrote, if that is a summary.
    pub(crate) fn read_summary(
        &mut self,
        answer: Result<Message, CallFailure>,
    ) -> Result<String, CompactEnd> {
        let answer = answer.map_err(|failure| match failure {
            CallFailure::Blocked(reason) => CompactEnd::Refused(reason),
            CallFailure::Cancelled(_) => CompactEnd::Cancelled,
            CallFailure::Provider(error, _) => CompactEnd::Provider(error),
        })?;
        let MessageBody::Assistant {
            stop_reason, usage, ..
        } = answer.body()
        else {
            unreachable!("a model answers as the assistant");
        };
        self.usage = self.usage.plus(*usage);
        if self.is_subagent() {
            self.lineage.family.count(*usage);
        }
        match (stop_reason, answer.text().trim()) {
            (StopReason::Length, _) => Err(CompactEnd::NoSummary(
                "the summary was cut off at its length limit (agent.max_tokens)",
            )),
            (_, "") => Err(CompactEnd::NoSummary("the model wrote no summary")),
            (_, text) => Ok(text.into()),
        }
    }

    pub(crate) async fn request_summary(
        &self,
        summing: Summing<'_>,
        run: Option<&Run>,
    ) -> Result<Message, CallFailure> {
        let Summing {
            messages,
            before,
            wishes,
            system_prompt,
        } = summing;
        let purpose = RequestPurpose::Summary;
        let iteration = run.map_or(0, |run| run.iteration);
        let old = Cow::Borrowed(messages);
        let old = self.through_context_hooks(old, iteration, purpose).await?;
        let settings = &self.agent.settings;
        let window = settings.compaction.context_window;
        let task = transcript::task(before, &old, wishes, window);
        let call = ModelCall {
            prompt: &task,
            iteration,
            continuation: run.map_or(0, |run| run.continuation),
            ..ModelCall::of(self, purpose)
        };
        let call = match run {
            Some(run) => ModelCall {
                fuel: run.fuel.clone(),
                ..call
            },
            None => call,
        };
        call.ask(&ModelRequest {
            system_prompt,
            messages: &[user(&task, Vec::new())],
            tools: &[],
            options: &settings.options,
        })
        .await
    }

    /// Stores the summary; from then on it stands for everything before the cut.
    async fn replace(
        &mut self,
        plan: Plan,
        written: Written,
        run: Option<&mut Run>,
    ) -> Result<CompactEnd, StoreError> {
        let Written {
            text: summary,
            by_hook,
            details,
        } = written;
        let before = self.messages.len();
        let input_tokens = self.context_tokens();
        let output_tokens = self.written(run.as_deref());
        let summary = match &run {
            Some(run) if plan.cut > run.first_message && run.iteration > 0 => {
                with_prompt(summary, &run.prompt)
            }
            _ => summary,
        };
        let first_kept_id: Option<String> = self.messages.get(plan.cut).map(|kept| kept.id().into());
        let entry = NewEntry::new(EntryContent::Compaction {
            summary: summary.clone(),
            first_kept_id: first_kept_id.clone(),
            tokens_before: input_tokens,
            by_hook,
            details: details.clone(),
        });
        let (entry_id, time_ms) = (entry.id.clone(), entry.time_ms);
        let _ = self.write(vec![entry], Vec::new()).await?;
        let tree = self.tree().await?;
        let parent_id = tree.entry(&entry_id).and_then(|entry| entry.parent_id.clone());
        let gone: Vec<Message> = self.messages.drain(..plan.cut).collect();
        self.standing = Some(StandingSummary {
            text: summary.clone(),
            input_tokens,
            time_ms,
        });
        self.unmeasured = self.messages.len();
        self.measured = Measured::default();
        if let Some(run) = run {
            let own = gone.get(run.first_message..).unwrap_or_default();
            run.summarised.extend_from_slice(own);
            run.first_message = run.first_message.saturating_sub(plan.cut);
        }
        self.show_usage();
        self.write_summary_file(&summary);
        let payload = || PostCompactPayload {
            reason: plan.reason,
            scope: plan.scope,
            message_count_before: before as u32,
            message_count: self.messages.len() as u32,
            summary: summary.clone(),
            entry_id: entry_id.clone(),
            parent_id,
            first_kept_id,
            details,
            by_hook,
            input_tokens,
            output_tokens,
            context_limit: Some(self.agent.settings.compaction.context_window),
        };
        self.hooks.tell::<PostCompact>(payload).await;
        Ok(CompactEnd::Compacted {
            summarised: gone.len(),
            kept: self.messages.len(),
            summary,
            entry_id,
        })
    }

    /// The summary as a file, for those who read it from there. It is stored already, so nothing here is an error.
    pub(crate) fn write_summary_file(&self, summary: &str) {
        let (files, front) = (self.files(), &self.agent.front);
        match files.write_own(ContextFile::Summary, summary) {
            Ok(Whose::Own) => {}
            Ok(Whose::Foreign) => {
                let file = files.path(ContextFile::Summary);
                let words = format!(
                    "the summary is stored, but {} stays as it is: becket did not write it",
                    file.display()
                );
                front.show(Sight::Notice(&words));
            }
            Err(error) => {
                let words = format!("the summary is stored, but its file could not be written: {error}");
                front.show(Sight::Warning(&words));
            }
        }
    }

    /// How many tokens the conversation has by now: what the provider counted with its last answer, and an estimate of
    /// what came after it. What was counted before a compaction says nothing any more. Each message is looked at once,
    /// so that a turn costs the same however long the conversation is.
    pub(crate) fn context_tokens(&mut self) -> u64 {
        if self.measured.messages == 0 {
            self.measured.tokens = transcript::tokens_in(self.fixed_bytes());
        }
        let new = self.messages.iter().enumerate().skip(self.measured.messages);
        for (place, message) in new {
            let counted = match message.body() {
                MessageBody::Assistant { usage, .. }
                    if usage.input_tokens > 0 && place >= self.unmeasured =>
                {
                    Some(usage.input_tokens + usage.output_tokens)
                }
                _ => None,
            };
            let estimated = self.measured.tokens + transcript::tokens_of(message);
            self.measured.tokens = counted.unwrap_or(estimated);
        }
        self.measured.messages = self.messages.len();
        self.measured.tokens
    }

    /// What stands before the conversation, as far as it is known without asking anybody.
    fn fixed_bytes(&self) -> usize {
        let settings = &self.agent.settings;
        let files: usize = settings.prompt_files.iter().map(|(_, text)| text.len()).sum();
        settings.instructions.len() + files + self.summary().map_or(0, str::len)
    }
}

/// A summary that stands for the prompt that is being worked on says it in the person's own words.
fn with_prompt(summary: String, prompt: &str) -> String {
    format!("{summary}\n\nWhat you are asked to do now, word for word:\n\n{prompt}")
}
