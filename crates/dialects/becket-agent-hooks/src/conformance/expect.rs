//! What a vector expects, compared with what has happened.

use serde_json::Value;

use super::stage::Played;
use crate::declaration::Refused;
use crate::emitter::Setup;
use crate::point::{CORE, Point};

/// What stands at a path like `a.b[0].c`.
pub fn lookup<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut steps = path.split(['.', '[']).filter(|step| !step.is_empty());
    steps.try_fold(value, |value, step| match step.strip_suffix(']') {
        Some(index) => value.get(index.parse::<usize>().ok()?),
        None => value.get(step),
    })
}

/// Whether the declaration was accepted or refused as expected.
pub fn load(expected: &Value, setup: &Result<Setup, Refused>) -> Option<String> {
    let outcome = lookup(expected, "load.outcome").map_or(Some("accepted"), Value::as_str);
    let class = lookup(expected, "load.class");
    let agree = lookup(expected, "load.paths_equivalent");
    match (setup, outcome) {
        _ if agree.is_some_and(|agree| *agree != true) => Some("the ways to read a declaration agree".into()),
        (Ok(_), Some("accepted")) if class.is_none() => None,
        (Err(refused), Some("refused")) => match class {
            Some(class) if *class != refused.class.code() => {
                Some(format!("refused by {refused}, not {class}"))
            }
            _ => None,
        },
        (Err(refused), _) => Some(format!("the declaration was refused: {refused}")),
        (Ok(_), _) => Some("the declaration was not refused".into()),
    }
}

/// What was not as expected in a session.
pub fn run(expected: &Value, seen: &[Value], played: &Played) -> Vec<String> {
    let mut failures = Vec::new();
    interceptions(expected, seen, &mut failures);
    sequence(expected, seen, &mut failures);
    outcome(expected, played, &mut failures);
    records(expected, played, &mut failures);
    identities(expected, played, &mut failures);
    released(expected, played, &mut failures);
    failures
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// A member that is not the list that it should be could not be missed.
fn is_list(value: &Value, name: &str) -> bool {
    value.get(name).is_none_or(Value::is_array)
}

fn point(value: &Value) -> &str {
    value["interception_point"].as_str().unwrap_or_default()
}

fn interceptions(expected: &Value, seen: &[Value], failures: &mut Vec<String>) {
    let wanted: Vec<&Value> = list(expected, "interceptions").collect();
    let is_strict = expected
        .get("sequence_strict")
        .is_none_or(|strict| *strict == true);
    if is_strict {
        let points =
            |contexts: &mut dyn Iterator<Item = &Value>| contexts.map(point).collect::<Vec<_>>().join(" ");
        let (want, got) = (points(&mut wanted.iter().copied()), points(&mut seen.iter()));
        if want != got {
            failures.push(format!("asked at {got}, not at {want}"));
            return;
        }
    }
    let mut rest = seen.iter();
    for want in &wanted {
        match rest.find(|context| point(context) == point(want)) {
            Some(context) => interception(want, context, failures),
            None => failures.push(format!("not asked at {}", point(want))),
        }
    }
    for absent in list(expected, "interceptions_absent") {
        let is_point = Point::all().any(|point| *absent == point.name());
        if !is_point
            || seen
                .iter()
                .any(|context| context["interception_point"] == *absent)
        {
            failures.push(format!("asked at {absent}"));
        }
    }
}

fn interception(want: &Value, context: &Value, failures: &mut Vec<String>) {
    let name = point(context);
    failures.extend(validity(context).map(|words| format!("{name}: {words}")));
    for (path, value) in want["context"].as_object().into_iter().flatten() {
        compare(&format!("{name} {path}"), lookup(context, path), value, failures);
    }
    let text = context.to_string();
    for (key, should) in [
        ("context_must_contain", true),
        ("context_must_not_contain", false),
    ] {
        for words in list(want, key) {
            let Some(words) = words.as_str() else { continue };
            if text.contains(words) != should {
                failures.push(format!(
                    "{name}: {words:?} is {}there",
                    if should { "not " } else { "" }
                ));
            }
        }
    }
}

/// What a context lacks.
fn validity(context: &Value) -> Option<String> {
    let Some(point) = Point::all().find(|one| one.name() == point(context)) else {
        return Some("it is no point".into());
    };
    let mut members = CORE.iter().chain(point.members());
    members.find_map(|(name, keys)| {
        let Some(member) = context.get(*name) else {
            return Some(format!("`{name}` is missing"));
        };
        let mut keys = keys.iter().flat_map(|keys| keys.iter());
        let missing = keys.find(|key| member.get(**key).is_none())?;
        Some(format!("`{name}.{missing}` is missing"))
    })
}

fn sequence(expected: &Value, seen: &[Value], failures: &mut Vec<String>) {
    let numbers: Vec<Option<u64>> = seen.iter().map(|context| context["sequence"].as_u64()).collect();
    let rises = numbers.iter().all(Option::is_some) && numbers.is_sorted_by(|one, next| one < next);
    let is_known = expected.get("sequence_strict").is_none_or(Value::is_boolean);
    if !rises || !is_known {
        failures.push(format!("the sequence does not rise: {numbers:?}"));
    }
}

fn outcome(expected: &Value, played: &Played, failures: &mut Vec<String>) {
    // becket goes on after its own deny at a tool.
    let of_posture = &expected["run_outcome_by_posture"];
    let is_known = of_posture["posture"] == "tool_seam_host_error";
    let wanted = match (of_posture.is_null(), is_known) {
        (true, _) => &expected["run_outcome"],
        (false, true) => &of_posture["outcomes"]["continue"],
        (false, false) => &Value::Null,
    };
    compare("run_outcome", Some(&played.outcome), wanted, failures);
    if let Some(wanted) = expected.get("final_output") {
        compare("final_output", Some(&played.final_output), wanted, failures);
    }
    if let Some(wanted) = expected.get("tool_invocations") {
        let got = Value::Array(played.invocations.clone());
        compare("tool_invocations", Some(&got), wanted, failures);
    }
    for name in list(expected, "tool_not_invoked") {
        let is_tool = played.tools.iter().any(|tool| name == tool);
        if !is_tool || played.invocations.iter().any(|call| call["name"] == *name) {
            failures.push(format!("the tool {name} has run"));
        }
    }
}

fn records(expected: &Value, played: &Played, failures: &mut Vec<String>) {
    let mut rest = played.records.iter();
    for want in list(expected, "records") {
        let name = point(want);
        let Some(record) = rest.find(|record| point(record) == name) else {
            failures.push(format!("there is no record of {name}"));
            continue;
        };
        for (path, value) in want["assert"].as_object().into_iter().flatten() {
            compare(
                &format!("record of {name}: {path}"),
                lookup(record, path),
                value,
                failures,
            );
        }
        for (key, should) in [("absent", false), ("present", true)] {
            for path in list(want, key) {
                let there = path.as_str().and_then(|path| lookup(record, path)).is_some();
                if there != should {
                    failures.push(format!("record of {name}: {path} is not {key}"));
                }
            }
        }
    }
    if !is_list(expected, "records") {
        failures.push("`records` is no list".into());
    }
}

fn identities(expected: &Value, played: &Played, failures: &mut Vec<String>) {
    let Some(wanted) = expected.get("identities_equal") else {
        return;
    };
    let is_equal = |record: &Value| record["input_identity"] == record["enforced_identity"];
    let are_equal = !played.records.is_empty() && played.records.iter().all(is_equal);
    compare("identities_equal", Some(&are_equal.into()), wanted, failures);
}

fn released(expected: &Value, played: &Played, failures: &mut Vec<String>) {
    if let Some(wanted) = expected.get("released_output") {
        compare("released_output", Some(&played.released), wanted, failures);
    }
    for words in list(expected, "persisted_must_not_contain") {
        let is_stored = words.as_str().is_none_or(|words| played.stored.contains(words));
        if is_stored {
            failures.push(format!("{words} is stored"));
        }
    }
}

fn compare(what: &str, got: Option<&Value>, wanted: &Value, failures: &mut Vec<String>) {
    if got != Some(wanted) {
        let got = got.map_or_else(|| "nothing".into(), ToString::to_string);
        failures.push(format!("{what} is {got}, not {wanted}"));
    }
}
