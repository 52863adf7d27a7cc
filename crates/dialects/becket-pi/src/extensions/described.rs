//! A model that becket's own clients serve, with an extension's definition of its limits and prices.

use std::sync::Arc;

use becket_agent::ReachedBudget;
use becket_agent::provider::{
    AnswerPart, Answering, Billing, ModelRequest, Provider, ProviderError, RequestOptions, SendOptions,
};
use becket_events::{Header, Json, RequestForm, Usage};
use becket_providers::{Price, Prices};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;

use crate::host_call::ModelDefinition;

/// The longest answer that is requested if only the model's limit is known.
const LONGEST_ANSWER: u64 = 32_000;

pub struct Described {
    inner: Arc<dyn Provider>,
    options: RequestOptions,
    /// What the model costs, as the user's settings or else the extension say.
    price: Option<Price>,
}

impl Described {
    pub fn new(inner: Arc<dyn Provider>, model: &ModelDefinition, prices: &Prices) -> Self {
        let chosen = prices.in_settings(inner.name(), inner.model());
        let most = Some(model.max_tokens).filter(|most| *most > 0);
        Self {
            inner,
            options: RequestOptions {
                max_tokens: most.map(|most| most.min(LONGEST_ANSWER)),
                ..RequestOptions::default()
            },
            price: chosen.or_else(|| price_of(model)),
        }
    }
}

impl Provider for Described {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn model(&self) -> &str {
        self.inner.model()
    }

    fn base_url(&self) -> Option<&str> {
        self.inner.base_url()
    }

    fn is_local(&self) -> bool {
        self.inner.is_local()
    }

    fn billing(&self) -> Billing {
        match self.price {
            Some(_) => Billing::Named,
            None => self.inner.billing(),
        }
    }

    fn reached_budget(&self) -> Option<ReachedBudget> {
        self.inner.reached_budget()
    }

    fn form(&self) -> RequestForm {
        self.inner.form()
    }

    fn reads(&self, signature: &str) -> bool {
        self.inner.reads(signature)
    }

    fn has_structured_answers(&self, options: &RequestOptions) -> bool {
        self.inner.has_structured_answers(options)
    }

    fn headers(&self, body: &Json) -> Vec<Header> {
        self.inner.headers(body)
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError> {
        let options = request.options.or(&self.options);
        self.inner.body(&ModelRequest {
            options: &options,
            ..*request
        })
    }

    fn send<'a>(&'a self, body: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        Box::pin(async move { self.send_with(body, &SendOptions::default()).await })
    }

    fn send_with<'a>(
        &'a self,
        body: &'a Json,
        options: &'a SendOptions,
    ) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        Box::pin(async move {
            let Answering { begun, parts } = self.inner.send_with(body, options).await?;
            let (price, id) = (self.price, self.model().to_owned());
            let parts = parts.map(move |part| Ok(described(part?, price, &id)));
            Ok(Answering {
                begun,
                parts: Box::pin(parts),
            })
        })
    }
}

/// A part of an answer; its end gets the price, and the extension's name of the model.
fn described(part: AnswerPart, price: Option<Price>, id: &str) -> AnswerPart {
    match part {
        AnswerPart::Completed {
            stop_reason, usage, ..
        } => AnswerPart::Completed {
            stop_reason,
            usage: Usage {
                cost: usage.cost.or_else(|| cost(price?, &usage)),
                ..usage
            },
            model: id.to_owned(),
        },
        other => other,
    }
}

/// What a request cost. Tokens that its provider does not name cost nothing if the model is free; otherwise nobody
/// knows.
fn cost(price: Price, usage: &Usage) -> Option<f64> {
    match usage.names_tokens() {
        true => Some(price.of(usage)),
        false => Some(price.of(&Usage::estimated(1, 1))).filter(|cost| *cost == 0.0),
    }
}

/// The price that an extension gives a model, if it gives those of input and output; `0` is a price.
pub(super) fn price_of(model: &ModelDefinition) -> Option<Price> {
    let amount = |name: &str| {
        let amount = model.cost.get(name)?.as_f64()?;
        (amount >= 0.0).then_some(amount)
    };
    Some(Price {
        input: amount("input")?,
        output: amount("output")?,
        cache_read: Some(amount("cacheRead").unwrap_or(0.0)),
        cache_write: Some(amount("cacheWrite").unwrap_or(0.0)),
    })
}
