//! The reference page of the settings, made from the types that read them.

use std::fmt::Write;

use becket_hooks::schema_with;
use serde_json::Value;

use crate::config::{Config, ProjectConfig};
use crate::context_settings::ContextSettings;
use crate::hosts::Hosts;

/// The reference page of the settings.
pub fn config_page() -> String {
    let mut page = String::from(
        "# Configuration\n\nGenerated from the types that read it, `crates/run/becket-run/src/config.rs` first, by \
         `cargo xtask generate`. Do not edit.\n\n\
         Your settings are in `config.toml` in becket's configuration folder; `becket config` prints its path. A \
         project's settings are in `becket.toml` or `.becket/becket.toml`, in any folder from the project root down \
         to the working directory. They apply once you trust them ([guide](guide/trust.md)). An unknown key is an \
         error.\n\n\
         ## `config.toml`\n\n",
    );
    describe(&mut page, &config_schema());
    page.push_str(
        "\n## `settings.toml`\n\nIn the folder of a context (a named conversation); applies to that context only. \
         `becket context show` prints its path, and `becket context set` writes it.\n\n",
    );
    describe(&mut page, &schemars::schema_for!(ContextSettings).to_value());
    page.push_str("\n## `becket.toml`\n\n");
    describe(&mut page, &project_schema());
    page
}

/// The JSON Schema of `config.toml`.
pub fn config_schema() -> Value {
    schema_with::<Config>(&Hosts::default().sections())
}

/// The JSON Schema of `becket.toml`.
pub fn project_schema() -> Value {
    schemars::schema_for!(ProjectConfig).to_value()
}

/// The keys of `config.toml` with their meanings. `NAME` stands for any name, `[]` for an entry of a list.
pub fn config_keys() -> Vec<(String, String)> {
    keys(&config_schema())
}

/// Writes a table of all keys below a schema.
fn describe(page: &mut String, schema: &Value) {
    page.push_str("| key | meaning |\n|---|---|\n");
    // Entries of a table whose names are free say nothing more than the table.
    for (key, meaning) in keys(schema)
        .into_iter()
        .filter(|(_, meaning)| !meaning.is_empty())
    {
        writeln!(page, "| `{key}` | {meaning} |").expect("in memory");
    }
}

fn keys(schema: &Value) -> Vec<(String, String)> {
    let mut keys = Vec::new();
    add_keys(&mut keys, schema, schema, "");
    keys
}

fn add_keys(keys: &mut Vec<(String, String)>, schema: &Value, root: &Value, prefix: &str) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, property) in properties {
        let key = format!("{prefix}{name}");
        let target = resolved(property, root);
        keys.push((key.clone(), meaning(property, target)));
        match property.get("items") {
            Some(items) => add_keys(keys, resolved(items, root), root, &format!("{key}[].")),
            None => add_keys(keys, target, root, &format!("{key}.")),
        }
        let entry = target
            .get("additionalProperties")
            .filter(|entry| entry.is_object());
        let Some(entry) = entry else { continue };
        let (key, target) = (format!("{key}.NAME"), resolved(entry, root));
        match target.get("properties") {
            Some(_) => add_keys(keys, target, root, &format!("{key}.")),
            None => keys.push((key, meaning(target, target))),
        }
    }
}

/// What a schema refers to; else the schema itself.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = schema.get("$ref").or_else(|| schema.pointer("/anyOf/0/$ref"));
    let target = target
        .and_then(Value::as_str)
        .and_then(|path| root.pointer(&path[1..]));
    target.unwrap_or(schema)
}

/// What a property means, with the values that it can have, unless they are in its description.
fn meaning(property: &Value, target: &Value) -> String {
    let text = property.get("description").and_then(Value::as_str);
    let text = text.unwrap_or_default().replace('\n', " ");
    let values = target
        .get("oneOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let values: Option<Vec<String>> = values
        .map(|value| Some(format!("`{}`", value.get("const")?.as_str()?)))
        .collect();
    let Some((last, others)) = values.as_deref().and_then(|values| values.split_last()) else {
        return text;
    };
    if others.is_empty()
        || others
            .iter()
            .chain([last])
            .all(|value| text.contains(value.as_str()))
    {
        return text;
    }
    let (words, rest) = text
        .split_once(';')
        .map_or((text.trim_end_matches('.'), "."), |(words, _)| {
            (words, &text[words.len()..])
        });
    format!("{words}: {} or {last}{rest}", others.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_key_and_an_enum_its_values() {
        let keys = config_keys();
        let meaning = |wanted: &str| {
            let found = keys.iter().find(|(key, _)| key == wanted);
            found.map(|(_, meaning)| meaning.as_str()).expect(wanted)
        };
        for key in [
            "dialects.strict",
            "compaction.context_windows.NAME",
            "mcp.servers.NAME.env.NAME",
        ] {
            meaning(key);
        }
        assert!(meaning("providers.NAME.api").contains("`gemini`"));
        assert!(meaning("mcp.servers.NAME.transport").contains("`streamable`"));
    }
}
