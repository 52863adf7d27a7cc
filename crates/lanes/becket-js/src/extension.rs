//! An extension: a file of TypeScript or JavaScript in its own engine, and the ways to call into it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use std::{iter, thread};

use becket_hooks::{Answered, Failure, Field, ScriptHandler};
use futures_util::future::BoxFuture;
use rquickjs::{Ctx, Error, Function, Value};

use crate::boot;
use crate::clock::Pause;
use crate::entries::{Entry, entry};
use crate::errors::json;
use crate::kit::Kit;
use crate::machine::{Machine, Work};
use crate::outside::{self, EngineChoice, Guest};

/// The name of the embedded engine.
const EMBEDDED: &str = "embedded";

/// Fields longer than this are parsed only when the script looks at them.
const LAZY: usize = 512;

/// A loaded extension. Cloning gives another handle.
#[derive(Clone)]
pub struct Extension(Running);

/// The engine that runs an extension.
#[derive(Clone)]
enum Running {
    Embedded(Arc<Machine>),
    Outside(Arc<Guest>),
}

/// An extension whose engine is chosen, and has started if it is the embedded one. No code of the extension has run.
pub struct Prepared {
    kit: Arc<Kit>,
    name: String,
    file: PathBuf,
    /// The embedded engine.
    machine: Option<Arc<Machine>>,
}

impl Prepared {
    /// Prepares a file. This can be done on any thread.
    pub fn new(kit: &Arc<Kit>, name: &str, file: &Path) -> Result<Self, Failure> {
        let (file, machine) = match outside::place(kit, file)? {
            EngineChoice::Outside => (file.to_path_buf(), None),
            EngineChoice::Inside(reason) => {
                let file = becket_fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
                let machine = boot::machine(kit, name, &file, reason)?;
                (file, Some(machine))
            }
        };
        Ok(Self {
            kit: Arc::clone(kit),
            name: name.to_owned(),
            file,
            machine,
        })
    }

    /// Prepares many files by as many threads as there are processors. The results are in the order of the files.
    pub fn all(kit: &Arc<Kit>, files: &[(&str, &Path)]) -> Vec<Result<Self, Failure>> {
        let threads = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(files.len());
        let prepare = |(name, file): &(&str, &Path)| Self::new(kit, name, file);
        if threads < 2 {
            return files.iter().map(prepare).collect();
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let turns = iter::from_fn(|| {
                let place = next.fetch_add(1, Ordering::Relaxed);
                Some((place, prepare(files.get(place)?)))
            });
            turns.collect::<Vec<_>>()
        };
        let mut prepared: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            let others = threads.into_iter().flat_map(|thread| match thread.join() {
                Ok(prepared) => prepared,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            own.into_iter().chain(others).collect()
        });
        prepared.sort_by_key(|(place, _)| *place);
        prepared.into_iter().map(|(_, prepared)| prepared).collect()
    }

    /// Loads the extension; the prelude starts its exports.
    pub async fn load(self) -> Result<Extension, Failure> {
        let kit = &self.kit;
        let Some(machine) = self.machine else {
            let guest = Guest::load(kit, &self.name, &self.file).await?;
            return Ok(Extension(Running::Outside(guest)));
        };
        let load = Load {
            prelude: kit.prelude,
            file: self.file.to_string_lossy().into_owned(),
        };
        machine.run(kit.limits.timeout, load).await?;
        Ok(Extension(Running::Embedded(machine)))
    }
}

impl Extension {
    /// Loads a file in the engine that it needs; the prelude starts its exports.
    pub async fn load(kit: &Arc<Kit>, name: &str, file: &Path) -> Result<Self, Failure> {
        Prepared::new(kit, name, file)?.load().await
    }

    /// The name of the engine that would run a file; the error says why none can.
    pub fn engine_for(kit: &Arc<Kit>, file: &Path) -> Result<&'static str, Failure> {
        outside::place(kit, file).map(|place| match place {
            EngineChoice::Inside(_) => EMBEDDED,
            EngineChoice::Outside => outside::engine(kit),
        })
    }

    /// The extension's name.
    pub fn name(&self) -> &str {
        match &self.0 {
            Running::Embedded(machine) => &machine.name,
            Running::Outside(guest) => &guest.name,
        }
    }

    /// The name of the engine that runs the extension: `embedded`, `node` or `bun`.
    pub fn engine(&self) -> &'static str {
        match &self.0 {
            Running::Embedded(_) => EMBEDDED,
            Running::Outside(guest) => guest.engine(),
        }
    }

    /// Whether the extension answers immediately if it can: then the future of a call is ready when it is first polled.
    /// In another process every answer takes time.
    pub fn answers_at_once(&self) -> bool {
        matches!(self.0, Running::Embedded(_))
    }

    /// Calls a function that the prelude offers. Argument and result are JSON; `None` for nothing (`undefined`).
    pub async fn invoke(
        &self,
        function: &str,
        argument: &str,
        timeout: Duration,
    ) -> Result<Option<String>, Failure> {
        let machine = match &self.0 {
            Running::Embedded(machine) => machine,
            Running::Outside(guest) => return guest.invoke(function, argument, timeout).await,
        };
        let invoke = Invoke {
            function: function.into(),
            argument: argument.into(),
        };
        machine.run(timeout, invoke).await
    }

    /// A function that the script has registered for events, by its number.
    pub fn handler(&self, number: u32, timeout: Duration) -> Arc<dyn ScriptHandler> {
        let machine = match &self.0 {
            Running::Embedded(machine) => Arc::clone(machine),
            Running::Outside(guest) => return guest.handler(number, timeout),
        };
        Arc::new(KeptHandler {
            machine,
            number,
            timeout,
        })
    }

    /// Whether something is pending that could make the extension's code go on: a timer, or the answer to a call.
    pub fn has_something_coming(&self) -> bool {
        match &self.0 {
            Running::Embedded(machine) => machine.tasks.are_under_way(),
            Running::Outside(guest) => guest.is_busy(),
        }
    }

    /// Stops the clock of all handlers while the result is held, because the user answers a dialog.
    pub fn pause_clock(&self) -> Pause {
        Pause::begin(match &self.0 {
            Running::Embedded(machine) => &machine.clock,
            Running::Outside(guest) => &guest.clock,
        })
    }
}

struct KeptHandler {
    machine: Arc<Machine>,
    number: u32,
    timeout: Duration,
}

impl ScriptHandler for KeptHandler {
    fn call<'a>(&'a self, fields: Vec<Field>) -> BoxFuture<'a, Result<Answered, Failure>> {
        let call = Call {
            number: self.number,
            fields,
            looked_at: Arc::default(),
        };
        Box::pin(self.machine.run(self.timeout, call))
    }
}

/// The work of loading an extension.
struct Load {
    prelude: &'static str,
    file: String,
}

impl Work for Load {
    type Output = ();

    fn start<'js>(&self, ctx: &Ctx<'js>) -> Result<(Value<'js>, Value<'js>), Error> {
        let loading = entry(ctx, Entry::Load)?.call((self.prelude, self.file.as_str()))?;
        Ok((loading, nothing(ctx)))
    }

    fn read<'js>(&self, _: &Ctx<'js>, _: Value<'js>, _: Value<'js>) -> Result<(), Error> {
        Ok(())
    }
}

/// A call of a function that the prelude offers.
struct Invoke {
    function: String,
    argument: String,
}

impl Work for Invoke {
    type Output = Option<String>;

    fn start<'js>(&self, ctx: &Ctx<'js>) -> Result<(Value<'js>, Value<'js>), Error> {
        let arguments = (self.function.as_str(), self.argument.as_str());
        Ok((entry(ctx, Entry::Invoke)?.call(arguments)?, nothing(ctx)))
    }

    fn read<'js>(&self, ctx: &Ctx<'js>, result: Value<'js>, _: Value<'js>) -> Result<Option<String>, Error> {
        json(ctx, result, "what it gave back")
    }
}

/// A call of a registered function. Small fields become one object at once; large ones are parsed when the script looks
/// at them.
struct Call {
    number: u32,
    fields: Vec<Field>,
    /// The large fields that the script has looked at or replaced, one bit for each.
    looked_at: Arc<AtomicU64>,
}

impl Work for Call {
    type Output = Answered;

    fn start<'js>(&self, ctx: &Ctx<'js>) -> Result<(Value<'js>, Value<'js>), Error> {
        let event = ctx.json_parse(self.small_fields())?;
        for (at, field) in self
            .fields
            .iter()
            .enumerate()
            .filter(|(at, _)| self.is_large(*at))
        {
            let (json, looked_at) = (Arc::clone(&field.json), Arc::clone(&self.looked_at));
            let load = move |ctx: Ctx<'js>, wanted: bool| {
                looked_at.fetch_or(1 << at, Ordering::Relaxed);
                match wanted {
                    true => ctx.json_parse(&*json),
                    false => Ok(nothing(&ctx)),
                }
            };
            let load = Function::new(ctx.clone(), load)?;
            entry(ctx, Entry::Lazy)?.call::<_, ()>((event.clone(), field.name, load))?;
        }
        let returned = entry(ctx, Entry::Fire)?.call((self.number, event.clone()))?;
        Ok((returned, event))
    }

    fn read<'js>(&self, ctx: &Ctx<'js>, result: Value<'js>, event: Value<'js>) -> Result<Answered, Error> {
        let mut answered = Answered {
            returned: json(ctx, result, "what the handler returned")?,
            changed: Vec::new(),
        };
        for (at, field) in self.fields.iter().enumerate() {
            let looked_at = self.looked_at.load(Ordering::Relaxed) & (1 << at) != 0;
            if !field.mutable || (self.is_large(at) && !looked_at) {
                continue;
            }
            let value: Value = event.as_object().ok_or(Error::Unknown)?.get(field.name)?;
            let now = json(ctx, value, field.name)?.unwrap_or_else(|| "null".into());
            if now != *field.json && now != rewritten(ctx, &field.json)? {
                answered.changed.push((field.name, now));
            }
        }
        Ok(answered)
    }
}

impl Call {
    fn is_large(&self, at: usize) -> bool {
        at < u64::BITS as usize && self.fields[at].json.len() > LAZY
    }

    /// The JSON of an object with all small fields.
    fn small_fields(&self) -> String {
        let small = || {
            (0..self.fields.len())
                .filter(|at| !self.is_large(*at))
                .map(|at| &self.fields[at])
        };
        let length: usize = small().map(|field| field.name.len() + field.json.len() + 4).sum();
        let mut text = String::with_capacity(length + 3);
        for field in small() {
            text.push(if text.is_empty() { '{' } else { ',' });
            for piece in ["\"", field.name, "\":", &field.json] {
                text.push_str(piece);
            }
        }
        text.push_str(if text.is_empty() { "{}" } else { "}" });
        text
    }
}

/// JSON as the engine writes it, to compare with: it writes `1.0` as `1`, which is no change by the script.
fn rewritten(ctx: &Ctx<'_>, text: &str) -> Result<String, Error> {
    let value = ctx.json_parse(text)?;
    Ok(json(ctx, value, "a field")?.unwrap_or_default())
}

fn nothing<'js>(ctx: &Ctx<'js>) -> Value<'js> {
    Value::new_undefined(ctx.clone())
}
