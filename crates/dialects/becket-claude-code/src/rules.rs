//! Claude Code's permission rules in becket's words: `Bash(git push:*)`, `Read(./secrets/**)`, `WebFetch(domain:x)`.
//!
//! A rule that denies or asks may cover more here than there, and never less: a command is looked for anywhere in a
//! line, because a line may hold several. A rule that allows covers no operator of the shell (`becket_gate::rules`).

use std::path::{Path, PathBuf};

use becket_events::{Effect, OperationKind};
use becket_hook_files::{Facts, ForeignRule, RuleLists, RuledTool, Source, is_markdown};
use becket_hooks::Pattern;
use serde_json::Value;

use crate::calls::PROFILE;

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Denies or asks.
    Restricts,
    Allows,
}

/// The rules of a settings file. The error names the rule that cannot be read.
pub fn rules(file: &Value, source: &Source, facts: &Facts) -> Result<RuleLists, String> {
    if is_markdown(&source.file) {
        return Ok(RuleLists::default());
    }
    let list = |name: &str, kind: Kind| {
        let rules = file.get("permissions").and_then(|lists| lists.get(name));
        let rules = rules.and_then(Value::as_array).into_iter().flatten();
        let texts = rules.filter_map(Value::as_str);
        let read = texts.map(|text| {
            let read = translated(text, kind, source, facts);
            read.map_err(|why| format!("the rule `{text}`: {why}"))
        });
        Ok::<_, String>(read.collect::<Result<Vec<_>, _>>()?.concat())
    };
    Ok(RuleLists {
        deny: list("deny", Kind::Restricts)?,
        ask: list("ask", Kind::Restricts)?,
        allow: list("allow", Kind::Allows)?,
    })
}

/// A rule in becket's words; none if it is about a tool that becket does not have.
fn translated(text: &str, kind: Kind, source: &Source, facts: &Facts) -> Result<Vec<ForeignRule>, String> {
    let trimmed = text.trim();
    let (tool, pattern) = match trimmed.split_once('(') {
        Some((tool, rest)) => (
            tool.trim(),
            rest.strip_suffix(')').ok_or("it has no closing bracket")?.trim(),
        ),
        None => (trimmed, ""),
    };
    let pattern = Some(pattern).filter(|pattern| !pattern.is_empty() && *pattern != "*");
    let rule = |tool: RuledTool, argument: Option<(&'static str, String, Pattern)>| ForeignRule {
        text: text.to_owned(),
        tool,
        argument,
    };
    if let Some(server) = tool.strip_prefix("mcp__") {
        let (server, name) = server.split_once("__").unwrap_or((server, "*"));
        let named = Pattern::glob(&format!("{server}_{name}"))?;
        return Ok(vec![rule(RuledTool::Named(named), None)]);
    }
    let Some(operation) = PROFILE.operation_of(tool) else {
        return Ok(Vec::new());
    };
    let of = |operation: OperationKind, argument| rule(RuledTool::Operation(operation), argument);
    let glob =
        |name: &'static str, glob: String| Ok::<_, String>((name, glob.clone(), Pattern::glob(&glob)?));
    Ok(match (operation, pattern) {
        (OperationKind::Shell, Some(pattern)) => {
            vec![of(
                operation,
                Some(("command", pattern.to_owned(), command(pattern, kind)?)),
            )]
        }
        (OperationKind::Fetch, Some(pattern)) => {
            let globs = addresses(pattern).into_iter();
            let rules = globs.map(|address| Ok(of(operation, Some(glob("url", address)?))));
            rules.collect::<Result<_, String>>()?
        }
        (operation, pattern) => {
            let mut rules = Vec::new();
            for operation in family(operation, kind) {
                match pattern {
                    None => rules.push(of(operation, None)),
                    Some(pattern) => {
                        for place in places(pattern, source, facts) {
                            rules.push(of(operation, Some(glob("path", place)?)));
                        }
                    }
                }
            }
            rules
        }
    })
}

/// The operations that a rule is about: one about reading or editing is about all that read or change files.
fn family(operation: OperationKind, kind: Kind) -> Vec<OperationKind> {
    use OperationKind::{Edit, Find, Grep, List, Mkdir, Read, Remove, Rmdir, Write};
    match (operation.effect(), kind) {
        // becket asks about `read` for everything that shows what is in a file.
        (Effect::Read, Kind::Restricts) if operation == Read => vec![Read, List, Find],
        (Effect::Read, Kind::Allows) if operation == Read => vec![Read, List, Find, Grep],
        (Effect::Write, _) => vec![Write, Edit, Mkdir, Rmdir, Remove],
        _ => vec![operation],
    }
}

/// A pattern of commands. One that restricts is looked for behind every operator and every word, since a line may hold
/// several commands and a program may run another.
fn command(pattern: &str, kind: Kind) -> Result<Pattern, String> {
    let wild = |text: &str| {
        let parts: Vec<String> = text.split('*').map(regex_escape).collect();
        parts.join(".*")
    };
    let (begin, end) = match (pattern.strip_suffix(":*"), pattern.strip_suffix(" *")) {
        (Some(begin), _) => (begin, ".*"),
        (_, Some(begin)) => (begin, r"(\s.*)?"),
        _ => (pattern, ""),
    };
    let expression = match kind {
        Kind::Allows => format!("(?s){}{end}", wild(begin)),
        Kind::Restricts => format!(r#"(?s)(.*[;&|({{`$\s"'])?{}{}"#, wild(begin), restricting(end)),
    };
    Pattern::regex(&expression)
}

/// What may follow a command that is restricted: whatever follows an exact one, too, as `rm x` in `rm x; ls`.
fn restricting(end: &str) -> &str {
    match end {
        "" => r#"([;&|)}`\s"'].*)?"#,
        end => end,
    }
}

/// A text in which no character has a meaning in a regular expression.
fn regex_escape(text: &str) -> String {
    let special = |character: char| "\\.+*?()|[]{}^$#&-~".contains(character);
    let escaped = text.chars().flat_map(|character| {
        let mark = special(character).then_some('\\');
        mark.into_iter().chain([character])
    });
    escaped.collect()
}

/// The globs of a pattern of addresses.
fn addresses(pattern: &str) -> Vec<String> {
    let Some(domain) = pattern.strip_prefix("domain:") else {
        return vec![pattern.to_owned()];
    };
    let schemes = ["https", "http"].into_iter();
    schemes.map(|scheme| format!("{scheme}://{domain}/*")).collect()
}

/// The globs of a pattern of paths: absolute behind `//`, of the user behind `~/`, of the settings' folder behind `/`,
/// else of the project; a name alone stands for it at any depth.
fn places(pattern: &str, source: &Source, facts: &Facts) -> Vec<String> {
    let shown = |path: PathBuf| path.display().to_string();
    let root = &facts.project_root;
    let glob = match pattern {
        _ if pattern.starts_with("//") => pattern[1..].to_owned(),
        _ if pattern.starts_with("~/") => {
            let home = facts.home.as_deref().unwrap_or(Path::new("/"));
            shown(home.join(&pattern[2..]))
        }
        _ if pattern.starts_with('/') => {
            let folder = source.file.parent().and_then(Path::parent).unwrap_or(root);
            shown(folder.join(&pattern[1..]))
        }
        _ => {
            let inner = pattern.trim_start_matches("./");
            match inner.contains('/') || pattern.starts_with("./") {
                true => shown(root.join(inner)),
                false => return vec![format!("*/{inner}"), inner.to_owned()],
            }
        }
    };
    // Such a glob matches a text, in which `*` stands for slashes too.
    vec![glob.replace("**", "*")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_hook_files::Owner;

    fn rules(text: &str, kind: Kind) -> Vec<ForeignRule> {
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
                let (_, _, pattern) = rules[0].argument.as_ref().expect("a command");
                pattern.matches(line)
            };
            assert_eq!(fits(Kind::Restricts), denied, "deny {rule}: {line}");
            assert_eq!(fits(Kind::Allows), allowed, "allow {rule}: {line}");
        }
    }

    #[test]
    fn paths_are_anchored_where_their_beginning_says() {
        for (pattern, wanted) in [
            ("./secrets/**", "/work/secrets/*"),
            ("src/**", "/work/src/*"),
            ("//etc/**", "/etc/*"),
            ("~/.ssh/**", "/home/me/.ssh/*"),
            ("/docs/*", "/work/docs/*"),
            (".env", "*/.env"),
        ] {
            let rules = rules(&format!("Read({pattern})"), Kind::Restricts);
            let (name, glob, _) = rules[0].argument.as_ref().expect("a path");
            assert_eq!((*name, glob.as_str()), ("path", wanted), "{pattern}");
        }
        assert!(rules("WebSearch", Kind::Restricts).is_empty());
        let edit = rules("Edit", Kind::Restricts);
        // Edits, writes, new and removed folders, and removed files.
        assert_eq!(edit.len(), 5);
    }
}
