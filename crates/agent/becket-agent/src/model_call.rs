//! One request to the model: it passes the hooks, is sent with retries, and its answer is put together from its pieces.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use becket_events::{
    AttentionReason, BudgetReached, BudgetReachedPayload, Delta, Event, Header, Json, Message, MessageBody,
    MessageEnd, MessageEndPayload, MessageStart, MessageStartPayload, MessageUpdate, MessageUpdatePayload,
    Output, OutputPayload, Part, PostResponse, PostResponsePayload, PreRequest, PreRequestPayload,
    RequestForm, RequestPurpose, Response, ResponseData, ResponseDataPayload, ResponsePart,
    ResponsePartPayload, ResponsePayload, ResponseStart, ResponseStartPayload, StopReason, Strictest,
    ToolCall, Usage, text_of,
};
use becket_gate::Hooks;
use becket_gate::gate::{Gate, GoingOn};
use futures_util::StreamExt;
use serde_json::json;

use crate::account::ReachedBudget;
use crate::entries::{EntryContent, NewEntry};
use crate::front::{Front, FrontUpdate};
use crate::fuel::Fuel;
use crate::guests::Guests;
use crate::message::{instead, new_id, record, with_text};
use crate::missing_results::with_missing_results;
use crate::notices::{call_attention, warn};
use crate::provider::{
    AnswerPart, Answering, Begun, ModelRequest, Provider, ProviderError, ProviderErrorKind, SendOptions,
    Sending,
};
use crate::session::Session;
use crate::session_handle::SessionHandle;
use crate::settings::AgentSettings;
use crate::store::{Span, SpanKind, Store};

/// The longest wait that a provider can ask for; if it asks for more, there is no retry.
const LONGEST_WAIT: Duration = Duration::from_secs(10 * 60);

/// The longest wait before a retry where the provider asks for none.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// How many times as often as after a fault a request is tried again after a limit on the rate, which passes by itself.
const RATE_LIMIT_RETRIES: u32 = 3;

/// After how long the user is told that the provider has said nothing yet.
const SILENCE_TOLD: Duration = Duration::from_secs(10);

/// The model that answers of hooks name, given in place of a model's.
pub(crate) const HOOK: &str = "hook";

/// What a request needs besides its content.
pub(crate) struct ModelCall<'a> {
    pub(crate) hooks: &'a Hooks,
    pub(crate) gate: &'a Gate,
    pub(crate) provider: &'a dyn Provider,
    pub(crate) front: &'a dyn Front,
    pub(crate) settings: &'a AgentSettings,
    pub(crate) store: &'a dyn Store,
    pub(crate) handle: Option<&'a SessionHandle>,
    pub(crate) guests: Option<&'a dyn Guests>,
    pub(crate) purpose: RequestPurpose,
    pub(crate) prompt: &'a str,
    pub(crate) iteration: u32,
    pub(crate) fuel: Fuel,
    pub(crate) continuation: u32,
    /// Whether hooks judge the answer before anybody sees it, so that nothing is shown while it arrives.
    pub(crate) is_held: bool,
    /// Whether hooks judge the text piece by piece, so that a piece is shown when the next one has arrived.
    pub(crate) in_parts: bool,
    /// The text that hooks have let be shown before the answer was complete.
    pub(crate) released: Mutex<String>,
    /// What was shown of answers that broke off and were asked for again.
    pub(crate) replaced: Mutex<Vec<Replaced>>,
}

/// The shown part of an answer that broke off and was asked for again.
pub(crate) struct Replaced {
    pub(crate) text: String,
    pub(crate) error: String,
}

impl From<Replaced> for NewEntry {
    /// The mark in the conversation. No model sees it.
    fn from(replaced: Replaced) -> Self {
        Self::new(EntryContent::Custom {
            kind: REPLACED_ANSWER.into(),
            data: json!({"text": replaced.text, "error": replaced.error}),
        })
    }
}

/// The kind of the entries that mark answers which broke off and were asked for again.
const REPLACED_ANSWER: &str = "replaced_answer";

/// Why there is no answer.
pub(crate) enum CallFailure {
    /// A hook refused the request.
    Blocked(String),
    /// The user cancelled.
    Cancelled(Option<Unfinished>),
    /// The provider failed.
    Provider(ProviderError, Option<Unfinished>),
    /// A budget lets no further request pass, for this reason.
    Limit(String),
}

/// A request after its hooks: what is left to send, or a hook's answer in place of the model's.
pub(crate) enum Prepared<T> {
    Send(T),
    Answered(String),
}

/// A request as hooks have left it.
struct Outgoing {
    body: Json,
    /// All headers, if hooks have changed some.
    headers: Option<Vec<Header>>,
}

/// How a wait before a retry ended.
enum Waited {
    Enough,
    GivenUp,
    Cancelled,
}

/// Whether the user was told that the provider says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Silence {
    Unnoticed,
    /// Before the answer began.
    Told,
    /// In the middle of the answer.
    ToldWithin,
}

/// The part of an answer that had arrived.
pub(crate) struct Unfinished {
    pub(crate) message: Message,
    /// Whether hooks were told that the answer had begun.
    pub(crate) begun: bool,
}

/// How a request ended, for its recorded span.
fn ended(result: &Result<Message, CallFailure>) -> serde_json::Value {
    match result {
        Ok(message) => match message.body() {
            MessageBody::Assistant {
                usage, stop_reason, ..
            } => json!({"stop_reason": stop_reason, "usage": usage}),
            _ => json!({}),
        },
        Err(CallFailure::Blocked(reason)) => json!({"blocked": reason}),
        Err(CallFailure::Cancelled(_)) => json!({"cancelled": true}),
        Err(CallFailure::Provider(error, _)) => json!({"error": error.message}),
        Err(CallFailure::Limit(why)) => json!({"limit": why}),
    }
}

impl From<ProviderError> for CallFailure {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error, None)
    }
}

impl<'a> ModelCall<'a> {
    /// A request of a session, outside of any run.
    pub(crate) fn of(session: &'a Session, purpose: RequestPurpose) -> Self {
        let agent = &session.speaker.agent;
        let hooks = &session.hooks;
        let in_parts = purpose == RequestPurpose::Answer && hooks.has_handlers::<ResponsePart>();
        Self {
            hooks,
            gate: &session.gate,
            provider: &*agent.provider,
            front: &*agent.front,
            settings: &agent.settings,
            store: &*agent.store,
            handle: session.inbox.handle.as_ref(),
            guests: session.speaker.given.guests.as_deref(),
            purpose,
            prompt: "",
            iteration: 0,
            fuel: Fuel::full(None),
            continuation: 0,
            is_held: in_parts || hooks.has_handlers::<PostResponse>() || hooks.has_handlers::<Output>(),
            in_parts,
            released: Mutex::default(),
            replaced: Mutex::default(),
        }
    }

    /// Makes the request, waits for the complete answer, and records how long it took.
    pub(crate) async fn ask(&self, request: &ModelRequest<'_>) -> Result<Message, CallFailure> {
        let began = Instant::now();
        let result = match self.within_budgets().await {
            Ok(()) => self.ask_through_hooks(request).await,
            Err(failure) => Err(failure),
        };
        let scope = self.hooks.scope();
        let span = Span::over(SpanKind::Request, &scope.model, scope.turn, began);
        let facts = json!({"purpose": self.purpose, "ended": ended(&result)});
        self.store.span(&scope.session_id, span.with(facts));
        result
    }

    /// Whether the budgets let the request pass. If not, the user may allow it; a sub-agent reports to its parent,
    /// which asks before it goes on.
    async fn within_budgets(&self) -> Result<(), CallFailure> {
        let is_subagent = self.hooks.scope().parent_session_id.is_some();
        while let Some(reached) = self.provider.reached_budget() {
            let message = reached.why();
            self.tell_budget(&reached, &message).await;
            let answer = match is_subagent {
                true => GoingOn::Ends,
                false => {
                    call_attention(self.hooks, AttentionReason::Limit, &message).await;
                    self.gate.going_on(self.hooks, &message).await
                }
            };
            match answer {
                GoingOn::Ends => return Err(CallFailure::Limit(message)),
                GoingOn::Cancelled => return Err(CallFailure::Cancelled(None)),
                GoingOn::Agreed => reached.go_on(),
            }
        }
        Ok(())
    }

    async fn tell_budget(&self, reached: &ReachedBudget, message: &str) {
        warn(self.front, self.hooks, message).await;
        let payload = || BudgetReachedPayload {
            limit: reached.limit(),
            spent: reached.spent(),
            unpriced_model: reached.unpriced_model().map(ToOwned::to_owned),
            message: message.into(),
        };
        self.hooks.tell::<BudgetReached>(payload).await;
    }

    async fn ask_through_hooks(&self, request: &ModelRequest<'_>) -> Result<Message, CallFailure> {
        let messages = with_missing_results(request.messages);
        let body = self.provider.body(&ModelRequest {
            messages: &messages,
            ..*request
        })?;
        let form = self.provider.form();
        let headers = self.provider.headers(&body);
        let request = match self.through_hooks(body, headers, form).await? {
            Prepared::Send(request) => request,
            Prepared::Answered(text) => return self.answered(&text).await,
        };
        let started = Instant::now();
        let message = self.sent_and_judged(&request).await?;
        let shown = ShownAnswer::of(self.front, &message, self.purpose);
        self.announce(&message, started.elapsed()).await;
        shown.settle();
        Ok(message)
    }

    /// The answer to a request that hooks agree to. What they let be shown of one that they refuse in the end is not
    /// stored.
    async fn sent_and_judged(&self, request: &Outgoing) -> Result<Message, CallFailure> {
        let answer = match self.send(request).await {
            Ok(message) => self.judged(message).await,
            Err(failure) => Err(failure),
        };
        let released = match &answer {
            Err(CallFailure::Blocked(_)) => self.take_released(),
            _ => String::new(),
        };
        if !released.is_empty() {
            let shown = Assembly::saying(released).unfinished(&self.model_name(), StopReason::Refused, None);
            drop(ShownAnswer::of(self.front, &shown.message, self.purpose));
            self.tell_replaced(shown.message).await;
        }
        answer
    }

    /// The answer that a hook gave in place of the model, as if the model had said it.
    pub(crate) async fn answered(&self, text: &str) -> Result<Message, CallFailure> {
        let mut assembly = Assembly::new();
        self.grow(&mut assembly, Delta::Text { text: text.into() })
            .await?;
        self.grow(&mut assembly, Delta::End).await?;
        let message = assembly.message(HOOK, StopReason::Stop, Usage::default());
        let message = self.judged(message).await?;
        self.announce(&message, Duration::ZERO).await;
        Ok(message)
    }

    /// Lets hooks judge a complete answer. One that was held back until now is shown after that.
    async fn judged(&self, message: Message) -> Result<Message, CallFailure> {
        let payload = || PostResponsePayload {
            message: message.clone(),
            purpose: self.purpose,
        };
        let (reply, handlers) = self.asked::<PostResponse>(payload).await;
        self.agreed("this answer", reply.verdict, handlers).await?;
        let mut message = instead(message, reply.message.get());
        if self.purpose != RequestPurpose::Answer {
            return Ok(message);
        }
        if message.tool_calls().is_empty() {
            let text = message.text();
            let payload = || OutputPayload { text: text.clone() };
            let (reply, handlers) = self.asked::<Output>(payload).await;
            self.agreed("this answer", reply.verdict, handlers).await?;
            if let Some(other) = reply.text.get() {
                message = with_text(&message, other);
            }
        }
        if self.is_held {
            self.show_whole(&message).await;
        }
        Ok(message)
    }

    /// Asks about a complete answer. Where no handler can refuse, those who watch are told: a cancel must not lose an
    /// answer that was seen.
    async fn asked<E: Event>(&self, payload: impl FnOnce() -> E::Payload) -> (E::Reply, Vec<String>) {
        match self.is_held {
            true => self.hooks.ask_whom::<E>(payload).await,
            false => (self.hooks.tell::<E>(payload).await, Vec::new()),
        }
    }

    /// What guards say of the request or its answer. A refusal ends the run.
    async fn agreed(
        &self,
        subject: &str,
        verdict: Strictest,
        handlers: Vec<String>,
    ) -> Result<(), CallFailure> {
        let consent = self.gate.consent(self.hooks, subject, verdict, handlers).await;
        consent.map_err(|reason| match self.hooks.cancel().is_cancelled() {
            true => CallFailure::Cancelled(None),
            false => CallFailure::Blocked(reason),
        })
    }

    /// Shows an answer that was held back, as if it had just arrived in one piece. What was shown of its text
    /// already is not shown twice, unless hooks have rewritten it.
    async fn show_whole(&self, message: &Message) {
        let mut released = self.take_released();
        let mut assembly = Assembly {
            id: message.id().to_owned(),
            begun: !released.is_empty(),
            ..Assembly::new()
        };
        if !message.text().starts_with(&released) {
            self.front.show(FrontUpdate::Replaced);
            released.clear();
            assembly.begun = false;
        }
        let mut left = released.len();
        for delta in deltas_of(message) {
            match delta {
                Delta::Text { text } if left >= text.len() => left -= text.len(),
                Delta::Text { text } => {
                    let text = text[std::mem::take(&mut left)..].to_owned();
                    self.show(&mut assembly, Delta::Text { text }).await;
                }
                other => self.show(&mut assembly, other).await,
            }
        }
    }

    /// Lets hooks judge the piece of text that arrived last, and shows it.
    async fn release(&self, assembly: &mut Assembly) -> Result<(), CallFailure> {
        let Some(text) = assembly.waiting.take() else {
            return Ok(());
        };
        self.judge_part(assembly, false).await?;
        self.begin(assembly).await;
        self.released().push_str(&text);
        self.show_delta(assembly, Delta::Text { text }).await;
        Ok(())
    }

    async fn judge_part(&self, assembly: &Assembly, broken_off: bool) -> Result<(), CallFailure> {
        let payload = || ResponsePartPayload {
            text: text_of(&assembly.content),
            broken_off,
        };
        let (reply, handlers) = self.hooks.ask_whom::<ResponsePart>(payload).await;
        self.agreed("this answer", reply.verdict, handlers).await
    }

    fn released(&self) -> MutexGuard<'_, String> {
        self.released.lock().expect("no panic happens while it is held")
    }

    fn take_released(&self) -> String {
        std::mem::take(&mut *self.released())
    }

    async fn through_hooks(
        &self,
        body: Json,
        headers: Vec<Header>,
        form: RequestForm,
    ) -> Result<Prepared<Outgoing>, CallFailure> {
        let payload = || PreRequestPayload {
            provider: self.provider.name().into(),
            body: body.clone(),
            headers,
            form,
            purpose: self.purpose,
            iteration: self.iteration,
            fuel_remaining: self.fuel.remaining(),
            fuel_total: self.fuel.total,
            continuation: self.continuation,
        };
        let (reply, handlers) = self.hooks.ask_whom::<PreRequest>(payload).await;
        self.agreed("this request", reply.verdict, handlers).await?;
        if self.hooks.cancel().is_cancelled() {
            return Err(CallFailure::Cancelled(None));
        }
        Ok(match reply.response.get() {
            Some(text) => Prepared::Answered(text),
            None => Prepared::Send(Outgoing {
                body: reply.body.get().unwrap_or(body),
                headers: reply.headers.get(),
            }),
        })
    }

    /// Sends the body, and retries if that may help. No tool of an answer has run before it is complete, so one that
    /// breaks off is asked for again from its beginning.
    async fn send(&self, request: &Outgoing) -> Result<Message, CallFailure> {
        let options = SendOptions {
            headers: request.headers.clone(),
            with_data: self.hooks.has_handlers::<ResponseData>(),
        };
        let mut tries = 0;
        loop {
            let mut assembly = Assembly::new();
            let attempt = tokio::select! {
                // Biased, so that a cancelled run sends no request at all.
                biased;
                () = self.hooks.cancel().cancelled() => None,
                result = self.attempt((&request.body, &options), tries, &mut assembly) => Some(result),
            };
            let mut error = match attempt {
                Some(Err(CallFailure::Provider(error, _))) => error,
                Some(result) => return result,
                None => return Err(self.cancelled(&assembly)),
            };
            let waited = match self.may_help(&error, tries) {
                true => self.wait_before_retry(&error, tries).await,
                false => Waited::GivenUp,
            };
            match waited {
                Waited::Enough => self.replace(&assembly, &error).await,
                Waited::Cancelled => return Err(self.cancelled(&assembly)),
                Waited::GivenUp => {
                    if assembly.waiting.is_some() {
                        self.judge_part(&assembly, true).await?;
                    }
                    if tries > 0 {
                        let tries = tries + 1;
                        error
                            .message
                            .push_str(&format!("; becket tried {tries} times, so try again later"));
                    }
                    let words = Some(error.message.clone());
                    let unfinished = self.unfinished(&assembly, StopReason::Error, words);
                    return Err(CallFailure::Provider(error, Some(unfinished)));
                }
            }
            tries += 1;
        }
    }

    fn cancelled(&self, assembly: &Assembly) -> CallFailure {
        CallFailure::Cancelled(Some(self.unfinished(assembly, StopReason::Cancelled, None)))
    }

    /// Whether another try may help after this failure.
    fn may_help(&self, error: &ProviderError, tries: u32) -> bool {
        tries < self.most_retries(error.kind) && error.retry_after.is_none_or(|wait| wait <= LONGEST_WAIT)
    }

    /// How often a request is tried again after a failure of that kind.
    fn most_retries(&self, kind: ProviderErrorKind) -> u32 {
        match kind {
            ProviderErrorKind::Transient | ProviderErrorKind::Broken => self.max_retries(),
            ProviderErrorKind::RateLimited => self.max_retries().saturating_mul(RATE_LIMIT_RETRIES),
            ProviderErrorKind::Silent
            | ProviderErrorKind::Key
            | ProviderErrorKind::ContextTooLong
            | ProviderErrorKind::Rejected => 0,
        }
    }

    /// Marks what was shown of an answer that broke off: the next one replaces it.
    async fn replace(&self, assembly: &Assembly, error: &ProviderError) {
        if !assembly.begun {
            return;
        }
        self.front.show(FrontUpdate::Replaced);
        let message = self
            .unfinished(assembly, StopReason::Error, Some(error.message.clone()))
            .message;
        self.take_released();
        let text = message.text();
        self.tell_replaced(message).await;
        let replaced = Replaced {
            text,
            error: error.message.clone(),
        };
        self.replaced_answers().push(replaced);
    }

    /// Tells hooks that a message is not stored. No reply counts.
    async fn tell_replaced(&self, message: Message) {
        let payload = || MessageEndPayload {
            message,
            at_rest: false,
            replaced: true,
        };
        self.hooks.tell::<MessageEnd>(payload).await;
    }

    fn replaced_answers(&self) -> MutexGuard<'_, Vec<Replaced>> {
        self.replaced.lock().expect("no panic happens while it is held")
    }

    /// What was shown of answers that broke off and were asked for again, for the conversation.
    pub(crate) fn take_replaced(&self) -> Vec<NewEntry> {
        let replaced = std::mem::take(&mut *self.replaced_answers());
        replaced.into_iter().map(NewEntry::from).collect()
    }

    /// The part of an answer that had arrived. What hooks would have judged first is left out.
    fn unfinished(&self, assembly: &Assembly, reason: StopReason, error: Option<String>) -> Unfinished {
        let released = self.released().clone();
        match (self.is_held, released.is_empty()) {
            (true, true) => Unfinished::nothing(&self.model_name(), reason, error),
            (true, false) => Assembly {
                id: assembly.id.clone(),
                ..Assembly::saying(released)
            }
            .unfinished(&self.model_name(), reason, error),
            (false, _) => assembly.unfinished(&self.model_name(), reason, error),
        }
    }

    fn max_retries(&self) -> u32 {
        match self.handle.and_then(|handle| handle.automation().retries()) {
            Some(false) => 0,
            Some(true) | None => self.settings.max_retries,
        }
    }

    /// Waits before a retry, and says whether to retry.
    async fn wait_before_retry(&self, error: &ProviderError, tries: u32) -> Waited {
        let backoff = self
            .settings
            .retry_delay
            .saturating_mul(2_u32.saturating_pow(tries))
            .min(LONGEST_BACKOFF);
        let delay = error
            .retry_after
            .unwrap_or_else(|| with_jitter(backoff))
            .min(LONGEST_WAIT);
        self.front.show(FrontUpdate::Retry {
            reason: &error.message,
            delay_ms: delay.as_millis() as u64,
            most: self.most_retries(error.kind),
        });
        let given_up = async {
            match self.handle {
                Some(handle) => handle.automation().retry_given_up().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.hooks.cancel().cancelled() => Waited::Cancelled,
            () = given_up => Waited::GivenUp,
            () = tokio::time::sleep(delay) => Waited::Enough,
        }
    }

    async fn attempt(
        &self,
        (body, options): (&Json, &SendOptions),
        tries: u32,
        assembly: &mut Assembly,
    ) -> Result<Message, CallFailure> {
        if let Some(guests) = self.guests {
            guests.catch_up();
        }
        let mut silence = Silence::Unnoticed;
        let sending = self.provider.send_with(body, options);
        let Answering { begun, mut parts } = self.spoken(&mut silence, assembly, sending).await??;
        if let Some(begun) = begun {
            self.tell_begun(begun, tries).await;
        }
        loop {
            let part = self.spoken(&mut silence, assembly, parts.next()).await?;
            match part.unwrap_or_else(|| Err(ProviderError::new(ProviderErrorKind::Broken, BROKE_OFF)))? {
                AnswerPart::Sends(sending) => self.let_send(&sending).await?,
                AnswerPart::Begun(begun) => self.tell_begun(begun, tries).await,
                AnswerPart::Data(data) => self.tell_data(data).await,
                AnswerPart::Delta(delta) => self.grow(assembly, delta).await?,
                AnswerPart::Completed {
                    stop_reason,
                    usage,
                    model,
                } => return self.complete(assembly, (stop_reason, usage, model)).await,
            }
        }
    }

    /// The complete message.
    async fn complete(
        &self,
        assembly: &mut Assembly,
        (stop_reason, usage, model): (StopReason, Usage, String),
    ) -> Result<Message, CallFailure> {
        if !self.is_held {
            self.begin(assembly).await;
        }
        if !self.hooks.has_handlers::<PostResponse>() {
            // Nobody judges the whole answer, and so its last piece.
            self.release(assembly).await?;
        }
        if !assembly.is_empty() {
            self.grow(assembly, Delta::End).await?;
        }
        let model = if model.is_empty() {
            self.model_name()
        } else {
            model
        };
        let usage = self.settings.pricing.priced(self.provider, usage);
        Ok(assembly.message(&model, stop_reason, usage))
    }

    /// Waits for the provider, from the first byte of the request on, but not longer than it may be silent. The user is
    /// told once of a provider that does not begin to speak, and once of one that stops in the middle.
    async fn spoken<T>(
        &self,
        silence: &mut Silence,
        assembly: &Assembly,
        news: impl Future<Output = T>,
    ) -> Result<T, ProviderError> {
        let limit = self.settings.idle_timeout(self.provider);
        let mut news = std::pin::pin!(news);
        let mut left = limit;
        let has_begun = !assembly.is_empty();
        let told = match has_begun {
            true => Silence::ToldWithin,
            false => Silence::Told,
        };
        if *silence < told && limit > SILENCE_TOLD {
            if let Ok(news) = tokio::time::timeout(SILENCE_TOLD, &mut news).await {
                return Ok(news);
            }
            *silence = told;
            left -= SILENCE_TOLD;
            self.front.show(FrontUpdate::Silent {
                provider: self.provider.name(),
                seconds: SILENCE_TOLD.as_secs(),
                limit: limit.as_secs(),
                has_begun,
            });
        }
        let news = tokio::time::timeout(left, news).await;
        news.map_err(|_| self.silence(assembly, limit))
    }

    async fn tell_begun(&self, begun: Begun, tries: u32) {
        let Begun { status, headers } = begun;
        let payload = || ResponseStartPayload {
            status,
            headers,
            retries: tries,
        };
        self.hooks.tell::<ResponseStart>(payload).await;
    }

    async fn tell_data(&self, data: Json) {
        let payload = || ResponseDataPayload {
            provider: self.provider.name().into(),
            purpose: self.purpose,
            data,
        };
        self.hooks.tell::<ResponseData>(payload).await;
    }

    /// Lets a request that a provider has written itself pass the same hooks as any other.
    async fn let_send(&self, sending: &Sending) -> Result<(), CallFailure> {
        let asked = self.through_hooks(sending.body.clone(), Vec::new(), RequestForm::Wire);
        match asked.await {
            Ok(Prepared::Send(request)) => {
                sending.answer(Ok(request.body));
                Ok(())
            }
            Ok(Prepared::Answered(_)) => {
                let why =
                    "a hook has an answer in place of the model, too late for a request of an extension";
                sending.answer(Err(why.into()));
                Err(CallFailure::Blocked(why.into()))
            }
            Err(failure) => {
                sending.answer(Err("the request may not be made".into()));
                Err(failure)
            }
        }
    }

    /// Begins a message with the first piece of the answer. A summary is no message of the conversation, so it is not
    /// shown.
    async fn begin(&self, assembly: &mut Assembly) {
        if self.purpose != RequestPurpose::Answer || std::mem::replace(&mut assembly.begun, true) {
            return;
        }
        // What hooks may still replace is not shown as the answer before they have.
        let settled = !self.hooks.listens::<MessageEnd>();
        self.front.show(FrontUpdate::Answer { settled });
        let message = assembly.message(&self.model_name(), StopReason::Stop, Usage::default());
        self.hooks
            .tell::<MessageStart>(|| MessageStartPayload {
                message,
                at_rest: false,
            })
            .await;
    }

    async fn grow(&self, assembly: &mut Assembly, delta: Delta) -> Result<(), CallFailure> {
        if !self.is_held {
            self.show(assembly, delta).await;
            return Ok(());
        }
        if let (true, Delta::Text { text }) = (self.in_parts, &delta) {
            self.release(assembly).await?;
            assembly.waiting = Some(text.clone());
        }
        assembly.add(&delta);
        Ok(())
    }

    /// Adds a piece to the answer, and shows it.
    async fn show(&self, assembly: &mut Assembly, delta: Delta) {
        self.begin(assembly).await;
        assembly.add(&delta);
        self.show_delta(assembly, delta).await;
    }

    async fn show_delta(&self, assembly: &Assembly, delta: Delta) {
        if self.purpose != RequestPurpose::Answer {
            return;
        }
        self.front.show(FrontUpdate::Delta(&delta));
        if self.hooks.listens::<MessageUpdate>() {
            let message_id = assembly.id.clone();
            self.hooks
                .tell::<MessageUpdate>(|| MessageUpdatePayload { message_id, delta })
                .await;
        }
    }

    /// The failure of a provider that says nothing. One that never began is not asked again: that would take as long
    /// once more.
    fn silence(&self, assembly: &Assembly, limit: Duration) -> ProviderError {
        let (kind, what) = match assembly.is_empty() {
            true => (ProviderErrorKind::Silent, "took the request and"),
            false => (ProviderErrorKind::Broken, "broke off its answer and"),
        };
        let (name, seconds) = (self.provider.name(), limit.as_secs_f64());
        let address = self.provider.base_url().map(|url| format!(": {url}"));
        let message = format!(
            "{name} {what} was silent for {seconds} s; `agent.idle_timeout` gives it longer{}",
            address.unwrap_or_default()
        );
        ProviderError::new(kind, message)
    }

    fn model_name(&self) -> String {
        self.provider.model().into()
    }

    async fn announce(&self, message: &Message, duration: Duration) {
        let MessageBody::Assistant {
            tool_calls,
            stop_reason,
            usage,
            ..
        } = message.body()
        else {
            return;
        };
        let payload = || ResponsePayload {
            text: message.text(),
            prompt: self.prompt.into(),
            stop_reason: *stop_reason,
            tool_call_count: tool_calls.len() as u32,
            usage: *usage,
            duration_ms: duration.as_millis() as u64,
            iteration: self.iteration,
            purpose: self.purpose,
        };
        self.hooks.tell::<Response>(payload).await;
    }
}

/// An answer that was shown and is not in the conversation yet. If it is never stored, because the disk is full or the
/// program is told a second time to end, the front end is told so.
pub(crate) struct ShownAnswer<'a>(Option<&'a dyn Front>);

impl<'a> ShownAnswer<'a> {
    /// Guards an answer that was shown; summaries and answers without text are not.
    pub(crate) fn of(front: &'a dyn Front, message: &Message, purpose: RequestPurpose) -> Self {
        let is_seen = purpose == RequestPurpose::Answer && !message.text().is_empty();
        Self(is_seen.then_some(front))
    }

    /// The answer is in the conversation, or something else takes care of it.
    pub(crate) fn settle(mut self) {
        self.0 = None;
    }
}

impl Drop for ShownAnswer<'_> {
    fn drop(&mut self) {
        if let Some(front) = self.0 {
            front.show(FrontUpdate::Warning(
                "the answer above is not stored: the conversation continues without it",
            ));
        }
    }
}

const BROKE_OFF: &str = "the answer broke off before the provider said that it was complete";

/// The pieces of a complete answer.
fn deltas_of(message: &Message) -> Vec<Delta> {
    let MessageBody::Assistant {
        content, tool_calls, ..
    } = message.body()
    else {
        return Vec::new();
    };
    let parts = content.iter().filter_map(|part| match part {
        Part::Text { text } => Some(Delta::Text { text: text.clone() }),
        Part::Thinking { text, signature } => Some(Delta::Thinking {
            text: text.clone(),
            signature: signature.clone(),
        }),
        Part::Image { .. } => None,
    });
    let calls = tool_calls.iter().enumerate().flat_map(|(index, call)| {
        let ToolCall { id, name, arguments } = call.clone();
        [
            Delta::ToolCall { index, id, name },
            Delta::Arguments {
                index,
                text: arguments,
            },
        ]
    });
    parts.chain(calls).chain([Delta::End]).collect()
}

/// Between half and one and a half of the delay, so that many clients do not come back at once.
fn with_jitter(delay: Duration) -> Duration {
    let chance = RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64;
    delay.mul_f64(0.5 + chance)
}

/// An answer while it arrives.
struct Assembly {
    id: String,
    /// Whether hooks were told that the answer has begun.
    begun: bool,
    content: Vec<Part>,
    tool_calls: Vec<(usize, ToolCall)>,
    /// The piece of text that arrived last, if hooks have yet to judge it.
    waiting: Option<String>,
}

impl Assembly {
    fn new() -> Self {
        Self {
            id: new_id(),
            begun: false,
            content: Vec::new(),
            tool_calls: Vec::new(),
            waiting: None,
        }
    }

    /// An answer of which this text was shown.
    fn saying(text: String) -> Self {
        Self {
            begun: true,
            content: vec![Part::Text { text }],
            ..Self::new()
        }
    }

    fn is_empty(&self) -> bool {
        self.content.is_empty() && self.tool_calls.is_empty()
    }

    fn add(&mut self, delta: &Delta) {
        match delta {
            Delta::Text { text } => match self.content.last_mut() {
                Some(Part::Text { text: so_far }) => so_far.push_str(text),
                _ => self.content.push(Part::text(text)),
            },
            Delta::Thinking { text, signature } => match self.content.last_mut() {
                Some(Part::Thinking {
                    text: so_far,
                    signature: seal,
                }) if seal.is_none() => {
                    so_far.push_str(text);
                    seal.clone_from(signature);
                }
                _ => self.content.push(Part::Thinking {
                    text: text.clone(),
                    signature: signature.clone(),
                }),
            },
            Delta::ToolCall { index, id, name } => {
                let call = ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    arguments: String::new(),
                };
                self.tool_calls.push((*index, call));
            }
            Delta::Arguments { index, text } => {
                if let Some((_, call)) = self.tool_calls.iter_mut().rev().find(|(place, _)| place == index) {
                    call.arguments.push_str(text);
                }
            }
            Delta::End => {}
        }
    }

    fn message(&self, model: &str, stop_reason: StopReason, usage: Usage) -> Message {
        let calls = self.tool_calls.iter().map(|(_, call)| call.clone()).collect();
        self.ended(model, stop_reason, (usage, calls, None))
    }

    /// The text that had arrived. Tool calls are left out: they may be incomplete.
    fn unfinished(&self, model: &str, stop_reason: StopReason, error: Option<String>) -> Unfinished {
        Unfinished {
            message: self.ended(model, stop_reason, (Usage::default(), Vec::new(), error)),
            begun: self.begun,
        }
    }

    fn ended(
        &self,
        model: &str,
        stop_reason: StopReason,
        (usage, tool_calls, error): (Usage, Vec<ToolCall>, Option<String>),
    ) -> Message {
        let body = MessageBody::Assistant {
            content: self.content.clone(),
            tool_calls,
            model: model.into(),
            stop_reason,
            usage,
            error,
        };
        Message::new(record(self.id.clone(), body))
    }
}

impl Unfinished {
    /// An answer of which nothing had arrived.
    pub(crate) fn nothing(model: &str, stop_reason: StopReason, error: Option<String>) -> Self {
        Assembly::new().unfinished(model, stop_reason, error)
    }
}
