//! A conversation with all its branches, as text: its tree, and which entry of it somebody means.

use std::collections::HashSet;

use becket_agent::store::{EntryContent, StoredEntry, Tree};
use becket_events::{Message, MessageBody, Part};
use becket_store::ContextName;
use becket_system::{CliError, harmless_name};
use serde_json::json;

/// How many characters of an entry's text are shown in the tree.
const WIDTH: usize = 60;

/// How many characters of an id are shown at least.
const SHORTEST_ID: usize = 8;

/// The tree as text.
pub fn drawn(tree: &Tree) -> String {
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
pub fn told(content: &EntryContent) -> (String, String) {
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

/// Whether an entry is a message of the user.
pub fn is_persons(entry: &StoredEntry) -> bool {
    match &entry.content {
        EntryContent::Message { message } => matches!(message.body(), MessageBody::User { .. }),
        _ => false,
    }
}

/// The id of the entry that is named by its id, its label, or the beginning of its id.
pub fn meant(tree: &Tree, context: &ContextName, words: &str) -> Result<String, CliError> {
    if tree.entry(words).is_some() {
        return Ok(words.into());
    }
    let ids = || tree.entries().iter().map(|entry| entry.id.as_str());
    let labelled: Vec<&str> = ids()
        .filter(|id| tree.label(id).is_some_and(|label| label.text == words))
        .collect();
    let begun: Vec<&str> = ids()
        .filter(|id| !words.is_empty() && id.starts_with(words))
        .collect();
    let found = if labelled.is_empty() { begun } else { labelled };
    match found.as_slice() {
        [only] => Ok((*only).into()),
        [] => Err(
            CliError::usage(format!("the conversation of {context} has no entry {words:?}"))
                .hint("`becket sessions tree` shows them"),
        ),
        several => Err(CliError::usage(format!(
            "{words:?} matches {} entries: {}",
            several.len(),
            several[..several.len().min(3)].join(", ")
        ))
        .hint("write more of the id")),
    }
}
