//! Agents, skills and commands of a system: Markdown files that bring a sub-agent, a text for the model or a text that
//! the user calls by name, and hooks that are active only while one of them is used.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use becket_events::{
    Class, PreFileRead, PreFileReadReply, PromptExpansion, PromptExpansionReply, Scope, SessionStart,
    SessionStartReply,
};
use becket_hooks::Engine;
use becket_tools::Preset;
use serde_json::{Map, Value};

use crate::entry::{HookEntry, Source, WhileUsed};

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

/// The skills and commands that are in use, by context.
#[derive(Default)]
pub struct TextsInUse(Mutex<HashMap<String, HashSet<PathBuf>>>);

impl TextsInUse {
    fn all(&self) -> MutexGuard<'_, HashMap<String, HashSet<PathBuf>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, scope: &Scope, file: &Path) {
        let mut all = self.all();
        all.entry(scope.context_name.clone())
            .or_default()
            .insert(file.to_path_buf());
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
        let (by_file, by_name) = (texts.clone(), texts);
        let used = Arc::clone(self);
        engine.on::<PromptExpansion>(NAME, move |occasion| {
            let name = &occasion.payload.name;
            let called = by_name.iter().filter(|(call, _)| call == name);
            called.for_each(|(_, file)| used.note(occasion.scope, file));
            Ok(PromptExpansionReply::default())
        });
        let used = Arc::clone(self);
        engine.on::<PreFileRead>(NAME, move |occasion| {
            let path = Path::new(&occasion.payload.path);
            let is_real =
                |file: &Path| file == path || becket_fs::canonicalize(file).is_ok_and(|real| real == path);
            let read = by_file.iter().filter(|(_, file)| is_real(file));
            read.for_each(|(_, file)| used.note(occasion.scope, file));
            Ok(PreFileReadReply::default())
        });
        let used = Arc::clone(self);
        engine.on::<SessionStart>(NAME, move |occasion| {
            if occasion.scope.parent_session_id.is_none() {
                used.all().remove(&occasion.scope.context_name);
            }
            Ok(SessionStartReply::default())
        });
    }
}
