//! The boundaries between crates: what each must not know, read or make.

use super::Finding;
use crate::Problem;
use crate::workspace::SourceFile;

/// Words of foreign systems. They appear in `becket-dialects` and nowhere else.
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

/// Crates that are programs, or that stand around programs in tests: they may look at the process they run in.
const PROGRAMS: &[&str] = &["becket", "testkit", "bench", "fuzz", "xtask"];

/// Functions of `std::env` that read nothing.
const PURE: &[&str] = &["split_paths", "join_paths", "consts"];

/// Ways to find out about terminal and home.
const SURROUNDINGS: &[&str] = &["IsTerminal", "is_terminal()", "home_dir()", "dirs::", "isatty("];

/// What a crate without I/O does not use.
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

/// What the vocabulary may depend on: data and its description.
const VOCABULARY_DEPENDENCIES: &[&str] = &["schemars", "serde", "serde_json"];

/// Which of the project's crates each crate may use. What is not listed may use none.
const EDGES: &[(&str, &[&str])] = &[
    ("becket-hooks", &["becket-events"]),
    ("becket-dialects", &["becket-events", "becket-hooks"]),
    ("becket-js", &["becket-hooks"]),
    ("becket-agent", &["becket-events", "becket-hooks"]),
    ("becket-providers", &["becket-events", "becket-agent"]),
    ("becket-tools", &["becket-events", "becket-hooks", "becket-agent"]),
    ("becket-mcp", &["becket-events", "becket-hooks", "becket-agent"]),
    ("becket-store", &["becket-events", "becket-hooks", "becket-agent"]),
    ("becket-index", &["becket-events", "becket-agent"]),
    (
        "becket",
        &[
            "becket-events",
            "becket-hooks",
            "becket-dialects",
            "becket-scheme",
            "becket-js",
            "becket-agent",
            "becket-providers",
            "becket-tools",
            "becket-mcp",
            "becket-store",
            "becket-index",
            "becket-jq",
            "becket-screen",
            "becket-snapshot",
            "becket-web",
        ],
    ),
    (
        "fuzz",
        &[
            "becket",
            "becket-agent",
            "becket-dialects",
            "becket-events",
            "becket-hooks",
            "becket-index",
            "becket-jq",
            "becket-js",
            "becket-mcp",
            "becket-providers",
            "becket-scheme",
            "becket-screen",
            "becket-store",
            "becket-tools",
        ],
    ),
    (
        "bench",
        &[
            "becket",
            "becket-events",
            "becket-hooks",
            "becket-dialects",
            "becket-js",
            "becket-scheme",
            "becket-agent",
            "becket-providers",
            "becket-store",
            "becket-index",
            "becket-snapshot",
            "testkit",
        ],
    ),
];

pub fn foreign_names_stay_in_their_dialect(file: &SourceFile) -> Vec<Finding> {
    if matches!(file.crate_name(), "becket-dialects" | "xtask") || !file.is_shipped() {
        return Vec::new();
    }
    find(file, |code| {
        let name = FOREIGN_NAMES.iter().find(|name| code.contains(**name))?;
        Some(format!(
            "`{name}` is a foreign name; it belongs into becket-dialects"
        ))
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

pub fn only_the_gate_makes_permits(file: &SourceFile) -> Vec<Finding> {
    if file.path == "crates/becket-agent/src/gate.rs" || file.crate_name() == "xtask" {
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
        made.then(|| "only gate.rs makes permits".into())
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

/// A crate uses only the crates below it, and the vocabulary nothing that could do I/O.
pub fn dependencies_point_one_way(manifest: &SourceFile) -> Result<Vec<Finding>, Problem> {
    let table: toml::Table =
        toml::from_str(&manifest.text).map_err(|error| format!("{}: {error}", manifest.path))?;
    let name = manifest.crate_name();
    let allowed = EDGES
        .iter()
        .find(|(user, _)| *user == name)
        .map_or(&[][..], |(_, used)| used);
    let dependencies = table.get("dependencies").and_then(toml::Value::as_table);
    let names = dependencies
        .into_iter()
        .flat_map(|dependencies| dependencies.keys());
    let mut findings = Vec::new();
    for used in names {
        let is_ours = used.starts_with("becket") || used == "testkit";
        let message = if is_ours && !allowed.contains(&used.as_str()) {
            format!("{name} must not use {used}: dependencies point one way")
        } else if name == "becket-events" && !VOCABULARY_DEPENDENCIES.contains(&used.as_str()) {
            format!("{name} depends on data crates only, not on {used}")
        } else {
            continue;
        };
        let line = manifest
            .text
            .lines()
            .position(|line| line.starts_with(used.as_str()));
        findings.push(Finding::new(manifest, line.map_or(1, |index| index + 1), message));
    }
    // A way that is allowed and not used is open to whoever takes it by mistake.
    let unused = allowed.iter().filter(|allowed| {
        let mut used = dependencies
            .into_iter()
            .flat_map(|dependencies| dependencies.keys());
        !used.any(|used| used == *allowed)
    });
    findings.extend(unused.map(|unused| {
        let message = format!("{name} does not use {unused}: take it out of the map of edges");
        Finding::new(manifest, 1, message)
    }));
    Ok(findings)
}

/// The lines of code, comments and tests left out, to which somebody has an objection.
fn find(file: &SourceFile, object: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let lines = file.text.lines().enumerate();
    lines
        .take(file.shipped_lines())
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .filter_map(|(index, line)| Some(Finding::new(file, index + 1, object(line)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let text = "//! As in shell_exec.\nlet x = \"CHIBI_HOOK\";\n#[cfg(test)]\nlet y = \"tool_input\";\n";
        let check = foreign_names_stay_in_their_dialect;
        assert_eq!(lines(check(&file("crates/becket-agent/src/run.rs", text))), [2]);
        assert!(check(&file("crates/becket-dialects/src/chibi/tools.rs", text)).is_empty());
        assert!(check(&file("crates/becket-agent/tests/run.rs", text)).is_empty());
    }

    #[test]
    fn a_library_does_not_look_around() {
        let text =
            "let a = std::env::var(\"A\");\nlet b = std::env::split_paths(&x);\nuse std::io::IsTerminal;\n";
        let check = only_programs_read_their_surroundings;
        assert_eq!(lines(check(&file("crates/becket-tools/src/x.rs", text))), [1, 3]);
        assert!(check(&file("crates/becket/src/x.rs", text)).is_empty());
    }

    #[test]
    fn permits_are_made_in_one_place() {
        let text = "Permitted(Permit {\npub struct Permit {\nfn x() -> Permit {\nNoPermit {\nimpl Permit {\n";
        let check = only_the_gate_makes_permits;
        assert_eq!(lines(check(&file("crates/becket-agent/src/run.rs", text))), [1]);
        assert!(check(&file("crates/becket-agent/src/gate.rs", text)).is_empty());
    }

    #[test]
    fn the_vocabulary_stays_pure() {
        let text = "use std::fmt;\nuse std::fs;\nasync fn x() {}\n";
        assert_eq!(
            lines(the_vocabulary_does_no_io(&file(
                "crates/becket-events/src/x.rs",
                text
            ))),
            [2, 3]
        );
    }

    #[test]
    fn dependencies_are_checked_against_the_map() {
        let check = |name: &str, text: &str| {
            let manifest = file(&format!("crates/{name}/Cargo.toml"), text);
            lines(dependencies_point_one_way(&manifest).unwrap())
        };
        let agent = "[dependencies]\nbecket-events = \"1\"\nbecket-tools = \"1\"\nbecket-hooks = \"1\"\nurl = \"2\"\n";
        assert_eq!(check("becket-agent", agent), [3]);
        let unused = check("becket-agent", "[dependencies]\nbecket-events = \"1\"\n");
        assert_eq!(unused, [1], "it may use becket-hooks, and does not");
        assert_eq!(
            check("becket-events", "[dependencies]\nserde = \"1\"\ntokio = \"1\"\n"),
            [3]
        );
        let hooks = "[dependencies]\nbecket-events = \"1\"\n[dev-dependencies]\nbecket = \"1\"\n";
        assert!(check("becket-hooks", hooks).is_empty());
    }
}
