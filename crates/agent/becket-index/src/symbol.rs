//! The definitions and references of a source file.

use serde::{Deserialize, Serialize};

/// A definition in a source file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// The symbol's name.
    pub name: String,
    /// The kind of symbol: `function`, `struct`, `class` and so on.
    #[serde(default)]
    pub kind: String,
    /// The definition that the symbol is a part of.
    #[serde(default)]
    pub parent: Option<String>,
    /// The symbol's first line, counted from 1.
    #[serde(default)]
    pub line_start: u32,
    /// The symbol's last line, inclusive.
    #[serde(default)]
    pub line_end: u32,
    /// The symbol's declaration, on one line.
    #[serde(default)]
    pub signature: Option<String>,
    /// Who may use the symbol, if its language says so.
    #[serde(default)]
    pub visibility: Option<String>,
}

/// A place that uses a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The line of the reference, counted from 1.
    #[serde(default)]
    pub from_line: u32,
    /// The name that is used.
    pub to_name: String,
    /// How the name is used: `call`, `type`, `import`, or `path` for a qualifier before a name.
    #[serde(default)]
    pub kind: Option<String>,
}

/// Everything that was found in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extract {
    /// The definitions, in the order of the file.
    #[serde(default)]
    pub symbols: Vec<Symbol>,
    /// The references, in the order of the file.
    #[serde(default)]
    pub refs: Vec<Reference>,
}
