//! The packages that pi gives its extensions: every name that the real ones export is there, under both scopes and both
//! names of typebox. The real ones come from the npm registry; without it the test says that it skips.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use becket_pi::{Module, host_modules};
use testkit::{Room, needs, skipped};

use crate::room;

/// Packages of all generations, with the modules that extensions import: a folder of the package, and the name.
// tidy: a table
const REAL: &[(&str, &[(&str, &str)])] = &[
    ("@mariozechner/pi-coding-agent@0.58.3", &[("dist/index.js", "")]),
    ("@mariozechner/pi-coding-agent@0.73.1", &[("dist/index.js", "")]),
    ("@earendil-works/pi-coding-agent@0.87.1", &[("dist/index.js", "")]),
    ("@earendil-works/pi-coding-agent@1.5.0", &[("dist/index.js", "")]),
    (
        "@mariozechner/pi-ai@0.58.3",
        &[("dist/index.js", ""), ("dist/oauth.js", "/oauth")],
    ),
    (
        "@mariozechner/pi-ai@0.73.1",
        &[
            ("dist/index.js", ""),
            ("dist/oauth.js", "/oauth"),
            ("dist/bedrock-provider.js", "/bedrock-provider"),
            ("dist/providers/anthropic.js", "/anthropic"),
            ("dist/providers/openai-completions.js", "/openai-completions"),
            (
                "dist/providers/openai-codex-responses.js",
                "/openai-codex-responses",
            ),
        ],
    ),
    (
        "@earendil-works/pi-ai@0.87.1",
        &[("dist/index.js", ""), ("dist/compat.js", "/compat")],
    ),
    (
        "@earendil-works/pi-ai@1.5.0",
        &[
            ("dist/index.js", ""),
            ("dist/compat.js", "/compat"),
            ("dist/models.js", "/models"),
            ("dist/providers/all.js", "/providers/all"),
        ],
    ),
    ("@mariozechner/pi-tui@0.58.3", &[("dist/index.js", "")]),
    ("@mariozechner/pi-tui@0.73.1", &[("dist/index.js", "")]),
    ("@earendil-works/pi-tui@0.87.1", &[("dist/index.js", "")]),
    ("@mariozechner/pi-agent-core@0.58.3", &[("dist/index.js", "")]),
    ("@mariozechner/pi-agent-core@0.73.1", &[("dist/index.js", "")]),
    ("@earendil-works/pi-agent-core@0.87.1", &[("dist/index.js", "")]),
    ("@earendil-works/pi-agent-core@1.5.0", &[("dist/index.js", "")]),
    (
        "typebox@1.4.3",
        &[
            ("build/index.mjs", ""),
            ("build/type/index.mjs", "/type"),
            ("build/value/index.mjs", "/value"),
            ("build/compile/index.mjs", "/compile"),
        ],
    ),
    (
        "@sinclair/typebox@0.34.52",
        &[
            ("build/esm/index.mjs", ""),
            ("build/esm/value/index.mjs", "/value"),
            ("build/esm/compiler/index.mjs", "/compiler"),
            ("build/esm/errors/index.mjs", "/errors"),
        ],
    ),
];

#[test]
fn every_name_of_the_real_packages_is_there() {
    let room = room();
    let packages: Vec<&str> = REAL.iter().map(|(package, _)| *package).collect();
    let Some(folders) = fetched(&room, &packages) else {
        return;
    };
    let mut missing = Vec::new();
    for ((package, modules), folder) in REAL.iter().zip(folders) {
        let name = package.rsplit_once('@').expect("a version").0;
        for (file, subpath) in *modules {
            let import = format!("{name}{subpath}");
            let ours = names_of_host_module(&import);
            let theirs = names_of_file(&folder.join(file));
            assert!(!theirs.is_empty(), "{package} exports nothing from {file}");
            missing.extend(
                theirs
                    .difference(&ours)
                    .map(|export| format!("{export} of {import}, in {package}")),
            );
        }
    }
    assert!(missing.is_empty(), "names that are not there: {missing:#?}");
}

/// Fetches packages from the npm registry into the room, each into a folder of its own. Without the registry: nothing.
pub(crate) fn fetched(room: &Room, packages: &[&str]) -> Option<Vec<PathBuf>> {
    if !needs("npm") || !needs("tar") {
        return None;
    }
    let place = room.work().join("npm");
    std::fs::create_dir_all(&place).expect("the room is writable");
    // Where the registry is, the user's own settings say, so this runs outside of the sealed room's environment.
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", "--fetch-timeout=60000"])
        .args(packages);
    let packed = output(npm.current_dir(&place));
    let Some(listed) = packed else {
        skipped("the npm registry");
        return None;
    };
    let files: Vec<&str> = listed.lines().filter(|line| line.ends_with(".tgz")).collect();
    assert_eq!(files.len(), packages.len(), "npm packed {listed}");
    let unpacked = files.iter().map(|file| {
        let folder = place.join(file.trim_end_matches(".tgz"));
        std::fs::create_dir_all(&folder).expect("the room is writable");
        let mut tar = Command::new("tar");
        tar.arg("xzf")
            .arg(place.join(file))
            .arg("-C")
            .arg(&folder)
            .arg("--strip-components=1");
        output(&mut tar).expect("tar unpacks");
        folder
    });
    Some(unpacked.collect())
}

/// What a program printed, if it ended well. A registry that is slow may take its time.
fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(printed)
}

/// The names that a host module exports, with those that it passes on.
fn names_of_host_module(import: &str) -> BTreeSet<String> {
    let module = |name: &str| -> Module {
        let found = host_modules().iter().find(|module| module.names.contains(&name));
        *found.unwrap_or_else(|| panic!("there is no {name}"))
    };
    let mut names = BTreeSet::new();
    let mut waiting = vec![import.to_owned()];
    while let Some(name) = waiting.pop() {
        let exports = Exports::read(module(&name).source);
        names.extend(exports.names);
        waiting.extend(exports.passed_on);
    }
    names
}

/// The names that a file of JavaScript exports, with those of the files beside it that it passes on.
fn names_of_file(file: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![file.to_owned()];
    while let Some(file) = waiting.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        let text =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let exports = Exports::read(&text);
        names.extend(exports.names);
        let folder = file.parent().expect("a folder");
        let beside = exports.passed_on.iter().filter(|name| name.starts_with('.'));
        waiting.extend(beside.map(|name| folder.join(name)));
    }
    names.remove("default");
    names
}

/// What the text of a module says about its exports.
#[derive(Default)]
struct Exports {
    names: BTreeSet<String>,
    /// Modules of which everything is passed on.
    passed_on: Vec<String>,
}

impl Exports {
    fn read(text: &str) -> Self {
        let mut exports = Self::default();
        let lines = text.lines().collect::<Vec<_>>().join("\n");
        for (at, _) in lines.match_indices("export") {
            let begins = at == 0 || lines[..at].ends_with(['\n', ';', '}', '/']);
            if begins {
                exports.read_one(lines[at + "export".len()..].trim_start());
            }
        }
        exports
    }

    /// Reads what follows the word `export`.
    fn read_one(&mut self, text: &str) {
        if let Some(rest) = text.strip_prefix('*') {
            let rest = rest.trim_start();
            match rest.strip_prefix("as ") {
                Some(named) => self.add(named),
                None => self
                    .passed_on
                    .extend(rest.split(['"', '\'']).nth(1).map(str::to_owned)),
            }
            return;
        }
        let declared = text.strip_prefix("async ").unwrap_or(text);
        let declared = ["const ", "let ", "var ", "function* ", "function ", "class "]
            .iter()
            .find_map(|word| declared.strip_prefix(word));
        let list = declared.unwrap_or(text).trim_start();
        match list.strip_prefix(['{', '[']) {
            Some(list) => {
                let list = list.split(['}', ']']).next().unwrap_or_default();
                for name in list.split(',') {
                    self.add(name.rsplit(" as ").next().unwrap_or_default().trim());
                }
            }
            None => {
                if let Some(name) = declared {
                    self.add(name);
                }
            }
        }
    }

    /// Adds the identifier with which a text begins.
    fn add(&mut self, text: &str) {
        let is_part = |char: char| char.is_alphanumeric() || char == '_' || char == '$';
        let name: String = text.chars().take_while(|char| is_part(*char)).collect();
        if !name.is_empty() {
            self.names.insert(name);
        }
    }
}
