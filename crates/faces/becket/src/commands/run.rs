//! `becket run`: an agent file, with one prompt or as a chat.

use becket_docker_agent::AgentFileChoice;
use becket_system::{CliError, Exit, Surroundings};

use super::{ask, chat};
use crate::args::Options;

/// Runs an agent file.
pub fn run(
    options: &Options,
    choice: AgentFileChoice,
    prompt: Vec<String>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    if let Some(profile) = &options.tools {
        let message =
            format!("an agent file has tools by docker-agent's names, so `--tools {profile}` means nothing");
        return Err(CliError::usage(message).hint("leave it out"));
    }
    let options = Options {
        agent_file: Some(choice),
        ..options.clone()
    };
    match prompt.as_slice() {
        [] => chat::run(&options, surroundings),
        [from_pipe] if from_pipe == "-" => ask::run(&options, Vec::new(), surroundings),
        _ => ask::run(&options, prompt, surroundings),
    }
}
