//! `cargo xtask campaign`: long searches for faults, with the debug program.

use std::process::Command;

use crate::problem::Problem;
use crate::workspace::{Workspace, target_folder};

/// Runs the campaigns that the arguments name, or all.
pub fn run(workspace: &Workspace, arguments: &[&str]) -> Result<(), Problem> {
    let target = target_folder(workspace);
    let build = || {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["build", "--package", "becket"])
            .current_dir(workspace.root())
            .status()
            .map_err(|error| format!("cannot start cargo: {error}"))?;
        match status.success() {
            true => Ok(target.join("debug/becket")),
            false => Err("the program cannot be built".into()),
        }
    };
    campaign::run(arguments, (workspace.root(), &target), build)
}
