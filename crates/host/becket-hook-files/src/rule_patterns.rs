//! What permission rules of other systems are about: commands, files, web addresses, and tools of servers.
//!
//! A rule that denies or asks may cover more here than in its own system, and never less: a command is looked for
//! anywhere in a line, because a line may hold several, and a file also among those that commands name. A rule that
//! allows covers no operator of the shell (`becket_gate::rules`).

use std::path::Path;

use becket_agent::{FILES_CHANGED, FILES_READ};
use becket_events::{Effect, OperationKind};
use becket_hooks::Pattern;

use crate::rules::{Argument, RuledCalls, RuledTool};

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// Denies or asks.
    Restricts,
    /// Allows.
    Allows,
}

/// Calls of the shell with a command, which is written so in the rule. What restricts them restricts becket's tools for
/// what is a command in the other system, too.
pub fn commands(written: &str, commands: Pattern, kind: RuleKind) -> RuledCalls {
    let mut calls: RuledCalls = CHANGES
        .into_iter()
        .filter(|(_, line)| kind == RuleKind::Restricts && commands.matches(line))
        .map(|(operation, _)| (operation, None))
        .collect();
    calls.push((
        OperationKind::Shell,
        Some(("command", written.to_owned(), commands)),
    ));
    calls
}

/// What becket has tools for and others do with commands, such as these.
pub const CHANGES: [(OperationKind, &str); 3] = [
    (OperationKind::Remove, "rm x"),
    (OperationKind::Rmdir, "rmdir x"),
    (OperationKind::Mkdir, "mkdir -p x"),
];

/// A pattern of commands: how they begin, with `*` for any text, and an expression for what follows. One that restricts
/// is looked for behind every operator and every word, since a line may hold several commands and a program may run
/// another.
pub fn command_pattern(begin: &str, end: &str, kind: RuleKind) -> Result<Pattern, String> {
    let begin: Vec<String> = begin.split('*').map(regex_escape).collect();
    let begin = begin.join(".*");
    let expression = match kind {
        RuleKind::Allows => format!("(?s){begin}{end}"),
        RuleKind::Restricts => format!(r#"(?s)(.*[;&|({{`$\s"'])?{begin}{}"#, restricting(end)),
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

/// Calls that read or change files as an operation does, of all files if no pattern is given.
pub fn file_calls(operation: OperationKind, files: Option<Argument>, kind: RuleKind) -> RuledCalls {
    let of_commands = files
        .clone()
        .and_then(|files| files_of_commands(operation, kind, files));
    let family = family(operation, kind).into_iter();
    let calls = family.map(|operation| (operation, files.clone()));
    calls.chain(of_commands).collect()
}

/// The operations that a rule is about: one about reading or editing is about all that read or change files.
fn family(operation: OperationKind, kind: RuleKind) -> Vec<OperationKind> {
    use OperationKind::{Edit, Find, Grep, List, Mkdir, Read, Remove, Rmdir, Write};
    match (operation.effect(), kind) {
        // becket asks about `read` for everything that shows what is in a file.
        (Effect::Read, RuleKind::Restricts) if operation == Read => vec![Read, List, Find],
        (Effect::Read, RuleKind::Allows) if operation == Read => vec![Read, List, Find, Grep],
        (Effect::Write, _) => vec![Write, Edit, Mkdir, Rmdir, Remove],
        _ => vec![operation],
    }
}

/// Calls of the shell with a command that reads or changes such files, as `cat .env` does. A rule that restricts is
/// about them as well.
fn files_of_commands(
    operation: OperationKind,
    kind: RuleKind,
    (_, written, paths): Argument,
) -> Option<(OperationKind, Option<Argument>)> {
    let files = match operation.effect() {
        Effect::Read if operation == OperationKind::Read => FILES_READ,
        Effect::Write => FILES_CHANGED,
        _ => return None,
    };
    (kind == RuleKind::Restricts).then_some((OperationKind::Shell, Some((files, written, paths))))
}

/// The pattern for paths in a folder. A name alone, without a folder in front of it, stands for it at any depth, of the
/// folder if it allows and anywhere if it restricts. What restricts a folder restricts everything in it.
pub fn path_pattern(folder: &Path, inner: &str, is_name: bool, kind: RuleKind) -> Result<Pattern, String> {
    // A folder may also be reached by its own path, behind links.
    let real = becket_fs::canonicalize(folder).ok();
    let folders = [Some(folder), real.as_deref()].into_iter().flatten();
    let folders: Vec<String> = folders
        .map(|folder| regex_escape(folder.display().to_string().trim_end_matches('/')))
        .collect();
    let begin = match (is_name, kind) {
        (true, RuleKind::Restricts) => "(.*/)?".to_owned(),
        (true, RuleKind::Allows) => format!("({})/(.*/)?", folders.join("|")),
        (false, _) => format!("({})/", folders.join("|")),
    };
    let end = match kind {
        RuleKind::Restricts => "(/.*)?",
        RuleKind::Allows => "",
    };
    Pattern::regex(&format!(
        "(?s){begin}{}{end}",
        path_regex(inner.trim_end_matches('/'), inner.ends_with('/'))
    ))
}

/// Whether a path is a name alone.
pub fn is_name(path: &str) -> bool {
    !path.trim_end_matches('/').contains('/')
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

/// A text in which no character has a meaning in a regular expression.
fn regex_escape(text: &str) -> String {
    let special = |character: char| "\\.+*?()|[]{}^$#&-~".contains(character);
    let escaped = text.chars().flat_map(|character| {
        let mark = special(character).then_some('\\');
        mark.into_iter().chain([character])
    });
    escaped.collect()
}

/// Fetches from the hosts that a glob of domains names.
pub fn fetches_of(domain: &str) -> Result<RuledCalls, String> {
    let addresses = ["https", "http"].map(|scheme| format!("{scheme}://{domain}/*"));
    addresses.into_iter().map(|address| fetches(&address)).collect()
}

/// Fetches of addresses that a glob names.
pub fn fetches(address: &str) -> Result<(OperationKind, Option<Argument>), String> {
    let pattern = Pattern::glob(address)?;
    Ok((OperationKind::Fetch, Some(("url", address.to_owned(), pattern))))
}

/// A tool of an MCP server, or several; both names may be globs.
pub fn tool_of_server(server: &str, tool: &str) -> Result<RuledTool, String> {
    Ok(RuledTool::Named(Pattern::glob(&format!("{server}_{tool}"))?))
}
