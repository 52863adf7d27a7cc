//! An agent that is put together and never runs: its hooks can be asked one event at a time.

use std::sync::Arc;

use becket_events::{Event, EventId, Payload, Profile, Reply, Scope, Verdict, Visitor};
use becket_hooks::{DispatchTrace, Engine, HandlerInfo, Rehearsal, ReportedFailure, Witness};
use becket_host::Asking;
use becket_system::signals::unless_cancelled;
use becket_system::{CliError, Exit, Surroundings};
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::payload::{Wish, fields_of};
use crate::args::Options;
use crate::assemble::{Assembled, Caller, Setup};
use crate::commands::{Purpose, person, with_some_model};
use crate::front::Output;

/// Everything that a run would ask its hooks with.
pub struct Lab {
    pub assembled: Assembled,
    pub setup: Setup,
    /// The names by which the model would know the tools.
    pub profile: Profile,
    /// The project's current context.
    context: String,
    cwd: String,
    /// Ends a hook that is being asked.
    cancel: CancellationToken,
}

/// An event that is tried out.
pub struct Occurrence<'a> {
    pub event: EventId,
    /// What the person wants in it.
    pub wish: &'a Wish,
    /// Which handlers are asked; all of them when absent.
    pub dialect: Option<&'a str>,
}

/// What came of it.
pub struct Fired {
    pub event: EventId,
    /// The event as it was fired.
    pub before: Value,
    /// The event as it is when all have spoken.
    pub after: Value,
    /// Who was asked, with what; `None` if nobody wanted it.
    pub trace: Option<DispatchTrace>,
    /// The reply of all together.
    pub reply: Value,
    pub verdict: Option<Verdict>,
    /// Those whose verdict it is.
    pub deciders: Vec<String>,
    pub failures: Vec<ReportedFailure>,
    /// Handlers of the event that did not want this one.
    pub others: Vec<Arc<HandlerInfo>>,
}

impl Lab {
    /// Puts everything together. What a project brings counts only if it is trusted, as in a run.
    pub async fn open(
        options: &Options,
        surroundings: &Surroundings,
        witness: Option<Arc<dyn Witness>>,
        cancel: &CancellationToken,
    ) -> Result<Self, CliError> {
        let mut setup = Setup::read(options, surroundings)?;
        setup.witness = witness;
        setup.is_rehearsal = true;
        let refusal = setup.project.refusal.clone();
        if let Some(error) = refusal.filter(|refusal| refusal.exit != Exit::UntrustedGuard) {
            return Err(error);
        }
        let output = Arc::new(Output::default());
        let person = person(options, surroundings, &output, Purpose::Care);
        let options = &with_some_model(&setup, Purpose::Care, options, surroundings);
        let store = Arc::new(setup.folders.open_store()?);
        let context = store.chosen()?.current;
        let profile = setup.profile(options)?;
        let caller = Caller {
            options,
            surroundings,
            cancel,
        };
        let assembled = setup.assemble(caller, person, store, Asking::Never).await?;
        assembled.enter(&context);
        Ok(Self {
            assembled,
            setup,
            profile,
            context,
            cwd: surroundings.cwd.display().to_string(),
            cancel: cancel.clone(),
        })
    }

    /// Lets extensions begin, as at the start of a session: before that, much of what they ask for is refused.
    pub async fn begin(self) -> Self {
        self.assembled.extensions.bind().await;
        self
    }

    /// Ends what was put together.
    pub async fn close(&self, surroundings: &Surroundings) -> Result<(), CliError> {
        self.assembled.close().await?;
        if let Some(refusal) = &self.setup.project.refusal {
            surroundings.remark(&format!("no run starts here: {refusal}"));
        }
        Ok(())
    }

    pub fn engine(&self) -> &Arc<Engine> {
        &self.assembled.agent.engine
    }

    /// Where events would happen.
    pub fn scope(&self) -> Scope {
        let agent = &self.assembled.agent;
        Scope {
            session_id: "00000000-0000-7000-8000-000000000000".into(),
            context_name: self.context.clone(),
            agent_name: agent.settings.agent_name.clone(),
            model: format!("{}/{}", agent.provider.name(), agent.provider.model()),
            cwd: self.cwd.clone(),
            turn: 1,
            ..Scope::default()
        }
    }

    /// Fires an event, and nothing else happens.
    pub async fn fire(&self, occurrence: Occurrence<'_>) -> Result<Fired, CliError> {
        let Occurrence { event, wish, dialect } = occurrence;
        let among = |info: &HandlerInfo| dialect.is_none_or(|dialect| info.dialect.name == dialect);
        let rehearsal = Rehearsal {
            among: Some(&among),
            fault: None,
        };
        self.rehearse(event, wish, &self.scope(), rehearsal).await
    }

    /// The same in other surroundings, or with a fault.
    pub async fn rehearse(
        &self,
        event: EventId,
        wish: &Wish,
        scope: &Scope,
        rehearsal: Rehearsal<'_>,
    ) -> Result<Fired, CliError> {
        let fields = fields_of(event, scope, wish, &self.profile).map_err(CliError::usage)?;
        let firing = Firing {
            engine: self.engine(),
            fields,
            rehearsal,
        };
        unless_cancelled(&self.cancel, event.visit(firing)).await?
    }
}

/// An event on its way to its own type.
struct Firing<'a> {
    engine: &'a Engine,
    fields: Map<String, Value>,
    rehearsal: Rehearsal<'a>,
}

impl<'a> Visitor for Firing<'a> {
    type Output = LocalBoxFuture<'a, Result<Fired, CliError>>;

    fn visit<E: Event>(self) -> Self::Output {
        Box::pin(fire::<E>(self))
    }
}

async fn fire<E: Event>(firing: Firing<'_>) -> Result<Fired, CliError> {
    let Firing {
        engine,
        fields,
        rehearsal,
    } = firing;
    let wrong = |error: serde_json::Error| {
        CliError::usage(format!("these are no fields of {}: {error}", E::NAME)).hint(format!(
            "`becket hooks events {} --json` shows the schema",
            E::NAME
        ))
    };
    let scope: Scope = serde_json::from_value(Value::Object(fields.clone())).map_err(wrong)?;
    let mut payload: E::Payload = serde_json::from_value(Value::Object(fields)).map_err(wrong)?;
    payload.settle();
    let wanting = engine.wanting::<E>(&scope, &payload);
    let all = engine.handlers_of(E::ID).into_iter();
    let others = all.filter(|info| !wanting.iter().any(|wanting| Arc::ptr_eq(wanting, info)));
    let before = serde_json::to_value(&payload).unwrap_or_default();
    let (outcome, trace) = engine.rehearse::<E>(&scope, payload.clone(), rehearsal).await;
    outcome.reply.apply(&mut payload);
    Ok(Fired {
        event: E::ID,
        before,
        after: serde_json::to_value(&payload).unwrap_or_default(),
        trace,
        reply: serde_json::to_value(&outcome.reply).unwrap_or_default(),
        verdict: outcome.verdict().cloned(),
        deciders: outcome.deciders.clone(),
        failures: outcome.failures,
        others: others.collect(),
    })
}
