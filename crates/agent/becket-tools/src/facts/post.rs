//! Sends one POST request, to a web address that was judged.

use std::time::Duration;

use becket_agent::url_policy::{UrlJudge, UrlVerdict, without_credentials};
use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;

use crate::client::client_for;
use crate::client::free_client;

/// The longest answer that is read.
const LONGEST_ANSWER: usize = 1024 * 1024;

/// What is posted.
pub struct Posted<'a> {
    /// The body, which is JSON.
    pub body: String,
    /// Further headers.
    pub headers: &'a [(String, String)],
    /// How long everything may take.
    pub deadline: Duration,
}

/// Sends JSON to an address. The user cannot be asked here: an address that is not on the open internet is refused,
/// unless the user's policy allows it.
pub async fn post(judge: &UrlJudge, url: &str, posted: Posted<'_>) -> Result<String, String> {
    let Posted {
        body,
        headers,
        deadline,
    } = posted;
    let shown = without_credentials(url);
    let wrong = |why: String| format!("cannot post to {shown}: {why}");
    let work = async {
        let place = judge.judge(url).await?;
        if let Some(reason) = place.denied() {
            return Err(reason);
        }
        if place.ruling().verdict != UrlVerdict::Allow
            && let Some(reason) = place.sensitivity()
        {
            return Err(format!("{reason}; only a rule in `url_policy.allow` opens it"));
        }
        let request = client_for(&place)?
            .post(place.url().clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let request = headers
            .iter()
            .fold(request, |request, (name, value)| request.header(name, value));
        let mut response = request
            .send()
            .await
            .map_err(|error| error.without_url().to_string())?;
        if !response.status().is_success() {
            return Err(format!("the answer was {}", response.status()));
        }
        let mut answer = Vec::new();
        let broken = |error: reqwest::Error| error.without_url().to_string();
        while let Some(piece) = response.chunk().await.map_err(broken)? {
            answer.extend_from_slice(&piece);
            if answer.len() > LONGEST_ANSWER {
                return Err(format!("the answer is longer than {LONGEST_ANSWER} bytes"));
            }
        }
        String::from_utf8(answer).map_err(|_| "the answer is not UTF-8".to_owned())
    };
    match tokio::time::timeout(deadline, work).await {
        Ok(result) => result.map_err(wrong),
        Err(_) => Err(wrong(format!(
            "there was no answer within {} s",
            deadline.as_secs_f32()
        ))),
    }
}

/// Sends JSON to an address that the user's own settings name, wherever it is. The answer is not read; returns whether
/// it was a success.
pub async fn post_freely(url: Url, body: String, deadline: Duration) -> bool {
    let Ok(client) = free_client(Policy::none()) else {
        return false;
    };
    let request = client
        .post(url)
        .header(CONTENT_TYPE, "application/json")
        .body(body);
    let answer = tokio::time::timeout(deadline, request.send()).await;
    matches!(answer, Ok(Ok(response)) if response.status().is_success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_agent::url_policy::{PolicyLists, UrlPolicy};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    const DEADLINE: Duration = Duration::from_secs(60);

    fn posted(body: impl Into<String>, deadline: Duration) -> Posted<'static> {
        Posted {
            body: body.into(),
            headers: &[],
            deadline,
        }
    }

    fn local() -> UrlJudge {
        let lists = PolicyLists {
            allow: vec!["http://127.0.0.1:*/*".into()],
            ..PolicyLists::default()
        };
        UrlJudge::new(Some(UrlPolicy::parse(&lists, UrlVerdict::Deny).unwrap()))
    }

    async fn answering(answer: &'static str) -> (String, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let heard = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"{\"a\":1}") {
                request.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(request).unwrap().to_ascii_lowercase()
        });
        (url, heard)
    }

    #[tokio::test]
    async fn json_is_posted_where_the_policy_allows_it() {
        let (url, heard) = answering("HTTP/1.1 204 No Content\r\n\r\n").await;
        post(&local(), &url, posted("{\"a\":1}", DEADLINE)).await.unwrap();
        let request = heard.await.unwrap();
        assert!(request.starts_with("post /hook http/1.1\r\n"), "{request}");
        assert!(
            request.contains("content-type: application/json\r\n"),
            "{request}"
        );
        let (url, _heard) = answering("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n").await;
        let error = post(&local(), &url, posted("{\"a\":1}", DEADLINE))
            .await
            .unwrap_err();
        assert!(error.contains("500"), "{error}");
    }

    #[tokio::test]
    async fn private_places_bad_schemes_and_silence_are_errors() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        for (judge, url) in [
            (UrlJudge::default(), url.as_str()),
            (UrlJudge::default(), "http://169.254.169.254/"),
            (UrlJudge::default(), "ftp://example.com/"),
            (UrlJudge::default(), "not an address"),
            (local(), "http://192.0.2.1/"),
        ] {
            let error = post(&judge, url, posted("", DEADLINE)).await.unwrap_err();
            assert!(error.starts_with("cannot post to "), "{error}");
        }
        let short = Duration::from_millis(200);
        let error = post(&local(), &url, posted("", short)).await.unwrap_err();
        assert!(error.contains("no answer within"), "{error}");
    }
}
