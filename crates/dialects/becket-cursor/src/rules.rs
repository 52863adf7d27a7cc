//! Cursor's permission rules in becket's words: `Shell(git)`, `Read(src/**)`, `Write(**/*.key)`, `WebFetch(x.com)`,
//! `Mcp(server:tool)`. Only what is denied is read: nobody is asked less because of a file of Cursor's.

use std::path::Path;

use becket_events::OperationKind;
use becket_hook_files::{
    Facts, ForeignRule, Owner, RuleKind, RuleLists, RuledCalls, Source, command_pattern, commands,
    fetches_of, file_calls, is_name, path_pattern, rule_parts, rule_texts, tool_of_server,
};
use serde_json::Value;

use crate::sources::holds_rules;

/// The rules of a settings file. The error names the rule that cannot be read.
pub fn rules(file: &Value, source: &Source, facts: &Facts) -> Result<RuleLists, String> {
    let mut lists = RuleLists::default();
    let Some(permissions) = file.get("permissions").filter(|_| holds_rules(&source.file)) else {
        return Ok(lists);
    };
    let permissions = permissions.as_object().ok_or("`permissions` must be an object")?;
    for text in rule_texts(permissions.get("deny"), "permissions.deny")? {
        let read = translated(text, source, facts).map_err(|why| format!("the rule `{text}`: {why}"))?;
        if read.is_empty() {
            lists.remarks.push(format!(
                "{}: the rule `{text}` has no effect: Cursor has no rules of that kind",
                source.file.display()
            ));
        }
        lists.deny.extend(read);
    }
    Ok(lists)
}

/// A rule that denies, in becket's words; none if Cursor knows no such rule.
fn translated(text: &str, source: &Source, facts: &Facts) -> Result<Vec<ForeignRule>, String> {
    let (kind, pattern) = rule_parts(text)?;
    // Everything of a kind is restricted as a whole, whatever it names.
    let pattern = pattern.filter(|pattern| !["*", "**"].contains(pattern));
    let calls: RuledCalls = match (kind.to_ascii_lowercase().as_str(), pattern) {
        ("shell", None) => vec![(OperationKind::Shell, None)],
        ("shell", Some(pattern)) => shell(pattern)?,
        ("webfetch", None) => vec![(OperationKind::Fetch, None)],
        ("webfetch", Some(domain)) => fetches_of(domain)?,
        ("read", pattern) => files(OperationKind::Read, pattern, source, facts)?,
        ("write", pattern) => files(OperationKind::Write, pattern, source, facts)?,
        ("mcp", pattern) => {
            let pattern = pattern.unwrap_or("*");
            let (server, tool) = pattern.split_once([':', ',']).unwrap_or((pattern, "*"));
            let tool = tool_of_server(server.trim(), tool.trim())?;
            return Ok(vec![ForeignRule::named_tools(text, tool)]);
        }
        _ => return Ok(Vec::new()),
    };
    Ok(ForeignRule::about(text, calls))
}

/// Commands by their first word, and perhaps by a glob of their arguments behind a colon. The colon may also be one of
/// the command's own, as in `npm run test:unit`.
fn shell(pattern: &str) -> Result<RuledCalls, String> {
    let kind = RuleKind::Restricts;
    let mut ways = vec![pattern.to_owned()];
    if let Some((program, arguments)) = pattern.split_once(':') {
        ways.push(match arguments.trim() {
            "*" | "**" | "" => program.to_owned(),
            arguments => format!("{program} {arguments}"),
        });
    }
    let calls = ways.iter().map(|way| {
        let begin = way.trim().replace('?', "*");
        let begin = command_pattern(&begin, r"([\s;&|)}`].*)?", kind)?;
        Ok::<_, String>(commands(pattern, begin, kind))
    });
    Ok(calls.collect::<Result<Vec<_>, _>>()?.concat())
}

/// Calls that touch files: of the root behind `/`, of the user behind `~/`, else of the project, or of the folder with
/// the file's own `.cursor`.
fn files(
    operation: OperationKind,
    pattern: Option<&str>,
    source: &Source,
    facts: &Facts,
) -> Result<RuledCalls, String> {
    let kind = RuleKind::Restricts;
    let mut calls = match pattern {
        Some(_) => Vec::new(),
        None => file_calls(operation, None, kind),
    };
    // Of commands, those that name any file at all.
    let written = pattern.unwrap_or("/**");
    let own = source.file.parent().and_then(Path::parent);
    let own = own.filter(|_| source.owner == Owner::Project);
    for pattern in alternatives(written) {
        let (folders, inner) = match pattern.as_str() {
            path if path.starts_with("~/") => (vec![facts.home.as_deref()], &path[2..]),
            path if path.starts_with('/') => (vec![Some(Path::new("/"))], path.trim_start_matches('/')),
            path => {
                let folders = vec![Some(facts.project_root.as_path()), own];
                (folders, path.trim_start_matches("./"))
            }
        };
        let is_name = pattern == inner && is_name(inner);
        for folder in folders.into_iter().flatten() {
            let paths = path_pattern(folder, inner, is_name, kind)?;
            let files = ("path", written.to_owned(), paths);
            calls.extend(file_calls(operation, Some(files), kind));
        }
    }
    Ok(calls)
}

/// What a glob with alternatives in braces stands for.
fn alternatives(glob: &str) -> Vec<String> {
    let inner = glob.split_once('{').and_then(|(begin, rest)| {
        let (inner, end) = rest.split_once('}')?;
        Some((begin, inner, end))
    });
    let Some((begin, inner, end)) = inner else {
        return vec![glob.to_owned()];
    };
    let each = inner.split(',').map(|one| format!("{begin}{one}{end}"));
    each.flat_map(|glob| alternatives(&glob)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_hook_files::RuledTool;

    fn denied(rule: &str, operation: OperationKind, text: &str) -> bool {
        let source = Source {
            file: "/work/.cursor/cli.json".into(),
            owner: Owner::Project,
            plugin: None,
        };
        let facts = Facts::beside(&source.file, &[".cursor"]);
        let rules = translated(rule, &source, &facts).expect("it can be read");
        let about =
            |rule: &&ForeignRule| matches!(&rule.tool, RuledTool::Operation(kind) if *kind == operation);
        let mut about = rules.iter().filter(about);
        about.any(|rule| {
            let argument = rule.argument.as_ref();
            argument.is_none_or(|(_, _, pattern)| pattern.matches(text))
        })
    }

    #[test]
    fn a_rule_denies_what_cursor_would_deny() {
        use OperationKind::{Edit, Fetch, Read, Remove, Shell, Write};
        for (rule, operation, text, is_denied) in [
            ("Shell(rm)", Shell, "rm -rf x", true),
            ("Shell(rm)", Shell, "cd x && rm y", true),
            ("Shell(rm)", Shell, "true;rm y;ls", true),
            ("Shell(rm)", Shell, "rmdir x", false),
            ("Shell(rm)", Remove, "", true),
            ("Shell(git)", Remove, "", false),
            ("Shell(curl:*)", Shell, "curl x", true),
            ("Shell(git:push*)", Shell, "git push -f", true),
            ("Shell(git:push*)", Shell, "git status", false),
            ("Shell(npm publish)", Shell, "npm publish", true),
            ("Shell(npm run test:unit)", Shell, "npm run test:unit", true),
            ("Shell(git:pus?)", Shell, "git push", true),
            ("Write(**/*.{key,pem})", Write, "/work/a.pem", true),
            ("Shell(*)", Shell, "ls", true),
            ("Shell(**)", Shell, "ls", true),
            ("shell(rm)", Shell, "rm x", true),
            ("Read(.env*)", Read, "/work/.env.local", true),
            ("Read(.env*)", Read, "/work/a/.env", true),
            ("Read(/etc/passwd)", Read, "/etc/passwd", true),
            ("Read(/etc/passwd)", Read, "/work/etc/passwd", false),
            ("Read(src/**/*.ts)", Read, "/work/src/a/b.ts", true),
            ("Read(src/**/*.ts)", Read, "/work/src/b.ts", true),
            ("Read(src/**/*.ts)", Read, "/work/src/b.js", false),
            ("Write(**/*.key)", Write, "/work/a/b.key", true),
            ("Write(**/*.key)", Edit, "/work/b.key", true),
            ("Write(src/**)", Remove, "/work/src/a", true),
            ("Write(src/**)", Write, "/work/lib/a", false),
            ("Write(**)", Write, "/out/a", true),
            ("Write", Shell, "/out/a", true),
            ("WebFetch(x.com)", Fetch, "https://x.com/a", true),
            ("WebFetch(x.com)", Fetch, "https://y.com/a", false),
            ("WebFetch(*)", Fetch, "https://y.com/a", true),
        ] {
            assert_eq!(denied(rule, operation, text), is_denied, "{rule}: {text}");
        }
    }
}
