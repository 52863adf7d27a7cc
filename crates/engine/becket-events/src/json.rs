//! JSON text that is passed on without being taken apart.
//!
//! A request body or a tool's details can be large, and most of the time nothing changes it. `Json` keeps the text as
//! it is, shares it, and is written into a larger document by copying.

use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Any JSON value, held as its text.
#[derive(Clone)]
pub struct Json(Arc<Text>);

/// The JSON text, by its origin. Neither variant is copied when it becomes a `Json`, nor when that is shared.
enum Text {
    /// Text that was read and found to be JSON.
    Read(Box<RawValue>),
    /// Text that was put together from JSON.
    Joined(String),
}

impl Json {
    /// Takes text that must be one JSON value.
    pub fn parse(text: String) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text).map(Self::from)
    }

    /// Takes text that the caller has put together from pieces of JSON, without reading it again. A request's body is
    /// joined anew in every turn and grows with the conversation, and reading it costs many times what joining does.
    /// Builds with debug assertions read it nevertheless, and panic if it is not JSON.
    pub fn joined(text: String) -> Self {
        debug_assert!(
            serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(),
            "joined text is not JSON: {text}"
        );
        Self(Arc::new(Text::Joined(text)))
    }

    /// Writes a value down as JSON.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self::from)
    }

    /// The text, exactly as it was given.
    pub fn text(&self) -> &str {
        match &*self.0 {
            Text::Read(raw) => raw.get(),
            Text::Joined(text) => text,
        }
    }

    /// The value parsed, for the few callers that need to look inside.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(self.text()).expect("Json holds valid JSON text")
    }

    /// The members of an object, each still as text; `None` if the value is not an object.
    pub fn members(&self) -> Option<serde_json::Result<Vec<(String, Json)>>> {
        if !self.text().trim_start().starts_with('{') {
            return None;
        }
        let members: serde_json::Result<Members> = serde_json::from_str(self.text());
        Some(members.map(|members| members.0))
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(Arc::new(Text::Read(raw)))
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::of(&value).expect("a JSON value can be written as text")
    }
}

impl From<Map<String, Value>> for Json {
    fn from(map: Map<String, Value>) -> Self {
        Value::Object(map).into()
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.text() == other.text()
    }
}

impl std::fmt::Debug for Json {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.text())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &*self.0 {
            Text::Read(raw) => raw.serialize(serializer),
            Text::Joined(text) => {
                let raw: &RawValue = serde_json::from_str(text).map_err(serde::ser::Error::custom)?;
                raw.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

impl JsonSchema for Json {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

/// An object's members in the order of the text.
struct Members(Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives_a_round_trip_byte_for_byte() {
        let text = r#"{"b": 1.50,  "a":[1e3]}"#;
        let json: Json = serde_json::from_str(text).unwrap();
        assert_eq!(json.text(), text);
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
    }

    #[test]
    fn joined_text_is_written_and_compared_like_any_other() {
        let text = r#"{"b": 1.50,  "a":[1e3]}"#;
        let json = Json::joined(text.into());
        assert_eq!(serde_json::to_string(&[&json]).unwrap(), format!("[{text}]"));
        assert_eq!(json, Json::parse(text.into()).unwrap());
        assert_eq!(json.members().unwrap().unwrap()[0].1.text(), "1.50");
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "joined text is not JSON")]
    fn a_mistake_in_joining_is_found_in_debug_builds() {
        Json::joined(r#"{"messages":[}"#.into());
    }

    #[test]
    fn members_keep_their_order_and_their_text() {
        let json = Json::parse(r#"{"z": 1.0, "a": {"x": 2}}"#.into()).unwrap();
        let members = json.members().unwrap().unwrap();
        assert_eq!(members[0].0, "z");
        assert_eq!(members[0].1.text(), "1.0");
        assert_eq!(members[1].1.text(), r#"{"x": 2}"#);
        assert!(Json::parse("[1]".into()).unwrap().members().is_none());
    }
}
