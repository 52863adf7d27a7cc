//! Reads requests of an editor and answers each, while sessions work. The end of standard input ends all sessions.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, CancelNotification, CloseSessionRequest, CloseSessionResponse, Error, ErrorCode,
    FileSystemCapabilities, Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest,
    ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, McpCapabilities, McpServer,
    NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest, PromptResponse,
    ResumeSessionRequest, ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities, SessionId,
    SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
};
use becket_face_kit::Options;
use becket_host::Mode;
use becket_run::{GivenBuffers, GivenServers, RunOptions};
use becket_store::ContextName;
use becket_system::{CliError, Exit, Surroundings};
use futures_util::future::LocalBoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{LocalSet, spawn_local};
use tokio_util::sync::CancellationToken;

use super::files::Files;
use super::prompt::Prompt;
use super::servers::declarations;
use super::session::Session;
use super::stored::{Stored, fresh_name};
use super::wire::{Editor, Incoming, failed, message, wrong};

/// How long sessions may take to end, together; what they started is given up after that.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long an editor may take, after the sessions have ended, to read what becket has still to say. It has closed its
/// end of standard input, so it may have stopped reading too.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves an editor until it closes standard input, or `cancel` is cancelled.
pub async fn serve(
    options: &Options,
    surroundings: &Surroundings,
    cancel: CancellationToken,
) -> Result<Exit, CliError> {
    let editor = Editor::begin();
    let messages = editor.listen();
    let server = Rc::new(Server {
        editor: Arc::clone(&editor),
        options: options.clone(),
        surroundings: surroundings.clone(),
        sessions: RefCell::default(),
        has_notices: Cell::new(false),
        files: RefCell::default(),
        is_initialized: Cell::new(false),
    });
    // Sessions stay on this thread.
    let all = LocalSet::new();
    all.run_until(server.take_messages(messages, &cancel)).await;
    let closed = all.run_until(tokio::time::timeout(CLOSE_TIMEOUT, server.close_all()));
    if closed.await.is_err() {
        surroundings.complain("not all sessions ended in time");
    }
    match tokio::time::timeout(LEAVE_TIMEOUT, editor.finish()).await {
        Ok(written) => written?,
        Err(_) => surroundings.complain("the editor did not read everything that becket wrote"),
    }
    Ok(match cancel.is_cancelled() {
        true if surroundings.signals.ended() => Exit::Terminated,
        true => Exit::Cancelled,
        false => Exit::Answered,
    })
}

/// What all sessions of an editor share.
struct Server {
    editor: Arc<Editor>,
    options: Options,
    surroundings: Surroundings,
    sessions: RefCell<HashMap<SessionId, Rc<Session>>>,
    /// Whether the editor shows notices.
    has_notices: Cell<bool>,
    /// What the editor does with files.
    files: RefCell<FileSystemCapabilities>,
    is_initialized: Cell<bool>,
}

/// The answer to a request.
enum Handled {
    Now(Value),
    /// The answer comes when a session has done its work.
    Later(LocalBoxFuture<'static, Result<Value, Error>>),
}

impl Server {
    async fn take_messages(&self, mut messages: UnboundedReceiver<Incoming>, cancel: &CancellationToken) {
        loop {
            let message = tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                () = self.editor.gone().cancelled() => return,
                message = messages.recv() => message,
            };
            match message {
                None => return,
                Some(Incoming::Request { id, method, params }) => self.take_request(id, &method, params),
                Some(Incoming::Notification { method, params }) => self.hear(&method, params),
            }
        }
    }

    /// Handles a notification. One that is not known has no meaning here.
    fn hear(&self, method: &str, params: Value) {
        if method == "session/cancel"
            && let Ok(notification) = read::<CancelNotification>(params)
            && let Ok(session) = self.session(&notification.session_id)
        {
            session.cancel();
        }
    }

    /// Answers a request. What has an order, such as prompts, has got it when this returns.
    fn take_request(&self, id: Value, method: &str, params: Value) {
        match self.answer(method, params) {
            Ok(Handled::Now(result)) => self.editor.reply(&id, Ok(result)),
            Err(error) => self.editor.reply(&id, Err(error)),
            Ok(Handled::Later(answer)) => {
                let editor = Arc::clone(&self.editor);
                spawn_local(async move { editor.reply(&id, answer.await) });
            }
        }
    }

    fn answer(&self, method: &str, params: Value) -> Result<Handled, Error> {
        if !self.is_initialized.get() && method != "initialize" {
            return Err(Error::new(
                ErrorCode::InvalidRequest.into(),
                "`initialize` comes first",
            ));
        }
        match method {
            "initialize" => now(self.initialize(&read(params)?)),
            "session/new" => now(self.new_session(read(params)?)?),
            "session/load" => now(self.load(read(params)?)?),
            "session/resume" => now(self.resume(read(params)?)?),
            "session/list" => now(self.list(&read(params)?)?),
            "session/set_mode" => now(self.set_mode(&read(params)?)?),
            "session/set_config_option" => now(self.set_option(&read(params)?)?),
            "session/prompt" => self.prompt(read(params)?),
            "session/close" => self.close(&read(params)?),
            _ => Err(Error::new(
                ErrorCode::MethodNotFound.into(),
                format!("there is no method `{method}`"),
            )),
        }
    }

    /// Says what becket can do. becket speaks version 1: an editor that speaks another one decides whether it goes on.
    fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        self.is_initialized.set(true);
        let session = request.client_capabilities.session.as_ref();
        self.has_notices
            .set(session.is_some_and(|session| session.notices.is_some()));
        *self.files.borrow_mut() = request.client_capabilities.fs.clone();
        let has_servers = cfg!(feature = "mcp");
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(has_servers).sse(has_servers))
            .session_capabilities(
                SessionCapabilities::new()
                    .list(SessionListCapabilities::new())
                    .resume(SessionResumeCapabilities::new())
                    .close(SessionCloseCapabilities::new()),
            );
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(Implementation::new("becket", env!("CARGO_PKG_VERSION")).title("becket".to_owned()))
    }

    // ---------------------------------------------------------------- sessions

    fn new_session(&self, request: NewSessionRequest) -> Result<NewSessionResponse, Error> {
        let place = SessionFolder::read(request.cwd, &request.additional_directories, request.mcp_servers)?;
        let name = fresh_name().map_err(|error| failed(error.to_string()))?;
        let session = self.open(&name, place)?;
        let (modes, options) = (session.settings().modes(), session.settings().options());
        Ok(NewSessionResponse::new(session.id.clone())
            .modes(modes)
            .config_options(options))
    }

    fn load(&self, request: LoadSessionRequest) -> Result<LoadSessionResponse, Error> {
        let place = SessionFolder::read(request.cwd, &request.additional_directories, request.mcp_servers)?;
        let session = self.stored_session(&request.session_id, place)?;
        let stored = self.stored()?;
        stored.replay(session.updates())?;
        let settings = session.settings();
        Ok(LoadSessionResponse::new()
            .modes(settings.modes())
            .config_options(settings.options()))
    }

    fn resume(&self, request: ResumeSessionRequest) -> Result<ResumeSessionResponse, Error> {
        let place = SessionFolder::read(request.cwd, &request.additional_directories, request.mcp_servers)?;
        let session = self.stored_session(&request.session_id, place)?;
        let settings = session.settings();
        Ok(ResumeSessionResponse::new()
            .modes(settings.modes())
            .config_options(settings.options()))
    }

    fn list(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        self.stored()?
            .list(request.cwd.as_deref(), request.cursor.as_deref())
    }

    /// The session of a stored conversation: the one that works in it already, or else a new one. One that works
    /// already stays where it is: the editor must not believe that it is elsewhere.
    fn stored_session(&self, id: &SessionId, place: SessionFolder) -> Result<Rc<Session>, Error> {
        match self.session(id) {
            Ok(session) if session.folder == place.cwd => return Ok(session),
            Ok(session) => {
                let folder = session.folder.display();
                return Err(wrong(format!(
                    "the session is open in {folder}; close it before it goes on elsewhere"
                )));
            }
            Err(_) => {}
        }
        let name = self.stored()?.named(id)?;
        self.open(&name, place)
    }

    /// Opens a session. It begins to work when this has returned and the request is answered.
    fn open(&self, name: &ContextName, place: SessionFolder) -> Result<Rc<Session>, Error> {
        let run = RunOptions {
            // The mode of one session is not that of another.
            permission_mode: self.options.run.permission_mode.get().into(),
            servers: place.servers,
            buffers: self.buffers(name, &place.named),
            client: Some(Mode::Rpc),
            keeps_current: true,
            needs_model: true,
            ..self.options.run.clone()
        };
        let options = Options {
            run,
            ..self.options.clone()
        };
        let surroundings = Surroundings {
            cwd: place.cwd,
            stdin_is_terminal: false,
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            ..self.surroundings.clone()
        };
        let editor = (Arc::clone(&self.editor), self.has_notices.get());
        let session = Session::open(name, options, surroundings, editor)?;
        self.sessions
            .borrow_mut()
            .insert(session.id.clone(), Rc::clone(&session));
        Ok(session)
    }

    /// The files of a session, if the editor reads or writes any.
    fn buffers(&self, name: &ContextName, folder: &Path) -> GivenBuffers {
        let offered = self.files.borrow();
        if !offered.read_text_file && !offered.write_text_file {
            return GivenBuffers::default();
        }
        let files = Files::new(Arc::clone(&self.editor), name, folder, &offered);
        GivenBuffers(Some(Arc::new(files)))
    }

    fn session(&self, id: &SessionId) -> Result<Rc<Session>, Error> {
        let session = self.sessions.borrow().get(id).cloned();
        session.ok_or_else(|| wrong(format!("there is no open session `{id}`")))
    }

    fn stored(&self) -> Result<Stored, Error> {
        Stored::open(&self.options.run, &self.surroundings)
    }

    // ---------------------------------------------------------------- what a session does

    fn prompt(&self, request: PromptRequest) -> Result<Handled, Error> {
        let session = self.session(&request.session_id)?;
        let turn = session.prompt(Prompt::read(request.prompt)?);
        Ok(Handled::Later(Box::pin(async move {
            written(PromptResponse::new(turn.await?))
        })))
    }

    fn set_mode(&self, request: &SetSessionModeRequest) -> Result<SetSessionModeResponse, Error> {
        let session = self.session(&request.session_id)?;
        session.settings().set_mode(&request.mode_id.0).map_err(wrong)?;
        session.updates().settings_changed(session.settings());
        Ok(SetSessionModeResponse::new())
    }

    fn set_option(
        &self,
        request: &SetSessionConfigOptionRequest,
    ) -> Result<SetSessionConfigOptionResponse, Error> {
        let session = self.session(&request.session_id)?;
        let settings = session.settings();
        settings
            .set(&request.config_id.0, &request.value)
            .map_err(wrong)?;
        session.updates().settings_changed(settings);
        Ok(SetSessionConfigOptionResponse::new(settings.options()))
    }

    fn close(&self, request: &CloseSessionRequest) -> Result<Handled, Error> {
        let session = self.session(&request.session_id)?;
        self.sessions.borrow_mut().remove(&request.session_id);
        Ok(Handled::Later(Box::pin(async move {
            session.close().await;
            written(CloseSessionResponse::new())
        })))
    }

    /// Ends all sessions, beside each other.
    async fn close_all(&self) {
        let sessions: Vec<Rc<Session>> = self
            .sessions
            .borrow_mut()
            .drain()
            .map(|(_, session)| session)
            .collect();
        let closing = sessions.iter().map(|session| session.close());
        futures_util::future::join_all(closing).await;
    }
}

/// Where a session works, and with what besides the user's own settings.
struct SessionFolder {
    cwd: PathBuf,
    servers: GivenServers,
    /// The folder as the editor names it, which may be a link.
    named: PathBuf,
}

impl SessionFolder {
    fn read(cwd: PathBuf, further: &[PathBuf], servers: Vec<McpServer>) -> Result<Self, Error> {
        if !further.is_empty() {
            return Err(wrong(
                "becket works in one folder: `additionalDirectories` must be empty",
            ));
        }
        let named = cwd;
        let cwd =
            folder(&named).map_err(|why| wrong(format!("cannot work in {}: {why}", named.display())))?;
        let servers = declarations(servers, &cwd).map_err(wrong)?;
        Ok(Self { cwd, named, servers })
    }
}

/// The folder itself, as a shell in it would name it: what is judged is compared with it.
fn folder(path: &Path) -> Result<PathBuf, String> {
    if !path.is_absolute() {
        return Err("the path is not absolute".into());
    }
    let folder = path.canonicalize().map_err(|error| error.to_string())?;
    if folder.to_str().is_none() {
        return Err("its name is not UTF-8 text".into());
    }
    match folder.is_dir() {
        true => Ok(folder),
        false => Err("it is no folder".into()),
    }
}

/// The prompt that a line asks to run, if it does.
pub fn read_prompt(line: &str) -> Option<Result<Prompt, Error>> {
    match message(line)? {
        Incoming::Request { params, .. } => {
            let request = read::<PromptRequest>(params);
            Some(request.and_then(|request| Prompt::read(request.prompt)))
        }
        Incoming::Notification { .. } => None,
    }
}

/// Reads the parameters of a request.
fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|error| wrong(format!("the parameters are wrong: {error}")))
}

fn written(result: impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(result).map_err(|error| failed(error.to_string()))
}

fn now(result: impl Serialize) -> Result<Handled, Error> {
    written(result).map(Handled::Now)
}
