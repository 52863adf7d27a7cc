//! The daemon that keeps hooks loaded, and its client: the answers are those of `becket bridge`, whatever becomes of
//! the daemon.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Finished, Room, Running, Signal, run_with_input};

use crate::bridge::{GUARD, HOSTS, Host, answered};
use crate::room;

/// A room in which a daemon may run: becket and its client stand beside each other in a folder of the room.
pub struct Served {
    pub room: Room,
    programs: PathBuf,
}

impl Served {
    /// A room with a becket, which may be another program than the usual one.
    pub fn new(room: Room, becket: &Path) -> Self {
        let base = room.work().parent().expect("the room has a folder").to_path_buf();
        let (programs, runtime) = (base.join("programs"), base.join("runtime"));
        std::fs::create_dir(&programs).unwrap();
        std::fs::DirBuilder::new().mode(0o700).create(&runtime).unwrap();
        let client = Path::new(env!("CARGO_BIN_EXE_becket-hook"));
        for (from, name) in [(becket, "becket"), (client, "becket-hook")] {
            let to = programs.join(name);
            if std::fs::hard_link(from, &to).is_err() {
                std::fs::copy(from, &to).unwrap();
            }
        }
        let room = room.with("XDG_RUNTIME_DIR", runtime.to_str().unwrap());
        Self { room, programs }
    }

    fn usual() -> Self {
        Self::new(room(), Path::new(env!("CARGO_BIN_EXE_becket")))
    }

    fn guarded(hooks: &str) -> Self {
        let served = Self::usual();
        served.room.config(hooks);
        served
    }

    fn becket<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Command {
        self.room.command_of(&self.programs.join("becket"), words)
    }

    fn run<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Finished {
        Running::of(self.becket(words).spawn().unwrap()).finish()
    }

    /// Starts the daemon of the project, and waits until it listens.
    pub fn start(&self) -> Running {
        let work = self.room.work();
        let words = ["bridge", "daemon", "run", "--project", work.to_str().unwrap()];
        let daemon = Running::of(self.becket(words).spawn().unwrap());
        self.wait_for_daemon();
        daemon
    }

    fn wait_for_daemon(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.status().is_empty() {
            assert!(Instant::now() < deadline, "no daemon listens");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What the daemons say about themselves.
    pub fn status(&self) -> Vec<Value> {
        let run = self.run(["bridge", "daemon", "status", "--json"]).ended_with(0);
        let lines = run.stdout.lines();
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// How often the hooks of the only session were loaded.
    fn loads(&self) -> u64 {
        self.status()[0]["sessions"][0]["loads"].as_u64().unwrap()
    }

    fn socket(&self) -> PathBuf {
        let folder = self.programs.with_file_name("runtime").join("becket");
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut sockets = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "sock"));
        sockets.next().expect("there is a socket")
    }

    /// Asks as an agent would.
    pub fn ask(&self, system: &str, event: &str, question: &Value) -> Finished {
        let client = self.programs.join("becket-hook");
        run_with_input(
            self.room.command_of(&client, [system, event]),
            question.to_string(),
        )
    }

    fn answer(&self, host: &Host, event: &str, question: &Value) -> Value {
        answered(self.ask(host.system, event, question))
    }

    fn direct(&self, host: &Host, event: &str, question: &Value) -> Value {
        let command = self.becket(["bridge", host.system, event]);
        answered(run_with_input(command, question.to_string()))
    }
}

/// How much of a campaign is run: all of it is `BECKET_TEST_CAMPAIGN=1000`.
fn scale(usual: usize) -> usize {
    let wanted = std::env::var("BECKET_TEST_CAMPAIGN").ok();
    wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(usual)
}

#[test]
fn the_daemon_answers_as_becket_does_alone() {
    let hooks = format!(
        "{GUARD}\n[[hook]]\nevent = \"user_prompt\"\nname = \"prompts\"\ncommand = '''case $(cat) in *magic*) echo no \
         magic >&2; exit 2;; esac'''\n\n[[hook]]\nevent = \"stop\"\nname = \"more\"\ncommand = '''echo '{{\"continue_with\": \
         \"one more\"}}' '''\n"
    );
    let served = Served::guarded(&hooks);
    let _daemon = served.start();
    for host in HOSTS {
        let room = &served.room;
        let prompt = json!({"session_id": "s1", "sessionId": "s1", "cwd": room.work(), "prompt": "magic"});
        let stop = json!({"session_id": "s1", "sessionId": "s1", "cwd": room.work()});
        let questions = [
            (host.call, (host.shell)(room, "rm -rf x")),
            (host.call, (host.shell)(room, "ls")),
            (host.call, (host.write)(room, "secret.txt")),
            (host.prompt, prompt),
            (host.stop, stop),
            (host.call, json!({})),
            (host.call, json!([])),
        ];
        for (event, question) in questions {
            let daemons = served.answer(host, event, &question);
            let direct = served.direct(host, event, &question);
            assert_eq!(daemons, direct, "{} {event} {question}", host.system);
        }
    }
    let status = served.status();
    // A question that cannot be read reaches no session.
    let asked: u64 = status[0]["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["questions"].as_u64().unwrap())
        .sum();
    assert_eq!(asked, 5 * HOSTS.len() as u64, "{status:#?}");
}

#[test]
fn without_a_daemon_the_client_answers_and_starts_one() {
    let served = Served::guarded(GUARD);
    let host = &HOSTS[0];
    let question = (host.shell)(&served.room, "rm -rf x");
    let refused = served.answer(host, host.call, &question);
    assert!((host.refusal)(&refused).is_some(), "{refused}");
    served.wait_for_daemon();
    let refused = served.answer(host, host.call, &question);
    assert!((host.refusal)(&refused).is_some(), "{refused}");
    assert_eq!(served.status()[0]["questions"], 1);
    let pid = served.status()[0]["pid"].to_string();
    served
        .run(["bridge", "daemon", "stop"])
        .ended_with(0)
        .complained("ended the daemon");
    testkit::wait_until_gone(&pid);
    assert!(served.status().is_empty());
}

#[test]
fn an_extension_keeps_its_state_within_a_session() {
    let served = Served::usual();
    served.room.write(
        "../home/.pi/agent/extensions/count.ts",
        "export default function (pi: any) {\n  let calls = 0;\n  pi.on('tool_call', () => ({ block: true, reason: \
         `call ${++calls}` }));\n}\n",
    );
    let _daemon = served.start();
    let host = &HOSTS[0];
    let reason = |session: &str| {
        let mut question = (host.shell)(&served.room, "ls");
        question["session_id"] = session.into();
        (host.refusal)(&served.answer(host, host.call, &question)).unwrap()
    };
    // The first load notes which extensions there are, and that is a change.
    reason("a");
    std::thread::sleep(Duration::from_millis(200));
    reason("a");
    let (a, b) = (reason("a"), reason("b"));
    assert!(a.contains("call 2") && b.contains("call 1"), "{a}, {b}");
    assert!(reason("a").contains("call 3"));
}

#[test]
fn what_changes_is_heard_at_the_next_question() {
    let rule = |word: &str| format!("[permissions]\ndeny = [\"shell:command={word}*\"]\n");
    let served = Served::guarded(&rule("push"));
    let _daemon = served.start();
    let host = &HOSTS[0];
    let refuses = |command: &str| {
        let answer = served.answer(host, host.call, &(host.shell)(&served.room, command));
        (host.refusal)(&answer)
    };
    assert!(refuses("push").is_some());
    assert!(refuses("pull").is_none());
    served.room.config(&rule("pull"));
    assert!(refuses("pull").is_some(), "the settings have changed");
    assert!(refuses("push").is_none());
    std::fs::remove_file(served.room.config("")).unwrap();
    assert!(refuses("pull").is_none(), "the settings are gone");
    served.room.write(
        "becket.toml",
        "[[hook]]\nevent = \"pre_tool\"\nname = \"new\"\ncommand = 'exit 2'\n",
    );
    let untrusted = refuses("ls").expect("a project that is not trusted refuses");
    assert!(untrusted.contains("`becket hooks trust`"), "{untrusted}");
    let again = refuses("ls").expect("it still refuses");
    assert!(
        untrusted.starts_with(&again) && !again.contains('`'),
        "the advice is given once: {again}"
    );
    served.run(["hooks", "trust", "--all"]).ended_with(0);
    assert!(
        refuses("ls").is_some_and(|why| !why.contains("trust")),
        "it is trusted"
    );
    std::thread::sleep(Duration::from_millis(200));
    refuses("ls");
    let before = served.loads();
    for _ in 0..5 {
        refuses("ls");
    }
    assert_eq!(
        served.loads(),
        before,
        "nothing has changed: {:#?}",
        served.status()
    );
}

#[test]
fn a_worker_is_asked_as_it_is_now_and_where_the_agent_works() {
    let served = Served::usual();
    let worker = "import json, os, sys, rules\nfor line in sys.stdin:\n    request = json.loads(line)\n    reason = \
                  rules.WORD + ' in ' + os.path.basename(os.getcwd())\n    print(json.dumps({'id': request['id'], \
                  'reply': {'verdict': {'deny': reason}}}), flush=True)\n";
    let script = served.room.write("../home/worker.py", worker);
    let rules = served.room.write("../home/rules.py", "WORD = 'first'\n");
    std::fs::create_dir(served.room.work().join("inner")).unwrap();
    let python = "env PYTHONDONTWRITEBYTECODE=1 python3";
    served.room.config(&format!(
        "[[hook]]\nevent = \"pre_shell\"\nname = \"worker\"\nworker = \"{python} {}\"\n",
        script.display()
    ));
    let served = Served {
        room: served.room.with(
            "CLAUDE_PROJECT_DIR",
            served.programs.with_file_name("work").to_str().unwrap(),
        ),
        ..served
    };
    let _daemon = served.start();
    let host = &HOSTS[0];
    let reason = |folder: &str| {
        let mut question = (host.shell)(&served.room, "ls");
        question["cwd"] = served.room.work().join(folder).to_str().into();
        let answer = served.answer(host, host.call, &question);
        (host.refusal)(&answer).unwrap_or_else(|| panic!("{answer}"))
    };
    assert!(reason("").contains("first in work"));
    assert!(reason("inner").contains("first in inner"));
    std::fs::write(rules, "WORD = 'second'\n").unwrap();
    assert!(reason("").contains("second in work"));
}

#[test]
fn questions_at_the_same_time_are_answered_side_by_side() {
    let served = Served::guarded(
        "[[hook]]\nevent = \"pre_shell\"\nname = \"slow\"\ncommand = 'date +%s.%N >> \"$HOME/times\"; sleep 2; date +%s.%N >> \
         \"$HOME/times\"'\n",
    );
    let _daemon = served.start();
    let host = &HOSTS[0];
    std::thread::scope(|scope| {
        for number in 0..3 {
            let served = &served;
            scope.spawn(move || {
                let question = (host.shell)(&served.room, &format!("echo {number}"));
                assert_eq!((host.refusal)(&served.answer(host, host.call, &question)), None);
            });
        }
    });
    let times = served.room.read("../home/times");
    let mut times: Vec<f64> = times.lines().map(|time| time.parse().unwrap()).collect();
    times.sort_by(f64::total_cmp);
    assert_eq!(times.len(), 6);
    assert!(
        times[2] < times[3],
        "all have begun before one has ended: {times:?}"
    );
    assert!(times[5] - times[0] < 5.0, "they waited for each other: {times:?}");
}

#[test]
fn loading_again_and_again_leaves_nothing_behind() {
    let served = Served::usual();
    let write = |number: usize| {
        served.room.write(
            "../home/.pi/agent/extensions/guard.ts",
            format!("export default (pi: any) => {{ pi.on('tool_call', () => ({{ block: true, reason: 'n{number}' }})) }}\n"),
        )
    };
    write(0);
    let daemon = served.start();
    let host = &HOSTS[0];
    let held = |kind: &str| {
        let folder = format!("/proc/{}/{kind}", daemon.id());
        std::fs::read_dir(folder).map_or(0, |entries| entries.count())
    };
    let mut before = (0, 0);
    for number in 0..25 {
        write(number);
        let answer = served.answer(host, host.call, &(host.shell)(&served.room, "ls"));
        let reason = (host.refusal)(&answer).unwrap_or_else(|| panic!("{answer}"));
        assert!(reason.contains(&format!("n{number}")), "{reason}");
        if number == 5 {
            before = (held("task"), held("fd"));
        }
    }
    // What was closed may take a moment to end.
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let after = (held("task"), held("fd"));
        if after.0 <= before.0 + 3 && after.1 <= before.1 + 6 {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{before:?} threads and files, then {after:?}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn an_extension_in_node_is_loaded_as_it_is_now() {
    if !testkit::needs("node") {
        return;
    }
    let served = Served::guarded("[js]\nengine = \"node\"\n");
    let room = &served.room;
    let base = "../home/.pi/agent/extensions";
    room.write(
        &format!("{base}/guard.ts"),
        "import { word } from 'rules';\nexport default (pi: any) => { pi.on('tool_call', () => ({ block: true, reason: word })) }\n",
    );
    room.write(
        &format!("{base}/node_modules/rules/package.json"),
        "{\"main\": \"a.js\"}",
    );
    room.write(
        &format!("{base}/node_modules/rules/a.js"),
        "module.exports = { word: require('./inner.js') };\n",
    );
    let inner = room.write(
        &format!("{base}/node_modules/rules/inner.js"),
        "module.exports = 'first';\n",
    );
    let _daemon = served.start();
    let host = &HOSTS[0];
    let reason = || {
        let answer = served.answer(host, host.call, &(host.shell)(&served.room, "ls"));
        (host.refusal)(&answer).unwrap_or_else(|| panic!("{answer}"))
    };
    assert!(reason().contains("first"));
    std::fs::write(inner, "module.exports = 'second';\n").unwrap();
    assert!(reason().contains("second"));
}

#[test]
fn another_environment_is_another_load() {
    let served = Served::guarded(
        "[[hook]]\nevent = \"pre_shell\"\nname = \"x\"\ncommand = '[ -z \"$STRICT\" ] || exit 2'\n",
    );
    let _daemon = served.start();
    let host = &HOSTS[0];
    let client = served.programs.join("becket-hook");
    let question = (host.shell)(&served.room, "ls").to_string();
    let asked = |variables: &[(&str, &str)]| {
        let mut command = served.room.command_of(&client, [host.system, host.call]);
        command.envs(variables.iter().copied());
        (host.refusal)(&answered(run_with_input(command, question.clone())))
    };
    assert!(asked(&[]).is_none());
    assert!(asked(&[("STRICT", "1")]).is_some());
    assert!(asked(&[]).is_none());
    assert_eq!(served.loads(), 3);
    // The agent sets these for some events, and a shell these for all.
    assert!(asked(&[("CLAUDE_EFFORT", "high"), ("SHLVL", "7")]).is_none());
    assert_eq!(served.loads(), 3, "{:#?}", served.status());
}

#[test]
fn a_daemon_that_hangs_or_is_spoken_to_wrongly_changes_no_answer() {
    let served = Served::guarded(GUARD);
    let daemon = served.start();
    let host = &HOSTS[0];
    let refused = |command: &str| {
        let answer = served.answer(host, host.call, &(host.shell)(&served.room, command));
        (host.refusal)(&answer).is_some()
    };
    assert!(refused("rm -rf x") && !refused("ls"));
    let mut held = Vec::new();
    for garbage in [
        &b""[..],
        b"bkt1",
        b"GET / HTTP/1.1\r\n\r\n",
        b"bkt1\x01\xff\xff\xff\xff",
    ] {
        let mut stream = UnixStream::connect(served.socket()).unwrap();
        stream.write_all(garbage).unwrap();
        held.push(stream);
    }
    assert!(refused("rm -rf x") && !refused("ls"), "others say nonsense");
    daemon.signal(Signal::STOP);
    let start = Instant::now();
    assert!(refused("rm -rf x") && !refused("ls"), "the daemon is stopped");
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    daemon.signal(Signal::CONT);
    assert!(refused("rm -rf x") && !refused("ls"), "the daemon goes on");
}

#[test]
fn a_question_about_another_project_is_answered_there() {
    let served = Served::guarded(GUARD);
    let _daemon = served.start();
    let host = &HOSTS[0];
    let other = served.room.work().with_file_name("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(
        other.join("becket.toml"),
        "[[hook]]\nevent = \"pre_tool\"\nname = \"theirs\"\ncommand = 'exit 0'\n",
    )
    .unwrap();
    let mut question = (host.shell)(&served.room, "ls");
    question["cwd"] = other.to_str().into();
    let answer = served.answer(host, host.call, &question);
    let why = (host.refusal)(&answer).expect("the other project is not trusted");
    assert!(why.contains("trust"), "{why}");
    served.run(["bridge", "daemon", "stop"]).ended_with(0);
}

#[test]
fn a_daemon_whose_program_or_socket_is_gone_ends() {
    for what in ["programs/becket", "socket"] {
        let served = Served::guarded(GUARD);
        let daemon = served.start();
        match what {
            "socket" => std::fs::remove_file(served.socket()).unwrap(),
            _ => std::fs::remove_file(served.programs.join("becket")).unwrap(),
        }
        let finished = daemon.finish();
        assert_eq!(finished.code, 0, "{what}: {finished:#?}");
    }
}

#[test]
fn killing_the_daemon_lets_nothing_pass() {
    let served = Served::guarded(GUARD);
    let host = &HOSTS[0];
    let events = scale(40);
    let mut killed = 0;
    let mut random = 0x2545_f491_u32;
    std::thread::scope(|scope| {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let (served, killed, random) = (&served, &mut killed, &mut random);
        scope.spawn(move || {
            loop {
                *random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let pause = Duration::from_millis(u64::from(*random >> 16) % 400);
                if stopped.recv_timeout(pause) != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                    return;
                }
                for status in served.status() {
                    let pid = status["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
                    if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
                        let _ = rustix::process::kill_process(pid, Signal::KILL);
                        *killed += 1;
                    }
                }
            }
        });
        for event in 0..events {
            let start = Instant::now();
            let is_bad = event % 2 == 0;
            let command = if is_bad { "rm -rf x" } else { "ls" };
            let answer = served.answer(host, host.call, &(host.shell)(&served.room, command));
            assert_eq!(
                (host.refusal)(&answer).is_some(),
                is_bad,
                "event {event}: {answer}"
            );
            assert!(
                start.elapsed() < Duration::from_secs(48),
                "event {event} took {:?}",
                start.elapsed()
            );
        }
        drop(stop);
    });
    assert!(killed > 0, "no daemon was killed");
    served.run(["bridge", "daemon", "stop"]).ended_with(0);
}

#[test]
fn many_sessions_share_a_daemon_in_order_and_without_growing() {
    let sessions = scale(120) / 10;
    let served = Served::usual();
    served.room.config(
        "[[hook]]\nevent = \"pre_shell\"\nname = \"order\"\ncommand = '''jq -r '\"\\(.session_id) \\(.command)\"' >> \
         \"$HOME/order\"'''\n",
    );
    let daemon = served.start();
    let host = &HOSTS[0];
    let round = |round: usize| {
        std::thread::scope(|scope| {
            for session in 0..sessions {
                let served = &served;
                scope.spawn(move || {
                    for event in 0..4 {
                        let mut question = (host.shell)(&served.room, &format!("echo {}", round * 4 + event));
                        question["session_id"] = format!("s{session}").into();
                        let answer = served.answer(host, host.call, &question);
                        assert_eq!((host.refusal)(&answer), None, "{answer}");
                    }
                });
            }
        });
        memory(daemon.id())
    };
    let rounds: Vec<u64> = (0..5).map(round).collect();
    let mut seen: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for line in served.room.read("../home/order").lines() {
        let (session, number) = line.split_once(" echo ").unwrap();
        seen.entry(session.to_owned())
            .or_default()
            .push(number.parse().unwrap());
    }
    assert_eq!(seen.len(), sessions);
    for (session, numbers) in seen {
        assert_eq!(numbers, (0..20).collect::<Vec<_>>(), "{session}");
    }
    // After the first two rounds everything is loaded.
    assert!(
        rounds[4] < rounds[1] + rounds[1] / 5,
        "the daemon grows: {rounds:?} KB"
    );
}

/// The memory of a process in KB.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}
