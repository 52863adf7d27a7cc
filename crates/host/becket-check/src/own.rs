//! Checks for hooks in becket's own format.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use becket_events::{EVENTS, EventId};
use becket_hooks::{Failure, HookEnvironment, OwnHook, WholeText, nearest, trouble_of_answer};

use crate::answers::{GUESTS, answers_of, has_key, objects, wrong_answer};
use crate::finding::{Finding, Kind, Severity};
use crate::hook::{CheckedHook, HookFile, Machine, Start, Subject};
use crate::places::finding_at;
use crate::written;

impl CheckedHook for OwnHook {
    fn line(&self) -> Option<usize> {
        OwnHook::line(self)
    }

    fn fingerprint(&self) -> Option<String> {
        let (event, program) = (self.event.info().name, self.command_line());
        Some(format!("{event} {:?} {program:?}", self.matcher()))
    }

    fn event(&self) -> Option<(EventId, &'static str)> {
        Some((self.event, self.event.info().name))
    }

    fn start(&self) -> Start<'_> {
        Start::Command(self.command_line(), Some(self.folder()))
    }

    fn working_dir(&self, _: &Path) -> Option<Option<PathBuf>> {
        OwnHook::working_dir(self).map(|directory| Some(directory.to_path_buf()))
    }

    fn variables(&self, environment: &HookEnvironment) -> BTreeMap<OsString, OsString> {
        OwnHook::variables(self, environment)
    }

    fn trouble(&self, machine: &Machine) -> Option<Failure> {
        OwnHook::trouble(self, &machine.environment, &machine.directory)
    }

    fn timeout(&self) -> Option<Duration> {
        Some(self.info.timeout)
    }

    fn rewrites(&self, script: &str) -> Vec<&'static str> {
        rewritten(self.event, &written::by_shell(script))
    }

    fn may_meet(&self, other: &dyn CheckedHook) -> bool {
        let other = (other as &dyn Any).downcast_ref::<OwnHook>();
        other.is_none_or(|other| !self.excludes(other))
    }

    fn check(&self, subject: &Subject<'_>) -> Vec<Finding> {
        let mut findings = wrong_answers(subject, self);
        findings.extend(unknown_tools(subject, self));
        findings.extend(whole_texts(subject, self));
        findings.extend(loosened(subject, self));
        findings.extend(rewriting(subject, self));
        findings
    }
}

/// The fields of an event that statements rewrite.
fn rewritten(event: EventId, statements: &[String]) -> Vec<&'static str> {
    let reply = event.info().reply.iter();
    let rewriting = reply.filter(|field| field.rule == "Rewrite");
    rewriting
        .map(|field| field.name)
        .filter(|field| statements.iter().any(|line| has_key(line, field, "")))
        .collect()
}

fn wrong_answers(subject: &Subject<'_>, hook: &OwnHook) -> Vec<Finding> {
    let own: Vec<&str> = hook.event.info().reply.iter().map(|field| field.name).collect();
    let replies = EVENTS.iter().flat_map(|event| event.reply);
    let all: BTreeSet<&str> = replies.map(|field| field.name).collect();
    let event = hook.event.info().name;
    let statements = answers_of(subject);
    // A field beside one of the event's own may be a part of that one's value.
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
            ..finding_at(
                subject,
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

fn unknown_tools(subject: &Subject<'_>, hook: &OwnHook) -> Vec<Finding> {
    let tools = &subject.machine.tools;
    let unknown = hook.tool_names().into_iter().filter_map(|name| {
        let wrong = tools.unknown(name)?;
        let finding = Finding {
            line: subject.line_with(name),
            ..subject.finding(Kind::UnknownTool, format!("the hook is for the tool {wrong}"))
        };
        // The name of a server's tool may well begin with the name of a tool here.
        let is_slip = tools
            .meant(name)
            .is_some_and(|meant| !name.starts_with(meant) || name.trim() == meant);
        Some(match is_slip {
            true => finding,
            false => Finding {
                severity: Severity::Remark,
                hint: Some(GUESTS.into()),
                ..finding
            },
        })
    });
    let patterns = hook.tool_patterns().into_iter();
    let mut names: Vec<&str> = tools.own.to_vec();
    names.extend(subject.file.tools.iter().map(String::as_str));
    let unreachable = patterns.filter(|pattern| !names.iter().any(|name| pattern.matches(name)));
    let unreachable = unreachable.map(|_| Finding {
        severity: Severity::Remark,
        hint: Some(GUESTS.into()),
        ..subject.finding(
            Kind::UnknownTool,
            "no tool has a name that the hook's `match` wants".into(),
        )
    });
    unknown.chain(unreachable).collect()
}

/// Finds conditions that only a whole text meets.
fn whole_texts(subject: &Subject<'_>, hook: &OwnHook) -> Vec<Finding> {
    let whole = hook.whole_texts().into_iter();
    let finding = |whole: WholeText| Finding {
        line: subject.line_with(&whole.text),
        severity: Severity::Remark,
        hint: whole
            .anywhere
            .map(|pattern| format!("`{pattern}` finds it anywhere")),
        ..subject.finding(
            Kind::WholeText,
            format!(
                "the hook runs only if the whole `{}` is `{}`",
                whole.field, whole.text
            ),
        )
    };
    whole.map(finding).collect()
}

/// Finds a guard that may let something through.
fn loosened(subject: &Subject<'_>, hook: &OwnHook) -> Option<Finding> {
    let weakness = hook.weakness()?;
    let (key, hint) = match hook.info.shadow {
        true => ("shadow", "without it, the guard refuses"),
        false => ("on_failure", "without it, a guard that breaks refuses"),
    };
    Some(Finding {
        line: subject.line_with(key),
        hint: Some(hint.into()),
        ..subject.finding(
            Kind::LoosenedGuard,
            format!("the guard {} {weakness}", hook.info.name),
        )
    })
}

/// Whether what is written in a hook's script looks as if the hook rewrites something.
pub fn seems_to_rewrite(file: &HookFile, hook: &OwnHook, machine: &Machine) -> bool {
    let subject = Subject { file, hook, machine };
    !rewritten(hook.event, &answers_of(&subject)).is_empty()
}

/// Finds a hook that says that it rewrites nothing, and does.
fn rewriting(subject: &Subject<'_>, hook: &OwnHook) -> Option<Finding> {
    let says_not = !hook.info.rewrites;
    let field = says_not.then(|| rewritten(hook.event, &answers_of(subject)).into_iter().next())??;
    Some(Finding {
        line: subject.line_with("rewrites"),
        hint: Some("without `rewrites = false`, the hooks after it see what it has written at once".into()),
        ..subject.finding(
            Kind::RewritesAfterAll,
            format!("the hook rewrites `{field}`, although it says `rewrites = false`"),
        )
    })
}
