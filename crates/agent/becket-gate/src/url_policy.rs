//! Web addresses: what class of place one leads to, and whether it may be fetched.
//!
//! `UrlJudge` is the one way in, for every tool that uses the network. It parses the address as a browser would,
//! refuses what cannot be parsed, looks up the host, and determines for every network address behind it the class
//! (`class.rs`) and the verdict of the user's policy (`policy.rs`). A connection then goes to the addresses of the
//! `JudgedUrl` and to no others: a name server that answers differently the next time changes nothing.

mod address;
mod class;
mod policy;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

pub use address::{read_url, without_credentials};
pub use class::UrlClass;
use futures_util::future::BoxFuture;
pub use policy::{
    Extent, PolicyDefault, PolicyLists, Ruling, UrlPolicy, UrlVerdict, check_glob, check_rule,
    leaves_host_open,
};
use url::{Host, Url};

use class::Classes;

/// How long a name server may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Finds the network addresses behind the name of a host.
pub trait Resolver: Send + Sync {
    /// All network addresses of the host; the error says why there are none.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, String>>;
}

/// Looks up names with the system's resolver.
#[derive(Debug, Clone, Copy)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, String>> {
        Box::pin(async move {
            let lookup = tokio::time::timeout(LOOKUP_TIMEOUT, tokio::net::lookup_host((host, 0))).await;
            let found = lookup.map_err(|_| format!("looking up {host} took too long"))?;
            let found = found.map_err(|error| format!("cannot look up {host}: {error}"))?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Judges web addresses.
#[derive(Clone)]
pub struct UrlJudge {
    policy: Option<Arc<UrlPolicy>>,
    resolver: Arc<dyn Resolver>,
}

impl Default for UrlJudge {
    fn default() -> Self {
        Self::new(None)
    }
}

impl std::fmt::Debug for UrlJudge {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("UrlJudge")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// A web address after it was judged. Only a `UrlJudge` makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedUrl {
    url: Url,
    extent: Extent,
    addresses: Vec<SocketAddr>,
    class: Option<UrlClass>,
    ruling: Ruling,
}

impl UrlJudge {
    /// A judge with the user's policy, which looks up names with the system's resolver.
    pub fn new(policy: Option<UrlPolicy>) -> Self {
        Self {
            policy: policy.map(Arc::new),
            resolver: Arc::new(SystemResolver),
        }
    }

    /// This judge with another source of network addresses.
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.resolver = resolver;
        self
    }

    /// Whether the user has a policy.
    pub fn has_policy(&self) -> bool {
        self.policy.is_some()
    }

    /// Judges an address. The error says why it cannot be fetched, or why its host cannot be found.
    pub async fn judge(&self, text: &str) -> Result<JudgedUrl, String> {
        self.judge_extent(text, Extent::Page).await
    }

    /// Judges an address, or the whole server behind it: that is denied if some address on it may be, and allowed if
    /// all are.
    pub async fn judge_extent(&self, text: &str, extent: Extent) -> Result<JudgedUrl, String> {
        let unresolved = self.judge_name(text, extent)?;
        if unresolved.ruling.verdict == UrlVerdict::Deny {
            // An address that is denied whatever its host resolves to is not looked up.
            return Ok(unresolved);
        }
        let url = unresolved.url;
        let addresses = self.addresses(&url).await?;
        let classes = Classes::of(&url, &addresses);
        let ruling = match &self.policy {
            Some(policy) => policy.rule((&url, extent), &classes, &addresses),
            None => Ruling::without_policy(),
        };
        let port = url.port_or_known_default().unwrap_or(80);
        Ok(JudgedUrl {
            addresses: addresses.iter().map(|address| (*address, port).into()).collect(),
            class: classes.worst(),
            ruling,
            url,
            extent,
        })
    }

    /// Judges an address by its name alone, without looking it up. Nothing can be fetched from it yet: what allows it
    /// now may deny it when its host is known.
    pub fn judge_name(&self, text: &str, extent: Extent) -> Result<JudgedUrl, String> {
        let url = read_url(text)?;
        let ruling = match &self.policy {
            Some(policy) => policy.rule_by_name((&url, extent)),
            None => Ruling::without_policy(),
        };
        Ok(JudgedUrl {
            addresses: Vec::new(),
            class: Classes::of(&url, &[]).worst(),
            ruling,
            url,
            extent,
        })
    }

    async fn addresses(&self, url: &Url) -> Result<Vec<IpAddr>, String> {
        match url.host() {
            Some(Host::Ipv4(address)) => Ok(vec![address.into()]),
            Some(Host::Ipv6(address)) => Ok(vec![address.into()]),
            Some(Host::Domain(name)) => match self.resolver.resolve(name).await? {
                addresses if addresses.is_empty() => Err(format!("{name} has no network address")),
                addresses => Ok(addresses),
            },
            None => Err("the address names no host".into()),
        }
    }
}

impl JudgedUrl {
    /// The address, normalised.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The addresses that a connection may go to. Empty for an address that is denied, or judged by its name alone.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The class of the address, if it is not on the open internet; of several classes the worst.
    pub fn class(&self) -> Option<UrlClass> {
        self.class
    }

    /// The policy's verdict, and the rule that it comes from.
    pub fn ruling(&self) -> &Ruling {
        &self.ruling
    }

    /// Why the policy denies the address, if it does.
    pub fn denied(&self) -> Option<String> {
        let place = self
            .class
            .map_or(String::new(), |class| format!(" ({})", class.words()));
        (self.ruling.verdict == UrlVerdict::Deny).then(|| {
            format!(
                "the URL policy denies {}{}{place}, by {}",
                self.all_of(),
                self.url,
                self.ruling.rule
            )
        })
    }

    /// What stands before the address in a sentence, where a whole server is meant.
    pub fn all_of(&self) -> &'static str {
        match self.extent {
            Extent::Page => "",
            Extent::Server => "all of ",
        }
    }

    /// Why the address is sensitive, in plain English.
    pub fn sensitivity(&self) -> Option<String> {
        let class = self.class?;
        let name = self.url.host_str().unwrap_or_default();
        Some(match self.addresses.first() {
            Some(address) if address.ip().to_string() != name.trim_matches(['[', ']']) => {
                let all: Vec<String> = self
                    .addresses
                    .iter()
                    .map(|address| address.ip().to_string())
                    .collect();
                format!("{name} ({}) is {}", all.join(", "), class.words())
            }
            _ => format!("{name} is {}", class.words()),
        })
    }

    /// The forms in which a rule that forbids may write the address: with its port and without, by its host and by the
    /// network addresses behind it. For a rule that allows, `is_certainly` must hold as well.
    pub fn texts(&self) -> Vec<String> {
        let addresses: Vec<IpAddr> = self.addresses.iter().map(SocketAddr::ip).collect();
        policy::texts(&self.url, &addresses)
    }

    /// Whether a glob certainly means the address: a `*` for the host covers nothing but the host.
    pub fn is_certainly(&self, glob: &str) -> bool {
        policy::is_certainly(glob, (&self.url, self.extent))
    }

    /// Whether a glob may mean the address, in any of the ways to write it.
    pub fn is_possibly(&self, glob: &str) -> bool {
        let addresses: Vec<IpAddr> = self.addresses.iter().map(SocketAddr::ip).collect();
        policy::is_possibly(glob, (&self.url, self.extent), &addresses)
    }

    /// Whether a connection goes to the same server as for the other address: scheme, host and port are the same, and
    /// there is no network address that the other one did not have.
    pub fn is_same_server(&self, other: &Self) -> bool {
        let known = |address| other.addresses.contains(address);
        self.url.origin() == other.url.origin() && self.addresses.iter().all(known)
    }
}

#[cfg(test)]
mod tests;
