//! One question of another agent: read, put to the hooks, answered.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use becket_agent::front::Front;
use becket_agent::store::{NewSession, Store};
use becket_events::Scope;
use becket_host::{Asked, Asking, Moment, Person, Ruling, VariablesFor};
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

impl Question {
    /// What the agent asks about. The error says what cannot be understood.
    pub(crate) fn read(&self) -> Result<Asked, CliError> {
        let bridge = self.asked.bridge;
        (bridge.read)(self.asked.event, &self.payload)
            .map_err(|why| CliError::usage(format!("the question of {} cannot be read: {why}", bridge.title)))
    }

    /// Gives the variables of hooks to the agent, or tells that it takes none.
    fn hand_over_variables(&self, ruling: &mut Ruling) {
        let taken = match self.asked.bridge.variables {
            _ if ruling.variables.is_empty() => return,
            VariablesFor::HooksByAnswer => return,
            VariablesFor::CommandsByFile(_) => self
                .env_file
                .as_deref()
                .map(|file| export(file, &ruling.variables)),
            VariablesFor::Nobody => None,
        };
        let names: Vec<&str> = ruling.variables.keys().map(String::as_str).collect();
        let why = match taken {
            Some(Ok(())) => return,
            Some(Err(error)) => format!(": {error}"),
            None => String::new(),
        };
        let names = names.join(", ");
        let notice = format!("becket: the variables {names} of a hook cannot be set here{why}");
        ruling.notices.push(notice);
    }

    /// The answer in the agent's own words.
    pub(crate) fn answer(&self, ruling: Result<Ruling, CliError>) -> Option<Value> {
        let asked = self.asked;
        let ruling = match (ruling, asked.mode) {
            (Ok(ruling), _) => ruling,
            (Err(why), Mode::Enforce) => return asked.unable(&self.payload, &why.to_string()),
            (Err(why), Mode::Shadow) => Ruling {
                notices: vec![format!("becket: {why}")],
                ..Ruling::default()
            },
        };
        (asked.bridge.write)(asked.event, &self.payload, &ruling)
    }
}

/// Puts a question to hooks that are loaded for it, and writes the answer.
pub async fn answer(question: &Question, caller: Caller<'_>) -> Option<Value> {
    let ruling = async {
        let asked = question.read()?;
        let hooks = LoadedHooks::open(caller, question.asked.mode).await?;
        let ruling = hooks.rule(question, &asked).await?;
        hooks.close().await?;
        Ok(ruling)
    };
    question.answer(ruling.await)
}

/// Adds variables to a file that a shell reads.
fn export(file: &Path, variables: &BTreeMap<String, String>) -> std::io::Result<()> {
    let is_name = |name: &str| {
        let mut bytes = name.bytes();
        let begins = bytes
            .next()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        begins && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if let Some(wrong) = variables.keys().find(|name| !is_name(name)) {
        return Err(std::io::Error::other(format!(
            "`{wrong}` is not the name of a variable"
        )));
    }
    let quoted = |value: &str| value.replace('\'', r"'\''");
    let lines = variables.iter();
    let lines: String = lines
        .map(|(name, value)| format!("export {name}='{}'\n", quoted(value)))
        .collect();
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    file.write_all(lines.as_bytes())
}

/// The hooks that are asked.
pub(crate) struct LoadedHooks {
    assembled: Assembled,
    said: Arc<Said>,
    mode: Mode,
}

impl LoadedHooks {
    pub async fn open(caller: Caller<'_>, mode: Mode) -> Result<Self, CliError> {
        let setup = Setup::read(caller.options, caller.surroundings)?;
        if let Some(refusal) = &setup.project.refusal {
            return Err(refusal.clone());
        }
        let said = Arc::new(Said::default());
        let options = &with_some_model(&setup, Purpose::Care, caller.options, caller.surroundings);
        let store = Arc::new(setup.open_store()?);
        let front: Arc<dyn Front> = Arc::clone(&said) as Arc<dyn Front>;
        let caller = Caller { options, ..caller };
        let assembled = assemble(&setup, caller, Person::reading(front), store, Asking::Never).await?;
        if mode == Mode::Shadow {
            assembled.agent.engine.put_in_shadow();
        }
        assembled.interactive.bind().await;
        Ok(Self {
            assembled,
            said,
            mode,
        })
    }

    /// Fires the events of a question. What it left in the record is on disk afterwards.
    pub async fn rule(&self, question: &Question, asked: &Asked) -> Result<Ruling, CliError> {
        let scope = self.enter(question, asked).await?;
        let moments = Moments::new(&self.assembled, scope, Arc::clone(&self.said), self.mode);
        let mut ruling = moments.rule(question.asked.bridge, &asked.moment).await;
        ruling.notices.extend(self.said.take());
        question.hand_over_variables(&mut ruling);
        let store = &self.assembled.store;
        if asked.moment == Moment::SessionEnd {
            store.end_session(&asked.session_id, "done").await?;
        }
        store.flush().await?;
        Ok(ruling)
    }

    pub async fn close(self) -> Result<(), CliError> {
        self.assembled.close().await
    }

    /// Takes up the agent's session. Sessions of one agent are in one context, which bears its name.
    async fn enter(&self, question: &Question, asked: &Asked) -> Result<Scope, CliError> {
        let bridge = question.asked.bridge;
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
            permission_mode: None,
        })
    }
}
