//! `becket sessions tree` and `show`: a conversation with all its branches, as text.

use std::collections::HashSet;

use becket_agent::store::{EntryContent, StoredEntry, Tree};
use becket_events::{Message, MessageBody, Part};
use becket_system::moments::moment_in_words;
use becket_system::{CliError, Exit, Surroundings, harmless, harmless_name};
use serde_json::{Value, json};

use super::place::{meant, place};
use crate::options::Options;
use crate::printing::print;

/// How many characters of an entry's text are shown in the tree.
const WIDTH: usize = 60;

/// How many characters of an id are shown at least.
const SHORTEST_ID: usize = 8;

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

/// The tree as text.
fn drawn(tree: &Tree) -> String {
    let lines = drawn_lines(tree).into_iter().map(|(_, line)| line);
    let mut text: String = lines.map(|line| format!("{line}\n")).collect();
    if tree.leaf_id().is_none() && !tree.entries().is_empty() {
        text.push_str("the conversation is before its first entry\n");
    }
    text
}

/// The tree as lines, each with the id of its entry. Only branches are indented; entries that follow one another are
/// not.
pub fn drawn_lines(tree: &Tree) -> Vec<(String, String)> {
    let length = id_length(tree);
    let on_the_way: HashSet<String> = tree.path().iter().map(|entry| entry.id.clone()).collect();
    let mut lines = Vec::new();
    // What is drawn next stands at the end, with what stands before it and before what follows it.
    let mut waiting: Vec<(String, String, String)> = Vec::new();
    push_children(tree, None, "", &mut waiting);
    while let Some((id, before, below)) = waiting.pop() {
        let Some(entry) = tree.entry(&id) else { continue };
        let mark = if on_the_way.contains(&id) { "*" } else { " " };
        let label = tree
            .label(&id)
            .map(|label| format!("  [{}]", harmless_name(&label.text)));
        let here = if tree.leaf_id() == Some(&id) {
            "  <- here"
        } else {
            ""
        };
        let shown = &id[..id.floor_char_boundary(length)];
        let line = format!(
            "{before}{mark} {}  {}{}{here}",
            harmless_name(shown),
            in_one_line(&entry.content),
            label.unwrap_or_default()
        );
        push_children(tree, Some(&id), &below, &mut waiting);
        lines.push((id, line));
    }
    lines
}

fn push_children(tree: &Tree, id: Option<&str>, below: &str, waiting: &mut Vec<(String, String, String)>) {
    let children = tree.children(id);
    if let [only] = children.as_slice() {
        waiting.push((only.id.clone(), below.into(), below.into()));
        return;
    }
    let last = children.len();
    for (index, child) in children.iter().enumerate().rev() {
        let (fork, rest) = if index + 1 == last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        waiting.push((
            child.id.clone(),
            format!("{below}{fork}"),
            format!("{below}{rest}"),
        ));
    }
}

/// How long a prefix of an id has to be to tell all entries apart.
fn id_length(tree: &Tree) -> usize {
    let mut ids: Vec<&str> = tree.entries().iter().map(|entry| entry.id.as_str()).collect();
    ids.sort_unstable();
    let common = |pair: &[&str]| {
        let (one, other) = (pair[0].bytes(), pair[1].bytes());
        one.zip(other).take_while(|(one, other)| one == other).count()
    };
    let longest = ids.windows(2).map(common).max().unwrap_or(0);
    (longest + 1).max(SHORTEST_ID)
}

/// The kind of an entry and the beginning of its text.
pub fn in_one_line(content: &EntryContent) -> String {
    let (kind, words) = told(content);
    let words = harmless_name(words.lines().next().unwrap_or_default());
    let shown: String = words.chars().take(WIDTH).collect();
    let more = if shown.len() < words.len() { "…" } else { "" };
    match shown.is_empty() {
        true => kind,
        false => format!("{kind}: {shown}{more}"),
    }
}

/// The kind of an entry and its text.
fn told(content: &EntryContent) -> (String, String) {
    let (kind, words) = match content {
        EntryContent::Message { message } => return told_message(message),
        EntryContent::Compaction { summary, .. } => ("summary", summary.clone()),
        EntryContent::BranchSummary { summary, .. } => ("branch summary", summary.clone()),
        EntryContent::Shell(run) => ("user's command", run.words()),
        EntryContent::Model { model } => ("model", model.clone()),
        EntryContent::Thinking { level } => ("thinking", json!(level).as_str().unwrap_or("off").into()),
        EntryContent::Speaker { agent_name } => ("speaker", agent_name.clone()),
        EntryContent::Name { name } => ("name", name.clone()),
        EntryContent::Label { target_id, label } => match label {
            Some(label) => ("label", format!("{label} for {target_id}")),
            None => ("label", format!("none for {target_id}")),
        },
        EntryContent::Custom { kind, data } => ("data", format!("{kind} {data}")),
    };
    (kind.into(), words)
}

fn told_message(message: &Message) -> (String, String) {
    let kind = match message.body() {
        MessageBody::User { .. } => "user".to_owned(),
        MessageBody::Assistant { .. } => "assistant".to_owned(),
        MessageBody::Tool {
            tool_name, is_error, ..
        } => {
            let outcome = if *is_error { "failure" } else { "result" };
            format!("{outcome} of {}", harmless_name(tool_name))
        }
        MessageBody::Note { kind, .. } => format!("note ({})", harmless_name(kind)),
    };
    let mut words = message.text();
    let calls = message.tool_calls().iter();
    let calls: Vec<String> = calls
        .map(|call| format!("[calls {} {}]", call.name, call.arguments))
        .collect();
    let pictures = message
        .content()
        .iter()
        .filter(|part| matches!(part, Part::Image { .. }));
    let more = calls
        .into_iter()
        .chain(pictures.map(|_| "[a picture]".to_owned()));
    for more in more {
        words = if words.is_empty() {
            more
        } else {
            format!("{words}\n{more}")
        };
    }
    (kind, words)
}
