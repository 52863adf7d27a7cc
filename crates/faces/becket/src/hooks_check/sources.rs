//! Finds the files that hooks are checked in, and reads them as a run would. What a run would end with is a finding.

use std::path::{Path, PathBuf};

use becket_agent::Rules;
use becket_chibi::home_of_run;
use becket_docker_agent::{
    AgentFile, Contract, FileKind, ForeignRules, HookEntry, HookFlag, Permissions, PersonsSettings, Sources,
    ToolsetKind, contracts, is_drop_in, read_drop_in,
};
use becket_hooks::{OwnHook, SettingsError, read_hook_file};
use becket_host::{Found, Place};
use becket_pi::host::FoundExtensions;
use becket_system::files::read_regular;
use becket_system::project_root::project_root;
use becket_system::{CliError, Folders, Surroundings};

use super::guests::{Guest, GuestKind};
use super::{Finding, Hook, HookFile, Kind, Severity};
use crate::args::Options;
use crate::assemble::read_config;
use crate::config::{Config, ProjectConfig};

use crate::guest_list::Hosts;
use crate::project::{MAX_SETTINGS_BYTES, settings_files};
use becket_trust::Trust;

/// What a file is read as.
#[derive(Debug, Clone, Copy)]
enum Format {
    /// The person's settings.
    Config,
    /// A project's settings.
    Project,
    /// Nothing but hooks of becket's own.
    Hooks,
    /// A file of docker-agent's.
    Foreign(FileKind),
    /// A plugin or an extension.
    Guest(GuestKind),
}

/// Everything that counts here. The error says which file cannot be read.
pub fn everything(
    options: &Options,
    folders: &Folders,
    surroundings: &Surroundings,
) -> Result<Vec<HookFile>, CliError> {
    let cwd = &surroundings.cwd;
    let mut files = Vec::new();
    let own = folders.config_file();
    // What is wrong with the settings is a finding of its own.
    let settings = read_config(&own, options.hosts)
        .map(|(_, settings)| settings)
        .unwrap_or_default();
    if own.symlink_metadata().is_ok() {
        files.push(read(&own, Some(Format::Config), surroundings)?);
    }
    for given in &options.hooks {
        files.push(read(given, Some(Format::Hooks), surroundings)?);
    }
    let sources = Sources::find(&settings.section()?, folders, surroundings)?;
    let of_settings = sources.settings.iter().map(|file| (file, FileKind::Settings));
    let drop_ins = sources.drop_ins.iter().map(|file| (file, FileKind::Hooks));
    for (file, kind) in of_settings.chain(drop_ins) {
        files.push(read(file, Some(Format::Foreign(kind)), surroundings)?);
    }
    let options_about = options.about_guests();
    let flags = HookFlag::all().into_iter().flat_map(|flag| {
        let commands = options_about.texts(&flag.name).into_iter();
        commands.map(|command| flag.entry(&command)).collect::<Vec<_>>()
    });
    files.extend(flags.map(|entry| HookFile {
        file: PathBuf::from(&entry.source),
        hooks: foreign(vec![entry]),
        guests: true,
        ..HookFile::default()
    }));
    let project_root = project_root(cwd);
    for file in settings_files(cwd, &project_root) {
        files.push(read(&file, Some(Format::Project), surroundings)?);
    }
    let home = options.chibi_home.as_deref();
    if let Some(home) = home_of_run(home, &settings.section()?, folders, surroundings)? {
        for file in programs_in(&becket_chibi::plugins_folder(&home)) {
            files.push(read(&file, Some(Format::Guest(GuestKind::Plugin)), surroundings)?);
        }
    }
    let found = FoundExtensions::find(&Place {
        surroundings,
        folders,
        project_root: &project_root,
        trust: &Trust::open(options.trust, folders, surroundings, &project_root),
        settings: &settings,
        options: &options_about,
        without: &[],
        operation_called: becket_dialects::operation_called,
    })?;
    let found = found.guests().into_iter().map(|guest| guest.file);
    for file in found.filter(|file| is_extension(file)) {
        files.push(read(
            &file,
            Some(Format::Guest(GuestKind::Extension)),
            surroundings,
        )?);
    }
    Ok(files)
}

/// The plugins in a folder: files that are not hidden and not taken out of use, programs in folders of their name, and
/// links that lead nowhere.
fn programs_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| {
            let (path, name) = (entry.path(), entry.file_name());
            let shown = name.to_string_lossy();
            let is_left_out = shown.starts_with('.') || shown.ends_with(".disabled");
            let leads_nowhere = path.is_symlink() && !path.exists();
            let program = if path.is_dir() { path.join(&name) } else { path };
            (!is_left_out && (leads_nowhere || program.is_file())).then_some(program)
        })
        .collect();
    files.sort();
    files
}

/// The files that were named; of a folder those in it and below it that hold hooks.
pub fn given(paths: &[PathBuf], surroundings: &Surroundings) -> Result<Vec<HookFile>, CliError> {
    let mut files = Vec::new();
    for path in paths {
        if !surroundings.cwd.join(path).is_dir() {
            files.push(read(path, None, surroundings)?);
            continue;
        }
        let before = files.len();
        below(path, surroundings, &mut files)?;
        if files.len() == before {
            return Err(CliError::usage(format!(
                "there are no hooks in {}, nor in folders below it",
                path.display()
            )));
        }
    }
    Ok(files)
}

/// Folders that hold nothing of the person's, and those of the hidden ones that may hold hooks.
const LEFT_OUT: &[&str] = &["node_modules", "target"];
const HIDDEN: &[&str] = &[".becket", ".pi"];

/// The files with hooks in a folder and below it.
fn below(folder: &Path, surroundings: &Surroundings, files: &mut Vec<HookFile>) -> Result<(), CliError> {
    let whole = surroundings.cwd.join(folder);
    let listing = std::fs::read_dir(&whole).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut listing = listing.map_err(|error| unreadable(folder, &error))?;
    listing.sort_by_key(std::fs::DirEntry::file_name);
    let is_plugins = whole.file_name().is_some_and(|name| name == "plugins");
    for file in programs_in(&whole)
        .iter()
        .filter(|file| is_plugins && is_like_program(file))
    {
        let shown = file.strip_prefix(&surroundings.cwd).unwrap_or(file);
        files.push(read(shown, Some(Format::Guest(GuestKind::Plugin)), surroundings)?);
    }
    for entry in &listing {
        let (name, file) = (entry.file_name(), folder.join(entry.file_name()));
        let name = name.to_string_lossy();
        // A link to a folder is not gone through: it may lead in a circle.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_hidden = name.starts_with('.') && !HIDDEN.contains(&&*name);
        if is_folder && !is_hidden && !is_plugins && !LEFT_OUT.contains(&&*name) {
            below(&file, surroundings, files)?;
        }
        if !is_folder && !is_hidden && holds_hooks(&surroundings.cwd.join(&file)) {
            files.push(read(&file, None, surroundings)?);
        }
    }
    Ok(())
}

/// Whether a file in a folder of plugins is one: what has an ending is a script, or something else.
fn is_like_program(file: &Path) -> bool {
    let begins = |text: String| text.starts_with("#!");
    file.extension().is_none() || read_regular(file, MAX_SETTINGS_BYTES).is_ok_and(begins)
}

/// Whether a file that nobody has named holds hooks. Others have the same endings.
fn holds_hooks(file: &Path) -> bool {
    let is_known = is_toml(file) || is_drop_in(file) || is_extension(file);
    if !is_known || is_test(file) {
        return false;
    }
    let is_settings = file.file_name().is_some_and(|name| name == "becket.toml");
    let is_for_hooks =
        |folder: &Path| folder.ends_with("hooks.d") || becket_pi::has_project_extensions(folder);
    if is_settings || file.parent().is_some_and(is_for_hooks) {
        return true;
    }
    let Ok(text) = read_regular(file, MAX_SETTINGS_BYTES) else {
        return false;
    };
    let begins = |line: &str, word: &str| {
        let rest = line
            .trim_start()
            .trim_start_matches(['-', ' ', '{'])
            .strip_prefix(word);
        rest.is_some_and(|rest| rest.trim_start().starts_with(['=', ':', ']']))
    };
    let has_line = |word: &str| text.lines().any(|line| begins(line, word));
    if is_toml(file) {
        has_line("[[hook]") || has_line("[hook") || (has_line("event") && has_line("command"))
    } else if is_drop_in(file) {
        let kinds = ["type: command", "type: builtin", "type: model"];
        text.lines().any(|line| line.starts_with("agents:")) || kinds.iter().any(|kind| text.contains(kind))
    } else {
        EXTENSION_WORDS.iter().any(|word| text.contains(word)) && text.contains("default")
    }
}

/// Words of extensions that other scripts hardly have.
const EXTENSION_WORDS: &[&str] = &["pi-coding-agent", "ExtensionAPI", "pi.on(", "pi.register"];

/// Reads one file. The error says that it cannot be read at all.
fn read(file: &Path, format: Option<Format>, surroundings: &Surroundings) -> Result<HookFile, CliError> {
    let whole = surroundings.cwd.join(file);
    let text = match (format, read_regular(&whole, MAX_SETTINGS_BYTES)) {
        // A program need not be a text, and where it is only the name of one, that is found later.
        (Some(Format::Guest(kind)), Err(error)) if kind == GuestKind::Plugin || !error.is_absence() => {
            String::new()
        }
        (_, text) => text.map_err(|error| unreadable(file, &error))?,
    };
    let mut found = HookFile {
        file: file.to_path_buf(),
        guests: true,
        ..HookFile::default()
    };
    let format = match format {
        Some(format) => Ok(format),
        None => format_of(&text, file)?,
    };
    let reading = format.and_then(|format| found.take(format, &text, &whole, surroundings));
    if let Err(SettingsError { line, message, .. }) = reading {
        found.findings.push(Finding {
            file: file.to_path_buf(),
            line: Some(line),
            kind: Kind::Configuration,
            severity: Severity::Wrong,
            message,
            hint: None,
        });
    }
    found.text = text;
    Ok(found)
}

/// What a file is, by its name and by what stands in it. The outer error says that nobody can tell.
fn format_of(text: &str, file: &Path) -> Result<Result<Format, SettingsError>, CliError> {
    match file.file_name().and_then(|name| name.to_str()) {
        Some("becket.toml") => Ok(Ok(Format::Project)),
        Some("config.toml") => Ok(Ok(Format::Config)),
        _ if is_toml(file) => Ok(Ok(Format::Hooks)),
        _ if is_extension(file) => Ok(Ok(Format::Guest(GuestKind::Extension))),
        _ if is_plugin(file, text) => Ok(Ok(Format::Guest(GuestKind::Plugin))),
        _ if is_drop_in(file) => Ok(FileKind::of(text, file).map(Format::Foreign)),
        _ => Err(CliError::usage(format!(
            "cannot tell what {} is: hooks stand in files that end in .toml, .yaml or .yml, in extensions that end in \
             .ts or .js, and in programs",
            file.display()
        ))),
    }
}

impl HookFile {
    /// Takes the hooks of a text. Paths in it are seen from where the file really lies.
    fn take(
        &mut self,
        format: Format,
        text: &str,
        whole: &Path,
        surroundings: &Surroundings,
    ) -> Result<(), SettingsError> {
        match format {
            Format::Config => self.hooks = own(Config::read(text, whole, &Hosts::default().sections())?.1),
            Format::Project => self.hooks = own(ProjectConfig::read(text, whole)?.1),
            Format::Hooks => self.hooks = own(read_hook_file(text, whole)?),
            Format::Guest(kind) => {
                let file = whole.to_path_buf();
                self.hooks = vec![Hook::Guest(Guest { file, kind })];
            }
            Format::Foreign(FileKind::Hooks) => self.hooks = foreign(read_drop_in(text, whole)?),
            Format::Foreign(FileKind::Settings) => {
                let settings = PersonsSettings::read(text, whole)?;
                self.hooks = foreign(settings.hooks);
                check_rules(&settings.permissions, whole, surroundings)?;
            }
            Format::Foreign(FileKind::Agents) => {
                let file = AgentFile::read(text, whole)?;
                self.take_agents(&file);
                check_rules(&file.permissions, whole, surroundings)?;
            }
        }
        Ok(())
    }

    fn take_agents(&mut self, file: &AgentFile) {
        let hooks = file.agents.iter().flat_map(|agent| agent.hooks.clone());
        self.hooks = foreign(hooks.collect());
        let kinds = file.agents.iter().flat_map(|agent| &agent.toolsets);
        let kinds: Vec<&ToolsetKind> = kinds.map(|set| &set.kind).collect();
        self.guests = kinds.iter().any(|kind| matches!(kind, ToolsetKind::Mcp(_)));
        for kind in kinds {
            if let ToolsetKind::Script(scripts) = kind {
                self.tools
                    .extend(scripts.iter().map(|script| script.name.clone()));
            }
        }
        let begin = format!("{}:", file.path.display());
        for remark in &file.remarks {
            let place = remark.strip_prefix(&begin).and_then(|rest| rest.split_once(": "));
            self.findings.push(Finding {
                file: self.file.clone(),
                line: place.and_then(|(line, _)| line.parse().ok()),
                kind: Kind::NoEffect,
                severity: Severity::Remark,
                message: place.map_or(remark.as_str(), |(_, message)| message).to_owned(),
                hint: None,
            });
        }
    }
}

/// Whether the rules of a file can be read.
fn check_rules(
    permissions: &Permissions,
    file: &Path,
    surroundings: &Surroundings,
) -> Result<(), SettingsError> {
    let home = surroundings.variable("HOME");
    let rules = ForeignRules {
        file,
        home: home.as_deref().map(Path::new),
        profile: &becket_docker_agent::profile(),
    };
    rules.add(Rules::default(), permissions).map(|_| ())
}

fn own(hooks: Vec<OwnHook>) -> Vec<Hook> {
    hooks.into_iter().map(Hook::Own).collect()
}

fn foreign(entries: Vec<HookEntry>) -> Vec<Hook> {
    let contracts = contracts();
    let contract_of = |entry: &HookEntry| -> Option<Contract> {
        let found = contracts.iter().find(|contract| contract.name == entry.event);
        found.copied()
    };
    let hooks = entries.into_iter();
    hooks
        .filter_map(|entry| contract_of(&entry).map(|contract| Hook::Foreign(entry, contract)))
        .collect()
}

/// A file with hook tests, which holds no hooks.
fn is_test(file: &Path) -> bool {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
    name.is_some_and(|name| name.ends_with(".hooktest.toml"))
}

fn is_extension(file: &Path) -> bool {
    let ending = file.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("ts" | "js" | "mjs" | "mts"))
}

/// A program, by its first line or by the bit that lets it run.
fn is_plugin(file: &Path, text: &str) -> bool {
    text.starts_with("#!") || file.parent().is_some_and(|folder| folder.ends_with("plugins"))
}

fn is_toml(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "toml")
}

fn unreadable(file: &Path, error: &dyn std::fmt::Display) -> CliError {
    CliError::usage(format!("cannot read {}: {error}", file.display()))
}
