//! Colours for code in answers: keywords, strings, comments and numbers.
//!
//! A small reader of tokens and a table of languages, instead of tree-sitter, whose grammars are linked already: they
//! know seven languages, their queries for colours have to be compiled for each of them in the middle of an answer, and
//! an answer often shows a piece that does not parse. This knows any language whose comments and strings are in the
//! table, costs nothing at the start, and weighs a few kilobytes.

use super::sgr::diff_line;
use super::style::Style;

/// What a language's code is made of.
struct Language {
    /// The names that stand behind a fence.
    names: &'static [&'static str],
    keywords: &'static [&'static str],
    /// What begins a comment until the end of the line.
    comments: &'static [&'static str],
    /// What begins and ends a comment of several lines.
    blocks: &'static [(&'static str, &'static str)],
    /// What begins and ends a string, longest first; those of one character end with their line.
    strings: &'static [&'static str],
}

const C_COMMENTS: &[&str] = &["//"];
const C_BLOCKS: &[(&str, &str)] = &[("/*", "*/")];

/// The languages.
// tidy: a table
const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        keywords: &[
            "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern",
            "false", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub",
            "ref", "return", "self", "Self", "static", "struct", "super", "trait", "true", "type", "unsafe",
            "use", "where", "while",
        ],
        comments: C_COMMENTS,
        blocks: C_BLOCKS,
        strings: &["\""],
    },
    Language {
        names: &["python", "py", "starlark"],
        keywords: &[
            "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
            "else", "except", "False", "finally", "for", "from", "global", "if", "import", "in", "is",
            "lambda", "match", "None", "nonlocal", "not", "or", "pass", "raise", "return", "True", "try",
            "while", "with", "yield",
        ],
        comments: &["#"],
        blocks: &[],
        strings: &["\"\"\"", "'''", "\"", "'"],
    },
    Language {
        names: &[
            "javascript",
            "js",
            "jsx",
            "typescript",
            "ts",
            "tsx",
            "java",
            "c",
            "h",
            "cpp",
            "c++",
            "cc",
            "hpp",
            "cs",
            "csharp",
            "go",
            "golang",
            "kotlin",
            "kt",
            "swift",
            "scala",
            "php",
            "dart",
            "zig",
            "proto",
        ],
        keywords: &[
            "abstract",
            "as",
            "async",
            "await",
            "bool",
            "break",
            "case",
            "catch",
            "chan",
            "char",
            "class",
            "const",
            "continue",
            "def",
            "default",
            "defer",
            "delete",
            "do",
            "double",
            "else",
            "enum",
            "export",
            "extends",
            "extern",
            "false",
            "final",
            "finally",
            "float",
            "for",
            "from",
            "fun",
            "func",
            "function",
            "go",
            "guard",
            "if",
            "implements",
            "import",
            "in",
            "instanceof",
            "int",
            "interface",
            "let",
            "long",
            "map",
            "match",
            "namespace",
            "new",
            "nil",
            "null",
            "of",
            "override",
            "package",
            "private",
            "protected",
            "public",
            "range",
            "readonly",
            "return",
            "select",
            "self",
            "static",
            "string",
            "struct",
            "super",
            "switch",
            "this",
            "throw",
            "throws",
            "true",
            "try",
            "type",
            "typedef",
            "typeof",
            "undefined",
            "unsigned",
            "using",
            "val",
            "var",
            "virtual",
            "void",
            "when",
            "while",
            "yield",
        ],
        comments: C_COMMENTS,
        blocks: C_BLOCKS,
        strings: &["`", "\"", "'"],
    },
    Language {
        names: &[
            "sh",
            "bash",
            "zsh",
            "shell",
            "fish",
            "console",
            "dockerfile",
            "makefile",
            "make",
        ],
        keywords: &[
            "case", "cd", "do", "done", "echo", "elif", "else", "esac", "exit", "export", "fi", "for",
            "function", "if", "in", "local", "return", "set", "then", "until", "while", "FROM", "RUN",
            "COPY", "ENV",
        ],
        comments: &["#"],
        blocks: &[],
        strings: &["\"", "'"],
    },
    Language {
        names: &["ruby", "rb", "elixir", "ex", "lua", "perl", "r"],
        keywords: &[
            "and",
            "begin",
            "break",
            "case",
            "class",
            "def",
            "defmodule",
            "do",
            "else",
            "elsif",
            "elseif",
            "end",
            "ensure",
            "false",
            "fn",
            "for",
            "function",
            "if",
            "in",
            "local",
            "module",
            "my",
            "next",
            "nil",
            "not",
            "or",
            "require",
            "rescue",
            "return",
            "self",
            "sub",
            "then",
            "true",
            "unless",
            "until",
            "use",
            "when",
            "while",
            "yield",
        ],
        comments: &["#", "--"],
        blocks: &[],
        strings: &["\"", "'"],
    },
    Language {
        names: &["sql", "sqlite", "postgresql", "mysql"],
        keywords: &[
            "ADD", "ALTER", "AND", "AS", "ASC", "BEGIN", "BY", "CASE", "COMMIT", "CREATE", "DELETE", "DESC",
            "DISTINCT", "DROP", "ELSE", "END", "FROM", "GROUP", "HAVING", "IN", "INDEX", "INNER", "INSERT",
            "INTO", "IS", "JOIN", "KEY", "LEFT", "LIKE", "LIMIT", "NOT", "NULL", "ON", "OR", "ORDER",
            "PRIMARY", "SELECT", "SET", "TABLE", "THEN", "UNION", "UPDATE", "VALUES", "WHEN", "WHERE",
            "WITH",
        ],
        comments: &["--"],
        blocks: C_BLOCKS,
        strings: &["'", "\""],
    },
    Language {
        names: &["toml", "ini", "yaml", "yml", "json", "jsonc", "json5", "conf"],
        keywords: &["true", "false", "null", "yes", "no"],
        comments: &["#", "//"],
        blocks: &[],
        strings: &["\"\"\"", "'''", "\"", "'"],
    },
    Language {
        names: &["scheme", "lisp", "clojure", "racket", "elisp"],
        keywords: &[
            "begin", "cond", "define", "defn", "defun", "if", "lambda", "let", "quote", "set", "when",
        ],
        comments: &[";"],
        blocks: &[],
        strings: &["\""],
    },
];

/// What a piece of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Plain,
    Keyword,
    Text,
    Comment,
    Number,
}

/// The lines of some code, with colours if the language is known.
pub fn highlighted(code: &str, language: &str, style: Style) -> Vec<String> {
    let name = language
        .split([' ', ',', '{'])
        .next()
        .unwrap_or_default()
        .to_lowercase();
    if matches!(name.as_str(), "diff" | "patch") {
        return code.lines().map(|line| diff_line(line, style)).collect();
    }
    let known = LANGUAGES
        .iter()
        .find(|known| known.names.contains(&name.as_str()));
    let Some(known) = known.filter(|_| style.is_coloured()) else {
        return code.lines().map(|line| style.cyan(line)).collect();
    };
    let mut lines = vec![String::new()];
    for (token, text) in tokens(code.strip_suffix('\n').unwrap_or(code), known) {
        for (place, piece) in text.split('\n').enumerate() {
            if place > 0 {
                lines.push(String::new());
            }
            let painted = match token {
                Token::Plain => piece.to_owned(),
                Token::Keyword => style.magenta(piece),
                Token::Text => style.green(piece),
                Token::Comment => style.dim(piece),
                Token::Number => style.yellow(piece),
            };
            lines.last_mut().expect("there is a line").push_str(&painted);
        }
    }
    lines
}

/// The code in pieces.
fn tokens<'a>(code: &'a str, language: &Language) -> Vec<(Token, &'a str)> {
    let mut pieces: Vec<(Token, &str)> = Vec::new();
    let mut rest = code;
    let mut plain_from = 0;
    while !rest.is_empty() {
        let at = code.len() - rest.len();
        let before = code[..at].chars().next_back();
        match token(rest, before, language) {
            Some((token, length)) => {
                if plain_from < at {
                    pieces.push((Token::Plain, &code[plain_from..at]));
                }
                pieces.push((token, &rest[..length]));
                rest = &rest[length..];
                plain_from = at + length;
            }
            None => rest = &rest[plain_length(rest)..],
        }
    }
    if plain_from < code.len() {
        pieces.push((Token::Plain, &code[plain_from..]));
    }
    pieces
}

/// The token at the beginning of a text, and its length; `None` if it is nothing of interest.
fn token(rest: &str, before: Option<char>, language: &Language) -> Option<(Token, usize)> {
    let follows_word = before.is_some_and(is_word);
    for begin in language.comments.iter().filter(|begin| rest.starts_with(**begin)) {
        // In a shell `$#` and `a#b` are none.
        if *begin != "#" || before.is_none_or(char::is_whitespace) {
            return Some((Token::Comment, rest.find('\n').unwrap_or(rest.len())));
        }
    }
    if let Some((begin, end)) = language.blocks.iter().find(|(begin, _)| rest.starts_with(begin)) {
        let inner = &rest[begin.len()..];
        let length = inner.find(end).map_or(inner.len(), |at| at + end.len());
        return Some((Token::Comment, begin.len() + length));
    }
    if let Some(quote) = language.strings.iter().find(|quote| rest.starts_with(**quote)) {
        return string_length(rest, quote).map(|length| (Token::Text, length));
    }
    let first = rest.chars().next().filter(|_| !follows_word)?;
    if first.is_ascii_digit() {
        let end = rest.find(|letter: char| !is_word(letter) && letter != '.');
        return Some((Token::Number, end.unwrap_or(rest.len())));
    }
    let word = &rest[..plain_length(rest)];
    language
        .keywords
        .contains(&word)
        .then_some((Token::Keyword, word.len()))
}

/// How long a string is; `None` if it does not end where it must.
fn string_length(text: &str, quote: &str) -> Option<usize> {
    let may_go_on = quote.len() > 1 || quote == "`";
    let mut escaped = false;
    for (place, letter) in text.char_indices().skip(quote.chars().count()) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if !may_go_on => return None,
            _ if text[place..].starts_with(quote) => return Some(place + quote.len()),
            _ => {}
        }
    }
    may_go_on.then_some(text.len())
}

/// The length of the word at the beginning of a text, or of its first character.
fn plain_length(text: &str) -> usize {
    match text.find(|letter: char| !is_word(letter)) {
        Some(0) => text.chars().next().map_or(0, char::len_utf8),
        Some(end) => end,
        None => text.len(),
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(code: &str, language: &str) -> String {
        let known = LANGUAGES.iter().find(|known| known.names.contains(&language));
        let pieces = tokens(code, known.expect("a known language")).into_iter();
        let marked = pieces.map(|(token, text)| match token {
            Token::Plain => text.to_owned(),
            Token::Keyword => format!("k<{text}>"),
            Token::Text => format!("s<{text}>"),
            Token::Comment => format!("c<{text}>"),
            Token::Number => format!("n<{text}>"),
        });
        marked.collect()
    }

    #[test]
    fn keywords_strings_comments_and_numbers_are_told_apart() {
        assert_eq!(
            marked("fn f<'a>(x: &'a str) { let y1 = 1.5; } // fn", "rust"),
            "k<fn> f<'a>(x: &'a str) { k<let> y1 = n<1.5>; } c<// fn>"
        );
        assert_eq!(
            marked("s = \"a\\\"b\" /* two\nlines */ x", "c"),
            "s = s<\"a\\\"b\"> c</* two\nlines */> x"
        );
        assert_eq!(
            marked("echo \"$#\" a#b # end", "sh"),
            "k<echo> s<\"$#\"> a#b c<# end>"
        );
        assert_eq!(
            marked("x = \"\"\"if\nelse\"\"\" if y", "python"),
            "x = s<\"\"\"if\nelse\"\"\"> k<if> y"
        );
        assert_eq!(marked("don't return", "js"), "don't k<return>");
        assert_eq!(marked("`never ends", "js"), "s<`never ends>");
        assert_eq!(marked("größe = 模型", "py"), "größe = 模型");
    }

    #[test]
    fn every_line_stays_and_has_its_own_colours() {
        let style = Style::coloured();
        assert_eq!(
            highlighted("/* a\nb */\n", "c", style),
            ["\x1b[2m/* a\x1b[0m", "\x1b[2mb */\x1b[0m"]
        );
        assert_eq!(highlighted("+a\n b\n", "diff", Style::plain()), ["+a", " b"]);
        assert_eq!(
            highlighted("if x\n", "unheard-of", style),
            ["\x1b[36mif x\x1b[0m"]
        );
        assert_eq!(highlighted("if x\n", "c", Style::plain()), ["if x"]);
        assert_eq!(highlighted("", "c", style), [""]);
    }
}
