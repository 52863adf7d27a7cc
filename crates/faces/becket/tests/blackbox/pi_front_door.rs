//! `becket pi …`: pi's own command line, as its two published versions treat it.

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, OpenAiStream, Response, Room};

use crate::room;

fn says(text: &str) -> Response {
    Response::events(OpenAiStream::new("m").text(text).finish("stop").done())
}

/// A room whose model is the server.
fn connected(server: &ModelServer) -> Room {
    room()
        .with("OPENAI_API_KEY", "sk-very-secret-0123456789")
        .with("OPENAI_BASE_URL", &server.url())
}

fn pi(room: &Room, words: &[&str]) -> Finished {
    let start = ["pi", "--model", "openai/m"];
    room.run(start.iter().chain(words))
}

/// What the user said in a request, from its last message.
fn prompt(request: &Value) -> String {
    let messages = request["messages"].as_array().expect("messages");
    let content = &messages.last().expect("a message")["content"];
    content
        .as_str()
        .map_or_else(|| content.to_string(), ToOwned::to_owned)
}

/// The tools of a request, by name.
fn tools(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: Value| tool["function"]["name"].as_str().unwrap_or_default().to_owned();
    let mut names: Vec<String> = tools.into_iter().map(name).collect();
    names.sort();
    names
}

#[test]
fn a_prompt_is_never_a_command_of_beckets() {
    let words = ["undo", "doctor", "sessions", "audit", "pi", "help"];
    let server = ModelServer::start(words.iter().map(|_| says("fine")));
    let room = connected(&server);
    room.write("kept.txt", "kept");
    for (index, word) in words.iter().enumerate() {
        let run = pi(&room, &["-p", word]).ended_with(0);
        assert_eq!(run.stdout, "fine\n", "{word}");
        assert_eq!(prompt(&server.requests()[index].json()), *word);
    }
    assert_eq!(room.read("kept.txt"), "kept");
}

#[test]
fn the_first_of_several_prompts_may_be_a_command_too() {
    let server = ModelServer::start([says("one"), says("two")]);
    let room = connected(&server);
    let run = pi(&room, &["-p", "ask", "again"]).ended_with(0);
    // As in pi, the last answer is the output.
    assert_eq!(run.stdout, "two\n");
    let prompts: Vec<String> = server
        .requests()
        .iter()
        .map(|request| prompt(&request.json()))
        .collect();
    assert_eq!(prompts, ["ask", "again"]);
}

#[test]
fn the_answer_that_a_command_asks_for_is_the_output() {
    let busy = Response::json(400, &json!({"error": {"message": "no"}}));
    let server = ModelServer::start([says("one"), says("two"), says("three"), busy]);
    let room = connected(&server);
    room.write(
        "extension.ts",
        r#"export default (pi: any) => {
            pi.registerCommand("ask", { handler: async (args: string, ctx: any) => {
                pi.sendUserMessage(args);
                await ctx.waitForIdle();
            } });
            pi.registerCommand("tell", { handler: async () => console.log("told") });
        };"#,
    );
    let pi = |words: &[&str]| pi(&room, &[&["-e", "extension.ts", "-p"], words].concat());
    assert_eq!(pi(&["/ask first"]).ended_with(0).stdout, "one\n");
    assert_eq!(pi(&["/ask second", "third"]).ended_with(0).stdout, "three\n");
    let told = pi(&["/tell"]).ended_with(0).complained("told");
    assert_eq!(told.stdout, "", "only answers are output");
    assert_eq!(pi(&["/ask fourth"]).ended_with(1).stdout, "");
}

#[test]
fn options_that_nobody_has_are_refused_without_beckets_own_usage() {
    let server = ModelServer::start([]);
    let room = connected(&server);
    for option in ["--bogus", "-y"] {
        let run = pi(&room, &["-p", option, "x"]).ended_with(1);
        let run = run.complained(&format!("pi has no option {option}"));
        assert!(!run.stderr.contains("Usage:"), "{run:#?}");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn what_is_piped_in_comes_before_the_prompt() {
    let server = ModelServer::start([says("fine"), says("fine")]);
    let room = connected(&server);
    let start = ["pi", "--model", "openai/m", "-p"];
    room.run_with_input(start.iter().chain(&["Sum it up."]), " 1 2\n3\n")
        .ended_with(0);
    room.run_with_input(start, " all of it\n").ended_with(0);
    let prompts: Vec<String> = server
        .requests()
        .iter()
        .map(|request| prompt(&request.json()))
        .collect();
    assert_eq!(prompts, ["1 2\n3Sum it up.", "all of it"]);
}

#[test]
fn an_answer_before_a_tool_call_is_not_printed_in_text_mode() {
    let arguments = json!({"path": "a.txt"}).to_string();
    let first = OpenAiStream::new("m").text("let me look");
    let first = first
        .tool_call(0, "call-1", "read", &[&arguments])
        .finish("tool_calls");
    let server = ModelServer::start([Response::events(first.done()), says("it says a")]);
    let room = connected(&server);
    room.write("a.txt", "a");
    let run = pi(&room, &["-p", "go"]).ended_with(0);
    assert_eq!(run.stdout, "it says a\n");
}

#[test]
fn a_session_file_is_written_even_if_the_run_fails() {
    let refused = Response::json(400, &json!({"error": {"message": "no"}}));
    let server = ModelServer::start([says("one"), refused]);
    let room = connected(&server);
    pi(&room, &["-p", "--session", "talk.jsonl", "first"]).ended_with(0);
    pi(&room, &["-p", "--session", "talk.jsonl", "second"]).ended_with(1);
    let file = room.read("talk.jsonl");
    assert!(file.contains("first") && file.contains("second"), "{file}");
    assert_eq!(room.run(["contexts"]).ended_with(0).stdout, "");
    // Without a model nothing is said, so there is nothing to write.
    let run = room.with("OPENAI_API_KEY", "").with("OPENAI_BASE_URL", "");
    run.run(["pi", "-p", "--session", "empty.jsonl", "x"])
        .ended_with(1);
    assert!(!run.work().join("empty.jsonl").exists());
    assert_eq!(run.run(["contexts"]).ended_with(0).stdout, "");
}

#[test]
fn session_files_are_kept_in_the_folder_of_session_dir() {
    let server = ModelServer::start([says("one"), says("two"), says("three")]);
    let room = connected(&server);
    pi(
        &room,
        &["-p", "--session-dir", "kept/here", "-n", "the talk", "first"],
    )
    .ended_with(0);
    let files = || {
        let files = std::fs::read_dir(room.work().join("kept/here")).expect("the folder");
        let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
        files.sort();
        files
    };
    let [first] = &*files() else {
        panic!("{:?}", files())
    };
    let text = std::fs::read_to_string(first).expect("the file");
    assert!(text.contains("\"the talk\""), "{text}");
    let header: Value = serde_json::from_str(text.lines().next().unwrap_or_default()).expect("JSON");
    let id = header["id"].as_str().expect("an id").to_owned();
    let name = first.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(name.ends_with(&format!("_{id}.jsonl")), "{name}");
    pi(&room, &["-p", "--session-dir", "kept/here", "-c", "second"]).ended_with(0);
    pi(
        &room,
        &[
            "-p",
            "--session-dir",
            "kept/here",
            "--session",
            &id[..id.len() - 2],
            "third",
        ],
    )
    .ended_with(0);
    let text = std::fs::read_to_string(first).expect("the file");
    assert!(text.contains("second") && text.contains("third"), "{text}");
    assert_eq!(files().len(), 1);
    assert_eq!(room.run(["contexts"]).ended_with(0).stdout, "");
}

/// Notes which tools are offered when a session begins, and then asks for one more.
const LOOK: &str = "import { writeFileSync } from 'node:fs';
        export default (pi: any) => {
            const parameters = { type: 'object', properties: {} };
            const execute = async () => ({ content: [] });
            pi.registerTool({ name: 'own', label: 'own', description: 'd', parameters, execute });
            pi.on('session_start', () => {
                writeFileSync('seen.json', JSON.stringify(pi.getActiveTools().sort()));
                pi.setActiveTools([...pi.getActiveTools(), 'bash']);
            });
        };";

#[test]
fn the_tools_are_pi_s_and_extensions_see_the_ones_that_are_offered() {
    let all = ["bash", "edit", "own", "read", "write"];
    let table: [(&[&str], &[&str], &[&str]); 6] = [
        (&[], &all, &all),
        (&["-t", "read"], &["read"], &["read"]),
        (&["-t", "read,own"], &["own", "read"], &["own", "read"]),
        (&["-nt"], &[], &[]),
        // `-nbt` says with what a session begins; extensions may activate tools.
        (&["-nbt"], &["own"], &["bash", "own"]),
        (
            &["-xt", "bash"],
            &["edit", "own", "read", "write"],
            &["edit", "own", "read", "write"],
        ),
    ];
    for (options, seen, offered) in table {
        let server = ModelServer::start([says("fine")]);
        let room = connected(&server);
        room.write("../home/.chibi/config.toml", "");
        room.write("look.ts", LOOK);
        pi(&room, &[&["-p", "-e", "look.ts"], options, &["go"]].concat()).ended_with(0);
        let names: Vec<String> = serde_json::from_str(&room.read("seen.json")).expect("JSON");
        assert_eq!(names, *seen, "{options:?}");
        assert_eq!(tools(&server.requests()[0].json()), *offered, "{options:?}");
    }
}

#[test]
fn small_differences_are_gone() {
    let server = ModelServer::start([says("fine")]);
    let room = connected(&server);
    let version = pi(&room, &["--version"]).ended_with(0).stdout;
    assert_eq!(version, "0.73.1\n");
    let run = pi(&room, &["-p", ""]).ended_with(0);
    assert_eq!((run.stdout.as_str(), server.requests().len()), ("", 0));
    let run = pi(&room, &["-p", "--thinking", "bogus", "go"]).ended_with(0);
    assert_eq!(run.stdout, "fine\n");
    run.complained("Invalid thinking level \"bogus\"");
    pi(&room, &["--mode", "loud", "x"])
        .ended_with(1)
        .complained("Invalid mode \"loud\"");
}

#[test]
fn what_a_project_brings_is_left_out_on_demand() {
    let server = ModelServer::start([says("fine")]);
    let room = connected(&server);
    room.write(
        ".pi/extensions/guard.ts",
        "export default () => { throw new Error('loaded'); };\n",
    );
    pi(&room, &["-p", "hi"])
        .ended_with(1)
        .complained("is not trusted");
    pi(&room, &["-na", "-p", "hi"]).ended_with(0).said("fine");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn the_first_of_several_models_answers() {
    let server = ModelServer::start([says("fine"), says("fine")]);
    let room = connected(&server);
    room.run(["pi", "--models", "openai/one,openai/two", "-p", "hi"])
        .ended_with(0);
    room.run([
        "pi",
        "--models",
        "openai/one",
        "--model",
        "openai/three",
        "-p",
        "hi",
    ])
    .ended_with(0);
    let models: Vec<Value> = server
        .requests()
        .iter()
        .map(|request| request.json()["model"].clone())
        .collect();
    assert_eq!(models, ["one", "three"]);
}
