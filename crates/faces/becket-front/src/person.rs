//! Asks the user at the terminal about a call.
//!
//! What was typed before a question was seen does not answer it: the line that asks for an answer comes half a second
//! after the question, and what was typed until then is dropped. (On a screen the dialog watches the keys.)

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use becket_agent::front::{Question, UserAnswer};
use becket_host::{Choice, STORE, about_rule, rule_of};
use becket_screen::{Entry, Screen, Unanswered, wrapped};
use becket_system::harmless_name;

use super::style::Style;
use super::wording::{FIRST_LINES, Wording};

/// How long the user may take to answer; after that the answer is no.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// How long a question stands on a terminal without a screen before it takes an answer.
const SEEING: Duration = Duration::from_millis(500);

/// Asks on the terminal that the process belongs to, which has so many columns.
pub async fn ask(question: &Question, style: Style, columns: Option<usize>) -> UserAnswer {
    let wording = Wording::of(question, style);
    let (choices, mut labels): (Vec<Choice>, Vec<String>) = Choice::of(question)
        .into_iter()
        .map(|(choice, words)| (choice, bracketed(&words)))
        .unzip();
    if wording.has_more() {
        labels.push(bracketed("difference: show all of it"));
    }
    let answers = style.dim(&format!("{}:", labels.join(", ")));
    let broken = |text: String| columns.map_or(text.clone(), |columns| wrapped(&text, columns));
    let whole = || format!("{}\n{}\n", wording.difference.join("\n"), wording.title);
    let asking = Asking {
        text: broken(format!("{}\n", wording.beginning(style))),
        answers: broken(format!("{answers} ")),
        whole: wording.has_more().then(|| broken(whole())),
        choices,
        rule: rule_of(question).map(|rule| {
            let answers = style.dim("[y]es, [n]o, or another rule:");
            let (text, about) = (harmless_name(&rule.text), about_rule(rule));
            let question = format!("{STORE} {about}\n  {text}\n{answers} ");
            (rule.text.clone(), broken(question))
        }),
    };
    let (reply, answer) = tokio::sync::oneshot::channel();
    // A thread of its own: a read from a terminal cannot be called off, and must not hold the end of the program.
    std::thread::spawn(move || {
        let _ = reply.send(asking.ask().unwrap_or(UserAnswer::Nobody));
    });
    match tokio::time::timeout(ANSWER_TIMEOUT, answer).await {
        Ok(Ok(answer)) => answer,
        _ => UserAnswer::Nobody,
    }
}

/// An answer with its letter in brackets, as in `[y]es`.
fn bracketed(words: &str) -> String {
    let (letter, rest) = words.split_at(1);
    format!("[{letter}]{rest}")
}

/// Asks on the screen of a chat.
pub async fn ask_on(screen: &Screen, question: &Question, style: Style) -> UserAnswer {
    let wording = Wording::on_screen(question, style);
    let choices = Choice::of(question);
    loop {
        let asked = becket_screen::Question::new(wording.title.as_str())
            .message(wording.facts.join("\n"))
            .excerpt(wording.difference.clone(), FIRST_LINES)
            .timeout(ANSWER_TIMEOUT)
            .unexpected();
        let options = choices.iter().map(|(_, words)| Entry {
            label: bracketed(words),
            letter: words.chars().next(),
            ..Entry::default()
        });
        let chosen = match screen.select(asked, options.collect()).await {
            Ok(chosen) => choices[chosen].0,
            Err(Unanswered::Cancelled) => return UserAnswer::Cancel,
            Err(Unanswered::TimedOut | Unanswered::Closed) => return UserAnswer::Nobody,
        };
        match (chosen, rule_of(question)) {
            (Choice::Yes, _) => return UserAnswer::Yes,
            (Choice::Again, _) => return UserAnswer::YesAgain,
            (Choice::No, _) => return UserAnswer::No(why_not(screen).await),
            (Choice::Rule, Some(rule)) => {
                let asked = becket_screen::Question::new(STORE)
                    .message(about_rule(rule))
                    .timeout(ANSWER_TIMEOUT)
                    .unexpected();
                // Whoever does not want the rule decides anew.
                if let Ok(text) = screen.text(asked, &rule.text).await {
                    return UserAnswer::YesWithRule(text);
                }
            }
            (Choice::Cancel | Choice::Rule, _) => return UserAnswer::Cancel,
        }
    }
}

/// Asks for the reason of a no, which counts already.
async fn why_not(screen: &Screen) -> Option<String> {
    let question = becket_screen::Question::new("Why not? The model will read it.").timeout(ANSWER_TIMEOUT);
    let why = screen.input(question, "Enter for none").await.ok()?;
    (!why.trim().is_empty()).then(|| why.trim().to_owned())
}

/// A question on a terminal without a screen.
struct Asking {
    text: String,
    /// The line that asks for an answer.
    answers: String,
    /// All of a difference of which the text holds only the beginning, and the question below it.
    whole: Option<String>,
    choices: Vec<Choice>,
    /// The rule that can be stored, and the question about it.
    rule: Option<(String, String)>,
}

impl Asking {
    /// Asks until there is an answer; `None` if nobody can give one.
    fn ask(&self) -> Option<UserAnswer> {
        let mut terminal = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/tty")
            .ok()?;
        let reader = terminal.try_clone().ok()?;
        terminal.write_all(self.text.as_bytes()).ok()?;
        std::thread::sleep(SEEING);
        let _ = rustix::termios::tcflush(&terminal, rustix::termios::QueueSelector::IFlush);
        let mut lines = BufReader::new(reader).lines();
        let mut answer_to = |text: &str| -> Option<String> {
            terminal.write_all(text.as_bytes()).ok()?;
            terminal.flush().ok()?;
            lines.next()?.ok()
        };
        let mut question = self.answers.clone();
        loop {
            let answer = answer_to(&question)?;
            let text = match &self.whole {
                Some(whole) if wants_all(&answer) => whole,
                _ => &self.text,
            };
            question = format!("{text}{}", self.answers);
            match (understand(&answer, &self.choices), &self.rule) {
                (Some((Choice::Rule, _)), Some((rule, question))) => {
                    let answer = answer_to(question)?;
                    match answer.trim() {
                        "" | "n" | "no" => {}
                        "y" | "yes" => return Some(UserAnswer::YesWithRule(rule.clone())),
                        text => return Some(UserAnswer::YesWithRule(text.to_owned())),
                    }
                }
                (Some((Choice::Yes, _)), _) => return Some(UserAnswer::Yes),
                (Some((Choice::Again, _)), _) => return Some(UserAnswer::YesAgain),
                (Some((Choice::No, why)), _) => {
                    return Some(UserAnswer::No((!why.is_empty()).then(|| why.to_owned())));
                }
                (Some((Choice::Cancel, _)), _) => return Some(UserAnswer::Cancel),
                (Some((Choice::Rule, _)) | None, _) => {}
            }
        }
    }
}

/// Whether a line asks for all of a difference: by its letter, or by the key that shows all in a chat.
fn wants_all(line: &str) -> bool {
    matches!(
        line.trim().to_ascii_lowercase().as_str(),
        "d" | "difference" | "\x0f"
    )
}

/// The choice that a line means, and the words after it; `None` if it has to be asked again. Only a no takes words: the
/// end of a line whose beginning was dropped is no yes.
fn understand<'a>(line: &'a str, choices: &[Choice]) -> Option<(Choice, &'a str)> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let choice = match word.to_ascii_lowercase().as_str() {
        "y" | "yes" => Choice::Yes,
        "s" | "same" => Choice::Again,
        "r" | "rule" => Choice::Rule,
        "n" | "no" => Choice::No,
        "c" | "cancel" => Choice::Cancel,
        _ => return None,
    };
    let is_clear = rest.is_empty() || choice == Choice::No;
    (is_clear && choices.contains(&choice)).then_some((choice, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clear_words_and_offered_answers_count() {
        let few = [Choice::Yes, Choice::No, Choice::Cancel];
        let all = [few.as_slice(), &[Choice::Again, Choice::Rule]].concat();
        for (line, understood) in [
            ("y", Some((Choice::Yes, ""))),
            (" Yes ", Some((Choice::Yes, ""))),
            ("n not there", Some((Choice::No, "not there"))),
            ("no", Some((Choice::No, ""))),
            ("s", Some((Choice::Again, ""))),
            ("r", Some((Choice::Rule, ""))),
            ("y code", None),
            ("s it", None),
            ("t", None),
            ("a", None),
            ("all", None),
            ("", None),
            ("perhaps", None),
        ] {
            assert_eq!(understand(line, &all), understood, "{line:?}");
            let is_few = understood.filter(|(choice, _)| few.contains(choice));
            assert_eq!(understand(line, &few), is_few, "{line:?}");
        }
    }
}
