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
         The user's settings live in `config.toml` in becket's configuration folder; `becket config` \
         says where that is. A project's own settings live in `becket.toml` and `.becket/becket.toml` files, from its \
         root down to the working directory, and count once they are trusted ([guide](guide/trust.md)). An \
         unknown key is an error.\n\n\
         ## `config.toml`\n\n",
    );
    describe(&mut page, &schema_with::<Config>(&Hosts::default().sections()));
    page.push_str(
        "\n## `settings.toml`\n\nIn the folder of a context; counts for that context alone. `becket context show` says \
         where it is, and `becket context set` writes it.\n\n",
    );
    describe(&mut page, &schemars::schema_for!(ContextSettings).to_value());
    page.push_str("\n## `becket.toml`\n\n");
    describe(&mut page, &schemars::schema_for!(ProjectConfig).to_value());
    page
}

/// Writes a table of all keys below a schema.
fn describe(page: &mut String, root: &Value) {
    page.push_str("| key | meaning |\n|---|---|\n");
    rows(page, root, root, "");
}

fn rows(page: &mut String, schema: &Value, root: &Value, prefix: &str) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, property) in properties {
        let meaning = property
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        writeln!(page, "| `{prefix}{name}` | {} |", meaning.replace('\n', " ")).expect("in memory");
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
            rows(page, target, root, &format!("{prefix}{name}{suffix}"));
        }
    }
}
