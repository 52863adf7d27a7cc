//! The list of what is to be done, as the todo tools return it, for the user to see.

use becket_system::harmless_name;
use serde_json::Value;

use super::style::Style;

/// How many items are shown at once.
const MOST_SHOWN: usize = 8;

/// The items of a list, and how far each is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Todos(Vec<(TodoStatus, String)>);

/// How far an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

impl Todos {
    /// The list in the output of a todo tool; `None` for any other output.
    pub fn of(tool_name: &str, output: &str) -> Option<Self> {
        becket_tools::todo_tool_names().find(|name| *name == tool_name)?;
        let answer: Value = serde_json::from_str(output).ok()?;
        let list = answer.get("all_todos").or_else(|| answer.get("todos"))?;
        let items = list.as_array()?.iter().map(|item| {
            let status = match item["status"].as_str()? {
                "completed" => TodoStatus::Completed,
                "in-progress" => TodoStatus::InProgress,
                _ => TodoStatus::Pending,
            };
            Some((status, harmless_name(item["description"].as_str()?)))
        });
        items.collect::<Option<Vec<_>>>().map(Self)
    }

    /// The items, and how far each is.
    pub fn items(&self) -> impl Iterator<Item = (TodoStatus, &str)> {
        self.0.iter().map(|(status, text)| (*status, text.as_str()))
    }

    /// Whether nothing is left to be done.
    pub fn are_done(&self) -> bool {
        self.0.iter().all(|(status, _)| *status == TodoStatus::Completed)
    }

    /// The list in lines: if it is long, the part around what is being done.
    pub fn lines(&self, style: Style) -> Vec<String> {
        let open = self
            .0
            .iter()
            .position(|(status, _)| *status != TodoStatus::Completed);
        let start = open.unwrap_or(0).saturating_sub(2);
        let start = start.min(self.0.len().saturating_sub(MOST_SHOWN));
        let shown = &self.0[start..(start + MOST_SHOWN).min(self.0.len())];
        let mut lines: Vec<String> = shown
            .iter()
            .map(|(status, text)| match status {
                TodoStatus::Pending => format!("  ☐ {text}"),
                TodoStatus::InProgress => style.bold(&format!("  ◐ {text}")),
                TodoStatus::Completed => style.dim(&format!("  ☑ {text}")),
            })
            .collect();
        if shown.len() < self.0.len() {
            let done = self
                .0
                .iter()
                .filter(|(status, _)| *status == TodoStatus::Completed)
                .count();
            lines.push(style.dim(&format!("  {done} of {} done", self.0.len())));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(statuses: &[&str]) -> String {
        let items = statuses.iter().enumerate();
        let items = items.map(|(place, status)| {
            serde_json::json!({"id": format!("todo_{place}"), "description": format!("step {place}"), "status": status})
        });
        serde_json::json!({"all_todos": items.collect::<Vec<_>>()}).to_string()
    }

    #[test]
    fn a_list_is_shown_around_what_is_being_done() {
        let todos = Todos::of("mark_todos", &list(&["completed", "in-progress", "pending"])).expect("a list");
        assert_eq!(
            todos.lines(Style::plain()),
            ["  ☑ step 0", "  ◐ step 1", "  ☐ step 2"]
        );
        assert!(!todos.are_done());
        let long: Vec<&str> = [vec!["completed"; 9], vec!["pending"; 3]].concat();
        let todos = Todos::of("create_todos", &list(&long)).expect("a list");
        let lines = todos.lines(Style::plain());
        assert_eq!((lines.len(), lines[0].as_str()), (9, "  ☑ step 4"));
        assert_eq!(lines[8], "  9 of 12 done");
    }

    #[test]
    fn other_outputs_are_no_lists() {
        assert_eq!(Todos::of("shell", &list(&["pending"])), None);
        assert_eq!(Todos::of("mark_todos", "not found"), None);
        assert_eq!(Todos::of("mark_todos", "{\"all_todos\": 3}"), None);
        let todos = Todos::of("list_todos", &list(&["completed"])).expect("a list");
        assert!(todos.are_done());
    }
}
