//! Every kind of guest that may guard, broken in every way: what happens is the table of `docs/guide/broken-guests.md`.
//!
//! The table is made of what the real program did. With `BECKET_UPDATE_TABLE=1` the page is written anew.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::Room;

use crate::plugins::plugin;
use crate::scheme::{backing, put};
use crate::unloaded::touching;
use crate::{repository_file, room};

/// The ways to break, in the order of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    NotFound,
    NotStartable,
    Crashes,
    Hangs,
    Garbage,
    TooLong,
    HalfLoaded,
    Emptied,
    MisspeltEvent,
}

const WAYS: [(Way, &str); 9] = [
    (Way::NotFound, "not found"),
    (Way::NotStartable, "not startable"),
    (Way::Crashes, "crashes"),
    (Way::Hangs, "hangs"),
    (Way::Garbage, "garbage"),
    (Way::TooLong, "too long"),
    (Way::HalfLoaded, "half loaded"),
    (Way::Emptied, "emptied"),
    (Way::MisspeltEvent, "misspelt event"),
];

/// A kind of guest, and what puts one into a room that is broken in a way; gives back words for the command line.
type Kind = (&'static str, fn(&Room, Way) -> Vec<String>);

const KINDS: [Kind; 7] = [
    ("becket hook", |room, way| own(room, way, "command")),
    ("becket worker", |room, way| own(room, way, "worker")),
    ("docker-agent hook", docker_agent),
    ("chibi plugin", chibi_plugin),
    ("Scheme file", scheme),
    ("pi extension", pi),
    ("MCP server", mcp),
];

/// A script that is broken in a way, and where it lies.
fn script(room: &Room, place: &str, way: Way) -> String {
    let file = match way {
        Way::NotFound => return format!("{}/not-there", room.work().display()),
        Way::NotStartable => {
            let file = room.write(place, "#!/bin/sh\nexit 0\n");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("it is there");
            file
        }
        Way::Crashes => room.script(place, "#!/bin/sh\nkill -9 $$\n"),
        Way::Hangs => room.script(place, "#!/bin/sh\nsleep 600\n"),
        Way::Garbage => room.script(place, "#!/bin/sh\necho '{well'\n"),
        Way::TooLong => room.script(place, "#!/bin/sh\nexec yes\n"),
        Way::HalfLoaded => room.script(place, "#!/bin/sh\nif true; then\n"),
        Way::Emptied => room.script(place, ""),
        Way::MisspeltEvent => room.script(place, "#!/bin/sh\nexit 0\n"),
    };
    file.display().to_string()
}

fn own(room: &Room, way: Way, key: &str) -> Vec<String> {
    let program = script(room, "guard", way);
    let event = if way == Way::MisspeltEvent {
        "pre_tol"
    } else {
        "pre_tool"
    };
    let hooks = room.hooks(&format!(
        "[[hook]]\nevent = \"{event}\"\n{key} = [\"{program}\"]\ntimeout = 3\n"
    ));
    vec!["--hooks".into(), hooks]
}

fn docker_agent(room: &Room, way: Way) -> Vec<String> {
    // Its commands are lines for a shell, which runs an empty file as a script that says nothing.
    let program = match way {
        Way::Emptied => String::new(),
        way => script(room, "guard", way),
    };
    let event = if way == Way::MisspeltEvent {
        "pre_tool_us"
    } else {
        "pre_tool_use"
    };
    room.write(
        "../home/.config/becket/hooks.d/guard.yaml",
        format!(
            "{event}:\n  - matcher: '*'\n    hooks: [{{type: command, command: '{program}', timeout: 3}}]\n"
        ),
    );
    Vec::new()
}

fn chibi_plugin(room: &Room, way: Way) -> Vec<String> {
    room.config("[chibi]\nschema_timeout = 3\n");
    let place = "../home/.chibi/plugins/guard";
    let good = |hook: &str| {
        format!("#!/bin/sh\necho '{{\"name\":\"g\",\"description\":\"d\",\"hooks\":[\"{hook}\"]}}'\n")
    };
    match way {
        // It was one before: what never was a plugin is none.
        Way::NotFound | Way::NotStartable => {
            plugin(room, "guard", &good("pre_tool"));
            room.run(["plugin"]).ended_with(0);
            let file = room.home().join(".chibi/plugins/guard");
            std::fs::remove_file(&file).expect("it is there");
            match way {
                Way::NotFound => std::os::unix::fs::symlink("not-there", &file).expect("a link can be made"),
                _ => drop(room.write(place, "")),
            }
        }
        Way::MisspeltEvent => plugin(room, "guard", &good("pre_tol")),
        way => drop(script(room, place, way)),
    }
    Vec::new()
}

fn scheme(room: &Room, way: Way) -> Vec<String> {
    room.config("[chibi]\ntool_timeout = 5\n");
    let text = match way {
        Way::NotFound => "(import (not there))",
        Way::NotStartable => "(import (scheme file))",
        Way::Crashes => "(error \"no\")",
        Way::Hangs => "(let loop () (loop))",
        Way::Garbage => "#<well>",
        Way::TooLong => "(define (f x) (f (string-append x x))) (f \"xxxx\")",
        Way::HalfLoaded => "(register-hook 'pre_tool (lambda (payload) '()",
        Way::Emptied => "",
        Way::MisspeltEvent => "(register-hook 'pre_tol (lambda (payload) '()))",
    };
    put(room, "tools/shared/guard.scm", text);
    assert!(backing(room).join("tools/shared/guard.scm").exists());
    Vec::new()
}

fn pi(room: &Room, way: Way) -> Vec<String> {
    room.config("[pi]\ntimeout = 5\nmemory_mb = 32\n");
    let code = match way {
        Way::NotFound => {
            room.write(
                "../home/.pi/agent/settings.json",
                r#"{"extensions": ["./gone.ts"]}"#,
            );
            return Vec::new();
        }
        Way::NotStartable => "import x from 'not-there'; export default () => x;",
        Way::Crashes => "export default () => { throw new Error('no'); };",
        Way::Hangs => "export default () => { for (;;) {} };",
        Way::Garbage => "export default 5;",
        Way::TooLong => {
            "export default () => { const all = []; for (;;) all.push(new Array(10000).fill(0)); };"
        }
        Way::HalfLoaded => "export default (pi: any) => { pi.on('tool_call', () => {",
        Way::Emptied => "",
        Way::MisspeltEvent => "export default (pi: any) => pi.on('tool_cal', () => {});",
    };
    room.write("../home/.pi/agent/extensions/guard.ts", code);
    Vec::new()
}

/// Servers hold no guards: nothing of theirs is refused but their own tools.
fn mcp(room: &Room, way: Way) -> Vec<String> {
    let program = script(room, "server", way);
    room.config(&format!(
        "[mcp.servers.tools]\ncommand = \"{program}\"\nstart_timeout = 3\n"
    ));
    Vec::new()
}

/// What became of a call that the guest may have judged.
fn outcome(prepare: fn(&Room, Way) -> Vec<String>, way: Way) -> &'static str {
    let room = room();
    let arguments = prepare(&room, way);
    let model = room.model(&touching());
    let mut words: Vec<&str> = vec!["--json", "--yes", "--model", &model];
    words.extend(arguments.iter().map(String::as_str));
    words.push("go");
    let run = room.run(words);
    let refused = |event: &Value| {
        event["result"]
            .as_str()
            .is_some_and(|text| text.starts_with("refused: "))
    };
    match (run.code, room.has("made")) {
        (4, false) => "no run (4)",
        (2, false) => "no run (2)",
        (0, false) if run.events_named("post_tool").iter().any(refused) => "refused",
        (0, true) => "runs",
        _ => panic!("{way:?}: {run:#?}"),
    }
}

#[test]
fn what_a_broken_guest_comes_to_stands_in_the_guide() {
    let ways: Vec<&str> = WAYS.iter().map(|(_, name)| *name).collect();
    let mut table = format!("| | {} |\n|---{}|\n", ways.join(" | "), "|---".repeat(ways.len()));
    for (kind, prepare) in KINDS {
        let outcomes: Vec<&str> = WAYS.iter().map(|(way, _)| outcome(prepare, *way)).collect();
        let may_run = kind == "MCP server";
        assert!(may_run || !outcomes.contains(&"runs"), "{kind}: {outcomes:?}");
        table.push_str(&format!("| {kind} | {} |\n", outcomes.join(" | ")));
    }
    let file = repository_file("docs/guide/broken-guests.md");
    let page = std::fs::read_to_string(&file).expect("the page is there");
    let (begin, end) = ("<!-- generated: broken guests -->\n", "<!-- end -->");
    let (before, rest) = page
        .split_once(begin)
        .expect("the page has a place for the table");
    let (shown, after) = rest.split_once(end).expect("the table has an end");
    if std::env::var_os("BECKET_UPDATE_TABLE").is_some() {
        std::fs::write(&file, format!("{before}{begin}{table}{end}{after}"))
            .expect("the page can be written");
        return;
    }
    let wrong = json!({"run with BECKET_UPDATE_TABLE=1 to write it": table});
    assert_eq!(shown, table, "{wrong}");
}
