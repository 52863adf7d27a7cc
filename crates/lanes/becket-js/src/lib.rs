//! becket's JavaScript lane: extensions in TypeScript and JavaScript, each in its own engine.
//!
//! Read `extension.rs` first: what an extension is and how it is called; `kit.rs` is what all of them are given.
//! `machine.rs` is the engine underneath: one QuickJS runtime with its limits, entered on the caller's thread;
//! `boot.rs` starts it, and `clock.rs` ends code that does not end itself. JavaScript makes requests by two host
//! functions, one synchronous and one asynchronous (`host.rs`, `natives.rs`), Rust calls the functions of `entries.rs`;
//! everything else that a script sees is TypeScript over these. `transform.rs` turns TypeScript into JavaScript and
//! knows the author's lines, `errors.rs` describes errors with them, `resolve.rs` finds modules and `packages.rs`
//! packages, `opening.rs` opens files, `facts.rs` and `needs.rs` know what kind of module a file is and what it needs,
//! and `bytecode.rs` saves the second extension from compiling what the first one has. `node/` holds Node's modules:
//! TypeScript, and the Rust functions under it. `neighbours.rs` finds the files of an extension without running it,
//! `outline.rs` what it does. `outside/` is the other engine: a Node process for extensions that need what only Node
//! has.
//!
//! This crate knows no agent and no foreign hook format: the caller says which modules and functions an extension finds
//! (`Kit`).

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod boot;
mod bytecode;
mod clock;
mod entries;
mod errors;
mod extension;
mod facts;
mod host;
mod kit;
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
mod tasks;
mod transform;

pub use clock::{Pause, Watch};
pub use extension::{Extension, Prepared};
pub use host::{HostError, LentTerminal, Meanwhile, Report, Reporter, ScriptHost};
pub use kit::{Allowed, HostModule, Kit, Limits, Surroundings};
pub use neighbours::{Imports, imports, own_files};
pub use node::{NodeModule, Service, node_modules};
pub use outline::{ApiCall, Compared, DefaultExport, Outline, missing_imports, outline};
pub use outside::{Engine, Outside};
pub use transform::{TransformError, Transformer};
