//! Tool calls in docker-agent's words.

use std::sync::LazyLock;

use becket_dialect_kit::called::Called;
use becket_events::{OperationKind, Profile};
use becket_hooks::Failure;
use serde_json::{Map, Value};

use super::output::wrong;
use super::tools::profile;

pub(super) static PROFILE: LazyLock<Profile> = LazyLock::new(profile);

/// The same call under the other name that it has here: that of the first tool for what it does, so that a guard of
/// `shell` hears of commands in the background. For what has no such tool it is the name that the model used.
pub(super) fn otherwise(call: Called<'_>) -> Called<'_> {
    let stands_for = |operation| PROFILE.faces.iter().find(move |face| face.operation == operation);
    match call.operation.and_then(stands_for) {
        Some(face) => Called {
            called_as: face.name,
            ..call
        },
        None => Called {
            own_name: call.called_as,
            ..call
        },
    }
}

/// What kind of tool it is, where that is known.
pub(super) fn category(call: &Called<'_>) -> &'static str {
    match call.operation {
        Some(OperationKind::Shell) => "shell",
        Some(OperationKind::Fetch) => "fetch",
        Some(kind) if !OperationKind::VFS.contains(&kind) => "filesystem",
        _ => "",
    }
}

/// The whole arguments in becket's words, after a hook has replaced some of them in its own.
pub(super) fn patched(call: &Called<'_>, patch: &Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    let mut written = call.foreign_arguments();
    written.extend(patch.clone());
    call.read(written)
        .map_err(|error| wrong(format!("`updated_input`: {error}")))
}
