//! Finds pi extensions: those that the command line names, those of the project and of the user, and those of packages,
//! in this order. Nothing is run or installed here.
//!
//! Any extension may hold a guard, which only running it would show. So a file that cannot be read is an error, and
//! untrusted extensions are reported and not ignored silently.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use becket_host::Unloaded;

use super::extension_files::{brings_something_else, in_folder, of_package, places_in, wanted_of};
use super::extension_place::{EXTENSIONS, Entry, ExtensionPlace};
use super::home::from_home;
use super::packages::{Source, installed};
use super::patterns::{Overrides, chosen, is_pattern};
use super::settings_file::{Package, Settings};

/// The folder of a project in which pi looks.
pub(super) const PROJECT_FOLDER: &str = ".pi";

/// Whether a folder is the one in which a project has its extensions.
pub fn has_project_extensions(folder: &Path) -> bool {
    folder.ends_with(Path::new(PROJECT_FOLDER).join(EXTENSIONS))
}

/// The word for a pi extension in messages.
pub const EXTENSION: &str = "extension";

/// The path of the settings of the project around a folder, whether the file exists or not.
pub fn project_settings(cwd: &Path) -> PathBuf {
    Settings::file(&cwd.join(PROJECT_FOLDER))
}

/// The places in which extensions are searched.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// Files, folders and package sources of the command line, in order.
    pub given: &'a [PathBuf],
    /// The directory in which becket was started.
    pub cwd: &'a Path,
    /// The user's home.
    pub persons_home: Option<&'a Path>,
    /// pi's folder, if it is used.
    pub home: Option<&'a Path>,
    /// Whether the project's folder is searched.
    pub project: ProjectFolder,
    /// The folders of globally installed packages: see `global_folders`.
    pub global: &'a [PathBuf],
}

/// How extensions of the project are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectFolder {
    /// The extensions are used.
    Trusted,
    /// The extensions are found and reported, and not used.
    Untrusted,
    /// The folder is not searched.
    Ignored,
}

/// The origin of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    CommandLine,
    /// The project.
    Project,
    /// pi's folder.
    Person,
    /// An installed package.
    Package(String),
}

/// An extension that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The extension's unique name in messages.
    pub name: String,
    /// The extension's file.
    pub file: PathBuf,
    /// The extension's origin.
    pub origin: Origin,
    /// The copy of the file that is loaded instead, if there is one.
    pub copy: Option<PathBuf>,
}

impl Candidate {
    /// Whether the project brings it. Of what a project brings, a trusted copy is loaded.
    pub fn is_of_project(&self) -> bool {
        self.origin == Origin::Project || self.copy.is_some()
    }

    /// The file that is loaded.
    pub fn code(&self) -> &Path {
        self.copy.as_deref().unwrap_or(&self.file)
    }
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The extensions, in the order in which they are loaded.
    pub extensions: Vec<Candidate>,
    /// Remarks for the user.
    pub remarks: Vec<String>,
    /// Extensions that pi would load and that do not exist.
    pub unloaded: Vec<Unloaded>,
    /// Files of the project that are not trusted and were not used.
    pub untrusted: Vec<PathBuf>,
    /// The places in which the user's own extensions were searched.
    pub places: Vec<ExtensionPlace>,
}

impl Search<'_> {
    /// Searches all places. The error says which file cannot be read or does not exist.
    pub fn find(&self) -> Result<Found, String> {
        let mut finder = Finder {
            search: self,
            found: Found::default(),
            seen: HashSet::new(),
        };
        for given in self.given {
            let entries = self.entries_of(given)?;
            finder.add(entries, &Origin::CommandLine);
        }
        let project = self.cwd.join(PROJECT_FOLDER);
        let of_project = match self.project {
            ProjectFolder::Ignored => None,
            ProjectFolder::Untrusted => {
                finder.found.untrusted = untrusted(&project)?;
                None
            }
            ProjectFolder::Trusted => Some(project.as_path()),
        };
        let mut packages: Vec<(&Path, Package)> = Vec::new();
        for (folder, origin) in [(of_project, Origin::Project), (self.home, Origin::Person)] {
            if let Some(folder) = folder {
                let settings = Settings::read(folder)?;
                finder.add_folder(folder, &settings.extensions, &origin)?;
                packages.extend(settings.packages.into_iter().map(|package| (folder, package)));
            }
        }
        let mut known: HashSet<String> = HashSet::new();
        for (folder, package) in packages {
            // The project comes first, so its version of a package is used.
            if known.insert(Source::of(&package.source).identity(folder, self.persons_home)) {
                finder.add_package(folder, &package)?;
            }
        }
        Ok(finder.found)
    }

    /// The file or folder that an argument of the command line names; `None` for a package that is not installed.
    pub(super) fn given_path(&self, given: &Path) -> Option<PathBuf> {
        let text = given.to_string_lossy();
        match Source::of(&text) {
            Source::Local(_) => Some(self.cwd.join(from_home(given, self.persons_home))),
            _ => self.installed(&text),
        }
    }

    /// The extensions of an argument of the command line.
    fn entries_of(&self, given: &Path) -> Result<Vec<Entry>, String> {
        let path = self.given_path(given).ok_or_else(|| {
            let text = given.display();
            format!(
                "the extension {text} is a package that is not on this machine; install it with `pi install {text}` \
                 or with npm, or name its folder"
            )
        })?;
        let entries = match becket_fs::metadata(&path) {
            Err(error) => return Err(format!("there is no extension {}: {error}", path.display())),
            Ok(metadata) if metadata.is_dir() => of_package(&path)?,
            Ok(_) => vec![Entry::of_file(path.clone())],
        };
        match entries.is_empty() && !brings_something_else(&path) {
            true => Err(format!(
                "the folder {} holds no extension: no package.json that names one, no index.ts, no *.ts",
                path.display()
            )),
            false => Ok(entries),
        }
    }
}

impl Search<'_> {
    /// A package that the user has installed, in pi's folder or globally.
    fn installed(&self, source: &str) -> Option<PathBuf> {
        installed(source, self.home, self.global, self.persons_home)
    }
}

/// The files that an untrusted project would bring.
fn untrusted(project: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found: Vec<PathBuf> = Vec::new();
    let file = Settings::file(project);
    // Settings that cannot be read may name a guard.
    let names_some = Settings::read(project).map_or(true, |settings| {
        !settings.packages.is_empty() || !settings.extensions.is_empty()
    });
    if names_some {
        found.push(file);
    }
    let entries = in_folder(&project.join(EXTENSIONS))?;
    found.extend(entries.into_iter().map(|entry| entry.file));
    Ok(found)
}

struct Finder<'a> {
    search: &'a Search<'a>,
    found: Found,
    /// The real paths of files, so that none is loaded twice.
    seen: HashSet<PathBuf>,
}

impl Finder<'_> {
    fn add(&mut self, entries: Vec<Entry>, origin: &Origin) {
        for Entry { name, file } in entries {
            let real = match becket_fs::canonicalize(&file) {
                Ok(real) => real,
                Err(error) => {
                    self.found
                        .unloaded
                        .push(Unloaded::new(EXTENSION, name, &file, error.to_string()));
                    continue;
                }
            };
            if !self.seen.insert(real) {
                continue;
            }
            let is_taken = |name: &str| self.found.extensions.iter().any(|known| known.name == name);
            self.found.extensions.push(Candidate {
                name: match is_taken(&name) {
                    true => file.display().to_string(),
                    false => name,
                },
                file,
                origin: origin.clone(),
                copy: None,
            });
        }
    }

    /// The extensions of some places. The user's places are recorded, so that missing extensions are noticed later. For
    /// a project, trust remembers them.
    fn noted(&mut self, places: Vec<ExtensionPlace>, origin: &Origin) -> Vec<Entry> {
        if *origin == Origin::Person {
            self.found.places.extend(places.iter().cloned());
        }
        places.into_iter().flat_map(|place| place.files).collect()
    }

    /// Adds the extensions that the settings of a folder name, then those in it.
    fn add_folder(&mut self, folder: &Path, settings: &[String], origin: &Origin) -> Result<(), String> {
        let (patterns, paths): (Vec<&String>, Vec<&String>) =
            settings.iter().partition(|entry| is_pattern(entry));
        let mut named = Vec::new();
        for path in paths {
            let path = folder.join(from_home(Path::new(path.trim()), self.search.persons_home));
            match becket_fs::metadata(&path) {
                Err(error) => {
                    let why = format!("{error}; it is named in {}", Settings::file(folder).display());
                    let Entry { name, file } = Entry::of_file(path);
                    self.found
                        .unloaded
                        .push(Unloaded::new(EXTENSION, name, &file, why));
                }
                Ok(metadata) if metadata.is_dir() => named.extend(self.noted(places_in(&path)?, origin)),
                Ok(_) => named.push(Entry::of_file(path)),
            }
        }
        let named = chosen(named, &patterns, folder);
        self.add(named, origin);
        let overrides = Overrides::of(&patterns);
        let places = places_in(&folder.join(EXTENSIONS))?;
        let mut lying = self.noted(places, origin);
        lying.retain(|entry| overrides.allow(&entry.file, folder));
        self.add(lying, origin);
        Ok(())
    }

    fn add_package(&mut self, folder: &Path, package: &Package) -> Result<(), String> {
        let search = self.search;
        // A project's packages are in its own folder.
        let global = if search.home == Some(folder) {
            search.global
        } else {
            &[]
        };
        let Some(root) = installed(&package.source, Some(folder), global, search.persons_home) else {
            let source = &package.source;
            let why = format!("the package is not installed; try `pi install {source}`");
            self.found
                .unloaded
                .push(Unloaded::new(EXTENSION, source, &Settings::file(folder), why));
            return Ok(());
        };
        let entries = match becket_fs::is_dir(&root) {
            true => of_package(&root)?,
            false => vec![Entry::of_file(root.clone())],
        };
        let origin = match search.home == Some(folder) {
            true => Origin::Person,
            false => Origin::Project,
        };
        let place = ExtensionPlace {
            path: root.clone(),
            files: entries,
        };
        let entries = self.noted(vec![place], &origin);
        let entries = wanted_of(entries, package.of(EXTENSIONS), &root);
        self.add(entries, &Origin::Package(package.source.clone()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Room(tempfile::TempDir);

    impl Room {
        /// Folders with these files; a name that ends in `/` is a folder.
        fn with(files: &[(&str, &str)]) -> Self {
            let room = Self(tempfile::tempdir().unwrap());
            for (name, text) in files {
                let path = room.path(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                match name.ends_with('/') {
                    true => std::fs::create_dir_all(path).unwrap(),
                    false => std::fs::write(path, text).unwrap(),
                }
            }
            room
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn find(&self, given: &[&str], project: ProjectFolder) -> Result<Found, String> {
            let given: Vec<PathBuf> = given.iter().map(PathBuf::from).collect();
            let (cwd, person) = (self.path("work"), self.path("person"));
            let search = Search {
                given: &given,
                cwd: &cwd,
                persons_home: Some(&person),
                home: Some(&self.path("agent")),
                project,
                global: &[self.path("global/node_modules")],
            };
            search.find()
        }

        /// The names of all extensions that are found, with their files relative to the room.
        fn names(&self, given: &[&str], project: ProjectFolder) -> Vec<String> {
            let found = self.find(given, project).unwrap();
            let shown = |path: &Path| path.strip_prefix(self.0.path()).unwrap().display().to_string();
            found
                .extensions
                .iter()
                .map(|one| format!("{} {}", one.name, shown(&one.file)))
                .collect()
        }
    }

    #[test]
    fn the_command_line_comes_first_then_the_project_the_person_and_packages() {
        let room = Room::with(&[
            ("work/z.ts", ""),
            ("work/a.ts", ""),
            ("work/.pi/extensions/same.ts", ""),
            (
                "work/.pi/settings.json",
                r#"{"extensions": ["../set.ts"], "packages": ["npm:pack@2"]}"#,
            ),
            ("work/set.ts", ""),
            ("work/.pi/npm/node_modules/pack/extensions/of_project.ts", ""),
            ("agent/extensions/same.ts", ""),
            ("agent/extensions/b.js", ""),
            (
                "agent/settings.json",
                r#"{"theme": "dark", "extensions": ["~/mine.ts", "nowhere.ts"],
                    "packages": ["npm:pack", "npm:@scope/name@1.0", "git:github.com/who/what@v1", "npm:absent",
                                 {"source": "../local", "extensions": ["!**/two.ts"]},
                                 {"source": "../none", "extensions": []}]}"#,
            ),
            ("person/mine.ts", ""),
            ("agent/npm/node_modules/pack/index.ts", ""),
            (
                "agent/npm/node_modules/@scope/name/package.json",
                r#"{"pi": {"extensions": ["./src/main.ts"]}}"#,
            ),
            ("agent/npm/node_modules/@scope/name/src/main.ts", ""),
            ("agent/git/github.com/who/what/extensions/git.ts", ""),
            (
                "local/package.json",
                r#"{"pi": {"extensions": ["./parts/*.ts", "!./no", "-parts/three.ts"]}}"#,
            ),
            ("local/parts/one.ts", ""),
            ("local/parts/two.ts", ""),
            ("local/parts/three.ts", ""),
            ("none/index.ts", ""),
        ]);
        let names = room.names(&["z.ts", "a.ts", "z.ts"], ProjectFolder::Trusted);
        assert_eq!(
            names,
            [
                "z work/z.ts",
                "a work/a.ts",
                "set work/.pi/../set.ts",
                "same work/.pi/extensions/same.ts",
                "mine person/mine.ts",
                "b agent/extensions/b.js",
                &format!(
                    "{} agent/extensions/same.ts",
                    room.path("agent/extensions/same.ts").display()
                ),
                "of_project work/.pi/npm/node_modules/pack/extensions/of_project.ts",
                "name agent/npm/node_modules/@scope/name/src/main.ts",
                "git agent/git/github.com/who/what/extensions/git.ts",
                "local/one agent/../local/parts/one.ts",
            ]
        );
        let unloaded = room.find(&[], ProjectFolder::Trusted).unwrap().unloaded;
        let names: Vec<&str> = unloaded.iter().map(|guest| guest.name.as_str()).collect();
        assert_eq!(names, ["nowhere", "npm:absent"], "{unloaded:?}");
    }

    #[test]
    fn a_folder_is_looked_into_one_level_deep() {
        let room = Room::with(&[
            ("agent/extensions/plain.ts", ""),
            ("agent/extensions/old.js", ""),
            ("agent/extensions/notes.md", ""),
            ("agent/extensions/.hidden.ts", ""),
            ("agent/extensions/node_modules/x/index.ts", ""),
            ("agent/extensions/both/index.js", ""),
            ("agent/extensions/both/index.ts", ""),
            ("agent/extensions/deep/more/index.ts", ""),
            (
                "agent/extensions/many/package.json",
                r#"{"pi": {"extensions": ["a.ts", "b.ts", "gone.ts"]}}"#,
            ),
            ("agent/extensions/many/a.ts", ""),
            ("agent/extensions/many/b.ts", ""),
            ("agent/extensions/many/index.ts", ""),
            ("agent/extensions/plainpack/package.json", r#"{"name": "x"}"#),
            ("agent/extensions/plainpack/index.ts", ""),
            ("agent/extensions/.gitignore", "ignored.ts\nleft_out/\n"),
            ("agent/extensions/.ignore", "other.ts"),
            ("agent/extensions/.fdignore", "third.ts"),
            ("agent/extensions/ignored.ts", ""),
            ("agent/extensions/other.ts", ""),
            ("agent/extensions/third.ts", ""),
            ("agent/extensions/left_out/index.ts", ""),
            (
                "agent/settings.json",
                r#"{"extensions": ["-extensions/off.ts", "!**/no_*.ts", "+extensions/no_but.ts"]}"#,
            ),
            ("agent/extensions/off.ts", ""),
            ("agent/extensions/no_thanks.ts", ""),
            ("agent/extensions/no_but.ts", ""),
            ("elsewhere/linked.ts", ""),
            ("work/", ""),
        ]);
        let folder = room.path("agent/extensions");
        symlink(room.path("elsewhere/linked.ts"), folder.join("linked.ts")).unwrap();
        symlink("nowhere.ts", folder.join("zz_broken.ts")).unwrap();
        let names = room.names(&[], ProjectFolder::Trusted);
        let names: Vec<&str> = names.iter().map(|name| name.split(' ').next().unwrap()).collect();
        let expected = [
            "both",
            "linked",
            "many/a",
            "many/b",
            "no_but",
            "old",
            "plain",
            "plainpack",
        ];
        assert_eq!(names, expected);
        let unloaded = room.find(&[], ProjectFolder::Trusted).unwrap().unloaded;
        let names: Vec<&str> = unloaded.iter().map(|guest| guest.name.as_str()).collect();
        assert_eq!(names, ["zz_broken"], "{unloaded:?}");
    }

    #[test]
    fn what_the_project_brings_is_told_and_not_used_without_trust() {
        let room = Room::with(&[
            ("work/.pi/extensions/gate.ts", ""),
            ("work/.pi/settings.json", r#"{"packages": ["npm:x"]}"#),
            ("agent/", ""),
        ]);
        let found = room.find(&[], ProjectFolder::Untrusted).unwrap();
        assert_eq!(found.extensions, []);
        let expected = ["work/.pi/settings.json", "work/.pi/extensions/gate.ts"].map(|name| room.path(name));
        assert_eq!(found.untrusted, expected);
        assert_eq!(room.find(&[], ProjectFolder::Ignored), Ok(Found::default()));
        // Settings without extensions bring none, and those that cannot be read may bring any.
        for (text, count) in [(r#"{"theme": "dark"}"#, 1), ("{", 2), (r#"{"extensions": 1}"#, 2)] {
            std::fs::write(room.path("work/.pi/settings.json"), text).unwrap();
            assert_eq!(
                room.find(&[], ProjectFolder::Untrusted).unwrap().untrusted.len(),
                count,
                "{text}"
            );
        }
        assert!(
            room.find(&[], ProjectFolder::Trusted)
                .unwrap_err()
                .contains("cannot be understood")
        );
    }

    #[test]
    fn what_the_command_line_names_must_be_there() {
        let room = Room::with(&[
            ("work/empty/x.md", ""),
            ("agent/", ""),
            ("work/pack/extensions/in.ts", ""),
        ]);
        for (given, words) in [
            ("none.ts", "there is no extension"),
            ("empty", "holds no extension"),
            ("npm:thing", "pi install npm:thing"),
            ("git:github.com/a/b", "pi install git:github.com/a/b"),
            ("https://github.com/a/b", "not on this machine"),
        ] {
            let error = room.find(&[given], ProjectFolder::Ignored).unwrap_err();
            assert!(error.contains(words), "{given}: {error}");
        }
        assert_eq!(
            room.names(&["pack"], ProjectFolder::Ignored),
            ["in work/pack/extensions/in.ts"]
        );
    }

    #[test]
    fn packages_of_the_person_are_found_where_every_pi_has_put_them() {
        let packages = r#"{"packages": ["npm:new", "npm:old@1", "npm:both"]}"#;
        let room = Room::with(&[
            ("work/.pi/settings.json", r#"{"packages": ["npm:projects"]}"#),
            ("agent/settings.json", packages),
            ("agent/npm/node_modules/new/index.ts", ""),
            ("agent/npm/node_modules/both/index.ts", ""),
            ("agent/git/example.org/a/b/index.ts", ""),
            ("global/node_modules/old/index.ts", ""),
            ("global/node_modules/both/index.ts", ""),
            ("global/node_modules/projects/index.ts", ""),
            ("global/node_modules/@given/one/index.ts", ""),
        ]);
        assert_eq!(
            room.names(
                &["npm:@given/one@^2", "git:example.org/a/b@main"],
                ProjectFolder::Trusted
            ),
            [
                "one global/node_modules/@given/one/index.ts",
                "b agent/git/example.org/a/b/index.ts",
                "new agent/npm/node_modules/new/index.ts",
                "old global/node_modules/old/index.ts",
                "both agent/npm/node_modules/both/index.ts",
            ]
        );
        let unloaded = room.find(&[], ProjectFolder::Trusted).unwrap().unloaded;
        let names: Vec<&str> = unloaded.iter().map(|guest| guest.name.as_str()).collect();
        assert_eq!(names, ["npm:projects"], "{unloaded:?}");
    }

    #[test]
    fn sources_of_packages_are_told_apart() {
        let git = |host: &str, path: &str| Source::Git(host.into(), path.into());
        for (text, expected) in [
            ("npm:ms", Source::Npm("ms".into())),
            ("npm:@a/b@1.2", Source::Npm("@a/b".into())),
            ("git:github.com/a/b@v1", git("github.com", "a/b")),
            ("git:git@github.com:a/b.git", git("github.com", "a/b")),
            ("https://example.org/a/b.git", git("example.org", "a/b")),
            ("ssh://git@example.org/a/b", git("example.org", "a/b")),
            ("github:a/b", git("github.com", "a/b")),
            ("./x", Source::Local("./x".into())),
            (
                "git:github.com/../..",
                Source::Local("git:github.com/../..".into()),
            ),
        ] {
            assert_eq!(Source::of(text), expected, "{text}");
        }
    }
}
