//! `becket sandbox`: what commands could touch, and running one.

use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use becket_face_kit::listening;
use becket_hooks::{Mark, Tree};
use becket_run::environment::{environment, tool_settings};
use becket_run::sandbox::Sandbox;
use becket_run::sandbox_profile::SandboxProfile;
use becket_run::setup::Setup;
use becket_sandbox::{Access, Strength, is_for_the_loader};
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::json;

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
        SandboxCommand::Explain => {
            print(&match options.run.json {
                true => format!("{}\n", as_json(&sandbox)),
                false => harmless(&as_text(&sandbox)),
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
    let confinement = sandbox.confinement();
    let mark = Mark::within(&surroundings.variables);
    let (mark_name, mark_value) = mark.variable();
    // What the model's commands get: without the keys.
    let environment = tool_settings(setup, &environment(setup, &[], surroundings)).environment;
    let (mut confined, reserved) = confinement.command(program).map_err(|problem| failed(&problem))?;
    confined
        .args(arguments)
        .env_clear()
        .envs(environment.iter().filter(|(name, _)| !is_for_the_loader(name)))
        .env(mark_name, mark_value);
    let code = listening(options, surroundings, async |signals| {
        let (_lent, cancel) = (signals.lend(), signals.next());
        let ended = async {
            let child = tokio::process::Command::from(confined).spawn()?;
            let mut tree = Tree::adopt_beside(child, &mark)?;
            let status = tokio::select! {
                status = tree.wait() => Some(status?),
                () = cancel.cancelled() => None,
            };
            tree.terminate().await;
            Ok(status)
        };
        let status = ended.await.map_err(|error: std::io::Error| failed(&error))?;
        Ok(status.map_or(Exit::Terminated as i32, code_of))
    })?;
    // What was reserved for the command goes before the program does.
    drop(reserved);
    std::process::exit(code)
}

/// The exit code by which a shell tells how a program ended.
fn code_of(status: ExitStatus) -> i32 {
    let signal = || Some(128 + status.signal()?);
    status.code().or_else(signal).unwrap_or(1)
}

fn as_json(sandbox: &Sandbox) -> serde_json::Value {
    let plan = sandbox.plan();
    let paths = |access| plan.with(access).collect::<Vec<&Path>>();
    json!({
        "profile": sandbox.profile.word(),
        "writable": paths(Access::Writable),
        "protected": paths(Access::ReadOnly),
        "scratch": paths(Access::Scratch),
        "hidden": paths(Access::Hidden),
        "network": false,
        "namespaces": plan.strength.has_namespaces(),
        "own_processes": plan.strength == Strength::Full,
        "gap": sandbox.gap,
    })
}

fn as_text(sandbox: &Sandbox) -> String {
    let plan = sandbox.plan();
    let mut text = format!(
        "profile    {}\n           {}\n",
        sandbox.profile.word(),
        sandbox.profile.about()
    );
    for (title, access) in [
        ("writable", Access::Writable),
        ("protected", Access::ReadOnly),
        ("scratch", Access::Scratch),
        ("hidden", Access::Hidden),
    ] {
        let mut paths: Vec<_> = plan.with(access).collect();
        paths.sort_unstable();
        paths.dedup();
        for (number, path) in paths.into_iter().enumerate() {
            let title = if number == 0 { title } else { "" };
            let _ = writeln!(text, "{title:<10} {}", path.display());
        }
    }
    text += match plan.strength.has_namespaces() {
        true => "network    none, except its own loopback\n",
        false => "network    none\n",
    };
    text += match plan.strength {
        Strength::Full => "processes  its own; all of them end with the command\n",
        Strength::SharedProcesses | Strength::LandlockOnly => "processes  all can be seen\n",
    };
    text += match plan.strength.has_namespaces() {
        true => "enforced   by namespaces, Landlock and a filter of system calls\n",
        false => "enforced   by Landlock and a filter of system calls\n",
    };
    if let Some(gap) = &sandbox.gap {
        let _ = writeln!(text, "gap        {gap}");
    }
    text + "\nProtected paths are read-only; what is written to scratch paths is gone with the command. All other \
            files can be read.\n"
}
