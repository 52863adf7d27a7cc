//! Agent files that want more than becket has: what restricts is kept or refuses, everything else is left out with a
//! remark; and the toolsets, models and answers that are served.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, OpenAiStream, Response, Room, needs};

use crate::terminal::Terminal;
use crate::{repository_file, room};

fn with_file(text: &str) -> Room {
    let room = room();
    room.write("agent.yaml", text);
    room
}

/// An agent with these toolsets, written in one line each.
fn agent(toolsets: &[&str]) -> Room {
    let toolsets: String = toolsets
        .iter()
        .map(|set| format!("      - {{{set}}}\n"))
        .collect();
    with_file(&format!("agents:\n  root:\n    toolsets:\n{toolsets}"))
}

/// Runs the file with a script in the place of every model.
fn play(room: &Room, turns: &Value, more: &[&str]) -> Finished {
    let model = room.model(turns);
    let arguments = ["run", "agent.yaml", "go", "--json", "--model", &model];
    room.run(arguments.iter().chain(more))
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

/// The results of all calls, in order.
fn results(run: &Finished) -> Vec<String> {
    let events = run.events_named("post_tool").into_iter();
    events
        .map(|event| event["result"].as_str().unwrap_or_default().to_owned())
        .collect()
}

fn offered(run: &Finished) -> Vec<String> {
    let request = run.events_named("pre_request").remove(0);
    let tools = request["body"]["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap_or_default().to_owned();
    tools.iter().map(name).collect()
}

#[test]
fn a_toolset_that_becket_has_not_is_left_out_and_the_agent_runs() {
    let room = with_file(
        "agents:\n  root:\n    harness: {type: codex}\n    code_mode_tools: true\n    sub_agents: [org/helper]\n    \
         toolsets:\n      - {type: lsp, command: gopls}\n      - {type: mcp, ref: 'docker:duckduckgo'}\n      \
         - {type: think}\npermissions:\n  deny: [go_rename, shell]\nrag: {x: {docs: [a]}}\n",
    );
    let run = play(&room, &json!([{"text": "done"}]), &[]).ended_with(0);
    assert_eq!(offered(&run), ["think"]);
    run.complained("toolsets of type `lsp` are not served, so this one is left out")
        .complained("the server `duckduckgo` of Docker's catalogue is left out")
        .complained("the agent `org/helper` is not in this file, so it is left out")
        .complained("`harness` has no effect here")
        .complained("the rule `go_rename` never matches");
}

#[test]
fn a_place_in_the_home_folder_is_judged_as_it_is_meant() {
    let room = agent(&["type: filesystem, deny_list: [\"~/private\"]"]);
    for folder in ["private", "public"] {
        fs::create_dir_all(room.home().join(folder)).expect("a folder");
        fs::write(room.home().join(folder).join("file"), "words").expect("a file");
    }
    let read = |path: &str| call("read_file", json!({"path": path}));
    let calls = [
        read("~/private/file"),
        read("~/public/../private/file"),
        read("~/public/file"),
    ];
    let turns: Vec<Value> = calls.into_iter().chain([json!({"text": "done"})]).collect();
    let results = results(&play(&room, &json!(turns), &["--yes"]).ended_with(0));
    assert!(
        results[..2].iter().all(|result| result.contains("deny_list")),
        "{results:?}"
    );
    assert!(results[2].contains("words"), "{results:?}");
}

#[test]
fn the_first_agent_files_run() {
    for version in ["", "version: \"0\"\n"] {
        let room = with_file(&format!(
            "{version}agents:\n  root:\n    name: root\n    model: gpt\n    think: true\n    \
             todo: {{shared: true}}\n    \
             memory: {{path: ./memory.db}}\nmodels:\n  gpt: {{type: openai, model: gpt-4o}}\n"
        ));
        let run = play(&room, &json!([{"text": "done"}]), &[]).ended_with(0);
        let tools = offered(&run);
        for wanted in ["create_todo", "think", "add_memory"] {
            assert!(tools.iter().any(|tool| tool == wanted), "{tools:?}");
        }
    }
    for (key, advice) in [
        ("think: true", "write a toolset of type think"),
        ("todo: false", "write a toolset of type todo"),
    ] {
        let room = with_file(&format!("version: \"2\"\nagents:\n  root:\n    {key}\n"));
        play(&room, &json!([]), &[])
            .ended_with(2)
            .complained("agent.yaml:4: unknown key")
            .complained(advice);
    }
}

#[test]
fn a_file_in_hcl_is_refused_and_counted() {
    let room = room();
    room.write("files/pirate.hcl", "agent \"root\" {\n  model = \"auto\"\n}\n");
    room.write("files/network.hcl", "resource \"x\" \"y\" {}\n");
    let message = "agent files in HCL are not read; write the same as YAML";
    room.run(["doctor", "--files", "files"])
        .ended_with(1)
        .said(message)
        .said("1 file: 0 complete, 0 with remarks, 1 refused");
    room.run(["run", "files/pirate.hcl", "Hi"])
        .ended_with(2)
        .complained(message);
}

#[test]
fn the_table_of_a_folder_says_which_files_run() {
    let room = room();
    room.write(
        "files/whole.yaml",
        "agents:\n  root: {toolsets: [{type: shell}]}\n",
    );
    room.write(
        "files/deeper/more.yaml",
        "agents:\n  root: {toolsets: [{type: rag}]}\n",
    );
    room.write(
        "files/refused.yml",
        "runtime: {sandbox: true}\nagents:\n  root: {}\n",
    );
    room.write(
        "files/bedrock.yaml",
        "agents:\n  root: {model: amazon-bedrock/x}\n",
    );
    room.write("files/other.yaml", "services: {}\n");
    let run = room.run(["doctor", "--files", "files"]).ended_with(1);
    let run = run
        .said("complete  files/whole.yaml\n")
        .said("remarks   files/deeper/more.yaml\n            line 2: toolsets of type `rag`")
        .said("refused   files/refused.yml\n            line 1: `sandbox` is not served")
        .said("models of `amazon-bedrock` are not served")
        .said("4 files: 1 complete, 1 with remarks, 2 refused; 50.0 % run");
    assert!(!run.stdout.contains("other.yaml"), "{run:?}");
    let run = room
        .run(["doctor", "--files", "files/deeper", "--json"])
        .ended_with(0);
    let line: Value = serde_json::from_str(run.stdout.trim()).unwrap();
    assert_eq!(
        (&line["state"], &line["file"]),
        (&json!("remarks"), &json!("files/deeper/more.yaml"))
    );
    room.run(["doctor", "--files", "files/whole.yaml"])
        .ended_with(0)
        .said("complete  files/whole.yaml\n");
    room.run(["doctor", "--files", "nowhere"]).ended_with(2);
}

#[test]
fn folders_that_a_toolset_does_not_name_are_out_of_reach() {
    let room = agent(&[
        "type: filesystem, allow_list: ['.', '~/notes'], deny_list: ['./secret']",
        "type: shell",
    ]);
    room.write("open.txt", "open words");
    room.write("secret/key.txt", "secret words");
    room.write("../outside.txt", "outside words");
    room.write("../home/notes/n.txt", "noted words");
    let notes = room.home().join("notes/n.txt");
    let turns = json!([
        call("read_file", json!({"path": "open.txt"})),
        call("read_file", json!({"path": "secret/key.txt"})),
        call("read_multiple_files", json!({"paths": ["open.txt", "secret/../secret/key.txt"]})),
        call("search_files_content", json!({"path": ".", "query": "words"})),
        call("write_file", json!({"path": "../outside.txt", "content": "x"})),
        call("read_file", json!({"path": notes})),
        {"text": "done"}
    ]);
    let run = play(&room, &turns, &["--yes"]).ended_with(0);
    let all = run.stdout.clone();
    assert!(!all.contains("secret words"), "{run:?}");
    assert!(
        all.contains("open words") && all.contains("noted words"),
        "{run:?}"
    );
    assert_eq!(room.read("../outside.txt"), "outside words");
    assert!(all.contains("`deny_list` names this place"), "{run:?}");
    assert!(all.contains("`allow_list` does not name this place"), "{run:?}");
}

#[test]
fn hosts_that_a_toolset_does_not_name_are_not_fetched() {
    let server = ModelServer::answering(|_| Response::new(200, "text/plain", "a page"));
    let url = server.url();
    for (domains, is_fetched) in [
        ("allow_private_ips: true, allowed_domains: ['127.0.0.0/8']", true),
        ("allow_private_ips: true, allowed_domains: [example.com]", false),
        ("allow_private_ips: true, blocked_domains: ['127.0.0.1']", false),
        ("allow_private_ips: true, blocked_domains: [example.com]", true),
        ("allow_private_ips: true", true),
        // As in docker-agent, nothing private is fetched unless the toolset says so, whoever answers with yes.
        ("timeout: 5", false),
        ("allow_private_ips: false", false),
        ("allowed_domains: ['127.0.0.0/8']", false),
    ] {
        let room = agent(&[&format!("type: fetch, {domains}")]);
        let turns = json!([call("fetch", json!({"urls": [url], "format": "text"})), {"text": "done"}]);
        let run = play(&room, &turns, &["--yes"]).ended_with(0);
        assert_eq!(
            results(&run).concat().contains("a page"),
            is_fetched,
            "{domains}: {run:?}"
        );
    }
}

#[test]
fn a_hook_of_the_user_s_and_of_the_file_is_asked_once() {
    let hook = "cat > /dev/null; echo asked >> seen";
    let room = with_file(&format!(
        "agents:\n  root:\n    toolsets: [{{type: shell}}]\n    hooks:\n      pre_tool_use:\n        - matcher: shell\n          \
         hooks: [{{type: command, command: '{hook}'}}, {{type: command, command: '{hook}; echo other >> seen'}}]\n"
    ));
    let turns = json!([call("shell", json!({"cmd": "true"})), {"text": "done"}]);
    play(&room, &turns, &["--yes", "--hook-pre-tool-use", hook]).ended_with(0);
    let seen = room.read("seen");
    assert_eq!(seen.matches("asked").count(), 2, "{seen}");
    assert_eq!(seen.matches("other").count(), 1, "{seen}");
}

#[test]
fn safety_modes_that_restrict_are_kept() {
    let file = |mode: &str| {
        with_file(&format!(
            "agents:\n  root:\n    safety: {mode}\n    toolsets: [{{type: shell}}, {{type: filesystem}}]\n"
        ))
    };
    let turns = json!([
        call("list_directory", json!({"path": "."})),
        call("shell", json!({"cmd": "touch made"})),
        {"text": "done"}
    ]);
    // Nobody is there, so a question is a no.
    let strict = play(&file("strict"), &turns, &[]).ended_with(0);
    let sources = |run: &Finished| -> Vec<String> {
        let events = run.events_named("approval_decided").into_iter();
        events
            .map(|event| event["source"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(sources(&strict), ["headless", "headless"]);
    let room = file("restricted");
    let restricted = play(&room, &turns, &["--yes"]).ended_with(0);
    assert_eq!(sources(&restricted), ["read_only", "request_hook"]);
    assert!(!room.has("made"));
    let balanced = play(&file("balanced"), &turns, &["--yes"]).ended_with(0);
    assert_eq!(sources(&balanced), ["read_only", "yes"]);
}

#[test]
fn a_safer_shell_insists_on_a_question_about_what_destroys() {
    let room = agent(&["type: shell, safer: true"]);
    room.write("kept.txt", "x");
    let turns = json!([
        call("shell", json!({"cmd": "rm kept.txt"})),
        call("shell", json!({"cmd": "touch made"})),
        {"text": "done"}
    ]);
    let run = play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(room.has("kept.txt") && room.has("made"), "{run:?}");
    assert!(
        run.stdout.contains("safer_shell: this command removes files"),
        "{run:?}"
    );
}

#[test]
fn two_models_answer_in_turn_and_the_first_with_a_key_is_taken() {
    let count = AtomicUsize::new(0);
    let server = ModelServer::answering(move |request| {
        let model = request.json()["model"].as_str().unwrap_or_default().to_owned();
        let stream = OpenAiStream::new(&model);
        Response::events(match count.fetch_add(1, Ordering::Relaxed) {
            0 => stream
                .tool_call(0, "c", "think", &["{\"thought\": \"hm\"}"])
                .finish("tool_calls")
                .done(),
            _ => stream.text("done").finish("stop").done(),
        })
    });
    let providers = format!(
        "providers:\n  here: {{base_url: '{}', token_key: HERE_KEY}}\n  lacking: {{base_url: '{0}', token_key: NO_KEY}}\n",
        server.url()
    );
    let room = room().with("HERE_KEY", "k");
    room.write(
        "agent.yaml",
        format!("agents:\n  root: {{model: 'here/one,here/two', toolsets: [{{type: think}}]}}\n{providers}"),
    );
    room.run(["run", "agent.yaml", "Hi"]).ended_with(0).said("done");
    room.write(
        "agent.yaml",
        format!(
            "agents:\n  root: {{model: any}}\nmodels:\n  any: {{first_available: [lacking/x, here/three]}}\n{providers}"
        ),
    );
    room.run(["run", "agent.yaml", "Hi"]).ended_with(0).said("done");
    let asked: Vec<Value> = server
        .requests()
        .iter()
        .map(|request| request.json()["model"].clone())
        .collect();
    assert_eq!(asked, ["one", "two", "three"]);
}

#[test]
fn an_answer_with_a_form_is_asked_for_with_its_schema() {
    let server = ModelServer::start([Response::events(
        OpenAiStream::new("m").text("{\"a\": 1}").finish("stop").done(),
    )]);
    let room = room().with("HERE_KEY", "k");
    room.write(
        "agent.yaml",
        format!(
            "agents:\n  root:\n    model: here/m\n    structured_output:\n      name: thing\n      strict: false\n      \
             schema: {{type: object, properties: {{a: {{type: integer}}, b: {{type: string}}}}, required: [a]}}\n\
             providers:\n  here: {{base_url: '{}', token_key: HERE_KEY}}\n",
            server.url()
        ),
    );
    room.run(["run", "agent.yaml", "Hi"])
        .ended_with(0)
        .said("{\"a\": 1}");
    let body = server.only_request().json();
    assert_eq!(
        body["response_format"]["json_schema"]["schema"]["required"],
        json!(["a"])
    );
    // OpenAI refuses such a schema if it is strict: `b` may be absent.
    assert_eq!(body["response_format"]["json_schema"]["strict"], false);
    assert!(
        body["messages"][0]["content"]
            .as_str()
            .unwrap()
            .contains("JSON Schema"),
        "{body}"
    );
}

#[test]
fn tasks_and_plans_are_kept_for_the_next_session() {
    let room = agent(&["type: tasks, path: my-tasks.json", "type: plan"]);
    let turns = json!([
        call("create_task", json!({"title": "low one", "priority": "low"})),
        call("create_task", json!({"title": "first", "priority": "critical", "dependencies": ["task_1"]})),
        call("add_dependency", json!({"taskId": "task_1", "dependsOnId": "task_2"})),
        call("write_plan", json!({"name": "release", "content": "step one"})),
        call("write_plan", json!({"name": "release", "content": "step two", "last_known_revision": 7})),
        call("write_plan", json!({"name": "../escape", "content": "x"})),
        {"text": "done"}
    ]);
    let run = play(&room, &turns, &[]).ended_with(0);
    let told = results(&run);
    assert!(told[2].contains("wait for each other"), "{told:?}");
    assert!(
        told[4].contains("has the revision 1, not 7") && told[5].contains("is no name of a plan"),
        "{told:?}"
    );
    let file: Value = serde_json::from_str(&room.read("my-tasks.json")).unwrap();
    assert_eq!(file["tasks"]["task_2"]["dependencies"], json!(["task_1"]));
    let turns = json!([
        call("next_task", json!({})),
        call("list_tasks", json!({"status": "blocked"})),
        call("read_plan", json!({"name": "release"})),
        {"text": "done"}
    ]);
    let told = results(&play(&room, &turns, &[]).ended_with(0));
    assert!(told[0].contains("low one"), "{told:?}");
    assert!(
        told[1].contains("\"effectiveStatus\":\"blocked\"") && !told[1].contains("low one"),
        "{told:?}"
    );
    assert!(told[2].contains("step one"), "{told:?}");
}

#[test]
fn a_readonly_agent_has_no_tool_that_keeps_something() {
    let room = with_file(
        "agents:\n  root:\n    readonly: true\n    sub_agents: [b]\n    toolsets: [{type: memory}, {type: tasks}, {type: \
         plan}, {type: fetch}, {type: background_agents}, {type: open_url, url: 'https://x.y'}, {type: git}]\n  b: {}\n",
    );
    let run = play(&room, &json!([{"text": "done"}]), &[]).ended_with(0);
    let mut offered = offered(&run);
    offered.retain(|name| !name.starts_with("git_"));
    let wanted = [
        "get_memories",
        "search_memories",
        "get_task",
        "list_tasks",
        "next_task",
        "read_plan",
        "list_plans",
        "get_plan_status",
        "list_background_agents",
        "view_background_agent",
        "wait_background_agents",
        "transfer_task",
    ];
    assert_eq!(offered, wanted);
}

#[test]
fn the_repository_can_be_looked_at() {
    if !needs("git") {
        return;
    }
    let room = agent(&["type: git"]);
    for arguments in [
        &["init", "-q"][..],
        &["add", "agent.yaml"],
        &[
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=a@b",
            "commit",
            "-qm",
            "the first commit",
        ],
    ] {
        let git = std::process::Command::new("git")
            .args(arguments)
            .current_dir(room.work())
            .status();
        assert!(git.unwrap().success());
    }
    let turns = json!([
        call("git_log", json!({"limit": 5})),
        call("git_blame", json!({"path": "agent.yaml"})),
        call("git_show", json!({"ref": "--output=stolen"})),
        call("git_status", json!({})),
        {"text": "done"}
    ]);
    let told = results(&play(&room, &turns, &[]).ended_with(0));
    assert!(
        told[0].contains("the first commit") && told[1].contains("Ada"),
        "{told:?}"
    );
    assert!(
        told[2].contains("git found nothing") && !room.has("stolen"),
        "{told:?}"
    );
    assert!(told[3].starts_with("##"), "{told:?}");
}

#[test]
fn agents_work_in_the_background_and_their_answers_are_waited_for() {
    let room = with_file(
        "agents:\n  root:\n    model: scripted/root.json\n    sub_agents: [helper]\n    toolsets: [{type: \
         background_agents}]\n  helper: {model: scripted/helper.json}\n",
    );
    let start = json!({"agent": "helper", "task": "look into it"});
    let root = json!([
        call("run_background_agent", start.clone()),
        call("wait_background_agents", json!({"task_ids": ["agent_task_1"]})),
        call("view_background_agent", json!({"task_id": "agent_task_2"})),
        {"text": "done"}
    ]);
    room.write("root.json", root.to_string());
    room.write(
        "helper.json",
        json!([{"text": "what was found", "expect": ["look into it"]}]).to_string(),
    );
    let run = room.run(["run", "agent.yaml", "go", "--json"]).ended_with(0);
    let told = results(&run);
    assert!(
        told[1].contains("\"all_done\":true") && told[1].contains("what was found"),
        "{told:?}"
    );
    assert!(told[2].contains("there is no task `agent_task_2`"), "{told:?}");
}

#[test]
fn nobody_to_ask_is_told_and_an_address_is_opened_only_with_a_yes() {
    let room = agent(&[
        "type: user_prompt",
        "type: open_url, name: open_docs, url: 'https://example.com/d'",
    ]);
    let folder = room.work().join("bin");
    fs::create_dir_all(&folder).unwrap();
    testkit::write_program(&folder.join("xdg-open"), "#!/bin/sh\necho \"$1\" > opened\n");
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let room = room.with("PATH", &path);
    let turns = json!([
        call("user_prompt", json!({"message": "Which one?"})),
        call("open_docs", json!({})),
        {"text": "done"}
    ]);
    let run = play(&room, &turns, &[]).ended_with(0);
    assert!(results(&run)[0].contains("\"action\":\"cancel\""), "{run:?}");
    assert!(!room.has("opened"));
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert_eq!(room.read("opened"), "https://example.com/d\n");
}

#[test]
fn a_server_of_the_catalogue_is_run_by_the_gateway_of_the_settings() {
    let room = agent(&["type: mcp, ref: 'docker:search'"]);
    room.script("gateway", "#!/bin/sh\necho \"$@\" > asked\nexit 1\n");
    let gateway = room.work().join("gateway");
    room.config(&format!(
        "[docker_agent]\nmcp_gateway = [\"{}\", \"run\"]\n",
        gateway.display()
    ));
    play(&room, &json!([{"text": "done"}]), &[]);
    assert_eq!(room.read("asked"), "run --servers search\n");
}

#[test]
fn tools_that_a_gateway_serves_are_called() {
    if !needs("python3") {
        return;
    }
    let room = agent(&["type: mcp, ref: 'docker:search', name: shop"]);
    let server = repository_file("crates/faces/becket/tests/blackbox/mcp/server.py");
    let gateway = format!("#!/bin/sh\necho \"$@\" > asked\nexec python3 {server} well\n");
    room.script("gateway", &gateway);
    let gateway = room.work().join("gateway");
    room.config(&format!(
        "[docker_agent]\nmcp_gateway = [\"{}\", \"run\"]\n",
        gateway.display()
    ));
    let turns = json!([
        {"tool_calls": [{"name": "shop_echo", "arguments": {"text": "hello"}}]},
        {"text": "done"},
    ]);
    let run = play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(results(&run)[0].contains("hello"), "{run:?}");
    assert_eq!(room.read("asked"), "run --servers search\n");
}

#[test]
fn a_question_of_user_prompt_is_answered_by_the_user() {
    let room = agent(&["type: user_prompt"]);
    let ask = |arguments: Value| json!({"tool_calls": [{"name": "user_prompt", "arguments": arguments}]});
    let model = room.model(&json!([
        ask(json!({"message": "Which colour?", "schema": {"type": "string", "enum": ["red", "blue"]}})),
        ask(json!({"message": "How many?", "schema": {"type": "integer"}})),
        {"text": "all asked", "expect": [r#"\"response\":\"blue\""#, r#"\"response\":7"#]},
    ]));
    let Some(terminal) = Terminal::start(room, &["--yes", "--model", &model, "run", "agent.yaml"]) else {
        return;
    };
    terminal.wait_for("becket>");
    terminal.enter("go");
    terminal.wait_for("Which colour?");
    terminal.press("Down");
    terminal.press("Enter");
    terminal.wait_for("How many?");
    terminal.enter("7");
    terminal.wait_for("all asked");
}
