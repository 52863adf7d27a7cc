//! Findings in SARIF, the format that code hosts and editors read.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use crate::finding::{Finding, Severity};

/// One result in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SarifResult {
    /// The rule that has spoken, in one word.
    pub rule: String,
    /// How bad it is: `error`, `warning` or `note`.
    pub level: &'static str,
    /// What was found.
    pub message: String,
    /// The file that it is about, or the folder of the run.
    pub file: PathBuf,
    /// The line, if it is about one.
    pub line: Option<usize>,
}

/// The findings as a log of one run in a folder.
pub fn sarif(findings: &[Finding], directory: &Path) -> Value {
    let results = findings.iter().map(|finding| {
        let kind = serde_json::to_value(finding.kind).unwrap_or_default();
        let hint = finding
            .hint
            .as_ref()
            .map_or(String::new(), |hint| format!(" ({hint})"));
        SarifResult {
            rule: kind.as_str().unwrap_or_default().to_owned(),
            level: match finding.severity {
                Severity::Wrong => "error",
                Severity::Remark => "note",
            },
            message: format!("{}{hint}", finding.message),
            file: finding.file.clone(),
            line: finding.line,
        }
    });
    sarif_log("becket hooks check", &results.collect::<Vec<_>>(), directory)
}

/// The results of a tool as a log of one run in a folder.
pub fn sarif_log(tool: &str, results: &[SarifResult], directory: &Path) -> Value {
    let rules: BTreeSet<&str> = results.iter().map(|result| &*result.rule).collect();
    let rules = rules.iter().map(|rule| {
        json!({
            "id": rule,
            "shortDescription": {"text": rule.replace('_', " ")},
        })
    });
    let results = results.iter().map(|result| {
        let mut place = json!({"artifactLocation": {"uri": address(&result.file, directory)}});
        if let Some(line) = result.line {
            place["region"] = json!({"startLine": line});
        }
        json!({
            "ruleId": result.rule,
            "level": result.level,
            "message": {"text": without_links(&result.message)},
            "locations": [{"physicalLocation": place}],
        })
    });
    json!({
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{
            "tool": {
                "driver": {
                    "name": tool,
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules.collect::<Vec<_>>(),
                },
            },
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

/// A text in which nothing is a link: code hosts make one of `[words](address)`.
fn without_links(text: &str) -> String {
    text.replace("](", "] (")
}

/// A file as a URI: relative to the folder if it lies there, as code hosts want it.
fn address(file: &Path, directory: &Path) -> String {
    let file: PathBuf = file
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    if file == directory {
        return ".".into();
    }
    let within = file.strip_prefix(directory).unwrap_or(&file);
    let path = within.as_os_str().as_bytes();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let letters = path.iter().map(|byte| match is_plain(*byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    let path: String = letters.collect();
    match within.is_absolute() {
        true => format!("file://{path}"),
        false => path,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn every_file_has_a_valid_address() {
        let address = |file: &[u8]| address(Path::new(OsStr::from_bytes(file)), Path::new("/work/a b"));
        assert_eq!(address(b"/work/a b"), ".");
        assert_eq!(address(b"/work/a b/c d.txt"), "c%20d.txt");
        assert_eq!(address(b"./100%/one\ntwo#?"), "100%25/one%0Atwo%23%3F");
        assert_eq!(address(b"c:/x"), "c%3A/x");
        assert_eq!(address(b"\xff\xc3\xa4"), "%FF%C3%A4");
        assert_eq!(address(b"/work/other one"), "file:///work/other%20one");
    }

    #[test]
    fn a_log_has_what_the_format_requires_and_no_links() {
        let result = SarifResult {
            rule: "hook-\"x\"".into(),
            level: "error",
            message: "refused: [click](https://evil.example) \u{1b}".into(),
            file: "a".into(),
            line: Some(3),
        };
        let log = sarif_log("becket test", &[result.clone(), result], Path::new("/work"));
        assert_eq!(log["version"], "2.1.0");
        assert!(
            log["$schema"]
                .as_str()
                .is_some_and(|schema| schema.ends_with("sarif-2.1.0.json"))
        );
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"]
            .as_array()
            .expect("there are rules");
        assert_eq!((rules.len(), &rules[0]["id"]), (1, &run["results"][0]["ruleId"]));
        assert_eq!(
            run["results"][1]["locations"][0]["physicalLocation"]["region"]["startLine"],
            3
        );
        let text = run["results"][0]["message"]["text"].as_str().unwrap_or_default();
        assert!(text.contains("[click] (https"), "{text}");
    }
}
