//! Checks of the repository itself: the chores find nothing to do.
//!
//! The chores run here as well as by hand, so that nothing is built a second time for them.

use std::process::Command;

/// Runs a chore, and fails with its output.
fn holds(chore: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(chore)
        .output()
        .expect("the chores can be started");
    assert!(
        output.status.success(),
        "cargo xtask {}\n{}{}",
        chore.join(" "),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn files_that_are_made_from_code_are_fresh() {
    holds(&["generate", "--check"]);
}

#[test]
fn the_habits_are_kept() {
    holds(&["tidy"]);
}

/// Writes schemas of one event, as a system may publish them, and reads the folder.
fn compared(folder: &std::path::Path, member: &str, answer: &str) -> (bool, String) {
    let told = format!(
        r#"{{"type": "object", "required": ["{member}"],
            "properties": {{"hook_event_name": {{"const": "PreToolUse"}}, "tool_input": true}}}}"#
    );
    let said = format!(
        r##"{{"type": "object", "additionalProperties": false,
            "properties": {{"{answer}": {{"default": null, "allOf": [{{"$ref": "#/definitions/Said"}}]}}}},
            "definitions": {{"Said": {{"type": "string"}}}}}}"##
    );
    std::fs::write(folder.join("pre-tool-use.command.input.schema.json"), told).unwrap();
    std::fs::write(folder.join("pre-tool-use.command.output.schema.json"), said).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("corpus")
        .arg(folder)
        .output()
        .expect("the chores can be started");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn becket_is_compared_with_published_schemas() {
    let folder = tempfile::tempdir().expect("a folder");
    let (is_well, text) = compared(folder.path(), "tool_name", "systemMessage");
    assert!(is_well && text.contains("inputs fit, 2 answers read"), "{text}");
    let (is_well, text) = compared(folder.path(), "no_such_member", "systemMessage");
    assert!(!is_well && text.contains("no_such_member"), "{text}");
    let (is_well, text) = compared(folder.path(), "tool_name", "no_such_answer");
    assert!(!is_well && text.contains("no_such_answer"), "{text}");
}
