//! The toolset `background_agents`: tasks that other agents of the team work on while this one goes on.
//!
//! A task ends with the session that has given it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use becket_agent::SubAgentEnd;
use becket_agent::gate::Permit;
use becket_agent::tool::{Tool, ToolOutput, ToolRun, ToolSpec};
use becket_tools::plain_spec;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::task::AbortHandle;

use super::words::schema;

/// The most tasks of a session that run at the same time.
const MOST_RUNNING: usize = 20;

/// How long tasks are waited for at most, and usually.
const LONGEST_WAIT: u64 = 3600;
const USUAL_WAIT: u64 = 300;

/// How often finished tasks are looked for.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    agent: String,
    task: String,
    #[serde(default)]
    expected_output: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    task_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Several {
    task_ids: Vec<String>,
    timeout: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// A task of a session.
struct Task {
    session: String,
    agent: String,
    began: Instant,
    state: TaskStatus,
    running: Option<AbortHandle>,
}

#[derive(Clone)]
enum TaskStatus {
    Running,
    Completed(String),
    Failed(String),
    Stopped,
}

impl TaskStatus {
    fn name(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Stopped => "stopped",
        }
    }
}

impl Task {
    fn told(&self, id: &str) -> Value {
        let mut told = json!({
            "task_id": id, "agent": self.agent, "status": self.state.name(),
            "runtime_seconds": self.began.elapsed().as_secs(),
        });
        match &self.state {
            TaskStatus::Completed(answer) => told["output"] = answer.as_str().into(),
            TaskStatus::Failed(error) => told["error"] = error.as_str().into(),
            TaskStatus::Running | TaskStatus::Stopped => {}
        }
        told
    }
}

/// The tasks of all sessions, by their IDs.
#[derive(Clone, Default)]
struct Tasks(Arc<Mutex<BTreeMap<String, Task>>>);

/// The tools of an agent that may give tasks to these agents.
pub(super) fn tools(sub_agents: &[String]) -> Vec<Arc<dyn Tool>> {
    let tasks = Tasks::default();
    let id = ("task_id", "string", "The task's ID.");
    let mut start = schema(
        &[
            ("agent", "string", "The agent that gets the task."),
            (
                "task",
                "string",
                "What it shall do, with everything that it needs to know.",
            ),
            ("expected_output", "string", "What its answer should look like."),
        ],
        &["agent", "task"],
    );
    start["properties"]["agent"]["enum"] = json!(sub_agents);
    let wait = schema(
        &[
            ("task_ids", "texts", "The tasks' IDs."),
            ("timeout", "integer", "Seconds to wait at most; 300 when absent."),
        ],
        &["task_ids"],
    );
    let tool = |name, about, parameters, act| -> Arc<dyn Tool> {
        Arc::new(BackgroundTool {
            spec: plain_spec(name, about, parameters),
            tasks: tasks.clone(),
            act,
        })
    };
    vec![
        tool(
            "run_background_agent",
            "Give a task to another agent and go on at once; returns the task's ID.",
            start,
            Act::Start,
        ),
        tool(
            "list_background_agents",
            "List the tasks of other agents.",
            schema(&[], &[]),
            Act::List,
        ),
        tool(
            "view_background_agent",
            "Look at a task, and at its result.",
            schema(&[id], &["task_id"]),
            Act::View,
        ),
        tool(
            "stop_background_agent",
            "Stop a task.",
            schema(&[id], &["task_id"]),
            Act::Stop,
        ),
        tool(
            "wait_background_agents",
            "Wait for tasks, and get their results.",
            wait,
            Act::Wait,
        ),
    ]
}

#[derive(Clone, Copy)]
enum Act {
    Start,
    List,
    View,
    Stop,
    Wait,
}

struct BackgroundTool {
    spec: ToolSpec,
    tasks: Tasks,
    act: Act,
}

impl BackgroundTool {
    fn read<A: DeserializeOwned>(&self, arguments: &Map<String, Value>) -> Result<A, String> {
        serde_json::from_value(Value::Object(arguments.clone()))
            .map_err(|error| format!("the arguments of {} are wrong: {error}", self.spec.face.name))
    }

    async fn acted(&self, permit: &Permit, run: &ToolRun) -> Result<String, String> {
        let (arguments, session) = (permit.arguments(), &permit.scope().session_id);
        match self.act {
            Act::Start => self.tasks.start(self.read(arguments)?, session, run),
            Act::List => {
                let tasks = self.tasks.held();
                let own = tasks.iter().filter(|(_, task)| task.session == *session);
                Ok(Value::from_iter(own.map(|(id, task)| task.told(id))).to_string())
            }
            Act::View => {
                let One { task_id } = self.read(arguments)?;
                self.tasks.view(&task_id, session).map(|told| told.to_string())
            }
            Act::Stop => {
                let One { task_id } = self.read(arguments)?;
                self.tasks.stop(&task_id, session)
            }
            Act::Wait => self.tasks.wait(self.read(arguments)?, session, run).await,
        }
    }
}

impl Tool for BackgroundTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        match self.act {
            Act::Start => self.read::<Start>(&arguments).map(|_| ())?,
            Act::List => self.read::<Nothing>(&arguments).map(|_| ())?,
            Act::View | Act::Stop => self.read::<One>(&arguments).map(|_| ())?,
            Act::Wait => self.read::<Several>(&arguments).map(|_| ())?,
        }
        Ok(arguments)
    }

    fn asks_agents(&self) -> bool {
        matches!(self.act, Act::Start)
    }

    fn end_session<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, ()> {
        self.tasks.end(session_id);
        Box::pin(std::future::ready(()))
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let words = self.acted(&permit, &run).await;
            words.map_or_else(ToolOutput::error, ToolOutput::text)
        })
    }
}

impl Tasks {
    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Task>> {
        self.0.lock().expect("no panic happens while it is held")
    }

    fn start(&self, start: Start, session: &str, run: &ToolRun) -> Result<String, String> {
        let Some(parent) = run.parent.clone() else {
            return Err("no session gives this task, so no agent can be asked".to_owned());
        };
        let mut tasks = self.held();
        let is_running = |task: &&Task| task.session == session && matches!(task.state, TaskStatus::Running);
        if tasks.values().filter(is_running).count() >= MOST_RUNNING {
            return Err(format!(
                "{MOST_RUNNING} tasks are running already; wait for them, or stop some"
            ));
        }
        let id = format!("agent_task_{}", tasks.len() + 1);
        let input = match start.expected_output.trim() {
            "" => start.task,
            expected => format!("{}\n\nWhat is expected of your answer: {expected}", start.task),
        };
        let (all, own, agent) = (self.clone(), id.clone(), start.agent.clone());
        let working = tokio::spawn(async move {
            let end = parent.transfer(&agent, input).await;
            all.ended(
                &own,
                match end {
                    SubAgentEnd::Answered(answer) => TaskStatus::Completed(answer),
                    SubAgentEnd::Refused(reason) => TaskStatus::Failed(format!("refused: {reason}")),
                    SubAgentEnd::Failed(words) => TaskStatus::Failed(words),
                    SubAgentEnd::Cancelled => TaskStatus::Stopped,
                },
            );
        });
        tasks.insert(
            id.clone(),
            Task {
                session: session.to_owned(),
                agent: start.agent,
                began: Instant::now(),
                state: TaskStatus::Running,
                running: Some(working.abort_handle()),
            },
        );
        Ok(json!({"task_id": id, "status": "running"}).to_string())
    }

    fn ended(&self, id: &str, state: TaskStatus) {
        if let Some(task) = self
            .held()
            .get_mut(id)
            .filter(|task| matches!(task.state, TaskStatus::Running))
        {
            (task.state, task.running) = (state, None);
        }
    }

    fn view(&self, id: &str, session: &str) -> Result<Value, String> {
        let tasks = self.held();
        let task = tasks.get(id).filter(|task| task.session == session);
        task.map(|task| task.told(id))
            .ok_or_else(|| format!("there is no task `{id}`"))
    }

    fn stop(&self, id: &str, session: &str) -> Result<String, String> {
        self.view(id, session)?;
        let mut tasks = self.held();
        match tasks
            .get_mut(id)
            .and_then(|task| Some((task.running.take()?, task)))
        {
            Some((running, task)) => {
                running.abort();
                task.state = TaskStatus::Stopped;
                Ok(task.told(id).to_string())
            }
            None => Err(format!("the task `{id}` does not run any more")),
        }
    }

    /// Waits until all of some tasks have ended, or for some time.
    async fn wait(&self, wanted: Several, session: &str, run: &ToolRun) -> Result<String, String> {
        let seconds = wanted.timeout.unwrap_or(USUAL_WAIT).min(LONGEST_WAIT);
        let deadline = Instant::now() + Duration::from_secs(seconds);
        loop {
            let told = wanted.task_ids.iter().map(|id| self.view(id, session));
            let told = told.collect::<Result<Vec<_>, _>>()?;
            let all_done = told.iter().all(|task| task["status"] != "running");
            if all_done || Instant::now() >= deadline || run.cancel.is_cancelled() {
                return Ok(json!({"all_done": all_done, "tasks": told}).to_string());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Stops what a session has left running.
    fn end(&self, session: &str) {
        let mut tasks = self.held();
        let own = tasks.values_mut().filter(|task| task.session == session);
        for running in own.filter_map(|task| task.running.take()) {
            running.abort();
        }
    }
}
