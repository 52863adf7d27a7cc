//! Landlock: what can be opened, whatever is mounted where.
//!
//! It only knows what is allowed below a folder, not exceptions. With namespaces the exceptions are mounts; without them
//! what is hidden is kept out by allowing everything beside it.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
    path_beneath_rules,
};

use crate::plan::{Access, Network, Plan, Strength};
use crate::problem::Problem;

/// The newest rights that are asked for. An older kernel holds those that it knows.
const NEWEST: ABI = ABI::V6;

/// Devices that every program may use. None of them belongs to anybody.
pub const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Confines this process for good.
pub fn restrict(plan: &Plan) -> Result<(), Problem> {
    let failed = |error: landlock::RulesetError| Problem::because("cannot set up Landlock", error);
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))
        .map_err(failed)?
        .scope(Scope::from_all(NEWEST))
        .map_err(failed)?;
    // With namespaces a program without a network has a loopback of its own.
    if plan.network == Network::Off && plan.strength == Strength::LandlockOnly {
        rules = rules.handle_access(AccessNet::from_all(NEWEST)).map_err(failed)?;
    }
    let status = rules
        .create()
        .map_err(failed)?
        .add_rules(path_beneath_rules(readable(plan), AccessFs::from_read(NEWEST)))
        .map_err(failed)?
        .add_rules(path_beneath_rules(writable(plan), AccessFs::from_all(NEWEST)))
        .map_err(failed)?
        .restrict_self()
        .map_err(failed)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(Problem::new("this kernel has no Landlock, or it is switched off")),
        _ => Ok(()),
    }
}

fn writable(plan: &Plan) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = plan.with(Access::Writable).map(Path::to_path_buf).collect();
    match plan.strength {
        // `/dev` is the program's own.
        Strength::Full => {
            paths.extend(plan.with(Access::Scratch).map(Path::to_path_buf));
            paths.push("/dev".into());
        }
        Strength::LandlockOnly => {
            paths.extend(DEVICES.map(|name| Path::new("/dev").join(name)));
        }
    }
    paths
}

fn readable(plan: &Plan) -> Vec<PathBuf> {
    let root = Path::new("/");
    match plan.strength {
        Strength::Full => vec![root.to_path_buf()],
        Strength::LandlockOnly => {
            // Devices are named one by one: a disk can be read around everything else.
            let mut hidden: Vec<&Path> = plan.with(Access::Hidden).collect();
            hidden.push(Path::new("/dev"));
            let mut paths = Vec::new();
            beside(root, &hidden, &mut paths);
            paths
        }
    }
}

/// What is below `folder` and contains nothing that is hidden.
fn beside(folder: &Path, hidden: &[&Path], paths: &mut Vec<PathBuf>) {
    if hidden.contains(&folder) {
        return;
    }
    if !hidden.iter().any(|path| path.starts_with(folder)) {
        paths.push(folder.to_path_buf());
        return;
    }
    // What cannot be listed is not allowed.
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        // A right for a link would be one for what it leads to.
        if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            beside(&entry.path(), hidden, paths);
        }
    }
}
