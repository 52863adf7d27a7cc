//! The languages of scripts.

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Shell,
    Python,
    JavaScript,
    Scheme,
    /// A language of which nobody here knows how it loads other files.
    Other,
}
