//! The functions of the first scripts that Rust calls.

use rquickjs::{Ctx, Error, Exception, Function, Object};

/// The functions of `bootstrap.ts` and `modules.ts` that Rust calls. They are stored where no script can reach them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Entry {
    Load,
    Fire,
    Lazy,
    Promised,
    Attach,
    Invoke,
    Settle,
    Rejected,
    TakeFloating,
    Ring,
    Seal,
    Builtin,
    Require,
    Describe,
}

impl Entry {
    const ALL: [Self; 14] = [
        Self::Load,
        Self::Fire,
        Self::Lazy,
        Self::Promised,
        Self::Attach,
        Self::Invoke,
        Self::Settle,
        Self::Rejected,
        Self::TakeFloating,
        Self::Ring,
        Self::Seal,
        Self::Builtin,
        Self::Require,
        Self::Describe,
    ];

    /// The function's name in TypeScript.
    fn name(self) -> String {
        let mut name = format!("{self:?}");
        name[..1].make_ascii_lowercase();
        name
    }
}

/// Stores the functions that the two scripts offer.
pub(crate) fn store<'js>(ctx: &Ctx<'js>, first: &Object<'js>, second: &Object<'js>) -> Result<(), Error> {
    let functions = Entry::ALL.iter().map(|entry| {
        let offered = first.get::<_, Option<Function>>(entry.name())?;
        offered.map_or_else(|| second.get(entry.name()), Ok)
    });
    let functions = functions.collect::<Result<Vec<Function>, Error>>()?;
    ctx.store_userdata(functions).map_err(|_| Error::Unknown)?;
    Ok(())
}

/// A stored function.
pub(crate) fn entry<'js>(ctx: &Ctx<'js>, entry: Entry) -> Result<Function<'js>, Error> {
    let entries = ctx.userdata::<Vec<Function>>();
    let function = entries.and_then(|entries| entries.get(entry as usize).cloned());
    function.ok_or_else(|| Exception::throw_message(ctx, "the engine is not ready yet"))
}
