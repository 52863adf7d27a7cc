//! The rights and limits of a Scheme file: what it may read, write and reach, and how long it may compute.

use std::time::Duration;

use becket_system::Signals;

use super::io::Io;
use super::web::Web;
use crate::scheme::{Reach, Tier};

/// The rights and limits of a file.
#[derive(Clone)]
pub struct World {
    pub tier: Tier,
    /// How long one call may compute.
    pub time: Duration,
    /// The files that it may read and write, if its tier allows that.
    pub io: Io,
    /// The part of the web that it may reach, and the client for it.
    pub reach: Reach,
    pub web: Web,
    /// The environment that the file sees.
    pub variables: Vec<(String, String)>,
    /// Signals by which Ctrl-C ends a run.
    pub signals: Signals,
}

impl World {
    /// The rights and limits of a file that gets no signals.
    pub fn new(tier: Tier, time: Duration, io: Io) -> Self {
        Self {
            tier,
            time,
            io,
            reach: Reach::Nowhere,
            web: Web::default(),
            variables: Vec::new(),
            signals: Signals::default(),
        }
    }
}
