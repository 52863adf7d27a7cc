//! The Scheme files of a run: found in the zones of the virtual file system, loaded at its start, and loaded again when
//! they have changed.
//!
//! The folders are not watched. Before each turn and before each listing of tools, names, times and sizes are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::SystemTime;

use becket_agent::Parent;
use becket_agent::flocks::Flocks;
use becket_agent::front::{Front, FrontUpdate};
use becket_agent::guests::{Brought, Guests};
use becket_agent::tool::Tool;
use becket_agent::vfs::{Kind, Vfs, VfsPath, VfsPlace};
use becket_events::{PostVfsWrite, PreVfsWrite, PreVfsWriteReply, Strictest, Verdict};
use becket_hooks::{Cause, Engine, Failure, HandlerKey, LaneKind, ScriptHandler, Unanswerable};
use becket_host::Unloaded;
use becket_store::SqliteStore;
use becket_tools::Models;

use super::attempts::{Attempts, Blame};
use super::calls::Callers;
use super::file::{Callback, Defined, SchemeFile, Why};
use super::marks::{Marks, Trust};
use super::shown::ShownContexts;
use super::tool::SchemeTool;
use super::world::World;
use crate::home_tools::{HomeToolSettings, home_tools};
use crate::scheme::{FileSettings, Reach, Tier, ZONE_FOLDERS, Zone, guards, zone_of};
use crate::{HostFacts, ScriptHook, hook_named};

/// The largest file that is loaded.
pub const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// How many files that models have written are loaded. The user's files are never left out for their number: one that
/// comes after many others may be a guard.
const MOST_WRITTEN_BY_MODELS: usize = 500;

/// How deep folders are searched.
pub const DEEPEST: usize = 8;

/// Looks up an environment variable.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The environment of a run's files.
pub struct Around {
    pub engine: Arc<Engine>,
    pub front: Arc<dyn Front>,
    pub vfs: Vfs,
    pub flocks: Flocks,
    pub settings: FileSettings,
    /// Looks up the environment variables that the settings let files see.
    pub variables: Variables,
    pub marks: Marks,
    /// The files that failed, so that they are not executed again.
    pub attempts: Attempts,
    /// The facts about the host that callbacks see.
    pub host: HostFacts,
    /// The rights of a file without any.
    pub world: World,
    /// Whether the files are those of a chibi home.
    pub has_home: bool,
    /// Addresses of files that the user leaves out.
    pub without: Vec<String>,
}

/// The files of a run.
pub struct SchemeFiles {
    around: Around,
    callers: Arc<Callers>,
    /// Names of tools that no file can define.
    taken: Mutex<Vec<String>>,
    state: Mutex<LoadedFiles>,
    /// Shows contexts and tools as files, once the store is known.
    shown: OnceLock<ShownContexts>,
    /// Tools about contexts and models, once the store is known.
    home_tools: OnceLock<Vec<Arc<dyn Tool>>>,
}

#[derive(Default)]
struct LoadedFiles {
    files: BTreeMap<VfsPath, Loaded>,
    /// The contexts that have sessions.
    contexts: BTreeSet<String>,
    /// Addresses of files that the user leaves out.
    without: BTreeSet<String>,
    revision: u64,
}

/// A file that exists, with everything that it has registered.
struct Loaded {
    print: Print,
    zone: Zone,
    tools: Vec<Arc<SchemeTool>>,
    /// The file's hooks in the engine.
    keys: Vec<HandlerKey>,
    /// Why the user's file could never be loaded: then it counts as a guard.
    trouble: Option<String>,
}

/// The metadata of a file. If it changes, the file is loaded again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Print {
    modified: Option<SystemTime>,
    changed: (i64, i64),
    size: u64,
    inode: u64,
    mark: Option<String>,
}

/// A file in a zone.
struct Candidate {
    address: VfsPath,
    file: PathBuf,
    zone: Zone,
    print: Print,
}

impl SchemeFiles {
    /// The files of a run, none of them loaded yet.
    pub fn new(around: Around, callers: Arc<Callers>) -> Arc<Self> {
        let state = LoadedFiles {
            without: around.without.iter().cloned().collect(),
            ..LoadedFiles::default()
        };
        let files = Arc::new(Self {
            around,
            callers,
            taken: Mutex::default(),
            state: Mutex::new(state),
            shown: OnceLock::new(),
            home_tools: OnceLock::new(),
        });
        files.guard_writing();
        files
    }

    /// Sets the names of tools that no file can define.
    pub fn set_taken(&self, names: Vec<String>) {
        *self.taken.lock().expect("no panic happens while it is held") = names;
    }

    /// Shows the contexts of a store as files, and by tools.
    pub fn show_contexts(&self, store: &Arc<SqliteStore>, models: &Models) {
        let (vfs, home) = (&self.around.vfs, &self.around.host.chibi_home);
        let shown = ShownContexts {
            vfs: vfs.clone(),
            store: Arc::clone(store),
            home: home.clone(),
        };
        let tools = home_tools(&HomeToolSettings {
            store: Arc::clone(store),
            home: home.clone(),
            vfs: vfs.clone(),
            models: Arc::clone(models),
        });
        // A second stage of the same run has the same store.
        let _ = (self.shown.set(shown), self.home_tools.set(tools));
    }

    /// Tools about contexts and models that chibi has.
    pub fn home_tools(&self) -> &[Arc<dyn Tool>] {
        self.home_tools.get().map_or(&[], Vec::as_slice)
    }

    /// Whether a chibi home is in use.
    pub fn has_home(&self) -> bool {
        self.around.has_home
    }

    /// Makes calls for the files.
    pub fn callers(&self) -> &Arc<Callers> {
        &self.callers
    }

    /// The user's files that could not be loaded.
    pub fn broken(&self) -> Vec<Unloaded> {
        let state = self.state();
        let troubles = state.files.iter().filter_map(|(address, file)| {
            let place = self.around.vfs.place(address).ok()?;
            let why = file.trouble.clone()?;
            Some(Unloaded::new(
                "Scheme file",
                address.to_string(),
                place.file(),
                why,
            ))
        });
        troubles.collect()
    }

    /// The addresses of the files that were loaded.
    pub fn addresses(&self) -> Vec<String> {
        let state = self.state();
        let loaded = state.files.iter().filter(|(_, file)| file.trouble.is_none());
        loaded.map(|(address, _)| address.to_string()).collect()
    }

    /// The names of the tools that the files define.
    pub fn defined_tools(&self) -> Vec<String> {
        let state = self.state();
        let tools = state.files.values().flat_map(|file| &file.tools);
        tools.map(|tool| tool.spec().face.name.clone()).collect()
    }

    /// Continues without the file at the given address.
    pub fn go_on_without(&self, address: &str) {
        let mut state = self.state();
        state.without.insert(address.to_owned());
        let (gone, kept) = std::mem::take(&mut state.files)
            .into_iter()
            .partition(|(known, _)| known.to_string() == address);
        state.files = kept;
        drop(state);
        let gone: BTreeMap<VfsPath, Loaded> = gone;
        gone.values().for_each(|file| self.remove_hooks(&file.keys));
    }

    /// The rights of code of that tier.
    pub fn world(&self, tier: Tier) -> World {
        World {
            tier,
            reach: match tier {
                Tier::Sandboxed => Reach::Nowhere,
                Tier::Unsandboxed => Reach::Everywhere,
            },
            ..self.around.world.clone()
        }
    }

    /// The rights of a file of the user, as the settings say.
    fn world_of(&self, path: &str) -> World {
        let Around {
            settings, variables, ..
        } = &self.around;
        let names = settings.variables(path).iter();
        let seen = names.filter_map(|name| Some((name.clone(), variables(name)?)));
        World {
            tier: settings.tier(path),
            reach: settings.reach(path),
            variables: seen.collect(),
            ..self.around.world.clone()
        }
    }

    /// Finds the files for a context, and loads those that are new or have changed.
    pub fn look(&self, context: &str) {
        let mut state = self.state();
        state.contexts.insert(context.to_owned());
        let mut found = self.find(&state.contexts);
        found.retain(|address, _| !state.without.contains(&address.to_string()));
        let gone: Vec<VfsPath> = state
            .files
            .keys()
            .filter(|known| !found.contains_key(known))
            .cloned()
            .collect();
        for address in gone {
            if let Some(file) = state.files.remove(&address) {
                self.remove_hooks(&file.keys);
                state.revision += 1;
            }
        }
        for (address, candidate) in found {
            let known = state.files.get(&address);
            if known.is_some_and(|known| known.print == candidate.print) {
                continue;
            }
            let before = state.files.remove(&address);
            let loaded = self.load(candidate, before);
            state.files.insert(address, loaded);
            state.revision += 1;
        }
    }

    /// The files that these contexts see.
    fn find(&self, contexts: &BTreeSet<String>) -> BTreeMap<VfsPath, Candidate> {
        let mut found = BTreeMap::new();
        if self.around.vfs.is_empty() {
            return found;
        }
        for folder in ZONE_FOLDERS {
            let place = VfsPath::from_path(folder).and_then(|path| self.around.vfs.place(&path));
            if let Ok(place) = place {
                self.walk(&place, contexts, 0, &mut found);
            }
        }
        let mut by_models = 0;
        found.retain(|_, candidate| {
            by_models += usize::from(candidate.print.mark.is_some());
            candidate.print.mark.is_none() || by_models <= MOST_WRITTEN_BY_MODELS
        });
        found
    }

    fn walk(
        &self,
        folder: &VfsPlace,
        contexts: &BTreeSet<String>,
        depth: usize,
        found: &mut BTreeMap<VfsPath, Candidate>,
    ) {
        for entry in folder.entries().unwrap_or_default() {
            if entry.name.starts_with('.') {
                continue;
            }
            let Ok(place) = folder.child(&entry.name) else {
                continue;
            };
            match entry.kind {
                Kind::Folder if depth < DEEPEST => self.walk(&place, contexts, depth + 1, found),
                Kind::Folder => {}
                Kind::File => {
                    let zone = zone_of(place.address().as_str());
                    let zone = zone.filter(|zone| contexts.iter().any(|context| self.sees(zone, context)));
                    if let Some((zone, print)) = zone.and_then(|zone| Some((zone, self.print(place.file())?)))
                    {
                        let candidate = Candidate {
                            address: place.address().clone(),
                            file: place.file().to_owned(),
                            zone,
                            print,
                        };
                        found.insert(candidate.address.clone(), candidate);
                    }
                }
            }
        }
    }

    fn print(&self, file: &Path) -> Option<Print> {
        let metadata = becket_fs::symlink_metadata(file).ok()?;
        Some(Print {
            modified: metadata.modified().ok(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            size: metadata.len(),
            inode: metadata.ino(),
            mark: self.around.marks.text(file),
        })
    }

    /// Whether a context sees the files of a zone.
    fn sees(&self, zone: &Zone, context: &str) -> bool {
        sees(&self.around.flocks, zone, context)
    }

    /// Loads a file, in place of its earlier version, which stays if the new one cannot be loaded.
    fn load(&self, candidate: Candidate, before: Option<Loaded>) -> Loaded {
        let Candidate {
            address,
            file,
            zone,
            print,
        } = candidate;
        let read = self.read(&address, &file);
        let trust = match (&read, &print.mark) {
            (Ok(text), _) => self.around.marks.trust(&file, text.as_bytes()),
            // The content is unknown; a model that has written the file must not be able to stop every run.
            (Err(_), Some(_)) => Trust::Models,
            (Err(_), None) => Trust::Persons,
        };
        let loaded = read.and_then(|text| self.run(&address, &file, &text, trust));
        let (keys, tools) = match loaded {
            Ok((scheme, defined)) => {
                let hooks: Vec<String> = defined
                    .callbacks
                    .iter()
                    .map(|callback| callback.point.clone())
                    .collect();
                let (mut keys, tools) = self.take(&scheme, defined, &zone, trust);
                match (trust, before) {
                    (Trust::Persons, before) => {
                        before.iter().for_each(|before| self.remove_hooks(&before.keys));
                        self.note_guards(&file, &hooks);
                    }
                    // A file that a model has changed keeps the user's hooks.
                    (Trust::Models, Some(before)) => keys = before.keys,
                    (Trust::Models, None) => {
                        let why = format!(
                            "a model has changed it; look at it, and then `becket vfs trust {address}`"
                        );
                        keys = self.miss_guards(&address, &file, &zone, &why);
                    }
                }
                if trust == Trust::Models && !hooks.is_empty() {
                    self.warn(&format!(
                        "{address} was written by a model, so its hooks ({}) are not active; review it, then run \
                         `becket vfs trust {address}`",
                        hooks.join(", ")
                    ));
                }
                (keys, tools)
            }
            Err(words) => return self.keep(before, (&address, &file), words, (zone, print, trust)),
        };
        Loaded {
            print,
            zone,
            tools,
            keys,
            trouble: None,
        }
    }

    /// The state of a file that cannot be loaded: its earlier version in this run. Without one, a user's file counts as
    /// a guard, and of a file that a model has written, the guards that it once had refuse.
    fn keep(
        &self,
        before: Option<Loaded>,
        (address, file): (&VfsPath, &Path),
        words: String,
        (zone, print, trust): (Zone, Print, Trust),
    ) -> Loaded {
        if let Some(before) = before {
            self.warn(&format!("{words}; its earlier version stays active"));
            return Loaded { print, ..before };
        }
        let (keys, trouble) = match trust {
            Trust::Persons => (self.refuse(address, &zone, &words, guards()), Some(words)),
            Trust::Models => {
                self.warn(&format!("{words}; it is left out"));
                (self.miss_guards(address, file, &zone, &words), None)
            }
        };
        Loaded {
            print,
            zone,
            tools: Vec::new(),
            keys,
            trouble,
        }
    }

    /// Remembers the guards of a file, for a run in which it cannot be loaded.
    fn note_guards(&self, file: &Path, hooks: &[String]) {
        let guards: Vec<&str> = guards()
            .into_iter()
            .filter(|guard| hooks.iter().any(|hook| hook == guard))
            .collect();
        if let Err(words) = self.around.marks.note_guards(file, &guards) {
            self.warn(&words);
        }
    }

    /// Registers refusals for the guards that a file had while it was the user's.
    fn miss_guards(&self, address: &VfsPath, file: &Path, zone: &Zone, why: &str) -> Vec<HandlerKey> {
        let noted = self.around.marks.guards(file);
        let had = guards()
            .into_iter()
            .filter(|guard| noted.iter().any(|noted| noted == guard));
        let had: Vec<&str> = had.collect();
        if !had.is_empty() {
            let names = had.join(", ");
            self.warn(&format!(
                "{address} had guards of yours ({names}), which refuse now: {why}"
            ));
        }
        self.refuse(address, zone, why, had)
    }

    fn refuse(
        &self,
        address: &VfsPath,
        zone: &Zone,
        why: &str,
        points: Vec<&'static str>,
    ) -> Vec<HandlerKey> {
        let failure = Failure::new(Cause::Raised, format!("its file could not be loaded: {why}"));
        let refusing: Arc<dyn ScriptHandler> = Arc::new(Unanswerable(failure));
        let name = address.to_string();
        let points = points.into_iter();
        points
            .filter_map(|point| self.register(point, name.clone(), &name, zone, Arc::clone(&refusing)))
            .collect()
    }

    fn read(&self, address: &VfsPath, file: &Path) -> Result<Arc<str>, String> {
        let place = self.around.vfs.place(address)?;
        let wrong = |what: &str| format!("{address} cannot be loaded: {what}");
        match place.info() {
            Ok(info) if info.size > MOST_BYTES => return Err(wrong("it has more than 4 MiB")),
            Err(error) => return Err(wrong(&error.to_string())),
            Ok(_) => {}
        }
        if place.file() != file {
            return Err(wrong("it is a link to somewhere else"));
        }
        let bytes = place.read().map_err(|error| wrong(&error.to_string()))?;
        String::from_utf8(bytes)
            .map(Into::into)
            .map_err(|_| wrong("it is not UTF-8 text"))
    }

    fn run(
        &self,
        address: &VfsPath,
        file: &Path,
        text: &Arc<str>,
        trust: Trust,
    ) -> Result<(Arc<SchemeFile>, Defined), String> {
        let world = match trust {
            Trust::Persons => self.world_of(address.as_str()),
            // Code that the user has not reviewed is sandboxed, wherever the file is.
            Trust::Models => self.world(Tier::Sandboxed),
        };
        let load = || SchemeFile::load(&address.to_string(), Arc::clone(text), &world);
        // The user's files are tried at every start, like all of the user's hooks.
        if trust == Trust::Persons {
            return load().map_err(|trouble| trouble.words);
        }
        let World {
            tier,
            reach,
            variables,
            ..
        } = &world;
        let version = env!("CARGO_PKG_VERSION");
        let subject = format!("{version} {tier:?} {reach:?} {variables:?}\n{text}");
        self.around.attempts.run(file, &subject, || {
            load().map_err(|trouble| {
                let blame = match trouble.why {
                    Why::Cancelled => Blame::Circumstances,
                    _ => Blame::File,
                };
                (trouble.words, blame)
            })
        })
    }

    /// Registers the definitions of a file.
    fn take(
        &self,
        file: &Arc<SchemeFile>,
        defined: Defined,
        zone: &Zone,
        trust: Trust,
    ) -> (Vec<HandlerKey>, Vec<Arc<SchemeTool>>) {
        let mut keys = Vec::new();
        if trust == Trust::Persons {
            for registered in defined.callbacks {
                let function =
                    Callback::new(Arc::clone(file), registered.callback, Arc::clone(&self.callers));
                let address = file.name();
                let function: Arc<dyn ScriptHandler> = Arc::new(function);
                keys.extend(self.register(&registered.point, registered.place, address, zone, function));
            }
        }
        let taken = self.taken.lock().expect("no panic happens while it is held");
        let tools = defined.tools.into_iter().filter_map(|tool| {
            let wrong = if !is_speakable(&tool.name) {
                Some("a name has up to 64 letters, digits, `_` and `-`")
            } else if taken.contains(&tool.name) {
                Some("there is a tool of that name already")
            } else {
                None
            };
            match wrong {
                Some(why) => {
                    self.warn(&format!(
                        "the tool {:?} of {} is not offered: {why}",
                        tool.name,
                        file.name()
                    ));
                    None
                }
                None => Some(Arc::new(SchemeTool::new(file, tool, trust, &self.callers))),
            }
        });
        let tools = tools.collect();
        (keys, tools)
    }

    /// Registers a procedure for a hook.
    fn register(
        &self,
        point: &str,
        source: String,
        file: &str,
        zone: &Zone,
        function: Arc<dyn ScriptHandler>,
    ) -> Option<HandlerKey> {
        let (flocks, zone) = (self.around.flocks.clone(), zone.clone());
        let script = ScriptHook {
            file: file.to_owned(),
            source,
            function,
            timeout: self.around.world.time,
            hears: Arc::new(move |scope| sees(&flocks, &zone, &scope.context_name)),
            lane: LaneKind::Scheme,
        };
        Some(hook_named(point)?.register_script(&self.around.engine, script, &self.around.host))
    }

    fn remove_hooks(&self, keys: &[HandlerKey]) {
        for key in keys {
            self.around.engine.remove(*key);
        }
    }

    /// Marks files that calls change, and asks the user before one changes a file that has the user's hooks.
    fn guard_writing(self: &Arc<Self>) {
        let files = Arc::downgrade(self);
        self.around.engine.on::<PreVfsWrite>(NOTES, move |occasion| {
            let verdict = on_a_file(&files, &occasion.payload.path, |files, address, file| {
                // What cannot be read is not known to be the user's.
                let content = content_of(file).unwrap_or_default();
                files.around.marks.before(file, content.as_deref())?;
                Ok(files.has_hooks(address))
            })?;
            let why = "it has hooks of yours, which a model wants to change or remove";
            Ok(PreVfsWriteReply {
                verdict: Strictest(verdict.unwrap_or(false).then(|| Verdict::Insist(why.into()))),
                ..Default::default()
            })
        });
        let files = Arc::downgrade(self);
        self.around.engine.on::<PostVfsWrite>(NOTES, move |occasion| {
            on_a_file(&files, &occasion.payload.path, |files, _, file| {
                // If it cannot be read, the mark stays as it was before the call: nothing in the file is trusted.
                files.around.marks.after(file, content_of(file)?.as_deref())
            })?;
            Ok(Default::default())
        });
    }

    /// Whether hooks of a file are registered.
    fn has_hooks(&self, address: &VfsPath) -> bool {
        let state = self.state();
        let loaded = state.files.get(address);
        loaded.is_some_and(|file| !file.keys.is_empty())
    }

    fn warn(&self, message: &str) {
        self.around.front.show(FrontUpdate::Warning(message));
    }

    fn state(&self) -> MutexGuard<'_, LoadedFiles> {
        self.state
            .lock()
            .expect("no panic happens while the files are held")
    }
}

/// The name of the handlers that mark files.
const NOTES: &str = "scheme files";

/// Does work for an address, if it is that of a Scheme file. An error becomes a failure.
fn on_a_file<T>(
    files: &Weak<SchemeFiles>,
    address: &str,
    work: impl FnOnce(&SchemeFiles, &VfsPath, &Path) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    let failed = |words: String| Failure::new(Cause::Raised, words);
    let Some(files) = files.upgrade() else {
        return Ok(None);
    };
    let path = VfsPath::parse(address).map_err(failed)?;
    if zone_of(path.as_str()).is_none() {
        return Ok(None);
    }
    let place = files.around.vfs.place(&path).map_err(failed)?;
    work(&files, place.address(), place.file())
        .map(Some)
        .map_err(failed)
}

/// The content of a file; `None` if there is no such file.
fn content_of(file: &Path) -> Result<Option<Vec<u8>>, String> {
    match becket_fs::read(file) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("it is not known what is in {}: {error}", file.display())),
    }
}

fn sees(flocks: &Flocks, zone: &Zone, context: &str) -> bool {
    match zone {
        Zone::Shared => true,
        Zone::Home(owner) => owner == context,
        Zone::Flock(flock) => flocks.of(context).is_ok_and(|joined| joined.contains(flock)),
    }
}

/// Whether providers accept a tool with that name.
fn is_speakable(name: &str) -> bool {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}

impl Guests for SchemeFiles {
    fn tools(&self, context_name: &str) -> Brought {
        self.look(context_name);
        let state = self.state();
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        let visible = state
            .files
            .values()
            .filter(|file| self.sees(&file.zone, context_name));
        for tool in visible.flat_map(|file| &file.tools) {
            let name = &tool.spec().face.name;
            // The first tool with a name keeps it.
            if !tools.iter().any(|other| other.spec().face.name == *name) {
                tools.push(Arc::clone(tool) as Arc<dyn Tool>);
            }
        }
        Brought {
            revision: state.revision,
            tools,
        }
    }

    fn attach(&self, caller: Parent) {
        self.callers.attach(caller);
    }

    fn show(&self, path: &VfsPath) {
        let shown = self
            .shown
            .get()
            .map_or(Ok(()), |shown| shown.show(path, || self.callers.tools_now()));
        if let Err(why) = shown {
            self.warn(&format!("{path} may not be true: {why}"));
        }
    }

    fn detach(&self, session_id: &str) {
        self.callers.detach(session_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_that_is_not_there_has_no_content() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hook.scm");
        assert_eq!(content_of(&file), Ok(None));
        std::fs::write(&file, "1").unwrap();
        assert_eq!(content_of(&file), Ok(Some(b"1".to_vec())));
        // What cannot be read must not look as if it were gone: its mark would go with it.
        assert!(content_of(folder.path()).is_err());
    }
}
