//! The tools for jobs: starting a command in the background, and listing, viewing and stopping what runs there.
//!
//! The command of a job is judged as every command is.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use becket_agent::gate::Permit;
use becket_agent::tool::{SessionVariables, Tool, ToolOutput};
use becket_events::{JOB_EXTRAS, Profile, ShellArguments, Streams};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::jobs::{JobState, Jobs, Started};
use crate::plain_tool::{PlainTool, spec};
use crate::settings::ToolSettings;
use crate::shell::{SHELL, start};

/// How many jobs of a session may run at the same time.
const MOST_RUNNING: usize = 20;

/// Starts a command in `directory`, which is the judged form of the one that the arguments name.
pub(crate) fn start_job(
    arguments: &ShellArguments,
    directory: &Path,
    permit: &Permit,
    (settings, variables): (&ToolSettings, Option<&SessionVariables>),
) -> ToolOutput {
    let session_id = &permit.scope().session_id;
    let running = settings.jobs.running(session_id);
    if running >= MOST_RUNNING {
        return ToolOutput::error(format!("{running} jobs run already; stop one of them first."));
    }
    let command = &arguments.command;
    if command.trim().is_empty() || command.contains('\0') {
        return ToolOutput::error("Cannot start the job: the command is empty or holds a NUL character.");
    }
    let started = match start(
        (SHELL, command),
        directory,
        Streams::Together,
        (settings, permit.web_access()),
        variables,
    ) {
        Ok(started) => started,
        Err(error) => {
            let directory = directory.display();
            return ToolOutput::error(format!("Cannot start {SHELL} in {directory}: {error}."));
        }
    };
    let limit = arguments
        .timeout_seconds
        .map(|seconds| Duration::from_secs(seconds.max(1)));
    let job = settings.jobs.add(Started {
        session_id,
        line: command,
        tree: started.tree,
        pipe: started.pipes.0,
        kept: started.kept,
        output_bytes: settings.shell_output_bytes,
        limit,
    });
    ToolOutput::text(format!(
        "Background job started with ID: {}\nCommand: {command}\nWorking directory: {}",
        job.id,
        directory.display()
    ))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    job_id: String,
}

/// The tools for jobs that a profile has. They need no yes: starting the jobs did.
pub(crate) fn job_tools(profile: &Profile, jobs: &Jobs) -> Vec<Arc<dyn Tool>> {
    let [list, view, stop] = JOB_EXTRAS else {
        unreachable!("three tools are for jobs")
    };
    let named = json!({
        "type": "object",
        "properties": {"job_id": {"type": "string", "description": "The job's ID."}},
        "required": ["job_id"],
    });
    let nothing = json!({"type": "object", "properties": {}});
    let tools = [
        listing(list, nothing, jobs.clone()),
        viewing(view, named.clone(), jobs.clone()),
        stopping(stop, named, jobs.clone()),
    ];
    let wanted = tools
        .into_iter()
        .filter(|tool| profile.extras.iter().any(|name| *name == tool.spec().own_name));
    wanted.collect()
}

fn listing(name: &str, parameters: Value, jobs: Jobs) -> Arc<dyn Tool> {
    let about = "List the jobs in the background, with their state and runtime.";
    PlainTool::arc(spec(name, about, parameters), move |_: NoArguments, permit| {
        let jobs = jobs.of(&permit.scope().session_id);
        let told = jobs
            .iter()
            .map(|job| format!("ID: {}\n{}\n", job.id, job.told("  ")));
        let told: Vec<String> = told.collect();
        Ok(match told.is_empty() {
            true => "No background jobs found.".to_owned(),
            false => format!("Background Jobs:\n\n{}", told.join("\n")),
        })
    })
}

fn viewing(name: &str, parameters: Value, jobs: Jobs) -> Arc<dyn Tool> {
    let about = "Show the output and the state of a job in the background.";
    PlainTool::arc(spec(name, about, parameters), move |Named { job_id }, permit| {
        let job = jobs.find(&permit.scope().session_id, &job_id)?;
        let output = job.output().clone().into_text();
        let output = if output.is_empty() { "<no output>" } else { &output };
        Ok(format!(
            "Job ID: {}\n{}\n\n--- Output ---\n{output}",
            job.id,
            job.told("")
        ))
    })
}

fn stopping(name: &str, parameters: Value, jobs: Jobs) -> Arc<dyn Tool> {
    let about = "Stop a job in the background, with every process that it has started.";
    PlainTool::waiting(spec(name, about, parameters), move |Named { job_id }, permit| {
        let job = jobs.find(&permit.scope().session_id, &job_id);
        Box::pin(async move {
            let job = job?;
            if job.state() != JobState::Running {
                return Err(format!(
                    "Job {job_id} is not running (current status: {})",
                    job.state()
                ));
            }
            match job.end().await {
                true => Ok(format!("Job {job_id} stopped successfully")),
                false => Err(format!("Job {job_id} was told to end and still runs")),
            }
        })
    })
}
