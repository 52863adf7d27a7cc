//! `becket hooks conformance`: the vectors of a standard, run through becket.

use std::path::Path;

use becket_face_kit::cancellable;
use becket_host::{VectorOutcome, VectorResult};
use becket_system::signals::unless_cancelled;
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::json;

use crate::options::Options;
use crate::printing::print;

/// Runs the vectors of a standard and prints the report.
pub fn run(
    options: &Options,
    standard: &str,
    vectors: Option<&Path>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let mut known = options.run.hosts.conformances();
    let Some(conformance) = known.find(|known| known.standard() == standard) else {
        let names: Vec<&str> = options
            .run
            .hosts
            .conformances()
            .map(|known| known.standard())
            .collect();
        return Err(CliError::usage(format!("becket knows no standard `{standard}`"))
            .hint(format!("it knows {}", names.join(", "))));
    };
    let vectors = vectors.map(|folder| surroundings.cwd.join(folder));
    cancellable(options, surroundings, async |cancel| {
        let report = unless_cancelled(&cancel, conformance.run(vectors.as_deref())).await??;
        match options.run.json {
            true => report
                .results
                .iter()
                .try_for_each(|result| print(&format!("{}\n", line(result))))?,
            false => print(&harmless(&report.claim))?,
        }
        let is_failed = |result: &VectorResult| matches!(result.outcome, VectorOutcome::Failed(_));
        match report.results.iter().any(is_failed) {
            true => Ok(Exit::Failed),
            false => Ok(Exit::Answered),
        }
    })
}

/// A result as JSON.
fn line(result: &VectorResult) -> serde_json::Value {
    let (status, words) = match &result.outcome {
        VectorOutcome::Passed => ("pass", Vec::new()),
        VectorOutcome::Failed(failures) => ("fail", failures.clone()),
        VectorOutcome::Skipped(reason) => ("skip", vec![reason.clone()]),
    };
    json!({"id": result.id, "title": result.title, "part": result.part, "status": status, "words": words})
}
