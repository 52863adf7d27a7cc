//! becket's own hooks as guests of a run: of the user's settings, of the command line, of the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_hooks::{HookEnvironment, OwnHook, read_hook_file};
use becket_host::{Found, FoundGuest, Guests, Host, Loading, NoGuests, Place, Report, Stage};
use becket_system::CliError;
use becket_trust::Judged;
use futures_util::future::BoxFuture;

use crate::project::{Project, read_project};

/// The option that names a file with hooks.
pub const HOOKS_OPTION: &str = "hooks";

/// Finds hooks in becket's own words.
pub struct OwnHookHost;

impl Host for OwnHookHost {
    fn kind(&self) -> &'static str {
        "hook"
    }

    fn find(&self, place: &Place<'_>) -> Result<Box<dyn Found>, CliError> {
        let cwd = &place.surroundings.cwd;
        let mut hooks = place.settings.hooks.clone();
        for given in place.options.paths(HOOKS_OPTION) {
            let file = cwd.join(&given);
            let text = std::fs::read_to_string(&file).map_err(|error| {
                CliError::usage(format!("cannot read the hook file {}: {error}", file.display()))
            })?;
            let read = read_hook_file(&text, &file)?.into_iter();
            hooks.extend(read.map(|hook| called_as_given(hook, &file, &given)));
        }
        let mut project = read_project(cwd, place.project_root, place.trust);
        hooks.append(&mut project.hooks);
        Ok(Box::new(FoundOwnHooks { hooks, project }))
    }
}

/// A hook without a name is called by its file, and the file what the user called it: every refusal shows the name.
fn called_as_given(mut hook: OwnHook, file: &Path, given: &Path) -> OwnHook {
    let file = file.display().to_string();
    if let Some(line) = hook.info.name.strip_prefix(&file) {
        hook.info.name = format!("{}{line}", given.display());
    }
    hook
}

/// The hooks that were found, and what else the project's settings say.
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
        let loosened = self.hooks.iter().filter(|hook| hook.loosened).map(|hook| {
            let info = &hook.info;
            format!(
                "the guard {} ({}) may fail open: on_failure is allow",
                info.name, info.source
            )
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

/// The hooks of a run.
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
            let loosened = hook
                .loosened
                .then(|| "this guard may fail open: on_failure is allow".to_string());
            Report::new(what, trouble.map(|failure| failure.to_string()).or(loosened))
        });
        hooks.collect()
    }
}
