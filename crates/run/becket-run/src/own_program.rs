//! becket under the name of another program, for guests' programs: a private folder in the cache holds a link of that
//! name to this program, and stands in their `PATH`.
//!
//! The folder must belong to the user alone, or somebody else could put a program there that guards would run.

#![allow(clippy::disallowed_methods, reason = "a link that becket makes")]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, symlink_metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// Puts a folder before all others of a guest's `PATH`.
pub fn put_first(variables: &mut BTreeMap<OsString, OsString>, folder: &Path) {
    let mut path = folder.as_os_str().to_owned();
    if let Some(others) = variables.get(OsStr::new("PATH")) {
        path.push(":");
        path.push(others);
    }
    variables.insert("PATH".into(), path);
}

/// Appends a folder to a guest's `PATH`.
pub fn put_last(variables: &mut BTreeMap<OsString, OsString>, folder: &Path) {
    let path = variables.entry("PATH".into()).or_default();
    path.push(":");
    path.push(folder);
}

/// Where the link of that name lies, or will lie.
pub fn place(cache: &Path, name: &str) -> PathBuf {
    cache.join(name).join(env!("CARGO_PKG_VERSION"))
}

/// The folder with the link of that name to this program. It is made if it is not there; the error says why it
/// cannot be.
pub fn folder(cache: &Path, name: &str, program: &Path) -> Result<PathBuf, String> {
    let folder = place(cache, name);
    if folder.as_os_str().as_encoded_bytes().contains(&b':') {
        return Err(format!(
            "{} has a colon, which PATH cannot hold",
            folder.display()
        ));
    }
    let told = |error: io::Error| format!("{} cannot be made: {error}", folder.display());
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .map_err(told)?;
    check_owners(&folder)?;
    let link = folder.join(name);
    if std::fs::read_link(&link).is_ok_and(|target| target == *program) {
        return Ok(folder);
    }
    // A link takes the place of another at once, so that whoever starts a hook meanwhile finds one of them.
    let fresh = folder.join(format!("{name}.{}", std::process::id()));
    let _ = std::fs::remove_file(&fresh);
    symlink(program, &fresh)
        .and_then(|()| std::fs::rename(&fresh, &link))
        .map_err(told)?;
    Ok(folder)
}

/// Whether nobody else can put a program into the folder: it is the user's and only the user writes there, and no
/// folder above it lets others put another one in its place.
fn check_owners(folder: &Path) -> Result<(), String> {
    let person = rustix::process::geteuid().as_raw();
    let told = |path: &Path, what: &str| {
        Err(format!(
            "{} {what}, so that somebody else could put a program there",
            path.display()
        ))
    };
    let real = folder
        .canonicalize()
        .map_err(|error| format!("{} cannot be found: {error}", folder.display()))?;
    for (steps, path) in real.ancestors().enumerate() {
        let about =
            symlink_metadata(path).map_err(|error| format!("{} cannot be seen: {error}", path.display()))?;
        let is_own = steps == 0;
        if about.uid() != person && (is_own || about.uid() != 0) {
            return told(path, "belongs to somebody else");
        }
        let (open, sticky) = (about.mode() & 0o002 != 0, about.mode() & 0o1000 != 0);
        if is_own && about.mode() & 0o022 != 0 || open && !sticky {
            return told(path, "can be written by others");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const NAME: &str = "tool";

    fn program() -> &'static Path {
        Path::new("/usr/bin/becket")
    }

    #[test]
    fn the_link_is_made_once_and_again_when_it_is_wrong() {
        let cache = tempfile::tempdir().unwrap();
        let folder = folder(cache.path(), NAME, program()).unwrap();
        let link = folder.join(NAME);
        let target = std::fs::read_link(&link).unwrap();
        assert_eq!(target, program());
        std::fs::remove_file(&link).unwrap();
        symlink("/nowhere", &link).unwrap();
        super::folder(cache.path(), NAME, program()).unwrap();
        assert_eq!(std::fs::read_link(&link).unwrap(), target);
        assert_eq!(
            std::fs::read_dir(&folder).unwrap().count(),
            1,
            "nothing else is left"
        );
    }

    #[test]
    fn a_folder_that_others_can_write_is_not_used() {
        for (below, mode) in [("", 0o777), ("", 0o775), ("..", 0o777), ("../..", 0o777)] {
            let cache = tempfile::tempdir().unwrap();
            let inner = cache.path().join("inner");
            std::fs::create_dir(&inner).unwrap();
            let made = folder(&inner, NAME, program()).unwrap();
            let open = made.join(below);
            std::fs::set_permissions(&open, std::fs::Permissions::from_mode(mode)).unwrap();
            let fault = folder(&inner, NAME, program()).unwrap_err();
            assert!(fault.contains("can be written by others"), "{below}: {fault}");
        }
    }

    #[test]
    fn many_at_once_all_find_it() {
        let cache = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    // Processes have ids of their own; here it is enough that each finds a link or says why not.
                    if let Ok(folder) = folder(cache.path(), NAME, program()) {
                        assert!(folder.join(NAME).symlink_metadata().is_ok());
                    }
                });
            }
        });
        assert!(folder(cache.path(), NAME, program()).is_ok());
    }

    #[test]
    fn folders_stand_first_or_last() {
        let mut variables = BTreeMap::from([("PATH".into(), "/a:/b".into())]);
        put_last(&mut variables, Path::new("/c"));
        put_first(&mut variables, Path::new("/0"));
        assert_eq!(variables[OsStr::new("PATH")], "/0:/a:/b:/c");
    }
}
