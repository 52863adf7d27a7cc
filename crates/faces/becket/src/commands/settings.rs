//! `becket config get|set|unset|edit|schema`: one setting of the user's own file, and the file itself.

use std::path::Path;
use std::process::Command;

use becket_hooks::{SettingsError, nearest};
use becket_run::config::Config;
use becket_run::config_page::{config_keys, config_schema, project_schema};
use becket_system::{CliError, Exit, Folders, Surroundings};
use serde_json::json;
use toml_edit::{Item, Key, Table};

use crate::args::ConfigCommand;
use crate::commands::setting_origin::{DEFAULT, RunHere, read, text_of};
use crate::options::Options;
use crate::printing::print;

/// Runs one of the commands.
pub fn run(options: &Options, command: ConfigCommand, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let file = Folders::find(options.run.home.as_deref(), surroundings)?.config_file();
    match command {
        ConfigCommand::Get { key } => get(&file, &key, options, surroundings),
        ConfigCommand::Set { key, value } => set(&file, &key, Some(&value), options),
        ConfigCommand::Unset { key } => set(&file, &key, None, options),
        ConfigCommand::Edit => edit(&file, options, surroundings),
        ConfigCommand::Schema { project } => {
            let schema = if project {
                project_schema()
            } else {
                config_schema()
            };
            print(&format!("{schema:#}\n"))?;
            Ok(Exit::Answered)
        }
    }
}

fn get(file: &Path, key: &str, options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let (parts, meaning) = setting(key)?;
    let document = read(file)?;
    let found = parts
        .iter()
        .try_fold(document.as_item(), |item, part| item.get(part));
    // What is in the file can be shown even if no run could start.
    let place = RunHere::open(options, surroundings).ok();
    let elsewhere = place.as_ref().and_then(|place| place.before_file(&parts));
    let (value, origin) = match (elsewhere, found) {
        (Some(found), _) => found,
        (None, Some(item)) => (shown(item), file.display().to_string()),
        (None, None) => place
            .as_ref()
            .and_then(|place| place.after_file(&parts))
            .unwrap_or_else(|| {
                (
                    default(&meaning).unwrap_or("not set").to_owned(),
                    DEFAULT.to_owned(),
                )
            }),
    };
    let project = place.map(|place| place.project_rules(&parts)).unwrap_or_default();
    if options.run.json {
        let mut told = json!({"key": key, "value": value, "origin": origin, "meaning": meaning});
        if !project.is_empty() {
            let rules = project
                .iter()
                .map(|(rule, origin)| json!({"rule": rule, "origin": origin}));
            told["project"] = rules.collect();
        }
        print(&format!("{told}\n"))?;
        return Ok(Exit::Answered);
    }
    for (value, origin) in std::iter::once((value, origin)).chain(project) {
        print(&format!("{value}  ({origin})\n"))?;
    }
    Ok(Exit::Answered)
}

fn shown(item: &Item) -> String {
    match item.as_str() {
        Some(text) => text.to_owned(),
        None => item.to_string().trim().to_owned(),
    }
}

/// The default of a setting, which its description ends with.
fn default(meaning: &str) -> Option<&str> {
    let (_, default) = meaning.rsplit_once("efault: ")?;
    Some(default.trim_end_matches('.').trim_matches('`'))
}

/// Writes or removes a setting. Nothing is written if the file could not be read afterwards.
fn set(file: &Path, key: &str, value: Option<&str>, options: &Options) -> Result<Exit, CliError> {
    let (parts, _) = setting(key)?;
    let mut document = read(file)?;
    let (name, tables) = parts.split_last().expect("a known key has a name");
    let mut table: &mut Item = document.as_item_mut();
    for part in tables {
        let inner = &mut table[part.as_str()];
        if inner.is_none() {
            let mut new = Table::new();
            new.set_implicit(true);
            *inner = Item::Table(new);
        }
        if !inner.is_table_like() {
            return Err(
                CliError::usage(format!("`{part}` is not a table in {}", file.display()))
                    .hint("`becket config edit` opens the file"),
            );
        }
        table = inner;
    }
    match (value, table.as_table_like_mut()) {
        (Some(value), _) => table[name.as_str()] = Item::Value(toml_value(value)),
        (None, Some(table)) => drop(table.remove(name)),
        (None, None) => {}
    }
    let text = document.to_string();
    check(&text, file, options).map_err(|error| {
        let what = value.map_or("removed".to_owned(), |value| format!("`{value}`"));
        CliError::usage(format!("`{key}` cannot be {what}: {}", error.message))
    })?;
    write(file, &text)?;
    Ok(Exit::Answered)
}

/// A value as it was typed: TOML if it is that, else a text.
fn toml_value(text: &str) -> toml_edit::Value {
    text.parse().unwrap_or_else(|_| text.into())
}

fn edit(file: &Path, options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let named = ["VISUAL", "EDITOR"].map(|name| surroundings.variable(name));
    let Some(editor) = named.into_iter().flatten().next() else {
        return Err(
            CliError::usage("there is no editor to open the settings with").hint(format!(
                "set VISUAL or EDITOR, or open {} yourself",
                file.display()
            )),
        );
    };
    if !file.exists() {
        write(file, "")?;
    }
    // The variable may hold arguments as well.
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "exec $0 \"$1\""]).arg(editor).arg(file);
    let status = shell
        .status()
        .map_err(|error| CliError::failed(format!("cannot start the editor: {error}")))?;
    if !status.success() {
        return Err(CliError::failed(format!("the editor failed: {status}")));
    }
    let checked = check(&text_of(file)?, file, options);
    checked.map_err(|error| CliError::usage(error.to_string()))?;
    Ok(Exit::Answered)
}

/// The parts of a key, as TOML separates them. A name that TOML would want in quotes needs none if it has no dot.
fn parts(key: &str) -> Vec<String> {
    match Key::parse(key) {
        Ok(keys) => keys.iter().map(|key| key.get().to_owned()).collect(),
        Err(_) => key.split('.').map(ToOwned::to_owned).collect(),
    }
}

/// The parts of a key, and what the setting means; an error if there is no such setting.
fn setting(key: &str) -> Result<(Vec<String>, String), CliError> {
    let parts = parts(key);
    let is_it = |known: &str| {
        let known: Vec<&str> = known.split('.').collect();
        known.len() == parts.len()
            && known
                .iter()
                .zip(&parts)
                .all(|(known, part)| known == part || *known == "NAME")
    };
    let keys = config_keys();
    match keys.iter().find(|(known, _)| is_it(known)) {
        Some((_, meaning)) => Ok((parts, meaning.clone())),
        None => {
            let error = CliError::usage(format!("there is no setting `{key}`"));
            let near = nearest(key, keys.iter().map(|(known, _)| known.as_str()));
            Err(error.hint(match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "docs/config.md lists them, and `becket config schema` prints them".to_owned(),
            }))
        }
    }
}

/// Checks that a run could read the settings.
fn check(text: &str, file: &Path, options: &Options) -> Result<(), SettingsError> {
    Config::read(text, file, &options.run.hosts.sections()).map(drop)
}

/// Replaces the file as a whole, so that nobody reads half of it. What it links to is replaced, and not the link.
fn write(file: &Path, text: &str) -> Result<(), CliError> {
    let file = &file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let failed =
        |error: std::io::Error| CliError::failed(format!("cannot write {}: {error}", file.display()));
    let folder = file.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let draft = folder.join(format!(".config.toml.{}", std::process::id()));
    let permissions = std::fs::metadata(file).map(|metadata| metadata.permissions());
    std::fs::write(&draft, text).map_err(failed)?;
    if let Ok(permissions) = permissions {
        std::fs::set_permissions(&draft, permissions).map_err(failed)?;
    }
    std::fs::rename(&draft, file).map_err(failed)
}
