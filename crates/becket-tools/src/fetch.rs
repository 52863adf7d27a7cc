//! Fetching an address over HTTP.
//!
//! The host was resolved and judged before; the connection goes to the judged addresses and to no other. A redirect
//! is not followed but told, so that the new address passes the gate as a call of its own.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::resolve_url;
use becket_agent::tool::{ToolOutput, ToolRun};
use becket_events::{FetchArguments, Finding, Part};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use serde_json::json;
use tokio::time::timeout;
use url::{Host, Url};

use crate::answer::Answer;
use crate::html;
use crate::judged_path::size;
use crate::settings::ToolSettings;

/// Fetches the address from the hosts that were judged for it.
pub(crate) async fn run(
    arguments: &FetchArguments,
    addresses: &[SocketAddr],
    settings: &ToolSettings,
    run: ToolRun,
) -> Answer {
    let limit = match arguments.timeout_seconds {
        Some(seconds) => Duration::from_secs(seconds.max(1)).min(settings.fetch_timeout_limit),
        None => settings.fetch_timeout,
    };
    let url = match judged_url(&arguments.url, addresses) {
        Ok(url) => url,
        Err(problem) => return ToolOutput::error(format!("Cannot fetch: {problem}.")).into(),
    };
    let most = match arguments.max_bytes {
        Some(bytes) => {
            usize::try_from(bytes).map_or(settings.fetch_bytes, |bytes| bytes.min(settings.fetch_bytes))
        }
        None => settings.fetch_bytes,
    };
    let place = without_password(&url);
    let work = async {
        let client = new_client(&url, addresses)?;
        let response = client.get(url.clone()).send().await.map_err(described)?;
        answer(response, &url, most).await
    };
    let result = tokio::select! {
        biased;
        () = run.cancel.cancelled() => Err("the call was cancelled".to_owned()),
        result = timeout(limit, work) => {
            result.unwrap_or_else(|_| Err(format!("there was no whole answer within {} seconds", limit.as_secs())))
        }
    };
    result.unwrap_or_else(|problem| ToolOutput::error(format!("Cannot fetch {place}: {problem}.")).into())
}

/// The address, if it is one that was judged: a host name is looked up in the judged addresses only, a bare IP
/// address must be among them.
fn judged_url(text: &str, addresses: &[SocketAddr]) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|error| format!("the address is not valid ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "only http and https addresses can be fetched, not {}",
            url.scheme()
        ));
    }
    let literal = match url.host() {
        None => return Err("the address names no host".to_owned()),
        Some(Host::Domain(_)) => None,
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
    };
    if addresses.is_empty() {
        return Err("its host has no network address that was judged".to_owned());
    }
    match literal {
        Some(literal) if !addresses.iter().any(|address| address.ip() == literal) => {
            Err("its network address is not the one that was judged".to_owned())
        }
        _ => Ok(url),
    }
}

/// Answers every question for a host with the judged addresses.
struct JudgedAddresses(Vec<SocketAddr>);

impl Resolve for JudgedAddresses {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

/// A client that reaches an address where it leads now, and nothing else. It follows no redirect.
pub async fn client_for(url: Url) -> Result<Client, String> {
    let resolved = resolve_url(url.as_str()).await?;
    // What the person has configured may be anywhere but there, where machines keep their own keys.
    if resolved.sensitive == Some("cloud_metadata") {
        return Err("its address is the one at which machines in a cloud find their keys".into());
    }
    new_client(&url, &resolved.addresses)
}

/// A client for this one call. The system's certificates are loaded only where they are needed.
fn new_client(url: &Url, addresses: &[SocketAddr]) -> Result<Client, String> {
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let tls = if url.scheme() == "https" {
        builder
            .with_platform_verifier()
            .map_err(|error| format!("{error}. Install the system's root certificates (ca-certificates)"))?
            .with_no_client_auth()
    } else {
        builder
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth()
    };
    Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .dns_resolver(JudgedAddresses(addresses.to_vec()))
        .user_agent(concat!("becket/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(described)
}

async fn answer(response: Response, url: &Url, most: usize) -> Result<Answer, String> {
    let status = response.status();
    let header = |name| {
        response
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    let kind = header(CONTENT_TYPE).unwrap_or_default();
    let encoding = header(CONTENT_ENCODING).filter(|encoding| encoding != "identity");
    if let Some(location) = header(LOCATION).filter(|_| status.is_redirection()) {
        return Ok(redirect(status.as_u16(), url, &location).into());
    }
    let (bytes, whole) = body(response, most).await?;
    let sent = sent_text(&kind, &bytes).filter(|_| encoding.is_none() && status.is_success());
    let mut text = match encoding {
        Some(encoding) => format!("[Compressed data ({encoding}), {}.]", size(bytes.len() as u64)),
        None => readable(&kind, &bytes, url),
    };
    if text.is_empty() {
        text.push_str("[The answer is empty.]");
    }
    let notice = (!whole).then(|| {
        let size = size(most as u64);
        format!("[The answer is longer than {size}; the rest was not read.]")
    });
    if let Some(notice) = &notice {
        text.push_str(&format!("\n{notice}"));
    }
    if !status.is_success() {
        text = format!("[HTTP status {status}]\n{text}");
    }
    let output = ToolOutput {
        content: vec![Part::text(text)],
        is_error: !status.is_success(),
        details: Some(json!({
            "status": status.as_u16(),
            "content_type": kind,
            "bytes": bytes.len(),
            "complete": whole,
        })),
    };
    Ok(Answer {
        output,
        finding: sent.map(|text| Finding::Fetch { text, notice }),
    })
}

fn redirect(status: u16, url: &Url, location: &str) -> ToolOutput {
    let target = url
        .join(location)
        .map_or_else(|_| location.to_owned(), |target| without_password(&target));
    ToolOutput {
        content: vec![Part::text(format!(
            "[HTTP status {status}: the page is at {target}. Fetch that address to go on.]"
        ))],
        is_error: false,
        details: Some(json!({"status": status, "location": target})),
    }
}

/// The body up to that many bytes, and whether that is all of it.
async fn body(mut response: Response, most: usize) -> Result<(Vec<u8>, bool), String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(described)? {
        let room = most - bytes.len();
        if chunk.len() > room {
            bytes.extend_from_slice(&chunk[..room]);
            return Ok((bytes, false));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok((bytes, true))
}

/// The body as text for a reader, or a word on what it is.
fn readable(kind: &str, bytes: &[u8], url: &Url) -> String {
    let essence = essence(kind);
    match sent_text(kind, bytes) {
        Some(page) if is_html(&essence) => html::to_text(&page, url),
        Some(text) => text,
        None => {
            let name = if essence.is_empty() {
                "of unknown type"
            } else {
                &essence
            };
            format!("[Binary data, {name}, {}.]", size(bytes.len() as u64))
        }
    }
}

/// The body as it was sent, if it is text.
fn sent_text(kind: &str, bytes: &[u8]) -> Option<String> {
    let essence = essence(kind);
    let is_text = essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(
            essence.as_str(),
            "application/json"
                | "application/xml"
                | "application/javascript"
                | "application/x-yaml"
                | "application/toml"
        );
    // Without a useful type the bytes decide.
    let is_unknown = matches!(essence.as_str(), "" | "application/octet-stream");
    let looks_like_text = !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok();
    (is_html(&essence) || is_text || (is_unknown && looks_like_text)).then(|| characters(kind, bytes))
}

fn essence(kind: &str) -> String {
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

fn is_html(essence: &str) -> bool {
    matches!(essence, "text/html" | "application/xhtml+xml")
}

fn characters(kind: &str, bytes: &[u8]) -> String {
    let kind = kind.to_ascii_lowercase();
    let latin = ["iso-8859-1", "latin1", "windows-1252"]
        .iter()
        .any(|name| kind.contains(name));
    if latin && std::str::from_utf8(bytes).is_err() {
        return bytes.iter().map(|byte| char::from(*byte)).collect();
    }
    String::from_utf8_lossy(bytes).into_owned()
}

/// An address fit to be shown: a password in it stays secret.
fn without_password(url: &Url) -> String {
    let mut shown = url.clone();
    // Addresses with a host, and there are no others here, can always lose their password.
    let _ = shown.set_password(None);
    shown.to_string()
}

/// A failure with its deepest cause, without the address, which may hold a password.
fn described(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let outer = error.to_string();
    let inner = cause.to_string();
    if outer == inner {
        outer
    } else {
        format!("{outer}: {inner}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_util::sync::CancellationToken;

    const HANGS: Duration = Duration::from_secs(20);

    /// A server that gives the same answer to everybody and keeps the first request.
    struct Server {
        address: SocketAddr,
        request: tokio::sync::oneshot::Receiver<String>,
    }

    async fn server(answer: impl Into<Vec<u8>>) -> Server {
        let answer = answer.into();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, request) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let _ = sender.send(String::from_utf8(head).unwrap());
            let _ = stream.write_all(&answer).await;
            let _ = stream.shutdown().await;
        });
        Server { address, request }
    }

    fn response(kind: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
        let body = body.as_ref();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    }

    fn tool_run() -> ToolRun {
        ToolRun {
            progress: tokio::sync::mpsc::unbounded_channel().0,
            cancel: CancellationToken::new(),
        }
    }

    async fn call(
        url: &str,
        addresses: &[SocketAddr],
        settings: &ToolSettings,
        tool_run: ToolRun,
    ) -> ToolOutput {
        let arguments = FetchArguments {
            url: url.to_owned(),
            timeout_seconds: None,
            max_bytes: None,
        };
        timeout(HANGS, run(&arguments, addresses, settings, tool_run))
            .await
            .expect("a fetch ends in time")
            .output
    }

    async fn fetch(server: &Server) -> ToolOutput {
        let url = format!("http://page.example:{}/a/b", server.address.port());
        call(&url, &[server.address], &ToolSettings::default(), tool_run()).await
    }

    fn text(output: &ToolOutput) -> &str {
        match output.content.as_slice() {
            [Part::Text { text }] => text,
            other => panic!("one text expected: {other:?}"),
        }
    }

    #[tokio::test]
    async fn a_page_is_fetched_from_the_judged_address_under_its_own_name() {
        let server = server(response(
            "text/html; charset=utf-8",
            "<h1>Hi</h1><a href='/c'>ü</a>",
        ))
        .await;
        let output = fetch(&server).await;
        let expected = format!("# Hi\n\n[ü](http://page.example:{}/c)", server.address.port());
        assert_eq!(text(&output), expected);
        assert!(!output.is_error);
        assert_eq!(output.details.as_ref().unwrap()["status"], 200);
        let request = server.request.await.unwrap().to_ascii_lowercase();
        assert!(request.starts_with("get /a/b http/1.1\r\n"), "{request}");
        assert!(request.contains("host: page.example:"), "{request}");
        assert!(request.contains("user-agent: becket/"), "{request}");
    }

    #[tokio::test]
    async fn text_comes_as_it_is_and_binary_data_as_a_word() {
        let cases: [(&str, &[u8], &str); 7] = [
            ("application/json", b"{\"a\": 1}", "{\"a\": 1}"),
            ("text/plain", b"<b>as it is</b>", "<b>as it is</b>"),
            ("application/octet-stream", b"words", "words"),
            (
                "application/octet-stream",
                b"\0\x01",
                "[Binary data, application/octet-stream, 2 bytes.]",
            ),
            ("image/png", b"\x89PNG", "[Binary data, image/png, 4 bytes.]"),
            ("text/plain; charset=ISO-8859-1", b"caf\xE9", "café"),
            ("text/plain", b"", "[The answer is empty.]"),
        ];
        for (kind, body, expected) in cases {
            let server = server(response(kind, body)).await;
            assert_eq!(text(&fetch(&server).await), expected, "{kind}");
        }
    }

    #[tokio::test]
    async fn a_redirect_is_told_and_not_followed() {
        let server =
            server("HTTP/1.1 302 Found\r\nLocation: //169.254.169.254/secret\r\nContent-Length: 0\r\n\r\n")
                .await;
        let output = fetch(&server).await;
        assert_eq!(
            text(&output),
            "[HTTP status 302: the page is at http://169.254.169.254/secret. Fetch that address to go on.]"
        );
        assert!(!output.is_error);
    }

    #[tokio::test]
    async fn an_error_status_is_an_error_with_its_body() {
        let server =
            server("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\ngone")
                .await;
        let output = fetch(&server).await;
        assert!(output.is_error);
        assert_eq!(text(&output), "[HTTP status 404 Not Found]\ngone");
    }

    #[tokio::test]
    async fn a_long_answer_is_cut() {
        let server = server(response("text/plain", "x".repeat(100_000))).await;
        let url = format!("http://page.example:{}/", server.address.port());
        let settings = ToolSettings {
            fetch_bytes: 1024,
            ..ToolSettings::default()
        };
        let output = call(&url, &[server.address], &settings, tool_run()).await;
        assert!(text(&output).starts_with(&"x".repeat(1024)) && text(&output).len() < 1200);
        assert!(text(&output).ends_with("[The answer is longer than 1.0 KiB; the rest was not read.]"));
    }

    #[tokio::test]
    async fn compressed_data_is_not_shown_as_text() {
        let server = server(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        )
        .await;
        assert_eq!(text(&fetch(&server).await), "[Compressed data (gzip), 3 bytes.]");
    }

    #[tokio::test]
    async fn a_silent_server_and_a_cancelled_call_end() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("http://page.example:{}/", address.port());
        let settings = ToolSettings {
            fetch_timeout: Duration::from_millis(200),
            ..ToolSettings::default()
        };
        let output = call(&url, &[address], &settings, tool_run()).await;
        assert!(
            text(&output).contains("no whole answer within"),
            "{}",
            text(&output)
        );
        let cancelled = tool_run();
        let cancel = cancelled.cancel.clone();
        let settings = ToolSettings::default();
        let judged = [address];
        let (output, ()) = tokio::join!(call(&url, &judged, &settings, cancelled), async {
            let _ = listener.accept().await.unwrap();
            cancel.cancel();
        });
        assert!(text(&output).contains("cancelled"), "{}", text(&output));
    }

    #[tokio::test]
    async fn what_was_not_judged_is_not_fetched() {
        let server = server(response("text/plain", "secret")).await;
        let elsewhere: SocketAddr = "192.0.2.1:80".parse().unwrap();
        let settings = ToolSettings::default();
        let literal = format!("http://{}/", server.address);
        let output = call(&literal, &[elsewhere], &settings, tool_run()).await;
        assert!(
            text(&output).contains("not the one that was judged"),
            "{}",
            text(&output)
        );
        let output = call("http://page.example/", &[], &settings, tool_run()).await;
        assert!(text(&output).contains("no network address"), "{}", text(&output));
        for bad in [
            "file:///etc/passwd",
            "ftp://a.example/",
            "not an address",
            "data:text/plain,x",
        ] {
            assert!(
                call(bad, &[elsewhere], &settings, tool_run()).await.is_error,
                "{bad}"
            );
        }
        let output = call(&literal, &[server.address], &settings, tool_run()).await;
        assert_eq!(text(&output), "secret");
    }

    #[tokio::test]
    async fn a_refused_connection_says_so_without_the_password() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let url = format!("http://user:s3cret@page.example:{}/", address.port());
        let output = call(&url, &[address], &ToolSettings::default(), tool_run()).await;
        assert!(output.is_error);
        assert!(text(&output).contains("refused"), "{}", text(&output));
        assert!(!text(&output).contains("s3cret"), "{}", text(&output));
    }

    #[tokio::test]
    async fn a_server_without_tls_cannot_stand_in_for_one_with_it() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("https://page.example:{}/", address.port());
        let judged = [address];
        let settings = ToolSettings::default();
        let (output, ()) = tokio::join!(call(&url, &judged, &settings, tool_run()), async {
            // Where the system has no certificates nobody connects; that is an error as well.
            if let Ok(Ok((mut stream, _))) = timeout(Duration::from_secs(5), listener.accept()).await {
                let _ = stream.write_all(&response("text/plain", "not encrypted")).await;
            }
        });
        assert!(output.is_error);
        assert!(!text(&output).contains("not encrypted"), "{}", text(&output));
    }

    #[tokio::test]
    async fn a_server_that_speaks_nonsense_is_an_error() {
        let server = server("this is not http\r\n\r\n").await;
        assert!(fetch(&server).await.is_error);
    }
}
