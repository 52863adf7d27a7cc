//! What the model's commands may touch: a profile of the settings becomes a plan for `becket-sandbox`.
//!
//! In every profile but `off` keys and becket's own folders are neither readable nor writable, and there is no network.
//! In `workspace` the project and the folders for temporary files can be written, except for what decides about later
//! runs: those places are the ones in which permission modes allow no edit, so there is one list of them.

use std::path::{Path, PathBuf};

use becket_agent::gate::ProtectedPlaces;
use becket_sandbox::{Access, Confinement, Network, Placeholder, Plan, Strength, Support};
use becket_system::{CliError, Surroundings, project_root::SETTINGS};

use crate::agent_settings::protected;
use crate::options::RunOptions;
use crate::sandbox_profile::SandboxProfile;
use crate::setup::Setup;

/// Files and folders of a home that hold keys, and what was typed.
// tidy: a table
const KEYS: &[&str] = &[
    ".aws",
    ".azure",
    ".bash_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/chromium",
    ".config/doctl",
    ".config/fly",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".docker/config.json",
    ".fly",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".mozilla",
    ".netrc",
    ".npmrc",
    ".oci",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".python_history",
    ".ssh",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".zsh_history",
];

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

/// Sockets of daemons, among them those with the rights of root.
const SOCKETS: &str = "/run";

/// How many folders of the project are searched for `.env` files.
const SEARCHED_FOLDERS: usize = 2_000;

/// How deep the search for `.env` files goes.
const SEARCHED_DEPTH: usize = 4;

/// Folders of a repository with too many files to search, none of them the user's.
const NOT_SEARCHED: &[&str] = &[".git", "node_modules", "target", ".venv", "vendor"];

/// What is in `.git` and decides what git runs. The rest has to be writable for a commit.
const OF_GIT: &[&str] = &[
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "info",
    "modules",
    "worktrees",
];

/// A profile with what it means here.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// The profile.
    pub profile: SandboxProfile,
    /// What commands may touch.
    pub plan: Plan,
    /// What stands at protected places where nothing is.
    pub missing: Vec<Placeholder>,
    /// Why the kernel does not hold all of the plan.
    pub gap: Option<String>,
    launcher: PathBuf,
    list: PathBuf,
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
        let gap = gap(&support);
        if let Some(gap) = gap.as_ref().filter(|_| setup.config.sandbox.require) {
            return Err(CliError::usage(gap).hint("`sandbox.require` refuses that"));
        }
        let places = protected(setup, options, surroundings);
        let place = RunFolders::new(setup, surroundings);
        place.check()?;
        let missing = place.missing(profile, options);
        Ok(Some(Self {
            profile,
            plan: place.plan(profile, &places, (&missing, &agents(options)), support.strength()),
            missing,
            gap,
            launcher,
            list: place.list(),
        }))
    }

    /// Starts commands in this sandbox.
    pub fn confinement(&self) -> Confinement {
        let reserved = match self.plan.strength {
            Strength::Full | Strength::SharedProcesses => self.missing.clone(),
            Strength::LandlockOnly => Vec::new(),
        };
        let writes = match self.profile {
            SandboxProfile::Workspace => "only the project and temporary files could be written",
            SandboxProfile::Off | SandboxProfile::ReadOnly => "nothing could be written",
        };
        let told = format!(
            "the command ran in the sandbox `{}`: {writes}, keys and settings were out of reach, and there was no \
             network",
            self.profile.word()
        );
        Confinement::new(
            self.launcher.clone(),
            &self.plan,
            told,
            (self.list.clone(), reserved),
        )
    }
}

/// The folders in which agents keep settings: in a home there are keys among them.
fn agents(options: &RunOptions) -> Vec<&'static str> {
    let folders = options.hosts.iter().flat_map(|host| host.hidden_folders());
    folders.copied().collect()
}

/// What the kernel does not hold, if there is something.
fn gap(support: &Support) -> Option<String> {
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
    let gaps: Vec<String> = [namespaces, processes, signals].into_iter().flatten().collect();
    (!gaps.is_empty()).then(|| format!("the sandbox has gaps: {}", gaps.join("; ")))
}

/// The folders of a run.
struct RunFolders<'a> {
    setup: &'a Setup,
    /// The project, without links.
    project: PathBuf,
    home: Option<PathBuf>,
    /// Where commands put temporary files.
    temporary: Vec<PathBuf>,
}

impl<'a> RunFolders<'a> {
    fn new(setup: &'a Setup, surroundings: &Surroundings) -> Self {
        let real = |path: &Path| becket_fs::canonicalize(path).ok();
        let home = surroundings.variable("HOME").and_then(|home| real(home.as_ref()));
        let given = surroundings
            .variable("TMPDIR")
            .and_then(|folder| real(folder.as_ref()));
        // Where everything of the user is temporary, nothing would be out of reach.
        let given = given.filter(|folder| !home.as_ref().is_some_and(|home| home.starts_with(folder)));
        let usual = ["/tmp", "/var/tmp"]
            .iter()
            .filter_map(|folder| real(folder.as_ref()));
        let project = surroundings.cwd.join(&setup.project_root);
        Self {
            setup,
            project: real(&project).unwrap_or(project),
            home,
            temporary: given.into_iter().chain(usual).collect(),
        }
    }

    /// A project that contains everything cannot be confined.
    fn check(&self) -> Result<(), CliError> {
        let given = &self.setup.config.sandbox.writable;
        let mut folders = given.iter().chain([&self.project]);
        match folders.any(|folder| folder == Path::new("/")) {
            true => Err(CliError::usage(
                "`/` as a project or in `sandbox.writable` leaves nothing to confine",
            )),
            false => Ok(()),
        }
    }

    fn plan(
        &self,
        profile: SandboxProfile,
        places: &ProtectedPlaces,
        (missing, agents): (&[Placeholder], &[&str]),
        strength: Strength,
    ) -> Plan {
        let mut paths = Vec::new();
        let mut add =
            |access, found: Vec<PathBuf>| paths.extend(found.into_iter().map(|path| (access, path)));
        add(Access::Scratch, self.below_home(CACHES));
        if profile == SandboxProfile::Workspace {
            let more = self.setup.config.sandbox.writable.iter();
            let more = more.filter_map(|path| becket_fs::canonicalize(path).ok());
            add(
                Access::Writable,
                self.temporary.iter().cloned().chain(more).collect(),
            );
            add(Access::Writable, vec![self.project.clone()]);
            add(Access::ReadOnly, self.protected(places));
            add(
                Access::ReadOnly,
                missing.iter().map(|one| one.path().to_path_buf()).collect(),
            );
        }
        add(Access::Hidden, self.hidden(agents));
        Plan {
            paths,
            network: Network::Off,
            strength,
        }
    }

    /// Protected places that are there.
    fn protected(&self, places: &ProtectedPlaces) -> Vec<PathBuf> {
        let named = places.names.iter().flat_map(|name| match name.as_str() {
            ".git" => self.of_git(),
            name => vec![self.project.join(name)],
        });
        let all = named
            .chain(places.paths.iter().cloned())
            .filter(|path| becket_fs::exists(path) || becket_fs::is_symlink(path));
        // A link is protected as well as what it leads to.
        all.flat_map(|path| becket_fs::canonicalize(&path).ok().into_iter().chain([path]))
            .collect()
    }

    fn of_git(&self) -> Vec<PathBuf> {
        let git = self.project.join(".git");
        match becket_fs::is_dir(&git) {
            true => OF_GIT.iter().map(|name| git.join(name)).collect(),
            // In a linked worktree it is a file that says where the repository is.
            false => vec![git],
        }
    }

    /// What stands where settings of agents, hooks of git and its word about another repository could be created.
    fn missing(&self, profile: SandboxProfile, options: &RunOptions) -> Vec<Placeholder> {
        if profile != SandboxProfile::Workspace {
            return Vec::new();
        }
        let own = SETTINGS.iter().filter(|name| !name.contains('/'));
        let mut names = agents(options);
        names.extend(own);
        let git = self.project.join(".git");
        // In a folder that has no repository none can be made; in a worktree `.git` is a file.
        let has_repository = becket_fs::is_file(git.join("HEAD")) || becket_fs::is_file(&git);
        names.push(if has_repository { ".git/hooks" } else { ".git" });
        names.sort_unstable();
        names.dedup();
        let folders = names
            .into_iter()
            .map(|name| Placeholder::Folder(self.project.join(name)));
        // It names the folder in which it stands.
        let common = Placeholder::File(self.project.join(".git/commondir"), ".\n");
        // Also those that are there: they may be placeholders of a run that ends before this one.
        folders
            .chain(becket_fs::is_file(self.project.join(".git/HEAD")).then_some(common))
            .collect()
    }

    fn hidden(&self, agents: &[&str]) -> Vec<PathBuf> {
        let folders = &self.setup.folders;
        let own = [&folders.config, &folders.data, &folders.cache]
            .into_iter()
            .cloned();
        let more = self.setup.config.sandbox.hidden.iter().cloned();
        let sockets = [PathBuf::from(SOCKETS)];
        let mut paths = self.below_home(KEYS);
        paths.extend(self.below_home(agents));
        let all = own.chain(folders.home.clone()).chain(more).chain(sockets);
        paths.extend(all.filter_map(|path| becket_fs::canonicalize(path).ok()));
        let mut folders_left = SEARCHED_FOLDERS;
        env_files(&self.project, SEARCHED_DEPTH, &mut folders_left, &mut paths);
        paths
    }

    /// What is there of files and folders in the home, without links.
    fn below_home(&self, names: &[&str]) -> Vec<PathBuf> {
        let home = self.home.iter();
        let paths = home.flat_map(|home| names.iter().map(|name| home.join(name)));
        paths
            .filter_map(|path| becket_fs::canonicalize(path).ok())
            .collect()
    }

    /// The file that lists the placeholders of this project.
    fn list(&self) -> PathBuf {
        let name = blake3::hash(self.project.as_os_str().as_encoded_bytes()).to_hex();
        self.setup.folders.data.join("sandbox").join(&name[..16])
    }
}

/// The `.env` files of a project, as far as the search goes.
fn env_files(folder: &Path, depth: usize, folders_left: &mut usize, found: &mut Vec<PathBuf>) {
    if depth == 0 || *folders_left == 0 {
        return;
    }
    *folders_left -= 1;
    for entry in becket_fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type();
        if kind.as_ref().is_ok_and(|kind| kind.is_dir()) {
            if !NOT_SEARCHED.contains(&&*name) {
                env_files(&entry.path(), depth - 1, folders_left, found);
            }
        } else if is_env_file(&name) {
            found.extend(becket_fs::canonicalize(entry.path()));
        }
    }
}

/// `.env`, `.env.local` and the like, but no example.
fn is_env_file(name: &str) -> bool {
    const EXAMPLES: &[&str] = &["example", "sample", "template", "dist", "defaults"];
    match name.strip_prefix(".env") {
        Some("") => true,
        Some(rest) => rest.strip_prefix('.').is_some_and(|ending| {
            !EXAMPLES
                .iter()
                .any(|example| ending.split('.').any(|part| part == *example))
        }),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_env_files_are_no_secrets() {
        for name in [".env", ".env.local", ".env.production"] {
            assert!(is_env_file(name), "{name}");
        }
        for name in [
            ".env.example",
            ".env.local.sample",
            ".envrc",
            "a.env",
            ".environment",
        ] {
            assert!(!is_env_file(name), "{name}");
        }
    }
}
