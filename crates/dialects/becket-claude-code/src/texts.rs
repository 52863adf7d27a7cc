//! Agents, skills and commands of Claude Code: what their Markdown files say, and when their hooks are active.
//!
//! What such a file says to restrict an agent is kept, or the agent is not there.

use std::path::Path;

use becket_agent::ToolChoice;
use becket_events::{OperationKind, Profile};
use becket_hook_files::{GuestText, Source, TextKind, WhileUsed};
use becket_tools::{Preset, PresetAgent};
use serde_json::{Map, Value};

use crate::calls::{OTHERS, PROFILE};

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// The folders of agents, skills and commands, each with the name that its files have, if they have one name.
pub const FOLDERS: &[(&str, Option<&str>)] =
    &[("agents", None), ("commands", None), ("skills", Some(SKILL_FILE))];

/// The word before a skill's name in a line that calls it.
const SKILL_CALL: &str = "skill:";

/// Names of models that mean whichever model there is.
const ANY_MODEL: &[&str] = &["inherit", "default", "sonnet", "opus", "haiku", "opusplan"];

/// The kind of a file, by the folder that it is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Agent,
    Skill,
    Command,
}

fn kind(file: &Path) -> Kind {
    let mut above = file.iter().rev().skip(1);
    match above.find_map(|name| FOLDERS.iter().find(|(folder, _)| name == *folder)) {
        Some(("agents", _)) => Kind::Agent,
        Some(("commands", _)) => Kind::Command,
        _ => Kind::Skill,
    }
}

/// The name of an agent, a skill or a command.
fn name(file: &Path, fields: &Map<String, Value>) -> String {
    let kind = kind(file);
    let stem = match kind {
        Kind::Skill => file.parent().and_then(Path::file_name),
        Kind::Agent | Kind::Command => file.file_stem(),
    };
    let given = fields.get("name").and_then(Value::as_str).map(str::trim);
    let given = given.filter(|name| !name.is_empty() && kind != Kind::Command);
    given.map_or_else(
        || stem.unwrap_or_default().to_string_lossy().into_owned(),
        ToOwned::to_owned,
    )
}

/// When the hooks of a file are active.
pub fn while_used(file: &Path, fields: &Map<String, Value>) -> WhileUsed {
    let name = name(file, fields);
    match kind(file) {
        Kind::Agent => WhileUsed::Agent(name),
        Kind::Command => text(name, file),
        Kind::Skill => text(format!("{SKILL_CALL}{name}"), file),
    }
}

fn text(call: String, file: &Path) -> WhileUsed {
    WhileUsed::Text {
        call,
        file: file.to_path_buf(),
    }
}

/// Reads a file.
pub fn read_text(
    source: &Source,
    fields: &Map<String, Value>,
    body: &str,
) -> Result<Option<GuestText>, String> {
    let kind = match kind(&source.file) {
        // A folder of agents may have a page about them.
        Kind::Agent if !fields.contains_key("description") => return Ok(None),
        Kind::Agent => TextKind::Agent(Box::new(agent(fields, body)?)),
        Kind::Skill => TextKind::Skill,
        Kind::Command => TextKind::Command,
    };
    Ok(Some(GuestText {
        name: name(&source.file, fields),
        kind,
    }))
}

fn agent(fields: &Map<String, Value>, body: &str) -> Result<Preset, String> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::trim);
    let given = |key: &str| text(key).filter(|text| !text.is_empty());
    let Some(description) = given("description") else {
        return Err("the agent is not there: its `description` is empty".into());
    };
    if body.trim().is_empty() {
        return Err("the agent is not there: it has no text".into());
    }
    for (key, value) in [("permissionMode", "plan"), ("isolation", "worktree")] {
        if given(key) == Some(value) {
            return Err(format!(
                "the agent is not there: becket cannot keep `{key}: {value}` for one agent"
            ));
        }
    }
    let model = given("model").filter(|model| !ANY_MODEL.contains(model));
    Ok(Preset {
        model: model.map(|model| match model.contains('/') {
            true => model.to_owned(),
            false => format!("anthropic/{model}"),
        }),
        agent: Some(PresetAgent {
            description: description.to_owned(),
            system_prompt: body.trim().to_owned(),
            tools: tools(fields)?,
        }),
        ..Preset::default()
    })
}

/// The tools that an agent gets: those of `tools`, without those of `disallowedTools`.
fn tools(fields: &Map<String, Value>) -> Result<ToolChoice, String> {
    let refused = listed(fields, "disallowedTools")?.unwrap_or_default();
    let refused = refused.iter().map(|rule| match own_tool(rule_tool(rule)) {
        Some(tool) => Ok(tool),
        None => Err(format!(
            "the agent is not there: becket cannot keep `{rule}` of `disallowedTools`"
        )),
    });
    let refused = refused.collect::<Result<Vec<_>, _>>()?;
    let Some(wanted) = listed(fields, "tools")?.filter(|wanted| wanted.iter().all(|tool| tool != "*")) else {
        return Ok(match refused.is_empty() {
            true => ToolChoice::All,
            false => ToolChoice::AllBut(refused),
        });
    };
    let mut tools = Vec::new();
    for rule in &wanted {
        let tool = rule_tool(rule);
        // A sub-agent's kinds of agents cannot be limited, so that it asks none.
        if tool != rule && !["Agent", "Task"].contains(&tool) {
            return Err(format!(
                "the agent is not there: becket cannot limit its `{tool}` to `{rule}`"
            ));
        }
        let own = own_tool(tool).filter(|own| tool == rule && !refused.contains(own));
        tools.extend(own);
    }
    Ok(ToolChoice::AtMost(tools))
}

/// The tool of a rule such as `Bash(git *)`.
fn rule_tool(rule: &str) -> &str {
    rule.split_once('(').map_or(rule, |(tool, _)| tool).trim()
}

/// becket's own name for a tool of Claude Code or of a server; a tool that neither has may be a guest's. `None` for a
/// name that stands for several.
fn own_tool(tool: &str) -> Option<String> {
    if let Some(rest) = tool.strip_prefix("mcp__") {
        let (server, tool) = rest.split_once("__")?;
        return (!tool.is_empty() && tool != "*").then(|| format!("{server}_{tool}"));
    }
    let other = OTHERS.iter().find(|(_, name)| *name == tool);
    if let Some((own, _)) = other.or((tool == "Task").then_some(&OTHERS[0])) {
        return Some((*own).to_owned());
    }
    let operation = match tool {
        "LS" => OperationKind::List,
        "MultiEdit" => OperationKind::Edit,
        _ if tool.contains('*') => return None,
        _ => match PROFILE.operation_of(tool) {
            Some(operation) => operation,
            None => return Some(tool.to_owned()),
        },
    };
    let own = Profile::own();
    let face = own.faces.iter().find(|face| face.operation == operation)?;
    Some(face.name.to_owned())
}

/// The names in a field: a list, or one text with commas. `None` if the field is absent.
fn listed(fields: &Map<String, Value>, key: &str) -> Result<Option<Vec<String>>, String> {
    let wrong = |value: &Value| format!("the agent is not there: `{key}` lists tools, and is {value}");
    match fields.get(key) {
        None => Ok(None),
        Some(Value::Null) => Ok(Some(Vec::new())),
        Some(Value::String(text)) => Ok(Some(split(text))),
        Some(value @ Value::Array(items)) => {
            let names = items
                .iter()
                .map(|item| item.as_str().map(|name| name.trim().to_owned()));
            let names = names.collect::<Option<Vec<_>>>().ok_or_else(|| wrong(value))?;
            Ok(Some(names))
        }
        Some(value) => Err(wrong(value)),
    }
}

/// Splits at commas that are not in parentheses.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0_usize);
    for character in text.trim().trim_matches(['[', ']']).chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts
            .last_mut()
            .expect("there is one part at least")
            .push(character);
    }
    let parts = parts
        .into_iter()
        .map(|part| part.trim().trim_matches(['"', '\'']).to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(fields: Value) -> Result<ToolChoice, String> {
        tools(fields.as_object().expect("fields are an object"))
    }

    #[test]
    fn an_agent_gets_the_tools_that_its_file_lists_and_no_others() {
        let at_most = |names: &[&str]| {
            Ok(ToolChoice::AtMost(
                names.iter().map(ToString::to_string).collect(),
            ))
        };
        let all_but = |names: &[&str]| {
            Ok(ToolChoice::AllBut(
                names.iter().map(ToString::to_string).collect(),
            ))
        };
        for (fields, wanted) in [
            (json!({}), Ok(ToolChoice::All)),
            (json!({"tools": "*"}), Ok(ToolChoice::All)),
            (json!({"tools": ""}), at_most(&[])),
            (json!({"tools": null}), at_most(&[])),
            (
                json!({"tools": "Read, Grep,Bash"}),
                at_most(&["read", "grep", "shell"]),
            ),
            (
                json!({"tools": ["Read", "LS", "WebSearch"]}),
                at_most(&["read", "list", "WebSearch"]),
            ),
            (
                json!({"tools": "mcp__github__search, Task(a, b)"}),
                at_most(&["github_search"]),
            ),
            (
                json!({"tools": "Read, Write", "disallowedTools": "Write"}),
                at_most(&["read"]),
            ),
            (
                json!({"disallowedTools": "Bash(rm *), Task"}),
                all_but(&["shell", "spawn_agent"]),
            ),
        ] {
            assert_eq!(read(fields.clone()), wanted, "{fields}");
        }
    }

    #[test]
    fn an_agent_whose_limits_cannot_be_kept_is_not_there() {
        for fields in [
            json!({"tools": "Bash(git *)"}),
            json!({"tools": {"Read": true}}),
            json!({"disallowedTools": "mcp__github"}),
            json!({"disallowedTools": [1]}),
            json!({"disallowedTools": "*"}),
        ] {
            let why = read(fields.clone()).unwrap_err();
            assert!(why.starts_with("the agent is not there: "), "{fields}: {why}");
        }
        for (key, value) in [
            ("permissionMode", "plan"),
            ("isolation", "worktree"),
            ("description", ""),
        ] {
            let mut fields = json!({"description": "Reviews."});
            assert!(agent(fields.as_object().unwrap(), "Text.").is_ok());
            fields[key] = value.into();
            assert!(agent(fields.as_object().unwrap(), "Text.").is_err(), "{key}");
        }
    }
}
