//! Node's modules: TypeScript beside this file, and the Rust functions under it.
//!
//! The TypeScript makes its requests by the same two host functions as everything else; names like `fs.stat` are
//! answered here and never reach the host. Whatever leaves the engine goes through [`Node::permit`]: it must be
//! allowed, and it is reported. Bytes from Rust are put into a parcel, whose number is in the answer.
//!
//! Each module is one file of TypeScript with the shape of CommonJS: a function that is called when somebody asks for
//! the module. So one can ask for another at any time, nobody pays for what is not used, and the compiled code is
//! shared by all engines of the process. Bytes that a script gives are base64, because Rust does not read the engine's
//! memory.

mod coder;
mod digests;
mod errors;
mod files;
mod held;
mod pipes;
mod processes;
mod running;
mod state;
mod system;
pub(crate) mod table;
mod watch;
mod watcher;
mod zlib;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rquickjs::{Ctx, Error, Exception, Function, Object, TypedArray};
use serde_json::Value;

pub(crate) use state::Node;
pub use table::{NodeModule, Service, node_modules};

use self::errors::ended;
use self::state::{Asker, Need};
use crate::host::HostError;

impl Node {
    /// Installs the functions that take or return values that are not JSON.
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

    /// Answers synchronously, if this is one of Node's functions.
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

    /// Answers asynchronously, if this is one of Node's functions. Blocking work is done on another thread.
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

    /// Runs a file function on another thread, when it is its turn.
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
