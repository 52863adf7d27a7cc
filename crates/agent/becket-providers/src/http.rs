//! Sends a request to a provider over HTTP and reads its answer.
//!
//! The client is made at the first request, and certificates are loaded only for `https`, so that a run that never
//! talks to a provider pays nothing. Redirects, proxies, cookies and retries do not happen here.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use becket_agent::provider::{
    Answering, Begun, KEPT_VALUE, OfferedModel, ProviderError, ProviderErrorKind, SendOptions,
};
use becket_agent::{IDLE_TIMEOUT, LOCAL_IDLE_TIMEOUT};
use becket_events::Header;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use reqwest::header::{
    ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use reqwest::{Client, Response};
use tokio::time::timeout;
use url::{Host, Url};

use crate::answer::{self, AnswerReader, Framing, Origin, ReadFailure};
use crate::failure;
use crate::model_list::{LARGEST_PAGE, MOST_PAGES, ModelPage};
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
    /// How long the answer may take to begin, and the longest pause between its parts; default: a little longer than
    /// the loop of an agent waits, which says more about it.
    pub idle: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            idle: None,
        }
    }
}

impl Timeouts {
    /// How long a provider at that address may be silent.
    fn idle_at(&self, url: &Url) -> Duration {
        self.idle.unwrap_or_else(|| {
            let usual = match is_local(url) {
                true => LOCAL_IDLE_TIMEOUT,
                false => IDLE_TIMEOUT,
            };
            usual + IDLE_MARGIN
        })
    }
}

/// By how much a wait without an agent is longer than with one.
const IDLE_MARGIN: Duration = Duration::from_secs(60);

/// Whether an address leads to this machine.
fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => {
            address.is_loopback()
                || address
                    .to_ipv4_mapped()
                    .is_some_and(|address| address.is_loopback())
        }
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

/// The address of a provider, and the credentials for it. The `Debug` output holds no credentials.
#[derive(Clone)]
pub struct Endpoint {
    /// The provider's name, such as `openai`.
    pub provider: String,
    /// The model's name, such as `gpt-4o`.
    pub model: String,
    /// The API's base URL.
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

/// The name by which becket introduces itself.
const PRODUCT: &str = concat!("becket/", env!("CARGO_PKG_VERSION"));

/// The headers of every request in a wire format, with names in lower case.
pub(crate) type FixedHeaders = &'static [(&'static str, &'static str)];

/// How a wire format sends the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// `x-api-key: KEY`.
    ApiKey,
    /// `x-goog-api-key: KEY`.
    GoogleApiKey,
}

/// The address of a provider and the client that talks to it.
pub(crate) struct Channel {
    url: Url,
    place: String,
    key: Option<Secret>,
    key_header: KeyHeader,
    further: BTreeMap<String, Secret>,
    connect: Duration,
    idle: Duration,
    client: OnceLock<Client>,
}

impl Channel {
    pub fn new(url: Url, endpoint: &Endpoint, key_header: KeyHeader) -> Self {
        Self {
            place: without_credentials(&url),
            connect: endpoint.timeouts.connect,
            idle: endpoint.timeouts.idle_at(&url),
            url: without_login(url, endpoint.key.as_ref()),
            key: endpoint.key.clone(),
            key_header,
            further: endpoint.headers.clone(),
            client: OnceLock::new(),
        }
    }

    /// Whether the provider runs on this machine.
    pub fn is_local(&self) -> bool {
        is_local(&self.url)
    }

    /// Sends exactly the body's bytes and resolves when the answer begins.
    pub async fn send<R: AnswerReader + 'static>(
        &self,
        body: &str,
        headers: FixedHeaders,
        options: &SendOptions,
        reader: R,
    ) -> Result<Answering, ProviderError> {
        let own = self.own_headers(headers)?;
        let headers = match &options.headers {
            Some(chosen) => self.chosen(&own, chosen)?,
            None => own,
        };
        let request = self.client()?.post(self.url.clone()).headers(headers);
        let sending = request.body(body.to_owned()).send();
        let response = match timeout(self.idle, sending).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.unreachable(error, &self.place)),
            Err(_) => return Err(self.silent()),
        };
        if !response.status().is_success() {
            return Err(self.refusal(response, &self.place).await);
        }
        self.answering(response, reader, options.with_data).await
    }

    /// The models that are listed at an address of the same provider. The caller sets the deadline.
    pub async fn list_models(
        &self,
        address: &Url,
        headers: FixedHeaders,
    ) -> Result<Vec<OfferedModel>, ProviderError> {
        let mut headers = self.own_headers(headers)?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let mut url = without_login(address.clone(), self.key.as_ref());
        let (mut models, mut names) = (Vec::new(), HashSet::new());
        for _ in 0..MOST_PAGES {
            let page = self.page_of_models(&url, &headers).await?;
            let next = page.next(&url);
            let known = models.len();
            models.extend(page.models().filter(|model| names.insert(model.name.clone())));
            match next {
                Some(next) if models.len() > known => url = next,
                _ => return Ok(models),
            }
        }
        let words = format!("its list of models does not end after {MOST_PAGES} pages");
        Err(self.no_list(&words, &url))
    }

    async fn page_of_models(&self, url: &Url, headers: &HeaderMap) -> Result<ModelPage, ProviderError> {
        let place = without_credentials(url);
        let unreachable = |error| self.unreachable(error, &place);
        let sending = self.client()?.get(url.clone()).headers(headers.clone()).send();
        let response = sending.await.map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(self.refusal(response, &place).await);
        }
        if media_type(response.headers()) == "text/html" {
            return Err(self.web_page(response, &place).await);
        }
        let mut bytes = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(piece) = stream.next().await {
            bytes.extend_from_slice(&piece.map_err(unreachable)?);
            if bytes.len() > LARGEST_PAGE {
                let words = format!(
                    "its list of models is larger than {} MiB",
                    LARGEST_PAGE / (1024 * 1024)
                );
                return Err(self.no_list(&words, url));
            }
        }
        ModelPage::read(&bytes)
            .map_err(|why| self.no_list(&format!("its list of models cannot be read: {why}"), url))
    }

    /// The failure of a list: the cause first, the whole address last.
    fn no_list(&self, words: &str, url: &Url) -> ProviderError {
        let place = without_credentials(url);
        let message = format!("{words}; check the base URL: {place}");
        ProviderError::new(ProviderErrorKind::Rejected, self.masked(&message))
    }

    /// The headers of a request, without secrets.
    pub fn shown_headers(&self, headers: FixedHeaders) -> Vec<Header> {
        let own = self.own_headers(headers).unwrap_or_default();
        let shown = own.iter().map(|(name, value)| Header {
            name: name.as_str().to_owned(),
            value: match value.is_sensitive() {
                true => KEPT_VALUE.to_owned(),
                false => String::from_utf8_lossy(value.as_bytes()).into_owned(),
            },
        });
        shown.collect()
    }

    fn own_headers(&self, headers: FixedHeaders) -> Result<HeaderMap, ProviderError> {
        let mut own = HeaderMap::new();
        own.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        own.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        own.insert(USER_AGENT, HeaderValue::from_static(PRODUCT));
        for (name, value) in headers {
            own.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some((name, value)) = self.key_header()? {
            own.insert(HeaderName::from_static(name), value);
        }
        for (name, value) in self.further_headers()? {
            own.insert(name, value);
        }
        Ok(own)
    }

    /// The headers that hooks have chosen; their own values stand where a secret was shown to nobody.
    fn chosen(&self, own: &HeaderMap, chosen: &[Header]) -> Result<HeaderMap, ProviderError> {
        let header = |header: &Header| {
            let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
            let kept = own.get(&name).filter(|_| header.value == KEPT_VALUE);
            let value = kept
                .cloned()
                .or_else(|| HeaderValue::from_str(&header.value).ok())?;
            Some((name, value))
        };
        let found = chosen
            .iter()
            .map(|one| header(one).ok_or_else(|| self.unfit_header(&one.name)));
        found.collect()
    }

    fn unfit_header(&self, name: &str) -> ProviderError {
        let message = format!(
            "The header {name:?} for {} cannot be sent. Check its name and its value",
            self.place
        );
        ProviderError::new(ProviderErrorKind::Rejected, message)
    }

    async fn answering<R: AnswerReader + 'static>(
        &self,
        response: Response,
        reader: R,
        with_data: bool,
    ) -> Result<Answering, ProviderError> {
        let framing = match media_type(response.headers()).as_str() {
            "application/json" => Framing::Document,
            "text/html" => return Err(self.web_page(response, &self.place).await),
            "text/event-stream" => Framing::Events,
            _ => Framing::Undeclared,
        };
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING)
            && encoding != "identity"
        {
            return Err(self.compressed(&String::from_utf8_lossy(encoding.as_bytes())));
        }
        let status = response.status().as_u16();
        let headers = self.plain_headers(response.headers());
        let origin = Origin {
            place: self.place.clone(),
            key: self.key.clone(),
            with_data,
        };
        let bytes = chunks(response);
        Ok(Answering {
            begun: Some(Begun { status, headers }),
            parts: answer::parts(bytes, framing, reader, origin, self.idle),
        })
    }

    async fn refusal(&self, response: Response, place: &str) -> ProviderError {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = explanation(response).await;
        let header = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
        let mut error = failure::from_status(status, header, &body, place);
        error.message = self.masked(&error.message);
        error
    }

    /// A failure to reach the provider: the cause first, the whole address last.
    fn unreachable(&self, error: reqwest::Error, place: &str) -> ProviderError {
        let host = self.host();
        let why = Unreachable::of(&error);
        let words = match why {
            Unreachable::NoSuchHost => {
                format!("The host {host} is not known here; check the base URL and the network")
            }
            Unreachable::Refused => {
                format!("The connection to {host} was refused; check that the server runs, and its port")
            }
            Unreachable::TimedOut => {
                let seconds = self.connect.as_secs_f64();
                format!("No connection to {host} within {seconds} s; check the network and the base URL")
            }
            Unreachable::WithoutTls => {
                format!("{host} does not speak TLS; if that is right, write the base URL with http://")
            }
            Unreachable::Otherwise => {
                let cause = first_cause(&error);
                format!("{host} cannot be reached: {cause}; check the network and the base URL")
            }
        };
        let message = format!("{words}: {place}");
        let kind = match why {
            Unreachable::WithoutTls => ProviderErrorKind::Rejected,
            _ => ProviderErrorKind::Transient,
        };
        ProviderError::new(kind, self.masked(&message))
    }

    /// The failure of a provider that took the request and never began to answer.
    fn silent(&self) -> ProviderError {
        let message = format!(
            "{} took the request and was silent for {} s: {}",
            self.host(),
            self.idle.as_secs_f64(),
            self.place
        );
        ProviderError::new(ProviderErrorKind::Silent, message)
    }

    /// The provider's host, with its port if that is not the usual one.
    fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// The failure of an answer that is a web page: something else than the interface is at this address.
    async fn web_page(&self, response: Response, place: &str) -> ProviderError {
        let page = explanation(response).await;
        let title = failure::title(&page).map(|title| format!(" ({title})"));
        let message = format!(
            "{} answered with a web page{}; check the base URL: {}",
            self.host(),
            title.unwrap_or_default(),
            place
        );
        ProviderError::new(ProviderErrorKind::Rejected, self.masked(&message))
    }

    /// The failure of an answer that nothing here can unpack.
    fn compressed(&self, encoding: &str) -> ProviderError {
        let message = format!(
            "{} compressed its answer ({encoding}), which becket did not ask for; check what stands between: {}",
            self.host(),
            self.place
        );
        ProviderError::new(ProviderErrorKind::Rejected, self.masked(&message))
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
            KeyHeader::GoogleApiKey => ("x-goog-api-key", key.reveal().to_owned()),
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

    fn further_headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, ProviderError> {
        let header = |(name, value): (&String, &Secret)| {
            let text = HeaderValue::from_str(value.reveal()).ok();
            let mut text = text.zip(HeaderName::from_bytes(name.as_bytes()).ok());
            text.iter_mut().for_each(|(text, _)| text.set_sensitive(true));
            text.map(|(text, name)| (name, text))
                .ok_or_else(|| self.unfit_header(name))
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
        let client = new_client(self.url.scheme(), self.connect).map_err(|cause| {
            let message = format!("No connection to {} can be prepared: {cause}", self.place);
            ProviderError::new(ProviderErrorKind::Rejected, message)
        })?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// The address without name and password, if there is a key: they would become a second `authorization` header.
fn without_login(mut url: Url, key: Option<&Secret>) -> Url {
    if key.is_some() {
        let _ = url.set_username("");
        let _ = url.set_password(None);
    }
    url
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
        .build()
        .map_err(describe)
}

fn chunks(response: Response) -> impl Stream<Item = Result<Bytes, ReadFailure>> + Send + 'static {
    response
        .bytes_stream()
        .map(|chunk| chunk.map_err(|error| ReadFailure::Connection(first_cause(&error))))
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

/// Why no connection came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unreachable {
    NoSuchHost,
    Refused,
    TimedOut,
    /// The server's first bytes are no TLS.
    WithoutTls,
    Otherwise,
}

impl Unreachable {
    fn of(error: &reqwest::Error) -> Self {
        let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
        for cause in causes {
            // The client hides the type of failed look-ups, but not their words.
            if cause.to_string().starts_with("dns error") {
                return Self::NoSuchHost;
            }
            if cause.to_string().contains("InvalidContentType") {
                return Self::WithoutTls;
            }
            let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
            if kind == Some(io::ErrorKind::ConnectionRefused) {
                return Self::Refused;
            }
        }
        match error.is_timeout() {
            true => Self::TimedOut,
            false => Self::Otherwise,
        }
    }
}

/// The innermost cause of an error of the client: what is around it only says that a request failed.
fn first_cause(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes
        .last()
        .map_or_else(|| "no connection".to_owned(), ToString::to_string)
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

/// The address without name, password and query, any of which may hold a key. It may be shown.
pub(crate) fn without_credentials(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}
