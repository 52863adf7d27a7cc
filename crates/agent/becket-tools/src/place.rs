//! Where the files of a call are, as far as it affects how they are shown.

use becket_agent::gate::Target;

/// The longest line of a cached output; longer ones are shown as several.
const LINE_CHARS: usize = 1_000;

/// Where files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSource {
    /// In the file system, where .gitignore counts.
    System,
    /// In the virtual file system, where .gitignore does not count.
    Virtual,
    /// In the cache of outputs. Programs print lines of any length; as long ones are shown in pieces, any part of an
    /// output can be reached by the number of a line.
    Cache,
}

impl FileSource {
    pub(crate) fn of(target: &Target) -> Self {
        match target {
            Target::Vfs(_) if target.is_cached_output() => Self::Cache,
            Target::Vfs(_) => Self::Virtual,
            _ => Self::System,
        }
    }
}

/// The bytes with a line end after every `LINE_CHARS` characters of a line.
pub(crate) fn broken_lines(bytes: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(bytes.len() + bytes.len() / LINE_CHARS);
    let mut characters = 0;
    for byte in bytes {
        // A byte that goes on with a character never begins a piece.
        let begins = byte & 0xC0 != 0x80;
        if characters == LINE_CHARS && begins && *byte != b'\n' {
            result.push(b'\n');
            characters = 0;
        }
        characters = match byte {
            b'\n' => 0,
            _ => characters + usize::from(begins),
        };
        result.push(*byte);
    }
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_line_comes_in_pieces_that_make_it_up() {
        let line = "ä".repeat(2_500);
        let text = String::from_utf8(broken_lines(line.as_bytes())).unwrap();
        let pieces: Vec<&str> = text.lines().collect();
        assert_eq!(pieces.len(), 3);
        assert_eq!(pieces.concat(), line);
        let exact = format!("{}\nx", "y".repeat(LINE_CHARS));
        assert_eq!(broken_lines(exact.as_bytes()), exact.as_bytes());
    }

    proptest! {
        #[test]
        fn nothing_but_line_ends_is_added(bytes in prop::collection::vec(any::<u8>(), 0..5_000)) {
            let without_ends = |bytes: &[u8]| -> Vec<u8> {
                bytes.iter().copied().filter(|byte| *byte != b'\n').collect()
            };
            prop_assert_eq!(without_ends(&broken_lines(&bytes)), without_ends(&bytes));
        }
    }
}
