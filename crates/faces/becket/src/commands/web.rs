//! `becket web`: sessions as timelines, live, in a browser on this machine.

use std::process::{Command, Stdio};
use std::sync::Arc;

use becket_face_kit::listening;
use becket_record::timeline::Record;
use becket_run::setup::WEB_TOKEN_VARIABLE;
use becket_system::{CliError, Exit, Folders, Surroundings};
use becket_web::{Server, ServerError, Token};

use crate::options::Options;
use crate::printing::print;

/// The options of `becket web`.
#[derive(Debug, Clone, Copy)]
pub struct Serving {
    /// The port; 0 for any that is free.
    pub port: u16,
    /// Whether to open a browser.
    pub open: bool,
}

/// Serves the page until Ctrl-C.
pub fn run(options: &Options, serving: Serving, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let store = Folders::find(options.run.home.as_deref(), surroundings)?.open_store()?;
    let token = token(surroundings)?;
    listening(options, surroundings, async |signals| {
        let cancel = signals.next();
        let server = Server::listen(serving.port, token, Arc::new(Record::of(store)))
            .await
            .map_err(told)?;
        announce(options, serving, &server, surroundings)?;
        tokio::select! {
            served = server.serve() => served.map_err(told)?,
            () = cancel.cancelled() => {}
        }
        Ok(Exit::Answered)
    })
}

fn token(surroundings: &Surroundings) -> Result<Token, CliError> {
    match surroundings.variable(WEB_TOKEN_VARIABLE) {
        Some(text) => Token::chosen(&text).ok_or_else(|| {
            CliError::usage(format!(
                "{WEB_TOKEN_VARIABLE} must be at least 32 letters and digits, so that nobody can guess it"
            ))
            .hint(format!("export {WEB_TOKEN_VARIABLE}=$(openssl rand -hex 32)"))
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
    if options.run.json {
        let address = server.address().to_string();
        print(&format!(
            "{}\n",
            serde_json::json!({"url": url, "address": address})
        ))?;
    } else {
        print(&format!("{url}\n"))?;
        surroundings.remark("anyone with this address can read every session; Ctrl-C stops the server");
    }
    if serving.open && !open(&url) {
        surroundings.remark("no browser could be opened; open the address yourself");
    }
    Ok(())
}

/// Opens the address in the user's browser, without waiting for it.
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
        ServerError::Listen { .. } => CliError::failed(words).hint("leave out --port to use any free one"),
        _ => CliError::failed(words),
    }
}
