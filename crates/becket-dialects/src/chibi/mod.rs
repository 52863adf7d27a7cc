//! chibi: how it names what becket does.

mod tools;

pub use tools::profile;
