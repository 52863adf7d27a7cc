//! Where a daemon is found: a folder that only the user can enter, and a name made of project and version.

use std::ffi::OsStr;
use std::fs::{DirBuilder, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// Where the daemon of one project is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonFiles {
    /// The socket that it listens at.
    pub socket: PathBuf,
    /// The file that it keeps locked as long as it lives.
    pub lock: PathBuf,
    /// What it says while nobody looks.
    pub log: PathBuf,
}

impl DaemonFiles {
    /// The place of a project's daemon in that folder.
    pub fn of(folder: &Path, project: &Path, version: &str) -> Self {
        // Client and daemon are built together, so the same hasher makes the same name. The name is no promise: a
        // question says which project and version it means.
        let mut hasher = DefaultHasher::new();
        (project, version).hash(&mut hasher);
        let name = format!("{:016x}", hasher.finish());
        let file = |ending: &str| folder.join(format!("{name}.{ending}"));
        Self {
            socket: file("sock"),
            lock: file("lock"),
            log: file("log"),
        }
    }
}

/// The folder for sockets, made if it is missing: `$XDG_RUNTIME_DIR/becket`, or one below `/tmp` that bears the
/// user's number. Fails if anybody else can enter it.
pub fn runtime_folder(runtime_variable: Option<&OsStr>) -> io::Result<PathBuf> {
    let given = runtime_variable.map(PathBuf::from);
    let folder = match given.filter(|folder| folder.is_absolute() && folder.is_dir()) {
        Some(folder) => folder.join("becket"),
        None => PathBuf::from(format!("/tmp/becket-{}", geteuid().as_raw())),
    };
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = folder.symlink_metadata()?;
    match is_private(&found) {
        true => Ok(folder),
        false => Err(io::Error::other(format!(
            "{} is not a folder that only you can enter; remove it",
            folder.display()
        ))),
    }
}

fn is_private(folder: &Metadata) -> bool {
    folder.is_dir() && folder.uid() == geteuid().as_raw() && folder.mode() & 0o077 == 0
}

/// The version of a becket program: its number and the state of its file, so that another build with the same number is
/// another version, and what this process sees of the system, so that a daemon outside of a container is another one.
pub fn program_version(program: &Path) -> io::Result<String> {
    let file = program.metadata()?;
    let root = Path::new("/").metadata()?;
    let namespaces = ["mnt", "net", "pid", "user"].map(|name| {
        let link = std::fs::read_link(format!("/proc/self/ns/{name}"));
        link.map_or_else(|_| String::new(), |link| link.display().to_string())
    });
    Ok(format!(
        "{} {}:{} {}.{:09} {} {} {}:{}",
        env!("CARGO_PKG_VERSION"),
        file.dev(),
        file.ino(),
        file.mtime(),
        file.mtime_nsec(),
        file.size(),
        namespaces.concat(),
        root.dev(),
        root.ino()
    ))
}

/// Whether the other end of a socket belongs to the same user. Where the system does not tell, the folder's rights
/// are what counts.
pub fn peer_is_same_user(socket: impl AsFd) -> bool {
    #[cfg(target_os = "linux")]
    {
        let peer = rustix::net::sockopt::socket_peercred(socket);
        peer.is_ok_and(|peer| peer.uid == geteuid())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = socket;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_a_folder_that_nobody_else_enters_is_used() {
        let room = tempfile::tempdir().unwrap();
        let base = room.path().as_os_str();
        let folder = runtime_folder(Some(base)).unwrap();
        assert_eq!(folder, room.path().join("becket"));
        assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o750)).unwrap();
        assert!(runtime_folder(Some(base)).is_err(), "others may enter it");
        std::fs::remove_dir(&folder).unwrap();
        std::fs::create_dir(room.path().join("elsewhere")).unwrap();
        symlink(room.path().join("elsewhere"), &folder).unwrap();
        assert!(runtime_folder(Some(base)).is_err(), "a link may lead anywhere");
    }

    #[test]
    fn projects_and_versions_have_daemons_of_their_own() {
        let socket = |project: &str, version: &str| {
            DaemonFiles::of(Path::new("/run"), Path::new(project), version).socket
        };
        assert_eq!(socket("/a", "1"), socket("/a", "1"));
        assert_ne!(socket("/a", "1"), socket("/b", "1"));
        assert_ne!(socket("/a", "1"), socket("/a", "2"));
    }
}
