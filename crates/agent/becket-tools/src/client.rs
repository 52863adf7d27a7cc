//! Web clients: one without restrictions, for what the user's own programs ask for, and one for a judged address alone,
//! for what a model or its commands ask for.

use std::net::SocketAddr;
use std::time::Duration;

use becket_agent::url_policy::JudgedUrl;
use reqwest::Client;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;

/// How long connecting to a server may take.
const CONNECT: Duration = Duration::from_secs(30);

/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(300);

/// A client that may connect to any address.
pub fn free_client(policy: Policy) -> Result<Client, String> {
    // A redirect may lead from `http` to `https`.
    let mut tls = becket_tls::client_config("https")?;
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(policy)
        .retry(reqwest::retry::never())
        .no_proxy()
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .user_agent(concat!("becket/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| error.to_string())
}

/// The deepest cause of a failure: those above it only say that a request failed.
pub fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// A resolver that knows only the judged host with its judged addresses.
struct JudgedAddresses {
    host: String,
    addresses: Vec<SocketAddr>,
}

impl Resolve for JudgedAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        let answer = match name.as_str() == self.host {
            true => Ok(Box::new(self.addresses.clone().into_iter()) as Addrs),
            false => Err(format!("{} was not judged", name.as_str()).into()),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// A client that connects to one judged address and to nothing else: it follows no redirect, asks no name server and
/// uses no proxy. Everything that fetches uses it.
pub fn client_for(place: &JudgedUrl) -> Result<Client, String> {
    Client::builder()
        .tls_backend_preconfigured(becket_tls::client_config(place.url().scheme())?)
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .dns_resolver(JudgedAddresses {
            host: place.url().host_str().unwrap_or_default().to_owned(),
            addresses: place.addresses().to_vec(),
        })
        .user_agent(concat!("becket/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(described)
}

/// A failure with its deepest cause, without the address.
pub(crate) fn described(error: reqwest::Error) -> String {
    let error = error.without_url();
    let (outer, inner) = (error.to_string(), cause(&error));
    if outer == inner {
        outer
    } else {
        format!("{outer}: {inner}")
    }
}
