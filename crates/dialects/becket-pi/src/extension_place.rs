//! The files and folders that yield extensions, each with its extensions.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The name of the folder for extensions, in a project and in pi's folder.
pub(super) const EXTENSIONS: &str = "extensions";

/// The names of the folders for what packages bring besides: skills, prompt templates and themes.
pub(super) const RESOURCES: [&str; 3] = ["skills", "prompts", "themes"];

/// A file or folder that yields extensions, or could.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionPlace {
    /// The file or folder.
    pub path: PathBuf,
    /// The extensions of the place, including those that settings leave out.
    pub(super) files: Vec<Entry>,
}

/// A file that may be an extension, before it has a unique name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) file: PathBuf,
}

impl Entry {
    /// A file with its name; a file called `index` has the name of its folder.
    pub(super) fn of_file(file: PathBuf) -> Self {
        // This removes the `.` that manifests and settings write before their paths.
        let file: PathBuf = file.components().collect();
        let word = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
        let stem = word(file.file_stem()).filter(|stem| stem != "index");
        let folder = || word(file.parent().and_then(Path::file_name));
        let name = stem.or_else(folder).unwrap_or_else(|| "index".into());
        Self { name, file }
    }
}
