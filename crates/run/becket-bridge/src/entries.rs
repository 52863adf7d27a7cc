//! becket's entries in the files of other agents: put in, and taken out again.
//!
//! Everything else in a file stays as it is, with its comments and its layout. The file as it was before is kept beside
//! it; if nobody has changed the file since, taking the entries out restores it byte for byte.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use becket_hook_files::{BridgeCommand, CLIENT, bridge_command, is_bridge_command};
use becket_host::{Bridge, BridgedEvent, MomentKind};
use becket_system::{CliError, Surroundings};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;
use similar::TextDiff;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOwner {
    User,
    Project,
}

/// What is to become of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub file: PathBuf,
    /// The text as it is; `None` if there is no file.
    pub before: Option<String>,
    /// The text as it is to be; `None` if the file goes.
    pub after: Option<String>,
    /// Whether the text as it is now is kept beside the file, or one that was kept goes.
    backup: Backup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backup {
    Keep,
    Remove,
    Leave,
}

/// The file in which an agent looks for hooks.
pub fn entry_file(
    bridge: &Bridge,
    place: FileOwner,
    surroundings: &Surroundings,
    project_root: &Path,
) -> Result<PathBuf, CliError> {
    let entry = &bridge.entry;
    if place == FileOwner::Project {
        return Ok(project_root.join(entry.project_file));
    }
    let moved = surroundings
        .variable(entry.home_variable)
        .filter(|_| !entry.home_variable.is_empty());
    if let (Some(folder), Some((_, rest))) = (moved, entry.user_file.split_once('/')) {
        return Ok(PathBuf::from(folder).join(rest));
    }
    let home = surroundings.variable("HOME");
    let home =
        home.ok_or_else(|| CliError::usage("HOME is not set, so becket cannot find your settings file"))?;
    Ok(PathBuf::from(home).join(entry.user_file))
}

/// The program that agents start: the client of the daemon if it stands beside becket, else becket.
pub fn entered_program(becket: &Path) -> PathBuf {
    let client = becket.with_file_name(CLIENT);
    if client.is_file() {
        client
    } else {
        becket.to_path_buf()
    }
}

/// Puts becket's entries into a file, in place of those that are there.
pub fn install(bridge: &Bridge, file: &Path, becket: &Path, is_shadow: bool) -> Result<Change, CliError> {
    let before = read(file)?;
    let program = entered_program(becket);
    let program = program.to_str().ok_or_else(|| {
        CliError::usage(format!(
            "the path of {} is not UTF-8 text, so no file can name it",
            program.display()
        ))
    })?;
    let own = read(&backup_of(file))?;
    let text = without(before.as_deref().unwrap_or_default(), file)?;
    let after = with(bridge, &text, (program, is_shadow), file)?;
    if commands(&after, file)?.is_empty() {
        let why = format!("{program} is not called becket, so its entries could not be found again");
        return Err(CliError::usage(why).hint("give the program a name that begins with `becket`"));
    }
    let keeps = before.is_some() && own.is_none() && before.as_deref() == Some(&*text);
    Ok(Change {
        file: file.to_path_buf(),
        backup: if keeps { Backup::Keep } else { Backup::Leave },
        after: Some(after),
        before,
    })
}

/// Takes becket's entries out of a file.
pub fn uninstall(bridge: &Bridge, file: &Path) -> Result<Change, CliError> {
    let before = read(file)?;
    let kept = read(&backup_of(file))?;
    let text = before.as_deref().unwrap_or_default();
    let commands = commands(text, file)?;
    let made_of = |original: &str| {
        let Some(own) = commands.first().and_then(|command| BridgeCommand::read(command)) else {
            return false;
        };
        let call = (own.program.as_str(), own.is_shadow());
        with(bridge, original, call, file).is_ok_and(|made| made == text)
    };
    let after = match &kept {
        _ if commands.is_empty() => before.clone(),
        Some(original) if made_of(original) => Some(original.clone()),
        None if made_of("") => None,
        _ => Some(without(text, file)?),
    };
    Ok(Change {
        file: file.to_path_buf(),
        backup: if kept.is_some() && !commands.is_empty() {
            Backup::Remove
        } else {
            Backup::Leave
        },
        before,
        after,
    })
}

impl Change {
    /// Whether the file stays as it is.
    pub fn is_nothing(&self) -> bool {
        self.before == self.after
    }

    /// The difference, as a patch shows it.
    pub fn shown(&self) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (before, after) = (text(&self.before), text(&self.after));
        let name = self.file.display().to_string();
        TextDiff::from_lines(&before, &after)
            .unified_diff()
            .header(&name, &name)
            .to_string()
    }

    /// Changes the file. A link is followed, so that a file that is kept elsewhere stays there.
    pub fn apply(&self) -> Result<(), CliError> {
        let file = match self.file.canonicalize() {
            Ok(file) => file,
            Err(_) if !self.file.is_symlink() => self.file.clone(),
            Err(error) => {
                let link = self.file.display();
                return Err(CliError::failed(format!("{link} is a link to nowhere: {error}")));
            }
        };
        let failed =
            |error: std::io::Error| CliError::failed(format!("cannot write {}: {error}", file.display()));
        if let (Backup::Keep, Some(text)) = (self.backup, &self.before) {
            write(&backup_of(&self.file), text).map_err(failed)?;
        }
        match &self.after {
            Some(text) => write(&file, text).map_err(failed)?,
            None => std::fs::remove_file(&file).map_err(failed)?,
        }
        match self.backup {
            Backup::Remove => std::fs::remove_file(backup_of(&self.file)).map_err(failed),
            Backup::Keep | Backup::Leave => Ok(()),
        }
    }
}

/// Writes a file as a whole or not at all, with the rights that it has.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    if let Ok(found) = file.metadata() {
        new.as_file().set_permissions(found.permissions())?;
    }
    new.as_file().sync_all()?;
    new.persist(file)?;
    Ok(())
}

fn backup_of(file: &Path) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(".before-becket");
    name.into()
}

fn read(file: &Path) -> Result<Option<String>, CliError> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::failed(format!(
            "cannot read {}: {error}",
            file.display()
        ))),
    }
}

/// JSON as the agents take it: with comments, and without what no JSON has.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_extended_string_escapes: false,
    allow_non_finite_numbers: false,
};

fn parsed(text: &str, file: &Path) -> Result<CstRootNode, CliError> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| {
        CliError::usage(format!(
            "{} cannot be read, so it is unchanged: {error}",
            file.display()
        ))
    })
}

/// What stands in a member has another kind of value than the agent wants.
fn misshapen(file: &Path, what: &str) -> CliError {
    CliError::usage(format!(
        "`{what}` in {} is not what it must be, so the file is unchanged",
        file.display()
    ))
}

fn with(bridge: &Bridge, text: &str, call: (&str, bool), file: &Path) -> Result<String, CliError> {
    let root = parsed(text, file)?;
    let top = root
        .object_value_or_create()
        .ok_or_else(|| misshapen(file, "the whole"))?;
    if bridge.entry.has_version && top.get("version").is_none() {
        top.append("version", CstInputValue::Number("1".into()));
    }
    let hooks = top
        .object_value_or_create("hooks")
        .ok_or_else(|| misshapen(file, "hooks"))?;
    for event in bridge.events {
        let list = hooks
            .array_value_or_create(event.name)
            .ok_or_else(|| misshapen(file, event.name))?;
        let command = command(bridge, event, call);
        list.append(input(&(bridge.entry.entry)(event, &command)));
    }
    let text = root.to_string();
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}

fn command(bridge: &Bridge, event: &BridgedEvent, (program, is_shadow): (&str, bool)) -> String {
    let mut words = format!("{} {}", bridge.system, event.name);
    if is_shadow {
        words += " --shadow";
    }
    if program.ends_with(CLIENT) {
        words += &format!(" --timeout {}", event.timeout.as_secs());
        if !bridge.project_variable.is_empty() {
            words += &format!(" --project-variable {}", bridge.project_variable);
        }
    } else {
        words.insert_str(0, "bridge ");
    }
    let holds = event.is_guard() || event.kind == MomentKind::Called;
    let otherwise = match holds && !is_shadow {
        true => bridge.entry.otherwise,
        // Nothing depends on it, and an agent may take a failure for a wish to go on.
        false => "true",
    };
    bridge_command(program, &words, otherwise)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(members) => CstInputValue::Object(
            members
                .iter()
                .map(|(name, value)| (name.clone(), input(value)))
                .collect(),
        ),
    }
}

/// The text without becket's entries, and without the lists that hold nothing else.
fn without(text: &str, file: &Path) -> Result<String, CliError> {
    let root = parsed(text, file)?;
    let Some(hooks) = root.object_value().and_then(|top| top.object_value("hooks")) else {
        return Ok(text.to_owned());
    };
    let mut removed = false;
    for event in hooks.properties() {
        if let Some(list) = event.array_value()
            && take_out(&list)
        {
            removed = true;
            if list.elements().is_empty() {
                event.remove();
            }
        }
    }
    if !removed {
        return Ok(text.to_owned());
    }
    if hooks.properties().is_empty()
        && let Some(member) = root.object_value().and_then(|top| top.get("hooks"))
    {
        member.remove();
    }
    Ok(root.to_string())
}

/// Takes becket's entries out of the list of an event, and groups that hold nothing else.
fn take_out(list: &CstArray) -> bool {
    let mut removed = false;
    for element in list.elements() {
        let Some(entry) = element.as_object() else {
            continue;
        };
        let is_empty_group = match entry.array_value("hooks") {
            Some(handlers) => {
                let own = handlers.elements().into_iter().filter(is_own);
                let own: Vec<CstNode> = own.collect();
                removed |= !own.is_empty();
                let is_empty = !own.is_empty() && own.len() == handlers.elements().len();
                own.into_iter().for_each(CstNode::remove);
                is_empty
            }
            None => is_own(&element),
        };
        if is_empty_group {
            removed = true;
            element.remove();
        }
    }
    removed
}

fn is_own(handler: &CstNode) -> bool {
    handler
        .as_object()
        .and_then(|handler| command_of(&handler))
        .is_some_and(|command| is_bridge_command(&command))
}

fn command_of(handler: &CstObject) -> Option<String> {
    let member = handler.get("command").or_else(|| handler.get("bash"))?;
    member.value()?.as_string_lit()?.decoded_value().ok()
}

/// All of becket's commands in a file.
pub(crate) fn commands(text: &str, file: &Path) -> Result<Vec<String>, CliError> {
    let root = parsed(text, file)?;
    let hooks = root.object_value().and_then(|top| top.object_value("hooks"));
    let lists = hooks
        .iter()
        .flat_map(CstObject::properties)
        .filter_map(|event| event.array_value());
    let entries = lists
        .flat_map(|list| list.elements())
        .filter_map(|entry| entry.as_object());
    let handlers = entries.flat_map(|entry| match entry.array_value("hooks") {
        Some(handlers) => handlers
            .elements()
            .into_iter()
            .filter_map(|handler| handler.as_object())
            .collect(),
        None => vec![entry],
    });
    Ok(handlers
        .filter_map(|handler| command_of(&handler))
        .filter(|command| is_bridge_command(command))
        .collect())
}
