//! Which extensions are loaded in Node. This is decided by the modules that an extension's files name, before anything
//! of it runs, so that nothing happens twice.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_hooks::{Cause, Failure, Program};
use serde_json::Value;

use super::Engine;
use super::finding::{is_foreign, is_packaged};
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
        Engine::Auto if needs_node(&Modules::new(kit, file), file) => Ok(match program(kit) {
            Ok(_) => EngineChoice::Outside,
            Err(reason) => EngineChoice::Inside(reason),
        }),
        Engine::Auto => Ok(EngineChoice::Inside(
            "`js.engine = \"node\"` in the settings runs all extensions there".into(),
        )),
    }
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

/// Whether an extension needs something that only Node has. Follows required modules, and the author's own files
/// wherever they are named. In the author's files everything counts that the embedded engine refuses; in packages,
/// which are written for every case, only what they can hardly do without.
fn needs_node(modules: &Modules, entry: &Path) -> bool {
    let entry = becket_fs::canonicalize(entry).unwrap_or_else(|_| entry.into());
    let (mut seen, mut next) = (HashSet::new(), vec![entry.to_string_lossy().into_owned()]);
    while let Some(file) = next.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        let path = Path::new(&file);
        let is_foreign = is_foreign(modules, &entry, path);
        let package = modules.package(path).filter(|_| is_foreign);
        if file.ends_with(".node") || package.as_ref().is_some_and(is_native) {
            return true;
        }
        // A file that cannot be read is reported when it is loaded.
        let Ok((kind, _, facts)) = modules.read(&file) else {
            continue;
        };
        let is_wanted = |module: &str| !is_foreign || SERIOUS.contains(&module);
        let is_refused = |module: &str, names: &BTreeSet<String>| {
            is_wanted(module) && names.iter().any(|name| table::is_refused(module, name))
        };
        let uses_refused = facts.uses.iter().any(|(module, names)| is_refused(module, names));
        if uses_refused || (!is_foreign && !facts.globals.is_empty()) {
            return true;
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
            let late = late.chain(
                facts
                    .requires
                    .iter()
                    .filter_map(|name| found(name, Asked::Require)),
            );
            next.extend(late.filter(|file| !is_packaged(Path::new(file))));
        }
    }
    false
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
