//! The approval order: who decides about a call when rules, guards, hooks and `--yes` say different things, and
//! nobody is there to be asked.

use serde_json::{Value, json};

use super::{agent, call, heard, members, play, says, shell, specific, stage};

/// What a cell of the table makes a hook do.
fn command(cell: &str) -> String {
    match cell {
        "exit2" => "echo no >&2; exit 2".into(),
        "crash" => "exit 1".into(),
        "garbage" => "printf '{\"decision\": '".into(),
        "silent" => String::new(),
        verdict => specific("permission_decision", verdict),
    }
}

/// An agent file with the hooks and the rule of a row.
fn file(tool: &str, rule: &str, cells: &[(&str, &str)]) -> Value {
    let commands: Vec<(&str, String)> = cells
        .iter()
        .map(|(event, cell)| (*event, command(cell)))
        .collect();
    let mut commands: Vec<(&str, &str)> = commands
        .iter()
        .map(|(event, command)| (*event, command.as_str()))
        .collect();
    commands.extend([("post_tool_use", ""), ("on_tool_approval_decision", "")]);
    let mut file = json!({"agents": {"root": agent(&commands, &json!({}))}});
    if rule != "-" {
        file["permissions"] = json!({rule: [tool]});
    }
    file
}

/// Adds a hook with `preempt_yolo` before the others.
fn preempt(file: &mut Value, cell: &str) {
    let hook = json!({"type": "command", "command": super::noting("preempt", &command(cell))});
    let entry = json!({"matcher": "*", "preempt_yolo": true, "hooks": [hook]});
    let hooks = &mut file["agents"]["root"]["hooks"];
    hooks["pre_tool_use"].as_array_mut().expect("a list").push(entry);
}

/// Plays one row, and says what became of the call: whether it ran, and who decided.
fn decided(row: &str) -> (bool, String) {
    let cells: Vec<&str> = row.split_whitespace().collect();
    let [tool, rule, guard, preempting, pre, request, yes] = cells[..] else {
        panic!("seven cells: {row}");
    };
    let tool = match tool {
        "read" => "read_file",
        other => other,
    };
    // A hook that says nothing still notes that it was asked.
    let pre = if pre == "-" { "silent" } else { pre };
    let cells = [
        ("tool_guard", guard),
        ("pre_tool_use", pre),
        ("permission_request", request),
    ];
    let cells: Vec<(&str, &str)> = cells.into_iter().filter(|(_, cell)| *cell != "-").collect();
    let mut file = file(tool, rule, &cells);
    if preempting != "-" {
        preempt(&mut file, preempting);
    }
    let room = stage(&file);
    let turn = match tool {
        "shell" => shell("touch made"),
        _ => call("read_file", &json!({"path": "a.txt"})),
    };
    let flags: &[&str] = if yes == "yes" { &["--yes"] } else { &[] };
    play(&room, &json!([turn, says("done", &[])]), flags).ended_with(0);

    let ran = !heard(&room, "post_tool_use").is_empty();
    assert_eq!(room.has("made"), ran && tool == "shell", "{row}");
    let refuses = |cell: &str| matches!(cell, "deny" | "exit2" | "crash" | "garbage");
    let refused_before = refuses(guard) || refuses(preempting);
    assert_eq!(
        heard(&room, "pre_tool_use").is_empty(),
        refused_before,
        "is pre_tool_use asked? {row}"
    );
    let decision = members(&room, "on_tool_approval_decision", "approval_decision");
    assert_eq!(decision, [if ran { "allow" } else { "deny" }], "{row}");
    let source = members(&room, "on_tool_approval_decision", "approval_source").remove(0);
    (ran, source.as_str().unwrap_or_default().to_owned())
}

#[track_caller]
fn check(table: &[(&str, bool, &str)]) {
    for (row, ran, source) in table {
        assert_eq!(decided(row), (*ran, (*source).to_owned()), "{row}");
    }
}

// The columns: tool, rule, tool_guard, pre_tool_use with `preempt_yolo`, pre_tool_use, permission_request, `--yes`.

const YES: &str = "yolo";
const NOBODY: &str = "non_interactive_deny";
const HOOK_YES: &str = "pre_tool_use_hook_allow";
const HOOK_NO: &str = "pre_tool_use_hook_deny";
const REQUEST_YES: &str = "permission_request_hook_allow";
const REQUEST_NO: &str = "permission_request_hook_deny";
const RULE_YES: &str = "team_permissions_allow";
const RULE_NO: &str = "team_permissions_deny";
const READS: &str = "readonly_hint";

#[test]
fn rules_the_kind_of_tool_and_a_yes() {
    check(&[
        ("shell -     - - - - -  ", false, NOBODY),
        ("shell -     - - - - yes", true, YES),
        ("shell allow - - - - -  ", true, RULE_YES),
        ("shell allow - - - - yes", true, RULE_YES),
        ("shell ask   - - - - -  ", false, NOBODY),
        ("shell ask   - - - - yes", true, YES),
        ("shell deny  - - - - -  ", false, RULE_NO),
        ("shell deny  - - - - yes", false, RULE_NO),
        ("read  -     - - - - -  ", true, READS),
        ("read  -     - - - - yes", true, READS),
        ("read  ask   - - - - -  ", false, NOBODY),
        ("read  ask   - - - - yes", true, YES),
        ("read  deny  - - - - yes", false, RULE_NO),
    ]);
}

#[test]
fn pre_tool_use_is_asked_about_every_call() {
    check(&[
        ("shell -     - - allow   - -  ", true, HOOK_YES),
        ("shell ask   - - allow   - -  ", true, HOOK_YES),
        ("shell deny  - - allow   - yes", false, RULE_NO),
        ("shell -     - - ask     - -  ", false, NOBODY),
        ("shell -     - - ask     - yes", true, YES),
        ("shell allow - - ask     - -  ", false, NOBODY),
        ("shell allow - - ask     - yes", true, YES),
        ("shell -     - - deny    - yes", false, HOOK_NO),
        ("shell allow - - deny    - yes", false, HOOK_NO),
        ("shell allow - - exit2   - yes", false, HOOK_NO),
        ("shell allow - - crash   - yes", false, HOOK_NO),
        ("shell allow - - garbage - yes", false, HOOK_NO),
        ("read  -     - - ask     - -  ", false, NOBODY),
        ("read  -     - - ask     - yes", true, YES),
        ("read  -     - - deny    - -  ", false, HOOK_NO),
        ("read  -     - - crash   - yes", false, HOOK_NO),
    ]);
}

#[test]
fn who_insists_is_answered_by_the_person_alone() {
    check(&[
        ("shell -     ask   -     -     -     yes", false, NOBODY),
        ("shell allow ask   -     -     -     yes", false, NOBODY),
        ("shell allow ask   -     allow -     yes", false, NOBODY),
        ("shell -     ask   -     -     allow yes", false, NOBODY),
        ("shell -     ask   -     allow allow -  ", false, NOBODY),
        ("read  -     ask   -     -     -     yes", false, NOBODY),
        ("shell -     -     ask   -     -     yes", false, NOBODY),
        ("shell allow -     ask   -     -     yes", false, NOBODY),
        ("shell allow -     ask   allow allow yes", false, NOBODY),
        ("read  -     -     ask   -     allow yes", false, NOBODY),
        ("shell deny  ask   -     -     -     yes", false, RULE_NO),
        ("shell allow ask   -     deny  -     yes", false, HOOK_NO),
        // Their allow is advice.
        ("shell -     allow -     -     -     -  ", false, NOBODY),
        ("shell -     -     allow -     -     -  ", false, NOBODY),
        ("shell -     allow allow -     -     yes", true, YES),
    ]);
}

#[test]
fn a_guard_that_refuses_or_breaks_refuses() {
    check(&[
        ("shell allow deny    -       -     -     yes", false, HOOK_NO),
        ("shell allow exit2   -       allow allow yes", false, HOOK_NO),
        ("shell allow crash   -       allow -     yes", false, HOOK_NO),
        ("read  -     garbage -       -     -     yes", false, HOOK_NO),
        ("read  -     crash   -       -     -     -  ", false, HOOK_NO),
        ("shell allow -       deny    allow -     yes", false, HOOK_NO),
        ("shell allow -       exit2   -     -     yes", false, HOOK_NO),
        ("shell allow -       crash   -     allow yes", false, HOOK_NO),
        ("read  allow -       garbage -     -     yes", false, HOOK_NO),
    ]);
}

#[test]
fn permission_request_answers_for_the_person_where_the_person_would_be_asked() {
    check(&[
        ("shell -     - -   -     allow   -  ", true, REQUEST_YES),
        ("shell ask   - -   -     allow   -  ", true, REQUEST_YES),
        ("shell -     - -   ask   allow   -  ", true, REQUEST_YES),
        ("shell -     - -   -     ask     yes", true, YES),
        ("shell -     - -   -     deny    -  ", false, REQUEST_NO),
        ("shell -     - -   -     deny    yes", false, REQUEST_NO),
        ("shell -     - -   ask   deny    yes", false, REQUEST_NO),
        ("shell -     - -   -     exit2   yes", false, REQUEST_NO),
        ("shell -     - -   -     crash   yes", false, REQUEST_NO),
        ("shell -     - ask -     deny    yes", false, REQUEST_NO),
        ("shell deny  - -   -     allow   yes", false, RULE_NO),
        // Nobody would be asked here.
        ("shell allow - -   -     deny    -  ", true, RULE_YES),
        ("shell -     - -   allow deny    -  ", true, HOOK_YES),
        ("read  -     - -   -     deny    -  ", true, READS),
        ("read  ask   - -   -     allow   -  ", true, REQUEST_YES),
    ]);
}
