//! The open standard AGENT-HOOKS in becket: interceptors that are asked at eight points of an agent's life.
//!
//! `handlers.rs` knows becket's events, and is where the standard and becket meet; `conversation.rs` says what
//! messages look like on both sides. `emitter.rs` is one emission: it asks interceptors (`interceptor.rs`,
//! `programs.rs`), puts their verdicts (`verdict.rs`) together (`composition.rs`), makes changes (`path.rs`), asks for
//! approvals (`approval.rs`) and writes a record (`record.rs`) with identities (`canonical.rs`). `declaration.rs` sets
//! it up, from a document or from the settings (`config.rs`), `host.rs` joins it to a run, and `conformance` runs the
//! standard's vectors.
//!
//! A program that embeds becket asks functions of its own: [`register`] takes an engine and an [`Emitter`].

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod approval;
mod canonical;
mod composition;
mod config;
mod conformance;
mod conversation;
mod declaration;
mod dialect;
mod emitter;
mod handlers;
mod host;
mod info;
mod interceptor;
mod path;
mod point;
mod programs;
mod record;
mod verdict;

pub use canonical::NotCanonical;
pub use composition::{Composition, OnApproval, Synthesis};
pub use declaration::{Declaration, Registry};
pub use dialect::DIALECT;
pub use emitter::{Emission, Emitter, Members, Setup, Sink};
pub use handlers::register;
pub use host::AgentHooksHost;
pub use info::INFO;
pub use interceptor::{
    ApprovalOutcome, ApprovalRequest, Approver, Asked, Binding, Context, Identity, Interceptor, Resolution,
    Unanswered,
};
pub use point::Point;
pub use record::{Mode, Record};
pub use verdict::{Decision, HostError, InterceptorVerdict, Transform, Warning};
