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
            "agents:\n  a:\n    model: a/b,fast\n",
            "agent.yaml:3: there is no model `fast`",
        ),
        (
            "agents:\n  a:\n    safety: stric\n",
            "agent.yaml:3: there is no safety mode `stric`; did you mean `strict`?",
        ),
        (
            "runtime: {sandbox: true}\nagents:\n  a: {}\n",
            "agent.yaml:1: `sandbox` is not served",
        ),
        (
            "agents:\n  a:\n    toolsets:\n      - {type: fetch, allowed_domains: ['https://x']}\n",
            "agent.yaml:4: `https://x` is neither a host",
        ),
        (
            "agents:\n  a:\n    toolsets:\n      - {type: shell, allow_list: ['.']}\n",
            "agent.yaml:4: `allow_list` belongs to toolsets of type filesystem, not shell",
        ),
        (
            "agents:\n  a: {model: m}\nmodels:\n  m: {provider: openai, model: x, cost: {input: -.inf}}\n",
            "agent.yaml:4: -inf is no price",
        ),
        (
            "budget: {max_cost: 0}\nagents:\n  a: {}\n",
            "agent.yaml:1: `budget.max_cost` is no number above 0",
        ),
        (
            "agents:\n  a: {}\nbudgets:\n  x: {max_time: ten}\n",
            "agent.yaml:4: `budgets.x.max_time` is no time above 0, such as `1h30m`",
        ),
        (
            "budgets: {small: {max_tokens: 9}}\nagents:\n  a: {budgets: [smal]}\n",
            "agent.yaml:3: there is no budget `smal` in this file; did you mean `small`?",
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
            "agents:\n  root:\n    toolsets:\n      - type: shel\n",
            "agent.yaml:4: there is no toolset of type `shel`; did you mean `shell`?",
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
            "agents:\n  root:\n    toolsets:\n      - {type: mcp}\n",
            "agent.yaml:4: a server has one of",
        ),
        (
            "agents:\n  root:\n    toolsets:\n      - type: script\n        shell:\n          x: {description: d}\n",
            "agent.yaml:6: the script `x` has no `cmd`",
        ),
        (
            "agents:\n  root:\n    instruction: x\n    instruction_file: ../x\n",
            "agent.yaml:4: an agent has `instruction` or",
        ),
        (
            "agents:\n  root:\n    instruction_file: ../x\n",
            "agent.yaml:3: `../x` is not beside the agent file",
        ),
        (
            "agents:\n  root:\n    max_iterations: many\n",
            "agent.yaml:3: expected a whole number",
        ),
        ("agents: [root]\n", "agent.yaml:1: "),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(wanted), "{text}\n{error}\nwanted {wanted}");
    }
}

#[test]
// tidy: a table
fn what_restricts_nobody_is_left_out_with_a_remark() {
    for (text, wanted) in [
        (
            "agents:\n  root:\n    fallback:\n      models: [a/b]\n",
            "agent.yaml:3: `fallback` has no effect here: a model that fails is asked again, and no other",
        ),
        (
            "agents:\n  root:\n    harness:\n      type: codex\n",
            "agent.yaml:3: `harness` has no effect here: other programs are not run",
        ),
        (
            "rag: {}\nagents:\n  root: {}\n",
            "agent.yaml:1: `rag` has no effect here",
        ),
        (
            "runtime: {network_allowlist: [x.y]}\nagents:\n  root: {}\n",
            "agent.yaml:1: `network_allowlist` has no effect here",
        ),
        (
            "flavors: {}\nagents:\n  root: {}\n",
            "agent.yaml:1: `flavors` has no effect here",
        ),
        (
            "agents:\n  root:\n    toolsets:\n      - {type: a2a, url: 'http://x', headers: {}}\n",
            "agent.yaml:4: toolsets of type `a2a` are not served, so this one is left out",
        ),
        (
            "agents:\n  root:\n    toolsets:\n      - type: mcp\n        remote: {url: 'http://x', transport_type: x}\n",
            "agent.yaml:5: the transport `x` is not served",
        ),
        (
            "agents:\n  root:\n    model: p/m\nproviders:\n  p: {api_type: other}\n",
            "agent.yaml:5: the interface `other` is not served",
        ),
        (
            "agents:\n  root:\n    sub_agents: [org/reviewer, 'x:org/y']\n",
            "agent.yaml:3: the agent `org/reviewer` is not in this file, so it is left out",
        ),
        (
            "agents:\n  root:\n    safety: autonomous\n",
            "agent.yaml:3: `safety` has no effect here",
        ),
        (
            "agents:\n  root:\n    commands:\n      docs: {url: 'https://x'}\n",
            "agent.yaml:4: `url` has no effect here",
        ),
    ] {
        let remarks = file(text).remarks;
        let found = remarks.first().map(String::as_str).unwrap_or_default();
        assert!(found.starts_with(wanted), "{text}\n{remarks:?}\nwanted {wanted}");
    }
}

#[test]
fn several_models_and_their_thinking_are_understood() {
    let file = file(
        "agents:\n  a: {model: 'x/one, two'}\n  b: {model: any}\n  c: {tool_choice: none, toolsets: [{type: shell}]}\n\
         models:\n  two: {provider: y, model: m, thinking_budget: high}\n  any:\n    first_available: [two, z/n]\n",
    );
    assert!(file.remarks.is_empty(), "{:?}", file.remarks);
    let model = |index: usize| file.agents[index].model.as_ref().unwrap();
    let names = |models: &[ModelDefinition]| -> Vec<String> {
        models.iter().map(|model| model.model.clone()).collect()
    };
    assert_eq!(
        (model(0).model.as_str(), names(&model(0).in_turn)),
        ("one", vec!["m".to_owned()])
    );
    assert_eq!(
        (model(1).model.as_str(), names(&model(1).instead)),
        ("m", vec!["n".to_owned()])
    );
    assert_eq!(model(1).sampling.thinking, Some(ThinkingLevel::High));
    assert!(file.agents[2].toolsets.is_empty());
    let nested =
        "agents:\n  a: {model: all}\nmodels:\n  all: {model: 'two,y/c'}\n  two: {model: 'x/a, x/b'}\n";
    let nested = read(nested).unwrap();
    let first = nested.agents[0].model.as_ref().unwrap();
    assert_eq!(
        (first.model.as_str(), names(&first.in_turn)),
        ("a", vec!["b".to_owned(), "c".to_owned()])
    );
    let circle = "agents:\n  a: {model: one}\nmodels:\n  one: {model: two}\n  two: {model: one}\n";
    assert!(read(circle).unwrap_err().contains("has no `provider`"));
}

#[test]
fn what_a_toolset_may_reach_is_kept() {
    let file = file(
        "toolsets:\n  careful: {type: shell, safer: true}\nagents:\n  a:\n    use_toolsets: [careful]\n    toolsets:\n      \
         - {type: filesystem, allow_list: ['.'], deny_list: ['~/.ssh']}\n      \
         - {type: fetch, blocked_domains: [example.com]}\n",
    );
    let sets = &file.agents[0].toolsets;
    assert_eq!(
        (sets[0].fence.allow_list.len(), sets[0].fence.deny_list.len()),
        (1, 1)
    );
    assert_eq!(sets[1].fence.blocked_domains, ["example.com"]);
    let safer = file.agents[0].hooks.iter().find(|hook| hook.preempt_yolo);
    assert_eq!(safer.map(|hook| hook.event), Some("pre_tool_use"));
}

#[test]
fn what_cannot_restrict_is_left_out_with_a_remark() {
    let file = read(
        "agents:\n  root:\n    toolsets:\n      - type: telepathy\n        range: {km: 3}\n      - type: rag\n        \
         new_key: 1\n    hooks:\n      session_end:\n        - type: builtin\n          command: add_weather\n\
         providers:\n  p: {base_url: 'http://x', headers: {X-Team: a}}\n",
    )
    .unwrap();
    assert_eq!(
        file.remarks,
        [
            "agent.yaml:11: there is no builtin `add_weather`, so this hook of session_end is left out",
            "agent.yaml:4: toolsets of type `telepathy` are not served, so this one is left out",
            "agent.yaml:6: toolsets of type `rag` are not served, so this one is left out",
        ]
    );
    assert!(file.agents[0].toolsets.is_empty());
    for (text, why) in [
        (
            "agents:\n  root:\n    toolsets:\n      - type: shell\n        lmits: 1\n",
            "agent.yaml:5: unknown key `lmits`",
        ),
        (
            "agents:\n  root:\n    hooks:\n      pre_tool_use:\n        - hooks:\n            - {type: builtin, command: judge}\n",
            "`judge`",
        ),
        (
            "agents:\n  root:\n    hooks:\n      pre_tool_use:\n        - hooks:\n            - {type: evaluator, evaluator: x, evaluator_policy: y}\n",
            "evaluators are not asked",
        ),
        (
            "agents:\n  root:\n    hooks:\n      tool_guard:\n        - hooks:\n            - {type: evaluator, evaluator: x, evaluator_policy: {decisions: {a: allow, b: deny}}}\n",
            "evaluators are not asked",
        ),
        (
            "agents:\n  root:\n    hooks:\n      before_agent_run:\n        - {type: evaluator, evaluator: x}\n",
            "hooks of before_agent_run choose the agent that goes on",
        ),
        (
            "agents:\n  a: {force_handoff: b}\n  b: {force_handoff: a}\n",
            "agent.yaml:2: `force_handoff` leads back to `a`",
        ),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn words_that_older_yaml_takes_for_booleans_are_texts() {
    let file = read(
        "agents:\n  root:\n    description: no\n    toolsets:\n      - type: script\n        shell:\n          pick:\n            \
         cmd: echo $answer\n            args: {answer: {enum: [yes, no]}}\n",
    )
    .unwrap();
    assert_eq!(file.agents[0].description, "no");
    let ToolsetKind::Script(scripts) = &file.agents[0].toolsets[0].kind else {
        panic!("{:?}", file.agents[0].toolsets)
    };
    assert_eq!(
        scripts[0].arguments["answer"]["enum"],
        serde_json::json!(["yes", "no"])
    );
}
