//! `becket run`: an agent file, with one prompt or as a chat.

use std::path::PathBuf;

use becket_host::{AGENT, AGENT_FILE};
use becket_system::{CliError, Exit, Surroundings};

use super::{ask, called};
use crate::options::Options;

/// Runs an agent file.
pub fn run(
    options: &Options,
    (file, agent): (PathBuf, Option<String>),
    (prompt, piped): (Vec<String>, ask::Piped),
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    if let Some(profile) = &options.run.tools {
        let message =
            format!("an agent file has docker-agent's tool names, so `--tools {profile}` has no effect");
        return Err(CliError::usage(message).hint("leave it out"));
    }
    let mut options = options.clone();
    options.run.guests.add(AGENT_FILE, file);
    if let Some(agent) = agent {
        options.run.guests.add(AGENT, agent);
    }
    match prompt.as_slice() {
        [] => becket_chat::run(&options, surroundings, called::run),
        [from_pipe] if from_pipe == "-" => ask::run(&options, Vec::new(), ask::Piped::Added, surroundings),
        _ => ask::run(&options, prompt, piped, surroundings),
    }
}
