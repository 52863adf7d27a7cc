//! Finds modules: those that the host brings by name, and files beside the one that imports them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Exception, Module};

use crate::bytecode;
use crate::extension::Kit;
use crate::transform::{HOST, place_of_import};

/// A module that the host brings.
#[derive(Debug, Clone, Copy)]
pub struct HostModule {
    /// The names under which it can be imported.
    pub names: &'static [&'static str],
    /// Its TypeScript.
    pub source: &'static str,
}

/// Endings that are tried for an import without one, in this order.
const ENDINGS: &[&str] = &["ts", "js", "mts", "mjs", "cts", "cjs", "json"];

/// Resolves and loads the modules of one extension.
#[derive(Clone)]
pub(crate) struct Modules(pub(crate) Arc<Kit>);

impl Modules {
    fn host_module(&self, name: &str) -> Option<&HostModule> {
        let modules = self.0.modules.iter();
        modules.into_iter().find(|module| module.names.contains(&name))
    }

    /// The name inside of the engine for what a module calls `name`.
    fn find(&self, base: &str, name: &str) -> Option<String> {
        if let Some(module) = self.host_module(name) {
            return Some(format!("{HOST}{}", module.names[0]));
        }
        let folder = Path::new(base).parent()?;
        let wanted = match name.strip_prefix("file://") {
            Some(path) => PathBuf::from(path),
            None if name.starts_with('.') || name.starts_with('/') => folder.join(name),
            None => return None,
        };
        let file = existing(&wanted)?;
        let file = std::fs::canonicalize(&file).unwrap_or(file);
        Some(file.to_string_lossy().into_owned())
    }

    fn file<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Module<'js, Declared>, Error> {
        let path = Path::new(name);
        let wrong = |words: String| Exception::throw_syntax(ctx, &words);
        let source =
            std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot read {name}: {error}")))?;
        let code = self.0.transformer.javascript(path, &source);
        let code = code.map_err(|error| wrong(error.to_string()))?;
        Module::declare(ctx.clone(), name, code.as_bytes()).map_err(|error| {
            match self.0.transformer.problem(path, &source) {
                Some(problem) => {
                    ctx.catch();
                    wrong(problem.to_string())
                }
                None => error,
            }
        })
    }

    fn shared<'js>(&self, ctx: &Ctx<'js>, name: &str, known: &str) -> Result<Module<'js, Declared>, Error> {
        let wrong = |words: String| Exception::throw_syntax(ctx, &words);
        let module = self
            .host_module(known)
            .ok_or_else(|| wrong(format!("there is no module {known}")))?;
        bytecode::declare(ctx, name, module.source, || {
            let path = PathBuf::from(format!("{known}.ts"));
            let code = self.0.transformer.javascript(&path, module.source);
            code.map_err(|error| wrong(error.to_string()))
        })
    }
}

/// The file that an import means: as written, TypeScript where JavaScript is named, with an ending, or a folder's index.
fn existing(wanted: &Path) -> Option<PathBuf> {
    let typescript = ["js", "mjs", "cjs"].iter().zip(["ts", "mts", "cts"]);
    let typescript = typescript
        .filter(|(ending, _)| wanted.extension().is_some_and(|extension| extension == **ending))
        .map(|(_, ending)| wanted.with_extension(ending));
    let with_ending = ENDINGS.iter().map(|ending| {
        let mut name = wanted.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    });
    let index = ENDINGS
        .iter()
        .map(|ending| wanted.join(format!("index.{ending}")));
    std::iter::once(wanted.to_path_buf())
        .chain(typescript)
        .chain(with_ending)
        .chain(index)
        .find(|path| path.is_file())
}

impl Resolver for Modules {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String, Error> {
        self.find(base, name).ok_or_else(|| {
            let importer = place_of_import(base, name).unwrap_or_else(|| base.into());
            let words = format!("cannot find module '{name}', which {importer} imports");
            Exception::throw_message(ctx, &words)
        })
    }
}

impl Loader for Modules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>, Error> {
        let module = match name.strip_prefix(HOST) {
            Some(known) => self.shared(ctx, name, known)?,
            None => self.file(ctx, name)?,
        };
        module.meta()?.set("url", format!("file://{name}"))?;
        Ok(module)
    }
}
