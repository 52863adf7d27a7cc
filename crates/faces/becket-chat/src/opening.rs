//! What a chat begins with: three lines that say where it is and what is active, and the end of the conversation that
//! goes on.

use becket_agent::store::EntryContent;
use becket_events::{Message, MessageBody};
use becket_face_kit::{Conversation, HookCounts, folder};
use becket_front::{Style, render};
use becket_system::moments::ago;
use becket_system::{Surroundings, counted, harmless_name};

/// How many lines of the last answer are shown.
const ANSWER_LINES: usize = 12;

/// The three lines at the beginning.
pub fn first_lines(conversation: &Conversation, style: Style, surroundings: &Surroundings) -> [String; 3] {
    let context = harmless_name(conversation.context_name().as_str());
    let goes_on = match conversation.earlier_use() {
        Some((messages, used_ms)) => format!(
            "continuing the conversation {context}: {}, last used {}",
            counted(messages, "message"),
            ago(used_ms)
        ),
        None => format!("a new conversation: {context}"),
    };
    let model = harmless_name(&conversation.models().current_name());
    [
        format!(
            "{} {} · {model} · {}",
            style.bold("becket"),
            env!("CARGO_PKG_VERSION"),
            folder(surroundings)
        ),
        goes_on,
        style.dim(&format!(
            "/help lists commands, @ names files, ! runs a command · {}",
            HookCounts::of(&conversation.assembled().agent.engine).in_words()
        )),
    ]
}

/// Shows the end of the conversation: what the user said last, the end of the answer, and what is left to be done.
pub fn show_end(conversation: &Conversation, style: Style) {
    show_last_messages(conversation, style);
    if let Some(todos) = conversation.open_todos() {
        conversation.output().show_todos(&todos, style);
    }
}

fn show_last_messages(conversation: &Conversation, style: Style) {
    let Some(entries) = conversation
        .handle()
        .and_then(|handle| handle.conversation().entries().ok())
    else {
        return;
    };
    let messages: Vec<&Message> = entries
        .iter()
        .filter_map(|entry| match &entry.content {
            EntryContent::Message { message } => Some(message),
            _ => None,
        })
        .collect();
    let is_said = |message: &&Message| matches!(message.body(), MessageBody::User { .. });
    let Some(last) = messages.iter().rposition(is_said) else {
        return;
    };
    let output = conversation.output();
    output.show_said(&messages[last].text(), style);
    let is_answer = |message: &&&Message| {
        matches!(message.body(), MessageBody::Assistant { .. }) && !message.text().trim().is_empty()
    };
    if let Some(answer) = messages[last..].iter().rfind(is_answer) {
        let text = render(&answer.text(), style, output.width());
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let start = lines.len().saturating_sub(ANSWER_LINES);
        if start > 0 {
            output.say(&style.dim(&format!("… {}", counted(start as u64, "earlier line"))));
        }
        output.say_as_is(&format!("{}\n", lines[start..].join("\n")));
    }
}

/// The line at the end that says how to go on.
pub fn how_to_go_on(context: &str) -> String {
    // A name that a shell would read otherwise is quoted.
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:@".contains(letter);
    match context.chars().all(is_plain) {
        true => format!("becket -c {context} continues this conversation"),
        false => format!("becket -c '{context}' continues this conversation"),
    }
}
