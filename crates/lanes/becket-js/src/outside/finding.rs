//! Tells Node where the modules of an extension are, how they are run, and what their JavaScript is.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::node::table;
use crate::packages::Asked;
use crate::resolve::{INTEROP, Kind, Modules, NODE, not_found, with_commonjs_names, without_hashbang};
use crate::transform::HOST;

/// The first line of a module of the program, by which it finds what it is given.
const GIVEN: &str = "const __becket = import.meta.becket;";

/// Where a module is that `base` names, and how it is run.
pub(super) fn find(
    modules: &Modules,
    entry: &Path,
    base: &str,
    name: &str,
    asked: Asked,
) -> Result<Value, String> {
    let known = name.strip_prefix(HOST).unwrap_or(name);
    if let Some(module) = modules.host_module(known) {
        return Ok(json!({"id": format!("{HOST}{}", module.names[0]), "kind": "host"}));
    }
    if name.starts_with(NODE) || table::imported(name).is_some() {
        let plain = name.strip_prefix(NODE).unwrap_or(name);
        return Ok(json!({"id": format!("{NODE}{plain}"), "kind": "node"}));
    }
    let found = modules
        .find(base, name, asked)
        .map_err(|problem| not_found(base, name, &problem))?;
    let file = found.strip_prefix(INTEROP).unwrap_or(&found);
    let kind = runner(modules, entry, file, asked)?;
    Ok(json!({"id": file, "kind": kind, "interop": found.starts_with(INTEROP)}))
}

/// Whether a file belongs to a package other than the extension.
pub(super) fn is_foreign(modules: &Modules, entry: &Path, file: &Path) -> bool {
    let folder = |file: &Path| modules.package(file).map(|(folder, _)| folder);
    let is_own = || file == entry || folder(file).is_some_and(|own| Some(own) == folder(entry));
    is_packaged(file) && !is_own()
}

/// Whether a file belongs to some package.
fn is_packaged(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "node_modules")
}

/// How a file is run: the author's own are linked here, other packages are left to Node, unless they need something
/// that Node would not give them: TypeScript, a package of the program, or an ES module for `require`.
fn runner(modules: &Modules, entry: &Path, file: &str, asked: Asked) -> Result<&'static str, String> {
    let path = Path::new(file);
    let ending = path.extension().and_then(|ending| ending.to_str());
    if ending == Some("node") {
        return Ok("package");
    }
    let (kind, ..) = modules.read(file)?;
    let package = modules.package(path);
    let manifest = package.as_ref().map(|(_, manifest)| &**manifest);
    let said_module = manifest.is_some_and(|manifest| manifest["type"] == "module");
    let by_node = match ending {
        Some("mjs") => Kind::Module,
        Some("js") if said_module => Kind::Module,
        _ => Kind::Commonjs,
    };
    let is_script = matches!(ending, Some("js" | "mjs" | "cjs") | None);
    let uses_ours = manifest.is_some_and(|manifest| {
        ["dependencies", "peerDependencies"].iter().any(|list| {
            let names = manifest[list].as_object();
            names.is_some_and(|names| names.keys().any(|name| modules.host_module(name).is_some()))
        })
    });
    let is_node_s = is_foreign(modules, entry, path) && is_script && by_node == kind && !uses_ours;
    Ok(match kind {
        Kind::Json => "json",
        Kind::Module if is_node_s && asked == Asked::Import => "native",
        Kind::Commonjs if is_node_s => "package",
        Kind::Module => "module",
        Kind::Commonjs => "commonjs",
    })
}

/// The exports of a module, if they are visible. Node itself knows those of its own modules.
fn exported(modules: &Modules, id: &str) -> Option<Vec<String>> {
    let exported = modules.exported(id, &|_| None)?;
    Some(exported.iter().cloned().collect())
}

/// The JavaScript of a module, what it may require, what it imports from others, and the names that it exports, if they
/// are visible.
pub(super) fn read(modules: &Modules, id: &str) -> Result<Value, String> {
    if let Some(name) = id.strip_prefix(HOST) {
        let code = modules.host_code(name)?;
        let quoted = modules
            .host_module(name)
            .map(|module| module.source)
            .unwrap_or_default();
        let quoted = quoted.split('"').skip(1).step_by(2);
        let requires: HashSet<&str> = quoted
            .filter(|text| modules.host_module(text).is_some())
            .collect();
        let names = exported(modules, id);
        return Ok(
            json!({"code": format!("{GIVEN}{code}"), "requires": requires, "names": names, "asks": {}}),
        );
    }
    let (kind, code, facts) = modules.read(id)?;
    let (code, names) = match kind {
        Kind::Module => (with_commonjs_names(&code, &facts), exported(modules, id)),
        Kind::Commonjs => (
            without_hashbang(&code).into_owned(),
            Some(modules.names(id, &mut HashSet::new())),
        ),
        Kind::Json => (code.trim_start_matches('\u{feff}').into(), Some(Vec::new())),
    };
    Ok(json!({"code": code, "requires": facts.requires, "names": names, "asks": facts.asks}))
}
