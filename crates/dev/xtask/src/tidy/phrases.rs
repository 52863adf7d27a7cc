//! Phrases that a user would have to read twice. Help and reference pages are generated into `docs`, so they are
//! checked there.

use super::finding::Finding;
use crate::workspace::SourceFile;

/// The phrases, each with what to write instead.
const PHRASES: &[(&str, &str)] = &[
    ("where nothing is said", "default: 120"),
    ("the person", "you, or the user"),
    ("mutters", "stderr"),
    ("nobody wanted", "no hook matched"),
    ("that count here", "active"),
    ("nobody is there to say yes", "there is no terminal to ask at"),
    ("nobody's business", "is left alone"),
];

/// Finds such phrases in the pages for users and in the messages of the program.
pub fn users_read_plain_words(pages: &[SourceFile], files: &[SourceFile]) -> Vec<Finding> {
    let own = file!().trim_start_matches("crates/");
    let files = files
        .iter()
        .filter(|file| file.is_shipped() && !file.path.ends_with(own));
    let messages = files.flat_map(|file| {
        let lines = file.shipped_code().enumerate();
        let said = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
        said.map(move |line| (file, line))
    });
    let pages = pages
        .iter()
        .flat_map(|file| file.text.lines().enumerate().map(move |line| (file, line)));
    let found = pages.chain(messages).flat_map(|(file, (number, line))| {
        let line = line.to_lowercase();
        let phrases = PHRASES.iter().filter(move |(phrase, _)| line.contains(phrase));
        phrases.map(move |(phrase, better)| {
            Finding::new(
                file,
                number + 1,
                format!("\"{phrase}\" is no plain English; write \"{better}\""),
            )
        })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_found_in_pages_and_messages_but_not_in_comments_and_tests() {
        let file = |path: &str, text: &str| SourceFile {
            path: path.into(),
            text: text.into(),
        };
        let pages = [file("docs/a.md", "one\nThe person reads.\n")];
        let code = "// the person\nfn a() { say(\"nobody wanted it\") }\n#[cfg(test)]\nmod tests {\n\"mutters\"\n}\n";
        let files = [
            file("crates/agent/a/src/lib.rs", code),
            file("crates/agent/a/tests/b.rs", "mutters"),
        ];
        let found = users_read_plain_words(&pages, &files);
        let places: Vec<String> = found
            .iter()
            .map(|found| format!("{}:{}", found.path, found.line))
            .collect();
        assert_eq!(places, ["docs/a.md:2", "crates/agent/a/src/lib.rs:2"]);
    }
}
