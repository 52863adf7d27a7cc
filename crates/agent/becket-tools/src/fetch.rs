//! Fetching an address over HTTP.
//!
//! The host was resolved and judged before; the connection goes to the judged addresses and to no other, whatever proxy
//! the environment names. Each redirect is judged like the first address, by the same rules and guards. One that the
//! user would have to be asked about is reported and not followed: the new address is a call of its own.

use std::time::Duration;

use becket_agent::gate::NotFetched;
use becket_agent::tool::{ToolOutput, ToolRun};
use becket_agent::url_policy::{JudgedUrl, without_credentials};
use becket_events::{FetchArguments, Finding, PageFormat, Part};
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use serde_json::json;
use tokio::time::timeout;
use url::Url;

use crate::answer::OperationAnswer;
use crate::client::{client_for, described};
use crate::judged_path::size;
use crate::page::{Page, without_torn_end};
use crate::settings::ToolSettings;

/// Fetches the address from the hosts that were judged for it. `may_fetch` judges each redirect.
pub(crate) async fn run<F, W>(
    arguments: &FetchArguments,
    first: &JudgedUrl,
    may_fetch: F,
    settings: &ToolSettings,
    run: ToolRun,
) -> OperationAnswer
where
    F: Fn(JudgedUrl, String) -> W,
    W: Future<Output = Result<JudgedUrl, NotFetched>>,
{
    let limit = match arguments.timeout_seconds {
        Some(seconds) => Duration::from_secs(seconds.max(1)).min(settings.fetch_timeout_limit),
        None => settings.fetch_timeout,
    };
    let most = match arguments.max_bytes {
        Some(bytes) => {
            usize::try_from(bytes).map_or(settings.fetch_bytes, |bytes| bytes.min(settings.fetch_bytes))
        }
        None => settings.fetch_bytes,
    };
    let wanted = Wanted {
        most,
        format: arguments.format.unwrap_or(PageFormat::Markdown),
    };
    let work = follow(first, may_fetch, settings.fetch_redirects, wanted);
    let result = tokio::select! {
        biased;
        () = run.cancel.cancelled() => Err("the call was cancelled".to_owned()),
        result = timeout(limit, work) => {
            result.unwrap_or_else(|_| Err(format!("there was no whole answer within {} seconds", limit.as_secs())))
        }
    };
    result.unwrap_or_else(|problem| {
        ToolOutput::error(format!("Cannot fetch {}: {problem}.", first.url())).into()
    })
}

/// How much of an answer is wanted, and in which form.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    most: usize,
    format: PageFormat,
}

/// Follows redirects, as long as each of them is permitted.
async fn follow<F, W>(
    first: &JudgedUrl,
    may_fetch: F,
    redirects: usize,
    wanted: Wanted,
) -> Result<OperationAnswer, String>
where
    F: Fn(JudgedUrl, String) -> W,
    W: Future<Output = Result<JudgedUrl, NotFetched>>,
{
    let mut place = first.clone();
    let mut way = Vec::new();
    loop {
        let response = send(&place).await?;
        let Some(target) = redirect_of(&response, place.url())? else {
            return answer(response, &place, &way, wanted).await;
        };
        let status = response.status().as_u16();
        let shown = without_credentials(&target);
        if redirects == 0 {
            return Ok(told(status, &shown, "redirects are not followed").into());
        }
        if way.len() == redirects {
            return Err(format!(
                "there are more than {redirects} redirects, the next one to {shown}"
            ));
        }
        if leaves_https(place.url(), &target) {
            return Ok(told(status, &shown, "it leads away from https").into());
        }
        let next = match may_fetch(place.clone(), target).await {
            Ok(next) => next,
            Err(NotFetched::Denied(reason)) => {
                return Err(format!("it leads to {shown}, and that is refused: {reason}"));
            }
            Err(NotFetched::NeedsYes(reason)) => return Ok(told(status, &shown, &reason).into()),
        };
        way.push(place.url().to_string());
        place = next;
    }
}

/// Sends the request for one address, to the network addresses that were judged for it.
async fn send(place: &JudgedUrl) -> Result<Response, String> {
    if place.addresses().is_empty() {
        return Err("its host has no network address that was judged".to_owned());
    }
    let client = client_for(place)?;
    let response = client.get(place.url().clone()).send().await.map_err(described)?;
    match response.remote_addr() {
        Some(peer) if !place.addresses().iter().any(|judged| judged.ip() == peer.ip()) => Err(format!(
            "the connection went to {}, which was not judged",
            peer.ip()
        )),
        _ => Ok(response),
    }
}

/// The target of a redirect, if the response is one.
fn redirect_of(response: &Response, url: &Url) -> Result<Option<String>, String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else {
        return Ok(None);
    };
    let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
    match url.join(&location) {
        Ok(target) => Ok(Some(target.to_string())),
        Err(error) => {
            let shown = without_credentials(&location);
            Err(format!("it leads to `{shown}`, which is not an address: {error}"))
        }
    }
}

/// Whether a redirect would go from HTTPS to an unencrypted connection.
fn leaves_https(from: &Url, to: &str) -> bool {
    from.scheme() == "https" && !to.starts_with("https:")
}

/// The output about a redirect that is not followed.
fn told(status: u16, target: &str, reason: &str) -> ToolOutput {
    ToolOutput {
        content: vec![Part::text(format!(
            "[HTTP status {status}: the page is at {target}. That was not followed: {reason}. Fetch that address to go \
             on.]"
        ))],
        is_error: false,
        details: Some(json!({"status": status, "location": target})),
        ends_run: false,
    }
}

async fn answer(
    response: Response,
    place: &JudgedUrl,
    way: &[String],
    Wanted { most, format }: Wanted,
) -> Result<OperationAnswer, String> {
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
    let (bytes, whole) = body(response, most).await?;
    let page = Page::new(&kind, &bytes);
    let sent = page.sent().filter(|_| encoding.is_none() && status.is_success());
    let mut text = match encoding {
        Some(encoding) => format!("[Compressed data ({encoding}), {}.]", size(bytes.len() as u64)),
        None => page.readable(place.url(), format),
    };
    if text.is_empty() {
        text.push_str("[The answer is empty.]");
    }
    let shortened = (!whole).then(|| {
        let size = size(most as u64);
        format!("[The answer is longer than {size}; the rest was not read.]")
    });
    let notices: Vec<String> = shortened.into_iter().chain(page.notice()).collect();
    let notice = (!notices.is_empty()).then(|| notices.join("\n"));
    if let Some(notice) = &notice {
        text.push_str(&format!("\n{notice}"));
    }
    if !status.is_success() {
        text = format!("[HTTP status {status}]\n{text}");
    }
    if !way.is_empty() {
        text = format!("[Redirected to {}]\n{text}", place.url());
    }
    let output = ToolOutput {
        content: vec![Part::text(text)],
        is_error: !status.is_success(),
        details: Some(json!({
            "status": status.as_u16(),
            "url": place.url().as_str(),
            "redirected_from": way,
            "content_type": kind,
            "bytes": bytes.len(),
            "complete": whole,
        })),
        ends_run: false,
    };
    Ok(OperationAnswer {
        output,
        finding: sent.map(|text| Finding::Fetch { text, notice }),
    })
}

/// The body up to `most` bytes, and whether that is all of it.
async fn body(mut response: Response, most: usize) -> Result<(Vec<u8>, bool), String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(described)? {
        let room = most - bytes.len();
        if chunk.len() > room {
            bytes.extend_from_slice(&chunk[..room]);
            return Ok((without_torn_end(bytes), false));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok((bytes, true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, SocketAddr};
    use std::sync::Arc;

    use becket_agent::url_policy::{Resolver, UrlJudge};
    use futures_util::future::BoxFuture;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_util::sync::CancellationToken;

    const HANGS: Duration = Duration::from_secs(20);

    /// A server that gives the same answer to every request and keeps the first one.
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
            parent: None,
        }
    }

    /// A name server that always gives the same answer.
    struct Knows(Vec<IpAddr>);

    impl Resolver for Knows {
        fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, String>> {
            Box::pin(async { Ok(self.0.clone()) })
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
            format: None,
        };
        let knows = Knows(addresses.iter().map(SocketAddr::ip).collect());
        let judged = match UrlJudge::default()
            .with_resolver(Arc::new(knows))
            .judge(url)
            .await
        {
            Ok(judged) => judged,
            Err(problem) => return ToolOutput::error(problem),
        };
        let may_fetch = |_, _| async { Err(NotFetched::NeedsYes("nobody is there".into())) };
        timeout(HANGS, run(&arguments, &judged, may_fetch, settings, tool_run))
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
    async fn a_redirect_that_needs_a_yes_is_told_and_not_followed() {
        let server =
            server("HTTP/1.1 302 Found\r\nLocation: //169.254.169.254/secret\r\nContent-Length: 0\r\n\r\n")
                .await;
        let output = fetch(&server).await;
        assert_eq!(
            text(&output),
            "[HTTP status 302: the page is at http://169.254.169.254/secret. That was not followed: nobody is there. \
             Fetch that address to go on.]"
        );
        assert!(!output.is_error);
    }

    #[test]
    fn only_https_follows_https() {
        let table = [
            ("https://a.example/", "http://a.example/", true),
            ("https://a.example/", "ftp://a.example/", true),
            ("https://a.example/", "https://b.example/", false),
            ("http://a.example/", "http://b.example/", false),
            ("http://a.example/", "https://a.example/", false),
        ];
        for (from, to, leaves) in table {
            assert_eq!(
                leaves_https(&Url::parse(from).unwrap(), to),
                leaves,
                "{from} {to}"
            );
        }
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
    async fn what_cannot_be_judged_is_not_fetched() {
        let server = server(response("text/plain", "secret")).await;
        let settings = ToolSettings::default();
        for bad in [
            "file:///etc/passwd",
            "ftp://a.example/",
            "not an address",
            "data:text/plain,x",
            "http://user:s3cret@page.example/",
            "http://user:s3cret@[page.example/",
        ] {
            let output = call(bad, &[server.address], &settings, tool_run()).await;
            assert!(output.is_error, "{bad}");
            assert!(!text(&output).contains("s3cret"), "{}", text(&output));
        }
        let output = call("http://page.example/", &[], &settings, tool_run()).await;
        assert!(text(&output).contains("no network address"), "{}", text(&output));
        let literal = format!("http://{}/", server.address);
        let output = call(&literal, &[], &settings, tool_run()).await;
        assert_eq!(text(&output), "secret");
    }

    #[tokio::test]
    async fn a_refused_connection_says_so() {
        // Not a port that was free a moment ago: another test may have it by now.
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let url = format!("http://page.example:{}/", address.port());
        let output = call(&url, &[address], &ToolSettings::default(), tool_run()).await;
        assert!(output.is_error);
        assert!(text(&output).contains("refused"), "{}", text(&output));
    }

    #[tokio::test]
    async fn a_server_without_tls_cannot_stand_in_for_one_with_it() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("https://page.example:{}/", address.port());
        let judged = [address];
        let settings = ToolSettings::default();
        let (output, ()) = tokio::join!(call(&url, &judged, &settings, tool_run()), async {
            // Without certificates of the system, no connection is made; that is an error as well.
            if let Ok(Ok((mut stream, _))) = timeout(HANGS / 2, listener.accept()).await {
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
