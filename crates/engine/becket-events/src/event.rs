//! What an event is: the traits that the table in `table.rs` fills in, and everything derived from its rows.

use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::operation::field_names;
use crate::{EventId, Scope, Verdict};

/// A moment of the agent's life. The table declares the types that implement it; none is written by hand.
pub trait Event: Send + Sync + 'static {
    /// The event's place in the table.
    const ID: EventId;
    /// The event's name.
    const NAME: &'static str;
    /// The strongest consequence that a failing handler can have.
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

    /// The part of the reply that adds something for the model or the user, without what decides or changes anything.
    fn additions(self) -> Self;

    /// The verdict, where the event has one.
    fn verdict(&self) -> Option<&Verdict>;

    /// A reply that refuses, or lets nothing through; neutral if the event can do neither.
    fn refuse(reason: String) -> Self;

    /// A reply that tells the user something, and nothing else.
    fn telling(lines: Vec<String>) -> Self;

    /// What the user should be told.
    fn notices(&self) -> &[String];

    /// A reply that ends the run, and does nothing else.
    fn halting(reason: String) -> Self;

    /// Why the run must end, if a handler wants that.
    fn halt(&self) -> Option<&str>;
}

/// What happens when a handler fails. Later variants are stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The handler was only notified: the failure is reported, nothing else.
    Observe,
    /// The handler was asked to change something: its change is dropped, the rest continues, the user is told.
    Transform,
    /// The handler filters data for the model: the data it was asked about does not pass.
    Filter,
    /// The handler was asked for permission: the action does not happen.
    Guard,
}

impl Class {
    /// The class's name in configuration and listings.
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
    /// The event's place in the table.
    pub id: EventId,
    /// The event's name.
    pub name: &'static str,
    /// When the event fires and what can be answered.
    pub doc: &'static str,
    /// The strongest consequence that a failing handler can have.
    pub class: Class,
    /// The fields of the event's payload.
    pub payload: &'static [FieldInfo],
    /// The fields of the event's reply.
    pub reply: &'static [FieldInfo],
}

/// A field of a payload or a reply.
#[derive(Debug, Clone, Copy)]
pub struct FieldInfo {
    /// The field's name.
    pub name: &'static str,
    /// What the field means.
    pub doc: &'static str,
    /// The field's Rust type.
    pub type_name: &'static str,
    /// How several answers combine; empty for a payload's field.
    pub rule: &'static str,
}

/// A function over an event whose type is known only by its id.
pub trait Visitor {
    /// The result of the visit.
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

/// The JSON text that handlers of the event with this name receive, given the payload as JSON text.
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
            if let Some(Value::Object(shared)) = common.as_object().and_then(|common| common.get("$defs")) {
                let own = object.entry("$defs").or_insert_with(|| serde_json::json!({}));
                own.as_object_mut()
                    .into_iter()
                    .for_each(|own| own.extend(shared.clone()));
            }
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
