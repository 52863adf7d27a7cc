//! The network for extensions: the implementation of `fetch` in the embedded engine.
//!
//! `fetch` starts a request and answers with its head, `fetch.read` returns the next bytes of the body (nothing at its
//! end), `fetch.close` drops the request at any time. The extension chooses the number of a request. Whether an
//! extension may use the network at all is decided before, in `becket-js`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use becket_js::HostError;
use becket_tools::{cause, free_client};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex as Turn;
use tokio_util::sync::CancellationToken;

/// How many redirects are followed, as in browsers.
const REDIRECTS: usize = 20;

/// The requests of all extensions.
#[derive(Default)]
pub struct Network {
    following: OnceLock<Client>,
    staying: OnceLock<Client>,
    open: Mutex<HashMap<(String, u64), Arc<Request>>>,
}

/// A request that was started.
#[derive(Default)]
struct Request {
    response: Turn<Option<Response>>,
    closed: CancellationToken,
}

/// The arguments of `fetch`.
#[derive(Deserialize)]
struct Wanted {
    id: u64,
    url: String,
    method: String,
    headers: Vec<(String, String)>,
    redirect: String,
    body: Option<String>,
}

/// The arguments of the other calls.
#[derive(Deserialize)]
struct Which {
    id: u64,
}

type PendingAnswer = BoxFuture<'static, Result<String, HostError>>;

impl Network {
    /// Answers a call of an extension, if it is about the network.
    pub fn call(self: &Arc<Self>, extension: &str, name: &str, arguments: &str) -> Option<PendingAnswer> {
        let (network, extension) = (Arc::clone(self), extension.to_string());
        let wrong = |error: serde_json::Error| HostError::new(format!("{name}: {error}"));
        if name == "fetch" {
            let wanted = serde_json::from_str::<Wanted>(arguments).map_err(wrong);
            return Some(async move { network.fetch(extension, wanted?).await }.boxed());
        }
        let which = serde_json::from_str::<Which>(arguments).map_err(wrong);
        match name {
            "fetch.read" => Some(async move { network.read((extension, which?.id)).await }.boxed()),
            "fetch.close" => Some(
                async move {
                    if let Some(request) = network.open().remove(&(extension, which?.id)) {
                        request.closed.cancel();
                    }
                    Ok(String::new())
                }
                .boxed(),
            ),
            _ => None,
        }
    }

    async fn fetch(&self, extension: String, wanted: Wanted) -> Result<String, HostError> {
        let key = (extension, wanted.id);
        let request = Arc::new(Request::default());
        self.open().insert(key.clone(), Arc::clone(&request));
        let head = tokio::select! {
            head = self.begin(&wanted, &request) => head,
            () = request.closed.cancelled() => {
                Err(HostError::new("the request was given up").with("code", "ABORT_ERR"))
            }
        };
        if head.is_err() {
            self.open().remove(&key);
        }
        head
    }

    async fn begin(&self, wanted: &Wanted, request: &Request) -> Result<String, HostError> {
        let failed = |error: reqwest::Error| explained(&wanted.url, &error);
        let method = Method::from_bytes(wanted.method.as_bytes())
            .map_err(|_| HostError::new(format!("{} is no method", wanted.method)))?;
        let mut sending = self.client(&wanted.redirect)?.request(method, &wanted.url);
        sending = sending.headers(headers(&wanted.headers)?);
        if let Some(body) = &wanted.body {
            let body = STANDARD
                .decode(body)
                .map_err(|error| HostError::new(format!("the body: {error}")))?;
            sending = sending.body(body);
        }
        let response = sending.send().await.map_err(failed)?;
        if wanted.redirect == "error" && response.status().is_redirection() {
            return Err(HostError::new(format!(
                "{} redirects, which is not wanted",
                wanted.url
            )));
        }
        let shown = response.headers().iter();
        let shown: Vec<(String, String)> = shown
            .map(|(name, value)| {
                (
                    name.to_string(),
                    String::from_utf8_lossy(value.as_bytes()).into_owned(),
                )
            })
            .collect();
        let head = json!({
            "status": response.status().as_u16(),
            "statusText": response.status().canonical_reason().unwrap_or_default(),
            "headers": shown,
            "url": response.url().as_str(),
        });
        *request.response.lock().await = Some(response);
        Ok(head.to_string())
    }

    async fn read(&self, key: (String, u64)) -> Result<String, HostError> {
        let Some(request) = self.open().get(&key).cloned() else {
            return Ok("null".into());
        };
        let mut response = request.response.lock().await;
        let Some(response) = response.as_mut() else {
            return Ok("null".into());
        };
        let chunk = tokio::select! {
            chunk = response.chunk() => chunk.map_err(|error| explained(response.url().as_str(), &error)),
            () = request.closed.cancelled() => Ok(None),
        };
        match chunk {
            Ok(Some(bytes)) => Ok(json!({ "base64": STANDARD.encode(bytes) }).to_string()),
            Ok(None) => {
                self.open().remove(&key);
                Ok("null".into())
            }
            Err(error) => {
                self.open().remove(&key);
                Err(error)
            }
        }
    }

    fn client(&self, redirect: &str) -> Result<&Client, HostError> {
        let (known, policy) = match redirect {
            "follow" => (&self.following, Policy::limited(REDIRECTS)),
            _ => (&self.staying, Policy::none()),
        };
        if let Some(client) = known.get() {
            return Ok(client);
        }
        let client = free_client(policy)
            .map_err(|problem| HostError::new(format!("no connection can be prepared: {problem}")))?;
        Ok(known.get_or_init(|| client))
    }

    fn open(&self) -> MutexGuard<'_, HashMap<(String, u64), Arc<Request>>> {
        self.open
            .lock()
            .expect("no panic happens while requests are held")
    }
}

fn headers(given: &[(String, String)]) -> Result<HeaderMap, HostError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let wrong = || HostError::new(format!("the header {name} cannot be sent"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        headers.append(key, HeaderValue::from_str(value).map_err(|_| wrong())?);
    }
    Ok(headers)
}

/// Why a request failed, with the code that scripts look for.
fn explained(address: &str, error: &reqwest::Error) -> HostError {
    let words = cause(error);
    let code = match () {
        () if error.is_timeout() => "ETIMEDOUT",
        () if error.is_connect() && words.contains("refused") => "ECONNREFUSED",
        () if error.is_connect() && words.contains("lookup") => "ENOTFOUND",
        () if error.is_connect() => "ECONNRESET",
        () if error.is_redirect() => "ERR_TOO_MANY_REDIRECTS",
        () => "UND_ERR_SOCKET",
    };
    HostError::new(format!("{address}: {words}")).with("code", code)
}
