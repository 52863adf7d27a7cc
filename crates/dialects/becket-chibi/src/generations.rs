//! The names and kinds that tools had in each generation of chibi.
//!
//! In the older generation, commands and whole files were the business of two common plugins; becket's own tools
//! replace them under their names.
//!
//! For plugins of the older generation every tool that was not built in then is a plugin's. A filter that takes plugins
//! away must not leave a shell behind.

use becket_dialect_kit::words::{self, schema};
use becket_events::{Face, OperationKind, Profile, Telling};

use super::{Generation, profile, results};

/// The older generation's name of an operation, if the name has changed.
pub fn older_name(operation: OperationKind) -> Option<&'static str> {
    match operation {
        OperationKind::Shell => Some("run_command"),
        OperationKind::Read => Some("read_file"),
        _ => None,
    }
}

/// The operation that the older generation called by a name that has changed.
pub fn operation_of_older_name(name: &str) -> Option<OperationKind> {
    let mut operations = OperationKind::ALL.iter().copied();
    operations.find(|operation| older_name(*operation) == Some(name))
}

/// The tools as plugins of a generation know them. Tools that a generation did not have keep their newer names.
pub fn profile_of(generation: Generation) -> Profile {
    let newer = profile();
    if generation == Generation::Newer {
        return newer;
    }
    // `read_file` only reads whole files, so parts of a file keep their own tools.
    let (reading, others): (Vec<Face>, Vec<Face>) = newer
        .faces
        .into_iter()
        .filter(|face| face.operation != OperationKind::Shell)
        .partition(|face| matches!(face.name, "file_lines" | "file_tail"));
    let faces = reading.into_iter().chain([whole_file(), command()]).chain(others);
    Profile {
        faces: faces.collect(),
        ..newer
    }
}

/// Whether one of becket's own tools is listed under this name among the tools on offer. The older generation had other
/// tools of its own for reading and searching files; a filter that takes those away means reading and searching.
pub fn is_offered_as(generation: Generation, name: &str) -> bool {
    generation == Generation::Newer || !matches!(name, "read_file" | "grep_files")
}

fn whole_file() -> Face {
    Face {
        name: "read_file",
        description: "Read a file.",
        parameters: schema(&[("path", "string", "The file.")], &["path"]),
        operation: OperationKind::Read,
        to_own: Ok,
        to_foreign: serde_json::Map::clone,
        output: Some(Telling::new(results::read)),
    }
}

fn command() -> Face {
    const RENAMES: words::Renames = &[("timeout_secs", "timeout_seconds")];
    Face {
        name: "run_command",
        description: "Run a command with the shell.",
        parameters: schema(&[("command", "string", "The command line.")], &["command"]),
        operation: OperationKind::Shell,
        to_own: |arguments| Ok(words::to_own(arguments, RENAMES)),
        to_foreign: |arguments| words::to_foreign(arguments, RENAMES),
        output: None,
    }
}

/// The kind of a tool as plugins of a generation see it, by the tool's name in that generation and by its source:
/// `builtin`, or the name of a plugin or server.
pub fn tool_type(generation: Generation, name: &str, source: &str) -> &'static str {
    match (generation, origin(source)) {
        (Generation::Older, None) => older_type(name),
        (Generation::Newer, None) => newer_type(name),
        (Generation::Older, Some(_)) => "plugin",
        (Generation::Newer, Some(origin)) => origin,
    }
}

/// The kind of a tool as versions between the generations had it in their settings.
pub(super) fn between_type(name: &str, source: &str) -> &'static str {
    match name {
        _ if origin(source).is_some() => tool_type(Generation::Newer, name, source),
        "update_todos" | "update_goals" | "update_reflection" | "send_message" => "builtin",
        "call_agent" | "call_user" | "model_info" | "read_context" => "builtin",
        "file_head" | "file_tail" | "file_lines" | "file_grep" | "write_file" => "file",
        "spawn_agent" | "summarize_content" => "agent",
        "shell_exec" | "dir_list" | "glob_files" | "grep_files" | "file_edit" | "fetch_url" => "coding",
        "index_update" | "index_query" | "index_status" => "coding",
        _ => newer_type(name),
    }
}

/// The kinds of tools of all versions.
pub(super) const CATEGORIES: &[&str] = &[
    "agent",
    "builtin",
    "coding",
    "eval",
    "file",
    "flow",
    "fs_read",
    "fs_write",
    "index",
    "mcp",
    "memory",
    "network",
    "plugin",
    "shell",
    "synthesised",
    "vfs",
];

/// The kind of a tool that is not built in; `None` for a builtin.
fn origin(source: &str) -> Option<&'static str> {
    match source.split(':').next().unwrap_or_default() {
        "builtin" => None,
        "mcp" => Some("mcp"),
        // A file of the virtual file system.
        "vfs" => Some("synthesised"),
        _ => Some("plugin"),
    }
}

/// The kind of a tool in the older generation. All other tools were plugins' then: a filter of plugins must not leave a
/// shell behind.
fn older_type(name: &str) -> &'static str {
    match name {
        "update_todos" | "update_goals" | "update_reflection" | "send_message" => "builtin",
        "file_head" | "file_tail" | "file_lines" | "file_grep" | "cache_list" => "file",
        _ => "plugin",
    }
}

fn newer_type(name: &str) -> &'static str {
    match name {
        "update_reflection" | "update_goals" | "update_todos" | "read_context" => "memory",
        "flock_join" | "flock_leave" | "flock_list" => "memory",
        "file_head" | "file_tail" | "file_lines" | "file_grep" | "cache_list" => "fs_read",
        "dir_list" | "glob_files" | "grep_files" => "fs_read",
        "write_file" | "file_edit" => "fs_write",
        "shell_exec" => "shell",
        "fetch_url" => "network",
        "index_update" | "index_query" | "index_status" => "index",
        "call_user" | "call_agent" | "send_message" | "model_info" => "flow",
        "spawn_agent" | "summarize_content" => "flow",
        "scheme_eval" => "eval",
        name if name.starts_with("vfs_") => "vfs",
        // A tool that only becket has counts as a plugin's.
        _ => "plugin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn shown(generation: Generation, kind: OperationKind, own: Value) -> (&'static str, Value) {
        let profile = profile_of(generation);
        let own = own.as_object().unwrap();
        let face = profile.face_for(kind, own).unwrap();
        (face.name, Value::Object((face.to_foreign)(own)))
    }

    #[test]
    fn the_older_generation_sees_commands_and_whole_files_under_their_older_names() {
        use OperationKind::{Fetch, Read, Shell};
        let cases = [
            (Shell, json!({"command": "ls"}), "run_command", "shell_exec"),
            (Read, json!({"path": "a"}), "read_file", "file_head"),
            (Read, json!({"path": "a", "tail": 3}), "file_tail", "file_tail"),
            (
                Read,
                json!({"path": "a", "offset": 1, "limit": 3}),
                "file_lines",
                "file_lines",
            ),
            (
                Fetch,
                json!({"url": "https://a.example"}),
                "fetch_url",
                "fetch_url",
            ),
        ];
        for (kind, own, older, newer) in cases {
            assert_eq!(shown(Generation::Older, kind, own.clone()).0, older);
            assert_eq!(shown(Generation::Newer, kind, own).0, newer);
        }
        assert_eq!(
            shown(Generation::Older, Shell, json!({"command": "ls"})).1,
            json!({"command": "ls"})
        );
    }

    #[test]
    fn older_names_lead_there_and_back_and_stand_in_the_older_profile() {
        let older = profile_of(Generation::Older);
        for kind in OperationKind::ALL {
            if let Some(name) = older_name(*kind) {
                assert_eq!(operation_of_older_name(name), Some(*kind));
                assert_eq!(older.face_named(name).map(|face| face.operation), Some(*kind));
                assert!(profile().face_named(name).is_none());
            }
        }
        assert_eq!(operation_of_older_name("fetch_url"), None);
    }

    #[test]
    fn every_tool_has_the_kind_that_its_generation_knows() {
        let older = |name| tool_type(Generation::Older, name, "builtin");
        assert_eq!(
            [older("update_todos"), older("file_head"), older("cache_list")],
            ["builtin", "file", "file"]
        );
        assert_eq!([older("run_command"), older("write_file")], ["plugin", "plugin"]);
        assert_eq!(tool_type(Generation::Older, "file_head", "my_plugin"), "plugin");
        assert_eq!(tool_type(Generation::Newer, "file_head", "my_plugin"), "plugin");
        assert_eq!(tool_type(Generation::Newer, "find", "mcp:github"), "mcp");
        assert_eq!(tool_type(Generation::Newer, "vfs_list", "builtin"), "vfs");
        for face in profile().faces {
            assert_ne!(
                tool_type(Generation::Newer, face.name, "builtin"),
                "plugin",
                "{}",
                face.name
            );
        }
    }
}
