//! Patterns in pi's settings: `*` and `?` include, `!x` excludes, `+x` adds one file back, `-x` removes one.

use std::path::Path;

use becket_hooks::{Glob, Slashes};

use super::extension_place::Entry;

/// Whether an entry of a list is a pattern, not a plain path.
pub(super) fn is_pattern(entry: &str) -> bool {
    is_override(entry) || is_glob(entry)
}

/// Whether an entry changes the choice that others have made.
pub(super) fn is_override(entry: &str) -> bool {
    entry.starts_with(['!', '+', '-'])
}

/// Whether an entry may stand for several files.
pub(super) fn is_glob(entry: &str) -> bool {
    entry.contains(['*', '?'])
}

/// The files that patterns leave, in their order. A pattern without a prefix includes; without any such pattern, all
/// files are included.
pub(super) fn chosen(entries: Vec<Entry>, patterns: &[&String], base: &Path) -> Vec<Entry> {
    let including: Vec<&str> = patterns
        .iter()
        .map(|pattern| pattern.as_str())
        .filter(|pattern| !is_override(pattern))
        .collect();
    let overrides = Overrides::of(patterns);
    let is_included =
        |file: &Path| including.is_empty() || including.iter().any(|pattern| matches(pattern, file, base));
    let mut entries = entries;
    entries.retain(|entry| {
        overrides
            .decide(&entry.file, base)
            .unwrap_or_else(|| is_included(&entry.file))
    });
    entries
}

/// The patterns of a list that change the choice that others have made.
pub(super) struct Overrides<'a> {
    without: Vec<&'a str>,
    with: Vec<&'a str>,
    never: Vec<&'a str>,
}

impl<'a> Overrides<'a> {
    pub(super) fn of(patterns: &[&'a String]) -> Self {
        let beginning = |mark: char| {
            let patterns = patterns.iter();
            patterns
                .filter_map(|pattern| pattern.strip_prefix(mark))
                .collect()
        };
        Self {
            without: beginning('!'),
            with: beginning('+'),
            never: beginning('-'),
        }
    }

    /// Whether the patterns keep a file that was found.
    pub(super) fn allow(&self, file: &Path, base: &Path) -> bool {
        self.decide(file, base).unwrap_or(true)
    }

    /// The decision of the patterns about a file, if there is one.
    fn decide(&self, file: &Path, base: &Path) -> Option<bool> {
        let exactly = |patterns: &[&str]| patterns.iter().any(|pattern| is_exactly(pattern, file, base));
        if exactly(&self.never) {
            return Some(false);
        }
        if exactly(&self.with) {
            return Some(true);
        }
        let without = self.without.iter().any(|pattern| matches(pattern, file, base));
        without.then_some(false)
    }
}

/// Whether a pattern matches the path from the base, the name alone, or the whole path.
fn matches(pattern: &str, file: &Path, base: &Path) -> bool {
    let pattern = glob(pattern);
    let below = file.strip_prefix(base).unwrap_or(file).to_string_lossy();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    pattern(&below) || pattern(&name) || pattern(&file.to_string_lossy())
}

fn is_exactly(pattern: &str, file: &Path, base: &Path) -> bool {
    let pattern = Path::new(pattern.strip_prefix("./").unwrap_or(pattern));
    file == pattern || file.strip_prefix(base).is_ok_and(|below| below == pattern)
}

/// A pattern in which `*` does not match a slash. An invalid pattern matches only itself.
pub(super) fn glob(pattern: &str) -> impl Fn(&str) -> bool + use<> {
    let plain = pattern.to_owned();
    let built = Glob::new(pattern, Slashes::Apart).ok();
    move |text| built.as_ref().map_or(text == plain, |built| built.is_match(text))
}
