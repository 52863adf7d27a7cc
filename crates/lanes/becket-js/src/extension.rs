//! An extension: a file of TypeScript or JavaScript in an engine of its own, and the ways to call into it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use becket_hooks::{Answered, Failure, Field, ScriptHandler};
use futures_util::future::BoxFuture;
use rquickjs::{Ctx, Error, Function, Value};

use crate::clock::{Pause, Watch};
use crate::errors::json;
use crate::host::{Host, Reporter};
use crate::machine::{Entry, Limits, Machine, Work, entry};
use crate::outside::{self, Guest, Outside, Place};
use crate::resolve::HostModule;
use crate::transform::Transformer;

/// The embedded engine, in a word.
const EMBEDDED: &str = "embedded";

/// A field longer than this is read when the script looks at it.
const LAZY: usize = 512;

/// What extensions of one program share.
pub struct Kit {
    /// The module that is given each extension's exports: its default export is called with them.
    pub prelude: &'static str,
    /// The modules that extensions can import by name, the prelude among them.
    pub modules: Vec<HostModule>,
    /// Makes JavaScript of TypeScript.
    pub transformer: Transformer,
    /// Answers what scripts ask for.
    pub host: Arc<dyn Host>,
    /// Hears what no caller waits for.
    pub reporter: Arc<dyn Reporter>,
    /// What one extension may use.
    pub limits: Limits,
    /// Where extensions find themselves.
    pub surroundings: Surroundings,
    /// What extensions may use outside of their engine.
    pub allowed: Allowed,
    /// The engine outside of this one, for those who need it.
    pub outside: Outside,
    /// How often everything was told to end. Asked while code runs: code that began before the last time is ended.
    pub cancels: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Knows which extensions run too long.
    pub watch: Arc<Watch>,
}

/// Where extensions find themselves.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The working directory.
    pub directory: PathBuf,
    /// The environment, for the extensions and for what they start.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// The person's home.
    pub home: PathBuf,
    /// The path of the program, for `process.execPath` and the first word of `process.argv`.
    pub program: PathBuf,
}

/// What extensions may use outside of their engine. What is not allowed throws an error that names the setting.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// Files.
    pub files: bool,
    /// Other programs.
    pub processes: bool,
    /// The network.
    pub network: bool,
    /// How the settings begin that allow these, for the error; each goes on with its name here.
    pub setting: &'static str,
}

impl Default for Allowed {
    fn default() -> Self {
        Self {
            files: true,
            processes: true,
            network: true,
            setting: "allowed.",
        }
    }
}

/// A loaded extension. Cloning gives another handle.
#[derive(Clone)]
pub struct Extension(Running);

/// What runs an extension.
#[derive(Clone)]
enum Running {
    Embedded(Arc<Machine>),
    Outside(Arc<Guest>),
}

impl Extension {
    /// Loads a file and lets the prelude start what it exports, in the engine that it needs.
    pub async fn load(kit: &Arc<Kit>, name: &str, file: &Path) -> Result<Self, Failure> {
        let reason = match outside::place(kit, file)? {
            Place::Outside => return Ok(Self(Running::Outside(Guest::load(kit, name, file).await?))),
            Place::Inside(reason) => reason,
        };
        let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
        let machine = Machine::new(kit, name, &file, reason)?;
        let load = Load {
            prelude: kit.prelude,
            file: file.to_string_lossy().into_owned(),
        };
        machine.run(kit.limits.timeout, load).await?;
        Ok(Self(Running::Embedded(machine)))
    }

    /// What would run a file, in a word; the error says why nothing can.
    pub fn engine_for(kit: &Arc<Kit>, file: &Path) -> Result<&'static str, Failure> {
        outside::place(kit, file).map(|place| match place {
            Place::Inside(_) => EMBEDDED,
            Place::Outside => outside::engine(kit),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match &self.0 {
            Running::Embedded(machine) => &machine.name,
            Running::Outside(guest) => &guest.name,
        }
    }

    /// What runs it, in a word: `embedded`, `node` or `bun`.
    pub fn engine(&self) -> &'static str {
        match &self.0 {
            Running::Embedded(_) => EMBEDDED,
            Running::Outside(guest) => guest.engine(),
        }
    }

    /// Whether it answers at once what it can: then the future of a call is ready when it is first polled. In a process
    /// of its own every answer takes its time.
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

    /// A function that the script keeps for events, by its number.
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

    /// Whether something is on its way that could make its code go on: a timer, or the answer to a call.
    pub fn has_something_coming(&self) -> bool {
        match &self.0 {
            Running::Embedded(machine) => machine.tasks.are_under_way(),
            Running::Outside(guest) => guest.is_busy(),
        }
    }

    /// While the result is held, a person answers a dialog, and no handler's time runs out.
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

/// The extension's first moment.
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

/// A call of a kept function. Small fields become one object at once; large ones when somebody looks at them.
struct Call {
    number: u32,
    fields: Vec<Field>,
    /// The large fields that somebody has looked at or replaced, one bit for each.
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

/// JSON as the engine writes it: `1.0` is `1` there, and nobody has changed it.
fn rewritten(ctx: &Ctx<'_>, text: &str) -> Result<String, Error> {
    let value = ctx.json_parse(text)?;
    Ok(json(ctx, value, "a field")?.unwrap_or_default())
}

fn nothing<'js>(ctx: &Ctx<'js>) -> Value<'js> {
    Value::new_undefined(ctx.clone())
}
