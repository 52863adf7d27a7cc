//! The list of what is to be done, as the todo tools make it, for the user to see: items that becket counts, or a
//! checklist in Markdown.

use becket_agent::context_files::{ContextFile, ContextFiles};
use becket_screen::{Area, Component, clip, wrapped};
use becket_system::harmless_name;
use serde_json::{Map, Value};

use super::style::Style;

/// How many items are shown at once.
const MOST_SHOWN: usize = 8;

/// The tool whose argument is the whole list, as Markdown.
const NOTES_TOOL: &str = "update_todos";

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
    /// The list that a call of a todo tool has made; `None` for any other call.
    pub fn of(tool_name: &str, arguments: &Map<String, Value>, output: &str) -> Option<Self> {
        if let (NOTES_TOOL, Some(notes)) = (tool_name, arguments.get("content").and_then(Value::as_str)) {
            return Some(Self::of_notes(notes));
        }
        becket_tools::todo_tool_names().find(|name| *name == tool_name)?;
        let answer: Value = serde_json::from_str(output).ok()?;
        let list = answer.get("all_todos").or_else(|| answer.get("todos"))?;
        Self::of_items(list.as_array()?)
    }

    /// What is left to be done in a context, as its files say; `None` if nothing is.
    pub fn open_in(files: &ContextFiles, agent_name: &str) -> Option<Self> {
        let notes = || Some(Self::of_notes(&files.read(ContextFile::Todos)?));
        let items = || {
            let lists: Value = serde_json::from_str(&files.read(ContextFile::TodoList)?).ok()?;
            Self::of_items(lists.get(agent_name)?.as_array()?)
        };
        let is_open = |todos: &Self| !todos.are_done();
        notes().filter(is_open).or_else(|| items().filter(is_open))
    }

    fn of_items(items: &[Value]) -> Option<Self> {
        let items = items.iter().map(|item| {
            let status = match item["status"].as_str()? {
                "completed" => TodoStatus::Completed,
                "in-progress" => TodoStatus::InProgress,
                _ => TodoStatus::Pending,
            };
            Some((status, harmless_name(item["description"].as_str()?)))
        });
        items.collect::<Option<Vec<_>>>().map(Self)
    }

    /// The boxes of a Markdown checklist; without boxes the points of a list, or else every line but headings.
    fn of_notes(notes: &str) -> Self {
        let lines = || notes.lines().map(str::trim).filter(|line| !line.is_empty());
        let boxes: Vec<_> = lines().filter_map(|line| boxed(point(line)?)).collect();
        if !boxes.is_empty() {
            return Self(boxes);
        }
        let pending = |text: &str| (TodoStatus::Pending, harmless_name(text));
        let points: Vec<_> = lines().filter_map(point).map(pending).collect();
        if !points.is_empty() {
            return Self(points);
        }
        Self(
            lines()
                .filter(|line| !line.starts_with('#'))
                .map(pending)
                .collect(),
        )
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

/// The lines of a list above the editor, broken for the terminal as wide as it is now. What would take more than half
/// of its rows is cut: the editor and what runs have to be seen too.
pub(crate) struct TodoRows(pub Vec<String>);

impl Component for TodoRows {
    fn render(&mut self, area: Area) -> Vec<String> {
        let broken = |line: &String| -> Vec<String> {
            let line = wrapped(line, area.width);
            line.split('\n').map(ToOwned::to_owned).collect()
        };
        let rows: Vec<String> = self.0.iter().flat_map(broken).collect();
        let room = (area.height / 2).max(1);
        if rows.len() <= room {
            return rows;
        }
        let lines = self.0.iter().take(room);
        lines.map(|line| clip(line, area.width)).collect()
    }
}

/// The text of a point of a Markdown list.
fn point(line: &str) -> Option<&str> {
    let numbered = || {
        let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let rest = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))?;
        line.starts_with(|letter: char| letter.is_ascii_digit())
            .then_some(rest)
    };
    let marked = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
    marked.or_else(numbered).map(str::trim_start)
}

/// The box before the text of a point, and the text. A box with anything but a blank or a check is in progress.
fn boxed(point: &str) -> Option<(TodoStatus, String)> {
    let (mark, text) = point.strip_prefix('[')?.split_once(']')?;
    let mut letters = mark.chars();
    let status = match (letters.next()?, letters.next()) {
        (' ', None) => TodoStatus::Pending,
        ('x' | 'X' | '✓' | '✔', None) => TodoStatus::Completed,
        (_, None) if text.starts_with(' ') => TodoStatus::InProgress,
        _ => return None,
    };
    Some((status, harmless_name(text.trim())))
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

    fn of(tool_name: &str, output: &str) -> Option<Todos> {
        Todos::of(tool_name, &Map::new(), output)
    }

    #[test]
    fn notes_are_read_as_a_checklist() {
        let lines = |notes: &str| Todos::of_notes(notes).lines(Style::plain());
        let boxes = "# Boats\n- [x] mend\n  * [ ] paint [again](x)\n1. [~] wait\n- a remark\n";
        assert_eq!(lines(boxes), ["  ☑ mend", "  ☐ paint [again](x)", "  ◐ wait"]);
        assert_eq!(
            lines("Today:\n- [mend](x)\n2) paint"),
            ["  ☐ [mend](x)", "  ☐ paint"]
        );
        assert_eq!(
            lines("# Boats\nmend\n\n1984 paint"),
            ["  ☐ mend", "  ☐ 1984 paint"]
        );
        assert!(Todos::of_notes(" \n").are_done() && Todos::of_notes("- [X] mend").are_done());
    }

    #[test]
    fn a_list_is_shown_around_what_is_being_done() {
        let todos = of("mark_todos", &list(&["completed", "in-progress", "pending"])).expect("a list");
        assert_eq!(
            todos.lines(Style::plain()),
            ["  ☑ step 0", "  ◐ step 1", "  ☐ step 2"]
        );
        assert!(!todos.are_done());
        let long: Vec<&str> = [vec!["completed"; 9], vec!["pending"; 3]].concat();
        let todos = of("create_todos", &list(&long)).expect("a list");
        let lines = todos.lines(Style::plain());
        assert_eq!((lines.len(), lines[0].as_str()), (9, "  ☑ step 4"));
        assert_eq!(lines[8], "  9 of 12 done");
    }

    #[test]
    fn a_list_fits_the_terminal_however_small_it_becomes() {
        let notes = "- [x] 網を直す\n- [ ] paint the boat before the winter comes\n- [ ] sail";
        let mut rows = TodoRows(Todos::of_notes(notes).lines(Style::plain()));
        let mut shown = |width, height| {
            rows.render(Area {
                width,
                height,
                focused: false,
            })
        };
        assert_eq!(
            shown(24, 24),
            [
                "  ☑ 網を直す",
                "  ☐ paint the boat",
                "    before the winter",
                "    comes",
                "  ☐ sail"
            ]
        );
        assert_eq!(
            shown(24, 6),
            ["  ☑ 網を直す", "  ☐ paint the boat befor", "  ☐ sail"]
        );
        assert_eq!(shown(9, 2), ["  ☑ 網を"]);
    }

    #[test]
    fn other_outputs_are_no_lists() {
        assert_eq!(of("shell", &list(&["pending"])), None);
        assert_eq!(of("mark_todos", "not found"), None);
        assert_eq!(of("mark_todos", "{\"all_todos\": 3}"), None);
        let todos = of("list_todos", &list(&["completed"])).expect("a list");
        assert!(todos.are_done());
    }
}
