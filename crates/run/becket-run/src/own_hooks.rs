//! becket's own hooks as guests of a run: of the user's settings, of the command line, of the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_check::{CheckedHook, HookFile, NamedFile, boxed};
use becket_hooks::{
    HookEnvironment, Layout, OwnHook, Section, SettingsError, read_hook_file, read_or_mistakes,
};
use becket_host::{
    Found, FoundGuest, GuestSearch, Guests, Host, HostOption, Loading, NoGuests, OptionValue, Report, Stage,
};
use becket_system::CliError;
use becket_system::files::read_regular;
use becket_trust::Judged;
use futures_util::future::BoxFuture;

use crate::config::{Config, ProjectConfig};
use crate::project::{MAX_SETTINGS_BYTES, Project, read_project, settings_files};

/// The option that names a file with hooks.
pub const HOOKS_OPTION: &str = "hooks";

/// The host of hooks in becket's own format.
pub struct OwnHookHost;

impl Host for OwnHookHost {
    fn kind(&self) -> &'static str {
        "hook"
    }

    fn options(&self) -> Vec<HostOption> {
        vec![HostOption {
            name: HOOKS_OPTION.into(),
            value: OptionValue::Path("FILE"),
            help: "Load hooks from this file, and trust them; may be given several times".into(),
            ..HostOption::default()
        }]
    }

    fn check_files(&self, place: &GuestSearch<'_>) -> Result<Vec<HookFile>, CliError> {
        let cwd = &place.surroundings.cwd;
        let settings = place.folders.config_file();
        let settings = becket_fs::symlink_metadata(&settings)
            .is_ok()
            .then_some((settings, Format::Config));
        let given = place.options.paths(HOOKS_OPTION).into_iter();
        let project = settings_files(cwd, place.project_root).into_iter();
        let files = settings
            .into_iter()
            .chain(given.map(|file| (file, Format::Hooks)))
            .chain(project.map(|file| (file, Format::Project)));
        files
            .map(|(file, format)| {
                let whole = cwd.join(&file);
                let text = read_regular(&whole, MAX_SETTINGS_BYTES)
                    .map_err(|error| CliError::usage(format!("cannot read {}: {error}", file.display())))?;
                Ok(format.check((&file, &whole), &text, place.sections))
            })
            .collect()
    }

    fn check_file(&self, file: &NamedFile<'_>) -> Option<HookFile> {
        let text = file.text.as_deref()?;
        let format = Format::of(file, text)?;
        Some(format.check((file.shown, &file.whole), text, file.sections))
    }

    fn hidden_folders(&self) -> &'static [&'static str] {
        &[".becket"]
    }

    fn find(&self, place: &GuestSearch<'_>) -> Result<Box<dyn Found>, CliError> {
        let cwd = &place.surroundings.cwd;
        let mut hooks = place.settings.hooks.clone();
        for given in place.options.paths(HOOKS_OPTION) {
            let file = cwd.join(&given);
            let text = becket_fs::read_to_string(&file).map_err(|error| {
                CliError::usage(format!("cannot read the hook file {}: {error}", file.display()))
            })?;
            let read = read_or_mistakes(&text, |text| read_hook_file(text, &file))?.into_iter();
            hooks.extend(read.map(|hook| called_as_given(hook, &file, &given)));
        }
        let mut project = read_project(cwd, place.project_root, place.trust);
        hooks.append(&mut project.hooks);
        Ok(Box::new(FoundOwnHooks { hooks, project }))
    }
}

/// The format of a file with hooks.
#[derive(Debug, Clone, Copy)]
enum Format {
    /// The user's settings.
    Config,
    /// A project's settings.
    Project,
    /// Nothing but hooks.
    Hooks,
}

impl Format {
    /// The format of a file by its name, or by its content if the user has not named the file.
    fn of(file: &NamedFile<'_>, text: &str) -> Option<Self> {
        let name = file.shown.file_name()?.to_str()?;
        if file.ending() != Some("toml") || name.ends_with(".hooktest.toml") && !file.is_named {
            return None;
        }
        let begins = |line: &str, word: &str| {
            let rest = line.trim_start().strip_prefix(word);
            rest.is_some_and(|rest| rest.trim_start().starts_with(['=', ':', ']']))
        };
        let has_line = |word: &str| text.lines().any(|line| begins(line, word));
        let holds_hooks =
            || has_line("[[hook]") || has_line("[hook") || (has_line("event") && has_line("command"));
        match name {
            "becket.toml" => Some(Self::Project),
            _ if !(file.is_named || file.is_in("hooks.d") || holds_hooks()) => None,
            "config.toml" => Some(Self::Config),
            _ => Some(Self::Hooks),
        }
    }

    /// The hooks of a file, and everything that is wrong with it.
    fn check(self, (shown, whole): (&Path, &Path), text: &str, sections: &[Section]) -> HookFile {
        let read = |text: &str| self.read(text, whole, sections);
        HookFile::around_mistakes(shown, text, Layout::Tables, read)
    }

    fn read(
        self,
        text: &str,
        file: &Path,
        sections: &[Section],
    ) -> Result<Vec<Box<dyn CheckedHook>>, SettingsError> {
        let hooks = match self {
            Self::Config => Config::read(text, file, sections)?.1,
            Self::Project => ProjectConfig::read(text, file)?.1,
            Self::Hooks => read_hook_file(text, file)?,
        };
        Ok(boxed(hooks))
    }
}

/// Names an unnamed hook after its file, as the user wrote the path: every refusal shows the name.
fn called_as_given(mut hook: OwnHook, file: &Path, given: &Path) -> OwnHook {
    let file = file.display().to_string();
    if let Some(line) = hook.info.name.strip_prefix(&file) {
        hook.info.name = format!("{}{line}", given.display());
    }
    hook
}

/// The hooks that were found, and the project's settings.
pub struct FoundOwnHooks {
    /// The hooks that count.
    pub hooks: Vec<OwnHook>,
    /// The project's settings.
    pub project: Project,
}

impl Found for FoundOwnHooks {
    fn guests(&self) -> Vec<FoundGuest> {
        let guest = |hook: &OwnHook, is_trusted| FoundGuest {
            name: hook.info.name.clone(),
            file: hook.info.source.clone().into(),
            is_trusted,
        };
        let trusted = self.hooks.iter().map(|hook| guest(hook, true));
        let untrusted = self.project.untrusted_hooks.iter().map(|hook| guest(hook, false));
        trusted.chain(untrusted).collect()
    }

    fn judged(&self) -> &[Judged] {
        &self.project.things
    }

    fn refusal(&self) -> Option<CliError> {
        self.project.refusal.clone()
    }

    fn remarks(&self) -> Vec<String> {
        let loosened = self.hooks.iter().filter_map(|hook| {
            let info = &hook.info;
            let weakness = hook.weakness()?;
            Some(format!("the guard {} ({}) {weakness}", info.name, info.source))
        });
        self.project.skipped.iter().cloned().chain(loosened).collect()
    }

    fn load<'a>(&'a self, loading: &'a Loading<'a>) -> BoxFuture<'a, Result<Arc<dyn Guests>, CliError>> {
        Box::pin(async move {
            Ok(match self.hooks.is_empty() {
                true => Arc::new(NoGuests) as Arc<dyn Guests>,
                false => Arc::new(OwnHooks {
                    hooks: self.hooks.clone(),
                    environment: HookEnvironment::clone(loading.environment),
                    directory: loading.place.surroundings.cwd.clone(),
                }),
            })
        })
    }
}

/// becket's own hooks of a run.
struct OwnHooks {
    hooks: Vec<OwnHook>,
    environment: HookEnvironment,
    directory: PathBuf,
}

impl Guests for OwnHooks {
    fn register(&self, stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
        for hook in &self.hooks {
            hook.register(stage.engine, &self.environment);
        }
        Ok(Vec::new())
    }

    fn reports(&self) -> Vec<Report> {
        let hooks = self.hooks.iter().map(|hook| {
            let info = &hook.info;
            let what = format!(
                "hook {} on {} ({})",
                info.name,
                hook.event.info().name,
                info.source
            );
            let trouble = hook.trouble(&self.environment, &self.directory);
            let weakness = hook.weakness().map(|weakness| format!("this guard {weakness}"));
            Report::new(what, trouble.map(|failure| failure.to_string()).or(weakness))
        });
        hooks.collect()
    }
}
