//! The protocol's older form over HTTP (`sse`): one standing stream of events brings all that the server says, and its
//! first event names the address to which messages are posted.
//!
//! That address was not judged, so it must be at the same place as the stream. Redirects are refused, and no event may
//! be larger than a message.

use std::io::Error;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Response, Url};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use sse_stream::{Sse, SseStream};

use crate::cause::innermost;
use crate::message_size::LARGEST_MESSAGE;
use crate::settings::{Headers, bare};
use crate::web::{EVENTS, JSON, explain, redirected, whole};

/// A connection to one server.
pub(crate) struct EventTransport {
    client: Client,
    headers: HeaderMap,
    endpoint: Url,
    events: BoxStream<'static, Result<Sse, sse_stream::Error>>,
}

impl EventTransport {
    /// Opens the stream and waits until the server has said where it reads messages.
    pub(crate) async fn open(client: Client, url: &Url, headers: &Headers) -> Result<Self, String> {
        let headers: HeaderMap = headers.0.iter().cloned().collect();
        let request = client.get(url.clone()).headers(headers.clone());
        let response = request.header(ACCEPT, EVENTS).send().await.map_err(failed)?;
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        if response.status().is_redirection() {
            return Err(innermost(&redirected(&response)));
        }
        if !response.status().is_success() || !kind.starts_with(EVENTS) {
            return Err(refusal(response, &kind).await);
        }
        let mut events = SseStream::from_bytes_stream(bounded(response.bytes_stream())).boxed();
        let endpoint = loop {
            match events.next().await {
                Some(Ok(Sse {
                    event: Some(event),
                    data: Some(place),
                    ..
                })) if event == "endpoint" => {
                    break endpoint(url, place.trim())?;
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(innermost(&error)),
                None => return Err("its stream ended before it said where it reads messages".into()),
            }
        };
        Ok(Self {
            client,
            headers,
            endpoint,
            events,
        })
    }
}

impl Transport<RoleClient> for EventTransport {
    type Error = Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let request = self
            .client
            .post(self.endpoint.clone())
            .headers(self.headers.clone());
        async move {
            let body = serde_json::to_vec(&message)?;
            let request = request.header(CONTENT_TYPE, JSON).body(body);
            let response = request
                .send()
                .await
                .map_err(|error| Error::other(failed(error)))?;
            match response.status() {
                status if status.is_success() => Ok(()),
                status if status.is_redirection() => Err(Error::other(innermost(&redirected(&response)))),
                _ => Err(Error::other(refusal(response, "").await)),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let Sse { event, data, .. } = self.events.next().await?.ok()?;
            let is_message = event.is_none_or(|event| event == "message");
            let message = data.filter(|_| is_message);
            if let Some(Ok(message)) = message.map(|data| serde_json::from_str(&data)) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events = futures_util::stream::empty().boxed();
        Ok(())
    }
}

/// The address for messages, if it is at the same place as the stream.
fn endpoint(url: &Url, place: &str) -> Result<Url, String> {
    let endpoint = url
        .join(place)
        .map_err(|error| format!("it names no address for messages: {error}"))?;
    match endpoint.origin() == url.origin() {
        true => Ok(endpoint),
        false => Err(format!(
            "it wants messages to be sent to {}, which was not judged",
            bare(&endpoint)
        )),
    }
}

/// An error of the client without the address, which may hold a key.
fn failed(error: reqwest::Error) -> String {
    innermost(&error.without_url())
}

async fn refusal(response: Response, kind: &str) -> String {
    let status = response.status();
    match status.is_success() {
        true => explain(status, kind, &[]),
        false => explain(status, kind, &whole(response).await.unwrap_or_default()),
    }
}

/// The bytes, as long as no event is larger than a message may be. An empty line ends an event.
fn bounded<B: AsRef<[u8]>>(
    bytes: impl Stream<Item = Result<B, reqwest::Error>>,
) -> impl Stream<Item = std::io::Result<B>> {
    let (mut event, mut line) = (0_usize, 0_usize);
    bytes.map(move |piece| {
        let piece = piece.map_err(|error| Error::other(failed(error)))?;
        for byte in piece.as_ref() {
            (event, line) = match byte {
                b'\n' if line == 0 => (0, 0),
                b'\n' => (event + 1, 0),
                b'\r' => (event + 1, line),
                _ => (event + 1, line + 1),
            };
            if event > LARGEST_MESSAGE {
                let words = format!("it said something larger than {LARGEST_MESSAGE} bytes");
                return Err(Error::other(words));
            }
        }
        Ok(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_where_the_stream_is() {
        let url = Url::parse("https://host.test:8443/sse?key=1").unwrap();
        for (place, whole) in [
            ("/messages?id=1", Some("https://host.test:8443/messages?id=1")),
            ("messages", Some("https://host.test:8443/messages")),
            ("https://host.test:8443/m", Some("https://host.test:8443/m")),
            ("https://host.test/m", None),
            ("http://host.test:8443/m", None),
            ("//other.test/m", None),
            ("https://169.254.169.254/", None),
        ] {
            let endpoint = endpoint(&url, place);
            assert_eq!(endpoint.ok().as_ref().map(Url::as_str), whole, "{place}");
        }
    }
}
