//! Which tools, or which occasions of another event, a hook is for.

use regex::Regex;

/// What a matcher's text means.
#[derive(Debug, Clone)]
pub enum NameMatcher {
    /// Everything.
    All,
    /// These names.
    Names(Vec<String>),
    /// Names in which the expression is found.
    Found(Regex),
    /// Nothing.
    Nothing,
}

impl NameMatcher {
    /// A list of names, separated by one of these characters.
    pub fn names(text: &str, separators: &[char]) -> Self {
        let names = text.split(separators).map(str::trim);
        Self::Names(
            names
                .filter(|name| !name.is_empty())
                .map(ToOwned::to_owned)
                .collect(),
        )
    }

    /// A regular expression that may be found anywhere in a name. The error says why it cannot be read.
    pub fn found(expression: &str) -> Result<Self, String> {
        let regex = Regex::new(expression).map_err(|error| {
            let words = error.to_string();
            words.lines().last().unwrap_or_default().trim().to_owned()
        })?;
        Ok(Self::Found(regex))
    }

    /// An expression of JavaScript that may be found anywhere in a name.
    pub fn found_by_javascript(expression: &str) -> Result<Self, String> {
        Self::found(&from_javascript(expression))
    }

    /// An expression of JavaScript for a whole name.
    pub fn whole(expression: &str) -> Result<Self, String> {
        Self::found(&format!("^(?:{})$", from_javascript(expression)))
    }

    /// Whether a name is meant.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Names(names) => names.iter().any(|known| known == name),
            Self::Found(regex) => regex.is_match(name),
            Self::Nothing => false,
        }
    }
}

/// An expression of JavaScript as this crate's expressions have it: escapes of letters and signs that mean nothing
/// there stand for themselves, and so do the signs that combine classes here.
fn from_javascript(expression: &str) -> String {
    let mut read = String::with_capacity(expression.len());
    let mut in_class = false;
    let mut rest = expression.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.next() {
                Some(plain @ ('<' | '>' | 'a' | 'A' | 'z' | 'e' | 'Z')) => read.push(plain),
                Some(escaped) => read.extend(['\\', escaped]),
                None => read.push('\\'),
            },
            '[' if in_class => read.push_str("\\["),
            '&' | '-' | '~' if in_class && rest.peek() == Some(&character) => read.extend(['\\', character]),
            _ => {
                in_class = (in_class && character != ']') || character == '[';
                read.push(character);
            }
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_mean_what_they_mean_in_javascript() {
        for (expression, text, fits) in [
            (r"\>\s*/tmp", "echo x > /tmp/y", true),
            (r"\<\(", "cat <(ls)", true),
            (r"[|&&;]\s*true", "x & true", true),
            (r"[|&&;]\s*true", "x; true", true),
            (r"[&&|]", "a | b", true),
            (r"[a[]", "[", true),
            (r"[--/]", "/", true),
            (r"\a", "cat", true),
            (r"\bgit\b", "git", true),
            (r"^\S+$", "a b", false),
            (r"rm\s+-rf", "rm  -rf x", true),
        ] {
            let matcher = NameMatcher::found_by_javascript(expression).expect("it can be read");
            assert_eq!(matcher.matches(text), fits, "{expression}: {text}");
        }
    }
}
