//! A session of becket in which the model and the tools are played.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use becket_agent::front::{Front, FrontUpdate, Question, UserAnswer};
use becket_agent::gate::Permit;
use becket_agent::provider::{
    AnswerPart, Answering, Begun, ModelRequest, Provider, ProviderError, ProviderErrorKind, ToolFace,
};
use becket_agent::store::Store;
use becket_agent::tool::{Tool, ToolOutput, ToolRun, ToolSpec};
use becket_agent::{Agent, AgentSettings, Ending, Input, Session};
use becket_events::{Delta, InputSource, Json, PermissionMode, StopReason, Usage};
use becket_hooks::Engine;
use becket_store::MemoryStore;
use becket_system::CliError;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::emitter::{Emitter, Setup};
use crate::handlers::register;

/// The context in which the session runs.
const CONTEXT: &str = "conformance";

/// What has happened in a session.
pub struct Played {
    /// How it ended.
    pub outcome: Value,
    /// What the user got in the end.
    pub final_output: Value,
    /// The tools.
    pub tools: Vec<Value>,
    /// The calls that were made.
    pub invocations: Vec<Value>,
    /// The records of all emissions.
    pub records: Vec<Value>,
    /// The text that the user could see.
    pub released: Value,
    /// Everything that was stored.
    pub stored: String,
}

/// Plays a scenario.
pub async fn play(scenario: &Value, setup: Setup) -> Result<Played, CliError> {
    let records: List = List::default();
    let list = records.clone();
    let emitter = Emitter::new(setup, Arc::new(move |_, record| list.push(record.to_value())));
    let engine = Arc::new(Engine::new(None));
    register(&engine, Arc::new(emitter));
    let (invocations, screen) = (List::default(), Arc::new(Screen::default()));
    let store = Arc::new(MemoryStore::new());
    let folder = tempfile::tempdir();
    let folder = folder.map_err(|error| CliError::failed(format!("cannot make a folder: {error}")))?;
    let tools = scenario["tools"].as_array().cloned().unwrap_or_default();
    let agent = Agent {
        engine,
        provider: Arc::new(Model::of(scenario)),
        tools: tools
            .iter()
            .map(|tool| PlayedTool::of(tool, &invocations))
            .collect(),
        store: Arc::clone(&store) as Arc<dyn Store>,
        front: Arc::clone(&screen) as Arc<dyn Front>,
        mail: None,
        team: None,
        handle: None,
        guests: None,
        settings: settings(folder.path()),
    };
    let broken = |error: becket_agent::store::StoreError| CliError::failed(error.to_string());
    let mut session = Session::open(Arc::new(agent), CONTEXT).await.map_err(broken)?;
    let text = scenario["input"]["content"].as_str().unwrap_or_default();
    let input = Input {
        text: text.into(),
        images: Vec::new(),
        source: InputSource::Interactive,
    };
    let end = session
        .prompt(input, CancellationToken::new())
        .await
        .map_err(broken)?;
    session.end(end.ending.reason()).await.map_err(broken)?;
    let outcome = match end.ending {
        Ending::Answered => "completed",
        Ending::Blocked(_) => "blocked",
        _ => "error",
    };
    let is_answered = end.ending == Ending::Answered;
    Ok(Played {
        outcome: outcome.into(),
        final_output: is_answered.then_some(end.answer).into(),
        tools: tools.iter().map(|tool| tool["name"].clone()).collect(),
        invocations: invocations.all(),
        records: records.all(),
        released: screen.text().clone().into(),
        stored: format!("{:?} {:?}", store.entries(CONTEXT), store.archived(CONTEXT)),
    })
}

/// Settings of a session in which nobody is asked anything and nothing is tried twice.
fn settings(folder: &std::path::Path) -> AgentSettings {
    let mut settings = AgentSettings {
        cwd: folder.into(),
        home: folder.into(),
        project_root: folder.into(),
        contexts: folder.join("contexts"),
        vfs: folder.join("vfs"),
        max_retries: 0,
        ..AgentSettings::default()
    };
    settings.approval.mode = PermissionMode::Yes.into();
    settings
}

/// A list that several parts of a session write to.
#[derive(Clone, Default)]
struct List(Arc<Mutex<Vec<Value>>>);

impl List {
    fn push(&self, value: Value) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }

    fn all(&self) -> Vec<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the user sees: the text of the last answer.
#[derive(Default)]
struct Screen(Mutex<String>);

impl Screen {
    fn text(&self) -> MutexGuard<'_, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Front for Screen {
    fn show(&self, update: FrontUpdate<'_>) {
        match update {
            FrontUpdate::Answer { .. } => self.text().clear(),
            FrontUpdate::Delta(Delta::Text { text }) => self.text().push_str(text),
            _ => {}
        }
    }

    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, UserAnswer> {
        Box::pin(std::future::ready(UserAnswer::Nobody))
    }
}

/// The model of a scenario.
struct Model {
    answers: Mutex<std::vec::IntoIter<Value>>,
}

impl Model {
    fn of(scenario: &Value) -> Self {
        let answers = scenario["model_script"].as_array().cloned().unwrap_or_default();
        Self {
            answers: Mutex::new(answers.into_iter()),
        }
    }
}

impl Provider for Model {
    fn name(&self) -> &str {
        "conformance"
    }

    fn model(&self) -> &str {
        "mock"
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError> {
        Ok(json!({"system": request.system_prompt, "messages": request.messages}).into())
    }

    fn send<'a>(&'a self, _: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).next();
        let failed = || ProviderError::new(ProviderErrorKind::Rejected, "the script has no more answers");
        let answer = answer.ok_or_else(failed).map(|answer| Answering {
            begun: Some(Begun::default()),
            parts: Box::pin(futures_util::stream::iter(parts(&answer["respond"]))),
        });
        Box::pin(std::future::ready(answer))
    }
}

/// An answer as it arrives.
fn parts(answer: &Value) -> Vec<Result<AnswerPart, ProviderError>> {
    let piece = |text: &Value| {
        let text = text.as_str()?.to_owned();
        Some(AnswerPart::Delta(Delta::Text { text }))
    };
    let text = match answer["stream"].as_array() {
        Some(pieces) => pieces.iter().filter_map(piece).collect(),
        None => Vec::from_iter(piece(&answer["content"])),
    };
    let calls = answer["tool_calls"].as_array().into_iter().flatten().enumerate();
    let calls = calls.flat_map(|(index, call)| {
        let text = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
        [
            AnswerPart::Delta(Delta::ToolCall {
                index,
                id: text("id"),
                name: text("name"),
            }),
            AnswerPart::Delta(Delta::Arguments {
                index,
                text: match &call["args"] {
                    Value::String(written) => written.clone(),
                    arguments => arguments.to_string(),
                },
            }),
        ]
    });
    let completed = AnswerPart::Completed {
        stop_reason: match answer["finish_reason"].as_str() {
            Some("tool_calls") => StopReason::ToolCalls,
            Some("length") => StopReason::Length,
            _ => StopReason::Stop,
        },
        usage: Usage::default(),
        model: String::new(),
    };
    let end = match answer["stream_truncated"].as_bool() {
        Some(true) => Err(ProviderError::new(
            ProviderErrorKind::Broken,
            "the stream broke off",
        )),
        _ => Ok(completed),
    };
    text.into_iter().chain(calls).map(Ok).chain([end]).collect()
}

/// A tool of a scenario.
struct PlayedTool {
    spec: ToolSpec,
    behaviour: Vec<Value>,
    invocations: List,
}

impl PlayedTool {
    fn of(tool: &Value, invocations: &List) -> Arc<dyn Tool> {
        let name = tool["name"].as_str().unwrap_or_default();
        let spec = ToolSpec {
            face: ToolFace {
                name: name.into(),
                description: name.into(),
                parameters: json!({"type": "object"}).into(),
                operation: None,
            },
            own_name: name.into(),
            operation: None,
            source: "conformance".into(),
            read_only: false,
            parallel: true,
            handoff: None,
            extra_arguments: Vec::new(),
        };
        Arc::new(Self {
            spec,
            behaviour: tool["behavior"].as_array().cloned().unwrap_or_default(),
            invocations: invocations.clone(),
        })
    }

    fn result(&self, arguments: &Map<String, Value>) -> ToolOutput {
        let wanted = |case: &&Value| {
            case["when_args"]
                .as_object()
                .is_none_or(|wanted| wanted == arguments)
        };
        let case = self.behaviour.iter().find(wanted).unwrap_or(&Value::Null);
        let text = match &case["return"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match case["is_error"].as_bool() {
            Some(true) => ToolOutput::error(text),
            _ => ToolOutput::text(text),
        }
    }
}

impl Tool for PlayedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        Ok(arguments)
    }

    fn run<'a>(&'a self, permit: Permit, _: ToolRun) -> BoxFuture<'a, ToolOutput> {
        let arguments = permit.arguments();
        let name = &self.spec.own_name;
        self.invocations.push(json!({"name": name, "args": arguments}));
        Box::pin(std::future::ready(self.result(arguments)))
    }
}
