//! Who gives up when, as parts of the time that the agent waits. Each has to be heard before the next gives up, and all
//! of them before the agent does, because an agent that stops waiting goes on.

/// Hooks, wherever they are asked.
pub const HOOKS: f64 = 0.8;

/// The daemon, in place of a session that hangs.
pub const DAEMON: f64 = 0.82;

/// The client, in place of a daemon that hangs.
pub const CLIENT: f64 = 0.85;

/// `becket bridge`, in place of its own main thread.
pub const BECKET: f64 = 0.9;
