//! A recorded session once more: each event goes through the hooks as they are now, and what they say is held against
//! what was said then. There is no model and no tool; what follows from a decision is as it was recorded.
//!
//! What differs is found by reading two records, that of then and that of now, by the same function.

use std::collections::BTreeSet;

use becket_events::EventId;
use becket_hooks::Engine;
use becket_store::Recorded;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The result of a replay.
#[derive(Default)]
pub struct Replay {
    /// How many events were replayed.
    pub replayed: u64,
    /// How many events could not be replayed, because the record does not have their payloads.
    pub not_kept: u64,
    /// The events about which hooks say something else now.
    pub differences: Vec<Difference>,
    /// A hash of everything that was said, in order.
    digest: blake3::Hasher,
}

/// An event about which hooks say something else now.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// The id of the session, which may be a sub-agent's.
    pub session_id: String,
    /// The place of the event in the record.
    pub seq: i64,
    /// The name of the event.
    pub event: String,
    /// The tool call that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// What the event is about, in a few words.
    pub about: String,
    /// What differs: `decision`, `rewrite`, `answer`, `failure`.
    pub differs: Vec<&'static str>,
    /// What was said then.
    pub was: Said,
    /// What is said now.
    pub is: Said,
    /// Whether the call ran, if the event is about a call that is refused only now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran: Option<bool>,
}

impl Difference {
    /// Whether the event is refused now and was not then.
    pub fn is_stopped(&self) -> bool {
        self.is.refuses() && !self.was.refuses()
    }

    /// Whether the event was refused then and is not now.
    pub fn is_let_through(&self) -> bool {
        self.was.refuses() && !self.is.refuses()
    }
}

/// What hooks have said about one event.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Said {
    /// The final verdict.
    pub verdict: Value,
    /// The fields that hooks have changed, with their final values.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub rewritten: Map<String, Value>,
    /// Other answers, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Value>,
    /// The failures of hooks, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Value>,
    /// The hooks that had an effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Speaker>,
}

/// A hook that had an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Speaker {
    /// The name of the hook.
    pub hook: String,
    /// Where the hook is configured.
    pub source: String,
    /// What the hook did: `denied`, `rewrote`, `replied` or `failed`.
    pub effect: String,
}

impl Said {
    /// Reads the record of a dispatch, whether of then or of now.
    fn of(dispatch: &Value) -> Self {
        let mut said = Self {
            verdict: dispatch["verdict"].clone(),
            ..Self::default()
        };
        if let (Some(before), Some(after)) = (
            dispatch["original"].as_object(),
            dispatch["effective"].as_object(),
        ) {
            let changed = after
                .iter()
                .filter(|(name, value)| before.get(*name) != Some(value));
            said.rewritten = changed
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
        }
        for run in dispatch["runs"].as_array().into_iter().flatten() {
            let effect = run["effect"]["kind"].as_str().unwrap_or_default();
            match effect {
                "replied" => said.answers.push(run["reply"].clone()),
                "failed" => said.failures.push(json!({
                    "hook": run["handler"], "cause": run["effect"]["failure"]["cause"],
                })),
                "denied" | "rewrote" => {}
                _ => continue,
            }
            said.hooks.push(Speaker {
                hook: run["handler"].as_str().unwrap_or_default().into(),
                source: run["source"].as_str().unwrap_or_default().into(),
                effect: effect.into(),
            });
        }
        said
    }

    /// Whether the verdict is a refusal.
    pub fn refuses(&self) -> bool {
        self.verdict.get("deny").is_some()
    }

    /// The hooks that refused, including those that failed.
    pub fn refusers(&self) -> impl Iterator<Item = &Speaker> {
        let refuses = |speaker: &&Speaker| matches!(speaker.effect.as_str(), "denied" | "failed");
        self.hooks.iter().filter(refuses)
    }

    fn differences(&self, now: &Self) -> Vec<&'static str> {
        let all = [
            ("decision", self.verdict != now.verdict),
            ("rewrite", self.rewritten != now.rewritten),
            ("answer", self.answers != now.answers),
            ("failure", self.failures != now.failures),
        ];
        all.into_iter()
            .filter_map(|(name, differs)| differs.then_some(name))
            .collect()
    }
}

impl Replay {
    /// Replays the record of a session and of its sub-agents. `seen` is called with the number of records done and
    /// their total.
    pub async fn of(engine: &Engine, record: &[Recorded], mut seen: impl FnMut(u64, u64)) -> Self {
        let mut replay = Self::default();
        let made = calls_made(record);
        for (place, recorded) in record.iter().enumerate() {
            if !recorded.is_span {
                replay.event(engine, recorded, &made).await;
            }
            seen(place as u64 + 1, record.len() as u64);
        }
        replay
    }

    async fn event(&mut self, engine: &Engine, recorded: &Recorded, made: &BTreeSet<Call>) {
        let dispatch: Value = serde_json::from_str(recorded.json.text()).unwrap_or_default();
        let original = &dispatch["original"];
        let Some(event) = EventId::named(&recorded.name) else {
            self.not_kept += 1;
            return;
        };
        if original.is_null() {
            self.not_kept += 1;
            return;
        }
        let Ok(trace) = engine.replay(event, &original.to_string()).await else {
            self.not_kept += 1;
            return;
        };
        self.replayed += 1;
        let mut now = trace.map_or(Value::Null, |trace| {
            serde_json::to_value(trace).unwrap_or_default()
        });
        if now["effective"].is_object() {
            now["original"] = original.clone();
        }
        let (was, is) = (Said::of(&dispatch), Said::of(&now));
        self.digest.update(
            json!([recorded.session_id, recorded.name, is])
                .to_string()
                .as_bytes(),
        );
        let differs = was.differences(&is);
        if differs.is_empty() {
            return;
        }
        let tool_call_id = original["tool_call_id"].as_str().map(ToOwned::to_owned);
        let mut difference = Difference {
            session_id: recorded.session_id.clone(),
            seq: recorded.seq,
            event: recorded.name.clone(),
            about: about(original),
            differs,
            was,
            is,
            ran: None,
            tool_call_id,
        };
        if difference.is_stopped() {
            let call = difference.tool_call_id.clone();
            difference.ran = call.map(|call| made.contains(&(difference.session_id.clone(), call)));
        }
        self.differences.push(difference);
    }

    /// A hash of everything that was said, in order: equal hashes mean equal replays.
    pub fn digest(&self) -> String {
        self.digest.finalize().to_hex().to_string()
    }
}

/// A tool call, by its session and its id.
type Call = (String, String);

/// The tool calls that ran.
fn calls_made(record: &[Recorded]) -> BTreeSet<Call> {
    let spans = record.iter().filter(|recorded| recorded.is_span);
    let made = spans.filter_map(|recorded| {
        let span: Value = serde_json::from_str(recorded.json.text()).ok()?;
        let is_made = !span["facts"]["allowed_by"].is_null();
        let call = span["tool_call_id"].as_str().filter(|_| is_made)?;
        Some((recorded.session_id.clone(), call.to_owned()))
    });
    made.collect()
}

/// What an event is about, in a few words.
fn about(event: &Value) -> String {
    const FEW: usize = 120;
    let tool = event["tool_name"].as_str().unwrap_or_default();
    let names = ["command", "path", "url", "prompt", "text", "input", "arguments"];
    let what = names.iter().find_map(|name| match &event[*name] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    });
    let words = format!("{tool} {}", what.unwrap_or_default());
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(FEW) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}
