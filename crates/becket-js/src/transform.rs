//! TypeScript becomes JavaScript. What was made once is kept on disk, under a hash of the source.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use oxc::allocator::Allocator;
use oxc::codegen::{Codegen, CodegenOptions};
use oxc::parser::Parser;
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use oxc::transformer::{TransformOptions, Transformer as Transform};

/// Part of every hash: another number when the same source would give other JavaScript.
const VERSION: &str = "1";

/// Makes JavaScript of TypeScript, once for each source.
#[derive(Default)]
pub struct Transformer {
    /// Where results are kept between runs.
    folder: Option<PathBuf>,
    made: Mutex<HashMap<blake3::Hash, Arc<str>>>,
}

/// Source that is no TypeScript or JavaScript.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TransformError(pub String);

impl Transformer {
    /// One that keeps results in a folder, which is made when it is needed.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            made: Mutex::default(),
        }
    }

    /// The JavaScript of a file. What is JavaScript already stays as it is.
    pub fn javascript(&self, path: &Path, source: &str) -> Result<Arc<str>, TransformError> {
        let typescript = matches!(
            path.extension().and_then(|extension| extension.to_str()),
            Some("ts" | "mts" | "cts" | "tsx" | "jsx")
        );
        if !typescript {
            return Ok(source.into());
        }
        let hash = hash_of(path, source);
        if let Some(known) = self.made().get(&hash) {
            return Ok(Arc::clone(known));
        }
        let code = match self.kept(&hash) {
            Some(code) => code,
            None => {
                let code = transform(path, source)?;
                self.keep(&hash, &code);
                code
            }
        };
        let code: Arc<str> = code.into();
        self.made().insert(hash, Arc::clone(&code));
        Ok(code)
    }

    fn kept(&self, hash: &blake3::Hash) -> Option<String> {
        std::fs::read_to_string(self.file(hash)?).ok()
    }

    /// A result that cannot be kept is made again next time; nothing else is lost.
    fn keep(&self, hash: &blake3::Hash, code: &str) {
        let Some(file) = self.file(hash) else { return };
        let Some(folder) = file.parent() else { return };
        let unfinished = folder.join(format!("{}.{}", hash.to_hex(), std::process::id()));
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&unfinished, code));
        if written
            .and_then(|()| std::fs::rename(&unfinished, &file))
            .is_err()
        {
            let _ = std::fs::remove_file(&unfinished);
        }
    }

    fn file(&self, hash: &blake3::Hash) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}.js", hash.to_hex())))
    }

    fn made(&self) -> std::sync::MutexGuard<'_, HashMap<blake3::Hash, Arc<str>>> {
        self.made.lock().expect("no panic happens while results are held")
    }
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

fn transform(path: &Path, source: &str) -> Result<String, TransformError> {
    let allocator = Allocator::default();
    let kind = SourceType::from_path(path).map_err(|error| TransformError(error.to_string()))?;
    let parsed = Parser::new(&allocator, source, kind).parse();
    if let Some(problem) = parsed.diagnostics.first() {
        return Err(TransformError(format!(
            "{:?}",
            problem.clone().with_source_code(source.to_string())
        )));
    }
    let mut program = parsed.program;
    let scoping = SemanticBuilder::new()
        .with_enum_eval(true)
        .build(&program)
        .semantic
        .into_scoping();
    let options = TransformOptions::default();
    let transformed = Transform::new(&allocator, path, &options).build_with_scoping(scoping, &mut program);
    if let Some(problem) = transformed.diagnostics.first() {
        return Err(TransformError(format!(
            "{:?}",
            problem.clone().with_source_code(source.to_string())
        )));
    }
    Ok(Codegen::new()
        .with_options(CodegenOptions::default())
        .build(&program)
        .code)
}
