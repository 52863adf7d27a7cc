//! The size of types: they have few methods, in few files.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use crate::workspace::SourceFile;

/// The most methods of a type, and the most files that they are in.
const MOST_METHODS: usize = 40;
const MOST_FILES: usize = 3;

/// Types that must be larger: the crate, the type, and why.
const MUST_BE: &[(&str, &str, &str)] = &[
    (
        "becket-scheme",
        "Compiler",
        "one method for each form of the language",
    ),
    (
        "becket-scheme",
        "Expander",
        "one method for each form of the language",
    ),
    ("becket-scheme", "Heap", "one method for each kind of object"),
    ("becket-scheme", "Machine", "one method for each instruction"),
    (
        "becket-shell",
        "Reader",
        "one method for each construct of the shell",
    ),
];

/// The methods of a type in one crate.
#[derive(Default)]
struct Methods<'a> {
    count: usize,
    files: BTreeSet<&'a str>,
}

/// Finds types that are too large.
pub fn types_are_small(files: &[SourceFile]) -> Vec<Finding> {
    let mut types: BTreeMap<(&str, String), Methods<'_>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_shipped()) {
        for (name, count) in methods_of(file.shipped_code()) {
            let methods = types.entry((file.crate_name(), name)).or_default();
            methods.count += count;
            methods.files.insert(&file.path);
        }
    }
    let findings = types.iter().filter_map(|((crate_name, name), methods)| {
        let message = trouble(crate_name, name, methods)?;
        let path = methods.files.first()?.to_string();
        Some(Finding {
            path,
            line: 1,
            message,
        })
    });
    findings.collect()
}

fn trouble(crate_name: &str, name: &str, Methods { count, files }: &Methods<'_>) -> Option<String> {
    if MUST_BE
        .iter()
        .any(|(known, other, _)| (*known, *other) == (crate_name, name))
    {
        return None;
    }
    let places = files.len();
    (*count > MOST_METHODS || places > MOST_FILES).then(|| {
        format!("`{name}` has {count} methods in {places} files, at most {MOST_METHODS} in {MOST_FILES}")
    })
}

/// How many methods the code gives to which types. It must be formatted by rustfmt.
fn methods_of<'a>(code: impl Iterator<Item = &'a str>) -> Vec<(String, usize)> {
    let mut types: Vec<(String, usize)> = Vec::new();
    let mut is_inside = false;
    for line in code {
        match line.strip_prefix("impl").filter(|_| !line.contains(" for ")) {
            Some(rest) => {
                types.push((type_of(rest), 0));
                is_inside = true;
            }
            None if line.starts_with('}') || line.starts_with("impl") => is_inside = false,
            None if is_inside && is_method(line) => {
                types
                    .iter_mut()
                    .last()
                    .into_iter()
                    .for_each(|(_, count)| *count += 1);
            }
            None => {}
        }
    }
    types.retain(|(_, count)| *count > 0);
    types
}

/// The name behind `impl` and its parameters.
fn type_of(rest: &str) -> String {
    let mut depth = 0;
    let behind = rest.char_indices().find(|(_, letter)| {
        depth += i32::from(*letter == '<') - i32::from(*letter == '>');
        depth == 0 && letter.is_alphabetic()
    });
    let name = behind.map_or("", |(at, _)| &rest[at..]);
    name.chars()
        .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
        .collect()
}

fn is_method(line: &str) -> bool {
    let Some(line) = line.strip_prefix("    ").filter(|line| !line.starts_with(' ')) else {
        return false;
    };
    let mut words = line.split(' ');
    let before = ["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe"];
    words.find(|word| !before.contains(word)) == Some("fn")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_count_for_their_type_wherever_they_stand() {
        let text = "struct A;\nimpl A {\n    pub fn one() {\n        fn inner() {}\n    }\n\n    async fn two() {}\n}\n\
                    impl Clone for A {\n    fn clone(&self) {}\n}\nimpl<'a, T: Into<A>> B<'a, T> {\n\
                    \x20   const fn three() {}\n}\n";
        assert_eq!(
            methods_of(text.lines()),
            [("A".to_owned(), 2), ("B".to_owned(), 1)]
        );
    }

    #[test]
    fn a_type_that_is_too_large_is_told() {
        let body: String = (0..=MOST_METHODS)
            .map(|number| format!("    fn f{number}() {{}}\n"))
            .collect();
        let file = |path: &str, text: String| SourceFile {
            path: path.into(),
            text,
        };
        let files = [
            file(
                "crates/host/becket-x/src/a.rs",
                format!("impl Large {{\n{body}}}\n"),
            ),
            file(
                "crates/host/becket-x/src/b.rs",
                "impl Small {\n    fn one() {}\n}\n".into(),
            ),
        ];
        let found: Vec<String> = types_are_small(&files).iter().map(ToString::to_string).collect();
        let told = "crates/host/becket-x/src/a.rs:1: `Large` has 41 methods in 1 files, at most 40 in 3";
        assert_eq!(found, [told]);
    }
}
