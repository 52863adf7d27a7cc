//! Schemas that a system has published of its hooks' input and output, `EVENT.command.input.schema.json` and
//! `EVENT.command.output.schema.json`: whether hooks are told what the schema says, and whether answers that fit it are
//! understood.
//!
//! What hooks are told is recorded in sessions of the real program with a scripted model. Answers are made from the
//! schema: what is required, and each other member alone with each of its values. The system itself drops some answers
//! that fit its schema; becket calls those a failure and says why, which is listed and no mistake. An answer whose
//! shape becket does not know is one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use becket_dialects::FILE_SYSTEMS;
use becket_hook_files::{Contract, System};
use becket_hooks::Finished;
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use testkit::Room;

use crate::problem::Problem;

/// The dialect whose system publishes such schemas.
const PUBLISHER: &str = "codex";

const INPUT: &str = ".command.input.schema.json";
const OUTPUT: &str = ".command.output.schema.json";

/// How failures begin or end that are about the shape of an answer, and not about what its members mean together.
const ABOUT_SHAPE: &[&str] = &[
    "there is no `",
    "must be a text",
    "must be true or false",
    "must be an object",
    "is not a JSON object",
];

/// The schemas of one event.
#[derive(Default)]
struct Published {
    input: Option<Value>,
    output: Option<Value>,
}

/// Compares becket with all schemas among these files. Does nothing if there are none.
pub fn check(files: &[PathBuf]) -> Result<(), Problem> {
    let published = published(files)?;
    if published.is_empty() {
        return Ok(());
    }
    let system = FILE_SYSTEMS
        .iter()
        .find(|system| system.dialect.name == PUBLISHER)
        .ok_or("the dialect whose schemas these are is not built in")?;
    let told = told(system)?;
    let (mut inputs, mut read, mut dropped, mut wrong) = (0, 0, 0, Vec::new());
    for (event, schemas) in &published {
        if let Some(schema) = &schemas.input {
            inputs += fitting(event, schema, told.get(event), &mut wrong)?;
        }
        if let Some(schema) = &schemas.output {
            let sum = understood(event, schema, system, &mut wrong)?;
            read += sum.0;
            dropped += sum.1;
        }
    }
    println!(
        "{PUBLISHER}: schemas of {} events: {inputs} inputs fit, {read} answers read, {dropped} dropped as there, \
         {} wrong",
        published.len(),
        wrong.len()
    );
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n")),
    }
}

/// The schemas among these files, by event.
fn published(files: &[PathBuf]) -> Result<BTreeMap<String, Published>, Problem> {
    let mut all: BTreeMap<String, Published> = BTreeMap::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let (event, is_input) = match (name.strip_suffix(INPUT), name.strip_suffix(OUTPUT)) {
            (Some(event), _) => (event, true),
            (_, Some(event)) => (event, false),
            _ => continue,
        };
        let schema = std::fs::read_to_string(file).map_err(|error| error.to_string());
        let schema = schema.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
        let schema: Value = schema.map_err(|error| format!("{}: {error}", file.display()))?;
        let published = all.entry(capitalised(event)).or_default();
        match is_input {
            true => published.input = Some(schema),
            false => published.output = Some(schema),
        }
    }
    Ok(all)
}

/// The name of an event, from its words with hyphens between them.
fn capitalised(words: &str) -> String {
    let words = words.split('-').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.collect()
}

/// What hooks of each event have read in sessions with calls, a sub-agent and a summary.
fn told(system: &System) -> Result<BTreeMap<String, Vec<Value>>, Problem> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let program = folder.path().join("becket");
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    std::os::unix::fs::symlink(here, &program).map_err(|error| error.to_string())?;
    let room = Room::new(program);
    let names: Vec<&str> = (system.rows)().iter().map(|row| row.contract().name).collect();
    let mut hooks = Map::new();
    for name in &names {
        let allowed =
            json!({"hookSpecificOutput": {"hookEventName": name, "decision": {"behavior": "allow"}}});
        let then = match *name {
            "PermissionRequest" => format!("printf '%s' '{allowed}'"),
            _ => String::new(),
        };
        let command = format!("IN=$(cat); printf '%s\\n' \"$IN\" >> ../{name}.jsonl; {then}");
        let hook = json!({"type": "command", "command": command});
        hooks.insert((*name).into(), json!([{"hooks": [hook]}]));
    }
    room.write(".codex/hooks.json", json!({ "hooks": hooks }).to_string());
    play(&room);
    let read = |name: &&str| {
        let file = format!("../{name}.jsonl");
        let text = match room.has(&file) {
            true => room.read(&file),
            false => String::new(),
        };
        let lines = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_default());
        ((*name).to_owned(), lines.collect())
    };
    Ok(names.iter().map(read).collect())
}

fn play(room: &Room) {
    let call = |name: &str, arguments: Value| {
        let call = json!({"id": "call-1", "name": name, "arguments": arguments});
        json!({"tool_calls": [call]})
    };
    room.write("sub.json", json!([{"text": "helped"}]).to_string());
    let task = json!({"system_prompt": "You help.", "input": "the task", "model": "scripted/sub.json"});
    let first = json!([
        call("shell", json!({"command": "echo hello"})),
        call("write", json!({"path": "a.txt", "content": "words"})),
        call("spawn_agent", task),
        {"text": "done"},
    ]);
    let answer = json!([{"text": "answer"}]);
    for (turns, words) in [
        (&first, "one"),
        (&answer, "two"),
        (&answer, "three"),
        (&answer, "compact"),
    ] {
        let model = room.model(turns);
        room.run(["--trust", "--model", &model, words]);
    }
}

fn validator(event: &str, schema: &Value) -> Result<Validator, Problem> {
    jsonschema::validator_for(schema).map_err(|error| format!("the schema of {event}: {error}"))
}

/// How many inputs of an event fit its schema.
fn fitting(
    event: &str,
    schema: &Value,
    told: Option<&Vec<Value>>,
    wrong: &mut Vec<String>,
) -> Result<usize, Problem> {
    let validator = validator(event, schema)?;
    let told = told.map(Vec::as_slice).unwrap_or_default();
    if told.is_empty() {
        wrong.push(format!("{event}: no hook was told of it"));
    }
    let mut fit = 0;
    for input in told {
        let errors: Vec<String> = validator
            .iter_errors(input)
            .map(|error| format!("{event}: its input{}: {error}", error.instance_path()))
            .collect();
        fit += usize::from(errors.is_empty());
        wrong.extend(errors);
    }
    Ok(fit)
}

/// How many answers that fit a schema are read, and how many are dropped as the system drops them.
fn understood(
    event: &str,
    schema: &Value,
    system: &System,
    wrong: &mut Vec<String>,
) -> Result<(usize, usize), Problem> {
    let contracts = (system.rows)()
        .iter()
        .map(|row| row.contract())
        .collect::<Vec<Contract>>();
    let Some(contract) = contracts.iter().find(|contract| contract.name == event) else {
        wrong.push(format!("{event}: becket does not know it"));
        return Ok((0, 0));
    };
    let validator = validator(event, schema)?;
    let (mut read, mut dropped) = (0, 0);
    for answer in samples(schema, schema) {
        if !validator.is_valid(&answer) {
            wrong.push(format!(
                "{event}: no answer can be made from its schema: {answer} does not fit"
            ));
            continue;
        }
        let finished = Finished {
            stdout: answer.to_string().into_bytes(),
            stderr: String::new(),
            code: 0,
            complete: true,
        };
        match (system.hear)(contract, &finished) {
            Ok(_) => read += 1,
            Err(failure) if ABOUT_SHAPE.iter().any(|words| failure.detail.contains(words)) => {
                wrong.push(format!("{event}: {answer} is not understood: {}", failure.detail));
            }
            Err(failure) => {
                println!("    {event}: {answer} is dropped: {}", failure.detail);
                dropped += 1;
            }
        }
    }
    Ok((read, dropped))
}

/// Values that fit a part of a schema.
fn samples(part: &Value, schema: &Value) -> Vec<Value> {
    let member = |name: &str| part.get(name);
    if let Some(place) = member("$ref").and_then(Value::as_str) {
        let found = place
            .strip_prefix('#')
            .and_then(|pointer| schema.pointer(pointer));
        return found.map_or_else(Vec::new, |found| samples(found, schema));
    }
    if let Some([inner]) = member("allOf").and_then(Value::as_array).map(Vec::as_slice) {
        return samples(inner, schema);
    }
    if let Some(one) = member("const") {
        return vec![one.clone()];
    }
    if let Some(Value::Array(all)) = member("enum") {
        return all.clone();
    }
    let kind = match member("type") {
        Some(Value::Array(kinds)) => kinds.first(),
        kind => kind,
    };
    match kind.and_then(Value::as_str) {
        Some("string") => vec![json!("words")],
        Some("boolean") => vec![json!(true), json!(false)],
        Some("integer" | "number") => vec![json!(1)],
        Some("array") => vec![json!([])],
        Some("object") => objects(part, schema),
        _ => vec![json!({})],
    }
}

/// Objects that fit a part of a schema: with what is required, and with each other member besides.
fn objects(part: &Value, schema: &Value) -> Vec<Value> {
    let members = part.get("properties").and_then(Value::as_object);
    let members = || members.into_iter().flatten();
    let required = part.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    let mut least = Map::new();
    for (name, inner) in members().filter(|(name, _)| is_required(name)) {
        least.extend(
            samples(inner, schema)
                .into_iter()
                .next()
                .map(|value| (name.clone(), value)),
        );
    }
    let mut all = vec![Value::Object(least.clone())];
    for (name, inner) in members() {
        all.extend(samples(inner, schema).into_iter().map(|value| {
            let mut more = least.clone();
            more.insert(name.clone(), value);
            Value::Object(more)
        }));
    }
    all
}
