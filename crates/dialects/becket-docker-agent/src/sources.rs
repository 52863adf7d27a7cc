//! docker-agent's hooks outside of agent files: in the user's settings, in `hooks.d`, and on the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use becket_dialect_kit::yaml::read_yaml;
use becket_hooks::SettingsError;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::config::HooksConfig;
use super::contract::Contract;
use super::file::Permissions;
use super::hook::{Builtin, HookEntry, HookKind, OnError, USUAL_TIMEOUT};
use super::rows::contracts;

/// The variables that name docker-agent's configuration folder; the first that is set is used.
pub const CONFIG_VARIABLES: &[&str] = &["DOCKER_AGENT_CONFIG_DIR", "CAGENT_CONFIG_DIR"];

/// The default configuration folder, relative to the user's home.
const USUAL_FOLDER: &str = ".config/cagent";

/// The events at which `settings.snapshot` takes a checkpoint.
const SNAPSHOT_EVENTS: &[&str] = &[
    "session_start",
    "turn_start",
    "turn_end",
    "pre_tool_use",
    "post_tool_use",
    "session_end",
];

/// docker-agent's configuration folder: the one that is named, else the default one if it exists.
pub fn config_folder(named: Option<PathBuf>, persons_home: Option<&Path>) -> Option<PathBuf> {
    named.or_else(|| Some(persons_home?.join(USUAL_FOLDER)).filter(|folder| becket_fs::is_dir(folder)))
}

/// The user's settings file in a configuration folder.
pub fn settings_file(folder: &Path) -> PathBuf {
    folder.join("config.yaml")
}

/// The folder for files with only hooks, in a configuration folder.
pub fn drop_in_folder(folder: &Path) -> PathBuf {
    folder.join("hooks.d")
}

/// Whether a file in `hooks.d` holds hooks; others are ignored.
pub fn is_drop_in(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml"))
}

/// Whether a file is written in HCL, which docker-agent reads as well.
pub fn is_hcl(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "hcl")
}

/// The part of the user's docker-agent settings that becket uses. The rest of that file is ignored.
#[derive(Debug, Clone, Default)]
pub struct PersonsSettings {
    /// Hooks for every agent.
    pub hooks: Vec<HookEntry>,
    /// Rules for every agent.
    pub permissions: Permissions,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    settings: Option<Settings>,
}

#[derive(Default, Deserialize)]
struct Settings {
    #[serde(default)]
    hooks: Option<HooksConfig>,
    #[serde(default)]
    permissions: Option<Permissions>,
    #[serde(default)]
    snapshot: Option<bool>,
}

impl PersonsSettings {
    /// Reads the settings.
    pub fn read(text: &str, file: &Path) -> Result<Self, SettingsError> {
        let read: Option<File> = read_yaml(text, file)?;
        let settings = read.and_then(|file| file.settings).unwrap_or_default();
        let mut hooks = match &settings.hooks {
            Some(hooks) => hooks.entries(file)?,
            None => Vec::new(),
        };
        if settings.snapshot == Some(true) {
            let source = format!("settings.snapshot in {}", file.display());
            hooks.extend(SNAPSHOT_EVENTS.iter().map(|event| HookEntry {
                name: Some("snapshot".into()),
                // A full disk must not stop the user's work for want of a checkpoint.
                on_error: Some(OnError::Warn),
                ..entry(event, HookKind::Builtin(Builtin::Snapshot), source.clone())
            }));
        }
        Ok(Self {
            hooks,
            permissions: settings.permissions.unwrap_or_default(),
        })
    }
}

/// The option for a file with only hooks.
pub const HOOK_FILE: &str = "docker-agent-hooks";

/// The purpose of a YAML file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A file that describes agents.
    Agents,
    /// The user's settings.
    Settings,
    /// A file with only hooks.
    Hooks,
}

impl FileKind {
    /// The purpose of a file, by its keys, or by its name if the keys do not tell.
    pub fn of(text: &str, file: &Path) -> Result<Self, SettingsError> {
        let keys: Option<BTreeMap<String, IgnoredAny>> = read_yaml(text, file)?;
        let keys = keys.unwrap_or_default();
        let has = |names: &[&str]| names.iter().any(|name| keys.contains_key(*name));
        let is_settings = || file.file_name() == settings_file(Path::new("")).file_name();
        Ok(if has(&["agents", "models", "toolsets", "providers"]) {
            Self::Agents
        } else if has(&["settings"]) || is_settings() {
            Self::Settings
        } else {
            Self::Hooks
        })
    }
}

/// Reads a file with only hooks: under a key `hooks`, or at the top level. An empty file has none.
pub fn read_drop_in(text: &str, file: &Path) -> Result<Vec<HookEntry>, SettingsError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wrapped {
        #[serde(default)]
        hooks: Option<HooksConfig>,
    }
    let keys: Option<BTreeMap<String, IgnoredAny>> = read_yaml(text, file)?;
    let hooks = match keys {
        None => None,
        Some(keys) if keys.contains_key("hooks") => read_yaml::<Wrapped>(text, file)?.hooks,
        Some(_) => Some(read_yaml::<HooksConfig>(text, file)?),
    };
    hooks.map_or(Ok(Vec::new()), |hooks| hooks.entries(file))
}

/// A flag of the command line that adds a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFlag {
    /// The flag's name, without leading hyphens.
    pub name: String,
    /// docker-agent's name of the event.
    pub event: &'static str,
    /// Whether the event is about a tool.
    pub is_about_tools: bool,
}

impl HookFlag {
    /// The flags of all events.
    pub fn all() -> Vec<Self> {
        let flag = |contract: &Contract| Self {
            name: format!("hook-{}", contract.name.replace('_', "-")),
            event: contract.name,
            is_about_tools: contract.matcher,
        };
        contracts().iter().map(flag).collect()
    }

    /// The hook that the flag adds: a command, for all tools.
    pub fn entry(&self, command: &str) -> HookEntry {
        let source = format!("--{}", self.name);
        entry(self.event, HookKind::Command(command.to_owned()), source)
    }
}

/// A hook with only its required fields; the others have their defaults.
fn entry(event: &'static str, kind: HookKind, source: String) -> HookEntry {
    HookEntry {
        event,
        matcher: None,
        preempt_yolo: false,
        kind,
        name: None,
        timeout: USUAL_TIMEOUT,
        env: BTreeMap::new(),
        working_dir: None,
        on_error: None,
        strict_output: false,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOOKS: &str = "stop:\n  - type: command\n    command: cat\n";

    fn events(entries: &[HookEntry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.event).collect()
    }

    #[test]
    fn a_drop_in_is_read_with_and_without_the_key() {
        let file = Path::new("a.yaml");
        let indented = format!("hooks:\n  {}", HOOKS.replace('\n', "\n  "));
        for text in [HOOKS, indented.as_str()] {
            let entries = read_drop_in(text, file).unwrap();
            assert_eq!(events(&entries), ["stop"], "{text}");
        }
        for empty in ["", "# nothing\n", "hooks:\n", "{}\n"] {
            assert!(read_drop_in(empty, file).unwrap().is_empty(), "{empty:?}");
        }
        let fault = read_drop_in("stopp:\n  - type: command\n    command: cat\n", file).unwrap_err();
        assert!(fault.to_string().starts_with("a.yaml:1: "), "{fault}");
        assert!(fault.to_string().contains("`stop`"), "{fault}");
        let fault = read_drop_in("hooks: {}\nstop: []\n", file).unwrap_err();
        assert!(fault.to_string().starts_with("a.yaml:2: "), "{fault}");
    }

    #[test]
    fn settings_have_hooks_rules_and_snapshots_among_other_things() {
        let file = Path::new("config.yaml");
        let text = "version: v1\nsettings:\n  theme: dark\n  snapshot: true\n  permissions:\n    deny: [shell]\n  \
                    hooks:\n    stop:\n      - type: command\n        command: cat\n";
        let settings = PersonsSettings::read(text, file).unwrap();
        assert_eq!(settings.permissions.deny, [("shell".to_owned(), 6)]);
        assert_eq!(events(&settings.hooks)[0], "stop");
        assert_eq!(settings.hooks.len(), 1 + SNAPSHOT_EVENTS.len());
        let nothing = PersonsSettings::read("aliases: {}\n", file).unwrap();
        assert!(nothing.hooks.is_empty() && nothing.permissions == Permissions::default());
        assert!(PersonsSettings::read("", file).unwrap().hooks.is_empty());
        assert!(PersonsSettings::read("settings:\n  hooks:\n    stopp: []\n", file).is_err());
        assert!(PersonsSettings::read("settings:\n  permissions:\n    deni: [shell]\n", file).is_err());
        let empty = PersonsSettings::read("settings:\n  permissions:\n    deny:\n", file).unwrap();
        assert_eq!(empty.permissions, Permissions::default());
    }

    #[test]
    fn every_event_has_a_flag() {
        let flags = HookFlag::all();
        assert!(flags.iter().any(|flag| flag.name == "hook-pre-tool-use"));
        assert_eq!(flags.len(), contracts().len());
    }
}
