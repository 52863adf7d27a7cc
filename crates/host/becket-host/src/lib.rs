//! What a kind of guest is to becket: [`Host`].
//!
//! Start with `host.rs`, the way of a guest from its files to its end. `options.rs` is what the command line says about
//! guests, `servers.rs` are MCP servers that guests declare, `unloaded.rs` is a guest that could not be understood.
//! `ui.rs` is the user's side of guests: what they show and ask (`shown.rs`), and what they draw (`drawing.rs`).

mod drawing;
mod host;
mod options;
mod servers;
mod shown;
mod ui;
mod unloaded;

pub use drawing::{Drawing, Whose};
pub use host::{
    Asking, FetchLimits, Found, FoundGuest, Guests, Health, Host, Listed, Loading, Mode, NoGuests, Place,
    Program, Report, SettingsText, Stage, Toolbox,
};
pub use options::GuestOptions;
pub use servers::{DeclaredServer, DeclaredServers, Reached, ServerDeclaration};
pub use shown::{Delivery, Dialog, DialogAnswer, EditorNews, Level, Placement, Shown};
pub use ui::{Failed, Person, Ui};
pub use unloaded::Unloaded;
