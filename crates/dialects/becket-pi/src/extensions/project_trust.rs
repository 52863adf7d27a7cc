//! `project_trust`: the user's own extensions have a say before anything of a project is loaded.
//!
//! Trust is the user's. A handler that says "yes" trusts nothing: becket has asked the user by then, or would not be
//! here. One that says "no" refuses a project that the user has trusted before, and one that breaks refuses as well.
//! With `--trust` the user has decided for this run, and nobody is asked, as in pi.

use std::path::Path;
use std::sync::Arc;

use becket_hooks::ScriptHandler;
use becket_system::{CliError, Exit};
use serde_json::Value;

use super::registry::ExtensionRegistry;
use crate::fields::Fields;

/// The event's name.
pub const EVENT: &str = "project_trust";

/// Asks all extensions that are loaded. The error says who refuses the project.
pub async fn ask(registry: &ExtensionRegistry, cwd: &Path) -> Result<(), CliError> {
    let fields = Fields::of(EVENT).with("cwd", cwd.display().to_string()).done();
    for extension in registry.extensions.loaded() {
        let hooks = registry.extensions.with(extension.name(), |guest| {
            let heard = guest.hooks.iter().filter(|hook| hook.event == EVENT);
            heard.map(|hook| hook.number).collect::<Vec<_>>()
        });
        for number in hooks.unwrap_or_default() {
            let handler: Arc<dyn ScriptHandler> = extension.handler(number, registry.facts.timeout);
            let said = handler.call(fields.clone()).await;
            let said = said.map(|answered| decision(answered.returned.as_deref()));
            match said {
                Ok(Decision::Yes) => return Ok(()),
                Ok(Decision::Undecided) => {}
                Ok(Decision::No) => return Err(refusal(extension.name(), "does not trust this project")),
                Err(failure) => {
                    let words = format!("cannot say whether it trusts this project: {failure}");
                    return Err(refusal(extension.name(), &words));
                }
            }
        }
    }
    Ok(())
}

enum Decision {
    Yes,
    No,
    Undecided,
}

/// What a handler has decided. Whatever is none of pi's words and no silence refuses.
fn decision(returned: Option<&str>) -> Decision {
    let said: Value = returned
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    match &said["trusted"] {
        Value::String(word) if word == "yes" => Decision::Yes,
        Value::String(word) if word == "undecided" => Decision::Undecided,
        Value::Null => Decision::Undecided,
        _ => Decision::No,
    }
}

fn refusal(extension: &str, words: &str) -> CliError {
    CliError {
        exit: Exit::UntrustedGuard,
        message: format!("the extension {extension} {words}"),
        hint: Some(format!(
            "--trust uses the project for this run; --without {extension} runs without this extension"
        )),
    }
}
