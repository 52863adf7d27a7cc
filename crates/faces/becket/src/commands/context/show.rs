//! `becket context show`: facts about a context.

use becket_agent::context_files::ContextFile;
use becket_run::context_settings::EnteredContext;
use becket_store::ContextName;
use becket_system::moments::{moment_in_words, span_in_words};
use becket_system::{CliError, harmless};
use serde_json::{Value, json};

use super::place::ContextCommands;
use crate::printing::print;

/// A fact: its name, its value in JSON, and its text if that differs.
type Fact = (&'static str, Value, Option<String>);

pub fn show(place: &ContextCommands<'_>, name: &ContextName) -> Result<(), CliError> {
    let facts = facts(place, name)?;
    if place.options.run.json {
        let object: serde_json::Map<String, Value> = facts
            .into_iter()
            .map(|(name, value, _)| (name.to_string(), value))
            .collect();
        return print(&format!("{}\n", Value::Object(object)));
    }
    for (name, value, words) in facts {
        let words = words.unwrap_or_else(|| match value {
            Value::Null => "-".into(),
            Value::String(text) => text,
            other => other.to_string(),
        });
        // People read moments and spans, programs milliseconds.
        let name = name.trim_end_matches("_ms").replace('_', " ");
        print(&format!("{name:<24} {}\n", harmless(&words)))?;
    }
    Ok(())
}

fn facts(place: &ContextCommands<'_>, name: &ContextName) -> Result<Vec<Fact>, CliError> {
    let context = place.store.context(name.as_str())?;
    let context = context.ok_or_else(|| CliError::failed(format!("the context {name} is gone")))?;
    let files = place.files(name);
    let EnteredContext { settings, remark, .. } = place.setup.context_settings(&files, place.surroundings)?;
    if let Some(remark) = remark {
        place.surroundings.remark(&remark);
    }
    let prompt = files
        .try_read(ContextFile::SystemPrompt)
        .map_err(|error| CliError::failed(format!("cannot read the system prompt of {name}: {error}")))?;
    let current = place.store.chosen()?.current == name.as_str();
    let lifetime = context.lifetime;
    let usual = |value: &Value| value.is_null().then(|| "default".to_string());
    let mut facts: Vec<Fact> = vec![
        ("name", name.as_str().into(), None),
        (
            "current",
            current.into(),
            Some(if current { "yes" } else { "no" }.into()),
        ),
        (
            "created_ms",
            context.created_ms.into(),
            Some(moment_in_words(context.created_ms)),
        ),
        (
            "last_used_ms",
            context.last_used_ms.into(),
            Some(moment_in_words(context.last_used_ms)),
        ),
        ("message_count", context.message_count.into(), None),
        ("archive_count", context.archive_count.into(), None),
        ("session_count", context.session_count.into(), None),
    ];
    let temperature = settings.temperature.map(|degree| *degree.get_ref());
    for (key, value) in [
        ("model", json!(settings.model)),
        ("temperature", json!(temperature)),
        ("max_tokens", json!(settings.max_tokens)),
        ("fuel", json!(settings.fuel)),
        ("fallback", json!(settings.fallback)),
    ] {
        let words = usual(&value);
        facts.push((key, value, words));
    }
    let length = prompt.as_ref().map(|text| text.chars().count());
    let words = length.map_or_else(
        || "default".into(),
        |length| format!("{length} characters of its own"),
    );
    facts.push(("system_prompt", json!(prompt), Some(words)));
    let at = lifetime.destroy_at_ms;
    facts.push((
        "destroy_at_ms",
        json!(at),
        Some(at.map_or("never".into(), moment_in_words)),
    ));
    let after = lifetime.destroy_after_ms;
    facts.push((
        "destroy_after_ms",
        json!(after),
        Some(after.map_or("never".into(), span_in_words)),
    ));
    facts.push(("folder", files.folder().display().to_string().into(), None));
    Ok(facts)
}
