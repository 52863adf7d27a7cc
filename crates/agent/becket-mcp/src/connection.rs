//! A connection to a running server: made, used and ended within deadlines.

use std::sync::Arc;
use std::time::Duration;

use becket_agent::tool::Progress;
use becket_hooks::Companion;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, PaginatedRequestParams,
    ServerResult,
};
use rmcp::service::{ClientInitializeError, PeerRequestOptions, RequestHandle, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, serve_client};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::cause::{innermost, was_not_sent};
use crate::events::EventTransport;
use crate::flood::{Counted, Questions};
use crate::guest::Guest;
use crate::message_size::{LARGEST_MESSAGE, Lines};
use crate::offer::{MOST_TOOLS, Offer};
use crate::settings::{Reach, ServerSettings, WebAccess};
use crate::web::Web;

/// The most pages in which a server may list its tools.
const MOST_PAGES: usize = 64;

/// The most tools that are reported as left out, and how much of a name and a reason is shown.
const MOST_REMARKS: usize = 20;
const LONGEST_REMARK: usize = 100;

/// How long to wait for a server to read a message that needs no answer.
const COURTESY: Duration = Duration::from_secs(1);

/// How many bytes of a server's standard error are shown.
const SHOWN_WORDS: usize = 600;

/// A running server and the connection to it.
pub(crate) struct Connection {
    service: Mutex<Option<RunningService<RoleClient, Arc<Guest>>>>,
    peer: rmcp::Peer<RoleClient>,
    guest: Arc<Guest>,
    questions: Arc<Questions>,
    companion: Mutex<Option<Companion>>,
}

/// The tools that a server offers, and remarks about those that are left out.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    pub(crate) tools: Vec<Offer>,
    pub(crate) left_out: Vec<String>,
}

impl Offers {
    /// Notes that a tool is left out, up to a limited number and length.
    fn leave_out(&mut self, name: &str, why: &str) {
        let cut = |text: &str| text.chars().take(LONGEST_REMARK).collect::<String>();
        match self.left_out.len() {
            ..MOST_REMARKS => {
                let (name, why) = (cut(name), cut(why));
                self.left_out
                    .push(format!("its tool {name:?} is not offered: {why}"));
            }
            MOST_REMARKS => self.left_out.push("further tools are not offered".into()),
            _ => {}
        }
    }
}

/// Why a call gave no result.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The call was cancelled, and the server was told.
    Cancelled,
    /// The server took too long, and was told.
    TimedOut,
    /// The server refused the call, with this message.
    Refused(String),
    /// The answer cannot be understood.
    Rubbish,
    /// The message did not reach the server.
    Unsent(String),
    /// The transport failed on the way there or back.
    Failed(String),
    /// The connection ended after the message was sent.
    Lost,
}

impl Connection {
    /// Starts or contacts a server, and initialises the connection.
    pub(crate) async fn open(
        settings: &ServerSettings,
        guest: Guest,
        access: &WebAccess,
    ) -> Result<Self, String> {
        let deadline = Instant::now() + settings.start_timeout;
        let guest = Arc::new(guest);
        let questions = Arc::default();
        match &settings.reach {
            Reach::Program {
                program, directory, ..
            } => {
                let started = Companion::start(program, directory, settings.start_timeout).await;
                let (mut companion, stdin, stdout) = started.map_err(|failure| failure.to_string())?;
                let transport = AsyncRwTransport::new_client(Lines::new(stdout), stdin)
                    .with_max_line_length(LARGEST_MESSAGE);
                let transport = Counted::new(transport, &questions);
                match timeout_at(deadline, serve_client(Arc::clone(&guest), transport)).await {
                    Ok(Ok(service)) => Ok(Self::new(service, (guest, questions), Some(companion))),
                    Ok(Err(error)) => {
                        let how = ending(&mut companion).await.unwrap_or_else(|| error.to_string());
                        Err(with_words(how, &companion))
                    }
                    Err(_) => Err(with_words(too_slow(settings.start_timeout), &companion)),
                }
            }
            Reach::Web {
                url,
                headers,
                is_event_stream: true,
            } => {
                let greeting = async {
                    let client = access(url.clone()).await?;
                    let transport = EventTransport::open(client, url, headers).await?;
                    let transport = Counted::new(transport, &questions);
                    let greeted = serve_client(Arc::clone(&guest), transport).await;
                    greeted.map_err(|error| unanswered(&error))
                };
                let greeted = timeout_at(deadline, greeting).await;
                let service = greeted.unwrap_or_else(|_| Err(too_slow(settings.start_timeout)))?;
                Ok(Self::new(service, (guest, questions), None))
            }
            Reach::Web { url, headers, .. } => {
                let greeting = async {
                    let client = Web(access(url.clone()).await?);
                    let headers = headers.0.iter().cloned().collect();
                    let config =
                        StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(headers);
                    let transport = StreamableHttpClientTransport::with_client(client, config);
                    let transport = Counted::new(transport, &questions);
                    let greeted = serve_client(Arc::clone(&guest), transport).await;
                    greeted.map_err(|error| unanswered(&error))
                };
                let greeted = timeout_at(deadline, greeting).await;
                let service = greeted.unwrap_or_else(|_| Err(too_slow(settings.start_timeout)))?;
                Ok(Self::new(service, (guest, questions), None))
            }
        }
    }

    fn new(
        service: RunningService<RoleClient, Arc<Guest>>,
        (guest, questions): (Arc<Guest>, Arc<Questions>),
        companion: Option<Companion>,
    ) -> Self {
        Self {
            peer: service.peer().clone(),
            service: Mutex::new(Some(service)),
            guest,
            questions,
            companion: Mutex::new(companion),
        }
    }

    /// Whether the server is still running, as far as that is known.
    pub(crate) async fn lives(&self) -> bool {
        let ended = match &mut *self.companion.lock().await {
            Some(companion) => companion.ended().is_some(),
            None => false,
        };
        !ended && !self.peer.is_transport_closed()
    }

    /// Whether the server has reported that its tools have changed.
    pub(crate) fn has_changed(&self) -> bool {
        self.guest.has_changed()
    }

    /// The tools that the server offers.
    pub(crate) async fn offers(&self, limit: Duration) -> Result<Offers, String> {
        match timeout(limit, self.all_pages()).await {
            Ok(Ok(offers)) => Ok(offers),
            Ok(Err(ServiceError::UnexpectedResponse)) => Err(self
                .told("what it says of its tools cannot be understood".into())
                .await),
            Ok(Err(ServiceError::TransportClosed)) => Err(self.how_it_ended().await),
            Ok(Err(ServiceError::TransportSend(error))) => Err(self.told(innermost(&*error.error)).await),
            Ok(Err(error)) => Err(self.told(innermost(&error)).await),
            Err(_) => Err(self
                .told("it did not say in time which tools it has".into())
                .await),
        }
    }

    async fn all_pages(&self) -> Result<Offers, ServiceError> {
        let mut offers = Offers::default();
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.peer.list_tools(Some(page)).await?;
            for tool in page.tools {
                let name = tool.name.clone();
                match Offer::check(tool) {
                    _ if offers.tools.len() >= MOST_TOOLS => {
                        let rest = format!("it has more than {MOST_TOOLS} tools; the rest is not offered");
                        offers.left_out.push(rest);
                        return Ok(offers);
                    }
                    Ok(offer) => offers.tools.push(offer),
                    Err(why) => offers.leave_out(&name, &why),
                }
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(offers)
    }

    /// Calls a tool and waits for its result.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        deadline: Instant,
        (cancel, progress): (&CancellationToken, UnboundedSender<Progress>),
    ) -> Result<CallToolResult, Trouble> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sending = self
            .peer
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut handle = match timeout_at(deadline, sending).await {
            Ok(Ok(handle)) => handle,
            Ok(Err(error)) => return Err(Trouble::Unsent(innermost(&error))),
            Err(_) => return Err(Trouble::TimedOut),
        };
        let _heard = self.guest.listen(handle.progress_token.clone(), progress);
        tokio::select! {
            // Biased towards the answer: a result that arrived together with a cancel has happened, and is not thrown
            // away.
            biased;
            answer = &mut handle.rx => read(answer.unwrap_or(Err(ServiceError::TransportClosed))),
            () = cancel.cancelled() => {
                take_back(handle, "the call was cancelled").await;
                Err(Trouble::Cancelled)
            }
            () = sleep_until(deadline) => {
                take_back(handle, "the call took too long").await;
                Err(Trouble::TimedOut)
            }
        }
    }

    /// How the server ended, with its last lines of standard error.
    pub(crate) async fn how_it_ended(&self) -> String {
        if self.questions.were_too_many() {
            return self
                .told("it asked on and on without reading the answers".into())
                .await;
        }
        match &mut *self.companion.lock().await {
            Some(companion) => {
                let how = ending(companion).await;
                with_words(how.unwrap_or_else(|| "it closed its output".into()), companion)
            }
            None => "the connection ended".into(),
        }
    }

    /// A complaint with the server's last lines of standard error.
    pub(crate) async fn told(&self, complaint: String) -> String {
        match &*self.companion.lock().await {
            Some(companion) => with_words(complaint, companion),
            None => complaint,
        }
    }

    /// Ends the connection, and the server if it is a program.
    pub(crate) async fn end(&self) {
        if let Some(mut service) = self.service.lock().await.take() {
            let _ = service.close_with_timeout(COURTESY).await;
        }
        if let Some(companion) = self.companion.lock().await.take() {
            companion.end().await;
        }
    }
}

/// Tells the server that the answer is no longer waited for.
async fn take_back(handle: RequestHandle<RoleClient>, why: &str) {
    let _ = timeout(COURTESY, handle.cancel(Some(why.to_owned()))).await;
}

fn read(answer: Result<ServerResult, ServiceError>) -> Result<CallToolResult, Trouble> {
    match answer {
        Ok(ServerResult::CallToolResult(result)) => Ok(result),
        Ok(_) | Err(ServiceError::UnexpectedResponse) => Err(Trouble::Rubbish),
        Err(ServiceError::McpError(error)) => Err(Trouble::Refused(error.message.into_owned())),
        Err(ServiceError::TransportSend(error)) if was_not_sent(&*error.error) => {
            Err(Trouble::Unsent(innermost(&*error.error)))
        }
        Err(ServiceError::TransportSend(error)) => Err(Trouble::Failed(innermost(&*error.error))),
        Err(_) => Err(Trouble::Lost),
    }
}

/// How a program ended, if it has; one that just closed its output may be about to.
async fn ending(companion: &mut Companion) -> Option<String> {
    let status = companion.ends_within(COURTESY).await?;
    Some(format!("it ended with {status}"))
}

/// Why a server on the web did not answer the greeting.
fn unanswered(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => innermost(&*error.error),
        _ => innermost(error),
    }
}

fn too_slow(limit: Duration) -> String {
    format!(
        "it did not answer within {} s; raise `start_timeout` if it needs longer to start",
        limit.as_secs()
    )
}

fn with_words(complaint: String, companion: &Companion) -> String {
    let words = companion.last_words();
    let words = words.trim();
    let beginning = words.ceil_char_boundary(words.len().saturating_sub(SHOWN_WORDS));
    match &words[beginning..] {
        "" => complaint,
        words => format!("{complaint}; the end of its stderr: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_are_not_offered_are_remarked_on_in_few_words() {
        let mut offers = Offers::default();
        for _ in 0..1_000 {
            offers.leave_out(&"n".repeat(5_000), "its name is too long");
        }
        assert_eq!(offers.left_out.len(), MOST_REMARKS + 1);
        assert!(offers.left_out.iter().all(|remark| remark.len() < 250));
    }
}
