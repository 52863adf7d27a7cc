//! chibi: how it names what becket does, and how its plugins are spoken to.

mod plugin;
mod tools;

pub use plugin::{Generation, Host, Plugin, PluginTool};
pub use tools::profile;
