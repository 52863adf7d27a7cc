//! A condition about a tool call, written as a permission rule: `Tool` or `Tool(pattern)`.
//!
//! Such a condition keeps a hook from being asked, so whatever is not understood counts as a match.

#![allow(clippy::disallowed_methods, reason = "it looks at what a call names")]

use std::path::{Component, Path, PathBuf};

use becket_dialect_kit::called::Called;
use becket_events::{Effect, OperationKind, Profile};
use becket_hooks::{Glob, Slashes};
use becket_shell::command_texts;
use regex::Regex;
use serde_json::Value;

/// How much of a value is shown in a message, in bytes.
const MOST_SHOWN: usize = 80;

/// A condition about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    tool: String,
    pattern: Option<String>,
    /// Whether the text is not of the form of a condition, so that every call is meant.
    is_open: bool,
}

impl Condition {
    /// Reads a condition. Any text is one.
    pub fn read(text: &str) -> Self {
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            Some((tool, rest)) => (tool.trim(), rest.strip_suffix(')')),
            None => (text, Some("")),
        };
        let is_name = |character: char| character.is_ascii_alphanumeric() || "_-*".contains(character);
        let pattern_text = pattern.unwrap_or_default().trim();
        // Several conditions in one text, of which no system knows what they mean.
        let is_several = pattern_text.replace("\\)", "").contains(')') && pattern_text.contains('(');
        Self {
            tool: tool.to_owned(),
            pattern: Some(pattern_text.to_owned()).filter(|pattern| !pattern.is_empty() && pattern != "*"),
            is_open: pattern.is_none() || is_several || tool == "*" || !tool.chars().all(is_name),
        }
    }

    /// Whether a call of the tool with these names is meant.
    pub fn holds(&self, names: &[&str], call: &Called<'_>, roots: Roots<'_>) -> bool {
        if self.is_open {
            return true;
        }
        if !names.iter().any(|name| self.names(name)) && !self.means_tool(call) {
            return false;
        }
        let Some(pattern) = &self.pattern else {
            return true;
        };
        let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
        let is_of_shell = call.profile.operation_of(&self.tool) == Some(OperationKind::Shell);
        if let Some(command) = call.as_command().filter(|_| is_of_shell) {
            return is_in_command(pattern, &command);
        }
        match (call.operation, text("command"), text("path"), text("url")) {
            (Some(OperationKind::Shell), Some(command), ..) => is_in_command(pattern, command),
            (_, _, Some(path), _) => is_path(pattern, path, roots),
            (_, _, _, Some(url)) => match pattern.strip_prefix("domain:") {
                Some(domain) => host_of(url).is_none_or(|host| is_host(domain, &host)),
                None => true,
            },
            _ => true,
        }
    }

    /// What a call has where the condition does not hold, and how to write one that does.
    pub(crate) fn unmet_text(&self, names: &[&str], call: &Called<'_>, roots: Roots<'_>) -> String {
        let is_named = names.iter().any(|name| self.names(name)) || self.means_tool(call);
        let values = ["command", "path", "url"].into_iter();
        let mut values = values.filter_map(|name| call.arguments.get(name)?.as_str());
        let (true, Some(pattern), Some(value)) = (is_named, &self.pattern, values.next()) else {
            return format!("the tool {:?}", call.name());
        };
        let wider = [
            format!("{pattern} *"),
            format!("*{pattern}*"),
            format!("**/{pattern}"),
        ];
        let mut wider = wider
            .into_iter()
            .map(|pattern| format!("{}({pattern})", self.tool));
        let hint = wider.find(|text| Self::read(text).holds(names, call, roots));
        let hint = hint.map_or(String::new(), |hint| format!("; `{hint}` matches it"));
        format!("{:?}{hint}", &value[..value.floor_char_boundary(MOST_SHOWN)])
    }

    /// The tool that is meant; `None` if every call is.
    pub(crate) fn tool(&self) -> Option<&str> {
        (!self.is_open).then_some(self.tool.as_str())
    }

    /// The command that is meant as a whole, with the condition that means every command that begins so.
    pub(crate) fn whole_command(&self, profile: &Profile) -> Option<(&str, String)> {
        let is_shell = profile.operation_of(&self.tool) == Some(OperationKind::Shell);
        let pattern = self.pattern.as_deref().filter(|_| is_shell && !self.is_open)?;
        (!pattern.contains('*')).then(|| (pattern, format!("{}({pattern} *)", self.tool)))
    }

    /// Whether a name is meant: in any case, and with `mcp__server` standing for all tools of a server.
    fn names(&self, name: &str) -> bool {
        let tool = self.tool.trim_end_matches('*').trim_end_matches("__");
        let is_server = tool.starts_with("mcp__") && name.starts_with(&format!("{tool}__"));
        is_server || self.tool.eq_ignore_ascii_case(name)
    }

    /// Whether the tool is meant because a rule about reading or writing is about every tool that reads or writes.
    fn means_tool(&self, call: &Called<'_>) -> bool {
        if self.tool == call.own_name {
            return true;
        }
        let effect = |operation: Option<OperationKind>| operation.map(OperationKind::effect);
        let meant = effect(call.profile.operation_of(&self.tool));
        matches!(meant, Some(Effect::Read | Effect::Write)) && meant == effect(call.operation)
    }
}

/// The host of an address in lower case; `None` if it is not plain.
fn host_of(url: &str) -> Option<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let is_plain = |character: char| character.is_ascii_alphanumeric() || ".-".contains(character);
    (!host.is_empty() && host.chars().all(is_plain)).then(|| host.to_ascii_lowercase())
}

fn is_host(domain: &str, host: &str) -> bool {
    let domain = domain.trim().trim_start_matches("*.").to_ascii_lowercase();
    host == domain || host.ends_with(&format!(".{domain}"))
}

/// Whether a pattern fits one of the commands in a line. A line that cannot be read, or in which a program runs what
/// another text says, may hold any. A word that is known only at run time may be what the pattern wants there.
fn is_in_command(pattern: &str, line: &str) -> bool {
    let Some(regex) = command_pattern(pattern) else {
        return true;
    };
    let beginning = pattern.split('*').next().unwrap_or_default();
    let beginning = beginning.trim_end_matches(':').trim_end();
    let seen = command_texts(line);
    let may_fit = |known: &String| {
        let known = format!("{known} ");
        format!("{beginning} ").starts_with(&known) || known.starts_with(beginning)
    };
    seen.is_open || seen.texts.iter().any(|text| regex.is_match(text)) || seen.beginnings.iter().any(may_fit)
}

/// `git *` and `git:*` mean every command that begins so; `*` stands for anything elsewhere too.
fn command_pattern(pattern: &str) -> Option<Regex> {
    let begin = pattern.strip_suffix(":*").or(pattern.strip_suffix(" *"));
    let (text, end) = match begin {
        Some(begin) => (begin, r"(\s.*)?$"),
        None => (pattern, "$"),
    };
    let parts: Vec<String> = text.split('*').map(regex::escape).collect();
    Regex::new(&format!("(?s)^{}{end}", parts.join(".*"))).ok()
}

/// Whether a pattern fits a path: as it is written, without `..`, and where links lead.
fn is_path(pattern: &str, path: &str, roots: Roots<'_>) -> bool {
    let whole = normalised(&roots.directory.join(path));
    let Some((folder, inner)) = roots.anchored(pattern).filter(|_| whole.is_absolute()) else {
        return true;
    };
    let inner = inner.trim_end_matches('/');
    // A pattern that is a folder stands for everything in it.
    let globs = [inner.to_owned(), format!("{inner}/**")].map(|glob| Glob::new(&glob, Slashes::Apart));
    let places = [Some(whole.clone()), real(&whole)];
    let folders = [Some(folder.to_owned()), real(folder)];
    let mut inside = places.iter().flatten().flat_map(|place| {
        folders
            .iter()
            .flatten()
            .filter_map(|folder| place.strip_prefix(folder).ok())
    });
    inside.any(|inside| {
        globs
            .iter()
            .any(|glob| glob.as_ref().is_ok_and(|glob| glob.is_match(inside)))
    }) || globs.iter().any(Result::is_err)
}

/// The folders that patterns of paths begin in.
#[derive(Debug, Clone, Copy)]
pub struct Roots<'a> {
    /// The directory in which the call is made.
    pub directory: &'a Path,
    /// The user's home directory.
    pub home: Option<&'a Path>,
    /// The folder that a leading slash stands for.
    pub settings: Option<&'a Path>,
}

impl<'a> Roots<'a> {
    /// The folder that a pattern begins in, and the rest of the pattern; `None` if the folder is not known.
    fn anchored(self, pattern: &str) -> Option<(&'a Path, String)> {
        let anywhere = |rest: &str| (Path::new("/"), rest.to_owned());
        if let Some(rest) = pattern.strip_prefix("//") {
            return Some(anywhere(rest));
        }
        if let Some(rest) = pattern.strip_prefix('/') {
            return Some((self.settings?, rest.to_owned()));
        }
        if let Some(rest) = pattern.strip_prefix('~') {
            return Some((self.home?, rest.strip_prefix('/')?.to_owned()));
        }
        let inner = pattern.trim_start_matches("./");
        // A name alone stands for it at any depth.
        Some(
            match pattern == inner && !inner.trim_end_matches('/').contains('/') && !inner.ends_with('/') {
                true => anywhere(&format!("**/{inner}")),
                false => (self.directory, inner.to_owned()),
            },
        )
    }
}

/// A path without `.` and `..`.
pub fn normalised(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Where a path leads; a part of it may not exist yet.
fn real(path: &Path) -> Option<PathBuf> {
    let existing = path
        .ancestors()
        .find_map(|part| Some((part, part.canonicalize().ok()?)));
    let (part, real) = existing?;
    Some(real.join(path.strip_prefix(part).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_every_command_of_a_line() {
        for (pattern, line, fits) in [
            ("git *", "git push", true),
            ("git *", "git", true),
            ("git:*", "cd x && git push", true),
            ("git *", "A=1 git push", true),
            ("git *", "echo $(git push)", true),
            ("git *", "echo `git push`", true),
            ("git *", "sudo git push", true),
            ("git *", "/usr/bin/git push", true),
            ("git *", "\"git\" push", true),
            ("git *", "g\"i\"t push", true),
            ("git *", "\\git push", true),
            ("git push *", "git  push", true),
            ("git push *", "git \\\npush", true),
            ("git *", "git>/dev/null push", true),
            ("git *", "x=git; $x push", true),
            ("git *", "bash -c 'git push'", true),
            ("git *", "cat <<EOF\n$(git push)\nEOF", true),
            ("git *", "echo git | xargs -I{} {} push", true),
            ("git *", "gitk", false),
            ("git *", "echo git", false),
            ("npm run *", "npm test", false),
            ("npm test", "npm test", true),
            ("rm *", "echo 'unclosed", true),
            ("git push *", "p=push; git $p x", true),
            ("git push *", "git $(echo push) x", true),
            ("git push *", "git pu[s]h x", true),
            ("git push *", "git {push,x}", true),
            ("git push *", "git pull $x", false),
            ("rm -f *", "X=-f; rm $X f", true),
            ("rm -f *", "echo $X", false),
            ("npm test", "npm $X", true),
        ] {
            assert_eq!(is_in_command(pattern, line), fits, "{pattern} {line}");
        }
    }

    #[test]
    fn a_pattern_of_a_path_is_relative_to_the_directory() {
        for (pattern, path, fits) in [
            ("src/**", "src/a/b.rs", true),
            ("src/**", "/work/src/b.rs", true),
            ("src/**", "./src/b.rs", true),
            ("src/**", "x/../src/b.rs", true),
            ("src/**", "other/src/b.rs", false),
            ("src/", "src/b.rs", true),
            ("src", "src/b.rs", true),
            ("*.ts", "a/b.ts", true),
            ("*.ts", "a/b.rs", false),
            ("//etc/**", "/etc/passwd", true),
            ("//etc/**", "src/../../etc/passwd", true),
            ("//etc/**", "etc/passwd", false),
            ("~/.ssh/**", "/home/me/.ssh/id", true),
            ("~/.ssh/**", "../home/me/.ssh/id", true),
            ("~/.ssh/**", "/home/me/.sshx/id", false),
            ("~other/x", "/work/a", true),
            ("/docs/*", "/work/docs/a", true),
            ("/docs/*", "docs/b/../a", true),
            ("/docs/*", "/docs/a", false),
        ] {
            let (directory, home) = (Path::new("/work"), Some(Path::new("/home/me")));
            let settings = Some(directory);
            let roots = Roots {
                directory,
                home,
                settings,
            };
            assert_eq!(is_path(pattern, path, roots), fits, "{pattern} {path}");
            let roots = Roots {
                home: None,
                settings: None,
                ..roots
            };
            let is_unknown = pattern.starts_with('~') || pattern.starts_with("/d");
            assert_eq!(
                is_path(pattern, path, roots),
                fits || is_unknown,
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn a_folder_with_letters_of_patterns_in_its_name_is_a_folder() {
        for directory in ["/work/[id]", "/work/a*b", "/work/{x"] {
            let roots = Roots {
                directory: Path::new(directory),
                home: None,
                settings: None,
            };
            assert!(is_path("src/**", "src/a.rs", roots), "{directory}");
            assert!(!is_path("src/**", "lib/a.rs", roots), "{directory}");
        }
    }

    #[test]
    fn hosts_are_compared_as_hosts() {
        assert_eq!(host_of("http://LOCALHOST:1/x").as_deref(), Some("localhost"));
        assert_eq!(host_of("http://a@b.org/x").as_deref(), Some("b.org"));
        assert_eq!(host_of("http://loc%61lhost/"), None);
        assert!(is_host("b.org", "a.b.org") && !is_host("b.org", "ab.org"));
    }

    #[test]
    fn what_is_no_condition_means_everything() {
        for text in [
            "*",
            "Bash|Write",
            "Bash(touch *",
            "Bash(rm *)|Bash(git *)",
            "Edit(.env) Write(.env)",
        ] {
            assert!(Condition::read(text).is_open, "{text}");
        }
        let server = Condition::read("mcp__mem");
        assert!(server.names("mcp__mem__add") && !server.names("mcp__memory__add"));
        assert!(Condition::read("mcp__mem__*").names("mcp__mem__add"));
        assert!(Condition::read("bash").names("Bash"));
    }
}
