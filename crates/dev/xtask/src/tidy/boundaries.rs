//! The boundaries between crates: what each must not know, read or make.

use super::finding::Finding;
use crate::problem::Problem;
use crate::workspace::SourceFile;

/// Names of foreign systems. They appear only in the crates of the dialects.
const FOREIGN_NAMES: &[&str] = &[
    "CHIBI_",
    "shell_exec",
    "file_head",
    "pre_tool_use",
    "post_tool_use",
    "PreToolUse",
    "hook_specific_output",
    "hookSpecificOutput",
    "preempt_yolo",
    "tool_input",
    "tool_response",
    "user_bash",
    ".pi/",
    "/.chibi",
    "\".chibi",
    "cagent",
];

/// Crates that are programs, or that run programs in tests: they may look at the process they run in.
const PROGRAMS: &[&str] = &[
    "becket",
    "becket-hook",
    "becket-jq",
    "becket-sandbox",
    "testkit",
    "bench",
    "campaign",
    "fuzz",
    "xtask",
];

/// Functions of `std::env` that read nothing.
const PURE: &[&str] = &["split_paths", "join_paths", "consts"];

/// Ways to find out about terminal and home.
const SURROUNDINGS: &[&str] = &["IsTerminal", "is_terminal()", "home_dir()", "dirs::", "isatty("];

/// Names that a crate without I/O must not use.
const IO: &[&str] = &[
    "std::fs",
    "std::net",
    "std::io",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "tokio::",
    "async fn",
];

/// Functions that parse TOML without checking its nesting first.
const TOML_PARSERS: &[&str] = &[
    "toml::from_str",
    "toml::from_slice",
    "toml::de::from_",
    "toml::{from_str",
    "toml::Deserializer",
    "DeTable::parse",
    "DeValue::parse",
    "parse::<toml::",
    "parse::<Table>",
];

/// The tables of a manifest that name other crates.
const DEPENDENCIES: &[&str] = &["dependencies", "build-dependencies", "dev-dependencies"];

/// The crates that the vocabulary may depend on: data and its description.
const VOCABULARY_DEPENDENCIES: &[&str] = &["schemars", "serde", "serde_json"];

/// The floors of the workspace, from the lowest. A crate uses those below it and its neighbours.
const FLOORS: &[&str] = &[
    "base", "engine", "lanes", "agent", "host", "dialects", "run", "faces", "dev",
];

/// Floors whose crates do not know each other.
const STRANGERS: &[&str] = &["lanes", "dialects"];

/// What a crate of a floor must not use, although it stands higher: the rest of what it does not know.
const UNKNOWN: &[(&str, &[&str])] = &[
    ("becket-acp", &["becket-screen", "becket-chat", "clap"]),
    ("becket-chat", &["becket-acp", "clap"]),
    (
        "becket-face-kit",
        &["becket-record", "becket-screen", "becket-store", "clap"],
    ),
    ("becket-front", &["becket-run", "becket-store", "clap"]),
    (
        "becket-record",
        &["becket-face-kit", "becket-front", "becket-run", "clap"],
    ),
    (
        "becket-web",
        &["becket-agent", "becket-hooks", "becket-store", "clap"],
    ),
];

/// Crates that only list their neighbours.
const LISTS: &[&str] = &["becket-dialects"];

/// The lint that sends reading through `becket-fs`, as it is turned on.
const NOTED: &str = "#![cfg_attr(not(test), warn(clippy::disallowed_methods))]";

/// Crates beside those that find hooks which read none of them for a run.
const READS_NO_HOOKS: &[&str] = &["becket-check", "becket-dialects"];

/// The names of each dialect, which the crates of the other dialects must not use.
const DIALECT_NAMES: &[(&str, &[&str])] = &[
    (
        "becket-agent-hooks",
        &["\"agent-hooks\"", "agent_hooks", "AgentHooks"],
    ),
    ("becket-chibi", &["chibi"]),
    (
        "becket-claude-code",
        &["claude-code", "claude_code", "ClaudeCode"],
    ),
    ("becket-codex", &["becket_codex", "\"codex\"", ".codex/"]),
    ("becket-copilot", &["becket_copilot", "\"copilot\"", ".copilot/"]),
    (
        "becket-cursor",
        &["becket_cursor", ".cursor/", "CURSOR_PROJECT", "CURSOR_PLUGIN"],
    ),
    (
        "becket-docker-agent",
        &["docker-agent", "docker_agent", "DockerAgent"],
    ),
    ("becket-gemini", &["becket_gemini", ".gemini", "GEMINI_"]),
    ("becket-pi", &["becket_pi", "Pi::", "\"pi\"", ".pi/"]),
];

/// Chores that compare becket with other agents, or break hooks in their words.
const SPEAKS_OF_OTHERS: &[&str] = &["bench", "campaign", "xtask"];

pub fn foreign_names_stay_in_their_dialect(file: &SourceFile) -> Vec<Finding> {
    if file.floor() == "dialects" || SPEAKS_OF_OTHERS.contains(&file.crate_name()) || !file.is_shipped() {
        return Vec::new();
    }
    find(file, |code| {
        let name = FOREIGN_NAMES.iter().find(|name| code.contains(**name))?;
        Some(format!(
            "`{name}` is a foreign name; it belongs into the crate of its dialect"
        ))
    })
}

/// The dialects do not know each other.
pub fn dialects_do_not_name_each_other(file: &SourceFile) -> Vec<Finding> {
    if file.floor() != "dialects" || LISTS.contains(&file.crate_name()) || !file.is_shipped() {
        return Vec::new();
    }
    let others = || {
        let others = DIALECT_NAMES
            .iter()
            .filter(|(name, _)| *name != file.crate_name());
        others.flat_map(|(_, names)| *names)
    };
    find(file, |code| {
        let name = others().find(|name| code.contains(**name))?;
        Some(format!("`{name}` names another dialect"))
    })
}

pub fn only_programs_read_their_surroundings(file: &SourceFile) -> Vec<Finding> {
    if PROGRAMS.contains(&file.crate_name()) || !file.is_shipped() {
        return Vec::new();
    }
    find(file, |code| {
        let reads_environment = code.match_indices("env::").any(|(place, _)| {
            let called = &code[place + "env::".len()..];
            !PURE.iter().any(|pure| called.starts_with(pure))
        });
        let looks_around =
            SURROUNDINGS.iter().any(|word| code.contains(word)) || code.contains("use std::env;");
        (reads_environment || looks_around)
            .then(|| "a library is told about environment, home and terminal; it does not look".into())
    })
}

/// Checks that permits are made in one file. Other crates cannot make them, and within the gate's crate no other file
/// should.
pub fn only_the_gate_makes_permits(file: &SourceFile) -> Vec<Finding> {
    if file.path == "crates/agent/becket-gate/src/gate/permit.rs" || file.crate_name() == "xtask" {
        return Vec::new();
    }
    find(file, |code| {
        let made = code.match_indices("Permit {").any(|(place, _)| {
            let before = code[..place].trim_end();
            let is_a_longer_name = code[..place].ends_with(|character: char| character.is_alphanumeric());
            let is_no_value = ["->", "impl", "struct", "for"]
                .iter()
                .any(|word| before.ends_with(word));
            !is_a_longer_name && !is_no_value
        });
        made.then(|| "only gate/permit.rs of becket-gate makes permits".into())
    })
}

pub fn the_vocabulary_does_no_io(file: &SourceFile) -> Vec<Finding> {
    if file.crate_name() != "becket-events" || !file.is_shipped() {
        return Vec::new();
    }
    find(file, |code| {
        let word = IO.iter().find(|word| code.contains(**word))?;
        Some(format!(
            "`{word}`: the vocabulary is data, it does no I/O and knows no async runtime"
        ))
    })
}

/// Checks that a crate uses only the crates below it, and the vocabulary nothing that could do I/O.
pub fn dependencies_point_one_way(manifests: &[SourceFile]) -> Result<Vec<Finding>, Problem> {
    let mut findings = Vec::new();
    for manifest in manifests {
        let table: toml::Table =
            toml::from_str(&manifest.text).map_err(|error| format!("{}: {error}", manifest.path))?;
        for used in used_crates(&table) {
            let neighbour = manifests.iter().find(|other| other.crate_name() == used.name);
            let Some(message) = objection(manifest, &used, neighbour) else {
                continue;
            };
            let names_it = |line: &str| line.split(['.', '=', ' ']).next() == Some(used.key);
            let line = manifest.text.lines().position(names_it);
            findings.push(Finding::new(manifest, line.map_or(1, |index| index + 1), message));
        }
    }
    Ok(findings)
}

/// A crate that a manifest names.
struct Used<'a> {
    /// The name in the manifest.
    key: &'a str,
    /// The crate's own name.
    name: &'a str,
    is_for_tests: bool,
}

/// The crates that a manifest names, in whichever of its tables and under whichever name.
fn used_crates(manifest: &toml::Table) -> Vec<Used<'_>> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values);
    let tables = std::iter::once(manifest).chain(targets.filter_map(toml::Value::as_table));
    let mut used = Vec::new();
    for (table, kind) in tables.flat_map(|table| DEPENDENCIES.iter().map(move |kind| (table, *kind))) {
        let named = table.get(kind).and_then(toml::Value::as_table);
        used.extend(named.into_iter().flatten().map(|(key, value)| Used {
            key,
            name: value.get("package").and_then(toml::Value::as_str).unwrap_or(key),
            is_for_tests: kind == "dev-dependencies",
        }));
    }
    used
}

/// Why a crate must not use another one.
fn objection(manifest: &SourceFile, used: &Used<'_>, neighbour: Option<&SourceFile>) -> Option<String> {
    let (user, used, is_for_tests) = (manifest.crate_name(), used.name, used.is_for_tests);
    if is_unknown(user, used) {
        return Some(format!("{user} must not know {used}; see ARCHITECTURE.md"));
    }
    match neighbour {
        // Tests may use what is there for tests.
        Some(other) if is_for_tests && other.floor() == "dev" => None,
        Some(other) if !may_use(manifest, other) => Some(format!(
            "{user} must not use {used}: dependencies point down, and strangers stay strangers"
        )),
        None if user == "becket-events" && !is_for_tests && !VOCABULARY_DEPENDENCIES.contains(&used) => {
            Some(format!("{user} depends on data crates only, not on {used}"))
        }
        _ => None,
    }
}

/// Whether a crate must not use another, whatever their floors.
fn is_unknown(user: &str, used: &str) -> bool {
    let mut all = UNKNOWN.iter();
    all.any(|(name, unknown)| *name == user && unknown.contains(&used))
}

/// Whether one crate may use another, according to the floors.
fn may_use(user: &SourceFile, used: &SourceFile) -> bool {
    let height = |file: &SourceFile| FLOORS.iter().position(|floor| *floor == file.floor());
    if user.floor() != used.floor() {
        return height(used) < height(user);
    }
    !STRANGERS.contains(&user.floor()) || LISTS.contains(&user.crate_name())
}

/// Checks that TOML is parsed in one place: a text that is nested without end overflows the stack of the parser.
pub fn toml_is_parsed_in_one_place(file: &SourceFile) -> Vec<Finding> {
    let is_place = file.path == "crates/engine/becket-hooks/src/toml_text.rs" || file.crate_name() == "xtask";
    if is_place || !file.is_shipped() {
        return Vec::new();
    }
    find(file, |code| {
        let way = TOML_PARSERS.iter().find(|way| code.contains(**way))?;
        Some(format!(
            "`{way}` overflows the stack on some texts; use becket_hooks::parse_toml"
        ))
    })
}

/// Checks that crates which find and load hooks turn on the lint that sends their reading through `becket-fs`: a daemon
/// that keeps hooks loaded must notice every change of what was read.
pub fn hooks_are_read_where_it_is_noted(file: &SourceFile) -> Vec<Finding> {
    let reads_hooks = (["host", "dialects"].contains(&file.floor())
        && !READS_NO_HOOKS.contains(&file.crate_name()))
        || ["becket-run", "becket-js"].contains(&file.crate_name());
    if !reads_hooks || !file.path.ends_with("/src/lib.rs") || file.text.contains(NOTED) {
        return Vec::new();
    }
    vec![Finding::new(
        file,
        1,
        format!("`{NOTED}` is missing; see clippy.toml"),
    )]
}

/// Findings about the lines of code, without comments and tests, for which `object` returns an objection.
fn find(file: &SourceFile, object: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let lines = file.shipped_code().enumerate();
    lines
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .filter_map(|(index, line)| Some(Finding::new(file, index + 1, object(line)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile {
            path: path.into(),
            text: text.into(),
        }
    }

    fn lines(findings: Vec<Finding>) -> Vec<usize> {
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn foreign_names_are_found_in_code_only() {
        let text = "//! As in shell_exec.\nlet x = \"CHIBI_HOOK\";\n#[cfg(test)]\nmod tests {\nlet y = \"tool_input\";\n";
        let check = foreign_names_stay_in_their_dialect;
        assert_eq!(
            lines(check(&file("crates/agent/becket-agent/src/run.rs", text))),
            [2]
        );
        assert!(check(&file("crates/dialects/becket-chibi/src/tools.rs", text)).is_empty());
        assert!(check(&file("crates/agent/becket-agent/tests/run.rs", text)).is_empty());
    }

    #[test]
    fn a_library_does_not_look_around() {
        let text =
            "let a = std::env::var(\"A\");\nlet b = std::env::split_paths(&x);\nuse std::io::IsTerminal;\n";
        let check = only_programs_read_their_surroundings;
        assert_eq!(
            lines(check(&file("crates/agent/becket-tools/src/x.rs", text))),
            [1, 3]
        );
        assert!(check(&file("crates/faces/becket/src/x.rs", text)).is_empty());
    }

    #[test]
    fn permits_are_made_in_one_place() {
        let text = "Permitted(Permit {\npub struct Permit {\nfn x() -> Permit {\nNoPermit {\nimpl Permit {\n";
        let check = only_the_gate_makes_permits;
        assert_eq!(
            lines(check(&file("crates/agent/becket-agent/src/run.rs", text))),
            [1]
        );
        assert!(check(&file("crates/agent/becket-gate/src/gate/permit.rs", text)).is_empty());
    }

    #[test]
    fn the_vocabulary_stays_pure() {
        let text = "use std::fmt;\nuse std::fs;\nasync fn x() {}\n";
        assert_eq!(
            lines(the_vocabulary_does_no_io(&file(
                "crates/engine/becket-events/src/x.rs",
                text
            ))),
            [2, 3]
        );
    }

    #[test]
    fn toml_is_not_parsed_anywhere() {
        let text = "let a: A = toml::from_str(x)?;\nDeTable::parse(x);\nparse_toml(x);\n#[cfg(test)]\nmod tests {\ntoml::from_str(x);\n";
        let check = toml_is_parsed_in_one_place;
        assert_eq!(lines(check(&file("crates/faces/becket/src/x.rs", text))), [1, 2]);
        assert!(check(&file("crates/engine/becket-hooks/src/toml_text.rs", text)).is_empty());
        assert!(check(&file("crates/faces/becket/tests/x.rs", text)).is_empty());
    }

    #[test]
    fn a_crate_that_reads_hooks_says_so() {
        let check = hooks_are_read_where_it_is_noted;
        let text = "//! A dialect.\n";
        assert_eq!(
            lines(check(&file("crates/dialects/becket-x/src/lib.rs", text))),
            [1]
        );
        assert!(check(&file("crates/dialects/becket-x/src/lib.rs", NOTED)).is_empty());
        assert!(check(&file("crates/dialects/becket-x/src/x.rs", text)).is_empty());
        assert!(check(&file("crates/agent/becket-x/src/lib.rs", text)).is_empty());
    }

    #[test]
    fn dialects_are_strangers() {
        let text = "//! As in chibi.\nlet x = \"docker-agent\";\nlet y = \"chibi\";\n#[cfg(test)]\nmod tests {\nbecket_pi::z();\n";
        let check = |name: &str| {
            let file = file(&format!("crates/dialects/{name}/src/x.rs"), text);
            lines(dialects_do_not_name_each_other(&file))
        };
        assert_eq!(check("becket-chibi"), [2]);
        assert_eq!(check("becket-pi"), [2, 3]);
        assert!(check("becket-dialects").is_empty());
    }

    #[test]
    fn every_dialect_has_names_that_the_others_do_not_say() {
        let manifests = Workspace::here().manifests().unwrap();
        let dialects = manifests.iter().filter(|file| file.floor() == "dialects");
        for dialect in dialects.map(SourceFile::crate_name) {
            let is_listed = DIALECT_NAMES.iter().any(|(name, _)| *name == dialect);
            assert_ne!(is_listed, LISTS.contains(&dialect), "{dialect}");
        }
    }

    #[test]
    fn dependencies_point_down() {
        let check = |path: &str, uses: &[&str]| {
            let manifest = |path: &str, uses: &[&str]| {
                let lines = uses.iter().map(|name| format!("{name} = \"1\"\n"));
                let text = format!("[dependencies]\n{}", lines.collect::<String>());
                file(&format!("crates/{path}/Cargo.toml"), &text)
            };
            let mut manifests = vec![manifest(path, uses)];
            let others = [
                "engine/becket-hooks",
                "lanes/becket-js",
                "agent/becket-agent",
                "agent/becket-tools",
                "dialects/becket-pi",
                "host/becket-dialect-kit",
                "faces/becket",
            ];
            manifests.extend(others.iter().map(|path| manifest(path, &[])));
            lines(dependencies_point_one_way(&manifests).unwrap())
        };
        assert_eq!(
            check(
                "agent/becket-store",
                &["becket-hooks", "becket-agent", "becket", "url"]
            ),
            [4]
        );
        assert_eq!(
            check(
                "lanes/becket-scheme",
                &["becket-agent", "becket-hooks", "becket-js"]
            ),
            [2, 4]
        );
        assert_eq!(
            check("dialects/becket-chibi", &["becket-dialect-kit", "becket-pi"]),
            [3]
        );
        assert!(check("dialects/becket-dialects", &["becket-dialect-kit", "becket-pi"]).is_empty());
        assert_eq!(check("engine/becket-events", &["serde", "tokio"]), [3]);
        assert_eq!(check("faces/becket-chat", &["becket-agent", "clap"]), [3]);
    }

    #[test]
    fn no_table_of_a_manifest_hides_a_dependency() {
        for text in [
            "[dev-dependencies]\nbecket-chibi = \"1\"\n",
            "[build-dependencies]\nbecket-chibi = \"1\"\n",
            "[target.'cfg(unix)'.dependencies]\nbecket-chibi = \"1\"\n",
            "[dependencies]\nother = { package = \"becket-chibi\", version = \"1\" }\n",
        ] {
            let user = file("crates/dialects/becket-pi/Cargo.toml", text);
            let other = file("crates/dialects/becket-chibi/Cargo.toml", "");
            let found = dependencies_point_one_way(&[user, other]).unwrap();
            assert_eq!(lines(found), [2], "{text}");
        }
    }
}
