//! Finds packages as Node does: in folders `node_modules`, and by the `package.json` of each.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::opening;

/// The largest `package.json` in bytes.
const LARGEST_MANIFEST: usize = 8 << 20;

/// Extensions that are tried for an import without one, in this order.
const ENDINGS: &[&str] = &["ts", "tsx", "js", "jsx", "mts", "mjs", "cts", "cjs", "json"];

/// Extensions of JavaScript, and the TypeScript that may replace them.
const TYPESCRIPT: &[(&str, &[&str])] = &[
    ("js", &["ts", "tsx"]),
    ("jsx", &["tsx"]),
    ("mjs", &["mts"]),
    ("cjs", &["cts"]),
];

/// Whether a file holds code, by its extension.
pub(crate) fn is_code(file: &Path) -> bool {
    let ending = file.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending) && ending != "json")
}

/// How a module is requested; packages may provide different files for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// By `import`.
    Import,
    /// By `require`.
    Require,
}

impl Asked {
    fn conditions(self) -> &'static [&'static str] {
        match self {
            Self::Import => &["node", "import", "default"],
            Self::Require => &["node", "require", "default"],
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Import => Self::Require,
            Self::Require => Self::Import,
        }
    }
}

/// Reads each `package.json` once.
#[derive(Default)]
pub(crate) struct Packages(Mutex<HashMap<PathBuf, Option<Arc<Value>>>>);

impl Packages {
    /// The file behind a bare name (`pkg`, `@scope/pkg/sub`, `#internal`), as seen from a folder.
    pub(crate) fn find(&self, folder: &Path, name: &str, asked: Asked) -> Result<PathBuf, String> {
        if name.starts_with('#') {
            return self.internal(folder, name, asked);
        }
        let (package, rest) = split(name);
        if let Some((own, manifest)) = self.around(folder)
            && manifest["name"] == package
            && !manifest["exports"].is_null()
        {
            return exported(&own, &manifest["exports"], &rest, asked, name);
        }
        for ancestor in folder.ancestors() {
            let found = ancestor.join("node_modules").join(package);
            if becket_fs::is_dir(&found) {
                return self.inside(&found, &rest, asked, name);
            }
            if rest == "."
                && becket_fs::is_dir(ancestor.join("node_modules"))
                && let Some(file) = self.existing(&found)
            {
                return Ok(file);
            }
        }
        Err(format!(
            "no node_modules folder at or above {} has it",
            folder.display()
        ))
    }

    /// A file of a package that was found.
    fn inside(&self, package: &Path, rest: &str, asked: Asked, name: &str) -> Result<PathBuf, String> {
        match self.manifest(package) {
            Some(manifest) if !manifest["exports"].is_null() => {
                exported(package, &manifest["exports"], rest, asked, name)
            }
            _ => {
                let file = self.existing(&package.join(rest));
                file.ok_or_else(|| format!("{} has no such file", package.display()))
            }
        }
    }

    /// The file that the package around a folder means by `#name`.
    fn internal(&self, folder: &Path, name: &str, asked: Asked) -> Result<PathBuf, String> {
        let Some((package, manifest)) = self.around(folder) else {
            return Err("no package.json around it says what it means".into());
        };
        match matching(&manifest["imports"], name, asked) {
            Some(target) if target.starts_with("./") => {
                let file = self.existing(&package.join(&target));
                file.ok_or_else(|| format!("{target} of {} does not exist", package.display()))
            }
            Some(target) => self.find(&package, &target, asked),
            None => Err(format!(
                "the `imports` of {} do not name it",
                package.join("package.json").display()
            )),
        }
    }

    /// The nearest folder with a `package.json`, and its content.
    pub(crate) fn around(&self, folder: &Path) -> Option<(PathBuf, Arc<Value>)> {
        folder
            .ancestors()
            .take_while(|ancestor| !ancestor.ends_with("node_modules"))
            .find_map(|ancestor| Some((ancestor.to_path_buf(), self.manifest(ancestor)?)))
    }

    fn manifest(&self, folder: &Path) -> Option<Arc<Value>> {
        let mut known = self.0.lock().expect("no panic happens while manifests are held");
        let read = || {
            let text = opening::text(&folder.join("package.json"), LARGEST_MANIFEST).ok()?;
            serde_json::from_str(&text).ok().map(Arc::new)
        };
        known.entry(folder.to_path_buf()).or_insert_with(read).clone()
    }

    /// The file that a path means: as written, TypeScript if JavaScript is named, with an extension added, or a
    /// folder's main file.
    pub(crate) fn existing(&self, wanted: &Path) -> Option<PathBuf> {
        file_like(wanted).or_else(|| {
            if !becket_fs::is_dir(wanted) {
                return None;
            }
            let manifest = self.manifest(wanted).unwrap_or_default();
            let mains = ["main", "module"]
                .iter()
                .filter_map(|field| manifest[*field].as_str());
            let main = mains
                .map(|main| wanted.join(main))
                .find_map(|main| file_like(&main).or_else(|| file_like(&main.join("index"))));
            main.or_else(|| file_like(&wanted.join("index")))
        })
    }
}

fn file_like(wanted: &Path) -> Option<PathBuf> {
    let ending = wanted
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    let typescript = TYPESCRIPT.iter().filter(|(javascript, _)| *javascript == ending);
    let typescript =
        typescript.flat_map(|(_, endings)| endings.iter().map(|ending| wanted.with_extension(ending)));
    let with_ending = ENDINGS.iter().map(|ending| {
        let mut name = wanted.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    });
    let mut candidates = std::iter::once(wanted.to_path_buf())
        .chain(typescript)
        .chain(with_ending);
    candidates.find(|path| becket_fs::is_file(path))
}

/// The name of the package, and the path in it as `exports` writes it.
fn split(name: &str) -> (&str, String) {
    let slashes = name.match_indices('/').map(|(at, _)| at);
    let end = if name.starts_with('@') {
        slashes.clone().nth(1)
    } else {
        slashes.clone().next()
    };
    match end {
        Some(at) => (&name[..at], format!(".{}", name[at..].trim_end_matches('/'))),
        None => (name, ".".into()),
    }
}

/// The file that `exports` gives for a path. A package that serves only the other way to request it is used all the
/// same: the engine runs both kinds of modules.
fn exported(
    package: &Path,
    exports: &Value,
    rest: &str,
    asked: Asked,
    name: &str,
) -> Result<PathBuf, String> {
    let is_table = exports
        .as_object()
        .is_some_and(|table| table.keys().all(|key| key.starts_with('.')));
    let wrapped;
    let table = if is_table {
        exports
    } else {
        wrapped = serde_json::json!({ ".": exports });
        &wrapped
    };
    let target = matching(table, rest, asked).or_else(|| matching(table, rest, asked.other()));
    let manifest = package.join("package.json");
    let Some(target) = target else {
        return Err(format!("the `exports` of {} do not name it", manifest.display()));
    };
    let outside = Path::new(&target)
        .components()
        .any(|part| part.as_os_str() == "..");
    if !target.starts_with("./") || outside {
        return Err(format!(
            "the `exports` of {} lead '{name}' out of the package",
            manifest.display()
        ));
    }
    let file = package.join(&target);
    file_like(&file).ok_or_else(|| format!("{} does not exist", file.display()))
}

/// The target of the best entry of a table: the same name, else the pattern with the longest prefix.
fn matching(table: &Value, name: &str, asked: Asked) -> Option<String> {
    let table = table.as_object()?;
    if let Some(value) = table.get(name).filter(|_| !name.contains('*')) {
        return target(value, asked, "");
    }
    let mut best: Option<(&str, &Value, &str)> = None;
    for (pattern, value) in table {
        let Some((begin, end)) = pattern.split_once('*') else {
            continue;
        };
        let star = name.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
        let Some(star) = star.filter(|star| !star.is_empty()) else {
            continue;
        };
        if best.is_none_or(|(before, ..)| begin.len() > before.len()) {
            best = Some((begin, value, star));
        }
    }
    let (_, value, star) = best?;
    target(value, asked, star)
}

fn target(value: &Value, asked: Asked, star: &str) -> Option<String> {
    match value {
        Value::String(text) => Some(text.replace('*', star)),
        Value::Array(all) => all.iter().find_map(|value| target(value, asked, star)),
        Value::Object(table) => {
            let conditions = asked.conditions();
            let mut wanted = table.iter().filter(|(key, _)| conditions.contains(&key.as_str()));
            wanted.find_map(|(_, value)| target(value, asked, star))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_package_and_path() {
        assert_eq!(split("ms"), ("ms", ".".to_string()));
        assert_eq!(split("ms/lib/x.js"), ("ms", "./lib/x.js".to_string()));
        assert_eq!(split("@a/b"), ("@a/b", ".".to_string()));
        assert_eq!(split("@a/b/c"), ("@a/b", "./c".to_string()));
    }

    #[test]
    fn tables_are_read_by_name_pattern_and_condition() {
        let table = serde_json::json!({
            ".": { "import": { "types": "./t.d.ts", "default": "./m.mjs" }, "require": "./c.cjs" },
            "./a/*": "./lib/*.js",
            "./a/b/*.css": ["./styles/*.css"],
            "./hidden/*": null,
            "./node": { "browser": "./b.js", "node": "./n.js" },
        });
        let found = |name: &str, asked| matching(&table, name, asked);
        assert_eq!(found(".", Asked::Import).as_deref(), Some("./m.mjs"));
        assert_eq!(found(".", Asked::Require).as_deref(), Some("./c.cjs"));
        assert_eq!(found("./a/x/y", Asked::Import).as_deref(), Some("./lib/x/y.js"));
        assert_eq!(
            found("./a/b/c.css", Asked::Import).as_deref(),
            Some("./styles/c.css")
        );
        assert_eq!(found("./node", Asked::Require).as_deref(), Some("./n.js"));
        assert_eq!(found("./hidden/x", Asked::Import), None);
        assert_eq!(found("./other", Asked::Import), None);
    }
}
