//! Tests of which agent files are accepted, and of the messages about the others.

use super::*;
use std::path::Path;

fn read(text: &str) -> Result<AgentFile, String> {
    AgentFile::read(text, Path::new("agent.yaml")).map_err(|error| error.to_string())
}

fn file(text: &str) -> AgentFile {
    read(text).unwrap()
}

#[test]
// tidy: a table
fn a_whole_file_is_understood() {
    let file = file(
        r#"
version: "2"
metadata: {author: somebody, tags: [a]}
providers:
  house: {base_url: "http://127.0.0.1:1/v1", token_key: HOUSE_KEY, temperature: 0.5}
models:
  fast: {provider: house, model: small, max_tokens: 10, top_p: 0.9, parallel_tool_calls: false}
mcps:
  docs: {command: docs-server, args: [--stdio], env: {A: a}, tools: [search]}
toolsets:
  web: {type: fetch, timeout: 5}
commands:
  common: {hello: "Say hello to ${args[0]}"}
permissions:
  allow: ["shell:cmd=ls*"]
  deny: [write_file]
agents:
  first:
    model: fast
    description: the first
    instruction: Be kind.
    toolsets:
      - type: shell
      - {type: mcp, ref: docs, name: d, env: {B: b}}
      - {type: filesystem, tools: [read_file], instruction: Read with care., readonly: true}
    use_toolsets: [web]
    sub_agents: [second]
    handoffs: [second]
    commands:
      - df: check disk space
      - plan: {description: Plan it, agent: second}
    use_commands: [common]
    add_date: true
    add_prompt_files: [NOTES.md]
    max_iterations: 7
    max_consecutive_tool_calls: 3
  second: {model: anthropic/claude-x, instruction: Help., redact_secrets: false}
"#,
    );
    assert!(file.remarks.is_empty(), "{:?}", file.remarks);
    assert_eq!(file.default_agent().name, "first");
    let first = &file.agents[0];
    let model = first.model.as_ref().unwrap();
    assert_eq!(
        (model.provider.as_str(), model.model.as_str()),
        ("house", "small")
    );
    assert_eq!(model.token_key.as_deref(), Some("HOUSE_KEY"));
    assert_eq!(
        (model.sampling.temperature, model.sampling.max_tokens),
        (Some(0.5), Some(10))
    );
    assert_eq!(model.sampling.parallel_tool_calls, Some(false));
    assert_eq!(first.toolsets.len(), 4);
    let ToolsetKind::Mcp(server) = &first.toolsets[1].kind else {
        panic!("{:?}", first.toolsets[1]);
    };
    assert_eq!(server.name.as_deref(), Some("d"));
    let McpReach::Program { env, command, .. } = &server.reach else {
        panic!("{server:?}");
    };
    assert_eq!((command.as_str(), env.len()), ("docs-server", 2));
    assert_eq!(first.toolsets[1].tools, Some(vec!["search".to_owned()]));
    assert!(first.toolsets[2].readonly && !first.toolsets[0].readonly);
    let names: Vec<&str> = first.commands.keys().map(String::as_str).collect();
    assert_eq!(names, ["df", "hello", "plan"]);
    assert_eq!(first.commands["plan"].agent.as_deref(), Some("second"));
    let hooks: Vec<&str> = first.hooks.iter().map(|hook| hook.event).collect();
    let redacting = ["pre_tool_use", "before_llm_call", "tool_response_transform"];
    assert_eq!(hooks, [&["turn_start", "turn_start"], &redacting[..]].concat());
    assert_eq!(
        (first.max_iterations, first.max_identical_rounds),
        (Some(7), Some(3))
    );
    assert!(file.agents[1].hooks.is_empty());
    assert_eq!(file.permissions.allow, [("shell:cmd=ls*".to_owned(), 15)]);
}

#[test]
fn root_is_the_one_that_the_person_talks_to() {
    let two = file("agents:\n  a: {model: x/y}\n  root: {model: x/y}\n");
    assert_eq!(two.default_agent().name, "root");
    let other = file("agents:\n  b: {model: x/y}\n  a: {model: x/y}\n");
    assert_eq!(other.default_agent().name, "b");
}

#[test]
// tidy: a table
fn mistakes_are_told_with_their_line() {
    for (text, wanted) in [
        ("agents: {}", "agent.yaml:1: there is no agent"),
        (
            "agents:\n  a:\n    modle: x\n",
            "agent.yaml:3: unknown key `modle`; did you mean `model`?",
        ),
        (
            "agents:\n  a:\n    model: fats\nmodels:\n  fast: {provider: openai, model: x}\n",
            "agent.yaml:3: there is no model `fats` under `models`; did you mean `fast`?",
        ),
        (
            "agents:\n  a:\n    model: a/b,c/d\n",
            "agent.yaml:3: an agent has one model",
        ),
        (
            "agents:\n  root:\n    sub_agents: [writer]\n  writre: {}\n",
            "agent.yaml:3: there is no agent `writer` in this file; did you mean `writre`?",
        ),
        (
            "agents:\n  root:\n    handoffs:\n      - nobody\n",
            "agent.yaml:4: there is no agent `nobody`",
        ),
        (
            "agents:\n  root:\n    commands:\n      x: {agent: rot}\n",
            "agent.yaml:4: there is no agent `rot` in this file; did you mean `root`?",
        ),
        (
            "agents:\n  root:\n    harness:\n      type: codex\n",
            "agent.yaml:3: `harness` is not served: agents of other programs are not run; name a `model`",
        ),
        (
            "rag: {}\nagents:\n  root: {}\n",
            "agent.yaml:1: `rag` is not served",
        ),
        (
            "agents:\n  root:\n    toolsets:\n      - type: shel\n",
            "agent.yaml:4: there is no toolset of type `shel`; did you mean `shell`?",
        ),
        (
            "agents:\n  root:\n    toolsets:\n      - type: a2a\n",
            "agent.yaml:4: toolsets of type `a2a` are not served; there are shell,",
        ),
        (
            "agents:\n  root:\n    toolsets:\n      - type: shell\n        shell:\n          x: {cmd: ls}\n",
            "agent.yaml:5: `shell` belongs to toolsets of type script, not shell",
        ),
        (
            "agents:\n  root:\n    toolsets:\n      - type: filesystem\n        tools: [read_fiel]\n",
            "agent.yaml:5: the toolset filesystem has no tool `read_fiel`; did you mean `read_file`?",
        ),
        (
            "agents:\n  root:\n    toolsets:\n      - {type: mcp, ref: 'docker:x'}\n",
            "agent.yaml:4: servers from Docker's catalogue are not served",
        ),
        (
            "agents:\n  root:\n    toolsets:\n      - {type: mcp}\n",
            "agent.yaml:4: a server has one of",
        ),
        (
            "agents:\n  root:\n    toolsets:\n      - type: mcp\n        remote: {url: 'http://x', transport_type: sse}\n",
            "agent.yaml:5: servers are reached with the transport `streamable`, not `sse`",
        ),
        (
            "agents:\n  root:\n    toolsets:\n      - type: script\n        shell:\n          x: {description: d}\n",
            "agent.yaml:6: the script `x` has no `cmd`",
        ),
        (
            "agents:\n  root:\n    model: p/m\nproviders:\n  p: {api_type: openai_responses}\n",
            "agent.yaml:5: the interface `openai_responses` is not served",
        ),
        (
            "agents:\n  root:\n    instruction: x\n    instruction_file: ../x\n",
            "agent.yaml:4: an agent has `instruction` or",
        ),
        (
            "agents:\n  root:\n    instruction_file: ../x\n",
            "agent.yaml:3: `../x` does not lie beside the agent file",
        ),
        (
            "agents:\n  root:\n    max_iterations: many\n",
            "agent.yaml:3: a whole number",
        ),
        ("agents: [root]\n", "agent.yaml:1: "),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(wanted), "{text}\n{error}\nwanted {wanted}");
    }
}

#[test]
fn what_has_no_effect_is_remarked_on_with_its_line() {
    let file = file("agents:\n  root:\n    fallback:\n      models: [a/b]\n");
    let wanted =
        "agent.yaml:3: `fallback` has no effect here: a model that fails is asked again, and no other";
    assert_eq!(file.remarks, [wanted]);
}
