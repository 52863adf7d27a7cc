//! Tools of MCP servers: programs beside becket, or services on the web, that speak the Model Context Protocol.
//!
//! Read `settings.rs` first: the configuration of a server. `load.rs` turns servers into tools; these are remembered
//! (`catalogue.rs`), so that a server starts only when one of its tools is called. `server.rs` keeps it running and
//! survives whatever it does, `connection.rs` and `web.rs` carry the protocol (`message_size.rs` bounds its messages,
//! `cause.rs` says why one failed), `guest.rs` answers a server's questions, and `flood.rs` ends a server that asks too
//! much. `offer.rs` checks a server's descriptions of its tools, `result.rs` converts results for the model, `tool.rs`
//! is the tool that the agent sees.
//!
//! A server is not trusted: what it says of itself is a hint, what it asks is refused, and every wait for it has an
//! end.

mod catalogue;
mod cause;
mod connection;
mod events;
mod flood;
mod guest;
mod load;
mod message_size;
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
