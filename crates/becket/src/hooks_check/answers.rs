//! What hooks answer, as far as their text shows it: fields that mean nothing, and fields that two of them rewrite.

use std::collections::BTreeSet;

use becket_dialects::docker_agent::{has_key, rewriting_fields};
use becket_events::EVENTS;
use becket_hooks::nearest;

use super::{Finding, Hook, HookFile, Kind, Severity, Subject, scripts};
use crate::files::read_regular;

/// Words by which a line of a script shows that it writes an answer.
const WRITERS: &[&str] = &[
    "echo",
    "printf",
    "jq -n",
    "print(",
    "json.dump",
    "JSON.stringify",
    "cat <<",
];

/// The largest script that is looked into.
const LARGEST: u64 = 1024 * 1024;

/// Fields in the answers of becket's own hooks that mean nothing at their event.
pub fn meaningless(subject: &Subject<'_>) -> Vec<Finding> {
    let Hook::Own(hook) = subject.hook else {
        return Vec::new();
    };
    let answers = answers_of(subject);
    let own: Vec<&str> = hook.event.info().reply.iter().map(|field| field.name).collect();
    let all: BTreeSet<&str> = EVENTS
        .iter()
        .flat_map(|event| event.reply)
        .map(|field| field.name)
        .collect();
    let event = hook.event.info().name;
    // What stands beside a field of its own may be a part of that.
    let is_own = |line: &String| own.iter().any(|own| *own != "notice" && has_key(line, own, ""));
    let answers: Vec<String> = answers.into_iter().filter(|line| !is_own(line)).collect();
    let meaningless = all.into_iter().filter(|field| !own.contains(field));
    meaningless
        .filter(|field| answers.iter().any(|line| has_key(line, field, "")))
        .map(|field| Finding {
            hint: match nearest(field, own.iter().copied()) {
                Some(near) => Some(format!("did you mean `{near}`?")),
                None => Some(format!("it may answer {}", own.join(", "))),
            },
            ..subject.finding_at(
                field,
                Kind::MeaninglessField,
                format!("`{field}` means nothing in an answer to {event}"),
            )
        })
        .collect()
}

/// The pieces of lines, of the command and of its script, behind a word that writes.
fn answers_of(subject: &Subject<'_>) -> Vec<String> {
    let command = subject.hook.script().map(ToOwned::to_owned);
    let script = scripts::file_of(subject).and_then(|file| read_regular(&file, LARGEST).ok());
    let texts = [command, script].into_iter().flatten();
    let lines = texts.flat_map(|text| text.lines().map(ToOwned::to_owned).collect::<Vec<_>>());
    lines
        .filter_map(|line| {
            let places = WRITERS.iter().filter_map(|writer| line.find(writer));
            places.min().map(|place| line[place..].to_owned())
        })
        .collect()
}

/// Hooks of one event that rewrite the same field: only the last of them has its way.
pub fn same_rewrites(file: &HookFile) -> Vec<Finding> {
    let mut seen: Vec<(&str, &str, Option<usize>)> = Vec::new();
    let mut findings = Vec::new();
    for hook in &file.hooks {
        // What a format knows by two names happens one after the other, and composes.
        let (Some(event), Some(script)) = (hook.event_name(), hook.script()) else {
            continue;
        };
        for field in rewritten_by(hook, script) {
            let before = seen
                .iter()
                .find(|(other, name, _)| (*other, *name) == (event, field));
            if let Some((.., line)) = before {
                let place = line.map_or(String::new(), |line| format!(" in line {line}"));
                findings.push(Finding {
                    file: file.file.clone(),
                    line: hook.line(),
                    kind: Kind::SameRewrite,
                    severity: Severity::Wrong,
                    message: format!("it rewrites `{field}`, as the hook{place} does"),
                    hint: Some("the second sees what the first has written; let one of them do both".into()),
                });
            }
            seen.push((event, field, hook.line()));
        }
    }
    findings
}

fn rewritten_by(hook: &Hook, script: &str) -> Vec<&'static str> {
    match hook {
        Hook::Own(own) => {
            let rewriting = own
                .event
                .info()
                .reply
                .iter()
                .filter(|field| field.rule == "Rewrite");
            let rewriting = rewriting.map(|field| field.name);
            let writes = script.lines().filter_map(|line| {
                let places = WRITERS.iter().filter_map(|writer| line.find(writer));
                places.min().map(|place| &line[place..])
            });
            let writes: Vec<&str> = writes.collect();
            rewriting
                .filter(|field| writes.iter().any(|line| has_key(line, field, "")))
                .collect()
        }
        Hook::Foreign(_, contract) => rewriting_fields(script, contract),
        Hook::Guest(_) => Vec::new(),
    }
}
