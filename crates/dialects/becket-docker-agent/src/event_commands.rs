//! `--on-event TYPE=COMMAND`: a shell command for each event of a run. The command only observes: nothing waits for it
//! before the end of the run, and its output appears only in the trace.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use becket_agent::store::Store;
use becket_events::EventId;
use becket_hooks::{
    CommandLane, Dialect, DispatchTrace, Effect, Engine, Finished, HandlerRun, HookEnvironment, Invocation,
    Lane, LaneKind, Program, echo_proof, nearest,
};
use becket_system::{CliError, Surroundings};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::{UNTOLD_RUNTIME_EVENTS, is_runtime_event, runtime_event_types, runtime_events};

/// How long one command may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long the end of a run waits for commands that are still running.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// How many commands run at the same time; the others wait.
const AT_ONCE: usize = 8;

/// How many bytes of a command's output are kept.
const KEPT: usize = 4 * 1024;

/// A command for events of one type, or of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCommand {
    /// The type of events; `None` for all types.
    kind: Option<String>,
    command: String,
}

impl EventCommand {
    /// Parses the option's value, `TYPE=COMMAND` or `*=COMMAND`.
    pub fn read(given: &str) -> Result<Self, CliError> {
        let wrong = |what: String| CliError::usage(format!("--on-event {given}: {what}"));
        let usage = "it is written TYPE=COMMAND, such as --on-event 'tool_call=cat >> calls.jsonl'";
        let (kind, command) = given
            .split_once('=')
            .ok_or_else(|| wrong("there is no `=`".into()).hint(usage))?;
        let (kind, command) = (kind.trim(), command.trim());
        if command.is_empty() {
            return Err(wrong("there is no command".into()).hint(usage));
        }
        let known = runtime_event_types();
        if UNTOLD_RUNTIME_EVENTS.contains(&kind) {
            return Err(wrong(format!("becket does not tell events of the type `{kind}`"))
                .hint(format!("there are {}, and * for all", known.join(", "))));
        }
        if kind != "*" && !known.contains(&kind) {
            let error = wrong(format!("there is no event of the type `{kind}`"));
            return Err(match nearest(kind, known.iter().copied()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint(format!("there are {}, and * for all", known.join(", "))),
            });
        }
        Ok(Self {
            kind: (kind != "*").then(|| kind.to_owned()),
            command: command.to_owned(),
        })
    }

    fn wants(&self, kind: &str) -> bool {
        self.kind.as_deref().is_none_or(|wanted| wanted == kind)
    }

    fn name(&self) -> String {
        format!("--on-event {}", self.kind.as_deref().unwrap_or("*"))
    }
}

/// The commands of a run.
#[derive(Clone)]
pub struct EventCommands {
    commands: Arc<Vec<EventCommand>>,
    host: Arc<CommandHost>,
    tasks: TaskTracker,
    turns: Arc<Semaphore>,
    /// The names of the commands that have not ended yet, for the message about those that never do.
    running: Arc<Mutex<Vec<String>>>,
}

struct CommandHost {
    environment: HookEnvironment,
    surroundings: Surroundings,
    store: Arc<dyn Store>,
}

impl EventCommands {
    /// The commands of a run, none of them started yet.
    pub fn new(
        commands: &[EventCommand],
        environment: &HookEnvironment,
        surroundings: &Surroundings,
        store: Arc<dyn Store>,
    ) -> Self {
        Self {
            commands: Arc::new(commands.to_vec()),
            host: Arc::new(CommandHost {
                environment: environment.clone(),
                surroundings: surroundings.clone(),
                store,
            }),
            tasks: TaskTracker::new(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            running: Arc::default(),
        }
    }

    /// Starts commands for every event from now on, if there are any.
    pub fn watch(&self, engine: &Engine) {
        if self.commands.is_empty() {
            return;
        }
        let (this, runtime) = (self.clone(), tokio::runtime::Handle::current());
        engine.watch(Arc::new(move |id, text| {
            if !is_runtime_event(id) {
                return;
            }
            let Ok(event) = serde_json::from_str::<Value>(text) else {
                return;
            };
            for (kind, mut told) in runtime_events(id, &event) {
                told.insert(
                    "timestamp".into(),
                    becket_system::moments::now().to_rfc3339().into(),
                );
                this.start(id, kind, &told, &event, &runtime);
            }
        }));
    }

    fn start(
        &self,
        id: EventId,
        kind: &'static str,
        told: &Map<String, Value>,
        event: &Value,
        runtime: &tokio::runtime::Handle,
    ) {
        let input: Arc<str> = echo_proof(Value::Object(told.clone()).to_string()).into();
        for command in self.commands.iter().filter(|command| command.wants(kind)) {
            let (this, command, input) = (self.clone(), command.clone(), Arc::clone(&input));
            let session_id = event["session_id"].as_str().unwrap_or_default().to_owned();
            let turn = event["turn"].as_u64().unwrap_or_default() as u32;
            let task = async move {
                let Ok(_turn) = this.turns.acquire().await else {
                    return;
                };
                let name = command.name();
                this.note(|running| running.push(name.clone()));
                let trace = this.host.run(id, &command, input).await;
                this.note(|running| {
                    running
                        .iter()
                        .position(|other| *other == name)
                        .map(|place| running.remove(place));
                });
                let trace = DispatchTrace {
                    session_id: session_id.clone(),
                    turn,
                    ..trace
                };
                this.host.store.trace(&session_id, trace);
            };
            self.tasks.spawn_on(task, runtime);
        }
    }

    fn note(&self, change: impl FnOnce(&mut Vec<String>)) {
        change(&mut self.running.lock().expect("no panic happens while it is held"));
    }

    /// Waits until all commands have ended, up to a limit.
    pub async fn close(&self) {
        self.tasks.close();
        if tokio::time::timeout(CLOSE_TIMEOUT, self.tasks.wait())
            .await
            .is_ok()
        {
            return;
        }
        let running = self
            .running
            .lock()
            .expect("no panic happens while it is held")
            .clone();
        self.host.surroundings.remark(&format!(
            "commands did not end within {} seconds and are not waited for: {}",
            CLOSE_TIMEOUT.as_secs(),
            running.join(", ")
        ));
    }
}

impl CommandHost {
    async fn run(&self, event: EventId, command: &EventCommand, input: Arc<str>) -> DispatchTrace {
        let program = Program::shell(&command.command).environment(Arc::clone(&self.environment.variables));
        let lane = CommandLane::new(program);
        let invocation = Invocation {
            input,
            environment: Vec::new(),
            directory: self.surroundings.cwd.clone(),
            timeout: TIMEOUT,
        };
        let started = Instant::now();
        let result = lane.run(invocation).await;
        let duration_us = started.elapsed().as_micros() as u64;
        let (reply, effect) = match result {
            Ok(finished) => (Some(kept(&finished)), Effect::None),
            Err(failure) => (
                None,
                Effect::Failed {
                    failure,
                    refused: false,
                },
            ),
        };
        let noted = HandlerRun::noted(
            command.name(),
            "command line".into(),
            Dialect::BECKET,
            LaneKind::Command,
        );
        let run = HandlerRun {
            reply,
            effect,
            duration_us,
            ..noted
        };
        DispatchTrace::noted(event, run)
    }
}

/// The beginning of a command's output, and its exit code.
fn kept(finished: &Finished) -> Value {
    let beginning = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(KEPT)]).into_owned();
    serde_json::json!({
        "stdout": beginning(&finished.stdout),
        "stderr": beginning(finished.stderr.as_bytes()),
        "code": finished.code,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_and_a_command_are_wanted() {
        let read = |given: &str| EventCommand::read(given).map_err(|error| error.to_string());
        assert!(read("tool_call=a=b").unwrap().wants("tool_call"));
        assert_eq!(read("tool_call=a=b").unwrap().command, "a=b");
        assert!(read("*=cat").unwrap().wants("anything"));
        let table = [
            ("tool_call", "there is no `=`"),
            ("tool_call= ", "there is no command"),
            ("toolcall=x", "did you mean `tool_call`?"),
            (
                "hook_started=x",
                "becket does not tell events of the type `hook_started`",
            ),
            ("=x", "there is no event of the type ``"),
        ];
        for (given, part) in table {
            let fault = read(given).unwrap_err();
            assert!(fault.contains(part), "{given}: {fault}");
        }
    }
}
