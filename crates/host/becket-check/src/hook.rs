//! A hook as the checks see it, whatever its format, with its context.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use becket_events::EventId;
use becket_hooks::{
    CommandLine, Failure, HookEnvironment, Layout, Section, SettingsError, nearest, read_around_mistakes,
};

use crate::finding::{Finding, Kind, Severity};

/// A file with hooks, and what was found while it was read.
#[derive(Debug, Default)]
pub struct HookFile {
    /// The file as the user names it, or a flag of the command line.
    pub file: PathBuf,
    /// The file's text.
    pub text: String,
    /// The file's hooks.
    pub hooks: Vec<Box<dyn CheckedHook>>,
    /// Names of tools that only this file provides.
    pub tools: Vec<String>,
    /// Whether there may be further tools whose names are not known before a run.
    pub guests: bool,
    /// What was found while the file was read.
    pub findings: Vec<Finding>,
}

impl HookFile {
    /// The hooks of a file as its format reads them. An error is a finding.
    pub fn new(file: &Path, text: &str, hooks: Result<Vec<Box<dyn CheckedHook>>, SettingsError>) -> Self {
        let mut read = Self {
            file: file.to_path_buf(),
            text: text.to_owned(),
            guests: true,
            ..Self::default()
        };
        match hooks {
            Ok(hooks) => read.hooks = hooks,
            Err(error) => read.wrong(error),
        }
        read
    }

    /// The hooks of a file around its mistakes, each of which is a finding.
    pub fn around_mistakes(
        file: &Path,
        text: &str,
        layout: Layout,
        read: impl Fn(&str) -> Result<Vec<Box<dyn CheckedHook>>, SettingsError>,
    ) -> Self {
        let (mistakes, hooks) = read_around_mistakes(text, layout, read);
        let mut found = Self::new(file, text, Ok(hooks.unwrap_or_default()));
        mistakes.into_iter().for_each(|mistake| found.wrong(mistake));
        found
    }

    /// Adds a finding for a file that cannot be read as what it is.
    pub fn wrong(&mut self, SettingsError { line, message, .. }: SettingsError) {
        self.findings.push(Finding {
            file: self.file.clone(),
            line: Some(line),
            kind: Kind::Configuration,
            severity: Severity::Wrong,
            message,
            hint: None,
        });
    }
}

/// Hooks as the checks see them.
pub fn boxed<H: CheckedHook>(hooks: impl IntoIterator<Item = H>) -> Vec<Box<dyn CheckedHook>> {
    let hooks = hooks.into_iter();
    hooks.map(|hook| Box::new(hook) as Box<dyn CheckedHook>).collect()
}

/// A file that may hold hooks.
pub struct NamedFile<'a> {
    /// The path as the user names it.
    pub shown: &'a Path,
    /// The absolute path.
    pub whole: PathBuf,
    /// The file's text; `None` if it is not text, or missing.
    pub text: Option<String>,
    /// Whether the user has named the file. Other files in the same folder are only meant if they surely hold hooks.
    pub is_named: bool,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// The tables of `config.toml` that are about guests.
    pub sections: &'a [Section],
}

impl NamedFile<'_> {
    /// The extension of the file's name.
    pub fn ending(&self) -> Option<&str> {
        self.shown.extension()?.to_str()
    }

    /// Whether the file lies in a folder with this name.
    pub fn is_in(&self, folder: &str) -> bool {
        self.whole.parent().is_some_and(|parent| parent.ends_with(folder))
    }
}

/// A hook of some format. Checks that are the same for all formats use these functions; what only the format knows is
/// checked by the hook itself.
pub trait CheckedHook: Any + fmt::Debug {
    /// The line in which the hook begins, if it is in a file.
    fn line(&self) -> Option<usize> {
        None
    }

    /// A text that is equal for identical hooks of a file; `None` for a hook that is never a duplicate.
    fn fingerprint(&self) -> Option<String> {
        None
    }

    /// The event that the hook answers, and its name in the format; `None` if the hook chooses its events at run time.
    fn event(&self) -> Option<(EventId, &'static str)> {
        None
    }

    /// What is started for the hook.
    fn start(&self) -> Start<'_>;

    /// The folder in which the hook asks to be run. An inner `None`: it is not known before a run.
    fn working_dir(&self, directory: &Path) -> Option<Option<PathBuf>> {
        let _ = directory;
        None
    }

    /// The environment of the hook's program.
    fn variables(&self, environment: &HookEnvironment) -> BTreeMap<OsString, OsString> {
        environment.variables.as_ref().clone()
    }

    /// Why the hook's program could not be started, as far as its format can tell.
    fn trouble(&self, machine: &Machine) -> Option<Failure> {
        let _ = machine;
        None
    }

    /// How long the hook may take.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// The fields that the hook rewrites, as far as its script shows it.
    fn rewrites(&self, script: &str) -> Vec<&'static str> {
        let _ = script;
        Vec::new()
    }

    /// Whether the hook may be asked about the same thing as another hook of its event.
    fn may_meet(&self, other: &dyn CheckedHook) -> bool {
        let _ = other;
        true
    }

    /// The checks of the hook's own format.
    fn check(&self, subject: &Subject<'_>) -> Vec<Finding> {
        let _ = subject;
        Vec::new()
    }
}

/// What is started for a hook.
#[derive(Debug, Clone)]
pub enum Start<'a> {
    /// A command. A program with a relative path is relative to the folder, if there is one.
    Command(&'a CommandLine, Option<&'a Path>),
    /// A line for the shell.
    Line(&'a str),
    /// A program that chooses its events at run time.
    Program(&'a Path),
    /// A module for an engine.
    Module(&'a Path),
    /// A part of becket, or a model.
    Nothing,
}

impl<'a> Start<'a> {
    /// The text that a shell runs.
    pub fn script(&self) -> Option<&'a str> {
        match self {
            Self::Command(CommandLine::Shell(line), _) => Some(line),
            Self::Line(line) => Some(line),
            _ => None,
        }
    }

    /// The folder of the command's file.
    pub fn folder(&self) -> Option<&'a Path> {
        match self {
            Self::Command(_, folder) => *folder,
            _ => None,
        }
    }
}

/// What hooks find on this machine.
pub struct Machine {
    /// The environment that hooks inherit. Without a `jq`, the folder of becket's own is the last of `PATH`, as in a
    /// run.
    pub environment: HookEnvironment,
    /// The folder of becket's own `jq`, if it is needed.
    pub own_jq: Option<PathBuf>,
    /// The directory in which hooks run.
    pub directory: PathBuf,
    /// The names of tools.
    pub tools: ToolNames,
    /// Words by which hooks of some system decide.
    pub deciding: Vec<&'static str>,
}

/// The names by which tools are known.
pub struct ToolNames {
    /// becket's own names of all tools that are parts of the program.
    pub own: Vec<&'static str>,
    /// The names of tools that are not operations.
    pub without_operation: Vec<&'static str>,
    /// becket's own name of the tool that some other system knows by the given name.
    pub elsewhere: fn(&str) -> Option<&'static str>,
}

impl ToolNames {
    /// The tool that was probably meant by an unknown name.
    pub fn meant(&self, name: &str) -> Option<&'static str> {
        (self.elsewhere)(name).or_else(|| nearest(name, self.own.iter().copied()))
    }

    /// What is wrong with the name of a tool, with a suggestion; `None` if the tool exists.
    pub fn unknown(&self, name: &str) -> Option<String> {
        if self.own.contains(&name) {
            return None;
        }
        Some(match self.meant(name) {
            Some(meant) => format!("`{name}`, which does not exist; did you mean `{meant}`?"),
            None => format!(
                "`{name}`, which does not exist; there are {}",
                self.own.join(", ")
            ),
        })
    }
}

/// One hook with its context.
pub struct Subject<'a> {
    pub file: &'a HookFile,
    pub hook: &'a dyn CheckedHook,
    pub machine: &'a Machine,
}

impl Subject<'_> {
    /// A finding about the hook.
    pub fn finding(&self, kind: Kind, message: String) -> Finding {
        Finding {
            file: self.file.file.clone(),
            line: self.hook.line(),
            kind,
            severity: Severity::Wrong,
            message,
            hint: None,
        }
    }

    /// The first line from the hook on that contains a text.
    pub fn line_with(&self, text: &str) -> Option<usize> {
        let begin = self.hook.line()?;
        let mut lines = self.file.text.lines().enumerate().skip(begin.saturating_sub(1));
        let found = lines.find(|(_, line)| line.contains(text));
        Some(found.map_or(begin, |(index, _)| index + 1))
    }

    /// The last line before the hook that contains a text.
    pub fn line_before(&self, text: &str) -> Option<usize> {
        let begin = self.hook.line()?;
        let before: Vec<&str> = self.file.text.lines().take(begin).collect();
        let found = before.iter().rposition(|line| line.contains(text));
        Some(found.map_or(begin, |index| index + 1))
    }
}
