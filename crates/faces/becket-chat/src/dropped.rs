//! Pictures that a line names: a terminal writes the path of a file that is dropped on it or pasted into it. The model
//! is shown the picture, beside the words.

use std::path::{Path, PathBuf};

use becket_events::Part;
use becket_run::read_picture;
use becket_system::{Surroundings, harmless_name};

/// The ends of the names of pictures.
const ENDS: &[&str] = &["png", "jpg", "jpeg", "gif", "webp"];

/// How many pictures go with one line.
const MOST: usize = 10;

/// Reads the pictures that a line names, and says so.
pub fn pictures(line: &str, surroundings: &Surroundings) -> Vec<Part> {
    let home = surroundings.variable("HOME").map(PathBuf::from);
    let files = named(line, &surroundings.cwd, home.as_deref());
    let read = |file: PathBuf| match read_picture(&file) {
        Ok(picture) => {
            let shown = harmless_name(&file.display().to_string());
            surroundings.remark(&format!("the model sees the picture {shown}"));
            Some(picture)
        }
        Err(error) => {
            surroundings.complain(&error.to_string());
            None
        }
    };
    files.into_iter().filter_map(read).collect()
}

/// Says of the pictures that a line names that the model does not see them.
pub fn tell_unsent(line: &str, surroundings: &Surroundings) {
    for file in named(line, &surroundings.cwd, None) {
        let shown = harmless_name(&file.display().to_string());
        surroundings.remark(&format!(
            "the model does not see the picture {shown}: a line from a pipe sends no files; --image FILE does"
        ));
    }
}

/// The files that a line names as pictures: by whole paths, as terminals write them, or after `@`. A name in a sentence
/// is only a name.
fn named(line: &str, folder: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for word in words(line) {
        let word = word.trim_end_matches([',', '.', ';', ':', '!', '?', ')']);
        let file = match (
            word.strip_prefix('@'),
            word.strip_prefix("file://"),
            word.strip_prefix("~/"),
        ) {
            (Some(path), ..) => folder.join(path),
            (_, Some(address), _) => PathBuf::from(decoded(address)),
            (_, _, Some(path)) => home.unwrap_or(Path::new("/")).join(path),
            _ if word.starts_with('/') => PathBuf::from(word),
            _ => continue,
        };
        let end = file.extension().and_then(|end| end.to_str()).unwrap_or_default();
        let is_picture = ENDS.contains(&end.to_ascii_lowercase().as_str()) && file.is_file();
        if is_picture && !files.contains(&file) && files.len() < MOST {
            files.push(file);
        }
    }
    files
}

/// The words of a line, as a shell would read them: quoted ones and those with escaped blanks are one.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), letter) => word.push(letter),
            // An apostrophe within a word begins nothing.
            (None, '\'' | '"') if word.is_empty() => quote = Some(letter),
            (None, '\\') => word.extend(letters.next()),
            (None, letter) if letter.is_whitespace() => words.push(std::mem::take(&mut word)),
            (None, letter) => word.push(letter),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The path in an address of a file.
fn decoded(address: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = address.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = after.get(..2).filter(|_| *first == b'%');
        let value = pair.and_then(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        match value {
            Some(value) => {
                bytes.push(value);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_that_are_there_and_are_named_as_such_are_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a boat.png", "b.JPG", "c.txt"] {
            std::fs::write(folder.path().join(name), "x").expect("it can be written");
        }
        let path = folder.path().display().to_string();
        let boat = folder.path().join("a boat.png");
        for line in [
            format!("look at '{path}/a boat.png'"),
            format!("look at \"{path}/a boat.png\", it isn't"),
            format!("{path}/a\\ boat.png"),
            format!("file://{path}/a%20boat.png"),
            "@a\\ boat.png".to_owned(),
            "~/a\\ boat.png and ~/a\\ boat.png".to_owned(),
        ] {
            assert_eq!(
                named(&line, folder.path(), Some(folder.path())),
                std::slice::from_ref(&boat),
                "{line}"
            );
        }
        assert_eq!(
            named("@b.JPG", folder.path(), None),
            [folder.path().join("b.JPG")]
        );
        for line in ["b.JPG", "@c.txt", "@none.png", "don't @", ""] {
            assert!(named(line, folder.path(), None).is_empty(), "{line}");
        }
    }
}
