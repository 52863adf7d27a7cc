//! The contents of the live area: lines, and components that draw lines and handle keys.
//!
//! A component may live elsewhere, in another thread or in another language: then its owner pushes lines and gets keys
//! over a channel ([`Remote`]), and neither side waits for the other.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::mpsc;

use crate::keys::{Key, Phase};

/// The space that a component has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    pub width: usize,
    /// How many rows the terminal has; lines beyond them are scrolled out of sight.
    pub height: usize,
    /// Whether the component gets the keys.
    pub focused: bool,
}

/// Whether a key was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Yes,
    No,
}

/// Something in the live area. Called while the screen is locked: it must be quick and must not call the screen.
pub trait Component: Send {
    /// The component's lines, with styles. The cursor is placed at [`crate::CURSOR_MARKER`]. Lines that are too long
    /// are cut.
    fn render(&mut self, area: Area) -> Vec<String>;

    /// Handles a key, while the component has the focus.
    fn input(&mut self, key: &Key) -> Taken {
        let _ = key;
        Taken::No
    }

    /// Whether the component wants key releases.
    fn wants_releases(&self) -> bool {
        false
    }

    /// When the component will look different by itself, if it will.
    fn changes_at(&self, now: Instant) -> Option<Instant> {
        let _ = now;
        None
    }
}

/// Fixed lines.
impl Component for Vec<String> {
    fn render(&mut self, _: Area) -> Vec<String> {
        self.clone()
    }
}

/// Messages to the owner of a remote component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToRemote {
    /// Lines are wanted for this area, because it is new or has changed. Until they come, the old ones are shown.
    Render(Area),
    Key(Key),
    /// The component was removed from the screen.
    Gone,
}

/// A component whose owner is elsewhere.
pub struct Remote {
    lines: Arc<Mutex<Vec<String>>>,
    asked: Option<Area>,
    owner: mpsc::UnboundedSender<ToRemote>,
    releases: bool,
}

/// The owner's end of a remote component.
pub struct Owner {
    /// The messages to the owner, in order.
    pub told: mpsc::UnboundedReceiver<ToRemote>,
    pen: Pen,
}

/// Pushes lines into a remote component; can be kept separate from the owner's messages.
#[derive(Clone)]
pub struct Pen {
    lines: Arc<Mutex<Vec<String>>>,
    repaint: Arc<dyn Fn() + Send + Sync>,
}

impl Pen {
    /// Shows these lines from now on.
    pub fn show(&self, lines: Vec<String>) {
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = lines;
        self.repaint();
    }

    /// Requests a repaint.
    pub fn repaint(&self) {
        (self.repaint)();
    }
}

impl Owner {
    /// Shows these lines from now on.
    pub fn show(&self, lines: Vec<String>) {
        self.pen.show(lines);
    }

    pub fn pen(&self) -> Pen {
        self.pen.clone()
    }
}

/// Which keys a remote component gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hears {
    Presses,
    /// Key releases too, if the terminal reports them.
    Releases,
}

impl Remote {
    /// The component and its owner's end. `repaint` is called when there are new lines.
    pub fn new(hears: Hears, repaint: Arc<dyn Fn() + Send + Sync>) -> (Self, Owner) {
        let (owner, told) = mpsc::unbounded_channel();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let remote = Self {
            lines: Arc::clone(&lines),
            asked: None,
            owner,
            releases: hears == Hears::Releases,
        };
        let pen = Pen { lines, repaint };
        (remote, Owner { told, pen })
    }
}

impl Component for Remote {
    fn render(&mut self, area: Area) -> Vec<String> {
        if self.asked != Some(area) {
            self.asked = Some(area);
            let _ = self.owner.send(ToRemote::Render(area));
        }
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn input(&mut self, key: &Key) -> Taken {
        match self.owner.send(ToRemote::Key(key.clone())) {
            Ok(()) => Taken::Yes,
            // The owner has gone.
            Err(_) => Taken::No,
        }
    }

    fn wants_releases(&self) -> bool {
        self.releases
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.owner.send(ToRemote::Gone);
    }
}

/// Passes a key to a component, unless it is a release that the component does not want.
pub(crate) fn press(component: &mut dyn Component, key: &Key) -> Taken {
    if key.phase == Phase::Release && !component.wants_releases() {
        return Taken::Yes;
    }
    component.input(key)
}
