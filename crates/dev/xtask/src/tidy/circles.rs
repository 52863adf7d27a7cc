//! No cycles: modules of a crate do not use each other in turn, by whatever path.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::modules::{Knot, Module, Modules};
use crate::workspace::SourceFile;

/// Cycles that must be: the crate, the modules of the cycle, and why.
const MUST_BE: &[(&str, &[&str], &str)] = &[(
    "becket-trust",
    &[
        "follow::calls",
        "follow::javascript",
        "follow::python",
        "follow::shell",
    ],
    "code of one language stands in a text of another: `python3 -c` in a shell line, a shell line in Python",
)];

/// Finds the cycles of all crates.
pub fn modules_use_each_other_one_way(files: &[SourceFile]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_shipped()) {
        crates.entry(file.crate_name()).or_default().push(file);
    }
    crates
        .iter()
        .flat_map(|(name, files)| circles_of(name, files))
        .collect()
}

fn circles_of(name: &str, files: &[&SourceFile]) -> Vec<Finding> {
    let modules = Modules::of(files);
    let mut findings = Vec::new();
    for Knot {
        modules: tied,
        circle,
    } in modules.knots()
    {
        if must_be(name, &tied) {
            continue;
        }
        let size = tied.len();
        let way: Vec<String> = circle.iter().map(shown).collect();
        let file = files
            .iter()
            .find(|file| Some(&file.path) == modules.files.get(&circle[0]));
        let message = format!(
            "{size} modules of {name} use each other in a circle: {}",
            way.join(" → ")
        );
        findings.extend(file.map(|file| Finding::new(file, 1, message)));
    }
    findings
}

/// Whether all of these modules are listed with a reason.
fn must_be(name: &str, tied: &[Module]) -> bool {
    let is_listed = |module: &Module, modules: &[&str]| modules.contains(&shown(module).as_str());
    let mut listed = MUST_BE.iter().filter(|(known, ..)| *known == name);
    listed.any(|(_, modules, _)| tied.iter().all(|module| is_listed(module, modules)))
}

fn shown(module: &Module) -> String {
    match module.is_empty() {
        true => "crate".to_owned(),
        false => module.join("::"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| SourceFile {
            path: format!("crates/engine/x/src/{path}"),
            text: (*text).into(),
        };
        let files: Vec<SourceFile> = files.iter().map(file).collect();
        let findings = modules_use_each_other_one_way(&files);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn circles_are_found_by_any_path() {
        let lib = ("lib.rs", "mod a;\nmod b;\npub use b::Thing;\n");
        let told = "crates/engine/x/src/a.rs:1: 2 modules of x use each other in a circle: a → b → a";
        for (a, b) in [
            ("use crate::b::Other;", "use super::a::{self, Name};"),
            (
                "use crate::{c::{d, e}, b::{Other as O}};",
                "fn f() { crate::a::g(); }",
            ),
            (
                "fn f() -> crate::Thing {}",
                "let x = format!(\"{}\", super::a::g());",
            ),
            (
                "use super::Thing;",
                "let quote = '\"'; super::a::g(); let end = '\"';",
            ),
        ] {
            assert_eq!(found(&[lib, ("a.rs", a), ("b.rs", b)]), [told], "{a} {b}");
        }
    }

    #[test]
    fn what_is_passed_on_tests_texts_and_comments_make_no_circle() {
        let lib = (
            "lib.rs",
            "mod a;\nmod b;\npub use a::Name;\npub use b::{Thing, more::*};\n",
        );
        let b = "// crate::a::x\nlet x = \"crate::a::x\";\n#[cfg(test)]\nmod tests {\nuse crate::a::y;\n";
        assert!(found(&[lib, ("a.rs", "use crate::Thing;\nuse super::b;"), ("b.rs", b)]).is_empty());
    }
}
