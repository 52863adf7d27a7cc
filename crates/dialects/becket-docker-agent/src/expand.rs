//! Variables in the settings of hooks.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use becket_hooks::HookEnvironment;

/// The value of a variable for a hook: `${env.NAME}` is replaced, everything else stays as it is. A provider's key is
/// passed on if the entry names it.
pub(super) fn expanded_value(
    value: &str,
    environment: &HookEnvironment,
    remarks: &mut Vec<String>,
) -> OsString {
    let mut expanded = OsString::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${env.") {
        expanded.push(before);
        let Some((name, after)) = after.split_once('}') else {
            expanded.push("${env.");
            rest = after;
            continue;
        };
        expanded.push(looked_up(name, environment, remarks));
        rest = after;
    }
    expanded.push(rest);
    expanded
}

/// A directory with `~`, `$NAME`, `${NAME}` and `${env.NAME}` replaced.
pub(super) fn expanded_directory(
    directory: &str,
    environment: &HookEnvironment,
    remarks: &mut Vec<String>,
) -> PathBuf {
    let mut expanded = OsString::new();
    let mut rest = directory;
    if let Some(after) = rest
        .strip_prefix('~')
        .filter(|after| after.is_empty() || after.starts_with('/'))
    {
        expanded.push(looked_up("HOME", environment, remarks));
        rest = after;
    }
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push(before);
        let (name, after) = match after.strip_prefix('{').and_then(|after| after.split_once('}')) {
            Some((name, after)) => (name.strip_prefix("env.").unwrap_or(name), after),
            None => {
                let end = after.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
                after.split_at(end.unwrap_or(after.len()))
            }
        };
        match name {
            "" => expanded.push("$"),
            name => expanded.push(looked_up(name, environment, remarks)),
        }
        rest = after;
    }
    expanded.push(rest);
    expanded.into()
}

fn looked_up<'a>(name: &str, environment: &'a HookEnvironment, remarks: &mut Vec<String>) -> &'a OsStr {
    let name_of = OsStr::new(name);
    let found = environment
        .variables
        .get(name_of)
        .or_else(|| environment.keys.get(name_of));
    found.map_or_else(
        || {
            remarks.push(format!(
                "the variable {name} is not set, so it is replaced by nothing"
            ));
            OsStr::new("")
        },
        OsString::as_os_str,
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;

    fn environment() -> HookEnvironment {
        let map = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value)));
            Arc::new(pairs.collect::<BTreeMap<_, _>>())
        };
        HookEnvironment {
            variables: map(&[("HOME", "/home/me"), ("T", "x")]),
            keys: map(&[("KEY", "secret")]),
        }
    }

    #[test]
    fn values_know_one_form_and_directories_all() {
        let mut remarks = Vec::new();
        let mut value = |text: &str| {
            expanded_value(text, &environment(), &mut remarks)
                .into_string()
                .unwrap()
        };
        assert_eq!(value("v-${env.T}-${env.KEY}"), "v-x-secret");
        assert_eq!(value("pa$$word $T ${T} ${env.T"), "pa$$word $T ${T} ${env.T");
        assert_eq!(value("[${env.NOT}]"), "[]");
        assert_eq!(
            remarks,
            ["the variable NOT is not set, so it is replaced by nothing"]
        );
        let mut remarks = Vec::new();
        let mut directory = |text: &str| {
            expanded_directory(text, &environment(), &mut remarks)
                .to_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(directory("~/a"), "/home/me/a");
        assert_eq!(directory("~me/a"), "~me/a");
        assert_eq!(directory("/$T/${T}b/${env.T}c"), "/x/xb/xc");
        assert_eq!(directory("a$"), "a$");
        assert!(remarks.is_empty());
    }
}
