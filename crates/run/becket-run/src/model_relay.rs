//! The socket at which becket programs that guests start ask the models of this run, since guests see no keys.
//!
//! It is answered on a thread of its own: an extension that waits for such a program holds up the thread of the run.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use becket_agent::provider::Provider;
use becket_events::RequestForm;
use becket_hook::{RUNTIME_VARIABLE, runtime_folder};
use becket_providers::relay::{self, ModelLookup};
use becket_providers::{ProviderSettings, api};
use becket_system::Surroundings;
use becket_tools::Models;
use tokio_util::sync::{CancellationToken, DropGuard};

/// The variable that holds the path of the socket.
pub const SOCKET_VARIABLE: &str = "BECKET_MODEL_SOCKET";

/// The name of a socket, which no other run has.
pub(crate) fn socket_name() -> String {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    format!("model-{}-{run}.sock", std::process::id())
}

/// The path of the socket of that name; the error says why there is no folder for it.
pub(crate) fn socket(name: &str, surroundings: &Surroundings) -> Result<PathBuf, String> {
    let runtime = surroundings.variable(RUNTIME_VARIABLE);
    let folder = runtime_folder(runtime.as_deref().map(AsRef::as_ref));
    folder
        .map(|folder| folder.join(name))
        .map_err(|error| error.to_string())
}

/// Answers at a socket until it is dropped.
pub(crate) struct ModelRelay {
    socket: PathBuf,
    _ending: DropGuard,
}

impl ModelRelay {
    /// Begins to answer with the models of a run.
    pub(crate) fn start(
        socket: PathBuf,
        (own, models): (Arc<dyn Provider>, Models),
        settings: ProviderSettings,
    ) -> std::io::Result<Self> {
        // The path has the number of this process: whatever lies there was left by one that is gone.
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket)?;
        listener.set_nonblocking(true)?;
        let lookup: ModelLookup = Arc::new(move |name| {
            let own_name = format!("{}/{}", own.name(), own.model());
            let provider = match name.unwrap_or(&own_name) {
                name if name != own_name => models(name)?,
                // Connections belong to the thread that made them, so the run's own are not used here.
                _ if own.base_url().is_some() => models(&own_name).unwrap_or_else(|_| Arc::clone(&own)),
                _ => Arc::clone(&own),
            };
            match provider.form() {
                RequestForm::Wire => {
                    let api = api(provider.name(), provider.model(), &settings);
                    Ok((provider, api))
                }
                _ => Err(format!("{} is a model of an extension", provider.model())),
            }
        });
        let ending = CancellationToken::new();
        let ended = ending.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        std::thread::Builder::new().name("models".into()).spawn(move || {
            runtime.block_on(ended.run_until_cancelled(relay::serve(listener, lookup)));
        })?;
        Ok(Self {
            socket,
            _ending: ending.drop_guard(),
        })
    }
}

impl Drop for ModelRelay {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}
