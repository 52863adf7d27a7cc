//! One question of another agent: read, put to the hooks, answered.

use std::sync::Arc;

use becket_agent::front::Front;
use becket_agent::store::{NewSession, Store};
use becket_events::Scope;
use becket_host::{Asked, Asking, Bridge, BridgePayload, BridgedEvent, Moment, MomentKind, Person, Ruling};
use becket_run::Purpose;
use becket_run::assemble::{Assembled, assemble};
use becket_run::conversation::with_some_model;
use becket_run::options::Caller;
use becket_run::setup::Setup;
use becket_system::CliError;
use serde_json::Value;

use crate::moments::Moments;
use crate::question::{Mode, Question};
use crate::said::Said;
use crate::shadow::{self, ShadowRecord};

/// The agent's event of that name.
pub fn event_named(bridge: &'static Bridge, name: &str) -> Option<&'static BridgedEvent> {
    bridge.events.iter().find(|event| event.name == name)
}

/// What is printed when an event cannot be judged: a refusal, if something can be refused there.
pub fn refusal(
    bridge: &Bridge,
    event: &BridgedEvent,
    payload: &BridgePayload,
    reason: &str,
) -> Option<Value> {
    let told = format!("becket refuses it: {reason}");
    let ruling = match event.kind {
        kind if kind.is_guard() => Ruling::deny(told),
        // A hook might have kept it from the model.
        MomentKind::Called => Ruling {
            output: Some(format!("[becket withholds the result: {reason}]")),
            ..Ruling::default()
        },
        _ => Ruling {
            notices: vec![format!("becket: {reason}")],
            ..Ruling::default()
        },
    };
    (bridge.write)(event, payload, &ruling)
}

/// Puts a question to the hooks, and writes the answer.
pub async fn answer(question: &Question, mode: Mode, caller: Caller<'_>) -> Option<Value> {
    let Question {
        bridge,
        event,
        payload,
        ..
    } = question;
    let ruling = match (bridge.read)(event, payload) {
        Err(why) => Err(format!("the question of {} cannot be read: {why}", bridge.title)),
        Ok(asked) => rule(question, &asked, mode, caller)
            .await
            .map_err(|error| error.to_string()),
    };
    match (ruling, mode) {
        (Ok(ruling), _) => (bridge.write)(event, payload, &ruling),
        (Err(why), Mode::Enforce) => refusal(bridge, event, payload, &why),
        (Err(why), Mode::Shadow) => {
            let notices = vec![format!("becket: {why}")];
            let ruling = Ruling {
                notices,
                ..Ruling::default()
            };
            (bridge.write)(event, payload, &ruling)
        }
    }
}

async fn rule(
    question: &Question,
    asked: &Asked,
    mode: Mode,
    caller: Caller<'_>,
) -> Result<Ruling, CliError> {
    let setup = Setup::read(caller.options, caller.surroundings)?;
    if let Some(refusal) = &setup.project.refusal {
        return Err(refusal.clone());
    }
    let said = Arc::new(Said::default());
    let mut hooks = Loaded::open(setup, &said, caller).await?;
    let scope = hooks.enter(question, asked).await?;
    let moments = Moments::new(&hooks.assembled, scope, Arc::clone(&said));
    let mut ruling = moments.rule(question.bridge, &asked.moment).await;
    ruling.notices.extend(said.take());
    if mode == Mode::Shadow {
        ruling = put_aside(question, asked, ruling, &hooks.setup)?;
    }
    if asked.moment == Moment::SessionEnd {
        hooks
            .assembled
            .store
            .end_session(&asked.session_id, "done")
            .await?;
    }
    hooks.assembled.close().await?;
    Ok(ruling)
}

/// Keeps what would have been refused, changed or ended, and leaves only what cannot hinder.
fn put_aside(question: &Question, asked: &Asked, ruling: Ruling, setup: &Setup) -> Result<Ruling, CliError> {
    if let Some(record) = ShadowRecord::of(question, asked, &ruling) {
        shadow::keep(&setup.folders.data, &record)?;
    }
    Ok(Ruling {
        context: ruling.context,
        notices: ruling.notices,
        ..Ruling::default()
    })
}

/// The hooks that are asked.
struct Loaded {
    setup: Setup,
    assembled: Assembled,
}

impl Loaded {
    async fn open(setup: Setup, said: &Arc<Said>, caller: Caller<'_>) -> Result<Self, CliError> {
        let options = &with_some_model(&setup, Purpose::Care, caller.options, caller.surroundings);
        let store = Arc::new(setup.folders.open_store()?);
        let front: Arc<dyn Front> = Arc::clone(said) as Arc<dyn Front>;
        let caller = Caller { options, ..caller };
        let assembled = assemble(&setup, caller, Person::reading(front), store, Asking::Never).await?;
        assembled.interactive.bind().await;
        Ok(Self { setup, assembled })
    }

    /// Takes up the agent's session. Sessions of one agent are in one context, which bears its name.
    async fn enter(&mut self, question: &Question, asked: &Asked) -> Result<Scope, CliError> {
        let bridge = question.bridge;
        let main = &asked.session_id;
        let (session_id, parent_session_id) = match &asked.subagent {
            Some(name) => (format!("{main}-{name}"), Some(main.clone())),
            None => (main.clone(), None),
        };
        let model = format!(
            "{}/{}",
            bridge.system,
            asked.model.as_deref().unwrap_or("unknown")
        );
        let cwd = question.directory.display().to_string();
        let store = &self.assembled.store;
        if store.record().family(&session_id)?.is_empty() {
            let session = NewSession {
                session_id: session_id.clone(),
                parent_session_id: parent_session_id.clone(),
                context_name: bridge.system.into(),
                model: model.clone(),
                cwd: cwd.clone(),
            };
            let begun = store.begin_session(session).await;
            // Another call of the same session may have been quicker.
            if begun.is_err() && store.record().family(&session_id)?.is_empty() {
                begun?;
            }
        }
        self.assembled.enter(bridge.system);
        Ok(Scope {
            session_id,
            parent_session_id,
            context_name: bridge.system.into(),
            agent_name: asked.subagent.clone().unwrap_or_else(|| bridge.system.into()),
            agents_above: asked.subagent.iter().map(|_| bridge.system.to_owned()).collect(),
            model,
            cwd,
            turn: u32::from(!matches!(asked.moment, Moment::SessionStart(_))),
        })
    }
}
