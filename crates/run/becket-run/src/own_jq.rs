//! becket's own `jq`, for hooks on machines that have none.
//!
//! The program is its own `jq` when it is called by that name. A private folder in the cache holds a link of that name,
//! and is the last folder of a hook's `PATH`, only where no other folder of it has a `jq`.
//!
//! Only hooks find it, not the model's tools: a tool that lacks a program fails visibly, a guard that lacks one may
//! look as if it agreed. The folder must belong to the user alone, or somebody else could put a program there that
//! guards would run. If it does not, the run says so and does without it.

#![allow(clippy::disallowed_methods, reason = "a link that becket makes")]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, symlink_metadata};
use std::io::{self, BufReader};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use becket_hooks::Program;
use becket_jq::World;
use becket_system::Surroundings;

/// The name of the link, and of the command.
pub const NAME: &str = "jq";

/// The arguments, if the program was called as `jq` or as `becket jq`. They are taken before becket reads its own
/// options, since jq has others.
pub fn called(mut words: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let program = words.next()?;
    if Path::new(&program).file_name() == Some(OsStr::new(NAME)) {
        return Some(words.collect());
    }
    (words.next()? == NAME).then(|| words.collect())
}

/// Runs a jq command line.
pub fn run(arguments: Vec<OsString>, surroundings: &Surroundings) -> ExitCode {
    let mut stdout = io::stdout();
    let world = World {
        variables: &surroundings.variables,
        stdin: Box::new(BufReader::new(io::stdin())),
        stdout: &mut stdout,
        stderr: Box::new(io::stderr()),
    };
    ExitCode::from(becket_jq::run(arguments, world))
}

/// Whether a program with these variables would find a `jq` by itself.
pub fn is_on_path(variables: &BTreeMap<OsString, OsString>) -> bool {
    let program = Program::exec([NAME]).environment(variables.clone().into());
    program.resolve(Path::new("/")).is_ok()
}

/// Appends a folder to the `PATH` of a guest.
pub fn add_to_path(variables: &mut BTreeMap<OsString, OsString>, folder: &Path) {
    let path = variables.entry("PATH".into()).or_default();
    path.push(":");
    path.push(folder);
}

/// Where the link to this program lies, or will lie.
pub fn place(cache: &Path) -> PathBuf {
    cache.join(NAME).join(env!("CARGO_PKG_VERSION"))
}

/// The folder with the link to this program, which is made if it is not there; the error says why it cannot be.
pub fn folder(cache: &Path, program: &Path) -> Result<PathBuf, String> {
    let folder = place(cache);
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
    let link = folder.join(NAME);
    if std::fs::read_link(&link).is_ok_and(|target| target == *program) {
        return Ok(folder);
    }
    // A link takes the place of another at once, so that whoever starts a hook meanwhile finds one of them.
    let fresh = folder.join(format!("{NAME}.{}", std::process::id()));
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

    fn program() -> &'static Path {
        Path::new("/usr/bin/becket")
    }

    fn words(text: &str) -> Option<Vec<OsString>> {
        called(text.split(' ').map(OsString::from))
    }

    #[test]
    fn it_is_called_by_its_name_or_as_a_command() {
        assert_eq!(words("/x/jq -r .a").unwrap(), ["-r", ".a"]);
        assert_eq!(words("becket jq -c .").unwrap(), ["-c", "."]);
        assert!(words("becket run jq").is_none());
        assert!(words("becket").is_none());
        assert!(words("/usr/bin/jqx .").is_none());
    }

    #[test]
    fn the_link_is_made_once_and_again_when_it_is_wrong() {
        let cache = tempfile::tempdir().unwrap();
        let folder = folder(cache.path(), program()).unwrap();
        let link = folder.join(NAME);
        let target = std::fs::read_link(&link).unwrap();
        assert_eq!(target, program());
        std::fs::remove_file(&link).unwrap();
        symlink("/nowhere", &link).unwrap();
        super::folder(cache.path(), program()).unwrap();
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
            let made = folder(&inner, program()).unwrap();
            let open = made.join(below);
            std::fs::set_permissions(&open, std::fs::Permissions::from_mode(mode)).unwrap();
            let fault = folder(&inner, program()).unwrap_err();
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
                    if let Ok(folder) = folder(cache.path(), program()) {
                        assert!(folder.join(NAME).symlink_metadata().is_ok());
                    }
                });
            }
        });
        assert!(folder(cache.path(), program()).is_ok());
    }

    #[test]
    fn it_stands_last() {
        let mut variables = BTreeMap::from([("PATH".into(), "/a:/b".into())]);
        add_to_path(&mut variables, Path::new("/c"));
        assert_eq!(variables[OsStr::new("PATH")], "/a:/b:/c");
    }
}
