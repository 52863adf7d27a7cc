//! A model behind one of the interfaces, over the network.
//!
//! What differs between the interfaces is an `Interface`; everything around it is the same for all of them.

use becket_agent::provider::{
    Answering, Billing, ModelRequest, OfferedModel, Provider, ProviderError, RequestOptions, SendOptions,
};
use becket_events::{Header, Json};
use futures_util::future::BoxFuture;
use url::Url;

use crate::answer::AnswerReader;
use crate::anthropic::{self, Messages};
use crate::api::Api;
use crate::gemini::{self, GenerateContent};
use crate::http::{Channel, Endpoint, without_credentials};
use crate::interface::Interface;
use crate::openai::{self, ChatCompletions};
use crate::responses::{self, Responses};
use crate::signature::Seal;

/// The interface that an endpoint speaks.
fn interface(api: Api, endpoint: &Endpoint) -> Box<dyn Interface> {
    match api {
        Api::OpenAi => Box::new(ChatCompletions::new(endpoint)),
        Api::Anthropic => Box::new(Messages::new(endpoint)),
        Api::Responses => Box::new(Responses::new(endpoint)),
        Api::Gemini => Box::new(GenerateContent::new(endpoint)),
    }
}

/// A reader of answers, for the fuzz target.
pub(crate) fn reader(api: Api) -> Box<dyn AnswerReader> {
    let seal = Seal::new(api, "fuzz");
    match api {
        Api::OpenAi => Box::new(openai::Reader::new("fuzz")),
        Api::Anthropic => Box::new(anthropic::Reader::new("fuzz", seal)),
        Api::Responses => Box::new(responses::ItemReader::new("fuzz", seal)),
        Api::Gemini => Box::new(gemini::ChunkReader::new("fuzz", seal)),
    }
}

/// A model behind one of the interfaces.
pub struct Remote {
    provider: String,
    model: String,
    base_url: String,
    models: Url,
    channel: Channel,
    interface: Box<dyn Interface>,
    billing: Billing,
}

impl Remote {
    /// A model at that address. Nothing is opened before the first request.
    pub fn new(api: Api, endpoint: Endpoint) -> Self {
        let interface = interface(api, &endpoint);
        let url = interface.address(&endpoint.base_url);
        Self {
            channel: Channel::new(url, &endpoint, interface.key_header()),
            models: interface.models(&endpoint.base_url),
            base_url: without_credentials(&endpoint.base_url),
            provider: endpoint.provider,
            model: endpoint.model,
            interface,
            billing: Billing::ByTokens,
        }
    }

    /// The model, whose answers are billed in this way. What costs nothing on this machine may cost something
    /// elsewhere.
    pub fn billed(self, billing: Billing) -> Self {
        let billing = match billing {
            Billing::Nothing if !self.channel.is_local() => Billing::ByTokens,
            billing => billing,
        };
        Self { billing, ..self }
    }
}

impl Provider for Remote {
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
        Box::pin(self.channel.list_models(&self.models, self.interface.headers("")))
    }

    fn is_local(&self) -> bool {
        self.channel.is_local()
    }

    fn billing(&self) -> Billing {
        self.billing
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError> {
        Ok(self.interface.body(request))
    }

    fn reads(&self, signature: &str) -> bool {
        self.interface.reads(signature)
    }

    fn has_structured_answers(&self, options: &RequestOptions) -> bool {
        self.interface.has_structured_answers(options)
    }

    fn headers(&self, body: &Json) -> Vec<Header> {
        self.channel.shown_headers(self.interface.headers(body.text()))
    }

    fn send<'a>(&'a self, body: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        Box::pin(async move { self.send_with(body, &SendOptions::default()).await })
    }

    fn send_with<'a>(
        &'a self,
        body: &'a Json,
        options: &'a SendOptions,
    ) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        let headers = self.interface.headers(body.text());
        let reader = self.interface.reader();
        Box::pin(self.channel.send(body.text(), headers, options, reader))
    }
}
