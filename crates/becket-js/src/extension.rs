//! An extension: a file of TypeScript or JavaScript in an engine of its own, and the ways to call into it.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use becket_hooks::{Answered, Failure, Field, ScriptHandler};
use futures_util::future::BoxFuture;
use rquickjs::{Ctx, Error, FromJs, Function, Object, Value};

use crate::host::{Host, Reporter};
use crate::machine::{Limits, Machine, becket};
use crate::resolve::HostModule;
use crate::transform::Transformer;

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
    /// Whether everything must end now; asked while code runs.
    pub cancelled: Box<dyn Fn() -> bool + Send + Sync>,
}

/// A loaded extension. Cloning gives another handle.
#[derive(Clone)]
pub struct Extension(Arc<Machine>);

impl Extension {
    /// Loads a file and lets the prelude start what it exports.
    pub async fn load(kit: &Arc<Kit>, name: &str, file: &Path) -> Result<Self, Failure> {
        let machine = Machine::new(kit, name)?;
        let file = file.to_string_lossy().into_owned();
        let prelude = kit.prelude;
        machine
            .run(
                kit.limits.timeout,
                |ctx| begin_with(ctx, prelude, &file),
                |_| Ok(()),
            )
            .await?;
        Ok(Self(machine))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Calls a function that the prelude offers. Argument and result are JSON; `None` for nothing (`undefined`).
    pub async fn invoke(
        &self,
        function: &str,
        argument: &str,
        timeout: Duration,
    ) -> Result<Option<String>, Failure> {
        let read = |value: Value<'_>| Option::<String>::from_js(&value.ctx().clone(), value);
        self.0
            .run(timeout, |ctx| invoke_with(ctx, function, argument), read)
            .await
    }

    /// A function that the script keeps for events, by its number.
    pub fn handler(&self, number: u32, timeout: Duration) -> Arc<dyn ScriptHandler> {
        Arc::new(KeptHandler {
            machine: Arc::clone(&self.0),
            number,
            timeout,
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
        Box::pin(async move {
            let answer = self
                .machine
                .run(self.timeout, |ctx| fire(ctx, self.number, &fields), read_answer)
                .await?;
            Ok(named(answer, &fields))
        })
    }
}

fn begin_with<'js>(ctx: &Ctx<'js>, prelude: &str, file: &str) -> Result<Value<'js>, Error> {
    becket(ctx)?.get::<_, Function>("begin")?.call((prelude, file))
}

fn invoke_with<'js>(ctx: &Ctx<'js>, function: &str, argument: &str) -> Result<Value<'js>, Error> {
    becket(ctx)?
        .get::<_, Function>("invoke")?
        .call((function, argument))
}

/// Calls a kept function. Small fields become one object at once; large ones when somebody looks at them.
fn fire<'js>(ctx: &Ctx<'js>, number: u32, fields: &[Field]) -> Result<Value<'js>, Error> {
    let (large, small): (Vec<&Field>, Vec<&Field>) = fields.iter().partition(|field| field.json.len() > LAZY);
    let mut text = String::from("{");
    for (at, field) in small.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let _ = write!(text, "{comma}\"{}\":{}", field.name, field.json);
    }
    text.push('}');
    let event: Object = ctx.json_parse(text)?.get()?;
    let lazies: Vec<&str> = large.iter().flat_map(|field| [field.name, &field.json]).collect();
    let mutable = fields.iter().filter(|field| field.mutable);
    let mutable: Vec<&str> = mutable.flat_map(|field| [field.name, &field.json]).collect();
    becket(ctx)?
        .get::<_, Function>("fire")?
        .call((number, event, lazies, mutable))
}

/// What a kept function gave back: its JSON, then names and JSON of changed fields in turn.
fn read_answer(value: Value<'_>) -> Result<Vec<Option<String>>, Error> {
    let ctx = value.ctx().clone();
    Ok(Option::<Vec<Option<String>>>::from_js(&ctx, value)?.unwrap_or_default())
}

fn named(answer: Vec<Option<String>>, fields: &[Field]) -> Answered {
    let mut answer = answer.into_iter();
    let returned = answer.next().flatten();
    let mut changed = Vec::new();
    while let (Some(Some(name)), Some(Some(json))) = (answer.next(), answer.next()) {
        if let Some(field) = fields.iter().find(|field| field.name == name) {
            changed.push((field.name, json));
        }
    }
    Answered { returned, changed }
}
