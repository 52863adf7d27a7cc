//! The prelude: the TypeScript modules that run in the engine beside an extension.
//!
//! The prelude needs only two host functions (`host_call.rs`), so that any engine can run the same files. Only the
//! modules for registering are loaded at once; those for running tools and commands, `ctx.ui`, the session and the
//! models are loaded on first use, so that idle engines stay small.
//!
//! Members of `ctx` are getters that ask the host when they are read. So no state has to be kept in sync, and a large
//! answer costs nothing unless it is read. One `ctx` serves all handlers of an extension.

/// A module that extensions can import by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Module {
    /// The names under which the module can be imported.
    pub names: &'static [&'static str],
    /// The module's TypeScript.
    pub source: &'static str,
}

/// The module whose default export starts an extension: it gets everything that the extension's module exports.
pub const PRELUDE: &str = "pi:prelude";

macro_rules! modules {
    ($($name:literal)*) => {
        &[$(Module {
            names: &[concat!("pi:", $name)],
            source: include_str!(concat!("js/", $name, ".ts")),
        }),*]
    };
}

/// pi's API: the prelude and the modules that it is made of.
pub fn prelude_modules() -> &'static [Module] {
    modules![
        "api" "auth" "bus" "commands" "context" "events" "host" "models"
        "prelude" "providers" "renderers" "run-commands" "run-shell" "run-tools" "screen" "session" "setting-up" "theme"
        "tools" "ui" "virtual-models"
    ]
}
