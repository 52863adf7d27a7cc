//! Google's `generateContent`, the interface of Gemini.
//!
//! A model's thoughts stay at the provider; what comes is a summary, and a signature on the part of the answer that the
//! thought led to. The signature goes back on the same part.

mod answer;
mod body;
mod carrier;
mod model;

use becket_agent::provider::ModelRequest;
use becket_events::Json;
use url::Url;

use crate::answer::AnswerReader;
use crate::api::Api;
use crate::http::{Endpoint, KeyHeader};
use crate::interface::Interface;
use crate::signature::Seal;
pub(crate) use answer::ChunkReader;
use model::Generation;

/// The version of the interface, where the base address names none.
const VERSION: &str = "v1beta";

/// The `generateContent` interface, for one model.
pub(crate) struct GenerateContent {
    model: String,
    seal: Seal,
    format: String,
}

impl GenerateContent {
    pub fn new(endpoint: &Endpoint) -> Self {
        let seal = Seal::new(Api::Gemini, &endpoint.provider);
        let variant = match Generation::of(&endpoint.model) {
            Generation::Late => "3",
            Generation::Budget | Generation::Early => "",
        };
        Self {
            model: endpoint.model.clone(),
            format: seal.format(variant),
            seal,
        }
    }
}

impl Interface for GenerateContent {
    fn address(&self, base: &Url) -> Url {
        let mut url = models_url(base);
        let path = format!("{}/{}:streamGenerateContent", url.path(), self.model);
        url.set_path(&path);
        url.query_pairs_mut().append_pair("alt", "sse");
        url
    }

    fn models(&self, base: &Url) -> Url {
        let mut url = models_url(base);
        url.query_pairs_mut().append_pair("pageSize", "1000");
        url
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::GoogleApiKey
    }

    fn body(&self, request: &ModelRequest<'_>) -> Json {
        body::write_body(&self.model, request, &self.seal, &self.format)
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(ChunkReader::new(&self.model, self.seal.clone()))
    }

    fn reads(&self, signature: &str) -> bool {
        self.seal.read(signature).is_some()
    }
}

/// The address of the models, whether or not the base address names the version.
fn models_url(base: &Url) -> Url {
    let mut url = base.clone();
    let path = base.path().trim_end_matches('/');
    let is_version = |part: &str| {
        let rest = part.strip_prefix('v').unwrap_or_default();
        rest.starts_with(|first: char| first.is_ascii_digit())
    };
    let path = match path.split('/').any(is_version) {
        true => format!("{path}/models"),
        false => format!("{path}/{VERSION}/models"),
    };
    url.set_path(&path);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_addresses_lead_to_the_interface() {
        const HOST: &str = "https://generativelanguage.googleapis.com";
        let vertex = "https://aiplatform.googleapis.com/v1/publishers/google";
        let table = [
            (HOST.to_owned(), format!("{HOST}/v1beta/models")),
            (format!("{HOST}/v1beta/"), format!("{HOST}/v1beta/models")),
            (format!("{HOST}/v1"), format!("{HOST}/v1/models")),
            (
                "http://localhost:8000/x".into(),
                "http://localhost:8000/x/v1beta/models".into(),
            ),
            (vertex.to_owned(), format!("{vertex}/models")),
        ];
        for (base, expected) in table {
            let base = Url::parse(&base).unwrap();
            assert_eq!(models_url(&base).as_str(), expected);
            let endpoint = Endpoint {
                provider: "gemini".into(),
                model: "gemini-3-flash".into(),
                base_url: base.clone(),
                key: None,
                headers: Default::default(),
                timeouts: Default::default(),
            };
            let interface = GenerateContent::new(&endpoint);
            let address = format!("{expected}/gemini-3-flash:streamGenerateContent?alt=sse");
            assert_eq!(interface.address(&base).as_str(), address);
        }
    }
}
