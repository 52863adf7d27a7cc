//! The fields of an event that is tried out: documented values, the user's own, and what follows from them.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use becket_dialects::operation_called;
use becket_events::{EventId, EventInfo, OperationKind, Profile, Scope, payload_schema};
use becket_hooks::nearest;
use serde_json::{Map, Value};

/// The fields that the user sets in an event.
#[derive(Debug, Clone, Default)]
pub struct PayloadOverrides {
    /// Whole fields by name.
    pub fields: Map<String, Value>,
    /// Values by path, such as `arguments.command`.
    pub set: Vec<(String, String)>,
}

impl PayloadOverrides {
    /// Parses arguments of the form `field=value`.
    pub fn set(words: &[String]) -> Result<Vec<(String, String)>, String> {
        let read = |word: &String| {
            let (path, value) = word
                .split_once('=')
                .ok_or_else(|| format!("`{word}` is not of the form field=value"))?;
            Ok((path.trim().to_owned(), value.to_owned()))
        };
        words.iter().map(read).collect()
    }
}

/// The documented payloads, by event.
fn samples() -> &'static Map<String, Value> {
    static SAMPLES: OnceLock<Map<String, Value>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let text = include_str!(concat!(env!("OUT_DIR"), "/samples.json"));
        serde_json::from_str(text).unwrap_or_default()
    })
}

/// All fields of an event: those of the scope, those of the documented payload, and those that the user sets.
pub fn fields_of(
    event: EventId,
    scope: &Scope,
    overrides: &PayloadOverrides,
    profile: &Profile,
) -> Result<Map<String, Value>, String> {
    let info = event.info();
    let mut fields = match samples().get(info.name) {
        Some(Value::Object(sample)) => sample.clone(),
        _ => from_schema(event),
    };
    move_home(&mut fields, &scope.cwd);
    if let Ok(Value::Object(scope)) = serde_json::to_value(scope) {
        fields.extend(scope);
    }
    let mut given: BTreeSet<String> = BTreeSet::new();
    for (name, value) in &overrides.fields {
        check_name(info, name)?;
        given.insert(name.clone());
        fields.insert(name.clone(), value.clone());
    }
    for (path, text) in &overrides.set {
        let (first, members) = split(path);
        check_name(info, first)?;
        // Arguments of another tool are not the sample's.
        if given.insert(first.to_owned()) && first == "arguments" {
            fields.insert(first.to_owned(), Value::Object(Map::new()));
        }
        let mut whole = Value::Object(std::mem::take(&mut fields));
        put(&mut whole, first, &members, text)?;
        if let Value::Object(changed) = whole {
            fields = changed;
        }
    }
    complete_tool(&mut fields, &given, profile);
    Ok(fields)
}

fn split(path: &str) -> (&str, Vec<&str>) {
    let mut members = path.split('.');
    let first = members.next().unwrap_or_default();
    (first, members.collect())
}

/// Checks that the event has a field of that name, which would be lost otherwise.
fn check_name(info: &EventInfo, name: &str) -> Result<(), String> {
    let known = || {
        let own = info.payload.iter().map(|field| field.name);
        own.chain(EventInfo::common_fields())
    };
    if known().any(|field| field == name) {
        return Ok(());
    }
    let event = info.name;
    Err(match nearest(name, known()) {
        Some(near) => format!("{event} has no field `{name}`; did you mean `{near}`?"),
        None => format!(
            "{event} has no field `{name}`; it has {}",
            known().collect::<Vec<_>>().join(", ")
        ),
    })
}

/// Sets a value at a path. The text is read as JSON if possible, unless there is a string at the path now.
fn put(whole: &mut Value, first: &str, members: &[&str], text: &str) -> Result<(), String> {
    let mut place = whole;
    for name in std::iter::once(&first).chain(members) {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        let kind = match place {
            Value::Array(_) => "a list",
            Value::Object(_) => "",
            _ => "no object",
        };
        place = match (place, name.parse::<usize>()) {
            (Value::Object(object), _) => object.entry((*name).to_owned()).or_insert(Value::Null),
            (Value::Array(list), Ok(index)) if index < list.len() => &mut list[index],
            _ => return Err(format!("there is no `{name}`: its parent is {kind}")),
        };
    }
    let read = serde_json::from_str::<Value>(text);
    *place = match (&*place, read) {
        (Value::String(_), Ok(Value::String(text))) => Value::String(text),
        (Value::String(_), _) | (_, Err(_)) => Value::String(text.to_owned()),
        (_, Ok(value)) => value,
    };
    Ok(())
}

/// Replaces the folder of the documented payloads by the working directory.
fn move_home(fields: &mut Map<String, Value>, cwd: &str) {
    const THERE: &str = "/room/work";
    for value in fields.values_mut() {
        match value {
            Value::String(text) if text.starts_with(THERE) => *text = text.replacen(THERE, cwd, 1),
            Value::Object(object) => move_home(object, cwd),
            _ => {}
        }
    }
}

/// Sets the fields that follow from the name of a tool: its operation, and the name that the model uses.
fn complete_tool(fields: &mut Map<String, Value>, given: &BTreeSet<String>, profile: &Profile) {
    let Some(name) = fields
        .get("tool_name")
        .and_then(Value::as_str)
        .map(ToOwned::to_owned)
    else {
        return;
    };
    if !given.contains("tool_name") {
        return;
    }
    let operation = OperationKind::ALL
        .iter()
        .copied()
        .find(|kind| kind.name() == name)
        .or_else(|| profile.operation_of(&name))
        .or_else(|| operation_called(&name));
    let mut follow = |field: &str, value: Value| {
        if fields.contains_key(field) && !given.contains(field) {
            fields.insert(field.to_owned(), value);
        }
    };
    follow(
        "operation",
        serde_json::to_value(operation).unwrap_or(Value::Null),
    );
    let face = operation.and_then(|operation| profile.faces.iter().find(|face| face.operation == operation));
    let called_as = match profile.operation_of(&name) {
        Some(_) => name.clone(),
        None => face.map_or(name.clone(), |face| face.name.to_owned()),
    };
    follow("called_as", called_as.into());
    follow("arguments", Value::Object(Map::new()));
    if let Some(operation) = operation {
        fields.insert("tool_name".into(), operation.name().into());
    }
}

/// Simple values for all fields of an event that has no documented payload.
fn from_schema(event: EventId) -> Map<String, Value> {
    let schema = payload_schema(event);
    let whole = schema.as_value();
    match example(whole, whole) {
        Value::Object(mut fields) => {
            fields.remove("event");
            fields
        }
        _ => Map::new(),
    }
}

/// The simplest value that a schema allows.
fn example(schema: &Value, whole: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        return whole
            .pointer(pointer)
            .map_or(Value::Null, |found| example(found, whole));
    }
    for key in ["const", "default"] {
        if let Some(value) = schema.get(key) {
            return value.clone();
        }
    }
    if let Some(first) = schema["enum"].as_array().and_then(|list| list.first()) {
        return first.clone();
    }
    match (alternative(schema, whole), of_type(schema, whole)) {
        // What all alternatives have in common stands beside them.
        (Some(Value::Object(mut fields)), Value::Object(common)) => {
            fields.extend(common);
            fields.into()
        }
        (Some(value), _) | (None, value) => value,
    }
}

/// A value for the first of several schemas, or null if that is allowed.
fn alternative(schema: &Value, whole: &Value) -> Option<Value> {
    let list = ["anyOf", "oneOf", "allOf"]
        .iter()
        .find_map(|key| schema[key].as_array())?;
    let first = list
        .first()
        .filter(|_| !list.iter().any(|one| one["type"] == "null"));
    Some(first.map_or(Value::Null, |first| example(first, whole)))
}

fn of_type(schema: &Value, whole: &Value) -> Value {
    let kind = match &schema["type"] {
        Value::Array(kinds) if kinds.iter().any(|kind| kind == "null") => "null",
        Value::Array(kinds) => kinds.first().and_then(Value::as_str).unwrap_or("null"),
        kind => kind.as_str().unwrap_or("null"),
    };
    match kind {
        "string" => Value::String(String::new()),
        "integer" | "number" => 0.into(),
        "boolean" => false.into(),
        "array" => Value::Array(Vec::new()),
        "object" => {
            let properties = schema["properties"].as_object();
            let required = schema["required"].as_array();
            let is_required =
                |name: &String| required.is_none_or(|names| names.iter().any(|required| required == name));
            let fields = properties.into_iter().flatten();
            let fields = fields.filter(|(name, _)| is_required(name));
            fields
                .map(|(name, schema)| (name.clone(), example(schema, whole)))
                .collect::<Map<_, _>>()
                .into()
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_events::{EVENTS, Event, Visitor};

    struct Readable(Value);

    impl Visitor for Readable {
        type Output = Result<(), String>;

        fn visit<E: Event>(self) -> Self::Output {
            serde_json::from_value::<E::Payload>(self.0)
                .map(drop)
                .map_err(|error| error.to_string())
        }
    }

    #[test]
    fn every_event_can_be_fired_without_a_word_from_the_person() {
        for event in EVENTS {
            let fields = fields_of(
                event.id,
                &Scope::default(),
                &PayloadOverrides::default(),
                &Profile::own(),
            );
            let fields = fields.expect(event.name);
            event
                .id
                .visit(Readable(Value::Object(fields)))
                .unwrap_or_else(|error| panic!("{}: {error}", event.name));
            let plain = Value::Object(from_schema(event.id));
            event
                .id
                .visit(Readable(plain))
                .unwrap_or_else(|error| panic!("{} from its schema: {error}", event.name));
        }
    }

    fn fields_with(event: EventId, set: &[(&str, &str)]) -> Result<Map<String, Value>, String> {
        let set = set.iter().map(|(path, value)| ((*path).into(), (*value).into()));
        let overrides = PayloadOverrides {
            set: set.collect(),
            ..PayloadOverrides::default()
        };
        fields_of(event, &Scope::default(), &overrides, &Profile::own())
    }

    #[test]
    fn what_follows_from_the_name_of_a_tool_is_filled_in() {
        let set = [("tool_name", "bash"), ("arguments.command", "ls"), ("turn", "7")];
        let fields = fields_with(EventId::PreTool, &set).expect("these fields are there");
        assert_eq!(fields["tool_name"], "shell");
        assert_eq!(fields["called_as"], "shell");
        assert_eq!(fields["operation"], "shell");
        assert_eq!(fields["arguments"], serde_json::json!({"command": "ls"}));
        assert_eq!(fields["turn"], 7);
    }

    #[test]
    fn a_text_stays_a_text_and_a_wrong_field_is_named() {
        let fields = fields_with(EventId::PreTool, &[("tool_call_id", "7")]).expect("it is there");
        assert_eq!(fields["tool_call_id"], "7");
        let wrong = fields_with(EventId::PreTool, &[("tol_name", "x")]).expect_err("there is none");
        assert!(wrong.contains("did you mean `tool_name`?"), "{wrong}");
        let wrong = fields_with(EventId::PreTool, &[("tool_name.x", "x")]).expect_err("it is a text");
        assert!(wrong.contains("its parent is"), "{wrong}");
    }
}
