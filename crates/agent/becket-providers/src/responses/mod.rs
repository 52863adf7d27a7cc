//! OpenAI's Responses interface, which its newest models need to think and to call tools.
//!
//! The server stores nothing (`store: false`), so every request has the whole conversation. What a model thought comes
//! encrypted, is kept as the signature of the thought, and goes back in front of what it led to.

mod answer;
mod body;
mod kept;

use becket_agent::provider::ModelRequest;
use becket_events::Json;
use url::Url;

use crate::answer::AnswerReader;
use crate::api::Api;
use crate::http::Endpoint;
use crate::interface::{Interface, below, beside};
use crate::signature::Seal;
pub(crate) use answer::ItemReader;

/// The path of requests.
const PATH: &str = "/responses";

/// The Responses interface, for one model.
pub(crate) struct Responses {
    model: String,
    seal: Seal,
    format: String,
}

impl Responses {
    pub fn new(endpoint: &Endpoint) -> Self {
        let seal = Seal::new(Api::Responses, &endpoint.provider);
        Self {
            model: endpoint.model.clone(),
            format: seal.format(""),
            seal,
        }
    }
}

impl Interface for Responses {
    fn address(&self, base: &Url) -> Url {
        below(base, "v1", PATH)
    }

    fn models(&self, base: &Url) -> Url {
        beside(&self.address(base), PATH)
    }

    fn body(&self, request: &ModelRequest<'_>) -> Json {
        body::write_body(&self.model, request, &self.seal, &self.format)
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(ItemReader::new(&self.model, self.seal.clone()))
    }

    fn reads(&self, signature: &str) -> bool {
        self.seal.read(signature).is_some()
    }
}
