//! The files of the project, and their paths.

use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// The project's folder.
pub struct Workspace {
    root: PathBuf,
}

/// A text file of the project.
pub struct SourceFile {
    /// The file's path relative to the project's folder, with `/` between the parts.
    pub path: String,
    pub text: String,
}

/// The folder in which cargo builds.
pub fn target_folder(workspace: &Workspace) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.root().join("target"), PathBuf::from)
}

impl Workspace {
    /// The workspace that this program was built from.
    pub fn here() -> Self {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self {
            root: manifest.ancestors().nth(3).unwrap_or(manifest).to_path_buf(),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The text of a file, or why it cannot be read.
    pub fn read(&self, path: &str) -> Result<String, Problem> {
        std::fs::read_to_string(self.root.join(path)).map_err(|error| format!("cannot read {path}: {error}"))
    }

    /// The text of a file, if it exists.
    pub fn find(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join(path)).ok()
    }

    /// Writes a file, with its folders.
    pub fn write(&self, path: &str, text: &str) -> Result<(), Problem> {
        let file = self.root.join(path);
        file.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&file, text))
            .map_err(|error| format!("cannot write {path}: {error}"))
    }

    /// All Rust files of the crates, sorted by path.
    pub fn rust_files(&self) -> Result<Vec<SourceFile>, Problem> {
        let mut paths = Vec::new();
        collect(&self.root.join("crates"), "rs", &mut paths)?;
        paths.sort();
        paths.into_iter().map(|file| self.source(&file)).collect()
    }

    /// The pages for users, sorted by path: the README and everything in `docs`, also what is generated.
    pub fn pages(&self) -> Result<Vec<SourceFile>, Problem> {
        let mut paths = vec![self.root.join("README.md")];
        collect(&self.root.join("docs"), "md", &mut paths)?;
        paths.sort();
        paths.into_iter().map(|file| self.source(&file)).collect()
    }

    /// The manifests of the crates, sorted by path.
    pub fn manifests(&self) -> Result<Vec<SourceFile>, Problem> {
        let mut manifests = Vec::new();
        for floor in entries(&self.root.join("crates"))? {
            for folder in entries(&floor)? {
                manifests.push(self.source(&folder.join("Cargo.toml"))?);
            }
        }
        Ok(manifests)
    }

    fn source(&self, file: &Path) -> Result<SourceFile, Problem> {
        let path = file
            .strip_prefix(&self.root)
            .unwrap_or(file)
            .display()
            .to_string();
        let text = self.read(&path)?;
        Ok(SourceFile { path, text })
    }
}

impl SourceFile {
    /// The crate that the file belongs to: `crates/FLOOR/CRATE/...`.
    pub fn crate_name(&self) -> &str {
        self.path.split('/').nth(2).unwrap_or_default()
    }

    /// The floor of the file's crate.
    pub fn floor(&self) -> &str {
        self.path.split('/').nth(1).unwrap_or_default()
    }

    /// Whether the file belongs to the crate's library or program, and not to its tests.
    pub fn is_shipped(&self) -> bool {
        if self.crate_name() == "fuzz" {
            return false;
        }
        let is_test = ["/tests.rs", "/laws.rs"]
            .iter()
            .any(|end| self.path.ends_with(end));
        self.path.contains("/src/") && !is_test
    }

    /// The lines before the tests at the end of the file.
    pub fn shipped_code(&self) -> impl Iterator<Item = &str> {
        self.text.lines().take(self.shipped_lines())
    }

    /// How many lines come before the tests at the end of the file. Code that only tests use does not end it: what
    /// follows is shipped.
    pub fn shipped_lines(&self) -> usize {
        let lines: Vec<&str> = self.text.lines().collect();
        let begin_tests = |pair: &[&str]| pair[0] == "#[cfg(test)]" && is_inline_module(pair[1]);
        let tests = lines.windows(2).position(begin_tests);
        tests.unwrap_or(lines.len())
    }
}

/// Whether a line begins a module that stands in the same file.
fn is_inline_module(line: &str) -> bool {
    line.starts_with("mod ") && line.ends_with('{')
}

/// The entries of a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn collect(folder: &Path, ending: &str, files: &mut Vec<PathBuf>) -> Result<(), Problem> {
    for path in entries(folder)? {
        if path.is_dir() && path.file_name() != Some("target".as_ref()) {
            collect(&path, ending, files)?;
        } else if path.extension() == Some(ending.as_ref()) {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_module_of_tests_ends_what_is_shipped() {
        let shipped = |text: &str| {
            let (path, text) = ("crates/agent/x/src/x.rs".into(), text.into());
            SourceFile { path, text }.shipped_lines()
        };
        assert_eq!(shipped("fn a() {}\n\n#[cfg(test)]\nmod tests {\n}\n"), 2);
        assert_eq!(shipped("#[cfg(test)]\nmod tests;\nfn a() {}\n"), 3);
        assert_eq!(shipped("    #[cfg(test)]\n    fn a() {}\nfn b() {}\n"), 3);
    }
}
