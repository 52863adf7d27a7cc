//! Teams: several agents of one file, each with instructions, a model, tools and limits of its own.
//!
//! The user talks to the first member. A member may give a task to another, which works on it as a sub-agent in a
//! session of its own (`calling.rs`), or hand the conversation over to another, which goes on in the same session.
//! The file alone says which members may turn to which others.
//!
//! A handoff changes which member speaks, not whose turn it is. It takes effect after the turn has ended, whatever
//! ended it, since the conversation already says that another one goes on. It is an entry of the store, so that the
//! next session goes on with the same speaker; if that one is not in the team, the first member goes on.
//!
//! A member may have a successor, to which the conversation is handed over after each of its answers, whatever it says.
//!
//! Each member counts its own requests for a prompt. One count for all would let the first use up the limits of the
//! others, and a fresh count with every handoff would never end.

use std::fmt;
use std::sync::Arc;

use crate::provider::{Provider, RequestOptions};
use crate::tool::Tool;

/// An agent of a team.
#[derive(Clone)]
pub struct Member {
    /// The member's name, which no other member has.
    pub name: String,
    /// What the member is good for, as the other members are told.
    pub description: String,
    /// The member's system prompt.
    pub instructions: String,
    /// The member's model.
    pub provider: Arc<dyn Provider>,
    /// Sampling, length and thinking.
    pub options: RequestOptions,
    /// The tools that the member may call.
    pub tools: Vec<Arc<dyn Tool>>,
    /// How many requests one prompt may cause; default: as for any agent.
    pub max_iterations: Option<u32>,
    /// After how many identical rounds of tool calls in a row a run ends; default: as for any agent.
    pub max_identical_rounds: Option<u32>,
    /// The members that this one may give tasks to.
    pub sub_agents: Vec<String>,
    /// The members that this one may hand the conversation over to.
    pub handoffs: Vec<String>,
    /// The member that continues the conversation whenever this one has answered.
    pub successor: Option<String>,
}

/// Agents that work together. The user talks to the first one.
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

    /// All members; the first is the one that the user talks to.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member with that name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// A member that another one may turn to; the error is for the model.
    pub(crate) fn allowed(&self, name: &str, allowed: &[String], purpose: &str) -> Result<&Member, String> {
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

    /// The text that tells a member which others it may turn to.
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
Its answer comes back to you, and the user hears from you alone.";

const HANDOFFS: &str = "With `handoff` another agent continues this conversation in your place: it knows everything \
that was said, and talks to the user itself. Hand over when what is wanted is its business. These are the agents:";

fn line(member: &Member) -> String {
    match member.description.trim() {
        "" => format!("- {}", member.name),
        description => format!("- {}: {description}", member.name),
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
