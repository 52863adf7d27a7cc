//! The environment that programs and tools of a run inherit, and their limits.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use becket_hooks::{HookEnvironment, guest_environment, inherited_environment};
use becket_host::FetchLimits;
use becket_providers::key_variables;
use becket_system::{HOME_VARIABLE, Surroundings};
use becket_tools::ToolSettings;

use crate::setup::{Setup, secret_variables};
use crate::{model_relay, own_program};

/// The environment of tools: the user's, without becket's keys and tokens, which are kept apart, and without the
/// variables of a plugin that has started becket.
pub fn environment(setup: &Setup, of_guests: &[String], surroundings: &Surroundings) -> HookEnvironment {
    let mut names = key_variables(&setup.provider_settings());
    names.extend(setup.found.key_variables());
    names.extend(of_guests.iter().cloned());
    names.extend(secret_variables(setup.hosts).map(ToOwned::to_owned));
    let keys = surroundings
        .variables
        .iter()
        .filter(|(name, _)| names.iter().any(|key| OsStr::new(key) == *name));
    let keys = keys.map(|(name, value)| (name.clone(), value.clone())).collect();
    names.extend(setup.hosts.call_variables().map(ToOwned::to_owned));
    HookEnvironment {
        keys: Arc::new(keys),
        variables: Arc::new(inherited_environment(surroundings.variables.clone(), &names)),
    }
}

/// The environment of guests' programs: that of tools, without what only tools need, and with becket's own `jq`.
pub fn hook_environment(setup: &Setup, of_guests: &[String], surroundings: &Surroundings) -> HookEnvironment {
    let HookEnvironment { keys, variables } = environment(setup, of_guests, surroundings);
    let variables = Arc::new(guest_environment(Arc::unwrap_or_clone(variables)));
    let mut environment = HookEnvironment { keys, variables };
    add_jq(setup, &mut environment, surroundings);
    environment
}

/// Adds becket's own `jq` to the `PATH` of hooks.
#[cfg(feature = "jq")]
pub(crate) fn add_jq(setup: &Setup, environment: &mut HookEnvironment, surroundings: &Surroundings) {
    use crate::own_jq::{self, OwnJq};
    let Some(becket) = &setup.becket_program else {
        return;
    };
    let choice = own_jq::choose(Some(becket), setup.config.hooks.jq, &environment.variables);
    let (program, put): (_, fn(&mut _, &_)) = match &choice {
        Some(OwnJq::First(program)) => (program, own_program::put_first),
        Some(OwnJq::Last) => (becket, own_program::put_last),
        None => return,
    };
    match own_program::folder(&setup.folders.cache, own_jq::NAME, program) {
        Ok(folder) => put(Arc::make_mut(&mut environment.variables), &folder),
        Err(why) => surroundings.remark(&format!("becket's own jq is not used for hooks: {why}")),
    }
}

/// Puts becket under the name of the guests' own program before all others of their `PATH`, and says where it can ask
/// this run's models.
pub(crate) fn add_program(
    setup: &Setup,
    name: &str,
    environment: &mut HookEnvironment,
    surroundings: &Surroundings,
) {
    let Some(program) = &setup.becket_program else {
        return;
    };
    match own_program::folder(&setup.folders.cache, name, program) {
        Ok(folder) => own_program::put_first(Arc::make_mut(&mut environment.variables), &folder),
        Err(why) => surroundings.remark(&format!("programs that run `{name}` do not find becket: {why}")),
    }
    // Whoever starts becket in this way means the becket of this run, with its settings and contexts.
    if let Some(home) = &setup.folders.home {
        Arc::make_mut(&mut environment.variables).insert(HOME_VARIABLE.into(), home.into());
    }
    if let Ok(socket) = model_relay::socket(&setup.model_socket, surroundings) {
        let variables = Arc::make_mut(&mut environment.variables);
        variables.insert(model_relay::SOCKET_VARIABLE.into(), socket.into());
    }
}

#[cfg(not(feature = "jq"))]
pub(crate) fn add_jq(_: &Setup, _: &mut HookEnvironment, _: &Surroundings) {}

/// The limits of a fetch that a guest makes.
pub(crate) fn fetch_limits(setup: &Setup) -> FetchLimits {
    let settings = tool_settings(setup, &HookEnvironment::default());
    FetchLimits {
        bytes: settings.fetch_bytes,
        longest: settings.fetch_timeout_limit,
    }
}

pub fn tool_settings(setup: &Setup, environment: &HookEnvironment) -> ToolSettings {
    let mut variables: BTreeMap<OsString, OsString> = environment.variables.as_ref().clone();
    for name in &setup.config.tools.pass_env {
        if let Some((name, key)) = environment.keys.get_key_value(OsStr::new(name)) {
            variables.insert(name.clone(), key.clone());
        }
    }
    let mut settings = ToolSettings {
        environment: variables,
        buffers: setup.buffers.0.clone(),
        ..ToolSettings::default()
    };
    let config = &setup.config.tools;
    if let Some(seconds) = &config.shell_timeout {
        settings.shell_timeout = Duration::from_secs(*seconds.get_ref());
    }
    if let Some(seconds) = &config.fetch_timeout {
        settings.fetch_timeout = Duration::from_secs(*seconds.get_ref());
        settings.fetch_timeout_limit = settings.fetch_timeout_limit.max(settings.fetch_timeout);
    }
    settings.fetch_bytes = config.fetch_bytes.map_or(settings.fetch_bytes, NonZeroUsize::get);
    settings.fetch_redirects = config.fetch_redirects.unwrap_or(settings.fetch_redirects);
    settings
}
