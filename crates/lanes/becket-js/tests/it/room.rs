//! A sandbox for extensions under test: a host that keeps handlers, a small prelude, and temporary folders.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becket_hooks::{Failure, Field};
use becket_js::{
    Allowed, Engine, Extension, HostError, HostModule, Kit, Limits, Outside, Report, Reporter, ScriptHost,
    Surroundings, Transformer,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// The prelude: keeps the handlers that an extension names, and tells the host their numbers.
const PRELUDE: &str = r#"
export default async function (module: any) {
    const { host, keep, services } = __becket;
    await module.default({
        on: (name: string, run: (event: any) => unknown) => host.call("on", { name, number: keep(run) }),
        call: (name: string, value: unknown) => host.callAsync(name, value),
        serve: (name: string, run: (value: any) => unknown) => services.set(name, run),
    });
}
"#;

/// `{"packed":"✓"}`, compressed.
const PACKED: &str = "H4sIAAAAAAACA6tWKkhMzk5NUbJSejRnslItANngwkQQAAAA";

const MODULES: &[HostModule] = &[HostModule {
    names: &["test:prelude"],
    source: PRELUDE,
}];

#[derive(Default)]
pub(crate) struct Room {
    pub(crate) handlers: Mutex<Vec<(String, u32)>>,
    pub(crate) reports: Mutex<Vec<Report>>,
    pub(crate) cancels: AtomicU64,
    /// Requests whose body was read once.
    read: Mutex<std::collections::HashSet<String>>,
    /// The identifying part of requests whose answers are compressed.
    packed: Mutex<std::collections::HashSet<String>>,
}

impl ScriptHost for Room {
    fn call(&self, _: &str, name: &str, arguments: &str) -> Result<String, HostError> {
        let value: serde_json::Value = serde_json::from_str(arguments).expect("JSON");
        if name != "on" {
            return Err(HostError::new(format!("no {name} here")).with("code", "ENONE"));
        }
        let number = value["number"].as_u64().expect("a number") as u32;
        let name = value["name"].as_str().expect("a name").to_string();
        self.handlers.lock().expect("no panic").push((name, number));
        Ok(String::new())
    }

    fn call_async(
        &self,
        _: &str,
        name: &str,
        arguments: String,
    ) -> BoxFuture<'static, Result<String, HostError>> {
        let name = name.to_string();
        let fresh = name == "fetch.read" && self.read.lock().expect("no panic").insert(arguments.clone());
        let mut packed = self.packed.lock().expect("no panic");
        if name == "fetch" && arguments.contains("/packed") {
            let asked: serde_json::Value = serde_json::from_str(&arguments).expect("JSON");
            packed.insert(serde_json::json!({ "id": asked["id"] }).to_string());
            let head = r#"{"status":200,"headers":[["content-encoding","gzip"]],"url":"http://a/packed"}"#;
            return async move { Ok(head.into()) }.boxed();
        }
        let is_packed = packed.contains(&arguments);
        async move {
            tokio::task::yield_now().await;
            match name.as_str() {
                "echo" => Ok(arguments),
                "never" => std::future::pending().await,
                "fetch" => Ok(format!(
                    r#"{{"status":201,"statusText":"Created","headers":[["x-asked","{}"]],"url":"http://a/b"}}"#,
                    arguments.len()
                )),
                "fetch.read" if fresh && is_packed => Ok(format!(r#"{{"base64":"{PACKED}"}}"#)),
                "fetch.read" if fresh => Ok(r#"{"base64":"eyJhIjoi4pyTIn0="}"#.into()),
                "fetch.read" => Ok("null".into()),
                "fetch.close" => Ok(String::new()),
                other => Err(HostError::new(format!("no {other} here")).with("code", "ENONE")),
            }
        }
        .boxed()
    }
}

impl Reporter for Room {
    fn report(&self, _: &str, report: Report) {
        self.reports.lock().expect("no panic").push(report);
    }
}

pub(crate) struct Loaded {
    pub(crate) room: Arc<Room>,
    pub(crate) extension: Extension,
    pub(crate) folder: Folder,
}

/// A temporary folder, deleted with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn folder(files: &[(&str, &str)]) -> Folder {
    static LAST: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("becket-js-{}-{number}", std::process::id()));
    for (name, text) in files {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    }
    Folder(folder)
}

/// The environment of the test itself, in a temporary folder.
pub(crate) fn surroundings(folder: &Folder) -> Surroundings {
    Surroundings {
        directory: std::fs::canonicalize(&folder.0).expect("a folder"),
        environment: Arc::new(std::env::vars_os().collect()),
        home: folder.0.clone(),
        program: "/usr/bin/becket".into(),
        itself: becket_js::Itself::default(),
    }
}

/// The kit that extensions of a test share.
pub(crate) fn kit(room: &Arc<Room>, limits: Limits, cache: Option<PathBuf>) -> Kit {
    let cancel = Arc::clone(room);
    Kit {
        prelude: "test:prelude",
        modules: MODULES.to_vec(),
        transformer: Transformer::new(cache),
        host: Arc::clone(room) as _,
        reporter: Arc::clone(room) as _,
        limits,
        surroundings: Surroundings::default(),
        allowed: Allowed::default(),
        outside: Outside::default(),
        watch: Arc::default(),
        cancels: Box::new(move || cancel.cancels.load(Ordering::Relaxed)),
    }
}

pub(crate) async fn load_from(
    folder: Folder,
    file: &str,
    limits: Limits,
    allowed: Allowed,
) -> Result<Loaded, Failure> {
    let room = Arc::new(Room::default());
    let kit = Arc::new(Kit {
        surroundings: surroundings(&folder),
        allowed,
        ..kit(&room, limits, None)
    });
    let extension = Extension::load(&kit, "test", &folder.0.join(file)).await?;
    Ok(Loaded {
        room,
        extension,
        folder,
    })
}

pub(crate) async fn try_load(files: &[(&str, &str)], limits: Limits) -> Result<Loaded, Failure> {
    load_from(folder(files), files[0].0, limits, Allowed::default()).await
}

/// Files, and the kit of an extension among them, with Node set up as given.
pub(crate) fn kit_outside(
    room: &Arc<Room>,
    files: &[(&str, &str)],
    engine: Engine,
    limits: Limits,
) -> (Arc<Kit>, Folder) {
    let folder = folder(files);
    let kit = Kit {
        surroundings: surroundings(&folder),
        outside: Outside::new(engine, None, 1),
        ..kit(room, limits, None)
    };
    (Arc::new(kit), folder)
}

/// Loads files in Node, the first one as the extension.
pub(crate) async fn try_load_outside(files: &[(&str, &str)], limits: Limits) -> Result<Loaded, Failure> {
    let room = Arc::new(Room::default());
    let (kit, folder) = kit_outside(&room, files, Engine::Node, limits);
    let extension = Extension::load(&kit, "test", &folder.0.join(files[0].0)).await?;
    Ok(Loaded {
        room,
        extension,
        folder,
    })
}

pub(crate) async fn load(source: &str) -> Loaded {
    try_load(&[("index.ts", source)], Limits::default())
        .await
        .expect("it loads")
}

impl Loaded {
    /// Fires one event at the first handler of this name, and shows what came back.
    pub(crate) async fn fire(
        &self,
        name: &str,
        fields: Vec<Field>,
    ) -> Result<(Option<String>, Vec<(&'static str, String)>), Failure> {
        self.fire_within(Duration::from_secs(20), name, fields).await
    }

    /// Fires one event with another deadline.
    pub(crate) async fn fire_within(
        &self,
        timeout: Duration,
        name: &str,
        fields: Vec<Field>,
    ) -> Result<(Option<String>, Vec<(&'static str, String)>), Failure> {
        let handlers = self.room.handlers.lock().expect("no panic").clone();
        let (_, number) = handlers
            .iter()
            .find(|(known, _)| known == name)
            .expect("a handler");
        let answered = self.extension.handler(*number, timeout).call(fields).await?;
        Ok((answered.returned, answered.changed))
    }

    /// Waits until a report contains this text, and returns all reports.
    pub(crate) async fn reported(&self, words: &str) -> String {
        for _ in 0..2000 {
            let reports = format!("{:?}", self.room.reports.lock().expect("no panic"));
            if reports.contains(words) {
                return reports;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!(
            "{words:?} was not reported: {:?}",
            self.room.reports.lock().expect("no panic")
        );
    }

    /// Fires an event without fields and returns its result.
    pub(crate) async fn value(&self, name: &str) -> serde_json::Value {
        let (returned, _) = self.fire(name, Vec::new()).await.expect("an answer");
        returned.map_or(serde_json::Value::Null, |text| {
            serde_json::from_str(&text).expect("JSON")
        })
    }
}
