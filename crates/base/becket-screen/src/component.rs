//! What can stand in the live area: lines, and components that draw lines and take keys.
//!
//! A component may live elsewhere, in another thread or in another language: then its owner pushes lines and gets keys
//! over a channel ([`Remote`]), and nobody waits for anybody.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::mpsc;

use crate::keys::{Key, Phase};

/// The room that a component has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    pub width: usize,
    /// How many rows the terminal has; lines beyond them are scrolled out of sight.
    pub height: usize,
    /// Whether keys go to it.
    pub focused: bool,
}

/// Whether somebody took a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Yes,
    No,
}

/// Something in the live area. It is called while the screen is locked: it must be quick and must not call the screen.
pub trait Component: Send {
    /// Its lines, with styles. The cursor belongs where [`crate::CURSOR_MARKER`] stands. Lines that are too long are
    /// cut.
    fn render(&mut self, area: Area) -> Vec<String>;

    /// A key, while it has the focus.
    fn input(&mut self, key: &Key) -> Taken {
        let _ = key;
        Taken::No
    }

    /// Whether it wants to hear when a key is let go.
    fn wants_releases(&self) -> bool {
        false
    }

    /// When it will look different by itself, if it will.
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

/// What the owner of a remote component is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToRemote {
    /// Lines are wanted for this room, because it is new or has changed. Until they come, the old ones are shown.
    Render(Area),
    Key(Key),
    /// It has been taken from the screen.
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
    /// What it is told, in order.
    pub told: mpsc::UnboundedReceiver<ToRemote>,
    pen: Pen,
}

/// Pushes lines into a remote component; it can be kept apart from what the owner hears.
#[derive(Clone)]
pub struct Pen {
    lines: Arc<Mutex<Vec<String>>>,
    repaint: Arc<dyn Fn() + Send + Sync>,
}

impl Pen {
    /// Shows other lines from now on.
    pub fn show(&self, lines: Vec<String>) {
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = lines;
        self.repaint();
    }

    /// Has everything drawn anew.
    pub fn repaint(&self) {
        (self.repaint)();
    }
}

impl Owner {
    /// Shows other lines from now on.
    pub fn show(&self, lines: Vec<String>) {
        self.pen.show(lines);
    }

    pub fn pen(&self) -> Pen {
        self.pen.clone()
    }
}

/// Which keys a remote component hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hears {
    Presses,
    /// Also when a key is let go, where the terminal tells it.
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
            // Nobody is there any more.
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

/// Hands a key to a component, unless it is a release that the component does not want.
pub(crate) fn press(component: &mut dyn Component, key: &Key) -> Taken {
    if key.phase == Phase::Release && !component.wants_releases() {
        return Taken::Yes;
    }
    component.input(key)
}
