//! A session as the server sees it: what can be asked of it at any time, while its worker does one thing after another.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{Error, SessionId, StopReason};
use becket_face_kit::Options;
use becket_store::ContextName;
use becket_system::{Listener, Surroundings};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_local};
use tokio_util::sync::CancellationToken;

use super::prompt::Prompt;
use super::settings::Settings;
use super::turns::Turns;
use super::updates::Updates;
use super::wire::Editor;
use super::worker::{Work, Worker};

/// A session of an editor. Its id is the name of its context.
pub struct Session {
    pub id: SessionId,
    /// The folder in which it works.
    pub folder: PathBuf,
    settings: Rc<Settings>,
    updates: Arc<Updates>,
    turns: Arc<Turns>,
    work: UnboundedSender<Work>,
    /// Ends the session.
    over: CancellationToken,
    worker: RefCell<Option<JoinHandle<()>>>,
}

impl Session {
    /// Opens a session in a context. Its worker begins when the caller waits for something.
    pub fn open(
        name: &ContextName,
        options: Options,
        surroundings: Surroundings,
        (editor, has_notices): (Arc<Editor>, bool),
    ) -> Result<Rc<Self>, Error> {
        let (id, folder) = (SessionId::new(name.as_str()), surroundings.cwd.clone());
        let settings = Rc::new(Settings::new(options.run.permission_mode.clone()));
        let updates = Arc::new(Updates::new(editor, id.clone(), &surroundings, has_notices));
        let listening = Arc::downgrade(&updates);
        let listener = Listener::new(move |words| {
            if let Some(updates) = listening.upgrade() {
                updates.remark(words);
            }
        });
        let surroundings = Surroundings {
            listener,
            ..surroundings
        };
        let (turns, over) = (Arc::new(Turns::default()), CancellationToken::new());
        let (sender, work) = unbounded_channel();
        let worker = Worker::new(
            (name.clone(), options, surroundings),
            (Arc::clone(&updates), Arc::clone(&turns), Rc::clone(&settings)),
            over.clone(),
        );
        Ok(Rc::new(Self {
            id,
            folder,
            settings,
            updates,
            turns,
            work: sender,
            over,
            worker: RefCell::new(Some(spawn_local(worker.run(work)))),
        }))
    }

    /// The mode and the model.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What the editor is told.
    pub fn updates(&self) -> &Updates {
        &self.updates
    }

    /// Runs a prompt after those before it. The prompt has its place when this returns.
    pub fn prompt(&self, prompt: Prompt) -> impl Future<Output = Result<StopReason, Error>> + use<> {
        let turn = Turns::begin(&self.turns, &self.over);
        let (reply, answer) = oneshot::channel();
        // Without a worker, the reply is dropped: the session is over.
        let _ = self.work.send(Work { prompt, turn, reply });
        async move { answer.await.unwrap_or(Ok(StopReason::Cancelled)) }
    }

    /// Cancels all prompts that were sent so far.
    pub fn cancel(&self) {
        self.turns.cancel();
    }

    /// Ends the session, and waits until everything is stored.
    pub async fn close(&self) {
        self.over.cancel();
        let worker = self.worker.borrow_mut().take();
        if let Some(worker) = worker {
            let _ = worker.await;
        }
    }
}
