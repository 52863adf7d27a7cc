//! Ways out of the sandbox, tried by a compiled program, by a shell, by Python and by Node. Each prints ESCAPED if it
//! got through; what it was after is looked at as well.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use testkit::{Room, needs};

use super::{GIT_SETTINGS, SECRET, can_confine, file, outside, project};

/// Lines for a shell. `$OUT` is a file outside, `$ROOM` the room with its home, `$VICTIM` a process outside, `$BECKET`
/// the one that has started it.
// tidy: a table
const LINES: &[(&str, &str)] = &[
    ("write a file outside", "echo x > $OUT"),
    ("append to a file outside", "echo x >> $OUT"),
    ("create a file outside", "touch $OUT.new"),
    ("remove a file outside", "rm -f $OUT"),
    ("move a file outside", "mv $OUT ."),
    ("create a folder outside", "mkdir ${OUT%/*}/folder"),
    ("write through a link", "ln -s $OUT link && echo x > link"),
    (
        "write through a link to a folder",
        "ln -s ${OUT%/*} there && echo x > there/new",
    ),
    ("write through `..`", "echo x > ./../../../../../../../../..$OUT"),
    ("write through /proc/self/root", "echo x > /proc/self/root$OUT"),
    (
        "write through the root of another process",
        "echo x > /proc/$VICTIM/root$OUT",
    ),
    (
        "write through the folder of another process",
        "echo x > /proc/$VICTIM/cwd/victim-was-here",
    ),
    ("hard link", "ln $OUT linked && echo x > linked"),
    ("change the mode of a file outside", "chmod 777 $OUT"),
    ("change the time of a file outside", "touch -d 2001-01-01 $OUT"),
    (
        "write the user's start-up files",
        "echo x >> $HOME_OUTSIDE/.bashrc",
    ),
    (
        "write the start-up files of a home among temporary files",
        "echo x >> $ROOM/home/.bashrc",
    ),
    ("write settings of the project", "echo x >> becket.toml"),
    (
        "replace settings of the project",
        "echo x > t && mv t becket.toml",
    ),
    ("remove settings of the project", "rm becket.toml"),
    ("write an agent's settings", "echo x > .claude/settings.json"),
    (
        "add to an agent's settings",
        "echo x > .claude/settings.local.json",
    ),
    (
        "replace the folder of an agent",
        "mv .claude away && mkdir .claude && echo x > .claude/settings.json",
    ),
    (
        "create an agent's settings",
        "mkdir -p .cursor && echo x > .cursor/hooks.json",
    ),
    (
        "create another agent's settings",
        "mkdir -p .gemini && echo x > .gemini/settings.json",
    ),
    (
        "create becket's own folder",
        "mkdir -p .becket && echo x > .becket/becket.toml",
    ),
    ("write a hook of git", "echo x > .git/hooks/post-checkout"),
    ("overwrite a hook of git", "echo x > .git/hooks/pre-commit"),
    ("write git's settings", "echo x >> .git/config"),
    ("replace git's settings", "echo x > t && mv t .git/config"),
    (
        "replace the repository",
        "mv .git away && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
    ),
    (
        "send git to another repository",
        "rm -f .git/commondir && echo ../evil > .git/commondir",
    ),
    ("overwrite where git looks", "echo ../evil > .git/commondir"),
    (
        "add settings of git",
        "rm -f .git/config.worktree; echo x > .git/config.worktree && echo x > .git/info/attributes",
    ),
    (
        "replace a hook that a setting names",
        "echo x > shared-hooks/pre-commit",
    ),
    ("move the hooks that a setting names", "mv shared-hooks away"),
    ("change included settings", "echo x > shared-config"),
    (
        "create included settings",
        "mkdir -p later; echo x > later/config",
    ),
    ("write settings of a clone", "echo x >> sub/clone/.git/config"),
    (
        "write a hook of a clone",
        "echo x > sub/clone/.git/hooks/post-checkout",
    ),
    ("replace a clone's repository", "mv sub/clone/.git sub/clone/away"),
    ("send a clone to another repository", "mv sub/clone away"),
    ("read secrets of the project", "grep canary .env"),
    (
        "read secrets deep in the project",
        "grep canary sub/a/b/c/d/e/.env.local",
    ),
    ("read secrets by a variable's name", "grep canary keys/cloud.json"),
    (
        "read secrets through a link",
        "ln -s .env copy && grep canary copy",
    ),
    (
        "read secrets through a hard link",
        "ln .env copy && grep canary copy",
    ),
    (
        "read secrets by moving them",
        "mv .env moved && grep canary moved",
    ),
    (
        "read secrets by moving what is above them",
        "mv sub away; grep canary away/.env sub/.env",
    ),
    (
        "replace a link to settings",
        "rm .codex; mkdir .codex && echo x > .codex/hooks.json",
    ),
    ("look around the root", "grep -r canary /..$ROOM/home/.ssh"),
    ("read keys", "grep -r canary $ROOM/home/.ssh"),
    (
        "read keys of a cloud",
        "cat $ROOM/home/.aws/credentials | grep canary",
    ),
    (
        "read becket's settings",
        "grep canary $ROOM/home/.config/becket/config.toml",
    ),
    (
        "read keys through another process",
        "grep -r canary /proc/$VICTIM/root$ROOM/home/.ssh",
    ),
    (
        "read the environment of another process",
        "tr '\\0' '\\n' < /proc/$VICTIM/environ | grep canary",
    ),
    (
        "read the memory of another process",
        "head -c 1 /proc/$VICTIM/mem",
    ),
    ("read the files of another process", "ls /proc/$VICTIM/fd/0"),
    ("see another process", "ls /proc/$VICTIM"),
    ("stop another process", "kill -STOP $VICTIM"),
    (
        "read the environment of what has confined it",
        "tr '\\0' '\\n' < /proc/1/environ",
    ),
    (
        "look around from where it was before",
        "ls /proc/1/cwd/ /proc/1/root/",
    ),
    ("change the mode of a device", "chmod 600 /dev/null"),
    ("replace a device", "rm /dev/null"),
    ("stop becket", "kill -0 $BECKET"),
    ("make a device", "mknod disk b 8 0 && head -c 1 disk"),
    (
        "read a disk",
        "ls /dev/vda /dev/sda /dev/nvme0n1 2>/dev/null | grep -q .",
    ),
    ("read the terminal", "test -e /dev/tty"),
    ("make namespaces", "unshare -Ur true"),
    ("make mounts", "mount -t tmpfs none /mnt"),
    ("remove a mount", "umount -l .env && grep canary .env"),
    ("remove the protection", "umount -l .git/hooks"),
    ("enter other namespaces", "nsenter -t $VICTIM -m true"),
    (
        "reach a server of the machine",
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/$PORT'",
    ),
    (
        "write the kernel's settings",
        "echo x > /proc/sys/kernel/hostname",
    ),
    ("become root", "su -c true </dev/null || sudo -n true"),
    ("write a group of processes", "mkdir /sys/fs/cgroup/escaped"),
];

/// System calls for the compiled program, with a word of the same meaning as above.
// tidy: a table
const CALLS: &[(&str, &str)] = &[
    ("ptrace", ""),
    ("process_vm_readv", ""),
    ("process_vm_writev", ""),
    ("pidfd_getfd", ""),
    ("kill", ""),
    ("io_uring", ""),
    ("mount", ""),
    ("remount", ""),
    ("umount", ".env"),
    ("open_tree", ""),
    ("fsopen", ""),
    ("pivot_root", ""),
    ("chroot", ""),
    ("unshare_user", ""),
    ("clone_user", ""),
    ("setns", ""),
    ("open_by_handle", ""),
    ("bpf", ""),
    ("perf", ""),
    ("keyctl", ""),
    ("userfaultfd", ""),
    ("socket_unix", ""),
    ("socket_vsock", ""),
    ("socket_alg", ""),
    ("socket_packet", ""),
    ("datagrams", ""),
    ("raw_datagrams", ""),
    ("socket_raw", ""),
    ("clone_mount", ""),
    ("clone3", ""),
    ("mode_of_first", ""),
    ("folder_of_first", ""),
    ("memory_of_first", ""),
    ("files_of_first", ""),
    ("keys", ""),
    ("request_key", ""),
    ("slow_down_user", ""),
    ("limit_other", ""),
    ("slow_down", ""),
    ("type", ""),
    ("descriptor", ""),
    ("root", ""),
    ("truncate", "$OUT"),
    ("rename_exchange", "becket.toml"),
    ("hard_link", "$OUT"),
    ("chmod", "$OUT"),
    ("chown", "$OUT"),
    ("utime", "$OUT"),
    ("xattr", "$OUT"),
    #[cfg(target_arch = "x86_64")]
    ("x32", ""),
    #[cfg(target_arch = "x86_64")]
    ("x32_mount", ""),
    #[cfg(target_arch = "x86_64")]
    ("x32_clone3", ""),
    #[cfg(target_arch = "x86_64")]
    ("i386", ""),
];

/// Scripts for other languages, which print ESCAPED.
// tidy: a table
const SCRIPTS: &[(&str, &str)] = &[
    ("python3", "import os; open(os.environ['OUT'], 'w')"),
    (
        "python3",
        "import os; os.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=os.open(os.path.dirname(os.environ['OUT']), 0))",
    ),
    (
        "python3",
        "import os, socket; socket.create_connection(('127.0.0.1', int(os.environ['PORT'])), 5)",
    ),
    (
        "python3",
        "import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ['SOCKET'])",
    ),
    (
        "python3",
        "import socket; socket.socket(socket.AF_UNIX).connect('\\0escape')",
    ),
    (
        "python3",
        "import os; assert 'canary' in open(os.environ['ROOM'] + '/home/.ssh/id_ed25519').read()",
    ),
    ("python3", "import os; os.kill(int(os.environ['VICTIM']), 10)"),
    ("python3", "import os; os.rename('.git', 'away')"),
    ("node", "require('fs').writeFileSync(process.env.OUT, 'x')"),
    ("node", "require('fs').mkdirSync('.codex/x', {recursive: true})"),
    (
        "node",
        "if (!require('fs').readFileSync('.env', 'utf8').includes('canary')) process.exit(1)",
    ),
    ("node", "process.kill(Number(process.env.VICTIM), 'SIGUSR1')"),
];

/// A project, and around it what a program would be after.
struct Scene {
    room: Room,
    outside: tempfile::TempDir,
    victim: Child,
    server: TcpListener,
    sockets: (UnixListener, std::path::PathBuf),
}

impl Scene {
    /// The scene, if this machine can confine.
    fn set() -> Option<Self> {
        let room = project();
        if !can_confine(&room) {
            return None;
        }
        let outside = outside();
        std::fs::write(file(&outside, "canary"), "untouched").expect("written");
        let victim = Command::new("sleep")
            .arg("600")
            .env("TOKEN", SECRET)
            .current_dir(outside.path())
            .stdin(Stdio::null())
            .spawn()
            .expect("it can be started");
        let socket = room.work().join("socket");
        Some(Self {
            victim,
            server: TcpListener::bind(("127.0.0.1", 0)).expect("a port"),
            sockets: (UnixListener::bind(&socket).expect("a socket"), socket),
            room,
            outside,
        })
    }

    /// Runs a program in the sandbox. A descriptor of a file outside is left open for it.
    fn run(&self, profile: &str, words: &[&str]) -> String {
        self.run_with(profile, words, &[])
    }

    fn run_with(&self, profile: &str, words: &[&str], variables: &[(&str, String)]) -> String {
        let mut shell = self.room.command(["--sandbox", profile, "sandbox", "run", "--"]);
        shell.args(words);
        // Rust closes what it opens; a shell in between hands the descriptor on.
        let mut outer = self
            .room
            .command_of(Path::new("sh"), ["-c", r#"BECKET=$$ exec "$@" 9>>"$OUT""#, "sh"]);
        outer.arg(shell.get_program()).args(shell.get_args());
        outer
            .env("OUT", self.canary())
            .env("ROOM", self.room.work().parent().expect("a room has a folder"))
            .env("HOME_OUTSIDE", self.outside.path())
            .env("VICTIM", self.victim.id().to_string())
            .env(
                "PORT",
                self.server.local_addr().expect("it is bound").port().to_string(),
            )
            .env("SOCKET", &self.sockets.1)
            .env(
                "GOOGLE_APPLICATION_CREDENTIALS",
                self.room.work().join("keys/cloud.json"),
            )
            .envs(variables.iter().map(|(name, value)| (name, value)));
        let finished = testkit::finish(outer.spawn().expect("it can be started"));
        format!("{}{}", finished.stdout, finished.stderr)
    }

    fn canary(&self) -> std::path::PathBuf {
        file(&self.outside, "canary")
    }

    /// What is outside as it was, and nothing more; the settings of the project as well.
    fn is_untouched(&self, attempt: &str) {
        assert_eq!(
            std::fs::read_to_string(self.canary()).ok().as_deref(),
            Some("untouched"),
            "{attempt}"
        );
        assert_eq!(
            self.outside.path().read_dir().expect("it is there").count(),
            1,
            "{attempt}"
        );
        for (name, content) in [
            ("becket.toml", "# settings\n"),
            (".claude/settings.json", "{}\n"),
            (".git/config", GIT_SETTINGS),
            ("shared-hooks/pre-commit", "#!/bin/sh\n"),
            ("shared-config", "[core]\n"),
            ("later/config", ""),
            ("sub/clone/.git/config", "[core]\n"),
            ("sub/clone/.git/hooks/post-checkout", ""),
            (".git/hooks/pre-commit", "#!/bin/sh\n"),
            (".git/hooks/post-checkout", ""),
            (".git/commondir", ""),
            (".claude/settings.local.json", ""),
            (".cursor/hooks.json", ""),
            (".gemini/settings.json", ""),
            (".becket/becket.toml", ""),
            (".codex/hooks.json", "{}\n"),
        ] {
            assert_eq!(self.room.read(name), content, "{name} after: {attempt}");
        }
    }

    fn holds(&self, profile: &str, attempt: &str, words: &[&str]) {
        let said = self.run(profile, words);
        assert!(
            !said.contains("ESCAPED") && !said.contains(SECRET),
            "{profile}: {attempt}: {said}"
        );
        self.is_untouched(attempt);
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

const PROFILES: [&str; 3] = ["workspace", "workspace+network", "read-only"];

#[test]
fn no_shell_gets_out() {
    let Some(scene) = Scene::set() else { return };
    for profile in PROFILES {
        // It must be able to do what it is there for, or nothing would be shown.
        assert!(scene.run(profile, &["sh", "-c", "echo alive"]).contains("alive"));
        for (attempt, line) in LINES {
            let line = format!("{{ {line}; }} && echo ESCAPED");
            scene.holds(profile, attempt, &["sh", "-c", &line]);
            // What was created in the project by one attempt must not help the next one.
            for name in ["link", "there", "linked", "t", "copy", "moved", "mine"] {
                let _ = std::fs::remove_file(scene.room.work().join(name));
            }
        }
    }
}

#[test]
fn no_compiled_program_gets_out() {
    if !needs("cc") {
        return;
    }
    let Some(scene) = Scene::set() else { return };
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/blackbox/sandbox/escapes.c");
    let built = Command::new("cc")
        .args(["-O0", "-o"])
        .arg(scene.room.work().join("escape"))
        .arg(source)
        .output();
    let built = built.expect("it can be started");
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    scene.room.write("mine", "mine");
    let victim = scene.victim.id().to_string();
    for profile in PROFILES {
        for (call, word) in CALLS {
            let word = word.replace("$OUT", &scene.canary().display().to_string());
            scene.holds(profile, call, &["./escape", call, &word, &victim]);
        }
    }
}

#[test]
fn no_script_gets_out() {
    let Some(scene) = Scene::set() else { return };
    for (program, script) in SCRIPTS.iter().filter(|(program, _)| needs(program)) {
        let (option, end) = match *program {
            "python3" => ("-c", "; print('ESCAPED')"),
            _ => ("-e", "; console.log('ESCAPED')"),
        };
        for profile in PROFILES {
            scene.holds(profile, script, &[program, option, &format!("{script}{end}")]);
        }
    }
}

#[test]
fn what_one_command_moves_helps_no_later_one() {
    let Some(scene) = Scene::set() else { return };
    let room = scene
        .room
        .work()
        .parent()
        .expect("a room has a folder")
        .display()
        .to_string();
    std::fs::create_dir_all(format!("{room}/temporary/deep")).expect("the room is writable");
    let pairs = [
        ("mv sub away", "grep -r canary away sub"),
        (
            "mv .git away; mkdir -p .git/hooks",
            "echo x > .git/hooks/post-checkout",
        ),
        (
            "mv $ROOM/temporary $ROOM/away; mkdir $ROOM/temporary; ln -s $HOME_OUTSIDE $ROOM/temporary/deep",
            "echo x > $TMPDIR/escaped",
        ),
    ];
    for (first, second) in pairs {
        for line in [first, second] {
            scene.run_with(
                "workspace",
                &["sh", "-c", line],
                &[("TMPDIR", format!("{room}/temporary/deep"))],
            );
        }
        let said = scene.run("workspace", &["sh", "-c", second]);
        assert!(!said.contains(SECRET), "{first}; {second}: {said}");
        scene.is_untouched(first);
    }
}

#[test]
fn nothing_outlives_a_command() {
    let Some(scene) = Scene::set() else { return };
    // Out of the session, without the variable by which becket knows what it has started, and its parent has ended.
    let daemon = r#"setsid env -i sh -c 'trap "" TERM HUP; (exec env -i sleep 86399) & echo x > begun'"#;
    let line = format!(
        "({daemon} </dev/null >/dev/null 2>&1 &); until [ -s begun ]; do sleep 0.1; done; echo started"
    );
    assert!(scene.run("workspace", &["sh", "-c", &line]).contains("started"));
    assert!(!is_running("86399"), "a daemon lives on");
    // Python can make itself unreadable for others, as what it then starts is until it runs.
    if needs("python3") {
        let line = "import ctypes, os\n\
                    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n\
                    if os.fork() == 0:\n \
                        os.setsid()\n \
                        if os.fork() == 0: os.execve('/bin/sleep', ['sleep', '86398'], {})\n \
                        os._exit(0)\n\
                    os.wait()";
        scene.run("workspace", &["python3", "-c", line]);
        assert!(!is_running("86398"), "a daemon lives on");
    }
}

#[test]
fn becket_stays_as_it_is_below_the_project() {
    let Some(scene) = Scene::set() else { return };
    let folder = scene.room.work().join("bin");
    std::fs::create_dir(&folder).expect("the room is writable");
    let binary = Path::new(env!("CARGO_BIN_EXE_becket"));
    for name in ["becket", "becket-sandbox"] {
        std::fs::copy(binary.with_file_name(name), folder.join(name)).expect("the room is writable");
    }
    for line in [
        "echo x > bin/becket",
        "rm -f bin/becket",
        "mv bin/becket-sandbox away",
        "echo x > bin/becket-sandbox",
        "chmod 700 bin/becket-sandbox",
        "mv bin away",
    ] {
        let line = format!("{line} && echo ESCAPED");
        let words = [
            "--sandbox",
            "workspace",
            "sandbox",
            "run",
            "--",
            "sh",
            "-c",
            &line,
        ];
        let becket = scene.room.command_of(&folder.join("becket"), words).spawn();
        let said = testkit::finish(becket.expect("it can be started"));
        assert!(
            !said.stdout.contains("ESCAPED") && said.code != 0,
            "{line}: {said:?}"
        );
    }
}

#[test]
fn a_command_ends_with_whoever_has_started_it() {
    let Some(scene) = Scene::set() else { return };
    let line = "setsid env -i sleep 86397 & echo begun; wait";
    let becket = scene
        .room
        .start(["--sandbox", "workspace", "sandbox", "run", "--", "sh", "-c", line]);
    becket.wait_for_output("begun");
    becket.signal(Signal::KILL);
    // Its output ends with the last that could write to it.
    becket.finish();
    assert!(!is_running("86397"), "the command lives on");
}

/// Whether a program with this word on its command line runs.
fn is_running(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("processes can be listed");
    processes.flatten().any(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.next() == Some(b"sleep") && words.any(|one| one == word.as_bytes())
    })
}
