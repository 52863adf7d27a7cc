//! What the first agent files wrote in another way: they say `version: "0"`, or nothing, and have no toolsets for
//! `think`, `todo` and `memory`.

use becket_dialect_kit::yaml::{Spanned, line_of};
use becket_hooks::SettingsError;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::reader::Reader;
use super::written::{AnyToolset, FirstTodo, WrittenAgent, WrittenFile, WrittenToolset};

/// Refuses the keys of the first files in later ones: there they are mistakes.
pub(super) fn look_at(reader: &Reader<'_>, written: &WrittenFile) -> Result<(), SettingsError> {
    let is_first = match &written.version {
        None => true,
        Some(Value::String(version)) => matches!(version.as_str(), "" | "0"),
        Some(version) => version == &Value::from(0),
    };
    if is_first {
        return Ok(());
    }
    let agents = written.agents.0.iter().flat_map(|(_, agent)| {
        let WrittenAgent {
            name,
            think,
            todo,
            memory,
            ..
        } = &agent.value;
        [
            (
                "name",
                name.as_ref().map(line_of),
                "the key of the agent is its name",
            ),
            (
                "think",
                think.as_ref().map(line_of),
                "write a toolset of type think",
            ),
            ("todo", todo.as_ref().map(line_of), "write a toolset of type todo"),
            (
                "memory",
                memory.as_ref().map(line_of),
                "write a toolset of type memory",
            ),
        ]
    });
    let models = written.models.0.iter().map(|(_, model)| {
        let line = model.value.r#type.as_ref().map(line_of);
        ("type", line, "`provider` says it")
    });
    let first = agents
        .chain(models)
        .find_map(|(key, line, now)| Some((key, line?, now)));
    match first {
        None => Ok(()),
        Some((key, line, now)) => {
            let message = format!("unknown key `{key}`, which only files of version 0 have; {now}");
            Err(reader.error(reader.line_of_key(key, line), message))
        }
    }
}

/// The toolsets that an agent of the first files has by other keys.
pub(super) fn toolsets(agent: &WrittenAgent) -> Vec<Spanned<AnyToolset>> {
    let mut sets = Vec::new();
    if let Some(todo) = &agent.todo {
        let shared = matches!(todo.value, FirstTodo::Shared { shared: true });
        if !matches!(todo.value, FirstTodo::Has(false)) {
            let mut set = of_type("todo", todo);
            set.value.known.shared = shared.then(|| beside(todo, IgnoredAny));
            sets.push(set);
        }
    }
    if let Some(think) = agent.think.as_ref().filter(|think| think.value) {
        sets.push(of_type("think", think));
    }
    if let Some(memory) = &agent.memory {
        let path = memory.value.path.clone().filter(|path| !path.is_empty());
        sets.extend(path.map(|path| {
            let mut set = of_type("memory", memory);
            set.value.known.path = Some(beside(memory, path));
            set
        }));
    }
    sets
}

fn of_type<T>(name: &str, place: &Spanned<T>) -> Spanned<AnyToolset> {
    let known = WrittenToolset {
        r#type: Some(beside(place, name.to_owned())),
        ..WrittenToolset::default()
    };
    let unknown = Vec::new();
    beside(place, AnyToolset { known, unknown })
}

/// A value that stands where another one does.
fn beside<T, V>(place: &Spanned<T>, value: V) -> Spanned<V> {
    Spanned {
        value,
        referenced: place.referenced,
        defined: place.defined,
    }
}
