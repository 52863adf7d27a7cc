//! The loop: from the person's words to the answer, turn by turn.
//!
//! `prompt` → `run` → `turn`, and in a turn: the context, the request, the tools. Whether there is another turn,
//! `goes_on.rs` says. Every turn that began ends with `turn_end`, every run with `agent_end`, whatever happened in
//! between.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use becket_events::{
    AgentEnd, AgentEndPayload, AgentStart, AgentStartPayload, Attention, AttentionPayload, AttentionReason,
    EndReason, ErrorKind, Fallback, InputSource, IterationLimit, IterationLimitPayload, Level, LimitRaised,
    LimitRaisedPayload, LoopStart, LoopStartPayload, Message, MessageBody, NoteDraft, Part, RequestPurpose,
    Steering, SteeringPayload, StopReason, ToolBatch, ToolBatchPayload, TurnEnd, TurnEnded, TurnEndedPayload,
    TurnEndedReply, TurnStart, TurnStartPayload, Usage, UserInput, UserInputPayload, UserPrompt,
    UserPromptPayload, text_of,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::batch::{Batch, FinishedBatch};
use crate::flocks::{FlockTexts, Flocks};
use crate::front::Sight;
use crate::fuel::Fuel;
use crate::gate::GoingOn;
use crate::handoff::Word;
use crate::mail::Arrivals;
use crate::message::{from_draft, note, now_ms, user};
use crate::model_call::ShownAnswer;
use crate::prompt::{Notes, system_prompt};
use crate::provider::ProviderError;
use crate::queue::Said;
use crate::repetition::Repetition;
use crate::session::{Joins, Session};
use crate::settings::AgentSettings;
use crate::store::{Span, SpanKind, StoreError};
use crate::subagent::Parent;
use crate::tasks::Tasks;
use crate::tool::Tool;
use crate::vfs::Vfs;

/// What the model reads after an empty answer.
const SAY_SOMETHING: &str = "Your last answer was empty. Answer in words, or call a tool.";

/// How many requests more the person grants with a yes at the limit.
const RAISE: u32 = 10;

/// What the person said.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The words.
    pub text: String,
    /// Pictures that came with them.
    pub images: Vec<Part>,
    /// Where they come from.
    pub source: InputSource,
}

/// How a prompt ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// The model's last words; empty when there were none.
    pub answer: String,
    /// How it ended.
    pub ending: Ending,
}

/// The ways in which a prompt can end.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The model answered.
    Answered,
    /// A hook took care of the words; perhaps with words of its own.
    Handled(Option<String>),
    /// A hook stopped it.
    Blocked(String),
    /// Iterations or fuel are used up.
    Limit(String),
    /// The model repeated itself.
    LoopDetected(String),
    /// The provider failed.
    Provider(ProviderError),
    /// The person cancelled.
    Cancelled,
    /// Code outside of the loop ended it at the desk.
    Aborted,
}

impl Ending {
    /// The same in the vocabulary's words.
    pub fn reason(&self) -> EndReason {
        match self {
            Self::Answered | Self::Handled(_) => EndReason::Done,
            Self::Blocked(_) => EndReason::Blocked,
            Self::Limit(_) => EndReason::Limit,
            Self::LoopDetected(_) | Self::Provider(_) => EndReason::Failed,
            Self::Cancelled | Self::Aborted => EndReason::Cancelled,
        }
    }
}

/// What one prompt carries along.
pub(crate) struct Run {
    pub(crate) prompt: String,
    /// The prompt as messages, until the first turn has begun; then they are stored.
    coming: Option<Coming>,
    pub(crate) system_prompt: String,
    /// Whether hooks of `agent_start` wrote the system prompt; then it holds for the whole run.
    system_prompt_is_fixed: bool,
    /// Texts that the model sees until the prompt is answered.
    pub(crate) context: Vec<String>,
    /// The open tasks, for the model to see until the prompt is answered.
    pub(crate) tasks: Option<String>,
    pub(crate) fuel: Fuel,
    pub(crate) fallback: Fallback,
    pub(crate) iteration: u32,
    /// How many requests there may be.
    limit: u32,
    /// How many requests those members may still make that gave the word away.
    left: HashMap<String, u32>,
    /// The member that goes on after this turn.
    handed_to: Option<String>,
    pub(crate) continuation: u32,
    pub(crate) stop_continuations: u32,
    pub(crate) last_stop_reason: Option<String>,
    /// What the model wants to go on with when it has answered.
    pub(crate) note: Option<String>,
    pub(crate) repetition: Repetition,
    pub(crate) empty_answers: u32,
    /// Where the run's own messages begin.
    pub(crate) first_message: usize,
    /// Messages of the run for which a summary stands by now.
    pub(crate) summarised: Vec<Message>,
    /// The answer that did not come: told, and no part of the conversation.
    pub(crate) unstored: Option<Message>,
    /// Whether a summary could not be had or did not help; then it is not tried again for this prompt.
    pub(crate) summary_failed: bool,
    /// Whether the last request was too long for the model.
    pub(crate) overflowed: bool,
    pub(crate) usage: Usage,
    pub(crate) answer: String,
    /// The turn since which nobody but hooks has caused anything.
    unasked_since: Option<u32>,
}

impl Run {
    fn new(prompt: String, context: Vec<String>, fuel: Fuel, settings: &AgentSettings) -> Self {
        Self {
            prompt,
            coming: None,
            system_prompt: String::new(),
            system_prompt_is_fixed: false,
            context,
            tasks: None,
            fuel,
            fallback: settings.fallback,
            iteration: 0,
            limit: settings.max_iterations,
            left: HashMap::new(),
            handed_to: None,
            continuation: 0,
            stop_continuations: 0,
            last_stop_reason: None,
            note: None,
            repetition: Repetition::default(),
            empty_answers: 0,
            first_message: 0,
            summarised: Vec::new(),
            unstored: None,
            summary_failed: false,
            overflowed: false,
            usage: Usage::default(),
            answer: String::new(),
            unasked_since: None,
        }
    }

    /// Another prompt is answered in the same run. What was counted for the one before does not count for it.
    fn take_up(&mut self, prompt: String, context: Vec<String>, fuel: Fuel) {
        (self.prompt, self.context, self.fuel) = (prompt, context, fuel);
        self.continuation = 0;
        self.stop_continuations = 0;
        self.last_stop_reason = None;
        self.note = None;
        self.repetition = Repetition::default();
        self.empty_answers = 0;
        self.summary_failed = false;
    }

    /// Another member goes on: with its own prompt, and with as many requests as it has left for this prompt, so that
    /// handing over to and fro comes to an end.
    pub(crate) fn begin_with_another(&mut self, from: &str, to: &str, usual: u32) {
        self.system_prompt_is_fixed = false;
        self.repetition = Repetition::default();
        let own = self.limit.saturating_sub(self.iteration);
        self.left.insert(from.into(), own);
        self.limit = self.iteration + self.left.remove(to).unwrap_or(usual);
    }
}

/// A prompt that is about to become part of the conversation.
struct Coming {
    messages: Vec<Message>,
    /// The letters that the first of them shows.
    arrivals: Arrivals,
}

/// A turn that is over.
pub(crate) struct TurnOver {
    pub(crate) reason: TurnEnd,
    pub(crate) message: Option<Message>,
    pub(crate) tool_results: Vec<Message>,
    /// How the run ends; `None` when it goes on.
    pub(crate) ending: Option<Ending>,
}

/// A turn that has begun.
struct BegunTurn {
    index: u32,
    at: Instant,
}

impl BegunTurn {
    fn payload(&self) -> TurnStartPayload {
        TurnStartPayload {
            turn_index: self.index,
            time_ms: now_ms(),
        }
    }
}

impl Session {
    /// Takes the person's words to an answer, and queued words after them. A cancel ends it soon.
    pub async fn prompt(&mut self, input: Input, cancel: CancellationToken) -> Result<RunEnd, StoreError> {
        self.begin_work(cancel);
        let end = self.work(Some(Said::Words(input))).await?;
        Ok(end.expect("what is said first always runs"))
    }

    /// Takes what was said to an answer, if it is not taken care of otherwise.
    pub(crate) async fn run_said(&mut self, said: Said) -> Result<RunEnd, StoreError> {
        match self.hear(said).await {
            Ok(said) => {
                // What hooks have said while they heard the words stands before them.
                self.keep().await?;
                self.run(said).await
            }
            Err(ending) => Ok(RunEnd {
                answer: String::new(),
                ending,
            }),
        }
    }

    /// Lets hooks rewrite words or take care of them. If they name something of the shelf then, they stand for it.
    async fn hear(&self, said: Said) -> Result<Said, Ending> {
        let may_name = said.may_name();
        let (Said::Words(input) | Said::Line(input)) = said else {
            return Ok(said);
        };
        let Input { text, images, source } = input;
        let payload = || UserInputPayload {
            text: text.clone(),
            images: images.clone(),
            source,
        };
        let reply = self.hooks.ask::<UserInput>(payload).await;
        if let Some(handled) = reply.handled.get() {
            return Err(Ending::Handled(handled.message));
        }
        let text = reply.text.get().unwrap_or(text);
        Ok(Said::Words(Input {
            text: match may_name {
                true => self.expanded(text).await,
                false => text,
            },
            images: reply.images.get().unwrap_or(images),
            source,
        }))
    }

    /// Takes a prompt to its answer.
    pub(crate) async fn run(&mut self, said: Said) -> Result<RunEnd, StoreError> {
        let unasked_since = (!said.is_of_the_person()).then_some(self.turn);
        self.queues.run();
        if !self.is_subagent() {
            self.lineage.family = Arc::default();
        }
        let mut run = match self.begin(said).await? {
            Ok(run) => Run { unasked_since, ..run },
            Err(ending) => {
                return Ok(RunEnd {
                    answer: String::new(),
                    ending,
                });
            }
        };
        let result = self.turns(&mut run).await;
        self.count_unasked(&mut run);
        // The person has said it, also where no turn has begun.
        let result = match self.store_prompt(&mut run).await {
            Ok(()) => result,
            Err(error) => result.and(Err(error)),
        };
        self.usage = self.usage.plus(run.usage);
        let reason = result.as_ref().map_or(EndReason::Failed, Ending::reason);
        let payload = || AgentEndPayload {
            messages: [
                &run.summarised,
                &self.messages[run.first_message..],
                run.unstored.as_slice(),
            ]
            .concat(),
            reason,
            usage: run.usage,
        };
        self.hooks.tell::<AgentEnd>(payload).await;
        self.unsettled = true;
        self.call_attention(AttentionReason::Idle, "ready for the next prompt")
            .await;
        result.map(|ending| RunEnd {
            answer: run.answer,
            ending,
        })
    }

    /// Tells that the person is waited for. Nobody waits for the person at a sub-agent.
    async fn call_attention(&self, reason: AttentionReason, message: &str) {
        if !self.is_subagent() {
            let message = message.into();
            self.hooks
                .tell::<Attention>(|| AttentionPayload { reason, message })
                .await;
        }
    }

    /// Everything before the first turn: the prompt and the system prompt pass their hooks, the prompt is stored.
    async fn begin(&mut self, said: Said) -> Result<Result<Run, Ending>, StoreError> {
        let (Input { text, images, source }, note) = opening(said);
        let (prompt, context) = match self.consider(text, &images, source, 0).await {
            Ok(considered) => considered,
            Err(ending) => return Ok(Err(ending)),
        };
        // Letters come with words of the person's.
        let arrivals = match &note {
            None => self.arrived().await?,
            Some(_) => Arrivals::default(),
        };
        let prompt = arrivals.before(prompt);
        self.heed().await;
        let settings = &self.agent.settings;
        let lent = self.lineage.fuel.clone();
        let fuel = lent.unwrap_or_else(|| Fuel::full(settings.fuel));
        let mut run = Run::new(prompt, context, fuel, settings);
        run.first_message = self.messages.len();
        self.make_room(&mut run).await?;
        self.write_system_prompt(&mut run).await;
        let payload = || AgentStartPayload {
            prompt: run.prompt.clone(),
            images: images.clone(),
            system_prompt: run.system_prompt.clone(),
        };
        // Its hooks may still say what is to run first or next: for them nothing runs yet.
        self.queues.begin_work();
        let started = self.hooks.ask::<AgentStart>(payload).await;
        self.keep().await?;
        run.first_message = self.messages.len();
        self.queues.run();
        if let Some(system_prompt) = started.system_prompt.get() {
            run.system_prompt = system_prompt;
            run.system_prompt_is_fixed = true;
            self.show_system_prompt(&run);
        }
        let notes = started.messages.into_iter().map(from_draft).collect();
        self.expect(&mut run, (note, images), notes, arrivals).await;
        self.start_loop(&mut run).await;
        Ok(Ok(run))
    }

    /// The prompt becomes part of the conversation with the next turn, and what waited for a prompt comes with it.
    async fn expect(
        &mut self,
        run: &mut Run,
        (note, images): (Option<NoteDraft>, Vec<Part>),
        notes: Vec<Message>,
        arrivals: Arrivals,
    ) {
        let first = match note {
            None => user(&run.prompt, images),
            Some(note) => from_draft(reworded(note, &run.prompt, images)),
        };
        let (waited, _) = self.messages_of(self.queues.take_with_next()).await;
        let messages = std::iter::once(first).chain(waited).chain(notes).collect();
        run.coming = Some(Coming { messages, arrivals });
        run.tasks = self.open_tasks();
    }

    /// Makes the prompt a part of the conversation, once.
    async fn store_prompt(&mut self, run: &mut Run) -> Result<(), StoreError> {
        match run.coming.take() {
            Some(Coming { messages, arrivals }) => self.add_showing(messages, &arrivals).await,
            None => Ok(()),
        }
    }

    /// A prompt passes its hooks: the words that they leave, and what they add to them.
    pub(crate) async fn consider(
        &self,
        text: String,
        images: &[Part],
        source: InputSource,
        continuation: u32,
    ) -> Result<(String, Vec<String>), Ending> {
        let payload = || UserPromptPayload {
            prompt: text.clone(),
            images: images.to_vec(),
            source,
            summary: self.summary().map(ToOwned::to_owned),
            continuation,
        };
        let (reply, handlers) = self.hooks.ask_whom::<UserPrompt>(payload).await;
        let consent = self
            .gate
            .consent(&self.hooks, "this prompt", reply.verdict, handlers)
            .await;
        if self.hooks.cancel().is_cancelled() {
            return Err(Ending::Cancelled);
        }
        if let Err(reason) = consent {
            self.raise(ErrorKind::HookBlocked, &reason).await;
            return Err(Ending::Blocked(reason));
        }
        Ok((reply.prompt.get().unwrap_or(text), reply.context.0))
    }

    /// Hooks of the system prompt are always asked; what hooks of `agent_start` wrote stays all the same.
    pub(crate) async fn write_system_prompt(&self, run: &mut Run) {
        let settings = &self.agent.settings;
        let summary = self.summary();
        let notes = match self.is_subagent() {
            true => Notes::of_subagent(settings, !self.agent.tools.is_empty()),
            false => {
                let context = &self.hooks.scope().context_name;
                Notes::of_context(&self.agent, context, self.flock_texts(), self.skills())
            }
        };
        let text = system_prompt(&self.hooks, notes, summary, &run.fuel).await;
        if !run.system_prompt_is_fixed {
            run.system_prompt = text;
        }
        self.show_system_prompt(run);
    }

    fn show_system_prompt(&self, run: &Run) {
        if let Some(desk) = &self.desk {
            desk.set_system_prompt(&self.with_session_context(&run.system_prompt));
        }
    }

    /// What the context's flocks say. What cannot be read is left out, and a line says so.
    fn flock_texts(&self) -> FlockTexts {
        let flocks = Flocks::new(Vfs::new(&self.agent.settings.vfs));
        let texts = flocks.texts(&self.hooks.scope().context_name);
        for problem in &texts.problems {
            self.agent.front.show(Sight::Warning(problem));
        }
        texts
    }

    /// The tasks as they are when the prompt is given.
    pub(crate) fn open_tasks(&self) -> Option<String> {
        if self.is_subagent() {
            return None;
        }
        let vfs = Vfs::new(&self.agent.settings.vfs);
        let tasks = Tasks::of(&vfs, &self.hooks.scope().context_name);
        for remark in &tasks.remarks {
            self.agent.front.show(Sight::Warning(remark));
        }
        tasks.table
    }

    /// The configuration says who goes on after an answer; hooks of `loop_start` and then of `tool_batch` may say
    /// something else until the model is asked again without the person.
    pub(crate) async fn start_loop(&self, run: &mut Run) {
        run.fallback = self.agent.settings.fallback;
        let payload = || LoopStartPayload {
            fuel_remaining: run.fuel.remaining(),
            fuel_total: run.fuel.total,
            fallback: run.fallback,
            message: run.prompt.clone(),
            continuation: run.continuation,
        };
        let reply = self.hooks.ask::<LoopStart>(payload).await;
        run.fallback = reply.fallback.get().unwrap_or(run.fallback);
        run.fuel.adjust(reply.fuel);
    }

    async fn turns(&mut self, run: &mut Run) -> Result<Ending, StoreError> {
        loop {
            if run.iteration >= run.limit
                && let Some(ending) = self.iteration_limit(run).await
            {
                return Ok(ending);
            }
            if let Some(ending) = self.over_budget().await {
                return Ok(ending);
            }
            let mut changed = self.heed().await;
            // Before the first turn there was room for the prompt already.
            if run.iteration > 0 {
                changed |= self.grant_compactions(run).await?;
                changed |= self.make_room(run).await?;
            }
            if changed {
                self.write_system_prompt(run).await;
            }
            let ending = self.turn(run).await?;
            // What was said aside stands behind the turn, and not between a call and its result.
            self.keep().await?;
            match ending {
                Some(Ending::Answered) => match self.follow(run).await? {
                    Some(Ok(())) => {}
                    Some(Err(ending)) => return Ok(ending),
                    None => return Ok(Ending::Answered),
                },
                Some(ending) => return Ok(ending),
                None => {}
            }
        }
    }

    /// What waits until everything is answered belongs to the same run, and passes the hooks of prompts as the first
    /// words did. `None` if nothing waits; the inner error says how the run ends because of it.
    async fn follow(&mut self, run: &mut Run) -> Result<Option<Result<(), Ending>>, StoreError> {
        self.count_unasked(run);
        let said = loop {
            let hooks_may = self.unasked < self.agent.settings.max_iterations;
            let Some(said) = self.queues.take_follow_up(hooks_may) else {
                return Ok(None);
            };
            if said.is_of_the_person() {
                self.unasked = 0;
                run.limit = run.iteration + self.agent.settings.max_iterations;
            } else {
                run.unasked_since = Some(self.turn);
            }
            match self.hear(said).await {
                Ok(said) => break said,
                Err(Ending::Handled(Some(message))) => self.agent.front.show(Sight::Notice(&message)),
                Err(_) => {}
            }
            self.count_unasked(run);
        };
        self.keep().await?;
        let (Input { text, images, source }, note) = opening(said);
        let (prompt, context) = match self.consider(text, &images, source, 0).await {
            Ok(considered) => considered,
            Err(ending) => return Ok(Some(Err(ending))),
        };
        let arrivals = match &note {
            None => self.arrived().await?,
            Some(_) => Arrivals::default(),
        };
        let lent = self.lineage.fuel.clone();
        let fuel = lent.unwrap_or_else(|| Fuel::full(self.agent.settings.fuel));
        run.take_up(arrivals.before(prompt), context, fuel);
        self.write_system_prompt(run).await;
        self.expect(run, (note, images), Vec::new(), arrivals).await;
        run.fallback = self.agent.settings.fallback;
        Ok(Some(Ok(())))
    }

    /// Requests that only hooks have caused are counted until the person speaks.
    fn count_unasked(&mut self, run: &mut Run) {
        if let Some(since) = run.unasked_since.take() {
            self.unasked += (self.turn - since).max(1);
        }
    }

    /// Sub-agents may use so many tokens together and no more.
    async fn over_budget(&self) -> Option<Ending> {
        let budget = self.agent.settings.subagents.token_budget?;
        if !self.is_subagent() || self.lineage.family.tokens() < budget {
            return None;
        }
        let message = format!(
            "the {budget} tokens that sub-agents may use for one prompt are used up (`subagents.token_budget`)"
        );
        self.notify(Level::Warning, &message).await;
        Some(Ending::Limit(message))
    }

    /// The requests for one prompt are used up: it ends, unless the person lets it go on.
    async fn iteration_limit(&self, run: &mut Run) -> Option<Ending> {
        let limit = run.limit;
        let message = format!("the limit of {limit} requests for one prompt is reached");
        self.notify(Level::Warning, &message).await;
        let payload = || IterationLimitPayload {
            limit,
            message: message.clone(),
        };
        self.hooks.tell::<IterationLimit>(payload).await;
        self.call_attention(AttentionReason::Limit, &message).await;
        // A sub-agent tells its parent, which may go on by itself.
        let answer = match self.is_subagent() {
            true => GoingOn::Ends,
            false => self.gate.going_on(&self.hooks, &message).await,
        };
        match answer {
            GoingOn::Ends => return Some(Ending::Limit(message)),
            GoingOn::Cancelled => return Some(Ending::Cancelled),
            GoingOn::Agreed => run.limit = run.iteration + RAISE,
        }
        let payload = || LimitRaisedPayload {
            previous_limit: limit,
            new_limit: run.limit,
        };
        self.hooks.tell::<LimitRaised>(payload).await;
        None
    }

    /// One request and the tools it asks for. Returns how the run ends, if it does.
    async fn turn(&mut self, run: &mut Run) -> Result<Option<Ending>, StoreError> {
        let said = match self.steered(run).await {
            Ok(said) => said,
            Err(ending) => return Ok(Some(ending)),
        };
        let begun = self.begin_turn(run);
        let started = self.hooks.ask::<TurnStart>(|| begun.payload()).await;
        let result = match self.hear_prompt(run, said).await {
            Ok(()) => self.turn_body(run, started.context.0).await,
            Err(error) => Err(error),
        };
        let ended = self.end_turn(begun, &result).await;
        let over = result?;
        let calls_were_cancelled = over.reason == TurnEnd::Cancelled && !over.tool_results.is_empty();
        let mut ending = self.after_turn(run, ended, over.ending).await?;
        if calls_were_cancelled {
            ending = self.cancelled_turn(run).await?;
        }
        // Whatever ended the turn, the conversation says already that another one goes on.
        if let Some(member) = run.handed_to.take() {
            self.hand_over(run, &member).await?;
            if ending.is_none() {
                self.write_system_prompt(run).await;
            }
        }
        Ok(ending)
    }

    /// A turn begins. Nobody has heard of it yet.
    fn begin_turn(&mut self, run: &mut Run) -> BegunTurn {
        let begun = BegunTurn {
            index: run.iteration,
            at: Instant::now(),
        };
        run.iteration += 1;
        self.turn += 1;
        self.hooks.set_turn(self.turn);
        begun
    }

    /// The turn is over, whatever happened in it.
    async fn end_turn(&self, begun: BegunTurn, result: &Result<TurnOver, StoreError>) -> TurnEndedReply {
        let ended = self.tell_turn_end(begun.index, result).await;
        let reason = result.as_ref().map_or(TurnEnd::Error, |over| over.reason);
        let span = Span::over(SpanKind::Turn, "", self.turn, begun.at);
        self.agent.store.span(
            &self.hooks.scope().session_id,
            span.with(json!({"reason": reason})),
        );
        ended
    }

    /// After calls that were cancelled it would be the model's turn. Whoever listens hears of the answer that does not
    /// come, as where a cancel meets a request.
    async fn cancelled_turn(&mut self, run: &mut Run) -> Result<Option<Ending>, StoreError> {
        let begun = self.begin_turn(run);
        self.hooks.tell::<TurnStart>(|| begun.payload()).await;
        let message = self.told(None, StopReason::Cancelled, None).await;
        run.unstored = Some(message.clone());
        let over = TurnOver {
            reason: TurnEnd::Cancelled,
            message: Some(message),
            tool_results: Vec::new(),
            ending: Some(Ending::Cancelled),
        };
        let ended = self.end_turn(begun, &Ok(over)).await;
        self.after_turn(run, ended, Some(Ending::Cancelled)).await
    }

    async fn tell_turn_end(&self, turn_index: u32, result: &Result<TurnOver, StoreError>) -> TurnEndedReply {
        let payload = || {
            let (reason, message, tool_results) = match result {
                Ok(over) => (over.reason, over.message.clone(), over.tool_results.clone()),
                Err(_) => (TurnEnd::Error, None, Vec::new()),
            };
            TurnEndedPayload {
                turn_index,
                reason,
                message,
                tool_results,
                entries: Vec::new(),
                go_on: false,
            }
        };
        self.hooks.tell::<TurnEnded>(payload).await
    }

    /// The prompt and what was said in between become part of the conversation when the turn has begun.
    async fn hear_prompt(&mut self, run: &mut Run, said: Vec<Message>) -> Result<(), StoreError> {
        self.store_prompt(run).await?;
        self.add(said).await
    }

    /// What was said while the model was at work, as messages, if hooks agree to the words; otherwise the run ends.
    async fn steered(&self, run: &mut Run) -> Result<Vec<Message>, Ending> {
        let (messages, words) = self.messages_of(self.queues.take_steering()).await;
        if words.is_empty() {
            return Ok(messages);
        }
        let payload = || SteeringPayload { messages: words };
        let (reply, handlers) = self.hooks.ask_whom::<Steering>(payload).await;
        let consent = self
            .gate
            .consent(&self.hooks, "what you said", reply.verdict, handlers)
            .await;
        if self.hooks.cancel().is_cancelled() {
            return Err(Ending::Cancelled);
        }
        if let Err(reason) = consent {
            self.raise(ErrorKind::HookBlocked, &reason).await;
            return Err(Ending::Blocked(reason));
        }
        run.context.extend(reply.context.0);
        Ok(messages)
    }

    /// What was said as messages, and the words among it. Words that a hook takes care of become none.
    async fn messages_of(&self, said: Vec<Said>) -> (Vec<Message>, Vec<String>) {
        let (mut messages, mut words) = (Vec::new(), Vec::new());
        for said in said {
            match self.hear(said).await {
                Ok(Said::Note(note)) => messages.push(from_draft(note)),
                Ok(Said::Words(input) | Said::Line(input)) => {
                    messages.push(user(&input.text, input.images));
                    words.push(input.text);
                }
                Err(_) => {}
            }
        }
        (messages, words)
    }

    async fn turn_body(
        &mut self,
        run: &mut Run,
        mut turn_context: Vec<String>,
    ) -> Result<TurnOver, StoreError> {
        let tools = self.offered_tools(run).await;
        if run.empty_answers > 0 {
            turn_context.push(SAY_SOMETHING.into());
        }
        let message = match self.ask_model(run, turn_context, &tools).await {
            Ok(message) => message,
            Err(failure) => return self.no_answer(run, failure).await,
        };
        run.overflowed = false;
        let agent = Arc::clone(&self.agent);
        let shown = ShownAnswer::of(&*agent.front, &message, RequestPurpose::Answer);
        let message = self.completed(message, Joins::InRun).await;
        let MessageBody::Assistant {
            usage, stop_reason, ..
        } = message.body()
        else {
            unreachable!("a model answers as the assistant, and hooks cannot change the role");
        };
        run.usage = run.usage.plus(*usage);
        if self.is_subagent() {
            self.lineage.family.count(*usage);
        }
        let hindrance = hindrance(*stop_reason);
        if says_nothing(&message) && *stop_reason != StopReason::Refused {
            shown.settle();
            return Ok(self.empty_answer(run, message).await);
        }
        run.empty_answers = 0;
        run.answer = message.text();
        self.store_messages(vec![message.clone()]).await?;
        shown.settle();
        if message.tool_calls().is_empty() {
            let (reason, ending) = self.answered(run).await?;
            return Ok(TurnOver {
                reason,
                message: Some(message),
                tool_results: Vec::new(),
                ending,
            });
        }
        self.run_tools(run, message, &tools, hindrance).await
    }

    async fn run_tools(
        &mut self,
        run: &mut Run,
        message: Message,
        tools: &[Arc<dyn Tool>],
        hindrance: Option<&str>,
    ) -> Result<TurnOver, StoreError> {
        let parent = Parent::new(self, tools, run.fuel.clone());
        let batch = Batch::of(&parent);
        let FinishedBatch { mut calls, cancelled } = batch.run(message.tool_calls(), hindrance).await;
        run.usage = run.usage.plus(parent.spent());
        let results = calls.iter().map(|call| call.message.clone()).collect();
        let tool_results = self.finished(results, Joins::InRun).await;
        self.store_messages(tool_results.clone()).await?;
        let after = batch.after(&calls).await;
        if !after.context.is_empty() {
            self.add(vec![note("hook", &after.context.join("\n\n"))]).await?;
        }
        self.warn_of_repetition(run, &message, &calls).await?;
        // The last call that gave somebody the word counts; who speaks next is another question.
        let mut words: Vec<Word> = calls.iter_mut().filter_map(|call| call.word.take()).collect();
        if let Some(member) = take_member(&mut words) {
            self.announce_handoff(&member).await;
            run.handed_to = Some(member);
        }
        // Where every call says that the model need not be asked again, the person has the word.
        let ends_run = calls.iter().all(|call| call.ends_run);
        let word = if ends_run {
            Some(Word::Person(None))
        } else {
            words.pop()
        };
        let records = calls.into_iter().map(|call| call.record).collect();
        let payload = || ToolBatchPayload {
            tool_calls: records,
            fuel_remaining: run.fuel.remaining(),
            fuel_total: run.fuel.total,
            fallback: run.fallback,
        };
        let reply = self.hooks.tell::<ToolBatch>(payload).await;
        run.fallback = reply.fallback.get().unwrap_or(run.fallback);
        run.fuel.adjust(reply.fuel);
        let (reason, ending) = match self.interrupted(run, &message, after.stop, cancelled).await {
            Some((reason, ending)) => (reason, Some(ending)),
            None => self.after_tools(run, &message, word).await?,
        };
        Ok(TurnOver {
            reason,
            message: Some(message),
            tool_results,
            ending,
        })
    }
}

/// Why the calls of an answer are not run: only one that is whole asks for what the model meant.
fn hindrance(stop_reason: StopReason) -> Option<&'static str> {
    match stop_reason {
        StopReason::Stop | StopReason::ToolCalls => None,
        StopReason::Length => Some("not run: the answer was cut off at its length limit"),
        StopReason::Refused => Some("not run: the provider stopped the answer before it was complete"),
        StopReason::Cancelled | StopReason::Error => Some("not run: the answer is not complete"),
    }
}

/// What a run begins with: words, or a note that stands for them.
fn opening(said: Said) -> (Input, Option<NoteDraft>) {
    match said {
        Said::Words(input) | Said::Line(input) => (input, None),
        Said::Note(note) => {
            let images = note.content.iter();
            let input = Input {
                text: text_of(&note.content),
                images: images
                    .filter(|part| matches!(part, Part::Image { .. }))
                    .cloned()
                    .collect(),
                source: InputSource::Hook,
            };
            (input, Some(note))
        }
    }
}

/// A note with the words that hooks have left of it.
fn reworded(note: NoteDraft, words: &str, images: Vec<Part>) -> NoteDraft {
    if text_of(&note.content) == words {
        return note;
    }
    NoteDraft {
        content: std::iter::once(Part::text(words)).chain(images).collect(),
        ..note
    }
}

/// The member of the team that was given the word last.
fn take_member(words: &mut Vec<Word>) -> Option<String> {
    let mut last = None;
    words.retain(|word| match word {
        Word::Member(member) => {
            last = Some(member.clone());
            false
        }
        _ => true,
    });
    last
}

/// Neither words nor tools: thoughts alone are no answer.
fn says_nothing(message: &Message) -> bool {
    message.tool_calls().is_empty() && message.text().trim().is_empty()
}
