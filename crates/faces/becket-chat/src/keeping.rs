//! `/copy` and `/export`: the last answer for the clipboard, and the conversation as a file.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use becket_agent::store::EntryContent;
use becket_events::{Message, MessageBody};
use becket_face_kit::Conversation;
use becket_screen::Screen;
use becket_system::{Surroundings, counted, harmless_name};

/// How long a text a terminal takes for its clipboard.
const MOST_COPIED: usize = 70_000;

/// Copies the last answer to the clipboard, which belongs to the terminal.
pub fn copy(conversation: &Conversation, screen: &Screen, surroundings: &Surroundings) {
    let messages = messages(conversation);
    let answer = messages.iter().rfind(|message| is_answer(message));
    let Some(answer) = answer.map(Message::text) else {
        return surroundings.remark("there is no answer yet");
    };
    if answer.len() > MOST_COPIED {
        return surroundings
            .complain("the answer is too long for a terminal's clipboard; /export writes a file");
    }
    screen.copy(answer.trim_end());
    surroundings.remark(&format!(
        "the answer is copied, {}, if the terminal allows that",
        counted(answer.trim_end().lines().count() as u64, "line")
    ));
}

/// Writes the conversation as Markdown. A file that is there already stays as it is.
pub fn export(file: &str, conversation: &Conversation, surroundings: &Surroundings) {
    let usual = format!("{}.md", file_name(conversation.context_name().as_str()));
    let path = surroundings.cwd.join(if file.is_empty() { &usual } else { file });
    let messages = messages(conversation);
    if messages.is_empty() {
        return surroundings.remark("there are no messages yet");
    }
    let write = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(markdown(&messages).as_bytes())
    };
    let shown = path.display();
    match write() {
        Ok(()) => surroundings.remark(&format!("the conversation is in {shown}")),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            surroundings.complain(&format!("{shown} already exists; /export FILE names another one"));
        }
        Err(error) => surroundings.complain(&format!("{shown} cannot be written: {error}")),
    }
}

/// A context's name as the name of a file.
fn file_name(context: &str) -> String {
    let fits = |letter: char| letter.is_alphanumeric() || "-_".contains(letter);
    context
        .chars()
        .map(|letter| if fits(letter) { letter } else { '-' })
        .collect()
}

fn messages(conversation: &Conversation) -> Vec<Message> {
    let handle = conversation.handle();
    let entries = handle.and_then(|handle| handle.conversation().entries().ok());
    let entries = entries.unwrap_or_default();
    let messages = entries.iter().filter_map(|entry| match &entry.content {
        EntryContent::Message { message } => Some(message.clone()),
        _ => None,
    });
    messages.collect()
}

fn is_answer(message: &Message) -> bool {
    matches!(message.body(), MessageBody::Assistant { .. }) && !message.text().trim().is_empty()
}

/// The messages as Markdown: what was said, the calls in a line each, and their results in blocks.
fn markdown(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        let words = message.text();
        let words = words.trim();
        match message.body() {
            MessageBody::User { .. } => text.push_str(&format!("## User\n\n{words}\n\n")),
            MessageBody::Assistant { .. } => {
                text.push_str("## Model\n\n");
                if !words.is_empty() {
                    text.push_str(&format!("{words}\n\n"));
                }
                for call in message.tool_calls() {
                    let arguments = block("json", &call.arguments);
                    text.push_str(&format!("Calls `{}`:\n\n{arguments}", harmless_name(&call.name)));
                }
            }
            MessageBody::Tool { tool_name, .. } => {
                let output = block("", words);
                text.push_str(&format!("Result of `{}`:\n\n{output}", harmless_name(tool_name)));
            }
            MessageBody::Note { .. } => text.push_str(&format!("> {}\n\n", words.replace('\n', "\n> "))),
        }
    }
    text
}

/// A block of code, fenced so that nothing in it ends it.
fn block(language: &str, code: &str) -> String {
    let longest = code
        .split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n\n", code.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_where_it_should() {
        assert_eq!(block("", "a\n"), "```\na\n```\n\n");
        assert_eq!(block("md", "```\nx\n```"), "````md\n```\nx\n```\n````\n\n");
        assert_eq!(file_name("home/a b"), "home-a-b");
    }
}
