//! The shape of files: what their first line says, how long their lines and functions are.

use super::finding::Finding;
use crate::workspace::SourceFile;

/// The longest function, in lines.
const LONGEST_FUNCTION: usize = 70;

/// The longest line, in columns.
const LONGEST_LINE: usize = 120;

/// The comment above a function that is a table, and may be as long as it needs.
const TABLE_MARK: &str = "// tidy: a table";

/// Names of files in which anything may be found.
const MEETING_PLACES: &[&str] = &["common", "helpers", "misc", "util", "utils"];

/// Checks that every file starts with what it is for.
pub fn says_what_it_is_for(file: &SourceFile) -> Vec<Finding> {
    let says = file.text.starts_with("//! ");
    (!says)
        .then(|| Finding::new(file, 1, "the file must start with `//!` that says what it is for"))
        .into_iter()
        .collect()
}

/// Checks that no file is a collection of unrelated helpers.
pub fn has_a_telling_name(file: &SourceFile) -> Vec<Finding> {
    let name = file.path.trim_end_matches("/mod.rs").trim_end_matches(".rs");
    let name = name.rsplit('/').next().unwrap_or_default();
    MEETING_PLACES
        .contains(&name)
        .then(|| Finding::new(file, 1, format!("`{name}` says nothing about what is inside")))
        .into_iter()
        .collect()
}

/// Checks the length of lines. A long text in a test is data, and stays in one piece.
pub fn lines_are_short(file: &SourceFile) -> Vec<Finding> {
    let lines = file.text.lines().enumerate();
    let shipped = if file.is_shipped() {
        file.shipped_lines()
    } else {
        0
    };
    let is_test = |line: usize| line > shipped;
    lines
        .map(|(index, line)| (index + 1, line))
        .filter(|(number, line)| !(is_test(*number) && line.contains('"')))
        .map(|(number, line)| (number, line.chars().count()))
        .filter(|(_, columns)| *columns > LONGEST_LINE)
        .map(|(line, columns)| Finding::new(file, line, format!("{columns} columns, at most {LONGEST_LINE}")))
        .collect()
}

/// Checks that lines do not end with blanks.
pub fn lines_end_cleanly(file: &SourceFile) -> Vec<Finding> {
    let lines = file.text.lines().enumerate();
    lines
        .filter(|(_, line)| line.ends_with(char::is_whitespace))
        .map(|(index, _)| Finding::new(file, index + 1, "blanks at the end of the line"))
        .collect()
}

/// Checks the length of functions.
pub fn functions_are_short(file: &SourceFile) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().collect();
    let starts = (0..lines.len()).filter(|index| function_name(lines[*index]).is_some());
    starts
        .filter(|start| !is_table(&lines, *start))
        .filter_map(|start| Some((start, length(&lines[start..])?)))
        .filter(|(_, length)| *length > LONGEST_FUNCTION)
        .map(|(start, length)| {
            let name = function_name(lines[start]).unwrap_or_default();
            let message = format!("`{name}` has {length} lines, at most {LONGEST_FUNCTION}");
            Finding::new(file, start + 1, message)
        })
        .collect()
}

/// The name of the function that begins on a line.
fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    let qualifiers = ["pub ", "pub(crate) ", "pub(super) ", "const ", "async "];
    while let Some(shorter) = qualifiers.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = shorter;
    }
    let rest = rest.strip_prefix("fn ")?;
    let end = rest.find(|character: char| !character.is_alphanumeric() && character != '_')?;
    (end > 0).then(|| &rest[..end])
}

/// Whether the comment block right above a function says that it is a table.
fn is_table(lines: &[&str], start: usize) -> bool {
    let above = lines[..start].iter().rev();
    above
        .map(|line| line.trim_start())
        .take_while(|line| line.starts_with("//") || line.starts_with("#["))
        .any(|line| line.starts_with(TABLE_MARK))
}

/// The lines of a function, from its name to the brace below its first letter. `None` for one without a body, or with a
/// body on one line. rustfmt puts the braces where this looks for them.
fn length(lines: &[&str]) -> Option<usize> {
    let depth = indent(lines[0]);
    let opens = lines.iter().position(|line| {
        let ends = line.ends_with('{') || line.ends_with(';') || line.ends_with('}');
        ends && indent(line) == depth
    })?;
    if !lines[opens].ends_with('{') {
        return None;
    }
    let closes = lines[opens..]
        .iter()
        .position(|line| line.trim_start() == "}" && indent(line) == depth)?;
    Some(opens + closes + 1)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: String) -> SourceFile {
        SourceFile {
            path: "crates/x/src/lib.rs".into(),
            text,
        }
    }

    fn function(name: &str, body_lines: usize, indent: &str) -> String {
        let body = format!("{indent}    if x {{\n{indent}    }}\n").repeat(body_lines / 2);
        format!(
            "{indent}pub(crate) async fn {name}(\n{indent}    x: bool,\n{indent}) -> u8 {{\n{body}{indent}}}\n"
        )
    }

    #[test]
    fn a_long_function_is_found_with_its_place_and_length() {
        let text = format!(
            "//! X.\n{}{}",
            function("short", 60, ""),
            function("long", 68, "    ")
        );
        let found: Vec<String> = functions_are_short(&file(text))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["crates/x/src/lib.rs:66: `long` has 72 lines, at most 70"]);
    }

    #[test]
    fn a_table_may_be_long() {
        let text = format!("/// Names.\n// tidy: a table\n{}", function("names", 100, ""));
        assert!(functions_are_short(&file(text)).is_empty());
    }

    #[test]
    fn functions_without_a_body_do_not_swallow_the_next_one() {
        let text = format!(
            "trait T {{\n    fn a(&self);\n    fn b(&self) {{}}\n{}}}\n",
            function("c", 10, "    ")
        );
        assert!(functions_are_short(&file(text)).is_empty());
        assert_eq!(length(&["    fn a(&self);", "    }"]), None);
    }

    #[test]
    fn a_file_says_what_it_is_for_and_has_a_name() {
        assert_eq!(says_what_it_is_for(&file("use x;\n".into())).len(), 1);
        assert!(says_what_it_is_for(&file("//! X.\n".into())).is_empty());
        let named = |path: &str| SourceFile {
            path: path.into(),
            text: String::new(),
        };
        assert_eq!(has_a_telling_name(&named("crates/x/src/utils.rs")).len(), 1);
        assert_eq!(
            has_a_telling_name(&named("crates/x/tests/common/mod.rs")).len(),
            1
        );
        assert!(has_a_telling_name(&named("crates/x/src/gate.rs")).is_empty());
    }

    #[test]
    fn long_lines_and_blanks_at_the_end_are_found() {
        assert_eq!(
            lines_are_short(&file(format!("//! X.\n{}\n", "ä".repeat(121))))[0].line,
            2
        );
        assert!(lines_are_short(&file("ä".repeat(120))).is_empty());
        assert_eq!(lines_end_cleanly(&file("a\nb \n".into()))[0].line, 2);
    }
}
