//! docker-agent: how it names what becket does.

mod tools;

pub use tools::profile;
