//! Budgets of agent files: how much money, how many tokens and how much working time a run may take.
//!
//! Every answer is counted when it arrives, for all agents that draw from a budget together. A request for which
//! nothing is left is refused, which ends the run, so that a run goes over a limit by one answer at most. Where a
//! provider does not say what an answer used, an estimate from its length counts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use becket_events::{
    AgentEnd, AgentEndReply, Class, PreRequest, PreRequestPayload, PreRequestReply, Response,
    ResponsePayload, ResponseReply, ResponseStart, ResponseStartReply, Scope, Strictest, TurnEnded,
    TurnEndedReply, TurnStart, TurnStartReply, Usage, Verdict, request_size,
};
use becket_hooks::{Action, Condition, Engine, HandlerInfo, Matcher, Occasion, Registration};
use becket_providers::Price;

use crate::file::{AgentFile, Budget, ModelDefinition};

/// Registers what counts and what refuses, for every budget of a file.
pub fn register(engine: &Engine, file: &AgentFile) {
    let prices = Arc::new(prices(file.models.values()));
    for budget in &file.budgets {
        Purse {
            budget: budget.clone(),
            prices: Arc::clone(&prices),
            spent: Mutex::default(),
        }
        .register(engine, &format!("{}:{}", file.path.display(), budget.line));
    }
}

/// The prices that the file gives, by `provider/model`.
fn prices<'a>(models: impl Iterator<Item = &'a ModelDefinition>) -> BTreeMap<String, Price> {
    let priced =
        models.filter_map(|model| Some((format!("{}/{}", model.provider, model.model), model.price?)));
    priced.collect()
}

/// A budget and what has been taken from it.
struct Purse {
    budget: Budget,
    prices: Arc<BTreeMap<String, Price>>,
    spent: Mutex<Spent>,
}

/// What has been taken from a budget.
#[derive(Default)]
struct Spent {
    cost: f64,
    /// A model that has answered and whose price is not known.
    unpriced: Option<String>,
    tokens: u64,
    worked: Duration,
    /// The requests that have no answer yet, by their sessions.
    asked: HashMap<String, Asked>,
    /// The sessions that are in a turn, and since when at least one has been.
    working: HashSet<String>,
    since: Option<Instant>,
}

/// A request that has no answer yet.
struct Asked {
    bytes: usize,
    /// Whether its provider has begun to answer, and not a hook in its place.
    is_sent: bool,
}

impl Spent {
    fn ask(&mut self, session: &str, bytes: usize) {
        let asked = Asked {
            bytes,
            is_sent: false,
        };
        self.asked.insert(session.to_owned(), asked);
    }

    /// What an answer to the last request of a session used: as its provider says, or else an estimate.
    fn used(&mut self, session: &str, answer: &ResponsePayload) -> Usage {
        let asked = self.asked.remove(session).filter(|asked| asked.is_sent);
        match asked {
            Some(asked) if !answer.usage.names_tokens() => Usage {
                cost: answer.usage.cost,
                ..Usage::estimated(asked.bytes, answer.text.len())
            },
            _ => answer.usage,
        }
    }

    fn begin(&mut self, session: &str) {
        self.working.insert(session.to_owned());
        self.since.get_or_insert_with(Instant::now);
    }

    fn end(&mut self, session: &str) {
        self.working.remove(session);
        if self.working.is_empty()
            && let Some(since) = self.since.take()
        {
            self.worked += since.elapsed();
        }
    }

    fn worked(&self) -> Duration {
        self.worked + self.since.map(|since| since.elapsed()).unwrap_or_default()
    }
}

impl Purse {
    fn register(self, engine: &Engine, place: &str) {
        let purse = Arc::new(self);
        let own = Arc::clone(&purse);
        engine.on::<Response>(place, move |occasion| {
            own.count(occasion.scope, occasion.payload);
            Ok(ResponseReply::default())
        });
        let own = Arc::clone(&purse);
        engine.on::<ResponseStart>(place, move |occasion| {
            if let Some(asked) = own.spent().asked.get_mut(&occasion.scope.session_id) {
                asked.is_sent = true;
            }
            Ok(ResponseStartReply::default())
        });
        let own = Arc::clone(&purse);
        engine.on::<TurnStart>(place, move |occasion| {
            if own.budget.is_of(&occasion.scope.agent_name) {
                own.spent().begin(&occasion.scope.session_id);
            }
            Ok(TurnStartReply::default())
        });
        let own = Arc::clone(&purse);
        engine.on::<TurnEnded>(place, move |occasion| {
            own.spent().end(&occasion.scope.session_id);
            Ok(TurnEndedReply::default())
        });
        let own = Arc::clone(&purse);
        engine.on::<AgentEnd>(place, move |occasion| {
            own.spent().end(&occasion.scope.session_id);
            Ok(AgentEndReply::default())
        });
        let own = Arc::clone(&purse);
        let condition: Condition<PreRequest> =
            Arc::new(move |scope: &Scope, _: &PreRequestPayload| own.budget.is_of(&scope.agent_name));
        engine.register(Registration {
            info: HandlerInfo::native(place, Class::Guard),
            order: Vec::new(),
            matcher: Matcher::default(),
            condition: Some(condition),
            action: Action::Native(Arc::new(move |occasion: &Occasion<'_, PreRequest>| {
                let bytes = request_size(&occasion.payload.body);
                purse.spent().ask(&occasion.scope.session_id, bytes);
                Ok(PreRequestReply {
                    verdict: Strictest(purse.refusal().map(Verdict::Deny)),
                    ..PreRequestReply::default()
                })
            })),
        });
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().expect("no panic happens while it is held")
    }

    fn count(&self, scope: &Scope, answer: &ResponsePayload) {
        if !self.budget.is_of(&scope.agent_name) {
            return;
        }
        let mut spent = self.spent();
        let usage = spent.used(&scope.session_id, answer);
        let cost = match self.prices.get(&scope.model) {
            // A price of the file goes before every other.
            Some(price) => Some(price.of(&Usage { cost: None, ..usage })),
            None => usage.cost,
        };
        spent.tokens = spent
            .tokens
            .saturating_add(usage.input_tokens)
            .saturating_add(usage.output_tokens);
        match cost {
            Some(cost) => spent.cost += cost,
            None => spent.unpriced = Some(scope.model.clone()),
        }
    }

    /// Why nothing more may be asked for, if a limit is reached.
    fn refusal(&self) -> Option<String> {
        let (budget, spent) = (&self.budget, self.spent());
        let reached = |limit: &str, used: String, most: String| {
            let place = &budget.place;
            Some(format!(
                "`{place}.{limit}` of the agent file is reached (used {used} of {most})"
            ))
        };
        if let Some(most) = budget.max_cost {
            if let Some(model) = &spent.unpriced {
                let place = &budget.place;
                return Some(format!(
                    "the price of {model} is not known, so `{place}.max_cost` of the agent file cannot be kept; set \
                     `cost` of the model in the file, or `prices` in becket's settings"
                ));
            }
            if spent.cost >= most {
                return reached("max_cost", format!("${:.4}", spent.cost), format!("${most:.4}"));
            }
        }
        if let Some(most) = budget.max_tokens.filter(|most| spent.tokens >= *most) {
            return reached("max_tokens", spent.tokens.to_string(), most.to_string());
        }
        let most = budget.max_time.filter(|most| spent.worked() >= *most)?;
        reached(
            "max_time",
            format!("{:.1?}", spent.worked()),
            format!("{most:.1?}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_counted_while_somebody_works() {
        let mut spent = Spent::default();
        spent.begin("a");
        spent.begin("b");
        spent.end("a");
        assert!(spent.since.is_some());
        spent.end("b");
        spent.end("b");
        assert!(spent.since.is_none() && spent.worked() == spent.worked);
    }
}
