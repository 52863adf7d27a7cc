//! Packages as pi's settings name them, and where pi puts them when it installs them.

use std::path::{Path, PathBuf};

use super::discovery::from_home;

/// Where a package comes from.
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
    /// A source as it is written: `npm:name@1.0`, `git:host/owner/name@ref`, an address, or a path.
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

    /// Says that two sources are the same package.
    pub(super) fn identity(&self, base: &Path, persons_home: Option<&Path>) -> String {
        match self {
            Self::Npm(name) => format!("npm:{name}"),
            Self::Git(host, path) => format!("git:{host}/{path}"),
            Self::Local(path) => base
                .join(from_home(Path::new(path), persons_home))
                .display()
                .to_string(),
        }
    }
}

/// Host and path of a repository, however its place is written.
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

/// The folder of a package that is on this machine. `base` is the folder whose settings name it.
pub(super) fn installed(source: &str, base: &Path, persons_home: Option<&Path>) -> Option<PathBuf> {
    let path = match Source::of(source) {
        Source::Npm(name) => base.join("npm/node_modules").join(name),
        Source::Git(host, path) => base.join("git").join(host).join(path),
        Source::Local(path) => base.join(from_home(Path::new(&path), persons_home)),
    };
    path.exists().then_some(path)
}
