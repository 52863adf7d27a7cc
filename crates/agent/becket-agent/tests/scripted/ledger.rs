//! The ledger: operations performed are permits used, whatever models, hooks and the user do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use becket_agent::audit::{AuditRecord, Audited, LedgerCounts};
use becket_agent::front::UserAnswer;
use becket_agent::gate::Permit;
use becket_agent::provider::RequestOptions;
use becket_agent::tool::{Tool, ToolOutput, ToolRun, ToolSpec};
use becket_agent::{SubAgent, SubAgentEnd, ToolChoice};
use becket_events::{ApprovalDecision, OperationKind, PreTool, PreToolReply, Reply, Rewrite};
use becket_hooks::Engine;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::stage::{Model, Prop, Stage, Turn, answering, input};

/// How many sessions of a user are played; most of them have sub-agents.
const SESSIONS: u64 = 1_000;

/// Pseudo-random numbers that are the same each time (xorshift).
struct Dice(u64);

impl Dice {
    fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A model's script: some turns with some calls each, then a text.
fn script(dice: &mut Dice) -> Vec<Turn> {
    let mut turns = Vec::new();
    for _ in 0..dice.below(3) {
        let mut calls = Vec::new();
        for _ in 0..=dice.below(3) {
            let number = dice.below(1_000_000_000);
            let arguments = json!({"command": format!("{number}"), "mood": dice.below(12)});
            let name = ["shell", "look", "helper", "helper", "nobody knows it"][dice.below(5) as usize];
            calls.push(match name {
                "shell" => (
                    name,
                    json!({"command": format!("mood {}, {number}", dice.below(12))}),
                ),
                _ => (name, arguments),
            });
        }
        turns.push(Turn::Call(calls));
    }
    turns.push(Turn::Say("done"));
    turns
}

/// A tool that counts its runs by itself, and may cancel everything, or ask another agent.
struct Worker {
    spec: ToolSpec,
    performed: Arc<AtomicU64>,
    asks: bool,
}

impl Worker {
    fn tool(name: &str, operation: Option<OperationKind>, performed: &Arc<AtomicU64>) -> Arc<dyn Tool> {
        let mut spec = Prop::new(name, operation, &Arc::default()).spec().clone();
        spec.read_only = name == "look";
        Arc::new(Self {
            spec,
            performed: Arc::clone(performed),
            asks: name == "helper",
        })
    }
}

impl Tool for Worker {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        Ok(arguments)
    }

    fn asks_agents(&self) -> bool {
        self.asks
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            self.performed.fetch_add(1, Ordering::Relaxed);
            let command = permit.arguments()["command"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            if command.contains("mood 0") {
                run.cancel.cancel();
            }
            let Some(parent) = run.parent.filter(|_| self.asks) else {
                return ToolOutput::text("worked");
            };
            let mut dice = Dice::seeded(command.parse().unwrap_or(7));
            let agent = SubAgent {
                name: None,
                system_prompt: "You help.".into(),
                input: "help".into(),
                provider: Some(Model::playing("helper", script(&mut dice))),
                options: RequestOptions::default(),
                tools: ToolChoice::All,
            };
            match agent.run(&parent).await {
                SubAgentEnd::Answered(answer) => ToolOutput::text(answer),
                other => ToolOutput::error(format!("{other:?}")),
            }
        })
    }
}

/// A guard that sometimes refuses, rewrites or fails.
fn moody() -> Arc<Engine> {
    let engine = Engine::new(None);
    engine.on::<PreTool>("moody", |occasion| {
        let arguments = &occasion.payload.arguments;
        match arguments.get("mood").and_then(Value::as_u64) {
            Some(1) => Ok(PreToolReply::refuse("not in this mood".into())),
            Some(2) => {
                let mut other = arguments.clone();
                other.insert("mood".into(), 99.into());
                Ok(PreToolReply {
                    arguments: Rewrite(Some(other)),
                    ..PreToolReply::default()
                })
            }
            Some(3) => panic!("it broke"),
            _ => Ok(PreToolReply::default()),
        }
    });
    Arc::new(engine)
}

fn answers(dice: &mut Dice) -> impl Iterator<Item = UserAnswer> + '_ {
    (0..12).map(|_| match dice.below(12) {
        0 => UserAnswer::Cancel,
        1 => UserAnswer::No(None),
        2 => UserAnswer::Nobody,
        3 => UserAnswer::YesAgain,
        _ => UserAnswer::Yes,
    })
}

/// The permits, refusals and operations in the audit records, counted once more.
fn recounted(records: &[AuditRecord], session_id: &str) -> (u64, u64, u64) {
    let (mut permits, mut refused, mut operations) = (0, 0, 0);
    for record in records
        .iter()
        .filter(|record| record.asker.session_id == session_id)
    {
        match &record.what {
            Audited::Call(call) if call.ruling.decision == ApprovalDecision::Allow => permits += 1,
            Audited::Call(_) => refused += 1,
            Audited::Operation { .. } => operations += 1,
            Audited::Consent { .. } | Audited::Ledger(_) | Audited::Guest { .. } => {}
        }
    }
    (permits, refused, operations)
}

#[tokio::test]
async fn a_thousand_sessions_with_nested_agents_have_no_difference() {
    let performed = Arc::new(AtomicU64::new(0));
    let mut stage = Stage::new(Vec::new());
    stage.engine = moody();
    stage.settings.approval.mode = answering(false);
    stage.settings.subagents.max_depth = 3;
    stage.tools = vec![
        Worker::tool("shell", Some(OperationKind::Shell), &performed),
        Worker::tool("look", None, &performed),
        Worker::tool("helper", None, &performed),
    ];
    let mut sum = LedgerCounts::default();
    let (mut ledgers, mut below) = (0, 0);
    for seed in 0..SESSIONS {
        let mut dice = Dice::seeded(seed + 1);
        stage.model = Model::playing("user's", script(&mut dice));
        stage.store = Arc::default();
        stage.person = Arc::default();
        stage.person.answers.lock().unwrap().extend(answers(&mut dice));
        let mut session = stage.open().await;
        let end = session
            .prompt(input("go"), CancellationToken::new())
            .await
            .unwrap();
        session.end(end.ending.reason()).await.unwrap();
        let records = stage.store.audit.lock().unwrap().clone();
        for record in &records {
            let Audited::Ledger(counts) = &record.what else {
                continue;
            };
            assert!(counts.is_balanced(), "session {seed}: {counts:?}");
            let logged = recounted(&records, &record.asker.session_id);
            assert_eq!(
                logged,
                (counts.permits, counts.refused, counts.operations),
                "session {seed}"
            );
            ledgers += 1;
            below += u64::from(record.asker.parent_session_id.is_some());
            sum.refused += counts.refused;
            sum.permits += counts.permits;
            sum.used += counts.used;
            sum.unused += counts.unused;
            sum.operations += counts.operations;
        }
    }
    assert_eq!(ledgers - below, SESSIONS, "every session has its ledger");
    assert_eq!(sum.difference(), 0);
    // The tools have counted too.
    assert_eq!(performed.load(Ordering::Relaxed), sum.operations);
    let enough = |count: u64, what: &str| assert!(count > 100, "{what}: {count}");
    enough(below, "sessions of sub-agents");
    enough(sum.operations, "operations");
    enough(sum.refused, "refusals");
    assert!(sum.unused > 0, "some permits were given and not used: {sum:?}");
}
