//! becket's agent.

pub mod front;
pub mod gate;
pub mod provider;
pub mod store;
pub mod tool;
