//! Models behind becket-agent's `Provider` trait.
//!
//! Read `select.rs` first: it decides which provider serves a model's name. `openai/` and `anthropic/` write and read
//! the two wire formats, `http.rs` carries them, `answer.rs` turns bytes into parts of an answer, `failure.rs` says
//! what kind of failure a provider's words mean. `rehearsal/` and `scripted/` are models without a network.
//!
//! This crate reads no environment and no configuration file, never retries, and knows no hook: whoever calls it
//! does that. A key enters a request as a header at the moment of sending and is nowhere else.

mod answer;
pub mod anthropic;
mod embedded;
mod failure;
mod http;
pub mod openai;
pub mod rehearsal;
pub mod scripted;
mod secret;
mod select;

pub use http::{Endpoint, Timeouts};
pub use secret::Secret;
pub use select::{
    Api, KEY_VARIABLES, ProviderEntry, ProviderSettings, SelectError, address, has_key, key_variables, select,
};
