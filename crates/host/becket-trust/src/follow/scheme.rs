//! Scheme: `load` and `include` of files that are named in the text, and libraries that may lie beside the script.

use super::followed::{Base, Followed, line_of};
use super::language::Language;

/// Forms whose strings are names of files.
const FORMS: &[&str] = &[
    "(load ",
    "(include ",
    "(include-ci ",
    "(include-library-declarations ",
];

/// What the text of a script says about other files.
pub fn follow(text: &str) -> Followed {
    let mut followed = Followed::default();
    for form in FORMS {
        for (at, _) in text.match_indices(form) {
            let rest = &text[at + form.len()..];
            let rest = &rest[..rest.find(')').unwrap_or(rest.len())];
            let mut names = rest.split('"').skip(1).step_by(2).peekable();
            if names.peek().is_none() {
                let form = form.trim_matches(['(', ' ']);
                followed.open(
                    line_of(text, at),
                    format!("`{form}` of a file that is not named there"),
                );
            }
            for name in names {
                followed.guess(Base::Script, name, Some(Language::Scheme));
                followed.guess(Base::Directory, name, Some(Language::Scheme));
            }
        }
    }
    for (at, _) in text.match_indices("(import ") {
        for set in text[at + 8..].split('(').skip(1).take(20) {
            let name = set.split(')').next().unwrap_or_default();
            let path: Vec<&str> = name.split_whitespace().collect();
            followed.guess(
                Base::Script,
                format!("{}.sld", path.join("/")),
                Some(Language::Scheme),
            );
        }
    }
    followed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_and_includes_are_followed() {
        let found =
            follow("(import (scheme base) (own rules))\n(include \"a.scm\" \"b.scm\")\n(load \"c.scm\")");
        let names: Vec<_> = found.uses.iter().filter_map(|used| used.path.to_str()).collect();
        for name in ["a.scm", "b.scm", "c.scm", "own/rules.sld"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(!found.whole_folder);
        assert!(follow("(load name)").whole_folder);
    }
}
