//! `becket index`: where things are defined and used in the project's code.
//!
//! An update passes hooks and rules, as the model's own does. Queries are made by the user, so no hook is asked.

use std::sync::Arc;

use becket_events::EventId;
use becket_front::write_over;
use becket_hooks::Watcher;
use becket_index::{IndexProblem, MapOptions, SymbolQuery};
use becket_run::setup::Setup;
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::tool;
use crate::args::IndexCommand;
use crate::options::Options;
use crate::printing::print;

/// Updates the index, or queries it.
pub fn run(options: &Options, command: IndexCommand, surroundings: &Surroundings) -> Result<Exit, CliError> {
    if let IndexCommand::Update { force } = command {
        return update(options, force, surroundings);
    }
    let index = Setup::read(&options.run, surroundings)?.index();
    let reader = index.reader().map_err(told)?;
    match command {
        IndexCommand::Update { .. } => {}
        IndexCommand::Query {
            name: Some(name),
            refs: true,
            limit,
            ..
        } => {
            let found = reader.references(&name, Some(limit as usize)).map_err(told)?;
            list(options, &found, surroundings)?;
        }
        IndexCommand::Query {
            name,
            kind,
            file,
            language,
            limit,
            ..
        } => {
            let query = SymbolQuery {
                name,
                kind,
                file,
                language,
                limit: Some(limit as usize),
            };
            list(options, &reader.symbols(&query).map_err(told)?, surroundings)?;
        }
        IndexCommand::Status => {
            let status = reader.status().map_err(told)?;
            list(options, &[status], surroundings)?;
        }
        IndexCommand::Map { tokens, focus } => {
            let map = MapOptions {
                tokens: Some(tokens as usize),
                focus,
            };
            let mut draft = map.draft();
            let ranked = reader.ranked(&map).map_err(told)?;
            let shown: Vec<_> = ranked
                .into_iter()
                .take_while(|symbol| draft.add(symbol.clone()))
                .collect();
            if shown.is_empty() {
                surroundings.remark("the index has no definitions, or there is no room for any");
            }
            match options.run.json {
                true => list(options, &shown, surroundings)?,
                false => print(&clean(&draft.draw(), surroundings))?,
            }
        }
    }
    Ok(Exit::Answered)
}

/// Prints each item as a line, or as a JSON object.
fn list<T: ToString + Serialize>(
    options: &Options,
    found: &[T],
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    if found.is_empty() && !options.run.json {
        surroundings.remark("nothing was found; `becket index update` brings the index up to date");
    }
    for one in found {
        let line = if options.run.json {
            json!(one).to_string()
        } else {
            clean(&one.to_string(), surroundings)
        };
        print(&format!("{line}\n"))?;
    }
    Ok(())
}

/// Text from the project's files, without control characters on a terminal.
fn clean(text: &str, surroundings: &Surroundings) -> String {
    if surroundings.stdout_is_terminal {
        harmless(text)
    } else {
        text.to_owned()
    }
}

fn update(options: &Options, force: bool, surroundings: &Surroundings) -> Result<Exit, CliError> {
    // Some systems have no such tool; the user who wants the index means becket's own.
    let mut options = options.clone();
    options.run.tools = Some("becket".into());
    let mut arguments = Map::new();
    if force {
        arguments.insert("force".into(), true.into());
    }
    let watcher = (surroundings.stderr_is_terminal && !options.run.json).then(progress_bar);
    tool::call_watched(&options, "index_update", &arguments, watcher, surroundings)
}

/// Shows the progress of an update in one line that is overwritten.
fn progress_bar() -> Watcher {
    Arc::new(|event, text| {
        let told: Option<Value> = match event {
            EventId::ToolUpdate => serde_json::from_str(text).ok(),
            _ => None,
        };
        let output = told.as_ref().and_then(|told| told["output"].as_str());
        let line = match event {
            // The result goes where the bar was.
            EventId::ToolEnd => Some(String::new()),
            _ => output.and_then(bar),
        };
        if let Some(line) = line {
            write_over(&line);
        }
    })
}

/// A progress bar for a text such as `12 of 48 files`.
fn bar(progress: &str) -> Option<String> {
    let mut words = progress.split_whitespace();
    let done: u64 = words.next()?.parse().ok()?;
    let total: u64 = words.nth(1)?.parse().ok()?;
    (total > 0).then(|| becket_front::bar(done, total, "files"))
}

fn told(problem: IndexProblem) -> CliError {
    match problem {
        IndexProblem::Missing(root) => {
            CliError::failed(format!("there is no index of {} yet", root.display()))
                .hint("`becket index update` builds it")
        }
        problem => CliError::failed(problem.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn progress_becomes_a_bar() {
        let half = format!("{}{} 5 of 10 files", "█".repeat(15), "░".repeat(15));
        assert_eq!(bar("5 of 10 files\n"), Some(half));
        assert_eq!(bar("0 of 0 files"), None, "nothing to do, nothing to show");
        assert_eq!(bar("something else"), None);
    }
}
