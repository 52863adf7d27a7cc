//! A budget: how much money the requests of a run may cost, those of its sub-agents and of hooks that are models
//! included.
//!
//! A provider under a budget counts what its answers cost, and sends nothing more when the budget is used up, whoever
//! asks. The loop looks before that, so that the user can allow more. A price that is not known would make the budget
//! meaningless: such a model is not asked either, unless the user says so. Requests that run beside each other may
//! together cost a little more than the budget.

use std::sync::Arc;

use becket_events::{Delta, Header, Json, RequestForm, Usage, request_size};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;

use crate::account::{Account, ReachedBudget};
use crate::provider::{
    AnswerPart, Answering, Billing, ModelRequest, OfferedModel, Provider, ProviderError, ProviderErrorKind,
    RequestOptions, SendOptions,
};
use crate::settings::Pricing;

/// A budget in US dollars. Clones are the same budget.
#[derive(Clone, Debug)]
pub struct Budget {
    pricing: Pricing,
    account: Account,
    /// Two budgets are the same if this is.
    identity: Arc<()>,
}

impl PartialEq for Budget {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.identity, &other.identity)
    }
}

impl Budget {
    /// A budget of so many US dollars, with the prices by which answers count.
    pub fn new(limit: f64, pricing: Pricing) -> Self {
        Self {
            pricing,
            account: Account::new(limit),
            identity: Arc::new(()),
        }
    }

    /// The same budget, which counts by these prices first.
    #[must_use]
    pub fn priced(&self, pricing: Pricing) -> Self {
        Self {
            pricing: pricing.or(self.pricing.clone()),
            ..self.clone()
        }
    }

    /// How much may be spent, in US dollars.
    pub fn limit(&self) -> f64 {
        self.account.limit()
    }

    /// How much was spent so far, in US dollars.
    pub fn spent(&self) -> f64 {
        self.account.spent()
    }

    /// The provider under this budget. A provider may stand under several.
    pub fn over(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        Arc::new(Metered {
            inner: provider,
            budget: self.clone(),
        })
    }

    /// Why a model may not be asked now.
    fn reached(&self, provider: &dyn Provider) -> Option<ReachedBudget> {
        let billing = provider.billing();
        let is_priced = self.pricing.of(provider, &Usage::default()).is_some();
        if !is_priced && billing == Billing::Nothing {
            return None;
        }
        let model = name_of(provider);
        let names_costs = billing == Billing::Named && self.account.has_heard_of(&model);
        self.account.reached(&model, is_priced || names_costs)
    }

    /// Counts a complete answer. If its provider does not say what it used, the estimate counts.
    fn count(&self, provider: &dyn Provider, usage: &Usage, estimate: impl FnOnce() -> Usage) {
        if !usage.names_tokens() && usage.cost.is_none() && self.count_estimate(provider, &estimate()) {
            return;
        }
        match usage.cost.or_else(|| self.pricing.of(provider, usage)) {
            Some(cost) => self.account.pay(cost),
            None if provider.billing() == Billing::Nothing => {}
            None => self.account.note_silence(name_of(provider)),
        }
    }

    /// Counts an answer by an estimate, if the model has a price.
    fn count_estimate(&self, provider: &dyn Provider, estimate: &Usage) -> bool {
        let cost = self.pricing.of(provider, estimate);
        if let Some(cost) = cost {
            self.account.pay_estimate(cost);
        }
        cost.is_some()
    }
}

fn name_of(provider: &dyn Provider) -> String {
    format!("{}/{}", provider.name(), provider.model())
}

/// A provider under a budget.
struct Metered {
    inner: Arc<dyn Provider>,
    budget: Budget,
}

impl Provider for Metered {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn model(&self) -> &str {
        self.inner.model()
    }

    fn base_url(&self) -> Option<&str> {
        self.inner.base_url()
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<OfferedModel>, ProviderError>> {
        self.inner.list_models()
    }

    fn is_local(&self) -> bool {
        self.inner.is_local()
    }

    fn billing(&self) -> Billing {
        self.inner.billing()
    }

    fn reached_budget(&self) -> Option<ReachedBudget> {
        let reached = self.inner.reached_budget();
        reached.or_else(|| self.budget.reached(&*self.inner))
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
        self.inner.body(request)
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
            if let Some(reached) = self.budget.reached(&*self.inner) {
                return Err(ProviderError::new(ProviderErrorKind::Rejected, reached.why()));
            }
            let Answering { begun, parts } = self.inner.send_with(body, options).await?;
            let mut meter = Meter {
                budget: self.budget.clone(),
                provider: Arc::clone(&self.inner),
                asked: body.clone(),
                answered: 0,
                is_counted: false,
            };
            let parts = parts.inspect(move |part| meter.see(part));
            Ok(Answering {
                begun,
                parts: Box::pin(parts),
            })
        })
    }
}

/// Counts one answer. An answer that breaks off, is cancelled, or does not say what it used counts by an estimate.
struct Meter {
    budget: Budget,
    provider: Arc<dyn Provider>,
    /// The body of the request.
    asked: Json,
    /// The bytes of the answer so far.
    answered: usize,
    is_counted: bool,
}

impl Meter {
    fn see(&mut self, part: &Result<AnswerPart, ProviderError>) {
        match part {
            Ok(AnswerPart::Delta(delta)) => self.answered += length(delta),
            Ok(AnswerPart::Completed { usage, .. }) => {
                self.budget.count(&*self.provider, usage, || self.estimate());
                self.is_counted = true;
            }
            // Providers do not charge for a request that they refuse.
            Err(_) if self.answered == 0 => self.is_counted = true,
            _ => {}
        }
    }

    fn estimate(&self) -> Usage {
        Usage::estimated(request_size(&self.asked), self.answered)
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if !self.is_counted {
            self.budget.count_estimate(&*self.provider, &self.estimate());
        }
    }
}

fn length(delta: &Delta) -> usize {
    match delta {
        Delta::Text { text } | Delta::Thinking { text, .. } | Delta::Arguments { text, .. } => text.len(),
        Delta::ToolCall { name, .. } => name.len(),
        Delta::End => 0,
    }
}

#[cfg(test)]
mod tests {
    use becket_events::StopReason;

    use super::*;

    /// What an answer consists of.
    type Parts = Vec<Result<AnswerPart, ProviderError>>;

    /// A model that always answers the same.
    struct Model {
        parts: Parts,
        billing: Billing,
    }

    impl Provider for Model {
        fn name(&self) -> &str {
            "test"
        }

        fn model(&self) -> &str {
            "model"
        }

        fn billing(&self) -> Billing {
            self.billing
        }

        fn body(&self, _: &ModelRequest<'_>) -> Result<Json, ProviderError> {
            unreachable!("the body is given")
        }

        fn send<'a>(&'a self, _: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>> {
            let parts = futures_util::stream::iter(self.parts.clone());
            Box::pin(async move {
                Ok(Answering {
                    begun: None,
                    parts: Box::pin(parts),
                })
            })
        }
    }

    fn model(parts: Parts, billing: Billing) -> Arc<dyn Provider> {
        Arc::new(Model { parts, billing })
    }

    fn text(text: &str) -> Result<AnswerPart, ProviderError> {
        Ok(AnswerPart::Delta(Delta::Text { text: text.into() }))
    }

    fn completed(input_tokens: u64, cost: Option<f64>) -> Result<AnswerPart, ProviderError> {
        Ok(AnswerPart::Completed {
            stop_reason: StopReason::Stop,
            usage: Usage {
                input_tokens,
                cost,
                ..Usage::default()
            },
            model: String::new(),
        })
    }

    fn broken() -> Result<AnswerPart, ProviderError> {
        Err(ProviderError::new(ProviderErrorKind::Broken, "cut"))
    }

    /// A dollar for each token.
    fn a_dollar() -> Pricing {
        Pricing::new(|_, usage| Some((usage.input_tokens + usage.output_tokens) as f64))
    }

    /// Asks, and reads at most so many parts of the answer.
    async fn ask(provider: &dyn Provider, most: usize) -> Result<(), ProviderError> {
        let body = Json::of(&"12345678").expect("a text is JSON");
        let answering = provider.send(&body).await?;
        let _: Vec<_> = answering.parts.take(most).collect().await;
        Ok(())
    }

    #[tokio::test]
    async fn answers_count_and_the_one_that_breaks_off_by_an_estimate() {
        let cases: [(Parts, usize, f64); 8] = [
            (vec![text("hello"), completed(7, None)], 9, 7.0),
            (vec![completed(7, Some(0.5))], 9, 0.5),
            // Ten bytes of the request are three tokens, eight of the answer two.
            (vec![text("12345678"), broken()], 9, 5.0),
            (vec![text("12345678"), completed(7, None)], 1, 5.0),
            (vec![text("hello"), completed(7, Some(-3.0))], 9, 0.0),
            (vec![broken()], 9, 0.0),
            // What a provider does not say is estimated; a cost that it names needs no tokens.
            (vec![text("12345678"), completed(0, None)], 9, 5.0),
            (vec![text("12345678"), completed(0, Some(0.0))], 9, 0.0),
        ];
        for (parts, most, spent) in cases {
            let budget = Budget::new(100.0, a_dollar());
            let provider = budget.over(model(parts.clone(), Billing::ByTokens));
            ask(&*provider, most).await.expect("it is sent");
            assert_eq!(budget.spent(), spent, "{parts:?}");
        }
    }

    #[tokio::test]
    async fn a_picture_of_an_answer_that_breaks_off_is_no_megabyte_of_text() {
        let budget = Budget::new(1e9, a_dollar());
        let provider = budget.over(model(vec![text("12345678"), broken()], Billing::ByTokens));
        let url = format!("data:image/png;base64,{}", "A".repeat(1_000_000));
        let body = Json::of(&serde_json::json!({"image_url": {"url": url}})).expect("it is JSON");
        let answering = provider.send(&body).await.expect("it is sent");
        let _: Vec<_> = answering.parts.collect().await;
        assert!((1_500.0..1_600.0).contains(&budget.spent()), "{}", budget.spent());
    }

    #[tokio::test]
    async fn a_model_that_never_says_what_it_used_uses_up_the_budget_and_the_estimate_is_called_one() {
        let budget = Budget::new(9.0, a_dollar());
        let provider = budget.over(model(
            vec![text("12345678"), completed(0, None)],
            Billing::ByTokens,
        ));
        for _ in 0..2 {
            ask(&*provider, 9).await.expect("something is left");
        }
        let refused = ask(&*provider, 9).await.expect_err("nothing is left");
        let words = "$10.00 were spent, of which $10.00 are estimates";
        assert!(refused.message.contains(words), "{refused}");
        let free = Budget::new(1.0, Pricing::new(|_, _| Some(0.0)));
        let provider = free.over(model(vec![completed(0, None)], Billing::ByTokens));
        ask(&*provider, 9).await.expect("a price of 0 is known");
        assert!(provider.reached_budget().is_none());
    }

    #[tokio::test]
    async fn nothing_is_sent_when_the_budget_is_used_up_and_a_yes_adds_as_much_again() {
        let budget = Budget::new(5.0, a_dollar());
        let provider = budget.over(model(vec![completed(7, None)], Billing::ByTokens));
        ask(&*provider, 9).await.expect("it is sent");
        let reached = provider.reached_budget().expect("nothing is left");
        assert_eq!(reached.unpriced_model(), None);
        let refused = ask(&*provider, 9).await.expect_err("nothing is left");
        assert!(refused.message.contains("$5.00 is used up: $7.00"), "{refused}");
        let other = Budget::new(1.0, a_dollar());
        let both = other.over(Arc::clone(&provider));
        assert_eq!(both.reached_budget().map(|reached| reached.limit()), Some(5.0));
        reached.go_on();
        assert_eq!(budget.limit(), 12.0);
        assert!(provider.reached_budget().is_none() && both.reached_budget().is_none());
        ask(&*both, 9).await.expect("both have something left");
        assert_eq!((budget.spent(), other.spent()), (14.0, 7.0));
    }

    #[tokio::test]
    async fn what_has_no_price_is_not_asked() {
        let budget = Budget::new(5.0, Pricing::default());
        let priced = |billing, parts| budget.over(model(parts, billing));
        let free = priced(Billing::Nothing, vec![completed(7, None)]);
        ask(&*free, 9).await.expect("it costs nothing");
        let unknown = priced(Billing::ByTokens, vec![completed(7, None)]);
        let refused = ask(&*unknown, 9).await.expect_err("the price is not known");
        assert!(
            refused.message.contains("the price of test/model is not known"),
            "{refused}"
        );
        let named = priced(Billing::Named, vec![completed(7, Some(1.0))]);
        assert!(
            named.reached_budget().is_none(),
            "what is free names no price, and that is no reason to doubt"
        );
        ask(&*named, 9).await.expect("each answer names its cost");
        let silent = priced(Billing::Named, vec![completed(7, None)]);
        ask(&*silent, 9).await.expect("nothing is known yet");
        let reached = silent.reached_budget().expect("it named no cost");
        assert_eq!(reached.unpriced_model(), Some("test/model"));
        reached.go_on();
        assert!(silent.reached_budget().is_none(), "the user wants it");
    }
}
