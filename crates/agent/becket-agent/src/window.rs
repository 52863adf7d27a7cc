//! How many tokens models can take, as far as that is known. What a provider says in its refusal of a request is
//! learned for the rest of the run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::provider::Provider;

/// How many tokens a model can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The number of tokens; if it is not known, a number that most models can take.
    pub tokens: u64,
    /// Whether the number is known.
    pub is_known: bool,
}

impl Window {
    /// A window whose size is known.
    pub fn known(tokens: u64) -> Self {
        Self {
            tokens,
            is_known: true,
        }
    }
}

/// The windows of models, by `provider/name`, as providers have named them in this run. Clones are the same table, so
/// that sub-agents need not learn them anew.
#[derive(Debug, Clone, Default)]
pub struct LearnedWindows(Arc<Mutex<BTreeMap<String, u64>>>);

impl LearnedWindows {
    /// Notes what a provider has said about a model.
    pub fn learn(&self, model: &str, tokens: u64) {
        let mut windows = self.0.lock().expect("no panic happens while they are held");
        windows.insert(model.to_owned(), tokens);
    }

    /// The window of a model: what its provider has said counts if nothing was known, or if it is less.
    pub fn correct(&self, provider: &dyn Provider, stated: Window) -> Window {
        let model = format!("{}/{}", provider.name(), provider.model());
        self.corrected(&model, stated)
    }

    fn corrected(&self, model: &str, stated: Window) -> Window {
        let windows = self.0.lock().expect("no panic happens while they are held");
        match windows.get(model) {
            Some(tokens) if !stated.is_known || *tokens < stated.tokens => Window::known(*tokens),
            _ => stated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learned_corrects_a_guess_and_a_window_that_is_too_large() {
        let (guess, small) = (
            Window {
                tokens: 128_000,
                is_known: false,
            },
            Window::known(4_000),
        );
        let learned = LearnedWindows::default();
        assert_eq!(learned.corrected("a/b", guess), guess);
        learned.clone().learn("a/b", 200_000);
        assert_eq!(learned.corrected("a/b", guess), Window::known(200_000));
        assert_eq!(learned.corrected("a/b", small), small);
        learned.learn("a/b", 1_000);
        assert_eq!(learned.corrected("a/b", small), Window::known(1_000));
        assert_eq!(learned.corrected("a/c", small), small);
    }
}
