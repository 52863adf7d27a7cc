//! becket's javascript lane: extensions in TypeScript and JavaScript, each in an engine of its own.
//!
//! Read `extension.rs` first: what an extension is and how it is called. `machine.rs` is the engine underneath: one
//! QuickJS runtime with its limits, entered on the thread of whoever calls; `clock.rs` ends what does not end itself.
//! JavaScript asks for things by two host functions, one that answers at once and one that takes its time (`host.rs`,
//! `natives.rs`); everything else that a script sees is TypeScript over those two. `transform.rs` makes JavaScript of
//! TypeScript and knows the author's lines, `errors.rs` tells errors with them, `resolve.rs` finds modules and
//! `packages.rs` packages, `opening.rs` opens files, `facts.rs` and `needs.rs` know what kind of module a file is and
//! what it needs, and `bytecode.rs` spares the second extension to compile what the first one has. `node/` holds
//! Node's modules: TypeScript, and the functions of Rust under it. `neighbours.rs` knows the files of an extension
//! without running it, `outline.rs` what it does. `outside/` is the other engine: a Node of its own for extensions
//! that need what only Node has.
//!
//! This crate knows no agent and no foreign hook format: which modules and functions an extension finds, it is told
//! (`Kit`).

mod bytecode;
mod clock;
mod errors;
mod extension;
mod facts;
mod host;
mod machine;
mod natives;
mod needs;
mod neighbours;
mod node;
mod opening;
mod outline;
mod outside;
mod packages;
mod resolve;
mod room;
mod transform;

pub use clock::{Pause, Watch};
pub use extension::{Allowed, Extension, Kit, Surroundings};
pub use host::{Host, HostError, LentTerminal, Meanwhile, Report, Reporter};
pub use machine::Limits;
pub use neighbours::{Imports, imports, own_files};
pub use node::{NodeModule, Service, node_modules};
pub use outline::{ApiCall, Compared, DefaultExport, Outline, missing_imports, outline};
pub use outside::{Engine, Outside};
pub use resolve::HostModule;
pub use transform::{TransformError, Transformer};
