//! Calls in Python and JavaScript that start programs or run code. Literal arguments are followed; those that are known
//! only at run time are reported as open.

use std::collections::HashSet;

use super::followed::{Base, Followed, line_of, shown};
use super::language::Language;
use super::shell;
use crate::item::shell_quoted;

/// A shell word that stands for an unknown value.
const UNKNOWN: &str = "\"$UNKNOWN\"";

/// The longest import, before and after the name of its module.
const LONGEST: usize = 500;

/// How many times the length of the text all arguments together may have. Calls may be nested in arguments of calls,
/// and each is read; no script that runs has more.
const MOST_READINGS: usize = 30;

/// How deep lists in arguments are followed.
const DEEPEST_LIST: usize = 10;

/// Functions that run something.
pub struct Starters {
    /// The module of the functions; empty if they need none.
    pub module: &'static str,
    pub names: &'static [&'static str],
    pub takes: Takes,
}

/// What a function runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A line for the shell, or a list of words.
    Line,
    /// A program, and then its arguments.
    Program,
    /// A file, relative to the directory in which the hook runs.
    File(Language),
    /// Code.
    Code,
    /// The place from which modules are found.
    Place,
}

/// What the calls in a text start.
pub fn follow(text: &str, table: &[Starters]) -> Followed {
    let mut followed = Followed::default();
    let mut budget = text.len().saturating_mul(MOST_READINGS);
    for starters in table.iter().filter(|starters| text.contains(starters.module)) {
        let imported = imported(text, starters.module);
        for name in starters.names {
            let mut is_told = false;
            for (at, _) in text.match_indices(name) {
                if !is_called(text, at, name, starters, &imported) {
                    continue;
                }
                let is_followed = call(
                    &mut followed,
                    &text[at + name.len()..],
                    starters.takes,
                    &mut budget,
                );
                // The first report for each function is enough.
                if !is_followed && !is_told {
                    is_told = true;
                    let line = text[last_start(text, at)..].lines().next().unwrap_or_default();
                    followed.open(line_of(text, at), format!("`{}` cannot be followed", shown(line)));
                }
            }
        }
    }
    followed
}

/// Whether one of the functions is meant at a place, and not another one of the same name.
fn is_called(text: &str, at: usize, name: &str, starters: &Starters, imported: &HashSet<&str>) -> bool {
    let (before, behind) = (&text[..at], &text[at + name.len()..]);
    if before.ends_with(is_of_name) || behind.starts_with(is_of_name) {
        return false;
    }
    let behind = behind.trim_start();
    let is_defined = ["def", "function"]
        .iter()
        .any(|word| before.trim_end().ends_with(word));
    let owner = before.strip_suffix('.').map(|rest| last_name(rest.trim_end()));
    match owner {
        // A function that is passed on is called somewhere else.
        Some(owner) if starters.module.is_empty() => is_global(owner) && behind.starts_with('('),
        Some(owner) => owner == starters.module || imported.contains(owner),
        None if !behind.starts_with('(') || is_defined => false,
        None => starters.module.is_empty() || imported.contains(name),
    }
}

fn is_global(owner: &str) -> bool {
    ["builtins", "globalThis", "global", "window"].contains(&owner)
}

fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

fn last_name(text: &str) -> &str {
    let start = text.trim_end_matches(is_of_name).len();
    &text[start..]
}

/// The names that are imported from a module, with their aliases.
fn imported<'a>(text: &'a str, module: &str) -> HashSet<&'a str> {
    let mut names = HashSet::new();
    if module.is_empty() {
        return names;
    }
    for (at, _) in text.match_indices(module) {
        let around =
            text.floor_char_boundary(at.saturating_sub(LONGEST))..text.ceil_char_boundary(at + LONGEST);
        let (before, rest) = (&text[around.start..at], &text[at..around.end]);
        if before.ends_with(is_of_name) || rest[module.len()..].starts_with(is_of_name) {
            continue;
        }
        let words = ["import", "const", "let", "var"];
        let start = words.iter().filter_map(|word| before.rfind(word)).max();
        let start = start.filter(|start| is_one_statement(&before[*start..]));
        let line = rest.find('\n').unwrap_or(rest.len());
        let is_list_open = rest[..line].contains('(') && !rest[..line].contains(')');
        let end = match is_list_open {
            true => rest.find(')').unwrap_or(rest.len()),
            false => line,
        };
        let statement = &text[around.start + start.unwrap_or(before.len())..at + end];
        if statement.contains("import") || statement.contains("require") {
            let words = statement.split(|character: char| !is_of_name(character));
            names.extend(words.filter(|word| !word.is_empty()));
        }
    }
    names
}

/// Whether the text from the keyword of an import to the name of its module is a single statement.
fn is_one_statement(text: &str) -> bool {
    let is_list = text.contains('{') && text.lines().last().is_some_and(|line| line.contains('}'));
    !text.contains(';') && (!text.contains('\n') || is_list)
}

/// Follows one call, given the text after its name; returns whether everything that it starts is known.
fn call(followed: &mut Followed, behind: &str, takes: Takes, budget: &mut usize) -> bool {
    let Some(inner) = behind.trim_start().strip_prefix('(') else {
        return false;
    };
    if *budget == 0 {
        return false;
    }
    let (arguments, rest) = arguments(inner, 0);
    let read = &inner[..inner.len() - rest.len()];
    *budget = budget.saturating_sub(read.len());
    let is_elsewhere = read.contains("cwd");
    let line = match (takes, arguments.as_slice()) {
        (_, []) => return true,
        (Takes::Place, [Argument::Other(place), ..]) if is_own_place(place) => return true,
        (Takes::File(language), [Argument::Text(file), ..]) if !is_elsewhere => {
            followed.guess(Base::Directory, file, Some(language));
            return true;
        }
        (Takes::Line, [Argument::Text(line), ..]) => line.clone(),
        (Takes::Line, [first, ..]) => first.words(),
        (Takes::Program, all) => all.iter().map(Argument::words).collect::<Vec<_>>().join(" "),
        _ => return false,
    };
    let found = shell::follow(&line);
    let is_followed = found.open.is_empty() && (!is_elsewhere || found.uses.is_empty());
    let found = Followed {
        open: Vec::new(),
        whole_folder: false,
        ..found
    };
    followed.contain(found, 1);
    is_followed
}

fn is_own_place(text: &str) -> bool {
    ["import.meta", "__filename", "__dirname"]
        .iter()
        .any(|place| text.starts_with(place))
}

/// Where a name begins, including everything that owns it.
fn last_start(text: &str, at: usize) -> usize {
    text[..at]
        .trim_end_matches(|character: char| is_of_name(character) || character == '.')
        .len()
}

/// An argument of a call.
#[derive(Debug, PartialEq, Eq)]
enum Argument {
    Text(String),
    List(Vec<Argument>),
    /// An expression that is known only at run time, as written.
    Other(String),
}

impl Argument {
    /// The shell words that the argument stands for.
    fn words(&self) -> String {
        match self {
            Self::Text(text) => shell_quoted(text),
            Self::List(all) => all.iter().map(Self::words).collect::<Vec<_>>().join(" "),
            Self::Other(text) => match text.as_str() {
                "sys.executable" => "python3".into(),
                "process.execPath" | "process.argv[0]" => "node".into(),
                // Options by name, and callbacks.
                text if is_option(text) => String::new(),
                _ => UNKNOWN.into(),
            },
        }
    }
}

fn is_option(text: &str) -> bool {
    let is_named = text
        .split_once('=')
        .is_some_and(|(name, rest)| name.trim().chars().all(is_of_name) && !rest.starts_with(['=', '>']));
    is_named || text.starts_with('{') || text.contains("=>") || text.starts_with("function")
}

/// The arguments up to the closing bracket, and the text after it.
fn arguments(text: &str, depth: usize) -> (Vec<Argument>, &str) {
    let (mut all, mut rest) = (Vec::new(), text.trim_start());
    while !rest.is_empty() && !rest.starts_with([')', ']', '}']) {
        let (argument, behind) = argument(rest, depth);
        all.push(argument);
        rest = behind.strip_prefix(',').unwrap_or(behind).trim_start();
    }
    (all, rest.get(1..).unwrap_or_default())
}

fn argument(text: &str, depth: usize) -> (Argument, &str) {
    let is_over = |rest: &str| rest.is_empty() || rest.starts_with([',', ')', ']']);
    let end = expression_end(text);
    let (written, behind) = (text[..end].trim(), &text[end..]);
    if let Some(inner) = written.strip_prefix('[')
        && depth < DEEPEST_LIST
    {
        let (all, rest) = arguments(inner, depth + 1);
        if is_over(rest.trim()) {
            return (Argument::List(all), behind);
        }
    }
    let literal = literal(written).filter(|(_, rest)| rest.trim().is_empty());
    match literal {
        Some((text, _)) => (Argument::Text(text), behind),
        None => (Argument::Other(written.to_owned()), behind),
    }
}

/// Where an expression ends: at the comma or the bracket after it.
fn expression_end(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(character) = text[at..].chars().next() {
        match character {
            ',' | ')' | ']' | '}' if depth == 0 => return at,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '"' | '\'' | '`' => {
                at += string_length(&text[at..]);
                continue;
            }
            _ => {}
        }
        at += character.len_utf8();
    }
    text.len()
}

/// The length of a quoted text, quotes included.
fn string_length(text: &str) -> usize {
    let quote = text.chars().next().unwrap_or('"');
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    if let Some(rest) = text.strip_prefix(&triple) {
        return rest.find(&triple).map_or(text.len(), |end| end + 6);
    }
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if character == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A quoted text that is fully known, and the text after it.
fn literal(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix(['r', 'u', 'b']).unwrap_or(text);
    let quote = text
        .chars()
        .next()
        .filter(|sign| ['"', '\'', '`'].contains(sign))?;
    let (whole, rest) = text.split_at(string_length(text));
    let inner = whole.trim_start_matches(quote).trim_end_matches(quote);
    let is_template = quote == '`' && inner.contains("${");
    (!is_template).then(|| (inner.replace("\\n", "\n").replace('\\', ""), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Starters] = &[
        Starters {
            module: "subprocess",
            names: &["run", "Popen"],
            takes: Takes::Line,
        },
        Starters {
            module: "",
            names: &["exec"],
            takes: Takes::Code,
        },
    ];

    /// The used files and the open places, in one line.
    fn found(text: &str) -> String {
        let followed = follow(text, TABLE);
        let uses = followed.uses.iter().map(|used| used.path.display().to_string());
        let open = followed.open.iter().map(ToString::to_string);
        uses.chain(open).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn literal_calls_are_followed_and_others_are_open() {
        for (text, expected) in [
            ("import subprocess\nsubprocess.run(['./x.sh', a])", "./x.sh"),
            (
                "import subprocess\nsubprocess.run('bash x.sh', shell=True)",
                "x.sh",
            ),
            (
                "import subprocess as sp\nsp.run([sys.executable, 'x.py'])",
                "x.py",
            ),
            (
                "from subprocess import (\n  run,\n)\nrun(\"\"\"./x.sh\"\"\")",
                "./x.sh",
            ),
            ("import subprocess\nsubprocess.run(['git', 'diff', name])", ""),
            ("import subprocess\nasyncio.run(main())", ""),
            (
                "import subprocess\nsubprocess.run(command)",
                "line 2: `subprocess.run(command)` cannot be followed",
            ),
            (
                "import subprocess\nsubprocess.run(['bash', name])",
                "line 2: `subprocess.run(['bash', name])` cannot be followed",
            ),
            (
                "import subprocess\nsubprocess.run('./' + x)",
                "line 2: `subprocess.run('./' + x)` cannot be followed",
            ),
            (
                "import subprocess\nf = subprocess.run\nf(x)",
                "line 2: `subprocess.run` cannot be followed",
            ),
            ("exec(x)", "line 1: `exec(x)` cannot be followed"),
            ("def exec(x): pass", ""),
            ("cursor.exec(x)", ""),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn calls_without_end_are_open() {
        for text in [
            format!("import subprocess\nsubprocess.run({}", "[".repeat(300_000)),
            format!("import subprocess\n{}", "subprocess.run([".repeat(20_000)),
            format!("from subprocess import run\nrun{}", ".run".repeat(100_000)),
            "exec(".repeat(60_000),
        ] {
            let followed = follow(&text, TABLE);
            assert!(
                followed.whole_folder && followed.open.len() == 1,
                "{:?}",
                followed.open
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(exec|run|subprocess|import|[-a-z./$(){}\"'`\\\\,\\[\\]=. \n]){0,40}") {
            follow(&text, TABLE);
        }
    }
}
