//! Programs that misbehave in every way we know, run as real processes: the lane reports what happened, in time, and
//! leaves nothing behind.

mod misbehaviours;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use becket_events::{Class, PreTool, PreToolPayload, Reply, Scope, Verdict};
use becket_hooks::{
    Action, Cause, CommandLane, Engine, Failure, Finished, HandlerInfo, Invocation, Lane, LaneKind, Limits,
    Matcher, Program, Registration, RowHandler, Terminal, TerminalInput, WorkerLane, become_subreaper,
    own_row, reap_orphans,
};
use misbehaviours::{Expected, Meaning, Misbehaviour, table, write_script};

/// Takes the lock under which one test runs at a time: descriptors and children are counted for the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // The first runtime of a process opens descriptors that stay.
    block_on(async {});
    assert_eq!(become_subreaper(), cfg!(target_os = "linux"));
    guard
}

/// The mark around all runs of these tests; every process that they start carries it.
static OUTER_MARK: LazyLock<String> = LazyLock::new(|| format!("test{}", uuid::Uuid::now_v7().simple()));

fn environment() -> Arc<BTreeMap<OsString, OsString>> {
    let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    variables.insert("BECKET_MARK".into(), OUTER_MARK.as_str().into());
    Arc::new(variables)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime").block_on(future)
}

fn invocation(directory: &Path, input: &str, timeout: Duration) -> Invocation {
    Invocation {
        input: input.into(),
        environment: Vec::new(),
        directory: directory.to_owned(),
        timeout,
    }
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/dev/fd")
        .expect("a list of descriptors")
        .count()
}

/// Processes of these tests that are alive, and children of this process, dead ones included: a process that is about
/// to die shows no mark any more.
#[cfg(target_os = "linux")]
fn left_behind() -> Vec<String> {
    let mut found = Vec::new();
    for file in std::fs::read_dir("/proc").expect("a list of processes").flatten() {
        let Ok(stat) = std::fs::read(file.path().join("stat")) else {
            continue;
        };
        let stat = String::from_utf8_lossy(&stat).into_owned();
        let Some((_, fields)) = stat.rsplit_once(')') else {
            continue;
        };
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let ours = fields
            .get(1)
            .is_some_and(|parent| *parent == std::process::id().to_string());
        let environment = std::fs::read(file.path().join("environ")).unwrap_or_default();
        let marked = environment
            .windows(OUTER_MARK.len())
            .any(|window| window == OUTER_MARK.as_bytes());
        if marked || ours {
            found.push(stat);
        }
    }
    found
}

#[cfg(not(target_os = "linux"))]
fn left_behind() -> Vec<String> {
    Vec::new()
}

/// How long a test waits; far more than anything here takes, so that only what hangs meets it.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Waits until processes that were killed, or that end by themselves in a moment, are gone and reaped.
fn wait_until_nothing_is_left() {
    let end = Instant::now() + TEST_TIMEOUT;
    loop {
        let left = left_behind();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "left behind: {left:?}");
        reap_orphans();
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends what a case has left running on purpose.
fn end_what_is_left() {
    for stat in left_behind() {
        let number = stat.split(' ').next().and_then(|number| number.parse().ok());
        let pid = number
            .and_then(rustix::process::Pid::from_raw)
            .expect("a process");
        // A process that has ended by itself in the meantime is no failure.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    wait_until_nothing_is_left();
}

async fn run_shell(line: &str, input: &str, seconds: u64) -> Result<Finished, Failure> {
    let lane = CommandLane::new(Program::shell(line).environment(environment()));
    lane.run(invocation(
        &std::env::temp_dir(),
        input,
        Duration::from_secs(seconds),
    ))
    .await
}

/// Whether a program exists; if not, prints what is skipped.
#[expect(clippy::print_stderr)]
fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    if !found {
        assert!(
            std::env::var_os("BECKET_TEST_ALL").is_none(),
            "these tests need {name}"
        );
        eprintln!("skipped: needs {name}");
    }
    found
}

/// Runs one case and returns what is wrong with the result.
async fn check(case: &Misbehaviour) -> Result<(), String> {
    let setting = case.set_up(&environment());
    let lane = CommandLane::new(setting.program.clone());
    let input = "x".repeat(case.input_size);
    let begin = Instant::now();
    let result = lane
        .run(invocation(&setting.directory, &input, case.timeout))
        .await;
    let took = begin.elapsed();
    if took > case.timeout + TEST_TIMEOUT {
        return Err(format!("took {took:?}"));
    }
    match (case.lane, &result) {
        (Expected::Fails(cause), Err(failure)) if failure.cause == cause && !failure.detail.is_empty() => {}
        (Expected::Exits(code, stdout), Ok(finished))
            if finished.code == code && finished.stdout == stdout => {}
        (expected, result) => return Err(format!("expected {expected:?}, got {result:?}")),
    }
    if result.is_err() {
        wait_until_nothing_is_left();
    }
    match meaning(result) {
        meaning if meaning == case.meaning => Ok(()),
        other => Err(format!("means {other:?} and not {:?}", case.meaning)),
    }
}

/// What becket's own row for a guard makes of a run.
fn meaning(result: Result<Finished, Failure>) -> Meaning {
    let reply = result.and_then(|finished| (own_row::<PreTool>().decode)(&payload(), finished));
    match reply {
        Err(failure) => Meaning::Failure(failure.cause),
        Ok(reply) if matches!(reply.verdict(), Some(Verdict::Deny(_))) => Meaning::Refusal,
        Ok(_) => Meaning::Answer,
    }
}

fn payload() -> PreToolPayload {
    PreToolPayload {
        tool_source: "builtin".into(),
        tool_call_id: "call".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: None,
        arguments: serde_json::Map::new(),
        parent_tool_call_id: None,
    }
}

#[test]
fn whatever_a_program_does_the_lane_ends_in_time_and_says_what_happened() {
    let _alone = alone();
    let table = table();
    assert!(table.len() >= 25);
    let has_setsid = has_program("setsid");
    let descriptors = open_descriptors();
    let mut wrong = Vec::new();
    for case in &table {
        let needs_setsid =
            matches!(case.hook, misbehaviours::Hook::Script(script) if script.contains("setsid"));
        if needs_setsid && !has_setsid {
            continue;
        }
        if let Err(problem) = block_on(check(case)) {
            wrong.push(format!("{}: {problem}", case.name));
            continue;
        }
        if matches!(case.lane, Expected::Exits(..)) {
            end_what_is_left();
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(open_descriptors(), descriptors);
    wait_until_nothing_is_left();
}

/// Asks an engine with one hook of this class, and performs the action unless it was refused. Returns how often it was
/// performed, and the causes of the failures.
async fn perform(case: &Misbehaviour, class: Class) -> (u32, Vec<Cause>) {
    let setting = case.set_up(&environment());
    let engine = Engine::new(None);
    let info = HandlerInfo {
        timeout: case.timeout,
        ..HandlerInfo::native(case.name, class)
    };
    let lane = Arc::new(CommandLane::new(setting.program.clone()));
    let handler = RowHandler::<PreTool> {
        lane,
        row: own_row(),
        timeout: case.timeout,
    };
    let action = Action::Other(Arc::new(handler));
    engine.register(Registration {
        info,
        order: Vec::new(),
        matcher: Matcher::default(),
        condition: None,
        action,
    });
    let scope = Scope {
        cwd: setting.directory.display().to_string(),
        ..Scope::default()
    };
    let arguments = serde_json::Map::from_iter([("command".to_string(), "x".repeat(case.input_size).into())]);
    let payload = || PreToolPayload {
        arguments,
        ..payload()
    };
    let outcome = engine.dispatch::<PreTool>(&scope, payload).await;
    let performed = u32::from(outcome.denied().is_none());
    (
        performed,
        outcome
            .failures
            .iter()
            .map(|failed| failed.failure.cause)
            .collect(),
    )
}

#[test]
fn whatever_a_guard_does_wrong_the_guarded_action_does_not_happen() {
    let _alone = alone();
    let has_setsid = has_program("setsid");
    let mut wrong = Vec::new();
    for case in table() {
        if matches!(case.hook, misbehaviours::Hook::Script(script) if script.contains("setsid"))
            && !has_setsid
        {
            continue;
        }
        let began = Instant::now();
        for class in [Class::Guard, Class::Transform, Class::Observe] {
            let expected = match case.meaning {
                Meaning::Answer => (1, Vec::new()),
                Meaning::Refusal => (0, Vec::new()),
                Meaning::Failure(cause) => (u32::from(class != Class::Guard), vec![cause]),
            };
            let happened = block_on(perform(&case, class));
            if happened != expected {
                wrong.push(format!(
                    "{} as {class:?}: expected {expected:?}, got {happened:?}",
                    case.name
                ));
            }
        }
        if began.elapsed() > 3 * (case.timeout + TEST_TIMEOUT) {
            wrong.push(format!("{} took {:?}", case.name, began.elapsed()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    end_what_is_left();
}

#[test]
fn a_program_gets_input_arguments_variables_and_directory() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let base = environment();
    let program = Program::exec([
        "sh",
        "-c",
        "cat; printf ' %s %s ' \"$1\" \"$A$B$C\"; pwd",
        "sh",
        "two words",
    ]);
    let program = program
        .environment(base)
        .variable("A", "a")
        .variable("B", "b")
        .without_variable("B");
    let lane = CommandLane::new(program.directory(Some("inner".into())));
    assert_eq!(lane.kind(), LaneKind::Command);
    let inner = folder.path().canonicalize().unwrap().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let mut invocation = invocation(
        &folder.path().canonicalize().unwrap(),
        "in",
        Duration::from_secs(20),
    );
    invocation.environment.push(("C".into(), "c".into()));
    let finished = block_on(lane.run(invocation)).unwrap();
    let expected = format!("in two words ac {}\n", inner.display());
    assert_eq!(String::from_utf8(finished.stdout).unwrap(), expected);
}

#[test]
fn a_mebibyte_goes_in_and_comes_out_at_the_same_time() {
    let _alone = alone();
    let input = "0123456789abcde\n".repeat(1 << 16);
    let finished = block_on(run_shell("cat", &input, 20)).unwrap();
    assert_eq!(finished.stdout, input.as_bytes());
    // Four times what went in may come out, and a mebibyte in any case.
    let four_times = "cat >/dev/null; head -c 4194304 /dev/zero";
    assert!(block_on(run_shell(four_times, &input, 20)).is_ok());
    let failure = block_on(run_shell(&format!("{four_times}; echo"), &input, 20)).unwrap_err();
    assert_eq!(failure.cause, Cause::OutputTooLarge);
    assert!(block_on(run_shell("head -c 1048576 /dev/zero", "x", 20)).is_ok());
    let failure = block_on(run_shell("head -c 1048577 /dev/zero", "x", 20)).unwrap_err();
    assert_eq!(failure.cause, Cause::OutputTooLarge);
}

#[test]
fn the_end_of_standard_error_is_kept() {
    let _alone = alone();
    let finished = block_on(run_shell("echo first >&2; exit 3", "", 20)).unwrap();
    assert_eq!((finished.code, finished.stderr.as_str()), (3, "first\n"));
    let line = "head -c 1000000 /dev/zero | tr '\\000' x >&2; printf '\\377 last words' >&2; kill -KILL $$";
    let failure = block_on(run_shell(line, "", 20)).unwrap_err();
    assert_eq!(failure.cause, Cause::KilledBySignal);
    assert!(failure.stderr.starts_with("…xxx") && failure.stderr.ends_with("\u{fffd} last words"));
    assert!(failure.stderr.len() < 20_000, "{}", failure.stderr.len());
}

#[test]
fn what_a_program_says_when_it_is_told_to_end_is_kept() {
    let _alone = alone();
    let line = "trap 'echo cleaning up >&2; exit 1' TERM; sleep 60 & wait";
    let lane = CommandLane::new(Program::shell(line).environment(environment()));
    // On a busy machine the program may get the signal before its trap is set, or be killed before it writes.
    let end = Instant::now() + TEST_TIMEOUT;
    loop {
        let run = lane.run(invocation(Path::new("/"), "", Duration::from_millis(500)));
        let failure = block_on(run).unwrap_err();
        assert_eq!(failure.cause, Cause::TimedOut);
        if failure.stderr == "cleaning up\n" {
            return;
        }
        assert!(Instant::now() < end, "{failure:?}");
    }
}

#[test]
fn the_signal_is_named() {
    let _alone = alone();
    let failure = block_on(run_shell("kill -KILL $$", "", 20)).unwrap_err();
    assert!(failure.detail.contains("SIGKILL"), "{}", failure.detail);
}

#[test]
fn other_limits_count() {
    let _alone = alone();
    let program = Program::shell("printf 12345; printf abcdef >&2").environment(environment());
    let run = |output, stderr| {
        let lane = CommandLane::new(program.clone()).limits(Limits { output, stderr });
        block_on(lane.run(invocation(Path::new("/"), "", Duration::from_secs(20))))
    };
    assert_eq!(
        run(5, 3).unwrap(),
        Finished {
            stdout: b"12345".to_vec(),
            stderr: "…def".into(),
            code: 0,
            complete: true,
        }
    );
    assert_eq!(run(4, 3).unwrap_err().cause, Cause::OutputTooLarge);
}

#[test]
fn a_background_process_lives_on_after_a_normal_end() {
    let _alone = alone();
    // The background process holds the output for longer than the timeout, so waiting for it would be a failure.
    let finished = block_on(run_shell("sleep 60 & echo $!", "", 20)).unwrap();
    let number: i32 = String::from_utf8(finished.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let pid = rustix::process::Pid::from_raw(number).unwrap();
    assert!(rustix::process::test_kill_process(pid).is_ok());
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    wait_until_nothing_is_left();
}

#[test]
fn an_abandoned_run_kills_its_tree() {
    let _alone = alone();
    let descriptors = open_descriptors();
    block_on(async {
        let run = run_shell("trap '' TERM; sleep 60 & sleep 60", "", 100);
        assert!(
            tokio::time::timeout(Duration::from_millis(200), run)
                .await
                .is_err()
        );
        wait_until_nothing_is_left();
    });
    assert_eq!(open_descriptors(), descriptors);
}

#[test]
fn many_runs_at_once_do_not_disturb_each_other() {
    let _alone = alone();
    block_on(async {
        let runs = (0..30).map(|number| async move {
            if number % 3 == 0 {
                let lane = CommandLane::new(Program::shell("sleep 60").environment(environment()));
                let run = lane
                    .run(invocation(Path::new("/"), "", Duration::from_millis(300)))
                    .await;
                assert_eq!(run.unwrap_err().cause, Cause::TimedOut);
            } else {
                let finished = run_shell("sleep 0.5; cat", &number.to_string(), 30)
                    .await
                    .unwrap();
                assert_eq!(finished.stdout, number.to_string().as_bytes());
            }
        });
        futures_util::future::join_all(runs).await;
    });
    wait_until_nothing_is_left();
}

#[test]
fn the_statuses_of_other_children_are_not_taken() {
    let _alone = alone();
    let mut others: Vec<_> = (0..5).map(|code| shell_child(&format!("exit {code}"))).collect();
    std::thread::sleep(Duration::from_millis(100));
    let lane = CommandLane::new(Program::shell("sleep 60").environment(environment()));
    block_on(lane.run(invocation(Path::new("/"), "", Duration::from_millis(100)))).unwrap_err();
    for (code, other) in others.iter_mut().enumerate() {
        assert_eq!(other.wait().unwrap().code(), Some(code as i32));
    }
}

fn shell_child(line: &str) -> std::process::Child {
    std::process::Command::new("/bin/sh")
        .args(["-c", line])
        .spawn()
        .expect("a shell")
}

/// A worker in the shell. `answer ID JSON` answers; every script below says what is odd about it.
struct Workshop {
    folder: tempfile::TempDir,
    lane: WorkerLane,
}

const WORKER_PRELUDE: &str = r#"
read_id() { read -r line || exit 0; id=${line#*:}; id=${id%%,*}; }
answer() { printf '{"id":%s,"reply":%s}\n' "$1" "$2"; }
"#;

impl Workshop {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("worker");
        write_script(&path, &format!("{WORKER_PRELUDE}{script}"), 0o755);
        let lane = WorkerLane::new(Program::exec([path]).environment(environment()));
        Self { folder, lane }
    }

    async fn ask(&self, event: &str) -> Result<String, Failure> {
        self.ask_within(event, Duration::from_secs(20)).await
    }

    async fn ask_within(&self, event: &str, timeout: Duration) -> Result<String, Failure> {
        let finished = self
            .lane
            .run(invocation(self.folder.path(), event, timeout))
            .await?;
        assert_eq!(finished.code, 0);
        Ok(String::from_utf8(finished.stdout).unwrap())
    }
}

#[test]
fn a_worker_answers_many_events_with_one_process() {
    let _alone = alone();
    let descriptors = open_descriptors();
    block_on(async {
        let workshop =
            Workshop::new(r#"while read_id; do n=$((n+1)); answer $id "{\"n\":$n,\"pid\":$$}"; done"#);
        assert_eq!(workshop.lane.kind(), LaneKind::Worker);
        let first = workshop.ask(r#"{"event":"x"}"#).await.unwrap();
        let pid = first.split("\"pid\":").nth(1).unwrap().to_owned();
        for n in 2..200 {
            assert_eq!(
                workshop.ask("{\n \"a\":\r\n1}").await.unwrap(),
                format!("{{\"n\":{n},\"pid\":{pid}")
            );
        }
    });
    assert_eq!(open_descriptors(), descriptors);
    wait_until_nothing_is_left();
}

#[test]
fn requests_to_one_worker_wait_for_each_other() {
    let _alone = alone();
    block_on(async {
        let script = r#"while read_id; do sleep 0.02; e=${line##*:}; answer $id "{\"e\":${e%%\}*}}"; done"#;
        let workshop = Workshop::new(script);
        let asked = (0..20).map(|n| {
            let workshop = &workshop;
            async move { (n, workshop.ask(&format!("{{\"n\":{n}}}")).await.unwrap()) }
        });
        for (n, reply) in futures_util::future::join_all(asked).await {
            assert_eq!(reply, format!("{{\"e\":{n}}}"));
        }
        let patient = workshop.ask_within("{\"n\":1}", Duration::from_secs(20));
        let impatient = workshop.ask_within("{}", Duration::from_millis(5));
        let (patient, impatient) = futures_util::future::join(patient, impatient).await;
        assert!(patient.is_ok());
        assert_eq!(impatient.unwrap_err().cause, Cause::TimedOut);
    });
}

/// A worker that fails when started the first time, and works the second time.
fn fails_once(trouble: &str) -> Workshop {
    let script = format!(
        "if [ ! -e \"$0.seen\" ]; then : > \"$0.seen\"\n{trouble}\nfi\nwhile read_id; do answer $id '{{\"ok\":1}}'; done"
    );
    Workshop::new(&script)
}

// tidy: a table
#[test]
fn after_any_failure_the_next_event_gets_a_new_process() {
    let _alone = alone();
    let descriptors = open_descriptors();
    let table = [
        ("crash at start", "echo why >&2; exit 3", Cause::ExitStatus),
        (
            "crash while it is asked",
            "read_id; kill -SEGV $$",
            Cause::KilledBySignal,
        ),
        ("ends without an answer", "read_id; exit 0", Cause::ExitStatus),
        (
            "wrong number",
            "read_id; answer 1 '{}'; sleep 60",
            Cause::WrongShape,
        ),
        (
            "old number",
            "read_id; answer $((id - 1)) '{}'; sleep 60",
            Cause::WrongShape,
        ),
        ("answer in advance", "answer 1 '{}'; sleep 60", Cause::WrongShape),
        (
            "number as text",
            "read_id; answer \"\\\"$id\\\"\" '{}'; sleep 60",
            Cause::WrongShape,
        ),
        (
            "two lines",
            "read_id; printf '{\"id\":%s,\"reply\":{}}\\n{}\\n' $id; sleep 60",
            Cause::WrongShape,
        ),
        (
            "no reply",
            "read_id; echo \"{\\\"id\\\":$id}\"; sleep 60",
            Cause::WrongShape,
        ),
        (
            "reply and error",
            "read_id; echo \"{\\\"id\\\":$id,\\\"reply\\\":{},\\\"error\\\":\\\"\\\"}\"",
            Cause::WrongShape,
        ),
        (
            "reply is no object",
            "read_id; answer $id '[1]'; sleep 60",
            Cause::WrongShape,
        ),
        (
            "unknown field",
            "read_id; echo \"{\\\"id\\\":$id,\\\"replay\\\":{}}\"; sleep 60",
            Cause::WrongShape,
        ),
        (
            "a banner",
            "echo 'worker ready'; sleep 60",
            Cause::UnreadableOutput,
        ),
        (
            "an empty line",
            "read_id; echo; sleep 60",
            Cause::UnreadableOutput,
        ),
        (
            "not UTF-8",
            "read_id; answer $id \"{\\\"a\\\":\\\"$(printf '\\377')\\\"}\"; sleep 60",
            Cause::UnreadableOutput,
        ),
        (
            "truncated",
            "read_id; printf '{\"id\":%s,\"rep' $id; exit 0",
            Cause::ExitStatus,
        ),
        (
            "closes its output",
            "read_id; exec >&-; sleep 60",
            Cause::UnreadableOutput,
        ),
        (
            "flood without a line",
            "read_id; exec tr '\\000' x < /dev/zero",
            Cause::OutputTooLarge,
        ),
        ("flood of lines", "read_id; exec yes", Cause::UnreadableOutput),
        (
            "flood of errors",
            "read_id; yes >&2 & kill -KILL $$",
            Cause::KilledBySignal,
        ),
    ];
    for (name, trouble, cause) in table {
        block_on(async {
            let workshop = fails_once(trouble);
            let failure = workshop.ask("{}").await.expect_err(name);
            assert_eq!(failure.cause, cause, "{name}: {failure:?}");
            assert!(!failure.detail.is_empty(), "{name}");
            wait_until_nothing_is_left();
            assert_eq!(workshop.ask("{}").await.expect(name), "{\"ok\":1}", "{name}");
            assert_eq!(workshop.ask("{}").await.expect(name), "{\"ok\":1}", "{name}");
        });
        wait_until_nothing_is_left();
    }
    assert_eq!(open_descriptors(), descriptors);
}

#[test]
fn a_worker_that_does_not_answer_is_killed_with_its_tree_and_started_again() {
    let _alone = alone();
    block_on(async {
        let workshop = fails_once("echo busy >&2; trap '' TERM; (setsid sleep 60 &); sleep 60");
        // Time enough for a busy machine to start the worker.
        let failure = workshop
            .ask_within("{}", Duration::from_secs(3))
            .await
            .unwrap_err();
        assert_eq!(
            (failure.cause, failure.stderr.as_str()),
            (Cause::TimedOut, "busy\n")
        );
        assert!(failure.detail.contains("flush after every line"), "{failure:?}");
        wait_until_nothing_is_left();
        assert_eq!(workshop.ask("{}").await.unwrap(), "{\"ok\":1}");

        let big = format!("\"{}\"", "x".repeat(1 << 20));
        let never_reads = fails_once("sleep 60");
        let failure = never_reads
            .ask_within(&big, Duration::from_secs(3))
            .await
            .unwrap_err();
        assert_eq!(failure.cause, Cause::TimedOut);
        assert_eq!(never_reads.ask("{}").await.unwrap(), "{\"ok\":1}");
    });
    wait_until_nothing_is_left();
}

#[test]
fn a_late_line_is_not_taken_for_the_next_answer() {
    let _alone = alone();
    block_on(async {
        let script = r#"while read_id; do answer $id '{"ok":1}'; sleep 0.1
            answer $((id + 1)) '{"stolen":1}'; : > "$0.late"; done"#;
        let workshop = Workshop::new(script);
        assert_eq!(workshop.ask("{}").await.unwrap(), "{\"ok\":1}");
        let end = Instant::now() + TEST_TIMEOUT;
        while !workshop.folder.path().join("worker.late").exists() {
            assert!(Instant::now() < end, "the late line never came");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let failure = workshop.ask("{}").await.unwrap_err();
        assert_eq!(failure.cause, Cause::WrongShape, "{failure:?}");
        assert!(failure.detail.contains("stolen"), "{failure:?}");
        assert_eq!(workshop.ask("{}").await.unwrap(), "{\"ok\":1}");
    });
}

#[test]
fn a_worker_may_end_after_some_answers() {
    let _alone = alone();
    block_on(async {
        let script = "for i in 1 2 3; do read_id; answer $id \"{\\\"i\\\":$i}\"; done";
        let workshop = Workshop::new(script);
        for n in 0..20 {
            let pause = if n % 2 == 0 { 0 } else { 30 };
            tokio::time::sleep(Duration::from_millis(pause)).await;
            assert_eq!(
                workshop.ask("{}").await.unwrap(),
                format!("{{\"i\":{}}}", n % 3 + 1),
                "{n}"
            );
        }
    });
    wait_until_nothing_is_left();
}

#[test]
fn a_worker_reports_its_own_errors_and_lives_on() {
    let _alone = alone();
    block_on(async {
        let script = r#"while read_id; do n=$((n+1)); echo trace >&2
            if [ $n = 2 ]; then printf '{"id":%s,"error":"no such rule"}\n' $id; else answer $id "{\"n\":$n}"; fi; done"#;
        let workshop = Workshop::new(script);
        assert_eq!(workshop.ask("{}").await.unwrap(), "{\"n\":1}");
        let failure = workshop.ask("{}").await.unwrap_err();
        assert_eq!(
            (failure.cause, failure.detail.as_str()),
            (Cause::Raised, "no such rule")
        );
        assert_eq!(failure.stderr, "trace\n");
        assert_eq!(workshop.ask("{}").await.unwrap(), "{\"n\":3}");
    });
}

#[test]
fn a_crash_loop_backs_off_and_never_hangs() {
    let _alone = alone();
    block_on(async {
        let workshop = Workshop::new("echo start >> \"$0.starts\"; echo broken >&2; exit 9");
        let begin = Instant::now();
        for _ in 0..200 {
            let failure = workshop.ask("{}").await.unwrap_err();
            assert_eq!(
                (failure.cause, failure.stderr.as_str()),
                (Cause::ExitStatus, "broken\n")
            );
        }
        assert!(begin.elapsed() < TEST_TIMEOUT, "{:?}", begin.elapsed());
        let starts = std::fs::read_to_string(workshop.folder.path().join("worker.starts")).unwrap();
        let starts = starts.lines().count();
        assert!((3..20).contains(&starts), "started {starts} times");
    });
}

#[test]
fn a_worker_that_cannot_be_started_says_why_every_time() {
    let _alone = alone();
    let lane = WorkerLane::new(Program::exec(["./absent"]).environment(environment()));
    for _ in 0..5 {
        let failure =
            block_on(lane.run(invocation(Path::new("/"), "{}", Duration::from_secs(5)))).unwrap_err();
        assert_eq!(failure.cause, Cause::NotFound);
        assert!(failure.detail.contains("/absent"), "{}", failure.detail);
    }
}

#[test]
fn a_program_that_lies_in_the_folder_and_in_none_of_path_is_told_with_its_path() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("guard.py"), "").unwrap();
    for (name, hint) in [
        ("guard.py", "write `./guard.py`"),
        ("absent.py", "install it, or name it with its path"),
    ] {
        let program = Program::exec([name]).environment(environment());
        let failure = program.resolve(folder.path()).unwrap_err();
        assert_eq!(failure.cause, Cause::NotFound);
        assert!(failure.detail.contains(hint), "{}", failure.detail);
    }
}

#[test]
fn a_worker_ends_with_its_lane() {
    let _alone = alone();
    let descriptors = open_descriptors();
    let script = "setsid sleep 60 & while read_id; do answer $id '{}'; done";
    block_on(async {
        let workshop = Workshop::new(script);
        assert_eq!(workshop.ask("{}").await.unwrap(), "{}");
        assert!(!left_behind().is_empty());
        drop(workshop);
        wait_until_nothing_is_left();

        let workshop =
            Workshop::new("trap 'echo bye > \"$0.bye\"' EXIT; while read_id; do answer $id '{}'; done");
        assert_eq!(workshop.ask("{}").await.unwrap(), "{}");
        workshop.lane.shutdown().await;
        wait_until_nothing_is_left();
        assert!(
            workshop.folder.path().join("worker.bye").exists(),
            "it had time to say good-bye"
        );
        assert_eq!(workshop.ask("{}").await.unwrap(), "{}", "a new one starts");
    });
    assert_eq!(open_descriptors(), descriptors);
}

#[test]
fn an_abandoned_question_is_never_answered_later() {
    let _alone = alone();
    block_on(async {
        let script =
            "while read_id; do sleep 0.3; e=${line##*:}; answer $id \"{\\\"e\\\":${e%%\\}*}}\"; done";
        let workshop = Workshop::new(script);
        let question = workshop.ask("{\"n\":1}");
        assert!(
            tokio::time::timeout(Duration::from_millis(100), question)
                .await
                .is_err()
        );
        wait_until_nothing_is_left();
        assert_eq!(workshop.ask("{\"n\":2}").await.unwrap(), "{\"e\":2}");
    });
}

#[test]
fn the_worker_in_the_guide_works_as_it_says() {
    let _alone = alone();
    if !has_program("python3") {
        return;
    }
    let guide = include_str!("../../../../docs/guide/workers.md");
    let code = guide
        .split("```python\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("an example");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("guard.py"), code).unwrap();
    let lane = WorkerLane::new(Program::exec(["python3", "guard.py"]).environment(environment()));
    let ask = async |event: &str| {
        lane.run(invocation(folder.path(), event, Duration::from_secs(20)))
            .await
    };
    block_on(async {
        let denied = ask(r#"{"event":"pre_tool","arguments":{"command":"rm -rf build"}}"#)
            .await
            .unwrap();
        let denied = String::from_utf8(denied.stdout).unwrap();
        assert_eq!(
            denied,
            r#"{"verdict": {"deny": "deletes recursively: rm -rf build"}}"#
        );
        assert_eq!(
            meaning(ask(r#"{"arguments":{"command":"rm -r x"}}"#).await),
            Meaning::Refusal
        );
        assert_eq!(
            meaning(ask(r#"{"arguments":{"command":"ls"}}"#).await),
            Meaning::Answer
        );
        assert_eq!(meaning(ask("[]").await), Meaning::Failure(Cause::Raised));
        assert_eq!(meaning(ask("{}").await), Meaning::Answer);
        lane.shutdown().await;
    });
    wait_until_nothing_is_left();
}

#[test]
fn windows_line_endings_are_named() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hook");
    write_script(&path, "", 0o755);
    std::fs::write(&path, "#!/bin/sh\r\necho '{}'\r\n").unwrap();
    let lane = CommandLane::new(Program::exec([&path]).environment(environment()));
    let run = lane.run(invocation(folder.path(), "", Duration::from_secs(20)));
    let failure = block_on(run).unwrap_err();
    assert!(
        failure.detail.contains("the file has Windows line endings"),
        "{failure:?}"
    );
}

/// Ctrl-C reaches the program and its caller; a program that ends quickly must not answer first.
#[test]
fn the_answer_of_a_program_at_the_terminal_comes_after_a_signal_of_the_same_moment() {
    let _alone = alone();
    let device = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null");
    let terminal = Terminal::new(device.expect("it is there"));
    let program = Program::exec(["true"]).environment(environment());
    let lane = CommandLane::new(program).terminal(terminal, TerminalInput::Told);
    let heard = block_on(async {
        // The signal is looked at first: a machine that is busy for so long gets both at once.
        let signal = tokio::time::sleep(Duration::from_millis(100));
        tokio::select! {
            biased;
            () = signal => true,
            result = lane.run(invocation(Path::new("/"), "", Duration::from_secs(20))) => {
                result.expect("it ends well");
                false
            }
        }
    });
    assert!(heard);
}
