//! The names of contexts. A name that exists is a name that is allowed.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use becket_agent::store::StoreError;

/// The longest name of a context, in characters.
const LONGEST: usize = 100;

/// The default name of a context.
const USUAL: &str = "default";

/// The most characters of a folder's name that go into the name of a context.
const LONGEST_OF_FOLDER: usize = 60;

/// The hexadecimal digits of a path's hash that go into the name of a context.
const DIGITS: usize = 8;

/// The name of a context: letters, digits, `_`, `.` and `-`, not starting with `.` or `-`, at most 100 characters.
///
/// Such a name can be used in a command line, in a path and in a URL without any quoting.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextName(String);

/// Why a text is no name of a context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} cannot be the name of a context: {problem}. \
     Letters, digits, `_`, `.` and `-` are allowed; try `{suggestion}`"
)]
pub struct ContextNameError {
    /// The beginning of the text that was given.
    given: String,
    /// What is wrong with the text.
    problem: String,
    /// A valid name that is similar to the text that was given.
    suggestion: String,
}

impl ContextName {
    /// Parses a text that must be a valid name.
    pub fn parse(text: &str) -> Result<Self, ContextNameError> {
        match problem_of(text) {
            None => Ok(Self(text.to_owned())),
            Some(problem) => Err(ContextNameError {
                given: text.chars().take(LONGEST).collect(),
                problem,
                suggestion: suggestion_for(text),
            }),
        }
    }

    /// The default name.
    pub(crate) fn usual() -> Self {
        Self(USUAL.to_owned())
    }

    /// The name of the first context of a folder: the folder's name, and a short hash of its path, since folders in
    /// different places often have the same name.
    pub fn of_folder(folder: &Path) -> Self {
        let name = folder
            .file_name()
            .map_or("root".into(), |name| name.to_string_lossy());
        let mut name = suggestion_for(&name);
        name.truncate(LONGEST_OF_FOLDER);
        let hash = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
        Self(format!("{name}-{}", &hash[..DIGITS]))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ContextNameError {
    /// A valid name that is similar to the text that was given.
    pub fn suggestion(&self) -> &str {
        &self.suggestion
    }
}

impl fmt::Display for ContextName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for ContextName {
    type Err = ContextNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl From<ContextNameError> for StoreError {
    fn from(error: ContextNameError) -> Self {
        Self::new(error.to_string())
    }
}

fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-')
}

fn problem_of(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("it is empty".into());
    }
    if let Some(character) = text.chars().find(|character| !is_allowed(*character)) {
        return Some(format!("it contains {character:?}"));
    }
    if text.starts_with(['.', '-']) {
        return Some(format!("it starts with `{}`", &text[..1]));
    }
    (text.len() > LONGEST)
        .then(|| format!("it is {} characters long, and {LONGEST} is the limit", text.len()))
}

/// A valid name: every run of forbidden characters becomes one `-`, and what must not be at the beginning is left out.
fn suggestion_for(text: &str) -> String {
    let mut suggestion = String::new();
    for character in text.chars() {
        if suggestion.len() == LONGEST {
            break;
        }
        if is_allowed(character) {
            let leads = suggestion.is_empty() && matches!(character, '.' | '-');
            if !leads {
                suggestion.push(character);
            }
        } else if !suggestion.is_empty() && !suggestion.ends_with('-') {
            suggestion.push('-');
        }
    }
    let suggestion = suggestion.trim_end_matches('-');
    if suggestion.is_empty() {
        USUAL.into()
    } else {
        suggestion.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_names_that_need_no_quoting() {
        let longest = "x".repeat(100);
        for name in ["default", "a", "Release_1.2-rc", "0", "_x", &longest] {
            assert_eq!(ContextName::parse(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn every_folder_has_a_name_of_its_own() {
        let long = format!("/{}", "y".repeat(255));
        for (folder, beginning) in [
            ("/work/becket", "becket-"),
            ("/home/me/my project (old)", "my-project-old-"),
            ("/srv/.hidden", "hidden-"),
            ("/srv/größe", "gr-e-"),
            ("/srv/...", "default-"),
            ("/", "root-"),
            ("/tmp/new", "new-"),
            (&long, &"y".repeat(60)),
        ] {
            let name = ContextName::of_folder(Path::new(folder));
            assert_eq!(
                ContextName::parse(name.as_str()),
                Ok(name.clone()),
                "for {folder:?}"
            );
            let hash = name.as_str().strip_prefix(beginning).unwrap_or_default();
            assert_eq!(hash.trim_start_matches('-').len(), 8, "{name} for {folder:?}");
        }
        let [here, there] = ["/a/x", "/b/x"].map(|folder| ContextName::of_folder(Path::new(folder)));
        assert_ne!(here, there);
    }

    #[test]
    fn refuses_the_rest_and_suggests_a_name_that_it_would_take() {
        let too_long = "y".repeat(101);
        let cases = [
            ("work/today", "work-today"),
            ("../../etc/passwd", "etc-passwd"),
            ("-c", "c"),
            (".hidden", "hidden"),
            ("", "default"),
            ("///", "default"),
            ("größe", "gr-e"),
            ("two  words\n", "two-words"),
            ("nul\0", "nul"),
            (&too_long, &too_long[..100]),
        ];
        for (given, suggestion) in cases {
            let error = ContextName::parse(given).unwrap_err();
            assert_eq!(error.suggestion(), suggestion, "for {given:?}");
            assert!(ContextName::parse(error.suggestion()).is_ok(), "for {given:?}");
            assert!(
                error.to_string().contains(&format!("try `{suggestion}`")),
                "{error}"
            );
        }
        let error = ContextName::parse("work/today").unwrap_err().to_string();
        assert!(
            error.starts_with(r#""work/today" cannot be the name of a context: it contains '/'"#),
            "{error}"
        );
    }
}
