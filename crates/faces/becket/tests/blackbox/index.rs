//! The code index: its tools, the command, plugins for languages, and what rules and guards keep out of it.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Finished, Room, needs};

use crate::room_with_all_tools as room;
use crate::terminal::Terminal;

/// A room with a small project.
fn project() -> Room {
    let room = room();
    room.write(
        "src/shapes.rs",
        "pub struct Circle {\n    radius: f64,\n}\n\nimpl Circle {\n    pub fn area(&self) -> f64 {\n        square(self.radius)\n    }\n}\n",
    );
    room.write("src/maths.rs", "pub fn square(x: f64) -> f64 {\n    x * x\n}\n");
    room.write("tool.py", "def secret_recipe(): return 42\n");
    room.write("notes.txt", "fn not_code() {}\n");
    room
}

/// Lets a scripted model call tools one after another, without anybody to say yes, and returns their results.
fn results(room: &Room, calls: &[(&str, Value)], options: &[&str]) -> (Finished, Vec<String>) {
    let mut turns: Vec<Value> = calls
        .iter()
        .map(|(name, arguments)| json!({"tool_calls": [{"name": name, "arguments": arguments}]}))
        .collect();
    turns.push(json!({"text": "done"}));
    let model = room.model(&json!(turns));
    let mut words = vec!["--json", "--model", &model];
    words.extend(options);
    words.push("go");
    let run = room.run(words).ended_with(0);
    let results = run.events_named("post_tool").into_iter();
    let results = results.map(|event| event["result"].as_str().unwrap_or_default().to_owned());
    let results = results.collect();
    (run, results)
}

#[test]
fn a_model_indexes_the_project_and_finds_its_way_without_a_question() {
    let room = project();
    let calls = [
        ("index_status", json!({})),
        ("index_update", json!({})),
        ("index_query", json!({"name": "area"})),
        ("index_query", json!({"refs_to": "square"})),
        ("index_query", json!({"kind": "function", "limit": "1"})),
        ("index_status", json!({})),
        ("index_map", json!({"tokens": 100})),
        ("index_update", json!({"force": "true"})),
    ];
    let (run, results) = results(&room, &calls, &[]);
    assert!(
        results[0].contains("there is no index of") && results[0].contains("index_update"),
        "{results:#?}"
    );
    assert_eq!(
        results[1],
        "scanned: 3, indexed: 3, unchanged: 0, removed: 0, symbols: 5, references: 2\n"
    );
    assert_eq!(
        results[2],
        "src/shapes.rs:6-8 method Circle.area  pub fn area(&self) -> f64"
    );
    assert_eq!(results[3], "src/shapes.rs:7 -> square (call)");
    assert_eq!(
        results[4],
        "src/maths.rs:1-3 function square  pub fn square(x: f64) -> f64"
    );
    assert!(
        results[5].contains("files: 3, symbols: 5, references: 2")
            && results[5].contains("rust (2), python (1)"),
        "{results:#?}"
    );
    assert!(
        results[6].starts_with("src/maths.rs\n  1: pub fn square(x: f64) -> f64\n"),
        "{results:#?}"
    );
    assert!(results[7].starts_with("scanned: 3, indexed: 3,"), "{results:#?}");
    let indexed = run.events_named("file_indexed");
    assert_eq!(indexed.len(), 6, "three files, twice");
    let shapes = indexed
        .iter()
        .find(|event| event["path"] == "src/shapes.rs")
        .unwrap();
    assert_eq!(
        (
            &shapes["language"],
            &shapes["symbol_count"],
            &shapes["reference_count"]
        ),
        (&json!("rust"), &json!(3), &json!(2))
    );
    assert!(run.events_named("permission_request").is_empty());
}

#[test]
fn only_changed_files_are_told_to_hooks_again() {
    let room = project();
    room.run(["index", "update"]).ended_with(0);
    room.write("src/maths.rs", "pub fn cube(x: f64) -> f64 { x * x * x }\n");
    std::fs::remove_file(room.work().join("tool.py")).unwrap();
    let run = room.run(["--json", "index", "update"]).ended_with(0);
    let indexed = run.events_named("file_indexed");
    assert_eq!(indexed.len(), 1, "{run:#?}");
    assert_eq!(indexed[0]["path"], "src/maths.rs");
    let result = &run.events_named("post_tool")[0]["result"];
    assert_eq!(
        result,
        "scanned: 2, indexed: 1, unchanged: 1, removed: 1, symbols: 1, references: 0\n"
    );
}

#[test]
fn the_command_answers_the_person_in_lines_and_in_json() {
    let room = project();
    room.run(["index", "query", "area"])
        .ended_with(1)
        .complained("there is no index of")
        .complained("becket index update");
    room.run(["index", "update"]).ended_with(0).said("indexed: 3");
    let found = room.run(["index", "query", "CIRC"]).ended_with(0);
    assert_eq!(
        found.stdout,
        "src/shapes.rs:1-3 struct Circle  pub struct Circle\n"
    );
    let found = room
        .run(["--json", "index", "query", "--kind", "method", "--file", "shapes"])
        .ended_with(0);
    assert_eq!(
        found.events(),
        [json!({
            "file": "src/shapes.rs", "name": "area", "kind": "method", "parent": "Circle", "line_start": 6,
            "line_end": 8, "signature": "pub fn area(&self) -> f64", "visibility": "public"
        })]
    );
    let uses = room.run(["index", "query", "square", "--refs"]).ended_with(0);
    assert_eq!(uses.stdout, "src/shapes.rs:7 -> square (call)\n");
    room.run(["index", "query", "nothing_like_it"])
        .ended_with(0)
        .complained("nothing was found");
    room.run(["index", "query", "--refs"]).ended_with(2);
    let status = room.run(["--json", "index", "status"]).ended_with(0).events();
    assert_eq!(
        (&status[0]["files"], &status[0]["languages"]),
        (&json!(3), &json!([["rust", 2], ["python", 1]]))
    );
    let map = room.run(["index", "map", "--tokens", "12"]).ended_with(0);
    assert_eq!(map.stdout, "src/maths.rs\n  1: pub fn square(x: f64) -> f64\n");
    let map = room.run(["--json", "index", "map"]).ended_with(0).events();
    assert_eq!(map[0]["name"], "square");
}

#[test]
fn arguments_that_make_no_sense_are_refused_by_name() {
    let room = project();
    for (name, arguments, words) in [
        (
            "index_query",
            json!({"nmae": "x"}),
            "index_query has no argument `nmae`",
        ),
        (
            "index_query",
            json!({"limit": 0}),
            "`limit` must be a number from 1 to 1000",
        ),
        ("index_query", json!({"name": 5}), "`name` must be of type string"),
        (
            "index_map",
            json!({"tokens": "many"}),
            "`tokens` must be a number from 1 to 100000",
        ),
        (
            "index_update",
            json!({"force": "perhaps"}),
            "`force` must be of type boolean",
        ),
        ("index_status", json!({"x": 1}), "index_status takes no arguments"),
    ] {
        let (_, results) = results(&room, &[(name, arguments)], &[]);
        assert!(results[0].contains(words), "{results:?}");
    }
}

#[test]
fn what_a_rule_or_a_guard_keeps_from_being_read_is_neither_indexed_nor_shown() {
    let calls = [
        ("index_update", json!({})),
        ("index_query", json!({"name": "secret"})),
        ("index_map", json!({})),
    ];
    let guard = "[[hook]]\nname = \"keeper\"\nevent = \"pre_file_read\"\n\
                 command = '''case \"$(cat)\" in *tool.py*) echo no >&2; exit 2;; esac'''\n";
    let rule = "[permissions]\ndeny = [\"read:path=tool.py\"]\n";
    for (is_indexed_before, by_rule) in [(false, true), (true, true), (false, false), (true, false)] {
        let room = project();
        if is_indexed_before {
            room.run(["index", "update"]).ended_with(0).said("indexed: 3");
        }
        let hooks = room.hooks(guard);
        if by_rule {
            room.config(rule);
        }
        let options: &[&str] = if by_rule { &[] } else { &["--hooks", &hooks] };
        let (run, results) = results(&room, &calls, options);
        let case = format!("{is_indexed_before} {by_rule} {run:#?}");
        assert!(!results[1].contains("recipe"), "{case}");
        assert!(
            !results[2].contains("recipe") && results[2].contains("square"),
            "{case}"
        );
        if !is_indexed_before {
            assert!(
                results[0].contains("left out tool.py: it may not be read"),
                "{case}"
            );
        }
    }
}

#[test]
fn a_guard_of_tools_can_refuse_the_update() {
    let room = project();
    let hooks = room.hooks(
        "[[hook]]\nname = \"no\"\nevent = \"pre_tool\"\nmatch = { tool_name = \"index_update\" }\n\
         command = \"echo not now >&2; exit 2\"\n",
    );
    room.run(["--hooks", &hooks, "index", "update"])
        .ended_with(1)
        .complained("not now");
    room.run(["index", "status"])
        .ended_with(1)
        .complained("there is no index");
    room.config("[permissions]\ndeny = [\"index_update\"]\n");
    room.run(["index", "update"])
        .ended_with(1)
        .complained("denies it");
}

#[test]
fn other_profiles_have_no_such_tools_but_the_command_works_with_them() {
    let room = project();
    let (run, results) = results(&room, &[("index_update", json!({}))], &["--tools", "pi"]);
    assert!(results[0].contains("Tool index_update not found"), "{run:#?}");
    room.run(["--tools", "pi", "index", "update"])
        .ended_with(0)
        .said("indexed: 3");
}

/// Puts a plugin into the usual home.
fn plugin(room: &Room, name: &str, body: &str) {
    let program = format!(
        "#!/bin/bash\nif [[ \"$1\" == --schema ]]; then\n\
         echo '{{\"name\":\"{name}\",\"description\":\"Reads\"}}'; exit; fi\n{body}\n"
    );
    room.script(&format!("../home/.chibi/plugins/{name}"), &program);
}

#[test]
fn a_plugin_reads_a_language_that_becket_does_not_know() {
    let room = project();
    room.write("main.zig", "pub fn main() void { helper(); }\n");
    let answer = json!({
        "symbols": [
            {"name": "main", "kind": "function", "line_start": 1, "line_end": 1, "signature": "pub fn main() void",
             "visibility": "public", "parent": null, "something": "more"},
            {"name": "", "kind": "function"}
        ],
        "refs": [{"from_line": 1, "to_name": "helper", "kind": "call"}]
    });
    plugin(
        &room,
        "lang_zig",
        &format!("cat >> \"$HOME/told\"; echo \"$CHIBI_TOOL_NAME\" >> \"$HOME/name\"; echo '{answer}'"),
    );
    let hook = "#!/bin/bash\nif [[ \"$1\" == --schema ]]; then\n\
                echo '{\"name\":\"seen\",\"description\":\"Sees\",\"hooks\":[\"post_index_file\"]}'; exit; fi\n\
                [[ -n \"$CHIBI_HOOK\" ]] && { cat; echo; } >> \"$HOME/seen\"\n";
    room.script("../home/.chibi/plugins/seen", hook);
    room.run(["index", "update"]).ended_with(0).said("indexed: 4");
    let told: Value = serde_json::from_str(&room.read("../home/told")).unwrap();
    assert_eq!(
        told,
        json!({"files": [{"path": "main.zig", "content": "pub fn main() void { helper(); }\n"}]})
    );
    assert_eq!(room.read("../home/name"), "lang_zig\n");
    let found = room.run(["index", "query", "main"]).ended_with(0);
    assert_eq!(found.stdout, "main.zig:1-1 function main  pub fn main() void\n");
    room.run(["index", "query", "--refs", "helper"])
        .ended_with(0)
        .said("main.zig:1 -> helper (call)");
    let seen: Vec<Value> = room
        .read("../home/seen")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let zig = seen.iter().find(|seen| seen["path"] == "main.zig").unwrap();
    assert_eq!(
        (&zig["lang"], &zig["symbol_count"], &zig["ref_count"]),
        (&json!("zig"), &json!(1), &json!(1))
    );
    assert_eq!(seen.len(), 4);
    room.run(["index", "update"]).ended_with(0).said("unchanged: 4");
}

#[test]
fn a_plugin_comes_before_beckets_own_grammar_and_its_files_are_read_again() {
    let room = project();
    room.run(["index", "update"]).ended_with(0).said("indexed: 3");
    plugin(
        &room,
        "lang_python",
        r#"cat > /dev/null; echo '{"symbols":[{"name":"plugins_word","kind":"thing","line_start":1,"line_end":1}]}'"#,
    );
    room.run(["index", "update"])
        .ended_with(0)
        .said("indexed: 1, unchanged: 2");
    let found = room.run(["index", "query", "--file", "tool.py"]).ended_with(0);
    assert_eq!(found.stdout, "tool.py:1-1 thing plugins_word\n");
}

#[test]
fn a_plugin_that_fails_is_told_and_costs_only_its_files() {
    for (body, words) in [
        (
            "echo broken >&2; exit 3",
            "left out 1.zig: lang_zig: it ended with 3: broken",
        ),
        (
            "echo nonsense",
            "left out 1.zig: lang_zig: its answer cannot be read",
        ),
        (
            r#"echo '{"symbols":[{"name":"x","line_start":-1}]}'"#,
            "left out 1.zig: lang_zig: its answer cannot be read",
        ),
        (
            r#"echo '{"symbols":{"name":"x"}}'"#,
            "left out 1.zig: lang_zig: its answer cannot be read",
        ),
        ("head -c 30000000 /dev/zero", "left out 1.zig: lang_zig: "),
        ("sleep 60", "left out 1.zig: lang_zig: "),
    ] {
        let room = project();
        // Only the one that sleeps is to be ended by the clock, and not before it has begun.
        let timeout = if body.starts_with("sleep") { 3 } else { 60 };
        room.config(&format!("[chibi]\ntool_timeout = {timeout}\n"));
        for number in 1..=9 {
            room.write(&format!("{number}.zig"), "const x = 1;\n");
        }
        plugin(
            &room,
            "lang_zig",
            &format!("echo asked >> \"$HOME/asked\"; {body}"),
        );
        let started = Instant::now();
        let run = room.run(["index", "update"]).ended_with(0);
        assert!(
            run.stdout.contains("indexed: 3") && run.stdout.contains(words),
            "{run:#?}"
        );
        assert!(
            run.stdout.contains("its plugin failed too often before"),
            "{run:#?}"
        );
        assert_eq!(
            room.read("../home/asked").lines().count(),
            4,
            "the others are not tried"
        );
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn a_cancel_ends_the_update_soon() {
    let room = project();
    room.write("main.zig", "const x = 1;\n");
    plugin(&room, "lang_zig", "echo begun > \"$HOME/begun\"; sleep 600");
    let run = room.start(["index", "update"]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !room.has("../home/begun") {
        assert!(Instant::now() < deadline, "the plugin did not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    let started = Instant::now();
    run.signal(Signal::INT);
    run.finish().ended_with(130).said("cancelled; what was indexed");
    assert!(started.elapsed() < Duration::from_secs(60));
    let found = room.run(["index", "query", "square"]).ended_with(0);
    assert!(
        found.stdout.contains("src/maths.rs"),
        "what was read is kept: {found:#?}"
    );
}

#[test]
fn a_terminal_shows_how_far_it_is() {
    if !needs("tmux") {
        return;
    }
    let room = project();
    room.write("main.zig", "const x = 1;\n");
    plugin(&room, "lang_zig", "sleep 2; echo '{}'");
    let hooks = room.hooks("[[hook]]\nname = \"slow\"\nevent = \"file_indexed\"\ncommand = \"sleep 0.3\"\n");
    let Some(terminal) = Terminal::start(room, &["--hooks", &hooks, "index", "update"]) else {
        return;
    };
    terminal.wait_for("of 4 files");
    let screen = terminal.wait_for("scanned: 4");
    assert!(
        !screen.contains("of 4 files"),
        "the result takes the bar's place: {screen}"
    );
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn an_empty_folder_has_an_empty_index() {
    let room = room();
    room.run(["index", "update"])
        .ended_with(0)
        .said("scanned: 0, indexed: 0");
    room.run(["index", "status"])
        .ended_with(0)
        .said("files: 0, symbols: 0");
    let (nothing, no_map) = (room.run(["index", "query"]), room.run(["index", "map"]));
    assert_eq!(nothing.ended_with(0).complained("nothing was found").stdout, "");
    assert_eq!(no_map.ended_with(0).complained("has no definitions").stdout, "");
}

#[test]
fn odd_files_are_left_out_by_name_and_the_rest_is_indexed() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    let room = project();
    room.write("binary.rs", b"fn hidden() {}\0");
    room.write("huge.rs", "// long\n".repeat(140_000));
    room.write(
        "latin.py",
        b"def caf\xe9(): pass\ndef plain_name(): return 'caf\xe9'\n",
    );
    room.write("ignored.rs", "fn ignored() {}");
    room.write(".gitignore", "ignored.rs\n");
    let outside = room.write("../outside.rs", "fn outside() {}");
    symlink(&outside, room.work().join("link.rs")).unwrap();
    symlink("nowhere.rs", room.work().join("dangling.rs")).unwrap();
    let locked = room.write("locked.rs", "fn locked() {}");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    let no_text = std::ffi::OsStr::from_bytes(b"no-text-\xff.rs");
    std::fs::write(room.work().join(no_text), "fn unnamed() {}").unwrap();
    let run = room.run(["index", "update"]).ended_with(0);
    let mut left_out = vec![
        "left out binary.rs: it is binary",
        "left out huge.rs: it is larger than 1024 KiB",
        "left out no-text-\u{fffd}.rs: its name is no text",
    ];
    // Nothing is locked for root.
    if !rustix::process::geteuid().is_root() {
        left_out.push("left out locked.rs: Permission denied");
    }
    for words in left_out {
        assert!(run.stdout.contains(words), "no {words:?} in {run:#?}");
    }
    let names = room
        .run(["index", "query", "--limit", "1000"])
        .ended_with(0)
        .stdout;
    assert!(
        names.contains("plain_name") && names.contains("square"),
        "{names}"
    );
    for name in ["hidden", "ignored", "outside", "unnamed"] {
        assert!(!names.contains(name), "{name} in {names}");
    }
}

#[test]
fn a_file_that_moved_is_found_where_it_is() {
    let room = project();
    room.run(["index", "update"]).ended_with(0).said("indexed: 3");
    std::fs::rename(room.work().join("tool.py"), room.work().join("src/moved.py")).unwrap();
    std::fs::remove_file(room.work().join("src/maths.rs")).unwrap();
    room.run(["index", "update"])
        .ended_with(0)
        .said("indexed: 1, unchanged: 1, removed: 2");
    let found = room.run(["index", "query", "secret"]).ended_with(0);
    assert_eq!(
        found.stdout,
        "src/moved.py:1-1 function secret_recipe  def secret_recipe()\n"
    );
    room.run(["index", "query", "square"])
        .ended_with(0)
        .complained("nothing was found");
}

#[test]
fn filters_narrow_a_query() {
    let room = project();
    room.write("square.py", "def square(): pass\nclass Square: pass\n");
    room.run(["index", "update"]).ended_with(0);
    for (words, expected) in [
        (vec!["square", "--language", "rust"], vec!["src/maths.rs:1"]),
        (
            vec!["square", "--language", "python"],
            vec!["square.py:1", "square.py:2"],
        ),
        (vec!["square", "--kind", "class"], vec!["square.py:2"]),
        (vec!["square", "--kind", "struct"], vec![]),
        (vec!["square", "--language", "cobol"], vec![]),
        (
            vec!["--language", "python", "--kind", "class"],
            vec!["square.py:2"],
        ),
        (vec!["--file", "SRC/m"], vec!["src/maths.rs:1"]),
        (vec!["", "--file", "nowhere"], vec![]),
    ] {
        let found = room.run(["index", "query"].into_iter().chain(words.iter().copied()));
        let found = found.ended_with(0).stdout;
        let places: Vec<&str> = found.lines().filter_map(|line| line.split('-').next()).collect();
        assert_eq!(places, expected, "{words:?}");
    }
}

#[test]
fn what_may_not_be_shown_makes_room_for_what_may() {
    let room = project();
    for number in 0..9 {
        room.write(&format!("a{number}.py"), "def wanted(): pass\n");
    }
    room.write("z.py", "def wanted(): wanted()\n");
    room.run(["index", "update"]).ended_with(0);
    room.config("[permissions]\ndeny = [\"read:path=a*.py\"]\n");
    let calls = [
        ("index_query", json!({"name": "wanted", "limit": 1})),
        ("index_query", json!({"refs_to": "wanted", "limit": 1})),
        ("index_map", json!({"tokens": 1})),
    ];
    let (run, results) = results(&room, &calls, &[]);
    assert!(results[0].starts_with("z.py:1-1 "), "{run:#?}");
    assert!(results[1].starts_with("z.py:1 "), "{run:#?}");
    assert!(results[2].contains("no room"), "{run:#?}");
}

#[test]
fn two_updates_at_once_both_end_well() {
    let room = project();
    let runs: Vec<_> = (0..3).map(|_| room.start(["index", "update"])).collect();
    let ended: Vec<Finished> = runs.into_iter().map(|run| run.finish().ended_with(0)).collect();
    for run in &ended {
        run.clone().said("scanned: 3");
    }
    room.run(["index", "status"]).ended_with(0).said("files: 3");
    let found = room.run(["index", "query", "square"]).ended_with(0);
    assert_eq!(found.stdout.lines().count(), 1, "{found:#?}");
}

#[test]
fn a_killed_update_leaves_the_index_as_it_was_or_as_it_should_be() {
    const FILES: usize = 150;
    let room = room();
    let body: String = (0..20)
        .map(|number| format!("fn function_{number}() {{ function_0() }}\n"))
        .collect();
    for number in 0..FILES {
        room.write(&format!("file{number}.rs"), &body);
    }
    let files = || {
        let status = room.run(["--json", "index", "status"]);
        let whole = status.code == 0;
        whole.then(|| status.events()[0]["files"].as_u64().unwrap())
    };
    let kill_after = |delay: Duration| {
        let before = files();
        let update = room.start(["index", "update", "--force"]);
        std::thread::sleep(delay);
        update.signal(Signal::KILL);
        update.finish();
        let after = files();
        assert!(
            after == before || after == Some(FILES as u64),
            "after {delay:?}: {before:?}, then {after:?}"
        );
    };
    for round in 0..4 {
        kill_after(Duration::from_millis(round * 50));
    }
    let started = Instant::now();
    room.run(["index", "update", "--force"]).ended_with(0);
    let whole = started.elapsed();
    // At moments all over an update, however long one takes here.
    for round in 0..10 {
        kill_after(whole * round / 10);
    }
    room.run(["index", "update"]).ended_with(0);
    assert_eq!(files(), Some(FILES as u64));
    let found = room
        .run(["index", "query", "function_7", "--limit", "1000"])
        .ended_with(0);
    assert_eq!(found.stdout.lines().count(), FILES);
}
