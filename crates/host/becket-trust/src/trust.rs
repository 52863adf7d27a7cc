//! Judges the things of a project one by one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_events::Class;
use becket_hooks::{CommandLine, HookEnvironment, OwnHook, Preparation, Program};
use becket_system::files::read_regular;
use becket_system::{Folders, Surroundings};
use serde_json::{Value, json};

use super::copy::{self, Kept};
use super::gather::Gatherer;
use super::item::{self, Item, Kind};
use super::lock::{self, LOCK_FILE, Lock};
use super::store::{self, Store};

/// Decides what is trusted in a project.
#[derive(Debug, Clone)]
pub struct Trust {
    /// Whether the command line trusts everything, for this run.
    of_run: bool,
    pub store: Store,
    /// The project's root, with links resolved; `cwd` is the working directory.
    pub(super) root: PathBuf,
    pub(super) cwd: PathBuf,
    /// The user's own `PYTHONPATH`.
    python_path: Option<String>,
    lock: Option<Locked>,
}

/// Variables of Python: where it finds modules, and whether it leaves out the working directory and the folder of a
/// script.
const PYTHON_PATH: &str = "PYTHONPATH";
const PYTHON_SAFE_PATH: &str = "PYTHONSAFEPATH";

/// What to do about something that is not trusted.
pub const TRUST_HINT: &str = "`becket hooks trust --show` shows what is not trusted, `becket hooks trust` trusts it \
                              from now on, --trust uses it for this run";

/// The project's lock.
#[derive(Debug, Clone)]
struct Locked {
    judged: Judged,
    content: Result<Lock, String>,
}

/// Why a thing counts, or that it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The command line trusts it, for this run.
    Run,
    /// The user has reviewed exactly this.
    Person,
    /// The user trusts the lock, and the thing is as the lock says.
    Lock,
    /// The thing is not trusted.
    Untrusted,
}

/// A thing of the project, and whether it counts.
#[derive(Debug, Clone)]
pub struct Judged {
    pub item: Item,
    pub standing: Standing,
    /// How the thing differs from the lock, if there is one.
    pub unlike_lock: Option<String>,
}

/// A command that a file of the project names as a hook.
pub struct CommandItem<'a> {
    /// The file that names the command.
    pub file: &'a Path,
    /// The command's name in the file.
    pub name: &'a str,
    /// Everything that decides what runs and when, as text.
    pub entry: String,
    pub command: &'a CommandLine,
    /// The directory in which the command runs.
    pub directory: &'a Path,
    /// The folder that a relative path of the program is relative to.
    pub folder: &'a Path,
    /// Variables for the command.
    pub env: &'a BTreeMap<String, String>,
    /// Whether a run without the command may be one without a guard.
    pub guards: bool,
}

/// A trusted command, ready to run.
pub struct SettledCommand {
    pub command: CommandLine,
    /// The folder with the copy of the command's files, arranged as the project is.
    pub copy: PathBuf,
    /// Variables that replace the command's own.
    pub variables: BTreeMap<String, String>,
    /// Verifies the copy before each run.
    pub preparation: Arc<dyn Preparation>,
}

impl Judged {
    pub fn is_trusted(&self) -> bool {
        self.standing != Standing::Untrusted
    }

    /// Everything about the thing as JSON.
    pub fn json(&self) -> Value {
        let item = &self.item;
        let files = store::recorded(item);
        json!({
            "kind": item.kind,
            "name": item.name,
            "source": item.source,
            "guard": item.guards,
            "trusted": self.is_trusted(),
            "by": match self.standing {
                Standing::Run => json!("command line"),
                Standing::Person => json!("person"),
                Standing::Lock => json!("lock"),
                Standing::Untrusted => json!(null),
            },
            "hash": item.identity(),
            "entry": item.entry,
            "files": files,
            "open": item.open,
            "trouble": item.trouble,
            "unlike_lock": self.unlike_lock,
        })
    }
}

impl Trust {
    /// Judges the project at this root. `of_run` says that everything is trusted for this run.
    pub fn open(of_run: bool, folders: &Folders, surroundings: &Surroundings, root: &Path) -> Self {
        let real = |path: &Path| becket_fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let (root, cwd) = (real(root), real(&surroundings.cwd));
        let mut trust = Self {
            of_run,
            store: Store::new(folders.trust_folder(), &root),
            root,
            cwd,
            python_path: surroundings.variable(PYTHON_PATH),
            lock: None,
        };
        trust.lock = trust.read_lock();
        trust
    }

    fn read_lock(&self) -> Option<Locked> {
        let file = self.root.join(LOCK_FILE);
        becket_fs::symlink_metadata(&file).ok()?;
        let text = read_regular(&file, lock::MOST_BYTES);
        let content = text
            .map_err(|error| format!("{LOCK_FILE} cannot be read: {error}"))
            .and_then(|text| Lock::read(&text, Path::new(LOCK_FILE)));
        let mut files = self.gatherer(&self.root);
        files.plain(&file);
        let mut item = self.item(Kind::Lock, LOCK_FILE, &file, String::new(), files);
        item.trouble = item.trouble.or(content.clone().err());
        let judged = self.judge(item);
        Some(Locked { judged, content })
    }

    /// The lock of the project, if it has one.
    pub fn lock(&self) -> Option<&Judged> {
        self.lock.as_ref().map(|lock| &lock.judged)
    }

    /// The content of the lock, if it can be read.
    pub fn locked(&self) -> Option<&Lock> {
        self.lock.as_ref()?.content.as_ref().ok()
    }

    /// Whether the command line trusts everything, for this run.
    pub fn is_of_run(&self) -> bool {
        self.of_run
    }

    /// The project's root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path as the user writes it, relative to the project's root.
    pub fn named(&self, path: &Path) -> Option<PathBuf> {
        let whole = item::plain(&self.cwd.join(path));
        let real = becket_fs::canonicalize(&whole);
        let name = whole.strip_prefix(&self.root).ok().map(Path::to_path_buf);
        name.or_else(|| Some(real.ok()?.strip_prefix(&self.root).ok()?.to_path_buf()))
    }

    pub fn judge(&self, item: Item) -> Judged {
        let lock = self
            .lock
            .as_ref()
            .and_then(|lock| Some((lock, lock.content.as_ref().ok()?)));
        let is_locked = || lock.is_some_and(|(file, lock)| file.judged.is_trusted() && lock.has(&item));
        let standing = match &item.trouble {
            _ if self.of_run => Standing::Run,
            Some(_) => Standing::Untrusted,
            None if self.store.is_trusted(&item.identity()) => Standing::Person,
            None if is_locked() => Standing::Lock,
            None => Standing::Untrusted,
        };
        Judged {
            unlike_lock: lock.and_then(|(_, lock)| lock.difference(&item)),
            item,
            standing,
        }
    }

    pub fn gatherer(&self, folder: &Path) -> Gatherer<'_> {
        Gatherer::new(&self.root, &self.cwd, folder)
    }

    pub fn item(&self, kind: Kind, name: &str, source: &Path, entry: String, files: Gatherer<'_>) -> Item {
        let source = source.strip_prefix(&self.root).unwrap_or(source);
        let module_folders = files.module_folders();
        let Gatherer {
            files, open, trouble, ..
        } = files;
        Item {
            kind,
            name: name.into(),
            source: source.display().to_string(),
            entry,
            guards: false,
            files,
            open,
            trouble,
            command: None,
            variables: BTreeMap::new(),
            module_folders,
        }
    }

    /// Judges a hook of a settings file, with the entry as it is written there.
    pub fn hook(&self, file: &Path, name: &str, hook: &OwnHook, entry: &toml::Value) -> Judged {
        let directory = match hook.working_dir() {
            Some(directory) => item::plain(directory),
            None => self.cwd.clone(),
        };
        self.command(&CommandItem {
            file,
            name,
            entry: in_words(entry),
            command: hook.command_line(),
            directory: &directory,
            folder: hook.folder(),
            env: hook.env(),
            guards: hook.event.info().class >= Class::Filter,
        })
    }

    /// Judges a command that a file of the project names as a hook.
    pub fn command(&self, hook: &CommandItem<'_>) -> Judged {
        let mut files = Gatherer::new(&self.root, hook.directory, hook.folder);
        files.variables.clone_from(hook.env);
        let command = files.command(hook.command);
        let named = |(name, value): (&String, &String)| Some((name.clone(), files.variable(name, value)?));
        let variables = hook.env.iter().filter_map(named).collect();
        let item = self.item(Kind::Hook, hook.name, hook.file, hook.entry.clone(), files);
        self.judge(Item {
            guards: hook.guards,
            command: Some(command),
            variables,
            ..item
        })
    }

    /// The hook as it runs: from the copy of what was trusted. The error says why there is none.
    pub fn settled(&self, judged: &Judged, hook: OwnHook) -> Result<OwnHook, String> {
        let Some(settled) = self.settled_command(judged, hook.env())? else {
            return Ok(hook);
        };
        let folder = hook.folder().strip_prefix(&self.root).unwrap_or(Path::new(""));
        let place = (settled.copy.join(folder), settled.preparation);
        Ok(hook.run_from(place, settled.command, settled.variables))
    }

    /// A trusted command as it runs: from the copy of what was trusted. `None` if it runs from the project itself. The
    /// error says why it cannot run.
    pub fn settled_command(
        &self,
        judged: &Judged,
        env: &BTreeMap<String, String>,
    ) -> Result<Option<SettledCommand>, String> {
        let (Some(command), false) = (&judged.item.command, judged.standing == Standing::Run) else {
            return Ok(None);
        };
        let copy = self.copy(judged)?;
        let variables = judged.item.variables.iter();
        let variables = variables.map(|(name, value)| {
            let pieces: Vec<String> = value.iter().map(|piece| piece.in_copy(&copy)).collect();
            (name.clone(), pieces.join(":"))
        });
        let mut variables: BTreeMap<String, String> = variables.collect();
        if let Some(folders) = &judged.item.module_folders {
            let others = variables.get(PYTHON_PATH).or(env.get(PYTHON_PATH));
            let others = others.or(self.python_path.as_ref()).into_iter().cloned();
            let folders = folders
                .iter()
                .map(|folder| copy.join(folder).display().to_string());
            let all: Vec<String> = folders.chain(others).collect();
            variables.insert(PYTHON_PATH.into(), all.join(":"));
            variables.insert(PYTHON_SAFE_PATH.into(), "1".into());
        }
        // The interpreter's cache would have to be removed each time.
        variables.insert("PYTHONDONTWRITEBYTECODE".into(), "1".into());
        let kept = Kept::new(judged.item.clone(), self.store.copies());
        Ok(Some(SettledCommand {
            command: command.in_copy(&copy),
            copy,
            variables,
            preparation: Arc::new(kept),
        }))
    }

    /// The program of a trusted command, which runs from the copy of what was trusted, in this environment and with the
    /// variables that its entry sets. The error says why it cannot run.
    pub fn program(
        &self,
        judged: &Judged,
        command: &CommandLine,
        env: &BTreeMap<String, String>,
        environment: &HookEnvironment,
    ) -> Result<Program, String> {
        let settled = self.settled_command(judged, env)?;
        let command = settled.as_ref().map_or(command, |settled| &settled.command);
        let program = match command {
            CommandLine::Shell(line) => Program::shell(line),
            CommandLine::Exec(words) => Program::exec(words),
        };
        let program = match judged.item.guards {
            true => program.for_guard(),
            false => program,
        };
        let program = program.environment(Arc::clone(&environment.variables));
        let of_copy = settled.iter().flat_map(|settled| &settled.variables);
        let variables = env.iter().chain(of_copy);
        let program = variables.fold(program, |program, (name, value)| program.variable(name, value));
        Ok(program.prepared_by(settled.map(|settled| settled.preparation)))
    }

    /// The folder with the copy of what was trusted, arranged as the project is.
    pub fn copy(&self, judged: &Judged) -> Result<PathBuf, String> {
        copy::copy(&judged.item, &self.store.copies()).map_err(|error| {
            let (title, copies) = (judged.item.title(), self.store.copies());
            format!(
                "{title} cannot be copied to {}, so it does not run: {error}",
                copies.display()
            )
        })
    }

    /// Judges the rules of a settings file.
    pub fn rules(&self, file: &Path, entry: &toml::Value, is_denying: bool) -> Judged {
        let item = self.item(
            Kind::Rules,
            "permissions",
            file,
            in_words(entry),
            self.gatherer(&self.root),
        );
        self.judge(Item {
            guards: is_denying,
            ..item
        })
    }

    /// Judges an extension, with the settings that chose it. Any may hold a guard.
    pub fn extension(&self, file: &Path, settings: &Path) -> Judged {
        let mut files = self.gatherer(&self.root);
        let file = item::plain(&self.cwd.join(file));
        if becket_fs::exists(settings) {
            files.plain(settings);
        }
        match files.named(&file) {
            Some(_) => files.script(&file),
            None => files.trouble = Some(format!("{} is outside the project", file.display())),
        }
        let item = self.item(Kind::Extension, "extension", &file, String::new(), files);
        self.judge(Item { guards: true, ..item })
    }

    /// The path of an extension's file in its copy; `None` if it runs from the project itself.
    pub fn extension_file(&self, judged: &Judged) -> Result<Option<PathBuf>, String> {
        match judged.standing {
            Standing::Run | Standing::Untrusted => Ok(None),
            _ => Ok(Some(self.copy(judged)?.join(&judged.item.source))),
        }
    }

    /// Judges skills, prompt templates and themes; `None` if there are none.
    pub fn resources(&self, all: &[PathBuf], settings: &Path) -> Option<Judged> {
        let mut files = self.gatherer(&self.root);
        all.iter().for_each(|file| files.plain(&self.cwd.join(file)));
        if files.files.is_empty() {
            return None;
        }
        if becket_fs::exists(settings) {
            files.plain(settings);
        }
        let item = self.item(Kind::Resources, "resources", Path::new(""), String::new(), files);
        Some(self.judge(item))
    }
}

/// An entry as TOML, its keys in order.
fn in_words(entry: &toml::Value) -> String {
    toml::to_string(entry).unwrap_or_else(|_| entry.to_string())
}
