//! The tools that the command line lets the model have, where it names them one by one.

use becket_hooks::nearest;
use becket_system::{CliError, Surroundings};

use crate::assemble::Assembled;

/// Offers the model only these tools. Unknown names are told; if all are unknown, that is an error.
pub fn choose_tools(
    names: Vec<String>,
    assembled: &Assembled,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    if names.is_empty() {
        return Err(CliError::usage("`--tools` names no tool").hint("name some, such as `read,grep`"));
    }
    let known = assembled.interactive.session_tools().map_err(CliError::failed)?;
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let unknown: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !known.contains(name))
        .collect();
    if unknown.len() == names.len() {
        let message = format!("there is no tool and no tool profile `{}`", names.join(","));
        let profiles: Vec<&str> = becket_dialects::profile_names().collect();
        let all = || profiles.iter().chain(&known).copied();
        let hint = match nearest(&names[0], all()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "the profiles are {}; the tools are {}",
                profiles.join(", "),
                known.join(", ")
            ),
        };
        return Err(CliError::usage(message).hint(hint));
    }
    if !unknown.is_empty() {
        surroundings.remark(&format!("there is no tool called {}", unknown.join(", ")));
    }
    assembled.interactive.offer_only(names).map_err(CliError::failed)
}
