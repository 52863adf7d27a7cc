//! A budget: how much money the requests of a run may cost, those of its sub-agents and of hooks that are models
//! included.
//!
//! A provider under a budget counts what its answers cost, and sends nothing more when the budget is used up, whoever
//! asks. The loop looks before that, so that the user can allow more. A price that is not known would make the budget
//! meaningless: such a model is not asked either, unless the user says so. Requests that run beside each other may
//! together cost a little more than the budget.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use becket_events::{Delta, Header, Json, RequestForm, Usage};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;

use crate::provider::{
    AnswerPart, Answering, Billing, ModelRequest, OfferedModel, Provider, ProviderError, ProviderErrorKind,
    SendOptions,
};
use crate::settings::Pricing;

/// How many bytes of text are about one token, to estimate what an answer cost that broke off.
const BYTES_PER_TOKEN: usize = 4;

/// A budget in US dollars. Clones are the same budget.
#[derive(Clone, Debug)]
pub struct Budget {
    pricing: Pricing,
    account: Arc<Mutex<Account>>,
}

#[derive(Debug)]
struct Account {
    /// The amount by which the user raises the limit.
    step: f64,
    limit: f64,
    spent: f64,
    /// Models that should have named what their answers cost and did not.
    silent: BTreeSet<String>,
    /// Models without a price that the user lets go on.
    accepted: BTreeSet<String>,
}

/// Why a budget lets no further request pass.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reached {
    /// It is used up.
    Spent,
    /// The price of this model is not known.
    Unpriced(String),
}

impl PartialEq for Budget {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.account, &other.account)
    }
}

impl Budget {
    /// A budget of so many US dollars, with the prices by which answers count.
    pub fn new(limit: f64, pricing: Pricing) -> Self {
        let account = Account {
            step: limit,
            limit,
            spent: 0.0,
            silent: BTreeSet::new(),
            accepted: BTreeSet::new(),
        };
        Self {
            pricing,
            account: Arc::new(Mutex::new(account)),
        }
    }

    /// How much may be spent, in US dollars.
    pub fn limit(&self) -> f64 {
        self.account().limit
    }

    /// How much was spent so far, in US dollars.
    pub fn spent(&self) -> f64 {
        self.account().spent
    }

    /// The provider under this budget. A provider may stand under several.
    pub fn over(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        if provider.budgets().contains(&self) {
            return provider;
        }
        Arc::new(Metered {
            inner: provider,
            budget: self.clone(),
        })
    }

    /// Why a model may not be asked now.
    pub(crate) fn reached(&self, provider: &dyn Provider) -> Option<Reached> {
        let billing = provider.billing();
        let is_priced = self.pricing.of(provider, &Usage::default()).is_some();
        if !is_priced && billing == Billing::Nothing {
            return None;
        }
        let account = self.account();
        if account.spent >= account.limit {
            return Some(Reached::Spent);
        }
        let model = name_of(provider);
        let is_counted = is_priced || (billing == Billing::Named && !account.silent.contains(&model));
        let may = is_counted || account.accepted.contains(&model);
        (!may).then_some(Reached::Unpriced(model))
    }

    /// Lets requests go on, because the user wants it.
    pub(crate) fn go_on(&self, reached: &Reached) {
        let mut account = self.account();
        match reached {
            Reached::Spent => account.limit = account.limit.max(account.spent) + account.step,
            Reached::Unpriced(model) => {
                account.accepted.insert(model.clone());
            }
        }
    }

    /// Why no further request is sent, in words.
    pub(crate) fn why(&self, reached: &Reached) -> String {
        let account = self.account();
        match reached {
            Reached::Spent => format!(
                "the budget of {} is used up: {} were spent",
                dollars(account.limit),
                dollars(account.spent)
            ),
            Reached::Unpriced(model) => format!(
                "the price of {model} is not known, so that the budget of {} cannot be kept; name the price under \
                 [prices.{model:?}] in the settings",
                dollars(account.limit)
            ),
        }
    }

    fn check(&self, provider: &dyn Provider) -> Result<(), ProviderError> {
        match self.reached(provider) {
            None => Ok(()),
            Some(reached) => Err(ProviderError::new(
                ProviderErrorKind::Rejected,
                self.why(&reached),
            )),
        }
    }

    /// Counts a complete answer.
    fn count(&self, provider: &dyn Provider, usage: &Usage) {
        match usage.cost.or_else(|| self.pricing.of(provider, usage)) {
            Some(cost) => self.account().spent += cost.max(0.0),
            None if provider.billing() == Billing::Nothing => {}
            None => {
                self.account().silent.insert(name_of(provider));
            }
        }
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().expect("no panic happens while it is held")
    }
}

/// An amount of money, with as many digits as say something.
fn dollars(amount: f64) -> String {
    match amount {
        0.095.. => format!("${amount:.2}"),
        _ => format!("${amount:.4}"),
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

    fn budgets(&self) -> Vec<&Budget> {
        let mut budgets = self.inner.budgets();
        budgets.push(&self.budget);
        budgets
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
            self.budget.check(&*self.inner)?;
            let Answering { begun, parts } = self.inner.send_with(body, options).await?;
            let mut meter = Meter {
                budget: self.budget.clone(),
                provider: Arc::clone(&self.inner),
                asked: body.text().len(),
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

/// Counts one answer. One that breaks off, or that nobody waits for any more, counts by an estimate.
struct Meter {
    budget: Budget,
    provider: Arc<dyn Provider>,
    /// The bytes of the request.
    asked: usize,
    /// The bytes of the answer so far.
    answered: usize,
    is_counted: bool,
}

impl Meter {
    fn see(&mut self, part: &Result<AnswerPart, ProviderError>) {
        match part {
            Ok(AnswerPart::Delta(delta)) => self.answered += length(delta),
            Ok(AnswerPart::Completed { usage, .. }) => {
                self.budget.count(&*self.provider, usage);
                self.is_counted = true;
            }
            // Providers do not charge for a request that they refuse.
            Err(_) if self.answered == 0 => self.is_counted = true,
            _ => {}
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.is_counted {
            return;
        }
        let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
        let usage = Usage {
            input_tokens: tokens(self.asked),
            output_tokens: tokens(self.answered),
            ..Usage::default()
        };
        if let Some(cost) = self.budget.pricing.of(&*self.provider, &usage) {
            self.budget.account().spent += cost.max(0.0);
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
        let cases: [(Parts, usize, f64); 6] = [
            (vec![text("hello"), completed(7, None)], 9, 7.0),
            (vec![completed(7, Some(0.5))], 9, 0.5),
            // Ten bytes of the request are three tokens, eight of the answer two.
            (vec![text("12345678"), broken()], 9, 5.0),
            (vec![text("12345678"), completed(7, None)], 1, 5.0),
            (vec![text("hello"), completed(7, Some(-3.0))], 9, 0.0),
            (vec![broken()], 9, 0.0),
        ];
        for (parts, most, spent) in cases {
            let budget = Budget::new(100.0, a_dollar());
            let provider = budget.over(model(parts.clone(), Billing::ByTokens));
            ask(&*provider, most).await.expect("it is sent");
            assert_eq!(budget.spent(), spent, "{parts:?}");
        }
    }

    #[tokio::test]
    async fn nothing_is_sent_when_the_budget_is_used_up_and_a_yes_adds_as_much_again() {
        let budget = Budget::new(5.0, a_dollar());
        let provider = budget.over(model(vec![completed(7, None)], Billing::ByTokens));
        assert_eq!(
            budget.over(Arc::clone(&provider)).budgets().len(),
            1,
            "it counts once"
        );
        ask(&*provider, 9).await.expect("it is sent");
        assert_eq!(budget.reached(&*provider), Some(Reached::Spent));
        let refused = ask(&*provider, 9).await.expect_err("nothing is left");
        assert!(refused.message.contains("$5.00 is used up: $7.00"), "{refused}");
        budget.go_on(&Reached::Spent);
        assert_eq!((budget.limit(), budget.reached(&*provider)), (12.0, None));
        let other = Budget::new(1.0, a_dollar());
        let both = other.over(Arc::clone(&provider));
        assert_eq!(both.budgets(), [&budget, &other]);
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
        let reached = budget.reached(&*named);
        assert_eq!(
            reached, None,
            "what is free names no price, and that is no reason to doubt"
        );
        ask(&*named, 9).await.expect("each answer names its cost");
        let silent = priced(Billing::Named, vec![completed(7, None)]);
        ask(&*silent, 9).await.expect("nothing is known yet");
        let reached = budget.reached(&*silent).expect("it named no cost");
        budget.go_on(&reached);
        assert_eq!(budget.reached(&*silent), None, "the user wants it");
    }
}
