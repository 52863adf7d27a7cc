//! The server with a record that is small, broken, or hostile.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use becket_web::view::{
    Counts, Details, ExportForm, HookLine, SessionLine, Tally, Timeline, Transcript, Used,
};
use becket_web::{Server, Source, SourceError, Token};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A record with one session, whose texts would be dangerous as markup or as a header.
struct Odd;

const HOSTILE: &str = "</script><script>alert(1)</script>\r\nSet-Cookie: a=b";

impl Source for Odd {
    fn sessions(&self) -> Result<Vec<SessionLine>, SourceError> {
        Ok(vec![SessionLine {
            id: HOSTILE.into(),
            parent_id: None,
            context: HOSTILE.into(),
            name: Some(HOSTILE.into()),
            title: HOSTILE.into(),
            model: HOSTILE.into(),
            cwd: HOSTILE.into(),
            started_ms: 1,
            ended_ms: None,
            reason: None,
            entries: 0,
            tally: Tally::default(),
            counts: Counts::default(),
            used: Used::default(),
        }])
    }

    fn timeline(&self, session_id: &str, _: Option<u64>) -> Result<Option<Timeline>, SourceError> {
        match session_id {
            "broken" => Err(SourceError(HOSTILE.into())),
            "panics" => panic!("on purpose"),
            _ => Ok(None),
        }
    }

    fn details(
        &self,
        session_id: &str,
        bar_id: &str,
        from: Option<u64>,
    ) -> Result<Option<Details>, SourceError> {
        Ok(Some(Details {
            title: format!("{session_id}|{bar_id}|{from:?}"),
            ..Details::default()
        }))
    }

    fn transcript(&self, _: &str, _: Option<u64>) -> Result<Option<Transcript>, SourceError> {
        Ok(None)
    }

    fn sessions_saying(&self, words: &str) -> Result<Vec<String>, SourceError> {
        Ok(vec![words.to_owned()])
    }

    fn hooks(&self, since_ms: u64) -> Result<Vec<HookLine>, SourceError> {
        Err(SourceError(format!("since {since_ms}")))
    }

    fn export_forms(&self) -> Vec<ExportForm> {
        Vec::new()
    }

    fn export(&self, session_id: &str, form: &str) -> Result<Option<String>, SourceError> {
        Ok((form == "known").then(|| format!("{session_id} {HOSTILE}")))
    }

    fn position(&self) -> Result<String, SourceError> {
        Ok("1".into())
    }

    fn metrics(&self) -> Result<String, SourceError> {
        Ok("nothing 0\n".into())
    }
}

/// Starts a server on a thread of its own.
fn serve() -> SocketAddr {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let token = Token::chosen(TOKEN).unwrap();
            let server = Server::listen(0, token, Arc::new(Odd)).await.unwrap();
            sender.send(server.address()).unwrap();
            server.serve().await.unwrap();
        });
    });
    receiver.recv_timeout(Duration::from_secs(60)).unwrap()
}

fn ask(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let headers = format!("Host: {address}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close");
    write!(stream, "GET {path} HTTP/1.1\r\n{headers}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (headers, body) = text.split_once("\r\n\r\n").unwrap();
    (headers.to_lowercase(), body.to_owned())
}

#[test]
fn whatever_the_record_holds_is_data() {
    let address = serve();
    assert!(address.ip().is_loopback());
    let (headers, body) = ask(address, "/api/sessions");
    assert!(headers.starts_with("http/1.1 200") && headers.contains("content-type: application/json"));
    assert!(!headers.contains("set-cookie"));
    let listed: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(listed["sessions"][0]["name"], HOSTILE);
}

#[test]
fn a_record_that_cannot_be_read_says_so_as_plain_text() {
    let address = serve();
    let (headers, body) = ask(address, "/api/sessions/broken");
    assert!(headers.starts_with("http/1.1 500"), "{headers}");
    assert!(
        headers.contains("content-type: text/plain") && headers.contains("nosniff"),
        "{headers}"
    );
    assert!(
        headers.contains("default-src 'none'") && !headers.contains("set-cookie"),
        "{headers}"
    );
    assert_eq!(body, HOSTILE);
    assert!(ask(address, "/api/sessions/panics").0.starts_with("http/1.1 500"));
    assert!(ask(address, "/api/sessions/other").0.starts_with("http/1.1 404"));
    assert!(
        ask(address, "/api/sessions").0.starts_with("http/1.1 200"),
        "it goes on"
    );
}

#[test]
fn what_is_saved_is_plain_text_and_nothing_else() {
    let address = serve();
    let (headers, body) = ask(address, "/api/sessions/a%2Fb/export/known");
    assert!(headers.starts_with("http/1.1 200"), "{headers}");
    assert!(
        headers.contains("content-type: text/plain") && headers.contains("nosniff"),
        "{headers}"
    );
    assert!(!headers.contains("set-cookie"), "{headers}");
    assert_eq!(body, format!("a/b {HOSTILE}"));
    assert!(
        ask(address, "/api/sessions/a/export/unknown")
            .0
            .starts_with("http/1.1 404")
    );
    assert_eq!(
        ask(address, "/api/search/a%2F%22b%20%C3%A4").1,
        r#"{"sessions":["a/\"b ä"]}"#
    );
    assert_eq!(ask(address, "/api/hooks?since=7").1, "since 7");
    assert_eq!(ask(address, "/api/hooks?since=x").1, "since 0");
}

#[test]
fn ids_are_read_as_they_were_written() {
    for (query, from) in [("", "None"), ("?from=7", "Some(7)"), ("?a=b&from=-1", "None")] {
        let (_, body) = ask(
            serve(),
            &format!("/api/sessions/a%2Fb/bars/c%3A%C3%A4%3A0{query}"),
        );
        let details: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(details["title"], format!("a/b|c:ä:0|{from}"));
    }
}

#[test]
fn a_token_cannot_be_guessed_or_broken_out_of() {
    for (text, good) in [
        (TOKEN, true),
        (&TOKEN[1..], false),
        ("", false),
        ("0123456789abcdef0123456789abcde\n", false),
        ("0123456789abcdef0123456789abcde#", false),
        ("0123456789abcdef 123456789abcdef", false),
    ] {
        assert_eq!(Token::chosen(text).is_some(), good, "{text:?}");
    }
    let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
    assert_ne!(one.text(), other.text());
    assert!(Token::chosen(one.text()).is_some_and(|token| token.text().len() == 64));
}
