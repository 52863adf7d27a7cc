//! A view of the file system in which only the plan's folders can be written, and what is hidden is not there.
//!
//! Every mount becomes read-only. What may be written is put over it again, from a copy that was made before; what is
//! protected inside of it is put over that, read-only; what is hidden is covered. A mount can be neither renamed nor
//! removed by a program inside, and the folders above what is protected become mounts too, or a program would move them
//! out of the way and put its own in their place.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount,
    open_tree,
};

use crate::access_rules::DEVICES;
use crate::kernel;
use crate::plan::{Access, Plan};
use crate::problem::Problem;

/// Where the layers of scratch folders are.
const LAYERS: &str = "/dev/.scratch";

/// Builds the view. The process needs a mount namespace of its own.
pub fn build(plan: &Plan) -> Result<(), Problem> {
    let here = WorkingDirectory::now()?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private)
        .map_err(|error| Problem::at("cannot separate mounts from those of others", error))?;
    let layers = Layer::of(plan)?;
    let devices = Devices::copied()?;
    kernel::make_read_only(CWD, c"/").map_err(|error| Problem::at("cannot make `/` read-only", error))?;
    devices.mount()?;
    for (number, layer) in layers.iter().enumerate() {
        layer.mount(number, plan)?;
    }
    here.enter()
}

/// One path of the plan.
struct Layer<'a> {
    access: Access,
    path: &'a Path,
    /// What is at the path before anything covers it, if it may be written.
    tree: Option<OwnedFd>,
}

impl<'a> Layer<'a> {
    /// All paths that exist, outer ones first, and of two for one path the stricter last.
    fn of(plan: &'a Plan) -> Result<Vec<Self>, Problem> {
        let mut paths: Vec<_> = plan.paths.iter().filter(|(_, path)| path.exists()).collect();
        paths.sort_unstable_by(|one, other| (&one.1, one.0).cmp(&(&other.1, other.0)));
        paths.dedup();
        let layer = |(access, path): &'a (Access, PathBuf)| {
            let tree = (*access == Access::Writable).then(|| copy(path)).transpose()?;
            Ok(Self {
                access: *access,
                path,
                tree,
            })
        };
        paths.into_iter().map(layer).collect()
    }

    fn mount(&self, number: usize, plan: &Plan) -> Result<(), Problem> {
        match (self.access, &self.tree) {
            (Access::Writable, Some(tree)) => {
                // It may be inside of a folder that is hidden.
                if !self.path.exists() {
                    fs::create_dir_all(self.path).map_err(|error| {
                        Problem::at(format!("cannot create {}", self.path.display()), error)
                    })?;
                }
                attach(tree, self.path)
            }
            (Access::Scratch, _) => scratch(number, self.path),
            // What is in a hidden folder is not there any more.
            _ if !self.path.exists() => Ok(()),
            (Access::Hidden, _) => hide(self.path),
            (Access::ReadOnly, _) => protect(self.path, plan),
            (Access::Writable, None) => Ok(()),
        }
    }
}

/// A copy of the mounts at a path, which is nowhere yet.
fn copy(path: &Path) -> Result<OwnedFd, Problem> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags)
        .map_err(|error| Problem::at(format!("cannot mount {}", path.display()), error))
}

fn attach(tree: &OwnedFd, path: &Path) -> Result<(), Problem> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_SYMLINKS;
    move_mount(tree, "", CWD, path, flags)
        .map_err(|error| Problem::at(format!("cannot mount {}", path.display()), error))
}

/// Makes a path read-only, and keeps it where it is.
fn protect(path: &Path, plan: &Plan) -> Result<(), Problem> {
    // Outside of what is writable everything is read-only already.
    let outer = plan
        .with(Access::Writable)
        .filter(|outer| path.starts_with(outer));
    let Some(outer) = outer.max() else {
        return Ok(());
    };
    let mut between: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|folder| *folder != outer)
        .collect();
    between.reverse();
    for folder in between {
        attach(&copy(folder)?, folder)?;
    }
    let tree = copy(path)?;
    kernel::make_read_only(tree.as_fd(), c"")
        .map_err(|error| Problem::at(format!("cannot make {} read-only", path.display()), error))?;
    attach(&tree, path)
}

/// Covers a folder by an empty one, a file by one without content.
fn hide(path: &Path) -> Result<(), Problem> {
    if path.is_dir() {
        tmpfs(path)
    } else {
        attach(&copy(Path::new("/dev/null"))?, path)
    }
}

fn tmpfs(path: &Path) -> Result<(), Problem> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", path, "tmpfs", flags, c"mode=755")
        .map_err(|error| Problem::at(format!("cannot cover {}", path.display()), error))
}

/// Puts an empty layer over a folder, which takes what is written. Where the file system cannot carry one, the folder
/// stays read-only.
fn scratch(number: usize, path: &Path) -> Result<(), Problem> {
    let layers = Path::new(LAYERS).join(number.to_string());
    let (upper, work) = (layers.join("upper"), layers.join("work"));
    for folder in [&upper, &work] {
        fs::create_dir_all(folder).map_err(|error| Problem::at("cannot create a scratch layer", error))?;
    }
    // Both would end the option.
    let lower = path.as_os_str().as_encoded_bytes();
    if lower.iter().any(|byte| b",:\\".contains(byte)) {
        return Ok(());
    }
    let (lower, upper, work) = (path.display(), upper.display(), work.display());
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work},userxattr");
    let options = CString::new(options).map_err(|_| Problem::new("a path contains a NUL character"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let _ = mount("overlay", path, "overlay", flags, options.as_c_str());
    Ok(())
}

/// The devices that a confined program has, and a folder of its own for shared memory and for terminals.
struct Devices(Vec<(&'static str, OwnedFd)>);

impl Devices {
    fn copied() -> Result<Self, Problem> {
        let copied = DEVICES.map(|name| Ok((name, copy(&Path::new("/dev").join(name))?)));
        copied.into_iter().collect::<Result<_, _>>().map(Self)
    }

    fn mount(&self) -> Result<(), Problem> {
        let failed = |error| Problem::at("cannot make devices", error);
        let dev = Path::new("/dev");
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        mount("tmpfs", dev, "tmpfs", flags, c"mode=755").map_err(|error| failed(error.into()))?;
        for (name, tree) in &self.0 {
            File::create_new(dev.join(name)).map_err(failed)?;
            attach(tree, &dev.join(name))?;
        }
        for (name, target) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            symlink(target, dev.join(name)).map_err(failed)?;
        }
        for folder in ["shm", "pts"] {
            fs::create_dir(dev.join(folder)).map_err(failed)?;
        }
        let options = c"newinstance,ptmxmode=0666,mode=620";
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        // Few programs make terminals, and not every system lets users.
        let _ = mount("devpts", dev.join("pts"), "devpts", flags, options);
        Ok(())
    }
}

/// The folder in which the program starts. It has to be entered again, or the program would stand in the old view.
struct WorkingDirectory {
    path: PathBuf,
    /// Device and number.
    file: (u64, u64),
}

impl WorkingDirectory {
    fn now() -> Result<Self, Problem> {
        let failed = |error| Problem::at("there is no working directory", error);
        let path = std::env::current_dir().map_err(failed)?;
        let file = identity(Path::new(".")).map_err(failed)?;
        Ok(Self { path, file })
    }

    fn enter(&self) -> Result<(), Problem> {
        let failed = |error| Problem::at(format!("cannot start in {}", self.path.display()), error);
        std::env::set_current_dir(&self.path).map_err(failed)?;
        if identity(Path::new(".")).map_err(failed)? == self.file {
            Ok(())
        } else {
            Err(Problem::new(format!(
                "{} is hidden, so nothing can start there",
                self.path.display()
            )))
        }
    }
}

fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    let facts = path.metadata()?;
    Ok((facts.dev(), facts.ino()))
}
