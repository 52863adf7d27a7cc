//! Tools of MCP servers: programs beside becket, or services on the web, that speak the Model Context Protocol.
//!
//! Read `settings.rs` first: what is known of a server before it runs. `load.rs` turns servers into tools; what they
//! offer is remembered (`catalogue.rs`), so that a server starts only when one of its tools is called. `server.rs`
//! keeps it running and survives whatever it does, `connection.rs` and `web.rs` carry the protocol, `guest.rs` answers
//! what a server asks, and `flood.rs` ends it where that is too much. `offer.rs` checks what a server says of its
//! tools, `result.rs` tells the model what came back, `tool.rs` is what the agent sees.
//!
//! A server is a guest: what it says of itself is a hint, what it asks is refused, and every wait for it has an end.

mod catalogue;
mod connection;
mod flood;
mod guest;
mod load;
mod offer;
mod result;
mod server;
mod settings;
mod tool;
mod web;

pub use catalogue::Known;
pub use load::{Asking, LoadSettings, Remark, Servers};
pub use offer::{Offer, tool_name};
pub use result::is_answer;
pub use server::Server;
pub use settings::{Headers, Prefix, Reach, Secrets, ServerSettings, ToolFilter, WebAccess};
pub use tool::McpTool;
