//! Starting programs. A start takes most of a millisecond, in which its thread waits for the system, so programs that
//! are started together are started by several threads. One alone is started by its caller, which costs nothing.

use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

/// How many programs wait for their start.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// As many threads start programs as there are processors: more would only be in each other's way.
static THREADS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from)));

/// Starts a program. The command is returned as well, for another try.
pub(super) async fn start(mut command: Command) -> (Command, io::Result<Child>) {
    let _waiting = Waiting::begin();
    // Whoever is started together with this one has said so afterwards.
    tokio::task::yield_now().await;
    let thread = match WAITING.load(Ordering::Relaxed) {
        0 | 1 => None,
        _ => THREADS.acquire().await.ok(),
    };
    if thread.is_none() {
        let child = command.spawn();
        return (command, child);
    }
    let started = tokio::task::spawn_blocking(move || {
        let child = command.spawn().map(Unheld::new);
        (command, child)
    });
    match started.await {
        Ok((command, child)) => (command, child.and_then(Unheld::take)),
        Err(error) => (Command::new(""), Err(io::Error::other(error))),
    }
}

/// Counts a program that waits for its start.
struct Waiting;

impl Waiting {
    fn begin() -> Self {
        WAITING.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A program that was started for somebody who may have given up meanwhile: then it is ended.
struct Unheld(Option<Child>);

impl Unheld {
    fn new(child: Child) -> Self {
        Self(Some(child))
    }

    fn take(mut self) -> io::Result<Child> {
        self.0
            .take()
            .ok_or_else(|| io::Error::other("the program is gone"))
    }
}

impl Drop for Unheld {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
            // It leads a group of its own, and may have started others already.
            let _ = group.map(|group| kill_process_group(group, Signal::KILL));
            let _ = child.start_kill();
        }
    }
}
