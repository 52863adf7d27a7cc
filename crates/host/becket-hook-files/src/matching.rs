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

    /// A regular expression for a whole name.
    pub fn whole(expression: &str) -> Result<Self, String> {
        Self::found(&format!("^(?:{expression})$"))
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
