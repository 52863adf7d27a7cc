//! OpenAI's chat completions, which OpenRouter, Ollama, vLLM, llama.cpp and many others speak too.

mod answer;
mod body;
mod effort;

use becket_agent::provider::ModelRequest;
use becket_events::Json;
use url::Url;

use crate::answer::AnswerReader;
use crate::http::Endpoint;
use crate::interface::{Interface, below, beside};
pub(crate) use answer::Reader;
pub(crate) use body::{BodyStyle, can_be_strict, write_body};
pub(crate) use effort::{effort, needs_responses, thinks};

/// The path of requests.
const PATH: &str = "/chat/completions";

/// The chat completions interface, for one model.
pub(crate) struct ChatCompletions {
    model: String,
    style: BodyStyle,
}

impl ChatCompletions {
    pub fn new(endpoint: &Endpoint) -> Self {
        let style = match endpoint.base_url.host_str() {
            Some("api.openai.com") => BodyStyle::OpenAi,
            _ => BodyStyle::Compatible,
        };
        Self {
            model: endpoint.model.clone(),
            style,
        }
    }
}

impl Interface for ChatCompletions {
    fn address(&self, base: &Url) -> Url {
        below(base, "v1", PATH)
    }

    fn models(&self, base: &Url) -> Url {
        beside(&self.address(base), PATH)
    }

    fn body(&self, request: &ModelRequest<'_>) -> Json {
        write_body(&self.model, request, self.style)
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(Reader::new(&self.model))
    }
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
            assert_eq!(below(&Url::parse(base).unwrap(), "v1", PATH).as_str(), url);
        }
    }
}
