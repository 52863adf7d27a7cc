//! The account of a budget: what may be spent, what was spent, and why nothing more may be. It knows no provider.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

/// The account of a budget in US dollars. Clones are the same account.
#[derive(Clone, Debug)]
pub(crate) struct Account(Arc<Mutex<Balance>>);

#[derive(Debug)]
struct Balance {
    /// The amount by which the user raises the limit.
    step: f64,
    limit: f64,
    spent: f64,
    /// The part of what was spent that nobody has reported.
    estimated: f64,
    /// Models that should have named what their answers cost and did not.
    silent: BTreeSet<String>,
    /// Models without a price that the user lets go on.
    accepted: BTreeSet<String>,
}

/// Why a budget lets no further request pass.
#[derive(Debug, Clone, PartialEq)]
enum Reached {
    /// It is used up.
    Spent,
    /// The price of this model is not known.
    Unpriced(String),
}

/// A budget that lets no further request pass.
#[derive(Debug, Clone)]
pub struct ReachedBudget {
    account: Account,
    reached: Reached,
}

impl Account {
    pub(crate) fn new(limit: f64) -> Self {
        Self(Arc::new(Mutex::new(Balance {
            step: limit,
            limit,
            spent: 0.0,
            estimated: 0.0,
            silent: BTreeSet::new(),
            accepted: BTreeSet::new(),
        })))
    }

    pub(crate) fn limit(&self) -> f64 {
        self.balance().limit
    }

    pub(crate) fn spent(&self) -> f64 {
        self.balance().spent
    }

    /// Takes what an answer has cost.
    pub(crate) fn pay(&self, cost: f64) {
        self.balance().spent += cost.max(0.0);
    }

    /// Takes what an answer has cost by an estimate.
    pub(crate) fn pay_estimate(&self, cost: f64) {
        let mut balance = self.balance();
        balance.spent += cost.max(0.0);
        balance.estimated += cost.max(0.0);
    }

    /// The part of what was spent that nobody has reported.
    fn estimated(&self) -> f64 {
        self.balance().estimated
    }

    /// Notes that a model has not named what its answer cost.
    pub(crate) fn note_silence(&self, model: String) {
        self.balance().silent.insert(model);
    }

    /// Whether the model has never left out what its answer cost.
    pub(crate) fn has_heard_of(&self, model: &str) -> bool {
        !self.balance().silent.contains(model)
    }

    /// Why a model may not be asked now; `is_counted` says whether it is known what its answers cost.
    pub(crate) fn reached(&self, model: &str, is_counted: bool) -> Option<ReachedBudget> {
        let balance = self.balance();
        let reached = match () {
            () if balance.spent >= balance.limit => Reached::Spent,
            () if !is_counted && !balance.accepted.contains(model) => Reached::Unpriced(model.to_owned()),
            () => return None,
        };
        drop(balance);
        Some(ReachedBudget {
            account: self.clone(),
            reached,
        })
    }

    fn balance(&self) -> MutexGuard<'_, Balance> {
        self.0.lock().expect("no panic happens while it is held")
    }
}

impl ReachedBudget {
    /// How much may be spent, in US dollars.
    pub fn limit(&self) -> f64 {
        self.account.limit()
    }

    /// How much was spent, in US dollars.
    pub fn spent(&self) -> f64 {
        self.account.spent()
    }

    /// The model whose price is not known, if that is why.
    pub fn unpriced_model(&self) -> Option<&str> {
        match &self.reached {
            Reached::Spent => None,
            Reached::Unpriced(model) => Some(model),
        }
    }

    /// Why no further request is sent, in words.
    pub fn why(&self) -> String {
        let (limit, spent) = (dollars(self.limit()), dollars(self.spent()));
        match &self.reached {
            Reached::Spent => {
                let estimated = self.account.estimated();
                let remark = match estimated > 0.0 {
                    true => format!(", of which {} are estimates", dollars(estimated)),
                    false => String::new(),
                };
                format!("the budget of {limit} is used up: {spent} were spent{remark}")
            }
            Reached::Unpriced(model) => format!(
                "the price of {model} is not known, so that the budget of {limit} cannot be kept; name the price under \
                 [prices.{model:?}] in the settings"
            ),
        }
    }

    /// Lets requests go on, because the user wants it.
    pub fn go_on(&self) {
        let mut balance = self.account.balance();
        match &self.reached {
            Reached::Spent => balance.limit = balance.limit.max(balance.spent) + balance.step,
            Reached::Unpriced(model) => {
                balance.accepted.insert(model.clone());
            }
        }
    }
}

/// An amount of money, with as many digits as say something.
fn dollars(amount: f64) -> String {
    match amount {
        0.095.. => format!("${amount:.2}"),
        _ => format!("${amount:.4}"),
    }
}
