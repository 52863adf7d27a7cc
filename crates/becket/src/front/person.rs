//! Asks the person at the terminal about a call.

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use becket_agent::front::{PersonsAnswer, Question};
use becket_screen::{Entry, Screen, Unanswered};

use super::style::{Style, harmless_indented, harmless_name};

/// A person who does not answer for this long has said no; nothing waits for ever.
const PATIENCE: Duration = Duration::from_secs(60 * 60);

/// Asks on the terminal that the process belongs to.
pub async fn ask(question: &Question, style: Style) -> PersonsAnswer {
    let answers = style.dim("[y]es, [t]his tool always, [a]ll, [n]o WHY, [c]ancel:");
    let text = format!("{}\n{answers} ", wording(question, style));
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

/// What can be answered, with the letter of each.
const ANSWERS: [(char, &str); 5] = [
    ('y', "[y]es"),
    ('t', "[t]his tool always"),
    ('a', "[a]ll"),
    ('n', "[n]o, and why"),
    ('c', "[c]ancel"),
];

/// Asks on the screen of a chat.
pub async fn ask_on(screen: &Screen, question: &Question, style: Style) -> PersonsAnswer {
    let text = wording(question, style);
    let (title, message) = text.split_once('\n').unwrap_or((&text, ""));
    let asked = becket_screen::Question::new(title)
        .message(message)
        .timeout(PATIENCE);
    let options = ANSWERS.map(|(letter, label)| Entry {
        label: label.into(),
        letter: Some(letter),
        ..Entry::default()
    });
    match screen.select(asked, options.to_vec()).await {
        Ok(chosen) => match ANSWERS[chosen].0 {
            'y' => PersonsAnswer::Yes,
            't' => PersonsAnswer::YesToTool,
            'a' => PersonsAnswer::YesToAll,
            'n' => PersonsAnswer::No(why_not(screen).await),
            _ => PersonsAnswer::Cancel,
        },
        Err(Unanswered::Cancelled) => PersonsAnswer::Cancel,
        Err(Unanswered::TimedOut | Unanswered::Closed) => PersonsAnswer::Nobody,
    }
}

/// The reason of a no, if there is one. The no itself is already said.
async fn why_not(screen: &Screen) -> Option<String> {
    let question = becket_screen::Question::new("Why not? The model reads it.").timeout(PATIENCE);
    let why = screen.input(question, "Enter for no words").await.ok()?;
    (!why.trim().is_empty()).then(|| why.trim().to_owned())
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
    // What was typed before the question was there is no answer to it.
    let _ = rustix::termios::tcflush(&terminal, rustix::termios::QueueSelector::IFlush);
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

/// The question without what can be answered.
fn wording(question: &Question, style: Style) -> String {
    let tool_name = harmless_name(&question.tool_name);
    let mut text = format!("{} {}", style.yellow("?"), style.bold(&tool_name));
    if let Some(source) = &question.source {
        text.push_str(&format!(" from {}", harmless_name(source)));
    }
    if let Some(agent) = &question.agent {
        text.push_str(&format!(", wanted by the sub-agent {:?}", harmless_name(agent)));
    }
    for (name, value) in &question.arguments {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), ToString::to_string);
        let (name, value) = (harmless_name(name), harmless_indented(&value, "    "));
        text.push_str(&format!("\n  {name}: {value}"));
    }
    if let Some(reason) = &question.reason {
        text.push_str(&format!("\n  {}", harmless_indented(reason, "    ")));
    }
    if !question.handlers.is_empty() {
        text.push_str(&format!(
            "\n  asked for by {}",
            harmless_name(&question.handlers.join(", "))
        ));
    }
    for (name, value) in &question.metadata {
        let (name, value) = (harmless_name(name), harmless_indented(&value.to_string(), "    "));
        text.push_str(&format!("\n  {name}: {value}"));
    }
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

    #[test]
    fn nothing_in_a_question_can_pass_for_something_else() {
        let object = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
        let question = Question {
            agent: Some("help\ner".into()),
            tool_name: "sh\x1b[2Jell\u{200b}".into(),
            operation: None,
            source: Some("plu\ngin".into()),
            arguments: object(serde_json::json!({"comm\nand": "ls\n[y]es: \u{202e}"})),
            reason: Some("because\n? read".into()),
            handlers: vec!["a\nb".into()],
            metadata: object(serde_json::json!({"ri\x1b[1Ask\nlow": "\u{feff}"})),
        };
        assert_eq!(
            wording(&question, Style::plain()).lines().collect::<Vec<_>>()[..7],
            [
                "? sh␛[2Jell\u{fffd} from plu\u{fffd}gin, wanted by the sub-agent \"help\u{fffd}er\"",
                "  comm\u{fffd}and: ls",
                "    [y]es: \u{fffd}",
                "  because",
                "    ? read",
                "  asked for by a\u{fffd}b",
                "  ri␛[1Ask\u{fffd}low: \"\u{fffd}\"",
            ]
        );
    }
}
