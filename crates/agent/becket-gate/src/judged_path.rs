//! Opens the files that were judged. The gate resolves a path and judges the result; before it is opened, another
//! process may put a link in its place. So no link is followed here, in no part of the path, and no file is written
//! through that has got further names meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Whether a written file is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// There was no such file.
    Created,
    /// There was such a file, and its content is replaced.
    Replaced,
}

/// A file that had further names, hard links, when it was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkedFile {
    device: u64,
    inode: u64,
}

impl LinkedFile {
    /// The file at a path, if it has further names.
    pub fn at(path: &Path) -> Option<Self> {
        Self::of(&rustix::fs::lstat(path).ok()?)
    }

    #[allow(clippy::unnecessary_cast, reason = "other systems have other types there")]
    fn of(stat: &Stat) -> Option<Self> {
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        (is_file && stat.st_nlink > 1).then_some(Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
        })
    }
}

/// Opens a file for reading. A pipe or a device does not block: the opening never waits.
pub fn open_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    open_without_links(path, flags).map(File::from)
}

/// Opens a directory for listing.
pub fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    open_without_links(path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Reads a regular file whole, if it has at most that many bytes.
pub fn read_whole(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_file(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(Errno::ISDIR.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let too_large = || io::Error::other(format!("it is larger than {}", size(most)));
    if metadata.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len() + 1).unwrap_or_default());
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Gives a file new content; missing folders are made. Readers see the old content or the new one, never a part:
/// the content is written beside the file and then takes its place. Where that would change more than the content
/// (another owner, further hard links) or is not possible, the file is written in place. A file with further hard links
/// must be the one that had them when it was judged: else what is written would appear where it was not allowed.
pub fn replace_file(path: &Path, content: &[u8], judged: Option<LinkedFile>) -> io::Result<Written> {
    let name = path.file_name().ok_or(Errno::ISDIR)?;
    let folder = folder_for_writing(path.parent().unwrap_or(Path::new("/")))?;
    let existing = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Some(stat),
        Err(Errno::NOENT) => None,
        Err(error) => return Err(error.into()),
    };
    let Some(existing) = existing else {
        write_beside(&folder, name, content, None)?;
        return Ok(Written::Created);
    };
    match FileType::from_raw_mode(existing.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(Errno::LOOP.into()),
        FileType::Directory => return Err(Errno::ISDIR.into()),
        _ => return Err(io::Error::other("it is not a regular file")),
    }
    // A file that may not be written is not replaced either, although the folder would allow it.
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut in_place = File::from(rustix::fs::openat(&folder, name, flags, Mode::empty())?);
    // From here on this file is meant, whatever takes its name.
    let existing = rustix::fs::fstat(&in_place)?;
    let linked = LinkedFile::of(&existing);
    if linked.is_some() && linked != judged {
        return Err(Errno::MLINK.into());
    }
    let only_content_changes = linked.is_none() && existing.st_uid == rustix::process::geteuid().as_raw();
    let beside = match only_content_changes {
        true => write_beside(&folder, name, content, Some(&existing)),
        false => Err(Errno::PERM.into()),
    };
    match beside {
        // The folder does not allow it, or something is mounted on the file. A full disk is another matter: to
        // write in place then would lose the old content, too.
        Err(error) if is_refusal(&error) => {
            in_place.set_len(0)?;
            in_place.write_all(content)?;
        }
        result => result?,
    }
    Ok(Written::Replaced)
}

/// Whether a file could be given new content now: what [`replace_file`] refuses is refused, and nothing is changed.
pub fn may_replace(path: &Path, judged: Option<LinkedFile>) -> io::Result<Written> {
    let file = match open_without_links(path, OFlags::WRONLY | OFlags::NONBLOCK) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Written::Created),
        Err(error) => return Err(error),
    };
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("it is not a regular file"));
    }
    let linked = LinkedFile::of(&stat);
    match linked.is_some() && linked != judged {
        true => Err(Errno::MLINK.into()),
        false => Ok(Written::Replaced),
    }
}

/// Makes a folder with all missing folders above it. Returns whether it is new.
pub fn make_folder(path: &Path) -> io::Result<bool> {
    match open_without_links(path, HOLD | OFlags::DIRECTORY) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            walk_to(path, MissingFolders::Make).map(|_| true)
        }
        Err(error) => Err(error),
    }
}

/// Moves a file or folder. A file that is there already is replaced, a folder is not.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let (old_folder, old_name) = folder_and_name(from)?;
    let name = to.file_name().ok_or(Errno::ISDIR)?;
    let folder = folder_for_writing(to.parent().unwrap_or(Path::new("/")))?;
    match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
            return Err(Errno::EXIST.into());
        }
        _ => {}
    }
    Ok(rustix::fs::renameat(old_folder, old_name, folder, name)?)
}

/// Removes a file or an empty folder.
pub fn remove(path: &Path) -> io::Result<()> {
    let (folder, name) = folder_and_name(path)?;
    remove_entry(folder.as_fd(), name, Contents::Stay)
}

/// Removes a file, or a folder with everything in it. Links are removed, not followed.
pub fn remove_all(path: &Path) -> io::Result<()> {
    let (folder, name) = folder_and_name(path)?;
    remove_entry(folder.as_fd(), name, Contents::GoToo)
}

/// The names in a folder, sorted.
pub fn names_in(folder: impl AsFd) -> io::Result<Vec<OsString>> {
    let mut names: Vec<OsString> = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Whether a folder is removed with its contents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contents {
    Stay,
    GoToo,
}

fn remove_entry(folder: BorrowedFd<'_>, name: &OsStr, contents: Contents) -> io::Result<()> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?);
    }
    if contents == Contents::GoToo {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let inner = rustix::fs::openat(folder, name, flags, Mode::empty())?;
        for name in names_in(&inner)? {
            remove_entry(inner.as_fd(), &name, contents)?;
        }
    }
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}

/// The opened folder of a path, and the name in it.
fn folder_and_name(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let name = path.file_name().ok_or(Errno::ISDIR)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    Ok((open_without_links(folder, HOLD | OFlags::DIRECTORY)?, name))
}

/// An I/O failure in plain English, without the name of the file.
pub fn reason(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::LOOP) => "a link replaced it after the call was judged; nothing was opened".to_owned(),
        Some(Errno::MLINK) => {
            "it became a hard link to another file after the call was judged; nothing was written".to_owned()
        }
        Some(Errno::NOENT) => "it does not exist".to_owned(),
        Some(Errno::ACCESS | Errno::PERM) => "permission denied".to_owned(),
        Some(Errno::ISDIR) => "it is a directory".to_owned(),
        Some(Errno::NOTDIR) => "it is not a directory, or a part of its path is not".to_owned(),
        Some(Errno::ROFS) => "the file system is read-only".to_owned(),
        Some(Errno::NOTEMPTY) => "the folder is not empty".to_owned(),
        Some(Errno::EXIST) => "it already exists".to_owned(),
        Some(Errno::NAMETOOLONG) => "its name is too long".to_owned(),
        Some(Errno::NOSPC) => "there is no space left on the device".to_owned(),
        _ => error.to_string(),
    }
}

/// A number of bytes, formatted for people.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::BUSY | Errno::XDEV)
    )
}

fn write_beside(folder: &OwnedFd, name: &OsStr, content: &[u8], existing: Option<&Stat>) -> io::Result<()> {
    let (temporary, file) = temporary_file(folder)?;
    let written = fill(file, content, existing).and_then(|()| {
        rustix::fs::renameat(folder, &temporary, folder, name)?;
        Ok(())
    });
    if written.is_err() {
        // The first failure is the one to tell; a leftover that cannot be removed changes nothing about it.
        let _ = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty());
    }
    written
}

fn temporary_file(folder: &OwnedFd) -> io::Result<(String, File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // The default mode of new files, from which the umask subtracts.
    let mode = Mode::from_raw_mode(0o666);
    let process = std::process::id();
    for attempt in 0..1000 {
        let name = format!(".becket-{process}-{attempt}.tmp");
        match rustix::fs::openat(folder, &name, flags, mode) {
            Ok(file) => return Ok((name, File::from(file))),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("no name is free for a temporary file"))
}

fn fill(mut file: File, content: &[u8], existing: Option<&Stat>) -> io::Result<()> {
    file.write_all(content)?;
    if let Some(existing) = existing {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(existing.st_mode & 0o7777))?;
    }
    Ok(())
}

/// Flags for holding on to a folder: where the system can, without needing the right to list it.
#[cfg(target_os = "linux")]
const HOLD: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const HOLD: OFlags = OFlags::RDONLY;

/// Opens the folder, and makes what is missing of it.
fn folder_for_writing(path: &Path) -> io::Result<OwnedFd> {
    match open_without_links(path, HOLD | OFlags::DIRECTORY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => walk_to(path, MissingFolders::Make),
        result => result,
    }
}

#[cfg(target_os = "linux")]
fn open_without_links(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    use rustix::fs::{CWD, ResolveFlags, openat2};
    let flags = flags | OFlags::CLOEXEC;
    match openat2(
        CWD,
        path,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    ) {
        // Kernels before 5.6 and some sandboxes do not have the call.
        Err(Errno::NOSYS | Errno::PERM) => open_step_by_step(path, flags),
        result => result.map_err(io::Error::from),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    open_step_by_step(path, flags | OFlags::CLOEXEC)
}

fn open_step_by_step(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let Some(name) = path.file_name() else {
        return Ok(rustix::fs::open(path, flags, Mode::empty())?);
    };
    let folder = walk_to(path.parent().unwrap_or(Path::new("/")), MissingFolders::Refuse)?;
    Ok(rustix::fs::openat(
        folder,
        name,
        flags | OFlags::NOFOLLOW,
        Mode::empty(),
    )?)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingFolders {
    Make,
    Refuse,
}

/// Goes from the root to the folder, one part after the other, and follows no link.
fn walk_to(path: &Path, missing: MissingFolders) -> io::Result<OwnedFd> {
    let flags = HOLD | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open("/", flags, Mode::empty())?;
    for component in path.components() {
        let name = match component {
            Component::Normal(name) => name,
            Component::RootDir => continue,
            _ => return Err(io::Error::other("the path is not resolved")),
        };
        folder = match step(folder.as_fd(), name, flags) {
            Err(Errno::NOENT) if missing == MissingFolders::Make => {
                match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                    // Another process may have made it at the same moment.
                    Ok(()) | Err(Errno::EXIST) => step(folder.as_fd(), name, flags)?,
                    Err(error) => return Err(error.into()),
                }
            }
            result => result?,
        };
    }
    Ok(folder)
}

fn step(folder: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        // A link in place of a folder is told as "not a directory" by some systems.
        Err(Errno::NOTDIR) if is_link(folder, name) => Err(Errno::LOOP),
        result => result,
    }
}

fn is_link(folder: BorrowedFd<'_>, name: &OsStr) -> bool {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    /// Runs something without the powers of root, which no permission holds back. The user of a single thread can be
    /// changed on Linux; elsewhere tests are not run as root.
    fn as_ordinary_user<T: Send>(act: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                #[cfg(target_os = "linux")]
                if rustix::process::geteuid().is_root() {
                    let nobody = rustix::process::Uid::from_raw(65534);
                    rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
                }
                act()
            });
            thread.join().unwrap()
        })
    }

    fn refused_as_link<T>(result: io::Result<T>) {
        let error = result.err().expect("a link is not followed");
        assert_eq!(Errno::from_io_error(&error), Some(Errno::LOOP), "{error}");
    }

    #[test]
    fn a_link_at_the_end_or_in_the_middle_is_not_followed() {
        let (_guard, path) = folder();
        std::fs::create_dir(path.join("real")).unwrap();
        std::fs::write(path.join("real/file"), "x").unwrap();
        symlink(path.join("real/file"), path.join("link")).unwrap();
        symlink(path.join("real"), path.join("folder")).unwrap();
        assert!(open_file(&path.join("real/file")).is_ok());
        for open in [open_file, |path: &Path| {
            open_step_by_step(path, OFlags::RDONLY).map(File::from)
        }] {
            refused_as_link(open(&path.join("link")));
            refused_as_link(open(&path.join("folder/file")));
        }
        refused_as_link(replace_file(&path.join("link"), b"y", None));
        refused_as_link(replace_file(&path.join("folder/file"), b"y", None));
        refused_as_link(replace_file(&path.join("folder/new/file"), b"y", None));
        assert_eq!(std::fs::read(path.join("real/file")).unwrap(), b"x");
        assert!(!path.join("real/new").exists());
    }

    #[test]
    fn a_new_file_comes_with_its_folders_and_nothing_is_left_beside_it() {
        let (_guard, path) = folder();
        let file = path.join("a/b/c.txt");
        assert_eq!(replace_file(&file, b"hello", None).unwrap(), Written::Created);
        assert_eq!(std::fs::read(&file).unwrap(), b"hello");
        assert_eq!(std::fs::read_dir(path.join("a/b")).unwrap().count(), 1);
    }

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let (_guard, path) = folder();
        let file = path.join("run.sh");
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o751)).unwrap();
        assert_eq!(replace_file(&file, b"new", None).unwrap(), Written::Replaced);
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777,
            0o751
        );
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn hard_links_stay_together() {
        let (_guard, path) = folder();
        let (one, two) = (path.join("one"), path.join("two"));
        std::fs::write(&one, "a longer old text").unwrap();
        std::fs::hard_link(&one, &two).unwrap();
        replace_file(&one, b"new", LinkedFile::at(&one)).unwrap();
        assert_eq!(std::fs::read(&two).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&one).unwrap().nlink(), 2);
    }

    #[test]
    fn a_file_that_became_a_hard_link_after_it_was_judged_is_not_written_through() {
        let (_guard, path) = folder();
        let [file, other, secret] = ["file", "other", "secret"].map(|name| path.join(name));
        std::fs::write(&secret, "secret").unwrap();
        let refused = |judged: Option<LinkedFile>| {
            std::fs::hard_link(&secret, &file).unwrap();
            let error = replace_file(&file, b"new", judged).unwrap_err();
            assert!(reason(&error).contains("became a hard link"), "{error}");
            assert_eq!(std::fs::read(&secret).unwrap(), b"secret");
            std::fs::remove_file(&file).unwrap();
        };
        refused(LinkedFile::at(&file));
        std::fs::write(&file, "alone").unwrap();
        let alone = LinkedFile::at(&file);
        std::fs::hard_link(&file, &other).unwrap();
        let linked = LinkedFile::at(&file);
        std::fs::remove_file(&file).unwrap();
        assert!(alone.is_none() && linked.is_some());
        refused(alone);
        refused(linked);
    }

    #[test]
    fn a_file_in_a_folder_that_takes_no_new_ones_is_written_in_place() {
        let (_guard, path) = folder();
        let file = path.join("file");
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o555)).unwrap();
        let written = as_ordinary_user(|| replace_file(&file, b"new", None));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(written.unwrap(), Written::Replaced);
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn a_file_that_may_not_be_written_is_not_replaced_either() {
        let (_guard, path) = folder();
        let file = path.join("file");
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        let error = as_ordinary_user(|| replace_file(&file, b"new", None)).unwrap_err();
        assert_eq!(reason(&error), "permission denied");
        assert_eq!(std::fs::read(&file).unwrap(), b"old");
    }

    #[test]
    fn a_file_that_may_not_be_read_says_so() {
        let (_guard, path) = folder();
        let file = path.join("file");
        std::fs::write(&file, "secret").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let error = as_ordinary_user(|| open_file(&file)).unwrap_err();
        assert_eq!(reason(&error), "permission denied");
    }

    #[test]
    fn folders_pipes_and_devices_are_not_replaced() {
        let (_guard, path) = folder();
        let error = replace_file(&path, b"x", None).unwrap_err();
        assert_eq!(reason(&error), "it is a directory");
        let error = replace_file(Path::new("/dev/null"), b"x", None).unwrap_err();
        assert!(reason(&error).contains("not a regular file"), "{error}");
    }

    #[test]
    fn a_file_in_place_of_a_folder_is_told() {
        let (_guard, path) = folder();
        std::fs::write(path.join("file"), "x").unwrap();
        let error = replace_file(&path.join("file/below"), b"x", None).unwrap_err();
        assert!(reason(&error).contains("not a directory"), "{error}");
    }

    #[test]
    fn sizes_are_readable() {
        assert_eq!(size(0), "0 bytes");
        assert_eq!(size(1023), "1023 bytes");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(5 * 1024 * 1024), "5.0 MiB");
    }
}
