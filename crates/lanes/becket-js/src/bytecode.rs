//! Modules that all extensions share: compiled once per process, and loaded as bytecode from then on.
//!
//! This is the only file of becket with `unsafe` in it. The engine trusts the bytecode that it is given, so what is
//! loaded here was written by the same process, stays in private memory, and never comes from a disk.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use rquickjs::module::{Declared, WriteOptions};
use rquickjs::{Ctx, Error, Function, Module};

/// Bytecode by the module's name inside of the engine and the address of its source in this program.
type Compiled = HashMap<(String, usize), Arc<[u8]>>;

/// Declares a module whose source is a part of this program. `javascript` compiles it, the first time only.
pub(crate) fn declare<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    source: &'static str,
    javascript: impl FnOnce() -> Result<Arc<str>, Error>,
) -> Result<Module<'js, Declared>, Error> {
    let key = (name.to_string(), source.as_ptr() as usize);
    let known = compiled().get(&key).cloned();
    if let Some(bytes) = known {
        // SAFETY: `write` has made these bytes below, in this process and by this engine, and nothing can change them.
        // The engine copies what it keeps of them.
        return unsafe { Module::load(ctx.clone(), &bytes) };
    }
    let module = Module::declare(ctx.clone(), name, javascript()?.as_bytes())?;
    // Lines and columns stay, so that errors can name them; the source text is not needed.
    let options = WriteOptions {
        strip_source: true,
        ..WriteOptions::default()
    };
    let bytes = module.write(options)?;
    compiled().insert(key, bytes.into());
    Ok(module)
}

/// The default export of a module that is a part of this program, which is a function.
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
