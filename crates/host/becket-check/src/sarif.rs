//! Findings in SARIF, the format that code hosts and editors read.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use crate::finding::{Finding, Severity};

/// The findings as a log of one run in a folder.
pub fn sarif(findings: &[Finding], directory: &Path) -> Value {
    let word = |finding: &Finding| {
        let json = serde_json::to_value(finding.kind).unwrap_or_default();
        json.as_str().unwrap_or_default().to_owned()
    };
    let kinds: BTreeSet<String> = findings.iter().map(word).collect();
    let rules = kinds.iter().map(|kind| {
        json!({
            "id": kind,
            "shortDescription": {"text": kind.replace('_', " ")},
        })
    });
    let results = findings.iter().map(|finding| {
        let hint = finding
            .hint
            .as_ref()
            .map_or(String::new(), |hint| format!(" ({hint})"));
        let mut place = json!({"artifactLocation": {"uri": address(&finding.file, directory)}});
        if let Some(line) = finding.line {
            place["region"] = json!({"startLine": line});
        }
        json!({
            "ruleId": word(finding),
            "level": match finding.severity {
                Severity::Wrong => "error",
                Severity::Remark => "note",
            },
            "message": {"text": format!("{}{hint}", finding.message)},
            "locations": [{"physicalLocation": place}],
        })
    });
    json!({
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "becket hooks check",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules.collect::<Vec<_>>(),
                },
            },
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

/// A file as a URI: relative to the folder if it lies there, as code hosts want it.
fn address(file: &Path, directory: &Path) -> String {
    let file: PathBuf = file
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    let within = file.strip_prefix(directory).unwrap_or(&file);
    let path = within.to_string_lossy();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let letters = path.bytes().map(|byte| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    let path: String = letters.collect();
    match within.is_absolute() {
        true => format!("file://{path}"),
        false => path,
    }
}
