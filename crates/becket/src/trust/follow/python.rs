//! Python: `import` and `from … import` of modules that may lie beside the script. Text that only looks like an import
//! names files that are not there, and does no harm.

use super::{Base, Followed, Language};

/// Words by which a script loads what its text does not name.
const OPEN: &[&str] = &[
    "__import__",
    "importlib",
    "runpy",
    "exec(",
    "sys.path",
    "execfile",
    "pkgutil",
];

/// What the text of a script says.
pub fn follow(text: &str, base: Base) -> Followed {
    let mut followed = Followed {
        whole_folder: text.contains("__file__"),
        ..Followed::default()
    };
    let joined = text.replace("\\\n", " ");
    let mut lines = joined.split(['\n', ';']);
    while let Some(line) = lines.next() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(names) = line.strip_prefix("import ") {
            for name in names.split(',') {
                module(&mut followed, base, first_word(name), &[]);
            }
        }
        if let Some((from, names)) = line
            .strip_prefix("from ")
            .and_then(|rest| rest.split_once(" import "))
        {
            let mut names = names.to_owned();
            // The names may go on over several lines.
            while names.contains('(') && !names.contains(')') {
                let Some(line) = lines.next() else { break };
                names.push(' ');
                names.push_str(line.split('#').next().unwrap_or_default());
            }
            let names: Vec<&str> = names.split(['(', ')', ',']).map(first_word).collect();
            module(&mut followed, base, from.trim(), &names);
        }
    }
    for word in OPEN {
        if let Some(at) = text.find(word) {
            followed.whole_folder = true;
            let line = super::line_of(text, at);
            followed.open.push(format!(
                "line {line}: `{}` may load anything",
                word.trim_end_matches('(')
            ));
        }
    }
    followed
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// The files that a module may be, with those of the packages around it and of the names that are taken from it.
fn module(followed: &mut Followed, base: Base, name: &str, taken: &[&str]) {
    let dots = name.len() - name.trim_start_matches('.').len();
    let mut path = "../".repeat(dots.saturating_sub(1));
    let parts = name
        .trim_start_matches('.')
        .split('.')
        .filter(|part| !part.is_empty());
    let mut add = |path: &str| {
        followed.guess(base, format!("{path}.py"), Some(Language::Python));
        followed.guess(base, format!("{path}/__init__.py"), Some(Language::Python));
    };
    for part in parts {
        path.push_str(part);
        add(&path);
        path.push('/');
    }
    for name in taken.iter().filter(|name| !name.is_empty() && **name != "*") {
        add(&format!("{path}{name}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_followed_in_all_their_shapes() {
        for (text, file) in [
            ("import rules", "rules.py"),
            ("import os, rules as r  # why not", "rules.py"),
            ("    import pkg.deep", "pkg/deep.py"),
            ("import pkg.deep", "pkg/__init__.py"),
            ("from pkg import deep", "pkg/deep.py"),
            ("from pkg import (\n  other,  # one\n  deep,\n)", "pkg/deep.py"),
            ("from . import rules", "rules.py"),
            ("from ..up import rules", "../up.py"),
            ("x = 1; import rules", "rules.py"),
            ("from pkg \\\n import deep", "pkg/deep.py"),
        ] {
            let found = follow(text, Base::Script).uses;
            assert!(
                found.iter().any(|used| used.path.to_str() == Some(file)),
                "{text}: {found:?}"
            );
        }
        assert!(follow("open(__file__)", Base::Script).whole_folder);
        let open = follow("x = 1\nimportlib.import_module(x)", Base::Script);
        assert!(
            open.whole_folder && open.open[0].starts_with("line 2"),
            "{open:?}"
        );
    }
}
