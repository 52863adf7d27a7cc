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

    /// The variables that make cargo build it so.
    pub fn variables(&self) -> Vec<(String, String)> {
        let name = self.name.replace('-', "_");
        let mut variables = vec![(
            format!("CARGO_TARGET_{}_RUSTFLAGS", name.to_uppercase()),
            match self.is_musl {
                true => "-C target-feature=+crt-static".to_owned(),
                // Most relocations differ by the program's place alone; packed they take far less room. The C
                // library in the program can unpack them since 2.36.
                false => "-C target-feature=+crt-static -C link-arg=-Wl,-z,pack-relative-relocs".to_owned(),
            },
        )];
        if let Some(compiler) = self.compiler {
            variables.push((format!("CC_{name}"), compiler.into()));
            variables.push((
                format!("CARGO_TARGET_{}_LINKER", name.to_uppercase()),
                compiler.into(),
            ));
        }
        variables
    }
}

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
