//! `becket bridge`: becket's hooks for other agents.

mod asked;
mod daemon;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use becket_bridge::{
    Change, Installed, Place, Unasked, entry_file, install, installed, records_since, unasked, uninstall,
};
use becket_host::Bridge;
use becket_system::project_root::project_root;
use becket_system::{CliError, Exit, Folders, Surroundings, harmless};
use serde_json::json;

use self::asked::{bridge_to, program};
use crate::args::{AskedBy, BridgeCommand, BridgeTarget};
use crate::opened::lab;
use crate::options::Options;
use crate::printing::print;
use crate::running::cancellable;

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
        BridgeCommand::Report { since } => report(options, &since, surroundings),
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
        Place::Project
    } else {
        Place::User
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
    let mut found: Vec<(&'static Bridge, Installed)> = Vec::new();
    for bridge in options.run.hosts.bridges() {
        for place in [Place::User, Place::Project] {
            let file = entry_file(bridge, place, surroundings, &root)?;
            found.extend(installed(bridge, &file, &program)?.map(|installed| (bridge, installed)));
        }
    }
    if found.is_empty() {
        surroundings.remark("no agent asks becket; `becket bridge install SYSTEM` enters it");
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

fn shown(bridge: &Bridge, installed: &Installed, unasked: &[Unasked]) -> String {
    let how = if installed.shadow {
        "asks becket and ignores refusals (shadow)"
    } else {
        "asks becket"
    };
    let mut text = format!("{} {how}: {}\n", bridge.title, installed.file.display());
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

fn report(options: &Options, since: &str, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let before = duration(since)?;
    let folders = Folders::find(options.run.home.as_deref(), surroundings)?;
    let (records, unreadable) = records_since(&folders.data, before)?;
    if unreadable > 0 {
        surroundings.remark(&format!("{unreadable} lines of the record cannot be read"));
    }
    if options.run.json {
        for record in &records {
            print(&format!("{}\n", json!(record)))?;
        }
        return Ok(Exit::Answered);
    }
    if records.is_empty() {
        surroundings.remark(&format!("nothing would have been stopped in the last {since}"));
        return Ok(Exit::Answered);
    }
    let mut groups: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for record in &records {
        let group = groups.entry((&record.effect, &record.reason)).or_default();
        group.push(&record.subject);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, subjects)| std::cmp::Reverse(subjects.len()));
    for ((effect, reason), subjects) in groups {
        let example = subjects.last().copied().unwrap_or_default();
        let line = format!(
            "{:>5} × {effect}: {reason}\n        last: {example}\n",
            subjects.len()
        );
        print(&harmless(&line))?;
    }
    Ok(Exit::Answered)
}

/// A time such as `7d` or `12h`.
fn duration(text: &str) -> Result<Duration, CliError> {
    let wrong = || CliError::usage(format!("`{text}` is no time")).hint("write 30m, 12h, 7d or 4w");
    let (number, unit) = text
        .split_at_checked(text.len().saturating_sub(1))
        .ok_or_else(wrong)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}
