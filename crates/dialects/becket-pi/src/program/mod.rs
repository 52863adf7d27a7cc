//! becket under another program, which reads its events (`--mode json`) and steers it (`--mode rpc`) as it would pi.
//!
//! The format of the lines is in `stream.rs` and `rpc.rs` of this crate. Here
//! `client.rs` is the user's side of a session whose user is a program, `commands.rs` reads commands and `answers.rs`
//! executes them.

mod answers;
mod client;
mod commands;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use becket_agent::front::Front;
use becket_hooks::Engine;
use becket_host::{Client, Dialog, Interactive, LineWriter, Mode, Person, ServedSession};
use becket_system::CliError;
use futures_util::future::BoxFuture;

use crate::extensions::Extensions;
use crate::guests::ExtensionGuests;
use crate::host_call::HostCall;
use crate::stream::Stream;
use client::{ProgramUser, Told};

/// A program that talks to becket as it would to pi.
pub struct PiClient {
    stream: Arc<Stream>,
    writer: Arc<LineWriter>,
    front: Arc<dyn Front>,
    /// The program as the user, if it can be asked.
    user: Option<Arc<ProgramUser>>,
    /// The program's commands, if it may steer the session.
    incoming: commands::Incoming,
}

impl PiClient {
    /// A program that reads, and steers if the mode allows it. `front` is for the user who may look at standard error.
    pub fn new(mode: Mode, front: Arc<dyn Front>) -> Self {
        let writer = LineWriter::begin();
        let stream = Stream::new(Arc::clone(&writer) as _);
        let told = Told::new(front, Arc::clone(&stream));
        let (front, user): (Arc<dyn Front>, _) = match mode {
            Mode::Rpc => {
                let user = Arc::new(ProgramUser::new(told));
                (Arc::clone(&user) as _, Some(user))
            }
            Mode::Json | Mode::Print => (Arc::new(told), None),
        };
        // Listening starts now, because extensions may ask something when the session begins.
        let incoming = user.iter().map(Arc::clone).map(commands::listen).next();
        Self {
            stream,
            writer,
            front,
            user,
            incoming: commands::Incoming::new(incoming),
        }
    }
}

impl Client for PiClient {
    fn person(&self) -> Person {
        match &self.user {
            Some(user) => Person {
                front: Arc::clone(&self.front),
                ui: Arc::clone(user) as _,
            },
            None => Person::reading(Arc::clone(&self.front)),
        }
    }

    fn listen(&self, engine: &Engine) {
        self.stream.listen(engine);
    }

    fn begun(&self, guests: &dyn Interactive) -> Result<(), CliError> {
        // A program that steers asks for the header if it needs it.
        if self.user.is_some() {
            return Ok(());
        }
        let header = extensions(guests).and_then(|extensions| extensions.ask(HostCall::SessionHeader));
        self.stream.say(&header.map_err(CliError::failed)?);
        Ok(())
    }

    fn settled(&self) {
        self.stream.settled();
    }

    fn confirm<'a>(
        &'a self,
        title: &'a str,
        message: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Option<bool>> {
        Box::pin(async move {
            let dialog = Dialog::Confirm {
                title: title.to_owned(),
                message: message.to_owned(),
            };
            self.user.as_ref()?.confirmed(&dialog, timeout).await
        })
    }

    fn serve<'a>(&'a self, session: ServedSession<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let parts = (
                self.user.as_ref(),
                self.incoming.take(),
                extensions(session.guests),
            );
            if let (Some(user), Some(lines), Ok(extensions)) = parts {
                commands::serve(session, extensions, user, (lines, &self.writer.gone)).await;
            }
        })
    }

    fn leave(&self) {
        self.user.iter().for_each(|user| user.leave());
    }

    fn finish(&self) -> BoxFuture<'_, Result<(), CliError>> {
        Box::pin(self.writer.finish())
    }
}

/// The extensions of a session, through which the protocol's commands are executed.
fn extensions(guests: &dyn Interactive) -> Result<&Extensions, String> {
    let guests = (guests as &dyn Any).downcast_ref::<ExtensionGuests>();
    let guests = guests.ok_or("there is no session to ask")?;
    Ok(&guests.extensions)
}
