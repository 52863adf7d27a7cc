//! Installs what was packed into empty roots, and runs the README's guard in each.
//!
//! A root holds a static busybox as its shell and its tools, and nothing else: no C library, no certificates, no
//! `/proc`; only the devices of this machine. What runs there runs wherever the kernel does.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::{Release, copy, make, write};
use crate::problem::{Problem, output};

/// What the guard of the README says.
const REFUSAL: &str = "rm -rf is not allowed here";

/// The variable that names a static busybox.
const BUSYBOX: &str = "BUSYBOX";

/// Installs the archive, the Debian package and the npm package.
pub fn run(ship: &Path, release: &Release<'_>) -> Result<(), Problem> {
    let busybox = busybox()?;
    let room = tempfile::tempdir().map_err(|error| format!("no folder for the roots: {error}"))?;
    let root = |name: &str| Root::new(&room.path().join(name), &busybox);
    println!();

    let archive = root("archive")?;
    archive.take(ship, "release")?;
    archive.run("/release/install.sh --from /release --prefix /usr")?;
    archive.refuses("/usr/bin/becket")?;
    archive.run("/release/install.sh --uninstall --prefix /usr")?;
    let left = archive.run("find /usr -type f")?;
    if !left.trim().is_empty() {
        return Err(format!("`install.sh --uninstall` leaves files:\n{left}"));
    }
    println!("archive, installed by install.sh and removed again: the guard refuses");

    let damaged = root("damaged")?;
    damaged.take(ship, "release")?;
    damaged.run("for file in /release/*.tar.xz; do printf x >>\"$file\"; done")?;
    if damaged
        .run("/release/install.sh --from /release --prefix /usr")
        .is_ok()
    {
        return Err("install.sh installs an archive that is not the one of SHA256SUMS".into());
    }
    println!("archive that was changed: install.sh installs nothing");

    let debian = root("debian")?;
    debian.dpkg(&ship.join(format!(
        "becket_{}_{}.deb",
        release.version,
        release.target.processor().0
    )))?;
    debian.refuses("/usr/bin/becket")?;
    println!("Debian package, installed by dpkg: the guard refuses");

    let npm = root("npm")?;
    let mut install = Command::new("npm");
    install
        .args(["install", "--offline", "--no-audit", "--no-fund", "--prefix"])
        .arg(npm.folder.join("app"))
        .arg(ship.join(format!("becket-{}.tgz", release.version)));
    output(install)?;
    npm.refuses("/app/node_modules/.bin/becket")?;
    println!("npm package: the guard refuses");
    Ok(())
}

/// A busybox that needs no C library.
fn busybox() -> Result<PathBuf, Problem> {
    let missing =
        || format!("no static busybox; install busybox-static, or name one in the variable {BUSYBOX}");
    let file = match std::env::var_os(BUSYBOX) {
        Some(file) => PathBuf::from(file),
        None => {
            let mut which = Command::new("sh");
            which.args(["-c", "command -v busybox"]);
            PathBuf::from(output(which).map_err(|_| missing())?.trim())
        }
    };
    let mut list = Command::new("ldd");
    list.arg(&file);
    // `ldd` fails for a static program.
    match output(list) {
        Err(_) => Ok(file),
        Ok(_) => Err(missing()),
    }
}

/// An empty root.
struct Root {
    folder: PathBuf,
}

impl Root {
    fn new(folder: &Path, busybox: &Path) -> Result<Self, Problem> {
        let root = Self {
            folder: folder.to_path_buf(),
        };
        copy(busybox, &folder.join("bin/busybox"))?;
        for name in ["tmp", "root", "work/build", "dev"] {
            make(&folder.join(name))?;
        }
        let guard = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/guard.toml");
        copy(Path::new(guard), &folder.join("work/guard.toml"))?;
        root.chroot(&["/bin/busybox", "--install", "-s", "/bin"])?;
        Ok(root)
    }

    /// Copies a folder into the root.
    fn take(&self, from: &Path, name: &str) -> Result<(), Problem> {
        let mut cp = Command::new("cp");
        cp.arg("-r").arg(from).arg(self.folder.join(name));
        output(cp).map(drop)
    }

    /// Runs a line in the root's shell.
    fn run(&self, line: &str) -> Result<String, Problem> {
        self.chroot(&["/bin/sh", "-c", &format!("cd /work && {{ {line}; }} 2>&1")])
    }

    fn chroot(&self, words: &[&str]) -> Result<String, Problem> {
        // A user may be root in a namespace of their own. Programs expect devices, which every container has.
        let line = r#"mount --rbind /dev "$0/dev" && exec chroot "$0" "$@""#;
        let mut unshare = Command::new("unshare");
        unshare
            .args(["--map-root-user", "--mount", "--pid", "--fork", "sh", "-c", line])
            .arg(&self.folder)
            .args(words)
            .env_clear()
            .env("PATH", "/bin:/usr/bin:/sbin:/usr/sbin")
            .env("HOME", "/root");
        output(unshare)
    }

    /// Fails unless the guard of the README refuses, in its own words.
    fn refuses(&self, program: &str) -> Result<(), Problem> {
        let said = self.run(&format!("{program} --hooks guard.toml 'Run: rm -rf build'"))?;
        if said.contains(REFUSAL) && self.folder.join("work/build").is_dir() {
            return Ok(());
        }
        Err(format!("{program} does not refuse:\n{said}"))
    }

    fn dpkg(&self, package: &Path) -> Result<(), Problem> {
        for name in ["status", "available", "info/format"] {
            write(
                &self.folder.join("var/lib/dpkg").join(name),
                if name == "info/format" { "1\n" } else { "" },
            )?;
        }
        make(&self.folder.join("var/lib/dpkg/updates"))?;
        make(&self.folder.join("var/lib/dpkg/triggers"))?;
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", self.folder.display()))
            .args([
                "--force-not-root",
                "--force-bad-path",
                "--log=/dev/null",
                "--install",
            ])
            .arg(package);
        output(dpkg).map(drop)
    }
}
