//! The language from outside: what the standard promises, what limits stop, what a host sees.

mod conformance;
mod host;
mod hostile;
mod libraries;
mod limits;
mod properties;
mod room;
