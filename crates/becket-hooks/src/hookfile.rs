//! becket's own hook files: `[[hook]]` entries in TOML, and how they become handlers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_events::{Class, EVENTS, Event, EventId, Visitor};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use crate::Failure;
use crate::matcher::Pattern;
use crate::row::{RowHandler, own_row};
use crate::settings_file::{Place, SettingsError, read_toml, unknown};
use crate::{
    Action, CommandLane, Dialect, Engine, HandlerInfo, Lane, Matcher, Program, Registration, WorkerLane,
};

/// How long a hook may take when its entry does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// One `[[hook]]` entry.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookEntry {
    /// The event it answers; `becket hooks events` lists them.
    #[schemars(with = "String")]
    event: Spanned<String>,
    /// A name for messages. Default: the file and the line.
    #[serde(default)]
    name: Option<String>,
    /// Conditions on fields of the payload: `{ tool = "shell" }`, `{ tool = { glob = "mcp_*" } }`,
    /// `{ arguments = { command = { regex = "rm .*" } } }`.
    #[serde(default, rename = "match")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    conditions: Option<Spanned<toml::Table>>,
    /// A program to start for every event: a line for the shell, or a list of program and arguments.
    #[serde(default)]
    command: Option<CommandLine>,
    /// A program that stays alive and answers line by line.
    #[serde(default)]
    worker: Option<CommandLine>,
    /// Seconds that one run may take.
    #[serde(default)]
    #[schemars(with = "Option<f64>")]
    timeout: Option<Spanned<f64>>,
    /// What a guard that breaks means: `deny` (default) or `allow`.
    #[serde(default)]
    #[schemars(with = "Option<OnFailure>")]
    on_failure: Option<Spanned<OnFailure>>,
    /// Higher ones are asked first. Default: 0.
    #[serde(default)]
    priority: i32,
    /// Variables for the program.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Provider keys, by the name of their variable, that the program may see.
    #[serde(default)]
    pass_env: Vec<String>,
    /// The directory to run in, relative to the file. Default: the agent's working directory.
    #[serde(default)]
    working_dir: Option<PathBuf>,
}

/// A program with its arguments.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CommandLine {
    /// A line for `/bin/sh`.
    Shell(String),
    /// A program and its arguments.
    Exec(Vec<String>),
}

/// What a guard that breaks means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The action does not happen.
    Deny,
    /// The action may happen.
    Allow,
}

/// A file that holds nothing but hooks.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HookFile {
    /// The hooks, in the order in which they are asked.
    #[serde(default)]
    #[schemars(with = "Vec<HookEntry>")]
    hook: Vec<Spanned<HookEntry>>,
}

/// A hook that is ready to be registered.
#[derive(Debug, Clone)]
pub struct OwnHook {
    /// The event it answers.
    pub event: EventId,
    /// Everything that a listing says about it.
    pub info: HandlerInfo,
    matcher: Matcher,
    program: CommandLine,
    env: BTreeMap<String, String>,
    pass_env: Vec<String>,
    working_dir: Option<PathBuf>,
    /// Whether its failure policy was loosened: the run says so at its start.
    pub loosened: bool,
}

/// What programs of hooks get from the process that runs them.
#[derive(Debug, Clone)]
pub struct HookEnvironment {
    /// The variables that hooks inherit.
    pub variables: Arc<BTreeMap<OsString, OsString>>,
    /// Provider keys, which only hooks that name them get.
    pub keys: Arc<BTreeMap<OsString, OsString>>,
}

/// Reads a file that holds nothing but hooks.
pub fn read_hook_file(text: &str, file: &Path) -> Result<Vec<OwnHook>, SettingsError> {
    let entries: HookFile = read_toml(text, file)?;
    read_hooks(entries.hook, text, file)
}

/// Makes hooks of the entries of a file.
pub fn read_hooks(
    entries: Vec<Spanned<HookEntry>>,
    text: &str,
    file: &Path,
) -> Result<Vec<OwnHook>, SettingsError> {
    let place = Place { text, file };
    entries
        .into_iter()
        .map(|entry| OwnHook::read(entry, place))
        .collect()
}

impl OwnHook {
    fn read(entry: Spanned<HookEntry>, place: Place<'_>) -> Result<Self, SettingsError> {
        let start = entry.span().start;
        let source = format!("{}:{}", place.file.display(), place.line(start));
        let entry = entry.into_inner();
        let event = EventId::named(entry.event.get_ref()).ok_or_else(|| {
            let names = EVENTS.iter().map(|event| event.name);
            place.error(
                entry.event.span().start,
                unknown("event", entry.event.get_ref(), names),
            )
        })?;
        let (lane, program) = match (entry.command, entry.worker) {
            (Some(command), None) => (crate::LaneKind::Command, command),
            (None, Some(worker)) => (crate::LaneKind::Worker, worker),
            (None, None) => return Err(place.error(start, "a hook needs `command` or `worker`")),
            (Some(_), Some(_)) => {
                return Err(place.error(start, "a hook has `command` or `worker`, not both"));
            }
        };
        program.check().map_err(|message| place.error(start, message))?;
        let class = class_of(event, entry.on_failure.as_ref(), place)?;
        let info = HandlerInfo {
            name: entry.name.unwrap_or_else(|| source.clone()),
            source,
            dialect: Dialect::Becket,
            lane,
            class,
            priority: entry.priority,
            timeout: read_timeout(entry.timeout.as_ref(), place)?,
        };
        let folder = place.file.parent().unwrap_or(Path::new("."));
        Ok(Self {
            event,
            info,
            matcher: read_matcher(event, entry.conditions, place)?,
            program,
            env: entry.env,
            pass_env: entry.pass_env,
            working_dir: entry.working_dir.map(|directory| folder.join(directory)),
            loosened: class < event.info().class && event.info().class == Class::Guard,
        })
    }

    /// Adds the hook to an engine.
    pub fn register(&self, engine: &Engine, environment: &HookEnvironment) {
        struct Register<'a>(&'a OwnHook, &'a Engine, Arc<dyn Lane>);
        impl Visitor for Register<'_> {
            type Output = ();

            fn visit<E: Event>(self) {
                let Self(hook, engine, lane) = self;
                let handler = RowHandler::<E> {
                    lane,
                    row: own_row(),
                    timeout: hook.info.timeout,
                };
                engine.register(Registration {
                    info: hook.info.clone(),
                    order: Vec::new(),
                    matcher: hook.matcher.clone(),
                    action: Action::Other(Arc::new(handler)),
                });
            }
        }
        self.event.visit(Register(self, engine, self.lane(environment)));
    }

    /// Why the program could not be started from that directory, as far as that can be told without starting it.
    pub fn trouble(&self, environment: &HookEnvironment, directory: &Path) -> Option<Failure> {
        let program = self.program(environment);
        if let Err(failure) = program.check(directory) {
            return Some(failure);
        }
        // Of a line for the shell only a path at its beginning can be looked at; other words may be its builtins.
        let CommandLine::Shell(line) = &self.program else {
            return None;
        };
        let first = line
            .split_whitespace()
            .next()
            .filter(|word| word.contains('/') && word.chars().all(is_plain))?;
        let directory = self.working_dir.as_deref().unwrap_or(directory);
        Program::exec([first]).check(directory).err()
    }

    fn lane(&self, environment: &HookEnvironment) -> Arc<dyn Lane> {
        let program = self.program(environment);
        match self.info.lane {
            crate::LaneKind::Worker => Arc::new(WorkerLane::new(program)),
            _ => Arc::new(CommandLane::new(program)),
        }
    }

    fn program(&self, environment: &HookEnvironment) -> Program {
        let mut variables = environment.variables.as_ref().clone();
        for name in &self.pass_env {
            if let Some((name, key)) = environment.keys.get_key_value(std::ffi::OsStr::new(name)) {
                variables.insert(name.clone(), key.clone());
            }
        }
        variables.extend(self.env.iter().map(|(name, value)| (name.into(), value.into())));
        let program = match &self.program {
            CommandLine::Shell(line) => Program::shell(line.clone()),
            CommandLine::Exec(words) => Program::exec(words.clone()),
        };
        program
            .environment(Arc::new(variables))
            .directory(self.working_dir.clone())
    }
}

/// Characters that mean themselves in a shell.
fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "/._-+".contains(character)
}

impl CommandLine {
    fn check(&self) -> Result<(), &'static str> {
        let empty = match self {
            Self::Shell(line) => line.trim().is_empty(),
            Self::Exec(words) => words.first().is_none_or(|program| program.is_empty()),
        };
        if empty {
            Err("the program is empty")
        } else {
            Ok(())
        }
    }
}

fn class_of(
    event: EventId,
    on_failure: Option<&Spanned<OnFailure>>,
    place: Place<'_>,
) -> Result<Class, SettingsError> {
    let declared = event.info().class;
    match on_failure {
        None => Ok(declared),
        Some(policy) if declared != Class::Guard => {
            let message = format!(
                "`on_failure` means nothing on {}: only guards refuse",
                event.info().name
            );
            Err(place.error(policy.span().start, message))
        }
        Some(policy) if *policy.get_ref() == OnFailure::Allow => Ok(Class::Transform),
        Some(_) => Ok(declared),
    }
}

fn read_timeout(timeout: Option<&Spanned<f64>>, place: Place<'_>) -> Result<Duration, SettingsError> {
    let Some(timeout) = timeout else {
        return Ok(DEFAULT_TIMEOUT);
    };
    Duration::try_from_secs_f64(*timeout.get_ref())
        .ok()
        .filter(|duration| !duration.is_zero() && *duration <= Duration::from_secs(86_400))
        .ok_or_else(|| {
            place.error(
                timeout.span().start,
                "`timeout` is a number of seconds above 0, at most 86400",
            )
        })
}

fn read_matcher(
    event: EventId,
    conditions: Option<Spanned<toml::Table>>,
    place: Place<'_>,
) -> Result<Matcher, SettingsError> {
    let Some(conditions) = conditions else {
        return Ok(Matcher::default());
    };
    let start = conditions.span().start;
    let mut matcher = Matcher::default();
    for (field, wanted) in conditions.into_inner() {
        let known = event.info().payload.iter().map(|field| {
            if field.name == "tool_name" {
                "tool"
            } else {
                field.name
            }
        });
        // `tool` is the short word that everybody tries first.
        if !known.clone().any(|name| name == field) && field != "tool_name" {
            let message = unknown(
                &format!("field of {} in `match`", event.info().name),
                &field,
                known,
            );
            return Err(place.error(start, message));
        }
        let field = if field == "tool" {
            "tool_name".to_string()
        } else {
            field
        };
        matcher =
            add_conditions(matcher, vec![field], wanted).map_err(|message| place.error(start, message))?;
    }
    Ok(matcher)
}

/// A text is wanted exactly; `{ regex = … }` and `{ glob = … }` are patterns; other tables lead further inside.
fn add_conditions(matcher: Matcher, path: Vec<String>, wanted: toml::Value) -> Result<Matcher, String> {
    match wanted {
        toml::Value::String(text) => Ok(matcher.and(path, Pattern::Exact(text))),
        toml::Value::Integer(number) => Ok(matcher.and(path, Pattern::Exact(number.to_string()))),
        toml::Value::Boolean(truth) => Ok(matcher.and(path, Pattern::Exact(truth.to_string()))),
        toml::Value::Table(table) => {
            if let Some(pattern) = single_pattern(&table)? {
                return Ok(matcher.and(path, pattern));
            }
            table.into_iter().try_fold(matcher, |matcher, (member, wanted)| {
                add_conditions(matcher, [path.as_slice(), &[member]].concat(), wanted)
            })
        }
        other => Err(format!(
            "`match` wants a text, {{ regex = \"…\" }} or {{ glob = \"…\" }}, not {other}"
        )),
    }
}

fn single_pattern(table: &toml::Table) -> Result<Option<Pattern>, String> {
    let mut members = table.iter();
    let (Some((name, toml::Value::String(text))), None) = (members.next(), members.next()) else {
        return Ok(None);
    };
    match name.as_str() {
        "regex" => Pattern::regex(text)
            .map(Some)
            .map_err(|error| format!("bad regular expression: {error}")),
        "glob" => Pattern::glob(text)
            .map(Some)
            .map_err(|error| format!("bad glob: {error}")),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        read_hook_file(text, Path::new("hooks.toml"))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_complete_entry_is_read() {
        let text = r#"
[[hook]]
event = "pre_tool"
name = "no-rm"
match = { tool = "shell", arguments = { command = { glob = "*rm -rf*" } } }
command = ["./guard.sh", "x"]
timeout = 2.5
on_failure = "allow"
priority = 7
env = { A = "b" }
working_dir = "scripts"
"#;
        let hooks = read_hook_file(text, Path::new("/etc/hooks.toml")).unwrap();
        let hook = &hooks[0];
        assert_eq!(hook.event, EventId::PreTool);
        assert_eq!(hook.info.name, "no-rm");
        assert_eq!(hook.info.source, "/etc/hooks.toml:2");
        assert_eq!(hook.info.timeout, Duration::from_millis(2500));
        assert_eq!(
            (hook.info.priority, hook.info.class, hook.loosened),
            (7, Class::Transform, true)
        );
        assert_eq!(hook.working_dir.as_deref(), Some(Path::new("/etc/scripts")));
    }

    #[test]
    fn mistakes_are_named_with_line_and_suggestion() {
        let table = [
            (
                "[[hook]]\nevent = \"pre_tol\"\ncommand = \"x\"",
                "hooks.toml:2: unknown event `pre_tol`; did you mean `pre_tool`?",
            ),
            (
                "[[hook]]\nevent = \"pre_tool\"\ncommnd = \"x\"",
                "hooks.toml:3: unknown key `commnd`; did you mean `command`?",
            ),
            (
                "\n[[hok]]\n",
                "hooks.toml:2: unknown key `hok`; did you mean `hook`?",
            ),
            (
                "[[hook]]\nevent = \"pre_tool\"",
                "hooks.toml:1: a hook needs `command` or `worker`",
            ),
            (
                "[[hook]]\nevent = \"pre_tool\"\ncommand = \"\"",
                "hooks.toml:1: the program is empty",
            ),
            (
                "[[hook]]\nevent = \"pre_tool\"\ncommand = \"x\"\nmatch = { tol = \"x\" }",
                "hooks.toml:4: unknown field of pre_tool in `match` `tol`; did you mean `tool`?",
            ),
            (
                "[[hook]]\nevent = \"pre_tool\"\ncommand = \"x\"\nmatch = { tool = { regex = \"a(\" } }",
                "hooks.toml:4: bad regular expression: ",
            ),
            (
                "[[hook]]\nevent = \"turn_end\"\ncommand = \"x\"\non_failure = \"allow\"",
                "hooks.toml:4: `on_failure` means nothing on turn_end: only guards refuse",
            ),
            (
                "[[hook]]\nevent = \"pre_tool\"\ncommand = \"x\"\ntimeout = 0",
                "hooks.toml:4: `timeout` is a number",
            ),
            ("[[hook]]\nevent = \"pre_tool\ncommand = \"x\"", "hooks.toml:2: "),
            ("[[hook]]\nevent = \"pre_tool\"\ncommand = 3", "hooks.toml:3: "),
        ];
        for (text, beginning) in table {
            let error = error(text);
            assert!(
                error.starts_with(beginning),
                "{text}\n-> {error}\nwanted {beginning}"
            );
        }
    }
}
