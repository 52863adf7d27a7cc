//! Tool calls in chibi's words, and back.

use std::sync::LazyLock;

use becket_events::{OperationKind, Profile};
use serde_json::{Map, Value};

use super::profile;

static PROFILE: LazyLock<Profile> = LazyLock::new(profile);

/// The generations of chibi's plugins that see tools under different names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// Data in environment variables; the shell is `run_command`, reading is `read_file`.
    Older,
    /// Data on standard input; the shell is `shell_exec`.
    Newer,
}

/// What the older generation called the tools that it knew by other names.
const OLDER_NAMES: &[(&str, &str)] = &[("shell_exec", "run_command"), ("file_lines", "read_file")];

/// A call as a plugin sees it: the tool's name and its arguments.
pub fn show(
    generation: Generation,
    operation: Option<OperationKind>,
    own_name: &str,
    arguments: &Map<String, Value>,
) -> (String, Map<String, Value>) {
    let face = operation.and_then(|kind| PROFILE.face_for(kind, arguments));
    match face {
        Some(face) => (name_in(generation, face.name).into(), (face.to_foreign)(arguments)),
        // Tools that plugins bring keep their name and arguments in every dialect.
        None => (own_name.into(), arguments.clone()),
    }
}

/// Arguments that a plugin wrote for a call that it was shown, in becket's words.
pub fn read_back(
    operation: Option<OperationKind>,
    shown: &Map<String, Value>,
    written: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let Some(kind) = operation else { return Ok(written) };
    match PROFILE.face_for(kind, shown) {
        Some(face) => face.read(written).map(|operation| operation.arguments()),
        None => Ok(written),
    }
}

/// All names under which a plugin knows an operation.
pub fn names_of(generation: Generation, operation: OperationKind) -> Vec<&'static str> {
    let faces = PROFILE.faces.iter().filter(|face| face.operation == operation);
    faces.map(|face| name_in(generation, face.name)).collect()
}

/// The kind of a tool, as it stands in lists of tools.
pub fn category(generation: Generation, operation: Option<OperationKind>, source: &str) -> &'static str {
    use becket_events::Effect;
    match (generation, operation.map(OperationKind::effect)) {
        (_, None) if source != "builtin" => "plugin",
        (Generation::Older, Some(Effect::Read | Effect::Write)) => "file",
        (Generation::Older, _) => "builtin",
        (Generation::Newer, Some(Effect::Read)) => "fs_read",
        (Generation::Newer, Some(Effect::Write)) => "fs_write",
        (Generation::Newer, Some(Effect::Execute)) => "shell",
        (Generation::Newer, Some(Effect::Network)) => "network",
        (Generation::Newer, None) => "memory",
    }
}

fn name_in(generation: Generation, newer: &'static str) -> &'static str {
    let older = OLDER_NAMES.iter().find(|(name, _)| *name == newer).map(|(_, older)| *older);
    match generation {
        Generation::Older => older.unwrap_or(newer),
        Generation::Newer => newer,
    }
}
