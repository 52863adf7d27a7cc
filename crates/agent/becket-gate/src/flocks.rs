//! Flocks: groups of contexts that share goals, instructions, tasks and a zone of the virtual file system.
//!
//! The members of each flock are listed in one file, `vfs:///flocks/registry.json`, which no context can write. Every
//! context belongs to the flock `site`, whose folder is the zone `vfs:///site`; it is in no registry.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use becket_events::FlockGoals;
use becket_hooks::nearest;
use becket_lock::lock_within;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::now_ms;
use crate::vfs::{Vfs, VfsPath, VfsPlace};

/// The flock of all contexts.
pub const SITE: &str = "site";

/// The file that lists the flocks.
const REGISTRY: &str = "/flocks/registry.json";

/// The file that is locked while the list is changed.
const LOCK: &str = "/flocks/.registry.lock";

/// How long a change of the list waits for another process to finish its own.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest name of a flock.
const LONGEST_NAME: usize = 100;

/// The most bytes of a flock's instructions or goals that go into a system prompt.
const LONGEST_TEXT: usize = 64 * 1024;

/// The flocks of a virtual file system.
#[derive(Debug, Clone)]
pub struct Flocks {
    vfs: Vfs,
}

/// A group of contexts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flock {
    /// The flock's name.
    pub name: String,
    /// The contexts that belong to the flock, in the order in which they joined.
    pub members: Vec<String>,
}

/// What the flocks of a context want its model to know.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlockTexts {
    /// The instructions of each flock that has some.
    pub prompts: Vec<(String, String)>,
    /// The goals of each flock that has some.
    pub goals: Vec<FlockGoals>,
    /// What was left out, and why. A bad file only costs itself, since any member may write it.
    pub problems: Vec<String>,
}

/// The content of the registry file; unknown fields are kept.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Registry {
    #[serde(default)]
    flocks: Vec<Entry>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    name: String,
    #[serde(default)]
    created_at: u64,
    #[serde(default)]
    members: Vec<Member>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Member {
    context: String,
    #[serde(default)]
    site: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Flocks {
    /// The flocks in a virtual file system.
    pub fn new(vfs: Vfs) -> Self {
        Self { vfs }
    }

    /// All flocks but `site`, by name.
    pub fn list(&self) -> Result<Vec<Flock>, String> {
        let registry = self.read()?;
        let mut flocks: Vec<Flock> = registry.flocks.into_iter().map(Entry::into_flock).collect();
        flocks.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(flocks)
    }

    /// The flocks that a context has joined, by name. `site` is not among them.
    pub fn of(&self, context: &str) -> Result<Vec<String>, String> {
        let flocks = self.list()?.into_iter();
        let joined = flocks.filter(|flock| flock.members.iter().any(|member| member == context));
        // A name that is not valid cannot open a zone, whoever wrote it into the file.
        let named = joined.filter(|flock| check_name(&flock.name).is_ok());
        Ok(named.map(|flock| flock.name).collect())
    }

    /// Makes a flock without members. Says whether it is new.
    pub fn create(&self, flock: &str) -> Result<bool, String> {
        check_name(flock)?;
        self.change(|registry| {
            let is_new = !registry.flocks.iter().any(|entry| entry.name == flock);
            registry.entry(flock);
            Ok(is_new)
        })
    }

    /// Takes a flock off the list; its files stay.
    pub fn delete(&self, flock: &str) -> Result<(), String> {
        check_name(flock)?;
        self.change(|registry| {
            registry.known(flock)?;
            registry.flocks.retain(|entry| entry.name != flock);
            Ok(())
        })
    }

    /// Lets a context join a flock, which is made if it is new. Says whether it had not joined before.
    pub fn join(&self, flock: &str, context: &str) -> Result<bool, String> {
        check_name(flock)?;
        self.change(|registry| {
            let members = &mut registry.entry(flock).members;
            let is_new = !members.iter().any(|member| member.context == context);
            if is_new {
                members.push(Member {
                    context: context.into(),
                    site: SITE.into(),
                    rest: Map::new(),
                });
            }
            Ok(is_new)
        })
    }

    /// Removes a context from a flock.
    pub fn leave(&self, flock: &str, context: &str) -> Result<(), String> {
        check_name(flock)?;
        self.change(|registry| {
            let members = &mut registry.known(flock)?.members;
            let before = members.len();
            members.retain(|member| member.context != context);
            if members.len() == before {
                return Err(format!(
                    "the context {context} does not belong to the flock {flock}"
                ));
            }
            Ok(())
        })
    }

    /// Follows a context that was renamed, or removed if there is no new name.
    pub fn rename(&self, context: &str, new: Option<&str>) -> Result<(), String> {
        let belongs = |flock: &Flock| flock.members.iter().any(|member| member == context);
        if !self.list()?.iter().any(belongs) {
            return Ok(());
        }
        self.change(|registry| {
            for entry in &mut registry.flocks {
                match new {
                    None => entry.members.retain(|member| member.context != context),
                    Some(new) => {
                        let own = entry
                            .members
                            .iter_mut()
                            .filter(|member| member.context == context);
                        own.for_each(|member| member.context = new.into());
                    }
                }
            }
            Ok(())
        })
    }

    /// The file of a flock's goals, for a context that belongs to it.
    pub fn goals_of(&self, flock: &str, context: &str) -> Result<VfsPlace, String> {
        if flock != SITE {
            check_name(flock)?;
            let joined = self.of(context)?;
            if !joined.iter().any(|name| name == flock) {
                let (known, near) = (
                    joined.join(", "),
                    nearest(flock, joined.iter().map(String::as_str)),
                );
                let help = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if known.is_empty() => "it has joined none yet".into(),
                    None => format!("it belongs to {SITE}, {known}"),
                };
                return Err(format!(
                    "the context {context} does not belong to the flock `{flock}`; {help}"
                ));
            }
        }
        self.place(&format!("{}/goals.md", folder(flock)))
    }

    /// The instructions and goals of all flocks of a context: of the site first, then by name.
    pub fn texts(&self, context: &str) -> FlockTexts {
        let mut texts = FlockTexts::default();
        let joined = self.of(context).unwrap_or_else(|problem| {
            texts.problems.push(problem);
            Vec::new()
        });
        let mut problems = Vec::new();
        let mut text = |flock: &str, file: &str| {
            self.text(flock, file).unwrap_or_else(|problem| {
                problems.push(problem);
                None
            })
        };
        for flock in std::iter::once(SITE.to_owned()).chain(joined) {
            if let Some(prompt) = text(&flock, "prompt.md") {
                texts.prompts.push((flock.clone(), prompt));
            }
            if let Some(goals) = text(&flock, "goals.md") {
                texts.goals.push(FlockGoals { flock, goals });
            }
        }
        texts.problems.extend(problems);
        texts
    }

    /// The text of a flock's file; `None` if it is missing or blank.
    fn text(&self, flock: &str, file: &str) -> Result<Option<String>, String> {
        let place = self.place(&format!("{}/{file}", folder(flock)))?;
        let problem = |what: String| format!("{} is left out: {what}", place.address());
        let bytes = match place.read() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(problem(error.to_string())),
        };
        if bytes.len() > LONGEST_TEXT {
            return Err(problem(format!("it has more than {LONGEST_TEXT} bytes")));
        }
        let text = String::from_utf8(bytes).map_err(|_| problem("it is not UTF-8 text".into()))?;
        Ok((!text.trim().is_empty()).then_some(text))
    }

    fn place(&self, path: &str) -> Result<VfsPlace, String> {
        let place = self.vfs.place(&VfsPath::from_path(path)?)?;
        match place.address().as_str() == path {
            true => Ok(place),
            false => Err(format!("vfs://{path} is a link; it must be a file of its own")),
        }
    }

    fn read(&self) -> Result<Registry, String> {
        let place = self.place(REGISTRY)?;
        let bytes = match place.read() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Registry::default()),
            Err(error) => {
                return Err(format!(
                    "the list of flocks, {}, cannot be read: {error}",
                    place.address()
                ));
            }
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            format!(
                "the list of flocks, {}, is broken: {error}. Repair it, or remove it to start over",
                place.address()
            )
        })
    }

    /// Changes the list under a lock, and writes it atomically.
    fn change<T>(&self, change: impl FnOnce(&mut Registry) -> Result<T, String>) -> Result<T, String> {
        self.vfs.prepare()?;
        let failed = |error: io::Error| format!("the list of flocks cannot be written: {error}");
        let lock = self.place(LOCK)?;
        let _lock = locked(lock.file()).map_err(failed)?;
        let mut registry = self.read()?;
        let result = change(&mut registry)?;
        let text = serde_json::to_string_pretty(&registry).map_err(|error| failed(error.into()))?;
        self.place(REGISTRY)?.write(text.as_bytes()).map_err(failed)?;
        Ok(result)
    }
}

impl Registry {
    /// The flock with that name, made if it is new.
    fn entry(&mut self, flock: &str) -> &mut Entry {
        let at = self.flocks.iter().position(|entry| entry.name == flock);
        let at = at.unwrap_or_else(|| {
            self.flocks.push(Entry {
                name: flock.into(),
                created_at: now_ms() / 1000,
                members: Vec::new(),
                rest: Map::new(),
            });
            self.flocks.len() - 1
        });
        &mut self.flocks[at]
    }

    /// The flock with that name; an error if there is none.
    fn known(&mut self, flock: &str) -> Result<&mut Entry, String> {
        let Some(at) = self.flocks.iter().position(|entry| entry.name == flock) else {
            let names = self.flocks.iter().map(|entry| entry.name.as_str());
            let meant =
                nearest(flock, names).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(format!("there is no flock `{flock}`{meant}"));
        };
        Ok(&mut self.flocks[at])
    }
}

impl Entry {
    fn into_flock(self) -> Flock {
        Flock {
            name: self.name,
            members: self.members.into_iter().map(|member| member.context).collect(),
        }
    }
}

/// The folder of a flock.
pub fn folder(flock: &str) -> String {
    match flock {
        SITE => "/site".into(),
        _ => format!("/flocks/{flock}"),
    }
}

/// Checks a flock's name: it must not be able to point at another file of the zone.
fn check_name(flock: &str) -> Result<(), String> {
    let problem = match flock {
        SITE => "every context belongs to it, so none can join or leave it",
        "" => "it is empty",
        _ if flock.len() > LONGEST_NAME => "it is too long",
        _ if flock.starts_with('-') => "it begins with a hyphen",
        _ => {
            let allowed =
                |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
            match flock.chars().all(allowed) {
                true => return Ok(()),
                false => "only lowercase letters, digits and hyphens are allowed",
            }
        }
    };
    let shown: String = flock
        .chars()
        .take(LONGEST_NAME)
        .flat_map(char::escape_debug)
        .collect();
    Err(format!(
        "`{shown}` cannot be used as the name of a flock: {problem}"
    ))
}

/// Takes a lock of the operating system, which ends with the returned file or with the process.
fn locked(path: &Path) -> io::Result<File> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    match lock_within(&file, LOCK_TIMEOUT)? {
        true => Ok(file),
        false => Err(io::Error::other(format!(
            "another process has held its lock for {} s; try again",
            LOCK_TIMEOUT.as_secs()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flocks() -> (tempfile::TempDir, Flocks) {
        let folder = tempfile::tempdir().unwrap();
        let flocks = Flocks::new(Vfs::new(&folder.path().join("vfs")));
        (folder, flocks)
    }

    #[test]
    fn contexts_join_and_leave_and_take_their_membership_along() {
        let (_folder, flocks) = flocks();
        assert_eq!(flocks.of("me").unwrap(), Vec::<String>::new());
        assert!(flocks.join("work", "me").unwrap());
        assert!(!flocks.join("work", "me").unwrap());
        assert!(flocks.join("play", "me").unwrap());
        assert!(flocks.join("work", "you").unwrap());
        assert!(flocks.create("empty").unwrap() && !flocks.create("work").unwrap());
        assert_eq!(flocks.of("me").unwrap(), ["play", "work"]);
        flocks.rename("me", Some("myself")).unwrap();
        assert_eq!(flocks.of("me").unwrap(), Vec::<String>::new());
        assert_eq!(flocks.of("myself").unwrap(), ["play", "work"]);
        flocks.leave("play", "myself").unwrap();
        flocks.rename("myself", None).unwrap();
        let members: Vec<Vec<String>> = flocks
            .list()
            .unwrap()
            .into_iter()
            .map(|flock| flock.members)
            .collect();
        assert_eq!(members, [Vec::<String>::new(), Vec::new(), vec!["you".into()]]);
        flocks.delete("work").unwrap();
        assert_eq!(flocks.of("you").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let (_folder, flocks) = flocks();
        flocks.join("workers", "me").unwrap();
        for (result, words) in [
            (flocks.join("site", "me").map(drop), "so none can join"),
            (flocks.join("registry.json", "me").map(drop), "lowercase letters"),
            (flocks.join("../home", "me").map(drop), "lowercase letters"),
            (flocks.join("Work", "me").map(drop), "lowercase letters"),
            (flocks.join("", "me").map(drop), "is empty"),
            (flocks.leave("worker", "me"), "did you mean `workers`?"),
            (flocks.leave("workers", "you"), "does not belong"),
            (flocks.delete("players"), "no flock `players`"),
            (
                flocks.goals_of("worker", "me").map(drop),
                "did you mean `workers`?",
            ),
            (flocks.goals_of("workers", "you").map(drop), "joined none"),
        ] {
            let error = result.unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(
            flocks.goals_of("site", "you").unwrap().address().as_str(),
            "/site/goals.md"
        );
    }

    #[test]
    fn a_broken_list_grants_nothing_and_is_not_written_over() {
        let (folder, flocks) = flocks();
        let file = folder.path().join("vfs/flocks/registry.json");
        flocks.join("work", "me").unwrap();
        std::fs::write(&file, "{\"flocks\": [").unwrap();
        assert!(flocks.of("me").unwrap_err().contains("is broken"));
        assert!(flocks.join("work", "me").unwrap_err().contains("is broken"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"flocks\": [");
    }

    #[test]
    fn a_bad_file_costs_nothing_but_itself() {
        let (folder, flocks) = flocks();
        flocks.join("work", "me").unwrap();
        let write = |file: &str, text: &[u8]| {
            let file = folder.path().join("vfs").join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("site/prompt.md", b"Be kind.");
        write("site/goals.md", &vec![b'x'; LONGEST_TEXT + 1]);
        write("flocks/work/prompt.md", b"\xff");
        write("flocks/work/goals.md", b"Work.");
        let texts = flocks.texts("me");
        assert_eq!(texts.prompts, [("site".to_owned(), "Be kind.".to_owned())]);
        assert_eq!(texts.goals.len(), 1);
        assert_eq!(texts.problems.len(), 2, "{:?}", texts.problems);
        write("flocks/registry.json", b"{");
        let texts = flocks.texts("me");
        assert_eq!((texts.prompts.len(), texts.goals.len()), (1, 0));
        assert!(texts.problems[0].contains("is broken"), "{:?}", texts.problems);
    }

    #[test]
    fn fields_of_other_programs_stay() {
        let (folder, flocks) = flocks();
        let file = folder.path().join("vfs/flocks/registry.json");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = r#"{"v":2,"flocks":[{"name":"a","created_at":5,"x":1,"members":[{"context":"c","site":"s","y":1}]}]}"#;
        std::fs::write(&file, text).unwrap();
        flocks.join("a", "d").unwrap();
        let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(written["v"], 2);
        assert_eq!(written["flocks"][0]["x"], 1);
        assert_eq!(written["flocks"][0]["members"][0]["y"], 1);
        assert_eq!(written["flocks"][0]["members"][0]["site"], "s");
    }

    #[test]
    fn many_join_at_once_and_none_is_forgotten() {
        let (_folder, flocks) = flocks();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let flocks = flocks.clone();
                scope.spawn(move || {
                    for round in 0..5 {
                        flocks.join("crowd", &format!("c{number}-{round}")).unwrap();
                    }
                });
            }
        });
        assert_eq!(flocks.list().unwrap()[0].members.len(), 40);
    }
}
