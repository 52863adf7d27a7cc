//! Answers the questions of a server: it is told where the work is done, and nothing else.

// The protocol is about to drop models and roots; servers of today still ask for them.
#![allow(deprecated)]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use becket_agent::tool::Progress;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ErrorCode, ErrorData, Implementation, ListRootsResult, ProgressNotificationParam,
    ProgressToken, ProtocolVersion, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::mpsc::UnboundedSender;
use url::Url;

use crate::settings::ServerSettings;

/// The client's side of a connection, which answers the server's own requests.
#[derive(Debug)]
pub(crate) struct Guest {
    directory: PathBuf,
    settings: ServerSettings,
    /// The receivers of progress, by the token of the call.
    listeners: Mutex<HashMap<ProgressToken, UnboundedSender<Progress>>>,
    changed: AtomicBool,
}

impl Guest {
    pub(crate) fn new(directory: PathBuf, settings: ServerSettings) -> Self {
        Self {
            directory,
            settings,
            listeners: Mutex::default(),
            changed: AtomicBool::default(),
        }
    }

    /// Passes on a server's progress notifications for a call, until the listener is dropped.
    pub(crate) fn listen(&self, token: ProgressToken, progress: UnboundedSender<Progress>) -> Listening<'_> {
        self.listeners().insert(token.clone(), progress);
        Listening { guest: self, token }
    }

    /// Whether the server has reported that its tools have changed.
    pub(crate) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    fn listeners(&self) -> MutexGuard<'_, HashMap<ProgressToken, UnboundedSender<Progress>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call whose progress is passed on.
pub(crate) struct Listening<'a> {
    guest: &'a Guest,
    token: ProgressToken,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.guest.listeners().remove(&self.token);
    }
}

/// The error for a request that is always refused.
fn refused(what: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, what.to_owned(), None)
}

impl ClientHandler for Guest {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let becket = Implementation::new("becket", env!("CARGO_PKG_VERSION"));
        // The last version that begins with a handshake; servers that know only older ones answer with theirs.
        ClientConfig::new(capabilities, becket).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let directory = Url::from_directory_path(&self.directory);
        let roots = directory.map(|url| vec![Root::new(url)]).unwrap_or_default();
        Ok(ListRootsResult::new(roots))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(refused("becket lends its model to no server; answer without one"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(refused(
            "becket passes no server's questions on to the user; ask for what is needed as an argument",
        ))
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let listener = self.listeners().get(&progress.progress_token).cloned();
        let (Some(listener), Some(message)) = (listener, progress.message) else {
            return;
        };
        let message = self.settings.discreet(&message);
        let _ = listener.send(format!("{message}\n").into());
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}
