//! OpenAI's chat completions, which OpenRouter, Ollama, vLLM, llama.cpp and many others speak too.

mod answer;
mod body;

use becket_agent::provider::{Answering, ModelRequest, OfferedModel, Provider, ProviderError, SendOptions};
use becket_events::{Header, Json};
use futures_util::future::BoxFuture;
use url::Url;

use crate::http::{Channel, Endpoint, KeyHeader, without_secrets};
pub(crate) use answer::Reader;
pub(crate) use body::{BodyStyle, push_json, to_json, write_body};

/// A model behind the chat completions interface.
pub struct OpenAi {
    provider: String,
    model: String,
    base_url: String,
    style: BodyStyle,
    channel: Channel,
}

impl OpenAi {
    /// A model at that address. Nothing is opened before the first request.
    pub fn new(endpoint: Endpoint) -> Self {
        let url = completions_url(&endpoint.base_url);
        let style = match url.host_str() {
            Some("api.openai.com") => BodyStyle::OpenAi,
            _ => BodyStyle::Compatible,
        };
        Self {
            channel: Channel::new(url, &endpoint, KeyHeader::Bearer),
            provider: endpoint.provider,
            model: endpoint.model,
            base_url: without_secrets(&endpoint.base_url),
            style,
        }
    }
}

impl Provider for OpenAi {
    fn name(&self) -> &str {
        &self.provider
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn base_url(&self) -> Option<&str> {
        Some(&self.base_url)
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<OfferedModel>, ProviderError>> {
        Box::pin(self.channel.list_models("/chat/completions", &[]))
    }

    fn is_local(&self) -> bool {
        self.channel.is_local()
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError> {
        Ok(write_body(&self.model, request, self.style))
    }

    fn headers(&self) -> Vec<Header> {
        self.channel.shown_headers(&[])
    }

    fn send<'a>(&'a self, body: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        Box::pin(async move { self.send_with(body, &SendOptions::default()).await })
    }

    fn send_with<'a>(
        &'a self,
        body: &'a Json,
        options: &'a SendOptions,
    ) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        let reader = Reader::new(&self.model);
        Box::pin(self.channel.send(body.text(), &[], options, reader))
    }
}

/// The address of the interface: a base address without any path gets the usual `/v1`.
fn completions_url(base: &Url) -> Url {
    const PATH: &str = "/chat/completions";
    let mut url = base.clone();
    let path = base.path().trim_end_matches('/');
    let path = match path {
        "" => format!("/v1{PATH}"),
        _ if path.ends_with(PATH) => path.to_owned(),
        _ => format!("{path}{PATH}"),
    };
    url.set_path(&path);
    url
}

/// A reader of answers, for the fuzz target.
pub(crate) fn reader() -> Reader {
    Reader::new("fuzz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_addresses_lead_to_the_interface() {
        let table = [
            (
                "https://api.openai.com/v1",
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                "https://api.openai.com/v1/",
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                "http://localhost:8000",
                "http://localhost:8000/v1/chat/completions",
            ),
            ("https://host/api/v4", "https://host/api/v4/chat/completions"),
            (
                "https://host/v1/chat/completions",
                "https://host/v1/chat/completions",
            ),
            (
                "https://host/x?api-version=1",
                "https://host/x/chat/completions?api-version=1",
            ),
        ];
        for (base, url) in table {
            assert_eq!(completions_url(&Url::parse(base).unwrap()).as_str(), url);
        }
    }
}
