//! Which extensions are loaded in Node. This is decided by the modules that an extension's files name, before anything
//! of it runs, so that nothing happens twice.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use becket_hooks::{Cause, Failure, Program};
use serde_json::Value;

use super::Engine;
use super::finding::is_foreign;
use crate::kit::Kit;
use crate::node::table;
use crate::packages::Asked;
use crate::resolve::{INTEROP, Kind, Modules};

/// Where an extension is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EngineChoice {
    /// In the embedded engine. If that fails, this text says why Node was not used.
    Inside(String),
    /// In Node.
    Outside,
}

/// Programs that can run extensions, by their names on the PATH.
const PROGRAMS: &[&str] = &["node", "bun"];

/// Modules of Node whose refused exports count even in packages, because nothing uses them in passing.
const SERIOUS: &[&str] = &[
    "cluster",
    "dgram",
    "http",
    "http2",
    "https",
    "inspector",
    "net",
    "sqlite",
    "tls",
    "vm",
    "wasi",
    "worker_threads",
];

/// Packages by which others find and load addons compiled for Node.
const FINDERS: &[&str] = &[
    "@mapbox/node-pre-gyp",
    "bindings",
    "nan",
    "node-addon-api",
    "node-gyp-build",
    "node-gyp-build-optional-packages",
    "prebuild-install",
];

/// Where a file must be loaded.
pub(crate) fn place(kit: &Arc<Kit>, file: &Path) -> Result<EngineChoice, Failure> {
    match kit.outside.engine {
        Engine::Embedded => Ok(EngineChoice::Inside("`js.engine` is \"embedded\"".into())),
        Engine::Node => program(kit).map(|_| EngineChoice::Outside).map_err(|reason| {
            Failure::new(Cause::NotFound, format!("`js.engine` is \"node\", but {reason}"))
        }),
        Engine::Auto => Ok(match needed(&Modules::new(kit, file), file) {
            Needed::Nothing => EngineChoice::Inside(
                "`js.engine = \"node\"` in the settings runs all extensions there".into(),
            ),
            needed => match program(kit) {
                Ok(path) if needed == Needed::Sqlite && !has_sqlite(kit, &path) => {
                    let path = path.display();
                    EngineChoice::Inside(format!(
                        "{path} is older than Node 22, the first with node:sqlite"
                    ))
                }
                Ok(_) => EngineChoice::Outside,
                Err(reason) => EngineChoice::Inside(reason),
            },
        }),
    }
}

/// What an extension needs that only Node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needed {
    Nothing,
    /// Its database, and nothing else. Older versions do not have it, and an extension may do without.
    Sqlite,
    Anything,
}

/// Whether a program has Node's database.
fn has_sqlite(kit: &Kit, program: &Path) -> bool {
    let asked = Command::new(program)
        .arg("--version")
        .env_clear()
        .envs(&*kit.surroundings.environment)
        .stdin(Stdio::null())
        .output();
    let version = asked.map(|asked| String::from_utf8_lossy(&asked.stdout).into_owned());
    let version = version.unwrap_or_default();
    let major = version.trim().trim_start_matches('v').split('.').next();
    let major: Option<u32> = major.and_then(|major| major.parse().ok());
    is_bun(program) || major.is_none_or(|major| major >= 22)
}

/// The program that runs extensions outside, or why there is none.
pub(crate) fn program(kit: &Kit) -> Result<PathBuf, String> {
    let allowed = kit.allowed;
    for (is_allowed, name) in [
        (allowed.files, "files"),
        (allowed.processes, "processes"),
        (allowed.network, "network"),
    ] {
        if !is_allowed {
            return Err(format!(
                "`{}{name} = false` cannot be enforced in Node, so nothing is run there",
                allowed.setting
            ));
        }
    }
    let surroundings = &kit.surroundings;
    let resolved = |name: &Path| {
        let program = Program::exec([name]).environment(Arc::clone(&surroundings.environment));
        let found = program.resolve(&surroundings.directory);
        found.and_then(|path| program.check(&surroundings.directory).map(|()| path))
    };
    if let Some(named) = &kit.outside.program {
        return resolved(named).map_err(|failure| format!("`js.node` is of no use: {}", failure.detail));
    }
    let mut found = PROGRAMS.iter().filter_map(|name| resolved(Path::new(name)).ok());
    found
        .next()
        .ok_or_else(|| "there is neither node nor bun on the PATH; `js.node` can name one".into())
}

/// The name of the program that runs extensions outside.
pub(crate) fn engine(kit: &Kit) -> &'static str {
    match program(kit) {
        Ok(path) if is_bun(&path) => "bun",
        _ => "node",
    }
}

/// Whether a program is Bun, which takes other options than Node.
pub(super) fn is_bun(program: &Path) -> bool {
    program.file_stem().is_some_and(|name| name == "bun")
}

/// What an extension needs that only Node has. Follows required modules, and the author's own files
/// wherever they are named. In the author's files everything counts that the embedded engine refuses; in packages,
/// which are written for every case, only what they can hardly do without.
fn needed(modules: &Modules, entry: &Path) -> Needed {
    let mut needed = Needed::Nothing;
    let entry = becket_fs::canonicalize(entry).unwrap_or_else(|_| entry.into());
    let (mut seen, mut next) = (HashSet::new(), vec![entry.to_string_lossy().into_owned()]);
    while let Some(file) = next.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        let path = Path::new(&file);
        let is_another = |file: &Path| is_foreign(modules, &entry, file);
        let is_foreign = is_another(path);
        let package = modules.package(path).filter(|_| is_foreign);
        if file.ends_with(".node") || package.as_ref().is_some_and(is_native) {
            return Needed::Anything;
        }
        // A file that cannot be read is reported when it is loaded.
        let Ok((kind, _, facts)) = modules.read(&file) else {
            continue;
        };
        let is_wanted = |module: &str| !is_foreign || SERIOUS.contains(&module);
        let is_refused = |module: &str, names: &BTreeSet<String>| {
            is_wanted(module) && names.iter().any(|name| table::is_refused(module, name))
        };
        let refused = facts
            .uses
            .iter()
            .filter(|(module, names)| is_refused(module, names));
        let refused: Vec<&str> = refused.map(|(module, _)| module.as_str()).collect();
        match refused[..] {
            _ if !is_foreign && !facts.globals.is_empty() => return Needed::Anything,
            [] => {}
            ["sqlite"] => needed = Needed::Sqlite,
            _ => return Needed::Anything,
        }
        let asked = match kind {
            Kind::Module => Asked::Import,
            _ => Asked::Require,
        };
        let found = |name: &String, asked| {
            let found = modules.find(&file, name, asked).unwrap_or_default();
            let found = found.strip_prefix(INTEROP).unwrap_or(&found).to_owned();
            found.starts_with('/').then_some(found)
        };
        next.extend(facts.needs.iter().filter_map(|name| found(name, asked)));
        if !is_foreign {
            let late = facts.late.iter().filter_map(|name| found(name, Asked::Import));
            let requires = facts.requires.iter();
            let late = late.chain(requires.filter_map(|name| found(name, Asked::Require)));
            let (others, own): (Vec<String>, Vec<String>) =
                late.partition(|file| is_another(Path::new(file)));
            // What is compiled for Node works nowhere else, however late it is asked for.
            let mut packages = others.iter().filter_map(|file| modules.package(Path::new(file)));
            if packages.any(|package| is_native(&package)) {
                return Needed::Anything;
            }
            next.extend(own);
        }
    }
    needed
}

/// Whether a package holds an addon compiled for Node. Only its code knows which file that is.
fn is_native((folder, manifest): &(PathBuf, Arc<Value>)) -> bool {
    let depends_on = |name: &str| !manifest["dependencies"][name].is_null();
    manifest["gypfile"] == true
        || !manifest["napi"].is_null()
        || !manifest["binary"].is_null()
        || FINDERS.iter().any(|name| depends_on(name))
        || becket_fs::is_file(folder.join("binding.gyp"))
}
