//! Globs from untrusted text: of a model, a project, an ignore file. Any text is a glob or an error, and reading it
//! never takes long.

use std::path::Path;

use globset::{GlobBuilder, GlobSet};

/// The longest glob, in bytes.
const LONGEST: usize = 4096;

/// How deep braces may be nested.
const DEEPEST: usize = 16;

/// Whether `*` and `?` match a `/` too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slashes {
    /// Wildcards match `/`: the glob is about a text.
    Matched,
    /// Wildcards do not match `/`: the glob is about a path, and only `**` goes from one folder into the next.
    Apart,
}

/// A compiled glob.
#[derive(Debug, Clone)]
pub struct Glob {
    text: String,
    // A single matcher would panic where a set says what is wrong.
    set: GlobSet,
}

impl Glob {
    /// Reads a glob; the error says what is wrong with it.
    pub fn new(text: &str, slashes: Slashes) -> Result<Self, String> {
        check_glob(text)?;
        let wrong = |error: globset::Error| error.kind().to_string();
        let glob = GlobBuilder::new(text)
            .literal_separator(slashes == Slashes::Apart)
            .backslash_escape(true)
            .build()
            .map_err(wrong)?;
        let mut set = GlobSet::builder();
        set.add(glob);
        Ok(Self {
            text: text.to_owned(),
            set: set.build().map_err(wrong)?,
        })
    }

    /// The glob as its author wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the glob matches the whole text or path.
    pub fn is_match(&self, text: impl AsRef<Path>) -> bool {
        self.set.is_match(text)
    }
}

/// Refuses a text that is too long or nested too deep for a glob; the parser recurses once per nested brace.
pub fn check_glob(text: &str) -> Result<(), String> {
    if text.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    let mut depth = 0_usize;
    for character in text.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return Err(format!("more than {DEEPEST} braces stand in one another"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_too_much_is_an_error() {
        let nested = |depth: usize| format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
        assert!(Glob::new(&nested(DEEPEST), Slashes::Apart).unwrap().is_match("a"));
        for text in [
            nested(200),
            nested(1_000_000),
            "{".repeat(100),
            "[".repeat(10_000),
            "?".repeat(1_000_000),
            "{a".into(),
            "[b-a]".into(),
        ] {
            for slashes in [Slashes::Apart, Slashes::Matched] {
                assert!(Glob::new(&text, slashes).is_err(), "{} bytes", text.len());
            }
        }
    }

    #[test]
    fn large_globs_that_are_right_do_not_panic() {
        // Each is within the bounds; whether it compiles depends on the size of the compiled glob.
        for text in ["{a,b}".repeat(800), "**/".repeat(1300), "[!a-z]".repeat(600)] {
            let _ = Glob::new(&text, Slashes::Apart);
        }
        let wide: Vec<String> = (0..400).map(|number| format!("**/{number}*")).collect();
        let _ = Glob::new(&format!("{{{}}}", wide.join(",")), Slashes::Apart);
    }

    #[test]
    fn slashes_are_matched_or_kept_apart() {
        assert!(Glob::new("a*c", Slashes::Matched).unwrap().is_match("a/b/c"));
        assert!(!Glob::new("a*c", Slashes::Apart).unwrap().is_match("a/b/c"));
        assert!(Glob::new("a/**/c", Slashes::Apart).unwrap().is_match("a/b/c"));
    }
}
