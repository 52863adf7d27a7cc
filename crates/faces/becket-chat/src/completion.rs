//! Completion while the user types: commands, their arguments, and files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use becket_agent::IgnoreFiles;
use becket_host::Interactive;
use becket_screen::{Candidate, CompletionRequest, Completions, Screen};
use becket_system::Surroundings;

use super::own_commands::{COMMANDS, mistyped};
use super::thinking;

/// How many files are searched for one request.
const MOST_FILES: usize = 20_000;

/// How many candidates are shown.
const MOST_SHOWN: usize = 50;

/// Answers completion requests of the editor. A clone is another handle to it.
#[derive(Clone)]
pub struct Completer {
    screen: Screen,
    guests: Arc<dyn Interactive>,
    directory: PathBuf,
    /// The commands and templates. Extension commands are not in it, since they come and go.
    known: Arc<Mutex<Known>>,
}

/// Commands and templates with descriptions.
#[derive(Clone, Default)]
struct Known {
    /// Commands of the agent.
    commands: Vec<(String, String)>,
    /// Prompt templates and skills, which are prompts and can be said while the model works.
    templates: Vec<(String, String)>,
    /// The models that `/model` may name.
    models: Vec<String>,
}

impl Completer {
    pub fn new(screen: &Screen, guests: &Arc<dyn Interactive>, surroundings: &Surroundings) -> Self {
        let completer = Self {
            screen: screen.clone(),
            guests: Arc::clone(guests),
            directory: surroundings.cwd.clone(),
            known: Arc::default(),
        };
        let own = completer.clone();
        guests.set_completes(Box::new(move |before, forced| {
            let (own, before) = (own.clone(), before.to_owned());
            Box::pin(async move { own.completions(&before, forced).await })
        }));
        completer
    }

    /// Sets the commands of the current agent, and the templates, each with its description.
    pub fn know(&self, commands: Vec<(String, String)>, templates: Vec<(String, String)>) {
        let mut known = self.known();
        (known.commands, known.templates) = (commands, templates);
    }

    /// Sets the models that `/model` may name.
    pub fn know_models(&self, models: Vec<String>) {
        self.known().models = models;
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known
            .lock()
            .expect("no panic happens while commands are held")
    }

    /// Whether a line calls one of becket's own commands, or one of the agent.
    pub fn is_command(&self, line: &str) -> bool {
        let word = line.split_whitespace().next().unwrap_or_default();
        let own = COMMANDS.iter().any(|command| command.name == word);
        own || self.known().commands.iter().any(|(name, _)| name == word)
    }

    /// Why a line that is to be said while the model works is no prompt.
    pub fn mistyped(&self, line: &str) -> Option<String> {
        let Known {
            commands, templates, ..
        } = self.known().clone();
        mistyped(line, &[commands, self.guests.commands(), templates].concat())
    }

    /// Answers a request without blocking. The screen ignores an answer that comes too late.
    pub fn complete(&self, request: CompletionRequest) {
        let CompletionRequest {
            id,
            text,
            cursor,
            forced,
        } = request;
        let own = self.clone();
        tokio::spawn(async move {
            let before = &text[..cursor];
            let completions = match own.guests.suggest(&text, before, forced) {
                Some(suggested) => suggested.await,
                None => own.completions(before, forced).await,
            };
            own.screen.complete(id, completions);
        });
    }

    /// becket's own completions, without those of extensions.
    async fn completions(&self, before: &str, forced: bool) -> Completions {
        if before.starts_with('/') && !before.contains(char::is_whitespace) {
            return self.names(before);
        }
        if let Some(argument) = before.strip_prefix("/model ") {
            return containing(argument, self.known().models.clone());
        }
        if let Some(argument) = before.strip_prefix("/thinking ") {
            return containing(argument, thinking::names().map(ToOwned::to_owned));
        }
        if let Some((command, argument)) = arguments_of(before) {
            return Completions {
                candidates: self.guests.complete_argument(command, argument).await,
                prefix: argument.to_owned(),
                submits: false,
            };
        }
        let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        if !word.starts_with('@') && (!forced || word.is_empty()) {
            return Completions::default();
        }
        let (word, directory) = (word.to_owned(), self.directory.clone());
        let found = tokio::task::spawn_blocking(move || files(&word, &directory)).await;
        found.unwrap_or_default()
    }

    /// Commands that begin with the text, and then those that contain it.
    fn names(&self, written: &str) -> Completions {
        let own = COMMANDS
            .iter()
            .map(|command| (command.name.to_owned(), command.about.to_owned()));
        let of_guests = self.guests.commands();
        let Known {
            commands, templates, ..
        } = self.known().clone();
        let all: Vec<(String, String)> = own.chain(commands).chain(of_guests).chain(templates).collect();
        let (mut fitting, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(name, _)| name.starts_with(written));
        let inside = written.trim_start_matches('/');
        fitting.extend(others.into_iter().filter(|(name, _)| name.contains(inside)));
        let candidates = fitting.into_iter().map(|(name, description)| Candidate {
            value: format!("{name} "),
            label: name,
            description,
        });
        Completions {
            prefix: written.to_owned(),
            candidates: candidates.collect(),
            submits: true,
        }
    }
}

/// The names that contain the text.
fn containing(written: &str, names: impl IntoIterator<Item = String>) -> Completions {
    let wanted = written.trim().to_lowercase();
    let names = names
        .into_iter()
        .filter(|name| name.to_lowercase().contains(&wanted));
    let candidates = names.take(MOST_SHOWN).map(|name| Candidate {
        value: name,
        ..Candidate::default()
    });
    Completions {
        prefix: written.to_owned(),
        candidates: candidates.collect(),
        submits: true,
    }
}

/// The command that a line calls, and the arguments so far.
fn arguments_of(before: &str) -> Option<(&str, &str)> {
    let command = before.strip_prefix('/')?;
    let (name, argument) = command.split_once(' ')?;
    (!argument.contains('\n')).then_some((name, argument))
}

/// Files that a word may mean. A word that begins with `@` finds files anywhere below the directory.
fn files(word: &str, directory: &Path) -> Completions {
    let (mark, path) = match word.strip_prefix('@') {
        Some(path) => ("@", path),
        None => ("", word),
    };
    let (folder, name) = path
        .rsplit_once('/')
        .map_or(("", path), |(folder, name)| (folder, name));
    let mut found = of_folder(directory, folder, path.contains('/'), name);
    if !mark.is_empty() && folder.is_empty() && !name.is_empty() {
        let near: Vec<String> = below(directory, name)
            .into_iter()
            .filter(|path| !found.contains(path))
            .collect();
        found.extend(near);
    }
    found.truncate(MOST_SHOWN);
    let candidates = found.into_iter().map(|path| Candidate {
        value: format!("{mark}{path}{}", if path.ends_with('/') { "" } else { " " }),
        label: path,
        description: String::new(),
    });
    Completions {
        prefix: word.to_owned(),
        candidates: candidates.collect(),
        submits: false,
    }
}

/// Entries of a folder whose names begin with `name`. Hidden ones are listed only if it begins with a dot.
fn of_folder(directory: &Path, folder: &str, has_slash: bool, name: &str) -> Vec<String> {
    let place = if has_slash && folder.is_empty() {
        PathBuf::from("/")
    } else {
        directory.join(folder)
    };
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .take(MOST_FILES)
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let fits = file.starts_with(name) && (name.starts_with('.') || !file.starts_with('.'));
            let end = if entry.path().is_dir() { "/" } else { "" };
            let folder = if has_slash {
                format!("{folder}/")
            } else {
                String::new()
            };
            fits.then(|| format!("{folder}{file}{end}"))
        })
        .collect();
    names.sort();
    names
}

/// Files below a directory whose paths contain a name. Files that the project ignores are left out.
fn below(directory: &Path, name: &str) -> Vec<String> {
    let ignored = IgnoreFiles::around(directory);
    let (mut folders, mut found, mut seen) = (vec![directory.to_path_buf()], Vec::new(), 0);
    let wanted = name.to_lowercase();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_FILES || found.len() >= MOST_SHOWN {
                return found;
            }
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if is_hidden || ignored.leave_out(&path, is_folder) {
                continue;
            }
            let shown = path.strip_prefix(directory).ok().and_then(Path::to_str);
            if let Some(shown) = shown.filter(|shown| !is_folder && shown.to_lowercase().contains(&wanted)) {
                found.push(shown.to_owned());
            }
            if is_folder {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}
