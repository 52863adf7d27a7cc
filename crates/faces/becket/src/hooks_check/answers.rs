//! What hooks answer, as far as their text shows it: fields that mean nothing, words that there are not, and fields
//! that two of them rewrite.

use std::collections::BTreeSet;

use becket_docker_agent::{
    Builtin, Contract, HookEntry, HookKind, has_key, meaningless_fields, rewriting_fields, troubles_of_answer,
};
use becket_events::EVENTS;
use becket_hooks::{OwnHook, nearest, trouble_of_answer};
use becket_system::files::read_regular;
use serde_json::{Map, Value};

use super::{Finding, Hook, HookFile, Kind, LARGEST, Severity, Subject, scripts, written};

/// What is wrong with the answers of a hook.
pub fn check(subject: &Subject<'_>) -> Vec<Finding> {
    match subject.hook {
        Hook::Own(hook) => own(subject, hook),
        Hook::Foreign(hook, contract) => foreign(subject, hook, contract),
        Hook::Guest(_) => Vec::new(),
    }
}

fn own(subject: &Subject<'_>, hook: &OwnHook) -> Vec<Finding> {
    let own: Vec<&str> = hook.event.info().reply.iter().map(|field| field.name).collect();
    let replies = EVENTS.iter().flat_map(|event| event.reply);
    let all: BTreeSet<&str> = replies.map(|field| field.name).collect();
    let event = hook.event.info().name;
    let statements = answers_of(subject);
    // What stands beside a field of its own may be a part of that.
    let is_own = |line: &&String| own.iter().any(|own| *own != "notice" && has_key(line, own, ""));
    let others: Vec<&String> = statements.iter().filter(|line| !is_own(line)).collect();
    let meaningless = all.into_iter().filter(|field| !own.contains(field));
    let meaningless = meaningless.filter(|field| others.iter().any(|line| has_key(line, field, "")));
    let mut findings: Vec<Finding> = meaningless
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
        .collect();
    if findings.is_empty() {
        let wrong = objects(&statements).into_iter().filter_map(|(text, members)| {
            let trouble = trouble_of_answer(hook.event, &text)?;
            Some(wrong_answer(subject, &members, &trouble.detail))
        });
        findings.extend(wrong);
    }
    findings
}

fn foreign(subject: &Subject<'_>, hook: &HookEntry, contract: &Contract) -> Vec<Finding> {
    let event = contract.name;
    if let HookKind::Builtin(builtin) = &hook.kind {
        let adds = builtin.name().starts_with("add_") && !contract.context;
        return adds
            .then(|| subject.finding(Kind::MeaninglessField, idle_builtin(builtin, event)))
            .into_iter()
            .collect();
    }
    let heard = match subject.hook.script() {
        Some(script) => written::heard(script).join("\n"),
        None => return Vec::new(),
    };
    let fields = meaningless_fields(&heard, contract).into_iter();
    let mut findings: Vec<Finding> = fields
        .map(|field| {
            // In the other spelling the end of its name is the same but for its first letter.
            let last = field.rsplit('_').next().unwrap_or(field);
            Finding {
                line: subject.line_with(&last[1..]),
                hint: Some("the guide says at which events it counts".into()),
                ..subject.finding(
                    Kind::MeaninglessField,
                    format!("`{field}` means nothing in an answer to {event}"),
                )
            }
        })
        .collect();
    if findings.is_empty() {
        let answers = objects(&answers_of(subject)).into_iter();
        findings.extend(answers.flat_map(|(text, members)| {
            let troubles = troubles_of_answer(&text, contract).into_iter();
            let told = troubles.map(|trouble| wrong_answer(subject, &members, &trouble));
            told.collect::<Vec<_>>()
        }));
    }
    findings
}

fn idle_builtin(builtin: &Builtin, event: &str) -> String {
    format!(
        "`{}` adds words for the model, and {event} takes none",
        builtin.name()
    )
}

/// An answer that its event does not take.
fn wrong_answer(subject: &Subject<'_>, members: &Map<String, Value>, trouble: &str) -> Finding {
    let place = members.keys().next().map_or("{", String::as_str);
    subject.finding_at(
        place,
        Kind::MeaninglessField,
        format!("it answers what cannot be read: {trouble}"),
    )
}

/// The whole objects that statements print, and their members.
pub fn objects(statements: &[String]) -> Vec<(String, Map<String, Value>)> {
    let texts = statements
        .iter()
        .flat_map(|statement| written::objects(statement));
    texts
        .filter_map(|text| {
            let members = serde_json::from_str(&text).ok()?;
            Some((text, members))
        })
        .collect()
}

/// What the command and its script write.
fn answers_of(subject: &Subject<'_>) -> Vec<String> {
    let command = subject.hook.script().map(written::by_shell);
    let script = scripts::file_of(subject).and_then(|file| {
        let text = read_regular(&file, LARGEST).ok()?;
        Some(match scripts::shell_script(&file) {
            Some(script) => written::by_shell(&script),
            None => written::by_lines(&text),
        })
    });
    [command, script].into_iter().flatten().flatten().collect()
}

/// Hooks of one event that rewrite the same field: only the last of them has its way.
pub fn same_rewrites(file: &HookFile) -> Vec<Finding> {
    let mut seen: Vec<(&Hook, &str)> = Vec::new();
    let mut findings = Vec::new();
    for hook in &file.hooks {
        let Some(script) = hook.script() else {
            continue;
        };
        for field in rewritten_by(hook, script) {
            let before = seen
                .iter()
                .find(|(other, name)| *name == field && may_meet(other, hook));
            if let Some((other, _)) = before {
                let line = other.line();
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
            seen.push((hook, field));
        }
    }
    findings
}

/// Whether both hooks may be asked about the same thing.
fn may_meet(one: &Hook, other: &Hook) -> bool {
    // What a format knows by two names happens one after the other, and composes.
    if one.event_name() != other.event_name() {
        return false;
    }
    match (one, other) {
        (Hook::Own(one), Hook::Own(other)) => !one.excludes(other),
        (Hook::Foreign(one, _), Hook::Foreign(other, _)) => {
            let names = |hook: &HookEntry| {
                let matcher = hook.matcher.clone().filter(|matcher| *matcher != "*")?;
                let is_list = matcher
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || "_-|".contains(letter));
                is_list.then(|| matcher.split('|').map(ToOwned::to_owned).collect::<Vec<_>>())
            };
            match (names(one), names(other)) {
                (Some(one), Some(other)) => one.iter().any(|name| other.contains(name)),
                _ => true,
            }
        }
        _ => true,
    }
}

fn rewritten_by(hook: &Hook, script: &str) -> Vec<&'static str> {
    match hook {
        Hook::Own(own) => {
            let reply = own.event.info().reply.iter();
            let rewriting = reply.filter(|field| field.rule == "Rewrite");
            let writes = written::by_shell(script);
            rewriting
                .map(|field| field.name)
                .filter(|field| writes.iter().any(|line| has_key(line, field, "")))
                .collect()
        }
        Hook::Foreign(_, contract) => rewriting_fields(&written::heard(script).join("\n"), contract),
        Hook::Guest(_) => Vec::new(),
    }
}
