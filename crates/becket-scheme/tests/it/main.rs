//! The language from outside: what the standard promises, what limits stop, what a host sees.

mod conformance;
mod fuzz;
mod host;
mod libraries;
mod limits;
mod properties;
mod room;
