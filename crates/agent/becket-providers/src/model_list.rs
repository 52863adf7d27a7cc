//! A provider's own list of models, page by page.

use becket_agent::provider::OfferedModel;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use crate::catalog;

/// The largest page that is read.
pub(crate) const LARGEST_PAGE: usize = 8 * 1024 * 1024;

/// How many pages are read.
pub(crate) const MOST_PAGES: usize = 50;

/// The folder in the names of Gemini's list.
const MODELS_FOLDER: &str = "models/";

/// A page of a list, as far as it is read. Gemini's has names in place of ids, with a folder before them.
#[derive(Deserialize)]
pub(crate) struct ModelPage {
    #[serde(alias = "models")]
    data: Vec<ListedModel>,
    /// Gemini's mark of the next page.
    #[serde(rename = "nextPageToken")]
    next_page_token: Option<String>,
    /// Whether Anthropic's list goes on, and after which model.
    has_more: Option<bool>,
    last_id: Option<String>,
}

#[derive(Deserialize)]
struct ListedModel {
    #[serde(alias = "name")]
    id: String,
    #[serde(flatten)]
    more: Map<String, Value>,
}

impl ModelPage {
    /// Reads a page. The error says why it is none.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| match error.is_data() {
            true => format!("it is no list of models: {error}"),
            false => format!("it is no JSON: {error}"),
        })
    }

    /// The address of the next page, if there is one.
    pub fn next(&self, address: &Url) -> Option<Url> {
        let token = self.next_page_token.as_deref();
        let last = self.last_id.as_deref().filter(|_| self.has_more == Some(true));
        let (name, value) = match (token.filter(|token| !token.is_empty()), last) {
            (Some(token), _) => ("pageToken", token),
            (None, Some(last)) => ("after_id", last),
            (None, None) => return None,
        };
        let mut next = address.clone();
        let kept = address.query_pairs().filter(|(known, _)| known != name);
        next.query_pairs_mut()
            .clear()
            .extend_pairs(kept)
            .append_pair(name, value);
        Some(next)
    }

    /// The models of the page.
    pub fn models(self) -> impl Iterator<Item = OfferedModel> {
        self.data.into_iter().map(|model| {
            let name = model.id.strip_prefix(MODELS_FOLDER).unwrap_or(&model.id);
            catalog::listed(name, model.more)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_asked_for_as_each_provider_wants_it() {
        let next = |page: &str, address: &str| {
            let page = ModelPage::read(page.as_bytes()).expect("a page");
            let next = page.next(&Url::parse(address).expect("an address"));
            next.map(|next| next.to_string())
        };
        let gemini = "https://g.example/v1beta/models?pageSize=1000";
        let goes_on = r#"{"models": [], "nextPageToken": "a b"}"#;
        let second = format!("{gemini}&pageToken=a+b");
        assert_eq!(next(goes_on, gemini), Some(second.clone()));
        assert_eq!(next(goes_on, &second), Some(second));
        assert_eq!(next(r#"{"models": [], "nextPageToken": ""}"#, gemini), None);
        let anthropic = "https://a.example/v1/models?limit=1000";
        assert_eq!(
            next(r#"{"data": [], "has_more": true, "last_id": "m2"}"#, anthropic),
            Some(format!("{anthropic}&after_id=m2"))
        );
        assert_eq!(
            next(r#"{"data": [], "has_more": false, "last_id": "m2"}"#, anthropic),
            None
        );
    }

    #[test]
    fn what_is_no_list_is_told_with_its_cause() {
        let why = |text: &str| ModelPage::read(text.as_bytes()).err().unwrap_or_default();
        assert!(why("<html>").starts_with("it is no JSON"));
        assert!(why("{\"data\": 7").starts_with("it is no "));
        assert!(why("{}").starts_with("it is no list of models"));
        assert!(why(r#"{"data": [{"id": 7}]}"#).starts_with("it is no list of models"));
    }
}
