//! `becket sandbox`: what commands could touch (`explain.rs`, `reach.rs`), and running one.

mod explain;
mod reach;

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use becket_agent::gate::WebAccess;
use becket_face_kit::listening;
use becket_hooks::{Mark, Tree};
use becket_run::agent_settings::agent_settings;
use becket_run::environment::{environment, tool_settings};
use becket_run::sandbox::Sandbox;
use becket_run::sandbox_profile::SandboxProfile;
use becket_run::setup::Setup;
use becket_sandbox::is_for_the_loader;
use becket_system::{CliError, Exit, Surroundings, harmless};
use becket_tools::confined;

use crate::args::SandboxCommand;
use crate::options::Options;
use crate::printing::print;

/// Explains the sandbox, or runs a command in it.
pub fn run(
    options: &Options,
    command: SandboxCommand,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let setup = Setup::read(&options.run, surroundings)?;
    let mut options = options.clone();
    let wanted = options.run.sandbox.or(setup.config.sandbox.shell);
    // Who asks for a sandbox gets one, also where commands of the model run without.
    options.run.sandbox = wanted
        .filter(|profile| *profile != SandboxProfile::Off)
        .or(Some(SandboxProfile::Workspace));
    let Some(sandbox) = Sandbox::of_run(&setup, &options.run, surroundings)? else {
        return Err(CliError::usage("there is no sandbox"));
    };
    match command {
        SandboxCommand::Explain { command } => {
            let access = access(&setup, &options, surroundings)?;
            let named = listening(&options, surroundings, async |_| {
                Ok(reach::named(&command, (&sandbox, &access), surroundings).await)
            })?;
            print(&match options.run.json {
                true => format!("{}\n", explain::as_json(&sandbox, named)),
                false => harmless(&explain::as_text(&sandbox, &named)),
            })?;
            Ok(Exit::Answered)
        }
        SandboxCommand::Run { command } => {
            if let Some(gap) = &sandbox.gap {
                surroundings.remark(gap);
            }
            start((&options, &setup), &sandbox, &command, surroundings)
        }
    }
}

/// What a command of the user may reach on the network.
fn access(setup: &Setup, options: &Options, surroundings: &Surroundings) -> Result<WebAccess, CliError> {
    let approval = agent_settings(setup, &options.run, surroundings)?.approval;
    Ok(WebAccess::of_user(approval, &surroundings.cwd))
}

/// Runs a command and ends with its exit code. What it leaves in the background ends with it. Ctrl-C is the command's,
/// as in a shell; SIGTERM and SIGHUP end it.
fn start(
    (options, setup): (&Options, &Setup),
    sandbox: &Sandbox,
    command: &[String],
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(CliError::usage("there is no command").hint("becket sandbox run -- COMMAND"));
    };
    let failed = |error: &dyn std::fmt::Display| CliError::failed(format!("cannot run {program}: {error}"));
    let access = access(setup, options, surroundings)?;
    let mark = Mark::within(&surroundings.variables);
    let (mark_name, mark_value) = mark.variable();
    // What the model's commands get: without the keys.
    let environment = tool_settings(setup, &environment(setup, &[], surroundings)).environment;
    let code = listening(options, surroundings, async |signals| {
        let (mut command, kept) =
            confined(program, &sandbox.confinement(), access).map_err(|problem| failed(&problem))?;
        command
            .args(arguments)
            .env_clear()
            .envs(environment.iter().filter(|(name, _)| !is_for_the_loader(name)))
            .env(mark_name, mark_value);
        let (_lent, cancel) = (signals.lend(), signals.next());
        let ended = async {
            let child = tokio::process::Command::from(command).spawn()?;
            let mut tree = Tree::adopt_beside(child, &mark)?;
            let status = tokio::select! {
                status = tree.wait() => Some(status?),
                () = cancel.cancelled() => None,
            };
            tree.terminate().await;
            Ok(status)
        };
        let status = ended.await.map_err(|error: std::io::Error| failed(&error))?;
        for refused in kept.refused() {
            surroundings.remark(&refused);
        }
        // What was reserved for the command goes before the program does.
        drop(kept);
        Ok(status.map_or(Exit::Terminated as i32, code_of))
    })?;
    std::process::exit(code)
}

/// The exit code by which a shell tells how a program ended.
fn code_of(status: ExitStatus) -> i32 {
    let signal = || Some(128 + status.signal()?);
    status.code().or_else(signal).unwrap_or(1)
}
