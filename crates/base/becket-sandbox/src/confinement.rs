//! Starting programs under a plan.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::placeholders::{Placeholder, Placeholders};
use crate::{Network, PROGRAM, Plan, Problem, Strength};

/// What this machine can hold, as the small program has found by trying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// Why there are no namespaces; `None` if there are.
    pub no_namespaces: Option<String>,
    /// Why there is no namespace of processes; `None` if there is.
    pub no_processes: Option<String>,
    /// Whether a confined program can send signals to others.
    pub lets_signals_pass: bool,
}

impl Support {
    /// Asks the small program beside `program`. What only some kernels have may be missing; without the rest nothing
    /// can be confined.
    pub fn find(program: &Path) -> Result<(Self, PathBuf), Problem> {
        let launcher = program.with_file_name(PROGRAM);
        let answer = Command::new(&launcher)
            .arg("--check")
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Problem::at(format!("cannot start {}", launcher.display()), error))?;
        let text = String::from_utf8_lossy(&answer.stdout);
        let missing = |layer: &str| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(layer)?.strip_prefix(' '));
            match line {
                Some("yes") => None,
                Some(reason) => Some(reason.to_owned()),
                None => Some(format!("{} says nothing about it", launcher.display())),
            }
        };
        for layer in ["landlock", "filter"] {
            if let Some(reason) = missing(layer) {
                return Err(Problem::new(reason));
            }
        }
        let support = Self {
            no_namespaces: missing("namespaces"),
            no_processes: missing("processes"),
            lets_signals_pass: missing("signals").is_some(),
        };
        Ok((support, launcher))
    }

    /// What can hold a plan here.
    pub fn strength(&self) -> Strength {
        match (&self.no_namespaces, &self.no_processes) {
            (None, None) => Strength::Full,
            (None, Some(_)) => Strength::SharedProcesses,
            (Some(_), _) => Strength::LandlockOnly,
        }
    }
}

/// Starts programs, each under a plan that is made for it.
#[derive(Clone)]
pub struct Confinement(Arc<Parts>);

struct Parts {
    launcher: PathBuf,
    /// What those who see a program's output are told if it fails.
    told: String,
    /// The file that lists what stands at protected places.
    list: PathBuf,
    proxies: Option<PathBuf>,
    planner: Box<Planner>,
}

/// What a program that starts now may touch, and what has to stand at protected places where nothing is.
type Planner = dyn Fn() -> (Plan, Vec<Placeholder>) + Send + Sync;

/// Whether a variable is for the loader of programs. It would act on the small program before that is confined.
pub fn is_for_the_loader(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"LD_") || name == "GLIBC_TUNABLES"
}

impl Confinement {
    /// Programs that the small program at `launcher` starts. `list` is the file that lists what stands at protected
    /// places while programs run. `proxies` is the folder for the sockets of their proxies, if they get any.
    pub fn new(
        (launcher, list): (PathBuf, PathBuf),
        told: String,
        proxies: Option<PathBuf>,
        planner: impl Fn() -> (Plan, Vec<Placeholder>) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Parts {
            launcher,
            told,
            list,
            proxies,
            planner: Box::new(planner),
        }))
    }

    /// The folder for the sockets of proxies, if each program gets one; it has to be there before the program starts.
    pub fn proxies(&self) -> Option<&Path> {
        self.0.proxies.as_deref()
    }

    /// The start of a program, with what has to be kept until it has ended. `proxy` is the path at which its proxy
    /// takes the socket; without one it has no network.
    pub fn command(&self, program: &str, proxy: Option<&Path>) -> Result<(Command, Placeholders), Problem> {
        let (mut plan, wanted) = (self.0.planner)();
        plan.network = proxy.map_or(Network::Off, |socket| Network::Proxy(socket.to_path_buf()));
        let made = Placeholders::make(&self.0.list, &wanted)
            .map_err(|error| Problem::at("cannot protect what is not there", error))?;
        let mut command = Command::new(&self.0.launcher);
        command.args(plan.to_options()).arg("--").arg(program);
        Ok((command, made))
    }

    /// What those who see the output of a program that failed are told.
    pub fn told(&self) -> &str {
        &self.0.told
    }
}
