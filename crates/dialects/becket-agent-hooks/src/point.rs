//! The eight interception points, and what an interceptor sees and may change at each.

use becket_events::EventId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A moment at which interceptors are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// A session begins.
    AgentStartup,
    /// A prompt is about to be given to the model.
    Input,
    /// The model is about to be asked.
    PreModelCall,
    /// The model has answered.
    PostModelCall,
    /// A tool is about to run.
    PreToolCall,
    /// A tool has run.
    PostToolCall,
    /// The final answer is about to be shown.
    Output,
    /// A session ends.
    AgentShutdown,
}

/// A member of the context that a point requires, with the keys that the standard requires in it; `None` for all keys.
pub type Member = (&'static str, Option<&'static [&'static str]>);

/// What every context must have.
pub const CORE: &[Member] = &[
    ("spec", None),
    ("interception_point", None),
    ("timestamp", None),
    ("sequence", None),
    ("agent", Some(&["id", "framework"])),
    ("session", Some(&["id"])),
    ("target", None),
];

const MODEL: Member = ("model", Some(&["id"]));
const CALL: Member = ("tool_call", Some(&["id", "name", "args"]));

/// What is known about a point.
struct Facts {
    point: Point,
    name: &'static str,
    event: EventId,
    members: &'static [Member],
    /// Where in the context the target stands.
    target: &'static [&'static str],
}

use Point::*;

const FACTS: [Facts; 8] = [
    Facts {
        point: AgentStartup,
        name: "agent_startup",
        event: EventId::SessionStart,
        members: &[("agent_init", Some(&["tools_registered"]))],
        target: &["agent_init"],
    },
    Facts {
        point: Input,
        name: "input",
        event: EventId::UserPrompt,
        members: &[("input", Some(&["content", "role"]))],
        target: &["input"],
    },
    Facts {
        point: PreModelCall,
        name: "pre_model_call",
        event: EventId::ModelContext,
        members: &[MODEL, ("messages", None)],
        target: &["messages"],
    },
    Facts {
        point: PostModelCall,
        name: "post_model_call",
        event: EventId::PostResponse,
        members: &[
            MODEL,
            ("response", Some(&["content", "tool_calls", "finish_reason"])),
        ],
        target: &["response"],
    },
    Facts {
        point: PreToolCall,
        name: "pre_tool_call",
        event: EventId::PreTool,
        members: &[CALL],
        target: &["tool_call", "args"],
    },
    Facts {
        point: PostToolCall,
        name: "post_tool_call",
        event: EventId::PreToolOutput,
        members: &[CALL, ("tool_result", Some(&["value", "is_error"]))],
        target: &["tool_result", "value"],
    },
    Facts {
        point: Output,
        name: "output",
        event: EventId::Output,
        members: &[("output", Some(&["content"]))],
        target: &["output"],
    },
    Facts {
        point: AgentShutdown,
        name: "agent_shutdown",
        event: EventId::SessionEnd,
        members: &[("summary", Some(&["reason"]))],
        target: &["summary"],
    },
];

impl Point {
    /// All points, in the order of a session.
    pub fn all() -> impl Iterator<Item = Self> {
        FACTS.iter().map(|facts| facts.point)
    }

    fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// The standard's name of the point.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// becket's event at which the point is.
    pub fn event(self) -> EventId {
        self.facts().event
    }

    /// What the context has at this point besides the core.
    pub fn members(self) -> &'static [Member] {
        self.facts().members
    }

    /// Where in the context the target stands, which is the only thing that a transform may change.
    pub fn target(self) -> &'static [&'static str] {
        self.facts().target
    }

    /// Whether the target may be changed at all.
    pub fn may_transform(self) -> bool {
        !matches!(self, AgentStartup | AgentShutdown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_points() {
        for (index, point) in Point::all().enumerate() {
            assert_eq!(point as usize, index);
            assert_eq!(serde_json::to_value(point).unwrap(), point.name());
        }
    }
}
