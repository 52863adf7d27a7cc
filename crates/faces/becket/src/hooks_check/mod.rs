//! What is wrong with hooks before they run: one function for each kind of thing, all over the same [`HookFile`]s.
//!
//! `sources.rs` finds and reads the files, `shell.rs` finds the programs in a command, `scripts.rs` looks into the
//! scripts that hooks run, `syntax.rs` asks whether they can be read, `echoes.rs` what shells would change in them,
//! `answers.rs` looks at what hooks answer, with
//! `written.rs` for what scripts write, `guests.rs` at plugins and extensions, `trusted.rs` at what is trusted.
//! `sarif.rs` tells it all to other tools. Nothing is run.

mod answers;
pub(crate) mod echoes;
mod guests;
mod sarif;
mod scripts;
pub(crate) mod shell;
mod sources;
mod syntax;
mod trusted;
pub(crate) mod written;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_docker_agent::{Contract, HookEntry, HookKind, OnError};
use becket_events::{Class, EventId};
use becket_hooks::{Cause, CommandLine, Failure, HookEnvironment, OwnHook, Pattern, Program, nearest};
use becket_shell::is_wrapper;
use becket_system::files::read_regular;
use serde::Serialize;

use crate::assemble::{meant_tool, tool_names, tools_without_operation, unknown_tool};
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
    /// The folder in which it shall run is not there.
    MissingFolder,
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
    /// It hands on a text by an `echo` that may change it.
    ChangedByEcho,
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
    /// It is asked only where a text is what probably was meant as a part of it.
    WholeText,
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
    scripts::missing_folder,
    scripts::check,
    scripts::unquoted_paths,
    syntax::check,
    echoes::check,
    guests::check,
    answers::check,
    unknown_tools,
    whole_texts,
    long_timeouts,
    fixed_guards,
    loosened_guards,
];

/// The largest script that is looked into.
const LARGEST: u64 = 1024 * 1024;

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
    fn script_body(&self) -> String {
        let command = match self.hook {
            Hook::Own(hook) => match hook.command_line() {
                CommandLine::Shell(line) => Some(line.clone()),
                CommandLine::Exec(words) => wrapped(words),
            },
            _ => self.hook.script().map(ToOwned::to_owned),
        };
        let script = scripts::file_of(self).and_then(|file| scripts::shell_script(&file));
        [command, script]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// What the hook uses of the machine. Where that hangs on what only a run knows, only whole paths are told.
    fn used(&self) -> BTreeSet<String> {
        let body = self.script_body();
        let mut used = shell::used(&body);
        let sourced: Vec<Option<String>> = used.sourced.iter().map(|word| self.sourced(word)).collect();
        let mut is_known = !used.sets_path && sourced.iter().all(Option::is_some);
        if !sourced.is_empty() && is_known {
            let whole: Vec<String> = std::iter::once(body)
                .chain(sourced.into_iter().flatten())
                .collect();
            let with_sourced = shell::used(&whole.join("\n"));
            is_known = with_sourced.sourced.len() == used.sourced.len() && !with_sourced.sets_path;
            used = with_sourced;
        }
        let programs = used.programs.into_iter();
        programs.filter(|name| is_known || name.contains('/')).collect()
    }

    /// The text of a file that the hook's script makes its own, by the end of what is written there: before it stands
    /// a way of saying where the script lies.
    fn sourced(&self, word: &str) -> Option<String> {
        let word = word.replace(['"', '\''], "");
        let behind = word.rsplit([')', '}']).next().unwrap_or_default();
        let behind = match behind.strip_prefix('$') {
            Some(variable) => variable.split_once('/')?.1,
            None => behind,
        };
        let is_whole = behind.len() == word.len();
        let rest = if is_whole {
            behind
        } else {
            behind.trim_start_matches('/')
        };
        let script = scripts::file_of(self);
        let beside = script.as_deref().and_then(Path::parent);
        let folder = match self.hook {
            Hook::Own(hook) => Some(hook.folder()),
            _ => None,
        };
        let folders = [beside, folder, Some(self.machine.directory.as_path())];
        let mut files = folders.into_iter().flatten().map(|folder| folder.join(rest));
        files.find_map(|file| read_regular(&file, LARGEST).ok())
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

/// The command in words that some other program runs: what a shell is told, and what stands behind a wrapper.
fn wrapped(words: &[String]) -> Option<String> {
    if let Some(text) = scripts::command_for_shell(words) {
        return Some(text.to_owned());
    }
    let is_wrapper = words.first().is_some_and(|program| is_wrapper(program));
    let is_plain = |word: &String| {
        let mut letters = word.chars();
        letters.all(|letter| letter.is_alphanumeric() || "/._-+=:".contains(letter))
    };
    let quoted = words.iter().map(|word| match is_plain(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    });
    is_wrapper.then(|| quoted.collect::<Vec<_>>().join(" "))
}

/// Programs that the hook uses and the machine lacks.
fn missing_programs(subject: &Subject<'_>) -> Vec<Finding> {
    let environment = &subject.machine.environment;
    let variables = match subject.hook {
        Hook::Own(hook) => hook.variables(environment),
        Hook::Foreign(hook, _) => hook.variables(environment),
        Hook::Guest(guest) if guest.is_program() => environment.variables.as_ref().clone(),
        Hook::Guest(_) => return Vec::new(),
    };
    let mut used: Vec<(String, Failure)> = Vec::new();
    let mut findings = scripts::own_program(subject);
    let told: Vec<String> = findings.iter().map(|finding| finding.message.clone()).collect();
    let is_told = |name: &str| told.iter().any(|message| message.contains(name));
    let path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let has_own_jq = |folder: &PathBuf| std::env::split_paths(&path).any(|other| other == *folder);
    let serves_jq = subject.machine.own_jq.as_ref().is_some_and(has_own_jq);
    let variables = Arc::new(variables);
    for name in subject.used() {
        if is_told(&name) {
            continue;
        }
        let program = Program::exec([&name]).environment(Arc::clone(&variables));
        if let Err(failure) = program.check(&subject.machine.directory) {
            used.push((name, failure));
        }
    }
    findings.extend(used.into_iter().map(|(name, failure)| {
        let detail = &failure.detail;
        let (kind, words) = match failure.cause {
            Cause::NotExecutable => (
                Kind::NotExecutable,
                format!("`{name}` cannot be started: {detail}"),
            ),
            _ => (
                Kind::MissingProgram,
                format!("`{name}` is not on this machine: {detail}"),
            ),
        };
        let finding = subject.finding_at(&name, kind, words);
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

/// What could bring a tool whose name is not known.
const GUESTS: &str = "only a plugin or an MCP server could bring it";

/// Hooks for tools that do not exist.
fn unknown_tools(subject: &Subject<'_>) -> Vec<Finding> {
    match subject.hook {
        Hook::Own(hook) => unknown_own_tools(subject, hook),
        Hook::Foreign(hook, _) => unknown_foreign_tools(subject, hook),
        Hook::Guest(_) => Vec::new(),
    }
}

fn unknown_own_tools(subject: &Subject<'_>, hook: &OwnHook) -> Vec<Finding> {
    let unknown = hook.tool_names().into_iter().filter_map(|name| {
        let wrong = unknown_tool(name)?;
        let finding = Finding {
            line: subject.line_with(name),
            ..subject.finding(Kind::UnknownTool, format!("the hook is for the tool {wrong}"))
        };
        // A tool of a server may well go on after a word that is a tool here.
        let is_slip = meant_tool(name).is_some_and(|meant| !name.starts_with(meant) || name.trim() == meant);
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
    let mut names: Vec<&str> = tool_names().collect();
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

fn unknown_foreign_tools(subject: &Subject<'_>, hook: &HookEntry) -> Vec<Finding> {
    let Some(matcher) = hook.matcher.as_deref().filter(|matcher| *matcher != "*") else {
        return Vec::new();
    };
    let names = foreign_names(subject.file);
    let unknown = alternatives(matcher).into_iter();
    let unknown = unknown.filter(|part| !matches_some(part, &names));
    let finding = |part: &str| {
        let near = meant_name(part).or_else(|| nearest(part, names.iter().map(String::as_str)));
        Finding {
            line: subject.line_before(matcher),
            severity: match subject.file.guests && near.is_none_or(|near| part.starts_with(near)) {
                true => Severity::Remark,
                false => Severity::Wrong,
            },
            hint: match near {
                Some(near) => Some(format!("did you mean `{near}`?")),
                None => subject.file.guests.then(|| GUESTS.to_owned()),
            },
            ..subject.finding(Kind::UnknownTool, format!("no tool has a name like `{part}`"))
        }
    };
    unknown.map(finding).collect()
}

/// What docker-agent calls the tool that some other system knows by that name.
fn meant_name(name: &str) -> Option<&'static str> {
    let meant = meant_tool(name).or_else(|| tool_names().find(|tool| *tool == name))?;
    let mut faces = becket_docker_agent::profile().faces.into_iter();
    let face = faces.find(|face| face.operation.name() == meant);
    face.map(|face| face.name)
}

/// The names that docker-agent's matchers see: its own, becket's where it has none, and those of the file's scripts.
fn foreign_names(file: &HookFile) -> Vec<String> {
    let absent = becket_docker_agent::profile().absent;
    let absent = absent.iter().map(|operation| operation.name());
    let all = becket_docker_agent::tool_names()
        .into_iter()
        .chain(absent)
        .chain(tools_without_operation());
    all.map(ToOwned::to_owned)
        .chain(file.tools.iter().cloned())
        .collect()
}

/// Conditions that only a text fulfils in which there is nothing else.
fn whole_texts(subject: &Subject<'_>) -> Vec<Finding> {
    let Hook::Own(hook) = subject.hook else {
        return Vec::new();
    };
    let whole = hook.whole_texts().into_iter();
    let finding = |(field, text): (String, String)| Finding {
        line: subject.line_with(&text),
        severity: Severity::Remark,
        hint: Some(format!(
            "a glob such as `*{}*` finds it anywhere",
            text.replace('*', "").trim()
        )),
        ..subject.finding(
            Kind::WholeText,
            format!("the hook is asked only where all of `{field}` is `{text}`"),
        )
    };
    whole.map(finding).collect()
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
