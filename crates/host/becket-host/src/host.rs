//! [`Host`]: one kind of guest, from its files to its end.
//!
//! ```text
//! Host::find ─► Found (files only, judged) ─► Found::load ─► Guests (loaded) ─► register, add_tools ─► close
//! ```
//!
//! Every step takes the result of the step before, so none can be left out. Everything that concerns all guests (the
//! run, `doctor`, `hooks list`, `hooks check`, trust) is a loop over these traits.
//!
//! Finding looks only at files. A project's guests are judged there, and a guard that is not trusted, or is gone,
//! refuses the run. A guest that cannot be loaded may be a guard, so no run starts with one.
//!
//! A host that is loaded later does not see the keys of those before it: the loop makes the environment of each. Keys
//! that files name (`Found::key_variables`) are visible to no guest. The tables of the settings about guests belong to
//! their hosts; unknown keys in them are errors like everywhere else.

use std::any::Any;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::Rules;
use becket_agent::front::Front;
use becket_agent::guests::Guests as SessionGuests;
use becket_agent::mail::MailSource;
use becket_agent::provider::ModelFacts;
use becket_agent::session_handle::SessionHandle;
use becket_agent::tool::Tool;
use becket_agent::url_policy::UrlJudge;
use becket_check::{HookFile, NamedFile};
use becket_events::Profile;
use becket_hooks::{Engine, HookEnvironment, Section};
use becket_providers::ProviderSettings;
use becket_snapshot::Keeper;
use becket_store::SqliteStore;
use becket_system::{CliError, Folders, Surroundings};
use becket_tools::{Models, Preset};
use becket_trust::Judged;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::agent_file::{AgentFile, ServerTool};
use crate::bridge::Bridge;
use crate::client::Client;
use crate::conformance::Conformance;
use crate::foreign_cli::ForeignCli;
use crate::interactive::Interactive;
use crate::known_commands::KnownCommands;
use crate::options::{GuestOptions, HostOption};
use crate::place::GuestSearch;
use crate::reader::Reader;
use crate::run_settings::RunSettings;
use crate::servers::{DeclaredServers, ServerCalls, ServerDeclaration};
use crate::session_files::{ForeignContext, ForeignSession, SessionFiles};
use crate::ui::Person;
use crate::unloaded::Unloaded;

/// One kind of guest: code that somebody else has written, and that takes part in a run.
pub trait Host: Send + Sync {
    /// The word for one guest of this kind: `plugin`, `extension`.
    fn kind(&self) -> &'static str;

    /// The tables of `config.toml` that are about this kind.
    fn sections(&self) -> &'static [Section] {
        &[]
    }

    /// Variables that always hold keys of the guests' own system, whatever is found. No guest sees them.
    fn key_variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// The options of the command line that are about this kind.
    fn options(&self) -> Vec<HostOption> {
        Vec::new()
    }

    /// The names of options about this kind that commands set themselves and that the command line does not have.
    fn unlisted_options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether guests of this kind may add options to the command line. Then they are loaded if the command line cannot
    /// be read without them.
    fn brings_options(&self) -> bool {
        false
    }

    /// The connection to the program that has started becket, in the protocol of the guests' own system, if it has one
    /// for this mode. `front` is for the user who may look at standard error.
    fn client(&self, mode: Mode, front: Arc<dyn Front>) -> Option<Arc<dyn Client>> {
        let _ = (mode, front);
        None
    }

    /// Conversations as files of the guests' own system.
    fn session_files(&self) -> Option<&'static dyn SessionFiles> {
        None
    }

    /// Variables that tell a guest about one call. A tool that becket runs inside such a call does not inherit them.
    fn call_variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether the guests' own system has a tool with that name that means one of becket's.
    fn has_tool(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// The files whose hooks count here, for `hooks check`. Each is read as a run would read it; an error that would
    /// end a run is a finding.
    fn check_files(&self, place: &GuestSearch<'_>) -> Result<Vec<HookFile>, CliError> {
        let _ = place;
        Ok(Vec::new())
    }

    /// How surely a file is of this kind, where several kinds give their files the same name: of those that are more
    /// than 0 the largest number counts.
    fn certainty(&self, file: &NamedFile<'_>) -> u32 {
        let _ = file;
        0
    }

    /// Reads a file for `hooks check`, if its name or its content shows that it is of this kind.
    fn check_file(&self, file: &NamedFile<'_>) -> Option<HookFile> {
        let _ = file;
        None
    }

    /// Reads a file that could be run, without running anything: remarks on what would be left out, or the reason why
    /// it would be refused. `None` if it is no such file.
    fn survey(&self, file: &Path, place: &GuestSearch<'_>) -> Option<Result<Vec<String>, CliError>> {
        let _ = (file, place);
        None
    }

    /// The name of the guests' own system in the table `[dialects]`, if that table is about them.
    fn dialect(&self) -> Option<&'static str> {
        None
    }

    /// The guests' own system as an agent that asks becket's hooks, if it can.
    fn bridge(&self) -> Option<&'static Bridge> {
        None
    }

    /// The vectors of the guests' standard, if it has some.
    fn conformance(&self) -> Option<&'static dyn Conformance> {
        None
    }

    /// The command line of the guests' own program, if becket understands it. Their programs find becket by that name.
    fn foreign_cli(&self) -> Option<&'static ForeignCli> {
        None
    }

    /// The folder in which the run works, if an option of these guests chooses or makes one.
    fn working_directory(
        &self,
        options: &mut GuestOptions,
        surroundings: &Surroundings,
    ) -> Result<Option<PathBuf>, CliError> {
        let _ = (options, surroundings);
        Ok(None)
    }

    /// Names of hidden folders in which there may be hooks.
    fn hidden_folders(&self) -> &'static [&'static str] {
        &[]
    }

    /// Finds the guests of this kind. Looks only at files: nothing is run, and the project's guests are judged.
    fn find(&self, place: &GuestSearch<'_>) -> Result<Box<dyn Found>, CliError>;
}

/// The guests of one kind that were found.
pub trait Found: Any + Send + Sync {
    /// Every guest, trusted or not, in the order in which they are loaded.
    fn guests(&self) -> Vec<FoundGuest>;

    /// Whether there is anything to load.
    fn may_load(&self) -> bool {
        !self.guests().is_empty()
    }

    /// The project's guests of this kind, trusted or not.
    fn judged(&self) -> &[Judged] {
        &[]
    }

    /// Why no run may start: a guard is missing or not trusted.
    fn refusal(&self) -> Option<CliError> {
        None
    }

    /// Whether the guests' programs find the program of [`Host::foreign_cli`] that the user has, in place of becket.
    fn keeps_own_program(&self) -> bool {
        false
    }

    /// Remarks for the user about the guests that were found.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Variables that hold keys of the guests that were found. No guest of any kind sees them.
    fn key_variables(&self) -> Vec<String> {
        Vec::new()
    }

    /// Names of guests that were found and that the user leaves out.
    fn left_out(&self) -> Vec<String> {
        Vec::new()
    }

    /// MCP servers that the guests bring.
    fn servers(&self, place: &GuestSearch<'_>) -> DeclaredServers {
        let _ = place;
        DeclaredServers::default()
    }

    /// The agent file that is run.
    fn agent_file(&self) -> Option<Arc<dyn AgentFile>> {
        None
    }

    /// Adds the rules about tools that were found to the given ones.
    fn add_rules(&self, rules: Rules, reading: &RuleReading<'_>) -> Result<Rules, CliError> {
        let _ = reading;
        Ok(rules)
    }

    /// Remarks for the user about rules and hooks for tools that do not exist.
    fn idle(&self, tools: &KnownTools<'_>) -> Vec<String> {
        let _ = tools;
        Vec::new()
    }

    /// The home of the guests' own system, if its contexts and agent files are kept there.
    fn home(&self) -> Option<ForeignHome<'_>> {
        None
    }

    /// The contexts in the home of the guests' own system.
    fn contexts(&self) -> Vec<ForeignContext> {
        Vec::new()
    }

    /// The context that is current in the guests' own system.
    fn current_context(&self) -> Option<String> {
        None
    }

    /// The conversation of a context of the guests' own system, if it has one; the error says why it cannot be read.
    fn conversation(&self, context: &str) -> Result<Option<ForeignSession>, String> {
        let _ = context;
        Ok(None)
    }

    /// Files with instructions for the model in all projects.
    fn instruction_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The settings of the guests' own system for all runs; the error says why they cannot be read.
    fn run_settings(&self, surroundings: &Surroundings) -> Result<Option<RunSettings>, String> {
        let _ = surroundings;
        Ok(None)
    }

    /// The settings of the guests' own system in the folder of a context.
    fn context_settings(
        &self,
        folder: &Path,
        surroundings: &Surroundings,
    ) -> Result<Option<RunSettings>, CliError> {
        let _ = (folder, surroundings);
        Ok(None)
    }

    /// Variables that hold a provider's key if the user has given none, each with the provider.
    fn provider_keys(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The source of messages for contexts, if the guests' own system has one.
    fn mail(&self, contexts: &Path) -> Option<Arc<dyn MailSource>> {
        let _ = contexts;
        None
    }

    /// Remembers the guests that were found when a run starts, so that one that is gone the next time is missed.
    /// Returns why they could not be remembered.
    fn remember(&self, folders: &Folders) -> Option<String> {
        let _ = folders;
        None
    }

    /// Loads the trusted guests. From here on programs may run.
    fn load<'a>(&'a self, loading: &'a Loading<'a>) -> BoxFuture<'a, Result<Arc<dyn Guests>, CliError>>;
}

/// A guest that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundGuest {
    /// The guest's name.
    pub name: String,
    /// The guest's file.
    pub file: PathBuf,
    /// Whether the guest is trusted.
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

/// The home of another system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignHome<'a> {
    /// What the home is called: `chibi home`.
    pub name: &'static str,
    /// The folder.
    pub folder: &'a Path,
}

/// The context for reading rules that are written in another system's syntax.
#[derive(Clone, Copy)]
pub struct RuleReading<'a> {
    /// The directory that `~` stands for.
    pub home: Option<&'a Path>,
    /// The names by which the model knows tools.
    pub profile: &'a Profile,
}

/// The tools of a run, by name.
#[derive(Clone, Copy)]
pub struct KnownTools<'a> {
    /// The names of tools that guests bring.
    pub brought: &'a [&'a str],
    /// The names of becket's own tools that are no operation.
    pub own: &'a [&'a str],
}

/// Everything that guests are loaded with.
#[derive(Clone, Copy)]
pub struct Loading<'a> {
    /// The place where the guests were found.
    pub place: GuestSearch<'a>,
    /// The environment of the guests' programs: without becket's own keys and those of hosts that were loaded before.
    /// It is built on first use.
    pub environment: &'a (dyn Deref<Target = HookEnvironment> + Sync),
    /// Settings for becket's own provider clients.
    pub providers: &'a ProviderSettings,
    /// The project's files of instructions, by their paths.
    pub prompt_files: &'a [(String, String)],
    /// Whether everything that the project brings is trusted.
    pub is_project_trusted: bool,
    /// Whether guests are asked again to describe themselves.
    pub asking: Asking,
    /// Tools that use the network, according to the settings.
    pub network_tools: &'a [String],
    /// Asks hooks.
    pub engine: &'a Arc<Engine>,
    /// The user's side of the run.
    pub person: &'a Person,
    /// The limits of a fetch.
    pub fetch: FetchLimits,
    /// The MCP servers that guests declare.
    pub servers: &'a [ServerDeclaration],
    /// Judges addresses of the web.
    pub urls: &'a UrlJudge,
    /// Keeps checkpoints of the working directory.
    pub keeper: &'a Keeper,
    /// Whether an agent file lists everything that its agents have. Then nothing else is offered to them.
    pub has_agent_file: bool,
    /// The program that loads the guests.
    pub program: &'a Program,
}

/// The limits of a fetch.
#[derive(Debug, Clone, Copy)]
pub struct FetchLimits {
    /// The largest number of bytes of a page.
    pub bytes: usize,
    /// The longest duration of a fetch.
    pub longest: Duration,
}

/// When a guest is asked to describe itself although an earlier answer is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// A guest is always asked.
    Always,
    /// A guest is asked if it has changed since.
    WhenChanged,
    /// A guest is never asked: only known answers count.
    Never,
}

/// The facts about the program that guests can see.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program's executable file.
    pub file: PathBuf,
    /// Returns the names of the program's own options.
    pub option_names: fn() -> Vec<String>,
    /// How the program talks to its caller.
    pub mode: Mode,
    /// Whether conversations are stored.
    pub keeps_sessions: bool,
    /// Whether another program steers this one or chooses its tools.
    pub is_steered: bool,
    /// Whether every question to the user is answered with yes.
    pub answers_yes: bool,
}

/// How the program talks to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Prints text.
    Print,
    /// Prints events as JSON, one per line.
    Json,
    /// Prints events as JSON, one per line, and reads commands.
    Rpc,
}

/// Guests of one kind that are loaded.
pub trait Guests: Any + Send + Sync {
    /// Variables that hold the guests' keys, known now that they are loaded. Hosts that are loaded later do not see
    /// them.
    fn key_variables(&self) -> Vec<String> {
        Vec::new()
    }

    /// Remarks for the user about the guests.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// The guests that could not be loaded. Each may be a guard.
    fn unloaded(&self) -> Vec<Unloaded> {
        Vec::new()
    }

    /// Continues without the named guest.
    fn leave_out(&self, name: &str) {
        let _ = name;
    }

    /// Registers the guests' hooks. Returns remarks about them.
    fn register(&self, stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
        let _ = stage;
        Ok(Vec::new())
    }

    /// The order in which hosts add their tools: lower ranks come first, and the first tool with a name keeps it.
    fn tool_rank(&self) -> u8 {
        0
    }

    /// Adds the guests' tools to the toolbox. Returns remarks about them.
    fn add_tools(&self, toolbox: &mut Toolbox<'_>) -> Vec<String> {
        let _ = toolbox;
        Vec::new()
    }

    /// Called when all tools of the run are known. Agents of an agent file have their own tools, and none of the
    /// guests'.
    fn settle_tools(&self, toolbox: &Toolbox<'_>) {
        let _ = toolbox;
    }

    /// The guests as participants in a session, with tools that come and go, and calls in the session's name.
    fn in_session(self: Arc<Self>) -> Option<Arc<dyn SessionGuests>> {
        None
    }

    /// Everything that the guests bring to a session besides hooks and tools.
    fn interactive(self: Arc<Self>) -> Option<Arc<dyn Interactive>> {
        None
    }

    /// Work that is done beside a session, once its first request is sent. Its output goes to the user.
    fn later(&self, engine: &Arc<Engine>, front: &Arc<dyn Front>) -> Option<BoxFuture<'static, ()>> {
        let _ = (engine, front);
        None
    }

    /// Sub-agents that the guests bring, by the names under which models find them.
    fn presets(&self) -> Vec<(String, Preset)> {
        Vec::new()
    }

    /// The names of the guests' tools.
    fn tool_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The tools of the MCP server with that name, each with the server's own name for it.
    fn server_tools(&self, server: &str) -> Vec<ServerTool> {
        let _ = server;
        Vec::new()
    }

    /// Calls tools of the guests for hooks, if the guests are MCP servers.
    fn server_calls(self: Arc<Self>) -> Option<Arc<dyn ServerCalls>> {
        None
    }

    /// Whether the setting `tools.network` may name this tool of a guest.
    fn has_network_tool(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Whether a tool with that name may still be added later.
    fn may_still_bring(&self, tool: &str) -> bool {
        let _ = tool;
        false
    }

    /// The guests' names, for questions about their tools.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Called when a context is entered, which may have guests of its own.
    fn enter(&self, context: &str) {
        let _ = context;
    }

    /// A report about each guest, for `doctor`.
    fn reports(&self) -> Vec<Report> {
        Vec::new()
    }

    /// The models that guests bring and that can be used.
    fn models(&self) -> Vec<ListedModel> {
        Vec::new()
    }

    /// Everything that the guests bring besides hooks, for listings.
    fn listed(&self) -> Vec<Listed> {
        Vec::new()
    }

    /// Ends everything that runs for the guests.
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
    /// The names of all built-in tools, as becket calls them.
    pub own_names: &'a [&'static str],
    /// Whether the system of some guest has a tool with that name that means one of becket's.
    pub is_foreign_name: &'a (dyn Fn(&str) -> bool + Sync),
}

impl Toolbox<'_> {
    /// Whether a tool with that name would replace one of becket's own: by the name that the model would see, by
    /// becket's, or by that of a guest's own system.
    pub fn stands_in(&self, name: &str) -> bool {
        self.profile.face_named(name).is_some()
            || Profile::own().face_named(name).is_some()
            || (self.is_foreign_name)(name)
    }

    /// The tool with that name.
    pub fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().face.name == name)
    }

    /// Adds a tool, in place of one with the same name.
    pub fn put(&mut self, tool: Arc<dyn Tool>) {
        let name = tool.spec().face.name.clone();
        self.tools.retain(|other| other.spec().face.name != name);
        self.tools.push(tool);
    }
}

/// The guests of a host that has none.
pub struct NoGuests;

impl Guests for NoGuests {}

/// The parts of a run that guests work with.
#[derive(Clone, Copy)]
pub struct Stage<'a> {
    /// Asks hooks.
    pub engine: &'a Arc<Engine>,
    /// The user's side of the run.
    pub person: &'a Person,
    /// Stores conversations.
    pub store: &'a Arc<SqliteStore>,
    /// The names by which the model knows tools.
    pub profile: &'a Profile,
    /// Finds models by their names.
    pub models: &'a Models,
    /// Calls tools of MCP servers.
    pub servers: &'a Arc<dyn ServerCalls>,
    /// Lets models that decide in place of hooks look at files.
    pub reader: &'a Arc<Reader>,
    /// The session, if a user talks to the agent in a chat.
    pub chat: Option<&'a SessionHandle>,
    /// Whether more prompts may come after an answer: from the user of a chat, or from a program.
    pub awaits_prompts: bool,
    /// The commands of hooks that were registered so far.
    pub commands: &'a KnownCommands,
    /// Whether hooks are only tried out: then a guest that could not be loaded refuses, but the program does not end.
    pub is_rehearsal: bool,
}

/// A thing that `doctor` has checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The thing that was checked.
    pub what: String,
    /// The result of the check.
    pub state: Health,
}

/// Whether a checked thing is in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    Well,
    /// Nothing is wrong, but the user should know this.
    Note(String),
    Wrong(String),
}

impl Report {
    /// A report that something is in order, or what is wrong with it.
    pub fn new(what: impl Into<String>, trouble: Option<String>) -> Self {
        Self {
            what: what.into(),
            state: trouble.map_or(Health::Well, Health::Wrong),
        }
    }

    /// A report that something is in order, with a note for the user.
    pub fn note(what: impl Into<String>, note: String) -> Self {
        Self {
            what: what.into(),
            state: Health::Note(note),
        }
    }

    /// A report of a remark that is written as `what: trouble`.
    pub fn of_remark(remark: &str) -> Self {
        let (what, trouble) = remark.split_once(": ").unwrap_or(("guests", remark));
        Self::new(what, Some(trouble.to_owned()))
    }

    /// A report of a guest that was found and could not be loaded.
    pub fn unloaded(guest: &Unloaded) -> Self {
        let what = format!("{} {} ({})", guest.kind, guest.name, guest.source);
        Self::new(what, Some(format!("{}; no run starts with it", guest.why)))
    }
}

/// A model that a run can use, in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// The provider's name.
    pub provider: String,
    /// The model's name.
    pub name: String,
    /// What it can do, as far as that is known.
    pub facts: ModelFacts,
}

/// A guest in a listing, for people and for programs.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub text: String,
    pub json: Value,
}
