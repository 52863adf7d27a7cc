//! The daemon: hooks that stay loaded between the questions of other agents.
//!
//! One daemon serves one project. Each session of an agent has a thread of its own (`session.rs`), so questions of a
//! session are answered in the order in which they came, and an extension that hangs holds up nobody else. Each
//! connection has a thread as well: it answers before the agent stops waiting, whatever the session does.
//!
//! Before each answer everything that was read is looked at again (`becket_fs`); hooks that have changed are loaded
//! anew. Where the daemon cannot answer it says so, and the client lets `becket bridge` answer.

mod session;
mod status;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use becket_hook::{Frame, Kind, patience, peer_is_same_user};
use becket_host::BridgePayload;
use becket_run::RunOptions;
use becket_system::{Signals, Surroundings};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use self::session::{Job, Session};
use self::status::SessionKey;
pub use self::status::{DaemonStatus, SessionStatus};
use crate::question::{AskedEvent, Mode, Question, TOO_LATE, event_named};

/// How long a client may take to send its question.
const READING: Duration = Duration::from_secs(5);

/// How often the daemon looks for what is no longer needed.
const SWEEP: Duration = Duration::from_secs(1);

/// How long the hooks of a session stay loaded without a question.
const SESSION_IDLE: Duration = Duration::from_secs(10 * 60);

/// How many sessions have their hooks loaded; those that have been silent for longest make room.
const MOST_SESSIONS: usize = 64;

/// How many sessions may hang before the daemon ends: their threads cannot be ended otherwise.
const MOST_LOST: usize = 8;

/// What is printed, or why the client has to answer by itself.
type AnswerOrDecline = Result<Option<Value>, String>;

/// A daemon for one project.
pub struct Daemon {
    options: RunOptions,
    project: PathBuf,
    version: String,
    /// How long the daemon lives without a question.
    idle: Duration,
    state: Mutex<DaemonState>,
    loads: Arc<AtomicU64>,
    /// The signals to the daemon. All questions share them, because whoever listens has a thread for it.
    signals: Signals,
    end: CancellationToken,
}

struct DaemonState {
    sessions: HashMap<SessionKey, Session>,
    started: Instant,
    last_question: Instant,
    questions: u64,
    /// Sessions that did not answer and were given up.
    lost: usize,
}

impl Daemon {
    /// A daemon for a project, which is the current directory of this process.
    pub fn new(
        options: RunOptions,
        (project, version): (PathBuf, String),
        idle: Duration,
        signals: Signals,
    ) -> Arc<Self> {
        let now = Instant::now();
        Arc::new(Self {
            options,
            project,
            version,
            idle,
            state: Mutex::new(DaemonState {
                sessions: HashMap::new(),
                started: now,
                last_question: now,
                questions: 0,
                lost: 0,
            }),
            loads: Arc::default(),
            signals,
            end: CancellationToken::new(),
        })
    }

    /// Answers until nobody has asked for long, somebody stops the daemon, or `is_obsolete` says so.
    pub async fn serve(self: &Arc<Self>, listener: UnixListener, is_obsolete: impl Fn() -> bool) {
        becket_fs::record();
        let accepting = Arc::clone(self);
        std::thread::spawn(move || accepting.accept(&listener));
        while !self.end.is_cancelled() {
            let _ = tokio::time::timeout(SWEEP, self.end.cancelled()).await;
            self.sweep();
            if self.is_useless() || is_obsolete() {
                break;
            }
        }
    }

    /// Ends all sessions.
    pub fn close(&self) {
        self.end.cancel();
        let sessions = std::mem::take(&mut self.state().sessions);
        for session in sessions.into_values() {
            session.close();
        }
    }

    fn state(&self) -> MutexGuard<'_, DaemonState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: Arc<Self>, listener: &UnixListener) {
        for stream in listener.incoming().flatten() {
            let daemon = Arc::clone(&self);
            let started = std::thread::Builder::new().spawn(move || daemon.converse(stream));
            if started.is_err() {
                // Clients answer by themselves when a connection ends.
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// Lets go of sessions that nobody asks about.
    fn sweep(&self) {
        let mut state = self.state();
        let old = state
            .sessions
            .iter()
            .filter(|(_, session)| session.idle() > SESSION_IDLE);
        let old: Vec<SessionKey> = old.map(|(key, _)| key.clone()).collect();
        let gone: Vec<Session> = old.iter().filter_map(|key| state.sessions.remove(key)).collect();
        drop(state);
        drop(gone);
    }

    fn is_useless(&self) -> bool {
        let state = self.state();
        let is_busy = state.sessions.values().any(Session::is_busy);
        state.lost >= MOST_LOST || (!is_busy && state.last_question.elapsed() > self.idle)
    }

    /// One connection: a question and its answer.
    fn converse(&self, mut stream: UnixStream) {
        // The client answers by itself whenever this ends early.
        let _ = (|| {
            stream.set_read_timeout(Some(READING))?;
            stream.set_write_timeout(Some(READING))?;
            if !peer_is_same_user(&stream) {
                return Ok(());
            }
            let frame = Frame::read(&mut stream)?;
            let reply = match frame.kind {
                Kind::Ask => {
                    Frame::bare(Kind::Heard).write(&mut stream)?;
                    match self.answer(&frame) {
                        Ok(answer) => {
                            let text = answer.map_or_else(String::new, |answer| format!("{answer}\n"));
                            Frame::new(Kind::Answer, [text])
                        }
                        Err(why) => Frame::new(Kind::Decline, [why]),
                    }
                }
                Kind::Status => Frame::new(Kind::Status, [serde_json::to_vec(&self.status())?]),
                Kind::Stop => {
                    self.end.cancel();
                    Frame::bare(Kind::Stop)
                }
                _ => return Ok(()),
            };
            reply.write(&mut stream)
        })();
    }

    /// The answer to a question, or why the client has to answer by itself.
    fn answer(&self, frame: &Frame) -> AnswerOrDecline {
        let [version, project, directory, _, input, variables @ ..] = frame.parts.as_slice() else {
            return Err("the question is incomplete".into());
        };
        let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
        if *version != self.version.as_bytes() || path(project) != self.project {
            return Err("this is the daemon of another project or version".into());
        }
        let Some(asked) = self.asked(frame.text(3)) else {
            return Err("the event is not known".into());
        };
        let variables: BTreeMap<OsString, OsString> = variables
            .chunks_exact(2)
            .map(|pair| {
                (
                    OsString::from_vec(pair[0].clone()),
                    OsString::from_vec(pair[1].clone()),
                )
            })
            .collect();
        let payload = match serde_json::from_slice(input) {
            Ok(payload) => BridgePayload(payload),
            Err(error) => {
                let why = format!("the question is not a JSON object: {error}");
                return Ok(asked.unable(&BridgePayload::default(), &why));
            }
        };
        let surroundings = Surroundings {
            signals: self.signals.clone(),
            ..Surroundings::headless(variables, path(directory))
        };
        match Question::within(asked, payload.clone(), &surroundings) {
            Ok((question, surroundings)) => self.ask(question, surroundings),
            Err(why) => Ok(asked.unable(&payload, &why)),
        }
    }

    /// The event that the words of a command line name.
    fn asked(&self, words: &str) -> Option<AskedEvent> {
        let (options, names): (Vec<&str>, Vec<&str>) = words.lines().partition(|word| word.starts_with('-'));
        let [system, event] = names.as_slice() else {
            return None;
        };
        let mode = match options.as_slice() {
            [] => Mode::Enforce,
            ["--shadow"] => Mode::Shadow,
            _ => return None,
        };
        let bridge = self
            .options
            .hosts
            .bridges()
            .find(|bridge| bridge.system == *system)?;
        let event = event_named(bridge, event)?;
        Some(AskedEvent { bridge, event, mode })
    }

    /// Puts a question to the hooks of its session, and does not wait for ever.
    fn ask(&self, question: Question, surroundings: Surroundings) -> AnswerOrDecline {
        if surroundings.cwd != self.project {
            return Err("the question is about another project".into());
        }
        let asked_event = question.asked;
        let payload = question.payload.clone();
        let asked = match question.read() {
            Ok(asked) => asked,
            Err(error) => return Ok(question.answer(Err(error))),
        };
        let key = SessionKey {
            system: asked_event.bridge.system,
            session_id: asked.session_id.clone(),
            mode: asked_event.mode,
        };
        let limit = asked_event.event.timeout;
        let (sender, receiver) = mpsc::channel();
        let job = Job {
            question,
            asked,
            surroundings,
            reply: sender,
            arrived: Instant::now(),
        };
        self.send(&key, job)?;
        match receiver.recv_timeout(limit.mul_f64(patience::DAEMON)) {
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Disconnected) => Err("the session has failed".into()),
            Err(RecvTimeoutError::Timeout) => {
                let mut state = self.state();
                state.lost += usize::from(state.sessions.remove(&key).is_some());
                drop(state);
                Ok(asked_event.unable(&payload, TOO_LATE))
            }
        }
    }

    /// Sends a question to its session, which is made if it is new.
    fn send(&self, key: &SessionKey, job: Job) -> Result<(), String> {
        let mut state = self.state();
        if self.end.is_cancelled() {
            return Err("the daemon ends".into());
        }
        state.last_question = Instant::now();
        state.questions += 1;
        state.sessions.retain(|_, session| !session.has_ended());
        if !state.sessions.contains_key(key) {
            if state.sessions.len() >= MOST_SESSIONS {
                state.make_room();
            }
            let session = Session::start(self.options.clone(), key, Arc::clone(&self.loads))?;
            state.sessions.insert(key.clone(), session);
        }
        let session = state.sessions.get(key).ok_or("the session is gone")?;
        session.send(job)
    }

    fn status(&self) -> DaemonStatus {
        let state = self.state();
        let mut sessions: Vec<SessionStatus> = state.sessions.values().map(Session::status).collect();
        sessions.sort_by(|a, b| (&a.system, &a.session).cmp(&(&b.system, &b.session)));
        DaemonStatus {
            pid: std::process::id(),
            project: self.project.clone(),
            version: self.version.clone(),
            age_seconds: state.started.elapsed().as_secs(),
            idle_seconds: state.last_question.elapsed().as_secs(),
            questions: state.questions,
            loads: self.loads.load(Ordering::Relaxed),
            sessions,
        }
    }
}

impl DaemonState {
    /// Lets go of the session that has been silent for longest.
    fn make_room(&mut self) {
        let quiet = self.sessions.iter().filter(|(_, session)| !session.is_busy());
        let longest = quiet.max_by_key(|(_, session)| session.idle());
        if let Some(key) = longest.map(|(key, _)| key.clone()) {
            self.sessions.remove(&key);
        }
    }
}
