//! pi: how it names what becket does.

mod results;
mod tools;

pub use tools::profile;
