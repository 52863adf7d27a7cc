//! A fake program around an extension: it records the extension's calls, and gives the answers that the test has set.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becket_hooks::{Answered, Failure, Field};
use becket_js::{
    Allowed, Extension, HostError, HostModule, Kit, Limits, Report, Reporter, ScriptHost, Surroundings,
    Transformer,
};
use becket_pi::host_call::{HOST_CALL, HostCall, HostCallAsync};
use becket_pi::services::{Bind, Service};
use becket_pi::{PRELUDE, host_modules, prelude_modules};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub const CALL_TIMEOUT: Duration = Duration::from_secs(20);

type Held = oneshot::Sender<Result<String, HostError>>;

#[derive(Default)]
pub struct Room {
    /// All calls, as JSON.
    asked: Mutex<Vec<Value>>,
    /// The answers by the name of the call.
    answers: Mutex<HashMap<String, Result<Value, String>>>,
    /// Asynchronous calls that were not answered yet.
    held: Mutex<HashMap<String, VecDeque<Held>>>,
    reports: Mutex<Vec<Report>>,
}

fn name_of(call: &Value) -> String {
    let name = call
        .as_str()
        .or_else(|| call.as_object()?.keys().next().map(String::as_str));
    name.expect("a call has a name").to_string()
}

impl Room {
    fn note(&self, call: &Value) -> Option<Result<String, HostError>> {
        self.asked.lock().expect("no panic").push(call.clone());
        let answers = self.answers.lock().expect("no panic");
        let answer = answers.get(&name_of(call))?.clone();
        Some(answer.map(|value| value.to_string()).map_err(HostError::new))
    }
}

impl ScriptHost for Room {
    fn call(&self, _: &str, name: &str, arguments: &str) -> Result<String, HostError> {
        assert_eq!(name, HOST_CALL);
        let call: Value = serde_json::from_str(arguments).expect("JSON");
        if let Err(problem) = HostCall::read(arguments) {
            self.asked
                .lock()
                .expect("no panic")
                .push(json!({ "unreadable": problem }));
            return Err(HostError::new(problem));
        }
        self.note(&call).unwrap_or_else(|| Ok("null".into()))
    }

    fn call_async(
        &self,
        _: &str,
        name: &str,
        arguments: String,
    ) -> BoxFuture<'static, Result<String, HostError>> {
        assert_eq!(name, HOST_CALL);
        let call: Value = serde_json::from_str(&arguments).expect("JSON");
        let read = HostCallAsync::read(&arguments).map_err(HostError::new);
        if let (Ok(_), None) = (&read, self.note(&call)) {
            let (sender, receiver) = oneshot::channel();
            let mut held = self.held.lock().expect("no panic");
            held.entry(name_of(&call)).or_default().push_back(sender);
            return Box::pin(async {
                receiver
                    .await
                    .unwrap_or_else(|_| Err(HostError::new("the room is gone")))
            });
        }
        let answers = self.answers.lock().expect("no panic");
        let answer = answers.get(&name_of(&call)).cloned().unwrap_or(Ok(Value::Null));
        let answer = read.and_then(|_| answer.map(|value| value.to_string()).map_err(HostError::new));
        Box::pin(async { answer })
    }
}

impl Reporter for Room {
    fn report(&self, _: &str, report: Report) {
        self.reports.lock().expect("no panic").push(report);
    }
}

pub struct Loaded {
    pub room: Arc<Room>,
    pub extension: Extension,
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Loads an extension into a fake program with these answers; the session has not begun yet.
pub async fn try_load(source: &str, answers: &[(&str, Value)]) -> Result<Loaded, Failure> {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    let folder = Folder(std::env::temp_dir().join(format!("becket-pi-{}-{number}", std::process::id())));
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let file = folder.0.join("extension.ts");
    std::fs::write(&file, source).expect("a file");
    let room = Arc::new(Room::default());
    let about = json!({ "path": "extension.ts", "cwd": "/work", "mode": "print", "hasUI": false });
    room.answers
        .lock()
        .expect("no panic")
        .insert("about".into(), Ok(about));
    for (name, answer) in answers {
        room.answer(name, answer.clone());
    }
    let modules = prelude_modules().iter().chain(host_modules());
    let modules = modules.map(|module| HostModule {
        names: module.names,
        source: module.source,
    });
    let kit = Arc::new(Kit {
        prelude: PRELUDE,
        modules: modules.collect(),
        transformer: Transformer::default(),
        host: Arc::clone(&room) as _,
        reporter: Arc::clone(&room) as _,
        limits: Limits::default(),
        surroundings: Surroundings::default(),
        allowed: Allowed::default(),
        outside: becket_js::Outside::default(),
        cancels: Box::new(|| 0),
        watch: Arc::default(),
    });
    let extension = Extension::load(&kit, "test", &file).await?;
    Ok(Loaded { room, extension })
}

/// Loads an extension in a session.
pub async fn load(source: &str, answers: &[(&str, Value)]) -> Loaded {
    let loaded = try_load(source, answers).await.expect("it loads");
    loaded.invoke(Bind {}).await;
    loaded
}

/// Loads an extension with this factory body in a session.
pub async fn factory(body: &str, answers: &[(&str, Value)]) -> Loaded {
    load(
        &format!("export default async (pi: any) => {{ {body} }};"),
        answers,
    )
    .await
}

impl Room {
    pub fn answer(&self, name: &str, answer: Value) {
        self.answers
            .lock()
            .expect("no panic")
            .insert(name.into(), Ok(answer));
    }

    pub fn refuse(&self, name: &str, reason: &str) {
        self.answers
            .lock()
            .expect("no panic")
            .insert(name.into(), Err(reason.into()));
    }

    /// The calls with this name, in order.
    pub fn asked(&self, name: &str) -> Vec<Value> {
        let asked = self.asked.lock().expect("no panic");
        let named = asked.iter().filter(|call| name_of(call) == name);
        named
            .map(|call| call.get(name).cloned().unwrap_or(Value::Null))
            .collect()
    }

    /// Waits until there were that many calls with this name.
    pub async fn wait_for(&self, name: &str, times: usize) -> Vec<Value> {
        for _ in 0..2000 {
            let asked = self.asked(name);
            if asked.len() >= times {
                return asked;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{name} was not asked for {times} times: {:?}", self.asked);
    }

    /// Answers the oldest asynchronous call with that name.
    pub fn settle(&self, name: &str, answer: Value) {
        let held = self
            .held
            .lock()
            .expect("no panic")
            .get_mut(name)
            .and_then(VecDeque::pop_front);
        let _ = held.expect("somebody waits").send(Ok(answer.to_string()));
    }

    pub fn reports(&self) -> Vec<String> {
        let reports = self.reports.lock().expect("no panic");
        reports.iter().map(|report| format!("{report:?}")).collect()
    }
}

impl Loaded {
    pub async fn invoke<S: Service>(&self, service: S) -> S::Answer {
        let argument = serde_json::to_string(&service).expect("JSON");
        let answer = self.extension.invoke(S::NAME, &argument, CALL_TIMEOUT).await;
        S::read(
            answer
                .unwrap_or_else(|failure| panic!("{}: {failure}", S::NAME))
                .as_deref(),
        )
        .expect("readable")
    }

    /// Calls the last handler of an event.
    pub async fn fire(&self, event: &str, fields: Vec<Field>) -> Result<Answered, Failure> {
        let handlers = self.room.asked("on");
        let on = handlers
            .iter()
            .rfind(|on| on["event"] == event)
            .expect("a handler");
        let number = on["handler"].as_u64().expect("a number") as u32;
        self.extension.handler(number, CALL_TIMEOUT).call(fields).await
    }

    /// The return value of the handler of the event `probe`.
    pub async fn probe(&self) -> Value {
        let answered = self.fire("probe", Vec::new()).await.expect("an answer");
        answered
            .returned
            .map_or(Value::Null, |text| serde_json::from_str(&text).expect("JSON"))
    }
}
