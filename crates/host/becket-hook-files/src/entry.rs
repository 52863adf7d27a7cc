//! A hook as a file writes it, and what a file says besides.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_hooks::CommandLine;
use serde_json::{Map, Value};

use crate::bridging::is_bridge_command;

/// A file with hooks, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub file: PathBuf,
    /// Who has put the file there.
    pub owner: Owner,
    /// The plugin that the file belongs to.
    pub plugin: Option<Plugin>,
}

/// A plugin with hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// The plugin's folder.
    pub root: PathBuf,
    /// The plugin's options, as texts by their names. One that is kept where becket does not look has no text.
    pub options: BTreeMap<String, Option<String>>,
}

impl From<PathBuf> for Plugin {
    fn from(root: PathBuf) -> Self {
        Self {
            root,
            options: BTreeMap::new(),
        }
    }
}

impl Deref for Plugin {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.root
    }
}

/// Who has put a file there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// Whoever manages the machine. Such hooks cannot be switched off.
    Machine,
    /// The user.
    User,
    /// The project. Such hooks count once they are trusted.
    Project,
}

/// One hook of one event.
#[derive(Debug, Clone, PartialEq)]
pub struct HookEntry {
    /// The event's name in its own system.
    pub event: &'static str,
    /// The hook's name in its file, such as `PreToolUse 2`.
    pub name: String,
    /// The texts that choose what the hook is for, one of which must fit; everything if there is none.
    pub matchers: Vec<String>,
    /// A further condition about the call, as it is written.
    pub condition: Option<String>,
    /// What the hook does.
    pub action: Action,
    /// How long one run may take.
    pub timeout: Duration,
    /// Whether the hook runs once in a session.
    pub once: bool,
    /// How the hook runs in the background, if it does.
    pub background: Option<Background>,
    /// Whether the file itself says that a failure refuses.
    pub refuses_on_failure: bool,
    /// How often the hook may make the model go on, one time after another; `None` for as often as its event allows.
    pub loop_limit: Option<u32>,
    /// How many characters a text of the hook may have before only its beginning is shown, if its system cuts texts.
    pub longest_text: Option<usize>,
    /// What the user is told while the hook runs.
    pub status: Option<String>,
    /// When the hook is active, if it is not always.
    pub while_used: Option<WhileUsed>,
    /// Variables of the hook's program that its file sets.
    pub env: BTreeMap<String, String>,
    /// The file.
    pub source: Arc<Source>,
    /// Where the hook stands in its file, as a JSON pointer.
    pub pointer: String,
    /// Everything that decides what runs and when, as text.
    pub written: String,
}

impl HookEntry {
    /// Whether the hook does nothing but ask becket's hooks.
    pub fn asks_becket(&self) -> bool {
        matches!(&self.action, Action::Command(CommandLine::Shell(line)) if is_bridge_command(line))
    }

    /// Where the hook is defined, for listings.
    pub fn place(&self) -> String {
        format!("{}#{}", self.source.file.display(), self.pointer)
    }

    /// Whether another hook of the same owner does the same, whatever it is for. Their system runs such hooks once.
    pub fn does_the_same(&self, other: &Self) -> bool {
        let owner = |entry: &Self| entry.source.plugin.clone();
        self.event == other.event
            && self.action == other.action
            && self.condition == other.condition
            && self.env == other.env
            && self.background == other.background
            && self.while_used == other.while_used
            && (self.once, self.refuses_on_failure) == (other.once, other.refuses_on_failure)
            && owner(self) == owner(other)
    }
}

/// When the hooks of an agent, a skill or a command are active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhileUsed {
    /// While the sub-agent with that name works, and for guards also while those that it asks do.
    Agent(String),
    /// From the moment at which the user calls it, or the model reads the file, to the end of the conversation.
    Text { call: String, file: PathBuf },
}

impl fmt::Display for WhileUsed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(name) => write!(formatter, "the agent {name}"),
            Self::Text { call, .. } => write!(formatter, "/{call}"),
        }
    }
}

/// A server as a file of the system declares it.
#[derive(Debug, Clone)]
pub struct ServerEntry {
    /// The server's name.
    pub name: String,
    /// The file.
    pub source: Source,
    /// The declaration.
    pub value: Value,
}

/// The servers that a file declares, from the object that holds them by name.
pub fn server_entries(source: &Source, servers: Option<&Value>) -> Vec<ServerEntry> {
    let servers = servers.and_then(Value::as_object).into_iter().flatten();
    let entry = |(name, value): (&String, &Value)| ServerEntry {
        name: name.clone(),
        source: source.clone(),
        value: value.clone(),
    };
    servers.map(entry).collect()
}

/// What a hook does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Runs a program.
    Command(CommandLine),
    /// Asks a model whether the event may happen.
    Prompt {
        /// The prompt, with `$ARGUMENTS` for the input.
        prompt: String,
        /// The model, if the hook names one.
        model: Option<String>,
        /// Whether a no only tells the model why, and does not end the run.
        goes_on: bool,
        /// Whether the model may look at files before it decides.
        reads_files: bool,
    },
    /// Posts the input to an address.
    Http {
        /// The address.
        url: String,
        /// Headers, in which variables are replaced.
        headers: BTreeMap<String, String>,
        /// The variables that headers may use.
        variables: Vec<String>,
    },
    /// Calls a tool of an MCP server.
    ServerTool {
        /// The server's name.
        server: String,
        /// The tool's name at the server.
        tool: String,
        /// The arguments, with `${path}` in their texts for members of the input.
        input: Map<String, Value>,
    },
    /// Sends a prompt as if the user had typed it, where a chat begins.
    Line(String),
    /// Something that becket cannot do, and why.
    Unable(String),
}

/// A hook that nobody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// What it says reaches the model with the next turn.
    Quiet,
    /// So, and exit code 2 makes what it says an order to the model.
    Wakes,
}

/// What was read from the files of a system.
#[derive(Debug, Default)]
pub struct Reading {
    /// The hooks, in the order of the files.
    pub entries: Vec<HookEntry>,
    /// Entries that are no hooks.
    pub dropped: Vec<Dropped>,
    /// Where hooks stand that do the same as one before them.
    pub joined: Vec<String>,
    /// Whether the user switches off all hooks but those of the machine.
    pub user_disables: bool,
    /// Whether the project switches off its own hooks.
    pub project_disables: bool,
    /// Whether only hooks of the machine count.
    pub machine_only: bool,
    /// Patterns of addresses that hooks may post to; any if there is no list.
    pub allowed_urls: Option<Vec<String>>,
    /// Variables that headers of hooks may use; those that each hook names if there is no list.
    pub allowed_variables: Option<Vec<String>>,
    /// Hooks that are switched off one by one: who has done so, and the name by which the system knows the hook.
    pub switched_off: Vec<(Owner, String)>,
    /// What a file has said that counts for hooks of other files too, in its system's own terms.
    pub known: BTreeMap<String, Value>,
}

/// An entry that is no hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The file.
    pub source: Arc<Source>,
    /// Where the entry stands, as a JSON pointer.
    pub pointer: String,
    /// Why the entry is no hook.
    pub reason: String,
    /// Whether the entry may have been meant as a guard.
    pub guards: bool,
}

impl Dropped {
    /// The name by which the user leaves the entry out: its place in the file, or the file if all of it is meant.
    pub fn name(&self) -> String {
        match &*self.pointer {
            "" => self.source.file.display().to_string(),
            pointer => pointer.to_owned(),
        }
    }

    /// Where the entry is.
    pub fn place(&self) -> String {
        format!("{}#{}", self.source.file.display(), self.pointer)
    }
}

impl Reading {
    /// Notes an entry that is no hook.
    pub fn drop_entry(
        &mut self,
        source: &Arc<Source>,
        pointer: impl Into<String>,
        reason: impl Into<String>,
        guards: bool,
    ) {
        self.dropped.push(Dropped {
            source: Arc::clone(source),
            pointer: pointer.into(),
            reason: reason.into(),
            guards,
        });
    }

    /// Whether somebody who may do so has switched off a hook of this owner. A project can switch off its own hooks,
    /// and nobody those of the machine.
    pub fn is_switched_off(&self, owner: Owner, name: &str) -> bool {
        let mut off = self.switched_off.iter().filter(|(_, off)| off == name);
        off.any(|(by, _)| *by <= owner)
    }

    /// Adds a hook. If one before it in the same folder does the same, their matchers are joined instead.
    pub fn add(&mut self, entry: HookEntry) {
        let folder = |entry: &HookEntry| entry.source.file.parent().map(Path::to_path_buf);
        let own = folder(&entry);
        let mut before = self.entries.iter();
        let same = before.position(|other| folder(other) == own && other.does_the_same(&entry));
        self.add_or_join(entry, same);
    }

    /// Joins hooks of different folders that do the same. `variables` are those by which commands name files: with
    /// other values, the same text is another command.
    pub fn join_folders(&mut self, variables: impl Fn(&Source) -> BTreeMap<String, String>) {
        for entry in std::mem::take(&mut self.entries) {
            let own = variables(&entry.source);
            let is_same = |other: &HookEntry| other.does_the_same(&entry) && variables(&other.source) == own;
            let same = self.entries.iter().position(is_same);
            self.add_or_join(entry, same);
        }
    }

    /// Adds a hook, or joins its matchers with those of the one at this place.
    fn add_or_join(&mut self, entry: HookEntry, same: Option<usize>) {
        let pointer = entry.pointer.clone();
        match same.map(|place| &mut self.entries[place]) {
            // A project's hook must not decide what the user's is for.
            Some(other) if other.source.owner == entry.source.owner => {
                let is_for_all = other.matchers.is_empty() || entry.matchers.is_empty();
                other.matchers.extend(entry.matchers);
                other.written = format!("{}\n{}", other.written, entry.written);
                other.timeout = other.timeout.max(entry.timeout);
                if is_for_all {
                    other.matchers.clear();
                }
                self.joined.push(pointer);
            }
            Some(other) if other.matchers.is_empty() || other.matchers == entry.matchers => {
                self.joined.push(pointer);
            }
            _ => self.entries.push(entry),
        }
    }

    /// The hooks that count.
    pub fn counting(mut self) -> (Vec<HookEntry>, Vec<Dropped>) {
        if let Some(allowed) = &self.allowed_variables {
            for entry in &mut self.entries {
                if let Action::Http { variables, .. } = &mut entry.action {
                    variables.retain(|name| allowed.contains(name));
                }
            }
        }
        let Self {
            user_disables,
            project_disables,
            machine_only,
            ..
        } = self;
        let counts = |source: &Source| match source.owner {
            Owner::Machine => true,
            Owner::User => !user_disables && !machine_only,
            Owner::Project => !user_disables && !machine_only && !project_disables,
        };
        let entries = self.entries.into_iter().filter(|entry| counts(&entry.source));
        let dropped = self.dropped.into_iter().filter(|dropped| counts(&dropped.source));
        (entries.collect(), dropped.collect())
    }
}
