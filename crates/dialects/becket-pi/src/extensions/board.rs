//! The board: everything that the extensions of a run have brought, and what they work with.
//!
//! It exists before there is an agent, because extensions are loaded before one can be put together; what they register
//! until then waits here. From `Board::set_stage` on, hooks go to the engine and tools to the desk as they come.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use becket_agent::desk::Desk;
use becket_agent::front::Sight;
use becket_agent::provider::Provider;
use becket_agent::store::Store;
use becket_events::{EventId, Profile};
use becket_hooks::{
    Cause, DispatchTrace, Engine, Failure, HandlerKey, HandlerRun, LaneKind, Mark, ScriptHandler,
    Unanswerable,
};
use becket_host::{Failed, Person, Ui};
use becket_js::{Extension, Kit, Report, Reporter};
use becket_providers::ProviderSettings;
use becket_store::SqliteStore;
use becket_system::Surroundings;
use serde_json::json;

use super::bus::Bus;
use super::calls::Calls;
use super::components::Components;
use super::flags::GivenFlag;
use super::network::Network;
use super::taps::Taps;
use super::tool::{ExtensionTool, Offer};
use crate::host_call::{
    ContextFile, FlagDefinition, FlagValue, Mode, ProviderDefinition, Shown, ToolDefinition,
};
use crate::services::{Bind, Service};
use crate::shelf::RunShelf;
use crate::{Candidate, ExtensionOwner, Origin};

/// How much of what extensions use is kept until there is a session.
const MOST_UNTOLD: usize = 1_000;

/// Everything that extensions have brought.
pub struct Board {
    /// How they see and steer the session.
    pub desk: Desk,
    /// What they do on the network.
    pub network: Arc<Network>,
    /// What they are told about the run.
    pub facts: Facts,
    /// What they wait for.
    pub calls: Calls,
    /// What they say to each other.
    pub bus: Bus,
    /// What they have on the screen.
    pub components: Components,
    /// Which of them hear what is typed.
    pub taps: Taps,
    /// Whether somebody has asked for the file of the session.
    pub session_file: AtomicBool,
    state: Mutex<State>,
}

/// What is known about the run from its beginning.
pub struct Facts {
    /// What becket was started with.
    pub surroundings: Surroundings,
    /// What programs inherit, the mark among it.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// By which programs are known that extensions have started.
    pub mark: Mark,
    /// What becket's own clients are told.
    pub providers: ProviderSettings,
    /// What runs the agent, in pi's words.
    pub mode: Mode,
    /// Whether the project is trusted.
    pub trusted: bool,
    /// Whether conversations are kept.
    pub keeps_sessions: bool,
    /// How long a handler may take.
    pub timeout: Duration,
    /// How many bytes one extension may use.
    pub memory: usize,
    /// Whether extensions may run programs.
    pub processes: bool,
    /// The project's files of instructions.
    pub prompt_files: Vec<ContextFile>,
    /// Names the options of the program itself.
    pub own_options: fn() -> Vec<String>,
}

/// The agent's parts that extensions work with, once there is one.
pub struct Stage {
    /// Asks the hooks.
    pub engine: Arc<Engine>,
    /// Where the person is.
    pub person: Person,
    /// Keeps the traces.
    pub store: Arc<SqliteStore>,
    /// Skills, prompt templates and themes.
    pub shelf: Arc<RunShelf>,
    /// The names by which the model knows the tools.
    pub profile: Profile,
    /// Gives models by their names.
    pub models: becket_tools::Models,
}

#[derive(Default)]
pub(super) struct State {
    guests: Vec<Guest>,
    given_flags: Vec<GivenFlag>,
    stage: Option<Arc<Stage>>,
    /// Whether the tools that were there at the start have been handed over.
    takes_tools: bool,
    /// What was said that is said only once.
    told: HashSet<String>,
    /// Providers that were registered and are no more.
    withdrawn: HashSet<String>,
    /// Whether a program was started.
    has_started: bool,
    /// What was used while there was no session that could be told.
    untold: Vec<DispatchTrace>,
    /// Whether the session has begun.
    has_begun: bool,
    /// What extensions are loaded with.
    pub(super) kit: Option<Arc<Kit>>,
    /// Extensions with a command at work, and their lives then.
    pub(super) at_work: Vec<(u64, Extension)>,
}

/// An extension, and what it has brought.
pub struct Guest {
    /// Where it was found.
    pub candidate: Candidate,
    /// The extension, once it is loaded.
    pub extension: Option<Extension>,
    /// How often it has begun anew.
    pub life: u64,
    /// Why it is not.
    pub trouble: Option<String>,
    /// The events that it hears.
    pub hooks: Vec<Hook>,
    /// Its tools.
    pub tools: Vec<ToolDefinition>,
    /// Its commands.
    pub commands: Vec<Command>,
    /// Its keys.
    pub shortcuts: Vec<String>,
    /// Kinds of messages that it draws.
    pub renderers: Vec<String>,
    /// Whether it has a say in who draws tools.
    pub resolves_renderers: bool,
    /// Whether it has a say in how texts look.
    pub transforms_markdown: bool,
    /// Its options.
    pub flags: Vec<FlagDefinition>,
    /// Its providers.
    pub providers: Vec<ProviderDefinition>,
    /// Channels of the bus that it listens to.
    pub channels: Vec<String>,
    /// What takes away again what it shows.
    pub undoing: Vec<Shown>,
}

impl Guest {
    /// What it has brought, by kinds: what they are called, and the names of each.
    pub fn brought(&self) -> [(&'static str, Vec<&str>); 5] {
        let mut hooks: Vec<&str> = self.hooks.iter().map(|hook| hook.event.as_str()).collect();
        hooks.dedup();
        [
            ("hooks", hooks),
            (
                "tools",
                self.tools.iter().map(|tool| tool.name.as_str()).collect(),
            ),
            (
                "commands",
                self.commands
                    .iter()
                    .map(|command| command.name.as_str())
                    .collect(),
            ),
            (
                "options",
                self.flags.iter().map(|flag| flag.name.as_str()).collect(),
            ),
            (
                "providers",
                self.providers
                    .iter()
                    .map(|provider| provider.name.as_str())
                    .collect(),
            ),
        ]
    }
}

/// A function that hears an event.
pub struct Hook {
    /// pi's name of the event.
    pub event: String,
    pub(super) number: u32,
    key: Option<HandlerKey>,
    /// Whether it is of an earlier life of the extension's: it judges no more, and is asked only so that it refuses.
    is_stale: bool,
}

impl Hook {
    /// Whether nobody asks it yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.key.is_none() && !self.is_stale
    }

    /// Whether it is the function that the extension keeps under a number now.
    fn is(&self, number: u32) -> bool {
        self.number == number && !self.is_stale
    }
}

/// A command of an extension's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What is typed after the slash.
    pub name: String,
    /// What it does, in a line.
    pub description: Option<String>,
    /// Whether it completes its argument.
    pub completes: bool,
}

/// An option of an extension's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredFlag {
    /// The extension.
    pub extension: String,
    /// The option.
    pub definition: FlagDefinition,
}

impl Guest {
    fn new(candidate: Candidate) -> Self {
        Self {
            candidate,
            extension: None,
            life: 0,
            trouble: None,
            hooks: Vec::new(),
            tools: Vec::new(),
            commands: Vec::new(),
            shortcuts: Vec::new(),
            renderers: Vec::new(),
            resolves_renderers: false,
            transforms_markdown: false,
            flags: Vec::new(),
            providers: Vec::new(),
            channels: Vec::new(),
            undoing: Vec::new(),
        }
    }

    /// Which extension it is, and what runs it.
    pub fn shown(&self) -> String {
        let (name, file) = (&self.candidate.name, self.candidate.file.display());
        match &self.extension {
            Some(extension) => format!("extension {name} ({file}, {})", extension.engine()),
            None => format!("extension {name} ({file})"),
        }
    }
}

impl Board {
    /// A board on which nothing stands yet.
    pub fn new(facts: Facts) -> Self {
        Self {
            desk: Desk::new(),
            network: Arc::default(),
            facts,
            calls: Calls::default(),
            bus: Bus::default(),
            components: Components::default(),
            taps: Taps::default(),
            session_file: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// An extension is about to be loaded.
    pub fn welcome(&self, candidate: Candidate) {
        self.state().guests.push(Guest::new(candidate));
    }

    /// It is loaded.
    pub fn seat(&self, name: &str, extension: Extension) {
        self.with(name, |guest| guest.extension = Some(extension));
    }

    /// It could not be loaded: nothing of what it has registered counts, and whatever a guard may judge is refused.
    pub fn turn_away(&self, name: &str, trouble: String) {
        self.with(name, |guest| {
            *guest = Guest {
                trouble: Some(trouble),
                ..Guest::new(guest.candidate.clone())
            };
        });
        self.refuse_for_lost(name);
    }

    /// Why an extension is not loaded.
    pub fn trouble(&self, name: &str) -> Option<String> {
        self.with(name, |guest| guest.trouble.clone()).flatten()
    }

    /// There is an agent: hooks that have waited are asked from now on.
    pub fn set_stage(&self, stage: Stage) {
        let stage = Arc::new(stage);
        self.state().stage = Some(Arc::clone(&stage));
        let waiting = self.each(|guest| {
            let hooks = guest.hooks.iter();
            let hooks: Vec<(String, u32)> = hooks
                .filter(|hook| !hook.is_stale)
                .map(|hook| (hook.event.clone(), hook.number))
                .collect();
            (guest.candidate.name.clone(), hooks)
        });
        for (name, hooks) in waiting {
            for (event, number) in hooks {
                self.listen(&name, &event, number);
            }
            self.refuse_for_stale_guards(&name, &stage.engine);
        }
    }

    /// Nobody knows what an extension would have judged that could not be loaded: its guards refuse everything.
    fn refuse_for_lost(&self, name: &str) {
        self.with(name, |guest| {
            for event in crate::guard_events()
                .into_iter()
                .filter(|_| guest.trouble.is_some())
            {
                if !guest
                    .hooks
                    .iter()
                    .any(|hook| hook.is_stale && hook.event == event)
                {
                    guest.hooks.push(Hook {
                        event: event.to_owned(),
                        number: 0,
                        key: None,
                        is_stale: true,
                    });
                }
            }
        });
        self.stage()
            .iter()
            .for_each(|stage| self.refuse_for_stale_guards(name, &stage.engine));
    }

    /// The agent's parts, once there are some.
    pub fn stage(&self) -> Option<Arc<Stage>> {
        self.state().stage.clone()
    }

    /// A function wants to hear an event: at once if there is an engine, else as soon as there is one.
    /// The error says which guard was probably meant by an event that does not exist; the extension then counts as one
    /// that could not be loaded, whatever it makes of the error.
    pub fn hear(&self, name: &str, event: String, number: u32) -> Result<(), String> {
        if let Some(guard) = crate::misspelt_guard(&event) {
            let words = format!("there is no event `{event}`; did you mean `{guard}`?");
            self.with(name, |guest| guest.trouble = Some(words.clone()));
            self.refuse_for_lost(name);
            return Err(words);
        }
        let is_new = Hook {
            event: event.clone(),
            number,
            key: None,
            is_stale: false,
        };
        self.with(name, |guest| guest.hooks.push(is_new));
        self.listen(name, &event, number);
        Ok(())
    }

    pub(super) fn listen(&self, name: &str, event: &str, number: u32) {
        let Some(stage) = self.stage() else { return };
        let extension = self.with(name, |guest| guest.extension.clone()).flatten();
        let (Some(extension), Some(owner)) = (extension, self.owner(name)) else {
            return;
        };
        let handler = extension.handler(number, self.facts.timeout);
        match crate::register(&stage.engine, event, handler, &owner) {
            Ok(key) => {
                self.with(name, |guest| {
                    let hook = guest.hooks.iter_mut().find(|hook| hook.is(number));
                    hook.into_iter().for_each(|hook| hook.key = Some(key));
                });
            }
            Err(remark) => self.warn(&remark),
        }
    }

    /// A function does not want to hear its event any more.
    pub fn unhear(&self, name: &str, number: u32) {
        let key = self.with(name, |guest| {
            let at = guest.hooks.iter().position(|hook| hook.is(number))?;
            guest.hooks.remove(at).key
        });
        if let (Some(Some(key)), Some(stage)) = (key, self.stage()) {
            stage.engine.remove(key);
        }
    }

    /// An extension is about to be loaded once more: of what it has brought, only that its guards refuse counts.
    pub fn renewing(&self, name: &str) {
        let guards = crate::guard_events();
        let gone = self.with(name, |guest| {
            let all = std::mem::take(&mut guest.hooks).into_iter();
            let (mut kept, gone): (Vec<Hook>, Vec<Hook>) =
                all.partition(|hook| guards.contains(&hook.event.as_str()));
            kept.iter_mut().for_each(|hook| hook.is_stale = true);
            *guest = Guest {
                extension: guest.extension.take(),
                life: guest.life + 1,
                hooks: kept,
                ..Guest::new(guest.candidate.clone())
            };
            gone
        });
        self.remove_hooks(gone.unwrap_or_default());
    }

    /// It is back, or will not come back.
    pub fn renewed(self: &Arc<Self>, name: &str, loaded: Result<(), Failure>) {
        if let Err(failure) = loaded {
            let trouble = failure.to_string();
            self.warn(&format!(
                "the extension {name} could not be loaded again: {trouble}; what a guard may judge is refused"
            ));
            self.with(name, |guest| guest.trouble = Some(trouble));
            return self.refuse_for_lost(name);
        }
        let back = self.with(name, |guest| {
            let all = std::mem::take(&mut guest.hooks).into_iter();
            let (gone, kept): (Vec<Hook>, Vec<Hook>) = all.partition(|hook| hook.is_stale);
            guest.hooks = kept;
            (gone, guest.extension.clone())
        });
        let Some((gone, extension)) = back else { return };
        self.remove_hooks(gone);
        if let (Some(extension), true) = (extension, self.state().has_begun) {
            tokio::spawn(Arc::clone(self).begin_again(extension));
        }
    }

    /// Tells an extension that was loaded in the middle of a session that there is one.
    async fn begin_again(self: Arc<Self>, extension: Extension) {
        let (event, fields) = crate::loaded_again();
        if let Err(failure) = self.ask(&extension, &Bind {}, self.facts.timeout).await {
            return self.fail(extension.name(), Some(event), &failure.to_string());
        }
        self.tell_one(&extension, event, &fields).await;
    }

    /// Whether a session has begun: then who is loaded must be told.
    pub(super) fn set_begun(&self, has_begun: bool) {
        self.state().has_begun = has_begun;
    }

    /// An extension is not there any more, and nothing of what it has brought.
    pub(super) fn dismiss(&self, name: &str) {
        let hooks = self.with(name, |guest| std::mem::take(&mut guest.hooks));
        self.remove_hooks(hooks.unwrap_or_default());
        let mut state = self.state();
        let (kept, gone) = std::mem::take(&mut state.guests)
            .into_iter()
            .partition(|guest| guest.candidate.name != name);
        state.guests = kept;
        drop(state);
        // What ends with it may look at the board once more: not while it is held.
        drop::<Vec<Guest>>(gone);
    }

    /// A loaded extension.
    pub fn extension(&self, name: &str) -> Option<Extension> {
        self.with(name, |guest| guest.extension.clone()).flatten()
    }

    fn remove_hooks(&self, hooks: Vec<Hook>) {
        let Some(stage) = self.stage() else { return };
        for key in hooks.into_iter().filter_map(|hook| hook.key) {
            stage.engine.remove(key);
        }
    }

    /// Where an extension judged that cannot judge now: it has not come back yet, or could not be loaded.
    fn refuse_for_stale_guards(&self, name: &str, engine: &Engine) {
        let words = match self.trouble(name) {
            Some(trouble) => format!("it could not be loaded: {trouble}"),
            None => "what ran it has ended, and it is being loaded again".to_owned(),
        };
        let failure = Failure::new(Cause::SpawnFailed, words);
        let refusing: Arc<dyn ScriptHandler> = Arc::new(Unanswerable(failure));
        let Some(owner) = self.owner(name) else { return };
        self.with(name, |guest| {
            for hook in guest
                .hooks
                .iter_mut()
                .filter(|hook| hook.is_stale && hook.key.is_none())
            {
                hook.key = crate::register(engine, &hook.event, Arc::clone(&refusing), &owner).ok();
            }
        });
    }

    /// In whose name an extension's hooks are asked, and when.
    fn owner(&self, name: &str) -> Option<ExtensionOwner> {
        let state = self.state();
        let mut guests = state.guests.iter();
        let order = guests.position(|guest| guest.candidate.name == name)?;
        Some(ExtensionOwner {
            name: name.to_owned(),
            source: state.guests[order].candidate.file.display().to_string(),
            // Numbers of the same length, so that they are sorted as numbers are.
            order: vec![format!("{order:05}")],
            timeout: self.facts.timeout,
            lane: LaneKind::Javascript,
            priority: 0,
        })
    }

    /// The tools that were registered until now, in the order of their extensions. Later ones go to the desk.
    pub fn hand_over_tools(&self) -> Vec<Offer> {
        let mut state = self.state();
        state.takes_tools = true;
        let mut offers = Vec::new();
        for guest in &state.guests {
            let extension = guest.extension.iter();
            offers.extend(extension.flat_map(|extension| {
                guest.tools.iter().map(|tool| Offer {
                    extension: extension.clone(),
                    definition: tool.clone(),
                })
            }));
        }
        offers
    }

    /// There is a tool. The first of a name has it; the same extension may replace its own.
    pub fn add_tool(self: &Arc<Self>, name: &str, tool: ToolDefinition) {
        let owner = self.owner_of_tool(&tool.name);
        if let Some(owner) = owner.filter(|owner| owner != name) {
            let tool = &tool.name;
            self.warn(&format!(
                "the extensions {owner} and {name} both have a tool {tool:?}; that of {owner} is used"
            ));
            return;
        }
        let offer = self.with(name, |guest| {
            guest.tools.retain(|other| other.name != tool.name);
            guest.tools.push(tool.clone());
            guest.extension.clone().map(|extension| Offer {
                extension,
                definition: tool,
            })
        });
        let takes_tools = self.state().takes_tools;
        if let (true, Some(Some(offer)), Some(stage)) = (takes_tools, offer, self.stage()) {
            match ExtensionTool::new(offer, self, &stage.profile) {
                Ok(tool) => self.desk.add_tool(Arc::new(tool)),
                Err(why) => self.warn(&why),
            }
        }
    }

    fn owner_of_tool(&self, tool: &str) -> Option<String> {
        let state = self.state();
        let has = |guest: &&Guest| guest.tools.iter().any(|other| other.name == tool);
        let owner = state.guests.iter().find(has);
        owner.map(|guest| guest.candidate.name.clone())
    }

    /// All options, the first of each name.
    pub fn flags(&self) -> Vec<RegisteredFlag> {
        let mut flags: Vec<RegisteredFlag> = Vec::new();
        for guest in &self.state().guests {
            for definition in &guest.flags {
                if !flags.iter().any(|flag| flag.definition.name == definition.name) {
                    flags.push(RegisteredFlag {
                        extension: guest.candidate.name.clone(),
                        definition: definition.clone(),
                    });
                }
            }
        }
        flags
    }

    /// What the command line sets options to.
    pub fn set_flags(&self, given: &[GivenFlag]) {
        self.state().given_flags = given.to_vec();
    }

    /// What an option of an extension's is set to; `None` for one that it has not.
    pub fn flag(&self, name: &str, flag: &str) -> Option<FlagValue> {
        let state = self.state();
        let guest = state.guests.iter().find(|guest| guest.candidate.name == name)?;
        let definition = guest.flags.iter().find(|definition| definition.name == flag)?;
        let given = state.given_flags.iter().find(|given| given.name == flag);
        given
            .map(|given| given.value.clone())
            .or(definition.default.clone())
    }

    /// Extensions that listen to a channel, without the one that speaks.
    pub fn listeners(&self, channel: &str, speaker: &str) -> Vec<Extension> {
        let state = self.state();
        let others = state
            .guests
            .iter()
            .filter(|guest| guest.candidate.name != speaker);
        let listening = others.filter(|guest| guest.channels.iter().any(|other| other == channel));
        listening.filter_map(|guest| guest.extension.clone()).collect()
    }

    /// The file of the extension that has brought a resource: of those that hear when they are collected, the one
    /// beside which it lies, or the only one.
    pub fn bringer(&self, resource: &Path) -> Option<PathBuf> {
        let state = self.state();
        let hears = |guest: &&Guest| {
            guest
                .hooks
                .iter()
                .any(|hook| hook.event == crate::RESOURCES_EVENT)
        };
        let bringers: Vec<&PathBuf> = state
            .guests
            .iter()
            .filter(hears)
            .map(|guest| &guest.candidate.file)
            .collect();
        let lies_beside = |file: &&&PathBuf| file.parent().is_some_and(|folder| resource.starts_with(folder));
        let beside = bringers.iter().find(lies_beside).copied();
        let only = bringers.first().copied().filter(|_| bringers.len() == 1);
        beside.or(only).cloned()
    }

    /// All loaded extensions, in order.
    pub fn extensions(&self) -> Vec<Extension> {
        let state = self.state();
        state
            .guests
            .iter()
            .filter_map(|guest| guest.extension.clone())
            .collect()
    }

    /// Looks at every extension, loaded or not.
    pub fn each<T>(&self, look: impl FnMut(&Guest) -> T) -> Vec<T> {
        self.state().guests.iter().map(look).collect()
    }

    /// Looks at one extension.
    pub fn with<T>(&self, name: &str, change: impl FnOnce(&mut Guest) -> T) -> Option<T> {
        let mut state = self.state();
        let guest = state
            .guests
            .iter_mut()
            .find(|guest| guest.candidate.name == name)?;
        Some(change(guest))
    }

    /// Calls a function of an extension's, and waits for what it answers.
    pub async fn ask<S: Service>(
        &self,
        extension: &Extension,
        service: &S,
        timeout: Duration,
    ) -> Result<S::Answer, Failure> {
        let wrong = |detail: String| Failure::new(Cause::WrongShape, detail);
        let argument = serde_json::to_string(service).map_err(|error| wrong(error.to_string()))?;
        let answer = extension.invoke(S::NAME, &argument, timeout).await?;
        S::read(answer.as_deref()).map_err(wrong)
    }

    /// Says something that may be wrong, the first time only.
    pub fn warn_once(&self, words: &str) {
        if self.state().told.insert(words.to_owned()) {
            self.warn(words);
        }
    }

    /// Says something that may be wrong.
    pub fn warn(&self, words: &str) {
        match self.stage() {
            Some(stage) => stage.person.front.show(Sight::Warning(words)),
            None => self.facts.surroundings.remark(words),
        }
    }

    /// Says something else.
    pub fn notice(&self, words: &str) {
        match self.stage() {
            Some(stage) => stage.person.front.show(Sight::Notice(words)),
            None => self.facts.surroundings.remark(words),
        }
    }

    /// How extensions reach the person; `None` where there is no agent yet.
    pub fn ui<T>(&self, reach: impl FnOnce(&Arc<dyn Ui>) -> T) -> Option<T> {
        self.stage().map(|stage| reach(&stage.person.ui))
    }

    /// An extension has failed where nobody waits for it.
    pub fn fail(&self, extension: &str, event: Option<&str>, error: &str) {
        let path = self.with(extension, |guest| guest.candidate.file.display().to_string());
        let failed = Failed {
            extension,
            path: path.as_deref().unwrap_or_default(),
            event,
            error,
        };
        if self.ui(|ui| ui.failed(failed)).is_none() {
            self.facts.surroundings.remark(&failed.words());
        }
    }

    /// Notes in the session's trace that an extension has used something. What was used before there was a session is
    /// noted when there is one.
    pub fn trace(&self, extension: &str, what: &str, target: &str) {
        let source = self.owner(extension).map(|owner| owner.source);
        let source = source.unwrap_or_default();
        let run = HandlerRun {
            reply: Some(json!({"used": what, "target": target})),
            ..HandlerRun::noted(extension.to_owned(), source, crate::DIALECT, LaneKind::Javascript)
        };
        let trace = DispatchTrace::noted(EventId::Notification, run);
        let mut state = self.state();
        if state.untold.len() < MOST_UNTOLD {
            state.untold.push(trace);
        }
        drop(state);
        self.tell_used();
    }

    /// Hands over to the session's trace what has been used.
    pub fn tell_used(&self) {
        let (Some(stage), Ok(place)) = (self.stage(), self.desk.place()) else {
            return;
        };
        let untold = std::mem::take(&mut self.state().untold);
        for trace in untold {
            let session_id = place.session_id.clone();
            stage
                .store
                .trace(&place.session_id, DispatchTrace { session_id, ..trace });
        }
    }

    /// The model that is meant by a name, with what is known about it.
    pub fn model(&self, name: &str) -> Result<Arc<dyn Provider>, String> {
        // The one in use need not be found again, which not every name is good for.
        let is_meant = |model: &Arc<dyn Provider>| name == format!("{}/{}", model.name(), model.model());
        if let Some(in_use) = self.desk.model().ok().filter(is_meant)
            && !self.is_withdrawn(in_use.name())
        {
            return Ok(in_use);
        }
        let stage = self.stage().ok_or("there is no agent yet")?;
        (stage.models)(name)
    }

    /// An extension's provider is no more. A session that has begun with one of its models goes on with it, but nobody
    /// can choose it any more.
    pub fn withdraw_provider(&self, extension: &str, provider: &str) {
        self.with(extension, |guest| {
            guest.providers.retain(|other| other.name != provider)
        });
        self.state().withdrawn.insert(provider.to_owned());
    }

    /// Whether a provider was an extension's, and nobody brings it any more.
    pub fn is_withdrawn(&self, provider: &str) -> bool {
        self.provider(provider).is_none() && self.state().withdrawn.contains(provider)
    }

    /// A program is started.
    pub fn note_program(&self) {
        self.state().has_started = true;
    }

    /// Everything is over: nothing is held any more, and what programs have left running ends.
    pub fn clear(&self) {
        let mut state = self.state();
        let guests = std::mem::take(&mut state.guests);
        let kit = state.kit.take();
        state.stage = None;
        let has_started = std::mem::take(&mut state.has_started);
        drop(state);
        drop((guests, kit));
        if has_started {
            self.facts.mark.end_all();
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("no panic happens while the board is held")
    }
}

impl Reporter for Board {
    fn report(&self, extension: &str, report: Report) {
        match report {
            Report::Console { error: true, text } => self.warn(&format!("{extension}: {text}")),
            Report::Console { text, .. } => self.notice(&format!("{extension}: {text}")),
            Report::Used { what, target } => {
                if what.starts_with("child_process") {
                    self.note_program();
                }
                self.trace(extension, what, &target);
            }
            Report::Failed { text } => self.fail(extension, None, &text),
        }
    }

    fn rejected(&self, extension: &str, reason: &str) {
        self.calls.fail_streams(extension, reason);
    }
}

/// Where something of an extension comes from, in pi's words: scope, then what brought it.
pub fn origin_words(origin: &Origin) -> (&'static str, &str) {
    match origin {
        Origin::CommandLine => ("temporary", "cli"),
        Origin::Project => ("project", "local"),
        Origin::Person => ("user", "local"),
        Origin::Package(source) => ("user", source),
    }
}
