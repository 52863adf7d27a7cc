//! pi's resources: skills, prompt templates and themes. They are found and read here; nothing is run.
//!
//! Resources are found in the same places and order as extensions: those that the command line names, then those of the
//! project, the user, and packages. Of several with one name the first counts. Errors are reported, and the other
//! resources are used.
//!
//! Resources are text and guard nothing: they are hashed for trust but read in place, and those of an untrusted project
//! are left out without ending the run. A path on the command line comes first and must exist. In pi it comes last, so
//! that another skill with the same name would hide it.

mod colours;
mod files;
mod front_matter;
mod skills;
mod templates;
mod themes;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub use colours::Colour;
pub use skills::{SKILL_PREFIX, Skill, skills_for_prompt};
pub use templates::Template;
pub use themes::{ShownTheme, Theme};

use super::discovery::{PROJECT_FOLDER, ProjectFolder, Search};
use super::home::from_home;
use super::host_call::SourceInfo;
use super::packages::{Source, installed};
use super::patterns::{Overrides, is_pattern};
use super::settings_file::{Package, Settings};
use files::{Kind, Look};

/// Whether a text is that of a theme, and that of a file with front matter. Public only for its fuzz target.
#[doc(hidden)]
pub fn is_theme_or_has_front_matter(text: &str) -> (bool, bool) {
    let front_matter = front_matter::front_matter(text, Path::new("fuzz.md"));
    (Theme::of(text).is_ok(), front_matter.is_ok())
}

/// The folder in which programs share skills.
const SHARED_FOLDER: &str = ".agents";

/// The wanted resources of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// Files and folders that the command line names.
    pub given: &'a [PathBuf],
    /// Whether only the given files count.
    pub only_given: bool,
}

/// The wanted resources of each kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct WantedResources<'a> {
    /// Skills.
    pub skills: Wanted<'a>,
    /// Prompt templates.
    pub templates: Wanted<'a>,
    /// Themes.
    pub themes: Wanted<'a>,
}

impl<'a> WantedResources<'a> {
    fn of(&self, kind: Kind) -> Wanted<'a> {
        match kind {
            Kind::Skill => self.skills,
            Kind::Template => self.templates,
            Kind::Theme => self.themes,
        }
    }
}

/// All resources, in order; no two of a kind have the same name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resources {
    /// Skills.
    pub skills: Vec<Skill>,
    /// Prompt templates.
    pub templates: Vec<Template>,
    /// The themes of files.
    pub themes: Vec<Theme>,
    /// The real paths of files, so that none is read twice.
    seen: HashSet<PathBuf>,
}

/// The paths of an extension's resources. Relative ones begin in the working directory.
#[derive(Debug, Clone, Copy)]
pub struct Brought<'a> {
    /// Files and folders of skills.
    pub skills: &'a [String],
    /// Files and folders of prompt templates.
    pub templates: &'a [String],
    /// Files and folders of themes.
    pub themes: &'a [String],
}

/// The source of files, before each has its own path in it.
#[derive(Debug, Clone)]
struct Provenance {
    source: String,
    scope: &'static str,
    origin: &'static str,
    base: PathBuf,
}

impl Provenance {
    fn new(source: &str, scope: &'static str, base: &Path) -> Self {
        Self {
            source: source.into(),
            scope,
            origin: "top-level",
            base: base.into(),
        }
    }

    fn of(&self, file: &Path) -> SourceInfo {
        SourceInfo {
            path: file.display().to_string(),
            source: self.source.clone(),
            scope: self.scope,
            origin: self.origin,
            base_dir: Some(self.base.display().to_string()),
        }
    }
}

/// Whether the project around a folder may have resources, by a cheap check.
pub fn may_bring_resources(cwd: &Path) -> bool {
    let shared = || {
        cwd.ancestors()
            .any(|folder| becket_fs::is_dir(folder.join(SHARED_FOLDER)))
    };
    becket_fs::is_dir(cwd.join(PROJECT_FOLDER)) || shared()
}

impl Resources {
    /// The files that were read.
    pub fn files(&self) -> Vec<PathBuf> {
        let skills = self.skills.iter().map(|skill| skill.file.clone());
        let templates = self.templates.iter().map(|template| template.file.clone());
        let themes = self.themes.iter().filter_map(|theme| theme.file.clone());
        skills.chain(templates).chain(themes).collect()
    }

    /// Searches all places. The second list has remarks for the user. The error says which named path does not exist,
    /// or which settings cannot be read.
    pub fn find(search: &Search<'_>, wanted: &WantedResources<'_>) -> Result<(Self, Vec<String>), String> {
        let mut finder = Finder {
            search,
            found: Self::default(),
            remarks: Vec::new(),
        };
        for kind in Kind::ALL {
            finder.find(kind, wanted.of(kind))?;
        }
        if search.project == ProjectFolder::Untrusted {
            finder.tell_untrusted(wanted);
        }
        Ok((finder.found, finder.remarks))
    }

    /// Adds the resources of extensions, and returns remarks about them. `whose` returns the file of the extension that
    /// has brought a path, if it is known.
    pub fn extend(
        &mut self,
        brought: &Brought<'_>,
        cwd: &Path,
        whose: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Vec<String> {
        let kinds = [
            (Kind::Skill, brought.skills),
            (Kind::Template, brought.templates),
            (Kind::Theme, brought.themes),
        ];
        let mut remarks = Vec::new();
        for (kind, path) in kinds
            .iter()
            .flat_map(|(kind, paths)| paths.iter().map(move |path| (*kind, path)))
        {
            let path = cwd.join(path.trim());
            if let Err(error) = becket_fs::metadata(&path) {
                let word = kind.word();
                remarks.push(format!(
                    "an extension brings the {word} {}: {error}",
                    path.display()
                ));
                continue;
            }
            let extension = whose(&path);
            let name = extension.as_deref().and_then(Path::file_stem).map(Path::new);
            let source = name.map_or("extension".into(), |name| format!("extension:{}", name.display()));
            let base = extension.as_deref().and_then(Path::parent).or(path.parent());
            let by = Provenance::new(&source, "temporary", base.unwrap_or(&path));
            for file in files::at(kind, &path) {
                remarks.extend(self.add(kind, &file, by.of(&file)));
            }
        }
        remarks
    }

    /// The prompt of a line that calls a skill or a template by its name; `None` if it calls none.
    pub fn expanded(&self, line: &str) -> Option<Result<String, String>> {
        let line = line.strip_prefix('/')?;
        let (name, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if let Some(name) = name.strip_prefix(SKILL_PREFIX) {
            let skill = self.skills.iter().find(|skill| skill.name == name)?;
            return Some(skill.expanded(words));
        }
        let template = self.templates.iter().find(|template| template.name == name)?;
        Some(Ok(template.expanded(words)))
    }

    /// All themes, becket's own first.
    pub fn all_themes(&self) -> impl Iterator<Item = &Theme> {
        themes::own_themes().iter().chain(&self.themes)
    }

    /// The theme with that name.
    pub fn theme(&self, name: &str) -> Option<&Theme> {
        self.all_themes().find(|theme| theme.name == name)
    }

    /// Reads a file, unless it was read before. Returns remarks about it.
    fn add(&mut self, kind: Kind, file: &Path, source: SourceInfo) -> Vec<String> {
        let is_new = becket_fs::canonicalize(file).is_ok_and(|real| self.seen.insert(real));
        if !is_new {
            return Vec::new();
        }
        let taken = |name: &str, by: Option<&Path>| {
            let by = by.map_or("becket".into(), |by| by.display().to_string());
            let (word, file) = (kind.word(), file.display());
            vec![format!(
                "the {word} {name:?} of {file} is not used: {by} has one of that name"
            )]
        };
        match kind {
            Kind::Skill => {
                let skills::ReadSkill { skill, mut remarks } = Skill::read(file, source);
                if let Some(skill) = skill {
                    match self.skills.iter().find(|other| other.name == skill.name) {
                        Some(other) => remarks.extend(taken(&skill.name, Some(&other.file))),
                        None => self.skills.push(skill),
                    }
                }
                remarks
            }
            Kind::Template => match Template::read(file, source) {
                Err(why) => vec![why],
                Ok(read) => match self.templates.iter().find(|other| other.name == read.name) {
                    Some(other) => taken(&read.name, Some(&other.file)),
                    None => {
                        self.templates.push(read);
                        Vec::new()
                    }
                },
            },
            Kind::Theme => match Theme::read(file, source) {
                Err(why) => vec![why],
                Ok(read) => match self.theme(&read.name) {
                    Some(other) => taken(&read.name, other.file.as_deref()),
                    None => {
                        self.themes.push(read);
                        Vec::new()
                    }
                },
            },
        }
    }
}

struct Finder<'a> {
    search: &'a Search<'a>,
    found: Resources,
    remarks: Vec<String>,
}

impl Finder<'_> {
    fn add(&mut self, kind: Kind, files: Vec<PathBuf>, by: &Provenance) {
        for file in files {
            self.remarks.extend(self.found.add(kind, &file, by.of(&file)));
        }
    }

    fn find(&mut self, kind: Kind, wanted: Wanted<'_>) -> Result<(), String> {
        for given in wanted.given {
            self.add_given(kind, given)?;
        }
        self.add_given_packages(kind);
        let search = self.search;
        if wanted.only_given || search.project == ProjectFolder::Ignored {
            return Ok(());
        }
        let project = search.cwd.join(PROJECT_FOLDER);
        let of_project = Some(project.as_path()).filter(|_| search.project == ProjectFolder::Trusted);
        let mut packages: Vec<(&Path, Package, &'static str)> = Vec::new();
        for (folder, scope) in [(of_project, "project"), (search.home, "user")] {
            if let Some(folder) = folder {
                let settings = Settings::read(folder)?;
                self.add_folder(kind, folder, &settings, scope);
                packages.extend(
                    settings
                        .packages
                        .into_iter()
                        .map(|package| (folder, package, scope)),
                );
            }
            if kind == Kind::Skill {
                self.add_shared(scope);
            }
        }
        let mut known: HashSet<String> = HashSet::new();
        for (folder, package, scope) in packages {
            // The project comes first, so its version of a package is used.
            if known.insert(Source::of(&package.source).identity(folder, search.persons_home)) {
                self.add_package(kind, folder, &package, scope);
            }
        }
        Ok(())
    }

    /// Adds a path of the command line, which must exist.
    fn add_given(&mut self, kind: Kind, given: &Path) -> Result<(), String> {
        let path = self.search.cwd.join(from_home(given, self.search.persons_home));
        let metadata = becket_fs::metadata(&path)
            .map_err(|error| format!("there is no {} {}: {error}", kind.word(), path.display()))?;
        if metadata.is_file() && !kind.fits(&path) {
            let wanted = if kind == Kind::Theme { ".json" } else { ".md" };
            let word = kind.word();
            return Err(format!(
                "{} is no {word}: its name does not end in {wanted}",
                path.display()
            ));
        }
        let base = if metadata.is_dir() {
            Some(path.as_path())
        } else {
            path.parent()
        };
        let by = Provenance::new("local", "temporary", base.unwrap_or(&path));
        self.add(kind, files::at(kind, &path), &by);
        Ok(())
    }

    /// Adds the resources of packages that the command line names as extensions.
    fn add_given_packages(&mut self, kind: Kind) {
        let search = self.search;
        for given in search.given {
            let path = search.given_path(given);
            if let Some(path) = path.filter(|path| becket_fs::is_dir(path)) {
                let by = Provenance::new("cli", "temporary", &path);
                self.add(kind, files::of_package(kind, &path, None), &by);
            }
        }
    }

    /// Adds the files that the settings of a folder name, then those in it.
    fn add_folder(&mut self, kind: Kind, folder: &Path, settings: &Settings, scope: &'static str) {
        let (patterns, paths): (Vec<&String>, Vec<&String>) = settings
            .of(kind.folder())
            .iter()
            .partition(|entry| is_pattern(entry));
        let mut named = Vec::new();
        for path in paths {
            let path = folder.join(from_home(Path::new(path.trim()), self.search.persons_home));
            if let Err(error) = becket_fs::metadata(&path) {
                let (file, word) = (Settings::file(folder), kind.word());
                let words = format!("{} names the {word} {}: {error}", file.display(), path.display());
                self.remarks.push(words);
            }
            named.extend(files::at(kind, &path));
        }
        let named = files::left_by(named, &patterns, folder);
        self.add(kind, named, &Provenance::new("local", scope, folder));
        let overrides = Overrides::of(&patterns);
        let mut lying = files::in_folder(kind, &folder.join(kind.folder()), Look::Custom);
        lying.retain(|file| overrides.allow(file, folder));
        self.add(kind, lying, &Provenance::new("auto", scope, folder));
    }

    /// Adds skills from the folders that other programs use as well.
    fn add_shared(&mut self, scope: &'static str) {
        let folders = match scope {
            "project" if self.search.project == ProjectFolder::Trusted => self.shared_of_project(),
            "project" => Vec::new(),
            _ => self
                .search
                .persons_home
                .map(|home| home.join(SHARED_FOLDER))
                .into_iter()
                .collect(),
        };
        for folder in folders {
            let skills = folder.join(Kind::Skill.folder());
            let found = files::in_folder(Kind::Skill, &skills, Look::Shared);
            self.add(Kind::Skill, found, &Provenance::new("auto", scope, &folder));
        }
    }

    /// The shared folders from the working directory up to the root of its repository, without the user's own.
    fn shared_of_project(&self) -> Vec<PathBuf> {
        let (cwd, home) = (self.search.cwd, self.search.persons_home);
        let root = cwd
            .ancestors()
            .find(|folder| becket_fs::exists(folder.join(".git")));
        let within = cwd
            .ancestors()
            .take_while(|folder| root.is_none_or(|root| folder.starts_with(root)));
        let others = within.filter(|folder| Some(*folder) != home);
        others.map(|folder| folder.join(SHARED_FOLDER)).collect()
    }

    fn add_package(&mut self, kind: Kind, folder: &Path, package: &Package, scope: &'static str) {
        let search = self.search;
        // A project's packages are in its own folder.
        let global = if scope == "user" { search.global } else { &[] };
        // A package that is not installed was reported when extensions were searched.
        let root = installed(&package.source, Some(folder), global, search.persons_home);
        if let Some(root) = root.filter(|root| becket_fs::is_dir(root)) {
            let by = Provenance {
                origin: "package",
                ..Provenance::new(&package.source, scope, &root)
            };
            self.add(
                kind,
                files::of_package(kind, &root, package.of(kind.folder())),
                &by,
            );
        }
    }

    /// Reports the resources of an untrusted project, which are left out. They guard nothing, so the run continues
    /// without them.
    fn tell_untrusted(&mut self, wanted: &WantedResources<'_>) {
        let project = self.search.cwd.join(PROJECT_FOLDER);
        let mut left_out: Vec<String> = Vec::new();
        for kind in Kind::ALL.into_iter().filter(|kind| !wanted.of(*kind).only_given) {
            let mut folders = vec![(project.join(kind.folder()), Look::Custom)];
            if kind == Kind::Skill {
                let shared = self.shared_of_project().into_iter();
                folders.extend(shared.map(|folder| (folder.join(kind.folder()), Look::Shared)));
            }
            folders.retain(|(folder, look)| !files::in_folder(kind, folder, *look).is_empty());
            left_out.extend(folders.iter().map(|(folder, _)| folder.display().to_string()));
        }
        if !left_out.is_empty() {
            let folders = left_out.join(", ");
            self.remarks.push(format!(
                "{folders}: not used, because the project is not trusted; --trust does"
            ));
        }
    }
}
