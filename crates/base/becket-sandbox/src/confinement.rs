//! Starting programs under a plan.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use crate::placeholders::{Placeholder, Placeholders};
use crate::{PROGRAM, Plan, Problem, Strength};

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

/// Starts programs under one plan. Copies share what is kept for the time in which programs may run.
#[derive(Debug, Clone)]
pub struct Confinement(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    launcher: PathBuf,
    options: Vec<OsString>,
    /// What those who see a program's output are told if it fails.
    told: String,
    /// What must not come to be, and the file that lists it.
    reserved: (PathBuf, Vec<Placeholder>),
    placeholders: OnceLock<Placeholders>,
}

/// Whether a variable is for the loader of programs. It would act on the small program before that is confined.
pub fn is_for_the_loader(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"LD_") || name == "GLIBC_TUNABLES"
}

impl Confinement {
    /// Programs that the small program at `launcher` starts. `reserved` are protected places where
    /// nothing is, with the file that lists what stands there meanwhile.
    pub fn new(launcher: PathBuf, plan: &Plan, told: String, reserved: (PathBuf, Vec<Placeholder>)) -> Self {
        Self(Arc::new(Parts {
            launcher,
            options: plan.to_options(),
            told,
            reserved,
            placeholders: OnceLock::new(),
        }))
    }

    /// The start of a program. The first one reserves what is protected and not there.
    pub fn command(&self, program: &str) -> Result<Command, Problem> {
        if self.0.placeholders.get().is_none() {
            let (file, wanted) = &self.0.reserved;
            let made = Placeholders::make(file, wanted)
                .map_err(|error| Problem::at("cannot protect what is not there", error))?;
            // Another thread may have been quicker; then it has made the same.
            let _ = self.0.placeholders.set(made);
        }
        let mut command = Command::new(&self.0.launcher);
        command.args(&self.0.options).arg("--").arg(program);
        Ok(command)
    }

    /// What those who see the output of a program that failed are told.
    pub fn told(&self) -> &str {
        &self.0.told
    }
}
