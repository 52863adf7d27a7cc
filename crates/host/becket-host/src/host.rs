//! [`Host`]: one kind of guest, from its files to its end.
//!
//! ```text
//! Host::find ─► Found (files only, judged) ─► Found::load ─► Guests (loaded) ─► register, add_tools ─► close
//! ```
//!
//! Every step takes what the step before has made, so none can be left out. Whatever goes over all guests (the run,
//! `doctor`, `hooks list`, `hooks check`, trust) is a loop over these traits.

use std::any::Any;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::front::Front;
use becket_agent::guests::Guests as SessionGuests;
use becket_agent::tool::Tool;
use becket_agent::url_policy::UrlJudge;
use becket_check::{HookFile, NamedFile};
use becket_events::{OperationKind, Profile};
use becket_hooks::{Engine, HookEnvironment, OwnHook, Section, SectionSettings};
use becket_providers::ProviderSettings;
use becket_snapshot::Keeper;
use becket_store::SqliteStore;
use becket_system::{CliError, Folders, Surroundings};
use becket_tools::Models;
use becket_trust::{Judged, Trust};
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::options::GuestOptions;
use crate::servers::{DeclaredServers, ServerDeclaration};
use crate::ui::Person;
use crate::unloaded::Unloaded;

/// One kind of guest: something that others have written, and that takes part in a run.
pub trait Host: Send + Sync {
    /// What one guest of this kind is called: `plugin`, `extension`.
    fn kind(&self) -> &'static str;

    /// The tables of `config.toml` that are about this kind.
    fn sections(&self) -> &'static [Section] {
        &[]
    }

    /// Variables in which keys of the guests' own system stand, whatever is found. No guest sees them.
    fn key_variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// The files whose hooks count here, for `hooks check`. Each is read as a run would read it; what a run would end
    /// with is a finding.
    fn check_files(&self, place: &Place<'_>) -> Result<Vec<HookFile>, CliError> {
        let _ = place;
        Ok(Vec::new())
    }

    /// Reads a file for `hooks check`, if it is one of this kind by its name or by what stands in it.
    fn check_file(&self, file: &NamedFile<'_>) -> Option<HookFile> {
        let _ = file;
        None
    }

    /// Names of hidden folders in which there may be hooks.
    fn hidden_folders(&self) -> &'static [&'static str] {
        &[]
    }

    /// Finds the guests of this kind. Looks at files alone: nothing is run, and what a project brings is judged.
    fn find(&self, place: &Place<'_>) -> Result<Box<dyn Found>, CliError>;
}

/// Where guests are looked for.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The machine as the program found it.
    pub surroundings: &'a Surroundings,
    /// becket's own folders.
    pub folders: &'a Folders,
    /// The root of the project in which the program was started.
    pub project_root: &'a Path,
    /// Says what the project brings that counts.
    pub trust: &'a Trust,
    /// The user's settings.
    pub settings: &'a SettingsText,
    /// What the command line says about guests.
    pub options: &'a GuestOptions,
    /// Guests that the user leaves out, by name.
    pub without: &'a [String],
    /// The tables of the user's settings that are about guests of all kinds.
    pub sections: &'a [Section],
    /// What some system means by the name of a tool.
    pub operation_called: fn(&str) -> Option<OperationKind>,
}

impl Place<'_> {
    /// The settings in one table of the user's file.
    pub fn section<T: SectionSettings>(&self) -> Result<T, CliError> {
        self.settings.section()
    }
}

/// The text of the user's settings. Each kind of guest reads its own tables of it.
#[derive(Clone, Default)]
pub struct SettingsText {
    /// Where it stands.
    pub file: PathBuf,
    /// What stands there; empty where there is no such file.
    pub text: String,
    /// The hooks in it.
    pub hooks: Vec<OwnHook>,
}

impl SettingsText {
    /// The settings in one table.
    pub fn section<T: SectionSettings>(&self) -> Result<T, CliError> {
        Ok(T::read(&self.text, &self.file)?)
    }
}

/// The guests of one kind that were found.
pub trait Found: Any + Send + Sync {
    /// Every guest, trusted or not, in the order in which they are loaded.
    fn guests(&self) -> Vec<FoundGuest>;

    /// What the project brings of this kind, trusted or not.
    fn judged(&self) -> &[Judged] {
        &[]
    }

    /// Why no run may start: a guard may be missing, or be there and not be trusted.
    fn refusal(&self) -> Option<CliError> {
        None
    }

    /// What the user should know about what was found.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Variables that hold keys of what was found. No guest sees them, of whatever kind.
    fn key_variables(&self) -> Vec<String> {
        Vec::new()
    }

    /// Names of guests that were found and that the user leaves out.
    fn left_out(&self) -> Vec<String> {
        Vec::new()
    }

    /// MCP servers that they bring.
    fn servers(&self, place: &Place<'_>) -> DeclaredServers {
        let _ = place;
        DeclaredServers::default()
    }

    /// A run starts: what was found is remembered, so that a guest that is gone the next time is missed. The words say
    /// why that cannot be.
    fn remember(&self, folders: &Folders) -> Option<String> {
        let _ = folders;
        None
    }

    /// Loads what is trusted. From here on programs may run.
    fn load<'a>(&'a self, loading: &'a Loading<'a>) -> BoxFuture<'a, Result<Arc<dyn Guests>, CliError>>;
}

/// A guest that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundGuest {
    /// What it is called.
    pub name: String,
    /// Where it lies.
    pub file: PathBuf,
    /// Whether it counts.
    pub is_trusted: bool,
}

impl From<&Judged> for FoundGuest {
    fn from(judged: &Judged) -> Self {
        Self {
            name: judged.item.name.clone(),
            file: PathBuf::from(&judged.item.source),
            is_trusted: judged.is_trusted(),
        }
    }
}

/// What guests are loaded with.
#[derive(Clone, Copy)]
pub struct Loading<'a> {
    /// Where they were found.
    pub place: Place<'a>,
    /// What their programs inherit: no key of becket's own, and none of a host that was loaded before. It is made when
    /// somebody needs it.
    pub environment: &'a (dyn Deref<Target = HookEnvironment> + Sync),
    /// What becket's own clients are told.
    pub providers: &'a ProviderSettings,
    /// The project's files of instructions, by their paths.
    pub prompt_files: &'a [(String, String)],
    /// Whether everything that the project brings is trusted.
    pub is_project_trusted: bool,
    /// Whether guests are asked again what they are.
    pub asking: Asking,
    /// Tools that talk to the network, as the settings say.
    pub network_tools: &'a [String],
    /// Asks hooks.
    pub engine: &'a Arc<Engine>,
    /// Where the user is.
    pub person: &'a Person,
    /// What a fetch may take.
    pub fetch: FetchLimits,
    /// Servers that are declared somewhere.
    pub servers: &'a [ServerDeclaration],
    /// Judges addresses of the web.
    pub urls: &'a UrlJudge,
    /// Keeps checkpoints of the working directory.
    pub keeper: &'a Keeper,
    /// Whether an agent file says what its agents have. Then nothing else is offered to them.
    pub has_agent_file: bool,
    /// The program that loads them.
    pub program: &'a Program,
}

/// What a fetch may take.
#[derive(Debug, Clone, Copy)]
pub struct FetchLimits {
    /// The most bytes of a page.
    pub bytes: usize,
    /// The longest time.
    pub longest: Duration,
}

/// When a guest is asked what it is, where an earlier answer is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// Always.
    Always,
    /// When it has changed since.
    WhenChanged,
    /// Only known answers count.
    Never,
}

/// What guests know of the program.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its file.
    pub file: PathBuf,
    /// Names its own options.
    pub option_names: fn() -> Vec<String>,
    /// How it speaks to whoever has started it.
    pub mode: Mode,
    /// Whether conversations are kept.
    pub keeps_sessions: bool,
    /// Whether another program steers it, or chooses its tools.
    pub is_steered: bool,
}

/// How the program speaks to whoever has started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// In words.
    Print,
    /// In events, a line for each.
    Json,
    /// The same, and commands come in.
    Rpc,
}

/// Guests of one kind that are loaded.
pub trait Guests: Any + Send + Sync {
    /// Variables that hold keys of theirs, known now that they are loaded. Hosts that are loaded later do not see them.
    fn key_variables(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the user should know about them.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Those that could not be loaded. Each may be a guard.
    fn unloaded(&self) -> Vec<Unloaded> {
        Vec::new()
    }

    /// Goes on without one of them.
    fn leave_out(&self, name: &str) {
        let _ = name;
    }

    /// Lets their hooks answer from now on. What is odd about them comes back in words.
    fn register(&self, stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
        let _ = stage;
        Ok(Vec::new())
    }

    /// When their tools are added: those of a lower rank come first, and whoever comes first has a name.
    fn tool_rank(&self) -> u8 {
        0
    }

    /// Adds their tools to those that are there. What is odd about them comes back in words.
    fn add_tools(&self, toolbox: &mut Toolbox<'_>) -> Vec<String> {
        let _ = toolbox;
        Vec::new()
    }

    /// All tools of the run are known. Agents of an agent file have tools of their own, and none of the guests'.
    fn settle_tools(&self, toolbox: &Toolbox<'_>) {
        let _ = toolbox;
    }

    /// Who of them takes part in a session: with tools that come and go, and calls in its name.
    fn in_session(self: Arc<Self>) -> Option<Arc<dyn SessionGuests>> {
        None
    }

    /// What is done beside a session, once its first request is on its way. What they show goes to the user.
    fn later(&self, engine: &Arc<Engine>, front: &Arc<dyn Front>) -> Option<BoxFuture<'static, ()>> {
        let _ = (engine, front);
        None
    }

    /// The names of their tools.
    fn tool_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether a tool of that name may still come.
    fn may_still_bring(&self, tool: &str) -> bool {
        let _ = tool;
        false
    }

    /// Their names, for questions about their tools.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// A context is entered: there may be guests that only it has.
    fn enter(&self, context: &str) {
        let _ = context;
    }

    /// What there is to say about each of them.
    fn reports(&self) -> Vec<Report> {
        Vec::new()
    }

    /// What they bring besides hooks, for listings.
    fn listed(&self) -> Vec<Listed> {
        Vec::new()
    }

    /// Ends everything that runs for them.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// The tools of a run while it is put together.
pub struct Toolbox<'a> {
    /// The names by which the model knows tools.
    pub profile: &'a Profile,
    /// The tools so far.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Makes becket's own tools by the names of a profile.
    pub own_tools: &'a (dyn Fn(&Profile) -> Vec<Arc<dyn Tool>> + Sync),
    /// The names of all tools that are parts of the program, in becket's own words.
    pub own_names: &'a [&'static str],
}

impl Toolbox<'_> {
    /// The tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().face.name == name)
    }

    /// Adds a tool in the place of one of its name.
    pub fn put(&mut self, tool: Arc<dyn Tool>) {
        let name = tool.spec().face.name.clone();
        self.tools.retain(|other| other.spec().face.name != name);
        self.tools.push(tool);
    }
}

/// No guests.
pub struct NoGuests;

impl Guests for NoGuests {}

/// The parts of a run that guests work with.
#[derive(Clone, Copy)]
pub struct Stage<'a> {
    /// Asks hooks.
    pub engine: &'a Arc<Engine>,
    /// Where the user is.
    pub person: &'a Person,
    /// Keeps conversations.
    pub store: &'a Arc<SqliteStore>,
    /// The names by which the model knows tools.
    pub profile: &'a Profile,
    /// Gives models by their names.
    pub models: &'a Models,
    /// Whether hooks are only tried out: then what could not be loaded refuses, and ends nothing.
    pub is_rehearsal: bool,
}

/// Something that `doctor` has looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What was looked at.
    pub what: String,
    /// What became of it.
    pub state: Health,
}

/// Whether something is well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    Well,
    /// Nothing is wrong, but the user should know this.
    Note(String),
    Wrong(String),
}

impl Report {
    /// It is well, or this is wrong with it.
    pub fn new(what: impl Into<String>, trouble: Option<String>) -> Self {
        Self {
            what: what.into(),
            state: trouble.map_or(Health::Well, Health::Wrong),
        }
    }

    /// It is well, and the user should know this.
    pub fn note(what: impl Into<String>, note: String) -> Self {
        Self {
            what: what.into(),
            state: Health::Note(note),
        }
    }

    /// Something odd, told as `what: trouble`.
    pub fn of_remark(remark: &str) -> Self {
        let (what, trouble) = remark.split_once(": ").unwrap_or(("guests", remark));
        Self::new(what, Some(trouble.to_owned()))
    }

    /// Something was found and could not be loaded.
    pub fn unloaded(guest: &Unloaded) -> Self {
        let what = format!("{} {} ({})", guest.kind, guest.name, guest.source);
        Self::new(what, Some(format!("{}; no run starts beside it", guest.why)))
    }
}

/// A guest in a listing, for people and for programs.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub text: String,
    pub json: Value,
}
