//! A server's description of its tools, checked and cut to a size that a model can be told.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The most tools of one server that are offered.
pub(crate) const MOST_TOOLS: usize = 256;

/// The longest description, in bytes.
const LONGEST_DESCRIPTION: usize = 4 * 1024;

/// The largest schema, in bytes of JSON.
const LARGEST_SCHEMA: usize = 64 * 1024;

/// The deepest schema. Providers parse it recursively.
const DEEPEST_SCHEMA: usize = 40;

/// The longest name of a tool that providers accept.
const LONGEST_NAME: usize = 64;

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// The tool's name at the server.
    pub name: String,
    /// What the tool does.
    pub description: String,
    /// The JSON Schema of the tool's arguments.
    pub parameters: Value,
    /// Whether the server says that the tool changes nothing. This is a hint, and decides nothing.
    pub read_only: Option<bool>,
    /// Whether the server says that the tool may destroy something. This is a hint, and decides nothing.
    pub destructive: Option<bool>,
}

impl Offer {
    /// Checks a server's description; the error says why the tool is not offered.
    pub(crate) fn check(tool: rmcp::model::Tool) -> Result<Self, String> {
        let name = tool.name.into_owned();
        if name.is_empty() || name.len() > 4 * LONGEST_NAME || name.chars().any(char::is_control) {
            return Err("its name is empty, too long or holds control characters".into());
        }
        let parameters = parameters(tool.input_schema.as_ref().clone())?;
        let described = tool.description.map(|text| text.into_owned()).or(tool.title);
        let hints = tool.annotations.unwrap_or_default();
        Ok(Self {
            name,
            description: cut(described.unwrap_or_default()),
            parameters,
            read_only: hints.read_only_hint,
            destructive: hints.destructive_hint,
        })
    }
}

/// The name by which the model knows a tool of a server: both joined.
pub fn tool_name(server: &str, tool: &str) -> String {
    plain_name(&format!("{server}_{tool}"))
}

/// A name of plain characters. One that is too long ends with a part of its hash, so that two long names stay
/// different.
pub(crate) fn plain_name(whole: &str) -> String {
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
        _ => '_',
    };
    let name: String = whole.chars().map(plain).collect();
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let hash = blake3::hash(whole.as_bytes()).to_hex();
    format!("{}_{}", &name[..LONGEST_NAME - 9], &hash[..8])
}

/// A schema that providers accept: that of an object, not too large and not too deep.
fn parameters(mut schema: Map<String, Value>) -> Result<Value, String> {
    match schema.get("type") {
        None => {
            schema.insert("type".into(), "object".into());
        }
        Some(Value::String(kind)) if kind == "object" => {}
        Some(other) => return Err(format!("its arguments are no object but {other}")),
    }
    match schema.get("properties") {
        None => {
            schema.insert("properties".into(), json!({}));
        }
        Some(Value::Object(_)) => {}
        Some(_) => return Err("the properties of its arguments are no object".into()),
    }
    let schema = Value::Object(schema);
    if depth(&schema) > DEEPEST_SCHEMA {
        return Err(format!("its schema is deeper than {DEEPEST_SCHEMA} levels"));
    }
    let size = schema.to_string().len();
    if size > LARGEST_SCHEMA {
        return Err(format!(
            "its schema has {size} bytes, and a model is sent at most {LARGEST_SCHEMA}"
        ));
    }
    Ok(schema)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST_DESCRIPTION {
        text.truncate(text.floor_char_boundary(LONGEST_DESCRIPTION));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(description: &str, schema: Value) -> rmcp::model::Tool {
        serde_json::from_value(json!({"name": "t", "description": description, "inputSchema": schema}))
            .unwrap()
    }

    #[test]
    fn names_are_plain_short_and_told_apart() {
        for (server, tool, name) in [
            ("github", "search", "github_search"),
            ("my server", "files/read.all", "my_server_files_read_all"),
            ("s", "größe", "s_gr__e"),
        ] {
            assert_eq!(tool_name(server, tool), name);
        }
        let long = "x".repeat(100);
        let (one, other) = (
            tool_name("s", &format!("{long}1")),
            tool_name("s", &format!("{long}2")),
        );
        assert!(
            one.len() == 64 && other.len() == 64 && one != other,
            "{one} {other}"
        );
    }

    #[test]
    fn schemas_that_no_provider_takes_are_refused() {
        let deep = (0..60).fold(json!({"type": "string"}), |inner, _| json!({"items": inner}));
        for (schema, wanted) in [
            (json!({"type": "string"}), "no object"),
            (json!({"type": "object", "properties": []}), "properties"),
            (json!({"properties": {"a": deep}}), "deeper"),
            (json!({"title": "x".repeat(70_000)}), "bytes"),
        ] {
            let error = Offer::check(tool("", schema)).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
        let offer = Offer::check(tool(&"ä".repeat(5_000), json!({}))).unwrap();
        assert_eq!(offer.parameters, json!({"type": "object", "properties": {}}));
        assert!(offer.description.len() < 4_200 && offer.description.ends_with('…'));
    }
}
