//! A model that becket's own clients serve, with an extension's definition of its limits and prices.

use std::sync::Arc;

use becket_agent::ReachedBudget;
use becket_agent::provider::{
    AnswerPart, Answering, Billing, ModelRequest, Provider, ProviderError, RequestOptions, SendOptions,
};
use becket_events::{Header, Json, RequestForm, Usage};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::host_call::ModelDefinition;

/// The longest answer that is requested if only the model's limit is known.
const LONGEST_ANSWER: u64 = 32_000;

pub struct Described {
    inner: Arc<dyn Provider>,
    options: RequestOptions,
    prices: Prices,
}

impl Described {
    pub fn new(inner: Arc<dyn Provider>, model: &ModelDefinition) -> Self {
        let most = Some(model.max_tokens).filter(|most| *most > 0);
        Self {
            inner,
            options: RequestOptions {
                max_tokens: most.map(|most| most.min(LONGEST_ANSWER)),
                ..RequestOptions::default()
            },
            prices: Prices::of(model),
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
        match self.prices.are_known() {
            true => Billing::Named,
            false => self.inner.billing(),
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
            let (prices, id) = (self.prices, self.model().to_owned());
            let parts = parts.map(move |part| Ok(described(part?, prices, &id)));
            Ok(Answering {
                begun,
                parts: Box::pin(parts),
            })
        })
    }
}

/// A part of an answer; its end gets the price, and the extension's name of the model.
fn described(part: AnswerPart, prices: Prices, id: &str) -> AnswerPart {
    match part {
        AnswerPart::Completed {
            stop_reason, usage, ..
        } => AnswerPart::Completed {
            stop_reason,
            usage: Usage {
                cost: usage.cost.or_else(|| prices.cost(&usage)),
                ..usage
            },
            model: id.to_owned(),
        },
        other => other,
    }
}

/// The prices of a million tokens, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Prices {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

impl Prices {
    fn of(model: &ModelDefinition) -> Self {
        let price = |name: &str| model.cost.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        Self {
            input: price("input"),
            output: price("output"),
            cache_read: price("cacheRead"),
            cache_write: price("cacheWrite"),
        }
    }

    fn are_known(&self) -> bool {
        let all = [self.input, self.output, self.cache_read, self.cache_write];
        all.iter().any(|price| *price > 0.0)
    }

    /// The cost of a request; `None` if no price is known.
    fn cost(&self, usage: &Usage) -> Option<f64> {
        let cached = usage.cache_read_tokens + usage.cache_write_tokens;
        let priced = [
            (usage.input_tokens.saturating_sub(cached), self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
        ];
        let total: f64 = priced.iter().map(|(tokens, price)| *tokens as f64 * price).sum();
        self.are_known().then_some(total / 1_000_000.0)
    }
}
