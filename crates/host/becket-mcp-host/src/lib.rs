//! MCP servers as guests of a run: those of the settings, and those that other guests declare.
//!
//! `config.rs` holds the settings about servers, `servers.rs` starts them and offers their tools. The protocol is the
//! business of `becket-mcp`.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod config;
mod servers;

pub use servers::{FoundServers, RunServers, ServerHost};
