//! A hook as a handler: how it is run, and the meaning of its answer or its failure.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use becket_events::{Class, Event, Reply, Scope};
use becket_hooks::{
    Action, Cause, CommandLane, Engine, Failure, Handler, HandlerInfo, HookEnvironment, Invocation, LaneKind,
    Matcher, Occasion, Pattern, Program, Registration, Setting,
};
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::contract::{Contract, Plain};
use super::dialect::DIALECT;
use super::expand::{expanded_directory, expanded_value};
use super::hook::{Builtin, BuiltinCall, Builtins, HookEntry, HookKind, Judge, OnError, Owner};
use super::input::Input;
use super::judge;
use super::output::Output;
use super::protocol::{Heard, Rules};
use super::read::HookAnswer;
use super::row::{PREEMPTING, RowOf};
use super::template::Template;
use super::words::otherwise;

/// The parts of the machine and of the program that hooks need.
#[derive(Clone)]
pub struct HookHost {
    /// The user's shell, if it is known.
    pub shell: Option<PathBuf>,
    /// The environment of programs.
    pub environment: HookEnvironment,
    /// The directory in which the agent works.
    pub directory: PathBuf,
    /// Runs the hooks that are built into the program.
    pub builtins: Arc<dyn Builtins>,
    /// Asks models for the hooks that are models.
    pub judge: Arc<dyn Judge>,
    /// How much is asked before tools run, in docker-agent's words.
    pub safety_policy: &'static str,
}

/// Shells that understand hooks as they are written; in any other shell a hook would mean something else. `sh` is not
/// among them: it is the name of the system's default shell, which is used anyway.
const SHELLS: &[&str] = &["bash", "dash", "zsh", "ksh", "mksh", "ash", "yash"];

/// How many characters of standard error are shown.
const SHOWN_ERRORS: usize = 400;

/// Registers a hook for an event. Calls that the same hook is asked about by one of the matchers `before` are left to
/// that one. Returns remarks about it.
pub(super) fn register<E: Event>(
    row: &RowOf<E>,
    engine: &Engine,
    (entry, before): (&HookEntry, &[String]),
    owner: &Owner,
    host: &HookHost,
) -> Vec<String> {
    let mut remarks = Vec::new();
    let blocks =
        entry.on_error == Some(OnError::Block) && E::CLASS >= Class::Filter && row.contract.can_block();
    let class = if blocks { E::CLASS } else { row.contract.class };
    let phase = if entry.preempt_yolo { PREEMPTING } else { row.phase };
    let place = match owner {
        Owner::Agent { depth, .. } => format!("{depth:04}"),
        // The user's hooks come after those of the agents: `~` sorts after digits.
        Owner::Everybody => "~".to_owned(),
    };
    let info = HandlerInfo {
        name: entry.shown_name(),
        source: entry.source.clone(),
        dialect: DIALECT,
        known_as: Some(row.contract.name),
        lane: match entry.kind {
            HookKind::Command(_) => LaneKind::Command,
            HookKind::Builtin(_) | HookKind::Model { .. } => LaneKind::Native,
        },
        class,
        priority: 0,
        timeout: entry.timeout,
        matcher: entry.matcher.clone(),
        shadow: false,
        rewrites: true,
    };
    let tools = tools(entry, &mut remarks);
    let hook = RegisteredHook {
        contract: row.contract,
        class,
        name: info.name.clone(),
        runner: Runner::new(entry, class, host, &mut remarks),
        entry: entry.clone(),
        insists: entry.preempt_yolo || row.insists,
        directory: host.directory.clone(),
        safety_policy: host.safety_policy,
        told: Mutex::default(),
    };
    let handler = HookHandler {
        row: *row,
        tools: tools.clone(),
        hook,
    };
    engine.register(Registration {
        info,
        order: vec![phase.to_string(), place],
        matcher: Matcher::default(),
        condition: Some(wants(*row, tools, (entry, before), owner)),
        action: Action::Other(Arc::new(handler)),
    });
    let mark = |remark| format!("{}: {remark}", entry.source);
    remarks.into_iter().map(mark).collect()
}

/// The tools that a hook is for; `None` for every tool.
fn tools(entry: &HookEntry, remarks: &mut Vec<String>) -> Option<Pattern> {
    match entry.matcher.as_deref() {
        None | Some("" | "*") => None,
        Some(expression) => Pattern::regex(expression)
            // A guard for too many tools is better than none.
            .map_err(|error| remarks.push(format!("its matcher matches every tool: {error}")))
            .ok(),
    }
}

/// The condition under which a hook is asked: its event, its agent and its tools match.
fn wants<E: Event>(
    row: RowOf<E>,
    tools: Option<Pattern>,
    (entry, before): (&HookEntry, &[String]),
    owner: &Owner,
) -> becket_hooks::Condition<E> {
    let (entry, owner) = (entry.clone(), owner.clone());
    let before: Vec<Pattern> = before
        .iter()
        .filter_map(|matcher| Pattern::regex(matcher).ok())
        .collect();
    Arc::new(move |scope, payload| {
        counts(&row, &owner, scope, payload)
            && (row.condition)(&entry, scope, payload)
            && name_wanted(&row, tools.as_ref(), payload).is_some()
            && !before
                .iter()
                .any(|tools| name_wanted(&row, Some(tools), payload).is_some())
    })
}

/// The name of a call that a hook's matcher matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Usual,
    /// The name of [`otherwise`].
    Other,
}

/// The name under which a hook's matcher matches the call; `None` if it does not.
fn name_wanted<E: Event>(row: &RowOf<E>, tools: Option<&Pattern>, payload: &E::Payload) -> Option<Name> {
    let (Some(tools), Some(call)) = (tools, row.call) else {
        return Some(Name::Usual);
    };
    let call = call(payload);
    if tools.matches(call.name()) {
        return Some(Name::Usual);
    }
    tools.matches(otherwise(call).name()).then_some(Name::Other)
}

/// Whether hooks of that owner are asked. Guards are also asked for the agents below their own.
fn counts<E: Event>(row: &RowOf<E>, owner: &Owner, scope: &Scope, payload: &E::Payload) -> bool {
    match owner {
        Owner::Everybody => true,
        Owner::Agent { name, .. } => {
            (row.agent)(scope, payload) == name
                || (row.contract.class == Class::Guard && scope.agents_above.contains(name))
        }
    }
}

/// The way in which a hook is run.
enum Runner {
    Command(CommandLane),
    Builtin {
        builtin: Builtin,
        builtins: Arc<dyn Builtins>,
        /// The directory of the hook, relative to that of the agent.
        directory: Option<PathBuf>,
        env: BTreeMap<OsString, OsString>,
    },
    /// `add_context`, which needs only the input.
    Context(Vec<Template>),
    Model {
        model: String,
        prompt: Template,
        judges: bool,
        judge: Arc<dyn Judge>,
    },
    /// A hook that cannot be run, and so fails whenever it is asked.
    Broken(String),
}

impl Runner {
    fn new(entry: &HookEntry, class: Class, host: &HookHost, remarks: &mut Vec<String>) -> Self {
        let made = match &entry.kind {
            HookKind::Command(command) => {
                let program = program(command, entry, host, remarks);
                let program = match class >= Class::Filter {
                    true => program.for_guard(),
                    false => program,
                };
                Ok(Self::Command(
                    CommandLane::new(program).timeout_setting("timeout"),
                ))
            }
            HookKind::Builtin(Builtin::AddContext(texts)) => {
                let templates: Result<_, String> = texts.iter().map(|text| Template::read(text)).collect();
                templates.map(Self::Context)
            }
            HookKind::Builtin(builtin) => {
                let directory = entry.working_dir.as_deref();
                let env = entry.env.iter();
                Ok(Self::Builtin {
                    builtin: builtin.clone(),
                    builtins: Arc::clone(&host.builtins),
                    directory: directory.map(|text| expanded_directory(text, &host.environment, remarks)),
                    env: env
                        .map(|(name, value)| (name.into(), expanded_value(value, &host.environment, remarks)))
                        .collect(),
                })
            }
            HookKind::Model {
                model,
                prompt,
                judges,
            } => Template::read(prompt).map(|prompt| Self::Model {
                model: model.clone(),
                prompt,
                judges: *judges,
                judge: Arc::clone(&host.judge),
            }),
        };
        made.unwrap_or_else(|fault| {
            remarks.push(fault.clone());
            Self::Broken(fault)
        })
    }
}

/// The program of a command.
fn program(command: &str, entry: &HookEntry, host: &HookHost, remarks: &mut Vec<String>) -> Program {
    program_in(host.shell.as_deref(), command, entry, &host.environment, remarks)
}

/// The program of a command in an environment, whose shell is used.
pub(super) fn program_of(
    command: &str,
    entry: &HookEntry,
    environment: &HookEnvironment,
    remarks: &mut Vec<String>,
) -> Program {
    let shell = environment.variables.get(OsStr::new("SHELL")).map(Path::new);
    program_in(shell, command, entry, environment, remarks)
}

fn program_in(
    persons_shell: Option<&Path>,
    command: &str,
    entry: &HookEntry,
    environment: &HookEnvironment,
    remarks: &mut Vec<String>,
) -> Program {
    let program = match persons_shell.and_then(shell) {
        Some(shell) => Program::line_for(shell, command),
        None => Program::shell(command),
    };
    let mut program = program.environment(Arc::clone(&environment.variables));
    for (name, value) in &entry.env {
        program = program.variable(name, expanded_value(value, environment, remarks));
    }
    let directory = entry.working_dir.as_deref();
    let directory = directory.map(|directory| expanded_directory(directory, environment, remarks));
    program.directory(directory)
}

/// The user's shell, if it understands hooks.
fn shell(shell: &Path) -> Option<&Path> {
    let name = shell.file_name().and_then(|name| name.to_str());
    let is_known = name.is_some_and(|name| SHELLS.contains(&name));
    (is_known && shell.is_absolute()).then_some(shell)
}

/// A hook of one event.
struct HookHandler<E: Event> {
    row: RowOf<E>,
    tools: Option<Pattern>,
    hook: RegisteredHook,
}

impl<E: Event> Handler<E> for HookHandler<E> {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, E>) -> BoxFuture<'a, Result<E::Reply, Failure>> {
        Box::pin(async move {
            let text = self.text(occasion);
            let answered = self.hook.answer(occasion.scope, occasion.setting(), text).await;
            let read = answered.and_then(|(answer, lines)| {
                let reply = (self.row.read)(occasion.payload, &answer)?;
                Ok(reply.then(E::Reply::telling(lines)))
            });
            read.or_else(|failure| self.failed(occasion.payload, failure))
        })
    }

    fn why_not(&self, _: &Scope, payload: &E::Payload) -> Option<String> {
        let matcher = self.hook.entry.matcher.as_deref()?;
        let call = (self.row.call?)(payload);
        let is_other = name_wanted(&self.row, self.tools.as_ref(), payload).is_none();
        is_other.then(|| format!("its matcher `{matcher}` does not match {:?}", call.name()))
    }
}

impl<E: Event> HookHandler<E> {
    /// What the hook reads.
    fn text(&self, occasion: &Occasion<'_, E>) -> Arc<str> {
        let name = name_wanted(&self.row, self.tools.as_ref(), occasion.payload).unwrap_or(Name::Usual);
        let event = self.row.contract.name;
        let format = match name {
            Name::Usual => Cow::Borrowed(event),
            Name::Other => Cow::Owned(format!("{event} otherwise")),
        };
        occasion.text(format, || {
            let input = Input::of(event, occasion.scope)
                .otherwise(name == Name::Other)
                .under(self.hook.safety_policy);
            let input = (self.row.show)(input, occasion.scope, occasion.payload);
            input.into_value().to_string()
        })
    }

    /// The result of a failure. A guard refuses; at other events the hook's `on_error` decides.
    fn failed(&self, payload: &E::Payload, failure: Failure) -> Result<E::Reply, Failure> {
        let guard = self.hook.class == Class::Guard;
        match self.hook.entry.on_error {
            Some(OnError::Ignore) if !guard => Ok(E::Reply::default()),
            Some(OnError::Block) if !guard && self.row.contract.can_block() => {
                let reason = format!("hook {} failed: {failure}", self.hook.name);
                let answer = HookAnswer {
                    refusal: Some(reason.clone()),
                    ..HookAnswer::default()
                };
                let reply = (self.row.read)(payload, &answer)?;
                Ok(reply.then(E::Reply::telling(vec![reason])))
            }
            _ => Err(failure),
        }
    }
}

/// What is the same for hooks of all events, and so compiled once.
struct RegisteredHook {
    contract: Contract,
    class: Class,
    name: String,
    runner: Runner,
    entry: HookEntry,
    /// Whether only the user can answer its question.
    insists: bool,
    directory: PathBuf,
    safety_policy: &'static str,
    /// The topics of remarks that the user has seen already: each is shown once.
    told: Mutex<BTreeSet<String>>,
}

impl RegisteredHook {
    /// The hook's answer, and lines for the user.
    async fn answer(
        &self,
        scope: &Scope,
        setting: &Setting<'_>,
        text: Arc<str>,
    ) -> Result<(HookAnswer, Vec<String>), Failure> {
        let heard = match &self.runner {
            Runner::Command(lane) => self.run(lane, (scope, setting), text).await?,
            _ => {
                setting.part(&text)?;
                let output = self.ask(scope, &text).await?;
                output.check_words()?;
                self.rules().check(Heard {
                    output,
                    ..Heard::default()
                })?
            }
        };
        let lines = self.lines(&heard);
        let answer = HookAnswer {
            hook: self.name.clone(),
            output: heard.output,
            plain: heard.plain.filter(|_| self.contract.plain == Plain::Context),
            refusal: heard.refusal,
            insists: self.insists,
        };
        Ok((answer, lines))
    }

    fn rules(&self) -> Rules {
        Rules {
            contract: self.contract,
            class: self.class,
            strict: self.entry.strict_output,
        }
    }

    async fn run(
        &self,
        lane: &CommandLane,
        (scope, setting): (&Scope, &Setting<'_>),
        text: Arc<str>,
    ) -> Result<Heard, Failure> {
        let invocation = Invocation {
            input: text,
            environment: Vec::new(),
            directory: self.directory_of(scope),
            timeout: self.entry.timeout,
        };
        let finished = setting.run(lane, invocation).await?;
        let heard = self.rules().hear(&finished);
        heard.map_err(|failure| failure.with_stderr(finished.stderr))
    }

    /// The directory in which the agent works.
    fn directory_of(&self, scope: &Scope) -> PathBuf {
        match scope.cwd.as_str() {
            "" => self.directory.clone(),
            cwd => cwd.into(),
        }
    }

    /// Asks a hook that is not a program.
    async fn ask(&self, scope: &Scope, text: &str) -> Result<Output, Failure> {
        let input: Value = serde_json::from_str(text).expect("what was written as JSON can be read as JSON");
        let raised = |error: String| Failure::new(Cause::Raised, error);
        match &self.runner {
            Runner::Command(_) => unreachable!("programs are run"),
            Runner::Broken(fault) => Err(raised(fault.clone())),
            Runner::Context(templates) => {
                let texts = templates.iter().map(|template| template.fill(&input));
                let texts: Vec<String> = texts.filter(|text| !text.trim().is_empty()).collect();
                Ok(context(texts.join("\n")))
            }
            Runner::Builtin {
                builtin,
                builtins,
                directory,
                env,
            } => {
                let own = directory.as_ref().map(|own| Scope {
                    cwd: self.directory_of(scope).join(own).display().to_string(),
                    ..scope.clone()
                });
                let call = BuiltinCall {
                    builtin,
                    event: self.contract.name,
                    scope: own.as_ref().unwrap_or(scope),
                    input: &input,
                    env,
                };
                self.in_time(builtins.call(call)).await?.map_err(raised)
            }
            Runner::Model {
                model,
                prompt,
                judges,
                judge: host,
            } => {
                let system = if *judges { judge::JUDGE } else { judge::COMMENTATOR };
                let prompt = prompt.fill(&input);
                let schema = judges.then(judge::verdict_schema);
                let answer = host.ask(model, system, &prompt, schema, self.entry.timeout);
                let answer = self.in_time(answer).await?.map_err(raised)?;
                match judges {
                    true => judge::verdict(&answer),
                    false => Ok(context(answer)),
                }
            }
        }
    }

    async fn in_time<T>(&self, answer: impl Future<Output = T>) -> Result<T, Failure> {
        let timeout: Duration = self.entry.timeout;
        let answer = tokio::time::timeout(timeout, answer).await;
        answer.map_err(|_| {
            let detail = format!("no answer within {timeout:?}; raise `timeout` if it needs longer");
            Failure::new(Cause::TimedOut, detail)
        })
    }

    /// The lines for the user: the hook's own output, and remarks about it that were not shown yet.
    fn lines(&self, heard: &Heard) -> Vec<String> {
        let mut lines = Vec::new();
        let suppressed = heard.output.suppress_output == Some(true);
        if !suppressed {
            let shown = heard
                .plain
                .clone()
                .filter(|_| self.contract.plain == Plain::Shown);
            lines.extend(shown.into_iter().chain(heard.output.system_message.clone()));
        }
        // A missing program shows only here, because the hook's exit code may still be 0.
        if !suppressed && !heard.stderr.is_empty() && self.once("standard error") {
            let words: String = heard.stderr.chars().take(SHOWN_ERRORS).collect();
            lines.push(format!("hook {} printed to stderr: {words}", self.name));
        }
        for (field, what) in &heard.odd {
            if self.once(field) {
                lines.push(format!("hook {}: {what}", self.name));
            }
        }
        lines
    }

    fn once(&self, what: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(what.to_owned())
    }
}

fn context(text: String) -> Output {
    Output {
        additional_context: Some(text).filter(|text| !text.trim().is_empty()),
        ..Output::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shells_that_read_hooks_are_used() {
        for (given, used) in [
            ("/bin/bash", true),
            ("/usr/bin/zsh", true),
            ("/bin/sh", false),
            ("/usr/bin/fish", false),
            ("/bin/tcsh", false),
            ("bash", false),
            ("", false),
        ] {
            assert_eq!(shell(Path::new(given)).is_some(), used, "{given}");
        }
    }
}
