//! The user at the limit of a run: a yes lets it go on, and hooks are told.

use serde_json::json;
use testkit::{Finished, Room, finish, needs};

use crate::room;

/// Gives a program a terminal of its own, types lines into it, and other ones as soon as a question about a command
/// appears; says yes to whatever it asks there, and passes on what it prints.
const PERSON: &str = r"
import os, pty, shutil, sys, tempfile
printed = tempfile.TemporaryFile()
lines, hasty = sys.argv.pop(1), sys.argv.pop(1)
pid, terminal = pty.fork()
if pid == 0:
    os.dup2(printed.fileno(), 1)
    os.execv(sys.argv[1], sys.argv[1:])
os.write(terminal, lines.encode())
seen = b''
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    os.write(2, piece)
    seen += piece
    if b'command: ' in seen:
        os.write(terminal, hasty.encode())
        hasty = ''
    if b'[c]ancel:' in seen:
        seen = b''
        os.write(terminal, b'y\n')
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
printed.seek(0)
shutil.copyfileobj(printed, sys.stdout.buffer)
sys.stdout.flush()
sys.exit(code)
";

/// Runs the program at a terminal where a user says yes to everything; `None` where that cannot be had.
pub(crate) fn with_person(room: &Room, arguments: &[&str]) -> Option<Finished> {
    with_person_typing(room, arguments, "")
}

/// Runs the program at a terminal where a user types these lines at once; `None` where that cannot be had.
pub(crate) fn with_person_typing(room: &Room, arguments: &[&str], lines: &str) -> Option<Finished> {
    with_hasty_person(room, arguments, lines, "")
}

fn with_hasty_person(room: &Room, arguments: &[&str], lines: &str, hasty: &str) -> Option<Finished> {
    if !needs("python3") {
        return None;
    }
    let command = room.command(arguments);
    let mut person = std::process::Command::new("python3");
    person
        .args(["-c", PERSON, lines, hasty])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(room.work())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    Some(finish(person.spawn().expect("python3 can be started")))
}

#[test]
fn what_is_typed_as_a_question_appears_does_not_answer_it() {
    let room = room();
    let call = json!({"name": "shell", "arguments": {"command": "touch ran"}});
    let model = room.model(&json!([{"tool_calls": [call]}, {"text": "all done"}]));
    let hasty = "n not this one\n";
    let Some(run) = with_hasty_person(&room, &["--model", &model, "go"], "", hasty) else {
        return;
    };
    run.ended_with(0).said("all done");
    assert!(room.has("ran"), "the yes after it is the answer");
}

#[test]
fn a_person_at_the_terminal_lets_a_run_go_on() {
    let room = room();
    let read = |name: &str| json!({"tool_calls": [{"name": "list", "arguments": {"path": name}}]});
    let model = room.model(&json!([read("."), read("./"), {"text": "done"}]));
    let arguments = ["--json", "--model", &model, "--max-iterations", "2", "go"];
    let Some(run) = with_person(&room, &arguments) else {
        return;
    };
    let run = run
        .ended_with(0)
        .complained("continuing past the limit")
        .complained("the limit of 2 requests for one prompt is reached");
    let raised = &run.events_named("limit_raised")[0];
    assert_eq!(
        (&raised["previous_limit"], &raised["new_limit"]),
        (&json!(2), &json!(12))
    );
    assert_eq!(run.events_named("turn_end").len(), 3);

    let run = room.run(arguments).ended_with(5);
    assert!(run.events_named("limit_raised").is_empty(), "nobody was there");
}
