//! An agent: everything that a session of it works with.

use std::sync::Arc;

use becket_events::{AgentModel, Scope};
use becket_gate::Hooks;
use becket_gate::gate::Gate;
use becket_gate::vfs::Vfs;
use becket_hooks::Engine;
use tokio_util::sync::CancellationToken;

use crate::front::{Front, user_at};
use crate::guests::{Brought, Guests, ShownByGuests};
use crate::mail::{MailSource, Sending};
use crate::message::new_id;
use crate::provider::Provider;
use crate::session_handle::{Base, Choices, SessionHandle};
use crate::settings::AgentSettings;
use crate::store::{Store, log_of};
use crate::team::{Member, Team};
use crate::tool::Tool;
use crate::window::Window;

/// Everything that an agent works with.
pub struct Agent {
    /// Asks the hooks.
    pub engine: Arc<Engine>,
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// The tools that the model may call.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Stores the conversation.
    pub store: Arc<dyn Store>,
    /// The front end, where the user is.
    pub front: Arc<dyn Front>,
    /// A source of letters besides the store.
    pub mail: Option<Arc<dyn MailSource>>,
    /// The agents that work together here. The prompt, model, tools and limits of the current member replace those of
    /// this agent.
    pub team: Option<Arc<Team>>,
    /// The handle by which code outside of the loop sees and steers the session, if there is such code.
    pub handle: Option<SessionHandle>,
    /// A source of tools that come and go while a session runs.
    pub guests: Option<Arc<dyn Guests>>,
    /// The agent's settings.
    pub settings: AgentSettings,
}

impl Agent {
    /// A new gate, for a session that shares none.
    pub(crate) fn new_gate(&self) -> Arc<Gate> {
        let approval = self.settings.approval.clone();
        let mut vfs = Vfs::new(&self.settings.vfs);
        if let Some(guests) = &self.guests {
            vfs = vfs.showing(Arc::new(ShownByGuests(Arc::clone(guests))));
        }
        let gate = Gate::new(
            approval,
            &self.settings.cwd,
            vfs,
            user_at(Arc::clone(&self.front)),
        );
        Arc::new(gate.recording(log_of(Arc::clone(&self.store))))
    }

    /// The scope in which the events of a new session fire.
    pub(crate) fn scope(
        &self,
        context_name: &str,
        (parent_session_id, agents_above): (Option<&str>, &[String]),
    ) -> Scope {
        let settings = &self.settings;
        Scope {
            session_id: new_id(),
            parent_session_id: parent_session_id.map(ToOwned::to_owned),
            context_name: context_name.into(),
            agent_name: settings.agent_name.clone(),
            agents_above: agents_above.to_vec(),
            model: model_name(&*self.provider),
            cwd: settings.cwd.display().to_string(),
            turn: 0,
            permission_mode: Some(settings.approval.mode.get()),
        }
    }

    /// The names by which the model calls the tools.
    pub(crate) fn tool_names(&self) -> Vec<String> {
        let names = self.tools.iter().map(|tool| tool.spec().face.name.clone());
        names.collect()
    }

    /// The agent with a member in its place: with the member's prompt, model, tools and limits.
    pub(crate) fn with_member(&self, member: &Member) -> Self {
        let team = self.team.as_deref();
        let instructions = team.map_or_else(|| member.instructions.clone(), |team| team.prompt_of(member));
        let usual = &self.settings;
        Self {
            engine: Arc::clone(&self.engine),
            provider: Arc::clone(&member.provider),
            tools: member.tools.clone(),
            store: Arc::clone(&self.store),
            front: Arc::clone(&self.front),
            mail: self.mail.clone(),
            team: self.team.clone(),
            handle: self.handle.clone(),
            guests: self.guests.clone(),
            settings: AgentSettings {
                agent_name: member.name.clone(),
                instructions,
                options: member.options.clone(),
                max_iterations: member.max_iterations.unwrap_or(usual.max_iterations),
                max_identical_rounds: member.max_identical_rounds.unwrap_or(usual.max_identical_rounds),
                ..usual.clone()
            },
        }
    }

    /// The current member, if there is a team.
    pub(crate) fn member(&self) -> Option<&Member> {
        self.team.as_deref()?.member(&self.settings.agent_name)
    }

    /// How many tokens the model can take, as the settings say.
    fn stated_window(&self) -> Window {
        Window {
            tokens: self.settings.compaction.context_window,
            is_known: self.settings.compaction.is_window_known,
        }
    }

    /// How many tokens the model can take, as far as that is known by now.
    pub(crate) fn window(&self) -> Window {
        self.settings
            .windows
            .correct(&*self.provider, self.stated_window())
    }

    /// The model, as hooks are told about it.
    pub(crate) fn models(&self) -> Vec<AgentModel> {
        vec![model_of(&*self.provider)]
    }

    /// The agent with what was chosen through the handle, and with the tools that guests have brought.
    pub(crate) fn choosing(&self, choices: &Choices, brought: &Brought) -> Self {
        let is_new = |tool: &&Arc<dyn Tool>| {
            let name = &tool.spec().face.name;
            !self.tools.iter().any(|own| own.spec().face.name == *name)
        };
        let brought = brought.tools.iter().filter(is_new);
        let base: Vec<Arc<dyn Tool>> = self.tools.iter().chain(brought).cloned().collect();
        let usual = &self.settings;
        let model = choices.model.as_ref();
        let mut settings: AgentSettings = usual.clone();
        settings.options.thinking = choices.thinking.or(usual.options.thinking);
        if let Some(model) = model {
            let compaction = &mut settings.compaction;
            compaction.context_window = model.context_window.unwrap_or(compaction.context_window);
            compaction.is_window_known = model.context_window.is_some();
        }
        Self {
            engine: Arc::clone(&self.engine),
            provider: Arc::clone(model.map_or(&self.provider, |model| &model.provider)),
            tools: choices.tools(&base, self.team.is_none()),
            store: Arc::clone(&self.store),
            front: Arc::clone(&self.front),
            mail: self.mail.clone(),
            team: self.team.clone(),
            handle: self.handle.clone(),
            guests: self.guests.clone(),
            settings,
        }
    }

    /// What a session of the agent works with as long as nothing else was chosen.
    pub(crate) fn base(&self) -> Base {
        Base {
            tools: self.tools.clone(),
            provider: Arc::clone(&self.provider),
            thinking: self.settings.options.thinking,
            window: self.stated_window(),
            windows: self.settings.windows.clone(),
            unoffered: Arc::new(self.settings.unoffered.clone()),
            takes_tools: self.team.is_none(),
        }
    }

    /// Sends a letter outside of any session, in the name of a context.
    pub async fn send_letter(
        &self,
        sending: Sending<'_>,
        context_name: &str,
        cancel: CancellationToken,
    ) -> Result<String, String> {
        let scope = Scope {
            session_id: new_id(),
            parent_session_id: None,
            context_name: context_name.into(),
            agent_name: self.settings.agent_name.clone(),
            agents_above: Vec::new(),
            model: format!("{}/{}", self.provider.name(), self.provider.model()),
            cwd: self.settings.cwd.display().to_string(),
            turn: 0,
            permission_mode: Some(self.settings.approval.mode.get()),
        };
        let hooks = Hooks::new(self.engine.clone(), user_at(self.front.clone()), cancel, scope);
        sending.send(&hooks, &*self.store).await
    }
}

/// An agent as a session is given it, and the one at work in its place: a member of its team, if it has one.
pub(crate) struct SessionAgents {
    pub(crate) given: Arc<Agent>,
    pub(crate) at_work: Arc<Agent>,
}

impl SessionAgents {
    /// An agent with the first member of its team at work.
    pub(crate) fn of(given: Arc<Agent>) -> Self {
        let first = given.team.as_ref().and_then(|team| team.members().first());
        let at_work = first.map_or_else(|| Arc::clone(&given), |first| Arc::new(given.with_member(first)));
        Self { given, at_work }
    }
}

/// A model's name in events.
pub(crate) fn model_name(provider: &dyn Provider) -> String {
    format!("{}/{}", provider.name(), provider.model())
}

/// A model, as hooks are told about it when another agent takes over.
pub(crate) fn model_of(provider: &dyn Provider) -> AgentModel {
    AgentModel {
        provider: provider.name().into(),
        model: provider.model().into(),
        base_url: provider.base_url().map(Into::into),
    }
}
