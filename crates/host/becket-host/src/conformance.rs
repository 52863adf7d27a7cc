//! Standards whose vectors becket can run against itself.

use std::path::Path;

use becket_system::CliError;
use futures_util::future::BoxFuture;

/// The vectors of a standard, run through becket's own loop and dispatcher.
pub trait Conformance: Send + Sync {
    /// The standard's name.
    fn standard(&self) -> &'static str;

    /// Runs the vectors in a folder, or becket's own ones, and reports about each.
    fn run<'a>(&'a self, vectors: Option<&'a Path>) -> BoxFuture<'a, Result<ConformanceReport, CliError>>;
}

/// What came of the vectors of a standard.
#[derive(Debug, Clone)]
pub struct ConformanceReport {
    /// The results, in the order of the vectors.
    pub results: Vec<VectorResult>,
    /// The results as the standard wants them in a claim, in Markdown.
    pub claim: String,
}

/// What came of one vector.
#[derive(Debug, Clone)]
pub struct VectorResult {
    /// The vector's name.
    pub id: String,
    /// What the vector is about.
    pub title: String,
    /// The part of the standard that it belongs to.
    pub part: String,
    /// How it ended.
    pub outcome: VectorOutcome,
}

/// How a vector ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VectorOutcome {
    /// Everything was as expected.
    Passed,
    /// Something was not as expected.
    Failed(Vec<String>),
    /// The vector was not run, for this reason.
    Skipped(String),
}
