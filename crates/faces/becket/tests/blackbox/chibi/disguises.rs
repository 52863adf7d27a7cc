//! Plugins that are not what they seem: a guard behind a door, a tool in becket's place that reads more into a path.

use serde_json::json;

use super::{Chibi, runs, says};

fn schema(name: &str, hooks: &[&str]) -> String {
    json!({"name": name, "description": "", "hooks": hooks, "parameters": {"type": "object"}}).to_string()
}

/// A plugin that answers `--schema` and then does what the body says, with its data in `$data`.
fn program(name: &str, body: &str) -> String {
    format!(
        "#!/bin/bash\n[[ $1 == --schema ]] && echo '{}' && exit\ndata=$(cat)\n{body}\n",
        schema(name, &[])
    )
}

#[test]
fn a_guard_of_the_older_generation_behind_a_door_still_refuses() {
    let chibi = Chibi::new();
    let door = "#!/bin/bash\nexec bash \"$(dirname \"$0\")/work.sh\" \"$@\"\n";
    chibi.install("guard/guard", door);
    let work = format!(
        "[[ $1 == --schema ]] && echo '{}' && exit\n[[ $CHIBI_HOOK_DATA == *run_command* && $CHIBI_HOOK_DATA == *touch* ]] \
         && echo '{{\"block\": true, \"message\": \"seen through\"}}'\ntrue\n",
        schema("guard", &["pre_tool"])
    );
    chibi.install("guard/work.sh", &work);
    let told = chibi
        .ask(&["--yes", "go"], &[runs("touch ran"), says("done")])
        .went_well();
    assert!(told.results()[0].contains("seen through"), "{told:#?}");
    assert!(!chibi.room.has("ran"));
}

#[test]
fn a_guard_far_behind_a_door_finds_its_data_too() {
    let chibi = Chibi::new();
    let work = chibi.room.script(
        "../elsewhere/work.sh",
        "[[ $CHIBI_HOOK_DATA == *touch* ]] && echo '{\"block\": true, \"message\": \"seen through\"}'\ntrue\n",
    );
    let door = format!(
        "#!/bin/bash\n[[ $1 == --schema ]] && echo '{}' && exit\nexec bash {}\n",
        schema("guard", &["pre_tool"]),
        testkit::quoted(&work)
    );
    chibi.install("guard", &door);
    chibi
        .ask(&["--yes", "go"], &[runs("touch ran"), says("done")])
        .went_well();
    assert!(!chibi.room.has("ran"));
}

#[test]
fn a_guard_whose_script_changes_is_asked_again_what_it_guards() {
    let chibi = Chibi::new();
    chibi.install(
        "guard/guard",
        "#!/bin/bash\nexec bash \"$(dirname \"$0\")/work.sh\" \"$@\"\n",
    );
    let work = |hooks: &[&str]| {
        let schema = schema("guard", hooks);
        format!(
            "[[ $1 == --schema ]] && echo '{schema}' && exit\ncat >/dev/null; echo '{{\"block\": true}}'\n"
        )
    };
    chibi.install("guard/work.sh", &work(&[]));
    chibi
        .ask(&["--yes", "go"], &[runs("touch first"), says("done")])
        .went_well();
    assert!(chibi.room.has("first"));
    chibi.install("guard/work.sh", &work(&["pre_tool"]));
    chibi
        .ask(&["--yes", "go"], &[runs("touch second"), says("done")])
        .went_well();
    assert!(!chibi.room.has("second"));
}

#[test]
fn what_a_plugin_guards_does_not_depend_on_where_it_was_asked() {
    let chibi = Chibi::new();
    let body = format!(
        "#!/bin/bash\nif [[ $1 == --schema ]]; then [[ -e nothing-to-guard ]] && echo '{}' || echo '{}'; exit; fi\n\
         cat >/dev/null; echo '{{\"block\": true}}'\n",
        schema("guard", &[]),
        schema("guard", &["pre_tool"])
    );
    chibi.install("guard", &body);
    chibi.room.write("nothing-to-guard", "");
    chibi
        .ask(&["--yes", "go"], &[runs("touch ran"), says("done")])
        .went_well();
    assert!(!chibi.room.has("ran"));
}

#[test]
fn a_program_in_beckets_place_gets_the_path_that_was_judged_and_nothing_else() {
    let chibi = Chibi::new();
    chibi.install("read_file", &program("read_file", "echo \"read: $data\""));
    let path = |path: &str| {
        let call = json!({ "path": path }).to_string();
        chibi.room.run(["tool", "read_file", &call]).ended_with(0).stdout
    };
    let judged = chibi.room.work().canonicalize().unwrap().join("file:/secret");
    let read = path("file:///secret");
    assert!(read.contains(judged.to_str().unwrap()), "{read}");
    assert!(!read.contains("file:///"), "{read}");
}

#[test]
fn addresses_of_the_virtual_file_system_are_not_for_programs_in_beckets_place() {
    let chibi = Chibi::new();
    chibi.install("write_file", &program("write_file", "touch ran"));
    let call = json!({"path": "vfs:///shared/x", "content": "y"}).to_string();
    chibi
        .room
        .run(["--yes", "tool", "write_file", &call])
        .ended_with(1);
    assert!(!chibi.room.has("ran"));
}

#[test]
fn a_command_in_beckets_place_is_told_the_directory_that_was_judged() {
    let chibi = Chibi::new();
    chibi.install("shell_exec", &program("shell_exec", "echo \"in $PWD: $data\""));
    let call = json!({"command": "ls", "cwd": ".."}).to_string();
    let run = chibi
        .room
        .run(["--yes", "tool", "shell_exec", &call])
        .ended_with(0);
    let above = chibi
        .room
        .work()
        .canonicalize()
        .unwrap()
        .parent()
        .unwrap()
        .display()
        .to_string();
    assert!(run.stdout.contains(&format!("in {above}:")), "{}", run.stdout);
    assert!(
        run.stdout.contains(&format!("\"cwd\":\"{above}\"")),
        "{}",
        run.stdout
    );
}
