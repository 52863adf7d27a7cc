//! The cost of the agent itself in a turn with a tool: everything but the model, the network and the tool's work.
//!
//! The provider writes its real body and is answered in this process. A turn lasts from the moment at which one body
//! is asked for to the moment at which the next one is. Each turn adds to the conversation, so the body grows; a turn
//! may cost the copy of the longer body more, and nothing else may grow.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use becket_agent::front::{Front, FrontUpdate, Question, UserAnswer};
use becket_agent::gate::Permit;
use becket_agent::provider::{AnswerPart, Answering, Begun, ModelRequest, Provider, ProviderError, ToolFace};
use becket_agent::store::Store;
use becket_agent::tool::{Tool, ToolOutput, ToolRun, ToolSpec};
use becket_agent::{Agent, AgentSettings, Ending, Input, RecordKeeper, Session};
use becket_events::{Delta, EndReason, InputSource, Json, StopReason, Usage};
use becket_hooks::Engine;
use becket_providers::{Api, Endpoint, Remote, Timeouts};
use becket_store::{MemoryStore, SqliteStore};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, ratio, runtime, time};

/// The output of the tool, every time.
const RESULT: &str = "fn main() {\n    println!(\"a line of a file, as a tool would show it\");\n}\n";

/// The most that a late turn may cost as a multiple of an early one, besides the copy of the body.
const GROWTH_BAR: u32 = 3;

/// The turns that are measured for the 5th and for the 500th, because a single turn varies too much.
const EARLY: std::ops::Range<usize> = 2..7;
const LATE: std::ops::Range<usize> = 495..500;

/// Makes a new store for each run.
type MakeStore = fn(&std::path::Path) -> Result<Arc<dyn Store>, Problem>;

pub fn run(_: &Programs, report: &mut Report) -> Result<(), Problem> {
    measure("memory", in_memory, [(1, 101), (50, 21), (500, 11)], report)?;
    measure("SQLite", in_sqlite, [(1, 31), (50, 7), (500, 3)], report)
}

fn in_memory(_: &std::path::Path) -> Result<Arc<dyn Store>, Problem> {
    Ok(Arc::new(MemoryStore::new()))
}

fn in_sqlite(folder: &std::path::Path) -> Result<Arc<dyn Store>, Problem> {
    Ok(Arc::new(SqliteStore::open(folder.join("store.db"))?))
}

/// Measures runs of so many turns, so many times each.
fn measure(
    store: &str,
    make_store: MakeStore,
    runs: [(usize, usize); 3],
    report: &mut Report,
) -> Result<(), Problem> {
    let (mut early, mut late) = (Samples::default(), Samples::default());
    let mut body = String::new();
    for (turns, rounds) in runs {
        let mut per_turn = Samples::default();
        for round in 0..=rounds {
            let conversation = converse(turns, make_store)?;
            // The first round warms the caches.
            if round == 0 {
                continue;
            }
            per_turn.add(conversation.turns.iter().sum::<Duration>() / turns as u32);
            if let (Some(first), Some(last)) = (conversation.turns.get(EARLY), conversation.turns.get(LATE)) {
                first.iter().for_each(|turn| early.add(*turn));
                last.iter().for_each(|turn| late.add(*turn));
                body = conversation.last_body;
            }
        }
        let name = format!("turn, {turns} of them, {store}");
        report.add(Line::new(name, Figure::Time(per_turn.median())).remark("per turn"));
    }
    let copying: Samples = (0..101)
        .map(|_| time(|| std::hint::black_box(body.clone())).1)
        .collect();
    let copy = copying.median();
    report.add(Line::new(
        format!("turn, the 5th, {store}"),
        Figure::Time(early.median()),
    ));
    let size = Figure::Bytes(body.len() as u64);
    report.add(
        Line::new(format!("copy of the 500th body, {store}"), Figure::Time(copy)).remark(size.to_string()),
    );
    report.add(
        Line::new(format!("turn, the 500th, {store}"), Figure::Time(late.median()))
            .bar(Figure::Time(early.median() * GROWTH_BAR + copy))
            .ratio(ratio(late.median(), early.median()))
            .remark(format!("at most {GROWTH_BAR} times the 5th and the copy")),
    );
    Ok(())
}

/// The times of a run.
struct Conversation {
    turns: Vec<Duration>,
    last_body: String,
}

fn converse(turns: usize, make_store: MakeStore) -> Result<Conversation, Problem> {
    let folder = tempfile::tempdir()?;
    let store = make_store(folder.path())?;
    let front: Arc<dyn Front> = Arc::new(Nobody);
    let witness = RecordKeeper {
        store: Arc::clone(&store),
        front: Arc::clone(&front),
    };
    let model = Arc::new(AnsweredHere::new(turns)?);
    let agent = Agent {
        engine: Arc::new(Engine::new(Some(Arc::new(witness)))),
        provider: model.clone(),
        tools: vec![Arc::new(Viewer::new())],
        store,
        front,
        mail: None,
        team: None,
        handle: None,
        guests: None,
        settings: AgentSettings {
            cwd: folder.path().to_owned(),
            max_iterations: turns as u32 + 1,
            ..AgentSettings::default()
        },
    };
    runtime()?.block_on(async {
        let mut session = Session::open(Arc::new(agent), "bench").await?;
        let input = Input {
            text: "Look at the files, one after the other.".into(),
            images: Vec::new(),
            source: InputSource::Interactive,
        };
        let end = session.prompt(input, CancellationToken::new()).await?;
        session.end(EndReason::Done).await?;
        match end.ending {
            Ending::Answered => Ok(()),
            other => Err(Problem::from(format!("the run ended otherwise: {other:?}"))),
        }
    })?;
    Ok(model.conversation())
}

/// A model with the body of OpenAI's interface that answers without a network: a tool call for each turn, then a text.
struct AnsweredHere {
    writer: Remote,
    turns: usize,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// When each body was requested.
    moments: Vec<Instant>,
    last_body: Option<Json>,
}

impl AnsweredHere {
    fn new(turns: usize) -> Result<Self, Problem> {
        let endpoint = Endpoint {
            provider: "openai".into(),
            model: "gpt-4o".into(),
            base_url: Url::parse("http://127.0.0.1:9/v1")?,
            key: None,
            headers: Default::default(),
            timeouts: Timeouts::default(),
        };
        Ok(Self {
            writer: Remote::new(Api::OpenAi, endpoint),
            turns,
            seen: Mutex::default(),
        })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn conversation(&self) -> Conversation {
        let seen = self.seen();
        let turns = seen.moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let last_body = seen.last_body.as_ref().map(|body| body.text().to_owned());
        Conversation {
            turns,
            last_body: last_body.unwrap_or_default(),
        }
    }

    fn parts(&self, request: usize) -> Vec<Result<AnswerPart, ProviderError>> {
        let (mut parts, stop_reason) = if request <= self.turns {
            // No two rounds are the same, or the agent would see a loop in them.
            let text = format!(r#"{{"file":"src/file-{request}.rs"}}"#);
            let call = Delta::ToolCall {
                index: 0,
                id: format!("call-{request}"),
                name: "view".into(),
            };
            (
                vec![call, Delta::Arguments { index: 0, text }],
                StopReason::ToolCalls,
            )
        } else {
            let text = "That was all.".into();
            (vec![Delta::Text { text }], StopReason::Stop)
        };
        let completed = AnswerPart::Completed {
            stop_reason,
            usage: Usage::default(),
            model: "gpt-4o".into(),
        };
        parts
            .drain(..)
            .map(AnswerPart::Delta)
            .chain([completed])
            .map(Ok)
            .collect()
    }
}

impl Provider for AnsweredHere {
    fn name(&self) -> &str {
        self.writer.name()
    }

    fn model(&self) -> &str {
        self.writer.model()
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError> {
        self.seen().moments.push(Instant::now());
        self.writer.body(request)
    }

    fn send<'a>(&'a self, body: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        Box::pin(async move {
            let mut seen = self.seen();
            seen.last_body = Some(body.clone());
            Ok(Answering {
                begun: Some(Begun::default()),
                parts: Box::pin(futures_util::stream::iter(self.parts(seen.moments.len()))),
            })
        })
    }
}

/// A tool that shows a file without any work.
struct Viewer(ToolSpec);

impl Viewer {
    fn new() -> Self {
        Self(ToolSpec {
            face: ToolFace {
                name: "view".into(),
                description: "Shows a file.".into(),
                parameters: json!({
                    "type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"],
                })
                .into(),
                operation: None,
            },
            own_name: "view".into(),
            operation: None,
            source: "bench".into(),
            read_only: true,
            parallel: true,
            handoff: None,
            extra_arguments: Vec::new(),
        })
    }
}

impl Tool for Viewer {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        Ok(arguments)
    }

    fn run<'a>(&'a self, _: Permit, _: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async { ToolOutput::text(RESULT.repeat(4)) })
    }
}

/// A front end without a user.
struct Nobody;

impl Front for Nobody {
    fn show(&self, _: FrontUpdate<'_>) {}

    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, UserAnswer> {
        Box::pin(async { UserAnswer::Nobody })
    }
}
