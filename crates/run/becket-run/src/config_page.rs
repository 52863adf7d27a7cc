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
         project's settings are in `becket.toml` and `.becket/becket.toml` files, from the project's root down to the \
         working directory, and apply once you trust them ([guide](guide/trust.md)). An unknown key is an \
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
    for (key, meaning) in keys(schema) {
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
        let meaning = property.get("description").and_then(Value::as_str);
        let meaning = meaning.unwrap_or_default().replace('\n', " ");
        keys.push((format!("{prefix}{name}"), meaning));
        let (inner, suffix) = match property {
            _ if property.get("items").is_some() => (&property["items"], "[]."),
            _ if property["additionalProperties"].is_object() => {
                (&property["additionalProperties"], ".NAME.")
            }
            _ => (property, "."),
        };
        let target = inner
            .get("$ref")
            .or_else(|| inner.pointer("/anyOf/0/$ref"))
            .and_then(Value::as_str)
            .and_then(|path| root.pointer(&path[1..]));
        // A table of somebody else's stands there itself.
        let target = target.or_else(|| inner.get("properties").map(|_| inner));
        if let Some(target) = target {
            add_keys(keys, target, root, &format!("{prefix}{name}{suffix}"));
        }
    }
}
