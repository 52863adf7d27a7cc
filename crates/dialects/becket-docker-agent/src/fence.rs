//! What the tools of a toolset may reach: the folders of `allow_list` and `deny_list`, and the hosts of
//! `allowed_domains` and `blocked_domains`. `fetch` reaches nothing that is not public, unless `allow_private_ips` says
//! so.
//!
//! Each list becomes a guard of the agent that has the toolset. It is asked about paths after links were followed,
//! about every file of which a search would show something, and about every address that a page redirects to.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_events::{
    Class, Event, PermissionRequest, PermissionRequestReply, PreFetch, PreFetchPayload, PreFetchReply,
    PreFileRead, PreFileReadReply, PreFileWrite, PreFileWriteReply, Scope, Strictest, Verdict,
};
use becket_hooks::{Action, Condition, Engine, HandlerInfo, Matcher, Occasion, Registration};
use url::{Host, Url};

use crate::file::{AgentDefinition, Fence};
use crate::tools::toolset_tools;

/// A host or a network, as a list of domains writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Domain {
    /// A host and all hosts below it.
    Host(String),
    /// All hosts below a host.
    Below(String),
    /// The addresses that begin with these bits.
    Network(IpAddr, u32),
}

impl Domain {
    /// Reads a member of a list. The error says what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let plain = text.trim().trim_end_matches('.').to_ascii_lowercase();
        let wrong = || {
            format!(
                "`{text}` is neither a host, as `example.com` or `*.example.com`, nor a network, as `10.0.0.0/8`"
            )
        };
        let (address, bits) = match plain.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (plain.as_str(), None),
        };
        let bare = address.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse::<IpAddr>() {
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
            return match bits <= most {
                true => Ok(Self::Network(address, bits)),
                false => Err(wrong()),
            };
        }
        let below = plain.strip_prefix("*.").or_else(|| plain.strip_prefix('.'));
        let host = below.unwrap_or(&plain);
        let is_host = !host.is_empty() && !host.contains(['/', ':', '*', '?', '@', ' ']);
        match below {
            _ if !is_host => Err(wrong()),
            Some(host) => Ok(Self::Below(host.to_owned())),
            None => Ok(Self::Host(host.to_owned())),
        }
    }

    /// Whether the domain has that host.
    fn has(&self, host: &Host<String>) -> bool {
        match (self, host) {
            (Self::Host(own), Host::Domain(host)) => host == own || is_below(host, own),
            (Self::Below(own), Host::Domain(host)) => is_below(host, own),
            (Self::Network(..), Host::Ipv4(address)) => self.has_address(IpAddr::V4(*address)),
            (Self::Network(..), Host::Ipv6(address)) => self.has_address(IpAddr::V6(*address)),
            _ => false,
        }
    }

    /// Whether the domain is a network with that address.
    fn has_address(&self, address: IpAddr) -> bool {
        let Self::Network(network, bits) = self else {
            return false;
        };
        match (network, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let differing = network.to_bits() ^ address.to_bits();
                differing.checked_shr(32 - bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let differing = network.to_bits() ^ address.to_bits();
                differing.checked_shr(128 - bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

fn is_below(host: &str, parent: &str) -> bool {
    let above = host.strip_suffix(parent).and_then(|rest| rest.strip_suffix('.'));
    above.is_some_and(|rest| !rest.is_empty())
}

/// The guard of an agent.
struct Guard {
    /// Where the fence is written, for messages.
    place: String,
    agent: String,
    /// The tools that it is about.
    tools: &'static [&'static str],
}

impl Guard {
    /// Registers the guard of one event, which refuses with the reason that `judge` gives.
    fn register<E: Event>(
        &self,
        engine: &Engine,
        called_as: fn(&E::Payload) -> &str,
        judge: impl Fn(&E::Payload) -> Option<String> + Send + Sync + 'static,
        reply: fn(Strictest) -> E::Reply,
    ) {
        let (agent, tools) = (self.agent.clone(), self.tools);
        let condition: Condition<E> = Arc::new(move |scope: &Scope, payload: &E::Payload| {
            scope.agent_name == agent && tools.contains(&called_as(payload))
        });
        engine.register(Registration {
            info: HandlerInfo::native(&self.place, Class::Guard),
            order: Vec::new(),
            matcher: Matcher::default(),
            condition: Some(condition),
            action: Action::Native(Arc::new(move |occasion: &Occasion<'_, E>| {
                let verdict = judge(occasion.payload).map(Verdict::Deny);
                Ok(reply(Strictest(verdict)))
            })),
        });
    }
}

/// The directories that `.` and `~` stand for.
#[derive(Clone, Copy)]
pub struct Bases<'a> {
    /// The working directory.
    pub directory: &'a Path,
    /// The user's home.
    pub home: Option<&'a Path>,
}

/// Registers the guards of an agent's toolsets.
pub fn register(engine: &Engine, agent: &AgentDefinition, file: &Path, bases: Bases<'_>) {
    for set in &agent.toolsets {
        let guard = |kind: &str| Guard {
            place: format!("{}:{}", file.display(), set.line),
            agent: agent.name.clone(),
            tools: toolset_tools(kind).unwrap_or_default(),
        };
        let Fence {
            allow_list,
            deny_list,
            allowed_domains,
            blocked_domains,
            refuses_private,
        } = &set.fence;
        if !allow_list.is_empty() || !deny_list.is_empty() {
            let folders = Arc::new(Folders::of(allow_list, deny_list, bases));
            let (reads, writes) = (Arc::clone(&folders), folders);
            let files = guard("filesystem");
            files.register::<PreFileRead>(
                engine,
                |payload| &payload.called_as,
                move |payload| reads.refusal(Path::new(&payload.path)),
                |verdict| PreFileReadReply {
                    verdict,
                    ..PreFileReadReply::default()
                },
            );
            files.register::<PreFileWrite>(
                engine,
                |payload| &payload.called_as,
                move |payload| writes.refusal(Path::new(&payload.path)),
                |verdict| PreFileWriteReply {
                    verdict,
                    ..PreFileWriteReply::default()
                },
            );
        }
        if *refuses_private || !allowed_domains.is_empty() || !blocked_domains.is_empty() {
            let domains = Domains::of(allowed_domains, blocked_domains);
            let refuses_private = *refuses_private;
            let has_lists = !allowed_domains.is_empty() || !blocked_domains.is_empty();
            guard("fetch").register::<PreFetch>(
                engine,
                |payload| &payload.called_as,
                move |payload| {
                    let private = private_address(payload).filter(|_| refuses_private);
                    private.or_else(|| domains.refusal(payload).filter(|_| has_lists))
                },
                |verdict| PreFetchReply {
                    verdict,
                    ..PreFetchReply::default()
                },
            );
        }
    }
}

/// Why an address is refused by docker-agent's own fetch, which reaches nothing that is not public.
fn private_address(payload: &PreFetchPayload) -> Option<String> {
    let kind = payload.sensitive.as_ref()?;
    Some(format!(
        "the address is not public ({kind}); `allow_private_ips: true` of the toolset lets it be fetched"
    ))
}

/// Refuses every call about which the user would have to be asked.
pub fn refuse_questions(engine: &Engine, file: &Path) {
    engine.on::<PermissionRequest>(&format!("{} (safety)", file.display()), |_| {
        let reason = "`safety: restricted` of the agent file refuses what would need approval";
        Ok(PermissionRequestReply {
            verdict: Strictest(Some(Verdict::Deny(reason.into()))),
            ..PermissionRequestReply::default()
        })
    });
}

/// The folders that may be reached, and those that may not, with all links followed.
struct Folders {
    allowed: Vec<PathBuf>,
    denied: Vec<PathBuf>,
}

impl Folders {
    fn of(allowed: &[String], denied: &[String], bases: Bases<'_>) -> Self {
        let resolved = |folders: &[String]| folders.iter().map(|folder| resolved(folder, bases)).collect();
        Self {
            allowed: resolved(allowed),
            denied: resolved(denied),
        }
    }

    fn refusal(&self, path: &Path) -> Option<String> {
        let within = |folders: &[PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
        match () {
            () if within(&self.denied) => Some("the toolset's `deny_list` names this place".into()),
            () if !self.allowed.is_empty() && !within(&self.allowed) => {
                Some("the toolset's `allow_list` does not name this place".into())
            }
            () => None,
        }
    }
}

/// A folder of a list with links followed. Of one that is not there, the part that is there is resolved.
fn resolved(folder: &str, bases: Bases<'_>) -> PathBuf {
    let folder = Path::new(folder.trim());
    let whole = match (folder.strip_prefix("~"), bases.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => bases.directory.join(folder),
    };
    let mut missing = Vec::new();
    let mut there = whole.as_path();
    loop {
        if let Ok(found) = becket_fs::canonicalize(there) {
            return missing.iter().rev().fold(found, |path, part| path.join(part));
        }
        match (there.parent(), there.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name);
                there = parent;
            }
            _ => return whole,
        }
    }
}

/// The hosts that may be reached, and those that may not.
struct Domains {
    allowed: Vec<Domain>,
    blocked: Vec<Domain>,
}

impl Domains {
    fn of(allowed: &[String], blocked: &[String]) -> Self {
        // The lists were read with the file.
        let read = |list: &[String]| list.iter().filter_map(|text| Domain::read(text).ok()).collect();
        Self {
            allowed: read(allowed),
            blocked: read(blocked),
        }
    }

    fn refusal(&self, fetch: &PreFetchPayload) -> Option<String> {
        let url = fetch.url.as_deref().and_then(|url| Url::parse(url).ok());
        let host = url.as_ref().and_then(Url::host).map(|host| match host {
            Host::Domain(name) => Host::Domain(name.trim_end_matches('.').to_ascii_lowercase()),
            other => other.to_owned(),
        });
        let Some(host) = host else {
            return Some("the toolset says which hosts may be reached, and this address has none".into());
        };
        let leads_there = |domain: &Domain| {
            let mut addresses = fetch.addresses.iter().filter_map(|text| text.parse().ok());
            domain.has(&host) || addresses.any(|address| domain.has_address(address))
        };
        match () {
            () if self.blocked.iter().any(leads_there) => {
                Some(format!("the toolset's `blocked_domains` name {host}"))
            }
            () if !self.allowed.is_empty() && !self.allowed.iter().any(|domain| domain.has(&host)) => {
                Some(format!("the toolset's `allowed_domains` do not name {host}"))
            }
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch(url: &str, addresses: &[&str]) -> PreFetchPayload {
        PreFetchPayload {
            tool_call_id: String::new(),
            tool_name: "fetch".to_owned(),
            called_as: "fetch".to_owned(),
            url: Some(url.to_owned()),
            sensitive: None,
            addresses: addresses.iter().map(|address| (*address).to_owned()).collect(),
            redirected_from: None,
            call_summary: None,
        }
    }

    #[test]
    fn domains_mean_what_their_lists_say() {
        let table = [
            ("example.com", "https://example.com/", true),
            ("Example.com.", "https://docs.EXAMPLE.com/x", true),
            ("example.com", "https://notexample.com/", false),
            ("*.example.com", "https://a.example.com/", true),
            ("*.example.com", "https://example.com/", false),
            (".example.com", "https://example.com./", false),
            ("10.0.0.0/8", "http://10.1.2.3/", true),
            ("10.0.0.0/8", "http://11.1.2.3/", false),
            ("169.254.169.254", "http://169.254.169.254/latest", true),
            ("::1/128", "http://[::1]:80/", true),
            ("0.0.0.0/0", "http://8.8.8.8/", true),
        ];
        for (domain, url, expected) in table {
            let domains = Domains::of(&[], &[domain.to_owned()]);
            let refused = domains.refusal(&fetch(url, &[])).is_some();
            assert_eq!(refused, expected, "{domain} {url}");
        }
        for wrong in ["", "https://x.com", "x.com/path", "10.0.0.0/33", "a b", "x.*"] {
            assert!(Domain::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_blocked_network_is_blocked_under_every_name() {
        let domains = Domains::of(&[], &["10.0.0.0/8".to_owned()]);
        let fetch = fetch("http://innocent.example/", &["10.0.0.1"]);
        assert!(domains.refusal(&fetch).is_some());
    }

    #[test]
    fn folders_are_resolved_also_where_they_are_not_there_yet() {
        let room = tempfile::tempdir().unwrap();
        let base = room.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("real")).unwrap();
        std::os::unix::fs::symlink(base.join("real"), base.join("link")).unwrap();
        let bases = Bases {
            directory: &base,
            home: Some(&base),
        };
        let folders = Folders::of(&["~/link/new".to_owned()], &["link/new/secret".to_owned()], bases);
        assert_eq!(folders.refusal(&base.join("real/new/file")), None);
        assert!(folders.refusal(&base.join("real/new/secret/file")).is_some());
        assert!(folders.refusal(&base.join("elsewhere")).is_some());
    }
}
