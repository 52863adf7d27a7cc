//! `becket web`: sessions as timelines, live, in a browser on this machine.

use std::process::{Command, Stdio};
use std::sync::Arc;

use becket_system::{CliError, Exit, Folders, Surroundings};
use becket_web::{Server, ServerError, Token};

use super::print;
use crate::args::Options;
use crate::timeline::Record;

/// Names a token to use, for those who ask again and again: a watcher's configuration outlives one server.
pub const TOKEN_VARIABLE: &str = "BECKET_WEB_TOKEN";

/// What is to be served, and to whom it is to be shown.
#[derive(Debug, Clone, Copy)]
pub struct Serving {
    /// The port; 0 is any that is free.
    pub port: u16,
    /// Whether a browser is opened.
    pub open: bool,
}

/// Serves the page until Ctrl-C.
pub fn run(options: &Options, serving: Serving, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let store = Folders::find(options.home.as_deref(), surroundings)?.open_store()?;
    let token = token(surroundings)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start: {error}")))?;
    let result = runtime.block_on(async {
        let cancel = surroundings.signals.listen()?.next();
        let server = Server::listen(serving.port, token, Arc::new(Record::of(store)))
            .await
            .map_err(told)?;
        announce(options, serving, &server, surroundings)?;
        tokio::select! {
            served = server.serve() => served.map_err(told),
            () = cancel.cancelled() => Ok(()),
        }
    });
    // Somebody may still wait for an answer; a thread may still read for it.
    runtime.shutdown_background();
    result.map(|()| Exit::Answered)
}

fn token(surroundings: &Surroundings) -> Result<Token, CliError> {
    match surroundings.variable(TOKEN_VARIABLE) {
        Some(text) => Token::chosen(&text).ok_or_else(|| {
            CliError::usage(format!(
                "{TOKEN_VARIABLE} must be at least 32 letters and digits, so that nobody can guess it"
            ))
            .hint(format!("export {TOKEN_VARIABLE}=$(openssl rand -hex 32)"))
        }),
        None => Token::random().map_err(|error| CliError::failed(format!("cannot make a token: {error}"))),
    }
}

fn announce(
    options: &Options,
    serving: Serving,
    server: &Server,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    let url = server.url();
    if options.json {
        let address = server.address().to_string();
        print(&format!(
            "{}\n",
            serde_json::json!({"url": url, "address": address})
        ))?;
    } else {
        print(&format!("{url}\n"))?;
        surroundings.remark("whoever has this address can read every session; Ctrl-C ends it");
    }
    if serving.open && !open(&url) {
        surroundings.remark("no browser could be opened; open the address yourself");
    }
    Ok(())
}

/// Hands the address to the person's browser. It ends by itself, and nobody waits for it.
fn open(url: &str) -> bool {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(opener);
    command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().is_ok()
}

fn told(error: ServerError) -> CliError {
    let words = error.to_string();
    match error {
        ServerError::Listen { .. } => {
            CliError::failed(words).hint("leave out --port to take any that is free")
        }
        _ => CliError::failed(words),
    }
}
