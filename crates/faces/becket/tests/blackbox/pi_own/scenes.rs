//! The scenes: what a user does with an example, and what comes of it.

use std::process::Command;

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, OpenAiStream, Response, finish};

use crate::limit::with_person_typing;

use super::stage::{Stage, call, requests, results, text};

/// A command that does nothing.
fn nothing() -> Value {
    call("shell", json!({"command": "true"}))
}

/// Runs a line of the shell in the working directory.
fn shell(stage: &Stage, line: &str) {
    let ended = Command::new("sh")
        .args(["-c", line])
        .current_dir(stage.room.work())
        .status();
    assert!(ended.expect("a shell runs").success(), "{line}");
}

fn told(run: &Finished, lines: &[&str]) {
    for line in lines {
        assert!(run.stderr.contains(line), "{line}: {run:#?}");
    }
}

// ---------------------------------------------------------------- branches

/// Two prompts with their answers, and the ids of their entries.
fn talked(stage: &Stage) -> Vec<String> {
    let model = stage.room.model(&json!([text("a"), text("b")]));
    stage
        .room
        .run_with_input(["chat", "--model", &model], "one\ntwo\n")
        .ended_with(0);
    let entries = stage
        .room
        .run(["--json", "sessions", "tree"])
        .ended_with(0)
        .events();
    let ids = entries
        .iter()
        .map(|entry| entry["id"].as_str().expect("an id").to_owned());
    ids.collect()
}

pub fn what_was_asked_on_a_branch_is_told(stage: &Stage) {
    let ids = talked(stage);
    let goto = ["-e", &stage.file, "sessions", "goto", &ids[1], "--summary"];
    let run = stage.room.run(goto).ended_with(0);
    told(&run, &["2 ways go on from here"]);
    let model = stage
        .room
        .model(&json!([{"text": "c", "expect": ["the user asked:\\n- two"]}]));
    stage.room.run(["--model", &model, "three"]).ended_with(0);
}

pub fn only_labelled_places_are_forked(stage: &Stage) {
    let ids = talked(stage);
    let fork = ["-e", &stage.file, "sessions", "fork", &ids[2], "--to", "side"];
    let run = stage.room.run(fork).ended_with(1);
    told(&run, &["only places with a label are forked"]);
    stage
        .room
        .run(["sessions", "label", &ids[2], "here"])
        .ended_with(0);
    told(&stage.room.run(fork).ended_with(0), &["2 entries came along"]);
}

// ---------------------------------------------------------------- budget

pub fn a_prompt_may_take_so_many_turns(stage: &Stage) {
    let turns = json!([
        nothing(),
        text("a"),
        nothing(),
        nothing(),
        nothing(),
        text("never said")
    ]);
    let run = stage.chat(&["--turns", "3"], &["one", "two"], turns);
    told(&run, &["3 turns are enough"]);
    assert_eq!(requests(&run).len(), 5, "{run:#?}");
}

pub fn a_session_may_use_so_many_tokens(stage: &Stage) {
    let usage = json!({"input_tokens": 90, "output_tokens": 20});
    let turns = json!([{"text": "a", "usage": usage}, text("never said")]);
    let run = stage.chat(&["--tokens", "100"], &["one", "two"], turns);
    told(&run, &["the budget is used up: 110 of 100 tokens"]);
    assert_eq!(requests(&run).len(), 1, "{run:#?}");
}

pub fn a_session_ends_quietly(stage: &Stage) {
    let run = stage.chat(&[], &["/quiet", "never asked"], json!([text("never said")]));
    told(&run, &["nothing is being done: the session ends"]);
    assert_eq!(requests(&run).len(), 0, "{run:#?}");
}

// ---------------------------------------------------------------- coach

pub fn the_coach_speaks_up_in_between(stage: &Stage) {
    let fail = |number: u32| call("shell", json!({"command": format!("exit {number}")}));
    let turns = json!([fail(1), fail(2), fail(3), nothing(), text("done")]);
    let run = stage.chat(&[], &["go"], turns);
    let spoken: Vec<bool> = requests(&run)
        .iter()
        .map(|request| request.contains("3 failures in a row"))
        .collect();
    assert_eq!(spoken, [false, false, false, true, true], "{run:#?}");
    assert_eq!(run.events_named("agent_end").len(), 1, "one run: {run:#?}");
}

pub fn changes_are_looked_at_once_more(stage: &Stage) {
    let write = |name: &str| call("write", json!({"path": name, "content": ""}));
    let turns = json!([
        write("one"),
        text("done"),
        {"expect": ["as a reviewer would"], "tool_calls": [{"name": "write", "arguments": {"path": "two", "content": ""}}]},
        text("better"),
    ]);
    let run = stage.chat(&[], &["go"], turns);
    assert_eq!(requests(&run).len(), 4, "{run:#?}");
    assert_eq!(run.events_named("agent_end").len(), 2, "two runs: {run:#?}");
}

// ---------------------------------------------------------------- diary

pub fn the_diary_counts_and_is_heard(stage: &Stage) {
    let listener = stage.room.write(
        "../listener.ts",
        "export default (pi: any) => pi.events.on('diary:turn', (turn: any) => {
            pi.events.emit('diary:note', `turn ${turn.turn} with ${turn.tools} tools`);
        });",
    );
    let listener = listener.display().to_string();
    let run = stage.chat(&["-e", &listener], &["go"], json!([nothing(), text("a")]));
    told(
        &run,
        &[
            "the session ended (quit): session_start ×1",
            "tool_call ×1",
            "turn_end ×2",
            "turn 0 with 1 tools ×1",
            "turn 1 with 0 tools ×1",
        ],
    );
}

// ---------------------------------------------------------------- gate

pub fn the_person_s_own_commands_pass_the_gate(stage: &Stage) {
    stage.room.write("keep/file", "");
    let given = ["chat", "--json", "-e", &stage.file];
    let run = with_person_typing(&stage.room, &given, "!rm -rf keep\n!echo harm$((1))less\n/quit\n");
    let run = run.expect("a user is there").ended_with(0);
    assert!(stage.room.has("keep/file"), "{run:#?}");
    told(&run, &["not run", "harm1less"]);
    assert_eq!(run.events_named("user_shell").len(), 2, "{run:#?}");
    assert!(!run.stderr.contains("failed"), "{run:#?}");
}

pub fn the_gate_refuses_what_nobody_allows(stage: &Stage) {
    stage.room.write("keep/file", "");
    stage.room.write(".env", "KEY=1");
    stage.room.write("environment.rs", "a harmless file");
    let turns = json!([
        call("shell", json!({"command": "rm -rf keep"})),
        call("read", json!({"path": ".env"})),
        call("shell", json!({"command": "git reset --hard"})),
        call("shell", json!({"command": "echo harm$((1))less; ls -r"})),
        call("read", json!({"path": "environment.rs"})),
        text("done")
    ]);
    let run = stage.chat(&[], &["go"], turns);
    let results = results(&run);
    assert!(stage.room.has("keep/file"));
    let refused = results.matches("this destroys something, and nobody is here to ask");
    assert_eq!(refused.count(), 2, "{run:#?}");
    assert!(
        results.contains(".env holds secrets") && !results.contains("KEY=1"),
        "{run:#?}"
    );
    assert!(
        results.contains("harm1less") && results.contains("a harmless file"),
        "{run:#?}"
    );
    told(&run, &["kept away from .env"]);
}

// ---------------------------------------------------------------- handbook

pub fn the_handbook_is_called_by_name(stage: &Stage) {
    let skill = "---\nname: mend\ndescription: Mends things.\n---\nTake glue.";
    stage.room.write("book/skills/mend/SKILL.md", skill);
    stage.room.write("book/prompts/hi.md", "Say hello to $1.");
    let turns = json!([
        {"expect": ["Say hello to you.", "<name>mend</name>"], "text": "a"},
        {"expect": ["Take glue."], "text": "b"}
    ]);
    let lines = ["/handbook", "/hi you", "/skill:mend the roof"];
    let run = stage.chat(&["--handbook", "book"], &lines, turns);
    told(
        &run,
        &[
            "/hi: Say hello to $1.",
            "/skill:mend: Mends things.",
            "themes: dark, light",
            "the model knows: mend",
        ],
    );
    assert_eq!(requests(&run).len(), 2, "{run:#?}");
}

// ---------------------------------------------------------------- batch

pub fn several_calls_are_made_in_one(stage: &Stage) {
    let calls = json!([
        {"tool": "bash", "arguments": {"command": "echo first"}},
        {"tool": "bash", "arguments": {"command": "exit 3"}},
    ]);
    let turns = json!([call("batch", json!({"calls": calls})), text("a")]);
    let told = results(&stage.chat(&[], &["go"], turns));
    for part in ["bash:\nfirst", "bash failed:\n"] {
        assert!(told.contains(part), "no {part:?}: {told}");
    }
}

pub fn what_there_is_to_work_with_is_shown(stage: &Stage) {
    let settings = json!({"theme": "mine"}).to_string();
    stage.room.write("../home/.pi/agent/settings.json", settings);
    let turns = json!([text("a"), text("yes"), text("no")]);
    let run = stage.chat(&[], &["hello", "/batch"], turns);
    told(
        &run,
        &[
            "theme: mine\n",
            "servers: notes\n",
            "servers then: none\n",
            "own models: 1 of batch\n",
            "own models then: 0\n",
            "requests carry: kept-by-becket\n",
            "its provider's models: 1\n",
            "found: true and true\n",
            "chat models: 1, 1 can be used\n",
            "as a whole: Echo\n",
            "the model sees 2 entries and a system prompt\n",
            "there is a key: true\n",
            "one word: yes\n",
            "another: no",
        ],
    );
}

// ---------------------------------------------------------------- inspect

pub fn the_session_is_inspected(stage: &Stage) {
    let run = stage.chat(&[], &["hello", "/inspect session"], json!([text("a")]));
    let started = &run.events_named("session_start")[0];
    let id = started["session_id"].as_str().expect("an id");
    let work = stage.room.work().canonicalize().expect("a folder");
    let file = stage
        .room
        .home()
        .join(".local/share/becket/contexts")
        .join(stage.room.context())
        .join("session.jsonl");
    let written = std::fs::read_to_string(&file).expect("the file of the session");
    assert_eq!(written.lines().count(), 3, "{written}");
    let folder = file.parent().expect("a folder").display().to_string();
    told(&run, &[&format!("file: {} in {folder}\n", file.display())]);
    told(
        &run,
        &[
            &format!("session {id}\n"),
            "begun: 20",
            "name: none\n",
            &format!("works in {}\n", work.display()),
            "entries: 2 message\n",
            "in all: 2\n",
            "roots: 1, stands at ",
            "last entry: message\n",
            "the model sees 2 messages\n",
            "a run can be cancelled: nothing runs",
        ],
    );
}

pub fn the_models_are_inspected(stage: &Stage) {
    let run = stage.chat(&[], &["/inspect models"], json!([text("a")]));
    told(
        &run,
        &[
            "model: script, can be used\n",
            "provider: scripted\n",
            "logged in: false\n",
            "its key: {\"configured\":true}\n",
            "thinks: off\n",
            ", 1 can be used\n",
            "chosen from: all\n",
            "problems: none",
        ],
    );
    let count = run
        .stderr
        .split("models: ")
        .nth(1)
        .and_then(|rest| rest.split(',').next());
    let count: usize = count.and_then(|count| count.parse().ok()).expect("a number");
    assert!(
        count > 20,
        "the models of other providers are known, too: {run:#?}"
    );
}

pub fn keys_and_the_system_prompt_are_inspected(stage: &Stage) {
    let lines = ["/inspect keys", "/inspect prompt", "/inspect nothing"];
    let run = stage.chat(&[], &lines, json!([text("a")]));
    told(
        &run,
        &[
            "the model's key: kept-by-becket\n",
            "its provider's: kept-by-becket\n",
            "for requests: kept-by-becket",
            "inspect: You are becket, an assistant",
            "there is no part \"nothing\"",
        ],
    );
}

pub fn the_model_inspects_itself(stage: &Stage) {
    let run = stage.chat(&[], &["go"], json!([call("my_tools", json!({})), text("a")]));
    let told = results(&run);
    for part in ["bash: ", "my_tools: 0\n", "\ncancelled: false"] {
        assert!(told.contains(part), "no {part:?}: {run:#?}");
    }
}

pub fn the_model_names_the_session(stage: &Stage) {
    let turns = json!([{"expect": ["Find a name of three words"], "text": "Three Kind Words"}]);
    let run = stage.chat(&[], &["/title", "/inspect session"], turns);
    told(&run, &["name: Three Kind Words"]);
}

// ---------------------------------------------------------------- limits

pub fn few_requests_are_left(stage: &Stage) {
    let stream = || OpenAiStream::new("gpt-5");
    let asking = || stream().tool_call(0, "call-1", "shell", &["{\"command\":\"true\"}"]);
    let left = |response: Response, count: &str| response.header("x-ratelimit-remaining-requests", count);
    let server = ModelServer::start([
        left(Response::events(asking().finish("tool_calls").done()), "3"),
        left(Response::events(asking().finish("tool_calls").done()), "2"),
        left(Response::events(stream().text("done").finish("stop").done()), "1"),
    ]);
    let run = stage
        .room
        .command(["--yes", "--model", "openai/gpt-5", "-e", &stage.file, "go"])
        .env("OPENAI_API_KEY", "k")
        .env("OPENAI_BASE_URL", server.url())
        .spawn();
    let run = finish(run.expect("it starts")).ended_with(0).said("done");
    told(
        &run,
        &["3 requests left", "1 requests left", "thinking: low (it was off)"],
    );
    assert_eq!(run.stderr.matches("thinking less").count(), 1, "{run:#?}");
    let efforts: Vec<Value> = server
        .requests()
        .iter()
        .map(|request| request.json()["reasoning_effort"].clone())
        .collect();
    assert_eq!(efforts, [json!(null), json!("low"), json!("low")], "{run:#?}");
}

// ---------------------------------------------------------------- gateway

pub fn the_gateway_knows_the_session(stage: &Stage) {
    let answer = OpenAiStream::new("gpt-5").text("do").text("ne").finish("stop");
    let server = ModelServer::start([Response::events(answer.done())]);
    let run = stage
        .room
        .command(["--model", "openai/gpt-5", "-e", &stage.file, "go"])
        .env("OPENAI_API_KEY", "k")
        .env("OPENAI_BASE_URL", server.url())
        .spawn();
    let run = finish(run.expect("it starts")).ended_with(0).said("done");
    told(&run, &["the answer came in 3 pieces"]);
    let request = server.only_request();
    assert_eq!(
        request.header("x-session-id").map(str::len),
        Some(36),
        "{request:#?}"
    );
    assert_eq!(request.header("user-agent"), None, "{request:#?}");
    assert_eq!(request.header("authorization"), Some("Bearer k"), "{request:#?}");
}

// ---------------------------------------------------------------- notes

pub fn notes_come_back_in_the_next_session(stage: &Stage) {
    let note = |text: &str| call("note", json!({"text": text}));
    let run = stage.chat(&[], &["go"], json!([note("one"), text("a")]));
    assert_eq!(results(&run), "1. one", "{run:#?}");
    told(&run, &["1 notes"]);
    let run = stage.chat(&[], &["go"], json!([note("two"), text("b")]));
    assert_eq!(results(&run), "1. one\n2. two", "{run:#?}");
}

pub fn places_get_labels(stage: &Stage) {
    let lines = ["/bookmark early", "hello", "/bookmark here", "/bookmark there"];
    let run = stage.chat(&[], &lines, json!([text("a")]));
    told(
        &run,
        &[
            "there is nothing to bookmark yet",
            "bookmarked as here",
            "here is there now",
        ],
    );
}

// ---------------------------------------------------------------- parrot

pub fn parrots_answer_and_fly_away(stage: &Stage) {
    let lines = [
        "one", "/parrot", "two", "/hatch", "three", "/parrot", "/release", "/parrot",
    ];
    let run = stage.chat(&[], &lines, json!([text("a")]));
    let answers = run.events_named("message_end");
    let answers: Vec<&str> = answers
        .iter()
        .filter(|event| event["message"]["role"] == "assistant")
        .filter_map(|event| event["message"]["content"][0]["text"].as_str())
        .collect();
    assert_eq!(answers, ["a", "You said: two", "Squeak: three"], "{run:#?}");
    told(
        &run,
        &[
            "the parrot answers",
            "parrots left: none\n",
            "the parrot has flown away",
        ],
    );
    let offered = run.events_named("tools_offered");
    let offered: Vec<usize> = offered
        .iter()
        .map(|event| event["tools"].as_array().map_or(0, Vec::len))
        .collect();
    assert!(offered[0] > 4 && offered[1..] == [0, 4], "{offered:?} {run:#?}");
}

// ---------------------------------------------------------------- prompt

pub fn prompts_say_more_than_was_typed(stage: &Stage) {
    shell(stage, "git init -q . && touch new-file");
    let turns = json!([text("a"), text("never said")]);
    let run = stage.chat(&[], &["?short why", "ping"], turns);
    let requests = requests(&run);
    assert_eq!(requests.len(), 1, "ping never reaches the model: {run:#?}");
    let work = stage.room.work().canonicalize().expect("a folder");
    for words in [
        "Answer in at most three sentences: why",
        &format!("You work in {}.", work.display()),
        "Not committed yet:\\n?? new-file",
    ] {
        assert!(requests[0].contains(words), "{words}: {}", requests[0]);
    }
    told(&run, &["pong"]);
}

pub fn old_outputs_are_shortened(stage: &Stage) {
    let long = |number: u32| {
        call(
            "shell",
            json!({"command": format!("printf 'x%.0s' $(seq 50{number})")}),
        )
    };
    let mut turns: Vec<Value> = (0..6).map(long).collect();
    turns.push(text("done"));
    let run = stage.chat(&[], &["go"], json!(turns));
    let shortened = requests(&run);
    let shortened = shortened
        .iter()
        .map(|request| request.matches("[shortened]").count());
    assert_eq!(shortened.collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 1], "{run:#?}");
}

// ---------------------------------------------------------------- secrets

pub fn keys_stay_out_of_the_conversation(stage: &Stage) {
    const KEY: &str = "sk-0123456789abcdef0123";
    let command = json!({"command": "printf 'sk-%s' 0123456789abcdef0123"});
    let turns = json!([
        {"expect": ["my key is [a key]"], "tool_calls": [{"name": "shell", "arguments": command}]},
        text(&format!("Your key is {KEY}."))
    ]);
    let run = stage.chat(&[], &[&format!("my key is {KEY}")], turns);
    assert_eq!(results(&run), "[a key]", "{run:#?}");
    let ended = &run.events_named("agent_end")[0]["messages"].to_string();
    assert!(
        ended.contains("Your key is [a key].") && ended.matches(KEY).count() == 1,
        "only the user has said it: {ended}"
    );
}

// ---------------------------------------------------------------- small

pub fn a_conversation_is_kept_small(stage: &Stage) {
    stage
        .room
        .config("[compaction]\ncontext_window = 10000\nauto = false\n");
    let usage = json!({"input_tokens": 6000, "output_tokens": 100});
    let turns = json!([
        text("a"),
        {"text": "b", "usage": usage},
        {"expect": ["Keep open tasks and file names."], "text": "THE SUMMARY"},
        {"expect": ["THE SUMMARY", "Read files again before you change them."], "text": "c"}
    ]);
    let run = stage.chat(&["--full", "50"], &["one", "two", "three"], turns);
    assert_eq!(run.events_named("post_compact").len(), 1, "{run:#?}");
    assert_eq!(requests(&run).len(), 4, "{run:#?}");
    told(&run, &["• small: 61% full", "6100 tokens were summarised"]);
}

pub fn what_was_said_is_forgotten(stage: &Stage) {
    let turns = json!([text("a"), {"expect": ["Earlier talk was dropped."], "text": "b"}]);
    let run = stage.chat(&[], &["one", "/forget", "two"], turns);
    assert_eq!(
        requests(&run).len(),
        2,
        "no model was asked for a summary: {run:#?}"
    );
    assert_eq!(run.events_named("post_compact").len(), 1, "{run:#?}");
}

// ---------------------------------------------------------------- standup

pub fn commits_are_summed_up(stage: &Stage) {
    shell(
        stage,
        "git init -q . && git -c user.email=a@b.c -c user.name=n commit -q --allow-empty -m 'Mend the roof'",
    );
    let turns = json!([{"expect": ["Sum up this work for a standup", "Mend the roof"], "text": "We have mended a whole roof."}]);
    let run = stage.chat(&[], &["/standup yesterday", "/about"], turns);
    assert_eq!(requests(&run).len(), 1, "{run:#?}");
    told(
        &run,
        &[
            "to be read aloud in 3 seconds",
            "session: standup since yesterday in /",
        ],
    );
}

pub fn a_session_says_what_it_can_do(stage: &Stage) {
    let run = stage.chat(&[], &["/about"], json!([text("never said")]));
    let work = stage.room.work().canonicalize().expect("a folder");
    told(
        &run,
        &[
            &format!("session: without a name in {}, mode json\n", work.display()),
            "a user answers: false, trusted: false\n",
            "commands: /standup, /about",
        ],
    );
    let tools = run.stderr.lines().find(|line| line.contains("tools: "));
    let tools = tools.expect("a line about tools");
    let (counts, names) = tools.split_once(" (").expect("their names");
    let count = names.split(", ").count();
    // The usual thirteen; the others come only with what they are for.
    assert!(counts.ends_with(&format!("tools: 13 of {count}")), "{tools}");
    assert!(names.contains("bash") && names.contains("read"), "{tools}");
}

// ---------------------------------------------------------------- tasks

pub fn the_model_is_kept_at_its_list(stage: &Stage) {
    let turns = json!([
        text("- [x] look\n- [ ] mend the roof\n- [ ] rest"),
        {"expect": ["Still open:\\n- mend the roof\\n- rest"], "text": "- [x] mend the roof\n- [ ] rest"},
        {"expect": ["Still open:\\n- rest"], "text": "All is done."}
    ]);
    let run = stage.chat(&[], &["go", "/tasks"], turns);
    assert_eq!(requests(&run).len(), 3, "{run:#?}");
    told(&run, &["tasks: rest"]);
}

// ---------------------------------------------------------------- thrifty

pub fn thinking_costs_no_more_than_it_must(stage: &Stage) {
    let long = "word ".repeat(60);
    let lines = ["one", "/thrifty", "two", &long, "/lavish", "three"];
    let run = stage.chat(&[], &lines, json!([text("a"), text("b")]));
    told(
        &run,
        &[
            "thrifty from now on",
            "request 1: ",
            "thinks low",
            "request 2: ",
            "thinks high",
            "thrifty models left: none",
        ],
    );
    let answers = run.events_named("message_end");
    let answered = answers
        .iter()
        .filter(|event| event["message"]["role"] == "assistant");
    assert_eq!(answered.count(), 4, "{run:#?}");
}

// ---------------------------------------------------------------- tour

pub fn the_tour_comes_to_its_end_without_a_person(stage: &Stage) {
    let turns = json!([{"expect": ["The tour is over."], "text": "a"}]);
    let run = stage.chat(&[], &["/tour", "and now?"], turns);
    told(
        &run,
        &[
            "on tour",
            "drink: undefined\n",
            "sure: false\n",
            "name: undefined\n",
            "poem: undefined\n",
            "drawn: undefined\n",
            "in colour where there are colours; themes: 2, dark is known, changed: false\n",
            "editor: \"\"\n",
            "tools are shown in full: false",
        ],
    );
    assert_eq!(requests(&run).len(), 1, "{run:#?}");
}

// ---------------------------------------------------------------- transcript

pub fn the_transcript_is_written_while_things_happen(stage: &Stage) {
    let turns = json!([
        {"text": "Let me see.", "tool_calls": [{"name": "shell", "arguments": {"command": "echo one; echo two"}}]},
        {"text": "That is all that there is to see.", "chunk_size": 5}
    ]);
    stage.chat(&["--transcript", "session.md"], &["What is here?"], turns);
    let expected = "# A session (startup)

## Turn 1

**user**: What is here?

**assistant**: Let me see.

- `bash` {\"command\":\"echo one; echo two\"}
  done; printed: two

## Turn 2

**assistant**: That is all that there is to see.

The session ended (quit).
";
    assert_eq!(stage.room.read("session.md"), expected);
}

pub fn the_transcript_tells_of_another_session(stage: &Stage) {
    stage.chat(
        &["--transcript", "session.md"],
        &["/new"],
        json!([text("unheard")]),
    );
    let told = stage.room.read("session.md");
    assert!(told.contains("\n# Another session (new)\n"), "{told}");
}

pub fn the_transcript_has_the_name_of_the_session(stage: &Stage) {
    let options = ["--transcript", "session.md"];
    stage.chat(
        &options,
        &["/name Three Kind Words", "hello"],
        json!([text("hi")]),
    );
    let told = stage.room.read("session.md");
    assert!(told.contains("\n# Three Kind Words\n"), "{told}");
}

// ---------------------------------------------------------------- verify

pub fn the_model_goes_on_while_the_check_is_red(stage: &Stage) {
    let fix = json!({"path": "fixed", "content": ""});
    let turns = json!([
        call("write", json!({"path": "other", "content": ""})),
        text("done"),
        {"expect": ["You are not done: the check failed.", "nothing is fixed"],
         "tool_calls": [{"name": "write", "arguments": fix}]},
        text("now it is done"),
        text("nothing was changed, so nothing is checked")
    ]);
    let check = [
        "--check",
        "echo x >> checked; test -e fixed || { echo nothing is fixed; exit 1; }",
    ];
    let run = stage.chat(&check, &["go", "and now?"], turns);
    assert_eq!(requests(&run).len(), 5, "{run:#?}");
    told(&run, &["the check is green"]);
    assert_eq!(stage.room.read("checked"), "x\nx\n", "{run:#?}");
}

pub fn a_session_is_not_left_while_the_check_is_red(stage: &Stage) {
    let check = ["--check", "test -e fixed"];
    let leave = |code: i32| stage.chat_that_ends_with(code, &check, &["/new"], json!([text("unheard")]));
    let run = leave(2);
    told(&run, &["the check is red: exit code 1"]);
    assert_eq!(run.events_named("session_start").len(), 1, "{run:#?}");
    stage.room.write("fixed", "");
    let run = leave(0);
    assert_eq!(run.events_named("session_start").len(), 2, "{run:#?}");
}

// ---------------------------------------------------------------- threads

pub fn a_thread_is_begun_and_left_again(stage: &Stage) {
    let turns = json!([
        text("a"),
        {"text": "b", "expect": ["build a boat"]},
        {"text": "c", "expect": ["hello", "and now"]},
    ]);
    let lines = ["hello", "/thread build a boat", "/return", "and now"];
    let run = stage.chat(&[], &lines, turns);
    told(&run, &["Thread: build a boat", "Back, with 2 messages"]);
    let starts = run.events_named("session_start");
    let reasons: Vec<&str> = starts
        .iter()
        .filter_map(|start| start["reason"].as_str())
        .collect();
    assert_eq!(reasons, ["startup", "new", "resume"], "{run:#?}");
    let sent = requests(&run);
    assert_eq!(sent.len(), 3, "{run:#?}");
    assert!(
        !sent[1].contains("hello") && !sent[2].contains("boat"),
        "{sent:#?}"
    );
}

pub fn a_question_is_asked_in_other_words(stage: &Stage) {
    let turns = json!([text("a"), {"text": "b", "expect": ["better words"]}]);
    let run = stage.chat(&[], &["clumsy words", "/again better words"], turns);
    let sent = requests(&run);
    assert_eq!(sent.len(), 2, "{run:#?}");
    assert!(!sent[1].contains("clumsy"), "{sent:#?}");
    assert_eq!(run.events_named("post_session_fork").len(), 1, "{run:#?}");
}

pub fn a_question_is_taken_back(stage: &Stage) {
    let turns = json!([
        text("a"),
        text("it was about a mistake"),
        {"text": "b", "expect": ["it was about a mistake"]},
    ]);
    let run = stage.chat(&[], &["a mistake?", "/rewind summary", "something else"], turns);
    told(&run, &["Rewound"]);
    assert_eq!(run.events_named("post_session_tree").len(), 1, "{run:#?}");
    let sent = requests(&run);
    assert_eq!(sent.len(), 3, "{run:#?}");
    assert!(!sent[2].contains("a mistake?"), "{sent:#?}");
}

pub fn extensions_are_loaded_anew_by_one(stage: &Stage) {
    let run = stage.chat(&[], &["/refresh"], json!([text("a")]));
    told(&run, &["Loaded anew"]);
}

// ---------------------------------------------------------------- watch-command

pub fn a_command_is_watched_until_it_says_the_word(stage: &Stage) {
    let script = "echo x >> tries; wc -l < tries";
    let watch = |until: &str, attempts: u32| {
        let arguments = json!(["-c", script]);
        // An earlier version of the tool had another name for the program, and models write numbers as texts.
        json!({"command": "sh", "arguments": arguments, "until": until, "attempts": attempts.to_string()})
    };
    let turns = json!([
        call("watch_command", watch("2", 5)),
        call("watch_command", watch("never", 1)),
        text("done")
    ]);
    let run = stage.chat(&[], &["go"], turns);
    assert_eq!(
        results(&run),
        "2\n\nafter 1 attempts there was still no \"never\"\nAsk the user whether the program runs at all.",
        "{run:#?}"
    );
    let updates = run.events_named("tool_update");
    assert!(
        updates
            .iter()
            .any(|update| update.to_string().contains("attempt 1: not yet")),
        "{run:#?}"
    );
}

// ---------------------------------------------------------------- when-done

pub fn a_command_runs_when_everything_is_done(stage: &Stage) {
    let when_done = ["--when-done", "echo done >> rung; echo no bell >&2; exit 3"];
    let run = stage.chat(
        &when_done,
        &["one", "two"],
        json!([nothing(), text("a"), text("b")]),
    );
    assert_eq!(stage.room.read("rung"), "done\ndone\n", "{run:#?}");
    told(&run, &["--when-done failed: no bell"]);
}
