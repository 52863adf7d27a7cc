//! The names of the options about how an agent file is run.

/// The option for the directory in which the agent works.
pub const WORKING_DIR: &str = "working-dir";

/// The option for a worktree to work in, and the one for the commit that it begins with.
pub const WORKTREE: &str = "worktree";
pub const WORKTREE_BASE: &str = "worktree-base";

/// The options by which the worktree that was made is known to the run: its branch, and where it comes from.
pub const WORKTREE_BRANCH: &str = "worktree-branch";
pub const WORKTREE_SOURCE: &str = "worktree-source";

/// The option for how much is asked.
pub const SAFETY: &str = "safety";

/// The option that names docker-agent's configuration folder.
pub const CONFIG_DIR: &str = "docker-agent-config-dir";
