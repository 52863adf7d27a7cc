//! becket's agent: a loop between a person, a model and tools, in which the events of the vocabulary fire.
//!
//! Reading order: `run.rs` is the loop; `model_call.rs` is one request; `batch.rs` is the tools of one answer;
//! `gate.rs` decides which of them may run; `output.rs` is what the model sees of their results; `session.rs` is what
//! lasts between prompts. `provider.rs`, `tool.rs`, `store.rs` and `front.rs` are the traits of what the agent works
//! with.
//!
//! This crate knows no provider, no tool, no database and no terminal, and no foreign hook format.

mod batch;
pub mod context_files;
pub mod front;
pub mod gate;
mod hooks;
mod message;
mod model_call;
mod output;
mod prompt;
pub mod provider;
mod queue;
mod resolve;
mod rules;
mod run;
mod session;
mod settings;
pub mod store;
pub mod tool;
mod unfired;

pub use hooks::Hooks;
pub use queue::Queues;
pub use rules::{RuleVerdict, RuledCall, Rules};
pub use run::{Ending, Input, RunEnd};
pub use session::{Agent, RecordKeeper, Session};
pub use settings::AgentSettings;
pub use unfired::{NOT_YET_FIRED, waits_for};
