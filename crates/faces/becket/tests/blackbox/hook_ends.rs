//! What the end of a hook's process means, by the class of its event, in every system that keeps its hooks in JSON
//! files. The results are pages of the documentation, and each of their cells must follow one rule.
//!
//! The rule: a guard that times out, is missing, dies by a signal or prints garbage refuses. The one softening is a
//! process that lives and exits with a code which its own system calls an error after which it goes on.

use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::hook_files::{says, shell};
use crate::room;

/// A system, and how its hooks are written.
pub(crate) struct System {
    /// Its name in the program, and that of its page.
    pub(crate) name: &'static str,
    /// Its name for people.
    pub(crate) title: &'static str,
    /// The file of a project that holds its hooks.
    pub(crate) file: &'static str,
    /// That file with one command at an event, which may take a second.
    pub(crate) hooks: fn(&str, &str) -> Value,
    /// Events, each with what it is about.
    events: &'static [(&'static str, About)],
    /// The exit codes after which the system goes on although its hook is a guard of calls.
    errors: &'static [i32],
    /// An answer with a word that does not exist.
    misspelt: &'static str,
    /// An answer that refuses.
    refusal: &'static str,
}

impl System {
    /// The first event at which calls are refused.
    pub(crate) fn guard_of_calls(&self) -> &'static str {
        self.events[0].0
    }
}

/// What an event is about: what a refusal keeps from happening.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Call,
    Prompt,
    Result,
    End,
}

pub(crate) const CLAUDE_CODE: System = System {
    name: "claude-code",
    title: "Claude Code",
    file: ".claude/settings.json",
    hooks: |event, command| {
        nested(
            event,
            json!({"type": "command", "command": command, "timeout": 1}),
        )
    },
    events: &[
        ("PreToolUse", About::Call),
        ("UserPromptSubmit", About::Prompt),
        ("PostToolUse", About::Result),
        ("SessionEnd", About::End),
    ],
    errors: &[1, 3],
    misspelt: "{\"decision\": \"blok\"}",
    refusal: "{\"decision\": \"block\", \"reason\": \"no\"}",
};

pub(crate) const CODEX: System = System {
    name: "codex",
    title: "Codex",
    file: ".codex/hooks.json",
    hooks: |event, command| {
        nested(
            event,
            json!({"type": "command", "command": command, "timeout": 1}),
        )
    },
    events: &[
        ("PreToolUse", About::Call),
        ("UserPromptSubmit", About::Prompt),
        ("PostToolUse", About::Result),
        ("SessionEnd", About::End),
    ],
    errors: &[1, 3],
    misspelt: "{\"decision\": \"blok\"}",
    refusal: "{\"decision\": \"block\", \"reason\": \"no\"}",
};

pub(crate) const GEMINI: System = System {
    name: "gemini",
    title: "Gemini CLI",
    file: ".gemini/settings.json",
    hooks: |event, command| {
        nested(
            event,
            json!({"type": "command", "command": command, "timeout": 1000}),
        )
    },
    events: &[
        ("BeforeTool", About::Call),
        ("BeforeAgent", About::Prompt),
        ("AfterTool", About::Result),
        ("SessionEnd", About::End),
    ],
    errors: &[1],
    misspelt: "{\"decision\": \"blok\"}",
    refusal: "{\"decision\": \"block\", \"reason\": \"no\"}",
};

pub(crate) const CURSOR: System = System {
    name: "cursor",
    title: "Cursor",
    file: ".cursor/hooks.json",
    hooks: |event, command| flat(event, json!({"command": command, "timeout": 1})),
    events: &[
        ("preToolUse", About::Call),
        ("beforeShellExecution", About::Call),
        ("beforeSubmitPrompt", About::Prompt),
        ("postToolUse", About::Result),
        ("sessionEnd", About::End),
    ],
    errors: &[1, 3],
    misspelt: "{\"permission\": \"deni\"}",
    refusal: "{\"permission\": \"deny\", \"continue\": false, \"user_message\": \"no\"}",
};

pub(crate) const COPILOT: System = System {
    name: "copilot",
    title: "GitHub Copilot",
    file: ".github/hooks/all.json",
    hooks: |event, command| {
        flat(
            event,
            json!({"type": "command", "bash": command, "timeoutSec": 1}),
        )
    },
    events: &[
        ("preToolUse", About::Call),
        ("userPromptSubmitted", About::Prompt),
        ("postToolUse", About::Result),
        ("sessionEnd", About::End),
    ],
    errors: &[],
    misspelt: "{\"permissionDecision\": \"deni\"}",
    refusal: "{\"permissionDecision\": \"deny\", \"permissionDecisionReason\": \"no\"}",
};

/// A file in which hooks stand in groups.
fn nested(event: &str, hook: Value) -> Value {
    json!({"hooks": {event: [{"hooks": [hook]}]}})
}

/// A file in which hooks stand at their events.
fn flat(event: &str, hook: Value) -> Value {
    json!({"version": 1, "hooks": {event: [hook]}})
}

/// How a process ends.
enum End {
    /// By itself, with this code.
    Exit(i32),
    /// Not by itself, or because something is missing.
    Died,
    /// With an answer that nobody can read.
    Garbage,
    /// With a no, and a code that is an error.
    Refusal,
}

/// Ways in which a hook ends: in words, as a command with `MISSPELT` and `REFUSAL` for answers of its system, and a
/// part of what the user is told if it is a guard of calls.
const ENDS: &[(&str, &str, &str, End)] = &[
    ("exits with 0, prints nothing", "exit 0", "", End::Exit(0)),
    (
        "exits with 1",
        "echo oops >&2; exit 1",
        "exit code 1: oops",
        End::Exit(1),
    ),
    ("exits with 2", "echo no >&2; exit 2", "no", End::Exit(2)),
    ("exits with 3", "echo oops >&2; exit 3", "oops", End::Exit(3)),
    (
        "refuses, and exits with 1",
        "echo 'REFUSAL'; exit 1",
        "refused shell",
        End::Refusal,
    ),
    (
        "exits with 127: a program is missing",
        "no-such-program-here",
        "exit code 127",
        End::Died,
    ),
    ("dies by a signal", "kill -9 $$", "signal", End::Died),
    (
        "takes longer than its timeout",
        "sleep 60",
        "no answer",
        End::Died,
    ),
    (
        "answers with a word that does not exist",
        "echo 'MISSPELT'",
        "must be",
        End::Garbage,
    ),
    (
        "answers with half an object",
        "echo '{\"decision\":'",
        "JSON",
        End::Garbage,
    ),
    (
        "answers with text around an object",
        "echo 'it is {\"decision\": \"block\"}'",
        "JSON object",
        End::Garbage,
    ),
    (
        "prints invalid UTF-8",
        "printf '\\377\\376'",
        "UTF-8",
        End::Garbage,
    ),
];

/// What a run with a hook came to, in the words of the page.
const GOES_ON: &str = "continues";
const TOLD: &str = "continues, and the user is told";
const REFUSED: [&str; 2] = ["the call is refused", "the prompt is refused"];
const WITHHELD: &str = "the result is withheld";

/// A room whose project has one hook.
pub(crate) fn with_hook(system: &System, event: &str, command: &str) -> Room {
    let room = room().with("SHELL", "/bin/bash");
    room.write(system.file, (system.hooks)(event, command).to_string());
    room
}

/// A call that leaves a file and prints words if it runs, and an answer.
fn play(room: &Room) -> Finished {
    let model = room.model(&json!([
        shell("touch made; echo printed by the call"),
        says("done", &[])
    ]));
    room.run(["--trust", "--yes", "--json", "--model", &model, "go"])
}

/// What a run came to.
fn effect(room: &Room, run: &Finished) -> &'static str {
    let requests = run.events_named("pre_request");
    let results = requests.get(1).map(|request| request["body"].to_string());
    let is_shown = results.is_some_and(|text| text.contains("printed by the call\\n"));
    match (run.code, room.has("made")) {
        (1, false) if requests.is_empty() => REFUSED[1],
        (0, false) => REFUSED[0],
        (0, true) if !is_shown => WITHHELD,
        (0, true) if run.stderr.contains("hook ") => TOLD,
        (0, true) => GOES_ON,
        _ => panic!("{run:#?}"),
    }
}

/// The classes of a system's events, as the program lists them.
fn classes(system: &System) -> Vec<String> {
    let listed = room().run(["hooks", "events", "--dialect", system.name, "--json"]);
    let lines = listed.stdout.lines();
    let rows: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let class = |event: &str| {
        let row = rows.iter().find(|row| row["known_as"] == event);
        row.unwrap_or_else(|| panic!("{event}: {rows:#?}"))["class"].clone()
    };
    let classes = system.events.iter().map(|(event, _)| class(event));
    classes.map(|class| class.as_str().unwrap().to_owned()).collect()
}

/// Whether the rule allows an effect.
fn is_lawful(system: &System, end: &End, class: &str, effect: &str) -> bool {
    let is_error = matches!(end, End::Exit(code) if system.errors.contains(code));
    match (end, class) {
        (End::Exit(0), _) => effect == GOES_ON,
        (_, "guard") if is_error => effect == TOLD,
        (_, "guard") => REFUSED.contains(&effect),
        (_, "filter") if is_error => effect == TOLD,
        (_, "filter") => effect == WITHHELD,
        // Others keep nothing from happening, but nobody is left in the dark about a hook that did not run.
        (End::Died, _) => effect == TOLD,
        _ => !REFUSED.contains(&effect),
    }
}

/// Plays all ends at all events of a system, and compares the page.
fn play_all(system: &System) {
    let classes = classes(system);
    let columns = || system.events.iter().zip(&classes);
    let heads = columns().map(|((event, _), class)| format!(" at `{event}` ({class}) |"));
    let mut page = format!(
        "# {}: what the end of a hook means\n\n{ABOUT_THE_PAGE}\n| a hook |{}\n|---|{}\n",
        system.title,
        heads.collect::<String>(),
        "---|".repeat(classes.len())
    );
    let mut unlawful = Vec::new();
    for (words, command, said, end) in ENDS {
        page.push_str(&format!("| {words} |"));
        for (&(event, about), class) in columns() {
            let command = command.replace("MISSPELT", system.misspelt);
            let command = command.replace("REFUSAL", system.refusal);
            let room = with_hook(system, event, &command);
            let run = play(&room);
            let effect = effect(&room, &run);
            page.push_str(&format!(" {effect} |"));
            if !is_lawful(system, end, class, effect) {
                unlawful.push(format!("{words} at {event}: {effect}"));
            }
            if about == About::Call {
                assert!(run.stderr.contains(said), "{event} {command}: {run:#?}");
            }
        }
        page.push('\n');
    }
    golden(&format!("docs/dialects/{}.md", system.name), &page);
    assert!(unlawful.is_empty(), "{}: {unlawful:#?}", system.title);
}

const ABOUT_THE_PAGE: &str =
    "Written by the tests in `hook_ends.rs`, with real hooks, and compared by them. \
`BECKET_UPDATE_GOLDENS=1` rewrites it.
";

/// A page of the documentation is as the test finds it.
pub(crate) fn golden(name: &str, page: &str) {
    let file = PathBuf::from(crate::repository_file(name));
    if std::env::var_os("BECKET_UPDATE_GOLDENS").is_some() {
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("it can be made");
        std::fs::write(&file, page).expect("it can be written");
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == page,
        "{name} differs; BECKET_UPDATE_GOLDENS=1 writes it:\n{page}"
    );
}

#[test]
fn the_end_of_a_hook_of_claude_code() {
    play_all(&CLAUDE_CODE);
}

#[test]
fn the_end_of_a_hook_of_codex() {
    play_all(&CODEX);
}

#[test]
fn the_end_of_a_hook_of_gemini() {
    play_all(&GEMINI);
}

#[test]
fn the_end_of_a_hook_of_cursor() {
    play_all(&CURSOR);
}

#[test]
fn the_end_of_a_hook_of_copilot() {
    play_all(&COPILOT);
}

/// With `strict` there is no softening, and what is no error is none.
#[test]
fn strict_settings_make_every_error_of_a_guard_refuse() {
    for system in [CLAUDE_CODE, CODEX, GEMINI, CURSOR, COPILOT] {
        for (event, about) in system.events {
            let is_guard = *about == About::Call || (*about == About::Prompt && system.name != "copilot");
            for code in is_guard.then_some(system.errors).into_iter().flatten() {
                let room = with_hook(&system, event, &format!("exit {code}"));
                room.config("[dialects]\nstrict = true\n");
                let run = play(&room);
                assert!(
                    REFUSED.contains(&effect(&room, &run)),
                    "{} {event} {code}: {run:#?}",
                    system.name
                );
            }
        }
    }
}
