//! The shelf of a run: skills, prompt templates and themes, as they were found at its start, with what extensions bring
//! when the session begins.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock};

use becket_agent::shelf::Shelf;
use becket_events::ResourcesReply;

use crate::{Brought, Resources, Template, skills_for_prompt};

/// Gives the file of the extension that has brought a path.
type Owners = Box<dyn Fn(&Path) -> Option<PathBuf> + Send + Sync>;

/// Skills, prompt templates and themes of a run.
pub struct RunShelf {
    cwd: PathBuf,
    /// What was found without extensions.
    found: Mutex<Resources>,
    /// The same with what they have brought.
    all: Mutex<Resources>,
    owners: OnceLock<Owners>,
    /// The name of the theme that was chosen.
    theme: Mutex<Option<String>>,
}

impl RunShelf {
    /// A shelf with what was found.
    pub fn new(found: Resources, cwd: &Path) -> Self {
        Self {
            cwd: cwd.to_owned(),
            all: Mutex::new(found.clone()),
            found: Mutex::new(found),
            owners: OnceLock::new(),
            theme: Mutex::default(),
        }
    }

    /// Something else was found. What extensions bring is asked for after this.
    pub fn renew(&self, found: Resources) {
        *self.all() = found.clone();
        *self
            .found
            .lock()
            .expect("no panic happens while the shelf is held") = found;
    }

    /// From now on things are drawn with the theme of that name.
    pub fn choose_theme(&self, name: &str) {
        *self.theme() = Some(name.to_owned());
    }

    /// The name of the theme that was chosen.
    pub fn chosen_theme(&self) -> Option<String> {
        self.theme().clone()
    }

    /// Lets it know whose paths are whose, once there are extensions.
    pub fn ask_for_owners(&self, owners: impl Fn(&Path) -> Option<PathBuf> + Send + Sync + 'static) {
        // They are loaded once.
        let _ = self.owners.set(Box::new(owners));
    }

    /// Looks at everything that lies on it now.
    pub fn look<T>(&self, look: impl FnOnce(&Resources) -> T) -> T {
        look(&self.all())
    }

    /// Whether a line calls something that lies here.
    pub fn is_called(&self, line: &str) -> bool {
        self.look(|resources| resources.expanded(line).is_some())
    }

    /// What can be called, with its slash and its arguments, and what it does.
    pub fn listed(&self) -> String {
        let lines = self.each(|template| match &template.argument_hint {
            Some(hint) => format!("/{} {hint}", template.name),
            None => format!("/{}", template.name),
        });
        lines
            .into_iter()
            .map(|(name, about)| format!("{name:<9} {about}\n"))
            .collect()
    }

    /// What can be called, with its slash, and what it does.
    pub fn names(&self) -> Vec<(String, String)> {
        self.each(|template| format!("/{}", template.name))
    }

    /// The names of everything that files have brought, by its kind.
    pub fn kinds(&self) -> [(&'static str, Vec<String>); 3] {
        self.look(|resources| {
            let themes = resources.themes.iter().filter(|theme| theme.file.is_some());
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
        self.all.lock().expect("no panic happens while the shelf is held")
    }
}

impl Shelf for RunShelf {
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
            .expect("no panic happens while the shelf is held");
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
            folders.filter_map(|folder| folder.canonicalize().ok()).collect()
        })
    }
}

impl fmt::Debug for RunShelf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RunShelf")
            .field("all", &*self.all())
            .finish_non_exhaustive()
    }
}
