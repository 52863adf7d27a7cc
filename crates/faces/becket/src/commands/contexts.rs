//! `becket context list`: the named conversations.

use becket_host::ForeignContext;
use becket_run::adopt::was_taken_over;
use becket_run::setup::Setup;
use becket_store::{ContextSummary, Lifetime};
use becket_system::moments::ago;
use becket_system::numbered;
use becket_system::{CliError, Exit, Folders, Surroundings};

use crate::options::Options;
use crate::printing::print;

/// Contexts of another system's home that becket has not used yet, as they will be when it does.
fn unused_yet(found: Vec<ForeignContext>, known: &[ContextSummary]) -> Vec<ContextSummary> {
    let is_known = |name: &str| known.iter().any(|context| context.name == name);
    let unused = found.into_iter().filter(|context| !is_known(&context.name));
    unused
        .map(|context| ContextSummary {
            name: context.name,
            created_ms: context.created_ms,
            last_used_ms: context.last_used_ms,
            message_count: context.message_count as u64,
            session_count: 0,
            archive_count: 0,
            lifetime: Lifetime::default(),
        })
        .collect()
}

/// Lists the contexts.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    // A listing needs no settings: where they cannot be read, there are still becket's own contexts.
    let setup = Setup::read(&options.run, surroundings).ok();
    let store = match &setup {
        Some(setup) => setup.open_store()?,
        None => Folders::find(options.run.home.as_deref(), surroundings)?.open_store()?,
    };
    let (mut contexts, current) = (store.contexts()?, store.chosen()?.current);
    let mut unused = Vec::new();
    if let Some(setup) = &setup {
        let found = setup.found.contexts().into_iter();
        unused.extend(found.filter(|context| !was_taken_over(&context.name, setup)));
    }
    contexts.extend(unused_yet(unused, &contexts));
    if options.run.json {
        for context in &contexts {
            let line = serde_json::json!({
                "name": context.name,
                "created_ms": context.created_ms,
                "last_used_ms": context.last_used_ms,
                "message_count": context.message_count,
                "session_count": context.session_count,
                "archive_count": context.archive_count,
                "destroy_at_ms": context.lifetime.destroy_at_ms,
                "destroy_after_ms": context.lifetime.destroy_after_ms,
                "current": context.name == current,
            });
            print(&format!("{line}\n"))?;
        }
        return Ok(Exit::Answered);
    }
    if contexts.is_empty() {
        surroundings.remark("there are no contexts yet; the first prompt creates one");
    }
    for context in contexts {
        let (name, messages, sessions) = (context.name, context.message_count, context.session_count);
        let used = match context.last_used_ms {
            0 => "not used here yet".to_owned(),
            used_ms => ago(used_ms),
        };
        let mark = if name == current { "*" } else { " " };
        print(&format!(
            "{mark} {name:<24} {messages:>5} {:<8} {sessions:>4} {:<8}  {used}\n",
            numbered(messages, "message"),
            numbered(sessions, "session")
        ))?;
    }
    Ok(Exit::Answered)
}
