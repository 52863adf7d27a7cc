//! The resources of a run: skills, prompt templates and themes, as they were found at its start, with those that
//! extensions bring when the session begins.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock};

use becket_agent::prompt_library::PromptLibrary;
use becket_events::ResourcesReply;
use becket_host::Prompts;

use crate::{Brought, Resources, Template, skills_for_prompt};

/// Finds the file of the extension that has brought a path.
type Owners = Box<dyn Fn(&Path) -> Option<PathBuf> + Send + Sync>;

/// The skills, prompt templates and themes of a run.
pub struct RunResources {
    cwd: PathBuf,
    /// The resources that were found without extensions.
    found: Mutex<Resources>,
    /// All resources, with those that extensions have brought.
    all: Mutex<Resources>,
    owners: OnceLock<Owners>,
    /// The name of the theme that was chosen.
    theme: Mutex<Option<String>>,
}

impl RunResources {
    /// The resources of a run, as they were found.
    pub fn new(found: Resources, cwd: &Path) -> Self {
        Self {
            cwd: cwd.to_owned(),
            all: Mutex::new(found.clone()),
            found: Mutex::new(found),
            owners: OnceLock::new(),
            theme: Mutex::default(),
        }
    }

    /// Replaces the resources that were found. Extensions are asked for theirs after this.
    pub fn renew(&self, found: Resources) {
        *self.all() = found.clone();
        *self
            .found
            .lock()
            .expect("no panic happens while the resources are held") = found;
    }

    /// Uses the theme with that name for drawing from now on.
    pub fn choose_theme(&self, name: &str) {
        *self.theme() = Some(name.to_owned());
    }

    /// The name of the theme that was chosen.
    pub fn chosen_theme(&self) -> Option<String> {
        self.theme().clone()
    }

    /// Sets the function that finds the owners of paths, once there are extensions.
    pub fn ask_for_owners(&self, owners: impl Fn(&Path) -> Option<PathBuf> + Send + Sync + 'static) {
        // Extensions are loaded once, so this is set once.
        let _ = self.owners.set(Box::new(owners));
    }

    /// Calls a function with all current resources.
    pub fn look<T>(&self, look: impl FnOnce(&Resources) -> T) -> T {
        look(&self.all())
    }

    /// The names of all resources that come from files, by kind.
    pub fn kinds(&self) -> [(&'static str, Vec<String>); 3] {
        self.look(|resources| {
            let themes = resources.themes.iter();
            [
                (
                    "skills",
                    resources.skills.iter().map(|skill| skill.name.clone()).collect(),
                ),
                (
                    "prompt templates",
                    resources
                        .templates
                        .iter()
                        .map(|template| template.name.clone())
                        .collect(),
                ),
                ("themes", themes.map(|theme| theme.name.clone()).collect()),
            ]
        })
    }

    fn each(&self, shown: impl Fn(&Template) -> String) -> Vec<(String, String)> {
        self.look(|resources| {
            let templates = resources.templates.iter();
            let templates = templates.map(|template| (shown(template), template.description.clone()));
            let skills = resources.skills.iter();
            let skills = skills.map(|skill| (format!("/{}", skill.command()), skill.description.clone()));
            templates.chain(skills).collect()
        })
    }

    fn theme(&self) -> MutexGuard<'_, Option<String>> {
        self.theme
            .lock()
            .expect("no panic happens while the theme is held")
    }

    fn all(&self) -> MutexGuard<'_, Resources> {
        self.all
            .lock()
            .expect("no panic happens while the resources are held")
    }
}

impl Prompts for RunResources {
    fn is_called(&self, line: &str) -> bool {
        self.look(|resources| resources.expanded(line).is_some())
    }

    fn listed(&self) -> String {
        let lines = self.each(|template| match &template.argument_hint {
            Some(hint) => format!("/{} {hint}", template.name),
            None => format!("/{}", template.name),
        });
        lines
            .into_iter()
            .map(|(name, about)| format!("{name:<9} {about}\n"))
            .collect()
    }

    fn names(&self) -> Vec<(String, String)> {
        self.each(|template| format!("/{}", template.name))
    }
}

impl PromptLibrary for RunResources {
    fn extend(&self, brought: &ResourcesReply) -> Vec<String> {
        let brought = Brought {
            skills: &brought.skills.0,
            templates: &brought.prompts.0,
            themes: &brought.themes.0,
        };
        let whose = |path: &Path| self.owners.get().and_then(|owners| owners(path));
        let found = self
            .found
            .lock()
            .expect("no panic happens while the resources are held");
        let mut all = found.clone();
        drop(found);
        let remarks = all.extend(&brought, &self.cwd, whose);
        *self.all() = all;
        remarks
    }

    fn skills(&self, reader: &str) -> Option<String> {
        self.look(|resources| skills_for_prompt(&resources.skills, reader))
    }

    fn expand(&self, line: &str) -> Option<Result<String, String>> {
        self.look(|resources| resources.expanded(line))
    }

    fn folders(&self) -> Vec<PathBuf> {
        self.look(|resources| {
            let folders = resources.skills.iter().map(|skill| skill.own_place());
            folders
                .filter_map(|folder| becket_fs::canonicalize(folder).ok())
                .collect()
        })
    }
}

impl fmt::Debug for RunResources {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RunResources")
            .field("all", &*self.all())
            .finish_non_exhaustive()
    }
}
