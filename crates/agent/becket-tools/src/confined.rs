//! The start of a program in a sandbox, with what it needs until it has ended.

use std::io;
use std::process::Command;

use becket_agent::gate::WebAccess;
use becket_sandbox::{Confinement, Placeholders};

use crate::web_proxy::WebProxy;

/// What a confined program needs until it has ended.
#[derive(Default)]
pub struct Kept {
    /// What protects the project from it.
    _reserved: Option<Placeholders>,
    /// What lets it reach the network.
    proxy: Option<WebProxy>,
}

impl Kept {
    /// What the program wanted to reach and did not, in a line each.
    pub fn refused(&self) -> Vec<String> {
        let refused = self.proxy.as_ref().map(WebProxy::refused).unwrap_or_default();
        refused
            .into_iter()
            .map(|why| format!("not reached: {why}"))
            .collect()
    }
}

/// The start of a program, which reaches what `access` allows if it is to have a network.
pub fn confined(program: &str, confinement: &Confinement, access: WebAccess) -> io::Result<(Command, Kept)> {
    let proxy = match confinement.proxies() {
        Some(folder) => Some(WebProxy::start(folder, access)?),
        None => None,
    };
    let command = confinement.command(program, proxy.as_ref().map(WebProxy::socket));
    let (command, reserved) = command.map_err(|problem| io::Error::other(problem.to_string()))?;
    let kept = Kept {
        _reserved: Some(reserved),
        proxy,
    };
    Ok((command, kept))
}
