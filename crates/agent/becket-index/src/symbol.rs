//! What is known about a source file: its definitions and its references.

use serde::{Deserialize, Serialize};

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// What it is: `function`, `struct`, `class` and so on.
    #[serde(default)]
    pub kind: String,
    /// The definition that it is a part of.
    #[serde(default)]
    pub parent: Option<String>,
    /// Its first line, counted from 1.
    #[serde(default)]
    pub line_start: u32,
    /// Its last line, included.
    #[serde(default)]
    pub line_end: u32,
    /// How it is declared, in one line.
    #[serde(default)]
    pub signature: Option<String>,
    /// Who may use it, where its language says so.
    #[serde(default)]
    pub visibility: Option<String>,
}

/// A place that uses a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The line, counted from 1.
    #[serde(default)]
    pub from_line: u32,
    /// The name that is used.
    pub to_name: String,
    /// How: `call`, `type`, `import`, or `path` for what stands before a name.
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
