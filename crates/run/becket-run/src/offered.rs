//! The tools that the command line lets the model have, where it names them one by one.
//!
//! Names alone are the whole list. With a `+` before them they are added to the usual tools, with a `-` taken away.

use becket_hooks::nearest;
use becket_system::{CliError, Surroundings};

use crate::assemble::Assembled;
use crate::tool_names::tool_elsewhere;

/// The word for no tools at all.
const NONE: &str = "none";

/// The word for the tools that becket has itself, behind a `-`.
const BUILTIN: &str = "builtin";

/// Offers the model only these tools; with a `-` before their names, the usual ones but these, and with a `+` the usual
/// ones and these. Unknown names are told; if all are unknown, that is an error.
pub fn choose_tools(
    names: Vec<String>,
    assembled: &Assembled,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    if names.is_empty() {
        return Err(CliError::usage("`--tools` names no tool").hint("name some, such as `read,grep`"));
    }
    let known = assembled.interactive.session_tools().map_err(CliError::failed)?;
    let (left_out, named): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| name.starts_with('-'));
    let (added, named): (Vec<String>, Vec<String>) =
        named.into_iter().partition(|name| name.starts_with('+'));
    let unoffered = &assembled.agent.settings.unoffered;
    let usual = || known.iter().filter(|name| !unoffered.contains(*name)).cloned();
    let added = added.iter().map(|name| name[1..].to_owned());
    let names: Vec<String> = match named.as_slice() {
        _ if named == [NONE] && added.len() == 0 => {
            return assembled
                .interactive
                .offer_only(Vec::new())
                .map_err(CliError::failed);
        }
        [] => usual().chain(added).collect(),
        _ => named.into_iter().chain(added).collect(),
    };
    let names: Vec<String> = names
        .into_iter()
        .filter(|name| !is_left_out(name, &left_out))
        .collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let unknown: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !known.contains(name))
        .collect();
    if unknown.len() == names.len() && !names.is_empty() {
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

/// Whether a tool is left out by its name, or as one of becket's own.
fn is_left_out(name: &str, left_out: &[String]) -> bool {
    let is_builtin = || {
        let profile = becket_dialects::profile_named("pi");
        profile.is_some_and(|profile| profile.face_named(name).is_some())
    };
    left_out.iter().any(|out| match &out[1..] {
        BUILTIN => is_builtin(),
        other => other == name || tool_elsewhere(name) == Some(other),
    })
}
