//! Checks arguments of extensions' tools against their schema as pi does: a value of another type with a clear meaning
//! is converted to the schema's type, and errors are reported in pi's phrases, so that the model can write a better
//! call.
//!
//! The check is in Rust and not in the package with which extensions build their schemas, because loading that package
//! only for this would cost every extension memory.

use std::cell::Cell;

use serde_json::{Map, Number, Value};

/// How deep schemas and values may be nested. Deeper ones are not checked.
const DEEP: usize = 64;

/// How many schemas are visited in one check. A schema may refer to itself in several ways at once.
const STEPS: u32 = 20_000;

/// The arguments of a call as their tool gets them, or the message for the model.
pub fn validate(tool: &str, schema: &Value, written: &Value) -> Result<Value, String> {
    let schemas = Schemas {
        root: schema,
        steps: Cell::new(STEPS),
    };
    let arguments = schemas.coerce(written.clone(), schema, DEEP);
    let mut problems = Vec::new();
    schemas.check(&arguments, schema, "", DEEP, &mut problems);
    if problems.is_empty() {
        return Ok(arguments);
    }
    let received = serde_json::to_string_pretty(written).unwrap_or_default();
    let problems = problems.join("\n");
    Err(format!(
        "Validation failed for tool \"{tool}\":\n{problems}\n\nReceived arguments:\n{received}"
    ))
}

/// A schema with its references.
struct Schemas<'a> {
    root: &'a Value,
    /// How many schemas may still be visited.
    steps: Cell<u32>,
}

impl<'a> Schemas<'a> {
    /// Counts a visit; returns whether the check must stop.
    fn is_over(&self, depth: usize) -> bool {
        self.steps.set(self.steps.get().saturating_sub(1));
        depth == 0 || self.steps.get() == 0
    }

    /// The schema to which a reference leads, or the schema itself.
    fn meant(&self, schema: &'a Value) -> &'a Value {
        let path = schema.get("$ref").and_then(Value::as_str);
        let found = path.and_then(|path| self.root.pointer(path.strip_prefix('#')?));
        found.unwrap_or(schema)
    }

    fn accepts(&self, value: &Value, schema: &'a Value, depth: usize) -> bool {
        let mut problems = Vec::new();
        self.check(value, schema, "", depth, &mut problems);
        problems.is_empty()
    }

    /// The value with the schema's type, if its meaning is clear.
    fn coerce(&self, mut value: Value, schema: &'a Value, depth: usize) -> Value {
        if self.is_over(depth) {
            return value;
        }
        let schema = self.meant(schema);
        for part in list(schema, "allOf") {
            value = self.coerce(value, part, depth - 1);
        }
        for choices in ["anyOf", "oneOf"] {
            let mut choices =
                list(schema, choices).map(|part| (part, self.coerce(value.clone(), part, depth - 1)));
            if let Some((_, fitting)) = choices.find(|(part, tried)| self.accepts(tried, part, depth - 1)) {
                value = fitting;
            }
        }
        let types = types_of(schema);
        if !types.iter().any(|kind| is_a(&value, kind)) {
            let other = types.iter().find_map(|kind| converted(&value, kind));
            value = other.unwrap_or(value);
        }
        match &mut value {
            Value::Object(members) => self.coerce_members(members, schema, depth),
            Value::Array(items) => self.coerce_items(items, schema, depth),
            _ => {}
        }
        value
    }

    fn coerce_members(&self, members: &mut Map<String, Value>, schema: &'a Value, depth: usize) {
        let others = schema
            .get("additionalProperties")
            .filter(|others| others.is_object());
        for (name, value) in members {
            let part = schema
                .get("properties")
                .and_then(|properties| properties.get(name));
            if let Some(part) = part.or(others) {
                *value = self.coerce(value.take(), part, depth - 1);
            }
        }
    }

    fn coerce_items(&self, items: &mut [Value], schema: &'a Value, depth: usize) {
        for (at, item) in items.iter_mut().enumerate() {
            if let Some(part) = item_schema(schema, at) {
                *item = self.coerce(item.take(), part, depth - 1);
            }
        }
    }

    /// Collects the errors in a value.
    fn check(&self, value: &Value, schema: &'a Value, path: &str, depth: usize, problems: &mut Vec<String>) {
        if self.is_over(depth) {
            return;
        }
        let mut note = |words: &str| problems.push(format!("  - {}: {words}", shown(path)));
        if schema == &Value::Bool(false) {
            return note("schema is false");
        }
        let schema = self.meant(schema);
        let types = types_of(schema);
        if !types.is_empty() && !types.iter().any(|kind| is_a(value, kind)) {
            return match types[..] {
                [kind] => note(&format!("must be {kind}")),
                _ => note(&format!("must be either {}", types.join(" or "))),
            };
        }
        if schema.get("const").is_some_and(|wanted| !equal(wanted, value)) {
            note("must be equal to constant");
        }
        if !list(schema, "enum").any(|wanted| equal(wanted, value)) && schema.get("enum").is_some() {
            note("must be equal to one of the allowed values");
        }
        let fitting = |name| {
            list(schema, name)
                .filter(|part| self.accepts(value, part, depth - 1))
                .count()
        };
        if schema.get("anyOf").is_some() && fitting("anyOf") == 0 {
            note("must match a schema in anyOf");
        }
        if schema.get("oneOf").is_some() && fitting("oneOf") != 1 {
            note("must match exactly one schema in oneOf");
        }
        if schema
            .get("not")
            .is_some_and(|part| self.accepts(value, part, depth - 1))
        {
            note("must not be valid");
        }
        bounds(value, schema).iter().for_each(|words| note(words));
        for part in list(schema, "allOf") {
            self.check(value, part, path, depth - 1, problems);
        }
        self.check_inside(value, schema, path, depth, problems);
    }

    fn check_inside(
        &self,
        value: &Value,
        schema: &'a Value,
        path: &str,
        depth: usize,
        problems: &mut Vec<String>,
    ) {
        let inside = |name: &str| {
            if path.is_empty() {
                name.to_string()
            } else {
                format!("{path}.{name}")
            }
        };
        if let Value::Array(items) = value {
            for (at, item) in items.iter().enumerate() {
                if let Some(part) = item_schema(schema, at) {
                    self.check(item, part, &inside(&at.to_string()), depth - 1, problems);
                }
            }
        }
        let Value::Object(members) = value else { return };
        let required = list(schema, "required").filter_map(Value::as_str);
        let missing: Vec<&str> = required.filter(|name| !members.contains_key(*name)).collect();
        if let Some(first) = missing.first() {
            let words = format!("must have required properties {}", missing.join(", "));
            problems.push(format!("  - {}: {words}", inside(first)));
        }
        let others = schema.get("additionalProperties");
        let mut strangers = false;
        for (name, member) in members {
            match schema
                .get("properties")
                .and_then(|properties| properties.get(name))
                .or(others)
            {
                Some(Value::Bool(false)) => strangers = true,
                Some(part) => self.check(member, part, &inside(name), depth - 1, problems),
                None => {}
            }
        }
        if strangers {
            problems.push(format!(
                "  - {}: must not have additional properties",
                shown(path)
            ));
        }
    }
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "root" } else { path }
}

/// The elements of a keyword that holds a list.
fn list<'a>(schema: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    schema.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn types_of(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn item_schema(schema: &Value, at: usize) -> Option<&Value> {
    let first = schema
        .get("prefixItems")
        .or(schema.get("items").filter(|items| items.is_array()));
    let own = first.and_then(|first| first.get(at));
    own.or(schema.get("items").filter(|items| items.is_object()))
}

fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// Whether two values are equal for a script, which has only one type of number.
fn equal(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && one.as_f64() == other.as_f64())
}

/// A value as another type, if its meaning is clear.
fn converted(value: &Value, kind: &str) -> Option<Value> {
    Some(match (kind, value) {
        ("number" | "integer", Value::Null) => 0.into(),
        ("number" | "integer", Value::Bool(set)) => u8::from(*set).into(),
        ("number" | "integer", Value::String(text)) => number_in(text).filter(|number| is_a(number, kind))?,
        ("boolean", Value::Null) => false.into(),
        ("boolean", Value::String(text)) => text.parse::<bool>().ok()?.into(),
        ("boolean", Value::Number(number)) if number.as_f64() == Some(1.0) => true.into(),
        ("boolean", Value::Number(number)) if number.as_f64() == Some(0.0) => false.into(),
        ("string", Value::Null) => "".into(),
        ("string", Value::Bool(set)) => set.to_string().into(),
        ("string", Value::Number(number)) => shortest(number).to_string().into(),
        ("null", Value::String(text)) if text.is_empty() => Value::Null,
        ("null", Value::Bool(false)) => Value::Null,
        ("null", Value::Number(number)) if number.as_f64() == Some(0.0) => Value::Null,
        _ => return None,
    })
}

fn number_in(text: &str) -> Option<Value> {
    let text = text.trim();
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite())?;
    let exact = text.parse::<i64>().ok().map(Number::from);
    let number = exact.or_else(|| Number::from_f64(number))?;
    Some(Value::Number(shortest(&number)))
}

/// A number without a zero fraction, as a script writes it.
fn shortest(number: &Number) -> Number {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(float) if !number.is_i64() && float.fract() == 0.0 && float.abs() <= EXACT => {
            (float as i64).into()
        }
        _ => number.clone(),
    }
}

/// The keywords that limit numbers, each with its comparison sign.
const LIMITS: &[(&str, &str)] = &[
    ("minimum", ">="),
    ("maximum", "<="),
    ("exclusiveMinimum", ">"),
    ("exclusiveMaximum", "<"),
];

/// The errors in the size of a value.
fn bounds(value: &Value, schema: &Value) -> Vec<String> {
    let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
    let written = |name: &str| schema.get(name).map(Value::to_string).unwrap_or_default();
    let mut problems = Vec::new();
    let mut size = |count: usize, what: &str, least: &str, most: &str| {
        if limit(least).is_some_and(|least| (count as f64) < least) {
            problems.push(format!("must not have fewer than {} {what}", written(least)));
        }
        if limit(most).is_some_and(|most| count as f64 > most) {
            problems.push(format!("must not have more than {} {what}", written(most)));
        }
    };
    match value {
        Value::String(text) => {
            size(text.chars().count(), "characters", "minLength", "maxLength");
            let pattern = schema.get("pattern").and_then(Value::as_str);
            // A pattern that only scripts understand is left to the tool.
            let read = pattern.and_then(|pattern| regex::Regex::new(pattern).ok());
            if read.is_some_and(|pattern| !pattern.is_match(text)) {
                problems.push(format!("must match pattern \"{}\"", pattern.unwrap_or_default()));
            }
        }
        Value::Array(items) => size(items.len(), "items", "minItems", "maxItems"),
        Value::Object(members) => size(members.len(), "properties", "minProperties", "maxProperties"),
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            let holds = |sign: &str, limit: f64| match sign {
                ">=" => number >= limit,
                "<=" => number <= limit,
                ">" => number > limit,
                _ => number < limit,
            };
            let broken = LIMITS
                .iter()
                .filter(|(name, sign)| limit(name).is_some_and(|limit| !holds(sign, limit)));
            problems.extend(broken.map(|(name, sign)| format!("must be {sign} {}", written(name))));
        }
        _ => {}
    }
    problems
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "text": { "type": "string", "minLength": 2, "pattern": "^[a-z]+$" },
                "count": { "type": "integer", "minimum": 1, "maximum": 9 },
                "ratio": { "type": "number" },
                "loud": { "type": "boolean" },
                "mode": { "type": "string", "enum": ["fast", "slow"] },
                "both": { "anyOf": [{ "type": "number" }, { "type": "string" }] },
                "maybe": { "type": ["integer", "null"] },
                "list": { "type": "array", "items": { "type": "number" }, "maxItems": 2 },
                "tree": { "$ref": "#/$defs/tree" },
            },
            "required": ["text"],
            "additionalProperties": false,
            "$defs": { "tree": {
                "type": "object",
                "properties": { "size": { "type": "integer" }, "child": { "$ref": "#/$defs/tree" } },
            } },
        })
    }

    fn validated(mut written: Value) -> Result<Value, String> {
        written["text"] = written.get("text").cloned().unwrap_or(json!("ok"));
        let mut valid = validate("probe", &schema(), &written)?;
        valid.as_object_mut().expect("an object").remove("text");
        Ok(valid)
    }

    #[test]
    fn a_clear_meaning_becomes_what_the_schema_wants() {
        for (written, expected) in [
            (json!({ "count": "3" }), json!({ "count": 3 })),
            (json!({ "count": 3.0 }), json!({ "count": 3.0 })),
            (json!({ "count": true }), json!({ "count": 1 })),
            (json!({ "ratio": " 0.5 " }), json!({ "ratio": 0.5 })),
            (json!({ "ratio": null }), json!({ "ratio": 0 })),
            (json!({ "loud": "true" }), json!({ "loud": true })),
            (json!({ "loud": 0 }), json!({ "loud": false })),
            (json!({ "both": "5" }), json!({ "both": 5 })),
            (json!({ "both": "five" }), json!({ "both": "five" })),
            (json!({ "maybe": null }), json!({ "maybe": null })),
            (json!({ "maybe": "4" }), json!({ "maybe": 4 })),
            (json!({ "list": ["1", 2] }), json!({ "list": [1, 2] })),
            (
                json!({ "tree": { "child": { "size": "7" } } }),
                json!({ "tree": { "child": { "size": 7 } } }),
            ),
        ] {
            assert_eq!(validated(written.clone()), Ok(expected), "{written}");
        }
        let number = validate(
            "probe",
            &json!({ "properties": { "x": { "type": "string" } } }),
            &json!({ "x": 2.0 }),
        );
        assert_eq!(number, Ok(json!({ "x": "2" })));
    }

    #[test]
    fn what_does_not_fit_is_told_by_its_place() {
        for (written, problem) in [
            (json!({ "count": "three" }), "count: must be integer"),
            (json!({ "count": 0 }), "count: must be >= 1"),
            (json!({ "count": 10 }), "count: must be <= 9"),
            (json!({ "loud": "maybe" }), "loud: must be boolean"),
            (
                json!({ "mode": "late" }),
                "mode: must be equal to one of the allowed values",
            ),
            (json!({ "both": [] }), "both: must match a schema in anyOf"),
            (json!({ "maybe": "x" }), "maybe: must be either integer or null"),
            (json!({ "list": [1, "x"] }), "list.1: must be number"),
            (
                json!({ "list": [1, 2, 3] }),
                "list: must not have more than 2 items",
            ),
            (
                json!({ "tree": { "child": { "size": "x" } } }),
                "tree.child.size: must be integer",
            ),
            (
                json!({ "text": "a" }),
                "text: must not have fewer than 2 characters",
            ),
            (json!({ "text": "AB" }), "text: must match pattern \"^[a-z]+$\""),
            (json!({ "other": 1 }), "root: must not have additional properties"),
        ] {
            let told = validated(written.clone()).expect_err("it does not fit");
            assert!(told.contains(&format!("\n  - {problem}\n")), "{written}: {told}");
        }
    }

    #[test]
    fn the_model_reads_what_it_wrote() {
        let told = validate("probe", &schema(), &json!({ "loud": true })).expect_err("text is missing");
        let expected = "Validation failed for tool \"probe\":\n  - text: must have required properties text\n\n\
                        Received arguments:\n{\n  \"loud\": true\n}";
        assert_eq!(told, expected);
        assert!(
            validate("probe", &json!({ "type": "object" }), &json!([]))
                .expect_err("a list")
                .contains("root: must be object")
        );
    }

    proptest! {
        /// A value that fits stays as it is, and a converted value fits.
        #[test]
        fn checking_twice_changes_nothing(count in 1..9_i64, loud: bool, ratio in -1e6..1e6_f64, text in "[a-z]{2,9}") {
            let written = json!({ "text": text, "count": count.to_string(), "loud": loud.to_string(), "ratio": ratio });
            let once = validate("probe", &schema(), &written).expect("it fits");
            prop_assert_eq!(&once, &json!({ "text": text, "count": count, "loud": loud, "ratio": ratio }));
            prop_assert_eq!(validate("probe", &schema(), &once), Ok(once.clone()));
        }
    }

    #[test]
    fn a_schema_that_leads_to_itself_comes_to_an_end() {
        let again = json!({ "$ref": "#" });
        let schema =
            json!({ "allOf": [again], "anyOf": [again, again], "oneOf": [again], "type": "integer" });
        // This must only end; whether the value fits is undefined.
        let _ = validate("probe", &schema, &json!(1));
    }
}
