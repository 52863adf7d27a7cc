//! The code index of a project: where each symbol is defined and where it is used.
//!
//! Reading order: `symbol.rs` is what is known about a file; `grammar.rs` declares for each language which nodes of its
//! syntax tree matter, and `extract.rs` walks the tree; `survey.rs` finds the files that have changed, `update.rs`
//! reads them on all cores and has the only writer; `query.rs` looks things up, `map.rs` ranks definitions; `tool.rs`
//! offers all of it as tools. `database.rs` is the file, which can always be made again.
//!
//! This crate knows no foreign names, and is told where the project and the index are.

mod database;
mod extract;
mod grammar;
mod language;
mod map;
mod query;
mod survey;
mod symbol;
mod tool;
mod update;

pub use database::{IndexFile, IndexProblem};
pub use language::language_of;
pub use map::{MapDraft, MapOptions};
pub use query::{FoundReference, FoundSymbol, IndexReader, Status, SymbolQuery};
pub use survey::{Limits, Skipped};
pub use symbol::{Extract, Reference, Symbol};
pub use tool::{IndexSettings, LanguagePlugin, index_tool_names, index_tools};
pub use update::{Indexed, Pending, Summary, Update, UpdateOptions};

/// The definitions and references in a text, in the language that the file's name tells. Public only for its fuzz
/// target.
#[doc(hidden)]
pub fn extracted(path: &std::path::Path, source: &[u8]) -> Option<Result<Extract, String>> {
    let grammar = language::grammar_of(path)?;
    Some(extract::Extractor::default().extract(grammar, source, &|| false))
}
