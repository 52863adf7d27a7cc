//! Teams: several agents of one file, each with instructions, a model, tools and limits of its own.
//!
//! The person talks to the first member. A member may give a task to another, which works on it as a sub-agent in a
//! session of its own (`subagent.rs`), or hand the conversation over to another, which goes on in the same session.
//! Whom it may ask for what is said by the file, and by nobody else.

use std::fmt;
use std::sync::Arc;

use becket_events::{AgentModel, AgentSwitch, AgentSwitchPayload, SwitchKind};

use crate::desk::Base;
use crate::provider::{Provider, RequestOptions};
use crate::run::Run;
use crate::session::{Agent, Session, model_name};
use crate::settings::AgentSettings;
use crate::store::{EntryContent, NewEntry, StoreError};
use crate::subagent::{Outcome, Parent, SubAgent, ToolChoice};
use crate::tool::Tool;

/// An agent of a team.
#[derive(Clone)]
pub struct Member {
    /// Its name, which no other member has.
    pub name: String,
    /// What it is good for, as the other members are told.
    pub description: String,
    /// Its system prompt.
    pub instructions: String,
    /// Its model.
    pub provider: Arc<dyn Provider>,
    /// Sampling and length.
    pub options: RequestOptions,
    /// What it may ask for.
    pub tools: Vec<Arc<dyn Tool>>,
    /// How many requests one prompt may cause; as for any agent where nothing is said.
    pub max_iterations: Option<u32>,
    /// After how many identical rounds of tool calls in a row a run ends; as for any agent where nothing is said.
    pub max_identical_rounds: Option<u32>,
    /// The members that it may give tasks to.
    pub sub_agents: Vec<String>,
    /// The members that it may hand the conversation over to.
    pub handoffs: Vec<String>,
}

/// Agents that work together. The first is the one that the person talks to.
#[derive(Debug)]
pub struct Team {
    members: Vec<Member>,
}

impl fmt::Debug for Member {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Member")
            .field("name", &self.name)
            .field("sub_agents", &self.sub_agents)
            .field("handoffs", &self.handoffs)
            .finish_non_exhaustive()
    }
}

impl Team {
    /// A team of these members.
    pub fn new(members: Vec<Member>) -> Self {
        Self { members }
    }

    /// All of them, the one first that the person talks to.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member of that name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// One of the members that another may turn to, or what it is told instead.
    fn allowed(&self, name: &str, allowed: &[String], purpose: &str) -> Result<&Member, String> {
        let member = self
            .member(name)
            .filter(|_| allowed.iter().any(|one| one == name));
        member.ok_or_else(|| match allowed {
            [] => format!("you cannot {purpose} any other agent"),
            allowed => format!(
                "you cannot {purpose} an agent `{name}`; the agents that you can turn to are {}",
                allowed.join(", ")
            ),
        })
    }

    /// What a member is told about those that it may turn to.
    fn told(&self, member: &Member) -> Option<String> {
        let list = |names: &[String]| {
            let lines = names.iter().filter_map(|name| self.member(name)).map(line);
            lines.collect::<Vec<_>>().join("\n")
        };
        let texts = [
            (SUB_AGENTS, list(&member.sub_agents)),
            (HANDOFFS, list(&member.handoffs)),
        ];
        let texts = texts.into_iter().filter(|(_, list)| !list.is_empty());
        let texts: Vec<String> = texts.map(|(words, list)| format!("{words}\n\n{list}")).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// The system prompt of a member: its instructions, and whom it may turn to.
    pub(crate) fn prompt_of(&self, member: &Member) -> String {
        let own = (!member.instructions.trim().is_empty()).then(|| member.instructions.clone());
        let texts: Vec<String> = own.into_iter().chain(self.told(member)).collect();
        texts.join("\n\n")
    }
}

const SUB_AGENTS: &str = "You work in a team. A task that one of these agents does better is given to it with \
`transfer_task`. It knows nothing of this conversation: tell it everything that it needs, and what you expect to get. \
Its answer comes back to you, and the person hears from you alone.";

const HANDOFFS: &str = "With `handoff` another agent goes on with this conversation in your place: it knows everything \
that was said, and talks to the person itself. Hand over when what is wanted is its business. These are the agents:";

fn line(member: &Member) -> String {
    match member.description.trim() {
        "" => format!("- {}", member.name),
        description => format!("- {}: {description}", member.name),
    }
}

impl Agent {
    /// The same agent with a member in its place: with its prompt, model, tools and limits.
    pub(crate) fn seating(&self, member: &Member) -> Self {
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
            desk: self.desk.clone(),
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

    /// The member that has the word, where there is a team.
    pub(crate) fn member(&self) -> Option<&Member> {
        self.team.as_deref()?.member(&self.settings.agent_name)
    }

    /// The model, as hooks are told about it.
    fn models(&self) -> Vec<AgentModel> {
        vec![model_of(&*self.provider)]
    }
}

fn model_of(provider: &dyn Provider) -> AgentModel {
    AgentModel {
        provider: provider.name().into(),
        model: provider.model().into(),
        base_url: provider.base_url().map(Into::into),
    }
}

impl Parent {
    /// Gives a task to a member of the team, in the name of the one that has the word.
    pub async fn transfer(&self, name: &str, input: String) -> Outcome {
        match self.colleague(name, Purpose::Task) {
            Ok((team, member)) => {
                let agent = SubAgent {
                    name: Some(member.name.clone()),
                    system_prompt: team.prompt_of(member),
                    input,
                    provider: Some(Arc::clone(&member.provider)),
                    options: member.options.clone(),
                    tools: ToolChoice::All,
                    member: Some(member.clone()),
                };
                agent.run(self).await
            }
            Err(words) => Outcome::Refused(words),
        }
    }

    /// Whether the one that has the word may hand the conversation over to that member; otherwise why not.
    pub fn may_hand_over_to(&self, name: &str) -> Result<(), String> {
        self.colleague(name, Purpose::Conversation).map(|_| ())
    }

    fn colleague(&self, name: &str, purpose: Purpose) -> Result<(&Team, &Member), String> {
        let team = self.agent.team.as_deref();
        let (Some(team), Some(member)) = (team, self.agent.member()) else {
            return Err("this agent works alone: there is no team".into());
        };
        let found = match purpose {
            Purpose::Task => team.allowed(name, &member.sub_agents, "give a task to"),
            Purpose::Conversation => team.allowed(name, &member.handoffs, "hand the conversation over to"),
        };
        found.map(|found| (team, found))
    }

    /// Tells that a member begins to work on a task, or that it has ended.
    pub(crate) async fn tell_switch(&self, member: &Member, kind: SwitchKind) {
        let own = &self.agent.settings.agent_name;
        let payload = || match kind {
            SwitchKind::Return => AgentSwitchPayload {
                from_agent: member.name.clone(),
                to_agent: own.clone(),
                kind,
                from_models: vec![model_of(&*member.provider)],
            },
            _ => AgentSwitchPayload {
                from_agent: own.clone(),
                to_agent: member.name.clone(),
                kind,
                from_models: self.agent.models(),
            },
        };
        self.hooks.tell::<AgentSwitch>(payload).await;
    }
}

/// What a member turns to another for.
enum Purpose {
    Task,
    Conversation,
}

impl Session {
    /// Tells that another member goes on after this turn.
    pub(crate) async fn announce_handoff(&self, to: &str) {
        let payload = || AgentSwitchPayload {
            from_agent: self.agent.settings.agent_name.clone(),
            to_agent: to.into(),
            kind: SwitchKind::Handoff,
            from_models: self.agent.models(),
        };
        self.hooks.tell::<AgentSwitch>(payload).await;
    }

    /// The person turns to another member.
    pub async fn turn_to(&mut self, to: &str) -> Result<(), StoreError> {
        if to == self.agent_name() {
            return Ok(());
        }
        self.announce_handoff(to).await;
        self.give_word(to).await
    }

    /// Lets another member go on with a run.
    pub(crate) async fn hand_over(&mut self, run: &mut Run, to: &str) -> Result<(), StoreError> {
        let from = self.agent.settings.agent_name.clone();
        self.give_word(to).await?;
        run.begin_with_another(&from, to, self.agent.settings.max_iterations);
        Ok(())
    }

    /// From now on that member has the word, also in later sessions of the context.
    async fn give_word(&mut self, to: &str) -> Result<(), StoreError> {
        let entry = NewEntry::new(EntryContent::Speaker {
            agent_name: to.into(),
        });
        let _ = self.write(vec![entry], Vec::new()).await?;
        self.seat(to);
        Ok(())
    }

    /// Gives a member the word. One that the team does not have (any more) leaves everything as it is.
    pub(crate) fn seat(&mut self, name: &str) {
        let team = self.given.team.as_deref();
        if let Some(member) = team.and_then(|team| team.member(name)) {
            self.agent = Arc::new(self.given.seating(member));
            self.hooks.set_agent(&member.name, &model_name(&*member.provider));
            if let Some(desk) = &self.desk {
                desk.set_base(Base::of(&self.agent));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_about_members_that_are_not_there_name_those_that_are() {
        let team = Team::new(Vec::new());
        let allowed = ["a".to_owned(), "b".to_owned()];
        let words = team.allowed("c", &allowed, "ask").unwrap_err();
        assert!(words.contains("`c`") && words.ends_with("are a, b"), "{words}");
        assert_eq!(
            team.allowed("c", &[], "ask").unwrap_err(),
            "you cannot ask any other agent"
        );
    }
}
