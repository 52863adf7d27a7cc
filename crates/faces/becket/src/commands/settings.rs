//! `becket config get|set|unset|edit|schema`: one setting of the user's own file, and the file itself.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
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

/// How many settings are suggested in place of a wrong one.
const MOST_MEANT: usize = 3;

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

/// A value of the file, without the comment behind it.
fn shown(item: &Item) -> String {
    match item {
        Item::Value(toml_edit::Value::String(text)) => text.value().clone(),
        Item::Value(value) => value.clone().decorated("", "").to_string(),
        _ => item.to_string().trim().to_owned(),
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
        (Some(value), _) => {
            let mut value = toml_value(value);
            // A comment behind the value stays.
            if let Some(old) = table.get(name.as_str()).and_then(Item::as_value) {
                *value.decor_mut() = old.decor().clone();
            }
            table[name.as_str()] = Item::Value(value);
        }
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
            let names: Vec<&str> = keys.iter().map(|(known, _)| known.as_str()).collect();
            Err(error.hint(match meant(key, &names).as_slice() {
                [] => "docs/config.md lists them, and `becket config schema` prints them".to_owned(),
                near => format!("did you mean `{}`?", near.join("` or `")),
            }))
        }
    }
}

/// The settings that a wrong key may mean: those of this name in any table, or else the nearest one.
fn meant<'a>(key: &str, names: &[&'a str]) -> Vec<&'a str> {
    let is_it = |name: &&&str| name.rsplit_once('.').is_some_and(|(_, last)| last == key);
    let same: Vec<&str> = names.iter().filter(is_it).take(MOST_MEANT).copied().collect();
    match same.is_empty() && !key.trim_matches('.').is_empty() {
        true => nearest(key, names.iter().copied()).into_iter().collect(),
        false => same,
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
    let replaced = write_draft(&draft, file, text).and_then(|()| std::fs::rename(&draft, file));
    replaced.map_err(|error| {
        // A draft that cannot be removed either does no harm.
        let _ = std::fs::remove_file(&draft);
        failed(error)
    })
}

/// Writes the new text of a file beside it. Settings may hold keys, so at no moment more users can read the draft than
/// the file.
fn write_draft(draft: &Path, file: &Path, text: &str) -> std::io::Result<()> {
    // What an earlier process of this number has left may have other permissions.
    match std::fs::remove_file(draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut written = options.write(true).create_new(true).mode(0o600).open(draft)?;
    written.write_all(text.as_bytes())?;
    if let Ok(metadata) = std::fs::metadata(file) {
        written.set_permissions(metadata.permissions())?;
    }
    written.sync_all()
}
