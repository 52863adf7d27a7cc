//! The tools of docker-agent's toolsets that nothing else in becket has: tasks, plans, git, questions to the user, the
//! user's browser, and agents in the background.

mod background_agents;
mod git;
mod open_url;
mod plan;
mod tasks;
mod user_prompt;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use becket_agent::judged_path;
use becket_agent::tool::Tool;
use becket_host::Ui;
use becket_lock::lock_within;
use becket_tools::facts::GitFacts;
use serde_json::{Map, Value, json};

pub use open_url::open_url_tool;

/// How long to wait for another process that changes the same files.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// How tools reach the user, once the run has begun.
pub type UserAccess = Arc<OnceLock<Arc<dyn Ui>>>;

/// The places and programs that the tools use.
pub struct ToolsetHost<'a> {
    /// The file of tasks.
    pub tasks: PathBuf,
    /// The folder of plans.
    pub plans: PathBuf,
    /// Asks git.
    pub git: GitFacts,
    /// The directory in which the agent works.
    pub directory: &'a Path,
    /// How the user is asked.
    pub user: UserAccess,
    /// The agents that may be given tasks.
    pub sub_agents: &'a [String],
}

/// The tools of a toolset.
pub fn toolset(name: &str, host: &ToolsetHost<'_>) -> Vec<Arc<dyn Tool>> {
    match name {
        "tasks" => tasks::tools(&host.tasks),
        "plan" => plan::tools(&host.plans),
        "git" => git::tools(&host.git, host.directory),
        "user_prompt" => vec![user_prompt::tool(Arc::clone(&host.user))],
        "background_agents" => background_agents::tools(host.sub_agents),
        _ => Vec::new(),
    }
}

/// The schema of arguments, each with its type and its description; those in `required` must be given.
fn schema(properties: &[(&str, &str, &str)], required: &[&str]) -> Value {
    let properties = properties.iter().map(|(name, kind, about)| {
        let kind = match *kind {
            "texts" => json!({"type": "array", "items": {"type": "string"}, "description": about}),
            kind => json!({"type": kind, "description": about}),
        };
        ((*name).to_owned(), kind)
    });
    let properties: Map<String, Value> = properties.collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// A value as the model reads it.
fn told(value: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

/// The time, as the tools write it.
fn now() -> String {
    becket_system::moments::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// Reads a file of one value; `None` if it is not there.
fn read_json<T: serde::de::DeserializeOwned>(file: &Path) -> Result<Option<T>, String> {
    match becket_fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| format!("{} cannot be read: {error}", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} cannot be read: {error}", file.display())),
    }
}

/// Writes a value to a file. Readers see the old content or the new one, never a part.
fn write_json(file: &Path, value: &impl serde::Serialize) -> Result<(), String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| error.to_string())?;
    let failed = |error: std::io::Error| format!("{} cannot be written: {error}", file.display());
    let folder = becket_fs::canonicalize(folder_of(file)).map_err(failed)?;
    let file = folder.join(file.file_name().unwrap_or_default());
    judged_path::replace_file(&file, text.as_bytes(), None).map_err(failed)?;
    Ok(())
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Keeps other processes from changing the files of a folder, which is made if it is not there. The lock ends with the
/// value.
fn locked(folder: &Path) -> Result<File, String> {
    let failed = |error: std::io::Error| format!("{} cannot be locked: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    let held = becket_fs::open(folder).map_err(failed)?;
    match lock_within(&held, LOCK_TIMEOUT).map_err(failed)? {
        true => Ok(held),
        false => Err(format!("another process changes what is in {}", folder.display())),
    }
}
