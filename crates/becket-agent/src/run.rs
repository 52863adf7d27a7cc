//! The loop: from the person's words to the answer, turn by turn.
//!
//! `prompt` → `run` → `turn`, and in a turn: the context, the request, the tools. Every turn that began ends with
//! `turn_end`, every run with `agent_end`, whatever happened in between.

use std::borrow::Cow;
use std::sync::Arc;

use becket_events::{
    AgentEnd, AgentEndPayload, AgentStart, AgentStartPayload, Attention, AttentionPayload, AttentionReason,
    EndReason, ErrorKind, Fallback, InputSource, IterationLimit, IterationLimitPayload, Level, LoopStart,
    LoopStartPayload, Message, MessageBody, ModelContext, ModelContextPayload, Part, Stop, StopPayload,
    StopReason, ToolBatch, ToolBatchPayload, ToolCall, ToolOffer, ToolsOffered, ToolsOfferedPayload, TurnEnd,
    TurnEnded, TurnEndedPayload, TurnStart, TurnStartPayload, Usage, UserInput, UserInputPayload, UserPrompt,
    UserPromptPayload,
};
use tokio_util::sync::CancellationToken;

use crate::batch::{Batch, FinishedBatch};
use crate::front::Sight;
use crate::message::{from_draft, note, now_ms, user};
use crate::model_call::{CallFailure, ModelCall};
use crate::prompt::system_prompt;
use crate::provider::{ModelRequest, ProviderError, ToolFace};
use crate::session::Session;
use crate::store::StoreError;
use crate::tool::Tool;

/// How often hooks of `stop` may send the model on for one prompt.
const MAX_STOP_CONTINUATIONS: u32 = 10;

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
}

impl Ending {
    /// The same in the vocabulary's words.
    pub fn reason(&self) -> EndReason {
        match self {
            Self::Answered | Self::Handled(_) => EndReason::Done,
            Self::Blocked(_) => EndReason::Blocked,
            Self::Limit(_) => EndReason::Limit,
            Self::LoopDetected(_) | Self::Provider(_) => EndReason::Failed,
            Self::Cancelled => EndReason::Cancelled,
        }
    }
}

/// What one prompt carries along.
struct Run {
    prompt: String,
    system_prompt: String,
    /// Texts that the model sees until the prompt is answered.
    context: Vec<String>,
    fuel: Fuel,
    fallback: Fallback,
    iteration: u32,
    continuation: u32,
    stop_continuations: u32,
    last_stop_reason: Option<String>,
    last_round: Vec<ToolCall>,
    identical_rounds: u32,
    /// Where the run's own messages begin.
    first_message: usize,
    usage: Usage,
    answer: String,
}

/// Rounds of tools that are left, where they are limited.
#[derive(Clone, Copy)]
struct Fuel {
    remaining: Option<u32>,
    total: Option<u32>,
}

/// A turn that is over.
struct TurnOver {
    reason: TurnEnd,
    message: Option<Message>,
    tool_results: Vec<Message>,
    /// How the run ends; `None` when it goes on.
    ending: Option<Ending>,
}

impl Session {
    /// Takes the person's words to an answer, and queued words after them. A cancel ends it soon.
    pub async fn prompt(&mut self, input: Input, cancel: CancellationToken) -> Result<RunEnd, StoreError> {
        self.hooks.set_cancel(cancel);
        let mut input = input;
        loop {
            let heard = self.hear(input).await;
            let end = match heard {
                Ok(input) => self.run(input).await?,
                Err(ending) => RunEnd {
                    answer: String::new(),
                    ending,
                },
            };
            match self.queues.take_follow_up() {
                Some(text) if matches!(end.ending, Ending::Answered | Ending::Handled(_)) => {
                    input = Input {
                        text,
                        images: Vec::new(),
                        source: InputSource::FollowUp,
                    };
                }
                _ => return Ok(end),
            }
        }
    }

    /// Lets hooks rewrite the words or take care of them.
    async fn hear(&self, input: Input) -> Result<Input, Ending> {
        let Input { text, images, source } = input;
        let payload = || UserInputPayload {
            text: text.clone(),
            images: images.clone(),
            source,
        };
        let reply = self.hooks.ask::<UserInput>(payload).await;
        match reply.handled.get() {
            Some(handled) => Err(Ending::Handled(handled.message)),
            None => Ok(Input {
                text: reply.text.get().unwrap_or(text),
                images: reply.images.get().unwrap_or(images),
                source,
            }),
        }
    }

    async fn run(&mut self, input: Input) -> Result<RunEnd, StoreError> {
        let first_message = self.messages.len();
        let mut run = match self.begin(input, first_message).await? {
            Ok(run) => run,
            Err(ending) => {
                return Ok(RunEnd {
                    answer: String::new(),
                    ending,
                });
            }
        };
        let result = self.turns(&mut run).await;
        self.usage = self.usage.plus(run.usage);
        let reason = result.as_ref().map_or(EndReason::Failed, Ending::reason);
        let payload = || AgentEndPayload {
            messages: self.messages[run.first_message..].to_vec(),
            reason,
            usage: run.usage,
        };
        self.hooks.tell::<AgentEnd>(payload).await;
        let message = "ready for the next prompt".to_string();
        self.hooks
            .tell::<Attention>(|| AttentionPayload {
                reason: AttentionReason::Idle,
                message,
            })
            .await;
        result.map(|ending| RunEnd {
            answer: run.answer,
            ending,
        })
    }

    /// Everything before the first turn: the prompt and the system prompt pass their hooks, the prompt is stored.
    async fn begin(&mut self, input: Input, first_message: usize) -> Result<Result<Run, Ending>, StoreError> {
        let Input { text, images, source } = input;
        let payload = || UserPromptPayload {
            prompt: text.clone(),
            images: images.clone(),
            source,
            summary: self.summary.clone(),
            continuation: 0,
        };
        let (reply, handlers) = self.hooks.ask_whom::<UserPrompt>(payload).await;
        let consent = self
            .gate
            .consent(&self.hooks, "this prompt", reply.verdict, handlers)
            .await;
        if self.hooks.cancel().is_cancelled() {
            return Ok(Err(Ending::Cancelled));
        }
        if let Err(reason) = consent {
            self.raise(ErrorKind::HookBlocked, &reason).await;
            return Ok(Err(Ending::Blocked(reason)));
        }
        let prompt = reply.prompt.get().unwrap_or(text);
        let system_prompt = system_prompt(&self.hooks, &self.agent.settings, self.summary.as_deref()).await;
        let payload = || AgentStartPayload {
            prompt: prompt.clone(),
            images: images.clone(),
            system_prompt: system_prompt.clone(),
        };
        let started = self.hooks.ask::<AgentStart>(payload).await;
        let notes = started.messages.into_iter().map(from_draft);
        let messages = std::iter::once(user(&prompt, images)).chain(notes).collect();
        self.add(messages).await?;
        let mut run = Run {
            prompt,
            system_prompt: started.system_prompt.get().unwrap_or(system_prompt),
            context: reply.context.0,
            fuel: Fuel {
                remaining: self.agent.settings.fuel,
                total: self.agent.settings.fuel,
            },
            fallback: self.agent.settings.fallback,
            iteration: 0,
            continuation: 0,
            stop_continuations: 0,
            last_stop_reason: None,
            last_round: Vec::new(),
            identical_rounds: 0,
            first_message,
            usage: Usage::default(),
            answer: String::new(),
        };
        self.start_loop(&mut run).await;
        Ok(Ok(run))
    }

    async fn start_loop(&self, run: &mut Run) {
        let payload = || LoopStartPayload {
            fuel_remaining: run.fuel.remaining,
            fuel_total: run.fuel.total,
            fallback: run.fallback,
            message: run.prompt.clone(),
        };
        let reply = self.hooks.ask::<LoopStart>(payload).await;
        run.fallback = reply.fallback.get().unwrap_or(run.fallback);
        run.fuel.remaining = run.fuel.remaining.map(|fuel| reply.fuel.apply(fuel));
    }

    async fn turns(&mut self, run: &mut Run) -> Result<Ending, StoreError> {
        loop {
            if run.iteration >= self.agent.settings.max_iterations {
                return Ok(self.iteration_limit().await);
            }
            if let Some(ending) = self.turn(run).await? {
                return Ok(ending);
            }
        }
    }

    async fn iteration_limit(&self) -> Ending {
        let limit = self.agent.settings.max_iterations;
        let message = format!("the limit of {limit} requests for one prompt is reached");
        self.notify(Level::Warning, &message).await;
        let payload = || IterationLimitPayload {
            limit,
            message: message.clone(),
        };
        self.hooks.tell::<IterationLimit>(payload).await;
        let payload = || AttentionPayload {
            reason: AttentionReason::Limit,
            message: message.clone(),
        };
        self.hooks.tell::<Attention>(payload).await;
        Ending::Limit(message)
    }

    /// One request and the tools it asks for. Returns how the run ends, if it does.
    async fn turn(&mut self, run: &mut Run) -> Result<Option<Ending>, StoreError> {
        self.add_steering().await?;
        let turn_index = run.iteration;
        run.iteration += 1;
        self.turn += 1;
        self.hooks.set_turn(self.turn);
        let started = self
            .hooks
            .ask::<TurnStart>(|| TurnStartPayload {
                turn_index,
                time_ms: now_ms(),
            })
            .await;
        let result = self.turn_body(run, started.context.0).await;
        let over = match &result {
            Ok(over) => (over.reason, over.message.clone(), over.tool_results.clone()),
            Err(_) => (TurnEnd::Error, None, Vec::new()),
        };
        let payload = || {
            let (reason, message, tool_results) = over;
            TurnEndedPayload {
                turn_index,
                reason,
                message,
                tool_results,
            }
        };
        self.hooks.tell::<TurnEnded>(payload).await;
        result.map(|over| over.ending)
    }

    /// Words that the person said while the model was at work become messages.
    async fn add_steering(&mut self) -> Result<(), StoreError> {
        for text in self.queues.take_steering() {
            let heard = self
                .hear(Input {
                    text,
                    images: Vec::new(),
                    source: InputSource::Steering,
                })
                .await;
            if let Ok(input) = heard {
                self.add(vec![user(&input.text, input.images)]).await?;
            }
        }
        Ok(())
    }

    async fn turn_body(&mut self, run: &mut Run, turn_context: Vec<String>) -> Result<TurnOver, StoreError> {
        let tools = self.offered_tools(run).await;
        let answer = self.ask_model(run, turn_context, &tools).await;
        let message = match answer {
            Ok(message) => message,
            Err(failure) => return self.no_answer(failure).await,
        };
        let message = self.completed(message).await;
        let MessageBody::Assistant {
            usage, stop_reason, ..
        } = message.body()
        else {
            unreachable!("a model answers as the assistant, and hooks cannot change the role");
        };
        run.usage = run.usage.plus(*usage);
        let cut_off = *stop_reason == StopReason::Length;
        run.answer = message.text();
        self.store_messages(vec![message.clone()]).await?;
        if message.tool_calls().is_empty() {
            let (reason, ending) = self.answered(run).await?;
            return Ok(TurnOver {
                reason,
                message: Some(message),
                tool_results: Vec::new(),
                ending,
            });
        }
        let hindrance = cut_off.then_some("not run: the answer was cut off at its length limit");
        self.run_tools(run, message, &tools, hindrance).await
    }

    /// The tools of this request, after hooks have taken some away.
    async fn offered_tools(&self, run: &Run) -> Vec<Arc<dyn Tool>> {
        let payload = || ToolsOfferedPayload {
            tools: self.agent.tools.iter().map(|tool| offer(&**tool)).collect(),
            fuel_remaining: run.fuel.remaining,
            fuel_total: run.fuel.total,
            continuation: run.continuation,
        };
        let reply = self.hooks.ask::<ToolsOffered>(payload).await;
        let (include, exclude) = (reply.include.get(), reply.exclude.0);
        let kept = self.agent.tools.iter().filter(|tool| {
            let name = &tool.spec().face.name;
            include.as_ref().is_none_or(|include| include.contains(name)) && !exclude.contains(name)
        });
        kept.cloned().collect()
    }

    async fn ask_model(
        &self,
        run: &Run,
        turn_context: Vec<String>,
        tools: &[Arc<dyn Tool>],
    ) -> Result<Message, CallFailure> {
        let messages = self.visible_messages(run, turn_context);
        let payload = || ModelContextPayload {
            messages: messages.to_vec(),
            iteration: run.iteration,
        };
        let (reply, handlers) = self.hooks.ask_whom::<ModelContext>(payload).await;
        let consent = self
            .gate
            .consent(&self.hooks, "this request", reply.verdict, handlers)
            .await;
        if self.hooks.cancel().is_cancelled() {
            return Err(CallFailure::Cancelled(None));
        }
        consent.map_err(CallFailure::Blocked)?;
        let messages = reply.messages.get().map_or(messages, Cow::Owned);
        let faces: Vec<ToolFace> = tools.iter().map(|tool| tool.spec().face.clone()).collect();
        let call = ModelCall {
            hooks: &self.hooks,
            gate: &self.gate,
            provider: &*self.agent.provider,
            front: &*self.agent.front,
            settings: &self.agent.settings,
            prompt: &run.prompt,
            iteration: run.iteration,
            fuel: (run.fuel.remaining, run.fuel.total),
            continuation: run.continuation,
        };
        let system_prompt = self.with_session_context(&run.system_prompt);
        let options = &self.agent.settings.options;
        call.ask(&ModelRequest {
            system_prompt: &system_prompt,
            messages: &messages,
            tools: &faces,
            options,
        })
        .await
    }

    /// The conversation, with the texts that last only for this prompt or this turn at its end.
    fn visible_messages(&self, run: &Run, turn_context: Vec<String>) -> Cow<'_, [Message]> {
        let passing: Vec<&str> = run
            .context
            .iter()
            .chain(&turn_context)
            .map(String::as_str)
            .collect();
        if passing.is_empty() {
            return Cow::Borrowed(&self.messages);
        }
        let passing = note("hook", &passing.join("\n\n"));
        Cow::Owned(
            self.messages
                .iter()
                .cloned()
                .chain(std::iter::once(passing))
                .collect(),
        )
    }

    fn with_session_context<'a>(&self, system_prompt: &'a str) -> Cow<'a, str> {
        if self.context.is_empty() {
            return Cow::Borrowed(system_prompt);
        }
        Cow::Owned(format!("{system_prompt}\n\n{}", self.context.join("\n\n")))
    }

    async fn no_answer(&mut self, failure: CallFailure) -> Result<TurnOver, StoreError> {
        let over = |reason, message, ending| TurnOver {
            reason,
            message,
            tool_results: Vec::new(),
            ending: Some(ending),
        };
        Ok(match failure {
            CallFailure::Blocked(reason) => {
                self.raise(ErrorKind::HookBlocked, &reason).await;
                over(TurnEnd::HookBlocked, None, Ending::Blocked(reason))
            }
            CallFailure::Provider(error) => {
                self.raise(ErrorKind::Provider, &error.message).await;
                over(TurnEnd::Error, None, Ending::Provider(error))
            }
            CallFailure::Cancelled(partial) => {
                let partial = match partial {
                    Some(partial) => Some(self.completed(partial).await),
                    None => None,
                };
                self.store_messages(partial.iter().cloned().collect()).await?;
                over(TurnEnd::Cancelled, partial, Ending::Cancelled)
            }
        })
    }

    /// The model wants no tool: does the run end here?
    async fn answered(&mut self, run: &mut Run) -> Result<(TurnEnd, Option<Ending>), StoreError> {
        let payload = || StopPayload {
            response: run.answer.clone(),
            prompt: run.prompt.clone(),
            continuations: run.stop_continuations,
        };
        let reply = self.hooks.tell::<Stop>(payload).await;
        if let Some(reason) = reply.continue_with.get()
            && self.may_go_on(run, &reason)
        {
            run.stop_continuations += 1;
            run.last_stop_reason = Some(reason.clone());
            self.add(vec![note("stop", &reason)]).await?;
            return Ok((TurnEnd::Continue, None));
        }
        if self.queues.has_steering() {
            return Ok((TurnEnd::Steered, None));
        }
        match run.fallback {
            Fallback::CallUser => Ok((TurnEnd::Normal, Some(Ending::Answered))),
            Fallback::CallAgent => self.reengage(run).await,
        }
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
    async fn reengage(&mut self, run: &mut Run) -> Result<(TurnEnd, Option<Ending>), StoreError> {
        if let Some(ending) = self.burn_fuel(run).await {
            return Ok((TurnEnd::Limit, Some(ending)));
        }
        run.continuation += 1;
        let text = "Go on with the task. What you write is not shown to the person until the task is done.";
        let payload = || UserPromptPayload {
            prompt: text.into(),
            images: Vec::new(),
            source: InputSource::Hook,
            summary: self.summary.clone(),
            continuation: run.continuation,
        };
        let (reply, handlers) = self.hooks.ask_whom::<UserPrompt>(payload).await;
        if let Err(reason) = self
            .gate
            .consent(&self.hooks, "this prompt", reply.verdict, handlers)
            .await
        {
            self.raise(ErrorKind::HookBlocked, &reason).await;
            return Ok((TurnEnd::HookBlocked, Some(Ending::Blocked(reason))));
        }
        run.prompt = reply.prompt.get().unwrap_or_else(|| text.into());
        run.context = reply.context.0;
        self.add(vec![user(&run.prompt, Vec::new())]).await?;
        self.start_loop(run).await;
        Ok((TurnEnd::Continue, None))
    }

    async fn burn_fuel(&self, run: &mut Run) -> Option<Ending> {
        let remaining = run.fuel.remaining?.saturating_sub(1);
        run.fuel.remaining = Some(remaining);
        if remaining > 0 {
            return None;
        }
        let message = "the fuel for this prompt is used up".to_string();
        self.notify(Level::Warning, &message).await;
        Some(Ending::Limit(message))
    }

    async fn run_tools(
        &mut self,
        run: &mut Run,
        message: Message,
        tools: &[Arc<dyn Tool>],
        hindrance: Option<&str>,
    ) -> Result<TurnOver, StoreError> {
        let agent = Arc::clone(&self.agent);
        let hooks = self.hooks.clone();
        let gate = Arc::clone(&self.gate);
        let batch = Batch {
            hooks: &hooks,
            gate: &gate,
            store: &*agent.store,
            front: &*agent.front,
            settings: &agent.settings,
            tools,
        };
        let FinishedBatch { calls, cancelled } = batch.run(message.tool_calls(), hindrance).await;
        let tool_results: Vec<Message> = calls.iter().map(|call| call.message.clone()).collect();
        self.add(tool_results.clone()).await?;
        let after = batch.after(&calls).await;
        if !after.context.is_empty() {
            self.add(vec![note("hook", &after.context.join("\n\n"))]).await?;
        }
        let records = calls.into_iter().map(|call| call.record).collect();
        let payload = || ToolBatchPayload {
            tool_calls: records,
            fuel_remaining: run.fuel.remaining,
            fuel_total: run.fuel.total,
            fallback: run.fallback,
        };
        let reply = self.hooks.tell::<ToolBatch>(payload).await;
        run.fallback = reply.fallback.get().unwrap_or(run.fallback);
        run.fuel.remaining = run.fuel.remaining.map(|fuel| reply.fuel.apply(fuel));
        let (reason, ending) = self.after_tools(run, &message, after.stop, cancelled).await;
        Ok(TurnOver {
            reason,
            message: Some(message),
            tool_results,
            ending,
        })
    }

    /// The tools have run: does the run go on?
    async fn after_tools(
        &self,
        run: &mut Run,
        message: &Message,
        stop: Option<String>,
        cancelled: bool,
    ) -> (TurnEnd, Option<Ending>) {
        if cancelled {
            return (TurnEnd::Cancelled, Some(Ending::Cancelled));
        }
        if let Some(reason) = stop {
            self.raise(ErrorKind::HookBlocked, &reason).await;
            return (TurnEnd::HookBlocked, Some(Ending::Blocked(reason)));
        }
        if run.repeats_itself(message.tool_calls(), self.agent.settings.max_identical_rounds) {
            let message = format!(
                "the model asked {} times in a row for the same",
                run.identical_rounds
            );
            self.raise(ErrorKind::LoopDetected, &message).await;
            return (TurnEnd::LoopDetected, Some(Ending::LoopDetected(message)));
        }
        if let Some(ending) = self.burn_fuel(run).await {
            return (TurnEnd::Limit, Some(ending));
        }
        let reason = if self.queues.has_steering() {
            TurnEnd::Steered
        } else {
            TurnEnd::Continue
        };
        (reason, None)
    }
}

impl Run {
    /// Counts rounds that ask for the same tools with the same arguments.
    fn repeats_itself(&mut self, calls: &[ToolCall], limit: u32) -> bool {
        let same = calls.len() == self.last_round.len()
            && calls
                .iter()
                .zip(&self.last_round)
                .all(|(one, other)| one.name == other.name && one.arguments == other.arguments);
        self.identical_rounds = if same { self.identical_rounds + 1 } else { 1 };
        self.last_round = calls.to_vec();
        self.identical_rounds >= limit
    }
}

fn offer(tool: &dyn Tool) -> ToolOffer {
    let spec = tool.spec();
    ToolOffer {
        name: spec.face.name.clone(),
        operation: spec.operation,
        source: spec.source.clone(),
    }
}
