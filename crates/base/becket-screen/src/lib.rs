//! The screen of a chat. Text streams into the terminal's own scrollback; below it is a live area with an editor,
//! dialogs, widgets and components, and overlays on top. This crate knows nothing about agents, models or extensions.
//!
//! Read in this order: `screen.rs` (how a program uses it), `compose.rs` (the layout), `live.rs` (how it gets onto the
//! terminal), `text.rs` (what may get there), `keys.rs` and `terminal.rs` (where keys come from), `editor.rs`,
//! `dialog.rs`, `overlay.rs`.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use becket_screen::{Happening, Options, Screen, Streams};
//!
//! let (screen, mut happenings) = Screen::open(Streams::controlling_terminal()?, Options::default())?;
//! screen.edit(|editor| editor.look.prompt = "> ".into());
//! while let Some(happening) = happenings.next().await {
//!     match happening {
//!         Happening::Submitted { text, .. } => screen.print(&format!("you said {text}")),
//!         Happening::Key(key) if key.is("ctrl+d") => break,
//!         Happening::Ended => break,
//!         _ => {}
//!     }
//! }
//! screen.close();
//! # Ok(())
//! # }
//! ```

mod component;
mod compose;
mod dialog;
mod editor;
mod history;
mod keys;
mod list;
mod live;
mod notification;
mod overlay;
mod screen;
mod terminal;
mod text;

pub use component::{Area, Component, Hears, Owner, Pen, Remote, Taken, ToRemote};
pub use compose::{Role, Slot, Working, in_words};
pub use dialog::{Excerpt, Question, Unanswered};
pub use editor::{Action, Candidate, CompletionRequest, Completions, Editor, KeyEffect, Look};
pub use history::History;
pub use keys::{Input, Key, Phase, Protocol, Splitter, Waits, normalised};
pub use list::Entry;
pub use live::{Frame, Narrowing, Painter, Size};
pub use notification::{NotificationForm, Notifier};
pub use overlay::{Anchor, Extent, Margin, OverlayOptions, OverlayPosition, Visible};
pub use screen::{Asked, Handle, Happening, Happenings, Options, Screen, Suspended};
pub use terminal::{Streams, can_show};
pub use text::{CURSOR_MARKER, Cell, Colours, Style, TextRow, clip, width, wrapped};
