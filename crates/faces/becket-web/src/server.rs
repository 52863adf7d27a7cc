//! The server: the page, the record as JSON, and a message whenever the record has grown.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::Stream;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::accept::{self, Known};
use crate::door::{Door, Token, random_hex};
use crate::source::{Source, SourceError};

/// The whole page; `{nonce}` is replaced in each answer.
const PAGE: &str = include_str!("page.html");

/// How often the record is checked while a page watches it.
const GLANCE: Duration = Duration::from_millis(400);

/// How often a silent stream sends a sign of life.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Headers of every answer: it must not be cached, framed, or taken for something else.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// A server that listens on this machine only, and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: Token,
    source: Arc<dyn Source>,
}

/// The server cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The port is in use, or not permitted.
    #[error("cannot listen on port {port}: {cause}")]
    Listen {
        /// The port that was asked for.
        port: u16,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The clock has a time that no answer can carry.
    #[error("the clock of this machine says that it is before 1970 or after 9999; set it")]
    Clock,
    /// The system has no random numbers.
    #[error("cannot make a token: {0}")]
    Random(#[from] getrandom::Error),
    /// The system closed the port.
    #[error("cannot answer any more: {0}")]
    Serve(std::io::Error),
}

impl Server {
    /// Listens on a port of 127.0.0.1; 0 is any that is free.
    pub async fn listen(port: u16, token: Token, source: Arc<dyn Source>) -> Result<Self, ServerError> {
        if !accept::clock_is_usable() {
            return Err(ServerError::Clock);
        }
        let failed = |cause| ServerError::Listen { port, cause };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            token,
            source,
        })
    }

    /// The address to open, with the token behind the `#`.
    pub fn url(&self) -> String {
        format!("http://{}/#{}", self.address, self.token.text())
    }

    /// The address at which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until it is dropped.
    pub async fn serve(self) -> Result<(), ServerError> {
        let (told, news) = watch::channel(String::new());
        let watching = tokio::spawn(watch_record(Arc::clone(&self.source), told));
        let house = Arc::new(House {
            door: Door {
                token: self.token,
                port: self.address.port(),
            },
            source: self.source,
            news,
        });
        let result = accept::serve(self.listener, routes(house)).await;
        watching.abort();
        result.map_err(ServerError::Serve)
    }
}

/// The state that every answer needs.
struct House {
    door: Door,
    source: Arc<dyn Source>,
    news: watch::Receiver<String>,
}

fn routes(house: Arc<House>) -> Router {
    let record = Router::new()
        .route("/api/sessions", get(sessions))
        .route("/api/sessions/{session}", get(timeline))
        .route("/api/sessions/{session}/bars/{bar}", get(details))
        .route("/api/sessions/{session}/transcript", get(transcript))
        .route("/api/sessions/{session}/export/{form}", get(export))
        .route("/api/search/{words}", get(search))
        .route("/api/hooks", get(hooks))
        .route("/api/live", get(live))
        .route("/metrics", get(metrics))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&house), with_token));
    Router::new()
        .route("/", get(page))
        .merge(record)
        .fallback(async || refuse((StatusCode::NOT_FOUND, "there is nothing here")))
        .layer(middleware::from_fn_with_state(Arc::clone(&house), at_the_door))
        .with_state(house)
}

/// Refuses requests that are not allowed, and adds the headers to every answer, including refusals.
async fn at_the_door(State(house): State<Arc<House>>, request: Request, next: Next) -> Response {
    let mut answer = match house.door.greet(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refuse(refusal),
    };
    let headers = answer.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // The page has its own policy; everything else is no page at all.
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(
            "default-src 'none'; frame-ancestors 'none'",
        ));
    answer
}

async fn with_token(State(house): State<Arc<House>>, request: Request, next: Next) -> Response {
    match house.door.admit(request.headers()) {
        Ok(()) => {
            if let Some(known) = request.extensions().get::<Known>() {
                known.note();
            }
            next.run(request).await
        }
        Err(refusal) => refuse(refusal),
    }
}

/// The page itself. It holds nothing of the record, so it needs no token: it takes the token out of the address.
async fn page() -> Response {
    let Ok(nonce) = random_hex::<16>() else {
        return refuse((
            StatusCode::INTERNAL_SERVER_ERROR,
            "the system has no random numbers",
        ));
    };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, policy.as_str()),
    ];
    (headers, PAGE.replace("{nonce}", &nonce)).into_response()
}

async fn sessions(State(house): State<Arc<House>>) -> Response {
    #[derive(Serialize)]
    struct Listed<S, E> {
        sessions: S,
        exports: E,
    }
    ask(&house, |source| {
        Ok(Some(Listed {
            sessions: source.sessions()?,
            exports: source.export_forms(),
        }))
    })
    .await
}

async fn timeline(
    State(house): State<Arc<House>>,
    Path(session): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let from = number_in(query.as_deref(), "from");
    ask(&house, move |source| source.timeline(&session, from)).await
}

async fn details(
    State(house): State<Arc<House>>,
    Path((session, bar)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let from = number_in(query.as_deref(), "from");
    ask(&house, move |source| source.details(&session, &bar, from)).await
}

async fn transcript(
    State(house): State<Arc<House>>,
    Path(session): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let from = number_in(query.as_deref(), "from");
    ask(&house, move |source| source.transcript(&session, from)).await
}

async fn search(State(house): State<Arc<House>>, Path(words): Path<String>) -> Response {
    #[derive(Serialize)]
    struct Found {
        sessions: Vec<String>,
    }
    ask(&house, move |source| {
        Ok(Some(Found {
            sessions: source.sessions_saying(&words)?,
        }))
    })
    .await
}

async fn hooks(State(house): State<Arc<House>>, RawQuery(query): RawQuery) -> Response {
    #[derive(Serialize)]
    struct Listed<T> {
        hooks: T,
    }
    let since = number_in(query.as_deref(), "since").unwrap_or_default();
    ask(&house, move |source| {
        Ok(Some(Listed {
            hooks: source.hooks(since)?,
        }))
    })
    .await
}

/// A session to be saved. It is text, so that no browser takes it for a page.
async fn export(State(house): State<Arc<House>>, Path((session, form)): Path<(String, String)>) -> Response {
    let source = Arc::clone(&house.source);
    match tokio::task::spawn_blocking(move || source.export(&session, &form)).await {
        Ok(Ok(Some(text))) => plain(StatusCode::OK, text),
        Ok(Ok(None)) => refuse((StatusCode::NOT_FOUND, "there is no such session, or no such form")),
        Ok(Err(error)) => plain(StatusCode::INTERNAL_SERVER_ERROR, error.0),
        Err(_) => refuse((StatusCode::INTERNAL_SERVER_ERROR, "the record cannot be read")),
    }
}

/// A number in a query: `name=N`.
fn number_in(query: Option<&str>, name: &str) -> Option<u64> {
    let mut parts = query?.split('&').filter_map(|part| part.split_once('='));
    parts.find(|(known, _)| *known == name)?.1.parse().ok()
}

/// Queries the record on a thread that may block, and answers with JSON.
async fn ask<T: Serialize + Send + 'static>(
    house: &House,
    question: impl FnOnce(&dyn Source) -> Result<Option<T>, SourceError> + Send + 'static,
) -> Response {
    let source = Arc::clone(&house.source);
    let answer = tokio::task::spawn_blocking(move || {
        let value = question(&*source).map_err(|error| error.0)?;
        value
            .map(|value| serde_json::to_vec(&value).map_err(|error| error.to_string()))
            .transpose()
    });
    match answer
        .await
        .unwrap_or_else(|_| Err("the record cannot be read".into()))
    {
        Ok(Some(json)) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        Ok(None) => refuse((StatusCode::NOT_FOUND, "there is no such thing in the record")),
        Err(words) => plain(StatusCode::INTERNAL_SERVER_ERROR, words),
    }
}

async fn metrics(State(house): State<Arc<House>>) -> Response {
    let source = Arc::clone(&house.source);
    match tokio::task::spawn_blocking(move || source.metrics()).await {
        Ok(Ok(text)) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        Ok(Err(error)) => plain(StatusCode::INTERNAL_SERVER_ERROR, error.0),
        Err(_) => refuse((StatusCode::INTERNAL_SERVER_ERROR, "the record cannot be read")),
    }
}

/// A message at once, so that the page knows that it is connected, and one whenever the record has grown.
async fn live(State(house): State<Arc<House>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let stream = futures_util::stream::unfold((house.news.clone(), true), |(mut news, first)| async move {
        if !first {
            news.changed().await.ok()?;
        }
        let position = news.borrow_and_update().clone();
        Some((Ok(Event::default().event("grown").data(position)), (news, false)))
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(HEARTBEAT))
}

/// Checks the record repeatedly, as long as a page watches it, and passes on what is new.
async fn watch_record(source: Arc<dyn Source>, told: watch::Sender<String>) {
    loop {
        tokio::time::sleep(GLANCE).await;
        // One receiver is the server's own, from which the others are made.
        if told.receiver_count() < 2 {
            continue;
        }
        let looked = Arc::clone(&source);
        // What cannot be read now is read at the next glance; who asks for it meanwhile is told why.
        if let Ok(Ok(position)) = tokio::task::spawn_blocking(move || looked.position()).await {
            told.send_if_modified(|last| {
                let grown = *last != position;
                *last = position;
                grown
            });
        }
    }
}

fn refuse((status, words): (StatusCode, &'static str)) -> Response {
    plain(status, words.to_owned())
}

fn plain(status: StatusCode, words: String) -> Response {
    let mut answer = (
        status,
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
        words,
    )
        .into_response();
    if status == StatusCode::METHOD_NOT_ALLOWED {
        answer
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static("GET"));
    }
    answer
}
