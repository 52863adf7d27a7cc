//! The virtual file system: files that belong to contexts and not to a project, under addresses such as
//! `vfs:///shared/plan.md`.
//!
//! `VfsPath` is an address, and knows who may write there. `Vfs` finds the file behind an address (`VfsPlace`), in a
//! folder of becket; what would lead out of that folder is refused. `place.rs` reads and writes places.
//!
//! Zones decide in the user's place: reading is free, and a context writes in its own zones without a question. A
//! folder that is moved or deleted is judged file by file, or a guard of one file could be got around by way of its
//! folder.

mod place;

use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use place::{Entry, Info, Kind, VfsPlace};

use crate::judged_path::reason;
use crate::resolve::resolve_path;

/// The prefix of every address; the path follows, with its own slash.
pub const SCHEME: &str = "vfs://";

/// The folders at the top level.
pub const ZONES: &[&str] = &["flocks", "home", "shared", "site", "sys", "tools"];

/// The longest address, in bytes.
const LONGEST: usize = 2_048;

/// A path in the virtual file system: `/` or names with a slash before each. Nothing in it needs resolving.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VfsPath(String);

/// Who wants to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller<'a> {
    /// becket itself, or the user at the command line.
    System,
    /// A context.
    Context {
        /// The context's name.
        name: &'a str,
        /// The flocks that the context has joined.
        flocks: &'a [String],
    },
}

impl VfsPath {
    /// Whether a text is meant as an address, valid or not.
    pub fn is_meant_by(text: &str) -> bool {
        text.get(..4)
            .is_some_and(|start| start.eq_ignore_ascii_case("vfs:"))
    }

    /// Parses an address; the error says what is wrong with it.
    pub fn parse(address: &str) -> Result<Self, String> {
        match address.strip_prefix(SCHEME) {
            Some(path) if path.starts_with('/') => Self::from_path(path),
            _ => Err(format!(
                "`{}` is no address of the virtual file system; write it with three slashes, as in \
                 vfs:///shared/notes.md",
                beginning(address)
            )),
        }
    }

    /// Parses the path of an address, as in `/shared/notes.md`.
    pub fn from_path(path: &str) -> Result<Self, String> {
        let wrong = |what: &str| Err(format!("`{SCHEME}{}` is no address: {what}", beginning(path)));
        if path == "/" {
            return Ok(Self(path.into()));
        }
        if path.len() > LONGEST {
            return wrong(&format!("it has more than {LONGEST} bytes"));
        }
        if path.chars().any(char::is_control) {
            return wrong("it holds a control character");
        }
        let Some(names) = path.strip_prefix('/') else {
            return wrong("the path does not begin with a slash");
        };
        for name in names.split('/') {
            match name {
                "" => return wrong("it has an empty part; no slash stands at the end, or beside another"),
                "." | ".." => return wrong("`.` and `..` have no meaning here"),
                _ => {}
            }
        }
        Ok(Self(path.into()))
    }

    /// The path, as in `/shared/notes.md`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names in the path, from the zone down.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// The address of a relative path below this one.
    pub fn join(&self, below: &str) -> Result<Self, String> {
        Self::from_path(&format!("{}/{below}", self.0.trim_end_matches('/')))
    }

    /// Whether the address is the other one, or lies below it.
    pub fn is_in(&self, other: &Self) -> bool {
        let mut names = self.names();
        other.names().all(|name| names.next() == Some(name))
    }

    /// Whether the address lies in a zone of flocks, so that it matters which ones a caller has joined.
    pub fn is_of_a_flock(&self) -> bool {
        let mut names = self.names();
        match names.next() {
            Some("flocks") => true,
            Some("tools") => names.next() == Some("flocks"),
            _ => false,
        }
    }

    /// Checks that the caller may write at the address. The error says who may write where.
    pub fn check_write(&self, caller: Caller<'_>) -> Result<(), String> {
        let names: Vec<&str> = self.names().collect();
        let (context, flocks) = match (caller, names.as_slice()) {
            _ if self.is_shown() => {
                return Err(format!("{self} is made by becket itself; nobody writes there"));
            }
            (Caller::System, [zone, ..]) if ZONES.contains(zone) => return Ok(()),
            (Caller::System, _) => {
                let zones = ZONES.join(", ");
                return Err(format!(
                    "{self} is in no zone; at the top of the virtual file system are {zones}"
                ));
            }
            (Caller::Context { name, flocks }, _) => (name, flocks),
        };
        match names.as_slice() {
            ["shared" | "site", _, ..] | ["tools", "shared", _, ..] => Ok(()),
            ["home", owner, _, ..] | ["tools", "home", owner, _, ..] if *owner == context => Ok(()),
            ["flocks", flock, _, ..] | ["tools", "flocks", flock, _, ..]
                if flocks.iter().any(|joined| joined == flock) =>
            {
                Ok(())
            }
            _ => Err(format!(
                "the context {context} may not write {self}; it may write below vfs:///shared, \
                 vfs:///home/{context}, vfs:///site, vfs:///tools/shared and vfs:///tools/home/{context}, and in the \
                 zones of flocks that it has joined"
            )),
        }
    }
}

impl VfsPath {
    /// Whether becket itself shows something at the address, or may show it.
    pub fn is_shown(&self) -> bool {
        let names: Vec<&str> = self.names().take(2).collect();
        matches!(names.as_slice(), ["sys", "contexts"] | ["tools", "sys"])
    }

    /// Whether the file is part of other contexts' system prompts. Its zone lets every member write it, but what one
    /// model was talked into must not instruct all others without the user's consent.
    pub fn instructs_others(&self) -> bool {
        let names: Vec<&str> = self.names().collect();
        matches!(
            names.as_slice(),
            ["site", "prompt.md"] | ["flocks", _, "prompt.md"]
        )
    }
}

impl fmt::Display for VfsPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{SCHEME}{}", self.0)
    }
}

/// The beginning of a text, short enough for a message.
fn beginning(text: &str) -> String {
    text.chars().take(100).flat_map(char::escape_debug).collect()
}

/// Writes the files that becket itself shows.
pub trait ShownFiles: Send + Sync {
    /// Called before somebody looks at an address at which becket shows something: writes what is to be seen there now.
    fn show(&self, path: &VfsPath);
}

/// The virtual file system, over a folder.
#[derive(Clone)]
pub struct Vfs {
    folder: PathBuf,
    shown: Option<Arc<dyn ShownFiles>>,
}

impl fmt::Debug for Vfs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Vfs").field(&self.folder).finish()
    }
}

impl Vfs {
    /// The virtual file system over that folder, which is made with the first file.
    pub fn new(folder: &Path) -> Self {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
        Self { folder, shown: None }
    }

    /// This virtual file system with files that becket itself shows.
    pub fn showing(mut self, shown: Arc<dyn ShownFiles>) -> Self {
        self.shown = Some(shown);
        self
    }

    /// Makes the folder, readable by the user only, before the first file comes into it.
    pub fn prepare(&self) -> Result<(), String> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|error| format!("the virtual file system has no folder: {}", reason(&error)))
    }

    /// The place behind an address. Links are followed as long as they stay inside, and the place has the address to
    /// which they lead: that is the one to be judged.
    pub fn place(&self, path: &VfsPath) -> Result<VfsPlace, String> {
        if let Some(shown) = self.shown.as_ref().filter(|_| path.is_shown()) {
            shown.show(path);
        }
        let unreadable =
            |_| format!("{path} cannot be resolved: a part of it is a link in a circle or unreadable");
        let folder = resolve_path(&self.folder, ".").map_err(unreadable)?;
        let below = match path.as_str().trim_start_matches('/') {
            "" => ".",
            below => below,
        };
        let file = resolve_path(&folder, below).map_err(unreadable)?;
        let outside = || format!("{path} leads out of the virtual file system by a link");
        let inside = file.strip_prefix(&folder).map_err(|_| outside())?;
        let inside = inside.to_str().ok_or_else(outside)?;
        let address = VfsPath::from_path(&format!("/{inside}")).map_err(|_| outside())?;
        Ok(VfsPlace::new(address, file))
    }

    /// Whether nothing was ever written.
    pub fn is_empty(&self) -> bool {
        becket_fs::symlink_metadata(&self.folder).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// The folders that belong to one context only.
    fn folders_of(&self, context: &str) -> [PathBuf; 3] {
        ["home", "tools/home", "sys/tool_cache"].map(|zone| self.folder.join(zone).join(context))
    }

    /// A folder that belongs to a context, if there is one.
    pub fn folder_of(&self, context: &str) -> Option<PathBuf> {
        let mut folders = self.folders_of(context).into_iter();
        folders.find(|folder| folder.symlink_metadata().is_ok())
    }

    /// Renames the folders of a context. The new name must not be in use here.
    pub fn rename_context(&self, old: &str, new: &str) -> io::Result<()> {
        for (from, to) in self.folders_of(old).iter().zip(self.folders_of(new)) {
            if from.symlink_metadata().is_ok() {
                std::fs::rename(from, to)?;
            }
        }
        Ok(())
    }

    /// Removes the folders of a context. A link is removed, and what it leads to stays.
    pub fn remove_context(&self, context: &str) -> io::Result<()> {
        for folder in self.folders_of(context) {
            let removed = match folder.symlink_metadata() {
                Ok(info) if info.is_dir() => std::fs::remove_dir_all(&folder),
                Ok(_) => std::fs::remove_file(&folder),
                Err(_) => Ok(()),
            };
            removed?;
        }
        Ok(())
    }

    /// The address of a file, by its absolute path with links followed; `None` for a file outside. A file inside whose
    /// name no address can hold is an error.
    pub fn address_of(&self, file: &Path) -> Result<Option<VfsPath>, String> {
        let Ok(below) = file.strip_prefix(resolve_path(&self.folder, ".")?) else {
            return Ok(None);
        };
        let below = below
            .to_str()
            .ok_or("it is in the virtual file system, under a name that is not text")?;
        VfsPath::from_path(&format!("/{below}")).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    fn vfs() -> (tempfile::TempDir, Vfs) {
        let folder = tempfile::tempdir().unwrap();
        let vfs = Vfs::new(&folder.path().join("vfs"));
        (folder, vfs)
    }

    fn path(text: &str) -> VfsPath {
        VfsPath::parse(text).unwrap()
    }

    #[test]
    fn addresses_have_three_slashes_and_nothing_to_resolve() {
        for right in [
            "vfs:///",
            "vfs:///shared",
            "vfs:///home/me/ä b.md",
            "vfs:///shared/.hidden/...",
        ] {
            assert_eq!(path(right).to_string(), right);
        }
        for wrong in [
            "",
            "vfs:",
            "vfs:/shared",
            "vfs://shared/x",
            "VFS:///shared",
            "/shared",
            "vfs:////shared",
            "vfs:///shared/",
            "vfs:///shared//x",
            "vfs:///shared/./x",
            "vfs:///shared/..",
            "vfs:///../etc/passwd",
            "vfs:///shared/a\0b",
            "vfs:///shared/a\nb",
        ] {
            let error = VfsPath::parse(wrong).unwrap_err();
            assert!(error.contains("no address"), "{wrong}: {error}");
        }
        assert!(VfsPath::is_meant_by("VFS:/x") && !VfsPath::is_meant_by("./vfs:///x"));
    }

    /// A context that has joined no flock.
    fn loner(name: &str) -> Caller<'_> {
        Caller::Context { name, flocks: &[] }
    }

    /// Who may write where, for the context `me` and for the system.
    #[test]
    fn zones_say_who_writes() {
        let table = [
            ("vfs:///shared/a", true, true),
            ("vfs:///shared", false, true),
            ("vfs:///site/a/b", true, true),
            ("vfs:///home/me/a", true, true),
            ("vfs:///home/me", false, true),
            ("vfs:///home/mee/a", false, true),
            ("vfs:///home/you/a", false, true),
            ("vfs:///flocks/x/a", false, true),
            ("vfs:///tools/shared/a.scm", true, true),
            ("vfs:///tools/home/me/a.scm", true, true),
            ("vfs:///tools/home/you/a.scm", false, true),
            ("vfs:///tools/flocks/x/a.scm", false, true),
            ("vfs:///tools/a", false, true),
            ("vfs:///tools/sys/a", false, false),
            ("vfs:///sys/tool_cache/me/x", false, true),
            ("vfs:///sys/contexts/me/state.json", false, false),
            ("vfs:///elsewhere/a", false, false),
            ("vfs:///", false, false),
        ];
        for (address, context, system) in table {
            let path = path(address);
            assert_eq!(path.check_write(loner("me")).is_ok(), context, "{address}");
            assert_eq!(path.check_write(Caller::System).is_ok(), system, "{address}");
        }
        let error = path("vfs:///home/you/a").check_write(loner("me")).unwrap_err();
        assert!(error.contains("vfs:///home/me"), "{error}");
    }

    #[test]
    fn members_write_in_the_zones_of_their_flocks() {
        let flocks = ["work".to_owned()];
        let member = Caller::Context {
            name: "me",
            flocks: &flocks,
        };
        for (address, allowed) in [
            ("vfs:///flocks/work/a", true),
            ("vfs:///tools/flocks/work/a.scm", true),
            ("vfs:///flocks/work", false),
            ("vfs:///flocks/play/a", false),
            ("vfs:///flocks/registry.json", false),
            ("vfs:///flocks/.registry.lock", false),
            ("vfs:///home/work/a", false),
        ] {
            assert_eq!(path(address).check_write(member).is_ok(), allowed, "{address}");
            assert!(path(address).check_write(loner("me")).is_err(), "{address}");
        }
        assert!(path("vfs:///tools/flocks/work/a").is_of_a_flock());
        assert!(!path("vfs:///tools/shared/flocks").is_of_a_flock());
    }

    #[test]
    fn a_link_is_judged_by_where_it_leads_and_never_leads_out() {
        let (folder, vfs) = vfs();
        let root = folder.path().join("vfs");
        std::fs::create_dir_all(root.join("shared/real")).unwrap();
        std::fs::create_dir_all(root.join("home/me")).unwrap();
        symlink("/etc", root.join("shared/out")).unwrap();
        symlink("../../..", root.join("shared/up")).unwrap();
        symlink("../../home/you", root.join("shared/real/you")).unwrap();
        symlink("turn", root.join("shared/turn")).unwrap();
        for (address, problem) in [
            ("vfs:///shared/out", "leads out"),
            ("vfs:///shared/out/passwd", "leads out"),
            ("vfs:///shared/up/new", "leads out"),
            ("vfs:///shared/turn", "circle"),
        ] {
            let error = vfs.place(&path(address)).unwrap_err();
            assert!(error.contains(problem), "{address}: {error}");
            assert!(!error.contains(&root.display().to_string()), "{error}");
        }
        let place = vfs.place(&path("vfs:///shared/real/you/x")).unwrap();
        assert_eq!(place.address(), &path("vfs:///home/you/x"));
        assert!(place.address().check_write(loner("me")).is_err());
    }

    #[test]
    fn a_file_has_an_address_if_it_lies_inside() {
        let (folder, vfs) = vfs();
        let root = folder.path().canonicalize().unwrap();
        let address = |file: &str| vfs.address_of(&root.join(file));
        assert_eq!(address("vfs/shared/x"), Ok(Some(path("vfs:///shared/x"))));
        assert_eq!(address("vfs"), Ok(Some(path("vfs:///"))));
        assert_eq!(address("vfsx/y"), Ok(None));
        assert_eq!(address(""), Ok(None));
        assert!(address("vfs/shared/a\nb").is_err());
    }

    #[test]
    fn a_folder_behind_a_link_is_a_folder() {
        let (folder, _) = vfs();
        std::fs::create_dir(folder.path().join("real")).unwrap();
        symlink("real", folder.path().join("vfs")).unwrap();
        let vfs = Vfs::new(&folder.path().join("vfs"));
        let place = vfs.place(&path("vfs:///shared/x")).unwrap();
        place.write(b"hello").unwrap();
        assert_eq!(
            std::fs::read(folder.path().join("real/shared/x")).unwrap(),
            b"hello"
        );
    }

    #[test]
    fn the_folder_is_the_persons_alone() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, vfs) = vfs();
        vfs.prepare().unwrap();
        vfs.prepare().unwrap();
        let mode = std::fs::metadata(folder.path().join("vfs"))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o700);
    }

    proptest! {
        #[test]
        fn no_address_escapes_the_folder(text in r"(vfs:///?|/)?([a-z.~\\]{0,3}|\PC{0,4}|/|\.\.){0,8}") {
            let (folder, vfs) = vfs();
            let root = folder.path().canonicalize().unwrap().join("vfs");
            if let Ok(path) = VfsPath::parse(&text) {
                let place = vfs.place(&path).unwrap();
                prop_assert!(place.file().starts_with(&root), "{:?}", place.file());
                prop_assert_eq!(place.address(), &path);
                prop_assert_eq!(VfsPath::parse(&path.to_string()), Ok(path));
            }
        }

        #[test]
        fn a_context_never_writes_in_the_zone_of_another(names in prop::collection::vec("[a-z]{1,6}", 1..5)) {
            for zone in ["home", "tools/home", "sys", "flocks"] {
                let path = VfsPath::from_path(&format!("/{zone}/{}", names.join("/"))).unwrap();
                prop_assert!(path.check_write(loner("Somebody")).is_err(), "{}", path);
            }
        }
    }
}
