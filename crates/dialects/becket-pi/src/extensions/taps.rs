//! Extensions that hear keys before whoever has the focus, and those that say what could be meant by what is typed.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use becket_js::Extension;
use becket_screen::{Candidate, Completions, Key, Phase};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::board::Board;
use crate::services::{Completion, Suggest, Suggestions, TerminalInput};

/// How long an extension may take with a key.
const A_MOMENT: Duration = Duration::from_secs(5);

/// What the program itself would complete: of a text, what stands before the cursor, and whether the person asked.
pub type Completes = Box<dyn Fn(&str, &str, bool) -> BoxFuture<'static, Completions> + Send + Sync>;

/// Who hears keys, and who completes.
#[derive(Default)]
pub struct Taps {
    state: Mutex<State>,
    completes: OnceLock<Completes>,
}

#[derive(Default)]
struct State {
    /// Extensions that hear keys.
    hear: Vec<String>,
    /// Extensions that complete, in the order in which they have said so.
    complete: Vec<String>,
    /// Keys on their way, in their order.
    keys: Option<UnboundedSender<Key>>,
}

impl Taps {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic happens while taps are held")
    }

    /// What the program itself completes, once.
    pub fn set_completes(&self, completes: Completes) {
        let _ = self.completes.set(completes);
    }

    /// Whether an extension completes.
    pub fn complete(&self) -> bool {
        !self.state().complete.is_empty()
    }
}

impl Board {
    /// An extension wants to hear keys, or not any more.
    pub fn intercept(&self, extension: &str, on: bool) {
        let mut state = self.taps.state();
        state.hear.retain(|name| name != extension);
        if on {
            state.hear.push(extension.to_owned());
        }
        let anybody = !state.hear.is_empty();
        drop(state);
        if let Some(screen) = self.screen() {
            screen.intercept(anybody);
        }
    }

    /// An extension neither hears keys nor completes any more.
    pub fn taps_forget(&self, extension: &str) {
        self.intercept(extension, false);
        self.taps.state().complete.retain(|name| name != extension);
    }

    /// An extension says from now on what could be meant.
    pub fn add_completer(&self, extension: &str) {
        let mut state = self.taps.state();
        state.complete.retain(|name| name != extension);
        state.complete.push(extension.to_owned());
        drop(state);
        if let Some(screen) = self.screen() {
            screen.edit(|editor| editor.triggers.extend(['#', '$']));
        }
    }

    /// A key was pressed while somebody hears them. It goes on when all have heard it, in its order.
    pub fn intercepted(self: &Arc<Self>, key: Key) {
        let mut state = self.taps.state();
        let keys = state.keys.get_or_insert_with(|| {
            let (sender, receiver) = unbounded_channel();
            tokio::spawn(Arc::clone(self).pass_on(receiver));
            sender
        });
        let _ = keys.send(key);
    }

    async fn pass_on(self: Arc<Self>, mut keys: UnboundedReceiver<Key>) {
        while let Some(key) = keys.recv().await {
            let names = self.taps.state().hear.clone();
            let mut left = Some(key);
            for extension in names.iter().filter_map(|name| self.extension_named(name)) {
                let Some(key) = left.take() else { break };
                let service = TerminalInput {
                    data: key.raw.clone(),
                };
                left = match self.ask(&extension, &service, A_MOMENT).await {
                    Ok(Some(data)) if data == key.raw || key.phase != Phase::Press => Some(key),
                    Ok(Some(data)) => Some(Key::read(&data)),
                    Ok(None) => None,
                    Err(failure) => {
                        self.fail(extension.name(), Some("terminal input"), &failure.to_string());
                        self.intercept(extension.name(), false);
                        Some(key)
                    }
                };
            }
            if let (Some(key), Some(screen)) = (left, self.screen()) {
                screen.press(&key);
            }
        }
    }

    fn extension_named(&self, name: &str) -> Option<Extension> {
        self.with(name, |guest| guest.extension.clone()).flatten()
    }

    /// What could be meant: as the last of the extensions says that complete, before the given one if one is given, or
    /// else as the program does.
    pub async fn suggest(&self, text: &str, before: &str, forced: bool, than: Option<&str>) -> Completions {
        let names = self.taps.state().complete.clone();
        let end = than.and_then(|than| names.iter().position(|name| name == than));
        let mut asked = names[..end.unwrap_or(names.len())].iter().rev();
        let Some(extension) = asked.find_map(|name| self.extension_named(name)) else {
            return match self.taps.completes.get() {
                Some(completes) => completes(text, before, forced).await,
                None => Completions::default(),
            };
        };
        let service = Suggest {
            text: text.to_owned(),
            before: before.to_owned(),
            forced,
        };
        match self.ask(&extension, &service, A_MOMENT).await {
            Ok(Some(found)) => read(found, before),
            Ok(None) => Completions::default(),
            Err(failure) => {
                self.fail(extension.name(), Some("completion"), &failure.to_string());
                Completions::default()
            }
        }
    }
}

fn read(found: Suggestions, before: &str) -> Completions {
    let candidates = found.items.into_iter().map(|item| Candidate {
        value: item.value,
        label: item.label,
        description: item.description.unwrap_or_default(),
    });
    Completions {
        // As in pi, a command is handed over as soon as it is chosen.
        submits: before.starts_with('/') && !before.contains(char::is_whitespace),
        prefix: found.prefix,
        candidates: candidates.collect(),
    }
}

/// The same for an extension.
pub fn written(found: Completions) -> Suggestions {
    let items = found.candidates.into_iter().map(|candidate| Completion {
        value: candidate.value,
        label: candidate.label,
        description: Some(candidate.description).filter(|words| !words.is_empty()),
    });
    Suggestions {
        prefix: found.prefix,
        items: items.collect(),
    }
}
