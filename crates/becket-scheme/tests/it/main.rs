//! The language from outside: what the standard promises, what limits stop, what a host sees.

mod conformance;
mod fuzz;
mod host;
mod hostile;
mod libraries;
mod limits;
mod nonsense;
mod properties;
mod room;
