//! chibi's home directory.

use std::path::{Path, PathBuf};

/// The variable that names chibi's home, for chibi itself and for its plugins.
pub const HOME_VARIABLE: &str = "CHIBI_HOME";

/// The option that names a chibi home.
pub const HOME_OPTION: &str = "chibi-home";

/// The option that names the directory in which becket works.
pub const ROOT_OPTION: &str = "chibi-project-root";

/// The option with a setting for one run.
pub const SETTING_OPTION: &str = "chibi-set";

/// The variable with chibi's key for OpenRouter.
pub const KEY_VARIABLE: &str = "CHIBI_API_KEY";

/// The variable that names chibi's model, before the settings of its home do.
pub const MODEL_VARIABLE: &str = "CHIBI_MODEL";

/// The default chibi home, relative to the user's home.
const USUAL_FOLDER: &str = ".chibi";

/// chibi's home: the one that is named, else the default folder if it exists.
pub fn home(named: Option<PathBuf>, persons_home: Option<&Path>) -> Option<PathBuf> {
    named.or_else(|| Some(persons_home?.join(USUAL_FOLDER)).filter(|folder| becket_fs::is_dir(folder)))
}

/// The folder of a home's plugins.
pub fn plugins_folder(home: &Path) -> PathBuf {
    home.join("plugins")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_home_counts_even_before_it_exists_and_the_usual_one_only_if_it_does() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(home(None, Some(folder.path())), None);
        assert_eq!(home(None, None), None);
        let usual = folder.path().join(".chibi");
        std::fs::create_dir(&usual).unwrap();
        assert_eq!(home(None, Some(folder.path())), Some(usual));
        let named = Some(PathBuf::from("/nowhere"));
        assert_eq!(home(named.clone(), Some(folder.path())), named);
    }
}
