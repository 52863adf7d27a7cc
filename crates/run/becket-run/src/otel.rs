//! `--otel`: the spans of a run go to a collector once its sessions have ended.
//!
//! A process of its own sends them, made of the record: a collector that is slow or gone can neither hold up a run nor
//! make it fail. What is sent is what `becket trace --export otlp` prints.
//!
//! An exporter inside of the run would have to choose between losing the end of a session and waiting for a collector.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use becket_events::{SessionEnd, SessionEndReply};
use becket_hooks::Engine;
use becket_system::{CliError, Surroundings};
use url::Url;

use crate::config::OtelConfig;

/// The default address of a collector.
const USUAL: &str = "http://127.0.0.1:4318";

/// The path for spans, below a collector's address.
const TRACES: &str = "v1/traces";

/// The variable with headers for the collector, which may hold a token.
pub const HEADERS_VARIABLE: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// Sends the spans of a run's sessions when they have ended.
pub struct Export {
    endpoint: Url,
    home: Option<PathBuf>,
    /// The becket program, which is started to send the spans.
    program: PathBuf,
    ended: Arc<Mutex<Vec<String>>>,
}

/// Where spans are sent; `None` if they are not wanted. The command line goes first, then the settings, then the
/// variables of OpenTelemetry.
pub fn endpoint(
    given: Option<&str>,
    config: &OtelConfig,
    surroundings: &Surroundings,
) -> Result<Option<Url>, CliError> {
    if given.is_none() && !config.enabled {
        return Ok(None);
    }
    if cfg!(not(feature = "otel")) {
        let problem = "this becket was built without the export of spans";
        return Err(CliError::usage(problem).hint("build it with `--features otel`"));
    }
    let given = given.filter(|url| !url.is_empty()).map(ToOwned::to_owned);
    let exact = || surroundings.variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    let base = given.or_else(|| config.endpoint.clone());
    let address =
        match base.or_else(|| exact().or_else(|| surroundings.variable("OTEL_EXPORTER_OTLP_ENDPOINT"))) {
            Some(address) => address,
            None => USUAL.to_owned(),
        };
    let wrong = |why: &str| {
        CliError::usage(format!("`{address}` is not the address of a collector: {why}"))
            .hint(format!("write one such as {USUAL}"))
    };
    let mut url = Url::parse(&address).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it must use http or https"));
    }
    if !url.path().ends_with(TRACES) {
        let path = format!("{}/{TRACES}", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    Ok(Some(url))
}

impl Export {
    /// Notes from now on which sessions end.
    pub fn new(endpoint: Url, home: Option<&Path>, program: &Path, engine: &Engine) -> Self {
        let ended: Arc<Mutex<Vec<String>>> = Arc::default();
        let list = Arc::clone(&ended);
        engine.on::<SessionEnd>("otel", move |occasion| {
            // Those of sub-agents come with their parents.
            if occasion.scope.parent_session_id.is_none() {
                let session_id = occasion.scope.session_id.clone();
                list.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(session_id);
            }
            Ok(SessionEndReply::default())
        });
        Self {
            endpoint,
            home: home.map(Into::into),
            program: program.to_path_buf(),
            ended,
        }
    }

    /// Starts the processes that send the spans, and waits for none of them. Their output is discarded.
    pub fn send_off(&self) {
        let ended = std::mem::take(&mut *self.ended.lock().unwrap_or_else(PoisonError::into_inner));
        for session_id in ended {
            let mut command = Command::new(&self.program);
            command
                .args(["trace", &session_id])
                .arg(format!("--otel={}", self.endpoint))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                // Ctrl-C is meant for the run.
                .process_group(0);
            if let Some(home) = &self.home {
                command.arg("--home").arg(home);
            }
            let _ = command.spawn();
        }
    }
}

/// Sends spans to a collector, with the headers that the variables of OpenTelemetry name.
#[cfg(feature = "otel")]
pub async fn send(endpoint: &Url, body: String, surroundings: &Surroundings) -> Result<(), CliError> {
    /// How long a collector may take to answer.
    const SEND_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
    let failed = |words: String| {
        CliError::failed(format!("the spans could not be sent to {endpoint}: {words}"))
            .hint("is a collector listening there? `--otel=URL` names another")
    };
    let client = becket_tools::free_client(reqwest::redirect::Policy::none()).map_err(failed)?;
    let mut request = client
        .post(endpoint.clone())
        .header("content-type", "application/json")
        .timeout(SEND_TIMEOUT)
        .body(body);
    let headers = surroundings.variable(HEADERS_VARIABLE).unwrap_or_default();
    for (name, value) in headers.split(',').filter_map(|pair| pair.split_once('=')) {
        request = request.header(name.trim(), value.trim());
    }
    let response = request
        .send()
        .await
        .map_err(|error| failed(becket_tools::cause(&error.without_url())))?;
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(failed(format!("it answered {status}"))),
    }
}

/// A becket without the feature sends nothing; `endpoint` has said so already.
#[cfg(not(feature = "otel"))]
pub async fn send(_: &Url, _: String, _: &Surroundings) -> Result<(), CliError> {
    Err(CliError::usage(
        "this becket was built without the export of spans",
    ))
}
