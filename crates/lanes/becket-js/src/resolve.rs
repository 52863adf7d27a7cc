//! Finds and loads modules: those that the host provides by name, Node's, files beside the importer, and packages. ES
//! modules are loaded by the engine; CommonJS and JSON are run by `js/modules.ts`, and an `import` of them gets a small
//! ES module that re-exports what they export.
//!
//! CommonJS runs when its turn comes and not when it is loaded, so its exports are found by looking at the code. An ES
//! module that is running cannot be required: the engine would run it twice.
//!
//! What a module lacks is `undefined`. Files pass on types like values, and the interfaces behind them are gone when
//! modules are linked. Whoever asks a module for names that it does not export is given a small module in front of it
//! that has them; the module itself, its circles and what others see of it stay as they are.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use rquickjs::context::EvalOptions;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::prelude::List;
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Error, Exception, Function, Module, Object, Value};
use url::Url;

use crate::bytecode;
use crate::entries::{Entry, entry};
use crate::facts::Facts;
use crate::kit::{HostModule, Kit};
use crate::node::table;
use crate::opening;
use crate::packages::{Asked, Packages};
use crate::transform::{HOST, place_of_import};

/// The prefix of the names of Node's modules.
pub(crate) const NODE: &str = "node:";

/// The prefix of the name under which an extension's own code imports CommonJS: the default import is then the export
/// `default`, if the module was compiled from an ES module. Packages among each other see what Node shows them.
pub(crate) const INTEROP: &str = "interop:";

/// The prefix of a module that is re-exported with additional names: `with:a,b:name`.
const WITH: &str = "with:";

/// The parameters of a CommonJS file.
const COMMONJS: &str = "(function (exports, require, module, __filename, __dirname) {";

/// The beginning of one of Node's modules: a function, in a module that is compiled once per process.
const BUILTIN: &str = "export default function (exports, require, module, becket) {";

/// The largest file of code in bytes: parsing it takes many times as much memory, which is not counted.
const LARGEST: usize = 32 << 20;

/// Returns the exports of one of Node's modules, if they are known.
pub(crate) type Names<'a> = dyn Fn(&str) -> Option<Vec<String>> + 'a;

/// How a module is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Module,
    Commonjs,
    Json,
}

/// Resolves and loads the modules of one extension.
#[derive(Clone)]
pub(crate) struct Modules(Arc<Inner>);

struct Inner {
    kit: Arc<Kit>,
    /// The extension's own folder, if it may use no files: modules are still read from there.
    folder: Option<PathBuf>,
    packages: Packages,
    graph: Mutex<Graph>,
}

/// The ES modules that were loaded.
#[derive(Default)]
struct Graph {
    imports: HashMap<String, Vec<String>>,
    declared: HashSet<String>,
    /// The exports of modules whose names were asked for.
    exported: HashMap<String, Option<Arc<BTreeSet<String>>>>,
    /// The names that modules import from others.
    asks: HashMap<String, BTreeMap<String, Vec<String>>>,
    /// The names that modules use of others, for modules of which they use nothing else.
    named: HashMap<String, BTreeMap<String, Vec<String>>>,
    /// The modules that have finished running.
    done: HashSet<String>,
}

impl Modules {
    /// The modules of the extension with this file.
    pub(crate) fn new(kit: &Arc<Kit>, file: &Path) -> Self {
        let packages = Packages::default();
        Self(Arc::new(Inner {
            kit: Arc::clone(kit),
            folder: (!kit.allowed.files).then(|| own_folder(kit, &packages, file)),
            packages,
            graph: Mutex::default(),
        }))
    }

    /// Checks whether a module may be read. Without access to files, an extension still consists of those in its own
    /// folder, and of packages that are installed there or above.
    fn check(&self, file: &Path) -> Result<(), String> {
        let Some(folder) = &self.0.folder else {
            return Ok(());
        };
        let mut packages = folder.ancestors().map(|folder| folder.join("node_modules"));
        if file.starts_with(folder) || packages.any(|packages| file.starts_with(packages)) {
            return Ok(());
        }
        Err(format!(
            "{} lies outside of the extension's own folder {}, and files are not allowed to extensions; the setting \
             {}files says so",
            file.display(),
            folder.display(),
            self.0.kit.allowed.setting
        ))
    }

    pub(crate) fn host_module(&self, name: &str) -> Option<&HostModule> {
        self.0
            .kit
            .modules
            .iter()
            .find(|module| module.names.contains(&name))
    }

    /// The first part of a host module that only re-exports others, if that part must have everything that `base`
    /// imports.
    fn narrowed(&self, base: &str, name: &str) -> Option<String> {
        let parts = parts(self.host_module(name)?.source)?;
        let graph = self.graph();
        let wanted = graph.named.get(base)?.get(name)?;
        let (first, others) = parts.split_first()?;
        for other in others {
            let source = self.host_module(other)?.source;
            if wanted
                .iter()
                .any(|name| code_lines(source).any(|line| has_word(line, name)))
            {
                return None;
            }
        }
        Some(format!("{HOST}{}", self.host_module(first)?.names[0]))
    }

    /// The name inside of the engine for the module that `base` calls `name`.
    pub(crate) fn find(&self, base: &str, name: &str, asked: Asked) -> Result<String, String> {
        // `require` asks by the name inside of the engine.
        let known = name.strip_prefix(HOST).unwrap_or(name);
        if let Some(module) = self.host_module(known) {
            return Ok(format!("{HOST}{}", module.names[0]));
        }
        if let Some(plain) = table::imported(name) {
            return Ok(format!("{NODE}{plain}"));
        }
        if name.starts_with(NODE) {
            return Err("Node has no such module that becket knows".into());
        }
        let base = base.strip_prefix(INTEROP).unwrap_or(base);
        let folder = Path::new(base).parent().unwrap_or(Path::new("/"));
        let found = if name.starts_with("file:") {
            self.at(&path_of(name)?)
        } else if name.starts_with('/') || is_relative(name) {
            self.at(&folder.join(name))
        } else if name.contains("://") || name.starts_with("data:") {
            Err("only files and packages can be imported".into())
        } else {
            self.0.packages.find(folder, name, asked)
        };
        self.named(&found?, folder, asked)
    }

    /// The file at a path; a question mark and what follows it only serves to load a file anew.
    fn at(&self, wanted: &Path) -> Result<PathBuf, String> {
        // Whether a file that must not be read exists is not revealed either.
        self.check(&without_dots(wanted))?;
        let text = wanted.to_string_lossy();
        let short = text.split(['?', '#']).next().unwrap_or_default();
        let found = self
            .0
            .packages
            .existing(wanted)
            .or_else(|| self.0.packages.existing(Path::new(short)));
        found.ok_or_else(|| format!("{} does not exist", wanted.display()))
    }

    fn named(&self, file: &Path, importer: &Path, asked: Asked) -> Result<String, String> {
        let file = becket_fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
        let name = file.to_string_lossy().into_owned();
        let in_package = |path: &Path| path.components().any(|part| part.as_os_str() == "node_modules");
        let is_script = file.extension().is_none_or(|ending| ending != "node");
        let interop = asked == Asked::Import && is_script && !in_package(importer);
        // A file that cannot be read is reported when it is loaded.
        if interop && self.read(&name).is_ok_and(|(kind, ..)| kind == Kind::Commonjs) {
            return Ok(format!("{INTEROP}{name}"));
        }
        Ok(name)
    }

    /// The kind of a file, its JavaScript, and the facts about it.
    pub(crate) fn read(&self, name: &str) -> Result<(Kind, Arc<str>, Arc<Facts>), String> {
        let path = Path::new(name);
        let ending = path
            .extension()
            .and_then(|ending| ending.to_str())
            .unwrap_or_default();
        if ending == "node" {
            return Err(format!(
                "{name} is made for Node itself and not served by the embedded engine"
            ));
        }
        self.check(path)?;
        let most = if ending == "json" {
            self.0.kit.limits.memory
        } else {
            LARGEST
        };
        let source = opening::text(path, most).map_err(|error| format!("cannot read {name}: {error}"))?;
        if ending == "json" {
            return Ok((Kind::Json, source.into(), Arc::default()));
        }
        let transformer = &self.0.kit.transformer;
        let code = transformer
            .javascript(path, &source)
            .map_err(|error| error.to_string())?;
        let facts = transformer.facts(&code);
        Ok((self.kind(path, ending, &facts), code, facts))
    }

    /// The kind of a file: with module syntax an ES module, else CommonJS unless its extension or package says
    /// otherwise.
    fn kind(&self, path: &Path, ending: &str, facts: &Facts) -> Kind {
        let said = || {
            let around = self.0.packages.around(path.parent().unwrap_or(path));
            around.is_some_and(|(_, manifest)| manifest["type"] == "module")
        };
        let uses_commonjs = facts
            .free
            .iter()
            .any(|name| name == "module" || name == "exports");
        match ending {
            _ if facts.module_syntax => Kind::Module,
            "mjs" | "mts" => Kind::Module,
            "js" | "jsx" if !uses_commonjs && said() => Kind::Module,
            _ => Kind::Commonjs,
        }
    }

    /// What a CommonJS file exports, including re-exports.
    pub(crate) fn names(&self, name: &str, seen: &mut HashSet<String>) -> Vec<String> {
        if !seen.insert(name.into()) {
            return Vec::new();
        }
        let Ok((Kind::Commonjs, _, facts)) = self.read(name) else {
            return Vec::new();
        };
        let mut names = facts.names.clone();
        for other in &facts.passed_on {
            if let Ok(other) = self.find(name, other, Asked::Require) {
                names.extend(self.names(&other, seen));
            }
        }
        names.sort();
        names.dedup();
        names
    }

    /// Everything that a module exports, including re-exports; `None` if that is not visible. `builtin` returns the
    /// names of one of Node's modules.
    pub(crate) fn exported(&self, name: &str, builtin: &Names<'_>) -> Option<Arc<BTreeSet<String>>> {
        let known = self.graph().exported.get(name).cloned();
        known.unwrap_or_else(|| {
            let exported = self.all_exports(name, builtin).map(Arc::new);
            self.graph().exported.insert(name.into(), exported.clone());
            exported
        })
    }

    fn all_exports(&self, name: &str, builtin: &Names<'_>) -> Option<BTreeSet<String>> {
        let (mut all, mut seen, mut next) = (BTreeSet::new(), HashSet::new(), vec![name.to_string()]);
        while let Some(module) = next.pop() {
            // `export *` does not re-export the default.
            let had_default = all.contains("default");
            if seen.insert(module.clone()) {
                let stars = self.own_exports(&module, builtin, &mut all)?;
                for star in stars {
                    next.push(self.find(&module, &star, Asked::Import).ok()?);
                }
            }
            if module != name && !had_default {
                all.remove("default");
            }
        }
        Some(all)
    }

    /// Adds a module's own exports, and returns the modules that it re-exports whole.
    fn own_exports(
        &self,
        name: &str,
        builtin: &Names<'_>,
        all: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        if let Some(plain) = name.strip_prefix(NODE) {
            all.extend(builtin(plain)?);
            all.insert("default".into());
            return Some(Vec::new());
        }
        let (kind, facts) = match name.strip_prefix(HOST) {
            Some(known) => {
                let code = self.host_code(known).ok()?;
                (Kind::Module, self.0.kit.transformer.facts(&code))
            }
            None => {
                let (kind, _, facts) = self.read(name.strip_prefix(INTEROP).unwrap_or(name)).ok()?;
                (kind, facts)
            }
        };
        if kind == Kind::Module {
            all.extend(facts.exports.clone()?);
            return Some(facts.stars.clone());
        }
        all.insert("default".into());
        if kind == Kind::Commonjs {
            let file = name.strip_prefix(INTEROP).unwrap_or(name);
            all.extend(self.names(file, &mut HashSet::new()));
        }
        Some(Vec::new())
    }

    /// The name of a module that has everything that `base` imports from the module `found`, which it calls `name`.
    /// Files that re-export names import types like values although they do not exist: a missing name is `undefined`,
    /// which only matters to code that uses it.
    fn completed(&self, base: &str, name: &str, found: String, builtin: &Names<'_>) -> String {
        let asked = self
            .graph()
            .asks
            .get(base)
            .and_then(|asks| asks.get(name))
            .cloned();
        let Some(asked) = asked.filter(|names| !names.is_empty()) else {
            return found;
        };
        let Some(exported) = self.exported(&found, builtin) else {
            return found;
        };
        let lacking: Vec<String> = asked
            .into_iter()
            .filter(|name| !exported.contains(name))
            .collect();
        match lacking.is_empty() {
            true => found,
            false => format!("{WITH}{}:{found}", lacking.join(",")),
        }
    }

    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.0
            .graph
            .lock()
            .expect("no panic happens while the graph is held")
    }

    /// The modules that may be running now.
    fn unfinished(&self) -> HashSet<String> {
        let graph = self.graph();
        graph.declared.difference(&graph.done).cloned().collect()
    }

    /// A module among `of` that `name` needs.
    fn needed(&self, name: &str, of: &HashSet<String>) -> Option<String> {
        let graph = self.graph();
        let (mut seen, mut next) = (HashSet::new(), vec![name]);
        while let Some(name) = next.pop() {
            if of.contains(name) {
                return Some(name.into());
            }
            if seen.insert(name) {
                next.extend(graph.imports.get(name).into_iter().flatten().map(String::as_str));
            }
        }
        None
    }
}

impl Modules {
    /// The JavaScript of a host module.
    pub(crate) fn host_code(&self, name: &str) -> Result<Arc<str>, String> {
        let module = self.host_module(name);
        let module = module.ok_or_else(|| format!("there is no module {name}"))?;
        let path = PathBuf::from(format!("{name}.ts"));
        let code = self.0.kit.transformer.javascript(&path, module.source);
        code.map_err(|error| error.to_string())
    }

    /// The package around a file: its folder and its `package.json`.
    pub(crate) fn package(&self, file: &Path) -> Option<(PathBuf, Arc<serde_json::Value>)> {
        self.0.packages.around(file.parent()?)
    }
}

impl Resolver for Modules {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String, Error> {
        match self.find(base, name, Asked::Import) {
            Ok(found) => {
                let found = self.completed(base, name, found, &|plain| names_of_builtin(ctx, plain).ok());
                let found = match found.starts_with(WITH) {
                    true => found,
                    false => self.narrowed(base, name).unwrap_or(found),
                };
                let mut graph = self.graph();
                graph.imports.entry(base.into()).or_default().push(found.clone());
                Ok(found)
            }
            Err(problem) => {
                let words = not_found(base, name, &problem);
                let exception = Exception::from_message(ctx.clone(), &words)?;
                exception.as_object().set("code", "ERR_MODULE_NOT_FOUND")?;
                Err(exception.throw())
            }
        }
    }
}

impl Loader for Modules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>, Error> {
        if let Some((names, real)) = name.strip_prefix(WITH).and_then(|rest| rest.split_once(':')) {
            let names = names.split(',').map(String::from).collect();
            return self.with_names(ctx, name, names, real);
        }
        if let Some(known) = name.strip_prefix(HOST) {
            return self.shared(ctx, name, known);
        }
        if name.starts_with(NODE) {
            return handing_on_builtin(ctx, name);
        }
        let file = name.strip_prefix(INTEROP).unwrap_or(name);
        let (kind, code, facts) = self
            .read(file)
            .map_err(|words| Exception::throw_syntax(ctx, &words))?;
        match kind {
            Kind::Module => self.declare(ctx, name, &code, &facts),
            Kind::Json => handing_on(ctx, name, &text_handing_on(name, file, &[])),
            Kind::Commonjs => {
                let names = self.names(file, &mut HashSet::new());
                handing_on(ctx, name, &text_handing_on(name, file, &names))
            }
        }
    }
}

impl Modules {
    /// A host module.
    fn shared<'js>(&self, ctx: &Ctx<'js>, name: &str, known: &str) -> Result<Module<'js, Declared>, Error> {
        let wrong = |words: String| Exception::throw_syntax(ctx, &words);
        let module = self
            .host_module(known)
            .ok_or_else(|| wrong(format!("there is no module {known}")))?;
        bytecode::declare(ctx, name, module.source, || self.host_code(known).map_err(wrong))
    }

    /// A module that re-exports another one with names that it does not have. The exports of CommonJS and JSON are
    /// known when they have run; everything else is `undefined`.
    fn with_names<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        mut names: Vec<String>,
        real: &str,
    ) -> Result<Module<'js, Declared>, Error> {
        let file = real.strip_prefix(INTEROP).unwrap_or(real);
        if real.starts_with(NODE) {
            names.extend(names_of_builtin(ctx, real)?);
            return handing_on(ctx, name, &text_handing_on(real, real, &names));
        }
        let is_module =
            real.starts_with(HOST) || self.read(file).is_ok_and(|(kind, ..)| kind == Kind::Module);
        if !is_module {
            names.extend(self.names(file, &mut HashSet::new()));
            return handing_on(ctx, name, &text_handing_on(real, file, &names));
        }
        let mut text = format!("export * from {};", quoted(real));
        let exported = self.exported(real, &|plain| names_of_builtin(ctx, plain).ok());
        if exported.is_some_and(|exported| exported.contains("default")) {
            let _ = write!(text, "export {{ default }} from {};", quoted(real));
        }
        for (at, lacking) in names.iter().enumerate() {
            let _ = write!(text, "var v{at}; export {{ v{at} as {lacking} }};");
        }
        Module::declare(ctx.clone(), name, text)
    }

    /// An ES module. The CommonJS names that it uses are declared on its first line, so that its own lines keep their
    /// numbers.
    fn declare<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        code: &str,
        facts: &Facts,
    ) -> Result<Module<'js, Declared>, Error> {
        let mut text = with_commonjs_names(code, facts);
        let _ = write!(text, "\n;__becket.native.done({});", quoted(name));
        {
            let mut graph = self.graph();
            graph.declared.insert(name.into());
            graph.asks.insert(name.into(), facts.asks.clone());
            graph.named.insert(name.into(), facts.imports.clone());
        }
        let module =
            Module::declare(ctx.clone(), name, text).map_err(|error| self.explained(ctx, name, error))?;
        let path = Path::new(name);
        let meta = module.meta()?;
        let url = Url::from_file_path(path).map_or_else(|()| format!("file://{name}"), String::from);
        meta.set("url", url)?;
        meta.set("filename", name)?;
        meta.set(
            "dirname",
            path.parent().map(|folder| folder.to_string_lossy().into_owned()),
        )?;
        if code.contains("import.meta") || !facts.free.is_empty() {
            entry(ctx, Entry::Describe)?.call::<_, ()>((meta, name))?;
        }
        Ok(module)
    }

    /// A syntax error of the engine about a file, with a better message if there is one.
    fn explained(&self, ctx: &Ctx<'_>, name: &str, error: Error) -> Error {
        let path = Path::new(name);
        let source = opening::text(path, LARGEST).unwrap_or_default();
        match self.0.kit.transformer.problem(path, &source) {
            Some(problem) => {
                ctx.catch();
                Exception::throw_syntax(ctx, &problem.to_string())
            }
            None => error,
        }
    }

    /// Installs the functions under `js/modules.ts`.
    pub(crate) fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<(), Error> {
        let modules = self.clone();
        let resolve = move |base: String, name: String, required: bool| {
            let asked = if required { Asked::Require } else { Asked::Import };
            match modules.find(&base, &name, asked) {
                Ok(found) => List((true, found)),
                Err(problem) => List((false, not_found(&base, &name, &problem))),
            }
        };
        natives.set("resolve", Function::new(ctx.clone(), resolve)?)?;
        let modules = self.clone();
        let done = move |name: String| {
            modules.graph().done.insert(name);
        };
        natives.set("done", Function::new(ctx.clone(), done)?)?;
        let modules = self.clone();
        let read = move |ctx: Ctx<'js>, name: String| modules.prepared(&ctx, &name);
        natives.set("read", Function::new(ctx.clone(), read)?)?;
        let modules = self.clone();
        let namespace = move |ctx: Ctx<'js>, name: String| modules.namespace(&ctx, &name);
        natives.set("namespace", Function::new(ctx.clone(), namespace)?)
    }

    /// What `require` needs of a module: its function, its text if it is JSON, or `undefined` if it is an ES module.
    fn prepared<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Value<'js>, Error> {
        if let Some(plain) = name.strip_prefix(NODE) {
            return self.builtin(ctx, plain);
        }
        if name.starts_with(HOST) {
            return Ok(Value::new_undefined(ctx.clone()));
        }
        let (kind, code, _) = self
            .read(name)
            .map_err(|words| Exception::throw_message(ctx, &words))?;
        match kind {
            Kind::Json => Ok(rquickjs::String::from_str(ctx.clone(), &code)?.into_value()),
            Kind::Module => Ok(Value::new_undefined(ctx.clone())),
            Kind::Commonjs => {
                let mut options = EvalOptions::default();
                options.strict = false;
                options.filename = Some(name.into());
                ctx.eval_with_options(format!("{COMMONJS}{}\n}})", without_hashbang(&code)), options)
                    .map_err(|error| self.explained(ctx, name, error))
            }
        }
    }

    /// The function that makes one of Node's modules.
    fn builtin<'js>(&self, ctx: &Ctx<'js>, plain: &str) -> Result<Value<'js>, Error> {
        let wrong = |words: String| Exception::throw_message(ctx, &words);
        let found = table::source(plain);
        let (source, refused) = found.ok_or_else(|| wrong(format!("there is no module node:{plain}")))?;
        let module = bytecode::declare(ctx, &format!("{HOST}node/{plain}"), source, || {
            let path = PathBuf::from(format!("node/{plain}.cts"));
            let code = self.0.kit.transformer.javascript(&path, source);
            let code = code.map_err(|error| wrong(error.to_string()))?;
            let rest = match refused {
                "" => String::new(),
                names => format!("require('internal/errors').refuse(module.exports, '{plain}', '{names}');"),
            };
            Ok(format!("{BUILTIN}{code}\n{rest}}}").into())
        })?;
        let (module, made) = module.eval()?;
        made.finish::<()>()?;
        module.get("default")
    }

    /// Runs an ES module immediately, for `require`, and returns its exports.
    fn namespace<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Value<'js>, Error> {
        let unfinished = self.unfinished();
        let text = format!("import * as all from {}; export {{ all }};", quoted(name));
        let module = Module::declare(ctx.clone(), format!("require:{name}"), text)?;
        // The engine cannot run a module that is already running.
        if let Some(unfinished) = self.needed(name, &unfinished) {
            let words = format!("cannot require {name}: {unfinished}, which it needs, is still being run");
            return Err(Exception::throw_message(ctx, &words));
        }
        let (module, promise) = module.eval()?;
        match promise.state() {
            PromiseState::Resolved => module.get("all"),
            PromiseState::Pending => {
                let words = format!("cannot require {name}: it awaits something; import it instead");
                Err(Exception::throw_message(ctx, &words))
            }
            PromiseState::Rejected => {
                entry(ctx, Entry::Rejected)?.call::<_, ()>((promise.clone(), (), true))?;
                promise.result::<Value>().unwrap_or(Err(Error::Unknown))
            }
        }
    }
}

/// The code of an ES module with the CommonJS names that it uses declared on its first line.
pub(crate) fn with_commonjs_names(code: &str, facts: &Facts) -> String {
    let mut text = String::with_capacity(code.len() + 128);
    for free in &facts.free {
        let value = match free.as_str() {
            "require" => "import.meta.require",
            "module" => "{ exports: {} }",
            "exports" => "{}",
            "__filename" => "import.meta.filename",
            _ => "import.meta.dirname",
        };
        let _ = write!(text, "const {free} = {value};");
    }
    text.push_str(&without_hashbang(code));
    text
}

/// An ES module that re-exports a module of another kind.
fn handing_on<'js>(ctx: &Ctx<'js>, name: &str, text: &str) -> Result<Module<'js, Declared>, Error> {
    requiring(ctx, Module::declare(ctx.clone(), name, text)?)
}

/// An ES module that re-exports one of Node's modules, whose names are listed once per process.
fn handing_on_builtin<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Module<'js, Declared>, Error> {
    let plain = name.strip_prefix(NODE).unwrap_or(name);
    let (source, _) = table::source(plain).unwrap_or_default();
    let module = bytecode::declare(ctx, name, source, || {
        let names = names_of_builtin(ctx, name)?;
        Ok(text_handing_on(name, name, &names).into())
    })?;
    requiring(ctx, module)
}

fn names_of_builtin(ctx: &Ctx<'_>, name: &str) -> Result<Vec<String>, Error> {
    let builtin: Object = entry(ctx, Entry::Builtin)?.call((name,))?;
    builtin.keys::<String>().collect()
}

/// Gives a module `import.meta.require` to find the others.
fn requiring<'js>(ctx: &Ctx<'js>, module: Module<'js, Declared>) -> Result<Module<'js, Declared>, Error> {
    module.meta()?.set("require", entry(ctx, Entry::Require)?)?;
    Ok(module)
}

fn text_handing_on(name: &str, file: &str, names: &[String]) -> String {
    let mut text = format!("const all = import.meta.require({});", quoted(file));
    text.push_str(match name == file {
        true => "export default all;",
        false => "export default all?.__esModule && 'default' in all ? all.default : all;",
    });
    let exported = || names.iter().enumerate().filter(|(_, name)| *name != "default");
    for (at, name) in exported() {
        let _ = write!(text, "const v{at} = all?.[{}];", quoted(name));
    }
    let exported: Vec<String> = exported().map(|(at, name)| format!("v{at} as {name}")).collect();
    let _ = write!(text, "export {{ {} }};", exported.join(", "));
    text
}

pub(crate) fn not_found(base: &str, name: &str, problem: &str) -> String {
    let base = base.strip_prefix(INTEROP).unwrap_or(base);
    let importer = place_of_import(base, name).unwrap_or_else(|| base.into());
    format!("cannot find module '{name}', which {importer} imports: {problem}")
}

/// The modules that a module re-exports, if it does nothing else.
fn parts(source: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    for line in code_lines(source) {
        let module = line
            .strip_prefix("export * from ")
            .or_else(|| line.strip_prefix("export { default } from "))?;
        let module = module.strip_prefix('"')?.strip_suffix("\";")?;
        if !parts.contains(&module) {
            parts.push(module);
        }
    }
    Some(parts)
}

/// The lines of a module that are not comments.
fn code_lines(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter(|line| !line.starts_with("/"))
}

/// Whether a name stands anywhere in a text as a whole word.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
}

/// The folder of an extension: that of its package, unless that contains the user's home or the working directory, as
/// with a package of everything the user owns; else that of its file.
fn own_folder(kit: &Kit, packages: &Packages, file: &Path) -> PathBuf {
    let around = file.parent().unwrap_or(file);
    let holds = |folder: &Path, place: &Path| {
        let place = becket_fs::canonicalize(place).unwrap_or_else(|_| place.to_path_buf());
        !place.as_os_str().is_empty() && place.starts_with(folder)
    };
    let surroundings = &kit.surroundings;
    match packages.around(around) {
        Some((folder, _))
            if !holds(&folder, &surroundings.home) && !holds(&folder, &surroundings.directory) =>
        {
            folder
        }
        _ => around.to_path_buf(),
    }
}

/// A path without `.` and `..`.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

fn is_relative(name: &str) -> bool {
    name == "." || name == ".." || name.starts_with("./") || name.starts_with("../")
}

fn path_of(address: &str) -> Result<PathBuf, String> {
    let url = Url::parse(address).map_err(|error| error.to_string())?;
    url.to_file_path()
        .map_err(|()| "it is no path of this machine".into())
}

/// The code without a `#!` line, which is no JavaScript inside of a function.
pub(crate) fn without_hashbang(code: &str) -> std::borrow::Cow<'_, str> {
    match code.strip_prefix("#!") {
        Some(rest) => format!("//{rest}").into(),
        None => code.into(),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_passes_on_others_is_known_by_its_lines() {
        let front =
            "// Says `c`.\nexport * from \"a\";\nexport { default } from \"a\";\nexport * from \"b\";\n";
        assert_eq!(parts(front), Some(vec!["a", "b"]));
        assert_eq!(parts(&format!("{front}export const c = 1;\n")), None);
    }

    #[test]
    fn a_name_is_found_as_a_whole_word_and_not_in_comments() {
        let found = |name| {
            code_lines("/** `Type` */\nexport const { TypeName, Any } = later;")
                .any(|line| has_word(line, name))
        };
        assert!(found("TypeName") && found("Any"));
        assert!(!found("Type") && !found("Name") && !found("An"));
    }
}
