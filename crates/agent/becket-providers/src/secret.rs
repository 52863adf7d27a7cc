//! A key that cannot be printed by accident.

use std::fmt;

use serde::Deserialize;

/// A provider's key. Its `Debug` output is `***`; it has no `Display` and cannot be serialised.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Secret(String);

impl Secret {
    /// Takes a key, and trims white space around it, such as the line end of a key file.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// Whether the key is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key itself, for the header of a request and for nothing else.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The text with every occurrence of the key masked: a provider may quote the key it refused.
    pub(crate) fn redact(&self, text: &str) -> String {
        // Placeholders such as "x" or "none" for local servers are no secrets, and masking them would garble words.
        if self.0.len() < 8 {
            return text.to_owned();
        }
        text.replace(&self.0, "***")
    }
}

impl From<String> for Secret {
    fn from(key: String) -> Self {
        Self::new(key)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_key() {
        let secret = Secret::new(" sk-very-secret\n");
        assert_eq!(secret.reveal(), "sk-very-secret");
        assert_eq!(format!("{:?}", Some(&secret)), "Some(***)");
        assert_eq!(secret.redact("bad key sk-very-secret!"), "bad key ***!");
    }

    #[test]
    fn a_placeholder_does_not_garble_messages() {
        assert_eq!(Secret::new("x").redact("max exceeded"), "max exceeded");
    }
}
