//! All guests of a run: the hosts there are, and the loops over them.

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_agent::Rules;
use becket_agent::front::Front;
use becket_agent::guests::Guests as SessionGuests;
use becket_agent::mail::MailSource;
use becket_hooks::{Engine, Section, nearest};
use becket_host::{
    AgentFile, Bridge, Client, Conformance, DialectSettings, ForeignCli, ForeignContext, ForeignHome,
    ForeignSession, Found, FoundGuest, GuestOptions, GuestSearch, Guests, Host, HostOption, Interactive,
    KnownTools, Listed, ListedModel, Mode, NoInteraction, NoServers, Report, RuleReading, RunSettings,
    ServerCalls, ServerDeclaration, ServerTool, SessionFiles, Stage, Toolbox, Unloaded,
};
use becket_system::{CliError, Exit, Folders, Surroundings};
use becket_tools::Preset;
use becket_trust::Judged;
use futures_util::future::{BoxFuture, join_all};

use crate::own_hooks::OwnHookHost;

/// The kinds of guests, in the order in which they are loaded. Extensions come first: only when they are loaded is it
/// known which variables hold their keys, and guests that are loaded later do not see those.
pub const HOSTS: &[&dyn Host] = &[
    #[cfg(feature = "pi")]
    &becket_pi::host::ExtensionHost,
    &OwnHookHost,
    #[cfg(feature = "claude-code")]
    &becket_claude_code::HOST,
    #[cfg(feature = "codex")]
    &becket_codex::HOST,
    #[cfg(feature = "gemini")]
    &becket_gemini::HOST,
    #[cfg(feature = "cursor")]
    &becket_cursor::HOST,
    #[cfg(feature = "copilot")]
    &becket_copilot::HOST,
    #[cfg(feature = "docker-agent")]
    &becket_docker_agent::DockerAgentHost,
    #[cfg(feature = "chibi")]
    &becket_chibi::PluginHost,
    #[cfg(feature = "mcp")]
    &becket_mcp_host::ServerHost,
    #[cfg(feature = "scheme")]
    &becket_chibi::scheme_files::SchemeHost,
    #[cfg(feature = "agent-hooks")]
    &becket_agent_hooks::AgentHooksHost,
];

/// The kind of guests that are hooks of a file. A listing of hooks shows each of them already.
pub const HOOK: &str = "hook";

/// The kinds of guests of a program.
#[derive(Clone, Copy)]
pub struct Hosts(&'static [&'static dyn Host]);

impl Default for Hosts {
    fn default() -> Self {
        Self(HOSTS)
    }
}

impl fmt::Debug for Hosts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = self.0.iter().map(|host| host.kind());
        formatter.debug_list().entries(kinds).finish()
    }
}

impl Hosts {
    /// becket's hosts and further ones behind them. The list is leaked: a program makes one, for as long as it runs.
    pub fn and(further: &[&'static dyn Host]) -> Self {
        Self([HOSTS, further].concat().leak())
    }

    /// Each host, in the order in which guests are loaded.
    pub fn iter(self) -> impl Iterator<Item = &'static dyn Host> {
        self.0.iter().copied()
    }

    /// The tables of `config.toml` that are about guests.
    pub fn sections(self) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        for section in self.0.iter().flat_map(|host| host.sections()) {
            // Several kinds may share a table.
            if !sections.iter().any(|known| known.name == section.name) {
                sections.push(*section);
            }
        }
        sections
    }

    /// Variables that tell a guest about one call.
    pub fn call_variables(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|host| host.call_variables()).copied()
    }

    /// Whether a guest's system has a tool of that name that means one of becket's.
    pub fn has_tool(self, name: &str) -> bool {
        self.0.iter().any(|host| host.has_tool(name))
    }

    /// The formats of conversations in files of other systems.
    pub fn session_files(self) -> impl Iterator<Item = &'static dyn SessionFiles> {
        self.0.iter().filter_map(|host| host.session_files())
    }

    /// The programs whose command lines becket understands.
    pub fn foreign_clis(self) -> impl Iterator<Item = &'static ForeignCli> {
        self.0.iter().filter_map(|host| host.foreign_cli())
    }

    /// The agents that can ask becket's hooks.
    pub fn bridges(self) -> impl Iterator<Item = &'static Bridge> {
        self.0.iter().filter_map(|host| host.bridge())
    }

    /// The standards whose vectors becket can run.
    pub fn conformances(self) -> impl Iterator<Item = &'static dyn Conformance> {
        self.0.iter().filter_map(|host| host.conformance())
    }

    /// The client that speaks with the program that has started becket.
    pub fn client(self, mode: Mode, front: Arc<dyn Front>) -> Result<Arc<dyn Client>, CliError> {
        let mut clients = self
            .0
            .iter()
            .filter_map(|host| host.client(mode, Arc::clone(&front)));
        clients
            .next()
            .ok_or_else(|| CliError::usage("this becket was built without support for `--mode`"))
    }

    /// The error about an option that no kind of guest knows. What it names would take no part in the run, guards
    /// included.
    pub fn unknown_option(self, given: &GuestOptions) -> Option<CliError> {
        let options: Vec<HostOption> = self.0.iter().flat_map(|host| host.options()).collect();
        let listed = options.iter().map(|option| &*option.name);
        let known: Vec<&str> = listed
            .chain(self.0.iter().flat_map(|host| host.unlisted_options()).copied())
            .collect();
        let unknown = given.names().find(|name| !known.contains(name))?;
        let message = format!("this becket was built without support for `{unknown}`");
        Some(CliError::usage(message).hint("build it with all features, or leave it out"))
    }

    /// Checks that every system that the settings name is known: whoever misspells one switches nothing off.
    fn check_dialects(self, place: &GuestSearch<'_>) -> Result<(), CliError> {
        let known: Vec<&str> = self.0.iter().filter_map(|host| host.dialect()).collect();
        if known.is_empty() {
            return Ok(());
        }
        let settings: DialectSettings = place.section()?;
        let mut named = settings.systems.keys();
        let Some(unknown) = named.find(|name| !known.contains(&name.as_str())) else {
            return Ok(());
        };
        let message = format!("{}: [dialects] has no `{unknown}`", place.settings.file.display());
        let near = nearest(unknown, known.iter().copied());
        let hint = near.map_or(format!("there are {}", known.join(", ")), |near| {
            format!("did you mean `{near}`?")
        });
        Err(CliError::usage(message).hint(hint))
    }

    /// Variables that hold keys of the guests' own systems.
    pub fn key_variables(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|host| host.key_variables()).copied()
    }
}

/// The guests that were found, by kind.
pub struct FoundGuests(Vec<(&'static dyn Host, Box<dyn Found>)>);

impl FoundGuests {
    /// Finds guests of all kinds, but for those of the agent that asks becket's hooks: it runs them itself.
    pub fn find(hosts: Hosts, place: &GuestSearch<'_>, bridged_by: Option<&str>) -> Result<Self, CliError> {
        hosts.check_dialects(place)?;
        let is_asked = |host: &&&dyn Host| bridged_by.is_none() || host.dialect() != bridged_by;
        let asked = hosts.0.iter().filter(is_asked);
        let found = asked.map(|host| Ok((*host, host.find(place)?)));
        Ok(Self(found.collect::<Result<_, CliError>>()?))
    }

    /// What was found of one kind, by its own type.
    pub fn get<T: Found>(&self) -> Option<&T> {
        let mut found = self.0.iter().map(|(_, found)| &**found as &dyn Any);
        found.find_map(|found| found.downcast_ref())
    }

    /// Each kind with its guests, in the order in which they are loaded.
    pub fn iter(&self) -> impl Iterator<Item = (&'static dyn Host, &dyn Found)> {
        self.0.iter().map(|(host, found)| (*host, &**found))
    }

    /// Every guest with its kind.
    pub fn all(&self) -> Vec<(&'static str, FoundGuest)> {
        let guests = self.iter().flat_map(|(host, found)| {
            let guests = found.guests().into_iter();
            guests.map(move |guest| (host.kind(), guest))
        });
        guests.collect()
    }

    /// Everything that the project brings, trusted or not.
    pub fn judged(&self) -> Vec<Judged> {
        self.iter()
            .flat_map(|(_, found)| found.judged())
            .cloned()
            .collect()
    }

    /// Why no run may start: a broken guest, or everything that is missing or not trusted.
    pub fn refusal(&self) -> Option<CliError> {
        let refusals: Vec<CliError> = self.iter().filter_map(|(_, found)| found.refusal()).collect();
        let fault = refusals.iter().find(|error| error.exit != Exit::UntrustedGuard);
        if let Some(fault) = fault {
            return Some(fault.clone());
        }
        let messages: Vec<&str> = refusals.iter().map(|error| error.message.as_str()).collect();
        let first = refusals.first()?;
        Some(CliError {
            message: messages.join("; "),
            ..first.clone()
        })
    }

    /// Remarks for the user about the guests that were found.
    pub fn remarks(&self) -> Vec<String> {
        self.iter().flat_map(|(_, found)| found.remarks()).collect()
    }

    /// Variables that hold keys of the guests that were found.
    pub fn key_variables(&self) -> Vec<String> {
        self.iter().flat_map(|(_, found)| found.key_variables()).collect()
    }

    /// The kind of a guest that the user leaves out.
    pub fn kind_left_out(&self, name: &str) -> Option<&'static str> {
        let mut kinds = self.iter();
        let (host, _) = kinds.find(|(_, found)| found.left_out().iter().any(|other| other == name))?;
        Some(host.kind())
    }

    /// The agent file that is run.
    pub fn agent_file(&self) -> Option<Arc<dyn AgentFile>> {
        self.iter().find_map(|(_, found)| found.agent_file())
    }

    /// Adds the guests' rules about tools to the given ones.
    pub fn add_rules(&self, rules: Rules, reading: &RuleReading<'_>) -> Result<Rules, CliError> {
        let mut found = self.iter();
        found.try_fold(rules, |rules, (_, found)| found.add_rules(rules, reading))
    }

    /// Rules and hooks about tools that do not exist, in words for the user.
    pub fn idle(&self, tools: &KnownTools<'_>) -> Vec<String> {
        self.iter().flat_map(|(_, found)| found.idle(tools)).collect()
    }

    /// The home of another system, if contexts and files of its agents lie there.
    pub fn home(&self) -> Option<ForeignHome<'_>> {
        self.iter().find_map(|(_, found)| found.home())
    }

    /// The contexts in homes of other systems.
    pub fn contexts(&self) -> Vec<ForeignContext> {
        self.iter().flat_map(|(_, found)| found.contexts()).collect()
    }

    /// The context that is current in another system.
    pub fn current_context(&self) -> Option<String> {
        self.iter().find_map(|(_, found)| found.current_context())
    }

    /// The conversation of a context of another system, if it has one; the error says why it cannot be read.
    pub fn conversation(&self, context: &str) -> Result<Option<ForeignSession>, String> {
        let mut found = self.iter();
        let first = found.find_map(|(_, found)| found.conversation(context).transpose());
        first.transpose()
    }

    /// Files of other systems with instructions for the model in all projects.
    pub fn instruction_files(&self) -> Vec<PathBuf> {
        self.iter()
            .flat_map(|(_, found)| found.instruction_files())
            .collect()
    }

    /// What the settings of another system say about all runs; the error says why they cannot be read.
    pub fn run_settings(&self, surroundings: &Surroundings) -> Result<Option<RunSettings>, String> {
        let mut found = self.iter();
        let first = found.find_map(|(_, found)| found.run_settings(surroundings).transpose());
        first.transpose()
    }

    /// What another system has noted in the folder of a context.
    pub fn context_settings(
        &self,
        folder: &Path,
        surroundings: &Surroundings,
    ) -> Result<Option<RunSettings>, CliError> {
        let mut found = self.iter();
        let first = found.find_map(|(_, found)| found.context_settings(folder, surroundings).transpose());
        first.transpose()
    }

    /// Variables that hold a provider's key where the user has given none, each with the provider.
    pub fn provider_keys(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.iter().flat_map(|(_, found)| found.provider_keys()).copied()
    }

    /// Where messages for contexts are left besides the store.
    pub fn mail(&self, contexts: &Path) -> Option<Arc<dyn MailSource>> {
        self.iter().find_map(|(_, found)| found.mail(contexts))
    }

    /// The servers that guests declare.
    pub fn servers(&self, place: &GuestSearch<'_>) -> Vec<ServerDeclaration> {
        let mut all = Vec::new();
        for declared in self.iter().map(|(_, found)| found.servers(place)) {
            if declared.only_these {
                return declared.servers;
            }
            all.extend(declared.servers);
        }
        all
    }

    /// Notes that a run starts. Returns remarks for the user if that fails.
    pub fn remember(&self, folders: &Folders) -> Vec<String> {
        self.iter()
            .filter_map(|(_, found)| found.remember(folders))
            .collect()
    }
}

/// The guests that are loaded.
#[derive(Default)]
pub struct LoadedGuests {
    all: Vec<Arc<dyn Guests>>,
    /// Variables that hold keys of these guests.
    keys: Vec<String>,
}

impl LoadedGuests {
    /// Adds the guests of one more kind.
    pub fn push(&mut self, guests: Arc<dyn Guests>) {
        self.keys.extend(guests.key_variables());
        self.all.push(guests);
    }

    /// Variables that hold keys of these guests.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The guests of one kind, by their own type.
    pub fn get<T: Guests>(&self) -> Option<Arc<T>> {
        let mut all = self
            .all
            .iter()
            .map(|guests| Arc::clone(guests) as Arc<dyn Any + Send + Sync>);
        all.find_map(|guests| guests.downcast().ok())
    }

    /// Guests that read further languages for the code index.
    #[cfg(all(feature = "index", feature = "chibi"))]
    pub fn languages(&self, cwd: &Path) -> Vec<Arc<dyn becket_index::LanguagePlugin>> {
        let plugins = self.get::<becket_chibi::Plugins>();
        plugins.map_or_else(Vec::new, |plugins| plugins.languages(cwd))
    }

    /// Without chibi's plugins, no guest reads further languages.
    #[cfg(all(feature = "index", not(feature = "chibi")))]
    pub fn languages(&self, _: &Path) -> Vec<Arc<dyn becket_index::LanguagePlugin>> {
        Vec::new()
    }

    /// Registers the guests' hooks. Returns remarks for the user.
    pub fn register(&self, stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
        let mut remarks = Vec::new();
        for guests in &self.all {
            remarks.extend(guests.register(stage)?);
        }
        Ok(remarks)
    }

    /// Adds the guests' tools. Returns remarks for the user.
    pub fn add_tools(&self, toolbox: &mut Toolbox<'_>) -> Vec<String> {
        let mut ranked: Vec<&Arc<dyn Guests>> = self.all.iter().collect();
        ranked.sort_by_key(|guests| guests.tool_rank());
        let remarks = ranked.iter().flat_map(|guests| guests.add_tools(toolbox));
        remarks.collect()
    }

    /// Tells guests that all tools of the run are known.
    pub fn settle_tools(&self, toolbox: &Toolbox<'_>) {
        self.all.iter().for_each(|guests| guests.settle_tools(toolbox));
    }

    /// The guests that take part in a session.
    pub fn in_session(&self) -> Vec<Arc<dyn SessionGuests>> {
        let all = self.all.iter().map(Arc::clone);
        all.filter_map(Guests::in_session).collect()
    }

    /// Work of guests that runs beside a session.
    pub fn later(&self, engine: &Arc<Engine>, front: &Arc<dyn Front>) -> Vec<BoxFuture<'static, ()>> {
        let all = self.all.iter();
        all.filter_map(|guests| guests.later(engine, front)).collect()
    }

    /// Remarks for the user about these guests.
    pub fn remarks(&self) -> Vec<String> {
        self.all.iter().flat_map(|guests| guests.remarks()).collect()
    }

    /// The names of all tools that guests bring.
    pub fn tool_names(&self) -> Vec<String> {
        self.all.iter().flat_map(|guests| guests.tool_names()).collect()
    }

    /// Sub-agents that guests bring, by the names under which models find them.
    pub fn presets(&self) -> Vec<(String, Preset)> {
        self.all.iter().flat_map(|guests| guests.presets()).collect()
    }

    /// Guests with which the session and the user interact.
    pub fn interactive(&self) -> Arc<dyn Interactive> {
        let mut all = self.all.iter().map(Arc::clone);
        let found = all.find_map(Guests::interactive);
        found.unwrap_or_else(|| Arc::new(NoInteraction))
    }

    /// The tools of an MCP server of that name, each with the server's own name for it.
    pub fn server_tools(&self, server: &str) -> Vec<ServerTool> {
        self.all
            .iter()
            .flat_map(|guests| guests.server_tools(server))
            .collect()
    }

    /// Calls tools of MCP servers for hooks.
    pub fn server_calls(&self) -> Arc<dyn ServerCalls> {
        let mut all = self.all.iter().map(Arc::clone);
        let found = all.find_map(Guests::server_calls);
        found.unwrap_or_else(|| Arc::new(NoServers))
    }

    /// Whether the setting `tools.network` may name this tool of some guest.
    pub fn has_network_tool(&self, name: &str) -> bool {
        self.all.iter().any(|guests| guests.has_network_tool(name))
    }

    /// Whether a guest may still bring a tool of that name.
    pub fn may_still_bring(&self, tool: &str) -> bool {
        self.all.iter().any(|guests| guests.may_still_bring(tool))
    }

    /// The names of all guests.
    pub fn names(&self) -> Vec<String> {
        self.all.iter().flat_map(|guests| guests.names()).collect()
    }

    /// The guests that could not be loaded.
    pub fn unloaded(&self) -> Vec<Unloaded> {
        self.all.iter().flat_map(|guests| guests.unloaded()).collect()
    }

    /// Leaves out the guest of that name.
    pub fn leave_out(&self, name: &str) {
        self.all.iter().for_each(|guests| guests.leave_out(name));
    }

    /// Tells guests that a context is entered.
    pub fn enter(&self, context: &str) {
        self.all.iter().for_each(|guests| guests.enter(context));
    }

    /// A report about each guest, including those that could not be loaded.
    pub fn reports(&self) -> Vec<Report> {
        let reports = self.all.iter().flat_map(|guests| {
            let unloaded = guests.unloaded();
            let unloaded = unloaded.iter().map(Report::unloaded).collect::<Vec<_>>();
            guests.reports().into_iter().chain(unloaded)
        });
        reports.collect()
    }

    /// The models that guests bring.
    pub fn models(&self) -> Vec<ListedModel> {
        self.all.iter().flat_map(|guests| guests.models()).collect()
    }

    /// What guests bring besides hooks, for listings.
    pub fn listed(&self) -> Vec<Listed> {
        self.all.iter().flat_map(|guests| guests.listed()).collect()
    }

    /// Ends everything that runs for guests.
    pub async fn close(&self) {
        join_all(self.all.iter().map(|guests| guests.close())).await;
    }
}
