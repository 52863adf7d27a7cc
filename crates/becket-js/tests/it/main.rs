//! The embedded engine with real files, programs and packages.

mod builtins;
mod files;
mod packages;
mod resolution;
mod room;
