//! Rules of agent files, `tool` or `tool:argument=glob`, translated into becket's rules.
//!
//! Globs ignore case, `*` stands for any text, and all arguments must match. A pattern may match several tools, whose
//! arguments have different names in becket: it becomes a rule for each.
//!
//! Rules are translated when the file is read, so that there is one judge of calls. An allow is for a tool only if that
//! tool is the operation that docker-agent's tool of the same name is, and `ls*` ends with the word, as in later
//! versions of docker-agent.

use std::path::Path;

use becket_events::{Face, OperationKind};
use becket_hooks::{Pattern, nearest};
use serde_json::{Map, Value};

use super::hook::HookEntry;
use super::{profile, tool_names};

/// The effect of a rule on the calls that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// The call is allowed without asking.
    Allow,
    /// The user is asked.
    Ask,
    /// The call is refused.
    Deny,
}

/// An argument of a rule: its name, its glob as written, and the glob's pattern.
pub type TranslatedArgument = (String, String, Pattern);

/// A translated rule: the tool as the model knows it, and arguments under becket's names.
#[derive(Debug, Clone)]
pub struct TranslatedRule {
    /// The tool's name, as the model knows it.
    pub tool: Pattern,
    /// The operation that the rule also covers under other names, or that an allowed tool must have; `None` if only the
    /// name counts.
    pub operation: Option<OperationKind>,
    /// The arguments: becket's names, the globs, and their patterns.
    pub arguments: Vec<TranslatedArgument>,
}

/// Translates a rule of an agent file. The error says what is wrong with it.
pub fn translate_rule(
    text: &str,
    kind: RuleKind,
    home: Option<&Path>,
) -> Result<Vec<TranslatedRule>, String> {
    let (tool, arguments) = pieces(text)?;
    let pattern = glob(&tool)?;
    let faces = profile().faces;
    let meant: Vec<&Face> = faces.iter().filter(|face| pattern.matches(face.name)).collect();
    let mut rules = Vec::new();
    for face in &meant {
        if let Some(arguments) = for_face(face, &arguments, kind, home)? {
            rules.extend(for_names(face, kind, arguments, &faces));
        }
    }
    if rules.is_empty() && meant.len() == 1 {
        return Err(unknown_argument(meant[0], &arguments));
    }
    let is_one_of_ours = meant.iter().any(|face| face.name.eq_ignore_ascii_case(&tool));
    if !is_one_of_ours {
        let arguments = arguments.iter();
        let plain = arguments.map(|(name, text)| Ok((name.clone(), text.clone(), glob(text)?)));
        rules.push(TranslatedRule {
            tool: pattern,
            operation: None,
            arguments: plain.collect::<Result<_, String>>()?,
        });
    }
    Ok(rules)
}

/// A rule about a tool, for each name that it covers. A deny or ask about the first tool of an operation covers all
/// tools of it, so that a command in the background does not get around `shell`; about another tool, it covers only
/// that name.
fn for_names(
    face: &Face,
    kind: RuleKind,
    arguments: Vec<TranslatedArgument>,
    faces: &[Face],
) -> Vec<TranslatedRule> {
    let rule = |name: &str, operation| TranslatedRule {
        tool: Pattern::Exact(name.into()),
        operation,
        arguments: arguments.clone(),
    };
    let same = faces.iter().filter(|other| other.operation == face.operation);
    let is_first = same.clone().next().is_some_and(|first| first.name == face.name);
    match (kind, is_first) {
        (RuleKind::Allow, _) => vec![rule(face.name, Some(face.operation))],
        (_, true) => same.map(|other| rule(other.name, Some(face.operation))).collect(),
        (_, false) => vec![rule(face.name, None)],
    }
}

/// The tool of a rule, and its arguments with their globs. A colon belongs to the text before it, unless a name and a
/// `=` follow.
fn pieces(text: &str) -> Result<(String, Vec<(String, String)>), String> {
    let mut tool = String::new();
    let mut arguments: Vec<(String, String)> = Vec::new();
    for (index, piece) in text.split(':').enumerate() {
        let condition = piece
            .split_once('=')
            .filter(|(name, _)| index > 0 && is_word(name));
        match (condition, arguments.last_mut()) {
            (Some((name, glob)), _) => arguments.push((name.into(), glob.into())),
            (None, Some((_, glob))) => {
                glob.push(':');
                glob.push_str(piece);
            }
            (None, None) if index == 0 => tool.push_str(piece.trim()),
            (None, None) => {
                tool.push(':');
                tool.push_str(piece);
            }
        }
    }
    // docker-agent's documentation writes the tools of a server like this, but names them differently.
    if let Some((server, name)) = tool.strip_prefix("mcp:").and_then(|rest| rest.split_once(':')) {
        tool = format!("{server}_{name}");
    }
    match tool.as_str() {
        "" => Err("the tool is missing; write `tool` or `tool:argument=glob`".into()),
        tool if tool.contains(':') => Err("an argument has no `=`; write `tool:argument=glob`".into()),
        tool => match tool.chars().find(|character| !is_in_names(*character)) {
            Some(character) => Err(format!(
                "no tool has `{character}` in its name; write `tool` or `tool:argument=glob`, as in `shell:cmd=rm *`"
            )),
            None => Ok((tool.to_owned(), arguments)),
        },
    }
}

/// Whether a character may be part of a tool's name, or of a pattern for names.
fn is_in_names(character: char) -> bool {
    character.is_alphanumeric()
        || "_-.".contains(character)
        || WILDCARDS.contains(&character)
        || "]^".contains(character)
}

/// The characters that make a name a pattern.
const WILDCARDS: &[char] = &['*', '?', '[', '\\'];

/// A rule's tool that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTool {
    /// Whether the rule names one tool, not a pattern.
    pub is_exact: bool,
    /// The error, with a name that may have been meant.
    pub message: String,
    /// The names of all tools, if none is near.
    pub advice: String,
}

/// The tools of a run besides docker-agent's own.
#[derive(Clone, Copy)]
pub struct OtherTools<'a> {
    /// The names of other tools, such as scripts and tools of servers.
    pub names: &'a [&'a str],
    /// The operation that some other system means by a name, so that the right name can be suggested.
    pub elsewhere: fn(&str) -> Option<OperationKind>,
}

/// Looks for the tool of a rule among docker-agent's and others. For a rule that cannot be parsed there is another
/// error.
pub fn missing_tool(rule: &str, others: OtherTools<'_>) -> Option<MissingTool> {
    let (tool, _) = pieces(rule).ok()?;
    let pattern = glob(&tool).ok()?;
    let message = fits_none(&tool, &pattern, others)?;
    let own = tool_names();
    let all: Vec<&str> = own.iter().chain(others.names).copied().collect();
    Some(MissingTool {
        is_exact: !tool.contains(WILDCARDS),
        advice: match message.contains("did you mean") {
            true => String::new(),
            false => format!("; there are {}", all.join(", ")),
        },
        message,
    })
}

/// The error about a hook's matcher that matches no tool, neither docker-agent's nor one of the others.
pub fn idle_matcher(entry: &HookEntry, others: OtherTools<'_>) -> Option<String> {
    let matcher = entry.matcher.as_deref().filter(|matcher| *matcher != "*")?;
    let pattern = Pattern::regex(matcher).ok()?;
    // Operations without a docker-agent tool keep becket's names.
    let absent = profile().absent;
    let absent = absent.iter().map(|operation| operation.name());
    let names: Vec<&str> = others.names.iter().copied().chain(absent).collect();
    let others = OtherTools {
        names: &names,
        ..others
    };
    let wrong = fits_none(matcher, &pattern, others)?;
    let (source, event) = (&entry.source, entry.event);
    Some(format!("{source}: the hook of {event} never runs: {wrong}"))
}

fn fits_none(text: &str, pattern: &Pattern, others: OtherTools<'_>) -> Option<String> {
    let own = tool_names();
    let names = || own.iter().chain(others.names).copied();
    if names().any(|name| pattern.matches(name)) {
        return None;
    }
    // The name may be that of another system, or a typo.
    let meant = (others.elsewhere)(text).and_then(|operation| {
        let mut faces = profile().faces.into_iter();
        faces.find(|face| face.operation == operation)
    });
    let near = meant.map(|face| face.name).or_else(|| nearest(text, names()));
    Some(match near {
        Some(near) => format!("no tool is called `{text}`; did you mean `{near}`?"),
        None => format!("no tool is called `{text}`"),
    })
}

fn is_word(text: &str) -> bool {
    let plain = |character: char| character.is_alphanumeric() || character == '_';
    !text.is_empty() && text.chars().all(plain)
}

/// A rule's arguments for a tool; `None` if the tool does not have them.
fn for_face(
    face: &Face,
    arguments: &[(String, String)],
    kind: RuleKind,
    home: Option<&Path>,
) -> Result<Option<Vec<TranslatedArgument>>, String> {
    let mut own = Vec::new();
    for (name, text) in arguments {
        let Some(name) = own_name(face, name) else {
            return Ok(None);
        };
        let text = match name.as_str() {
            "path" | "paths" | "cwd" => path_glob(text, home)?,
            _ => text.clone(),
        };
        let pattern = match name.as_str() {
            "command" if kind == RuleKind::Allow => command_glob(&text)?,
            _ => glob(&text)?,
        };
        own.push((name, text, pattern));
    }
    Ok(Some(own))
}

/// becket's name for an argument of a tool: the key under which a probe text comes out.
fn own_name(face: &Face, name: &str) -> Option<String> {
    const PROBE: &str = "a text that nobody writes";
    if !face.knows(name) {
        return None;
    }
    let arguments: Map<String, Value> = [(name.to_owned(), PROBE.into())].into_iter().collect();
    let own = (face.to_own)(arguments).ok()?;
    let mut own = own.into_iter();
    own.find_map(|(name, value)| value.to_string().contains(PROBE).then_some(name))
}

fn unknown_argument(face: &Face, arguments: &[(String, String)]) -> String {
    let known = || {
        let properties = face.parameters["properties"].as_object();
        let names = properties.into_iter().flat_map(Map::keys).map(String::as_str);
        names.filter(|name| own_name(face, name).is_some())
    };
    let unknown = arguments.iter().find(|(name, _)| own_name(face, name).is_none());
    let unknown = unknown.map_or("", |(name, _)| name.as_str());
    let message = format!("rules about {} cannot speak of `{unknown}`", face.name);
    match nearest(unknown, known()) {
        Some(near) => format!("{message}; did you mean `{near}`?"),
        None => format!(
            "{message}; they can of {}",
            known().collect::<Vec<_>>().join(", ")
        ),
    }
}

/// The glob for a path. Paths are judged after links and `..` were resolved, absolutely or relative to the working
/// directory.
fn path_glob(text: &str, home: Option<&Path>) -> Result<String, String> {
    let from_home = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Some(home.join(rest).display().to_string()),
        _ => None,
    };
    let text = from_home.as_deref().unwrap_or(text);
    let text = text.strip_prefix("./").unwrap_or(text);
    let text = match text.strip_suffix('/') {
        Some(folder) if !folder.is_empty() => folder,
        _ => text,
    };
    let odd = |part: &str| matches!(part, "." | ".." | "~");
    if text.split('/').any(odd) || text.contains("//") {
        return Err(format!(
            "`{text}` never matches: paths are judged with links and `..` resolved, absolute or relative to the \
             working directory, as in `/etc/*` or `src/*`"
        ));
    }
    Ok(text.to_owned())
}

/// The pattern of an allow rule about commands: `ls*` is `ls` and `ls -l`, but not `lsof`.
fn command_glob(text: &str) -> Result<Pattern, String> {
    let word = text.strip_suffix('*').filter(|prefix| {
        let is_plain = !prefix.contains(['*', '?', '[', '\\']);
        is_plain && prefix.ends_with(|character: char| character.is_alphanumeric())
    });
    match word {
        Some(prefix) => Pattern::regex(&format!(r"(?i){}(?:\s.*)?", literal(prefix))),
        None => glob(text),
    }
}

/// The pattern of a glob: any text for `*`, any character for `?`, one of several for `[…]`, ignoring case.
fn glob(text: &str) -> Result<Pattern, String> {
    if text.is_empty() || text.trim() != text {
        return Err("a pattern is empty or has spaces around it".into());
    }
    let mut expression = String::from("(?i)");
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            '\\' => {
                let escaped = rest.next().ok_or("a pattern ends with `\\`")?;
                expression.push_str(&literal(escaped.encode_utf8(&mut [0; 4])));
            }
            '[' => expression.push_str(&class(&mut rest)?),
            plain => expression.push_str(&literal(plain.encode_utf8(&mut [0; 4]))),
        }
    }
    Pattern::regex(&expression)
}

/// The characters between brackets, after the opening bracket was read.
fn class(rest: &mut std::str::Chars<'_>) -> Result<String, String> {
    let mut class = String::from("[");
    let mut first = true;
    loop {
        let character = rest.next().ok_or("a `[` has no `]` behind it")?;
        match character {
            ']' if first => return Err("a pattern has nothing between `[` and `]`".into()),
            ']' => break,
            '^' if first => {
                class.push('^');
                continue;
            }
            '-' => class.push('-'),
            '\\' => {
                let escaped = rest.next().ok_or("a `[` has no `]` behind it")?;
                class.push_str(&literal(escaped.encode_utf8(&mut [0; 4])));
            }
            plain => class.push_str(&literal(plain.encode_utf8(&mut [0; 4]))),
        }
        first = false;
    }
    class.push(']');
    Ok(class)
}

/// A text escaped for a regular expression.
fn literal(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_mean_what_docker_agent_means() {
        for (text, fits, does_not) in [
            ("shell", &["shell", "SHELL"][..], &["shell2", "my_shell"][..]),
            (
                "read_*",
                &["read_file", "read_", "READ_x"],
                &["read", "xread_file"],
            ),
            (
                "git push*",
                &["git push", "Git Push --force /a/b\nx"],
                &["git pull"],
            ),
            ("*sudo*", &["sudo", "a; sudo b", "x/sudo"], &["su do"]),
            ("a?c", &["abc", "a/c"], &["ac", "abbc"]),
            ("[a-c]x", &["ax", "Cx"], &["dx"]),
            ("[^a]x", &["bx"], &["ax"]),
            (r"a\*", &["a*"], &["ab"]),
            ("{a,b}", &["{a,b}"], &["a", "b"]),
            ("a.b(c)", &["a.b(c)"], &["axb(c)"]),
        ] {
            let pattern = glob(text).unwrap();
            for yes in fits {
                assert!(pattern.matches(yes), "{text} {yes}");
            }
            for no in does_not {
                assert!(!pattern.matches(no), "{text} {no}");
            }
        }
    }

    #[test]
    fn arguments_get_their_names_here() {
        for (rule, wanted) in [
            ("shell:cmd=ls*", vec![("shell", vec![("command", "ls*")])]),
            ("shell:cmd=a:b=c:cwd=/x", vec![]),
            (
                "shell:cmd=echo a:b:cwd=./sub/",
                vec![("shell", vec![("command", "echo a:b"), ("cwd", "sub")])],
            ),
            (
                "read_file:path=~/.ssh/*",
                vec![("read_file", vec![("path", "/home/me/.ssh/*")])],
            ),
            (
                "fetch:urls=https://a/*",
                vec![("fetch", vec![("url", "https://a/*")])],
            ),
            (
                "search_files_content:query=x*",
                vec![("search_files_content", vec![("pattern", "x*")])],
            ),
        ] {
            let translated = translate_rule(rule, RuleKind::Deny, Some(Path::new("/home/me")));
            if wanted.is_empty() {
                assert!(translated.is_err(), "{rule}");
                continue;
            }
            let translated = translated.unwrap();
            let (tool, arguments) = &wanted[0];
            assert!(translated[0].tool.matches(tool));
            for other in &translated {
                let own = other.arguments.iter();
                let own: Vec<(&str, &str)> = own
                    .map(|(name, glob, _)| (name.as_str(), glob.as_str()))
                    .collect();
                assert_eq!(own, *arguments, "{rule}");
            }
        }
    }

    #[test]
    fn a_pattern_for_several_tools_becomes_a_rule_for_each() {
        let rules = translate_rule("*:path=/etc/*", RuleKind::Deny, None).unwrap();
        let operations: Vec<_> = rules.iter().map(|rule| rule.operation).collect();
        assert!(operations.contains(&Some(OperationKind::Read)), "{operations:?}");
        assert!(operations.contains(&Some(OperationKind::Write)), "{operations:?}");
        assert!(
            !operations.contains(&Some(OperationKind::Shell)),
            "{operations:?}"
        );
        assert_eq!(operations.last(), Some(&None));
        let tools = translate_rule("mcp:github:get_*", RuleKind::Allow, None).unwrap();
        assert!(tools[0].tool.matches("github_get_issue"));
    }

    #[test]
    fn what_forbids_the_first_tool_for_something_forbids_the_others() {
        let names = |rule: &str, kind| -> Vec<&str> {
            let rules = translate_rule(rule, kind, None).unwrap();
            let faces = profile().faces.into_iter().map(|face| face.name);
            faces
                .filter(|name| rules.iter().any(|rule| rule.tool.matches(name)))
                .collect()
        };
        for kind in [RuleKind::Deny, RuleKind::Ask] {
            assert_eq!(names("shell:cmd=x", kind), ["shell", "run_background_job"]);
            assert_eq!(
                names("list_directory", kind),
                ["list_directory", "directory_tree"]
            );
            assert_eq!(names("run_background_job", kind), ["run_background_job"]);
            assert_eq!(names("directory_tree:path=x", kind), ["directory_tree"]);
        }
        assert_eq!(names("shell", RuleKind::Allow), ["shell"]);
        assert_eq!(names("list_directory", RuleKind::Allow), ["list_directory"]);
    }

    #[test]
    fn an_allowed_command_is_a_word() {
        let rules = translate_rule("shell:cmd=ls*", RuleKind::Allow, None).unwrap();
        let pattern = &rules[0].arguments[0].2;
        assert!(pattern.matches("ls") && pattern.matches("LS -l /x"));
        assert!(!pattern.matches("lsof"));
        let rules = translate_rule("shell:cmd=ls*", RuleKind::Deny, None).unwrap();
        assert!(rules[0].arguments[0].2.matches("lsof"));
    }

    #[test]
    fn wrong_rules_say_what_is_wrong() {
        for (rule, wanted) in [
            ("", "the tool is missing"),
            ("shell:rm", "an argument has no `=`"),
            ("shell:cmdd=x", "did you mean `cmd`?"),
            ("shell:cmd=[a", "a `[` has no `]`"),
            ("shell:cmd=", "empty"),
            ("read_file:path=../x", "never matches"),
            ("read_file:path=~/x", "never matches"),
        ] {
            let error = translate_rule(rule, RuleKind::Deny, None).unwrap_err();
            assert!(error.contains(wanted), "{rule}: {error}");
        }
    }
}
