//! `becket hooks list`: the hooks that count here, and what extensions bring.

use std::sync::Arc;

use becket_agent::front::Front;
use becket_agent::waits_for;
use becket_events::{EVENTS, EventId};
use becket_js::Extension;
use becket_mcp::Asking;
use serde_json::{Value, json};

use super::ask::{Purpose, front, with_some_model};
use super::{print, runtime};
use crate::args::Options;
use crate::assemble::Setup;
use crate::extensions::Guest;
use crate::failure::{CliError, Exit};
use crate::front::{Output, harmless};
use crate::surroundings::Surroundings;

/// Lists them. What is not trusted is named and not loaded.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let runtime = runtime(options)?;
    let listed = runtime.block_on(list(options, surroundings));
    // A thread may still wait for something of an extension's.
    runtime.shutdown_background();
    let lines = listed?;
    let all = lines.into_iter().map(|line| match options.json {
        true => format!("{}\n", line.json),
        false => format!("{}\n", harmless(&line.text)),
    });
    print(&all.collect::<String>())?;
    Ok(Exit::Answered)
}

/// A line, for people and for programs.
struct Line {
    text: String,
    json: Value,
}

async fn list(options: &Options, surroundings: &Surroundings) -> Result<Vec<Line>, CliError> {
    let setup = Setup::read(options, surroundings)?;
    let refusal = setup.project.refusal.as_ref();
    if let Some(error) = refusal.filter(|refusal| refusal.exit != Exit::UntrustedGuard) {
        return Err(error.clone());
    }
    let output = Arc::new(Output::default());
    let front: Arc<dyn Front> = front(options, surroundings, &output, Purpose::Care);
    let options = &with_some_model(&setup, Purpose::Care, options, surroundings);
    let store = Arc::new(setup.folders.open_store()?);
    let cancel = surroundings.signals.listen()?.next();
    let assembled = setup
        .assemble(options, surroundings, front, store, (Asking::Never, &cancel))
        .await?;
    let mut lines = Vec::new();
    for event in EVENTS.iter().filter_map(|info| EventId::named(info.name)) {
        for info in assembled.agent.engine.handlers_of(event) {
            let name = event.info().name;
            let mut json = serde_json::to_value(&*info).unwrap_or_default();
            json["event"] = name.into();
            json["kind"] = "hook".into();
            let waiting = waits_for(name);
            json["fires"] = waiting.is_none().into();
            let waiting = waiting.map_or(String::new(), |what| {
                format!("  not fired yet: it waits for {what}")
            });
            let known_as = info
                .known_as
                .map_or(String::new(), |known| format!(" as {known}"));
            let dialect = json["dialect"].as_str().unwrap_or_default().to_owned();
            let text = format!(
                "{name:<22} {dialect:<12} {}{known_as}  ({}){waiting}",
                info.name, info.source
            );
            lines.push(Line { text, json });
        }
    }
    lines.extend(assembled.extensions.each(extension_line));
    assembled.close().await?;
    if let Some(refusal) = refusal {
        surroundings.remark(&format!("no run starts here: {refusal}"));
    }
    Ok(lines)
}

/// What there is to know about an extension.
fn extension_line(guest: &Guest) -> Line {
    let (name, file) = (&guest.candidate.name, guest.candidate.file.display().to_string());
    let brought = guest.brought();
    let [hooks, tools, commands, flags, providers] = &brought.each_ref().map(|(_, names)| names);
    let json = json!({
        "kind": "extension",
        "name": name,
        "path": file,
        "engine": guest.extension.as_ref().map(Extension::engine),
        "hooks": hooks,
        "tools": tools,
        "commands": commands,
        "flags": flags,
        "shortcuts": guest.shortcuts,
        "providers": providers,
        "trouble": guest.trouble,
    });
    let mut text = guest.shown();
    for (what, names) in brought.iter().filter(|(_, names)| !names.is_empty()) {
        text = format!("{text}  {what} {}", names.join(", "));
    }
    if let Some(trouble) = &guest.trouble {
        text = format!("{text}  not loaded: {trouble}");
    }
    Line { text, json }
}
