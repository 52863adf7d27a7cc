//! TLS for everything that makes requests: models, tools, MCP servers, extensions, exports.
//!
//! There is one configuration, so that requirements for all of them stand in one place. Certificates are checked as the
//! system does it, and only when the clock can be right: before 1970 rustls itself would panic.
//!
//! This crate knows no HTTP, and nothing of becket.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// The configuration of a client for addresses with this scheme. The system's certificates are loaded only for `https`;
/// any other scheme can make no encrypted connection.
pub fn client_config(scheme: &str) -> Result<ClientConfig, String> {
    let crypto = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_details(Arc::clone(&crypto), Arc::new(Clock))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    if scheme != "https" {
        return Ok(builder
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth());
    }
    let verifier = Verifier::new(crypto)
        .map_err(|error| format!("{error}. Install the system's root certificates (ca-certificates)"))?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Timed(verifier)))
        .with_no_client_auth())
}

/// The clock of this machine. A moment before 1970 counts as 1970, at which `Timed` accepts no certificate.
#[derive(Debug)]
struct Clock;

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO);
        Some(UnixTime::since_unix_epoch(since))
    }
}

/// The system's verifier, for clocks that are set.
#[derive(Debug)]
struct Timed(Verifier);

impl ServerCertVerifier for Timed {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if now.as_secs() == 0 {
            return Err(Error::General(
                "the clock of this machine says that it is before 1970, so no certificate can be checked. Set it"
                    .into(),
            ));
        }
        self.0
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
