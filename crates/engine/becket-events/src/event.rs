//! What an event is: the traits that the table in `table.rs` fills in, and everything derived from its rows.

use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::operation::field_names;
use crate::{EventId, Scope, Verdict};

/// A moment of the agent's life. The types are declared by the table and never written by hand.
pub trait Event: Send + Sync + 'static {
    /// Its place in the table.
    const ID: EventId;
    /// Its name.
    const NAME: &'static str;
    /// What a broken handler of it means at most.
    const CLASS: Class;
    /// What handlers receive.
    type Payload: Payload;
    /// What a handler answers.
    type Reply: Reply<Payload = Self::Payload>;
}

/// What handlers of an event receive.
pub trait Payload: Serialize + DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static {
    /// One field as a JSON value, for matchers.
    fn field(&self, name: &str) -> Option<Value>;

    /// Brings a payload that a handler has rewritten into its normal form.
    fn settle(&mut self);
}

/// What handlers of an event answer. `Default` is the reply of a handler that said nothing.
pub trait Reply: Default + Clone + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The payload that a rewriting field changes.
    type Payload;

    /// Whether handlers must run one after another.
    const SEQUENTIAL: bool;

    /// Whether a handler can change what the next one sees.
    const REWRITES: bool;

    /// This reply followed by a later handler's.
    fn then(self, later: Self) -> Self;

    /// Whether no further handler needs to be asked.
    fn ends_chain(&self) -> bool;

    /// Puts rewritten fields into the payload, in their normalised form; says whether anything changed.
    fn apply(&self, payload: &mut Self::Payload) -> bool;

    /// Takes the rewritten fields out of the reply.
    fn drop_rewrites(&mut self);

    /// The reply without anything but its verdict.
    fn verdict_alone(self) -> Self;

    /// The verdict, where the event has one.
    fn verdict(&self) -> Option<&Verdict>;

    /// A reply that refuses, or lets nothing pass of what the event is about; neutral where the event knows neither.
    fn refuse(reason: String) -> Self;

    /// A reply that tells the person something, and nothing else.
    fn telling(lines: Vec<String>) -> Self;

    /// What the person should be told.
    fn notices(&self) -> &[String];
}

/// What it means when a handler breaks. Later is stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// It was told something: the failure is reported, nothing else.
    Observe,
    /// It was asked to change something: its change is dropped, the rest goes on, the person is told.
    Transform,
    /// It stands between data and the model: what it was asked about does not pass.
    Filter,
    /// It was asked for permission: the action does not happen.
    Guard,
}

impl Class {
    /// Its name in configuration and listings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Transform => "transform",
            Self::Filter => "filter",
            Self::Guard => "guard",
        }
    }
}

/// A row of the table, for listings and reference pages.
#[derive(Debug, Clone, Copy)]
pub struct EventInfo {
    /// Its place in the table.
    pub id: EventId,
    /// Its name.
    pub name: &'static str,
    /// When it fires and what can be answered.
    pub doc: &'static str,
    /// What a broken handler means at most.
    pub class: Class,
    /// The fields of its payload.
    pub payload: &'static [FieldInfo],
    /// The fields of its reply.
    pub reply: &'static [FieldInfo],
}

/// A field of a payload or a reply.
#[derive(Debug, Clone, Copy)]
pub struct FieldInfo {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Its Rust type.
    pub type_name: &'static str,
    /// How several answers combine; empty for a payload's field.
    pub rule: &'static str,
}

/// Something to be done with an event whose type is known only by its id.
pub trait Visitor {
    /// What comes out.
    type Output;

    /// Called with the event's type.
    fn visit<E: Event>(self) -> Self::Output;
}

impl EventInfo {
    /// The fields that stand beside the payload of every event: the event's name and the scope's fields.
    pub fn common_fields() -> Vec<&'static str> {
        let of_scope = field_names::<Scope>().iter().copied();
        std::iter::once("event").chain(of_scope).collect()
    }
}

/// The JSON text that handlers receive: the event's name, the scope and the payload in one object.
pub fn envelope<E: Event>(scope: &Scope, payload: &E::Payload) -> String {
    let payload = serde_json::to_string(payload).expect("a payload is plain data");
    envelope_of(E::NAME, scope, &payload)
}

/// The same of an event by its name, with the payload as JSON text.
pub fn envelope_of(name: &str, scope: &Scope, payload: &str) -> String {
    let scope = serde_json::to_string(scope).expect("a scope is plain data");
    let mut text = String::with_capacity(scope.len() + payload.len() + name.len() + 16);
    text.push_str(r#"{"event":""#);
    text.push_str(name);
    text.push_str(r#"","#);
    text.push_str(
        scope
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .expect("an object"),
    );
    match payload.strip_prefix('{').expect("an object") {
        "}" => text.push('}'),
        fields => {
            text.push(',');
            text.push_str(fields);
        }
    }
    text
}

/// The JSON Schema of what handlers receive.
pub fn payload_schema(id: EventId) -> Schema {
    struct PayloadSchema;
    impl Visitor for PayloadSchema {
        type Output = Schema;

        fn visit<E: Event>(self) -> Schema {
            let mut schema = schemars::schema_for!(E::Payload);
            let common = schemars::schema_for!(Scope);
            let object = schema.ensure_object();
            let mut properties = serde_json::Map::new();
            properties.insert("event".into(), serde_json::json!({"const": E::NAME}));
            for source in [common.as_object(), Some(&*object)].into_iter().flatten() {
                if let Some(Value::Object(fields)) = source.get("properties") {
                    properties.extend(fields.clone());
                }
            }
            let required: Vec<Value> = properties.keys().cloned().map(Value::String).collect();
            object.insert("type".into(), "object".into());
            object.insert("required".into(), required.into());
            object.insert("properties".into(), properties.into());
            object.insert("additionalProperties".into(), false.into());
            schema
        }
    }
    id.visit(PayloadSchema)
}

/// The JSON Schema of what a handler may answer.
pub fn reply_schema(id: EventId) -> Schema {
    struct ReplySchema;
    impl Visitor for ReplySchema {
        type Output = Schema;

        fn visit<E: Event>(self) -> Schema {
            schemars::schema_for!(E::Reply)
        }
    }
    id.visit(ReplySchema)
}
