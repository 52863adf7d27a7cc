//! `becket hooks test`: hook tests as data, through the real dispatcher and in real sessions.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use becket_dialects::lets_through;
use becket_events::{Class, EventId, Scope, Verdict};
use becket_face_kit::{cancellable, progress};
use becket_front::Progress;
use becket_hooks::{Effect, Fault, HandlerInfo, HandlerRun, Rehearsal};
use becket_host::AGENT_FILE;
use becket_run::project_trust::may_run;
use becket_system::files::read_regular;
use becket_system::{CliError, Exit, Surroundings, counted, harmless, in_ms};
use becket_workbench::{
    Case, Fired, Lab, PayloadOverrides, Play, Suite, TestRoom, dialect_named, event_called, not_asked,
    rewritten, unmet_files,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::args::TestArgs;
use crate::lab::lab;
use crate::options::Options;
use crate::printing::print;

/// The end of the names of test files.
const ENDING: &str = ".hooktest.toml";

/// The largest test file, in bytes.
const LARGEST: u64 = 4 * 1024 * 1024;

/// How deep folders are searched for test files.
const DEPTH: usize = 8;

/// How long one session may take.
const SESSION_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a session may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// Runs the tests and shows what is not as expected.
pub fn run(options: &Options, wanted: &TestArgs, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let files = files(options, wanted, surroundings)?;
    let started = Instant::now();
    cancellable(options, surroundings, async |cancel| {
        let mut results = Vec::new();
        let counter = Counter::new(&files, options, surroundings);
        for file in &files {
            let bench = Bench {
                options,
                wanted,
                own: surroundings,
                file,
                counter: &counter,
            };
            results.extend(bench.run(&cancel).await?);
        }
        drop(counter);
        tell(options, &results, started.elapsed())
    })
}

/// The test files that are named, and those in named folders. Tests run the hooks and commands that are in them, so
/// files that are merely found need a yes.
fn files(
    options: &Options,
    wanted: &TestArgs,
    surroundings: &Surroundings,
) -> Result<Vec<PathBuf>, CliError> {
    let named = wanted.files.iter().flat_map(|file| {
        let whole = surroundings.cwd.join(file);
        match whole.is_dir() {
            true => found(&whole, DEPTH),
            false => vec![file.clone()],
        }
    });
    let files = match wanted.files.is_empty() {
        true => found(&surroundings.cwd, DEPTH),
        false => named.collect(),
    };
    if files.is_empty() {
        return Err(
            CliError::usage(format!("there are no tests here: no file ends in {ENDING}"))
                .hint("name one: becket hooks test FILE"),
        );
    }
    match !wanted.files.is_empty() || may_run(&files, &options.run, surroundings)? {
        true => Ok(files),
        false => Err(CliError {
            exit: Exit::UntrustedGuard,
            message: format!(
                "tests run the hooks and calls in them, and you have not named these: {}",
                listed(&files)
            ),
            hint: Some(
                "`becket hooks test .` runs all tests of this folder, --trust whatever is found".into(),
            ),
        }),
    }
}

fn listed(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    names.join(", ")
}

/// The test files in a folder and below it.
fn found(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 0 && !name.starts_with('.') && name != "node_modules" && name != "target" {
            files.extend(found(&entry.path(), depth - 1));
        } else if !is_folder && name.ends_with(ENDING) {
            files.push(entry.path());
        }
    }
    files
}

/// The result of one test.
struct TestResult {
    file: PathBuf,
    name: String,
    /// What is not as expected.
    unmet: Vec<String>,
    /// The results of broken guards.
    faults: Vec<FaultResult>,
    duration: Duration,
}

/// The result of a guard that was broken in one way.
struct FaultResult {
    guard: String,
    dialect: String,
    fault: Fault,
    /// Whether the action was refused.
    refused: bool,
    /// Whether the guard's file lets it fail open.
    is_loosened: bool,
    /// Why the action would have happened in the guard's own agent.
    elsewhere: Option<&'static str>,
}

impl FaultResult {
    /// Whether the action happens although nothing allowed it, and the guard's own agent would have refused it. What
    /// the guard's format takes for silence is silence here, too.
    fn is_bad(&self) -> bool {
        !self.refused && !self.is_loosened && self.elsewhere.is_none()
    }
}

/// One test file, with everything that its tests need.
struct Bench<'a> {
    options: &'a Options,
    wanted: &'a TestArgs,
    own: &'a Surroundings,
    file: &'a Path,
    counter: &'a Counter,
}

/// Counts the tests that are over, for whoever waits at a terminal.
struct Counter {
    done: Cell<u64>,
    total: u64,
    progress: RefCell<Progress>,
}

impl Counter {
    /// Counts the tests of all files; one that cannot be read is told when its turn comes.
    fn new(files: &[PathBuf], options: &Options, surroundings: &Surroundings) -> Self {
        let tests_in = |file: &PathBuf| {
            let text = read_regular(&surroundings.cwd.join(file), LARGEST).ok()?;
            let suite = Suite::read(&text, file).ok()?;
            Some(suite.test.len() + suite.session.len())
        };
        Self {
            done: Cell::new(0),
            total: files.iter().filter_map(tests_in).sum::<usize>() as u64,
            progress: RefCell::new(progress("tests", options, surroundings)),
        }
    }

    fn begins(&self) {
        self.progress.borrow_mut().step(self.done.get(), self.total);
        self.done.set(self.done.get() + 1);
    }
}

impl Bench<'_> {
    async fn run(&self, cancel: &CancellationToken) -> Result<Vec<TestResult>, CliError> {
        let whole = self.own.cwd.join(self.file);
        let text = read_regular(&whole, LARGEST)
            .map_err(|error| CliError::usage(format!("cannot read {}: {error}", self.file.display())))?;
        let suite = Suite::read(&text, self.file)?;
        self.check_names(&suite)?;
        let folder = whole.parent().unwrap_or(Path::new("/"));
        let room = TestRoom::new(&std::env::temp_dir())?;
        let surroundings = match suite.names_hooks() {
            true => room.surroundings(self.own)?,
            false => self.own.clone(),
        };
        let options = self.options_for(&suite, folder)?;
        let mut results = self
            .fire_all(&suite, &room, &options, &surroundings, cancel)
            .await?;
        for (number, play) in suite.session.iter().enumerate() {
            self.counter.begins();
            let started = Instant::now();
            let played = self.play(play, &suite, number, &room, &surroundings, cancel);
            let unmet = match played {
                Err(error) if error.exit == Exit::Usage => vec![in_one_line(&error)],
                played => played?,
            };
            results.push(self.result(&play.name, unmet, started));
        }
        Ok(results)
    }

    /// Checks that each test has its own name, which snapshots refer to.
    fn check_names(&self, suite: &Suite) -> Result<(), CliError> {
        let wrong = |what: String| Err(CliError::usage(format!("{}: {what}", self.file.display())));
        let mut names = BTreeSet::new();
        let cases = suite.test.iter().map(|case| &case.name);
        let mut all = cases
            .chain(suite.session.iter().map(|play| &play.name))
            .peekable();
        if all.peek().is_none() {
            return wrong("there is no [[test]] and no [[session]] in it".into());
        }
        match all.find(|name| !names.insert(*name)) {
            Some(twice) => wrong(format!("two tests are called `{twice}`")),
            None => Ok(()),
        }
    }

    fn result(&self, name: &str, unmet: Vec<String>, started: Instant) -> TestResult {
        TestResult {
            file: self.file.to_path_buf(),
            name: name.to_owned(),
            unmet,
            faults: Vec::new(),
            duration: started.elapsed(),
        }
    }

    /// The options of the command line, with the files that the suite names.
    fn options_for(&self, suite: &Suite, folder: &Path) -> Result<Options, CliError> {
        let mut options = self.options.clone();
        if suite.names_hooks() {
            options.run.home = None;
        }
        // The hooks of an agent file that the command line names belong to no suite.
        options.run.guests.remove(AGENT_FILE);
        for (option, files) in suite.named() {
            files
                .iter()
                .for_each(|file| options.run.guests.add(&option, folder.join(file)));
        }
        Ok(options)
    }

    /// Fires the events of the file, all with the same hooks.
    async fn fire_all(
        &self,
        suite: &Suite,
        room: &TestRoom,
        options: &Options,
        surroundings: &Surroundings,
        cancel: &CancellationToken,
    ) -> Result<Vec<TestResult>, CliError> {
        if suite.test.is_empty() {
            return Ok(Vec::new());
        }
        let lab = lab(options, surroundings, None, cancel).await?.begin().await;
        let results = self.fire_each(&suite.test, room, &lab).await;
        lab.close(surroundings).await?;
        results
    }

    async fn fire_each(
        &self,
        cases: &[Case],
        room: &TestRoom,
        lab: &Lab,
    ) -> Result<Vec<TestResult>, CliError> {
        let mut results = Vec::new();
        let mut snapshots = Snapshots::beside(&self.own.cwd.join(self.file))?;
        for (number, case) in cases.iter().enumerate() {
            self.counter.begins();
            let started = Instant::now();
            let folder = room.folder(&format!("test-{number}"), &case.files);
            let tried = async { self.try_out(case, &folder?, lab, &mut snapshots).await };
            let (unmet, faults) = match tried.await {
                // A mistake in one test is no reason to leave out the others.
                Err(error) if error.exit == Exit::Usage => (vec![in_one_line(&error)], Vec::new()),
                tried => tried?,
            };
            results.push(TestResult {
                faults,
                ..self.result(&case.name, unmet, started)
            });
        }
        if self.wanted.update {
            snapshots.write(cases)?;
        }
        Ok(results)
    }

    /// Fires the event of one test, compares the result, and breaks the guards if that is asked for.
    async fn try_out(
        &self,
        case: &Case,
        folder: &Path,
        lab: &Lab,
        snapshots: &mut Snapshots,
    ) -> Result<(Vec<String>, Vec<FaultResult>), CliError> {
        let scope = Scope {
            cwd: folder.display().to_string(),
            // A test means the same wherever the project lies.
            context_name: "default".into(),
            ..lab.scope()
        };
        let trial = Trial::of(lab, case, &scope)?;
        let fired = trial.fire(None, None).await?;
        let mut unmet = case.expect.unmet(&fired);
        unmet.extend(unmet_files(folder, &case.expect.files));
        if !unmet.is_empty() {
            unmet.extend(not_asked(&fired));
        }
        if case.expect.snapshot {
            unmet.extend(snapshots.compare(&case.name, &fired, folder, self.wanted.update));
        }
        let faults = match self.wanted.faults {
            true => trial.break_guards(&fired).await?,
            false => Vec::new(),
        };
        Ok((unmet, faults))
    }

    /// Plays a session with the program itself.
    fn play(
        &self,
        play: &Play,
        suite: &Suite,
        number: usize,
        room: &TestRoom,
        surroundings: &Surroundings,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, CliError> {
        let folder = room.folder(&format!("session-{number}"), &play.files)?;
        let script = BTreeMap::from([(
            PathBuf::from(format!("script-{number}.json")),
            Value::from(play.model.clone()).to_string(),
        )]);
        let script = room
            .folder("scripts", &script)?
            .join(format!("script-{number}.json"));
        let program = std::env::current_exe()
            .map_err(|error| CliError::failed(format!("cannot find becket itself: {error}")))?;
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(&surroundings.variables)
            .current_dir(&folder)
            .args(self.words(suite)?)
            .arg("--model")
            .arg(format!("scripted/{}", script.display()));
        if play.yes {
            command.arg("--yes");
        }
        match &suite.agent {
            Some(agent) => command.arg("run").arg(self.seen(agent)).arg(&play.prompt),
            None => command.args(["ask", "--", &play.prompt]),
        };
        let (code, stdout, stderr) = finish(command, cancel)?;
        let mut unmet = play.expect.unmet(code, &stdout, &stderr);
        unmet.extend(unmet_files(&folder, &play.expect.files));
        Ok(unmet)
    }

    fn seen(&self, file: &Path) -> PathBuf {
        let whole = self.own.cwd.join(self.file);
        whole.parent().unwrap_or(Path::new("/")).join(file)
    }

    /// The options of the command line that load the hooks of a suite.
    fn words(&self, suite: &Suite) -> Result<Vec<std::ffi::OsString>, CliError> {
        let mut words = Vec::new();
        let mut add = |flag: &str, file: &Path| words.extend([flag.into(), self.seen(file).into()]);
        suite.hooks.iter().for_each(|file| add("--hooks", file));
        suite.extensions.iter().for_each(|file| add("-e", file));
        suite.chibi_home.iter().for_each(|file| add("--chibi-home", file));
        if let ([first, ..], false) = (suite.docker_agent.as_slice(), suite.session.is_empty()) {
            return Err(CliError::usage(format!(
                "{}: sessions cannot be played with {}: name an agent file by `agent`",
                self.file.display(),
                first.display()
            )));
        }
        Ok(words)
    }
}

/// Runs a program to its end, or ends it when it takes too long.
fn finish(mut command: Command, cancel: &CancellationToken) -> Result<(i32, String, String), CliError> {
    let failed = |error: std::io::Error| CliError::failed(format!("cannot play a session: {error}"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let read = |stream: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stream) = stream {
                let _ = stream.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = read(child.stdout.take().map(|stream| Box::new(stream) as _));
    let stderr = read(child.stderr.take().map(|stream| Box::new(stream) as _));
    let deadline = Instant::now() + SESSION_TIMEOUT;
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if cancel.is_cancelled() => {
                end(&mut child);
                return Err(CliError::cancelled());
            }
            None if Instant::now() > deadline => {
                end(&mut child);
                break child.wait().map_err(failed)?;
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let text = |thread: std::thread::JoinHandle<String>| thread.join().unwrap_or_default();
    Ok((status.code().unwrap_or(-1), text(stdout), text(stderr)))
}

/// Ends a session. It has some time to end its own programs first.
fn end(child: &mut Child) {
    let id = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(id) = id {
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
    }
    let deadline = Instant::now() + GRACE;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn in_one_line(error: &CliError) -> String {
    match &error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    }
}

/// A test case that is ready to be fired.
struct Trial<'a> {
    lab: &'a Lab,
    event: EventId,
    dialect: Option<&'static str>,
    overrides: PayloadOverrides,
    scope: &'a Scope,
}

impl<'a> Trial<'a> {
    fn of(lab: &'a Lab, case: &Case, scope: &'a Scope) -> Result<Self, CliError> {
        let dialect = case.dialect.as_deref().map(dialect_named).transpose()?;
        Ok(Self {
            lab,
            event: event_called(&case.event, dialect)?,
            dialect,
            overrides: PayloadOverrides {
                fields: case.payload.clone(),
                set: Vec::new(),
            },
            scope,
        })
    }

    async fn fire(&self, only: Option<(&str, &str)>, fault: Option<Fault>) -> Result<Fired, CliError> {
        let among = |info: &HandlerInfo| {
            let of_dialect = self.dialect.is_none_or(|dialect| info.dialect.name == dialect);
            of_dialect && only.is_none_or(|only| only == (info.name.as_str(), info.source.as_str()))
        };
        let rehearsal = Rehearsal {
            among: Some(&among),
            fault,
        };
        self.lab
            .rehearse(self.event, &self.overrides, self.scope, rehearsal)
            .await
    }

    /// Breaks every guard that was asked, with every fault that applies to it.
    async fn break_guards(&self, fired: &Fired) -> Result<Vec<FaultResult>, CliError> {
        let mut results = Vec::new();
        let infos = self.lab.engine().handlers_of(self.event);
        let asked = fired.rehearsed.trace.iter().flat_map(|trace| &trace.runs);
        let judges = |run: &&HandlerRun| run.class == Class::Guard || run.is_loosened(self.event);
        for run in asked.filter(judges).filter(|run| run.effect != Effect::NotAsked) {
            let is_it = |info: &&std::sync::Arc<HandlerInfo>| {
                (&info.name, &info.source) == (&run.handler, &run.source)
            };
            let Some(info) = infos.iter().find(is_it) else {
                continue;
            };
            for fault in Fault::all().filter(|fault| fault.concerns(info)) {
                let only = (run.handler.as_str(), run.source.as_str());
                let broken = self.fire(Some(only), Some(fault)).await?;
                results.push(FaultResult {
                    guard: run.handler.clone(),
                    dialect: run.dialect.name.to_owned(),
                    fault,
                    refused: matches!(broken.rehearsed.verdict, Some(Verdict::Deny(_))),
                    is_loosened: run.is_loosened(self.event),
                    elsewhere: lets_through(run.dialect, fault),
                });
            }
        }
        Ok(results)
    }
}

/// The stored results of tests.
struct Snapshots {
    file: PathBuf,
    kept: BTreeMap<String, Value>,
}

impl Snapshots {
    fn beside(tests: &Path) -> Result<Self, CliError> {
        let file = tests.with_extension("snapshots.json");
        let kept = match std::fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| {
                CliError::usage(format!("cannot read {}: {error}", file.display()))
                    .hint("remove it, and `--update` writes a new one")
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => {
                return Err(CliError::usage(format!(
                    "cannot read {}: {error}",
                    file.display()
                )));
            }
        };
        Ok(Self { file, kept })
    }

    /// Compares a result with the stored one. The folder's name is replaced, since it differs every time.
    fn compare(&mut self, name: &str, fired: &Fired, folder: &Path, update: bool) -> Option<String> {
        let is = json!({
            "verdict": fired.rehearsed.verdict,
            "decided_by": fired.rehearsed.deciders,
            "reply": fired.rehearsed.reply,
            "rewritten": rewritten(&fired.rehearsed.before, &fired.rehearsed.after),
        });
        let text = is.to_string().replace(&folder.display().to_string(), "FOLDER");
        let is: Value = serde_json::from_str(&text).unwrap_or(is);
        if update {
            self.kept.insert(name.to_owned(), is);
            return None;
        }
        match self.kept.get(name) {
            None => Some("there is no snapshot of it yet; `--update` writes one".into()),
            Some(kept) if *kept == is => None,
            Some(kept) => Some(format!("the snapshot is {kept}, but now it is {is}")),
        }
    }

    /// Writes the results of the tests that still exist.
    fn write(mut self, cases: &[Case]) -> Result<(), CliError> {
        let is_kept = |name: &String| {
            let mut cases = cases.iter();
            cases.any(|case| case.expect.snapshot && case.name == *name)
        };
        self.kept.retain(|name, _| is_kept(name));
        if self.kept.is_empty() && !self.file.exists() {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&self.kept).unwrap_or_default();
        std::fs::write(&self.file, text + "\n")
            .map_err(|error| CliError::failed(format!("cannot write {}: {error}", self.file.display())))
    }
}

fn tell(options: &Options, results: &[TestResult], duration: Duration) -> Result<Exit, CliError> {
    let mut failed = 0;
    for result in results {
        let let_through = result.faults.iter().any(FaultResult::is_bad);
        failed += usize::from(!result.unmet.is_empty() || let_through);
        match options.run.json {
            true => print(&format!("{}\n", result.json()))?,
            false => print(&harmless(&result.text()))?,
        }
    }
    if !options.run.json {
        let took = in_ms(duration.as_micros() as u64);
        let how = match failed {
            0 => "passed".to_owned(),
            failed => format!("run, {failed} failed"),
        };
        print(&format!(
            "{} {how} in {took}\n",
            counted(results.len() as u64, "test")
        ))?;
    }
    Ok(if failed > 0 { Exit::Failed } else { Exit::Answered })
}

impl TestResult {
    fn json(&self) -> Value {
        let faults = self.faults.iter().map(|broken| {
            json!({
                "guard": broken.guard,
                "dialect": broken.dialect,
                "fault": broken.fault,
                "refused": broken.refused,
                "fails_open": broken.is_loosened,
                "let_through_elsewhere": broken.elsewhere,
            })
        });
        json!({
            "file": self.file,
            "name": self.name,
            "passed": self.unmet.is_empty() && !self.faults.iter().any(FaultResult::is_bad),
            "unmet": self.unmet,
            "faults": faults.collect::<Vec<_>>(),
            "duration_us": self.duration.as_micros() as u64,
        })
    }

    fn text(&self) -> String {
        let mark = if self.unmet.is_empty() { "ok  " } else { "FAIL" };
        let mut text = format!("{mark}  {}  ({})\n", self.name, self.file.display());
        for unmet in &self.unmet {
            text.push_str(&format!("      {unmet}\n"));
        }
        for broken in &self.faults {
            let here = if broken.refused { "refused" } else { "let through" };
            let elsewhere = match (broken.dialect.as_str(), broken.elsewhere) {
                _ if broken.is_loosened && !broken.refused => "; its `on_failure` is allow".to_owned(),
                ("becket", _) => String::new(),
                (dialect, Some(why)) => format!("; {dialect} itself would have let it through: {why}"),
                (dialect, None) => format!("; {dialect} itself would not have let it through"),
            };
            text.push_str(&format!(
                "      {} when {}: {here}{elsewhere}\n",
                broken.guard,
                broken.fault.describe()
            ));
        }
        text
    }
}
