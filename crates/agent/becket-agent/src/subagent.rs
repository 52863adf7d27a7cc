//! Sub-agents: an agent asks another one, which has a session of its own below its parent's.
//!
//! A sub-agent never has more than its parent: its tools are among those that were offered to the parent in this turn,
//! its calls pass the parent's gate, its fuel is the parent's. What it costs is counted to the parent. A member of a
//! team has its own tools instead, since the user has given them to it; all the rest holds for it too.
//! `calling.rs` asks one, and `family.rs` is the state that all sessions of one prompt share.
//!
//! This module only describes a sub-agent and what becomes of it; the tools that ask sub-agents are its users.

use std::sync::Arc;

use crate::provider::{Provider, RequestOptions};

/// An agent that another one starts to answer a question.
pub struct SubAgent {
    /// The sub-agent's name; default: a number.
    pub name: Option<String>,
    /// The sub-agent's system prompt.
    pub system_prompt: String,
    /// The task for the sub-agent.
    pub input: String,
    /// The sub-agent's model; default: its parent's.
    pub provider: Option<Arc<dyn Provider>>,
    /// Sampling and length; default: the parent's.
    pub options: RequestOptions,
    /// The tools that the sub-agent may use.
    pub tools: ToolChoice,
}

/// Which of its parent's tools a sub-agent gets. It gets none that decides who speaks next: that is up to its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// No tools.
    None,
    /// All of the parent's tools.
    All,
    /// The tools with these names: the model's or becket's own.
    Named(Vec<String>),
    /// Those of the tools with these names that the parent has. Others are nothing to get.
    AtMost(Vec<String>),
    /// All of the parent's tools but those with these names.
    AllBut(Vec<String>),
}

/// The result of asking a sub-agent.
#[derive(Debug, Clone, PartialEq)]
pub enum SubAgentEnd {
    /// The sub-agent answered, or a hook did in its place.
    Answered(String),
    /// The sub-agent was not asked, for this reason.
    Refused(String),
    /// The sub-agent was asked, and there is no answer, for this reason.
    Failed(String),
    /// The user wants everything to stop.
    Cancelled,
}

impl SubAgentEnd {
    /// The sub-agent's answer, if there is one.
    pub fn answer(&self) -> Option<&str> {
        match self {
            Self::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    /// Why there is no answer.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Answered(_) => None,
            Self::Refused(words) | Self::Failed(words) => Some(words),
            Self::Cancelled => Some("cancelled"),
        }
    }
}
