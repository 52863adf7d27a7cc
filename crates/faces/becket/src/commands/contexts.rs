//! `becket contexts`: the named conversations.

use becket_system::moments::ago;
use becket_system::numbered;
use becket_system::{CliError, Exit, Folders, Surroundings};

use crate::options::Options;
use crate::printing::print;

/// Lists the contexts.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let store = Folders::find(options.run.home.as_deref(), surroundings)?.open_store()?;
    let (contexts, current) = (store.contexts()?, store.chosen()?.current);
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
        surroundings.remark("there are no contexts yet; the first prompt makes one");
    }
    for context in contexts {
        let (name, messages, sessions) = (context.name, context.message_count, context.session_count);
        let used = ago(context.last_used_ms);
        let mark = if name == current { "*" } else { " " };
        print(&format!(
            "{mark} {name:<24} {messages:>5} {:<8} {sessions:>4} {:<8}  {used}\n",
            numbered(messages, "message"),
            numbered(sessions, "session")
        ))?;
    }
    Ok(Exit::Answered)
}
