//! Sends a request to a provider over HTTP and reads its answer.
//!
//! The client is made at the first request, and certificates are loaded only for `https`, so that a run that never
//! talks to a provider pays nothing. Redirects, proxies, cookies and retries do not happen here.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use becket_agent::provider::{Answering, Begun, ProviderError, ProviderErrorKind};
use becket_events::Header;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use tokio::time::timeout;
use url::Url;

use crate::answer::{self, AnswerReader, Framing, Origin, ReadFailure};
use crate::failure;
use crate::secret::Secret;

/// The longest explanation of an error that is read.
const LONGEST_EXPLANATION: usize = 64 * 1024;

/// How long to wait for the explanation of an error whose status is already known.
const EXPLANATION_TIME: Duration = Duration::from_secs(10);

/// How long to wait for a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// How long the connection may take.
    pub connect: Duration,
    /// How long the answer may take to begin, and the longest pause between its parts.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            // Local servers send nothing while they load a model and read a long prompt.
            idle: Duration::from_secs(180),
        }
    }
}

/// An address that may be shown: without a name, a password, or a query.
pub(crate) fn without_secrets(address: &Url) -> String {
    let mut address = address.clone();
    // Addresses that can have neither have none to remove.
    let _ = address.set_username("");
    let _ = address.set_password(None);
    address.set_query(None);
    address.set_fragment(None);
    address.into()
}

/// The address of a provider, and the credentials for it. The `Debug` output holds no credentials.
#[derive(Clone)]
pub struct Endpoint {
    /// The provider's name, such as `openai`.
    pub provider: String,
    /// The model's name, such as `gpt-4o`.
    pub model: String,
    /// The address below which the interface is found.
    pub base_url: Url,
    /// The key; local servers need none.
    pub key: Option<Secret>,
    /// Further headers of every request. One with the name of another replaces it.
    pub headers: BTreeMap<String, Secret>,
    /// How long to wait for the provider.
    pub timeouts: Timeouts,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("base_url", &without_credentials(&self.base_url))
            .field("key", &self.key)
            .field("headers", &self.headers)
            .field("timeouts", &self.timeouts)
            .finish()
    }
}

/// How a wire format sends the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// `x-api-key: KEY`.
    ApiKey,
}

/// The address of a provider and the client that talks to it.
pub(crate) struct Channel {
    url: Url,
    place: String,
    key: Option<Secret>,
    key_header: KeyHeader,
    further: BTreeMap<String, Secret>,
    timeouts: Timeouts,
    client: OnceLock<Client>,
}

impl Channel {
    pub fn new(mut url: Url, endpoint: &Endpoint, key_header: KeyHeader) -> Self {
        if endpoint.key.is_some() {
            // A name and password in the address would become a second `authorization` header.
            let _ = url.set_username("");
            let _ = url.set_password(None);
        }
        Self {
            place: without_credentials(&url),
            url,
            key: endpoint.key.clone(),
            key_header,
            further: endpoint.headers.clone(),
            timeouts: endpoint.timeouts,
            client: OnceLock::new(),
        }
    }

    /// Sends exactly the body's bytes and resolves when the answer begins.
    pub async fn send<R: AnswerReader + 'static>(
        &self,
        body: &str,
        headers: &[(&'static str, &'static str)],
        reader: R,
    ) -> Result<Answering, ProviderError> {
        let mut request = self
            .client()?
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some((name, value)) = self.key_header()? {
            request = request.header(name, value);
        }
        let request = request.headers(self.further_headers()?);
        let sending = request.body(body.to_owned()).send();
        let response = match timeout(self.timeouts.idle, sending).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.unreachable(&describe(error))),
            Err(_) => {
                let seconds = self.timeouts.idle.as_secs_f64();
                return Err(self.unreachable(&format!("no answer within {seconds} seconds")));
            }
        };
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        self.answering(response, reader)
    }

    fn answering<R: AnswerReader + 'static>(
        &self,
        response: Response,
        reader: R,
    ) -> Result<Answering, ProviderError> {
        let framing = match media_type(response.headers()).as_str() {
            "application/json" => Framing::Document,
            "text/html" => {
                let message = format!("{} answered with a web page. Check the base URL", self.place);
                return Err(ProviderError::new(ProviderErrorKind::Rejected, message));
            }
            _ => Framing::Events,
        };
        let status = response.status().as_u16();
        let headers = self.plain_headers(response.headers());
        let origin = Origin {
            place: self.place.clone(),
            key: self.key.clone(),
        };
        let bytes = chunks(response);
        Ok(Answering {
            begun: Some(Begun { status, headers }),
            parts: answer::parts(bytes, framing, reader, origin, self.timeouts.idle),
        })
    }

    async fn refusal(&self, response: Response) -> ProviderError {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = explanation(response).await;
        let header = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
        let mut error = failure::from_status(status, header, &body, &self.place);
        error.message = self.masked(&error.message);
        error
    }

    fn unreachable(&self, cause: &str) -> ProviderError {
        let message = format!(
            "{} cannot be reached: {cause}. Check the base URL, the network, and that the server runs",
            self.place
        );
        ProviderError::new(ProviderErrorKind::Transient, self.masked(&message))
    }

    /// The answer's headers as hooks may see them.
    fn plain_headers(&self, headers: &HeaderMap) -> Vec<Header> {
        headers
            .iter()
            .filter(|(name, _)| !name.as_str().starts_with("set-cookie"))
            .map(|(name, value)| Header {
                name: name.as_str().to_owned(),
                value: self.masked(&String::from_utf8_lossy(value.as_bytes())),
            })
            .collect()
    }

    fn key_header(&self) -> Result<Option<(&'static str, HeaderValue)>, ProviderError> {
        let Some(key) = &self.key else { return Ok(None) };
        let (name, text) = match self.key_header {
            KeyHeader::Bearer => ("authorization", format!("Bearer {}", key.reveal())),
            KeyHeader::ApiKey => ("x-api-key", key.reveal().to_owned()),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            let message = format!(
                "The key for {} holds characters that no header can carry. Check the key",
                self.place
            );
            ProviderError::new(ProviderErrorKind::Key, message)
        })?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }

    fn further_headers(&self) -> Result<HeaderMap, ProviderError> {
        let header = |(name, value): (&String, &Secret)| {
            let text = HeaderValue::from_str(value.reveal()).ok();
            let mut text = text.zip(HeaderName::from_bytes(name.as_bytes()).ok());
            text.iter_mut().for_each(|(text, _)| text.set_sensitive(true));
            text.map(|(text, name)| (name, text)).ok_or_else(|| {
                let message = format!(
                    "The header {name:?} for {} cannot be sent. Check its name and its value",
                    self.place
                );
                ProviderError::new(ProviderErrorKind::Rejected, message)
            })
        };
        self.further.iter().map(header).collect()
    }

    fn masked(&self, text: &str) -> String {
        let secrets = self.key.iter().chain(self.further.values());
        secrets.fold(text.to_owned(), |text, secret| secret.redact(&text))
    }

    fn client(&self) -> Result<&Client, ProviderError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = new_client(self.url.scheme(), self.timeouts.connect).map_err(|cause| {
            let message = format!("No connection to {} can be prepared: {cause}", self.place);
            ProviderError::new(ProviderErrorKind::Rejected, message)
        })?;
        Ok(self.client.get_or_init(|| client))
    }
}

fn new_client(scheme: &str, connect: Duration) -> Result<Client, String> {
    let mut tls = becket_tls::client_config(scheme)?;
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .connect_timeout(connect)
        .user_agent(concat!("becket/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(describe)
}

fn chunks(response: Response) -> impl Stream<Item = Result<Bytes, ReadFailure>> + Send + 'static {
    response
        .bytes_stream()
        .map(|chunk| chunk.map_err(|error| ReadFailure::Connection(describe(error))))
}

/// The explanation of a refusal, as far as it arrives in time and is of a readable size.
async fn explanation(response: Response) -> String {
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    let reading = async {
        while let Some(Ok(chunk)) = stream.next().await {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > LONGEST_EXPLANATION {
                break;
            }
        }
    };
    // Half an explanation is better than none.
    let _ = timeout(EXPLANATION_TIME, reading).await;
    bytes.truncate(LONGEST_EXPLANATION);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An error of the client and its causes, without the address.
fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    text
}

fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value
        .and_then(|value| value.split(';').next())
        .unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// The address without name, password and query, any of which may hold a key.
pub(crate) fn without_credentials(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}
