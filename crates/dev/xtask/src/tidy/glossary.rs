//! The words of the glossary: no two types bear the same one.

use std::collections::BTreeMap;

use super::finding::Finding;
use crate::workspace::SourceFile;

/// Finds types that bear a word of the glossary in `architecture`, where another type bears it already.
pub fn words_mean_one_type(architecture: &str, files: &[SourceFile]) -> Vec<Finding> {
    let words = words_of(architecture);
    let mut bearers: BTreeMap<String, String> = BTreeMap::new();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_shipped()) {
        for (number, line) in file.text.lines().enumerate() {
            let Some(name) = type_in(line).filter(|name| words.iter().any(|word| word == name)) else {
                continue;
            };
            let place = format!("{}:{}", file.path, number + 1);
            match bearers.get(name) {
                None => {
                    bearers.insert(name.to_owned(), place);
                }
                Some(first) => {
                    let message = format!("`{name}` is a word of the glossary, and a type already: {first}");
                    findings.push(Finding::new(file, number + 1, message));
                }
            }
        }
    }
    findings
}

/// The words in the first column of the glossary, written as types are.
fn words_of(architecture: &str) -> Vec<String> {
    let glossary = architecture.split("\n## Glossary\n").nth(1).unwrap_or_default();
    let glossary = glossary.split("\n## ").next().unwrap_or_default();
    let rows = glossary.lines().filter(|line| line.starts_with("| ")).skip(1);
    let words = rows.filter_map(|row| row.split('|').nth(1));
    words
        .flat_map(|cell| cell.split(','))
        .map(|word| capitalised(word.trim()))
        .collect()
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The name of the type that a line at the top of a module declares. Types inside of functions and traits do not count.
fn type_in(line: &str) -> Option<&str> {
    let mut words = line.split(' ').skip_while(|word| word.starts_with("pub"));
    ["struct", "enum", "trait", "type", "union"]
        .contains(&words.next()?)
        .then_some(())?;
    let name = words.next()?;
    name.split(|letter: char| !letter.is_alphanumeric()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_type_with_a_word_of_the_glossary_is_told() {
        let architecture = "# A\n\n## Glossary\n\n| word | meaning |\n|---|---|\n| gate | x |\n\
                            | operation, profile | y |\n\n## B\n\n| row | z |\n";
        let file = |path: &str, text: &str| SourceFile {
            path: path.into(),
            text: text.into(),
        };
        let files = [
            file(
                "crates/agent/a/src/lib.rs",
                "pub struct Gate {\n    type Profile;\n}\n",
            ),
            file(
                "crates/agent/b/src/lib.rs",
                "struct Row;\n\npub(crate) enum Gate<T> {}\nstruct Gates;\n",
            ),
            file(
                "crates/agent/c/src/lib.rs",
                "pub trait Profile: Send {}\nstruct Row;\n",
            ),
        ];
        let found: Vec<String> = words_mean_one_type(architecture, &files)
            .iter()
            .map(ToString::to_string)
            .collect();
        let told = "crates/agent/b/src/lib.rs:3: `Gate` is a word of the glossary, and a type already: \
                    crates/agent/a/src/lib.rs:1";
        assert_eq!(found, [told]);
    }
}
