//! Turns TypeScript into JavaScript, and places in the JavaScript back into places in the TypeScript.
//!
//! Results are cached on disk, under a hash of the source: the code, and beside it the source map, which is read only
//! when an error must be described.

#![allow(
    clippy::disallowed_methods,
    reason = "a cache, found by the hash of what it was made of"
)]

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use oxc::allocator::Allocator;
use oxc::codegen::{Codegen, CodegenOptions};
use oxc::diagnostics::OxcDiagnostic;
use oxc::parser::Parser;
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use oxc::transformer::{HelperLoaderMode, HelperLoaderOptions, TransformOptions, Transformer as Transform};

use crate::facts::Facts;
use crate::opening;
use crate::room::with_room;

/// A part of every hash: changed when the same source would give other JavaScript.
const VERSION: &str = "6";

/// The prefix of the names of modules that are not an author's files.
pub(crate) const HOST: &str = "becket:";

/// Turns TypeScript into JavaScript, once for each source.
#[derive(Default)]
pub struct Transformer {
    /// Where results are cached between runs.
    folder: Option<PathBuf>,
    /// The source maps of the requested files.
    files: Mutex<HashMap<PathBuf, Places>>,
    facts: Mutex<HashMap<blake3::Hash, Arc<Facts>>>,
}

/// Where the source map of a file is.
#[derive(Clone)]
enum Places {
    Kept(blake3::Hash),
    Here(Arc<str>),
}

/// A syntax error in TypeScript or JavaScript.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}:{column}: {what}\n    {text}", path.display())]
pub struct TransformError {
    /// The file.
    pub path: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1.
    pub column: usize,
    /// What is wrong with the source.
    pub what: String,
    /// The line's text.
    pub text: String,
}

impl TransformError {
    /// The error of a file that is nested too deep for a parser.
    pub(crate) fn too_deep(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            line: 1,
            column: 1,
            what: "it is nested too deep to be read".into(),
            text: String::new(),
        }
    }
}

/// The result of a transformation: code, and its source map.
struct Made {
    code: String,
    places: String,
}

impl Transformer {
    /// A transformer that caches results in a folder, which is made when it is needed.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            files: Mutex::default(),
            facts: Mutex::default(),
        }
    }

    /// The facts about JavaScript.
    pub(crate) fn facts(&self, code: &str) -> Arc<Facts> {
        let hash = hash_of(Path::new("facts"), code);
        let mut known = self.facts.lock().expect("no panic happens while facts are held");
        let find = || {
            let kept = self
                .kept(&hash, "facts")
                .and_then(|text| serde_json::from_str(&text).ok());
            let facts = kept.unwrap_or_else(|| {
                let facts = Facts::of(code);
                self.keep(&hash, "facts", &serde_json::to_string(&facts).unwrap_or_default());
                facts
            });
            Arc::new(facts)
        };
        Arc::clone(known.entry(hash).or_insert_with(find))
    }

    /// The JavaScript of a file. JavaScript stays as it is.
    pub fn javascript(&self, path: &Path, source: &str) -> Result<Arc<str>, TransformError> {
        let typescript = matches!(
            path.extension().and_then(|extension| extension.to_str()),
            Some("ts" | "mts" | "cts" | "tsx" | "jsx")
        );
        if !typescript {
            return Ok(source.into());
        }
        let hash = hash_of(path, source);
        if let Some(code) = self.kept(&hash, "js") {
            self.files().insert(path.into(), Places::Kept(hash));
            return Ok(code.into());
        }
        let made = with_room(source, || transform(path, source))
            .unwrap_or_else(|| Err(TransformError::too_deep(path)))?;
        let kept = self.keep(&hash, "places", &made.places) && self.keep(&hash, "js", &made.code);
        let places = if kept {
            Places::Kept(hash)
        } else {
            Places::Here(made.places.into())
        };
        self.files().insert(path.into(), places);
        Ok(made.code.into())
    }

    /// The syntax error of a file that the engine refused, if there is one.
    pub(crate) fn problem(&self, path: &Path, source: &str) -> Option<TransformError> {
        let kind = SourceType::from_path(path).ok()?;
        let looked = with_room(source, || {
            let allocator = Allocator::default();
            let parsed = Parser::new(&allocator, source, kind).parse();
            let problem = parsed.diagnostics.errors().next()?;
            Some(in_plain_words(path, source, problem))
        });
        looked.unwrap_or_else(|| Some(TransformError::too_deep(path)))
    }

    // ---------------------------------------------------------------- places

    /// A text with stacks in it, with the places as the authors wrote them.
    pub(crate) fn with_original_places(&self, text: String) -> String {
        if !text.contains("    at ") {
            return text;
        }
        let lines = text.split_inclusive('\n').map(|line| {
            let original = place(line)
                .and_then(|(file, at, column)| Some((file, at, column, self.original(file, at, column)?)));
            match original {
                Some((file, at, column, (to, to_column))) => line.replace(
                    &format!("{file}:{at}:{column}"),
                    &format!("{file}:{to}:{to_column}"),
                ),
                None => line.into(),
            }
        });
        lines.collect()
    }

    /// The place in the source for a place in the generated code. Both count from 1.
    fn original(&self, file: &str, line: usize, column: usize) -> Option<(usize, usize)> {
        let places = self.files().get(Path::new(file)).cloned()?;
        let places = match places {
            Places::Here(places) => places,
            Places::Kept(hash) => self.kept(&hash, "places")?.into(),
        };
        let mut found = None;
        for place in places.lines() {
            let mut numbers = place.split(' ').filter_map(|number| number.parse::<usize>().ok());
            let mut next = || numbers.next();
            let (at, at_column, to, to_column) = (next()?, next()?, next()?, next()?);
            if at == line && (at_column <= column || found.is_none()) {
                found = Some((to, to_column));
            }
            if at > line {
                break;
            }
        }
        found
    }

    // ---------------------------------------------------------------- the cache

    fn kept(&self, hash: &blake3::Hash, ending: &str) -> Option<String> {
        std::fs::read_to_string(self.file(hash, ending)?).ok()
    }

    /// Writes to the cache, and returns whether it worked. Otherwise the result is made again next time.
    fn keep(&self, hash: &blake3::Hash, ending: &str, text: &str) -> bool {
        let Some(file) = self.file(hash, ending) else {
            return false;
        };
        let Some(folder) = file.parent() else { return false };
        // Engines that start together may keep the same file at once.
        static WRITES: AtomicU64 = AtomicU64::new(0);
        let number = WRITES.fetch_add(1, Ordering::Relaxed);
        let unfinished = folder.join(format!("{}.{}.{number}", hash.to_hex(), std::process::id()));
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&unfinished, text))
            .and_then(|()| std::fs::rename(&unfinished, &file));
        if written.is_err() {
            let _ = std::fs::remove_file(&unfinished);
        }
        written.is_ok()
    }

    fn file(&self, hash: &blake3::Hash, ending: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}.{ending}", hash.to_hex())))
    }

    fn files(&self) -> MutexGuard<'_, HashMap<PathBuf, Places>> {
        self.files.lock().expect("no panic happens while files are held")
    }
}

/// The first place of a stack that is in an author's file.
pub(crate) fn first_place(stack: &str) -> Option<String> {
    let mut places = stack.lines().filter_map(place);
    let (file, line, column) = places.find(|(file, ..)| is_author_s(file))?;
    Some(format!("{file}:{line}:{column}"))
}

/// Whether a file of a stack is an author's. Node and Bun call becket's own script `[stdin]`.
fn is_author_s(file: &str) -> bool {
    !file.starts_with(HOST) && !file.ends_with("[stdin]") && Path::new(file).is_absolute()
}

/// File, line and column of one line of a stack, such as `at name (file:1:2)` or `at file:1:2`.
fn place(line: &str) -> Option<(&str, usize, usize)> {
    let frame = line.trim().strip_prefix("at ")?;
    let place = match frame.rfind('(') {
        Some(at) => frame[at + 1..].strip_suffix(')')?,
        None => frame,
    };
    let (rest, column) = place.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    // Node marks asynchronous callers, and writes files as URLs.
    let file = file.strip_prefix("async ").unwrap_or(file);
    let file = file.strip_prefix("file://").unwrap_or(file);
    Some((file, line.parse().ok()?, column.parse().ok()?))
}

/// The largest file in which a place is looked for, in bytes.
const LARGEST: usize = 16 << 20;

/// The place of an import in the importing file.
pub(crate) fn place_of_import(file: &str, name: &str) -> Option<String> {
    let source = opening::text(Path::new(file), LARGEST).ok()?;
    let quoted = ['"', '\'', '`'].map(|quote| format!("{quote}{name}{quote}"));
    let offset = quoted
        .iter()
        .filter_map(|quoted| source.find(quoted.as_str()))
        .min()?;
    let (line, column, _) = located(&source, offset);
    Some(format!("{file}:{line}:{column}"))
}

fn hash_of(path: &Path, source: &str) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    for part in [VERSION, env!("CARGO_PKG_VERSION"), &extension, source] {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    hasher.finalize()
}

fn transform(path: &Path, source: &str) -> Result<Made, TransformError> {
    let allocator = Allocator::default();
    let wrong = |problem: &OxcDiagnostic| in_plain_words(path, source, problem);
    let kind = SourceType::from_path(path).unwrap_or_else(|_| SourceType::ts());
    let parsed = Parser::new(&allocator, source, kind).parse();
    if let Some(problem) = parsed.diagnostics.errors().next() {
        return Err(wrong(problem));
    }
    let mut program = parsed.program;
    let semantic = SemanticBuilder::new()
        .with_check_syntax_error(true)
        .with_enum_eval(true)
        .build(&program);
    if let Some(problem) = semantic.diagnostics.errors().next() {
        return Err(wrong(problem));
    }
    let scoping = semantic.semantic.into_scoping();
    let transformed =
        Transform::new(&allocator, path, &transform_options()).build_with_scoping(scoping, &mut program);
    if let Some(problem) = transformed.diagnostics.errors().next() {
        return Err(wrong(problem));
    }
    let options = CodegenOptions {
        source_map_path: Some(path.into()),
        ..CodegenOptions::default()
    };
    let made = Codegen::new().with_options(options).build(&program);
    let mut places = String::new();
    for token in made.map.iter().flat_map(|map| map.get_tokens()) {
        let (at, at_column) = (token.get_dst_line() + 1, token.get_dst_col() + 1);
        let (to, to_column) = (token.get_src_line() + 1, token.get_src_col() + 1);
        let _ = writeln!(places, "{at} {at_column} {to} {to_column}");
    }
    let code = match made.code.contains(HELPED) {
        // In the first line, so that the others keep their numbers.
        true => format!("{HELPERS}{}", made.code),
        false => made.code,
    };
    Ok(Made { code, places })
}

/// The options of the transformation. Decorators are the legacy ones of TypeScript, because pi compiles extensions so.
fn transform_options() -> TransformOptions {
    let mut options = TransformOptions {
        helper_loader: HelperLoaderOptions {
            mode: HelperLoaderMode::External,
            ..HelperLoaderOptions::default()
        },
        ..TransformOptions::default()
    };
    options.decorator.legacy = true;
    options
}

/// The prefix of calls that the transformation adds for decorators.
const HELPED: &str = "babelHelpers.";

const HELPERS: &str = "var babelHelpers={decorate(all,target,key,given){\
    const own=arguments.length<3,found=own?target:given===null?Object.getOwnPropertyDescriptor(target,key):given;\
    let made=found;for(let at=all.length-1;at>=0;at--){const one=all[at];\
    made=(own?one(made):arguments.length>3?one(target,key,made):one(target,key))||made;}\
    if(arguments.length>3&&made)Object.defineProperty(target,key,made);return made;},\
    decorateParam(index,one){return(target,key)=>one(target,key,index);}};";

pub(crate) fn in_plain_words(path: &Path, source: &str, problem: &OxcDiagnostic) -> TransformError {
    let offset = problem.labels.first().map_or(0, |label| label.offset() as usize);
    let (line, column, text) = located(source, offset);
    let what = match &problem.help {
        Some(help) => format!("{} ({help})", problem.message),
        None => problem.message.to_string(),
    };
    TransformError {
        path: path.into(),
        line,
        column,
        what,
        text: text.trim().into(),
    }
}

/// Line and column of a place in a text, both counted from 1, and the line's text.
fn located(text: &str, offset: usize) -> (usize, usize, &str) {
    let before = text.get(..offset).unwrap_or(text);
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text[begin..].lines().next().unwrap_or_default();
    let column = before[begin..].chars().count() + 1;
    (before.matches('\n').count() + 1, column, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_that_keep_the_same_file_at_once_keep_it_whole() {
        let folder = tempfile::tempdir().unwrap();
        let fresh = || Transformer::new(Some(folder.path().to_owned()));
        for round in 0..40 {
            let source = format!(
                "export const round: number = {round};\n{}",
                "f(1 as any);\n".repeat(200)
            );
            let (path, source) = (Path::new("/x/same.ts"), source.as_str());
            let wanted = Transformer::new(None).javascript(path, source).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| assert_eq!(fresh().javascript(path, source).unwrap(), wanted));
                }
            });
            assert_eq!(fresh().javascript(path, source).unwrap(), wanted);
        }
    }
}
