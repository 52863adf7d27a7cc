//! Findings in SARIF, the format in which code hosts and editors take them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Finding, Severity};

/// The findings as a log of one run.
pub fn sarif(findings: &[Finding]) -> Value {
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
        json!({
            "ruleId": word(finding),
            "level": match finding.severity {
                Severity::Wrong => "error",
                Severity::Remark => "note",
            },
            "message": {"text": format!("{}{hint}", finding.message)},
            "locations": [{
                "physicalLocation": {
                    "artifactLocation": {"uri": finding.file.display().to_string()},
                    "region": {"startLine": finding.line.unwrap_or(1)},
                },
            }],
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
