//! What the caller gives to all extensions of one program: modules, a host, limits, and permissions.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Watch;
use crate::host::{Reporter, ScriptHost};
use crate::outside::Outside;
use crate::transform::Transformer;

/// What extensions of one program share.
pub struct Kit {
    /// The module that starts each extension: its default export is called with the extension's exports.
    pub prelude: &'static str,
    /// The modules that extensions can import by name, the prelude among them.
    pub modules: Vec<HostModule>,
    /// Turns TypeScript into JavaScript.
    pub transformer: Transformer,
    /// Answers requests of scripts.
    pub host: Arc<dyn ScriptHost>,
    /// Receives messages and failures that no caller waits for.
    pub reporter: Arc<dyn Reporter>,
    /// What one extension may use.
    pub limits: Limits,
    /// The working directory, environment and home of extensions.
    pub surroundings: Surroundings,
    /// What extensions may use outside of their engine.
    pub allowed: Allowed,
    /// The engine outside of this process, for extensions that need it.
    pub outside: Outside,
    /// How often everything was cancelled. Asked while code runs: code that began before the last cancel is ended.
    pub cancels: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Shows which extensions run too long.
    pub watch: Arc<Watch>,
}

/// The working directory, environment and home of extensions.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The working directory.
    pub directory: PathBuf,
    /// The environment, for the extensions and for the programs they start.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// The user's home.
    pub home: PathBuf,
    /// The path of the program, for `process.execPath` and the first word of `process.argv`.
    pub program: PathBuf,
    /// The program as extensions start it themselves.
    pub itself: Itself,
}

/// The program as extensions start it themselves, under its own path or by a link to it.
#[derive(Debug, Clone, Default)]
pub struct Itself {
    /// Variables that only the program gets, such as keys.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// Variables that must be as they are for that, since they say where these go.
    pub unchanged: &'static [&'static str],
    /// Words of the command line with which the program does not get them.
    pub refused: &'static [&'static str],
}

impl Surroundings {
    /// The variables that a program gets besides those that an extension gives it: only the program itself, started so
    /// that its own settings count, gets some.
    pub fn variables_for(
        &self,
        path: &Path,
        words: &[String],
        given: &BTreeMap<OsString, OsString>,
    ) -> BTreeMap<OsString, OsString> {
        let real = becket_fs::canonicalize(path).ok();
        let is_itself = real.is_some() && real == becket_fs::canonicalize(&self.program).ok();
        let is_unchanged =
            |name: &&str| given.get(OsStr::new(name)) == self.environment.get(OsStr::new(name));
        let is_refused = |word: &String| {
            let name = word.split('=').next().unwrap_or_default();
            self.itself.refused.contains(&name)
        };
        let reads_the_same = self.itself.unchanged.iter().all(is_unchanged) && !words.iter().any(is_refused);
        match is_itself && reads_the_same {
            true => (*self.itself.environment).clone(),
            false => BTreeMap::new(),
        }
    }
}

/// What extensions may use outside of their engine. Anything else throws an error that names the setting.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// Whether files may be used.
    pub files: bool,
    /// Whether other programs may be started.
    pub processes: bool,
    /// Whether the network may be used.
    pub network: bool,
    /// The common beginning of the settings that allow these, for the error; the name of the field follows.
    pub setting: &'static str,
}

impl Default for Allowed {
    fn default() -> Self {
        Self {
            files: true,
            processes: true,
            network: true,
            setting: "allowed.",
        }
    }
}

/// A module that the host provides.
#[derive(Debug, Clone, Copy)]
pub struct HostModule {
    /// The names under which the module can be imported.
    pub names: &'static [&'static str],
    /// The module's TypeScript.
    pub source: &'static str,
}

/// What one extension may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: usize,
    /// Bytes of stack.
    pub stack: usize,
    /// How long a handler may take, and code without a caller.
    pub timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 256 << 20,
            stack: 1 << 20,
            timeout: Duration::from_secs(30),
        }
    }
}
