//! `becket sessions tree` and `show`: a conversation with all its branches, as text.

use becket_agent::store::{StoredEntry, Tree};
use becket_record::conversation::{drawn, meant, told};
use becket_system::moments::moment_in_words;
use becket_system::{CliError, Exit, Surroundings, harmless, harmless_name};
use serde_json::{Value, json};

use super::place::place;
use crate::options::Options;
use crate::printing::print;

/// Draws the tree of a context.
pub fn tree(
    options: &Options,
    context: Option<String>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let (store, name) = place(options, context, surroundings)?;
    let (tree, _) = store.conversation(name.as_str())?;
    if tree.entries().is_empty() && !options.run.json {
        surroundings.remark(&format!("the conversation of {name} is empty"));
    }
    if options.run.json {
        tree.entries()
            .iter()
            .try_for_each(|entry| print(&format!("{}\n", as_json(&tree, entry))))?;
    } else {
        print(&drawn(&tree))?;
    }
    Ok(Exit::Answered)
}

/// Shows one entry.
pub fn entry(options: &Options, id: &str, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let (store, name) = place(options, None, surroundings)?;
    let (tree, _) = store.conversation(name.as_str())?;
    let id = meant(&tree, &name, id)?;
    let Some(entry) = tree.entry(&id) else {
        return Ok(Exit::Failed);
    };
    if options.run.json {
        print(&format!("{}\n", as_json(&tree, entry)))?;
        return Ok(Exit::Answered);
    }
    let (kind, words) = told(&entry.content);
    let children = tree.children(Some(&id));
    let children: Vec<&str> = children.iter().map(|child| child.id.as_str()).collect();
    let label = tree.label(&id).map_or("none", |label| label.text.as_str());
    let lines = [
        ("entry", id.clone()),
        ("is", kind),
        ("written", moment_in_words(entry.time_ms)),
        (
            "after",
            entry.parent_id.clone().unwrap_or_else(|| "nothing".into()),
        ),
        (
            "before",
            if children.is_empty() {
                "nothing".into()
            } else {
                children.join(", ")
            },
        ),
        ("label", harmless_name(label)),
    ];
    for (what, value) in lines {
        print(&format!("{what:<8} {value}\n"))?;
    }
    print(&format!("\n{}\n", harmless(words.trim_end())))?;
    Ok(Exit::Answered)
}

fn as_json(tree: &Tree, entry: &StoredEntry) -> Value {
    json!({
        "id": entry.id,
        "parent_id": entry.parent_id,
        "session_id": entry.session_id,
        "time_ms": entry.time_ms,
        "label": tree.label(&entry.id).map(|label| &label.text),
        "is_leaf": tree.leaf_id() == Some(&entry.id),
        "content": entry.content,
    })
}
