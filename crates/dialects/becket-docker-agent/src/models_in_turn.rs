//! Several models that answer in turn, as an agent with `model: a,b` has them: each request goes to the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use becket_agent::ReachedBudget;
use becket_agent::provider::{
    Answering, Billing, ModelRequest, Provider, ProviderError, RequestOptions, SendOptions,
};
use becket_events::{Header, Json, RequestForm};
use futures_util::future::BoxFuture;
use serde_json::Value;

/// A model, with its own options of requests.
pub type ModelInTurn = (Arc<dyn Provider>, RequestOptions);

/// Models that answer in turn.
pub struct ModelsInTurn {
    /// At least one.
    models: Vec<ModelInTurn>,
    /// How many requests were written.
    written: AtomicUsize,
}

impl ModelsInTurn {
    /// The models in the order in which they answer, of which there is at least one.
    pub fn new(models: Vec<ModelInTurn>) -> Self {
        Self {
            models,
            written: AtomicUsize::new(0),
        }
    }

    /// The model of the last request, or of the first one before any was written.
    fn current(&self) -> &ModelInTurn {
        let last = self.written.load(Ordering::Relaxed).saturating_sub(1);
        &self.models[last % self.models.len()]
    }

    /// The model for which a body was written. Another request may have been written meanwhile, so the body decides.
    fn writer(&self, body: &Json) -> &ModelInTurn {
        let body: Option<Value> = serde_json::from_str(body.text()).ok();
        let named = body.as_ref().and_then(|body| body["model"].as_str());
        let current = self.current();
        match named {
            Some(name) if name != current.0.model() => {
                let mut models = self.models.iter();
                models.find(|(model, _)| model.model() == name).unwrap_or(current)
            }
            _ => current,
        }
    }
}

impl Provider for ModelsInTurn {
    fn name(&self) -> &str {
        self.current().0.name()
    }

    fn model(&self) -> &str {
        self.current().0.model()
    }

    fn base_url(&self) -> Option<&str> {
        self.current().0.base_url()
    }

    fn is_local(&self) -> bool {
        self.current().0.is_local()
    }

    fn billing(&self) -> Billing {
        self.current().0.billing()
    }

    fn reached_budget(&self) -> Option<ReachedBudget> {
        self.current().0.reached_budget()
    }

    fn form(&self) -> RequestForm {
        self.current().0.form()
    }

    fn reads(&self, signature: &str) -> bool {
        self.current().0.reads(signature)
    }

    fn has_structured_answers(&self, options: &RequestOptions) -> bool {
        let mut models = self.models.iter();
        models.all(|(model, own)| model.has_structured_answers(&own.or(options)))
    }

    fn headers(&self, body: &Json) -> Vec<Header> {
        self.current().0.headers(body)
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError> {
        let turn = self.written.fetch_add(1, Ordering::Relaxed);
        let (model, options) = &self.models[turn % self.models.len()];
        let options = options.or(request.options);
        model.body(&ModelRequest {
            options: &options,
            ..*request
        })
    }

    fn send<'a>(&'a self, body: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        self.writer(body).0.send(body)
    }

    fn send_with<'a>(
        &'a self,
        body: &'a Json,
        options: &'a SendOptions,
    ) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        self.writer(body).0.send_with(body, options)
    }
}
