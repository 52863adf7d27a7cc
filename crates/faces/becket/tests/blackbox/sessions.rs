//! Contexts go on from run to run; sessions are listed; folders are where they were asked to be.

use serde_json::{Value, json};
use testkit::{ModelServer, OpenAiStream, Response, Room};

use crate::room;

fn answer(text: &str) -> Response {
    Response::events(OpenAiStream::new("m").text(text).finish("stop").done())
}

fn lines(run: &testkit::Finished) -> Vec<Value> {
    run.events()
}

#[test]
fn a_context_goes_on_where_it_stopped() {
    let server = ModelServer::start([
        answer("Nice to meet you."),
        answer("You are Ada."),
        answer("Who?"),
    ]);
    let room = room()
        .with("OPENAI_API_KEY", "sk-test")
        .with("OPENAI_BASE_URL", &server.url());
    room.run(["-c", "names", "I am Ada."])
        .ended_with(0)
        .said("Nice to meet you.");
    room.run(["-c", "names", "Who am I?"])
        .ended_with(0)
        .said("You are Ada.");
    room.run(["-c", "others", "Who am I?"]).ended_with(0).said("Who?");
    let requests = server.requests();
    let talk = |number: usize| -> Vec<(String, String)> {
        let body = requests[number].json();
        let messages = body["messages"]
            .as_array()
            .expect("a request has messages")
            .clone();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
        messages[1..]
            .iter()
            .map(|message| (word(&message["role"]), word(&message["content"])))
            .collect()
    };
    let pair = |role: &str, text: &str| (role.to_string(), text.to_string());
    assert_eq!(
        talk(1),
        [
            pair("user", "I am Ada."),
            pair("assistant", "Nice to meet you."),
            pair("user", "Who am I?")
        ]
    );
    assert_eq!(
        talk(2),
        [pair("user", "Who am I?")],
        "another context knows nothing of it"
    );
}

#[test]
fn tool_calls_and_their_results_are_part_of_what_is_resumed() {
    let room = room();
    let first = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "echo the-result"}, "id": "call-7"}]},
        {"text": "first answer"},
    ]));
    room.run(["--yes", "--model", &first, "first"]).ended_with(0);
    let second = room.model(&json!([
        {"expect": ["first answer", "the-result", "call-7", "\"first\""], "text": "second answer"}
    ]));
    room.run(["--model", &second, "second"])
        .ended_with(0)
        .said("second answer");
}

#[test]
fn contexts_are_listed() {
    let room = room();
    room.run(["contexts"])
        .ended_with(0)
        .complained("there are no contexts yet");
    room.run(["-c", "alpha", "hello"]).ended_with(0);
    room.run(["-c", "alpha", "hello again"]).ended_with(0);
    room.run(["-c", "beta", "hello"]).ended_with(0);
    let plain = room.run(["contexts"]).ended_with(0).said("alpha").said("beta");
    assert_eq!(plain.stdout.lines().count(), 2, "{plain:#?}");
    let listed = lines(&room.run(["contexts", "--json"]).ended_with(0));
    let alpha = listed
        .iter()
        .find(|context| context["name"] == "alpha")
        .expect("alpha is listed");
    assert_eq!(
        (&alpha["session_count"], &alpha["message_count"]),
        (&json!(2), &json!(4))
    );
    assert!(alpha["last_used_ms"].as_u64() >= alpha["created_ms"].as_u64());
}

#[test]
fn sessions_are_listed_newest_first() {
    let room = room();
    room.run(["sessions"])
        .ended_with(0)
        .complained("there are no sessions yet");
    let first = room.run(["--json", "-c", "alpha", "hello"]).ended_with(0);
    let second = room.run(["--json", "-c", "beta", "hello"]).ended_with(0);
    let id = |run: &testkit::Finished| run.events_named("session_start")[0]["session_id"].clone();
    let listed = lines(&room.run(["sessions", "--json"]).ended_with(0));
    let ids: Vec<Value> = listed.iter().map(|session| session["id"].clone()).collect();
    assert_eq!(ids, [id(&second), id(&first)]);
    assert_eq!(listed[0]["context"], "beta");
    assert_eq!(listed[0]["reason"], "done");
    assert_eq!(listed[0]["entry_count"], 2);
    assert_eq!(listed[0]["cwd"], json!(room.work().display().to_string()));
    room.run(["sessions"])
        .ended_with(0)
        .said("alpha")
        .said("beta")
        .said("done");
}

#[test]
fn a_session_that_starts_says_whether_it_resumes() {
    let room = room();
    let reason =
        |run: testkit::Finished| run.ended_with(0).events_named("session_start")[0]["reason"].clone();
    assert_eq!(reason(room.run(["--json", "hello"])), "startup");
    assert_eq!(reason(room.run(["--json", "hello"])), "resume");
}

/// The files below a folder of the room, as paths relative to it.
fn files_below(room: &Room, folder: &str) -> Vec<String> {
    let root = room.work().join(folder);
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if let Ok(path) = entry.path().strip_prefix(&root) {
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_usual_folders_are_those_of_xdg_below_home() {
    let room = room();
    room.run(["hello"]).ended_with(0);
    assert_eq!(files_below(&room, "../home"), [".local/share/becket/becket.db"]);
    assert!(
        files_below(&room, ".").is_empty(),
        "nothing is left in the working directory"
    );
}

#[test]
fn xdg_folders_are_used_where_they_are_set() {
    let base = room();
    let folder = |name: &str| base.work().join(name).display().to_string();
    let (data, config) = (folder("data"), folder("config"));
    let room = room()
        .with("XDG_DATA_HOME", &data)
        .with("XDG_CONFIG_HOME", &config);
    base.write("config/becket/config.toml", "[agent]\nfuel = 7\n");
    room.run(["hello"]).ended_with(0);
    assert!(base.has("data/becket/becket.db"));
    assert!(files_below(&room, "../home").is_empty());
    room.run(["config"])
        .ended_with(0)
        .said("fuel             7")
        .said(&config);
}

#[test]
fn a_relative_xdg_folder_is_ignored() {
    let room = room().with("XDG_DATA_HOME", "data");
    room.run(["hello"]).ended_with(0);
    assert!(!room.has("data") && room.store_file().exists());
}

#[test]
fn one_home_holds_everything() {
    for by_variable in [false, true] {
        let (room, arguments) = if by_variable {
            (room().with("BECKET_HOME", "all"), vec!["--json", "hello"])
        } else {
            (room(), vec!["--home", "all", "--json", "hello"])
        };
        room.write("all/config.toml", "[agent]\nfuel = 7\n");
        let run = room.run(arguments).ended_with(0);
        assert_eq!(run.events_named("loop_start")[0]["fuel_total"], 7);
        assert_eq!(files_below(&room, "all"), ["becket.db", "config.toml"]);
        assert!(files_below(&room, "../home").is_empty());
    }
}

#[test]
fn the_option_goes_before_the_variable() {
    let room = room().with("BECKET_HOME", "variable");
    room.run(["--home", "option", "hello"]).ended_with(0);
    assert!(room.has("option/becket.db") && !room.has("variable"));
}

#[test]
fn without_any_home_the_error_says_what_to_do() {
    let room = room();
    let mut command = room.command(["hello"]);
    command.env_remove("HOME");
    testkit::finish(command.spawn().expect("the binary can be started"))
        .ended_with(2)
        .complained("no home folder")
        .complained("--home");
}

#[test]
fn eight_processes_share_one_home() {
    let room = room();
    let rounds = 3;
    let mut answered = 0;
    for round in 0..rounds {
        let running: Vec<_> = (0..8)
            .map(|number| {
                let context = if number % 2 == 0 {
                    "shared".to_string()
                } else {
                    format!("own-{number}")
                };
                let prompt = format!("Run: echo from-{round}-{number}");
                let run = room.start(["--yes", "--json", "-c", &context, &prompt]);
                (context, run)
            })
            .collect();
        for (context, run) in running {
            let run = run.finish();
            if context == "shared" && run.code == 1 {
                // Whoever comes while another is in the context is told so, and leaves nothing behind.
                run.complained("the conversation shared is in use");
                continue;
            }
            answered += 1;
            assert_eq!(run.ended_with(0).events_named("session_end").len(), 1);
        }
    }
    assert!(answered >= 5 * rounds, "one of each round has the shared context");
    let contexts = lines(&room.run(["contexts", "--json"]).ended_with(0));
    assert_eq!(contexts.len(), 5, "{contexts:?}");
    let sessions = lines(&room.run(["sessions", "--json"]).ended_with(0));
    assert_eq!(sessions.len(), answered);
    for session in sessions {
        assert_eq!(session["reason"], "done", "{session}");
        // The prompt, the call, its result, the answer.
        assert_eq!(session["entry_count"], 4, "{session}");
    }
    room.run(["doctor"]).ended_with(0);
}

#[test]
fn the_store_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let room = room();
    room.run(["hello"]).ended_with(0);
    let mode = std::fs::metadata(room.store_file())
        .expect("the store is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}
