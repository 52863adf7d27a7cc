//! Findings in guests: programs and modules that are themselves a hook.

use becket_hooks::nearest;

use crate::finding::{Finding, Kind};
use crate::hook::Subject;

/// Makes findings in the file of a guest that chooses its events at run time.
pub struct Told<'a>(pub &'a Subject<'a>);

impl Told<'_> {
    /// A finding at a line.
    pub fn at(&self, line: usize, kind: Kind, message: String, hint: Option<String>) -> Finding {
        Finding {
            line: Some(line),
            hint,
            ..self.0.finding(kind, message)
        }
    }

    /// A finding about an event that does not exist.
    pub fn unknown_event(&self, name: &str, line: usize, known: &[&str]) -> Option<Finding> {
        let hint = nearest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        let message = format!("there is no event `{name}`");
        (!known.contains(&name)).then(|| self.at(line, Kind::UnknownEvent, message, hint))
    }

    /// A finding about a field that means nothing in an answer.
    pub fn meaningless(&self, field: &str, line: usize, event: &str, fields: &[&str]) -> Finding {
        let hint = match (nearest(field, fields.iter().copied()), fields) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) => "answers to it are ignored".to_owned(),
            (None, fields) => format!("it may answer {}", fields.join(", ")),
        };
        let message = format!("`{field}` means nothing in an answer to {event}");
        self.at(line, Kind::MeaninglessField, message, Some(hint))
    }
}

/// The line of a place in a text, counted from 1.
pub fn line_of(text: &str, place: usize) -> usize {
    text[..place].matches('\n').count() + 1
}
