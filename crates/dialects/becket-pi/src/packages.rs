//! Packages in pi's settings, and the folders into which pi installs them.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::home::from_home;

/// The name of folders that hold packages.
const PACKAGES: &str = "node_modules";

/// The source of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// npm's registry, by name.
    Npm(String),
    /// A git repository: its host and its path there.
    Git(String, String),
    /// A file or folder.
    Local(String),
}

impl Source {
    /// Parses a source: `npm:name@1.0`, `git:host/owner/name@ref`, an address, or a path.
    pub(super) fn of(text: &str) -> Self {
        let text = text.trim();
        if let Some(spec) = text.strip_prefix("npm:") {
            let spec = spec.trim();
            // The first character may be the `@` of a scope.
            let version = spec
                .char_indices()
                .skip(1)
                .find(|(_, character)| *character == '@');
            let name = version.map_or(spec, |(at, _)| &spec[..at]);
            return Self::Npm(name.to_owned());
        }
        let is_address = ["https://", "http://", "ssh://", "git://"]
            .iter()
            .any(|scheme| text.starts_with(scheme));
        let short = text
            .strip_prefix("github:")
            .map(|rest| format!("github.com/{rest}"));
        let place = match (short, text.strip_prefix("git:").filter(|_| !is_address)) {
            (Some(place), _) => place,
            (None, Some(place)) => place.trim().to_owned(),
            (None, None) if is_address => text.to_owned(),
            (None, None) => return Self::Local(text.to_owned()),
        };
        repository(&place).unwrap_or_else(|| Self::Local(text.to_owned()))
    }

    /// A text that is the same for two sources of the same package.
    pub(super) fn identity(&self, base: &Path, persons_home: Option<&Path>) -> String {
        match self {
            Self::Npm(name) => format!("npm:{name}"),
            Self::Git(host, path) => format!("git:{host}/{path}"),
            Self::Local(path) => {
                let path = base.join(from_home(Path::new(path), persons_home));
                path.components().collect::<PathBuf>().display().to_string()
            }
        }
    }
}

/// The host and path of a repository, for every form of its address.
fn repository(place: &str) -> Option<Source> {
    let place = match place.split_once("://") {
        Some((_, rest)) => rest.to_owned(),
        None => place.replacen(':', "/", usize::from(place.starts_with("git@"))),
    };
    let place = place.split_once('#').map_or(place.as_str(), |(place, _)| place);
    let (host, path) = place.split_once('/')?;
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let path = path.split_once('@').map_or(path, |(path, _)| path);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let leads_out = path.split('/').any(|part| matches!(part, "" | "." | ".."));
    let is_whole = host.contains('.') && path.contains('/') && !leads_out;
    is_whole.then(|| Source::Git(host.to_owned(), path.to_owned()))
}

/// The folder of an installed package. `base` is the folder whose settings name it, if there is one; `global` are the
/// folders of globally installed packages, into which older versions of pi have installed the user's.
pub(super) fn installed(
    source: &str,
    base: Option<&Path>,
    global: &[PathBuf],
    persons_home: Option<&Path>,
) -> Option<PathBuf> {
    let (path, others) = match Source::of(source) {
        Source::Npm(name) => {
            let others = global.iter().map(|folder| folder.join(&name)).collect();
            (Path::new("npm").join(PACKAGES).join(&name), others)
        }
        Source::Git(host, path) => (Path::new("git").join(host).join(path), Vec::new()),
        Source::Local(path) => (from_home(Path::new(&path), persons_home), Vec::new()),
    };
    let own = base.map(|base| base.join(path));
    own.into_iter().chain(others).find(|path| becket_fs::exists(path))
}

/// The folders in which package managers keep globally installed packages. No program is run to find them: they are
/// named by variables and settings, or are beside the programs. `variable` looks up an environment variable.
pub fn global_folders(
    variable: impl Fn(&str) -> Option<OsString>,
    persons_home: Option<&Path>,
) -> Vec<PathBuf> {
    let folder = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let of_home = |path: &str| persons_home.map(|home| home.join(path));
    let prefixes = ["npm_config_prefix", "NPM_CONFIG_PREFIX", "PREFIX"].map(folder);
    let prefixes = prefixes
        .into_iter()
        .chain([of_home(".npmrc").and_then(|file| prefix_in(&file, persons_home))]);
    let mut found: Vec<PathBuf> = prefixes
        .flatten()
        .map(|prefix| prefix.join("lib").join(PACKAGES))
        .collect();
    let paths = variable("PATH").unwrap_or_default();
    for program in ["pi", "npm", "node"] {
        let mut folders = std::env::split_paths(&paths);
        // Looked for first: what is not there would cost a look at every folder above it.
        let file = folders.find_map(|folder| {
            let file = folder.join(program);
            becket_fs::exists(&file).then(|| becket_fs::canonicalize(file).ok())?
        });
        let Some(file) = file else {
            continue;
        };
        let above = file.ancestors().find(|folder| folder.ends_with(PACKAGES));
        let beside = file
            .ancestors()
            .nth(2)
            .map(|prefix| prefix.join("lib").join(PACKAGES));
        found.extend(above.map(Path::to_path_buf).or(beside));
    }
    let pnpm = folder("PNPM_HOME").or_else(|| of_home(".local/share/pnpm"));
    found.extend(pnpm.map(|pnpm| pnpm.join("global/5").join(PACKAGES)));
    let bun = folder("BUN_INSTALL").or_else(|| of_home(".bun"));
    found.extend(bun.map(|bun| bun.join("install/global").join(PACKAGES)));
    let mut known = HashSet::new();
    found.retain(|folder| becket_fs::is_dir(folder) && known.insert(folder.clone()));
    found
}

/// The prefix in npm's settings.
fn prefix_in(file: &Path, persons_home: Option<&Path>) -> Option<PathBuf> {
    let text = becket_fs::read_to_string(file).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once('='));
    let (_, value) = lines.rfind(|(name, _)| name.trim() == "prefix")?;
    let value = value.trim().trim_matches(['"', '\'']);
    let value = value
        .strip_prefix("${HOME}")
        .map_or(value.to_owned(), |rest| format!("~{rest}"));
    Some(from_home(Path::new(&value), persons_home))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_packages_for_everything_are_found_without_running_anything() {
        let room = tempfile::tempdir().unwrap();
        let at = |path: &str| room.path().join(path);
        let folders = [
            "set/lib/node_modules",
            "home/kept/lib/node_modules",
            "usr/lib/node_modules",
            "old/lib/node_modules",
            "home/.local/share/pnpm/global/5/node_modules",
            "bun/install/global/node_modules",
        ];
        folders
            .iter()
            .for_each(|folder| std::fs::create_dir_all(at(folder)).unwrap());
        std::fs::create_dir_all(at("usr/bin")).unwrap();
        std::fs::create_dir_all(at("old/bin")).unwrap();
        std::fs::create_dir_all(at("usr/lib/node_modules/npm/bin")).unwrap();
        std::fs::write(at("usr/lib/node_modules/npm/bin/npm-cli.js"), "").unwrap();
        std::os::unix::fs::symlink(at("usr/lib/node_modules/npm/bin/npm-cli.js"), at("usr/bin/npm")).unwrap();
        std::fs::write(at("old/bin/node"), "").unwrap();
        std::fs::write(at("home/.npmrc"), "registry=x\nprefix = \"${HOME}/kept\"\n").unwrap();
        let variable = |name: &str| match name {
            "NPM_CONFIG_PREFIX" => Some(at("set").into_os_string()),
            "PATH" => Some(std::env::join_paths([at("usr/bin"), at("old/bin")]).unwrap()),
            "BUN_INSTALL" => Some(at("bun").into_os_string()),
            _ => None,
        };
        let found = global_folders(variable, Some(&at("home")));
        assert_eq!(found, folders.map(at));
        assert_eq!(global_folders(|_| None, None), [] as [PathBuf; 0]);
    }
}
