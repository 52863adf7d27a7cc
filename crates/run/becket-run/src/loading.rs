//! Loads guests, one kind after the other. Guests that are loaded later do not see the keys of those before.

use std::any::Any;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use becket_agent::front::{Front, FrontUpdate, Question, UserAnswer};
use becket_agent::url_policy::UrlJudge;
use becket_events::Profile;
use becket_hooks::{Engine, HookEnvironment};
use becket_host::{Asking, Found, Guests, Host, Interactive, Loading, Person, Program, ServerDeclaration};
#[cfg(feature = "mcp")]
use becket_mcp_host::{FoundServers, RunServers};
use becket_providers::ProviderSettings;
use becket_snapshot::Keeper;
use becket_system::signals::unless_cancelled;
use becket_system::{CliError, Surroundings};
use futures_util::future::BoxFuture;

use crate::environment::{add_program, fetch_limits, hook_environment};
use crate::hosts::LoadedGuests;
use crate::options::{Caller, RunOptions};
use crate::setup::Setup;
use crate::snapshots::keeper;
use crate::urls::url_judge;

/// The loaded guests of a run, and its tool profile.
pub struct Loaded {
    pub guests: LoadedGuests,
    pub profile: Profile,
}

impl Loaded {
    /// Guests with which the session and the user interact.
    pub fn interactive(&self) -> Arc<dyn Interactive> {
        self.guests.interactive()
    }
}

/// What guests of all kinds need to be loaded.
pub struct LoadingFacts {
    engine: Arc<Engine>,
    person: Person,
    providers: ProviderSettings,
    servers: Vec<ServerDeclaration>,
    urls: UrlJudge,
    keeper: Keeper,
    program: Program,
    is_project_trusted: bool,
}

impl LoadingFacts {
    /// What the guests of one kind need to be loaded.
    pub fn loading<'a>(
        &'a self,
        (setup, surroundings): (&'a Setup, &'a Surroundings),
        environment: &'a (dyn Deref<Target = HookEnvironment> + Sync),
        asking: Asking,
    ) -> Loading<'a> {
        Loading {
            place: setup.place(surroundings),
            environment,
            providers: &self.providers,
            prompt_files: &setup.prompt_files.files,
            is_project_trusted: self.is_project_trusted,
            asking,
            network_tools: &setup.config.tools.network,
            engine: &self.engine,
            person: &self.person,
            fetch: fetch_limits(setup),
            servers: &self.servers,
            urls: &self.urls,
            keeper: &self.keeper,
            has_agent_file: setup.team.is_some(),
            program: &self.program,
        }
    }
}

/// A front that shows nothing and answers nothing.
pub(crate) struct Unheard;

impl Front for Unheard {
    fn show(&self, _: FrontUpdate<'_>) {}

    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, UserAnswer> {
        Box::pin(async { UserAnswer::Nobody })
    }
}

/// Loads the guests of a run.
pub async fn load(
    setup: &Setup,
    caller: Caller<'_>,
    (engine, person): (&Arc<Engine>, &Person),
    (asking, profile): (Asking, Profile),
) -> Result<Loaded, CliError> {
    let Caller {
        options,
        surroundings,
        cancel,
    } = caller;
    let facts = loading_facts(setup, (options, surroundings), engine, person)?;
    let mut guests = LoadedGuests::default();
    for (host, found) in setup.found.iter() {
        let preloaded = host.brings_options().then(|| options.preloaded.take(host.kind()));
        let loaded = match preloaded.flatten() {
            Some(preloaded) => preloaded,
            None => {
                let environment = lazy_environment(
                    setup,
                    (guests.keys().to_vec(), program_of(host, found)),
                    surroundings,
                );
                let loading = facts.loading((setup, surroundings), &environment, asking);
                unless_cancelled(cancel, found.load(&loading)).await??
            }
        };
        surroundings.hide_keys(loaded.key_variables().iter().map(String::as_str));
        guests.push(loaded);
    }
    Ok(Loaded { profile, guests })
}

/// Loads the guests of one kind only.
pub async fn load_kind(
    setup: &Setup,
    kind: &str,
    options: &RunOptions,
    surroundings: &Surroundings,
    asking: Asking,
) -> Result<Option<Arc<dyn Guests>>, CliError> {
    let Some((host, found)) = setup.found.iter().find(|(host, _)| host.kind() == kind) else {
        return Ok(None);
    };
    let facts = facts_for_one(setup, options, surroundings)?;
    let environment = lazy_environment(setup, (Vec::new(), program_of(host, found)), surroundings);
    let loading = facts.loading((setup, surroundings), &environment, asking);
    Ok(Some(found.load(&loading).await?))
}

/// Loads the guests of one kind only, as that type.
pub async fn load_only<G: Guests>(
    setup: &Setup,
    kind: &str,
    options: &RunOptions,
    surroundings: &Surroundings,
    asking: Asking,
) -> Result<Option<Arc<G>>, CliError> {
    let guests = load_kind(setup, kind, options, surroundings, asking).await?;
    let guests = guests.map(|guests| guests as Arc<dyn Any + Send + Sync>);
    Ok(guests.and_then(|guests| guests.downcast().ok()))
}

/// Loads MCP servers only: all, or the one of that name.
#[cfg(feature = "mcp")]
pub async fn load_servers(
    setup: &Setup,
    options: &RunOptions,
    surroundings: &Surroundings,
    (asking, only): (Asking, Option<&str>),
) -> Result<RunServers, CliError> {
    let Some(found) = setup.found.get::<FoundServers>() else {
        return Ok(RunServers::default());
    };
    let facts = facts_for_one(setup, options, surroundings)?;
    let environment = lazy_environment(setup, (Vec::new(), None), surroundings);
    let loading = facts.loading((setup, surroundings), &environment, asking);
    Ok(found.load_servers(&loading, only).await)
}

pub(crate) fn loading_facts(
    setup: &Setup,
    (options, surroundings): (&RunOptions, &Surroundings),
    engine: &Arc<Engine>,
    person: &Person,
) -> Result<LoadingFacts, CliError> {
    let mut servers = setup.found.servers(&setup.place(surroundings));
    if setup.team.is_none() {
        servers.extend(options.servers.0.iter().cloned());
    }
    Ok(LoadingFacts {
        engine: Arc::clone(engine),
        person: person.clone(),
        providers: setup.provider_settings(),
        servers,
        urls: url_judge(setup)?,
        keeper: keeper(setup, surroundings),
        program: options.about_program(),
        is_project_trusted: options.trust || setup.project.is_trusted(),
    })
}

/// What guests need to be loaded when no run follows.
pub(crate) fn facts_for_one(
    setup: &Setup,
    options: &RunOptions,
    surroundings: &Surroundings,
) -> Result<LoadingFacts, CliError> {
    let front: Arc<dyn Front> = Arc::new(Unheard);
    let engine = Arc::new(Engine::new(None));
    loading_facts(setup, (options, surroundings), &engine, &Person::reading(front))
}

/// The environment of guests' programs without these keys, built when it is first needed.
pub(crate) fn lazy_environment<'a>(
    setup: &'a Setup,
    (keys_of_guests, program): (Vec<String>, Option<&'static str>),
    surroundings: &'a Surroundings,
) -> LazyLock<HookEnvironment, impl FnOnce() -> HookEnvironment + Send> {
    LazyLock::new(move || {
        let mut environment = hook_environment(setup, &keys_of_guests, surroundings);
        if let Some(name) = program {
            add_program(setup, name, &mut environment, surroundings);
        }
        environment
    })
}

/// The name under which the guests' programs find becket in place of their own system's program.
fn program_of(host: &dyn Host, found: &dyn Found) -> Option<&'static str> {
    let cli = host.foreign_cli().filter(|_| !found.keeps_own_program())?;
    Some(cli.name)
}
