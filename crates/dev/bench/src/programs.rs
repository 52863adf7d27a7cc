//! The programs that are measured from outside: becket itself, the hello-world it is compared with, and a worker.

use std::path::PathBuf;
use std::process::Command;

use crate::report::Problem;

/// The paths of the programs.
pub struct Programs {
    pub becket: PathBuf,
    pub hello: PathBuf,
    pub worker: PathBuf,
}

impl Programs {
    /// Builds the programs with the profile of this one, and finds them beside it.
    pub fn build() -> Result<Self, Problem> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "-p", "becket", "-p", "bench", "--bins"]);
        build.current_dir(env!("CARGO_MANIFEST_DIR"));
        if !cfg!(debug_assertions) {
            build.args(["--profile", "dist"]);
        }
        if !build.status()?.success() {
            return Err("the programs to measure cannot be built".into());
        }
        let own = std::env::current_exe()?;
        let beside = |name: &str| own.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let programs = Self {
            becket: beside("becket"),
            hello: beside("bench-hello"),
            worker: beside("bench-worker"),
        };
        for program in [&programs.becket, &programs.hello, &programs.worker] {
            if !program.is_file() {
                return Err(format!("{} was not built", program.display()).into());
            }
        }
        Ok(programs)
    }
}
