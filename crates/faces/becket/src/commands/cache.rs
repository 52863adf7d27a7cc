//! `becket cache`: tool outputs that were put aside.

use std::time::Duration;

use becket_agent::cache::OutputCache;
use becket_agent::vfs::Vfs;
use becket_run::agent_settings::agent_settings;
use becket_run::setup::Setup;
use becket_system::moments::ago;
use becket_system::{CliError, Exit, Surroundings};
use serde_json::json;

use super::sessions::place;
use crate::args::CacheCommand;
use crate::options::Options;
use crate::printing::print;

/// Lists or removes outputs.
pub fn run(options: &Options, command: CacheCommand, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let settings = agent_settings(
        &Setup::read(&options.run, surroundings)?,
        &options.run,
        surroundings,
    )?;
    let cache = OutputCache::new(Vfs::new(&settings.vfs));
    let chosen = |name: &'_ Option<String>| {
        name.as_deref()
            .or(options.run.context.as_deref())
            .map(str::to_owned)
    };
    match command {
        CacheCommand::List { name } => list(options, &cache, chosen(&name).as_deref(), surroundings)?,
        CacheCommand::Clean { name } => {
            remove(
                &cache,
                chosen(&name).as_deref(),
                settings.cache_max_age,
                surroundings,
            )?;
        }
        CacheCommand::Clear { name, here } => {
            let name = match here {
                true => Some(place(options, None, surroundings)?.1.to_string()),
                false => chosen(&name),
            };
            remove(&cache, name.as_deref(), Duration::ZERO, surroundings)?;
        }
    }
    Ok(Exit::Answered)
}

fn list(
    options: &Options,
    cache: &OutputCache,
    context_name: Option<&str>,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    let outputs = cache.outputs(context_name).map_err(failed)?;
    if outputs.is_empty() && !options.run.json {
        surroundings.remark("no output is cached");
    }
    for output in outputs {
        let line = if options.run.json {
            let line = json!({
                "path": output.address.to_string(),
                "context_name": output.context_name,
                "cache_id": output.cache_id,
                "tool_name": output.tool_name,
                "size": output.size,
                "stored_ms": output.stored_ms,
            });
            line.to_string()
        } else {
            let (address, tool, stored) = (output.address, output.tool_name, ago(output.stored_ms));
            format!("{address}  {tool}  {} bytes  {stored}", output.size)
        };
        print(&format!("{line}\n"))?;
    }
    Ok(())
}

fn remove(
    cache: &OutputCache,
    context_name: Option<&str>,
    age: Duration,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    let removed = cache.remove(context_name, age).map_err(failed)?;
    surroundings.remark(&match removed {
        1 => "1 cached output was removed".to_owned(),
        count => format!("{count} cached outputs were removed"),
    });
    Ok(())
}

fn failed(error: std::io::Error) -> CliError {
    CliError::failed(format!("the cache of tool outputs: {error}"))
}
