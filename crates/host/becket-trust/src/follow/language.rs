//! The languages of scripts.

/// The language of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Shell,
    Python,
    JavaScript,
    Scheme,
    /// A language whose way to load other files is unknown here.
    Other,
}
