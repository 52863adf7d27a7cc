//! What Gemini CLI's settings take from the model, in becket's words: `tools.exclude`, `tools.core`,
//! `tools.confirmationRequired`, `mcp.excluded`, their former names, and `excludeTools` of extensions. Only what
//! restricts is read: nobody is asked less because of a file of Gemini CLI's.
//!
//! `tools.core` names all tools that are left. What becket does with a tool and Gemini CLI with a command, such as
//! removing a file, is left if such a command is. Tools of servers and those that only becket has stay.

use std::collections::{BTreeMap, BTreeSet};

use becket_events::OperationKind;
use becket_hook_files::{
    CHANGES, Facts, ForeignRule, RuleKind, RuleLists, RuledCalls, RuledTool, Source, command_pattern,
    commands, rule_parts, rule_texts, tool_of_server,
};
use becket_hooks::Pattern;
use serde_json::Value;

use crate::calls::{OTHERS, PROFILE};

/// Names that lists of tools may use in place of those of today: of the classes, and former ones.
const FORMER: &[(&str, &str)] = &[
    ("EditTool", "replace"),
    ("GlobTool", "glob"),
    ("GrepTool", "grep_search"),
    ("LSTool", "list_directory"),
    ("ReadFileTool", "read_file"),
    ("RipGrepTool", "grep_search"),
    ("ShellTool", "run_shell_command"),
    ("WebFetchTool", "web_fetch"),
    ("WriteFileTool", "write_file"),
    ("WriteTodosTool", "write_todos"),
    ("search_file_content", "grep_search"),
];

/// The begin of the names of servers' tools.
const OF_SERVERS: &str = "mcp_";

/// The rules of a settings file. The error names the list or the rule that cannot be read.
pub fn rules(file: &Value, _: &Source, _: &Facts) -> Result<RuleLists, String> {
    let list = |group: &str, name: &str, former: &str| {
        // What is no group could have been meant to restrict.
        let within = match file.get(group) {
            Some(Value::Object(within)) => within.get(name),
            None | Some(Value::Null) => None,
            Some(_) => return Err(format!("`{group}` must be an object")),
        };
        let today = rule_texts(within, &format!("{group}.{name}"))?;
        let former = rule_texts(file.get(former), former)?;
        Ok::<_, String>([today, former].concat())
    };
    let named = |texts: Vec<&str>| {
        let rules = texts.into_iter().map(about);
        Ok::<_, String>(rules.collect::<Result<Vec<_>, _>>()?.concat())
    };
    let mut deny = named(list("tools", "exclude", "excludeTools")?)?;
    for server in list("mcp", "excluded", "excludeMCPServers")? {
        deny.push(ForeignRule::named_tools(server, tool_of_server(server, "*")?));
    }
    let core = file.get("tools").and_then(|tools| tools.get("core"));
    if core.or(file.get("coreTools")).is_some_and(|core| !core.is_null()) {
        deny.extend(all_but(&list("tools", "core", "coreTools")?)?);
    }
    Ok(RuleLists {
        deny,
        ask: named(list(
            "tools",
            "confirmationRequired",
            "toolsConfirmationRequired",
        )?)?,
        ..RuleLists::default()
    })
}

/// The tool of a text in a list by its name of today, and the command behind it.
fn tool_and_command(text: &str) -> Result<(&str, Option<&str>), String> {
    let parts = rule_parts(text).map_err(|why| format!("the tool `{text}`: {why}"))?;
    let former = FORMER.iter().find(|(former, _)| *former == parts.0);
    Ok((former.map_or(parts.0, |(_, name)| name), parts.1))
}

/// The rules about a tool, or about commands that begin so.
fn about(text: &str) -> Result<Vec<ForeignRule>, String> {
    let (tool, command) = tool_and_command(text)?;
    let kind = RuleKind::Restricts;
    if let Some(operation) = PROFILE.operation_of(tool) {
        let calls = match (operation, command) {
            (OperationKind::Shell, Some(begin)) => {
                // A star is no more than a star in the beginning of a command, and is often meant as any text.
                let begin =
                    command_pattern(begin.trim_end_matches([':', '*', ' ']), r"([\s;&|)}`].*)?", kind)?;
                commands(text, begin, kind)
            }
            (OperationKind::Shell, None) => {
                let changes = CHANGES.into_iter().map(|(operation, _)| (operation, None));
                changes.chain([(operation, None)]).collect()
            }
            _ => vec![(operation, None)],
        };
        return Ok(ForeignRule::about(text, calls));
    }
    let own = OTHERS.iter().find(|(_, name)| *name == tool).map(|(own, _)| *own);
    let name = own.or_else(|| tool.strip_prefix(OF_SERVERS)).unwrap_or(tool);
    let named = RuledTool::Named(Pattern::glob(name)?);
    Ok(vec![ForeignRule::named_tools(text, named)])
}

/// The rules that deny all tools of Gemini CLI but these.
fn all_but(left: &[&str]) -> Result<Vec<ForeignRule>, String> {
    let left = left.iter().map(|text| tool_and_command(text));
    let left: Vec<(&str, Option<&str>)> = left.collect::<Result<_, _>>()?;
    let is_left = |name: &str| left.iter().any(|(tool, _)| *tool == name);
    let shell: Vec<Option<&str>> = left
        .iter()
        .filter(|(tool, _)| PROFILE.operation_of(tool) == Some(OperationKind::Shell))
        .map(|(_, command)| command.map(|begin| begin.trim_end_matches([':', '*', ' '])))
        .collect();
    let mut calls: RuledCalls = PROFILE
        .faces
        .iter()
        .filter(|face| !is_left(face.name))
        .map(|face| (face.operation, None))
        .collect();
    // A shell that is left whole leaves all commands.
    if !shell.contains(&None) {
        let begins: BTreeSet<&str> = shell.into_iter().flatten().collect();
        let others = Pattern::regex(&other_beginnings(&begins))
            .map_err(|_| format!("{WRITTEN} names too many commands"))?;
        let changes = CHANGES.into_iter().filter(|(_, line)| others.matches(line));
        calls.extend(changes.map(|(operation, _)| (operation, None)));
        if !begins.is_empty() {
            calls.push((
                OperationKind::Shell,
                Some(("command", WRITTEN.to_owned(), others)),
            ));
        }
    }
    let mut rules = ForeignRule::about(WRITTEN, calls);
    for (own, _) in OTHERS.iter().filter(|(_, name)| !is_left(name)) {
        let named = RuledTool::Named(Pattern::Exact((*own).into()));
        rules.push(ForeignRule::named_tools(WRITTEN, named));
    }
    Ok(rules)
}

/// How rules are shown that deny what a list does not name.
const WRITTEN: &str = "tools.core";

/// The expression for all texts that are none of these and begin with none of them and a blank.
fn other_beginnings(begins: &BTreeSet<&str>) -> String {
    let is_whole = begins.contains("");
    let mut further: BTreeMap<char, BTreeSet<&str>> = BTreeMap::new();
    for begin in begins {
        let mut rest = begin.chars();
        match rest.next() {
            Some(first) if !(is_whole && first.is_whitespace()) => {
                further.entry(first).or_default().insert(rest.as_str());
            }
            _ => {}
        }
    }
    let code = |letter: &char| format!(r"\x{{{:x}}}", u32::from(*letter));
    let known: String = further.keys().map(code).collect();
    // What goes on with another letter is another text; what ends too early is one as well.
    let other = match (is_whole, known.is_empty()) {
        (true, _) => format!(r"[^\s{known}].*"),
        (false, true) => "(.*)".to_owned(),
        (false, false) => format!("([^{known}].*)?"),
    };
    let below = further
        .iter()
        .map(|(letter, begins)| format!("{}({})", code(letter), other_beginnings(begins)));
    let ways: Vec<String> = std::iter::once(other).chain(below).collect();
    ways.join("|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_hook_files::Owner;
    use serde_json::json;

    /// Whether settings deny a call.
    fn denies(settings: &Value, operation: OperationKind, text: &str) -> bool {
        let source = Source {
            file: "/work/.gemini/settings.json".into(),
            owner: Owner::Project,
            plugin: None,
        };
        let facts = Facts::beside(&source.file, &[".gemini"]);
        let rules = rules(settings, &source, &facts).expect("they can be read").deny;
        rules.iter().any(|rule| {
            let is_about = matches!(&rule.tool, RuledTool::Operation(kind) if *kind == operation);
            let argument = rule.argument.as_ref();
            is_about && argument.is_none_or(|(_, _, pattern)| pattern.matches(text))
        })
    }

    #[test]
    fn a_group_that_is_none_is_an_error() {
        let source = Source {
            file: "/work/.gemini/settings.json".into(),
            owner: Owner::Project,
            plugin: None,
        };
        let facts = Facts::beside(&source.file, &[".gemini"]);
        let wrong = rules(&json!({"tools": ["write_file"]}), &source, &facts).err();
        assert_eq!(wrong.as_deref(), Some("`tools` must be an object"));
    }

    #[test]
    fn what_is_excluded_is_denied() {
        use OperationKind::{Edit, Fetch, Grep, Remove, Shell, Write};
        for (name, operation, text, is_denied) in [
            ("write_file", Write, "", true),
            ("write_file", Edit, "", false),
            ("WriteFileTool", Write, "", true),
            ("search_file_content", Grep, "", true),
            ("web_fetch", Fetch, "", true),
            ("run_shell_command", Shell, "ls", true),
            ("run_shell_command", Remove, "", true),
            ("run_shell_command(rm)", Shell, "rm x", true),
            ("run_shell_command(rm)", Shell, "ls && rm x", true),
            ("run_shell_command(rm -rf *)", Shell, "rm -rf x", true),
            ("run_shell_command(rm)", Remove, "", true),
            ("run_shell_command(rm)", Shell, "rmdir x", false),
            ("ShellTool(git push)", Shell, "git push", true),
            ("ShellTool(git push)", Shell, "git status", false),
        ] {
            for settings in [
                json!({"tools": {"exclude": [name]}}),
                json!({"excludeTools": [name]}),
            ] {
                assert_eq!(
                    denies(&settings, operation, text),
                    is_denied,
                    "{settings}: {text}"
                );
            }
        }
    }

    #[test]
    fn what_is_not_in_the_list_of_tools_is_denied() {
        use OperationKind::{Edit, Fetch, Mkdir, Read, Remove, Shell, VfsList, Write};
        let core = json!({"tools": {"core": ["read_file", "run_shell_command(git)", "ShellTool(npm test)"]}});
        for (operation, text, is_denied) in [
            (Read, "", false),
            (Write, "", true),
            (Edit, "", true),
            (Fetch, "", true),
            (Remove, "", true),
            (VfsList, "", false),
            (Shell, "git status", false),
            (Shell, "git", false),
            (Shell, "gi", true),
            (Shell, "", true),
            (Shell, "github x", true),
            (Shell, "npm test -- a", false),
            (Shell, "npm tes", true),
            (Shell, "npm testing", true),
            (Shell, "npm", true),
            (Shell, "rm x", true),
            (Shell, " git", true),
        ] {
            assert_eq!(denies(&core, operation, text), is_denied, "{operation:?}: {text}");
        }
        let whole = json!({"coreTools": ["run_shell_command", "run_shell_command(git)"]});
        for (operation, is_denied) in [(Shell, false), (Remove, false), (Mkdir, false), (Read, true)] {
            assert_eq!(denies(&whole, operation, "rm x"), is_denied, "{operation:?}");
        }
        let removes = json!({"tools": {"core": ["run_shell_command(rm)"]}});
        assert!(!denies(&removes, Remove, "") && denies(&removes, Mkdir, ""));
        let none = json!({"tools": {"core": []}});
        assert!(denies(&none, Shell, "ls") && denies(&none, Read, ""));
        assert!(!denies(&json!({"tools": {"core": null}}), Read, ""));
    }
}
