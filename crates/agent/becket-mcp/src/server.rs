//! A server as tools use it: started when it is needed, started again when it has ended, given up when it hangs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use becket_agent::tool::{ToolOutput, ToolRun};
use becket_events::Part;
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::catalogue::{Catalogue, Known};
use crate::connection::{Connection, Offers, Trouble};
use crate::guest::Guest;
use crate::offer::Offer;
use crate::result::output;
use crate::settings::{ServerSettings, WebAccess};

/// How long the end of a run waits for a server to say which tools it has now.
const LAST_QUESTION: Duration = Duration::from_secs(2);

/// What is to be known of a call that may have been at work when it broke.
const UNCERTAIN: &str = "What it was asked for may or may not have happened";

/// A server, whether it runs or not.
pub struct Server {
    settings: ServerSettings,
    access: WebAccess,
    catalogue: Catalogue,
    /// Where the work is done.
    directory: PathBuf,
    seat: Mutex<Seat>,
}

#[derive(Default)]
struct Seat {
    connection: Option<Arc<Connection>>,
    /// Whether the list of tools is from this run.
    listed: bool,
}

impl Server {
    pub(crate) fn new(
        settings: ServerSettings,
        access: WebAccess,
        catalogue: Catalogue,
        directory: PathBuf,
    ) -> Self {
        Self {
            settings,
            access,
            catalogue,
            directory,
            seat: Mutex::default(),
        }
    }

    /// As it was configured.
    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    /// What is known of it without running it.
    pub fn known(&self) -> Known {
        self.catalogue.known(&self.settings)
    }

    /// Asks the server what it offers, and remembers the answer. It goes on running: its tools may be needed soon.
    pub(crate) async fn ask(&self) -> Result<Offers, String> {
        let mut seat = self.seat.lock().await;
        let answer = match self.connect(&mut seat).await {
            Ok(connection) => self.offers(&connection, self.settings.start_timeout).await,
            Err(failure) => Err(failure),
        };
        let answer = answer.map_err(|failure| self.settings.discreet(&failure));
        match &answer {
            Ok(offers) => {
                seat.listed = true;
                self.catalogue.remember(&self.settings, Ok(&offers.tools));
            }
            Err(failure) => {
                self.catalogue.remember(&self.settings, Err(failure));
                if let Some(connection) = seat.connection.take() {
                    connection.end().await;
                }
            }
        }
        answer
    }

    /// Calls a tool. Whatever the server does, this ends soon after the time that a call may take.
    ///
    /// A server that has ended between two calls is started again; one that ends in the middle of a call is not asked a
    /// second time, since what it was asked for may have happened.
    pub(crate) async fn call(&self, tool: &str, arguments: Map<String, Value>, run: &ToolRun) -> ToolOutput {
        let mut may_start_again = true;
        loop {
            let connected = async { self.connect(&mut *self.seat.lock().await).await };
            let connected = tokio::select! {
                biased;
                // Dropping the start ends what was started.
                () = run.cancel.cancelled() => return cancelled(),
                connected = connected => connected,
            };
            let connection = match connected {
                Ok(connection) => connection,
                Err(failure) => return self.complaint(&format!("it could not be started: {failure}")),
            };
            let deadline = Instant::now() + self.settings.call_timeout;
            let listening = (&run.cancel, run.progress.clone());
            let trouble = match connection
                .call(tool, arguments.clone(), deadline, listening)
                .await
            {
                Ok(result) => return self.discreet(output(result)),
                Err(trouble) => trouble,
            };
            let what = match trouble {
                Trouble::Cancelled => return cancelled(),
                // The server is well; it does not want this call.
                trouble @ Trouble::Refused(_) => {
                    return self.complaint(&self.describe(trouble, &connection).await);
                }
                Trouble::Unsent(_) if may_start_again => {
                    may_start_again = false;
                    self.give_up(&connection).await;
                    continue;
                }
                trouble => self.describe(trouble, &connection).await,
            };
            self.give_up(&connection).await;
            return self.complaint(&what);
        }
    }

    /// What became of a call, for the model and the person.
    async fn describe(&self, trouble: Trouble, connection: &Connection) -> String {
        match trouble {
            Trouble::Cancelled => "the call was cancelled".into(),
            Trouble::Refused(words) => format!("it refused the call: {words}"),
            Trouble::Unsent(why) => connection.told(format!("it could not be reached: {why}")).await,
            Trouble::Rubbish => connection.told("its answer cannot be understood".into()).await,
            Trouble::Failed(why) => connection.told(format!("{why}. {UNCERTAIN}")).await,
            Trouble::Lost => {
                let how = connection.how_it_ended().await;
                format!("{how}. {UNCERTAIN}")
            }
            Trouble::TimedOut => {
                let seconds = self.settings.call_timeout.as_secs();
                let what =
                    format!("no answer within {seconds} s. {UNCERTAIN}; raise `timeout` if it needs longer");
                connection.told(what).await
            }
        }
    }

    /// What the server offers, without its secrets.
    async fn offers(&self, connection: &Connection, limit: Duration) -> Result<Offers, String> {
        let mut offers = connection.offers(limit).await?;
        for offer in &mut offers.tools {
            offer.description = self.settings.discreet(&offer.description);
            self.settings.discreet_data(&mut offer.parameters);
        }
        for remark in &mut offers.left_out {
            *remark = self.settings.discreet(remark);
        }
        Ok(offers)
    }

    /// A result without the server's secrets.
    fn discreet(&self, mut output: ToolOutput) -> ToolOutput {
        for part in &mut output.content {
            if let Part::Text { text } = part {
                *text = self.settings.discreet(text);
            }
        }
        if let Some(details) = &mut output.details {
            self.settings.discreet_data(details);
        }
        output
    }

    fn complaint(&self, what: &str) -> ToolOutput {
        let (name, what) = (&self.settings.name, self.settings.discreet(what));
        ToolOutput::error(format!(
            "[the MCP server {name} failed: {what}. `becket mcp check {name}` tries it]"
        ))
    }

    /// The connection of this run, or a new one.
    async fn connect(&self, seat: &mut Seat) -> Result<Arc<Connection>, String> {
        if let Some(connection) = &seat.connection {
            if connection.lives().await {
                return Ok(Arc::clone(connection));
            }
            connection.end().await;
            seat.connection = None;
        }
        let guest = Guest::new(self.directory.clone(), self.settings.clone());
        let opened = Connection::open(&self.settings, guest, &self.access).await?;
        let connection = Arc::new(opened);
        seat.connection = Some(Arc::clone(&connection));
        seat.listed = false;
        Ok(connection)
    }

    /// Ends a connection that is no longer of use; the next call makes a new one.
    async fn give_up(&self, connection: &Arc<Connection>) {
        let mut seat = self.seat.lock().await;
        if seat
            .connection
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, connection))
        {
            seat.connection = None;
        }
        drop(seat);
        connection.end().await;
    }

    /// Ends the server politely. If it ran, what it offers now is remembered for the next run.
    pub(crate) async fn close(&self) {
        let mut seat = self.seat.lock().await;
        let Some(connection) = seat.connection.take() else {
            return;
        };
        if (!seat.listed || connection.has_changed()) && connection.lives().await {
            let asked = timeout(LAST_QUESTION, self.offers(&connection, LAST_QUESTION)).await;
            if let Ok(Ok(Offers { tools, .. })) = asked {
                self.catalogue
                    .remember(&self.settings, Ok::<&[Offer], &str>(&tools));
            }
        }
        connection.end().await;
    }
}

fn cancelled() -> ToolOutput {
    ToolOutput::error("[ended: the call was cancelled]")
}
