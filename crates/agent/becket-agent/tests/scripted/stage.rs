//! The stage on which the scripts are played.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becket_agent::audit::AuditRecord;
use becket_agent::front::{Front, FrontUpdate, Question, UserAnswer};
use becket_agent::gate::Permit;
use becket_agent::provider::{
    AnswerPart, Answering, Begun, ModelRequest, Provider, ProviderError, ProviderErrorKind, ToolFace,
};
use becket_agent::session_handle::SessionHandle;
use becket_agent::store::{
    Consumed, Letter, NewEntry, NewSession, Noted, OpenedSession, Seed, Store, StoreError, StoredEntry, Tree,
    WaitingLetter,
};
use becket_agent::team::Team;
use becket_agent::tool::{BUILTIN, Handoff, Progress, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_agent::{Agent, AgentSettings, Ending, Input, RunEnd, Session, SharedMode};
use becket_events::{
    Delta, EventId, InputSource, Json, Message, OperationKind, PartialResult, PermissionMode, StopReason,
    Usage,
};
use becket_hooks::{DispatchTrace, Engine};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

/// What the model does in one turn.
#[derive(Clone)]
pub enum Turn {
    Say(&'static str),
    /// A text, and how many tokens the conversation had.
    Measured(&'static str, u64),
    Call(Vec<(&'static str, Value)>),
    /// Calls in an answer that reached its length limit.
    CutOff(Vec<(&'static str, Value)>),
    Fail(ProviderErrorKind),
    /// Some text, and then silence until cancelled.
    Hang(&'static str),
}

/// A model that plays turns and remembers what it was asked.
#[derive(Default)]
pub struct Model {
    turns: Mutex<VecDeque<Turn>>,
    pub requests: Mutex<Vec<Value>>,
    name: Option<&'static str>,
}

impl Model {
    /// A model of that name.
    pub fn playing(name: &'static str, turns: Vec<Turn>) -> Arc<Self> {
        Arc::new(Self {
            turns: Mutex::new(turns.into()),
            name: Some(name),
            ..Self::default()
        })
    }
}

impl Provider for Model {
    fn name(&self) -> &str {
        "stage"
    }

    fn model(&self) -> &str {
        self.name.unwrap_or("model")
    }

    fn base_url(&self) -> Option<&str> {
        self.name.map(|_| "http://stage/v1")
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError> {
        let messages: Vec<Value> = request
            .messages
            .iter()
            .map(|message| json!({"text": message.text(), "calls": message.tool_calls().len()}))
            .collect();
        let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        let mut body = json!({"system": request.system_prompt, "messages": messages, "tools": tools});
        if let Some(level) = request.options.thinking {
            body["thinking"] = json!(level);
        }
        Ok(body.into())
    }

    fn send<'a>(&'a self, body: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        Box::pin(async move {
            self.requests.lock().unwrap().push(body.to_value());
            let turn = self
                .turns
                .lock()
                .unwrap()
                .pop_front()
                .expect("the script has another turn");
            let usage = Usage {
                input_tokens: 10,
                output_tokens: 1,
                ..Usage::default()
            };
            let completed = |stop_reason| AnswerPart::Completed {
                stop_reason,
                usage,
                model: String::new(),
            };
            let parts: Vec<Result<AnswerPart, ProviderError>> = match turn {
                Turn::Fail(kind) => return Err(ProviderError::new(kind, "the script says so")),
                Turn::Measured(text, input_tokens) => {
                    let completed = AnswerPart::Completed {
                        stop_reason: StopReason::Stop,
                        usage: Usage {
                            input_tokens,
                            ..usage
                        },
                        model: String::new(),
                    };
                    vec![Ok(say(text)), Ok(completed)]
                }
                Turn::Say(text) => vec![Ok(say(text)), Ok(completed(StopReason::Stop))],
                Turn::Call(calls) => call_parts(calls, completed(StopReason::ToolCalls)),
                Turn::CutOff(calls) => call_parts(calls, completed(StopReason::Length)),
                Turn::Hang(text) => {
                    let silence = futures_util::stream::pending();
                    let words = futures_util::stream::iter([Ok(say(text))]);
                    let parts = Box::pin(futures_util::StreamExt::chain(words, silence));
                    return Ok(Answering {
                        begun: Some(Begun::default()),
                        parts,
                    });
                }
            };
            Ok(Answering {
                begun: Some(Begun::default()),
                parts: Box::pin(futures_util::stream::iter(parts)),
            })
        })
    }
}

fn say(text: &str) -> AnswerPart {
    AnswerPart::Delta(Delta::Text { text: text.into() })
}

fn call_parts(calls: Vec<(&str, Value)>, end: AnswerPart) -> Vec<Result<AnswerPart, ProviderError>> {
    let mut parts = Vec::new();
    for (index, (name, arguments)) in calls.into_iter().enumerate() {
        let text = arguments
            .as_str()
            .map_or_else(|| arguments.to_string(), ToString::to_string);
        parts.push(AnswerPart::Delta(Delta::ToolCall {
            index,
            id: format!("c{index}"),
            name: name.into(),
        }));
        parts.push(AnswerPart::Delta(Delta::Arguments { index, text }));
    }
    parts.push(end);
    parts.into_iter().map(Ok).collect()
}

/// A tool that notes every run, and takes its time if told so.
pub struct Prop {
    spec: ToolSpec,
    pub runs: Arc<Mutex<Vec<String>>>,
    delay: Duration,
    output: ToolOutput,
    partial: Option<PartialResult>,
}

impl Prop {
    pub fn new(name: &str, operation: Option<OperationKind>, runs: &Arc<Mutex<Vec<String>>>) -> Self {
        let read_only = operation == Some(OperationKind::Read);
        let face = ToolFace {
            name: name.into(),
            description: name.into(),
            parameters: json!({"type": "object"}).into(),
            operation,
        };
        let spec = ToolSpec {
            face,
            own_name: name.into(),
            operation,
            source: "stage".into(),
            read_only,
            parallel: true,
            handoff: None,
            extra_arguments: Vec::new(),
        };
        Self {
            spec,
            runs: Arc::clone(runs),
            delay: Duration::ZERO,
            output: ToolOutput::text(format!("{name} ran")),
            partial: None,
        }
    }

    pub fn slow(mut self, milliseconds: u64) -> Self {
        self.delay = Duration::from_millis(milliseconds);
        self
    }

    pub fn alone(mut self) -> Self {
        self.spec.parallel = false;
        self
    }

    pub fn handing(mut self, handoff: Handoff) -> Self {
        self.spec.handoff = Some(handoff);
        self.spec.read_only = true;
        self
    }

    pub fn builtin(mut self) -> Self {
        self.spec.source = BUILTIN.into();
        self
    }

    pub fn saying(mut self, output: &str) -> Self {
        self.output = ToolOutput::text(output);
        self
    }

    pub fn with_details(mut self, details: Value) -> Self {
        self.output.details = Some(details);
        self
    }

    pub fn ending_the_run(mut self) -> Self {
        self.output.ends_run = true;
        self
    }

    pub fn telling(mut self, partial: PartialResult) -> Self {
        self.partial = Some(partial);
        self
    }
}

impl Tool for Prop {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        match self.spec.operation {
            Some(kind) => kind
                .read(arguments)
                .map(|operation| operation.arguments())
                .map_err(|e| e.to_string()),
            None => Ok(arguments),
        }
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let _ = run.progress.send("working".into());
            if let Some(partial) = &self.partial {
                let _ = run.progress.send(Progress::Partial(partial.clone()));
            }
            tokio::select! {
                () = tokio::time::sleep(self.delay) => {}
                () = run.cancel.cancelled() => return ToolOutput::error("cancelled"),
            }
            let arguments = Value::Object(permit.arguments().clone());
            self.runs
                .lock()
                .unwrap()
                .push(format!("{} {arguments}", self.spec.own_name));
            self.output.clone()
        })
    }
}

/// A store in memory that keeps one context.
#[derive(Default)]
pub struct Memory {
    pub entries: Mutex<Vec<StoredEntry>>,
    pub traces: Mutex<Vec<DispatchTrace>>,
    pub audit: Mutex<Vec<AuditRecord>>,
    pub fail_appends: Mutex<bool>,
    pub current: Mutex<Option<String>>,
    pub inbox: Mutex<Vec<WaitingLetter>>,
    /// Sessions of sub-agents, whose entries are no part of the context.
    pub below: Mutex<Vec<String>>,
    /// The current entry, if it is not the newest one.
    pub moved: Mutex<Option<Option<String>>>,
}

impl Memory {
    /// The conversation with all its branches.
    pub fn conversation(&self) -> Tree {
        let mut entries = self.entries.lock().unwrap().clone();
        let below = self.below.lock().unwrap();
        entries.retain(|entry| !below.contains(&entry.session_id));
        let newest = entries.last().map(|entry| entry.id.clone());
        let leaf = self.moved.lock().unwrap().clone();
        Tree::new(entries, leaf.unwrap_or(newest))
    }
}

impl Store for Memory {
    fn begin_session<'a>(&'a self, session: NewSession) -> BoxFuture<'a, Result<OpenedSession, StoreError>> {
        let mut entries = self.entries.lock().unwrap().clone();
        let mut below = self.below.lock().unwrap();
        entries.retain(|entry| !below.contains(&entry.session_id));
        if session.parent_session_id.is_some() {
            below.push(session.session_id);
            entries.clear();
        }
        Box::pin(async {
            Ok(OpenedSession {
                resumed: !entries.is_empty(),
                entries,
                noted: Noted::default(),
                origin: None,
                lost_answer: false,
            })
        })
    }

    fn plant<'a>(
        &'a self,
        session: NewSession,
        seed: Seed,
    ) -> BoxFuture<'a, Result<OpenedSession, StoreError>> {
        let planted = seed.entries.into_iter().map(|planted| StoredEntry {
            id: planted.entry.id,
            parent_id: planted.parent_id,
            session_id: session.session_id.clone(),
            time_ms: planted.entry.time_ms,
            content: planted.entry.content,
            source: planted.source,
        });
        let entries: Vec<StoredEntry> = planted.collect();
        *self.entries.lock().unwrap() = entries.clone();
        *self.moved.lock().unwrap() = None;
        Box::pin(async {
            Ok(OpenedSession {
                resumed: false,
                entries,
                noted: Noted::default(),
                origin: Some(seed.origin),
                lost_answer: false,
            })
        })
    }

    fn tree<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Tree, StoreError>> {
        Box::pin(async { Ok(self.conversation()) })
    }

    fn move_to<'a>(
        &'a self,
        session: &'a str,
        leaf_id: Option<String>,
        entries: Vec<NewEntry>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        *self.moved.lock().unwrap() = Some(leaf_id);
        self.append(session, entries)
    }

    fn append<'a>(&'a self, session: &'a str, new: Vec<NewEntry>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            if *self.fail_appends.lock().unwrap() {
                return Err(StoreError::new("the disk is full"));
            }
            let mut entries = self.entries.lock().unwrap();
            for NewEntry { id, time_ms, content } in new {
                let newest = entries.last().map(|entry| entry.id.clone());
                let parent_id = self.moved.lock().unwrap().take().unwrap_or(newest);
                entries.push(StoredEntry {
                    id,
                    parent_id,
                    session_id: session.into(),
                    time_ms,
                    content,
                    source: None,
                });
            }
            Ok(())
        })
    }

    fn deliver<'a>(&'a self, letters: Vec<Letter>) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut inbox = self.inbox.lock().unwrap();
        for letter in letters {
            let id = inbox.len() as i64;
            let (from, content) = (letter.from, letter.content);
            let waiting = WaitingLetter {
                id,
                from,
                content,
                time_ms: 0,
            };
            inbox.push(waiting);
        }
        Box::pin(async { Ok(()) })
    }

    fn inbox<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<WaitingLetter>, StoreError>> {
        let waiting = self.inbox.lock().unwrap().clone();
        Box::pin(async { Ok(waiting) })
    }

    fn append_consuming<'a>(
        &'a self,
        session: &'a str,
        new: Vec<NewEntry>,
        letters: Vec<i64>,
    ) -> BoxFuture<'a, Result<Consumed, StoreError>> {
        Box::pin(async move {
            let waits = |id: &i64| self.inbox.lock().unwrap().iter().any(|letter| letter.id == *id);
            if !letters.iter().all(waits) {
                return Ok(Consumed::TakenByAnother);
            }
            self.append(session, new).await?;
            let mut inbox = self.inbox.lock().unwrap();
            inbox.retain(|letter| !letters.contains(&letter.id));
            Ok(Consumed::All)
        })
    }

    fn context_names<'a>(&'a self) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        Box::pin(async { Ok(vec!["default".into()]) })
    }

    fn end_session<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn clear<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.entries.lock().unwrap().clear();
        Box::pin(async { Ok(()) })
    }

    fn make_current<'a>(&'a self, context: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        *self.current.lock().unwrap() = Some(context.into());
        Box::pin(async { Ok(()) })
    }

    fn put_blob<'a>(&'a self, bytes: Vec<u8>) -> BoxFuture<'a, Result<String, StoreError>> {
        Box::pin(async move { Ok(format!("hash-of-{}", bytes.len())) })
    }

    fn blob<'a>(&'a self, hash: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        Box::pin(async move { Ok(hash.starts_with("hash-of-").then(|| b"one\ntwo\nthree".to_vec())) })
    }

    fn trace(&self, _: &str, trace: DispatchTrace) {
        self.traces.lock().unwrap().push(trace);
    }

    fn audit(&self, record: AuditRecord) {
        self.audit.lock().unwrap().push(record);
    }
}

/// A user with prepared answers, who remembers what was shown.
#[derive(Default)]
pub struct Person {
    pub answers: Mutex<VecDeque<UserAnswer>>,
    pub questions: Mutex<Vec<Question>>,
    pub seen: Mutex<Vec<String>>,
}

impl Front for Person {
    fn show(&self, update: FrontUpdate<'_>) {
        self.seen.lock().unwrap().push(format!("{update:?}"));
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, UserAnswer> {
        self.questions.lock().unwrap().push(question.clone());
        let answer = self
            .answers
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or(UserAnswer::Nobody);
        Box::pin(async move { answer })
    }
}

/// Everything that a test needs.
pub struct Stage {
    pub engine: Arc<Engine>,
    pub model: Arc<Model>,
    pub store: Arc<Memory>,
    pub person: Arc<Person>,
    pub tools: Vec<Arc<dyn Tool>>,
    pub runs: Arc<Mutex<Vec<String>>>,
    pub settings: AgentSettings,
    pub team: Option<Arc<Team>>,
    pub handle: Option<SessionHandle>,
    pub events: Arc<Mutex<Vec<(EventId, Value)>>>,
    pub cancel: CancellationToken,
    pub folder: tempfile::TempDir,
}

impl Stage {
    /// A stage with the tools `shell`, `read`, `write` and `custom`, and a yes to every question.
    pub fn new(turns: Vec<Turn>) -> Self {
        let engine = Arc::new(Engine::new(None));
        let events = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&events);
        engine.watch(Arc::new(move |event, text| {
            list.lock()
                .unwrap()
                .push((event, serde_json::from_str(text).unwrap()));
        }));
        let runs = Arc::default();
        let tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(Prop::new("shell", Some(OperationKind::Shell), &runs)),
            Arc::new(Prop::new("read", Some(OperationKind::Read), &runs)),
            Arc::new(Prop::new("write", Some(OperationKind::Write), &runs)),
            Arc::new(Prop::new("custom", None, &runs)),
        ];
        let folder = tempfile::tempdir().unwrap();
        let mut settings = AgentSettings {
            cwd: folder.path().into(),
            contexts: folder.path().join("contexts"),
            vfs: folder.path().join("vfs"),
            ..AgentSettings::default()
        };
        settings.approval.mode = answering(true);
        settings.retry_delay = Duration::from_millis(1);
        Self {
            engine,
            model: Arc::new(Model {
                turns: Mutex::new(turns.into()),
                ..Model::default()
            }),
            store: Arc::default(),
            person: Arc::default(),
            tools,
            runs,
            settings,
            team: None,
            handle: None,
            events,
            cancel: CancellationToken::new(),
            folder,
        }
    }

    pub async fn open(&self) -> Session {
        Session::open(self.agent(), "default").await.unwrap()
    }

    pub fn agent(&self) -> Arc<Agent> {
        Arc::new(Agent {
            engine: Arc::clone(&self.engine),
            provider: self.model.clone(),
            tools: self.tools.clone(),
            store: self.store.clone(),
            front: self.person.clone(),
            mail: None,
            team: self.team.clone(),
            handle: self.handle.clone(),
            guests: None,
            settings: self.settings.clone(),
        })
    }

    /// Plays one prompt in a session of its own.
    pub async fn play(&self, prompt: &str) -> RunEnd {
        let mut session = self.open().await;
        let end = session.prompt(input(prompt), self.cancel.clone()).await.unwrap();
        session.end(end.ending.reason()).await.unwrap();
        end
    }

    /// Plays one prompt that must be answered, and returns the answer.
    pub async fn answer(&self, prompt: &str) -> String {
        let end = self.play(prompt).await;
        assert_eq!(end.ending, Ending::Answered);
        end.answer
    }

    pub fn runs(&self) -> Vec<String> {
        self.runs.lock().unwrap().clone()
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.events
            .lock()
            .unwrap()
            .iter()
            .map(|(event, _)| event.info().name)
            .collect()
    }

    pub fn events_named(&self, name: &str) -> Vec<Value> {
        let events = self.events.lock().unwrap();
        events
            .iter()
            .filter(|(event, _)| event.info().name == name)
            .map(|(_, value)| value.clone())
            .collect()
    }

    /// The reasons with which turns ended.
    pub fn turn_ends(&self) -> Vec<String> {
        let begun = self.events_named("turn_start").len();
        assert_eq!(self.events_named("turn_end").len(), begun, "each turn ends once");
        self.events_named("turn_end")
            .iter()
            .map(|event| event["reason"].as_str().unwrap().to_string())
            .collect()
    }

    /// The texts that the model saw with a request.
    pub fn seen_by_model(&self, request: usize) -> Vec<String> {
        let requests = self.model.requests.lock().unwrap();
        let messages = requests[request]["messages"].as_array().unwrap();
        messages
            .iter()
            .map(|message| message["text"].as_str().unwrap().to_string())
            .collect()
    }

    /// The texts of the stored messages.
    pub fn stored(&self) -> Vec<String> {
        let entries = self.store.entries.lock().unwrap();
        let messages = entries.iter().filter(|entry| is_message(entry));
        messages.map(|entry| message_of(entry).text()).collect()
    }
}

fn is_message(entry: &StoredEntry) -> bool {
    matches!(entry.content, becket_agent::store::EntryContent::Message { .. })
}

pub fn message_of(entry: &StoredEntry) -> Message {
    match &entry.content {
        becket_agent::store::EntryContent::Message { message } => message.clone(),
        other => panic!("not a message: {other:?}"),
    }
}

pub fn input(text: &str) -> Input {
    Input {
        text: text.into(),
        images: Vec::new(),
        source: InputSource::Interactive,
    }
}

pub fn shell(command: &str) -> (&'static str, Value) {
    ("shell", json!({"command": command}))
}

/// The mode in which every question is answered with yes, or the one in which the user is asked.
pub fn answering(yes: bool) -> SharedMode {
    match yes {
        true => PermissionMode::Yes.into(),
        false => PermissionMode::Ask.into(),
    }
}
