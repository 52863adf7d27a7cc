//! The settings about the rights of Scheme files: files, web addresses, environment variables. All of them are given by
//! prefixes of the files' paths, and the longest prefix counts.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Tier;
use crate::local_settings;

/// The rights of files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FileSettings {
    /// 2 for files that may read and write, 1 for those that may not.
    pub tiers: BTreeMap<String, u8>,
    /// The addresses that files may reach.
    pub http: HttpSettings,
    /// The environment variables that files see.
    pub env: BTreeMap<String, Vec<String>>,
}

/// The addresses that files may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HttpSettings {
    pub allow: BTreeMap<String, HttpAllow>,
    /// Whether files without an entry may reach the addresses that they declare.
    #[serde(alias = "trust-declared")]
    pub trust_declared: Option<bool>,
}

/// The addresses that one prefix may reach.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum HttpAllow {
    /// Everything below these addresses.
    Below(Vec<String>),
    /// The word [`TRUST_DECLARED`].
    Word(String),
}

/// The word for the addresses that the file declares itself.
pub const TRUST_DECLARED: &str = "trust-declared";

/// The variable in which a file declares the addresses that it wants to reach.
pub const DECLARED: &str = "tool-http-allow";

/// The part of the web that a file may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reach {
    #[default]
    Nowhere,
    /// The addresses that the file declares, once it is loaded.
    Declared,
    /// Everything below these addresses.
    Below(Vec<String>),
    Everywhere,
}

/// The files that may read and write by default.
const UNSANDBOXED: &[&str] = &["/tools/shared/history.scm"];

#[derive(Deserialize)]
struct HomeFile {
    #[serde(default)]
    tools: FileSettings,
}

impl FileSettings {
    /// The settings in the text of a home's file.
    pub fn of_home(text: &str) -> Result<Self, String> {
        let file: HomeFile = local_settings::read(text)?;
        file.tools.checked()
    }

    /// The settings, if every value in them is valid.
    pub fn checked(self) -> Result<Self, String> {
        if let Some((path, tier)) = self.tiers.iter().find(|(_, tier)| !(1..=2).contains(*tier)) {
            return Err(format!(
                "`tools.tiers` has {tier} for {path}; there are 1 (sandboxed) and 2 (unsandboxed)"
            ));
        }
        let wrong = self.http.allow.iter().find_map(|(path, allow)| match allow {
            HttpAllow::Word(word) if word != TRUST_DECLARED => Some((path, word)),
            _ => None,
        });
        match wrong {
            Some((path, word)) => Err(format!(
                "`tools.http.allow` has {word:?} for {path}; it takes a list of addresses, or {TRUST_DECLARED:?}"
            )),
            None => Ok(self),
        }
    }

    /// The settings with others added, which override these.
    pub fn and(mut self, others: Self) -> Self {
        self.tiers.extend(others.tiers);
        self.http.allow.extend(others.http.allow);
        self.http.trust_declared = others.http.trust_declared.or(self.http.trust_declared);
        self.env.extend(others.env);
        self
    }

    /// The tier of a file.
    pub fn tier(&self, path: &str) -> Tier {
        let usual = UNSANDBOXED.iter().map(|prefix| (*prefix, &2));
        let said = self.tiers.iter().map(|(prefix, tier)| (prefix.as_str(), tier));
        match longest(usual.chain(said), path) {
            Some(2) => Tier::Unsandboxed,
            _ => Tier::Sandboxed,
        }
    }

    /// The part of the web that a file may reach. A file that may read and write may reach everything.
    pub fn reach(&self, path: &str) -> Reach {
        if self.tier(path) == Tier::Unsandboxed {
            return Reach::Everywhere;
        }
        match longest(pairs(&self.http.allow), path) {
            Some(HttpAllow::Below(addresses)) => Reach::Below(addresses.clone()),
            Some(HttpAllow::Word(_)) => Reach::Declared,
            None if self.http.trust_declared == Some(true) => Reach::Declared,
            None => Reach::Nowhere,
        }
    }

    /// The names of the variables that a file sees.
    pub fn variables(&self, path: &str) -> &[String] {
        longest(pairs(&self.env), path).map_or(&[], Vec::as_slice)
    }
}

fn pairs<T>(map: &BTreeMap<String, T>) -> impl Iterator<Item = (&str, &T)> {
    map.iter().map(|(prefix, value)| (prefix.as_str(), value))
}

/// The value for the longest prefix of a path; of two equal prefixes, the last counts.
fn longest<'a, T>(said: impl Iterator<Item = (&'a str, &'a T)>, path: &str) -> Option<&'a T> {
    let covers = |prefix: &str| {
        path.strip_prefix(prefix.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    said.filter(|(prefix, _)| covers(prefix))
        .max_by_key(|(prefix, _)| prefix.len())
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> FileSettings {
        FileSettings::of_home(text).unwrap()
    }

    #[test]
    fn the_longest_beginning_of_a_path_says_what_a_file_may_do() {
        let settings = of("[tools.tiers]\n\"/tools/shared\" = 2\n\"/tools/shared/bad\" = 1\n");
        let free = |path: &str| settings.tier(path) == Tier::Unsandboxed;
        assert!(free("/tools/shared/a.scm") && free("/tools/shared/b/a.scm"));
        assert!(
            !free("/tools/shared/bad/a.scm")
                && !free("/tools/sharedx/a.scm")
                && !free("/tools/home/me/a.scm")
        );
        let usual = FileSettings::default();
        assert_eq!(usual.tier("/tools/shared/history.scm"), Tier::Unsandboxed);
        assert_eq!(usual.tier("/tools/shared/history.scm.scm"), Tier::Sandboxed);
        let none = of("[tools.tiers]\n\"/tools/shared/history.scm\" = 1\n");
        assert_eq!(none.tier("/tools/shared/history.scm"), Tier::Sandboxed);
        assert_eq!(of("model = \"x\"\n"), FileSettings::default());
    }

    #[test]
    fn what_a_file_may_reach_is_said_by_path() {
        let settings = of("[tools.http]\ntrust-declared = true\n[tools.http.allow]\n\
             \"/tools/shared\" = [\"https://a.example/\"]\n\"/tools/shared/own\" = \"trust-declared\"\n\
             [tools.tiers]\n\"/tools/home/me\" = 2\n");
        let below = Reach::Below(vec!["https://a.example/".into()]);
        assert_eq!(settings.reach("/tools/shared/a.scm"), below);
        assert_eq!(settings.reach("/tools/shared/own/a.scm"), Reach::Declared);
        assert_eq!(settings.reach("/tools/flocks/x/a.scm"), Reach::Declared);
        assert_eq!(settings.reach("/tools/home/me/a.scm"), Reach::Everywhere);
        let own = of("[tools.http]\ntrust_declared = false\n");
        let both = settings.and(own);
        assert_eq!(both.reach("/tools/flocks/x/a.scm"), Reach::Nowhere);
        assert_eq!(
            FileSettings::default().reach("/tools/shared/a.scm"),
            Reach::Nowhere
        );
    }

    #[test]
    fn variables_are_said_by_path() {
        let settings =
            of("[tools.env]\n\"/tools/shared\" = [\"A\"]\n\"/tools/shared/b.scm\" = [\"B\", \"C\"]\n");
        assert_eq!(settings.variables("/tools/shared/a.scm"), ["A"]);
        assert_eq!(settings.variables("/tools/shared/b.scm"), ["B", "C"]);
        assert!(settings.variables("/tools/home/me/a.scm").is_empty());
    }

    #[test]
    fn what_means_nothing_is_an_error() {
        let wrong = |text: &str| FileSettings::of_home(text).unwrap_err();
        assert!(wrong("[tools.tiers]\n\"/tools\" = 3\n").contains("1 (sandboxed)"));
        assert!(wrong("[tools.http.allow]\n\"/tools\" = \"everything\"\n").contains("a list of addresses"));
        assert!(!wrong("[tools.env]\n\"/tools\" = \"HOME\"\n").is_empty());
    }
}
