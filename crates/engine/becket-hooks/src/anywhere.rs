//! Patterns that were probably meant as "contains", and how such a pattern is written.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{AssertionKind, Ast, ClassPerlKind, Repetition, RepetitionKind, RepetitionRange};

use crate::matcher::Pattern;

impl Pattern {
    /// The pattern as it is written in `match`: on one line of TOML.
    pub(crate) fn in_toml(&self) -> String {
        let text = one_line(self.written());
        match self {
            Self::Exact(_) => text,
            Self::Glob(_) => format!("{{ glob = {text} }}"),
            Self::Regex(_) => format!("{{ regex = {text} }}"),
        }
    }

    /// Patterns that find this one anywhere in a text; the first is the most likely to be meant.
    pub(crate) fn anywhere(&self) -> Vec<Self> {
        let written = self.written();
        let globs = |texts: Vec<String>| texts.iter().filter_map(|text| Self::glob(text).ok()).collect();
        match self {
            Self::Exact(text) if text.contains('*') => globs(vec![
                format!("*{}*", text.trim_matches('*')),
                format!("*{}*", escaped(text)),
            ]),
            Self::Exact(text) => globs(vec![format!("*{}*", escaped(text))]),
            // An escaped `*` at the end must stay.
            Self::Glob(_) => globs(vec![
                format!("*{}*", written.trim_matches('*')),
                format!("*{written}*"),
            ]),
            Self::Regex(_) => {
                let texts = [opened(written), Some(format!(".*(?:{written}).*"))];
                let regexes = texts.iter().flatten().filter_map(|text| Self::regex(text).ok());
                regexes.collect()
            }
        }
    }

    /// How to write a pattern that finds this one in a text, as TOML; `None` if it is not there.
    pub(crate) fn found_in(&self, text: &str) -> Option<String> {
        let mut patterns = self.anywhere().into_iter();
        let fits = patterns.find(|pattern| pattern.matches(text))?;
        Some(fits.in_toml())
    }

    /// Whether the pattern of a command or of a text was probably meant to match a part of it.
    pub(crate) fn is_fragment(&self, is_command: bool) -> bool {
        let text = self.written();
        let has_words = text.trim().contains(' ');
        match self {
            Self::Exact(_) => is_command || (has_words && text.contains('*')),
            Self::Glob(_) => (is_command || has_words) && !text.contains(['*', '?', '[', '{']),
            Self::Regex(_) => (is_command || has_words || text.contains(r"\s")) && is_closed(text),
        }
    }
}

/// A text as TOML on one line.
fn one_line(text: &str) -> String {
    match text.contains(char::is_control) {
        // JSON's escapes are TOML's too; it only does not require one for this character.
        true => serde_json::Value::from(text)
            .to_string()
            .replace('\u{7f}', r"\u007F"),
        false => toml::Value::from(text).to_string(),
    }
}

/// A text in which no character has a meaning in a glob.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\*?[]{}".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Whether an expression has no open end, and does not say with `^` and `$` that it is about the whole text.
fn is_closed(expression: &str) -> bool {
    let ast = Parser::new().parse(expression);
    ast.is_ok_and(|ast| !matches!(ast, Ast::Empty(_)) && !is_open(&ast))
}

/// Whether an expression begins or ends with something of any length, or says that it is about the whole text.
fn is_open(ast: &Ast) -> bool {
    match ast {
        Ast::Repetition(repetition) => is_any_length(repetition) || is_open(&repetition.ast),
        Ast::Group(group) => is_open(&group.ast),
        Ast::Alternation(branches) => branches.asts.iter().all(is_open),
        Ast::Concat(parts) => {
            let parts = parts.asts.iter().filter(|part| !matches!(part, Ast::Flags(_)));
            let parts: Vec<&Ast> = parts.collect();
            let [first, .., last] = parts.as_slice() else {
                return parts.first().is_some_and(|part| is_open(part));
            };
            is_open(first) || is_open(last) || (is_start(first) && is_end(last))
        }
        _ => false,
    }
}

/// Whether a repetition has no limit, and is of more than one character or white space.
fn is_any_length(repetition: &Repetition) -> bool {
    let is_unlimited = matches!(
        repetition.op.kind,
        RepetitionKind::ZeroOrMore
            | RepetitionKind::OneOrMore
            | RepetitionKind::Range(RepetitionRange::AtLeast(_))
    );
    is_unlimited
        && match &*repetition.ast {
            Ast::Literal(_) => false,
            Ast::ClassPerl(class) => class.negated || class.kind != ClassPerlKind::Space,
            _ => true,
        }
}

fn is_start(ast: &Ast) -> bool {
    let Ast::Assertion(assertion) = ast else {
        return false;
    };
    matches!(
        assertion.kind,
        AssertionKind::StartLine | AssertionKind::StartText
    )
}

fn is_end(ast: &Ast) -> bool {
    let Ast::Assertion(assertion) = ast else {
        return false;
    };
    matches!(assertion.kind, AssertionKind::EndLine | AssertionKind::EndText)
}

/// An expression that matches anywhere in a text, or at its beginning or end where `^` and `$` say so.
fn opened(expression: &str) -> Option<String> {
    let ast = Parser::new().parse(expression).ok()?;
    let branches = match &ast {
        Ast::Alternation(branches) => branches.asts.as_slice(),
        _ => std::slice::from_ref(&ast),
    };
    let branches = branches.iter().map(|branch| opened_branch(expression, branch));
    Some(branches.collect::<Vec<_>>().join("|"))
}

/// A branch of an expression with open ends.
fn opened_branch(expression: &str, branch: &Ast) -> String {
    let parts = match branch {
        Ast::Concat(parts) => parts.asts.as_slice(),
        _ => std::slice::from_ref(branch),
    };
    let flags = parts
        .iter()
        .take_while(|part| matches!(part, Ast::Flags(_)))
        .count();
    let (flags, parts) = parts.split_at(flags);
    let text = |parts: &[Ast]| {
        let spans = parts
            .iter()
            .map(|part| &expression[part.span().start.offset..part.span().end.offset]);
        spans.collect::<String>()
    };
    let any = ".*";
    let (begin, parts) = match parts.split_first() {
        Some((first, rest)) if is_start(first) => ("", rest),
        _ => (any, parts),
    };
    let (parts, end) = match parts.split_last() {
        Some((last, rest)) if is_end(last) => (rest, ""),
        _ => (parts, any),
    };
    let inner = text(parts);
    let begin = if inner.starts_with(any) { "" } else { begin };
    let end = if inner.ends_with(any) { "" } else { end };
    format!("{}{begin}{inner}{end}", text(flags))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The pattern that a hint is, pasted into a file.
    fn pasted(hint: &str) -> Pattern {
        let table: toml::Table = format!("x = {hint}").parse().expect(hint);
        match &table["x"] {
            toml::Value::String(text) => Pattern::Exact(text.clone()),
            toml::Value::Table(pattern) => match (pattern.get("glob"), pattern.get("regex")) {
                (Some(glob), None) => Pattern::glob(glob.as_str().unwrap()).unwrap(),
                (None, Some(regex)) => Pattern::regex(regex.as_str().unwrap()).unwrap(),
                _ => panic!("{hint}"),
            },
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_hint_keeps_what_is_anchored() {
        for (expression, text, hint) in [
            (r"rm\s+-rf", "cd x; rm -rf y", r"{ regex = '.*rm\s+-rf.*' }"),
            ("^git push", "git push origin", r#"{ regex = "git push.*" }"#),
            ("push$", "git push", r#"{ regex = ".*push" }"#),
            ("(?i)^GIT", "git push", r#"{ regex = "(?i)GIT.*" }"#),
            ("sudo|rm -rf", "x; sudo y", r#"{ regex = ".*sudo.*|.*rm -rf.*" }"#),
            ("^sudo|rm$", "do rm", r#"{ regex = "sudo.*|.*rm" }"#),
            ("(^|;)rm", "rm x", r#"{ regex = ".*(^|;)rm.*" }"#),
            ("echo \"'", "echo \"' \n", "{ regex = \"\"\".*echo \"'.*\"\"\" }"),
        ] {
            let found = Pattern::regex(expression).unwrap().found_in(text);
            assert_eq!(found.as_deref(), Some(hint), "{expression}");
            assert!(pasted(hint).matches(text), "{hint}");
        }
    }

    #[test]
    fn an_expression_without_an_open_end_is_a_fragment() {
        let is_fragment = |text: &str| Pattern::regex(text).unwrap().is_fragment(true);
        for text in [
            r"rm\s+-rf",
            "^git push",
            "sudo|rm -rf",
            "sudo.*|rm -rf",
            r"(?i)\bsudo\b",
            "git.push",
            "(git|hg) push",
            r"git\s+",
            "git +",
        ] {
            assert!(is_fragment(text), "{text}");
        }
        for text in [
            ".*sudo.*",
            "git push( .*)?",
            r"npm run \w+",
            "^ls$",
            "^(ls|pwd)$",
            r"[a-z]+",
            "git (status|log).*|ls.*",
            "",
            r"(\S+ )*-rf",
        ] {
            assert!(!is_fragment(text), "{text}");
        }
        let of_text = |text: &str| Pattern::regex(text).unwrap().is_fragment(false);
        assert!(of_text(r"delete\s+it"));
        assert!(!of_text("shell|edit") && !of_text(r"gpt-5(-mini)?"));
    }

    proptest! {
        #[test]
        fn an_exact_text_is_found_where_it_is(before in ".{0,9}", text in ".{1,12}", after in "(?s).{0,9}") {
            let whole = format!("{before}{text}{after}");
            let hint = Pattern::Exact(text).found_in(&whole).expect("it is there");
            prop_assert!(!hint.contains('\n'));
            prop_assert!(pasted(&hint).matches(&whole), "{hint}");
        }

        #[test]
        fn a_hint_can_be_pasted_and_matches(
            pattern in "[a-c*^$|.\\\\(){}'\"\\[\\]?+ \n\t\u{7f}]{0,8}",
            whole in "[a-c*^$|.'\" \\\\\n]{0,12}",
        ) {
            let patterns = [Ok(Pattern::Exact(pattern.clone())), Pattern::glob(&pattern), Pattern::regex(&pattern)];
            for pattern in patterns.into_iter().flatten() {
                if let Some(hint) = pattern.found_in(&whole) {
                    prop_assert!(!hint.contains('\n'));
                    prop_assert!(pasted(&hint).matches(&whole), "{hint}");
                }
            }
        }
    }
}
