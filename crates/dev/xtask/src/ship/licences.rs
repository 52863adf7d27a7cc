//! The crates behind the program: their licences for people, and the list of parts (SBOM) for machines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::problem::{Problem, output};
use crate::workspace::Workspace;

/// A crate that is linked into the program.
struct Part {
    name: String,
    version: String,
    licence: String,
    repository: String,
    folder: PathBuf,
    /// The hash of the packed crate, as Cargo.lock has it; the project's own crates have none.
    checksum: Option<String>,
    /// The ids of the crates that it uses.
    uses: Vec<String>,
}

impl Part {
    fn is_own(&self) -> bool {
        self.checksum.is_none()
    }

    fn purl(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

/// The crates of a program, by their ids.
pub struct Parts(BTreeMap<String, Part>);

impl Parts {
    /// The crates that the program has for a target, with all features.
    pub fn read(workspace: &Workspace, target: &str) -> Result<Self, Problem> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args([
                "metadata",
                "--format-version",
                "1",
                "--locked",
                "--filter-platform",
                target,
            ])
            .current_dir(workspace.root());
        let metadata: Value = serde_json::from_str(&output(cargo)?)
            .map_err(|error| format!("cargo's metadata cannot be read: {error}"))?;
        let checksums = checksums(workspace)?;
        let mut parts: BTreeMap<String, Part> = list(&metadata["packages"])
            .map(|package| (text(&package["id"]), part(package, &checksums)))
            .collect();
        let mut uses: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            uses.insert(text(&node["id"]), linked(node));
        }
        let program = parts
            .iter()
            .find(|(_, part)| part.name == "becket" && part.is_own());
        let program = program
            .map(|(id, _)| id.clone())
            .ok_or("there is no package becket")?;
        let mut reached = BTreeSet::new();
        let mut open = vec![program];
        while let Some(id) = open.pop() {
            if reached.insert(id.clone()) {
                open.extend(uses.get(&id).cloned().unwrap_or_default());
            }
        }
        parts.retain(|id, _| reached.contains(id));
        for (id, part) in &mut parts {
            part.uses = uses.remove(id).unwrap_or_default();
        }
        Ok(Self(parts))
    }

    fn others(&self) -> impl Iterator<Item = &Part> {
        self.0.values().filter(|part| !part.is_own())
    }

    /// The licences of all crates of others, with their texts, as Markdown. A text that several crates share stands
    /// there once.
    pub fn third_party(&self) -> Result<String, Problem> {
        let mut page = String::from(
            "# Crates in becket\n\nbecket is made of its own code and of these crates, under the licences that they \
             name.\n\n| crate | version | licence | source |\n|---|---|---|---|\n",
        );
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut sorted: Vec<&Part> = self.others().collect();
        sorted.sort_by_key(|part| (&part.name, &part.version));
        for part in sorted {
            if part.licence.is_empty() {
                return Err(format!("{} {} names no licence", part.name, part.version));
            }
            let Part {
                name,
                version,
                licence,
                repository,
                ..
            } = part;
            let _ = writeln!(page, "| {name} | {version} | {licence} | {repository} |");
            for text in licence_texts(&part.folder) {
                texts.entry(text).or_default().push(format!("{name} {version}"));
            }
        }
        page.push_str("\n# Texts\n");
        for (text, parts) in texts {
            let _ = write!(
                page,
                "\n## {}\n\n```text\n{}\n```\n",
                parts.join(", "),
                text.trim_end()
            );
        }
        Ok(page)
    }

    /// The list of parts in the form of CycloneDX.
    pub fn bill_of_materials(&self, version: &str, time: &str) -> Value {
        let component = |part: &Part| {
            let mut component = json!({
                "type": "library", "bom-ref": part.purl(), "name": part.name, "version": part.version,
                "purl": part.purl(), "licenses": [{"expression": part.licence.replace('/', " OR ")}],
            });
            if let Some(checksum) = &part.checksum {
                component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
            }
            component
        };
        let dependency = |part: &Part| {
            let uses = part.uses.iter().filter_map(|id| Some(self.0.get(id)?.purl()));
            let uses: BTreeSet<String> = uses.collect();
            json!({"ref": part.purl(), "dependsOn": uses})
        };
        json!({
            "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {
                "timestamp": time,
                "component": {"type": "application", "name": "becket", "version": version,
                    "bom-ref": format!("pkg:cargo/becket@{version}"), "purl": format!("pkg:cargo/becket@{version}")},
            },
            "components": self.0.values().filter(|part| part.name != "becket").map(component).collect::<Vec<_>>(),
            "dependencies": self.0.values().map(dependency).collect::<Vec<_>>(),
        })
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn part(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Part {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let folder = PathBuf::from(text(&package["manifest_path"]));
    Part {
        checksum: checksums.get(&(name.clone(), version.clone())).cloned(),
        name,
        version,
        licence: text(&package["license"]),
        repository: text(&package["repository"]),
        folder: folder.parent().unwrap_or(Path::new("")).to_path_buf(),
        uses: Vec::new(),
    }
}

/// The ids of the crates that are linked into one: neither those of its tests nor those of its build.
fn linked(node: &Value) -> Vec<String> {
    let is_linked = |used: &&Value| list(&used["dep_kinds"]).any(|kind| kind["kind"].is_null());
    let used = list(&node["deps"]).filter(is_linked);
    used.map(|used| text(&used["pkg"])).collect()
}

/// The hashes of Cargo.lock.
fn checksums(workspace: &Workspace) -> Result<BTreeMap<(String, String), String>, Problem> {
    let lock: toml::Value = toml::from_str(&workspace.read("Cargo.lock")?)
        .map_err(|error| format!("Cargo.lock cannot be read: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let checksum = |package: &toml::Value| {
        let text = |name: &str| Some(package.get(name)?.as_str()?.to_owned());
        Some(((text("name")?, text("version")?), text("checksum")?))
    };
    Ok(packages.into_iter().flatten().filter_map(checksum).collect())
}

/// The texts of the licences that a crate carries.
fn licence_texts(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let is_licence = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_uppercase();
        ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|word| name.starts_with(word))
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_licence).collect();
    files.sort();
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    texts.map(|text| text.replace("\r\n", "\n")).collect()
}
