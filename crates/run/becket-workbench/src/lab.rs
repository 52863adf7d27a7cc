//! An assembled agent that never runs: its hooks can be asked one event at a time.

use std::sync::Arc;

use becket_events::{EVENTS, EventId, Profile, Scope};
use becket_hooks::{Engine, HandlerInfo, ReadEvent, Rehearsal, Rehearsed, Witness};
use becket_host::{Asking, Person};
use becket_run::Purpose;
use becket_run::agent_settings::profile;
use becket_run::assemble::Assembled;
use becket_run::assemble::assemble;
use becket_run::conversation::with_some_model;
use becket_run::options::Caller;
use becket_run::setup::Setup;
use becket_system::signals::unless_cancelled;
use becket_system::{CliError, Exit, Surroundings};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::payload::{PayloadOverrides, fields_of};

/// An assembled agent whose hooks can be asked without a run.
pub struct Lab {
    pub assembled: Assembled,
    pub setup: Setup,
    /// The names by which the model would know the tools.
    pub profile: Profile,
    /// The project's current context.
    context: String,
    cwd: String,
    /// Cancels the hooks that are being asked.
    cancel: CancellationToken,
}

/// An event to try out.
pub struct Occurrence<'a> {
    pub event: EventId,
    /// The fields that the user has set.
    pub overrides: &'a PayloadOverrides,
    /// The dialect whose handlers are asked; all handlers are if there is none.
    pub dialect: Option<&'a str>,
}

/// A handler that was not asked about an event, with the reason.
pub type NotAsked = (Arc<HandlerInfo>, String);

/// The result of an event that was tried out.
pub struct Fired {
    pub event: EventId,
    pub rehearsed: Rehearsed,
    /// Hooks of the event that were not asked, each with the reason.
    pub others: Vec<NotAsked>,
    /// The hooks of other events, if none matched; those of the nearest events first.
    pub elsewhere: Vec<(EventId, Arc<HandlerInfo>)>,
}

impl Lab {
    /// Assembles the agent. What a project brings counts only if it is trusted, as in a run.
    pub async fn open(
        caller: Caller<'_>,
        person: Person,
        witness: Option<Arc<dyn Witness>>,
    ) -> Result<Self, CliError> {
        let Caller {
            options,
            surroundings,
            cancel,
        } = caller;
        let mut setup = Setup::read(options, surroundings)?;
        setup.witness = witness;
        setup.is_rehearsal = true;
        let refusal = setup.project.refusal.clone();
        if let Some(error) = refusal.filter(|refusal| refusal.exit != Exit::UntrustedGuard) {
            return Err(error);
        }
        let options = &with_some_model(&setup, Purpose::Care, options, surroundings);
        let store = Arc::new(setup.open_store()?);
        let context = store.chosen()?.current;
        let profile = profile(&setup, options)?;
        let caller = Caller { options, ..caller };
        let assembled = assemble(&setup, caller, person, store, Asking::Never).await?;
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

    /// Starts the extensions, as at the start of a session: before that, much of what they ask for is refused.
    pub async fn begin(self) -> Self {
        self.assembled.interactive.bind().await;
        self
    }

    /// Closes the agent and its guests.
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

    /// The scope in which events are fired.
    pub fn scope(&self) -> Scope {
        let agent = &self.assembled.agent;
        Scope {
            session_id: "00000000-0000-7000-8000-000000000000".into(),
            context_name: self.context.clone(),
            agent_name: agent.settings.agent_name.clone(),
            model: format!("{}/{}", agent.provider.name(), agent.provider.model()),
            cwd: self.cwd.clone(),
            turn: 1,
            permission_mode: Some(agent.settings.approval.mode.get()),
            ..Scope::default()
        }
    }

    /// Fires an event. No tool or model runs.
    pub async fn fire(&self, occurrence: Occurrence<'_>) -> Result<Fired, CliError> {
        let Occurrence {
            event,
            overrides,
            dialect,
        } = occurrence;
        let among = |info: &HandlerInfo| dialect.is_none_or(|dialect| info.dialect.name == dialect);
        let rehearsal = Rehearsal {
            among: Some(&among),
            fault: None,
        };
        self.rehearse(event, overrides, &self.scope(), rehearsal).await
    }

    /// The hooks that would not be asked about an event, each with the reason.
    pub fn not_asked(&self, event: EventId, overrides: &PayloadOverrides) -> Result<Vec<NotAsked>, CliError> {
        let occasion = self.occasion(event, overrides, &self.scope())?;
        Ok(self.others(event, &occasion))
    }

    /// The event with its fields.
    fn occasion(
        &self,
        event: EventId,
        overrides: &PayloadOverrides,
        scope: &Scope,
    ) -> Result<ReadEvent, CliError> {
        let name = event.info().name;
        let fields = fields_of(event, scope, overrides, &self.profile).map_err(CliError::usage)?;
        let mut read = ReadEvent::read(event, &Value::Object(fields).to_string()).map_err(|error| {
            let words = error.to_string();
            // The place is one in a text that the user has not seen.
            let words = words.split(" at line ").next().unwrap_or_default();
            CliError::usage(format!("{name} has no such fields: {words}"))
                .hint(format!("`becket hooks events {name} --json` shows the schema"))
        })?;
        read.settle();
        Ok(read)
    }

    fn others(&self, event: EventId, occasion: &ReadEvent) -> Vec<NotAsked> {
        let mut others = self.engine().not_wanting(occasion);
        others.extend(self.untrusted(event));
        others
    }

    /// The hooks of an event that are not asked because they are not trusted.
    fn untrusted(&self, event: EventId) -> impl Iterator<Item = NotAsked> {
        let hooks = self.setup.project.untrusted_hooks.iter();
        let hooks = hooks.filter(move |hook| hook.event == event);
        hooks.map(|hook| (Arc::new(hook.info.clone()), UNTRUSTED.to_owned()))
    }

    /// The hooks of other events; those of events whose names begin alike come first.
    fn elsewhere(&self, event: EventId) -> Vec<(EventId, Arc<HandlerInfo>)> {
        let kind = |event: EventId| event.info().name.split('_').next();
        let (near, far): (Vec<EventId>, Vec<EventId>) = EVENTS
            .iter()
            .map(|info| info.id)
            .filter(|other| *other != event)
            .partition(|other| kind(*other) == kind(event));
        let hooks = near.into_iter().chain(far).flat_map(|event| {
            let hooks = self.engine().handlers_of(event).into_iter();
            hooks
                .filter(|info| !info.is_of_the_program())
                .map(move |info| (event, info))
        });
        hooks.collect()
    }

    /// Fires an event in another scope, or with a fault.
    pub async fn rehearse(
        &self,
        event: EventId,
        overrides: &PayloadOverrides,
        scope: &Scope,
        rehearsal: Rehearsal<'_>,
    ) -> Result<Fired, CliError> {
        let occasion = self.occasion(event, overrides, scope)?;
        let others = self.others(event, &occasion);
        let rehearsed = self.engine().rehearse(&occasion, rehearsal);
        let rehearsed = unless_cancelled(&self.cancel, rehearsed).await?;
        let elsewhere = match rehearsed.trace {
            Some(_) => Vec::new(),
            None => self.elsewhere(event),
        };
        Ok(Fired {
            event,
            rehearsed,
            others,
            elsewhere,
        })
    }
}

/// Why a hook that is not trusted is not asked.
const UNTRUSTED: &str = "it is not trusted; `becket hooks trust` asks you about it";
