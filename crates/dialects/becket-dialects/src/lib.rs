//! The list of the dialects, and nothing else: a new dialect is a line here.
//!
//! Each dialect is a crate of its own and a feature of this one. They do not know each other.

use becket_dialect_kit::{DialectInfo, RowInfo};
use becket_events::{OperationKind, Profile};
use becket_hooks::{Dialect, Fault};

/// The dialects whose hooks becket runs, by name.
pub static DIALECTS: &[&DialectInfo] = &[
    #[cfg(feature = "agent-hooks")]
    &becket_agent_hooks::INFO,
    #[cfg(feature = "chibi")]
    &becket_chibi::INFO,
    #[cfg(feature = "claude-code")]
    &becket_claude_code::INFO,
    #[cfg(feature = "codex")]
    &becket_codex::INFO,
    #[cfg(feature = "copilot")]
    &becket_copilot::INFO,
    #[cfg(feature = "cursor")]
    &becket_cursor::INFO,
    #[cfg(feature = "docker-agent")]
    &becket_docker_agent::INFO,
    #[cfg(feature = "gemini")]
    &becket_gemini::INFO,
    #[cfg(feature = "pi")]
    &becket_pi::INFO,
];

/// The dialects that keep hooks in JSON files.
#[cfg(any(
    feature = "claude-code",
    feature = "codex",
    feature = "copilot",
    feature = "cursor",
    feature = "gemini"
))]
pub static FILE_SYSTEMS: &[&becket_hook_files::System] = &[
    #[cfg(feature = "claude-code")]
    &becket_claude_code::SYSTEM,
    #[cfg(feature = "codex")]
    &becket_codex::SYSTEM,
    #[cfg(feature = "copilot")]
    &becket_copilot::SYSTEM,
    #[cfg(feature = "cursor")]
    &becket_cursor::SYSTEM,
    #[cfg(feature = "gemini")]
    &becket_gemini::SYSTEM,
];

/// The names of the dialects.
pub fn dialect_names() -> impl Iterator<Item = &'static str> {
    DIALECTS.iter().map(|info| info.dialect.name)
}

/// The names that [`profile_named`] knows.
pub fn profile_names() -> impl Iterator<Item = &'static str> {
    [Dialect::BECKET.name].into_iter().chain(dialect_names())
}

/// The tool profile with this name: becket's own or one of a dialect.
pub fn profile_named(name: &str) -> Option<Profile> {
    if name == Dialect::BECKET.name {
        return Some(Profile::own());
    }
    let info = DIALECTS.iter().find(|info| info.dialect.name == name)?;
    Some((info.profile)())
}

/// The operation that becket or some dialect means by the name of a tool.
pub fn operation_called(name: &str) -> Option<OperationKind> {
    let mut profiles = profile_names().filter_map(profile_named);
    profiles.find_map(|profile| profile.operation_of(name))
}

/// The words by which hooks of becket or of some dialect decide.
pub fn deciding_words() -> Vec<&'static str> {
    let of_dialects = DIALECTS.iter().flat_map(|info| info.deciding);
    ["verdict"].into_iter().chain(of_dialects.copied()).collect()
}

/// The names of tools that come with dialects and are no operation.
pub fn tool_names() -> impl Iterator<Item = &'static str> {
    DIALECTS.iter().flat_map(|info| info.tools).copied()
}

/// All rows of all dialects.
pub fn rows() -> Vec<RowInfo> {
    DIALECTS.iter().flat_map(|info| (info.rows)()).collect()
}

/// Events of a dialect that never happen in becket, each with the reason.
pub fn absent_events(dialect: &str) -> &'static [(&'static str, &'static str)] {
    let info = DIALECTS.iter().find(|info| info.dialect.name == dialect);
    info.map_or(&[], |info| info.absent_events)
}

/// Why an action would have happened in spite of a guard that breaks like this, in the agent that the guard was written
/// for; `None` where it would not, or where the guard is becket's own.
pub fn lets_through(dialect: Dialect, fault: Fault) -> Option<&'static str> {
    let info = DIALECTS.iter().find(|info| info.dialect == dialect)?;
    (info.lets_through)(fault)
}

#[cfg(test)]
mod laws;
