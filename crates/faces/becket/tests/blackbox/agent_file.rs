//! `becket run`: agent files as a user sees them, from the prompt to the answer, and what is said about a wrong one.

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, OpenAiStream, Response, Room, needs};

use crate::{repository_file, room};

/// A room with an agent file.
fn with_file(text: &str) -> Room {
    let room = room();
    room.write("agent.yaml", text);
    room
}

/// An agent with some toolsets, and what else there is in its file.
fn agent(toolsets: &str, more: &str) -> Room {
    with_file(&format!(
        "agents:\n  root:\n    model: openai/gpt-x\n    instruction: You are kind.\n    toolsets:\n{toolsets}\n{more}\n"
    ))
}

const SHELL: &str = "      - type: shell";
const FILES: &str = "      - type: filesystem";

fn call(name: &str, arguments: &Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

fn shell(command: &str) -> Value {
    call("shell", &json!({"cmd": command}))
}

fn says(text: &str) -> Value {
    json!({"text": text})
}

/// Runs the file with a script in the place of every model, and all events on standard output.
fn play(room: &Room, turns: &Value, more: &[&str]) -> Finished {
    let model = room.model(turns);
    let arguments = ["run", "agent.yaml", "go", "--json", "--model", &model];
    room.run(arguments.iter().chain(more))
}

/// How calls were decided: the decision, and who decided.
fn decisions(run: &Finished) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let events = run.events_named("approval_decided").into_iter();
    events
        .map(|event| (text(&event["decision"]), text(&event["source"])))
        .collect()
}

/// The names of the tools in the first request.
fn offered(run: &Finished) -> Vec<String> {
    let request = run.events_named("pre_request").remove(0);
    let tools = request["body"]["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap_or_default().to_owned();
    tools.iter().map(name).collect()
}

#[test]
fn a_prompt_is_answered_by_the_agent_of_the_file() {
    let room = agent(SHELL, "");
    let run = room.run([
        "run",
        "agent.yaml",
        "Run: echo hello",
        "--yes",
        "--model",
        "rehearsal",
    ]);
    let run = run.ended_with(0);
    assert!(run.stdout.contains("hello"), "{run:?}");
}

#[test]
fn what_is_piped_in_is_added_to_the_prompt() {
    let room = agent(SHELL, "");
    let model = room.model(&json!([{"text": "seen", "expect": ["Look", "piped words"]}]));
    let run = room.run_with_input(["run", "agent.yaml", "Look", "--model", &model], "piped words");
    assert_eq!(run.ended_with(0).stdout, "seen\n");
}

#[test]
fn without_a_prompt_it_is_a_chat_that_begins_with_a_greeting() {
    let room = with_file(
        "agents:\n  root:\n    welcome_message: Good morning.\n    toolsets:\n      - type: shell\n",
    );
    let input = "Run: echo one\nRun: echo two\n/quit\n";
    let arguments = ["run", "agent.yaml", "--yes", "--model", "rehearsal"];
    let run = room
        .run_with_input(arguments, input)
        .ended_with(0)
        .complained("Good morning.");
    assert!(
        run.stdout.contains("one") && run.stdout.contains("two"),
        "{run:?}"
    );
}

#[test]
fn the_agent_has_the_tools_and_the_instruction_of_the_file_and_nothing_else() {
    let room = agent(
        "      - {type: filesystem, tools: [read_file, write_file], instruction: Read with care.}",
        "",
    );
    room.write("AGENTS.md", "words of the project");
    let run = play(&room, &json!([says("done")]), &[]).ended_with(0);
    assert_eq!(offered(&run), ["read_file", "write_file"]);
    let request = run.events_named("pre_request").remove(0);
    let prompt = request["body"]["messages"][0]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(prompt.starts_with("You are kind.\n\nRead with care."), "{prompt}");
    assert!(!prompt.contains("words of the project"), "{prompt}");
    assert_eq!(run.events_named("session_start")[0]["agent_name"], "root");
}

#[test]
fn a_readonly_toolset_offers_what_changes_nothing() {
    let room = agent(
        "      - {type: filesystem, readonly: true}\n      - {type: shell, readonly: true}",
        "",
    );
    let offered = offered(&play(&room, &json!([says("done")]), &[]).ended_with(0));
    assert!(offered.iter().any(|name| name == "read_file"), "{offered:?}");
    for name in ["write_file", "edit_file", "shell"] {
        assert!(!offered.iter().any(|other| other == name), "{offered:?}");
    }
}

#[test]
fn another_agent_can_be_talked_to() {
    let file = "agents:\n  root: {instruction: I am root.}\n  helper: {instruction: I help.}\n";
    let room = with_file(file);
    let model = room.model(&json!([{"text": "ok", "expect": ["I help."]}]));
    let run = room.run(["run", "agent.yaml", "Hi", "--agent", "helper", "--model", &model]);
    assert_eq!(run.ended_with(0).stdout, "ok\n");
    room.run(["run", "agent.yaml", "Hi", "--agent", "helpr", "--model", &model])
        .ended_with(2)
        .complained("agent.yaml has no agent `helpr`")
        .complained("did you mean `helper`?");
}

#[test]
fn wrong_files_are_told_with_their_line_and_what_to_try() {
    for (file, wanted) in [
        (
            "agents:\n  root:\n    modle: openai/gpt-x\n",
            "agent.yaml:3: unknown key `modle`; did you mean `model`?",
        ),
        (
            "agents:\n  root:\n    toolsets:\n      - type: shel\n",
            "agent.yaml:4: there is no toolset of type `shel`; did you mean `shell`?",
        ),
        (
            "runtime: {sandbox: true}\nagents:\n  root: {}\n",
            "agent.yaml:1: `sandbox` is not served: becket starts no container",
        ),
        (
            "agents:\n  root:\n    sub_agents: [nobody]\n",
            "agent.yaml:3: there is no agent `nobody` in this file",
        ),
        (
            "permissions:\n  deny:\n    - \"shell:cmdd=rm*\"\nagents:\n  root: {}\n",
            "agent.yaml:3: the rule `shell:cmdd=rm*`: rules about shell cannot speak of `cmdd`; did you mean `cmd`?",
        ),
        (
            "permissions:\n  allow: [\"shell:cmd=[\"]\nagents:\n  root: {}\n",
            "agent.yaml:2: the rule `shell:cmd=[`: a `[` has no `]` behind it",
        ),
        ("agents: [\n", "agent.yaml:"),
    ] {
        let run = with_file(file).run(["run", "agent.yaml", "Hi", "--model", "rehearsal"]);
        run.ended_with(2).complained(wanted);
    }
}

#[test]
fn a_missing_file_is_told_with_the_one_that_may_have_been_meant() {
    let room = agent(SHELL, "");
    room.run(["run", "agnet.yaml", "Hi"])
        .ended_with(2)
        .complained("cannot read the agent file agnet.yaml")
        .complained("did you mean `agent.yaml`?");
}

#[test]
fn what_has_no_effect_is_said() {
    let room = with_file("agents:\n  root:\n    fallback: {models: [a/b]}\n");
    room.run(["run", "agent.yaml", "Hi", "--model", "rehearsal"])
        .ended_with(0)
        .complained("agent.yaml:3: `fallback` has no effect here");
}

#[test]
fn a_model_without_its_key_is_told_with_the_variable_and_a_way_to_go_on() {
    agent(SHELL, "")
        .run(["run", "agent.yaml", "Hi"])
        .ended_with(2)
        .complained("OPENAI_API_KEY")
        .complained("--model rehearsal");
    let file = "models:\n  m: {provider: house, model: x}\nproviders:\n  house: {base_url: 'http://127.0.0.1:1', token_key: HOUSE_KEY}\n\
                agents:\n  root: {model: m}\n";
    with_file(file)
        .run(["run", "agent.yaml", "Hi"])
        .ended_with(2)
        .complained("agent.yaml:2: house/x needs a key, and the variable HOUSE_KEY is not set")
        .complained("--model rehearsal");
}

#[test]
fn a_provider_of_the_file_is_asked_as_the_file_says() {
    let stream = OpenAiStream::new("x")
        .text("from the house")
        .finish("stop")
        .done();
    let server = ModelServer::start([Response::events(stream)]);
    let room = with_file(&format!(
        "providers:\n  house: {{base_url: '{}', token_key: HOUSE_KEY}}\n\
         models:\n  m: {{provider: house, model: x, temperature: 0.5, top_p: 0.25, max_tokens: 9}}\n\
         agents:\n  root:\n    model: m\n    toolsets: [{{type: shell}}]\n",
        server.url()
    ))
    .with("HOUSE_KEY", "the-key-of-the-house");
    let run = room.run(["run", "agent.yaml", "Hi"]).ended_with(0);
    assert_eq!(run.stdout, "from the house\n");
    let request = server.only_request();
    assert_eq!(
        request.header("authorization"),
        Some("Bearer the-key-of-the-house")
    );
    let body = request.json();
    assert_eq!(
        (
            &body["model"],
            &body["temperature"],
            &body["top_p"],
            &body["max_tokens"]
        ),
        (&json!("x"), &json!(0.5), &json!(0.25), &json!(9))
    );
}

#[test]
fn a_key_that_the_file_names_reaches_no_tool() {
    let file = "providers:\n  house: {base_url: 'http://127.0.0.1:1', token_key: HOUSE_KEY}\n\
                agents:\n  root:\n    model: house/x\n    toolsets: [{type: shell, env: {MORE: more}}]\n";
    let room = with_file(file).with("HOUSE_KEY", "the-key");
    let turns = json!([shell("echo [$HOUSE_KEY$MORE] > seen"), says("done")]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert_eq!(room.read("seen"), "[more]\n");
}

#[test]
fn the_rules_of_the_file_count_with_the_persons() {
    let rules = "permissions:\n  allow: [\"shell:cmd=ECHO*\", \"write_file:path=notes/*\"]\n  ask: [read_file]\n  \
                 deny: [\"shell:cmd=*secret*\", \"*:path=/etc/*\"]\n";
    let room = agent(&format!("{SHELL}\n{FILES}"), rules);
    room.config("[permissions]\ndeny = [\"shell:command=*forbidden*\"]\n");
    room.write("a.txt", "a");
    let asked = ("deny", "headless");
    for (turn, wanted) in [
        (shell("echo hello"), ("allow", "allow_rule")),
        (shell("echo a secret"), ("deny", "deny_rule")),
        (shell("echo forbidden"), ("deny", "deny_rule")),
        // An allow covers no further command, and a word is a word.
        (shell("echo a; touch b"), asked),
        (shell("echoes"), asked),
        (
            call("write_file", &json!({"path": "notes/x", "content": "x"})),
            ("allow", "allow_rule"),
        ),
        (
            call("write_file", &json!({"path": "other", "content": "x"})),
            asked,
        ),
        (call("read_file", &json!({"path": "a.txt"})), asked),
        (
            call("read_file", &json!({"path": "/etc/hostname"})),
            ("deny", "deny_rule"),
        ),
        (
            call("list_directory", &json!({"path": "."})),
            ("allow", "read_only"),
        ),
    ] {
        let run = play(&room, &json!([turn, says("done")]), &[]).ended_with(0);
        let decided = decisions(&run);
        let decided: Vec<(&str, &str)> = decided
            .iter()
            .map(|(one, other)| (one.as_str(), other.as_str()))
            .collect();
        assert_eq!(decided, [wanted], "{turn}");
    }
    assert!(room.has("notes/x") && !room.has("b") && !room.has("other"));
}

#[test]
fn a_yes_to_everything_leaves_the_deny_rules_of_the_file() {
    let room = agent(SHELL, "permissions: {deny: [\"shell:cmd=touch*\"]}\n");
    play(&room, &json!([shell("touch made"), says("done")]), &["--yes"]).ended_with(0);
    assert!(!room.has("made"));
    play(&room, &json!([shell("mkdir made"), says("done")]), &["--yes"]).ended_with(0);
    assert!(room.has("made"));
}

const COMMANDS: &str = "    commands:\n      greet: \"Say hello to ${args[0]}, from ${env.WHO || 'me'}\"\n      \
                        look:\n        description: Looks around\n        instruction: \"Here: ${shell({cmd: 'echo found'})} end\"\n      \
                        touch: \"!shell(cmd=\\\"touch made\\\") done\"\n";

#[test]
fn commands_become_prompts() {
    let room = agent(SHELL, COMMANDS);
    let ask = |prompt: &str, expect: &str| {
        let model = room.model(&json!([{"text": "ok", "expect": [expect]}]));
        room.run(["run", "agent.yaml", prompt, "--yes", "--model", &model])
    };
    ask("/greet Ada Lovelace", "Say hello to Ada, from me").ended_with(0);
    ask("/look closely", "Here: found end closely").ended_with(0);
    ask("/unknown thing", "/unknown thing").ended_with(0);
    let chat = "/help\n/greet Ada\n/nothing\n/quit\n";
    let model = room.model(&json!([{"text": "ok", "expect": ["Say hello to Ada"]}]));
    let run = room
        .run_with_input(["run", "agent.yaml", "--model", &model], chat)
        .ended_with(2);
    assert!(
        run.stdout.contains("Looks around") && run.stdout.ends_with("ok\n"),
        "{run:?}"
    );
    run.complained("there is no command /nothing");
}

#[test]
fn a_call_in_a_command_passes_the_gate() {
    let room = agent(SHELL, COMMANDS);
    let model = room.model(&json!([says("asked")]));
    let run = room.run(["run", "agent.yaml", "/touch", "--model", &model]);
    let run = run
        .ended_with(1)
        .complained("the command /touch was not sent, because shell did not run");
    assert_eq!((run.stdout.as_str(), room.has("made")), ("", false));
    let hooks = room.hooks("[[hook]]\nevent = \"pre_tool\"\ncommand = \"echo 'not here' >&2; exit 2\"\n");
    room.run([
        "run",
        "agent.yaml",
        "/touch",
        "--yes",
        "--hooks",
        &hooks,
        "--model",
        &model,
    ])
    .ended_with(1)
    .complained("not here");
    assert!(!room.has("made"));
    room.run(["run", "agent.yaml", "/touch", "--yes", "--model", &model])
        .ended_with(0);
    assert!(room.has("made"));
}

#[test]
fn instructions_name_variables_and_never_keys() {
    let file = "agents:\n  root: {model: openai/gpt-x, instruction: 'Hello ${env.WHO}.'}\n";
    let room = with_file(file).with("WHO", "Ada");
    let model = room.model(&json!([{"text": "ok", "expect": ["Hello Ada."]}]));
    room.run(["run", "agent.yaml", "Hi", "--model", &model])
        .ended_with(0);
    let room = with_file(&file.replace("WHO", "OPENAI_API_KEY")).with("OPENAI_API_KEY", "sk-secret");
    let run = room.run(["run", "agent.yaml", "Hi", "--model", "rehearsal"]);
    let run = run.ended_with(2).complained("would tell the model a key");
    assert!(!run.stderr.contains("sk-secret"), "{run:?}");
}

#[test]
fn the_limit_of_an_agent_ends_its_run() {
    let room = agent(SHELL, "    max_iterations: 2\n");
    let turns = json!([shell("echo 1"), shell("echo 2"), shell("echo 3"), says("done")]);
    play(&room, &turns, &["--yes"]).ended_with(5);
    play(&room, &turns, &["--yes", "--max-iterations", "9"]).ended_with(0);
}

#[test]
fn servers_of_a_toolset_offer_their_tools_under_its_name_or_their_own() {
    if !needs("python3") {
        return;
    }
    let program = repository_file("crates/faces/becket/tests/blackbox/mcp/server.py");
    for (name, tool) in [("name: docs, ", "docs_echo"), ("", "echo")] {
        let set = format!(
            "      - {{type: mcp, {name}command: python3, args: ['{program}', well], env: {{SERVER_LOG: /dev/null}}, tools: [echo]}}"
        );
        let room = agent(&set, "");
        room.config("[mcp.servers.other]\ncommand = \"false\"\n");
        let turns = json!([call(tool, &json!({"text": "words"})), says("done")]);
        let run = play(&room, &turns, &["--yes"]).ended_with(0);
        assert_eq!(offered(&run), [tool]);
        assert_eq!(decisions(&run), [("allow".to_owned(), "yes".to_owned())]);
        let ended = run.events_named("tool_end").remove(0);
        assert!(ended.to_string().contains("words"), "{ended}");
    }
}

#[test]
fn a_rule_about_a_tool_that_is_not_there_is_an_error() {
    let script = "      - type: script\n        shell: {deploy: {cmd: echo x}}";
    for (rule, wanted) in [
        ("shel", "no tool is called `shel`; did you mean `shell`?"),
        ("bash", "no tool is called `bash`; did you mean `shell`?"),
        (
            "write:path=*",
            "no tool is called `write`; did you mean `write_file`?",
        ),
        ("deplyo", "no tool is called `deplyo`; did you mean `deploy`?"),
        ("zzzzzzzzzz", "there are add_dependency, add_memory, "),
        ("mcp:github:search", "no tool is called `github_search`"),
        ("/", "no tool has `/` in its name"),
        (
            "shell(rm *)",
            "no tool has `(` in its name; write `tool` or `tool:argument=glob`",
        ),
        ("run shell", "no tool has ` ` in its name"),
    ] {
        for list in ["allow", "ask", "deny"] {
            let room = agent(script, &format!("permissions:\n  {list}:\n    - \"{rule}\""));
            let run = room.run(["run", "agent.yaml", "Hi", "--model", "rehearsal"]);
            let place = format!("agent.yaml:10: the rule `{rule}`: ");
            run.ended_with(2).complained(&place).complained(wanted);
        }
    }
    let rules = "permissions: {deny: [SHELL, deploy, update_todos, mark_todos, read_multiple_files, \"*\", \"read_*\", handoff]}";
    let run = play(&agent(script, rules), &json!([says("done")]), &[]).ended_with(0);
    assert!(!run.stderr.contains("no tool"), "{run:?}");
}

#[test]
fn a_rule_about_a_tool_that_may_come_is_remarked_on() {
    if !needs("python3") {
        return;
    }
    let program = repository_file("crates/faces/becket/tests/blackbox/mcp/server.py");
    let set = format!(
        "      - {{type: mcp, name: docs, command: python3, args: ['{program}', well], env: {{SERVER_LOG: /dev/null}}}}"
    );
    let rules = "permissions: {deny: [docs_eco, \"mcp:docs:echo\", docs_echo, shell]}";
    let run = play(&agent(&set, rules), &json!([says("done")]), &[]).ended_with(0);
    let remark = "agent.yaml:7: the rule `docs_eco` never matches: no tool is called `docs_eco`; did you mean `docs_echo`?";
    assert_eq!(run.stderr.matches("no tool is called").count(), 1, "{run:?}");
    run.complained(remark);
    let run = agent(&set, "permissions: {deny: [\"docs(x)\"]}").run([
        "run",
        "agent.yaml",
        "Hi",
        "--model",
        "rehearsal",
    ]);
    run.ended_with(2).complained("no tool has `(` in its name");
    let run = play(
        &agent(SHELL, "permissions: {deny: [\"docs_*\"]}"),
        &json!([says("done")]),
        &[],
    );
    run.ended_with(0)
        .complained("the rule `docs_*` never matches: no tool is called `docs_*`");
}

#[test]
fn a_matcher_that_fits_no_tool_is_remarked_on() {
    let hooks = |matchers: &[&str]| -> String {
        let groups = matchers.iter().map(|matcher| {
            format!("  - matcher: {matcher}\n    hooks:\n      - {{type: command, command: cat}}\n")
        });
        format!("pre_tool_use:\n{}", groups.collect::<String>())
    };
    let well = [
        "shell|bash",
        "'*'",
        "'.*_file'",
        "find",
        "update_todos",
        "run_background_job",
        "deploy",
    ];
    let script = "      - type: script\n        shell: {deploy: {cmd: echo x}}";
    let indented = |text: &str| {
        text.lines()
            .map(|line| format!("      {line}\n"))
            .collect::<String>()
    };
    let with = |matchers: &[&str]| agent(script, &format!("    hooks:\n{}", indented(&hooks(matchers))));
    let run = play(&with(&well), &json!([says("done")]), &[]).ended_with(0);
    assert!(!run.stderr.contains("no tool"), "{run:?}");
    for (matcher, near) in [
        ("shel", "shell"),
        ("bash", "shell"),
        ("Shell", "shell"),
        ("deplyo", "deploy"),
    ] {
        let wanted = format!(
            "the hook of pre_tool_use never runs: no tool is called `{matcher}`; did you mean `{near}`?"
        );
        let run = play(&with(&[matcher]), &json!([says("done")]), &[]).ended_with(0);
        run.complained("agent.yaml:").complained(&wanted);
    }
    let room = room();
    room.write(
        "../home/.config/cagent/hooks.d/mine.yaml",
        hooks(&["shell", "writ_file"]),
    );
    let run = room.run(["--model", "rehearsal", "Hi"]).ended_with(0);
    assert_eq!(run.stderr.matches("no tool is called").count(), 1, "{run:?}");
    run.complained("mine.yaml:")
        .complained("did you mean `write_file`?");
}

#[test]
fn a_profile_beside_an_agent_file_is_an_error() {
    agent(SHELL, "")
        .run(["run", "agent.yaml", "Hi", "--tools", "pi"])
        .ended_with(2)
        .complained("`--tools pi` has no effect");
}

/// A room with two agents, each with a script of its own.
fn team(root: &Value, helper: &Value) -> Room {
    let room = with_file(
        "agents:\n  root:\n    model: scripted/root.json\n    instruction: I am root.\n    sub_agents: [helper]\n    \
         handoffs: [helper]\n    commands:\n      plan: {agent: helper, instruction: Plan it}\n      \
         over: {agent: helper}\n  helper:\n    model: scripted/helper.json\n    description: Lists things.\n    \
         instruction: I help.\n    toolsets: [{type: shell}]\npermissions: {allow: [\"shell:cmd=echo*\"]}\n",
    );
    room.write("root.json", root.to_string());
    room.write("helper.json", helper.to_string());
    room
}

#[test]
fn an_agent_gives_a_task_to_its_sub_agent() {
    let task = json!({"agent": "helper", "task": "list it", "expected_output": "a list"});
    let root = json!([call("transfer_task", &task), {"text": "done", "expect": ["its answer"]}]);
    let helper = json!([
        {"expect": ["I help.", "list it"], "tool_calls": [{"name": "shell", "arguments": {"cmd": "echo below"}}]},
        {"text": "its answer", "expect": ["below"]}
    ]);
    let run = team(&root, &helper)
        .run(["run", "agent.yaml", "go", "--json"])
        .ended_with(0);
    assert_eq!(offered(&run), ["transfer_task", "handoff"]);
    let started = run.events_named("session_start");
    let names: Vec<&Value> = started.iter().map(|event| &event["agent_name"]).collect();
    assert_eq!(names, ["root", "helper"]);
    let decided = decisions(&run);
    assert!(
        decided.contains(&("allow".into(), "allow_rule".into())),
        "{decided:?}"
    );
}

#[test]
fn a_conversation_is_handed_over_and_stays_with_who_has_it() {
    let root = json!([call("handoff", &json!({"agent": "helper"}))]);
    let room = team(&root, &json!([{"text": "helper here", "expect": ["I help."]}]));
    let run = room.run(["run", "agent.yaml", "go"]).ended_with(0);
    assert_eq!(run.stdout, "helper here\n");
    let again = room.run(["run", "agent.yaml", "again"]).ended_with(0);
    assert_eq!(again.stdout, "helper here\n");
}

#[test]
fn a_command_can_turn_to_another_agent() {
    let helper = json!([{"text": "planned", "expect": ["I help.", "Plan it now"]}]);
    let room = team(&json!([says("root here")]), &helper);
    assert_eq!(
        room.run(["run", "agent.yaml", "/plan now"]).ended_with(0).stdout,
        "planned\n"
    );
    let room = team(&json!([says("root here")]), &json!([says("helper here")]));
    room.run(["run", "agent.yaml", "/over"])
        .ended_with(2)
        .complained("the command sends no prompt");
    let room = team(&json!([says("root here")]), &json!([says("helper here")]));
    let run = room
        .run_with_input(["run", "agent.yaml"], "hello\n/over\nhello\n")
        .ended_with(0);
    assert_eq!(run.stdout, "root here\nhelper here\n");
}

#[test]
fn hooks_of_the_file_guard_and_tell() {
    let hooks = "    add_date: true\n    hooks:\n      pre_tool_use:\n        - matcher: shell\n          hooks:\n            \
                 - {type: command, command: \"echo 'not with me' >&2; exit 2\"}\n      session_start:\n        \
                 - {type: command, command: echo a word for the session}\n";
    let room = agent(SHELL, hooks);
    let turns = json!([
        {"expect": ["a word for the session", "Today's date:"],
         "tool_calls": [{"name": "shell", "arguments": {"cmd": "touch made"}}]},
        {"text": "done", "expect": ["not with me"]}
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(!room.has("made"));
}

#[test]
fn a_guard_of_the_first_agent_counts_for_its_sub_agent() {
    let room = with_file(
        "agents:\n  root:\n    model: scripted/root.json\n    sub_agents: [helper]\n    hooks:\n      pre_tool_use:\n        \
         - matcher: shell\n          hooks: [{type: command, command: \"echo no >&2; exit 2\"}]\n  helper:\n    \
         model: scripted/helper.json\n    toolsets: [{type: shell}]\n",
    );
    let task = json!({"agent": "helper", "task": "list it", "expected_output": "a list"});
    room.write(
        "root.json",
        json!([call("transfer_task", &task), says("done")]).to_string(),
    );
    room.write(
        "helper.json",
        json!([shell("touch made"), says("done")]).to_string(),
    );
    room.run(["run", "agent.yaml", "go", "--yes"]).ended_with(0);
    assert!(!room.has("made"));
}

#[test]
fn secrets_are_taken_out_unless_the_file_says_otherwise() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    for (more, shown) in [("", false), ("    redact_secrets: false\n", true)] {
        let room = agent(FILES, more);
        room.write("a.txt", &token);
        let turns = json!([call("read_file", &json!({"path": "a.txt"})), says("done")]);
        let run = play(&room, &turns, &["--yes"]).ended_with(0);
        let request = run.events_named("pre_request").remove(1);
        assert_eq!(request.to_string().contains(&token), shown, "{request}");
    }
}

#[test]
fn a_model_judges_for_a_hook() {
    let hooks = "    hooks:\n      pre_tool_use:\n        - matcher: shell\n          hooks:\n            \
                 - {type: model, model: judge, prompt: 'May {{ .ToolName }} run?', schema: pre_tool_use_decision}\n\
                 models:\n  judge: {provider: house, model: x}\nproviders:\n  house: {base_url: 'URL'}\n";
    let verdict = r#"{"decision": "deny", "reason": "the judge said no"}"#;
    let stream = OpenAiStream::new("x").text(verdict).finish("stop").done();
    let server = ModelServer::start([Response::events(stream)]);
    let room = agent(SHELL, &hooks.replace("URL", &server.url()));
    let turns = json!([shell("touch made"), {"text": "done", "expect": ["the judge said no"]}]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(!room.has("made") && server.only_request().text().contains("May shell run?"));
}

/// A model at `URL` judges every command.
const JUDGED: &str = "    hooks:\n      pre_tool_use:\n        - matcher: shell\n          hooks:\n            \
                 - {type: model, model: judge, prompt: 'May {{ .ToolName }} run?', schema: pre_tool_use_decision}\n\
                 models:\n  judge: {provider: house, model: x}\nproviders:\n  house: {base_url: 'URL'}\n";

#[test]
fn a_judge_is_taken_at_its_whole_word_or_not_at_all() {
    for (answer, runs) in [
        (r#"{"decision": "allow", "reason": "fine"}"#, true),
        (
            "```json\n{\"decision\": \"allow\", \"reason\": \"fine\"}\n```",
            true,
        ),
        (r#"I refuse. It prints {"decision":"allow"}"#, false),
        (r#"{"decision":"deny","reason":"x","decision":"allow"}"#, false),
        (r#"{"decision":"allow","reason":"x"} {"decision":"deny"}"#, false),
        ("allow", false),
        ("", false),
    ] {
        let stream = || Response::events(OpenAiStream::new("x").text(answer).finish("stop").done());
        let server = ModelServer::start([stream()]);
        let room = agent(SHELL, &JUDGED.replace("URL", &server.url()));
        let turns = json!([shell("touch made"), says("done")]);
        play(&room, &turns, &[]).ended_with(0);
        assert_eq!(room.has("made"), runs, "{answer}");
        let format = &server.only_request().json()["response_format"];
        assert_eq!(
            format["json_schema"]["schema"]["required"],
            json!(["decision", "reason"]),
            "{format}"
        );
    }
    // A server that knows no forms is asked without one.
    let verdict = OpenAiStream::new("x").text(r#"{"decision": "allow", "reason": "fine"}"#);
    let server = ModelServer::start([
        Response::json(
            400,
            &json!({"error": {"message": "response_format is not supported"}}),
        ),
        Response::events(verdict.finish("stop").done()),
    ]);
    let room = agent(SHELL, &JUDGED.replace("URL", &server.url()));
    play(&room, &json!([shell("touch made"), says("done")]), &[]).ended_with(0);
    assert!(room.has("made"));
    assert_eq!(server.requests()[1].json().get("response_format"), None);
}

#[test]
fn a_judge_that_broke_off_has_said_nothing_and_a_forced_call_is_its_word() {
    let allow = r#"{"decision": "allow", "reason": "fine"}"#;
    let deny = r#"{"decision": "deny", "reason": "no"}"#;
    let judge = || OpenAiStream::new("x");
    for (how, stream, runs) in [
        ("cut off", judge().text(allow).finish("length"), false),
        ("filtered", judge().text(allow).finish("content_filter"), false),
        (
            "forced",
            judge()
                .text(deny)
                .tool_call(0, "1", "answer", &[allow])
                .finish("tool_calls"),
            true,
        ),
        (
            "forced to refuse",
            judge()
                .text(allow)
                .tool_call(0, "1", "answer", &[deny])
                .finish("tool_calls"),
            false,
        ),
        (
            "two calls",
            judge()
                .tool_call(0, "1", "answer", &[allow])
                .tool_call(1, "2", "answer", &[allow])
                .finish("tool_calls"),
            false,
        ),
    ] {
        let server = ModelServer::start([Response::events(stream.done())]);
        let room = agent(SHELL, &JUDGED.replace("URL", &server.url()));
        play(&room, &json!([shell("touch made"), says("done")]), &[]).ended_with(0);
        assert_eq!(room.has("made"), runs, "{how}");
    }
}

#[test]
fn scripts_thoughts_and_things_to_do_are_tools() {
    let sets = "      - type: script\n        shell:\n          greet:\n            cmd: echo \"hello $who$MARK\"\n            \
                description: Greets\n            args: {who: {type: string}}\n            env: {MARK: '!'}\n          \
                shell: {cmd: echo mine}\n      - type: think\n      - {type: todo, tools: [create_todo]}\n      \
                - type: memory\n        path: notes.db\n        tools: [add_memory]";
    let room = agent(sets, "");
    let turns = json!([call("greet", &json!({"who": "Ada"})), says("done")]);
    let run = play(&room, &turns, &["--yes"]).ended_with(0);
    let run = run.complained("the tool shell is not offered to root: there is another of that name");
    assert_eq!(offered(&run), ["greet", "think", "create_todo", "add_memory"]);
    assert!(
        run.events_named("tool_end")
            .remove(0)
            .to_string()
            .contains("hello Ada!")
    );
    let memory = json!([call("add_memory", &json!({"memory": "a word"})), says("done")]);
    play(&room, &memory, &["--yes"]).ended_with(0);
    assert!(room.has("notes.db"));
}

#[test]
fn one_model_for_all_agents() {
    let room = team(&json!([]), &json!([]));
    room.run(["run", "agent.yaml", "Hi", "--model", "rehearsal"])
        .ended_with(0);
}

#[test]
fn the_example_runs_without_a_key() {
    let room = room();
    let example = repository_file("examples/docker-agent/team.yaml");
    let run = |prompt: &str| room.run(["run", &example, prompt, "--model", "rehearsal"]);
    assert!(run("Run: echo hello").ended_with(0).stdout.contains("hello"));
    run("Run: sudo ls")
        .ended_with(0)
        .complained("the rule `shell:cmd=*sudo*` denies it");
    run("Write notes.txt: hello").ended_with(0);
    assert!(!room.has("notes.txt"));
    run("/explain hooks").ended_with(0);
}

#[test]
fn only_a_file_of_some_size_is_read() {
    let room = room();
    let made = std::process::Command::new("mkfifo")
        .arg(room.work().join("pipe"))
        .status();
    assert!(made.expect("mkfifo runs").success());
    room.run(["run", "pipe", "go"])
        .ended_with(2)
        .complained("it is no regular file");
    room.run(["run", "/dev/zero", "go"])
        .ended_with(2)
        .complained("it is no regular file");
}

#[test]
fn no_hook_and_no_tool_sees_the_key_of_a_provider_that_files_know() {
    let room = room().with("XAI_API_KEY", "xai-very-secret");
    let hooks = "    hooks: {session_start: [{type: command, command: env > seen}]}\n";
    room.write(
        "agent.yaml",
        format!("agents:\n  root:\n    instruction: a\n    toolsets: [{{type: shell}}]\n{hooks}"),
    );
    let run = room
        .run(["run", "agent.yaml", "Run: env", "--model", "rehearsal", "--yes"])
        .ended_with(0);
    assert!(!room.read("seen").contains("xai-very-secret"));
    assert!(!run.stdout.contains("xai-very-secret"), "{run:?}");
}

#[test]
fn what_must_not_be_written_is_not_edited() {
    let room = room();
    room.write(
        "agent.yaml",
        "agents:\n  root:\n    instruction: a\n    toolsets: [{type: filesystem}]\n\
        permissions: {deny: [\"write_file:path=priv/*\"]}\n",
    );
    room.write("priv/x", "p");
    let edit = json!({"path": "priv/x", "edits": [{"oldText": "p", "newText": "q"}]});
    let model =
        room.model(&json!([{"tool_calls": [{"name": "edit_file", "arguments": edit}]}, {"text": "x"}]));
    room.run(["run", "agent.yaml", "go", "--yes", "--model", &model])
        .ended_with(0);
    assert_eq!(room.read("priv/x"), "p");
}
