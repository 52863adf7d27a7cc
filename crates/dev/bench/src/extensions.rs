//! The cost of extensions: loading them, calling their handlers, and holding them; against the bare engine.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use becket_events::{
    Event, Message, MessageBody, MessageRecord, ModelContext, ModelContextPayload, OperationKind, Part,
    PreTool, PreToolPayload, RequestPurpose, Scope,
};
use becket_hooks::{Field, ScriptHandler};
use becket_js::{
    Allowed, Engine, Extension, HostError, HostModule, Kit, Limits, Outside, Report as Told, Reporter,
    ScriptHost, Surroundings, Transformer,
};
use becket_pi::ExtensionOwner;
use becket_pi::host_call::HostCall;
use futures_util::future::BoxFuture;
use rquickjs::loader::{BuiltinLoader, BuiltinResolver};
use rquickjs::{Context, Function, Module, Object, Persistent, Promise, Runtime};
use tempfile::TempDir;

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, ratio, runtime, time};
use crate::start;

/// The most that the lane may cost, as a multiple of the bare engine.
const MOST: f64 = 2.0;

/// How many extensions are loaded at once, and how often.
const LOADED: usize = 20;
const LOADS: usize = 15;

/// How many events a round has, and how many rounds there are.
const EVENTS: usize = 400;
const ROUNDS: usize = 25;

/// How many idle extensions are held, and how much memory they may add to the process.
const HELD: usize = 50;
const HELD_BAR: u64 = 30_000_000;

/// How often the program is started with extensions, and what they may add to its first request.
const STARTS: usize = 11;
const FIRST_REQUEST_BAR: Duration = Duration::from_millis(60);

const SAMPLE: &str = include_str!("extensions/sample.ts");

/// The modules that the sample imports, as small as they can be: then little but the engine's own work is compared.
const TYPES: &str = "const same = (x) => x;
    export const Type = { Object: same, String: same, Number: same, Optional: same };";
const PATHS: &str = "export const join = (...parts) => parts.join('/');";

/// The file behind `node:path`, and what it needs around it to be a module of its own in the bare engine.
const NODE_PATH: &str = include_str!("extensions/path.ts");
const AROUND_PATH: [&str; 2] = [
    "const module = {}; const require = () => ({}); const becket = { host: { call: () => '/' } };",
    "export const { join } = module.exports;",
];

/// The facts that an extension is given about itself.
const ABOUT: &str = r#"{"path":"sample.ts","cwd":"/","mode":"print","hasUI":false}"#;

/// The API of the bare engine.
const BARE_PI: &str = "globalThis.__becket = { load() {} };
const tools = new Map();
globalThis.handlers = {};
globalThis.pi = {
    on: (name, run) => { handlers[name] = run; },
    registerTool: (tool) => tools.set(tool.name, tool),
    registerCommand: (name, command) => tools.set(name, command),
};";

/// The sample with modules that are as small as they can be.
fn alone() -> String {
    SAMPLE
        .replace("\"typebox\"", "\"bench:types\"")
        .replace("\"node:path\"", "\"bench:path\"")
}

/// The modules that an extension finds: pi's API and packages, and small ones.
fn modules() -> Vec<HostModule> {
    let pi = becket_pi::prelude_modules()
        .iter()
        .chain(becket_pi::host_modules());
    let pi = pi.map(|module| HostModule {
        names: module.names,
        source: module.source,
    });
    let own = [
        HostModule {
            names: &["bench:types"],
            source: TYPES,
        },
        HostModule {
            names: &["bench:path"],
            source: PATHS,
        },
    ];
    pi.chain(own).collect()
}

pub fn run(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let room = Room::new(LOADED, SAMPLE)?;
    loading(&room, report, "")?;
    loading(&Room::new(LOADED, &alone())?, report, ", small imports")?;
    let large = format!("[{}]", vec![MESSAGE; 96].join(","));
    let small = [
        ("toolCallId", "\"call_1\""),
        ("toolName", "\"bash\""),
        ("input", r#"{"command":"ls -la /tmp"}"#),
    ];
    let with_large = [small[0], small[1], ("messages", large.as_str())];
    event(&room, report, "small", "an event, small", &small)?;
    event(&room, report, "ignored", "an event, 10 KB ignored", &with_large)?;
    event(&room, report, "read", "an event, 10 KB read", &with_large)?;
    through_becket::<PreTool>(
        &room,
        report,
        ("small", "tool_call"),
        "an event, small",
        &a_call(),
    )?;
    through_becket::<ModelContext>(
        &room,
        report,
        ("ignored", "context"),
        "an event, 10 KB",
        &a_conversation(),
    )?;
    event_in_node(&room, report, &small)?;
    first_request(programs, report)?;
    holding(report)
}

/// What extensions add to the first request of the real program, once their JavaScript is kept.
fn first_request(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let room = testkit::Room::new(&programs.becket)
        .with("OPENAI_BASE_URL", &format!("http://{}", listener.local_addr()?))
        .with("OPENAI_API_KEY", "none");
    let folder = Room::new(HELD, SAMPLE)?;
    let files: Vec<String> = folder
        .files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let named: Vec<&str> = files.iter().flat_map(|file| ["-e", file]).collect();
    let (mut with, mut without) = (Samples::default(), Samples::default());
    let mut processor = (Samples::default(), Samples::default());
    for round in 0..=STARTS {
        for (extensions, wall, used) in [
            (&named[..], &mut with, &mut processor.0),
            (&named[..0], &mut without, &mut processor.1),
        ] {
            let words = extensions
                .iter()
                .copied()
                .chain(["--model", "openai/gpt-4o", "Hello"]);
            let (worked, taken) = start::first_byte(&mut room.command(words), &listener)?;
            // The first round keeps the JavaScript.
            if round > 0 {
                wall.add(taken);
                used.add(worked);
            }
        }
    }
    let added = with.median().saturating_sub(without.median());
    let worked = Figure::Time(processor.0.median().saturating_sub(processor.1.median()));
    let line = Line::new(format!("first request, {HELD} extensions"), Figure::Time(added));
    report.add(line.bar(Figure::Time(FIRST_REQUEST_BAR)).remark(format!(
        "added to it, once their JavaScript is kept; {worked} of processor time"
    )));
    let scripts = folder.scripts()?;
    let bare = || {
        scripts
            .iter()
            .map(|script| Bare::load(script, &folder.imports))
            .collect::<Result<Vec<_>, _>>()
    };
    let (loaded, taken) = time(bare);
    drop(loaded?);
    let line = Line::new(format!("bare engine, {HELD} scripts"), Figure::Time(taken));
    report.add(
        line.ratio(ratio(added, taken))
            .remark("the ratio is that of the extensions to it"),
    );
    Ok(())
}

fn a_call() -> PreToolPayload {
    let arguments = [("command".to_owned(), "ls -la /tmp".into())];
    PreToolPayload {
        tool_source: "builtin".into(),
        tool_call_id: "call_1".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: Some(OperationKind::Shell),
        arguments: arguments.into_iter().collect(),
        parent_tool_call_id: None,
    }
}

/// A conversation of about 10 KB in pi's format.
fn a_conversation() -> ModelContextPayload {
    let message = |number: u64| {
        let text = "A line of a conversation, as they are.";
        Message::new(MessageRecord {
            id: format!("m{number}"),
            time_ms: number,
            body: MessageBody::User {
                content: vec![Part::text(text)],
            },
        })
    };
    ModelContextPayload {
        system_prompt: "Be brief.".into(),
        messages: (0..96).map(message).collect(),
        summary: None,
        iteration: 1,
        purpose: RequestPurpose::Answer,
    }
}

/// An event of becket with everything around a handler: the dispatch, and the row that writes the event in pi's format
/// and reads the answer.
fn through_becket<E: Event>(
    room: &Room,
    report: &mut Report,
    (handler, row): (&str, &str),
    name: &str,
    payload: &E::Payload,
) -> Result<(), Problem> {
    let runtime = runtime()?;
    let (_kept, alone) = runtime.block_on(room.handler(handler))?;
    let engine = becket_hooks::Engine::new(None);
    let owner = ExtensionOwner {
        lane: becket_hooks::LaneKind::Javascript,
        priority: 0,
        name: "sample".into(),
        source: "sample.ts".into(),
        order: vec!["00000".into()],
        timeout: Duration::from_secs(30),
    };
    becket_pi::register(&engine, row, alone, &owner)?;
    let scope = Scope::default();
    let mut whole = Samples::default();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        runtime.block_on(async {
            for _ in 0..EVENTS {
                let outcome = engine.dispatch::<E>(&scope, || payload.clone()).await;
                if let Some(failure) = outcome.failures.first() {
                    return Err(Problem::from(format!("{failure:?}")));
                }
            }
            Ok(())
        })?;
        whole.add(started.elapsed() / EVENTS as u32);
    }
    let line = Line::new(
        format!("extension, {name}, with dispatch and row"),
        Figure::Time(whole.median()),
    );
    report.add(line.remark("what the loop waits for: the lines above are the handler alone"));
    Ok(())
}

/// A message; 96 of them make 10 KB.
const MESSAGE: &str =
    r#"{"role":"user","content":[{"type":"text","text":"A line of a conversation, as they are."}],"at":1}"#;

fn loading(room: &Room, report: &mut Report, which: &str) -> Result<(), Problem> {
    let (mut bare, mut lane) = (Samples::default(), Samples::default());
    let runtime = runtime()?;
    runtime.block_on(room.load())?;
    let scripts = room.scripts()?;
    for _ in 0..LOADS {
        let (loaded, spent) = time(|| {
            scripts
                .iter()
                .map(|script| Bare::load(script, &room.imports))
                .collect::<Result<Vec<_>, _>>()
        });
        bare.add(spent);
        drop(loaded?);
        // Every round is a new process: it knows nothing but what is kept on disk.
        let (loaded, spent) = time(|| runtime.block_on(room.load()));
        lane.add(spent);
        drop(loaded?);
    }
    let (bare, lane) = (bare.median(), lane.median());
    report.add(Line::new(
        format!("bare engine, {LOADED} scripts{which}"),
        Figure::Time(bare),
    ));
    let line = Line::new(
        format!("extensions, {LOADED} loaded warm{which}"),
        Figure::Time(lane),
    );
    report.add(line.remark("after the first of the process, which compiles what they share"));
    let name = format!("extensions, loading over bare{which}");
    let over = Line::new(name, Figure::Times(ratio(lane, bare)));
    report.add(over.bar(Figure::Times(MOST)));
    Ok(())
}

fn event(
    room: &Room,
    report: &mut Report,
    handler: &str,
    name: &str,
    fields: &[(&'static str, &str)],
) -> Result<(), Problem> {
    let runtime = runtime()?;
    let script = Bare::load(&room.scripts()?[0], &room.imports)?;
    let (_kept, lane_handler) = runtime.block_on(room.handler(handler))?;
    let texts: Vec<String> = fields
        .iter()
        .map(|(name, json)| format!("\"{name}\":{json}"))
        .collect();
    let payload = format!("{{{}}}", texts.join(","));
    let fields: Vec<Field> = fields
        .iter()
        .map(|(name, json)| Field::new(name, *json))
        .collect();
    let expected = runtime.block_on(lane_handler.call(fields.clone()))?.returned;
    if expected != Some(script.call(handler, &payload)?) {
        return Err(format!("the two engines answer {handler} in different ways").into());
    }
    let (mut bare, mut lane) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        let (done, spent) = time(|| script.call_often(handler, &payload));
        done?;
        bare.add(spent / EVENTS as u32);
        let started = Instant::now();
        runtime.block_on(async {
            for _ in 0..EVENTS {
                lane_handler.call(fields.clone()).await?;
            }
            Ok::<(), Problem>(())
        })?;
        lane.add(started.elapsed() / EVENTS as u32);
    }
    let (bare, lane) = (bare.median(), lane.median());
    report.add(Line::new(format!("bare engine, {name}"), Figure::Time(bare)));
    report.add(Line::new(format!("extension, {name}"), Figure::Time(lane)));
    let over = Line::new(format!("{name}, over bare"), Figure::Times(ratio(lane, bare)));
    report.add(over.bar(Figure::Times(MOST)));
    Ok(())
}

/// An event in Node, against the embedded engine.
fn event_in_node(room: &Room, report: &mut Report, fields: &[(&'static str, &str)]) -> Result<(), Problem> {
    let name = "an event in Node";
    let runtime = runtime()?;
    let (_embedded, inside) = runtime.block_on(room.handler("small"))?;
    let (kit, collector) = kit_with(&room.cache(), Outside::new(Engine::Node, None, 1));
    if Extension::engine_for(&kit, &room.files[0]).is_err() {
        report.skipped(name, "node");
        return Ok(());
    }
    let (_node, outside) = runtime.block_on(room.handler_of((kit, collector), "small"))?;
    let fields: Vec<Field> = fields
        .iter()
        .map(|(name, json)| Field::new(name, *json))
        .collect();
    let (mut embedded, mut node) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        for (handler, samples) in [(&inside, &mut embedded), (&outside, &mut node)] {
            let started = Instant::now();
            runtime.block_on(async {
                for _ in 0..EVENTS {
                    handler.call(fields.clone()).await?;
                }
                Ok::<(), Problem>(())
            })?;
            samples.add(started.elapsed() / EVENTS as u32);
        }
    }
    let (embedded, node) = (embedded.median(), node.median());
    let line = Line::new(format!("extension, {name}"), Figure::Time(node)).ratio(ratio(node, embedded));
    report.add(line.remark("over the embedded engine; two processes wake each other for every event"));
    Ok(())
}

fn holding(report: &mut Report) -> Result<(), Problem> {
    let resident = |count: usize| -> Result<u64, Problem> {
        let room = Room::new(count, SAMPLE)?;
        let hold = || -> Result<u64, Problem> {
            let mut program = Command::new(std::env::current_exe()?);
            let output = program
                .arg("--hold-extensions")
                .arg(room.folder.path())
                .output()?;
            Ok(String::from_utf8(output.stdout)?.trim().parse()?)
        };
        // The cache on disk is there, as it is in all runs but the first.
        hold()?;
        hold()
    };
    let added = resident(HELD)?.saturating_sub(resident(0)?);
    let line =
        Line::new(format!("extensions, {HELD} idle"), Figure::Bytes(added)).bar(Figure::Bytes(HELD_BAR));
    report.add(line.remark(format!(
        "added to the process; {} kB each",
        added / HELD as u64 / 1000
    )));
    Ok(())
}

/// Loads the extensions of a folder, and prints how much memory the process holds with them.
pub fn hold(folder: &Path) -> Result<(), Problem> {
    let files = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = files.collect::<Result<Vec<PathBuf>, _>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "ts"));
    let loaded = runtime()?.block_on(load(&folder.join("cache"), &files))?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_ascii_whitespace().next());
    let kilobytes: u64 = kilobytes
        .ok_or("this system does not tell how much memory a process holds")?
        .parse()?;
    writeln!(std::io::stdout(), "{}", kilobytes * 1024)?;
    drop(loaded);
    Ok(())
}

/// The kit that extensions share, with a host that keeps the numbers of their handlers.
fn kit(cache: &Path) -> (Arc<Kit>, Arc<HookCollector>) {
    kit_with(cache, Outside::default())
}

fn kit_with(cache: &Path, outside: Outside) -> (Arc<Kit>, Arc<HookCollector>) {
    let collector = Arc::new(HookCollector::default());
    let kit = Kit {
        prelude: becket_pi::PRELUDE,
        modules: modules(),
        transformer: Transformer::new(Some(cache.into())),
        host: Arc::clone(&collector) as _,
        reporter: Arc::clone(&collector) as _,
        limits: Limits::default(),
        surroundings: Surroundings {
            directory: "/".into(),
            environment: Arc::new(std::env::vars_os().collect()),
            ..Surroundings::default()
        },
        allowed: Allowed::default(),
        outside,
        watch: Arc::default(),
        cancels: Box::new(|| 0),
    };
    (Arc::new(kit), collector)
}

async fn load(cache: &Path, files: &[PathBuf]) -> Result<Vec<Extension>, Problem> {
    let (kit, _) = kit(cache);
    let mut loaded = Vec::new();
    for file in files {
        let extension = Extension::load(&kit, "sample", file).await;
        loaded.push(extension.map_err(|failure| failure.to_string())?);
    }
    Ok(loaded)
}

/// A folder with extensions that differ, and a cache beside them.
struct Room {
    folder: TempDir,
    files: Vec<PathBuf>,
    /// The JavaScript of what the sample imports, for the bare engine.
    imports: Vec<(&'static str, String)>,
}

impl Room {
    fn new(count: usize, sample: &str) -> Result<Self, Problem> {
        let folder = tempfile::tempdir()?;
        let mut files = Vec::new();
        for number in 0..count {
            let file = folder.path().join(format!("sample-{number}.ts"));
            std::fs::write(&file, format!("{sample}\nexport const number = {number};\n"))?;
            files.push(file);
        }
        Ok(Self {
            folder,
            files,
            imports: imports()?,
        })
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    async fn load(&self) -> Result<Vec<Extension>, Problem> {
        load(&self.cache(), &self.files).await
    }

    async fn handler(&self, name: &str) -> Result<(Extension, Arc<dyn ScriptHandler>), Problem> {
        self.handler_of(kit(&self.cache()), name).await
    }

    async fn handler_of(
        &self,
        (kit, collector): (Arc<Kit>, Arc<HookCollector>),
        name: &str,
    ) -> Result<(Extension, Arc<dyn ScriptHandler>), Problem> {
        let extension = Extension::load(&kit, "sample", &self.files[0]).await;
        let extension = extension.map_err(|failure| failure.to_string())?;
        let handlers = collector
            .0
            .lock()
            .expect("no panic happens while this is held")
            .clone();
        let number = handlers
            .iter()
            .find(|(known, _)| known == name)
            .ok_or("no such handler")?
            .1;
        let handler = extension.handler(number, Duration::from_secs(30));
        Ok((extension, handler))
    }

    /// The JavaScript of all extensions.
    fn scripts(&self) -> Result<Vec<String>, Problem> {
        let transformer = Transformer::new(Some(self.cache()));
        let script = |file: &PathBuf| -> Result<String, Problem> {
            let source = std::fs::read_to_string(file)?;
            Ok(transformer.javascript(Path::new(file), &source)?.to_string())
        };
        self.files.iter().map(script).collect()
    }
}

/// The JavaScript of all modules that the sample imports, and of those that they import.
fn imports() -> Result<Vec<(&'static str, String)>, Problem> {
    let transformer = Transformer::new(None);
    let javascript = |source: &str| -> Result<String, Problem> {
        Ok(transformer
            .javascript(Path::new("module.ts"), source)?
            .to_string())
    };
    let package = |name: &str| {
        let found = becket_pi::host_modules()
            .iter()
            .find(|module| module.names.contains(&name));
        found.ok_or_else(|| format!("there is no module {name}"))
    };
    let [before, after] = AROUND_PATH;
    Ok(vec![
        ("typebox", javascript(package("pi:typebox")?.source)?),
        ("node:path", javascript(&format!("{before}{NODE_PATH}{after}"))?),
        ("bench:types", TYPES.into()),
        ("bench:path", PATHS.into()),
    ])
}

/// A host that keeps the numbers of handlers.
#[derive(Default)]
struct HookCollector(Mutex<Vec<(String, u32)>>);

impl ScriptHost for HookCollector {
    fn call(&self, _: &str, _: &str, arguments: &str) -> Result<String, HostError> {
        let unread = |error: serde_json::Error| HostError::new(error.to_string());
        match serde_json::from_str(arguments).map_err(unread)? {
            HostCall::About => Ok(ABOUT.into()),
            HostCall::On { event, handler } => {
                let mut handlers = self.0.lock().expect("no panic happens while this is held");
                handlers.push((event, handler));
                Ok(String::new())
            }
            _ => Ok(String::new()),
        }
    }

    fn call_async(&self, _: &str, name: &str, _: String) -> BoxFuture<'static, Result<String, HostError>> {
        let words = format!("there is no {name}");
        Box::pin(async move { Err(HostError::new(words)) })
    }
}

impl Reporter for HookCollector {
    fn report(&self, _: &str, _: Told) {}
}

/// A script in the bare engine, with nothing around it.
struct Bare {
    context: Context,
}

impl Bare {
    fn load(script: &str, imports: &[(&'static str, String)]) -> Result<Self, Problem> {
        let runtime = Runtime::new()?;
        let (mut resolver, mut loader) = (BuiltinResolver::default(), BuiltinLoader::default());
        for (name, code) in imports {
            resolver = resolver.with_module(*name);
            loader = loader.with_module(*name, code.as_str());
        }
        runtime.set_loader(resolver, loader);
        let context = Context::full(&runtime)?;
        context.with(|ctx| {
            ctx.eval::<(), _>(BARE_PI)?;
            let (module, promise) = Module::declare(ctx.clone(), "sample", script)?.eval()?;
            promise.finish::<()>()?;
            let start: Function = module.get("default")?;
            start.call::<_, ()>((ctx.globals().get::<_, Object>("pi")?,))
        })?;
        Ok(Self { context })
    }

    fn handler(&self, name: &str) -> Result<Persistent<Function<'static>>, Problem> {
        Ok(self.context.with(|ctx| {
            let handlers: Object = ctx.globals().get("handlers")?;
            Ok::<_, rquickjs::Error>(Persistent::save(&ctx, handlers.get::<_, Function>(name)?))
        })?)
    }

    fn call(&self, name: &str, payload: &str) -> Result<String, Problem> {
        Ok(self.answer(&self.handler(name)?, payload)?)
    }

    fn call_often(&self, name: &str, payload: &str) -> Result<(), Problem> {
        let handler = self.handler(name)?;
        for _ in 0..EVENTS {
            self.answer(&handler, payload)?;
        }
        Ok(())
    }

    fn answer(
        &self,
        handler: &Persistent<Function<'static>>,
        payload: &str,
    ) -> Result<String, rquickjs::Error> {
        self.context.with(|ctx| {
            let event = ctx.json_parse(payload)?;
            let promise: Promise = handler.clone().restore(&ctx)?.call((event,))?;
            let value: rquickjs::Value = promise.finish()?;
            let text = ctx.json_stringify(value)?;
            text.map(|text| text.to_string())
                .transpose()
                .map(Option::unwrap_or_default)
        })
    }
}
