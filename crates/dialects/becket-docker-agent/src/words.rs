//! Tool calls under docker-agent's names.

use std::sync::LazyLock;

use becket_dialect_kit::called::Called;
use becket_events::{OperationKind, Profile};
use becket_hooks::Failure;
use serde_json::{Map, Value};

use super::output::wrong;
use super::shell_safety;
use super::tools::profile;

pub(super) static PROFILE: LazyLock<Profile> = LazyLock::new(profile);

/// The call under its alternative name: that of the first tool with the same operation, so that a guard of `shell` also
/// gets commands in the background. A call without such a tool keeps the name that the model used.
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

/// docker-agent's category of a tool, if it is known.
pub(super) fn category(call: &Called<'_>) -> &'static str {
    match call.operation {
        Some(OperationKind::Shell) => "shell",
        Some(OperationKind::Fetch) => "fetch",
        Some(kind) if !OperationKind::VFS.contains(&kind) => "filesystem",
        _ => "",
    }
}

/// docker-agent's label for how dangerous a call is.
pub(super) fn safety_label(call: &Called<'_>) -> &'static str {
    match call.operation {
        Some(OperationKind::Shell) => {
            let arguments = call.foreign_arguments();
            let command = arguments.get("cmd").and_then(Value::as_str).unwrap_or_default();
            shell_safety::label(command).name()
        }
        Some(OperationKind::Read | OperationKind::List | OperationKind::Find | OperationKind::Grep) => "safe",
        _ => "unknown",
    }
}

/// All arguments under becket's names, after a hook has replaced some of them under docker-agent's names.
pub(super) fn patched(call: &Called<'_>, patch: &Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    let mut written = call.foreign_arguments();
    written.extend(patch.clone());
    call.read(written)
        .map_err(|error| wrong(format!("`updated_input`: {error}")))
}
