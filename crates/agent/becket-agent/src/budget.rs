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
