//! Landlock: what can be opened, whatever is mounted where.
//!
//! It only knows what is allowed below a folder, not exceptions. With namespaces the exceptions are mounts; without
//! them what is hidden is kept out by allowing everything beside it.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{FileType, fstat};

use crate::place::{DEVICES, place};
use crate::plan::{Access, Plan, Strength};
use crate::problem::Problem;

/// The newest rights that are asked for. An older kernel holds those that it knows.
const NEWEST: ABI = ABI::V6;

/// Confines this process for good.
pub fn restrict(plan: &Plan) -> Result<(), Problem> {
    let failed = |error: RulesetError| Problem::because("cannot set up Landlock", error);
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))
        .map_err(failed)?
        .scope(Scope::from_all(NEWEST))
        .map_err(failed)?;
    // With namespaces a program has a loopback of its own, and no other network.
    if plan.strength == Strength::LandlockOnly {
        rules = rules.handle_access(AccessNet::from_all(NEWEST)).map_err(failed)?;
    }
    let status = rules
        .create()
        .map_err(failed)?
        .add_rules(
            rules_below(readable(plan), AccessFs::from_read(NEWEST))?
                .into_iter()
                .map(Ok::<_, RulesetError>),
        )
        .map_err(failed)?
        .add_rules(
            rules_below(writable(plan), AccessFs::from_all(NEWEST))?
                .into_iter()
                .map(Ok::<_, RulesetError>),
        )
        .map_err(failed)?
        .restrict_self()
        .map_err(failed)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(Problem::new("this kernel has no Landlock, or it is switched off")),
        _ => Ok(()),
    }
}

/// Whether signals stay inside. Kernels before 6.12 let them pass.
pub fn holds_signals() -> bool {
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    rules.scope(Scope::Signal).and_then(Ruleset::create).is_ok()
}

/// Rights below paths. A path where nothing is, or a link is, gets none.
fn rules_below(
    paths: Vec<PathBuf>,
    rights: BitFlags<AccessFs>,
) -> Result<Vec<PathBeneath<std::os::fd::OwnedFd>>, Problem> {
    let mut rules = Vec::with_capacity(paths.len());
    for path in paths {
        let Some(place) = place(&path)? else { continue };
        let kind =
            fstat(&place).map_err(|error| Problem::at(format!("cannot open {}", path.display()), error))?;
        let rights = match FileType::from_raw_mode(kind.st_mode) {
            FileType::Directory => rights,
            FileType::Symlink => continue,
            _ => rights & AccessFs::from_file(NEWEST),
        };
        rules.push(PathBeneath::new(place, rights));
    }
    Ok(rules)
}

fn writable(plan: &Plan) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = plan.with(Access::Writable).map(Path::to_path_buf).collect();
    match plan.strength {
        // `/dev` is the program's own.
        Strength::Full | Strength::SharedProcesses => {
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
        Strength::Full | Strength::SharedProcesses => vec![root.to_path_buf()],
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
