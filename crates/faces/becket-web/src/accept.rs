//! Connections: those that have not shown the token cannot displace those that have.
//!
//! A connection costs a file descriptor of the process, and these are few. So one that is silent for a while is closed,
//! and of those that never showed the token only the newest stay: a client that opens hundreds of them closes its own.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// How many connections may be open that have not shown the token.
const MOST_STRANGERS: usize = 64;

/// How long the head of a request may take, and how long a connection may wait for one.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// How long to wait before the next try when the system has no room for another connection.
const NO_ROOM: Duration = Duration::from_millis(50);

/// Whether a connection has shown the token.
#[derive(Clone, Default)]
pub(crate) struct Known(Arc<AtomicBool>);

impl Known {
    /// Notes that the connection has shown the token.
    pub(crate) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection that had not shown the token when it was last checked.
struct Stranger {
    known: Known,
    serving: JoinHandle<()>,
}

/// Accepts connections until it is dropped.
pub(crate) async fn serve(listener: TcpListener, routes: Router) -> io::Result<()> {
    let mut strangers: VecDeque<Stranger> = VecDeque::new();
    loop {
        let accepted = listener.accept().await;
        strangers.retain(|stranger| !stranger.known.is_noted() && !stranger.serving.is_finished());
        let stream = match accepted {
            Ok((stream, _)) => stream,
            // The connection was gone before it was accepted.
            Err(error) if is_of_connection(&error) => continue,
            Err(_) => {
                close_oldest(&mut strangers);
                tokio::time::sleep(NO_ROOM).await;
                continue;
            }
        };
        while strangers.len() >= MOST_STRANGERS {
            close_oldest(&mut strangers);
        }
        let known = Known::default();
        let serving = tokio::spawn(connection(stream, routes.clone().layer(Extension(known.clone()))));
        strangers.push_back(Stranger { known, serving });
    }
}

/// Closes the oldest connection that has not shown the token.
fn close_oldest(strangers: &mut VecDeque<Stranger>) {
    if let Some(stranger) = strangers.pop_front() {
        stranger.serving.abort();
    }
}

/// Whether the clock has a time that fits into the head of an answer; hyper panics otherwise.
pub(crate) fn clock_is_usable() -> bool {
    const YEAR_10000: u64 = 253_402_300_800;
    let age = SystemTime::UNIX_EPOCH.elapsed();
    age.is_ok_and(|age| age.as_secs() < YEAR_10000)
}

async fn connection(stream: TcpStream, routes: Router) {
    if !clock_is_usable() {
        return;
    }
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    // A client that leaves in the middle of an answer is no failure.
    let _ = serving.await;
}

fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset
    )
}
