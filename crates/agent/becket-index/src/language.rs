//! The language of a file, by the extension of its name.

use std::path::Path;

use crate::grammar::{self, Grammar};

/// The extensions of each language. Languages without a grammar here are for plugins.
// tidy: a table
const LANGUAGES: &[(&str, &[&str])] = &[
    ("rust", &["rs"]),
    ("python", &["py", "pyi", "pyw"]),
    ("javascript", &["js", "jsx", "mjs", "cjs"]),
    ("typescript", &["ts", "tsx", "mts", "cts"]),
    ("go", &["go"]),
    ("c", &["c", "h"]),
    ("java", &["java"]),
    ("clojure", &["clj", "cljs", "cljc"]),
    ("cpp", &["cpp", "hpp", "cc", "hh", "cxx", "hxx"]),
    ("csharp", &["cs"]),
    ("css", &["css", "scss"]),
    ("dart", &["dart"]),
    ("elixir", &["ex", "exs"]),
    ("erlang", &["erl", "hrl"]),
    ("haskell", &["hs"]),
    ("html", &["html", "htm"]),
    ("json", &["json"]),
    ("julia", &["jl"]),
    ("kotlin", &["kt", "kts"]),
    ("lua", &["lua"]),
    ("markdown", &["md"]),
    ("nix", &["nix"]),
    ("ocaml", &["ml", "mli"]),
    ("perl", &["pl", "pm"]),
    ("php", &["php"]),
    ("r", &["r", "R"]),
    ("ruby", &["rb"]),
    ("scala", &["scala"]),
    ("scheme", &["scm", "sld", "ss"]),
    ("shell", &["sh", "bash", "zsh"]),
    ("sql", &["sql"]),
    ("swift", &["swift"]),
    ("toml", &["toml"]),
    ("yaml", &["yaml", "yml"]),
    ("zig", &["zig"]),
];

/// The language of a file; `None` if its name does not tell.
pub fn language_of(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?;
    let language = LANGUAGES.iter().find(|(_, endings)| endings.contains(&ending))?;
    Some(language.0)
}

/// The grammar for a file, if there is one.
pub(crate) fn grammar_of(path: &Path) -> Option<&'static Grammar> {
    let language = language_of(path)?;
    let is_tsx = path.extension().is_some_and(|ending| ending == "tsx");
    let name = if is_tsx { "tsx" } else { language };
    grammar::all().iter().find(|grammar| grammar.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_name_tells_the_language() {
        for (name, language, has_grammar) in [
            ("src/main.rs", Some("rust"), true),
            ("a/b.tsx", Some("typescript"), true),
            ("x.h", Some("c"), true),
            ("x.zig", Some("zig"), false),
            ("Makefile", None, false),
            ("x.unheard", None, false),
            (".rs", None, false),
        ] {
            assert_eq!(language_of(Path::new(name)), language, "{name}");
            assert_eq!(grammar_of(Path::new(name)).is_some(), has_grammar, "{name}");
        }
    }

    #[test]
    fn no_ending_stands_for_two_languages() {
        let mut endings: Vec<_> = LANGUAGES.iter().flat_map(|(_, endings)| *endings).collect();
        let count = endings.len();
        endings.sort();
        endings.dedup();
        assert_eq!(endings.len(), count);
    }
}
