//! Why a chore could not be done, and running the programs that do it.

use std::process::Command;

/// A description of what is wrong.
pub type Problem = String;

/// What a program prints; the problem is what it complains about.
pub fn output(mut command: Command) -> Result<String, Problem> {
    let name = command.get_program().to_string_lossy().into_owned();
    let found = command
        .output()
        .map_err(|error| format!("cannot start {name}: {error}"))?;
    if !found.status.success() {
        let said = [found.stdout, found.stderr].concat();
        return Err(format!(
            "{name} failed: {}",
            String::from_utf8_lossy(&said).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&found.stdout).into_owned())
}
