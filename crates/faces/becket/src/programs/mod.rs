//! becket under another program, which reads its events (`--mode json`) and steers it (`--mode rpc`) as it would pi.
//!
//! What the lines mean is in `becket_pi` (`stream.rs`, `rpc.rs`). Here `lines.rs` carries them, `client.rs`
//! is the person's side of a session whose person is a program, `rpc.rs` takes commands and `answers.rs` answers them.

mod answers;
mod client;
mod lines;
mod pages;
mod rpc;

use std::sync::Arc;

use becket_agent::front::Front;
use becket_pi::Stream;
use becket_system::CliError;
use tokio_util::sync::CancellationToken;

pub use client::PATIENCE_AT_THE_DOOR;
pub use rpc::run;

use becket_host::Person;
use client::{Client, Told};
use lines::Writer;

/// A program that reads the events of a session.
#[derive(Clone)]
pub struct Program {
    /// What it is told.
    pub stream: Arc<Stream>,
    writer: Arc<Writer>,
}

impl Program {
    /// One that only reads; `front` is for the person who may look at standard error.
    pub fn reading(front: Arc<dyn Front>) -> (Self, Person) {
        let program = Self::new();
        let told = Told::new(front, Arc::clone(&program.stream));
        (program, Person::reading(Arc::new(told)))
    }

    /// One that can be asked as well.
    fn asking(front: Arc<dyn Front>) -> (Self, Arc<Client>) {
        let program = Self::new();
        let told = Told::new(front, Arc::clone(&program.stream));
        (program, Arc::new(Client::new(told)))
    }

    fn new() -> Self {
        let writer = Writer::begin();
        let stream = Stream::new(Arc::clone(&writer) as _);
        Self { stream, writer }
    }

    /// Tells when it does not read any more.
    fn gone(&self) -> CancellationToken {
        self.writer.gone.clone()
    }

    /// Waits until everything is written.
    pub async fn finish(&self) -> Result<(), CliError> {
        self.writer.finish().await
    }
}
