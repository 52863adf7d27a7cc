//! Variables of a system in the text of a command, where their values are known before anything runs.

use std::collections::BTreeMap;

/// A word with `${NAME}` replaced as plain text.
pub fn replaced(word: &str, variables: &BTreeMap<String, String>) -> String {
    let variables = variables.iter();
    variables.fold(word.to_owned(), |word, (name, value)| {
        word.replace(&format!("${{{name}}}"), value)
    })
}

/// A line for a shell with `$NAME` and `${NAME}` replaced as plain text.
pub fn expanded(line: &str, variables: &BTreeMap<String, String>) -> String {
    // In reverse: a name that begins with another one is replaced before it.
    let names = variables.iter().rev();
    names.fold(replaced(line, variables), |line, (name, value)| {
        line.replace(&format!("${name}"), value)
    })
}
