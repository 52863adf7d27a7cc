//! The report that a claim of conformance attaches.

use std::fmt::Write;

use becket_host::{VectorOutcome, VectorResult};

use crate::declaration::{CAPABILITIES, EXPOSURE_BOUND};
use crate::emitter::SPEC;

/// The part of vectors that name none.
const UNNAMED: &str = "core";

/// What runs the vectors.
const HARNESS: &str = "## Harness

Each vector runs in a session of becket, through its production loop, dispatcher and gate; only the model, the tools,
the interceptors and who approves are scripts. Each is set up through the reader of host declarations. becket's tests
also run the vectors in the runner of `agent-hooks-sdk` (Rust), but those with a declaration or an integer beyond 64
bits, which that runner cannot hand over.
";

/// What the standard wants to be said. The exposure bound stands behind it.
const DISCLOSURES: &str = "## Disclosures

- A context that would hold an integer beyond 64 bits is denied, whatever the identity provider is.
- `identity_provider: null` leaves records and approvals unbound; vectors that use it say so themselves.
- After a `host_error` deny at a tool, becket tells the model and goes on (`tool_seam_host_error: continue`).
- Vectors without a declaration of their own run with `buffered_output: true`, unless they need `incremental_output`,
  and with `false`, under which a deny at `output` cannot retract what was released. Exposure bound:";

/// The results in the form that the standard asks for: the row of the claim, the results by part, what the harness is,
/// and what must be disclosed.
pub fn claim(results: &[VectorResult]) -> String {
    let capabilities = CAPABILITIES
        .iter()
        .filter_map(|one| serde_json::to_value(one).ok());
    let capabilities: Vec<String> = capabilities
        .filter_map(|one| Some(one.as_str()?.to_owned()))
        .collect();
    let mut text = format!(
        "# Conformance claim\n\n\
         | Framework | Adapter version | Spec | Capabilities | Profiles | Identity provider | SDK | Report | Notes |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n\
         | becket | {} | {SPEC} | {} | all four, all knobs | jcs-sha256 (+ null, vector-scoped) | none: becket's own \
         runner | below | buffered_output: false |\n\n\
         ## Results by part\n\n| part | passed | failed | skipped |\n| --- | --- | --- | --- |\n",
        env!("CARGO_PKG_VERSION"),
        capabilities.join(", "),
    );
    for (name, tally) in parts(results) {
        let _ = writeln!(text, "| {name} | {} | {} | {} |", tally[0], tally[1], tally[2]);
    }
    let tally = tally(results.iter());
    let _ = writeln!(text, "| all | {} | {} | {} |", tally[0], tally[1], tally[2]);
    text.push_str("\n## Vectors\n\n| vector | part | result |\n| --- | --- | --- |\n");
    for result in results {
        let outcome = match &result.outcome {
            VectorOutcome::Passed => "passed".into(),
            VectorOutcome::Failed(failures) => format!("failed: {}", failures.join("; ")),
            VectorOutcome::Skipped(reason) => format!("skipped: {reason}"),
        };
        let outcome = outcome.replace('|', "\\|").replace('\n', " ");
        let _ = writeln!(text, "| {} | {} | {outcome} |", result.id, part(result));
    }
    let verdict = match tally[1] {
        0 => "Every vector that applies to the declared surface passes.",
        _ => "Vectors fail, so this is no claim of conformance.",
    };
    let _ = write!(
        text,
        "\n{verdict} It is no certificate of security.\n\n{HARNESS}\n{DISCLOSURES} {EXPOSURE_BOUND}.\n"
    );
    text
}

/// The part of the standard that a vector is about.
fn part(result: &VectorResult) -> &str {
    match result.part.as_str() {
        "" => UNNAMED,
        part => part,
    }
}

/// The tallies of the parts, in the order in which the parts come.
fn parts(results: &[VectorResult]) -> Vec<(&str, [usize; 3])> {
    let mut parts: Vec<(&str, [usize; 3])> = Vec::new();
    for name in results.iter().map(part) {
        if !parts.iter().any(|(known, _)| *known == name) {
            let same = results.iter().filter(|other| part(other) == name);
            parts.push((name, tally(same)));
        }
    }
    parts
}

/// How many have passed, failed and been skipped.
fn tally<'r>(results: impl Iterator<Item = &'r VectorResult>) -> [usize; 3] {
    let mut tally = [0; 3];
    for result in results {
        let place = match result.outcome {
            VectorOutcome::Passed => 0,
            VectorOutcome::Failed(_) => 1,
            VectorOutcome::Skipped(_) => 2,
        };
        tally[place] += 1;
    }
    tally
}
