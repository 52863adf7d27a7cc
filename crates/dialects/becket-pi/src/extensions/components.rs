//! The components of extensions on the screen; `placing.rs` puts them there and attends to them.
//!
//! The number of a component contains the load of its extension: a command may continue in another session, for which
//! its extension was loaded again, and draw there.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use becket_js::Extension;
use becket_screen::{CURSOR_MARKER, Handle, Pen, Screen, Size, Suspended};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::host_call::OverlayAction;

/// The components of extensions on the screen.
#[derive(Default)]
pub struct Components(Mutex<ShownComponents>);

#[derive(Default)]
pub(super) struct ShownComponents {
    /// The components by extension and number.
    pub(super) standing: HashMap<(String, u64), Standing>,
    /// The component in place of the editor.
    pub(super) editor: Option<(String, u64)>,
    /// The terminal, while an extension has it for another program.
    lent: Option<Suspended>,
}

/// A component on the screen. Dropping its handle removes it.
pub(super) struct Standing {
    /// The extension, in the load that has made the component.
    pub(super) extension: Extension,
    pub(super) pen: Pen,
    pub(super) handle: Handle,
    /// The visibility of an overlay that decides about it itself.
    pub(super) visibility: Option<Arc<OverlayVisibility>>,
    pub(super) gone: CancellationToken,
}

/// Whether an overlay is visible, as its extension has decided. When the terminal has another size, the extension is
/// asked again; until it answers, the old answer counts.
pub(super) struct OverlayVisibility {
    seen: AtomicBool,
    pub(super) size: watch::Sender<Size>,
}

impl OverlayVisibility {
    pub(super) fn new(seen: bool, size: Size) -> Self {
        Self {
            seen: AtomicBool::new(seen),
            size: watch::Sender::new(size),
        }
    }

    pub(super) fn is_seen(&self, size: Size) -> bool {
        self.size
            .send_if_modified(|asked| std::mem::replace(asked, size) != size);
        self.seen.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, seen: bool) {
        self.seen.store(seen, Ordering::Relaxed);
    }
}

impl Components {
    pub(super) fn state(&self) -> MutexGuard<'_, ShownComponents> {
        self.0.lock().expect("no panic happens while components are held")
    }

    /// Whether the user types in an extension's editor.
    pub fn has_editor(&self) -> bool {
        self.state().editor.is_some()
    }

    /// Replaces the lines of a component.
    pub fn draw(&self, extension: &str, id: u64, lines: Vec<String>) {
        let key = (extension.to_owned(), id);
        let pen = self
            .state()
            .standing
            .get(&key)
            .map(|standing| standing.pen.clone());
        if let Some(pen) = pen {
            pen.show(readable(lines));
        }
    }

    /// Removes a component from the screen.
    pub fn take_away(&self, extension: &str, id: u64) {
        let key = (extension.to_owned(), id);
        let mut state = self.state();
        let standing = state.standing.remove(&key);
        if state.editor.as_ref() == Some(&key) {
            state.editor = None;
        }
        drop(state);
        if let Some(standing) = standing {
            standing.gone.cancel();
        }
    }

    /// Removes all components of an extension from the screen.
    pub fn forget(&self, extension: &str) {
        let state = self.state();
        let ids: Vec<u64> = state
            .standing
            .keys()
            .filter(|(name, _)| name == extension)
            .map(|(_, id)| *id)
            .collect();
        drop(state);
        ids.into_iter().for_each(|id| self.take_away(extension, id));
    }

    /// Changes an overlay, or answers a question about it.
    pub fn overlay(&self, extension: &str, id: u64, action: OverlayAction) -> bool {
        let state = self.state();
        let Some(standing) = state.standing.get(&(extension.to_owned(), id)) else {
            return false;
        };
        let handle = &standing.handle;
        match action {
            OverlayAction::Hide => handle.set_hidden(true),
            OverlayAction::Show => handle.set_hidden(false),
            OverlayAction::Focus => handle.focus(),
            OverlayAction::Unfocus => handle.unfocus(),
            OverlayAction::IsHidden => return handle.is_hidden(),
            OverlayAction::IsFocused => return handle.is_focused(),
            OverlayAction::Appear | OverlayAction::Disappear => {
                if let Some(visibility) = &standing.visibility {
                    visibility.set(action == OverlayAction::Appear);
                }
                standing.pen.repaint();
            }
        }
        true
    }

    /// Lends the terminal to an extension for another program, or takes it back.
    pub fn lend(&self, screen: Option<&Screen>) {
        let lent = screen.map(Screen::suspend);
        let before = std::mem::replace(&mut self.state().lent, lent);
        drop(before);
    }
}

/// Lines with pi's cursor marker replaced by the screen's.
pub(super) fn readable(lines: Vec<String>) -> Vec<String> {
    let lines = lines.into_iter();
    lines
        .map(|line| line.replace(crate::CURSOR_MARKER, CURSOR_MARKER))
        .collect()
}
