//! becket's engine: it asks the handlers of an event, in one known order, and folds their answers.
//!
//! Read `engine.rs` first: it is the one loop through which every event of every dialect goes. `handler.rs` says
//! what a handler is and what its place in the order is, `matcher.rs` which events it wants, `outcome.rs` what comes
//! back. `lane/` runs programs, `row.rs` says what their input and output mean, `hookfile.rs` reads becket's own
//! hook files.
//!
//! This crate knows no agent, no model and no foreign hook format.

mod failure;
mod handler;
mod lane;
mod matcher;
mod occasion;
mod trace;

pub use failure::{Cause, Failure};
pub use handler::{Action, Dialect, Handler, HandlerInfo, NativeHandler};
pub use lane::{CommandLane, Finished, Invocation, Lane, LaneKind, Limits, Program, WorkerLane};
pub use matcher::Matcher;
pub use occasion::Occasion;
pub use trace::{DispatchTrace, Effect, HandlerRun, ReportedFailure, Witness};
