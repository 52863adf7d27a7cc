//! Starts an engine: runs the first scripts in it, and stores what they offer to Rust.

use std::path::Path;
use std::sync::Arc;

use becket_hooks::Failure;
use rquickjs::{Ctx, Error, Object};

use crate::entries::{self, Entry, entry};
use crate::kit::Kit;
use crate::machine::Machine;
use crate::natives::natives;

/// The scripts that run first in every engine. Each exports a function that returns functions for Rust; the second is
/// given the object that the first has made.
const BOOTSTRAP: &str = include_str!("js/bootstrap.ts");
const MODULES: &str = include_str!("js/modules.ts");

/// A machine that is ready to load the extension with this file; `not_outside` says why it is not run by Node.
pub(crate) fn machine(
    kit: &Arc<Kit>,
    name: &str,
    file: &Path,
    not_outside: String,
) -> Result<Arc<Machine>, Failure> {
    let machine = Machine::new(kit, name, file, not_outside)?;
    machine.enter(kit.limits.timeout, |ctx| boot(&machine, ctx))?;
    Ok(machine)
}

fn boot(machine: &Arc<Machine>, ctx: &Ctx<'_>) -> Result<(), Error> {
    let natives = natives(machine, ctx)?;
    machine.modules.install(ctx, &natives)?;
    machine.node.install(ctx, &natives)?;
    let first: Object = machine
        .shared_function(ctx, "bootstrap", BOOTSTRAP)?
        .call((natives,))?;
    let becket: Object = ctx.globals().get("__becket")?;
    let second: Object = machine
        .shared_function(ctx, "modules", MODULES)?
        .call((becket,))?;
    entries::store(ctx, &first, &second)?;
    entry(ctx, Entry::Seal)?.call(())
}
