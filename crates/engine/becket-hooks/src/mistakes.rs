//! All mistakes of a settings file, where its reader stops at the first: what is wrong is mended or taken out, and the
//! rest is read again.

use std::borrow::Cow;
use std::ops::Range;

use crate::settings_file::SettingsError;
use crate::toml_text::parse_table;

/// At most so many mistakes of a file are found.
const MOST: usize = 100;

/// How a file shows which lines belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// By headers of tables, as in TOML.
    Tables,
    /// By indentation, as in YAML.
    Indentation,
}

/// Reads a TOML file; the error is all of its mistakes, in the order of their lines.
pub fn read_or_mistakes<T>(
    text: &str,
    read: impl Fn(&str) -> Result<T, SettingsError>,
) -> Result<T, Vec<SettingsError>> {
    match read_around_mistakes(text, Layout::Tables, read) {
        (mistakes, Some(value)) if mistakes.is_empty() => Ok(value),
        (mistakes, _) => Err(mistakes),
    }
}

/// Reads a text, and if it has mistakes, everything around them. Returns the mistakes in the order of their lines, and
/// what the rest reads as, if it can be read.
pub fn read_around_mistakes<T>(
    text: &str,
    layout: Layout,
    read: impl Fn(&str) -> Result<T, SettingsError>,
) -> (Vec<SettingsError>, Option<T>) {
    let first = match read(text) {
        Ok(value) => return (Vec::new(), Some(value)),
        Err(error) => error,
    };
    // What cannot even be parsed is one mistake: everything after it may be read wrongly.
    if layout == Layout::Tables && parse_table(text).is_err() {
        return (vec![first], None);
    }
    let mut left = Lines::of(text, layout);
    let mut found: Vec<SettingsError> = Vec::new();
    let mut next = Some(first);
    while let Some(error) = next.take() {
        let index = error.line.saturating_sub(1);
        if found.len() == MOST || left.is_out.get(index).is_none_or(|is_out| *is_out) {
            break;
        }
        // A block from which something was taken out may well lack it now.
        let lacks_something = left.is_out[left.block(index)].contains(&true);
        let is_consequence = lacks_something || found.iter().any(|known| known.line == error.line);
        if is_consequence || !left.mend(index, &error.message) {
            left.take_out(index);
        }
        if !is_consequence {
            found.push(error);
        }
        match read(&left.text()) {
            Err(error) => next = Some(error),
            Ok(value) => {
                found.sort_by_key(|error| error.line);
                // A hook without its mistakes is not the hook that was meant.
                found.iter().for_each(|error| left.take_out_table(error.line - 1));
                return (found, read(&left.text()).ok().or(Some(value)));
            }
        }
    }
    found.sort_by_key(|error| error.line);
    (found, None)
}

/// The lines of a text, some of which are mended or taken out.
struct Lines<'a> {
    lines: Vec<Cow<'a, str>>,
    is_out: Vec<bool>,
    layout: Layout,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str, layout: Layout) -> Self {
        let lines: Vec<Cow<'_, str>> = text.lines().map(Cow::Borrowed).collect();
        Self {
            is_out: vec![false; lines.len()],
            lines,
            layout,
        }
    }

    /// The text with empty lines in place of those that are taken out, so that all others keep their numbers.
    fn text(&self) -> String {
        let lines = self.lines.iter().zip(&self.is_out);
        let lines = lines.map(|(line, is_out)| if *is_out { "" } else { &**line });
        lines.flat_map(|line| [line, "\n"]).collect()
    }

    /// The lines that belong to a line: a table with its tables, or what is indented further.
    fn block(&self, index: usize) -> Range<usize> {
        let begins = &*self.lines[index];
        let end = |belongs: &dyn Fn(&str) -> bool| {
            let after = self.lines[index + 1..].iter();
            index
                + 1
                + after
                    .take_while(|line| line.trim().is_empty() || belongs(line))
                    .count()
        };
        match (self.layout, header(begins)) {
            (Layout::Indentation, _) => index..end(&|line| indentation(line) > indentation(begins)),
            (Layout::Tables, None) => index..index + 1,
            (Layout::Tables, Some(name)) => {
                index..end(&|line| {
                    let below =
                        |inner: &str| inner.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
                    header(line).is_none_or(below)
                })
            }
        }
    }

    /// Writes the word into a line that the message suggests for a wrong one, so that what belongs to it is read, too.
    fn mend(&mut self, index: usize, message: &str) -> bool {
        let quoted_after = |beginning: &str| {
            let (_, rest) = message.split_once(beginning)?;
            rest.split('`').nth(1)
        };
        let (Some(wrong), Some(right)) = (quoted_after("unknown "), quoted_after("did you mean ")) else {
            return false;
        };
        let mended = self.lines[index].replacen(wrong, right, 1);
        let is_mended = mended != self.lines[index];
        self.lines[index] = mended.into();
        is_mended
    }

    /// Takes out a line with what belongs to it. A value of several lines goes with its whole table.
    fn take_out(&mut self, index: usize) {
        let block = self.block(index);
        self.is_out[block].fill(true);
        if self.layout == Layout::Tables && parse_table(&self.text()).is_err() {
            self.take_out_table(index);
        }
    }

    /// Takes out the table in which a line stands. A file without tables stays as it is.
    fn take_out_table(&mut self, index: usize) {
        let is_header =
            |index: &usize| self.layout == Layout::Tables && header(&self.lines[*index]).is_some();
        if let Some(start) = (0..=index).rev().find(is_header) {
            let block = self.block(start);
            self.is_out[block].fill(true);
        }
    }
}

/// The name of the table that a line begins, without its brackets.
fn header(line: &str) -> Option<&str> {
    let name = line.strip_prefix("[[").or_else(|| line.strip_prefix('['))?;
    let (name, _) = name.split_once(']')?;
    let is_name = |letter: char| letter.is_alphanumeric() || "_-.\"' ".contains(letter);
    (!name.is_empty() && name.chars().all(is_name)).then_some(name.trim())
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Layout, read_around_mistakes};
    use crate::read_hook_file;

    fn mistakes(text: &str) -> (Vec<String>, Option<usize>) {
        let read = |text: &str| read_hook_file(text, Path::new("h.toml"));
        let (errors, rest) = read_around_mistakes(text, Layout::Tables, read);
        let told = errors.iter().map(ToString::to_string);
        (told.collect(), rest.map(|hooks| hooks.len()))
    }

    #[test]
    fn every_mistake_is_told_once_and_the_rest_is_read() {
        let text = "[[hook]]\nevent = \"pre_tool\"\ncomand = \"true\"\n\n\
                    [[hook]]\nevent = \"pre_tol\"\ncommand = \"true\"\ntimeout = -1\n\n\
                    [[hok]]\nevent = \"stop\"\n\n\
                    [[hook]]\nevent = \"stop\"\ncommand = \"true\"\n\n\
                    [[hook]]\nevent = \"stop\"\n";
        let (told, hooks) = mistakes(text);
        let lines: Vec<&str> = told
            .iter()
            .filter_map(|message| message.split(": ").next())
            .collect();
        assert_eq!(
            lines,
            ["h.toml:3", "h.toml:6", "h.toml:8", "h.toml:10", "h.toml:17"],
            "{told:#?}"
        );
        assert_eq!(hooks, Some(1));
    }

    #[test]
    fn a_value_of_several_lines_and_broken_text_end_well() {
        let (told, hooks) =
            mistakes("[[hook]]\nevent = \"stop\"\ncomand = [\n\"a\",\n]\n[[hook]]\nevnt = 1\n");
        assert_eq!(told.len(), 2, "{told:#?}");
        assert_eq!(hooks, Some(0));
        let (told, hooks) =
            mistakes("[[hook]]\nevent = \"stop\"\nqqqqqqqq = [\n\"a\",\n]\ncommand = \"true\"\n");
        assert_eq!((told.len(), hooks), (1, Some(0)), "{told:#?}");
        assert_eq!(mistakes("[[hook]\nevent = 1\nevnt = 2\n").0.len(), 1);
        assert_eq!(mistakes("").0.len(), 0);
        assert_eq!(mistakes("hook = 3").0.len(), 1);
    }
}
