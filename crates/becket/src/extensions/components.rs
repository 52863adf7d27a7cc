//! Components of extensions on the screen. Each has a task that asks the extension for lines and sends it keys, so that
//! one that takes its time holds up nobody but itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use becket_dialects::pi;
use becket_dialects::pi::host_call::{Mode, OverlayPlace, OverlayWish, Place, Placed, Placement};
use becket_dialects::pi::services::{ComponentKey, RenderComponent, SetEditorText};
use becket_js::Extension;
use becket_screen::{
    Anchor, CURSOR_MARKER, Extent, Handle, Hears, Margin, OverlayOptions, Owner, Pen, Protocol, Role, Screen,
    Slot, Suspended, ToRemote,
};
use tokio_util::sync::CancellationToken;

use super::board::Board;

/// How long a component may take to draw itself or to take a key.
const A_MOMENT: Duration = Duration::from_secs(5);

/// What extensions have on the screen.
#[derive(Default)]
pub struct Components(Mutex<State>);

#[derive(Default)]
struct State {
    /// By extension and number.
    standing: HashMap<(String, u32), Standing>,
    /// The one in the editor's place.
    editor: Option<(String, u32)>,
    /// The terminal, as long as an extension has it for another program.
    lent: Option<Suspended>,
}

/// A component on the screen. It goes with its handle.
struct Standing {
    pen: Pen,
    handle: Handle,
    gone: CancellationToken,
}

impl Components {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic happens while components are held")
    }

    /// Shows other lines of a component.
    pub fn draw(&self, extension: &str, id: u32, lines: Vec<String>) {
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
    pub fn take_away(&self, extension: &str, id: u32) {
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
        let ids: Vec<u32> = state
            .standing
            .keys()
            .filter(|(name, _)| name == extension)
            .map(|(_, id)| *id)
            .collect();
        drop(state);
        ids.into_iter().for_each(|id| self.take_away(extension, id));
    }

    /// Does something with an overlay; says what was asked.
    pub fn overlay(&self, extension: &str, id: u32, wish: OverlayWish) -> bool {
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
        let extension = self.with(name, |guest| guest.extension.clone()).flatten()?;
        let Placed { id, place, releases } = placed;
        let hears = match releases {
            true => Hears::Releases,
            false => Hears::Presses,
        };
        let (remote, owner) = screen.remote(hears);
        let (pen, remote) = (owner.pen(), Box::new(remote));
        let is_editor = place == Place::Editor;
        let handle = match place {
            Place::Custom => screen.show(remote, Role::Modal),
            Place::Editor => screen.show(remote, Role::Editor),
            Place::Overlay(options) => screen.overlay(remote, overlay_options(&options)),
            Place::Header => screen.set_component(Slot::Header, remote),
            Place::Footer => screen.set_component(Slot::Footer, remote),
            Place::Widget { key, placement } => screen.set_component(widget_slot(&key, placement), remote),
        };
        let gone = CancellationToken::new();
        let standing = Standing {
            pen,
            handle,
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
        tokio::spawn(Arc::clone(self).attend(screen, extension, id, owner));
        Some(gone)
    }

    /// Asks an extension for the lines of a component and sends it keys, until it is gone.
    async fn attend(self: Arc<Self>, screen: Screen, extension: Extension, id: u32, mut owner: Owner) {
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

    /// Whether the person writes in an editor of an extension's.
    pub fn has_editor(&self) -> bool {
        self.components.state().editor.is_some()
    }

    /// The editor of an extension's is told what is to stand in it. Says whether there is one.
    pub fn tell_editor(self: &Arc<Self>, text: &str, paste: bool) -> bool {
        let editor = self.components.state().editor.clone();
        let extension =
            editor.and_then(|(name, _)| self.with(&name, |guest| guest.extension.clone()).flatten());
        let Some(extension) = extension else { return false };
        let (board, text) = (Arc::clone(self), text.to_owned());
        tokio::spawn(async move {
            // An extension that is gone has no editor.
            let _ = board
                .ask(&extension, &SetEditorText { text, paste }, A_MOMENT)
                .await;
        });
        true
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
        .map(|line| line.replace(pi::CURSOR_MARKER, CURSOR_MARKER))
        .collect()
}

fn overlay_options(place: &OverlayPlace) -> OverlayOptions {
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
        visible: None,
        non_capturing: place.non_capturing,
    }
}
