//! What the profiles let commands do, and what is said about them.

use rustix::process::Signal;
use serde_json::json;
use testkit::needs;

use super::{SECRET, can_confine, project};

#[test]
fn a_command_of_the_model_is_confined_and_says_so_when_it_fails() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    room.write(
        "../home/.config/becket/config.toml",
        "sandbox.shell = \"workspace\"\n",
    );
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "echo inside > file; echo x > becket.toml"}}]},
        {"text": "done"},
    ]));
    room.run(["--yes", "--json", "--model", &model, "go"])
        .ended_with(0)
        .said("the command ran in the sandbox `workspace`");
    assert_eq!(room.read("file"), "inside\n");
    assert_eq!(room.read("becket.toml"), "# settings\n");
    room.run(["--yes", "--sandbox", "off", "--model", &model, "go"])
        .ended_with(0);
    assert_eq!(room.read("becket.toml"), "x\n");
}

#[test]
fn a_background_job_is_confined_too() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    let model = room.model(&json!([
        {"tool_calls": [{"name": "run_background_job", "arguments": {"cmd": "echo x > becket.toml; echo y > seen"}}]},
        {"tool_calls": [{"name": "shell", "arguments": {"command": "until [ -s seen ]; do sleep 0.1; done"}}]},
        {"text": "done"},
    ]));
    room.run([
        "--yes",
        "--sandbox",
        "workspace",
        "--tools",
        "docker-agent",
        "--model",
        &model,
        "go",
    ])
    .ended_with(0);
    assert_eq!(room.read("becket.toml"), "# settings\n");
}

#[test]
fn what_stood_in_for_missing_settings_is_gone_afterwards() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    let inside = room
        .run(["--sandbox", "workspace", "sandbox", "run", "--", "ls", "-A"])
        .ended_with(0);
    assert!(inside.stdout.contains(".cursor"), "{inside:?}");
    for name in [".cursor", ".gemini", ".becket", ".git/commondir"] {
        assert!(!room.has(name), "{name}");
    }
    assert!(room.has(".claude/settings.json"), "what was there stays");
}

#[test]
fn commands_at_the_same_time_do_not_disturb_each_other() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    let run = |line: &str| room.start(["--sandbox", "workspace", "sandbox", "run", "--", "sh", "-c", line]);
    let long = run("echo begun; until [ -e go ]; do sleep 0.1; done; mkdir .cursor/x || echo held");
    long.wait_for_output("begun");
    run("rmdir .cursor; mkdir .gemini/x; exit 3")
        .finish()
        .ended_with(3);
    assert!(room.has(".cursor"), "the first command still needs it");
    room.write("go", "");
    long.finish().ended_with(0).said("held");
    assert!(!room.has(".cursor") && !room.has(".gemini"));
}

#[test]
fn a_folder_without_a_repository_becomes_none() {
    let room = crate::room();
    if !can_confine(&room) || !needs("git") {
        return;
    }
    let line = "git init -q --bare made && mv made/* . ; git init -q .; echo x > .git/config; ls";
    room.run(["--sandbox", "workspace", "sandbox", "run", "--", "sh", "-c", line]);
    assert!(room.has("objects") && room.has("refs"), "the rest could be moved");
    assert!(!room.has("HEAD") && !room.has(".git"), "{:?}", room.work());
}

#[test]
fn git_works_in_a_linked_worktree_and_its_settings_stay() {
    let room = crate::room();
    if !can_confine(&room) || !needs("git") {
        return;
    }
    let line = "git init -q main && cd main && git config user.name A && git config user.email a@localhost && \
                git commit -q --allow-empty -m first && git worktree add -q ../tree";
    let made = room.command_of(std::path::Path::new("sh"), ["-c", line]).spawn();
    testkit::finish(made.expect("it can be started")).ended_with(0);
    let config = room.read("main/.git/config");
    let line = "echo x > file && git add file && git commit -qm second && git log --oneline; \
                echo x >> ../main/.git/config; echo x > ../main/.git/hooks/post-commit; echo x > .git; \
                echo x > ../main/.git/worktrees/tree/commondir; echo x > ../main/.git/worktrees/tree/config.worktree";
    let mut inside = room.command(["--sandbox", "workspace", "sandbox", "run", "--", "sh", "-c", line]);
    inside.current_dir(room.work().join("tree"));
    let inside = testkit::finish(inside.spawn().expect("it can be started"));
    assert!(inside.stdout.contains("second"), "{inside:?}");
    assert_eq!(room.read("main/.git/config"), config);
    assert_eq!(room.read("main/.git/worktrees/tree/commondir"), "../..\n");
    assert!(room.read("tree/.git").starts_with("gitdir:"));
    for name in ["hooks/post-commit", "worktrees/tree/config.worktree"] {
        assert!(!room.has(&format!("main/.git/{name}")), "{name}");
    }
}

#[test]
fn a_repository_behind_a_link_can_be_used_and_not_be_replaced() {
    let room = crate::room();
    if !can_confine(&room) || !needs("git") {
        return;
    }
    let line = "git init -q . && git config user.name A && git config user.email a@localhost && mv .git real && \
                ln -s real .git";
    let made = room.command_of(std::path::Path::new("sh"), ["-c", line]).spawn();
    testkit::finish(made.expect("it can be started")).ended_with(0);
    let config = room.read("real/config");
    let line = "echo x > file && git add file && git commit -qm first && git log --oneline; echo x >> real/config; \
                rm .git; mkdir .git; mv real away";
    room.run(["--sandbox", "workspace", "sandbox", "run", "--", "sh", "-c", line])
        .said("first");
    assert_eq!(room.read("real/config"), config);
    assert!(room.work().join(".git").is_symlink());
}

#[test]
fn the_exit_code_is_the_commands() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    room.run(["sandbox", "run", "--", "sh", "-c", "exit 7"])
        .ended_with(7);
    room.run(["sandbox", "run", "--", "sh", "-c", "kill -9 $$"])
        .ended_with(137);
    room.run(["sandbox", "run", "--", "no-such-program"])
        .ended_with(126)
        .complained("cannot start no-such-program");
}

#[test]
fn keys_do_not_reach_a_command() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    let mut run = room.command(["sandbox", "run", "--", "env"]);
    run.env("ANTHROPIC_API_KEY", SECRET).env("GREETING", "hello");
    let shown = testkit::finish(run.spawn().expect("it can be started")).ended_with(0);
    assert!(
        shown.stdout.contains("GREETING=hello") && !shown.stdout.contains(SECRET),
        "{shown:?}"
    );
}

#[test]
fn ctrl_c_is_for_the_command_and_a_request_to_end_for_becket() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    let line = "trap 'echo heard; exit 5' INT; echo ready; while :; do sleep 0.1; done";
    let start = || {
        let becket = room.start(["sandbox", "run", "--", "sh", "-c", line]);
        becket.wait_for_output("ready");
        becket
    };
    let becket = start();
    becket.signal_group(Signal::INT);
    becket.finish().ended_with(5).said("heard");
    let becket = start();
    becket.signal(Signal::TERM);
    becket.finish().ended_with(143);
}

#[test]
fn devices_work() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    let line =
        "echo x > /dev/null && head -c 8 /dev/urandom | wc -c && cat < /dev/null && echo out > /dev/stdout";
    room.run(["sandbox", "run", "--", "sh", "-c", line])
        .ended_with(0)
        .said("8\nout");
}

#[test]
fn git_works_in_the_workspace() {
    if !needs("git") {
        return;
    }
    let room = crate::room();
    if !can_confine(&room) {
        return;
    }
    let git = |words: &[&str]| {
        let mut git = room.command_of(std::path::Path::new("git"), words);
        git.spawn()
            .map(testkit::finish)
            .expect("git can be started")
            .ended_with(0)
    };
    git(&["init", "-q"]);
    git(&["config", "user.name", "A"]);
    git(&["config", "user.email", "a@localhost"]);
    room.write("file", "text");
    let line = "git add -A && git commit -qm first && git status --porcelain && git log --oneline && git checkout -qb other";
    let inside = room
        .run(["--sandbox", "workspace", "sandbox", "run", "--", "sh", "-c", line])
        .ended_with(0);
    assert!(inside.stdout.contains("first"), "{inside:?}");
    let files = git(&["ls-files"]);
    assert_eq!(files.stdout, "file\n", "nothing of the sandbox is in the commit");
}

#[test]
fn tools_that_build_and_test_work_in_the_workspace() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    room.write(
        "app/Cargo.toml",
        "[package]\nname = \"app\"\nversion = \"0.0.0\"\n[workspace]\n",
    );
    room.write("app/src/main.rs", "fn main() {\n    println!(\"built\");\n}\n");
    room.write("npm/package.json", r#"{"name": "app", "version": "1.0.0"}"#);
    room.write("npm/lib/package.json", r#"{"name": "lib", "version": "1.0.0"}"#);
    room.write("npm/lib/index.js", "module.exports = 'installed'\n");
    let python = "import multiprocessing as m, socket, tempfile, unittest\n\
                  class T(unittest.TestCase):\n    \
                      def test(self):\n        \
                          socket.create_server(('127.0.0.1', 0))\n        \
                          tempfile.mkdtemp()\n        \
                          with m.Pool(2) as pool: self.assertEqual(pool.map(abs, [-1]), [1])\n";
    room.write("test_it.py", python);
    let cargo = std::path::Path::new(env!("CARGO"));
    for (program, line, wanted) in [
        (
            "cc",
            "cd app && PATH=$BIN:$PATH cargo build -q --offline && target/debug/app",
            "built",
        ),
        (
            "npm",
            "cd npm && npm install --offline ./lib && node -p 'require(\"lib\")'",
            "installed",
        ),
        ("python3", "python3 -m unittest -q test_it 2>&1", "OK"),
    ] {
        if !needs(program) {
            continue;
        }
        let words = ["--sandbox", "workspace", "sandbox", "run", "--", "sh", "-c", line];
        let mut becket = room.command(words);
        becket.env("BIN", cargo.parent().expect("cargo is in a folder"));
        testkit::finish(becket.spawn().expect("it can be started"))
            .ended_with(0)
            .said(wanted);
    }
}

#[test]
fn explain_shows_what_is_writable_and_what_is_not() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    room.run(["--sandbox", "workspace", "sandbox", "explain"])
        .ended_with(0)
        .said("writable")
        .said("becket.toml")
        .said(".ssh")
        .said("network    none");
}

#[test]
fn an_unknown_profile_is_refused() {
    let room = project();
    room.run(["--sandbox", "airtight", "hi"])
        .ended_with(2)
        .complained("workspace");
}
