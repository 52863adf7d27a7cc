//! What is built: a static program, so that it runs wherever the kernel does.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::problem::{Problem, output};
use crate::workspace::{Workspace, target_folder};

/// The target of a build, and how the program comes to be static.
pub struct Target {
    name: String,
    /// The compiler for C that the target needs, if it is not the usual one.
    compiler: Option<&'static str>,
    is_musl: bool,
}

impl Target {
    /// The target that is wanted. Without one: musl for this machine where it is installed, the C library of this
    /// machine otherwise.
    pub fn choose(wanted: Option<&str>) -> Result<Self, Problem> {
        let host = host()?;
        if let Some(wanted) = wanted {
            return Self::new(wanted, &host);
        }
        let musl = host.replace("-gnu", "-musl");
        Self::new(&musl, &host).or_else(|_| Self::new(&host, &host))
    }

    /// A target, if everything is there to build it. The error says what is missing.
    fn new(name: &str, host: &str) -> Result<Self, Problem> {
        let sysroot = output(rustc(&["--print", "sysroot"]))?;
        let library = Path::new(sysroot.trim())
            .join("lib/rustlib")
            .join(name)
            .join("lib");
        if !library.is_dir() {
            return Err(format!(
                "Rust's library for {name} is not installed\n`rustup target add {name}` installs it"
            ));
        }
        let is_musl = name.ends_with("-musl");
        let compiler = match name {
            _ if name == host => None,
            _ if is_musl && name.split('-').next() == host.split('-').next() => Some("musl-gcc"),
            "aarch64-unknown-linux-gnu" => Some("aarch64-linux-gnu-gcc"),
            "aarch64-unknown-linux-musl" => Some("aarch64-linux-musl-gcc"),
            _ => {
                return Err(format!(
                    "no C compiler for {name} is known here; build it on such a machine"
                ));
            }
        };
        if let Some(compiler) = compiler
            && Command::new(compiler).arg("--version").output().is_err()
        {
            return Err(format!("the C compiler for {name} is not installed: {compiler}"));
        }
        Ok(Self {
            name: name.into(),
            compiler,
            is_musl,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder of the programs that are shipped.
    pub fn folder(&self, workspace: &Workspace) -> PathBuf {
        target_folder(workspace).join(&self.name).join("dist")
    }

    /// The processor by Debian's name and by npm's.
    pub fn processor(&self) -> (&'static str, &'static str) {
        match self.name.split('-').next() {
            Some("aarch64") => ("arm64", "arm64"),
            _ => ("amd64", "x64"),
        }
    }

    /// What is built, in a sentence.
    pub fn told(&self) -> String {
        match self.is_musl {
            true => format!("building for {}: static, with musl", self.name),
            false => format!(
                "building for {}: static, with this machine's C library (musl is not installed for it)",
                self.name
            ),
        }
    }

    /// Whether the program is linked by LLVM's linker, which Rust uses for this target.
    pub fn is_linked_by_llvm(&self) -> bool {
        self.name == "x86_64-unknown-linux-gnu"
    }

    /// The variable by which cargo is told the linker for this target.
    pub fn linker_variable(&self) -> String {
        self.variable("LINKER")
    }

    /// A variable of cargo's settings for this target.
    fn variable(&self, what: &str) -> String {
        format!(
            "CARGO_TARGET_{}_{what}",
            self.name.replace('-', "_").to_uppercase()
        )
    }

    /// The variables that make cargo build it so.
    pub fn variables(&self) -> Vec<(String, String)> {
        let mut flags = vec!["-C target-feature=+crt-static", SPAWN_IN_A_FOLDER];
        if !self.is_musl {
            flags.push(PACKED_RELOCATIONS);
        }
        if self.is_linked_by_llvm() {
            flags.push(FOLDED_CODE);
        }
        let mut variables = vec![(self.variable("RUSTFLAGS"), flags.join(" "))];
        if let Some(compiler) = self.compiler {
            variables.push((format!("CC_{}", self.name.replace('-', "_")), compiler.into()));
            variables.push((self.linker_variable(), compiler.into()));
        }
        variables
    }
}

/// Links the function by which `posix_spawn` starts a program in another folder. The standard library refers to it
/// weakly, which takes nothing out of a static C library, and would copy the whole process with `fork` for each hook.
const SPAWN_IN_A_FOLDER: &str = "-C link-arg=-Wl,-u,posix_spawn_file_actions_addchdir_np";

/// Packs relocations: most differ by the program's place alone, and take far less room so. The C library in the
/// program can unpack them since 2.36; musl cannot.
const PACKED_RELOCATIONS: &str = "-C link-arg=-Wl,-z,pack-relative-relocs";

/// Keeps functions once that were compiled to the same machine code. Only LLVM's linker can do so.
const FOLDED_CODE: &str = "-C link-arg=-Wl,--icf=all";

fn rustc(arguments: &[&str]) -> Command {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(arguments);
    rustc
}

/// The target of this machine.
fn host() -> Result<String, Problem> {
    let told = output(rustc(&["-vV"]))?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(ToOwned::to_owned)
        .ok_or_else(|| "rustc does not tell its host".into())
}
