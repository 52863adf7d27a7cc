//! Addresses of the web: what kind of place one leads to, and whether it may be fetched.
//!
//! `UrlJudge` is the one way in, for every tool that uses the network. It reads the address as a browser would, refuses
//! what cannot be read, looks up the host, and says of every network address behind it what kind of place that is
//! (`class.rs`) and what the person's policy says about it (`policy.rs`). A connection then goes to the addresses of
//! the `JudgedUrl` and to no others: a name server that answers differently the next time changes nothing.

mod class;
mod policy;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

pub use class::UrlClass;
use futures_util::future::BoxFuture;
pub use policy::{
    PolicyDefault, PolicyLists, Ruling, UrlPolicy, UrlVerdict, check_glob, check_rule, leaves_host_open,
};
use url::{Host, Url};

use class::Classes;

/// How long a name server may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Longer addresses are no addresses that anybody means to fetch.
const MAX_LENGTH: usize = 16 * 1024;

/// Finds the network addresses behind the name of a host.
pub trait Resolver: Send + Sync {
    /// All of them; the error says why there are none.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, String>>;
}

/// Asks the system.
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

/// Judges addresses of the web.
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

/// An address of the web after it was judged. Only a `UrlJudge` makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedUrl {
    url: Url,
    addresses: Vec<SocketAddr>,
    class: Option<UrlClass>,
    ruling: Ruling,
}

impl UrlJudge {
    /// A judge with the person's policy, who asks the system about names.
    pub fn new(policy: Option<UrlPolicy>) -> Self {
        Self {
            policy: policy.map(Arc::new),
            resolver: Arc::new(SystemResolver),
        }
    }

    /// The same judge with another source of network addresses.
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.resolver = resolver;
        self
    }

    /// Whether the person has a policy.
    pub fn has_policy(&self) -> bool {
        self.policy.is_some()
    }

    /// Judges an address. The error says why it is none that can be fetched, or why its host cannot be found.
    pub async fn judge(&self, text: &str) -> Result<JudgedUrl, String> {
        let url = read_url(text)?;
        if let Some(ruling) = self
            .policy
            .as_ref()
            .and_then(|policy| policy.denies_by_name(&url))
        {
            // What is denied whatever its host's addresses are is not even looked up.
            let class = Classes::of(&url, &[]).worst();
            return Ok(JudgedUrl {
                url,
                addresses: Vec::new(),
                class,
                ruling,
            });
        }
        let addresses = self.addresses(&url).await?;
        let classes = Classes::of(&url, &addresses);
        let ruling = match &self.policy {
            Some(policy) => policy.rule(&url, &classes, &addresses),
            None => Ruling::without_policy(),
        };
        let port = url.port_or_known_default().unwrap_or(80);
        Ok(JudgedUrl {
            addresses: addresses.iter().map(|address| (*address, port).into()).collect(),
            class: classes.worst(),
            ruling,
            url,
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

    /// Where a connection goes. Empty only for an address that is denied.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What kind of place it is, if it is no place of the open internet. Of several kinds the worst one.
    pub fn class(&self) -> Option<UrlClass> {
        self.class
    }

    /// What the policy says, and by which rule.
    pub fn ruling(&self) -> &Ruling {
        &self.ruling
    }

    /// Why the policy denies it, if it does.
    pub fn denied(&self) -> Option<String> {
        let place = self
            .class
            .map_or(String::new(), |class| format!(" ({})", class.words()));
        (self.ruling.verdict == UrlVerdict::Deny).then(|| {
            format!(
                "the URL policy denies {}{place}, by {}",
                self.url, self.ruling.rule
            )
        })
    }

    /// Why it is sensitive, in words.
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

    /// The address as rules against it may write it: with its port and without, by its host and by the network
    /// addresses behind it. A rule that allows must mean it certainly as well.
    pub fn texts(&self) -> Vec<String> {
        let addresses: Vec<IpAddr> = self.addresses.iter().map(SocketAddr::ip).collect();
        policy::texts(&self.url, &addresses)
    }

    /// Whether a glob certainly means it: a `*` for the host covers nothing but the host.
    pub fn is_certainly(&self, glob: &str) -> bool {
        policy::is_certainly(glob, &self.url)
    }

    /// Whether a glob may mean it, in any of the ways to write it.
    pub fn is_possibly(&self, glob: &str) -> bool {
        let addresses: Vec<IpAddr> = self.addresses.iter().map(SocketAddr::ip).collect();
        policy::is_possibly(glob, &self.url, &addresses)
    }

    /// Whether a connection goes to the same server as for the other one: scheme, host and port are the same, and there
    /// is no network address that the other one did not have.
    pub fn is_same_server(&self, other: &Self) -> bool {
        let known = |address| other.addresses.contains(address);
        self.url.origin() == other.url.origin() && self.addresses.iter().all(known)
    }
}

/// Reads an address as a browser does, and refuses what is none of the web or could be read in two ways.
pub fn read_url(text: &str) -> Result<Url, String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("the address is longer than {MAX_LENGTH} bytes"));
    }
    let mut url = Url::parse(text)
        .map_err(|error| format!("`{}` is not an address: {error}", without_credentials(text)))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "`{}` cannot be fetched, only http and https",
            url.scheme()
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address with a name or a password in it is not fetched".into());
    }
    if url.port() == Some(0) {
        return Err("there is no port 0".into());
    }
    // It is not sent, so nothing can be allowed or denied by it.
    url.set_fragment(None);
    let name = match url.host() {
        Some(Host::Domain(name)) => name.to_owned(),
        _ => return Ok(url),
    };
    // With or without its last dot it is the same host, but not to a glob.
    let bare = name.strip_suffix('.').unwrap_or(&name);
    check_name(bare)?;
    if bare != name {
        url.set_host(Some(bare))
            .map_err(|error| format!("`{name}` is not the name of a host: {error}"))?;
    }
    Ok(url)
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.split('.').any(str::is_empty) {
        return Err("a part of the host's name is empty".into());
    }
    if name.len() > 253 || name.split('.').any(|label| label.len() > 63) {
        return Err("the host's name is too long".into());
    }
    Ok(())
}

/// An address fit to be shown: a name and a password in it stay secret, also if it cannot be read.
pub fn without_credentials(text: &str) -> String {
    if let Some(mut url) = Url::parse(text).ok().filter(Url::has_host) {
        if url.username().is_empty() && url.password().is_none() {
            return text.to_owned();
        }
        // Addresses with a host, and only they have a password, can always lose it.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        return url.to_string();
    }
    match text.rsplit_once('@') {
        None => text.to_owned(),
        Some((before, after)) => {
            let scheme = before.find("://").map_or("", |end| &before[..end + 3]);
            format!("{scheme}…@{after}")
        }
    }
}

#[cfg(test)]
mod tests;
