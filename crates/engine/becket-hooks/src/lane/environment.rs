//! What programs that becket starts get of the user's environment, and where they are looked for.
//!
//! There are two environments. Tools, which run what the model asks for, have the user's own `PATH`. Guests, such as
//! hooks, plugins, extensions and MCP servers, have a stricter one, because what a guard sees must not depend on where
//! becket was started or on what lies in the working directory.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Where programs are looked for when the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Variables that change what the text of a shell script means, or run something before it.
const OF_SHELLS: &[&str] = &[
    "BASHOPTS",
    "BASH_COMPAT",
    "BASH_ENV",
    "BASH_XTRACEFD",
    "CDPATH",
    "ECHO_STYLE",
    "ENV",
    "EXECIGNORE",
    "FPATH",
    "GLOBIGNORE",
    "POSIXLY_CORRECT",
    "PS4",
    "SHELLOPTS",
];

/// Prefixes of variables that change shell scripts: functions of bash.
const BEGINNINGS_OF_SHELLS: &[&str] = &["BASH_FUNC_"];

/// Prefixes of variables that change how programs are loaded.
const BEGINNINGS_OF_LOADERS: &[&str] = &["LD_", "DYLD_"];

/// The environment that tools inherit: everything except becket's own secrets and variables that change how programs
/// are loaded.
pub fn inherited_environment<N: AsRef<OsStr>>(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    secrets: &[N],
) -> BTreeMap<OsString, OsString> {
    let is_secret = |name: &OsStr| secrets.iter().any(|secret| secret.as_ref() == name);
    let variables = variables.into_iter();
    variables
        .filter(|(name, _)| !is_secret(name) && !begins(name, BEGINNINGS_OF_LOADERS))
        .collect()
}

/// The environment that hooks and other guests inherit: that of tools, without variables that change the meaning of
/// shell scripts, and with only the absolute folders of `PATH`. So a guard means the same wherever becket is started,
/// and no file of the working directory replaces its programs.
pub fn guest_environment(mut inherited: BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
    let is_of_shells = |name: &OsStr| {
        begins(name, BEGINNINGS_OF_SHELLS) || OF_SHELLS.iter().any(|shell| OsStr::new(shell) == name)
    };
    inherited.retain(|name, _| !is_of_shells(name));
    let path = absolute_path(&inherited);
    inherited.insert("PATH".into(), path);
    inherited
}

/// The absolute folders of `PATH`; the default ones if there are none. Without a `PATH` some shells search the current
/// directory, and with an empty one all do.
pub(super) fn absolute_path(environment: &BTreeMap<OsString, OsString>) -> OsString {
    let path = environment.get(OsStr::new("PATH"));
    let folders = path
        .map_or(&b""[..], |path| path.as_bytes())
        .split(|byte| *byte == b':');
    let absolute: Vec<&[u8]> = folders.filter(|folder| folder.starts_with(b"/")).collect();
    match absolute.is_empty() {
        true => DEFAULT_PATH.into(),
        false => OsString::from_vec(absolute.join(&b':')),
    }
}

/// The program with this name in the absolute folders of `PATH`. The error is a file of this name that is not
/// executable, if there is one.
pub(super) fn find_program(
    name: &OsStr,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<PathBuf, Option<PathBuf>> {
    let mut not_executable = None;
    for folder in std::env::split_paths(&absolute_path(environment)) {
        let path = folder.join(Path::new(name));
        if !path.is_file() {
            continue;
        }
        if access(&path, Access::EXEC_OK).is_ok() {
            return Ok(path);
        }
        not_executable.get_or_insert(path);
    }
    Err(not_executable)
}

fn begins(name: &OsStr, beginnings: &[&str]) -> bool {
    let name = name.as_encoded_bytes();
    beginnings
        .iter()
        .any(|beginning| name.starts_with(beginning.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(environment: &BTreeMap<OsString, OsString>) -> Vec<&str> {
        environment.keys().filter_map(|name| name.to_str()).collect()
    }

    #[test]
    fn secrets_loaders_and_what_changes_shells_are_left_out() {
        let names = [
            "BASHOPTS",
            "BASH_ENV",
            "BASH_FUNC_jq%%",
            "BASH_VERSION_NOTE",
            "DYLD_INSERT_LIBRARIES",
            "ENV",
            "HOME",
            "LDAP",
            "LD_PRELOAD",
            "NODE_OPTIONS",
            "OPENAI_API_KEY",
            "PYTHONPATH",
            "SHELLOPTS",
            "https_proxy",
        ];
        let variables = names.map(|name| (OsString::from(name), OsString::from("x")));
        let tools = inherited_environment(variables, &["OPENAI_API_KEY"]);
        let wanted = "BASHOPTS BASH_ENV BASH_FUNC_jq%% BASH_VERSION_NOTE ENV HOME LDAP NODE_OPTIONS PYTHONPATH \
                      SHELLOPTS https_proxy";
        assert_eq!(names_of(&tools).join(" "), wanted);
        let wanted = "BASH_VERSION_NOTE HOME LDAP NODE_OPTIONS PATH PYTHONPATH https_proxy";
        assert_eq!(names_of(&guest_environment(tools)).join(" "), wanted);
    }

    #[test]
    fn only_absolute_folders_stay() {
        let table = [
            (Some(".:/bin:x/y::/usr/bin:~/bin:"), "/bin:/usr/bin"),
            (Some("/a b:/c"), "/a b:/c"),
            (Some("."), DEFAULT_PATH),
            (Some(""), DEFAULT_PATH),
            (None, DEFAULT_PATH),
        ];
        for (path, wanted) in table {
            let path = path.map(|path| (OsString::from("PATH"), OsString::from(path)));
            let environment = guest_environment(path.into_iter().collect());
            assert_eq!(environment[OsStr::new("PATH")], wanted);
        }
    }
}
