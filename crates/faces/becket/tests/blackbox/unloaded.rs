//! Guests that were found and cannot be loaded: each counts as a guard. No run starts beside one, the user is told its
//! name and the way out, and nothing of this is remembered.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::pi_client::Client;
use crate::plugins::{asked, bash, plugin};
use crate::room;
use crate::scheme::put;
use crate::terminal::Terminal;

const EXTENSIONS: &str = "../home/.pi/agent/extensions";

/// The turns of a model that runs a command.
pub fn touching() -> Value {
    json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "touch made"}}]},
        {"text": "went on"}
    ])
}

/// Lets a model run a command, with everything allowed.
fn attempt(room: &Room, arguments: &[&str]) -> Finished {
    let _ = std::fs::remove_file(room.work().join("made"));
    let model = room.model(&touching());
    room.run([&["--json", "--yes", "--model", &model], arguments, &["go"]].concat())
}

/// No run starts: the guest is named with its reason and the way out, and no request was made.
fn stopped(room: &Room, name: &str, words: &str) {
    let run = attempt(room, &[]).ended_with(4);
    assert!(!room.has("made"), "{run:#?}");
    assert!(run.events_named("pre_request").is_empty(), "{run:#?}");
    assert!(run.stderr.contains(words), "{words}: {run:#?}");
    assert!(
        run.stderr.contains(&format!("--without {name}")),
        "{name}: {run:#?}"
    );
}

/// The call runs.
fn ran(room: &Room, arguments: &[&str]) -> Finished {
    let run = attempt(room, arguments).ended_with(0);
    assert!(room.has("made"), "{run:#?}");
    run
}

/// The guest stops every run until it is left out by name, and commands that run nothing work and name it.
fn counts_as_a_guard(room: &Room, name: &str, words: &str) {
    stopped(room, name, words);
    // Nothing was remembered.
    stopped(room, name, words);
    let run = ran(room, &["--without", name]);
    assert!(run.stderr.contains(&format!("{name} is left out")), "{run:#?}");
    stopped(room, name, words);
    let doctor = room.run(["doctor"]).ended_with(1);
    let is_named = |line: &str| line.contains(name) && line.contains(words);
    assert!(
        doctor.stdout.lines().any(is_named),
        "{name}: {words}: {doctor:#?}"
    );
    room.run(["hooks", "list"]).ended_with(0);
    let fired = room.run(["hooks", "fire", "pre_tool", "--set", "tool_name=shell"]);
    assert!(fired.stdout.contains("outcome: refused"), "{name}: {fired:#?}");
}

/// What breaks a plugin, and what is said about it.
type Damage = (fn(&Room), &'static str);

/// How a folder is broken, in words and in deeds.
type FolderDamage = (&'static str, fn(&Room, &str));

type Broken = (&'static str, &'static str, &'static str);

#[test]
fn a_plugin_that_cannot_say_what_it_is_counts_as_a_guard() {
    let table: &[Broken] = &[
        ("#!/no/such/interpreter\n", "guard", "--schema"),
        ("#!/bin/sh\necho oh >&2; exit 1\n", "guard", "exit code 1 (oh)"),
        ("#!/bin/sh\nkill -9 $$\n", "guard", "SIGKILL"),
        ("#!/bin/sh\nsleep 600\n", "guard", "no answer within 3s"),
        ("#!/bin/sh\nexec yes\n", "guard", "output too large"),
        ("#!/bin/sh\necho no json\n", "guard", "not JSON"),
        ("", "guard", "--schema"),
        ("#!/bin/sh\necho '[]'\n", "guard", "empty list"),
        (
            "#!/bin/sh\necho '{\"name\":\"a\",\"description\":\"d\",\"hooks\":\"pre_tool\"}'\n",
            "guard",
            "must be a list of names",
        ),
        (
            "#!/bin/sh\necho '{\"name\":\"a\",\"description\":\"d\",\"hooks\":[\"pre_tol\"]}'\n",
            "guard",
            "did you mean `pre_tool`?",
        ),
    ];
    for (program, name, words) in table {
        let room = room();
        room.config("[chibi]\nschema_timeout = 3\n");
        plugin(&room, name, program);
        counts_as_a_guard(&room, name, words);
    }
}

#[test]
fn an_extension_that_cannot_be_loaded_counts_as_a_guard() {
    let guard = "export default (pi: any) => { pi.on('tool_call', () => {}); };";
    let table: &[Broken] = &[
        ("", "guard", "factory"),
        (
            "export default (pi: any) => { pi.on('tool_call', () => {",
            "guard",
            "guard.ts:1:",
        ),
        (
            "export default () => { throw new Error('not today'); };",
            "guard",
            "not today",
        ),
        (
            "import x from 'not-there'; export default () => x;",
            "guard",
            "not-there",
        ),
        (
            "import part from './parts/part'; export default (pi: any) => part(pi);",
            "guard",
            "not a function",
        ),
        (
            "export default (pi: any) => pi.on('tool_cal', () => {});",
            "guard",
            "did you mean `tool_call`?",
        ),
        (
            "export default (pi: any) => { try { pi.on('toolCall', () => {}); } catch {} };",
            "guard",
            "did you mean `tool_call`?",
        ),
    ];
    for (code, name, words) in table {
        let room = room();
        room.write(&format!("{EXTENSIONS}/guard.ts"), code);
        // An import that was emptied.
        room.write(&format!("{EXTENSIONS}/parts/part.ts"), "");
        counts_as_a_guard(&room, name, words);
    }
    // What the settings name and is not there.
    for (settings, name, words) in [
        (r#"{"extensions": ["./gone.ts"]}"#, "gone", "No such file"),
        (
            r#"{"packages": ["npm:not-installed"]}"#,
            "npm:not-installed",
            "pi install",
        ),
    ] {
        let room = room();
        room.write("../home/.pi/agent/settings.json", settings);
        stopped(&room, name, words);
        ran(&room, &["--without", name]).complained(&format!("the extension {name} is left out"));
    }
    let room = room();
    room.write(&format!("{EXTENSIONS}/guard.ts"), guard);
    symlink("nowhere.ts", room.home().join(".pi/agent/extensions/lost.ts")).expect("a link can be made");
    stopped(&room, "lost", "No such file");
}

#[test]
fn a_file_in_scheme_that_cannot_be_loaded_counts_as_a_guard() {
    let name = "vfs:///tools/shared/guard.scm";
    for (text, words) in [
        (
            &b"(register-hook 'pre_tool (lambda (payload) '()"[..],
            "guard.scm:1:",
        ),
        (
            b"(register-hook 'pre_tol (lambda (payload) '()))",
            "did you mean `pre_tool`?",
        ),
        (b"(no-such-procedure)", "no-such-procedure"),
        (b"", "defines no tool and registers no hook"),
        (b"\xff\xfe", "not UTF-8"),
    ] {
        let room = room();
        put(&room, "tools/shared/guard.scm", "");
        let file = crate::scheme::backing(&room).join("tools/shared/guard.scm");
        std::fs::write(file, text).expect("the room is writable");
        counts_as_a_guard(&room, name, words);
    }
}

#[test]
fn what_has_been_a_plugin_is_one_also_when_the_cache_is_gone() {
    let breaks: [Damage; 4] = [
        (
            |room| {
                let permissions = std::fs::Permissions::from_mode(0o644);
                std::fs::set_permissions(place(room, "guard"), permissions).expect("it is there");
            },
            "it may not be executed; try `chmod +x",
        ),
        (
            |room| {
                std::fs::remove_file(place(room, "guard")).expect("it is there");
                std::fs::create_dir(place(room, "guard")).expect("the room is writable");
            },
            "the folder holds no program `guard`",
        ),
        (
            |room| {
                std::fs::remove_file(place(room, "guard")).expect("it is there");
                symlink("nowhere", place(room, "guard")).expect("a link can be made");
            },
            "the link leads to nowhere",
        ),
        (|room| plugin(room, "guard", "#!/bin/sh\nexit 1\n"), "exit code 1"),
    ];
    for (break_it, words) in breaks {
        let room = room();
        plugin(
            &room,
            "guard",
            &bash("guard", ",\"hooks\":[\"pre_tool\"]", "echo '{}'"),
        );
        ran(&room, &[]);
        break_it(&room);
        let _ = std::fs::remove_dir_all(room.home().join(".cache"));
        stopped(&room, "guard", words);
        ran(&room, &["--without", "guard"]);
    }
    // The folder itself, behind a link that leads nowhere.
    let room = room();
    std::fs::create_dir_all(room.home().join(".chibi")).expect("the room is writable");
    symlink("nowhere", room.home().join(".chibi/plugins")).expect("a link can be made");
    stopped(&room, "plugins", "cannot be read");
    ran(&room, &["--without", "plugins"]).complained("the plugin plugins is left out");
    ran(&room, &["--without", "plugins", "--without", "plugin"]).complained("`without` names plugin,");
}

fn place(room: &Room, name: &str) -> std::path::PathBuf {
    room.home().join(".chibi/plugins").join(name)
}

/// Lays down an extension that a manifest names.
fn lay_extension(room: &Room, folder: &str) {
    let manifest = "{\"pi\": {\"extensions\": [\"./src/main.ts\"]}}";
    let guard = "export default (pi: any) => { pi.on('tool_call', () => {}); };";
    room.write(&format!("{folder}/package.json"), manifest);
    room.write(&format!("{folder}/src/main.ts"), guard);
}

#[test]
fn an_extension_whose_folder_no_longer_yields_it_is_missed() {
    let package = "../home/.pi/agent/npm/node_modules/guard";
    let breaks: [FolderDamage; 4] = [
        ("emptied", |room, folder| {
            drop(room.write(&format!("{folder}/package.json"), ""))
        }),
        ("without a list", |room, folder| {
            drop(room.write(&format!("{folder}/package.json"), "{}"))
        }),
        ("without the manifest", |room, folder| {
            std::fs::remove_file(room.work().join(folder).join("package.json")).expect("it is there");
        }),
        ("without the code", |room, folder| {
            std::fs::remove_dir_all(room.work().join(folder).join("src")).expect("it is there");
        }),
    ];
    for folder in [format!("{EXTENSIONS}/guard"), package.to_owned()] {
        for (how, damage) in breaks {
            let room = room();
            lay_extension(&room, &folder);
            room.write(
                "../home/.pi/agent/settings.json",
                match folder == package {
                    true => "{\"packages\": [\"npm:guard\"]}",
                    false => "{}",
                },
            );
            ran(&room, &[]);
            damage(&room, &folder);
            stopped(&room, "guard", "was an extension");
            // It is missed until it is left out or back.
            ran(&room, &["--without", "guard"]).complained("the extension guard is left out");
            stopped(&room, "guard", "was an extension");
            assert!(
                room.run(["doctor"])
                    .ended_with(1)
                    .stdout
                    .contains("was an extension"),
                "{how}"
            );
            ran(&room, &["--no-extensions"]);
            lay_extension(&room, &folder);
            ran(&room, &[]);
        }
    }
}

#[test]
fn an_extension_that_was_taken_away_or_disabled_is_not_missed() {
    let deliberate: [fn(&Room, &str); 5] = [
        |room, folder| std::fs::remove_dir_all(room.work().join(folder)).expect("it is there"),
        |room, folder| {
            let folder = room.work().join(folder);
            std::fs::rename(&folder, folder.with_file_name(".guard")).expect("it is there");
        },
        |room, _| {
            drop(room.write(
                "../home/.pi/agent/settings.json",
                "{\"extensions\": [\"!**/main.ts\"]}",
            ))
        },
        |room, _| drop(room.write(&format!("{EXTENSIONS}/.gitignore"), "guard\n")),
        |room, folder| {
            std::fs::remove_dir_all(room.work().join(folder).join("src")).expect("it is there");
            room.write(&format!("{folder}/index.ts"), "export default () => {};");
        },
    ];
    for change in deliberate {
        let folder = format!("{EXTENSIONS}/guard");
        let room = room();
        lay_extension(&room, &folder);
        ran(&room, &[]);
        change(&room, &folder);
        let run = ran(&room, &[]);
        assert!(!run.stderr.contains("was an extension"), "{run:#?}");
    }
}

#[test]
fn a_program_on_the_other_side_decides_by_a_dialog() {
    let started = |choice: Value| {
        let room = room();
        plugin(&room, "guard", "#!/bin/sh\nexit 1\n");
        let mut client = Client::start(&room, &["--yes"]);
        let dialog = client.dialog("select");
        let title = dialog["title"].as_str().unwrap_or_default();
        assert!(
            title.contains("the plugin guard") && title.contains("it may contain a guard"),
            "{title}"
        );
        client.answer(&dialog, choice);
        (room, client)
    };
    let (room, mut client) = started(json!({"value": "run without it this time"}));
    client.prompt_and_wait("Run: touch made");
    assert!(room.has("made"));
    assert_eq!(client.leave().0, 0);
    stopped(&room, "guard", "exit code 1");

    let (room, mut client) = started(json!({"value": "leave it out for good"}));
    client.prompt_and_wait("Run: touch made");
    assert_eq!(client.leave().0, 0);
    ran(&room, &[]).complained("the plugin guard is left out");

    for no in [
        json!({"value": "quit"}),
        json!({"cancelled": true}),
        json!({"value": "yes"}),
    ] {
        let (room, client) = started(no);
        assert_eq!(client.finish().0, 4);
        stopped(&room, "guard", "exit code 1");
    }
}

#[test]
fn what_is_no_guest_is_a_remark_at_most() {
    let room = room();
    room.write("../home/.chibi/plugins/README.md", "# Plugins\n");
    room.write("../home/.chibi/plugins/folder/notes.txt", "");
    room.write(&format!("{EXTENSIONS}/types.d.ts"), "declare const x: number;");
    room.write(&format!("{EXTENSIONS}/notes.md"), "");
    room.write(
        &format!("{EXTENSIONS}/part.ts"),
        "export const words = 'here is a part';",
    );
    room.write(
        &format!("{EXTENSIONS}/whole.ts"),
        "import { words } from './part';\nexport default (pi: any) => pi.on('session_start', () => console.error(words));",
    );
    let run = ran(&room, &[]);
    assert!(run.stderr.contains("here is a part"), "{run:#?}");
    assert!(
        run.stderr.contains("README.md: it may not be executed"),
        "{run:#?}"
    );
    assert!(!run.stderr.contains("could not be loaded"), "{run:#?}");
}

#[test]
fn a_failure_is_tried_again_at_every_start() {
    let room = room();
    let program =
        "#!/bin/sh\n[ -e \"$HOME/mended\" ] || exit 1\necho '{\"name\":\"late\",\"description\":\"d\"}'\n";
    plugin(&room, "late", program);
    stopped(&room, "late", "exit code 1");
    room.write("../home/mended", "");
    ran(&room, &[]);
}

#[test]
fn a_plugin_that_takes_long_to_say_what_it_is_is_waited_for_with_a_line() {
    let room = room();
    plugin(
        &room,
        "slow",
        &bash("slow", "", "echo x").replace("echo asked", "sleep 3; echo asked"),
    );
    let run = ran(&room, &[]);
    assert!(
        run.stderr
            .contains("waiting for the plugin slow to print its schema"),
        "{run:#?}"
    );
}

#[test]
fn the_user_leaves_guests_out_and_a_project_does_not() {
    let room = room();
    plugin(&room, "guard", "#!/bin/sh\nexit 1\n");
    room.write("becket.toml", "without = [\"guard\"]\n");
    let run = attempt(&room, &["--trust"]);
    assert!(!room.has("made") && run.code != 0, "{run:#?}");
    std::fs::remove_file(room.work().join("becket.toml")).expect("it is there");
    room.config("without = [\"guard\"]\n");
    for _ in 0..2 {
        ran(&room, &[]).complained("the plugin guard is left out");
    }
}

#[test]
fn on_a_terminal_the_user_decides() {
    let started = |answer: &str| {
        let room = room();
        plugin(&room, "guard", "#!/bin/sh\nexit 1\n");
        room.config("# mine\n[agent]\nfuel = 9\n");
        let model = room.model(&touching());
        let terminal = Terminal::start(room, &["--yes", "--model", &model, "go"])?;
        terminal.wait_for("[q]uit:");
        terminal.enter(answer);
        Some(terminal)
    };
    let Some(terminal) = started("r") else { return };
    assert_eq!(terminal.wait_for_end(), 0);
    assert!(terminal.room.has("made"));
    stopped(&terminal.room, "guard", "exit code 1");

    let terminal = started("l").expect("there is a tmux");
    assert_eq!(terminal.wait_for_end(), 0);
    let settings = terminal.room.read("../home/.config/becket/config.toml");
    assert_eq!(settings, "without = [\"guard\"]\n# mine\n[agent]\nfuel = 9\n");
    ran(&terminal.room, &[]).complained("the plugin guard is left out");

    let terminal = started("q").expect("there is a tmux");
    assert_eq!(terminal.wait_for_end(), 4);
    assert!(!terminal.room.has("made"));
}

#[test]
fn a_model_cannot_stop_every_run_nor_take_a_guard_away() {
    let room = room();
    let write = |path: &str, content: &str| {
        json!([
            {"tool_calls": [{"name": "write", "arguments": {"path": path, "content": content}}]},
            {"text": "wrote"}
        ])
    };
    // A file of its own that never loaded is left out.
    let model = room.model(&write("vfs:///tools/shared/mine.scm", "(open"));
    room.run(["--model", &model, "go"]).ended_with(0);
    let run = ran(&room, &["-C", "other"]);
    assert!(
        run.stderr.contains("mine.scm") && run.stderr.contains("it is left out"),
        "{run:#?}"
    );
    // The user's guard: `--yes` does not answer for the user here.
    let guard = "(register-hook 'pre_shell_exec (lambda (payload) (list (cons \"denied\" #t) (cons \"reason\" \"mine\"))))";
    put(&room, "tools/shared/guard.scm", guard);
    let refused = |room: &Room| {
        let run = attempt(room, &[]).ended_with(0);
        assert!(!room.has("made"), "{run:#?}");
    };
    refused(&room);
    for content in [
        "(define x",
        "(define-tool a (description \"d\") (parameters '()) (execute (lambda (args) 1)))",
    ] {
        let model = room.model(&write("vfs:///tools/shared/guard.scm", content));
        room.run(["--yes", "--model", &model, "go"]).ended_with(0);
        refused(&room);
        assert_eq!(
            room.run(["vfs", "get", "vfs:///tools/shared/guard.scm"])
                .stdout
                .trim(),
            guard
        );
    }
}

#[test]
fn a_guard_that_is_registered_late_counts_from_then_on() {
    let room = room();
    let late = |event: &str| {
        format!(
            "export default (pi: any) => pi.on('turn_start', () => {{\n\
             try {{ pi.on('{event}', () => ({{ block: true, reason: 'late' }})); }} catch {{}} }});"
        )
    };
    for (event, words) in [("tool_call", "late"), ("tool_cal", "did you mean `tool_call`?")] {
        room.write(&format!("{EXTENSIONS}/late.ts"), late(event));
        let run = attempt(&room, &[]).ended_with(0);
        assert!(!room.has("made"), "{event}: {run:#?}");
        let results = run.events_named("post_tool");
        assert!(
            results[0]["result"].as_str().unwrap().contains(words),
            "{event}: {run:#?}"
        );
    }
}

/// Makes what plugins have said older than it is.
fn age_answers(room: &Room) {
    let file = "../home/.local/share/becket/plugins.json";
    let mut known: Value = serde_json::from_str(&room.read(file)).expect("JSON");
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("after 1970");
    let then = (now - Duration::from_secs(3_600)).as_secs();
    for entry in known["guests"].as_object_mut().expect("an object").values_mut() {
        entry["asked"] = then.into();
    }
    room.write(file, known.to_string());
}

#[test]
fn what_a_plugin_said_some_time_ago_is_asked_again_before_the_first_guarded_call() {
    let room = room();
    // What it is does not stand in its own file.
    let program = "#!/bin/bash\nif [[ $1 == --schema ]]; then echo asked >> \"$HOME/asked\"; cat \"$HOME/schema\"; exit; fi\n\
                   echo '{\"block\": true, \"message\": \"gained\"}'\n";
    let schema = |room: &Room, hooks: &str| {
        room.write(
            "../home/schema",
            format!("{{\"name\":\"wrap\",\"description\":\"d\",\"hooks\":[{hooks}]}}"),
        );
    };
    plugin(&room, "wrap", program);
    schema(&room, "");
    ran(&room, &[]);
    schema(&room, "\"pre_tool\"");
    // It has just said what it is.
    ran(&room, &[]);
    assert_eq!(asked(&room), 1);
    age_answers(&room);
    let run = attempt(&room, &[]).ended_with(0);
    assert!(!room.has("made"), "{run:#?}");
    assert!(
        run.events_named("post_tool")[0]["result"]
            .as_str()
            .unwrap()
            .contains("gained"),
        "{run:#?}"
    );
    assert_eq!(asked(&room), 2);
    // A call without a model waits for it too.
    schema(&room, "");
    let _ = std::fs::remove_file(room.home().join(".local/share/becket/plugins.json"));
    ran(&room, &[]);
    schema(&room, "\"pre_tool\"");
    age_answers(&room);
    let run = room.run(["--yes", "tool", "shell", "{\"command\": \"touch made-too\"}"]);
    assert!(!room.has("made-too"), "{run:#?}");
    // One that can no longer say what it is refuses.
    schema(&room, "");
    let _ = std::fs::remove_file(room.home().join(".local/share/becket/plugins.json"));
    ran(&room, &[]);
    room.write("../home/schema", "no json");
    age_answers(&room);
    let run = attempt(&room, &[])
        .ended_with(0)
        .complained("what a guard may judge is refused");
    assert!(!room.has("made"), "{run:#?}");
}

#[test]
fn no_plugin_is_started_before_the_first_request() {
    let room = room();
    plugin(&room, "one", &bash("one", "", "echo 1"));
    ran(&room, &[]);
    age_answers(&room);
    let hooks = room.hooks("[[hook]]\nevent = \"user_prompt\"\ncommand = \"exit 2\"\n");
    attempt(&room, &["--hooks", &hooks]).ended_with(1);
    room.run(["plugin"]).ended_with(0);
    assert_eq!(asked(&room), 1, "there was no request");
    ran(&room, &[]);
    assert_eq!(asked(&room), 2);
}
