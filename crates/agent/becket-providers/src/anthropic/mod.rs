//! Anthropic's messages interface.

mod answer;
mod body;
mod thinking;

use becket_agent::provider::{ModelRequest, RequestOptions, ThinkingLevel};
use becket_events::Json;
use serde::Deserialize;
use serde::de::IgnoredAny;
use url::Url;

use crate::answer::AnswerReader;
use crate::api::Api;
use crate::http::{Endpoint, FixedHeaders, KeyHeader};
use crate::interface::{Interface, beside};
use crate::signature::Seal;
pub(crate) use answer::Reader;

/// The headers of every request: the version of the interface that this crate speaks.
const HEADERS: FixedHeaders = &[VERSION];

/// The headers of a request whose model may think between calls of tools.
const INTERLEAVED_HEADERS: FixedHeaders = &[VERSION, ("anthropic-beta", "interleaved-thinking-2025-05-14")];

const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// The messages interface, for one model.
pub(crate) struct Messages {
    model: String,
    seal: Seal,
    format: String,
}

impl Messages {
    pub fn new(endpoint: &Endpoint) -> Self {
        let seal = Seal::new(Api::Anthropic, &endpoint.provider);
        Self {
            model: endpoint.model.clone(),
            format: seal.format(""),
            seal,
        }
    }
}

impl Interface for Messages {
    fn address(&self, base: &Url) -> Url {
        messages_url(base)
    }

    fn models(&self, base: &Url) -> Url {
        let mut url = beside(&messages_url(base), "/messages");
        url.query_pairs_mut().append_pair("limit", "1000");
        url
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::ApiKey
    }

    fn headers(&self, body: &str) -> FixedHeaders {
        match thinking::wants_interleaving(&self.model) && thinks_with_tools(body) {
            true => INTERLEAVED_HEADERS,
            false => HEADERS,
        }
    }

    fn body(&self, request: &ModelRequest<'_>) -> Json {
        body::write_body(&self.model, request, &self.seal, &self.format)
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(Reader::new(&self.model, self.seal.clone()))
    }

    fn has_structured_answers(&self, options: &RequestOptions) -> bool {
        // A model that can only be forced to call a tool does not think before it.
        let thinks = options.thinking.is_some_and(|level| level != ThinkingLevel::Off);
        !thinks || thinking::is_adaptive(&self.model)
    }

    fn reads(&self, signature: &str) -> bool {
        self.seal.read(signature).is_some()
    }
}

/// Whether a body, as hooks have left it, asks for thoughts and offers tools.
fn thinks_with_tools(body: &str) -> bool {
    #[derive(Deserialize)]
    struct Wishes {
        thinking: Thinking,
        tools: Vec<IgnoredAny>,
    }
    #[derive(Deserialize)]
    struct Thinking {
        r#type: String,
    }
    serde_json::from_str::<Wishes>(body)
        .is_ok_and(|wishes| wishes.thinking.r#type == "enabled" && !wishes.tools.is_empty())
}

/// The address of the interface, whether or not the base address names the version.
fn messages_url(base: &Url) -> Url {
    let mut url = base.clone();
    let path = base.path().trim_end_matches('/');
    let path = match path {
        _ if path.ends_with("/messages") => path.to_owned(),
        _ if path.ends_with("/v1") => format!("{path}/messages"),
        _ => format!("{path}/v1/messages"),
    };
    url.set_path(&path);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_addresses_lead_to_the_interface() {
        let table = [
            (
                "https://api.anthropic.com",
                "https://api.anthropic.com/v1/messages",
            ),
            (
                "https://api.anthropic.com/v1/",
                "https://api.anthropic.com/v1/messages",
            ),
            ("https://host/anthropic", "https://host/anthropic/v1/messages"),
            ("https://host/x/v1/messages", "https://host/x/v1/messages"),
        ];
        for (base, url) in table {
            assert_eq!(messages_url(&Url::parse(base).unwrap()).as_str(), url);
        }
    }

    #[test]
    fn a_header_for_thoughts_between_calls_is_sent_only_where_it_is_needed() {
        let endpoint = |model: &str| Endpoint {
            provider: "anthropic".into(),
            model: model.into(),
            base_url: Url::parse("https://api.anthropic.com").unwrap(),
            key: None,
            headers: Default::default(),
            timeouts: Default::default(),
        };
        let thinks = r#""thinking" : {"budget_tokens": 2048, "type": "enabled"}"#;
        let adaptive = r#""thinking": {"type": "adaptive"}"#;
        let tool = r#""tools": [{"name": "read"}]"#;
        let table = [
            ("claude-sonnet-4-5", format!("{{{thinks}, {tool}}}"), true),
            ("claude-opus-4-20250514", format!("{{{tool}, {thinks}}}"), true),
            ("claude-sonnet-4-5", format!("{{{thinks}}}"), false),
            ("claude-sonnet-4-5", format!("{{{thinks}, \"tools\": []}}"), false),
            ("claude-sonnet-4-5", format!("{{{tool}}}"), false),
            ("claude-opus-4-6", format!("{{{adaptive}, {tool}}}"), false),
            ("claude-3-7-sonnet-latest", format!("{{{thinks}, {tool}}}"), false),
            ("claude-sonnet-4-5", String::new(), false),
        ];
        for (model, body, expected) in table {
            let headers = Messages::new(&endpoint(model)).headers(&body);
            assert_eq!(headers.len() == 2, expected, "{model} {body}");
            assert!(headers.contains(&VERSION));
        }
    }
}
