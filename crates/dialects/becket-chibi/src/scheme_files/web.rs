//! HTTP requests of files: to an address that the settings allow for the file and that the user's policy does not deny.
//! Redirects are not followed; the file sees them and decides itself.
//!
//! These requests do not pass the gate: an address in the settings is the user's consent. A redirect could lead
//! elsewhere.

use std::time::Duration;

use becket_agent::url_policy::{UrlJudge, read_url, without_credentials};
use becket_scheme::{Heap, Value};
use becket_tools::{ToolSettings, cause, client_for};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use url::Url;

use super::values::word;
use crate::scheme::Reach;

/// The policy and limits of requests.
#[derive(Debug, Clone)]
pub struct Web {
    pub judge: UrlJudge,
    /// The longest answer; a longer one is an error.
    pub most_bytes: usize,
    /// The longest duration of a request, whatever the request asks for.
    pub longest: Duration,
}

/// A request of a file.
#[derive(Debug)]
pub struct Request {
    method: Method,
    url: String,
    headers: HeaderMap,
    body: Option<String>,
    time: Duration,
}

/// The response to a request.
#[derive(Debug)]
pub struct WebResponse {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Default for Web {
    /// The defaults, without a policy.
    fn default() -> Self {
        let usual = ToolSettings::default();
        Self {
            judge: UrlJudge::default(),
            most_bytes: usual.fetch_bytes,
            longest: usual.fetch_timeout_limit,
        }
    }
}

impl Request {
    /// Parses a file's request: method, address, headers, body, seconds.
    pub fn read(heap: &Heap, parts: &[Value]) -> Result<Self, String> {
        let [method, url, headers, body, seconds] = parts else {
            return Err("http-request: nothing was asked for".into());
        };
        let text = |what: &str, value: Value| {
            word(heap, "http-request", value).map_err(|_| format!("http-request: the {what} is not a string"))
        };
        let method = text("method", *method)?;
        let time = heap
            .as_number(*seconds)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds.to_float()).ok())
            .filter(|time| !time.is_zero());
        Ok(Self {
            method: Method::from_bytes(method.as_bytes())
                .map_err(|_| format!("http-request: {method:?} is not a method"))?,
            url: text("address", *url)?,
            headers: headers_of(heap, *headers)?,
            body: match body {
                Value::String(_) => Some(text("body", *body)?),
                Value::Bool(false) => None,
                _ => return Err("http-request: the body is a string, or #f for none".into()),
            },
            time: time.ok_or("http-request: the time is a number of seconds above 0")?,
        })
    }
}

fn headers_of(heap: &Heap, list: Value) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let wrong = || "http-request: the headers are an alist of names and values".to_owned();
    for entry in heap.proper_list("http-request", list).map_err(|_| wrong())? {
        let pair = heap.as_pair(entry).ok_or_else(wrong)?;
        let part = |value| word(heap, "http-request", value).map_err(|_| wrong());
        let (name, value) = (part(pair.car)?, part(pair.cdr)?);
        let cannot = || format!("http-request: the header {name} cannot be sent");
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| cannot())?;
        headers.append(key, HeaderValue::from_str(&value).map_err(|_| cannot())?);
    }
    Ok(headers)
}

impl WebResponse {
    /// The response as a Scheme value.
    pub fn value(self, heap: &mut Heap) -> Value {
        let headers: Vec<Value> = self
            .headers
            .into_iter()
            .map(|(name, value)| {
                let (name, value) = (heap.string(name), heap.string(value));
                heap.cons(name, value)
            })
            .collect();
        let (headers, body) = (heap.list(&headers), heap.string(self.body));
        let parts = [
            ("status", Value::Int(i64::from(self.status))),
            ("headers", headers),
            ("body", body),
        ];
        let parts = parts.map(|(name, value)| {
            let name = heap.symbol(name);
            heap.cons(name, value)
        });
        heap.list(&parts)
    }
}

impl Web {
    /// Makes a request for a file with this reach. The error is raised in the file.
    pub async fn ask(&self, request: Request, reach: &Reach) -> Result<WebResponse, String> {
        let shown = without_credentials(&request.url);
        let failed = |why: String| format!("http-request: {shown}: {why}");
        let url = read_url(&request.url).map_err(failed)?;
        if !reaches(reach, &url) {
            return Err(failed("this file may not reach it (`tools.http.allow`)".into()));
        }
        let limit = request.time.min(self.longest);
        let answered = tokio::time::timeout(limit, self.send(request)).await;
        answered
            .unwrap_or_else(|_| Err(format!("there was no whole answer within {limit:?}")))
            .map_err(failed)
    }

    async fn send(&self, request: Request) -> Result<WebResponse, String> {
        let place = self.judge.judge(&request.url).await?;
        if let Some(reason) = place.denied() {
            return Err(reason);
        }
        let mut sending = client_for(&place)?
            .request(request.method, place.url().clone())
            .headers(request.headers);
        if let Some(body) = request.body {
            sending = sending.body(body);
        }
        let response = sending.send().await.map_err(described)?;
        let headers = response.headers().iter();
        let headers = headers.map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.to_string(), value.into_owned())
        });
        Ok(WebResponse {
            status: response.status().as_u16(),
            headers: headers.collect(),
            body: self.body(response).await?,
        })
    }

    async fn body(&self, mut response: Response) -> Result<String, String> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(described)? {
            if bytes.len() + chunk.len() > self.most_bytes {
                return Err(format!("the answer has more than {} bytes", self.most_bytes));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Whether an address is within reach: on the same server as an allowed one, and below its path.
fn reaches(reach: &Reach, url: &Url) -> bool {
    let is_below = |named: &String| {
        let Ok(named) = read_url(named) else {
            return false;
        };
        let rest = url.path().strip_prefix(named.path().trim_end_matches('/'));
        named.origin() == url.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match reach {
        Reach::Everywhere => true,
        Reach::Below(named) => named.iter().any(is_below),
        Reach::Nowhere | Reach::Declared => false,
    }
}

/// A failure with its deepest cause, without the address.
fn described(error: reqwest::Error) -> String {
    cause(&error.without_url())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_below_is_reached() {
        let table = [
            ("https://a.example/v1/", "https://a.example/v1/users?id=1", true),
            ("https://a.example/v1/", "https://a.example/v1", true),
            ("https://a.example/v1", "https://a.example/v1-evil/", false),
            ("https://a.example/v1/", "https://a.example/v1/../secret", false),
            ("https://a.example", "https://a.example.evil.org/", false),
            ("https://a.example", "https://A.EXAMPLE:443/x", true),
            ("https://a.example", "http://a.example/x", false),
            ("https://a.example", "https://a.example:8443/x", false),
            ("not an address", "https://a.example/", false),
        ];
        for (named, url, expected) in table {
            let reach = Reach::Below(vec![named.into()]);
            assert_eq!(
                reaches(&reach, &read_url(url).unwrap()),
                expected,
                "{named} {url}"
            );
        }
        let url = read_url("http://127.0.0.1/").unwrap();
        assert!(reaches(&Reach::Everywhere, &url));
        assert!(!reaches(&Reach::Nowhere, &url) && !reaches(&Reach::Declared, &url));
    }
}
