//! Python: `import` and `from … import` of modules that may lie beside the script, and what its calls start. Text that
//! only looks like an import names files that do not exist, which does no harm.
//!
//! Python without a script looks for modules in the working directory, where the agent writes. Its environment says
//! that it must not, and names the copy instead; options in the command line would have to be put into scripts as well.

use super::calls::{self, Starters, Takes};
use super::followed::{Base, Followed, line_of, shown};
use super::language::Language;

/// The longest name of a module. Every package in it is a file that may be meant.
const LONGEST_MODULE: usize = 500;

/// Words by which a script loads something that its text does not name.
const OPEN: &[&str] = &[
    "importlib.util",
    "importlib.machinery",
    "import_module",
    "__import__",
    "run_module",
    "sys.path",
    "execfile",
    "pkgutil",
    "zipimport",
    "addsitedir",
    "ctypes",
];

/// Functions that run something.
const STARTERS: &[Starters] = &[
    Starters {
        module: "subprocess",
        names: &[
            "run",
            "call",
            "check_call",
            "check_output",
            "Popen",
            "getoutput",
            "getstatusoutput",
        ],
        takes: Takes::Line,
    },
    Starters {
        module: "os",
        names: &["system", "popen"],
        takes: Takes::Line,
    },
    Starters {
        module: "os",
        names: &[
            "execv", "execve", "execvp", "execvpe", "execl", "execle", "execlp", "execlpe",
        ],
        takes: Takes::Program,
    },
    Starters {
        module: "os",
        names: &["posix_spawn", "posix_spawnp"],
        takes: Takes::Program,
    },
    Starters {
        module: "os",
        names: &[
            "spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe",
        ],
        takes: Takes::Code,
    },
    Starters {
        module: "asyncio",
        names: &["create_subprocess_shell"],
        takes: Takes::Line,
    },
    Starters {
        module: "asyncio",
        names: &["create_subprocess_exec"],
        takes: Takes::Program,
    },
    Starters {
        module: "pty",
        names: &["spawn"],
        takes: Takes::Line,
    },
    Starters {
        module: "runpy",
        names: &["run_path"],
        takes: Takes::File(Language::Python),
    },
    Starters {
        module: "",
        names: &["exec", "eval", "compile"],
        takes: Takes::Code,
    },
];

/// What the text of a script says about other files.
pub fn follow(text: &str, base: Base) -> Followed {
    let mut followed = calls::follow(text, STARTERS);
    followed.whole_folder |= text.contains("__file__");
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
            // The names may continue over several lines.
            let mut is_open = names.contains('(') && !names.contains(')');
            while is_open {
                let Some(line) = lines.next() else { break };
                let line = line.split('#').next().unwrap_or_default();
                is_open = !line.contains(')');
                names.push(' ');
                names.push_str(line);
            }
            let names: Vec<&str> = names.split(['(', ')', ',']).map(first_word).collect();
            module(&mut followed, base, from.trim(), &names);
        }
    }
    for word in OPEN {
        for (at, _) in text.match_indices(word) {
            match named_module(&text[at + word.len()..]) {
                Some(name) if is_by_name(word) => module(&mut followed, base, name, &[]),
                // Importing the module that loads others runs nothing yet.
                _ if is_by_name(word) && !text[at + word.len()..].starts_with('(') => {}
                _ => {
                    followed.open(line_of(text, at), format!("`{word}` may load anything"));
                    break;
                }
            }
        }
    }
    followed
}

/// Whether the word is followed by the name of a module in brackets.
fn is_by_name(word: &str) -> bool {
    ["import_module", "__import__", "run_module"].contains(&word)
}

/// The quoted name that is the only content of the brackets.
fn named_module(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('(')?.trim_start();
    let quote = inner.chars().next().filter(|sign| ['"', '\''].contains(sign))?;
    let (name, rest) = inner[1..].split_once(quote)?;
    let is_name = |character: char| character.is_alphanumeric() || ['_', '.'].contains(&character);
    (rest.trim_start().starts_with(')') && name.chars().all(is_name)).then_some(name)
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// Adds the files that a module may be, with those of the packages around it and of the names that are imported from
/// it.
fn module(followed: &mut Followed, base: Base, name: &str, taken: &[&str]) {
    if name.len() > LONGEST_MODULE {
        return followed.open(1, format!("`{}` is too long to be followed", shown(name)));
    }
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
            ("import importlib\nimportlib.import_module('rules')", "rules.py"),
            ("import runpy\nrunpy.run_path('rules.py')", "rules.py"),
            ("import os\nos.system('sh rules.sh')", "rules.sh"),
        ] {
            let found = follow(text, Base::Script);
            let is_it = |used: &super::super::followed::Use| used.path.to_str() == Some(file);
            assert!(
                found.uses.iter().any(is_it) && found.open.is_empty(),
                "{text}: {found:?}"
            );
        }
        assert!(follow("open(__file__)", Base::Script).whole_folder);
    }

    #[test]
    fn what_is_remembered_of_a_text_is_not_much_longer_than_it() {
        for text in [
            format!("import {}", "a.".repeat(20_000)),
            format!("from {} import {}", "a".repeat(20_000), "b,".repeat(1000)),
            format!("from {} import b", ".".repeat(20_000)),
            format!("from a import (\n{}", "b,\n".repeat(10_000)),
        ] {
            let found = follow(&text, Base::Script);
            let remembered: usize = found.uses.iter().map(|used| used.path.as_os_str().len()).sum();
            assert!(remembered < 20 * text.len(), "{remembered} for {}", text.len());
            assert_eq!(
                found.whole_folder,
                !text.contains("from a import"),
                "{:?}",
                found.open
            );
        }
    }

    #[test]
    fn what_is_only_known_when_it_runs_is_open() {
        for text in [
            "importlib.import_module(x)",
            "importlib.import_module('a' + x)",
            "importlib.util.spec_from_file_location('a', x)",
            "__import__(x)",
            "import os; os.system(x)",
            "import os; os.popen('sh ' + x)",
            "import os; os.execv(x, [x])",
            "import subprocess; subprocess.Popen(x)",
            "from subprocess import Popen; Popen(x)",
            "import runpy; runpy.run_path(x)",
            "import runpy; runpy.run_module(x)",
            "exec(open(x).read())",
            "eval(compile(x, 'x', 'exec'))",
            "sys.path.insert(0, x)",
        ] {
            let open = follow(&format!("x = 1\n{text}"), Base::Script);
            let first = open.open.first().map(ToString::to_string).unwrap_or_default();
            assert!(
                open.whole_folder && first.starts_with("line 2"),
                "{text}: {open:?}"
            );
        }
        assert!(
            follow("re.compile(x)\nimport importlib\n", Base::Script)
                .open
                .is_empty()
        );
    }
}
