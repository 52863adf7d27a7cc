//! The protocol over HTTP: each message is a request of its own, whose answer is JSON or a stream of events.
//!
//! Only the answer to a request is read; the standing stream that a server may offer besides is not opened. Redirects
//! are refused, since the address was judged and the new one was not, and nothing larger than a message may be is read.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderName, HeaderValue, StatusCode};
use reqwest::{Response, Url};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use crate::cause::innermost;
use crate::message_size::LARGEST_MESSAGE;
use crate::settings::bare;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const EVENTS: &str = "text/event-stream";
pub(crate) const JSON: &str = "application/json";

/// The longest explanation of an error that is shown.
const LONGEST_EXPLANATION: usize = 500;

/// A client for one server.
#[derive(Clone)]
pub(crate) struct Web(pub(crate) reqwest::Client);

type Problem = StreamableHttpError<reqwest::Error>;

impl StreamableHttpClient for Web {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Problem> {
        let has_session = session.is_some();
        let request = self.0.post(&*uri).header(ACCEPT, format!("{JSON}, {EVENTS}"));
        let request = request
            .header(CONTENT_TYPE, JSON)
            .body(serde_json::to_vec(&message)?);
        let response = with_headers(request, session, headers)
            .send()
            .await
            .map_err(failed)?;
        let status = response.status();
        match status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => return Ok(StreamableHttpPostResponse::Accepted),
            StatusCode::NOT_FOUND if has_session => return Err(StreamableHttpError::SessionExpired),
            _ if status.is_redirection() => return Err(redirected(&response)),
            _ => {}
        }
        let session = header(&response, &SESSION);
        let kind = header(&response, &CONTENT_TYPE).unwrap_or_default();
        if status.is_success() && kind.starts_with(EVENTS) {
            let events = SseStream::from_bytes_stream(bounded(response.bytes_stream())).boxed();
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        let body = whole(response).await?;
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(answer) if status.is_success() => Ok(StreamableHttpPostResponse::Json(answer, session)),
            // An error of the protocol may come with an error status of HTTP; a missing permission comes as a status
            // only.
            Ok(answer @ JsonRpcMessage::Error(_)) if !is_locked(status) => {
                Ok(StreamableHttpPostResponse::Json(answer, session))
            }
            // Notifications and responses get no answer.
            _ if status.is_success() && !matches!(message, JsonRpcMessage::Request(_)) => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            _ => Err(unexpected(explain(status, &kind, &body))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Problem> {
        let request = with_headers(self.0.delete(&*uri), Some(session), headers);
        request.send().await.map_err(failed)?;
        Ok(())
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        _: Option<Arc<str>>,
        _: Option<String>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Problem> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

fn with_headers(
    mut request: reqwest::RequestBuilder,
    session: Option<Arc<str>>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> reqwest::RequestBuilder {
    for (name, value) in headers {
        request = request.header(name, value);
    }
    match session {
        Some(session) => request.header(SESSION, &*session),
        None => request,
    }
}

fn header(response: &Response, name: &HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    value.to_str().ok().map(str::to_owned)
}

/// A transport error without the address, which may hold a key.
fn failed(error: reqwest::Error) -> Problem {
    let kind = match error.is_connect() {
        true => ErrorKind::ConnectionRefused,
        false => ErrorKind::Other,
    };
    StreamableHttpError::Io(std::io::Error::new(kind, innermost(&error.without_url())))
}

fn unexpected(what: String) -> Problem {
    StreamableHttpError::Io(std::io::Error::other(what))
}

fn is_locked(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

pub(crate) fn redirected(response: &Response) -> Problem {
    let target = header(response, &LOCATION).and_then(|place| response.url().join(&place).ok());
    let target = target
        .as_ref()
        .map_or_else(|| "elsewhere".to_owned(), |url: &Url| bare(url));
    unexpected(format!(
        "it redirects to {target}, which was not judged and is not followed; if it is right, set it as `url`"
    ))
}

pub(crate) fn explain(status: StatusCode, kind: &str, body: &[u8]) -> String {
    let advice = if is_locked(status) {
        "; it wants to know who asks: set `headers`"
    } else {
        ""
    };
    let shown = &body[..body.len().min(LONGEST_EXPLANATION)];
    let shown = String::from_utf8_lossy(shown);
    let shown = match shown.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    };
    match status.is_success() {
        true => format!("it answered with {kind:?} instead of a message{shown}"),
        false => format!("it answered with HTTP {}{advice}{shown}", status.as_u16()),
    }
}

/// The whole body, if it is not larger than a message may be.
pub(crate) async fn whole(response: Response) -> Result<Vec<u8>, Problem> {
    let mut stream = std::pin::pin!(bounded(response.bytes_stream()));
    let mut body = Vec::new();
    while let Some(piece) = stream.next().await {
        body.extend_from_slice(&piece.map_err(StreamableHttpError::Io)?);
    }
    Ok(body)
}

/// The bytes, up to the size of the largest message.
fn bounded<B: AsRef<[u8]>>(
    bytes: impl Stream<Item = Result<B, reqwest::Error>>,
) -> impl Stream<Item = std::io::Result<B>> {
    let mut length = 0;
    bytes.map(move |piece| {
        let piece = piece.map_err(|error| std::io::Error::other(innermost(&error.without_url())))?;
        length += piece.as_ref().len();
        match length > LARGEST_MESSAGE {
            true => Err(std::io::Error::other(format!(
                "its answer is larger than {LARGEST_MESSAGE} bytes"
            ))),
            false => Ok(piece),
        }
    })
}
