//! An editor, made of the client of the protocol's own SDK, around the real binary.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, ClientSessionCapabilities, FileSystemCapabilities, InitializeRequest,
    InitializeResponse, LoadSessionRequest, NewSessionRequest, NewSessionResponse, NoticeCapabilities,
    PromptRequest, PromptResponse, ReadTextFileRequest, ReadTextFileResponse, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome, SessionId,
    SessionNotification, WriteTextFileRequest, WriteTextFileResponse,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent, Client, Error, JsonRpcNotification, JsonRpcRequest, Lines};
use futures::channel::mpsc;
use futures::{SinkExt, StreamExt};
use serde_json::Value;
use testkit::Room;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// How long something may take that a busy machine does slowly.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

type Job = Box<dyn FnOnce(ConnectionTo<Agent>) + Send>;

/// An editor that has started becket.
pub struct Editor {
    child: Child,
    jobs: Option<UnboundedSender<Job>>,
    questions: Receiver<Asked>,
    seen: Arc<Seen>,
    stderr: Option<std::thread::JoinHandle<String>>,
}

/// What the editor has been told.
#[derive(Default)]
struct Seen {
    updates: Mutex<Vec<SessionNotification>>,
    told: Condvar,
    /// Every line of standard output.
    lines: Mutex<Vec<String>>,
    /// The texts of open files, which may not be saved.
    buffers: Mutex<BTreeMap<PathBuf, String>>,
    /// What the editor was asked to do with files, in order: `read` or `write`, and the file's name.
    file_requests: Mutex<Vec<(&'static str, String)>>,
    /// Why the editor reads no file.
    reading_refusal: Mutex<Option<&'static str>>,
    /// Why the editor writes no file.
    refusal: Mutex<Option<&'static str>>,
}

impl Seen {
    fn note(&self, what: &'static str, file: &Path) {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        self.file_requests.lock().unwrap().push((what, name));
    }

    fn read(&self, request: &ReadTextFileRequest) -> Result<ReadTextFileResponse, Error> {
        self.note("read", &request.path);
        if let Some(why) = *self.reading_refusal.lock().unwrap() {
            return Err(Error::new(-32603, why));
        }
        let buffers = self.buffers.lock().unwrap();
        let saved = || std::fs::read_to_string(&request.path).ok();
        let text = buffers.get(&request.path).cloned().or_else(saved);
        let text = text.ok_or_else(|| Error::new(-32002, "there is no such file"))?;
        Ok(ReadTextFileResponse::new(text))
    }

    /// Writes a file, and saves it.
    fn write(&self, request: &WriteTextFileRequest) -> Result<WriteTextFileResponse, Error> {
        self.note("write", &request.path);
        if let Some(why) = *self.refusal.lock().unwrap() {
            return Err(Error::new(-32603, why));
        }
        std::fs::write(&request.path, &request.content).unwrap();
        let mut buffers = self.buffers.lock().unwrap();
        buffers.insert(request.path.clone(), request.content.clone());
        Ok(WriteTextFileResponse::new())
    }
}

/// A question that waits for the user.
pub struct Asked {
    pub request: RequestPermissionRequest,
    responder: Responder<RequestPermissionResponse>,
}

impl Asked {
    /// The names of the options.
    pub fn options(&self) -> Vec<&str> {
        let options = self.request.options.iter();
        options.map(|option| option.name.as_str()).collect()
    }

    /// The question as JSON.
    pub fn json(&self) -> Value {
        serde_json::to_value(&self.request).unwrap()
    }

    /// Chooses the option whose name begins like this.
    pub fn choose(self, beginning: &str) {
        let mut options = self.request.options.iter();
        let option = options.find(|option| option.name.starts_with(beginning));
        let option = option.unwrap_or_else(|| panic!("{beginning}: {:?}", self.options()));
        let selected = SelectedPermissionOutcome::new(option.option_id.clone());
        self.answer(RequestPermissionOutcome::Selected(selected));
    }

    /// Closes the question without an answer.
    pub fn cancel(self) {
        self.answer(RequestPermissionOutcome::Cancelled);
    }

    /// Answers with an error, as an editor does that cannot ask.
    pub fn fail(self, why: &str) {
        self.responder
            .respond_with_error(Error::new(-32603, why))
            .unwrap();
    }

    fn answer(self, outcome: RequestPermissionOutcome) {
        self.responder
            .respond(RequestPermissionResponse::new(outcome))
            .unwrap();
    }
}

/// A request that is not answered yet.
pub struct Pending<T>(Receiver<Result<T, Error>>);

impl<T> Pending<T> {
    pub fn wait(self) -> Result<T, Error> {
        self.0.recv_timeout(TEST_TIMEOUT).expect("an answer")
    }
}

impl Editor {
    /// Starts `becket acp`, which has not been initialized.
    pub fn start(room: &Room, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().chain(&["acp"]);
        let mut command = room.command(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("becket can be started");
        let mut errors = child.stderr.take().expect("a pipe");
        let stderr = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = errors.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let seen = Arc::<Seen>::default();
        let (asked, questions) = channel();
        let jobs = connect(&mut child, &seen, asked);
        Self {
            child,
            jobs: Some(jobs),
            questions,
            seen,
            stderr: Some(stderr),
        }
    }

    /// Starts `becket acp` with a scripted model, and initializes it.
    pub fn with_model(room: &Room, turns: &Value, arguments: &[&str]) -> Self {
        let model = room.model(turns);
        Self::open(room, &[&["--model", &model], arguments].concat())
    }

    /// Starts `becket acp`, and initializes it.
    pub fn open(room: &Room, arguments: &[&str]) -> Self {
        let editor = Self::start(room, arguments);
        editor.initialize().expect("it is initialized");
        editor
    }

    pub fn initialize(&self) -> Result<InitializeResponse, Error> {
        let session = ClientSessionCapabilities::new().notices(NoticeCapabilities::new());
        let capabilities = ClientCapabilities::new().session(session);
        self.ask(InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities))
    }

    /// Starts `becket acp` with a scripted model, in an editor that reads and writes files.
    pub fn with_files(room: &Room, turns: &Value, arguments: &[&str]) -> Self {
        let model = room.model(turns);
        let editor = Self::start(room, &[&["--model", &model], arguments].concat());
        let files = FileSystemCapabilities::new()
            .read_text_file(true)
            .write_text_file(true);
        let capabilities = ClientCapabilities::new().fs(files);
        let request = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities);
        editor.ask(request).expect("it is initialized");
        editor
    }

    /// Opens a file with a text that is not saved.
    pub fn type_into(&self, file: PathBuf, text: &str) {
        self.seen.buffers.lock().unwrap().insert(file, text.into());
    }

    /// From now on the editor reads no file.
    pub fn refuse_to_read(&self, why: &'static str) {
        *self.seen.reading_refusal.lock().unwrap() = Some(why);
    }

    /// From now on the editor writes no file.
    pub fn refuse_to_write(&self, why: &'static str) {
        *self.seen.refusal.lock().unwrap() = Some(why);
    }

    /// What the editor was asked to do with files: `read` or `write`, and the file's name.
    pub fn file_requests(&self) -> Vec<(&'static str, String)> {
        self.seen.file_requests.lock().unwrap().clone()
    }

    /// Sends a request, and waits for the answer.
    pub fn ask<R>(&self, request: R) -> Result<R::Response, Error>
    where
        R: JsonRpcRequest + Send + 'static,
        R::Response: Send,
    {
        self.begin(request).wait()
    }

    /// Sends a request.
    pub fn begin<R>(&self, request: R) -> Pending<R::Response>
    where
        R: JsonRpcRequest + Send + 'static,
        R::Response: Send,
    {
        let (sender, receiver) = channel();
        self.run(Box::new(move |agent| {
            let sent = agent.send_request(request);
            tokio::spawn(async move {
                let _ = sender.send(sent.block_task().await);
            });
        }));
        Pending(receiver)
    }

    pub fn notify(&self, notification: impl JsonRpcNotification + Send + 'static) {
        self.run(Box::new(move |agent| {
            agent.send_notification(notification).unwrap();
        }));
    }

    fn run(&self, job: Job) {
        let jobs = self.jobs.as_ref().expect("standard input is open");
        assert!(jobs.send(job).is_ok(), "the connection is open");
    }

    /// Opens a session in a folder.
    pub fn session(&self, folder: &Path) -> SessionId {
        self.new_session(folder).session_id
    }

    pub fn new_session(&self, folder: &Path) -> NewSessionResponse {
        self.ask(NewSessionRequest::new(folder)).expect("a session")
    }

    /// Replays a stored conversation.
    pub fn load(&self, id: &SessionId, folder: &Path) -> Result<(), Error> {
        self.ask(LoadSessionRequest::new(id.clone(), folder)).map(|_| ())
    }

    /// Sends a prompt, and waits for its end.
    pub fn prompt(&self, id: &SessionId, text: &str) -> PromptResponse {
        self.begin_prompt(id, text).wait().expect("an answer")
    }

    pub fn begin_prompt(&self, id: &SessionId, text: &str) -> Pending<PromptResponse> {
        self.begin(PromptRequest::new(id.clone(), vec![text.into()]))
    }

    /// The next question.
    pub fn question(&self) -> Asked {
        self.questions.recv_timeout(TEST_TIMEOUT).expect("a question")
    }

    /// A question, if one waits.
    pub fn try_question(&self) -> Option<Asked> {
        self.questions.try_recv().ok()
    }

    /// Whether a question waits, which nobody answers any more.
    pub fn is_asked(&self) -> bool {
        self.try_question().is_some()
    }

    /// The updates of a session so far, as JSON.
    pub fn updates(&self, id: &SessionId) -> Vec<Value> {
        let updates = self.seen.updates.lock().unwrap();
        let updates = updates.iter().filter(|update| update.session_id == *id);
        updates
            .map(|update| serde_json::to_value(&update.update).unwrap())
            .collect()
    }

    /// The updates of one kind.
    pub fn updates_of(&self, id: &SessionId, kind: &str) -> Vec<Value> {
        let mut updates = self.updates(id);
        updates.retain(|update| update["sessionUpdate"] == kind);
        updates
    }

    /// The words of the chunks of one kind, joined.
    pub fn words(&self, id: &SessionId, kind: &str) -> String {
        let chunks = self.updates_of(id, kind).into_iter();
        chunks
            .filter_map(|chunk| chunk["content"]["text"].as_str().map(ToOwned::to_owned))
            .collect()
    }

    /// What the model said.
    pub fn answer(&self, id: &SessionId) -> String {
        self.words(id, "agent_message_chunk")
    }

    /// Waits until an update of a session fits, and returns it.
    pub fn wait_for(&self, id: &SessionId, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + TEST_TIMEOUT;
        loop {
            let found = self.updates(id).into_iter().find(|update| fits(update));
            if let Some(found) = found {
                return found;
            }
            assert!(
                Instant::now() < until,
                "{what} did not come: {:#?}",
                self.updates(id)
            );
            let updates = self.seen.updates.lock().unwrap();
            let _ = self.seen.told.wait_timeout(updates, Duration::from_millis(200));
        }
    }

    /// The last state of a tool call whose title begins like this.
    pub fn call(&self, id: &SessionId, title: &str) -> Value {
        let mut call = Value::Null;
        for update in self.updates(id) {
            let kind = update["sessionUpdate"].as_str().unwrap_or_default();
            let begins = update["title"]
                .as_str()
                .is_some_and(|text| text.starts_with(title));
            if kind == "tool_call" && begins {
                call = update;
            } else if kind == "tool_call_update" && update["toolCallId"] == call["toolCallId"] {
                for (name, value) in update.as_object().unwrap() {
                    call[name] = value.clone();
                }
            }
        }
        assert!(!call.is_null(), "no call {title}: {:#?}", self.updates(id));
        call
    }

    /// Closes standard input and waits for the end. Returns the exit code, and what was on standard error.
    pub fn leave(mut self) -> (i32, String) {
        self.jobs = None;
        let status = self.child.wait().expect("it ends");
        let stderr = self.stderr.take().map(|thread| thread.join().unwrap());
        for line in self.lines() {
            let line: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
            assert_eq!(line["jsonrpc"], "2.0", "{line}");
        }
        (status.code().unwrap_or(-1), stderr.unwrap_or_default())
    }

    /// Every line of standard output so far.
    pub fn lines(&self) -> Vec<String> {
        self.seen.lines.lock().unwrap().clone()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.jobs = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connects the SDK's client to the program, on a thread of its own. When the returned sender is dropped, standard
/// input is closed.
fn connect(
    child: &mut Child,
    seen: &Arc<Seen>,
    asked: std::sync::mpsc::Sender<Asked>,
) -> UnboundedSender<Job> {
    let (mut input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
    let (to_agent, mut outgoing) = mpsc::unbounded::<String>();
    let (incoming, from_agent) = mpsc::unbounded::<std::io::Result<String>>();
    hear(output, Arc::clone(seen), incoming);
    let (jobs, mut todo) = unbounded_channel::<Job>();
    let (seen, reading, writing) = (Arc::clone(seen), Arc::clone(seen), Arc::clone(seen));
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let transport = Lines::new(to_agent.sink_map_err(std::io::Error::other), from_agent);
        let client = Client
            .v1()
            .on_receive_notification(
                async move |notification: SessionNotification, _| {
                    seen.updates.lock().unwrap().push(notification);
                    seen.told.notify_all();
                    Ok(())
                },
                agent_client_protocol::on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _| {
                    let _ = asked.send(Asked { request, responder });
                    Ok(())
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |request: ReadTextFileRequest, responder: Responder<ReadTextFileResponse>, _| {
                    responder.respond_with_result(reading.read(&request))
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |request: WriteTextFileRequest, responder: Responder<WriteTextFileResponse>, _| {
                    responder.respond_with_result(writing.write(&request))
                },
                agent_client_protocol::on_receive_request!(),
            );
        let work = client.connect_with(transport, async move |agent: ConnectionTo<Agent>| {
            while let Some(job) = todo.recv().await {
                job(agent.clone());
            }
            Ok(())
        });
        runtime.unwrap().block_on(async {
            let writing = async {
                while let Some(line) = outgoing.next().await {
                    let Some(input) = &mut input else { return };
                    if writeln!(input, "{line}").and_then(|()| input.flush()).is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                _ = work => {}
                () = writing => {}
            }
        });
    });
    jobs
}

/// Notes each line of the program and hands it to the client.
fn hear(output: ChildStdout, seen: Arc<Seen>, incoming: mpsc::UnboundedSender<std::io::Result<String>>) {
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            seen.lines.lock().unwrap().push(line.clone());
            let _ = incoming.unbounded_send(Ok(line));
        }
    });
}
