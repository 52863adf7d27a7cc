//! The program that becket's start is compared with: the smallest one that makes one HTTP request with tokio and
//! reqwest, on one thread, with a client as lean as becket's own (no proxies, no certificates for a plain address).

use std::process::ExitCode;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

fn main() -> ExitCode {
    let url = std::env::args().nth(1).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(request(&url)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

async fn request(url: &str) -> Result<(), String> {
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .build()
        .map_err(|error| error.to_string())?;
    let sending = client.post(url).body("{\"hello\":\"world\"}").send();
    sending.await.map(drop).map_err(|error| error.to_string())
}
