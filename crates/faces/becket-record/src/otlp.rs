//! A session as spans of OpenTelemetry, with the conventions for generative AI, in the JSON form of OTLP.
//!
//! The spans are made of the same tree that `becket trace` shows. Their ids follow from the record, so that a session
//! which is exported twice is there once.

use becket_store::SessionSummary;
use serde_json::{Value, json};

use super::item::{Item, verdict_of};
use super::tree::{Family, Node, What};

/// The kinds of spans that are used here.
const INTERNAL: u32 = 1;
const CLIENT: u32 = 3;

/// The status of a span that went wrong.
const ERROR: u32 = 2;

/// The body of a request to a collector: the session with its sub-agents.
pub fn request(family: &Family, session: &SessionSummary) -> Value {
    let mut spans = Spans {
        trace_id: hash_of(&["trace", &session.id])[..32].to_owned(),
        all: Vec::new(),
    };
    let nodes = family.session(&session.id);
    spans.session(session, &nodes);
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            text("service.name", "becket"),
            text("service.version", env!("CARGO_PKG_VERSION")),
        ]},
        "scopeSpans": [{
            "scope": {"name": "becket", "version": env!("CARGO_PKG_VERSION")},
            "spans": spans.all,
        }],
    }]})
}

struct Spans {
    trace_id: String,
    all: Vec<Value>,
}

/// The name, kind and attributes of a span.
struct About {
    name: String,
    kind: u32,
    attributes: Vec<Value>,
    problem: Option<String>,
}

impl Spans {
    /// Adds the span of a session, with those of everything in it.
    fn session(&mut self, session: &SessionSummary, nodes: &[Node<'_>]) {
        let (provider, model) = session.model.split_once('/').unwrap_or(("", &session.model));
        let id = span_id(&["session", &session.id]);
        let about = About {
            name: "invoke_agent becket".into(),
            kind: INTERNAL,
            attributes: vec![
                text("gen_ai.operation.name", "invoke_agent"),
                text("gen_ai.agent.name", "becket"),
                text("gen_ai.conversation.id", &session.id),
                text("gen_ai.provider.name", provider),
                text("gen_ai.request.model", model),
                text("becket.context", &session.context),
            ],
            problem: None,
        };
        let began = nodes.iter().map(|node| node.began).min();
        let began = began.unwrap_or(session.started_ms * 1000);
        let ended = session.ended_ms.map_or(0, |ended_ms| ended_ms * 1000);
        let ended = nodes.iter().map(Node::ended).fold(ended.max(began), u64::max);
        self.add(&id, None, (began, ended), about);
        self.below(nodes, &id);
    }

    fn below(&mut self, nodes: &[Node<'_>], parent: &str) {
        for node in nodes {
            let id = match &node.what {
                What::Item(item) => {
                    let id = span_id(&["item", &item.session_id, &item.seq.to_string()]);
                    self.add(&id, Some(parent), (item.began(), item.ended()), about(item));
                    self.runs(item, &id);
                    id
                }
                What::Session(session_id) => {
                    let id = span_id(&["session", session_id]);
                    let attributes = vec![
                        text("gen_ai.operation.name", "invoke_agent"),
                        text("gen_ai.agent.name", "sub-agent"),
                        text("gen_ai.conversation.id", session_id),
                    ];
                    let about = About {
                        name: "invoke_agent sub-agent".into(),
                        kind: INTERNAL,
                        attributes,
                        problem: None,
                    };
                    self.add(&id, Some(parent), (node.began, node.ended()), about);
                    id
                }
                What::Words => continue,
            };
            self.below(&node.below, &id);
        }
    }

    /// Adds the spans of the hooks of a dispatch.
    fn runs(&mut self, item: &Item, parent: &str) {
        let mut began = item.began();
        for (index, run) in item.json["runs"].as_array().into_iter().flatten().enumerate() {
            let duration = run["duration_us"].as_u64().unwrap_or_default();
            let handler = run["handler"].as_str().unwrap_or_default();
            let effect = run["effect"]["kind"].as_str().unwrap_or_default();
            let id = span_id(&["run", parent, &index.to_string()]);
            let detail = run["effect"]["failure"]["detail"].as_str();
            let about = About {
                name: format!("hook {handler}"),
                kind: INTERNAL,
                attributes: vec![
                    text("becket.event", &item.name),
                    text("becket.hook", handler),
                    text("becket.hook.source", run["source"].as_str().unwrap_or_default()),
                    text("becket.hook.effect", effect),
                ],
                problem: (effect == "failed").then(|| detail.unwrap_or("failed").to_owned()),
            };
            self.add(&id, Some(parent), (began, began + duration), about);
            began += duration;
        }
    }

    fn add(&mut self, id: &str, parent: Option<&str>, (began, ended): (u64, u64), about: About) {
        let nanoseconds = |time_us: u64| (u128::from(time_us) * 1000).to_string();
        let mut span = json!({
            "traceId": self.trace_id, "spanId": id, "name": about.name, "kind": about.kind,
            "startTimeUnixNano": nanoseconds(began), "endTimeUnixNano": nanoseconds(ended.max(began)),
            "attributes": about.attributes,
        });
        if let Some(parent) = parent {
            span["parentSpanId"] = parent.into();
        }
        if let Some(problem) = about.problem {
            span["status"] = json!({"code": ERROR, "message": problem});
        }
        self.all.push(span);
    }
}

/// A record in the terms of the conventions.
fn about(item: &Item) -> About {
    match item.name.as_str() {
        "request" if item.is_span => about_request(item),
        "tool_call" if item.is_span => about_call(item),
        "turn" if item.is_span => About {
            name: format!("turn {}", item.number("turn")),
            kind: INTERNAL,
            attributes: vec![number("becket.turn", item.number("turn"))],
            problem: None,
        },
        event => About {
            name: format!("hooks {event}"),
            kind: INTERNAL,
            attributes: vec![
                text("becket.event", event),
                text("becket.verdict", &verdict(item)),
            ],
            problem: None,
        },
    }
}

/// The verdict with its reason; empty if there is none.
fn verdict(item: &Item) -> String {
    match &item.json["verdict"] {
        Value::Null => String::new(),
        verdict => verdict_of(verdict),
    }
}

fn about_request(item: &Item) -> About {
    let name = item.json["name"].as_str().unwrap_or_default();
    let (provider, model) = name.split_once('/').unwrap_or(("", name));
    let ended = &item.json["facts"]["ended"];
    let mut attributes = vec![
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.provider.name", provider),
        text("gen_ai.request.model", model),
    ];
    for kind in ["input_tokens", "output_tokens"] {
        if let Some(tokens) = ended["usage"][kind].as_u64() {
            attributes.push(number(&format!("gen_ai.usage.{kind}"), tokens));
        }
    }
    let problem = ended["error"].as_str().or(ended["blocked"].as_str());
    About {
        name: format!("chat {model}"),
        kind: CLIENT,
        attributes,
        problem: problem.map(ToOwned::to_owned),
    }
}

fn about_call(item: &Item) -> About {
    let (facts, name) = (
        &item.json["facts"],
        item.json["name"].as_str().unwrap_or_default(),
    );
    let refused = facts["refused"].as_str().map(ToOwned::to_owned);
    let failed = (facts["is_error"] == true).then(|| "the tool failed".to_owned());
    About {
        name: format!("execute_tool {name}"),
        kind: INTERNAL,
        attributes: vec![
            text("gen_ai.operation.name", "execute_tool"),
            text("gen_ai.tool.name", name),
            text("gen_ai.tool.call.id", item.call().unwrap_or_default()),
            text(
                "becket.allowed_by",
                facts["allowed_by"].as_str().unwrap_or("nobody"),
            ),
        ],
        problem: refused.or(failed),
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// A number attribute. In this format 64-bit numbers are strings.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

fn hash_of(parts: &[&str]) -> String {
    blake3::hash(parts.join("\n").as_bytes()).to_hex().to_string()
}

fn span_id(parts: &[&str]) -> String {
    hash_of(parts)[..16].to_owned()
}
