//! What a dialect says about its system: where its files are, its events, and what its hooks read and say.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use becket_agent::Input as TypedInput;
use becket_agent::session_handle::{Delivery, SessionHandle};
use becket_agent::url_policy::UrlJudge;
use becket_dialect_kit::RowInfo;
use becket_events::{Class, EventId, InputSource, Profile, Scope};
use becket_hooks::{CommandLane, Dialect, Engine, Failure, Finished, HookEnvironment};
use becket_host::{Bridge, GuestSearch, KnownCommand, KnownCommands, Person, Reader, ServerCalls};
use becket_system::CliError;
use becket_tools::Models;
use serde_json::Value;

use crate::answer::HookAnswer;
use crate::entry::{Dropped, HookEntry, Owner, Reading, ServerEntry, Source};
use crate::env_file::{EnvFile, EnvFiles};
use crate::facts::Facts;
use crate::guest_text::{ReadText, TextsInUse};
use crate::input::Input;
use crate::late::Late;
use crate::leaving::Leaves;
use crate::matching::NameMatcher;
use crate::rules::RuleLists;
use crate::transcript::{ShowCall, Transcripts};

/// A system that keeps hooks in JSON files.
pub struct System {
    /// The dialect.
    pub dialect: Dialect,
    /// The system's name for people.
    pub title: &'static str,
    /// The names and schemas by which the system's models know tools.
    pub profile: fn() -> &'static Profile,
    /// Shows a call in the system's terms.
    pub show_call: ShowCall,
    /// Folders of projects in which the system keeps its files.
    pub folders: &'static [&'static str],
    /// Finds the files, in the order in which their hooks count. Those that do not exist are left out.
    pub sources: fn(&GuestSearch<'_>) -> Result<Vec<Source>, CliError>,
    /// Finds what these files or others name and what is not there, such as a plugin that is enabled.
    pub missing: fn(&GuestSearch<'_>) -> Vec<Dropped>,
    /// Reads Markdown files, if the system has agents, skills and commands with hooks in such files.
    pub read_text: Option<ReadText>,
    /// Finds the MCP servers that the system's own files declare, in the order in which they count.
    pub servers: fn(&GuestSearch<'_>) -> Vec<ServerEntry>,
    /// Whether a file is one of the system's, by its name.
    pub is_file: fn(&Path) -> bool,
    /// The file in a plugin's folder that says that the plugin is the system's, if there is one.
    pub manifest: Option<&'static str>,
    /// The JSON in the text of a file: the text itself, unless the system's files may hold comments.
    pub json: fn(&str) -> Cow<'_, str>,
    /// Reads a file.
    pub read: fn(&Value, &Arc<Source>, &mut Reading),
    /// Whether the system runs a hook once that stands in files of several folders.
    pub joins_folders: bool,
    /// Changes what was read as the environment of the run wants it.
    pub settle: fn(&mut Reading, &GuestSearch<'_>),
    /// Reads the permission rules of a file. The error names the rule that cannot be read.
    pub rules: fn(&Value, &Source, &Facts) -> Result<RuleLists, String>,
    /// The system's events.
    pub rows: fn() -> Vec<Box<dyn HookRow>>,
    /// The meaning of a matcher's text. The error says why it cannot be read; then the hook is for everything.
    pub matcher: fn(&str) -> Result<NameMatcher, String>,
    /// The shell for command lines, with its options; `None` for `sh -c`.
    pub shell: fn(&Facts) -> Option<Vec<String>>,
    /// Former names of tools, each with the name of today: matchers and conditions may still use them.
    pub former_names: &'static [(&'static str, &'static str)],
    /// Further names of tools by which matchers of an event may choose, also of tools that becket does not have.
    pub other_tools: fn(&str) -> &'static [&'static str],
    /// The directory in which a hook runs; `None` for that of the agent.
    pub directory: fn(&HookEntry, &Facts) -> Option<PathBuf>,
    /// How a command names a file of the project wherever it runs, with `PATH` for the file.
    pub path_of_project: &'static str,
    /// The shortest time that makes sense for a hook, if authors mistake its unit.
    pub least_time: Option<LeastTime>,
    /// Variables that are known before anything runs: a command may name its files by them.
    pub variables: fn(&Source, &Facts) -> BTreeMap<String, String>,
    /// Variables of one run.
    pub run_variables: fn(&HookEntry, &Scope, &Facts) -> Vec<(String, String)>,
    /// The file for variables that some hooks get.
    pub env_file: Option<EnvFile>,
    /// Events at which the input shows the request that the model answers, from the facts.
    pub shows_request: &'static [&'static str],
    /// The members that every input has.
    pub input: fn(&'static str, &Scope, &Facts) -> Input,
    /// Whether guards refuse with more exit codes than 2.
    pub errors_refuse: bool,
    /// Whether what a program prints first asks for nobody to wait for it, in a system that knows such words.
    pub leaves: Option<Leaves>,
    /// What a program has said. A failure refuses if the hook is a guard.
    pub hear: fn(&Contract, &Finished) -> Result<HookAnswer, Failure>,
    /// The system as an agent that asks becket's hooks.
    pub bridge: &'static Bridge,
}

impl fmt::Debug for System {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.title)
    }
}

impl System {
    /// The system's events, for listings.
    pub fn row_infos(&self) -> Vec<RowInfo> {
        let rows = (self.rows)();
        let contracts = rows.iter().map(|row| row.contract());
        let infos = contracts.map(|contract| RowInfo {
            dialect: self.dialect.name,
            name: contract.name,
            event: contract.event,
            class: contract.class,
        });
        infos.collect()
    }
}

/// The shortest time that makes sense for a hook.
#[derive(Debug, Clone, Copy)]
pub struct LeastTime {
    /// The time.
    pub time: std::time::Duration,
    /// What an author who gives less has probably mistaken.
    pub why: &'static str,
}

/// The part of a row that is plain data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contract {
    /// The event's name in its system.
    pub name: &'static str,
    /// becket's event behind it.
    pub event: EventId,
    /// What a broken hook means.
    pub class: Class,
    /// Whether matchers count at this event.
    pub has_matcher: bool,
    /// All texts that matchers may meet, at an event that is not about tools and has only these; empty if it is open.
    pub values: &'static [&'static str],
    /// The effect of a block.
    pub block: Block,
    /// The use of output that is not JSON.
    pub plain: Plain,
    /// Whether every occasion of becket's event is one of this event.
    pub is_always: bool,
    /// Whether text for the model reaches it with its next turn, where becket's event takes none.
    pub context_later: bool,
}

/// The effect of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// The user is told, and nothing else.
    Told,
    /// The action does not happen.
    Refuses,
    /// The model is told why.
    Feedback,
    /// The model goes on.
    GoesOn,
    /// The run ends.
    EndsRun,
}

/// The use of output that is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// The model sees it.
    Context,
    /// The user sees it.
    Shown,
    /// Nobody sees it.
    Dropped,
}

/// One event of a system.
pub trait HookRow: Send + Sync {
    /// The event's contract.
    fn contract(&self) -> Contract;

    /// Registers a hook, unless one of another system does the same wherever this one would be asked.
    fn register(
        &self,
        engine: &Engine,
        hook: LoadedHook,
        running: &Arc<Running>,
        commands: &KnownCommands,
    ) -> Registered;
}

/// What all hooks of a system need while they run.
pub struct Running {
    pub system: &'static System,
    pub facts: Facts,
    /// Whether an error after which the hook's own system goes on refuses.
    pub strict: bool,
    pub transcripts: Arc<Transcripts>,
    pub late: Arc<Late>,
    /// The skills and commands that are in use.
    pub texts: Arc<TextsInUse>,
    pub models: Models,
    pub servers: Arc<dyn ServerCalls>,
    pub reader: Arc<Reader>,
    /// The user's side of the run.
    pub person: Person,
    /// The chat, if a user talks to the agent in one.
    pub chat: Option<SessionHandle>,
    pub urls: UrlJudge,
    /// Patterns of addresses that hooks may post to; any if there is no list.
    pub allowed_urls: Option<Vec<String>>,
    /// The environment of hooks, in which no key of a provider is.
    pub environment: HookEnvironment,
    /// Whether more prompts may come after an answer.
    pub awaits_prompts: bool,
    /// Files with variables that hooks have written.
    pub env_files: Arc<EnvFiles>,
    /// Variables that hooks have set for later hooks, by session.
    pub session_env: Mutex<HashMap<String, Vec<SetVariables>>>,
}

/// Variables that a hook has set, and whose the hook is.
pub type SetVariables = (Owner, BTreeMap<String, String>);

impl Running {
    fn session_env(&self) -> MutexGuard<'_, HashMap<String, Vec<SetVariables>>> {
        self.session_env.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a line as if the user had typed it, if a chat begins with nothing in it yet.
    pub fn type_line(&self, line: &str) -> Result<(), String> {
        let Some(chat) = &self.chat else {
            return Ok(());
        };
        let said = chat
            .conversation()
            .messages()
            .map_err(|error| error.to_string())?;
        if !said.is_empty() {
            return Ok(());
        }
        let input = TypedInput {
            text: line.to_owned(),
            images: Vec::new(),
            source: InputSource::Hook,
        };
        let typed = chat.messages().type_line(input, Delivery::FollowUp);
        typed.map_err(|error| error.to_string())
    }

    /// Gives an idle chat what hooks in the background have said as a prompt. A session at work hears it with its next
    /// turn.
    pub fn wake(&self, session_id: &str) {
        let Some(chat) = self.chat.as_ref().filter(|chat| chat.is_idle()) else {
            return;
        };
        let said = self.late.take(session_id);
        if said.is_empty() {
            return;
        }
        let input = TypedInput {
            text: said.join("\n\n"),
            images: Vec::new(),
            source: InputSource::Hook,
        };
        if chat.messages().say(input, Delivery::FollowUp).is_err() {
            self.late.add(session_id, said);
        }
    }

    /// Notes variables that a hook has set for later hooks of its session.
    pub fn set(&self, entry: &HookEntry, session_id: &str, variables: BTreeMap<String, String>) {
        let mut sessions = self.session_env();
        let set = sessions.entry(session_id.to_owned()).or_default();
        set.push((entry.source.owner, variables));
    }

    /// Variables for a hook that others have set before it. A project sets none for the user's guards.
    pub fn set_before(&self, entry: &HookEntry, session_id: &str) -> Vec<(String, String)> {
        let sessions = self.session_env();
        let set = sessions.get(session_id).into_iter().flatten();
        let set = set.filter(|(owner, _)| *owner <= entry.source.owner);
        set.flat_map(|(_, variables)| variables.clone()).collect()
    }
}

/// The result of registering a hook.
#[derive(Default)]
pub struct Registered {
    /// Remarks about the hook.
    pub remarks: Vec<String>,
    /// Where the hook of another system is defined that runs in place of this one, if this one is not registered.
    pub same: Option<String>,
}

/// A hook that is ready to run.
pub struct LoadedHook {
    /// The hook's place among all hooks of its system.
    pub place: usize,
    pub entry: HookEntry,
    /// The hook's program, if it is one.
    pub lane: Option<Arc<CommandLane>>,
    /// The hook for a comparison with those of other systems, if it runs a command and would always do the same.
    pub known: Option<KnownCommand>,
}
