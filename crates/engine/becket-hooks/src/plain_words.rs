//! The words of a shell line, as far as they can be told without a shell.

/// The words at the beginning of a shell line, without their quotes, up to the end of its first command. Variables stay
/// as they are written.
pub fn plain_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.trim_start().chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')' | '`') => break,
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}
