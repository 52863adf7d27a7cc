//! becket's own hook files: `[[hook]]` entries in TOML, and how they become handlers. `conditions.rs` reads `match`.
//!
//! A guard that may fail open (`on_failure = "allow"`) weakens what protects the user, so it is named at the start of
//! every run. On events where nothing can be refused or withheld the field is an error: it would promise something that
//! does not happen.

mod conditions;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_events::{Class, EVENTS, EventId};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use crate::matcher::WholeText;
use crate::own_format::OwnHandler;
use crate::plain_words::plain_words;
use crate::settings_file::{SettingsError, TextPlace, read_toml, unknown};
use crate::untyped::EventKind;
use crate::{
    CommandLane, Dialect, Engine, Failure, HandlerInfo, Lane, Matcher, Pattern, Preparation, Program,
    WorkerLane,
};

/// How long a hook may take by default.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The variable that tells a hook's program in which folder its hook file lies.
const FOLDER_VARIABLE: &str = "BECKET_HOOK_DIR";

/// One `[[hook]]` entry.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookEntry {
    /// The event to answer; `becket hooks events` lists them.
    #[schemars(with = "String")]
    event: Spanned<toml::Value>,
    /// The hook's name in messages; default: its file and line.
    #[serde(default)]
    name: Option<String>,
    /// Conditions on fields of the payload: `{ tool = "shell" }`, `{ tool = { glob = "mcp_*" } }`,
    /// `{ arguments = { command = { regex = "rm .*" } } }`.
    #[serde(default, rename = "match")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    conditions: Option<Spanned<toml::Value>>,
    /// A program to start for every event: a shell command line, or a list of the program and its arguments.
    #[serde(default)]
    command: Option<CommandLine>,
    /// A program that keeps running and answers line by line, in place of `command`.
    #[serde(default)]
    worker: Option<CommandLine>,
    /// How long one run may take, in seconds; default: 30.
    #[serde(default)]
    #[schemars(with = "Option<f64>")]
    timeout: Option<Spanned<toml::Value>>,
    /// What happens when the hook fails: for a guard `deny` or `allow`; for a filter `deny` (withhold the data) or
    /// `continue`; default: `deny`.
    #[serde(default)]
    #[schemars(with = "Option<OnFailure>")]
    on_failure: Option<Spanned<OnFailure>>,
    /// Run the hook and record its answer, but do not act on it. `becket hooks report` shows what it would have
    /// stopped; default: false.
    #[serde(default)]
    shadow: bool,
    /// Whether the hook may rewrite what it is asked about. Neighbouring guards that all say `false` start together; if
    /// one of them rewrites nevertheless, the others are asked again; default: true.
    #[serde(default = "may_rewrite")]
    rewrites: bool,
    /// Hooks with a higher priority run first; default: 0.
    #[serde(default)]
    priority: i32,
    /// Environment variables for the program.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Provider keys that the program may see, by the names of their variables.
    #[serde(default)]
    pass_env: Vec<String>,
    /// The directory to run in, relative to the hook file; default: the agent's working directory.
    #[serde(default)]
    working_dir: Option<PathBuf>,
}

fn may_rewrite() -> bool {
    true
}

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a program is a line for the shell, or a list of texts: the program and its arguments"
)]
pub enum CommandLine {
    /// A line for the shell: bash as `sh` if there is one, else `/bin/sh`.
    Shell(String),
    /// A program and its arguments.
    Exec(Vec<String>),
}

/// What happens when a guard or filter fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The action does not happen.
    Deny,
    /// The action may happen.
    Allow,
    /// The data passes unchanged.
    Continue,
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
    /// The event that the hook answers.
    pub event: EventId,
    /// Everything that a listing says about the hook.
    pub info: HandlerInfo,
    matcher: Matcher,
    program: CommandLine,
    env: BTreeMap<String, String>,
    pass_env: Vec<String>,
    working_dir: Option<PathBuf>,
    /// The folder of the hook's file.
    folder: PathBuf,
    preparation: Option<Arc<dyn Preparation>>,
}

/// What hook programs get from the process that runs them.
#[derive(Debug, Clone, Default)]
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

/// Turns the entries of a file into hooks.
pub fn read_hooks(
    entries: Vec<Spanned<HookEntry>>,
    text: &str,
    file: &Path,
) -> Result<Vec<OwnHook>, SettingsError> {
    let place = TextPlace { text, file };
    entries
        .into_iter()
        .map(|entry| OwnHook::read(entry, place))
        .collect()
}

impl OwnHook {
    fn read(entry: Spanned<HookEntry>, place: TextPlace<'_>) -> Result<Self, SettingsError> {
        let start = entry.span().start;
        let source = format!("{}:{}", place.file.display(), place.line(start));
        let entry = entry.into_inner();
        let event = read_event(&entry.event, place)?;
        let (lane, program) = match (entry.command, entry.worker) {
            (Some(command), None) => (crate::LaneKind::Command, command),
            (None, Some(worker)) => (crate::LaneKind::Worker, worker),
            (None, None) => return Err(place.error(start, "a hook needs `command` or `worker`")),
            (Some(_), Some(_)) => {
                return Err(place.error(start, "a hook has `command` or `worker`, not both"));
            }
        };
        program.check().map_err(|message| place.error(start, message))?;
        check_variables(&entry.env).map_err(|message| place.error(start, message))?;
        let class = class_of(event, entry.on_failure.as_ref(), place)?;
        let info = HandlerInfo {
            name: entry.name.unwrap_or_else(|| source.clone()),
            source,
            dialect: Dialect::BECKET,
            known_as: None,
            lane,
            class,
            priority: entry.priority,
            timeout: read_timeout(entry.timeout.as_ref(), place)?,
            matcher: None,
            shadow: entry.shadow,
            rewrites: entry.rewrites,
        };
        let folder = folder_of(place.file);
        Ok(Self {
            event,
            info,
            matcher: conditions::read_matcher(event, entry.conditions, place)?,
            program,
            env: entry.env,
            pass_env: entry.pass_env,
            working_dir: entry.working_dir.map(|directory| folder.join(directory)),
            folder,
            preparation: None,
        })
    }

    /// Why a guard or filter may let something through, if its entry says so; the run tells it at its start.
    pub fn weakness(&self) -> Option<&'static str> {
        let class = self.event.info().class;
        if class >= Class::Filter && self.info.shadow {
            return Some("refuses nothing: `shadow` is true");
        }
        (self.info.class < class).then_some("may fail open: `on_failure` is allow")
    }

    /// Whether the hook waits for its neighbours because it might rewrite something.
    pub fn may_wait(&self) -> bool {
        let event = EventKind::by_id(self.event);
        self.info.rewrites && !self.info.shadow && event.rewrites && event.class == Class::Guard
    }

    /// The names of tools that the hook's `match` wants exactly.
    pub fn tool_names(&self) -> Vec<&str> {
        self.matcher.exact_texts("tool_name").collect()
    }

    /// The patterns for names of tools in the hook's `match`.
    pub fn tool_patterns(&self) -> Vec<&Pattern> {
        self.matcher.patterns("tool_name").collect()
    }

    /// Whether no event can match both hooks.
    pub fn excludes(&self, other: &Self) -> bool {
        self.event != other.event || self.matcher.excludes(&other.matcher)
    }

    /// Conditions of the hook's `match` that only a whole text meets, and that were probably meant as "contains".
    pub fn whole_texts(&self) -> Vec<WholeText> {
        self.matcher.whole_texts()
    }

    /// The hook's `match` as one line.
    pub fn matcher(&self) -> Option<String> {
        self.matcher.described()
    }

    /// The folder of the hook's file.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder in which the hook's program runs, if it names one.
    pub fn working_dir(&self) -> Option<&Path> {
        self.working_dir.as_deref()
    }

    /// The program that the hook runs.
    pub fn command_line(&self) -> &CommandLine {
        &self.program
    }

    /// The variables that the hook's entry sets.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// This hook with the program of a copy of its files: `folder` replaces the folder of its file, and the variables
    /// replace those of its entry. The preparation checks the copy before each start.
    pub fn run_from(
        mut self,
        (folder, preparation): (PathBuf, Arc<dyn Preparation>),
        program: CommandLine,
        env: BTreeMap<String, String>,
    ) -> Self {
        self.program = program;
        self.folder = folder;
        self.preparation = Some(preparation);
        self.env.extend(env);
        self
    }

    /// The line in which the hook begins.
    pub fn line(&self) -> Option<usize> {
        self.info.source.rsplit_once(':')?.1.parse().ok()
    }

    /// Adds the hook to an engine.
    pub fn register(&self, engine: &Engine, environment: &HookEnvironment) {
        let handler = OwnHandler {
            kind: EventKind::by_id(self.event),
            lane: self.lane(environment),
            timeout: self.info.timeout,
        };
        engine.add_own(self.info.clone(), self.matcher.clone(), handler);
    }

    /// The changer would change what the rewriter after it makes of the call.
    pub fn trouble(&self, environment: &HookEnvironment, directory: &Path) -> Option<Failure> {
        let program = self.program(environment);
        if let Err(failure) = program.check(directory) {
            return Some(failure);
        }
        // Only a path at the beginning of a shell line can be checked; other words may be builtins of the shell.
        let CommandLine::Shell(line) = &self.program else {
            return None;
        };
        let first = plain_words(line).into_iter().next()?;
        let beside = first
            .strip_prefix('$')
            .and_then(|rest| rest.strip_prefix(FOLDER_VARIABLE));
        let shown = beside.unwrap_or(&first);
        if !shown.contains('/') || !shown.chars().all(|letter| is_plain(letter) || letter == ' ') {
            return None;
        }
        let first = match beside {
            Some(rest) => self.folder.join(rest.trim_start_matches('/')),
            None => PathBuf::from(&first),
        };
        let directory = self.working_dir.as_deref().unwrap_or(directory);
        Program::exec([first])
            .environment(Arc::new(self.variables(environment)))
            .check(directory)
            .err()
    }

    fn lane(&self, environment: &HookEnvironment) -> Arc<dyn Lane> {
        let program = self.program(environment);
        match self.info.lane {
            crate::LaneKind::Worker => Arc::new(WorkerLane::new(program)),
            _ => Arc::new(CommandLane::new(program)),
        }
    }

    fn program(&self, environment: &HookEnvironment) -> Program {
        let program = match &self.program {
            CommandLine::Shell(line) => Program::shell(line.clone()),
            CommandLine::Exec(words) => Program::exec(self.seen_from_folder(words)),
        };
        let program = program
            .environment(Arc::new(self.variables(environment)))
            .directory(self.working_dir.clone())
            .prepared_by(self.preparation.clone());
        match self.info.class >= Class::Filter {
            true => program.for_guard(),
            false => program,
        }
    }

    /// Resolves a program with a relative path beside the hook file, wherever the agent works: the files in the working
    /// directory are not the user's. The shell interprets its own lines.
    fn seen_from_folder(&self, words: &[String]) -> Vec<OsString> {
        let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let program = words.first_mut();
        if let Some(program) = program.filter(|program| program.as_encoded_bytes().contains(&b'/')) {
            // Collecting the components removes a `./` from the middle.
            let path: PathBuf = self.folder.join(&*program).components().collect();
            *program = path.into();
        }
        words
    }

    /// The environment of the hook's program.
    pub fn variables(&self, environment: &HookEnvironment) -> BTreeMap<OsString, OsString> {
        let mut variables = environment.variables.as_ref().clone();
        for name in &self.pass_env {
            if let Some((name, key)) = environment.keys.get_key_value(std::ffi::OsStr::new(name)) {
                variables.insert(name.clone(), key.clone());
            }
        }
        variables.extend(self.env.iter().map(|(name, value)| (name.into(), value.into())));
        variables.insert(FOLDER_VARIABLE.into(), self.folder.clone().into());
        variables
    }
}

/// Whether a character has no special meaning in a shell.
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

/// The absolute folder of a file.
fn folder_of(file: &Path) -> PathBuf {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    file.parent().unwrap_or(Path::new("/")).to_owned()
}

/// Refuses variables that no system accepts, before the first event.
fn check_variables(variables: &BTreeMap<String, String>) -> Result<(), String> {
    for (name, value) in variables {
        if name.is_empty() || name.contains(['=', '\0']) {
            let shown = name.escape_debug();
            return Err(format!(
                "`{shown}` in `env` is no name of a variable: it must not be empty or hold `=` or NUL"
            ));
        }
        if value.contains('\0') {
            return Err(format!("the value of `{name}` in `env` holds a NUL"));
        }
    }
    Ok(())
}

fn read_event(event: &Spanned<toml::Value>, place: TextPlace<'_>) -> Result<EventId, SettingsError> {
    let start = event.span().start;
    let toml::Value::String(name) = event.get_ref() else {
        let message =
            "`event` is the name of one event, such as \"pre_tool\"; write a [[hook]] for each event";
        return Err(place.error(start, message));
    };
    let names = EVENTS.iter().map(|event| event.name);
    EventId::named(name).ok_or_else(|| place.error(start, unknown("event", name, names)))
}

fn class_of(
    event: EventId,
    on_failure: Option<&Spanned<OnFailure>>,
    place: TextPlace<'_>,
) -> Result<Class, SettingsError> {
    let declared = event.info().class;
    match on_failure {
        None => Ok(declared),
        Some(policy) if declared < Class::Filter => {
            let message = format!(
                "`on_failure` means nothing on {}: nothing is refused or withheld there",
                event.info().name
            );
            Err(place.error(policy.span().start, message))
        }
        Some(policy) if *policy.get_ref() == OnFailure::Deny => Ok(declared),
        Some(_) => Ok(Class::Transform),
    }
}

fn read_timeout(
    timeout: Option<&Spanned<toml::Value>>,
    place: TextPlace<'_>,
) -> Result<Duration, SettingsError> {
    let Some(timeout) = timeout else {
        return Ok(DEFAULT_TIMEOUT);
    };
    let start = timeout.span().start;
    let seconds = match timeout.get_ref() {
        toml::Value::Float(seconds) => *seconds,
        toml::Value::Integer(seconds) => *seconds as f64,
        _ => return Err(place.error(start, "`timeout` is a number of seconds, such as 5")),
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| !duration.is_zero() && *duration <= Duration::from_secs(86_400))
        .ok_or_else(|| place.error(start, "`timeout` is a number of seconds above 0, at most 86400"))
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
            (hook.info.priority, hook.info.class, hook.weakness().is_some()),
            (7, Class::Transform, true)
        );
        assert_eq!(hook.working_dir.as_deref(), Some(Path::new("/etc/scripts")));
    }

    // tidy: a table
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
                "hooks.toml:4: `on_failure` means nothing on turn_end: nothing is refused or withheld there",
            ),
            (
                "[[hook]]\nevent = \"pre_tool\"\ncommand = \"x\"\ntimeout = 0",
                "hooks.toml:4: `timeout` is a number",
            ),
            ("[[hook]]\nevent = \"pre_tool\ncommand = \"x\"", "hooks.toml:2: "),
            (
                "[[hook]]\nevent = \"pre_tool\"\ncommand = 3",
                "hooks.toml:3: a program is a line for the shell",
            ),
            (
                "[[hook]]\nevent = \"PreToolUse\"\ncommand = \"x\"",
                "hooks.toml:2: unknown event `PreToolUse`; did you mean `pre_tool`?",
            ),
            (
                "[[hook]]\nevent = [\"pre_tool\"]\ncommand = \"x\"",
                "hooks.toml:2: `event` is the name of one event, such as \"pre_tool\"; write a [[hook]]",
            ),
            (
                "[[hook]]\nevent = \"pre_tool\"\ncommand = \"x\"\ntimeout = \"5s\"",
                "hooks.toml:4: `timeout` is a number of seconds, such as 5",
            ),
            (
                "[[hook]]\nevent = \"pre_tool\"\ncommand = \"x\"\nenv = { \"A=B\" = \"c\" }",
                "hooks.toml:1: `A=B` in `env` is no name of a variable",
            ),
            (
                "[[hook]]\nevent = \"pre_tool\"\ncommand = \"x\"\nenv = { \"A\\u0000\" = \"c\" }",
                "hooks.toml:1: `A\\0` in `env` is no name of a variable",
            ),
        ];
        for (text, beginning) in table {
            let error = error(text);
            assert!(
                error.starts_with(beginning),
                "{text}\n-> {error}\nwanted {beginning}"
            );
        }
    }

    fn environment() -> HookEnvironment {
        HookEnvironment {
            variables: Arc::default(),
            keys: Arc::default(),
        }
    }

    fn run(hook: &OwnHook, directory: &Path) -> Result<crate::Finished, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(hook.lane(&environment()).run(crate::Invocation {
            input: "{}".into(),
            environment: Vec::new(),
            directory: directory.to_owned(),
            timeout: Duration::from_secs(20),
        }))
    }

    fn write_script(path: &Path, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_program_with_a_relative_path_lies_beside_its_hook_file() {
        let own = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let inner = own.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        write_script(
            &own.path().join("guard.sh"),
            "#!/bin/sh\necho \"own $PWD $BECKET_HOOK_DIR\"\n",
        );
        write_script(&work.path().join("guard.sh"), "#!/bin/sh\necho stranger\n");
        let file = own.path().join("hooks.toml");
        let hook = |rest: &str| {
            let text = format!("[[hook]]\nevent = \"pre_tool\"\n{rest}\n");
            read_hook_file(&text, &file).unwrap().remove(0)
        };
        let folder = own.path().display();
        let written = |rest: &str| {
            let finished = run(&hook(rest), work.path()).unwrap();
            String::from_utf8(finished.stdout).unwrap()
        };
        let here = format!("own {} {folder}\n", work.path().display());
        assert_eq!(written("command = [\"./guard.sh\"]"), here);
        assert_eq!(written("command = [\"inner/../guard.sh\"]"), here);
        assert_eq!(written("command = 'exec \"$BECKET_HOOK_DIR/guard.sh\"'"), here);
        assert_eq!(written("command = \"./guard.sh\""), "stranger\n");
        assert_eq!(
            written("command = [\"./guard.sh\"]\nworking_dir = \"inner\""),
            format!("own {} {folder}\n", inner.display())
        );
        std::fs::remove_file(own.path().join("guard.sh")).unwrap();
        let failure = run(&hook("worker = [\"./guard.sh\"]"), work.path()).unwrap_err();
        assert_eq!(failure.cause, crate::Cause::NotFound);
        let line = r#"command = '"$BECKET_HOOK_DIR/guard.sh" x'"#;
        assert!(hook(line).trouble(&environment(), work.path()).is_some());
        assert!(
            hook("command = [\"./guard.sh\"]")
                .trouble(&environment(), work.path())
                .is_some()
        );
    }
}
