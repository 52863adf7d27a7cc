//! What a question about a call says: its title, the facts below it, and the difference that a write or an edit makes.
//!
//! The title holds what must never scroll out of sight: the operation, the judged path, how many lines come and go, and
//! the programs that a command names. All texts of models, hooks and files are made harmless here.

use becket_agent::front::{LineKind, Preview, PreviewLine, Question};
use becket_events::{Effect, OperationKind};
use becket_host::rule_of;
use becket_shell::programs;
use becket_system::{harmless, harmless_indented, harmless_name};
use serde_json::Value;

use super::style::Style;

/// How many lines of a difference are shown until the user wants all.
pub const FIRST_LINES: usize = 15;

/// How many characters of one line are shown until the user wants all.
const LONGEST: usize = 400;

/// How many lines and letters of a command are shown among the facts of a question on a screen; a larger one is shown
/// like a difference, so that its beginning stays in sight.
const SMALL_COMMAND: (usize, usize) = (6, 400);

/// How many programs of a command are named.
const MOST_PROGRAMS: usize = 8;

/// What a question says, besides the possible answers.
pub struct Wording {
    /// The operation and what it touches, in one line.
    pub title: String,
    /// The facts, in lines that are indented.
    pub facts: Vec<String>,
    /// The difference that the call makes in a file, line by line; on a screen also a large command.
    pub difference: Vec<String>,
}

impl Wording {
    pub fn of(question: &Question, style: Style) -> Self {
        let lines = question.preview.iter().flat_map(|preview| &preview.lines);
        Self {
            title: title(question, style),
            facts: facts(question, style),
            difference: lines.map(|line| difference_line(line, style)).collect(),
        }
    }

    /// What a question on a screen says: a large command is not among the facts but stands in the difference's place,
    /// of which the beginning is always seen.
    pub fn on_screen(question: &Question, style: Style) -> Self {
        let mut wording = Self::of(question, style);
        let command = question.arguments.get("command").and_then(Value::as_str);
        let command = command.filter(|_| question.operation == Some(OperationKind::Shell));
        let is_large =
            |text: &&str| text.lines().count() > SMALL_COMMAND.0 || text.chars().count() > SMALL_COMMAND.1;
        if let Some(command) = command.filter(is_large) {
            wording.facts.retain(|fact| !fact.starts_with("  command: "));
            let lines = harmless(command);
            wording.difference = lines.lines().map(|line| format!("  {line}")).collect();
        }
        wording
    }

    /// The title and the facts.
    pub fn head(&self) -> String {
        let facts: String = self.facts.iter().map(|fact| format!("\n{fact}")).collect();
        format!("{}{facts}", self.title)
    }

    /// The title, the facts and the first lines of the difference, for a terminal without a screen.
    pub fn beginning(&self, style: Style) -> String {
        let mut text = self.head();
        for line in self.difference.iter().take(FIRST_LINES) {
            text.push_str(&format!("\n{}", shortened(line)));
        }
        if self.has_more() {
            let more = self.difference.len().saturating_sub(FIRST_LINES);
            let words = match more {
                0 => "… long lines are cut".to_owned(),
                1 => "… 1 more line".to_owned(),
                more => format!("… {more} more lines"),
            };
            text.push_str(&format!("\n{}", style.dim(&words)));
        }
        text
    }

    /// Whether the beginning does not hold all of the difference.
    pub fn has_more(&self) -> bool {
        let first = self.difference.iter().take(FIRST_LINES);
        self.difference.len() > FIRST_LINES || first.into_iter().any(|line| shortened(line) != *line)
    }
}

/// A line without its end, if it is very long.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(LONGEST) {
        // A line begins with its colour.
        Some((end, _)) if line.starts_with('\x1b') => format!("{}\x1b[0m…", &line[..end]),
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn title(question: &Question, style: Style) -> String {
    let tool_name = harmless_name(&question.tool_name);
    let mut title = format!("{} {}", style.yellow("?"), style.bold(&tool_name));
    let names_file = |kind: OperationKind| matches!(kind.effect(), Effect::Read | Effect::Write);
    if let Some(target) = question
        .target
        .as_ref()
        .filter(|_| question.operation.is_some_and(names_file))
    {
        title.push_str(&format!(" {}", harmless_name(target)));
    }
    if let Some(preview) = &question.preview {
        title.push_str(&format!(" {}", counts(preview, style)));
    }
    if let Some(source) = &question.source {
        title.push_str(&format!(" from {}", harmless_name(source)));
    }
    if let Some(agent) = &question.agent {
        title.push_str(&format!(
            ", requested by the sub-agent {:?}",
            harmless_name(agent)
        ));
    }
    if question.operation == Some(OperationKind::Shell) {
        let command = question.arguments.get("command").and_then(Value::as_str);
        title.extend(command.and_then(named_programs));
    }
    title
}

/// How many lines come and go, such as `+2 −1`.
fn counts(preview: &Preview, style: Style) -> String {
    let added = style.green(&format!("+{}", preview.added));
    let removed = preview.removed.map(|removed| style.red(&format!("−{removed}")));
    removed.map_or(added.clone(), |removed| format!("{added} {removed}"))
}

/// The programs that a command names.
fn named_programs(command: &str) -> Option<String> {
    let named = programs(command);
    if named.names.is_empty() && !named.may_run_more {
        return None;
    }
    let mut names: Vec<String> = named.names.iter().map(|name| harmless_name(name)).collect();
    if names.len() > MOST_PROGRAMS {
        let more = names.len() - MOST_PROGRAMS;
        names.truncate(MOST_PROGRAMS);
        names.push(format!("{more} more"));
    }
    names.extend(
        named
            .may_run_more
            .then(|| "programs that its text does not show".to_owned()),
    );
    Some(format!(", which runs {}", names.join(", ")))
}

fn facts(question: &Question, style: Style) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    let mut tell = |name: &str, value: &str| {
        let (name, value) = (harmless_name(name), harmless_indented(value, "    "));
        facts.push(format!("  {name}: {value}"));
    };
    for (name, value) in &question.arguments {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), ToString::to_string);
        if !is_shown_elsewhere(question, name, &value) {
            tell(name, &value);
        }
    }
    let mut say = |words: &str| facts.push(format!("  {}", harmless_indented(words, "    ")));
    if question.has_changed {
        say("the file has changed since you were asked; this is the change now");
    }
    question
        .preview
        .iter()
        .flat_map(|preview| &preview.remarks)
        .for_each(|remark| say(remark));
    question.reason.iter().for_each(|reason| say(reason));
    if !question.handlers.is_empty() {
        say(&format!(
            "requested by {}",
            harmless_name(&question.handlers.join(", "))
        ));
    }
    for (name, value) in &question.metadata {
        let (name, value) = (harmless_name(name), harmless_indented(&value.to_string(), "    "));
        facts.push(format!("  {name}: {value}"));
    }
    if let Some(trouble) = rule_of(question).and_then(|rule| rule.trouble.as_ref()) {
        facts.push(format!("  {}", style.yellow(&harmless_indented(trouble, "    "))));
    }
    facts
}

/// Whether the title and the difference show an argument already. A path that was written differently from the judged
/// one is shown as well.
fn is_shown_elsewhere(question: &Question, name: &str, value: &str) -> bool {
    let (Some(_), Some(operation)) = (&question.preview, question.operation) else {
        return false;
    };
    let target = question.target.as_deref().unwrap_or_default();
    let is_judged = || value.ends_with(target) || target.ends_with(value.trim_start_matches("./"));
    operation.argument_names().contains(&name) && (name != "path" || is_judged())
}

fn difference_line(line: &PreviewLine, style: Style) -> String {
    // Whatever a line holds, it stays one line.
    let text = harmless(&line.text).replace('\n', "\u{fffd}");
    match line.kind {
        LineKind::Added => style.green(&format!("+{text}")),
        LineKind::Removed => style.red(&format!("-{text}")),
        LineKind::Kept => format!(" {text}"),
        LineKind::Place => style.cyan(&text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(arguments: Value) -> Question {
        Question {
            agent: None,
            tool_call_id: None,
            tool_name: "edit".into(),
            operation: Some(OperationKind::Edit),
            source: None,
            arguments: arguments.as_object().cloned().unwrap_or_default(),
            reason: None,
            handlers: Vec::new(),
            metadata: Default::default(),
            offer: None,
            target: Some("src/a.rs".into()),
            preview: None,
            has_changed: false,
        }
    }

    #[test]
    fn nothing_in_a_question_can_pass_for_something_else() {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        let question = Question {
            agent: Some("help\ner".into()),
            tool_call_id: None,
            tool_name: "sh\x1b[2Jell\u{200b}".into(),
            operation: None,
            source: Some("plu\ngin".into()),
            reason: Some("because\n? read".into()),
            handlers: vec!["a\nb".into()],
            metadata: object(json!({"ri\x1b[1Ask\nlow": "\u{feff}"})),
            ..question(json!({"comm\nand": "ls\n[y]es: \u{202e}"}))
        };
        let wording = Wording::of(&question, Style::plain());
        assert_eq!(
            wording.head().lines().collect::<Vec<_>>(),
            [
                "? sh␛[2Jell\u{fffd} from plu\u{fffd}gin, requested by the sub-agent \"help\u{fffd}er\"",
                "  comm\u{fffd}and: ls",
                "    [y]es: \u{fffd}",
                "  because",
                "    ? read",
                "  requested by a\u{fffd}b",
                "  ri␛[1Ask\u{fffd}low: \"\u{fffd}\"",
            ]
        );
    }

    #[test]
    fn a_difference_cannot_steer_the_terminal_and_a_link_is_told() {
        let line = |kind, text: &str| PreviewLine {
            kind,
            text: text.into(),
        };
        let question = Question {
            preview: Some(Preview {
                added: 1,
                removed: Some(2),
                lines: vec![
                    line(LineKind::Place, "@@ -1 +1 @@"),
                    line(LineKind::Removed, "a\x1b]52;c;aGk=\x07\r"),
                    line(LineKind::Added, "\u{202e}b\n? all is well"),
                ],
                remarks: vec!["re\x1b[2Jmark".into()],
                before: None,
            }),
            has_changed: true,
            ..question(json!({"path": "li\nnk", "edits": [1], "more": 2}))
        };
        let wording = Wording::of(&question, Style::plain());
        let head = [
            "? edit src/a.rs +1 −2",
            "  path: li",
            "    nk",
            "  more: 2",
            "  the file has changed since you were asked; this is the change now",
            "  re␛[2Jmark",
        ];
        assert_eq!(wording.head().lines().collect::<Vec<_>>(), head);
        let lines = [
            "@@ -1 +1 @@",
            "-a␛]52;c;aGk=\u{fffd}\u{fffd}",
            "+\u{fffd}b\u{fffd}? all is well",
        ];
        assert_eq!(wording.difference, lines);
        for path in ["src/a.rs", "./src/a.rs", "/p/src/a.rs"] {
            let other = Question {
                arguments: json!({"path": path}).as_object().cloned().unwrap_or_default(),
                ..question.clone()
            };
            assert!(
                !Wording::of(&other, Style::plain()).head().contains("path:"),
                "{path}"
            );
        }
    }

    #[test]
    fn only_the_beginning_of_a_long_difference_is_shown_at_first() {
        let text = |count: usize, length: usize| {
            let lines = (0..count).map(|_| PreviewLine {
                kind: LineKind::Added,
                text: "x".repeat(length),
            });
            let preview = Preview {
                lines: lines.collect(),
                ..Preview::default()
            };
            let wording = Wording::of(
                &Question {
                    preview: Some(preview),
                    ..question(json!({}))
                },
                Style::plain(),
            );
            (wording.beginning(Style::plain()), wording.has_more())
        };
        let (short, more) = text(FIRST_LINES, 3);
        assert!(!more && !short.contains('…'), "{short}");
        let (long, more) = text(2000, 3);
        assert!(
            more && long.lines().count() == FIRST_LINES + 2 && long.ends_with("… 1985 more lines"),
            "{long}"
        );
        let (wide, more) = text(1, 1000);
        assert!(more && wide.ends_with("… long lines are cut"), "{wide}");
    }

    #[test]
    fn the_programs_of_a_command_are_named() {
        assert_eq!(
            named_programs("cargo test -p x").as_deref(),
            Some(", which runs cargo")
        );
        assert_eq!(
            named_programs("cd a && sudo rm -rf x").as_deref(),
            Some(", which runs cd, sudo, rm")
        );
        let open = named_programs("curl x | sh").unwrap_or_default();
        assert_eq!(
            open,
            ", which runs curl, sh, programs that its text does not show"
        );
        let many: String = ('a'..='z').map(|letter| format!("{letter};")).collect();
        assert!(named_programs(&many).is_some_and(|text| text.ends_with("g, h, 18 more")));
    }
}
