//! Mistakes that authors make in such files, which their systems do not tell: matchers that fit nothing, answers that
//! are none.

use becket_check::{Finding, Kind, Severity, Subject, answers_of, finding_at, objects, wrong_answer};
use becket_events::{Class, EventId};
use becket_hooks::{Finished, nearest};
use serde_json::{Map, Value};

use crate::answer::foreign_no;
use crate::condition::Condition;
use crate::entry::{Action, HookEntry};
use crate::matching::NameMatcher;
use crate::system::{Contract, System};

/// An exit code by which a process says that something went wrong.
const ERROR: i32 = 1;

/// What a program has said with this output and exit code.
fn said(stdout: &str, code: i32) -> Finished {
    Finished {
        stdout: stdout.as_bytes().to_vec(),
        stderr: "something went wrong".into(),
        code,
        complete: true,
    }
}

/// Whether the hook is a guard of a system that goes on after an error code.
pub fn goes_on_after_errors(system: &System, contract: &Contract, entry: &HookEntry) -> bool {
    let is_guard = contract.class == Class::Guard && entry.background.is_none();
    let is_command = matches!(entry.action, Action::Command(_));
    let answer = (system.hear)(contract, &said("", ERROR));
    let is_error = answer.is_ok_and(|answer| answer.error.is_some() && answer.refusal().0.is_none());
    is_guard && is_command && !entry.refuses_on_failure && is_error
}

/// Answers of a hook that its event does not take, as far as its text shows them.
pub fn answers(system: &System, contract: &Contract, subject: &Subject<'_>) -> Vec<Finding> {
    let printed = objects(&answers_of(subject)).into_iter();
    // A part of such a text is only known at run time.
    let printed = printed.filter(|(text, _)| !text.contains(['%', '$']));
    let findings = printed.flat_map(|(text, members)| {
        let heard = (system.hear)(contract, &said(&text, 0));
        let unserved = heard
            .as_ref()
            .map(|answer| answer.unserved.clone())
            .unwrap_or_default();
        let unserved = unserved.iter().map(|words| not_done(subject, &members, words));
        let unserved: Vec<Finding> = unserved.collect();
        let foreign = || foreign_no(text.as_bytes()).filter(|_| contract.class == Class::Guard);
        let trouble = match &heard {
            Err(failure) => Some(failure.detail.clone()),
            Ok(answer) if answer.says_something() => None,
            Ok(_) => foreign().map(|key| format!("`{key}` decides nothing for {}", system.title)),
        };
        let wrong = trouble.map(|trouble| wrong_answer(subject, &members, &trouble));
        wrong.into_iter().chain(unserved)
    });
    findings.collect()
}

/// A remark about something that an answer wants and that becket does not do.
fn not_done(subject: &Subject<'_>, members: &Map<String, Value>, words: &str) -> Finding {
    let place = members.keys().next().map_or("{", String::as_str);
    let message = format!("its answer wants {words}");
    Finding {
        severity: Severity::Remark,
        ..finding_at(subject, place, Kind::MeaninglessField, message)
    }
}

/// Matchers and conditions of a hook that fit nothing.
pub fn matchers(
    system: &System,
    (contract, entry): (&Contract, &HookEntry),
    subject: &Subject<'_>,
) -> Vec<Finding> {
    let words = entry.matchers.iter().flat_map(|text| alternatives(text));
    let read = words.filter_map(|word| Some((word, (system.matcher)(word).ok()?)));
    let unmet = |names: &[&str], matcher: &NameMatcher| !names.iter().any(|name| matcher.matches(name));
    if !is_about_tools(contract) {
        let values = contract.values;
        let unmet = read.filter(|(_, matcher)| !values.is_empty() && unmet(values, matcher));
        return unmet.map(|(word, _)| no_value(contract, word, subject)).collect();
    }
    let names = tool_names(system, contract);
    let findings = read.filter(|(_, matcher)| unmet(&names, matcher));
    let findings = findings.filter_map(|(word, matcher)| {
        let meant = match server_of(word, &matcher) {
            Some(meant) => meant?,
            None => meant_by(word, (&names, (system.profile)()), subject),
        };
        Some(no_tool(system, word, meant, subject))
    });
    findings
        .chain(condition(system, (entry, &names), subject))
        .collect()
}

/// A condition about a tool that does not exist.
fn condition(
    system: &System,
    (entry, names): (&HookEntry, &[&str]),
    subject: &Subject<'_>,
) -> Option<Finding> {
    let condition = Condition::read(entry.condition.as_deref()?);
    let word = condition.tool().filter(|word| !word.contains(['*', '-']))?;
    let is_known = names.iter().any(|name| name.eq_ignore_ascii_case(word));
    if is_known || word.starts_with("mcp__") {
        return None;
    }
    let meant = meant_by(word, (names, (system.profile)()), subject);
    Some(no_tool(system, word, meant, subject))
}

/// The names by which a system's hooks choose tools.
fn tool_names(system: &System, contract: &Contract) -> Vec<&'static str> {
    let faces = (system.profile)().faces.iter().map(|face| face.name);
    let former = system.former_names.iter();
    let former = former.flat_map(|(former, name)| [*former, *name]);
    let others = (system.other_tools)(contract.name).iter().copied();
    faces.chain(former).chain(others).collect()
}

fn no_tool(system: &System, word: &str, meant: Option<String>, subject: &Subject<'_>) -> Finding {
    let title = system.title;
    let message =
        format!("no tool of {title} has a name like `{word}`, so the hook is never asked about one");
    unmatched(word, Kind::UnknownTool, message, meant, subject)
}

fn no_value(contract: &Contract, word: &str, subject: &Subject<'_>) -> Finding {
    // Where a system compares whole texts, becket has anchored the word.
    let word = word.trim_start_matches('^').trim_end_matches('$');
    let (name, values) = (contract.name, contract.values.join("`, `"));
    let message =
        format!("at `{name}` a matcher looks at one of `{values}`, and `{word}` matches none of them");
    let meant = nearest(word, contract.values.iter().copied()).map(ToOwned::to_owned);
    unmatched(word, Kind::NoEffect, message, meant, subject)
}

/// What is wrong with a word that matches nothing. It is surely a mistake if something else was probably meant.
fn unmatched(
    word: &str,
    kind: Kind,
    message: String,
    meant: Option<String>,
    subject: &Subject<'_>,
) -> Finding {
    Finding {
        severity: match meant {
            Some(_) => Severity::Wrong,
            None => Severity::Remark,
        },
        hint: meant.map(|meant| format!("did you mean `{meant}`?")),
        ..finding_at(subject, word, kind, message)
    }
}

/// Whether the matchers of an event look at names of tools.
fn is_about_tools(contract: &Contract) -> bool {
    let events = [
        EventId::PreTool,
        EventId::PermissionRequest,
        EventId::PreToolOutput,
    ];
    let name = contract.name.to_ascii_lowercase();
    let is_named_so = ["tool", "permission"].iter().any(|word| name.contains(word));
    contract.has_matcher && events.contains(&contract.event) && is_named_so
}

/// The names in a list, or the whole expression.
fn alternatives(text: &str) -> Vec<&str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_|, ".contains(letter);
    match text.chars().all(is_plain) {
        true => text
            .split(['|', ','])
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .collect(),
        false => vec![text],
    }
}

/// For a word about tools of servers: what was probably meant, if the word is the name of a server and fits none of its
/// tools. The outer `None` is for other words, the inner one for words that may fit.
fn server_of(word: &str, matcher: &NameMatcher) -> Option<Option<Option<String>>> {
    let name = without_arguments(word);
    let is_about_servers = name.to_ascii_lowercase().contains("mcp") || name.contains('-');
    let is_plain = word
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
    let is_server = is_plain && word.starts_with("mcp__") && word.matches("__").count() < 2;
    let fits_nothing = is_server && !matcher.matches(&format!("{word}__tool"));
    is_about_servers.then(|| fits_nothing.then(|| Some(format!("{word}__.*"))))
}

/// A word without what stands in brackets behind a name, which is meant to be about arguments.
fn without_arguments(word: &str) -> &str {
    let name = word.split_once('(').map(|(name, _)| name);
    name.filter(|name| !name.is_empty()).unwrap_or(word)
}

/// The tool that was probably meant.
fn meant_by(
    word: &str,
    (names, profile): (&[&str], &becket_events::Profile),
    subject: &Subject<'_>,
) -> Option<String> {
    let word = without_arguments(word);
    let same = names.iter().find(|name| name.eq_ignore_ascii_case(word)).copied();
    let of_operation = || {
        let own = (subject.machine.tools.elsewhere)(word)?;
        let mut faces = profile.faces.iter();
        faces
            .find(|face| face.operation.name() == own)
            .map(|face| face.name)
    };
    let meant = same
        .or_else(of_operation)
        .or_else(|| nearest(word, names.iter().copied()));
    meant.map(ToOwned::to_owned)
}
