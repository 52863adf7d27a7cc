//! A hook as a handler: when it is asked, how it is run, and what its answer or its failure means.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use becket_agent::front::FrontUpdate;
use becket_events::{Class, Event, Reply, Scope, SessionRule, Verdict};
use becket_hooks::{
    Action as EngineAction, Cause, CommandLane, Condition as EngineCondition, Engine, Failure, Finished,
    Handler, HandlerInfo, Invocation, Lane, LaneKind, Matcher, Occasion, Registration, Setting,
};
use becket_host::{AskedAbout, KnownCommands, SameCommand, Shown, TerminalSignal};
use becket_system::files::read_regular;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::answer::{HookAnswer, foreign_no};
use crate::condition::{Condition, Roots};
use crate::entry::{Action, Background, HookEntry, Owner, Source};
use crate::env_file::RunFile;
use crate::facts::Facts;
use crate::leaving::{Leaving, Rest};
use crate::long_text::shortened;
use crate::matching::NameMatcher;
use crate::row::RowOf;
use crate::status_line::StatusLine;
use crate::system::{Block, Contract, HookRow, LoadedHook, Registered, Running, System};
use crate::text::is_markdown;
use crate::{model, server_tool, web};

impl<E: Event> RowOf<E> {
    /// The finished row.
    pub fn done(self) -> Box<dyn HookRow> {
        Box::new(self)
    }
}

impl<E: Event> HookRow for RowOf<E> {
    fn contract(&self) -> Contract {
        self.contract
    }

    fn register(
        &self,
        engine: &Engine,
        hook: LoadedHook,
        running: &Arc<Running>,
        commands: &KnownCommands,
    ) -> Registered {
        register(*self, engine, hook, (running, commands))
    }
}

/// Registers a hook for an event, unless one of another system is always asked in its place.
fn register<E: Event>(
    row: RowOf<E>,
    engine: &Engine,
    hook: LoadedHook,
    (running, commands): (&Arc<Running>, &KnownCommands),
) -> Registered {
    let mut remarks = Vec::new();
    let LoadedHook {
        place,
        entry,
        lane,
        known,
    } = hook;
    let same = known.as_ref().map(|known| commands.same::<E>(known));
    let same = same.unwrap_or_default();
    if let Some(always) = same.iter().find(|same| same.asked.is_none()) {
        return Registered {
            same: Some(always.place.clone()),
            ..Registered::default()
        };
    }
    let class = match &entry.background {
        // Nobody waits for it, so it can refuse nothing.
        Some(_) => Class::Observe,
        None if entry.refuses_on_failure && row.contract.block == Block::Refuses => E::CLASS,
        None => row.contract.class,
    };
    let system = running.system;
    let mut info = info(&entry, (row.contract.name, class), system);
    let names = names(&row, &entry, system, &mut remarks);
    let asked = asked_when(row, &entry, (class, names), running);
    let asked = except_where(row, asked, &same, &mut info);
    if let Some(known) = known {
        commands.add::<E>(known, asked_about(row, Arc::clone(&asked)));
    }
    let handler = HookHandler {
        row,
        hook: RegisteredHook {
            contract: row.contract,
            place,
            class,
            name: info.name.clone(),
            entry: Arc::new(entry),
            lane,
            running: Arc::clone(running),
            done: Mutex::default(),
        },
        same,
    };
    engine.register(Registration {
        info,
        order: Vec::new(),
        matcher: Matcher::default(),
        condition: Some(asked),
        action: EngineAction::Other(Arc::new(handler)),
    });
    let place = |remark| format!("{remark} (hook of {})", system.title);
    Registered {
        remarks: remarks.into_iter().map(place).collect(),
        same: None,
    }
}

/// When a hook is asked.
fn asked_when<E: Event>(
    row: RowOf<E>,
    entry: &HookEntry,
    (class, names): (Class, Vec<NameMatcher>),
    running: &Arc<Running>,
) -> EngineCondition<E> {
    let system = running.system;
    let only_waiting = row.only_waiting.filter(|_| !running.awaits_prompts);
    let condition = entry.condition.as_deref().map(Condition::read);
    let (facts, source) = (running.facts.clone(), Arc::clone(&entry.source));
    let (while_used, texts) = (entry.while_used.clone(), Arc::clone(&running.texts));
    let is_active = move |scope: &Scope| {
        let active = while_used
            .as_ref()
            .map(|hook| texts.is_active(hook, class, scope));
        active.unwrap_or(true)
    };
    let reader = matches!(
        entry.action,
        Action::Prompt {
            reads_files: true,
            ..
        }
    );
    let reader = reader.then(|| Arc::clone(&running.reader));
    Arc::new(move |scope, payload| {
        (row.condition)(scope, payload)
            && !only_waiting.is_some_and(|waits| waits(payload))
            && is_active(scope)
            && is_for(&row, (&names, system), scope, payload)
            && holds(&row, (condition.as_ref(), roots(&facts, &source, scope), system), scope, payload)
            // A hook that looks at files would cause itself for ever.
            && !reader.as_ref().is_some_and(|reader| reader.is_look(&scope.session_id))
    })
}

/// The name of what a hook is asked about.
fn asked_about<E: Event>(row: RowOf<E>, asked: EngineCondition<E>) -> AskedAbout<E> {
    Arc::new(move |scope, payload| {
        asked(scope, payload).then(|| row.subject(scope, payload).unwrap_or_default())
    })
}

/// When a hook is asked beside the same hooks of other systems: where none of those is asked about the same name. A
/// hook that knows the tool by another name may look for other arguments.
fn except_where<E: Event>(
    row: RowOf<E>,
    asked: EngineCondition<E>,
    same: &[SameCommand<E>],
    info: &mut HandlerInfo,
) -> EngineCondition<E> {
    if same.is_empty() {
        return asked;
    }
    let places: Vec<&str> = same.iter().map(|same| &*same.place).collect();
    let except = format!("{} is not asked about the same", places.join(" or "));
    info.matcher = Some(match &info.matcher {
        Some(matcher) => format!("{matcher}, and {except}"),
        None => except,
    });
    let others: Vec<AskedAbout<E>> = same.iter().filter_map(|same| same.asked.clone()).collect();
    Arc::new(move |scope, payload| {
        let own = || Some(row.subject(scope, payload).unwrap_or_default());
        asked(scope, payload) && !others.iter().any(|other| other(scope, payload) == own())
    })
}

/// A hook in listings and records.
fn info(entry: &HookEntry, (known_as, class): (&'static str, Class), system: &System) -> HandlerInfo {
    HandlerInfo {
        name: shown_name(entry, system),
        source: entry.place(),
        dialect: system.dialect,
        known_as: Some(known_as),
        lane: match entry.action {
            Action::Command(_) => LaneKind::Command,
            _ => LaneKind::Native,
        },
        class,
        priority: 0,
        timeout: entry.timeout,
        matcher: (!entry.matchers.is_empty()).then(|| entry.matchers.join(" or ")),
        shadow: false,
        rewrites: true,
    }
}

/// The name of a hook in messages: that in its file, whose file it is, and its system.
fn shown_name(entry: &HookEntry, system: &System) -> String {
    let (name, dialect) = (&entry.name, system.dialect.name);
    let name = match &entry.while_used {
        Some(used) => &format!("{name} of {used}"),
        None => name,
    };
    match &entry.source.plugin {
        Some(root) => format!(
            "{name} of the plugin {} ({dialect})",
            plugin_name(root, system.manifest)
        ),
        None => format!("{name} ({dialect})"),
    }
}

/// The name that a plugin's manifest gives, or else that of its folder.
fn plugin_name(root: &Path, manifest: Option<&str>) -> String {
    let text = manifest.and_then(|file| read_regular(&root.join(file), MANIFEST_BYTES).ok());
    let manifest: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
    let name = manifest
        .as_ref()
        .and_then(|manifest| manifest.get("name")?.as_str());
    let folder = || {
        root.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    name.map_or_else(folder, |name| {
        name.chars().filter(|letter| !letter.is_control()).collect()
    })
}

/// The largest manifest that is read for a name.
const MANIFEST_BYTES: u64 = 256 * 1024;

/// What a hook's matchers mean. One that cannot be read counts for everything: a guard for too much is better than
/// none.
fn names<E: Event>(
    row: &RowOf<E>,
    entry: &HookEntry,
    system: &System,
    remarks: &mut Vec<String>,
) -> Vec<NameMatcher> {
    if !row.contract.has_matcher {
        return Vec::new();
    }
    let read = |text: &String| {
        (system.matcher)(text).unwrap_or_else(|why| {
            let place = entry.place();
            remarks.push(format!("{place}: the matcher `{text}` matches everything: {why}"));
            NameMatcher::All
        })
    };
    entry.matchers.iter().map(read).collect()
}

fn is_for<E: Event>(
    row: &RowOf<E>,
    (names, system): (&[NameMatcher], &System),
    scope: &Scope,
    payload: &E::Payload,
) -> bool {
    if names.is_empty() {
        return true;
    }
    let Some(subject) = row.subject(scope, payload) else {
        return true;
    };
    let all = all_names(&subject, system);
    names
        .iter()
        .any(|matcher| all.iter().any(|name| matcher.matches(name)))
}

/// The name of a tool, and its former names.
fn all_names<'a>(name: &'a str, system: &System) -> Vec<&'a str> {
    let former = system.former_names.iter().filter(|(_, today)| *today == name);
    std::iter::once(name)
        .chain(former.map(|(former, _)| *former))
        .collect()
}

/// The folders that patterns of a file's conditions begin in.
fn roots<'a>(facts: &'a Facts, source: &'a Source, scope: &'a Scope) -> Roots<'a> {
    // A leading slash is about the project or the home in whose hidden folder the settings are.
    let is_settings = source.plugin.is_none() && source.owner != Owner::Machine && !is_markdown(&source.file);
    let folder = source.file.parent().and_then(Path::parent);
    Roots {
        directory: Path::new(&scope.cwd),
        home: facts.home.as_deref(),
        settings: folder.filter(|_| is_settings),
    }
}

fn holds<E: Event>(
    row: &RowOf<E>,
    (condition, roots, system): (Option<&Condition>, Roots<'_>, &System),
    scope: &Scope,
    payload: &E::Payload,
) -> bool {
    match (condition, row.call) {
        (None, _) => true,
        (Some(condition), Some(call)) => {
            let name = row.subject(scope, payload).unwrap_or_default();
            condition.holds(&all_names(&name, system), &call(payload), roots)
        }
        // Such a condition is about a call, and there is none.
        (Some(_), None) => false,
    }
}

/// Has the terminal do what a hook wants.
fn signal(running: &Running, hook: &str, signals: Vec<TerminalSignal>) {
    if !signals.is_empty() {
        running.person.ui.show(hook, Shown::Signals(signals));
    }
}

fn locked(done: &Mutex<BTreeSet<String>>) -> MutexGuard<'_, BTreeSet<String>> {
    done.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A hook of one event.
struct HookHandler<E: Event> {
    row: RowOf<E>,
    hook: RegisteredHook,
    /// The same hooks of other systems, in whose place this one is asked.
    same: Vec<SameCommand<E>>,
}

impl<E: Event> Handler<E> for HookHandler<E> {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, E>) -> BoxFuture<'a, Result<E::Reply, Failure>> {
        Box::pin(async move {
            let (scope, payload) = (occasion.scope, occasion.payload);
            let (running, event) = (&self.hook.running, self.row.contract.name);
            let text = occasion.text(format!("{} {event}", running.system.dialect.name), || {
                let input = (running.system.input)(event, scope, &running.facts);
                (self.row.show)(input, scope, payload).text()
            });
            let hidden = (self.row.hidden)(payload);
            match self.hook.ask(scope, occasion.setting(), (text, hidden)).await? {
                Heard::Answer(answer) => self.reply(payload, *answer),
                Heard::EndOfRun(reason) => Ok(E::Reply::halting(reason)),
            }
        })
    }

    fn why_not(&self, scope: &Scope, payload: &E::Payload) -> Option<String> {
        let (row, system) = (&self.row, self.hook.running.system);
        let names = names(row, &self.hook.entry, system, &mut Vec::new());
        if !is_for(row, (&names, system), scope, payload) {
            let matcher = self.hook.entry.matchers.join(" or ");
            let subject = row.subject(scope, payload)?;
            return Some(format!("its matcher `{matcher}` does not match {subject:?}"));
        }
        let own = || Some(row.subject(scope, payload).unwrap_or_default());
        let is_asked = |same: &&SameCommand<E>| {
            let asked = same.asked.as_ref();
            asked.is_none_or(|asked| asked(scope, payload) == own())
        };
        if let Some(same) = self.same.iter().find(is_asked) {
            return Some(format!("the same hook is asked as {}", same.place));
        }
        let written = self.hook.entry.condition.as_deref()?;
        let condition = Condition::read(written);
        let roots = roots(&self.hook.running.facts, &self.hook.entry.source, scope);
        if holds(row, (Some(&condition), roots, system), scope, payload) {
            return None;
        }
        let name = row.subject(scope, payload)?;
        let reason = condition.unmet_text(&all_names(&name, system), &row.call?(payload), roots);
        Some(format!("its condition `{written}` does not match {reason}"))
    }

    fn is_done(&self, scope: &Scope) -> bool {
        self.hook.entry.once && locked(&self.hook.done).contains(&scope.session_id)
    }
}

impl<E: Event> HookHandler<E> {
    fn reply(&self, payload: &E::Payload, answer: HookAnswer) -> Result<E::Reply, Failure> {
        let reply = (self.row.read)(payload, &answer)?;
        let reply = reply.then(E::Reply::telling(self.hook.lines(&answer)));
        Ok(match answer.halt {
            Some(reason) => reply.then(E::Reply::halting(reason)),
            None => reply,
        })
    }
}

/// A hook as it is run, whatever its event is.
struct RegisteredHook {
    contract: Contract,
    /// The hook's place among all hooks of its system.
    place: usize,
    class: Class,
    name: String,
    entry: Arc<HookEntry>,
    lane: Option<Arc<CommandLane>>,
    running: Arc<Running>,
    /// The sessions in which a hook that runs once has run.
    done: Mutex<BTreeSet<String>>,
}

/// What comes of asking a hook.
enum Heard {
    Answer(Box<HookAnswer>),
    /// It failed, and the run ends for this reason.
    EndOfRun(String),
}

impl RegisteredHook {
    /// Asks the hook with the text of an event, or fails because the payload hides what the hook must see.
    async fn ask(
        &self,
        scope: &Scope,
        setting: &Setting<'_>,
        input: (Arc<str>, Option<String>),
    ) -> Result<Heard, Failure> {
        let answer = match self.answer(scope, setting, input).await {
            Err(failure) if self.failure_ends_run() => {
                let words = format!("hook {} failed: {}", self.name, failure.detail);
                return Ok(Heard::EndOfRun(words));
            }
            // The model is told what it would be told of a block.
            Err(failure) if self.entry.refuses_on_failure && self.contract.block == Block::Feedback => {
                let words = format!("hook {} failed: {}", self.name, failure.detail);
                HookAnswer {
                    notice: vec![words.clone()],
                    ..HookAnswer::blocking(words)
                }
            }
            answer => answer?,
        };
        self.take(answer, &scope.session_id)
            .map(|answer| Heard::Answer(Box::new(answer)))
    }

    /// Takes what an answer says about the session, and completes the rest of it.
    fn take(&self, answer: HookAnswer, session: &str) -> Result<HookAnswer, Failure> {
        let answer = shortened(answer, &self.entry, (&self.running.facts, session));
        // One that refuses or fails is asked again: the same call may come once more.
        if self.entry.once && answer.refusal().0.is_none() && answer.error.is_none() {
            locked(&self.done).insert(session.to_owned());
        }
        if !answer.env.is_empty() {
            self.running.set(&self.entry, session, answer.env.clone());
        }
        if self.contract.context_later {
            self.running.late.add(session, answer.context.clone());
        }
        signal(&self.running, &self.name, answer.signals.clone());
        Ok(HookAnswer {
            loop_limit: self.entry.loop_limit,
            rules: self.session_rules(&answer)?,
            ..answer
        })
    }

    /// Whether a failure ends the run: no verdict can refuse at such an event.
    fn failure_ends_run(&self) -> bool {
        self.entry.refuses_on_failure && self.contract.block == Block::EndsRun
    }

    async fn answer(
        &self,
        scope: &Scope,
        setting: &Setting<'_>,
        (text, hidden): (Arc<str>, Option<String>),
    ) -> Result<HookAnswer, Failure> {
        let running = &self.running;
        if let Some(why) = hidden {
            return Err(Failure::new(Cause::Raised, why));
        }
        running.transcripts.complete(scope).await;
        match (&self.entry.action, &self.lane) {
            (Action::Command(_), Some(lane)) => {
                let _shown = self.entry.background.is_none().then(|| self.status());
                let invocation = self.invocation(scope, text);
                match self.entry.background {
                    Some(background) => {
                        let lane = Arc::clone(lane);
                        let rest = Box::pin(async move { lane.run(invocation).await });
                        self.hear_later(rest, background, &scope.session_id);
                        Ok(HookAnswer::default())
                    }
                    None => self.run((scope, setting), lane, invocation).await,
                }
            }
            (Action::Prompt { .. }, _) => {
                let _shown = self.status();
                setting.part(&text)?;
                model::ask_hook(&self.entry, running, scope, &text).await
            }
            (Action::Http { .. }, _) => {
                let _shown = self.status();
                setting.part(&text)?;
                let finished = web::post_hook(&self.entry, running, &text).await?;
                self.hear(finished)
            }
            (Action::ServerTool { .. }, _) => {
                let _shown = self.status();
                setting.part(&text)?;
                let finished = server_tool::call_hook(&self.entry, running, &text).await?;
                self.hear(finished)
            }
            (Action::Line(line), _) => {
                setting.part(&text)?;
                let typed = running.type_line(line);
                typed.map_err(|why| Failure::new(Cause::Raised, why))?;
                Ok(HookAnswer::default())
            }
            (Action::Unable(why), _) => Err(Failure::new(Cause::SpawnFailed, why.clone())),
            (Action::Command(_), None) => Err(Failure::new(Cause::SpawnFailed, "it has no program")),
        }
    }

    /// Shows what the hook's file wants the user to see while the hook runs.
    fn status(&self) -> Option<StatusLine> {
        let text = self.entry.status.as_ref()?;
        let is_seen = self.running.facts.is_attended;
        is_seen.then(|| StatusLine::new(&self.running.person.ui, &self.name, text))
    }

    /// The rules that an answer gives for the rest of the session, in becket's words.
    fn session_rules(&self, answer: &HookAnswer) -> Result<Vec<SessionRule>, Failure> {
        let Some(permissions) = &answer.permissions else {
            return Ok(Vec::new());
        };
        let read = (self.running.system.rules)(permissions, &self.entry.source, &self.running.facts);
        read.map(|lists| lists.for_session())
            .map_err(|why| Failure::new(Cause::Raised, why))
    }

    /// Runs a program and hears what it says. If its system gives it a file for variables, they are heard too.
    async fn run(
        &self,
        (scope, setting): (&Scope, &Setting<'_>),
        lane: &Arc<CommandLane>,
        mut invocation: Invocation,
    ) -> Result<HookAnswer, Failure> {
        let running = &self.running;
        let (event, session) = (self.contract.name, &scope.session_id);
        let wanted = running
            .system
            .env_file
            .filter(|file| file.events.contains(&event));
        let file = wanted.map(|_| RunFile::new(&running.facts, session)).transpose();
        let file = file.map_err(|error| {
            Failure::new(
                Cause::SpawnFailed,
                format!("no file for variables can be made: {error}"),
            )
        })?;
        if let (Some(wanted), Some(file)) = (wanted, &file) {
            let path = file.path().display().to_string();
            invocation.environment.push((wanted.variable.to_owned(), path));
        }
        let directory = invocation.directory.clone();
        let take_rest = |rest| self.hear_later(rest, Background::Quiet, session);
        let may_leave = !(running.strict && self.class == Class::Guard);
        let finished = match running.system.leaves.filter(|_| may_leave) {
            Some(leaves) => {
                let leaving = Leaving {
                    lane,
                    leaves,
                    take_rest: &take_rest,
                };
                setting.run(&leaving, invocation).await
            }
            None => setting.run(&**lane, invocation).await,
        };
        let answer = self.hear(finished?)?;
        if let Some(file) = file {
            running.env_files.add(session, self.place, file, directory);
        }
        Ok(answer)
    }

    fn invocation(&self, scope: &Scope, input: Arc<str>) -> Invocation {
        let facts = &self.running.facts;
        let session = scope.parent_session_id.as_ref().unwrap_or(&scope.session_id);
        let set = self.running.set_before(&self.entry, session);
        let own = (self.running.system.run_variables)(&self.entry, scope, facts);
        Invocation {
            input,
            environment: set.into_iter().chain(own).collect(),
            directory: match ((self.running.system.directory)(&self.entry, facts), &*scope.cwd) {
                (Some(directory), _) => directory,
                (None, cwd) => match &facts.hooks_directory {
                    Some(directory) => directory.clone(),
                    None if cwd.is_empty() => facts.project_root.clone(),
                    None => cwd.into(),
                },
            },
            timeout: self.entry.timeout,
        }
    }

    /// What a program has said.
    fn hear(&self, finished: Finished) -> Result<HookAnswer, Failure> {
        let answer = (self.running.system.hear)(&self.contract, &finished);
        let answer = answer.map_err(|failure| failure.with_stderr(finished.stderr.clone()))?;
        let refuses = self.running.strict || self.entry.refuses_on_failure;
        match &answer.error {
            Some(what) if refuses && answer.refusal().0.is_none() => {
                Err(Failure::new(Cause::ExitStatus, what.clone()).with_stderr(finished.stderr))
            }
            _ if self.class == Class::Guard && !answer.says_something() => match foreign_no(&finished.stdout)
            {
                Some(key) => Err(Failure::new(
                    Cause::WrongShape,
                    format!(
                        "its `{key}` says no, and {} does not know it there",
                        self.running.system.title
                    ),
                )),
                None => self.unless_silent(answer),
            },
            _ => self.unless_silent(answer),
        }
    }

    /// An answer, unless it says nothing where that refuses.
    fn unless_silent(&self, answer: HookAnswer) -> Result<HookAnswer, Failure> {
        if answer.is_silent && self.entry.refuses_on_failure {
            return Err(Failure::new(
                Cause::UnreadableOutput,
                "it said nothing, and its file says that a hook without an answer refuses",
            ));
        }
        Ok(answer)
    }

    /// Reads the output of a background program. It reaches the model with the next turn.
    fn hear_later(&self, rest: Rest, background: Background, session_id: &str) {
        let (running, contract) = (Arc::clone(&self.running), self.contract);
        let (session_id, name) = (session_id.to_owned(), self.name.clone());
        let entry = Arc::clone(&self.entry);
        let work = async move {
            let finished = rest.await;
            let wakes =
                background == Background::Wakes && finished.as_ref().is_ok_and(|finished| finished.code == 2);
            let heard = finished.and_then(|finished| (running.system.hear)(&contract, &finished));
            let front = &running.person.front;
            let answer = match heard {
                Ok(answer) => answer,
                Err(failure) => HookAnswer::error(failure.detail),
            };
            let answer = shortened(answer, &entry, (&running.facts, &session_id));
            answer
                .lines()
                .iter()
                .for_each(|line| front.show(FrontUpdate::Notice(line)));
            signal(&running, &name, answer.signals.clone());
            if let Some(what) = &answer.error {
                let words = format!("hook {name}, in the background: {what}");
                front.show(FrontUpdate::Warning(&words));
            }
            if let (Some(Verdict::Deny(reason)), false) = (answer.refusal().0, wakes) {
                let words =
                    format!("hook {name} refused in the background, too late to stop anything: {reason}");
                front.show(FrontUpdate::Warning(&words));
            }
            let order = answer.block.filter(|_| wakes);
            running
                .late
                .add(&session_id, order.into_iter().chain(answer.context).collect());
            if wakes {
                running.wake(&session_id);
            }
        };
        self.running.late.start(work);
    }

    /// What the user is told about an answer.
    fn lines(&self, answer: &HookAnswer) -> Vec<String> {
        let mut lines = answer.lines();
        let title = self.running.system.title;
        if let Some(what) = &answer.error {
            let goes_on = match self.class {
                Class::Guard => format!("; the action continues, as in {title}"),
                _ => String::new(),
            };
            lines.push(format!("hook {}: {what}{goes_on}", self.name));
        }
        if let (Some(reason), Block::Told) = (&answer.block, self.contract.block) {
            lines.push(format!("hook {}: {reason}", self.name));
        }
        lines
    }
}
