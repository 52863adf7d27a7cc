//! Tools of an agent that works in a team: one gives a task to another member, one hands the conversation over to it.
//!
//! These tools need no yes, since they only reach agents that the user has put together; what these agents do with
//! their tools is judged like anything else. Hooks and deny rules judge the tools themselves like any other.

use std::sync::Arc;

use becket_agent::gate::Permit;
use becket_agent::tool::{Handoff, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_events::Profile;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::subagent_tools::{NO_PARENT, spec, told};

/// The tool that gives a member a task.
const TRANSFER: &str = "transfer_task";

/// The tool that hands the conversation over to a member.
const HANDOFF: &str = "handoff";

const ABOUT_TRANSFER: &str = "Give a task to another agent of your team, and get its answer. It knows nothing of this \
conversation but what you tell it.";

const ABOUT_HANDOFF: &str =
    "Hand this conversation over to another agent of your team, which goes on in your place.";

/// The names of the team tools.
pub fn team_tool_names() -> impl Iterator<Item = &'static str> {
    [TRANSFER, HANDOFF].into_iter()
}

/// The tools that a profile has for a member of a team; one that no other member may be reached with is left out.
pub fn team_tools(profile: &Profile, sub_agents: &[String], handoffs: &[String]) -> Vec<Arc<dyn Tool>> {
    let has = |name: &&'static str| profile.extras.contains(name);
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if has(&TRANSFER) && !sub_agents.is_empty() {
        let parameters = json!({
            "type": "object",
            "properties": {
                "agent": agent_schema("The agent that gets the task.", sub_agents),
                "task": { "type": "string", "description": "What it shall do, with everything that it needs to know." },
                "expected_output": { "type": "string", "description": "What its answer should look like." },
            },
            "required": ["agent", "task", "expected_output"],
        });
        tools.push(Arc::new(Transfer(spec(TRANSFER, ABOUT_TRANSFER, parameters))));
    }
    if has(&HANDOFF) && !handoffs.is_empty() {
        let parameters = json!({
            "type": "object",
            "properties": { "agent": agent_schema("The agent that goes on.", handoffs) },
            "required": ["agent"],
        });
        tools.push(Arc::new(HandOver(ToolSpec {
            parallel: false,
            handoff: Some(Handoff::Member),
            ..spec(HANDOFF, ABOUT_HANDOFF, parameters)
        })));
    }
    tools
}

fn agent_schema(description: &str, names: &[String]) -> Value {
    json!({ "type": "string", "enum": names, "description": description })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransferArguments {
    agent: String,
    task: String,
    #[serde(default)]
    expected_output: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HandoffArguments {
    agent: String,
}

fn read<T: DeserializeOwned>(tool: &str, arguments: &Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments.clone()))
        .map_err(|error| format!("the arguments of {tool} are wrong: {error}"))
}

/// The tool that gives a member a task.
struct Transfer(ToolSpec);

impl Transfer {
    fn read(arguments: &Map<String, Value>) -> Result<TransferArguments, String> {
        let read: TransferArguments = read(TRANSFER, arguments)?;
        match read.task.trim() {
            "" => Err(format!("`task` of {TRANSFER} is empty")),
            _ => Ok(read),
        }
    }
}

impl TransferArguments {
    fn input(&self) -> String {
        match self.expected_output.trim() {
            "" => self.task.clone(),
            expected => format!("{}\n\nWhat is expected of your answer: {expected}", self.task),
        }
    }
}

impl Tool for Transfer {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        Self::read(&arguments)?;
        Ok(arguments)
    }

    fn summary(&self, arguments: &Map<String, Value>) -> Option<String> {
        let arguments = Self::read(arguments).ok()?;
        Some(format!("{}: {}", arguments.agent, arguments.task))
    }

    fn asks_agents(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match (Self::read(permit.arguments()), &run.parent) {
                (Ok(task), Some(parent)) => told(parent.transfer(&task.agent, task.input()).await),
                (Err(words), _) => ToolOutput::error(words),
                (_, None) => ToolOutput::error(NO_PARENT),
            }
        })
    }
}

/// The tool that hands the conversation over to a member. The loop does it once the tools of this answer have run.
struct HandOver(ToolSpec);

impl Tool for HandOver {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        read::<HandoffArguments>(HANDOFF, &arguments)?;
        Ok(arguments)
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let agent = match read::<HandoffArguments>(HANDOFF, permit.arguments()) {
                Ok(arguments) => arguments.agent,
                Err(words) => return ToolOutput::error(words),
            };
            let Some(parent) = &run.parent else {
                return ToolOutput::error(NO_PARENT);
            };
            match parent.may_hand_over_to(&agent) {
                Ok(()) => ToolOutput::text(format!(
                    "The conversation was handed over to `{agent}`. You are `{agent}` now: go on with what the user \
                     wants."
                )),
                Err(words) => ToolOutput::error(format!("refused: {words}")),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_member_has_the_tools_for_those_that_it_may_turn_to() {
        let profile = Profile::own();
        let offered = |sub_agents: &[&str], handoffs: &[&str]| {
            let tools = team_tools(&profile, &names(sub_agents), &names(handoffs));
            let name = |tool: &Arc<dyn Tool>| tool.spec().own_name.clone();
            tools.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(offered(&["a"], &["b"]), team_tool_names().collect::<Vec<_>>());
        assert_eq!(offered(&["a"], &[]), [TRANSFER]);
        assert_eq!(offered(&[], &["b"]), [HANDOFF]);
        assert!(offered(&[], &[]).is_empty());
        let none = Profile {
            extras: Vec::new(),
            ..Profile::own()
        };
        assert!(team_tools(&none, &names(&["a"]), &names(&["b"])).is_empty());
    }

    #[test]
    fn arguments_that_make_no_sense_are_refused_before_anybody_judges_them() {
        let tools = team_tools(&Profile::own(), &names(&["a"]), &names(&["b"]));
        let normalise = |place: usize, arguments: Value| {
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            tools[place].normalise(arguments).map(|_| ())
        };
        assert_eq!(normalise(0, json!({"agent": "a", "task": "count"})), Ok(()));
        assert_eq!(normalise(1, json!({"agent": "b"})), Ok(()));
        let wrong = [
            (0, json!({"agent": "a"}), "missing field `task`"),
            (
                0,
                json!({"agent": "a", "task": " "}),
                "`task` of transfer_task is empty",
            ),
            (
                0,
                json!({"agent": "a", "task": "x", "tools": []}),
                "unknown field `tools`",
            ),
            (1, json!({}), "missing field `agent`"),
            (1, json!({"agent": 3}), "the arguments of handoff are wrong"),
        ];
        for (place, arguments, words) in wrong {
            let error = normalise(place, arguments.clone()).unwrap_err();
            assert!(error.contains(words), "{arguments}: {error}");
        }
    }

    #[test]
    fn the_task_says_what_is_expected() {
        let task = |expected: &str| TransferArguments {
            agent: "a".into(),
            task: "count".into(),
            expected_output: expected.into(),
        };
        assert_eq!(task(" ").input(), "count");
        assert_eq!(
            task("a number").input(),
            "count\n\nWhat is expected of your answer: a number"
        );
    }
}
