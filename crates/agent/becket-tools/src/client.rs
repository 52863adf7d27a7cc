//! A web client without restrictions, for what the user's own programs ask for. What a model asks for is judged first,
//! and has a client for the judged address only (`client_for`).

use std::time::Duration;

use reqwest::Client;
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
