//! Collects the files of a thing of the project: those that it runs, and those that these load.
//!
//! A file belongs to the project by the name under which it is used, wherever a link of that name leads. Files that are
//! named by a path outside of the project, or found on the user's PATH, are the user's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use becket_hooks::CommandLine;
use rustix::fs::OFlags;

use super::follow::{Base, Followed, Holds, Language, Use, follow, holds, starts};
use super::item::{Command, Edit, File, FileState, Word, plain, shell_quoted};

/// Limits: the number of files of one thing, their total size in bytes, and the depth of folders.
const MOST_FILES: usize = 2_000;
const MOST_BYTES: usize = 64 << 20;
const DEEPEST: usize = 12;

/// Folders that hold no part of a script, however close they lie.
const LEFT_OUT: &[&str] = &[".git", ".hg", ".jj", ".svn", "__pycache__"];

/// Collects files.
pub struct Gatherer<'a> {
    /// The project's root, with links resolved.
    root: &'a Path,
    /// The directory in which a hook runs.
    directory: PathBuf,
    /// The folder of the hook's file.
    folder: PathBuf,
    /// Variables that are set when the thing runs.
    pub variables: BTreeMap<String, String>,
    size: usize,
    pub files: BTreeMap<String, File>,
    pub open: Vec<String>,
    pub trouble: Option<String>,
    /// Whether Python runs that searches the working directory for modules.
    seeks_modules: bool,
    /// The folders of the Python scripts that are started, relative to the root.
    script_folders: BTreeSet<String>,
}

impl<'a> Gatherer<'a> {
    pub fn new(root: &'a Path, directory: &Path, folder: &Path) -> Self {
        Self {
            root,
            directory: directory.to_path_buf(),
            folder: folder.to_path_buf(),
            variables: BTreeMap::new(),
            size: 0,
            files: BTreeMap::new(),
            open: Vec::new(),
            trouble: None,
            seeks_modules: false,
            script_folders: BTreeSet::new(),
        }
    }

    /// The folders in which Python must look for modules instead of the working directory, if it would look there
    /// first.
    pub fn module_folders(&self) -> Option<Vec<String>> {
        let here = self.named(&self.directory).into_iter();
        self.seeks_modules
            .then(|| here.chain(self.script_folders.clone()).collect())
    }

    /// The folders from which Python modules import each other.
    fn module_roots(&self) -> impl Iterator<Item = PathBuf> {
        let here = self.seeks_modules.then(|| self.directory.clone());
        let scripts = self.script_folders.iter().map(|folder| self.root.join(folder));
        here.into_iter().chain(scripts)
    }

    /// Collects everything that a command line runs.
    pub fn command(&mut self, command: &CommandLine) -> Command {
        match command {
            CommandLine::Shell(line) => Command::Shell(line.clone(), self.line(line)),
            CommandLine::Exec(words) => Command::Exec(self.words(words)),
        }
    }

    fn line(&mut self, line: &str) -> Vec<Edit> {
        let followed = Followed {
            // A line has no folder of its own.
            whole_folder: false,
            ..follow(line, Language::Shell, &self.variables)
        };
        self.take("the command", None, followed)
    }

    fn words(&mut self, words: &[String]) -> Vec<Word> {
        let mut result: Vec<Word> = words.iter().cloned().map(Word::Text).collect();
        let Some(program) = words.first() else {
            return result;
        };
        // A program with a relative path lies beside the hook file.
        let beside = program
            .contains('/')
            .then(|| self.named(&self.folder.join(program)));
        if let Some(name) = beside.flatten() {
            self.code(&name, None);
            result[0] = Word::File(name);
        }
        let is_shell = Language::of_program(program) == Some(Language::Shell);
        let takes_code = |option: &String| option.starts_with('-') && option.ends_with('c');
        let code = words.iter().position(takes_code).map(|at| at + 1);
        if let Some((at, line)) = code
            .filter(|_| is_shell)
            .and_then(|at| Some((at, words.get(at)?)))
        {
            result[at] = Word::Line(line.clone(), self.line(line));
            return result;
        }
        // The remaining words mean what a shell line would mean by them.
        let (mut line, mut spans) = (String::new(), Vec::new());
        for word in words {
            let start = line.len();
            line.push_str(&shell_quoted(word));
            spans.push(start..line.len());
            line.push(' ');
        }
        let mut followed = follow(&line, Language::Shell, &self.variables);
        followed.whole_folder = false;
        followed.uses.retain(|used| used.span.as_ref() != spans.first());
        for edit in self.take("the command", None, followed) {
            if let Some(at) = spans.iter().position(|span| *span == edit.span) {
                result[at] = Word::File(edit.file);
            }
        }
        result
    }

    /// The parts of a hook's variable, if it names files or folders of the project.
    pub fn variable(&mut self, name: &str, value: &str) -> Option<Vec<Word>> {
        let holds = holds(name);
        let leads_here = |piece: &str| self.named(&self.directory.join(piece)).is_some();
        let is_told = match holds {
            // Settings may be put there at any time.
            Some(Holds::Home) => leads_here(value),
            Some(Holds::Orders) => value.contains('/'),
            Some(Holds::Paths) => value
                .split(':')
                .any(|piece| leads_here(piece) && !becket_fs::exists(self.directory.join(piece))),
            None => false,
        };
        if is_told {
            self.open.push(format!(
                "the variable {name}: `{value}` decides which code is found"
            ));
        }
        if holds == Some(Holds::Home) {
            return None;
        }
        let pieces: Vec<Word> = value
            .split(':')
            .map(|piece| match self.place(piece, holds == Some(Holds::Paths)) {
                Some(file) => Word::File(file),
                None => Word::Text(piece.to_owned()),
            })
            .collect();
        let names_some = pieces.iter().any(|piece| matches!(piece, Word::File(_)));
        names_some.then_some(pieces)
    }

    fn place(&mut self, value: &str, is_path: bool) -> Option<String> {
        let name = self
            .named(&self.directory.join(value))
            .filter(|name| is_path || !name.is_empty())?;
        let path = self.root.join(&name);
        // A word such as `debug` does not mean a folder that happens to exist.
        let is_path = is_path || value.contains('/') || path.extension().is_some();
        if !is_path || !becket_fs::exists(&path) {
            return None;
        }
        match becket_fs::is_dir(&path) {
            true => self.folder(&path),
            false => self.code(&name, None),
        }
        Some(name)
    }

    /// Adds a file that only counts, without being code.
    pub fn plain(&mut self, path: &Path) {
        if let Some(name) = self.named(path) {
            self.read(&name);
        }
    }

    /// Adds a file that is run, with everything that it loads.
    pub fn script(&mut self, path: &Path) {
        if let Some(name) = self.named(path) {
            self.code(&name, None);
        }
    }

    /// The name of a path relative to the root; `None` if it lies outside.
    pub fn named(&self, path: &Path) -> Option<String> {
        let path = plain(path);
        let name = path.strip_prefix(self.root).ok()?;
        Some(name.to_str()?.to_owned())
    }

    fn code(&mut self, name: &str, language: Option<Language>) {
        if !self.files.contains_key(name) && self.read(name) {
            self.look(name, language);
        }
    }

    /// Finds what a file loads that was just read.
    fn look(&mut self, name: &str, language: Option<Language>) {
        let file = &self.files[name];
        let Ok(text) = String::from_utf8(file.bytes.to_vec()) else {
            return;
        };
        let (path, place) = (self.root.join(name), self.root.join(&file.place));
        let language = Language::of_file(&path, &text).or(language);
        // An executable file without a `#!` line is run by the shell.
        let is_runnable = file.state == FileState::Runnable && !text.contains('\0');
        let Some(language) = language.or(is_runnable.then_some(Language::Shell)) else {
            return;
        };
        if let Some(line) = text.strip_prefix("#!").and_then(|rest| rest.lines().next()) {
            self.first_line(name, line);
        }
        if language == Language::JavaScript {
            return self.javascript(name, &place, &text);
        }
        let edits = self.take(
            name,
            Some(&[path, place]),
            follow(&text, language, &self.variables),
        );
        if let Some(file) = self.files.get_mut(name) {
            file.edits = edits;
        }
    }

    /// Follows the first line of a script, which is a command for it.
    fn first_line(&mut self, name: &str, line: &str) {
        let mut followed = follow(
            &format!("{line} {}", shell_quoted(name)),
            Language::Shell,
            &self.variables,
        );
        self.open
            .extend(followed.open.drain(..).map(|open| format!("{name}: {open}")));
        for used in followed.uses.iter().filter(|used| used.path != Path::new(name)) {
            let program = self.directory.join(&used.path);
            match self.named(&program) {
                Some(name) if name.is_empty() => {}
                Some(_) if becket_fs::is_dir(&program) => self.folder(&program),
                Some(_) => {
                    self.open.push(format!(
                        "{name}: it is run by {} of the project",
                        used.path.display()
                    ));
                    self.plain(&program);
                }
                None => {}
            }
        }
    }

    /// Without the JavaScript engine nobody can follow imports.
    #[cfg(not(feature = "javascript"))]
    fn javascript(&mut self, name: &str, place: &Path, text: &str) {
        self.open.push(format!(
            "{name}: this becket cannot follow what JavaScript imports"
        ));
        self.around(place);
        self.take(name, None, starts(text));
    }

    /// Follows the imports of JavaScript, as the engine finds them.
    #[cfg(feature = "javascript")]
    fn javascript(&mut self, name: &str, place: &Path, text: &str) {
        let found = becket_js::imports(place, text);
        for file in found.files {
            if let Some(name) = self.named(&file) {
                self.code(&name, Some(Language::JavaScript));
            }
        }
        found.manifests.iter().for_each(|file| self.plain(file));
        if let Some(what) = found.open {
            self.open.push(format!("{name}: {what} cannot be followed"));
        }
        let started = starts(text);
        if found.whole_folder || started.whole_folder {
            self.around(place);
        }
        self.take(name, None, started);
    }

    /// Adds what a text says, and returns where it contains paths that lead past a copy. `script` is the file of the
    /// text as named, and with links resolved.
    fn take(&mut self, title: &str, script: Option<&[PathBuf; 2]>, followed: Followed) -> Vec<Edit> {
        self.open
            .extend(followed.open.iter().map(|what| format!("{title}: {what}")));
        self.seeks_modules |= followed.seeks_modules;
        let mut edits = Vec::new();
        for used in followed.uses {
            for base in self.bases(&used, script) {
                let Some(name) = self.named(&base.join(&used.path)) else {
                    continue;
                };
                let is_there = becket_fs::exists(self.root.join(&name));
                if name.is_empty() || (!is_there && (used.is_guess || is_a_second(&base, script))) {
                    continue;
                }
                self.used(&name, &used);
                let leads_past = used.base == Base::Directory || used.path.is_absolute();
                match &used.span {
                    Some(span) if leads_past => edits.push(Edit {
                        span: span.clone(),
                        file: name,
                    }),
                    None if leads_past => self.open.push(format!(
                        "{title}: {name} is not covered by trust; the file found at run time is used"
                    )),
                    _ => {}
                }
            }
        }
        if let Some([path, place]) = script.filter(|_| followed.whole_folder) {
            self.around(path);
            self.around(place);
        }
        edits.sort_by_key(|edit: &Edit| edit.span.start);
        edits
    }

    /// Adds a file or a folder that is run or loaded.
    fn used(&mut self, name: &str, used: &Use) {
        let path = self.root.join(name);
        if becket_fs::is_dir(&path) {
            return self.folder(&path);
        }
        let is_new = !self.files.contains_key(name) && self.read(name);
        let is_python = self.language(name).or(used.language) == Some(Language::Python);
        if used.span.is_some() && is_python {
            let folder = Path::new(name).parent().and_then(Path::to_str);
            self.script_folders.extend(folder.map(ToOwned::to_owned));
        }
        if is_new {
            self.look(name, used.language);
        }
    }

    /// The language of a file that was read.
    fn language(&self, name: &str) -> Option<Language> {
        let text = String::from_utf8_lossy(&self.files.get(name)?.bytes);
        Language::of_file(&self.root.join(name), &text)
    }

    /// The folders that a path may be relative to.
    fn bases(&self, used: &Use, script: Option<&[PathBuf; 2]>) -> Vec<PathBuf> {
        match (used.base, script) {
            (Base::Directory | Base::Modules, _) => vec![self.directory.clone()],
            (Base::HookFolder, _) => vec![self.folder.clone()],
            (Base::Script, None) => Vec::new(),
            (Base::Script, Some(files)) => {
                let mut folders: Vec<PathBuf> = files
                    .iter()
                    .filter_map(|file| Some(file.parent()?.into()))
                    .collect();
                folders.dedup();
                if used.is_guess && used.language == Some(Language::Python) {
                    folders.extend(self.module_roots());
                }
                folders
            }
        }
    }

    /// Adds the whole folder of a script.
    fn around(&mut self, script: &Path) {
        if let Some(folder) = script.parent().filter(|folder| folder.starts_with(self.root)) {
            self.folder(folder);
        }
    }

    /// Adds all files of a folder; of the project's root only those directly in it.
    fn folder(&mut self, folder: &Path) {
        let depth = if folder == self.root { DEEPEST } else { 0 };
        self.walk(folder, depth);
    }

    fn walk(&mut self, folder: &Path, depth: usize) {
        let entries = becket_fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let is_left_out = path
                .file_name()
                .is_some_and(|name| LEFT_OUT.iter().any(|other| name == *other));
            let is_folder = becket_fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir());
            if is_left_out || self.trouble.is_some() {
                continue;
            }
            match is_folder {
                true if depth < DEEPEST => self.walk(&path, depth + 1),
                true => {}
                false if becket_fs::is_file(&path) => self.script(&path),
                false => {}
            }
        }
    }

    /// Reads a file, once. Returns whether there is something to look at.
    fn read(&mut self, name: &str) -> bool {
        if self.files.contains_key(name) {
            return true;
        }
        let path = self.root.join(name);
        let missing = File {
            place: name.into(),
            state: FileState::Missing,
            hash: String::new(),
            bytes: [].into(),
            edits: Vec::new(),
        };
        let file = match read_bytes(&path, MOST_BYTES - self.size.min(MOST_BYTES)) {
            Ok((bytes, state)) => {
                let real = becket_fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
                let place = real.strip_prefix(self.root).unwrap_or(&real);
                self.size += bytes.len();
                File {
                    place: place.display().to_string(),
                    state,
                    hash: blake3::hash(&bytes).to_hex().to_string(),
                    bytes: bytes.into(),
                    edits: Vec::new(),
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => missing,
            Err(error) => {
                self.trouble
                    .get_or_insert(format!("{name} cannot be read: {error}"));
                missing
            }
        };
        let is_there = file.state != FileState::Missing;
        self.files.insert(name.into(), file);
        if self.files.len() > MOST_FILES {
            self.trouble
                .get_or_insert(format!("it is made of more than {MOST_FILES} files"));
        }
        is_there
    }
}

/// Whether a folder is only that of a link's target: a file that is missing there may be beside the link.
fn is_a_second(base: &Path, script: Option<&[PathBuf; 2]>) -> bool {
    script.is_some_and(|[path, place]| path != place && place.parent() == Some(base))
}

/// The bytes of a regular file, and whether it is executable. Never blocks on a pipe.
fn read_bytes(path: &Path, most: usize) -> std::io::Result<(Vec<u8>, FileState)> {
    becket_fs::will_read(path);
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    let data = file.metadata()?;
    if !data.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(std::io::Error::other(format!(
            "there are more than {} MB",
            MOST_BYTES >> 20
        )));
    }
    let state = match data.permissions().mode() & 0o111 {
        0 => FileState::Plain,
        _ => FileState::Runnable,
    };
    Ok((bytes, state))
}
