//! The modules of TypeScript that run in the engine beside an extension.

/// A module that extensions find by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Module {
    /// The names under which it can be imported.
    pub names: &'static [&'static str],
    /// Its TypeScript.
    pub source: &'static str,
}

/// The module whose default export starts an extension: it is given all that the extension's module exports.
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
        "api" "bus" "commands" "context" "events" "host" "models"
        "prelude" "providers" "renderers" "run-commands" "run-shell" "run-tools" "screen" "session" "setting-up" "theme"
        "tools" "ui" "virtual-models"
    ]
}
