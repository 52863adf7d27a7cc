//! Helpers that the tests of becket's crates share.
//!
//! `model_server` replaces the network: a model provider that answers from a list and remembers its requests. `wire`
//! knows the interfaces of providers, and makes servers that refuse what the real ones would. `room` is
//! a home and a working directory in which the real binary runs in isolation. `browser` is a real Chromium, for pages.
//! `package` fetches what others have published.
//! This crate knows none of becket's others, so all of them can test with it.

mod browser;
mod model_server;
mod package;
mod room;
mod wire;

pub use browser::Browser;
pub use model_server::{AnthropicStream, Ending, ModelServer, OpenAiStream, Piece, Recorded, Response};
pub use package::fetched_from_pypi;
pub use room::{
    Finished, Room, Running, finish, is_running, needs, quoted, run_with_input, skipped, wait_until_gone,
    write_program,
};
pub use rustix::process::Signal;
pub use wire::{GeminiStream, ResponsesStream, Wire};
