//! What a program may touch, and how that is written on a command line.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::Problem;

/// What is allowed below one path, from the least strict. Everything that no plan names can be read and not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Read and written.
    Writable,
    /// Read and written, but what is written is gone with the program: a cache that others trust.
    Scratch,
    /// Read only, inside of what is writable.
    ReadOnly,
    /// Neither read nor written.
    Hidden,
}

impl Access {
    /// All kinds, with their options.
    const OPTIONS: [(Self, &'static str); 4] = [
        (Self::Writable, "--writable"),
        (Self::Scratch, "--scratch"),
        (Self::ReadOnly, "--read-only"),
        (Self::Hidden, "--hidden"),
    ];

    fn option(self) -> &'static str {
        let row = Self::OPTIONS.iter().find(|(access, _)| *access == self);
        row.expect("every kind has an option").1
    }
}

/// Whether there is a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Only the program's own loopback, which nobody else is on.
    #[default]
    Off,
    /// The same, with a proxy on it. Who listens at this path is handed the proxy's socket and decides what is reached.
    Proxy(PathBuf),
}

/// What holds the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strength {
    /// Namespaces, Landlock and a filter of system calls.
    #[default]
    Full,
    /// No namespace of processes: those of others can be listed, and what a program starts may outlive it.
    SharedProcesses,
    /// No namespaces. Paths that are read-only or hidden inside of a writable folder can be written and read, caches
    /// stay read-only, a file's owner and mode can be changed wherever the user may, and processes are shared too.
    LandlockOnly,
}

impl Strength {
    /// The kinds that are not the default, with their options.
    const OPTIONS: [(Self, &'static str); 2] = [
        (Self::SharedProcesses, "--shared-processes"),
        (Self::LandlockOnly, "--no-namespaces"),
    ];

    /// Whether the program has a view of the file system and a network of its own.
    pub fn has_namespaces(self) -> bool {
        self != Self::LandlockOnly
    }
}

/// What a program may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Paths and what is allowed below them. The longest path that contains a file decides, and of two for one path the
    /// stricter.
    pub paths: Vec<(Access, PathBuf)>,
    /// Whether there is a network.
    pub network: Network,
    /// What holds the plan.
    pub strength: Strength,
}

const PROXY: &str = "--proxy";

impl Plan {
    /// The plan as options of the small program, which want `--` and the program behind them.
    pub fn to_options(&self) -> Vec<OsString> {
        let mut options: Vec<OsString> = Vec::with_capacity(2 * self.paths.len() + 2);
        for (access, path) in &self.paths {
            options.extend([access.option().into(), path.into()]);
        }
        if let Network::Proxy(socket) = &self.network {
            options.extend([PROXY.into(), socket.into()]);
        }
        let strength = Strength::OPTIONS.iter().filter(|(one, _)| *one == self.strength);
        options.extend(strength.map(|(_, option)| option.into()));
        options
    }

    /// Reads a plan and the command line behind it.
    pub fn from_options(words: impl IntoIterator<Item = OsString>) -> Result<(Self, Vec<OsString>), Problem> {
        let mut plan = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if word == "--" {
                return Ok((plan, words.collect()));
            } else if word == PROXY {
                plan.network = Network::Proxy(path(PROXY, words.next())?);
            } else if let Some((strength, _)) = Strength::OPTIONS.iter().find(|(_, option)| word == *option) {
                plan.strength = *strength;
            } else if let Some((access, option)) = Access::OPTIONS.iter().find(|(_, option)| word == *option)
            {
                plan.paths.push((*access, path(option, words.next())?));
            } else {
                return Err(Problem::new(format!("`{}` is unknown", word.to_string_lossy())));
            }
        }
        Err(Problem::new("there is no `--` with a program behind it"))
    }

    /// The paths with one kind of access.
    pub fn with(&self, access: Access) -> impl Iterator<Item = &Path> {
        let paths = self.paths.iter().filter(move |(one, _)| *one == access);
        paths.map(|(_, path)| path.as_path())
    }
}

/// An absolute path without `..`: what the options mean must not depend on where the program starts.
fn path(option: &str, word: Option<OsString>) -> Result<PathBuf, Problem> {
    let word = word.ok_or_else(|| Problem::new(format!("{option} needs a path")))?;
    let path = PathBuf::from(word);
    let is_plain = !path.components().any(|part| part.as_os_str() == OsStr::new(".."));
    if path == Path::new("/") {
        Err(Problem::new(format!("{option} cannot be `/`")))
    } else if path.is_absolute() && is_plain {
        Ok(path)
    } else {
        Err(Problem::new(format!(
            "{option} needs an absolute path without `..`, not {}",
            path.display()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let plan = Plan {
            paths: vec![
                (Access::Writable, "/a b".into()),
                (Access::ReadOnly, "/a b/--".into()),
                (Access::Scratch, "/c".into()),
                (Access::Hidden, "/d".into()),
            ],
            network: Network::Proxy("/e/socket".into()),
            strength: Strength::LandlockOnly,
        };
        let mut words = plan.to_options();
        words.extend(["--", "sh", "--", "--proxy"].map(OsString::from));
        let (read, command) = Plan::from_options(words).expect("what was written can be read");
        assert_eq!(read, plan);
        assert_eq!(command, ["sh", "--", "--proxy"]);
    }

    #[test]
    fn what_is_no_plan_is_refused() {
        for words in [
            &["sh"][..],
            &["--writable"],
            &["--writable", "here", "--", "sh"],
            &["--writable", "/a/../b", "--", "sh"],
            &["--hidden", "/a"],
            &["--writable", "/", "--", "sh"],
            &["--unknown", "--", "sh"],
        ] {
            assert!(
                Plan::from_options(words.iter().map(OsString::from)).is_err(),
                "{words:?}"
            );
        }
    }
}
