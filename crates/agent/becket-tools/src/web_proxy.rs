//! The network of a confined command: a proxy that asks for each address whether it may be reached.
//!
//! The command is in a network of its own, in which only the proxy listens; `becket-sandbox` hands over the socket. The
//! connection goes out from here, to the addresses that were judged. A request without encryption is judged by its
//! whole address, and each one on a connection by itself. A tunnel is judged by its server: what goes through it cannot
//! be seen.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use becket_agent::gate::WebAccess;
use becket_agent::url_policy::{Extent, JudgedUrl};
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use reqwest::Body;
use tokio::io::{Interest, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::client::{cause, client_for};

/// How long connecting to a server may take, and the head of a request.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a server may take until its answer begins.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// How many connections of one command are open at once; further ones wait.
const MOST_CONNECTIONS: usize = 128;

/// How many refused addresses are kept.
const MOST_REFUSED: usize = 20;

/// Headers that are about one connection, beside those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("proxy-authorization"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The proxy of one command. It ends when it is dropped, with all connections.
pub struct WebProxy {
    socket: PathBuf,
    gateway: Arc<Gateway>,
    _ending: DropGuard,
}

impl WebProxy {
    /// Waits at a socket in `folder`, which only the user can enter, for the one that the command connects to.
    pub fn start(folder: &Path, access: WebAccess) -> io::Result<Self> {
        static PROXIES: AtomicU32 = AtomicU32::new(0);
        let number = PROXIES.fetch_add(1, Ordering::Relaxed);
        let socket = folder.join(format!("web-{}-{number}.sock", std::process::id()));
        // The path has the number of this process: whatever lies there was left by one that is gone.
        let _ = std::fs::remove_file(&socket);
        let entrance = UnixListener::bind(&socket)?;
        let ending = CancellationToken::new();
        let gateway = Arc::new(Gateway {
            access,
            refused: Mutex::default(),
            ended: ending.clone(),
        });
        let (ended, serving) = (ending.clone(), Arc::clone(&gateway));
        tokio::spawn(async move {
            // The end of the command ends it; there is nobody else to whom an error could be told.
            ended.run_until_cancelled(serve(entrance, serving)).await
        });
        Ok(Self {
            socket,
            gateway,
            _ending: ending.drop_guard(),
        })
    }

    /// Where the small program hands over the socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// What was refused so far, as sentences without a full stop, each once.
    pub fn refused(&self) -> Vec<String> {
        self.gateway
            .refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for WebProxy {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Takes the socket, and answers all connections to it.
async fn serve(entrance: UnixListener, gateway: Arc<Gateway>) -> io::Result<()> {
    let (stream, _) = entrance.accept().await?;
    let listener = loop {
        stream.readable().await?;
        match stream.try_io(Interest::READABLE, || becket_sandbox::handed_over(&stream)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            taken => break taken?,
        }
    };
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&free).acquire_owned().await else {
            return Ok(());
        };
        let (connection, _) = listener.accept().await?;
        let gateway = Arc::clone(&gateway);
        tokio::spawn(async move {
            let ended = gateway.ended.clone();
            ended
                .run_until_cancelled(gateway.converse(connection, Arc::new(place)))
                .await
        });
    }
}

/// Lets requests pass that may.
struct Gateway {
    access: WebAccess,
    refused: Mutex<Vec<String>>,
    ended: CancellationToken,
}

/// A place among the open connections; a tunnel keeps that of the connection that it was.
type Place = Arc<OwnedSemaphorePermit>;

/// Why a request gets an answer of the proxy's own.
struct Stopped(StatusCode, String);

impl Gateway {
    async fn converse(self: Arc<Self>, connection: TcpStream, place: Place) {
        let service = service_fn(|request| {
            let (gateway, place) = (Arc::clone(&self), Arc::clone(&place));
            async move { Ok::<_, Infallible>(gateway.answer(request, place).await) }
        });
        let conversation = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(CONNECT_TIMEOUT)
            .preserve_header_case(true)
            .serve_connection(TokioIo::new(connection), service)
            .with_upgrades();
        // A command that breaks off knows that it has.
        let _ = conversation.await;
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>, place: Place) -> Response<Body> {
        let answered = match *request.method() {
            Method::CONNECT => self.tunnel(request, place).await,
            _ => self.forward(request).await,
        };
        answered.unwrap_or_else(|Stopped(status, why)| {
            let mut response = Response::new(Body::from(format!("becket: {why}\n")));
            *response.status_mut() = status;
            response
        })
    }

    async fn judged(&self, url: &str, extent: Extent) -> Result<JudgedUrl, Stopped> {
        let judged = self.access.may_reach(url, extent).await;
        judged.map_err(|why| {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            if refused.len() < MOST_REFUSED && !refused.contains(&why) {
                refused.push(why.clone());
            }
            Stopped(StatusCode::FORBIDDEN, why)
        })
    }

    /// Connects with a server, and lets everything pass from then on.
    async fn tunnel(
        self: Arc<Self>,
        request: Request<Incoming>,
        place: Place,
    ) -> Result<Response<Body>, Stopped> {
        let unclear = || Stopped(StatusCode::BAD_REQUEST, "CONNECT needs a host and a port".into());
        let server = request.uri().authority().ok_or_else(unclear)?;
        let scheme = match server.port_u16().ok_or_else(unclear)? {
            80 => "http",
            _ => "https",
        };
        let judged = self
            .judged(&format!("{scheme}://{server}/"), Extent::Server)
            .await?;
        let mut outside = connected(judged.addresses()).await?;
        let ended = self.ended.clone();
        tokio::spawn(async move {
            let _place = place;
            let passing = async {
                if let Ok(inside) = hyper::upgrade::on(request).await {
                    let _ = copy_bidirectional(&mut TokioIo::new(inside), &mut outside).await;
                }
            };
            ended.run_until_cancelled(passing).await
        });
        Ok(Response::new(Body::default()))
    }

    /// Sends one request on, and its answer back.
    async fn forward(&self, request: Request<Incoming>) -> Result<Response<Body>, Stopped> {
        let (head, body) = request.into_parts();
        if head.uri.scheme_str() != Some("http") {
            let why = "this is a proxy: a request needs an address that begins with http://, or CONNECT";
            return Err(Stopped(StatusCode::BAD_REQUEST, why.into()));
        }
        let judged = self.judged(&head.uri.to_string(), Extent::Page).await?;
        let failed = |why: String| Stopped(StatusCode::BAD_GATEWAY, why);
        let mut headers = between_ends(&head.headers);
        // The host is the one that was judged, whatever the header says; the length is that of the body.
        headers.remove(HOST);
        headers.remove(CONTENT_LENGTH);
        let sent = client_for(&judged)
            .map_err(failed)?
            .request(head.method, judged.url().clone())
            .headers(headers)
            .body(Body::wrap(body))
            .send();
        let response = timeout(ANSWER_TIMEOUT, sent)
            .await
            .map_err(|_| failed(format!("{} did not answer", judged.url())))?
            .map_err(|error| failed(cause(&error)))?;
        let (mut head, body) = Response::from(response).into_parts();
        head.headers = between_ends(&head.headers);
        Ok(Response::from_parts(head, body))
    }
}

async fn connected(addresses: &[SocketAddr]) -> Result<TcpStream, Stopped> {
    let failed =
        |why: &dyn std::fmt::Display| Stopped(StatusCode::BAD_GATEWAY, format!("cannot connect: {why}"));
    match timeout(CONNECT_TIMEOUT, TcpStream::connect(addresses)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(failed(&error)),
        Err(_) => Err(failed(&"it took too long")),
    }
}

/// The headers that are meant for the other end.
fn between_ends(headers: &HeaderMap) -> HeaderMap {
    let named = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let named: Vec<&str> = named.flat_map(|value| value.split(',')).map(str::trim).collect();
    let mut kept = headers.clone();
    for name in named {
        kept.remove(name);
    }
    for name in &HOP_BY_HOP {
        kept.remove(name);
    }
    kept
}
