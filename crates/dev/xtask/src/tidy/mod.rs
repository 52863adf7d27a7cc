//! The habits that no compiler checks. Each check is a function from files to findings; `ARCHITECTURE.md` says which
//! invariant each one keeps.

mod boundaries;
mod circles;
mod finding;
mod glossary;
mod modules;
mod phrases;
mod shape;
mod types;

use finding::Finding;

use crate::generate;
use crate::problem::Problem;
use crate::workspace::{SourceFile, Workspace};

/// A check of one Rust file.
type Check = fn(&SourceFile) -> Vec<Finding>;

const CHECKS: &[Check] = &[
    shape::says_what_it_is_for,
    shape::has_a_telling_name,
    shape::functions_are_short,
    shape::lines_are_short,
    boundaries::foreign_names_stay_in_their_dialect,
    boundaries::dialects_do_not_name_each_other,
    boundaries::only_programs_read_their_surroundings,
    boundaries::only_the_gate_makes_permits,
    boundaries::the_vocabulary_does_no_io,
    boundaries::toml_is_parsed_in_one_place,
    boundaries::hooks_are_read_where_it_is_noted,
];

/// Runs all checks.
pub fn run(workspace: &Workspace) -> Result<(), Problem> {
    let mut findings: Vec<Finding> = Vec::new();
    let files = workspace.rust_files()?;
    for file in &files {
        findings.extend(CHECKS.iter().flat_map(|check| check(file)));
    }
    findings.extend(circles::modules_use_each_other_one_way(&files));
    findings.extend(types::types_are_small(&files));
    let architecture = workspace.read("ARCHITECTURE.md")?;
    findings.extend(glossary::words_mean_one_type(&architecture, &files));
    findings.extend(phrases::users_read_plain_words(&workspace.pages()?, &files));
    findings.extend(boundaries::dependencies_point_one_way(&workspace.manifests()?)?);
    for path in generate::paths() {
        let text = workspace.read(&path)?;
        let file = SourceFile { path, text };
        findings.extend(shape::lines_end_cleanly(&file));
    }
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => Err("tidy: 1 finding".into()),
        count => Err(format!("tidy: {count} findings")),
    }
}
