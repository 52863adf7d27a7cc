//! A view of the file system in which only the plan's folders can be written, and what is hidden is not there.
//!
//! Every mount becomes read-only. What may be written is put over it again, from a copy that was made before; what is
//! protected inside of it is put over that, read-only; what is hidden is covered. A mount can be neither renamed nor
//! removed by a program inside, and the folders above each of them become mounts too, or a program would move them out
//! of the way and put its own in their place.
//!
//! What `place.rs` has opened is mounted: a link that a program has put into the place of a folder leads nowhere. A
//! link that is protected is itself covered by its copy.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, fstat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount,
    open_tree,
};

use crate::kernel;
use crate::place::{DEVICES, place};
use crate::plan::{Access, Plan, Strength};
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
    if plan.strength == Strength::Full {
        list_processes()?;
    }
    let mut view = View {
        writable: plan.with(Access::Writable).collect(),
        mounted: BTreeSet::new(),
    };
    for (number, layer) in layers.into_iter().enumerate() {
        view.add(layer, number)?;
    }
    here.enter()
}

/// Mounts the list of the processes in this process's namespace over that of all.
pub fn list_processes() -> Result<(), Problem> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    mount("proc", "/proc", "proc", flags, c"")
        .map_err(|error| Problem::at("cannot list the program's own processes", error))
}

/// One path of the plan.
struct Layer<'a> {
    access: Access,
    path: &'a Path,
    /// What is at the path before anything covers it, if it may be written.
    tree: Option<OwnedFd>,
}

impl<'a> Layer<'a> {
    /// All paths where something is, outer ones first, and of two for one path the stricter last.
    fn of(plan: &'a Plan) -> Result<Vec<Self>, Problem> {
        let mut paths: Vec<&(Access, PathBuf)> = plan.paths.iter().collect();
        paths.sort_unstable_by(|one, other| (&one.1, one.0).cmp(&(&other.1, other.0)));
        paths.dedup();
        let mut layers = Vec::with_capacity(paths.len());
        for (access, path) in paths {
            let Some(place) = place(path)? else { continue };
            let tree = match access {
                Access::Writable if is_link(&place) => {
                    return Err(Problem::new(format!(
                        "{} is a link, so nothing starts",
                        path.display()
                    )));
                }
                Access::Writable => Some(copy(&place, path)?),
                _ => None,
            };
            layers.push(Self {
                access: *access,
                path,
                tree,
            });
        }
        Ok(layers)
    }
}

/// What is mounted so far.
struct View<'a> {
    writable: Vec<&'a Path>,
    /// Paths that are mounts, and so cannot be moved.
    mounted: BTreeSet<PathBuf>,
}

impl View<'_> {
    fn add(&mut self, layer: Layer<'_>, number: usize) -> Result<(), Problem> {
        let path = layer.path;
        if let Some(tree) = layer.tree {
            // It may be inside of a folder that is hidden.
            if place(path)?.is_none() {
                fs::create_dir_all(path)
                    .map_err(|error| Problem::at(format!("cannot create {}", path.display()), error))?;
            }
            self.keep_above(path)?;
            return self.attach(&tree, path);
        }
        // What was in a hidden folder is not there any more.
        let Some(place) = place(path)? else {
            return Ok(());
        };
        self.keep_above(path)?;
        match layer.access {
            Access::Hidden if is_folder(&place) => tmpfs(path),
            Access::Hidden => self.attach(&read_only(Path::new("/dev/null"))?, path),
            Access::Scratch if scratch(number, path)? => Ok(()),
            // Outside of what is writable everything is read-only already.
            Access::ReadOnly | Access::Scratch if self.outer(path).is_some() => {
                let tree = read_only(path)?;
                self.attach(&tree, path)
            }
            _ => Ok(()),
        }
    }

    /// The innermost writable folder that a path is in.
    fn outer(&self, path: &Path) -> Option<&Path> {
        let outer = self.writable.iter().filter(|outer| path.starts_with(outer));
        outer.max().copied()
    }

    /// Makes mounts of the folders between a path and every writable folder around it.
    fn keep_above(&mut self, path: &Path) -> Result<(), Problem> {
        let Some(outermost) = self.writable.iter().filter(|outer| path.starts_with(outer)).min() else {
            return Ok(());
        };
        let between = path
            .ancestors()
            .skip(1)
            .filter(|folder| folder.starts_with(outermost));
        let mut between: Vec<&Path> = between.filter(|folder| !self.mounted.contains(*folder)).collect();
        between.reverse();
        for folder in between {
            if let Some(place) = place(folder)? {
                let tree = copy(&place, folder)?;
                self.attach(&tree, folder)?;
            }
        }
        Ok(())
    }

    fn attach(&mut self, tree: &OwnedFd, path: &Path) -> Result<(), Problem> {
        attach(tree, path)?;
        self.mounted.insert(path.to_path_buf());
        Ok(())
    }
}

/// A copy of the mounts at a place, which is nowhere yet.
fn copy(place: &OwnedFd, path: &Path) -> Result<OwnedFd, Problem> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(place, "", flags)
        .map_err(|error| Problem::at(format!("cannot mount {}", path.display()), error))
}

/// The same, read-only.
fn read_only(path: &Path) -> Result<OwnedFd, Problem> {
    let place = place(path)?.ok_or_else(|| Problem::new(format!("{} is not there", path.display())))?;
    let tree = copy(&place, path)?;
    kernel::make_read_only(tree.as_fd(), c"")
        .map_err(|error| Problem::at(format!("cannot make {} read-only", path.display()), error))?;
    Ok(tree)
}

fn attach(tree: &OwnedFd, path: &Path) -> Result<(), Problem> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    let place = place(path)?.ok_or_else(|| Problem::new(format!("{} is not there", path.display())))?;
    move_mount(tree, "", &place, "", flags)
        .map_err(|error| Problem::at(format!("cannot mount {}", path.display()), error))
}

fn kind(place: &OwnedFd) -> Option<FileType> {
    Some(FileType::from_raw_mode(fstat(place).ok()?.st_mode))
}

fn is_link(place: &OwnedFd) -> bool {
    kind(place) == Some(FileType::Symlink)
}

fn is_folder(place: &OwnedFd) -> bool {
    kind(place) == Some(FileType::Directory)
}

fn tmpfs(path: &Path) -> Result<(), Problem> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", path, "tmpfs", flags, c"mode=755")
        .map_err(|error| Problem::at(format!("cannot cover {}", path.display()), error))
}

/// Puts an empty layer over a folder, which takes what is written. Returns whether its file system can carry one.
fn scratch(number: usize, path: &Path) -> Result<bool, Problem> {
    let layers = Path::new(LAYERS).join(number.to_string());
    let (upper, work) = (layers.join("upper"), layers.join("work"));
    for folder in [&upper, &work] {
        fs::create_dir_all(folder).map_err(|error| Problem::at("cannot create a scratch layer", error))?;
    }
    // These would end the option.
    let lower = path.as_os_str().as_encoded_bytes();
    if lower.iter().any(|byte| b",:\\".contains(byte)) {
        return Ok(false);
    }
    let (lower, upper, work) = (path.display(), upper.display(), work.display());
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work},userxattr");
    let options = CString::new(options).map_err(|_| Problem::new("a path contains a NUL character"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("overlay", path, "overlay", flags, options.as_c_str()).is_ok())
}

/// The devices that a confined program has, and a folder of its own for shared memory and for terminals.
struct Devices(Vec<(&'static str, OwnedFd)>);

impl Devices {
    /// Copies of the devices. They are read-only, which keeps their owner and mode: what is written to them still
    /// arrives.
    fn copied() -> Result<Self, Problem> {
        let copied = DEVICES.map(|name| Ok((name, read_only(&Path::new("/dev").join(name))?)));
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
