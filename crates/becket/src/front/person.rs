//! Asks the person at the terminal about a call.

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use becket_agent::front::{PersonsAnswer, Question};

use super::style::{Style, harmless};

/// A person who does not answer for this long has said no; nothing waits for ever.
const PATIENCE: Duration = Duration::from_secs(60 * 60);

/// Asks on the terminal that the process belongs to.
pub async fn ask(question: &Question, style: Style) -> PersonsAnswer {
    let text = wording(question, style);
    let (reply, answer) = tokio::sync::oneshot::channel();
    // A thread of its own: a read from a terminal cannot be called off, and must not hold the end of the program.
    std::thread::spawn(move || {
        let _ = reply.send(ask_blocking(&text));
    });
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(answer)) => answer,
        _ => PersonsAnswer::Nobody,
    }
}

fn ask_blocking(text: &str) -> PersonsAnswer {
    let Ok(mut terminal) = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/tty")
    else {
        return PersonsAnswer::Nobody;
    };
    let Ok(reader) = terminal.try_clone() else {
        return PersonsAnswer::Nobody;
    };
    let mut lines = BufReader::new(reader).lines();
    loop {
        if terminal
            .write_all(text.as_bytes())
            .and_then(|()| terminal.flush())
            .is_err()
        {
            return PersonsAnswer::Nobody;
        }
        let Some(Ok(line)) = lines.next() else {
            return PersonsAnswer::Nobody;
        };
        if let Some(answer) = understand(&line) {
            return answer;
        }
    }
}

/// What was typed; `None` when it has to be asked again.
fn understand(line: &str) -> Option<PersonsAnswer> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word.to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(PersonsAnswer::Yes),
        "t" | "tool" => Some(PersonsAnswer::YesToTool),
        "a" | "all" => Some(PersonsAnswer::YesToAll),
        "n" | "no" => Some(PersonsAnswer::No(
            (!rest.trim().is_empty()).then(|| rest.trim().to_string()),
        )),
        "c" | "cancel" => Some(PersonsAnswer::Cancel),
        _ => None,
    }
}

fn wording(question: &Question, style: Style) -> String {
    let mut text = format!("{} {}", style.yellow("?"), style.bold(&question.tool_name));
    for (name, value) in &question.arguments {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), ToString::to_string);
        text.push_str(&format!(
            "\n  {name}: {}",
            harmless(&value).replace('\n', "\n    ")
        ));
    }
    if let Some(reason) = &question.reason {
        text.push_str(&format!("\n  {}", harmless(reason)));
    }
    if !question.handlers.is_empty() {
        text.push_str(&format!(
            "\n  asked for by {}",
            harmless(&question.handlers.join(", "))
        ));
    }
    for (name, value) in &question.metadata {
        text.push_str(&format!("\n  {name}: {}", harmless(&value.to_string())));
    }
    text.push_str(&format!(
        "\n{} ",
        style.dim("[y]es, [t]his tool always, [a]ll, [n]o WHY, [c]ancel:")
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clear_words_count() {
        assert_eq!(understand("y"), Some(PersonsAnswer::Yes));
        assert_eq!(understand(" Yes "), Some(PersonsAnswer::Yes));
        assert_eq!(
            understand("n not there"),
            Some(PersonsAnswer::No(Some("not there".into())))
        );
        assert_eq!(understand("no"), Some(PersonsAnswer::No(None)));
        assert_eq!(understand(""), None);
        assert_eq!(understand("perhaps"), None);
    }
}
