//! What is wrong with hooks before they run: one function for each kind of thing, all over the same [`HookFile`]s.
//!
//! `sources.rs` finds and reads the files, `shell.rs` finds the programs in a command, `scripts.rs` looks into the
//! scripts that hooks run, `answers.rs` at what they answer, `guests.rs` at plugins and extensions, `trusted.rs` at
//! what is trusted. `sarif.rs` tells it
//! all to other tools. Nothing is run.

mod answers;
mod guests;
mod sarif;
mod scripts;
mod shell;
mod sources;
mod trusted;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use becket_dialects::docker_agent::{self, Contract, HookEntry, HookKind, OnError, meaningless_fields};
use becket_events::{Class, EventId};
use becket_hooks::{CommandLine, HookEnvironment, OwnHook, Pattern, Program, nearest};
use serde::Serialize;

use crate::assemble::{tool_names, unknown_tool};
use crate::own_jq;

pub use sarif::sarif;
pub use sources::{everything, given};
pub use trusted::untrusted;

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
    /// Its program may not be executed.
    NotExecutable,
    /// The first line of its script does not lead to an interpreter.
    BadInterpreter,
    /// Its script has the line ends of another system.
    LineEnds,
    /// A path with a space in it is taken apart.
    UnquotedPath,
    /// Its script cannot be read as what it is.
    BadScript,
    /// It wants an event that its format does not know.
    UnknownEvent,
    /// It may take longer than its event allows.
    LongTimeout,
    /// Another hook rewrites the same field.
    SameRewrite,
    /// It stands there twice.
    Twice,
    /// A field of its answer means nothing at its event.
    MeaninglessField,
    /// There is no tool for which it is asked.
    UnknownTool,
    /// It is a guard, and wants to fail open but cannot.
    FixedGuard,
    /// It is a guard, and fails open.
    LoosenedGuard,
    /// It is found in the working directory, and not trusted.
    Untrusted,
    /// It is not as the project's lock says.
    UnlikeLock,
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
    /// A program or a script that says by itself which events it wants.
    Guest(guests::Guest),
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
    scripts::check,
    scripts::unquoted_paths,
    guests::check,
    meaningless_answers,
    unknown_tools,
    long_timeouts,
    fixed_guards,
    loosened_guards,
];

/// How long a hook may take where an event comes many times in one answer: everybody waits for it each time.
const BUDGET_OF_PIECES: Duration = Duration::from_secs(5);

/// How long a hook may take at the end of a session, when the person wants to be gone.
const BUDGET_OF_THE_END: Duration = Duration::from_secs(60);

/// How long it may take anywhere else.
const BUDGET: Duration = Duration::from_secs(600);

/// Everything that is found in a file.
pub fn check(file: &HookFile, machine: &Machine) -> Vec<Finding> {
    let mut findings = file.findings.clone();
    for hook in &file.hooks {
        let subject = Subject { file, hook, machine };
        findings.extend(CHECKS.iter().flat_map(|check| check(&subject)));
    }
    findings.extend(answers::same_rewrites(file));
    findings.extend(twice(file));
    findings
}

/// Hooks that stand in a file twice: everything they do is done twice.
fn twice(file: &HookFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, hook) in file.hooks.iter().enumerate() {
        let same = |other: &Hook| other.fingerprint() == hook.fingerprint() && hook.fingerprint().is_some();
        if let Some(first) = file.hooks[..index].iter().find(|other| same(other)) {
            let line = first
                .line()
                .map_or(String::new(), |line| format!(" in line {line}"));
            findings.push(Finding {
                file: file.file.clone(),
                line: hook.line(),
                kind: Kind::Twice,
                severity: Severity::Wrong,
                message: format!("the same hook stands there already{line}"),
                hint: Some("leave one of them out".into()),
            });
        }
    }
    findings
}

impl Hook {
    fn line(&self) -> Option<usize> {
        match self {
            Self::Own(hook) => hook.line(),
            Self::Foreign(hook, _) => hook.line(),
            Self::Guest(_) => None,
        }
    }

    /// What makes two hooks the same.
    fn fingerprint(&self) -> Option<String> {
        match self {
            Self::Own(hook) => {
                let (event, program) = (hook.event.info().name, hook.command_line());
                Some(format!("{event} {:?} {program:?}", hook.matcher()))
            }
            // What stands for a setting of the file has no line of its own, and agents may share it.
            Self::Foreign(hook, contract) => hook.line().map(|_| {
                let HookEntry { matcher, kind, .. } = hook;
                format!("{} {matcher:?} {kind:?}", contract.name)
            }),
            Self::Guest(_) => None,
        }
    }

    /// What its format calls the event, where there is only one.
    fn event_name(&self) -> Option<&'static str> {
        match self {
            Self::Own(hook) => Some(hook.event.info().name),
            Self::Foreign(_, contract) => Some(contract.name),
            Self::Guest(_) => None,
        }
    }

    /// The event, where there is only one.
    fn event(&self) -> Option<EventId> {
        match self {
            Self::Own(hook) => Some(hook.event),
            Self::Foreign(_, contract) => Some(contract.event),
            Self::Guest(_) => None,
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
            Self::Guest(_) => None,
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

    /// A finding about something that stands in the hook's file, or in the script that it runs.
    fn finding_at(&self, text: &str, kind: Kind, message: String) -> Finding {
        let finding = self.finding(kind, message);
        let in_entry = self.hook.script().is_some_and(|script| script.contains(text));
        match scripts::file_of(self) {
            Some(script) if !in_entry => {
                let body = std::fs::read_to_string(&script).unwrap_or_default();
                let line = body.lines().position(|line| line.contains(text));
                match line {
                    Some(line) => Finding {
                        file: script,
                        line: Some(line + 1),
                        ..finding
                    },
                    None => Finding {
                        line: self.line_with(text),
                        ..finding
                    },
                }
            }
            _ => Finding {
                line: self.line_with(text),
                ..finding
            },
        }
    }

    /// What a shell reads for the hook: its command, and the script that it runs if that is one for a shell.
    fn script_body(&self) -> Option<String> {
        let command = self.hook.script().map(ToOwned::to_owned);
        let script = scripts::file_of(self).and_then(|file| scripts::shell_script(&file));
        match (command, script) {
            (None, None) => None,
            (command, script) => Some(
                [command, script]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join("\n"),
            ),
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
    let (variables, mut used): (_, Vec<(String, String)>) = match subject.hook {
        Hook::Own(hook) => (hook.variables(environment), Vec::new()),
        Hook::Foreign(hook, _) => (hook.variables(environment), Vec::new()),
        Hook::Guest(guest) if guest.is_program() => (environment.variables.as_ref().clone(), Vec::new()),
        Hook::Guest(_) => return Vec::new(),
    };
    let mut findings = scripts::own_program(subject);
    let told: Vec<String> = findings.iter().map(|finding| finding.message.clone()).collect();
    let is_told = |name: &str| told.iter().any(|message| message.contains(name));
    let path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let has_own_jq = |folder: &PathBuf| std::env::split_paths(&path).any(|other| other == *folder);
    let serves_jq = subject.machine.own_jq.as_ref().is_some_and(has_own_jq);
    let variables = Arc::new(variables);
    let body = subject.script_body();
    for name in body.as_deref().map(shell::programs).unwrap_or_default() {
        if is_told(&name) {
            continue;
        }
        let program = Program::exec([&name]).environment(Arc::clone(&variables));
        if let Err(failure) = program.check(&subject.machine.directory) {
            used.push((name, failure.detail));
        }
    }
    findings.extend(used.into_iter().map(|(name, detail)| {
        let words = format!("`{name}` is not on this machine: {detail}");
        let finding = subject.finding_at(&name, Kind::MissingProgram, words);
        match name == own_jq::NAME && serves_jq {
            true => Finding {
                severity: Severity::Remark,
                message: "there is no `jq` on this machine; becket's own serves the hook".into(),
                ..finding
            },
            false => finding,
        }
    }));
    findings
}

/// Fields that the command answers with, and that mean nothing at its event.
fn meaningless_answers(subject: &Subject<'_>) -> Vec<Finding> {
    let (Hook::Foreign(_, contract), Some(script)) = (subject.hook, subject.hook.script()) else {
        return answers::meaningless(subject);
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
            let patterns = hook.tool_patterns().into_iter();
            let names: Vec<String> = known_names(subject.file);
            let unreachable = patterns.filter(|pattern| !names.iter().any(|name| pattern.matches(name)));
            let unreachable = unreachable.map(|_| Finding {
                severity: Severity::Remark,
                hint: Some(GUESTS.into()),
                ..subject.finding(
                    Kind::UnknownTool,
                    "no tool has a name that the hook's `match` wants".into(),
                )
            });
            unknown.map(remark).chain(unreachable).collect()
        }
        Hook::Guest(_) => Vec::new(),
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

/// Hooks that may hold everybody up for longer than is good for their event.
fn long_timeouts(subject: &Subject<'_>) -> Vec<Finding> {
    let (Some(event), timeout) = (
        subject.hook.event(),
        match subject.hook {
            Hook::Own(hook) => hook.info.timeout,
            Hook::Foreign(hook, _) => hook.timeout,
            Hook::Guest(_) => return Vec::new(),
        },
    ) else {
        return Vec::new();
    };
    let budget = match event {
        EventId::MessageUpdate | EventId::ToolUpdate => BUDGET_OF_PIECES,
        EventId::SessionEnd | EventId::Settled => BUDGET_OF_THE_END,
        _ => BUDGET,
    };
    let said = subject.file.text.contains("timeout");
    if timeout <= budget || !said {
        return Vec::new();
    }
    vec![Finding {
        line: subject.line_with("timeout"),
        hint: Some(format!("give it at most {} seconds", budget.as_secs())),
        ..subject.finding(
            Kind::LongTimeout,
            format!(
                "everybody waits for it up to {} s whenever {} fires",
                timeout.as_secs_f64(),
                event.info().name
            ),
        )
    }]
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
