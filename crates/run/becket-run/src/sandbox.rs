//! What the model's commands may touch: a profile of the settings becomes a plan for `becket-sandbox`.
//!
//! In every profile but `off` keys and becket's own folders are neither readable nor writable, and there is no network.
//! In `workspace` the project and the folders for temporary files can be written, except for what decides about later
//! runs: those places are the ones in which permission modes allow no edit, so there is one list of them, what git runs
//! ([`repository`]), and becket itself. In `workspace+network` a proxy lets commands reach what may be fetched without
//! a question.
//!
//! The plan is made anew for each command: files come and go while a run lasts.

mod repository;
mod secrets;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_agent::gate::ProtectedPlaces;
use becket_hook::{RUNTIME_VARIABLE, runtime_folder};
use becket_sandbox::{Access, Confinement, Network, Placeholder, Plan, Strength, Support};
use becket_system::{CliError, Folders, Surroundings, project_root::SETTINGS};

use self::repository::Kept;
use self::secrets::{Found, keys, other_ways};
use crate::agent_settings::protected;
use crate::config::SandboxConfig;
use crate::options::RunOptions;
use crate::sandbox_profile::SandboxProfile;
use crate::setup::Setup;

/// Folders of a home that tools fill again when they are missing. What is written there is gone with the command, so
/// that a command cannot leave anything for a later one that is not confined.
const CACHES: &[&str] = &[
    ".bun/install/cache",
    ".cache",
    ".cargo",
    ".gradle",
    ".local/share/pnpm",
    ".m2",
    ".npm",
    ".rustup",
    ".yarn",
    "go/pkg",
];

/// Programs beside becket, which it or other agents start.
const PROGRAMS: [&str; 3] = [becket_sandbox::PROGRAM, "becket-hook", "becket-jq"];

/// Sockets of daemons, among them those with the rights of root.
const SOCKETS: &str = "/run";

/// Variables that name such a folder elsewhere.
const CACHE_VARIABLES: &[&str] = &[
    "CARGO_HOME",
    "GOMODCACHE",
    "GRADLE_USER_HOME",
    "PIP_CACHE_DIR",
    "RUSTUP_HOME",
    "XDG_CACHE_HOME",
    "npm_config_cache",
];

/// A profile with what it means here.
#[derive(Clone)]
pub struct Sandbox {
    /// The profile.
    pub profile: SandboxProfile,
    /// Why the kernel does not hold all of the plan.
    pub gap: Option<String>,
    launcher: PathBuf,
    /// The folder for the sockets of proxies, if commands get a network.
    proxies: Option<PathBuf>,
    places: Arc<RunPlaces>,
}

impl Sandbox {
    /// The sandbox of a run's commands; `None` if they are not confined.
    pub fn of_run(
        setup: &Setup,
        options: &RunOptions,
        surroundings: &Surroundings,
    ) -> Result<Option<Self>, CliError> {
        let profile = options.sandbox.or(setup.config.sandbox.shell).unwrap_or_default();
        if profile == SandboxProfile::Off {
            return Ok(None);
        }
        let hint = "`--sandbox off` runs commands without a sandbox";
        let becket = options.becket_program.clone().unwrap_or_default();
        let (support, launcher) = Support::find(&becket).map_err(|problem| {
            CliError::usage(format!("commands cannot be confined: {problem}")).hint(hint)
        })?;
        let gap = gap(&support, profile);
        if let Some(gap) = gap.as_ref().filter(|_| setup.config.sandbox.require) {
            return Err(CliError::usage(gap).hint("`sandbox.require` refuses that"));
        }
        let places = RunPlaces::new((profile, support.strength()), setup, options, surroundings);
        places.check()?;
        let wants_network = profile == SandboxProfile::WorkspaceAndNetwork;
        let proxies = match wants_network && support.strength().has_namespaces() {
            true => Some(folder_of_proxies(surroundings)?),
            false => None,
        };
        Ok(Some(Self {
            profile,
            gap,
            launcher,
            proxies,
            places: Arc::new(places),
        }))
    }

    /// Whether commands reach the network behind a proxy.
    pub fn has_network(&self) -> bool {
        self.proxies.is_some()
    }

    /// What a command that starts now may touch.
    pub fn plan(&self) -> Plan {
        self.places.planned().0
    }

    /// Starts commands in this sandbox.
    pub fn confinement(&self) -> Confinement {
        let writes = match self.profile.writes_project() {
            true => "only the project and temporary files could be written",
            false => "nothing could be written",
        };
        let network = match self.has_network() {
            true => "only allowed web addresses could be reached, through a proxy",
            false => "there was no network",
        };
        let told = format!(
            "the command ran in the sandbox `{}`: {writes}, keys and settings were out of reach, and {network}",
            self.profile.word()
        );
        let places = Arc::clone(&self.places);
        let files = (self.launcher.clone(), self.places.list());
        Confinement::new(files, told, self.proxies.clone(), move || places.planned())
    }
}

/// The folders in which agents keep settings: in a home there are keys among them.
fn agents(options: &RunOptions) -> Vec<&'static str> {
    let folders = options.hosts.iter().flat_map(|host| host.hidden_folders());
    folders.copied().collect()
}

/// A folder for sockets that only the user can enter.
fn folder_of_proxies(surroundings: &Surroundings) -> Result<PathBuf, CliError> {
    let runtime = surroundings.variable(RUNTIME_VARIABLE);
    let folder = runtime_folder(runtime.as_deref().map(AsRef::as_ref));
    folder.map_err(|error| {
        CliError::failed(format!(
            "there is no folder for the sockets of the sandbox: {error}"
        ))
        .hint("`--sandbox workspace` needs none")
    })
}

/// What the kernel does not hold, or the profile does not get, if there is something.
fn gap(support: &Support, profile: SandboxProfile) -> Option<String> {
    let namespaces = support.no_namespaces.as_ref().map(|reason| {
        format!(
            "there are no namespaces ({reason}), so commands can read hidden files and write protected ones inside of \
             the project, and change the mode of any file of yours"
        )
    });
    let processes = support.no_processes.as_ref().map(|reason| {
        format!(
            "commands have no list of processes of their own ({reason}), so they see others, and what they start can \
             outlive them"
        )
    });
    let shares_processes = support.strength() != Strength::Full;
    let signals = (support.lets_signals_pass && shares_processes)
        .then(|| "the kernel is older than 6.12, so commands can end other processes of yours".to_owned());
    let no_proxy = profile == SandboxProfile::WorkspaceAndNetwork && support.no_namespaces.is_some();
    let network = no_proxy.then(|| "without namespaces there is no network either".to_owned());
    let gaps = [namespaces, processes, signals, network];
    let gaps: Vec<String> = gaps.into_iter().flatten().collect();
    (!gaps.is_empty()).then(|| format!("the sandbox has gaps: {}", gaps.join("; ")))
}

/// The places of a run.
struct RunPlaces {
    profile: SandboxProfile,
    strength: Strength,
    settings: SandboxConfig,
    folders: Folders,
    /// What of the project can be written, without links.
    project: PathBuf,
    /// The user's homes: the one that the environment names, and the one of the account.
    homes: Vec<PathBuf>,
    /// Where commands put temporary files.
    temporary: Vec<PathBuf>,
    /// Where permission modes allow no edit.
    protected: ProtectedPlaces,
    /// Folders in which agents keep settings.
    agents: Vec<&'static str>,
    /// becket, and what it starts.
    programs: Vec<PathBuf>,
    /// Where keys are, or would be.
    keys: Vec<PathBuf>,
    caches: Vec<PathBuf>,
}

impl RunPlaces {
    fn new(
        (profile, strength): (SandboxProfile, Strength),
        setup: &Setup,
        options: &RunOptions,
        surroundings: &Surroundings,
    ) -> Self {
        let given = |name: &str| surroundings.variable(name).and_then(real);
        let mut homes: Vec<PathBuf> = given("HOME").into_iter().chain(home_of_account()).collect();
        homes.dedup();
        // Where everything of the user is temporary, nothing would be out of reach.
        let temporary = given("TMPDIR").filter(|folder| !homes.iter().any(|home| home.starts_with(folder)));
        let temporary = temporary
            .into_iter()
            .chain(["/tmp", "/var/tmp"].into_iter().filter_map(real));
        let root = surroundings.cwd.join(&setup.project_root);
        let root = real(&root).unwrap_or(root);
        // A repository of the user's whole home is none that commands may write.
        let holds_home = homes.iter().any(|home| home.starts_with(&root));
        let program = options.becket_program.iter();
        let programs = program.flat_map(|program| {
            let beside = PROGRAMS.map(|name| program.with_file_name(name));
            beside.into_iter().chain([program.clone()])
        });
        let caches = homes
            .iter()
            .flat_map(|home| CACHES.iter().map(|name| home.join(name)));
        Self {
            profile,
            strength,
            settings: setup.config.sandbox.clone(),
            folders: setup.folders.clone(),
            project: match holds_home {
                true => real(&surroundings.cwd).unwrap_or_else(|| surroundings.cwd.clone()),
                false => root,
            },
            temporary: temporary.collect(),
            protected: protected(setup, options, surroundings),
            agents: agents(options),
            programs: programs.filter_map(real).collect(),
            keys: keys(&homes, surroundings),
            caches: caches
                .filter_map(real)
                .chain(CACHE_VARIABLES.iter().filter_map(|name| given(name)))
                .collect(),
            homes,
        }
    }

    /// A project that contains everything cannot be confined.
    fn check(&self) -> Result<(), CliError> {
        let given = &self.settings.writable;
        let mut folders = given.iter().chain([&self.project]);
        match folders.any(|folder| folder == Path::new("/")) {
            true => Err(CliError::usage(
                "`/` as a project or in `sandbox.writable` leaves nothing to confine",
            )),
            false => Ok(()),
        }
    }

    /// The plan of a command that starts now, and what has to stand at protected places meanwhile.
    fn planned(&self) -> (Plan, Vec<Placeholder>) {
        let found = Found::in_project(&self.project);
        let mut plan = Plan {
            paths: Vec::new(),
            network: Network::Off,
            strength: self.strength,
        };
        let mut add = |access, paths: Vec<PathBuf>| {
            plan.paths.extend(paths.into_iter().map(|path| (access, path)));
        };
        add(Access::Scratch, self.caches.clone());
        let mut missing = Vec::new();
        if self.profile.writes_project() {
            let writable = self.writable();
            let kept = self.repositories(&found);
            missing = self.missing(&kept, &writable);
            let is_writable = |path: &PathBuf| is_below(path, &writable);
            let repositories = kept.repositories.iter().filter(|path| is_writable(path));
            add(Access::Writable, repositories.cloned().collect());
            add(Access::ReadOnly, self.homes_in(&writable));
            let kept = kept.paths.iter().filter(|path| is_writable(path));
            add(Access::ReadOnly, kept.cloned().collect());
            add(Access::ReadOnly, self.protected());
            add(Access::ReadOnly, self.programs.clone());
            add(
                Access::ReadOnly,
                missing.iter().map(|one| one.path().to_path_buf()).collect(),
            );
            add(Access::Writable, writable);
        }
        add(Access::Hidden, self.hidden(found));
        if self.strength == Strength::LandlockOnly {
            missing.clear();
        }
        (plan, missing)
    }

    fn writable(&self) -> Vec<PathBuf> {
        let more = self.settings.writable.iter().filter_map(real);
        let all = self.temporary.iter().cloned().chain(more);
        all.chain([self.project.clone()]).collect()
    }

    /// Homes that are the project or in a folder that can be written. They stay as they are, unless the settings name
    /// them.
    fn homes_in(&self, writable: &[PathBuf]) -> Vec<PathBuf> {
        let named = |home| self.temporary.contains(home) || self.settings.writable.contains(home);
        let homes = self.homes.iter();
        homes
            .filter(|home| is_below(home, writable) && !named(home))
            .cloned()
            .collect()
    }

    fn repositories(&self, found: &Found) -> Kept {
        let mut kept = Kept::default();
        kept.add_project(&self.project, &self.homes);
        for checkout in &found.checkouts {
            kept.add_checkout(checkout, &self.homes);
        }
        kept
    }

    /// Protected places that are there.
    fn protected(&self) -> Vec<PathBuf> {
        let names = self.protected.names.iter().filter(|name| *name != ".git");
        let named = names.map(|name| self.project.join(name));
        let all = named.chain(self.protected.paths.iter().cloned());
        all.filter(|path| becket_fs::symlink_metadata(path).is_ok())
            .flat_map(with_target)
            .collect()
    }

    /// What stands where settings of agents, becket's own, and what git runs could be created.
    fn missing(&self, kept: &Kept, writable: &[PathBuf]) -> Vec<Placeholder> {
        let own = SETTINGS.iter().filter(|name| !name.contains('/'));
        let names = self.agents.iter().chain(own).map(|name| self.project.join(name));
        let folders = &self.folders;
        let names = names.chain([&folders.config, &folders.data, &folders.cache].map(Clone::clone));
        let wanted = names.map(Placeholder::Folder).chain(kept.missing.iter().cloned());
        // Also those that are there: they may be placeholders of a command that ends before this one.
        let mut reserved: Vec<Placeholder> = wanted.filter_map(|one| reserved(one, writable)).collect();
        let mut seen = Vec::new();
        reserved.retain(|one| {
            let is_new = !seen.iter().any(|path| path == one.path());
            seen.push(one.path().to_path_buf());
            is_new
        });
        reserved
    }

    fn hidden(&self, found: Found) -> Vec<PathBuf> {
        let folders = &self.folders;
        let own = [&folders.config, &folders.data, &folders.cache]
            .into_iter()
            .chain(&folders.home);
        let of_agents = self
            .homes
            .iter()
            .flat_map(|home| self.agents.iter().map(|name| home.join(name)));
        let all = own
            .cloned()
            .chain(of_agents)
            .chain(self.settings.hidden.iter().cloned());
        let all = all.chain([PathBuf::from(SOCKETS)]).filter_map(real);
        // A variable may name a folder around everything.
        let keys = self.keys.iter().filter_map(real);
        let keys = keys.filter(|path| !self.project.starts_with(path));
        let mut paths: Vec<PathBuf> = all.chain(keys).chain(found.env_files).collect();
        paths.extend(other_ways(&paths));
        paths
    }

    /// The file that lists the placeholders of this project.
    fn list(&self) -> PathBuf {
        let name = blake3::hash(self.project.as_os_str().as_encoded_bytes()).to_hex();
        self.folders.data.join("sandbox").join(&name[..16])
    }
}

fn real(path: impl AsRef<Path>) -> Option<PathBuf> {
    becket_fs::canonicalize(path).ok()
}

/// The home of the account, whatever the environment says.
fn home_of_account() -> Option<PathBuf> {
    let user = rustix::process::getuid().as_raw().to_string();
    let accounts = becket_fs::read_to_string("/etc/passwd").ok()?;
    let fields = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let home = fields
        .filter(|fields| fields.get(2) == Some(&&*user))
        .find_map(|fields| fields.get(5).copied());
    real(home?).filter(|home| home.parent().is_some())
}

/// A path, and where it leads if it is a link.
fn with_target(path: PathBuf) -> impl Iterator<Item = PathBuf> {
    real(&path).into_iter().chain([path])
}

fn is_below(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// What has to stand for a protected place: itself, or the outermost of the folders around it that are missing too.
/// `None` where a command can write nothing anyway.
fn reserved(wanted: Placeholder, writable: &[PathBuf]) -> Option<Placeholder> {
    let around = wanted.path().ancestors().skip(1);
    let mut missing = around.take_while(|folder| becket_fs::symlink_metadata(folder).is_err());
    let outermost = missing
        .by_ref()
        .last()
        .map(|folder| Placeholder::Folder(folder.to_path_buf()));
    Some(outermost.unwrap_or(wanted)).filter(|one| is_below(one.path(), writable))
}
