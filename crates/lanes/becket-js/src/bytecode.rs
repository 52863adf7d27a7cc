//! Modules that every extension shares are compiled once in a process, and read back as bytecode by the others.
//!
//! This is the only file of becket with `unsafe` in it. The engine believes the bytecode that it is given, so what is
//! read here was written by the same process, stays in private memory, and never comes from a disk.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use rquickjs::module::{Declared, WriteOptions};
use rquickjs::{Ctx, Error, Function, Module};

/// The name of a module inside of the engine, and where in this program its source lies.
type Compiled = HashMap<(String, usize), Arc<[u8]>>;

/// Declares a module whose source is a part of this program. `javascript` makes code of it, the first time only.
pub(crate) fn declare<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    source: &'static str,
    javascript: impl FnOnce() -> Result<Arc<str>, Error>,
) -> Result<Module<'js, Declared>, Error> {
    let key = (name.to_string(), source.as_ptr() as usize);
    let known = compiled().get(&key).cloned();
    if let Some(bytes) = known {
        // SAFETY: `write` has made these bytes below, in this process and by this engine, and nobody can change them.
        // The engine copies what it keeps of them.
        return unsafe { Module::load(ctx.clone(), &bytes) };
    }
    let module = Module::declare(ctx.clone(), name, javascript()?.as_bytes())?;
    // Lines and columns stay, so that errors can name them; nobody asks for the text.
    let options = WriteOptions {
        strip_source: true,
        ..WriteOptions::default()
    };
    let bytes = module.write(options)?;
    compiled().insert(key, bytes.into());
    Ok(module)
}

/// The default export of such a module, which is a function.
pub(crate) fn function<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    source: &'static str,
    javascript: impl FnOnce() -> Result<Arc<str>, Error>,
) -> Result<Function<'js>, Error> {
    let (module, running) = declare(ctx, name, source, javascript)?.eval()?;
    running.finish::<()>()?;
    module.get("default")
}

fn compiled() -> MutexGuard<'static, Compiled> {
    static COMPILED: OnceLock<Mutex<Compiled>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(Mutex::default);
    compiled.lock().expect("no panic happens while bytecode is held")
}
