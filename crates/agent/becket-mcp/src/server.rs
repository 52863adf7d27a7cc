//! A server as tools use it: started when it is needed, started again when it has ended, given up when it hangs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use becket_agent::tool::{ToolOutput, ToolRun};
use becket_events::Part;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::catalogue::{Catalogue, Known};
use crate::connection::{Connection, Offers, Trouble};
use crate::guest::Guest;
use crate::offer::Offer;
use crate::result::{output, plain_text};
use crate::settings::{ServerSettings, WebAccess};

/// How long the end of a run waits for a server to list its current tools.
const LAST_QUESTION: Duration = Duration::from_secs(2);

/// The remark about a call that failed while it may have been at work.
const UNCERTAIN: &str = "What it was asked for may or may not have happened";

/// The words for a call that was cancelled.
const CANCELLED: &str = "[ended: the call was cancelled]";

/// A server, whether it runs or not.
pub struct Server {
    settings: ServerSettings,
    access: WebAccess,
    catalogue: Catalogue,
    /// The working directory.
    directory: PathBuf,
    link: Mutex<Link>,
}

#[derive(Default)]
struct Link {
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
            link: Mutex::default(),
        }
    }

    /// The server's configuration.
    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    /// What is known of the server without running it.
    pub fn known(&self) -> Known {
        self.catalogue.known(&self.settings)
    }

    /// Asks the server for its tools, and remembers the answer. It goes on running: its tools may be needed soon.
    pub(crate) async fn ask(&self) -> Result<Offers, String> {
        let mut link = self.link.lock().await;
        let answer = match self.connect(&mut link).await {
            Ok(connection) => self.offers(&connection, self.settings.start_timeout).await,
            Err(failure) => Err(failure),
        };
        let answer = answer.map_err(|failure| self.settings.discreet(&failure));
        match &answer {
            Ok(offers) => {
                link.listed = true;
                self.catalogue.remember(&self.settings, Ok(&offers.tools));
            }
            Err(failure) => {
                self.catalogue.remember(&self.settings, Err(failure));
                if let Some(connection) = link.connection.take() {
                    connection.end().await;
                }
            }
        }
        answer
    }

    /// Calls a tool for the model.
    pub(crate) async fn call(&self, tool: &str, arguments: Map<String, Value>, run: &ToolRun) -> ToolOutput {
        match self.result(tool, arguments, run).await {
            Ok(result) => self.discreet(output(result)),
            Err(complaint) => ToolOutput::error(complaint),
        }
    }

    /// Calls a tool for the author of a hook, within a time: the text of its result. The error says why there is none.
    /// No permit is needed, because no model has asked; no hook is told of it, so that none causes itself.
    pub async fn text(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        limit: Duration,
    ) -> Result<String, String> {
        let run = ToolRun {
            progress: unbounded_channel().0,
            cancel: CancellationToken::new(),
            parent: None,
        };
        let calling = async {
            self.check_offers(tool, &run.cancel).await?;
            self.result(tool, arguments, &run).await
        };
        let mut calling = std::pin::pin!(calling);
        let result = tokio::select! {
            biased;
            result = &mut calling => result?,
            () = sleep(limit) => {
                // The server is told that nobody waits any more. That takes a moment, and may still bring the result.
                run.cancel.cancel();
                let late = || format!("the MCP server {} gave no answer within {limit:?}", self.settings.name);
                calling.await.map_err(|_| late())?
            }
        };
        let text = plain_text(result).map(|text| self.settings.discreet(&text));
        text.map_err(|words| self.complaint(&format!("its tool {tool} reports an error: {words}")))
    }

    /// Checks that the server has a tool. A list that is remembered may be old, so the server is asked before a no.
    async fn check_offers(&self, tool: &str, cancel: &CancellationToken) -> Result<(), String> {
        let has = |offers: &[Offer]| offers.iter().any(|offer| offer.name == tool);
        if let Known::Offers(offers) = self.known()
            && has(&offers)
        {
            return Ok(());
        }
        let offers = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(CANCELLED.into()),
            offers = self.ask() => offers.map_err(|why| self.complaint(&why))?,
        };
        match has(&offers.tools) {
            true => Ok(()),
            false => Err(format!(
                "the MCP server {} has no tool {tool}",
                self.settings.name
            )),
        }
    }

    /// The result of a call; the error is for the model and the user. Whatever the server does, this ends soon after
    /// the time that a call may take.
    ///
    /// A server that has ended between two calls is started again; one that ends in the middle of a call is not asked a
    /// second time, since what it was asked for may have happened.
    async fn result(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        run: &ToolRun,
    ) -> Result<CallToolResult, String> {
        let mut may_start_again = true;
        loop {
            let connected = async { self.connect(&mut *self.link.lock().await).await };
            let connected = tokio::select! {
                biased;
                // Dropping the start ends what was started.
                () = run.cancel.cancelled() => return Err(CANCELLED.into()),
                connected = connected => connected,
            };
            let connection = connected
                .map_err(|failure| self.complaint(&format!("it could not be started: {failure}")))?;
            let deadline = Instant::now() + self.settings.call_timeout;
            let listening = (&run.cancel, run.progress.clone());
            let trouble = match connection
                .call(tool, arguments.clone(), deadline, listening)
                .await
            {
                Ok(result) => return Ok(result),
                Err(trouble) => trouble,
            };
            let what = match trouble {
                Trouble::Cancelled => return Err(CANCELLED.into()),
                // The server is fine; it refused this call.
                trouble @ Trouble::Refused(_) => {
                    return Err(self.complaint(&self.describe(trouble, &connection).await));
                }
                Trouble::Unsent(_) if may_start_again => {
                    may_start_again = false;
                    self.give_up(&connection).await;
                    continue;
                }
                trouble => self.describe(trouble, &connection).await,
            };
            self.give_up(&connection).await;
            return Err(self.complaint(&what));
        }
    }

    /// A description of a failed call, for the model and the user.
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

    /// The tools that the server offers, with its secrets hidden.
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

    /// A result with the server's secrets hidden.
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

    fn complaint(&self, what: &str) -> String {
        let (name, what) = (&self.settings.name, self.settings.discreet(what));
        format!("[the MCP server {name} failed: {what}. `becket mcp check {name}` tries it]")
    }

    /// The connection of this run, or a new one.
    async fn connect(&self, link: &mut Link) -> Result<Arc<Connection>, String> {
        if let Some(connection) = &link.connection {
            if connection.lives().await {
                return Ok(Arc::clone(connection));
            }
            connection.end().await;
            link.connection = None;
        }
        let guest = Guest::new(self.directory.clone(), self.settings.clone());
        let opened = Connection::open(&self.settings, guest, &self.access).await?;
        let connection = Arc::new(opened);
        link.connection = Some(Arc::clone(&connection));
        link.listed = false;
        Ok(connection)
    }

    /// Ends a connection that is no longer of use; the next call makes a new one.
    async fn give_up(&self, connection: &Arc<Connection>) {
        let mut link = self.link.lock().await;
        if link
            .connection
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, connection))
        {
            link.connection = None;
        }
        drop(link);
        connection.end().await;
    }

    /// Ends the server gracefully. If it ran, its current tools are remembered for the next run.
    pub(crate) async fn close(&self) {
        let mut link = self.link.lock().await;
        let Some(connection) = link.connection.take() else {
            return;
        };
        if (!link.listed || connection.has_changed()) && connection.lives().await {
            let asked = timeout(LAST_QUESTION, self.offers(&connection, LAST_QUESTION)).await;
            if let Ok(Ok(Offers { tools, .. })) = asked {
                self.catalogue
                    .remember(&self.settings, Ok::<&[Offer], &str>(&tools));
            }
        }
        connection.end().await;
    }
}
