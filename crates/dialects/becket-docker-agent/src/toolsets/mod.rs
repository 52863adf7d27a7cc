//! Tools of docker-agent that becket itself does not have: tasks, plans, git, questions to the user, the
//! user's browser, and agents in the background.

mod background_agents;
mod git;
mod kept;
mod open_url;
mod plan;
mod tasks;
mod user_prompt;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_agent::tool::Tool;
use becket_tools::facts::GitFacts;

pub use open_url::open_url_tool;
pub use user_prompt::UserAccess;

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
