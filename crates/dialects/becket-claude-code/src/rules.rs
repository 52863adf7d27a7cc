//! Claude Code's permission rules in becket's words: `Bash(git push:*)`, `Read(./secrets/**)`, `WebFetch(domain:x)`.

use std::path::Path;

use becket_events::OperationKind;
use becket_hook_files::{
    Argument, Facts, ForeignRule, RuleKind, RuleLists, RuledCalls, RuledTool, Source, command_pattern,
    commands, fetches, fetches_of, file_calls, is_markdown, is_name, path_pattern, rule_parts, rule_texts,
    tool_of_server,
};
use becket_hooks::Pattern;
use serde_json::Value;

use crate::calls::{OTHERS, PROFILE};
use crate::tools::{FORMER, OTHER_TOOLS};

/// The rules of a settings file. The error names the rule that cannot be read.
pub fn rules(file: &Value, source: &Source, facts: &Facts) -> Result<RuleLists, String> {
    let Some(lists) = file.get("permissions").filter(|_| !is_markdown(&source.file)) else {
        return Ok(RuleLists::default());
    };
    let lists = lists.as_object().ok_or("`permissions` must be an object")?;
    for name in lists.keys().filter(|name| !LISTS.contains(&name.as_str())) {
        if let Some(meant) = LISTS.iter().find(|list| list.eq_ignore_ascii_case(name)) {
            return Err(format!("`permissions` has a list `{name}`; write `{meant}`"));
        }
    }
    let mut remarks = Vec::new();
    let mut list = |name: &str, kind: RuleKind| {
        let mut rules = Vec::new();
        for text in rule_texts(lists.get(name), &format!("permissions.{name}"))? {
            let read = translated(text, kind, source, facts);
            let read = read.map_err(|why| format!("the rule `{text}`: {why}"))?;
            if read.is_empty() && kind == RuleKind::Restricts && !is_known(tool_of(text)) {
                remarks.push(format!(
                    "{}: the rule `{text}` has no effect: Claude Code has no tool of that name",
                    source.file.display()
                ));
            }
            rules.extend(read);
        }
        Ok::<_, String>(rules)
    };
    Ok(RuleLists {
        deny: list("deny", RuleKind::Restricts)?,
        ask: list("ask", RuleKind::Restricts)?,
        allow: list("allow", RuleKind::Allows)?,
        remarks,
    })
}

/// The lists of rules.
const LISTS: [&str; 3] = ["deny", "ask", "allow"];

/// The tool of a rule.
fn tool_of(text: &str) -> &str {
    text.split_once('(').map_or(text, |(tool, _)| tool).trim()
}

/// Whether Claude Code has a tool of that name, perhaps one that becket does not have.
fn is_known(tool: &str) -> bool {
    tool.starts_with("mcp__") || OTHER_TOOLS.contains(&tool)
}

/// A rule in becket's words; none if it is about a tool that becket does not have.
fn translated(
    text: &str,
    kind: RuleKind,
    source: &Source,
    facts: &Facts,
) -> Result<Vec<ForeignRule>, String> {
    let (tool, pattern) = rule_parts(text)?;
    if let Some(server) = tool.strip_prefix("mcp__") {
        let (server, name) = server.split_once("__").unwrap_or((server, "*"));
        return Ok(vec![ForeignRule::named_tools(
            text,
            tool_of_server(server, name)?,
        )]);
    }
    let tool = today(tool, kind);
    if let Some((own, _)) = OTHERS.iter().find(|(_, name)| *name == tool) {
        let preset = pattern.filter(|pattern| *pattern != "*");
        let preset =
            preset.map(|preset| Ok::<_, String>(("preset", preset.to_owned(), Pattern::glob(preset)?)));
        return Ok(vec![ForeignRule {
            argument: preset.transpose()?,
            ..ForeignRule::named_tools(text, RuledTool::Named(Pattern::Exact((*own).into())))
        }]);
    }
    let Some(operation) = PROFILE.operation_of(tool) else {
        return Ok(Vec::new());
    };
    let calls: RuledCalls = match (operation, pattern) {
        (OperationKind::Shell | OperationKind::Fetch, None | Some("*")) => vec![(operation, None)],
        (OperationKind::Shell, Some(pattern)) => commands(pattern, command(pattern, kind)?, kind),
        (OperationKind::Fetch, Some(pattern)) => match pattern.strip_prefix("domain:") {
            Some(domain) => fetches_of(domain)?,
            None => vec![fetches(pattern)?],
        },
        (operation, pattern) => {
            let files = pattern.map(|pattern| files(pattern, kind, (source, facts)));
            file_calls(operation, files.transpose()?, kind)
        }
    };
    Ok(ForeignRule::about(text, calls))
}

/// The name that a tool has today. What restricts is read in any case.
fn today(tool: &str, kind: RuleKind) -> &str {
    let former = FORMER.iter().find(|(former, _)| *former == tool);
    let tool = former.map_or(tool, |(_, name)| name);
    let names = PROFILE.faces.iter().map(|face| face.name);
    let mut names = names.chain(OTHERS.iter().map(|(_, name)| *name));
    let meant = names.find(|name| kind == RuleKind::Restricts && name.eq_ignore_ascii_case(tool));
    meant.unwrap_or(tool)
}

/// A pattern of commands.
fn command(pattern: &str, kind: RuleKind) -> Result<Pattern, String> {
    let (begin, end) = match (pattern.strip_suffix(":*"), pattern.strip_suffix(" *")) {
        (Some(begin), _) | (_, Some(begin)) => (begin, r"(\s.*)?"),
        _ => (pattern, ""),
    };
    command_pattern(begin, end, kind)
}

/// The paths of a pattern: absolute behind `//`, of the user behind `~/`, of the settings' folder behind `/`, else of
/// the project.
fn files(pattern: &str, kind: RuleKind, (source, facts): (&Source, &Facts)) -> Result<Argument, String> {
    let project = &facts.project_root;
    let (folder, inner) = match pattern {
        _ if pattern.starts_with("//") => (Path::new("/"), &pattern[2..]),
        _ if pattern.starts_with("~/") => (facts.home.as_deref().unwrap_or(Path::new("/")), &pattern[2..]),
        _ if pattern.starts_with('/') => {
            let folder = source.file.parent().and_then(Path::parent);
            (folder.unwrap_or(project), &pattern[1..])
        }
        _ => (project.as_path(), pattern.trim_start_matches("./")),
    };
    let is_name = pattern == inner && is_name(inner);
    let paths = path_pattern(folder, inner, is_name, kind)?;
    Ok(("path", pattern.to_owned(), paths))
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_hook_files::Owner;

    fn rules(text: &str, kind: RuleKind) -> Vec<ForeignRule> {
        let source = Source {
            file: "/work/.claude/settings.json".into(),
            owner: Owner::Project,
            plugin: None,
        };
        let facts = Facts {
            project_root: "/work".into(),
            cwd: "/work".into(),
            hooks_directory: None,
            home: Some("/home/me".into()),
            files: "/data".into(),
            user_shell: None,
            is_attended: false,
            prompts: Default::default(),
            requests: Default::default(),
        };
        translated(text, kind, &source, &facts).expect("it can be read")
    }

    #[test]
    fn commands_are_found_in_a_line() {
        for (rule, line, denied, allowed) in [
            ("Bash(git push:*)", "git push origin", true, true),
            ("Bash(git push:*)", "cd x && git push", true, false),
            ("Bash(git push:*)", "git status", false, false),
            ("Bash(rm *)", "rm -rf x", true, true),
            ("Bash(rm *)", "rm", true, true),
            ("Bash(rm *)", "npm run format", false, false),
            ("Bash(rm *)", "echo $(rm x)", true, false),
            ("Bash(rm *)", "sudo rm x", true, false),
            ("Bash(npm test)", "npm test", true, true),
            ("Bash(npm test)", "npm test; ls", true, false),
            ("Bash(npm test)", "npm tests", false, false),
            ("Bash(npm run *:prod)", "npm run deploy:prod", true, true),
        ] {
            let fits = |kind| {
                let rules = rules(rule, kind);
                let mut arguments = rules.iter().filter_map(|rule| rule.argument.as_ref());
                let (_, _, pattern) = arguments.next().expect("a command");
                pattern.matches(line)
            };
            assert_eq!(fits(RuleKind::Restricts), denied, "deny {rule}: {line}");
            assert_eq!(fits(RuleKind::Allows), allowed, "allow {rule}: {line}");
        }
    }

    #[test]
    fn paths_are_anchored_where_their_beginning_says() {
        for (pattern, path, denied, allowed) in [
            ("./secrets/**", "/work/secrets/a/b", true, true),
            ("./secrets/**", "/work/x/secrets/a", false, false),
            ("./secrets", "/work/secrets/a", true, false),
            ("secrets/", "/work/secrets/a", true, true),
            ("secrets", "/work/a/secrets/b", true, false),
            ("src/**", "/work/src/a", true, true),
            ("src/*", "/work/src/a/b", true, false),
            ("//etc/**", "/etc/passwd", true, true),
            ("//etc/**", "/work/etc/passwd", false, false),
            ("~/.ssh/**", "/home/me/.ssh/id", true, true),
            ("/docs/*", "/work/docs/a", true, true),
            (".env", "/work/.env", true, true),
            (".env", "/work/a/.env", true, true),
            (".env", "/out/.env", true, false),
            (".env", ".env", true, false),
            ("**/.env", "/work/.env", true, true),
            ("**/.env", "/work/a/b/.env", true, true),
            ("**/secrets/**", "/work/secrets/a", true, true),
            ("config/**/key.pem", "/work/config/key.pem", true, true),
            ("*.txt", "/work/a/b.txt", true, true),
            ("*.txt", "/out/b.txt", true, false),
            ("*", "/work/a/b", true, true),
            ("*", "/out/b", true, false),
            ("**", "/work/a/b", true, true),
            ("**", "/out/b", true, false),
        ] {
            let fits = |kind| {
                let rules = rules(&format!("Read({pattern})"), kind);
                let (name, _, pattern) = rules[0].argument.as_ref().expect("a path");
                assert_eq!(*name, "path");
                pattern.matches(path)
            };
            assert_eq!(fits(RuleKind::Restricts), denied, "deny {pattern}: {path}");
            assert_eq!(fits(RuleKind::Allows), allowed, "allow {pattern}: {path}");
        }
        assert!(rules("WebSearch", RuleKind::Restricts).is_empty());
        let edit = rules("Edit", RuleKind::Restricts);
        // Edits, writes, new and removed folders, and removed files.
        assert_eq!(edit.len(), 5);
    }
}
