//! The standard's vectors, run through becket: a real session, with its loop, its gate and its dispatcher. Only the
//! model and the tools are played (`stage.rs`), and interceptors and approvers are scripts (`scripts.rs`).
//!
//! Every vector sets becket up through the declaration reader, as settings and documents do. `expect.rs` compares,
//! `report.rs` says what a claim needs to say.

mod expect;
mod report;
mod scripts;
#[cfg(test)]
mod sdk;
mod stage;

use std::path::Path;

use becket_host::{Conformance, ConformanceReport, VectorOutcome, VectorResult};
use becket_system::CliError;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::declaration::{CAPABILITIES, Capability, Declaration, Refused};
use crate::dialect::DIALECT;
use scripts::Scripts;

/// The largest vector.
const LARGEST_VECTOR: u64 = 4 * 1024 * 1024;

/// becket's own vectors, for when no others are given.
const OWN: &[&str] = &[
    include_str!("../../vectors/loop.json"),
    include_str!("../../vectors/denied-call.json"),
    include_str!("../../vectors/changed-call.json"),
    include_str!("../../vectors/approved-call.json"),
    include_str!("../../vectors/withheld-result.json"),
    include_str!("../../vectors/streamed-secret.json"),
    include_str!("../../vectors/disagreement.json"),
    include_str!("../../vectors/large-integer.json"),
    include_str!("../../vectors/huge-integer.json"),
    include_str!("../../vectors/declared.json"),
    include_str!("../../vectors/refused-declaration.json"),
];

/// The conformance kit of AGENT-HOOKS.
pub struct Kit;

impl Conformance for Kit {
    fn standard(&self) -> &'static str {
        DIALECT.name
    }

    fn run<'a>(&'a self, vectors: Option<&'a Path>) -> BoxFuture<'a, Result<ConformanceReport, CliError>> {
        Box::pin(async move {
            let vectors = match vectors {
                Some(folder) => read_folder(folder)?,
                None => OWN
                    .iter()
                    .map(|text| parse(text, Path::new("becket")))
                    .collect::<Result<_, _>>()?,
            };
            let mut results = Vec::new();
            for vector in &vectors {
                results.push(run_vector(vector).await?);
            }
            let claim = report::claim(&results);
            Ok(ConformanceReport { results, claim })
        })
    }
}

/// The vectors of a folder, by the names of their files. A folder without vectors proves nothing.
fn read_folder(folder: &Path) -> Result<Vec<Value>, CliError> {
    let cannot = |error: std::io::Error| {
        CliError::usage(format!("cannot read {}: {error}", folder.display()))
            .hint("unpack the wheel `agent-hooks-sdk`; its vectors are in `agent_hooks/ctk/vectors`")
    };
    let mut files = Vec::new();
    for entry in becket_fs::read_dir(folder).map_err(cannot)? {
        let file = entry.map_err(cannot)?.path();
        if file.extension().is_some_and(|ending| ending == "json") {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(CliError::usage(format!("{} has no vectors", folder.display()))
            .hint("name the folder with the files AH-CTK-*.json"));
    }
    let vectors = files.iter().map(|file| {
        let text = becket_system::files::read_regular(file, LARGEST_VECTOR);
        let text =
            text.map_err(|error| CliError::usage(format!("cannot read {}: {error}", file.display())))?;
        parse(&text, file)
    });
    vectors.collect()
}

fn parse(text: &str, file: &Path) -> Result<Value, CliError> {
    let wrong = |error| CliError::usage(format!("{} is no vector: {error}", file.display()));
    let mut vector: Value = serde_json::from_str(text).map_err(wrong)?;
    let written: Written = serde_json::from_str(text).map_err(wrong)?;
    for (turn, written) in written.scenario.model_script.iter().enumerate() {
        for (call, written) in written.respond.tool_calls.iter().enumerate() {
            let call = &mut vector["scenario"]["model_script"][turn]["respond"]["tool_calls"][call];
            if let Some(arguments) = written.args {
                call["args"] = arguments.get().into();
            }
        }
    }
    Ok(vector)
}

/// What a model writes in a vector. Arguments stay text: read as values, integers beyond 64 bits would become others.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Written<'a> {
    #[serde(borrow)]
    scenario: WrittenScenario<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WrittenScenario<'a> {
    #[serde(borrow)]
    model_script: Vec<WrittenTurn<'a>>,
}

#[derive(Deserialize)]
struct WrittenTurn<'a> {
    #[serde(borrow)]
    respond: WrittenAnswer<'a>,
}

#[derive(Deserialize)]
struct WrittenAnswer<'a> {
    #[serde(borrow, default)]
    tool_calls: Vec<WrittenCall<'a>>,
}

#[derive(Deserialize)]
struct WrittenCall<'a> {
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

/// Runs one vector.
async fn run_vector(vector: &Value) -> Result<VectorResult, CliError> {
    let text = |name: &str| vector[name].as_str().unwrap_or_default().to_owned();
    let outcome = match missing_capabilities(vector) {
        missing if missing.is_empty() => {
            let failures = play(vector).await?;
            match failures.is_empty() {
                true => VectorOutcome::Passed,
                false => VectorOutcome::Failed(failures),
            }
        }
        missing => VectorOutcome::Skipped(format!("becket does not have {}", missing.join(", "))),
    };
    Ok(VectorResult {
        id: text("id"),
        title: text("title"),
        part: text("part"),
        outcome,
    })
}

/// What a vector needs and becket does not have.
fn missing_capabilities(vector: &Value) -> Vec<String> {
    let has = |name: &&Value| CAPABILITIES.iter().any(|one| json!(one) == **name);
    let needed = vector["capabilities"].as_array().into_iter().flatten();
    let missing = needed.filter(|name| !has(name));
    missing
        .map(|name| name.as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Plays a vector under each of its declarations, and returns what was not as expected.
async fn play(vector: &Value) -> Result<Vec<String>, CliError> {
    let mut failures = Vec::new();
    for document in documents(vector)? {
        failures.extend(play_under(vector, document).await?);
    }
    Ok(failures)
}

async fn play_under(vector: &Value, document: Value) -> Result<Vec<String>, CliError> {
    let scripts = Scripts::of(vector);
    let registry = scripts.registry();
    let read = Declaration::read(document.clone());
    let setup = read.and_then(|declaration| declaration.resolve(&registry));
    let expected = &vector["expect"];
    let mut failures = Vec::new();
    if !ways_agree(&document)? {
        failures.push("the ways to read the declaration do not agree".into());
    }
    failures.extend(expect::load(expected, &setup));
    if let (Ok(setup), false) = (setup, expected["load"]["outcome"] == "refused") {
        let played = stage::play(&vector["scenario"], setup).await?;
        failures.extend(expect::run(expected, &scripts.seen(), &played));
    }
    Ok(failures)
}

/// The declaration of a vector, or two that say what its fields say: becket is set up to judge streamed text piece by
/// piece and, unless the vector is about that, as a whole.
fn documents(vector: &Value) -> Result<Vec<Value>, CliError> {
    if let Some(document) = vector.get("host_declaration") {
        return Ok(vec![document.clone()]);
    }
    let whole = declaration_of(vector)?;
    let mut declarations = vec![whole.clone().incremental()];
    let capabilities = vector["capabilities"].as_array().into_iter().flatten();
    if !capabilities
        .into_iter()
        .any(|capability| *capability == json!(Capability::IncrementalOutput))
    {
        declarations.push(whole);
    }
    let written = declarations.iter().map(serde_json::to_value);
    let written: Result<_, _> = written.collect();
    written.map_err(|error| CliError::failed(error.to_string()))
}

/// A declaration that says what the fields of a vector say.
fn declaration_of(vector: &Value) -> Result<Declaration, CliError> {
    let scripts = Scripts::of(vector);
    let provider = vector
        .get("identity_provider")
        .cloned()
        .unwrap_or_else(|| json!("jcs-sha256"));
    let composition = vector.get("composition").cloned().unwrap_or_else(|| json!({}));
    let bindings = (0..scripts.count()).map(
        |index| json!({"id": format!("script-{index}"), "kind": scripts::KIND, "config": {"script": index}}),
    );
    let document = json!({
        "declaration": crate::declaration::VERSION,
        "configuration": {
            "mode": vector.get("mode").cloned().unwrap_or_else(|| json!("enforce")),
            "composition": composition,
            "identity_provider": provider,
            "approval": {
                "resolver": scripts.approves().then_some(scripts::APPROVER),
                "redactor": scripts.redacts().then_some(scripts::REDACTOR),
            },
        },
        "bindings": bindings.collect::<Vec<_>>(),
    });
    Declaration::read(document).map_err(|refused| CliError::failed(refused.to_string()))
}

/// Whether a document means the same as a value, as text, as a file and as what becket writes.
fn ways_agree(document: &Value) -> Result<bool, CliError> {
    let cannot = |error: std::io::Error| CliError::failed(format!("cannot write a declaration: {error}"));
    let text = document.to_string();
    let folder = tempfile::tempdir().map_err(cannot)?;
    let file = folder.path().join("declaration.json");
    std::fs::write(&file, &text).map_err(cannot)?;
    let value = Declaration::read(document.clone());
    let written = value
        .clone()
        .map(|declaration| serde_json::to_value(declaration).unwrap_or_default());
    let ways = [
        Declaration::read_text(&text),
        Declaration::read_file(&file),
        written.and_then(Declaration::read),
    ];
    let meaning = |read: &Result<Declaration, Refused>| match read {
        Ok(declaration) => declaration.canonical(),
        Err(refused) => refused.class.code(),
    };
    Ok(ways.iter().all(|way| meaning(way) == meaning(&value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn becket_passes_its_own_vectors() {
        let report = Kit.run(None).await.unwrap();
        assert_eq!(report.results.len(), OWN.len());
        for result in report.results {
            assert_eq!(result.outcome, VectorOutcome::Passed, "{}", result.id);
        }
    }

    /// Every expectation of every own vector is turned around once, and must be missed.
    #[tokio::test]
    async fn a_vector_that_expects_something_else_fails() {
        for text in OWN {
            let vector = parse(text, Path::new("becket")).unwrap();
            for pointer in leaves(&vector["expect"], "/expect") {
                let mut other = vector.clone();
                *other.pointer_mut(&pointer).unwrap() = turned_around(&pointer).into();
                let result = run_vector(&other).await.unwrap();
                let is_failed = matches!(result.outcome, VectorOutcome::Failed(_));
                assert!(is_failed, "{} at {pointer}", result.id);
            }
        }
    }

    /// What an expectation becomes, so that it must be missed: what must not be there is something that is there.
    fn turned_around(pointer: &str) -> &'static str {
        match pointer {
            absent if absent.contains("/absent/") => "verdict.decision",
            other if other.contains("_not_contain/") => "",
            _ => "something else",
        }
    }

    /// The places of single values.
    fn leaves(value: &Value, pointer: &str) -> Vec<String> {
        let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
        match value {
            Value::Object(map) => {
                let members = map.iter();
                members
                    .flat_map(|(key, value)| leaves(value, &format!("{pointer}/{}", escaped(key))))
                    .collect()
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items
                    .flat_map(|(index, item)| leaves(item, &format!("{pointer}/{index}")))
                    .collect()
            }
            _ => vec![pointer.to_owned()],
        }
    }
}
