//! Agents, skills and commands of a system: Markdown files that bring a sub-agent, a text for the model or a text that
//! the user calls by name, and hooks that are active only while one of them is used.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use becket_events::{
    Class, PreFileRead, PreFileReadReply, PreShell, PreShellPayload, PreShellReply, PromptExpansion,
    PromptExpansionReply, Scope, SessionStart, SessionStartReply, StartReason,
};
use becket_hooks::{Cause, Engine, Failure};
use becket_system::files::read_regular;
use becket_tools::Preset;
use serde_json::{Map, Value, json};

use crate::entry::{HookEntry, Source, WhileUsed};
use crate::facts::Facts;

/// The largest list of skills and commands in use that is read.
const MOST_BYTES: u64 = 1024 * 1024;

/// Reads the fields and the body of a Markdown file; `None` if it is something else, such as a page about agents. The
/// error says why the file cannot be used.
pub type ReadText = fn(&Source, &Map<String, Value>, &str) -> Result<Option<GuestText>, String>;

/// An agent, a skill or a command.
#[derive(Debug, Clone, PartialEq)]
pub struct GuestText {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: TextKind,
}

/// What a Markdown file of a system is.
#[derive(Debug, Clone, PartialEq)]
pub enum TextKind {
    /// A sub-agent that models can give tasks to.
    Agent(Box<Preset>),
    /// A text that the model reads when it needs it, and that the user can call.
    Skill,
    /// A text that the user calls by its name.
    Command,
}

/// The skills and commands that are in use, by context. What is used stays in a conversation, so a file keeps it for
/// later runs.
pub struct TextsInUse {
    facts: Facts,
    used: Mutex<HashMap<String, HashSet<PathBuf>>>,
}

impl TextsInUse {
    /// None in use yet.
    pub fn new(facts: Facts) -> Self {
        Self {
            facts,
            used: Mutex::default(),
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, HashSet<PathBuf>>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a text is in use. The error says that later runs will not know it.
    fn note(&self, scope: &Scope, file: &Path) -> Result<(), Failure> {
        let mut all = self.all();
        let used = all.entry(scope.context_name.clone()).or_default();
        if used.insert(file.to_path_buf()) {
            self.keep(&scope.context_name, used).map_err(unkept)?;
        }
        Ok(())
    }

    fn keep(&self, context: &str, used: &HashSet<PathBuf>) -> std::io::Result<()> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.facts.files)?;
        std::fs::write(self.facts.used_texts(context), json!(used).to_string())
    }

    /// Takes up what earlier runs of a conversation have used, or forgets it if the conversation begins anew.
    fn begin(&self, scope: &Scope, reason: StartReason) -> Result<(), Failure> {
        let context = &scope.context_name;
        let mut all = self.all();
        if reason == StartReason::Fork {
            // The conversation before it is one of those that this run knows.
            let used: HashSet<PathBuf> = all.values().flatten().cloned().collect();
            self.keep(context, &used).map_err(unkept)?;
            all.insert(context.clone(), used);
            return Ok(());
        }
        let kept = self.facts.used_texts(context);
        if !matches!(reason, StartReason::Resume | StartReason::Reload) {
            all.remove(context);
            return match std::fs::remove_file(&kept) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(unkept(error)),
                _ => Ok(()),
            };
        }
        let used: HashSet<PathBuf> = match read_regular(&kept, MOST_BYTES) {
            Err(error) if error.is_absence() => return Ok(()),
            Err(error) => return Err(unkept(error)),
            Ok(used) => serde_json::from_str(&used).map_err(unkept)?,
        };
        all.entry(context.clone()).or_default().extend(used);
        Ok(())
    }

    /// Whether a hook is active that its file ties to an agent, a skill or a command.
    pub fn is_active(&self, hook: &WhileUsed, class: Class, scope: &Scope) -> bool {
        match hook {
            WhileUsed::Agent(name) => {
                scope.parent_session_id.is_some()
                    && (scope.agent_name == *name
                        || (class >= Class::Filter && scope.agents_above.contains(name)))
            }
            WhileUsed::Text { file, .. } => {
                let all = self.all();
                all.get(&scope.context_name)
                    .is_some_and(|used| used.contains(file))
            }
        }
    }

    /// Notes from now on when the skills and commands of these hooks are used.
    pub fn register<'a>(self: &Arc<Self>, engine: &Engine, hooks: impl Iterator<Item = &'a HookEntry>) {
        let texts = hooks.filter_map(|entry| match &entry.while_used {
            Some(WhileUsed::Text { call, file }) => Some((call.clone(), file.clone())),
            _ => None,
        });
        let texts: Vec<(String, PathBuf)> = texts.collect();
        if texts.is_empty() {
            return;
        }
        const NAME: &str = "skills and commands in use";
        let by_name = texts.clone();
        let used = Arc::clone(self);
        engine.on::<PromptExpansion>(NAME, move |occasion| {
            let name = &occasion.payload.name;
            let mut called = by_name.iter().filter(|(call, _)| call == name);
            called.try_for_each(|(_, file)| used.note(occasion.scope, file))?;
            Ok(PromptExpansionReply::default())
        });
        let used = Arc::clone(self);
        let by_path = texts.clone();
        engine.on::<PreFileRead>(NAME, move |occasion| {
            let path = Path::new(&occasion.payload.path);
            let is_real =
                |file: &Path| file == path || becket_fs::canonicalize(file).is_ok_and(|real| real == path);
            let mut read = by_path.iter().filter(|(_, file)| is_real(file));
            read.try_for_each(|(_, file)| used.note(occasion.scope, file))?;
            Ok(PreFileReadReply::default())
        });
        let used = Arc::clone(self);
        engine.on::<PreShell>(NAME, move |occasion| {
            let PreShellPayload {
                command, directory, ..
            } = occasion.payload;
            let mut read = texts
                .iter()
                .filter(|(_, file)| is_named(file, command, directory));
            read.try_for_each(|(_, file)| used.note(occasion.scope, file))?;
            Ok(PreShellReply::default())
        });
        let used = Arc::clone(self);
        engine.on::<SessionStart>(NAME, move |occasion| {
            if occasion.scope.parent_session_id.is_none() {
                used.begin(occasion.scope, occasion.payload.reason)?;
            }
            Ok(SessionStartReply::default())
        });
    }
}

/// Whether a command line may read a file: it names the file, and its folder or all folders unless it runs there. A
/// guard that is active too early is better than one that is not.
fn is_named(file: &Path, command: &str, directory: &str) -> bool {
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let folder = file.parent().unwrap_or(file);
    let is_there = || {
        let directory = Path::new(directory);
        becket_fs::canonicalize(folder).is_ok_and(|folder| directory == folder)
    };
    command.contains(&name(file))
        && (command.contains(&name(folder)) || command.contains(['*', '?', '$']) || is_there())
}

fn unkept(error: impl fmt::Display) -> Failure {
    let why = format!("which skills and commands the conversation uses cannot be kept: {error}");
    Failure::new(Cause::Raised, why)
}
