//! Which extensions of pi's are found, which are trusted, and what is said about those that cannot be loaded.

use serde_json::json;
use testkit::Room;

use crate::room;

/// An extension that says its name when a session begins.
fn speaker(name: &str) -> String {
    format!(
        "export default (pi: any) => {{ pi.on('session_start', () => console.error('here is {name}')); }};"
    )
}

fn spoken(room: &Room, options: &[&str]) -> Vec<String> {
    let model = room.model(&json!([{"text": "fine"}]));
    let mut words = vec!["--model", &model];
    words.extend(options);
    words.push("go");
    let run = room.run(words).ended_with(0);
    let said = run
        .stderr
        .lines()
        .filter_map(|line| line.split("here is ").nth(1));
    said.map(|name| name.trim().to_owned()).collect()
}

#[test]
fn extensions_are_loaded_from_the_command_line_the_project_and_the_person_in_this_order() {
    let room = room();
    room.write("../home/.pi/agent/extensions/mine.ts", speaker("mine"));
    room.write("../home/.pi/agent/extensions/folder/index.ts", speaker("folder"));
    room.write(".pi/extensions/project.ts", speaker("project"));
    room.write("given.ts", speaker("given"));
    room.write(
        "pack/package.json",
        r#"{"pi": {"extensions": ["./src/main.ts"]}}"#,
    );
    room.write("pack/src/main.ts", speaker("pack"));
    let all = ["-e", "given.ts", "-e", "pack", "--trust"];
    assert_eq!(
        spoken(&room, &all),
        ["given", "pack", "project", "folder", "mine"]
    );
    assert_eq!(spoken(&room, &["-ne", "-e", "given.ts"]), ["given"]);
    assert_eq!(spoken(&room, &["--no-extensions"]), [""; 0]);
    room.config("[pi]\nenabled = false\n");
    assert_eq!(spoken(&room, &["-e", "given.ts"]), ["given"]);
    room.config("");
    let room = room.with("PI_CODING_AGENT_DIR", "~/elsewhere");
    room.write("../home/elsewhere/extensions/other.ts", speaker("other"));
    assert_eq!(spoken(&room, &["--trust"]), ["project", "other"]);
}

#[test]
fn a_project_with_extensions_that_are_not_trusted_stops_the_run() {
    let room = room();
    room.write(".pi/extensions/gate.ts", speaker("gate"));
    let model = room.model(&json!([{"text": "fine"}]));
    let run = room.run(["--model", &model, "go"]).ended_with(4);
    assert!(
        run.stderr.contains("gate.ts is not trusted") && run.stderr.contains("--trust"),
        "{run:#?}"
    );
    assert!(!run.stderr.contains("here is"), "{run:#?}");
    room.run(["--model", &model, "--no-extensions", "go"])
        .ended_with(0);
    let listed = room.run(["hooks", "list"]).ended_with(0);
    assert!(listed.stderr.contains("gate.ts is not trusted"), "{listed:#?}");
}

#[test]
fn what_cannot_be_loaded_is_named_and_without_it_the_rest_goes_on() {
    let room = room();
    let folder = "../home/.pi/agent/extensions";
    room.write(&format!("{folder}/a_syntax.ts"), "export default (pi => {");
    room.write(
        &format!("{folder}/b_import.ts"),
        "import x from 'not-there';\nexport default () => x;",
    );
    room.write(
        &format!("{folder}/c_throws.ts"),
        "export default () => { throw new Error('no luck'); };",
    );
    room.write(&format!("{folder}/d_nothing.ts"), "export const x = 1;");
    room.write(&format!("{folder}/e_fine.ts"), speaker("fine"));
    let model = room.model(&json!([{"text": "answered"}]));
    let run = room.run(["--model", &model, "go"]).ended_with(4);
    for (name, words) in [
        ("a_syntax", "a_syntax.ts"),
        ("b_import", "not-there"),
        ("c_throws", "no luck"),
        ("d_nothing", "factory"),
    ] {
        let line = run
            .stderr
            .lines()
            .find(|line| line.contains(&format!("the extension {name} (")));
        let line = line.unwrap_or_else(|| panic!("{name}: {run:#?}"));
        assert!(line.contains("could not be loaded"), "{line}");
        assert!(run.stderr.contains(words), "{name}: {run:#?}");
    }
    let without = ["a_syntax", "b_import", "c_throws", "d_nothing"].map(|name| ["--without", name]);
    let run = room
        .run([&["--model", &model][..], &without.concat(), &["go"]].concat())
        .ended_with(0)
        .said("answered");
    assert!(run.stderr.contains("here is fine"), "{run:#?}");
    let listed = room.run(["hooks", "list", "--json"]).ended_with(0);
    let lines: Vec<serde_json::Value> = listed
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let extensions: Vec<_> = lines.iter().filter(|line| line["kind"] == "extension").collect();
    assert_eq!(extensions.len(), 5, "{listed:#?}");
    assert_eq!(extensions[4]["hooks"], json!(["session_start"]));
    assert_eq!(extensions[4]["engine"], "embedded");
    assert!(extensions[1]["trouble"].as_str().unwrap().contains("not-there"));
    assert!(
        lines
            .iter()
            .any(|line| line["kind"] == "hook" && line["known_as"] == "session_start")
    );
}

#[test]
fn what_the_command_line_names_must_be_there() {
    let room = room();
    for (given, words) in [
        ("none.ts", "there is no extension"),
        ("npm:x", "pi install npm:x"),
    ] {
        room.run(["-e", given, "go"]).ended_with(2).complained(words);
    }
}
