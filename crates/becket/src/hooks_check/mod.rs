//! What is wrong with hooks before they run: one function for each kind of thing, all over the same [`HookFile`]s.
//!
//! `sources.rs` finds and reads the files, `shell.rs` finds the programs in a command. Nothing is run.

mod shell;
mod sources;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use becket_agent::waits_for;
use becket_dialects::docker_agent::{self, Contract, HookEntry, HookKind, OnError, meaningless_fields};
use becket_events::Class;
use becket_hooks::{CommandLine, HookEnvironment, OwnHook, Pattern, Program, nearest};
use serde::Serialize;

use crate::assemble::{tool_names, unknown_tool};
use crate::own_jq;

pub use sources::{everything, given};

/// Something that is wrong with a hook, or not what it seems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file, or the flag of the command line.
    pub file: PathBuf,
    /// The line, counted from 1, where it stands in one.
    pub line: Option<usize>,
    /// What kind of thing it is.
    pub kind: Kind,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
}

/// The kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A run would end with this error.
    Configuration,
    /// Something in the file has no effect.
    NoEffect,
    /// A program that the hook uses is not there.
    MissingProgram,
    /// A field of its answer means nothing at its event.
    MeaninglessField,
    /// Its event never happens.
    IdleEvent,
    /// There is no tool for which it is asked.
    UnknownTool,
    /// It is a guard, and wants to fail open but cannot.
    FixedGuard,
    /// It is a guard, and fails open.
    LoosenedGuard,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It should be mended.
    Wrong,
    /// It is worth knowing, and may be meant so.
    Remark,
}

/// A file with hooks, and what was found while it was read.
#[derive(Debug, Default)]
pub struct HookFile {
    /// The file as the person names it, or a flag of the command line.
    pub file: PathBuf,
    /// What stands in it.
    pub text: String,
    /// Its hooks.
    pub hooks: Vec<Hook>,
    /// Names of tools that only this file brings.
    pub tools: Vec<String>,
    /// Whether there may be tools besides whose names are not known before a run.
    pub guests: bool,
    /// What was found while it was read.
    pub findings: Vec<Finding>,
}

/// A hook in either format.
#[derive(Debug)]
pub enum Hook {
    /// In becket's own.
    Own(OwnHook),
    /// In docker-agent's.
    Foreign(HookEntry, Contract),
}

/// What hooks find on this machine.
pub struct Machine {
    /// What they inherit. Where there is no `jq`, the folder of becket's own is the last of `PATH`, as in a run.
    pub environment: HookEnvironment,
    /// That folder, where it is needed.
    pub own_jq: Option<PathBuf>,
    /// Where they run.
    pub directory: PathBuf,
}

/// One hook with everything around it.
struct Subject<'a> {
    file: &'a HookFile,
    hook: &'a Hook,
    machine: &'a Machine,
}

/// The checks, in the order in which their findings are told.
const CHECKS: &[fn(&Subject<'_>) -> Vec<Finding>] = &[
    missing_programs,
    meaningless_answers,
    idle_events,
    unknown_tools,
    fixed_guards,
    loosened_guards,
];

/// Everything that is found in a file.
pub fn check(file: &HookFile, machine: &Machine) -> Vec<Finding> {
    let mut findings = file.findings.clone();
    for hook in &file.hooks {
        let subject = Subject { file, hook, machine };
        findings.extend(CHECKS.iter().flat_map(|check| check(&subject)));
    }
    findings
}

impl Hook {
    fn line(&self) -> Option<usize> {
        match self {
            Self::Own(hook) => hook.line(),
            Self::Foreign(hook, _) => hook.line(),
        }
    }

    /// What a shell runs for it.
    fn script(&self) -> Option<&str> {
        match self {
            Self::Own(hook) => match hook.command_line() {
                CommandLine::Shell(line) => Some(line),
                CommandLine::Exec(_) => None,
            },
            Self::Foreign(hook, _) => match &hook.kind {
                HookKind::Command(command) => Some(command),
                HookKind::Builtin(_) | HookKind::Model { .. } => None,
            },
        }
    }
}

impl Subject<'_> {
    fn finding(&self, kind: Kind, message: String) -> Finding {
        Finding {
            file: self.file.file.clone(),
            line: self.hook.line(),
            kind,
            severity: Severity::Wrong,
            message,
            hint: None,
        }
    }

    /// The first line of the hook, or behind it, in which a text stands.
    fn line_with(&self, text: &str) -> Option<usize> {
        let begin = self.hook.line()?;
        let mut lines = self.file.text.lines().enumerate().skip(begin.saturating_sub(1));
        let found = lines.find(|(_, line)| line.contains(text));
        Some(found.map_or(begin, |(index, _)| index + 1))
    }

    /// The last line before the hook in which a text stands.
    fn line_before(&self, text: &str) -> Option<usize> {
        let begin = self.hook.line()?;
        let before: Vec<&str> = self.file.text.lines().take(begin).collect();
        let found = before.iter().rposition(|line| line.contains(text));
        Some(found.map_or(begin, |index| index + 1))
    }
}

/// Programs that the hook uses and the machine lacks.
fn missing_programs(subject: &Subject<'_>) -> Vec<Finding> {
    let environment = &subject.machine.environment;
    let (variables, mut used) = match subject.hook {
        Hook::Own(hook) => (hook.variables(environment), own_program(hook, subject)),
        Hook::Foreign(hook, _) => (hook.variables(environment), Vec::new()),
    };
    let path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let has_own_jq = |folder: &PathBuf| std::env::split_paths(&path).any(|other| other == *folder);
    let serves_jq = subject.machine.own_jq.as_ref().is_some_and(has_own_jq);
    let variables = Arc::new(variables);
    for name in subject.hook.script().map(shell::programs).unwrap_or_default() {
        let program = Program::exec([&name]).environment(Arc::clone(&variables));
        if let Err(failure) = program.check(&subject.machine.directory) {
            used.push((name, failure.detail));
        }
    }
    used.into_iter()
        .map(|(name, detail)| {
            let finding = Finding {
                line: subject.line_with(&name),
                ..subject.finding(
                    Kind::MissingProgram,
                    format!("`{name}` is not on this machine: {detail}"),
                )
            };
            match name == own_jq::NAME && serves_jq {
                true => Finding {
                    severity: Severity::Remark,
                    message: "there is no `jq` on this machine; becket's own serves the hook".into(),
                    ..finding
                },
                false => finding,
            }
        })
        .collect()
}

/// The program of a hook that needs no shell, if it cannot be started.
fn own_program(hook: &OwnHook, subject: &Subject<'_>) -> Vec<(String, String)> {
    let CommandLine::Exec(words) = hook.command_line() else {
        return Vec::new();
    };
    let failure = hook.trouble(&subject.machine.environment, &subject.machine.directory);
    let name = words.first().cloned().unwrap_or_default();
    failure
        .map(|failure| (name, failure.detail))
        .into_iter()
        .collect()
}

/// Fields that the command answers with, and that mean nothing at its event.
fn meaningless_answers(subject: &Subject<'_>) -> Vec<Finding> {
    let (Hook::Foreign(_, contract), Some(script)) = (subject.hook, subject.hook.script()) else {
        return Vec::new();
    };
    let fields = meaningless_fields(script, contract).into_iter();
    fields
        .map(|field| {
            // In the other spelling the end of its name is the same but for its first letter.
            let last = field.rsplit('_').next().unwrap_or(field);
            Finding {
                line: subject.line_with(&last[1..]),
                hint: Some("the guide says at which events it counts".into()),
                ..subject.finding(
                    Kind::MeaninglessField,
                    format!("`{field}` means nothing in an answer to {}", contract.name),
                )
            }
        })
        .collect()
}

/// Hooks of events that nothing causes yet.
fn idle_events(subject: &Subject<'_>) -> Vec<Finding> {
    let (event, called) = match subject.hook {
        Hook::Own(hook) => (hook.event.info().name, hook.event.info().name),
        Hook::Foreign(_, contract) => (contract.event.info().name, contract.name),
    };
    let waiting = waits_for(event).map(|what| format!("{called} never fires yet: it waits for {what}"));
    waiting
        .map(|message| subject.finding(Kind::IdleEvent, message))
        .into_iter()
        .collect()
}

/// Hooks for tools that do not exist.
fn unknown_tools(subject: &Subject<'_>) -> Vec<Finding> {
    const GUESTS: &str = "only a plugin or an MCP server could bring it";
    match subject.hook {
        Hook::Own(hook) => {
            let unknown = hook.tool_names().into_iter().filter_map(unknown_tool);
            let remark = |wrong: String| Finding {
                severity: Severity::Remark,
                hint: Some(GUESTS.into()),
                ..subject.finding(Kind::UnknownTool, format!("the hook is for the tool {wrong}"))
            };
            unknown.map(remark).collect()
        }
        Hook::Foreign(hook, _) => {
            let Some(matcher) = hook.matcher.as_deref().filter(|matcher| *matcher != "*") else {
                return Vec::new();
            };
            let names = known_names(subject.file);
            let unknown = alternatives(matcher).into_iter();
            let unknown = unknown.filter(|part| !matches_some(part, &names));
            let finding = |part: &str| Finding {
                line: subject.line_before(matcher),
                severity: match subject.file.guests {
                    true => Severity::Remark,
                    false => Severity::Wrong,
                },
                hint: match nearest(part, names.iter().map(String::as_str)) {
                    Some(near) => Some(format!("did you mean `{near}`?")),
                    None => subject.file.guests.then(|| GUESTS.to_owned()),
                },
                ..subject.finding(Kind::UnknownTool, format!("no tool has a name like `{part}`"))
            };
            unknown.map(finding).collect()
        }
    }
}

/// The names that matchers see: docker-agent's, becket's own where it has none, and those of the file's scripts.
fn known_names(file: &HookFile) -> Vec<String> {
    let profile = docker_agent::profile();
    let faces = profile.faces.iter().map(|face| face.name);
    let plurals = profile.plurals.iter().map(|plural| plural.name);
    let extras = profile.extras.iter().copied();
    let all = faces.chain(plurals).chain(extras).chain(tool_names());
    all.map(ToOwned::to_owned)
        .chain(file.tools.iter().cloned())
        .collect()
}

/// The parts of a matcher that is a plain list of names; all of it otherwise.
fn alternatives(matcher: &str) -> Vec<&str> {
    if matcher.contains(['(', '[', '{', '\\']) {
        vec![matcher]
    } else {
        matcher.split('|').collect()
    }
}

fn matches_some(expression: &str, names: &[String]) -> bool {
    // One that cannot be read was reported when the file was.
    Pattern::regex(expression).is_ok_and(|pattern| names.iter().any(|name| pattern.matches(name)))
}

/// Guards whose file says what a failure means, where a failure always refuses.
fn fixed_guards(subject: &Subject<'_>) -> Vec<Finding> {
    let Hook::Foreign(hook, contract) = subject.hook else {
        return Vec::new();
    };
    let loosens = matches!(hook.on_error, Some(OnError::Warn | OnError::Ignore));
    if contract.class != Class::Guard || !loosens {
        return Vec::new();
    }
    let name = contract.name;
    vec![Finding {
        line: subject.line_with("on_error"),
        hint: Some("leave it out".into()),
        ..subject.finding(
            Kind::FixedGuard,
            format!("`on_error` cannot loosen a guard: a hook of {name} that fails refuses the call"),
        )
    }]
}

/// Guards of becket's own format that fail open.
fn loosened_guards(subject: &Subject<'_>) -> Vec<Finding> {
    match subject.hook {
        Hook::Own(hook) if hook.loosened => vec![Finding {
            line: subject.line_with("on_failure"),
            hint: Some("without it, a guard that breaks refuses".into()),
            ..subject.finding(
                Kind::LoosenedGuard,
                format!(
                    "the guard {} may fail open: `on_failure` is allow",
                    hook.info.name
                ),
            )
        }],
        _ => Vec::new(),
    }
}
