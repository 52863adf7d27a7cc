//! The virtual file system and the cache of tool outputs: zones, guards, rules, tools, commands.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::room_with_all_tools as room;

/// The folder behind the virtual file system. No output ever names it.
fn backing(room: &Room) -> PathBuf {
    room.home().join(".local/share/becket/vfs")
}

/// A file of the virtual file system as it is on disk.
fn stored(room: &Room, path: &str) -> Option<String> {
    std::fs::read_to_string(backing(room).join(path)).ok()
}

fn store(room: &Room, path: &str, text: &str) {
    let file = backing(room).join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// Runs a model that makes these calls, one after another, and has nobody to ask.
fn run_calls(room: &Room, arguments: &[&str], calls: &[(&str, Value)]) -> Finished {
    let turns = calls
        .iter()
        .map(|(name, arguments)| json!({"tool_calls": [{"name": name, "arguments": arguments}]}));
    let turns: Vec<Value> = turns.chain([json!({"text": "done"})]).collect();
    let model = room.model(&Value::Array(turns));
    let run = room.run([&["--json", "--model", &model], arguments, &["go"]].concat());
    let run = run.ended_with(0);
    for event in run.events() {
        let told = event.to_string();
        assert!(
            !told.contains("becket/vfs"),
            "the folder is nobody's business: {told}"
        );
    }
    run
}

/// What the model saw of each call.
fn results(run: &Finished) -> Vec<String> {
    let results = run.events_named("post_tool").into_iter();
    results
        .map(|event| event["result"].as_str().unwrap().to_string())
        .collect()
}

fn call(room: &Room, name: &str, arguments: Value) -> String {
    results(&run_calls(room, &[], &[(name, arguments)])).remove(0)
}

/// The addresses in events of that name.
fn paths(run: &Finished, event: &str) -> Vec<String> {
    let events = run.events_named(event).into_iter();
    events
        .map(|event| event["path"].as_str().unwrap().to_string())
        .collect()
}

#[test]
fn a_context_writes_in_its_own_zones_without_a_question_and_nowhere_else() {
    let room = room();
    let write = |path: &str| ("write", json!({"path": path, "content": "x"}));
    let allowed = [
        "vfs:///shared/a",
        "vfs:///home/work/a",
        "vfs:///site/a",
        "vfs:///tools/shared/a.scm",
        "vfs:///tools/home/work/a.scm",
    ];
    let refused = [
        "vfs:///home/other/a",
        "vfs:///sys/tool_cache/work/a",
        "vfs:///sys/contexts/work/a",
        "vfs:///flocks/team/a",
        "vfs:///tools/sys/a",
        "vfs:///tools/home/other/a.scm",
        "vfs:///shared",
        "vfs:///elsewhere/a",
        "vfs://shared/a",
        "vfs:///shared/../home/other/a",
        "vfs:///shared//a",
    ];
    let calls: Vec<_> = allowed.iter().chain(&refused).map(|path| write(path)).collect();
    let run = run_calls(&room, &["-c", "work"], &calls);
    let results = results(&run);
    for (path, result) in allowed.iter().zip(&results) {
        assert_eq!(*result, format!("Created {path} (1 line, 1 byte)."));
        assert_eq!(
            stored(&room, path.trim_start_matches("vfs:///")).as_deref(),
            Some("x")
        );
    }
    for (path, result) in refused.iter().zip(&results[allowed.len()..]) {
        assert!(result.starts_with("refused: "), "{path}: {result}");
    }
    let reason = &results[allowed.len()];
    assert!(reason.contains("may not write vfs:///home/other/a"), "{reason}");
    assert!(reason.contains("vfs:///home/work"), "{reason}");
    assert!(!backing(&room).join("home/other").exists());
    assert_eq!(paths(&run, "pre_vfs_write"), allowed);
    assert_eq!(paths(&run, "post_vfs_write"), allowed);
    for event in [
        "pre_file_write",
        "pre_file_read",
        "permission_request",
        "attention",
    ] {
        let asked = run.events_named(event);
        assert!(
            asked.iter().all(|event| event["reason"] == "idle"),
            "{event}: {asked:?}"
        );
    }
    let told = &run.events_named("pre_vfs_write")[1];
    let expected = json!(["write", "x", "work", false]);
    assert_eq!(
        json!([
            told["tool_name"],
            told["content"],
            told["caller"],
            told["removed"]
        ]),
        expected
    );
    assert_eq!(run.events_named("approval_decided")[0]["source"], "zone");
}

#[test]
fn what_one_context_writes_another_reads_edits_and_searches() {
    let room = room();
    let write = (
        "write",
        json!({"path": "vfs:///home/one/plan.md", "content": "alpha\nbeta\n"}),
    );
    run_calls(&room, &["-c", "one"], &[write]);
    let edits = json!([{"old_text": "beta", "new_text": "gamma"}]);
    let run = run_calls(
        &room,
        &["-c", "two"],
        &[
            ("read", json!({"path": "vfs:///home/one/plan.md", "offset": 2})),
            ("grep", json!({"pattern": "bet", "path": "vfs:///home"})),
            ("find", json!({"pattern": "*.md", "path": "vfs:///"})),
            (
                "find",
                json!({"pattern": "vfs:///home/one/*.md", "path": "vfs:///home"}),
            ),
            ("list", json!({"path": "vfs:///home/one"})),
            ("edit", json!({"path": "vfs:///home/one/plan.md", "edits": edits})),
        ],
    );
    let results = results(&run);
    assert_eq!(results[0], "beta\n");
    assert_eq!(results[1], "vfs:///home/one/plan.md:2: beta");
    assert_eq!(results[2], "vfs:///home/one/plan.md");
    assert_eq!(results[3], "vfs:///home/one/plan.md");
    assert_eq!(results[4], "plan.md (11 bytes)");
    assert!(
        results[5].contains("may not write vfs:///home/one/plan.md"),
        "{}",
        results[5]
    );
    let edit = ("edit", json!({"path": "vfs:///home/one/plan.md", "edits": edits}));
    let run = run_calls(&room, &["-c", "one"], &[edit]);
    assert_eq!(stored(&room, "home/one/plan.md").unwrap(), "alpha\ngamma\n");
    assert_eq!(run.events_named("pre_vfs_write")[0]["content"], Value::Null);
}

#[test]
fn a_search_in_the_virtual_file_system_minds_no_gitignore() {
    let room = room();
    room.write("../home/.gitignore", "*\n");
    store(&room, "shared/.gitignore", "notes\n");
    store(&room, "shared/notes", "needle");
    let found = call(
        &room,
        "grep",
        json!({"pattern": "needle", "path": "vfs:///shared"}),
    );
    assert_eq!(found, "vfs:///shared/notes:1: needle");
}

#[test]
fn the_tools_of_the_virtual_file_system_do_what_they_say() {
    let room = room();
    store(&room, "shared/.history/1", "old");
    let own = json!({"path": format!("vfs:///home/{}", room.context())});
    let run = run_calls(
        &room,
        &[],
        &[
            ("vfs_list", json!({"path": "vfs:///shared"})),
            ("vfs_list", own),
            ("vfs_mkdir", json!({"path": "vfs:///shared/deep/folder"})),
            ("vfs_mkdir", json!({"path": "vfs:///shared/deep/folder"})),
            ("write", json!({"path": "vfs:///shared/a", "content": "12345"})),
            (
                "vfs_copy",
                json!({"src": "vfs:///shared/a", "dst": "vfs:///shared/deep/b"}),
            ),
            (
                "vfs_move",
                json!({"src": "vfs:///shared/deep", "dst": "vfs:///site/deep"}),
            ),
            ("vfs_list", json!({"path": "vfs:///site/deep"})),
            ("vfs_info", json!({"path": "vfs:///site/deep/b"})),
            ("vfs_delete", json!({"path": "vfs:///site/deep"})),
            (
                "vfs_delete",
                json!({"path": "vfs:///site/deep", "recursive": true}),
            ),
            ("vfs_delete", json!({"path": "vfs:///shared/a"})),
            ("vfs_delete", json!({"path": "vfs:///shared/a"})),
        ],
    );
    let results = results(&run);
    assert_eq!(results[0], "No entries found.");
    assert_eq!(results[1], "No entries found.");
    assert_eq!(results[2], "Created vfs:///shared/deep/folder.");
    assert_eq!(results[3], "vfs:///shared/deep/folder is there already.");
    assert_eq!(results[5], "Copied vfs:///shared/a to vfs:///shared/deep/b.");
    assert_eq!(results[6], "Moved vfs:///shared/deep to vfs:///site/deep.");
    assert_eq!(results[7], "b (file)\nfolder (dir)");
    assert!(
        results[8].starts_with("kind: file\nsize: 5 bytes\n"),
        "{}",
        results[8]
    );
    assert!(results[8].contains("modified: "), "{}", results[8]);
    assert!(results[9].contains("the folder is not empty"), "{}", results[9]);
    assert_eq!(results[10], "Deleted vfs:///site/deep.");
    assert_eq!(results[11], "Deleted vfs:///shared/a.");
    assert!(results[12].contains("does not exist"), "{}", results[12]);
    assert!(!backing(&room).join("site/deep").exists());
    let changed = paths(&run, "post_vfs_write");
    let moved = ["vfs:///shared/deep", "vfs:///site/deep"];
    assert_eq!(
        changed[..3],
        [
            "vfs:///shared/deep/folder",
            "vfs:///shared/a",
            "vfs:///shared/deep/b"
        ]
    );
    assert_eq!(changed[3..5], moved);
    assert!(
        changed[5..].contains(&"vfs:///site/deep/b".to_string()),
        "each file is told: {changed:?}"
    );
    let failed = changed.iter().filter(|path| *path == "vfs:///shared/a");
    assert_eq!(failed.count(), 2, "what failed is not told: {changed:?}");
}

#[test]
fn these_tools_take_addresses_only_and_commands_take_none() {
    let room = room();
    room.write("file", "x");
    let run = run_calls(
        &room,
        &["--yes"],
        &[
            ("vfs_delete", json!({"path": "file"})),
            ("vfs_copy", json!({"src": "vfs:///shared/a", "dst": "/tmp/a"})),
            ("vfs_list", json!({"path": "/etc"})),
            ("shell", json!({"command": "touch ran", "cwd": "vfs:///shared"})),
        ],
    );
    let results = results(&run);
    for result in &results[..3] {
        assert!(
            result.contains("is not an address of the virtual file system"),
            "{result}"
        );
    }
    assert!(
        results[3].contains("a command cannot run in vfs:///shared"),
        "{}",
        results[3]
    );
    assert!(room.has("file") && !room.has("ran"));
}

/// Every way to change something, and the address about which the guard is asked.
// tidy: a table
#[test]
fn a_guard_is_asked_about_every_kind_of_change_and_refuses_it() {
    let changes = [
        ("write", json!({"path": "vfs:///shared/kept", "content": "new"})),
        (
            "edit",
            json!({"path": "vfs:///shared/kept", "edits": [{"old_text": "old", "new_text": "new"}]}),
        ),
        (
            "vfs_copy",
            json!({"src": "vfs:///shared/a", "dst": "vfs:///shared/kept"}),
        ),
        (
            "vfs_move",
            json!({"src": "vfs:///shared/a", "dst": "vfs:///shared/kept"}),
        ),
        (
            "vfs_move",
            json!({"src": "vfs:///shared/kept", "dst": "vfs:///shared/b"}),
        ),
        ("vfs_delete", json!({"path": "vfs:///shared/kept"})),
        (
            "vfs_delete",
            json!({"path": "vfs:///shared/folder", "recursive": true}),
        ),
        (
            "vfs_move",
            json!({"src": "vfs:///shared/folder", "dst": "vfs:///site/folder"}),
        ),
        ("vfs_mkdir", json!({"path": "vfs:///shared/kept/new"})),
    ];
    let refusing = "echo 'hands off' >&2; exit 2";
    for (program, reason) in [
        (refusing, "hands off"),
        ("exit 7", "keeper"),
        ("echo nonsense", "keeper"),
    ] {
        for (tool, arguments) in &changes {
            let room = room();
            store(&room, "shared/a", "a");
            store(&room, "shared/folder/deep/kept", "old");
            if *tool != "vfs_mkdir" {
                store(&room, "shared/kept", "old");
            }
            let hooks = room.hooks(&format!(
                "[[hook]]\nname = \"keeper\"\nevent = \"pre_vfs_write\"\nmatch = {{ path = {{ glob = \"*/kept*\" }} }}\n\
                 command = \"{program}\"\n"
            ));
            let run = run_calls(&room, &["--hooks", &hooks, "--yes"], &[(tool, arguments.clone())]);
            let result = &results(&run)[0];
            assert!(
                result.starts_with("refused: ") && result.contains(reason),
                "{tool}: {result}"
            );
            assert!(run.events_named("post_vfs_write").is_empty(), "{tool}");
            assert_eq!(stored(&room, "shared/folder/deep/kept").unwrap(), "old", "{tool}");
            assert_eq!(stored(&room, "shared/a").unwrap(), "a", "{tool}");
            if *tool != "vfs_mkdir" {
                assert_eq!(stored(&room, "shared/kept").unwrap(), "old", "{tool}");
            }
        }
    }
}

#[test]
fn rules_count_in_the_virtual_file_system() {
    let room = room();
    room.config(
        "[permissions]\ndeny = [\"read:path=vfs:///shared/secret*\", \"*:path=vfs:///site/*/fixed\"]\n",
    );
    store(&room, "shared/secret", "needle");
    store(&room, "shared/open", "needle");
    store(&room, "site/folder/fixed", "x");
    let edits = json!([{"old_text": "needle", "new_text": "x"}]);
    let run = run_calls(
        &room,
        &["--yes"],
        &[
            ("read", json!({"path": "vfs:///shared/secret"})),
            ("edit", json!({"path": "vfs:///shared/secret", "edits": edits})),
            (
                "vfs_copy",
                json!({"src": "vfs:///shared/secret", "dst": "vfs:///shared/copy"}),
            ),
            (
                "vfs_move",
                json!({"src": "vfs:///shared/secret", "dst": "vfs:///shared/copy"}),
            ),
            (
                "vfs_delete",
                json!({"path": "vfs:///site/folder", "recursive": true}),
            ),
            (
                "write",
                json!({"path": "vfs:///site/folder/fixed", "content": "y"}),
            ),
            ("grep", json!({"pattern": "needle", "path": "vfs:///shared"})),
        ],
    );
    let results = results(&run);
    for result in &results[..6] {
        assert!(result.contains("refused: the rule"), "{result}");
    }
    assert_eq!(results[6], "vfs:///shared/open:1: needle");
    assert_eq!(stored(&room, "site/folder/fixed").unwrap(), "x");
    assert_eq!(stored(&room, "shared/copy"), None);
    room.config("[permissions]\nask = [\"write:path=vfs:///site/*\"]\n");
    let asked = call(&room, "write", json!({"path": "vfs:///site/a", "content": "x"}));
    assert!(asked.contains("there is no terminal to ask at"), "{asked}");
}

#[test]
fn links_never_lead_out_nor_into_the_zone_of_another() {
    let room = room();
    let secret = room.write("../outside/secret", "top secret");
    store(&room, "home/other/a", "theirs");
    std::fs::create_dir_all(backing(&room).join("shared")).unwrap();
    symlink(secret.parent().unwrap(), backing(&room).join("shared/out")).unwrap();
    symlink("../home/other", backing(&room).join("shared/other")).unwrap();
    let run = run_calls(
        &room,
        &["--yes"],
        &[
            ("read", json!({"path": "vfs:///shared/out/secret"})),
            ("write", json!({"path": "vfs:///shared/out/new", "content": "x"})),
            (
                "vfs_delete",
                json!({"path": "vfs:///shared/out", "recursive": true}),
            ),
            ("grep", json!({"pattern": "secret", "path": "vfs:///shared"})),
            ("write", json!({"path": "vfs:///shared/other/a", "content": "x"})),
        ],
    );
    let results = results(&run);
    for result in &results[..3] {
        assert!(
            result.contains("leads out of the virtual file system"),
            "{result}"
        );
    }
    assert!(results[3].contains("Nothing matches"), "{}", results[3]);
    assert!(
        results[4].contains("may not write vfs:///home/other/a"),
        "{}",
        results[4]
    );
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "top secret");
    assert_eq!(stored(&room, "home/other/a").unwrap(), "theirs");
    room.run(["vfs", "cat", "/shared/out/secret"])
        .ended_with(1)
        .complained("leads out");
}

#[test]
fn each_profile_has_the_tools_of_its_system() {
    let room = room();
    for (profile, has) in [
        ("becket", true),
        ("chibi", true),
        ("docker-agent", false),
        ("pi", false),
    ] {
        let run = run_calls(
            &room,
            &["--tools", profile],
            &[("vfs_list", json!({"path": "vfs:///shared"}))],
        );
        assert_eq!(results(&run)[0] == "No entries found.", has, "{profile}");
    }
}

#[test]
fn the_file_tools_of_another_profile_take_addresses_too() {
    let room = room();
    store(&room, "shared/notes/a", "one\ntwo\n");
    let own = format!("vfs:///home/{}/b", room.context());
    let edit = json!({"path": "vfs:///shared/notes/a", "operation": "replace_string", "find": "one", "replace": "1"});
    let run = run_calls(
        &room,
        &["--tools", "chibi"],
        &[
            ("dir_list", json!({"path": "vfs:///shared"})),
            ("file_tail", json!({"path": "vfs:///shared/notes/a", "lines": 1})),
            ("glob_files", json!({"path": "vfs:///shared", "pattern": "**/*"})),
            (
                "file_grep",
                json!({"path": "vfs:///shared/notes/a", "pattern": "tw"}),
            ),
            ("file_edit", edit),
            ("write_file", json!({"path": own, "content": "x"})),
            (
                "write_file",
                json!({"path": "vfs:///home/other/b", "content": "x"}),
            ),
        ],
    );
    let results = results(&run);
    let words = [
        "notes",
        "two",
        "notes/a",
        "two",
        "vfs:///shared/notes/a",
        own.as_str(),
    ];
    for (result, word) in results.iter().zip(words) {
        assert!(
            result.contains(word) && !result.contains("refused"),
            "{word}: {result}"
        );
    }
    assert!(
        results[6].contains("may not write vfs:///home/other/b"),
        "{}",
        results[6]
    );
    assert_eq!(stored(&room, "shared/notes/a").unwrap(), "1\ntwo\n");
    let changed = ["vfs:///shared/notes/a", own.as_str()];
    assert_eq!(paths(&run, "post_vfs_write"), changed);
}

/// A run that puts the output of `seq 1 400` aside, and where it is.
fn cached(room: &Room) -> (Finished, String) {
    room.config("[tools]\noutput_limit = 1000\n");
    let run = run_calls(room, &["--yes"], &[("shell", json!({"command": "seq 1 400"}))]);
    let path = paths(&run, "post_cache").remove(0);
    (run, path)
}

#[test]
fn a_large_output_is_cached_and_read_back_by_the_file_tools() {
    let room = room();
    let (run, path) = cached(&room);
    let event = &run.events_named("post_cache")[0];
    let cache_id = event["cache_id"].as_str().unwrap();
    assert_eq!(
        path,
        format!("vfs:///sys/tool_cache/{}/{cache_id}", room.context())
    );
    assert!(cache_id.starts_with("shell_"), "{cache_id}");
    let seen = run.events_named("tool_end")[0]["content"][0]["text"].to_string();
    assert!(seen.contains(&format!("[Output cached: {path}]")), "{seen}");
    assert!(
        seen.contains("Tool: shell | Size: 1492 bytes, 400 lines"),
        "{seen}"
    );
    assert!(
        run.events_named("pre_vfs_write").is_empty(),
        "the system writes here"
    );
    let whole: String = (1..=400).map(|number| format!("{number}\n")).collect();
    let run = run_calls(
        &room,
        &[],
        &[
            ("read", json!({"path": path})),
            ("read", json!({"path": path, "tail": 2})),
            ("grep", json!({"path": path, "pattern": "^77$"})),
            ("cache_list", json!({})),
            ("write", json!({"path": path, "content": "x"})),
            (
                "read",
                json!({"path": format!("vfs:///sys/tool_cache/{}/shell_0_00000000", room.context())}),
            ),
        ],
    );
    let results = results(&run);
    assert_eq!(
        results[0], whole,
        "what is read from the cache is not cached again"
    );
    assert_eq!(results[1], "399\n400\n[The last 2 lines of 400.]");
    assert_eq!(results[2], format!("{path}:77: 77"));
    assert!(
        results[3].starts_with(&format!("{path} (shell, 1.5 KiB, 0 min old)")),
        "{}",
        results[3]
    );
    assert!(results[4].contains("may not write"), "{}", results[4]);
    assert!(results[5].contains("make the call again"), "{}", results[5]);
    assert!(run.events_named("post_cache").is_empty());
    let other = run_calls(&room, &["-c", "other"], &[("cache_list", json!({}))]);
    assert_eq!(self::results(&other)[0], "No cached outputs.");
}

#[test]
fn any_place_of_a_long_line_can_be_reached() {
    let room = room();
    room.config("[tools]\noutput_limit = 1000\n");
    let command = "head -c 70000 /dev/zero | tr '\\0' x; printf 'needle\\0\\n'; echo end";
    let run = run_calls(&room, &["--yes"], &[("shell", json!({"command": command}))]);
    let path = paths(&run, "post_cache").remove(0);
    let run = run_calls(
        &room,
        &[],
        &[
            ("grep", json!({"path": path, "pattern": "needle"})),
            ("read", json!({"path": path, "offset": 71})),
        ],
    );
    assert_eq!(
        results(&run),
        [format!("{path}:71: needle\0"), "needle\0\nend\n".to_string()]
    );
    let exact = room.run(["vfs", "cat", &path]).ended_with(0).stdout;
    assert_eq!(
        exact,
        format!("{}needle\0\nend\n", "x".repeat(70_000)),
        "what is stored is what was said"
    );
}

#[test]
fn hooks_may_summarise_an_output_or_keep_it_whole() {
    let room = room();
    room.config("[tools]\noutput_limit = 1000\n");
    let seq = [("shell", json!({"command": "seq 1 400"}))];
    for (reply, summarised) in [
        (r#"{"summary": "numbers"}"#, true),
        (r#"{"cache": false}"#, false),
    ] {
        let hooks = room.hooks(&format!(
            "[[hook]]\nevent = \"pre_cache\"\ncommand = '''echo '{reply}' '''\n"
        ));
        let run = run_calls(&room, &["--yes", "--hooks", &hooks], &seq);
        let seen = run.events_named("tool_end")[0]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_string();
        assert_eq!(seen.ends_with("---\nnumbers"), summarised, "{seen}");
        assert_eq!(seen.ends_with("\n400\n"), !summarised, "{seen}");
        assert_eq!(run.events_named("post_cache").len(), usize::from(summarised));
    }
}

#[test]
fn cached_outputs_are_listed_cleaned_and_cleared() {
    let room = room();
    let (_, path) = cached(&room);
    let notes = format!("sys/tool_cache/{}/notes", room.context());
    // One of 1970, and something that is no cached output.
    store(&room, "sys/tool_cache/old/shell_1_00000000", "old");
    store(&room, &notes, "mine");
    let listed = room.run(["cache", "list", "--json"]).ended_with(0).events();
    assert_eq!(listed.len(), 2);
    assert_eq!(
        json!([
            listed[1]["path"],
            listed[1]["tool_name"],
            listed[1]["size"],
            listed[0]["context_name"]
        ]),
        json!([path, "shell", 1492, "old"])
    );
    room.run(["cache", "list", &room.context()])
        .ended_with(0)
        .said(&path);
    room.run(["cache", "clean"])
        .ended_with(0)
        .complained("1 cached output was removed");
    assert_eq!(room.run(["cache", "list", "--json"]).events().len(), 1);
    room.run(["cache", "clear", "other"])
        .ended_with(0)
        .complained("0 cached outputs were removed");
    room.run(["cache", "clear"])
        .ended_with(0)
        .complained("1 cached output was removed");
    assert!(room.run(["cache", "list"]).ended_with(0).stdout.is_empty());
    assert_eq!(stored(&room, &notes).unwrap(), "mine");
    room.run(["cache", "clear", "../home"])
        .ended_with(1)
        .complained("not a valid address");
}

#[test]
fn a_run_removes_outputs_that_are_too_old() {
    let days_ago = |days: u64| {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
        format!(
            "sys/tool_cache/x/shell_{:x}_00000000",
            now - days * 24 * 60 * 60 * 1000
        )
    };
    let (six, eight) = (days_ago(6), days_ago(8));
    for (config, kept) in [
        ("", [true, false]),
        ("[cache]\nmax_age_days = 5\n", [false, false]),
    ] {
        let room = room();
        room.config(config);
        store(&room, &six, "six");
        store(&room, &eight, "eight");
        room.run(["Say hello"]).ended_with(0);
        assert_eq!(
            [stored(&room, &six).is_some(), stored(&room, &eight).is_some()],
            kept,
            "{config}"
        );
    }
    let room = room();
    room.config("[cache]\nmax_age_days = 0\n");
    room.run(["Say hello"]).ended_with(2).complained("config.toml");
}

#[test]
fn files_go_in_and_out_byte_for_byte() {
    let room = room();
    let bytes = b"\0\xff\x1b[2J\r\n";
    room.write("in", bytes);
    room.run(["vfs", "put", "vfs:///home/other/a", "in"])
        .ended_with(0);
    room.run(["vfs", "put", "in", "vfs:///sys/b"]).ended_with(0);
    room.run_with_input(["vfs", "put", "/shared/c"], bytes)
        .ended_with(0);
    for address in ["/home/other/a", "/sys/b", "vfs:///shared/c"] {
        room.run(["vfs", "get", address, "out"]).ended_with(0);
        assert_eq!(
            std::fs::read(room.work().join("out")).unwrap(),
            bytes,
            "{address}"
        );
    }
    let output = room.command(["vfs", "cat", "/sys/b"]).output().unwrap();
    assert_eq!(output.stdout, bytes);
    room.run(["vfs", "get", "/sys/b", "."]).ended_with(0);
    assert_eq!(std::fs::read(room.work().join("b")).unwrap(), bytes);
}

#[test]
fn the_person_lists_moves_and_removes_in_every_zone() {
    let room = room();
    let listed = room.run(["vfs", "ls"]).ended_with(0).stdout;
    assert_eq!(listed, "flocks/\nhome/\nshared/\nsite/\nsys/\ntools/\n");
    room.run(["vfs", "ls", "/shared"]).ended_with(0);
    store(&room, "shared/a", "12345");
    store(&room, "shared/.hidden", "");
    room.run(["vfs", "mkdir", "/flocks/team/notes"]).ended_with(0);
    room.run(["vfs", "cp", "/shared/a", "/flocks/team/notes/b"])
        .ended_with(0);
    room.run(["vfs", "mv", "/flocks/team", "/flocks/crew"])
        .ended_with(0);
    assert_eq!(stored(&room, "flocks/crew/notes/b").unwrap(), "12345");
    assert_eq!(room.run(["vfs", "ls", "/shared"]).stdout, "a (5 bytes)\n");
    let all = room
        .run(["vfs", "ls", "-a", "--json", "/shared"])
        .ended_with(0)
        .events();
    assert_eq!(
        (&all[0]["name"], &all[1]["path"]),
        (&json!(".hidden"), &json!("vfs:///shared/a"))
    );
    let info = room
        .run(["vfs", "info", "--json", "/shared/a"])
        .ended_with(0)
        .events()
        .remove(0);
    assert_eq!((&info["kind"], &info["size"]), (&json!("file"), &json!(5)));
    assert!(
        info["modified_ms"].as_u64().unwrap() > 1_600_000_000_000,
        "{info}"
    );
    room.run(["vfs", "info", "/shared"]).ended_with(0).said("folder");
    room.run(["vfs", "rm", "/flocks/crew"])
        .ended_with(1)
        .complained("rm -r");
    room.run(["vfs", "rm", "-r", "/flocks/crew", "/shared/a"])
        .ended_with(0);
    assert!(!backing(&room).join("flocks/crew").exists() && stored(&room, "shared/a").is_none());
}

#[test]
fn mistakes_at_the_command_line_say_what_to_try() {
    let room = room();
    let usage = [
        (&["vfs", "put", "/tools/sys/x", "in"][..], "cannot be written"),
        (&["vfs", "put", "/elsewhere/x", "in"], "in no zone"),
        (&["vfs", "rm", "-r", "/"], "in no zone"),
        (&["vfs", "cat", "shared/x"], "three slashes"),
        (&["vfs", "cat", "vfs:///shared/../x"], "not allowed"),
    ];
    room.write("in", "x");
    for (arguments, words) in usage {
        room.run(arguments).ended_with(2).complained(words);
    }
    let failures = [
        (
            &["vfs", "cat", "/shared/none"][..],
            "cannot read vfs:///shared/none: it does not exist",
        ),
        (&["vfs", "put", "/shared/x", "none"], "none"),
        (&["vfs", "ls", "/shared/none"], "does not exist"),
        (&["vfs", "mv", "/shared/none", "/shared/x"], "does not exist"),
    ];
    for (arguments, words) in failures {
        room.run(arguments).ended_with(1).complained(words);
    }
}
