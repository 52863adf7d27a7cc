//! The interceptors of the user's settings as guests of a run. They are the user's own, so they need no trust.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use becket_agent::audit::{AuditRecord, Audited};
use becket_agent::store::Store;
use becket_check::{CheckedHook, HookFile, Machine, Start, boxed};
use becket_events::Scope;
use becket_hooks::{CommandLine, Failure, HookEnvironment, Section};
use becket_host::{Found, FoundGuest, GuestSearch, Guests, Host, Loading, NoGuests, Report, Stage};
use becket_store::SqliteStore;
use becket_system::CliError;
use futures_util::future::{BoxFuture, join_all};
use serde_json::Value;

use crate::approval::{ByHooks, ByUser};
use crate::config::{AgentHooksConfig, ApprovalChoice};
use crate::conformance::Kit;
use crate::declaration::{Declaration, Kind, Registry};
use crate::dialect::DIALECT;
use crate::emitter::{Emitter, Sink};
use crate::handlers::register;
use crate::interceptor::Interceptor;
use crate::programs::{Asking, COMMAND, Place, Stays, WORKER, command, program};
use crate::record::Record;

/// The host of interceptors.
pub struct AgentHooksHost;

impl Host for AgentHooksHost {
    fn kind(&self) -> &'static str {
        "interceptor"
    }

    fn sections(&self) -> &'static [Section] {
        const { &[Section::of::<AgentHooksConfig>()] }
    }

    fn conformance(&self) -> Option<&'static dyn becket_host::Conformance> {
        Some(&Kit)
    }

    fn check_files(&self, place: &GuestSearch<'_>) -> Result<Vec<HookFile>, CliError> {
        let config: AgentHooksConfig = place.section()?;
        let (file, text) = (&place.settings.file, &place.settings.text);
        let folder = file.parent().unwrap_or(Path::new(""));
        let Some(declaration) = config.declaration(folder)? else {
            return Ok(Vec::new());
        };
        let commands = commands(&declaration, config.approval_command.as_ref());
        let programs = commands.into_iter().map(|(_, command)| CheckedProgram {
            command,
            folder: folder.to_owned(),
        });
        Ok(vec![HookFile::new(file, text, Ok(boxed(programs)))])
    }

    fn find(&self, place: &GuestSearch<'_>) -> Result<Box<dyn Found>, CliError> {
        let config: AgentHooksConfig = place.section()?;
        let file = place.settings.file.clone();
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let declaration = config.declaration(&folder)?;
        Ok(Box::new(FoundInterceptors {
            declaration,
            approval_command: config.approval_command,
            file,
            folder,
        }))
    }
}

/// All programs that may be asked, with words for what they are.
fn commands(declaration: &Declaration, approver: Option<&CommandLine>) -> Vec<(String, CommandLine)> {
    let bindings = declaration.bindings.iter();
    let bindings = bindings.map(|binding| (format!("interceptor {}", binding.id), command(&binding.config)));
    let approver = approver.map(|command| ("approval_command".to_owned(), Ok(command.clone())));
    let all = bindings.chain(approver);
    all.filter_map(|(what, command)| Some((what, command.ok()?)))
        .collect()
}

/// A program as `hooks check` sees it.
#[derive(Debug)]
struct CheckedProgram {
    command: CommandLine,
    folder: PathBuf,
}

impl CheckedHook for CheckedProgram {
    fn start(&self) -> Start<'_> {
        Start::Command(&self.command, Some(&self.folder))
    }

    fn trouble(&self, machine: &Machine) -> Option<Failure> {
        let program = program(&self.command, &self.folder, &machine.environment);
        program.check(&machine.directory).err()
    }
}

/// The interceptors that were found.
struct FoundInterceptors {
    /// `None` if the dialect is turned off.
    declaration: Option<Declaration>,
    approval_command: Option<CommandLine>,
    file: PathBuf,
    folder: PathBuf,
}

impl Found for FoundInterceptors {
    fn guests(&self) -> Vec<FoundGuest> {
        let bindings = self
            .declaration
            .iter()
            .flat_map(|declaration| &declaration.bindings);
        let guest = |name: &str| FoundGuest {
            name: name.to_owned(),
            file: self.file.clone(),
            is_trusted: true,
        };
        bindings.map(|binding| guest(&binding.id)).collect()
    }

    fn may_load(&self) -> bool {
        self.declaration.is_some()
    }

    fn load<'a>(&'a self, loading: &'a Loading<'a>) -> BoxFuture<'a, Result<Arc<dyn Guests>, CliError>> {
        Box::pin(async move {
            let Some(declaration) = &self.declaration else {
                return Ok(Arc::new(NoGuests) as Arc<dyn Guests>);
            };
            Ok(Arc::new(Interceptors {
                declaration: declaration.clone(),
                approval_command: self.approval_command.clone(),
                folder: self.folder.clone(),
                directory: loading.place.surroundings.cwd.clone(),
                environment: HookEnvironment::clone(loading.environment),
                programs: Mutex::default(),
            }))
        })
    }
}

/// The interceptors of a run.
struct Interceptors {
    declaration: Declaration,
    approval_command: Option<CommandLine>,
    folder: PathBuf,
    /// The working directory of the run.
    directory: PathBuf,
    environment: HookEnvironment,
    /// Programs that may still be alive when the run ends.
    programs: Mutex<Vec<Arc<Asking>>>,
}

impl Interceptors {
    fn program(
        &self,
        config: &Value,
        stays: Stays,
        place: &Place<'_>,
    ) -> Result<Arc<dyn Interceptor>, String> {
        let program = Asking::of_config(config, stays, place)?;
        let program = Arc::new(program);
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.push(Arc::clone(&program));
        Ok(program)
    }

    /// Everything that the declaration can name.
    fn registry<'a>(&'a self, stage: &'a Stage<'_>) -> Registry<'a> {
        let place = Place {
            folder: &self.folder,
            environment: &self.environment,
            front: &stage.person.front,
        };
        let kind = |stays| -> Kind<'a> { Box::new(move |config| self.program(config, stays, &place)) };
        let mut registry = Registry {
            kinds: vec![(COMMAND, kind(Stays::ForOneAnswer)), (WORKER, kind(Stays::Alive))],
            ..Registry::default()
        };
        let name = |choice: ApprovalChoice| choice.name().unwrap_or_default();
        let user = Arc::new(ByUser(Arc::clone(&stage.person.front)));
        registry.approvers.push((name(ApprovalChoice::User), user));
        let hooks = Arc::new(ByHooks(Arc::clone(stage.engine)));
        registry.approvers.push((name(ApprovalChoice::Hooks), hooks));
        if let Some(command) = &self.approval_command {
            let program = Asking::new("approval_command", command, Stays::ForOneAnswer, &place);
            registry
                .approvers
                .push((name(ApprovalChoice::Program), Arc::new(program)));
        }
        registry
    }
}

impl Guests for Interceptors {
    fn register(&self, stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
        let setup = self.declaration.resolve(&self.registry(stage));
        let setup = setup.map_err(|refused| {
            CliError::usage(format!("[agent_hooks] is wrong: {refused}"))
                .hint("`approval = \"program\"` needs `approval_command`; the guide has examples")
        })?;
        // What is only tried out has not happened.
        let sink: Sink = match stage.is_rehearsal {
            true => Arc::new(|_, _| {}),
            false => sink(Arc::clone(stage.store)),
        };
        let emitter = Emitter::new(setup, sink);
        register(stage.engine, Arc::new(emitter));
        Ok(Vec::new())
    }

    fn names(&self) -> Vec<String> {
        let bindings = self.declaration.bindings.iter();
        bindings.map(|binding| binding.id.clone()).collect()
    }

    fn reports(&self) -> Vec<Report> {
        if self.declaration.bindings.is_empty() {
            let words = "it is enabled without an interceptor, so everything is denied";
            return vec![Report::note("AGENT-HOOKS", words.into())];
        }
        let commands = commands(&self.declaration, self.approval_command.as_ref()).into_iter();
        let reports = commands.map(|(what, command)| {
            let program = program(&command, &self.folder, &self.environment);
            let trouble = program.check(&self.directory).err();
            Report::new(what, trouble.map(|failure| failure.to_string()))
        });
        reports.collect()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let programs = std::mem::take(&mut *self.programs.lock().unwrap_or_else(PoisonError::into_inner));
            join_all(programs.iter().map(|program| program.close())).await;
        })
    }
}

/// Writes records into the audit log.
fn sink(store: Arc<SqliteStore>) -> Sink {
    Arc::new(move |scope: &Scope, record: &Record| {
        let audited = Audited::Guest {
            dialect: DIALECT.name,
            record: record.to_value(),
        };
        store.audit(AuditRecord::now(scope, audited));
    })
}
