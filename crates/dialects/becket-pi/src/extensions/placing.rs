//! Puts components of extensions on the screen. Each has a task that asks the extension for lines and sends it keys, so
//! that a slow one blocks only itself.
//!
//! The screen shows the latest lines, and never waits for an extension. An extension may decide whether its overlay is
//! visible, but the screen asks under its lock: so the last answer counts, and the extension is asked again whenever
//! the terminal has another size.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use becket_js::{Extension, LentTerminal, Meanwhile};
use becket_screen::{
    Anchor, Extent, Hears, Margin, OverlayOptions, Owner, Protocol, Role, Screen, Size, Slot, ToRemote,
    Visible,
};
use tokio_util::sync::CancellationToken;

use super::components::{OverlayVisibility, Standing, readable};
use super::registry::ExtensionRegistry;
use crate::host_call::{ComponentPlace, OverlayPlace, Placed, Placement};
use crate::services::{ComponentKey, OverlayVisible, RenderComponent, SetEditorText};

/// How long a component may take to draw itself or to handle a key.
const A_MOMENT: Duration = Duration::from_secs(5);

/// Puts a component on the screen. The token is cancelled when it is closed; `None` if there is no screen.
pub fn place(registry: &Arc<ExtensionRegistry>, name: &str, placed: Placed) -> Option<CancellationToken> {
    let screen = registry.screen()?;
    let extension = registry.in_life(name, Placed::life(placed.id))?;
    let Placed { id, place, releases } = placed;
    let hears = match releases {
        true => Hears::Releases,
        false => Hears::Presses,
    };
    let (remote, owner) = screen.remote(hears);
    let (pen, remote) = (owner.pen(), Box::new(remote));
    let is_editor = place == ComponentPlace::Editor;
    let mut visibility = None;
    let handle = match place {
        ComponentPlace::Custom => screen.show(remote, Role::Modal),
        ComponentPlace::Editor => screen.show(remote, Role::Editor),
        ComponentPlace::Overlay(options) => {
            visibility = options
                .visible
                .map(|seen| Arc::new(OverlayVisibility::new(seen, screen.size())));
            screen.overlay(remote, overlay_options(&options, visibility.clone()))
        }
        ComponentPlace::Header => screen.set_component(Slot::Header, remote),
        ComponentPlace::Footer => screen.set_component(Slot::Footer, remote),
        ComponentPlace::Widget { key, placement } => {
            screen.set_component(widget_slot(&key, placement), remote)
        }
    };
    let gone = CancellationToken::new();
    let standing = Standing {
        extension: extension.clone(),
        pen,
        handle,
        visibility: visibility.clone(),
        gone: gone.clone(),
    };
    let key = (name.to_owned(), id);
    let mut state = registry.components.state();
    let before = state.standing.insert(key.clone(), standing);
    if is_editor {
        state.editor = Some(key);
    }
    drop(state);
    drop(before);
    if let Some(visibility) = visibility {
        let watching = watch(
            Arc::clone(registry),
            screen.clone(),
            extension.clone(),
            id,
            visibility,
        );
        tokio::spawn(gone.clone().run_until_cancelled_owned(watching));
    }
    tokio::spawn(attend(Arc::clone(registry), screen, extension, id, owner));
    Some(gone)
}

/// Asks an extension for the lines of a component and sends it keys, until it is closed.
async fn attend(
    registry: Arc<ExtensionRegistry>,
    screen: Screen,
    extension: Extension,
    id: u64,
    mut owner: Owner,
) {
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
                registry.ask(&extension, &service, A_MOMENT).await
            }
            ToRemote::Key(key) => {
                let service = ComponentKey { id, data: key.raw };
                registry.ask(&extension, &service, A_MOMENT).await
            }
        };
        match lines {
            Ok(Some(lines)) => owner.show(readable(lines)),
            Ok(None) => {}
            Err(failure) => {
                registry.fail(extension.name(), Some("component"), &failure.to_string());
                break;
            }
        }
    }
    registry.components.take_away(extension.name(), id);
}

/// Asks an overlay about its visibility whenever the terminal has another size.
async fn watch(
    registry: Arc<ExtensionRegistry>,
    screen: Screen,
    extension: Extension,
    id: u64,
    visibility: Arc<OverlayVisibility>,
) {
    let mut sizes = visibility.size.subscribe();
    // The size may have changed since the extension was first asked.
    sizes.mark_changed();
    while sizes.changed().await.is_ok() {
        let Size { columns, rows } = *sizes.borrow_and_update();
        let service = OverlayVisible { id, columns, rows };
        match registry.ask(&extension, &service, A_MOMENT).await {
            Ok(seen) => visibility.set(seen),
            Err(failure) => {
                registry.fail(extension.name(), Some("component"), &failure.to_string());
                return registry.components.take_away(extension.name(), id);
            }
        }
        screen.repaint();
    }
}

/// Sets the text of an extension's editor. Returns whether there is one.
pub fn tell_editor(registry: &Arc<ExtensionRegistry>, text: &str, paste: bool) -> bool {
    let state = registry.components.state();
    let standing = state
        .editor
        .as_ref()
        .and_then(|editor| state.standing.get(editor));
    let Some(extension) = standing.map(|standing| standing.extension.clone()) else {
        return false;
    };
    drop(state);
    let (registry, text) = (Arc::clone(registry), text.to_owned());
    tokio::spawn(async move {
        // An extension that is gone has no editor.
        let _ = registry
            .ask(&extension, &SetEditorText { text, paste }, A_MOMENT)
            .await;
    });
    true
}

/// Suspends the screen for a program of an extension. If the extension continues meanwhile, it must have asked for
/// the terminal before: other programs run in the background.
pub fn lend_terminal(registry: &ExtensionRegistry, meanwhile: Meanwhile) -> Option<LentTerminal> {
    let screen = registry.screen()?;
    if meanwhile == Meanwhile::GoesOn && !screen.is_suspended() {
        return None;
    }
    let device = File::options().read(true).write(true).open("/dev/tty").ok()?;
    let loan = (screen.suspend(), registry.facts.surroundings.signals.lend());
    Some(LentTerminal {
        device,
        loan: Box::new(loan),
    })
}

/// The place of a widget; default: above the editor.
fn widget_slot(key: &str, placement: Option<Placement>) -> Slot {
    match placement {
        Some(Placement::BelowEditor) => Slot::Below(key.to_owned()),
        Some(Placement::AboveEditor) | None => Slot::Above(key.to_owned()),
    }
}

fn overlay_options(place: &OverlayPlace, visibility: Option<Arc<OverlayVisibility>>) -> OverlayOptions {
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
        visible: visibility.map(|visibility| -> Visible { Arc::new(move |size| visibility.is_seen(size)) }),
        non_capturing: place.non_capturing,
    }
}
