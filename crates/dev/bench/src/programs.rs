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
    /// Finds the programs beside this one, after building them with its profile if that is wanted.
    pub fn beside(builds: bool) -> Result<Self, Problem> {
        if builds {
            build()?;
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

fn build() -> Result<(), Problem> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "-p", "becket", "-p", "bench", "--bins"]);
    build.current_dir(env!("CARGO_MANIFEST_DIR"));
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    match build.status()?.success() {
        true => Ok(()),
        false => Err("the programs to measure cannot be built".into()),
    }
}
