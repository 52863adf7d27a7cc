//! Claude Code's permission rules in becket's words: `Bash(git push:*)`, `Read(./secrets/**)`, `WebFetch(domain:x)`.
//!
//! A rule that denies or asks may cover more here than there, and never less: a command is looked for anywhere in a
//! line, because a line may hold several, and a file also among those that commands name. A rule that allows covers no
//! operator of the shell (`becket_gate::rules`).

use std::path::Path;

use becket_agent::{FILES_CHANGED, FILES_READ};
use becket_events::{Effect, OperationKind};
use becket_hook_files::{Facts, ForeignRule, RuleLists, RuledTool, Source, is_markdown};
use becket_hooks::Pattern;
use serde_json::Value;

use crate::calls::{OTHERS, PROFILE};
use crate::tools::{FORMER, OTHER_TOOLS};

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Denies or asks.
    Restricts,
    Allows,
}

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
    let mut list = |name: &str, kind: Kind| {
        let mut rules = Vec::new();
        for text in texts(lists.get(name), name)? {
            let read = translated(text, kind, source, facts);
            let read = read.map_err(|why| format!("the rule `{text}`: {why}"))?;
            if read.is_empty() && kind == Kind::Restricts && !is_known(tool_of(text)) {
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
        deny: list("deny", Kind::Restricts)?,
        ask: list("ask", Kind::Restricts)?,
        allow: list("allow", Kind::Allows)?,
        remarks,
    })
}

/// The lists of rules.
const LISTS: [&str; 3] = ["deny", "ask", "allow"];

/// The rules of a list. One that cannot be read could restrict.
fn texts<'a>(list: Option<&'a Value>, name: &str) -> Result<Vec<&'a str>, String> {
    let Some(list) = list else {
        return Ok(Vec::new());
    };
    let texts = list.as_array().map(|list| list.iter().map(Value::as_str));
    let texts: Option<Vec<&str>> = texts.and_then(Iterator::collect);
    texts.ok_or_else(|| format!("`permissions.{name}` must be a list of texts"))
}

/// The tool of a rule.
fn tool_of(text: &str) -> &str {
    text.split_once('(').map_or(text, |(tool, _)| tool).trim()
}

/// Whether Claude Code has a tool of that name, perhaps one that becket does not have.
fn is_known(tool: &str) -> bool {
    tool.starts_with("mcp__") || OTHER_TOOLS.contains(&tool)
}

/// A rule in becket's words; none if it is about a tool that becket does not have.
fn translated(text: &str, kind: Kind, source: &Source, facts: &Facts) -> Result<Vec<ForeignRule>, String> {
    let (tool, pattern) = parts(text)?;
    let rule = |(tool, argument)| ForeignRule {
        text: text.to_owned(),
        tool,
        argument,
    };
    if let Some(server) = tool.strip_prefix("mcp__") {
        let (server, name) = server.split_once("__").unwrap_or((server, "*"));
        let named = Pattern::glob(&format!("{server}_{name}"))?;
        return Ok(vec![rule((RuledTool::Named(named), None))]);
    }
    let tool = today(tool, kind);
    if let Some((own, _)) = OTHERS.iter().find(|(_, name)| *name == tool) {
        let preset = pattern.filter(|pattern| *pattern != "*");
        let preset = preset.map(|preset| glob("preset", preset.to_owned()));
        let named = RuledTool::Named(Pattern::Exact((*own).into()));
        return Ok(vec![rule((named, preset.transpose()?))]);
    }
    let Some(operation) = PROFILE.operation_of(tool) else {
        return Ok(Vec::new());
    };
    let calls = match (operation, pattern) {
        (OperationKind::Shell | OperationKind::Fetch, None | Some("*")) => vec![(operation, None)],
        (OperationKind::Shell, Some(pattern)) => commands(pattern, kind)?,
        (OperationKind::Fetch, Some(pattern)) => {
            let globs = addresses(pattern).into_iter();
            let calls = globs.map(|address| Ok((operation, Some(glob("url", address)?))));
            calls.collect::<Result<_, String>>()?
        }
        (operation, pattern) => {
            let path = |pattern: &str| {
                let paths = Pattern::regex(&paths(pattern, kind, (source, facts)))?;
                Ok::<_, String>(("path", pattern.to_owned(), paths))
            };
            let path = pattern.map(path).transpose()?;
            let family = family(operation, kind).into_iter();
            let of_commands = path
                .clone()
                .and_then(|path| files_of_commands(operation, kind, path));
            let calls = family.map(|operation| (operation, path.clone()));
            calls.chain(of_commands).collect()
        }
    };
    let calls = calls.into_iter();
    Ok(calls
        .map(|(operation, argument)| rule((RuledTool::Operation(operation), argument)))
        .collect())
}

/// An argument that a rule is about: its name, and its pattern as written and as read.
type Argument = (&'static str, String, Pattern);

/// The tool and the pattern of a rule.
fn parts(text: &str) -> Result<(&str, Option<&str>), String> {
    let text = text.trim();
    let Some((tool, rest)) = text.split_once('(') else {
        return Ok((text, None));
    };
    let pattern = rest.strip_suffix(')').ok_or("it has no closing bracket")?.trim();
    Ok((tool.trim(), Some(pattern).filter(|pattern| !pattern.is_empty())))
}

fn glob(name: &'static str, glob: String) -> Result<Argument, String> {
    let pattern = Pattern::glob(&glob)?;
    Ok((name, glob, pattern))
}

/// Calls of the shell with a command that reads or changes such files, as `cat .env` does. A rule that restricts is
/// about them as well.
fn files_of_commands(
    operation: OperationKind,
    kind: Kind,
    (_, written, paths): Argument,
) -> Option<(OperationKind, Option<Argument>)> {
    let files = match operation.effect() {
        Effect::Read if operation == OperationKind::Read => FILES_READ,
        Effect::Write => FILES_CHANGED,
        _ => return None,
    };
    (kind == Kind::Restricts).then_some((OperationKind::Shell, Some((files, written, paths))))
}

/// Calls of the shell with a command. What restricts them restricts becket's tools for what is a command there, too.
fn commands(pattern: &str, kind: Kind) -> Result<Vec<(OperationKind, Option<Argument>)>, String> {
    let commands = command(pattern, kind)?;
    let changes = [
        (OperationKind::Remove, "rm x"),
        (OperationKind::Rmdir, "rmdir x"),
        (OperationKind::Mkdir, "mkdir -p x"),
    ];
    let mut calls: Vec<_> = changes
        .into_iter()
        .filter(|(_, line)| kind == Kind::Restricts && commands.matches(line))
        .map(|(operation, _)| (operation, None))
        .collect();
    calls.push((
        OperationKind::Shell,
        Some(("command", pattern.to_owned(), commands)),
    ));
    Ok(calls)
}

/// The name that a tool has today. What restricts is read in any case.
fn today(tool: &str, kind: Kind) -> &str {
    let former = FORMER.iter().find(|(former, _)| *former == tool);
    let tool = former.map_or(tool, |(_, name)| name);
    let names = PROFILE.faces.iter().map(|face| face.name);
    let mut names = names.chain(OTHERS.iter().map(|(_, name)| *name));
    let meant = names.find(|name| kind == Kind::Restricts && name.eq_ignore_ascii_case(tool));
    meant.unwrap_or(tool)
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
        (Some(begin), _) | (_, Some(begin)) => (begin, r"(\s.*)?"),
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

/// The expression for the paths of a pattern: absolute behind `//`, of the user behind `~/`, of the settings' folder
/// behind `/`, else of the project. A name alone stands for it at any depth, of the project if it allows and anywhere
/// if it restricts. What restricts a folder restricts everything in it.
fn paths(pattern: &str, kind: Kind, (source, facts): (&Source, &Facts)) -> String {
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
    let is_name = pattern == inner && !inner.trim_end_matches('/').contains('/');
    // A folder may also be reached by its own path, behind links.
    let real = becket_fs::canonicalize(folder).ok();
    let folders = [Some(folder), real.as_deref()].into_iter().flatten();
    let folders: Vec<String> = folders
        .map(|folder| regex_escape(folder.display().to_string().trim_end_matches('/')))
        .collect();
    let begin = match (is_name, kind) {
        (true, Kind::Restricts) => "(.*/)?".to_owned(),
        (true, Kind::Allows) => format!("({})/(.*/)?", folders.join("|")),
        (false, _) => format!("({})/", folders.join("|")),
    };
    let end = match kind {
        Kind::Restricts => "(/.*)?",
        Kind::Allows => "",
    };
    format!(
        "(?s){begin}{}{end}",
        path_regex(inner.trim_end_matches('/'), inner.ends_with('/'))
    )
}

/// The expression for a glob of paths, in which only `**` stands for folders too.
fn path_regex(glob: &str, is_folder: bool) -> String {
    let mut expression = String::new();
    let mut rest = glob;
    while let Some(character) = rest.chars().next() {
        let (part, length) = match rest {
            _ if rest.starts_with("**/") => ("(.*/)?".to_owned(), 3),
            _ if rest.starts_with("**") => (".*".to_owned(), 2),
            _ if character == '*' => ("[^/]*".to_owned(), 1),
            _ if character == '?' => ("[^/]".to_owned(), 1),
            _ => (regex_escape(&rest[..character.len_utf8()]), character.len_utf8()),
        };
        expression += &part;
        rest = &rest[length..];
    }
    if is_folder {
        expression += "(/.*)?";
    }
    expression
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
            assert_eq!(fits(Kind::Restricts), denied, "deny {rule}: {line}");
            assert_eq!(fits(Kind::Allows), allowed, "allow {rule}: {line}");
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
            assert_eq!(fits(Kind::Restricts), denied, "deny {pattern}: {path}");
            assert_eq!(fits(Kind::Allows), allowed, "allow {pattern}: {path}");
        }
        assert!(rules("WebSearch", Kind::Restricts).is_empty());
        let edit = rules("Edit", Kind::Restricts);
        // Edits, writes, new and removed folders, and removed files.
        assert_eq!(edit.len(), 5);
    }
}
