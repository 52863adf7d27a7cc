//! The user's side of a session whose user is a program.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use becket_agent::CompactEnd;
use becket_agent::front::{Front, FrontUpdate, Question, UserAnswer};
use becket_events::CompactReason;
use becket_hooks::ReportedFailure;
use becket_host::{Choice, Delivery, Dialog, DialogAnswer, Failed, STORE, Shown, Ui, about_rule, rule_of};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::rpc::{UiResponse, dialog_request, shown_request};
use crate::stream::{Compacted, Stream};

/// How long a program may take to answer; then the answer is no.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Sends events that only front ends know to a program, and passes everything on to the usual front end.
pub struct Told {
    front: Arc<dyn Front>,
    stream: Arc<Stream>,
    compacts: AtomicBool,
}

impl Told {
    pub fn new(front: Arc<dyn Front>, stream: Arc<Stream>) -> Self {
        Self {
            front,
            stream,
            compacts: AtomicBool::new(false),
        }
    }

    fn tell(&self, update: &FrontUpdate<'_>) {
        match update {
            FrontUpdate::Retry {
                reason,
                delay_ms,
                most,
            } => self.stream.retries(*most, *delay_ms, reason),
            FrontUpdate::CompactionBegins { reason } => {
                self.compacts.store(true, Ordering::SeqCst);
                self.stream.compacts(*reason);
            }
            FrontUpdate::CompactionEnds {
                reason,
                end,
                first_kept_id,
                tokens_before,
            } => {
                self.compacts.store(false, Ordering::SeqCst);
                self.tell_compacted(*reason, end, *first_kept_id, *tokens_before);
            }
            _ => {}
        }
    }

    fn tell_compacted(
        &self,
        reason: CompactReason,
        end: &CompactEnd,
        first_kept_id: Option<&str>,
        tokens_before: u64,
    ) {
        let end = match end {
            CompactEnd::Compacted {
                summary, entry_id, ..
            } => Compacted::Done {
                summary,
                first_kept_id: first_kept_id.unwrap_or(entry_id),
                tokens_before,
            },
            CompactEnd::Nothing => Compacted::Failed("there is nothing to summarise"),
            CompactEnd::Refused(_) | CompactEnd::Cancelled => Compacted::Aborted,
            CompactEnd::Provider(error) => Compacted::Failed(&error.message),
            CompactEnd::NoSummary(why) => Compacted::Failed(why),
        };
        self.stream.compacted(reason, end);
    }
}

impl Front for Told {
    fn show(&self, update: FrontUpdate<'_>) {
        self.tell(&update);
        self.front.show(update);
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, UserAnswer> {
        self.front.ask(question)
    }
}

/// A program that answers for the user.
pub struct ProgramUser {
    told: Told,
    /// The dialogs that wait for an answer; `None` when no more answers will come.
    waiting: Mutex<Option<HashMap<String, oneshot::Sender<UiResponse>>>>,
    last_id: AtomicU64,
}

impl ProgramUser {
    pub fn new(told: Told) -> Self {
        Self {
            told,
            waiting: Mutex::new(Some(HashMap::new())),
            last_id: AtomicU64::new(0),
        }
    }

    /// The stream of events to the program.
    pub fn stream(&self) -> &Stream {
        &self.told.stream
    }

    /// Whether a summary is being written.
    pub fn compacts(&self) -> bool {
        self.told.compacts.load(Ordering::SeqCst)
    }

    /// Delivers an answer. An answer without a dialog is ignored.
    pub fn answered(&self, answer: UiResponse) {
        let waiting = self
            .waiting()
            .as_mut()
            .and_then(|waiting| waiting.remove(&answer.id));
        if let Some(waiting) = waiting {
            let _ = waiting.send(answer);
        }
    }

    /// Ends the dialogs: those that wait get no answer.
    pub fn leave(&self) {
        self.waiting().take();
    }

    /// Asks, and waits for the answer; `None` if none can come. Dropping the future closes the dialog.
    async fn asked(&self, dialog: &Dialog, timeout: Option<Duration>) -> Option<UiResponse> {
        let id = self.new_id();
        let (sender, answer) = oneshot::channel();
        self.waiting().as_mut()?.insert(id.clone(), sender);
        let open = Open { client: self, id };
        let timeout = timeout.map(|timeout| timeout.as_millis() as u64);
        self.stream().say(&dialog_request(&open.id, dialog, timeout));
        answer.await.ok()
    }

    /// Asks one of becket's own questions; `None` if no answer comes.
    async fn own(&self, dialog: &Dialog) -> Option<UiResponse> {
        tokio::time::timeout(ANSWER_TIMEOUT, self.asked(dialog, None))
            .await
            .ok()?
    }

    /// The text that the program answers, if it is not empty.
    async fn words(&self, dialog: &Dialog) -> Option<String> {
        match self.own(dialog).await?.answers(dialog) {
            DialogAnswer::Words(words) if !words.trim().is_empty() => Some(words),
            _ => None,
        }
    }

    /// Asks for a confirmation for becket itself; `None` if no answer comes in time.
    pub async fn confirmed(&self, dialog: &Dialog, timeout: Duration) -> Option<bool> {
        let asked = tokio::time::timeout(timeout, self.asked(dialog, None));
        let answer = asked.await.ok().flatten()?.answers(dialog);
        Some(matches!(answer, DialogAnswer::Confirmed(true)))
    }

    fn new_id(&self) -> String {
        format!("ui-{}", self.last_id.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn hook_failed(&self, failure: &ReportedFailure) {
        let info = &failure.handler;
        let event = info.known_as.unwrap_or(failure.event.info().name);
        // Programs know only the message of an error from pi. The rest is on standard error.
        let words = failure.failure.refusal.clone();
        let words = words.unwrap_or_else(|| failure.failure.to_string());
        self.stream().failed(&info.source, event, &words);
    }

    fn waiting(&self) -> MutexGuard<'_, Option<HashMap<String, oneshot::Sender<UiResponse>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A dialog that is open until it is dropped.
struct Open<'a> {
    client: &'a ProgramUser,
    id: String,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(waiting) = self.client.waiting().as_mut() {
            waiting.remove(&self.id);
        }
    }
}

impl Front for ProgramUser {
    fn show(&self, update: FrontUpdate<'_>) {
        if let FrontUpdate::HookFailed(failure) = &update
            && failure.handler.dialect == crate::DIALECT
        {
            self.hook_failed(failure);
        }
        self.told.show(update);
    }

    /// Asks becket's own questions as choices. A program that only answers yes or no is understood as well.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, UserAnswer> {
        Box::pin(async move {
            let choices = Choice::of(question);
            let mut options: Vec<String> = choices.iter().map(|(_, words)| words.clone()).collect();
            options.push(PLAIN_NO.to_owned());
            let dialog = Dialog::Select {
                title: wording(question),
                options,
            };
            loop {
                let Some(answer) = self.own(&dialog).await else {
                    return UserAnswer::Nobody;
                };
                let Some(choice) = chosen(&answer, &dialog, &choices) else {
                    return UserAnswer::No(None);
                };
                match (choice, rule_of(question)) {
                    (Choice::Yes, _) => return UserAnswer::Yes,
                    (Choice::Again, _) => return UserAnswer::YesAgain,
                    (Choice::Rule, Some(rule)) => {
                        let title = format!("{STORE} {}", about_rule(rule));
                        let prefill = Some(rule.text.clone());
                        if let Some(text) = self.words(&Dialog::Editor { title, prefill }).await {
                            return UserAnswer::YesWithRule(text);
                        }
                    }
                    (Choice::No, _) => {
                        let title = "Why not? The model will read it.".to_owned();
                        let placeholder = None;
                        return UserAnswer::No(self.words(&Dialog::Input { title, placeholder }).await);
                    }
                    (Choice::Cancel | Choice::Rule, _) => return UserAnswer::Cancel,
                }
            }
        })
    }
}

impl Ui for ProgramUser {
    fn show(&self, _: &str, shown: Shown) {
        if let Some(request) = shown_request(&self.new_id(), &shown) {
            self.stream().say(&request);
        }
    }

    fn ask<'a>(
        &'a self,
        _: &'a str,
        dialog: Dialog,
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, DialogAnswer> {
        Box::pin(async move {
            let answer = self.asked(&dialog, timeout).await;
            answer.map_or_else(|| dialog.unanswered(), |answer| answer.answers(&dialog))
        })
    }

    fn failed(&self, failed: Failed<'_>) {
        let event = failed.event.unwrap_or("unknown");
        self.stream().failed(failed.path, event, failed.error);
        self.told.show(FrontUpdate::Warning(&failed.words()));
    }

    fn queued(&self, text: &str, delivery: Delivery) {
        self.stream().queued(text, delivery);
    }
}

/// A no without a reason, for programs that do not ask their users for one.
const PLAIN_NO: &str = "no";

/// The choice of a program; `None` is a no without a reason, as is any answer that was not offered.
fn chosen(answer: &UiResponse, dialog: &Dialog, choices: &[(Choice, String)]) -> Option<Choice> {
    match answer.answers(dialog) {
        DialogAnswer::Words(words) => {
            let mut offered = choices.iter();
            offered
                .find(|(_, offered)| *offered == words)
                .map(|(choice, _)| *choice)
        }
        _ => answer.says_yes().then_some(Choice::Yes),
    }
}

/// The text of a question about a call: its first line names the tool, the others its action.
fn wording(question: &Question) -> String {
    let mut title = format!("Allow {}", question.tool_name);
    if let Some(source) = &question.source {
        title.push_str(&format!(" from {source}"));
    }
    if let Some(agent) = &question.agent {
        title.push_str(&format!(" for the sub-agent {agent}"));
    }
    let mut lines: Vec<String> = named(&question.arguments);
    lines.extend(question.reason.clone());
    if !question.handlers.is_empty() {
        lines.push(format!("requested by {}", question.handlers.join(", ")));
    }
    lines.extend(named(&question.metadata));
    lines.extend(rule_of(question).and_then(|rule| rule.trouble.clone()));
    format!("{title}?\n{}", lines.join("\n"))
}

fn named(values: &serde_json::Map<String, Value>) -> Vec<String> {
    let line = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    };
    values.iter().map(line).collect()
}
