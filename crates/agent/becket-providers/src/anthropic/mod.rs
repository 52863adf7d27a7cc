//! Anthropic's messages interface.

mod answer;
mod body;

use becket_agent::provider::{Answering, ModelRequest, OfferedModel, Provider, ProviderError, SendOptions};
use becket_events::{Header, Json};
use futures_util::future::BoxFuture;
use url::Url;

use crate::http::{Channel, Endpoint, FixedHeaders, KeyHeader, without_secrets};
pub(crate) use answer::Reader;

/// The headers of every request: the version of the interface that this crate speaks.
const HEADERS: FixedHeaders = &[("anthropic-version", "2023-06-01")];

/// A model behind the messages interface.
pub struct Anthropic {
    provider: String,
    model: String,
    base_url: String,
    channel: Channel,
}

impl Anthropic {
    /// A model at that address. Nothing is opened before the first request.
    pub fn new(endpoint: Endpoint) -> Self {
        let url = messages_url(&endpoint.base_url);
        Self {
            channel: Channel::new(url, &endpoint, KeyHeader::ApiKey),
            provider: endpoint.provider,
            model: endpoint.model,
            base_url: without_secrets(&endpoint.base_url),
        }
    }
}

impl Provider for Anthropic {
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
        Box::pin(self.channel.list_models("/messages", HEADERS))
    }

    fn is_local(&self) -> bool {
        self.channel.is_local()
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError> {
        Ok(body::write_body(&self.model, request))
    }

    fn headers(&self) -> Vec<Header> {
        self.channel.shown_headers(HEADERS)
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
        Box::pin(self.channel.send(body.text(), HEADERS, options, reader))
    }
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
}
