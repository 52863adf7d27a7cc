//! Places in source texts, by which errors and compiled code name where they come from.

/// The place of a form in a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourcePlace {
    /// An index into the heap's table of files.
    pub file: u16,
    /// The column, counted from 1.
    pub column: u16,
    /// The line, counted from 1.
    pub line: u32,
}
