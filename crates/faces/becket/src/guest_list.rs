//! All guests of a run: the hosts there are, and the loops over them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use becket_agent::front::Front;
use becket_agent::guests::Guests as SessionGuests;
use becket_chibi::PluginHost;
use becket_chibi::scheme_files::SchemeHost;
use becket_docker_agent::DockerAgentHost;
use becket_hooks::{Engine, Section};
use becket_host::{
    Found, FoundGuest, Guests, Host, Listed, Place, Report, ServerDeclaration, Stage, Toolbox, Unloaded,
};
use becket_pi::host::ExtensionHost;
use becket_system::{CliError, Exit, Folders};
use becket_trust::Judged;
use futures_util::future::{BoxFuture, join_all};

use crate::own_hooks::OwnHookHost;
use crate::servers::ServerHost;

/// The kinds of guests, in the order in which they are loaded. Extensions first: only when they are loaded is it known
/// which variables hold their keys, and nobody who is loaded after them sees those.
pub const HOSTS: &[&dyn Host] = &[
    &ExtensionHost,
    &OwnHookHost,
    &DockerAgentHost,
    &PluginHost,
    &ServerHost,
    &SchemeHost,
];

/// The kind of guests that are hooks of a file. A listing of hooks has each of them already.
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
    /// Those of becket, and these behind them. A program has one list for as long as it runs.
    pub fn and(further: &[&'static dyn Host]) -> Self {
        Self([HOSTS, further].concat().leak())
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = &'static dyn Host> {
        self.0.iter().copied()
    }

    /// The tables of `config.toml` that are about guests.
    pub fn sections(self) -> Vec<Section> {
        self.0.iter().flat_map(|host| host.sections()).copied().collect()
    }

    /// Variables that hold keys of the guests' own systems.
    pub fn key_variables(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|host| host.key_variables()).copied()
    }
}

/// Everything that was found, by kind.
pub struct FoundGuests(Vec<(&'static dyn Host, Box<dyn Found>)>);

impl FoundGuests {
    /// Finds guests of all kinds.
    pub fn find(hosts: Hosts, place: &Place<'_>) -> Result<Self, CliError> {
        let found = hosts.0.iter().map(|host| Ok((*host, host.find(place)?)));
        Ok(Self(found.collect::<Result<_, CliError>>()?))
    }

    /// What was found of one kind, by its own type.
    pub fn get<T: Found>(&self) -> Option<&T> {
        let mut found = self.0.iter().map(|(_, found)| &**found as &dyn Any);
        found.find_map(|found| found.downcast_ref())
    }

    /// Each kind, in the order in which it is loaded.
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

    /// Why no run may start: a fault, or everything that is missing or not trusted.
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

    /// What the user should know.
    pub fn remarks(&self) -> Vec<String> {
        self.iter().flat_map(|(_, found)| found.remarks()).collect()
    }

    /// Variables that hold keys.
    pub fn key_variables(&self) -> Vec<String> {
        self.iter().flat_map(|(_, found)| found.key_variables()).collect()
    }

    /// The kind of a guest that the user leaves out.
    pub fn kind_left_out(&self, name: &str) -> Option<&'static str> {
        let mut kinds = self.iter();
        let (host, _) = kinds.find(|(_, found)| found.left_out().iter().any(|other| other == name))?;
        Some(host.kind())
    }

    /// The servers that guests declare.
    pub fn servers(&self, place: &Place<'_>) -> Vec<ServerDeclaration> {
        let mut all = Vec::new();
        for declared in self.iter().map(|(_, found)| found.servers(place)) {
            if declared.only_these {
                return declared.servers;
            }
            all.extend(declared.servers);
        }
        all
    }

    /// A run starts. What is odd about remembering that comes back in words.
    pub fn remember(&self, folders: &Folders) -> Vec<String> {
        self.iter()
            .filter_map(|(_, found)| found.remember(folders))
            .collect()
    }
}

/// Everything that is loaded.
#[derive(Default)]
pub struct LoadedGuests {
    all: Vec<Arc<dyn Guests>>,
    /// Variables that hold keys of theirs.
    keys: Vec<String>,
}

impl LoadedGuests {
    /// One more kind is loaded.
    pub fn push(&mut self, guests: Arc<dyn Guests>) {
        self.keys.extend(guests.key_variables());
        self.all.push(guests);
    }

    /// Variables that hold keys of those that are loaded.
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

    /// Lets hooks answer. What is odd about them comes back in words.
    pub fn register(&self, stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
        let mut remarks = Vec::new();
        for guests in &self.all {
            remarks.extend(guests.register(stage)?);
        }
        Ok(remarks)
    }

    /// Adds tools. What is odd about them comes back in words.
    pub fn add_tools(&self, toolbox: &mut Toolbox<'_>) -> Vec<String> {
        let mut ranked: Vec<&Arc<dyn Guests>> = self.all.iter().collect();
        ranked.sort_by_key(|guests| guests.tool_rank());
        let remarks = ranked.iter().flat_map(|guests| guests.add_tools(toolbox));
        remarks.collect()
    }

    /// All tools of the run are known.
    pub fn settle_tools(&self, toolbox: &Toolbox<'_>) {
        self.all.iter().for_each(|guests| guests.settle_tools(toolbox));
    }

    /// Those who take part in a session.
    pub fn in_session(&self) -> Vec<Arc<dyn SessionGuests>> {
        let all = self.all.iter().map(Arc::clone);
        all.filter_map(Guests::in_session).collect()
    }

    /// What is done beside a session.
    pub fn later(&self, engine: &Arc<Engine>, front: &Arc<dyn Front>) -> Vec<BoxFuture<'static, ()>> {
        let all = self.all.iter();
        all.filter_map(|guests| guests.later(engine, front)).collect()
    }

    /// What the user should know.
    pub fn remarks(&self) -> Vec<String> {
        self.all.iter().flat_map(|guests| guests.remarks()).collect()
    }

    /// The names of all tools.
    pub fn tool_names(&self) -> Vec<String> {
        self.all.iter().flat_map(|guests| guests.tool_names()).collect()
    }

    /// Whether a tool of that name may still come.
    pub fn may_still_bring(&self, tool: &str) -> bool {
        self.all.iter().any(|guests| guests.may_still_bring(tool))
    }

    /// The names of all guests.
    pub fn names(&self) -> Vec<String> {
        self.all.iter().flat_map(|guests| guests.names()).collect()
    }

    /// Those that could not be loaded.
    pub fn unloaded(&self) -> Vec<Unloaded> {
        self.all.iter().flat_map(|guests| guests.unloaded()).collect()
    }

    /// Goes on without one.
    pub fn leave_out(&self, name: &str) {
        self.all.iter().for_each(|guests| guests.leave_out(name));
    }

    /// A context is entered.
    pub fn enter(&self, context: &str) {
        self.all.iter().for_each(|guests| guests.enter(context));
    }

    /// What there is to say about each of them, and which could not be loaded.
    pub fn reports(&self) -> Vec<Report> {
        let reports = self.all.iter().flat_map(|guests| {
            let unloaded = guests.unloaded();
            let unloaded = unloaded.iter().map(Report::unloaded).collect::<Vec<_>>();
            guests.reports().into_iter().chain(unloaded)
        });
        reports.collect()
    }

    /// What they bring besides hooks.
    pub fn listed(&self) -> Vec<Listed> {
        self.all.iter().flat_map(|guests| guests.listed()).collect()
    }

    /// Ends everything that runs for them.
    pub async fn close(&self) {
        join_all(self.all.iter().map(|guests| guests.close())).await;
    }
}
