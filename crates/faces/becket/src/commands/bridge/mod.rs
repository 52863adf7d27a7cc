//! `becket bridge`: becket's hooks for other agents.

mod asked;
mod daemon;

use std::collections::BTreeMap;
use std::path::Path;

use becket_bridge::{
    Change, Entered, FileOwner, Installed, Unasked, entry_file, install, installed, unasked, uninstall,
};
use becket_face_kit::cancellable;
use becket_host::{AgentProgram, Bridge};
use becket_system::project_root::project_root;
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::json;

use self::asked::{bridge_to, program};
use super::hooks::report;
use crate::args::{AskedBy, BridgeCommand, BridgeTarget};
use crate::lab::lab;
use crate::options::Options;
use crate::printing::print;

/// Carries out a command about bridges.
pub fn run(
    options: &Options,
    command: Option<BridgeCommand>,
    asked: &AskedBy,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let Some(command) = command else {
        return asked::run(options, asked, surroundings);
    };
    match command {
        BridgeCommand::Install { target, shadow } => {
            if options.run.home.is_some() && surroundings.variable("BECKET_HOME").is_none() {
                let why = "another agent starts becket without `--home`";
                return Err(CliError::usage(why).hint("set BECKET_HOME where the agent is started"));
            }
            let program = program(options)?;
            change(options, &target, surroundings, |bridge, file| {
                install(bridge, file, &program, shadow)
            })
        }
        BridgeCommand::Uninstall { target } => change(options, &target, surroundings, uninstall),
        BridgeCommand::Status => status(options, surroundings),
        BridgeCommand::Report { since } => report::run(options, &since, surroundings),
        BridgeCommand::Daemon { command } => daemon::run(options, &command, surroundings),
    }
}

/// Shows how a file of an agent changes, and changes it.
fn change(
    options: &Options,
    target: &BridgeTarget,
    surroundings: &Surroundings,
    make: impl Fn(&Bridge, &Path) -> Result<Change, CliError>,
) -> Result<Exit, CliError> {
    let bridge = bridge_to(options, &target.system)?;
    let place = if target.project {
        FileOwner::Project
    } else {
        FileOwner::User
    };
    let file = entry_file(bridge, place, surroundings, &project_root(&surroundings.cwd))?;
    let change = make(bridge, &file)?;
    if change.is_nothing() {
        surroundings.remark(&format!("{} stays as it is", file.display()));
        return Ok(Exit::Answered);
    }
    print(&harmless(&change.shown()))?;
    if target.dry_run {
        return Ok(Exit::Answered);
    }
    change.apply()?;
    surroundings.remark(&format!("changed {}; {}", file.display(), bridge.entry.hint));
    Ok(Exit::Answered)
}

fn status(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let program = program(options)?;
    let root = project_root(&surroundings.cwd);
    let entered = Entered {
        surroundings,
        project_root: &root,
        program: &program,
    };
    let mut found: Vec<(&'static Bridge, Installed)> = Vec::new();
    for bridge in options.run.hosts.bridges() {
        for place in [FileOwner::User, FileOwner::Project] {
            let installed = installed(bridge, place, &entered)?;
            found.extend(installed.map(|installed| (bridge, installed)));
        }
    }
    if found.is_empty() {
        surroundings.remark("no agent asks becket; `becket bridge install SYSTEM` sets it up");
        return Ok(Exit::Answered);
    }
    cancellable(options, surroundings, async |cancel| {
        let lab = lab(options, surroundings, None, &cancel).await?;
        for (bridge, installed) in &found {
            show(options, bridge, installed, &unasked(bridge, lab.engine()))?;
        }
        lab.close(surroundings).await?;
        Ok(Exit::Answered)
    })
}

fn show(
    options: &Options,
    bridge: &Bridge,
    installed: &Installed,
    unasked: &[Unasked],
) -> Result<(), CliError> {
    if !options.run.json {
        return print(&harmless(&shown(bridge, installed, unasked)));
    }
    let limits: BTreeMap<&str, &str> = limits(bridge).collect();
    let line = json!({"installed": installed, "unasked": unasked, "limits": limits});
    print(&format!("{line}\n"))
}

/// What an agent cannot do at an event.
fn limits(bridge: &Bridge) -> impl Iterator<Item = (&'static str, &'static str)> {
    let events = bridge.events.iter().filter(|event| !event.unable.is_empty());
    events.map(|event| (event.name, event.unable))
}

/// The version of an agent, beside the one with which becket was tried.
fn version(program: &AgentProgram, installed: &Installed) -> String {
    let version = match &installed.version {
        Some(version) => version.clone(),
        None => format!("unknown, `{} --version` says nothing", program.name),
    };
    let tried = match program.tried {
        "" => "becket was never tested with it".to_owned(),
        tried if tried == version => String::new(),
        tried => format!("becket was tested with {tried}"),
    };
    let remarks = [Some(version), installed.outdated.clone(), Some(tried)]
        .into_iter()
        .flatten();
    let remarks: Vec<String> = remarks.filter(|remark| !remark.is_empty()).collect();
    format!("  version: {}\n", remarks.join("; "))
}

fn shown(bridge: &Bridge, installed: &Installed, unasked: &[Unasked]) -> String {
    let how = if installed.shadow {
        "asks becket and ignores refusals (shadow)"
    } else {
        "asks becket"
    };
    let mut text = format!("{} {how}: {}\n", bridge.title, installed.file.display());
    text += &version(&bridge.program, installed);
    for hindrance in &installed.hindrances {
        text += &format!("  it would not run: {hindrance}\n");
    }
    if !installed.missing.is_empty() {
        text += &format!(
            "  not asked at {}; install it again\n",
            installed.missing.join(", ")
        );
    }
    text += &format!("  note: {}\n", bridge.entry.hint);
    for (event, limit) in limits(bridge) {
        text += &format!("  {event}: {limit}\n");
    }
    for Unasked { hook, source, event } in unasked {
        text += &format!("  GUARD NOT ASKED: {hook} ({source}) guards {event}, which does not happen here\n");
    }
    text
}
