//! The embedded engine with extensions as files, with real programs and packages, and with hostile ones.

mod builtins;
mod errors;
mod extension;
mod files;
mod hostile;
mod node_modules;
mod outside;
mod packages;
mod resolution;
mod room;
mod safety;
