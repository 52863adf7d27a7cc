//! The two ways in which Copilot names events, members of an input, and tools.

use becket_hook_files::Input;
use serde_json::Value;

/// Whether an event's name is of the second kind, which begins with a capital letter.
pub fn is_pascal(event: &str) -> bool {
    event.starts_with(|first: char| first.is_ascii_uppercase())
}

/// The name of a member: `toolName`, or `tool_name` for hooks of events of the second kind.
pub fn member(name: &str, pascal: bool) -> String {
    if !pascal {
        return name.to_owned();
    }
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

/// An input with one more member, by the name that hooks of this kind of event know.
pub fn put<const PASCAL: bool>(input: Input, name: &str, value: impl Into<Value>) -> Input {
    input.with(&member(name, PASCAL), value)
}

/// Copilot's tools, each with the name by which hooks of events of the second kind know it.
const SECOND_NAMES: &[(&str, &str)] = &[
    ("bash", "Bash"),
    ("powershell", "Bash"),
    ("view", "Read"),
    ("create", "Write"),
    ("edit", "Edit"),
    ("str_replace_editor", "Edit"),
    ("apply_patch", "Edit"),
    ("grep", "Grep"),
    ("rg", "Grep"),
    ("glob", "Glob"),
    ("web_fetch", "WebFetch"),
    ("web_search", "WebSearch"),
    ("ask_user", "AskUserQuestion"),
    ("update_todo", "TodoWrite"),
    ("task", "Agent"),
    // A former name that matchers may still use.
    ("Task", "Agent"),
];

/// The second name of a tool; its own if it has none.
pub fn second_name(tool: &str) -> &str {
    let named = SECOND_NAMES.iter().find(|(first, _)| *first == tool);
    named.map_or(tool, |(_, second)| second)
}

/// A matcher of an event of the second kind as an expression for a whole second name; `None` if it is for everything.
///
/// A list of names may use both kinds of names. Anything else is an expression for the second name.
pub fn second_matcher(text: &str) -> Option<String> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-|".contains(character);
    match text {
        "" | "*" | "**" => None,
        _ if text.chars().all(is_plain) => {
            let names: Vec<&str> = text.split('|').map(second_name).collect();
            Some(names.join("|"))
        }
        _ => Some(text.to_owned()),
    }
}
