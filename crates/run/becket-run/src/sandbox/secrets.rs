//! Where keys are: in the user's home, where variables say, and in `.env` files of a project.

use std::collections::VecDeque;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use becket_system::Surroundings;

/// Files and folders of a home that hold keys, and what was typed.
// tidy: a table
const KEYS: &[&str] = &[
    ".android/adbkey",
    ".ansible/galaxy_token",
    ".aws",
    ".azure",
    ".bash_history",
    ".bitcoin",
    ".boto",
    ".cache/huggingface/token",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".composer/auth.json",
    ".config/BraveSoftware",
    ".config/age",
    ".config/anthropic",
    ".config/chromium",
    ".config/composer/auth.json",
    ".config/containers/auth.json",
    ".config/doctl",
    ".config/flyctl",
    ".config/fly",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/github-copilot",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/hcloud",
    ".config/hub",
    ".config/kaggle",
    ".config/linode-cli",
    ".config/microsoft-edge",
    ".config/netlify",
    ".config/ngrok",
    ".config/op",
    ".config/pypoetry/auth.toml",
    ".config/rclone",
    ".config/sops",
    ".config/stripe",
    ".docker/config.json",
    ".ethereum",
    ".fly",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".gradle/gradle.properties",
    ".huggingface",
    ".kaggle",
    ".kube",
    ".local/share/com.vercel.cli",
    ".local/share/fish/fish_history",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".mozilla",
    ".my.cnf",
    ".mysql_history",
    ".netrc",
    ".node_repl_history",
    ".npmrc",
    ".nuget/NuGet/NuGet.Config",
    ".oci",
    ".password-store",
    ".pgpass",
    ".psql_history",
    ".pulumi/credentials.json",
    ".pypirc",
    ".python_history",
    ".s3cfg",
    ".ssh",
    ".subversion/auth",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".thunderbird",
    ".vault-token",
    ".yarnrc.yml",
    ".zsh_history",
];

/// Variables that name such a file or folder, and what of it. Several are separated by colons.
// tidy: a table
const VARIABLES: &[(&str, &str)] = &[
    ("AWS_CONFIG_FILE", ""),
    ("AWS_SHARED_CREDENTIALS_FILE", ""),
    ("AZURE_CONFIG_DIR", ""),
    ("CARGO_HOME", "credentials"),
    ("CARGO_HOME", "credentials.toml"),
    ("CLOUDSDK_CONFIG", ""),
    ("DOCKER_CONFIG", "config.json"),
    ("GH_CONFIG_DIR", ""),
    ("GNUPGHOME", ""),
    ("GOOGLE_APPLICATION_CREDENTIALS", ""),
    ("HISTFILE", ""),
    ("KUBECONFIG", ""),
    ("NETRC", ""),
    ("NPM_CONFIG_USERCONFIG", ""),
    ("PASSWORD_STORE_DIR", ""),
    ("PGPASSFILE", ""),
    ("npm_config_userconfig", ""),
];

/// How many folders of a project are searched.
const SEARCHED_FOLDERS: usize = 2_000;

/// How many repositories inside of a project are protected.
const MOST_CHECKOUTS: usize = 50;

/// Folders of a repository with too many files to search, none of them the user's.
const NOT_SEARCHED: &[&str] = &[".git", "node_modules", "target", ".venv", "vendor"];

/// Where the user's keys are, or would be.
pub(super) fn keys(homes: &[PathBuf], surroundings: &Surroundings) -> Vec<PathBuf> {
    let of_homes = homes
        .iter()
        .flat_map(|home| KEYS.iter().map(|name| home.join(name)));
    let config = surroundings.variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let of_config = config.iter().flat_map(|config| {
        let names = KEYS.iter().filter_map(|name| name.strip_prefix(".config/"));
        names.map(|name| config.join(name))
    });
    let named = VARIABLES.iter().flat_map(|(variable, name)| {
        let value = surroundings.variable(variable).unwrap_or_default();
        let paths = std::env::split_paths(&value).map(|path| match name.is_empty() {
            true => path,
            false => path.join(name),
        });
        paths.collect::<Vec<_>>()
    });
    let all = of_homes.chain(of_config).chain(named);
    all.filter(|path| path.is_absolute()).collect()
}

/// What a search of a project finds.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// `.env` files.
    pub(super) env_files: Vec<PathBuf>,
    /// Folders inside of the project with a repository of their own.
    pub(super) checkouts: Vec<PathBuf>,
}

impl Found {
    /// Searches a project, folders near its top first.
    pub(super) fn in_project(project: &Path) -> Self {
        let mut found = Self::default();
        let mut folders = VecDeque::from([project.to_path_buf()]);
        let mut left = SEARCHED_FOLDERS;
        while let Some(folder) = folders.pop_front().filter(|_| left > 0) {
            left -= 1;
            for entry in becket_fs::read_dir(&folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if name == ".git" && folder != project && found.checkouts.len() < MOST_CHECKOUTS {
                    found.checkouts.push(folder.clone());
                } else if is_folder && !NOT_SEARCHED.contains(&&*name) {
                    folders.push_back(entry.path());
                } else if !is_folder && is_env_file(&name) {
                    found.env_files.extend(becket_fs::canonicalize(entry.path()));
                }
            }
        }
        found
    }
}

/// Other paths of the same files and folders: a file system can be mounted in several places, as a whole or in part.
pub(super) fn other_ways(paths: &[PathBuf]) -> Vec<PathBuf> {
    let table = becket_fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let identity = |path: &Path| {
        let facts = becket_fs::symlink_metadata(path).ok()?;
        Some((facts.dev(), facts.ino()))
    };
    let mounts = mounts(&table);
    let ways = paths.iter().flat_map(|path| {
        let mut ways = mounted_again(&mounts, path);
        ways.retain(|way| way != path && identity(way).is_some_and(|one| Some(one) == identity(path)));
        ways
    });
    // Behind a link it has another name, which is in the list too.
    ways.filter(|way| becket_fs::canonicalize(way).is_ok_and(|real| real == *way))
        .collect()
}

/// A line of the table of mounts: the device, the folder of it that is mounted, and where.
type Mount<'a> = (&'a str, PathBuf, PathBuf);

fn mounts(table: &str) -> Vec<Mount<'_>> {
    let path = |text: &str| {
        let text = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
            .iter()
            .fold(text.to_owned(), |text, (code, letter)| text.replace(code, letter));
        PathBuf::from(text)
    };
    let fields = table.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    fields
        .filter_map(|fields| match fields[..] {
            [_, _, device, root, point, ..] => Some((device, path(root), path(point))),
            _ => None,
        })
        .collect()
}

fn mounted_again(mounts: &[Mount<'_>], path: &Path) -> Vec<PathBuf> {
    let around = mounts.iter().filter(|(_, _, point)| path.starts_with(point));
    let Some((device, root, point)) = around.max_by_key(|(_, _, point)| point.components().count()) else {
        return Vec::new();
    };
    let inner = root.join(path.strip_prefix(point).unwrap_or(path));
    let of_device = mounts.iter().filter(|(one, _, _)| one == device);
    of_device
        .filter_map(|(_, root, point)| Some(point.join(inner.strip_prefix(root).ok()?)))
        .collect()
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

    #[test]
    fn a_file_system_that_is_mounted_twice_shows_its_files_twice() {
        let table = "1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 /var/home /home rw - btrfs b rw\n\
                     3 1 8:2 / /sys\\040root rw - btrfs b rw\n4 1 8:2 /other /other rw - btrfs b rw\n";
        let ways = mounted_again(&mounts(table), Path::new("/home/user/.ssh"));
        let expected = ["/home/user/.ssh", "/sys root/var/home/user/.ssh"];
        assert_eq!(ways, expected.map(PathBuf::from));
    }

    #[test]
    fn a_large_folder_does_not_keep_what_is_near_the_top_from_being_found() {
        let room = tempfile::tempdir().expect("a folder");
        let project = room.path().canonicalize().expect("it is there");
        for number in 0..SEARCHED_FOLDERS {
            std::fs::create_dir_all(project.join(format!("a/{number}"))).expect("it can be made");
        }
        std::fs::create_dir_all(project.join("b/c")).expect("it can be made");
        std::fs::create_dir_all(project.join("b/.git")).expect("it can be made");
        std::fs::write(project.join("b/.env"), "").expect("it can be written");
        let found = Found::in_project(&project);
        assert_eq!(found.env_files, [project.join("b/.env")]);
        assert_eq!(found.checkouts, [project.join("b")]);
    }
}
