//! Node's modules: TypeScript beside this file, and the functions of Rust under it.
//!
//! The TypeScript asks by the same two host functions as everything else; names like `fs.stat` are answered here and
//! never reach the host. Whatever leaves the engine goes through [`Node::permit`]: it must be allowed, and it is told
//! to the reporter. Bytes that Rust gives are put into a parcel, whose number is in the answer.

mod digests;
mod files;
mod held;
mod pipes;
mod processes;
mod system;
mod table;
mod watch;
mod zlib;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use becket_hooks::Mark;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rquickjs::{Ctx, Error, Exception, Function, Object, TypedArray};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

pub use table::{NodeModule, Service, node_modules};

use self::held::{Held, Store};
use self::pipes::Asker;
use crate::clock::Clock;
use crate::extension::Kit;
use crate::host::{HostError, Report};

/// The plain name of what is imported as `name`, if it is one of Node's modules.
pub(crate) fn imported(name: &str) -> Option<&'static str> {
    let plain = name.strip_prefix("node:");
    let found = node_modules().find(|module| module.name == plain.unwrap_or(name))?;
    (plain.is_some() || !found.needs_prefix()).then_some(found.name)
}

/// The TypeScript of a module, and the names that it refuses.
pub(crate) fn source(name: &str) -> Option<(&'static str, &'static str)> {
    table::module(name).map(|module| (module.source, module.refused))
}

/// How many promises may be about files at a time; the others wait for their turn. A file can hold a thread for long.
const FILES_AT_A_TIME: usize = 8;

/// Whether the embedded engine refuses something that one of Node's modules has.
pub(crate) fn is_refused(module: &str, name: &str) -> bool {
    let refused = table::module(module)
        .map(|module| module.refused)
        .unwrap_or_default();
    refused.split_ascii_whitespace().any(|refused| refused == name)
}

/// What an extension must be allowed to use.
#[derive(Debug, Clone, Copy)]
enum Need {
    Files,
    Processes,
    Network,
}

/// The state of Node's modules in one engine.
pub(crate) struct Node {
    kit: Arc<Kit>,
    extension: String,
    clock: Arc<Clock>,
    directory: Mutex<PathBuf>,
    last: AtomicU64,
    /// Whether the extension is over.
    over: AtomicBool,
    store: Arc<Store>,
    parcels: Mutex<HashMap<u64, Held>>,
    files: files::Open,
    file_turns: Arc<Semaphore>,
    watchers: watch::Watchers,
    processes: processes::Processes,
    coders: zlib::Coders,
    /// The mark of all programs that the extension starts, and whether it has started any.
    mark: Mark,
    has_started: AtomicBool,
}

type Answer = Result<Value, HostError>;

impl Node {
    pub(crate) fn new(kit: &Arc<Kit>, extension: &str, clock: &Arc<Clock>) -> Arc<Self> {
        Arc::new(Self {
            kit: Arc::clone(kit),
            extension: extension.into(),
            clock: Arc::clone(clock),
            directory: Mutex::new(kit.surroundings.directory.clone()),
            last: AtomicU64::new(2),
            over: AtomicBool::new(false),
            store: Store::new(kit.limits.memory),
            parcels: Mutex::default(),
            files: Mutex::default(),
            file_turns: Arc::new(Semaphore::new(FILES_AT_A_TIME)),
            watchers: Mutex::default(),
            processes: Mutex::default(),
            coders: Mutex::default(),
            mark: Mark::within(&kit.surroundings.environment),
            has_started: AtomicBool::new(false),
        })
    }

    /// The extension is over: what it has started ends.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        let mut processes = self
            .processes
            .lock()
            .expect("no panic happens while processes are held");
        processes.drain().for_each(|(_, running)| running.end());
        drop(processes);
        if self.has_started.load(Ordering::Relaxed) {
            self.mark.end_all();
        }
        self.watchers
            .lock()
            .expect("no panic happens while watchers are held")
            .clear();
    }

    /// Functions that take or give what is no JSON.
    pub(crate) fn install<'js>(self: &Arc<Self>, ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<(), Error> {
        let node = Arc::clone(self);
        let parcel = move |ctx: Ctx<'js>, number: u64| {
            TypedArray::new_copy(ctx.clone(), node.take(&ctx, number)?.bytes())
        };
        natives.set("parcel", Function::new(ctx.clone(), parcel)?)?;
        let node = Arc::clone(self);
        let text = move |ctx: Ctx<'js>, number: u64| {
            let held = node.take(&ctx, number)?;
            rquickjs::String::from_str(ctx, &String::from_utf8_lossy(held.bytes()))
        };
        natives.set("text", Function::new(ctx.clone(), text)?)?;
        let node = Arc::clone(self);
        natives.set("ticket", Function::new(ctx.clone(), move || node.number())?)?;
        // Copies lie in the engine's own memory, which has a limit.
        let encode = |ctx: Ctx<'js>, text: String| TypedArray::new_copy(ctx, text.as_bytes());
        natives.set("encode", Function::new(ctx.clone(), encode)?)?;
        let decode = |ctx: Ctx<'js>, bytes: String, encoding: String| {
            let bytes = STANDARD.decode(bytes);
            let bytes =
                bytes.map_err(|error| Exception::throw_message(&ctx, &format!("no base64: {error}")))?;
            Ok::<_, Error>(decoded(&bytes, &encoding))
        };
        natives.set("decode", Function::new(ctx.clone(), decode)?)
    }

    /// Answers at once, if it is one of Node's functions.
    pub(crate) fn call(self: &Arc<Self>, name: &str, arguments: &str) -> Option<Result<String, HostError>> {
        self.answer(Asker::Script, name, arguments)
    }

    fn answer(
        self: &Arc<Self>,
        asker: Asker,
        name: &str,
        arguments: &str,
    ) -> Option<Result<String, HostError>> {
        let (area, function) = name.split_once('.')?;
        let arguments = parsed(arguments);
        let answer = match area {
            "fs" if function.starts_with("watch") => watch::call(self, function, &arguments),
            "fs" => files::call(self, asker, function, &arguments),
            "process" => processes::call(self, function, &arguments),
            "crypto" => digests::call(self, function, &arguments),
            "system" => system::call(self, function, &arguments),
            "zlib" => zlib::call(self, function, &arguments),
            _ => return None,
        };
        Some(answer.map(|answer| answer.to_string()))
    }

    /// Answers in its own time, if it is one of Node's functions. What would hold the thread does so on another one.
    pub(crate) fn call_async(
        self: &Arc<Self>,
        name: &str,
        arguments: &str,
    ) -> Option<BoxFuture<'static, Result<String, HostError>>> {
        if name == "fetch" {
            let address = parsed(arguments)["url"].as_str().unwrap_or_default().to_string();
            let refused = self.permit(Need::Network, "fetch", &address).err()?;
            return Some(async move { Err(refused) }.boxed());
        }
        let (area, function) = name.split_once('.')?;
        let answer = match (area, function) {
            ("fs", "watchNext") => watch::next(self, &parsed(arguments)),
            ("process", _) => processes::call_async(self, function, &parsed(arguments)),
            ("fs" | "zlib", _) => {
                let (node, name, arguments) = (Arc::clone(self), name.to_string(), arguments.to_string());
                return Some(node.about_files(name, arguments).boxed());
            }
            _ => return None,
        };
        Some(
            answer
                .map(|answer| answer.map(|answer| answer.to_string()))
                .boxed(),
        )
    }

    /// Does something with files on another thread, when it is its turn.
    async fn about_files(self: Arc<Self>, name: String, arguments: String) -> Result<String, HostError> {
        let turn = Arc::clone(&self.file_turns).acquire_owned().await;
        let work = move || {
            let answer = self.answer(Asker::Promise, &name, &arguments);
            drop(turn);
            answer
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.ok().flatten().unwrap_or_else(|| Err(ended()))
    }

    /// Asks whether something may be used, and tells that it is.
    fn permit(&self, need: Need, what: &'static str, target: &str) -> Result<(), HostError> {
        let allowed = self.kit.allowed;
        let (is_allowed, setting, scope) = match need {
            Need::Files => (allowed.files, "files", "FileSystem"),
            Need::Processes => (allowed.processes, "processes", "ChildProcess"),
            Need::Network => (allowed.network, "network", "Net"),
        };
        if !is_allowed {
            let words = format!(
                "{what} is not allowed to extensions; the setting {}{setting} says so",
                allowed.setting
            );
            let refused = HostError::new(words).with("code", "ERR_ACCESS_DENIED");
            return Err(refused.with("permission", scope).with("resource", target));
        }
        let report = Report::Used {
            what,
            target: target.into(),
        };
        self.kit.reporter.report(&self.extension, report);
        Ok(())
    }

    /// Keeps bytes until the script takes them.
    fn parcel(&self, bytes: Vec<u8>) -> Result<Value, HostError> {
        Ok(self.keep(self.store.hold(bytes)?))
    }

    /// Keeps what is held already until the script takes it.
    fn keep(&self, held: Held) -> Value {
        let number = self.number();
        let mut parcels = self
            .parcels
            .lock()
            .expect("no panic happens while parcels are held");
        parcels.insert(number, held);
        json!({ "parcel": number })
    }

    /// What was kept for the script.
    fn take(&self, ctx: &Ctx<'_>, number: u64) -> Result<Held, Error> {
        let held = self
            .parcels
            .lock()
            .expect("no panic happens while parcels are held")
            .remove(&number);
        held.ok_or_else(|| Exception::throw_message(ctx, "there is no such parcel"))
    }

    fn number(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The working directory of the extension.
    fn directory(&self) -> PathBuf {
        self.directory
            .lock()
            .expect("no panic happens while the directory is held")
            .clone()
    }

    /// A path, seen from the working directory of the extension.
    fn path(&self, path: &str) -> PathBuf {
        if Path::new(path).is_absolute() {
            return path.into();
        }
        self.directory().join(path)
    }
}

/// Bytes as text.
fn decoded(bytes: &[u8], encoding: &str) -> String {
    match encoding {
        "latin1" => bytes.iter().map(|byte| char::from(*byte)).collect(),
        "ascii" => bytes.iter().map(|byte| char::from(*byte & 127)).collect(),
        "utf16le" => {
            let units: Vec<u16> = bytes
                .chunks_exact(2)
                .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
                .collect();
            String::from_utf16_lossy(&units)
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_default()
}

fn ended() -> HostError {
    HostError::new("it was ended before it was done")
}

/// Bytes that a script gives: text, or base64.
fn bytes_of(value: &Value) -> Result<Vec<u8>, HostError> {
    match value {
        Value::String(text) => Ok(text.clone().into_bytes()),
        Value::Object(_) => {
            let text = value["base64"].as_str().unwrap_or_default();
            STANDARD
                .decode(text)
                .map_err(|error| HostError::new(format!("no base64: {error}")))
        }
        _ => Ok(Vec::new()),
    }
}

/// An error of the system as Node shows it.
fn system_error(error: &std::io::Error, syscall: &str, path: Option<&str>, dest: Option<&str>) -> HostError {
    let (code, words) = system::error_name(error);
    let mut message = format!("{code}: {words}, {syscall}");
    if let Some(path) = path {
        message += &format!(" '{path}'");
    }
    if let Some(dest) = dest {
        message += &format!(" -> '{dest}'");
    }
    let mut shown = HostError::new(message)
        .with("code", code)
        .with("syscall", syscall);
    if let Some(number) = error.raw_os_error() {
        shown = shown.with("errno", -number);
    }
    if let Some(path) = path {
        shown = shown.with("path", path);
    }
    if let Some(dest) = dest {
        shown = shown.with("dest", dest);
    }
    shown
}
