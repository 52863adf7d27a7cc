//! Components of extensions on the screen. Each has a task that asks the extension for lines and sends it keys, so that
//! one that takes its time holds up nobody but itself.

use std::collections::HashMap;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use becket_js::{Extension, LentTerminal, Meanwhile};
use becket_screen::{
    Anchor, CURSOR_MARKER, Extent, Handle, Hears, Margin, OverlayOptions, Owner, Pen, Protocol, Role, Screen,
    Size, Slot, Suspended, ToRemote, Visible,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::board::Board;
use crate::host_call::{Mode, OverlayPlace, OverlayWish, Place, Placed, Placement};
use crate::services::{ComponentKey, OverlayVisible, RenderComponent, SetEditorText};

/// How long a component may take to draw itself or to take a key.
const A_MOMENT: Duration = Duration::from_secs(5);

/// What extensions have on the screen.
#[derive(Default)]
pub struct Components(Mutex<State>);

#[derive(Default)]
struct State {
    /// By extension and number.
    standing: HashMap<(String, u64), Standing>,
    /// The one in the editor's place.
    editor: Option<(String, u64)>,
    /// The terminal, as long as an extension has it for another program.
    lent: Option<Suspended>,
}

/// A component on the screen. It goes with its handle.
struct Standing {
    /// The extension in the life in which it has put it there.
    extension: Extension,
    pen: Pen,
    handle: Handle,
    /// An overlay that decides itself whether it is seen.
    sight: Option<Arc<Sight>>,
    gone: CancellationToken,
}

/// Whether an overlay is seen, as its extension has decided. When the terminal has another size, it is asked again;
/// until it answers, the old answer counts.
struct Sight {
    seen: AtomicBool,
    size: watch::Sender<Size>,
}

impl Sight {
    fn new(seen: bool, size: Size) -> Self {
        Self {
            seen: AtomicBool::new(seen),
            size: watch::Sender::new(size),
        }
    }

    fn is_seen(&self, size: Size) -> bool {
        self.size
            .send_if_modified(|asked| std::mem::replace(asked, size) != size);
        self.seen.load(Ordering::Relaxed)
    }

    fn set(&self, seen: bool) {
        self.seen.store(seen, Ordering::Relaxed);
    }
}

impl Components {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic happens while components are held")
    }

    /// Shows other lines of a component.
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

    /// Takes a component from the screen.
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

    /// Takes everything of an extension's from the screen.
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

    /// Does something with an overlay; says what was asked.
    pub fn overlay(&self, extension: &str, id: u64, wish: OverlayWish) -> bool {
        let state = self.state();
        let Some(standing) = state.standing.get(&(extension.to_owned(), id)) else {
            return false;
        };
        let handle = &standing.handle;
        match wish {
            OverlayWish::Hide => handle.set_hidden(true),
            OverlayWish::Show => handle.set_hidden(false),
            OverlayWish::Focus => handle.focus(),
            OverlayWish::Unfocus => handle.unfocus(),
            OverlayWish::IsHidden => return handle.is_hidden(),
            OverlayWish::IsFocused => return handle.is_focused(),
            OverlayWish::Appear | OverlayWish::Disappear => {
                if let Some(sight) = &standing.sight {
                    sight.set(wish == OverlayWish::Appear);
                }
                standing.pen.repaint();
            }
        }
        true
    }

    /// Gives the terminal to a program of an extension's, or takes it back.
    pub fn lend(&self, screen: Option<&Screen>) {
        let lent = screen.map(Screen::suspend);
        let before = std::mem::replace(&mut self.state().lent, lent);
        drop(before);
    }
}

impl Board {
    /// Puts a component on the screen. The token tells when it is gone; `None` where there is no screen.
    pub fn place(self: &Arc<Self>, name: &str, placed: Placed) -> Option<CancellationToken> {
        let screen = self.screen()?;
        let extension = self.in_life(name, Placed::life(placed.id))?;
        let Placed { id, place, releases } = placed;
        let hears = match releases {
            true => Hears::Releases,
            false => Hears::Presses,
        };
        let (remote, owner) = screen.remote(hears);
        let (pen, remote) = (owner.pen(), Box::new(remote));
        let is_editor = place == Place::Editor;
        let mut sight = None;
        let handle = match place {
            Place::Custom => screen.show(remote, Role::Modal),
            Place::Editor => screen.show(remote, Role::Editor),
            Place::Overlay(options) => {
                sight = options
                    .visible
                    .map(|seen| Arc::new(Sight::new(seen, screen.size())));
                screen.overlay(remote, overlay_options(&options, sight.clone()))
            }
            Place::Header => screen.set_component(Slot::Header, remote),
            Place::Footer => screen.set_component(Slot::Footer, remote),
            Place::Widget { key, placement } => screen.set_component(widget_slot(&key, placement), remote),
        };
        let gone = CancellationToken::new();
        let standing = Standing {
            extension: extension.clone(),
            pen,
            handle,
            sight: sight.clone(),
            gone: gone.clone(),
        };
        let key = (name.to_owned(), id);
        let mut state = self.components.state();
        let before = state.standing.insert(key.clone(), standing);
        if is_editor {
            state.editor = Some(key);
        }
        drop(state);
        drop(before);
        if let Some(sight) = sight {
            let watching = Arc::clone(self).watch(screen.clone(), extension.clone(), id, sight);
            tokio::spawn(gone.clone().run_until_cancelled_owned(watching));
        }
        tokio::spawn(Arc::clone(self).attend(screen, extension, id, owner));
        Some(gone)
    }

    /// Asks an extension for the lines of a component and sends it keys, until it is gone.
    async fn attend(self: Arc<Self>, screen: Screen, extension: Extension, id: u64, mut owner: Owner) {
        while let Some(told) = owner.told.recv().await {
            let lines = match told {
                ToRemote::Gone => break,
                ToRemote::Render(area) => {
                    let service = RenderComponent {
                        id,
                        width: area.width,
                        focused: area.focused,
                        kitty: screen.protocol() == Protocol::Kitty,
                    };
                    self.ask(&extension, &service, A_MOMENT).await
                }
                ToRemote::Key(key) => {
                    let service = ComponentKey { id, data: key.raw };
                    self.ask(&extension, &service, A_MOMENT).await
                }
            };
            match lines {
                Ok(Some(lines)) => owner.show(readable(lines)),
                Ok(None) => {}
                Err(failure) => {
                    self.fail(extension.name(), Some("component"), &failure.to_string());
                    break;
                }
            }
        }
        self.components.take_away(extension.name(), id);
    }

    /// Asks an overlay whether it is seen whenever the terminal has another size.
    async fn watch(self: Arc<Self>, screen: Screen, extension: Extension, id: u64, sight: Arc<Sight>) {
        let mut sizes = sight.size.subscribe();
        // It may have become another one since the extension was first asked.
        sizes.mark_changed();
        while sizes.changed().await.is_ok() {
            let Size { columns, rows } = *sizes.borrow_and_update();
            let service = OverlayVisible { id, columns, rows };
            match self.ask(&extension, &service, A_MOMENT).await {
                Ok(seen) => sight.set(seen),
                Err(failure) => {
                    self.fail(extension.name(), Some("component"), &failure.to_string());
                    return self.components.take_away(extension.name(), id);
                }
            }
            screen.repaint();
        }
    }

    /// Whether the person writes in an editor of an extension's.
    pub fn has_editor(&self) -> bool {
        self.components.state().editor.is_some()
    }

    /// The editor of an extension's is told what is to stand in it. Says whether there is one.
    pub fn tell_editor(self: &Arc<Self>, text: &str, paste: bool) -> bool {
        let state = self.components.state();
        let standing = state
            .editor
            .as_ref()
            .and_then(|editor| state.standing.get(editor));
        let Some(extension) = standing.map(|standing| standing.extension.clone()) else {
            return false;
        };
        drop(state);
        let (board, text) = (Arc::clone(self), text.to_owned());
        tokio::spawn(async move {
            // An extension that is gone has no editor.
            let _ = board
                .ask(&extension, &SetEditorText { text, paste }, A_MOMENT)
                .await;
        });
        true
    }

    /// The screen steps aside for a program of an extension's. For one beside which the extension goes on, the
    /// extension has to ask for the terminal before: others run in the background.
    pub fn lend_terminal(&self, meanwhile: Meanwhile) -> Option<LentTerminal> {
        let screen = self.screen()?;
        if meanwhile == Meanwhile::GoesOn && !screen.is_suspended() {
            return None;
        }
        let device = File::options().read(true).write(true).open("/dev/tty").ok()?;
        let loan = (screen.suspend(), self.facts.surroundings.signals.lend());
        Some(LentTerminal {
            device,
            loan: Box::new(loan),
        })
    }

    /// What runs the agent, in pi's words. The screen may have been opened after extensions were loaded.
    pub fn mode(&self) -> Mode {
        match self.screen() {
            Some(_) => Mode::Tui,
            None => self.facts.mode,
        }
    }

    /// The screen, where there is one.
    pub fn screen(&self) -> Option<Screen> {
        self.facts.surroundings.screen.get()
    }
}

/// The place of a widget; the usual one is above the editor.
pub fn widget_slot(key: &str, placement: Option<Placement>) -> Slot {
    match placement {
        Some(Placement::BelowEditor) => Slot::Below(key.to_owned()),
        Some(Placement::AboveEditor) | None => Slot::Above(key.to_owned()),
    }
}

/// Lines with the cursor where the component wants it, in the screen's words.
fn readable(lines: Vec<String>) -> Vec<String> {
    let lines = lines.into_iter();
    lines
        .map(|line| line.replace(crate::CURSOR_MARKER, CURSOR_MARKER))
        .collect()
}

fn overlay_options(place: &OverlayPlace, sight: Option<Arc<Sight>>) -> OverlayOptions {
    let extent = |text: &Option<String>| text.as_deref().and_then(Extent::parse);
    let whole = |number: Option<f64>| number.map(|number| number as i64);
    let margin = place.margin.unwrap_or_default();
    OverlayOptions {
        anchor: place
            .anchor
            .as_deref()
            .and_then(Anchor::parse)
            .unwrap_or_default(),
        width: extent(&place.width),
        min_width: whole(place.min_width),
        max_height: extent(&place.max_height),
        row: extent(&place.row),
        column: extent(&place.col),
        offset_x: whole(place.offset_x).unwrap_or_default(),
        offset_y: whole(place.offset_y).unwrap_or_default(),
        margin: Margin {
            top: whole(margin.top).unwrap_or_default(),
            right: whole(margin.right).unwrap_or_default(),
            bottom: whole(margin.bottom).unwrap_or_default(),
            left: whole(margin.left).unwrap_or_default(),
        },
        visible: sight.map(|sight| -> Visible { Arc::new(move |size| sight.is_seen(size)) }),
        non_capturing: place.non_capturing,
    }
}
